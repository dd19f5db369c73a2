#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bloscctl compress: stock python-blosc2 reads its frames, and no data are lost"""
import itertools
import json
import os
import re
import subprocess
import sys
import threading

import numpy as np

from ctl import (BLOSCCTL, cat, check_frame, ctl, get, in_namespace, info, items,
                 noise, put, remove, run_all, small_disk, stock_bytes)
from acl import ACCESS, DEFAULT, acl

CHUNK = 60000
KINDS = [("", ".b2frame"), ("--contiguous", ".b2f")]


def compress(*args, **options):
    return ctl("compress", *[a for a in args if a != ""], **options)


def test_sizes():
    """Files of no byte, of one byte, of whole chunks, and with odd tails."""
    for typesize in (1, 3, 8, 300):
        chunk = CHUNK - CHUNK % typesize
        sizes = {0, 1, typesize, chunk - 1, chunk, chunk + 1, 2 * chunk,
                 3 * chunk + typesize + 1}
        for size, (option, suffix) in itertools.product(sizes, KINDS):
            data = put("f", items(size, typesize))
            compress(option, "--typesize", typesize, "--chunksize", CHUNK, "f")
            check_frame("f" + suffix, data, typesize=typesize,
                        chunksize=chunk, codec="zstd", clevel=3)
            assert os.path.isdir("f" + suffix) == (option == "")
            remove("f" + suffix)


def test_codecs_and_filters():
    data = put("f", items(150000, 8))
    codecs = {"blosclz": 0, "lz4": 1, "lz4hc": 2, "zlib": 4, "zstd": 5}
    filters = {"none": [], "shuffle": [1], "bitshuffle": [2],
               "shuffle,bytedelta:8": [1, 35], "bytedelta:8": [35],
               "bitshuffle,shuffle": [2, 1]}
    for (codec, code), level, (option, suffix) in itertools.product(
            codecs.items(), (1, 5, 9), KINDS):
        compress(option, "--codec", codec, f"-{level}", "--typesize=8",
                 "--chunksize=50000", "f")
        check_frame("f" + suffix, data, codec_id=code, clevel=level)
        remove("f" + suffix)
    for (name, ids), codec in itertools.product(filters.items(), codecs):
        compress("--filter", name, "--codec", codec, "--typesize=8",
                 "--chunksize=48000", "f")
        facts = check_frame("f.b2frame", data)
        assert [f["id"] for f in facts["filters"]] == ids, facts
        remove("f.b2frame")
    compress("--blocksize=4k", "--chunksize=64k", "f")
    check_frame("f.b2frame", data, blocksize=4096, chunksize=65536)
    assert info("f.b2frame", "--chunks")["chunks"][0]["blocksize"] == 4096


def test_typesize_is_guessed():
    walk = np.cumsum(np.random.default_rng(1).integers(-3, 4, 100000))
    rows = {"f8": (walk * 0.3 + 1e6).astype("<f8").tobytes(),
            "i4": (walk * 1000).astype("<i4").tobytes(),
            "i2": walk.astype("<i2").tobytes(),
            "noise": noise(300000), "empty": b""}
    want = {"f8": 8, "i4": 4, "i2": 2, "noise": 1, "empty": 1}
    for name, data in rows.items():
        put(name, data)
        for option in ("", "--typesize=auto"):
            compress(option, name)
            check_frame(name + ".b2frame", data, typesize=want[name])
            remove(name + ".b2frame")
    # The header tells the item size, not a sample of the data.
    for dtype, size in (("<f8", 8), ("<U5", 20), ("|S3", 3), ("<c16", 16)):
        np.save("a.npy", np.zeros(1000, dtype))
        compress("a.npy", "--plain")
        check_frame("a.npy.b2frame", get("a.npy"), typesize=size)
        assert info("a.npy.b2frame")["chunksize"] == (1 << 20) // size * size
        remove("a.npy.b2frame")


