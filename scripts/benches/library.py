# SPDX-License-Identifier: BSD-3-Clause
"""library - figures without peers: scripts/bench library [NAME...]

  decode   a chunk on one thread, against C-Blosc2 of the Python wheel
  open     a frame of 1,000,000 chunks: mount, first byte, memory, info
  random   what a 4 KiB read from a 1 MiB chunk reads and decodes
  memory   the daemon's memory while 8 readers read a 2 GB frame
  byte     which files one changed byte and fsync write, in a frame of 1 GiB
"""
import os
import pathlib
import re
import shutil
import signal
import statistics
import struct
import subprocess
import time
from types import SimpleNamespace

import blosc2
import numpy as np

from columns import Bloscfs
from data import (MIB, append, cparams, drop_caches, pieces, sensor, timed)
from disk import run
from report import choose
from work import read_all, together

LIBRARY = os.path.join(os.path.dirname(blosc2.__file__), "lib", "libblosc2.so")
CODECS = {c: blosc2.Codec[c.upper()] for c in ("blosclz", "lz4", "zstd")}
FILTERS = {f: blosc2.Filter[f.upper()] for f in ("shuffle", "bitshuffle")}


class Mount:
    """A mount of the directory or frame @src on "mnt" in @top."""

    def __init__(self, build, top, src, *options):
        self.column = Bloscfs(*options)
        self.context = self.column.open(
            SimpleNamespace(src=src, codec="zstd"), build, top)

    def __enter__(self):
        start = time.perf_counter()
        self.path = self.context.__enter__()
        self.seconds = time.perf_counter() - start
        self.pid = self.column.pid
        return self

    def __exit__(self, *exception):
        self.context.__exit__(*exception)

    def status(self, field):
        with open(f"/proc/{self.pid}/status") as f:
            return int(re.search(field + r":\s+(\d+)", f.read())[1]) * 1024


def sample(kind, typesize, nbytes):
    n = nbytes // typesize
    if kind == "range":
        return np.arange(n, dtype=f"i{typesize}")
    return sensor(n).astype(f"f{typesize}")


