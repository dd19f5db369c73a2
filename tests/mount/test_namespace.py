#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Names that come and go, and the names of their frames in SOURCE."""
import errno
import os
import pathlib
import stat
import subprocess

from mounting import (BUILD, Mount, data, error_of, errors_of_making,
                      in_threads, main, make, mountpoints, wait_until)
from scratch import SPARSE, is_frame

INDEX = "chunks.b2frame"


def create(path, mode=0o644):
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode))


def below(top="src"):
    """The names in a directory, except the mount's own directory for deleted files."""
    return sorted(n for n in os.listdir(top) if n != ".bloscfs-deleted")


def test_names_of_new_files():
    """Each file comes back under its name, whatever the order in which they were
    made."""
    os.mkdir("src")
    names = {
        "plain": "plain.b2frame",
        # Becomes an array when data are written.
        "x.npy": "x.npy.b2nd",
        "x.b2nd": "x.b2nd.b2frame",
        "y.b2frame": "y.b2frame.b2frame",
        # y.b2frame would take the name of the one before.
        "y": "y.b2f",
        ".hidden": ".hidden.b2frame",
        ".b2frame": ".b2frame.b2frame",
        "with space": "with space.b2frame",
        "chunks.b2frame": "chunks.b2frame.b2frame",
        # An index of that name would turn its directory into a frame.
        "chunks": "chunks.b2f",
        "ü\n": "ü\n.b2frame",
    }
    with Mount("src", "mnt"):
        for name in names:
            create(f"mnt/{name}")
            assert stat.S_ISREG(os.lstat(f"mnt/{name}").st_mode), name
        assert below("mnt") == sorted(names)
        assert below() == sorted(names.values())
        for name, stored in names.items():
            assert is_frame(pathlib.Path(f"src/{stored}")), name
            assert os.stat(f"mnt/{name}").st_ino == \
                os.stat(f"src/{stored}").st_ino
    with Mount("src", "mnt"):
        assert below("mnt") == sorted(names)
        for name in names:
            os.unlink(f"mnt/{name}")
            assert name not in below("mnt")
        assert below("mnt") == []
    assert os.listdir("src") == []


def test_names_that_are_taken():
    os.mkdir("src")
    make("src/a.b2frame", None, nbytes=1000)
    make("src/two.b2frame", None, nbytes=1000)
    make("src/two.b2", None, nbytes=1000, kind="contiguous")
    pathlib.Path("src/text.b2frame").write_text("text")
    with Mount("src", "mnt"):
        shown = ["a", "text.b2frame", "two.b2", "two.b2frame"]
        assert below("mnt") == shown
        # Shown names are taken, and so are their frames' names.
        assert error_of(create, "mnt/a") == errno.EEXIST
        for name in "a", "a.b2frame":
            for call in os.mkdir, os.mkfifo:
                assert error_of(call, f"mnt/{name}") == errno.EEXIST, name
            assert error_of(os.symlink, "x", f"mnt/{name}") == errno.EEXIST
        # New files neither hide the others, nor change their names.
        create("mnt/two")
        create("mnt/text")
        os.mkdir("mnt/a.b2")
        os.symlink("x", "mnt/two.b2f")
        assert below("mnt") == sorted(
            shown + ["two", "text", "a.b2", "two.b2f"])
        assert "two" in below() and "text.b2f" in below()
        for name in "two", "text":
            assert os.path.getsize(f"mnt/{name}") == 0
        # An existing one is opened, not made anew.
        assert os.path.getsize("mnt/a") == 1000
        with open("mnt/a", "ab"):
            pass
        assert os.path.getsize("mnt/a") == 1000
    with Mount("src", "mnt"):
        assert below("mnt") == sorted(
            shown + ["two", "text", "a.b2", "two.b2f"])


