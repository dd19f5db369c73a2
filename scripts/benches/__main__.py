# SPDX-License-Identifier: BSD-3-Clause
"""scripts/bench: samples of all columns of a row in turns, and their medians"""
import argparse
import json
import os
import pathlib
import resource
import subprocess
import sys
import tempfile

import numpy as np

import library
from columns import Bloscfs, Mounted, clean, run
from data import (MIB, Set, drop_caches, free_memory, hold_memory, pieces,
                  remove, walk, warm)
from report import ROOT, machine, median, reason
from rows import COLD, FULL, HOT, QUICK, ROWS, SIZES, TINY
from work import WRITTEN, Files

BUILD = pathlib.Path(os.environ.get("B2F_BUILD", ROOT / "build/bench"))
# What the runs leave, and the figures are drawn from.
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
    """Once per column: what is shown is what is meant."""
    for name in data.files:
        if (data.plain / name).is_file():
            run("cmp", data.plain / name, path / name)
    if (path / "new").is_file() and data.kind == "none" and data.untouched:
        want = b"".join(data.parts)
        got = (path / "new").read_bytes()
        assert got == (want * (len(got) // len(want) + 1))[:data.size]


def client_cpu():
    """Of this process, and of programs that it waited for."""
    return sum(usage.ru_utime + usage.ru_stime for usage in map(
        resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def measured(action, path, data, pid):
    """{seconds, client, and of the daemon @pid: cpu, peak}"""
    client = client_cpu()
    before = library.cpu_ns(pid) if pid else 0
    got = {"seconds": action(path, data), "client": client_cpu() - client}
    if pid:
        got["cpu"] = (library.cpu_ns(pid) - before) / 1e9
        got["peak"] = peak_mib(pid)
    return got


def sample(row, column, data, top, is_first):
    """One sample, as measured() says."""
    if data.kind == "names" and isinstance(column, Mounted) and is_first:
        with column.open(data, BUILD, top) as path:
            fill_names(column, data, path)
    stored = column.stored(data)
    if row.state == COLD:
        drop_caches()
    elif stored.exists():
        warm(stored)
    with column.open(data, BUILD, top) as path:
        action = getattr(column, row.work)
        if row.state == HOT:
            action(path, data)
        # The reader's copy, the kernel's, and what a daemon needs.
        hold_memory(64 * MIB if data.kind == "names" else
                    min(3 * data.size, free_memory() // 2))
        try:
            got = measured(action, path, data, column.pid)
            if is_first and isinstance(column, Files):
                data.untouched = row.work == "append"
                check_bytes(data, path)
        finally:
            remove(*(path / name for name in WRITTEN))
    return got


def prepare(row, top, level):
    size = SIZES[row.kind][level]
    if row.size:
        size = min(size, row.size) if level == TINY else row.size
    data = Set(top, row.kind, row.codec, size)
    data.parts = pieces("walk") if row.kind == "none" else None
    if row.work == "save":
        data.a = walk(size // 8).reshape(-1, 1024)
    if row.work == "untar" and not (data.top / "names.tar").exists():
        run("tar", "cf", data.top / "names.tar", "-C", data.plain, ".")
    return data


def measure(row, columns, top, level, rounds):
    """{column name: [samples]}, and why columns are missing."""
    data = prepare(row, top, level)
    missing = {c.name: c.missing(BUILD) for c in columns if c.missing(BUILD)}
    columns = [c for c in columns if c.name not in missing]
    samples = {c.name: [] for c in columns}
    for i in range(rounds):
        # The other way round each second time: no one is always the first.
        for column in columns[::-1 if i % 2 else 1]:
            if column.name in missing:
                continue
            try:
                samples[column.name].append(
                    sample(row, column, data, top, i == 0))
            except (OSError, RuntimeError, AssertionError,
                    subprocess.SubprocessError) as e:
                missing[column.name] = f"failed: {reason(e)}"
    clean(data)
    return data.size, {k: v for k, v in samples.items() if v}, missing


def report(row, size, samples, missing):
    """Prints the row and returns it for the JSON."""
    ours = next((c.name for c in row.columns
                 if isinstance(c, Bloscfs) and c.name in samples), None)
    print(f"\n{row.name}: {row.title}")
    columns = {}
    for name, taken in samples.items():
        value = row.value(median(taken), size)
        columns[name] = {"value": value, "samples": taken}
        line = f"  {name:28} {value:9.2f} {row.unit:4}"
        if ours and name != ours:
            ratio = row.value(median(samples[ours]), size) / value
            line += f"  ours: {ratio:6.2f} x"
        line += f"  CPU {median(taken, 'client'):.2f}"
        if "cpu" in taken[0]:
            line += (f" + {median(taken, 'cpu'):.2f} s, "
                     f"{max(s['peak'] for s in taken):.0f} MiB")
        print(line)
    for name, why in missing.items():
        print(f"  {name:28} left out: {why}")
    verdicts = []
    for mine, other, wanted in row.wanted:
        if mine.name in columns and other.name in columns:
            got = columns[mine.name]["value"] / columns[other.name]["value"]
            reached = got <= wanted if row.is_time() else got >= wanted
            verdicts.append({"ours": mine.name, "other": other.name,
                             "ratio": got, "wanted": wanted,
                             "reached": bool(reached)})
            print(f"  {mine.name} / {other.name}: {got:.2f} x, wanted "
                  f"{'at most' if row.is_time() else 'at least'} {wanted:.2f}:"
                  f" {'reached' if reached else 'not reached'}")
    sys.stdout.flush()
    return {"name": row.name, "title": row.title, "unit": row.unit,
            "size": size, "columns": columns, "missing": missing,
            "wanted": verdicts}


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
    """The median of new/old of samples taken in pairs, and the middle half."""
    ratios = [b[what] / a[what] for a, b in zip(old, new) if a[what]]
    return np.percentile(ratios, [50, 25, 75]) if ratios else [np.nan] * 3


def compare(row, other, top, level, rounds):
    """One line per set of options: new against old, time and CPU time."""
    for ours in {c.options: c for c in row.columns
                 if isinstance(c, Bloscfs)}.values():
        old = Bloscfs(*ours.options, name="old", build=other)
        new = Bloscfs(*ours.options, name="new")
        size, samples, missing = measure(row, [old, new], top, level, rounds)
        if missing:
            print(f"{row.name}: {missing}")
            continue
        time_, cpu = (pairs(samples["old"], samples["new"], what)
                      for what in ("seconds", "cpu"))
        print(f"{row.name:16} {' '.join(ours.options):10} "
              f"{row.value(median(samples['old']), size):8.2f} -> "
              f"{row.value(median(samples['new']), size):8.2f} {row.unit:4} "
              f"time {time_[0]:.2f} x ({time_[1]:.2f} to {time_[2]:.2f}), "
              f"CPU {cpu[0]:.2f} x ({cpu[1]:.2f} to {cpu[2]:.2f})",
              flush=True)


def choose(names, full):
    known = {row.name: row for row in ROWS}
    for name in names:
        if name not in known:
            sys.exit(f"scripts/bench: no such row: {name}; there are: "
                     f"{' '.join([*known, *library.ROWS])}")
    return [known[n] for n in names] or \
        [row for row in ROWS if full or not row.slow]


def parse():
    p = argparse.ArgumentParser(prog="scripts/bench", description="see there")
    p.add_argument("mode", choices=["quick", "full", "against", "library",
                                    "remote", "plot"])
    p.add_argument("names", nargs="*", help="rows; all, if none is named")
    p.add_argument("--rounds", type=int, default=0)
    p.add_argument("--tiny", action="store_true")
    p.add_argument("--dir", help="where the files are (default: /tmp)")
    p.add_argument("--json", help="build/bench.json, build/bench-remote.json")
    p.add_argument("--docs", default=str(ROOT / "docs"))
    return p.parse_args()


def draw(args):
    import plot
    import remote_plot
    for path in [args.json] if args.json else JSON.values():
        if not os.path.exists(path):
            continue
        with open(path) as f:
            is_remote = "delay" in json.load(f)
        (remote_plot if is_remote else plot).draw(path, pathlib.Path(args.docs))


def main():
    args = parse()
    if args.mode == "plot":
        return draw(args)
    args.json = args.json or JSON["remote" if args.mode == "remote" else
                                  "local"]
    other = build_other(args.names.pop(0)) if args.mode == "against" else None
    full = args.mode == "full"
    level = TINY if args.tiny else FULL if full else QUICK
    rounds = args.rounds or (1 if args.tiny else
                             {"quick": 3, "full": 5}.get(args.mode, 15))
    with tempfile.TemporaryDirectory(prefix="bloscfs-bench.",
                                     dir=args.dir) as top:
        os.chmod(top, 0o755)
        if args.mode == "library":
            return library.main(args.names, BUILD, top)
        if args.mode == "remote":
            import remote
            return remote.main(args, BUILD, pathlib.Path(top))
        done = []
        for row in choose(args.names, full):
            if other:
                compare(row, other, top, level, rounds)
                continue
            done.append(report(row, *measure(row, row.columns, top, level,
                                             rounds)))
            with open(args.json, "w") as f:
                json.dump({"machine": machine(), "rows": done}, f, indent=1)
        os.chdir("/")
    if done:
        print(f"\n{args.json} has all samples; scripts/bench plot draws them")


main()
