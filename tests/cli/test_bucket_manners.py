# SPDX-License-Identifier: BSD-3-Clause
"""Buckets that need special requests, or allow less"""
import base64
import contextlib
import gzip
import hashlib
import os
import pathlib
import subprocess
import sys
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from bloscctl import cat, ctl, workdir  # noqa: E402
from fake_s3 import FakeS3  # noqa: E402
from proxy import Proxy  # noqa: E402

DATA = os.urandom(100_000) + bytes(50_000)


@contextlib.contextmanager
def manners(server, **values):
    before = {name: getattr(server, name) for name in values}
    vars(server).update(values)
    yield
    vars(server).update(before)


def check_get_only(server):
    """Keys without the right to list read frames by name."""
    with manners(server, get_only=True):
        for name in "x.b2frame", "x.b2f":
            assert cat(f"s3://bucket/{name}") == DATA
            ctl("info", f"s3://bucket/{name}")
        assert cat("s3://bucket/x.b2z/x") == DATA
        for name in "x.b2f", "x.b2z", "x":
            out, err = ctl("copy", f"s3://bucket/{name}", f"got.{name}")
            assert out == b"" and "denies" not in err, err
            assert pathlib.Path(f"got.{name}").read_bytes() == \
                pathlib.Path(name).read_bytes()
        for args in ("cat", "s3://bucket/none.b2nd"), \
                ("copy", "s3://bucket/none", "none"):
            err = ctl(*args, status=1)[1]
            assert err.count("\n") == 1 and "denies access" in err, err


def check_prefix(server):
    """The endpoint may be below a path."""
    before = os.environ["AWS_ENDPOINT_URL"]
    with manners(server, prefix="/object/store%20s"):
        os.environ["AWS_ENDPOINT_URL"] = f"{before}/object/store%20s/"
        assert cat("s3://bucket/x.b2frame") == DATA
        ctl("compress", "-q", "x", "-o", "s3://bucket/below.b2frame")
        assert b"below" in ctl("ls", "s3://bucket")[0]
    os.environ["AWS_ENDPOINT_URL"] = before
    assert cat("s3://bucket/below.b2frame") == DATA


def check_encoding(server, way):
    """An object is read whatever its Content-Encoding."""
    pathlib.Path("x.gz").write_bytes(gzip.compress(DATA))
    server.load("x.gz", "/bucket/x.gz")
    with manners(server, encoding="gzip"):
        way.take()
        ctl("copy", "s3://bucket/x.gz", "got.gz")
        assert gzip.decompress(pathlib.Path("got.gz").read_bytes()) == DATA
        assert cat("s3://bucket/x.b2f") == DATA
        assert cat("--offset=1000", "--length=9", "s3://bucket/x.b2frame") == \
            DATA[1000:1009]
        assert not any("Accept-Encoding" in r.headers for r in way.take())


def check_unsigned(way):
    way.take()
    assert cat("--no-sign-request", "s3://bucket/x.b2frame") == DATA
    assert not any("Authorization" in r.headers for r in way.take())
    ctl("append", "--no-sign-request", "s3://bucket/below.b2frame", "x")
    assert not any("Authorization" in r.headers for r in way.take())


SSE = "x-amz-server-side-encryption"
SSE_C = f"{SSE}-customer-"


def own_headers(way, *args):
    """For each request of a run: method, is it for an object?, headers"""
    way.take()
    ctl(*args)
    for r in way.take():
        headers = {k.lower(): v for k, v in r.headers.items()}
        of_object = r.method != "DELETE" and "list-type" not in r.path
        yield r.method, of_object, headers


def check_payer(way):
    for args in (("ls", "-r", "s3://bucket"), ("cat", "s3://bucket/x.b2frame"),
                 ("append", "s3://bucket/below.b2frame", "x")):
        for _, _, headers in own_headers(way, *args, "--request-payer"):
            assert headers.get("x-amz-request-payer") == "requester"
            # The header is signed, too.
            assert "x-amz-request-payer" in headers["authorization"]
        for _, _, headers in own_headers(way, *args):
            assert "x-amz-request-payer" not in headers


