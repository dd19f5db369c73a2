#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""--json prints all fields that docs/json.md lists, and no other."""
import json
import os
import re
import shutil
import subprocess
import sys

import blosc2
import numpy as np

from ctl import BLOSCCTL, BUILD, SOURCE, ctl, in_namespace, put, run_all
import s3_server
from fake_s3 import FakeS3, Object

SEEN = set()


def tables():
    """The fields of each table of the page: types, and whether they always appear."""
    found, table = {}, None
    text = (SOURCE / "docs/json.md").read_text(encoding="utf-8")
    for line in text.splitlines():
        cells = [cell.strip().replace("\\|", "|") for cell in
                 re.split(r"(?<!\\)\|", line.strip("|"))]
        if len(cells) < 3 or cells[0] == "---":
            continue
        if cells[1] == "type":
            table = found[cells[0]] = {}
        else:
            table[cells[0].rstrip("?")] = (cells[1], not
                                           cells[0].endswith("?"))
    return found


TABLES = tables()
TYPES = {"int": int, "float": (int, float), "number": (int, float), "str": str,
         "bool": bool, "list": list, "object": dict}


def is_one_of(value, words):
    for word in words.split("|"):
        if word in TYPES:
            if isinstance(value, TYPES[word]) and (word == "bool") == \
                    isinstance(value, bool):
                return True
        elif value == (None if word == "null" else word):
            return True
    return False


def check(table, value):
    """Checks that @value is an object as @table of the page describes it."""
    SEEN.add(table)
    fields = TABLES[table]
    assert value["schema"] == 1 and list(value)[0] == "schema", value
    for key, (words, always) in fields.items():
        assert key in value or not always, (table, key, value)
        if key in value:
            assert is_one_of(value[key], words), (table, key, value[key])
    unknown = set(value) - set(fields)
    assert not unknown, (table, unknown)


def said(command, *args, status=0):
    """The objects that bloscctl prints as a list."""
    out, _ = ctl(command, "--json", *args, status=status)
    value = json.loads(out)
    return value if isinstance(value, list) else [value]


def fails(command, *args, status=1):
    for value in said(command, *args, status=status):
        if "error" in value:
            check("error", value)
            assert value["error"] and value["command"] == command, value
            return
    raise AssertionError((command, args))


def make():
    put("f", bytes(range(256)) * 800)
    np.save("a.npy", np.arange(3000.).reshape(50, 60))
    for table, args in (("report", ("compress", "f", "a.npy")),
                        ("report", ("compress", "--format=blp", "f")),
                        ("report", ("convert", "f.b2frame", "-o", "g.b2frame")),
                        ("report", ("copy", "f.b2frame", "h.b2frame")),
                        ("report", ("recompress", "-9", "g.b2frame")),
                        ("report", ("append", "f.b2frame", "f")),
                        ("report", ("decompress", "h.b2frame", "-o", "h"))):
        for value in said(*args):
            check(table, value)


def test_all_that_works():
    make()
    for table, args in (("slice", ("slice", "a.npy.b2nd", "1:3", "-o", "p")),
                        ("seal", ("seal", "f.b2frame")),
                        ("repair", ("repair", "f.b2frame")),
                        ("ls", ("ls", "-a", "--tree")),
                        ("info", ("info", "--chunks", "f.b2frame", "f.blp",
                                  "a.npy.b2nd")),
                        ("verify", ("verify", "--deep", "-r", ".")),
                        ("bench", ("bench", "f", "-1", "--codec=lz4",
                                   "--sample=10k", "--filter=none")),
                        ("rm", ("rm", "-n", "h.b2frame")),
                        ("rm", ("rm", "h.b2frame"))):
        values = said(*args)
        assert values, args
        for value in values:
            check(table, value)
    shutil.copytree("f.b2frame", "bad.b2frame")
    os.truncate("bad.b2frame/chunks.b2frame", 70)
    for value in said("repair", "-o", "new", "bad.b2frame"):
        check("rebuild", value)
    (value,) = said("verify", "bad.b2frame", status=1)
    check("verify", value)
    assert value["status"] == "damaged" and "bad.b2frame" in value["why"], value
    for name in os.listdir("f.b2frame"):
        if name.endswith(".chunk"):
            os.remove(f"f.b2frame/{name}")
    (value,) = said("verify", "f.b2frame", status=1)
    check("verify", value)
    assert "chunk 0" in value["why"] and value["ndamaged"] == 1, value


def test_all_that_fails():
    make()
    for command in ("append", "bench", "compress", "convert", "copy",
                    "decompress", "info", "ls", "recompress", "repair", "rm",
                    "seal", "slice", "stats"):
        more = {"slice": ["0", "-o", "x"], "copy": ["x"]}.get(command, [])
        fails(command, "missing", *more)
        # Command lines that make no sense.
        out, _ = ctl(command, "--nosuch", "missing", *more, "--json", status=2)
        check("error", json.loads(out))
    for command, status in ("verify", 2), ("umount", 1):
        check(command, said(command, "missing", status=status)[0])
    for command in "verify", "umount", "mounts":
        check("error", said(command, "--nosuch", status=2)[0])
    fails("verify", "-r", "missing", status=2)
    fails("slice", "a.npy.b2nd", "0", status=2)


