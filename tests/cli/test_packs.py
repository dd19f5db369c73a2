#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stores that are one file (.b2z, .b2e) are like directories of frames."""
import io
import json
import os
import pathlib
import sys
import zipfile

import blosc2
import numpy as np

from ctl import cat, ctl, in_namespace, info, run_all
from acl import ACCESS, acl
from packing import pack_into
from stores import (ARRAYS, BYTES, make_embed, make_mixed, make_tree, patched,
                    zip_of)


def names(path, *options):
    listed = json.loads(ctl("ls", "--json", *options, path)[0])
    return {entry["name"]: entry for entry in listed}


def check_arrays(path):
    for key, array in ARRAYS.items():
        assert cat(f"{path}/{key}") == array.tobytes(), key
        assert info(f"{path}/{key}")["array"]["shape"] == list(array.shape)
        out, _ = ctl("decompress", "-c", f"{path}/{key}")
        assert np.array_equal(np.load(io.BytesIO(out)), array)


def test_tree_in_a_zip_file():
    make_tree("t.b2z")
    check_arrays("t.b2z")
    assert cat("t.b2z/g/bytes") == BYTES
    # The stored name works, too.
    assert cat("t.b2z/g/bytes.b2f") == BYTES
    listed = names("t.b2z", "-r")
    assert {f"t.b2z/{key}.b2nd" for key in ARRAYS} < set(listed)
    assert listed["t.b2z/g/bytes.b2f"]["nbytes"] == len(BYTES)
    assert "t.b2z/g/sub.b2nd" not in names("t.b2z")
    assert set(names("t.b2z/g")) == {"t.b2z/g/sub.b2nd", "t.b2z/g/bytes.b2f"}
    out, err = ctl("verify", "t.b2z")
    assert out.count(b": ok") == len(ARRAYS) + 2 and not err, (out, err)
    assert len(json.loads(ctl("verify", "--json", "t.b2z")[0])) == len(
        ARRAYS) + 2
    assert len(json.loads(ctl("info", "--json", "t.b2z")[0])) == len(ARRAYS) + 2
    # verify -r of a directory, and names through a link.
    os.symlink("t.b2z", "link.b2z")
    assert b"t.b2z/g/sub.b2nd: ok" in ctl("verify", "-r", ".")[0]
    assert cat("link.b2z/small") == ARRAYS["small"].tobytes()
    # The group of the store has no rights, although the mode seems to say so.
    value = acl("u:6 u1234:6 g:0 m:6 o:0")
    os.setxattr("t.b2z", ACCESS, value)
    ctl("decompress", "t.b2z/small", "-o", "small.npy")
    assert os.getxattr("small.npy", ACCESS) == value


def test_stores_without_frames_at_their_top():
    """They are listed with their groups; a store without frames lists nothing."""
    frame = blosc2.asarray(np.arange(9)).to_cframe()
    zip_of("groups.b2z", {"g/x.b2nd": frame, "g/h/y.b2nd": frame})
    keys = {"groups.b2z/g/x.b2nd", "groups.b2z/g/h/y.b2nd"}
    assert set(names("groups.b2z")) == set(names("groups.b2z", "-r")) == keys
    assert set(names("groups.b2z", "-a")) == {"groups.b2z/g"}
    zip_of("none.b2z", {"embed.b2e": b"plain"})
    assert ctl("ls", "none.b2z") == (b"", "")


def test_embedded_frames():
    make_embed("e.b2e")
    check_arrays("e.b2e")
    assert cat("e.b2e/g/bytes") == BYTES
    # The key /g stands beside a directory of that name.
    assert cat("e.b2e/g.b2frame") == ARRAYS["small"].tobytes()
    out, err = ctl("verify", "e.b2e")
    # The store is a frame, too.
    assert out.count(b": ok") == len(ARRAYS) + 3 and not err, (out, err)
    _, err = ctl("cat", "e.b2e", status=1)
    assert "it is an EmbedStore" in err, err
    assert info("e.b2e")["objects"] == "an EmbedStore"
    # Chunks whose borders no frame keeps to, and a store that lost a key.
    make_embed("odd.b2e", chunksize=1000)
    check_arrays("odd.b2e")
    del blosc2.EmbedStore("odd.b2e", mode="a")["/big"]
    assert cat("odd.b2e/small") == ARRAYS["small"].tobytes()
    assert "there is no big" in ctl("cat", "odd.b2e/big", status=1)[1]


