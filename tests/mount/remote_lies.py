# SPDX-License-Identifier: BSD-3-Clause
"""remote_lies - readers of a server that changes its answers

Readers get the data that were written, or an error.  No program ends by a signal or
waits for ever, no file is written outside of the target, and no message has a secret or
a control character.
"""
import os
import pathlib
import random
import shutil
import subprocess

from fake_s3 import FakeS3
from lying_proxy import Lies, LyingProxy
from mounting import BUILD, data, wait_until
from remote import RemoteMount, read
from s3_server import ACCESS, ENV, SECRET

# Seconds for a command that has to retry again and again.
PATIENCE = 200
SIZE = 300000
NAMES = "x", "single"
READS = 30


def bloscctl(*words):
    return subprocess.run([BUILD / "bloscctl", *words], check=False,
                          stdin=subprocess.DEVNULL, capture_output=True,
                          timeout=PATIENCE)


def fill(server):
    """Frames that have checksums."""
    os.environ["AWS_ENDPOINT_URL"] = server.url
    for i, name in enumerate(NAMES):
        pathlib.Path(name).write_bytes(data(SIZE, i))
        kind = ["--contiguous"] * (name == "single")
        made = bloscctl("compress", "-q", "--chunksize=64k", *kind, name, "-o",
                        f"{name}.b2frame")
        assert made.returncode == 0, made.stderr
        made = bloscctl("copy", "-q", f"{name}.b2frame",
                        f"s3://bucket/d/{name}.b2frame")
        assert made.returncode == 0, made.stderr


def check_message(run, what):
    text = (run.stdout if what[0] in ("ls", "verify", "info") else b"") + \
        run.stderr
    for secret in SECRET, "Signature=", "Credential=", f"{ACCESS}/":
        assert secret.encode() not in text, (what, text)
    plain = text.replace(b"\n", b"").replace(b"\t", b"")
    assert all(c >= 32 and c != 127 for c in plain), (what, text)
    # 2 means chunks of an unknown kind.
    assert run.returncode in (0, 1, 2), (what, run.returncode, text)
    assert run.returncode == 0 or text, what


def check_cat(frame, i, is_whole=True):
    run = bloscctl("cat", frame)
    check_message(run, ("cat", frame))
    whole = data(SIZE, i)
    assert whole.startswith(run.stdout), (frame, "other bytes")
    # If the server claims an empty object, that counts as an empty frame.
    assert run.returncode or run.stdout in (whole, b"") or not is_whole, frame


def check_look(rng):
    name = rng.choice(NAMES)
    words = rng.choice([("ls", "-r", "s3://bucket"), ("ls", "-l", "s3://bucket/d"),
                        ("info", f"s3://bucket/d/{name}.b2frame"),
                        ("verify", f"s3://bucket/d/{name}.b2frame")])
    check_message(bloscctl(*words), words)


def check_copy():
    """Copies the frames that the server lists, below "down" and nowhere else.

    An object that the server calls missing or empty is missing or empty in the copy.
    """
    before = sorted(os.listdir())
    run = bloscctl("copy", "-q", "-r", "s3://bucket/d", "down")
    check_message(run, ("copy",))
    assert sorted(set(os.listdir()) - {"down"}) == before
    for i, name in enumerate(NAMES):
        path = f"down/{name}.b2frame"
        # Chunks are copied unchecked; a reader notices damage by their checksums.
        if os.path.exists(path):
            check_cat(path, i, is_whole=False)
    shutil.rmtree("down", ignore_errors=True)


def check_one(rng, kind):
    if kind < len(NAMES):
        check_cat(f"s3://bucket/d/{NAMES[kind]}.b2frame", kind)
    elif kind == len(NAMES):
        check_look(rng)
    else:
        check_copy()


def play(count, seed):
    """@count commands."""
    rng = random.Random(seed)
    os.environ.update(ENV)
    with FakeS3() as server, LyingProxy(server.port) as way:
        fill(server)
        os.environ["AWS_ENDPOINT_URL"] = way.url
        for n in range(count):
            way.lies = Lies(seed * 1000 + n, rng.choice([1, 3, 10]))
            try:
                check_one(rng, n % 4)
            except BaseException:
                print(f"  {n}: {way.lies.told}")
                raise


def read_somewhere(rng):
    i = rng.randrange(len(NAMES))
    off, size = rng.randrange(SIZE), rng.choice([1, 4096, 100000])
    try:
        fd = os.open(f"mnt/{NAMES[i]}", os.O_RDONLY)
    except OSError:
        return False
    try:
        found = os.pread(fd, size, off)
    except OSError:
        return False
    finally:
        os.close(fd)
    assert found == data(SIZE, i)[off:off + size], (NAMES[i], off, size)
    return True


def all_is_shown():
    try:
        return all(read(f"mnt/{name}") == data(SIZE, i)
                   for i, name in enumerate(NAMES))
    except OSError:
        return False


def play_mount(seed):
    """Reads through a mount, whose server is honest again at the end."""
    rng = random.Random(seed)
    os.environ.update(ENV)
    with FakeS3() as server, LyingProxy(server.port) as way:
        fill(server)
        os.environ["AWS_ENDPOINT_URL"] = way.url
        with RemoteMount("s3://bucket/d", "-o", "ro,direct_io,attr_timeout=0,"
                         "refresh=0,cachesize=2m,timeout=5") as mount:
            way.lies = Lies(seed, rng.choice([2, 5]))
            done = sum(read_somewhere(rng) for _ in range(READS))
            way.lies = None
            wait_until(all_is_shown, "all is shown again")
            assert SECRET not in mount.log()
            print(f"  {done} of {READS} reads")
