# SPDX-License-Identifier: BSD-3-Clause
"""columns - what stands side by side: ours, filesystems, C-Blosc2, ceilings

A column opens a data.Set and yields the path of a directory with its files, as
they are shown, or None for C-Blosc2, which needs none.  missing() says why a
column cannot run here.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import subprocess
import time

import blosc2

import work
from data import CORES, MIB, cparams, remove


def run(*args, **kwargs):
    return subprocess.run([str(a) for a in args], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, **kwargs).stdout


def need(*programs):
    for program in programs:
        if not shutil.which(program):
            return f"{program} is not installed"
    return None


class Ext4(work.Files):
    """The filesystem of the working directory, as it is."""
    name = "plain"

    def missing(self, build):
        return None

    def stored(self, data):
        return data.plain

    @contextlib.contextmanager
    def open(self, data, build, top):
        yield data.plain


class Blosc2(work.Stock):
    """C-Blosc2 in this process."""

    def __init__(self, nthreads=CORES):
        super().__init__(nthreads)
        self.name = f"C-Blosc2, {nthreads} thread" + "s" * (nthreads > 1)

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
        daemon = subprocess.Popen(
            [str(a) for a in self.command(data, build, mountpoint)],
            stdout=log, stderr=log)
        try:
            while not os.path.ismount(mountpoint):
                if daemon.poll() is not None:
                    raise RuntimeError(f"{self.name} ended")
                time.sleep(0.001)
            os.stat(mountpoint)
            self.pid = daemon.pid
            yield mountpoint
        finally:
            log.close()
            for _ in range(50):
                if subprocess.run(["umount", mountpoint], check=False,
                                  stderr=subprocess.DEVNULL).returncode == 0:
                    break
                time.sleep(0.1)
            else:
                daemon.send_signal(signal.SIGTERM)
            daemon.wait(60)


class Bloscfs(Mounted):
    def __init__(self, *options, name=None, build=None):
        self.options, self.build = options, build
        self.name = name or " ".join(("bloscfs", *options))

    def missing(self, build):
        return None

    def command(self, data, build, mountpoint):
        options = ("rw", "allow_other", f"codec={data.codec}", "clevel=5",
                   "filter=shuffle", *self.options)
        return [(self.build or build) / "bloscfs", "-f", "-q", "-o",
                ",".join(options), data.src, mountpoint]


class Contiguous(Bloscfs):
    """The file that is written to is there, empty: a contiguous frame."""

    def __init__(self):
        super().__init__(name="bloscfs, contiguous")

    @contextlib.contextmanager
    def open(self, data, build, top):
        blosc2.SChunk(chunksize=MIB, urlpath=str(data.src / "new.b2frame"),
                      contiguous=True, cparams=cparams(data.codec))
        with super().open(data, build, top) as path:
            yield path


class Ceiling(Mounted):
    """tests/tools/ceiling.c: FUSE without any work behind it."""

    def __init__(self, name, *options):
        self.name, self.options = f"FUSE ceiling: {name}", options

    def missing(self, build):
        return None

    def stored(self, data):
        return data.plain

    def command(self, data, build, mountpoint):
        return [build / "ceiling", *self.options, data.plain / "data",
                mountpoint]


class Passthrough(work.Files):
    name = "FUSE ceiling: passthrough"

    def missing(self, build):
        version = run("pkg-config", "--modversion", "fuse3").strip()
        return f"needs libfuse 3.17, here is {version}"


class Squashfuse(Mounted):
    name = "squashfuse, zstd"

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


class Gocryptfs(Mounted):
    name = "gocryptfs"

    def missing(self, build):
        return need("gocryptfs")

    def command(self, data, build, mountpoint):
        cipher = data.top / "cipher"
        if not cipher.exists():
            cipher.mkdir()
            run("gocryptfs", "-init", "-q", "-extpass", "echo benchmark",
                cipher)
        return ["gocryptfs", "-fg", "-q", "-allow_other", "-extpass",
                "echo benchmark", cipher, mountpoint]


class Btrfs(work.Files):
    """Forced zstd, in a file on the same disk."""
    name = "btrfs, zstd"

    def missing(self, build):
        with open("/proc/filesystems") as f:
            if "btrfs" not in f.read():
                return "the kernel has no btrfs"
        if os.getuid() != 0:
            return "mounting needs root"
        return need("mkfs.btrfs")

    def stored(self, data):
        return data.top / "btrfs"

    @contextlib.contextmanager
    def open(self, data, build, top):
        image, path = data.top / "image.btrfs", data.top / "btrfs"
        is_new = not image.exists()
        if is_new:
            path.mkdir()
            with open(image, "wb") as f:
                f.truncate(max(1 << 30, 3 * data.size))
            run("mkfs.btrfs", "-q", image)
        run("mount", "-o", "loop,compress-force=zstd:3", image, path)
        try:
            if is_new:
                run("cp", "-r", f"{data.plain}/.", path)
                os.sync()
            yield path
        finally:
            run("umount", path)


def clean(data):
    """Removes what a sample has written; what was made to be read stays."""
    remove(data.top / "cipher")
