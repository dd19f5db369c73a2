# SPDX-License-Identifier: BSD-3-Clause
"""remote_writers - writers that race for one frame behind a server that often fails

race() has writers of the library race, and race_programs() runs of bloscctl append:
every acknowledged change is there, once, and no other one that was not tried.  With
balanced() they race behind a load balancer that repeats an unanswered request at the
other of two gateways.
"""
import contextlib
import os
import pathlib
import random
import struct
import subprocess
import threading

import blosc2
import numpy as np

import proxy
from mounting import BUILD
from nginx import Balancer
from remote import s3
from s3_server import ACCESS, SECRET

WRITERS = 8
# One request of so many fails.
ONE_IN = 15
FRAME = "bucket/race.b2frame"
URL = f"s3://{FRAME}"
CHUNK = 65536


def pick(rng, request):
    """The fault for @request, a temporary one, or None."""
    if rng.randrange(ONE_IN):
        return None
    faults = [proxy.drop, proxy.status(500), proxy.status(503)]
    if request.method == "GET":
        faults += [proxy.cut(rng.randrange(1, 300)),
                   proxy.stall(rng.random() / 10)]
    elif request.method == "PUT":
        faults += [proxy.lose, proxy.lose, proxy.status(409)]
        # In a probe, 412 would mean that conditions are not kept.
        if "probe" not in request.path:
            faults.append(proxy.status(412))
    else:
        faults.append(proxy.lose)
    return rng.choice(faults)


class Faults:
    """@choose for requests of many threads."""

    def __init__(self, seed, choose=pick):
        self.rng, self.choose = random.Random(seed), choose
        self.lock = threading.Lock()

    def __call__(self, request):
        with self.lock:
            return self.choose(self.rng, request)


def cat():
    return subprocess.run([BUILD / "bloscctl", "cat", URL], check=True,
                          stdout=subprocess.PIPE).stdout


def contents(client):
    """The frame's bytes, as read by bloscctl and, after a download, by
    python-blosc2."""
    ours = cat()
    theirs = blosc2.open(str(client.get_tree(FRAME, "downloaded")),
                         mode="r")[:]
    assert ours == theirs
    subprocess.run([BUILD / "bloscctl", "verify", "-q", URL], check=True)
    return ours


def parse(said):
    """{word: [numbers]} of the lines of remote_writers."""
    found = {"list": [], "tried": [], "own": [], "done": []}
    for line in said.splitlines():
        word, *numbers = line.split()
        found[word].append([int(n) for n in numbers])
    return found


def check_list(data, acked, tried):
    numbers = np.frombuffer(data[:CHUNK], "<u4")
    there = numbers[1:1 + numbers[0]].tolist()
    assert len(set(there)) == len(there), "a commit was done twice"
    lost = set(acked) - set(there)
    assert not lost, f"lost: {sorted(lost)}"
    assert set(there) <= set(acked) | set(tried), "what was never tried"
    assert not numbers[1 + len(there):].any()


def check_own(data, chunk, acked, tried):
    numbers = np.frombuffer(data[chunk * CHUNK:(chunk + 1) * CHUNK], "<u4")
    assert (numbers == numbers[0]).all(), "a mix"
    # A later change may have happened without an acknowledgement.
    assert acked <= numbers[0] <= tried, (chunk, acked, numbers[0], tried)


def race(count, seed):
    """@count commits of the library."""
    with s3() as (way, client):
        way.fault = Faults(seed)
        run = subprocess.run(
            [BUILD / "remote_writers", way.url, ACCESS, SECRET, URL,
             str(WRITERS), str(count), str(seed)], text=True, check=False,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        nrequests = len(way.take())
        way.fault = None
        assert run.returncode == 0, run.stderr
        found = parse(run.stdout)
        commits, refused, errors = found["done"][0]
        print(f"  {commits} commits, {refused} refused, {errors} errors, "
              f"{nrequests} requests")
        assert commits >= count
        data = contents(client)
        check_list(data, [n for n, in found["list"]],
                   [n for n, in found["tried"]])
        for own in found["own"]:
            check_own(data, *own)


def record(writer, nth, rng):
    body = rng.randbytes(rng.randrange(100, 100000))
    return struct.pack("<4sIII", b"rec:", writer, nth, len(body)) + body


def records(data):
    """The (writer, nth) of all appended data, in order."""
    at = 0
    while at < len(data):
        magic, writer, nth, size = struct.unpack_from("<4sIII", data, at)
        assert magic == b"rec:", f"no record at {at}"
        at += 16 + size
        yield writer, nth
    assert at == len(data), "half a record"


class Appender(threading.Thread):
    """Runs bloscctl append until enough appends were acknowledged."""
    lock = threading.Lock()

    def __init__(self, number, seed, done, count):
        super().__init__()
        self.number, self.done, self.count = number, done, count
        self.rng = random.Random(seed * WRITERS + number)
        self.tried = []

    def run(self):
        nth = 0
        while len(self.done) < self.count:
            nth += 1
            path = pathlib.Path(f"record{self.number}")
            path.write_bytes(record(self.number, nth, self.rng))
            run = subprocess.run(
                [BUILD / "bloscctl", "append", "-q", URL, path], check=False,
                stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            assert SECRET not in run.stderr
            with self.lock:
                if run.returncode == 0:
                    self.done.append((self.number, nth))
                else:
                    self.tried.append((self.number, nth, run.stderr))


@contextlib.contextmanager
def one_way():
    """([the way to a server], a client of it)"""
    with s3() as (way, client):
        yield [way], client


@contextlib.contextmanager
def balanced():
    """The same with two gateways, behind nginx."""
    with s3() as (way, client), proxy.Proxy(way.upstream) as other, \
            Balancer(way.port, other.port) as balancer:
        os.environ["AWS_ENDPOINT_URL"] = balancer.url
        yield [way, other], client


def pick_break(rng, request):
    """One connection in so many ends; half of the requests are done before that."""
    if rng.randrange(ONE_IN):
        return None
    return rng.choice([proxy.drop, proxy.lose])


def race_programs(count, seed, ways=one_way, choose=pick):
    """@count appends."""
    with ways() as (ways, client):
        pathlib.Path("empty").touch()
        subprocess.run([BUILD / "bloscctl", "compress", "-q", "empty", "-o",
                        URL, f"--chunksize={CHUNK}"], check=True)
        for i, way in enumerate(ways):
            way.fault = Faults(f"{seed} {i}", choose)
        done = []
        writers = [Appender(i, seed, done, count) for i in range(WRITERS)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        nrequests = sum(len(way.take()) for way in ways)
        for way in ways:
            way.fault = None
        there = [*records(contents(client))]
        assert len(set(there)) == len(there), "an append was done twice"
        lost = set(done) - set(there)
        assert not lost, f"lost: {sorted(lost)}"
        tried = {(w, n): said for x in writers for w, n, said in x.tried}
        assert set(there) <= set(done) | set(tried)
        unsure = set(there) - set(done)
        lies = [tried[x] for x in unsure if "nothing was appended" in tried[x]]
        print(f"  {len(done)} appends, {len(tried)} refused, {len(unsure)} of "
              f"these done, {nrequests} requests")
        assert not lies, f"{len(lies)} said that nothing was: {lies[0]}"

