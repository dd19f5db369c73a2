# SPDX-License-Identifier: BSD-3-Clause
"""remote_columns - ways to data in a bucket: ours, filesystems, array libraries

start() yields a Reader, which remote.py measures.  @keep is a directory for a cache
that the next reader finds, or None.  A column implements its operations as methods of
these classes; a row names columns that have its operation.
"""
import contextlib
import importlib.util
import os
import shutil
import subprocess
import time

import blosc2
import numpy as np

from data import MIB, cparams, write
from remote_scene import ACCESS, ITEMS, REGION, SECRET, make_zarr


def need_modules(*names):
    for name in names:
        if not importlib.util.find_spec(name):
            return f"{name} is not installed: pip install {name}"
    return None


def need_program(name):
    """Why the program is missing, or None; its Debian package has its name."""
    return None if shutil.which(name) else \
        f"{name} is not installed: apt-get install {name}"


class Column:
    # The prefix of the bucket with its form of the data.
    prefix = "plain"

    def __init__(self, name):
        self.name = name

    def missing(self, build):
        return None


class Reader:
    def open(self):
        pass

    def hint_random(self):
        pass

    def read(self, off, n):
        raise NotImplementedError

    def read_each(self, offs, n):
        """Sends one request after the other."""
        return [self.read(off, n) for off in offs]

    def read_all(self, check):
        """Reads all in order; returns the number of bytes; @check gets some of them."""
        raise NotImplementedError

    def close(self):
        pass


class FileReader(Reader):
    """A file of a mount, by read(2)."""

    def __init__(self, path):
        self.path = path

    def open(self):
        self.fd = os.open(self.path, os.O_RDONLY)

    def hint_random(self):
        os.posix_fadvise(self.fd, 0, 0, os.POSIX_FADV_RANDOM)

    def read(self, off, n):
        return os.pread(self.fd, n, off)

    def read_all(self, check):
        buffer = bytearray(MIB)
        with open(self.path, "rb", buffering=0) as f:
            off = 0
            while n := f.readinto(buffer):
                check(off, buffer[:4096])
                off += n
        return off

    def close(self):
        os.close(self.fd)


