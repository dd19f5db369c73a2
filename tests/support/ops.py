# SPDX-License-Identifier: BSD-3-Clause
"""ops - operations of programs on a file, whatever its form (forms.py)

Each operation gets a committed File, and keeps its model up to date.  By its kind
("read", "write", "resize" or "name") a form refuses it.
"""
import errno
import mmap
import os
import pathlib
import subprocess
import sys

from forms import CHUNK, MNT, content
from mounting import error_of, in_threads, wait_until, wait_until_stock
from syscalls import COLLAPSE, KEEP, PUNCH, ZERO, fallocate

OPS = {}


def op(kind):
    def note(function):
        OPS[function.__name__] = kind, function
        return function
    return note


def elsewhere(code, fd):
    """Runs @code with the descriptor @fd, in a process of its own.

    A page fault in this process would hold up the threads that it waits for.
    """
    subprocess.run([sys.executable, "-c", f"import mmap, os\nfd = {fd}\n{code}"],
                   check=True, pass_fds=[fd], timeout=250)


# ---- to read ----


@op("read")
def read_anywhere(f):
    size = len(f.model)
    with f.opened(os.O_RDONLY) as fd:
        for off in (0, 1, 127, CHUNK - 1, CHUNK, 3 * CHUNK - 5, size - 1, size,
                    size + 1, size + CHUNK):
            for n in 1, 9, 4096, 2 * CHUNK + 10:
                assert os.pread(fd, n, off) == f.model[off:off + n], (off, n)
        assert error_of(os.write, fd, b"x") == errno.EBADF
    assert subprocess.check_output(["cat", f.path]) == f.model


@op("read")
def map_to_read(f):
    pathlib.Path("want").write_bytes(f.model)
    with f.opened(os.O_RDONLY) as fd:
        elsewhere("""
with mmap.mmap(fd, 0, access=mmap.ACCESS_READ) as m:
    assert m[:] == open("want", "rb").read()
""", fd)


@op("read")
def seek_data(f):
    size = len(f.model)
    with f.opened(os.O_RDONLY) as fd:
        assert os.lseek(fd, 0, os.SEEK_DATA) == 0
        assert os.lseek(fd, 5, os.SEEK_HOLE) == size
        assert error_of(os.lseek, fd, size, os.SEEK_DATA) == errno.ENXIO


@op("read")
def copy_by_kernel(f):
    with f.opened(os.O_RDONLY) as fd, open("copy", "wb") as to:
        while os.sendfile(to.fileno(), fd, None, 1 << 20):
            pass
    assert pathlib.Path("copy").read_bytes() == f.model


@op("read")
def read_by_many(f):
    def work(number):
        with f.opened(os.O_RDONLY) as fd:
            for step in range(20):
                off = (number * 7 + step * 13) * 4001 % len(f.model)
                assert os.pread(fd, 9000, off) == f.model[off:off + 9000]

    in_threads(6, work)


@op("read")
def see_what_others_change(f):
    """Reads by other programs, a write through the mount, and reads again."""
    with f.opened(os.O_RDONLY) as fd:
        assert os.pread(fd, 100, 5 * CHUNK) == f.model[5 * CHUNK:][:100]
    f.shown.mount.wait_for_closes()
    f.form.change(f)
    wait_until(lambda: f.read() == f.model, "their change")
    if "write" not in f.form.refused:
        with f.opened() as fd:
            f.write(fd, b"ours", 4 * CHUNK - 2)


# ---- to write, within the file's size ----


@op("write")
def write_anywhere(f):
    """Writes within a chunk, across two, a whole chunk, and the last bytes."""
    size = len(f.model)
    for off, n in ((200, 1), (CHUNK - 1, 2), (CHUNK, CHUNK), (size - 1, 1),
                   (3 * CHUNK - 5, 2 * CHUNK + 10), (size - 5000, 5000)):
        with f.opened() as fd:
            f.write(fd, os.urandom(n), off)
            assert os.pread(fd, size + 1, 0) == f.model
        f.check()


@op("write")
def write_with_dd(f):
    piece = os.urandom(100000)
    with f.opened():
        subprocess.run(["dd", f"of={f.path}", "bs=10000", "seek=3",
                        "conv=notrunc,fsync", "status=none"], input=piece,
                       check=True)
    f.note(piece, 30000)


