#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Bloscpack files are plain files, which are only read."""
import contextlib
import errno
import json
import mmap
import os
import pathlib
import shutil
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import packed
from mounting import Mount, error_of, main
from packing import BloscArgs, BloscpackArgs, append, bloscpack

DATA = np.arange(300000, dtype="<i4").tobytes()


def pack(path, data=DATA, checksum="None", chunk_size=100000, offsets=True):
    bloscpack.pack_bytes_to_file(
        data, path, chunk_size=chunk_size,
        blosc_args=BloscArgs(typesize=4, cname="zstd"),
        bloscpack_args=BloscpackArgs(checksum=checksum, offsets=offsets))


def test_random_files_are_read():
    packed.run(1, 60)


def test_attributes_tell_what_it_is():
    os.mkdir("src")
    bloscpack.pack_ndarray_to_file(
        np.zeros((30, 40), order="F"), "src/x.blp",
        bloscpack_args=BloscpackArgs(checksum="sha256"))
    with Mount("src", "mnt"):
        facts = json.loads(os.getxattr("mnt/x", "user.blosc2.info"))
        assert facts["storage"] == "bloscpack"
        assert facts["bloscpack"]["checksum"] == "sha256"
        assert os.getxattr("mnt/x", "user.blosc2.shape") == b"[30, 40]"
        assert os.getxattr("mnt/x", "user.blosc2.codec") == b"blosclz"
        st = os.stat("mnt/x")
        assert st.st_size == 30 * 40 * 8 and st.st_blocks > 0
        assert st.st_ino == os.stat("src/x.blp").st_ino


def test_it_is_only_read():
    os.mkdir("src")
    pack("src/x.blp", checksum="crc32")
    before = pathlib.Path("src/x.blp").read_bytes()
    bloscpack.pack_ndarray_to_file(np.arange(9), "src/a.blp")
    with Mount("src", "mnt") as mount:
        assert not os.stat("mnt/x").st_mode & 0o222
        for flags in os.O_RDWR, os.O_WRONLY, os.O_RDWR | os.O_TRUNC:
            assert error_of(os.open, "mnt/x", flags) == errno.EROFS
        assert error_of(os.truncate, "mnt/x", 0) == errno.EROFS
        mount.wait_for_log("it is a Bloscpack file")
        assert error_of(np.save, "mnt/a.npy", np.zeros(3)) == errno.EROFS
        with open("mnt/x", "rb") as f, \
                mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ) as m:
            assert m[:] == DATA
        # Other operations work as with any file.
        os.chmod("mnt/x", 0o400)
        os.utime("mnt/x", (5, 5))
        os.rename("mnt/x", "mnt/y")
        assert set(os.listdir("mnt")) == {"a", "y"}
        assert pathlib.Path("src/y.blp").read_bytes() == before
        shutil.copy("mnt/y", "mnt/z")
        assert pathlib.Path("mnt/z").read_bytes() == DATA
        os.unlink("mnt/y")
    assert set(os.listdir("src")) == {"a.blp", "z.b2frame"}


def test_one_file_is_mounted():
    pack("x.blp")
    with Mount("x.blp", "mnt"):
        assert pathlib.Path("mnt/x").read_bytes() == DATA


def test_damage_is_an_error_with_its_cause():
    os.mkdir("src")
    for name in "crc32", "md5", "sha384":
        pack(f"src/{name}.blp", checksum=name)
        raw = bytearray(pathlib.Path(f"src/{name}.blp").read_bytes())
        raw[-100] ^= 1
        pathlib.Path(f"src/{name}.blp").write_bytes(raw)
    pathlib.Path("src/cut.blp").write_bytes(raw[:50])
    with Mount("src", "mnt") as mount:
        for name in "crc32", "md5", "sha384":
            fd = os.open(f"mnt/{name}", os.O_RDONLY)
            assert os.pread(fd, 1000, 0) == DATA[:1000]
            # All reads of the last chunk fail, however short.
            assert error_of(os.pread, fd, 1, len(DATA) - 1) == errno.EIO
            assert error_of(os.pread, fd, 1, len(DATA) - 90000) == errno.EIO
            os.close(fd)
            mount.wait_for_log("chunk 11")
            mount.wait_for_log(f"its {name} is")
        assert error_of(os.open, "mnt/cut", os.O_RDONLY) == errno.EIO
        assert "cut" in os.listdir("mnt")


def test_what_its_program_appends_is_seen():
    os.mkdir("src")
    pack("src/x.blp", checksum="adler32")
    pathlib.Path("more").write_bytes(DATA[:250000])
    with Mount("src", "mnt", "-o", "attr_timeout=0"):
        assert pathlib.Path("mnt/x").read_bytes() == DATA
        append("src/x.blp", "more")
        assert pathlib.Path("mnt/x").read_bytes() == DATA + DATA[:250000]


def test_another_version_in_its_place_is_no_damage():
    """A reader of the open file gets bytes of one of the two versions, or an error."""
    os.mkdir("src")
    pack("src/x.blp")
    other = DATA[::-1]
    pack("y.blp", data=other, chunk_size=70000)
    with Mount("src", "mnt", "-o", "attr_timeout=0,direct_io") as mount:
        fd = os.open("mnt/x", os.O_RDONLY)
        assert os.pread(fd, 1000, 0) == DATA[:1000]
        pathlib.Path("src/x.blp").write_bytes(
            pathlib.Path("y.blp").read_bytes())
        for off in range(200000, len(DATA), 100000):
            with contextlib.suppress(OSError):
                got = os.pread(fd, 1000, off)
                assert got in (DATA[off:off + 1000], other[off:off + 1000])
        os.close(fd)
        assert pathlib.Path("mnt/x").read_bytes() == other
        assert "damaged" not in mount.log() and ": chunk" not in mount.log(), \
            mount.log()


def test_other_files_of_that_name_are_left_alone():
    os.mkdir("src")
    pathlib.Path("src/x.blp").write_bytes(b"no such thing")
    pack("src/y.blp")
    pathlib.Path("src/y").write_bytes(b"taken")
    with Mount("src", "mnt"):
        assert set(os.listdir("mnt")) == {"x.blp", "y", "y.blp"}
        assert pathlib.Path("mnt/x.blp").read_bytes() == b"no such thing"
        assert pathlib.Path("mnt/y.blp").read_bytes() == DATA


def test_a_read_takes_its_blocks_alone():
    # Without a checksum, nothing forces a reader to take a whole chunk.
    os.mkdir("src")
    noise = np.random.default_rng(1).integers(0, 16, 8 << 20, dtype="u1")
    data = noise.tobytes()
    pack("src/x.blp", data=data, chunk_size=8 << 20)
    with Mount("src", "mnt", "-o", "readahead=0") as mount:
        def taken():
            text = pathlib.Path(f"/proc/{mount.pid}/io").read_text()
            return int(text.split("rchar: ")[1].split()[0])

        fd = os.open("mnt/x", os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
        os.pread(fd, 1, 0)
        before = taken()
        assert os.pread(fd, 4096, 5 << 20) == data[5 << 20:(5 << 20) + 4096]
        assert taken() - before < 1 << 20, taken() - before
        os.close(fd)


if __name__ == "__main__":
    main()
