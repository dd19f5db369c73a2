#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Durability: the system calls that make data survive a loss of power."""
import contextlib
import errno
import mmap
import os
import pathlib
import re
import shutil
import threading
import time

import blosc2

from committing import (CHUNK, Traced, append, fsync, incompressible, mounted,
                        rewrite, write)
from mounting import BUILD, data, error_of, main, signal_at, wait_until
from scratch import INDEX, SPARSE, check_stock, litter, stock_bytes as stock
from small import LIMIT, SMALL, check
from syscalls import exchange


def test_a_new_link_is_durable_after_fsync():
    for option in SPARSE, SMALL:
        with Traced(option, "commit=600") as t:
            write("mnt/a")
            fsync("mnt/a")
            os.link("mnt/a", "mnt/b")
            assert t.during(lambda: fsync("mnt/a"), "fsync", "syncfs") >= 1
        shutil.rmtree("src")


def test_new_files_are_written_out_before_their_names():
    """The journal may keep names before the data."""
    with Traced(SPARSE, "commit=600", inject=["renameat:delay_enter=0"]):
        write("mnt/a", incompressible(100000))
        calls = pathlib.Path("trace").read_text().split('"chunks.b2frame")')[-2]
        assert len(re.findall(r"sync_file_range\(.*WAIT_AFTER", calls)) >= 2


def test_a_file_that_is_no_frame_is_synced():
    os.mkdir("src")
    write("src/plain")
    with Traced("commit=600") as t, open("mnt/plain", "r+b", buffering=0) as f:
        for sync in os.fsync, os.fdatasync:
            f.write(b"x")
            assert t.during(lambda s=sync: s(f.fileno()), "fsync") == 1


# The least number of syncs of a new file, of a change, and of a file before it takes
# the name of another one: chunks, index, the frame's directory, and the directory with
# the name; or data, header, and that directory.
LEAST = {SPARSE: (4, 3, 3), SMALL: (2, 2, 1)}


def test_what_is_durable_when():
    for form in LEAST:
        check_what_is_durable_when(form, *LEAST[form])
        shutil.rmtree("src")


