#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A prefix of an object store is mounted and written to."""
import concurrent.futures
import contextlib
import errno
import mmap
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import tarfile
import threading
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import remote_outcomes
import s3_server
import saves
from mounting import SANITIZED, data, error_of, main, wait_until
from lying_proxy import LyingProxy
from proxy import drip, drop, silent, status, twice
from remote import (CHUNK, NOW, SIZE, RemoteMount, download, keys, let_a_minute_pass,
                    put_frame, read, s3, save, save_array)

NBYTES = "user.blosc2.nbytes"


def chunks(client, name):
    return [k for k in client.names(f"bucket/d/{name}/")
            if k.endswith(".chunk")]


def in_another_process(code):
    """A page fault in this process would keep the proxy's thread from answering it."""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=100)


def test_the_sync_attribute():
    with s3() as (_, client), RemoteMount("s3://bucket", "-o", "commit=600"):
        with open("mnt/x", "wb", buffering=0) as f:
            f.write(b"x")
            os.setxattr("mnt", "user.bloscfs.sync", b"")
            assert "chunks.b2frame" in client.names("bucket/x.b2frame/")


def test_arrays_of_numpy():
    with s3() as (_, client):
        with RemoteMount("s3://bucket"):
            in_another_process("""
import numpy as np
array = np.arange(300000, dtype="f4").reshape(300, 1000)
np.save("mnt/a.npy", array)
view = np.load("mnt/a.npy", mmap_mode="r+")
view[17] = -1
view.flush()
del view
array[17] = -1
assert np.array_equal(np.load("mnt/a.npy"), array)
np.save("mnt/a.npy", array[::2])
""")
            assert np.load("mnt/a.npy").shape == (150, 1000)
        with RemoteMount("s3://bucket"):
            assert np.load("mnt/a.npy")[9, 3] == 18003
        assert "chunks.b2frame" in client.names("bucket/a.npy.b2nd/")


def test_an_array_is_written_anew():
    array = np.arange(60000, dtype="f8").reshape(300, 200)
    new = (array * 3 + 1).tobytes()
    save_array("local.b2nd", array, contiguous=False)
    with s3() as (_, client):
        client.put_tree("local.b2nd", "bucket/d/a.b2nd")
        with RemoteMount("s3://bucket/d"):
            # Closing without data, or with a part of them, is an error.
            assert error_of(os.close, os.open(
                "mnt/a", os.O_WRONLY | os.O_TRUNC)) == errno.EPERM
            fd = os.open("mnt/a", os.O_WRONLY | os.O_TRUNC)
            os.write(fd, new[:1000])
            assert error_of(os.fsync, fd) == errno.EPERM
            assert error_of(os.close, fd) == errno.EPERM
            # The daemon hears of a close later.
            wait_until(lambda: read("mnt/a") == array.tobytes(), "the old one")
            with open("mnt/a", "wb") as f:
                f.write(new[:240000])
                assert download(client, "a.b2nd").tobytes() == array.tobytes()
                f.write(new[240000:])
            assert read("mnt/a") == new
            found = download(client, "a.b2nd")
            assert (found.shape, found.dtype) == (array.shape, array.dtype)
            assert found.tobytes() == new
        with RemoteMount("s3://bucket/d"):
            assert read("mnt/a") == new
            assert np.array_equal(np.load("mnt/a.npy"), array * 3 + 1)


def test_another_writer_is_told_of_what_is_dropped():
    save_array("local.b2nd", np.ones(100000, "u1"), contiguous=False)
    with s3() as (_, client):
        client.put_tree("local.b2nd", "bucket/d/a.b2nd")
        with RemoteMount("s3://bucket/d"):
            saves.drop_changes_of_others("mnt/a")
        assert download(client, "a.b2nd").tobytes()[7:12] == b"other"


