# SPDX-License-Identifier: BSD-3-Clause
"""The measurements of scripts/bench array [NAME...] [SIZE]

  whole    np.fromfile of a float64 array of SIZE (1600m) with chunks of
           (1000, 1000), through a mount, against the same bytes as a 1-d frame
           and against python-blosc2's array[:]
  column   np.memmap[:, k] of that array: which blocks are decoded
  save     np.save of SIZE (800m) and fsync on a mount, against
           np.savez_compressed and blosc2.save_array

The caches are dropped before each round; what is compared runs in turns.
"direct_io" is a mount with that option.
"""
import os
import re
import shutil
import statistics
import sys
import tempfile

import blosc2
import numpy as np

os.environ["B2F_BUILD"] = os.path.abspath(sys.argv[1])
os.environ["B2F_SOURCE"] = os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.environ["B2F_SOURCE"], "tests", "mount"))
from bench import MIB, drop_caches, timed, touch_memory, walk  # noqa: E402
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


def read_timed(action, path, nbytes):
    drop_caches()
    # Its own copy, the kernel's, and what the daemon keeps.
    touch_memory(5 * nbytes // 2)
    return timed(action, path)


def whole_round(nbytes):
    """Seconds: 1-d frame, array, array with direct_io, C-Blosc2."""
    with Scratch():
        seconds = [read_timed(np.fromfile, f"mnt/{name}", nbytes)
                   for name in ("flat", "array")]
    with Scratch("direct_io"):
        seconds.append(read_timed(np.fromfile, "mnt/array", nbytes))
    seconds.append(read_timed(read_stock, "src/array.b2nd", nbytes))
    return seconds


def bench_whole(size):
    a = matrix(size)
    print(f"np.fromfile of {a.nbytes // MIB} MiB: float64 {a.shape}, chunks "
          f"{(SIDE, SIDE)}, {CORES} cores (medians of {ROUNDS} interleaved "
          "rounds)")
    print("codec  1-d array array[:] MB/s  array/1-d array/array[:]  with "
          "direct_io")
    for codec in "lz4", "zstd":
        with Scratch():
            make(a, codec)
            assert np.array_equal(np.fromfile("mnt/array").reshape(a.shape), a)
        rows = [whole_round(a.nbytes) for _ in range(ROUNDS)]
        flat, array, direct, stock = (
            statistics.median(x) for x in zip(*rows))
        print(f"{codec:5} {a.nbytes / flat / 1e6:4.0f}"
              f"  {a.nbytes / array / 1e6:4.0f}    {a.nbytes / stock / 1e6:5.0f}"
              f"           {flat / array:4.2f} x       {stock / array:4.2f} x"
              f"       {stock / direct:4.2f} x")
        for path in "src/array.b2nd", "src/flat.b2frame":
            shutil.rmtree(path)
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


def save_round(a, *options):
    """Seconds, into a mount that has nothing else."""
    shutil.rmtree("src", ignore_errors=True)
    os.sync()
    touch_memory(a.nbytes)
    with Scratch("codec=zstd", "clevel=5", "filter=shuffle", *options):
        seconds = timed(save, "mnt/a.npy", a)
    (stored,) = os.scandir("src")
    assert np.array_equal(blosc2.open(stored.path, mode="r")[:5], a[:5])
    return seconds


def bench_save(size):
    a = walk(size // 8).reshape(-1, 1000)
    print(f"np.save of {a.nbytes // MIB} MiB and fsync, zstd 5, shuffle, "
          f"{CORES} cores (medians of {ROUNDS} interleaved rounds)")
    rows = []
    for _ in range(ROUNDS):
        row = [save_round(a), save_round(a, "direct_io")]
        touch_memory(a.nbytes)
        rows.append(row + [timed(save_stock, "a.b2frame", a)])
    ours, direct, stock = (statistics.median(x) for x in zip(*rows))
    # Much slower than the others: once is enough.
    npz = timed(np.savez_compressed, "a.npz", a)
    print(f"  mount                 {a.nbytes / ours / 1e6:5.0f} MB/s, with "
          f"direct_io {a.nbytes / direct / 1e6:.0f}")
    for name, seconds in (("blosc2.save_array", stock),
                          ("np.savez_compressed", npz)):
        print(f"  {name:20}  {a.nbytes / seconds / 1e6:5.0f} MB/s: "
              f"{seconds / ours:.2f} x, {seconds / direct:.2f} x")
    print()


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
