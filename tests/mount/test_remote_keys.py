#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A mount renews keys that expire."""
import itertools
import json
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from aws_endpoints import PROOF, Endpoints, iso
from fake_s3 import FakeS3
from mounting import data, error_of, main, of_threads, wait_until
from proxy import Proxy
from remote import RemoteMount, read, refused, save

SIZE = 200_000


def fill(server):
    save(data(SIZE), "x.b2frame")
    for path in pathlib.Path("x.b2frame").iterdir():
        server.load(path, f"/bucket/x.b2frame/{path.name}")
    for name in list(os.environ):
        if name.startswith("AWS_"):
            del os.environ[name]
    os.environ.update(HOME=os.getcwd(), AWS_ENDPOINT_URL_S3=server.url,
                      AWS_EC2_METADATA_DISABLED="true")


def keys(numbers):
    return {(f"AKID{n}", f"token{n}") for n in numbers}


def asks():
    """Sends a request to the server; does it succeed?"""
    return error_of(os.listdir, "mnt") == 0


def reads():
    """Can it read?  A listing may be cached, so this reads data."""
    try:
        return read("mnt/x") == data(SIZE)
    except PermissionError:
        return False


def test_keys_of_a_container_are_renewed_before_they_end():
    with FakeS3() as server, Endpoints() as there:
        fill(server)
        there.life = 4
        os.environ.update(there.container())
        server.keys = keys([1])
        with RemoteMount("s3://bucket", "-o", "ro,attr_timeout=0,refresh=1") \
                as mount:
            assert read("mnt/x") == data(SIZE)
            server.keys = keys([2])
            wait_until(asks, "the keys are renewed")
            # The old keys are used while no new ones are available.
            there.status, there.asked = 500, []
            server.keys = keys(range(2, 1000))
            wait_until(lambda: asks() and there.asked,
                       "the keys cannot be renewed")
            wait_until(lambda: "the keys expire" in mount.log(), "that is logged")
            assert read("mnt/x") == data(SIZE)
            server.keys = keys(range(there.n + 1, 1000))
            there.status = 200
            wait_until(reads, "the keys are renewed again")
            for secret in PROOF, "secret1", "secret2", "token2":
                assert secret not in mount.log()


def test_a_program_gives_keys_again_and_again():
    with FakeS3() as server:
        fill(server)
        os.mkdir(".aws")
        pathlib.Path(".aws/config").write_text(
            "[default]\ncredential_process = echo >> runs; ls -l /proc/self/fd "
            f"> fds; cat {os.getcwd()}/keys\n")

        def give(n):
            pathlib.Path("new").write_text(json.dumps({
                "Version": 1, "AccessKeyId": f"AKID{n}", "SecretAccessKey": "s",
                "SessionToken": f"token{n}",
                "Expiration": iso(time.time() + 3)}))
            os.rename("new", "keys")
            server.keys = keys([n])

        give(1)
        with RemoteMount("s3://bucket", "-o", "ro,attr_timeout=0,refresh=1") \
                as mount:
            for n in itertools.islice(itertools.count(2), 3):
                give(n)
                wait_until(asks, "the program has run again")
            wait_until(reads, "its keys are used")
            assert not any(of_threads(mount.pid, "children")), of_threads(mount.pid, "children")
            # The program inherits no descriptor of the daemon.
            fds = pathlib.Path("fds").read_text()
            assert "socket:" not in fds and "fuse" not in fds, fds


def test_keys_that_may_only_get_read_what_they_know():
    save(data(SIZE), "y.b2f", contiguous=True)
    with FakeS3() as server:
        fill(server)
        server.load("y.b2f", "/bucket/y.b2f")
        server.get_only = True
        for name in "x.b2frame", "y.b2f":
            with RemoteMount(f"s3://bucket/{name}"):
                assert read(f"mnt/{name[0]}") == data(SIZE)
        line, _ = refused("s3://bucket/none.b2f")
        assert "denies access" in line, line


def headers_of(way, *options):
    """Request headers of a mount in which a file is written, read and renamed."""
    way.take()
    with RemoteMount("s3://bucket", *(x for o in options for x in ("-o", o))):
        pathlib.Path("mnt/new").write_bytes(data(SIZE))
        assert read("mnt/x") == data(SIZE)
        os.rename("mnt/new", "mnt/other")
        assert read("mnt/other") == data(SIZE)
        os.unlink("mnt/other")
    return [(r.method, "list-type" in r.path,
             {k.lower(): v for k, v in r.headers.items()}) for r in way.take()]


def test_who_pays_and_what_encrypts_is_told():
    sse = "x-amz-server-side-encryption"
    copied = "x-amz-copy-source-server-side-encryption-customer-key"
    with FakeS3() as server, Proxy(server.port) as way:
        fill(server)
        os.environ.update(AWS_ACCESS_KEY_ID="k", AWS_SECRET_ACCESS_KEY="s",
                          AWS_ENDPOINT_URL_S3=way.url)
        pathlib.Path("key").write_bytes(bytes(32))
        ncopies = 0
        for method, is_list, h in headers_of(way, "request_payer",
                                             f"sse_c_key={os.getcwd()}/key"):
            of_object = method != "DELETE" and not is_list
            assert h["x-amz-request-payer"] == "requester"
            assert (f"{sse}-customer-key" in h) == of_object, (method, h)
            assert (copied in h) == ("x-amz-copy-source" in h)
            ncopies += copied in h
        assert ncopies
        for method, _, h in headers_of(way, "sse=aws:kms,sse_kms_key=id"):
            wanted = ("aws:kms", "id") if method == "PUT" else (None, None)
            assert (h.get(sse), h.get(f"{sse}-aws-kms-key-id")) == wanted
            assert "x-amz-request-payer" not in h


if __name__ == "__main__":
    main()
