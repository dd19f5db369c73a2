# SPDX-License-Identifier: BSD-3-Clause
"""rows - the table of what is measured

A row: what is done (a method in work.py), on which data (kind, codec; the size
comes from data_size), in which state the stored bytes are, which columns stand
side by side, and what is wanted: ours / other at least (speed) or at most
(time), by the columns' names.
"""
from dataclasses import dataclass, field

from columns import (Blosc2, Bloscfs, Btrfs, Ceiling, Contiguous, Ext4,
                     Gocryptfs, Passthrough, Squashfuse)
from data import CORES, MIB

# The state of the files below before each sample.
WARM, COLD, HOT = "warm", "cold", "hot"

OURS, DIRECT = Bloscfs(), Bloscfs("direct_io")
CONTIGUOUS = Contiguous()
PLAIN, STOCK, STOCK1 = Ext4(), Blosc2(), Blosc2(1)
CEILING = Ceiling("page cache")
AHEAD = Ceiling("2 MiB readahead", "-r", "2048")
STORE = Ceiling("notify_store", "-s")
DIRECT_CEILING = Ceiling("direct_io", "-d")
CEILINGS = [CEILING, AHEAD, STORE, DIRECT_CEILING, Passthrough()]
PEERS = [Squashfuse(), Btrfs()]

# Bytes, or files of "names": (--tiny, quick, full)
SIZES = {"medium": (16 * MIB, 200 * MIB, 800 * MIB),
         "low": (16 * MIB, 200 * MIB, 800 * MIB),
         "four": (16 * MIB, 200 * MIB, 800 * MIB),
         "array": (16000000, 200000000, 1600000000),
         "names": (100, 1000, 10000), "none": (16 * MIB, 128 * MIB, 1024 * MIB)}
TINY, QUICK, FULL = 0, 1, 2


@dataclass
class Row:
    name: str
    title: str
    work: str
    kind: str
    codec: str
    state: str
    columns: list
    # (ours, other, ratio): of speeds, or of times if unit is one of time.
    wanted: list = field(default_factory=list)
    unit: str = "GB/s"
    # Too long for scripts/bench quick.
    slow: bool = False
    # The same in quick and full.
    size: int = 0

    def is_time(self):
        return self.unit != "GB/s"

    def value(self, seconds, size):
        scale = {"s": 1, "ms": 1e3, "us": 1e6}
        return seconds * scale[self.unit] if self.is_time() else \
            size / seconds / 1e9


