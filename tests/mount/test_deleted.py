#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files that are deleted, or replaced, while they are open."""
import contextlib
import errno
import fcntl
import itertools
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import threading
import time

from mounting import (Mount, data, error_of, errors_of_making, failing, main,
                      make, overlay, signal_at, tmpfs, wait_until,
                      while_stopped)
from scratch import SPARSE, Scratch

HIDDEN = ".bloscfs-deleted"


def frames_left(top):
    """Indexes anywhere below @top."""
    return [f"{folder}/chunks.b2frame" for folder, _, files in os.walk(top)
            if "chunks.b2frame" in files]


def wait_for_none(top="src"):
    """Waits for deleted frames to go: close(2) does not."""
    wait_until(lambda: not frames_left(top), "deleted frames to go")


def test_frames_are_deleted_although_the_hidden_directory_is_gone():
    with Scratch(SPARSE):
        for name in "abc":
            pathlib.Path("mnt", name).write_bytes(b"text")
        os.unlink("mnt/a")
        # Each mount has a directory of its own there.
        own, = pathlib.Path("src", HIDDEN).iterdir()
        wait_until(lambda: not os.listdir(own), "it is empty")
        shutil.rmtree(f"src/{HIDDEN}")
        os.unlink("mnt/b")
        os.rename("mnt/c", "mnt/d")
        assert os.listdir("mnt") == ["d"]
        assert not os.path.exists("src/b.b2frame")


def test_a_frame_is_deleted_beyond_a_quota():
    for fault in ("EDQUOT:when=1", "EMLINK:when=1", "EDQUOT", "ENOSPC"):
        with Scratch(SPARSE) as s:
            pathlib.Path("mnt/a").write_bytes(b"text")
            with failing(s.mount, f"renameat:error={fault}"):
                os.unlink("mnt/a")
            assert os.listdir("mnt") == []


def test_what_others_delete_is_not_empty():
    """A new file keeps its size, and what cannot be read any more is an error."""
    os.mkdir("src")
    want = data(300000)
    with Mount("src", "mnt", "-o", f"rw,{SPARSE},chunksize=64k"), \
            open("mnt/f", "w+b", buffering=0) as f:
        f.write(want)
        os.fsync(f.fileno())
        shutil.rmtree("src/f.b2frame")
        assert os.fstat(f.fileno()).st_size == len(want)
        # The kernel has all pages but the last one, which is not full.
        assert error_of(os.pread, f.fileno(), 9, len(want) - 9) == errno.ESTALE


def test_what_is_not_open_goes_at_once():
    os.mkdir("src")
    with Mount("src", "mnt"):
        for n in range(20):
            pathlib.Path(f"mnt/{n}").write_bytes(data(100000))
            os.unlink(f"mnt/{n}")
            wait_for_none()
        # Data that were never stored go, too.
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
        os.mkdir("mnt/d")
        pathlib.Path("mnt/other").touch()
        for name in HIDDEN, f"{HIDDEN}-1", f"{HIDDEN}-1-1-1":
            path = f"mnt/{name}"
            assert error_of(os.stat, path) == errno.ENOENT
            assert errors_of_making(path, "mnt/other") == {errno.EPERM}
            assert error_of(os.rename, "mnt/d", path) == errno.EPERM
            assert error_of(os.rmdir, path) == errno.ENOENT
        os.unlink("mnt/other")
        number = "0123456789abcdef"
        for name in (f".bloscfs-linked-{number}.b2frame",
                     f".bloscfs-replaced-{number}-{number}",
                     f".bloscfs-replaced-{number}-{number}.b2frame"):
            path = f"mnt/{name}"
            assert error_of(os.mkdir, path) == errno.EPERM
            assert error_of(os.symlink, "x", path) == errno.EPERM
            assert error_of(os.mkfifo, path) == errno.EPERM
            assert error_of(os.rename, "mnt/d", path) == errno.EPERM
            # A frame is stored by another name, if there is one.
            for path in path, path.removesuffix(".b2frame"):
                with contextlib.suppress(FileExistsError):
                    os.close(os.open(path, os.O_CREAT))
                    assert name not in os.listdir("src")
                    os.unlink(path)
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
    # A frame whose deletion was interrupted.
    name = frames_left("src")[0]
    os.unlink(name)
    with Mount("src", "mnt", "-o", "ro"):
        assert os.listdir("mnt") == []
        assert os.listdir("src") == [HIDDEN]
    with Mount("src", "mnt"):
        assert os.listdir("src") == []


