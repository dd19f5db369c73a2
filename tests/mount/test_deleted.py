#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files that are deleted, or replaced, while they are open."""
import errno
import mmap
import os
import pathlib
import shutil
import subprocess

from mounting import Mount, data, error_of, main, make, wait_until
from scratch import SPARSE

HIDDEN = ".bloscfs-deleted"


def frames_left(top):
    """Indexes anywhere below @top."""
    return [f"{folder}/chunks.b2frame" for folder, _, files in os.walk(top)
            if "chunks.b2frame" in files]


def wait_for_none(top="src"):
    """The program that closes does not wait for the last close."""
    wait_until(lambda: not frames_left(top), "deleted frames to go")


def test_a_deleted_file_can_be_used():
    os.mkdir("src")
    raw = bytearray(make("src/a.b2frame", None))
    with Mount("src", "mnt", "-o", SPARSE):
        f = open("mnt/a", "r+b", buffering=0)
        ino = os.fstat(f.fileno()).st_ino
        mapped = mmap.mmap(f.fileno(), 0)
        os.unlink("mnt/a")
        assert os.listdir("mnt") == []
        assert error_of(os.stat, "mnt/a") == errno.ENOENT
        st = os.fstat(f.fileno())
        assert (st.st_nlink, st.st_ino, st.st_size) == (0, ino, len(raw))
        assert f.read() == raw
        f.seek(1000)
        f.write(b"written")
        raw[1000:1007] = b"written"
        mapped[2000:2006] = b"mapped"
        raw[2000:2006] = b"mapped"
        mapped.flush()
        os.fsync(f.fileno())
        os.fchmod(f.fileno(), 0o640)
        f.seek(0)
        assert f.read() == raw
        # Another one of that name is another one.
        pathlib.Path("mnt/a").write_bytes(b"new")
        again = open(f"/proc/self/fd/{f.fileno()}", "rb")
        assert again.read() == raw
        f.truncate(10)
        assert os.fstat(again.fileno()).st_size == 10
        assert len(frames_left("src")) == 2
        mapped.close()
        f.close()
        assert os.pread(again.fileno(), 100, 0) == raw[:10]
        again.close()
        wait_until(lambda: frames_left("src") ==
                   ["src/a.b2frame/chunks.b2frame"], "the old one to go")
        assert pathlib.Path("mnt/a").read_bytes() == b"new"
        os.unlink("mnt/a")
        wait_for_none()
    assert os.listdir("src") == []


def test_a_replaced_file_can_be_used():
    os.mkdir("src")
    raws = [make(f"src/{n}.b2frame", None, seed=n, nbytes=300000 + n)
            for n in range(4)]
    with Mount("src", "mnt"):
        files = [open(f"mnt/{n}", "rb", buffering=0) for n in range(4)]
        for n in 1, 2, 3:
            os.rename(f"mnt/{n}", "mnt/0")
        assert os.listdir("mnt") == ["0"]
        for f, raw in zip(files, raws):
            assert f.read() == raw
            assert os.fstat(f.fileno()).st_nlink == (raw is raws[3])
            f.close()
        wait_until(lambda: len(frames_left("src")) == 1, "the others to go")
        assert pathlib.Path("mnt/0").read_bytes() == raws[3]


def test_what_is_not_open_goes_at_once():
    os.mkdir("src")
    with Mount("src", "mnt"):
        for n in range(20):
            pathlib.Path(f"mnt/{n}").write_bytes(data(100000))
            os.unlink(f"mnt/{n}")
            wait_for_none()
        # What was written and never stored goes too.
        fds = [os.open(f"mnt/{n}", os.O_CREAT | os.O_RDWR) for n in range(9)]
        for fd in fds:
            os.write(fd, data(100000))
        for n, fd in enumerate(fds):
            os.unlink(f"mnt/{n}")
            os.close(fd)
        wait_for_none()
    assert os.listdir("src") == []