def test_a_name_that_a_frame_is_stored_by_is_free():
    """x is stored as x.b2frame, which nothing is shown as."""
    os.mkdir("src")
    with Mount("src", "mnt"):
        names = ["x", "x.b2frame", "x.b2frame.b2frame", "x.b2"]
        for n, name in enumerate(names):
            create(f"mnt/{name}")
            pathlib.Path(f"mnt/{name}").write_text(name)
            assert below("mnt") == sorted(names[:n + 1])
        stored = below()
    with Mount("src", "mnt", "-o", "attr_timeout=0,entry_timeout=0"):
        for name in names:
            assert pathlib.Path(f"mnt/{name}").read_text() == name
        # No name changes when another one disappears or comes back.
        for name in names:
            os.rename(f"mnt/{name}", "mnt/away")
            assert below("mnt") == sorted({*names, "away"} - {name})
            for other in set(names) - {name}:
                assert pathlib.Path(f"mnt/{other}").read_text() == other
            os.rename("mnt/away", f"mnt/{name}")
            assert pathlib.Path(f"mnt/{name}").read_text() == name
        assert below("mnt") == sorted(names)
        assert len(below()) == len(stored)
        os.rename("mnt/x.b2frame", "mnt/x")
        assert pathlib.Path("mnt/x").read_text() == "x.b2frame"
        for name in "x", "x.b2frame.b2frame", "x.b2":
            os.unlink(f"mnt/{name}")
        assert below("mnt") == []


def test_nothing_but_a_file_is_called_like_an_index():
    os.makedirs("src/d")
    pathlib.Path("src/text").write_text("text")
    with Mount("src", "mnt"):
        for d in "mnt", "mnt/d":
            path = f"{d}/{INDEX}"
            assert error_of(os.mkdir, path) == errno.EPERM
            assert error_of(os.symlink, "x", path) == errno.EPERM
            assert error_of(os.mkfifo, path) == errno.EPERM
            assert error_of(os.rename, "mnt/text", path) == errno.EPERM
            assert error_of(os.link, "mnt/text", path) == errno.EPERM
            create(path)
            create(f"{d}/chunks")
            os.rename(path, f"{d}/away")
            os.rename(f"{d}/chunks", path)
            os.rename(f"{d}/away", f"{d}/chunks")
            assert {"chunks", INDEX} <= set(below(d))
        assert os.path.isdir("mnt/d")


def test_a_directory_does_not_count_frames_as_directories():
    """Link counts of directories: 2 without subdirectories; 1 if they are not counted,
    so that find(1) looks."""
    os.mkdir("src")
    with Mount("src", "mnt", "-o", SPARSE):
        os.mkdir("mnt/d")
        assert os.stat("mnt/d").st_nlink == 2
        for name in "a", "b":
            pathlib.Path(f"mnt/d/{name}").write_bytes(data(300000))
        assert os.path.isdir("src/d/a.b2frame")
        assert os.stat("mnt/d").st_nlink == 1
        os.makedirs("mnt/d/e/f")
        for top, n in ("mnt/d", 1), ("mnt/d/e", 1), ("mnt/d/e/f", 2):
            assert os.stat(top).st_nlink == n, top
        found = subprocess.run(["find", "mnt/d", "-type", "d"], check=True,
                               capture_output=True, text=True).stdout.split()
        assert sorted(found) == ["mnt/d", "mnt/d/e", "mnt/d/e/f"], found


