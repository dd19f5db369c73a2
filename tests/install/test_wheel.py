# SPDX-License-Identifier: BSD-3-Clause
"""test_wheel - pip installs the wheel; its module mounts, waits and tells"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

from installed import BUILD, SOURCE, run

USER = """
import os, subprocess, blosc2, bloscfs, numpy as np

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

# It unmounts after an error, too.
try:
    with bloscfs.mount("scratch", "mnt"):
        raise KeyError("mine")
except KeyError:
    assert not os.path.ismount("mnt")
try:
    with bloscfs.mount("missing", "mnt"):
        raise AssertionError("nothing to mount")
except subprocess.CalledProcessError as error:
    assert error.returncode == 3, error
"""


def example():
    """That of docs/building.md, in the working directory."""
    text = (SOURCE / "docs/building.md").read_text(encoding="utf-8")
    block = re.search(r"^```python\n(import bloscfs.*?)^```$", text,
                      re.M | re.S).group(1)
    return block.replace("/mnt/data", "mnt").replace("/data", "data") + \
        'import blosc2\nassert len(blosc2.open("data/x.npy.b2nd")[:]) == 1000\n'


def page_names_the_packages(build):
    """Those that have the libraries, for the Debian that this is."""
    release = pathlib.Path("/etc/os-release").read_text(encoding="utf-8")
    suite = re.search(r"^VERSION_CODENAME=(\w+)", release, re.M)
    text = (SOURCE / "docs/building.md").read_text(encoding="utf-8")
    row = re.search(rf"^\| {suite and suite.group(1)} \| `(.*)` \|$", text, re.M)
    if not row:
        print("not checked: docs/building.md has no packages for this system")
        return
    programs = [build / "bloscfs", build / "bloscctl"]
    # Their own wants: the packages of these bring those of libraries.
    own = set(re.findall(r"\(NEEDED\).*\[(.*)\]",
                         run("readelf", "-d", *programs, encoding="utf-8")))
    used = run("ldd", *programs, encoding="utf-8")
    libraries = {os.path.realpath(path)
                 for name, path in re.findall(r"(\S+) => (/\S+)", used)
                 if name in own}
    # Where directories are merged, dpkg may know a file by its old name.
    names = [name for path in libraries
             for name in (path, path.removeprefix("/usr"))]
    done = subprocess.run(["dpkg", "-S", *names], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, encoding="utf-8",
                          check=False)
    needed = {line.split(":")[0] for line in done.stdout.splitlines()}
    named = {*row.group(1).split()}
    # libc is always there.
    assert len(needed) > 5 and "fuse3" in named and \
        needed - {"libc6"} <= named, needed


def main():
    page_names_the_packages(BUILD)
    with tempfile.TemporaryDirectory() as scratch:
        work = pathlib.Path(scratch)
        wheel = run(SOURCE / "packaging/python/make-wheel", BUILD, work,
                    encoding="utf-8").strip()
        again = work / "again"
        again.mkdir()
        other = run(SOURCE / "packaging/python/make-wheel", BUILD, again,
                    encoding="utf-8").strip()
        assert pathlib.Path(wheel).read_bytes() == \
            pathlib.Path(other).read_bytes()
        # An environment of its own, with blosc2 and NumPy of this one.
        run(sys.executable, "-m", "venv", "--without-pip", work / "venv")
        python = work / "venv/bin/python"
        run(sys.executable, "-m", "pip", "-q", "--disable-pip-version-check",
            "--python", python, "install", "--no-index", "--no-deps", wheel)
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
