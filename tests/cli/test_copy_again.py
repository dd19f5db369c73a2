# SPDX-License-Identifier: BSD-3-Clause
"""bloscctl copy resumes an interrupted copy"""
import fcntl
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from bloscctl import ctl, workdir  # noqa: E402
from build import BLOSCCTL  # noqa: E402

# The bytes that are synced before more are written.
STEP = 64 << 20
DATA = os.urandom(1 << 20) + bytes(STEP)
COPY = [BLOSCCTL, "copy", "-q"]


def break_off(source, nbytes):
    """Copies with a limit on the size of files; returns the partial copy."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (nbytes, nbytes))

    # Python ignores SIGXFSZ, and so do its children.
    run = subprocess.run([*COPY, source, "y"], preexec_fn=limit, check=False,
                         capture_output=True, restore_signals=False)
    assert run.returncode == 1 and b"too large" in run.stderr, run
    begun, = pathlib.Path().glob(".bloscctl-*/new")
    return begun


def check_last_step():
    """After a loss of power during the sync only the length may be there."""
    begun = break_off("x", STEP + (512 << 10))
    begun.write_bytes(b"")
    os.truncate(begun, STEP)
    ctl("copy", "-q", "x", "y")
    assert pathlib.Path("y").read_bytes() == DATA
    os.remove("y")


def check_done_meanwhile():
    """Another copy of the same source ends between the open of the file and its
    lock."""
    begun = break_off("x", 1 << 20)
    begun.write_bytes(DATA)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])
    with open(begun, "r+b") as f:
        fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_WRLCK)
        copy = subprocess.Popen([*COPY, "x", "y"], stderr=subprocess.PIPE)
        # open(2) has found the file, and waits.
        signal.sigwait([signal.SIGIO])
        os.rename(begun, "y")
        before = os.stat("y")
        fcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    assert b"another copy of it" in copy.communicate()[1]
    assert copy.returncode == 1
    begun.parent.rmdir()
    assert os.stat("y").st_mtime_ns == before.st_mtime_ns
    assert pathlib.Path("y").read_bytes() == DATA
    os.remove("y")


def check_others():
    """Another user makes a file of that name, in a directory in which all may make
    files."""
    begun = break_off("x", 1 << 20)
    begun.write_bytes(bytes(STEP + 1))
    os.chown(begun.parent, 65534, 65534)
    assert "another user" in ctl("copy", "-q", "x", "y", status=1)[1]
    assert not os.path.exists("y")
    assert begun.stat().st_size == STEP + 1
    shutil.rmtree(begun.parent)
    # Many small chunk files, and an index that is larger than any.
    pathlib.Path("z").write_bytes(b"ab" * (512 << 10))
    ctl("compress", "-q", "--chunksize=4k", "z", "-o", "x.b2frame")
    index = os.stat("x.b2frame/chunks.b2frame").st_size
    begun = break_off("x.b2frame", index - 1)
    os.chown(begun.parent, 65534, 65534)
    assert "another user" in ctl("copy", "-q", "x.b2frame", "y",
                                   status=1)[1]
    assert not os.path.exists("y")
    assert len(list(begun.glob("*.chunk"))) == 256
    shutil.rmtree(begun.parent)


def check_force():
    """A file that looks like a copy is kept, and replaced with -f."""
    ctl("copy", "-q", "x", "y")
    with open("y", "r+b") as f:
        f.write(b"damaged")
    os.utime("y", ns=(0, os.stat("x").st_mtime_ns))
    assert "was there" in ctl("copy", "-v", "x", "y")[1]
    assert pathlib.Path("y").read_bytes() != DATA
    ctl("copy", "-q", "-f", "x", "y")
    assert pathlib.Path("y").read_bytes() == DATA
    pathlib.Path("z").write_bytes(DATA[:3 << 20])
    ctl("compress", "-q", "-f", "--chunksize=1M", "z", "-o", "x.b2frame")
    ctl("copy", "-q", "x.b2frame", "v.b2frame")
    chunk = next(pathlib.Path("v.b2frame").glob("*.chunk"))
    os.truncate(chunk, 100)
    ctl("verify", "-q", "v.b2frame", status=1)
    ctl("copy", "-q", "-f", "x.b2frame", "v.b2frame")
    ctl("verify", "-q", "v.b2frame")


def main():
    with workdir():
        pathlib.Path("x").write_bytes(DATA)
        check_last_step()
        check_done_meanwhile()
        if os.geteuid() == 0:
            check_others()
        check_force()
        assert not list(pathlib.Path().glob(".bloscctl-*"))


main()
