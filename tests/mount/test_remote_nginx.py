#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Frames on nginx: ranges and versions of a real web server."""
import errno
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import nginx
import remote_writers
import s3_server
from mounting import data, main
from nginx import Nginx
from remote import RemoteMount, read, refused, save

SIZE = 1000000
NAMES = (("x.b2frame", "x"), ("y.b2f", "y"))
# Modification times of the two versions, in seconds.
OLD, NEW = 1_000_000_000, 1_100_000_000


def date(path, seconds):
    for name in [path, *pathlib.Path(path).rglob("*")]:
        os.utime(name, (seconds, seconds))


def make_files():
    os.mkdir("files")
    os.mkdir("mnt")
    save(data(SIZE), "files/x.b2frame")
    save(data(SIZE), "files/y.b2f", contiguous=True)
    for name, _ in NAMES:
        date(f"files/{name}", OLD)


def test_frames_are_read_by_ranges():
    make_files()
    with Nginx("files") as server:
        for place in "plain", "gzip", "weak", "dated", "closing", "moved":
            for name, shown in NAMES:
                server.log()
                with RemoteMount(f"{server.url}/{place}/{name}"):
                    assert read(f"mnt/{shown}") == data(SIZE)
                asked = [(s, r) for m, s, r in server.log() if m == "GET"]
                # 404: the mount asks for an index below the file; and the test's first
                # request asks for a missing page.
                assert {s for s, _ in asked} <= {"206", "301", "404"}, asked
                assert all(r.startswith("bytes=") for s, r in asked
                           if s != "404"), asked


def replace():
    """Replaces y.b2f by a frame with other bytes everywhere."""
    save(data(SIZE, 7), "files/new", contiguous=True)
    date("files/new", NEW)
    os.rename("files/new", "files/y.b2f")


def check_versions(url):
    """An open file is read in the opened version, or not at all; a new open finds the
    new version."""
    with RemoteMount(url, "-o", "refresh=1,attr_timeout=0,entry_timeout=0"):
        with open("mnt/y", "rb", buffering=0) as f:
            assert f.read(4096) == data(SIZE)[:4096]
            replace()
            for off in range(0, SIZE, 99999):
                try:
                    got = os.pread(f.fileno(), 999, off)
                except OSError as e:
                    assert e.errno == errno.ESTALE, (url, e)
                else:
                    assert got == data(SIZE)[off:off + 999], (url, off)
    with RemoteMount(url):
        assert read("mnt/y") == data(SIZE, 7)


def test_versions_are_not_mixed():
    make_files()
    with Nginx("files") as server:
        for place in "plain", "weak", "dated":
            save(data(SIZE), "files/y.b2f", contiguous=True)
            date("files/y.b2f", OLD)
            check_versions(f"{server.url}/{place}/y.b2f")


def test_appends_by_a_load_balancer_are_there_once():
    if s3_server.find():
        remote_writers.race_programs(10, 1, remote_writers.balanced,
                                     remote_writers.pick_break)


def test_what_it_cannot_do_is_told():
    make_files()
    with Nginx("files") as server:
        line, code = refused(f"{server.url}/whole/y.b2f")
        assert code == 3 and "range" in line, line
        line, code = refused(f"{server.url}/plain/none")
        assert code == 3 and "none" in line, line


nginx.require()
main()
