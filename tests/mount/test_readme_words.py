#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The commands within the sentences of README.md, docs/ and the manual pages.

Each one is run here, or ELSEWHERE names the test that runs it, or the reason
why no test does; a new one is in no list, and fails.  A command without an
operand ("bloscctl convert --b2nd") is a mention: --help has to know the command
and its options.
"""
import contextlib
import os
import pathlib
import re
import signal
import subprocess
import sys

import blosc2

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import test_readme_shell as shell
from mounting import BUILD, SOURCE, main
from test_readme_shell import RAW, run, shows, unmount_all

# By their first words.
ELSEWHERE = {
    # Run by another test.
    "bloscfs -o ro,cachesize=1g ": "mount/readme_shell",
    "bloscfs /data /data": "mount/readme_shell",
    "bloscctl umount /mnt/scratch": "mount/readme_shell",
    "bloscfs store.b2z": "mount/readme_shell",
    "bloscctl cat store.b2z": "mount/readme_shell",
    "bloscctl convert x.blp": "mount/readme_shell",
    "bloscctl convert --bloscpack x.b2frame": "mount/readme_shell",
    "bloscctl append x.blp": "mount/readme_shell",
    "setfattr -n user.blosc2.codec ": "mount/readme_shell",
    "bloscctl compress signal.raw -o s3:": "mount/readme_shell",
    "bloscctl append s3:": "mount/readme_shell",
    "bloscctl cat --offset=16000000 ": "mount/readme_shell",
    "bloscctl info s3:": "mount/readme_shell",
    "bloscctl verify s3:": "mount/readme_shell",
    "bloscfs -o ro s3:": "mount/readme_shell",
    "ls -l mnt": "mount/readme_shell",
    "head -c 100 mnt/signal": "mount/readme_shell",
    "dd if=mnt/signal ": "mount/readme_shell",
    "cat mnt/signal": "mount/readme_shell",
    "rm mnt/new": "mount/readme_shell",
    "bloscctl copy frame URL": "mount/readme_shell",
    "bloscctl append URL": "mount/readme_shell",
    "bloscctl compress -o URL": "mount/readme_shell",
    "bloscctl slice s3://BUCKET/": "mount/recipes",
    "bloscfs https://host/": "mount/remote_http",
    "bloscctl repair --orphans URL": "cli/bucket_garbage",
    "cc program.c ": "install/library",
    "packaging/python/make-wheel build .": "install/wheel",
    "pip install ./bloscfs-*.whl": "install/wheel",
    "python -m bloscfs": "install/wheel",
    "mount -t bloscfs": "mount/helper",
    "bloscfs SOURCE MOUNTPOINT": "the form of all others",
    # They take minutes, root, and packages of the distribution.
    "scripts/bench ": "from minutes to an hour, and root",
    "scripts/clean-root": "minutes, 1 GB, and root",
    "scripts/compare OLD NEW": "two builds",
    "scripts/demo": "builds everything; mount/readme runs its commands",
    "scripts/make-packages DIRECTORY": "builds twice; install/packages tries "
                                       "what is built already",
    "scripts/setup": "installs packages",
    "scripts/soak": "hours",
    "scripts/test": "runs this test",
    "ctest --test-dir build/test-gcc ": "a build of scripts/test",
    ".venv/bin/python tests/mount/test_rename.py ": "mount/rename",
    "scripts/check-layers": "scripts/test runs it",
    "objdump ": "shows what gcc emits; install/library checks the programs",
    # Other programs, which are not installed.
    "systemctl enable ": "no systemd; install/packages verifies the unit",
    "aws ": "the tools of AWS",
}
# Programs that a command can begin with; those without a slash take an operand.
PROGRAM = (r"(blosc(fs|ctl)(?= )|scripts/[\w-]+|packaging/python/[\w-]+|"
           r"\.venv/\S+|(aws|cat|cc|cp|ctest|dd|fusermount3|getfattr|head|ls|man|mount|"
           r"mv|objdump|pip|pkg-config|python|rm|setfattr|systemctl)"
           r"(?=.* [^\s-]))( |$)")
MENTION = r"bloscctl (\w+)((?: -{1,2}[\w-]+(?:=\w+)?)*)$"


def of_page(path):
    text = re.sub(r"^ *```.*?^ *```$", "", path.read_text(encoding="utf-8"),
                  flags=re.M | re.S)
    found = re.findall(r"`([^`]+)`", text)
    return [" ".join(words.split()) for words in
            found + re.findall(r"^    (\S.*)$", text, re.M)]


def of_manual(path):
    """The commands in macros of one line, as a reader sees them."""
    text = path.read_text(encoding="utf-8").replace("\\-", "-")
    found = re.findall(r'^\.(?:Pq )?(B|I|RI \(|Li|Ql|Cm) "?([\w/-]+ .*?)"?$',
                       text, re.M)
    for macro, words in found:
        is_ours = macro == "Cm" and re.match("[a-z]+ (-|Fl|Ar)", words)
        words = re.sub(r" (Ar|Cm|Ns|Pa)(?= )", "", words)
        words = re.sub(r" Fl (?=\w)", " -", words)
        words = re.sub(r" Fl (?=-)", " -", words)
        words = re.sub(r"(\w) Ns = Ns", r"\1=", words)
        if path.name == "bloscctl.1" and is_ours:
            words = "bloscctl " + words
        yield re.sub(r'"? [.,)]+( .*)?$', "", words)


def commands():
    pages = [SOURCE / "README.md", *sorted((SOURCE / "docs").glob("*.md"))]
    found = {words for path in pages for words in of_page(path)}
    for path in sorted((SOURCE / "docs").glob("*.[1-9]")):
        found |= set(of_manual(path))
    return sorted(words for words in found if re.match(PROGRAM, words))


def gone(command):
    """Copies or moves a file onto itself, as the warning says."""
    os.makedirs("mnt/data", exist_ok=True)
    pathlib.Path("data/f").write_bytes(RAW.tobytes())
    run("bloscfs data mnt/data")
    command = command.replace("SOURCE", "data")
    command = command.replace("MOUNTPOINT", "mnt/data")
    subprocess.run(["bash", "-c", shell.local(command)], check=False,
                   stderr=subprocess.DEVNULL)
    unmount_all()
    path = pathlib.Path("data/f")
    assert not path.exists() or path.read_bytes() == b"", command


def copied(command):
    os.makedirs("mnt/data", exist_ok=True)
    run("bloscfs data mnt/data")
    run(command.replace("MOUNTPOINT", "mnt/data"))
    unmount_all()
    assert os.path.exists("data/x.b2nd.b2frame")
    os.unlink("data/x.b2nd.b2frame")


def overwritten(command):
    """A file that is no frame gets the bytes of one."""
    os.makedirs("mnt/data", exist_ok=True)
    path = pathlib.Path("data/notes.txt")
    path.write_bytes(b"notes")
    run("bloscfs data mnt/data")
    run(command.replace("MOUNTPOINT", "mnt/data"))
    unmount_all()
    assert path.read_bytes() == pathlib.Path("x.b2nd").read_bytes()
    path.unlink()


def mounted(command):
    """With "mnt" as the mountpoint."""
    if not command.startswith("bloscfs "):
        run("bloscfs data mnt")
    run(command.replace("MOUNTPOINT", "mnt"))
    unmount_all()


def bound(command):
    """The frames are below the bind mount while their directory is mounted over."""
    os.mkdir("frames")
    run(shell.local(command).replace("/frames", "frames"))
    try:
        run("bloscfs data data")
        assert shows("data/signal") and os.path.isdir("frames/signal.b2frame")
        run("bloscctl umount data")
    finally:
        run("umount frames")


def killed(command):
    """Data of an fsync are there after a kill, and nothing has to be repaired."""
    run("bloscfs data mnt")
    f = open("mnt/new", "wb", 0)
    f.write(RAW.tobytes())
    os.fsync(f.fileno())
    f.write(b"more")
    os.kill(int(os.getxattr("mnt", "user.bloscfs.pid")), signal.SIGKILL)
    with contextlib.suppress(OSError):
        f.close()
    run(command.replace("MOUNTPOINT", "mnt"))
    run("bloscfs data mnt")
    stored = pathlib.Path("mnt/new").read_bytes()
    unmount_all()
    assert stored[:RAW.nbytes] == RAW.tobytes(), len(stored)
    run("bloscctl verify data/new.b2frame && rm -r data/new.b2frame")


def plain(command):
    names = {"COPY": "copied.b2f", "FRAME": "data/signal.b2frame"}
    run(re.sub("COPY|FRAME", lambda name: names[name[0]], command))


def is_page(command):
    """Checks that the page is in docs/; section 1 without a number."""
    _, *number, name = command.split()
    assert (SOURCE / f"docs/{name}.{(number or ['1'])[0]}").exists(), command


def unpacked(command):
    plain(command)
    if "copy" in command:
        assert shows("copy/sub/file")


HERE = {
    "cp /data/f /mnt/data/f": gone,
    "cp SOURCE/f MOUNTPOINT/f": gone,
    "mv SOURCE/f MOUNTPOINT/f": gone,
    "cp x.b2nd /mnt/data": copied,
    "cp x.b2nd MOUNTPOINT/notes.txt": overwritten,
    "cp x.b2nd MOUNTPOINT": copied,
    "bloscfs frames.4711 mnt": mounted,
    "getfattr -n user.blosc2.shape mnt/grid": mounted,
    "bloscctl stats MOUNTPOINT": mounted,
    "fusermount3 -u MOUNTPOINT": killed,
    "mount --bind /data /frames": bound,
    "man bloscfs": is_page,
    "man 5 bloscfs": is_page,
    "bloscfs --version": plain,
    "bloscctl convert -o COPY FRAME": plain,
    "bloscctl compress -r -o packed tree": unpacked,
    "bloscctl decompress -r -o copy packed": unpacked,
    "bloscctl decompress -o directory store.b2z": unpacked,
}


def prepare():
    for name in "data", "mnt", "frames.4711", "tree/sub", "directory":
        os.makedirs(name)
    for path in "data/signal.b2frame", "frames.4711/signal.b2frame":
        shell.save(path)
    for path in "x.b2nd", "data/grid.b2nd":
        blosc2.asarray(RAW.reshape(100, 300), urlpath=path, contiguous=True)
    with blosc2.TreeStore("store.b2z", mode="w") as store:
        store["/group/array"] = RAW
    pathlib.Path("tree/sub/file").write_bytes(RAW.tobytes())


def is_mention(command):
    return re.match(MENTION, command) or \
        command in ("bloscctl --json", "bloscctl --cachedir")


def test_each_is_run_or_has_a_reason():
    found = commands()
    assert len(found) > 60, found
    lost = [words for words in found if words not in HERE and
            not is_mention(words) and not words.startswith(tuple(ELSEWHERE))]
    assert not lost, lost
    unused = [start for start in (*HERE, *ELSEWHERE)
              if not any(words.startswith(start) for words in found)]
    assert not unused, unused
    for name in ELSEWHERE.values():
        if re.match(r"[a-z]+/\w+$", name):
            test = SOURCE / "tests" / name.replace("/", "/test_")
            assert list(test.parent.glob(test.name + ".*")), name
    # A test function that a command names exists.
    for path, function in re.findall(r"(tests/\S+\.py) (test_\w+)",
                                     "\n".join(found)):
        assert f"\ndef {function}(" in (SOURCE / path).read_text(), path


def test_they_run():
    prepare()
    try:
        for command, how in HERE.items():
            how(command)
    finally:
        unmount_all()


def test_mentions_are_of_commands_and_options_that_are_there():
    for words in commands():
        mention = re.match(MENTION, words)
        if not mention:
            continue
        text = run(f"bloscctl {mention[1]} --help").decode()
        for option in mention[2].replace("=", "= ").split():
            if option.startswith("-"):
                assert re.search(rf"(^|\W){re.escape(option)}\b", text) or \
                    option.endswith("=") and option[:-1] in text, words


if __name__ == "__main__":
    main()
