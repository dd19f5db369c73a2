#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A frame on a web server is mounted as one file, read-only."""
import errno
import os
import pathlib
import shutil
import sys
from unittest import mock

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from http_server import TLS_CERT, HttpServer
from mounting import data, error_of, main, wait_until
from proxy import drop, status
from remote import ARRAY, RemoteMount, count, read, refused, save, save_array, web

SIZE = 1000000


def make_files():
    os.mkdir("files")
    os.mkdir("mnt")
    save(data(SIZE), "files/x.b2frame")
    save(data(SIZE), "files/y.b2nd", contiguous=True)
    save_array("files/array.b2nd")
    pathlib.Path("files/text").write_bytes(b"no frame")


def test_a_frame_is_one_file():
    make_files()
    with web("files") as (way, _):
        for name, shown in (("x.b2frame", "x"), ("y.b2nd", "y")):
            with RemoteMount(f"{way.url}/{name}"):
                assert os.listdir("mnt") == [shown]
                path = f"mnt/{shown}"
                assert os.stat(path).st_size == SIZE
                assert read(path) == data(SIZE)
                with open(path, "rb") as f:
                    assert os.pread(f.fileno(), 100, 777777) == \
                        data(SIZE)[777777:777877]
                assert error_of(os.open, path, os.O_RDWR) == errno.EROFS
                assert error_of(os.open, "mnt/new", os.O_CREAT) == errno.EROFS
                assert error_of(os.stat, "mnt/none") == errno.ENOENT
                assert os.getxattr("mnt", "user.bloscfs.version")
                assert os.getxattr(path, "user.blosc2.nbytes") == b"1000000"
                assert error_of(os.getxattr, path, "user.x") == errno.ENODATA
        with RemoteMount(f"{way.url}/array.b2nd"):
            assert read("mnt/array") == ARRAY.tobytes()
            assert np.array_equal(np.load("mnt/array.npy", mmap_mode="r"),
                                  ARRAY)
            shutil.copy("mnt/array.npy", "copy")
            assert np.array_equal(np.load("copy"), ARRAY)


def test_a_signature_is_not_in_the_arguments():
    make_files()
    with web("files") as (way, _):
        with RemoteMount(f"{way.url}/x.b2frame?token=secret") as mount:
            assert read("mnt/x") == data(SIZE)
            seen = pathlib.Path(f"/proc/{mount.pid}/cmdline").read_text()
            assert "/x.b2frame?xxx" in seen and "secret" not in seen, seen


def test_a_frame_opens_in_few_requests():
    make_files()
    with web("files") as (way, _), RemoteMount(f"{way.url}/x.b2frame"):
        assert len(way.take()) <= 3
        with open("mnt/x", "rb", buffering=0) as f:
            assert count(way)[1] == 0
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            assert len(os.pread(f.fileno(), 4096, 500000)) == 4096
            assert count(way)[1] <= 2
            # The kernel has cached it.
            assert len(os.pread(f.fileno(), 4096, 500000)) == 4096
            assert count(way)[1] == 0


