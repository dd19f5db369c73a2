# SPDX-License-Identifier: BSD-3-Clause
"""killing_proxy - kills the program that asks, at one of its requests

    with KillingProxy(server.port) as proxy:
        killed = proxy.run(["bloscctl", ...], nth=3, late=False)

The @nth request is not seen by the server, or (@late) is done by it; those behind
it come to nothing.
"""
import subprocess

from proxy import Proxy, drop, lose


class KillingHandler(Proxy.handler):
    def hang_up(self):
        # The server has answered, and the program has not heard of it.
        if self.owner.nth and self.owner.late:
            self.owner.process.kill()
        super().hang_up()


class KillingProxy(Proxy):
    handler = KillingHandler

    def __init__(self, port):
        super().__init__(port)
        self.process = None
        self.nth = 0
        self.late = False
        self.fault = self.choose

    def choose(self, request):
        if not self.nth or request.nth < self.nth:
            return None
        if request.nth > self.nth:
            return drop
        if self.late:
            return lose
        self.process.kill()
        return drop

    def run(self, command, nth, late, **options):
        """Whether @command was killed; else it has to succeed."""
        self.take()
        self.nth, self.late = nth, late
        # Its first request waits until it is known.
        with self.lock:
            self.process = subprocess.Popen(command, **options)
        status = self.process.wait()
        self.nth = 0
        assert status <= 0, (command, status)
        return status < 0
