# SPDX-License-Identifier: BSD-3-Clause
"""report - takes samples of all columns in turns, and prints them"""
import math
import os
import pathlib
import platform
import statistics
import subprocess
import sys
import time

from data import CORES

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
TIMES = {"s": 1, "ms": 1e3, "us": 1e6}
SPEEDS = {"GB/s": 1e9, "MB/s": 1e6}


def value_of(got, unit, size):
    """Converts seconds to @unit; other values than times and speeds stay."""
    if unit in TIMES:
        return got * TIMES[unit]
    return size / got / SPEEDS[unit] if unit in SPEEDS else got


def number(value):
    """Three significant digits without an exponent; counts unchanged."""
    if isinstance(value, int) or not value or value >= 100:
        return f"{value:.0f}"
    digits = max(0, 2 - math.floor(math.log10(value)))
    return f"{value:.{digits}f}"


def reason(e):
    """The cause of a failure, in a line."""
    said = getattr(e, "stderr", None) or ""
    if isinstance(e, subprocess.CalledProcessError):
        return ": ".join([f"{e}", *said.strip().splitlines()[-1:]])
    return f"{type(e).__name__} {e}"


def median(samples, what="seconds"):
    return statistics.median(s[what] for s in samples)


def choose(known, names, what):
    """The keys of the dictionary @known, or all."""
    for name in names:
        if name not in known:
            sys.exit(f"scripts/bench: no such {what}: {name}; there are: "
                     f"{' '.join(known)}")
    return [known[n] for n in names or known]


def in_turns(columns, rounds, build, sample):
    """{column name: [samples]}, and why columns are missing."""
    missing = {c.name: c.missing(build) for c in columns if c.missing(build)}
    samples = {c.name: [] for c in columns}
    for i in range(rounds):
        # Every second round goes the other way round, so that no column is always
        # first.
        for column in columns[::-1 if i % 2 else 1]:
            if column.name in missing:
                continue
            try:
                samples[column.name].append(sample(column, i == 0))
            except Exception as e:  # noqa: BLE001 - of any of the libraries
                missing[column.name] = f"failed: {reason(e)}"
    return {k: v for k, v in samples.items()
            if v and k not in missing}, missing


def show(row, size, samples, missing, note, key="seconds", ours=None):
    """Prints the row, and returns it for the JSON.

    @note says more of samples; ratios are of @ours, or of the first column.
    """
    print(f"\n{row.name}: {row.title}")
    values = {name: row.value(median(taken, key), size)
              for name, taken in samples.items() if key in taken[0]}
    first = values.get(ours, next(iter(values.values()), None))
    for name, value in values.items():
        taken = samples[name]
        begin = row.value(taken[0][key], size)
        print(f"  {name:32} {number(value):>8} {row.unit:5} "
              f"{number(first / value if value else 0):>7} x  "
              f"first {number(begin):>8}  {note(taken)}".rstrip())
    for name, why in missing.items():
        print(f"  {name:32} left out: {why}")
    sys.stdout.flush()
    return {"name": row.name, "title": row.title, "unit": row.unit,
            "size": size, "missing": missing,
            "columns": {name: {"value": value, "samples": samples[name]}
                        for name, value in values.items()}}


def machine():
    commit = subprocess.run(
        ["git", "-C", ROOT, "describe", "--always", "--dirty"], check=True,
        stdout=subprocess.PIPE, text=True).stdout.strip()
    return {"cores": CORES, "kernel": platform.release(),
            "load": os.getloadavg()[0], "date": time.strftime("%F %T"),
            "commit": commit}
