#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bloscctl repair does what is surely right, and nothing that was not asked for"""
import fcntl
import functools
import itertools
import json
import os
import subprocess
import sys

import blosc2
import numpy as np

from ctl import (BLOSCCTL, BUILD, check_frame, ctl, flip, get, in_namespace,
                 info, items, make as ctl_make, make_zlib, noise, open_stock, put,
                 remove, run_all, stock_bytes)
from acl import ACCESS, acl

CHUNK = 20000
LONG_AGO = 10**9


make = functools.partial(ctl_make, nthreads=1)
zlib = functools.partial(make_zlib, nthreads=1)


def state(path):
    if os.path.isfile(path):
        return get(path)
    return {n: get(f"{path}/{n}") for n in os.listdir(path)}


def repair(*args, **options):
    out, err = ctl("repair", *args, **options)
    return out.decode(), err


def test_nothing():
    zlib("s")
    before = state("s")
    assert repair("s") == ("s: nothing to repair\n", "")
    assert repair("-n", "--force", "--zero-damaged", "s") == \
        ("s: nothing to repair\n", "")
    assert state("s") == before
    make("c", noise(CHUNK), contiguous=True, chunksize=CHUNK)
    assert repair("c") == ("c: nothing to repair\n", "")


def test_an_index_that_tells_of_too_few_bytes():
    """Damaged indexes, of ours with a checksum and of C-Blosc2, with sound chunks."""
    data = put("f", noise(3 * CHUNK))
    ctl("compress", "--chunksize", CHUNK, "f")
    stored = info("f.b2frame")["cbytes"]
    put("index", get("f.b2frame/chunks.b2frame"))
    subprocess.run([BUILD / "rewrite_index", "index",
                    "f.b2frame/chunks.b2frame", "4000"], check=True)
    make("s", data, chunksize=CHUNK)
    raw = bytearray(get("s/chunks.b2frame"))
    raw[39:47] = (5000).to_bytes(8, "big")
    put("s/chunks.b2frame", raw)
    for name, told in ("f.b2frame", 4000), ("s", 5000):
        assert stock_bytes(name) == data
        out, _ = ctl("verify", name, status=1)
        assert f"index tells of {told} stored bytes instead of" in \
            out.decode(), out
        assert json.loads(ctl("verify", "--json", name,
                              status=1)[0])["bad_cbytes"]
        before = state(name)
        done = ": would have corrected how many bytes the index says are " \
            "stored\n"
        assert repair("-n", name)[0] == name + done
        assert state(name) == before
        assert repair(name)[0] == name + done.replace("would have ", "")
        assert repair(name)[0] == f"{name}: nothing to repair\n"
        ctl("verify", name)
        check_frame(name, data)
    assert info("f.b2frame")["cbytes"] == stored
    assert open_stock("f.b2frame").cbytes == stored


def tell_size(path, add):
    """Adds to the size of the data in a header."""
    index = f"{path}/chunks.b2frame" if os.path.isdir(path) else path
    raw = bytearray(get(index))
    size = int.from_bytes(raw[30:38], "big") + add
    raw[30:38] = size.to_bytes(8, "big")
    put(index, raw)


def test_an_index_that_tells_another_size():
    """C-Blosc2 leaves it behind when it appends again after a failed append."""
    done = "corrected the size of the data in the index\n"
    for contiguous, varied, add in itertools.product(
            (False, True), (False, True), (800, -500)):
        schunk = make("v", noise(CHUNK) + bytes(0 if varied else CHUNK) +
                      noise(800), typesize=1, chunksize=CHUNK,
                      contiguous=contiguous)
        if varied:
            schunk.append_data(noise(CHUNK, seed=1))
        del schunk
        data = stock_bytes("v")
        tell_size("v", add)
        ctl("verify", "v", status=1)
        _, err = repair("-o", "new", "v", status=1)
        assert "its index can be read" in err, err
        assert repair("-n", "v")[0] == f"v: would have {done}"
        ctl("verify", "v", status=1)
        assert json.loads(repair("-n", "--json", "v")[0])["corrected_nbytes"]
        assert repair("v") == (f"v: {done}", "")
        check_frame("v", data)
        # A checksum says that the size is right, and a chunk is not.
        assert info("v")["fingerprint_type"]
        assert repair("v")[0] == "v: nothing to repair\n"
        remove("v")
    # A chunk without a size: its size follows from the total.
    schunk = make("v", noise(2 * CHUNK), typesize=1, chunksize=CHUNK)
    schunk.append_data(noise(300, seed=1))
    schunk.append_data(noise(CHUNK, seed=2))
    del schunk
    data = stock_bytes("v")
    os.remove("v/00000002.chunk")
    repair("--zero-damaged", "v")
    check_frame("v", data[:2 * CHUNK] + bytes(300) + data[2 * CHUNK + 300:])


