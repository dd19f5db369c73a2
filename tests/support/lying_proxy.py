# SPDX-License-Identifier: BSD-3-Clause
"""lying_proxy - a proxy that falsifies answers

    with LyingProxy(server.port) as proxy:
        proxy.lies = Lies(seed, one_in=3)     # or None

The answers are valid HTTP: a client has to check their contents.
"""
import random
import re
import threading

from proxy import Proxy

HUGE = (1 << 63) - 1


class Answer:
    """The server's answer; @length is its Content-Length."""

    def __init__(self, answer):
        self.status = answer.status
        self.headers = {k.title(): v for k, v in answer.getheaders()}
        self.length = int(self.headers.pop("Content-Length", 0))
        self.body = answer.read()

    def set_body(self, body):
        self.body, self.length = body, len(body)

    def is_listing(self):
        return b"<ListBucketResult" in self.body[:200]


def flip(rng, said):
    if said.body:
        body = bytearray(said.body)
        body[rng.randrange(len(body))] ^= 1 << rng.randrange(8)
        said.body = bytes(body)


def cut(rng, said):
    """Fewer bytes, with the right Content-Length."""
    said.set_body(said.body[:rng.randrange(len(said.body) + 1)])


def lengthen(rng, said):
    said.set_body(said.body + rng.randbytes(rng.choice([1, 100, 1 << 20])))


def other_bytes(rng, said):
    said.body = rng.randbytes(len(said.body))


def other_length(rng, said):
    """A wrong Content-Length: the connection ends early, or bytes are left for the next
    answer."""
    said.length = rng.choice([0, len(said.body) // 2, len(said.body) + 1, HUGE,
                              HUGE + 1, -1])


def other_status(rng, said):
    said.status = rng.choice([200, 204, 206, 300, 302, 304, 307, 400, 401, 403,
                              404, 405, 409, 412, 416, 418, 429, 500, 501, 503,
                              507, 599, 999])
    if rng.randrange(2):
        said.headers["Location"] = rng.choice(
            ["/", "http://127.0.0.1:1/", "file:///etc/passwd", "", "\x7f"])


def other_range(rng, said):
    said.headers["Content-Range"] = rng.choice(
        ["bytes 1-1/2", "bytes 0-0/1", "bytes */0", f"bytes 0-{HUGE}/{HUGE}",
         "bytes 5-3/10", f"bytes 0-{len(said.body) - 1}/*", "", "lines 1-2/3",
         f"bytes 1-{len(said.body)}/{len(said.body) + 1}", "bytes -1-2/3"])


def no_header(rng, said):
    if said.headers:
        del said.headers[rng.choice([*said.headers])]


def other_etag(rng, said):
    said.headers["Etag"] = rng.choice(
        ['""', '"', "", '"0123"', "W/" + said.headers.get("Etag", '"1"'),
         '"' + "x" * 60000 + '"', '"\x1b[31m"'])


def other_time(rng, said):
    said.headers["Last-Modified"] = rng.choice(
        ["", "yesterday", "Thu, 01 Jan 1970 00:00:00 GMT",
         "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 99 Foo 2026 99:99:99 GMT"])


def other_notes(rng, said):
    for name in said.headers:
        if name.startswith("X-Amz-Meta-"):
            said.headers[name] = rng.choice(["", "x" * 8000, "%00", "\x1b[2J"])


def many_headers(rng, said):
    for i in range(500):
        said.headers[f"X-Filler-{i}"] = "y" * 200


KEYS = [b"../../up", b"/etc/passwd", b"a//b", b"&#27;[31mred", b"%1b%5b2J",
        b"%00", b"%2e%2e/up", b"\xff\xfe", b"x" * 5000, b"", b".", b"..",
        b"d/%2e%2e/%2e%2e/up", b"x.b2frame/chunks.b2frame/"]
SIZES = [b"-1", b"99999999999999999999999", b"", b"1e9", b"0x10"]
BOMB = (b'<?xml version="1.0"?><!DOCTYPE a [<!ENTITY a "aaaaaaaaaa">' +
        b"".join(b'<!ENTITY %c "%s">' % (c + 1, b"&%c;" % c * 10)
                 for c in range(ord("a"), ord("i"))) +
        b"]><ListBucketResult><Contents><Key>&i;</Key></Contents>"
        b"</ListBucketResult>")


def other_listing(rng, said):
    body = said.body
    kind = rng.randrange(6)
    if kind == 0:
        body = re.sub(rb"(?s)<Key>.*?</Key>",
                      lambda _: b"<Key>%s</Key>" % rng.choice(KEYS), body)
    elif kind == 1:
        body = re.sub(rb"(?s)<Size>.*?</Size>",
                      b"<Size>%s</Size>" % rng.choice(SIZES), body)
    elif kind == 2:
        body = body.replace(b"<IsTruncated>false", b"<NextContinuationToken>d"
                            b"</NextContinuationToken><IsTruncated>true")
    elif kind == 3:
        body = BOMB
    elif kind == 4:
        body = b"<ListBucketResult>" + b"<Contents>" * 200000
    else:
        body = re.sub(rb"(?s)<Prefix>.*?</Prefix>", b"<Prefix>%s/</Prefix>" %
                      rng.choice(KEYS), body)
    said.set_body(body)


OF_ALL = [flip, cut, lengthen, other_bytes, other_length, other_status,
          other_range, no_header, other_etag, other_time, other_notes,
          many_headers]


class Lies:
    """Changes one answer in so many."""

    def __init__(self, seed, one_in, kinds=OF_ALL):
        self.rng, self.one_in, self.kinds = random.Random(seed), one_in, kinds
        self.lock = threading.Lock()
        # The changes, for the message of a failure.
        self.told = []

    def __call__(self, request, said):
        with self.lock:
            if self.rng.randrange(self.one_in):
                return
            lie = self.rng.choice(self.kinds)
            if said.is_listing() and self.rng.randrange(2):
                lie = other_listing
            lie(self.rng, said)
            self.told.append(f"{lie.__name__} {request.method} {request.path}")


class LyingHandler(Proxy.handler):
    def pass_on(self, request, answer, fault):
        lies = self.owner.lies
        if not lies:
            return super().pass_on(request, answer, fault)
        said = Answer(answer)
        lies(request, said)
        self.send_response_only(said.status, "said")
        for name, value in said.headers.items():
            if name.lower() not in self.OWN:
                self.send_header(name, value)
        self.send_header("Content-Length", str(said.length))
        self.end_headers()
        if self.command == "HEAD":
            return None
        self.wfile.write(said.body)
        return None if said.length == len(said.body) else self.hang_up()


class LyingProxy(Proxy):
    handler = LyingHandler

    def __init__(self, port):
        super().__init__(port)
        self.lies = None
