#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Stores that are one file (.b2z, .b2e) are read-only directories."""
import errno
import mmap
import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

import blosc2
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from mounting import BUILD, Mount, error_of, in_threads, main, wait_until
from packing import pack_into
from stores import ARRAYS, BYTES, make_embed, make_mixed, make_tree, zip_of

READ = os.O_RDONLY


def frame(n=9):
    return blosc2.asarray(np.arange(n)).to_cframe()


def check_arrays(top):
    for key, array in ARRAYS.items():
        path = f"{top}/{key}"
        assert pathlib.Path(path).read_bytes() == array.tobytes(), path
        assert os.stat(path).st_size == array.nbytes
        for mode in None, "r":
            loaded = np.load(f"{path}.npy", mmap_mode=mode)
            assert np.array_equal(loaded, array), path
        assert os.stat(f"{path}.npy").st_size > array.nbytes
    assert pathlib.Path(f"{top}/g/bytes").read_bytes() == BYTES


def test_stores_are_directories():
    os.mkdir("src")
    make_tree("src/t.b2z")
    make_embed("src/e.b2e")
    make_mixed("src/m.b2z")
    with Mount("src", "mnt"):
        for name in "t.b2z", "e.b2e":
            check_arrays(f"mnt/{name}")
        assert set(os.listdir("mnt/t.b2z/g")) == {"sub", "bytes", "h"}
        # A key that is a prefix of another key.
        assert set(os.listdir("mnt/e.b2e")) == {"small", "big", "g",
                                                "g.b2frame"}
        inside = pathlib.Path("mnt/m.b2z/embed.b2e/small")
        assert inside.read_bytes() == ARRAYS["small"].tobytes()
        # scandir and stat agree.
        for top, _, _ in os.walk("mnt"):
            for entry in os.scandir(top):
                st = os.lstat(entry.path)
                assert entry.is_dir(follow_symlinks=False) == \
                    os.path.isdir(entry.path), entry.path
                assert entry.inode() == st.st_ino, entry.path
        with open("mnt/t.b2z/big", "rb") as f, \
                mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as m:
            assert m[:] == ARRAYS["big"].tobytes()
        shutil.copytree("mnt", "copy")
        assert pathlib.Path("copy/t.b2z/g/sub").read_bytes() == \
            ARRAYS["g/sub"].tobytes()
        subprocess.run([BUILD / "bloscctl", "info", "mnt/t.b2z/g/sub"],
                       check=True, stdout=subprocess.DEVNULL)


def test_bloscpack_files_are_members_like_others():
    make_tree("t.b2z")
    array = pack_into("t.b2z", BYTES)
    with Mount("t.b2z", "mnt"):
        assert {"x", "blpk", "small"} < set(os.listdir("mnt"))
        assert set(os.listdir("mnt/g")) == {"a", "sub", "bytes", "h"}
        assert pathlib.Path("mnt/x").read_bytes() == BYTES
        assert os.stat("mnt/g/a").st_size == array.nbytes
        for mode in None, "r":
            assert np.array_equal(np.load("mnt/g/a.npy", mmap_mode=mode),
                                  array)
        assert pathlib.Path("mnt/blpk").read_bytes().startswith(b"blpk of")
        assert error_of(os.open, "mnt/x", os.O_WRONLY) == errno.EROFS


def test_a_store_is_the_source():
    make_tree("t.b2z")
    make_embed("e.b2e")
    for name in "t.b2z", "e.b2e":
        with Mount(name, "mnt"):
            check_arrays("mnt")
            assert os.getxattr("mnt", "user.bloscfs.version")
            assert os.statvfs("mnt").f_files > 0
            assert error_of(pathlib.Path("mnt/new").touch) == errno.EROFS
    # Files beside a single frame are not mounted.
    pathlib.Path("x.b2nd").write_bytes(frame())
    with Mount("x.b2nd", "mnt"):
        assert os.path.exists("mnt/x") and not os.path.exists("mnt/t.b2z")
        assert error_of(os.rmdir, "mnt/t.b2z") == errno.ENOENT
    pathlib.Path("file").touch()
    done = subprocess.run([BUILD / "bloscfs", "-f", "t.b2z", "file"],
                          stderr=subprocess.PIPE, check=False)
    assert done.returncode == 2 and b"directory" in done.stderr, done


def refusal(*command):
    done = subprocess.run([BUILD / "bloscfs", "-f", *command],
                          stderr=subprocess.PIPE, check=False)
    return done.returncode, done.stderr.decode()


