#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bench-paper - the experiment of the paper about Bloscpack, with a mount as a column

usage: scripts/bench paper [--quick | --full | --tiny] [--sizes small,medium,large]
                           [--rounds N] [--minutes N] [--dir DIR] [--json FILE]
                           [--docs DIR] [--from FILE]

Float64 arrays of three sizes (80 KB, 80 MB, 1.6 GB) and three entropies (low: a count;
medium: a sine with noise; high: random) are saved, dropped from the page cache, loaded
(cold) and loaded again (hot).  Rounds go through all formats in turn, and each begins
with another format; the result is the median.  A save includes fsync, and loaded arrays
are compared.  A format whose package is missing, a size for which the disk has no room,
and arrays for which --minutes leaves no time are left out, with a message.

--quick leaves out the large arrays and takes a few minutes; --full, the default, has
all; --tiny only shows that everything runs on this machine, once each, with arrays of
the same names but of some thousand items.

The results go to FILE (build/bench-paper.json); paper.md, a picture for each size, and
a picture of speed and ratio go to the directory of --docs, if given.  --from takes the
results of an earlier run.
"""
import argparse
import importlib.metadata
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
sys.path.insert(0, str(TOP / "scripts" / "benches"))
from data import hold_memory  # noqa: E402
SIZES = {"small": 10**4, "medium": 10**7, "large": 2 * 10**8}
ENTROPIES = "low", "medium", "high"
ROUNDS = {"small": 9, "medium": 5, "large": 1}
TINY = {"small": 1000, "medium": 5000, "large": 20000}
QUICK = ["small", "medium"]
KINDS = {"save": "save, s", "cold": "load, cold, s", "hot": "load, hot, s",
         "ratio": "ratio"}
BUILD = pathlib.Path(os.environ.get("B2F_BUILD", TOP / "build" / "bench"))
# Memory of programs, beside the array and its copy in the page cache.
HELD_MORE = 512 << 20
# Seconds after which a file's times show that it is no longer written to.
SETTLED = 0.05


def bytes_text(nbytes):
    for unit in "B", "KB", "MB":
        if nbytes < 1000:
            return f"{nbytes:g} {unit}"
        nbytes /= 1000
    return f"{nbytes:g} GB"


def size_text(run, size):
    return bytes_text(8 * run["items"][size])


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
    """Drops @path from the page cache."""
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
        time.sleep(SETTLED)

    def end(self, path):
        pass

    def place(self, path):
        return path


class Mounted(Format):
    """A directory under bloscfs, with plain np.save and np.load."""

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
        super().cool(self.source)
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


def timed(array, call, *args):
    """Times a call, after making sure that the machine has memory for @array."""
    hold_memory(2 * array.nbytes + HELD_MORE)
    start = time.perf_counter()
    value = call(*args)
    return time.perf_counter() - start, value


def save_all(form, at, array, path):
    form.save(at, array)
    if not isinstance(form, Mounted):
        sync(path)


def run_one(form, array, path):
    form.begin(path)
    try:
        at = form.place(path)
        save, _ = timed(array, save_all, form, at, array, path)
        form.cool(path)
        cold, loaded = timed(array, form.load, at)
        assert np.array_equal(loaded, array), form.name
        del loaded
        hot, loaded = timed(array, form.load, at)
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


def run_array(options, formats, size, entropy):
    """Figures of all formats for one array; None: no room."""
    array = make(entropy, options.items[size])
    if shutil.disk_usage(options.dir).free < 4 * array.nbytes:
        print(f"left out: no room for {size}", file=sys.stderr)
        return None
    rounds = {form.name: [] for form in formats}
    for i in range(options.rounds or ROUNDS[size]):
        first = i * 3 % len(formats)
        for form in formats[first:] + formats[:first]:
            path = f"{options.dir}/bench-paper-{os.getpid()}"
            rounds[form.name].append(run_one(form, array, path))
    return {name: median(found) for name, found in rounds.items()}


def print_row(row):
    print(f"{row['size']:7} {row['entropy']:7} {row['format']:22} "
          f"{row['save']:9.4f} {row['cold']:9.4f} {row['hot']:9.4f} "
          f"{row['ratio']:8.2f}", flush=True)


def run_all(options, run):
    """Adds rows to @run, and writes the JSON after each."""
    formats = find_formats()
    print(f"{'size':7} {'entropy':7} {'format':22} {'save s':>9} {'cold s':>9} "
          f"{'hot s':>9} {'ratio':>8}", flush=True)
    end = time.monotonic() + 60 * options.minutes
    for size in options.sizes:
        for entropy in ENTROPIES:
            if time.monotonic() > end:
                print(f"left out: no time for {size}, {entropy} entropy",
                      file=sys.stderr)
                continue
            found = run_array(options, formats, size, entropy)
            for name, figures in (found or {}).items():
                row = {"size": size, "entropy": entropy, "format": name,
                       **figures}
                run["rows"].append(row)
                print_row(row)
            options.json.write_text(json.dumps(run, indent=1))


def version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def processor():
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return platform.machine()


def filesystem(path):
    return subprocess.check_output(
        ["findmnt", "-no", "FSTYPE", "-T", path], text=True).strip()


def describe(options):
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    packages = ("numpy", "joblib", "bloscpack", "blosc", "blosc2", "zarr",
                "h5py", "hdf5plugin")
    return {"processor": processor(), "cores": os.cpu_count(),
            "memory": memory, "kernel": platform.release().split("-")[0],
            "filesystem": filesystem(options.dir),
            "packages": {p: version_of(p) for p in packages if version_of(p)},
            "version": subprocess.check_output(
                [BUILD / "bloscctl", "--version"], text=True).split()[1]}


def command(options):
    words = [f"--{name}" for name in ("quick", "full", "tiny")
             if vars(options)[name]]
    return " ".join(["scripts/bench paper", *words, "--docs docs"])


def measure(options):
    run = {"command": command(options), "machine": describe(options), "load": os.getloadavg()[0],
           "items": options.items,
           "rounds": {s: options.rounds or ROUNDS[s] for s in options.sizes},
           "rows": []}
    run_all(options, run)
    return run


def pick(run, size, entropy):
    return {r["format"]: r for r in run["rows"]
            if (r["size"], r["entropy"]) == (size, entropy)}


def entropies_of(run, size):
    return [e for e in ENTROPIES if pick(run, size, e)]


def sizes_of(run):
    return list(dict.fromkeys(r["size"] for r in run["rows"]))


def headline(run):
    """How much sooner the largest count is saved than by np.savez_compressed."""
    size = sizes_of(run)[-1]
    found = pick(run, size, "low")
    npz = found["npz"]["save"]
    lines = [f"{size_text(run, size)}, low entropy: `np.savez_compressed` takes "
             f"{npz:.3g} s to save.", ""]
    for name, row in found.items():
        if name.startswith(("bloscfs", "bloscpack")):
            lines.append(f"- {name}: {row['save']:.3g} s to save, "
                         f"{npz / row['save']:.3g} times as fast; "
                         f"{row['cold']:.3g} s to load (cold), ratio "
                         f"{row['ratio']:.0f}.")
    return lines


def color(name):
    return "#c0392b" if name.startswith("bloscfs") else "#5f6c6d"


def figure(run, size, path):
    """A row of panels per measured value, a column per entropy."""
    from matplotlib import pyplot, ticker
    names = list(pick(run, size, "low"))[::-1]
    entropies = entropies_of(run, size)
    image, axes = pyplot.subplots(
        len(KINDS), len(entropies), sharey=True, sharex="row", squeeze=False,
        figsize=(1 + 3 * len(entropies), 10), layout="constrained")
    for line, (kind, title) in zip(axes, KINDS.items()):
        values = [r[kind] for r in run["rows"] if r["size"] == size]
        line[0].set_xlim(10 ** np.floor(np.log10(min(values) * 0.9)),
                         10 ** np.ceil(np.log10(max(values))))
        for axis, entropy in zip(line, entropies):
            found = pick(run, size, entropy)
            axis.barh(names, [found[n][kind] for n in names],
                      color=[*map(color, names)])
            axis.set_xscale("log")
            axis.xaxis.set_minor_formatter(ticker.NullFormatter())
            axis.set_title(f"{entropy} entropy: {title}", fontsize=9)
            axis.tick_params(labelsize=7)
            axis.spines[["top", "right"]].set_visible(False)
    image.suptitle(f"float64, {size_text(run, size)}")
    image.savefig(path, dpi=80)
    pyplot.close(image)


def overview_of(run):
    """The array of the picture of speed and ratio: noisy, and not small."""
    sizes = [s for s in sizes_of(run) if s != "small"] or sizes_of(run)
    size = sizes[0]
    return size, "medium" if pick(run, size, "medium") else "low"


def spread(wanted, gap):
    """Positions from 0 to 1, at least @gap apart, close to the sorted @wanted."""
    places, low = [], 0
    for place in wanted:
        places.append(max(place, low))
        low = places[-1] + gap
    high = 1
    for i in reversed(range(len(places))):
        places[i] = min(places[i], high)
        high = places[i] - gap
    return places


def label_points(axis, points):
    """The names of {name: (ratio, speed)} in a column beside the axis."""
    names = sorted(points, key=lambda n: points[n][1])
    to_axis = (axis.transData + axis.transAxes.inverted()).transform
    places = spread([to_axis(points[n])[1] for n in names], 0.085)
    for name, place in zip(names, places):
        axis.annotate(name, points[name], xytext=(1.05, place), va="center",
                      textcoords="axes fraction", fontsize=8,
                      color=color(name), annotation_clip=False,
                      arrowprops={"arrowstyle": "-", "color": "#cccccc",
                                  "linewidth": 0.7, "shrinkB": 3})


def overview(run, path):
    """Speed of saving and of loading over ratio: up and right is better."""
    from matplotlib import pyplot
    size, entropy = overview_of(run)
    nbytes = 8 * run["items"][size]
    image, axes = pyplot.subplots(1, 2, figsize=(11, 4.5), sharex=True)
    for axis, (kind, title) in zip(axes, (("save", "save and fsync"),
                                          ("cold", "load, not cached"))):
        points = {name: (row["ratio"], nbytes / row[kind] / 1e6)
                  for name, row in pick(run, size, entropy).items()}
        axis.set_yscale("log")
        axis.scatter(*zip(*points.values()), c=[*map(color, points)], zorder=3)
        axis.margins(x=0.1, y=0.1)
        axis.yaxis.set_major_formatter("{x:g}")
        axis.yaxis.set_minor_formatter(lambda x, _: f"{x:g}" if f"{x:g}"[0]
                                       in "25" else "")
        axis.tick_params(which="both", labelsize=8)
        axis.set_xlabel("size / bytes on disk")
        axis.set_ylabel("MB/s")
        axis.set_title(title, fontsize=10)
        axis.spines[["top", "right"]].set_visible(False)
        label_points(axis, points)
    image.suptitle(f"{size_text(run, size)} of float64, {entropy} entropy")
    image.subplots_adjust(left=0.06, right=0.84, wspace=0.65, bottom=0.12)
    image.savefig(path, dpi=80)
    pyplot.close(image)

def machine_text(run):
    m = run["machine"]
    packages = ", ".join(f"{k} {v}" for k, v in m["packages"].items())
    text = (f"{m['processor']}, {m['cores']} cores, "
            f"{m['memory'] / 2**30:.0f} GiB of memory, Linux {m['kernel']}, "
            f"{m['filesystem']}; bloscfs {m['version']}; {packages}.")
    if run["load"] > m["cores"] / 4:
        return text + (f" **Other programs kept the machine busy** (load "
                       f"{run['load']:.1f} at the beginning): the times are longer "
                       "than on a quiet one, and only large differences "
                       "between them mean something.")
    return text + f" Nothing else was running (load {run['load']:.1f} at the beginning)."


def table(run, size, entropy):
    yield "| format | " + " | ".join(KINDS.values()) + " |"
    yield "|---|" + "---:|" * len(KINDS)
    for name, row in pick(run, size, entropy).items():
        cells = [f"{row[k]:.3g}" for k in KINDS]
        yield f"| {name} | " + " | ".join(cells) + " |"


def page(run, docs):
    rounds = ", ".join(f"{run['rounds'][s]} of {size_text(run, s)}"
                       for s in sizes_of(run))
    lines = ["# The experiment of the paper about Bloscpack", "",
             "Float64 arrays of three sizes and three entropies (low: a count; "
             "medium: a sine with noise, to six digits; high: random numbers) "
             "are saved, with fsync, dropped from the page cache, loaded, and "
             "loaded again. `bloscfs` is `np.save`, and `np.load` or "
             "`np.fromfile`, in a mount; it is mounted anew before the cold "
             "load. Each other format is its package's own way to save an "
             "array, with its defaults.", "",
             f"Made by `{run['command']}`. Medians of rounds "
             f"through all formats in turn: {rounds}.", "",
             machine_text(run), "", *headline(run), "",
             "![speed and ratio](paper-overview.png)"]
    overview(run, docs / "paper-overview.png")
    for size in sizes_of(run):
        missing = [e for e in ENTROPIES if e not in entropies_of(run, size)]
        text = size_text(run, size)
        lines += ["", f"## {text}", "", f"![{text}](paper-{size}.png)"]
        if missing:
            lines += ["", f"Not measured: {' and '.join(missing)} entropy."]
        for entropy in entropies_of(run, size):
            lines += ["", f"{entropy.capitalize()} entropy:", "",
                      *table(run, size, entropy)]
        figure(run, size, docs / f"paper-{size}.png")
    (docs / "paper.md").write_text("\n".join(lines) + "\n")


def parse():
    parser = argparse.ArgumentParser(prog="scripts/bench paper")
    level = parser.add_mutually_exclusive_group()
    for name in "--quick", "--full", "--tiny":
        level.add_argument(name, action="store_true")
    parser.add_argument("--sizes", type=lambda text: text.split(","))
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--minutes", type=float, default=600)
    parser.add_argument("--dir", default="/var/tmp")
    parser.add_argument("--json", type=pathlib.Path,
                        default=TOP / "build/bench-paper.json")
    parser.add_argument("--docs", type=pathlib.Path)
    parser.add_argument("--from", dest="earlier", type=pathlib.Path)
    options = parser.parse_args()
    options.sizes = options.sizes or (QUICK if options.quick else [*SIZES])
    options.items = TINY if options.tiny else SIZES
    if options.tiny:
        options.rounds = options.rounds or 1
    if not set(options.sizes) <= set(SIZES):
        parser.error(f"sizes are {', '.join(SIZES)}")
    return options


def main():
    options = parse()
    if options.docs:
        import matplotlib
        matplotlib.use("Agg")
    if options.earlier:
        run = json.loads(options.earlier.read_text())
    else:
        run = measure(options)
    print("\n".join(headline(run)))
    if options.docs:
        options.docs.mkdir(exist_ok=True)
        page(run, options.docs)


if __name__ == "__main__":
    main()
