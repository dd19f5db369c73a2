#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Damage is EIO with a reason in the log; it never spreads, and never hangs."""
import errno
import os
import pathlib
import shutil
import subprocess

import blosc2
import numpy as np

from mounting import Mount, error_of, failing, main, make
from bloscctl import ctl
from scratch import SPARSE

CHUNK = 1 << 18


def chunk_file(frame, n=2):
    return sorted(pathlib.Path(frame).glob("*.chunk"))[n]


def cut(path, size):
    os.truncate(path, size)


def flip(path, at):
    content = bytearray(pathlib.Path(path).read_bytes())
    content[at] ^= 0xff
    pathlib.Path(path).write_bytes(content)


def replace(path, make_other):
    os.unlink(path)
    make_other(path)


INDEX_DAMAGE = {
    "empty": lambda i: cut(i, 0),
    "short": lambda i: cut(i, 30),
    "cut": lambda i: cut(i, os.path.getsize(i) - 10),
    "magic": lambda i: flip(i, 3),
    "folder": lambda i: replace(i, os.mkdir),
    "fifo": lambda i: replace(i, os.mkfifo),
    "link": lambda i: replace(i, lambda p: os.symlink("/etc/passwd", p)),
    "dangling": lambda i: replace(i, lambda p: os.symlink("nowhere", p)),
    "noise": lambda i: pathlib.Path(i).write_bytes(os.urandom(5000)),
}