@op("write")
def fsync_is_a_commit(f):
    before = bytes(f.model)
    with f.opened() as fd:
        for n, sync in enumerate((os.fsync, os.fdatasync)):
            f.write(fd, os.urandom(CHUNK), 5 * n * CHUNK + 1000)
            assert f.form.stock(f.frame()) == before
            sync(fd)
            f.check_stock()
            before = bytes(f.model)


@op("write")
def write_synchronously(f):
    for n, flag in enumerate((os.O_SYNC, os.O_DSYNC | os.O_NOATIME)):
        with f.opened(os.O_WRONLY | flag) as fd:
            assert error_of(os.read, fd, 1) == errno.EBADF
            f.write(fd, b"synchronous", 8191 * (n + 1))
            f.check_stock()


@op("write")
def write_past_the_cache(f):
    page = mmap.mmap(-1, 4096)
    page[:] = os.urandom(4096)
    with f.opened(os.O_RDWR | os.O_DIRECT) as fd:
        f.write(fd, page, 2 * CHUNK)
        assert os.preadv(fd, [page], 4096) == 4096
        assert page[:] == f.model[4096:8192]


@op("write")
def punch_and_zero(f):
    with f.opened() as fd:
        stored = os.fstat(fd).st_blocks
        fallocate(fd, PUNCH | KEEP, CHUNK - 9, 3 * CHUNK)
        f.note(bytes(3 * CHUNK), CHUNK - 9)
        fallocate(fd, ZERO, 1000, 200)
        f.note(bytes(200), 1000)
        fallocate(fd, ZERO | KEEP, len(f.model) - 50, 1000)
        f.note(bytes(50), len(f.model) - 50)
        fallocate(fd, PUNCH | KEEP, 1 << 40, 10)
        assert os.pread(fd, len(f.model) + 1, 0) == f.model
        for mode in COLLAPSE, PUNCH, 32:
            assert error_of(fallocate, fd, mode, 0, 4096) in (
                errno.EOPNOTSUPP, errno.EINVAL)
        # The kernel may have dirty pages that the mount does not know.
        assert os.lseek(fd, 2 * CHUNK, os.SEEK_DATA) == 2 * CHUNK
        os.fsync(fd)
        # Arrays have other chunks; a frame in one file frees room later.
        assert f.form.is_file or not f.form.resizes or \
            os.fstat(fd).st_blocks < stored * .8
    f.check()


@op("write")
def map_to_write(f):
    """Writes through a map, also after the last close of the file."""
    with f.opened() as fd:
        for off, piece in ((4093, b"border"), (CHUNK - 2, b"chunks"),
                           (len(f.model) - 4, b"last")):
            f.note(piece, off)
        elsewhere(f"""
m = mmap.mmap(fd, 0)
for off, piece in ((4093, b"border"), ({CHUNK} - 2, b"chunks"), (-4, b"last")):
    m[off % len(m):off % len(m) + len(piece)] = piece
m.flush()
""", fd)
        assert f.read() == f.model
        f.note(b"write", 40000)
        os.pwrite(fd, b"write", 40000)
        f.note(b"late", 70000)
        elsewhere("""
m = mmap.mmap(fd, 0)
os.close(fd)
assert m[40000:40005] == b"write"
m[70000:70004] = b"late"
m.close()
""", fd)
    # munmap(2) does not wait for the last close.
    wait_until_stock(lambda: f.form.stock(f.frame()) == f.model,
                     "the pages of the map")


