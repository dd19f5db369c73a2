#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Objects made by C-Blosc2 decode to the bytes that C-Blosc2 gives.

Checks the set in tests/data/golden and, if it exists, the large set beside the project
(../shared/golden, or the directory in B2F_GOLDEN).
"""
import hashlib
import os
import struct
import subprocess
import sys
import tempfile

from interop import BUILD, SOURCE

DECODE = str(BUILD / "decode_objects")

# C-Blosc2 cannot read its own two frames whose last chunk has an odd size; gen_golden
# appended mixed data with the seeds 0, 1 and 2 to them.
RECOVERED = {
    "sframes/short-last-odd.b2frame",
    "cframes/short-last-odd.b2frame",
}


def mixed(n, seed):
    """fill(P_MIXED) of gen_golden.c."""
    state = (seed * 977 + 12345) % 2**64
    out = bytearray()

    def rnd():
        nonlocal state
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (state >> 33) & 0xFFFFFFFF

    while len(out) < n:
        length, kind, value = 1 + rnd() % 97, rnd() % 3, rnd() & 255
        for _ in range(length):
            if len(out) == n:
                break
            if kind == 0:
                out.append(value)
            elif kind == 1:
                out.append(rnd() & 255)
            else:
                out.append(out[len(out) - 61] if len(out) >= 61 else value)
    return bytes(out)


def read_manifest(folder):
    with open(os.path.join(folder, "manifest.tsv")) as f:
        for line in f:
            if not line.startswith("#"):
                yield line.rstrip("\n").split("\t")


def offset_of(extra):
    for item in extra.split(";"):
        if item.startswith("offset="):
            return item[len("offset="):]
    return "0"


def decode_all(folder, rows):
    """Yields the error (or None) and the bytes of each object."""
    lines = "".join(
        f"{row[0]}\t{os.path.join(folder, row[1])}\t{offset_of(row[11])}\n"
        for row in rows)
    out = subprocess.run([DECODE], input=lines.encode(),
                         stdout=subprocess.PIPE, check=True).stdout
    at = 0
    for _ in rows:
        n, = struct.unpack_from("=q", out, at)
        at += 8
        if n < 0:
            yield n, b""
        else:
            yield None, out[at:at + n]
            at += n
    assert at == len(out)


def verdict(row, err, data):
    name, nbytes, sha = row[1], int(row[9]), row[10]
    if err is not None:
        return f"error {err}"
    if len(data) != nbytes:
        return f"{len(data)} of {nbytes} bytes"
    if sha == "uninit":
        return None
    if sha == "undecodable":
        if name not in RECOVERED:
            return "an object nobody can read"
        expected = mixed(4000, 0) + mixed(4000, 1) + mixed(1502, 2)
        return None if data == expected else "not the recovered bytes"
    if hashlib.sha256(data).hexdigest() != sha:
        return "sha256 differs"
    return None


def check(folder):
    rows = list(read_manifest(folder))
    bad = 0
    for row, (err, data) in zip(rows, decode_all(folder, rows)):
        why = verdict(row, err, data)
        if why:
            print(f"FAIL {row[0]} {row[1]}: {why}")
            bad += 1
    print(f"{folder}: {len(rows) - bad} of {len(rows)} objects agree")
    return bad == 0 and len(rows) > 0


def check_archive(archive):
    with tempfile.TemporaryDirectory() as tmp:
        subprocess.run(["tar", "--zstd", "-xf", archive, "-C", tmp],
                       check=True)
        folder = os.path.join(tmp, "golden")
        manifest = os.path.join(os.path.dirname(archive), "manifest.tsv")
        with open(manifest, "rb") as src:
            with open(os.path.join(folder, "manifest.tsv"), "wb") as dst:
                dst.write(src.read())
        return check(folder)


def main():
    ok = check(os.path.join(SOURCE, "tests", "data", "golden"))
    large = os.environ.get(
        "B2F_GOLDEN", os.path.join(SOURCE, "..", "shared", "golden"))
    archive = os.path.join(large, "golden.tar.zst")
    if os.path.exists(archive):
        ok = check_archive(archive) and ok
    return 0 if ok else 1


sys.exit(main())
