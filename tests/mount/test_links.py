#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Compressed files with several names are one file by each of them, in the mount and
for stock Blosc2, whatever happens meanwhile."""
import concurrent.futures
import contextlib
import errno
import itertools
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import time

import blosc2

from mounting import (BUILD, Mount, error_of, failing, main, make, signal_at,
                      while_stopped)
from scratch import SPARSE, Scratch, bloscctl, stock_bytes
from small import traced
from syscalls import exchange

INDEX = "chunks.b2frame"
HOME = ".bloscfs-linked-"
FRESH = "attr_timeout=0,entry_timeout=0"


def put(path, text):
    pathlib.Path(path).write_text(text)


def get(path):
    return pathlib.Path(path).read_text()


def stock(path):
    return stock_bytes(path).decode()


def homes(folder="src"):
    return [n for n in os.listdir(folder) if n.startswith(HOME)]


def shown(folder="mnt"):
    return sorted(n for n in os.listdir(folder))


def check(groups, folder="mnt"):
    """Checks that each group of names is one file; @groups: {text: names}."""
    assert shown(folder) == sorted(itertools.chain(*groups.values()))
    with os.scandir(folder) as entries:
        listed = {e.name: e.inode() for e in entries}
    for text, names in groups.items():
        inodes = set()
        for name in names:
            st = os.lstat(f"{folder}/{name}")
            assert stat.S_ISREG(st.st_mode), name
            assert st.st_nlink == len(names), (name, st.st_nlink, names)
            assert get(f"{folder}/{name}") == text, name
            inodes |= {st.st_ino, listed[name]}
        assert len(inodes) == 1, (names, inodes)


def check_stored(groups, folder="src"):
    """The same for stock; a frame with one name has that name in SOURCE."""
    for text, names in groups.items():
        for name in names:
            path = f"{folder}/{name}.b2frame"
            if text:
                assert stock(path) == text, name
            assert os.path.islink(path) == (len(names) > 1), name
    assert len(homes(folder)) == \
        sum(len(names) > 1 for names in groups.values())


@contextlib.contextmanager
def linked():
    """A mount with a frame of two names."""
    with Scratch(FRESH, SPARSE) as s:
        put("mnt/a", "text")
        os.link("mnt/a", "mnt/b")
        yield s


def test_one_file_by_all_its_names():
    with Scratch(FRESH, SPARSE) as s:
        put("mnt/a", "first")
        os.link("mnt/a", "mnt/b")
        check({"first": ["a", "b"]})
        check_stored({"first": ["a", "b"]})
        with open("mnt/a", "r+") as a, open("mnt/b", "r+") as b:
            a.write("FIR")
            a.flush()
            assert b.read() == "FIRst"
            b.write("+more")
            b.flush()
            assert os.fstat(a.fileno()).st_size == 10
            os.fsync(a.fileno())
            assert stock("src/b.b2frame") == "FIRst+more"
        os.chmod("mnt/b", 0o640)
        os.utime("mnt/a", (1, 2))
        for name in "a", "b":
            st = os.stat(f"mnt/{name}")
            assert stat.S_IMODE(st.st_mode) == 0o640 and st.st_mtime == 2
        os.setxattr("mnt/a", "user.x", b"y")
        assert os.getxattr("mnt/b", "user.x") == b"y"
        os.link("mnt/b", "mnt/c")
        os.truncate("mnt/c", 3)
        check({"FIR": ["a", "b", "c"]})
        s.remount()
        check({"FIR": ["a", "b", "c"]})
        check_stored({"FIR": ["a", "b", "c"]})
        for name, rest in ("a", ["b", "c"]), ("c", ["b"]):
            os.unlink(f"mnt/{name}")
            check({"FIR": rest})
            check_stored({"FIR": rest})
        os.unlink("mnt/b")
        check({})
    assert os.listdir("src") == []


def linked_frames():
    """Two frames with several names, and one without."""
    shutil.rmtree("src", ignore_errors=True)
    with Scratch(FRESH, SPARSE):
        os.mkdir("mnt/d")
        for name in "a", "x":
            put(f"mnt/d/{name}", f"text of {name}")
        for new in "b", "c":
            os.link("mnt/d/a", f"mnt/d/{new}")
        os.link("mnt/d/x", "mnt/d/y")
        put("mnt/d/z", "text of z")
    assert len(homes("src/d")) == 2
    return {"a": "a", "b": "a", "c": "a", "x": "x", "y": "x", "z": "z"}


def ctl(*args, status=0):
    return bloscctl(*args, status=status).decode()


def test_bloscctl_takes_all_names():
    """bloscctl lists the names, not the hidden home of a frame."""
    names = linked_frames()
    listed = [line.split()[-1] for line in ctl("ls", "-rq", "src").splitlines()]
    assert listed == [f"src/d/{name}.b2frame" for name in sorted(names)]
    ctl("seal", "-r", "src")
    ctl("recompress", "-r", "-9", "src")
    assert ctl("verify", "-r", "src").count(": ok, ") == 3
    assert len(homes("src/d")) == 2
    check_stored({"text of a": ["a", "b", "c"], "text of x": ["x", "y"],
                  "text of z": ["z"]}, "src/d")
    ctl("decompress", "-r", "-o", "plain", "src")
    assert {name: get(f"plain/d/{name}") for name in os.listdir("plain/d")} == \
        {name: f"text of {text}" for name, text in names.items()}
    for args, suffix in ((("convert", "-r", "-o", "flat"), ".b2f"),
                         (("copy", "-r"), ".b2frame")):
        ctl(*args, "src", *(["copies"] if args[0] == "copy" else []))
        top = "copies/d" if args[0] == "copy" else "flat/d"
        assert sorted(os.listdir(top)) == [n + suffix for n in sorted(names)]
        for name, text in names.items():
            assert stock(f"{top}/{name}{suffix}") == f"text of {text}"
    with Scratch():
        assert sorted(os.listdir("mnt/d")) == sorted(names)


def test_bloscctl_removes_a_name_at_a_time():
    for args in ("decompress",), ("convert",):
        names = linked_frames()
        home = f"src/d/{homes('src/d')[0]}"
        ctl(*args, "--rm", "-f", home, "-o", "out", status=1)
        ctl(*args, "--rm", "-f", "src/d/b.b2frame", "-o", "out")
        assert not os.path.lexists("src/d/b.b2frame")
        check_stored({"text of a": ["a", "c"], "text of x": ["x", "y"]},
                     "src/d")
        with Scratch(FRESH):
            check({"text of a": ["a", "c"], "text of x": ["x", "y"],
                   "text of z": ["z"]}, "mnt/d")
        ctl(*args, "--rm", "-r", "src")
        del names["b"]
        suffix = "" if args == ("decompress",) else ".b2f"
        assert sorted(os.listdir("src/d")) == [n + suffix for n in sorted(names)]
        for name, text in names.items():
            got = stock(f"src/d/{name}.b2f") if suffix else get(f"src/d/{name}")
            assert got == f"text of {text}"
        shutil.rmtree("out", ignore_errors=True)
        if os.path.exists("out"):
            os.remove("out")


def test_exclusive_creation():
    """Uses links as zarr, atomicwrites and lockfiles do."""
    with Scratch() as s:
        for n in range(20):
            put(f"mnt/tmp{n}", f"text {n}")
            os.link(f"mnt/tmp{n}", "mnt/final" if n == 0 else f"mnt/f{n}")
            os.unlink(f"mnt/tmp{n}")
        put("mnt/tmp", "other")
        assert error_of(os.link, "mnt/tmp", "mnt/final") == errno.EEXIST
        os.unlink("mnt/tmp")
        groups = {f"text {n}": [f"f{n}" if n else "final"] for n in range(20)}
        check(groups)
        check_stored(groups)
        s.remount()
        check(groups)


def test_what_is_open():
    with Scratch(FRESH):
        put("mnt/a", "text")
        with open("mnt/a", "r+") as f:
            os.link("mnt/a", "mnt/b")
            f.write("T")
            f.flush()
            os.unlink("mnt/a")
            assert os.fstat(f.fileno()).st_nlink == 1
            f.write("E")
            f.flush()
            check({"TExt": ["b"]})
            os.link("mnt/b", "mnt/c")
            os.unlink("mnt/b")
            os.unlink("mnt/c")
            assert os.fstat(f.fileno()).st_nlink == 0
            f.write("X")
            f.seek(0)
            assert f.read() == "TEXt"
        check({})


def test_rename():
    with Scratch(FRESH, SPARSE) as s:
        os.mkdir("mnt/d")
        for name in "a", "x", "y":
            put(f"mnt/{name}", name)
        put("src/plain", "plain")
        put("mnt/d/z", "z")
        os.link("mnt/a", "mnt/b")
        os.link("mnt/x", "mnt/x2")
        os.rename("mnt/a", "mnt/c")
        os.rename("mnt/b", "mnt/a")
        os.rename("mnt/c", "mnt/b")
        # Renaming one name of a file over another one does nothing.
        os.rename("mnt/a", "mnt/b")
        shutil.rmtree("mnt/d")
        check({"a": ["a", "b"], "x": ["x", "x2"], "y": ["y"],
               "plain": ["plain"]})
        # Over a plain file, and a plain file over a name.
        os.rename("mnt/a", "mnt/y")
        check({"a": ["y", "b"], "x": ["x", "x2"], "plain": ["plain"]})
        put("mnt/new", "new")
        os.rename("mnt/new", "mnt/b")
        check({"a": ["y"], "new": ["b"], "x": ["x", "x2"],
               "plain": ["plain"]})
        # One name over another's.
        os.link("mnt/b", "mnt/b2")
        os.rename("mnt/b", "mnt/x")
        check({"a": ["y"], "new": ["x", "b2"], "x": ["x2"],
               "plain": ["plain"]})
        # A plain file replaces a frame, and a frame a plain file.
        os.rename("mnt/plain", "mnt/x")
        check({"a": ["y"], "new": ["b2"], "x": ["x2"], "plain": ["x"]})
        os.link("mnt/y", "mnt/y2")
        os.rename("mnt/y", "mnt/x")
        check({"a": ["x", "y2"], "new": ["b2"], "x": ["x2"]})
        exchange("mnt/x", "mnt/b2")
        check({"a": ["b2", "y2"], "new": ["x"], "x": ["x2"]})
        exchange("mnt/x", "mnt/y2")
        groups = {"a": ["b2", "x"], "new": ["y2"], "x": ["x2"]}
        check(groups)
        s.remount()
        check(groups)
        check_stored(groups)


def test_other_directories():
    with Scratch(FRESH, SPARSE):
        os.mkdir("mnt/d")
        put("mnt/a", "a")
        assert error_of(os.link, "mnt/a", "mnt/d/a") == errno.EPERM
        os.link("mnt/a", "mnt/b")
        assert error_of(os.rename, "mnt/b", "mnt/d/b") == errno.EXDEV
        # A file of another directory over a name.
        put("mnt/d/new", "new")
        os.rename("mnt/d/new", "mnt/b")
        os.rmdir("mnt/d")
        check({"a": ["a"], "new": ["b"]})
        # They move with their directory.
        os.mkdir("mnt/d")
        put("mnt/d/x", "x")
        os.link("mnt/d/x", "mnt/d/y")
        os.rename("mnt/d", "mnt/e")
        check({"x": ["x", "y"]}, "mnt/e")
        # mv copies, and the other name stays.
        subprocess.run(["mv", "mnt/e/x", "mnt/x"], check=True)
        assert get("mnt/x") == "x"
        check({"x": ["y"]}, "mnt/e")
        shutil.rmtree("mnt/e")


def test_tools():
    with Scratch(FRESH):
        os.mkdir("mnt/d")
        put("mnt/d/a", "text " * 100)
        subprocess.run(["ln", "a", "b"], cwd="mnt/d", check=True)
        put("mnt/d/c", "other")
        subprocess.run(["ln", "-f", "a", "c"], cwd="mnt/d", check=True)
        check({"text " * 100: ["a", "b", "c"]}, "mnt/d")
        subprocess.run("tar -C mnt -cf - d | tar -C mnt -xf - --transform "
                       "'flags=rhS;s/^d/t/'", shell=True, check=True)
        check({"text " * 100: ["a", "b", "c"]}, "mnt/t")
        subprocess.run(["cp", "-a", "mnt/d", "mnt/copy"], check=True)
        check({"text " * 100: ["a", "b", "c"]}, "mnt/copy")
        # A copy of SOURCE keeps the links, too.
        subprocess.run(["cp", "-a", "src/d", "src/below"], check=True)
        check({"text " * 100: ["a", "b", "c"]}, "mnt/below")
        out = subprocess.run(["find", "mnt/d", "-samefile", "mnt/d/a"],
                             capture_output=True, check=True).stdout
        assert len(out.split()) == 3, out
        for name in os.listdir("mnt"):
            shutil.rmtree(f"mnt/{name}")
    assert os.listdir("src") == []


def test_arrays_and_files():
    """An array beside its .npy, and a contiguous frame, which is one file."""
    os.mkdir("src")
    raw = make("src/c.b2", None, nbytes=5000, kind="contiguous")
    with Scratch(FRESH):
        os.link("mnt/c", "mnt/d")
        for name in "c", "d":
            assert os.stat(f"mnt/{name}").st_nlink == 2
            assert pathlib.Path(f"mnt/{name}").read_bytes() == raw
        assert sorted(os.listdir("src")) == ["c.b2", "d.b2"]
        os.unlink("mnt/c")
        assert os.stat("mnt/d").st_nlink == 1
        os.unlink("mnt/d")
        array = blosc2.asarray(blosc2.arange(0, 100)[:], urlpath="src/a.b2nd",
                               contiguous=False, mode="w")[:].tobytes()
        os.link("mnt/a", "mnt/b")
        for name in "a", "b":
            assert pathlib.Path(f"mnt/{name}").read_bytes() == array
            assert pathlib.Path(f"mnt/{name}.npy").read_bytes().endswith(array)
            assert blosc2.open(f"src/{name}.b2nd")[:].tobytes() == array
        assert error_of(os.link, "mnt/a.npy", "mnt/x") == errno.EPERM
        os.unlink("mnt/a")
        assert pathlib.Path("mnt/b.npy").read_bytes().endswith(array)


def test_recompress():
    with Scratch(FRESH, SPARSE) as s:
        put("mnt/a", "text " * 1000)
        for name in "b", "c":
            os.link("mnt/a", f"mnt/{name}")
        s.stop()
        subprocess.run([BUILD / "bloscctl", "recompress", "-q",
                        "src/b.b2frame"], check=True)
        s.start()
        os.unlink("mnt/a")
        check({"text " * 1000: ["b", "c"]})
        check_stored({"text " * 1000: ["b", "c"]})


def test_what_cannot_be():
    with Scratch(FRESH, SPARSE):
        put("mnt/a", "a")
        os.mkdir("mnt/d")
        put("mnt/full", "full")
        assert error_of(os.link, "mnt/a", "mnt/full") == errno.EEXIST
        assert error_of(os.link, "mnt/a", "mnt/d") == errno.EEXIST
        assert error_of(os.link, "mnt/a", "mnt/" + "n" * 248) == \
            errno.ENAMETOOLONG
        assert homes() == []
        # A target that is the mark of a name.
        assert error_of(os.symlink, f"{HOME}0123456789abcdef.b2frame",
                        "mnt/s.b2frame") == errno.EPERM
        for n in range(99):
            os.link("mnt/a", f"mnt/{n}")
        assert error_of(os.link, "mnt/a", "mnt/99") == errno.EMLINK
        assert os.stat("mnt/a").st_nlink == 100
        for n in range(99):
            os.unlink(f"mnt/{n}")
        assert os.stat("mnt/a").st_nlink == 1 and homes() == []


def check_text(name, want):
    got = get(name)
    assert got == want, (name, got, want, os.stat(name))


def use_links(me, end):
    names = [f"mnt/{me}-{i}" for i in range(5)]
    while time.monotonic() < end:
        put(names[0], f"text {me}")
        for name in names[1:3]:
            os.link(names[0], name)
        assert os.stat(names[2]).st_nlink == 3
        os.rename(names[1], names[3])
        os.rename(names[3], names[4])
        os.unlink(names[0])
        check_text(names[4], f"text {me}")
        put(names[2], "changed")
        check_text(names[4], "changed")
        os.unlink(names[2])
        assert os.stat(names[4]).st_nlink == 1
        os.unlink(names[4])


def look_around(end):
    while time.monotonic() < end:
        for name in shown():
            assert not name.startswith(HOME), name
            assert not name.endswith("2frame"), name
            error = error_of(os.lstat, f"mnt/{name}")
            # If a found file is deleted before the kernel asks for its attributes, the
            # kernel looks a second time, and then gives up.
            assert error in (0, errno.ENOENT, errno.ESTALE), \
                (name, errno.errorcode[error])


def test_many_at_once():
    for options in (FRESH,), ():
        with Scratch(*options), \
                concurrent.futures.ThreadPoolExecutor() as pool:
            end = time.monotonic() + 2
            jobs = [pool.submit(use_links, me, end) for me in range(4)]
            jobs += [pool.submit(look_around, end) for _ in range(2)]
            for job in jobs:
                job.result()
            assert shown() == []
        assert os.listdir("src") == []


def names_of(home):
    return {os.readlink(f"{home}/{n}")
            for n in os.listdir(home) if n.startswith(".link.")}


def test_what_others_have_left():
    """States that a crash, or other programs, leave."""
    with linked() as s:
        s.stop()
        home = f"src/{homes()[0]}"
        # A slot without a name, and a name without a slot.
        os.symlink("gone.b2frame", f"{home}/.link.2")
        os.symlink(os.path.basename(home), "src/c.b2frame")
        s.start()
        assert os.stat("mnt/c").st_nlink == 3
        check({"text": ["a", "b", "c"]})
        assert names_of(home) == {f"{n}.b2frame" for n in "abc"}
        s.stop()
        # No slots at all: nothing is lost by deleting a name.
        for n in 0, 1, 2:
            os.unlink(f"{home}/.link.{n}")
        s.start()
        assert shown() == ["a", "b", "c"]
        os.unlink("mnt/a")
        check({"text": ["b", "c"]})
        s.stop()
        os.unlink("src/c.b2frame")
        s.start()
        assert shown() == ["b"] and get("mnt/b") == "text"
        os.rename("mnt/b", "mnt/x")
        check({"text": ["x"]})
        check_stored({"text": ["x"]})
        # Leftovers are not shown, and do not keep a directory.
        os.mkdir("mnt/d")
        loop = f"{HOME}0123456789abcdef.b2frame"
        os.symlink(loop, f"src/d/{loop}")
        # Directories that are being deleted are hidden, too.
        os.mkdir("src/d/gone")
        os.symlink("a.b2frame", "src/d/gone/.link.0")
        number = os.stat("src/d/gone").st_ino
        os.rename("src/d/gone", f"src/d/.bloscfs-deleted-1-1-1-{number:x}")
        assert os.listdir("mnt/d") == []
        assert error_of(os.lstat, f"mnt/d/{loop}") == errno.ENOENT
        os.rmdir("mnt/d")
        # A home without names is shown by its own name.
        os.link("mnt/x", "mnt/y")
        home = homes()[0]
        os.unlink("src/x.b2frame")
        os.unlink("src/y.b2frame")
        assert shown() == [home.removesuffix(".b2frame")]
        os.rename(f"mnt/{shown()[0]}", "mnt/z")
        check({"text": ["z"]})
        check_stored({"text": ["z"]})
        # Without the frame its names are plain symbolic links.
        os.link("mnt/z", "mnt/y")
        shutil.rmtree(f"src/{homes()[0]}")
        assert shown() == ["y.b2frame", "z.b2frame"]
        assert os.path.islink("mnt/y.b2frame")
        os.unlink("mnt/y.b2frame")
        os.unlink("mnt/z.b2frame")
        assert shown() == []


def test_two_mounts_change_names_of_one_frame():
    """The other mount changes a name just before the first one makes or removes one."""
    cases = (
        ("symlinkat", 2, lambda: os.link("mnt/a", "mnt/c"),
         lambda: os.unlink("other/b"), {"text": ["a", "c"]}),
        ("symlinkat", 4, lambda: os.link("mnt/new", "mnt/c"),
         lambda: os.rename("other/a", "other/new"), {"text": ["b", "new"],
                                                     "new": ["c"]}),
        ("unlinkat", 1, lambda: os.unlink("mnt/a"),
         lambda: os.unlink("other/b"), {}),
        ("renameat2", 1, lambda: os.rename("mnt/a", "mnt/d"),
         lambda: os.unlink("other/b"), {"text": ["d"]}),
    )
    for call, at, first, second, want in cases:
        os.mkdir("src")
        with Mount("src", "other", "-o", f"{FRESH},{SPARSE}"), \
                Mount("src", "mnt", "-o", f"{FRESH},{SPARSE}",
                      wrap=signal_at(signal.SIGSTOP, at, call)) as m:
            put("mnt/a", "text")
            put("mnt/new", "new")
            os.link("mnt/a", "mnt/b")
            want = {"new": ["new"], **want}
            with concurrent.futures.ThreadPoolExecutor() as pool:
                with while_stopped(m, first) as errors:
                    job = pool.submit(second)
                    concurrent.futures.wait([job], .3)
                job.result()
            assert errors == [0], (call, want, errors)
            check(want)
            check_stored(want)
        shutil.rmtree("src")


def test_a_frame_that_another_mount_links_while_it_goes_elsewhere():
    for move, linked, want in (
            (os.rename, "other/a", {"mnt/d/b": "a"}),
            (exchange, "other/a", {"mnt/d/b": "a", "mnt/a": "b"}),
            (exchange, "other/d/b", {"mnt/d/b": "a", "mnt/a": "b"})):
        os.mkdir("src")
        with Mount("src", "other", "-o", f"{FRESH},{SPARSE}"), \
                Mount("src", "mnt", "-o", f"{FRESH},{SPARSE}",
                      wrap=signal_at(signal.SIGSTOP, 1, "renameat2")) as m:
            os.mkdir("mnt/d")
            put("mnt/a", "a")
            if move is exchange:
                put("mnt/d/b", "b")
            with concurrent.futures.ThreadPoolExecutor() as pool:
                with while_stopped(m, lambda: move("mnt/a", "mnt/d/b")) as errors:
                    job = pool.submit(error_of, os.link, linked, f"{linked}2")
                    concurrent.futures.wait([job], .3)
                assert job.result() in (0, errno.ENOENT, errno.ESTALE)
            assert errors == [0]
            assert {name: get(name) for name in want} == want
        shutil.rmtree("src")


def test_a_link_to_an_open_file_that_another_mount_has_moved():
    os.mkdir("src")
    with Mount("src", "mnt", "-o", SPARSE), Mount("src", "other"):
        put("mnt/a", "text")
        os.link("mnt/a", "mnt/b")
        with open("mnt/a"):
            os.unlink("other/b")
            os.link("mnt/a", "mnt/c")
            check({"text": ["a", "c"]})
            check_stored({"text": ["a", "c"]})


def test_a_file_that_takes_the_last_name_is_kept():
    """Another program gives it to a file when the frame is about to leave its home."""
    os.mkdir("src")
    with Mount("src", "mnt", "-o", f"{FRESH},{SPARSE}",
               wrap=signal_at(signal.SIGSTOP, 1, "renameat2")) as m:
        put("mnt/a", "text")
        os.link("mnt/a", "mnt/b")
        put("other", "other")
        with while_stopped(m, lambda: os.unlink("mnt/b")) as errors:
            os.rename("other", "src/a.b2frame")
        assert errors == [0]
        assert get("src/a.b2frame") == "other"
        assert stock(f"src/{homes()[0]}") == "text"


def test_homes_without_names_are_looked_for_together():
    """A user may make many names: a listing must not read the directory for each."""
    n = 200
    os.mkdir("src")
    with Mount("src", "mnt", "-o", SPARSE):
        put("mnt/x", "text")
    for i in range(n):
        shutil.copytree("src/x.b2frame", f"src/.bloscfs-linked-{i:016x}.b2frame")
        os.symlink(f".bloscfs-linked-{n + i:016x}.b2frame",
                   f"src/l{i}.b2frame")
    with Mount("src", "mnt", wrap=("strace", "-f", "-qq", "-o", "trace",
                                   "-e", "trace=readlinkat")):
        names = sorted(e.name for e in os.scandir("mnt") if e.stat(
            follow_symlinks=False))
        assert len(names) == 2 * n + 1, len(names)
    with open("trace") as f:
        calls = sum("readlinkat" in line for line in f)
    # Reading the directory for each name takes more than n * n calls.
    assert calls < 100 * n, calls


def test_a_failed_look_costs_no_name():
    """One error of the disk, at each of the first looks at files or links."""
    with linked() as s:
        for call in "newfstatat", "readlinkat":
            for when in range(1, 31, 2):
                with failing(s.mount, f"{call}:error=EIO:when={when}"):
                    error_of(os.link, "mnt/a", "mnt/c")
                    error_of(os.unlink, "mnt/c")
                with contextlib.suppress(FileNotFoundError):
                    os.unlink("mnt/c")
                check({"text": ["a", "b"]})


def test_bloscctl_removes_no_frame_whose_names_the_disk_does_not_give():
    with linked():
        pass
    for call in "readlinkat", "newfstatat", "openat", "getdents64":
        for when in range(1, 31):
            # Another program made the name, without a slot.
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"src/{homes()[0]}/.link.1")
            subprocess.run(["strace", "-f", "-qq", "-o", "trace", "-e",
                            f"trace={call}", "-e",
                            f"inject={call}:error=EIO:when={when}+",
                            BUILD / "bloscctl", "rm", "src/a.b2frame"],
                           stderr=subprocess.DEVNULL)
            assert stock("src/b.b2frame") == "text", (call, when)
            if not os.path.lexists("src/a.b2frame"):
                os.symlink(homes()[0], "src/a.b2frame")


def test_slots_that_cannot_be_mended():
    """Symbolic links cannot be made, as in another user's directory or beyond a
    quota."""
    with linked() as s:
        s.stop()
        home = f"src/{homes()[0]}"
        os.unlink(f"{home}/.link.0")
        os.rename(f"{home}/.link.1", f"{home}/.link.0")
        s.start()
        # Only b has a slot; it stays when a is deleted, also for open descriptors.
        with open("mnt/b", "r+") as f:
            with failing(s.mount, "symlinkat:error=EDQUOT"):
                os.unlink("mnt/a")
            f.write("TEXT")
        check({"TEXT": ["b"]})
        check_stored({"TEXT": ["b"]})
        os.link("mnt/b", "mnt/c")
        s.stop()
        # The only slot names a foreign file.
        home = f"src/{homes()[0]}"
        os.unlink("src/b.b2frame")
        os.unlink(f"{home}/.link.1")
        put("src/b.b2frame", "other")
        assert names_of(home) == {"b.b2frame"}
        s.start()
        with failing(s.mount, "symlinkat:error=EDQUOT",
                     "unlinkat:error=EACCES"):
            assert error_of(os.unlink, "mnt/c") == errno.EACCES
        assert get("mnt/b.b2frame") == get("src/b.b2frame") == "other"
        assert get("mnt/c") == "TEXT"
        os.unlink("mnt/c")
        os.unlink("mnt/b.b2frame")
        assert shown() == []


# Each begins with the names a and b of "text" (and c where it is used), and with new.
VERBS = {
    "link": lambda m: os.link(f"{m}/new", f"{m}/d"),
    "link again": lambda m: os.link(f"{m}/a", f"{m}/d"),
    "unlink": lambda m: os.unlink(f"{m}/a"),
    "unlink of three": lambda m: os.unlink(f"{m}/c"),
    "rename": lambda m: os.rename(f"{m}/a", f"{m}/d"),
    "rename over a name": lambda m: os.rename(f"{m}/new", f"{m}/a"),
    "rename a name over": lambda m: os.rename(f"{m}/a", f"{m}/new"),
    "exchange": lambda m: exchange(f"{m}/a", f"{m}/new"),
}


def test_a_name_whose_slot_cannot_be_made_keeps_the_frame():
    """The only slot repeats the name that is removed."""
    with linked() as s:
        s.stop()
        home = f"src/{homes()[0]}"
        os.unlink(f"{home}/.link.1")
        assert names_of(home) == {"a.b2frame"}
        s.start()
        with failing(s.mount, "symlinkat:error=EDQUOT"):
            os.unlink("mnt/a")
        check({"text": ["b"]})


def test_a_name_that_another_program_has_made_keeps_the_frame():
    """The mount has not looked at it when another name is removed."""
    for remove in (lambda: os.unlink("mnt/a"),
                   lambda: os.rename("mnt/new", "mnt/a")):
        with linked():
            put("mnt/new", "new")
            os.symlink(homes()[0], "src/c.b2frame")
            remove()
            assert get("mnt/c") == get("mnt/b") == "text"
            os.unlink("mnt/b")
            assert get("mnt/c") == "text"
        shutil.rmtree("src")


def look(folder):
    return {name: get(f"{folder}/{name}") for name in shown(folder)}


def play_killed(verb, n):
    """Kills the daemon at change @n of @verb.  Returns whether it came that far."""
    calls = "symlinkat,renameat,renameat2,unlinkat"
    top = f"{verb}-{n}".replace(" ", "-")
    subprocess.run(["cp", "-a", "three" if "three" in verb else "two", top],
                   check=True)
    scratch = Scratch(FRESH, SPARSE, source=top)
    scratch.start()
    before = look("mnt")
    with traced(scratch, calls, f"signal=SIGKILL:when={n}"):
        killed = bool(error_of(VERBS[verb], "mnt"))
    scratch.kill()
    check_after_kill(verb, top, before)
    return killed


def check_after_kill(verb, top, before):
    os.mkdir("local")
    for name, text in before.items():
        put(f"local/{name}", text)
    VERBS[verb]("local")
    after = look("local")
    shutil.rmtree("local")
    with Mount(top, "mnt", "-o", f"{FRESH},{SPARSE}"):
        now = look("mnt")
        # An interrupted rename may leave both names.
        either = {name: {x[name] for x in (before, after) if name in x}
                  for name in before | after}
        for name, text in now.items():
            assert text in either.get(name, ()), (verb, name, now)
        for name in set(before) & set(after):
            assert name in now, (verb, name, now)
        assert set(now.values()) >= set(after.values()), (verb, now)
        for name in now:
            assert stock(f"{top}/{name}.b2frame") == now[name]
            st = os.stat(f"mnt/{name}")
            same = [n for n in now
                    if os.stat(f"mnt/{n}").st_ino == st.st_ino]
            assert st.st_nlink == len(same), (verb, name, st.st_nlink, same)
        for name in now:
            os.unlink(f"mnt/{name}")
        assert os.listdir("mnt") == []
    left = [n for n in os.listdir(top) if not os.path.islink(f"{top}/{n}")]
    assert left == [], left


def test_killed_at_any_moment():
    os.mkdir("two")
    with Mount("two", "mnt", "-o", SPARSE):
        put("mnt/a", "text")
        os.link("mnt/a", "mnt/b")
        put("mnt/new", "new")
    subprocess.run(["cp", "-a", "two", "three"], check=True)
    with Mount("three", "mnt", "-o", SPARSE):
        os.link("mnt/a", "mnt/c")
    for verb in VERBS:
        n = 1
        while play_killed(verb, n):
            n += 1
        assert n > 1, verb


main()
