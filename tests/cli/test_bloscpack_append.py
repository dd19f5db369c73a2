#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Appending to Bloscpack files, and making them at once."""
import io
import os
import pathlib
import signal
import struct
import subprocess
import sys
import time

import numpy as np

from ctl import BLOSCCTL, cat, ctl, get, info, items, noise, put, run_all
from packing import (HEADER, BloscArgs, BloscpackArgs, append, bloscpack, many,
                     make_some, some_bytes, unpack)

DATA = items(130000, 4)


def pack(path, data=DATA, chunk_size=50000, offsets=True, room=3,
         checksum="crc32"):
    bloscpack.pack_bytes_to_file(
        data, path, chunk_size=chunk_size, blosc_args=BloscArgs(typesize=4),
        bloscpack_args=BloscpackArgs(checksum=checksum, offsets=offsets,
                                     max_app_chunks=room if offsets else 0))


def header(path="x.blp"):
    return struct.unpack(HEADER, pathlib.Path(path).read_bytes()[:32])


def whole_rows(array, data):
    """The beginning of @data that has whole rows of @array."""
    order = "F" if np.isfortran(array) else "C"
    row = array.itemsize
    for n in array.shape[:-1] if order == "F" else array.shape[1:]:
        row *= n
    data = data[:len(data) // row * row]
    if array.dtype == "?":
        data = bytes(b & 1 for b in data)
    return (bytes(len(data)) if array.dtype.kind == "U" else data), order


def check_array(array, order, data):
    back = bloscpack.unpack_ndarray_from_file("x.blp")
    axis = array.ndim - 1 if order == "F" else 0
    assert back.dtype == array.dtype and back.tobytes(order) == data
    assert all(back.shape[i] == array.shape[i]
               for i in range(array.ndim) if i != axis)
    loaded = np.load(io.BytesIO(ctl("decompress", "-c", "x.blp")[0]))
    assert loaded.tobytes(order) == data and loaded.shape == back.shape


def test_random_files_become_longer():
    for i, rng in enumerate(many(11, 12)):
        data, array, meta = make_some(rng, "x.blp")
        more = some_bytes(rng, rng.choice((0, 1, 999, 70000, 1 << 20)))
        order = "C"
        if array is not None:
            more, order = whole_rows(array, more)
        put("more", more)
        ctl("append", "x.blp", "more")
        assert cat("x.blp") == data + more, i
        out, err = ctl("verify", "x.blp")
        assert b": ok" in out and not err, (i, out, err)
        if array is None:
            assert unpack("x.blp") == (data + more, meta), i
        else:
            check_array(array, order, data + more)


def test_metadata_of_an_array_stay():
    array = np.arange(6, dtype="<i4").reshape(2, 3)
    meta = {"dtype": "'<i4'", "author": "me", "shape": [2, 3], "order": "C",
            "container": "numpy", "taken": [1, 2.5, None]}
    bloscpack.pack_bytes_to_file(array.tobytes(), "x.blp", metadata=meta)
    put("more", array.tobytes())
    ctl("append", "x.blp", "more")
    assert unpack("x.blp") == (array.tobytes() * 2, {**meta, "shape": [4, 3]})


def test_the_last_chunk_is_filled_up():
    pack("x.blp")
    before = pathlib.Path("x.blp").read_bytes()
    assert header()[5:] == (50000, 30000, 3, 3)
    put("more", DATA[:45000])
    ctl("append", "x.blp", "more")
    assert header()[5:] == (50000, 25000, 4, 2)
    # Full chunks stay, byte for byte, in their places.
    last = struct.unpack("<6q", before[32:80])[2]
    assert pathlib.Path("x.blp").read_bytes()[80:last] == before[80:last]
    # Bloscpack can append to it.
    append("x.blp", "more")
    assert cat("x.blp") == unpack("x.blp")[0] == DATA + DATA[:45000] * 2
    # Bloscpack refuses to append without spare offsets; a new file has more.
    put("more", DATA * 2)
    ctl("append", "x.blp", "more")
    assert unpack("x.blp")[0] == DATA + DATA[:45000] * 2 + DATA * 2
    fields = header()
    assert fields[7:] == (10, 100), fields
    facts = info("x.blp")
    assert facts["bloscpack"]["checksum"] == "crc32", facts


def test_files_without_offsets_too():
    pack("x.blp", offsets=False)
    raw = bytearray(pathlib.Path("x.blp").read_bytes())
    # A file of a writer that did not know the size beforehand.
    raw[12:24] = b"\xff" * 12
    put("x.blp", raw)
    ctl("append", "x.blp", put("more", DATA) and "more")
    assert header()[2] == 0 and header()[7:] == (6, 0)
    assert unpack("x.blp")[0] == cat("x.blp") == DATA + DATA


def test_what_comes_through_a_pipe():
    pack("x.blp")
    subprocess.run([BLOSCCTL, "append", "x.blp"], input=DATA, check=True)
    subprocess.run([BLOSCCTL, "append", "x.blp", "-"], input=b"", check=True)
    assert unpack("x.blp")[0] == DATA * 2
    os.chmod("x.blp", 0o640)
    os.symlink("x.blp", "link.blp")
    ctl("append", "link.blp", put("more", b"end") and "more")
    assert os.path.islink("link.blp")
    assert os.stat("x.blp").st_mode & 0o777 == 0o640
    assert cat("x.blp") == DATA * 2 + b"end"


def test_nothing_can_be_made_longer():
    put("empty", b"")
    ctl("compress", "--format=blp", "empty")
    put("more", DATA)
    ctl("append", "empty.blp", "more")
    assert unpack("empty.blp")[0] == DATA


def test_a_small_chunk_is_not_the_size_of_all():
    pack("x.blp", data=b"abc", chunk_size=3)
    put("more", DATA)
    ctl("append", "x.blp", "more")
    assert header()[5:8] == (1 << 20, len(DATA) + 3, 1)
    assert unpack("x.blp")[0] == b"abc" + DATA
    pack("x.blp", data=b"abc", chunk_size=3)
    raw = bytearray(pathlib.Path("x.blp").read_bytes())
    raw[7] = 12
    put("x.blp", raw)
    ctl("append", "x.blp", "more")
    assert header()[5] == (1 << 20) - 4


def check_refused(cause, *operands):
    before = pathlib.Path(operands[0]).read_bytes()
    _, err = ctl("append", *operands, status=1)
    assert cause in err and "nothing was appended" in err, err
    assert pathlib.Path(operands[0]).read_bytes() == before


def test_what_is_refused():
    array = np.arange(600.).reshape(20, 30)
    bloscpack.pack_ndarray_to_file(array, "a.blp")
    put("more", b"x" * 241)
    check_refused("240 bytes", "a.blp", "more")
    bloscpack.pack_ndarray_to_file(np.array(3.5), "s.blp")
    check_refused("without dimensions", "s.blp", "more")
    pack("x.blp")
    check_refused("No such file", "x.blp", "more", "missing")
    check_refused("the frame itself", "x.blp", "x.blp")
    raw = bytearray(pathlib.Path("x.blp").read_bytes())
    raw[-1] ^= 1
    put("x.blp", raw)
    # A damaged chunk is not packed again with a good checksum.
    check_refused("its crc32 is", "x.blp", "more")


def begin_append():
    """Starts an append that waits for a pipe; yields both."""
    os.mkfifo("pipe")
    child = subprocess.Popen([BLOSCCTL, "append", "x.blp", "pipe"],
                             stderr=subprocess.PIPE, text=True)
    return child, open("pipe", "wb")


def test_a_signal_leaves_the_file():
    pack("x.blp")
    child, pipe = begin_append()
    pipe.write(noise(3 << 20))
    child.send_signal(signal.SIGTERM)
    assert child.wait() != 0
    child.stderr.close()
    try:
        pipe.close()
    except BrokenPipeError:
        pass
    assert unpack("x.blp")[0] == DATA


def test_another_writer_is_not_overwritten():
    pack("x.blp")
    child, pipe = begin_append()
    put("more", b"theirs")
    append("x.blp", "more")
    pipe.write(b"ours")
    pipe.close()
    _, err = child.communicate()
    assert child.returncode and "another program" in err, err
    assert cat("x.blp") == DATA + b"theirs"


def test_two_at_once():
    """Both are about to replace the file: one of them does not."""
    pack("x.blp")
    for name in "ab":
        put(name, name.encode() * 100)
    slow = subprocess.Popen(
        ["strace", "-f", "-qq", "-o", "trace", "-P", os.getcwd(),
         "-e", "trace=renameat", "-e", "inject=renameat:delay_enter=2000000",
         BLOSCCTL, "append", "x.blp", "a"],
        env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    # The rename shows up in the trace when it begins.
    while not os.path.exists("trace") or "renameat" not in get("trace").decode():
        time.sleep(0.01)
    err = ctl("append", "x.blp", "b", status=1)[1]
    assert "another program has changed it" in err, err
    assert slow.wait() == 0
    assert cat("x.blp") == DATA + b"a" * 100


def test_files_are_made_at_once():
    for i, name in enumerate(("none", "crc32", "sha256")):
        put("x", DATA)
        ctl("compress", "-f", "--format=blp", f"--checksum={name}",
            "--codec=lz4", "--chunksize=50000", "--typesize=4", "x")
        assert unpack("x.blp") == (DATA, None)
        facts = info("x.blp")
        assert facts["bloscpack"]["checksum"] == name
        assert facts["codec"] == "lz4" and facts["chunksize"] == 50000
        assert header()[7:] == (3, 30)
    piped = subprocess.run([BLOSCCTL, "compress", "-c", "--format=blp"],
                           input=DATA, check=True, stdout=subprocess.PIPE)
    put("p.blp", piped.stdout)
    assert unpack("p.blp")[0] == DATA and header("p.blp")[2] == 1


def test_arrays_are_made_at_once():
    for array in (np.arange(70000, dtype="<f4").reshape(7, 100, 100),
                  np.zeros((0, 4)), np.array(5, dtype=">i2")):
        np.save("a.npy", array)
        ctl("compress", "-f", "--format=blp", "a.npy")
        back = bloscpack.unpack_ndarray_from_file("a.blp")
        assert back.dtype == array.dtype and back.shape == array.shape
        assert back.tobytes() == array.tobytes()
    ctl("compress", "-f", "--format=blp", "--plain", "-o", "p.blp", "a.npy")
    assert unpack("p.blp") == (pathlib.Path("a.npy").read_bytes(), None)


def test_options_that_exclude_each_other():
    put("x", b"x")
    for options in (("--format=zip",), ("--checksum=md5",),
                    ("--format=blp", "--rm"),
                    ("--format=blp", "--checksum=sha3"),
                    ("--format=blp", "--contiguous")):
        ctl("compress", *options, "x", status=2)


if __name__ == "__main__":
    sys.exit(run_all(globals()))