def check_encryption(way):
    append = "append", "s3://bucket/below.b2frame", "x"
    for options, kind, key in ((["--sse=AES256"], "AES256", None),
                               (["--sse-kms-key=arn:k"], "aws:kms", "arn:k")):
        for method, _, headers in own_headers(way, *append, *options):
            made = method == "PUT"
            assert headers.get(SSE) == (kind if made else None), headers
            assert headers.get(f"{SSE}-aws-kms-key-id") == \
                (key if made else None), headers
    pathlib.Path("key").write_bytes(bytes(range(32)))
    own = {"algorithm": "AES256",
           "key": base64.b64encode(bytes(range(32))).decode(),
           "key-md5": base64.b64encode(hashlib.md5(bytes(range(32))).digest())
           .decode()}
    for args in append, ("cat", "s3://bucket/below.b2frame"), \
            ("verify", "s3://bucket/below.b2frame"):
        for _, of_object, headers in own_headers(way, *args,
                                                    "--sse-c-key=key"):
            for name, value in own.items():
                assert headers.get(SSE_C + name) == \
                    (value if of_object else None), (args, headers)
    for wrong, words in ((["--sse-c-key=x"], "a file of 32 bytes"),
                         (["--sse-c-key=none"], "No such file"),
                         (["--sse-c-key=key", "--sse=AES256"],
                          "exclude each other"),
                         (["--sse=a b"], "has a blank or a control character")):
        err = ctl(*append, *wrong, status=1)[1]
        assert words in err and err.count("\n") == 1, err
    # The key of SSE-C is never sent without TLS.
    before = os.environ["AWS_ENDPOINT_URL"]
    os.environ["AWS_ENDPOINT_URL"] = "http://example.org"
    err = ctl(*append, "--sse-c-key=key", status=1)[1]
    assert "over https only" in err and own["key"] not in err, err
    os.environ["AWS_ENDPOINT_URL"] = before


def check_parts(server, way):
    """An object over 64 MiB is sent in parts, encrypted like all others."""
    large = os.urandom(1 << 20) * 65 + b"end"
    pathlib.Path("large").write_bytes(large)
    seen = {}
    for method, _, headers in own_headers(
            way, "copy", "large", "s3://bucket/", "--sse=AES256"):
        if "x-amz-checksum-crc32" in headers:
            seen.setdefault(method, set()).add(headers.get(SSE))
    assert seen == {"PUT": {None, "AES256"}, "POST": {None}}, seen
    assert server.objects["/bucket/large"].body == large
    for method, _, headers in own_headers(
            way, "copy", "-f", "x", "s3://bucket/large", "--sse-c-key=key"):
        assert (SSE_C + "key" in headers) == (method != "GET" and
                                              method != "DELETE")
    server.load("large", "/bucket/large")
    # The server's checksum of an object that is read as a whole is checked.
    found = server.objects["/bucket/large"]
    for sum_of, status in ((large, 0), (b"other", 1)):
        found.sum = base64.b64encode(
            zlib.crc32(sum_of).to_bytes(4, "big")).decode()
        err = ctl("copy", "s3://bucket/large", f"got{status}", status=status)[1]
        assert ("another checksum (CRC-32)" in err) == (status == 1), err
    assert pathlib.Path("got0").read_bytes() == large
    assert not os.path.exists("got1") and not server.uploads


def main():
    with workdir(), FakeS3() as server, Proxy(server.port) as way:
        os.environ.update(AWS_ACCESS_KEY_ID="k", AWS_SECRET_ACCESS_KEY="s",
                          AWS_ENDPOINT_URL=way.url)
        pathlib.Path("x").write_bytes(DATA)
        ctl("compress", "-q", "x", "-o", "s3://bucket/x.b2frame")
        ctl("compress", "-q", "x", "-o", "x.b2f", "--contiguous")
        subprocess.run([sys.executable, "-c", "import blosc2; s = blosc2."
                        "TreeStore('x.b2z', mode='w'); s['/x'] = blosc2."
                        "SChunk(data=open('x', 'rb').read(), cparams={"
                        "'typesize': 1}); s.close()"], check=True)
        for name in "x", "x.b2f", "x.b2z":
            server.load(name, f"/bucket/{name}")
        check_get_only(server)
        check_prefix(server)
        check_encoding(server, way)
        check_unsigned(way)
        check_payer(way)
        check_encryption(way)
        check_parts(server, way)


main()
