#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A daemon that has no descriptor left still ends, and still reads."""
import contextlib
import os
import pathlib
import signal

from mounting import Mount, main

LIMIT = 63


def open_all(paths):
    """As many as can be opened."""
    files = []
    for path in paths:
        try:
            files.append(open(path, "rb", buffering=0))
        except OSError:
            break
    return files


def test_sigterm_needs_no_descriptor():
    os.mkdir("src")
    for i in range(LIMIT):
        pathlib.Path(f"src/{i}").write_text("x")
    with Mount("src", "mnt", wrap=("prlimit", f"--nofile={LIMIT}")) as m:
        files = open_all(f"mnt/{i}" for i in range(LIMIT))
        assert 10 < len(files) < LIMIT, len(files)
        m.end(signal.SIGTERM)
        for f in files:
            with contextlib.suppress(OSError):
                f.close()


main()