def test_a_chunk_that_tells_another_size():
    """The size of all data is right."""
    for add in 100, -100:
        data = bytes(b & 3 for b in noise(3 * CHUNK + 800))
        make("v", data, typesize=1, chunksize=CHUNK)
        raw = bytearray(get("v/00000001.chunk"))
        raw[4:8] = (CHUNK + add).to_bytes(4, "little")
        put("v/00000001.chunk", raw)
        assert repair("--zero-damaged", "v")[0] == \
            "v: replaced chunk 1 by zeros\n"
        check_frame("v", data[:CHUNK] + bytes(CHUNK) + data[2 * CHUNK:])
        remove("v")


def test_damage_in_contiguous_frames():
    data = zlib("c", contiguous=True)
    flip("c", 97 + CHUNK)
    _, err = repair("c", status=1)
    assert "c: damaged chunks: 1; --zero-damaged" in err, err
    assert repair("--zero-damaged", "c")[0] == "c: replaced chunk 1 by zeros\n"
    check_frame("c", data[:CHUNK] + bytes(CHUNK) + data[2 * CHUNK:])


def test_a_chunk_that_lost_its_name():
    """A killed writer took it away for a moment, and another program's index has
    it."""
    data = put("f", noise(3 * CHUNK))
    for mend in repair, lambda frame: ctl("append", frame, "f"):
        ctl("compress", "-f", "--keep", "--chunksize", CHUNK, "f")
        os.rename("f.b2frame/00000001.chunk", "f.b2frame/.00000001.new")
        mend("f.b2frame")
        check_frame("f.b2frame", data * (1 if mend == repair else 2))


