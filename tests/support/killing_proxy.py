# SPDX-License-Identifier: BSD-3-Clause
"""killing_proxy - kills the program that sends requests, at one of them

    with KillingProxy(server.port) as proxy:
        killed = proxy.run(["bloscctl", ...], nth=3, late=False)

The server does not see the @nth request, or (@late) does it; later requests are
dropped.
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
        """Returns whether @command was killed; otherwise it has to succeed."""
        self.take()
        self.nth, self.late = nth, late
        # The lock holds its first request back until the process is noted.
        with self.lock:
            self.process = subprocess.Popen(command, **options)
        status = self.process.wait()
        self.nth = 0
        assert status <= 0, (command, status)
        return status < 0