class ArrayReader(Reader):
    """An array, by slices; @make opens it."""

    def __init__(self, make):
        self.make = make

    def open(self):
        self.array = self.make()

    def read(self, off, n):
        return np.asarray(self.array[off // 8:(off + n) // 8]).tobytes()

    def read_all(self, check):
        """Reads all at once, so that the library can ask for many chunks."""
        data = np.asarray(self.array[:])
        for off in range(0, data.nbytes, MIB):
            check(off, data[off // 8:off // 8 + 512].tobytes())
        return data.nbytes

    def close(self):
        if hasattr(self.array, "close"):
            self.array.close()


class Mount(Column):
    """A program in the foreground that serves a mountpoint."""
    # Names of files below it.
    reads, writes = "data", "new"

    def command(self, scene, prefix, mountpoint, keep):
        raise NotImplementedError

    @contextlib.contextmanager
    def mounted(self, scene, prefix, keep=None, at="mnt"):
        mountpoint = scene.top / at
        mountpoint.mkdir(exist_ok=True)
        log = open(scene.top / "log", "ab")
        daemon = subprocess.Popen(
            [str(a) for a in self.command(scene, prefix, mountpoint, keep)],
            stdout=log, stderr=log, env=self.env(scene))
        try:
            while not os.path.ismount(mountpoint):
                if daemon.poll() is not None:
                    raise RuntimeError(f"ended: {last_line(scene)}")
                time.sleep(0.001)
            yield mountpoint
        finally:
            log.close()
            unmount(mountpoint, daemon)

    def env(self, scene):
        return scene.env()

    @contextlib.contextmanager
    def start(self, scene, keep=None, prefix=None):
        with self.mounted(scene, prefix or self.prefix, keep) as top:
            yield FileReader(top / self.reads)

    def write(self, scene):
        """Writes all, and waits until the server has it."""
        with self.mounted(scene, "new") as top, scene.measured() as got:
            write(top / self.writes, scene.parts, scene.size)
            self.wait_for(scene)
        return got

    def wait_for(self, scene):
        end = time.monotonic() + 60
        while scene.length(f"new/{self.writes}") != scene.size:
            if time.monotonic() > end:
                raise RuntimeError("the object does not come")
            time.sleep(0.01)


def without_aws():
    """The environment of a program that gets its settings in other ways."""
    return {k: v for k, v in os.environ.items() if k[:4] != "AWS_"}


def last_line(scene):
    lines = (scene.top / "log").read_text(errors="replace").splitlines()
    return lines[-1] if lines else ""


def unmount(mountpoint, daemon):
    for _ in range(100):
        if daemon.poll() is not None:
            return
        if subprocess.run(["umount", mountpoint], check=False,
                          stderr=subprocess.DEVNULL).returncode == 0:
            break
        time.sleep(0.1)
    else:
        subprocess.run(["umount", "-l", mountpoint], check=False)
        daemon.terminate()
    daemon.wait(120)


class Bloscfs(Mount):
    """Read-only by default, because a writable mount tests the server first."""

    def __init__(self, prefix, name=None, options=("ro",)):
        super().__init__(name or f"bloscfs, {prefix}")
        self.prefix, self.options = prefix, options

    def command(self, scene, prefix, mountpoint, keep):
        options = [*self.options, *([f"cachedir={keep}"] if keep else [])]
        return [scene.build / "bloscfs", "-f", "-q", "-o", ",".join(options),
                f"s3://bucket/{prefix}", mountpoint]


class WritingBloscfs(Bloscfs):
    """A mount whose new files are frames like those of the scene."""

    def __init__(self, codec):
        super().__init__(codec, f"bloscfs, {codec}, rw", (
            "rw", f"codec={codec}", "clevel=5", "filter=shuffle",
            "typesize=8", "chunksize=1m"))

    def write(self, scene):
        got = super().write(scene)
        got["ratio"] = scene.size / scene.stored("new")
        scene.check_frame(f"new/{self.writes}.b2frame")
        return got

    def wait_for(self, scene):
        """Nothing to wait for: fsync(2) returns when the server has the data."""


class Compress(Column):
    """bloscctl compress -o s3://, which needs no mount."""

    def __init__(self, codec):
        super().__init__(f"bloscctl compress, {codec}")
        self.codec = self.prefix = codec

    def run(self, scene, *words):
        return subprocess.run(
            [scene.build / "bloscctl", *words], env=scene.env(), check=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def write(self, scene):
        with scene.measured() as got:
            done = self.run(scene, "compress", "-q", f"--codec={self.codec}",
                            "-5", "--filter=shuffle", "--typesize=8", "-o",
                            "s3://bucket/new/data.b2frame",
                            scene.top / "plain")
        if done.returncode:
            raise RuntimeError(done.stderr.strip())
        got["ratio"] = scene.size / scene.stored("new")
        scene.check_frame("new/data.b2frame")
        return got


class Append(Compress):
    """Writers that race are programs: bloscctl append."""

    def __init__(self):
        super().__init__("lz4")
        self.name = "bloscctl append"

    def begin_race(self, scene):
        (scene.top / "empty").write_bytes(b"")
        done = self.run(scene, "compress", "-q", "--codec=lz4", "-o",
                        "s3://bucket/new/log.b2frame", scene.top / "empty")
        if done.returncode:
            raise RuntimeError(done.stderr.strip())

    @contextlib.contextmanager
    def racer(self, scene, i):
        def add(piece):
            path = scene.top / f"piece{i}"
            path.write_bytes(piece)
            return self.run(scene, "append", "-q",
                            "s3://bucket/new/log.b2frame", path
                            ).returncode == 0
        yield add

    def race_result(self, scene):
        return subprocess.run(
            [scene.build / "bloscctl", "cat", "s3://bucket/new/log.b2frame"],
            env=scene.env(), check=True, stdout=subprocess.PIPE).stdout


class S3fs(Mount):
    def __init__(self):
        super().__init__("s3fs-fuse, plain object")

    def missing(self, build):
        return need_program("s3fs")

    def command(self, scene, prefix, mountpoint, keep):
        secrets = scene.top / "passwd-s3fs"
        if not secrets.exists():
            secrets.touch(0o600)
            secrets.write_text(f"{ACCESS}:{SECRET}\n")
        cache = [f"-ouse_cache={keep}"] if keep else []
        return ["s3fs", f"bucket:/{prefix}", mountpoint, "-f", *cache, "-o",
                f"passwd_file={secrets},url={scene.link.url},"
                f"endpoint={REGION},use_path_request_style"]

    def env(self, scene):
        return without_aws()

    def begin_race(self, scene):
        scene.client.put("bucket/new/log", b"")

    @contextlib.contextmanager
    def racer(self, scene, i):
        with self.mounted(scene, "new", at=f"mnt{i}") as top:
            def add(piece):
                with open(top / "log", "ab", buffering=0) as f:
                    f.write(piece)
                    os.fsync(f.fileno())
                return True
            yield add

    def race_result(self, scene):
        return scene.client.get("bucket/new/log")


class Rclone(Mount):
    def __init__(self):
        super().__init__("rclone mount, plain object")

    def missing(self, build):
        return need_program("rclone")

    def command(self, scene, prefix, mountpoint, keep):
        cache = ["--vfs-cache-mode=full", f"--cache-dir={keep}"] if keep else []
        return ["rclone", "mount", f":s3:bucket/{prefix}", mountpoint, *cache]

    def env(self, scene):
        return dict(without_aws(), RCLONE_CONFIG="/dev/null",
                    RCLONE_S3_PROVIDER="Other", RCLONE_S3_REGION=REGION,
                    RCLONE_S3_ENDPOINT=scene.link.url,
                    RCLONE_S3_ACCESS_KEY_ID=ACCESS,
                    RCLONE_S3_SECRET_ACCESS_KEY=SECRET,
                    RCLONE_S3_FORCE_PATH_STYLE="true")


def fsspec_options(scene):
    """Options for a filesystem object without cached state."""
    return {"key": ACCESS, "secret": SECRET, "skip_instance_cache": True,
            "use_listings_cache": False, "client_kwargs": {
                "endpoint_url": scene.link.url, "region_name": REGION}}


class Zarr(Column):
    prefix = "zarr"

    def store(self, scene, prefix):
        raise NotImplementedError

    @contextlib.contextmanager
    def start(self, scene, keep=None):
        import zarr
        yield ArrayReader(lambda: zarr.open_array(
            self.store(scene, self.prefix), mode="r"))

    def write(self, scene):
        store = self.store(scene, "new/zarr")
        with scene.measured() as got:
            make_zarr(store, scene.array.size)[:] = scene.array
        return got

    def begin_race(self, scene):
        make_zarr(self.store(scene, "new/zarr"), 0)

    @contextlib.contextmanager
    def racer(self, scene, i):
        import zarr
        store = self.store(scene, "new/zarr")

        def add(piece):
            zarr.open_array(store, mode="r+").append(np.frombuffer(piece))
            return True
        yield add

    def race_result(self, scene):
        import zarr
        return zarr.open_array(self.store(scene, "new/zarr"),
                               mode="r")[:].tobytes()


class ZarrFsspec(Zarr):
    def __init__(self):
        super().__init__("zarr, fsspec/s3fs")

    def missing(self, build):
        return need_modules("zarr", "s3fs")

    def store(self, scene, prefix):
        from zarr.storage import FsspecStore
        return FsspecStore.from_url(f"s3://bucket/{prefix}",
                                    storage_options=fsspec_options(scene))


class ZarrObstore(Zarr):
    def __init__(self):
        super().__init__("zarr, obstore")

    def missing(self, build):
        return need_modules("zarr", "obstore")

    def store(self, scene, prefix):
        from obstore.store import S3Store
        from zarr.storage import ObjectStore
        return ObjectStore(S3Store(
            "bucket", prefix=prefix, endpoint=scene.link.url, region=REGION,
            access_key_id=ACCESS, secret_access_key=SECRET,
            virtual_hosted_style_request=False,
            client_options={"allow_http": True}))


class Blosc2(Column):
    """python-blosc2's own reading of a contiguous frame."""
    prefix = "single"

    def __init__(self):
        super().__init__("python-blosc2, contiguous")

    def missing(self, build):
        if not hasattr(blosc2, "RemoteArray"):
            return "this python-blosc2 has no RemoteArray"
        return need_modules("s3fs")

    @contextlib.contextmanager
    def start(self, scene, keep=None):
        more = {"cache_dir": str(keep)} if keep else {}
        yield ArrayReader(lambda: blosc2.open(
            "s3://bucket/single/data.b2nd", lazy=True,
            storage_options=fsspec_options(scene), **more))

    def write(self, scene):
        with scene.measured() as got:
            blosc2.asarray(scene.array, chunks=(ITEMS,),
                           cparams=cparams("lz4")).save(
                "s3://bucket/new/data.b2nd",
                storage_options=fsspec_options(scene))
        return got