def test_a_save_may_follow_a_broken_off_one_at_once():
    array = np.arange(60000, dtype="f8").reshape(300, 200)
    save_array("local.b2nd", array, contiguous=False)
    with s3() as (_, client):
        client.put_tree("local.b2nd", "bucket/d/a.b2nd")
        with RemoteMount("s3://bucket/d"):
            saves.save_again_at_once("mnt/a", (array + 1).tobytes())


def test_half_an_array_goes_once_the_server_is_back():
    array = np.arange(60000, dtype="f8").reshape(300, 200)
    new = (array * 3 + 1).tobytes()
    save_array("local.b2nd", array, contiguous=False)
    with s3() as (way, client):
        client.put_tree("local.b2nd", "bucket/d/a.b2nd")

        def write_half(mount):
            fd = os.open("mnt/a", os.O_WRONLY | os.O_TRUNC)
            os.write(fd, new[:1000])
            way.fault = lambda _: drop
            assert error_of(os.close, fd) == errno.EPERM
            mount.wait_for_log("half an array was written")
            wait_until(lambda: error_of(read, "mnt/a") != 0, "it is not shown")
            assert error_of(os.open, "mnt/a", os.O_WRONLY) != 0
            way.fault = None

        with RemoteMount("s3://bucket/d") as mount:
            write_half(mount)
            wait_until(lambda: error_of(read, "mnt/a") == 0, "it is dropped")
            assert read("mnt/a") == array.tobytes()
        with RemoteMount("s3://bucket/d") as mount:
            write_half(mount)
            # The ticker may still be told that the server is away.
            wait_until(lambda: error_of(pathlib.Path("mnt/a").write_bytes,
                                        new) == 0, "it is written")
            assert read("mnt/a") == new
        # At its end the mount drops it, too.
        with RemoteMount("s3://bucket/d") as mount:
            write_half(mount)
        assert download(client, "a.b2nd").tobytes() == new


def test_half_an_array_of_a_removed_file_is_no_other_file():
    save_array("local.b2nd", contiguous=False)
    with s3() as (_, client):
        client.put_tree("local.b2nd", "bucket/d/a.b2nd")
        with RemoteMount("s3://bucket/d"):
            reader = os.open("mnt/a", os.O_RDONLY)
            fd = os.open("mnt/a", os.O_WRONLY | os.O_TRUNC)
            os.write(fd, b"half")
            os.unlink("mnt/a")
            pathlib.Path("mnt/a").write_bytes(b"another")
            assert error_of(os.close, fd) == errno.EPERM
            wait_until(lambda: error_of(os.pread, reader, 100, 0) == errno.EIO,
                       "the half is not read")
            os.close(reader)
            assert read("mnt/a") == b"another"


def test_files_and_directories_come_and_go():
    with s3() as (_, client):
        with RemoteMount("s3://bucket"):
            os.makedirs("mnt/d/sub dir/deep")
            assert os.listdir("mnt/d/sub dir") == ["deep"]
            for i in range(20):
                pathlib.Path(f"mnt/d/{i}").write_bytes(data(1000 * i, i))
            pathlib.Path("mnt/d/empty").touch()
            assert sorted(os.listdir("mnt/d")) == sorted(
                ["empty", "sub dir", *map(str, range(20))])
            assert error_of(os.open, "mnt/d/3", os.O_CREAT | os.O_EXCL) == \
                errno.EEXIST
            assert error_of(os.rmdir, "mnt/d") == errno.ENOTEMPTY
            assert error_of(os.rmdir, "mnt/d/3") == errno.ENOTDIR
            assert error_of(os.mkdir, "mnt/d/3") == errno.EEXIST
            for i in range(20):
                assert read(f"mnt/d/{i}") == data(1000 * i, i)
            os.unlink("mnt/d/3")
            assert error_of(os.stat, "mnt/d/3") == errno.ENOENT
            pathlib.Path("mnt/d/3").write_bytes(b"again")
        with RemoteMount("s3://bucket"):
            assert read("mnt/d/3") == b"again"
            assert read("mnt/d/empty") == b""
            assert os.listdir("mnt/d/sub dir") == ["deep"]
            os.rmdir("mnt/d/sub dir/deep")
            # A directory stays when its last file is removed.
            for name in os.listdir("mnt/d"):
                if name != "sub dir":
                    os.unlink(f"mnt/d/{name}")
            os.rmdir("mnt/d/sub dir")
            assert os.listdir("mnt/d") == []
            os.rmdir("mnt/d")
        assert keys(client) == []


