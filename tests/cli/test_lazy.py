#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Frames whose data are elsewhere are reported and refused, never shown as zeros."""
import json
import os
import pathlib
import sys

import blosc2
import numpy as np

from ctl import cat, check_not_opened, ctl, in_namespace, info, mounted, run_all

VALUES = np.arange(1, 4001, dtype="f8").reshape(80, 50)


def array(path="a.b2nd", **options):
    return blosc2.asarray(VALUES, urlpath=path, mode="w", contiguous=False,
                          chunks=(20, 50), blocks=(10, 50), **options)


def double(inputs, output, offset):
    output[:] = inputs[0] * 2


def make_lazy():
    a, b = array("a.b2nd"), array("b.b2nd")
    (a + b * 2).save(urlpath="expression.b2nd")
    (a + b * 2).save(urlpath="sparse.b2nd", contiguous=False)
    blosc2.lazyudf(double, (a,), a.dtype).save(urlpath="function.b2nd")
    return {"expression.b2nd": "a lazy expression",
            "sparse.b2nd": "a lazy expression",
            "function.b2nd": "a lazy"}


def make_proxies():
    a = array("source.b2nd")
    blosc2.Proxy(a, urlpath="none.b2nd", mode="w")
    # One chunk of four.
    blosc2.Proxy(a, urlpath="some.b2nd", mode="w")[0:5]
    blosc2.Proxy(a, urlpath="all.b2nd", mode="w").fetch()
    return dict.fromkeys(("none.b2nd", "some.b2nd"), "a proxy")


def check_refused(path, what):
    out, err = ctl("verify", path, status=2)
    assert f"stands for {what}".encode() in out and b": ok" not in out, out
    assert f"stands for {what}" in err, err
    assert json.loads(ctl("verify", "--json", path, status=2)[0])[
        "stands_for"].startswith(what)
    out, err = ctl("cat", path, status=1)
    assert out == b"" and what in err, err
    ctl("decompress", path, "-o", "out", status=1)
    ctl("slice", path, "0:2", "-o", "out", status=1)
    assert not os.path.exists("out")
    assert info(path)["stands_for"].startswith(what)
    out, _ = ctl("info", path)
    assert f"stands for   {what}".encode() in out, out


def test_lazy_objects():
    for path, what in make_lazy().items():
        check_refused(path, what)
    assert info("a.b2nd")["stands_for"] is None
    assert cat("a.b2nd") == VALUES.tobytes()


def test_proxies():
    for path, what in make_proxies().items():
        check_refused(path, what)
    assert cat("all.b2nd") == VALUES.tobytes()
    assert b": ok" in ctl("verify", "all.b2nd")[0]
    # A chunk that was dropped to save room is missing.
    frame = blosc2.blosc2_ext.open("all.b2nd", "a", 0)
    getattr(frame, "schunk", frame).update_special(
        2, blosc2.SpecialValue.UNINIT)
    check_refused("all.b2nd", "a proxy")


def test_in_a_mount():
    os.mkdir("src")
    os.chdir("src")
    refused = {**make_lazy(), **make_proxies()}
    os.chdir("..")
    with mounted():
        for path in refused:
            name = path.removesuffix(".b2nd")
            check_not_opened(f"mnt/{name}", os.O_RDONLY, os.O_RDWR)
            assert not os.path.exists(f"mnt/{name}.npy")
        assert pathlib.Path("mnt/all").read_bytes() == VALUES.tobytes()
    said = pathlib.Path("log").read_text()
    for path, what in refused.items():
        assert f"{path}: not readable: it stands for {what}" in said, said


if __name__ == "__main__":
    in_namespace()
    sys.exit(run_all(globals()))
