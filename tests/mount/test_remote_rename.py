#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files of a mounted bucket are renamed."""
import concurrent.futures
import errno
import os
import pathlib
import subprocess
import sys
import threading

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import remote
import s3_server
from mounting import data, error_of, main, wait_until
from names import rename as rename2
from proxy import lose, status
from remote import (NOW, SIZE, RemoteMount, keys, let_a_minute_pass, put_frame, read,
                    s3)
from syscalls import EXCHANGE, NOREPLACE


def write(path, content):
    pathlib.Path(path).write_bytes(content)


def download(client, name):
    return remote.download(client, name, "bucket")


def test_a_file_gets_another_name():
    with s3() as (way, client):
        with RemoteMount("s3://bucket") as mount:
            os.makedirs("mnt/d/sub")
            write("mnt/d/a", data(SIZE))
            way.take()
            os.rename("mnt/d/a", "mnt/d/b")
            asked = [r.method for r in way.take()]
            # The chunks, the index, a claim of ids, and a flag while the old
            # chunks go.
            assert asked.count("PUT") == SIZE // (1 << 20) + 3, asked
            assert error_of(os.stat, "mnt/d/a") == errno.ENOENT
            assert sorted(os.listdir("mnt/d")) == ["b", "sub"]
            assert read("mnt/d/b") == data(SIZE)
            os.rename("mnt/d/b", "mnt/d/sub/c")
            assert os.listdir("mnt/d") == ["sub"]
            assert read("mnt/d/sub/c") == data(SIZE)
            # The old name is free for another file.
            write("mnt/d/b", b"another")
            assert os.stat("mnt/d/b").st_ino != os.stat("mnt/d/sub/c").st_ino
            subprocess.run(["mv", "mnt/d/sub/c", "mnt/e"], check=True)
            os.rename("mnt/e", "mnt/e")
            assert not [k for k in keys(client) if "/a.b2frame" in k]
            assert download(client, "e.b2frame") == data(SIZE)
            assert "EXDEV" not in mount.log()
        with RemoteMount("s3://bucket"):
            assert sorted(os.listdir("mnt")) == ["d", "e"]
            assert read("mnt/e") == data(SIZE)
            assert read("mnt/d/b") == b"another"
        assert download(client, "e.b2frame") == data(SIZE)


def save_as_editors_do(path, content):
    with open(f"{path}.tmp", "wb") as f:
        f.write(content)
        f.flush()
        os.fsync(f.fileno())
    os.replace(f"{path}.tmp", path)


def test_a_file_is_replaced_under_the_eyes_of_readers():
    versions = [bytes([i]) * (SIZE + i) for i in range(12)]
    done = threading.Event()
    with s3() as (_, client):
        with RemoteMount("s3://bucket", at="mnt"), \
                RemoteMount("s3://bucket", "-o", NOW, at="mnt2"):
            write("mnt/x", versions[0])

            def look(path):
                seen = set()
                while not done.is_set():
                    with open(path, "rb") as f:
                        found = f.read()
                    assert found == versions[found[0]], (path, len(found))
                    seen.add(found[0])
                return seen

            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                looks = [pool.submit(look, p) for p in ("mnt/x", "mnt2/x")]
                try:
                    for version in versions[1:]:
                        save_as_editors_do("mnt/x", version)
                        assert read("mnt/x") == version
                finally:
                    done.set()
                for seen in looks:
                    assert seen.result()
            wait_until(lambda: read("mnt2/x") == versions[-1], "the last one")
            assert os.listdir("mnt") == ["x"]
        assert download(client, "x.b2frame") == versions[-1]


def test_what_is_open_goes_along():
    with s3() as (_, client):
        with RemoteMount("s3://bucket"):
            write("mnt/old", data(SIZE, 1))
            with open("mnt/a", "w+b", buffering=0) as f, \
                    open("mnt/old", "r+b", buffering=0) as old:
                f.write(data(SIZE, 2))
                old.write(b"never there")
                os.rename("mnt/a", "mnt/old")
                # The rename has committed the file.
                assert download(client, "old.b2frame") == data(SIZE, 2)
                f.seek(5)
                f.write(b"behind")
                os.fsync(f.fileno())
                expected = data(SIZE, 2)[:5] + b"behind" + data(SIZE, 2)[11:]
                assert download(client, "old.b2frame") == expected
                assert read("mnt/old") == expected
                assert os.pread(f.fileno(), SIZE, 0) == expected
                assert os.fstat(f.fileno()).st_nlink == 1
                # A reader of the replaced file goes on, and then the file is removed.
                assert os.pread(old.fileno(), 100, SIZE - 100) == \
                    data(SIZE, 1)[-100:]
                assert os.pread(old.fileno(), 11, 0) == b"never there"
                old.write(b"nor this")
                os.fsync(old.fileno())
                assert os.fstat(old.fileno()).st_nlink == 0
                old.close()
                # Again, to a name that was used before.
                os.rename("mnt/old", "mnt/a")
                f.seek(0)
                f.write(b"begin")
                expected = b"begin" + expected[5:]
            assert os.listdir("mnt") == ["a"]
            assert read("mnt/a") == expected
        assert download(client, "a.b2frame") == expected
        assert not [k for k in keys(client) if k.startswith("old.")]


