# SPDX-License-Identifier: BSD-3-Clause
"""The measurements of scripts/bench."""
import os
import re
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import threading
import time

import blosc2
import numpy as np

BUILD = sys.argv[1]
LIBRARY = os.path.join(os.path.dirname(blosc2.__file__), "lib", "libblosc2.so")
MIB = 1 << 20


def run(*args, **kwargs):
    return subprocess.run([str(a) for a in args], check=True,
                          capture_output=True, text=True, **kwargs).stdout


class Mount:
    """A bloscfs in the foreground, ended by its pid."""

    def __init__(self, source, mountpoint, *options):
        self.mountpoint = mountpoint
        os.makedirs(mountpoint, exist_ok=True)
        start = time.perf_counter()
        self.daemon = subprocess.Popen(
            [os.path.join(BUILD, "bloscfs"), "-f", *options, source,
             mountpoint])
        while not os.path.ismount(mountpoint):
            if self.daemon.poll() is not None:
                sys.exit("bloscfs ended")
            time.sleep(0.0005)
        self.seconds = time.perf_counter() - start

    def status(self, field):
        with open(f"/proc/{self.daemon.pid}/status") as f:
            return int(re.search(field + r":\s+(\d+)", f.read())[1]) * 1024

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.daemon.send_signal(signal.SIGTERM)
        self.daemon.wait()


def walk(n):
    """A random walk of float64, rounded to 1/64."""
    steps = np.random.default_rng(1).normal(0, 1, n)
    return np.round(np.cumsum(steps) * 64) / 64


def timed(action, *args):
    start = time.perf_counter()
    action(*args)
    return time.perf_counter() - start