def test_what_failed_in_the_end():
    make()
    for command, name in (("compress", "f"), ("decompress", "h.b2frame"),
                          ("convert", "h.b2frame")):
        os.symlink(name, f"l.{name}")
        fails(command, "--rm", "-o", f"x.{command}", f"l.{name}")
        os.remove(f"l.{name}")
    os.mkdir("d")
    os.symlink("x", "d/l")
    fails("compress", "f", "d", "-fo", "x/")
    fails("copy", "-r", "d", "y")
    assert said("rm", "-f", "missing")[0]["removed"] is False


def test_orphans():
    put("f", bytes(5000))
    with FakeS3() as server:
        os.environ.update(s3_server.ENV, AWS_ENDPOINT_URL=server.url)
        for name in "x", "y":
            url = f"s3://bucket/top/{name}.b2frame"
            ctl("compress", "-q", "f", "-o", url)
            server.objects[f"/bucket/top/{name}.b2frame/7FFF0000.chunk"] = \
                Object(b"b2f", {})
        for args in (url,), ("-nr", "s3://bucket/top"):
            out, _ = ctl("repair", "--json", "--orphans", "--older=0s", *args)
            assert (out[:1] == b"[") == ("-nr" in args), out
            for value in said("repair", "--orphans", "--older=0s", *args):
                check("orphans", value)


def check_prometheus(text, mountpoint):
    """The text format: HELP and TYPE once, in front of the samples of a metric."""
    kinds, metric, seen = {}, None, set()
    assert text.endswith("\n")
    for line in text.splitlines():
        if line.startswith("# HELP "):
            metric = re.fullmatch(r"# HELP (bloscfs_[a-z_]+) \S.*", line)[1]
            assert metric not in kinds, line
        elif line.startswith("# TYPE "):
            kinds[metric] = re.fullmatch(
                rf"# TYPE {metric} (counter|gauge)", line)[1]
        else:
            name, where, codec = re.fullmatch(
                r'(\w+)\{mountpoint="([^"]*)"(,codec="\w+")?\} [\d.]+',
                line).groups()
            assert name == metric and kinds[metric], line
            assert where == os.path.abspath(mountpoint), line
            assert bool(codec) == name.startswith("bloscfs_codec_"), line
            assert name.endswith("_total") == (kinds[name] == "counter"), line
            assert (name, codec) not in seen, line
            seen.add((name, codec))
    assert ("bloscfs_reads_total", None) in seen
    assert kinds["bloscfs_dirty_bytes"] == "gauge"


def test_mounts():
    make()
    os.mkdir("mnt")
    blosc2.arange(1000, urlpath="a.b2nd")
    subprocess.run([BUILD / "bloscfs", "-o", "statsfile=stats", "f.b2frame",
                    "mnt"], check=True)
    with open("mnt/f", "rb") as f:
        f.read()
    for table, args in (("stats", ("stats", "mnt")), ("mounts", ("mounts",)),
                        ("info", ("info", "mnt/f"))):
        for value in said(*args):
            check(table, value)
    check_prometheus(ctl("stats", "--prometheus", "mnt")[0].decode(), "mnt")
    ctl("stats", "--prometheus", "mnt", "mnt", status=2)
    lines = ctl("top", "-n", "3", "-d", "0.05", "mnt")[0].decode()
    assert len(lines.splitlines()) == 3, lines
    for line in lines.splitlines():
        assert re.fullmatch(r"\d+ reads/s [\d.]+ \w+/s, \d+ writes/s [\d.]+ "
                            r"\w+/s, hits \d+ %, queue [\d.]+ \w+, ratio \S+, "
                            r"memory [\d.]+ \w+", line), line
    screen = subprocess.run(["script", "-qec",
                             f"{BLOSCCTL} top -n 2 -d 0.05 mnt", "/dev/null"],
                            capture_output=True, check=True).stdout.decode()
    assert screen.count("\033[H\033[J") == 2 and "  queue " in screen, screen
    ctl("top", "-d", "never", "mnt", status=2)
    ctl("top", "-n", "1", "f.b2frame", status=1)
    (value,) = said("umount", "mnt")
    check("umount", value)
    assert value["unmounted"] is True, value
    with open("stats") as f:
        value = json.load(f)
    unknown = set(value) - set(TABLES["stats"])
    assert value["schema"] == 1 and not unknown, unknown
    subprocess.run([BUILD / "bloscfs", "-o", "statsfile=stats.prom",
                    "f.b2frame", "mnt"], check=True)
    ctl("umount", "mnt")
    with open("stats.prom") as f:
        check_prometheus(f.read(), "mnt")


def test_every_table_was_met():
    """Every command with --json is on the page."""
    if len(sys.argv) == 1:
        assert SEEN == set(TABLES), SEEN ^ set(TABLES)
    page = (SOURCE / "docs/json.md").read_text(encoding="utf-8")
    out, _ = ctl("--help")
    for name in re.findall(rb"^  ([a-z]+)  +\S", out, re.M):
        has = b"--json" in ctl(name.decode(), "--help")[0]
        assert has == bool(re.search(rf"^## .*\b{name.decode()}\b", page,
                                     re.M)), name


if __name__ == "__main__":
    in_namespace()
    raise SystemExit(run_all(globals()))