def check_what_is_durable_when(form, of_new, of_change, of_name):
    with Traced(form, "commit=600") as t:
        # No older state can be lost.
        assert t.during(lambda: write("mnt/a"), "fsync", "syncfs") == 0
        assert t.during(lambda: write("mnt/b"), "fsync", "syncfs") == 0
        assert t.during(lambda: rewrite("mnt/b"), "fsync") == 0
        with open("mnt/a", "r+b", buffering=0) as f:
            f.write(b"x")
            assert t.during(lambda: os.fsync(f.fileno()), "fsync") >= of_new
            assert t.during(lambda: os.fsync(f.fileno()), "fsync") == 0
        # From now on an older state could be lost.
        assert t.during(lambda: rewrite("mnt/a"), "fsync") >= of_change
        # The header of a file is synced without the journal.
        assert (" fdatasync(" in pathlib.Path("trace").read_text()) >= (form == SMALL)
        assert t.during(lambda: fsync("mnt"), "fsync") == 1
    # The end of the mount syncs the filesystem once.
    assert t.count("syncfs") == 1
    with Traced(form, "commit=600") as t:
        # A file is durable before it replaces a durable one.
        write("mnt/tmp")
        assert t.during(lambda: os.rename("mnt/tmp", "mnt/a"),
                        "fsync") >= of_name
        write("mnt/tmp")
        assert t.during(lambda: os.rename("mnt/tmp", "mnt/x"), "fsync") == 0
        # Neither the old file nor the new one is durable.
        write("mnt/tmp")
        assert t.during(lambda: os.rename("mnt/tmp", "mnt/x"), "fsync") == 0
        with open("mnt/tmp", "wb", buffering=0) as f:
            f.write(b"open")
            assert t.during(lambda: os.rename("mnt/tmp", "mnt/a"),
                            "fsync") >= of_new
        # A file that gets its name by an exchange is durable, too.
        write("mnt/tmp")
        assert t.during(lambda: exchange("mnt/tmp", "mnt/a"),
                        "fsync") >= of_name
        write("mnt/new")
        assert t.during(lambda: exchange("mnt/a", "mnt/new"),
                        "fsync") >= of_name
        os.unlink("mnt/new")
        os.unlink("mnt/tmp")
        write("mnt/y")
        write("mnt/z")
        assert t.during(lambda: exchange("mnt/y", "mnt/z"), "fsync") == 0
        # Reading it makes nothing durable.
        write("mnt/tmp")
        assert t.during(pathlib.Path("mnt/tmp").read_bytes, "fsync") == 0
        assert t.during(lambda: os.rename("mnt/tmp", "mnt/a"),
                        "fsync") >= of_name
    with Traced(form, "commit=1") as t:
        write("mnt/c")
        wait_until(lambda: t.count("syncfs"), "syncfs")
        t.wait_for_rest()
        # After a syncfs, a new file is synced all the same.  (If this machine
        # stands still for a second, another syncfs does it.)
        before = t.count("syncfs")
        write("mnt/tmp")
        assert t.during(lambda: os.rename("mnt/tmp", "mnt/c"),
                        "fsync") >= of_name or t.count("syncfs") > before
        # Open for reading it stays open, and becomes durable all the same.
        with open("mnt/e", "wb"), open("mnt/e", "rb"):
            before = t.count("fsync")
            write("mnt/e")
            # Chunk, index, directory; a sync may have done the rest.
            wait_until(lambda: t.count("fsync") >= before + of_change, "fsync")
    pathlib.Path("src/plain").write_text("plain")
    with Traced(form, "sync") as t:
        assert t.during(lambda: write("mnt/d"), "fsync") >= of_new
        assert t.during(lambda: os.truncate("mnt/d", 1),
                        "fsync") >= of_change
        # Plain files as well.
        assert t.during(lambda: rewrite("mnt/plain"), "fsync") >= 1
        assert t.during(pathlib.Path("mnt/plain").read_bytes, "fsync") == 0
    assert t.count("syncfs") == 0


def test_a_file_of_many_chunks_is_durable_before_it_replaces_another():
    with Traced(SPARSE, "commit=600") as t:
        write("mnt/a")
        fsync("mnt/a")
        write("mnt/tmp", incompressible(70 * CHUNK))
        before = t.count("fsync"), t.count("syncfs")
        os.rename("mnt/tmp", "mnt/a")
        assert t.count("fsync") - before[0] >= 70 or t.count("syncfs") > before[1]


def test_files_that_are_no_frames_are_durable_as_well():
    os.mkdir("src")
    for name in "plain", "other", "tmp":
        pathlib.Path("src", name).write_text("plain")
    for change in (lambda: rewrite("mnt/plain"),
                   lambda: os.truncate("mnt/plain", 1),
                   lambda: os.rename("mnt/other", "mnt/moved")):
        with Traced("commit=600") as t:
            change()
        assert t.count("syncfs") == 1
    with Traced("commit=600") as t:
        pathlib.Path("mnt/plain").read_bytes()
    assert t.count("syncfs") == 0
    with Traced("commit=600") as t:
        assert t.during(lambda: os.rename("mnt/tmp", "mnt/plain"), "fsync") == 1
    with Traced("commit=600", inject=["syncfs:error=EIO"]) as t:
        rewrite("mnt/plain")
        t.mount.status = 8
    assert "no frames may be lost" in t.mount.log()


def test_what_a_reader_has_synced_is_not_lost_to_a_later_writer():
    for form, least in (SPARSE, 3), (f"small={CHUNK}", 1):
        with Traced(form, "commit=600") as t:
            for name in "mnt/again", "mnt/over":
                with open(name, "wb", buffering=0) as w:
                    w.write(b"first")
                    r = open(name, "rb")
                with r:
                    os.fsync(r)
                    if name == "mnt/again":
                        assert t.during(lambda: rewrite(name),
                                        "fsync") >= least, form
                    else:
                        write("mnt/tmp")
                        assert t.during(lambda: os.rename("mnt/tmp", name),
                                        "fsync") >= least, form
        os.rename("src", f"src-{least}")