def test_embedded_frames_are_found_without_their_data():
    make_embed("e.b2e")
    raw = bytearray(pathlib.Path("e.b2e").read_bytes())
    # The block table of the first chunk.
    start = int.from_bytes(raw[11:15], "big") + 32
    raw[start:start + 4] = b"\xff" * 4
    pathlib.Path("e.b2e").write_bytes(raw)
    assert "block 0" in ctl("cat", "e.b2e/small", status=1)[1]
    assert cat("e.b2e/g/bytes") == BYTES


def test_embedded_in_a_zip_file():
    make_mixed("m.b2z")
    with zipfile.ZipFile("m.b2z") as z:
        assert "small.b2nd" not in z.namelist()
    for key, array in ARRAYS.items():
        inside = "embed.b2e/" * (array.nbytes < 1000)
        assert cat(f"m.b2z/{inside}{key}") == array.tobytes(), key
    assert "m.b2z/embed.b2e/small.b2frame" in names("m.b2z", "-r")


def test_bloscpack_files_are_members_like_others():
    make_tree("t.b2z")
    array = pack_into("t.b2z", BYTES)
    listed = names("t.b2z", "-r")
    for name, array_nbytes in (("g/a", array.nbytes), ("x", len(BYTES))):
        entry = listed[f"t.b2z/{name}.blp"]
        assert entry["storage"] == "bloscpack", entry
        assert entry["nbytes"] == array_nbytes
    assert "t.b2z/blpk" not in listed
    assert cat("t.b2z/x") == cat("t.b2z/x.blp") == BYTES
    assert cat("t.b2z/g/a") == array.tobytes()
    out, _ = ctl("decompress", "-c", "t.b2z/g/a")
    assert np.array_equal(np.load(io.BytesIO(out)), array)
    assert info("t.b2z/g/a")["bloscpack"]["checksum"] == "adler32"
    out, err = ctl("verify", "t.b2z")
    assert b"t.b2z/x.blp: ok" in out and not err, (out, err)
    _, err = ctl("append", "t.b2z/x.blp", "x.blp", status=1)
    assert "stores are read-only" in err, err


def test_nothing_is_put_into_a_store():
    make_tree("t.b2z")
    before = pathlib.Path("t.b2z").read_bytes()
    for args in (("recompress", "t.b2z/small"), ("convert", "t.b2z/small"),
                 ("recompress", "-f", "t.b2z/small"),
                 ("convert", "-f", "t.b2z/small.b2nd"),
                 ("convert", "--rm", "-o", "x", "t.b2z/small"),
                 ("decompress", "t.b2z/small"),
                 ("decompress", "--rm", "-o", "x", "t.b2z/small"),
                 ("append", "t.b2z/g/bytes", __file__),
                 ("compress", "-o", "t.b2z/new.b2frame", __file__)):
        _, err = ctl(*args, status=1)
        assert "t.b2z/" in err, (args, err)
    assert pathlib.Path("t.b2z").read_bytes() == before
    assert info("t.b2z/small")["writable"] is False
    assert info("t.b2z/small")["why"] == "it is a part of another file"
    # A member can be copied out, and then written to.
    ctl("convert", "-o", "copy.b2nd", "t.b2z/g/sub")
    assert (blosc2.open("copy.b2nd")[:] == ARRAYS["g/sub"]).all()
    assert info("copy.b2nd")["writable"] is True
    ctl("recompress", "-9", "-o", "small.b2nd", "t.b2z/small")
    assert (blosc2.open("small.b2nd")[:] == ARRAYS["small"]).all()


