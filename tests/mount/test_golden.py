#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A mount shows every golden frame with the data from which C-Blosc2 made it."""
import hashlib
import os
import pathlib

from mounting import SOURCE, Mount, main

GOLDEN = SOURCE / "tests/data/golden"
KINDS = ("cframe", "sframe", "b2nd-cframe", "b2nd-sframe")


def frames():
    for line in (GOLDEN / "manifest.tsv").read_text().splitlines():
        if line.startswith("#"):
            continue
        field = line.split("\t")
        extra = field[11] if len(field) > 11 else ""
        yield field[0], field[1], int(field[9]), field[10], extra


def shown(name):
    path = pathlib.Path(name)
    # A folder with a frame STEM.b2frame and a STEM.b2nd keeps both names.
    return next(p for p in (path.with_suffix(""), path)
                if (pathlib.Path("mnt") / p).exists())


def test_golden_frames():
    n, bad = 0, []
    with Mount(GOLDEN, "mnt"):
        for kind, name, nbytes, sha, extra in frames():
            # Left out: frames that C-Blosc2 cannot decode, or leaves undefined.
            if kind not in KINDS or "offset" in extra or len(sha) != 64:
                continue
            path = pathlib.Path("mnt") / shown(name)
            try:
                content = path.read_bytes()
            except OSError as e:
                bad.append((name, extra, e.strerror))
                continue
            if len(content) != nbytes or \
                    hashlib.sha256(content).hexdigest() != sha or \
                    os.path.getsize(path) != nbytes:
                bad.append((name, len(content), nbytes))
            n += 1
    print(f"{n} frames")
    assert n > 20 and not bad, bad


main()