def test_what_cannot_go_is_told_and_goes_later():
    os.mkdir("src")
    make("src/a.b2frame", None)
    chunk = min(pathlib.Path("src/a.b2frame").glob("*.chunk"))
    subprocess.run(["chattr", "+i", chunk], check=True)
    try:
        with Mount("src", "mnt") as m:
            os.unlink("mnt/a")
            m.wait_for_log("a.b2frame was deleted, but is still in "
                           ".bloscfs-deleted: Operation not permitted")
        with Mount("src", "mnt") as m:
            assert os.listdir("mnt") == []
            m.wait_for_log("a deleted frame is still in .bloscfs-deleted: "
                           "Operation not permitted")
        # Nothing else is left.
        chunk, = pathlib.Path("src").rglob("*.chunk")
    finally:
        chunk, = pathlib.Path("src").rglob(chunk.name)
        subprocess.run(["chattr", "-i", chunk], check=True)
    with Mount("src", "mnt"):
        assert frames_left("src") == []
    assert os.listdir("src") == []


def test_what_others_planted_is_left_alone():
    """The owner of SOURCE must not reach files of the user who mounts it."""
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
            # That directory is foreign, so the file is hidden in its own directory.
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
    """It is hidden in its own directory, and moves up when that is removed."""
    with tmpfs("src/inside"):
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
            # The kernel forgets the directory a little later.
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


def test_a_folder_that_stays_does_not_keep_its_filesystem():
    os.makedirs("src/inside")
    subprocess.run(["mount", "-t", "tmpfs", "none", "src/inside"], check=True)
    os.makedirs("src/inside/d/e")
    with Mount("src", "mnt"):
        assert error_of(os.rmdir, "mnt/inside/d") == errno.ENOTEMPTY
        subprocess.run(["umount", "src/inside"], check=True)


def test_another_mount_begins_while_a_file_is_made():
    os.mkdir("src")
    with Mount("src", "mnt", "-o", SPARSE) as m, \
            failing(m, "mkdirat:delay_exit=1000000:when=1"):
        thread = threading.Thread(target=pathlib.Path("mnt/a").write_bytes,
                                  args=(b"text",))
        thread.start()
        wait_until(lambda: os.listdir("src"), "the new directory")
        with Mount("src", "other"):
            thread.join()
            assert pathlib.Path("other/a").read_bytes() == b"text"


def test_other_mounts_keep_off_however_few_descriptors_are_free():
    with tmpfs("src/inside"):
        make("src/inside/a.b2frame", None)
        with Mount("src", "mnt") as m, open("mnt/inside/a", "rb"):
            before = resource.prlimit(m.pid, resource.RLIMIT_NOFILE)
            for n in itertools.count(3):
                resource.prlimit(m.pid, resource.RLIMIT_NOFILE, (n, before[1]))
                if not error_of(os.unlink, "mnt/inside/a"):
                    break
            resource.prlimit(m.pid, resource.RLIMIT_NOFILE, before)
            fd = os.open(f"src/inside/{os.listdir('src/inside')[0]}", os.O_RDONLY)
            lock = fcntl.LOCK_EX | fcntl.LOCK_NB
            assert error_of(fcntl.flock, fd, lock) == errno.EWOULDBLOCK
            os.close(fd)


def test_files_of_others_are_kept():
    """Files that a user puts into the directory of a frame are kept."""
    os.mkdir("src")
    for name in "ab":
        make(f"src/{name}.b2frame", None)
        pathlib.Path(f"src/{name}.b2frame/notes.txt").write_text(name)
    with Mount("src", "mnt", "-o", SPARSE) as m:
        os.unlink("mnt/a")
        m.wait_for_log("do not belong")
        assert os.listdir("mnt/a.b2frame") == ["notes.txt"]
        # The name is taken, so they stay where the frame was hidden.
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