def test_no_program_sees_the_hidden_directory():
    os.mkdir("src")
    make("src/a.b2frame", None, nbytes=1000)
    with Mount("src", "mnt"), open("mnt/a", "rb") as f:
        os.unlink("mnt/a")
        assert os.listdir("src") == [HIDDEN]
        assert os.stat(f"src/{HIDDEN}").st_mode & 0o777 == 0o700
        assert os.listdir("mnt") == []
        for name in HIDDEN, f"{HIDDEN}-1":
            path = f"mnt/{name}"
            assert error_of(os.stat, path) == errno.ENOENT
            assert error_of(os.mkdir, path) == errno.EPERM
            assert error_of(os.symlink, "x", path) == errno.EPERM
            assert error_of(os.open, path, os.O_CREAT) == errno.EPERM
            assert error_of(os.rmdir, path) == errno.ENOENT
        os.mkdir("mnt/d")
        assert error_of(os.rename, "mnt/d", f"mnt/{HIDDEN}") == errno.EPERM
        os.rmdir("mnt/d")
        assert len(f.read()) == 1000
    assert os.listdir("src") == []


def crash(mount):
    mount.process.kill()
    mount.process.wait()
    subprocess.run(["umount", "-l", mount.path], check=True)


def leave_behind(names):
    """Frames that are deleted, and open when the daemon is killed."""
    mount = Mount("src", "mnt")
    mount.__enter__()
    for name in names:
        pathlib.Path(f"mnt/{name}").write_bytes(data(300000))
    fds = [os.open(f"mnt/{name}", os.O_RDWR) for name in names]
    for name in names:
        os.unlink(f"mnt/{name}")
    crash(mount)
    for fd in fds:
        error_of(os.close, fd)
    assert len(frames_left("src")) == len(names)


def test_what_a_crash_left_goes_at_the_next_mount():
    os.mkdir("src")
    leave_behind("ab")
    # One whose deletion was interrupted.
    name = frames_left("src")[0]
    os.unlink(name)
    with Mount("src", "mnt", "-o", "ro"):
        assert os.listdir("mnt") == []
        assert os.listdir("src") == [HIDDEN]
    with Mount("src", "mnt"):
        assert os.listdir("src") == []


def test_what_others_planted_is_left_alone():
    """The owner of SOURCE must not reach files of who mounts it."""
    os.mkdir("victim")
    os.mkdir("victim/folder")
    pathlib.Path("victim/file").touch()
    pathlib.Path("victim/folder/.b2lock").touch()
    os.makedirs(f"src/{HIDDEN}/1-0000000a")
    for where in f"src/{HIDDEN}/1-0000000a/", f"src/{HIDDEN}/", "src/d/":
        os.makedirs(where, exist_ok=True)
        for name in "file", "folder":
            planted = f"{where}{HIDDEN}-1-0000000b-{name}"
            os.symlink(f"{os.getcwd()}/victim/{name}", planted)
    make(f"src/{HIDDEN}/1-0000000a/1", None, nbytes=1000)
    for path, _, names in os.walk("src"):
        for name in (".", *names):
            os.chown(f"{path}/{name}", 1001, 1001, follow_symlinks=False)
    os.chmod("victim/file", 0o644)
    os.chmod("victim/folder", 0o755)
    with Mount("src", "mnt"):
        pathlib.Path("mnt/a").write_bytes(b"x")
        with open("mnt/a", "rb") as f:
            # That directory is not ours: it is hidden where it was.
            os.unlink("mnt/a")
            assert f.read() == b"x"
            assert os.listdir(f"src/{HIDDEN}/1-0000000a").count("1") == 1
            assert not any(n.startswith("a") for n in os.listdir("src"))
        assert os.listdir("mnt/d") == []
    assert os.stat("victim/file").st_mode & 0o777 == 0o644
    assert os.stat("victim/folder").st_mode & 0o777 == 0o755
    assert os.listdir("victim/folder") == [".b2lock"]
    assert frames_left("src") == [f"src/{HIDDEN}/1-0000000a/1/chunks.b2frame"]


