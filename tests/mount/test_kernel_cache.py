#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The kernel's cache of file data, and its writes from there.

Other programs, C-Blosc2 among them, change SOURCE meanwhile.
"""
import ctypes
import mmap
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import sys
import threading
import time

import blosc2
import numpy as np

from mounting import (Mount, failing, in_threads, main, signal_at, tmpfs,
                      wait_until)
from scratch import SPARSE, Scratch, stock_bytes

MNT, SRC = pathlib.Path("mnt"), pathlib.Path("src")
MIB, CHUNK = 1 << 20, 64 << 10


def test_what_is_not_written_back_is_an_error():
    """The kernel takes only an error, not the number of stored bytes."""
    with tmpfs(SRC, "size=700k"):
        with open(SRC / "plain", "wb") as f:
            f.truncate(MIB)
        # Without the daemon, the map itself would end the program.
        with Scratch("nopassthrough"), open(MNT / "plain", "r+b") as f:
            with mmap.mmap(f.fileno(), 0) as m:
                m[:] = want = os.urandom(MIB)
                try:
                    m.flush()
                    said = True
                except OSError:
                    said = False
        assert not said or (SRC / "plain").read_bytes() == want


def test_a_large_append_past_the_cache_stays_in_order():
    """The kernel sends a large write in parts."""
    SRC.mkdir()
    (SRC / "plain").touch()
    want = b"".join(bytes([i]) * MIB for i in range(8))
    # O_DIRECT wants whole pages, in memory too.
    buf = mmap.mmap(-1, len(want))
    buf[:] = want
    with Scratch():
        for _ in range(20):
            fd = os.open(MNT / "plain", os.O_WRONLY | os.O_APPEND | os.O_DIRECT)
            os.truncate(MNT / "plain", 0)
            assert os.write(fd, buf) == len(want)
            os.close(fd)
            assert (SRC / "plain").read_bytes() == want


class Aio:
    """Asynchronous writes as io_submit(2) takes them."""

    def __init__(self, n):
        self.context, self.libc = ctypes.c_ulong(), ctypes.CDLL(None)
        self.libc.syscall.restype = ctypes.c_long
        assert self.call("io_setup", n, ctypes.byref(self.context)) == 0

    def call(self, name, *args):
        numbers = {"io_setup": (206, 0), "io_destroy": (207, 1),
                   "io_getevents": (208, 4), "io_submit": (209, 2)}
        number = numbers[name][os.uname().machine != "x86_64"]
        args = [ctypes.c_long(a) if isinstance(a, int) else a for a in args]
        return self.libc.syscall(ctypes.c_long(number), *args)

    def write(self, fd, buf, part):
        """Writes @buf in parts that are all under way at once."""
        base = ctypes.addressof(ctypes.c_char.from_buffer(buf))
        n = len(buf) // part
        blocks = [ctypes.create_string_buffer(struct.pack(
            "=QIIHhIQQq16x", i, 0, 0, 1, 0, fd, base + i * part, part,
            i * part)) for i in range(n)]
        pointers = (ctypes.c_void_p * n)(*map(ctypes.addressof, blocks))
        assert self.call("io_submit", self.context.value, n, pointers) == n
        events = ctypes.create_string_buffer(32 * n)
        assert self.call("io_getevents", self.context.value, n, n, events,
                         None) == n
        assert all(struct.unpack_from("=q", events, 32 * i + 16)[0] == part
                   for i in range(n))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.call("io_destroy", self.context.value)


def keep_reading(path):
    """Reads again and again, in a process of its own, through the kernel's cache."""
    return subprocess.Popen([sys.executable, "-c", f"""
import os
fd = os.open({str(path)!r}, os.O_RDONLY)
while True:
    os.pread(fd, {MIB}, 0)
"""])


def test_a_reader_sees_what_was_written_past_the_cache():
    """Also if the writer did not wait for each write."""
    SRC.mkdir()
    (SRC / "plain").write_bytes(bytes(MIB))
    buf = mmap.mmap(-1, MIB)
    with Scratch(), Aio(64) as aio:
        (MNT / "x").write_bytes(bytes(MIB))
        for name in "plain", "x":
            fd = os.open(MNT / name, os.O_RDWR | os.O_DIRECT)
            with open(MNT / name, "rb", buffering=0) as g:
                readers = [keep_reading(MNT / name) for _ in range(2)]
                try:
                    for i in range(1, 200):
                        buf[:] = bytes([i]) * MIB
                        aio.write(fd, buf, 64 << 10)
                        assert os.pread(g.fileno(), MIB, 0) == buf[:], i
                finally:
                    for reader in readers:
                        reader.kill()
                        reader.wait()
            os.close(fd)


