# SPDX-License-Identifier: BSD-3-Clause
"""s3_server - VersityGW, an S3 server on a directory, and a client to fill it

    s3_server.require()
    with S3Server() as server:
        client = Client(server.url)
        client.put("bucket/key", b"bytes")

scripts/setup installs it where it is available.  With B2F_S3=http://127.0.0.1:PORT
given_or_new() gives the server that runs there.
"""
import contextlib
import datetime
import hashlib
import hmac
import html
import http.client
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse

from build import SOURCE

REGION = "us-east-1"
ACCESS = "test"
SECRET = "testsecret"
# The environment of programs that use the server.
ENV = {"AWS_ACCESS_KEY_ID": ACCESS, "AWS_SECRET_ACCESS_KEY": SECRET,
       "AWS_REGION": REGION, "AWS_EC2_METADATA_DISABLED": "true"}
PATIENCE = 60
# The exit code by which ctest knows a skipped test.
SKIPPED = 77


def find():
    """The path of VersityGW, or None."""
    ours = SOURCE / ".venv/bin/versitygw"
    return os.environ.get("B2F_VERSITYGW") or (
        str(ours) if ours.exists() else shutil.which("versitygw"))


def require():
    """Skips the test if there is no server."""
    if not find():
        print("skipped: no S3 server")
        sys.exit(SKIPPED)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class S3Server:
    """VersityGW with an empty bucket "bucket"; its messages are in .log."""

    def __init__(self, *options):
        self.options = options

    def __enter__(self):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="bloscfs-s3."))
        self.data = self.top / "data"
        self.data.mkdir()
        try:
            self.start()
            Client(self.url).request("PUT", "bucket", expect=200)
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self):
        # Another program may take a port before the server does.
        for _ in range(5):
            self.port = free_port()
            self.url = f"http://127.0.0.1:{self.port}"
            self.spawn()
            if self.is_up():
                return
            self.stop()
        raise AssertionError(f"VersityGW does not start: {self.log()}")

    def spawn(self):
        env = dict(os.environ, ROOT_ACCESS_KEY=ACCESS, ROOT_SECRET_KEY=SECRET)
        with open(self.top / "log", "ab") as log:
            self.process = subprocess.Popen(
                [find(), *self.options, "--region", REGION, "--port",
                 f"127.0.0.1:{self.port}", "posix", self.data],
                env=env, stdout=log, stderr=log, cwd=self.top)

    def is_up(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return self.process.poll() is None
            time.sleep(0.02)
        return False

    def log(self):
        return (self.top / "log").read_text(errors="replace")

    def stop(self):
        process = getattr(self, "process", None)
        if not process:
            return
        process.terminate()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        self.process = None

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.top, ignore_errors=True)


class GivenServer:
    """The server at the URL of B2F_S3, on this machine, with the keys from above;
    its bucket "bucket" is emptied."""

    def __init__(self, url):
        self.url, self.port = url, urllib.parse.urlsplit(url).port

    def __enter__(self):
        client = Client(self.url)
        status, _, body = client.request("PUT", "bucket")
        assert status in (200, 409), body
        client.remove_all("bucket")
        return self

    def __exit__(self, *_):
        Client(self.url).remove_all("bucket")


def given_or_new():
    url = os.environ.get("B2F_S3")
    return GivenServer(url) if url else S3Server()


class Client:
    """Signed requests, one connection each; @url may be that of a proxy."""

    def __init__(self, url, access=ACCESS, secret=SECRET):
        self.host = urllib.parse.urlsplit(url).netloc
        self.access, self.secret = access, secret

    def signed(self, method, path, query, body, headers):
        """The headers of the request, with AWS's signature (version 4)."""
        now = datetime.datetime.now(datetime.timezone.utc)
        stamp, day = now.strftime("%Y%m%dT%H%M%SZ"), now.strftime("%Y%m%d")
        sum_of_body = hashlib.sha256(body).hexdigest()
        headers = {**headers, "host": self.host, "x-amz-date": stamp,
                   "x-amz-content-sha256": sum_of_body}
        names = sorted(n.lower() for n in headers)
        lower = {n.lower(): v for n, v in headers.items()}
        canonical = "\n".join([
            method, path, query,
            *(f"{n}:{str(lower[n]).strip()}" for n in names), "",
            ";".join(names), sum_of_body])
        scope = f"{day}/{REGION}/s3/aws4_request"
        text = "\n".join(["AWS4-HMAC-SHA256", stamp, scope,
                          hashlib.sha256(canonical.encode()).hexdigest()])
        key = f"AWS4{self.secret}".encode()
        for word in day, REGION, "s3", "aws4_request":
            key = hmac.digest(key, word.encode(), "sha256")
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        return {**headers, "Authorization":
                f"AWS4-HMAC-SHA256 Credential={self.access}/{scope}, "
                f"SignedHeaders={';'.join(names)}, Signature={signature}"}

    def request(self, method, key, body=b"", query="", expect=None, **headers):
        """(status, headers, body) of a request about @key, "bucket/name"."""
        path = "/" + urllib.parse.quote(key, safe="/-_.~")
        headers = {k.replace("_", "-"): v for k, v in headers.items()}
        conn = http.client.HTTPConnection(self.host, timeout=60)
        with contextlib.closing(conn):
            conn.request(method, path + (f"?{query}" if query else ""),
                         body or None,
                         self.signed(method, path, query, body, headers))
            answer = conn.getresponse()
            data = answer.read()
        assert expect in (None, answer.status), (answer.status, data)
        return answer.status, answer.headers, data

    def put(self, key, body):
        self.request("PUT", key, body, expect=200)

    def get(self, key):
        return self.request("GET", key, expect=200)[2]

    def delete(self, key):
        self.request("DELETE", key, expect=204)

    def keys(self, bucket, prefix="", delimiter=""):
        """All keys of @bucket that begin with @prefix, read page by page."""
        words = {"list-type": "2", "prefix": prefix, "delimiter": delimiter}
        token = ""
        while token is not None:
            query = "&".join(f"{k}={urllib.parse.quote(v, safe='')}"
                             for k, v in sorted({
                                 **words, "continuation-token": token}.items())
                             if v)
            body = self.request("GET", bucket, query=query,
                                expect=200)[2].decode()
            yield from map(html.unescape,
                           re.findall("<Key>([^<]*)</Key>", body))
            found = re.search("<NextContinuationToken>([^<]*)<", body)
            token = html.unescape(found[1]) if found else None

    def names(self, prefix):
        """The entries of @prefix, "bucket/dir/", one level."""
        bucket, _, key = prefix.partition("/")
        return [urllib.parse.unquote(k)[len(key):]
                for k in self.keys(bucket, key, "/")]

    def remove_all(self, bucket):
        for key in [*self.keys(bucket)]:
            self.delete(f"{bucket}/{key}")

    def put_tree(self, path, prefix):
        """Uploads the file or directory @path as @prefix, indexes last."""
        path = pathlib.Path(path)
        files = [path] if path.is_file() else \
            [p for p in path.rglob("*") if p.is_file()]
        for file in sorted(files, key=lambda p: p.name == "chunks.b2frame"):
            rest = file.relative_to(path)
            self.put(prefix if path.is_file() else f"{prefix}/{rest}",
                     file.read_bytes())

    def get_tree(self, prefix, path):
        """Downloads the prefix "bucket/dir" as the directory @path."""
        path = pathlib.Path(path)
        path.mkdir(parents=True)
        for name in self.names(prefix + "/"):
            (path / name).write_bytes(self.get(f"{prefix}/{name}"))
        return path
