#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bloscctl bench measures what its options say, and recommends what it measured."""
import json
import os
import pathlib
import shlex
import subprocess
import sys

import numpy as np

from ctl import BLOSCCTL, ctl, get, info, items, noise, put, run_all

DATA = items(150000, 8)
# Few settings, for tests that need no more.
FEW = "-1", "--codec=lz4", "--codec=zstd", "--filter=shuffle", "--chunksize=64k"


def bench(*args, **kwargs):
    return json.loads(ctl("bench", "--json", *args, **kwargs)[0])


def beats(a, b):
    keys = "cbytes", "encode_ns", "decode_ns"
    return all(a[k] <= b[k] for k in keys) and any(a[k] < b[k] for k in keys)


def test_all_that_was_asked_for_is_measured():
    put("x", DATA)
    said = bench("-1", "-9", "--codec=lz4", "--codec=zlib", "--filter=none",
                 "--filter=shuffle,bytedelta:8", "--typesize=8", "--typesize=4",
                 "--chunksize=100k", "--chunksize=50k", "x")
    rows = said["rows"]
    assert len(rows) == 32 and said["left_out"] == 0
    assert said["nbytes"] == said["sample"] == len(DATA)
    for key, values in (("clevel", {1, 9}), ("codec", {"lz4", "zlib"}),
                        ("filter", {"none", "shuffle,bytedelta:8"}),
                        ("typesize", {4, 8}), ("chunksize", {102400, 51200})):
        assert {r[key] for r in rows} == values, key
    assert len({tuple(map(str, r.values())) for r in rows}) == 32
    ratios = [r["ratio"] for r in rows]
    assert ratios == sorted(ratios, reverse=True)


def test_the_front_is_what_no_other_beats():
    put("x", DATA)
    said = bench("-1", "-5", "--chunksize=64k", "x")
    rows = said["rows"]
    assert len(rows) == 40
    for row in rows:
        assert row["front"] == (not any(beats(r, row) for r in rows)), row
    assert said["best"] in rows and said["best"]["front"]
    # The table without --all has these rows alone.
    table, _ = ctl("bench", *FEW, "x")
    lines = [line for line in table.decode().splitlines()
             if " lz4 " in line or " zstd " in line]
    assert lines and all(line.startswith("* ") for line in lines), table


def test_the_command_makes_such_a_frame():
    put("it's x", DATA)
    said = bench(*FEW, "it's x")
    best, words = said["best"], shlex.split(said["command"])
    assert words[0] == "bloscctl"
    ctl(*words[1:], "-o", "y.b2frame", "it's x")
    facts = info("y.b2frame")
    assert facts["codec"] == best["codec"] and facts["typesize"] == 8
    assert facts["chunksize"] == best["chunksize"] == 65536
    # The ratio includes neither seals nor the index.
    assert abs(facts["nbytes"] / facts["cbytes"] / best["ratio"] - 1) < 0.05
    table, _ = ctl("bench", *FEW, "--all", "it's x")
    assert table.count(b" zstd ") == table.count(b" lz4 ") == 1


def test_a_slow_disk_wants_small_data():
    put("x", DATA)
    slow = bench("--disk=1k", *FEW, "x")
    assert slow["best"]["ratio"] == slow["rows"][0]["ratio"]
    # With an infinitely fast disk only the time to encode and decode counts.
    fast = bench("--disk=8388607t", "-T", "1", *FEW, "x")
    costs = [r["encode_ns"] + r["decode_ns"]
             for r in [fast["best"], *fast["rows"]]]
    assert costs[0] == min(costs), costs


