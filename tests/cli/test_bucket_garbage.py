# SPDX-License-Identifier: BSD-3-Clause
"""unused objects are removed from an object store, and nothing else"""
import json
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import s3_server  # noqa: E402
from bloscctl import cat, ctl, workdir  # noqa: E402
from fake_s3 import FakeS3, Object  # noqa: E402
from proxy import Proxy  # noqa: E402

URL = "s3://bucket/top/x.b2frame"
NAPPENDS = 20


def chunks(server, below="/bucket/top/x.b2frame/"):
    """The number of chunk objects, and their bytes."""
    found = [v for k, v in server.objects.items()
             if k.startswith(below) and k.endswith(".chunk")]
    return len(found), sum(len(o.body) for o in found)


def named():
    """The number of chunks in the frame."""
    return json.loads(ctl("info", "--json", URL)[0])["nchunks"]


def let_a_minute_pass(server):
    """Sets the times in all notes to long ago."""
    for found in server.objects.values():
        for name, note in found.notes.items():
            found.notes[name] = re.sub("@[0-9A-F]+", "@1", note)


def check_appends(server):
    """Each append replaces the last chunk, and ends before the old one is due."""
    data = os.urandom(700_000)
    pathlib.Path("x").write_bytes(data)
    ctl("compress", "-q", "x", "-o", URL)
    for i in range(NAPPENDS):
        more = os.urandom(1000 + i * 75_000)
        data += more
        pathlib.Path("more").write_bytes(more)
        ctl("append", "-q", URL, "more")
    number, nbytes = chunks(server)
    assert number == named() + NAPPENDS
    let_a_minute_pass(server)
    ctl("append", "-q", URL, "x")
    data += data[:700_000]
    # The chunks that this commit replaced stay for their time.
    now, left = chunks(server)
    assert now == named() + 1
    print(f"{nbytes:,} bytes with {NAPPENDS} chunks of no use, then {left:,}")
    let_a_minute_pass(server)
    ctl("compress", "-q", "x", "-o", "s3://bucket/top/y.b2frame")
    ctl("append", "-q", URL, "more")
    assert chunks(server)[0] == named() + 1
    assert cat(URL) == data + more
    ctl("verify", "-q", URL)
    # A copy over the frame removes all of its chunks.
    ctl("compress", "-q", "x", "-o", "x.b2frame")
    ctl("copy", "-qf", "x.b2frame", URL)
    assert chunks(server)[0] == named() and cat(URL) == data[:700_000]
    ctl("append", "-q", URL, "more")


def repaired(*options):
    out = ctl("repair", "--orphans", "-r", *options, "s3://bucket/top")[0]
    return sorted(out.decode().splitlines())


def check_repair(server):
    """Removes all orphans below a prefix; other objects stay."""
    before = {k: v.body for k, v in server.objects.items()
              if ".chunk" not in k or "/y.b2frame/" in k}
    kept = len(server.objects) - 1
    old = Object(b"b2f", {})
    old.time = 1
    for key in ("x.b2frame/7FFF0000.chunk", "gone/00000000.chunk",
                ".b2frame-probe-0000000000000001", "deep/down/00000000.chunk",
                "deep/down/plain", "gone/.b2frame-probe-0000000000000002"):
        server.objects["/bucket/top/" + key] = old
    server.objects["/bucket/top/.b2frame-probe-3"] = Object(b"b2f", {})
    said = repaired("-n", "--older=1h")
    assert len(server.objects) == kept + 8
    assert [line.split(": ", 1)[0] for line in said] == [
        "s3://bucket/top/gone", URL, "s3://bucket/top"], said
    assert "remove 0 orphaned" in said[2] and "1 probes" in said[2], said
    # The probe of the server's conditions removes the chunk at the top.
    assert repaired("--older=1h") == [
        line.replace("would remove", "removed") for line in said[:2]]
    # Chunks that may be in use, and objects that are no frames.
    assert len(server.objects) == kept + 4
    assert "/bucket/top/deep/down/00000000.chunk" in server.objects
    assert before.items() <= {
        k: v.body for k, v in server.objects.items()}.items()
    ctl("verify", "-q", URL, "s3://bucket/top/y.b2frame")
    repaired("--older=0s")
    assert chunks(server)[0] == named()
    assert "0 orphaned chunks" in repaired()[0]
    ctl("repair", "-r", URL, status=2)
    ctl("repair", "--orphans", "-r", "s3://", status=1)


def check_rm(server):
    ctl("rm", "-q", "s3://bucket/top/y.b2frame")
    assert not any("/y.b2frame/" in k for k in server.objects)
    assert "no such" in ctl("rm", "s3://bucket/top/y.b2frame", status=1)[1]
    assert ctl("rm", "-f", "s3://bucket/top/y.b2frame")[1] == ""
    plain = "s3://bucket/top/deep/down/plain"
    assert "not a Blosc2 frame" in ctl("rm", plain, status=1)[1]
    server.objects["/bucket/top/z.b2frame/chunks.b2frame"] = \
        Object(b"no index", {})
    assert "too few" in ctl("rm", "s3://bucket/top/z.b2frame", status=1)[1]
    assert "web servers" in ctl("rm", "http://localhost/x", status=1)[1]
    ctl("rm", "s3://bucket", status=1)
    ctl("compress", "-q", "--contiguous", "x", "-o", "x.b2f")
    ctl("copy", "-q", "x.b2f", "s3://bucket/top/x.b2f")
    # The unreadable frame is a failure; the others are found.
    out = ctl("rm", "-rn", "s3://bucket", status=1)[0].decode().split()
    assert out == ["s3://bucket/top/x.b2f", URL], out
    before = len(server.objects)
    ctl("rm", "-r", "s3://bucket/top/x.b2frame", "s3://bucket/top/x.b2f")
    assert len(server.objects) < before
    assert sorted(server.objects) == [
        "/bucket/top/deep/down/00000000.chunk", "/bucket/top/deep/down/plain",
        "/bucket/top/z.b2frame/chunks.b2frame"]
    ctl("rm", "-f", plain, "s3://bucket/top/z.b2frame")
    assert list(server.objects) == ["/bucket/top/deep/down/00000000.chunk"]


def check_interrupted_rm(server):
    """The frame is copied again while its chunks are being removed."""
    url, gone = "s3://bucket/w.b2frame", 0
    ctl("compress", "-q", "--chunksize=4k", "x", "-o", "w.b2frame")
    ctl("copy", "-q", "w.b2frame", url)
    n = chunks(server, "/bucket/w.b2frame/")[0]

    def copy_again(request):
        nonlocal gone
        gone += request.method == "DELETE" and ".chunk" in request.path
        if gone == n // 4:
            ctl("copy", "-q", "w.b2frame", url)

    with Proxy(server.port) as way:
        way.fault = copy_again
        ctl("rm", "-q", url, env={**os.environ, "AWS_ENDPOINT_URL": way.url})
    ctl("verify", "-q", url)
    assert chunks(server, "/bucket/w.b2frame/")[0] == n


def main():
    with workdir(), FakeS3() as server:
        os.environ.update(s3_server.ENV, AWS_ENDPOINT_URL=server.url)
        check_appends(server)
        check_repair(server)
        check_rm(server)
        check_interrupted_rm(server)


if __name__ == "__main__":
    main()
