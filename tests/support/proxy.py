# SPDX-License-Identifier: BSD-3-Clause
"""proxy - a slow and faulty way to an HTTP server, with a count of requests

    with Proxy(server.port) as proxy:
        proxy.delay = 0.02            # seconds added to each answer
        proxy.rate = 100e6            # bytes per second, of all connections together
        proxy.fault = lambda r: status(503) if r.nth == 3 else None
        ...
        proxy.requests                # a list of Request

    python proxy.py DIR       serves DIR through a proxy, prints "PORT N", and takes
                              commands, one a line, each answered by a line:
        fault N KIND [VALUE]  the next N requests have this fault, as below;
                              "done KIND": the server does them all the same
        ignore_ranges         from now on the server ignores ranges
        no_etags              from now on the server sends no ETags
        count                 answered by "REQUESTS BYTES" since the last count

A fault is what happens to one request; proxy.fault picks it:

    status(503)     this answer; the server sees nothing
    status(409, body, Name=value)
    garbage         bytes that are no HTTP; the server sees nothing
    drop            the connection ends; the server sees nothing
    silent          no answer, ever; the server sees nothing
    done(fault)     the server does it, and then one of the faults above happens
    lose            done(drop)
    late(s)         the connection ends, and s seconds later the server does it
    twice           the server gets the request twice, as from a load balancer;
                    the second answer is passed on
    cut(n)          the answer ends after n bytes of its body
    stall(s)        the answer comes s seconds later
    drip(s)         each byte of its body comes s seconds after the one before
"""
import contextlib
import dataclasses
import http.client
import sys
import threading
import time

from http_server import (DIRECT, PIECE, DirectCall, Handler, HttpServer,
                         Server)


@dataclasses.dataclass
class Request:
    # Counts from 1.
    nth: int
    method: str
    path: str
    headers: dict
    status: int = 0
    # Bytes of the bodies, to the server and back.
    sent: int = 0
    received: int = 0


@dataclasses.dataclass
class Fault:
    kind: str
    value: float = 0
    body: bytes = b""
    headers: dict = dataclasses.field(default_factory=dict)
    # The server does it all the same.
    done: bool = False


def status(code, body=b"", **headers):
    return Fault("status", code, body,
                 {k.replace("_", "-"): v for k, v in headers.items()})


def cut(nbytes):
    return Fault("cut", nbytes)


def stall(seconds):
    return Fault("stall", seconds)


def drip(seconds):
    return Fault("drip", seconds)


def late(seconds):
    return Fault("late", seconds)


def done(fault):
    return dataclasses.replace(fault, done=True)


drop = Fault("drop")
lose = done(drop)
garbage = Fault("garbage")
silent = Fault("silent")
twice = Fault("twice")


class Connection(http.client.HTTPConnection):
    def connect(self):
        if self.port in DIRECT:
            self.sock = DirectCall(DIRECT[self.port])
        else:
            super().connect()


