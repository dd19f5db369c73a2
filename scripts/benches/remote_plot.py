# SPDX-License-Identifier: BSD-3-Clause
"""remote_plot - docs/bench-remote.png, and the tables of docs/remote.md"""
import json

from plot import picture, rewrite, values_of
from report import median

# The columns of the page's tables: row, heading, digits.
TIMES = [("open", "open, ms", 0), ("random", "4 KiB at random, ms", 1),
         ("random-warm", "kept, ms", 2), ("seq", "in order, MB/s", 0),
         ("seq-long", "1 GiB, MB/s", 0), ("seq-warm", "kept, MB/s", 0),
         ("write", "write, MB/s", 0), ("write-long", "1 GiB, MB/s", 0)]
TRAFFIC = [("open", "open"), ("random", "100 random reads"),
           ("random-warm", "kept"), ("seq", "in order"), ("seq-warm", "kept"),
           ("write", "write")]


def names_of(rows, wanted):
    """All columns of the rows, ours first."""
    names = [n for row, *_ in wanted if row in rows
             for n in rows[row]["columns"]]
    return sorted(dict.fromkeys(names), key=lambda n: n[:5] != "blosc")


def ours_of(row):
    return next(iter(row["columns"].values()))["value"]


def time_cell(row, name, digits):
    if not row or name not in row["columns"]:
        return ""
    value = row["columns"][name]["value"]
    return f"{value:.{digits}f} ({value / ours_of(row):.2f} x)"


def traffic_cell(row, name):
    if not row or name not in row["columns"]:
        return ""
    taken = row["columns"][name]["samples"]
    mb = (median(taken, "received") + median(taken, "sent")) / 1e6
    return f"{median(taken, 'requests'):.0f}; {mb:.2f}"


def table(rows, first, wanted, cell):
    wanted = [w for w in wanted if w[0] in rows]
    yield f"| {first} | " + " | ".join(w[1] for w in wanted) + " |"
    yield "|---|" + "---:|" * len(wanted)
    for name in names_of(rows, wanted):
        cells = [cell(rows[w[0]], name, *w[2:]) for w in wanted]
        yield f"| {name} | " + " | ".join(cells) + " |"


def had_of(rows, name):
    """The value of curl's column."""
    return rows.get(name, {"columns": {}})["columns"].get(
        "curl, plain object", {}).get("value")


def link_line(rows):
    """The rates of the link for a program that only transfers."""
    had = [had_of(rows, name) for name in ("seq", "write", "random")]
    if None in had:
        return
    yield (f"Over the link curl reached {had[0]:.0f} MB/s with one GET, "
           f"{had[1]:.0f} MB/s with one PUT, and {had[2]:.1f} ms for each range "
           "of 4 KiB on one connection.")
    yield ""


def race_lines(row):
    for name, column in row["columns"].items():
        taken = column["samples"]
        yield (f"| {name} | {column['value']:.1f} | "
               f"{min(s['kept'] for s in taken)} of {taken[0]['pieces']} | "
               f"{median(taken, 'refused'):.0f} | "
               f"{median(taken, 'requests'):.0f} |")


def limit_lines(rows):
    for row in rows.values():
        for v in row["limits"]:
            yield (f"| {row['title']} | {v['column']} | {v['value']:.2f} "
                   f"{v['what']} | at {v['at']} {v['limit']} | "
                   f"{'yes' if v['reached'] else '**no**'} | {v['busy']:.1f} |")


def million_line(rows):
    """The value of the only column of the row."""
    for column in rows.get("million", {"columns": {}})["columns"].values():
        size = median(column["samples"], "received") / 1e6
        yield (f"\nThe frame of 1,000,000 chunks, with an index of {size:.1f} "
               f"MB, was open after {column['value']:.0f} ms.")


def missing_lines(rows):
    for row in rows.values():
        for name, why in row["missing"].items():
            yield f"- {row['title']}: {name}: {why}"


def body(run):
    rows = {row["name"]: row for row in run["rows"]}
    m = run["machine"]
    size = run["rows"][0]["size"] >> 20
    yield (f"{size} MiB behind {run['delay']} ms and {run['rate']} MB/s, "
           f"medians of {run['rounds']} rounds in turns; {m['cores']} cores, "
           f"Linux {m['kernel']}, load {run['load_before']:.1f} before and "
           f"{m['load']:.1f} at the end; bloscfs {m['commit']}, {m['date']}. "
           "In brackets: against the first line.")
    yield ""
    yield from link_line(rows)
    yield from table(rows, "way", TIMES, time_cell)
    yield "\nRequests; megabytes in both directions:\n"
    yield from table(rows, "way", TRAFFIC, traffic_cell)
    if "race" in rows:
        yield f"\n{rows['race']['title'].capitalize()} to one file or array:\n"
        yield "| way | s | additions kept | refused, tried again | requests |"
        yield "|---|---:|---:|---:|---:|"
        yield from race_lines(rows["race"])
    yield "\nTargets:\n"
    yield "| row | way | measured | wanted | reached | cores busy |"
    yield "|---|---|---:|---:|---|---:|"
    yield from limit_lines(rows)
    yield from million_line(rows)
    left_out = [*missing_lines(rows)]
    if left_out:
        yield "\nLeft out:\n"
        yield from left_out


def panel(row):
    """The row's values for the picture; for a race, how many commits survived."""
    if row["name"] != "race":
        return row["title"], row["unit"], values_of(row)
    kept = {name: min(s["kept"] for s in c["samples"])
            for name, c in row["columns"].items()}
    pieces = next(iter(row["columns"].values()))["samples"][0]["pieces"]
    return f"8 writers: commits kept of {pieces}", "", kept


def draw(path, docs):
    with open(path) as f:
        run = json.load(f)
    picture(docs / "bench-remote.png",
            [panel(row) for row in run["rows"] if len(row["columns"]) > 1], 2,
            f"An object store behind {run['delay']} ms and {run['rate']} MB/s",
            width=10)
    rewrite(docs / "remote.md", body(run))
