# SPDX-License-Identifier: BSD-3-Clause
"""stores.py - makes stores of python-blosc2, and tells the files that a mount shows of
them"""
import struct
import zipfile

import blosc2
import numpy as np

ARRAYS = {
    "small": np.arange(10),
    "big": np.arange(300000.),
    "g/sub": np.linspace(0, 1, 20000).reshape(100, 200),
    "g/h/text": np.array([b"one", b"three"]),
}
BYTES = b"hello" * 20000


def make_tree(path):
    """A TreeStore with ARRAYS, BYTES as g/bytes, and an attribute."""
    with blosc2.TreeStore(path, mode="w") as store:
        for key, array in ARRAYS.items():
            store[f"/{key}"] = array
        store["/g/bytes"] = blosc2.SChunk(data=BYTES)
        store.vlmeta["author"] = "someone"


def make_embed(path, **options):
    """An EmbedStore with the same; one key is a prefix of another."""
    store = blosc2.EmbedStore(path, mode="w", **options)
    for key, array in ARRAYS.items():
        store[f"/{key}"] = array
    store["/g/bytes"] = blosc2.SChunk(data=BYTES)
    store["/g"] = ARRAYS["small"]


def make_mixed(path):
    """A DictStore that keeps small values in embed.b2e."""
    with blosc2.DictStore(path, mode="w", threshold=1000) as store:
        for key, array in ARRAYS.items():
            store[f"/{key}"] = array


def zip_of(path, members, **options):
    with zipfile.ZipFile(path, "w", **options) as z:
        for name, data in members.items():
            z.writestr(name, data)


def patched(path, out, *patches):
    """A copy of the ZIP file, with bytes replaced: (where, offset, bytes).

    The places are "end", the end record; "entry" and "local", those of the
    first member.
    """
    raw = bytearray(open(path, "rb").read())
    end = raw.rindex(b"PK\5\6")
    at = {"end": end, "entry": struct.unpack_from("<I", raw, end + 16)[0],
          "local": 0}
    for where, offset, data in patches:
        place = at[where] + offset
        raw[place:place + len(data)] = data
    open(out, "wb").write(raw)
