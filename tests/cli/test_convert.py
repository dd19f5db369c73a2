#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bloscctl convert: the same frame in another storage, and back"""
import json
import os
import pathlib
import subprocess
import sys
import threading
import time

import blosc2
import numpy as np

from ctl import (BLOSCCTL, cat, check_alike, check_frame, ctl, flip, get,
                 golden_frames, in_namespace, info, items, make, make_varied,
                 make_zlib, noise, open_stock, put, remove, run_all, small_disk,
                 stock_bytes)

CHUNK = 20000


def convert(*args, **options):
    return ctl("convert", *args, **options)


def lasting(said):
    """The facts that must stay the same, and the stored chunks."""
    for key in ("frame", "storage", "cbytes", "ratio", "frame_len", "index_nbytes",
                "fingerprint_type", "writable", "why"):
        said.pop(key, None)
    for chunk in said["chunks"]:
        chunk.pop("stored_at", None)
    return said


def facts(path):
    return lasting(info(path, "--chunks"))


def stored(schunk, n):
    """The bytes of chunk @n alone; None: unreadable."""
    try:
        raw = schunk.get_chunk(n)
    except RuntimeError:
        return None
    return raw[:int.from_bytes(raw[12:16], "little")]


def chunk_bytes(path):
    schunk = open_stock(path)
    return [stored(schunk, n) for n in range(schunk.nchunks)]


def round_trip(path):
    """Converts there and back; checks that facts and data stay."""
    want, data = facts(path), stock_bytes(path)
    was_sparse = os.path.isdir(path)
    for name, target in (("1.b2frame", path), ("2.b2frame", "1.b2frame")):
        remove(name)
        convert("-o", name, target)
        assert os.path.isdir(name) == (was_sparse == (name[0] == "2"))
        check_frame(name, data)
        assert facts(name) == want, (path, facts(name), want)
        if data:
            assert chunk_bytes(name) == chunk_bytes(path)


def test_plain():
    for contiguous in (True, False):
        for typesize, size in ((1, 0), (1, 1), (3, 2 * CHUNK), (8, 7 * CHUNK),
                               (8, 5 * CHUNK + 776), (300, 100 * 300)):
            name = f"f{typesize}-{size}-{contiguous}"
            make(name, items(size, typesize), contiguous, typesize=typesize,
                 chunksize=CHUNK - CHUNK % typesize)
            round_trip(name)
        for codec in (blosc2.Codec.BLOSCLZ, blosc2.Codec.LZ4,
                      blosc2.Codec.LZ4HC, blosc2.Codec.ZLIB,
                      blosc2.Codec.ZSTD):
            name = f"c{codec.value}-{contiguous}"
            make(name, items(3 * CHUNK, 4), contiguous, typesize=4,
                 codec=codec, chunksize=CHUNK)
            round_trip(name)