def test_pipes():
    data = items(3 << 20, 8)
    for option, suffix in KINDS:
        compress(option, "-o", "p" + suffix, stdin=data)
        check_frame("p" + suffix, data, typesize=8)
        compress(option, "-f", "-", "-o", "p" + suffix, stdin=data[:77])
        check_frame("p" + suffix, data[:77])
    out, _ = compress("-c", stdin=data)
    put("stdout.b2f", out)
    check_frame("stdout.b2f", data)
    put("f", data)
    assert compress("-o", "-", "f")[0][:11] == out[:11]
    # A slow pipe gives its data in small pieces.
    slow = f"import sys, time\nfor i in range(20):\n" \
           f" sys.stdout.buffer.write(b'ab' * (i * 500)); " \
           f"sys.stdout.flush(); time.sleep(0.01)"
    run = subprocess.run(f"{sys.executable} -c \"{slow}\" | {BLOSCCTL} "
                         f"compress -o slow.b2frame", shell=True, check=True)
    assert run.returncode == 0
    check_frame("slow.b2frame", b"ab" * (500 * 190))
    # Standard input is a file, read from its position on.
    with open("f", "rb") as f:
        f.seek(1000)
        os.lseek(f.fileno(), 1000, os.SEEK_SET)
        subprocess.run([BLOSCCTL, "compress", "-o", "rest.b2frame"], stdin=f,
                       check=True)
    check_frame("rest.b2frame", data[1000:])


def test_holes():
    data = bytearray(12 << 20)
    with open("f", "wb") as f:
        for at, size in ((0, 5000), (5 << 20, 70000), (7 << 20, 1)):
            f.seek(at)
            f.write(b"\x07" * size)
            data[at:at + size] = b"\x07" * size
        f.truncate(len(data))
    for option, suffix in KINDS:
        compress(option, "f")
        facts = check_frame("f" + suffix, bytes(data))
        assert facts["nspecial"] == 9, facts
    # All of it a hole, and no whole number of items.
    os.truncate("f", 0)
    os.truncate("f", 3000001)
    compress("-f", "--typesize=8", "f")
    check_frame("f.b2frame", bytes(3000001))
    ctl("decompress", "-o", "back", "f.b2frame")
    assert get("back") == bytes(3000001)


