# SPDX-License-Identifier: BSD-3-Clause
"""The runs of scripts/soak."""
import itertools
import os
import random
import signal
import sys

sys.path.insert(0, os.path.join(os.environ["B2F_SOURCE"], "tests", "mount"))
import flips  # noqa: E402
import arrays  # noqa: E402
import beside  # noqa: E402
import fsx_runs  # noqa: E402
import kill_names  # noqa: E402
import kills  # noqa: E402
import names  # noqa: E402
import packed  # noqa: E402
import power  # noqa: E402
import remote_churn  # noqa: E402
import remote_faults  # noqa: E402
import remote_kills  # noqa: E402
import remote_lies  # noqa: E402
import remote_mount_kills  # noqa: E402
import remote_outcomes  # noqa: E402
import remote_writers  # noqa: E402
import rollback  # noqa: E402
import rounds  # noqa: E402
import saves  # noqa: E402
import stock_writer  # noqa: E402
import suites  # noqa: E402
import ceph_server  # noqa: E402
import nginx  # noqa: E402
from mounting import run_one  # noqa: E402
from scratch import Scratch  # noqa: E402


def fsx(count, seed, contiguous=False, small=False):
    """(name, function) of each run."""
    for i, (options, size) in enumerate(fsx_runs.matrix()):
        yield " ".join(options), lambda: fsx_runs.run_one(
            options, size, count, seed + i, 50000, contiguous, small)


def name(count, seed):
    for options in names.matrix():
        yield " ".join(options), lambda: names.play(count, seed, options)


