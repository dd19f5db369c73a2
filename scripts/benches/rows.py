# SPDX-License-Identifier: BSD-3-Clause
"""rows - the table of measurements

A row has a method in work.py, its data (kind, codec), the state of the stored bytes,
the columns, and limits: ours / other at least (speed) or at most (time).  A method that
measures several things at once has a figure for each of them.
"""
from dataclasses import dataclass, field

from columns import (Bindfs, BlockBytes, Blosc2, Bloscfs, Btrfs, Ceiling,
                     Contiguous, Ext4, Gocryptfs, IndexAnew, Made,
                     NameCeiling, PackingCeiling, PackingNameCeiling,
                     Passthrough, Squashfuse)
from data import CORES, MIB
from report import TIMES, value_of

# The state of the files below before each sample; FRESH: a new filesystem.
WARM, COLD, HOT, FRESH = "warm", "cold", "hot", "fresh"

OURS, DIRECT = Bloscfs(), Bloscfs("direct_io")
LZ4, ZSTD1 = Bloscfs("codec=lz4"), Bloscfs("codec=zstd", "clevel=1")
LZ4_DIRECT, WRITEBACK = (Bloscfs("codec=lz4", "direct_io"),
                         Bloscfs("writeback_cache"))
CONTIGUOUS, MADE, INDEX = Contiguous(), Made(), IndexAnew()
BLOCK = BlockBytes()
PLAIN, STOCK, STOCK1 = Ext4(), Blosc2(), Blosc2(nthreads=1)
STOCK_LZ4, STOCK_ZSTD1, STOCK_ZSTD = (Blosc2("lz4"), Blosc2("zstd", 1),
                                      Blosc2("zstd"))
MEMORY, MEMORY_WRITEBACK = Ceiling(""), Ceiling("writeback_cache", "-w")
PACKING = PackingCeiling()
AHEAD = Ceiling("2 MiB readahead", "-r", "2048")
STORE = Ceiling("notify_store", "-s")
DIRECT_CEILING = Ceiling("direct_io", "-d")
CEILINGS = [MEMORY, AHEAD, STORE, DIRECT_CEILING, Passthrough()]
SQUASHFUSE, BTRFS, BINDFS, GOCRYPTFS = (Squashfuse(), Btrfs(), Bindfs(),
                                        Gocryptfs())
PEERS = [SQUASHFUSE, BTRFS]
# Each call through these mounts reaches the files of one directory.
LAYERS = [PLAIN, OURS, BINDFS, GOCRYPTFS]
NAMES, PACKED_NAMES = NameCeiling(), PackingNameCeiling()

# Bytes, files of "names" and "tar", chunks: (--tiny, front, quick, full)
TINY, FRONT, QUICK, FULL = range(4)
STREAM = (16 * MIB, 400 * MIB, 200 * MIB, 800 * MIB)
SIZES = {"medium": STREAM, "low": STREAM, "four": STREAM,
         "array": (16000000, 400000000, 200000000, 1600000000),
         "names": (100, 1000, 1000, 10000), "tar": (100, 3000, 1000, 3000),
         "new": (16 * MIB, 256 * MIB, 128 * MIB, 1024 * MIB),
         "opened": (100, 15000, 2000, 15000)}
ROUNDS = {TINY: 1, FRONT: 3, QUICK: 3, FULL: 5}


@dataclass
class Figure:
    name: str
    title: str
    key: str = "seconds"
    unit: str = "GB/s"
    # (ours, other, ratio): of speeds, or of times if unit is one of time.
    wanted: list = field(default_factory=list)

    def is_time(self):
        return self.unit in TIMES

    def value(self, got, size):
        return value_of(got, self.unit, size)


@dataclass
class Row:
    work: str
    kind: str
    codec: str
    state: str
    columns: list
    figures: list
    # Too long for scripts/bench quick.
    slow: bool = False
    # One size for all levels except --tiny, or a size for each level.
    size: object = 0
    # The method opens the column itself.
    opens: bool = False

    @property
    def name(self):
        return self.figures[0].name


def row(name, title, work, kind, codec, state, columns, wanted=(),
        unit="GB/s", figures=(), key="seconds", **more):
    """A row by its first figure."""
    return Row(work, kind, codec, state, columns,
               [Figure(name, title, key, unit, list(wanted)), *figures],
               **more)


def written(content, title):
    """Rows that write and sync a file, and tell its room on the disk."""
    return row(f"write-{content}", f"write and fsync: {title}", "append",
               f"new-{content}", "", FRESH,
               [PLAIN, MEMORY, PACKING, OURS, LZ4, ZSTD1, STOCK_LZ4,
                STOCK_ZSTD1],
               [(OURS, STOCK_LZ4, 0.6), (LZ4, PLAIN, 0.7)], figures=[
                   Figure(f"ratio-{content}", f"size / bytes on disk: {title}",
                          "ratio", "x", [(OURS, STOCK_ZSTD1, 1)])])


def p99(name):
    return [Figure(f"{name}-p99", "the slowest of a hundred", "p99", "us")]


