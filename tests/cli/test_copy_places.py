# SPDX-License-Identifier: BSD-3-Clause
"""bloscctl copy: destinations, and existing copies"""
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from bloscctl import cat, ctl, workdir  # noqa: E402
from fake_s3 import FakeS3, Object  # noqa: E402
from proxy import Proxy  # noqa: E402

S3 = "s3://bucket"
ENV = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "testsecret",
       "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true"}


def refused(words, *args):
    err = ctl("copy", "-q", *args, status=1)[1]
    assert words in err and err.count("\n") == 1, err


def names(top="."):
    return {str(p.relative_to(top)) for p in pathlib.Path(top).rglob("*")
            if not p.is_dir()}


def check_outside(server, frame):
    """No key of a bucket leads out of the destination."""
    for key in "t/../up/x.b2f", "../out.b2f", "t/./dot.b2f", "t/in.b2f":
        server.objects[f"/bucket/{key}"] = Object(frame, {})
    pathlib.Path("a/b").mkdir(parents=True)
    for command in "copy", "decompress", "convert":
        err = ctl(command, "-q", "-r", "-o" if command != "copy" else S3,
                  *(["a/b/d", S3] if command != "copy" else ["a/b/d"]),
                  status=1)[1]
        assert err.count("leads out of") == 3, err
        assert names("a") and all(n.startswith("b/d/t/in") for n in names("a"))
    server.objects.clear()


def check_versions(server):
    """Another object, or file, of the same length and second does not count as a
    copy."""
    for name in "ab":
        server.objects[f"/bucket/{name}"] = Object(name.encode() * 99, {})
        pathlib.Path(f"file-{name}").write_bytes(name.encode() * 99)
        server.objects[f"/bucket/{name}"].time = 1e9
        os.utime(f"file-{name}", (1e9, 1e9))
    for n, (a, b) in enumerate(((f"{S3}/a", f"{S3}/b"), ("file-a", "file-b"))):
        ctl("copy", "-q", a, f"v-{n}")
        refused("exists already", b, f"v-{n}")
        assert pathlib.Path(f"v-{n}").read_bytes() == b"a" * 99
        ctl("copy", "-q", "-f", b, f"v-{n}")
        assert pathlib.Path(f"v-{n}").read_bytes() == b"b" * 99
    server.objects.clear()


def check_places(server):
    """Impossible destinations are refused, by one line that names them."""
    before = names()
    refused("cannot copy into the frame x.b2frame", "x", "x.b2frame/y")
    refused("more bytes than its size says", "/proc/self/status", "status")
    refused("cannot copy into the frame x.b2frame", "x.b2frame", "x.b2frame/y")
    refused("cannot copy into the frame x.b2frame", "-f", "x",
            "x.b2frame/chunks.b2frame")
    refused("bucket: it is a bucket", "x", S3)
    refused("bucket/none: nothing is there", "-r", f"{S3}/none", "none")
    assert names() == before and not server.objects
    os.makedirs(b"odd")
    for name in b"-", b"new\nline", b"\xff":
        pathlib.Path(os.fsdecode(b"odd/" + name)).write_bytes(name)
    err = ctl("copy", "-q", "-r", "odd", f"{S3}/odd", status=1)[1]
    assert err.count("UTF-8, without control") == 2, err
    assert [k for k in server.objects if "probe" not in k] == ["/bucket/odd/-"]
    os.chdir("odd")
    ctl("copy", "-q", "-r", ".", "../odd-2")
    os.chdir("..")
    assert names("odd") == names("odd-2")
    server.objects.clear()


