# SPDX-License-Identifier: BSD-3-Clause
"""beside - reads beside a stock writer that locks the frame, and stops at times

It updates chunks as fast as it can, so that others move; every now and then it is
stopped for a moment, mostly while it holds the lock.  Meanwhile the chunks are read
through a mount, with and without the kernel's cache, and by bloscctl.  No byte that is
read may be wrong, and opens may seldom fail, only with EAGAIN or a message that tells
why.
"""
import errno
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

import numpy as np

from mounting import BUILD
from scratch import Scratch
from stock_writer import CHUNK, NCHUNKS, Writer, check_all, check_chunk, make

# Errors of a read or an open beside a writer that holds the lock too long.
MAY = errno.EAGAIN, errno.ESTALE
# The message of bloscctl in that case.
REASONS = (b"has locked it", b"has changed the frame", b"keeps changing it",
           b"rewritten by another program", b"another program is writing it")
# Reads per open.
EACH = 20


class Count:
    def __init__(self):
        self.reads = self.refused = self.opens = self.failed = 0
        self.runs = self.ended = 0

    def __str__(self):
        return (f"{self.reads} reads, {self.refused} refused; {self.opens} opens, "
                f"{self.failed} failed; {self.runs} runs of bloscctl, "
                f"{self.ended} gave up")


def stop_at_times(writer, rng, end):
    """Stops the writer again and again, for less time than a reader waits."""
    while not end.wait(float(rng.uniform(0, 0.4))):
        os.kill(writer.pid, signal.SIGSTOP)
        time.sleep(float(rng.uniform(0, 0.5)))
        os.kill(writer.pid, signal.SIGCONT)


def read_some(path, rng, count):
    """Opens a file, and reads some of it."""
    count.opens += 1
    try:
        fd = os.open(path, os.O_RDONLY)
    except OSError as error:
        assert error.errno in MAY, error
        count.failed += 1
        return
    try:
        for _ in range(EACH):
            i = int(rng.integers(0, NCHUNKS))
            count.reads += 1
            try:
                check_chunk(i, os.pread(fd, CHUNK, i * CHUNK), "the mount")
            except OSError as error:
                assert error.errno in MAY, error
                count.refused += 1
    finally:
        os.close(fd)


def run_tool(frame, count):
    count.runs += 1
    run = subprocess.run([BUILD / "bloscctl", "cat", frame],
                         capture_output=True, stdin=subprocess.DEVNULL)
    if run.returncode == 0:
        check_all(run.stdout, "bloscctl cat")
        count.reads += NCHUNKS
        return
    assert any(reason in run.stderr for reason in REASONS), run.stderr
    for i in range(len(run.stdout) // CHUNK):
        check_chunk(i, run.stdout[i * CHUNK:(i + 1) * CHUNK], "bloscctl cat")
    count.ended += 1


def read_all(frame, reads, rng, options, count):
    until = count.reads + reads
    with Scratch("ro", "attr_timeout=0", "entry_timeout=0", *options) as scratch:
        while count.reads < until:
            read_some(scratch.path / "a", rng, count)
            if rng.integers(0, 10) == 0:
                run_tool(frame, count)


def play(form, reads, seed):
    """Makes @reads of a frame of @form; returns the counts."""
    rng, count, end = np.random.default_rng(seed), Count(), threading.Event()
    os.mkdir("src")
    frame = pathlib.Path("src") / ("a.b2nd" if "b2nd" in form else "a.b2frame")
    make(frame, form)
    with Writer(frame, count=0) as writer:
        stopper = threading.Thread(target=stop_at_times,
                                   args=(writer, rng.spawn(1)[0], end))
        stopper.start()
        try:
            for options in (), ("direct_io",):
                read_all(frame, reads // 2, rng, options, count)
        finally:
            end.set()
            stopper.join()
    shutil.rmtree("src")
    print(f"{form}: {count}", flush=True)
    allowed = (count.opens + count.runs) // 1000
    assert count.failed + count.ended <= allowed, str(count)
    return count
