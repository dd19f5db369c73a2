# SPDX-License-Identifier: BSD-3-Clause
"""remote_scene - the same data in many forms in one bucket, behind a slow link

    with Scene(build, top, size) as scene:
        scene.link.url # of the server, by the link scene.client # to it, without the
        link with scene.measured() as got: ... got["seconds"], got["requests"],
        got["received"], got["sent"] got["busy"] # busy cores of this machine, by any
        program
"""
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import time

import blosc2
import numpy as np

from data import MIB, append, cparams, pieces, warm, write
from library import distinct_chunks
from report import ROOT

sys.path.insert(0, str(ROOT / "tests/support"))
from s3_server import ACCESS, ENV, REGION, SECRET, Client, S3Server, find  # noqa: E402,F401

# A round trip in ms, and the link's rate in MB/s in each direction.
DELAY, RATE = 20, 100
ITEMS = MIB // 8


def busy_seconds():
    """CPU time of all cores, since the machine started."""
    with open("/proc/stat") as f:
        user, nice, system, _, _, *others = map(int, f.readline().split()[1:9])
    return (user + nice + system + sum(others)) / os.sysconf("SC_CLK_TCK")


class Link:
    """tests/tools/slow_link.c, before the server at @port."""

    def __init__(self, build, port):
        self.process = subprocess.Popen(
            [build / "slow_link", str(port), str(DELAY), str(RATE)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline().split()[1])
        self.url = f"http://127.0.0.1:{self.port}"

    def count(self):
        """(requests, bytes to the server, bytes from it) since the last call."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return [int(n) for n in self.process.stdout.readline().split()]

    def close(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Scene:
    """With @is_long only the forms for frames and curl."""

    def __init__(self, build, top, size, is_long=False):
        self.build, self.top, self.size = build, top, size
        self.is_long = is_long
        self.parts = pieces("walk")
        # The ratio of stored to shown bytes, by the name of the prefix.
        self.ratios = {}

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            # Otherwise each request is a new connection.
            self.server = stack.enter_context(S3Server("--keep-alive"))
            self.link = Link(self.build, self.server.port)
            stack.callback(self.link.close)
            self.client = Client(self.server.url)
            self.fill()
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def env(self):
        """Environment of a program whose requests go over the link."""
        return dict(os.environ, **ENV, AWS_ENDPOINT_URL=self.link.url)

    def plain(self):
        """All bytes of the data."""
        n = self.size // MIB
        return b"".join(self.parts[i % len(self.parts)] for i in range(n))

    def put(self, path, prefix):
        """Makes the local @path the prefix, or object, @prefix of the bucket."""
        self.client.put_tree(path, f"bucket/{prefix}")
        self.note_ratio(path, prefix.split("/")[0])

    def note_ratio(self, path, name):
        files = [path] if path.is_file() else path.rglob("*")
        stored = sum(f.stat().st_size for f in files if f.is_file())
        self.ratios[name] = self.size / stored

    def fill(self):
        place = self.top / "made"
        place.mkdir(parents=True)
        for codec in "lz4", "zstd":
            append(place / codec, self.parts, self.size, cparams(codec))
            # Copied by bloscctl: chunks of an index by another program go to cache
            # directories only when it is an hour old.
            subprocess.run(
                [self.build / "bloscctl", "copy", "-q", place / codec,
                 f"s3://bucket/{codec}/data.b2frame"], check=True,
                env=dict(self.env(), AWS_ENDPOINT_URL=self.server.url))
            self.note_ratio(place / codec, codec)
        write(self.top / "plain", self.parts, self.size)
        self.put(self.top / "plain", "plain/data")
        self.array = np.frombuffer(self.plain(), "f8")
        blosc2.asarray(self.array, chunks=(ITEMS,), cparams=cparams("lz4"),
                       urlpath=str(place / "single"), contiguous=True)
        self.put(place / "single", "single/data.b2nd")
        if not self.is_long:
            self.fill_others(place)
        shutil.rmtree(place)

    def fill_others(self, place):
        distinct_chunks(str(place / "million"), is_mixed=True)
        self.client.put_tree(place / "million", "bucket/million/data.b2frame")
        with contextlib.suppress(ImportError):
            self.fill_zarr(place / "zarr")

    def fill_zarr(self, path):
        import zarr
        make_zarr(zarr.storage.LocalStore(path), self.array.size)[:] = \
            self.array
        self.put(path, "zarr")

    def clean(self):
        """Removes the objects that a sample wrote, and makes room for the next."""
        shutil.rmtree(self.objects("new"), ignore_errors=True)
        self.client.put("bucket/new/", b"")
        # Some mounts show no empty directories.
        self.client.put("bucket/new/other", b"x")

    def length(self, key):
        """The size of the object, by the server; None: there is none."""
        status, headers, _ = self.client.request("HEAD", f"bucket/{key}")
        return int(headers["Content-Length"]) if status == 200 else None

    def objects(self, prefix):
        """The directory in which the server keeps the objects."""
        return pathlib.Path(self.server.data) / "bucket" / prefix

    def stored(self, prefix):
        """Bytes of all objects below @prefix."""
        return sum(f.stat().st_size for f in self.objects(prefix).rglob("*")
                   if f.is_file())

    def warm(self, prefix):
        """Keeps the server's files, and the data to send, in memory, not on disks."""
        warm(self.objects(prefix))
        warm(self.top / "plain")

    def check_frame(self, key):
        """Checks that the frame at @key has all data."""
        with subprocess.Popen(
                [self.build / "bloscctl", "cat", f"s3://bucket/{key}"],
                env=dict(self.env(), AWS_ENDPOINT_URL=self.server.url),
                stdout=subprocess.PIPE) as cat:
            subprocess.run(["cmp", "-", self.top / "plain"], check=True,
                           stdin=cat.stdout, stdout=subprocess.DEVNULL)

    def part(self, off, n=4096):
        """The expected bytes at @off, within a piece."""
        piece = self.parts[off // MIB % len(self.parts)]
        return piece[off % MIB:off % MIB + n]

    @contextlib.contextmanager
    def measured(self):
        """Yields a dictionary with the costs of the block, which is complete at its
        end."""
        got = {}
        self.link.count()
        start, busy = time.perf_counter(), busy_seconds()
        yield got
        got["seconds"] = time.perf_counter() - start
        got["busy"] = (busy_seconds() - busy) / got["seconds"]
        got["requests"], got["sent"], got["received"] = self.link.count()


def make_zarr(store, nitems):
    """An array of chunks like those of our frames."""
    import zarr
    from zarr.codecs import BloscCodec
    return zarr.create_array(
        store, shape=(nitems,), chunks=(ITEMS,), dtype="f8",
        compressors=BloscCodec(cname="lz4", clevel=5, shuffle="shuffle",
                               typesize=8))