def test_long_names():
    os.mkdir("src")
    long, longer = "n" * 247, "n" * 248
    full = "f" * 255
    pathlib.Path(f"src/{full}").write_text("full")
    with Mount("src", "mnt"):
        assert os.statvfs("mnt").f_namemax == 247
        assert os.pathconf("mnt", "PC_NAME_MAX") == 247
        create(f"mnt/{long}")
        assert below() == [full, f"{long}.b2frame"]
        os.rename(f"mnt/{long}", "mnt/short")
        os.rename("mnt/short", f"mnt/{long}")
        os.mkdir("mnt/" + "d" * 247)
        os.rmdir("mnt/" + "d" * 247)
        for call in (create, os.mkdir, os.mkfifo, os.stat, os.unlink, os.rmdir,
                     os.readlink, os.listdir):
            assert error_of(call, f"mnt/{longer}") == errno.ENAMETOOLONG, call
        assert error_of(os.symlink, "x", f"mnt/{longer}") == \
            errno.ENAMETOOLONG
        for call in os.rename, os.link:
            assert error_of(call, f"mnt/{full}", f"mnt/{longer}") == \
                errno.ENAMETOOLONG
        assert error_of(os.rename, f"mnt/{longer}", "mnt/x") == \
            errno.ENAMETOOLONG
        # An existing file with a long name keeps that name.
        assert pathlib.Path(f"mnt/{full}").read_text() == "full"
        os.rename(f"mnt/{full}", "mnt/shorter")
        os.unlink("mnt/shorter")
        os.unlink(f"mnt/{long}")
        assert below() == []
    # A suffix that is longer than the usual one makes way for that.
    make("src/a.b2eframe", None, nbytes=1000)
    with Mount("src", "mnt"):
        os.rename("mnt/a", "mnt/b")
        assert below() == ["b.b2eframe"]
        os.rename("mnt/b", f"mnt/{long}")
        assert below() == [f"{long}.b2frame"]


def test_links():
    os.mkdir("src")
    pathlib.Path("src/text").write_text("text")
    with Mount("src", "mnt"):
        create("mnt/a")
        os.link("mnt/text", "mnt/also")
        assert os.stat("mnt/also").st_nlink == 2
        assert os.path.samefile("mnt/also", "mnt/text")
        assert error_of(os.link, "mnt/text", "mnt/a") == errno.EEXIST
        os.unlink("mnt/text")
        with open("mnt/also", "a") as f:
            os.unlink("mnt/also")
            assert os.fstat(f.fileno()).st_nlink == 0
            f.write("more")
        os.symlink("a", "mnt/s")
        assert os.readlink("mnt/s") == "a"
        os.link("mnt/s", "mnt/s2", follow_symlinks=False)
        assert os.readlink("mnt/s2") == "a"
        assert below() == ["a.b2frame", "s", "s2"]