def synced(name, title, nchunks, kind="chunks", columns=()):
    return row(name, f"write 4 KiB and fsync, a frame of {title}",
               "sync_one", kind, "", WARM, [PLAIN, OURS, *columns], [], "ms",
               [Figure(f"{name}-reopen", "close, open, read the first byte",
                       "reopen", "ms"),
                Figure(f"{name}-first", "the first fsync after an open",
                       "first", "ms")], size=nchunks)


def opened(content):
    return row(f"open-{content}", f"{content} frames that are open at once, "
               "descriptors limited", "open_files", f"opened-{content}",
               "lz4", WARM, LAYERS[:3], unit="files", key="opened")


def arrays(name, kind, title):
    """Rows of an array that C-Blosc2 has made."""
    return [
        row(f"{name}-warm", f"{title}, stored files cached", "array", kind,
            "lz4", WARM, [PLAIN, STOCK, OURS, DIRECT], [(OURS, STOCK, 0.95)]),
        row(f"{name}-cold", f"{title}, cold", "array", kind, "lz4", COLD,
            [PLAIN, STOCK, OURS, DIRECT], [(OURS, STOCK, 1.1)]),
        row(f"{name}-column", f"{title}: a column of a fresh memmap", "column",
            kind, "lz4", WARM, [PLAIN, OURS, AHEAD], [(OURS, PLAIN, 8)], "ms"),
        row(f"{name}-column-random", f"{title}: the same, MADV_RANDOM",
            "column_random", kind, "lz4", WARM, [PLAIN, OURS, AHEAD],
            unit="ms"),
    ]


