# SPDX-License-Identifier: BSD-3-Clause
"""remote - frames in an object store beside other ways: scripts/bench remote

  open         mount, or make a client; then the first 4 KiB, from the middle
  random       100 reads of 4 KiB of the open file
  random-warm  the same by a second program, with the cache of the first
  seq          all of it in order
  seq-warm     the same by a second program, with the cache of the first
  write        write, and wait until the server has it
  race         eight writers add to the end of one array or file, once
  million      open a frame of 1,000,000 chunks
  seq-long     as seq, of four times as much: a slow start counts less
  write-long   as write
"""
import contextlib
import json
import logging
import os
import shutil
import sys
import threading
import time
from dataclasses import dataclass, field

from data import MIB, drop_caches, hold_memory
from remote_columns import (Append, Blosc2, Bloscfs, Compress, Rclone, S3fs,
                            WritingBloscfs, ZarrFsspec, ZarrObstore)
from remote_curl import Curl, CurlObjects
from remote_limits import (READS, open_limits, race_limits, rate_limits,
                           read_limits, verdicts)
from remote_scene import DELAY, RATE, Scene, find
from report import choose, in_turns, machine, median, show, value_of
from work import offsets

RACERS, TURNS = 8, 4
# Bytes of each turn; the chunks of the array that zarr adds to are larger.
PIECE = 64 << 10
TRIES = 100

LZ4, ZSTD = Bloscfs("lz4"), Bloscfs("zstd")
SINGLE = Bloscfs("single", "bloscfs, lz4, contiguous")
MILLION = Bloscfs("million", "bloscfs")
PUT_LZ4, PUT_ZSTD = Compress("lz4"), Compress("zstd")
FILE_LZ4, FILE_ZSTD = WritingBloscfs("lz4"), WritingBloscfs("zstd")
CURL, OBJECTS = Curl(), CurlObjects("lz4")
APPEND = Append()
S3FS, RCLONE = S3fs(), Rclone()
FSSPEC, OBSTORE, BLOSC2 = ZarrFsspec(), ZarrObstore(), Blosc2()
FRAMES = [LZ4, ZSTD, SINGLE]
OTHERS = [S3FS, RCLONE, FSSPEC, OBSTORE, BLOSC2, CURL]
KEEPERS = [*FRAMES, S3FS, RCLONE, BLOSC2]
WRITERS = [PUT_LZ4, PUT_ZSTD, FILE_LZ4, FILE_ZSTD]


@dataclass
class Row:
    name: str
    title: str
    work: str
    columns: list
    unit: str
    # Operations in each sample.
    per: int = 1
    keeps: bool = False
    limits: list = field(default_factory=list)
    # Most rounds; 1 for rows of counts.
    rounds: int = 1000
    is_long: bool = False

    def value(self, seconds, size):
        return value_of(seconds / self.per, self.unit, size)


ROWS = [
    Row("open", "mount or connect, and read 4 KiB", "open_first",
        [*FRAMES, FILE_LZ4, *OTHERS], "ms"),
    Row("random", "read 4 KiB at random", "random",
        [*FRAMES, *OTHERS], "ms", per=READS, limits=read_limits(FRAMES, 2.2)),
    Row("random-warm", "read 4 KiB at random, from the local cache",
        "random", [*KEEPERS, CURL], "ms", per=READS, keeps=True,
        limits=read_limits(FRAMES, 0.2)),
    Row("seq", "read all in order", "sequential",
        [*FRAMES, *OTHERS, OBJECTS], "MB/s", limits=rate_limits(FRAMES, 0.9)),
    Row("seq-warm", "read all in order, from the local cache",
        "sequential", KEEPERS, "MB/s", keeps=True),
    Row("write", "write, until the server has it", "write",
        [*WRITERS, *OTHERS], "MB/s", limits=rate_limits(WRITERS, 0.8)),
    Row("race", f"{RACERS} writers, each adds {TURNS} times", "race",
        [APPEND, S3FS, FSSPEC, OBSTORE], "s", rounds=1,
        limits=race_limits([APPEND])),
    Row("million", "open a listed frame of 1,000,000 chunks",
        "open_million", [MILLION], "ms", limits=open_limits([MILLION])),
    Row("seq-long", "read four times as much in order", "sequential",
        [*FRAMES, CURL, OBJECTS], "MB/s", limits=rate_limits(FRAMES, 0.9),
        is_long=True),
    Row("write-long", "write four times as much", "write", [*WRITERS, CURL],
        "MB/s", limits=rate_limits(WRITERS, 0.8), is_long=True),
]