def test_leftovers():
    data = put("f", noise(3 * CHUNK))
    ctl("compress", "--chunksize", CHUNK, "f")
    whole = state("f.b2frame")

    def litter():
        """Makes leftovers of our writer, and an old and a young one of another
        program."""
        put("f.b2frame/.chunks.b2frame.new", b"half an index")
        put("f.b2frame/00000077.chunk", get("f.b2frame/00000001.chunk"))
        put("f.b2frame/00000078.chunk", b"old")
        os.utime("f.b2frame/00000078.chunk", (LONG_AGO, LONG_AGO))
        put("f.b2frame/00000079.chunk", b"young")

    litter()
    before = state("f.b2frame")
    out, err = repair("-n", "f.b2frame")
    assert err == "" and state("f.b2frame") == before
    assert out == """\
f.b2frame: would have removed an index that was never installed
f.b2frame: would have removed 2 chunk files that no index names
f.b2frame: 1 young chunk file that no index names; --force removes such, if \
no program is writing
""", out
    out, _ = repair("f.b2frame")
    assert "f.b2frame: removed 2 chunk files that no index names\n" in out
    assert state("f.b2frame") == {**whole, "00000079.chunk": b"young"}
    litter()
    out, _ = repair("--force", "f.b2frame")
    assert "f.b2frame: removed 3 chunk files that no index names\n" in out
    assert state("f.b2frame") == whole
    litter()
    said = json.loads(repair("--json", "f.b2frame")[0])
    assert said["removed_chunk_files"] == 2, said
    assert said["removed_indexes"] == 1 and said["left_chunk_files"] == 1
    check_frame("f.b2frame", data)
    # A program that is writing may still need such files.
    litter()
    before = state("f.b2frame")
    fd = os.open("f.b2frame", os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    _, err = repair("--force", "f.b2frame", status=1)
    assert "another process is writing to it" in err, err
    os.close(fd)
    assert state("f.b2frame") == before
    remove("f.b2frame")


def test_damaged_chunks():
    data = zlib("s")
    flip("s/00000001.chunk", 8000)
    os.remove("s/00000003.chunk")
    before = state("s")
    out, err = repair("s", status=1)
    assert out == "" and "s: damaged chunks: 2; --zero-damaged" in err, err
    assert state("s") == before
    out, err = repair("-n", "--zero-damaged", "s")
    assert "s: would have replaced chunks 1, 3 by zeros\n" in out, out
    assert state("s") == before
    out, err = repair("--zero-damaged", "s")
    assert out == "s: replaced chunks 1, 3 by zeros\n", out
    zeros = bytes(CHUNK)
    check_frame("s", data[:CHUNK] + zeros + data[2 * CHUNK:3 * CHUNK] + zeros)
    assert sorted(os.listdir("s")) == ["00000000.chunk", "00000002.chunk",
                                       "chunks.b2frame"]
    assert repair("s") == ("s: nothing to repair\n", "")


def test_damaged_metalayers():
    """The chunks are sound, and their order is known."""
    for contiguous in False, True:
        data = zlib("f", contiguous=contiguous, meta={"one": "abcd"})
        schunk = blosc2.open("f", mode="a")
        schunk.insert_data(1, data[:CHUNK], False)
        del schunk
        data = data[:CHUNK] + data
        ctl("seal", "f")
        index = "f" if contiguous else "f/chunks.b2frame"
        flip(index, get(index).index(b"abcd"))
        before = state("f")
        _, err = repair("f", status=1)
        assert "f: only its metalayers are damaged; --accept" in err, err
        out, _ = repair("-n", "--accept-metalayers", "f")
        assert out == "f: would have taken the metalayers as they are\n", out
        assert state("f") == before
        out, _ = repair("--accept-metalayers", "f")
        assert out == "f: taken the metalayers as they are\n", out
        assert repair("--accept-metalayers", "f")[0] == "f: nothing to repair\n"
        check_frame("f", data)
        assert open_stock("f").meta["one"] == "ebcd"
        # C-Blosc2 may change them, too: that needs no repair, but may be sealed.
        blosc2.open("f", mode="a").meta["one"] = "efgh"
        assert repair("f")[0] == "f: nothing to repair\n"
        said = json.loads(repair("--json", "--accept-metalayers", "f")[0])
        assert said["accepted_metalayers"] and said["sound"], said
        check_frame("f", data)
        # Damage of chunks stays, and is told of.
        if not contiguous:
            flip(index, get(index).index(b"efgh"))
            chunk = "f/" + min(n for n in os.listdir("f") if n != "chunks.b2frame")
            flip(chunk, 8000)
            said = json.loads(repair("--json", "--accept-metalayers", "f",
                                     status=1)[0])
            assert said["accepted_metalayers"] and not said["sound"], said
            flip(chunk, 8000)
            assert repair("f")[0] == "f: nothing to repair\n"
            flip(index, get(index).index(b"afgh"))
            repair("--accept-metalayers", "f")
        # No option helps against damage of the rest.
        flip(index, 36)
        repair("--accept-metalayers", "f", status=1)
        remove("f")


def test_damage_in_all_kinds_of_frames():
    # A short last chunk that has no whole number of items.
    data = items(2 * CHUNK + 77, 8)
    make("odd", data, typesize=8, chunksize=CHUNK)
    os.remove("odd/00000002.chunk")
    repair("--zero-damaged", "odd")
    check_frame("odd", data[:2 * CHUNK] + bytes(77))
    # An array stays an array.
    a = np.arange(60 * 40, dtype="<f8").reshape(60, 40)
    blosc2.asarray(a, urlpath="a.b2nd", contiguous=False, chunks=(30, 20))
    os.remove("a.b2nd/00000002.chunk")
    repair("--zero-damaged", "a.b2nd")
    array = blosc2.open("a.b2nd")
    a[30:, :20] = 0
    assert np.array_equal(array[()], a)
    # Variable chunks: one size that is missing follows from the others.
    schunk = make("v", items(3 * CHUNK + 800, 4), typesize=4, chunksize=CHUNK)
    schunk.append_data(items(CHUNK, 4, seed=1))
    data = stock_bytes("v")
    del schunk
    os.remove("v/00000001.chunk")
    repair("--zero-damaged", "v")
    check_frame("v", data[:CHUNK] + bytes(CHUNK) + data[2 * CHUNK:])


def rebuild(path, *options, status=0):
    return repair("-o", "new", *options, path, status=status)


def test_lost_index():
    """The index is lost in every way; its remaining parts are used."""
    for typesize, tail in itertools.product((1, 8, 300), (0, 1, 7)):
        data = items(4 * CHUNK // typesize * typesize + tail * typesize, typesize)
        for damage in ("missing", "empty", "noise", "cut", "middle"):
            schunk = make("s", data, typesize=typesize, clevel=7,
                          chunksize=CHUNK // typesize * typesize,
                          meta={"one": 1})
            schunk.vlmeta["two"] = "zwei"
            del schunk
            index = get("s/chunks.b2frame")
            if damage == "missing":
                os.remove("s/chunks.b2frame")
            elif damage == "cut":
                put("s/chunks.b2frame", index[:-20])
            elif damage == "middle":
                at = info_header_len(index)
                put("s/chunks.b2frame", index[:at] + b"\xff" * 30 +
                    index[at + 30:])
            else:
                put("s/chunks.b2frame",
                    b"" if damage == "empty" else noise(200))
            _, err = repair("s", status=1)
            assert "s: its index is lost; -o NEW makes" in err, err
            before = state("s")
            out, _ = rebuild("s", "-n")
            assert "new: would be made of" in out, out
            assert not os.path.exists("new")
            out, _ = rebuild("s")
            assert state("s") == before
            assert "which may be wrong" in out, out
            kept = damage in ("cut", "middle")
            facts = check_frame("new", data,
                                typesize=1 if typesize == 300 and not kept
                                else typesize)
            assert facts["clevel"] == (7 if kept else 5), (damage, facts)
            schunk = open_stock("new")
            if kept:
                assert schunk.meta["one"] == 1
                assert facts["chunksize"] == CHUNK // typesize * typesize
            if damage == "middle":
                assert schunk.vlmeta["two"] == "zwei"
            remove("s", "new")


def info_header_len(index):
    return int.from_bytes(index[11:15], "big")


def test_lost_index_of_an_array():
    a = np.arange(60 * 40, dtype="<f8").reshape(60, 40)
    blosc2.asarray(a, urlpath="a.b2nd", contiguous=False, chunks=(30, 20))
    index = get("a.b2nd/chunks.b2frame")
    at = info_header_len(index)
    put("a.b2nd/chunks.b2frame", index[:at] + b"\xff" * 16 + index[at + 16:])
    rebuild("a.b2nd")
    assert np.array_equal(blosc2.open("new")[()], a)
    remove("new")
    # Without a chunk it stays an array only if zeros replace the chunk.
    chunk = get("a.b2nd/00000002.chunk")
    os.remove("a.b2nd/00000002.chunk")
    rebuild("a.b2nd")
    facts = info("new")
    assert facts["array"] is None and facts["nchunks"] == 3, facts
    remove("new")
    put("a.b2nd/00000002.chunk", chunk[:32] + b"\xff" * (len(chunk) - 32))
    rebuild("a.b2nd", status=1)
    assert not os.path.exists("new")
    rebuild("a.b2nd", "--zero-damaged")
    a[30:, :20] = 0
    assert np.array_equal(blosc2.open("new")[()], a)


def test_lost_index_of_variable_chunks():
    """A header that tells of them counts more than the sizes: no chunk moves."""
    for sizes in (3, 1, 3), (1, 3), (2, 2), (1, 2, 3):
        parts = [noise(n * 1000, seed=i) for i, n in enumerate(sizes)]
        schunk = make("s", noise(3000), typesize=1, chunksize=3000)
        schunk.append_data(noise(1000))
        schunk.insert_data(2, noise(500), True)
        for _ in range(3):
            schunk.delete_chunk(0)
        for n, part in enumerate(parts):
            schunk.insert_data(n, part, True)
        del schunk
        assert info("s")["chunksize"] == 0
        put("s/chunks.b2frame", get("s/chunks.b2frame")[:-20])
        rebuild("s")
        check_frame("new", b"".join(parts), chunksize=0)
        remove("s", "new")


def test_a_rebuilt_frame_is_open_to_the_same_users():
    value = acl("u:6 u1234:6 g:0 m:6 o:0")
    zlib("s")
    index = get("s/chunks.b2frame")
    os.setxattr("s/chunks.b2frame", ACCESS, value)
    if os.geteuid() == 0:
        os.chown("s/chunks.b2frame", 1234, 2345)
    put("s/chunks.b2frame", index[:30])
    rebuild("s")
    for name in os.listdir("new"):
        old, new = os.stat("s/chunks.b2frame"), os.stat(f"new/{name}")
        assert (new.st_uid, new.st_gid) == (old.st_uid, old.st_gid), name
        assert os.getxattr(f"new/{name}", ACCESS) == value, name


def test_rebuild_of_odd_folders():
    data = zlib("s")
    os.remove("s/chunks.b2frame")
    put("s/00000010.chunk", b"")
    put("s/00000011.chunk", b"rubbish")
    put("s/notes", b"")
    flip("s/00000002.chunk", 8000)
    out, err = rebuild("s")
    assert "damaged chunk files, left out: 2" in out, out
    check_frame("new", data[:2 * CHUNK] + data[3 * CHUNK:])
    _, err = rebuild("s", status=1)
    assert "new: it exists already" in err, err
    rebuild("s", "-f", "--zero-damaged")
    check_frame("new", data[:2 * CHUNK] + bytes(CHUNK) + data[3 * CHUNK:])
    said = json.loads(rebuild("s", "-f", "--json")[0])
    assert said["nchunks"] == 3 and said["ndamaged"] == 2, said
    # The short chunk was moved away from the end.
    remove("s", "new")
    schunk = make("s", items(3 * CHUNK + 500, 1), typesize=1, chunksize=CHUNK)
    del schunk
    os.rename("s/00000003.chunk", "s/00000001.tmp")
    os.rename("s/00000001.chunk", "s/00000003.chunk")
    os.rename("s/00000001.tmp", "s/00000001.chunk")
    os.remove("s/chunks.b2frame")
    rebuild("s")
    assert info("new")["chunksize"] == CHUNK
    ctl("verify", "new")
    assert len(stock_bytes("new")) == 3 * CHUNK + 500
    # Two short chunks: the frame has variable chunks.
    remove("new")
    put("s/00000009.chunk", get("s/00000001.chunk"))
    rebuild("s")
    assert info("new")["chunksize"] == 0
    ctl("verify", "new")
    # A frame without readable chunks.
    os.mkdir("empty")
    remove("new")
    _, err = rebuild("empty", status=1)
    assert "none of its chunk files can be read" in err, err
    assert not os.path.exists("new")
    zlib("sound")
    _, err = rebuild("sound", status=1)
    assert "its index can be read" in err, err
    _, err = rebuild("missing", status=1)
    assert err == "bloscctl: missing: No such file or directory\n", err
    _, err = repair("-o", "x", "a", "b", status=2)
    assert "-o takes one frame" in err, err


def test_a_look_needs_no_writing():
    os.mkdir("d")
    data = zlib("d/s.b2frame")
    put("d/s.b2frame/.b2lock", bytes(16))
    for flags in ("--bind",), ("-o", "remount,bind,ro"):
        subprocess.run(["mount", *flags, "d", "d"], check=True)
    try:
        for args in ("verify", "--deep"), ("verify", "--deep", "-r"):
            out, err = ctl(*args, "d" if "-r" in args else "d/s.b2frame")
            assert b": ok, " in out and not err, (out, err)
        out, _ = repair("-n", "d/s.b2frame")
        assert out == "d/s.b2frame: nothing to repair\n", out
        _, err = repair("d/s.b2frame", status=1)
        assert "Read-only file system" in err, err
    finally:
        subprocess.run(["umount", "d"], check=True)
    check_frame("d/s.b2frame", data)


def test_a_file_that_cannot_be_opened_now_is_not_damaged():
    zlib("s")
    os.remove("s/chunks.b2frame")
    run = subprocess.run(
        ["strace", "-f", "-qq", "-o", "/dev/null", "-P", "00000001.chunk",
         "-e", "trace=openat", "-e", "inject=openat:error=EMFILE",
         BLOSCCTL, "repair", "-o", "new", "s"],
        env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"},
        capture_output=True, text=True)
    assert run.returncode == 1 and "Too many open files" in run.stderr, run
    assert not os.path.exists("new")
    rebuild("s")


def test_what_is_not_committed():
    """No repair and no seal is told of before it is on the disk."""
    failing = ["strace", "-f", "-qq", "-o", "/dev/null", "-e",
               "trace=renameat", "-e", "inject=renameat:error=ENOSPC"]
    env = {**os.environ, "ASAN_OPTIONS": "detect_leaks=0"}

    def run(*args):
        run = subprocess.run([*failing, BLOSCCTL, *args], env=env,
                             capture_output=True, text=True)
        assert run.returncode == 1 and "No space left" in run.stderr, run
        return json.loads(run.stdout)

    data = zlib("s")
    said = run("seal", "--json", "s")
    assert said["nsealed"] == 0 and not said["complete"], said
    assert json.loads(ctl("seal", "--json", "s")[0])["nsealed"] == 4
    check_frame("s", data)
    flip(f"s/{sorted(n for n in os.listdir('s') if n.endswith('.chunk'))[1]}",
         8000)
    said = run("repair", "--json", "--zero-damaged", "s")
    assert (said["ndamaged"], said["nzeroed"], said["zeroed"]) == (1, 0, [])
    assert not said["sound"], said
    said = json.loads(repair("--json", "--zero-damaged", "s")[0])
    assert (said["nzeroed"], said["sound"]) == (1, True), said


if __name__ == "__main__":
    in_namespace()
    sys.exit(run_all(globals()))