ROWS = [
    row("life", "write a file of floats and fsync", "life", "new-noise", "",
        FRESH, [PLAIN, BTRFS, STOCK_LZ4, STOCK_ZSTD1, OURS, LZ4], [], "GB/s",
        [Figure("life-read", "read it, cold", "read"),
         Figure("life-edit", "2,000 writes of 4 KiB at random, and fsync",
                "edit", "s", [(LZ4, STOCK_LZ4, 0.09)]),
         Figure("life-stored", "bytes on disk / size", "share", "x")],
        slow=True, opens=True),
    row("seq-warm-lz4", "in order, stored files cached, lz4", "sequential",
        "medium", "lz4", WARM, [PLAIN, STOCK1, OURS, *CEILINGS, *PEERS],
        [(OURS, AHEAD, 0.70)]),
    row("seq-warm-zstd", "in order, stored files cached, zstd", "sequential",
        "medium", "zstd", WARM, [STOCK1, OURS, AHEAD], [(OURS, AHEAD, 0.62)]),
    row("direct-warm-lz4", "the same with direct_io, lz4", "sequential",
        "medium", "lz4", WARM, [STOCK, DIRECT, DIRECT_CEILING],
        [(DIRECT, DIRECT_CEILING, 0.65)]),
    row("direct-warm-zstd", "the same with direct_io, zstd", "sequential",
        "medium", "zstd", WARM, [STOCK, DIRECT, DIRECT_CEILING],
        [(DIRECT, DIRECT_CEILING, 0.65)]),
    row("seq-hot", "in order, a second time", "sequential", "medium", "lz4",
        HOT, [PLAIN, OURS, MEMORY]),
    row("seq-cold", "in order, cold, lz4", "sequential", "medium", "lz4", COLD,
        [PLAIN, STOCK, OURS, DIRECT, *PEERS],
        [(OURS, PLAIN, 0.8), (OURS, STOCK, 1.5)]),
    row("seq-cold-zstd", "in order, cold, zstd", "sequential", "medium",
        "zstd", COLD, [PLAIN, STOCK, OURS, DIRECT]),
    row("low-cold", "in order, cold, low entropy", "sequential", "low", "lz4",
        COLD, [PLAIN, STOCK, OURS, STORE, *PEERS],
        [(OURS, PLAIN, 1.8), (OURS, STORE, 0.8)]),
    row("random-cold", "4 KiB at random, cold", "random",
        "medium", "lz4", COLD,
        [PLAIN, BLOCK, STOCK1, OURS, MADE, MEMORY, *PEERS],
        [(OURS, STOCK1, 0.7), (MADE, STOCK1, 0.5)], "us", p99("random-cold")),
    row("random-hot", "4 KiB at random, a second time", "random", "medium",
        "lz4", HOT, [PLAIN, OURS], [], "us", p99("random-hot")),
    row("two-warm", "two readers of one file, stored files cached", "two",
        "medium", "lz4", WARM, [PLAIN, OURS, AHEAD]),
    row("four-cold", "four readers of four files, cold", "four", "four",
        "lz4", COLD, [PLAIN, STOCK1, OURS, *PEERS], [(OURS, PLAIN, 1.0)]),
    written("noise", "float64, a slope with noise"),
    written("walk", "float64, a random walk"),
    written("float32", "float32, a random walk"),
    written("int16", "int16, a sound"),
    written("text", "text, a log"),
    row("write-ways", "write and fsync, lz4, other ways", "append",
        "new-walk", "", FRESH, [PLAIN, LZ4, CONTIGUOUS, LZ4_DIRECT, BTRFS],
        [(CONTIGUOUS, LZ4, 0.9)]),
    row("write-4k", "write in pieces of 4 KiB, and fsync", "append_4k",
        "new-walk", "", FRESH, [PLAIN, MEMORY, MEMORY_WRITEBACK, OURS, LZ4,
                                WRITEBACK],
        [(OURS, MEMORY, 0.7)], "MB/s", size=256 * MIB),
    row("overwrite-lz4", "2,000 writes of 4 KiB into 256 MiB, fsync, lz4",
        "overwrite", "new-walk", "", FRESH,
        [PLAIN, STOCK_LZ4, LZ4, CONTIGUOUS],
        [(LZ4, STOCK_LZ4, 0.09), (CONTIGUOUS, LZ4, 1.5)], "s", size=256 * MIB),
    row("overwrite-zstd", "the same, zstd", "overwrite", "new-walk", "", FRESH,
        [STOCK_ZSTD, OURS], [(OURS, STOCK_ZSTD, 0.09)], "s", slow=True,
        size=256 * MIB),
    *arrays("array", "array-tiles", "an array of 1000 x 1000 chunks"),
    *arrays("array-default", "array-default",
            "an array of python-blosc2's own chunks"),
    row("save", "np.save and fsync, zstd", "save", "new-walk", "", FRESH,
        [PLAIN, STOCK_ZSTD, OURS, DIRECT], [(OURS, STOCK_ZSTD, 1.1)]),
    synced("fsync-hundred", "100 chunks", 100),
    synced("fsync-million", "1,000,000 chunks", 1000000, columns=[INDEX]),
    synced("fsync-million-mixed", "1,000,000 chunks in no order", 1000000,
           "chunks-mixed", [INDEX]),
    row("commit", "a transaction of SQLite", "commit", "new-walk", "", FRESH,
        LAYERS, [], "ms",
        [Figure("commit-wal", "the same, WAL", "wal", "ms"),
         Figure("log", "a line to a log, and fsync", "log", "ms"),
         Figure("append-close", "open, a line, close", "close", "ms")],
        size=MIB),
    row("names-cold", "ls -lR of small files, cold", "names", "names", "lz4",
        COLD, [PLAIN, OURS, GOCRYPTFS], [(OURS, PLAIN, 8)], "ms"),
    row("names-hot", "ls -lR again", "names_again", "names", "lz4", WARM,
        [PLAIN, OURS, GOCRYPTFS], [(OURS, PLAIN, 4)], "ms"),
    row("find-cold", "find -size of small files, cold", "find", "names",
        "lz4", COLD, [PLAIN, OURS, GOCRYPTFS], [(OURS, PLAIN, 8)], "ms",
        slow=True),
    row("find-hot", "find -size again", "find_again", "names", "lz4", WARM,
        [PLAIN, OURS, GOCRYPTFS], [(OURS, PLAIN, 4)], "ms", slow=True),
    row("many", "create files of 100 bytes in one directory", "many",
        "new-walk", "", FRESH, [*LAYERS, NAMES], [(OURS, PLAIN, 8)], "s",
        [Figure("many-hot", "ls -f of them, again", "hot", "ms",
                [(OURS, PLAIN, 4)]),
         Figure("many-again", "ls -f after a file was created", "again",
                "ms"),
         Figure("many-cold", "ls -f, cold", "cold", "ms"),
         Figure("many-remove", "rm -r", "remove", "s")],
        opens=True, size=(100, 20000, 2000, 100000)),
    opened("small"), opened("sparse"),
    row("untar-floats", "tar x of files of 4 KiB, floats", "untar",
        "tar-medium", "", FRESH, [*LAYERS, NAMES, PACKED_NAMES, BTRFS],
        [(OURS, BINDFS, 0.5)], "s"),
    row("untar-text", "tar x of files of 4 KiB, text", "untar", "tar-text", "",
        FRESH, [*LAYERS, NAMES, PACKED_NAMES, BTRFS],
        [(OURS, BINDFS, 0.5)], "s"),
    row("cat-again", "cat of these files, again", "cat_again", "tar-text", "",
        FRESH, [*LAYERS, BTRFS], [(OURS, BINDFS, 0.5)], "ms"),
    row("clone", "git clone of this repository", "clone", "new-walk", "",
        FRESH, LAYERS, [(OURS, GOCRYPTFS, 1)], "s", size=MIB),
    row("pgbench", f"pgbench, {CORES} cores, 1,000 transactions", "pgbench",
        "new-walk", "", FRESH, [PLAIN, OURS], [(OURS, PLAIN, 5)], "s",
        slow=True, size=MIB),
]
# The rows of docs/speed.md and of the pictures: scripts/bench front.
SHOWN = """life seq-warm-lz4 seq-warm-zstd seq-cold random-cold
    array-warm array-default-warm array-default-column
    array-default-column-random write-noise write-walk write-float32
    write-int16 write-text write-4k save fsync-hundred
    fsync-million fsync-million-mixed commit names-cold many open-small untar-floats untar-text
    clone""".split()
