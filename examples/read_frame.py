#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""read_frame.py - reads bytes of a frame through ctypes

usage: read_frame.py FRAME OFFSET LENGTH

Every function gets its types declared: by default ctypes passes an int, into which a
pointer does not fit.
"""
import ctypes
import os
import sys

AT_FDCWD = -100

lib = ctypes.CDLL("libb2frame.so.1")


def function(name, *types, result=ctypes.c_int):
    found = getattr(lib, name)
    found.argtypes = types
    found.restype = result
    return found


POINTER = ctypes.c_void_p
OUT = ctypes.POINTER(ctypes.c_void_p)
frame_open = function("b2f_frame_open", POINTER, ctypes.c_int,
                      ctypes.c_char_p, OUT)
frame_close = function("b2f_frame_close", POINTER, result=None)
runtime_new = function("b2f_runtime_new", POINTER, OUT)
runtime_free = function("b2f_runtime_free", POINTER, result=None)
file_open = function("b2f_file_open", POINTER, POINTER, OUT)
file_close = function("b2f_file_close", POINTER, result=None)
file_pread = function("b2f_file_pread", POINTER, POINTER, POINTER,
                      ctypes.c_size_t, ctypes.c_uint64,
                      result=ctypes.c_ssize_t)

# Zero is the default of every option; the buffer is longer than any struct of options.
DEFAULTS = ctypes.create_string_buffer(1024)


def check(result, path):
    if result < 0:
        raise OSError(-result, os.strerror(-result), path)
    return result


def read(path, off, nbytes):
    runtime, frame, file = (ctypes.c_void_p() for _ in range(3))
    try:
        check(runtime_new(DEFAULTS, runtime), path)
        check(frame_open(DEFAULTS, AT_FDCWD, os.fsencode(path), frame), path)
        check(file_open(runtime, frame, file), path)
        frame = None  # the file owns it now
        data = ctypes.create_string_buffer(nbytes)
        done = check(file_pread(file, None, data, nbytes, off), path)
        return data.raw[:done]
    finally:
        file_close(file)
        frame_close(frame)
        runtime_free(runtime)


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    sys.stdout.buffer.write(
        read(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
