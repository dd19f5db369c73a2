# SPDX-License-Identifier: BSD-3-Clause
"""bloscctl on the frames of an object store"""
import json
import os
import pathlib
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import s3_server  # noqa: E402
from bloscctl import cat, ctl, info, workdir  # noqa: E402

DATA = np.arange(700_000).tobytes()
URL = "s3://bucket"


def fill(client):
    pathlib.Path("x").write_bytes(DATA)
    ctl("compress", "-q", "x", "-o", "x.b2frame")
    ctl("compress", "-q", "x", "-o", "x.b2f", "--contiguous")
    client.put_tree("x.b2frame", "bucket/top/a b+c%/x.b2frame")
    client.put_tree("x.b2frame", "bucket/x.b2frame")
    client.put_tree("x.b2f", "bucket/top/y.b2f")
    client.put("bucket/top/plain", b"no frame")


def ls(*args):
    return {entry["name"]: entry["storage"]
            for entry in json.loads(ctl("ls", "--json", *args)[0])}


def check_reads():
    assert cat(f"{URL}/top/a b+c%/x.b2frame") == DATA
    assert cat(f"{URL}/top/y.b2f") == DATA
    assert info(f"{URL}/x.b2frame")["nbytes"] == len(DATA)
    assert ls(URL) == {f"{URL}/x.b2frame": "sparse"}
    assert ls("-r", f"{URL}/") == {
        f"{URL}/x.b2frame": "sparse", f"{URL}/top/y.b2f": "contiguous",
        f"{URL}/top/a b+c%/x.b2frame": "sparse"}
    assert ls("-a", f"{URL}/top") == {
        f"{URL}/top/y.b2f": "contiguous", f"{URL}/top/plain": None,
        f"{URL}/top/a b+c%": None}
    ctl("verify", "-r", URL)
    ctl("decompress", "-q", "-r", f"{URL}/top", "-o", "out")
    assert pathlib.Path("out/a b+c%/x").read_bytes() == DATA
    assert pathlib.Path("out/y").read_bytes() == DATA


def check_damage(client):
    client.delete("bucket/x.b2frame/00000000.chunk")
    err = ctl("verify", f"{URL}/x.b2frame", status=1)
    assert b"missing" in err[0] or "missing" in err[1], err


def check_refusals():
    def refused(url, words, **env):
        for name, value in env.items():
            os.environ[name] = value
        err = ctl("info", url, status=1)[1]
        assert words in err and err.count("\n") == 1, err
        assert "testsecret" not in err and "nonsense" not in err, err
        os.environ.update(s3_server.ENV)

    refused("s3://nobucket/x", "there is no such bucket")
    for args in (("copy", "out/y", "s3://nobucket/x"),
                 ("copy", "s3://nobucket/x", "none"),
                 ("compress", "out/y", "-o", "s3://nobucket/x"),
                 ("append", "s3://nobucket/x", "out/y"),
                 ("rm", "s3://nobucket/x"), ("ls", "s3://nobucket")):
        err = ctl(*args, status=1)[1]
        assert err.startswith("bloscctl: s3://nobucket") and \
            "there is no such bucket" in err, (args, err)
    refused(f"{URL}/none", "there is no such object")
    server = os.environ["AWS_ENDPOINT_URL"]
    refused(f"{URL}/x.b2f", f"{URL}/x.b2f: cannot connect to 127.0.0.1:1: refused",
            AWS_ENDPOINT_URL="http://127.0.0.1:1")
    os.environ["AWS_ENDPOINT_URL"] = server
    refused(f"{URL}/x.b2frame", "secret key", AWS_SECRET_ACCESS_KEY="nonsense")
    refused(f"{URL}/x.b2frame", "access key", AWS_ACCESS_KEY_ID="nonsense")


def main():
    s3_server.require()
    with workdir(), s3_server.S3Server() as server:
        os.environ.update(s3_server.ENV)
        os.environ["AWS_ENDPOINT_URL"] = server.url
        client = s3_server.Client(server.url)
        fill(client)
        check_reads()
        check_damage(client)
        check_refusals()


main()
