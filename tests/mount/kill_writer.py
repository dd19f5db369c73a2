#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""kill_writer - changes a file, and reports each step, until that fails

usage: kill_writer.py changes FILE SEED SIZE [inside|small]
       kill_writer.py files FOLDER SEED

changes: operations of all_operations(), and an fsync now and then.
files:   new files, each written and closed.

Lines on stdout: "d N": N operations (or files) are done; "s N": fsync has returned
after N operations.  It ends at an error of the file system.
"""
import itertools
import os
import random
import struct
import sys

FEW, MANY = 2 << 20, 4 << 20
# Around the size at which a small file becomes a directory.
SMALL_FEW, SMALL_MANY = 1, 90 << 10


def pattern(step, off, size):
    """Bytes that tell their step every 16 bytes."""
    record = struct.pack("<IIQ", step, step * 2654435761 % (1 << 32), off)
    return (record * (size // 16 + 1))[:size]


def all_operations(seed, size, inside=False, small=False):
    """(None, new size) or (offset, data), without an end.

    Steps of several writes each, far from each other.  @inside: the size stays.
    """
    few, many = (SMALL_FEW, SMALL_MANY) if small else (FEW, MANY)
    sizes = [5, 700, 4096, 20000] + [70000, 200000] * (not small)
    for step in itertools.count(1):
        rng = random.Random(seed << 32 | step)
        if not inside and rng.randrange(10) == 0:
            size = rng.randrange(few, many)
            yield None, size
        for _ in range(rng.randrange(2, 6)):
            n = rng.choice(sizes)
            off = rng.randrange(size - n if inside else size)
            size = max(size, off + n)
            yield off, pattern(step, off, n)


def file_content(seed, number):
    rng = random.Random(seed << 32 | number)
    return pattern(number, seed, rng.choice([0, 100, 70000, 300000]))


def tell(what, number):
    os.write(1, f"{what} {number}\n".encode())


def write_all(fd, data, off):
    done = 0
    while done < len(data):
        done += os.pwrite(fd, data[done:], off + done)


def change(path, seed, size, **how):
    fd = os.open(path, os.O_RDWR)
    rng = random.Random(seed)
    for number, (off, data) in enumerate(all_operations(seed, size, **how), 1):
        if off is None:
            os.ftruncate(fd, data)
        else:
            write_all(fd, data, off)
        tell("d", number)
        if rng.randrange(12) == 0:
            os.fsync(fd)
            tell("s", number)


def make_files(folder, seed):
    for number in itertools.count(1):
        fd = os.open(f"{folder}/{seed}-{number}", os.O_WRONLY | os.O_CREAT)
        write_all(fd, file_content(seed, number), 0)
        os.close(fd)
        tell("d", number)


def main():
    kind, path, seed, *rest = sys.argv[1:]
    try:
        if kind == "files":
            make_files(path, int(seed))
        else:
            change(path, int(seed), int(rest[0]),
                   **{word: True for word in rest[1:]})
    except OSError as error:
        print(error, file=sys.stderr)


if __name__ == "__main__":
    main()