def test_frames_pipes_and_arrays():
    np.save("a.npy", np.arange(30000, dtype="<f4"))
    ctl("compress", "a.npy")
    put("x", DATA)
    ctl("compress", "x")
    os.symlink("a.npy.b2nd", "a.link.b2nd")
    for name, size, path in ("a.npy", 4, "a.npy"), ("a.npy.b2nd", 4, "a.npy"), \
            ("a.link.b2nd", 4, "a.npy"), ("x.b2frame", 8, "x"):
        said = bench(*FEW, name)
        assert {r["typesize"] for r in said["rows"]} == {size}, name
        assert said["nbytes"] == os.stat(path).st_size
        if name != "a.npy":
            # The command is one for frames.
            ctl(*shlex.split(said["command"])[1:], "-o", "again", "-f", name)
            assert info("again")["codec"] == said["best"]["codec"]
    said = subprocess.run([BLOSCCTL, "bench", "--json", *FEW, "--sample=10000",
                           "-"], input=DATA, check=True,
                          stdout=subprocess.PIPE).stdout
    assert json.loads(said)["sample"] == 10000


def test_large_files_are_sampled():
    """Samples come from the whole file: data at its end count."""
    with open("x", "wb") as f:
        f.truncate(3 << 30)
        f.seek((3 << 30) - (4 << 20))
        f.write(noise(4 << 20))
    child = subprocess.Popen([BLOSCCTL, "bench", "--json", "--sample=8m", *FEW,
                              "x"], stdout=subprocess.PIPE)
    said = json.loads(child.stdout.read())
    child.stdout.close()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    assert status == 0 and usage.ru_maxrss << 10 < 320 << 20
    assert said["nbytes"] == 3 << 30 and said["sample"] == 8 << 20
    assert all(1.9 < r["ratio"] < 2.1 for r in said["rows"]), said


def test_time_is_bounded():
    put("x", noise(16 << 20))
    said = bench("--time=1", "--codec=zlib", "--codec=lz4hc", "x")
    # At least one sample is taken; no machine takes all in a second.
    assert said["left_out"] > 0 and said["rows"]
    table, _ = ctl("bench", "--time=1", "--codec=zlib", "x")
    assert b"left out" in table


def fake_gnuplot(status=0):
    os.makedirs("bin", exist_ok=True)
    put("bin/gnuplot", b"#!/bin/sh\n[ $1 = --version ] && exit 0\n"
        b"cat >script\nexit %d\n" % status)
    os.chmod("bin/gnuplot", 0o755)
    return {**os.environ, "PATH": f"{os.getcwd()}/bin:{os.environ['PATH']}"}


def test_plots_are_made_by_gnuplot():
    put("x", DATA)
    run = [BLOSCCTL, "bench", *FEW, "--plot=it's.png", "x"]
    subprocess.run(run, env=fake_gnuplot(), check=True,
                   stdout=subprocess.DEVNULL)
    script = get("script").decode()
    assert "set output 'it''s.png'" in script
    assert script.count("title 'lz4'") == script.count("title 'zstd'") == 2
    assert script.count("\n\n\n") == 6, script
    failed = subprocess.run(run, env=fake_gnuplot(1), capture_output=True,
                            text=True)
    assert failed.returncode == 1 and "could not make" in failed.stderr
    # Missing programs are noticed before anything is measured.
    none = subprocess.run(run, env={**os.environ, "PATH": "/nowhere"},
                          capture_output=True, text=True)
    assert none.returncode == 1 and "--json has all figures" in none.stderr
    assert not none.stdout
    for path, why in (("/nowhere/x.png", "No such file"),
                      ("x/y.png", "Not a directory")):
        none = subprocess.run([BLOSCCTL, "bench", *FEW, f"--plot={path}", "x"],
                              env=fake_gnuplot(), capture_output=True,
                              text=True)
        assert none.returncode == 1 and not none.stdout
        assert none.stderr.startswith(f"bloscctl: {path}: {why}"), none.stderr


def test_what_is_refused():
    put("empty", b"")
    _, err = ctl("bench", "empty", status=1)
    assert "no data" in err, err
    ctl("bench", "missing", status=1)
    pathlib.Path("dir").mkdir()
    ctl("bench", "dir", status=1)
    for options in (("--sample=0",), ("--sample=2g",), ("--time=0",),
                    ("--time=x",), ("--disk=0",), ("--codec=snappy",),
                    ("--typesize=0",), ("--typesize=3",) * 17, ("x",), ()):
        ctl("bench", *options, *(["empty"] if options else []), status=2)


if __name__ == "__main__":
    sys.exit(run_all(globals()))
