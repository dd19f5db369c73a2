# SPDX-License-Identifier: BSD-3-Clause
"""remote_faults - random reads of frames behind a server that often fails"""
import os
import random

import proxy
from mounting import data
from remote import ARRAY, RemoteMount, s3, save, save_array

SIZE = 3000000
# One request of so many fails; a read tries each request six times.
ONE_IN = 12


def pick(rng):
    """A temporary fault, or None."""
    if rng.randrange(ONE_IN):
        return None
    return rng.choice([proxy.status(500), proxy.status(503),
                       proxy.status(429), proxy.drop,
                       proxy.cut(rng.randrange(1, 5000)),
                       proxy.stall(rng.random() / 10)])


def fill(client):
    """The content of each name."""
    save(data(SIZE), "sparse.b2frame")
    save(data(SIZE, 1), "single.b2frame", contiguous=True)
    save_array("array.b2nd")
    for name in "sparse.b2frame", "single.b2frame", "array.b2nd":
        client.put_tree(name, f"bucket/d/{name}")
    client.put("bucket/d/plain", data(SIZE, 2))
    return {"sparse": data(SIZE), "single": data(SIZE, 1),
            "array": ARRAY.tobytes(), "plain": data(SIZE, 2)}


def read_somewhere(rng, name, content):
    off = rng.randrange(len(content))
    size = rng.choice([1, 4096, 100000, 1 << 20])
    fd = os.open(f"mnt/{name}", os.O_RDONLY)
    try:
        found = os.pread(fd, size, off)
    finally:
        os.close(fd)
    assert found == content[off:off + size], (name, off, size)


def play(count, seed):
    """Makes @count reads; none of them may fail."""
    rng = random.Random(seed)
    with s3() as (way, client):
        contents = fill(client)
        with RemoteMount("s3://bucket/d", "-o",
                         "cachesize=2m,direct_io,attr_timeout=0"):
            faults = random.Random(seed + 1)
            way.fault = lambda _: pick(faults)
            for _ in range(count):
                name = rng.choice([*contents])
                read_somewhere(rng, name, contents[name])
            assert sorted(os.listdir("mnt")) == sorted(contents)
            way.fault = None