def test_a_file_that_grows():
    """The input grows meanwhile: the frame has the data read so far, and no hole in the
    place of later data."""
    put("log", b"x" * 1000)
    ended = threading.Event()

    def append():
        with open("log", "ab", buffering=0) as f:
            while not ended.wait(0.02):
                f.write(b"x")

    thread = threading.Thread(target=append)
    thread.start()
    try:
        # lseek(2) finds no more data, and returns long after that.
        subprocess.run(
            ["strace", "-f", "-o", "calls", "-e", "trace=lseek", "-e",
             "inject=lseek:delay_exit=300000", BLOSCCTL, "compress", "log"],
            check=True, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    finally:
        ended.set()
        thread.join()
    assert set(stock_bytes("log.b2frame")) == {ord("x")}


def test_names_and_targets():
    data = put("f", items(5000, 4))
    compress("f")
    _, err = compress("f", status=1)
    assert err == "bloscctl: f.b2frame: it exists already; -f overwrites " \
        "it\n", err
    data = put("f", items(7000, 4))
    compress("-f", "f")
    check_frame("f.b2frame", data)
    # A file in the place of a directory, and the other way round.
    compress("-f", "--contiguous", "-o", "f.b2frame", "f")
    assert os.path.isfile("f.b2frame")
    check_frame("f.b2frame", data)
    compress("-f", "-o", "f.b2frame/", "f", status=1)
    compress("-f", "-o", "f.b2frame", "f")
    assert os.path.isdir("f.b2frame")
    check_frame("f.b2frame", data)
    compress("-f", "-o", "f.b2frame/", "f")
    # A directory that is no frame, or holds more, is not overwritten.
    os.mkdir("d")
    put("d/notes", b"precious")
    compress("-f", "-o", "d", "f")
    assert sorted(os.listdir("d")) == ["f.b2frame", "notes"]
    check_frame("d/f.b2frame", data)
    remove("d/f.b2frame")
    put("f.b2frame/notes", b"precious")
    _, err = compress("-f", "f", status=1)
    assert "it holds other files too" in err, err
    assert get("f.b2frame/notes") == b"precious"
    os.remove("f.b2frame/notes")
    # A link stays a link.
    os.symlink("f.b2frame", "link")
    compress("-f", "-o", "link", "f")
    assert os.path.islink("link")
    check_frame("f.b2frame", data)
    os.mkfifo("fifo")
    compress("-f", "-o", "fifo", "f", status=1)
    _, err = compress("-o", "no/such", "f", status=1)
    assert "no/such: No such file or directory" in err, err
    # The input is a frame already.
    _, err = compress("f.b2frame", status=1)
    assert "it is a frame already" in err, err
    _, err = compress("d", status=1)
    assert err == "bloscctl: d: a directory; add -r for what is in it\n", err
    _, err = compress("nothing", status=1)
    assert err == "bloscctl: nothing: No such file or directory\n", err


def test_attributes():
    put("f", b"x" * 10000)
    os.utime("f", ns=(10**18 + 1, 10**18 + 123456789))
    for mode in (0o640, 0o444, 0o600, 0o777):
        os.chmod("f", mode)
        if os.getuid() == 0:
            os.chown("f", 1234, 2345)
        for option, suffix in KINDS:
            compress("-f", option, "f")
            index = "f" + suffix
            if option == "":
                folder = os.stat(index)
                files = [os.stat(f"{index}/{n}") for n in os.listdir(index)]
                index += "/chunks.b2frame"
                assert all(s.st_uid == folder.st_uid for s in files)
                assert folder.st_mode & 0o444 == mode & 0o444
                assert all(s.st_mode & 0o077 & ~mode == 0 for s in files)
            st = os.stat(index)
            assert st.st_mode & 0o777 == mode, oct(st.st_mode)
            assert st.st_mtime_ns == 10**18 + 123456789
            if os.getuid() == 0:
                assert (st.st_uid, st.st_gid) == (1234, 2345)
            remove("f" + suffix)


ACL = acl("u:6 u1234:4 g:0 m:6 o:0")


def parts(path):
    return [path, *(f"{path}/{n}" for n in sorted(os.listdir(path)))] \
        if os.path.isdir(path) else [path]


def acl_of(path):
    """The ACL without the permission to enter a directory."""
    value = bytearray(os.getxattr(path, ACCESS))
    value[6::8] = (bits & 6 for bits in value[6::8])
    return bytes(value)


def through_all_forms(check, prefix=()):
    """Calls @check for each file that bloscctl makes of the file f."""
    for args, made in ((("compress", "--rm", "f"), "f.b2frame"),
                       (("recompress", "-9", "f.b2frame"), "f.b2frame"),
                       (("convert", "--rm", "f.b2frame"), "f.b2f"),
                       (("convert", "--rm", "f.b2f"), "f.b2frame"),
                       (("copy", "f.b2frame", "g.b2frame"), "g.b2frame"),
                       (("decompress", "--rm", "f.b2frame"), "f"),
                       (("compress", "--contiguous", "f"), "f.b2f"),
                       (("decompress", "-f", "f.b2f"), "f")):
        subprocess.run([*prefix, BLOSCCTL, args[0], "-q", *args[1:]], check=True)
        for path in parts(made):
            check(path)


def test_acl_and_xattrs_go_along():
    put("f", items(1000, 4))
    os.setxattr("f", ACCESS, ACL)
    os.setxattr("f", "user.note", b"kept")

    def check(path):
        assert acl_of(path) == ACL, path
        if os.path.basename(path) == "chunks.b2frame" or os.path.isfile(path) and \
                not path.endswith(".chunk"):
            assert os.getxattr(path, "user.note") == b"kept", path

    through_all_forms(check)


def test_no_default_acl_is_added():
    put("f", items(1000, 4))
    os.chmod("f", 0o640)
    os.setxattr(".", DEFAULT, ACL)

    def check(path):
        assert ACCESS not in os.listxattr(path), path

    through_all_forms(check)


def test_another_group_gets_nothing():
    """The user is not in the file's group, so the frame cannot be, either."""
    if os.geteuid() != 0:
        return
    put("f", items(1000, 4))
    os.chmod("f", 0o660)
    os.chown("f", 65534, 2345)
    os.chown(".", 65534, 65534)

    def check(path):
        st = os.stat(path)
        assert (st.st_gid, st.st_mode & 0o077) == (65534, 0), (path, oct(st.st_mode))

    through_all_forms(check, ["setpriv", "--reuid=65534", "--regid=65534",
                                   "--clear-groups"])


def test_rm():
    data = items(200000, 4)
    for option, suffix in KINDS:
        put("f", data)
        compress("--rm", option, "f")
        assert not os.path.exists("f")
        check_frame("f" + suffix, data)
        put("f", data)
        compress("-f", "--rm", "-k", option, "f")
        assert get("f") == data
        # --rm removes neither links nor inputs of failed runs.
        os.rename("f", "g")
        os.symlink("g", "f")
        _, err = compress("-f", "--rm", option, "f", status=1)
        assert "f: not removed: it is a symbolic link" in err, err
        assert get("g") == data
        os.remove("f")
        _, err = compress("--rm", option, "-o", "f" + suffix, "g", status=1)
        assert "it exists already" in err, err
        assert get("g") == data
        os.remove("g")
        remove("f" + suffix)
    # Nor files that a program is writing to.
    for option, suffix in KINDS:
        put("f", data)
        with open("f", "ab") as f:
            _, err = compress("--rm", option, "f", status=1)
            assert "f: not removed: another program writes to it" in err, err
            f.write(b"more")
        assert get("f") == data + b"more"
        compress("-f", "--rm", option, "f")
        check_frame("f" + suffix, data + b"more")
        assert not os.path.exists("f")
        remove("f" + suffix)
    # Standard input is not removed, nor what went to standard output.
    put("f", data)
    compress("--rm", "-c", "f")
    with open("f", "rb") as f:
        subprocess.run([BLOSCCTL, "compress", "--rm", "-o", "x.b2frame"],
                       stdin=f, check=True)
    assert get("f") == data


def test_recursive():
    for path in ("t/a", "t/b/c", "t/b/d/e"):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        put(path, path.encode() * 100)
    os.symlink("a", "t/link")
    compress("-r", "t")
    found = sorted(os.path.join(top, name) for top, names, _ in os.walk("t")
                   for name in names if name.endswith(".b2frame"))
    assert found == ["t/a.b2frame", "t/b/c.b2frame", "t/b/d/e.b2frame"]
    for path in found:
        check_frame(path, path[:-8].encode() * 100)
    # A second run skips frames, and fails for existing results.
    _, err = compress("-r", "t", status=1)
    assert err.count("it exists already") == 3, err
    compress("-rf", "--rm", "t")
    assert not os.path.exists("t/a") and not os.path.exists("t/b/d/e")


def test_reports():
    data = put("f", items(1 << 20, 8))
    assert compress("f") == (b"", "")
    out, err = compress("-f", "-v", "f")
    assert out == b"" and err.startswith("bloscctl: f: 1.0 MiB -> "), err
    out, _ = compress("-f", "--json", "f")
    said = json.loads(out)
    assert said["command"] == "compress" and said["source"] == "f"
    assert said["output"] == "f.b2frame" and said["nbytes"] == len(data)
    assert said["cbytes"] == info("f.b2frame")["cbytes"]
    put("g", data)
    said = json.loads(compress("-f", "--json", "f", "g")[0])
    assert [s["output"] for s in said] == ["f.b2frame", "g.b2frame"]


def test_checksums():
    put("f", noise(100000))
    compress("f")
    assert info("f.b2frame")["fingerprint_type"] == 4
    path = "f.b2frame/00000000.chunk"
    assert get(path)[-4:] == b"B2S2"
    # Only the checksum notices a flipped bit of uncompressed data.
    raw = bytearray(get(path))
    raw[5000] ^= 1
    put(path, raw)
    ctl("verify", "f.b2frame", status=1)
    compress("-f", "--no-seal", "f")
    assert get(path)[-4:] != b"B2S2"
    check_frame("f.b2frame", get("f"))
    compress("--contiguous", "f")
    assert b"B2S2" in get("f.b2f")
    compress("--contiguous", "-f", "--no-seal", "f")
    assert b"B2S2" not in get("f.b2f")
    # An array that comes through a pipe is made by way of another frame.
    np.save("a.npy", np.arange(20000))
    compress("--contiguous", "--no-seal", "-o", "a.b2nd", "-",
             stdin=get("a.npy"))
    assert b"B2S2" not in get("a.b2nd")
    check_frame("f.b2f", get("f"))


def test_full_disk():
    data = put("f", noise(3 << 20))
    with small_disk("2m"):
        for option, suffix in KINDS:
            for more in ("", "--rm"):
                _, err = compress(option, more, "-o", "disk/x" + suffix, "f",
                                  status=1)
                assert f"disk/x{suffix}: " in err, err
                assert "No space left on device" in err, err
                assert os.listdir("disk") == [], os.listdir("disk")
        put("g", b"precious")
        compress("-o", "disk/old", "g")
        compress("-f", "-o", "disk/old", "f", status=1)
        check_frame("disk/old", b"precious")
    assert get("f") == data


def test_usage():
    put("f", b"")
    rows = [
        ([], "standard input needs -o or -c"),
        (["-"], "standard input needs -o or -c"),
        (["f", "-"], "standard input needs -o or -c"),
        (["-c", "-o", "x", "f"], "-o and -c exclude each other"),
        (["-o", "x", "f", "g"], "-o takes one operand"),
        (["-r", "-c", "f"], "-c takes one file"),
        (["--codec", "snappy", "f"], "--codec: 'snappy' is not zstd, lz4"),
        (["--filter", "ndcell", "f"], "--filter: 'ndcell' is not a list"),
        (["--filter", "trunc_prec:3", "f"], "'trunc_prec:3' is not a list"),
        (["--filter", "shuffle,", "f"], "'shuffle,' is not a list"),
        (["--filter", "shuffle:x", "f"], "'shuffle:x' is not a list"),
        (["--typesize", "0", "f"], "--typesize: '0' is not a possible size"),
        (["--chunksize", "2g", "f"], "'2g' is not a possible size"),
        (["--blocksize", "512m", "f"], "'512m' is not a possible size"),
        (["--chunksize", "x", "f"], "--chunksize: 'x' is not a size"),
        (["-T", "x", "f"], "-T: 'x' is not a number of threads"),
        (["--nonsense", "f"], "there is no option --nonsense"),
    ]
    for args, message in rows:
        _, err = compress(*args, status=2)
        assert message in err, (args, err)
    assert os.listdir(".") == ["f"]


def test_contiguous_frames_take_one_file():
    """Inputs of any number of chunks, and a .npy file with rows larger than a chunk."""
    data = {"plain": noise(1 << 20)[:700001],
            "holes": bytes(300000) + noise(5000) + bytes(400001)}
    for name, content in data.items():
        put(name, content)
    with open("holes", "r+b") as f:
        f.truncate(0)
        f.seek(300000)
        f.write(data["holes"][300000:305000])
        f.truncate(len(data["holes"]))
    array = np.random.default_rng(3).integers(0, 99, (3, 40, 700))
    np.save("array.npy", array)
    with small_disk("8m", files=8):
        for name in data:
            compress("--contiguous", "--chunksize=1k", "-o", "disk/f", name)
            put(name + ".b2f", get("disk/f"))
            remove("disk/f")
        compress("--contiguous", "--chunksize=1k", "--typesize=1", "-o",
                 "disk/f", stdin=data["plain"])
        put("pipe.b2f", get("disk/f"))
        remove("disk/f")
        compress("--contiguous", "--chunksize=1k", "-o", "disk/a", "array.npy")
        put("a.b2nd", get("disk/a"))
        remove("disk/a")
        assert os.listdir("disk") == []
    data["pipe"] = data["plain"]
    for name, content in data.items():
        facts = check_frame(name + ".b2f", content, chunksize=1024)
        assert facts["nchunks"] == -(-len(content) // 1024), facts
    assert info("a.b2nd")["nchunks"] > 100
    assert stock_bytes("a.b2nd") == array.tobytes()


def test_a_file_that_does_not_tell_its_length():
    """A file like those of /proc, whose size is 0."""
    for option, suffix in KINDS:
        compress(option, "-o", "proc" + suffix, "/proc/version")
        check_frame("proc" + suffix, get("/proc/version"))
        # One of /sys says that it has 4096 bytes, and no holes.
        compress(option, "-o", "sys" + suffix, "/sys/devices/system/cpu/possible")
        check_frame("sys" + suffix, get("/sys/devices/system/cpu/possible"))


def test_a_closed_pipe():
    """Nobody reads the frame to its end: its temporary copy goes all the same."""
    put("f", noise(4 << 20))
    os.mkdir("tmp")
    subprocess.run(["mount", "--bind", "tmp", "/var/tmp"], check=True)
    try:
        child = subprocess.Popen([BLOSCCTL, "compress", "-c", "f"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert child.stdout.read(1)
        child.stdout.close()
        err = child.stderr.read()
        assert child.wait() and not err, err
        assert os.listdir("tmp") == []
    finally:
        subprocess.run(["umount", "/var/tmp"], check=True)


def run_with_fsync(error, *args, status):
    """Runs bloscctl in disk, whose names cannot be synced."""
    run = subprocess.run(
        ["strace", "-f", "-qq", "-o", "/dev/null", "-P",
         os.path.abspath("disk"), "-e", "trace=fsync", "-e",
         f"inject=fsync:error={error}", BLOSCCTL, *args],
        capture_output=True, text=True,
        env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    assert run.returncode == status, run
    return run.stderr


def test_a_name_that_cannot_be_synced():
    """The result has its name: no message denies it, and what it replaced stays."""
    data = put("f", items(5000, 4))
    os.mkdir("disk")
    compress("-o", "disk/x.b2frame", "f")
    compress("--format=blp", "-o", "disk/x.blp", "f")
    err = run_with_fsync("EIO", "recompress", "-9", "disk/x.b2frame", status=1)
    assert "done, but a loss of power may undo it: Input/output" in err, err
    old = re.search(r"the old one is (\.bloscctl-\w+/old) now", err)[1]
    check_frame("disk/x.b2frame", data)
    check_frame(f"disk/{old}", data)
    remove(os.path.dirname(f"disk/{old}"))
    err = run_with_fsync("EIO", "append", "disk/x.blp", "f", status=1)
    assert "not known whether anything was appended" in err, err
    assert cat("disk/x.blp") == data + data
    # Some filesystems cannot sync directories, and need not.
    err = run_with_fsync("EINVAL", "append", "disk/x.blp", "f", status=0)
    assert not err and cat("disk/x.blp") == 3 * data, err


if __name__ == "__main__":
    in_namespace()
    sys.exit(run_all(globals()))
