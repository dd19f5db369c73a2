# SPDX-License-Identifier: BSD-3-Clause
"""bloscctl writes to frames in an object store"""
import os
import pathlib
import sys

import blosc2
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import s3_server  # noqa: E402
from bloscctl import cat, ctl, workdir  # noqa: E402
from proxy import Proxy, done, lose, status, twice  # noqa: E402

DATA = bytes(1_000_000) + os.urandom(400_000) + b"end" * 70_000
FRAME = "bucket/x.b2frame"


def fill(client):
    pathlib.Path("x").write_bytes(DATA)
    ctl("compress", "-q", "x", "-o", "x.b2frame")
    client.put_tree("x.b2frame", FRAME)


def by_blosc2(client, key):
    """The data of the frame, read by python-blosc2 after a download."""
    top = client.get_tree(key, pathlib.Path("downloaded", key))
    return blosc2.open(str(top), mode="r")[:]


def check_append(client, proxy):
    ctl("append", "-q", f"s3://{FRAME}", "x")
    assert cat(f"s3://{FRAME}") == DATA * 2
    # One request of each kind fails once, or its answer is lost.
    for fault in lose, status(500), status(409):
        methods = {"PUT", "HEAD"}

        def once(request, fault=fault, left=methods):
            if request.method not in left or "probe" in request.path:
                return None
            left.discard(request.method)
            return fault
        proxy.fault = once
        ctl("append", "-q", f"s3://{FRAME}", "x")
    proxy.fault = None
    assert cat(f"s3://{FRAME}") == DATA * 5
    assert by_blosc2(client, FRAME) == DATA * 5
    ctl("verify", f"s3://{FRAME}")


def check_compress(client, proxy):
    """Chunks first; the index last, and once."""
    url = "s3://bucket/new/y.b2frame"
    with open("x", "rb") as pipe:
        ctl("compress", "-q", "-", "-o", url, stdin=pipe.read())
    assert cat(url) == DATA
    puts = [r.path for r in proxy.take("PUT") if "/new/" in r.path]
    assert puts[-1].endswith("/chunks.b2frame") and sum(
        p.endswith("/chunks.b2frame") for p in puts) == 1, puts
    err = ctl("compress", "-q", "x", "-o", url, status=1)[1]
    assert "exists already; -f replaces it" in err, err
    # Replaces a frame as copy does: one PUT of the index, and no old chunk stays.
    pathlib.Path("other").write_bytes(b"other" * 500_000)
    proxy.take("PUT")
    ctl("compress", "-q", "-f", "other", "-o", url)
    puts = [r.path for r in proxy.take("PUT") if "/new/" in r.path]
    assert sum(p.endswith("/chunks.b2frame") for p in puts) == 1, puts
    assert cat(url) == b"other" * 500_000
    ctl("verify", url)
    ctl("compress", "-q", "-f", "x", "-o", url)
    assert cat(url) == DATA
    assert "per chunk" in ctl("compress", "-q", "--contiguous", "x", "-o",
                              "s3://bucket/z.b2f", status=1)[1]
    np.save("a.npy", np.arange(300_000).reshape(3, -1))
    ctl("compress", "-q", "--rm", "a.npy", "-o", "s3://bucket/new/a.b2nd")
    assert not pathlib.Path("a.npy").exists()
    assert by_blosc2(client, "bucket/new/a.b2nd")[2, 1] == 200_001
    # If the index is refused, no frame appears, and sent chunks are removed.
    proxy.fault = lambda r: \
        status(403) if r.method == "PUT" and "chunks.b2" in r.path else None
    ctl("compress", "-q", "x", "-o", "s3://bucket/no/x.b2frame", status=1)
    proxy.fault = None
    assert client.names("bucket/no/") == []


def check_refused(proxy):
    proxy.fault = lambda r: \
        status(403) if r.method == "PUT" and ".chunk" in r.path else None
    err = ctl("append", f"s3://{FRAME}", "x", status=1)[1]
    proxy.fault = None
    assert "denies" in err and "nothing was appended" in err, err
    assert s3_server.SECRET not in err
    assert cat(f"s3://{FRAME}") == DATA * 5


def check_repeated(client, proxy):
    """A proxy repeats requests, or gives wrong answers."""
    for fault in twice, done(status(403)), done(status(302)):
        proxy.fault = lambda r, fault=fault: \
            fault if r.method == "PUT" and "probe" not in r.path else None
        ctl("compress", "-q", "x", "-o", "s3://bucket/r.b2frame")
        ctl("append", "-q", "s3://bucket/r.b2frame", "x")
        ctl("copy", "-q", "-f", "x.b2frame", "s3://bucket/c.b2frame")
        assert cat("s3://bucket/r.b2frame") == DATA * 2
        assert cat("s3://bucket/c.b2frame") == DATA
        ctl("append", "-q", "s3://bucket/c.b2frame", "x")
        ctl("copy", "-q", "-f", "x.b2frame", "s3://bucket/c.b2frame")
        assert cat("s3://bucket/c.b2frame") == DATA
        proxy.fault = None
        ctl("verify", "-q", "s3://bucket/r.b2frame", "s3://bucket/c.b2frame")
        client.remove_all("bucket")


def check_large(client, proxy):
    """A contiguous frame of more than 64 MiB, in parts: new, and over another one."""
    large = os.urandom(1 << 20) * 66
    pathlib.Path("large").write_bytes(large)
    ctl("compress", "-q", "--contiguous", "--codec=zstd", "--clevel=0",
        "large", "-o", "large.b2f")
    stored = pathlib.Path("large.b2f").read_bytes()
    assert len(stored) > 64 << 20
    url = "s3://bucket/large.b2f"
    for args, fault in (("large.b2f", url), None), (("-f", "x", url), None), \
            (("-f", "large.b2f", url), lose), (("-f", "x", url), None), \
            (("-f", "large.b2f", url), twice):
        proxy.take()
        left = ["POST"]

        def once(request, fault=fault, left=left):
            if request.method not in left or "large.b2f?uploadId" not in \
                    request.path:
                return None
            left.clear()
            return fault
        proxy.fault = once
        ctl("copy", "-q", *args)
        if "x" not in args:
            assert len([r for r in proxy.take("PUT")
                        if "partNumber=" in r.path and "probe" not in r.path]) \
                == -(-len(stored) // (16 << 20))
            assert client.get("bucket/large.b2f") == stored
    proxy.fault = None
    assert cat("--offset=50000000", "--length=99", url) == \
        large[50000000:50000099]
    assert b"<Upload>" not in client.request("GET", "bucket",
                                             query="uploads=")[2]


def main():
    with workdir(), s3_server.S3Server() as server, \
            Proxy(server.port) as proxy:
        os.environ.update(s3_server.ENV, AWS_ENDPOINT_URL=proxy.url)
        client = s3_server.Client(server.url)
        fill(client)
        check_append(client, proxy)
        check_refused(proxy)
        check_compress(client, proxy)
        check_repeated(client, proxy)
        check_large(client, proxy)


if __name__ == "__main__":
    s3_server.require()
    main()
