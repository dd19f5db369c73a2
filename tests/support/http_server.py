# SPDX-License-Identifier: BSD-3-Clause
"""http_server - files over plain HTTP: ranges, ETags, If-Match

    python http_server.py DIR       prints "PORT N", and ends when its stdin does

    with HttpServer("dir") as server:
        server.url          # http://127.0.0.1:PORT

Faults on the way are made by proxy.py.
"""
import contextlib
import http.client
import http.server
import io
import os
import pathlib
import re
import ssl
import sys
import threading
from email.utils import formatdate
from urllib.parse import unquote, urlsplit

PIECE = 1 << 16

# The self-signed certificate of HttpServer(tls=True), for 127.0.0.1 alone, until 2126.
TLS_CERT = pathlib.Path(__file__).with_name("tls_cert.pem")


def tls_context():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS_CERT, TLS_CERT.with_name("tls_key.pem"))
    return context


PLAIN_HEADER = re.compile(rb"([!-9;-~]+):[ \t]*(.*?)[\r\n]*", re.DOTALL)
parse_all_headers = http.client.parse_headers


def parse_headers(fp, _class=http.client.HTTPMessage):
    """What http.client has a parser of mails do, which takes most of the time of a
    small request; that parser still gets headers of more than one line, and bad
    ones."""
    lines = []
    while (line := fp.readline(65537)) not in (b"\r\n", b"\n", b""):
        lines.append(line)
    found = [PLAIN_HEADER.fullmatch(line) for line in lines]
    if not all(found) or len(found) > 100 or max(map(len, lines), default=0) > 65536:
        return parse_all_headers(io.BytesIO(b"".join([*lines, line])), _class)
    message = _class()
    for name, value in (x.groups() for x in found):
        message.set_raw(name.decode("ascii"), value.decode("iso-8859-1"))
    return message


http.client.parse_headers = parse_headers


class Threads(http.server.ThreadingHTTPServer):
    """Ends with its connections closed, and says nothing of clients that go."""
    daemon_threads = True
    block_on_close = False
    request_queue_size = 256

    def __init__(self, handler):
        super().__init__(("127.0.0.1", 0), handler)
        self.open_sockets = set()

    def process_request(self, request, client_address):
        self.open_sockets.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request):
        self.open_sockets.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request, client_address):
        pass


# Direct servers, by their ports.
DIRECT = {}


class DirectCall:
    """In place of the socket of a connection to a direct server: the server answers in
    the thread of its client, when that begins to read."""

    def __init__(self, httpd):
        self.httpd = httpd
        self.request, self.reply = io.BytesIO(), io.BytesIO()
        self.is_asked = False

    def setsockopt(self, *_):
        pass

    def sendall(self, data):
        (self.reply if self.is_asked else self.request).write(data)

    def makefile(self, *_):
        if self.is_asked:
            return io.BytesIO(self.request.getvalue())
        self.is_asked = True
        self.httpd.RequestHandlerClass(self, ("127.0.0.1", 0), self.httpd)
        return io.BytesIO(self.reply.getvalue())

    def close(self):
        pass


class Server:
    """A context in which a server with @handler runs in threads."""
    handler = None
    tls = False
    # Does it take the requests of a proxy in this process without a socket?
    is_direct = False

    def __enter__(self):
        owner = self

        class Handler(self.handler):
            def __init__(self, *args):
                self.owner = owner
                super().__init__(*args)

        self.httpd = Threads(Handler)
        self.port = self.httpd.server_address[1]
        self.url = f"http{'s' * self.tls}://127.0.0.1:{self.port}"
        if self.is_direct:
            DIRECT[self.port] = self.httpd
        if self.tls:
            self.httpd.socket = tls_context().wrap_socket(self.httpd.socket,
                                                          server_side=True)
        self.thread = threading.Thread(
            target=self.httpd.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        DIRECT.pop(self.port, None)
        self.httpd.shutdown()
        self.thread.join()
        self.httpd.server_close()
        for sock in list(self.httpd.open_sockets):
            with contextlib.suppress(OSError):
                sock.shutdown(2)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # An answer is two writes; the second must not wait for an ACK.
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def answer(self, status, headers=(), body=b""):
        # The answer to HEAD has the length, too.
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


class FileHandler(Handler):
    """GET and HEAD of files below owner.root."""

    def parse_range(self, size):
        """The bytes that were asked for: (first, end); None: all of them."""
        found = re.fullmatch(r"bytes=(\d*)-(\d*)", self.headers["Range"] or "")
        if not found or not any(found.groups()) or self.owner.ignore_ranges:
            return None
        first, last = found.groups()
        if not first:
            return max(0, size - int(last)), size
        return int(first), min(size, int(last) + 1 if last else size)

    def do_GET(self):
        path = os.path.join(self.owner.root,
                            unquote(urlsplit(self.path).path).lstrip("/"))
        if not os.path.isfile(path):
            return self.answer(404)
        with open(path, "rb") as f:
            return self.send_file(f)

    do_HEAD = do_GET

    def send_file(self, f):
        st = os.fstat(f.fileno())
        etag = f'"{st.st_mtime_ns:x}-{st.st_ino:x}-{st.st_size:x}"'
        wanted = self.headers["If-Match"]
        if wanted and wanted != etag:
            return self.answer(412)
        span = self.parse_range(st.st_size)
        first, end = span or (0, st.st_size)
        if span and first >= end:
            return self.answer(
                416, {"Content-Range": f"bytes */{st.st_size}"})
        self.send_response(206 if span else 200)
        if not self.owner.no_etags:
            self.send_header("ETag", etag)
        self.send_header("Last-Modified", formatdate(st.st_mtime, usegmt=True))
        if span:
            self.send_header("Content-Range",
                             f"bytes {first}-{end - 1}/{st.st_size}")
        if not self.owner.ignore_ranges:
            self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(end - first))
        self.end_headers()
        f.seek(first)
        while self.command == "GET" and first < end:
            piece = f.read(min(PIECE, end - first))
            first += len(piece)
            self.wfile.write(piece)


class HttpServer(Server):
    handler = FileHandler

    def __init__(self, root, tls=False):
        self.root = os.path.abspath(root)
        self.tls = tls
        # Limits of lesser servers.
        self.ignore_ranges = False
        self.no_etags = False


def serve(server):
    """For programs that are not Python: prints the port, and ends with stdin."""
    with server:
        print("PORT", server.port, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    serve(HttpServer(sys.argv[1]))
