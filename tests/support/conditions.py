# SPDX-License-Identifier: BSD-3-Clause
"""conditions - does an object store keep to the conditions that commits rely on?

    python conditions.py http://127.0.0.1:PORT      (with the keys of s3_server.py)
"""
import sys
import threading

from s3_server import Client

KEY = "conditions/object"
WRITERS, TURNS = 6, 12


def put(client, body, **headers):
    return client.request("PUT", KEY, body, **headers)[0]


def fresh(client):
    """Makes the object anew; returns its ETag, with its quotes."""
    client.delete(KEY)
    assert put(client, b"0") == 200
    return client.request("HEAD", KEY)[1]["ETag"]


def ask_each(client):
    """(request, answer, expected answer)"""
    etag, other = fresh(client), '"0123456789abcdef0123456789abcdef"'
    yield "PUT of what is there, If-None-Match: *", 412, put(
        client, b"1", If_None_Match="*")
    yield "PUT, If-Match with another ETag", 412, put(
        client, b"1", If_Match=other)
    yield "PUT, If-Match with the ETag", 200, put(client, b"1", If_Match=etag)
    etag = fresh(client)
    yield "PUT, If-Match with the ETag without quotes", None, put(
        client, b"1", If_Match=etag.strip('"'))
    client.delete(KEY)
    yield "PUT of what is not there, If-Match", (404, 412), put(
        client, b"1", If_Match=etag)
    yield "PUT of what is not there, If-None-Match: *", 200, put(
        client, b"1", If_None_Match="*")
    etag = fresh(client)
    yield "GET, If-Match with another ETag", 412, client.request(
        "GET", KEY, If_Match=other)[0]
    yield "GET of a range", 206, client.request("GET", KEY,
                                                Range="bytes=0-0")[0]
    put(client, b"1", x_amz_meta_note="words")
    yield "x-amz-meta is kept", "words", client.request(
        "HEAD", KEY)[1]["x-amz-meta-note"]


def increment(client, quoted, counts, lock):
    """Adds one to the object, TURNS times, each repeated until it succeeds."""
    for _ in range(TURNS):
        for _ in range(1000):
            _, headers, body = client.request("GET", KEY)
            etag = headers["ETag"]
            status = put(client, b"%d" % (int(body) + 1),
                         If_Match=etag if quoted else etag.strip('"'))
            with lock:
                counts[status] = counts.get(status, 0) + 1
            if status == 200:
                break


def race(client, quoted):
    """Runs the writers; returns the sum in the object, and the counts of answers."""
    fresh(client)
    counts, lock = {}, threading.Lock()
    threads = [threading.Thread(target=increment,
                                args=(client, quoted, counts, lock))
               for _ in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return int(client.get(KEY)), counts


def main(url):
    client = Client(url)
    client.request("PUT", "conditions")
    likes = {}
    for what, wanted, got in ask_each(client):
        likes[what] = got
        good = wanted is None or got == wanted or (
            isinstance(wanted, tuple) and got in wanted)
        print(f"{what:45} {got} {'' if good else f'(wanted {wanted})'}")
    quoted = likes["PUT, If-Match with the ETag"] == 200
    total, counts = race(client, quoted)
    print(f"{WRITERS} writers that race add {WRITERS * TURNS}: {total}; "
          f"answers {counts}")
    client.remove_all("conditions")
    client.request("DELETE", "conditions")


if __name__ == "__main__":
    main(sys.argv[1])
