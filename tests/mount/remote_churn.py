# SPDX-License-Identifier: BSD-3-Clause
"""remote_churn - three mounts replace files, and read them: no read mixes two
versions"""
import errno
import os
import random
import threading
import time

from remote import RemoteMount, s3

MOUNTS = ("mnt", "mnt2", "mnt3")
FILES = ("a", "b", "c", "d")
LONGEST = 1 << 20
# The open file was replaced, or was just removed.
GONE = (errno.ESTALE, errno.ENOENT)
# Seconds without any read after which the test hangs.
PATIENCE = 120


class Churn:
    def __init__(self, count, seed):
        self.count, self.seed = count, seed
        self.lock = threading.Lock()
        self.version = self.nreads = self.ngone = 0
        self.wrong = []

    def is_done(self):
        return self.nreads >= self.count or self.wrong

    def next_version(self):
        with self.lock:
            self.version += 1
            return self.version

    def write(self, at, rng):
        """Replaces a file by rename, as editors do, and at times in place."""
        version = self.next_version()
        content = version.to_bytes(8, "little") * (rng.randrange(LONGEST) // 8)
        name = rng.choice(FILES)
        with open(f"{at}/new.{at}", "wb") as f:
            f.write(content)
            os.fsync(f.fileno())
        os.rename(f"{at}/new.{at}", f"{at}/{name}")

    def read(self, at, rng):
        """Checks that each read() has bytes of one version."""
        fd = os.open(f"{at}/{rng.choice(FILES)}", os.O_RDONLY)
        try:
            for _ in range(rng.randrange(1, 5)):
                whole = rng.randrange(2)
                off = 0 if whole else rng.randrange(LONGEST // 8) * 8
                got = os.pread(fd, LONGEST if whole else 65536, off)
                found = {got[i:i + 8] for i in range(0, len(got), 8)}
                with self.lock:
                    self.nreads += 1
                if len(found) > 1 or bytes(8) in found:
                    self.wrong.append(f"{at}: {sorted(found)[:4]} at {off}")
        finally:
            os.close(fd)

    def run(self, what, at, seed):
        rng = random.Random(seed)
        while not self.is_done():
            try:
                what(at, rng)
            except OSError as e:
                if e.errno not in GONE:
                    self.wrong.append(f"{what.__name__} {at}: {e}")
                with self.lock:
                    self.ngone += 1


def wait(churn):
    before, since = -1, time.monotonic()
    while not churn.is_done():
        time.sleep(0.1)
        if churn.nreads != before:
            before, since = churn.nreads, time.monotonic()
        assert time.monotonic() - since < PATIENCE, "nothing is read any more"


def play(count, seed):
    """At least @count reads."""
    churn = Churn(count, seed)
    for at in MOUNTS[1:]:
        os.makedirs(at, exist_ok=True)
    with s3(), RemoteMount("s3://bucket/d"), \
            RemoteMount("s3://bucket/d", at=MOUNTS[1]), \
            RemoteMount("s3://bucket/d", at=MOUNTS[2]):
        threads = [threading.Thread(target=churn.run, args=(
            what, at, f"{seed} {what.__name__} {at} {i}"), daemon=True)
            for at in MOUNTS for what, n in ((churn.write, 1), (churn.read, 2))
            for i in range(n)]
        for thread in threads:
            thread.start()
        wait(churn)
        for thread in threads:
            thread.join(PATIENCE)
    print(f"  {churn.nreads} reads of {churn.version} versions, {churn.ngone} "
          f"times a file had gone")
    assert not churn.wrong, f"{len(churn.wrong)}: {churn.wrong[:5]}"
