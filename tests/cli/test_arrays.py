#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_arrays.py - bloscctl and arrays: .npy files in and out, parts of them"""
import io
import itertools
import os
import pathlib
import random
import shutil
import struct
import subprocess
import sys

import blosc2
import numpy as np

from ctl import (BLOSCCTL, SOURCE, cat, check_frame, ctl, get, info, put,
                 remove, run_all)
from npy_file import npy_bytes

DTYPES = ["?", "i1", "<u2", ">i2", "<i4", ">u4", "<i8", "<f2", "<f4", ">f8",
          "<f16", "<c8", ">c16", "S1", "S7", "<U3", ">U2", "V5", "<M8[us]",
          ">m8[ns]", [("a", "<i4"), ("b", ">f8", (2,))],
          [("p", "<i2"), ("q", [("r", "i1"), ("s", "<U2")])],
          np.dtype({"names": ["a", "b"], "formats": ["i1", "<f8"]},
                   align=True)]


def make(shape, dtype, seed=0):
    """Random items of @dtype."""
    dtype = np.dtype(dtype)
    n = int(np.prod(shape, dtype=int)) * dtype.itemsize
    limit = 2 if dtype.kind == "b" else 100
    raw = np.random.default_rng(seed).integers(0, limit, n, dtype="u1")
    return np.frombuffer(raw.tobytes(), dtype).reshape(shape)


def as_bytes(array):
    """The bytes of @array, including the holes of structs."""
    array = np.ascontiguousarray(array)
    return array.view(f"V{array.dtype.itemsize}").tobytes()


def check_stock(frame, data):
    """Checks that python-blosc2 reads the array of the .npy file @data from @frame."""
    want = np.load(io.BytesIO(data))
    array = blosc2.open(frame, mode="r")
    assert array.shape == want.shape and array.dtype == want.dtype, frame
    got = array[()] if array.ndim == 0 else array[:]
    assert as_bytes(np.asarray(got)) == data[len(data) - want.nbytes:], frame
    return want


def check_info(frame, facts, want, **said):
    array = facts["array"]
    assert array["shape"] == list(want.shape), facts
    assert array["npy"] and array["readable"], facts
    assert array["nbytes"] == want.nbytes, facts
    for key, value in said.items():
        assert facts[key] == value, (frame, key, facts[key])


def check_joined(got, frames):
    """Checks that @got is the data of all frames, one after the other."""
    for frame, _, data, _ in frames:
        assert got[:len(data)] == data, frame
        got = got[len(data):]
    assert not got


def check_arrays(*frames):
    """Checks tuples of a frame, its decompressed file, the bytes of its .npy file, and
    its facts, with one process per command."""
    paths = [frame[0] for frame in frames]
    facts = info(*paths)
    for (frame, _, data, said), told in zip(frames, facts if frames[1:]
                                            else [facts], strict=True):
        check_info(frame, told, check_stock(frame, data), **said)
    check_joined(ctl("cat", *paths)[0], frames)
    check_joined(ctl("decompress", "-c", *paths)[0], frames)
    remove(*(name for _, name, _, _ in frames))
    assert ctl("decompress", *paths) == (b"", "")
    for frame, name, data, _ in frames:
        assert get(name) == data, frame
    assert ctl("verify", *paths)[0].count(b": ok, ") == len(frames)


def check_array(frame, name, data, **said):
    check_arrays((frame, name, data, said))


def check_all(cases, *options):
    """Yields a file, its bytes, and the facts about its frame."""
    names = [put(name, data) and name for name, data, _ in cases]
    for more, storage in ([], "sparse"), (["--contiguous"], "contiguous"):
        remove(*(f"{name}.b2nd" for name in names))
        ctl("compress", *options, *more, *names)
        check_arrays(*((f"{name}.b2nd", name, data,
                        {"storage": storage, **said})
                       for name, data, said in cases))


def check_both(name, data, *options, **said):
    check_all([(name, data, said)], *options)


def test_types():
    check_all([(f"{i}.npy", npy_bytes(make((31, 40), dtype, i)),
                {"typesize": np.dtype(dtype).itemsize})
               for i, dtype in enumerate(DTYPES)])


