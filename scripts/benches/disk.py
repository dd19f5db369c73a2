# SPDX-License-Identifier: BSD-3-Clause
"""disk - filesystems of their own, in files on loop devices; unmounting

ext4 searches long for inodes while many were deleted a moment ago: a benchmark
that deletes 10,000 files and then unpacks as many measures that search.  So a
row that makes files gives each sample a filesystem that nothing has used.
"""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

GIB = 1 << 30
# mkfs command and mount options.  The kernel's thread that initializes
# inode tables later would write during samples.
FORMATS = {"ext4": (["mkfs.ext4", "-q", "-F", "-E", "nodiscard,"
                     "lazy_itable_init=1,lazy_journal_init=1"],
                    "noinit_itable"),
           "btrfs": (["mkfs.btrfs", "-q", "-f"], "compress-force=zstd:3")}
SIZE = 8 * GIB
# The longest that a mount may be in use, seconds.
LIMIT = 900


def run(*args, **kwargs):
    return subprocess.run([str(a) for a in args], check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, **kwargs).stdout


def make(image, kind, size=SIZE):
    with open(image, "wb") as f:
        f.truncate(size)
    run(*FORMATS[kind][0], image)


def is_mounted(path):
    """Is @path a mountpoint?  os.path.ismount() says no if the daemon has died."""
    with open("/proc/self/mountinfo") as f:
        return any(line.split()[4] == os.fspath(path) for line in f)


def unmount(path):
    """Unmounts; False if the mount is busy, and goes when its last user ends."""
    for _ in range(100):
        subprocess.run(["umount", path], check=False,
                       stderr=subprocess.DEVNULL)
        if not is_mounted(path):
            return True
        time.sleep(0.1)
    subprocess.run(["umount", "--lazy", path], check=False)
    return False


@contextlib.contextmanager
def limited(path):
    """Ends the mount of a program that answers no more, so that its users fail."""
    timer = threading.Timer(LIMIT, subprocess.run,
                            [["umount", "--force", path]])
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextlib.contextmanager
def mounted(image, kind, path, is_cached=False):
    """Mounts the filesystem in the file @image; with @is_cached the kernel caches the
    image, too."""
    path.mkdir(exist_ok=True)
    direct = "off" if is_cached else "on"
    loop = run("losetup", "--find", "--show", f"--direct-io={direct}",
               image).strip()
    try:
        run("mount", "-o", FORMATS[kind][1], loop, path)
        # The device goes with the mount.
        run("losetup", "--detach", loop)
        yield path
    finally:
        if not unmount(path):
            print(f"{path} was busy", file=sys.stderr)
        subprocess.run(["losetup", "--detach", loop], check=False,
                       stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def fresh(top, kind="ext4"):
    """A directory in a new filesystem."""
    image = pathlib.Path(top) / "fresh.img"
    try:
        make(image, kind)
        with mounted(image, kind, pathlib.Path(top) / "fresh") as path:
            yield path
    finally:
        image.unlink(missing_ok=True)


def used(path):
    """Used bytes of the filesystem at @path."""
    run("sync", "--file-system", path)
    st = os.statvfs(path)
    return (st.f_blocks - st.f_bfree) * st.f_frsize


def leave_on_signals():
    """Signals end the program as exceptions do, so that all is unmounted."""
    ends = signal.SIGINT, signal.SIGTERM, signal.SIGHUP

    def leave(signum, _):
        for each in ends:
            signal.signal(each, signal.SIG_IGN)
        sys.exit(128 + signum)
    for each in ends:
        signal.signal(each, leave)
