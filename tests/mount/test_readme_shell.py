#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The commands of README.md and docs/, the manual pages included.

Each block for a shell is run here, or by the test named below; a new block is in no
list, and fails.
"""
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import time

import blosc2
import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import s3_server
import test_readme as readme
from mounting import BUILD, SOURCE, main, mountpoints

RAW = np.arange(30000, dtype="<f8")
# By their first words.
ELSEWHERE = {
    "scripts/demo": "scripts/demo, whose commands mount/readme compares",
    "apt-get install": "install/packages, and scripts/clean-root",
    "cmake -S": "scripts/clean-root",
    "cc examples/read_frame.c": "install/library",
}
# Programs of the user in the examples of bloscctl(1).
STANDINS = {"simulate": "cat raw", "mail": "echo mail; exit 1"}
HERE = {"bloscfs signal.b2frame": "mounting", "mkdir -p /fast": "scratch",
        "bloscctl info": "commands", "mkdir -p /srv/objects": "bucket",
        "python3 -c": "first"}


def lines_of(block):
    """The commands, without the text around them."""
    joined = block.replace("\\\n", " ")
    return [re.sub(r" +# .*", "", line) for line in joined.splitlines()]


def find(name):
    """The block that is called @name above."""
    start = next(key for key, value in HERE.items() if value == name)
    return next(lines_of(block) for block in readme.blocks("sh")
                if block.startswith(start))


def local(command):
    """The command with absolute paths moved below this directory."""
    return re.sub(r"(?<![\w./])/(archive|data|mnt|fast|srv)\b", r"./\1", command)


def run(command):
    """Runs the command unchanged, except for the paths."""
    command = local(command)
    path = (f"{os.getcwd()}/bin:{BUILD}:{readme.VENV.parent}:"
            f"{os.environ['PATH']}")
    done = subprocess.run(["bash", "-euc", command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT,
                          env=dict(os.environ, PATH=path))
    assert done.returncode == 0, (command, done.stdout)
    return done.stdout


def save(path, **options):
    blosc2.SChunk(data=RAW, chunksize=1 << 16, urlpath=path, mode="w",
                  contiguous=False, cparams={"typesize": 8}, **options)


def unmount_all():
    for path in mountpoints(os.getcwd()):
        subprocess.run([BUILD / "bloscctl", "umount", path], check=True)


def shows(path):
    return pathlib.Path(path).read_bytes() == RAW.tobytes()


def test_no_block_is_forgotten():
    for block in readme.blocks("sh"):
        known = [start for start in (*ELSEWHERE, *HERE)
                 if block.startswith(start)]
        assert len(known) == 1, block


def test_first():
    try:
        for line in find("first"):
            said = run(line)
    finally:
        unmount_all()
    assert said.startswith(b"temperature.npy.b2nd: ok"), said
    assert blosc2.open("temperature.npy.b2nd")[0] == 0
    assert np.load("temperature.npy")[0] == -5


def test_mounting():
    os.makedirs("mnt/x")
    os.makedirs("mnt/data")
    os.mkdir("data")
    save("signal.b2frame")
    save("data/signal.b2frame")
    pathlib.Path("plain-file").touch()
    lines = find("mounting")
    shown = ["mnt/x/signal", "plain-file", "data/signal", "mnt/data/signal"]
    assert len(lines) == len(shown) + 1
    try:
        for line, path in zip(lines, shown):
            run(line)
            assert shows(path), line
            unmount_all()
        run(lines[0])
        run(lines[-1])
        assert not mountpoints(os.getcwd())
    finally:
        unmount_all()


def test_scratch():
    os.makedirs("mnt/data")
    os.mkdir("data")
    save("data/signal.b2frame")
    text = re.search(r"`(bloscfs -o [^`]*)`", "".join(readme.PAGES)).group(1)
    try:
        run(text)
        assert shows("mnt/data/signal")
        for line in find("scratch"):
            run(line)
        pathlib.Path("mnt/scratch/x").write_bytes(RAW.tobytes())
        run("bloscctl umount /mnt/scratch")
    finally:
        unmount_all()
    made = blosc2.open("fast/disk/packed/x.b2frame")
    assert made.cparams.codec == blosc2.Codec.LZ4
    assert made.chunksize == 4 << 20 and made[:] == RAW.tobytes()
    # The command in docs/using.md that sets an attribute.
    text = re.search(r"`(setfattr [^`]*)`", "".join(readme.PAGES)).group(1)
    os.mkdir("fast/disk/packed/raw")
    try:
        run(find("scratch")[1])
        name, value = re.search(r"-n (\S+) -v (\S+)", text).groups()
        os.setxattr("mnt/scratch/raw", name, value.encode())
    finally:
        unmount_all()


def start(command, port):
    """Starts the server of @command, and waits until it answers."""
    words = command.rstrip("& ").replace("versitygw", s3_server.find())
    server = subprocess.Popen(["bash", "-c", local(f"exec env {words}")],
                              stdout=subprocess.DEVNULL)
    end = time.monotonic() + s3_server.PATIENCE
    while time.monotonic() < end:
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                break
        time.sleep(.05)
    return server


def of_the_table(keys):
    """The commands whose requests docs/remote.md counts."""
    text = (SOURCE / "docs/remote.md").read_text(encoding="utf-8")
    lines = re.findall(r"^\| `(\S+ [^`]*)` \| \d", text, re.M)
    assert len(lines) > 10, lines
    pathlib.Path("signal.raw").write_bytes(RAW.tobytes())
    for line in (*lines, "bloscctl rm s3://data/signal.b2frame"):
        line = line.replace("...", "s3://data/signal.b2frame")
        if line.startswith("rm "):
            unmount_all()
            run(f"{keys}\nbloscfs s3://data mnt && cp signal.raw mnt/new")
        run(f"{keys}\n{line}")
    unmount_all()


def test_bucket():
    if not s3_server.find():
        print("skipped: no S3 server")
        return
    os.makedirs("mnt/data")
    save("signal.b2frame")
    port = s3_server.free_port()
    make, serve, *rest = [line.replace("7070", str(port))
                          for line in find("bucket")]
    run(make)
    server = start(serve, port)
    try:
        of_the_table(next(line for line in rest if "AWS" in line))
        assert run("\n".join(rest)).endswith(RAW.tobytes()[:100])
        assert shows("mnt/data/signal")
    finally:
        unmount_all()
        server.terminate()
        server.wait()


def prepare():
    """The values of the placeholders."""
    os.makedirs("src")
    os.makedirs("tree/sub")
    os.mkdir("mnt")
    pathlib.Path("file").write_bytes(RAW.tobytes())
    pathlib.Path("tree/sub/file").write_bytes(RAW.tobytes())
    save("frame.b2frame")
    save("src/frame.b2frame")
    blosc2.asarray(RAW.reshape(100, 300), urlpath="array.b2nd", mode="w",
                   contiguous=False)


NAMES = {"FRAME": "frame.b2frame", "FILE": "file", "DIRECTORY": "src",
         "ARRAY INDEX": "array.b2nd '10:20, ..., ::-1'", "TREE": "tree",
         "MOUNTPOINT": "mnt", "SRC DST": "tree copied"}


def command_runs(line):
    os.mkdir("place")
    os.chdir("place")
    prepare()
    for name, value in NAMES.items():
        line = re.sub(rf"\b{name}\b", value, line)
    # Without --count it runs until a signal.
    line = line.replace("bloscctl top", "bloscctl top --count=1")
    try:
        subprocess.run([BUILD / "bloscfs", "src", "mnt"], check=True)
        said = run(line)
    finally:
        unmount_all()
    os.chdir("..")
    shutil.rmtree("place")
    return said


def test_commands():
    said = {line.split()[1]: command_runs(line) for line in find("commands")}
    assert len(said) > 12
    assert said["cat"] == RAW.tobytes()
    assert b"ok, 4 chunks" in said["verify"], said["verify"]
    want = RAW.reshape(100, 300)[10:20, ..., ::-1]
    assert said["slice"].endswith(want.tobytes())


def manual(page, wanted):
    """Lines of the displays of @page that match @wanted, as commands."""
    text = (SOURCE / "docs" / page).read_text(encoding="utf-8")
    shown = re.findall(r"^\.Dl \$ (.*)$", text, re.M)
    for block in re.findall(r"^\.(?:EX|Bd -literal[^\n]*)\n(.*?)^\.E[Ed]$", text,
                            re.M | re.S):
        shown += block.splitlines()
    return [line.replace("\\-", "-") for line in shown
            if re.match(wanted, line)]


def test_examples_of_the_tool():
    os.makedirs("archive/bin")
    os.mkdir("bin")
    for name, text in STANDINS.items():
        pathlib.Path("bin", name).write_text(f"#!/bin/sh\n{text}\n",
                                             encoding="utf-8")
        os.chmod(f"bin/{name}", 0o755)
    pathlib.Path("raw").write_bytes(RAW.tobytes())
    big = np.arange(1 << 20).tobytes()
    pathlib.Path("big.dat").write_bytes(big)
    run("bloscctl compress -o data.b2frame big.dat")
    save("archive/x.b2frame")
    save("results.b2frame")
    blosc2.asarray(RAW, urlpath="data.b2nd", mode="w")
    np.save("temperature.npy", RAW[:29200].reshape(365, 80))
    lines = manual("bloscctl.1", "")
    assert len(lines) > 8, lines
    for line in lines:
        run(line)
    assert np.array_equal(np.load("july.npy"),
                          RAW[:29200].reshape(365, 80)[181:212, ::-1])
    assert pathlib.Path("results").read_bytes() == 2 * RAW.tobytes()
    assert pathlib.Path("big.dat").read_bytes() == big


def test_examples_of_mounts():
    os.makedirs("mnt/scratch")
    os.makedirs("mnt/archive/run7")
    os.mkdir("data")
    save("data/x.b2frame")
    over, *lines = manual("bloscfs.1", "bloscfs |cat |bloscctl ")
    assert len(lines) == 3
    attributes = manual("bloscfs.5", "setfattr ")
    assert len(attributes) == 2
    try:
        run(over)
        assert shows("data/x")
        unmount_all()
        run("\n".join(lines))
        assert not mountpoints(os.getcwd())
        os.makedirs("fast/scratch")
        os.makedirs("fast/archive/run7")
        run("bloscfs fast mnt")
        if shutil.which("setfattr"):
            run("\n".join(attributes))
            codec = os.getxattr("fast/scratch", "user.blosc2.codec")
            assert codec == b"lz4"
    finally:
        unmount_all()


def test_words_of_using():
    """Commands within the text of docs/using.md."""
    text = (SOURCE / "docs/using.md").read_text(encoding="utf-8")
    lines = re.findall(r"`(bloscfs [^`]+|bloscctl \w+ [^`]*\w\.[^`]+)`", text)
    assert len(lines) > 5, lines
    os.mkdir("mnt")
    save("x.b2frame")
    with blosc2.TreeStore("store.b2z", mode="w") as store:
        store["/group/array"] = RAW
    run("bloscctl convert --bloscpack x.b2frame")
    pathlib.Path("more").write_bytes(RAW.tobytes())
    for line in lines:
        name = line.split()[-1].rpartition(".")[0] + (
            ".b2frame" if "--bloscpack" not in line else ".blp")
        if line.startswith("bloscctl convert"):
            run(f"rm -rf {name}")
        try:
            said = run(f"{line} <more" if " append " in line else line)
        finally:
            unmount_all()
        if " cat " in line:
            assert said == RAW.tobytes()


if __name__ == "__main__":
    main()
