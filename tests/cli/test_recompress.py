#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bloscctl recompress: other settings, the same data and metadata"""
import fcntl
import itertools
import json
import os
import subprocess
import sys

import blosc2
import numpy as np

from ctl import (BLOSCCTL, cat, check_alike, check_frame, ctl, flip, get,
                 golden_frames, in_namespace, info, items, make, make_varied,
                 make_zlib, noise, put, remove, run_all, small_disk, stock_bytes)

CHUNK = 20000
CODECS = {"blosclz": 0, "lz4": 1, "lz4hc": 2, "zlib": 4, "zstd": 5}


def recompress(*args, **options):
    return ctl("recompress", *args, **options)


def test_settings():
    data = items(3 * CHUNK + 777, 8)
    for contiguous in (False, True):
        make("f", data, contiguous, typesize=8, chunksize=CHUNK,
             codec=blosc2.Codec.LZ4)
        for (codec, code), level in itertools.product(CODECS.items(),
                                                      (1, 5, 9)):
            recompress("--codec", codec, f"-{level}", "f")
            facts = check_frame("f", data, codec_id=code, clevel=level,
                                typesize=8, chunksize=CHUNK)
            assert os.path.isdir("f") != contiguous
            assert facts["storage"] == \
                ("contiguous" if contiguous else "sparse")
            said = info("f", "--chunks")["chunks"]
            assert {c["codec"] for c in said} == {codec}, said
        for name, ids in (("none", []), ("bitshuffle", [2]),
                          ("shuffle,bytedelta:8", [1, 35])):
            recompress("--filter", name, "f")
            facts = check_frame("f", data)
            assert [f["id"] for f in facts["filters"]] == ids
        # C-Blosc2 reads wrong data from parts of chunks with delta.
        for name in "delta", "delta,shuffle", "bitshuffle,delta":
            ctl("recompress", "--filter", name, "f", status=2)
        remove("f")


def test_what_fails_changes_nothing():
    """The last rename fails, whichever that is."""
    data = items(3 * CHUNK, 8)
    make("f", data, typesize=8, chunksize=CHUNK)

    def run(codec, *inject):
        return subprocess.run(
            ["strace", "-f", "-qq", "-o", "calls", "-e", "trace=renameat",
             *inject, BLOSCCTL, "recompress", "--codec", codec, "f"],
            env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"},
            capture_output=True, text=True)

    assert run("zlib").returncode == 0
    calls = get("calls").decode().splitlines()
    n = sum(call.split()[0] == calls[-1].split()[0] for call in calls)
    failed = run("lz4", "-e", f"inject=renameat:error=EIO:when={n}")
    assert failed.returncode == 1 and "Input/output" in failed.stderr, failed
    assert info("f")["codec"] == "zlib"
    check_frame("f", data)
    assert not [x for x in os.listdir() if x.startswith(".bloscctl")]
    remove("f")


def test_delta_goes_from_the_header_too():
    """C-Blosc2 encodes the chunks that it appends by the header."""
    data = items(3 * CHUNK, 8)
    for contiguous, (filters, want) in itertools.product(
            (False, True), (([3], [1]), ([3, 1], [1]), ([2, 3], [2]))):
        make("f", data, contiguous, typesize=8, chunksize=CHUNK,
             filters=[blosc2.Filter(f) for f in filters])
        recompress("--codec", "lz4", "f")
        facts = check_frame("f", data)
        assert [f["id"] for f in facts["filters"]] == want
        stock = blosc2.open("f", mode="a")
        stock.append_data(data[:CHUNK])
        items_of_chunk = CHUNK // 8
        for start in range(0, 4 * items_of_chunk, 999):
            got = stock[start:start + 9]
            assert got == (data + data[:CHUNK])[8 * start:8 * start + 72]
        remove("f")


def test_filters_of_wide_items():
    """For python-blosc2 filter parameters, and item sizes as such, are int8."""
    data = items(3 * CHUNK, 200)
    make("f", data, typesize=200, chunksize=CHUNK)
    for name in ("bytedelta", "shuffle,bytedelta", "shuffle,bytedelta:127"):
        recompress("--filter", name, "f")
        check_frame("f", data, typesize=200)
        schunk = blosc2.open("f", mode="a")
        data = data[CHUNK - 200:CHUNK] + data[200:]
        schunk.update_data(0, data[:CHUNK], copy=True)
        del schunk
        check_frame("f", data)
    for name in ("bytedelta:128", "shuffle:200"):
        ctl("recompress", "--filter", name, "f", status=2)
    remove("f")


