# SPDX-License-Identifier: BSD-3-Clause
"""kills - SIGKILL for a daemon that a program writes through

Afterwards a file has its content of some moment, not before the last fsync that
returned: all changes up to that moment, and none after it.
"""
import itertools
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

import numpy as np

from kill_writer import MANY, SMALL_MANY, all_operations, file_content
from mounting import wait_until
from scratch import (PLAIN, Scratch, bloscctl, check_same, check_stock,
                     frames, is_frame, litter, make_contiguous, stock_bytes)

WRITER = pathlib.Path(__file__).with_name("kill_writer.py")
FRAME = "src/f.b2frame"
OPTIONS = ("chunksize=64k", "commit=1", "typesize=8")
# The system calls of a commit.
CHANGES = ("pwrite64,pwritev,ftruncate,fallocate,copy_file_range,"
           "fsync,fdatasync,sync_file_range,renameat,renameat2,unlinkat,linkat,"
           "fchmod,fchown,utimensat,fsetxattr")


def apply(state, operation):
    off, data = operation
    if off is None:
        del state[data:]
        state += bytes(data - len(state))
        return
    state += bytes(max(0, off - len(state)))
    state[off:off + len(data)] = data


def begun(state, operation, found):
    """@state with as much of the beginning of @operation as @found has."""
    off, data = operation
    state = bytearray(state)
    if off is not None:
        there = found[off:off + len(data)]
        n = next((i for i, (a, b) in enumerate(zip(there, data)) if a != b),
                 min(len(there), len(data)))
        if n > 0:
            apply(state, (off, data[:n]))
    return state


def matching(before, operations, synced, found):
    """The number of @operations after which the content is @found; None: never.

    The last operation is under way and may be done in part, and so may any other
    operation of several requests.
    """
    state = bytearray(before)
    for n, operation in enumerate([*operations, None]):
        if n >= synced and state == found:
            return n
        if operation is None:
            return None
        if n >= synced and begun(state, operation, found) == found:
            return n
        apply(state, operation)


def each_byte_is_known(before, operations, synced, found):
    """With writeback_cache: every byte is as new as the last fsync."""
    state = bytearray(before)
    found = np.frombuffer(found, "u1")
    known = np.zeros(len(found), bool)
    for n, operation in enumerate([*operations, None]):
        if n >= synced:
            known |= np.frombuffer(bytes(state), "u1") == found
        if operation:
            apply(state, operation)
    return known.all()


def last(told, what):
    numbers = [int(line[2:]) for line in told if line.startswith(what)]
    return numbers[-1] if numbers else 0


class Writer:
    """Runs kill_writer.py; its output goes to a file, so that it never waits."""

    def __init__(self, *args):
        self.out = open("told", "w+b")
        self.process = subprocess.Popen([sys.executable, WRITER,
                                         *map(str, args)], stdout=self.out,
                                        stderr=subprocess.DEVNULL)
        wait_until(lambda: os.path.getsize("told") > 0, "the writer")

    def told(self):
        """Its whole output; it has to end by itself."""
        try:
            self.process.wait(30)
        finally:
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.out.close()
        return pathlib.Path("told").read_text().splitlines()


def check_frame():
    """The data that both stock and bloscctl read."""
    found = stock_bytes(FRAME)
    bloscctl("verify", FRAME)
    check_same(bloscctl("cat", FRAME), found, "bloscctl cat")
    return found


def reopen(found, mark):
    """A mount, a change and a clean unmount leave nothing behind."""
    state = bytearray(found)
    with Scratch(*OPTIONS):
        with open("mnt/f", "r+b", buffering=0) as f:
            check_same(f.read(), found, "the next mount")
            apply(state, (mark % len(state), b"still here"))
            os.pwrite(f.fileno(), b"still here", mark % len(found))
    assert not litter(FRAME), litter(FRAME)
    check_stock(FRAME, bytes(state))
    return bytes(state)


def killing(call):
    """The command of strace that kills when a thread makes its @call-th change on
    disk."""
    return ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={CHANGES}",
            "-e", f"inject={CHANGES}:signal=SIGKILL:when={call}"]


