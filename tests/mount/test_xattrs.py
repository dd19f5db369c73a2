#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Extended attributes of files, and those that describe a frame."""
import dataclasses
import errno
import json
import os
import pathlib
import subprocess

import blosc2
import numpy as np

from mounting import BUILD, Mount, error_of, main, make
from acl import ACCESS, acl

CREATE, REPLACE = os.XATTR_CREATE, os.XATTR_REPLACE


def attributes(path):
    return {n: os.getxattr(path, n) for n in os.listxattr(path)}


def check_user_attributes(path):
    """user.* attributes work as on any filesystem."""
    assert os.listxattr(path) == []
    os.setxattr(path, "user.a", b"1")
    os.setxattr(path, "user.empty", b"")
    os.setxattr(path, "user.binary", bytes(range(256)))
    # An inode of ext4 has room for some 4 KiB.
    os.setxattr(path, "user.large", b"x" * 3000)
    long = "user." + "n" * 250
    os.setxattr(path, long, b"long")
    want = {"user.a": b"1", "user.empty": b"", long: b"long",
            "user.binary": bytes(range(256)), "user.large": b"x" * 3000}
    assert attributes(path) == want
    assert error_of(os.setxattr, path, "user.a", b"2", CREATE) == errno.EEXIST
    assert error_of(os.setxattr, path, "user.b", b"2", REPLACE) == \
        errno.ENODATA
    os.setxattr(path, "user.a", b"2", REPLACE)
    os.removexattr(path, "user.large")
    assert error_of(os.getxattr, path, "user.large") == errno.ENODATA
    assert error_of(os.removexattr, path, "user.large") == errno.ENODATA
    assert error_of(os.setxattr, path, "user.huge", bytes(65537)) in (
        errno.E2BIG, errno.ERANGE, errno.ENOSPC)
    del want["user.large"]
    want["user.a"] = b"2"
    return want


def test_user_attributes_of_all_sorts_of_files():
    os.makedirs("src/dir")
    make("src/frame.b2frame", None, nbytes=1000)
    make("src/flat.b2", None, nbytes=1000, kind="contiguous")
    pathlib.Path("src/text").write_text("text")
    paths = ["mnt/frame", "mnt/flat", "mnt/text", "mnt/dir", "mnt/new", "mnt"]
    with Mount("src", "mnt"):
        pathlib.Path("mnt/new").touch()
        want = {p: check_user_attributes(p) for p in paths}
    with Mount("src", "mnt"):
        for path in paths:
            assert attributes(path) == want[path], path
    # They are in SOURCE, where other programs find them.
    index = "src/frame.b2frame/chunks.b2frame"
    assert os.getxattr(index, "user.a") == b"2"


def test_they_survive_commits():
    os.mkdir("src")
    with Mount("src", "mnt"):
        with open("mnt/a", "wb") as f:
            os.setxattr("mnt/a", "user.a", b"1")
            f.write(bytes(range(256)) * 1000)
            os.fsync(f.fileno())
            os.setxattr(f.fileno(), "user.b", b"2")
            f.write(b"more")
            f.flush()
            assert attributes("mnt/a") == {"user.a": b"1", "user.b": b"2"}
        os.rename("mnt/a", "mnt/b")
        assert attributes("mnt/b") == {"user.a": b"1", "user.b": b"2"}
    with Mount("src", "mnt"):
        assert attributes("mnt/b") == {"user.a": b"1", "user.b": b"2"}
        assert pathlib.Path("mnt/b").stat().st_size == 256004


def test_other_namespaces():
    value = acl("u:6 g:4 o:4")
    os.mkdir("src")
    with Mount("src", "mnt"):
        pathlib.Path("mnt/a").touch()
        for path in "mnt/a", "mnt":
            for name in "trusted.x", "security.x", ACCESS:
                assert error_of(os.setxattr, path, name, value) == \
                    errno.ENOTSUP, name
                assert error_of(os.getxattr, path, name) == \
                    errno.ENOTSUP, name
            # ls asks for it; after ENOTSUP it does not ask for other files.
            assert error_of(os.getxattr, path, "security.selinux") == \
                errno.ENOTSUP
            # getcap and the kernel ask for it.
            assert error_of(os.getxattr, path, "security.capability") == \
                errno.ENODATA
        # cp -a copies without a complaint.
        os.setxattr("mnt/a", "user.x", b"1")
        out = subprocess.run(["cp", "-a", "mnt/a", "copy"], check=True,
                             capture_output=True)
        assert not out.stderr, out.stderr
        out = subprocess.run(["cp", "-a", "copy", "mnt/b"], check=True,
                             capture_output=True)
        assert not out.stderr, out.stderr
        assert attributes("mnt/b") == {"user.x": b"1"}


def mode(path):
    return os.stat(path).st_mode & 0o7777


def facts(path, *names):
    return [os.getxattr(path, f"user.blosc2.{n}").decode() for n in names]


