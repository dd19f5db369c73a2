# SPDX-License-Identifier: BSD-3-Clause
"""syscalls - system calls that Python has no function for"""
import ctypes
import os

NOREPLACE, EXCHANGE = 1, 2
KEEP, PUNCH, COLLAPSE, ZERO = 1, 2, 8, 16
libc = ctypes.CDLL(None, use_errno=True)


def checked(result):
    if result:
        raise OSError(ctypes.get_errno(), "libc")


def renameat2(old, new, flags):
    checked(libc.renameat2(-100, os.fsencode(old), -100, os.fsencode(new),
                           flags))


def exchange(one, other):
    renameat2(one, other, EXCHANGE)


def fallocate(fd, mode, off, size):
    checked(libc.fallocate(fd, mode, ctypes.c_long(off), ctypes.c_long(size)))
