# SPDX-License-Identifier: BSD-3-Clause
"""ctl.py - shared by the Python tests of bloscctl

python-blosc2 reads the frames that bloscctl writes.
"""
import collections
import contextlib
import errno
import os
import pathlib
import shutil
import subprocess
import sys
import time

import blosc2
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from bloscctl import cat, ctl, info, workdir  # noqa: E402,F401
from build import BLOSCCTL, BUILD, SOURCE  # noqa: E402,F401
from namespace import in_namespace  # noqa: E402,F401
from stock import stored_bytes as stock_bytes  # noqa: E402,F401


# Keeps arrays alive, whose chunks would die with them.
ALIVE = collections.deque(maxlen=4)


def open_stock(path):
    opened = blosc2.open(str(path), mode="r")
    ALIVE.append(opened)
    return getattr(opened, "schunk", opened)


def make(path, data, contiguous=False, **options):
    """A frame by C-Blosc2; @options are of its storage and of its encoder."""
    storage = {k: options.pop(k) for k in ("meta", "chunksize")
               if k in options}
    return blosc2.SChunk(data=data, urlpath=path, contiguous=contiguous,
                         cparams=options, **storage)


def make_zlib(path, n=4, chunksize=20000, **options):
    """Noise in zlib, whose checksum notices flipped bits; returns the data."""
    data = bytes(b & 0x3f for b in noise(n * chunksize))
    make(path, data, typesize=1, chunksize=chunksize, codec=blosc2.Codec.ZLIB,
         filters=[blosc2.Filter.NOFILTER], **options)
    return data


def make_varied(path, contiguous=False, chunk=20000):
    """Chunks of different sizes; returns the data."""
    schunk = make(path, items(3 * chunk + 800, 4), contiguous, typesize=4,
                  chunksize=chunk)
    schunk.append_data(items(chunk, 4, seed=1))
    schunk.insert_data(2, items(1600, 4, seed=2), True)
    schunk.update_data(0, items(2400, 4, seed=3), True)
    del schunk
    assert info(path)["chunksize"] == 0
    return stock_bytes(path)


def flip(path, at):
    raw = bytearray(get(path))
    raw[at] ^= 4
    put(path, raw)


def check_frame(path, data, **said):
    """Checks that @path holds @data for stock and for us, is sound, and has the facts
    @said."""
    assert stock_bytes(path) == data, path
    assert cat(path) == data, path
    out, err = ctl("verify", path)
    assert b": ok, " in out and not err, (out, err)
    facts = info(path)
    # Chunks of an array are padded.
    assert facts["nbytes"] == len(data) or "array" in facts, facts
    for key, value in said.items():
        assert facts[key] == value, (path, key, value, facts[key])
    return facts


def golden_frames():
    """Golden frames by C-Blosc2, except for frames inside a file."""
    for kind in ("cframes", "sframes", "b2nd"):
        top = SOURCE / "tests/data/golden" / kind
        yield from (path for path in sorted(top.iterdir())
                    if path.name != "at-offset.bin")


def check_alike(some, others):
    """Checks that frames at the same positions hold the same data, with few
    processes."""
    if cat(*some) != cat(*others):
        for one, other in zip(some, others, strict=True):
            assert cat(one) == cat(other), (one, other)


def no_litter(folder="."):
    left = [p for p in pathlib.Path(folder).rglob(".*")
            if p.name.startswith(".bloscctl-") or p.name == ".chunks.b2frame.new"]
    assert not left, left


def put(path, data):
    with open(path, "wb") as f:
        f.write(data)
    return data


def get(path):
    with open(path, "rb") as f:
        return f.read()


def remove(*paths):
    for path in paths:
        if os.path.isdir(path) and not os.path.islink(path):
            shutil.rmtree(path)
        elif os.path.lexists(path):
            os.remove(path)


def noise(nbytes, seed=7):
    return np.random.default_rng(seed).integers(
        0, 256, nbytes, dtype="u1").tobytes()


def items(nbytes, typesize, seed=0):
    """Slowly growing items of @typesize bytes, with some noise."""
    rng = np.random.default_rng(seed)
    n = nbytes // typesize + 1
    table = np.zeros((n, typesize), "u1")
    steps = np.cumsum(rng.integers(0, 3, n))
    for i in range(min(typesize, 4)):
        table[:, i] = steps >> (8 * i)
    table[rng.integers(0, n, n // 50), rng.integers(0, typesize)] = 77
    return table.tobytes()[:nbytes]


def run_all(namespace):
    """Runs every test_*(), or those that argv names, in a fresh directory."""
    wanted = sys.argv[1:]
    for name, test in list(namespace.items()):
        if not name.startswith("test_") or (wanted and name not in wanted):
            continue
        start = time.monotonic()
        with workdir():
            test()
            no_litter()
        print(f"{name}: {time.monotonic() - start:.1f} s", flush=True)
    return 0


@contextlib.contextmanager
def small_disk(size, files=0):
    """Makes a directory with room for @size bytes, in that many files or any number of
    them; needs its own namespace."""
    os.mkdir("disk")
    subprocess.run(["mount", "-t", "tmpfs", "-o",
                    f"size={size},nr_inodes={files}", "tmpfs",
                    "disk"], check=True)
    try:
        yield "disk"
    finally:
        subprocess.run(["umount", "disk"], check=True)
        os.rmdir("disk")


@contextlib.contextmanager
def mounted():
    """src is mounted at mnt; the messages are in the file log."""
    os.mkdir("mnt")
    with open("log", "w") as log:
        daemon = subprocess.Popen([BUILD / "bloscfs", "-f", "src", "mnt"],
                                  stderr=log)
    try:
        while not os.path.ismount("mnt"):
            assert daemon.poll() is None
        yield
    finally:
        daemon.terminate()
        assert daemon.wait(30) == 0


def check_not_opened(path, *flags):
    """Checks that the file of a mount cannot be opened, as its form is not
    supported."""
    for flag in flags:
        try:
            os.close(os.open(path, flag))
        except OSError as e:
            assert e.errno == errno.EOPNOTSUPP, e
        else:
            raise AssertionError(f"{path} was opened")