class Work:
    """The measured operations; each returns a result of Scene.measured()."""

    def __init__(self, scene):
        self.scene = scene

    def check(self, off, got):
        if off < self.scene.size:
            assert bytes(got) == self.scene.part(off, len(got)), off

    def open_first(self, column, keep):
        off = self.scene.size // 2 + 3 * 4096
        with contextlib.ExitStack() as stack:
            with self.scene.measured() as got:
                reader = stack.enter_context(column.start(self.scene, keep))
                reader.open()
                first = reader.read(off, 4096)
            reader.close()
        self.check(off, first)
        return got

    def random(self, column, keep):
        with column.start(self.scene, keep) as reader:
            reader.open()
            reader.hint_random()
            # The first read may do work that an open left.
            self.check(4096, reader.read(4096, 4096))
            with self.scene.measured() as got:
                offs = offsets(self.scene.size, READS)
                found = reader.read_each(offs, 4096)
            reader.close()
        assert len(found) == READS
        for off, part in zip(offs, found):
            self.check(off, part)
        return got

    def sequential(self, column, keep):
        with column.start(self.scene, keep) as reader:
            reader.open()
            with self.scene.measured() as got:
                n = reader.read_all(self.check)
            reader.close()
        assert n == self.scene.size, n
        return got

    def write(self, column, keep):
        self.scene.clean()
        return column.write(self.scene)

    def open_million(self, column, keep):
        with column.start(self.scene, keep) as reader:
            # Otherwise the open would ask for a listing, too.
            os.listdir(reader.path.parent)
            with self.scene.measured() as got:
                reader.open()
            with self.scene.measured() as more:
                assert len(reader.read(50 * 4096, 1)) == 1
            reader.close()
        got["first"] = more["requests"]
        return got

    def race(self, column, keep):
        """Races; "kept" is the number of pieces that are there in the end, each
        once."""
        self.scene.clean()
        column.begin_race(self.scene)
        failed = []
        with contextlib.ExitStack() as stack:
            racers = [stack.enter_context(column.racer(self.scene, i))
                      for i in range(RACERS)]
            threads = [threading.Thread(target=take_turns,
                                        args=(add, i, failed))
                       for i, add in enumerate(racers)]
            with self.scene.measured() as got:
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
        there = column.race_result(self.scene)
        whole = [there[i:i + PIECE] for i in range(0, len(there), PIECE)]
        got["pieces"] = RACERS * TURNS
        got["kept"] = sum(whole.count(piece(i, turn)) == 1
                          for i in range(RACERS) for turn in range(TURNS))
        got["refused"] = len(failed)
        return got


def piece(i, turn):
    """A piece of eight repeated bytes that no other piece has."""
    return (i * TURNS + turn + 1).to_bytes(8, "little") * (PIECE // 8)


def take_turns(add, i, failed):
    """A writer that is refused tries again."""
    for turn in range(TURNS):
        for _ in range(TRIES):
            try:
                if add(piece(i, turn)):
                    break
            except Exception as e:  # noqa: BLE001 - of any of the libraries
                failed.append(str(e))
                continue
            failed.append("refused")


def sample(row, column, scene, is_first):
    # A comma would end the option that names it.
    keep = scene.top / "keep" / column.name.replace(", ", "-").replace(
        " ", "-") if row.keeps else None
    work = Work(scene)
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
        if is_first:
            getattr(work, row.work)(column, keep)
        drop_caches()
    os.sync()
    scene.warm(column.prefix)
    hold_memory(min(2 * scene.size, 512 * MIB))
    return getattr(work, row.work)(column, keep)


def measure(row, scene, rounds):
    """{column name: [samples]}, and why columns are missing."""
    found = in_turns(row.columns, min(rounds, row.rounds), scene.build,
                     lambda column, first: sample(row, column, scene, first))
    shutil.rmtree(scene.top / "keep", ignore_errors=True)
    return found


def traffic(taken):
    text = (f"{median(taken, 'requests'):5.0f} requests, "
            f"{median(taken, 'received') / 1e6:8.2f} MB down, "
            f"{median(taken, 'sent') / 1e6:8.2f} up, "
            f"{median(taken, 'busy'):.1f} cores busy")
    if "kept" in taken[0]:
        text += (f"; {min(s['kept'] for s in taken)} of {taken[0]['pieces']} "
                 f"kept, {median(taken, 'refused'):.0f} refused")
    return text


def report(row, scene, samples, missing):
    """Prints the row and returns it for the JSON."""
    shown = show(row, scene.size, samples, missing, traffic)
    shown["limits"] = [*verdicts(row.limits, scene, samples, CURL.name)]
    for v in shown["limits"]:
        print(f"  {v['column']}: {v['value']:.2f} {v['what']}; wanted at "
              f"{v['at']} {v['limit']}: "
              f"{'reached' if v['reached'] else 'not reached'}", flush=True)
    return shown


class Run:
    """Runs all rows; writes the JSON after each."""

    def __init__(self, args, build, top):
        self.args, self.build, self.top = args, build, top
        self.rounds = args.rounds or (1 if args.tiny else 3)
        self.load = os.getloadavg()[0]
        self.ratios, self.done = {}, []

    def play(self, rows, size, is_long):
        if not rows:
            return
        top = self.top / f"{size}"
        with Scene(self.build, top, size, is_long) as scene:
            print(f"\n{size // MIB} MiB behind {DELAY} ms and {RATE} MB/s, "
                  f"{self.rounds} rounds; ratios {scene.ratios}")
            self.ratios.update(scene.ratios)
            for row in rows:
                self.done.append(report(row, scene,
                                        *measure(row, scene, self.rounds)))
                self.save()
        shutil.rmtree(top)

    def save(self):
        with open(self.args.json, "w") as f:
            json.dump({"machine": machine(), "load_before": self.load,
                       "delay": DELAY, "rate": RATE, "rounds": self.rounds,
                       "ratios": self.ratios, "rows": self.done}, f, indent=1)


def main(args, build, top):
    if not find():
        sys.exit("scripts/bench remote: no S3 server (scripts/setup says why)")
    # asyncio logs clients that are dropped.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    rows = choose({row.name: row for row in ROWS}, args.names, "row")
    size = 8 * MIB if args.tiny else 256 * MIB
    start, run = time.monotonic(), Run(args, build, top)
    run.play([row for row in rows if not row.is_long], size, False)
    run.play([row for row in rows if row.is_long], 4 * size, True)
    print(f"\n{args.json} has all samples, of {time.monotonic() - start:.0f} s;"
          " scripts/bench plot draws them")