def dropped(fd, n, off):
    """What the daemon answers, not the kernel."""
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    return os.pread(fd, n, off)


def test_who_writes_to_what_is_gone_finds_no_other_file():
    """Nothing was uncommitted when another file got the name."""
    new, text = data(SIZE + 4096, 2), b"to the old one"
    old = text + data(SIZE, 1)[len(text):]
    with s3() as (_, client):
        with RemoteMount("s3://bucket", "-o", NOW):
            for name, begin in (
                    ("renamed", lambda: os.rename("mnt/t", "mnt/renamed")),
                    ("made", lambda: (os.unlink("mnt/made"),
                                      write("mnt/made", new)))):
                path = f"mnt/{name}"
                write("mnt/t", new)
                write(path, data(SIZE, 1))
                with open(path, "r+b", buffering=0) as f:
                    begin()
                    assert f.write(text) == len(text)
                    os.fsync(f.fileno())
                    assert os.fstat(f.fileno()).st_size == SIZE
                    assert dropped(f.fileno(), SIZE, 0) == old
                assert read(path) == new
        assert download(client, "renamed.b2frame") == new
        assert download(client, "made.b2frame") == new


def test_a_name_is_free_although_its_chunks_are_listed():
    """Each lookup and each creation reads a listing of its own."""
    with s3() as (way, _):
        with RemoteMount("s3://bucket", "-o", NOW):
            # The lookup of NAME.npy also looks for an array NAME, which takes time.
            write("mnt/x", b"no array")
            write("mnt/x.npy", data(SIZE, 1))
            way.delay = 0.01
            with open("mnt/x.npy", "rb"):
                os.unlink("mnt/x.npy")
                write("mnt/x.npy", data(SIZE, 2))
                assert read("mnt/x.npy") == data(SIZE, 2)
                os.unlink("mnt/x.npy")
                os.mkdir("mnt/x.npy")
                assert os.listdir("mnt/x.npy") == []


def test_what_is_replaced_while_it_is_open_stays():
    """Longer than other clients need it, and beside any file of its name."""
    with s3() as (_, client):
        with RemoteMount("s3://bucket/d"):
            write("mnt/x", data(SIZE, 1))
            with open("mnt/x", "rb", buffering=0) as old:
                for i in 2, 3:
                    save_as_editors_do("mnt/x", data(SIZE, i))
                    let_a_minute_pass(client, "x.b2frame")
                    with RemoteMount("s3://bucket/d", at="mnt2"):
                        assert read("mnt2/x") == data(SIZE, i)
                os.rename("mnt/x", "mnt/y")
                os.unlink("mnt/y")
                assert dropped(old.fileno(), SIZE, 0) == data(SIZE, 1)
        assert not keys(client)


def test_chunks_that_are_left_are_no_name():
    """Neither of removed files nor of replaced ones, however often it is listed."""
    with s3() as (_, client):
        with RemoteMount("s3://bucket", "-o", f"{NOW},dirtysize=1m"), \
                RemoteMount("s3://bucket", "-o", NOW, at="mnt2"):
            os.mkdir("mnt/d")
            for path in "mnt/x", "mnt/y", "mnt/d/z":
                write(path, data(SIZE, 1))
            with open("mnt/x", "rb"), open("mnt/y", "rb"), open("mnt/d/z", "rb"), \
                    open("mnt/new", "wb") as new:
                new.write(data(SIZE, 2))
                os.rename("mnt/x", "mnt/y")
                os.rename("mnt/y", "mnt/a")
                os.unlink("mnt/new")
                os.unlink("mnt/d/z")
                for _ in range(3):
                    assert sorted(os.listdir("mnt")) == ["a", "d"]
                    assert not os.listdir("mnt/d")
                assert error_of(os.rmdir, "mnt/d") == errno.ENOTEMPTY
                # Another client may use the name.
                write("mnt2/y", b"another")
                assert sorted(os.listdir("mnt")) == ["a", "d", "y"]
                assert read("mnt/y") == b"another"
            assert sorted(os.listdir("mnt")) == ["a", "d", "y"]
        assert not [k for k in keys(client) if k.startswith(("x.", "new."))]


