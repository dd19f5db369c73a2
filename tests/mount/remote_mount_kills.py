# SPDX-License-Identifier: BSD-3-Clause
"""remote_mount_kills - a mount that is killed at any of its requests

kill() kills a mount at each of its requests in turn, while a program changes a file,
makes one, and removes it.  Each time the files are as one commit left them, and all
acknowledged steps are done.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import threading

import blosc2

from killing_proxy import KillingProxy
from mounting import BUILD, mountpoints, unmount, wait_until
from s3_server import ENV, Client, given_or_new

CHUNK, CHUNKS = 32768, 6
URL = "s3://bucket/d"
# Gets the number of the round, and prints each step done.
PROGRAM = f"""
import os, sys
nth = b"%08d" % int(sys.argv[1])
new = f"mnt/new{{sys.argv[1]}}"
fd = os.open("mnt/x", os.O_RDWR)
for i in range({CHUNKS}):
    os.pwrite(fd, nth, i * {CHUNK})
os.fsync(fd)
os.close(fd)
print("changed", flush=True)
fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
os.write(fd, nth * {CHUNK // 4})
os.fsync(fd)
os.close(fd)
print("made", flush=True)
os.unlink(new)
print("removed", flush=True)
"""


def content_of(nth):
    """The content by round @nth: two chunks."""
    return b"%08d" % nth * (CHUNK // 4)


def shown(client, name):
    """The data that bloscctl and python-blosc2 read; None: no frame."""
    frame = f"bucket/d/{name}.b2frame"
    if "chunks.b2frame" not in client.names(frame + "/"):
        return None
    run = subprocess.run([BUILD / "bloscctl", "cat", f"s3://{frame}"],
                         check=True, stdout=subprocess.PIPE)
    path = client.get_tree(frame, "downloaded")
    theirs = blosc2.open(str(path), mode="r")[:]
    shutil.rmtree(path)
    assert run.stdout == (theirs or b"")
    return run.stdout


def generation(client):
    found = shown(client, "x")
    heads = {found[i * CHUNK:i * CHUNK + 8] for i in range(CHUNKS)}
    assert len(heads) == 1 and len(found) == CHUNK * CHUNKS, heads
    return int(heads.pop())


class Writer(threading.Thread):
    """Runs the program in a mount, and unmounts it afterwards."""

    def __init__(self, nth):
        super().__init__()
        self.nth = nth
        self.done = []
        self.over = False

    def is_mounted(self):
        return str(pathlib.Path("mnt").absolute()) in mountpoints(os.getcwd())

    def run(self):
        wait_until(lambda: self.over or self.is_mounted(), "a mount")
        if self.over:
            return
        self.done = subprocess.run(
            [sys.executable, "-c", PROGRAM, str(self.nth)], check=False,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True).stdout.split()
        if self.is_mounted():
            unmount("mnt", must=False)


def check_kill(proxy, client, nth, late, number):
    """Whether it was killed."""
    before = generation(client)
    writer = Writer(number)
    writer.start()
    try:
        killed = proxy.run([BUILD / "bloscfs", "-f", "-q", "-o", "rw", URL,
                            "mnt"], nth, late, stderr=subprocess.DEVNULL)
    finally:
        writer.over = True
        if writer.is_mounted():
            subprocess.run(["umount", "-l", "mnt"], check=False)
        writer.join()
    where, done = (nth, late, writer.done), writer.done
    assert generation(client) in (number, *([] if "changed" in done else
                                            [before])), where
    new = shown(client, f"new{number}")
    assert new in (None, b"", content_of(number)), where
    assert "removed" not in done or new is None, where
    assert killed or done == ["changed", "made", "removed"], where
    return killed


def kill(seed):
    with given_or_new() as server, KillingProxy(server.port) as proxy:
        os.environ.update(ENV, AWS_ENDPOINT_URL=proxy.url)
        client = Client(server.url)
        os.mkdir("mnt")
        pathlib.Path("x").write_bytes(content_of(0) * (CHUNKS // 2))
        subprocess.run([BUILD / "bloscctl", "compress", "-q", "x",
                        f"--chunksize={CHUNK}", "-o", f"{URL}/x.b2frame"],
                       check=True)
        number = seed
        for late in False, True:
            nth, killed = 0, True
            while killed:
                nth, number = nth + 1, number + 1
                killed = check_kill(proxy, client, nth, late, number)
            print(f"  killed at each of {nth - 1} requests"
                  f"{', done' if late else ''}")
        subprocess.run([BUILD / "bloscctl", "verify", "-q", f"{URL}/x.b2frame"],
                       check=True)
