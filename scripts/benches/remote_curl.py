# SPDX-License-Identifier: BSD-3-Clause
"""remote_curl - the rates of link and server for a program that only transfers

Limits are shares of these rates, and of the settings of the link: the time that the
server needs is not the reader's.
"""
import contextlib
import subprocess

from remote_columns import Column, Reader, need_program
from remote_scene import ACCESS, REGION, SECRET

COMMON = ["--silent", "--show-error", "--fail", "--user",
          f"{ACCESS}:{SECRET}", "--aws-sigv4", f"aws:amz:{REGION}:s3",
          "--header", "x-amz-content-sha256: UNSIGNED-PAYLOAD"]
PARALLEL = 16


def curl(*words):
    return subprocess.run(["curl", *map(str, words)], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE
                          ).stdout


class CurlReader(Reader):
    """Reads the plain object at @url, each read by a curl of its own."""

    def __init__(self, url):
        self.url = url

    def read(self, off, n):
        return b"".join(self.read_each([off], n))

    def read_each(self, offs, n):
        """Makes all reads on one connection."""
        words = []
        for off in offs:
            words += ["--next", *COMMON, "--range", f"{off}-{off + n - 1}",
                      self.url]
        found = curl(*words[1:])
        return [found[i:i + n] for i in range(0, len(found), n)]

    def read_all(self, check):
        return int(curl(*COMMON, "--output", "/dev/null", "--write-out",
                        "%{size_download}", self.url))


class Curl(Column):
    """Transfers one uncompressed object by one GET or PUT."""

    def __init__(self):
        super().__init__("curl, plain object")

    def missing(self, build):
        return need_program("curl")

    @contextlib.contextmanager
    def start(self, scene, keep=None):
        yield CurlReader(f"{scene.link.url}/bucket/{self.prefix}/data")

    def write(self, scene):
        with scene.measured() as got:
            curl(*COMMON, "--header", "Expect:", "--upload-file",
                 scene.top / "plain", f"{scene.link.url}/bucket/new/data")
        assert scene.length("new/data") == scene.size
        return got


class ObjectsReader(Reader):
    """Gets @urls, many at a time; the speed is that of @size bytes."""

    def __init__(self, urls, stored, size):
        self.urls, self.stored, self.size = urls, stored, size

    def read_all(self, check):
        words = [w for url in self.urls for w in ("--output", "/dev/null", url)]
        sizes = curl("--parallel", "--parallel-immediate", "--parallel-max",
                     PARALLEL, *COMMON, "--write-out", "%{size_download}\\n",
                     *words).split()
        assert sum(map(int, sizes)) == self.stored
        return self.size


class CurlObjects(Curl):
    """Gets the objects of a frame, and decodes nothing."""

    def __init__(self, prefix):
        super().__init__()
        self.name = f"curl, the objects of {prefix}"
        self.prefix = prefix

    @contextlib.contextmanager
    def start(self, scene, keep=None):
        frame = f"bucket/{self.prefix}/data.b2frame"
        yield ObjectsReader(
            [f"{scene.link.url}/{frame}/{name}"
             for name in scene.client.names(frame + "/")],
            scene.stored(f"{self.prefix}/data.b2frame"), scene.size)
