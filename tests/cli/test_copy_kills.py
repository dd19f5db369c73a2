# SPDX-License-Identifier: BSD-3-Clause
"""a copy that is killed at any request leaves no frame, and is resumed"""
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import s3_server  # noqa: E402
from bloscctl import cat, ctl, workdir  # noqa: E402
from build import BLOSCCTL  # noqa: E402
from fake_s3 import FakeS3  # noqa: E402
from killing_proxy import KillingProxy  # noqa: E402
from proxy import status  # noqa: E402

DATA = os.urandom(400_000)
S3 = "s3://bucket"
NAME = "x.b2frame"
COPY = [BLOSCCTL, "copy", "-q", "-T4"]


def fill(top):
    pathlib.Path("x").write_bytes(top)
    ctl("compress", "-q", "-f", "--chunksize=32k", "x", "-o", NAME)


def frames(place):
    return {pathlib.Path(e["name"]).name
            for e in json.loads(ctl("ls", "--json", place)[0])}


def puts(proxy):
    return [r.path for r in proxy.take("PUT") if r.path.endswith(".chunk")]


def check_upload(proxy, late):
    """Kills copies at the first request, the second ..., until one is complete."""
    dst, killed, nth = f"{S3}/up-{late}", True, 0
    while killed:
        nth += 3
        killed = proxy.run([*COPY, NAME, f"{dst}/{NAME}"], nth, late)
        # The lost answer may be that to the PUT of the index.
        assert late or frames(dst) == (set() if killed else {NAME})
    assert cat(f"{dst}/{NAME}") == DATA
    ctl("verify", f"{dst}/{NAME}")
    assert nth > 6
    # Another copy has nothing to do.
    proxy.take()
    ctl("copy", "-q", NAME, f"{dst}/{NAME}")
    assert not puts(proxy)


def check_download(proxy, late):
    killed, nth, kept = True, 0, 0
    top = pathlib.Path(f"down-{late}")
    top.mkdir()
    while killed:
        nth += 2
        killed = proxy.run([*COPY, f"{S3}/{NAME}", top / NAME], nth, late)
        assert killed == (frames(top) == set())
        kept = max(kept, *(len(list(p.glob("*.chunk")))
                           for p in [*top.glob(".bloscctl-*/new"), top]))
    assert kept and nth > 4
    assert cat(str(top / NAME)) == DATA
    assert [p.name for p in top.iterdir()] == [NAME]


def check_replace(proxy):
    """At any time the old frame or the new one is there, whole."""
    old, dst = DATA[:200_000], f"{S3}/old.b2frame"
    fill(old)
    ctl("copy", "-q", NAME, dst)
    fill(DATA)
    killed, nth = True, 0
    while killed:
        nth += 3
        killed = proxy.run([*COPY, "-f", NAME, dst], nth, False)
        now = cat(dst)
        assert now in (old, DATA) and (killed or now == DATA)
    ctl("verify", dst)


class Change:
    """Does something at the @nth request, once."""
    def __init__(self, proxy, nth, do):
        proxy.take()
        self.proxy, self.nth, self.do = proxy, nth, do
        self.before = proxy.fault
        proxy.fault = self

    def __call__(self, request):
        if request.nth == self.nth:
            self.do()

    def end(self):
        self.proxy.fault = self.before


def check_whole(place, good, other):
    if good:
        assert cat(place) in (DATA, other)
    else:
        ctl("info", place, status=1)


def check_changes(proxy, client):
    """A source that changes meanwhile is copied in its old version, or not at all."""
    key, other = f"bucket/{NAME}", DATA[::-1]
    fill(other)
    new = {p.name: p.read_bytes() for p in pathlib.Path(NAME).iterdir()}
    fill(DATA)
    old = {p.name: p.read_bytes() for p in pathlib.Path(NAME).iterdir()}

    def put(files):
        for name in sorted(files, key=lambda n: n == "chunks.b2frame"):
            client.put(f"{key}/{name}", files[name])
    for nth in range(2, 20, 4):
        put(old)
        change = Change(proxy, nth, lambda: put(new))
        good = run(("copy", "-q", "-T2", f"{S3}/{NAME}", f"c-{nth}"))
        change.end()
        check_whole(f"c-{nth}", good, other)
    # The same for a local source.
    for nth in range(6, 20, 4):
        fill(DATA)
        change = Change(proxy, nth, lambda: fill(other))
        url = f"{S3}/s-{nth}"
        good = run(("copy", "-q", "-T2", NAME, url))
        change.end()
        check_whole(url, good, other)