def test_shapes():
    shapes = [(), (0,), (3, 0, 4), (1,), (70000,), (3, 70001), (1,) * 16,
              (100, 100, 100), (2, 1, 90000)]
    check_all([(f"{i}.npy", npy_bytes(make(shape, "<i4")), {})
               for i, shape in enumerate(shapes)])


def test_options():
    data = npy_bytes(make((500, 400), "<f8"))
    check_both("a.npy", data, "-9", "--codec=lz4hc", "--filter=bitshuffle",
               codec="lz4hc", clevel=9)
    check_both("b.npy", data, "--chunksize=100000", "--blocksize=20000",
               "--typesize=1", typesize=8)
    assert info("b.npy.b2nd")["chunksize"] <= 100000
    check_both("c.npy", npy_bytes(make((9, 8), "<f8")), "--chunksize=1", "-T1")
    assert info("c.npy.b2nd")["nchunks"] == 72
    check_both("d.npy", data, "--chunksize=1g")
    assert info("d.npy.b2nd")["nchunks"] == 1
    put("a.npy", data)
    remove("x")
    ctl("compress", "-o", "x", "a.npy")
    assert info("x")["array"]["npy"]
    ctl("compress", "-o", "x", "a.npy", status=1)
    ctl("compress", "-f", "-o", "x", "--plain", "a.npy")
    assert info("x")["array"] is None and info("x")["typesize"] == 8


def test_headers():
    """Any valid header comes back unchanged."""
    data = npy_bytes(np.arange(6, dtype="<i4"))
    body = data[128:]
    text = b"{'shape':(6,),'fortran_order':False,'descr':'<i4'}\n"
    for i, head in enumerate([
            b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text,
            b"\x93NUMPY\x02\x00" + struct.pack("<I", len(text)) + text,
            b"\x93NUMPY\x03\x00" + struct.pack("<I", len(text)) + text]):
        check_both(f"{i}.npy", head + body)


def plain_cases():
    yield "fortran", npy_bytes(np.asfortranarray(np.arange(20.).reshape(4, 5))), 8
    yield "object", npy_bytes(np.array([{}, 1], object), allow_pickle=True), None
    data = npy_bytes(np.arange(100000, dtype="<i4"))
    yield "short", data[:-1], 4
    yield "header", data[:128], 4
    yield "half a header", data[:70], None
    yield "longer", data + b"\0", 4
    yield "large and short", npy_bytes(make((1000, 1000), "<f8"))[:-8], 8
    yield "large and longer", npy_bytes(make((1000, 1000), "<f8")) + b"more", 8
    yield "magic", b"\x93NUMPY", None
    yield "nothing", b"", None
    yield "no items", npy_bytes(np.zeros(4, "V0")), None


def test_plain():
    """A file that is no whole .npy file is compressed as plain data."""
    for name, data, typesize in plain_cases():
        put(name, data)
        for option in ("--contiguous", "-q"):
            remove("x")
            ctl("compress", option, name)
            frame = f"{name}.b2f" if option[1] == "-" else f"{name}.b2frame"
            shutil.move(frame, "x")
            facts = check_frame("x", data)
            assert facts["array"] is None, name
            assert typesize in (None, facts["typesize"]), (name, facts)
        ctl("compress", "-f", "-o", "x", "-", stdin=data)
        assert check_frame("x", data)["array"] is None, name


def test_stdin():
    for shape in [(), (0, 5), (1000, 300), (3, 200000)]:
        data = npy_bytes(make(shape, "<i8"))
        ctl("compress", "-f", "-o", "x", stdin=data)
        assert cat("x") == data and info("x")["array"]["npy"]
        out, _ = ctl("compress", "-c", stdin=data)
        put("y.b2nd", out)
        check_array("y.b2nd", "y", data, storage="contiguous")
    # Standard input is a file, read from its middle on.
    put("f", b"before" + data)
    with open("f", "rb") as f:
        f.seek(6)
        subprocess.run([BLOSCCTL, "compress", "-f", "-o", "z"], stdin=f,
                       check=True)
    assert cat("z") == data and info("z")["array"]["npy"]