def play(count, seed, contiguous=False):
    """Readers of each form; then three frames, with different item sizes.

    For each round there are 200 reads beside a writer that locks the frame.
    """
    forms = [x for x in stock_writer.FORMS if "contiguous" in x or not contiguous]
    for form in forms:
        yield f"beside a writer, {form}", lambda: beside.play(
            form, count * 200 // len(forms), seed)
    for i in range(3):
        yield f"seed {seed + i}", lambda: rounds.play(
            count // 3 + 1, seed + i, contiguous=contiguous)


def kill(count, seed, contiguous=False, small=False):
    calls = range(3, 3 + count * 2 // 5)
    if small:
        yield "small files", lambda: kills.kill_small(
            [None] * (count // 2), seed)
        yield "small files at each call", lambda: kills.kill_small(
            range(1, 1 + count // 2), seed)
        yield "names of small files", lambda: kill_names.kill_all(seed)
        return
    yield "one file", lambda: kills.kill(count * 2 // 5, seed, contiguous)
    yield "at each call", lambda: kills.kill_at_calls(calls, seed, contiguous)
    yield "new files", lambda: kills.kill_creator(count - count * 4 // 5, seed)


def flip(count, seed, contiguous=False):
    for codec in "zstd", "lz4", "zlib", "blosclz":
        yield codec, lambda: flips.flip_many(
            *flips.make("a", codec, contiguous), count // 4, seed)


def damage(count, seed):
    """Twenty histories of a frame, in which some files are replaced by older ones."""
    for i in range(20):
        yield f"seed {seed + i}", lambda: rollback.damage_many(
            count // 20 + 1, seed + i)


def some_arrays(first, count):
    with Scratch() as scratch:
        arrays.run(range(first, first + count), scratch)


def array(count, seed):
    """A hundred at a time, in one directory."""
    for first in range(0, count, 100):
        yield f"from {seed * 1000000 + first}", lambda: some_arrays(
            seed * 1000000 + first, min(100, count - first))


def save(count, seed):
    for i, options in enumerate(saves.matrix()):
        yield " ".join(options), lambda: saves.play(count // 3 + 1, seed + i,
                                                    options)


def blp(count, seed):
    """A hundred at a time, each in a mount of its own."""
    for first in range(0, count, 100):
        yield f"seed {seed + first // 100}", lambda: packed.run_both(
            seed + first // 100, min(100, count - first))


def remote_server(count, seed):
    """Writers; kills; then a hundred reads at a time, each in a mount of its own."""
    yield f"writers, seed {seed}", lambda: remote_writers.race(
        count // 5, seed)
    yield f"bloscctl append, seed {seed}", lambda: remote_writers.race_programs(
        count // 20, seed)
    for i in range(max(1, count // 1000)):
        yield f"kills, seed {seed + i}", lambda: remote_kills.kill(seed + i)
        yield f"kills of mounts, seed {seed + i}", lambda: \
            remote_mount_kills.kill(seed + i)
    for first in range(0, count, 100):
        yield f"seed {seed + first}", lambda: remote_faults.play(
            min(100, count - first), seed + first)


def remote(count, seed, ceph=False):
    """With VersityGW, or the server of B2F_S3; then a server that lies; then Ceph."""
    if ceph and ceph_server.missing():
        sys.exit(f"scripts/soak remote: {ceph_server.missing()}")
    yield from remote_server(count, seed)
    for i in range(max(1, count // 500)):
        yield f"lies, seed {seed + i}", lambda: remote_lies.play(40, seed + i)
        yield f"lies to a mount, seed {seed + i}", lambda: \
            remote_lies.play_mount(seed + i)
    if ceph:
        with ceph_server.CephServer() as server:
            os.environ["B2F_S3"] = server.url
            for what, run in remote_server(count // 5, seed):
                yield f"Ceph, {what}", run


def outcome(count, seed):
    """All cases, or @count of them."""
    every = [*remote_outcomes.cases()]
    random.Random(seed).shuffle(every)
    for commit in remote_outcomes.COMMITS:
        some = [case for case in every[:count] if case[0] == commit]
        yield commit, lambda: remote_outcomes.play(some)


def churn(count, seed):
    """A thousand reads at a time, by mounts of their own."""
    for first in range(0, count, 1000):
        yield f"seed {seed + first}", lambda: remote_churn.play(
            min(1000, count - first), seed + first)


def balance(count, seed):
    if not nginx.find():
        sys.exit("scripts/soak balance: nginx is not installed")
    yield f"seed {seed}", lambda: remote_writers.race_programs(
        count, seed, remote_writers.balanced, remote_writers.pick_break)


def cut_power(kind, count, seed, options, contiguous):
    assert power.cut_power(kind, count, seed, 4, options,
                           contiguous=contiguous) == 0


def cut_at_each_write(kind, seed, options):
    assert power.cut_at_each_write(kind, seed, options) == 0


def cut(count, seed, contiguous=False, sparse=False):
    """Runs of a hundred cuts, with one set of options after the other.

    With @contiguous the first run has a cut at each write; with @sparse new files are
    directories from the start.
    """
    more = ("small=0",) * sparse
    sets = itertools.cycle(((), ("chunksize=64k", "typesize=8"),
                            ("writeback_cache",), ("direct_io",),
                            ("cachesize=2m", "dirtysize=512k")))
    if contiguous:
        yield "at each write", lambda: cut_at_each_write("ext4", seed, ())
    for first, options, kind in zip(range(0, count, 100), sets,
                                    itertools.cycle(("ext4", "xfs"))):
        yield f"{kind} {','.join(options + more)}", lambda: cut_power(
            kind, min(100, count - first), seed + first // 100, options + more,
            contiguous)


def suite(count, _):
    for name in [*suites.SUITES][:count]:
        yield name, lambda: suites.compare(name)


RUNS = {"arrays": (array, 2000), "balance": (balance, 200), "blp": (blp, 500),
        "churn": (churn, 10000), "fsx": (fsx, 1000000), "outcomes": (outcome, 1000),
        "names": (name, 30000), "rounds": (play, 1000), "kill": (kill, 200),
        "remote": (remote, 5000), "flips": (flip, 500),
        "damage": (damage, 650), "power": (cut, 1000),
        "saves": (save, 10000), "suites": (suite, 100)}
# The runs that each option concerns.
OPTIONS = {"--contiguous": (fsx, play, kill, flip, cut),
           "--small": (fsx, kill), "--sparse": (cut,), "--ceph": (remote,)}


def usage():
    takes = [f"{word}: with {'|'.join(x for x in RUNS if RUNS[x][0] in runs)}"
             for word, runs in OPTIONS.items()]
    sys.exit("\n".join([f"usage: scripts/soak {'|'.join(RUNS)} [COUNT [SEED]]",
                        *takes]))


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    words = [word for word in sys.argv[1:] if word not in OPTIONS]
    name, *numbers = words or [""]
    make, usual = RUNS.get(name, (None, 0))
    options = [word for word in OPTIONS if word in sys.argv]
    if not make or any(make not in OPTIONS[word] for word in options):
        usage()
    count = int(numbers[0]) if numbers else usual
    seed = int(numbers[1]) if len(numbers) > 1 else 1
    failed = 0
    for what, run in make(count, seed, **{x[2:]: True for x in options}):
        failed += not run_one(f"{name} {what}", run)
    print(f"{failed} failed" if failed else "all well")
    sys.exit(failed > 0)


main()