CHUNK_DAMAGE = {
    "missing": os.unlink,
    "empty": lambda c: cut(c, 0),
    "short": lambda c: cut(c, 20),
    "cut": lambda c: cut(c, os.path.getsize(c) // 2),
    "folder": lambda c: replace(c, os.mkdir),
    "fifo": lambda c: replace(c, os.mkfifo),
    "link": lambda c: replace(c, lambda p: os.symlink("/etc/passwd", p)),
    "noise": lambda c: pathlib.Path(c).write_bytes(os.urandom(5000)),
}


def read(path):
    with open(path, "rb") as f:
        return f.read()


def test_damaged_indexes():
    os.mkdir("src")
    good = make("src/good.b2frame", None)
    for name, damage in INDEX_DAMAGE.items():
        shutil.copytree("src/good.b2frame", f"src/x-{name}.b2frame")
        damage(f"src/x-{name}.b2frame/chunks.b2frame")
    with Mount("src", "mnt") as m:
        want = sorted(["good", *(f"x-{name}" for name in INDEX_DAMAGE)])
        assert sorted(os.listdir("mnt")) == want, os.listdir("mnt")
        for name in INDEX_DAMAGE:
            path = f"mnt/x-{name}"
            st = os.stat(path)
            assert (st.st_mode & 0o170000) == 0o100000, path
            if name != "cut":
                assert st.st_size == 0, (path, st)
            got = error_of(read, path)
            assert got == errno.EIO, (path, got)
            m.wait_for_log(f"src/x-{name}.b2frame")
        assert read("mnt/good") == good


def test_a_damaged_header_of_ours_is_no_other_version():
    os.mkdir("src")
    with Mount("src", "mnt", "-o", SPARSE):
        pathlib.Path("mnt/a").write_bytes(b"written here")
    # A wrong magic, version, type or codec gives EIO, or the right bytes.
    for at in 2, 6, 25, 26, 27:
        shutil.copytree("src/a.b2frame", f"src/x{at}.b2frame")
        flip(f"src/x{at}.b2frame/chunks.b2frame", at)
    with Mount("src", "mnt"):
        for at in 2, 6, 25, 26, 27:
            assert error_of(read, f"mnt/x{at}") == errno.EIO, at


def test_damaged_metalayers():
    """An array whose metalayer has lost its name is no plain frame."""
    os.mkdir("src")
    a = np.arange(3700, dtype="<i4").reshape(100, 37)
    with Mount("src", "mnt", "-o", SPARSE):
        np.save("mnt/s.npy", a)
    with Mount("src", "mnt"):
        np.save("mnt/c.npy", a)
    blosc2.asarray(a, urlpath="src/b.b2nd", contiguous=False, chunks=(30, 10))
    blosc2.asarray(a, urlpath="src/d.b2nd", chunks=(30, 10))
    ctl("seal", "src/b.b2nd", "src/d.b2nd")
    names = {"s.npy": "s.npy.b2nd/chunks.b2frame", "c.npy": "c.npy.b2nd",
             "b": "b.b2nd/chunks.b2frame", "d": "d.b2nd"}
    with Mount("src", "mnt"):
        for name in *names, "b.npy", "d.npy":
            read(f"mnt/{name}")
    for index in names.values():
        raw = pathlib.Path("src", index).read_bytes()
        assert raw.count(b"\xa4b2nd\xd2") == 1, index
        pathlib.Path("src", index).write_bytes(
            raw.replace(b"\xa4b2nd\xd2", b"\xa4b2ne\xd2"))
    with Mount("src", "mnt") as m:
        assert sorted(os.listdir("mnt")) == sorted(names)
        for name in names:
            assert os.stat(f"mnt/{name}").st_size == 0, name
            assert error_of(read, f"mnt/{name}") == errno.EIO, name
        for name in "b.npy", "d.npy":
            assert error_of(read, f"mnt/{name}") == errno.ENOENT, name
        m.wait_for_log("the metalayers do not agree")


def test_damaged_contiguous_frames():
    os.mkdir("src")
    good = make("src/good.b2", None, kind="contiguous")
    size = os.path.getsize("src/good.b2")
    for n in 12, 40, 90, size // 2, size - 1:
        shutil.copy("src/good.b2", f"src/x{n}.b2")
        cut(f"src/x{n}.b2", n)
    pathlib.Path("src/no.b2").write_bytes(b"no frame at all")
    pathlib.Path("src/nothing.b2").touch()
    with Mount("src", "mnt") as m:
        for n in 12, 40, 90, size // 2, size - 1:
            got = error_of(read, f"mnt/x{n}")
            assert got == errno.EIO, (n, got)
            m.wait_for_log(f"src/x{n}.b2")
        assert read("mnt/no.b2") == b"no frame at all"
        assert read("mnt/nothing.b2") == b""
        assert read("mnt/good") == good


def test_damaged_chunks():
    os.mkdir("src")
    good = make("src/good.b2frame", None)
    for name, damage in CHUNK_DAMAGE.items():
        shutil.copytree("src/good.b2frame", f"src/x-{name}.b2frame")
        damage(chunk_file(f"src/x-{name}.b2frame"))
    with Mount("src", "mnt", "-o", "readahead=0") as m:
        for name in CHUNK_DAMAGE:
            fd = os.open(f"mnt/x-{name}", os.O_RDONLY)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
            # Before and behind the damage everything can be read.
            assert os.pread(fd, CHUNK, CHUNK) == good[CHUNK:2 * CHUNK], name
            assert os.pread(fd, 999, 3 * CHUNK) == good[3 * CHUNK:][:999], name
            for _ in range(2):
                got = error_of(os.pread, fd, CHUNK, 2 * CHUNK)
                # Noise may look like a chunk of a later version.
                assert got == errno.EIO or name == "noise" and \
                    got == errno.EOPNOTSUPP, (name, got)
            # The size stays, and the rest can be read.
            assert os.fstat(fd).st_size == len(good)
            assert os.pread(fd, 5, len(good) - 5) == good[-5:]
            os.close(fd)
            m.wait_for_log(f"src/x-{name}.b2frame: chunk 2 "
                           f"({chunk_file('src/good.b2frame').name})")
            assert error_of(read, f"mnt/x-{name}") == got
        assert read("mnt/good") == good
        # Once it is repaired, it can be read at once.
        shutil.copy(chunk_file("src/good.b2frame"),
                    "src/x-missing.b2frame/" +
                    chunk_file("src/good.b2frame").name)
        assert read("mnt/x-missing") == good


def test_a_reader_cannot_fill_the_log():
    """Messages that repeat in turn are left out, and counted."""
    os.mkdir("src")
    for name in "a", "b":
        make(f"src/{name}.b2frame", None)
        os.unlink(chunk_file(f"src/{name}.b2frame"))
    with Mount("src", "mnt") as m, open("mnt/a", "rb") as a, \
            open("mnt/b", "rb") as b:
        for f in [a, b] * 600:
            assert error_of(os.pread, f.fileno(), 1, 2 * CHUNK) == errno.EIO
        m.wait_for_log("messages were left out: there were too many")
        log = m.log()
    assert 300 <= log.count(": chunk 2 (") < 500, log


def test_damage_met_ahead_of_the_reader():
    os.mkdir("src")
    good = make("src/good.b2frame", None, nbytes=CHUNK * 40)
    shutil.copytree("src/good.b2frame", "src/x.b2frame")
    os.unlink(chunk_file("src/x.b2frame", 20))
    with Mount("src", "mnt"):
        with open("mnt/x", "rb", buffering=0) as f:
            got = b""
            try:
                while True:
                    got += f.read(65536)
            except OSError as e:
                assert e.errno == errno.EIO
        assert len(got) >= 18 * CHUNK and good.startswith(got)
        out = subprocess.run(["cp", "mnt/x", "copy"], capture_output=True,
                             timeout=30)
        assert out.returncode == 1 and b"Input/output error" in out.stderr


def test_what_may_not_be_read():
    """The daemon is root without CAP_DAC_OVERRIDE."""
    os.mkdir("src")
    good = make("src/good.b2frame", None)
    for name in "index", "chunk", "closed":
        shutil.copytree("src/good.b2frame", f"src/{name}.b2frame")
    make("src/flat.b2", None, kind="contiguous")
    os.chmod("src/index.b2frame/chunks.b2frame", 0)
    os.chmod(chunk_file("src/chunk.b2frame"), 0)
    os.chmod("src/closed.b2frame", 0)
    os.chmod("src/flat.b2", 0)
    drop = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    with Mount("src", "mnt", wrap=drop) as m:
        # An unreadable entry is a frame if its name says so.
        assert sorted(os.listdir("mnt")) == [
            "chunk", "closed", "flat", "good", "index"]
        for name in "index", "chunk", "closed", "flat":
            assert error_of(read, f"mnt/{name}") == errno.EACCES, name
        m.wait_for_log("src/chunk.b2frame: chunk 2 (")
        m.wait_for_log("src/index.b2frame")
        assert read("mnt/good") == good


def test_what_the_disk_does_not_give_is_not_empty():
    """Errors that pass change no name and no size, and are not answered with 0 bytes."""
    os.mkdir("src")
    want = {"sparse": make("src/sparse.b2frame", None),
            "flat": make("src/flat.b2", None, kind="contiguous"),
            "array": np.arange(30000).tobytes()}
    blosc2.asarray(np.arange(30000), urlpath="src/array.b2nd")
    with Mount("src", "mnt", "-o", "rw") as m:
        with failing(m, "pread64:error=EIO"):
            assert sorted(os.listdir("mnt")) == sorted(want)
            for name in want:
                assert error_of(os.stat, f"mnt/{name}") == errno.EIO, name
                assert error_of(os.open, f"mnt/{name}",
                                os.O_RDWR | os.O_CREAT) == errno.EIO
        for name, content in want.items():
            assert read(f"mnt/{name}") == content, name
    assert sorted(os.listdir("src")) == ["array.b2nd", "flat.b2", "sparse.b2frame"]


def test_a_second_look_that_fails_changes_no_name():
    """A lost frame is known by a second look at its bytes."""
    os.mkdir("src")
    pathlib.Path("src/lost.b2frame").write_bytes(bytes(600))
    with Mount("src", "mnt") as m:
        for when in 1, 2, 3:
            with failing(m, f"pread64:error=EIO:when={when}"):
                assert os.listdir("mnt") == ["lost"], when


main()
