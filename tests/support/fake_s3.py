# SPDX-License-Identifier: BSD-3-Clause
"""fake_s3 - a small object store in memory, whose behaviour can be chosen

    with FakeS3() as server, Proxy(server.port) as proxy: ...

    python fake_s3.py       serves it behind a proxy (proxy.py), prints "PORT N", and takes
                            commands, one a line, each answered by a line:
        when METHOD TEXT N KIND [VALUE]
                            what happens (as in proxy.py) to the next N requests of
                            METHOD whose path contains TEXT; "done KIND ...":
                            the server does it all the same
        away_after METHOD TEXT
                            after the next such request all requests are dropped
        forget              no more faults happen
        each M METHOD TEXT KIND [VALUE]
                            as "when", for every M-th such request
        stop N KIND         N more requests pass, KIND happens to the next, and all later
                            ones are dropped, as if the client were killed
        go                  requests pass again; answered by the number of dropped ones
        no_conditions       it ignores If-Match and If-None-Match
        no_notes            it keeps no x-amz-meta
        bare_etags          it knows only ETags without quotes in If-Match of PUT
        plain_deletes       it ignores If-Match of DELETE
        no_parts            it refuses multipart uploads
        parts_no_conditions it takes multipart uploads, but ignores their conditions
        error_in_200 CODE   the next answer to a request that makes one has the
                            status 200, and this error in its body
        load FILE KEY       FILE becomes the object KEY ("/bucket/..."), without metadata
        no_etag TEXT        objects whose paths contain TEXT have no ETag
        age TEXT SECONDS    makes the objects whose paths contain TEXT so old
        after_delete TEXT KEY
                            when an object whose path contains TEXT is deleted, the object
                            KEY appears, once
        gone_at_put TEXT OLD
                            when an object whose path contains TEXT is put, the objects
                            whose paths contain OLD are deleted just before, once
        back_after_get TEXT when an object whose path contains TEXT is read, bring_back
                            happens, once
        replace TEXT        writes the objects whose paths contain TEXT anew, with a byte
                            more and without metadata
        keep TEXT           remembers the objects whose paths contain TEXT as they are
        bring_back          writes them again as they were
        count METHOD TEXT   answered by the number of such requests since the last count
        late                answered by the number of delayed requests (late) that are
                            still to come
        objects             answered by the number of objects
        uploads             answered by the number of multipart uploads that were
                            begun, and neither completed nor aborted

Of a signature only the access key is checked: it has to be in server.keys, unless that
is None.  A PUT is atomic.
"""
import base64
import hashlib
import html
import itertools
import re
import sys
import threading
import time
import zlib
from email.utils import formatdate
from urllib.parse import parse_qs, quote, unquote, urlsplit
from xml.sax.saxutils import escape

from http_server import Handler, Server
from proxy import Proxy, drop, fault_of


class Object:
    def __init__(self, body, notes, told_sum=None):
        self.body, self.notes, self.sum = body, notes, told_sum
        self.etag = f'"{hashlib.md5(body).hexdigest()}"'
        self.time = time.time()


def iso(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(seconds))


