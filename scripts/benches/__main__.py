# SPDX-License-Identifier: BSD-3-Clause
"""scripts/bench: takes samples of all columns of a row in turns, and their medians"""
import argparse
import contextlib
import functools
import json
import os
import pathlib
import resource
import subprocess
import tempfile
import time

import numpy as np

import disk
import library
from columns import Bloscfs, Mounted
from data import (MIB, Set, drop_caches, free_memory, hold_memory, remove,
                  walk, warm)
from disk import run
from report import ROOT, choose, in_turns, machine, median, show
from rows import (COLD, FRESH, FRONT, FULL, HOT, QUICK, ROUNDS, ROWS, SHOWN,
                  SIZES, TINY)
from work import WRITTEN, Files

BUILD = pathlib.Path(os.environ.get("B2F_BUILD", ROOT / "build/bench"))
# The JSON of the runs, from which the pictures are drawn.
JSON = {"local": ROOT / "build/bench.json",
        "remote": ROOT / "build/bench-remote.json"}


def peak_mib(pid):
    with open(f"/proc/{pid}/status") as f:
        return next(int(line.split()[1]) for line in f
                    if line.startswith("VmHWM")) / 1024


def fill_names(column, data, path):
    """Copies the small files into a mount that has none yet."""
    if data.kind == "names" and not os.listdir(path):
        run("cp", "-r", f"{data.plain}/.", path)
        os.sync()


