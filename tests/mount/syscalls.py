# SPDX-License-Identifier: BSD-3-Clause
"""syscalls - system calls that Python has no function for"""
import ctypes
import mmap
import os

NOREPLACE, EXCHANGE = 1, 2
KEEP, PUNCH, COLLAPSE, ZERO = 1, 2, 8, 16
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3,
                      ctypes.c_long]
libc.mmap.restype = ctypes.c_void_p
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
libc.sync_file_range.argtypes = [ctypes.c_int, *[ctypes.c_long] * 2, ctypes.c_int]


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


def map_all(fd, size):
    """Maps @fd without a second descriptor, which Python's mmap has and whose close is a
    commit; returns the address, and a function that unmaps it."""
    at = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE,
                   mmap.MAP_SHARED, fd, 0)
    return at, lambda: checked(libc.munmap(at, size))