class S3Handler(Handler):
    def parse_request(self):
        """Also checks the keys."""
        keys = self.owner.keys
        if not super().parse_request():
            return False
        if keys is None or self.signer() in keys:
            return True
        self.rfile.read(int(self.headers["Content-Length"] or 0))
        self.answer(403)
        return False

    def signer(self):
        """(access key, session token)"""
        signed = self.headers["Authorization"] or ""
        return (signed.partition("Credential=")[2].partition("/")[0],
                self.headers["x-amz-security-token"])

    def key(self):
        return unquote(urlsplit(self.path).path.removeprefix(self.owner.prefix))

    def do_GET(self):
        query = parse_qs(urlsplit(self.path).query)
        if "list-type" in query:
            if self.owner.get_only:
                return self.answer(403)
            return self.list({k: v[0] for k, v in query.items()})
        with self.owner.lock:
            found = self.owner.objects.get(self.key())
        if not found:
            return self.answer(403 if self.owner.get_only else 404)
        wanted = self.headers["If-Match"]
        if wanted and wanted != found.etag:
            return self.answer(412)
        if self.command == "GET" and self.owner.comes("back_after_get",
                                                      self.key()):
            self.owner.bring_back()
        return self.send_object(found)

    do_HEAD = do_GET

    def send_object(self, found):
        size, status = len(found.body), 200
        first, end = 0, size
        headers = {**({"ETag": found.etag} if found.etag else {}),
                   **({"Content-Encoding": self.owner.encoding}
                      if self.owner.encoding else {}),
                   "Last-Modified": formatdate(found.time, usegmt=True),
                   **found.notes,
                   **({"x-amz-checksum-crc32": found.sum} if found.sum and
                      self.headers["x-amz-checksum-mode"] else {})}
        wanted = self.headers["Range"]
        if wanted:
            first, last = map(int, wanted.removeprefix("bytes=").split("-"))
            end = min(size, last + 1)
            if first >= end:
                return self.answer(416)
            headers["Content-Range"] = f"bytes {first}-{end - 1}/{size}"
            status = 206
        return self.answer(status, headers, found.body[first:end])

    def refuses(self, found):
        if self.owner.no_conditions:
            return False
        match, none = self.headers["If-Match"], self.headers["If-None-Match"]
        if none:
            return found is not None
        etag = found and found.etag
        if etag and self.owner.bare_etags:
            etag = etag.strip('"')
        return match is not None and match != etag

    def query(self):
        return {k: v[0] for k, v in parse_qs(urlsplit(self.path).query,
                                             keep_blank_values=True).items()}

    def notes(self):
        return {k: v for k, v in self.headers.items()
                if k.lower().startswith("x-amz-meta-")}

    def do_POST(self):
        """Begins a multipart upload, or completes it."""
        owner, query = self.owner, self.query()
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        with owner.lock:
            if owner.no_parts:
                return self.answer(501)
            if "uploads" in query:
                # With characters that a query has to encode.
                number = f"id/+&{len(owner.uploads)}"
                owner.uploads[number] = self.notes(), {}
                return self.answer(200, {}, (
                    "<InitiateMultipartUploadResult><UploadId>"
                    f"{escape(number)}</UploadId>"
                    "</InitiateMultipartUploadResult>").encode())
            if owner.error_in_200:
                code, owner.error_in_200 = owner.error_in_200, ""
                return self.answer(200, {}, b"  \n<Error><Code>%s</Code></Error>"
                                   % code.encode())
            if not owner.parts_no_conditions and \
                    self.refuses(owner.objects.get(self.key())):
                return self.answer(412)
            notes, parts = owner.uploads.get(query["uploadId"], ({}, {}))
            told = re.findall("<PartNumber>(.*?)</PartNumber><ETag>(.*?)</ETag>",
                              body.decode())
            if not told or [(str(n), p.etag) for n, p in sorted(parts.items())] \
                    != [(n, html.unescape(e)) for n, e in told]:
                return self.answer(404, {}, b"<Error><Code>NoSuchUpload</Code>"
                                            b"</Error>")
            del owner.uploads[query["uploadId"]]
            new = Object(b"".join(p.body for _, p in sorted(parts.items())),
                         notes, self.headers["x-amz-checksum-crc32"])
            new.etag = f'{new.etag[:-1]}-{len(parts)}"'
            owner.objects[self.key()] = new
        return self.answer(200, {}, (
            f"<CompleteMultipartUploadResult><ETag>{escape(new.etag)}</ETag>"
            "</CompleteMultipartUploadResult>").encode())

    def put_part(self, query, body):
        upload = self.owner.uploads.get(query["uploadId"])
        if not upload or self.sum_is_wrong(body):
            return self.answer(404 if not upload else 400)
        part = upload[1][int(query["partNumber"])] = Object(body, {})
        return self.answer(200, {"ETag": part.etag})

    def sum_is_wrong(self, body):
        told = self.headers["x-amz-checksum-crc32"]
        return told is not None and told != base64.b64encode(
            zlib.crc32(body).to_bytes(4, "big")).decode()

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"] or 0))
        notes = self.notes()
        query = self.query()
        source = self.headers["x-amz-copy-source"]
        with self.owner.lock:
            if "uploadId" in query:
                return self.put_part(query, body)
            if self.sum_is_wrong(body):
                return self.answer(400)
            if self.owner.comes("gone_at_put", self.key()):
                self.owner.remove(self.owner.old)
            if self.refuses(self.owner.objects.get(self.key())):
                return self.answer(412)
            if source:
                found = self.owner.objects.get(unquote(source))
                if not found:
                    return self.answer(404)
                body, notes = found.body, found.notes
            new = Object(body, {} if self.owner.no_notes else notes,
                         self.headers["x-amz-checksum-crc32"])
            self.owner.objects[self.key()] = new
        return self.answer(200, {"ETag": new.etag}, (
            f"<CopyObjectResult><ETag>{escape(new.etag)}</ETag>"
            "</CopyObjectResult>" if source else "").encode())

    def do_DELETE(self):
        owner, match = self.owner, self.headers["If-Match"]
        with owner.lock:
            if "uploadId" in self.query():
                gone = owner.uploads.pop(self.query()["uploadId"], None)
                return self.answer(204 if gone else 404)
            found = owner.objects.get(self.key())
            if found and match and not owner.plain_deletes and \
                    not owner.no_conditions and match != found.etag:
                return self.answer(412)
            owner.objects.pop(self.key(), None)
            new = owner.new_object
            if owner.comes("after_delete", self.key()):
                owner.objects[new] = Object(b"new", {})
        return self.answer(204)

    def list(self, query):
        bucket = self.key()
        begin = bucket + query.get("prefix", "")
        behind = query.get("continuation-token") or query.get("start-after", "")
        names, dirs = [], set()
        with self.owner.lock:
            objects = dict(self.owner.objects)
        for key in sorted(objects):
            if not key.startswith(begin) or key <= bucket + behind:
                continue
            head, slash, _ = key[len(begin):].partition("/")
            if slash:
                dirs.add(begin + head + "/")
            else:
                names.append(key)
        page, rest = names[:1000], names[1000:]
        token = f"<NextContinuationToken>{quote(page[-1][len(bucket):])}" \
                "</NextContinuationToken>" if rest else ""
        items = "".join(
            f"<Contents><Key>{quote(k[len(bucket):])}</Key>"
            f"<ETag>{escape(objects[k].etag)}</ETag>"
            f"<LastModified>{iso(objects[k].time)}</LastModified>"
            f"<Size>{len(objects[k].body)}</Size></Contents>" for k in page)
        prefixes = "".join(f"<CommonPrefixes><Prefix>{quote(d[len(bucket):])}"
                           "</Prefix></CommonPrefixes>" for d in sorted(dirs))
        body = ("<ListBucketResult><EncodingType>url</EncodingType>"
                f"<IsTruncated>{'true' if rest else 'false'}</IsTruncated>"
                f"{token}{items}{prefixes}</ListBucketResult>")
        return self.answer(200, {"Content-Type": "application/xml"},
                           body.encode())


