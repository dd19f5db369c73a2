# SPDX-License-Identifier: BSD-3-Clause
"""ceph_server - Ceph's gateway, with a monitor and an OSD on a sparse file

    with CephServer() as server:
        server.url          # with the keys of s3_server.py
"""
import json
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time
import uuid

from s3_server import ACCESS, PATIENCE, SECRET, free_port

PROGRAMS = ("ceph", "ceph-authtool", "ceph-mon", "ceph-osd", "monmaptool",
            "radosgw", "radosgw-admin")
# A cluster of one trusted machine; small, and without copies.
CONF = """[global]
fsid = {fsid}
mon host = v1:127.0.0.1:{mon_port}
mon initial members = a
auth cluster required = none
auth service required = none
auth client required = none
auth allow insecure global id reclaim = true
mon allow pool size one = true
osd pool default size = 1
osd pool default min size = 1
osd pool default pg num = 8
osd pool default pg autoscale mode = off
osd crush chooseleaf type = 0
mon data = {top}/mon
osd data = {top}/osd
rgw data = {top}/rgw
run dir = {top}
admin socket = {top}/$name.asok
log file = {top}/$name.log
keyring = {top}/keyring
osd objectstore = bluestore
osd class update on start = false
osd crush update on start = false
bluestore block size = 4294967296
osd memory target = 1073741824
mon max pg per osd = 1000
mon data avail warn = 1
mon data avail crit = 1
ms bind ipv6 = false
public addr = 127.0.0.1
cluster addr = 127.0.0.1
[client.rgw]
rgw frontends = beast endpoint=127.0.0.1:{port}
"""


def missing():
    """Why Ceph cannot run here; None: it can."""
    absent = [name for name in PROGRAMS if not shutil.which(name)]
    return f"{' '.join(absent)}: not installed: apt-get install " \
        "--no-install-recommends ceph-mon ceph-osd radosgw ceph-common" \
        if absent else None


class CephServer:
    def __enter__(self):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="bloscfs-ceph."))
        self.daemons = []
        self.port, self.fsid = free_port(), str(uuid.uuid4())
        self.url = f"http://127.0.0.1:{self.port}"
        try:
            self.configure()
            self.start_monitor()
            self.start_osd()
            self.start_gateway()
        except BaseException:
            self.__exit__()
            raise
        return self

    def configure(self):
        for name in "mon", "osd", "rgw":
            (self.top / name).mkdir()
        self.mon_port = free_port()
        (self.top / "ceph.conf").write_text(CONF.format(**vars(self)))
        self.run("ceph-authtool", "--create-keyring", "keyring", "--gen-key",
                 "-n", "mon.", "--cap", "mon", "allow *")
        self.run("ceph-authtool", "keyring", "--gen-key", "-n", "client.admin",
                 "--cap", "mon", "allow *", "--cap", "osd", "allow *")

    def run(self, program, *words):
        """Runs a program; returns its standard output.  Messages go to the file
        "said"."""
        with open(self.top / "said", "ab") as said:
            return subprocess.run([program, *words], check=True, cwd=self.top,
                                  stdout=subprocess.PIPE, stderr=said,
                                  text=True, timeout=PATIENCE).stdout

    def ask(self, program, *words):
        """Asks again and again: a monitor that has just started refuses clients for a
        while."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                return self.run(program, "-c", "ceph.conf", *words)
            except subprocess.CalledProcessError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.5)

    def start(self, *words):
        with open(self.top / "said", "ab") as said:
            self.daemons.append(subprocess.Popen(
                [words[0], "-f", "-c", "ceph.conf", *words[1:]], cwd=self.top,
                stdin=subprocess.DEVNULL, stdout=said, stderr=said))

    def start_monitor(self):
        self.run("monmaptool", "--create", "--addv", "a",
                 f"[v1:127.0.0.1:{self.mon_port}]", "--fsid", self.fsid,
                 "monmap")
        self.ask("ceph-mon", "--mkfs", "-i", "a", "--monmap", "monmap",
                 "--keyring", "keyring")
        self.start("ceph-mon", "-i", "a")

    def start_osd(self):
        self.ask("ceph", "osd", "new", str(uuid.uuid4()))
        # "osd new" does not take the given UUID.
        osds = json.loads(self.ask("ceph", "osd", "dump", "-f", "json"))["osds"]
        osd = osds[0]["uuid"]
        self.ask("ceph-osd", "-i", "0", "--mkfs", "--osd-uuid", osd)
        self.start("ceph-osd", "-i", "0")
        self.ask("ceph", "osd", "crush", "add", "osd.0", "1.0", "root=default",
                 "host=localhost")

    def start_gateway(self):
        self.start("radosgw", "-n", "client.rgw")
        self.wait_for_gateway()
        self.ask("radosgw-admin", "user", "create", "--uid=test",
                 "--display-name=test", f"--access-key={ACCESS}",
                 f"--secret-key={SECRET}")

    def wait_for_gateway(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.daemons[-1].poll() is None:
            try:
                return socket.create_connection(("127.0.0.1", self.port),
                                                1).close()
            except OSError:
                time.sleep(0.1)
        raise AssertionError(f"radosgw does not start: {self.said()}")

    def said(self):
        return (self.top / "said").read_text(errors="replace")[-2000:]

    def __exit__(self, *_):
        for daemon in self.daemons[::-1]:
            daemon.terminate()
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.top, ignore_errors=True)