def test_folders_and_special_files():
    os.mkdir("src")
    with Mount("src", "mnt"):
        os.makedirs("mnt/d/e/f")
        create("mnt/d/e/f/g")
        assert error_of(os.rmdir, "mnt/d/e") == errno.ENOTEMPTY
        assert error_of(os.rmdir, "mnt/d/e/f/g") == errno.ENOTDIR
        assert error_of(os.unlink, "mnt/d/e") == errno.EISDIR
        assert error_of(os.mkdir, "mnt/no/d") == errno.ENOENT
        os.mkfifo("mnt/fifo")
        os.mknod("mnt/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        os.mknod("mnt/sock", stat.S_IFSOCK | 0o600)
        os.mknod("mnt/file", stat.S_IFREG | 0o640)
        assert os.stat("mnt/null").st_rdev == os.makedev(1, 3)
        assert stat.S_IMODE(os.stat("mnt/file").st_mode) == 0o640
        assert below() == ["d", "fifo", "file.b2frame", "null", "sock"]
        fd = os.open("mnt/d", os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)
        subprocess.run("rm -r mnt/*", shell=True, check=True)
        assert below() == []
        # A folder that is open stays usable as such.
        os.mkdir("mnt/gone")
        fd = os.open("mnt/gone", os.O_RDONLY)
        os.rmdir("mnt/gone")
        assert os.listdir(fd) == []
        assert os.fstat(fd).st_mode == os.stat("src").st_mode
        os.close(fd)


def test_the_folder_around_a_single_frame():
    raw = bytearray(make("one.b2frame", None, nbytes=100000))
    with Mount("one.b2frame", "mnt"):
        assert errors_of_making("mnt/new", "mnt/one") == {errno.EPERM}
        assert error_of(os.unlink, "mnt/one") == errno.EPERM
        assert os.listdir("mnt") == ["one"]
        assert error_of(os.chmod, "mnt", 0o700) == errno.EPERM
        with open("mnt/one", "r+b") as f:
            f.seek(50000)
            f.write(b"written")
        raw[50000:50007] = b"written"
        assert pathlib.Path("mnt/one").read_bytes() == raw
        os.chmod("mnt/one", 0o600)
        os.truncate("mnt/one", 60000)
    with Mount("one.b2frame", "mnt"):
        assert pathlib.Path("mnt/one").read_bytes() == raw[:60000]
        assert stat.S_IMODE(os.stat("mnt/one").st_mode) == 0o600


def test_a_frame_on_a_file_is_written_to():
    raw = bytearray(make("one.b2frame", None, nbytes=100000))
    pathlib.Path("file").write_text("below")
    here = os.getcwd()
    p = subprocess.Popen([BUILD / "bloscfs", "-f", "one.b2frame", "file"])
    try:
        wait_until(lambda: mountpoints(here), "mount")
        with open("file", "r+b") as f:
            f.write(b"written")
            os.fsync(f.fileno())
            f.truncate(70000)
            f.seek(0, 2)
            f.write(b"end")
        raw[:7] = b"written"
        raw[70000:] = b"end"
        assert pathlib.Path("file").read_bytes() == raw
        os.chmod("file", 0o640)
        os.utime("file", (1, 2))
    finally:
        subprocess.run(["umount", "file"], check=True)
        assert p.wait(10) == 0
    assert pathlib.Path("file").read_text() == "below"
    with Mount("one.b2frame", "mnt"):
        assert pathlib.Path("mnt/one").read_bytes() == raw
        assert os.stat("mnt/one").st_mtime == 2


def test_over_itself_and_in_itself():
    os.mkdir("src")
    for args in (), ("-s",), ("-o", "nonempty"):
        for mountpoint in "src", "src/sub":
            os.makedirs("src/sub", exist_ok=True)
            with Mount("src", mountpoint, *args):
                folder = f"{mountpoint}/d"
                os.mkdir(folder)
                pathlib.Path(f"{folder}/f").write_text("text")
                os.rename(f"{folder}/f", f"{mountpoint}/f")
                with open(f"{mountpoint}/f") as f:
                    os.unlink(f"{mountpoint}/f")
                    assert f.read() == "text"
                # Directories below the mountpoint can be used, but not replaced.
                if mountpoint == "src/sub":
                    create(f"{mountpoint}/sub/below")
                    os.unlink(f"{mountpoint}/sub/below")
                    assert error_of(os.rmdir, f"{mountpoint}/sub") == \
                        errno.EBUSY
                    assert error_of(os.rename, f"{mountpoint}/sub",
                                    f"{mountpoint}/x") == errno.EBUSY
                os.rmdir(folder)
            assert os.listdir("src") == ["sub"]


def test_many_at_once():
    """Threads make, rename and delete in one folder; nothing is left over."""
    os.mkdir("src")

    def work(me):
        for i in range(60):
            path, other = f"mnt/{me}-{i}", f"mnt/{(me + 1) % 8}-moved"
            with open(path, "wb") as f:
                f.write(b"%d" % i * 100)
            with open(path, "rb") as f:
                assert f.read() == b"%d" % i * 100
            os.rename(path, other)
            os.listdir("mnt")
            if i % 2:
                error_of(os.unlink, f"mnt/{me}-moved")

    with Mount("src", "mnt"):
        in_threads(8, work)
        assert set(below("mnt")) <= {f"{n}-moved" for n in range(8)}
        for name in below("mnt"):
            os.unlink(f"mnt/{name}")
        # All creators of one name but one fail, or open the same file.
        fds, errors = [], []

        def race(flags):
            try:
                fds.append(os.open("mnt/one", os.O_CREAT | os.O_RDWR | flags))
            except OSError as e:
                errors.append(e.errno)

        for flags in os.O_EXCL, 0:
            in_threads(12, lambda _, flags=flags: race(flags))
            want = 1 if flags else 12
            assert len(fds) == want and set(errors) <= {errno.EEXIST}
            assert len({os.fstat(fd).st_ino for fd in fds}) == 1
            while fds:
                os.close(fds.pop())
            os.unlink("mnt/one")
    assert os.listdir("src") == []


main()
