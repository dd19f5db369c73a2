#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The examples of docs/recipes.md, unchanged, do what the page says.

Where dask.distributed and xarray are not installed, the few lines of
tests/support/stand_ins take their place; a container is a mount namespace with
the capabilities of one.  Fortran is compiled where there is gfortran.
"""
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

import blosc2
import numpy as np

from mounting import BUILD, SOURCE, main
from fake_s3 import FakeS3

PAGE = (SOURCE / "docs/recipes.md").read_text(encoding="utf-8")
SUPPORT = SOURCE / "tests/support"


def recipe(title):
    """Pairs of a language and a block."""
    section = re.search(rf"^## {re.escape(title)}.*?\n(.*?)(?=^## |\Z)", PAGE,
                        re.M | re.S).group(1)
    return re.findall(r"^```(\w+)\n(.*?)^```$", section, re.M | re.S)


def environment(**more):
    python = [SOURCE / "packaging/python", BUILD / "python"]
    if not importlib.util.find_spec("distributed"):
        python.append(SUPPORT / "stand_ins")
    path = [BUILD, SUPPORT, pathlib.Path(sys.executable).parent]
    return dict(os.environ, HOME=os.getcwd(),
                PYTHONPATH=":".join(map(str, python)),
                PATH=":".join([*map(str, path), os.environ["PATH"]]), **more)


def run(title, **more):
    """Output of its commands and Python programs; other blocks become files."""
    out = ""
    for language, text in recipe(title):
        command = {"sh": ["bash", "-euo", "pipefail", "-c", text],
                   "python": [sys.executable, "recipe.py"],
                   "bash": ["bash", "job.sh"]}.get(language)
        name = {"python": "recipe.py", "bash": "job.sh", "c": "total.c",
                "fortran": "total.f90"}.get(language)
        if name:
            pathlib.Path(name).write_text(text, encoding="utf-8")
        if language == "sh" and not shutil.which("gfortran"):
            command[-1] = re.sub(r" && gfortran.*|^\./total-fortran$", "", text,
                                 flags=re.M)
        if command:
            out += subprocess.run(command, env=environment(**more), check=True,
                                  stdout=subprocess.PIPE, text=True).stdout
    assert not os.path.ismount("mnt")
    return out


def array(shape, path, dtype="float64"):
    items = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    blosc2.asarray(items, urlpath=path, contiguous=True)
    return items


def test_training_data():
    os.mkdir("preprocessed")
    case = array((1, 32, 64, 64), "preprocessed/case_0000.b2nd", "float32")
    want = case[:, 8:24, 16:48, 16:48].mean()
    assert run("Training data") == f"mean of the patch: {want}\n"


def test_c_and_fortran():
    items = array((200, 100), "grid.b2nd")
    assert set(run("A program in C or Fortran").split()) == {f"{items.sum()}"}


def test_slurm():
    pathlib.Path("simulate").write_text("#!/bin/sh\nseq 100000 >$1\n")
    os.chmod("simulate", 0o755)
    os.mkdir("tmp")
    run("A scratch directory for a Slurm job", SLURM_JOB_ID="4711",
        SLURM_SUBMIT_DIR=os.getcwd(), TMPDIR=os.path.abspath("tmp"))
    assert os.listdir("tmp") == []
    stored = subprocess.check_output(
        [BUILD / "bloscctl", "cat", "frames.4711/result.raw.b2frame"])
    assert stored == subprocess.check_output(["seq", "100000"])


def test_container():
    os.mkdir("frames")
    blosc2.SChunk(data=b"hello\n", urlpath="frames/greeting.b2frame",
                  contiguous=True, cparams={"typesize": 1})
    assert run("In a container") == "hello\n"


KEYS = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s",
        "AWS_EC2_METADATA_DISABLED": "true"}


def bucket(server):
    """A bucket with one array, put there by bloscctl."""
    items = array((100, 1000), "first.b2nd")
    more = dict(KEYS, AWS_ENDPOINT_URL=server.url)
    subprocess.run([BUILD / "bloscctl", "copy", "-q", "first.b2nd",
                    "s3://bucket/run7.b2nd"], env=environment(**more),
                   check=True)
    return items, more


def test_bucket():
    with FakeS3() as server:
        items, more = bucket(server)
        assert "run7" in run("From a bucket to a laptop", **more)
    assert np.array_equal(np.load("part.npy"), items[10:20])
    assert np.array_equal(np.load("all.npy"), items)
    assert np.array_equal(blosc2.open("run7.b2nd")[:], items)
    assert os.listdir(".cache/bloscfs")


def test_xarray():
    os.mkdir("climate")
    items = array((30, 18, 36), "climate/temperature.b2nd")
    run("xarray")
    assert np.array_equal(blosc2.open("climate/week.npy.b2nd")[:],
                          items[:7].mean(axis=0))


def test_dask():
    with FakeS3() as server:
        items, more = bucket(server)
        assert run("Dask", **more) == f"{items.sum()}\n"
        for first in 0, 50:
            name = f"total-{first}.npy"
            with open(name, "wb") as out:
                subprocess.run([BUILD / "bloscctl", "cat",
                                f"s3://bucket/{name}.b2nd"], stdout=out,
                               env=environment(**more), check=True)
            assert np.array_equal(np.load(name),
                                  items[first:first + 50].sum(axis=0))


def test_git_and_sqlite():
    assert "('ok',)" in run("git and SQLite")


def test_each_has_a_test():
    titles = re.findall(r"^## (.*)$", PAGE, re.M)
    assert len(titles) == sum(name.startswith("test_")
                              for name in globals()) - 1, titles


if __name__ == "__main__":
    main()
