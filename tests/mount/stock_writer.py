# SPDX-License-Identifier: BSD-3-Clause
"""stock_writer - python-blosc2 changes a frame, and may be stopped meanwhile

Each page of the frame has the number and version of its chunk and its own number, and
the rest of the page follows from these: a page that is read is one of its versions, or
wrong.
"""
import contextlib
import functools
import os
import pathlib
import signal
import subprocess
import sys

import blosc2
import numpy as np

from mounting import wait_until

NCHUNKS = 8
CHUNK = 1 << 16
PAGE = 4096
ROWS = 8
NOISE = np.random.default_rng(1).integers(0, 1 << 32, (CHUNK // PAGE, PAGE // 4),
                                          dtype="<u4")
# The four forms of a frame: (contiguous, array).
FORMS = {"sparse": (False, False), "contiguous": (True, False),
         "sparse b2nd": (False, True), "contiguous b2nd": (True, True)}

# argv: path, how many rounds of updates, seconds between them; 0 rounds: for ever.
WRITER = """
import sys, time
sys.path.insert(0, {here!r})
import blosc2
from stock_writer import chunk_bytes, NCHUNKS
opened = blosc2.open(sys.argv[1], mode="a")
schunk = getattr(opened, "schunk", opened)
print("open", flush=True)
n = 0
while not n or n != int(sys.argv[2]):
    n += 1
    for i in range(0, NCHUNKS, 3):
        schunk.update_data(i, chunk_bytes(i, n), copy=True)
        time.sleep(float(sys.argv[3]))
print("done", flush=True)
"""


@functools.lru_cache(64)
def chunk_pages(i, version):
    """The bytes of chunk @i: odd versions are mostly zeros, so that chunks behind it
    move."""
    pages = np.zeros((CHUNK // PAGE, PAGE // 4), "<u4")
    if version % 2 == 0:
        pages[:] = NOISE ^ np.uint32((i * 7919 + version) * 40503 & 0xffffffff)
    pages[:, 0] = i
    pages[:, 1] = version
    pages[:, 2] = np.arange(CHUNK // PAGE)
    return pages


def chunk_bytes(i, version):
    return chunk_pages(i, version).tobytes()


def check_chunk(i, data, what):
    """Checks that @data are pages of versions of chunk @i, from the first page on."""
    pages = np.frombuffer(data, "<u4", len(data) // PAGE * PAGE // 4)
    pages = pages.reshape(-1, PAGE // 4)
    assert (pages[:, 0] == i).all(), f"{what}: chunk {i} has {pages[:, 0]}"
    for n, version in enumerate(pages[:, 1]):
        assert (pages[n] == chunk_pages(i, int(version))[n]).all(), \
            f"{what}: chunk {i}, page {n} is torn"


def check_all(data, what):
    assert len(data) == NCHUNKS * CHUNK, f"{what}: {len(data)} bytes"
    for i in range(NCHUNKS):
        check_chunk(i, data[i * CHUNK:(i + 1) * CHUNK], what)


@contextlib.contextmanager
def locking(on):
    """Sets BLOSC_LOCKING, which C-Blosc2 reads at each open."""
    before = os.environ.get("BLOSC_LOCKING")
    os.environ["BLOSC_LOCKING"] = "1" if on else "0"
    try:
        yield
    finally:
        os.environ.pop("BLOSC_LOCKING")
        if before is not None:
            os.environ["BLOSC_LOCKING"] = before


def make(path, form, locks=True):
    """A frame of version 0, by C-Blosc2."""
    contiguous, array = FORMS[form]
    data = b"".join(chunk_bytes(i, 0) for i in range(NCHUNKS))
    with locking(locks):
        if array:
            items = np.frombuffer(data, "<u8").reshape(NCHUNKS * ROWS, -1)
            blosc2.asarray(items, urlpath=str(path), contiguous=contiguous,
                           chunks=(ROWS, items.shape[1]),
                           blocks=(2, items.shape[1]), mode="w")
        else:
            blosc2.SChunk(chunksize=CHUNK, data=data, urlpath=str(path),
                          contiguous=contiguous, mode="w",
                          cparams={"typesize": 8, "nthreads": 1})
    blosc2.open(str(path), mode="r")


class Writer:
    """Runs WRITER on @path; stops it after @stop_at calls of pwrite64."""

    def __init__(self, path, count=1, pause=0.0, locks=True, stop_at=0):
        here = str(pathlib.Path(__file__).parent)
        args = [sys.executable, "-c", WRITER.format(here=here), str(path),
                str(count), str(pause)]
        if stop_at:
            args = ["strace", "-f", "-qq", "-o", "trace", "-e",
                    "trace=pwrite64", "-e",
                    f"inject=pwrite64:signal=SIGSTOP:when={stop_at}", *args]
        env = {**os.environ, "BLOSC_LOCKING": "1" if locks else "0",
               "BLOSC_NTHREADS": "1", "ASAN_OPTIONS": "detect_leaks=0"}
        self.process = subprocess.Popen(args, env=env, text=True,
                                        stdout=subprocess.PIPE)
        assert self.process.stdout.readline() == "open\n"
        self.pid = self.process.pid
        if stop_at:
            children = f"/proc/{self.pid}/task/{self.pid}/children"
            self.pid = int(pathlib.Path(children).read_text().split()[0])
            wait_until(self.is_stopped, "the writer is stopped")

    def is_stopped(self):
        """Is it stopped by the signal, not by the tracer at a call?"""
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return "SIGSTOP" in pathlib.Path("trace").read_text() and \
            "\nState:\tt" in status or "\nState:\tT" in status

    def finish(self):
        os.kill(self.pid, signal.SIGCONT)
        assert self.process.stdout.readline() == "done\n"
        assert self.process.wait() == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
            self.process.wait()
        self.process.stdout.close()
