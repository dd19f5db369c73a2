# SPDX-License-Identifier: BSD-3-Clause
"""forms - every form in which a mount shows data, for tests that hold for all of them

A form tells how to make a file of it, what a reader without a mount finds, and which
kinds of operations (ops.py) it refuses.  A File is a file in a mount, with the bytes
that it has to have.
"""
import contextlib
import errno
import io
import os
import pathlib
import shutil

import blosc2
import numpy as np

from fake_s3 import FakeS3
from mounting import Mount
from packing import BloscArgs, BloscpackArgs, bloscpack, unpack
from proxy import Proxy, status
from remote import RemoteMount
from s3_server import ENV
from scratch import (check_same, check_stock, litter, make_contiguous,
                     stored_bytes)

CHUNK = 1 << 16
SHAPE = 409, 204
# Ten chunks and a part of one, unless it is an array.
SIZE = SHAPE[0] * SHAPE[1] * 8
SRC, MNT = pathlib.Path("src"), pathlib.Path("mnt")
# Only calls of a test commit, and every change is visible at once.
OPTIONS = ("commit=600", "attr_timeout=0", "entry_timeout=0")


def content(seed=0, size=SIZE):
    """Bytes that compress, but differ everywhere."""
    rng = np.random.default_rng(seed)
    n = size // 8 + 1
    items = (np.arange(n) << 13) + rng.integers(0, 1 << 12, n)
    return items.astype("<i8").tobytes()[:size]


def npy_head(shape=SHAPE):
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {
        "descr": "<i8", "fortran_order": False, "shape": shape})
    return out.getvalue()


class Form:
    """A sparse frame of C-Blosc2; the other forms override the differences."""

    # Suffixes of the frame, and of its name in the mount.
    suffix, shown = ".b2frame", ""
    options = ()
    # The errno of refused operations, by kind or by name.
    refused = {}
    # May the file have any number of bytes?
    resizes = True
    is_file = False
    on_disk = True

    def name(self):
        return type(self).__name__

    def make(self, path, data):
        """The frame @path, behind the back of the mount."""
        blosc2.SChunk(chunksize=CHUNK, data=data or None, urlpath=str(path),
                      contiguous=False, mode="w", cparams={"typesize": 8, "nthreads": 1})

    def model(self, data):
        """The bytes that a file made of @data shows."""
        return data

    def stock(self, path):
        return stored_bytes(path)

    def check(self, path, want):
        check_stock(path, want)

    @contextlib.contextmanager
    def mounted(self, *options):
        SRC.mkdir(exist_ok=True)
        with Mount(SRC, MNT, "-o", ",".join(
                ("rw", *OPTIONS, "chunksize=64k", *self.options,
                 *options))) as mount:
            yield Shown(self, mount)

    def put(self, name, data):
        self.make(SRC / (name + self.suffix), data)

    def fill(self, left):
        """Fills the disk up to @left bytes; returns a function that frees the room."""
        st = os.statvfs(SRC)
        ballast = SRC / "ballast"
        ballast.write_bytes(bytes(st.f_bavail * st.f_frsize - left))
        return ballast.unlink

    def fetch(self, name):
        """The frame of the file @name, where stock can open it."""
        return SRC / (name.removesuffix(self.shown) + self.suffix)

    def change(self, f):
        """C-Blosc2 changes the frame of the File @f in place."""
        opened = blosc2.open(str(f.frame()), mode="a")
        if isinstance(opened, blosc2.NDArray):
            opened[3:9] = 7
            row = SHAPE[1] * 8
            f.note(np.full(6 * SHAPE[1], 7).tobytes(),
                   len(f.model) - SIZE + 3 * row)
        else:
            opened.update_data(3, content(8, CHUNK), True)
            f.note(content(8, CHUNK), 3 * CHUNK)


class Sparse(Form):
    options = ("small=0",)


class WritebackCache(Sparse):
    options = ("small=0", "writeback_cache")


class Contiguous(Form):
    is_file = True

    def make(self, path, data):
        make_contiguous(path, data, CHUNK)


class Small(Form):
    """Made by the mount; one file until it grows too large."""

    is_file = True
    options = ("small=64m",)

    def put(self, name, data):
        (MNT / name).write_bytes(data)


class Array(Form):
    suffix, resizes = ".b2nd", False
    refused = {"resize": errno.EPERM}
    contiguous = False

    def make(self, path, data):
        items = np.frombuffer(data, "<i8").reshape(SHAPE)
        blosc2.asarray(items, urlpath=str(path), mode="w", chunks=(100, 70),
                       blocks=(50, 35), contiguous=self.contiguous,
                       cparams={"nthreads": 1})

    def check(self, path, want):
        check_same(stored_bytes(path), want, "C-Blosc2")


class ContiguousArray(Array):
    is_file = contiguous = True


class View(Array):
    """NAME.npy beside an array whose frame has no .npy header."""

    shown = ".npy"
    refused = {"resize": errno.EPERM, "name": errno.EPERM}

    def model(self, data):
        return npy_head() + data

    def stock(self, path):
        return npy_head() + stored_bytes(path)

    def check(self, path, want):
        check_same(self.stock(path), want, "C-Blosc2")


