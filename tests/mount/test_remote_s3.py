#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A prefix of an object store is mounted as a directory, read-only."""
import concurrent.futures
import errno
import os
import pathlib
import random
import signal
import subprocess
import sys

import blosc2
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import remote_faults
import s3_server
from fake_s3 import FakeS3, Object
from mounting import Mount, data, error_of, main, wait_until
from proxy import drop, silent, status
from remote import (ARRAY, RemoteMount, count, read, refused, s3, save,
                    save_array)

SIZE = 1000000


def fill(client):
    """Frames of all kinds, and other objects."""
    save(data(SIZE), "x.b2frame")
    save(data(SIZE, 1), "y.b2f", contiguous=True)
    save_array("array.b2nd")
    save_array("sparse.b2nd", contiguous=False)
    client.put_tree("x.b2frame", "bucket/d/x.b2frame")
    client.put_tree("y.b2f", "bucket/d/sub dir/y.b2f")
    client.put_tree("array.b2nd", "bucket/d/array.b2nd")
    client.put_tree("sparse.b2nd", "bucket/d/sub dir/plain name")
    client.put("bucket/d/text", b"plain bytes" * 1000)
    client.put("bucket/d/note.b2", b"called like a frame")
    # Two frames whose names differ in the suffix alone.
    client.put_tree("y.b2f", "bucket/d/both.b2f")
    client.put_tree("y.b2f", "bucket/d/both.b2")


def test_a_prefix_is_a_directory():
    with s3() as (_, client):
        fill(client)
        with RemoteMount("s3://bucket/d", "-o", "ro"):
            assert set(os.listdir("mnt")) == {
                "x", "sub dir", "array", "text", "note", "both.b2f", "both.b2"}
            assert set(os.listdir("mnt/sub dir")) == {"y", "plain name"}
            assert read("mnt/x") == data(SIZE)
            assert read("mnt/sub dir/y") == data(SIZE, 1)
            assert read("mnt/both.b2") == data(SIZE, 1)
            assert read("mnt/text") == b"plain bytes" * 1000
            assert read("mnt/note") == b"called like a frame"
            for path in "mnt/array", "mnt/sub dir/plain name":
                assert read(path) == ARRAY.tobytes()
                assert np.array_equal(np.load(f"{path}.npy", mmap_mode="r"),
                                      ARRAY)
                assert os.getxattr(path, "user.blosc2.shape") == b"[300, 200]"
            # scandir and stat agree.
            for entry in [*os.scandir("mnt"), *os.scandir("mnt/sub dir")]:
                st = os.lstat(entry.path)
                assert entry.inode() == st.st_ino, entry.path
                assert entry.is_dir(follow_symlinks=False) == \
                    os.path.isdir(entry.path), entry.path
                assert st.st_size or os.path.isdir(entry.path)
                assert st.st_mtime > 1e9
            for path in "mnt/none", "mnt/sub dir/none", "mnt/text.npy":
                assert error_of(os.stat, path) == errno.ENOENT
            for call in (lambda: os.mkdir("mnt/new"),
                         lambda: os.unlink("mnt/x"),
                         lambda: os.rename("mnt/x", "mnt/z"),
                         lambda: os.open("mnt/x", os.O_RDWR),
                         lambda: os.truncate("mnt/x", 0)):
                assert error_of(call) == errno.EROFS
        # One frame of it, by its own URL.
        for url, shown in (("x.b2frame", "x"), ("x.b2frame/", "x"),
                           ("sub dir/y.b2f", "y"), ("array.b2nd", "array")):
            with RemoteMount(f"s3://bucket/d/{url}"):
                assert os.listdir("mnt") == [shown], url
                assert read(f"mnt/{shown}")[:100] == \
                    (ARRAY.tobytes() if shown == "array" else
                     data(SIZE, shown == "y"))[:100]


def test_a_prefix_that_is_not_there_yet_is_an_empty_directory():
    os.mkdir("mnt")
    with s3() as (_, client):
        with RemoteMount("S3://bucket/new/one") as mount:
            assert os.listdir("mnt") == []
            assert error_of(os.stat, "mnt/x") == errno.ENOENT
            mount.wait_for_log("S3://bucket/new/one: there are no objects yet")
            with open("mnt/x", "wb") as f:
                f.write(data(SIZE))
            os.mkdir("mnt/d")
            assert sorted(os.listdir("mnt")) == ["d", "x"]
        assert client.names("bucket/new/one/x.b2frame/")
        with RemoteMount("s3://bucket/new/one/") as mount:
            assert read("mnt/x") == data(SIZE)
            assert mount.log().count("yet") == 1
        # An object or a frame in the place of a directory is refused.
        client.put("bucket/object", data(SIZE))
        assert "object: " in refused("s3://bucket/object")[0]


def told(mount):
    return [line.partition("bloscfs: ")[2] for line in mount.log().splitlines()
            if "cannot be shown" in line]


