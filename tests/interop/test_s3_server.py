#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The S3 server of the remote tests does what they rely on."""
import contextlib
import http.client
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "mount"))
import s3_server
from mounting import main
from proxy import Proxy, lose
from s3_server import Client, S3Server


def check_conditions(client):
    """Of several commits to one version only one succeeds."""
    client.put("bucket/index", b"one")
    etag = client.request("HEAD", "bucket/index")[1]["ETag"]
    for wanted, code in (("*", 412), (None, 200)):
        headers = {"If_None_Match": wanted} if wanted else {}
        assert client.request("PUT", "bucket/index", b"two",
                              **headers)[0] == code
    assert client.request("PUT", "bucket/index", b"three",
                          If_Match=etag)[0] == 412
    assert client.get("bucket/index") == b"two"


def test_the_s3_server_enforces_conditions():
    with S3Server() as server, Proxy(server.port) as way:
        client = Client(way.url)
        client.put("bucket/a b/c+d", b"0123456789")
        got, headers, body = client.request("GET", "bucket/a b/c+d",
                                            Range="bytes=2-4")
        assert (got, body) == (206, b"234") and headers["ETag"]
        listing = client.request("GET", "bucket", expect=200,
                                 query="delimiter=%2F&list-type=2")[2]
        assert b"<Prefix>a b/</Prefix>" in listing, listing
        check_conditions(client)
        # The answer is lost, but the request was done.
        way.take()
        way.fault = lambda r: lose if r.method == "PUT" else None
        with contextlib.suppress(http.client.HTTPException, ConnectionError):
            client.put("bucket/lost", b"there")
        assert client.get("bucket/lost") == b"there"
        assert client.request("GET", "bucket/none")[0] == 404
        assert Client(way.url, secret="wrong").request(
            "GET", "bucket/lost")[0] == 403
    assert not server.top.exists()


s3_server.require()
main()