class ProxyHandler(Handler):
    # Headers of an answer that are about this connection only.
    OWN = {"connection", "keep-alive", "transfer-encoding", "server"}

    def handle_any(self):
        owner = self.owner
        request = owner.note(self.command, self.path, dict(self.headers))
        body = self.read_body()
        request.sent = len(body)
        fault = (owner.fault and owner.fault(request)) or Fault("none")
        owner.wait(owner.delay + fault.value * (fault.kind == "stall"))
        owner.send_over_link(len(body))
        if fault.done or fault.kind == "twice":
            request.status = self.ask(body)
        if fault.kind == "status":
            request.status = int(fault.value)
            return self.answer(request.status, fault.headers, fault.body)
        if fault.kind == "garbage":
            self.wfile.write(b"\x15\x03\x01\x00\x02\x02\x28")
        if fault.kind == "silent":
            # Until the client gives up.
            self.connection.recv(1)
        if fault.kind in ("garbage", "drop", "silent"):
            return self.hang_up()
        if fault.kind == "late":
            return self.ask_late(body, fault.value)
        return self.forward(request, body, fault)

    do_GET = do_HEAD = do_PUT = do_DELETE = do_POST = handle_any

    def read_body(self):
        if self.headers["Expect"] and not self.headers["Content-Length"]:
            return b""
        return self.rfile.read(int(self.headers["Content-Length"] or 0))

    def hang_up(self):
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.connection.shutdown(2)

    @contextlib.contextmanager
    def asked(self, body):
        """The server's answer to the request."""
        conn = Connection("127.0.0.1", self.owner.upstream, timeout=60)
        with contextlib.closing(conn):
            # With the Host that the client signed.
            conn.putrequest(self.command, self.path, skip_host=True,
                            skip_accept_encoding=True)
            for name, value in self.headers.items():
                if name.lower() not in ("connection", "expect"):
                    conn.putheader(name, value)
            conn.endheaders(body or None)
            yield conn.getresponse()

    def ask(self, body):
        """Has the server do it; returns only the status of its answer."""
        with self.asked(body) as answer:
            answer.read()
            return answer.status

    def ask_late(self, body, seconds):
        with self.owner.lock:
            self.owner.nlate += 1
        self.hang_up()
        self.owner.wait(seconds)
        self.ask(body)
        with self.owner.lock:
            self.owner.nlate -= 1

    def forward(self, request, body, fault):
        with self.asked(body) as answer:
            request.status = answer.status
            return self.pass_on(request, answer, fault)

    def pass_on(self, request, answer, fault):
        self.send_response_only(answer.status, answer.reason)
        length = answer.getheader("Content-Length")
        whole = answer.read() if length is None else None
        for name, value in answer.getheaders():
            if name.lower() not in self.OWN:
                self.send_header(name, value)
        if whole is not None and answer.status not in (204, 304):
            self.send_header("Content-Length", str(len(whole)))
        self.end_headers()
        if fault.kind == "drip":
            return self.drip(answer, fault.value)
        room = fault.value if fault.kind == "cut" else float("inf")
        while self.command != "HEAD":
            piece = answer.read(PIECE) if whole is None else whole
            whole = b"" if whole is not None else None
            if not piece:
                return None
            self.owner.send_over_link(len(piece))
            piece = piece[:int(min(room, len(piece)))]
            # Count it before the client can see it.
            request.received += len(piece)
            self.wfile.write(piece)
            room -= len(piece)
            if room <= 0:
                return self.hang_up()


    def drip(self, answer, seconds):
        while byte := answer.read(1):
            self.wfile.write(byte)
            time.sleep(seconds)


class Proxy(Server):
    handler = ProxyHandler

    def __init__(self, upstream):
        # The port of the server.
        self.upstream = upstream
        self.delay = 0
        self.rate = 0
        self.fault = None
        self.requests = []
        self.lock = threading.Lock()
        # Delayed requests that the server has not got yet.
        self.nlate = 0
        # Time at which the link will have sent all bytes given to it.
        self.link_free = 0

    def note(self, method, path, headers):
        with self.lock:
            request = Request(len(self.requests) + 1, method, path, headers)
            self.requests.append(request)
        return request

    def take(self, method=None):
        """The requests since the last call, of @method if that is given."""
        with self.lock:
            taken, self.requests = self.requests, []
        return [r for r in taken if not method or r.method == method]

    @staticmethod
    def wait(seconds):
        if seconds > 0:
            time.sleep(seconds)

    def send_over_link(self, nbytes):
        """Waits for as long as the link takes for @nbytes, shared with all others."""
        if not self.rate or not nbytes:
            return
        with self.lock:
            begin = max(time.monotonic(), self.link_free)
            self.link_free = begin + nbytes / self.rate
            end = self.link_free
        self.wait(end - time.monotonic())


def fault_of(words):
    """The fault that a command names."""
    if words[0] == "lose":
        return lose
    if words[0] == "done":
        return done(fault_of(words[1:]))
    return Fault(words[0], float(words[1]) if len(words) > 1 else 0)


def obey(server, way, words):
    """Answers one command."""
    if words[0] == "fault":
        end = len(way.requests) + int(words[1])
        fault = fault_of(words[2:])
        way.fault = lambda r: fault if r.nth <= end else None
    elif words[0] == "count":
        taken = way.take()
        return f"{len(taken)} {sum(r.received for r in taken)}"
    else:
        assert hasattr(server, words[0]), words
        setattr(server, words[0], True)
    return "ok"


def main(root):
    with HttpServer(root) as server, Proxy(server.port) as way:
        print("PORT", way.port, flush=True)
        for line in sys.stdin:
            print(obey(server, way, line.split()), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
