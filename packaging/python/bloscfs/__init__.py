# SPDX-License-Identifier: BSD-3-Clause
"""Blosc2 frames as plain files, for as long as a block runs.

with bloscfs.mount("data", "mnt", codec="lz4", ro=False): ...
"""
import contextlib
import os
import subprocess
import sysconfig


def _program(name):
    """The one that came with this module, or the one on PATH."""
    own = os.path.join(sysconfig.get_path("scripts"), name)
    return own if os.access(own, os.X_OK) else name


def _words(options):
    """codec="lz4", ro=True as codec=lz4,ro: what is False is left out."""
    for name, value in options.items():
        if value is not False and value is not None:
            word = name if value is True else f"{name}={value}"
            yield word.replace("\\", "\\\\").replace(",", "\\,")


@contextlib.contextmanager
def mount(source, mountpoint, **options):
    """Mounts SOURCE, with options as in bloscfs(1), and unmounts it at the end,
    when all that was written is stored.  Raises subprocess.CalledProcessError,
    after a line on standard error, if either fails.
    """
    paths = [os.path.abspath(path) for path in (source, mountpoint)]
    words = ",".join(_words(options))
    subprocess.run([_program("bloscfs"), *(["-o", words] if words else []),
                    *paths], check=True, stdin=subprocess.DEVNULL)
    try:
        yield paths[1]
    finally:
        subprocess.run([_program("bloscctl"), "umount", paths[1]], check=True)
