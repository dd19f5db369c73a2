# SPDX-License-Identifier: BSD-3-Clause
"""remote_outcomes - results of a commit, by the answer to its PUT

Tries each commit of mounts and of bloscctl with each answer to the PUT of its index,
done or not: the frame is whole, it is the old or the new one, and the client reports
that, or that the outcome is unknown.
"""
import errno
import itertools
import os
import pathlib
import random
import shutil
import subprocess

import proxy
from mounting import BUILD, data, wait_until
from remote import RemoteMount, s3, save

OLD, NEW, MORE = data(200000), data(150000, 2), data(50000, 1)
UNKNOWN = "not known whether"

ANSWERS = {
    "garbage": proxy.garbage, "lost": proxy.drop, "silent": proxy.silent,
    **{str(code): proxy.status(code) for code in (
        301, 302, 303, 304, 307, 308, 400, 403, 404, 408, 409, 412, 429, 500,
        501, 502, 503, 504, 505, 507)}}


def write(path, mode, content):
    """Writes @content; returns when it is stored."""
    with open(path, mode, buffering=0) as f:
        f.write(content)
        os.fsync(f.fileno())


def grow(name):
    with open(f"mnt/{name}", "r+b", buffering=0) as f:
        f.truncate(len(OLD) + 70000)
        os.fsync(f.fileno())


class Refused(Exception):
    """The messages of bloscctl."""


def ctl(*args):
    run = subprocess.run([BUILD / "bloscctl", *args], stdin=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        raise Refused(run.stderr)


def url(name):
    return f"s3://bucket/d/{name}.b2frame"


# Content before and after, and the call.  "src" exists in each case.
COMMITS = {
    "append": (OLD, OLD + MORE, lambda n: write(f"mnt/{n}", "ab", MORE)),
    "growth": (OLD, OLD + bytes(70000), grow),
    "new file": (None, NEW, lambda n: write(f"mnt/{n}", "wb", NEW)),
    "cp over": (OLD, NEW, lambda n: shutil.copyfile("mnt/src", f"mnt/{n}")),
    "rename over": (OLD, NEW, lambda n: os.rename(f"mnt/{n}.from", f"mnt/{n}")),
    "bloscctl append": (OLD, OLD + MORE,
                        lambda n: ctl("append", "-q", url(n), "more")),
    "bloscctl compress": (None, NEW,
                          lambda n: ctl("compress", "-q", "new", "-o", url(n))),
    "bloscctl copy": (None, NEW, lambda n: ctl("copy", "-q", url("src"), url(n))),
    "bloscctl copy over": (OLD, NEW, lambda n: ctl("copy", "-qf", url("src"),
                                                   url(n))),
}

# Operations that are not repeated by themselves.
AT_ONCE = {name for name in COMMITS if name.startswith(("bloscctl", "rename"))}


def cases():
    """All cases: (commit, answer, fault, how often)."""
    for commit, (answer, fault) in itertools.product(COMMITS, ANSWERS.items()):
        yield commit, answer, fault, 1
        yield commit, f"done, {answer}", proxy.done(fault), 1
    for commit in COMMITS:
        yield commit, "twice", proxy.twice, 1
        yield commit, "late", proxy.late(0.05), 1
        yield commit, "later than that", proxy.late(0.5), 1
        for answer in "412", "403", "500", "lost", "garbage":
            yield commit, f"for ever {answer}", ANSWERS[answer], 1000


def sample(seed):
    """Cases with each commit and each answer at least once, without the slow ones."""
    rng = random.Random(seed)
    every = [case for case in cases() if "silent" not in case[1] and
             (case[3] == 1 or case[1].endswith("412"))]
    rng.shuffle(every)
    answers, commits = set(), set()
    for case in every:
        if case[0] not in commits or case[1] not in answers:
            commits.add(case[0])
            answers.add(case[1])
            yield case


class Bucket:
    def __init__(self, way, client):
        self.way, self.client = way, client
        for name, content in ("old", OLD), ("src", NEW):
            save(content, f"{name}.b2frame")
        pathlib.Path("new").write_bytes(NEW)
        pathlib.Path("more").write_bytes(MORE)
        client.put_tree("src.b2frame", "bucket/d/src.b2frame")

    def content(self, name):
        """The frame's data, which has to be whole; None: no frame."""
        if not self.client.names(f"bucket/d/{name}.b2frame/"):
            return None
        if "chunks.b2frame" not in self.client.names(f"bucket/d/{name}.b2frame/"):
            return None
        subprocess.run([BUILD / "bloscctl", "verify", "-q", url(name)],
                       check=True)
        return subprocess.run([BUILD / "bloscctl", "cat", url(name)], check=True,
                              stdout=subprocess.PIPE).stdout

    def attempt(self, mount, do, name):
        """(success reported by the client, None: unknown; its message)"""
        before = len(mount.log())
        try:
            do(name)
        except Refused as e:
            return (None if UNKNOWN in str(e) else False), str(e)
        except OSError as e:
            assert e.errno in (errno.EIO, errno.ETIMEDOUT, errno.ECONNRESET,
                               errno.EACCES, errno.ESTALE, errno.EREMOTE,
                               errno.ENOSPC, errno.EOPNOTSUPP, errno.EBUSY,
                               errno.EEXIST, errno.ENOENT, errno.EPROTO), e
            wait_until(lambda: len(mount.log()) > before, f"a line on {e}")
            said = f"{e}; {mount.log()[before:]}"
            return (None if UNKNOWN in said else False), said
        return True, "done"

    def check(self, mount, name, case):
        commit, answer, fault, times = case
        old, new, do = COMMITS[commit]
        if old is not None:
            self.client.put_tree("old.b2frame", f"bucket/d/{name}.b2frame")
        if commit == "rename over":
            write(f"mnt/{name}.from", "wb", NEW)
        left = [times]

        def pick(request):
            if request.method != "PUT" or not request.path.startswith(
                    f"/bucket/d/{name}.b2frame/chunks") or not left[0]:
                return None
            left[0] -= 1
            return fault
        self.way.fault = pick
        word, said = self.attempt(mount, do, name)
        self.way.fault = None
        wait_until(lambda: not self.way.nlate, "what comes late")
        now = self.content(name)
        what = f"{commit}, {answer}: {said}"
        assert left[0] < times, f"{what}: no index was put"
        assert now in (old, new), what
        # A mount keeps data that it could not store, and stores them when it can.
        if word or (word is False and commit in AT_ONCE):
            assert (now == new) == word, what
        return word


def play(all_cases):
    with s3() as (way, client):
        bucket = Bucket(way, client)
        options = "attr_timeout=0,entry_timeout=0,refresh=1"
        with RemoteMount("s3://bucket/d", "-o", options) as mount:
            words = [bucket.check(mount, f"f{i}", case)
                     for i, case in enumerate(all_cases)]
        print(f"  {len(words)} commits: {words.count(True)} done, "
              f"{words.count(False)} not done, {words.count(None)} not known")