def test_the_file_of_another_program_is_kept():
    """It gets the name of the deleted frame meanwhile, and cannot be moved back."""
    os.mkdir("src")
    make("src/a.b2frame", None, seed=1)
    raw = make("src/b.b2frame", None, seed=2)
    with contextlib.ExitStack() as stack, \
            Mount("src", "mnt", wrap=signal_at(signal.SIGSTOP, 1, "renameat")) as m:
        with while_stopped(m, lambda: os.unlink("mnt/a")) as errors:
            os.rename("src/a.b2frame", "src/c.b2frame")
            os.rename("src/b.b2frame", "src/a.b2frame")
            stack.enter_context(failing(m, "renameat2:error=EIO"))
        assert errors == [errno.ENOENT], errors
        stack.close()
    with Mount("src", "mnt"):
        assert os.listdir("mnt") == ["c"]
    kept, = (x for x in frames_left("src") if HIDDEN in x)
    os.rename(os.path.dirname(kept), "src/a.b2frame")
    with Mount("src", "mnt"):
        assert pathlib.Path("mnt/a").read_bytes() == raw


def test_one_fault_does_not_end_the_hidden_directory():
    os.mkdir("src")
    for name in "ab":
        make(f"src/{name}.b2frame", None, nbytes=1000)
    with Mount("src", "mnt") as m, open("mnt/a", "rb"), open("mnt/b", "rb"):
        with failing(m, "mkdirat:error=EIO"):
            os.unlink("mnt/a")
        assert HIDDEN not in os.listdir("src")
        os.unlink("mnt/b")
        assert HIDDEN in os.listdir("src")


def test_on_a_full_disk():
    with tmpfs("src", "size=2m,nr_inodes=40"):
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


def test_what_is_known_of_a_file_without_a_name():
    """Calls by O_PATH and ordinary descriptors give the results of a local
    filesystem."""
    os.makedirs("src/templates")
    os.mkdir("local")
    kinds = {"sparse": 300000, "small": 1000, "contiguous": 3000, "plain": 10}
    content = {kind: data(size) for kind, size in kinds.items()}
    content["contiguous"] = make("src/templates/contiguous.b2frame", None,
                                 kind="contiguous", nbytes=3000)

    def put(kind, top):
        if top == "local" or kind in ("sparse", "small"):
            pathlib.Path(top, "x").write_bytes(content[kind])
        elif kind == "plain":
            pathlib.Path("src/x").write_bytes(content[kind])
        else:
            shutil.copy("src/templates/contiguous.b2frame", "src/x.b2frame")

    def play(top, kind, nlinks, replaces, was_open):
        put(kind, top)
        for i in range(1, nlinks):
            os.link(f"{top}/x", f"{top}/x{i}")
        if was_open:
            assert pathlib.Path(top, "x").read_bytes() == content[kind]
        fd = os.open(f"{top}/x", os.O_PATH)
        os.fstat(fd)
        if replaces:
            pathlib.Path(top, "new").write_bytes(b"new")
            os.rename(f"{top}/new", f"{top}/x")
        else:
            os.unlink(f"{top}/x")
        seen = [os.fstat(fd)]
        for name in os.listdir(top):
            if name.startswith("x"):
                os.unlink(f"{top}/{name}")
        seen.append(os.fstat(fd))
        os.close(fd)
        return [(st.st_size, st.st_nlink, st.st_mode) for st in seen]

    with Mount("src", "mnt", "-o", "attr_timeout=0,entry_timeout=0"):
        for case in itertools.product(kinds, (1, 2), (False, True),
                                      (False, True)):
            want, got = play("local", *case), play("mnt", *case)
            # The last name of a frame that is a directory goes with it.
            assert got[0] == want[0], (case, got, want)
            assert got[1] == want[1], (case, got, want)


