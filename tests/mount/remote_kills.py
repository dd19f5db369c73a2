# SPDX-License-Identifier: BSD-3-Clause
"""remote_kills - a writer that is killed at any of its requests

kill() kills a command at each of its requests in turn.  Each time the frame is as one
commit left it, as read by bloscctl and, after a download, by python-blosc2.
"""
import os
import pathlib
import random
import shutil
import subprocess

import blosc2

from killing_proxy import KillingProxy
from mounting import BUILD
from s3_server import ENV, Client, given_or_new

FRAME = "bucket/x.b2frame"
URL = f"s3://{FRAME}"
CHUNK = 32768


def bloscctl(*words):
    return subprocess.run([BUILD / "bloscctl", *words], check=True,
                          stdout=subprocess.PIPE).stdout


def contents(client):
    """The content; None: no frame."""
    if "chunks.b2frame" not in client.names(FRAME + "/"):
        return None
    ours = bloscctl("cat", URL)
    path = client.get_tree(FRAME, "downloaded")
    theirs = blosc2.open(str(path), mode="r")[:]
    shutil.rmtree(path)
    # bloscctl prints no bytes if there is no frame.
    assert ours == (theirs or b"")
    return ours


def remove(client):
    for name in sorted(client.names(FRAME + "/"), reverse=True):
        client.delete(f"{FRAME}/{name}")


def check_kill(proxy, client, command, after, nth, late):
    """Kills a command at its @nth request; returns whether it came that far."""
    before = contents(client)
    killed = proxy.run([BUILD / "bloscctl", *command], nth, late)
    now = contents(client)
    assert now in (before, after), (command, nth, late)
    assert killed or now == after, (command, nth, late)
    return killed


def prepare(client, rng, creates):
    """(command, the content after it)."""
    more = rng.randbytes(rng.randrange(1, 5 * CHUNK))
    pathlib.Path("more").write_bytes(more)
    if not creates:
        return ["append", "-q", URL, "more"], contents(client) + more
    remove(client)
    return ["compress", "-q", "more", f"--chunksize={CHUNK}", "-o", URL], more


def kill_each(proxy, client, rng, creates, late):
    """Kills a command at its first request, its second one, ..."""
    nth, killed = 0, True
    while killed:
        nth += 1
        command, after = prepare(client, rng, creates)
        killed = check_kill(proxy, client, command, after, nth, late)
    bloscctl("verify", "-q", URL)
    return nth - 1


def kill(seed):
    rng = random.Random(seed)
    with given_or_new() as server, KillingProxy(server.port) as proxy:
        os.environ.update(ENV, AWS_ENDPOINT_URL=proxy.url)
        client = Client(server.url)
        for creates in True, False:
            for late in False, True:
                n = kill_each(proxy, client, rng, creates, late)
                print(f"  {'compress' if creates else 'append'}: killed at "
                      f"each of {n} requests{', done' if late else ''}")
