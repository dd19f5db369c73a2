# SPDX-License-Identifier: BSD-3-Clause
"""test_wheel - pip installs the wheel; its module mounts, waits and tells"""
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

from installed import BUILD, SOURCE, run

MAKER = SOURCE / "packaging/python/make-wheel"
USER = """
import os, pathlib, select, subprocess, sys, warnings
import blosc2, bloscfs, numpy as np

# docs/demo.md's first example.
data = np.round(np.sin(np.arange(400_000) / 1000) * 1000) / 1000
data.tofile("signal.raw")
blosc2.SChunk(chunksize=1 << 20, data=data, urlpath="signal.b2frame",
              contiguous=False, cparams={"typesize": 8})
for name in "mnt", "scratch":
    os.mkdir(name)
with bloscfs.mount("signal.b2frame", "mnt", ro=True) as mnt:
    assert os.path.ismount(mnt)
    assert np.array_equal(np.fromfile("mnt/signal"), data)
    try:
        open("mnt/signal", "r+b")
    except OSError as error:
        assert error.errno == 30, error
    else:
        raise AssertionError("ro")
assert not os.path.ismount("mnt")

# All is stored when the block ends, though nothing asked for it.
with bloscfs.mount("scratch", "mnt", codec="lz4", commit=600, rw=True,
                   fsname="a,b\\\\c", npy=None, sync=False):
    f = open("mnt/x.npy", "wb")
    np.save(f, data)
    f.close()
stored = blosc2.open("scratch/x.npy.b2nd")
assert np.array_equal(stored[:], data)
assert stored.schunk.cparams.codec == blosc2.Codec.LZ4

# It unmounts after an error, too, and the user's own counts.
def error_of(*what, **options):
    try:
        with bloscfs.mount(*what, **options):
            raise KeyError("mine")
    except Exception as error:
        return error

assert isinstance(error_of("scratch", "mnt"), KeyError)
assert not os.path.ismount("mnt")

# A missing mountpoint is there for as long as the block; the daemon's words.
assert isinstance(error_of("scratch", "deep/er/mnt"), KeyError)
assert os.listdir("deep/er") == []
error = error_of("missing", "deep/er/mnt")
assert isinstance(error, bloscfs.Error) and error.status == 3, error
assert str(error) == f"bloscfs: {os.getcwd()}/missing: No such file or directory"
assert os.listdir("deep/er") == []
error = error_of("scratch", "mnt", codec="nonesuch")
assert error.status == 1 and "nonesuch" in str(error), error

# URLs are left as they are.
sys.path.insert(0, os.environ["B2F_SOURCE"] + "/tests/support")
from http_server import HttpServer
with HttpServer(".") as server:
    url = server.url + "/scratch/x.npy.b2nd/chunks.b2frame"
    assert isinstance(error_of(url, "mnt"), Exception)
    blosc2.asarray(data, urlpath="one.b2nd", contiguous=True)
    with bloscfs.mount(pathlib.PurePath("one.b2nd"), pathlib.Path("mnt")):
        assert np.load("mnt/one.npy").shape == data.shape
    with bloscfs.mount(server.url + "/one.b2nd", "mnt"):
        assert np.array_equal(np.load("mnt/one.npy"), data)

# A live map: what was written is stored, and the array can still be used.
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    with bloscfs.mount("scratch", "mnt", commit=600):
        a = np.load("mnt/x.npy", mmap_mode="r+")
        a[0] = 7
        f = open("mnt/open", "wb", 0)
        f.write(b"some")
assert "mnt/x.npy" in str(said[-1].message), said
assert not os.path.ismount("mnt")
assert blosc2.open("scratch/x.npy.b2nd")[0] == 7
assert subprocess.check_output([bloscfs.program("bloscctl"), "cat",
                                "scratch/open.b2frame"]) == b"some"
a[1] = 8
f.write(b"more")
assert isinstance(error_of("scratch", "mnt2"), KeyError)

def daemon():
    own = os.path.realpath(bloscfs.program("bloscfs"))
    (pid,) = [path.parent.name for path in pathlib.Path("/proc").glob("[0-9]*/exe")
              if os.path.realpath(path) == own]
    return int(pid)

ends = os.pidfd_open(daemon())
del a
f.close()
assert select.select([ends], [], [], 60)[0], "the daemon lives on"
assert blosc2.open("scratch/x.npy.b2nd")[1] == 8
assert subprocess.check_output([bloscfs.program("bloscctl"), "cat",
                                "scratch/open.b2frame"]) == b"somemore"

# With an exception whose traceback holds the map.
def holds():
    b = np.load("mnt/x.npy", mmap_mode="r+")
    b[2] = 9
    raise ValueError("of the user")

try:
    with bloscfs.mount("scratch", "mnt"):
        holds()
except ValueError as error:
    assert blosc2.open("scratch/x.npy.b2nd")[2] == 9

# The daemon dies: Error tells it, or a warning beside the user's own exception.
def killed(*own):
    with bloscfs.mount("scratch", "mnt"):
        os.kill(daemon(), 9)
        for error in own:
            raise error

died = f"bloscctl: {os.getcwd()}/mnt: its bloscfs has died; unstored data are lost"
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    try:
        killed(KeyError("mine"))
    except KeyError:
        pass
assert said[-1].category is RuntimeWarning and str(said[-1].message) == died, said
try:
    killed()
except bloscfs.Error as error:
    assert (str(error), error.status) == (died, 1), error
else:
    raise AssertionError("nothing was told")
assert not os.path.ismount("mnt")

# A filesystem below the mount stays, also if a file of it is open.
os.mkdir("disk")
subprocess.run(["mount", "-t", "tmpfs", "none", "disk"], check=True)
with open("disk/of-ours", "w"):
    try:
        with bloscfs.mount("disk", "disk"):
            os.kill(daemon(), 9)
    except bloscfs.Error:
        pass
    assert os.path.exists("disk/of-ours")
subprocess.run(["umount", "disk"], check=True)

# A forked process leaves the mount to its parent.
try:
    with bloscfs.mount("scratch", "mnt"):
        child = os.fork()
        if child == 0:
            sys.exit(0)
        os.waitpid(child, 0)
        assert os.path.ismount("mnt")
except SystemExit:
    # Not the usual end: blosc2 would wait for threads that it has not.
    os._exit(0)
assert not os.path.ismount("mnt")

# Its own version, types, and the programs by the module.
told = subprocess.check_output([sys.executable, "-m", "bloscfs", "--version"],
                               text=True).splitlines()[0]
assert told == "bloscfs " + bloscfs.__version__, told
told = subprocess.check_output([sys.executable, "-m", "bloscfs", "ctl", "ls",
                                "scratch"], text=True)
assert "x.npy.b2nd" in told, told
assert os.path.exists(os.path.dirname(bloscfs.__file__) + "/py.typed")
hints = bloscfs.mount.__wrapped__.__annotations__
assert set(hints) == {"source", "mountpoint", "options", "return"}, hints
"""