class FakeS3(Server):
    handler = S3Handler
    is_direct = True

    def __init__(self):
        # By "/bucket/key".
        self.objects = {}
        # The valid keys, as (access key, session token); None: any.
        self.keys = None
        self.lock = threading.Lock()
        # Limits of lesser servers.
        self.no_conditions = False
        self.no_notes = False
        self.bare_etags = False
        self.plain_deletes = False
        self.no_parts = self.parts_no_conditions = False
        self.error_in_200 = ""
        # Open multipart uploads: (notes, parts by number).
        self.uploads = {}
        # Listing is denied, and so is the answer that an object is missing.
        self.get_only = False
        # Prefix of all requests' paths; Content-Encoding of all objects.
        self.prefix = ""
        self.encoding = None
        # Each happens once, at a request whose path contains the text.
        self.after_delete = self.back_after_get = self.gone_at_put = None
        self.new_object = self.old = ""

    def comes(self, what, key):
        """Is @what due for this request?  If so, it is not due again."""
        text = getattr(self, what)
        if text is None or text not in key:
            return False
        setattr(self, what, None)
        return True

    def load(self, path, key):
        with open(path, "rb") as f:
            found = Object(f.read(), {})
        with self.lock:
            self.objects[key] = found

    def age(self, text, seconds):
        with self.lock:
            for key, found in self.objects.items():
                if text in key:
                    found.time = time.time() - float(seconds)

    def no_etag(self, text):
        with self.lock:
            for key, found in self.objects.items():
                if text in key:
                    found.etag = ""

    def keep(self, text):
        with self.lock:
            self.kept = {k: v for k, v in self.objects.items() if text in k}

    def bring_back(self):
        with self.lock:
            self.objects.update(self.kept)

    def remove(self, text):
        """Locked."""
        self.objects = {k: v for k, v in self.objects.items() if text not in k}

    def replace(self, text):
        with self.lock:
            for key, found in self.objects.items():
                if text in key:
                    self.objects[key] = Object(found.body + b"\0", {})