def check_gone(server, proxy):
    """If the version is replaced during a copy, no part of the copy stays."""
    def replace(request):
        # The last part is asked for when the first one is written.
        if f"bytes={32 << 20}-" in request.headers.get("Range", ""):
            server.objects["/bucket/gone"].etag = '"another"'
    server.objects["/bucket/gone"] = Object(bytes(34 << 20), {})
    before = names()
    proxy.fault = replace
    refused("another version", f"{S3}/gone", "gone")
    assert names() == before, names() - before
    # One chunk of the frame exists already.
    for path in pathlib.Path("r.b2frame").iterdir():
        server.objects[f"/bucket/g/{path.name}"] = Object(path.read_bytes(), {})

    def replace_index(request):
        if "/00000003.chunk" in request.path:
            server.objects["/bucket/g/chunks.b2frame"].etag = '"another"'
    proxy.fault = replace_index
    err = ctl("copy", "-q", "-T1", f"{S3}/g", "gone", status=1)[1]
    assert "changed" in err and err.count("\n") == 1, err
    left = list(pathlib.Path().glob(".bloscctl-*"))
    assert names() == before and not left, left
    proxy.fault = None
    server.objects.clear()


def check_unnamed(server, frame):
    """Keys that are no possible paths are reported, one per line; the rest is
    copied."""
    for key in "t//x.b2f", "t//deep/y", "t/in.b2f", "t/u/z.b2f":
        server.objects[f"/bucket/{key}"] = Object(frame, {})
    # The second key is more than a directory marker.
    server.objects["/bucket/t/"] = Object(b"", {})
    server.objects["/bucket/t/u/"] = Object(b"content", {})
    wanted = {"in", "u/z"}
    for n, (command, *args) in enumerate((
            ("copy", f"{S3}/t", "un-0"), ("decompress", "-o", "un-1", f"{S3}/t"),
            ("convert", "-o", "un-2", f"{S3}/t"), ("ls", f"{S3}/t"))):
        out, err = ctl(command, "-r", "-q", *args, status=1)
        assert err.count("\n") == 2, err
        assert f"{S3}/t//: left out: no path" in err, err
        assert f"{S3}/t/u/: left out: the name of an object" in err, err
        got = names(f"un-{n}") if command != "ls" else \
            {line.split("/t/")[1] for line in out.decode().splitlines()}
        assert {re.sub(r"\.b2f.*", "", name) for name in got} == wanted, got
    server.objects["/bucket//x"] = Object(frame, {})
    err = ctl("ls", S3, status=1)[1]
    assert f"{S3}//: left out" in err and err.count("\n") == 1, err
    # Copied alone, each of them gets a name.
    ctl("copy", "-q", f"{S3}/t//x.b2f", "un-x")
    assert pathlib.Path("un-x").read_bytes() == frame
    server.objects.clear()


def check_large(server, proxy):
    """An object too large for the store is refused before it is sent."""
    with open("large", "wb") as f:
        f.truncate((5 << 30) + 1)
    proxy.take()
    server.no_parts = True
    refused("larger than 5 GiB, and the server has no conditional multipart "
            "uploads; 'bloscctl convert --sparse'", "large", f"{S3}/large")
    server.no_parts = False
    assert sum(r.sent for r in proxy.take()) < 1000 and not server.objects


def check_both(server):
    """If a key is an object and a prefix, the keys below it are copied, too."""
    for key in "t/a", "t/a/b", "t/z":
        server.objects[f"/bucket/{key}"] = Object(b"both", {})
    refused("both/a/b: Not a directory", "-r", f"{S3}/t", "both")
    assert names("both") == {"a", "z"}
    ctl("copy", "-q", "-r", f"{S3}/t", f"{S3}/u")
    assert server.objects["/bucket/u/a/b"].body == b"both"
    server.objects.clear()


def main():
    with workdir(), FakeS3() as server, Proxy(server.port) as proxy:
        os.environ.update(ENV, AWS_ENDPOINT_URL=proxy.url)
        pathlib.Path("x").write_bytes(b"x" * 5000)
        ctl("compress", "-q", "x", "-o", "x.b2frame")
        ctl("compress", "-q", "--contiguous", "x", "-o", "x.b2f")
        pathlib.Path("r").write_bytes(os.urandom(100_000))
        ctl("compress", "-q", "--chunksize=16k", "r", "-o", "r.b2frame")
        check_outside(server, pathlib.Path("x.b2f").read_bytes())
        check_versions(server)
        check_places(server)
        check_both(server)
        check_unnamed(server, pathlib.Path("x.b2f").read_bytes())
        check_large(server, proxy)
        check_gone(server, proxy)


if __name__ == "__main__":
    main()
