#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""test_settings.py - every codec, level, filter and item size of C-Blosc2"""
import itertools
import sys

import blosc2

from interop import check, compressible, stock_bytes, verify_tree, workdir, write

CODECS = [blosc2.Codec.BLOSCLZ, blosc2.Codec.LZ4, blosc2.Codec.LZ4HC,
          blosc2.Codec.ZLIB, blosc2.Codec.ZSTD]
F = blosc2.Filter
PIPELINES = [[], [F.SHUFFLE], [F.BITSHUFFLE], [F.SHUFFLE, F.BYTEDELTA]]
SPLITS = [blosc2.SplitMode.ALWAYS_SPLIT, blosc2.SplitMode.NEVER_SPLIT,
          blosc2.SplitMode.AUTO_SPLIT, blosc2.SplitMode.FORWARD_COMPAT_SPLIT]
count = 0


def one(nbytes, typesize, **options):
    """Writes and checks a frame, sparse and contiguous by turns."""
    global count
    path = f"{count:04}.b2frame"
    contiguous = count % 2 == 1
    data = compressible(nbytes, typesize, seed=count)
    schunk = write(path, data, typesize=typesize, contiguous=contiguous,
                   **options)
    count += 1
    lossy = any(f in (F.TRUNC_PREC, F.INT_TRUNC)
                for f in options.get("filters", []))
    check(path, stock_bytes(schunk) if lossy else data, schunk)


def codecs_and_levels():
    for codec, level in itertools.product(CODECS, range(10)):
        one(50_000, 4, codec=codec, clevel=level, chunksize=20_000)


def filters_and_types():
    for codec, filters, typesize in itertools.product(
            CODECS, PIPELINES, (1, 2, 4, 8, 16)):
        one(typesize * 7000, typesize, codec=codec, filters=filters,
            chunksize=typesize * 3000)


def odd_types():
    for filters, typesize in itertools.product(
            PIPELINES[:3], (3, 5, 7, 12, 31, 32, 255)):
        one(typesize * 500, typesize, filters=filters,
            chunksize=typesize * 200)


def delta():
    for codec, typesize in itertools.product(CODECS, (1, 2, 4, 8, 16)):
        for filters in ([F.DELTA], [F.DELTA, F.SHUFFLE], [F.SHUFFLE, F.DELTA]):
            one(typesize * 4096, typesize, codec=codec, filters=filters,
                chunksize=typesize * 2048, blocksize=typesize * 512)


def lossy():
    for typesize, bits in itertools.product((4, 8), (10, -3)):
        one(typesize * 5000, typesize, filters=[F.TRUNC_PREC, F.SHUFFLE],
            filters_meta=[bits, 0], chunksize=typesize * 2000)
    for typesize, bits in itertools.product((1, 2, 4, 8), (5, -3)):
        one(typesize * 5000, typesize, filters=[F.INT_TRUNC, F.SHUFFLE],
            filters_meta=[bits, 0], chunksize=typesize * 2000)


def splits():
    for codec, split, typesize in itertools.product(CODECS, SPLITS, (1, 4, 8)):
        one(typesize * 5000, typesize, codec=codec, splitmode=split,
            chunksize=typesize * 2000, blocksize=typesize * 300)


def block_sizes():
    """Block sizes that do not divide the chunk, or are larger than it."""
    for blocksize in (64, 96, 1000, 4096, 9992, 10_000, 16_384, 100_000):
        for nbytes in (8, 80, 4096, 10_000, 10_008, 29_992):
            one(nbytes, 8, blocksize=blocksize, chunksize=10_000)


def dictionaries():
    for codec in (blosc2.Codec.ZSTD, blosc2.Codec.LZ4, blosc2.Codec.LZ4HC):
        for split in SPLITS[:2]:
            one(400_000, 8, codec=codec, use_dict=True, splitmode=split,
                chunksize=200_000, blocksize=8192)


def main():
    with workdir():
        codecs_and_levels()
        filters_and_types()
        odd_types()
        delta()
        lossy()
        splits()
        block_sizes()
        dictionaries()
        verify_tree(count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