def test_a_directory_in_a_store_is_the_source():
    make_tree("t.b2z")
    for inside in "g", "g/", "/g":
        with Mount(f"t.b2z/{inside}", "mnt"):
            assert "sub" in os.listdir("mnt") and "g" not in os.listdir("mnt")
            assert os.getxattr("mnt", "user.bloscfs.version")
            assert np.array_equal(np.load("mnt/sub.npy"), ARRAYS["g/sub"])
            assert os.stat("mnt/..").st_ino == os.stat(".").st_ino
    with Mount("t.b2z/", "mnt"):
        assert "g" in os.listdir("mnt")
    pathlib.Path("x.b2nd").write_bytes(frame())
    for source, why in (("t.b2z/nothing", "No such file"),
                        ("t.b2z/g/sub", "is mounted with its directory"),
                        ("t.b2z/g/sub/b", "Not a directory"),
                        ("x.b2nd/y", "Not a directory"),
                        ("nowhere/t.b2z/g", "No such file")):
        status, said = refusal(source, "mnt")
        assert status == 3 and said.startswith(f"bloscfs: {source}: "), said
        assert why in said and said.count("\n") == 1, said


def test_nothing_in_a_store_changes():
    os.mkdir("src")
    make_tree("src/t.b2z")
    before = pathlib.Path("src/t.b2z").read_bytes()
    top, small = "mnt/t.b2z", "mnt/t.b2z/small"
    with Mount("src", "mnt"):
        pathlib.Path("mnt/file").write_text("x")
        for call in (lambda: os.open(small, os.O_RDWR),
                     lambda: os.open(small, os.O_RDONLY | os.O_TRUNC),
                     lambda: os.open(f"{top}/new", os.O_CREAT | os.O_WRONLY),
                     lambda: os.truncate(small, 0), lambda: os.unlink(small),
                     lambda: os.mkdir(f"{top}/new"),
                     lambda: os.mkfifo(f"{top}/new"),
                     lambda: os.symlink("x", f"{top}/new"),
                     lambda: os.link("mnt/file", f"{top}/new"),
                     lambda: os.link(small, "mnt/new"),
                     lambda: os.rename(small, f"{top}/new"),
                     lambda: os.rename(small, "mnt/new"),
                     lambda: os.rename("mnt/file", f"{top}/new"),
                     lambda: os.rmdir(f"{top}/g"), lambda: os.utime(small),
                     lambda: os.chmod(small, 0o600), lambda: os.chmod(top, 0),
                     lambda: os.setxattr(small, "user.x", b"x"),
                     lambda: os.removexattr(small, "user.x")):
            assert error_of(call) == errno.EROFS
        assert error_of(os.rmdir, top) == errno.ENOTEMPTY
        assert error_of(os.getxattr, top, "user.x") == errno.ENODATA
        fd = os.open(top, READ)
        os.fsync(fd)
        os.close(fd)
        # Nor can it be replaced by a rename.
        zip_of("src/u.b2z", {"only": b"x"})
        assert error_of(os.rename, "mnt/u.b2z", top) == errno.ENOTEMPTY
        # The whole pack can be renamed like a file.
        os.rename(top, "mnt/other.b2z")
        check_arrays("mnt/other.b2z")
        os.rename("mnt/other.b2z", top)
        os.mkdir("mnt/d")
        os.rename(top, "mnt/d/t.b2z")
        os.rename("mnt/d", "mnt/e")
        check_arrays("mnt/e/t.b2z")
        # An embed.b2e without keys, as each .b2d has, does not stop rm -r.
        blosc2.TreeStore("src/store.b2d", mode="w")["/a"] = np.arange(3)
        assert os.listdir("mnt/store.b2d/embed.b2e") == []
        shutil.rmtree("mnt/store.b2d")
    assert pathlib.Path("src/e/t.b2z").read_bytes() == before
    assert not os.path.exists("src/store.b2d")


def test_an_empty_store_is_an_empty_directory():
    os.mkdir("src")
    zip_of("src/empty.b2z", {})
    zip_of("src/t.b2z", {"only": b"x"})
    with Mount("src", "mnt"):
        for name in "d", "full", "none":
            os.mkdir(f"mnt/{name}")
        pathlib.Path("mnt/full/x").touch()
        os.rename("mnt/full", "mnt/empty.b2z")
        assert os.listdir("mnt/empty.b2z") == ["x"]
        assert error_of(os.rename, "mnt/d", "mnt/t.b2z") == errno.ENOTEMPTY
        assert error_of(os.rename, "mnt/t.b2z",
                        "mnt/empty.b2z") == errno.ENOTEMPTY
        os.rename("mnt/t.b2z", "mnt/none")
        assert sorted(os.listdir("mnt")) == ["d", "empty.b2z", "none"]
    assert zipfile.is_zipfile("src/none")


