# SPDX-License-Identifier: BSD-3-Clause
"""The measurements of scripts/bench write [NAME...] [SIZE]

  append     SIZE (1g) written and synced through a mount, against C-Blosc2
             that appends chunks on the same cores with the same settings
  overwrite  2,000 writes of 4 KiB at random into 256 MB, then fsync, against
             C-Blosc2 that decodes, changes and updates a chunk for each
  contiguous 256 MB written and synced, then 2,000 such writes and fsync: a
             frame in one file against a directory
  byte       which files one changed byte and fsync write, in a frame of SIZE
  million    CPU time of fsync with one changed chunk of 1,000,000
  untar      10,000 small files, against the file system below

Data: "walk" is a random walk of float64, rounded to 1/64; "count" is int64 that
grow by 0 to 8.  64 MiB of them, over and over up to SIZE.
"""
import contextlib
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import blosc2
import numpy as np

os.environ["B2F_BUILD"] = os.path.abspath(sys.argv[1])
os.environ["B2F_SOURCE"] = os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.environ["B2F_SOURCE"], "tests", "mount"))
from bench import MIB, million_chunks, timed, touch_memory, walk  # noqa: E402
from scratch import Scratch, bloscctl, frames  # noqa: E402

ROUNDS = 3
CORES = len(os.sched_getaffinity(0))


def count(n):
    return np.cumsum(np.random.default_rng(2).integers(0, 9, n))


DATA = {"walk": walk, "count": count}


