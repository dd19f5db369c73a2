# SPDX-License-Identifier: BSD-3-Clause
"""Files that are no frames: the kernel itself reads and writes them if it can.

The statistics tell whether it does; the files are the same in any case.
"""
import contextlib
import errno
import json
import mmap
import os
import pathlib
import random
import resource
import subprocess

import blosc2

from mounting import BUILD, Mount, error_of, failing, in_threads, main, make
from users import ALICE, as_user


def stats():
    return json.loads(subprocess.check_output(
        [BUILD / "bloscctl", "stats", "--json", "mnt"]))


def both(name):
    """The bytes of the file, which are the same below the mount."""
    raw = pathlib.Path("src", name).read_bytes()
    assert pathlib.Path("mnt", name).read_bytes() == raw
    assert os.stat(f"mnt/{name}").st_size == len(raw)
    return raw


def write_in_all_ways(name):
    path = pathlib.Path("src", name)
    path.write_bytes(b"0123456789")
    with open(f"mnt/{name}", "r+b", buffering=0) as f, \
            open(f"mnt/{name}", "ab", buffering=0) as appending:
        f.write(b"ab")
        assert both(name) == b"ab23456789"
        with open(path, "ab") as foreign:
            foreign.write(b"foreign")
        assert both(name) == b"ab23456789foreign"
        appending.write(b"end")
        assert both(name) == b"ab23456789foreignend"
        with mmap.mmap(f.fileno(), 0) as mapped:
            mapped[2:4] = b"cd"
            mapped.flush()
            assert both(name)[:5] == b"abcd4"
        f.truncate(7)
        assert both(name) == b"abcd456"
        appending.write(b"end")
        os.posix_fallocate(f.fileno(), 0, 12)
        assert both(name) == b"abcd456end\0\0"
        os.rename(f"mnt/{name}", f"mnt/new-{name}")
        f.write(b"!")
        assert both(f"new-{name}") == b"ab!d456end\0\0"
        os.fsync(f.fileno())
        os.rename(f"mnt/new-{name}", f"mnt/{name}")
        # A frame takes the name of the open file.
        make("frame", b"of a frame", kind="contiguous")
        os.rename("frame", f"src/{name}.b2frame")
        os.unlink(f"mnt/{name}")
        f.seek(0)
        assert f.read() == b"ab!d456end\0\0"
        f.write(b"more")
        assert os.fstat(f.fileno()).st_size == 16
    pathlib.Path(f"src/{name}.b2frame").unlink()
    path.write_bytes(b"again")
    assert both(name) == b"again"
    with open(f"mnt/{name}", "wb") as f:
        f.write(b"cut")
    assert both(name) == b"cut"


def test_they_are_the_files_below():
    os.mkdir("src")
    for option in "rw", "nopassthrough", "sync", "allow_other", "direct_io":
        with Mount("src", "mnt", "-o", f"attr_timeout=0,{option}"):
            write_in_all_ways("file")
            s = stats()
            passed, asked = s["opens_passed"], s["reads"] + s["writes"]
            assert bool(asked) != bool(passed), s
            if option in ("nopassthrough", "allow_other", "direct_io"):
                assert not passed
            print(option, passed, "of", s["opens"], "opens passed")


def test_one_failure_does_not_end_passing():
    os.mkdir("src")
    pathlib.Path("src/f").write_bytes(b"x")

    def passed():
        assert both("f") == b"x"
        return stats()["opens_passed"]

    with Mount("src", "mnt") as m:
        n = passed()
        with failing(m, "ioctl:error=ENOMEM"):
            assert passed() == n
        assert passed() == 2 * n


def test_close_tells_of_an_error_without_a_free_descriptor():
    os.mkdir("src")
    with Mount("src", "mnt") as m:
        pathlib.Path("src/f").touch()
        fd = os.open("mnt/f", os.O_WRONLY)
        with failing(m, "fcntl:error=EMFILE", "fsync:error=EDQUOT"):
            assert error_of(os.close, fd) == errno.EDQUOT