def test_a_name_that_another_program_took_away():
    """While another request has its file open, stat(2) gives the old size or fails; it
    never gives 0 bytes."""
    os.mkdir("src")
    make("src/x.b2frame", None, kind="contiguous", nbytes=3000)
    os.link("src/x.b2frame", "src/y.b2frame")
    slow = "inject=listxattr,flistxattr,llistxattr:delay_enter=1500000"
    with Mount("src", "mnt", "-o", "attr_timeout=0,entry_timeout=0",
               wrap=("strace", "-f", "-o", "calls", "-e", slow)):
        fd = os.open("mnt/x", os.O_PATH)
        assert os.fstat(fd).st_size == 3000
        thread = threading.Thread(target=os.listxattr, args=("mnt/x",))
        thread.start()
        # If it begins later, there is nothing to see.
        time.sleep(.4)
        os.unlink("src/x.b2frame")
        try:
            assert os.fstat(fd).st_size == 3000
        except OSError as e:
            assert e.errno == errno.ESTALE, e
        thread.join()
        os.close(fd)
        assert os.stat("mnt/y").st_size == 3000


def test_set_id_bits_look_the_same_for_every_size():
    os.mkdir("src")
    with Mount("src", "mnt", "-o", "suid,attr_timeout=0"):
        for mode in 0o6666, 0o4755, 0o6770, 0o2711, 0o1777:
            shown = set()
            for size in 100, 300000:
                path = pathlib.Path(f"mnt/{size}")
                path.write_bytes(bytes(size))
                path.chmod(mode)
                shown.add(oct(path.stat().st_mode))
            assert len(shown) == 1, (oct(mode), shown)


def test_what_takes_the_name_in_a_lower_layer_is_kept():
    with tmpfs("disk"):
        os.mkdir("disk/low")
        make("disk/low/a.b2frame", None)
        with overlay("disk/low"):
            raw = make("src/b.b2frame", None, seed=2)
            with Mount("src", "mnt", "-o", "attr_timeout=0,entry_timeout=0",
                       wrap=signal_at(signal.SIGSTOP, 1, "unlinkat")) as m:
                with while_stopped(m, lambda: os.unlink("mnt/a")):
                    shutil.rmtree("src/a.b2frame")
                    os.rename("src/b.b2frame", "src/a.b2frame")
                assert pathlib.Path("mnt/a").read_bytes() == raw


def test_in_a_lower_layer_of_overlayfs():
    """Where directories cannot be renamed, a sparse frame is deleted,
    replaced, and moved by mv all the same."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(tmpfs("disk"))
        os.makedirs("disk/low/d")
        raw = {name: make(f"disk/low/{name}.b2frame", None, seed=seed)
               for seed, name in enumerate(["a", "b", "c", "e", "f", "d/g", "h"])}
        stack.enter_context(overlay("disk/low"))
        with Mount("src", "mnt", "-o", SPARSE) as m:
            os.unlink("mnt/a")
            with failing(m, "fsync:error=EIO"):
                os.unlink("mnt/h")
            shutil.rmtree("mnt/h.b2frame")
            # It is deleted at once, with a message.
            with open("mnt/b", "rb", buffering=0) as f:
                os.unlink("mnt/b")
                assert os.fstat(f.fileno()).st_nlink == 0
                assert error_of(os.pread, f.fileno(), 10, 1 << 19) in (
                    0, errno.ESTALE)
            pathlib.Path("mnt/new").write_bytes(data(300000))
            os.rename("mnt/new", "mnt/c")
            assert pathlib.Path("mnt/c").read_bytes() == data(300000)
            assert error_of(os.link, "mnt/e", "mnt/e2") == errno.EPERM
            assert error_of(os.rename, "mnt/e", "mnt/moved") == errno.EXDEV
            assert error_of(os.rename, "mnt/e", "mnt/f") == errno.EXDEV
            for name in "e", "f":
                assert pathlib.Path("mnt", name).read_bytes() == raw[name]
            subprocess.run(["mv", "mnt/e", "mnt/moved"], check=True)
            subprocess.run(["mv", "mnt/f", "mnt/d/g"], check=True)
            pathlib.Path("mnt/moved").chmod(0o600)
            shown = {"c": data(300000), "moved": raw["e"], "d/g": raw["f"]}

            def check():
                found = {str(p.relative_to("mnt")): p.read_bytes()
                         for p in pathlib.Path("mnt").rglob("*") if p.is_file()}
                assert found == shown, found.keys()

            check()
        with Mount("src", "mnt"):
            check()
            subprocess.run(["rm", "-r", "mnt/d"], check=True)
        assert {*os.listdir("src")} == {"c.b2frame", "moved.b2frame"}


main()
