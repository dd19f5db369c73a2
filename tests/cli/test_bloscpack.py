#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Bloscpack files are read like frames."""
import io
import json
import os
import pathlib
import struct
import subprocess
import sys
import zlib

import blosc2
import numpy as np

from ctl import BLOSCCTL, cat, check_frame, ctl, info, run_all
from packing import (CODECS, HEADER, SIZES, SUMS, BloscArgs, BloscpackArgs,
                     bloscpack, many, make_some, text_of, unpack)

DATA = np.arange(60000, dtype="<i4").tobytes()
# Limit for the memory of a run.
MEMORY = 320 << 20


def pack(path, data=DATA, chunk_size=50000, checksum="None", offsets=True,
         **blosc_args):
    bloscpack.pack_bytes_to_file(
        data, path, chunk_size=chunk_size,
        blosc_args=BloscArgs(**{"typesize": 4, **blosc_args}),
        bloscpack_args=BloscpackArgs(checksum=checksum, offsets=offsets))
    return pathlib.Path(path)


def first_chunk(raw):
    """The position of the first chunk in a file without metadata."""
    fields = struct.unpack(HEADER, raw[:32])
    return 32 + (8 * (fields[7] + fields[8]) if fields[2] & 1 else 0)


def vlmeta(path):
    text, _ = ctl("info", "--json", "--meta", path)
    return {m["name"]: bytes.fromhex(m["hex"])
            for m in json.loads(text)["vlmetalayers"]}


def test_random_files_are_read():
    for i, rng in enumerate(many(20260, 25)):
        path = f"f{i}.blp"
        data, array, meta = make_some(rng, path)
        assert cat(path) == data, (i, path)
        out, err = ctl("verify", path)
        assert b": ok" in out and not err, (i, out, err)
        if meta is not None:
            assert vlmeta(path)["bloscpack"].endswith(text_of(meta))
        if array is not None:
            out, _ = ctl("decompress", "-c", path)
            loaded = np.load(io.BytesIO(out))
            assert loaded.dtype == array.dtype, (i, array.dtype)
            assert loaded.tobytes() == array.tobytes(), i
            assert loaded.flags.f_contiguous == array.flags.f_contiguous


def measure(*args):
    """Exit status, messages, and the peak memory in bytes."""
    with open("err", "wb") as err:
        child = subprocess.Popen([BLOSCCTL, *args], stdout=subprocess.DEVNULL,
                                 stderr=err)
        status, usage = os.wait4(child.pid, 0)[1:]
        child.returncode = os.waitstatus_to_exitcode(status)
    return (child.returncode, pathlib.Path("err").read_bytes(),
            usage.ru_maxrss << 10)


def test_a_hole_is_no_table_of_offsets():
    """A sparse file must not make the reader allocate memory."""
    for n, cause in (1 << 26, b"offset of chunk 0 is 0"), (1 << 30, b" chunks"):
        with open("hole.blp", "wb") as f:
            f.write(struct.pack(HEADER, b"blpk", 3, 1, 0, 4, 9999, 9999, n, 0))
            f.truncate(n * 32)
        status, err, most = measure("verify", "hole.blp")
        assert status and cause in err and most < MEMORY, (status, err, most)


def test_what_is_said_of_a_file():
    pack("x.blp", checksum="sha1", cname="zstd")
    facts = info("x.blp", "--chunks")
    assert facts["storage"] == "bloscpack" and facts["nbytes"] == len(DATA)
    assert facts["bloscpack"] == {"version": 3, "checksum": "sha1",
                                  "offsets": True, "room": 50}
    assert not facts["writable"] and facts["why"] == "it is a Bloscpack file"
    assert facts["codec"] == "zstd" and facts["chunksize"] == 50000
    raw = pathlib.Path("x.blp").read_bytes()
    assert facts["chunks"][0]["stored_at"] == first_chunk(raw)
    assert b"a Bloscpack file, checksums: sha1" in ctl("info", "x.blp")[0]
    listed = json.loads(ctl("ls", "--json", ".")[0])
    assert [(e["name"], e["storage"], e["nbytes"], e["cbytes"])
            for e in listed] == [("x.blp", "bloscpack", len(DATA), len(raw))]
    ctl("decompress", "x.blp")
    assert pathlib.Path("x").read_bytes() == DATA


