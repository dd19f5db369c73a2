#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The servers of the remote tests do what they rely on."""
import contextlib
import http.client
import os
import pathlib
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "mount"))
from http_server import HttpServer
from mounting import main
from proxy import Proxy, cut, drop, lose, status


def ask(port, method, path, body=None, **headers):
    """(status, headers, body); None: the connection ended before."""
    conn = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    with contextlib.closing(conn):
        try:
            conn.request(method, path, body,
                         {k.replace("_", "-"): v for k, v in headers.items()})
            answer = conn.getresponse()
            return answer.status, answer.headers, answer.read()
        except (http.client.HTTPException, ConnectionError):
            return None


def make_file(size=1000):
    os.mkdir("files")
    data = os.urandom(size)
    pathlib.Path("files/x y").write_bytes(data)
    return data


def test_files_are_served_by_ranges():
    data = make_file()
    with HttpServer("files") as server:
        got, headers, body = ask(server.port, "GET", "/x%20y")
        etag = headers["ETag"]
        assert got == 200 and body == data
        for text, part in (("0-9", data[:10]), ("990-", data[990:]),
                           ("-7", data[-7:]), ("995-2000", data[995:])):
            got, headers, body = ask(server.port, "GET", "/x%20y",
                                     Range=f"bytes={text}", If_Match=etag)
            assert got == 206 and body == part, text
            assert headers["Content-Range"].endswith("/1000")
        assert ask(server.port, "GET", "/x%20y", Range="bytes=1000-")[0] == 416
        assert ask(server.port, "GET", "/none")[0] == 404
        got, headers, body = ask(server.port, "HEAD", "/x%20y")
        assert (got, headers["Content-Length"], body) == (200, "1000", b"")
        pathlib.Path("files/x y").write_bytes(data[::-1])
        assert ask(server.port, "GET", "/x%20y", If_Match=etag)[0] == 412
        server.ignore_ranges = server.no_etags = True
        got, headers, body = ask(server.port, "GET", "/x%20y",
                                 Range="bytes=0-9")
        assert got == 200 and len(body) == 1000 and "ETag" not in headers


def test_the_proxy_counts_and_fails_as_told():
    data = make_file(200000)
    with HttpServer("files") as server, Proxy(server.port) as way:
        assert ask(way.port, "GET", "/x%20y")[2] == data
        ask(way.port, "HEAD", "/x%20y")
        first, second = way.take()
        assert (first.method, first.status, first.received) == \
            ("GET", 200, len(data))
        assert (second.method, second.received) == ("HEAD", 0)
        way.fault = lambda r: {1: status(503, b"slow down", Retry_After="1"),
                               2: drop, 3: cut(100000), 4: lose}.get(r.nth)
        got, headers, body = ask(way.port, "GET", "/x%20y")
        assert (got, headers["Retry-After"], body) == (503, "1", b"slow down")
        for _ in range(3):
            assert ask(way.port, "GET", "/x%20y") is None
        assert ask(way.port, "GET", "/x%20y")[2] == data
        # A dropped request did not arrive; a lost answer's request did.
        assert [r.status for r in way.take()] == [503, 0, 200, 200, 200]


def test_the_proxy_is_a_slow_link():
    data = make_file(1 << 20)
    with HttpServer("files") as server, Proxy(server.port) as way:
        way.delay, way.rate = 0.05, 10e6
        start = time.monotonic()
        threads = [threading.Thread(target=ask,
                                    args=(way.port, "GET", "/x%20y"))
                   for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        # All three share the link, and wait for the delay at once.
        assert time.monotonic() - start >= 0.05 + 3 * len(data) / way.rate
        assert sum(r.received for r in way.take()) == 3 * len(data)


main()
