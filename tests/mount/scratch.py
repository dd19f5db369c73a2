# SPDX-License-Identifier: BSD-3-Clause
"""scratch - a read-write mount of a directory, and checks of its frames with stock
Blosc2

With B2F_PLAIN in the environment the mounts are plain directories, and frames are not
checked: that tests the tests.
"""
import json
import os
import pathlib
import re
import subprocess
import threading

import blosc2
import numpy as np

from mounting import BUILD, Mount
from stock import stored_bytes

PLAIN = "B2F_PLAIN" in os.environ
INDEX = "chunks.b2frame"
# The suffix of new files.
SUFFIXES = ".b2frame", ".b2nd", ".b2f"
# For tests of the files that a sparse frame is made of.
SPARSE = "small=0"
CHUNK_FILE = re.compile(r"[0-9A-F]{8}\.chunk")


class Scratch:
    """A mount of src at mnt, with rw and more options as for -o."""

    def __init__(self, *options, source="src", path="mnt", wrap=()):
        self.options = options
        self.wrap = wrap
        self.source = pathlib.Path(source).absolute()
        self.path = pathlib.Path(path).absolute()
        self.source.mkdir(exist_ok=True)
        self.path.mkdir(exist_ok=True)
        self.mount = None

    def start(self):
        if PLAIN:
            return
        self.mount = Mount(self.source, self.path, "-o",
                           ",".join(("rw", *self.options)), wrap=self.wrap)
        self.mount.__enter__()

    def stop(self, kind=None, value=None, trace=None):
        mount, self.mount = self.mount, None
        if mount:
            mount.__exit__(kind, value, trace)

    def remount(self):
        self.stop()
        self.start()

    def kill(self):
        """Like a crash: kills the daemon, and detaches the mount."""
        mount, self.mount = self.mount, None
        mount.process.kill()
        mount.process.wait()
        subprocess.run(["fusermount3", "-u", "-z", self.path], check=True)
        mount.log_file.close()

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *exception):
        self.stop(*exception)


class Server:
    """Does in this process what a shell command of another program asks for.

    @command writes a line to one pipe and waits for one from another.
    """

    def __init__(self, action):
        self.action = action
        for name in "ask", "answer":
            os.mkfifo(name)
        ask, answer = (os.path.abspath(x) for x in ("ask", "answer"))
        self.command = f"echo go >{ask} && read x <{answer} && [ $x = done ]"
        self.error = None
        self.thread = threading.Thread(target=self.serve, daemon=True)

    def serve(self):
        while open("ask").read() != "end\n":
            try:
                self.action()
                said = "done"
            except Exception as error:  # told by __exit__
                self.error = self.error or error
                said = "failed"
            with open("answer", "w") as f:
                f.write(f"{said}\n")

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        with open("ask", "w") as f:
            f.write("end\n")
        self.thread.join()
        os.unlink("ask")
        os.unlink("answer")
        if self.error:
            raise self.error


def bloscctl(*args, status=0):
    run = subprocess.run([BUILD / "bloscctl", *map(str, args)],
                         capture_output=True, stdin=subprocess.DEVNULL)
    assert run.returncode == status, (args, run.returncode, run.stdout[-500:],
                                      run.stderr[-2000:])
    return run.stdout


def is_frame(path):
    """Is @path a sparse frame, or by its name a contiguous one?"""
    return (path / INDEX).exists() or (
        path.suffix in SUFFIXES and path.is_file() and
        not path.is_symlink() and path.name != INDEX)


def frames(top):
    """All frames below @top."""
    return sorted(path for path in pathlib.Path(top).rglob("*")
                  if is_frame(path))


def frame_of(source, name):
    """The frame that the file @name of a mount of @source is stored in."""
    for suffix in SUFFIXES:
        path = pathlib.Path(source) / (name + suffix)
        if is_frame(path):
            return path
    raise AssertionError(f"{name} has no frame: {os.listdir(source)}")