def test_what_is_synced_while_it_is_closed_is_durable():
    """close(2) returns before the daemon has closed the frame."""
    with Traced(SPARSE, "commit=600",
                inject=["flock:delay_enter=500000"]) as t:
        write("mnt/a")
        fsync("mnt/a")
        write("mnt/tmp")
        exchange("mnt/tmp", "mnt/a")
        time.sleep(1)
        write("mnt/tmp2")
        assert t.during(lambda: os.rename("mnt/tmp2", "mnt/a"), "fsync") >= 3


def test_a_file_is_synced_in_time_while_a_reader_keeps_it_open():
    for form in SPARSE, f"small={CHUNK}":
        with Traced(form, "commit=1") as t:
            write("mnt/f")
            with open("mnt/f", "rb") as r:
                for i in range(3):
                    before = t.count("fsync", "syncfs")
                    append("mnt/f", b"line")
                    wait_until(lambda: t.count("fsync", "syncfs") > before,
                               f"a sync of line {i}, {form}")
                # All is durable: nothing is left for fsync.
                wait_until(lambda: t.during(lambda: os.fsync(r),
                                            "fsync") == 0, form)
            os.unlink("mnt/f")


def test_a_small_file_that_is_closed_is_left_to_a_sync():
    """Like a sparse frame; the file itself tells its filesystem."""
    with Traced("commit=1", f"small={CHUNK}") as t:
        for i in range(3):
            with open(f"mnt/{i}", "wb") as f:
                before = t.count("syncfs", "fsync")
                wait_until(lambda: t.count("syncfs", "fsync") > before, "one")
                f.write(b"written")
    assert "sync later" not in t.mount.log(), t.mount.log()


# Root's daemon without the right to open everything.
WEAK = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]


def wrapped(command, *options):
    t = Traced(*options)
    at = t.mount.args.index(str(BUILD / "bloscfs"))
    # The leak sanitizer cannot work below strace.
    t.mount.args[at:at] = [f"{word}:detect_leaks=0"
                           if word.startswith("ASAN_OPTIONS=") else word
                           for word in command]
    return t


def test_a_sync_does_not_need_the_directory():
    """The daemon may write to it, but not read it."""
    os.makedirs("src/d")
    os.chmod("src/d", 0o300)
    with wrapped(WEAK, "commit=1", f"small={CHUNK}") as t:
        write("mnt/d/f")
        wait_until(lambda: t.count("syncfs"), "syncfs")
        write("mnt/d/g")
        fsync("mnt/d/g")
        # Nor a file that only its name is needed of.
        for name in "old.txt", "new.txt":
            pathlib.Path(f"src/d/{name}").write_text(name)
            os.chmod(f"src/d/{name}", 0)
        os.rename("mnt/d/new.txt", "mnt/d/old.txt")


def test_a_file_that_cannot_be_read_is_durable_before_it_replaces_another():
    with wrapped(WEAK, SPARSE, "commit=600") as t:
        write("mnt/a")
        fsync("mnt/a")
        write("mnt/tmp")
        os.chmod("mnt/tmp", 0)
        t.mount.wait_until_closed("src/tmp.b2frame")
        assert t.during(lambda: os.rename("mnt/tmp", "mnt/a"), "syncfs") == 1


@contextlib.contextmanager
def in_fsync(request):
    """Runs @request in a thread; the block runs while its first fsync(2) is held."""
    armed = pathlib.Path("armed")
    thread = threading.Thread(target=request)
    armed.touch()
    thread.start()
    try:
        wait_until(pathlib.Path("armed.held").exists, "an fsync")
        yield
    finally:
        armed.unlink()
        thread.join()