def test_others_write_to_a_plain_file_before_we_do():
    """Our changes do not hide foreign changes."""
    SRC.mkdir()
    want = bytearray(b"A" * CHUNK)
    (SRC / "plain").write_bytes(want)

    def they_write(byte):
        with open(SRC / "plain", "r+b") as theirs:
            theirs.write(byte * 4096)
        want[:4096] = byte * 4096
        # More than a tick of the clock that stamps files.
        time.sleep(.05)

    def we_do(what):
        with open(MNT / "plain", "r+b", buffering=0) as f:
            f.read()
            os.pwrite(f.fileno(), b"ours", 9000)
            want[9000:9004] = b"ours"
            they_write(what[:1].encode())
            if what == "write":
                os.pwrite(f.fileno(), b"more", 10000)
                want[10000:10004] = b"more"
            elif what == "touch":
                os.utime(MNT / "plain", (1, 1))

    with Scratch():
        for what in "write", "touch", "close":
            with open(MNT / "plain", "rb", buffering=0) as g:
                mapped = mmap.mmap(g.fileno(), CHUNK, prot=mmap.PROT_READ)
                assert mapped[:] == want
                we_do(what)
                wait_until(lambda: mapped[:] == want, what)
                mapped.close()
            we_do(what)
            assert (MNT / "plain").read_bytes() == want


class Reads:
    """How many requests for data a mount has answered."""

    def __init__(self, mount):
        self.mount, self.n = mount, 0

    def count(self):
        os.kill(self.mount.pid, signal.SIGUSR1)
        self.n += 1
        wait_until(lambda: self.mount.log().count(" lookups ") == self.n,
                   "numbers")
        return self.mount.log().split(", reads ")[-1].split(" of ")[0]

    def are_needed(self, action):
        """Fails if 20 reads all need a request; the kernel may drop pages for lack of
        memory."""
        for _ in range(20):
            before = self.count()
            action()
            if self.count() == before:
                return False
        return True


def test_what_we_write_is_not_read_again():
    """
    The kernel drops pages that are being written if it is told to, and a program that
    reads them at that moment gets the old data.
    """
    SRC.mkdir()
    (SRC / "plain").write_bytes(bytes(16 * CHUNK))
    with Mount("src", "mnt", "-v", "-o", "attr_timeout=0") as m:
        reads = Reads(m)
        (MNT / "x").write_bytes(bytes(16 * CHUNK))
        for name in "x", "plain":
            with open(MNT / name, "r+b", buffering=0) as f, \
                    open(MNT / name, "rb", buffering=0) as g:
                want = bytearray(g.read())

                def write():
                    at = int.from_bytes(os.urandom(2), "little") * 15
                    os.pwrite(f.fileno(), b"new", at)
                    want[at:at + 3] = b"new"
                    assert os.fstat(g.fileno()).st_size == len(want)
                    assert os.pread(g.fileno(), len(want), 0) == want
                    # Nor does another open make a difference.
                    assert (MNT / name).read_bytes() == want

                def look_later():
                    write()
                    time.sleep(1.5)
                    assert os.pread(g.fileno(), len(want), 0) == want

                assert not reads.are_needed(write), name
                assert not reads.are_needed(look_later), name


def test_another_name_is_no_other_content():
    """A rename changes the ctime of a small frame's file; the pages stay."""
    want = os.urandom(CHUNK)
    SRC.mkdir()
    with Mount("src", "mnt", "-v", "-o", "small=64k") as m:
        reads = Reads(m)
        (MNT / "x").write_bytes(want)

        def rename():
            (MNT / "x").rename(MNT / "y")
            assert (MNT / "y").read_bytes() == want
            (MNT / "y").rename(MNT / "x")
            assert (MNT / "x").read_bytes() == want

        def rename_open():
            with open(MNT / "x", "r+b"):
                rename()
                # Until the clock has ticked, another version could have that stamp.
                time.sleep(0.1)
            assert (MNT / "x").read_bytes() == want

        def link():
            os.link(MNT / "x", MNT / "y")
            assert (MNT / "x").read_bytes() == want
            os.unlink(MNT / "x")
            (MNT / "y").rename(MNT / "x")
            assert (MNT / "x").read_bytes() == want

        # The kernel is sure of what it reads once the clock has ticked.
        time.sleep(0.1)
        assert (MNT / "x").read_bytes() == want
        for action in rename, rename_open, link:
            assert not reads.are_needed(action), action
    assert stock_bytes(SRC / "x.b2frame") == want


