# SPDX-License-Identifier: BSD-3-Clause
"""a writer that is killed at any request leaves the frame as one commit made it"""
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import s3_server  # noqa: E402
from bloscctl import cat, ctl, workdir  # noqa: E402
from build import BLOSCCTL  # noqa: E402
from fake_s3 import FakeS3  # noqa: E402
from killing_proxy import KillingProxy  # noqa: E402

PIECE = os.urandom(30_000)
URL = "s3://bucket/x.b2frame"


def count_pieces():
    data = cat(URL)
    assert data == PIECE * (len(data) // len(PIECE))
    return len(data) // len(PIECE)


def check_kills(proxy, late):
    before, seen = count_pieces(), set()
    for nth in range(1, 100):
        killed = proxy.run([BLOSCCTL, "append", "-q", URL, "x"], nth, late)
        after = count_pieces()
        assert after - before in (0, 1), (nth, before, after)
        # An acknowledged append is there.
        assert killed or after == before + 1
        seen.add((killed, after - before))
        before = after
        if not killed:
            break
    ctl("verify", URL)
    assert (True, 0) in seen and (False, 1) in seen
    return seen


def check_orphans():
    """Only the leftovers of the killed programs are removed."""
    before = count_pieces()

    def repair(*options):
        out = ctl("repair", "--orphans", *options, URL)[0].decode()
        return [int(n) for n in re.findall(r"\b\d+\b", out.split(": ")[1])]

    number, nbytes, young = repair("-n")
    assert (number, nbytes) == (0, 0) and young > 0
    number, nbytes, younger, probes = repair("--older=0s")
    assert probes > 0
    assert (number, younger) == (young, 0) and nbytes > 0
    assert repair("--older=0s") == [0, 0, 0]
    assert count_pieces() == before
    ctl("verify", URL)
    ctl("repair", "--orphans", "--older=1x", URL, status=2)
    ctl("repair", "--older=1d", URL, status=2)
    ctl("repair", "--orphans", "x", status=1)


def make_frame():
    pathlib.Path("x").write_bytes(PIECE)
    ctl("compress", "-q", "--chunksize=32k", "x", "-o", "x.b2frame")


def main():
    with workdir(), FakeS3() as server, KillingProxy(server.port) as proxy:
        os.environ.update(s3_server.ENV, AWS_ENDPOINT_URL=proxy.url)
        make_frame()
        s3_server.Client(server.url).put_tree("x.b2frame", "bucket/x.b2frame")
        check_kills(proxy, late=False)
        # The killed request may have been the commit.
        assert (True, 1) in check_kills(proxy, late=True)
        assert count_pieces() > 2
        check_orphans()


if __name__ == "__main__":
    main()