def test_a_name_that_changes_during_its_sync_is_not_durable():
    """A close waits for that; the kernel would delay a rename until the end of an fsync
    or a write."""
    with wrapped(signal_at(0, 1, "fsync"), SPARSE, "sync") as t:
        write("mnt/a")
        os.rename("mnt/a", "mnt/b")
        with in_fsync(open("mnt/b", "r+b").close):
            os.rename("mnt/b", "mnt/c")
        assert t.during(lambda: fsync("mnt/c"), "fsync") == 1


def test_what_is_written_and_closed_during_its_sync_is_not_durable():
    """By a map: the kernel delays other writes until the end of the rename."""
    def change():
        with open("mnt/tmp", "r+b") as f, mmap.mmap(f.fileno(), 0) as m:
            m[0] += 1

    with wrapped(signal_at(0, 1, "fsync"), SPARSE, "commit=600") as t:
        write("mnt/a")
        fsync("mnt/a")
        write("mnt/tmp")
        t.mount.wait_until_closed("src/tmp.b2frame")
        thread = threading.Thread(target=change)
        with in_fsync(lambda: os.rename("mnt/tmp", "mnt/a")):
            nfds = len(t.mount.open_fds())
            thread.start()
            thread.join(10)
            # Some kernels delay the close, too.
            closed = not thread.is_alive()
            if closed:
                wait_until(lambda: len(t.mount.open_fds()) <= nfds, "a close")
        thread.join()
        assert t.during(lambda: fsync("mnt/a"), "fsync") >= 4 or not closed


def test_fsync_is_of_what_was_written_before_it_was_opened_too():
    with Traced("commit=600") as t:
        for name in "mnt/a", "mnt/b", "mnt/c", "mnt/d":
            write(name, data(3 * CHUNK))
            time.sleep(.2)
        # Chunk, index, directory, folder; and nothing once that is done.
        assert t.during(lambda: fsync("mnt/a"), "fsync") >= 4
        assert t.during(lambda: fsync("mnt/a"), "fsync") == 0
        # The kernel forgets the inode, and so does the mount.
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("2")
        time.sleep(.2)
        assert t.during(lambda: fsync("mnt/d"), "fsync") >= 3
        # Three chunks that were there, and a new one.
        with open("mnt/b", "ab", buffering=0) as f:
            f.write(b"more")
            assert t.during(lambda: os.fsync(f.fileno()), "fsync") >= 8
            assert t.during(lambda: os.fsync(f.fileno()), "fsync") == 0
        # Still no older state can be lost.
        assert t.during(lambda: rewrite("mnt/c"), "fsync", "syncfs") == 0
        assert t.during(lambda: fsync("mnt/c"), "fsync") >= 6


def wait_until_settled(count):
    """Waits until the daemon makes no more of the calls that @count counts."""
    before = None
    while (now := count()) != before:
        before = now
        time.sleep(.3)


def opens_and_syncs_of_fsync(when):
    """The range of numbers of its openat(2), and the calls of fsync(2), or None if it
    fails; the openat with the number @when fails."""
    t = Traced(SPARSE, "commit=600", inject=[f"openat:error=ENOMEM:when={when}"])
    # In one thread each run opens the same files.
    t.mount.args.append("-s")
    with t:
        write("mnt/a")
        with open("mnt/a", "rb") as f:
            # The kernel sends the close after close(2).
            wait_until_settled(lambda: t.count("openat"))
            first, syncs = t.count("openat"), t.count("fsync")
            failed = error_of(os.fsync, f.fileno())
            syncs = None if failed else t.count("fsync") - syncs
            opens = range(first + 1, t.count("openat") + 1)
    # Not by the mount, whose openat may fail only now.
    shutil.rmtree("src")
    return opens, syncs


def test_fsync_tells_of_files_that_cannot_be_opened():
    opens, all_syncs = opens_and_syncs_of_fsync(60000)
    for when in opens:
        assert opens_and_syncs_of_fsync(when)[1] in (None, all_syncs), when


