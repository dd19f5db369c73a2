#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""We and stock python-blosc2 with BLOSC_LOCKING=1 keep each other waiting."""
import contextlib
import os
import struct
import subprocess
import sys
import time

from interop import BUILD, workdir

HOLD = str(BUILD / "hold_lock")
STOCK = [sys.executable, "-c"]
LOCKING = {**os.environ, "BLOSC_LOCKING": "1"}

# Long enough for an append or a read that waits for no other.
PAUSE = 1.0

MAKE = """
import blosc2
s = blosc2.SChunk(urlpath="f", contiguous=False, chunksize=500)
s.append_data(b"first" * 100)
"""

# Prints a line after the open, and another one after an append or a read.
PROGRAM = """
import blosc2
s = blosc2.open("f", mode="a")
print("open", flush=True)
input()
{}
print("done", flush=True)
"""
APPEND = PROGRAM.format("s.append_data(b'again' * 100)")
READ = PROGRAM.format("assert s.decompress_chunk(0) == b'first' * 100")


def generation():
    with open("f/.b2lock", "rb") as file:
        raw = file.read()
    assert len(raw) == 16 and raw[:8] == bytes(8), raw
    return struct.unpack("=Q", raw[8:])[0]


@contextlib.contextmanager
def held():
    """Holds our lock in the block; yields its generation."""
    with subprocess.Popen([HOLD, "f"], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as ours:
        assert ours.stdout.readline() == "locked\n"
        yield generation()
        ours.stdin.close()
    assert ours.returncode == 0


def start(program):
    """A stock program that has opened the frame."""
    stock = subprocess.Popen(STOCK + [program], env=LOCKING, text=True,
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert stock.stdout.readline() == "open\n"
    return stock


def go_on(stock):
    stock.stdin.write("\n")
    stock.stdin.flush()


def finish(stock):
    assert stock.stdout.readline() == "done\n"
    assert stock.wait() == 0
    stock.stdin.close()
    stock.stdout.close()


def test_stock_waits(program):
    stock = start(program)
    with held() as before:
        go_on(stock)
        time.sleep(PAUSE)
        # Without the lock it would have ended by now.
        assert stock.poll() is None, program
        assert generation() == before
    finish(stock)


def test_counter():
    """Both raise the same generation, and notice each other's changes."""
    with held() as first:
        pass
    stock = start(APPEND)
    opened = generation()
    go_on(stock)
    finish(stock)
    appended = generation()
    assert appended > opened >= first
    with held() as raised:
        assert raised == appended + 1


def main():
    with workdir():
        subprocess.run(STOCK + [MAKE], env=LOCKING, check=True)
        assert os.path.exists("f/.b2lock"), "BLOSC_LOCKING does nothing"
        test_stock_waits(APPEND)
        test_stock_waits(READ)
        test_counter()
    print("locks are those of C-Blosc2")
    return 0


sys.exit(main())
