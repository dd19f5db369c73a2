#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Settings for new chunks, as attributes of files and directories."""
import errno
import os
import pathlib
import shutil

import blosc2
import numpy as np

from mounting import Mount, error_of, in_threads, main, make, refusing
from stock import stored_bytes

BLOSC = "user.blosc2."
# Formats in the header of a chunk; lz4hc writes the format of lz4.
FORMATS = {0: "blosclz", 1: "lz4", 3: "zlib", 4: "zstd"}
CHUNK = 1 << 20


def preset(path, **values):
    for name, value in values.items():
        os.setxattr(path, BLOSC + name, str(value).encode())


def presets(path):
    return tuple(os.getxattr(path, BLOSC + name).decode()
                 for name in ("codec", "clevel", "filters"))


def noise(n, seed):
    """Data that every codec compresses."""
    rng = np.random.default_rng(seed)
    return rng.integers(0, 8, n // 8).astype("<i8").tobytes()


def formats(path):
    """The codec of each chunk, as C-Blosc2 reads it."""
    opened = blosc2.open(str(path))
    schunk = getattr(opened, "schunk", opened)
    return [FORMATS[schunk.get_chunk(i)[2] >> 5]
            for i in range(schunk.nchunks)]


def change_and_check(mount_path, backing, raw):
    """Another codec for the second chunk alone; everything else stays."""
    before = os.stat(mount_path)
    preset(mount_path, codec="lz4", clevel=3, filters="bitshuffle")
    assert presets(mount_path) == ("lz4", "3", "bitshuffle")
    after = os.stat(mount_path)
    assert (after.st_mtime_ns, after.st_size, after.st_ino, after.st_mode) == (
        before.st_mtime_ns, before.st_size, before.st_ino, before.st_mode)
    assert pathlib.Path(mount_path).read_bytes() == raw
    assert set(formats(backing)) == {"zstd"}
    with open(mount_path, "r+b") as f:
        f.seek(len(raw) // 2)
        f.write(b"12345678")
    raw = raw[:len(raw) // 2] + b"12345678" + raw[len(raw) // 2 + 8:]
    assert pathlib.Path(mount_path).read_bytes() == raw
    now = formats(backing)
    assert "lz4" in now and (len(now) == 1 or "zstd" in now), now
    return raw


def test_of_every_kind_of_frame():
    os.mkdir("src")
    raw = noise(3 * CHUNK + 4096, 1)
    for name, contiguous in ("sparse", False), ("flat", True):
        blosc2.SChunk(chunksize=CHUNK, data=raw, mode="w",
                      urlpath=f"src/{name}.b2frame", contiguous=contiguous,
                      cparams={"typesize": 8, "codec": blosc2.Codec.ZSTD})
    array = np.frombuffer(noise(1 << 19, 2), "<i8").reshape(256, 256)
    blosc2.asarray(array, urlpath="src/array.b2nd", mode="w", chunks=(50, 60),
                   blocks=(10, 20), contiguous=False)
    varied = blosc2.SChunk(chunksize=8000, urlpath="src/varied.b2frame",
                           mode="w", contiguous=False,
                           cparams={"typesize": 8,
                                    "codec": blosc2.Codec.ZSTD})
    lengths = 400, 12000, 40, 8000, 2400
    for i, n in enumerate(lengths):
        varied.append_data(noise(n, i))
    del varied
    with Mount("src", "mnt"):
        np.save("mnt/saved.npy", array)
        pathlib.Path("mnt/small").write_bytes(noise(8192, 3))
        for name in "sparse", "flat", "array", "varied", "saved.npy":
            path = f"mnt/{name}"
            backing = next(p for p in pathlib.Path("src").iterdir()
                           if p.name.rsplit(".", 1)[0] == name)
            data = pathlib.Path(path).read_bytes()
            for _ in range(2):
                data = change_and_check(path, backing, data)
                preset(path, codec="zstd", filters="shuffle")
                with open(path, "r+b") as f:
                    f.write(data)
                assert set(formats(backing)) == {"zstd"}
        preset("mnt/small", codec="zlib", clevel=0)
        assert presets("mnt/small") == ("zlib", "0", "shuffle")
        assert pathlib.Path("mnt/small").read_bytes() == noise(8192, 3)
        # The frame becomes a directory, with chunks of these settings.
        preset("mnt/small", clevel=5)
        with open("mnt/small", "ab") as f:
            f.write(noise(CHUNK, 4))
        assert set(formats("src/small.b2frame")) == {"zlib"}
        # An array has its view, which is the same frame.
        preset("mnt/array.npy", clevel=7)
        assert presets("mnt/array")[1] == "7"
    want = noise(8192, 3) + noise(CHUNK, 4)
    assert stored_bytes("src/small.b2frame") == want
    s = blosc2.open("src/small.b2frame")
    assert s.cparams.codec == blosc2.Codec.ZLIB and s.cparams.clevel == 5


def test_what_is_refused():
    os.makedirs("src/dir")
    make("src/f.b2frame", None, nbytes=1000)
    pathlib.Path("src/text").touch()
    bad = {"codec": (b"", b"lz5", b"zfp", b"lz4\0", b"x" * 1000),
           "clevel": (b"", b"10", b"-1", b"5 ", b"nine"),
           "filters": (b"", b"shufle", b"trunc", b"shuffle+", b"+".join(
               [b"shuffle"] * 7))}
    with Mount("src", "mnt"):
        before = presets("mnt/f")
        for path in "mnt/f", "mnt/dir", "mnt":
            for name, values in bad.items():
                for value in values:
                    assert error_of(os.setxattr, path, BLOSC + name, value) \
                        == errno.EINVAL, (path, name, value)
        assert presets("mnt/f") == before
        assert error_of(os.setxattr, "mnt/f", BLOSC + "codec", b"lz4",
                        os.XATTR_CREATE) == errno.EEXIST
        assert error_of(os.removexattr, "mnt/f", BLOSC + "codec") == \
            errno.EPERM
        assert error_of(os.setxattr, "mnt/dir", BLOSC + "codec", b"lz4",
                        os.XATTR_REPLACE) == errno.ENODATA
        # An attribute that follows from the data; a file that is no frame.
        assert error_of(os.setxattr, "mnt/f", BLOSC + "typesize", b"8") == \
            errno.EPERM
        assert error_of(os.setxattr, "mnt/text", BLOSC + "codec", b"lz4") == \
            errno.EPERM
    for options, want in (("ro", errno.EROFS), ("xattr=off", errno.ENOTSUP)):
        with Mount("src", "mnt", "-o", options):
            for path in "mnt/f", "mnt/dir":
                assert error_of(os.setxattr, path, BLOSC + "codec",
                                b"lz4") == want
    with Mount("src/f.b2frame", "mnt"):
        preset("mnt/f", codec="LZ4")
        assert presets("mnt/f")[0] == "lz4"
        assert error_of(os.setxattr, "mnt", BLOSC + "codec", b"lz4") == \
            errno.EPERM


def test_what_is_there_already_can_be_set_again():
    """Setting the present value again succeeds, even for a lossy filter."""
    os.makedirs("src/dir")
    data = np.arange(999, dtype="f4")
    blosc2.asarray(data, urlpath="src/a.b2nd", mode="w", contiguous=False,
                   cparams={"filters": [blosc2.Filter.TRUNC_PREC,
                                        blosc2.Filter.SHUFFLE],
                            "filters_meta": [12, 0]})
    odd = {"codec": b"zfp", "clevel": b"99", "filters": b"trunc_prec+shuffle"}
    for name, value in odd.items():
        os.setxattr("src/dir", BLOSC + name, value)
    index = pathlib.Path("src/a.b2nd/chunks.b2frame")
    before = index.read_bytes(), os.stat(index).st_ctime_ns
    with Mount("src", "mnt"):
        assert presets("mnt/a")[2] == "trunc_prec+shuffle"
        for name in "codec", "clevel", "filters":
            for path in "mnt/a", "mnt/dir":
                value = os.getxattr(path, BLOSC + name)
                os.setxattr(path, BLOSC + name, value)
                os.setxattr(path, BLOSC + name, value, os.XATTR_REPLACE)
                assert error_of(os.setxattr, path, BLOSC + name, value,
                                os.XATTR_CREATE) == errno.EEXIST
                assert os.getxattr(path, BLOSC + name) == value
        for path in "mnt/a", "mnt/dir":
            assert error_of(os.setxattr, path, BLOSC + "filters",
                            b"shuffle+trunc_prec") == errno.EINVAL
    assert (index.read_bytes(), os.stat(index).st_ctime_ns) == before


def test_a_directory_tells_what_new_files_are_made_with():
    os.makedirs("src/d")
    raw = noise(50000, 5)
    with Mount("src", "mnt", "-o", "codec=lz4,clevel=1"):
        pathlib.Path("mnt/d/before").write_bytes(raw)
        assert error_of(os.getxattr, "mnt/d", BLOSC + "codec") == \
            errno.ENODATA
        preset("mnt/d", codec="ZSTD", filters="shuffle+bytedelta")
        assert os.getxattr("mnt/d", BLOSC + "codec") == b"ZSTD"
        assert os.listxattr("mnt/d") == []
        # Large files are a directory when they are written to first.
        pathlib.Path("mnt/d/large").write_bytes(raw * 2)
        pathlib.Path("mnt/d/small").write_bytes(b"small")
        np.save("mnt/d/a.npy", np.arange(9999.))
        os.mkdir("mnt/d/sub")
        preset("mnt/d/sub", clevel=9)
        os.mkdir("mnt/d/sub/sub")
        pathlib.Path("mnt/d/sub/sub/x").write_bytes(raw)
        pathlib.Path("mnt/other").write_bytes(raw)
        assert presets("mnt/d/before") == ("lz4", "1", "shuffle")
        for name in "large", "small", "a.npy":
            assert presets(f"mnt/d/{name}") == \
                ("zstd", "1", "shuffle+bytedelta"), name
        assert presets("mnt/d/sub/sub/x") == \
            ("zstd", "9", "shuffle+bytedelta")
        assert presets("mnt/other") == ("lz4", "1", "shuffle")
    # The attribute is stored in SOURCE, for the next mount.
    with Mount("src", "mnt", "-o", "xattr=list"):
        assert sorted(os.listxattr("mnt/d")) == [BLOSC + "codec",
                                                 BLOSC + "filters"]
        pathlib.Path("mnt/d/later").write_bytes(raw)
        assert presets("mnt/d/later") == ("zstd", "3", "shuffle+bytedelta")
        os.removexattr("mnt/d", BLOSC + "filters")
        assert error_of(os.removexattr, "mnt/d", BLOSC + "filters") == \
            errno.ENODATA
        pathlib.Path("mnt/d/last").write_bytes(raw)
        assert presets("mnt/d/last") == ("zstd", "3", "shuffle")
        # Invalid values that another program has set are ignored.
        os.setxattr("src/d", BLOSC + "codec", b"snappy")
        os.setxattr("src/d", BLOSC + "clevel", b"2")
        pathlib.Path("mnt/d/odd").write_bytes(raw)
        assert presets("mnt/d/odd") == ("zstd", "2", "shuffle")
        preset("mnt", codec="blosclz")
        pathlib.Path("mnt/top").write_bytes(raw)
        assert presets("mnt/top")[0] == "blosclz"
    with Mount("src", "mnt", "-o", "xattr=off"):
        pathlib.Path("mnt/off").write_bytes(raw)
    with Mount("src", "mnt"):
        assert presets("mnt/off")[0] == "zstd"
        assert pathlib.Path("mnt/d/large").read_bytes() == raw * 2
        for name in "later", "last", "odd":
            assert pathlib.Path(f"mnt/d/{name}").read_bytes() == raw
    assert formats("src/d/large.b2frame") == ["zstd"]


def test_a_directory_that_its_owner_cannot_write_to():
    """The daemon is root without CAP_DAC_OVERRIDE."""
    os.makedirs("src/d")
    drop = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    with Mount("src", "mnt", wrap=drop):
        preset("mnt/d", codec="lz4")
        for mode in 0o755, 0o555, 0o111, 0:
            path = f"mnt/d/{mode:o}"
            os.mkdir(path, mode)
            assert os.stat(path).st_mode & 0o7777 == mode
            os.chmod(path, 0o755)
            pathlib.Path(path, "f").write_bytes(b"f")
            assert presets(f"{path}/f")[0] == "lz4"


def test_where_a_filter_refuses_a_new_system_call():
    """As in containers, whose filters may not know it."""
    os.makedirs("src/d")
    with Mount("src", "mnt", wrap=refusing(465)):
        preset("mnt/d", codec="lz4")
        os.mkdir("mnt/d/sub")
        pathlib.Path("mnt/d/sub/f").write_bytes(noise(50000, 5))
        assert presets("mnt/d/sub/f")[0] == "lz4"


def test_of_a_file_that_is_being_written():
    os.mkdir("src")
    parts = [noise(2 * CHUNK, i) for i in range(3)]
    with Mount("src", "mnt", "-o", "small=0"):
        with open("mnt/f", "wb", buffering=0) as f:
            f.write(parts[0])
            os.fsync(f.fileno())
            f.write(parts[1])
            # Setting it stores earlier writes, too.
            preset(f.fileno(), codec="lz4")
            assert presets("mnt/f")[0] == "lz4"
            f.write(parts[2])
            os.fsync(f.fileno())
            assert formats("src/f.b2frame")[:2] == ["zstd"] * 2
            assert formats("src/f.b2frame")[4:] == ["lz4"] * 2
        assert pathlib.Path("mnt/f").read_bytes() == b"".join(parts)
        # The array that the file becomes has the settings as well.
        array = np.frombuffer(parts[0], "<i8")
        with open("mnt/a.npy", "wb") as f:
            preset(f.fileno(), codec="zlib", clevel=1)
            np.save(f, array)
        assert presets("mnt/a.npy") == ("zlib", "1", "shuffle")
        assert (np.load("mnt/a.npy") == array).all()
    assert set(formats("src/a.npy.b2nd")) == {"zlib"}
    assert (blosc2.open("src/a.npy.b2nd")[:] == array).all()


def test_beside_another_program():
    """Both changes stay, or the attribute is refused."""
    os.mkdir("src")
    raw = noise(4 * CHUNK, 1)
    blosc2.SChunk(chunksize=CHUNK, data=raw, urlpath="src/f.b2frame", mode="w",
                  contiguous=False, cparams={"typesize": 8,
                                             "codec": blosc2.Codec.ZSTD})
    other = noise(CHUNK, 9)
    with Mount("src", "mnt"):
        with open("mnt/f", "r+b", buffering=0) as f:
            f.write(b"ours")
            s = blosc2.open("src/f.b2frame", mode="a")
            s.update_data(2, other, copy=True)
            del s
            preset(f.fileno(), codec="lz4")
            f.seek(3 * CHUNK)
            f.write(b"more")
        assert presets("mnt/f")[0] == "lz4"
    got = stored_bytes("src/f.b2frame")
    assert got == b"ours" + raw[4:2 * CHUNK] + other + b"more" + \
        raw[3 * CHUNK + 4:]
    assert formats("src/f.b2frame")[3] == "lz4"


def test_many_at_once():
    os.mkdir("src")
    size, rounds = 3 * CHUNK, 12

    def write():
        with open("mnt/f", "r+b", buffering=0) as f:
            for i in range(rounds):
                f.seek(0)
                f.write(noise(size, i))
                os.fsync(f.fileno())

    def change(codec, level):
        for _ in range(rounds):
            preset("mnt/f", codec=codec, clevel=level)
            assert presets("mnt/f")[0] in ("lz4", "zlib")

    def read():
        for _ in range(rounds):
            assert len(pathlib.Path("mnt/f").read_bytes()) == size

    with Mount("src", "mnt", "-o", "small=0"):
        pathlib.Path("mnt/f").write_bytes(noise(size, 99))
        preset("mnt/f", codec="lz4")
        works = (write, read, lambda: change("lz4", 3),
                 lambda: change("zlib", 2))
        in_threads(len(works), lambda i: works[i]())
        assert pathlib.Path("mnt/f").read_bytes() == noise(size, rounds - 1)
    assert stored_bytes("src/f.b2frame") == noise(size, rounds - 1)
    assert set(formats("src/f.b2frame")) <= {"lz4", "zlib"}
    shutil.rmtree("src")


main()