def example():
    """The program of docs/building.md, for the working directory."""
    text = (SOURCE / "docs/building.md").read_text(encoding="utf-8")
    block = re.search(r"^```python\n(import bloscfs.*?)^```$", text,
                      re.M | re.S).group(1)
    return block.replace("/mnt/data", "mnt").replace("/data", "data") + \
        'import blosc2\nassert len(blosc2.open("data/x.npy.b2nd")[:]) == 1000\n'


def loads(program):
    """The paths of the libraries that @program loads when it looks for a server."""
    url = "http://127.0.0.1:1/x"
    words = {"bloscctl": ("info", url), "bloscfs": (url, program.parent)}
    done = subprocess.run([program, *words[program.name]],
                          env={**os.environ, "LD_DEBUG": "files",
                               "BLOSCCTL_RETRY": "1"},
                          capture_output=True, encoding="utf-8", check=False)
    assert "cannot connect" in done.stderr, done
    return re.findall(r"calling init: (/\S+)", done.stderr)


def needs_nothing_else(venv):
    """Except the libraries of glibc, and libgcc_s, which glibc loads to end a thread;
    also when libcurl is loaded."""
    for name in "bloscfs", "bloscctl":
        used = loads(venv / "bin" / name)
        assert any("/libcurl.so.4" in path for path in used), used
        for path in used:
            assert path.startswith(str(venv)) or \
                re.match(r"(ld-linux.*|lib(c|gcc_s|m|dl|resolv|pthread))\.so",
                         pathlib.Path(path).name), used


def main():
    with tempfile.TemporaryDirectory() as scratch:
        work = pathlib.Path(scratch)
        done = subprocess.run([sys.executable, MAKER, BUILD, work], text=True,
                              env={"PATH": scratch}, capture_output=True)
        assert done.returncode == 1 and done.stderr == \
            "make-wheel: patchelf is missing: apt-get install patchelf\n", done
        wheel = run(MAKER, BUILD, work, encoding="utf-8").strip()
        again = work / "again"
        again.mkdir()
        other = run(MAKER, BUILD, again, encoding="utf-8").strip()
        assert pathlib.Path(wheel).read_bytes() == \
            pathlib.Path(other).read_bytes()
        release = platform.freedesktop_os_release()
        assert release.get("VERSION_CODENAME") != "bookworm" or \
            "-manylinux_2_34_" in wheel, wheel
        # An environment of its own, with blosc2 and NumPy of this one.
        run(sys.executable, "-m", "venv", "--without-pip", work / "venv")
        python = work / "venv/bin/python"
        run(sys.executable, "-m", "pip", "-q", "--disable-pip-version-check",
            "--python", python, "install", "--no-index", "--no-deps", wheel)
        needs_nothing_else(work.resolve() / "venv")
        assert "mount" in run(work / "venv/bin/bloscfs", "-h",
                              encoding="utf-8")
        site = pathlib.Path(sys.executable).parent.parent / "lib"
        packages = next(site.glob("python*/site-packages"))
        # Only what came with the wheel is there to be found.
        path = "/usr/bin:/bin:/usr/sbin:/sbin"
        (work / "data").mkdir()
        done = subprocess.run([python, "-c", USER + example()], cwd=work,
                              env=dict(os.environ, PATH=path,
                                       PYTHONPATH=str(packages)))
        if os.path.ismount(work / "mnt"):
            run("umount", work / "mnt")
        assert done.returncode == 0
        # docs/demo.md's first example, with the programs of the wheel.
        run(sys.executable, SOURCE / "tests/mount/test_readme.py",
            "test_every_line_prints_what_it_should",
            env=dict(os.environ, B2F_BUILD=str(work / "venv/bin"),
                     PYTHONPATH=str(packages), B2F_README="first"))


if __name__ == "__main__":
    main()