def test_what_cannot_be_says_so():
    with s3() as (_, client):
        put_frame(client)
        client.put("bucket/d/plain", b"plain bytes")
        with RemoteMount("s3://bucket/d"):
            os.mkdir("mnt/dir")
            for call, code in (
                    (lambda: os.link("mnt/x", "mnt/y"), errno.EPERM),
                    (lambda: os.symlink("x", "mnt/y"), errno.EPERM),
                    (lambda: os.mkfifo("mnt/y"), errno.EPERM),
                    (lambda: os.chmod("mnt/x", 0o600), errno.EPERM),
                    (lambda: os.chown("mnt/x", 7, 7), errno.EPERM),
                    (lambda: os.setxattr("mnt/x", "user.a", b"b"),
                     errno.EOPNOTSUPP),
                    (lambda: os.rename("mnt/dir", "mnt/dir2"), errno.EXDEV),
                    (lambda: os.mkdir("mnt/z.b2frame"), errno.EPERM),
                    (lambda: os.open("mnt/plain", os.O_RDWR), errno.EROFS)):
                assert error_of(call) == code, code
            assert read("mnt/plain") == b"plain bytes"
            os.unlink("mnt/plain")
            assert sorted(os.listdir("mnt")) == ["dir", "x"]
        with RemoteMount("s3://bucket/d", "-o", "ro"):
            assert error_of(os.open, "mnt/x", os.O_RDWR) == errno.EROFS


def test_tar_and_cp_keep_what_they_can():
    os.mkdir("tree")
    for i in range(30):
        path = pathlib.Path(f"tree/{i % 3}/{i}")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data(3000, i))
        os.utime(path, (1e9 + i, 1e9 + i))
    with tarfile.open("tree.tar", "w") as tar:
        tar.add("tree")
    with s3() as (_, _client):
        with RemoteMount("s3://bucket"):
            subprocess.run(["tar", "xf", "../tree.tar"], cwd="mnt", check=True)
            assert os.stat("mnt/tree/0/3").st_mtime == 1e9 + 3
            subprocess.run(["cp", "-rp", "tree", "mnt/copy"], check=True)
            assert os.stat("mnt/copy/1/4").st_mtime == 1e9 + 4
            subprocess.run(["diff", "-r", "tree", "mnt/copy"], check=True)
            subprocess.run(["mv", "mnt/copy", "mnt/moved"], check=True)
            subprocess.run(["diff", "-r", "tree", "mnt/moved"], check=True)
            subprocess.run(["rm", "-r", "mnt/moved"], check=True)
            assert os.listdir("mnt") == ["tree"]
        with RemoteMount("s3://bucket"):
            subprocess.run(["diff", "-r", "tree", "mnt/tree"], check=True)