def test_holes():
    """A .npy file that was made, but not written to."""
    array = np.lib.format.open_memmap("a.npy", mode="w+", dtype="<f8",
                                      shape=(4000, 1000))
    array[2000] = 7
    array.flush()
    del array
    data = get("a.npy")
    ctl("compress", "a.npy")
    assert info("a.npy.b2nd")["nspecial"] > 20
    check_array("a.npy.b2nd", "a.npy", data)
    assert os.stat("a.npy").st_blocks * 512 < 4 << 20


def test_recursive():
    os.makedirs("d/e")
    np.save("d/a.npy", np.arange(5))
    np.save("d/e/b.npy", np.asfortranarray(np.eye(3)[:2]))
    put("d/e/c", b"text")
    ctl("compress", "-r", "--rm", "d")
    found = sorted(str(p) for p in pathlib.Path("d").rglob("*.npy*"))
    assert "d/a.npy.b2nd" in found and "d/e/b.npy.b2frame" in found, found
    assert "d/a.npy" not in found


def test_remove():
    data = npy_bytes(make((300, 500), "<f4"))
    for option in ("--contiguous", "-q"):
        put("a.npy", data)
        ctl("compress", "--rm", option, "a.npy")
        assert not os.path.exists("a.npy")
        ctl("decompress", "--rm", "a.npy.b2nd")
        assert not os.path.exists("a.npy.b2nd") and get("a.npy") == data


def stock(path, array, **options):
    """An array as python-blosc2 stores it; asarray() may lose data in holes."""
    remove(path)
    made = blosc2.empty(array.shape, dtype=array.dtype, urlpath=path,
                        mode="w", **options)
    if array.size:
        made[...] = array
    return made


def check_taken_out(names, arrays):
    """Decompresses to .npy files and to items alone, with a process for each kind."""
    frames = [f"{name}.b2nd" for name in names]
    assert ctl("decompress", "-f", *frames) == (b"", "")
    for name, a in zip(names, arrays):
        loaded = np.load(f"{name}.npy")
        assert loaded.dtype == a.dtype and as_bytes(loaded) == as_bytes(a)
    files = b"".join(get(f"{name}.npy") for name in names)
    assert ctl("decompress", "-c", *frames)[0] == files
    items = b"".join(map(as_bytes, arrays))
    assert ctl("cat", *frames)[0] == items
    ctl("decompress", "-f", "--raw", *frames)
    assert b"".join(map(get, names)) == items
    assert ctl("decompress", "--raw", "-c", *frames)[0] == items


def test_stock():
    """Foreign arrays become a .npy file, or items alone."""
    arrays, names = [], []
    for i, (dtype, contiguous) in enumerate(itertools.product(
            DTYPES, (True, False))):
        a = make((23, 17), dtype, i)
        stock(f"a{i}.b2nd", a, contiguous=contiguous, chunks=(10, 7),
              blocks=(3, 4))
        arrays.append(a)
        names.append(f"a{i}")
    check_taken_out(names, arrays)
    for a, told in zip(arrays, info(*(f"{x}.b2nd" for x in names)),
                       strict=True):
        said = told["array"]
        assert not said["npy"] and said["nbytes"] == a.nbytes, said
        assert said["padding"] == told["nbytes"] - a.nbytes > 0, said
    os.rename(f"{names[-1]}.b2nd", "b.npy.b2nd")
    ctl("decompress", "b.npy.b2nd")
    assert np.array_equal(np.load("b.npy"), a)
    np.save("c.npy", a)
    ctl("compress", "c.npy")
    ctl("decompress", "--raw", "c.npy.b2nd")
    assert get("c") == as_bytes(a)


def test_no_npy_type():
    """A type that .npy files cannot describe."""
    dtype = np.dtype({"names": ["a", "b"], "formats": ["<i4", "<i2"],
                      "offsets": [0, 2]})
    a = np.frombuffer(bytes(range(40)), dtype)
    stock("a.b2nd", a)
    err = ctl("decompress", "a.b2nd", status=1)[1]
    assert "--raw writes the items alone" in err and not os.path.exists("a.npy")
    ctl("decompress", "--raw", "a.b2nd")
    assert get("a") == bytes(range(40))
    err = ctl("slice", "a.b2nd", "1", status=1)[1]
    assert "--raw writes the items alone" in err, err
    assert ctl("slice", "--raw", "a.b2nd", "1")[0] == bytes(range(4, 8))