def test_what_is_opened_while_it_is_replaced_stays():
    held, go = threading.Event(), threading.Event()

    def stall_copies(request):
        if any(k.lower() == "x-amz-copy-source" for k in request.headers):
            held.set()
            go.wait(60)

    with s3() as (way, client):
        with RemoteMount("s3://bucket/d"):
            write("mnt/x", data(SIZE, 1))
            write("mnt/y", data(SIZE, 2))
            way.fault = stall_copies
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                rename = pool.submit(os.rename, "mnt/y", "mnt/x")
                try:
                    assert held.wait(60)
                    old = open("mnt/x", "rb", buffering=0)
                finally:
                    go.set()
                rename.result()
            with old:
                let_a_minute_pass(client, "x.b2frame")
                with RemoteMount("s3://bucket/d", at="mnt2"):
                    assert read("mnt2/x") == data(SIZE, 2)
                assert dropped(old.fileno(), SIZE, 0) == data(SIZE, 1)
            assert read("mnt/x") == data(SIZE, 2)
        assert not [k for k in keys(client) if "/y." in k]


def test_arrays_are_saved_over():
    with s3() as (_, client):
        with RemoteMount("s3://bucket"):
            # NumPy in this process would keep the proxy's thread from answering it.
            subprocess.run([sys.executable, "-c", """
import os
import numpy as np
for i in range(3):
    array = np.arange(200000, dtype="i4").reshape(200, 1000) + i
    with open("mnt/tmp.npy", "wb") as f:
        np.save(f, array)
    os.replace("mnt/tmp.npy", "mnt/a.npy")
    assert np.array_equal(np.load("mnt/a.npy"), array)
"""], check=True, timeout=100)
            assert os.listdir("mnt") == ["a.npy"]
        array = np.arange(200000, dtype="i4").reshape(200, 1000) + 2
        assert np.array_equal(download(client, "a.npy.b2nd"), array)


def test_what_cannot_be_says_so():
    with s3() as (_, client):
        client.put("bucket/plain", b"plain bytes")
        with RemoteMount("s3://bucket"):
            os.makedirs("mnt/dir/sub")
            write("mnt/x", b"x")
            write("mnt/y", b"y")
            for call, code in (
                    (lambda: rename2("x", "y", NOREPLACE), errno.EEXIST),
                    (lambda: rename2("x", "y", EXCHANGE), errno.EINVAL),
                    (lambda: os.rename("mnt/x", "mnt/dir"), errno.EISDIR),
                    (lambda: os.rename("mnt/dir", "mnt/x"), errno.ENOTDIR),
                    (lambda: os.rename("mnt/dir", "mnt/d2"), errno.EXDEV),
                    (lambda: os.rename("mnt/plain", "mnt/p"), errno.EXDEV),
                    (lambda: os.rename("mnt/x", "mnt/plain"), errno.EXDEV),
                    (lambda: os.rename("mnt/x", "mnt/no/x"), errno.ENOENT),
                    (lambda: os.rename("mnt/no", "mnt/x"), errno.ENOENT)):
                assert error_of(call) == code, code
            assert (read("mnt/x"), read("mnt/y")) == (b"x", b"y")
            rename2("x", "z", NOREPLACE)
            assert read("mnt/z") == b"x"
            # mv copies what cannot be renamed.
            subprocess.run(["mv", "mnt/dir", "mnt/plain", "mnt/z", "mnt/y"],
                           check=False, stderr=subprocess.DEVNULL)
            subprocess.run(["mv", "mnt/plain", "mnt/y"], check=True)
            subprocess.run(["mv", "mnt/dir", "mnt/d2"], check=True)
            assert sorted(os.listdir("mnt")) == ["d2", "y", "z"]
            assert read("mnt/y") == b"plain bytes"