def test_an_empty_file_and_a_new_name_are_made_durable_too():
    with Traced(SPARSE, "commit=600") as t:
        for name in "mnt/a", "mnt/b", "mnt/c":
            pathlib.Path(name).touch()
        write("mnt/old")
        fsync("mnt/old")
        # Index, directory, the folder with the name.
        assert t.during(lambda: fsync("mnt/a"), "fsync") >= 3
        assert t.during(lambda: fsync("mnt/a"), "fsync") == 0
        with open("mnt/b", "ab") as f:
            assert t.during(lambda: os.fsync(f.fileno()), "fsync") >= 3
            assert t.during(lambda: os.fsync(f.fileno()), "fsync") == 0
        # It replaces a durable file, without an fsync.
        assert t.during(lambda: os.rename("mnt/c", "mnt/old"), "fsync") >= 2
        # fsync also makes the new name durable, as on ext4.
        os.rename("mnt/a", "mnt/z")
        assert t.during(lambda: fsync("mnt/z"), "fsync") == 1
        assert t.during(lambda: fsync("mnt/z"), "fsync") == 0
        # An empty file that is durable could be lost, like any other.
        assert t.during(lambda: write("mnt/b"), "fsync") >= 4


def test_fsync_is_of_what_was_written_before_others_changed_it_too():
    with Traced("commit=600") as t:
        a = open("mnt/a", "wb", buffering=0)
        with open("mnt/a", "r+b", buffering=0) as f:
            a.write(data(3 * CHUNK))
            a.close()
            s = blosc2.open("src/a.b2frame", mode="a")
            s.vlmeta["by"] = "somebody else"
            del s
            # The mount goes on with the frame on disk.
            wait_until(lambda: not error_of(os.getxattr, "mnt/a",
                                            "user.blosc2.vlmeta.by"),
                       "the other's change")
            time.sleep(1.5)
            assert t.during(lambda: os.fsync(f.fileno()), "fsync") >= 6
            assert t.during(lambda: os.fsync(f.fileno()), "fsync") == 0