def test_losses():
    """--rm keeps a frame whose metadata a .npy file cannot hold."""
    a = np.arange(12.).reshape(3, 4)
    for contiguous in (True, False):
        for meta in ("meta", "vlmeta", None):
            options = {"meta": {"unit": "K"}} if meta == "meta" else {}
            array = stock("a.b2nd", a, contiguous=contiguous, **options)
            if meta == "vlmeta":
                array.schunk.vlmeta["unit"] = "K"
            del array
            remove("a.npy", "a")
            if meta:
                err = ctl("decompress", "--rm", "a.b2nd", status=1)[1]
                assert "unit would be lost: --rm refused" in err, err
                assert not os.path.exists("a.npy")
                ctl("decompress", "--rm", "-f", "a.b2nd")
            else:
                err = ctl("decompress", "--rm", "--raw", "a.b2nd",
                          status=1)[1]
                assert "shape and the type of its items" in err, err
                ctl("decompress", "--rm", "a.b2nd")
            assert not os.path.exists("a.b2nd")
            assert np.array_equal(np.load("a.npy"), a)
    np.save("b.npy", a)
    ctl("compress", "b.npy")
    array = blosc2.open("b.npy.b2nd", mode="a")
    array.schunk.vlmeta["unit"] = "K"
    del array
    err = ctl("decompress", "--rm", "b.npy.b2nd", status=1)[1]
    assert "its vlmetalayer unit would be lost" in err, err
    err = ctl("decompress", "-f", "--rm", "b.npy.b2nd")[1]
    assert not err and not os.path.exists("b.npy.b2nd")


def test_other_commands():
    """Every command treats an array with a header as one file."""
    data = npy_bytes(make((300, 70, 11), ">f4"))
    put("a.npy", data)
    ctl("compress", "--chunksize=100k", "a.npy")
    for args in (["convert", "a.npy.b2nd"],
                 ["convert", "-o", "s.b2nd", "a.npy.b2f"],
                 ["recompress", "-9", "--codec=lz4hc", "a.npy.b2nd"],
                 ["recompress", "-1", "a.npy.b2f"],
                 ["seal", "a.npy.b2nd"], ["repair", "a.npy.b2nd"]):
        before = info("a.npy.b2nd")["array"]
        ctl(*args)
        for path in ("a.npy.b2nd", "a.npy.b2f", "s.b2nd"):
            if os.path.exists(path):
                assert cat(path) == data, (args, path)
                assert info(path)["array"] == before, (args, path)
    out, err = ctl("append", "a.npy.b2nd", status=1, stdin=b"more")
    assert "arrays cannot grow; nothing was appended" in err, err
    assert cat("a.npy.b2nd") == data
    for line in ctl("ls", "-lq")[0].decode().splitlines():
        assert line.split()[2] == str(len(data)), line
    out = ctl("info", "a.npy.b2nd")[0].decode()
    assert "array        shape (300, 70, 11)" in out, out
    assert "dtype        >f4" in out, out
    assert f"in C order   902.3 KiB (924000 bytes), padding " in out, out
    assert f"a .npy file of 902.5 KiB ({len(data)} bytes)" in out, out
    assert cat("a.npy.b2nd")[:6] == b"\x93NUMPY"
    assert ctl("cat", "--offset=-8", "a.npy.b2nd")[0] == data[-8:]


def break_shape(path):
    """Changes the shape to 61 instead of 30 in the first dimension, and the
    numbers of threads to 1, which C-Blosc2 writes when it changes a shape."""
    raw = bytearray(get(path))
    raw[62:68] = b"\xd1\0\1" * 2
    at = raw.index(b"\xd3" + struct.pack(">q", 30))
    raw[at + 1:at + 9] = struct.pack(">q", 61)
    put(path, raw)