def aligned(path, size):
    """Reads @path with O_DIRECT."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECT)
    with open(fd, "rb", buffering=0) as f, mmap.mmap(-1, size) as room:
        return room[:f.readinto(room)]


def test_opens_of_all_kinds_may_overlap():
    os.mkdir("src")
    raw = random.Random(1).randbytes(1 << 16)
    for i in range(4):
        pathlib.Path(f"src/{i}").write_bytes(raw)

    def use(seed):
        rng = random.Random(seed)
        for _ in range(300):
            path = f"mnt/{rng.randrange(4)}"
            if rng.random() < 0.3:
                got = aligned(path, len(raw))
            else:
                with open(path, rng.choice(("rb", "r+b"))) as f:
                    if f.writable():
                        f.write(raw[:100])
                        f.seek(0)
                    got = f.read()
            assert got == raw

    with Mount("src", "mnt"):
        in_threads(6, use)
        with contextlib.ExitStack() as stack:
            first = os.open("mnt/0", os.O_RDONLY | os.O_DIRECT)
            stack.callback(os.close, first)
            assert both("0") == aligned("mnt/0", len(raw)) == raw


def test_a_user_s_write_clears_set_id_bits():
    os.mkdir("src")
    os.chmod(".", 0o755)
    with Mount("src", "mnt", "-o", "allow_other,attr_timeout=0"):
        for mode in 0o4777, 0o2777:
            path = pathlib.Path("src/tool")
            path.write_bytes(b"text")
            path.chmod(mode)
            with open("mnt/tool", "rb") as f:
                assert as_user(ALICE, ALICE, lambda: pathlib.Path(
                    "mnt/tool").open("r+b").write(b"x")) == 0
                assert f.read() == b"xext"
            assert path.stat().st_mode & 0o7777 == 0o777, oct(
                path.stat().st_mode)


def test_maps_are_possible_with_direct_io():
    os.mkdir("src")
    raw = random.Random(2).randbytes(3 << 20)
    with Mount("src", "mnt", "-o", "direct_io"):
        pathlib.Path("mnt/frame").write_bytes(raw)
        with open("mnt/frame", "r+b", buffering=0) as f:
            try:
                mapped = mmap.mmap(f.fileno(), 0)
            except OSError as e:
                # Before Linux 6.6.
                print(e)
                return
            with mapped:
                assert mapped[:] == raw
                f.write(b"written")
                assert mapped[:9] == b"written" + raw[7:9]
                mapped[7:9] = b"!!"
                f.seek(0)
                assert f.read(9) == b"written!!"
        with open("mnt/frame", "rb") as f, \
                mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            assert mapped[:] == b"written!!" + raw[9:]


def test_a_copy_on_a_disk_without_unnamed_files():
    """A chunk that was not written to its end is no chunk for the next copy."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))

    # Without checksums only the length could tell.
    schunk = blosc2.SChunk(data=os.urandom(300_000), urlpath="s",
                           contiguous=False, cparams={"typesize": 1},
                           chunksize=100_000)
    del schunk
    os.mkdir("src")
    # A mount is such a disk.
    with Mount("src", "mnt", "-o", "rw"):
        assert error_of(os.open, "mnt", os.O_TMPFILE | os.O_RDWR)
        for signals in False, True:
            # Python's children ignore SIGXFSZ, which kills others.
            subprocess.run([BUILD / "bloscctl", "copy", "-q", "s", "mnt/s"],
                           preexec_fn=limit, restore_signals=signals,
                           stderr=subprocess.DEVNULL, check=False)
            assert not os.path.exists("mnt/s")
        subprocess.run([BUILD / "bloscctl", "copy", "-q", "s", "mnt/s"],
                       check=True)
        assert sorted(os.listdir("mnt/s")) == sorted(os.listdir("s"))
        for name in os.listdir("s"):
            assert pathlib.Path("mnt/s", name).read_bytes() == \
                pathlib.Path("s", name).read_bytes(), name


main()