def test_two_mounts_rename_one_name():
    with s3() as (_, client):
        with RemoteMount("s3://bucket", "-o", NOW, at="mnt"), \
                RemoteMount("s3://bucket", "-o", NOW, at="mnt2"):
            write("mnt/x", b"first")
            assert read("mnt2/x") == b"first"
            for i in range(5):
                save_as_editors_do("mnt/x", b"one %d" % i)
                assert read("mnt2/x") == b"one %d" % i
                save_as_editors_do("mnt2/x", b"other %d" % i)
                assert read("mnt/x") == b"other %d" % i
            # A rename includes changes of the other client.
            write("mnt2/x", b"changed")
            os.rename("mnt/x", "mnt/y")
            assert read("mnt2/y") == b"changed"
            assert error_of(os.stat, "mnt2/x") == errno.ENOENT
        assert download(client, "y.b2frame") == b"changed"


def test_frames_of_others_are_renamed():
    """Chunks of stock have no checksums, and keep their ids."""
    with s3() as (_, client):
        put_frame(client, "x.b2frame", data(SIZE, 5))
        put_frame(client, "y.b2frame", data(SIZE, 6))
        with RemoteMount("s3://bucket"):
            os.rename("mnt/x", "mnt/z")
            assert read("mnt/z") == data(SIZE, 5)
            assert download(client, "z.b2frame") == data(SIZE, 5)
            # The chunks would replace chunks of the other frame.
            assert error_of(os.rename, "mnt/z", "mnt/y") == errno.EXDEV
            assert read("mnt/y") == data(SIZE, 6)
            subprocess.run(["mv", "mnt/z", "mnt/y"], check=True)
            assert os.listdir("mnt") == ["y"]
            assert read("mnt/y") == data(SIZE, 5)
        assert download(client, "y.b2frame") == data(SIZE, 5)


def test_a_rename_that_fails_leaves_both_names():
    with s3() as (way, client):
        with RemoteMount("s3://bucket"):
            write("mnt/x", data(SIZE, 1))
            write("mnt/y", data(SIZE, 2))
            way.fault = lambda r: status(503) if r.method == "PUT" else None
            assert error_of(os.rename, "mnt/x", "mnt/y") in (errno.EIO,
                                                             errno.ETIMEDOUT)
            way.fault = None
            assert read("mnt/x") == data(SIZE, 1)
            assert read("mnt/y") == data(SIZE, 2)
            # The answer is lost, but the request is done.
            way.fault = lambda r: lose if r.method == "PUT" and \
                r.path.endswith("chunks.b2frame") else None
            os.rename("mnt/x", "mnt/y")
            way.fault = None
            assert read("mnt/y") == data(SIZE, 1)
            assert os.listdir("mnt") == ["y"]
        assert download(client, "y.b2frame") == data(SIZE, 1)


def test_a_name_is_used_again_while_its_first_file_is_open():
    # Enough chunks that some of the last file would have ids of the first one.
    size = 400 << 12
    with s3() as (_, client):
        with RemoteMount("s3://bucket", "-o", "chunksize=4k"):
            write("mnt/x", data(size, 1))
            with open("mnt/x", "rb", buffering=0):
                os.unlink("mnt/x")
                write("mnt/x", data(size, 2))
                os.unlink("mnt/x")
                write("mnt/x", data(size, 3))
            # Not at the end of the mount, which does not wait long for a server.
            wait_until(lambda: len(keys(client)) == 401, "its chunks go")
        assert download(client, "x.b2frame") == data(size, 3)


def test_what_is_not_replaced_in_the_end_loses_nothing():
    held, go = threading.Event(), threading.Event()

    def refuse_copies(request):
        if not any(k.lower() == "x-amz-copy-source" for k in request.headers):
            return None
        held.set()
        go.wait(60)
        return status(403)

    with s3() as (way, client):
        with RemoteMount("s3://bucket"):
            write("mnt/x", data(SIZE, 1))
            write("mnt/y", data(SIZE, 2))
            y = open("mnt/y", "r+b", buffering=0)
            y.write(b"new")
            way.fault = refuse_copies
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                rename = pool.submit(error_of, os.rename, "mnt/x", "mnt/y")
                try:
                    assert held.wait(60)
                    close = pool.submit(y.close)
                    # The close waits for the rename.
                    concurrent.futures.wait([close], 0.3)
                finally:
                    go.set()
                assert rename.result() == errno.EACCES
                close.result()
            way.fault = None
            expected = b"new" + data(SIZE, 2)[3:]
            assert read("mnt/y") == expected
            assert download(client, "y.b2frame") == expected
            assert download(client, "x.b2frame") == data(SIZE, 1)


s3_server.require()
main()