def test_another_mount_leaves_it_alone():
    os.mkdir("src")
    raw = make("src/a.b2frame", None)
    with Mount("src", "mnt"):
        with open("mnt/a", "rb", buffering=0) as f:
            os.unlink("mnt/a")
            with Mount("src", "other"):
                assert os.listdir("other") == []
                pathlib.Path("other/b").write_bytes(b"x")
                os.unlink("other/b")
            assert f.read() == raw
        wait_for_none()
    assert os.listdir("src") == []


def test_on_another_filesystem():
    """It is hidden in its own folder, and moves up when that goes."""
    os.makedirs("src/inside")
    subprocess.run(["mount", "-t", "tmpfs", "none", "src/inside"], check=True)
    try:
        os.mkdir("src/inside/d")
        with Mount("src", "mnt"):
            pathlib.Path("mnt/inside/d/a").write_bytes(data(300000))
            with open("mnt/inside/d/a", "rb") as f:
                os.unlink("mnt/inside/d/a")
                assert os.listdir("mnt/inside/d") == []
                os.rmdir("mnt/inside/d")
                assert f.read() == data(300000)
            wait_for_none()
            wait_until(lambda: not os.listdir("src/inside"), "the end")
            # The kernel tells only afterwards that it is used no more.
            for _ in range(20):
                os.makedirs("mnt/inside/d/e")
                for name in "d/a", "d/b", "d/e/c":
                    pathlib.Path("mnt/inside", name).write_bytes(data(100000))
                shutil.rmtree("mnt/inside/d")
                os.makedirs("mnt/inside/new")
                os.makedirs("mnt/inside/old")
                with open("mnt/inside/old/a", "wb") as f:
                    f.write(data(100000))
                    f.flush()
                    os.unlink("mnt/inside/old/a")
                    os.rename("mnt/inside/new", "mnt/inside/old")
                os.rmdir("mnt/inside/old")
        assert os.listdir("src/inside") == []
        with Mount("src", "mnt"):
            assert os.listdir("mnt/inside") == []
        os.mkdir("src/inside/d")
        leave_behind(["inside/d/a", "inside/d/b"])
        with Mount("src", "mnt"):
            assert os.listdir("mnt/inside/d") == []
            os.rmdir("mnt/inside/d")
        assert os.listdir("src/inside") == []
    finally:
        subprocess.run(["umount", "src/inside"], check=True)


def test_files_of_others_are_kept():
    """What a user has put into the directory of a frame is not ours."""
    os.mkdir("src")
    for name in "ab":
        make(f"src/{name}.b2frame", None)
        pathlib.Path(f"src/{name}.b2frame/notes.txt").write_text(name)
    with Mount("src", "mnt", "-o", SPARSE) as m:
        os.unlink("mnt/a")
        m.wait_for_log("do not belong")
        assert os.listdir("mnt/a.b2frame") == ["notes.txt"]
        # Its place is taken: they stay where the frame was hidden.
        with open("mnt/b", "rb"):
            os.unlink("mnt/b")
            pathlib.Path("mnt/b").touch()
        wait_until(lambda: len(frames_left("src")) == 1, "b to go")
        m.wait_for_log(HIDDEN)
    for _ in range(2):
        kept = pathlib.Path("src").rglob("*.txt")
        assert sorted(p.read_text() for p in kept) == ["a", "b"]
        with Mount("src", "mnt"):
            assert sorted(os.listdir("mnt")) == ["a.b2frame", "b"]


def test_on_a_full_disk():
    os.mkdir("src")
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,nr_inodes=40",
                    "none", "src"], check=True)
    try:
        with Mount("src", "mnt"):
            n = 0
            while not error_of(pathlib.Path(f"mnt/{n}").touch):
                n += 1
            assert n > 5
            with open("mnt/0", "rb") as f:
                # No inode is left for a folder to hide it in.
                os.unlink("mnt/0")
                assert f.read() == b""
            for i in range(1, n):
                os.unlink(f"mnt/{i}")
            wait_for_none()
            assert os.listdir("mnt") == []
    finally:
        subprocess.run(["umount", "src"], check=True)


main()