def test_what_others_wrote_is_durable_before_our_index_names_it():
    with Traced("commit=600") as t:
        write("mnt/a", data(8 * CHUNK))
        fsync("mnt/a")
        with open("mnt/a", "r+b", buffering=0) as f:
            f.write(b"begin")
            os.fsync(f.fileno())
            f.write(b"more")
            blosc2.open("src/a.b2frame", mode="a").append_data(
                bytes(range(256)) * (CHUNK // 256))
            # All nine chunk files, the index, the directory.
            assert t.during(lambda: os.fsync(f.fileno()), "fsync") >= 11
            f.write(b"more")
            assert t.during(lambda: os.fsync(f.fileno()), "fsync") <= 6


def test_a_synchronous_write_is_durable_when_it_returns():
    """Also with O_DIRECT, for which the kernel sends no fsync."""
    os.mkdir("src")
    pathlib.Path("src/plain").write_text("plain")
    page = mmap.mmap(-1, 4096)
    for option, sync, dsync in ("direct_io", 1, 2), ("rw", 0, 1):
        with Traced(option, SPARSE, "commit=600") as t:
            for flag in os.O_SYNC, os.O_DSYNC, os.O_DSYNC | os.O_DIRECT:
                fd = os.open("mnt/frame", os.O_CREAT | os.O_RDWR | flag)
                page[0] += 1
                syncs = t.during(lambda: os.pwrite(fd, page, 0), "fsync")
                assert syncs >= 3, (option, flag, syncs)
                assert stock("src/frame.b2frame") == page[:]
                os.close(fd)
                fd = os.open("mnt/plain", os.O_RDWR | flag)
                os.pwrite(fd, page, 0)
                os.close(fd)
        calls = pathlib.Path("trace").read_text()
        assert calls.count("RWF_SYNC") == sync
        assert calls.count("RWF_DSYNC") == dsync


def files_of(name):
    """Inode numbers by name, as readdir(3) has them: a commit may rename files now."""
    with os.scandir(f"src/{name}.b2frame") as entries:
        return {e.name: e.inode() for e in entries if "chunk" in e.name}


def test_what_a_sync_failed_for_is_written_anew():
    """The kernel reports an error once; another sync would succeed."""
    want = data(3 * CHUNK)
    failed = "reading and writing again"
    for when in "timer", "end":
        with Traced(f"commit={4 if when == 'timer' else 600}",
                    inject=["syncfs:error=EIO:when=1"]) as t:
            write("mnt/closed", want)
            before = files_of("closed")
            with open("mnt/open", "wb", buffering=0) as f:
                f.write(want)
                os.close(os.dup(f.fileno()))
                if when == "timer":
                    t.mount.wait_for_log(failed)
                    wait_until(lambda: not before.items() &
                               files_of("closed").items(), "new files")
                    os.fsync(f.fileno())
            if when == "timer":
                t.wait_for_rest()
                # The timer has synced all: nothing is left to do.
                assert t.during(lambda: (fsync("mnt/closed"),
                                         fsync("mnt/open")), "fsync") == 0
        assert failed in t.mount.log()
        assert not before.items() & files_of("closed").items()
        for name in "closed", "open":
            assert stock(f"src/{name}.b2frame") == want
            os.rename(f"src/{name}.b2frame", f"src/{when}-{name}.b2frame")
        os.unlink("log")


def test_a_file_that_another_program_renamed_is_written_anew_too():
    for form in SPARSE, f"small={CHUNK}":
        with Traced(form, "commit=4", inject=["syncfs:error=EIO:when=1"]) as t:
            write("mnt/a")
            os.rename("src/a.b2frame", "src/b.b2frame")
            t.mount.wait_for_log("reading and writing again")
            assert t.during(lambda: fsync("mnt/b"), "fsync") > 0, form
        os.unlink("log")
        os.rename("src", form)


def test_a_file_with_the_number_of_a_deleted_one_is_written_anew_too():
    """Another program deletes the first one, of which the mount does not hear."""
    with Traced(f"small={CHUNK}", "commit=4",
                inject=["syncfs:error=EIO:when=1"]) as t:
        for _ in range(100):
            write("mnt/gone")
            number = os.stat("src/gone.b2frame").st_ino
            os.unlink("src/gone.b2frame")
            write("mnt/new", b"new")
            if os.stat("src/new.b2frame").st_ino == number:
                break
            os.unlink("mnt/new")
        before = pathlib.Path("src/new.b2frame").read_bytes()
        t.mount.wait_for_log("reading and writing again")
        wait_until(lambda: pathlib.Path("src/new.b2frame").read_bytes() != before,
                   "written anew")
    assert stock("src/new.b2frame") == b"new"


def is_told_of(form, n):
    old, new = f"mnt/old{n}", f"mnt/new{n}"
    with mounted(form):
        write(old, b"old")
    with Traced(form, "commit=1", inject=["syncfs:error=EIO:when=1",
                                          "fsync:error=EIO"]) as t:
        t.mount.status = 8
        if error_of(write, new, b"new"):
            return False
        t.mount.wait_for_log("not durable")
        assert error_of(fsync, new) == errno.EIO
        assert error_of(os.rename, new, old) == errno.EIO
        assert pathlib.Path(old).read_bytes() == b"old"
        assert pathlib.Path(new).read_bytes() == b"new"
        return True


def test_what_cannot_be_made_durable_is_told_of():
    for form in SPARSE, SMALL:
        # Where another program syncs the disk in between, the close of a file in one
        # piece syncs and fails.
        assert any(is_told_of(form, n) for n in range(20 if form == SMALL else 1))
        os.unlink("log")
        shutil.rmtree("src")


def header_of(name):
    """The file with the header of the frame of mnt/@name."""
    path = pathlib.Path(f"src/{name}.b2frame")
    return path / INDEX if path.is_dir() else path


def test_a_blank_header_is_an_empty_file():
    """A loss of power leaves a file that was just made."""
    uses = {
        "written": lambda p: write(p, b"anew"),
        "truncated": lambda p: os.close(os.open(p, os.O_WRONLY | os.O_TRUNC)),
        "appended": lambda p: append(p, b"anew"),
        "resized": lambda p: os.truncate(p, 0),
        "read": None, "unlinked": os.unlink,
    }
    for form, first, size in (SPARSE, b"", None), (SMALL, b"lost", 4096):
        with mounted(form):
            for name in uses:
                write(f"mnt/{name}", first)
        for n, header in enumerate(map(header_of, uses)):
            before = header.stat().st_size
            os.truncate(header, 0)
            if n % 2:
                os.truncate(header, size or before)
            if form == SPARSE:
                # A leftover of its first commit.
                (header.parent / ".00000000.new").write_bytes(b"no index names it")
        with mounted(form):
            for name, use in uses.items():
                path = f"mnt/{name}"
                assert os.stat(path).st_size == 0
                assert pathlib.Path(path).read_bytes() == b""
                if not use:
                    continue
                use(path)
                if name == "unlinked":
                    assert not os.path.exists(path)
                    continue
                want = b"anew" if name in ("written", "appended") else b""
                assert pathlib.Path(path).read_bytes() == want
                wait_until(lambda: stock(f"src/{name}.b2frame") == want, name)
                if form == SMALL:
                    check(want, True, header_of(name))
            # An empty index with a chunk beside it is a lost one.
            write("mnt/lost")
        if form == SPARSE:
            os.truncate(header_of("lost"), 0)
            with mounted():
                assert error_of(open, "mnt/lost") == errno.EIO
        shutil.rmtree("src")


def damage(header, n):
    """Damages an index, or the header of a file behind the magic, so that it still
    counts as a frame."""
    raw = header.read_bytes()
    header.write_bytes(b"garbage" * n if header.name == INDEX else (
        raw[:10], raw[:40], raw[:16] + b"?" * 8 + raw[24:],
        raw[:-9] + b"?" + raw[-8:])[n])


def test_what_is_damaged_can_be_cut_to_nothing():
    """Such a file is an empty file; no other damage makes it one."""
    cuts = {
        "opened": lambda p: open(p, "wb").close(),
        "written": lambda p: write(p, b"anew"),
        "only_read": lambda p: os.close(os.open(p, os.O_RDONLY | os.O_TRUNC)),
        "by_name": lambda p: os.truncate(p, 0),
    }
    more = incompressible(2 * LIMIT)
    for form in SPARSE, SMALL:
        with mounted(form):
            for name in cuts:
                write(f"mnt/{name}", incompressible(3000))
                os.chmod(f"mnt/{name}", 0o640)
        for n, name in enumerate(cuts):
            damage(header_of(name), n)
        with mounted(SMALL, "commit=600"):
            for name, cut in cuts.items():
                path, frame = f"mnt/{name}", pathlib.Path(f"src/{name}.b2frame")
                for flags in os.O_RDONLY, os.O_RDWR:
                    assert error_of(os.open, path, flags) == errno.EIO, name
                assert error_of(os.truncate, path, 1) == errno.EIO
                cut(path)
                want = b"anew" if name == "written" else b""
                assert pathlib.Path(path).read_bytes() == want
                check_stock(frame, want)
                assert frame.is_file() == (form == SMALL)
                assert os.stat(path).st_mode & 0o7777 == 0o640
                append(path, more)
                check_stock(frame, want + more)
                assert frame.is_file() == (form == SMALL and bool(want))
                assert not frame.is_file() or not litter(frame), litter(frame)
        for name in cuts:
            want = (b"anew" if name == "written" else b"") + more
            check(want, form == SMALL and name == "written",
                  pathlib.Path(f"src/{name}.b2frame"))
        shutil.rmtree("src")


if __name__ == "__main__":
    main()
