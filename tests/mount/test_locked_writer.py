#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Reads beside a stock writer that holds its lock, or has none."""
import errno
import os
import pathlib
import shutil
import subprocess

import beside
from mounting import BUILD, main
from scratch import Scratch, bloscctl
from stock_writer import (CHUNK, FORMS, NCHUNKS, Writer, check_all, check_chunk,
                          make)

OPTIONS = "attr_timeout=0", "entry_timeout=0"
# Writes of a change of a chunk: its generation, in a contiguous frame the chunks
# that move, the index, the header, the trailer, the length.
STOPS = 2, 3


def name_of(form):
    return "a.b2nd" if "b2nd" in form else "a.b2frame"


def read_chunks(fd, most=NCHUNKS):
    """Reads each chunk: it is one of its versions, or refused.  Ends when @most are
    refused."""
    refused = 0
    for i in range(NCHUNKS):
        if refused == most:
            break
        try:
            data = os.pread(fd, CHUNK, i * CHUNK)
        except OSError as error:
            assert error.errno in (errno.EAGAIN, errno.ESTALE), error
            refused += 1
            continue
        check_chunk(i, data, "the mount")
        # A short read ends before the page that the kernel could not read.
        refused += len(data) < CHUNK
    return refused


def check_stopped(form, stop):
    os.makedirs("src")
    frame = pathlib.Path("src") / name_of(form)
    make(frame, form)
    with Scratch(*OPTIONS, "ro") as scratch:
        path = scratch.path / "a"
        with open(path, "rb", buffering=0) as f, \
                Writer(frame, stop_at=stop) as writer:
            refused = read_chunks(f.fileno(), most=1)
            assert os.stat(path)
            if stop == STOPS[0]:
                assert refused, form
                check_tool(frame)
            writer.finish()
        with open(path, "rb") as f:
            check_all(f.read(), "the mount")
    bloscctl("verify", frame)
    shutil.rmtree("src")


def check_tool(frame):
    """Each command reports why it fails, and leaves nothing."""
    commands = [("cat", frame), ("verify", frame), ("copy", frame, "copy"),
                ("convert", "-o", "copy.b2frame", "--contiguous", frame)]
    started = [subprocess.Popen([BUILD / "bloscctl", *command],
                                stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
               for command in commands]
    for command, process in zip(commands, started):
        out, error = process.communicate()
        assert process.returncode != 0, command
        assert b"has locked it" in error, (command, error)
        assert not out or command[0] == "verify", (command, out)
    assert not os.path.exists("copy.b2frame") and not os.path.exists("copy")


def test_a_writer_that_is_stopped_with_its_lock_is_waited_for():
    for form in FORMS:
        for stop in STOPS:
            check_stopped(form, stop)


def test_a_writer_that_goes_on_and_is_stopped_for_moments():
    """No read returns wrong bytes, and every open succeeds."""
    for number, form in enumerate(FORMS):
        beside.play(form, 400, number)


main()
