# SPDX-License-Identifier: BSD-3-Clause
"""bloscctl rm removes frames, and nothing else unless that is asked for"""
import fcntl
import json
import os
import pathlib
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from bloscctl import ctl, workdir  # noqa: E402


def make(*names):
    for name in names:
        form = "sparse" if name.endswith("b2frame") else "contiguous"
        ctl("compress", "-q", f"--format={form}", "x", "-o", name)


def here():
    return sorted(p for p in os.listdir() if p != "x")


def refused(*args):
    """Checks that nothing was removed; returns the message, that of -n too."""
    before = here()
    err = ctl("rm", *args, status=1)[1]
    assert ctl("rm", "-n", *args, status=1) == (b"", err)
    assert here() == before and err.count("\n") == 1, err
    return err


def check_frames():
    make("a.b2frame", "b.b2f")
    out = ctl("rm", "--json", "a.b2frame", "b.b2f")[0].decode()
    assert [o["source"] for o in json.loads(out)] == ["a.b2frame", "b.b2f"]
    assert here() == []
    make("a.b2frame")
    for options in "-n", "-nf":
        assert ctl("rm", options, "a.b2frame")[0] == b"a.b2frame\n"
    assert here() == ["a.b2frame"]
    ctl("rm", "a.b2frame/")
    assert here() == []


def check_what_is_no_frame():
    pathlib.Path("plain").write_bytes(b"plain bytes, which are no frame" * 9)
    os.mkdir("d")
    assert "not a Blosc2 frame" in refused("plain")
    refused("d")
    assert "directory" in refused("-f", "d")
    assert "No such file" in refused("nothing")
    assert ctl("rm", "-f", "nothing")[1] == ""
    refused("-")
    make("a.b2frame")
    pathlib.Path("a.b2frame/mine").touch()
    assert "other files" in refused("a.b2frame")
    assert "other files" in refused("-f", "a.b2frame")
    os.remove("a.b2frame/mine")
    os.symlink("a.b2frame", "link")
    assert "symbolic link" in refused("link")
    os.remove("link")
    # An unreadable frame is removed only with an option.
    pathlib.Path("a.b2frame/chunks.b2frame").write_bytes(b"no index" * 20)
    refused("a.b2frame")
    for options in "-nf", "-f":
        ctl("rm", options, "a.b2frame", "plain")
    assert here() == ["d"]


def check_frames_in_use():
    make("a.b2frame", "b.b2f")
    pathlib.Path("a.b2frame/.b2lock").touch()
    for path in "a.b2frame", "a.b2frame/.b2lock", "b.b2f":
        name = path.split("/", maxsplit=1)[0]
        fd = os.open(path, os.O_RDONLY)
        fcntl.flock(fd, fcntl.LOCK_EX)
        for options in ("-q",), ("-qf",):
            err = ctl("rm", *options, name, status=1)[1]
            assert "may lose data" in err or "locked it" in err, err
        os.close(fd)
    assert os.path.exists("a.b2frame/chunks.b2frame")
    ctl("rm", "a.b2frame", "b.b2f")


def check_trees():
    os.makedirs("d/e")
    make("a.b2frame", "b.b2f")
    for name in "a.b2frame", "b.b2f", "x":
        (shutil.copytree if name == "a.b2frame" else shutil.copy)(
            name, f"d/{name}")
        (shutil.copytree if name == "a.b2frame" else shutil.copy)(
            name, f"d/e/{name}")
    out = ctl("rm", "-rn", "d")[0].decode().split()
    assert out == ["d/a.b2frame", "d/b.b2f", "d/e/a.b2frame", "d/e/b.b2f"], out
    ctl("rm", "-r", "d")
    assert sorted(os.listdir("d")) == ["e", "x"]
    assert os.listdir("d/e") == ["x"]
    ctl("rm", "-rf", "d")
    assert os.listdir("d") == ["e"] and os.listdir("d/e") == []
    assert here() == ["a.b2frame", "b.b2f", "d"]


def main():
    with workdir():
        pathlib.Path("x").write_bytes(os.urandom(100_000))
        check_frames()
        check_what_is_no_frame()
        shutil.rmtree("d")
        check_frames_in_use()
        check_trees()


main()
