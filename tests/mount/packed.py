# SPDX-License-Identifier: BSD-3-Clause
"""packed - random files of Bloscpack, read through a mount and bloscctl"""
import os
import pathlib
import random
import subprocess
import sys

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from mounting import BUILD, Mount
from packing import bloscpack, many, make_some, text_of, unpack


def check_pieces(path, data, rng):
    """Reads at random places, in random order."""
    fd = os.open(path, os.O_RDONLY)
    for _ in range(10):
        at = rng.randrange(len(data) + 1)
        n = rng.choice((1, 100, 5000, 70000))
        assert os.pread(fd, n, at) == data[at:at + n], (path, at, n)
    os.close(fd)


def check_array(path, array):
    loaded = np.load(f"{path}.npy")
    assert loaded.dtype == array.dtype and loaded.shape == array.shape
    assert loaded.tobytes() == array.tobytes()
    assert loaded.flags.f_contiguous == array.flags.f_contiguous
    mapped = np.load(f"{path}.npy", mmap_mode="r")
    assert mapped.tobytes() == array.tobytes()


def check_file(path, data, array, meta):
    assert os.stat(path).st_size == len(data), path
    check_pieces(path, data, random.Random(path))
    assert pathlib.Path(path).read_bytes() == data, path
    if array is not None:
        check_array(path, array)
    else:
        assert not os.path.exists(f"{path}.npy")
    if meta is not None:
        text = os.getxattr(path, "user.blosc2.vlmeta.bloscpack")
        assert text.endswith(text_of(meta))


def run(seed, count):
    """Makes and reads @count files."""
    os.mkdir("src")
    made = {f"f{i}": make_some(rng, f"src/f{i}.blp")
            for i, rng in enumerate(many(seed, count))}
    with Mount("src", "mnt"):
        assert set(os.listdir("mnt")) == set(made)
        for name, (data, array, meta) in made.items():
            check_file(f"mnt/{name}", data, array, meta)
    return made


def append_to(path, data, array, meta, rng):
    """Appends to the file, which Bloscpack reads afterwards."""
    more = data[:rng.randrange(len(data) + 1)]
    if array is not None:
        if array.ndim == 0 or array.size == 0:
            return
        axis = array.ndim - 1 if np.isfortran(array) else 0
        row = array.nbytes // array.shape[axis]
        more = more[:len(more) // row * row]
    subprocess.run([BUILD / "bloscctl", "append", "-q", path], input=more,
                   check=True)
    if array is None:
        assert unpack(path) == (data + more, meta), path
    else:
        back = bloscpack.unpack_ndarray_from_file(str(path))
        order = "F" if np.isfortran(array) else "C"
        assert back.tobytes(order) == data + more, path
    assert subprocess.check_output(
        [BUILD / "bloscctl", "cat", path]) == data + more, path


def run_both(seed, count):
    """Like run(); also reads the files by bloscctl, and appends to them."""
    rng = random.Random(seed)
    for name, (data, array, meta) in run(seed, count).items():
        path = f"src/{name}.blp"
        assert subprocess.check_output(
            [BUILD / "bloscctl", "cat", path]) == data, path
        subprocess.run([BUILD / "bloscctl", "verify", path], check=True,
                       stdout=subprocess.DEVNULL)
        append_to(path, data, array, meta, rng)
