# SPDX-License-Identifier: BSD-3-Clause
"""rollback - whole files of a frame that do not belong together

An older chunk file, an older index, files of another frame: a mount shows the data of
the present index, or an error; and a frame that bloscctl verify calls sound has all
files with which its index was written.
"""
import filecmp
import json
import os
import pathlib
import random
import shutil
import subprocess

import numpy as np

from flips import TOLD
from mounting import BUILD, Mount
from scratch import INDEX, Scratch, chunk_file, index_entries

CHUNK = 1 << 16
PIECE = 4096


class Generation:
    """A copy of the frame @path as it was when the file held @content."""

    def __init__(self, path, name, content):
        self.path = pathlib.Path(f"past/{name}")
        shutil.copytree(path, self.path)
        self.content = content
        self.files = sorted(p.name for p in self.path.iterdir())
        self.needed = {chunk_file(self.path, e).name
                       for e in index_entries(self.path) if e >= 0}

    def is_in(self, frame):
        """Are all files of this generation in the directory @frame?"""
        return all(
            (frame / name).exists() and
            filecmp.cmp(self.path / name, frame / name, shallow=False)
            for name in self.needed)


def some_data(rng, nbytes):
    """Compressible chunks, some incompressible ones, and zeros."""
    parts = []
    for _ in range(0, nbytes, CHUNK):
        kind = rng.integers(0, 6)
        values = rng.integers(0, 9 if kind else 256, CHUNK, dtype="u1")
        parts.append(bytes(CHUNK) if kind == 5 else values.tobytes())
    return b"".join(parts)[:nbytes]


def change(f, content, step, rng):
    """Changes a file as programs do; returns its contents."""
    content = bytearray(content)
    if step % 5 == 0:
        # Write everything anew, with chunk ids from the first one on.
        f.truncate(0)
        content = bytearray(some_data(rng, 9 * CHUNK + 1000))
        os.pwrite(f.fileno(), content, 0)
    elif step % 5 == 3:
        more = some_data(rng, 2 * CHUNK)
        os.pwrite(f.fileno(), more, len(content))
        content += more
    else:
        for size in CHUNK, 2 * CHUNK, 700:
            at = int(rng.integers(0, len(content) - size))
            at -= at % CHUNK if size >= CHUNK else 0
            data = some_data(rng, size)
            os.pwrite(f.fileno(), data, at)
            content[at:at + size] = data
    return bytes(content)


def make_history(name, steps, seed):
    """The generations of a file, by one writer or several."""
    rng = np.random.default_rng(seed)
    frame = pathlib.Path(f"src/{name}.b2frame")
    past, content = [], b""
    os.makedirs("past", exist_ok=True)
    scratch = Scratch("chunksize=64k", "typesize=8", "codec=lz4")
    scratch.start()
    for step in range(steps):
        if step % 3 == 1:
            scratch.remount()
        with open(f"mnt/{name}", "r+b" if step else "w+b", buffering=0) as f:
            content = change(f, content, step, rng)
            os.fsync(f.fileno())
            past.append(Generation(frame, f"{name}-{step}", content))
    scratch.stop()
    return past


def damage(copy, history, others, rng):
    """Puts files of other generations into the frame @copy; returns their names, and
    the generation of the index."""
    base = rng.choice(history[1:])
    shutil.copytree(base.path, copy)
    owner, done = base, []
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
        source = rng.choice(rng.choice((history, history, others)))
        name = INDEX if rng.random() < 0.3 else rng.choice(source.files)
        target = name
        if name == INDEX:
            owner = source
        elif rng.random() < 0.3:
            target = rng.choice(sorted(base.needed))
        shutil.copyfile(source.path / name, copy / target)
        done.append(f"{source.path}/{name} as {target}")
    return f"{base.path} with {', '.join(done)}", owner


def expect(shown, copy, what, owner):
    """Reads piece by piece; True if all is the content of @owner."""
    whole = owner.is_in(copy)
    size = len(owner.content)
    told = 0
    fd = os.open(shown, os.O_RDONLY)
    assert os.fstat(fd).st_size == size, what
    for at in range(0, size, PIECE):
        try:
            got = os.pread(fd, PIECE, at)
        except OSError as error:
            assert error.errno in TOLD, (what, error)
            told += 1
            continue
        assert got == owner.content[at:at + PIECE], f"wrong bytes: {what}, {at}"
    os.close(fd)
    assert whole == (told == 0), (what, whole, told)
    return whole


def verify(copy):
    run = subprocess.run([BUILD / "bloscctl", "verify", "--json", copy],
                         capture_output=True, stdin=subprocess.DEVNULL)
    assert run.returncode in (0, 1), run.stderr
    return json.loads(run.stdout)["status"] == "ok"


def damage_many(rounds, seed, steps=10, batch=50):
    """Makes @rounds frames with a few foreign files."""
    rng = random.Random(seed)
    history = make_history("a", steps, seed)
    others = make_history("b", 3, seed + 1000)
    counts = {"told": 0, "a whole older frame": 0}
    for first in range(0, rounds, batch):
        os.mkdir("bad")
        made = {}
        for i in range(first, min(first + batch, rounds)):
            made[i] = damage(pathlib.Path(f"bad/{i}.b2frame"), history,
                             others, rng)
        with Mount("bad", "shown", "-o", "ro"):
            for i, (what, owner) in made.items():
                copy = pathlib.Path(f"bad/{i}.b2frame")
                whole = expect(f"shown/{i}", copy, what, owner)
                assert verify(copy) == whole, what
                counts["a whole older frame" if whole else "told"] += 1
        shutil.rmtree("bad")
    print(f"{rounds} damages: {counts}")
    assert counts["told"] > rounds // 3, counts