def test_misfit():
    """Arrays whose chunks do not fit the shape."""
    np.save("a.npy", np.arange(3000).reshape(30, 100))
    ctl("compress", "--contiguous", "a.npy")
    ctl("compress", "-o", "s.b2nd", "a.npy")
    break_shape("a.npy.b2nd")
    why = "not readable as an array: the number of its chunks"
    out, err = ctl("verify", "a.npy.b2nd", status=1)
    assert b"damaged, " in out and b", not readable as an array" in out, out
    assert why in err, err
    out, err = ctl("verify", "--json", "a.npy.b2nd", status=1)
    assert b'"bad_array": true' in out and b'"status": "damaged"' in out
    for command in (["cat"], ["decompress", "-c"], ["slice", "a.npy.b2nd"]):
        operand = "0" if command[0] == "slice" else "a.npy.b2nd"
        out, err = ctl(*command, operand, status=1)
        assert why in err and "cannot be read as an array" in err, err
        assert out == b""
    out = ctl("info", "a.npy.b2nd")[0]
    assert b"nothing: it is not readable as an array" in out, out
    assert not info("a.npy.b2nd")["array"]["readable"]
    # An index by stock has no checksum.
    stock("t.b2nd", np.arange(3000).reshape(30, 100), contiguous=False)
    break_shape("t.b2nd/chunks.b2frame")
    out, err = ctl("repair", "t.b2nd", status=1)
    assert why in err and "do not fit the shape" in err and not out, (out, err)


def test_damage():
    """A chunk of an array is lost; the rest of the file stays."""
    data = npy_bytes(make((1000, 500), "<f8"))
    put("a.npy", data)
    ctl("compress", "--chunksize=400k", "a.npy")
    rows = info("a.npy.b2nd")["array"]["chunks"][0]
    lost = info("a.npy.b2nd", "--chunks")["chunks"][3]["stored_at"]
    os.remove(f"a.npy.b2nd/{lost}")
    assert b"1 damaged" in ctl("verify", "a.npy.b2nd", status=1)[0]
    ctl("decompress", "-f", "a.npy.b2nd", status=1)
    assert get("a.npy") == data
    ctl("slice", "--raw", "a.npy.b2nd", 3 * rows, status=1)
    assert ctl("slice", "--raw", "a.npy.b2nd", "5")[0] == \
        data[128 + 20000:128 + 24000]
    ctl("repair", "--zero-damaged", "a.npy.b2nd")
    start = 128 + 3 * rows * 4000
    want = data[:start] + bytes(rows * 4000) + data[start + rows * 4000:]
    assert cat("a.npy.b2nd") == want


def random_index(rng, shape):
    """A random index of an array, as text."""
    count = rng.randint(0, len(shape))
    dots = rng.randint(0, count) if rng.random() < .4 else None
    parts = []
    for i in range(count):
        if i == dots:
            parts.append("...")
        behind = dots is not None and i >= dots
        side = shape[len(shape) - count + i] if behind else shape[i]
        parts.append(random_part(rng, side))
    if dots == count or not parts:
        parts.append("...")
    return rng.choice([",", ", ", " , "]).join(parts)


def random_part(rng, side):
    if side and rng.random() < .3:
        return str(rng.randint(-side, side - 1))
    ends = [rng.choice(["", str(rng.randint(-side - 3, side + 3))])
            for _ in range(2)]
    step = rng.choice(["", ":", ":1", ":2", ":3", ":-1", ":-2", ":-7",
                       ":1000000000", ":-99999999999999999999"])
    return ":".join(ends) + step


def check_slice(path, a, text, alone):
    # With dots the result is always an array.
    whole = text if "..." in text else text + ", ..."
    want = eval(f"a[{whole}]", {"a": a})
    raw = as_bytes(eval(f"a[{whole}]", {"a": a.view(f"V{a.itemsize}")}))
    if alone:
        assert ctl("slice", "--raw", path, text)[0] == raw, (path, text)
        return
    out, _ = ctl("slice", path, text)
    got = np.load(io.BytesIO(out))
    saved = np.load(io.BytesIO(npy_bytes(want)))
    assert got.shape == want.shape and got.dtype == saved.dtype, (text, got)
    assert out[len(out) - len(raw):] == raw, (path, a.shape, text)


SLICED = [((), None, None), ((0,), None, None), ((4, 0, 3), None, None),
          ((1000,), (300,), (70,)), ((37, 53), (10, 20), (4, 7)),
          ((12, 13, 14), (5, 6, 7), (2, 3, 4)), ((3, 40000), None, None),
          ((6, 5, 4, 7), (3, 5, 2, 4), (2, 2, 2, 2)),
          ((2,) * 9, (2, 1) * 4 + (2,), (1,) * 9), ((10,), (100,), (7,))]