ROWS = [
    Row("seq-warm-lz4", "in order, stored files cached, lz4", "sequential",
        "medium", "lz4", WARM, [PLAIN, STOCK1, OURS, *CEILINGS, *PEERS],
        [(OURS, AHEAD, 0.70)]),
    Row("seq-warm-zstd", "in order, stored files cached, zstd", "sequential",
        "medium", "zstd", WARM, [STOCK1, OURS, AHEAD],
        [(OURS, AHEAD, 0.62)]),
    Row("direct-warm-lz4", "the same with direct_io, lz4", "sequential",
        "medium", "lz4", WARM, [STOCK, DIRECT, DIRECT_CEILING],
        [(DIRECT, DIRECT_CEILING, 0.65)]),
    Row("direct-warm-zstd", "the same with direct_io, zstd", "sequential",
        "medium", "zstd", WARM, [STOCK, DIRECT, DIRECT_CEILING],
        [(DIRECT, DIRECT_CEILING, 0.65)]),
    Row("seq-hot", "in order, a second time", "sequential", "medium", "lz4",
        HOT, [PLAIN, OURS, CEILING]),
    Row("seq-cold", "in order, cold", "sequential", "medium", "lz4", COLD,
        [PLAIN, STOCK, OURS, DIRECT, *PEERS],
        [(OURS, PLAIN, 0.8), (OURS, STOCK, 1.5)]),
    Row("low-cold", "in order, cold, low entropy", "sequential", "low", "lz4",
        COLD, [PLAIN, STOCK, OURS, STORE, *PEERS],
        [(OURS, PLAIN, 1.8), (OURS, STORE, 0.8)]),
    Row("random-cold", "4 KiB at random, cold, median", "random", "medium",
        "lz4", COLD, [PLAIN, STOCK1, OURS, CEILING, *PEERS],
        [(OURS, STOCK1, 0.75)], "us"),
    Row("random-hot", "4 KiB at random, a second time, median", "random",
        "medium", "lz4", HOT, [PLAIN, OURS], [], "us"),
    Row("two-warm", "two readers of one file, stored files cached", "two",
        "medium", "lz4", WARM, [PLAIN, OURS, AHEAD]),
    Row("four-cold", "four readers of four files, cold", "four", "four",
        "lz4", COLD, [PLAIN, STOCK1, OURS, *PEERS], [(OURS, PLAIN, 1.0)]),
    Row("write-lz4", "write and fsync, lz4", "append", "none", "lz4", WARM,
        [PLAIN, STOCK, OURS, CONTIGUOUS, DIRECT, PEERS[1]],
        [(OURS, PLAIN, 1.0), (OURS, STOCK, 1.5), (CONTIGUOUS, OURS, 0.9)]),
    Row("write-zstd", "write and fsync, zstd", "append", "none", "zstd", WARM,
        [PLAIN, STOCK, OURS, DIRECT]),
    Row("overwrite-lz4", "2,000 writes of 4 KiB into 256 MiB, fsync, lz4",
        "overwrite", "none", "lz4", WARM, [PLAIN, STOCK, OURS, CONTIGUOUS],
        [(OURS, STOCK, 0.05), (CONTIGUOUS, OURS, 1.5)], "s", size=256 * MIB),
    Row("overwrite-zstd", "the same, zstd", "overwrite", "none", "zstd", WARM,
        [STOCK, OURS], [(OURS, STOCK, 0.05)], "s", slow=True, size=256 * MIB),
    Row("array-warm", "an array of 1000 x 1000 chunks, stored files cached",
        "array", "array", "lz4", WARM, [PLAIN, STOCK, OURS, DIRECT],
        [(OURS, STOCK, 0.95)]),
    Row("array-cold", "the same, cold", "array", "array", "lz4", COLD,
        [PLAIN, STOCK, OURS, DIRECT], [(OURS, STOCK, 1.1)]),
    Row("column", "a column of a fresh memmap", "column", "array", "lz4",
        WARM, [PLAIN, OURS, CEILING, AHEAD], [(OURS, PLAIN, 8)], "ms"),
    Row("save", "np.save and fsync, zstd", "save", "none", "zstd", WARM,
        [PLAIN, STOCK, OURS, DIRECT], [(OURS, STOCK, 1.1)]),
    Row("names-cold", "ls -lR of small files, cold", "names", "names", "lz4",
        COLD, [PLAIN, OURS, Gocryptfs()], [(OURS, PLAIN, 8)], "ms"),
    Row("names-hot", "ls -lR again", "names_again", "names", "lz4", WARM,
        [PLAIN, OURS, Gocryptfs()], [(OURS, PLAIN, 4)], "ms"),
    Row("find-cold", "find -size of small files, cold", "find", "names",
        "lz4", COLD, [PLAIN, OURS, Gocryptfs()], [(OURS, PLAIN, 8)], "ms",
        slow=True),
    Row("find-hot", "find -size again", "find_again", "names", "lz4", WARM,
        [PLAIN, OURS, Gocryptfs()], [(OURS, PLAIN, 4)], "ms", slow=True),
    Row("untar", "tar x of small files", "untar", "names", "lz4", WARM,
        [PLAIN, OURS, Gocryptfs(), PEERS[1]], [], "s"),
    Row("clone", "git clone of this repository", "clone", "none", "lz4", WARM,
        [PLAIN, OURS, Gocryptfs()], [], "s", size=MIB),
    Row("pgbench", f"pgbench, {CORES} cores, 1,000 transactions", "pgbench",
        "none", "lz4", WARM, [PLAIN, OURS], [(OURS, PLAIN, 5)], "s",
        slow=True, size=MIB),
]
