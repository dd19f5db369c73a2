# SPDX-License-Identifier: BSD-3-Clause
"""remote - frames on a server, for the tests of remote mounts"""
import contextlib
import os
import pathlib
import re
import shutil
import subprocess

import blosc2
import numpy as np

from http_server import HttpServer
from mounting import BUILD, Mount, data
from proxy import Proxy
from s3_server import ENV, Client, given_or_new

os.environ.setdefault("BLOSCCTL_RETRY", "2")

ARRAY = np.arange(300 * 200, dtype="f8").reshape(300, 200)
SIZE = 3 << 20
CHUNK = 1 << 16
# Changes of other clients are visible at once.
NOW = "attr_timeout=0,entry_timeout=0,refresh=0"


def save(data, path, contiguous=False, **options):
    """A frame with the bytes @data."""
    options = {"chunksize": 1 << 16, "cparams": {"typesize": 1}, **options}
    blosc2.SChunk(data=data, urlpath=str(path), contiguous=contiguous,
                  mode="w", **options)


def save_array(path, array=ARRAY, contiguous=True):
    blosc2.asarray(array, urlpath=str(path), contiguous=contiguous, mode="w")


def put_frame(client, key="d/x.b2frame", content=None):
    save(data(SIZE) if content is None else content, "local.b2frame",
         chunksize=CHUNK)
    client.put_tree("local.b2frame", f"bucket/{key}")
    shutil.rmtree("local.b2frame")


def keys(client):
    """The keys of the bucket; one page of the listing."""
    body = client.request("GET", "bucket", query="list-type=2", expect=200)[2]
    return re.findall("<Key>([^<]*)</Key>", body.decode())


def download(client, name, at="bucket/d"):
    """The contents of the frame, read by python-blosc2."""
    target = pathlib.Path(f"down.{name}")
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir()
    for key in client.names(f"{at}/{name}/"):
        code, _, body = client.request("GET", f"{at}/{name}/{key}")
        # A chunk that was never committed may be removed meanwhile.
        if code != 404:
            (target / key).write_bytes(body)
    return blosc2.open(str(target))[:]


def let_a_minute_pass(client, name):
    """Sets the times in the index's note back."""
    key = f"bucket/d/{name}/chunks.b2frame"
    _, headers, body = client.request("GET", key, expect=200)
    note = re.sub("@([0-9A-F]+)", lambda m: f"@{int(m[1], 16) - 64:X}",
                  headers["x-amz-meta-b2frame"])
    client.request("PUT", key, body, expect=200, x_amz_meta_b2frame=note)


@contextlib.contextmanager
def s3():
    """(the proxy before a server with an empty bucket, a client of it)"""
    with given_or_new() as server, Proxy(server.port) as way:
        os.environ.update(ENV, AWS_ENDPOINT_URL=way.url)
        yield way, Client(server.url)


@contextlib.contextmanager
def web(root):
    with HttpServer(root) as server, Proxy(server.port) as way:
        yield way, server


class RemoteMount(Mount):
    """A server whose connections stay open."""

    def __init__(self, url, *options, at="mnt"):
        # Servers that fail on purpose never recover, so do not retry for long.
        super().__init__(url, at, "-o", "retry=2", *options)

    def open_fds(self):
        def is_socket(fd):
            with contextlib.suppress(OSError):
                return os.readlink(f"/proc/{self.pid}/fd/{fd}").startswith(
                    "socket:")

        return [fd for fd in super().open_fds() if not is_socket(fd)]


def refused(*args, env=None):
    """The only line of output of a failing mount, and its status."""
    run = subprocess.run([BUILD / "bloscfs", "-f", "-o", "retry=2", *args, "mnt"],
                         capture_output=True, text=True, check=False,
                         env=env, timeout=120)
    assert run.stderr.count("\n") == 1, run.stderr
    return run.stderr.strip(), run.returncode


def count(way, what="GET"):
    """(@what requests, all requests, their bytes) since the last call."""
    taken = way.take()
    return (sum(r.method == what for r in taken), len(taken),
            sum(r.received for r in taken))


def read(path):
    return pathlib.Path(path).read_bytes()
