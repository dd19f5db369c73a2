#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bloscctl seal and verify: checksums for frames of other programs"""
import fcntl
import json
import os
import re
import sys
import zipfile

import blosc2
import numpy as np

from ctl import (cat, check_frame, ctl, flip, get, in_namespace, info, items,
                 make, make_varied, make_zlib, noise, open_stock, put, run_all,
                 small_disk, stock_bytes)

CHUNK = 20000


def verify(path, *options, status=0):
    return json.loads(ctl("verify", "--json", *options, path,
                          status=status)[0])


def test_help_lists_what_is_taken():
    """Every long option of a command's table is in its --help, and no other."""
    commands = re.findall(r"^  ([a-z]+)  +\S", ctl("--help")[0].decode(), re.M)
    assert len(commands) > 15, commands
    for command in commands:
        text = ctl(command, "--help")[0].decode()
        # "--" is the beginning of all options.
        _, err = ctl(command, "--=", status=2)
        listed = re.search(r"several options begin with --: (.*)\n", err)[1]
        told = set(re.findall(r"(?:^ +|, )(--[a-z][a-z0-9-]*)", text, re.M))
        assert set(listed.split(", ")) == told, (
            command, set(listed.split(", ")) ^ told)
    assert "as in FRAME" in ctl("recompress", "--help")[0].decode()
    assert "default: 3" not in ctl("recompress", "--help")[0].decode()


def is_sealed(path):
    said = verify(path)
    return said["nunsealed"] == 0 and said["index_sealed"]


def stored_chunks(path):
    """The description of each chunk, without its file."""
    said = info(path, "--chunks")["chunks"]
    for chunk in said:
        chunk.pop("stored_at")
    return said


def seal(path, *options):
    """Seals a frame; checks that everything else stays."""
    before, data = stored_chunks(path), stock_bytes(path)
    assert not is_sealed(path)
    ctl("seal", *options, path)
    assert is_sealed(path), verify(path)
    assert stored_chunks(path) == before
    check_frame(path, data)
    names = [n for n in os.listdir(path) if n.endswith(".chunk")]
    assert len(names) == sum(c["kind"] not in ("zeros", "nan", "uninit") or
                             "cbytes" in c for c in before), names