def test_members_that_are_no_frames():
    frame = blosc2.asarray(np.arange(9)).to_cframe()
    zip_of("z.b2z", {"x.b2nd": frame, "x/y.b2nd": frame, "two.b2nd": frame,
                     "two.b2f": frame, "note": b"plain", "x.b2nd.b2nd": frame})
    listed = names("z.b2z", "-r", "-a")
    assert listed["z.b2z/note"]["storage"] is None
    # Ambiguous names are shown in full.
    for path in "x.b2nd", "x/y", "two.b2nd", "two.b2f", "x.b2nd.b2nd":
        assert cat(f"z.b2z/{path}") == np.arange(9).tobytes(), path
    assert "there is no two" in ctl("cat", "z.b2z/two", status=1)[1]
    assert "no Blosc2 frame" in ctl("cat", "z.b2z/note", status=1)[1]
    zip_of("deflated.b2z", {"x.b2nd": frame, "note": b"n"},
           compression=zipfile.ZIP_DEFLATED)
    _, err = ctl("cat", "deflated.b2z/x.b2nd", status=1)
    assert "x.b2nd: not readable: it is deflated" in err, err
    assert "it is deflated" in ctl("verify", "deflated.b2z", status=2)[1]
    patched("z.b2z", "encrypted.b2z", ("entry", 8, b"\1"), ("local", 6, b"\1"))
    assert "it is encrypted" in ctl("verify", "encrypted.b2z", status=2)[1]


def test_damage_in_a_store_is_told():
    frame = blosc2.asarray(np.arange(9)).to_cframe()
    zip_of("z.b2z", {"x.b2nd": frame, "y.b2nd": frame})
    raw = bytearray(pathlib.Path("z.b2z").read_bytes())
    raw[raw.index(frame) + 60] ^= 0xff
    pathlib.Path("bad.b2z").write_bytes(raw)
    out, err = ctl("verify", "bad.b2z", status=1)
    assert b"bad.b2z/y.b2nd: ok" in out and b"bad.b2z/x.b2nd" in out, out
    # A member without its magic is still recognized by its name.
    raw = bytearray(pathlib.Path("z.b2z").read_bytes())
    raw[raw.index(frame) + 2] ^= 0xff
    pathlib.Path("bad.b2z").write_bytes(raw)
    assert "x.b2nd" in ctl("verify", "bad.b2z", status=1)[1]
    # A frame that is longer than its member.
    zip_of("short.b2z", {"x.b2nd": frame[:-1], "y.b2nd": frame})
    assert "x.b2nd" in ctl("cat", "short.b2z/x.b2nd", status=1)[1]


def test_checksums_of_the_zip_file():
    """verify compares each member with its CRC-32."""
    frame = blosc2.asarray(np.arange(9)).to_cframe()
    blosc2.EmbedStore("e.b2e", mode="w")["/a"] = np.arange(9)
    # A byte behind a frame belongs to the member, but is never decoded.
    zip_of("z.b2z", {"x.b2nd": frame + b"z", "note": b"plain", "empty": b"",
                     "e.b2e": pathlib.Path("e.b2e").read_bytes() + b"z"})
    out, err = ctl("verify", "z.b2z")
    assert out.count(b": ok") == 2 and not err, (out, err)
    good = pathlib.Path("z.b2z").read_bytes()
    with zipfile.ZipFile("z.b2z") as z:
        ends = {i.filename: i.header_offset + 30 + len(i.filename) + i.file_size
                for i in z.infolist()}
    for name, shown in ("x.b2nd", True), ("note", False), ("e.b2e", False):
        raw = bytearray(good)
        raw[ends[name] - 1] ^= 1
        pathlib.Path("bad.b2z").write_bytes(raw)
        out, err = ctl("verify", "bad.b2z", status=1)
        assert f"bad.b2z/{name}: damaged: its CRC-32 is" in err, err
        assert err.count("\n") == 1, err
        assert (b"x.b2nd: damaged" in out) == shown, out
        told = json.loads(ctl("verify", "--json", "bad.b2z", status=1)[0])
        assert [t["bad_checksum"] for t in told] == [False, shown], told
        # Reading a frame does not read its whole member.
        assert cat("bad.b2z/x") == np.arange(9).tobytes()


