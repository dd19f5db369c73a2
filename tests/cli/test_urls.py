# SPDX-License-Identifier: BSD-3-Clause
"""bloscctl on frames of a web server works as on files, and writes nothing there"""
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys

import blosc2
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from build import BLOSCCTL  # noqa: E402
from bloscctl import cat, ctl, info, workdir  # noqa: E402
from http_server import HttpServer  # noqa: E402
from proxy import Proxy, status  # noqa: E402

ARRAY = np.arange(600_000).reshape(600, 1000)
DATA = ARRAY.tobytes()


def make_frames(root):
    """One of each kind below @root, as the same data or array."""
    root.mkdir()
    (root / "x").write_bytes(DATA)
    ctl("compress", "-q", root / "x", "-o", root / "x.b2frame",
        "--chunksize=1m")
    ctl("compress", "-q", root / "x", "-o", root / "x.b2f", "--contiguous")
    blosc2.asarray(ARRAY, urlpath=str(root / "a.b2nd"), contiguous=True,
                   chunks=(100, 500), blocks=(20, 100))
    with blosc2.TreeStore(str(root / "s.b2z"), mode="w") as store:
        store["/g/a"] = ARRAY
        store["/g/b#1"] = store["/g/b?2"] = ARRAY[:2]


def check_reads(root, url):
    for name in "x.b2frame", "x.b2f", "x.b2frame/", "x.b2frame/chunks.b2frame":
        if not name.endswith("chunks.b2frame"):
            assert cat(f"{url}/{name}") == DATA, name
    assert cat("--offset=1000", "--length=5", f"{url}/x.b2frame") == DATA[1000:1005]
    assert cat(f"{url}/s.b2z/g/a")[-len(DATA):] == DATA
    for name in "x.b2frame", "x.b2f", "a.b2nd":
        here, there = info(root / name), info(f"{url}/{name}")
        assert here["nbytes"] == there["nbytes"] == len(DATA)
        assert here["nchunks"] == there["nchunks"]
    for name in "x.b2frame", "x.b2f", "a.b2nd":
        ctl("verify", f"{url}/{name}")
    assert ctl("slice", "--raw", f"{url}/a.b2nd", "3:5,::7", "-o", "-")[0] == \
        ARRAY[3:5, ::7].tobytes()
    listed = json.loads(ctl("ls", "--json", f"{url}/x.b2frame")[0])
    assert [(e["storage"], e["nbytes"]) for e in listed] == \
        [("sparse", len(DATA))]
    listed = json.loads(ctl("ls", "-r", "--json", f"{url}/s.b2z")[0])
    assert {e["name"] for e in listed} == \
        {f"{url}/s.b2z/g/{name}.b2nd" for name in ("a", "b#1", "b?2")}


def check_copies(url):
    ctl("decompress", "-q", f"{url}/x.b2frame")
    assert pathlib.Path("x").read_bytes() == DATA
    ctl("decompress", "-q", f"{url}/x.b2f", "-o", "y")
    assert pathlib.Path("y").read_bytes() == DATA
    ctl("convert", "-q", f"{url}/x.b2f")
    assert cat("x.b2frame") == DATA
    ctl("convert", "-q", f"{url}/x.b2frame", "-o", "z.b2f")
    assert cat("z.b2f") == DATA
    ctl("verify", "x.b2frame", "z.b2f")


def refused(*args, status=1):
    """The message of a run that fails, in one line."""
    err = ctl(*args, status=status)[1]
    assert err.count("\n") == 1, err
    return err


def check_refusals(url):
    assert "no such" in refused("info", f"{url}/none.b2frame").lower()
    assert refused("info", "http://127.0.0.1:1/x") == \
        "bloscctl: http://127.0.0.1:1/x: cannot connect to 127.0.0.1:1: " \
        "refused\n"
    assert "cannot connect to none.invalid: unknown host" in \
        refused("info", "http://none.invalid/x")
    assert "s3://bu/x: bucket names have 3 to 63 characters" in \
        refused("info", "s3://bu/x")
    said = refused("info", "http://me:secret@127.0.0.1/x")
    assert "passwords in URLs are refused" in said and "secret" not in said
    said = refused("ls", "s3://me:secret@bucket/x")
    assert "keys in URLs are refused" in said and "secret" not in said, said
    for args in ("ls", "s3://"), ("copy", "z.b2f", "s3://"):
        assert refused(*args) == \
            "bloscctl: s3://: the name of a bucket is missing\n"
    for args in (["info"], ["ls"], ["compress", "x", "-o"], ["copy", "x"],
                 ["copy", "z.b2f"]):
        assert refused(*args, "ftp://host/x") == \
            "bloscctl: ftp://host/x: URLs begin with s3://, http:// or " \
            "https://\n"
    assert "secret" not in refused("cat", f"{url}/none?token=secret")
    for place in f"{url}/none", "http://127.0.0.1:1/x":
        assert "secret" not in refused("ls", f"{place}?token=secret")
    assert "not written to" in refused("compress", "x", "-o", f"{url}/y")
    assert "write to servers" in refused("convert", "z.b2f", "-o",
                                         f"{url}/y.b2f")
    refused("compress", f"{url}/x")
    ctl("decompress", "--rm", f"{url}/x.b2f", status=1)
    for args in (("append", f"{url}/x.b2frame", "x"),
                 ("seal", f"{url}/x.b2frame"), ("repair", f"{url}/x.b2frame"),
                 ("convert", "--rm", f"{url}/x.b2frame", "-o", "q")):
        ctl(*args, status=1)
    assert not os.path.exists("http:")


