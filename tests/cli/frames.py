#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""frames.py - makes frames for the tests of bloscctl, in the current directory

usage: frames.py NAME...

NAME.data, beside NAME, has the bytes of the frame if they are not too many.
"""
import os
import struct
import sys

import blosc2
import numpy as np

CHUNK = 64 << 10


def numbers(nbytes):
    """Compressible, and different everywhere."""
    return np.arange(nbytes // 8, dtype="<i8").tobytes()


def noise(nbytes):
    return np.random.default_rng(7).integers(
        0, 256, nbytes, dtype="u1").tobytes()


def write(name, data, contiguous, chunksize=CHUNK, typesize=8, **cparams):
    cparams = {"codec": blosc2.Codec.ZSTD, "clevel": 5, "typesize": typesize,
               "nthreads": 1, **cparams}
    schunk = blosc2.SChunk(chunksize=chunksize, data=data, urlpath=name,
                           contiguous=contiguous, cparams=cparams)
    with open(name + ".data", "wb") as f:
        f.write(data)
    return schunk


def small(name):
    write(name, numbers(10 * CHUNK + 1000), False)


def flat(name):
    write(name, numbers(10 * CHUNK + 1000), True)


def zlib(name):
    """Noise in zlib, whose checksum notices every flipped bit."""
    data = bytes(byte & 0x3f for byte in noise(4 * CHUNK))
    write(name, data, False, typesize=1, codec=blosc2.Codec.ZLIB,
          filters=[blosc2.Filter.NOFILTER])


def holes(name):
    """Chunks of zeros, and zeros inside a chunk."""
    inner = noise(100000) + bytes(700000) + noise(248576)
    write(name, noise(1 << 20) + bytes(4 << 20) + inner + bytes(2 << 20),
          False, chunksize=1 << 20, typesize=1)


def big(name):
    """A frame too large for a small disk."""
    write(name, noise(3 << 20), False, chunksize=1 << 18, typesize=1)


def huge(name):
    """8 GiB of zeros."""
    schunk = blosc2.SChunk(chunksize=16 << 20, urlpath=name, contiguous=False,
                           cparams={"typesize": 1})
    schunk.fill_special(8 << 30, blosc2.SpecialValue.ZERO)


def empty(name):
    write(name, b"", False)


def meta(name):
    schunk = blosc2.SChunk(
        chunksize=CHUNK, data=numbers(CHUNK), urlpath=name, contiguous=False,
        cparams={"typesize": 8},
        meta={"title": "water", "answer": 42, "deep": {"a": [1, -2, 0.5]}})
    schunk.vlmeta["unit"] = "kelvin\x1b[31m"
    schunk.vlmeta["long"] = "x" * 5000
    schunk.vlmeta["blob"] = bytes(range(200))
    schunk.vlmeta["yes"] = True
    schunk.vlmeta["nothing"] = None


def array(name):
    blosc2.asarray(np.arange(600, dtype="<f4").reshape(20, 30), urlpath=name,
                   mode="w", chunks=(10, 10), blocks=(5, 5))


def mixed(name):
    """Chunks of all kinds that an sframe may hold."""
    schunk = blosc2.SChunk(chunksize=CHUNK, urlpath=name, contiguous=False,
                           cparams={"typesize": 8})
    schunk.append_data(numbers(CHUNK))
    schunk.append_data(noise(CHUNK))
    schunk.append_data(bytes(CHUNK))
    schunk.append_data(np.full(CHUNK // 8, np.nan).tobytes())
    schunk.append_data(np.full(CHUNK // 8, 3.5).tobytes())


def at_offset(name):
    """A contiguous frame 1000 bytes into a file, more bytes behind it."""
    write("inner.b2frame", numbers(3 * CHUNK), True)
    with open("inner.b2frame", "rb") as f:
        inner = f.read()
    with open(name, "wb") as f:
        f.write(b"\xaa" * 1000 + inner + b"\xbb" * 77)
    os.rename("inner.b2frame.data", name + ".data")
    os.remove("inner.b2frame")


# Frames that blosc2 would take too long to write are written by hand.

def stored_chunk(data, typesize):
    return struct.pack("<BBBBiii", 5, 1, 7, typesize, len(data), len(data),
                       len(data) + 32) + bytes(16) + data


def index_file(entries, nbytes, cbytes, chunksize):
    no_metas = b"\x93\xcd\x00%c\xde\x00\x00\xdc\x00\x00"
    body = stored_chunk(np.asarray(entries, "<i8").tobytes(), 8)
    header_len = 87 + 10
    trailer = b"\x94\x01" + no_metas % 6 + b"\xce" + \
        struct.pack(">I", 35) + b"\xd8" + bytes(17)
    frame_len = header_len + len(body) + len(trailer)
    header = b"\x9e\xa8b2frame\0\xd2" + struct.pack(">i", header_len)
    header += b"\xcf" + struct.pack(">Q", frame_len)
    header += b"\xa4" + bytes([0x12, 1, 0x50, 3])
    header += b"\xd3" + struct.pack(">q", nbytes)
    header += b"\xd3" + struct.pack(">q", cbytes)
    header += b"\xd2" + struct.pack(">i", 8)
    header += b"\xd2" + struct.pack(">i", 0)
    header += b"\xd2" + struct.pack(">i", chunksize)
    header += b"\xd1\0\1\xd1\0\1\xc2\xd8\x06" + bytes(16)
    return header + no_metas % 7 + body + trailer


def million(name):
    """A million entries that name four small chunk files."""
    os.mkdir(name)
    for i in range(4):
        with open(f"{name}/{i:08X}.chunk", "wb") as f:
            f.write(stored_chunk(bytes([i]) * 128, 8))
    with open(f"{name}/chunks.b2frame", "wb") as f:
        f.write(index_file(np.arange(1_000_000) % 4, 128_000_000,
                           160_000_000, 128))


MAKERS = {
    "small.b2frame": small, "flat.b2frame": flat, "zlib.b2frame": zlib,
    "holes.b2frame": holes, "big.b2frame": big, "huge.b2frame": huge,
    "empty.b2frame": empty, "meta.b2frame": meta, "array.b2nd": array,
    "mixed.b2frame": mixed, "at_offset.bin": at_offset,
    "million.b2frame": million,
}

for frame in sys.argv[1:]:
    MAKERS[frame](frame)