def is_cached(fd, size):
    """Are all pages of the mapping in the cache?"""
    libc, pages = ctypes.CDLL(None, use_errno=True), -(-size // mmap.PAGESIZE)
    resident = ctypes.create_string_buffer(pages)
    with mmap.mmap(fd, size, flags=mmap.MAP_PRIVATE) as m:
        where = ctypes.addressof(ctypes.c_char.from_buffer(m))
        assert libc.mincore(ctypes.c_void_p(where), ctypes.c_size_t(size),
                            resident) == 0
        return all(byte & 1 for byte in resident.raw)


def test_a_second_open_drops_nothing_though_it_began_before_the_first_ended():
    """
    The program of the first open may be writing by then.  An open that finds an index
    that has just been changed waits, so both opens begin at once.
    """
    check_second_opens("small=0", "src/x.b2frame/chunks.b2frame")
    shutil.rmtree("src/x.b2frame")
    check_second_opens("small=64k", "src/x.b2frame")


def check_second_opens(small, index):
    ndropped = 0
    with Scratch("chunksize=64k", small) as s:
        (MNT / "x").write_bytes(os.urandom(CHUNK))
        for _ in range(20):
            s.mount.wait_until_closed("src/x.b2frame")
            os.utime(index)
            fds, lock, both = [], threading.Lock(), threading.Barrier(2)

            def open_it(_):
                both.wait()
                fd = os.open(MNT / "x", os.O_RDONLY)
                with lock:
                    fds.append(fd)
                    if len(fds) == 1:
                        assert len(os.pread(fd, CHUNK, 0)) == CHUNK

            in_threads(2, open_it)
            ndropped += not is_cached(fds[0], CHUNK)
            for fd in fds:
                os.close(fd)
    # The kernel may be short of memory.
    assert ndropped < 3, ndropped


def test_a_new_file_has_nothing_to_drop():
    """Others may be writing to a new file when the kernel gets the answer to its
    create."""
    with Scratch() as s:
        for i in range(10):
            open(MNT / f"x{i}", "xb").close()
        # The first open of a file from mknod() has nothing to drop, either.
        os.mknod(MNT / "y")
        open(MNT / "y", "rb").close()
        os.kill(s.mount.pid, signal.SIGUSR1)
        wait_until(lambda: " lookups " in s.mount.log(), "numbers")
        assert "opens 11 (11 with " in s.mount.log(), s.mount.log()


def test_others_write_to_a_plain_file_that_is_open():
    SRC.mkdir()
    (SRC / "plain").write_bytes(b"A" * CHUNK)
    with Scratch(), open(MNT / "plain", "r+b", buffering=0) as f, \
            open(MNT / "plain", "rb", buffering=0) as g:
        mapped = mmap.mmap(g.fileno(), CHUNK, prot=mmap.PROT_READ)
        for byte in b"B", b"C", b"D":
            assert os.pwrite(f.fileno(), byte + b"ours", 0) == 5
            want = byte + b"ours" + byte * (CHUNK - 5)
            with open(SRC / "plain", "r+b") as theirs:
                theirs.seek(5)
                theirs.write(want[5:])
            wait_until(lambda: mapped[:] == want, "what is mapped")
            assert os.pread(g.fileno(), CHUNK, 0) == want
        # A growing file shows no zeros in the place of data.
        with open(SRC / "plain", "ab", buffering=0) as theirs:
            for i in range(100):
                theirs.write(b"%99d\n" % i)
                want += b"%99d\n" % i
                got = os.pread(g.fileno(), 2 * len(want), 0)
                assert got == want[:len(got)]
        mapped.close()


class Held:
    """Keeps the thread of the daemon waiting that @request brings to the call of
    signal_at(0, ...)."""

    def __init__(self, request, *args):
        self.thread = threading.Thread(target=request, args=args)

    def __enter__(self):
        pathlib.Path("armed").touch()
        self.thread.start()
        wait_until(pathlib.Path("armed.held").exists, "the daemon to wait")

    def __exit__(self, *_):
        pathlib.Path("armed").unlink()
        self.thread.join()
        pathlib.Path("armed.held").unlink()


def test_an_open_of_a_view_drops_nothing_that_is_being_written():
    """
    A write to a chunk that is being encoded waits.  If the kernel dropped its pages
    meanwhile, a read would bring back the old ones for good.
    """
    SRC.mkdir()
    blosc2.asarray(np.zeros(MIB, "u1"), chunks=(MIB,), blocks=(CHUNK,),
                   urlpath="src/x.b2nd", contiguous=False)
    new, at = b"n" * 4096, 8192
    with Scratch(wrap=signal_at(0, 1, "pwrite64")):
        w = os.open(MNT / "x.npy", os.O_RDWR)
        with open(MNT / "x", "r+b", buffering=0) as f:
            f.write(b"first")
            time.sleep(.2)
            with Held(os.fsync, f.fileno()):
                writes = threading.Thread(target=os.pwrite, args=(w, new, at))
                writes.start()
                time.sleep(.2)
                with open(MNT / "x.npy", "rb", buffering=0) as g:
                    assert os.pread(g.fileno(), 4096, at) in (bytes(4096), new)
            writes.join()
        assert os.pread(w, 4096, at) == new
        os.close(w)


def test_an_open_of_a_plain_file_drops_nothing_that_is_being_written():
    """The answer to the open of a reader may come late."""
    SRC.mkdir()
    new = b"n" * 4096
    for name in "fresh", "used":
        (SRC / name).write_bytes(bytes(CHUNK))
        with Scratch("nopassthrough", "entry_timeout=60", "attr_timeout=60",
                     wrap=signal_at(0, 1, "writev")) as s:
            (MNT / name).stat()
            if name == "used":
                (MNT / name).read_bytes()
                # It was changed while nothing had it open.
                (SRC / name).write_bytes(bytes(CHUNK))
                s.mount.wait_for_closes()
            check_late_open(s.mount, MNT / name, new)


def check_late_open(mount, path, new):
    def read():
        with open(path, "rb", buffering=0) as f:
            got.append(os.pread(f.fileno(), 4096, 0))

    got = []
    with failing(mount, "pwritev2:delay_enter=1000000"):
        with Held(read):
            w = os.open(path, os.O_RDWR)
            writes = threading.Thread(target=os.pwrite, args=(w, new, 0))
            writes.start()
            time.sleep(.3)
        writes.join()
    assert got[0] in (bytes(4096), new)
    wait_until(lambda: os.pread(w, 4096, 0) == new, "what was written")
    os.close(w)


def test_an_append_behind_what_others_have_just_appended_to_a_plain_file():
    """The kernel caches it at the end that it knows."""
    SRC.mkdir()
    (SRC / "plain").write_bytes(bytes(4096))
    with Scratch("nopassthrough") as s, open(MNT / "plain", "rb") as f:
        f.read()
        ours = os.open(MNT / "plain", os.O_WRONLY | os.O_APPEND)
        with failing(s.mount, "pwritev2:delay_enter=1000000"):
            writes = threading.Thread(target=os.write, args=(ours, b"o" * 8192))
            writes.start()
            time.sleep(.4)
            with open(SRC / "plain", "ab") as theirs:
                theirs.write(b"t" * 4096)
            writes.join()
        os.close(ours)
        want = (SRC / "plain").read_bytes()
        assert want == bytes(4096) + b"t" * 4096 + b"o" * 8192
        # A read in the size that the kernel knows does not ask for another one.
        wait_until(lambda: os.pread(f.fileno(), 4096, 4096) == want[4096:8192],
                   "theirs")
        assert (MNT / "plain").read_bytes() == want


def append_as_others(data):
    blosc2.open("src/x.b2frame", mode="a").append_data(data)


def test_append_goes_behind_what_others_have_appended():
    first, theirs, ours = b"a" * CHUNK, b"t" * CHUNK, b"o" * 100
    with Scratch("chunksize=64k"):
        (MNT / "x").write_bytes(first)
        assert (MNT / "x").stat().st_size == CHUNK
        append_as_others(theirs)
        with open(MNT / "x", "ab") as f:
            f.write(ours)
        wait_until(lambda: (MNT / "x").read_bytes() == first + theirs + ours,
                   "all three")
    assert stock_bytes("src/x.b2frame") == first + theirs + ours


def test_an_append_behind_an_end_that_the_kernel_does_not_know():
    """It caches the bytes there, and asks for no size while it reads only a map."""
    with Scratch("chunksize=64k", "commit=600", SPARSE):
        (MNT / "x").write_bytes(b"a" * 2 * CHUNK)
        with open(MNT / "x", "a+b", buffering=0) as f, \
                mmap.mmap(f.fileno(), 0) as m:
            f.truncate(CHUNK)
            os.fsync(f)
            append_as_others(b"t" * CHUNK)
            for _ in range(2):
                f.write(b"o")
                # Afterwards no news of others have the page dropped.
                os.fsync(f)
                wait_until(lambda: m[CHUNK:CHUNK + 2] == b"tt", "theirs", 10)


def stays_seen(*options):
    """Foreign writes below an idle handle are shown after its close."""
    with Scratch("chunksize=64k", *options):
        (MNT / "x").write_bytes(b"a" * CHUNK)
        (SRC / "plain").write_bytes(b"A" * CHUNK)
        time.sleep(.2)
        for flags, byte in (os.O_RDONLY, b"B"), (os.O_RDWR, b"C"):
            fds = [os.open(MNT / name, flags) for name in ("x", "plain")]
            for fd in fds:
                assert os.pread(fd, 1, 0) in b"aAB"
            append_as_others(byte * CHUNK)
            with open(SRC / "plain", "r+b") as f:
                f.write(byte * CHUNK)
            time.sleep(2.5)
            for fd in fds:
                os.close(fd)
            want = stock_bytes("src/x.b2frame")
            wait_until(lambda: (MNT / "x").read_bytes() == want, "a frame")
            wait_until(lambda: (MNT / "plain").read_bytes() == byte * CHUNK,
                       "a plain file")


def test_changes_of_others_below_an_idle_handle():
    stays_seen()


def test_changes_of_others_below_an_idle_handle_with_writeback_cache():
    stays_seen("writeback_cache")


def test_others_change_a_frame_between_a_commit_and_its_writers_close():
    """A reader has the frame open, too, so the kernel keeps pages."""
    theirs = b"t" * CHUNK
    for small in "0", "16m":
        with Scratch("chunksize=64k", f"small={small}"):
            (MNT / "x").write_bytes(os.urandom(3 * CHUNK))
            reader = os.open(MNT / "x", os.O_RDONLY)
            writer = os.open(MNT / "x", os.O_RDWR)
            os.pwrite(writer, b"ours", 0)
            os.fsync(writer)
            os.pread(reader, 3 * CHUNK, 0)
            blosc2.open("src/x.b2frame", mode="a").update_data(1, theirs, True)
            os.close(writer)
            # close(2) does not wait for the daemon.
            time.sleep(.1)
            os.close(reader)
            time.sleep(.1)
            want = stock_bytes("src/x.b2frame")
            assert want[CHUNK:2 * CHUNK] == theirs
            assert (MNT / "x").read_bytes() == want, small
        (SRC / "x.b2frame").rename(f"was-{small}")


def test_a_change_of_others_that_a_read_met_before_the_last_close():
    for small in "0", "16m":
        with Scratch("chunksize=64k", f"small={small}"):
            (MNT / "x").write_bytes(os.urandom(3 * CHUNK))
        with Scratch(), open(MNT / "x", "rb", buffering=0) as f:
            # Without readahead the kernel asks for chunk 2 only below.
            os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
            f.read(CHUNK)
            stock = blosc2.open("src/x.b2frame", mode="a")
            for nchunk in 0, 2:
                stock.update_data(nchunk, os.urandom(CHUNK), True)
            os.pread(f.fileno(), CHUNK, 2 * CHUNK)
            f.close()
            time.sleep(.1)
            want = stock_bytes("src/x.b2frame")
            assert (MNT / "x").read_bytes() == want, small
        (SRC / "x.b2frame").rename(f"was-{small}")


def test_the_npy_view_of_an_array_that_others_changed():
    """With writeback_cache the frame gets a new inode, but the view keeps its own."""
    SRC.mkdir()
    array = blosc2.asarray(np.arange(9), urlpath="src/x.b2nd", mode="w")
    with Scratch("writeback_cache"):
        for i in range(3):
            assert np.array_equal(np.load(MNT / "x.npy"), array[:])
            assert (MNT / "x").read_bytes() == array[:].tobytes()
            array[i] = -1


def test_a_size_is_seen_though_it_was_opened_without_a_look_at_its_name():
    """With writeback_cache the kernel learns new sizes only by a lookup."""
    want = b"a" * CHUNK
    with Scratch("chunksize=64k", "writeback_cache"):
        (MNT / "x").write_bytes(want)
        for is_open in True, False:
            known = os.open(MNT / "x", os.O_PATH)
            if is_open:
                fd = os.open(MNT / "x", os.O_RDWR)
            append_as_others(b"t" * CHUNK)
            want += b"t" * CHUNK
            if is_open:
                time.sleep(2.5)
                os.close(fd)
            # close(2) does not wait for the daemon.
            time.sleep(.3)
            os.close(os.open(f"/proc/self/fd/{known}", os.O_RDONLY))
            time.sleep(.3)
            os.close(known)
            wait_until(lambda: (MNT / "x").read_bytes() == want, "all", 10)


def test_a_size_from_before_the_kernel_gave_up_its_inode():
    """A lookup of another name is answered late: with the size before a write that has
    ended, and after the inode was forgotten."""
    armed, held = (pathlib.Path(name).absolute()
                   for name in ("armed", "armed.held"))
    with Scratch("writeback_cache", wrap=signal_at(0, 1, "writev")):
        (MNT / "x").write_bytes(b"a" * 1000)
        os.link(MNT / "x", MNT / "y")
        give_up_inodes()
        fd = os.open(MNT / "x", os.O_RDWR)
        os.stat(MNT)
        armed.touch()
        known = []
        thread = threading.Thread(
            target=lambda: known.append(os.open(MNT / "y", os.O_PATH)))
        thread.start()
        wait_until(held.exists, "an answer")
        os.pwrite(fd, b"b" * 5000, 0)
        os.close(fd)
        give_up_inodes()
        armed.unlink()
        thread.join()
        wait_until(lambda: (MNT / "y").read_bytes() == b"b" * 5000,
                   "all bytes")
        os.close(known[0])


def give_up_inodes():
    """Pages in use are dropped at the second try."""
    for _ in range(6):
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("2")
        time.sleep(.05)


def copy_by_holes(fd, size):
    """Looks for holes as cp and tar -S do."""
    out, pos = bytearray(size), 0
    while True:
        try:
            pos = os.lseek(fd, pos, os.SEEK_DATA)
        except OSError:
            return bytes(out)
        end = os.lseek(fd, pos, os.SEEK_HOLE)
        out[pos:end] = os.pread(fd, end - pos, pos)
        pos = end


def test_what_is_mapped_is_data():
    """Pages changed through a map are data for lseek(2), although none has been written
    back."""
    size = 8 * MIB
    SRC.mkdir()
    with open(SRC / "plain", "wb") as f:
        f.write(bytes(4096))
        f.truncate(size)
    with Scratch():
        (MNT / "x").touch()
        os.truncate(MNT / "x", size)
        for name in "x", "plain":
            with open(MNT / name, "r+b") as f:
                with mmap.mmap(f.fileno(), size) as m:
                    m[size // 2:size // 2 + 5] = b"hello"
                    assert copy_by_holes(f.fileno(), size) == m[:]
        # Until the end of the open for writing, which is not waited for, all of
        # it may be mapped.
        with open(MNT / "plain", "rb") as f:
            wait_until(lambda: os.lseek(f.fileno(), 0, os.SEEK_HOLE) == 4096,
                       "a hole", 10)


def make(path, byte):
    blosc2.SChunk(data=byte * (4 * CHUNK), chunksize=CHUNK, urlpath=str(path),
                  contiguous=False, mode="w", cparams={"typesize": 1})


def test_a_replaced_root_is_not_shown_as_it_was():
    SRC.mkdir()
    make(SRC / "x.b2frame", b"A")
    make(SRC / "y.b2frame", b"B")
    point = pathlib.Path("point")
    point.touch()
    time.sleep(.1)
    with MountOnFile(SRC / "x.b2frame", point):
        old = open(point, "rb", buffering=0)
        assert old.read(10) == b"A" * 10
        os.rename(SRC / "x.b2frame", SRC / "old.b2frame")
        os.rename(SRC / "y.b2frame", SRC / "x.b2frame")
        time.sleep(1.2)
        new = open(point, "rb", buffering=0)
        assert new.read(10) == b"B" * 10
        for _ in range(2):
            old.seek(0)
            assert set(old.read(4 * CHUNK)) == set(b"A")
            time.sleep(.1)
        for f in old, new:
            f.close()
            time.sleep(.3)
        assert set(point.read_bytes()) == set(b"B")
    shutil.rmtree(SRC)


class MountOnFile(Mount):
    """A single frame, shown as a file."""

    def __init__(self, source, point):
        super().__init__(source, "unused")
        self.path.rmdir()
        self.path = point.absolute()
        self.args[-1] = str(point)


main()
