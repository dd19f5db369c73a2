# SPDX-License-Identifier: BSD-3-Clause
"""build - where the programs under test are

ctest says so in the environment.  A test that is started by hand takes the
build directory in which bloscfs is newest.
"""
import os
import pathlib
import sys


def newest_build():
    found = SOURCE.glob("build/*/bloscfs")
    newest = max(found, key=lambda path: path.stat().st_mtime, default=None)
    if newest is None:
        sys.exit("there is no build; scripts/test quick makes one")
    return str(newest.parent)


SOURCE = pathlib.Path(os.environ.setdefault(
    "B2F_SOURCE", str(pathlib.Path(__file__).resolve().parents[2])))
BUILD = pathlib.Path(os.environ.get("B2F_BUILD") or newest_build())
# Programs and scripts that the tests start need it, too.
os.environ["B2F_BUILD"] = str(BUILD)
os.environ.setdefault("B2F_PYTHON", sys.executable)
BLOSCCTL = str(BUILD / "bloscctl")
