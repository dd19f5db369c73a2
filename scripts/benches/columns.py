# SPDX-License-Identifier: BSD-3-Clause
"""columns - the compared programs: ours, filesystems, C-Blosc2, ceilings

A column opens a data.Set and yields the path of a directory with its files, as
they are shown, or None for C-Blosc2, which needs none.  missing() says why a
column cannot run here.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import struct
import subprocess
import time

import blosc2

import disk
import work
from data import CORES, MIB, TYPESIZES, drop_caches, timed
from disk import run


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            return f"{program} is not installed"
    return None


class Ext4(work.Files):
    """The filesystem of the working directory, or a fresh ext4."""
    name = "plain files"

    def missing(self, build):
        return None

    def stored(self, data):
        return data.plain

    @contextlib.contextmanager
    def open(self, data, build, top):
        yield data.plain


class IndexAnew(Ext4):
    """The least that a commit has to write: a new index in the place of the old one."""
    name = "an index anew"

    def sync_one(self, top, data):
        index = data.src / "data.b2frame/chunks.b2frame"
        return work.replace_file(index, top / "index")


class BlockBytes(Ext4):
    """The least that a reader of the frame has to read: the bytes of one block."""
    name = "the block's bytes alone"

    def random(self, top, data):
        places = [block_of(data.src / "data.b2frame", off)
                  for off in work.offsets(data.size, work.RANDOM_READS)]
        drop_caches()
        return work.spread(read_at(*place) for place in places)


def block_of(frame, off):
    """(file, offset, size) of the block with byte @off in the directory @frame."""
    nchunk, off = divmod(off, MIB)
    path = frame / f"{nchunk:08X}.chunk"
    stored = path.read_bytes()
    nbytes, blocksize, cbytes = struct.unpack_from("<III", stored, 4)
    count = -(-nbytes // blocksize)
    starts = struct.unpack_from(f"<{count}I", stored, 32)
    start = starts[off // blocksize]
    end = min([s for s in starts if s > start] + [cbytes])
    return path, start, end - start


def read_at(path, start, size):
    fd = os.open(path, os.O_RDONLY)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
    seconds = timed(os.pread, fd, size, start)
    os.close(fd)
    return seconds


class Blosc2(work.Stock):
    """C-Blosc2 in this process; @codec writes, any is read."""

    def __init__(self, codec=None, clevel=5, nthreads=CORES):
        super().__init__(nthreads, codec, clevel)
        self.name = "C-Blosc2" + (f" {codec} {clevel}" if codec else "") + \
            (", 1 thread" if nthreads == 1 else "")

    def missing(self, build):
        return None

    def stored(self, data):
        return data.src

    @contextlib.contextmanager
    def open(self, data, build, top):
        yield data.src


class Mounted(work.Files):
    """A program in the foreground that serves a mountpoint."""

    def command(self, data, build, mountpoint):
        raise NotImplementedError

    def stored(self, data):
        return data.src

    @contextlib.contextmanager
    def open(self, data, build, top):
        mountpoint = pathlib.Path(top) / "mnt"
        mountpoint.mkdir(exist_ok=True)
        log = open(pathlib.Path(top) / "log", "ab")
        limit = data.size * 4 // 5 if data.kind == "opened" else ""
        daemon = subprocess.Popen(
            ["prlimit", f"--nofile={limit}:{limit}"] * bool(limit) +
            [str(a) for a in self.command(data, build, mountpoint)],
            stdout=log, stderr=log)
        try:
            while not os.path.ismount(mountpoint):
                if daemon.poll() is not None:
                    raise RuntimeError(f"{self.name} ended")
                time.sleep(0.001)
            os.stat(mountpoint)
            self.pid = daemon.pid
            with disk.limited(mountpoint):
                yield mountpoint
        finally:
            log.close()
            if not disk.unmount(mountpoint):
                daemon.send_signal(signal.SIGTERM)
            daemon.wait(60)


class Bloscfs(Mounted):
    def __init__(self, *options, name=None, build=None):
        self.options, self.build = options, build
        self.name = name or " ".join(
            ["bloscfs", *(o.removeprefix("codec=") for o in options)])

    def missing(self, build):
        return None

    def command(self, data, build, mountpoint):
        options = ",".join(("rw", "allow_other", *self.options))
        return [(self.build or build) / "bloscfs", "-f", "-q", "-o", options,
                data.src, mountpoint]


class Contiguous(Bloscfs):
    """The target exists, an empty contiguous frame with lz4."""

    def __init__(self):
        super().__init__(name="bloscfs lz4, contiguous")

    @contextlib.contextmanager
    def open(self, data, build, top):
        blosc2.SChunk(chunksize=MIB, urlpath=str(data.src / "new.b2frame"),
                      contiguous=True, cparams=data.cparams("lz4"))
        with super().open(data, build, top) as path:
            yield path


class Made(Bloscfs):
    """The same data in a frame by bloscctl, with small blocks."""

    def __init__(self):
        super().__init__(name="bloscfs, its own frame")

    def open(self, data, build, top):
        frame = data.src / "made.b2frame"
        if not frame.exists():
            run(build / "bloscctl", "compress", "-q", f"--codec={data.codec}",
                "-o", frame, data.plain / "data")
            drop_caches()
        return super().open(data, build, top)

    def reader(self, path):
        return super().reader(path.with_name("made"))


class Ceiling(Mounted):
    """tests/tools/ceiling.c: FUSE to memory, which does nothing else."""

    def __init__(self, name, *options):
        self.name = f"FUSE, {name}" if name else "FUSE to memory"
        self.options = options

    def missing(self, build):
        return None

    def stored(self, data):
        return data.plain

    def command(self, data, build, mountpoint):
        (data.plain / "data").touch()
        return [build / "ceiling", *self.options, data.plain / "data",
                mountpoint]


class PackingCeiling(Ceiling):
    """The same, with two threads that compress with liblz4, into one file."""

    def __init__(self):
        super().__init__("and lz4 to a file")

    def command(self, data, build, mountpoint):
        # Floats with noise shrink more without a shuffle.
        item = TYPESIZES.get(data.content, 1)
        self.options = "-t", item, "-z", data.plain / "packed"
        return super().command(data, build, mountpoint)


class NameCeiling(Mounted):
    """tests/tools/name_ceiling.c: the same requests for small files."""
    name = "FUSE to memory"

    def missing(self, build):
        return None

    def command(self, data, build, mountpoint):
        return [build / "name_ceiling", mountpoint]

    def many(self, opened, data):
        """All samples use one mount, because another one would have no names."""
        with opened() as mount:
            return super().many(
                lambda: contextlib.nullcontext(mount), data)


class PackingNameCeiling(NameCeiling):
    """The same, with each file compressed with libzstd into a file."""
    name = "FUSE, and zstd to files"

    def command(self, data, build, mountpoint):
        packed = data.plain / "packed"
        packed.mkdir(exist_ok=True)
        return [build / "name_ceiling", "-z", packed, mountpoint]


class Passthrough(work.Files):
    name = "FUSE passthrough"

    def missing(self, build):
        version = run("pkg-config", "--modversion", "fuse3").strip()
        return f"needs libfuse 3.17, here is {version}"


class Squashfuse(Mounted):
    name = "squashfuse zstd"

    def missing(self, build):
        return need("mksquashfs", "squashfuse_ll")

    def image(self, data):
        image = data.top / "image.squashfs"
        if not image.exists():
            run("mksquashfs", data.plain, image, "-comp", "zstd", "-quiet",
                "-no-progress", "-processors", CORES)
        return image

    def stored(self, data):
        return self.image(data)

    def command(self, data, build, mountpoint):
        return ["squashfuse_ll", "-f", self.image(data), mountpoint]


class Bindfs(Mounted):
    """The plain files again: the cost of FUSE when each call is passed on."""
    name = "bindfs"

    def missing(self, build):
        return need("bindfs")

    def stored(self, data):
        return data.plain

    def command(self, data, build, mountpoint):
        return ["bindfs", "-f", data.plain, mountpoint]


class Gocryptfs(Mounted):
    name = "gocryptfs"

    def missing(self, build):
        return need("gocryptfs")

    def command(self, data, build, mountpoint):
        cipher = data.place / "cipher"
        if not cipher.exists():
            cipher.mkdir()
            run("gocryptfs", "-init", "-q", "-extpass", "echo benchmark",
                cipher)
        return ["gocryptfs", "-fg", "-q", "-allow_other", "-extpass",
                "echo benchmark", cipher, mountpoint]


class Btrfs(work.Files):
    """Forced zstd, in a file on the same disk."""
    name = "btrfs zstd"
    disk = "btrfs"

    def missing(self, build):
        with open("/proc/filesystems") as f:
            if "btrfs" not in f.read():
                return "the kernel has no btrfs"
        if os.getuid() != 0:
            return "mounting needs root"
        return need("mkfs.btrfs")

    def stored(self, data):
        return data.top / "image.btrfs"

    def make(self, data, path):
        disk.make(self.stored(data), self.disk)
        with disk.mounted(self.stored(data), self.disk, path):
            run("cp", "-r", f"{data.plain}/.", path)

    @contextlib.contextmanager
    def open(self, data, build, top):
        if data.place != data.top:
            yield data.plain
            return
        path = data.top / "btrfs"
        if not self.stored(data).exists():
            self.make(data, path)
        with disk.mounted(self.stored(data), self.disk, path, is_cached=True):
            yield path
