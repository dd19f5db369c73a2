# SPDX-License-Identifier: BSD-3-Clause
"""bloscctl writes to frames in an object store"""
import os
import pathlib
import sys

import blosc2

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import s3_server  # noqa: E402
from bloscctl import cat, ctl, workdir  # noqa: E402
from proxy import Proxy, lose, status  # noqa: E402

DATA = bytes(1_000_000) + os.urandom(400_000) + b"end" * 70_000
FRAME = "bucket/x.b2frame"


def fill(client):
    pathlib.Path("x").write_bytes(DATA)
    ctl("compress", "-q", "x", "-o", "x.b2frame")
    client.put_tree("x.b2frame", FRAME)


def by_blosc2(client):
    """What python-blosc2 reads of the frame, after a download."""
    top = pathlib.Path("downloaded.b2frame")
    top.mkdir(exist_ok=True)
    for name in client.names(FRAME + "/"):
        (top / name).write_bytes(client.get(f"{FRAME}/{name}"))
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
    assert by_blosc2(client) == DATA * 5
    ctl("verify", f"s3://{FRAME}")


def check_refused(proxy):
    proxy.fault = lambda r: \
        status(403) if r.method == "PUT" and ".chunk" in r.path else None
    err = ctl("append", f"s3://{FRAME}", "x", status=1)[1]
    proxy.fault = None
    assert "denies" in err and "nothing was appended" in err, err
    assert s3_server.SECRET not in err
    assert cat(f"s3://{FRAME}") == DATA * 5


def main():
    with workdir(), s3_server.S3Server() as server, \
            Proxy(server.port) as proxy:
        os.environ.update(s3_server.ENV, AWS_ENDPOINT_URL=proxy.url)
        client = s3_server.Client(server.url)
        fill(client)
        check_append(client, proxy)
        check_refused(proxy)


if __name__ == "__main__":
    s3_server.require()
    main()