def test_hostile_zip_files_are_refused():
    frame = blosc2.asarray(np.arange(9)).to_cframe()
    zip_of("z.b2z", {"x.b2nd": frame, "y.b2nd": frame})
    names_of = {"../x": "name", "/x": "name", "a//b": "name", "a/./b": "name",
                "..": "name", "a" * 256: "name", "a/" * 1001 + "x": "name",
                "a/" * 200 + "x": "too deep"}
    for name, why in names_of.items():
        zip_of("bad.b2z", {name: frame})
        _, err = ctl("ls", "bad.b2z", status=1)
        assert why in err, (name, err)
    with zipfile.ZipFile("bad.b2z", "w") as z:
        for _ in range(2):
            z.writestr("x", frame)
    assert "twice" in ctl("ls", "bad.b2z", status=1)[1]
    zip_of("bad.b2z", {"x": frame, "x/y": frame})
    assert "twice" in ctl("ls", "bad.b2z", status=1)[1]
    for why, *patches in (
            ("outside of the file", ("end", 16, b"\xff\xff\xff\x7f")),
            ("outside of the file", ("end", 12, b"\xff\xff\xff\x7f")),
            ("more members than fit", ("end", 8, b"\xf0\xf0\xf0\xf0")),
            ("several parts", ("end", 4, b"\1")),
            ("several parts", ("entry", 34, b"\1")),
            ("more members than fit", ("end", 10, b"\xff\xff")),
            ("ZIP64 record is missing", ("end", 16, b"\xff\xff\xff\xff")),
            ("directory is damaged", ("entry", 0, b"Q")),
            ("directory is damaged", ("entry", 28, b"\xff\xff")),
            ("directory is damaged", ("entry", 30, b"\xff\xff")),
            ("longer than it claims", ("end", 8, b"\1\0\1\0")),
            ("directory of the ZIP file is encrypted",
             ("entry", 9, b"\x20")),
            ("ZIP64 field", ("entry", 42, b"\xff\xff\xff\xff")),
            ("outside of the file", ("entry", 42, b"\xff\xff\xff\x7f")),
            ("overlap", ("entry", 20, b"\0\2\0\0\0\2\0\0")),
            ("two sizes", ("entry", 20, b"\1")),
            ("differ", ("entry", 46, b"z")),
            ("differ", ("local", 30, b"z")),
            ("differ", ("local", 0, b"Q")),
            ("differ", ("local", 8, b"\10"))):
        patched("z.b2z", "bad.b2z", *patches)
        out, err = ctl("ls", "bad.b2z", status=1)
        assert why in err, (why, patches, err)
        assert b"x" not in out
    # Bytes behind the end record, and a missing end record.
    raw = pathlib.Path("z.b2z").read_bytes()
    for bad in raw + b"x", raw[:-1], raw[:50], b"", b"PK\5\6":
        pathlib.Path("bad.b2z").write_bytes(bad)
        ctl("cat", "bad.b2z/x", status=1)


def test_large_zip_files():
    """With ZIP64 fields, and data before the first member."""
    frame = blosc2.asarray(np.arange(9)).to_cframe()
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        with z.open("x.b2nd", "w", force_zip64=True) as f:
            f.write(frame)
        for i in range(70000):
            z.writestr(f"d/{i}", b"")
    pathlib.Path("many.b2z").write_bytes(out.getvalue())
    assert cat("many.b2z/x") == np.arange(9).tobytes()
    # The most members without ZIP64.
    with zipfile.ZipFile("most.b2z", "w") as z:
        z.writestr("x.b2nd", frame)
        for i in range(65534):
            z.writestr(f"d/{i}", b"")
    assert b"PK\6\6" not in pathlib.Path("most.b2z").read_bytes()[-200:]
    assert cat("most.b2z/x") == np.arange(9).tobytes()
    with open("huge.b2z", "wb") as f:
        f.seek(5 << 30)
        with zipfile.ZipFile(f, "w") as z:
            z.writestr("x.b2nd", frame)
    assert cat("huge.b2z/x") == np.arange(9).tobytes()


if __name__ == "__main__":
    in_namespace()
    sys.exit(run_all(globals()))