def check_bytes(data, path):
    """Checks, once per column, that it shows the right bytes."""
    for name in data.files[:100] if data.kind != "chunks" else []:
        if (data.plain / name).is_file():
            run("cmp", "-n", 256 * MIB, data.plain / name, path / name)
    if data.is_whole:
        with open(path / "new", "rb") as f:
            for i in range(data.size // MIB):
                assert f.read(MIB) == data.parts[i % len(data.parts)], i


def cpu_seconds():
    """CPU time of this process, and of programs that it waited for."""
    return sum(usage.ru_utime + usage.ru_stime for usage in map(
        resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def measured(action, where, data, column):
    """Figures of one sample; client and cpu are CPU seconds of this process and a
    daemon."""
    pid = column.pid if isinstance(where, pathlib.Path) else None
    client = cpu_seconds()
    before = library.cpu_ns(pid) if pid else 0
    got = action(where, data)
    got = got if isinstance(got, dict) else {"seconds": got}
    got["client"] = cpu_seconds() - client
    if pid:
        got["cpu"] = (library.cpu_ns(pid) - before) / 1e9
        got["peak"] = peak_mib(pid)
    return got


def note_room(got, data, before):
    """Adds the share of the disk that the data take, unless the method told it."""
    stored = got.get("stored", disk.used(data.place) - before)
    # A column in memory takes none.
    if stored > data.size // 10000:
        got["ratio"], got["share"] = data.size / stored, stored / data.size


def prepare_caches(row, column, data):
    stored = column.stored(data)
    if row.state == COLD:
        drop_caches()
    elif row.state != FRESH and stored.exists():
        warm(stored)


def hold(data):
    """Provides memory for the reader's copy, the kernel's copy, and a daemon."""
    wanted = 3 * data.size if data.size > MIB else 0
    hold_memory(max(64 * MIB, min(wanted, free_memory() // 2)))


def take(row, column, data, top, is_first):
    """Takes one sample, as measured() says."""
    opened = functools.partial(column.open, data, BUILD, top)
    action = getattr(column, row.work)
    if data.kind == "names" and isinstance(column, Mounted) and is_first:
        with opened() as path:
            fill_names(column, data, path)
    prepare_caches(row, column, data)
    if row.opens:
        hold(data)
        return measured(action, opened, data, column)
    with opened() as path:
        if row.state == HOT:
            action(path, data)
        hold(data)
        try:
            got = measured(action, path, data, column)
            if is_first and isinstance(column, Files):
                data.is_whole = row.work.startswith("append")
                check_bytes(data, path)
        finally:
            if row.state != FRESH:
                remove(*(path / name for name in WRITTEN))
    return got


def sample(row, data, top, column, is_first):
    """Takes one sample, in a new filesystem if the row wants it."""
    if row.state != FRESH:
        return take(row, column, data, top, is_first)
    with disk.fresh(top, getattr(column, "disk", "ext4")) as place:
        here = data.on(place)
        before = disk.used(place)
        got = take(row, column, here, top, is_first)
        note_room(got, here, before)
        return got


def prepare(row, top, level):
    size = SIZES[row.kind.partition("-")[0]][level] if not row.size else \
        row.size[level] if isinstance(row.size, tuple) else row.size
    if level == TINY and row.work != "sync_one":
        size = min(size, 16 * MIB)
    data = Set(top, row.kind, row.codec, size)
    data.is_whole = False
    if row.work == "save":
        data.a = walk(size // 8).reshape(-1, 1024)
    return data


def measure(row, columns, top, level, rounds):
    """The size; {column name: [samples]}; and why columns are missing."""
    data = prepare(row, top, level)
    samples, missing = in_turns(columns, rounds, BUILD,
                                functools.partial(sample, row, data, top))
    # Other files, which were made for reading, stay for other rows.
    remove(data.top / "cipher")
    return data.size, samples, missing


def cost(taken):
    text = f"CPU {median(taken, 'client'):.2f}"
    if "cpu" in taken[0]:
        text += (f" + {median(taken, 'cpu'):.2f} s, "
                 f"{max(s['peak'] for s in taken):.0f} MiB")
    return text


def verdicts(figure, columns):
    for mine, other, wanted in figure.wanted:
        if mine.name in columns and other.name in columns:
            got = columns[mine.name]["value"] / columns[other.name]["value"]
            reached = got <= wanted if figure.is_time() else got >= wanted
            print(f"  {mine.name} / {other.name}: {got:.2f} x, wanted "
                  f"{'at most' if figure.is_time() else 'at least'} "
                  f"{wanted:.2f}: {'reached' if reached else 'not reached'}")
            yield {"ours": mine.name, "other": other.name, "ratio": got,
                   "wanted": wanted, "reached": bool(reached)}


def report(row, size, samples, missing):
    """Prints the figures of a row, and yields them for the JSON."""
    ours = next((c.name for c in row.columns
                 if isinstance(c, Bloscfs) and c.name in samples), None)
    note = cost
    for figure in row.figures:
        shown = show(figure, size, samples, missing, note, figure.key, ours)
        shown["wanted"] = [*verdicts(figure, shown["columns"])]
        # Columns that are missing for the whole row are named once.
        missing, note = {}, lambda taken: ""
        yield shown


def build_other(what):
    """The build directory of another version of this repository."""
    path = pathlib.Path(what)
    if (path / "bloscfs").is_file():
        return path.resolve()
    if not path.is_dir():
        commit = run("git", "-C", ROOT, "rev-parse", "--short=12",
                     f"{what}^{{commit}}").strip()
        path = ROOT / "build" / "against" / commit
        if not path.exists():
            path.mkdir(parents=True)
            subprocess.run(f"git -C '{ROOT}' archive {commit} | "
                           f"tar x -C '{path}'", shell=True, check=True)
    build = path / "build" / "bench"
    run("cmake", "-S", path, "-B", build, "-G", "Ninja",
        "-DCMAKE_BUILD_TYPE=Release", "-DB2F_TESTS=OFF")
    run("ninja", "-C", build, "bloscfs")
    return build.resolve()


def pairs(old, new, what):
    """The median and the quartiles of new/old, of samples taken in pairs."""
    ratios = [what(b) / what(a) for a, b in zip(old, new) if what(a)]
    median_, low, high = np.percentile(ratios, [50, 25, 75]) if ratios else \
        [np.nan] * 3
    return f"{median_:.2f} x ({low:.2f} to {high:.2f})"


def all_cpu(sample_):
    """CPU seconds of the daemon; those of a daemon that was waited for are in
    client."""
    return sample_.get("cpu", sample_["client"])


def compare(row, other, top, level, rounds):
    """Lines for each set of options: new against old, and CPU time."""
    for options in {c.options for c in row.columns if type(c) is Bloscfs}:
        old = Bloscfs(*options, name="old", build=other)
        new = Bloscfs(*options, name="new")
        size, samples, missing = measure(row, [old, new], top, level, rounds)
        if missing:
            print(f"{row.name}: {missing}")
            continue
        old, new = samples["old"], samples["new"]
        for figure in row.figures:
            key = figure.key
            if key not in old[0]:
                continue
            print(f"{figure.name:22} {' '.join(options):10} "
                  f"{figure.value(median(old, key), size):8.2f} -> "
                  f"{figure.value(median(new, key), size):8.2f} "
                  f"{figure.unit:5} {figure.key} "
                  f"{pairs(old, new, lambda s, key=key: s[key])}, "
                  f"CPU {pairs(old, new, all_cpu)}", flush=True)


def pick(args):
    known = {row.name: row for row in ROWS}
    names = args.names or (SHOWN if args.mode == "front" else
                           [r.name for r in ROWS
                            if args.mode == "full" or not r.slow])
    return choose(known, names, "row")


def parse():
    p = argparse.ArgumentParser(prog="scripts/bench", description="see there")
    p.add_argument("mode", choices=["quick", "front", "full", "against",
                                    "library", "remote", "plot"])
    p.add_argument("names", nargs="*", help="rows; all, if none is named")
    p.add_argument("--rounds", type=int, default=0)
    p.add_argument("--tiny", action="store_true")
    p.add_argument("--dir", help="where the files are (default: /tmp)")
    p.add_argument("--json", help="build/bench.json, build/bench-remote.json")
    p.add_argument("--docs", default=str(ROOT / "docs"))
    p.add_argument("--plot", action="store_true")
    return p.parse_intermixed_args()


def draw(args):
    import plot
    import remote_plot
    for path in [args.json] if args.json else JSON.values():
        if not os.path.exists(path):
            continue
        with open(path) as f:
            is_remote = "delay" in json.load(f)
        (remote_plot if is_remote else plot).draw(path, pathlib.Path(args.docs))


def run_rows(args, top, level, other):
    rounds, done = args.rounds or ROUNDS[level], []
    load = os.getloadavg()[0]
    for row in pick(args):
        start = time.monotonic()
        if other:
            compare(row, other, top, level, args.rounds or 15)
            continue
        done += report(row, *measure(row, row.columns, top, level, rounds))
        print(f"  {time.monotonic() - start:.0f} s")
        with open(args.json, "w") as f:
            json.dump({"machine": machine(), "load_before": load,
                       "rounds": rounds, "rows": done}, f, indent=1)
    if done:
        print(f"\n{args.json} has all samples; scripts/bench plot draws them")


@contextlib.contextmanager
def place_for(args):
    disk.leave_on_signals()
    with tempfile.TemporaryDirectory(prefix="bloscfs-bench.",
                                     dir=args.dir) as top:
        os.chmod(top, 0o755)
        yield pathlib.Path(top)
        os.chdir("/")


def main():
    args = parse()
    if args.mode == "plot":
        return draw(args)
    args.json = pathlib.Path(args.json or JSON[
        "remote" if args.mode == "remote" else "local"]).absolute()
    args.docs = pathlib.Path(args.docs).absolute()
    other = build_other(args.names.pop(0)) if args.mode == "against" else None
    level = TINY if args.tiny else {"full": FULL, "front": FRONT}.get(
        args.mode, QUICK)
    # Daemons have limits of their own where a row is about them.
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with place_for(args) as top:
        if args.mode == "library":
            library.main(args.names, BUILD, top)
        elif args.mode == "remote":
            import remote
            remote.main(args, BUILD, top)
        else:
            run_rows(args, top, level, other)
    if args.plot:
        draw(args)


main()