def test_each_checksum_finds_damage():
    for name in SUMS:
        path = pack("x.blp", checksum=name)
        raw = bytearray(path.read_bytes())
        raw[first_chunk(raw) + 40] ^= 4
        path.write_bytes(raw)
        if name == "None":
            continue
        _, err = ctl("cat", path, status=1)
        assert "chunk 0" in err and f"its {name} is" in err, err
        out, err = ctl("verify", path, status=1)
        assert f"its {name} is" in err and "chunk 0" in err, (out, err)
        # Also commands that do not decode the chunk.
        _, err = ctl("convert", "-o", "y.b2frame", path, status=1)
        assert f"its {name} is" in err, err
        assert not pathlib.Path("y.b2frame").exists()
        # A damaged checksum.
        path = pack("x.blp", checksum=name)
        raw = bytearray(path.read_bytes())
        raw[-1] ^= 1
        path.write_bytes(raw)
        _, err = ctl("cat", path, status=1)
        assert "chunk 4" in err and f"its {name} is" in err, err


def test_blocks_of_old_versions_are_not_split_without_a_flag():
    # Before there was a flag, only the sizes told which blocks are split.
    path = pack("x.blp", typesize=33, clevel=9, cname="lz4")
    raw = bytearray(path.read_bytes())
    at = first_chunk(raw)
    for _ in range(5):
        size = struct.unpack("<I", raw[at + 12:at + 16])[0]
        assert raw[at + 2] & 0x10
        raw[at + 2] &= ~0x10
        at += size
    path.write_bytes(raw)
    assert unpack(path)[0] == DATA and cat(path) == DATA


def test_frames_are_made_of_files():
    for codec in CODECS:
        path = pack("x.blp", cname=codec, shuffle=2, checksum="crc32")
        for options in (), ("--contiguous",):
            ctl("convert", "-f", "-o", "y.b2frame", *options, path)
            check_frame("y.b2frame", DATA)


def test_stock_slices_frames_made_of_files():
    """Which reads more of a chunk's header than when it decodes a whole chunk."""
    rng = np.random.default_rng(7)
    settings = [(codec, 5) for codec in CODECS] + [("lz4", 0)]
    for n in 10, 20000:
        for data in (np.arange(n, dtype="<i4"), np.zeros(n, "<i4"),
                     rng.integers(0, 2**31, n, dtype="<i4")):
            for codec, level in settings:
                path = pack("x.blp", data.tobytes(), cname=codec, clevel=level)
                ctl("convert", "-f", "-o", "y.b2frame", path)
                assert blosc2.open("y.b2frame")[:] == data.tobytes(), \
                    (n, codec, level)


