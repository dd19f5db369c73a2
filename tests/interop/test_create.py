#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stock python-blosc2 opens and fills the empty frames that we create."""
import itertools
import os
import subprocess
import sys

import blosc2

from interop import BUILD, cat, check, compressible, info, workdir

CREATE = str(BUILD / "create_frame")

CODECS = [0, 1, 2, 4, 5]
# No filter; the usual one; one with a parameter; two with a gap.  (python-blosc2 cannot
# open its own bytedelta without parameter if the type size is above 127.)
PIPELINES = [[], [0, 0, 0, 0, 0, 1], ["35:4", 0, 0, 0, 0, 0],
             [1, 0, 0, "35:4", 0, 0]]
CHUNK = 24000


def create(path, *args):
    subprocess.run([CREATE, path, *map(str, args)], check=True)
    assert sorted(os.listdir(path)) == ["chunks.b2frame"]
    assert os.path.getsize(os.path.join(path, "chunks.b2frame")) == 132


def fill(path, typesize, preset):
    """Stock appends three chunks, the last one shorter."""
    data = compressible(2 * CHUNK + CHUNK // 4, typesize)
    schunk = blosc2.open(path, mode="a")
    assert schunk.nchunks == 0 and schunk.nbytes == 0, path
    assert schunk.typesize == typesize, path
    assert not schunk.contiguous
    assert not preset or schunk.chunksize == CHUNK, schunk.chunksize
    for start in range(0, len(data), CHUNK):
        schunk.append_data(data[start:start + CHUNK])
    del schunk
    schunk = blosc2.open(path, mode="r")
    check(path, data, schunk)
    assert schunk.chunksize == CHUNK
    assert schunk[0:len(data) // typesize] == data


def test_default(tmp):
    create("default")
    said = info("default")
    assert said["codec_id"] == 5 and said["clevel"] == 3, said
    assert said["blocksize"] == 65536, said
    assert [f["id"] for f in said["filters"]] == [1], said
    assert said["typesize"] == 1 and said["nbytes"] == 0, said
    assert cat("default") == b""
    fill("default", 1, False)


def test_settings(tmp):
    ways = itertools.cycle([(5, 4, 0), (1, 2, 2400), (9, 1, 2400)])
    cases = itertools.product(CODECS, PIPELINES, (1, 4, 300), (False, True))
    for n, (codec, filters, typesize, preset) in enumerate(cases):
        clevel, split, blocksize = next(ways)
        path = f"f{n}"
        create(path, typesize, CHUNK if preset else -1, blocksize, codec,
               clevel, split, *filters)
        fill(path, typesize, preset)
        cparams = blosc2.open(path, mode="r").cparams
        assert cparams.splitmode.value == split, path
        assert cparams.blocksize == blocksize, (path, cparams)
    return n + 1


def test_other_edits(tmp):
    """Stock inserts, and adds metadata that only empty frames take."""
    create("edited", 4, 400, 0, 5, 5, 4, 0, 0, 0, 0, 0, 1)
    schunk = blosc2.open("edited", mode="a")
    schunk.vlmeta["colour"] = "blue"
    first, second = bytes(range(100)) * 4, bytes(range(1, 101)) * 4
    schunk.append_data(second)
    schunk.insert_data(0, first, False)
    del schunk
    schunk = blosc2.open("edited", mode="r")
    assert schunk.vlmeta["colour"] == "blue"
    check("edited", first + second, schunk)


def main():
    with workdir() as tmp:
        test_default(tmp)
        n = test_settings(tmp)
        test_other_edits(tmp)
    print(f"{n + 2} frames of ours are filled by C-Blosc2")
    return 0


sys.exit(main())