def test_frames_of_stock():
    for n, codec in enumerate((blosc2.Codec.BLOSCLZ, blosc2.Codec.LZ4,
                               blosc2.Codec.LZ4HC, blosc2.Codec.ZLIB,
                               blosc2.Codec.ZSTD)):
        for typesize in (1, 3, 8, 300):
            name = f"s{n}-{typesize}"
            make(name, items(5 * CHUNK + typesize, typesize), codec=codec,
                 typesize=typesize, chunksize=CHUNK - CHUNK % typesize)
            seal(name)
    schunk = make("special", None, chunksize=CHUNK, typesize=8)
    for chunk in (bytes(CHUNK), items(CHUNK, 8),
                  np.full(CHUNK // 8, 2.5).tobytes(), noise(CHUNK)):
        schunk.append_data(chunk)
    schunk.vlmeta["unit"] = "K"
    del schunk
    seal("special")
    assert open_stock("special").vlmeta["unit"] == "K"
    # A frame without chunks.
    make("empty", b"", chunksize=CHUNK)
    seal("empty")


def test_arrays_and_variable_chunks():
    a = np.arange(100 * 37, dtype="<f8").reshape(100, 37)
    blosc2.asarray(a, urlpath="a.b2nd", contiguous=False, chunks=(30, 10))
    seal("a.b2nd")
    array = blosc2.open("a.b2nd", mode="a")
    assert np.array_equal(array[()], a)
    # A chunk that stock rewrites has no seal, and is not damaged.
    array[0:3, 0:3] = 7
    del array
    said = verify("a.b2nd")
    assert said["status"] == "ok" and said["nunsealed"] == 1, said
    make_varied("v")
    seal("v")


def index_of(path):
    return f"{path}/chunks.b2frame" if os.path.isdir(path) else path


def test_metalayers_that_change():
    """C-Blosc2 changes them in place, which is no damage."""
    data = noise(3 * CHUNK)
    for name in "s", "c":
        make(name, data, name == "c", chunksize=CHUNK, meta={"note": "abc"})
        ctl("seal", name)
        assert not verify(name)["metalayers_changed"]
        schunk = blosc2.open(name, mode="a")
        schunk.meta["note"] = "xyz"
        del schunk
        index = index_of(name)
        for _ in range(2):
            assert b"metalayers changed after the index" in ctl("verify", name)[0]
            said = verify(name)
            assert said["metalayers_changed"] and not said["index_sealed"], said
            # From now on damage looks the same.
            put(index, get(index).replace(b"note", b"mote"))
        ctl("seal", name)
        assert is_sealed(name)
        assert b"changed after" not in ctl("verify", name)[0]
        assert open_stock(name).meta["mote"] == "xyz"


def numbers_of_threads(path):
    with open(index_of(path), "rb") as f:
        return f.read(87)[62:68]


def test_metalayers_that_are_damaged():
    a = np.arange(100 * 37, dtype="<i4").reshape(100, 37)
    for name in "s", "c":
        blosc2.asarray(a, urlpath=name, contiguous=name == "c",
                       chunks=(30, 10), blocks=(10, 5))
        ctl("seal", name)
    with zipfile.ZipFile("z.b2z", "w") as pack:
        pack.write("c", "c.b2nd")
    for name, path in ("s", "s"), ("c", "c"), ("z.b2z", "z.b2z/c"):
        assert cat(path) == a.tobytes(), path
        raw = get(index_of(name))
        start = raw.index(b"\x9e\xa8b2frame")
        end = start + int.from_bytes(raw[start + 11:start + 15], "big")
        for at in range(start + 87, end):
            bad = bytearray(raw)
            bad[at] ^= 1 << at % 8
            put(index_of(name), bad)
            _, err = ctl("cat", path, status=1)
            assert "metalayer" in err, (at, err)
        put(index_of(name), raw.replace(b"b2nd\xd2", b"b2ne\xd2"))
        for command in (("cat",), ("decompress", "-c"), ("info",), ("verify",)):
            _, err = ctl(*command, path, status=1)
            assert "the metalayers do not agree with the checksum" in err, err
        ctl("seal", path, status=1)
        if name == "s":
            ctl("repair", "-o", "as-it-is", "s")
            assert is_sealed("as-it-is")
            assert "b2ne" in open_stock("as-it-is").meta
        put(index_of(name), raw)
        assert cat(path) == a.tobytes(), path
    # C-Blosc2 opens the damaged frame; whoever writes the metalayers with it
    # takes them as they are.
    schunk = make("m", noise(CHUNK), meta={"note": "abc"}, chunksize=CHUNK)
    ctl("seal", "m")
    put(index_of("m"), get(index_of("m")).replace(b"note", b"mote"))
    ctl("verify", "m", status=1)
    schunk = blosc2.open("m", mode="a")
    schunk.meta["mote"] = schunk.meta["mote"]
    del schunk
    assert verify("m")["metalayers_changed"]
    ctl("seal", "m")
    assert is_sealed("m")


def test_arrays_that_stock_changes():
    a = np.arange(100 * 37, dtype="<i4").reshape(100, 37)
    for name in "s", "c":
        blosc2.asarray(a, urlpath=name, contiguous=name == "c",
                       chunks=(30, 10), blocks=(10, 5))
        ctl("seal", name)
        mark = numbers_of_threads(name)
        assert open_stock(name).nchunks == 16
        # In the chunks that there are: the shape alone.
        for nthreads, rows in (1, 101), (4, 102), (0, 103):
            array = blosc2.open(name, mode="a", dparams={"nthreads": nthreads})
            array.resize((rows, 37))
            del array
            assert numbers_of_threads(name) != mark
            assert verify(name)["metalayers_changed"]
            assert info(name)["array"]["shape"] == [rows, 37]
            ctl("seal", name)
            assert is_sealed(name) and numbers_of_threads(name) == mark
        array = blosc2.open(name, mode="a")
        array.resize((103, 37))
        array[100:] = 5
        array.resize((150, 41))
        del array
        whole = stock_bytes(name)
        assert cat(name) == whole
        ctl("seal", name)
        assert is_sealed(name) and cat(name) == whole
        assert stock_bytes(name) == whole


def test_index_without_mark():
    """An early version did not mark the header; seal does."""
    make("s", noise(3 * CHUNK), chunksize=CHUNK, meta={"note": "abc"})
    ctl("seal", "s")
    raw = bytearray(get("s/chunks.b2frame"))
    mark = bytes(raw[62:68])
    raw[62:68] = b"\xd1\0\1\xd1\0\1"
    put("s/chunks.b2frame", raw)
    assert is_sealed("s")
    ctl("seal", "s")
    assert numbers_of_threads("s") == mark and is_sealed("s")


def test_again_and_in_part():
    data = noise(5 * CHUNK)
    make("s", data, typesize=1, chunksize=CHUNK)
    seal("s")
    index = os.stat("s/chunks.b2frame")
    ctl("seal", "s")
    again = os.stat("s/chunks.b2frame")
    assert (index.st_ino, index.st_mtime_ns) == \
        (again.st_ino, again.st_mtime_ns)
    schunk = blosc2.open("s", mode="a")
    schunk.update_data(2, items(CHUNK, 1), True)
    schunk.append_data(noise(CHUNK))
    del schunk
    said = verify("s")
    assert (said["nsealed"], said["nunsealed"]) == (4, 2), said
    assert not said["index_sealed"], said
    ctl("seal", "s")
    assert is_sealed("s")
    check_frame("s", data[:2 * CHUNK] + items(CHUNK, 1) + data[3 * CHUNK:] +
                noise(CHUNK))


def test_attributes_stay():
    make("s", items(CHUNK, 1), chunksize=CHUNK)
    os.chmod("s/chunks.b2frame", 0o640)
    os.setxattr("s/chunks.b2frame", "user.note", b"kept")
    os.utime("s/chunks.b2frame", ns=(10**18, 10**18 + 7))
    ctl("seal", "s")
    st = os.stat("s/chunks.b2frame")
    assert st.st_mode & 0o777 == 0o640 and st.st_mtime_ns == 10**18 + 7
    assert os.getxattr("s/chunks.b2frame", "user.note") == b"kept"


def test_damage_is_not_sealed():
    make_zlib("s")
    flip("s/00000002.chunk", 8000)
    raw = get("s/00000002.chunk")
    _, err = ctl("seal", "s", status=1)
    assert "s: chunk 2 (00000002.chunk): " in err, err
    said = verify("s", status=1)
    assert said["chunks"] == ["sealed", "sealed", "damaged", "sealed"], said
    assert get("s/00000002.chunk") == raw


def test_flipped_bits_are_found():
    """Damage that was not noticed before."""
    data = noise(3 * CHUNK)
    make("s", data, typesize=1, chunksize=CHUNK)
    raw = bytearray(get("s/00000001.chunk"))
    raw[5000] ^= 1
    good = get("s/00000001.chunk")
    put("s/00000001.chunk", raw)
    assert verify("s")["status"] == "ok"
    put("s/00000001.chunk", good)
    ctl("seal", "s")
    name = f"s/{info('s', '--chunks')['chunks'][1]['stored_at']}"
    for at in (3, 20, 5000, len(get(name)) - 3):
        good = get(name)
        raw = bytearray(good)
        raw[at] ^= 1
        put(name, raw)
        said = verify("s", status=1)
        assert said["chunks"] == ["sealed", "damaged", "sealed"], (at, said)
        put(name, good)
    index = bytearray(get("s/chunks.b2frame"))
    index[100] ^= 1
    put("s/chunks.b2frame", index)
    ctl("verify", "s", status=1)


def test_what_verify_says():
    make("s", noise(3 * CHUNK), typesize=1, chunksize=CHUNK)
    out, _ = ctl("verify", "s")
    assert out == b"s: ok, 3 chunks, 58.6 KiB, 3 unsealed\n", out
    ctl("seal", "s")
    out, _ = ctl("verify", "s")
    assert out == b"s: ok, 3 chunks, 58.6 KiB, 3 sealed\n", out
    schunk = blosc2.open("s", mode="a")
    schunk.update_data(1, noise(CHUNK, seed=9), True)
    schunk.append_data(bytes(CHUNK))
    del schunk
    out, _ = ctl("verify", "-v", "s")
    lines = out.decode().splitlines()
    assert lines[0].startswith("s: ok, 4 chunks, 78.1 KiB, 2 sealed, "
                               "1 unsealed, "), lines
    assert lines[1:] == ["  index: unsealed", "  chunk 0: sealed",
                         "  chunk 1: unsealed", "  chunk 2: sealed",
                         "  chunk 3: special"], lines
    said = verify("s")
    assert said["chunks"] == ["sealed", "unsealed", "sealed", "special"]
    make("c", noise(CHUNK), contiguous=True, typesize=1, chunksize=CHUNK)
    both = json.loads(ctl("verify", "--json", "s", "c")[0])
    assert [f["frame"] for f in both] == ["s", "c"], both
    out, _ = ctl("verify", "c")
    assert out == b"c: ok, 1 chunk, 19.5 KiB\n", out
    said = json.loads(ctl("verify", "--json", "missing", status=2)[0])
    assert said == {"schema": 1, "frame": "missing", "status": "not checked",
                    "why": "missing: No such file or directory"}, said
    assert [f["frame"] for f in
            json.loads(ctl("verify", "--json", "-r", ".")[0])] == ["c", "s"]


def test_contiguous_frames():
    data = noise(3 * CHUNK)
    make("c", data, contiguous=True, typesize=1, chunksize=CHUNK)
    ctl("seal", "c")
    assert is_sealed("c"), verify("c")
    check_frame("c", data)
    # One flipped bit is found in any chunk and in the index.
    raw = open("c", "rb").read()
    # The first half has the old chunks.
    for at in len(raw) * 5 // 8, len(raw) * 7 // 8, len(raw) - 10, 40:
        bad = bytearray(raw)
        bad[at] ^= 4
        with open("c", "wb") as f:
            f.write(bad)
        ctl("verify", "c", status=1)
    with open("c", "wb") as f:
        f.write(raw)
    ctl("verify", "c")
    # C-Blosc2 takes the checksums away, and the next seal gives them back.
    blosc2.open("c", mode="a").update_data(1, noise(CHUNK), True)
    want = data[:CHUNK] + noise(CHUNK) + data[2 * CHUNK:]
    check_frame("c", want)
    assert not verify("c")["index_sealed"]
    ctl("verify", "c")
    ctl("seal", "c")
    assert is_sealed("c")
    check_frame("c", want)


def test_what_cannot_be_sealed():
    make("s", noise(CHUNK), typesize=1, chunksize=CHUNK)
    fd = os.open("s", os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    _, err = ctl("seal", "s", status=1)
    assert "another process is writing to it" in err, err
    os.close(fd)
    make("c", noise(CHUNK), contiguous=True, typesize=1, chunksize=CHUNK)
    fd = os.open("c", os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    for command in "seal", "recompress":
        _, err = ctl(command, "c", status=1)
        assert "another process is writing to it" in err, err
    os.close(fd)
    _, err = ctl("seal", status=2)
    assert "a frame is missing" in err, err
    with small_disk("1m"):
        make("disk/s", noise(700000), typesize=1, chunksize=100000)
        _, err = ctl("seal", "disk/s", status=1)
        assert "No space left on device" in err, err
        check_frame("disk/s", noise(700000))
    said = json.loads(ctl("seal", "--json", "s")[0])
    assert said == {"schema": 1, "command": "seal", "frame": "s",
                    "nchunks": 1, "nsealed": 1, "complete": True}, said
    make("t", noise(CHUNK), typesize=1, chunksize=CHUNK)
    _, err = ctl("seal", "-v", "t")
    assert err == "bloscctl: t: sealed 1 of 1 chunks\n", err


if __name__ == "__main__":
    in_namespace()
    sys.exit(run_all(globals()))
