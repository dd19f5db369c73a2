#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench-paper - the experiment of the paper about Bloscpack, with a mount as a column

usage: scripts/bench paper [--sizes small,medium,large] [--rounds N] [--dir DIR]
                           [--json FILE] [--plot FILE]

Float64 arrays of three sizes (80 KB, 80 MB, 1.6 GB) and three entropies (low: a
count; medium: a sine with noise; high: random) are saved, dropped from the page
cache, loaded (cold) and loaded again (hot).  Rounds go through all formats in
turn; what is told is the median.  A save includes fsync.  Formats whose package is
missing are left out, and said; so is a size that the disk has no room for.
"""
import argparse
import json
import os
import pathlib
import platform
import shutil
import statistics
import subprocess
import sys
import time

import numpy as np

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "tests" / "support"))
SIZES = {"small": 10**4, "medium": 10**7, "large": 2 * 10**8}
BUILD = pathlib.Path(os.environ.get("B2F_BUILD", TOP / "build" / "bench"))


def make(entropy, n):
    if entropy == "low":
        return np.arange(n, dtype="f8")
    rng = np.random.default_rng(n)
    if entropy == "medium":
        wave = np.sin(np.linspace(0, 200 * np.pi, n))
        return np.round(wave + rng.normal(0, 1e-3, n), 6)
    return rng.random(n)


def files_of(path):
    path = pathlib.Path(path)
    return [p for p in (path.rglob("*") if path.is_dir() else [path])
            if p.is_file()]


def sync(path):
    for file in files_of(path):
        fd = os.open(file, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)


def forget(path):
    """Takes it out of the page cache."""
    for file in files_of(path):
        fd = os.open(file, os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def stored(path):
    return sum(p.stat().st_size for p in files_of(path))


class Format:
    """Saves and loads one array at @path."""

    def __init__(self, name, save, load):
        self.name, self.save, self.load = name, save, load

    def begin(self, path):
        pass

    def cool(self, path):
        sync(path)
        forget(path)

    def end(self, path):
        pass

    def place(self, path):
        return path


class Mounted(Format):
    """A directory under bloscfs; np.save and np.load as ever."""

    def __init__(self, codec, load, how):
        super().__init__(f"bloscfs {codec} {how}", self.put, load)
        self.codec = codec

    def put(self, path, array):
        with open(path, "wb") as f:
            np.save(f, array)
            f.flush()
            os.fsync(f.fileno())

    def begin(self, path):
        self.source, self.top = f"{path}.src", f"{path}.mnt"
        os.mkdir(self.source)
        os.mkdir(self.top)
        self.mount()

    def mount(self):
        subprocess.run([BUILD / "bloscfs", "-o", f"codec={self.codec}",
                        self.source, self.top], check=True)

    def umount(self):
        subprocess.run([BUILD / "bloscctl", "umount", self.top], check=True)

    def cool(self, path):
        self.umount()
        forget(self.source)
        self.mount()

    def end(self, path):
        self.umount()
        shutil.rmtree(self.source)
        os.rmdir(self.top)

    def place(self, path):
        return f"{self.top}/x.npy"


def save_npy(path, array):
    with open(path, "wb") as f:
        np.save(f, array)


def save_npz(path, array):
    with open(path, "wb") as f:
        np.savez_compressed(f, x=array)


def load_npz(path):
    with np.load(path) as f:
        return f["x"]


def load_fromfile(path):
    return np.fromfile(path, dtype="f8", offset=128)


def find_numpy():
    yield Format("npy", save_npy, np.load)
    yield Format("npz", save_npz, load_npz)


def find_joblib():
    import joblib
    yield Format("zfile (joblib)", lambda p, a: joblib.dump(a, p, compress=3),
                 joblib.load)


def find_bloscpack():
    from packing import bloscpack
    import blosc
    blosc.set_nthreads(os.cpu_count())
    yield Format("bloscpack", lambda p, a: bloscpack.pack_ndarray_to_file(a, p),
                 bloscpack.unpack_ndarray_from_file)


def find_blosc2():
    import blosc2
    yield Format("python-blosc2",
                 lambda p, a: blosc2.save_array(a, p, mode="w"),
                 blosc2.load_array)


def find_zarr():
    import zarr
    yield Format("zarr", zarr.save_array, lambda p: zarr.load(p)[...])


def find_h5py():
    import h5py
    import hdf5plugin

    def save(path, array):
        with h5py.File(path, "w") as f:
            f.create_dataset("x", data=array, chunks=True,
                             **hdf5plugin.Blosc2())

    def load(path):
        with h5py.File(path) as f:
            return f["x"][...]

    yield Format("h5py blosc2", save, load)


def find_mounts():
    if not (BUILD / "bloscfs").exists():
        raise ImportError(f"{BUILD}/bloscfs is not built")
    for codec in "lz4", "zstd":
        yield Mounted(codec, np.load, "np.load")
    yield Mounted("lz4", load_fromfile, "np.fromfile")


def find_formats():
    found = []
    for find in (find_numpy, find_joblib, find_bloscpack, find_blosc2,
                 find_zarr, find_h5py, find_mounts):
        try:
            found += find()
        except ImportError as e:
            print(f"left out: {e}", file=sys.stderr)
    return found


def timed(call, *args):
    start = time.perf_counter()
    value = call(*args)
    return time.perf_counter() - start, value


def run_one(form, array, path):
    form.begin(path)
    try:
        at = form.place(path)
        start = time.perf_counter()
        form.save(at, array)
        if not isinstance(form, Mounted):
            sync(path)
        save = time.perf_counter() - start
        form.cool(path)
        cold, loaded = timed(form.load, at)
        assert np.array_equal(loaded, array), form.name
        hot, loaded = timed(form.load, at)
        assert np.array_equal(loaded, array), form.name
        size = stored(getattr(form, "source", path))
    finally:
        form.end(path)
        if os.path.isdir(path):
            shutil.rmtree(path)
        elif os.path.exists(path):
            os.unlink(path)
    return {"save": save, "cold": cold, "hot": hot,
            "ratio": array.nbytes / size}


def median(rounds):
    return {key: statistics.median(r[key] for r in rounds) for key in rounds[0]}


def run_all(options, formats):
    """Yields (size, entropy, format, figures)."""
    for size in options.sizes:
        for entropy in "low", "medium", "high":
            array = make(entropy, SIZES[size])
            if shutil.disk_usage(options.dir).free < 4 * array.nbytes:
                print(f"left out: no room for {size}", file=sys.stderr)
                continue
            rounds = {form.name: [] for form in formats}
            for i in range(options.rounds):
                for form in formats[i:] + formats[:i]:
                    path = f"{options.dir}/bench-paper-{os.getpid()}"
                    rounds[form.name].append(run_one(form, array, path))
            for form in formats:
                yield size, entropy, form.name, median(rounds[form.name])


def plot(rows, path):
    try:
        import matplotlib
    except ImportError:
        sys.exit("--plot needs matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot
    sizes = list(dict.fromkeys(r["size"] for r in rows))
    kinds = "save", "cold", "hot", "ratio"
    names = list(dict.fromkeys(r["format"] for r in rows))
    figure, axes = pyplot.subplots(len(sizes), len(kinds), squeeze=False,
                                   figsize=(16, 4 * len(sizes)))
    for line, size in zip(axes, sizes):
        for axis, kind in zip(line, kinds):
            for i, entropy in enumerate(("low", "medium", "high")):
                values = {r["format"]: r[kind] for r in rows
                          if (r["size"], r["entropy"]) == (size, entropy)}
                axis.barh([n * 4 + i for n in range(len(names))],
                          [values.get(name, 0) for name in names],
                          label=entropy)
            axis.set_yticks([n * 4 + 1 for n in range(len(names))], names)
            axis.set_xscale("log")
            axis.set_title(f"{size}: {kind}" + ("" if kind == "ratio"
                                                 else ", s"))
    axes[0][0].legend()
    figure.tight_layout()
    figure.savefig(path)


def parse():
    parser = argparse.ArgumentParser(prog="scripts/bench paper")
    parser.add_argument("--sizes", default="small,medium,large",
                        type=lambda text: text.split(","))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dir", default="/tmp")
    parser.add_argument("--json")
    parser.add_argument("--plot")
    options = parser.parse_args()
    if not set(options.sizes) <= set(SIZES):
        parser.error(f"sizes are {', '.join(SIZES)}")
    return options


def main():
    options = parse()
    rows = []
    print(f"{'size':7} {'entropy':7} {'format':22} {'save s':>9} {'cold s':>9} "
          f"{'hot s':>9} {'ratio':>8}", flush=True)
    for size, entropy, name, r in run_all(options, find_formats()):
        print(f"{size:7} {entropy:7} {name:22} {r['save']:9.4f} "
              f"{r['cold']:9.4f} {r['hot']:9.4f} {r['ratio']:8.2f}",
              flush=True)
        rows.append({"size": size, "entropy": entropy, "format": name, **r})
    if options.json:
        with open(options.json, "w") as f:
            json.dump({"machine": platform.uname()._asdict(),
                       "cpus": os.cpu_count(), "rounds": options.rounds,
                       "rows": rows}, f, indent=1)
    if options.plot:
        plot(rows, options.plot)


if __name__ == "__main__":
    main()