def check_no_path(url):
    """A result made from a URL replaces no local file."""
    pathlib.Path("other").write_bytes(b"mine" * 1000)
    for name, kind in ("x.b2frame", "sparse"), ("x.b2f", "contiguous"):
        ctl("compress", "-qf", f"--format={kind}", "other", "-o", name)
        for args in (("recompress",), ("recompress", "-f"), ("seal",),
                     ("repair",), ("repair", "--zero-damaged"),
                     ("recompress", "-r"), ("seal", "-r"),
                     ("convert", "--rm"), ("convert", "--rm", "-f")):
            err = refused(*args, f"{url}/{name}")
            assert f"{url}/{name}" in err, (args, err)
            assert cat(name) == b"mine" * 1000, args
    for args in (("slice", "a.b2nd", "3"), ("repair", "x.b2frame"),
                 ("cat", "x.b2f")):
        ctl(*args, "-o", f"{url}/new", status=1 if args[0] != "cat" else 2)
    ctl("recompress", "-q", f"{url}/x.b2frame", "-o", "new.b2frame")
    assert cat("new.b2frame") == DATA
    assert not os.path.exists("http:")


def check_paths_like_urls(url):
    """A local directory whose path looks like the URL is not used."""
    there = pathlib.Path(url)
    there.mkdir(parents=True)
    for name in "x.b2frame", "x.b2f":
        pathlib.Path("other").write_bytes(b"mine" * 1000)
        ctl("compress", "-q", "other", "-o", f"./{url}/{name}",
            "--format=" + ("sparse" if name == "x.b2frame" else "contiguous"))
    for args in ("seal",), ("recompress", "-f"), ("repair",), ("append",):
        for name in "x.b2frame", "x.b2f":
            ctl(*args, f"{url}/{name}", status=1)
            assert cat(f"./{url}/{name}") == b"mine" * 1000, args
    shutil.rmtree("http:")


def check_signatures(url):
    """The signature in a URL is not shown."""
    signed = f"{url}/x.b2f?X-Amz-Signature=SECRET"
    missing = f"{url}/missing?X-Amz-Signature=SECRET"
    for name, *options in (("info",), ("verify",), ("ls",),
                           ("decompress", "-f", "-o", "d"),
                           ("convert", "-f", "-o", "c.b2f"),
                           ("copy", "-o", "e.b2frame")):
        for where, status in (signed, 0), (missing, 2 if name == "verify" else 1):
            for form in (), ("--json",):
                if name == "copy":
                    shutil.rmtree("e.b2frame", ignore_errors=True)
                run = subprocess.run(
                    [BLOSCCTL, name, *form, *options, where],
                    capture_output=True, text=True)
                assert "SECRET" not in run.stdout + run.stderr, run
                assert name in ("copy", "ls") or run.returncode == status, run
    for name in "rm", "seal", "repair", "compress", "bench", "stats":
        assert "SECRET" not in refused(name, signed)


def check_arguments():
    """Other users can read them."""
    with socket.create_server(("127.0.0.1", 0)) as server, subprocess.Popen(
            [BLOSCCTL, "info", f"http://127.0.0.1:{server.getsockname()[1]}"
             "/x?token=secret"], stderr=subprocess.DEVNULL) as asking:
        server.accept()[0].close()
        seen = pathlib.Path(f"/proc/{asking.pid}/cmdline").read_text()
        asking.kill()
    assert "/x?xxx" in seen and "secret" not in seen, seen


def check_faults(server):
    with Proxy(server.port) as way:
        way.fault = lambda r: status(503) if r.nth % 3 == 1 else None
        assert cat(f"{way.url}/x.b2frame") == DATA
        way.take()
        way.fault = lambda r: status(403, b"<Error><Code>AccessDenied</Code>"
                                     b"<Message>KEYID</Message></Error>")
        err = refused("info", f"{way.url}/x.b2frame")
        assert "denies access" in err and "KEYID" not in err, err
        way.fault = None
        way.take()
        info(f"{way.url}/x.b2frame")
        assert len(way.take()) == 1


def check_libcurl(root, url):
    """It is loaded for servers alone; if it cannot be, the message says so."""
    os.mkdir("libraries")
    for name in "libcurl.so.4", "libcurl-gnutls.so.4":
        pathlib.Path("libraries", name).write_bytes(bytes(4096))
    env = {**os.environ, "LD_LIBRARY_PATH": str(pathlib.Path("libraries").resolve())}
    ctl("info", root / "x.b2frame", env=env)
    err = ctl("info", f"{url}/x.b2frame", env=env, status=1)[1]
    assert err.startswith(f"bloscctl: {url}/x.b2frame: ") and \
        "libcurl.so.4: invalid ELF header" in err, err
    assert err.count("\n") == 1, err


def check_endless_listing():
    """A listing whose empty pages always claim that more follow."""
    def page(request):
        if "list-type" not in request.path:
            return status(404)
        return status(200, b"<ListBucketResult><IsTruncated>true</IsTruncated>"
                           b"<NextContinuationToken>%d</NextContinuationToken>"
                           b"</ListBucketResult>" % request.nth)

    with Proxy(1) as way:
        way.fault = page
        os.environ.update(AWS_ACCESS_KEY_ID="x", AWS_SECRET_ACCESS_KEY="y",
                          AWS_ENDPOINT_URL=way.url)
        assert "no end" in refused("ls", "s3://bucket")


def main():
    with workdir() as here:
        root = here / "root"
        make_frames(root)
        os.mkdir("work")
        os.chdir("work")
        with HttpServer(root) as server:
            check_reads(root, server.url)
            check_copies(server.url)
            check_refusals(server.url)
            check_no_path(server.url)
            check_paths_like_urls(server.url)
            check_signatures(server.url)
            check_arguments()
            check_libcurl(root, server.url)
            check_faults(server)
        check_endless_listing()


main()