def kill_once(state, seed, rng, call=None, small=False):
    """One round; returns the content of the file afterwards.

    The daemon is killed after a while, or at the call @call.
    """
    inside = not small and rng.randrange(5) == 0
    options = list(OPTIONS)
    if inside:
        options.append("writeback_cache")
    if rng.randrange(3) == 0:
        options.append("dirtysize=512k")
    scratch = Scratch(*options, wrap=killing(call) if call else ())
    scratch.start()
    writer = Writer("changes", "mnt/f", seed, len(state),
                    *["inside"] * inside, *["small"] * small)
    if call:
        wait_until(lambda: scratch.mount.process.poll() is not None, "the end")
    else:
        time.sleep(rng.choice([0.02, 0.2, 1.0]) * rng.random())
    scratch.kill()
    told = writer.told()
    done, synced = last(told, "d"), last(told, "s")
    operations = list(itertools.islice(
        all_operations(seed, len(state), inside, small), done + 1))
    found = check_frame()
    if inside:
        fits = each_byte_is_known(state, operations, synced, found)
    else:
        fits = matching(state, operations, synced, found) is not None
    assert fits, f"seed {seed}, {done} done, {synced} synced, {options}"
    return reopen(found, seed * 7919), done, synced


def kill_one_after_the_other(calls, seed, contiguous):
    assert not PLAIN, "there is nothing to kill"
    rng = random.Random(seed)
    state = os.urandom(1 << 20) * 2 + bytes(MANY - (2 << 20) - 5)
    if contiguous:
        os.mkdir("src")
        make_contiguous(FRAME)
    with Scratch(*OPTIONS), open("mnt/f", "wb") as f:
        f.write(state)
    all_done, all_synced = 0, 0
    for number, call in enumerate(calls):
        state, done, synced = kill_once(state, (seed << 20) + number, rng,
                                        call)
        all_done, all_synced = all_done + done, all_synced + synced
    assert os.path.isfile(FRAME) == contiguous
    print(f"{len(calls)} kills, {all_done} operations, {all_synced} of them "
          "synced")


def kill(rounds, seed, contiguous=False):
    """Kills a daemon that writes to one file, @rounds times."""
    kill_one_after_the_other([None] * rounds, seed, contiguous)


def kill_at_calls(calls, seed, contiguous=False):
    """Kills at these calls that change the disk, counted per thread."""
    kill_one_after_the_other(calls, seed, contiguous)


def kill_small(calls, seed):
    """Kills beside writers of a small file that becomes a directory at some time."""
    rng = random.Random(seed)
    directories = 0
    for number, call in enumerate(calls):
        shutil.rmtree("src", ignore_errors=True)
        state = os.urandom(rng.randrange(1, SMALL_MANY))
        with Scratch(*OPTIONS), open("mnt/f", "wb") as f:
            f.write(state)
        kill_once(state, (seed << 20) + number, rng, call, small=True)
        assert os.listdir("src") == ["f.b2frame"], os.listdir("src")
        directories += os.path.isdir(FRAME)
    print(f"{len(calls)} kills, {directories} directories in the end")


def kill_creator_once(seed, rng):
    scratch = Scratch(*OPTIONS)
    scratch.start()
    writer = Writer("files", "mnt", seed)
    time.sleep(rng.random() * 0.5)
    scratch.kill()
    done = last(writer.told(), "d")
    for number in range(1, done + 1):
        check_stock(f"src/{seed}-{number}.b2frame", file_content(seed, number))
    # The file being written is missing, or has any part of its data.
    path = pathlib.Path(f"src/{seed}-{done + 1}.b2frame")
    if is_frame(path) and (path.is_dir() or path.stat().st_size > 0):
        want = file_content(seed, done + 1)
        assert want.startswith(stock_bytes(path)), path
    return done


def kill_creator(rounds, seed):
    """Kills a daemon that makes files, @rounds times."""
    rng = random.Random(seed)
    files = 0
    for number in range(rounds):
        files += kill_creator_once((seed << 20) + number, rng)
        with Scratch(*OPTIONS):
            names = os.listdir("mnt")
            for name in names:
                with open(f"mnt/{name}", "rb") as f:
                    content = f.read()
                made = file_content(*map(int, name.split("-")))
                assert made.startswith(content), name
                os.unlink(f"mnt/{name}")
        assert not frames("src"), frames("src")
        assert not os.listdir("src"), os.listdir("src")
    print(f"{rounds} kills, {files} files")