def test_a_changed_frame_is_another_one():
    """An open file is read in the opened version, or not at all."""
    make_files()
    with web("files") as (way, _), \
            RemoteMount(f"{way.url}/y.b2nd", "-o",
                  "refresh=1,attr_timeout=0,entry_timeout=0"):
        with open("mnt/y", "rb", buffering=0) as f:
            assert f.read(4096) == data(SIZE)[:4096]
            save(data(SIZE // 2)[::-1], "files/new.b2nd", contiguous=True)
            os.rename("files/new.b2nd", "files/y.b2nd")
            # The bytes may be here already.
            try:
                end = os.pread(f.fileno(), 4096, SIZE - 4096)
            except OSError as e:
                assert e.errno == errno.ESTALE
            else:
                assert end == data(SIZE)[-4096:], end
        wait_until(lambda: os.stat("mnt/y").st_size == SIZE // 2,
                   "the other version is seen")
        assert read("mnt/y") == data(SIZE // 2)[::-1]


def test_https():
    """Only a server with a trusted certificate is mounted."""
    make_files()
    with HttpServer("files", tls=True) as server:
        url = f"{server.url}/x.b2frame"
        line, code = refused(url)
        assert code == 3 and url in line and "certificate" in line, line
        # The first of all variables for certificates counts.
        with mock.patch.dict(os.environ, AWS_CA_BUNDLE=str(TLS_CERT)), \
                RemoteMount(url):
            assert read("mnt/x") == data(SIZE)


def test_what_cannot_be_mounted_is_told_in_one_line():
    make_files()
    with web("files") as (way, server):
        url = way.url
        for path in "none", "text":
            line, code = refused(f"{url}/{path}")
            assert code == 3 and f"{url}/{path}" in line, line
        way.fault = lambda r: status(403)
        line, code = refused(f"{url}/x.b2frame")
        assert code == 3 and "x.b2frame" in line, line
        way.fault = None
        server.ignore_ranges = True
        line, code = refused(f"{url}/y.b2nd")
        assert code == 3 and "range" in line.lower(), line
    line, code = refused(f"{url}/x.b2frame")
    there = url.removeprefix("http://").split("/")[0]
    assert (line, code) == (f"bloscfs: {url}/x.b2frame: cannot connect to "
                            f"{there}: refused", 3), line
    assert refused("ftp://h/x") == (
        "bloscfs: ftp://h/x: URLs begin with s3://, http:// or https://", 3)
    assert refused("s3://") == (
        "bloscfs: s3://: the name of a bucket is missing", 3)
    line, code = refused("s3://me:secret@bucket/x")
    assert "keys in URLs are refused" in line and "secret@" not in line, line
    os.rmdir("mnt")
    pathlib.Path("mnt").touch()
    line, code = refused(f"{url}/x.b2frame?token=secret")
    assert "on the file" in line and "secret" not in line, line
    os.remove("mnt")
    os.mkdir("mnt")
    line, code = refused("-o", "endpoint=http://x", "files")
    assert code == 1 and line == \
        "bloscfs: option endpoint: SOURCE is no URL", line


def test_faults_that_stay_are_told_by_errno_and_log():
    make_files()
    with web("files") as (way, _):
        url = f"{way.url}/x.b2frame"
        chunk = sorted(pathlib.Path("files/x.b2frame").glob("*.chunk"))[3]
        whole = chunk.read_bytes()

        def check(expected, words, fault=None):
            with RemoteMount(url, "-o", "direct_io") as mount:
                way.fault = fault
                assert error_of(read, "mnt/x") == expected
                way.fault = None
                # If two threads fail, one of them writes the line.
                wait_until(lambda: words in mount.log(), words)
                assert all("x.b2frame" in line
                           for line in mount.log().splitlines())

        for content in whole[:-1], whole[:20], b"", whole[::-1]:
            chunk.write_bytes(content)
            check(errno.EIO, "chunk")
        chunk.unlink()
        check(errno.EIO, "missing")
        chunk.write_bytes(whole)
        for fault, expected, words in (
                (status(403), errno.EACCES, "denies access"),
                (status(500), errno.EIO, "answers 500"),
                (drop, errno.ECONNRESET, "ends the connection")):
            check(expected, words, lambda r, fault=fault: fault
                  if r.path.endswith(".chunk") else None)
        with RemoteMount(url):
            assert read("mnt/x") == data(SIZE)


def test_faults_that_pass_are_not_seen():
    make_files()
    with web("files") as (way, _):
        way.fault = lambda r: {1: status(503), 4: drop, 6: status(500),
                               9: status(429)}.get(r.nth)
        with RemoteMount(f"{way.url}/x.b2frame"):
            assert read("mnt/x") == data(SIZE)
        assert [r.status for r in way.take()].count(503) == 1


main()