@op("write")
def write_by_many(f):
    """Each thread reads its own bytes back."""
    n, rounds = 8, 12
    size = len(f.model) // n // 8 * 8

    def work(number):
        with f.opened() as fd:
            for step in range(rounds):
                piece = bytes([number + 1, step]) * (size // 4)
                off = number * size + 256
                assert os.pwrite(fd, piece, off) == len(piece)
                assert os.pread(fd, len(piece), off) == piece
                f.note(piece, off)
                if step % 7 == number % 7:
                    os.fsync(fd)

    in_threads(n, work)


@op("write")
def write_with_two_descriptors(f):
    with f.opened() as one, f.opened() as other:
        f.write(one, b"one", 1000)
        f.write(other, b"other", CHUNK)
        for fd in one, other:
            assert os.pread(fd, len(f.model), 0) == f.model
        os.fsync(other)
        f.check_stock()


@op("write")
def write_anew(f):
    """Truncates and writes, as cp(1) does, the same size; with O_SYNC, too."""
    f.model[:] = f.form.model(content(5))
    with open(f.path, "wb") as to:
        to.write(f.model)
    f.check()
    f.model[:] = f.form.model(content(6))
    with f.opened(os.O_WRONLY | os.O_TRUNC | os.O_SYNC) as fd:
        assert os.pwrite(fd, f.model, 0) == len(f.model)
        f.check_stock()


@op("write")
def keep_what_is_known(f):
    """A change of the data keeps inode, mode and owner."""
    if f.form.on_disk:
        os.chmod(f.path, 0o640)
        os.chown(f.path, 12, 34)
    st = os.stat(f.path)
    with f.opened() as fd:
        f.write(fd, b"any", 777)
    now = os.stat(f.path)
    for name in "st_ino", "st_mode", "st_uid", "st_gid", "st_nlink":
        assert getattr(st, name) == getattr(now, name), name
    assert now.st_mtime_ns > st.st_mtime_ns
    with f.opened() as fd:
        os.utime(f.path, ns=(10**18, 10**18))
    assert os.stat(f.path).st_mtime_ns == 10**18


# ---- to write, which makes it longer or shorter ----


@op("resize")
def append(f):
    for n in 1, 50000, 100000, CHUNK:
        piece = os.urandom(n)
        with f.opened(os.O_WRONLY | os.O_APPEND) as fd:
            # The position makes no difference to O_APPEND.
            os.lseek(fd, 0, os.SEEK_SET)
            assert os.write(fd, piece) == n
        f.model += piece
    f.check()
    subprocess.run(f"echo more >>{f.path}", shell=True, check=True)
    f.model += b"more\n"


@op("resize")
def append_by_many(f):
    """Each line appears once, in the order of its writer."""
    lines = [[b"%d-%d\n" % (w, i) for i in range(50)] for w in range(4)]

    def work(number):
        with f.opened(os.O_WRONLY | os.O_APPEND) as fd:
            for line in lines[number]:
                assert os.write(fd, line) == len(line)

    before = bytes(f.model)
    in_threads(4, work)
    got = f.read()
    assert got.startswith(before)
    found = got[len(before):].splitlines(keepends=True)
    assert len(found) == 200
    for number, mine in enumerate(lines):
        assert [x for x in found if x.startswith(b"%d-" % number)] == mine
    f.model[:] = got


@op("resize")
def truncate(f):
    size, number = len(f.model), os.stat(f.path).st_ino
    for n in (size - 1, 9 * CHUNK, 5 * CHUNK + 1, 12 * CHUNK, 3 * CHUNK,
              CHUNK - 1, 1, 0, 100, 2 * CHUNK + 5, 0, size):
        os.truncate(f.path, n)
        f.cut(n)
        f.check()
        with f.opened() as fd:
            f.write(fd, b"new", n // 2)
            os.ftruncate(fd, len(f.model) + 10)
            f.cut(len(f.model) + 10)
            assert os.pread(fd, 1 << 20, 0) == f.model
        f.check()
    assert error_of(os.truncate, f.path, -1) == errno.EINVAL
    assert os.stat(f.path).st_ino == number


@op("resize")
def cut_and_grow_at_once(f):
    """Truncated data, stored or not, does not come back."""
    with f.opened() as fd:
        os.ftruncate(fd, 4 * CHUNK)
        f.cut(4 * CHUNK)
        for n in 3 * CHUNK + 100, 2 * CHUNK - 5, 10:
            f.write(fd, os.urandom(9000), max(0, n - 20))
            for size in n, 4 * CHUNK:
                os.ftruncate(fd, size)
                f.cut(size)
                assert os.pread(fd, 1 << 20, 0) == f.model, (n, size)
        os.ftruncate(fd, 1 << 32)
        assert os.fstat(fd).st_size == 1 << 32
        os.ftruncate(fd, len(f.model))
        os.fsync(fd)
        f.check_stock()


@op("resize")
def tell_of_holes(f):
    """truncate(2) while the file is only open for reading."""
    os.truncate(f.path, 0)
    with f.opened() as fd:
        f.cut(0)
        for off in 0, 5 * CHUNK:
            f.write(fd, content(1, CHUNK), off)
    with f.opened(os.O_RDONLY) as fd:
        told = [os.lseek(fd, *x) for x in ((0, os.SEEK_HOLE),
                                           (CHUNK, os.SEEK_DATA))]
    assert told == ([6 * CHUNK, CHUNK] if "writeback_cache" in f.form.options
                    else [CHUNK, 5 * CHUNK]), told
    subprocess.run(["cp", "--sparse=auto", f.path, "copy"], check=True)
    assert pathlib.Path("copy").read_bytes() == f.model


@op("resize")
def write_behind_the_end(f):
    for off in len(f.model) + 1, len(f.model) + 3 * CHUNK:
        with f.opened() as fd:
            f.write(fd, b"end", off)
            assert os.fstat(fd).st_size == len(f.model)
            assert os.pread(fd, 1 << 20, 0) == f.model
        f.check()


@op("resize")
def allocate(f):
    with f.opened() as fd:
        size = len(f.model)
        fallocate(fd, ZERO, size, 1000)
        fallocate(fd, 0, size, 3000)
        fallocate(fd, 0, 0, 100)
        os.posix_fallocate(fd, 0, size + 3001)
        f.cut(size + 3001)
        assert os.pread(fd, 1 << 20, 0) == f.model
        if f.form.on_disk:
            # Far more than the disk has room for.
            for mode in 0, KEEP:
                assert error_of(fallocate, fd, mode, 0, 1 << 50) == \
                    errno.ENOSPC


@op("resize")
def empty_and_fill(f):
    open(f.path, "wb").close()
    f.cut(0)
    f.check()
    with f.opened(os.O_WRONLY | os.O_TRUNC) as fd:
        f.write(fd, b"anew", 0)


# ---- names ----


@op("name")
def rename_while_open(f):
    to = f.path.with_name(f"renamed{f.path.suffix}")
    with f.opened(os.O_RDONLY) as fd:
        os.rename(f.path, to)
        assert not f.path.exists()
        assert os.pread(fd, len(f.model), 0) == f.model
    f.path, f.name = to, to.name
    if "write" not in f.form.refused:
        with f.opened() as fd:
            f.write(fd, b"renamed", 1000)


@op("name")
def rename_over(f):
    """A descriptor of a replaced file stays on that file, and changes no other."""
    other = f.shown.new("over", seed=3)
    writes = "write" not in f.form.refused
    with other.opened(os.O_RDWR if writes else os.O_RDONLY) as fd:
        os.rename(f.path, other.path)
        assert not f.path.exists()
        if writes:
            other.write(fd, b"to what was replaced", 1000)
            os.fsync(fd)
        assert other.read() == f.model
        assert os.pread(fd, len(other.model), 0) == other.model
        assert os.fstat(fd).st_nlink == 0
    f.path, f.name = other.path, other.name


@op("name")
def delete_while_open(f):
    """The file can be used until the last close, and opened again."""
    writes = "write" not in f.form.refused
    with f.opened(os.O_RDWR if writes else os.O_RDONLY) as fd:
        number = os.fstat(fd).st_ino
        os.unlink(f.path)
        assert not f.path.exists() and f.name not in os.listdir(MNT)
        if writes:
            f.write(fd, b"after" * 30000, 2 * CHUNK)
            f.note(b"mapped", 2000)
            elsewhere("mmap.mmap(fd, 0)[2000:2006] = b'mapped'", fd)
            os.fsync(fd)
        if f.form.on_disk:
            os.fchmod(fd, 0o640)
        assert os.pread(fd, len(f.model) + 1, 0) == f.model
        st = os.fstat(fd)
        assert (st.st_nlink, st.st_ino, st.st_size) == (0, number, len(f.model))
        # A new file of that name is independent of it.
        other = f.shown.new(f.name.removesuffix(f.form.shown), seed=9)
        assert other.read() == other.model
        again = os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)
        if writes and f.form.resizes:
            os.ftruncate(fd, 10)
            f.cut(10)
        assert os.pread(again, len(f.model) + 1, 0) == f.model
    assert os.pread(again, len(f.model) + 1, 0) == f.model
    os.close(again)
    wait_until(lambda: other.read() == other.model, "the other one")
    f.model = other.model
