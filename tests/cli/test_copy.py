# SPDX-License-Identifier: BSD-3-Clause
"""bloscctl copy: frames and files, unchanged, between paths and servers"""
import json
import os
import pathlib
import socket
import sys

import blosc2
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import s3_server  # noqa: E402
from bloscctl import cat, ctl, workdir  # noqa: E402
from http_server import HttpServer  # noqa: E402
from proxy import Proxy, drop, lose, status  # noqa: E402

PIECE = os.urandom(70_000)
DATA = (PIECE + bytes(100_000)) * 9 + b"end"
S3 = "s3://bucket"


def read(path):
    """The bytes of the file, or of all files in the directory, by name."""
    path = pathlib.Path(path)
    if path.is_file():
        return path.read_bytes()
    return {str(p.relative_to(path)): p.read_bytes()
            for p in path.rglob("*") if p.is_file()}


def stored(client, key):
    """The same for an object, or for all objects below a prefix."""
    names = client.names(f"bucket/{key}/")
    if not names:
        return client.get(f"bucket/{key}")
    return {n: client.get(f"bucket/{key}/{n}") for n in names}


def left():
    """The leftovers of copies under temporary names."""
    return [p for p in pathlib.Path().rglob("*")
            if p.name.startswith(".bloscctl-")]


def fill():
    pathlib.Path("x").write_bytes(DATA)
    ctl("compress", "-q", "--chunksize=64k", "x", "-o", "x.b2frame")
    ctl("compress", "-q", "--contiguous", "x", "-o", "x.b2f")
    # A frame by python-blosc2, without checksums.
    blosc2.asarray(np.arange(90_000).reshape(300, 300), chunks=(50, 300),
                   urlpath="a.b2nd", contiguous=False)


def check_pairs(client, web):
    """Each source to each destination, byte for byte."""
    for name in "x.b2frame", "x.b2f", "x", "a.b2nd":
        ctl("copy", "-q", name, f"local-{name}")
        assert read(f"local-{name}") == read(name), name
        assert os.stat(f"local-{name}").st_mode == os.stat(name).st_mode
        ctl("copy", "-q", name, f"{S3}/{name}")
        assert stored(client, name) == read(name), name
        ctl("copy", "-q", f"{S3}/{name}", f"{S3}/again/{name}")
        assert stored(client, f"again/{name}") == read(name), name
        for i, source in enumerate((f"{S3}/again/{name}", f"{web}/{name}")):
            ctl("copy", "-q", source, f"{i}-{name}")
            assert read(f"{i}-{name}") == read(name), source
    assert cat(f"{S3}/again/x.b2frame") == cat("1-x.b2frame") == DATA
    assert blosc2.open("0-a.b2nd", mode="r")[299, 299] == 89_999
    assert blosc2.open("1-x.b2frame", mode="r")[:] == DATA
    assert not left()


def check_report(client):
    out = json.loads(ctl("copy", "--json", "x.b2frame", f"{S3}/j/")[0])
    assert out["command"] == "copy" and out["nbytes"] == len(DATA)
    assert out["output"] == f"{S3}/j/x.b2frame"
    assert stored(client, "j/x.b2frame") == read("x.b2frame")
    out = json.loads(ctl("copy", "--json", "none", "y", status=1)[0])
    assert "No such file" in out["error"]


def check_refusals():
    def refused(words, *args, code=1):
        err = ctl("copy", *args, status=code)[1]
        assert words in err and (code == 2 or err.count("\n") == 1), err
    ctl("append", "-q", "local-x.b2frame", "x")
    refused("exists already", "local-x.b2frame", "0-x.b2frame")
    refused("exists already", "local-x.b2frame", f"{S3}/x.b2frame")
    refused("exists already", "local-x.b2frame", f"{S3}/x.b2f")
    refused("exists already", "x.b2f", f"{S3}/x.b2frame")
    refused("itself", "x", "x")
    refused("itself", "-f", "x.b2frame", "x.b2frame")
    refused("there is no such object", f"{S3}/none", "y")
    refused("web servers", "x", "http://127.0.0.1:1/x")
    refused("-r copies", ".", f"{S3}/dot")
    refused("no regular file", "/dev/null", "y")
    refused("source and a destination", "x", code=2)
    assert not pathlib.Path("y").exists() and not left()


def check_force(client):
    """A copy replaces a frame, whose chunks are removed."""
    more = DATA * 2
    for url in f"{S3}/x.b2frame", "0-x.b2frame", "0-x.b2f":
        ctl("copy", "-q", "-f", "local-x.b2frame", url)
        assert cat(url) == more
        ctl("verify", url)
    n = len(list(pathlib.Path("local-x.b2frame").iterdir()))
    assert len(client.names("bucket/x.b2frame/")) == n
    ctl("copy", "-q", "-f", "x", f"{S3}/x.b2f")
    assert client.get("bucket/x.b2f") == DATA
    # A frame cannot replace a plain object, nor an object a frame.
    for name, to in ("x", "x.b2frame"), ("x.b2frame", "x.b2f"):
        err = ctl("copy", "-f", name, f"{S3}/{to}", status=1)[1]
        assert "has that name" in err and err.count("\n") == 1, err
    ctl("append", "-q", f"{S3}/x.b2frame", "x")
    ctl("copy", "-q", f"{S3}/x.b2frame", "back")
    assert blosc2.open("back", mode="r")[:] == DATA * 3