def test_sizes():
    """Other items, chunks and blocks: all data are cut anew."""
    data = items(5 * CHUNK + 123, 4)
    for contiguous in (False, True):
        for typesize, chunksize, blocksize in (
                (1, 7777, 0), (3, 30000, 3000), (300, 50000, 0),
                (8, 1 << 20, 4096), (16, 100, 0)):
            remove("f")
            make("f", data, contiguous, typesize=4, chunksize=CHUNK)
            recompress("--typesize", typesize, "--chunksize", chunksize,
                       "--blocksize", blocksize, "f")
            check_frame("f", data, typesize=typesize,
                        chunksize=max(chunksize // typesize, 1) * typesize,
                        blocksize=blocksize)
        remove("f")
    walk = np.cumsum(np.random.default_rng(1).integers(-3, 4, 50000))
    data = (walk * 0.3 + 1e6).astype("<f8").tobytes()
    make("f", data, typesize=1, chunksize=CHUNK)
    recompress("--typesize=auto", "f")
    check_frame("f", data, typesize=8)
    # The chunk size becomes a whole number of items.
    recompress("--typesize=7", "f")
    check_frame("f", data, typesize=7, chunksize=CHUNK // 7 * 7)


def test_special_chunks():
    for contiguous in (False, True):
        schunk = make("f", None, contiguous, typesize=8, chunksize=CHUNK)
        data = [items(CHUNK, 8), bytes(CHUNK),
                np.full(CHUNK // 8, np.nan).tobytes(),
                np.full(CHUNK // 8, 2.5).tobytes(), bytes(800)]
        for chunk in data:
            schunk.append_data(chunk)
        del schunk
        for options, nspecial in ((["-9"], 2), (["--typesize=4"], 2),
                                  (["--chunksize=10000"], 3),
                                  (["--typesize=3"], 1)):
            recompress(*options, "-o", "g", "-f", "f")
            facts = check_frame("g", b"".join(data))
            assert facts["nspecial"] == nspecial, (options, facts)
        remove("f", "g")
    # All entries are the same.
    schunk = make("f", None, typesize=8, chunksize=CHUNK)
    schunk.fill_special(50 * CHUNK // 8, blosc2.SpecialValue.ZERO)
    del schunk
    recompress("-9", "f")
    check_frame("f", bytes(50 * CHUNK), nspecial=50)


def test_repeated_values_get_the_new_item_size():
    for typesize in 2, 8, 16:
        for place in 0, 1:
            schunk = make("f", None, typesize=4, chunksize=4000)
            schunk.fill_special(1000, blosc2.SpecialValue.VALUE, np.int32(7))
            schunk.insert_data(place, items(4000, 4), copy=True)
            data = stock_bytes("f")
            del schunk
            recompress(f"--typesize={typesize}", "f")
            assert blosc2.open("f")[:] == data, (typesize, place)
            remove("f")


def test_arrays():
    arrays = {
        "plain": np.arange(37 * 53, dtype="<f8").reshape(37, 53),
        "scalar": np.array(7, dtype="<i4"),
        "big": np.random.default_rng(3).normal(size=(20, 30, 7)),
        "text": np.array([["ab", "cde"], ["f", ""]] * 50, dtype="<U9"),
        "mixed": np.zeros((40, 5), dtype=[("a", "<i4"), ("b", "<f8")]),
    }
    for (name, a), contiguous in itertools.product(arrays.items(),
                                                   (False, True)):
        path = f"{name}-{contiguous}.b2nd"
        chunks = tuple(max(1, s // 2) for s in a.shape)
        array = blosc2.asarray(a, urlpath=path, contiguous=contiguous,
                               chunks=chunks)
        array.schunk.vlmeta["unit"] = "K"
        before = array.chunks, array.blocks
        del array
        for options in (["--codec=lz4", "-9"], ["--filter=bitshuffle"],
                        ["--codec=zlib", "-1", "--filter=none"]):
            recompress(*options, path)
            ctl("verify", path)
            array = blosc2.open(path)
            assert (array.chunks, array.blocks) == before
            assert array.dtype == a.dtype and array.shape == a.shape
            assert np.array_equal(array[()], a), path
            assert array.schunk.vlmeta["unit"] == "K"
            assert array.schunk.blocksize == array.schunk.typesize * \
                int(np.prod(array.blocks))
            # The array can still be written to.
            del array
        if a.ndim == 2 and name == "plain":
            array = blosc2.open(path, mode="a")
            array[3:9, 5:20] = -1
            b = a.copy()
            b[3:9, 5:20] = -1
            assert np.array_equal(array[()], b)
            del array
            ctl("verify", path)
        for option in ("--chunksize=4k", "--typesize=4", "--blocksize=4k"):
            _, err = recompress(option, path, status=1)
            assert "an array keeps its type, chunk and block size" in err, err


def test_variable_chunks_get_one_size():
    for contiguous in (False, True):
        name = f"v-{contiguous}"
        data = make_varied(name, contiguous)
        recompress("--chunksize=3000", "-o", f"{name}-small", name)
        check_frame(f"{name}-small", data, chunksize=3000)
        recompress("--codec=zlib", name)
        check_frame(name, data, chunksize=1 << 20, codec="zlib")


def test_golden_frames():
    """All golden frames of C-Blosc2 except VL blocks and plugins."""
    sources, refused = [], 0
    for path in golden_frames():
        if path.name == "vlblocks.b2frame":
            _, err = recompress("-o", "x", path, status=1)
            assert "its blocks differ in length" in err, err
            refused += 1
        else:
            sources.append(path)
    assert refused == 2, refused
    targets = [f"x{n}" for n in range(len(sources))]
    for source, target in zip(sources, targets):
        recompress("--codec=zlib", "-o", target, source)
    check_alike(targets, sources)
    ctl("verify", *targets)
    data, at = cat(*targets), 0
    for source, target in zip(sources, targets):
        got = stock_bytes(target)
        # For uninit chunks stock returns arbitrary memory.
        assert source.name.startswith("uninit") or \
            data[at:at + len(got)] == got, source
        at += len(got)
    assert at == len(data)
    for source, old, new in zip(sources, info(*sources), info(*targets),
                                strict=True):
        for key in ("metalayers", "vlmetalayers", "array", "typesize",
                    "nbytes"):
            assert old[key] == new[key], (source, key)
    assert sorted(os.listdir(".")) == sorted(targets)


def test_in_place():
    """The old frame stays until the new one replaces it, and nothing else changes."""
    data = put("f", items(100000, 4))
    os.chmod("f", 0o640)
    os.utime("f", ns=(10**18, 10**18 + 5))
    ctl("compress", "f")
    os.setxattr("f.b2frame/chunks.b2frame", "user.note", b"kept")
    inode = os.stat("f.b2frame").st_ino
    os.symlink("f.b2frame", "link")
    recompress("-9", "link")
    assert os.path.islink("link") and os.stat("f.b2frame").st_ino != inode
    check_frame("f.b2frame", data, clevel=9)
    st = os.stat("f.b2frame/chunks.b2frame")
    assert st.st_mode & 0o777 == 0o640 and st.st_mtime_ns == 10**18 + 5
    assert os.getxattr("f.b2frame/chunks.b2frame", "user.note") == b"kept"
    recompress("-9", "f.b2frame/")
    check_frame("f.b2frame", data, clevel=9)
    # Foreign files in the directory would be lost.
    put("f.b2frame/notes", b"precious")
    _, err = recompress("-1", "f.b2frame", status=1)
    assert "it holds other files too" in err, err
    os.remove("f.b2frame/notes")
    # Another program writes to it.
    fd = os.open("f.b2frame", os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_EX)
    _, err = recompress("-1", "f.b2frame", status=1)
    assert "another process is writing to it" in err, err
    recompress("-1", "-o", "copy", "f.b2frame")
    os.close(fd)
    check_frame("copy", data, clevel=1)
    check_frame("f.b2frame", data, clevel=9)


def test_what_follows_a_frame_is_kept():
    data = put("f", items(100000, 4))
    ctl("compress", "--contiguous", "f")
    with open("f.b2f", "ab") as f:
        f.write(b"precious")
    before = get("f.b2f")
    _, err = recompress("-9", "f.b2f", status=1)
    assert "the file holds more than a frame" in err, err
    assert get("f.b2f") == before
    recompress("-9", "-o", "g.b2f", "f.b2f")
    check_frame("g.b2f", data, clevel=9)
    recompress("-9", "-f", "f.b2f")
    check_frame("f.b2f", data, clevel=9)


def test_a_file_with_several_names():
    """Frames with several hard links are refused: only one name would get the new
    frame."""
    data = put("f", items(100000, 4))
    ctl("compress", "--contiguous", "f")
    os.link("f.b2f", "g.b2f")
    before = get("f.b2f")
    _, err = recompress("-9", "f.b2f", status=1)
    assert "f.b2f: the file has 2 names" in err, err
    assert get("f.b2f") == get("g.b2f") == before
    recompress("-9", "-o", "h.b2f", "f.b2f")
    # -o replaces the name that it gives.
    os.link("f.b2f", "i.b2f")
    recompress("-9", "-f", "-o", "i.b2f", "f.b2f")
    check_frame("i.b2f", data, clevel=9)
    assert get("f.b2f") == before
    recompress("-9", "-f", "f.b2f")
    check_frame("f.b2f", data, clevel=9)
    assert get("g.b2f") == before
    recompress("-9", "g.b2f")
    # A directory has one name, whatever its links.
    ctl("compress", "f")
    recompress("-9", "f.b2frame")


def test_failures_change_nothing():
    data = noise(400000)
    make_zlib("f", chunksize=100000)
    flip("f/00000002.chunk", 40000)
    before = {n: get(f"f/{n}") for n in os.listdir("f")}
    _, err = recompress("f", status=1)
    assert "f: chunk 2 (00000002.chunk): " in err, err
    assert before == {n: get(f"f/{n}") for n in os.listdir("f")}
    with small_disk("1m"):
        put("g", data)
        ctl("compress", "--codec=lz4", "-o", "disk/g", "g")
        put("disk/fill", noise(300000))
        for options in ([], ["-o", "disk/other"]):
            _, err = recompress(*options, "disk/g", status=1)
            assert "No space left on device" in err, err
            check_frame("disk/g", data, codec="lz4")
            assert sorted(os.listdir("disk")) == ["fill", "g"]


def test_reports_and_usage():
    put("f", items(100000, 4))
    ctl("compress", "f")
    assert recompress("f.b2frame") == (b"", "")
    said = json.loads(recompress("--json", "f.b2frame")[0])
    assert said["command"] == "recompress", said
    assert said["output"] == "f.b2frame", said
    _, err = recompress("-v", "f.b2frame")
    assert err.startswith("bloscctl: f.b2frame: 97.7 KiB -> "), err
    recompress("-o", "g", "f.b2frame")
    _, err = recompress("-o", "g", "f.b2frame", status=1)
    assert "it exists already" in err, err
    recompress("-f", "-o", "g", "f.b2frame")
    _, err = recompress(status=2)
    assert "a frame is missing" in err, err
    _, err = recompress("missing", status=1)
    assert err == "bloscctl: missing: No such file or directory\n", err


def lock_file(path):
    return f"{path}/.b2lock" if os.path.isdir(path) else f"{path}.b2lock"


def hold_lock(path):
    """Writes as a program that uses C-Blosc2 with BLOSC_LOCKING=1."""
    fd = os.open(lock_file(path), os.O_RDWR | os.O_CREAT, 0o600)
    os.pwrite(fd, bytes(8) + (7).to_bytes(8, sys.byteorder), 0)
    fcntl.flock(fd, fcntl.LOCK_EX)
    return fd


def generation(path):
    return int.from_bytes(get(lock_file(path))[8:], sys.byteorder)


LOCKED = (("recompress", "-9"), ("convert", "--rm"), ("decompress", "--rm"))


def made_beside(made):
    """The results of the commands of LOCKED, each of which runs on its own frame."""
    for contiguous, suffix in (False, "b2frame"), (True, "b2f"):
        for i in range(len(LOCKED)):
            made(f"{i}{suffix}.{suffix}", contiguous, LOCKED[i])


def test_a_lock_of_another_program_is_waited_for():
    data = items(60000, 4)
    runs = []

    def start(path, contiguous, args):
        make(path, data, contiguous, typesize=4)
        fd = hold_lock(path)
        runs.append((path, fd, args, subprocess.Popen(
            [BLOSCCTL, *args, path], stderr=subprocess.PIPE)))

    made_beside(start)
    for path, fd, args, run in runs:
        err = run.communicate()[1]
        assert run.returncode == 1 and b"another program has locked it" in err, \
            (path, args, err)
        assert generation(path) == 7
        os.close(fd)
        check_frame(path, data)
    assert sorted(os.listdir()) == sorted(
        [path for path, *_ in runs] +
        [lock_file(path) for path, *_ in runs if "/" not in lock_file(path)])


def test_no_other_frame_is_replaced_that_a_program_writes_to():
    old, new = items(60000, 4), items(50000, 4)
    for contiguous in False, True:
        make("old", old, contiguous, typesize=4)
        make("new", new, contiguous, typesize=4)
        fd = os.open("old", os.O_RDONLY)
        fcntl.flock(fd, fcntl.LOCK_EX)
        _, err = recompress("-f", "-o", "old", "new", status=1)
        assert "another process is writing to it" in err, err
        os.close(fd)
        fd = hold_lock("old")
        _, err = recompress("-f", "-o", "old", "new", status=1)
        assert "old: another program has locked it" in err, err
        os.close(fd)
        check_frame("old", old)
        remove("old", "new", "old.b2lock")


def test_the_lock_file_stays_the_same():
    """A program that waits for the lock gets the lock of the current frame."""
    data = items(60000, 4)
    for contiguous in False, True:
        make("f", data, contiguous, typesize=4)
        os.close(hold_lock("f"))
        before = os.stat(lock_file("f")).st_ino
        recompress("-9", "f")
        check_frame("f", data, clevel=9)
        assert os.stat(lock_file("f")).st_ino == before
        assert generation("f") > 7
        remove("f", "f.b2lock")


if __name__ == "__main__":
    in_namespace()
    sys.exit(run_all(globals()))