def test_a_working_directory_in_a_store_whose_mode_changes():
    os.mkdir("src")
    zip_of("src/t.b2z", {"only": b"x"})
    with Mount("src", "mnt") as mount:
        at = os.open("mnt/t.b2z", os.O_PATH)
        wait_until(lambda: "t.b2z" not in "".join(mount.open_paths()),
                   "the store to be closed")
        os.chmod("src/t.b2z", 0o600)
        assert os.listdir(f"/proc/self/fd/{at}") == ["only"]
        # Nobody else reads on because a program of theirs stands in it.
        wait_until(lambda: os.fstat(at).st_mode == 0o40500, "the new mode")
        assert os.stat("only", dir_fd=at).st_mode == 0o100400
        os.close(at)


def test_plain_members_have_checksums():
    """If one read gets a whole member, its CRC-32 is compared."""
    os.mkdir("src")
    zip_of("src/z.b2z", {"note": b"some words", "other": b"more"})
    raw = pathlib.Path("src/z.b2z").read_bytes()
    pathlib.Path("src/bad.b2z").write_bytes(raw.replace(b"words", b"wards"))
    with Mount("src", "mnt") as mount:
        for store in "z.b2z", "bad.b2z":
            assert pathlib.Path(f"mnt/{store}/other").read_bytes() == b"more"
        assert pathlib.Path("mnt/z.b2z/note").read_bytes() == b"some words"
        with open("mnt/bad.b2z/note", "rb") as f:
            assert error_of(f.read) == errno.EIO
        mount.wait_for_log("bad.b2z/note: damaged: its CRC-32 is")


def test_members_that_cannot_be_shown_are_named():
    os.mkdir("src")
    zip_of("src/z.b2z", {"x.b2nd": frame(), "x/y": b"plain", "note": b"plain",
                         "short.b2nd": frame()[:-1]})
    zip_of("src/deflated.b2z", {"x.b2nd": frame()},
           compression=zipfile.ZIP_DEFLATED)
    with blosc2.TreeStore("src/t.b2z", mode="w") as store:
        objects = blosc2.ObjectArray()
        objects.append({"a": 1})
        store["/objects"] = objects
    with Mount("src", "mnt") as mount:
        # x.b2nd keeps its suffix, because x is another member.
        assert set(os.listdir("mnt/z.b2z")) == {"x.b2nd", "x", "note", "short"}
        assert pathlib.Path("mnt/z.b2z/note").read_bytes() == b"plain"
        assert pathlib.Path("mnt/z.b2z/x/y").read_bytes() == b"plain"
        with open("mnt/z.b2z/note", "rb") as f:
            assert os.lseek(f.fileno(), 0, os.SEEK_HOLE) == 5
            assert os.pread(f.fileno(), 9, 3) == b"in"
        assert error_of(os.open, "mnt/z.b2z/note/x", READ) == errno.ENOTDIR
        assert error_of(os.open, "mnt/z.b2z/x.b2nd.npy.npy",
                        READ) == errno.ENOENT
        assert error_of(os.open, "mnt/z.b2z/short", READ) == errno.EIO
        assert os.stat("mnt/z.b2z/short").st_size == 0
        assert error_of(os.open, "mnt/deflated.b2z/x.b2nd",
                        READ) == errno.EOPNOTSUPP
        mount.wait_for_log("deflated.b2z/x.b2nd: not readable: it is deflated")
        assert error_of(os.open, "mnt/t.b2z/objects", READ) == errno.EOPNOTSUPP
        mount.wait_for_log("it is an ObjectArray of python-blosc2")


def test_embed_stores_have_a_bound():
    """Only some EmbedStores become directories, because each keeps its index in memory;
    python-blosc2 puts one into a store."""
    os.mkdir("src")
    blosc2.EmbedStore("e.b2e", mode="w")["/x"] = np.arange(9)
    embed = pathlib.Path("e.b2e").read_bytes()
    zip_of("src/z.b2z", {f"{i:02}.b2e": embed for i in range(70)})
    with Mount("src", "mnt"):
        for i in range(70):
            path = pathlib.Path(f"mnt/z.b2z/{i:02}.b2e")
            assert path.is_dir() == (i < 64), path
        assert os.listdir("mnt/z.b2z/63.b2e") == ["x"]