def touch_memory(nbytes):
    """Lets a virtual machine's host provide so much, which may take long.

    Otherwise chance decides which of two measurements has to wait for it.
    """
    np.full(nbytes // 8, 1.0)


def drop_caches():
    """Only root may; without it the runs are warm, and say so."""
    os.sync()
    try:
        with open("/proc/sys/vm/drop_caches", "w") as f:
            f.write("3")
    except OSError:
        print("(not root: caches stay warm)")


def sample(kind, typesize, nbytes):
    n = nbytes // typesize
    rng = np.random.default_rng(1)
    dtype = {4: np.float32, 8: np.float64}[typesize]
    if kind == "range":
        return np.arange(n, dtype={4: np.int32, 8: np.int64}[typesize])
    noise = np.round(rng.normal(0, 20, n)) / 64
    return (np.sin(np.arange(n) / 1000) * 100 + noise).astype(dtype)


CODECS = {"blosclz": blosc2.Codec.BLOSCLZ, "lz4": blosc2.Codec.LZ4,
          "zstd": blosc2.Codec.ZSTD}
FILTERS = {"shuffle": blosc2.Filter.SHUFFLE,
           "bitshuffle": blosc2.Filter.BITSHUFFLE}


def bench_decode(tmp):
    print("decode of a 1 MiB chunk on one thread (median of interleaved "
          "rounds)")
    print(f"{'codec':8} {'filter':10} type data     ratio"
          f"   ours theirs GB/s  speed")
    worst = 9.0
    for codec, code in CODECS.items():
        for name, filt in FILTERS.items():
            for typesize in (4, 8):
                for kind in ("range", "sensor"):
                    data = sample(kind, typesize, MIB)
                    chunk = blosc2.compress2(
                        data, codec=code, clevel=5, typesize=typesize,
                        filters=[filt], nthreads=1)
                    path = os.path.join(tmp, "chunk")
                    with open(path, "wb") as f:
                        f.write(chunk)
                    ours, theirs, speed = map(float, run(
                        os.path.join(BUILD, "decode_bench"), LIBRARY,
                        path).split())
                    worst = min(worst, speed)
                    print(f"{codec:8} {name:10} {typesize}    {kind:7}"
                          f" {MIB / len(chunk):6.2f} {ours:6.2f} {theirs:6.2f}"
                          f"      {speed:6.2f} x")
    print(f"slowest: {worst:.2f} x C-Blosc2\n")


def million_chunks(path, nchunks=1000000, chunksize=4096):
    """A sparse frame of that many chunks, 64 different ones in files.

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


def bench_open(tmp):
    path = os.path.join(tmp, "million.b2frame")
    parts = million_chunks(path)
    infos, firsts, mounts, memory = [], [], [], []
    for _ in range(5):
        drop_caches()
        start = time.perf_counter()
        run(os.path.join(BUILD, "bloscctl"), "info", path)
        infos.append(time.perf_counter() - start)
        drop_caches()
        with Mount(path, os.path.join(tmp, "mnt")) as mount:
            start = time.perf_counter()
            with open(os.path.join(mount.mountpoint, "million"), "rb") as f:
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


def bench_random(tmp):
    path = os.path.join(tmp, "random.b2frame")
    data = sample("sensor", 8, 64 * MIB)
    schunk = blosc2.SChunk(chunksize=MIB, data=data, urlpath=path,
                           contiguous=False,
                           cparams={"typesize": 8, "blocksize": 64 << 10})
    stored = schunk.cbytes / schunk.nchunks
    with Mount(path, os.path.join(tmp, "mnt")) as mount:
        fd = os.open(os.path.join(mount.mountpoint, "random"), os.O_RDONLY)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
        os.pread(fd, 1, 0)
        trace = os.path.join(tmp, "trace")
        strace = subprocess.Popen(
            ["strace", "-f", "-qq", "-e", "trace=pread64", "-o", trace, "-p",
             str(mount.daemon.pid)], stderr=subprocess.DEVNULL)
        time.sleep(1)
        raw = data.tobytes()
        for i in range(1, 33):
            off = i * 2 * MIB - 700000
            assert os.pread(fd, 4096, off) == raw[off:off + 4096]
        strace.send_signal(signal.SIGINT)
        strace.wait()
        os.close(fd)
    with open(trace) as f:
        sizes = [int(m) for m in re.findall(r"\) += (\d+)$", f.read(), re.M)]
    print("random 4 KiB reads from 1 MiB chunks of 64 KiB blocks")
    print(f"  read from disk for each {sum(sizes) / 32 / 1024:7.1f} KiB in "
          f"{len(sizes) / 32:.1f} calls; a chunk has {stored / 1024:.1f} KiB\n")


def bench_memory(tmp):
    path = os.path.join(tmp, "large.b2frame")
    part = sample("sensor", 8, 64 * MIB).tobytes()
    schunk = blosc2.SChunk(chunksize=MIB, urlpath=path, contiguous=False,
                           cparams={"typesize": 8})
    for _ in range(32):
        for i in range(0, len(part), MIB):
            schunk.append_data(part[i:i + MIB])
    size = 32 * len(part)
    cache = 128 * MIB

    def reader(name, start):
        with open(name, "rb", buffering=0) as f:
            for off in (start, 0):
                f.seek(off)
                while f.read(MIB):
                    pass

    with Mount(path, os.path.join(tmp, "mnt"), "-o", "cachesize=128m") as m:
        name = os.path.join(m.mountpoint, "large")
        threads = [threading.Thread(target=reader,
                                    args=(name, i * size // 8))
                   for i in range(8)]
        start = time.perf_counter()
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        seconds = time.perf_counter() - start
        peak = m.status("VmHWM")
    print("8 readers of a 2 GB frame, cachesize=128m")
    print(f"  peak resident memory    {peak / MIB:7.1f} MiB (below "
          f"{(cache + 64 * MIB) // MIB})")
    print(f"  time                    {seconds:7.1f} s\n")


BENCHES = {"decode": bench_decode, "open": bench_open, "random": bench_random,
           "memory": bench_memory}


def main():
    wanted = sys.argv[2:] or list(BENCHES)
    for name in wanted:
        if name not in BENCHES:
            sys.exit(f"scripts/bench: no such measurement: {name}")
        with tempfile.TemporaryDirectory() as tmp:
            BENCHES[name](tmp)


if __name__ == "__main__":
    main()
