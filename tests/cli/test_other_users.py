#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Root's bloscctl in directories of a user who renames files meanwhile

The program is stopped at each system call that syncs, truncates or makes a directory.
Then the user, who may write to the directory, attacks, and the program continues.  So
each race is certain.
"""
import contextlib
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import time

import numpy as np

from ctl import BLOSCCTL, cat, ctl, get, items, put, run_all
from users import ALICE, as_user

SECRET = b"root alone may read this\n" * 400
STOPS = "fsync,fdatasync,ftruncate,mkdir,mkdirat"


def as_alice(call, *args):
    """Runs @call in a process of Alice's; its exceptions are errors here."""
    assert as_user(ALICE, ALICE, lambda: call(*args)) == 0


def give(*paths):
    for path in paths:
        os.chown(path, ALICE, ALICE, follow_symlinks=False)
        for top, dirs, files in os.walk(path):
            for name in dirs + files:
                os.chown(f"{top}/{name}", ALICE, ALICE, follow_symlinks=False)


@contextlib.contextmanager
def secrets():
    """Makes files of root's outside the tree, which must not change."""
    os.chmod(".", 0o755)
    for name in "secret", "private":
        remove(name)
    os.mkdir("private", 0o700)
    put("private/b", SECRET)
    os.chmod("private/b", 0o600)
    put("secret", SECRET)
    os.chmod("secret", 0o600)
    before = tree("secret", "private")
    yield
    assert tree("secret", "private") == before


def remove(path):
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)


def tree(*tops):
    """Names, owners, modes, contents and attributes of all below @tops."""
    found = {}
    for top in tops:
        for where in [top, *sorted(str(p) for p in pathlib.Path(top).rglob("*"))]:
            st = os.lstat(where)
            found[where] = (st.st_uid, st.st_gid, stat.S_IMODE(st.st_mode),
                            None if stat.S_ISDIR(st.st_mode) else
                            (get(where), st.st_mtime_ns, os.listxattr(where)))
    return found


