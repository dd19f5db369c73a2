# SPDX-License-Identifier: BSD-3-Clause
"""Blosc2 data as ordinary files, for as long as a block runs.

    import bloscfs, numpy as np

    with bloscfs.mount("data", "mnt", codec="lz4"):
        np.save("mnt/x.npy", np.arange(1000))
    # Unmounted and stored: data/x.npy.b2nd

The programs bloscfs and bloscctl do the work; see bloscfs(1) for the options.
"""
from __future__ import annotations

import contextlib
import importlib.metadata
import os
import re
import subprocess
import tempfile
import warnings
from typing import Iterator, Union

__all__ = ["Error", "mount", "program"]
__version__: str = importlib.metadata.version("bloscfs")

Path = Union[str, "os.PathLike[str]"]
Option = Union[str, int, float, bool, None]


class Error(OSError):
    """A failure of bloscfs or bloscctl, with its message and its exit status."""

    def __init__(self, text: str, status: int) -> None:
        super().__init__(text)
        self.status = status


def program(name: str) -> str:
    """Returns the path of the program "bloscfs" or "bloscctl" that came with this
    module; without one, the name of the program, which PATH then has to lead to.
    """
    for file in importlib.metadata.files("bloscfs") or []:
        if file.name == name and file.parent.name == "bin":
            path = str(file.locate())
            if os.access(path, os.X_OK):
                return os.path.normpath(path)
    return name


def _run(name: str, *words: str) -> None:
    # A file, not a pipe: the daemon would keep a pipe open.
    with tempfile.TemporaryFile("w+", errors="replace") as said:
        try:
            status = subprocess.run([program(name), *words], stdout=said,
                                    stderr=said, stdin=subprocess.DEVNULL,
                                    check=False).returncode
        except FileNotFoundError as error:
            raise Error(f"the program {name} is not installed", 127) from error
        said.seek(0)
        text = said.read().strip()
    if status:
        raise Error(text or f"{name} ended with status {status}", status)


def _words(options: dict[str, Option]) -> Iterator[str]:
    """codec="lz4", ro=True as codec=lz4,ro; False and None leave an option out."""
    for name, value in options.items():
        if value is not False and value is not None:
            word = name if value is True else f"{name}={value}"
            yield word.replace("\\", "\\\\").replace(",", "\\,")


def _is_mounted(mountpoint: str, device: int) -> bool:
    """Is it that filesystem, and not another one below it?"""
    try:
        return os.stat(mountpoint).st_dev == device
    except OSError:
        return False


def _in_use(device: int) -> set[str]:
    """The files of the mount that this process has open or mapped."""
    paths = set()
    for fd in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            if os.stat(f"/proc/self/fd/{fd}").st_dev == device:
                paths.add(os.readlink(f"/proc/self/fd/{fd}"))
    number = f"{os.major(device):02x}:{os.minor(device):02x}"
    with open("/proc/self/maps", encoding="utf-8", errors="replace") as maps:
        for line in maps:
            found = re.match(rf"\S+ \S+ \S+ {number} \d+ +(/.*)$", line)
            if found:
                paths.add(found.group(1))
    return paths


def _store(paths: set[str]) -> None:
    """Like fsync(2); stores changes through a mapping, too."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            fd = os.open(path, os.O_RDONLY)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)


def _unmount(mountpoint: str, device: int) -> None:
    try:
        _run("bloscctl", "umount", mountpoint)
    except Error:
        # A live np.memmap, or an open file, keeps the mount busy. Its data are stored
        # now, and the daemon ends when the last of them is gone.
        paths = _in_use(device) if _is_mounted(mountpoint, device) else set()
        if not paths:
            raise
        try:
            _store(paths)
        except OSError as error:
            raise Error(f"{error.filename or mountpoint}: {error.strerror}", 1
                        ) from None
        finally:
            _run("bloscctl", "umount", "--lazy", mountpoint)
        warnings.warn("still in use when bloscfs was unmounted: "
                      + ", ".join(sorted(paths)), ResourceWarning, 5)


def _make(mountpoint: str) -> bool:
    """Makes the directory; returns whether it was missing."""
    with contextlib.suppress(FileExistsError):
        os.makedirs(mountpoint)
        return True
    return False


@contextlib.contextmanager
def mount(source: Path, mountpoint: Path, **options: Option) -> Iterator[str]:
    """Mounts SOURCE, a path or a URL.  The end of the block stores everything that
    was written, and unmounts SOURCE.

    A missing MOUNTPOINT is made, and removed at the end.  Options are those of
    bloscfs(1): codec="lz4", ro=True.  Yields the absolute path of the mountpoint.

    If arrays of np.memmap are still in use at the end, their data are stored, and
    the mount lives on, without a name, until the last array is gone.

    Raises Error with the message of bloscfs if mounting or storing fails.
    """
    url = os.fspath(source)
    if "://" not in url:
        url = os.path.abspath(url)
    where = os.path.abspath(mountpoint)
    words = ",".join(_words(options))
    # A process that was forked in the block leaves the mount to its parent.
    owner = os.getpid()
    made = _make(where)
    try:
        _run("bloscfs", *(["-o", words] if words else []), url, where)
        device = os.stat(where).st_dev
        try:
            yield where
        except BaseException:
            # The caller's exception is raised, not a failure to unmount, which is a
            # consequence of it or becomes a warning.
            try:
                if os.getpid() == owner:
                    _unmount(where, device)
            except Error as error:
                warnings.warn(str(error), RuntimeWarning, 3)
            raise
        if os.getpid() == owner:
            _unmount(where, device)
    finally:
        if made and os.getpid() == owner:
            with contextlib.suppress(OSError):
                os.rmdir(where)
