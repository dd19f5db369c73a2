# SPDX-License-Identifier: BSD-3-Clause
"""packing - Bloscpack, and files of every kind that it makes

Bloscpack uses names of `collections` that Python 3.10 removed; they are restored before
it is imported.
"""
import collections
import collections.abc
import json
import pathlib
import random
import struct
import warnings
import zipfile

for _name in "MutableMapping", "Mapping", "Iterable":
    if not hasattr(collections, _name):
        setattr(collections, _name, getattr(collections.abc, _name))
warnings.simplefilter("ignore")

import blosc  # noqa: E402
import bloscpack  # noqa: E402
import numpy as np  # noqa: E402
from bloscpack.append import append  # noqa: E402
from bloscpack.args import (BloscArgs, BloscpackArgs,  # noqa: E402
                            MetadataArgs)

blosc.set_nthreads(1)

SUMS = ("None", "adler32", "crc32", "md5", "sha1", "sha224", "sha256",
        "sha384", "sha512")
SIZES = dict(zip(SUMS, (0, 4, 4, 16, 20, 28, 32, 48, 64)))
CODECS = [c for c in blosc.compressor_list() if c != "snappy"]
HEADER = "<4sBBBBiiqq"


def some_bytes(rng, n):
    """@n bytes, compressible to some degree."""
    kind = rng.choice(("random", "text", "count", "zeros", "floats"))
    gen = np.random.default_rng(rng.getrandbits(32))
    if kind == "random":
        return gen.bytes(n)
    if kind == "text":
        return (b"the quick brown fox %d " * (n // 20 + 1))[:n]
    if kind == "zeros":
        return bytes(n)
    if kind == "count":
        return np.arange(n // 4 + 1, dtype="i4").tobytes()[:n]
    return (np.sin(np.arange(n // 8 + 1) / 9) +
            gen.normal(0, 1e-6, n // 8 + 1)).tobytes()[:n]


def some_array(rng):
    dtype = rng.choice(("<f8", "<f4", ">i4", "<i8", "u1", "<c16", "?", "<U3",
                        "S5", "<M8[ns]", [("a", "<i4"), ("b", "<f8", (2,))]))
    shape = tuple(rng.randint(1, 40) for _ in range(rng.randint(1, 3)))
    dtype = np.dtype(dtype)
    n = int(np.prod(shape)) * dtype.itemsize
    raw = np.frombuffer(some_bytes(rng, n), dtype="u1").copy()
    if dtype == np.dtype("?"):
        raw &= 1
    if dtype.kind == "U":
        raw = (raw.view("<u4") % 0x7f).view("u1")
    array = raw.view(dtype).reshape(shape)
    return np.asfortranarray(array) if rng.random() < 0.4 else array


def settings(rng):
    checksum = rng.choice(SUMS)
    offsets = rng.random() < 0.7
    return (BloscArgs(typesize=rng.choice((1, 2, 3, 4, 7, 8, 12, 16, 17, 33,
                                           128, 255)),
                      clevel=rng.randint(0, 9), shuffle=rng.randint(0, 2),
                      cname=rng.choice(CODECS)),
            BloscpackArgs(offsets=offsets, checksum=checksum,
                          max_app_chunks=rng.choice((0, 3, 50))
                          if offsets else 0))


def meta_settings(rng):
    return MetadataArgs(meta_checksum=rng.choice(SUMS),
                        meta_codec=rng.choice(("None", "zlib")),
                        meta_level=rng.randint(1, 9),
                        max_meta_size=rng.choice((2000, 4321)))


def forget_sizes(path):
    """Makes it a file whose writer did not know the size beforehand."""
    raw = bytearray(path.read_bytes())
    fields = list(struct.unpack(HEADER, raw[:32]))
    if fields[2] & 1:
        return
    fields[6] = fields[7] = -1
    raw[:32] = struct.pack(HEADER, *fields)
    path.write_bytes(raw)


def make_some(rng, path):
    """Makes @path, a file of a random kind.  Returns its decoded bytes, its array or
    None, and its metadata or None."""
    path = pathlib.Path(path)
    blosc_args, args = settings(rng)
    meta_args = meta_settings(rng)
    if rng.random() < 0.3:
        array = some_array(rng)
        bloscpack.pack_ndarray_to_file(
            array, str(path), chunk_size=array.itemsize *
            rng.choice((1, 7, 1000)), blosc_args=blosc_args,
            bloscpack_args=args, metadata_args=meta_args)
        order = "F" if np.isfortran(array) else "C"
        return array.tobytes(order), array, None
    meta = {"name": "x" * rng.randint(0, 90), "n": [1, 2.5, None]} \
        if rng.random() < 0.5 else None
    data = some_bytes(rng, rng.choice((1, 15, 16, 17, 1000, 65536, 300001)))
    bloscpack.pack_bytes_to_file(
        data, str(path), chunk_size=rng.choice((500, 4096, 100001, 1 << 20)),
        metadata=meta, blosc_args=blosc_args, bloscpack_args=args,
        metadata_args=meta_args)
    if args.offsets and rng.random() < 0.5:
        more = some_bytes(rng, rng.randint(1, 1000))
        part = path.with_suffix(".part")
        part.write_bytes(more)
        try:
            append(str(path), str(part))
            data += more
        except bloscpack.exceptions.NotEnoughSpace:
            pass
        part.unlink()
    elif not args.offsets and rng.random() < 0.3:
        forget_sizes(path)
    return data, None, meta


def unpack(path):
    """The bytes and metadata that Bloscpack reads."""
    data, meta = bloscpack.unpack_bytes_from_file(str(path))
    return data, meta


def pack_into(store, data):
    """Adds to the ZIP file @store an array, g/a.blp, @data as x.blp, and a file that
    only begins like one.  Returns the array."""
    array = np.arange(5000.).reshape(50, 100)
    bloscpack.pack_ndarray_to_file(array, "a.blp")
    bloscpack.pack_bytes_to_file(data, "x.blp", chunk_size=1000)
    with zipfile.ZipFile(store, "a") as z:
        z.write("a.blp", "g/a.blp")
        z.write("x.blp", "x.blp")
        z.writestr("blpk", b"blpk of no kind at all")
    return array


def text_of(meta):
    """The stored form of the metadata."""
    return json.dumps(meta, separators=(",", ":")).encode()


def many(seed, n):
    rng = random.Random(seed)
    return [random.Random(rng.getrandbits(64)) for _ in range(n)]