def test_names_that_cannot_be_shown_are_counted():
    os.mkdir("mnt")
    with FakeS3() as server:
        os.environ.update(s3_server.ENV, AWS_ENDPOINT_URL=server.url)
        for key in ("d/good", "d//x", "d/../x", "d/" + "n" * 256, "d/both",
                    "d/both/x", "e/good"):
            server.objects[f"/bucket/{key}"] = Object(b"content", {})
        server.objects["/bucket/d/"] = Object(b"", {})
        with RemoteMount("s3://bucket", "-o", "attr_timeout=0") as mount:
            for _ in range(5):
                assert sorted(os.listdir("mnt/d")) == ["both", "good"]
                assert os.listdir("mnt/e") == ["good"]
            mount.wait_for_log("d: 4 names cannot be shown")
            del server.objects["/bucket/d//x"]
            wait_until(lambda: os.listdir("mnt/d") and len(told(mount)) > 1,
                       "the other listing is told of")
            assert "d: 3 names cannot be shown" in mount.log()
            assert len(told(mount)) == 2, mount.log()


def test_many_names_are_listed():
    with s3() as (way, client):
        for i in range(1100):
            client.put(f"bucket/many/{i:04}", b"%d" % i)
        with RemoteMount("s3://bucket"):
            assert os.listdir("mnt") == ["many"]
            way.take()
            assert sorted(os.listdir("mnt/many")) == \
                [f"{i:04}" for i in range(1100)]
            # The lookup of the directory, and two pages.
            assert count(way)[1] <= 4
            assert read("mnt/many/1099") == b"1099"


def try_read(path):
    """The bytes of one version; None: the file was removed meanwhile."""
    try:
        found = read(path)
    except OSError as e:
        assert e.errno in (errno.ESTALE, errno.EIO), e
        return None
    assert found in (data(SIZE), data(SIZE, 7))
    return found


def rewrite(path, content):
    """Puts @content into new chunk files, and then into the index."""
    with Mount(path, "local"), open("local/x", "r+b") as f:
        f.write(content)


def test_a_new_version_is_seen_and_never_mixed():
    with s3() as (_, client):
        save(data(SIZE), "x.b2frame")
        client.put_tree("x.b2frame", "bucket/x.b2frame")
        with RemoteMount("s3://bucket", "-o",
                         "refresh=1,attr_timeout=0,entry_timeout=0"):
            with open("mnt/x", "rb", buffering=0) as f:
                assert f.read(4096) == data(SIZE)[:4096]
                rewrite("x.b2frame", data(SIZE, 7))
                client.put_tree("x.b2frame", "bucket/x.b2frame")
                wait_until(lambda: try_read("mnt/x") == data(SIZE, 7), "news")
                # The old version is read as far as it is here; then comes an error.
                try:
                    end = os.pread(f.fileno(), 4096, SIZE - 4096)
                except OSError as e:
                    assert e.errno in (errno.ESTALE, errno.EIO), e
                else:
                    assert end == data(SIZE)[-4096:]
            client.delete("bucket/x.b2frame/chunks.b2frame")
            wait_until(lambda: not os.path.isfile("mnt/x"), "it is no frame")


def test_a_listing_may_be_older_than_its_objects():
    """Each lookup finds another version than the listing, and then the same one
    again."""
    with s3() as (_, client):
        save(data(1000), "a.b2f", contiguous=True)
        save(data(2000), "b.b2f", contiguous=True)
        client.put_tree("a.b2f", "bucket/d/a.b2f")
        with RemoteMount("s3://bucket/d", "-o",
                         "attr_timeout=60,entry_timeout=0,refresh=60"):
            assert os.listdir("mnt") == ["a"]
            client.put_tree("b.b2f", "bucket/d/a.b2f")
            for _ in range(3):
                assert os.stat("mnt/a").st_size == 2000
            assert read("mnt/a") == data(2000)