class Trace:
    """The system calls of a daemon, by strace."""

    def __init__(self, pid, calls, path):
        self.path = path
        self.strace = subprocess.Popen(
            ["strace", "-f", "-qq", "-y", "-e", f"trace={calls}", "-o", path,
             "-p", str(pid)], stderr=subprocess.DEVNULL)
        time.sleep(1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.strace.send_signal(signal.SIGINT)
        self.strace.wait()

    def found(self, pattern):
        return re.findall(pattern, pathlib.Path(self.path).read_text(), re.M)


def bench_decode(build, top):
    print("decode of a 1 MiB chunk on one thread (median of interleaved "
          "rounds)\ncodec    filter     type data     ratio   ours theirs "
          "GB/s  speed")
    worst = 9.0
    cases = [(c, f, t, k) for c in CODECS for f in FILTERS for t in (4, 8)
             for k in ("range", "sensor")]
    for codec, name, typesize, kind in cases:
        chunk = blosc2.compress2(
            sample(kind, typesize, MIB), codec=CODECS[codec], clevel=5,
            typesize=typesize, filters=[FILTERS[name]], nthreads=1)
        (top / "chunk").write_bytes(chunk)
        ours, theirs, speed = map(float, run(
            build / "decode_bench", LIBRARY, top / "chunk").split())
        worst = min(worst, speed)
        print(f"{codec:8} {name:10} {typesize}    {kind:7}"
              f" {MIB / len(chunk):6.2f} {ours:6.2f} {theirs:6.2f}"
              f"      {speed:6.2f} x")
    print(f"slowest: {worst:.2f} x C-Blosc2\n")


def million_chunks(path, nchunks=1000000, chunksize=4096):
    """A sparse frame of @nchunks chunks that share 64 chunk files.

    The index is stock's own: special chunks first, then their entries are
    replaced by chunk numbers and the index chunk compressed by python-blosc2.
    """
    os.makedirs(path)
    parts = [os.urandom(8) * (chunksize // 8) for _ in range(64)]
    for i, part in enumerate(parts):
        with open(os.path.join(path, f"{i:08X}.chunk"), "wb") as f:
            f.write(blosc2.compress2(part, typesize=8, clevel=5))
    index = np.arange(nchunks, dtype="<i8") % 64
    chunk = blosc2.compress2(index, typesize=8, codec=blosc2.Codec.BLOSCLZ,
                             filters=[blosc2.Filter.SHUFFLE], clevel=5)
    header = bytearray.fromhex(
        "9ea862326672616d6500d200000061cf0000000000000000a412015103"
        "d30000000000000000d30000000000000000d200000008d200000000d200000000"
        "d10001d10001c2d806000000000001010000000000000000"
        "0093cd0007de0000dc0000")
    trailer = bytes.fromhex(
        "940193cd0006de0000dc0000ce00000023d8"
        "0000000000000000000000000000000000")
    struct.pack_into(">Q", header, 16, len(header) + len(chunk) + len(trailer))
    struct.pack_into(">q", header, 30, nchunks * chunksize)
    struct.pack_into(">q", header, 39, nchunks * 64)
    struct.pack_into(">i", header, 58, chunksize)
    with open(os.path.join(path, "chunks.b2frame"), "wb") as f:
        f.write(header + chunk + trailer)
    return parts


def bench_open(build, top):
    path = top / "million.b2frame"
    parts = million_chunks(path)
    infos, firsts, mounts, memory = [], [], [], []
    for _ in range(5):
        drop_caches()
        infos.append(timed(run, build / "bloscctl", "info", path))
        drop_caches()
        with Mount(build, top, path) as mount:
            start = time.perf_counter()
            with open(mount.path / "million", "rb") as f:
                f.seek(777777 * 4096)
                got = f.read(1)
            firsts.append(time.perf_counter() - start)
            mounts.append(mount.seconds)
            memory.append(mount.status("VmHWM"))
            assert got == parts[777777 % 64][:1]
    print("frame of 1,000,000 chunks, cold, median of 5")
    print(f"  bloscctl info           {statistics.median(infos) * 1e3:7.1f} ms"
          "  (at most 200)")
    print(f"  mount                   {statistics.median(mounts) * 1e3:7.1f}"
          " ms")
    print(f"  open to first byte      {statistics.median(firsts) * 1e3:7.1f}"
          " ms  (at most 100)")
    print(f"  peak resident memory    {max(memory) / MIB:7.1f} MiB"
          " (below 64)\n")


def bench_random(build, top):
    data = sensor(8 * MIB)
    schunk = blosc2.SChunk(chunksize=MIB, data=data, contiguous=False,
                           urlpath=str(top / "random.b2frame"),
                           cparams={"typesize": 8, "blocksize": 64 << 10})
    stored = schunk.cbytes / schunk.nchunks
    raw = data.tobytes()
    with Mount(build, top, top / "random.b2frame") as mount:
        fd = os.open(mount.path / "random", os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
        os.pread(fd, 1, 0)
        with Trace(mount.pid, "pread64,preadv", top / "trace") as trace:
            for i in range(1, 33):
                off = i * 2 * MIB - 700000
                assert os.pread(fd, 4096, off) == raw[off:off + 4096]
        os.close(fd)
    sizes = [int(n) for n in trace.found(r"\) += (\d+)$")]
    print("random 4 KiB reads from 1 MiB chunks of 64 KiB blocks")
    print(f"  read from disk for each {sum(sizes) / 32 / 1024:7.1f} KiB in "
          f"{len(sizes) / 32:.1f} calls; a chunk has {stored / 1024:.1f} KiB\n")


def bench_memory(build, top):
    size, cache = 2048 * MIB, 128 * MIB
    append(top / "large.b2frame", pieces("medium"), size, cparams("lz4"))

    def reader(start):
        with open(mount.path / "large", "rb", buffering=0) as f:
            f.seek(start)
            while f.read(MIB):
                pass
        read_all(mount.path / "large")

    with Mount(build, top, top / "large.b2frame", "cachesize=128m") as mount:
        seconds = timed(together, reader, [i * size // 8 for i in range(8)])
        peak = mount.status("VmHWM")
    print("8 readers of a 2 GB frame, cachesize=128m")
    print(f"  peak resident memory    {peak / MIB:7.1f} MiB (below "
          f"{(cache + 64 * MIB) // MIB})")
    print(f"  time                    {seconds:7.1f} s\n")


WRITES = "write,pwrite64,writev,pwritev,pwritev2,copy_file_range,sendfile"


def bench_byte(build, top):
    size, src = 1024 * MIB, top / "src"
    src.mkdir()
    append(src / "large.b2frame", pieces("walk"), size, cparams("lz4"))
    os.sync()
    with Mount(build, top, src, "commit=600") as mount:
        fd = os.open(mount.path / "large", os.O_RDWR)
        with Trace(mount.pid, WRITES, top / "trace") as trace:
            os.pwrite(fd, b"x", size // 2 + 12345)
            os.fsync(fd)
        os.close(fd)
    # Files have no name while they are written.
    named = {f"#{f.inode()}": f.name for f in os.scandir(src / "large.b2frame")}
    files = {}
    for path, n in trace.found(r"\w+\(\d+<([^>]*)>.* = (\d+)$"):
        if "/src/" in path:
            name = os.path.basename(path).replace(" (deleted)", "")
            name = named.get(name, name)
            files[name] = files.get(name, 0) + int(n)
    print(f"one byte changed in a frame of {size // MIB} MiB, then fsync: "
          f"{len(files)} files written")
    for name, n in files.items():
        print(f"  {name:30} {n:8} bytes")
    print()


def distinct_chunks(path, nchunks=1000000, is_mixed=False):
    """A frame like that of million_chunks(), in which each chunk has an id of its own.

    Ids rise, or with @is_mixed have no order, as after a change of each chunk.  Only
    the files of the first 100 chunks exist; no others are read.
    """
    million_chunks(path, nchunks)
    ids = np.arange(nchunks, dtype="<i8")
    if is_mixed:
        ids = np.random.default_rng(6).permutation(ids)
    index = os.path.join(path, "chunks.b2frame")
    with open(index, "rb") as f:
        raw = f.read()
    start, end = 97, len(raw) - 35
    chunk = blosc2.compress2(ids, typesize=8, codec=blosc2.Codec.BLOSCLZ,
                             filters=[blosc2.Filter.SHUFFLE], clevel=5)
    raw = bytearray(raw[:start] + chunk + raw[end:])
    raw[16:24] = len(raw).to_bytes(8, "big")
    with open(index, "wb") as f:
        f.write(raw)
    part = os.path.join(path, "part")
    shutil.copy(os.path.join(path, "00000000.chunk"), part)
    for i in range(64):
        os.unlink(os.path.join(path, f"{i:08X}.chunk"))
    for i in ids[:100]:
        shutil.copy(part, os.path.join(path, f"{i:08X}.chunk"))
    os.unlink(part)


def cpu_ns(pid):
    """CPU time of all threads of @pid, ended ones included."""
    scheduler_clock = 2
    return time.clock_gettime_ns(~pid << 3 | scheduler_clock)


ROWS = {"decode": bench_decode, "open": bench_open, "random": bench_random,
        "memory": bench_memory, "byte": bench_byte}


def main(names, build, top):
    for bench in choose(ROWS, names, "figure"):
        place = pathlib.Path(top) / bench.__name__
        place.mkdir()
        bench(build, place)
        shutil.rmtree(place)