def test_a_file_is_removed_while_it_is_open():
    with s3() as (_, client):
        put_frame(client)
        with RemoteMount("s3://bucket/d"):
            with open("mnt/x", "r+b", buffering=0) as f, \
                    open("mnt/new", "w+b", buffering=0) as new:
                new.write(b"never there")
                os.unlink("mnt/new")
                os.unlink("mnt/x")
                assert os.listdir("mnt") == []
                assert os.pread(f.fileno(), 100, SIZE - 100) == \
                    data(SIZE)[-100:]
                f.write(b"still")
                os.fsync(f.fileno())
                assert os.pread(f.fileno(), 10, 0) == \
                    b"still" + data(SIZE)[5:10]
                assert os.fstat(f.fileno()).st_nlink == 0
                assert os.pread(new.fileno(), 20, 0) == b"never there"
                # A new file of that name is independent.
                pathlib.Path("mnt/x").write_bytes(data(SIZE, 9))
                assert os.pread(f.fileno(), 100, SIZE - 100) == \
                    data(SIZE)[-100:]
                assert os.getxattr(f.fileno(), "user.blosc2.nchunks") == \
                    b"%d" % (SIZE // CHUNK)
            wait_until(lambda: len(chunks(client, "x.b2frame")) <= 3,
                       "the old chunks go")
            assert read("mnt/x") == data(SIZE, 9)
        assert download(client, "x.b2frame") == data(SIZE, 9)
        assert not [k for k in keys(client) if "new" in k]


def test_a_file_that_is_being_removed_is_not_opened():
    """Its chunks go, so that a reader would find nothing."""
    held, go = threading.Event(), threading.Event()

    def hold(request):
        if request.method == "DELETE" and ".chunk" in request.path:
            held.set()
            go.wait(60)

    with s3() as (way, client):
        put_frame(client)
        with RemoteMount("s3://bucket/d"), \
                concurrent.futures.ThreadPoolExecutor(2) as pool:
            open("mnt/x", "rb").close()
            way.fault = hold
            unlink = pool.submit(os.unlink, "mnt/x")
            try:
                assert held.wait(60)
                reader = pool.submit(error_of, open, "mnt/x", "rb")
                concurrent.futures.wait([reader], 0.5)
            finally:
                go.set()
            unlink.result()
            assert reader.result() == errno.ENOENT


def test_a_removal_that_takes_long_stops_no_timer():
    held, go = threading.Event(), threading.Event()

    def hold(request):
        if request.method == "DELETE" and ".chunk" in request.path:
            held.set()
            go.wait(60)

    with s3() as (way, client):
        with RemoteMount("s3://bucket/d", "-o", "commit=1"):
            pathlib.Path("mnt/x").write_bytes(b"x")
            x, way.fault = open("mnt/x", "rb"), hold
            os.unlink("mnt/x")
            x.close()
            try:
                assert held.wait(60)
                with open("mnt/y", "wb", buffering=0) as y:
                    y.write(b"y")
                    wait_until(lambda: chunks(client, "y.b2frame"), "a commit")
            finally:
                go.set()


def test_who_cannot_make_a_file_removes_none_of_others():
    """Another client makes a file of that name at the same time."""
    with s3() as (way, client):
        def come(method, what, answer):
            def fault(request):
                if request.method != method or what not in request.path:
                    return None
                way.fault = None
                put_frame(client)
                return answer
            return fault

        with RemoteMount("s3://bucket/d"):
            # It cannot be opened; or its index is there when it is stored.
            for call, fault in (
                    (lambda: open("mnt/x", "xb"),
                     come("GET", "x.b2frame%2F", status(403))),
                    (lambda: os.mknod("mnt/x", 0o644 | stat.S_IFREG),
                     come("PUT", "x.b2frame/chunks.b2frame", None))):
                way.fault = fault
                assert error_of(call) in (errno.EACCES, errno.EEXIST)
                assert not way.fault
                assert download(client, "x.b2frame") == data(SIZE)
                wait_until(lambda: os.path.exists("mnt/x"), "it is found")
                assert read("mnt/x") == data(SIZE)
                os.unlink("mnt/x")


def test_a_listing_that_comes_late_hides_no_name():
    with s3() as (way, _):
        begun = threading.Event()

        def fault(request):
            if "list-type" not in request.path:
                return None
            way.fault = None
            begun.set()
            return drip(0.01)

        with RemoteMount("s3://bucket/d", "-o",
                         "attr_timeout=1,entry_timeout=0"):
            pathlib.Path("mnt/old").write_bytes(b"old")
            time.sleep(1.2)
            way.fault = fault
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                late = pool.submit(os.listdir, "mnt")
                assert begun.wait(60)
                # The answer is on its way.
                time.sleep(0.5)
                pathlib.Path("mnt/new").write_bytes(b"new")
                os.unlink("mnt/old")
                # This listing has them, so nothing else is kept of them.
                time.sleep(1.2)
                assert os.listdir("mnt") == ["new"]
                assert late.result() == ["new"]
            assert read("mnt/new") == b"new"
            assert error_of(os.stat, "mnt/old") == errno.ENOENT


def test_a_listing_that_is_overtaken_again_and_again_ends():
    begun, go, mine = threading.Event(), threading.Event(), threading.Event()

    def hold(request):
        if "list-type" in request.path and "sub" in request.path and \
                not mine.is_set():
            begun.set()
            go.wait(60)
            go.clear()

    with s3() as (way, _), RemoteMount("s3://bucket/d", "-o", NOW), \
            concurrent.futures.ThreadPoolExecutor(1) as pool:
        os.mkdir("mnt/sub")
        pathlib.Path("mnt/sub/x").write_bytes(b"x")
        way.fault = hold
        late = pool.submit(os.listdir, "mnt/sub")
        try:
            for _ in range(6):
                if not begun.wait(2):
                    break
                begun.clear()
                mine.set()
                # It reads a listing of its own.
                assert error_of(os.rmdir, "mnt/sub") == errno.ENOTEMPTY
                mine.clear()
                go.set()
            assert late.result(2) == ["x"]
        finally:
            way.fault = None
            go.set()


def test_a_new_file_is_not_stored_as_a_file_that_exists():
    with s3() as (_, client):
        client.put("bucket/d/x", b"plain bytes")
        put_frame(client)
        # All happens after one listing.
        with RemoteMount("s3://bucket/d", "-o", "attr_timeout=600"):
            assert sorted(os.listdir("mnt")) == ["x", "x.b2frame"]
            os.unlink("mnt/x")
            pathlib.Path("mnt/x").write_bytes(b"new")
            assert read("mnt/x") == b"new"
            assert read("mnt/x.b2frame") == data(SIZE)


def test_a_name_with_chunks_of_another_suffix_is_found_again():
    with s3() as (_, client):
        put_frame(client)
        for key in client.names("bucket/d/x.b2frame/"):
            if key.endswith(".chunk"):
                client.put(f"bucket/d/x.b2nd/{key}",
                           client.get(f"bucket/d/x.b2frame/{key}"))
            client.delete(f"bucket/d/x.b2frame/{key}")
        with RemoteMount("s3://bucket/d", "-o", NOW):
            assert error_of(os.stat, "mnt/x") == errno.ENOENT
            pathlib.Path("mnt/x").write_bytes(b"new")
            assert os.listdir("mnt") == ["x"]
            assert read("mnt/x") == b"new"


def test_extended_attributes_are_those_of_the_last_commit():
    with s3(), RemoteMount("s3://bucket/d", "-o", NOW):
        for stored, size in (None, 300000), (300000, 400000):
            with open("mnt/x", "ab", buffering=0) as f:
                f.write(bytes(size - (stored or 0)))
                if stored is None:
                    assert error_of(os.getxattr, "mnt/x", NBYTES) == errno.ENODATA
                else:
                    assert os.getxattr("mnt/x", NBYTES) == b"%d" % stored
                os.fsync(f.fileno())
                assert os.getxattr("mnt/x", NBYTES) == b"%d" % size
            assert os.getxattr("mnt/x", NBYTES) == b"%d" % size


def test_chunks_without_an_index_are_no_file():
    """A writer was killed before its first commit, or removed the index."""
    with s3() as (_, client):
        put_frame(client, "d/new.b2frame")
        client.delete("bucket/d/new.b2frame/chunks.b2frame")
        with RemoteMount("s3://bucket/d"):
            assert error_of(os.stat, "mnt/new") == errno.ENOENT
            assert os.listdir("mnt") == []
            pathlib.Path("mnt/new").write_bytes(data(SIZE, 9))
        with RemoteMount("s3://bucket/d"):
            assert read("mnt/new") == data(SIZE, 9)
        assert download(client, "new.b2frame") == data(SIZE, 9)


def test_a_frame_that_comes_while_it_is_looked_up_is_no_directory():
    with s3() as (way, client):
        put_frame(client, "d/x.b2frame")
        index = client.request("GET", "bucket/d/x.b2frame/chunks.b2frame")[2]
        client.delete("bucket/d/x.b2frame/chunks.b2frame")

        def commit_before_the_listing(request):
            if "prefix=d%2Fx.b2frame" in request.path:
                client.put("bucket/d/x.b2frame/chunks.b2frame", index)

        with RemoteMount("s3://bucket/d"):
            way.fault = commit_before_the_listing
            assert read("mnt/x") == data(SIZE)


def test_a_frame_that_others_remove_is_no_directory():
    """A cached listing still has the name."""
    with s3() as (_, client):
        put_frame(client, "d/x.b2frame")
        save(data(SIZE), "local", chunksize=CHUNK)
        client.put_tree("local", "bucket/d/plain")
        client.put("bucket/d/dir/file", b"1")
        with RemoteMount("s3://bucket/d", "-o",
                         "attr_timeout=60,entry_timeout=0,refresh=0"):
            for name in "x", "plain":
                assert os.stat(f"mnt/{name}").st_size == SIZE
            assert os.path.isdir("mnt/dir")
            for key in keys(client):
                if "/dir/" not in key:
                    client.delete(f"bucket/{key}")
            for name in "x", "plain":
                assert error_of(os.stat, f"mnt/{name}") == errno.ENOENT, name
            assert os.path.isdir("mnt/dir")


def test_a_server_that_fails_at_fsync_loses_nothing():
    with s3() as (way, client):
        put_frame(client)
        with RemoteMount("s3://bucket/d", "-o", "commit=0"):
            with open("mnt/x", "r+b", buffering=0) as f:
                f.write(b"first")
                way.fault = lambda r: status(503) if r.method == "PUT" else None
                assert error_of(os.fsync, f.fileno()) in (errno.EIO,
                                                          errno.ETIMEDOUT)
                f.write(b"second")
                assert os.pread(f.fileno(), 11, 0) == b"firstsecond"
                way.fault = None
                os.fsync(f.fileno())
                expected = b"firstsecond" + data(SIZE)[11:]
                assert download(client, "x.b2frame") == expected


def test_a_load_balancer_that_asks_twice_loses_nothing():
    """Every second answer claims that the new object exists already."""
    with s3() as (way, client):
        put_frame(client)
        way.fault = lambda r: \
            twice if r.method == "PUT" and "probe" not in r.path else None
        with RemoteMount("s3://bucket/d"):
            for i in range(5):
                with open("mnt/x", "ab") as f:
                    f.write(bytes([i]) * 100)
                    os.fsync(f.fileno())
            pathlib.Path("mnt/new").write_bytes(data(SIZE // 2))
            shutil.copyfile("mnt/new", "mnt/x2")
            os.rename("mnt/x2", "mnt/new")
            shutil.copyfile("mnt/x", "mnt/y")
            shutil.copyfile("mnt/new", "mnt/y")
        way.fault = None
        ends = b"".join(bytes([i]) * 100 for i in range(5))
        with RemoteMount("s3://bucket/d", "-o", "ro"):
            assert read("mnt/x") == data(SIZE) + ends
            assert read("mnt/new") == data(SIZE // 2)
            assert read("mnt/y") == data(SIZE // 2)
            assert sorted(os.listdir("mnt")) == ["new", "x", "y"]


def test_whatever_is_answered_the_word_is_true():
    remote_outcomes.play(remote_outcomes.sample(1))


def test_a_server_that_is_away_for_a_while_is_waited_for():
    """The server is away for three seconds: at the mount, a read, a write, and the
    unmount."""
    class Away:
        def __call__(self, _):
            return status(503) if time.monotonic() < self.until else None

        def go(self):
            self.until = time.monotonic() + 3

    with s3() as (way, client):
        put_frame(client)
        way.fault = away = Away()
        away.go()
        with RemoteMount("s3://bucket/d", "-o", "retry=60"):
            away.go()
            assert read("mnt/x") == data(SIZE)
            away.go()
            pathlib.Path("mnt/y").write_bytes(data(SIZE, 2))
            fd = os.open("mnt/x", os.O_RDWR)
            os.pwrite(fd, b"end", SIZE)
            away.go()
            os.close(fd)
            with open("mnt/y", "r+b") as f, \
                    mmap.mmap(f.fileno(), 0) as memory:
                memory[:5] = b"begin"
                away.go()
        away.until = 0
        assert download(client, "x.b2frame") == data(SIZE) + b"end"
        assert download(client, "y.b2frame") == b"begin" + data(SIZE, 2)[5:]


def test_what_a_failed_answer_told_is_asked_again():
    """An error for a write, and an answer with a damaged frame."""
    with s3_server.given_or_new() as server, LyingProxy(server.port) as way:
        os.environ.update(s3_server.ENV, AWS_ENDPOINT_URL=way.url)
        client = s3_server.Client(server.url)
        put_frame(client)
        put_frame(client, "d/y.b2frame")

        def lie(_, said):
            if said.body.startswith(b"\x9e\xa8b2frame"[:2]):
                said.body = said.body[:60] + bytes(len(said.body) - 60)
        way.fault = lambda r: status(503) if r.method == "PUT" else None
        with RemoteMount("s3://bucket/d", "-o", "refresh=1,entry_timeout=0,"
                         "attr_timeout=0"):
            assert error_of(os.open, "mnt/x", os.O_RDWR) == errno.EIO
            way.fault = None
            with open("mnt/x", "ab") as f:
                f.write(b"end")
            way.lies = lie
            assert error_of(read, "mnt/y") == errno.EIO
            way.lies = None
            wait_until(lambda: not error_of(read, "mnt/y"), "the frame")
            assert read("mnt/y") == data(SIZE)
        assert download(client, "x.b2frame") == data(SIZE) + b"end"


def test_an_unmount_waits_until_a_second_signal():
    """The unmount waits only while data is not stored."""
    with s3() as (way, client):
        put_frame(client)
        with RemoteMount("s3://bucket/d", "-o", "retry=600"):
            with open("mnt/x", "r+b") as f:
                f.write(b"new")
            way.fault = silent
        way.fault = None
        with RemoteMount("s3://bucket/d", "-o", "retry=600,commit=0") as mount:
            mount.status, mount.ended = 8, True
            fd = os.open("mnt/x", os.O_RDWR)
            os.pwrite(fd, b"lost", 0)
            way.fault = lambda r: status(503)
            mount.process.terminate()
            mount.wait_for_log("files that are not stored yet")
            assert mount.process.poll() is None
            mount.process.terminate()
            mount.process.wait(60)
            error_of(os.close, fd)
            assert "ending without waiting" in mount.log(), mount.log()
        way.fault = None
        assert download(client, "x.b2frame") == b"new" + data(SIZE)[3:]


def kill_while_writing(client, mount, seconds):
    """A process writes generation after generation into all chunks."""
    writer = subprocess.Popen([sys.executable, "-c", f"""
import os
fd = os.open("mnt/x", os.O_RDWR)
for i in range(1, 1000):
    for at in range(0, {SIZE}, {CHUNK}):
        os.pwrite(fd, b"%08d" % i, at)
    os.fsync(fd)
"""], stderr=subprocess.DEVNULL)
    time.sleep(seconds)
    os.kill(mount.pid, 9)
    mount.process.wait()
    mount.status = -9
    writer.wait(60)
    subprocess.run(["umount", "-l", "mnt"], check=True)
    mount.ended = True
    found = download(client, "x.b2frame")
    heads = {found[at:at + 8] for at in range(0, SIZE, CHUNK)}
    assert len(heads) == 1, heads
    return int(heads.pop())


def test_a_killed_daemon_leaves_one_commit():
    with s3() as (_, client):
        put_frame(client, content=b"00000000" * (SIZE // 8))
        for seconds in 0.3, 0.5, 0.9:
            with contextlib.ExitStack() as stack:
                mount = stack.enter_context(RemoteMount("s3://bucket/d"))
                kill_while_writing(client, mount, seconds)


def test_dirty_memory_is_bounded():
    # Beside dirtysize and cachesize, 64 MiB may be in transfer, in up to twice as much
    # memory.
    size = 256 << 20
    block = np.random.default_rng(1).bytes(1 << 20)
    with s3():
        with RemoteMount("s3://bucket", "-o",
                         "dirtysize=8m,cachesize=8m,codec=lz4") as mount:
            before = mount.rss()["VmRSS"]
            with open("mnt/big", "wb", buffering=0) as f:
                for _ in range(size >> 20):
                    f.write(block)
                peak = mount.rss()["VmHWM"]
            assert os.stat("mnt/big").st_size == size
            print(f"resident: {before >> 20} MB, peak {peak >> 20} MB")
            assert SANITIZED or peak - before < 190 << 20


def test_the_last_commit_is_waited_for():
    with s3() as (_, client):
        with RemoteMount("s3://bucket", "-o", "commit=0"):
            os.mkdir("mnt/d")
            with open("mnt/d/y", "wb") as f:
                f.write(data(SIZE))
        assert download(client, "y.b2frame") == data(SIZE)


def test_what_short_mounts_replace_goes_with_a_later_mount():
    size = 3 * CHUNK
    with s3() as (_, client):
        put_frame(client, content=data(size))
        for i in range(5):
            with RemoteMount("s3://bucket/d"), open("mnt/x", "r+b") as f:
                for _ in range(2):
                    f.write(os.urandom(100))
                    f.flush()
                    os.fsync(f.fileno())
        before = download(client, "x.b2frame")
        left = len(chunks(client, "x.b2frame"))
        let_a_minute_pass(client, "x.b2frame")
        with RemoteMount("s3://bucket/d"):
            assert read("mnt/x") == before
            # statvfs(2) reports room, for programs that check it before they write.
            st = os.statvfs("mnt")
            assert st.f_bavail * st.f_frsize == 1 << 60, st
            assert st.f_blocks == st.f_bavail, st
        now = len(chunks(client, "x.b2frame"))
        print(f"{left} chunks after short mounts, {now} after the next one")
        assert (left, now) == (3 + 10, 3)
        assert download(client, "x.b2frame") == before


def test_a_store_that_may_not_be_written_to_is_read():
    with s3() as (way, client):
        put_frame(client)
        way.fault = lambda r: status(403) if r.method == "PUT" else None
        with RemoteMount("s3://bucket/d") as mount:
            assert read("mnt/x") == data(SIZE)
            assert error_of(os.open, "mnt/x", os.O_RDWR) == errno.EROFS
            assert os.statvfs("mnt").f_flag & os.ST_RDONLY
            # As with a disk, the room is told all the same.
            st = os.statvfs("mnt")
            assert st.f_bavail * st.f_frsize == 1 << 60, st
            mount.wait_for_log("mounted read-only")
            lines = [x for x in mount.log().splitlines() if "read-only" in x]
            assert len(lines) == 1 and "s3://bucket/d" in lines[0], lines
        way.fault = None


s3_server.require()
main()