def check_rivals(proxy, client):
    """If two programs make a frame of one name at once, at most one succeeds."""
    fill(DATA[:200_000])
    rival = {p.name: p.read_bytes() for p in pathlib.Path(NAME).iterdir()}
    fill(DATA)
    index = rival.pop("chunks.b2frame")
    done = set()
    for nth in range(4, 28, 4):
        key = f"bucket/r-{nth}"

        def put(name, data, key=key):
            return client.request("PUT", f"{key}/{name}", data,
                                  If_None_Match="*")[0] == 200

        def make(put=put):
            # Like all writers, the rival gives up if a chunk of that name exists.
            if all(put(name, data) for name, data in rival.items()):
                put("chunks.b2frame", index)
        change = Change(proxy, nth, make)
        good = run(("copy", "-q", "-T2", NAME, f"s3://{key}"))
        change.end()
        if not good and not run(("info", f"s3://{key}")):
            # If both failed, a second copy succeeds.
            ctl("copy", "-q", NAME, f"s3://{key}")
        ctl("verify", f"s3://{key}")
        now = cat(f"s3://{key}")
        assert now in (DATA, DATA[:200_000]), nth
        done.add(now == DATA)
    assert done == {True, False}


def check_resumed(proxy):
    """Existing chunks are neither sent nor fetched again."""
    dst = f"{S3}/resumed"
    chunks = len(list(pathlib.Path(NAME).glob("*.chunk")))

    def refuse(method, part):
        proxy.fault = lambda r: status(403) \
            if r.method == method and part in r.path else None
    for part, left_over in ("/chunks.b2frame", 0), ("/00000005.chunk", 1):
        url = dst + part.replace("/", "-")
        refuse("PUT", part)
        err = ctl("copy", "-T1", NAME, url, status=1)[1]
        assert "denies" in err and err.count("\n") == 1, err
        proxy.fault = None
        before = len(puts(proxy))
        ctl("copy", "-q", NAME, url)
        # The first copy ended at that chunk, or some chunks later.
        after = puts(proxy)
        assert before >= 5 and len(after) <= chunks - 5 + left_over, after
        assert part != "/chunks.b2frame" or not after
        assert cat(url) == DATA
        ctl("verify", url)
    refuse("GET", "/00000005.chunk")
    ctl("copy", "-q", "-T1", f"{dst}-chunks.b2frame", "resumed", status=1)
    proxy.fault = None
    assert not pathlib.Path("resumed").exists() and "resumed" not in frames(".")
    proxy.take()
    ctl("copy", "-q", f"{dst}-chunks.b2frame", "resumed")
    gets = {r.path for r in proxy.take("GET") if r.path.endswith(".chunk")}
    assert len(gets) <= chunks - 5, gets
    assert cat("resumed") == DATA


def run(args):
    """Returns whether bloscctl succeeds; a failure has to name each chunk."""
    done = subprocess.run([BLOSCCTL, *args], capture_output=True)
    err = done.stderr.decode()
    assert done.returncode in (0, 1), err
    assert not done.returncode or 0 < len(err.splitlines()) < 5, err
    return done.returncode == 0


def main():
    with workdir(), FakeS3() as server, KillingProxy(server.port) as proxy:
        os.environ.update(s3_server.ENV, AWS_ENDPOINT_URL=proxy.url)
        client = s3_server.Client(server.url)
        fill(DATA)
        for late in False, True:
            check_upload(proxy, late)
        ctl("copy", "-q", NAME, f"{S3}/{NAME}")
        for late in False, True:
            check_download(proxy, late)
        check_replace(proxy)
        check_changes(proxy, client)
        check_rivals(proxy, client)
        fill(DATA)
        check_resumed(proxy)


if __name__ == "__main__":
    main()
