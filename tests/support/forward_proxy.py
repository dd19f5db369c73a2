# SPDX-License-Identifier: BSD-3-Clause
"""forward_proxy - a proxy for any server, as http_proxy and https_proxy name it

    with ForwardProxy() as proxy:
        os.environ["https_proxy"] = proxy.url
        ...
        proxy.asked             # ["CONNECT 127.0.0.1:4321", "GET http://..."]

    ForwardProxy("user:password")       asks for them
"""
import base64
import contextlib
import http.client
import socket
import threading
from urllib.parse import urlsplit

from http_server import PIECE, Handler, Server


def pump(source, sink):
    """Passes bytes on, until the source ends."""
    with contextlib.suppress(OSError):
        while piece := source.recv(PIECE):
            sink.sendall(piece)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


class ForwardHandler(Handler):
    def is_welcome(self):
        self.owner.asked.append(f"{self.command} {self.path}")
        login = self.owner.login
        wanted = login and "Basic " + base64.b64encode(login.encode()).decode()
        return wanted in (None, self.headers["Proxy-Authorization"])

    def do_CONNECT(self):
        self.close_connection = True
        if not self.is_welcome():
            return self.answer(407, {"Proxy-Authenticate": "Basic"})
        host, _, port = self.path.rpartition(":")
        try:
            server = socket.create_connection((host, int(port)), timeout=60)
        except OSError:
            return self.answer(502)
        with server:
            self.send_response_only(200)
            self.end_headers()
            back = threading.Thread(target=pump, args=(server, self.connection))
            back.start()
            pump(self.connection, server)
            back.join()
        return None

    def do_GET(self):
        if not self.is_welcome():
            return self.answer(407, {"Proxy-Authenticate": "Basic"})
        url = urlsplit(self.path)
        server = http.client.HTTPConnection(url.netloc, timeout=60)
        headers = {k: v for k, v in self.headers.items()
                   if not k.lower().startswith("proxy-")}
        with contextlib.closing(server):
            server.request(self.command, url.path, headers=headers)
            answer = server.getresponse()
            self.send_response_only(answer.status)
            for name, value in answer.getheaders():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.read())
        return None

    do_HEAD = do_GET


class ForwardProxy(Server):
    handler = ForwardHandler

    def __init__(self, login=None):
        self.login = login
        self.asked = []

    def take(self):
        taken, self.asked = self.asked, []
        return taken
