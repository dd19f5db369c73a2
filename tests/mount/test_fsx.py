#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Random changes of a file, compared with a model; scripts/soak does more."""
import os
import subprocess

from fsx_runs import fsx, run_one
from mounting import BUILD, SANITIZED, main, mountpoints, wait_until
from scratch import PLAIN, check_stock

OPS = 1000 if SANITIZED else 3000


def test_small_chunks():
    run_one(["chunksize=64k", "typesize=1"], "64k", OPS, 1, OPS // 4)


def test_large_chunks_of_8_byte_items():
    run_one(["chunksize=1m", "typesize=8"], "1m", OPS, 2, OPS // 4)


def test_writeback_cache():
    run_one(["chunksize=64k", "typesize=4", "writeback_cache"], "64k", OPS, 3,
            OPS // 4)


def test_past_the_kernels_cache():
    run_one(["chunksize=64k", "typesize=8", "direct_io"], "64k", OPS, 5,
            OPS // 4)


def test_more_dirty_than_may_be():
    """Chunks are written before any commit is asked for."""
    run_one(["chunksize=64k", "dirtysize=256k", "cachesize=1m"], "64k", OPS, 4,
            OPS // 2)


def daemons(mountpoint):
    """Processes of bloscfs for @mountpoint that run in the background."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            exe = os.readlink(f"/proc/{pid}/exe")
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                args = f.read().split(b"\0")
        except OSError:
            continue
        if exe == str(BUILD / "bloscfs") and mountpoint.encode() in args:
            found.append(int(pid))
    return found


def test_mounted_again_at_once():
    """umount returns before the daemon has ended."""
    os.mkdir("src")
    os.mkdir("mnt")
    mnt = os.path.abspath("mnt")
    start = f"{BUILD}/bloscfs -o rw,chunksize=64k,logfile=$PWD/log src {mnt}"
    remount = "true" if PLAIN else f"umount {mnt} && {start}"
    subprocess.run("true" if PLAIN else start, shell=True, check=True)
    try:
        want = fsx("mnt/f", "64k", f"--ops={OPS // 2}", "--every=100",
                   f"--remount={remount}")
    finally:
        for path in mountpoints(os.getcwd()):
            subprocess.run(["umount", path], check=True)
        wait_until(lambda: not daemons(mnt), "the last daemon")
    check_stock("src/f.b2frame", want)


main()
