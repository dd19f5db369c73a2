#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Frames of serialized objects are reported and refused, and copied whole."""
import dataclasses
import filecmp
import json
import os
import pathlib
import shutil
import sys

import blosc2

from ctl import check_not_opened, ctl, in_namespace, info, mounted, run_all

OBJECTS = [{"a": 1}, [1, 2], "text"]


def make():
    """Makes frames; the names of their kinds, by path."""
    array = blosc2.ObjectArray(urlpath="o.b2frame", mode="w")
    batches = blosc2.BatchArray(urlpath="b.b2b", mode="w")
    lists = blosc2.ListArray(item_spec=blosc2.int64(), urlpath="l.b2b",
                             mode="w")
    for i, item in enumerate(OBJECTS):
        array.append(item)
        batches.append([i, item])
        lists.append([i] * i)
    lists.flush()
    return {"o.b2frame": "an ObjectArray", "b.b2b": "a BatchArray",
            "l.b2b": "a ListArray"}


def test_objects_are_no_plain_bytes():
    for path, what in make().items():
        for args in ("cat", path), ("decompress", path, "-o", "out"):
            out, err = ctl(*args, status=1)
            assert out == b"" and f"it is {what}" in err, err
        assert not os.path.exists("out")
        assert info(path)["objects"] == what
        assert f"objects      {what}".encode() in ctl("info", path)[0]
        # Nothing is damaged.
        assert b": ok" in ctl("verify", path)[0]


def test_objects_are_copied_whole():
    make()
    ctl("convert", "o.b2frame", "-o", "sparse.b2frame")
    assert os.path.isdir("sparse.b2frame")
    ctl("recompress", "-9", "o.b2frame")
    for path in "o.b2frame", "sparse.b2frame":
        assert list(blosc2.open(path, mode="r")) == OBJECTS
    _, err = ctl("recompress", "--chunksize=1m", "o.b2frame", status=1)
    assert "keep their chunks" in err, err


def test_names_in_a_store_stay():
    with blosc2.TreeStore("t.b2d", mode="w") as store:
        store["/g/a"] = blosc2.arange(1000)
    leaf, before = "t.b2d/g/a.b2nd", sorted(pathlib.Path("t.b2d").rglob("*"))
    for options in (), ("--rm", "-o", "a.b2frame"), ("-o", "t.b2d/b.b2frame"):
        _, err = ctl("convert", *options, leaf, status=1)
        assert "in a store of python-blosc2" in err, err
    assert sorted(pathlib.Path("t.b2d").rglob("*")) == before
    # Converting elsewhere and recompressing are allowed.
    ctl("convert", leaf, "-o", "a.b2frame")
    ctl("recompress", "-9", leaf)
    with blosc2.TreeStore("t.b2d", mode="r") as store:
        assert (store["/g/a"][:] == range(1000)).all()
    ctl("convert", "-f", leaf)
    assert os.path.isdir("t.b2d/g/a.b2frame")


def test_a_table_tells_of_deleted_rows():
    @dataclasses.dataclass
    class Row:
        number: int = blosc2.field(blosc2.int64())

    for path in "t.b2d", "t.b2z":
        table = blosc2.CTable(Row, urlpath=path, mode="w")
        for i in range(10):
            table.append((i,))
        table.close()
        column = f"{path}/_cols/number.b2nd"
        assert info(column)["table"] == {
            "rows": 10, "items": 10, "has_deleted": False}
        assert b"a CTable of 10 rows\n" in ctl("info", column)[0]
        table = blosc2.CTable(Row, urlpath=path, mode="a")
        table.delete([2, 5])
        table.close()
        said = info(column)["table"]
        assert said["rows"] == 8 and said["items"] >= 10, said
        assert b"deleted rows are among them" in ctl("info", column)[0]
        assert "table" not in info(f"{path}/_valid_rows.b2nd")


def test_in_a_mount():
    os.mkdir("src")
    os.chdir("src")
    objects = make()
    blosc2.arange(1000, urlpath="a.b2nd")
    os.chdir("..")
    with mounted():
        for path, what in objects.items():
            name = f"mnt/{path.removesuffix('.b2frame')}"
            check_not_opened(name, os.O_RDONLY)
            assert info(name)["objects"] == what
        assert info("mnt/a")["array"]["shape"] == [1000]
        out, _ = ctl("info", "mnt/a", "mnt/o")
        frame = os.path.realpath("src/a.b2nd").encode()
        assert b"\n  frame        " + frame + b"\n" in out, out
        assert b"\n  array        shape (1000,), chunks" in out, out
        assert b"\n  objects      an ObjectArray" in out, out
        both = json.loads(ctl("info", "--json", "mnt/a", "mnt/o")[0])
        assert [f["storage"] for f in both] == ["contiguous"] * 2
        _, err = ctl("info", "--chunks", "mnt/a", status=1)
        assert "does not show chunks" in err, err
        assert f"the frame is {os.path.realpath('src/a.b2nd')}" in err, err
        for args in (["verify"], ["cat"], ["convert"], ["ls"], ["decompress"],
                     ["recompress"], ["append"], ["seal"], ["repair"],
                     ["slice", "-o", "x"], ["rm"]):
            status = 2 if args == ["verify"] else 1
            more = ["0"] if args[0] == "slice" else []
            _, err = ctl(*args, "mnt/a", *more, status=status, stdin=b"")
            assert "mnt/a: it is a file of a mount; the frame is " \
                f"{os.path.realpath('src/a.b2nd')}\n" in err, err
        _, err = ctl("compress", "mnt/a", status=1)
        assert err == "bloscctl: mnt/a.b2frame: it would be in a mount, whose " \
            "files are compressed already\n", err
        # A frame that is copied into the mount is a file in a file.
        shutil.copy("src/a.b2nd", "mnt/copy.b2nd")
        assert info("mnt/copy.b2nd")["frame"] == "mnt/copy.b2nd"
        assert filecmp.cmp("src/a.b2nd", "mnt/copy.b2nd", shallow=False)
    assert info("src/copy.b2nd.b2frame")["array"] is None
    said = pathlib.Path("log").read_text()
    for path, what in objects.items():
        assert f"{path}: not readable: it is {what} of python-blosc2" in said


if __name__ == "__main__":
    in_namespace()
    sys.exit(run_all(globals()))