def state_of(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"


def threads_stopped(pid):
    try:
        return all(state_of(f"{pid}/task/{t}") in "Tt" for t in os.listdir(f"/proc/{pid}/task"))
    except (FileNotFoundError, ProcessLookupError):
        return False


def run_stopped(args, meanwhile, stops_at=STOPS):
    """Runs bloscctl, and @meanwhile as Alice whenever it stops; returns its status."""
    env = dict(os.environ)
    env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
    tracer = subprocess.Popen(
        ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"trace={stops_at}",
         "-e", f"inject={stops_at}:signal=SIGSTOP", "sh", "-c",
         'echo $$; exec "$@"', "sh", BLOSCCTL, *args],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    pid = int(tracer.stdout.readline())
    stops = seen = 0
    end = time.monotonic() + 100
    while tracer.poll() is None:
        assert time.monotonic() < end, args
        # The tracer stops it, too, but only for a moment.
        seen = seen + 1 if threads_stopped(pid) else 0
        if seen == 4:
            seen = 0
            stops += 1
            as_alice(meanwhile, stops)
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        time.sleep(0.002)
    err = tracer.communicate()[1].decode()
    assert "alice" not in err
    return tracer.returncode, stops, err


COMMANDS = (("compress", "-f", "a"), ("compress", "-f", "--contiguous", "a"),
            ("compress", "-rf", "."), ("decompress", "-f", "f.b2f"),
            ("decompress", "-f", "f.b2frame"), ("convert", "-f", "f.b2f"),
            ("convert", "-f", "f.b2frame"), ("recompress", "-9", "f.b2f"),
            ("recompress", "-9", "f.b2frame"), ("recompress", "-r9", "."),
            ("copy", "-f", "a", "copied"), ("copy", "-f", "f.b2frame", "g.b2frame"),
            ("copy", "-rf", "d", "e"), ("seal", "-r", "."))


def fill():
    """A directory of Alice's."""
    remove("hers")
    os.makedirs("hers/d/sub")
    data = put("hers/a", items(50000, 4))
    put("hers/d/b", data)
    put("hers/d/sub/b", data)
    for name, form in ("f.b2f", "contiguous"), ("f.b2frame", "sparse"):
        ctl("compress", "-q", f"--format={form}", "hers/a", "-o", f"hers/{name}")
        ctl("compress", "-q", f"--format={form}", "hers/a", "-o", f"hers/d/{name}")
    give("hers")
    return data


def swap_links(top, secret):
    """Replaces everything that is being made by a link to @secret."""
    def meanwhile(nth):
        for path in pathlib.Path(top).rglob(".bloscctl-*"):
            with contextlib.suppress(OSError):
                os.rename(path, f"{top}/taken-{nth}-{time.monotonic_ns()}")
                os.symlink(secret, path)
    return meanwhile


def fill_in(top, secret):
    """Replaces it by a directory of hers with links to @secret."""
    def meanwhile(nth):
        for path in pathlib.Path(top).rglob(".bloscctl-*"):
            with contextlib.suppress(OSError):
                os.rename(path, f"{top}/taken-{nth}-{time.monotonic_ns()}")
                os.mkdir(path, 0o777)
                for name in "new", "old", "chunks.b2frame", "00000000.chunk":
                    os.symlink(secret, f"{path}/{name}")
    return meanwhile


def test_what_is_being_made_is_out_of_reach():
    here = os.getcwd()
    for attack in swap_links, fill_in:
        for args in COMMANDS:
            with secrets():
                fill()
                os.chdir("hers")
                try:
                    _, stops, _ = run_stopped(args, attack(
                        f"{here}/hers", f"{here}/secret"))
                finally:
                    os.chdir(here)
                assert stops or args[0] == "seal", args
                # Her files hold her data, or what root made from it; never the secret.
                for path in pathlib.Path("hers").rglob("*"):
                    if path.is_file() and not path.is_symlink():
                        assert SECRET not in get(path), (args, path)


def has_begun(top):
    """Is something being made?  Then all operands have been found."""
    return os.path.exists(f"{top}/../out") or \
        any(pathlib.Path(top).rglob(".bloscctl-*"))


def lead_out(top, target):
    """Replaces the last directory by a link to @target."""
    def meanwhile(_):
        if has_begun(top) and not os.path.islink(f"{top}/d/sub"):
            os.rename(f"{top}/d/sub", f"{top}/away")
            os.symlink(target, f"{top}/d/sub")
    return meanwhile


def put_link(top, target):
    """Replaces the last file by a link to @target."""
    def meanwhile(_):
        if has_begun(top) and not os.path.islink(f"{top}/d/sub/b"):
            os.rename(f"{top}/d/sub/b", f"{top}/away")
            os.symlink(f"{target}/b", f"{top}/d/sub/b")
    return meanwhile


def put_fifo(top, _):
    def meanwhile(_):
        if has_begun(top) and not os.path.exists(f"{top}/away"):
            os.rename(f"{top}/d/sub/b", f"{top}/away")
            os.mkfifo(f"{top}/d/sub/b")
    return meanwhile


def holds_secret(path):
    if os.path.islink(path) or not os.path.isfile(path):
        return False
    if SECRET in get(path):
        return True
    # For a frame, search its decompressed data.
    run = subprocess.run([BLOSCCTL, "cat", path], capture_output=True)
    return SECRET in run.stdout


def test_a_walk_stays_below_its_operand():
    here = os.getcwd()
    for attack in lead_out, put_link, put_fifo:
        for args in (("compress", "-r", "hers/d", "-o", "out"),
                     ("compress", "-rf", "hers/d"),
                     ("compress", "-rf", "--rm", "hers/d"),
                     ("copy", "-r", "hers/d", "out")):
            with secrets():
                fill()
                remove("out")
                status, stops, err = run_stopped(args, attack(
                    f"{here}/hers", f"{here}/private"))
                assert stops and status == 1, (attack, args, status, err)
                for top in "out", "hers":
                    for path in pathlib.Path(top).rglob("*"):
                        assert not holds_secret(path), (attack, args, path)
                frames = [p for p in pathlib.Path(".").rglob("*.b2frame")
                          if p.is_dir() and not p.is_symlink()]
                for frame in frames:
                    if not any(part.startswith(".bloscctl") for part in frame.parts):
                        assert cat(frame) != SECRET, (attack, args, frame)


def test_results_stay_below_their_directory():
    """bloscctl follows no link that another user puts into a directory."""
    here = os.getcwd()
    for args in (("decompress", "-rf", "src", "-o", "hers/out"),
                 ("convert", "-rf", "src", "-o", "hers/out"),
                 ("copy", "-rf", "src", "hers/out")):
        with secrets():
            remove("src")
            os.makedirs("src/private")
            data = put("data", items(30000, 4))
            for name in "a.b2f", "private/b.b2f":
                ctl("compress", "-qf", "data", "-o", f"src/{name}",
                    "--contiguous")
            fill()
            os.makedirs("hers/out")
            give("hers")

            def meanwhile(_):
                if not os.path.islink("hers/out/private"):
                    with contextlib.suppress(OSError):
                        os.rename("hers/out/private", "hers/away")
                    os.symlink(f"{here}/private", "hers/out/private")

            status, stops, err = run_stopped(args, meanwhile)
            assert stops and status == 1, (args, status, err)
            for name in "secret", "private/b":
                assert get(name) == SECRET
            assert get("data") == data


def damaged(path):
    data = np.arange(30000, dtype="u4").tobytes()
    put("data", data)
    ctl("compress", "-qf", "--chunksize=40000", "data", "-o", path)
    return data


def test_repair_changes_what_it_has_checked():
    """Another frame gets the name meanwhile."""
    damaged("f.b2frame")
    with open("f.b2frame/00000001.chunk", "r+b") as f:
        f.seek(100)
        f.write(b"damage" * 4)
    good = damaged("g.b2frame")
    os.chmod(".", 0o777)
    give("f.b2frame", "g.b2frame")

    def exchange(_):
        if not os.path.exists("away"):
            os.rename("f.b2frame", "away")
            os.rename("g.b2frame", "f.b2frame")

    run_stopped(("repair", "--zero-damaged", "f.b2frame"), exchange, "flock")
    assert os.path.exists("away")
    assert cat("f.b2frame") == good


def test_a_user_who_tries_gets_nothing():
    """Races for some seconds, without stops."""
    here = os.getcwd()
    with secrets():
        fill()
        for i in range(40):
            put(f"hers/d/sub/n{i}", items(3000, 4))
        give("hers")
        pid = os.fork()
        if pid == 0:
            os.setgroups([])
            os.setresgid(ALICE, ALICE, ALICE)
            os.setresuid(ALICE, ALICE, ALICE)
            attacks = [a(f"{here}/hers", f"{here}/{t}") for a, t in (
                (swap_links, "secret"), (fill_in, "secret"))]
            while True:
                for attack in attacks:
                    with contextlib.suppress(OSError):
                        attack(0)
                with contextlib.suppress(OSError):
                    os.rename("hers/d/sub", "hers/away")
                    os.symlink(f"{here}/private", "hers/d/sub")
                with contextlib.suppress(OSError):
                    os.unlink("hers/d/sub")
                    os.rename("hers/away", "hers/d/sub")
        try:
            end = time.monotonic() + float(os.environ.get("B2F_SECONDS", 6))
            while time.monotonic() < end:
                for args in (("compress", "-qrf", "hers/d"),
                             ("recompress", "-qr", "hers/d"),
                             ("decompress", "-qrf", "hers/d", "-o", "hers/out")):
                    subprocess.run([BLOSCCTL, *args], capture_output=True,
                                   timeout=100)
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        for path in pathlib.Path("hers").rglob("*"):
            assert not holds_secret(path), path
    remove("hers")


if __name__ == "__main__":
    if os.geteuid() != 0:
        print("it needs root, and another user")
        sys.exit(77)
    sys.exit(run_all(globals()))