def test_requests_are_few():
    """A million chunks take as many requests as a few: one for the index."""
    size = 64 << 20
    with s3() as (way, client):
        raw = data(size)
        save(raw, "big.b2frame", chunksize=1 << 20)
        client.put_tree("big.b2frame", "bucket/big.b2frame")
        with RemoteMount("s3://bucket/big.b2frame", "-o", "ro"):
            opened = count(way)
            with open("mnt/big", "rb", buffering=0) as f:
                os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
                rng = random.Random(1)
                for _ in range(100):
                    at = rng.randrange(size // 4096) * 4096
                    assert os.pread(f.fileno(), 4096, at) == raw[at:at + 4096]
            nrandom = count(way)
            print(f"requests: open {opened}, 100 random reads {nrandom}")
            assert opened[1] <= 4 and nrandom[1] <= 220, (opened, nrandom)


def start(way, text, *command):
    """Runs @command until it waits for an answer to a request with @text."""
    way.take()
    program = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    wait_until(lambda: any(text in r.path for r in way.requests),
               f"{command} asks")
    return program


def kill(program):
    program.kill()
    program.wait(20)


def test_a_program_that_is_killed_waits_for_no_server():
    os.mkdir("mnt")
    with s3() as (way, client):
        save(data(SIZE), "x.b2frame")
        for name in "x", "y":
            client.put_tree("x.b2frame", f"bucket/d/{name}.b2frame")
        with RemoteMount("s3://bucket", "-o",
                         "retry=180,direct_io,attr_timeout=0"):
            assert read("mnt/d/y") == data(SIZE)
            # The daemon may ask the server again for other names at any time.
            for text, *command in (("prefix=d%2F&", "ls", "mnt/d"),
                                   ("x.b2frame", "cat", "mnt/d/x"),
                                   ("new", "touch", "mnt/d/new")):
                way.fault = lambda r, text=text: \
                    silent if text in f"{r.path}&" else None
                kill(start(way, text.rstrip("&"), *command))
            # Other readers of the same chunk are not held up.
            assert read("mnt/d/y") == data(SIZE)
            way.fault = None
            with open("mnt/d/x", "rb", buffering=0) as f:
                once = iter([silent])
                way.fault = lambda r: \
                    next(once, None) if ".chunk" in r.path else None
                dd = start(way, ".chunk", "dd", "if=mnt/d/x", "bs=4096",
                           "skip=100", "count=1")
                with concurrent.futures.ThreadPoolExecutor(1) as pool:
                    got = pool.submit(os.pread, f.fileno(), 4096, 409600)
                    kill(dd)
                    assert got.result() == data(SIZE)[409600:413696]
            way.fault = None


def test_a_clean_mount_ends_beside_a_silent_server():
    os.mkdir("mnt")
    with s3() as (way, client):
        save(np.random.default_rng(1).bytes(20 * SIZE), "x.b2frame")
        client.put_tree("x.b2frame", "bucket/x.b2frame")
        for end in (lambda m: subprocess.run(["umount", "mnt"], check=True),
                    lambda m: os.kill(m.pid, signal.SIGTERM)):
            with RemoteMount("s3://bucket", "-o", "retry=180") as mount:
                way.take()
                way.fault = lambda r: silent if r.nth > 40 else None
                cat = subprocess.Popen(["cat", "mnt/x"],
                                       stdout=subprocess.DEVNULL)
                wait_until(lambda: len(way.requests) > 45, "it is silent")
                kill(cat)
                # libfuse keeps an interrupt that comes after the answer until
                # the next request; at the end of the mount it would leak.
                for _ in range(40):
                    os.statvfs("mnt")
                end(mount)
                assert mount.process.wait(20) == 0, mount.log()
                mount.ended = True
                way.fault = None


def test_wrong_keys_and_names_are_told_in_one_line():
    os.mkdir("mnt")
    with s3() as (way, client):
        save(data(SIZE), "x.b2frame")
        client.put_tree("x.b2frame", "bucket/x.b2frame")
        for url in ("s3://bucket/none.b2nd", "s3://bucket/none.b2z", "s3://none",
                    "s3://none/x", "s3://bucket/x.b2frame/none.b2frame"):
            line, code = refused(url)
            assert code == 3 and url in line, line
            assert "//none" not in url or "is no such bucket" in line, line
        for change in ({"AWS_SECRET_ACCESS_KEY": "wrongsecret"},
                       {"AWS_ACCESS_KEY_ID": "wrongkey"}):
            line, code = refused("s3://bucket/x.b2frame",
                                 env=dict(os.environ, **change))
            assert code == 3 and "s3://bucket" in line, line
            for secret in (*change.values(), "testsecret", "Signature="):
                assert secret not in line, line
        said = refused("-o", "endpoint=http://127.0.0.1:1", "s3://bucket/x")
        assert said == ("bloscfs: s3://bucket/x: cannot connect to "
                        "127.0.0.1:1: refused", 3), said
        line, code = refused("-o", "profile=nobody", "s3://bucket")
        assert (line, code) == ("bloscfs: profile nobody: there is none", 3)
        with RemoteMount("s3://bucket") as mount:
            # Not in the arguments, the table of mounts, or the log.
            read("mnt/x")
            way.fault = lambda r: status(403)
            assert error_of(os.listdir, "mnt") in (0, errno.EACCES)
            seen = pathlib.Path("/proc/self/mountinfo").read_text() + \
                pathlib.Path(f"/proc/{mount.pid}/cmdline").read_text() + \
                mount.log()
            assert "testsecret" not in seen and "Signature" not in seen
            way.fault = None


def test_python_blosc2_reads_what_was_copied_out():
    with s3() as (_, client):
        fill(client)
        with RemoteMount("s3://bucket/d"):
            subprocess.run(["cp", "mnt/array.npy", "copy.npy"], check=True)
        assert np.array_equal(np.load("copy.npy"), ARRAY)
        pathlib.Path("again.b2nd").write_bytes(
            client.get("bucket/d/array.b2nd"))
        assert np.array_equal(blosc2.open("again.b2nd")[:], ARRAY)


def test_reads_are_right_whatever_fails_on_the_way():
    remote_faults.play(60, seed=1)


def test_faults_that_pass_are_not_seen():
    with s3() as (way, client):
        save(data(SIZE), "x.b2frame")
        client.put_tree("x.b2frame", "bucket/x.b2frame")
        way.take()
        way.fault = lambda r: {2: status(503), 5: drop, 8: status(500)}.get(
            r.nth)
        with RemoteMount("s3://bucket"):
            assert read("mnt/x") == data(SIZE)


s3_server.require()
main()
