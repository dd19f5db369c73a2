# SPDX-License-Identifier: BSD-3-Clause
"""The measurements of scripts/bench array [NAME...] [SIZE]

  whole    np.fromfile of a float64 array of SIZE (1600m) with chunks of
           (1000, 1000), through a mount, against the same bytes as a 1-d frame
           and against python-blosc2's array[:]
  column   np.memmap[:, k] of that array: which blocks are decoded
  save     np.save of SIZE (800m) and fsync on a mount, against
           np.savez_compressed and blosc2.save_array

The caches are dropped before each round; what is compared runs in turns.
"""
import os
import re
import statistics
import sys
import tempfile
import time

import blosc2
import numpy as np

os.environ["B2F_BUILD"] = os.path.abspath(sys.argv[1])
os.environ["B2F_SOURCE"] = os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.environ["B2F_SOURCE"], "tests", "mount"))
from bench import MIB, drop_caches, timed, walk  # noqa: E402
from scratch import Scratch  # noqa: E402

ROUNDS = 3
CORES = len(os.sched_getaffinity(0))
SIDE = 1000


def matrix(nbytes):
    """Twice as many rows as columns, whole chunks of SIDE x SIDE."""
    columns = max(1, round((nbytes / 8 / 2) ** 0.5 / SIDE)) * SIDE
    rows = max(1, round(nbytes / 8 / columns / SIDE)) * SIDE
    # The same block of rows again and again: made in a moment.
    some = walk(SIDE * columns).reshape(SIDE, columns)
    return np.tile(some, (rows // SIDE, 1))


def cparams(codec, typesize=8):
    return {"codec": blosc2.Codec[codec.upper()], "clevel": 5,
            "typesize": typesize, "nthreads": CORES,
            "filters": [blosc2.Filter.SHUFFLE]}


def read_stock(path):
    blosc2.open(path, mode="r", dparams={"nthreads": CORES})[:]


def make(a, codec):
    blosc2.asarray(a, urlpath="src/array.b2nd", mode="w", contiguous=False,
                   chunks=(SIDE, SIDE), cparams=cparams(codec))
    blosc2.SChunk(chunksize=8 * SIDE * SIDE, data=a, contiguous=False,
                  urlpath="src/flat.b2frame", mode="w", cparams=cparams(codec))


def whole_round():
    seconds = []
    for action, path in ((np.fromfile, "mnt/flat"), (np.fromfile, "mnt/array"),
                         (read_stock, "src/array.b2nd")):
        drop_caches()
        seconds.append(timed(action, path))
    return seconds


def bench_whole(size):
    a = matrix(size)
    print(f"np.fromfile of {a.nbytes // MIB} MiB: float64 {a.shape}, chunks "
          f"{(SIDE, SIDE)}, {CORES} cores (medians of {ROUNDS} interleaved "
          "rounds)")
    for codec in "lz4", "zstd":
        with Scratch() as scratch:
            make(a, codec)
            assert np.array_equal(np.fromfile("mnt/array").reshape(a.shape), a)
            rows = []
            for _ in range(ROUNDS):
                # Blocks that are still decoded would be no work.
                scratch.remount()
                rows.append(whole_round())
        flat, array, stock = (statistics.median(x) for x in zip(*rows))
        print(f"{codec:5} 1-d {a.nbytes / flat / 1e6:5.0f} MB/s, array "
              f"{a.nbytes / array / 1e6:5.0f} MB/s: {flat / array:4.2f} x; "
              f"array[:] {a.nbytes / stock / 1e6:5.0f} MB/s: "
              f"{stock / array:4.2f} x")
    print()


def stats():
    text = os.getxattr("mnt", "user.bloscfs.stats").decode()
    return {k: int(v) for k, v in re.findall(r'"?(\w+)"?[=: ]+(\d+)', text)}


def bench_column(size):
    a = matrix(size)
    with Scratch():
        make(a, "lz4")
        stored = blosc2.open("src/array.b2nd", mode="r")
        nblocks = a.shape[0] // SIDE * -(-SIDE // stored.blocks[0])
        before = stats()
        view = np.memmap("mnt/array", np.float64, "r", shape=a.shape)
        assert np.array_equal(view[:, 77], a[:, 77])
        after = stats()
        del view
    print(f"one column of {a.shape}, blocks {stored.blocks}: it crosses "
          f"{nblocks} blocks")
    for key in after:
        if "miss" in key or "evict" in key:
            print(f"  {key}: {after[key] - before.get(key, 0)}")
    print()


def save(path, a):
    with open(path, "wb") as f:
        np.save(f, a)
        f.flush()
        os.fsync(f.fileno())


def save_stock(path, a):
    blosc2.save_array(a, path, mode="w", cparams=cparams("zstd"))


def bench_save(size):
    a = walk(size // 8).reshape(-1, 1000)
    print(f"np.save of {a.nbytes // MIB} MiB and fsync, zstd 5, shuffle, "
          f"{CORES} cores (medians of {ROUNDS} interleaved rounds)")
    rows = []
    with Scratch("codec=zstd", "clevel=5", "filter=shuffle"):
        for i in range(ROUNDS):
            os.sync()
            row = [timed(save, "mnt/a.npy", a),
                   timed(save_stock, "a.b2frame", a)]
            # Much slower than the others: once is enough.
            row.append(timed(np.savez_compressed, "a.npz", a) if i == 0
                       else rows[0][2])
            rows.append(row)
    assert np.array_equal(blosc2.open(next(p.path for p in os.scandir("src")), mode="r")[:5], a[:5])
    ours, stock, npz = (statistics.median(x) for x in zip(*rows))
    print(f"  mount {a.nbytes / ours / 1e6:.0f} MB/s, blosc2.save_array "
          f"{a.nbytes / stock / 1e6:.0f} MB/s ({stock / ours:.2f} x), "
          f"np.savez_compressed {a.nbytes / npz / 1e6:.0f} MB/s "
          f"({npz / ours:.1f} x)\n")


BENCHES = {"whole": (bench_whole, 1600), "column": (bench_column, 800),
           "save": (bench_save, 800)}


def main():
    sizes = [arg for arg in sys.argv[2:] if re.fullmatch(r"\d+m", arg)]
    wanted = [arg for arg in sys.argv[2:] if arg not in sizes]
    for name in wanted or BENCHES:
        if name not in BENCHES:
            sys.exit(f"scripts/bench: no such measurement: array {name}")
        action, usual = BENCHES[name]
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as tmp:
            os.chdir(tmp)
            try:
                action((int(sizes[-1][:-1]) if sizes else usual) * 1000000)
            finally:
                os.chdir(before)


if __name__ == "__main__":
    main()
