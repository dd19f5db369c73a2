#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stores that are one object (.b2z, .b2e), and views, are shown like local ones."""
import errno
import os
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from fake_s3 import FakeS3, Object
from mounting import Mount, data, error_of, main, wait_until
from proxy import Proxy
from remote import ARRAY, RemoteMount, count, read, refused, save, save_array, web
from stores import ARRAYS, make_embed, make_mixed, make_tree

DIRS = "refresh=1,attr_timeout=0,entry_timeout=0"


def make_files():
    os.mkdir("files")
    os.mkdir("mnt")
    os.mkdir("files/d")
    make_tree("files/t.b2z")
    make_embed("files/d/e.b2e")
    make_mixed("files/m.b2z")
    save_array("files/a.b2nd")
    save_array("files/a.npy.b2nd", ARRAY[0])
    save(data(5000), "files/x.b2f", contiguous=True)
    save(data(5000), "files/no.b2e", contiguous=True)
    pathlib.Path("files/no.b2z").write_bytes(b"called like a pack")


def put_files(server):
    for path in pathlib.Path("files").rglob("*"):
        if path.is_file():
            key = f"/bucket/{path.relative_to('files')}"
            server.objects[key] = Object(path.read_bytes(), {})


def everything(top):
    """Kinds, sizes and bytes of everything below @top."""
    found = {}
    for here, dirs, files in os.walk(top):
        for name in dirs:
            found[os.path.relpath(f"{here}/{name}", top)] = None
        for name in files:
            path = f"{here}/{name}"
            content = read(path)
            assert len(content) == os.stat(path).st_size, path
            found[os.path.relpath(path, top)] = content
        for entry in os.scandir(here):
            assert entry.inode() == os.lstat(entry.path).st_ino, entry.path
    return found


def store(way):
    os.environ.update(AWS_ACCESS_KEY_ID="k", AWS_SECRET_ACCESS_KEY="s",
                      AWS_ENDPOINT_URL=way.url)
    return "s3://bucket"


def test_what_is_shown_is_what_a_local_mount_shows():
    make_files()
    with FakeS3() as server, Proxy(server.port) as way:
        put_files(server)
        for options in "npy=hidden", "npy=list", "npy=off":
            with Mount("files", "mnt", "-o", options):
                wanted = everything("mnt")
            assert ("t.b2z/big.npy" in wanted) == (options == "npy=list")
            with RemoteMount(store(way), "-o", options):
                found = everything("mnt")
            assert sorted(found) == sorted(wanted)
            odd = [k for k in found if found[k] != wanted[k]]
            assert not odd, odd


def test_members_are_opened_as_they_are_and_not_written_to():
    make_files()
    with FakeS3() as server, Proxy(server.port) as way:
        put_files(server)
        before = {k: v.body for k, v in server.objects.items()}
        with RemoteMount(store(way)):
            for pack in "t.b2z", "d/e.b2e":
                for key, array in ARRAYS.items():
                    path = f"mnt/{pack}/{key}"
                    assert np.array_equal(
                        np.load(f"{path}.npy", mmap_mode="r"), array)
                    assert os.getxattr(path, "user.blosc2.nbytes") == \
                        str(array.nbytes).encode()
            for call in (lambda: os.open("mnt/t.b2z/small", os.O_RDWR),
                         lambda: os.open("mnt/t.b2z/new", os.O_CREAT),
                         lambda: os.mkdir("mnt/t.b2z/new"),
                         lambda: os.unlink("mnt/t.b2z/small"),
                         lambda: os.truncate("mnt/t.b2z/small", 0),
                         lambda: os.rmdir("mnt/t.b2z")):
                assert error_of(call) == errno.EROFS
            for name in "none", "small.npy.npy", "g/bytes.npy":
                assert error_of(os.stat, f"mnt/t.b2z/{name}") == errno.ENOENT
        assert {k: v.body for k, v in server.objects.items()
                if "probe" not in k} == before


def test_a_pack_of_its_own_is_the_root_of_a_mount():
    make_files()
    with web("files") as (way, _):
        for name in "t.b2z", "d/e.b2e":
            with RemoteMount(f"{way.url}/{name}"):
                for key, array in ARRAYS.items():
                    assert read(f"mnt/{key}") == array.tobytes()
        line, code = refused(f"{way.url}/no.b2z")
        assert code == 3 and "no.b2z" in line, line


def test_a_pack_that_was_replaced_is_another_one():
    make_files()
    with FakeS3() as server, Proxy(server.port) as way:
        put_files(server)
        with RemoteMount(store(way), "-o", DIRS):
            assert "small" in os.listdir("mnt/t.b2z")
            with open("mnt/t.b2z/big", "rb", buffering=0) as f:
                assert f.read(100) == ARRAYS["big"].tobytes()[:100]
                server.objects["/bucket/t.b2z"] = \
                    server.objects["/bucket/m.b2z"]
                wait_until(lambda: "embed.b2e" in os.listdir("mnt/t.b2z"),
                           "the other pack is seen")
                # The read gives data of the open version, or an error.
                try:
                    end = os.pread(f.fileno(), 100, ARRAYS["big"].nbytes - 100)
                except OSError as e:
                    assert e.errno == errno.ESTALE
                else:
                    assert end == ARRAYS["big"].tobytes()[-100:]


def test_what_is_open_is_not_asked_for_again():
    make_files()
    with FakeS3() as server, Proxy(server.port) as way:
        put_files(server)
        with RemoteMount(store(way), "-o",
                         "attr_timeout=60,entry_timeout=60,refresh=60"):
            assert "sub" in os.listdir("mnt/t.b2z/g")
            way.take()
            assert "sub" in os.listdir("mnt/t.b2z/g")
            assert count(way)[1] == 0
            assert read("mnt/t.b2z/small") == ARRAYS["small"].tobytes()
            assert count(way)[1] <= 8


main()
