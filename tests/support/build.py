# SPDX-License-Identifier: BSD-3-Clause
"""build - where the programs under test are

ctest says so in the environment.  A test that is started by hand takes the
build directory in which bloscfs is newest.
"""
import collections
import os
import pathlib
import sys


def newest_build():
    found = SOURCE.glob("build/*/bloscfs")
    newest = max(found, key=lambda path: path.stat().st_mtime, default=None)
    if newest is None:
        sys.exit("there is no build; scripts/test quick makes one")
    return str(newest.parent)


def environment(*kind):
    """The environment of one more run of @kind.

    To look for leaks takes the address sanitizer as long as a short run takes:
    it does so in the first ten runs of a kind, and in every tenth later.
    """
    RUNS[kind] += 1
    if RUNS[kind] <= 10 or RUNS[kind] % 10 == 0:
        return dict(os.environ)
    options = os.environ.get("ASAN_OPTIONS", "")
    return dict(os.environ, ASAN_OPTIONS=f"{options}:detect_leaks=0")


RUNS = collections.Counter()
SOURCE = pathlib.Path(os.environ.setdefault(
    "B2F_SOURCE", str(pathlib.Path(__file__).resolve().parents[2])))
BUILD = pathlib.Path(os.environ.get("B2F_BUILD") or newest_build())
# Programs and scripts that the tests start need it, too.
os.environ["B2F_BUILD"] = str(BUILD)
os.environ.setdefault("B2F_PYTHON", sys.executable)
BLOSCCTL = str(BUILD / "bloscctl")
# A slow build: tests try fewer random cases.  The plain build tries all.
SANITIZED = any(f"__{kind}_init".encode() in
                (BUILD / "bloscfs").read_bytes() for kind in ("asan", "tsan"))