class Npy(Form):
    """NAME.npy written into the mount; an array until a write makes it something
    else."""

    suffix = ".npy.b2nd"
    shown = ".npy"
    options = ("small=0",)

    def model(self, data):
        return npy_head() + data

    def put(self, name, data):
        (MNT / f"{name}.npy").write_bytes(self.model(data))

    def stock(self, path):
        opened = blosc2.open(str(path), mode="r")
        is_array = isinstance(opened, blosc2.NDArray)
        head = bytes(opened.schunk.vlmeta["npy"]) if is_array else b""
        return head + stored_bytes(path)


class Bucket(Form):
    """A sparse frame in an object store."""

    on_disk = False
    # Chunk ids of frames that were not made by a mount are in use.
    refused = {"rename_over": errno.EXDEV}
    # Changes of other clients are seen at once.
    options = ("refresh=0",)

    @contextlib.contextmanager
    def mounted(self, *options):
        with FakeS3() as self.server, Proxy(self.server.port) as self.way:
            os.environ.update(ENV, AWS_ENDPOINT_URL=self.way.url)
            with RemoteMount("s3://bucket/d", "-o", ",".join(
                    (*OPTIONS, "chunksize=64k", *self.options,
                     *options))) as mount:
                yield Shown(self, mount)

    def put(self, name, data):
        self.make("up", data)
        for file in os.listdir("up"):
            self.server.load(f"up/{file}", self.key(name) + file)
        shutil.rmtree("up")

    def fill(self, left):
        self.way.fault = lambda r: status(507) if r.method == "PUT" else None
        return lambda: setattr(self.way, "fault", None)

    def key(self, name):
        return f"/bucket/d/{name}.b2frame/"

    def fetch(self, name):
        path = pathlib.Path(f"down.{name}")
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        with self.server.lock:
            for key, found in self.server.objects.items():
                if key.startswith(self.key(name)):
                    (path / key.rpartition("/")[2]).write_bytes(found.body)
        return path

    def change(self, f):
        """Another client puts a frame of other chunks in its place."""
        for key in [*self.server.objects]:
            if key.startswith(self.key(f.name)):
                del self.server.objects[key]
        self.put(f.name, content(8))
        f.model[:] = content(8)

    def check(self, path, want):
        # Chunks that the commit before named may still be there.
        check_same(stored_bytes(path), want, "C-Blosc2")


class ReadOnly(Form):
    refused = {"write": errno.EROFS, "resize": errno.EROFS}

    def change(self, f):
        """Another file replaces it."""
        self.make(pathlib.Path("changed" + self.suffix), content(8))
        shutil.move("changed" + self.suffix, f.frame())
        f.model[:] = content(8)


class Bloscpack(ReadOnly):
    suffix = ".blp"

    def make(self, path, data):
        bloscpack.pack_bytes_to_file(
            data, str(path), chunk_size=100000,
            blosc_args=BloscArgs(typesize=8, cname="zstd"),
            bloscpack_args=BloscpackArgs(checksum="crc32"))

    def stock(self, path):
        return unpack(str(path))[0]

    def check(self, path, want):
        check_same(self.stock(path), want, "Bloscpack")


class Pack(ReadOnly):
    """A member of a store that is one ZIP file."""

    suffix = ".b2z"
    shown = ".b2z/a"
    refused = {**ReadOnly.refused, "name": errno.EROFS}

    def make(self, path, data):
        with blosc2.DictStore(str(path), mode="w", threshold=1000) as store:
            store["/a"] = np.frombuffer(data, "<i8").reshape(SHAPE)

    def stock(self, path):
        with blosc2.DictStore(str(path), mode="r") as store:
            return store["/a"][...].tobytes()

    def check(self, path, want):
        check_same(self.stock(path), want, "C-Blosc2")


FORMS = [x() for x in (Sparse, WritebackCache, Contiguous, Small, Array,
                       ContiguousArray, View, Npy, Bucket, Bloscpack, Pack)]


class Shown:
    """A mount of one form."""

    def __init__(self, form, mount):
        self.form, self.mount = form, mount

    def new(self, name, seed=0):
        data = content(seed)
        self.form.put(name, data)
        return File(self, name + self.form.shown, self.form.model(data))


class File:
    def __init__(self, shown, name, model):
        self.shown, self.form = shown, shown.form
        self.name, self.path = name, MNT / name
        self.model = bytearray(model)

    @contextlib.contextmanager
    def opened(self, flags=os.O_RDWR):
        fd = os.open(self.path, flags)
        try:
            yield fd
        finally:
            os.close(fd)

    def read(self):
        return self.path.read_bytes()

    def note(self, piece, off):
        """Notes that @piece was written at @off."""
        self.model += bytes(max(0, off - len(self.model)))
        self.model[off:off + len(piece)] = piece

    def write(self, fd, piece, off):
        assert os.pwrite(fd, piece, off) == len(piece)
        self.note(piece, off)

    def cut(self, size):
        """Notes that the file has @size bytes now."""
        del self.model[size:]
        self.model += bytes(size - len(self.model))

    def frame(self):
        return self.form.fetch(self.name)

    def check_stock(self):
        check_same(self.form.stock(self.frame()), bytes(self.model),
                   f"stock of {self.name}")

    def check(self):
        """Checks the data in the mount, and the data for a reader without one."""
        check_same(self.read(), bytes(self.model), f"the mount's {self.name}")
        assert os.path.getsize(self.path) == len(self.model), self.name
        self.check_stock()

    def check_left(self):
        """The same after the unmount: the frame is sound and tidy."""
        path = self.frame()
        self.form.check(path, bytes(self.model))
        if self.form.on_disk and not self.form.refused:
            assert path.is_file() == self.form.is_file, path
            assert not litter(path), litter(path)
