# SPDX-License-Identifier: BSD-3-Clause
"""plot - the figures of docs/, from the JSON of a run"""
import json

COLORS = {"bloscfs": "#c0392b", "C-Blosc2": "#2c6fad", "plain": "#444444",
          "FUSE": "#bbbbbb"}
FIGURES = {
    "bench-read.png": ("Reading, GB/s",
                       ["seq-warm-lz4", "seq-warm-zstd", "direct-warm-lz4",
                        "direct-warm-zstd", "seq-hot", "seq-cold", "low-cold",
                        "two-warm", "four-cold", "array-warm",
                        "array-cold"]),
    "bench-write.png": ("Writing, GB/s", ["write-lz4", "write-zstd", "save"]),
    "bench-small.png": ("Time, relative to plain files (log)",
                        ["random-cold", "random-hot", "overwrite-lz4",
                         "overwrite-zstd", "column", "names-cold",
                         "names-hot", "find-cold", "find-hot", "untar",
                         "clone", "pgbench"]),
}


def color(name):
    return next((c for word, c in COLORS.items() if name.startswith(word)),
                "#8fbc8f")


def draw_row(axis, row):
    columns = row["columns"]
    is_time = row["unit"] != "GB/s"
    scale = columns["plain"]["value"] if is_time else 1
    names = list(columns)[::-1]
    bars = axis.barh(names, [columns[n]["value"] / scale for n in names],
                     color=[color(n) for n in names])
    axis.bar_label(bars, fmt="%.3g x" if is_time else "%.2f", fontsize=7,
                   padding=2)
    axis.set_title(f"{row['title']}", fontsize=9, loc="left")
    axis.tick_params(labelsize=7)
    axis.spines[["top", "right"]].set_visible(False)
    if is_time:
        # Bars of a logarithm begin anywhere: let all begin at the same place.
        axis.set_xscale("log")
        axis.set_xlim(0.01, 1000)
        axis.xaxis.set_major_formatter("{x:g} x")
        axis.axvline(1, color="#444444", linewidth=0.8)
    else:
        axis.margins(x=0.1)


def draw(path, folder):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    with open(path) as f:
        run = json.load(f)
    rows = {row["name"]: row for row in run["rows"]}
    machine = run["machine"]
    for file, (title, names) in FIGURES.items():
        there = [rows[n] for n in names if n in rows and
                 ("plain" in rows[n]["columns"]
                  or rows[n]["unit"] == "GB/s")]
        if not there:
            continue
        heights = [len(row["columns"]) + 1.5 for row in there]
        figure, axes = pyplot.subplots(
            len(there), figsize=(7, sum(heights) * 0.22), squeeze=False,
            height_ratios=heights, layout="constrained")
        for axis, row in zip(axes[:, 0], there):
            draw_row(axis, row)
        figure.suptitle(f"{title}; {machine['cores']} cores, "
                        f"{machine['commit']}", fontsize=10)
        figure.savefig(folder / file, dpi=120)
        print(folder / file)