def test_headers_at_their_limits():
    raw = pack("x.blp", checksum="md5").read_bytes()
    fields = struct.unpack(HEADER, raw[:32])
    bad = [
        (1, 2, "version 2"), (1, 4, "version 4"), (2, 5, "options"),
        (2, 0x80, "options"), (3, 9, "checksum 9"), (3, 255, "checksum 255"),
        (5, 0, "chunks of"), (5, -2, "chunks of"), (5, 2**31 - 1, ""),
        (6, 0, "chunks of"), (6, -5, "chunks of"), (6, 50001, "chunks of"),
        (7, 2**63 - 1, "chunks with room"), (7, -2, "chunks with room"),
        (7, -1, ""), (7, 10**6, "chunks with room"), (8, -1, "room"),
        (8, 2**63 - 1, "room"), (8, 10**6, "room"), (7, 6, ""),
        (8, 51, "offset"), (8, 49, "offset"),
    ]
    for index, value, cause in bad:
        patched = list(fields)
        patched[index] = value
        path = pathlib.Path("y.blp")
        path.write_bytes(struct.pack(HEADER, *patched) + raw[32:])
        _, err = ctl("cat", path, status=1)
        assert cause in err, (index, value, err)
        ctl("ls", path)
    for n in (0, 3, 4, 31, 32, 33, 100, len(raw) // 2, len(raw) - 1):
        pathlib.Path("y.blp").write_bytes(raw[:n])
        ctl("cat", "y.blp", status=1)


def test_what_bloscpack_itself_refuses():
    """The cases of Bloscpack's own tests of headers, alone and together."""
    raw = pack("x.blp", checksum="adler32").read_bytes()
    fields = struct.unpack(HEADER, raw[:32])
    version, options, sums, typesize, chunk, last, n, room = range(1, 9)
    most = 2**31 - 16
    bad = [{version: 0}, {version: 255}, {sums: 10}, {options: 0x04},
           {options: 0x0c}, {options: 0xfc}, {options: 0xff},
           {chunk: most + 1}, {chunk: -2}, {last: most + 1}, {last: -2},
           {chunk: 1, last: 2}, {n: -2}, {room: -1}, {n: -1, room: 1},
           {n: 2**62, room: 2**62}, {n: 2**63 - 1, room: 2**63 - 1},
           {n: 1, room: 2**63 - 2}, {n: 2**63 - 2, room: 1}]
    for changes in bad:
        patched = [changes.get(i, value) for i, value in enumerate(fields)]
        pathlib.Path("y.blp").write_bytes(
            struct.pack(HEADER, *patched) + raw[32:])
        status, err, used = measure("cat", "y.blp")
        assert status == 1 and err.count(b"\n") == 1, (changes, err)
        assert used < MEMORY, (changes, used)
    # Both readers ignore fields that only describe how the file was made.
    for size in 0, 1, 255:
        patched = list(fields)
        patched[typesize] = size
        pathlib.Path("y.blp").write_bytes(
            struct.pack(HEADER, *patched) + raw[32:])
        assert cat("y.blp") == unpack("y.blp")[0] == DATA
    # Without the magic it is no Bloscpack file.
    pathlib.Path("y.blp").write_bytes(b"blpj" + raw[4:])
    ctl("cat", "y.blp", status=1)
    # Reserved option bits of the metadata.
    for options in 0x0f, 0xff:
        with_meta(2, 2, 2, codec=0, options=options, more=b"{}")
        ctl("cat", "m.blp", status=1)


def test_arrays_without_items():
    """Bloscpack makes a chunk of no bytes."""
    for shape in (0,), (5, 0), (0, 3, 2):
        for offsets in True, False:
            array = np.zeros(shape, "<i2")
            bloscpack.pack_ndarray_to_file(
                array, "a.blp", bloscpack_args=BloscpackArgs(
                    offsets=offsets, max_app_chunks=3 if offsets else 0))
            assert cat("a.blp") == b""
            out, err = ctl("verify", "a.blp")
            assert b": ok" in out and not err, (out, err)
            loaded = np.load(io.BytesIO(ctl("decompress", "-c", "a.blp")[0]))
            assert loaded.shape == shape and loaded.dtype == array.dtype
    # Other headers must not claim an empty chunk.
    raw = pathlib.Path("a.blp").read_bytes()
    for at, value in ((8, 1), (12, 1), (16, 2), (16, 0)):
        bad = bytearray(raw)
        bad[at] = value
        pathlib.Path("b.blp").write_bytes(bad)
        ctl("cat", "b.blp", status=1)


def test_offsets_that_lead_astray():
    raw = pack("x.blp").read_bytes()
    good = list(struct.unpack("<5q", raw[32:72]))
    for i, value in ((0, 0), (0, -1), (1, good[0]), (1, good[0] + 15),
                     (2, good[1]), (2, good[1] - 1), (4, len(raw)),
                     (4, 2**63 - 1), (3, good[4]), (0, good[1])):
        offs = list(good)
        offs[i] = value
        pathlib.Path("y.blp").write_bytes(
            raw[:32] + struct.pack("<5q", *offs) + raw[72:])
        _, err = ctl("cat", "y.blp", status=1)
        assert "offset" in err, (i, value, err)
    # Into the middle of the chunk before.
    offs = list(good)
    offs[1] -= 20
    pathlib.Path("y.blp").write_bytes(
        raw[:32] + struct.pack("<5q", *offs) + raw[72:])
    ctl("cat", "y.blp", status=1)


def with_meta(size, room, stored, codec=1, options=0, sum_id=0, more=b""):
    raw = pack("m.blp", offsets=False).read_bytes()
    head = bytearray(raw[:32])
    head[5] |= 2
    section = struct.pack("<8sBBBBIII8s", b"JSON", options, sum_id, codec, 6,
                          size, room, stored, b"")
    pathlib.Path("m.blp").write_bytes(bytes(head) + section + more + raw[32:])


def test_metadata_that_lie():
    with_meta(2, 2, 2, codec=0, more=b"{}")
    assert cat("m.blp") == DATA
    bombs = [dict(size=2**32 - 1, room=100, stored=100),
             dict(size=17 << 20, room=100, stored=100),
             dict(size=100, room=2**32 - 1, stored=100),
             dict(size=100, room=10, stored=11),
             dict(size=100, room=2**32 - 1, stored=2**32 - 1),
             dict(size=100, room=100, stored=100),
             dict(size=2, room=2, stored=2, codec=2, more=b"{}"),
             dict(size=2, room=2, stored=2, codec=0, options=1, more=b"{}"),
             dict(size=2, room=2, stored=2, codec=0, sum_id=9, more=b"{}"),
             dict(size=2, room=2, stored=2, codec=0, sum_id=2,
                  more=b"{}abcd")]
    for bomb in bombs:
        with_meta(**bomb)
        ctl("cat", "m.blp", status=1)
    # Metadata that describe no valid array are plain text.
    for text in (b"", b"[" * 3000, b"{", b'{"container":"numpy"}',
                 b'{"container":"numpy","shape":[9],"order":"C","dtype":3}',
                 b'{"container":"numpy","shape":[-1],"order":"C",'
                 b'"dtype":"<f8"}',
                 b'{"container":"numpy","shape":[60000],"order":"C",'
                 b'"dtype":"__import__(1)"}',
                 b'{"container":"numpy","shape":[60000],"order":"C",'
                 b'"dtype":' + b"[" * 40 + b"]" * 40 + b"}"):
        with_meta(len(text), len(text), len(text), codec=0, more=text)
        assert cat("m.blp") == DATA


def test_long_text_tells_of_no_array():
    """A parsed tree of this text takes 50 times its memory."""
    text = (b'{"container":"numpy","order":"C","dtype":"<i4","shape":[['
            + b"[]," * (4 << 20) + b"0]]}")
    packed = zlib.compress(text)
    with_meta(len(text), len(packed), len(packed), codec=1, more=packed)
    status, err, most = measure("info", "m.blp")
    assert status == 0 and most < MEMORY, (err, most)


def test_arrays_of_old_versions():
    for dtype, said in (("<i4", np.dtype("<i4")),
                        ([["a", "<i4"], ["b", "<f4", [2]]],
                         np.dtype([("a", "<i4"), ("b", "<f4", (2,))]))):
        shape = [len(DATA) // said.itemsize]
        text = json.dumps({"container": "numpy", "dtype": dtype,
                           "shape": shape, "order": "C"}).encode()
        with_meta(len(text), len(text), len(text), codec=0, more=text)
        out, _ = ctl("decompress", "-c", "m.blp")
        loaded = np.load(io.BytesIO(out))
        assert loaded.dtype == said and loaded.tobytes() == DATA


def test_snappy_is_refused_by_its_name():
    path = pack("x.blp", cname="lz4")
    raw = bytearray(path.read_bytes())
    at = first_chunk(raw) + 2
    raw[at] = raw[at] & 0x1f | 2 << 5
    path.write_bytes(raw)
    _, err = ctl("cat", path, status=1)
    assert "snappy" in err, err


def test_sums_are_as_long_as_they_are():
    for name, size in SIZES.items():
        sizes = [pack("x.blp", checksum=n).stat().st_size
                 for n in ("None", name)]
        assert sizes[1] - sizes[0] == 5 * size


if __name__ == "__main__":
    sys.exit(run_all(globals()))