def check_trees(client):
    top = pathlib.Path("tree")
    (top / "deep/er").mkdir(parents=True)
    for name in "x.b2frame", "x.b2f", "x", "a.b2nd":
        ctl("copy", "-q", name, top / "deep/er" / name)
    (top / "empty file").write_bytes(b"")
    whole = read(top)
    ctl("copy", "-q", "-r", top, f"{S3}/tree")
    # Directories are made where paths are.
    assert not pathlib.Path("s3:").exists()
    ctl("copy", "-q", "-r", f"{S3}/tree", "tree-2")
    ctl("copy", "-q", "-r", "tree-2", "tree-3")
    assert read("tree-2") == read("tree-3") == whole
    assert client.get("bucket/tree/empty file") == b""
    # A second copy sends nothing.
    ctl("copy", "-q", "-r", "tree-2", "tree-3")
    # -r of a frame copies that frame.
    ctl("copy", "-q", "-r", "x.b2frame", f"{S3}/one/y.b2frame")
    assert cat(f"{S3}/one/y.b2frame") == DATA
    ctl("copy", "-q", "-r", f"{S3}/one/y.b2frame", "y.b2frame")
    assert cat("y.b2frame") == DATA
    # A message names each entry that is left out; the rest is copied.
    (top / "link").symlink_to("x")
    with socket.socket(socket.AF_UNIX) as s:
        s.bind("tree/socket")
        err = ctl("copy", "-q", "-r", top, f"{S3}/tree-2", status=1)[1]
    assert "link: it is a symbolic link" in err and err.count("\n") == 2, err
    assert "socket: it is no regular file" in err, err
    assert cat(f"{S3}/tree-2/deep/er/x.b2frame") == DATA


def check_once_more(proxy):
    """Existing chunks are not sent again."""
    proxy.take()
    ctl("copy", "-q", "-r", "tree/deep", f"{S3}/tree/deep")
    puts = [r.path for r in proxy.take("PUT") if "probe" not in r.path]
    assert not puts, puts


def check_faults(client, proxy):
    """One request of each kind fails once, or its answer is lost."""
    for n, fault in enumerate((lose, drop, status(500), status(503))):
        kinds = {"PUT", "HEAD", "GET"}

        def once(request, fault=fault, kinds=kinds):
            if request.method not in kinds or "probe" in request.path:
                return None
            kinds.discard(request.method)
            return fault
        proxy.fault = once
        ctl("copy", "-q", "x.b2frame", f"{S3}/faults/{n}.b2frame")
        assert stored(client, f"faults/{n}.b2frame") == read("x.b2frame")
        kinds |= {"PUT", "HEAD", "GET"}
        ctl("copy", "-q", f"{S3}/faults/{n}.b2frame", f"fault-{n}.b2frame")
        assert read(f"fault-{n}.b2frame") == read("x.b2frame")
        kinds |= {"PUT", "HEAD", "GET"}
        ctl("copy", "-q", "x.b2f", f"{S3}/faults/{n}.b2f")
        assert client.get(f"bucket/faults/{n}.b2f") == read("x.b2f")
    proxy.fault = None


def check_damage(client):
    """A chunk that is damaged is not copied; the source is named."""
    ctl("copy", "-q", "x.b2frame", "bad.b2frame")
    chunk = sorted(pathlib.Path("bad.b2frame").glob("*.chunk"))[-1]
    bytes_ = bytearray(chunk.read_bytes())
    bytes_[len(bytes_) // 2] ^= 1
    chunk.write_bytes(bytes_)
    for to in f"{S3}/bad.b2frame", "bad-2.b2frame":
        err = ctl("copy", "-q", "-T1", "bad.b2frame", to, status=1)[1]
        assert "bad.b2frame" in err and "checksum" in err, err
        ctl("info", to, status=1)
    # Nothing is left with which another copy could go on.
    assert not left()
    chunk.unlink()
    err = ctl("copy", "-q", "bad.b2frame", f"{S3}/bad.b2frame", status=1)[1]
    assert "bad.b2frame" in err, err
    assert "chunks.b2frame" not in client.names("bucket/bad.b2frame/")


def main():
    with workdir(), s3_server.S3Server() as server, \
            Proxy(server.port) as proxy, HttpServer(".") as web:
        os.environ.update(s3_server.ENV, AWS_ENDPOINT_URL=proxy.url)
        client = s3_server.Client(server.url)
        fill()
        check_pairs(client, web.url)
        check_report(client)
        check_refusals()
        check_force(client)
        check_trees(client)
        check_once_more(proxy)
        check_faults(client, proxy)
        check_damage(client)


if __name__ == "__main__":
    s3_server.require()
    main()
