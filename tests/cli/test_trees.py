#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Commands on whole trees: -r, -o DIRECTORY, and failures in JSON."""
import json
import os
import re
import subprocess

import blosc2
import numpy as np

from ctl import (BLOSCCTL, check_frame, ctl, get, in_namespace, items, put,  # noqa: F401
                 run_all)


def tree():
    os.makedirs("tree/sub/deep")
    put("tree/a", items(300000, 4))
    put("tree/sub/b.dat", items(5000, 8))
    put("tree/sub/deep/empty", b"")
    np.save("tree/sub/c.npy", np.arange(6000.0).reshape(60, 100))
    os.symlink("a", "tree/link")


def same_files(x, y):
    done = subprocess.run(["diff", "-r", "--no-dereference", "-x", "link", x, y],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def names(top):
    return sorted(os.path.relpath(os.path.join(d, f), top)
                  for d, _, fs in os.walk(top) for f in fs)


def test_a_tree_comes_back():
    tree()
    ctl("compress", "tree/a")
    os.mkfifo("tree/pipe")
    # A message names each entry that is left out; the rest is compressed.
    _, err = ctl("compress", "-r", "--contiguous", "-o", "packed", "tree",
                 status=1)
    for name, kind in (("a.b2frame", "a frame"), ("link", "a symbolic link"),
                       ("pipe", "no regular file")):
        assert f"tree/{name}: it is {kind}, which is left out" in err, err
    assert err.count("\n") == 3, err
    os.remove("tree/pipe")
    ctl("rm", "tree/a.b2frame")
    assert names("packed") == ["a.b2f", "sub/b.dat.b2f", "sub/c.npy.b2nd",
                               "sub/deep/empty.b2f"], names("packed")
    assert names("tree") == ["a", "link", "sub/b.dat", "sub/c.npy",
                             "sub/deep/empty"]
    ctl("decompress", "-r", "-o", "back/", "packed/")
    same_files("tree", "back")
    # Other storage, other settings, and checksums, for all frames.
    ctl("convert", "-r", "-o", "sparse", "packed")
    assert os.path.isdir("sparse/sub/b.dat.b2frame")
    ctl("recompress", "-r", "-9", "--codec=lz4hc", "-o", "small", "sparse")
    assert json.loads(ctl("info", "--json", "small/a.b2frame")[0])[
        "codec"] == "lz4hc"
    ctl("decompress", "-r", "-o", "again", "small")
    same_files("tree", "again")
    # In place the names stay.
    before = names("packed")
    ctl("recompress", "-r", "-1", "packed")
    assert names("packed") == before
    ctl("decompress", "-r", "--rm", "-f", "packed")
    same_files("tree", "packed")


def test_several_operands_go_to_a_directory():
    for name in "xy":
        put(name, items(1000, 4))
    os.mkdir("out")
    ctl("compress", "-o", "out", "x", "y")
    assert sorted(os.listdir("out")) == ["x.b2frame", "y.b2frame"]
    ctl("decompress", "-o", "new/dir/", "out/x.b2frame", "out/y.b2frame/")
    assert get("new/dir/x") == get("x") and get("new/dir/y") == get("y")
    _, err = ctl("decompress", "-o", "nodir", "out/x.b2frame", "out/y.b2frame",
                 status=2)
    assert "-o takes one operand, unless it is a directory" in err, err
    # A frame does not count as a directory.
    _, err = ctl("compress", "-o", "out/x.b2frame", "y", status=1)
    assert "it exists already" in err, err
    _, err = ctl("compress", "-o", "out", "-", status=1)
    assert "standard input has no name" in err, err


def test_new_directories_are_safe_before_their_sources_go():
    """A loss of power must not take both."""
    os.makedirs("t0/sub")
    put("t0/sub/a", items(1000, 4))
    env = dict(os.environ, ASAN_OPTIONS="detect_leaks=0")
    for i, how in enumerate(("compress", "convert", "decompress")):
        subprocess.run(["strace", "-f", "-qq", "-y", "-o", "trace", "-e",
                        "trace=fsync,unlink,unlinkat", BLOSCCTL, how, "-q", "--rm",
                        "-r", "-o", f"t{i + 1}/new", f"t{i}/new" if i else "t0"],
                       check=True, env=env)
        lines = get("trace").decode().splitlines()
        source = f"/t{i}/{'new/' * (i > 0)}sub"
        gone = next(i for i, line in enumerate(lines)
                    if re.search(f"unlink.*{source}", line))
        synced = [m[1] for line in lines[:gone]
                  if (m := re.search(r"fsync\(\d+<(.*)>\) *= 0", line))]
        for top in "", f"/t{i + 1}", f"/t{i + 1}/new":
            assert os.getcwd() + top in synced, (how, top, lines)


def make_two(one, two):
    """The frames x.b2frame and x.b2f of different data."""
    for suffix, option, data in ((".b2frame", "sparse", one),
                                 (".b2f", "contiguous", two)):
        put("x", data)
        ctl("compress", "--rm", f"--format={option}", "-o", f"x{suffix}", "x")


def test_two_results_of_one_name_are_both_kept():
    """-f replaces older files, but nothing that the same run has made."""
    one, two = items(5000, 4), items(7000, 4, seed=1)
    for form in "sparse", "contiguous":
        for name, data in ("a/f", one), ("b/f", two):
            os.makedirs(os.path.dirname(name), exist_ok=True)
            put(name, data)
        _, err = ctl("compress", f"--format={form}", "--rm", "-f", "-r", "-o", "out", "a", "b",
                     status=1)
        assert "this run has made it" in err and err.count("\n") == 1, err
        assert not os.path.exists("a/f") and get("b/f") == two
        assert names("out")[0].startswith("f.b2f"), names("out")
        ctl("decompress", "-rf", "--rm", "-o", "back", "out")
        assert get("back/f") == one
    make_two(one, two)
    _, err = ctl("decompress", "--rm", "-f", "x.b2frame", "x.b2f", status=1)
    assert "x: this run has made it" in err, err
    assert get("x") == one
    check_frame("x.b2f", two)
    # A frame recompressed onto itself loses nothing.
    ctl("recompress", "-9", "x.b2f", "x.b2f", "./x.b2f")
    check_frame("x.b2f", two)
    ctl("convert", "-fo", "y.b2f", "x.b2f")
    _, err = ctl("convert", "-f", "-o", "z/", "x.b2f", "y.b2f", "./x.b2f",
                 status=1)
    assert "z/x.b2frame: this run has made it" in err, err


def test_no_result_replaces_an_operand_to_come():
    one, two = items(5000, 4), items(7000, 4, seed=1)
    make_two(one, two)
    _, err = ctl("convert", "-f", "--rm", "x.b2frame", "x.b2f", status=1)
    assert "x.b2f: this run has made it, or reads it" in err, err
    left = [n for n in os.listdir() if n.startswith("x.b2f")]
    held = sorted(subprocess.run([BLOSCCTL, "cat", n], capture_output=True,
                                 check=True).stdout for n in left)
    assert held == sorted([one, two]), left
    # Nor what is found in a tree.
    os.mkdir("frames")
    os.mkdir("files")
    put("files/a", one)
    put("files/a.b2frame", two)
    ctl("compress", "--format=contiguous", "-o", "frames/x.b2f", "files/a")
    ctl("compress", "-o", "frames/x.b2frame", "files/a.b2frame")
    for command, top in ("convert", "frames"), ("compress", "files"):
        _, err = ctl(command, "-r", "-f", top, status=1)
        assert ": this run has made it, or reads it" in err, err
    assert get("files/a") == one and get("files/a.b2frame") == two
    check_frame("frames/x.b2f", one)
    check_frame("frames/x.b2frame", two)
    # Nor in a tree to come.
    os.mkdir("other")
    ctl("compress", "-o", "other/x.b2frame", "files/a")
    ctl("convert", "-r", "-f", "-o", "frames", "other", "frames", status=1)
    check_frame("frames/x.b2f", one)


def test_a_kernel_without_openat2():
    """Without openat2(2) each part of a path is opened by itself."""
    tree()
    os.remove("tree/link")
    env = {**os.environ, "ASAN_OPTIONS":
           os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0"}
    for args in (("compress", "-r", "-o", "packed", "tree"),
                 ("copy", "-q", "-r", "packed", "copied"),
                 ("decompress", "-r", "-o", "back", "copied")):
        done = subprocess.run(
            ["strace", "-f", "-qq", "-o", "trace", "-e", "trace=openat2", "-e",
             "inject=openat2:error=ENOSYS", BLOSCCTL, *args],
            capture_output=True, env=env)
        assert done.returncode == 0, done
        assert "ENOSYS" in get("trace").decode(), args
    same_files("tree", "back")


def test_a_store_is_unpacked():
    with blosc2.TreeStore("t.b2z", mode="w") as store:
        store["/group/x"] = np.arange(10)
        store["/y"] = np.ones((3, 3))
    ctl("decompress", "-o", "out", "t.b2z")
    assert np.array_equal(np.load("out/group/x.npy"), np.arange(10))
    assert np.array_equal(np.load("out/y.npy"), np.ones((3, 3)))


def test_seal_and_info_take_trees():
    os.mkdir("d")
    for name in ("one", "two"):
        blosc2.SChunk(chunksize=4096, data=items(20000, 4), contiguous=False,
                      urlpath=f"d/{name}.b2frame")
    ctl("seal", "-r", "d")
    said = json.loads(ctl("verify", "-r", "--json", "d")[0])
    assert [s["nunsealed"] for s in said] == [0, 0], said
    said = json.loads(ctl("info", "-r", "--json", "d")[0])
    assert [s["frame"] for s in said] == ["d/one.b2frame", "d/two.b2frame"]
    out, _ = ctl("info", "-r", "d")
    assert out.count(b"\nd/two.b2frame\n") == 1, out
    os.mkdir("none")
    _, err = ctl("info", "-r", "none")
    assert err == "bloscctl: none: there is no frame in it\n", err


def test_json_has_what_failed():
    put("x", items(1000, 4))
    put("rubbish.b2frame", b"no frame")
    for command, good in (("compress", "x"), ("convert", "x.b2frame"),
                          ("recompress", "x.b2f"), ("seal", "x.b2f"),
                          ("decompress", "x.b2f"), ("info", "x.b2f"),
                          ("repair", "x.b2frame")):
        force = ["-f"] if command in ("decompress", "convert") else []
        out, err = ctl(command, "--json", *force, "missing", good, status=1)
        said = json.loads(out)
        assert len(said) == 2, (command, said)
        assert said[0] == {"schema": 1, "command": command,
                           "source": "missing", "error": "missing: No such file or directory"}, said
        assert "error" not in said[1], said
        assert err.count("\n") == 1 + (command == "convert"), err
    said = json.loads(ctl("info", "--json", "rubbish.b2frame", status=1)[0])
    assert "rubbish.b2frame" in said["error"], said
    said = json.loads(ctl("decompress", "--json", "-f", "x.b2f")[0])
    assert said["output"] == "x" and said["nbytes"] == 1000, said


if __name__ == "__main__":
    raise SystemExit(run_all(globals()))