def made(kind):
    """64 MiB in pieces of 1 MiB."""
    raw = DATA[kind](64 * MIB // 8).tobytes()
    return [raw[i:i + MIB] for i in range(0, len(raw), MIB)]


def remove(*paths):
    for path in paths:
        shutil.rmtree(path, ignore_errors=True)
    os.sync()


def stored(path):
    return sum(f.stat().st_size for f in os.scandir(path))


def written(pid="self"):
    """Bytes that a process wrote, and what of them was meant for disks.

    The latter leaves out what was truncated before it got there.
    """
    with open(f"/proc/{pid}/io") as f:
        said = dict(line.split(": ") for line in f)
    return np.array([int(said["wchar"]), int(said["write_bytes"]) -
                     int(said["cancelled_write_bytes"])])


def cpu_ns(pid):
    """Of all threads there are."""
    total = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/schedstat") as f:
            total += int(f.read().split()[0])
    return total


def fill(path, pieces, size):
    """Writes and syncs, as dd with bs=1M conv=fsync."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    for i in range(size // MIB):
        os.write(fd, pieces[i % len(pieces)])
    os.fsync(fd)
    os.close(fd)


def append(path, pieces, size, codec):
    schunk = blosc2.SChunk(
        chunksize=MIB, urlpath=path, contiguous=False,
        cparams={"typesize": 8, "clevel": 5, "nthreads": CORES,
                 "codec": blosc2.Codec[codec.upper()],
                 "filters": [blosc2.Filter.SHUFFLE]})
    for i in range(size // MIB):
        schunk.append_data(pieces[i % len(pieces)])


def sync_files(path):
    for entry in os.scandir(path):
        fd = os.open(entry.path, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)


def check_equal(ours, theirs, step=1):
    a, b = blosc2.open(ours, mode="r"), blosc2.open(theirs, mode="r")
    assert a.nbytes == b.nbytes and a.nchunks == b.nchunks
    for n in range(0, a.nchunks, step):
        assert a.decompress_chunk(n) == b.decompress_chunk(n), n


def fill_round(codec, pieces, size, *options):
    remove("src")
    touch_memory(size)
    with Scratch(f"codec={codec}", "clevel=5", "filter=shuffle", "typesize=8",
                 "chunksize=1m", *options):
        return timed(fill, "mnt/ours", pieces, size)


def append_round(codec, pieces, size):
    """Seconds: ours, with direct_io, theirs, theirs with fsync."""
    remove("theirs.b2frame")
    direct = fill_round(codec, pieces, size, "direct_io")
    ours = fill_round(codec, pieces, size)
    os.sync()
    theirs = timed(append, "theirs.b2frame", pieces, size, codec)
    durable = theirs + timed(sync_files, "theirs.b2frame")
    check_equal("src/ours.b2frame", "theirs.b2frame", step=37)
    return ours, direct, theirs, durable


def bench_append(size):
    print(f"{size // MIB} MiB in writes of 1 MiB and fsync; chunks of 1 MiB, "
          f"level 5, shuffle, {CORES} cores (medians of {ROUNDS} interleaved "
          "rounds)")
    print("codec data   ours direct_io theirs +fsync MB/s  ours/theirs "
          "ours/+fsync direct_io/theirs  stored")
    for codec in "lz4", "zstd":
        for kind in DATA:
            pieces = made(kind)
            rows = [append_round(codec, pieces, size) for _ in range(ROUNDS)]
            ours, direct, theirs, durable = (
                statistics.median(column) for column in zip(*rows))
            room = stored("src/ours.b2frame") / stored("theirs.b2frame")
            print(f"{codec:5} {kind:5} {size / ours / 1e6:5.0f}"
                  f"     {size / direct / 1e6:5.0f}  {size / theirs / 1e6:5.0f}"
                  f"  {size / durable / 1e6:5.0f}            "
                  f"{theirs / ours:4.2f} x      {durable / ours:4.2f} x"
                  f"           {theirs / direct:4.2f} x {room:5.3f} x")
    print()


def update_chunks(path, changes):
    """Each of @changes as C-Blosc2 does it: a chunk at a time."""
    schunk = blosc2.open(path, mode="a", cparams={"nthreads": CORES},
                         dparams={"nthreads": CORES})
    for off, data in changes:
        chunk = bytearray(schunk.decompress_chunk(off // MIB))
        chunk[off % MIB:off % MIB + len(data)] = data
        schunk.update_data(off // MIB, bytes(chunk), copy=True)


def overwrite(path, changes):
    fd = os.open(path, os.O_RDWR)
    for off, data in changes:
        os.pwrite(fd, data, off)
    os.fsync(fd)
    os.close(fd)


def overwrite_round(codec, pieces, rng):
    """Seconds, ours and theirs; bytes (written, to disk), ours and theirs."""
    changes = [(int(rng.integers(0, 256 * MIB // 4096)) * 4096,
                pieces[int(rng.integers(0, 64))][-4096:])
               for _ in range(2000)]
    with Scratch() as scratch:
        before = written(scratch.mount.pid)
        ours = timed(overwrite, "mnt/ours", changes)
        bytes_ours = written(scratch.mount.pid) - before
    before = written()
    theirs = timed(update_chunks, "theirs.b2frame", changes)
    bytes_theirs = written() - before
    check_equal("src/ours.b2frame", "theirs.b2frame")
    return ours, theirs, bytes_ours / 1e6, bytes_theirs / 1e6


def bench_overwrite(_):
    print("2,000 random writes of 4 KiB into 256 MB (walk), then fsync; "
          f"level 5, shuffle, chunks of 1 MiB (medians of {ROUNDS})")
    pieces = made("walk")
    for codec in "lz4", "zstd":
        remove("src", "theirs.b2frame")
        append("theirs.b2frame", pieces, 256 * MIB, codec)
        shutil.copytree("theirs.b2frame", "src/ours.b2frame")
        os.sync()
        rng = np.random.default_rng(5)
        rows = [overwrite_round(codec, pieces, rng) for _ in range(ROUNDS)]
        ours, theirs = (statistics.median(row[i] for row in rows)
                        for i in range(2))
        mb, their_mb = (np.median([row[i] for row in rows], axis=0)
                        for i in (2, 3))
        ratio = statistics.median(row[0] / row[1] for row in rows)
        print(f"{codec:5} ours   {ours:6.2f} s, {mb[0]:6.0f} MB written, "
              f"{mb[1]:6.0f} to disk\n      theirs {theirs:6.2f} s, "
              f"{their_mb[0]:6.0f} MB written, {their_mb[1]:6.0f} to disk\n"
              f"      {ratio:.3f} x the time, {mb[0] / their_mb[0]:.3f} x the "
              "bytes")
    print()


def storage_round(kind, pieces, changes):
    """Seconds of writing and of overwriting; bytes that the latter wrote."""
    remove("src")
    blosc2.SChunk(chunksize=MIB, urlpath=f"{os.getcwd()}/src.tmp",
                  contiguous=kind == "contiguous",
                  cparams={"typesize": 8, "codec": blosc2.Codec.ZSTD})
    os.mkdir("src")
    os.rename("src.tmp", "src/ours.b2frame")
    touch_memory(256 * MIB)
    with Scratch() as scratch:
        filled = timed(fill, "mnt/ours", pieces, 256 * MIB)
        before = written(scratch.mount.pid)
        changed = timed(overwrite, "mnt/ours", changes)
        mb = (written(scratch.mount.pid) - before)[0] / 1e6
    return filled, changed, mb


def bench_contiguous(_):
    pieces = made("walk")
    rng = np.random.default_rng(6)
    changes = [(int(rng.integers(0, 256 * MIB // 4096)) * 4096,
                pieces[int(rng.integers(0, 64))][-4096:])
               for _ in range(2000)]
    rows = {"sparse": [], "contiguous": []}
    for _ in range(ROUNDS):
        for kind in rows:
            rows[kind].append(storage_round(kind, pieces, changes))
    print("256 MB and fsync, then 2,000 random writes of 4 KiB and fsync "
          f"(walk; medians of {ROUNDS})")
    medians = {kind: np.median(rows[kind], axis=0) for kind in rows}
    for kind, (filled, changed, mb) in medians.items():
        print(f"  {kind:10} {256 * MIB / filled / 1e6:6.0f} MB/s "
              f"{changed:6.2f} s, {mb:6.0f} MB written")
    ratio = medians["contiguous"] / medians["sparse"]
    print(f"  {1 / ratio[0]:.2f} x the speed, {ratio[1]:.2f} x the time of "
          f"overwriting, {ratio[2]:.2f} x the bytes\n")


WRITES = "write,pwrite64,writev,pwritev,pwritev2,copy_file_range,sendfile"


def bench_byte(size):
    remove("src")
    os.mkdir("src")
    append("src/large.b2frame", made("walk"), size, "lz4")
    os.sync()
    with Scratch("commit=600") as scratch:
        fd = os.open("mnt/large", os.O_RDWR)
        strace = subprocess.Popen(
            ["strace", "-f", "-qq", "-y", "-e", f"trace={WRITES}", "-o",
             "trace", "-p", str(scratch.mount.pid)])
        time.sleep(1)
        os.pwrite(fd, b"x", size // 2 + 12345)
        os.fsync(fd)
        strace.send_signal(signal.SIGINT)
        strace.wait()
        os.close(fd)
    # Without a name as long as they are written.
    named = {f"#{f.inode()}": f.name for f in os.scandir("src/large.b2frame")}
    with open("trace") as f:
        calls = re.findall(r"\w+\(\d+<([^>]*)>.* = (\d+)$", f.read(), re.M)
    files = {}
    for path, n in calls:
        if "/src/" in path:
            name = os.path.basename(path).replace(" (deleted)", "")
            name = named.get(name, name)
            files[name] = files.get(name, 0) + int(n)
    print(f"one byte changed in a frame of {size // MIB} MiB, then fsync: "
          f"{len(files)} files written")
    for name, n in files.items():
        print(f"  {name:30} {n:8} bytes")
    print()


def distinct_million(path):
    """bench.py's frame of 1,000,000 chunks, each with a number of its own.

    In no order, as after many changes.  Only the files of the first chunks
    are there; nothing else is going to be read.
    """
    million_chunks(path)
    ids = np.random.default_rng(6).permutation(1000000).astype("<i8")
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


def bench_million(_):
    remove("src")
    os.mkdir("src")
    distinct_million("src/million.b2frame")
    cpu, seconds = [], []
    with Scratch("commit=600") as scratch:
        pid = scratch.mount.pid
        fd = os.open("mnt/million", os.O_RDWR)
        for i in range(20):
            os.pwrite(fd, b"changed", i * 4096 + 5)
            before = cpu_ns(pid)
            seconds.append(timed(os.fsync, fd))
            cpu.append(cpu_ns(pid) - before)
        os.close(fd)
        memory = scratch.mount.rss()["VmHWM"]
    size = os.path.getsize("src/million.b2frame/chunks.b2frame")
    print("fsync after one chunk of 1,000,000 was changed (median of 20)")
    print(f"  CPU time of the daemon  {statistics.median(cpu) / 1e6:7.1f} ms")
    print(f"  time                    {statistics.median(seconds) * 1e3:7.1f}"
          f" ms, an index of {size / 1e6:.1f} MB")
    print(f"  peak resident memory    {memory / MIB:7.1f} MiB\n")


def small_files(top):
    rng = np.random.default_rng(7)
    for i in range(10000):
        os.makedirs(f"{top}/{i // 100}", exist_ok=True)
        with open(f"{top}/{i // 100}/{i}.txt", "w") as f:
            f.write(f"{i} is a number, " * int(rng.integers(1, 500)))


def untar(where):
    subprocess.run(["tar", "xf", "small.tar", "-C", where], check=True)


@contextlib.contextmanager
def new_ext4(path):
    """A new ext4 in a file.

    One that has been used may be slow for minutes after many files have been
    deleted: without a journal it avoids the inodes of these.
    """
    image = f"{path}.img"
    with open(image, "wb") as f:
        f.truncate(4 << 30)
    subprocess.run(["mkfs.ext4", "-q", "-E", "lazy_itable_init=0", image],
                   check=True)
    os.mkdir(path)
    subprocess.run(["mount", "-o", "loop", image, path], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", path], check=True)


def untar_round(i):
    """Seconds: into a mount, until that is unmounted, into a plain directory."""
    with Scratch(source=f"ext4/src{i}"):
        ours = timed(untar, "mnt")
        start = time.perf_counter()
    rest = time.perf_counter() - start
    os.mkdir(f"ext4/plain{i}")
    os.sync()
    return ours, ours + rest, timed(untar, f"ext4/plain{i}")


def bench_untar(_):
    small_files("small")
    subprocess.run(["tar", "cf", "small.tar", "small"], check=True)
    with new_ext4("ext4"):
        rows = [untar_round(i) for i in range(ROUNDS)]
        bloscctl("verify", "-r", "-q", "ext4/src0")
        assert len(frames("ext4/src0")) == 10000
    ours, whole, plain = (statistics.median(column) for column in zip(*rows))
    print(f"untar of 10,000 files of up to 9 KB (medians of {ROUNDS})")
    print(f"  into a mount            {ours:7.2f} s  ({whole:.2f} with the "
          "unmount)")
    print(f"  into the directory below {plain:7.2f} s")
    print(f"  ratio                   {ours / plain:7.1f} x\n")


BENCHES = {"append": bench_append, "overwrite": bench_overwrite,
           "contiguous": bench_contiguous,
           "byte": bench_byte, "million": bench_million, "untar": bench_untar}


def parse_size(text):
    return int(text[:-1]) << {"m": 20, "g": 30}[text[-1]]


def main():
    sizes = [arg for arg in sys.argv[2:] if re.fullmatch(r"\d+[mg]", arg)]
    wanted = [arg for arg in sys.argv[2:] if arg not in sizes]
    for name in wanted or BENCHES:
        if name not in BENCHES:
            sys.exit(f"scripts/bench: no such measurement: write {name}")
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as tmp:
            os.chdir(tmp)
            try:
                BENCHES[name](parse_size(sizes[-1] if sizes else "1g"))
            finally:
                os.chdir(before)


if __name__ == "__main__":
    main()
