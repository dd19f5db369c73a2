# SPDX-License-Identifier: BSD-3-Clause
"""Servers that refuse, fail or lie: the message is one clear line without keys"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from bloscctl import cat, ctl, workdir  # noqa: E402
from fake_s3 import FakeS3, Object  # noqa: E402
from http_server import HttpServer  # noqa: E402
from proxy import Proxy, cut, status  # noqa: E402

DATA = os.urandom(250_000) + bytes(50_000)
URL = "s3://bucket/x.b2frame"
KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI"


def error(code):
    """An answer of a server that quotes the signed text and the key."""
    return (f"<?xml version='1.0'?><Error><Code>{code}</Code><Message>{KEY} "
            f"{SECRET}</Message><AWSAccessKeyId>{KEY}</AWSAccessKeyId>"
            f"<StringToSign>{SECRET}</StringToSign></Error>").encode()


# The answer to each request, and the message for the user.
REFUSALS = [
    (status(403, error("InvalidAccessKeyId")), "does not know the access key"),
    (status(403, error("SignatureDoesNotMatch")), "the secret key"),
    (status(403, error("RequestTimeTooSkewed")), "the clock of this machine"),
    (status(400, error("ExpiredToken")), "session token has expired"),
    (status(403, error("AccessDenied")), "denies access"),
    (status(404, error("NoSuchBucket")), "no such bucket"),
    (status(301, error("PermanentRedirect"), x_amz_bucket_region="eu-west-1"),
     "in the region eu-west-1"),
    (status(400, error("AuthorizationHeaderMalformed"),
            x_amz_bucket_region="eu-west-1"), "in the region eu-west-1"),
    (status(307, error("TemporaryRedirect"), Location="http://127.0.0.1:1/"),
     "redirects to another place"),
    (status(501, error("NotImplemented")), "does not support this"),
    (status(507), "is full"),
]


def refused(*args):
    """The message of a run that fails, in one line."""
    err = ctl(*args, status=1)[1]
    assert err.count("\n") == 1, (args, err)
    for secret in KEY, SECRET, "Signature=", "Credential=":
        assert secret not in err, err
    return err


def check_refusals(way):
    for fault, words in REFUSALS:
        way.fault = lambda r, fault=fault: fault
        for args in (("info", URL), ("ls", "-r", "s3://bucket"),
                     ("compress", "-q", "x", "-o", "s3://bucket/new.b2frame")):
            err = refused(*args)
            assert words in err, (args, words, err)
    way.fault = None


def check_listings(way):
    """A listing that is cut off or damaged."""
    whole = (b"<ListBucketResult><Contents><Key>a</Key><Size>1</Size></Contents>"
             b"<IsTruncated>true</IsTruncated><NextContinuationToken>a"
             b"</NextContinuationToken></ListBucketResult>")
    for body, words in ((whole[:100], "listing"), (b"", "listing"),
                        (b"<html>Welcome</html>", "listing"),
                        (whole.replace(b"NextC", b"C"), "listing")):
        way.fault = lambda r, body=body: \
            status(200, body) if "list-type" in r.path else status(404)
        err = refused("ls", "-r", "s3://bucket")
        assert words in err, (body, err)
    # The first answer is cut off; the second one is complete.
    way.fault = lambda r: cut(100) if r.nth % 2 and "list-type" in r.path \
        else None
    way.take()
    assert URL in ctl("ls", "-r", "s3://bucket")[0].decode()
    way.fault = None


def check_objects(server):
    """Damaged chunks and indexes."""
    def damage(key, change):
        found = server.objects.pop(key)
        if change:
            server.objects[key] = Object(change(found.body), found.notes)
        try:
            return refused("cat", URL)
        finally:
            server.objects[key] = found

    index = "/bucket/x.b2frame/chunks.b2frame"
    chunks = sorted(k for k in server.objects if k.endswith(".chunk"))
    assert "the object is missing" in damage(chunks[1], None)
    for change in (lambda b: b[:-1], lambda b: b[:40], lambda b: b[:7],
                   lambda b: b[::-1], lambda b: b[:50] + bytes([b[50] ^ 1]) + b[51:]):
        err = damage(chunks[1], change)
        assert "chunk" in err, err
        damage(index, change)
    # verify reports bytes behind a chunk; reads ignore them.
    found = server.objects[chunks[1]]
    server.objects[chunks[1]] = Object(found.body + b"more", {})
    run = ctl("verify", URL, status=1)
    assert b"chunk" in run[0] or "chunk" in run[1], run
    server.objects[chunks[1]] = found
    assert cat(URL) == DATA


def check_manners(server, root):
    """The server ignores conditions, or ranges."""
    server.no_conditions = True
    before = dict(server.objects)
    for args in (("append", URL, "x"), ("compress", "-q", "x", "-o",
                                        "s3://bucket/new.b2frame")):
        assert "ignores the condition If-None-Match" in refused(*args)
    assert server.objects == before and cat(URL) == DATA
    server.no_conditions = False
    with HttpServer(root) as web:
        web.ignore_ranges = True
        assert "does not serve ranges" in refused("cat", f"{web.url}/x.b2f")


def main():
    with workdir() as here, FakeS3() as server, Proxy(server.port) as way:
        os.environ.update(AWS_ACCESS_KEY_ID=KEY, AWS_SECRET_ACCESS_KEY=SECRET,
                          AWS_ENDPOINT_URL=way.url)
        pathlib.Path("x").write_bytes(DATA)
        ctl("compress", "-q", "x", "-o", URL, "--chunksize=100k")
        ctl("compress", "-q", "x", "-o", "x.b2f", "--contiguous")
        check_refusals(way)
        check_listings(way)
        check_objects(server)
        check_manners(server, here)


main()