def stock_bytes(path):
    """The bytes of the frame @path that a mount shows, by python-blosc2."""
    opened = blosc2.open(str(path), mode="r")
    if isinstance(opened, blosc2.NDArray):
        return bytes(opened.schunk.vlmeta["npy"]) + stored_bytes(path)
    return stored_bytes(path)


def check_same(got, want, what):
    """Compares bytes; the message of a difference is short."""
    if got == want:
        return
    n = min(len(got), len(want))
    differ = np.flatnonzero(np.frombuffer(got, "u1", n) !=
                            np.frombuffer(want, "u1", n))
    where = f"from {differ[0]} to {differ[-1]}" if len(differ) else "no byte"
    raise AssertionError(f"{what}: {len(got)} bytes, not {len(want)}; "
                         f"{len(differ)} differ, {where}")


def check_stock(path, want):
    """Checks that @path is sound, and that C-Blosc2 and bloscctl read @want from it."""
    if PLAIN:
        return
    check_same(stock_bytes(path), want, f"C-Blosc2 of {path}")
    bloscctl("verify", path)


def index_entries(path):
    """The raw index of the frame @path: negative entries are special chunks.

    Other entries are the id of a chunk file, or a place in a contiguous frame.
    """
    path = pathlib.Path(path)
    is_sparse = path.is_dir()
    raw = (path / INDEX if is_sparse else path).read_bytes()
    start = int.from_bytes(raw[11:15], "big")
    if int.from_bytes(raw[30:38], "big") == 0:
        return np.zeros(0, "<i8")
    if not is_sparse:
        start += int.from_bytes(raw[39:47], "big")
    size = int.from_bytes(raw[start + 12:start + 16], "little")
    return np.frombuffer(blosc2.decompress2(raw[start:start + size]), "<i8")


def chunk_file(path, entry):
    return pathlib.Path(path) / f"{entry:08X}.chunk"


def is_sealed(file):
    """Do bytes follow the end of the chunk by its header?"""
    with open(file, "rb") as f:
        head = f.read(16)
    return os.path.getsize(file) > int.from_bytes(head[12:16], "little")


def unsealed(path):
    """The chunks of the frame @path that have no seal."""
    chunks = json.loads(bloscctl("verify", "--json", path))["chunks"]
    return {n for n, what in enumerate(chunks) if what == "unsealed"}


def make_contiguous(path, data=b"", chunk=1 << 16, typesize=8, **options):
    """A frame in one file, by C-Blosc2."""
    blosc2.SChunk(chunksize=chunk, data=data or None, urlpath=str(path),
                  contiguous=True,
                  cparams={"typesize": typesize, "nthreads": 1, **options})


def litter(path):
    """Files and bytes of the frame @path that it does not need.

    Of a sparse frame, files that its index does not name; of a contiguous frame,
    leftover files of commits beside it, and bytes behind its end.
    """
    path = pathlib.Path(path)
    if path.is_file():
        with open(path, "rb") as f:
            end = int.from_bytes(f.read(24)[16:], "big")
        size = path.stat().st_size
        return [f"{size - end} bytes"] * (size != end) + sorted(
            x for x in os.listdir(path.parent)
            if x != f"{path.name}.b2lock" and (
                x.startswith(f"{path.name}.") or
                x.startswith(".") and path.name in x))
    needed = {chunk_file(path, e).name for e in index_entries(path) if e >= 0}
    return sorted(set(os.listdir(path)) - needed - {INDEX, ".b2lock"})


def check_tree(source, mounted_names):
    """Checks after an unmount that every frame below @source is sound and tidy.

    @mounted_names: path in the mount -> its bytes.
    """
    if PLAIN:
        return
    bloscctl("verify", "-r", source)
    for path in frames(source):
        assert not litter(path), (path, litter(path))
    for name, want in mounted_names.items():
        path = pathlib.Path(source) / name
        if not path.is_file():
            path = frame_of(path.parent, path.name)
            check_same(stock_bytes(path), want, name)
        else:
            check_same(path.read_bytes(), want, name)
