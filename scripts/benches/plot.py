# SPDX-License-Identifier: BSD-3-Clause
"""plot - pictures and tables of docs/, from the JSON of a run"""
import json
import math

from report import TIMES, number

# Families of columns, by prefixes of their names; the last family has all others.
FAMILIES = [("bloscfs", "#c0392b", ("bloscfs", "bloscctl")),
            ("C-Blosc2, without a mount", "#2c6fad",
             ("C-Blosc2", "python-blosc2")),
            ("plain files of ext4", "#444444",
             ("plain files", "the block", "an index")),
            ("FUSE to memory, no compression", "#bbbbbb", ("FUSE",)),
            ("other filesystems and libraries", "#8fbc8f", ("",))]
# Four panels each: (figure, title).
PICTURES = {
    "bench-front.png": [
        ("life-read", "Read {mib} MiB, not cached"),
        ("life-edit", "2,000 random writes of 4 KiB, fsync"),
        ("life", "Write {mib} MiB and fsync"),
        ("life-stored", "Bytes on disk for a byte of data")],
    "bench-read.png": [
        ("seq-cold", "In order, cold"),
        ("seq-warm-lz4", "In order, compressed files cached"),
        ("random-cold", "4 KiB at random, cold"),
        ("array-warm", "An array of 1000 x 1000 chunks, cached")],
    "bench-write.png": [
        ("write-walk", "Float64, a random walk"),
        ("write-text", "Text, a log"),
        ("write-4k", "In pieces of 4 KiB"),
        ("save", "np.save")],
    "bench-small.png": [
        ("untar-text", "Unpack {size:,} files of 4 KiB"),
        ("clone", "git clone of this repository"),
        ("many-hot", "ls -f of {size:,} files"),
        ("commit", "A transaction of SQLite")],
}
BEGIN = "<!-- made by scripts/bench plot -->"
END = "<!-- until here -->"
# Above this ratio of values a linear axis would show only one bar.
SPAN = 100


def family(name):
    return next(f for f in FAMILIES if name.startswith(f[2]))


def draw_panel(axis, title, unit, values):
    """Draws bars of {name: value} with their numbers, ours at the top."""
    names = sorted(list(values)[::-1],
                   key=lambda n: family(n) is FAMILIES[0])
    bars = axis.barh(names, [values[n] for n in names],
                     color=[family(n)[1] for n in names])
    axis.bar_label(bars, [number(values[n]) for n in names], fontsize=7,
                   padding=2)
    better = "less" if unit in TIMES or unit == "x" else "more"
    unit = "" if unit == "x" else unit
    axis.set_title(title, fontsize=9, loc="left")
    axis.set_xlabel(f"{unit}{unit and ', '}{better} is better", fontsize=7)
    axis.tick_params(labelsize=7)
    axis.spines[["top", "right"]].set_visible(False)
    low, high = min(values.values()), max(values.values())
    if high > SPAN * low > 0:
        axis.set_xscale("log")
        axis.set_xlim(10 ** math.floor(math.log10(low) - 0.1), high * 3)
        axis.xaxis.set_major_formatter("{x:g}")
    else:
        axis.set_xlim(0, high * 1.15)


def legend(figure, names):
    """Draws the legend of the families that have a bar."""
    from matplotlib import patches
    shown = [f for f in FAMILIES if any(family(n) is f for n in names)]
    figure.legend([patches.Patch(color=f[1]) for f in shown],
                  [f[0] for f in shown], loc="outside lower center",
                  ncols=3, fontsize=8, frameon=False)


def picture(path, panels, columns, title, width=9):
    """Panels of draw_panel() in @columns columns, and a legend below them."""
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    lines = [panels[i:i + columns] for i in range(0, len(panels), columns)]
    heights = [max(len(p[2]) for p in line) + 3 for line in lines]
    figure, axes = pyplot.subplots(
        len(lines), columns, figsize=(width, 0.22 * sum(heights) + 0.8),
        squeeze=False, height_ratios=heights, layout="constrained")
    for axis in axes.flat[len(panels):]:
        axis.set_visible(False)
    for axis, panel in zip(axes.flat, panels):
        draw_panel(axis, *panel)
    legend(figure, [n for panel in panels for n in panel[2]])
    figure.suptitle(title, fontsize=10)
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
    print(path)


def values_of(row):
    return {name: c["value"] for name, c in row["columns"].items()}


def rewrite(path, lines):
    """Replaces the text between the marks of the page."""
    head, rest = path.read_text().split(BEGIN)
    tail = rest.split(END)[1]
    path.write_text("\n".join([head + BEGIN, "", *lines, "", END + tail]))
    print(path)


def table_line(row):
    """Our figures of the row, and those of others with ours as a multiple."""
    values = values_of(row)
    ours = {n: v for n, v in values.items() if n.startswith("bloscfs")}
    if not ours or not row["unit"]:
        return None
    first = next(iter(ours.values()))
    others = [f"{n} {number(v)} ({number(first / v if v else 0)} x)"
              for n, v in values.items() if n not in ours]
    return (f"| {row['title']}, {row['unit']} | " +
            ", ".join(f"{n.removeprefix('bloscfs').strip(', ')} {number(v)}"
                      .strip() for n, v in ours.items()) +
            f" | {', '.join(others)} |")


def table(run):
    m = run["machine"]
    size = run["rows"][0]["size"] >> 20
    yield (f"Medians of {run['rounds']} samples in turns; {m['cores']} cores, "
           f"Linux {m['kernel']}, load {run['load_before']:.1f} at the "
           f"beginning; bloscfs {m['commit']}, {m['date']}. Writes are of "
           f"{size} MiB where the row says nothing else. In brackets: bloscfs "
           "with its defaults, as a multiple of the figure.")
    yield ""
    yield "| work | bloscfs | beside it |"
    yield "|---|---|---|"
    yield from filter(None, map(table_line, run["rows"]))


def headline(title, row):
    return title.format(size=row["size"], mib=row["size"] >> 20)


def draw(path, folder):
    with open(path) as f:
        run = json.load(f)
    rows = {row["name"]: row for row in run["rows"]}
    m = run["machine"]
    for file, panels in PICTURES.items():
        there = [(headline(title, rows[name]), rows[name]["unit"],
                  values_of(rows[name]))
                 for name, title in panels if rows.get(name, {}).get("columns")]
        if there:
            picture(folder / file, there, 2,
                    f"{m['cores']} cores, bloscfs {m['commit']}")
    if "life" in rows:
        rewrite(folder / "speed.md", table(run))