def test_slices():
    """500 indexes, of arrays of all shapes, by stock and by us."""
    rng = random.Random(1)
    for i in range(50):
        shape, chunks, blocks = SLICED[i % len(SLICED)]
        a = make(shape, DTYPES[rng.randrange(len(DTYPES))], i)
        remove("a.b2nd")
        if i % 3:
            stock("a.b2nd", a, chunks=chunks, blocks=blocks,
                  contiguous=i % 2 == 0)
        else:
            np.save("a.npy", a)
            size = rng.choice(["50", "1k", "1m"])
            ctl("compress", f"--chunksize={size}", "-o", "a.b2nd", "a.npy")
        for k in range(10):
            check_slice("a.b2nd", a, random_index(rng, shape), k % 2)


def test_large_slice():
    """The array is larger than the part in memory at a time."""
    a = np.arange(15_000_000, dtype="<i8").reshape(300, 50000)
    stock("a.b2nd", a, chunks=(120, 7000), blocks=(50, 900))
    for text in ("...", "::-1, ::-1", "5:290, 1:"):
        out = ctl("slice", "--raw", "a.b2nd", text)[0]
        assert out == eval(f"a[{text}]").tobytes(), text


def test_numbers_beyond_64_bits():
    a = np.arange(20)
    stock("a.b2nd", a)
    huge = 10 ** 20
    for text in (f"{-huge}:5", f"0:{huge}:2", f":{huge}:3", f"{huge}:5:-1",
                 f"{huge}:{-huge}:-3", f"2:7:{huge}", f"{-huge}:{huge}"):
        check_slice("a.b2nd", a, text, False)


def test_slice_output():
    a = np.arange(60).reshape(3, 4, 5)
    stock("a.b2nd", a)
    os.chmod("a.b2nd", 0o640)
    ctl("slice", "-o", "x.npy", "a.b2nd", "1:, ::2, -1")
    assert np.array_equal(np.load("x.npy"), a[1:, ::2, -1])
    assert os.stat("x.npy").st_mode & 0o777 == 0o640
    err = ctl("slice", "-o", "x.npy", "a.b2nd", "0", status=1)[1]
    assert "it exists already" in err, err
    ctl("slice", "-f", "-o", "x.npy", "a.b2nd", "-1")
    assert np.array_equal(np.load("x.npy"), a[-1])
    ctl("slice", "-f", "-o", "x.npy", "a.b2nd", "--", "-2:")
    assert np.array_equal(np.load("x.npy"), a[-2:])
    err = ctl("slice", "-v", "-o", "-", "--raw", "a.b2nd", "0,0,0")[1]
    assert "8 bytes written to standard output" in err, err


def test_slice_spares_the_array():
    a = np.arange(60).reshape(3, 4, 5)
    for contiguous in True, False:
        stock("a.b2nd", a, contiguous=contiguous)
        err = ctl("slice", "-f", "-o", "a.b2nd", "a.b2nd", "0", status=1)[1]
        assert err.count("\n") == 1, err
        assert np.array_equal(blosc2.open("a.b2nd")[:], a)
        remove("a.b2nd")


def test_slice_mistakes():
    stock("a.b2nd", np.arange(12).reshape(3, 4))
    put("plain", b"text")
    ctl("compress", "plain")
    for text, want in [
            ("3", "index 3 is out of bounds for axis 0 with size 3"),
            ("..., -5", "index -5 is out of bounds for axis 1 with size 4"),
            ("99999999999999999999", "out of bounds"),
            ("0,0,0", "too many indices for array: array is 2-dimensional"),
            (",".join("0" * 40), "too many indices for array"),
            ("...,...", "can only have a single ellipsis"),
            ("::0", "slice step cannot be zero"),
            ("1:2:3:4", "too many colons"), ("", "an index is missing"),
            (",", "an index is missing"), ("1,,1", "an index is missing"),
            ("None", "integers, slices and '...'"),
            ("1 2", "integers, slices and '...'"),
            ("+", "a sign without a number"), ("....", "integers, slices"),
            ("a:b", "'a:b': an index has integers, slices and '...'")]:
        # A text that can be no index is an error of the command line.
        mistaken = "bounds" not in want and "dimensional" not in want
        err = ctl("slice", "a.b2nd", text, status=1 + mistaken)[1]
        assert want in err and err.count("\n") == 1, (text, err)
    err = ctl("slice", "plain.b2frame", "0", status=1)[1]
    assert "plain data, not an array; 'bloscctl cat --offset=N" in err, err
    blosc2.save_array(np.arange(12), "tensor.b2frame")
    err = ctl("slice", "tensor.b2frame", "0", status=1)[1]
    assert "stored as plain data; 'bloscctl convert --b2nd' makes" in err, err
    ctl("slice", "a.b2nd", status=2)
    ctl("slice", "a.b2nd", "0", "1", status=2)