class Plan:
    """The faults of requests; the first fault that fits counts."""
    def __init__(self):
        self.faults = []
        # Requests that pass before the client seems to be killed, and by which fault;
        # or None.
        self.left = None
        self.end = drop
        self.nstopped = 0
        # The request after which the server is away; whether it is away.
        self.leave = None
        self.is_away = False
        self.lock = threading.Lock()

    def stop(self, n, fault):
        with self.lock:
            self.left, self.end, self.nstopped = n, fault, 0

    def go(self):
        with self.lock:
            self.left = None
            return self.nstopped

    def is_stopped(self):
        """Locked."""
        if self.left is None or self.left > 0:
            self.left = self.left and self.left - 1
            return None
        self.nstopped += 1
        return self.end if self.nstopped == 1 else drop

    def add(self, method, text, picks, fault):
        with self.lock:
            self.faults.append((method, text, picks, fault))

    def forget(self):
        with self.lock:
            self.faults, self.leave, self.is_away = [], None, False

    def __call__(self, request):
        with self.lock:
            if stopped := self.is_stopped():
                return stopped
            if self.is_away:
                return drop
            if self.leave and request.method == self.leave[0] \
                    and self.leave[1] in request.path:
                self.is_away = True
            for method, text, picks, fault in self.faults:
                if request.method == method and text in request.path \
                        and next(picks):
                    return fault
        return None


def first(n):
    """Picks the first @n requests."""
    return itertools.chain([True] * n, itertools.repeat(False))


def each(n):
    return itertools.cycle([False] * (n - 1) + [True])


def obey(server, way, plan, words):
    """Answers one command."""
    if words[0] == "when":
        plan.add(words[1], words[2], first(int(words[3])), fault_of(words[4:]))
    elif words[0] == "forget":
        plan.forget()
    elif words[0] == "away_after":
        plan.leave = words[1:]
    elif words[0] == "each":
        plan.add(words[2], words[3], each(int(words[1])), fault_of(words[4:]))
    elif words[0] == "stop":
        plan.stop(int(words[1]), fault_of(words[2:]))
    elif words[0] == "go":
        return str(plan.go())
    elif words[0] == "count":
        return str(sum(words[2] in r.path for r in way.take(words[1])))
    elif words[0] == "after_delete":
        server.after_delete, server.new_object = words[1:]
    elif words[0] == "gone_at_put":
        server.gone_at_put, server.old = words[1:]
    elif words[0] == "error_in_200":
        server.error_in_200 = words[1]
    elif words[0] == "uploads":
        return str(len(server.uploads))
    elif words[0] == "back_after_get":
        server.back_after_get = words[1]
    elif words[0] in ("keep", "replace", "bring_back", "load", "age",
                      "no_etag"):
        getattr(server, words[0])(*words[1:])
    elif words[0] == "late":
        return str(way.nlate)
    elif words[0] == "objects":
        return str(len(server.objects))
    else:
        assert hasattr(server, words[0]), words
        setattr(server, words[0], True)
    return "ok"


def main():
    plan = Plan()
    with FakeS3() as server, Proxy(server.port) as way:
        way.fault = plan
        print("PORT", way.port, flush=True)
        for line in sys.stdin:
            print(obey(server, way, plan, line.split()), flush=True)


if __name__ == "__main__":
    main()