def test_what_a_frame_says():
    os.mkdir("src")
    raw = make("src/f.b2frame", None, nbytes=1 << 20)
    array = np.arange(60, dtype="<f8").reshape(3, 4, 5)
    a = blosc2.asarray(array, urlpath="src/a.b2nd", mode="w",
                       contiguous=False, chunks=(2, 4, 5), blocks=(1, 2, 5))
    a.schunk.vlmeta["x"] = {"y": 1}
    del a
    pathlib.Path("src/text").touch()
    os.mkdir("src/bad.b2frame")
    pathlib.Path("src/bad.b2frame/chunks.b2frame").write_bytes(b"junk" * 99)
    with Mount("src", "mnt", "-v"):
        assert os.listxattr("mnt/f") == os.listxattr("mnt") == []
        said = subprocess.run([BUILD / "bloscctl", "info", "--json",
                               "src/f.b2frame"], check=True,
                              capture_output=True).stdout
        info = json.loads(os.getxattr("mnt/f", "user.blosc2.info"))
        want = json.loads(said)
        assert info.pop("frame").endswith("/src/f.b2frame")
        want.pop("frame")
        assert want.pop("schema") == 1
        assert info == want
        assert facts("mnt/f", "typesize", "codec", "filters", "nbytes",
                     "nchunks") == ["1", "zstd", "shuffle", str(len(raw)),
                                    "4"]
        nbytes, cbytes, ratio = facts("mnt/f", "nbytes", "cbytes", "ratio")
        assert abs(int(nbytes) / int(cbytes) - float(ratio)) < .01
        assert facts("mnt/a", "shape", "chunks", "blocks", "dtype") == [
            "[3, 4, 5]", "[2, 4, 5]", "[1, 2, 5]", "<f8"]
        assert os.getxattr("mnt/a", "user.blosc2.vlmeta.x") == b'{"y": 1}'
        assert os.getxattr("mnt/a", "user.blosc2.vlmeta_raw.x") == \
            b"\x81\xa1y\x01"
        for path, name in (("f", "shape"), ("f", "nothing"), ("text", "info"),
                           ("a", "vlmeta.z")):
            assert error_of(os.getxattr, f"mnt/{path}",
                            f"user.blosc2.{name}") == errno.ENODATA, name
        assert error_of(os.getxattr, "mnt/bad", "user.blosc2.info") == \
            errno.EIO
        for path in "mnt/f", "mnt/text", "mnt":
            for name in "user.blosc2.x", "user.bloscfs.x":
                assert error_of(os.setxattr, path, name, b"1") == errno.EPERM
                assert error_of(os.removexattr, path, name) == errno.EPERM
        assert int(os.getxattr("mnt", "user.bloscfs.pid")) > 1
        assert os.getxattr("mnt", "user.bloscfs.version")[0:1].isdigit()
        stats = json.loads(os.getxattr("mnt", "user.bloscfs.stats"))
        assert stats["lookups"] > 0
        assert error_of(os.getxattr, "mnt/f", "user.bloscfs.pid") == \
            errno.ENODATA


def test_vlmetalayers_are_decoded():
    """Texts and bytes are given unchanged, other values as JSON; the stored bytes
    stay."""
    values = {"units": "kelvin", "grid": {"dx": 0.1, "of": [1, None, "µ"]},
              "n": 5, "table": bytes(range(256)), "empty": "",
              "fits": "x" * 65000, "long": "x" * 70000}
    os.mkdir("src")
    s = blosc2.SChunk(chunksize=1000, urlpath="src/f.b2frame", mode="w",
                      contiguous=False, data=bytes(1000))
    for name, value in values.items():
        s.vlmeta[name] = value
    s.vlmeta.set_vlmeta("raw", b"\xc1 no MessagePack", typesize=1)
    del s
    with Mount("src", "mnt", "-o", "xattr=list"):
        def get(name):
            return os.getxattr("mnt/f", f"user.blosc2.{name}")

        for name in "units", "empty", "fits":
            assert get(f"vlmeta.{name}").decode() == values[name]
        for name in "grid", "n":
            assert json.loads(get(f"vlmeta.{name}")) == values[name]
        assert get("vlmeta.table") == values["table"]
        assert get("vlmeta.raw") == get("vlmeta_raw.raw") == \
            b"\xc1 no MessagePack"
        assert get("vlmeta_raw.units") == b"\xa6kelvin"
        for name in "vlmeta.long", "vlmeta_raw.long":
            # No attribute can be so long.
            assert error_of(get, name) == errno.E2BIG
        for name in "vlmeta.other", "vlmeta_raw.other", "vlmeta_raw", "vlmeta":
            assert error_of(get, name) == errno.ENODATA, name
        # Each is listed once, so that a copy of all has no duplicates.
        assert sorted(n for n in os.listxattr("mnt/f") if "vlmeta" in n) == \
            sorted(f"user.blosc2.vlmeta.{n}" for n in [*values, "raw"])