def test_metadata_and_special_chunks():
    for contiguous in (True, False):
        name = f"meta-{contiguous}"
        schunk = make(name, None, contiguous, typesize=8, chunksize=CHUNK,
                      meta={"one": 1, "two": "zwei" * 50})
        schunk.append_data(items(CHUNK, 8))
        schunk.append_data(bytes(CHUNK))
        schunk.append_data(np.full(CHUNK // 8, np.nan).tobytes())
        schunk.append_data(np.full(CHUNK // 8, 2.5).tobytes())
        schunk.append_data(noise(CHUNK))
        schunk.vlmeta["units"] = "kelvin" * 100
        schunk.vlmeta["empty"] = b""
        schunk.vlmeta["big"] = noise(10000)
        del schunk
        round_trip(name)
        for step in ("1.b2frame", "2.b2frame"):
            schunk = open_stock(step)
            assert schunk.meta["two"] == "zwei" * 50
            assert schunk.vlmeta["units"] == "kelvin" * 100
            assert schunk.vlmeta["big"] == noise(10000)
        name = f"zeros-{contiguous}"
        schunk = make(name, None, contiguous, typesize=8, chunksize=CHUNK)
        schunk.fill_special(50 * CHUNK // 8, blosc2.SpecialValue.ZERO)
        del schunk
        round_trip(name)


def test_edited_frames():
    """Odd orders, dead bytes, chunks of different sizes, blocks too."""
    for contiguous in (True, False):
        name = f"edited-{contiguous}"
        schunk = make(name, items(6 * CHUNK, 4), contiguous, typesize=4,
                      chunksize=CHUNK)
        schunk.delete_chunk(2)
        schunk.insert_data(1, noise(CHUNK), False)
        schunk.update_data(0, items(CHUNK, 4, seed=9), False)
        del schunk
        round_trip(name)
        name = f"variable-{contiguous}"
        make_varied(name, contiguous)
        round_trip(name)


def test_golden_frames():
    """Frames of the C library: dictionaries, VL blocks, odd type sizes."""
    steps = [[*golden_frames()]]
    assert len(steps[0]) > 80, steps
    for step in "1", "2":
        os.mkdir(step)
        targets = [f"{step}/{n}.b2frame" for n in range(len(steps[0]))]
        for target, source in zip(targets, steps[-1]):
            convert("-o", target, source)
        steps.append(targets)
    sources, *_ = steps
    for targets in steps[1:]:
        check_alike(targets, sources)
        ctl("verify", *targets)
        for target, source, was, said in zip(
                targets, sources, info("--chunks", *sources),
                info("--chunks", *targets), strict=True):
            assert lasting(said) == lasting(was), (source, said, was)
            if said["nbytes"]:
                assert chunk_bytes(target) == chunk_bytes(source), source


def test_arrays():
    for contiguous in (True, False):
        for n, shape in enumerate([(), (1,), (37, 53), (7, 8, 9)]):
            a = np.arange(int(np.prod(shape)), dtype="<f8").reshape(shape)
            name = f"a{n}-{contiguous}.b2nd"
            chunks = tuple(max(1, s // 2) for s in shape)
            blosc2.asarray(a, urlpath=name, contiguous=contiguous,
                           chunks=chunks)
            round_trip(name)
            for step in ("1.b2frame", "2.b2frame"):
                back = blosc2.open(step)
                assert back.shape == shape and back.dtype == a.dtype
                assert np.array_equal(back[()], a)
        # Arrays whose edge chunks are filled up.
        blosc2.zeros((100, 100), urlpath=f"z-{contiguous}.b2nd",
                     contiguous=contiguous, chunks=(30, 30))
        round_trip(f"z-{contiguous}.b2nd")


def test_both_can_be_changed_afterwards():
    data = items(3 * CHUNK, 4)
    make("s", data, typesize=4, chunksize=CHUNK)
    convert("-o", "c", "s")
    convert("-o", "s2", "c")
    for name in ("c", "s2"):
        schunk = blosc2.open(name, mode="a")
        schunk.append_data(noise(CHUNK))
        schunk.vlmeta["more"] = "yes"
        del schunk
        check_frame(name, data + noise(CHUNK))
    put("more", b"1234")
    ctl("append", "s2", "more")
    check_frame("s2", data + noise(CHUNK) + b"1234")


def test_names():
    data = put("f", items(5000, 4))
    ctl("compress", "f")
    convert("f.b2frame")
    assert os.path.isfile("f.b2f")
    check_frame("f.b2f", data)
    convert("f.b2frame", status=1)
    convert("-f", "f.b2frame/")
    remove("f.b2frame")
    convert("--rm", "f.b2f")
    assert sorted(os.listdir(".")) == ["f", "f.b2frame"]
    check_frame("f.b2frame", data)
    # -f replaces the frame itself.
    _, err = convert("-o", "f.b2frame", "f.b2frame", status=1)
    assert "it is the frame itself; -f replaces it" in err, err
    convert("-f", "-o", "f.b2frame", "f.b2frame")
    assert os.path.isfile("f.b2frame")
    check_frame("f.b2frame", data)
    convert("-f", "f.b2frame")
    assert os.path.isdir("f.b2frame")
    check_frame("f.b2frame", data)
    # Conversion to the same storage gives a fresh copy, with checksums.
    convert("--sparse", "-o", "copy.b2frame", "f.b2frame")
    check_frame("copy.b2frame", data)
    convert("--contiguous", "-o", "copy", "f.b2frame")
    convert("--contiguous", "-o", "copy2", "copy")
    check_frame("copy2", data)


def test_a_source_with_two_names():
    """--rm removes the name of the source, also if the result takes another one."""
    data = put("f", items(5000, 4))
    ctl("compress", "--contiguous", "f")
    os.link("f.b2f", "g.b2f")
    ctl("convert", "-f", "--rm", "--contiguous", "-o", "g.b2f", "f.b2f")
    assert not os.path.exists("f.b2f") and cat("g.b2f") == data
    ctl("convert", "-f", "--rm", "--contiguous", "-o", "./g.b2f", "g.b2f")
    assert cat("g.b2f") == data
    remove("f", "g.b2f")


def states(path):
    """The results of verify for the chunks of the frame @path."""
    out, _ = ctl("verify", "--json", path)
    return set(json.loads(out)["chunks"])


def test_seals_of_contiguous_frames():
    """Contiguous frames have checksums like sparse ones, and a flip is found."""
    data = noise(5 * CHUNK + 100)
    put("sealed", data)
    ctl("compress", "--contiguous", "--keep", "--chunksize=20k", "sealed")
    assert states("sealed.b2f") == {"sealed"}, states("sealed.b2f")
    check_frame("sealed.b2f", data)
    make("theirs", data, True, typesize=1, chunksize=CHUNK)
    assert states("theirs") == {"unsealed"}
    convert("--contiguous", "-o", "ours", "theirs")
    assert states("ours") == {"sealed"}
    check_frame("ours", data)
    convert("--contiguous", "--no-seal", "-o", "bare", "ours")
    assert states("bare") == {"unsealed"}
    check_frame("bare", data)
    convert("--sparse", "-o", "sparse", "bare")
    convert("--contiguous", "-o", "again", "sparse")
    assert states("again") == {"sealed"}
    flip("again", 3 * CHUNK)
    _, err = ctl("cat", "again", status=1)
    assert "checksum" in err, err


def test_attributes():
    put("f", b"x" * 10000)
    os.chmod("f", 0o640)
    os.utime("f", ns=(10**18, 10**18 + 123456789))
    if os.getuid() == 0:
        os.chown("f", 1234, 2345)
    ctl("compress", "f")
    os.setxattr("f.b2frame/chunks.b2frame", "user.note", b"kept")
    convert("f.b2frame")
    convert("-o", "g.b2frame", "f.b2f")
    for path in ("f.b2f", "g.b2frame/chunks.b2frame"):
        st = os.stat(path)
        assert st.st_mode & 0o777 == 0o640
        assert st.st_mtime_ns == 10**18 + 123456789
        assert os.getxattr(path, "user.note") == b"kept"
    if os.getuid() == 0:
        for path in ("f.b2f", "g.b2frame", "g.b2frame/00000000.chunk"):
            st = os.stat(path)
            assert (st.st_uid, st.st_gid) == (1234, 2345), path


def test_damage():
    """A damaged chunk is copied only if the user asks for it."""
    make_zlib("s")
    flip("s/00000002.chunk", 8000)
    for option in ("--contiguous", "--sparse"):
        _, err = convert(option, "--rm", "-o", "x", "s", status=1)
        assert "s: chunk 2 (00000002.chunk): " in err, err
        assert sorted(os.listdir(".")) == ["s"]
    convert("--no-verify", "-o", "x", "s")
    ctl("verify", "x", status=1)
    os.remove("s/00000001.chunk")
    convert("--no-verify", "-o", "y", "s", status=1)
    assert not os.path.exists("y")


def test_offset():
    data = items(3 * CHUNK, 4)
    make("inner", data, True, typesize=4, chunksize=CHUNK)
    put("outer", b"\xaa" * 1000 + get("inner") + b"\xbb" * 50)
    for option in ("--sparse", "--contiguous"):
        convert("--frame-offset=1000", option, "-o", "x", "outer")
        check_frame("x", data)
        remove("x")
    convert("--rm", "--frame-offset=1000", "outer", status=2)
    _, err = convert("-f", "-o", "outer", "--frame-offset=1000", "outer",
                     status=1)
    assert "a part of a file cannot be replaced" in err, err


def test_full_disk():
    data = put("f", noise(3 << 20))
    ctl("compress", "f")
    with small_disk("2m"):
        for option in ("--contiguous", "--sparse"):
            _, err = convert("--rm", option, "-o", "disk/x", "f.b2frame",
                             status=1)
            assert "disk/x: " in err and "No space left" in err, err
            assert os.listdir("disk") == []
    check_frame("f.b2frame", data)


def test_reports():
    put("f", items(5000, 4))
    ctl("compress", "f")
    # Two frames with one shown name; mount/tree tests them in a mount.
    out, err = convert("f.b2frame")
    assert not out and "both by their full names, and none as f" in err, err
    assert convert("-q", "-f", "f.b2frame") == (b"", "")
    assert convert("-f", "-o", "f.b2f", "f.b2frame") == (b"", "")
    said = json.loads(convert("-f", "--json", "f.b2frame")[0])
    assert said["command"] == "convert" and said["output"] == "f.b2f", said
    _, err = convert("-f", "-v", "f.b2frame")
    assert ", f.b2f\n" in err, err
    _, err = convert(status=2)
    assert "a frame is missing" in err, err
    _, err = convert("-o", "x", "a", "b", status=2)
    assert "-o takes one operand" in err, err


def test_a_copy_of_a_file_that_grows():
    """It waits until the writer pauses, and then has all of one version."""
    schunk = blosc2.SChunk(data=noise(CHUNK), urlpath="g.b2f", contiguous=True,
                           cparams={"typesize": 1}, chunksize=CHUNK)

    def grow():
        for n in range(100):
            schunk.append_data(noise(CHUNK, seed=n))
            time.sleep(0.002)

    thread = threading.Thread(target=grow)
    thread.start()
    ctl("copy", "-q", "g.b2f", "copy.b2f")
    thread.join()
    ctl("verify", "-q", "copy.b2f")
    assert cat("g.b2f").startswith(cat("copy.b2f"))


def test_a_copy_that_takes_longer_than_a_pause_begins_again():
    schunk = blosc2.SChunk(data=noise(CHUNK), urlpath="g.b2f", contiguous=True,
                           cparams={"typesize": 1}, chunksize=CHUNK)

    def grow():
        for n in range(8):
            time.sleep(0.2)
            schunk.append_data(noise(CHUNK, seed=n))

    thread = threading.Thread(target=grow)
    thread.start()
    subprocess.run(
        ["strace", "-f", "-qq", "-o", "trace", "-e", "trace=pwrite64",
         "-e", "inject=pwrite64:delay_enter=400000", BLOSCCTL, "copy", "-q",
         "g.b2f", "copy.b2f"], check=True,
        env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    thread.join()
    assert cat("copy.b2f") == cat("g.b2f")


def test_a_file_that_grows_is_not_longer_than_its_size():
    """Only the kernel's own files are, as in /proc."""
    with open("growing", "ab", buffering=0) as f:
        done = threading.Event()

        def grow():
            while not done.is_set():
                f.write(b"x")

        thread = threading.Thread(target=grow)
        thread.start()
        try:
            for _ in range(30):
                said = subprocess.run([BLOSCCTL, "copy", "-qf", "growing", "copy"],
                                      capture_output=True, check=False).stderr
                assert b"more bytes than its size" not in said, said
        finally:
            done.set()
            thread.join()


def test_damage_is_not_sealed_anew():
    """Without decoding, the old checksums are checked before there are new ones."""
    put("f", noise(5 * CHUNK))
    for kind in "sparse", "contiguous":
        remove("damaged")
        ctl("compress", f"--format={kind}", "--chunksize", CHUNK,
            "--typesize=1", "-o", "damaged", "f")
        path = "damaged/00000002.chunk" if kind == "sparse" else "damaged"
        flip(path, os.path.getsize(path) // 2)
        ctl("verify", "-q", "damaged", status=1)
        err = convert("--no-verify", "-o", "new", "damaged", status=1)[1]
        assert "has the checksum" in err, err


def change_all(path):
    opened = blosc2.open(path, mode="a")
    schunk = getattr(opened, "schunk", opened)
    for n in range(schunk.nchunks):
        schunk.update_data(n, noise(schunk.chunksize, seed=n), True)


def change_while_read(*args):
    """Changes all chunks of f.b2frame while its data go into a pipe; returns the data
    that came out, and the end of the command."""
    child = subprocess.Popen([BLOSCCTL, *args], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
    head = child.stdout.read(1 << 16)
    change_all("f.b2frame")
    rest, err = child.communicate()
    return head + rest, child.returncode, err.decode()


def test_a_frame_that_changes_while_it_is_read():
    """Two versions never become one result."""
    array = np.frombuffer(noise(64 << 20), "<i8")
    for args in (("cat", "f.b2frame"), ("decompress", "-c", "f.b2frame"),
                 ("slice", "--raw", "f.b2frame", "...")):
        remove("f.b2frame")
        if args[0] == "slice":
            blosc2.asarray(array, urlpath="f.b2frame", contiguous=False,
                           chunks=(1 << 17,), blocks=(1 << 13,))
        else:
            put("f", array.tobytes())
            ctl("compress", "--chunksize=1m", "--typesize=1", "f")
        got, status, err = change_while_read(*args)
        assert array.tobytes().startswith(got), (args, len(got))
        assert status == (len(got) < array.nbytes), (args, status, err)
        assert not status or "another program" in err, err


def test_a_frame_that_changes_while_it_is_cut_anew():
    data = noise(40 << 20)
    for args in (("recompress", "--chunksize=3m", "-1"),
                 ("convert", "--bloscpack")):
        remove("f.b2frame", "new")
        put("f", data)
        ctl("compress", "--chunksize=1m", "--typesize=1", "f")
        # Writing takes as long as the change of the frame.
        child = subprocess.Popen(
            ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=pwrite64",
             "-e", "inject=pwrite64:delay_enter=1000000", BLOSCCTL, *args,
             "-T1", "-o", "new", "f.b2frame"], stderr=subprocess.PIPE,
            env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
        while not [p for p in pathlib.Path().glob(".bloscctl-*/new")]:
            time.sleep(0.01)
        change_all("f.b2frame")
        err = child.communicate()[1].decode()
        assert child.returncode and "another program" in err, (args, err)
        assert not os.path.exists("new")


if __name__ == "__main__":
    in_namespace()
    sys.exit(run_all(globals()))