def set_vlmeta(frame, name, content):
    """Stores the bytes @content unchanged as a vlmetalayer."""
    blosc2.blosc2_ext.vlmeta.set_vlmeta(frame.vlmeta, name, content)


def msgpack_cases():
    """Content of a vlmetalayer, its printed form, and its JSON value."""
    inner = b"\x82\xa4kind\xa1x\xa7version\x01"
    yield b"\xc7\x05\x2a12345", "a frame of 5 bytes", \
        {"ext": 42, "what": "frame", "hex": "3132333435"}
    yield bytes([0xc7, len(inner), 43]) + inner, \
        'an object {"kind": "x", "version": 1}', \
        {"ext": 43, "what": "object", "value": {"kind": "x", "version": 1}}
    yield b"\xc7\x01\x2b\xc1", "ext 43 h'c1'", {"ext": 43, "hex": "c1"}
    yield b"\xd4\x05\xff", "ext 5 h'ff'", {"ext": 5, "hex": "ff"}
    yield b"\x92\x01\xcb" + struct.pack(">d", 0.1), None, [1, 0.1]
    yield b"\x81\x01\xa1a", '{1: "a"}', {"1": "a"}
    yield b"\xcf" + b"\xff" * 8, str(2**64 - 1), str(2**64 - 1)
    yield b"\xd3\x80" + bytes(7), str(-2**63), -2**63
    yield b"\xc4\x02\x01\x02", "h'0102'", {"hex": "0102"}
    yield b"\xa2\xff\x1b", '"\\xff\\x1b"', "\\xff\\x1b"
    yield b"\x91" * 30 + b"\xc0", "[" * 30 + "null" + "]" * 30, True
    # Damaged MessagePack that claims to need much memory.
    for bad in (b"\x91" * 33 + b"\xc0", b"\xdd\x0a\0\0\0" * 31,
                b"\xdf\x0a\0\0\0" * 31, b"\xdd\xff\xff\xff\xff",
                b"\xdb\xff\xff\xff\xff", b"\xc1", b"\x01\x02", b"\x92\x01"):
        yield bad, None, None


def test_metalayers():
    for i, (content, text, value) in enumerate(msgpack_cases()):
        remove("f")
        frame = blosc2.SChunk(data=b"data", urlpath="f", contiguous=False)
        set_vlmeta(frame, "name", content)
        del frame
        out = ctl("info", "--meta", "f")[0].decode()
        if text is not None:
            assert out.endswith(f" name: {text}\n"), (content, out)
        said = info("f")["vlmetalayers"][0]
        assert said["hex"] == content.hex(), (content, said)
        if value is None:
            assert "value" not in said, (content, said)
        elif value is not True:
            assert said["value"] == value, (content, said)


def test_golden():
    """Arrays of other versions of C-Blosc2."""
    count = 0
    for path in sorted((SOURCE / "tests/data/golden").rglob("*")):
        if not (path.is_file() and path.suffix == ".b2nd" or
                (path / "chunks.b2frame").exists()):
            continue
        said = info(path)["array"]
        if said is None:
            continue
        count += 1
        array = blosc2.open(str(path), mode="r")
        assert said["shape"] == list(array.shape), (path, said)
        assert said["chunks"] == list(array.chunks), (path, said)
        assert said["blocks"] == list(array.blocks), (path, said)
        assert said["nbytes"] == array.size * array.dtype.itemsize, path
        assert said["nbytes"] + said["padding"] == array.schunk.nbytes, path
        assert said["readable"] and not said["npy"], path
        assert ctl("slice", "--raw", path, "...")[0] == cat(path), path
    assert count >= 3, count


if __name__ == "__main__":
    sys.exit(run_all(globals()))