def test_why_a_frame_cannot_be_written_to():
    """Its attribute, its mode and bloscctl show that it cannot be written to before an
    open fails."""
    os.mkdir("src")
    make("src/f.b2frame", None, nbytes=1000)
    s = blosc2.SChunk(chunksize=1000, urlpath="src/v.b2frame", mode="w",
                      contiguous=False, cparams={"typesize": 1})
    # C-Blosc2 stores no length of a chunk of zeros in such frames.
    for data in (b"a" * 1000, b"b" * 500, b"c" * 1000, bytes(900), b"d" * 500,
                 bytes(800), b"e" * 500):
        s.append_data(data)
    del s
    why = "its chunks do not fit together"
    index = "src/v.b2frame/chunks.b2frame"
    os.chmod(index, 0o664)
    with Mount("src", "mnt"):
        for name, want in (("f", None), ("v", why)):
            info = json.loads(os.getxattr(f"mnt/{name}", "user.blosc2.info"))
            assert (info["writable"], info.get("why")) == (not want, want)
        assert mode("mnt/v") == 0o444
        assert mode("mnt/f") & 0o200
        assert error_of(os.open, "mnt/v", os.O_RDWR) == errno.EROFS
        with open("mnt/v", "rb") as f:
            assert mode(f.fileno()) == 0o444
            os.chmod("mnt/v", 0o440)
            assert mode(f.fileno()) == mode("mnt/v") == 0o440
        # In SOURCE the mode still allows writing, for the time when another frame is
        # there.
        assert mode(index) == 0o660
    said = subprocess.run([BUILD / "bloscctl", "info", "src/v.b2frame"],
                          check=True, capture_output=True).stdout
    assert f"no: {why}" in said.decode()


def test_listed_or_off():
    os.mkdir("src")
    make("src/f.b2frame", None, nbytes=1000)
    with Mount("src", "mnt", "-o", "xattr=list,ro"):
        names = os.listxattr("mnt/f")
        assert "user.blosc2.info" in names and len(names) == 9
        for name in names:
            os.getxattr("mnt/f", name)
        assert sorted(os.listxattr("mnt")) == [
            f"user.bloscfs.{n}" for n in ("pid", "stats", "version")]
    with Mount("src", "mnt", "-o", "xattr=off"):
        assert error_of(os.listxattr, "mnt/f") == errno.ENOTSUP
        assert error_of(os.getxattr, "mnt/f", "user.x") == errno.ENOTSUP
        assert error_of(os.setxattr, "mnt/f", "user.x", b"1") == errno.ENOTSUP
    with Mount("src/f.b2frame", "mnt", "-o", "xattr=list"):
        assert len(os.listxattr("mnt")) == 3
        assert int(os.getxattr("mnt", "user.bloscfs.pid")) > 1
        assert len(os.listxattr("mnt/f")) == 9


def make_table(path, deleted=()):
    @dataclasses.dataclass
    class Row:
        number: int = blosc2.field(blosc2.int64())

    table = blosc2.CTable(Row, urlpath=path, mode="w")
    table.extend([(i,) for i in range(10)])
    table.delete(deleted)
    table.close()


def test_deleted_rows_of_tables_are_told():
    fact = "user.blosc2.deleted_rows"
    os.makedirs("src/d")
    for suffix in "b2d", "b2z":
        make_table(f"src/d/t.{suffix}", [2, 5])
        make_table(f"src/all.{suffix}")
    with Mount("src", "mnt") as mount:
        for suffix in "b2d", "b2z":
            with open(f"mnt/d/t.{suffix}/_cols/number", "rb") as f:
                assert np.fromfile(f, "i8").tolist() == [*range(10)]
                assert os.getxattr(f.fileno(), fact) == b"2"
            mount.wait_for_log(f"d/t.{suffix}/_cols/number.b2nd: 2 of its "
                               "items are deleted rows of a CTable")
            with open(f"mnt/all.{suffix}/_cols/number", "rb") as f:
                assert os.getxattr(f.fileno(), fact) == b"0"
            for other in "_valid_rows", "_meta":
                path = f"mnt/d/t.{suffix}/{other}"
                assert error_of(os.getxattr, path, fact) == errno.ENODATA
            # The file in which python-blosc2 keeps the schema.
            path = f"mnt/d/t.{suffix}/_meta"
            assert os.stat(path).st_size == 0
            assert b"n_rows" in os.getxattr(path, "user.blosc2.vlmeta.schema")
    assert "all." not in mount.log(), mount.log()
    run = subprocess.run([BUILD / "bloscctl", "info", "src/d/t.b2d/_meta.b2f"],
                         check=True, stdout=subprocess.PIPE)
    assert b"no data, only attributes" in run.stdout, run.stdout
    # A table without metadata, and a table outside of the mount.
    os.unlink("src/d/t.b2d/_meta.b2f")
    os.rename("src/all.b2d/_valid_rows.b2nd", "src/all.b2d/_meta.b2f")
    with Mount("src", "mnt"):
        for name in "d/t.b2d", "all.b2d":
            path = f"mnt/{name}/_cols/number"
            assert os.stat(path).st_size == 80
            assert error_of(os.getxattr, path, fact) in (errno.ENODATA,
                                                         errno.EIO)
    make_table("u.b2d", [1])
    with Mount("u.b2d/_cols", "mnt"):
        assert error_of(os.getxattr, "mnt/number", fact) == errno.ENODATA
        assert len(pathlib.Path("mnt/number").read_bytes()) == 80


main()
