#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bloscctl append adds all data or nothing"""
import json
import os
import subprocess
import sys
import time

import blosc2
import numpy as np

from ctl import (BLOSCCTL, check_frame, ctl, in_namespace, info, items, noise,
                 put, run_all, small_disk)

CHUNK = 30000


def stock(path, data, **options):
    blosc2.SChunk(data=data, urlpath=path, contiguous=False, **options)


def test_sizes():
    """Stock reads all data from the frame, whatever the sizes."""
    for typesize in (1, 3, 8, 300):
        chunk = CHUNK - CHUNK % typesize
        for first in (0, 1, chunk - 1, chunk, chunk + 7):
            data = put("f", items(first, typesize))
            ctl("compress", "-f", "--typesize", typesize, "--chunksize", chunk,
                "f")
            for n, size in enumerate((0, 1, chunk - 1, chunk, 2 * chunk + 5)):
                data += put("more", items(size, typesize, seed=n))
                ctl("append", "f.b2frame", "more")
                check_frame("f.b2frame", data, typesize=typesize,
                            chunksize=chunk)


def test_frames_of_stock():
    data = items(10000, 4)
    for codec in (blosc2.Codec.BLOSCLZ, blosc2.Codec.ZLIB):
        name = f"s{codec.value}.b2frame"
        stock(name, data, chunksize=4096,
              cparams={"typesize": 4, "codec": codec})
        more = put("more", items(9000, 4, seed=3))
        ctl("append", name, "more")
        facts = check_frame(name, data + more)
        assert facts["codec_id"] == codec.value, facts
    stock("empty.b2frame", b"", cparams={"typesize": 4})
    ctl("append", "empty.b2frame", stdin=more)
    check_frame("empty.b2frame", more, typesize=4, chunksize=1 << 20)


def waits_for_input(process):
    """Is it in read(2) of descriptor 0?  While it starts, it calls mmap(0, ...),
    too."""
    with open(f"/proc/{process.pid}/syscall") as f:
        return f.read().split()[:2] == ["0", "0x0"]


def test_what_comes_while_it_waits_for_input_stays():
    data = items(3 * CHUNK, 1)
    stock("f.b2frame", data, chunksize=CHUNK, cparams={"typesize": 1})
    process = subprocess.Popen([BLOSCCTL, "append", "f.b2frame", "-"],
                               stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    while not waits_for_input(process):
        time.sleep(0.01)
    theirs = items(CHUNK, 1, seed=5)
    blosc2.open("f.b2frame", mode="a").append_data(theirs)
    err = process.communicate(b"ours")[1]
    assert process.returncode == 1 and b"nothing was appended" in err, err
    check_frame("f.b2frame", data + theirs)


def test_several_files_and_pipes():
    put("a", b"alpha")
    put("b", b"beta" * 1000)
    ctl("compress", "-o", "f.b2frame", "a")
    ctl("append", "f.b2frame", "b", "-", "a", stdin=b"stdin")
    check_frame("f.b2frame", b"alpha" + b"beta" * 1000 + b"stdin" + b"alpha")
    ctl("append", "f.b2frame", stdin=noise(3 << 20))
    assert info("f.b2frame")["nbytes"] == 4014 + (3 << 20) + 1
    with open("hole", "wb") as f:
        f.truncate(5 << 20)
    before = info("f.b2frame")
    ctl("append", "f.b2frame", "hole")
    after = info("f.b2frame")
    assert after["nbytes"] == before["nbytes"] + (5 << 20)
    assert after["nspecial"] >= 4, after


def test_contiguous_frames():
    put("f", b"data" * 100)
    ctl("compress", "--contiguous", "f")
    ctl("append", "f.b2f", "f")
    check_frame("f.b2f", b"data" * 200)
    data = put("f", noise(5 << 20))
    ctl("append", "f.b2f", "f")
    check_frame("f.b2f", b"data" * 200 + data)
    ctl("verify", "f.b2f")


def test_all_or_nothing():
    data = put("f", noise(100000))
    ctl("compress", "f")
    _, err = ctl("append", "f.b2frame", "f", "missing", status=1)
    assert err == "bloscctl: missing: No such file or directory\n" \
        "bloscctl: f.b2frame: nothing was appended\n", err
    check_frame("f.b2frame", data)
    assert len(os.listdir("f.b2frame")) == 2, os.listdir("f.b2frame")
    with small_disk("2m"):
        ctl("compress", "-o", "disk/x", "f")
        put("more", noise(4 << 20))
        _, err = ctl("append", "disk/x", "f", "more", status=1)
        assert "No space left on device" in err, err
        check_frame("disk/x", data)
        assert len(os.listdir("disk/x")) == 2, os.listdir("disk/x")
        ctl("append", "disk/x", "f")
        check_frame("disk/x", data + data)
    # Some chunks of the new data have room.
    with small_disk("4m"):
        ctl("compress", "-o", "disk/x", "f")
        put("more", noise(8 << 20))
        _, err = ctl("append", "disk/x", "f", "more", status=1)
        assert "x: nothing was appended" in err, err
        check_frame("disk/x", data)


def test_what_cannot_grow():
    put("f", b"data" * 100)
    blosc2.asarray(np.zeros((10, 10)), urlpath="a.b2nd", contiguous=False)
    _, err = ctl("append", "a.b2nd", "f", status=1)
    assert err == "bloscctl: a.b2nd: arrays cannot grow; " \
        "nothing was appended\n", err
    _, err = ctl("append", "missing", "f", status=1)
    assert err == "bloscctl: missing: No such file or directory\n", err
    ctl("compress", "f")
    _, err = ctl("append", "f.b2frame", "f.b2frame/chunks.b2frame", status=1)
    assert "it is the frame itself" in err, err
    _, err = ctl("append", status=2)
    assert "a frame is missing" in err, err


def test_attributes_and_reports():
    put("f", b"x" * 5000)
    os.chmod("f", 0o640)
    ctl("compress", "f")
    old = os.stat("f.b2frame/chunks.b2frame")
    out, _ = ctl("append", "--json", "f.b2frame", "f")
    said = json.loads(out)
    assert said["command"] == "append" and said["nbytes"] == 10000, said
    new = os.stat("f.b2frame/chunks.b2frame")
    assert new.st_mode == old.st_mode and new.st_mtime > old.st_mtime
    _, err = ctl("append", "-v", "f.b2frame", "f")
    assert err.startswith("bloscctl: f.b2frame: 14.6 KiB -> "), err


if __name__ == "__main__":
    in_namespace()
    sys.exit(run_all(globals()))