def test_what_is_no_store_is_a_file():
    os.mkdir("src")
    zip_of("src/hostile.b2z", {"../x": frame()})
    zip_of("src/jar", {"x.b2nd": frame()})
    pathlib.Path("src/text.b2z").write_text("no store")
    pathlib.Path("src/text.b2e").write_text("no store")
    os.symlink("/etc/passwd", "src/link.b2z")
    os.mkdir("src/dir.b2z")
    before = pathlib.Path("src/hostile.b2z").read_bytes()
    with Mount("src", "mnt") as mount:
        assert pathlib.Path("mnt/hostile.b2z").read_bytes() == before
        mount.wait_for_log("hostile.b2z: ")
        assert "a name that no file of a store can have" in mount.log()
        assert os.path.isfile("mnt/jar")
        for name in "text.b2z", "text.b2e":
            assert pathlib.Path(f"mnt/{name}").read_text() == "no store"
        assert os.path.islink("mnt/link.b2z")
        assert os.listdir("mnt/dir.b2z") == []
        # A hostile pack that is written here stays a file, too.
        shutil.copy("src/hostile.b2z", "mnt/new.b2z")
        assert pathlib.Path("mnt/new.b2z").read_bytes() == before
    with subprocess.Popen([BUILD / "bloscfs", "-f", "src/hostile.b2z", "mnt"],
                          stderr=subprocess.PIPE) as daemon:
        said = daemon.communicate()[1]
    assert daemon.returncode == 3 and b"hostile.b2z" in said, said


def test_another_version_is_seen():
    os.mkdir("src")
    zip_of("src/z.b2z", {"x.b2nd": frame(9), "old": b"o"})
    with Mount("src", "mnt", "-o", "attr_timeout=0,entry_timeout=0") as mount:
        opened = open("mnt/z.b2z/x", "rb")
        assert opened.read(8) == bytes(8)
        zip_of("new", {"x.b2nd": frame(99), "new": b"n"})
        os.rename("new", "src/z.b2z")
        assert set(os.listdir("mnt/z.b2z")) == {"x", "new"}
        assert pathlib.Path("mnt/z.b2z/x").read_bytes() == \
            np.arange(99).tobytes()
        # A program that has the file open reads the old data.
        assert opened.read() == np.arange(1, 9).tobytes()
        opened.close()
        # Once unused, the store is closed.
        wait_until(lambda: not any("z.b2z" in p for p in mount.open_paths()),
                   "the store is closed")
        assert os.stat("mnt/z.b2z/x").st_size == 99 * 8
        os.unlink("src/z.b2z")
        assert error_of(os.stat, "mnt/z.b2z/x") == errno.ENOENT


def test_a_store_that_is_written_to_in_place_is_no_mixture():
    size = 1 << 20
    old, new = (np.random.default_rng(seed).integers(0, 256, 4 * size,
                                                     dtype=np.uint8)
                for seed in (1, 2))

    def make(path, array):
        x = blosc2.asarray(array, chunks=(size,)).to_cframe()
        zip_of(path, {"x.b2nd": x, "plain": array.tobytes()})

    os.mkdir("src")
    make("new", new)
    for name in "x", "x.npy", "plain":
        make("src/z.b2z", old)
        with Mount("src", "mnt", "-o", "cachesize=1M") as mount, \
                open(f"mnt/z.b2z/{name}", "rb", buffering=0) as f:
            fd = f.fileno()
            head = os.fstat(fd).st_size - 4 * size
            # Keep the kernel from reading ahead.
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
            assert os.pread(fd, size, head) == old[:size].tobytes()
            os.chmod("src/z.b2z", 0o600)
            assert os.pread(fd, size, head + size) == \
                old[size:2 * size].tobytes()
            with open("src/z.b2z", "r+b") as store:
                store.write(pathlib.Path("new").read_bytes())
            assert error_of(os.pread, fd, size,
                            head + 3 * size) == errno.ESTALE, name
            mount.wait_for_log("z.b2z: another program has written to it")
            # Cached pages of the old version do not come back.
            again = pathlib.Path(f"mnt/z.b2z/{name}").read_bytes()
            assert again[head:] == new.tobytes(), name


def test_npy_views_are_listed_or_off():
    make_tree("t.b2z")
    with Mount("t.b2z", "mnt", "-o", "npy=list"):
        assert {"sub", "sub.npy", "bytes"} < set(os.listdir("mnt/g"))
        for entry in os.scandir("mnt/g"):
            assert entry.inode() == entry.stat().st_ino, entry
    with Mount("t.b2z", "mnt", "-o", "npy=off"):
        assert not os.path.exists("mnt/g/sub.npy")


def test_many_readers_and_stores():
    os.mkdir("src")
    for i in range(100):
        zip_of(f"src/{i}.b2z", {"d/x.b2nd": frame(i + 1)})
    make_tree("src/t.b2z")

    def read(seed):
        for i in np.random.default_rng(seed).integers(0, 100, 200):
            data = pathlib.Path(f"mnt/{i}.b2z/d/x").read_bytes()
            assert data == np.arange(i + 1).tobytes()
        check_arrays("mnt/t.b2z")

    with Mount("src", "mnt", "-o", "attr_timeout=0,entry_timeout=0") as mount:
        in_threads(8, read)
        assert len(mount.open_fds()) < mount.nfds + 80


if __name__ == "__main__":
    main()
