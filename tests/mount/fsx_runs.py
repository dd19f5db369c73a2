# SPDX-License-Identifier: BSD-3-Clause
"""fsx_runs - runs of tests/tools/fsx.c on a mount

At the end of each, C-Blosc2 has to read the data of the model.
"""
import itertools
import pathlib
import shutil
import subprocess

from mounting import BUILD
from scratch import (PLAIN, Scratch, Server, check_stock, litter,
                     make_contiguous)

SIZES = {"64k": 1 << 16, "1m": 1 << 20}
# Not a multiple of any item size.
LARGEST = {"64k": (1 << 20) + 5003, "1m": (4 << 20) + 5003}
# The file grows beyond a small file, and shrinks again, all the time.
LARGEST_SMALL = (192 << 10) + 5003
# One in thirty operations is a commit; else a few in a thousand are.
OFTEN = ["--weight=fsync=20", "--weight=reopen=10"]


def matrix():
    """(options, chunk size) of all combinations, and with direct_io."""
    for writeback, size, typesize in itertools.product(
            (False, True), SIZES, (1, 4, 8)):
        options = [f"chunksize={size}", f"typesize={typesize}"]
        yield options + ["writeback_cache"] * writeback, size
    yield ["chunksize=64k", "direct_io"], "64k"


def fsx(path, size, *args):
    """Runs fsx on @path, and returns the data that it must hold."""
    final = pathlib.Path("final")
    run = subprocess.run(
        [BUILD / "fsx", f"--border={SIZES[size]}", f"--max={LARGEST[size]}",
         f"--final={final}", *args, path],
        capture_output=True, text=True)
    print(run.stdout.splitlines()[-1] if run.stdout else "no output")
    assert run.returncode == 0, (run.args, run.stderr[-8000:])
    return final.read_bytes()


def run_one(options, size, ops, seed, every, contiguous=False, small=False):
    """One run with remounts, on an empty folder, or with a contiguous frame.

    @small: with a file that stays small, and many commits.
    """
    # direct_io allows no shared maps.
    more = ["--weight=mapread=0", "--weight=mapwrite=0"] * (
        "direct_io" in options)
    more += OFTEN * (contiguous or small)
    more += [f"--max={LARGEST_SMALL}"] * small
    shutil.rmtree("src", ignore_errors=True)
    if contiguous:
        pathlib.Path("src").mkdir()
        typesize = [int(x[9:]) for x in options if x.startswith("typesize=")]
        make_contiguous("src/f.b2frame", chunk=SIZES[size],
                        typesize=(typesize or [1])[0])
    with Scratch(*options) as scratch, Server(scratch.remount) as server:
        want = fsx(scratch.path / "f", size, f"--ops={ops}", f"--seed={seed}",
                   f"--every={every}", f"--remount={server.command}",
                   *more)
    if not PLAIN:
        assert small or pathlib.Path("src/f.b2frame").is_file() == contiguous
        check_stock("src/f.b2frame", want)
        assert not litter("src/f.b2frame"), litter("src/f.b2frame")
