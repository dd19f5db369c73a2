#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Owners, permissions and times of files."""
import contextlib
import errno
import itertools
import os
import pathlib
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time

import blosc2
import numpy as np

from mounting import (BUILD, Mount, data, error_of, failing, main, make,
                      refusing, signal_at, wait_until, while_stopped)
from acl import ACCESS, acl
from scratch import SPARSE
from users import ALICE, BOB, TEAM, as_user


def touch(path, mode=0o666):
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, mode))


def who(path):
    st = os.lstat(path)
    return st.st_uid, st.st_gid, stat.S_IMODE(st.st_mode)


def setting(*options, mode=0o777):
    os.chmod(".", 0o755)
    os.mkdir("src")
    os.chmod("src", mode)
    return Mount("src", "mnt", "-o", ",".join(("allow_other", *options)))


def test_files_belong_to_who_made_them():
    with setting(SPARSE):
        def make_all():
            os.umask(0o027)
            touch("mnt/f")
            os.mkdir("mnt/d")
            os.symlink("x", "mnt/s")
            os.mkfifo("mnt/p")
            os.mknod("mnt/n", stat.S_IFREG | 0o666)
            touch("mnt/d/readonly", 0o444)
            touch("mnt/d/nothing", 0)
            touch("mnt/d/setuid", 0o6755)

        assert as_user(ALICE, TEAM, make_all) == 0
        for name, mode in (("f", 0o640), ("d", 0o750), ("s", 0o777),
                           ("p", 0o640), ("n", 0o640), ("d/readonly", 0o440),
                           ("d/nothing", 0), ("d/setuid", 0o6750)):
            assert who(f"mnt/{name}") == (ALICE, TEAM, mode), name
        # In SOURCE, too, and no user may enter the directory who could not read the
        # file.
        assert who("src/f.b2frame/chunks.b2frame") == (ALICE, TEAM, 0o640)
        assert who("src/f.b2frame") == (ALICE, TEAM, 0o750)
        assert who("src/d/nothing.b2frame")[2] == 0o700
        assert as_user(BOB, BOB, lambda: os.listdir("src/f.b2frame")) == \
            errno.EACCES


def test_nothing_of_others_is_given_away():
    """The owner of a directory exchanges files that are being made there."""
    def exchange(done):
        """Puts root's file in the place of each new file in src."""
        while not done.wait(.005):
            new = [n for n in os.listdir("src") if not n.startswith("old")]
            with contextlib.suppress(FileNotFoundError):
                for name in new:
                    old = "old.d" if os.path.isdir(f"src/{name}") else "old.f"
                    os.rename(f"src/{name}", f"src/old.was.{name}")
                    os.rename(f"src/{old}", f"src/{name}")
                    return

    calls = {"mkdir": lambda: os.mkdir("mnt/x"),
             "mknod": lambda: os.mkfifo("mnt/x"),
             "symlink": lambda: os.symlink("y", "mnt/x"),
             "frame": lambda: touch("mnt/x", 0o777)}
    os.chmod(".", 0o755)
    wrap = ("strace", "-f", "-o", "/dev/null", "-e",
            "inject=mkdirat,mknodat,symlinkat:delay_exit=150000")
    for name, call in calls.items():
        shutil.rmtree("src", ignore_errors=True)
        os.mkdir("src")
        os.chown("src", ALICE, ALICE)
        with Mount("src", "mnt", "-o", f"allow_other,{SPARSE}", wrap=wrap):
            os.mkdir("src/old.d", 0o700)
            pathlib.Path("src/old.d/secret").touch()
            os.close(os.open("src/old.f", os.O_CREAT, 0o600))
            mine = {os.stat(f"src/old.{n}").st_ino: who(f"src/old.{n}")
                    for n in "df"}
            done = threading.Event()
            thread = threading.Thread(target=exchange, args=(done,))
            thread.start()
            as_user(ALICE, ALICE, call)
            done.set()
            thread.join()
            names = os.listdir("src")
            assert any(n.startswith("old.was") for n in names), (name, names)
            for n in names:
                ino = os.lstat(f"src/{n}").st_ino
                assert who(f"src/{n}") == mine.pop(ino, who(f"src/{n}")), name
            assert not mine, (name, names)
            assert any(os.path.exists(f"src/{n}/secret") for n in names)


def test_a_file_can_be_written_by_who_made_it_read_only():
    with setting():
        def write():
            fd = os.open("mnt/f", os.O_CREAT | os.O_RDWR, 0o400)
            os.write(fd, b"written")
            os.fsync(fd)
            os.write(fd, b" twice")
            os.close(fd)
            assert pathlib.Path("mnt/f").read_bytes() == b"written twice"

        assert as_user(ALICE, TEAM, write) == 0
        assert as_user(ALICE, TEAM, lambda: open("mnt/f", "r+b")) == \
            errno.EACCES
        assert as_user(BOB, BOB, lambda: open("mnt/f", "rb")) == errno.EACCES


def test_a_folder_hands_its_group_down():
    with setting():
        os.mkdir("mnt/d")
        os.chown("mnt/d", -1, TEAM)
        os.chmod("mnt/d", 0o2777)

        def make_all():
            touch("mnt/d/f")
            os.mkdir("mnt/d/e")
            touch("mnt/d/e/g")

        assert as_user(ALICE, ALICE, make_all) == 0
        assert who("mnt/d/f")[:2] == (ALICE, TEAM)
        assert who("mnt/d/e") == (ALICE, TEAM, 0o2755)
        assert who("mnt/d/e/g")[:2] == (ALICE, TEAM)
        with open("mnt/d/f", "w") as f:
            f.write("committed")
        assert who("mnt/d/f")[:2] == (ALICE, TEAM)


def test_who_may_do_what():
    with setting(mode=0o1777):
        def make_all():
            os.umask(0o022)
            touch("mnt/f")
            touch("mnt/secret", 0o600)
            os.mkdir("mnt/d")

        as_user(ALICE, ALICE, make_all)

        def refused(call, want=errno.EACCES):
            assert as_user(BOB, BOB, call) == want

        refused(lambda: open("mnt/f", "r+b"))
        refused(lambda: open("mnt/secret", "rb"))
        refused(lambda: os.truncate("mnt/f", 0))
        refused(lambda: touch("mnt/d/x"))
        refused(lambda: os.utime("mnt/f", (1, 1)), errno.EPERM)
        refused(lambda: os.utime("mnt/f"))
        refused(lambda: os.chmod("mnt/f", 0o666), errno.EPERM)
        refused(lambda: os.chown("mnt/f", BOB, -1), errno.EPERM)
        refused(lambda: os.setxattr("mnt/f", "user.x", b"1"))
        # The folder is sticky.
        refused(lambda: os.unlink("mnt/f"), errno.EPERM)
        refused(lambda: os.rename("mnt/f", "mnt/g"), errno.EPERM)
        refused(lambda: os.rmdir("mnt/d"), errno.EPERM)
        assert as_user(BOB, BOB, lambda: open("mnt/f", "rb").read()) == 0
        # Only the owner may give it to a group of hers.
        assert as_user(ALICE, ALICE, lambda: os.chown("mnt/f", -1, TEAM),
                       [TEAM]) == 0
        assert as_user(ALICE, ALICE, lambda: os.chown("mnt/f", BOB, -1)) == \
            errno.EPERM
        assert who("mnt/f") == (ALICE, TEAM, 0o644)
        as_user(ALICE, ALICE, lambda: os.chmod("mnt/f", 0o664))
        assert as_user(BOB, TEAM, lambda: open("mnt/f", "r+b")) == 0


def test_all_users_change_a_file_that_all_may_write():
    """With writeback_cache the kernel sends the mtime, too."""
    def change(name):
        with open(f"mnt/{name}", "r+b", buffering=0) as f:
            f.truncate(5)
            assert f.write(b"new") == 3
            os.utime(f.fileno())
        os.truncate(f"mnt/{name}", 4)

    def set_time(name):
        os.utime(f"mnt/{name}", (1, 1))

    os.chmod(".", 0o755)
    os.mkdir("src")
    for options in ((), ("writeback_cache",), (SPARSE, "writeback_cache")):
        with Mount("src", "mnt", "-o", ",".join(("allow_other", *options))):
            pathlib.Path("src/plain").write_bytes(b"")
            for name in "f", "plain":
                pathlib.Path("mnt", name).write_bytes(b"0123456789")
                os.chmod(f"mnt/{name}", 0o666)
                os.utime(f"mnt/{name}", (9, 9))
                assert as_user(BOB, BOB, lambda: change(name)) == 0, options
                with open(f"mnt/{name}", "rb") as f:
                    assert f.read() == b"new3"
                assert os.stat(f"mnt/{name}").st_mtime > 1000
                assert as_user(BOB, BOB, lambda: set_time(name)) == \
                    errno.EPERM
                os.remove(f"mnt/{name}")


def test_a_change_takes_set_uid_away():
    with setting():
        def write():
            with open("mnt/f", "r+b") as f:
                f.write(b"x")

        def twice():
            with open("mnt/f", "r+b", buffering=0) as f:
                f.write(b"x")
                os.chmod("mnt/f", 0o6755)
                f.write(b"y")

        def longer():
            with open("mnt/f", "r+b") as f:
                os.posix_fallocate(f.fileno(), 0, 100)

        calls = (write, twice, longer, lambda: os.truncate("mnt/f", 0),
                 lambda: open("mnt/f", "wb").close(),
                 lambda: os.chown("mnt/f", -1, ALICE))
        # A frame, and a file that is none.
        for top, call in itertools.product(("mnt", "src"), calls):
            pathlib.Path(top, "f").write_bytes(b"program")
            os.chown("mnt/f", ALICE, ALICE)
            # The mount shows the bits if other users may not write.
            for mode, left in (0o6755, 0o755), (0o6705, 0o2705):
                if mode == 0o6705 and call in (twice, calls[-1]):
                    continue
                os.chmod("mnt/f", mode)
                if call in (write, longer):
                    call()
                    assert who("mnt/f")[2] == mode, "by root"
                assert as_user(ALICE, ALICE, call) == 0
                assert who("mnt/f")[2] == left, (top, calls.index(call))
            os.unlink("mnt/f")


def test_a_change_takes_set_uid_away_that_the_mount_has_not_shown():
    """Because uid= and gid= hide it, or because it was set in SOURCE a moment ago."""
    calls = (lambda fd: os.write(fd, b"x"),
             lambda fd: os.posix_fallocate(fd, 0, 100),
             lambda fd: os.ftruncate(fd, 3),
             lambda fd: os.truncate("mnt/f", 3),
             lambda fd: os.close(os.open("mnt/f", os.O_WRONLY | os.O_TRUNC)))
    for options in ("rw", "uid=1001", "gid=1001", "uid=1001,gid=1001",
                    "uid=1001,writeback_cache", "writeback_cache",
                    "uid=1001,direct_io"):
        with setting("suid,attr_timeout=600", options):
            # The kernel does not tell whose writes it has collected.
            some = calls[:1] if "writeback_cache" in options else calls
            for top, call in itertools.product(("mnt", "src"), some):
                pathlib.Path(top, "f").write_bytes(b"program")
                os.chmod("mnt/f", 0o777)
                fd = os.open("mnt/f", os.O_RDWR)
                path = "src/f" if top == "src" else "src/f.b2frame"
                if os.path.isdir(path):
                    path += "/chunks.b2frame"
                os.chmod(path, 0o6777)
                assert as_user(ALICE, ALICE, lambda: call(fd)) == 0
                os.fsync(fd)
                assert who(path)[2] == 0o777, (options, top,
                                               calls.index(call))
                os.close(fd)
                os.unlink("mnt/f")
        shutil.rmtree("src")


def test_a_change_takes_the_shown_set_uid_away_at_once():
    """stat -c %a asks for the mode alone, which the kernel remembers longer than what
    each write changes."""
    calls = (lambda fd: os.write(fd, b"x"),
             lambda fd: os.posix_fallocate(fd, 0, 100),
             lambda fd: os.ftruncate(fd, 3))
    for options in "rw", "direct_io", "writeback_cache":
        with setting("suid,attr_timeout=600", options):
            # A frame, and another file.
            for top, call in itertools.product(("mnt", "src"), calls):
                pathlib.Path(top, "f").write_bytes(b"program")
                os.chown("mnt/f", ALICE, ALICE)
                os.chmod("mnt/f", 0o6755)
                fd = os.open("mnt/f", os.O_RDWR)
                assert as_user(ALICE, ALICE, lambda: call(fd)) == 0
                shown = subprocess.check_output(["stat", "-c", "%a", "mnt/f"])
                assert shown == b"755\n", (options, top, calls.index(call))
                os.close(fd)
                os.unlink("mnt/f")
        shutil.rmtree("src")


# A daemon of another user than root that all users may use.
USER = ("setpriv", f"--reuid={BOB}", "--clear-groups",
        "--inh-caps=+sys_admin,+dac_override",
        "--ambient-caps=+sys_admin,+dac_override")


def test_nobody_makes_a_set_id_program_of_another_user():
    def make_all():
        os.umask(0)
        touch("mnt/create", 0o6755)
        os.mknod("mnt/mknod", stat.S_IFREG | 0o6755)
        touch("mnt/chmod", 0o755)
        os.chmod("mnt/chmod", 0o6755)

    for wrap, option in (((), "uid=1001"), ((), "gid=1001"),
                         (USER, "uid=1001")):
        for small in SPARSE, "small=16k":
            os.chmod(".", 0o755)
            os.mkdir("src")
            os.chmod("src", 0o777)
            with Mount("src", "mnt", "-o", f"allow_other,{option},{small}",
                       wrap=wrap):
                assert as_user(ALICE, ALICE, make_all) == errno.EPERM
            for path in pathlib.Path("src").rglob("*"):
                assert who(path)[2] & 0o6000 == 0, (path, option, who(path))
            assert len(os.listdir("src")) == 3
            shutil.rmtree("src")


def test_the_kernel_asks_for_no_attribute_before_each_write():
    """From Linux 5.11 on."""
    with setting("debug") as m:
        with open("mnt/f", "wb", buffering=0) as f:
            for _ in range(100):
                f.write(b"x" * 100)
        new = [int(n) for n in os.uname().release.split(".")[:2]] >= [5, 11]
        wait_until(lambda: m.log().count("opcode: WRITE") >= 100,
                   "all writes are in the log")
        assert m.log().count("opcode: GETXATTR") < 10 + 100 * (not new)


def test_mode_and_owner_stay_with_commits():
    with setting(SPARSE):
        with open("mnt/f", "wb") as f:
            f.write(b"one")
            os.fsync(f.fileno())
            os.fchown(f.fileno(), ALICE, TEAM)
            os.fchmod(f.fileno(), 0o604)
            f.write(b"two")
            os.fsync(f.fileno())
            assert who("mnt/f") == (ALICE, TEAM, 0o604)
        assert who("mnt/f") == (ALICE, TEAM, 0o604)
        assert who("src/f.b2frame/chunks.b2frame") == (ALICE, TEAM, 0o604)
        assert who("src/f.b2frame") == (ALICE, TEAM, 0o705)
        os.chmod("mnt/f", 0o640)
        assert who("src/f.b2frame") == (ALICE, TEAM, 0o750)
        for mode in 0, 0o400, 0o200, 0o777, 0o1644:
            os.chmod("mnt/f", mode)
            assert who("mnt/f")[2] == mode
            assert pathlib.Path("mnt/f").read_bytes() == b"onetwo"


def check_files(name):
    """All files of a frame belong to the owner of the shown file."""
    uid, gid, mode = who(f"mnt/{name}")
    top = f"src/{name}.b2frame"
    names = os.listdir(top)
    assert len(names) > 2, names
    for n in names:
        want = mode if n == "chunks.b2frame" else mode & 0o666 | 0o400
        assert who(f"{top}/{n}") == (uid, gid, want), (name, n, mode)
    if mode & 0o400:
        assert as_user(uid, gid, lambda: [
            pathlib.Path(top, n).read_bytes() for n in names]) == 0, name


def test_chunk_files_have_the_owner_and_the_mode_of_the_file():
    pathlib.Path("from").write_bytes(data(4 << 20))
    os.chown("from", ALICE, TEAM)
    os.chmod("from", 0o640)
    with setting("commit=0"):
        for name, command in (("cp", "cp -p from mnt/cp"),
                              ("install", "install -m 604 -o 1002 -g 2000"
                               " from mnt/install"),
                              ("tar", "tar -c from --transform s/from/tar/ |"
                               " tar -C mnt -xp"),
                              ("later", "cp from mnt/later;"
                               "chown 1001:2000 mnt/later;"
                               "chmod 4750 mnt/later")):
            subprocess.run(command, shell=True, check=True)
            check_files(name)
        with open("mnt/open", "wb") as f:
            f.write(data(4 << 20))
            os.fsync(f.fileno())
            for uid, mode in (ALICE, 0o600), (BOB, 0o646), (0, 0o200):
                os.fchmod(f.fileno(), mode)
                os.fchown(f.fileno(), uid, -1)
                check_files("open")
                f.write(data(1 << 20))
                os.fsync(f.fileno())
                check_files("open")
            # Pending chunk files follow, too.
            f.write(data(4 << 20))
            wait_until(lambda: any(n.endswith(".new") for n in os.listdir(
                "src/open.b2frame")), "chunk files")
            os.fchmod(f.fileno(), 0o606)
            os.fchown(f.fileno(), BOB, TEAM)
            os.fsync(f.fileno())
            check_files("open")
        assert pathlib.Path("mnt/open").read_bytes() == \
            data(4 << 20) + 3 * data(1 << 20) + data(4 << 20)


def test_files_of_others_keep_owner_and_mode():
    """Other programs have put these files into the directory of a frame."""
    with setting(mode=0o755):
        with open("mnt/f", "wb") as f:
            f.write(data(4 << 20))
        os.chown("mnt/f", ALICE, ALICE)
        top = "src/f.b2frame"
        for name in "target", f"{top}/000000F1.chunk":
            pathlib.Path(name).touch()
            os.chmod(name, 0o640)
        os.symlink(os.path.abspath("target"), f"{top}/000000F2.chunk")
        os.link("target", f"{top}/000000F3.chunk")
        for call in (lambda: os.chmod("mnt/f", 0o666),
                     lambda: os.chown("mnt/f", -1, TEAM)):
            assert as_user(ALICE, ALICE, call, [TEAM]) == 0
            assert who("target") == (0, 0, 0o640)
            assert who(f"{top}/000000F1.chunk") == (0, 0, 0o640)
        os.chown("mnt/f", BOB, BOB)
        assert who("target") == (0, 0, 0o640)
        # Another user's index, in the place of hers.
        os.chown("mnt/f", ALICE, ALICE)
        os.stat("mnt/f")
        os.rename(f"{top}/chunks.b2frame", "index")
        os.rename("target", f"{top}/chunks.b2frame")
        assert as_user(ALICE, ALICE, lambda: os.chmod("mnt/f", 0o777)) == \
            errno.EPERM
        assert who(f"{top}/chunks.b2frame") == (0, 0, 0o640)


def set_acl(path, mask, *named, owner=7, group=7, other=7):
    """named: such as u1001:6 or g2000:4."""
    users, groups = ([e for e in named if e[0] == tag] for tag in "ug")
    os.setxattr(path, ACCESS, acl(" ".join((
        f"u:{owner}", *users, f"g:{group}", *groups, f"m:{mask}", f"o:{other}"))))


def test_no_user_gets_more_than_an_acl_gives():
    """No user gets more access through the mount than in SOURCE, to frames and other
    files, in directories with and without an ACL."""
    nobody = f"u{BOB}:0"
    acls = {"user": [7, nobody], "group": [7, f"g{TEAM}:4"],
            "mask": [4, f"u{BOB}:7"], "none": [0, f"u{BOB}:7"],
            "both": [7, "g2001:0", nobody]}
    users = ((ALICE, []), (BOB, []), (BOB, [TEAM]), (1003, [TEAM]),
             (1003, [2001]), (1003, []))
    names = [f"{n}{kind}" for n in acls
             for kind in (".frame", ".inner", ".plain", ".d/x")]

    def look(top):
        """Checks what each user may do with each file."""
        def try_open(name, flags):
            return lambda: os.close(os.open(f"{top}/{name}", flags))

        return {(user, *groups, n, flags):
                as_user(user, user, try_open(n, flags), groups) == 0
                for user, groups in users for n in names
                for flags in (os.O_RDONLY, os.O_WRONLY)}

    def give(path, bits, group):
        os.chown(path, ALICE, TEAM)
        os.chmod(path, 0o777)
        set_acl(path, *bits, group=group)

    with setting(SPARSE):
        os.mkdir("plain")
        for name, bits in acls.items():
            for top in "plain", "src":
                os.makedirs(f"{top}/{name}.d")
                os.chmod(f"{top}/{name}.d", 0o777)
            for kind in ".frame", ".inner", ".plain", ".d/x":
                touch(f"plain/{name}{kind}")
                give(f"plain/{name}{kind}", bits, 6)
                if kind == ".plain":
                    touch(f"src/{name}{kind}")
                    give(f"src/{name}{kind}", bits, 6)
                    continue
                touch(f"mnt/{name}{kind}")
                os.chown(f"mnt/{name}{kind}", ALICE, TEAM)
                os.chmod(f"mnt/{name}{kind}", 0o777)
                frame = f"src/{name}{kind}.b2frame"
                give(frame if kind == ".inner" else f"{frame}/chunks.b2frame",
                     bits, 6)
            for top in "plain", "src":
                give(f"{top}/{name}.d", bits, 7)
    may = look("plain")
    with Mount("src", "mnt", "-o", "allow_other"):
        shown = look("mnt")
    more = [key for key in shown if shown[key] and not may[key]]
    assert not more, more
    # Access that all users have in SOURCE they have in the mount.
    assert all(shown[k] for k in shown if k[0] == ALICE)
    assert all(shown[k] for k in shown
               if k[-2:] in (("mask.frame", os.O_RDONLY),
                             ("mask.plain", os.O_RDONLY)))


def test_old_system_calls_find_an_acl_and_change_modes():
    """Where a filter refuses getxattrat(2) or fchmodat2(2)."""
    os.makedirs("src/d")
    touch("src/d/plain")
    with Mount("src", "mnt", "-o", SPARSE):
        touch("mnt/d/f")
    index = "src/d/f.b2frame/chunks.b2frame"
    for path in "src/d", "src/d/plain", index:
        os.chmod(path, 0o777)
        set_acl(path, 7, f"u{BOB}:5")
    for wrap in (), refusing(464), refusing(452):
        with Mount("src", "mnt", "-o", "allow_other", wrap=wrap):
            for name in "d", "d/plain", "d/f":
                assert who(f"mnt/{name}")[2] == 0o755, (name, wrap)
                os.chmod(f"mnt/{name}", 0o700)
                assert who(f"mnt/{name}")[2] == 0o700, (name, wrap)
                os.chmod(f"mnt/{name}", 0o777)


def test_what_others_can_exchange_is_not_run_as_its_owner():
    with setting(SPARSE, mode=0o755):
        for mode, shown in (0o4755, 0o4755), (0o2751, 0o2751), \
                (0o6775, 0o775), (0o4757, 0o757):
            touch("mnt/f", 0o700)
            os.chmod("mnt/f", mode)
            assert who("mnt/f")[2] == shown, oct(mode)
            os.chown("src/f.b2frame", ALICE, -1)
            os.chmod("mnt/f", mode)
            assert who("mnt/f")[2] & 0o6000 == 0
            os.unlink("mnt/f")


def plant(name, source, was):
    """Renames @name to @was and @source to @name, as a user of its directory can."""
    os.rename(name, was)
    os.rename(source, name)


def test_files_of_a_frame_are_changed_by_one_look_at_its_index():
    """ALICE replaces her index by BOB's, and puts hers back during her chmod; a secret
    of BOB's lies among the chunks."""
    os.chmod(".", 0o755)
    os.mkdir("src")
    os.chmod("src", 0o777)
    with Mount("src", "mnt", "-o", f"allow_other,{SPARSE},attr_timeout=600",
               wrap=signal_at(signal.SIGSTOP, 2, "fchmodat")) as m:
        index, secret = (f"src/f.b2frame/{name}"
                         for name in ("chunks.b2frame", "000000F1.chunk"))
        assert as_user(ALICE, ALICE, lambda: touch("mnt/f", 0o644)) == 0
        shutil.copy(index, "bobs")
        pathlib.Path(secret).write_text("secret")
        os.chmod(secret, 0o600)
        for path in "bobs", secret:
            os.chown(path, BOB, BOB)
        # The kernel has cached that it is hers.
        assert who("mnt/f") == (ALICE, ALICE, 0o644)
        plant(index, "bobs", "hers")
        with while_stopped(m, lambda: as_user(ALICE, ALICE, lambda: os.chmod(
                "mnt/f", 0o600))):
            plant(index, "hers", "bobs")
        assert who(secret) == (BOB, BOB, 0o600)
        assert who("bobs") == (BOB, BOB, 0o644)


def test_no_file_of_a_commit_becomes_another_users():
    """ALICE replaces her index by a file of root's while she writes."""
    with setting(SPARSE):
        index = "src/f.b2frame/chunks.b2frame"

        def write():
            with open("mnt/f", "wb", buffering=0) as f:
                f.write(data(300000))
                os.fsync(f.fileno())
                plant(index, "roots", "hers")
                f.write(data(300000))
                assert error_of(os.fsync, f.fileno())
                plant(index, "hers", "roots")

        pathlib.Path("roots").touch()
        os.chmod(".", 0o777)
        assert as_user(ALICE, ALICE, write) == 0
        assert {who(path)[0] for path in pathlib.Path("src").rglob("*")} == {
            ALICE}


def test_set_id_bits_of_what_is_not_the_callers():
    """The group of a file changes before chmod: ALICE's file has the group of a
    set-group-ID directory."""
    for small in SPARSE, "small=16k":
        with setting(small, "attr_timeout=600,suid") as m:
            name = "src/f.b2frame"
            assert as_user(ALICE, ALICE, lambda: touch("mnt/f", 0o755)) == 0
            assert who("mnt/f") == (ALICE, ALICE, 0o755)
            path = f"{name}/chunks.b2frame" if small == SPARSE else name
            os.chown(path, ALICE, TEAM)
            error = as_user(ALICE, ALICE, lambda: os.chmod("mnt/f", 0o2755))
            assert who(path) == (ALICE, TEAM, 0o755), (error, oct(who(path)[2]))
            os.chown(path, BOB, BOB)
            for call in (lambda: os.chmod("mnt/f", 0o4755),
                         lambda: os.utime("mnt/f", (5, 5))):
                assert as_user(ALICE, ALICE, call) in (errno.EPERM,
                                                       errno.ESTALE)
            assert who(path) == (BOB, BOB, 0o755) and os.stat(path).st_mtime > 5
            assert m.pid
        shutil.rmtree("src")


@contextlib.contextmanager
def on_ext4():
    """src is on a filesystem that reuses inode numbers at once."""
    os.mkdir("src")
    subprocess.run(["truncate", "-s", "16m", "disk"], check=True)
    subprocess.run(["mkfs.ext4", "-q", "disk"], check=True)
    subprocess.run(["mount", "-o", "loop", "disk", "src"], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "src"], check=True)


def test_a_file_that_has_got_an_inode_number_again():
    """A new file with the same inode number is another file, whatever descriptors of
    the first are open."""
    for kind in "sparse", "contiguous":
        with on_ext4():
            name = "src/x.b2frame"
            remove = shutil.rmtree if kind == "sparse" else os.unlink
            index = f"{name}/chunks.b2frame" if kind == "sparse" else name
            make(name, None, kind=kind, nbytes=1000)
            with Mount("src", "mnt", "-o",
                       "attr_timeout=600,entry_timeout=600"):
                fd = os.open("mnt/x", os.O_PATH)
                ino = os.stat(name).st_ino
                for seed in range(1, 100):
                    remove(name)
                    raw = make(name, None, kind=kind, nbytes=2000, seed=seed)
                    if os.stat(name).st_ino == ino:
                        break
                assert os.stat(name).st_ino == ino
                mode = os.stat(index).st_mode
                for call in (lambda: os.chmod(f"/proc/self/fd/{fd}", 0o777),
                             lambda: os.truncate(f"/proc/self/fd/{fd}", 0),
                             lambda: os.utime(f"/proc/self/fd/{fd}", (5, 5))):
                    assert error_of(call) == errno.ESTALE
                assert os.stat(index).st_mode == mode
                os.close(fd)
                assert pathlib.Path("mnt/x").read_bytes() == raw
        os.rmdir("src")


def test_the_sticky_bit_is_about_what_is_there_now():
    """The kernel has cached that a name is ALICE's when it becomes BOB's."""
    def put(top, uid, kind):
        if kind == "dir":
            os.mkdir(top)
        else:
            make(top, None, kind=kind, nbytes=1000)
        for path in (top, *pathlib.Path(top).rglob("*")):
            os.chown(path, uid, uid)

    acts = {"unlink": lambda: os.unlink("mnt/x"),
            "rmdir": lambda: os.rmdir("mnt/x"),
            "from": lambda: os.rename("mnt/x", "mnt/z"),
            "over": lambda: os.rename("mnt/alices", "mnt/x")}
    for kind in "sparse", "contiguous", "dir":
        with setting("attr_timeout=600,entry_timeout=600", mode=0o1777):
            os.chown("src", BOB, BOB)
            name = "src/x" + (".b2frame" if kind != "dir" else "")
            for act, call in acts.items():
                if act == ("unlink" if kind == "dir" else "rmdir"):
                    continue
                put(name, ALICE, kind)
                put(name.replace("src/x", "src/alices"), ALICE, kind)
                os.stat("mnt/x")
                os.stat("mnt/alices")
                os.rename(name, "was")
                put(name, BOB, kind)
                os.chown("src", 0, 0)
                assert as_user(ALICE, ALICE, call) == errno.EPERM, (kind, act)
                assert os.stat(name).st_uid == BOB
                for path in name, "was", name.replace("src/x", "src/alices"):
                    if os.path.isdir(path):
                        shutil.rmtree(path)
                    else:
                        os.unlink(path)
                os.listdir("mnt")
        shutil.rmtree("src")


def test_the_sticky_bit_is_about_what_came_during_a_sync():
    """The kernel has asked about ALICE's file, which BOB's replaces then."""
    with setting(SPARSE, mode=0o1777) as m:
        assert as_user(ALICE, ALICE, lambda: (touch("mnt/x"), touch("mnt/new"))) \
            == 0
        fd = os.open("mnt/x", os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)
        make("bobs", None, kind="sparse", nbytes=1000)
        os.chown("bobs", BOB, BOB)
        errors = []
        renames = threading.Thread(target=lambda: errors.append(
            as_user(ALICE, ALICE, lambda: os.rename("mnt/new", "mnt/x"))))
        with failing(m, "fsync:delay_enter=500000"):
            renames.start()
            time.sleep(.3)
            os.rename("src/x.b2frame", "was")
            os.rename("bobs", "src/x.b2frame")
            renames.join()
        assert errors == [errno.EPERM]
        assert os.stat("src/x.b2frame").st_uid == BOB


def test_a_link_of_a_stranger_is_no_name():
    """BOB's symbolic link to the home of a frame of ALICE's with two names."""
    with setting(SPARSE) as m:
        def two_names():
            touch("mnt/a")
            os.link("mnt/a", "mnt/b")

        assert as_user(ALICE, ALICE, two_names) == 0
        home = os.readlink("src/a.b2frame")
        assert as_user(BOB, BOB, lambda: os.symlink(home, "src/bobs.b2frame")) \
            == 0
        assert sorted(os.listdir("mnt")) == ["a", "b", "bobs.b2frame"]
        assert stat.S_ISLNK(os.lstat("mnt/bobs.b2frame").st_mode)
        assert os.stat("mnt/a").st_nlink == 2
        # After a change of owner it is still one frame by both names.
        os.chown("mnt/a", TEAM, TEAM)
        assert sorted(os.listdir("mnt")) == ["a", "b", "bobs.b2frame"]
        assert os.stat("mnt/b").st_nlink == 2
        os.unlink("mnt/a")
        os.unlink("mnt/b")
        assert os.listdir("mnt") == ["bobs.b2frame"]
        # The kernel may forget the deleted file later.
        wait_until(lambda: not [*pathlib.Path("src").rglob("chunks.b2frame")],
                   "the frame without a name is gone")


def test_the_sticky_bit_holds_for_frames_in_source():
    """BOB may write to ALICE's frame and to SOURCE, but not take a name away."""
    with setting(SPARSE, mode=0o1777):
        as_user(ALICE, ALICE, lambda: (os.umask(0), touch("mnt/x"),
                                       touch("mnt/y")))
        assert as_user(BOB, BOB, lambda: os.link("mnt/x", "mnt/bobs")) == 0
        for name in "x", "bobs":
            assert who(f"src/{name}.b2frame")[:2] == (ALICE, ALICE), name
            assert as_user(BOB, BOB, lambda: os.unlink(
                f"src/{name}.b2frame")) == errno.EPERM

        def replace_index():
            index = "src/y.b2frame/chunks.b2frame"
            shutil.copy(index, "src/y.b2frame/new")
            os.rename("src/y.b2frame/new", index)

        assert as_user(BOB, BOB, replace_index) == 0
        assert as_user(BOB, BOB, lambda: os.unlink("mnt/y")) == errno.EPERM
        assert as_user(BOB, BOB, lambda: os.rename("mnt/y", "mnt/z")) == \
            errno.EPERM


SECONDS = float(os.environ.get("B2F_SECONDS", 5))


def child(uid, call):
    """A process of another user that calls @call again and again."""
    pid = os.fork()
    if pid == 0:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
        while True:
            with contextlib.suppress(OSError):
                call()
    return pid


def exchange(name, was, link):
    """ALICE in SOURCE: what is hers becomes a link to what is root's, and missing."""
    os.rename(f"src/hers/{name}", f"src/hers/{was}")
    with contextlib.suppress(OSError):
        os.symlink(link, f"src/hers/{name}")
    os.unlink(f"src/hers/{name}")
    os.rename(f"src/hers/{was}", f"src/hers/{name}")


def use_hers():
    for name in "x", "y":
        for call in (lambda p: os.chmod(p, 0o666), lambda p: os.chmod(p, 0o6777),
                     lambda p: os.chown(p, -1, ALICE),
                     lambda p: os.setxattr(p, "user.a", b"1"),
                     lambda p: os.truncate(p, 10),
                     lambda p: pathlib.Path(p).write_bytes(b"hers" * 5000)):
            with contextlib.suppress(OSError):
                call(f"mnt/hers/{name}")


def remove_others():
    """ALICE touches a name that may be BOB's by now."""
    with contextlib.suppress(OSError):
        touch("mnt/all/n")
    os.stat("mnt/all/n")
    os.unlink("mnt/all/n")


def keep_own():
    """BOB's files stay until he removes them."""
    os.close(os.open("mnt/all/n", os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644))
    time.sleep(0.002)
    try:
        os.unlink("mnt/all/n")
    except FileNotFoundError:
        pathlib.Path("bob/lost").touch()


def test_users_who_try_get_nothing():
    """Races at random moments; B2F_SECONDS makes them longer."""
    os.mkdir("bob")
    os.chown("bob", BOB, BOB)
    with setting("attr_timeout=1,entry_timeout=1", SPARSE):
        for name, uid, mode in (("hers", ALICE, 0o755), ("all", 0, 0o1777),
                                ("roots", 0, 0o755)):
            os.mkdir(f"src/{name}")
            os.chown(f"src/{name}", uid, uid)
            os.chmod(f"src/{name}", mode)
        make("src/roots/chunk", None, nbytes=1000)
        pathlib.Path("src/secret").write_bytes(b"secret" * 100)
        os.chmod("src/secret", 0o600)
        shown = {p: (os.lstat(p).st_uid, os.lstat(p).st_mode,
                     p.read_bytes() if p.is_file() else None)
                 for p in (pathlib.Path("src/secret"),
                           *pathlib.Path("src/roots").rglob("*"))}

        def make_hers():
            for name in "x", "y":
                pathlib.Path(f"mnt/hers/{name}").write_bytes(data(200000))

        assert as_user(ALICE, ALICE, make_hers) == 0
        pids = [child(ALICE, lambda: exchange("x.b2frame/chunks.b2frame", "kept",
                                              "../../secret")),
                child(ALICE, lambda: exchange("y.b2frame", "away", "../roots")),
                child(ALICE, use_hers), child(ALICE, remove_others),
                child(BOB, keep_own)]
        time.sleep(SECONDS)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        for p, (uid, mode, raw) in shown.items():
            st = os.lstat(p)
            assert (st.st_uid, st.st_mode) == (uid, mode), p
            assert raw is None or p.read_bytes() == raw, p
        assert not os.path.exists("bob/lost")
        for top, _, names in os.walk("src/hers"):
            for name in names:
                path = os.path.join(top, name)
                if not os.path.islink(path):
                    assert b"secret" not in open(path, "rb").read(), path


def test_owner_by_option():
    with setting(SPARSE, "uid=1001,gid=2000,umask=022"):
        touch("mnt/f")
        os.mkdir("mnt/d")
        assert who("mnt/f") == (ALICE, TEAM, 0o644)
        assert who("mnt/d") == (ALICE, TEAM, 0o755)
        assert error_of(os.chown, "mnt/f", BOB, -1) == errno.EPERM
        os.chown("mnt/f", ALICE, TEAM)
        os.chmod("mnt/f", 0o666)
        assert who("mnt/f")[2] == 0o644
        assert who("src/f.b2frame/chunks.b2frame") == (0, 0, 0o666)


def times(path):
    """A frame has the atime of its index, which the daemon reads, too."""
    st = os.stat(path)
    return st.st_mtime_ns, st.st_ctime_ns


def test_times():
    with setting("attr_timeout=0"):
        before = time.time_ns() - 50_000_000
        touch("mnt/f")
        assert all(before < t < time.time_ns() for t in times("mnt/f"))
        at, mt = 1_500_000_000_123_456_789, 981_173_106_987_654_321
        for path in "mnt/f", "mnt":
            os.utime(path, ns=(at, mt))
            assert times(path)[0] == mt, path
        with open("mnt/f", "r+b") as f:
            f.write(b"x")
            f.flush()
            assert times("mnt/f")[0] > before
            # The commit that follows does not overwrite times that were set.
            os.utime("mnt/f", ns=(at, mt))
            assert times("mnt/f")[0] == mt
            os.fsync(f.fileno())
            assert times("mnt/f")[0] == mt
        assert times("mnt/f")[0] == mt
        os.rename("mnt/f", "mnt/g")
        assert times("mnt/g")[0] == mt
    with Mount("src", "mnt"):
        assert times("mnt/g")[0] == mt


def test_changes_change_times():
    """Calls that advance mtime and ctime, or the ctime alone."""
    with setting("attr_timeout=0"):
        def grows(which, call):
            before = times("mnt/f")
            time.sleep(.03)
            call()
            after = times("mnt/f")
            got = "".join(n for n, b, a in zip("mc", before, after) if b < a)
            assert got == which, (got, which)
            assert times("mnt/f") == after

        def write():
            with open("mnt/f", "r+b") as f:
                f.write(b"x")

        touch("mnt/f")
        grows("mc", write)
        grows("mc", lambda: os.truncate("mnt/f", 5000))
        grows("mc", lambda: os.truncate("mnt/f", 50))
        grows("mc", lambda: open("mnt/f", "w").close())
        # Truncating an empty file counts as a change.
        grows("mc", lambda: open("mnt/f", "w").close())
        grows("c", lambda: os.chmod("mnt/f", 0o600))
        grows("c", lambda: os.chown("mnt/f", ALICE, ALICE))
        grows("c", lambda: os.setxattr("mnt/f", "user.x", b"1"))
        grows("c", lambda: (os.rename("mnt/f", "mnt/g"),
                            os.rename("mnt/g", "mnt/f")))
        grows("", lambda: open("mnt/f", "rb").read())
        grows("", lambda: os.truncate("mnt/nothing", 0)
              if os.path.exists("mnt/nothing") else None)
        folder = times("mnt")[0]
        time.sleep(.03)
        touch("mnt/new")
        assert times("mnt")[0] > folder


def test_tools_keep_them():
    os.mkdir("from")
    make("from/data", None, nbytes=10000)
    for i, name in enumerate(["a", "b", "readonly"]):
        path = pathlib.Path("from") / name
        path.write_bytes(b"%d" % i * 1000)
        os.utime(path, ns=(10**18 + i, 10**18 + i * 7))
        os.chown(path, ALICE + i, TEAM + i)
    os.chmod("from/readonly", 0o444)
    os.symlink("a", "from/link")
    with setting():
        subprocess.run("cp -a from mnt/cp && mkdir mnt/tar &&"
                       " tar -C from -c . | tar -C mnt/tar -xp",
                       shell=True, check=True)
        for copy in "cp", "tar":
            for name in "a", "b", "readonly":
                a, b = (os.stat(f"{top}/{name}")
                        for top in ("from", f"mnt/{copy}"))
                assert (a.st_mode, a.st_uid, a.st_gid, a.st_size) == \
                    (b.st_mode, b.st_uid, b.st_gid, b.st_size), name
                assert a.st_mtime_ns == b.st_mtime_ns or copy == "tar"
                assert int(a.st_mtime) == int(b.st_mtime)


def test_a_mode_stays_if_a_view_is_written_meanwhile():
    os.mkdir("src")
    blosc2.asarray(np.arange(1000), urlpath="src/x.b2nd", contiguous=False)
    with Mount("src", "mnt", wrap=("strace", "-f", "-o", "/dev/null", "-e",
                                   "inject=fchmodat:delay_enter=300000")):
        thread = threading.Thread(target=os.chmod, args=("mnt/x", 0o600))
        thread.start()
        time.sleep(.1)
        with open("mnt/x.npy", "r+b") as f:
            f.seek(-8, os.SEEK_END)
            f.write(bytes(8))
        thread.join()
        assert who("src/x.b2nd/chunks.b2frame")[2] == 0o600


def test_a_user_mounts():
    """Without root a mount shows its user's own files."""
    os.chmod(".", 0o755)
    # fusermount3 wants a user with a name.
    user = pwd.getpwnam("nobody")
    for name in "src", "mnt", "roots":
        os.mkdir(name)
        os.chown(name, user.pw_uid, user.pw_gid)
    make("roots/frame.b2f", None, kind="contiguous", nbytes=1000)
    pathlib.Path("roots/plain").touch()
    for path in pathlib.Path("roots").iterdir():
        os.chmod(path, 0o666)
    for path in (BUILD / "bloscfs", BUILD / "bloscctl",
                 pathlib.Path(__file__).with_name("user_mount.py")):
        subprocess.run(["cp", path, "."], check=True)
    # A namespace where all users may open /dev/fuse.
    subprocess.run(
        ["unshare", "-m", "sh", "-ec",
         "mknod -m 666 fuse c 10 229\nmount --bind fuse /dev/fuse\n"
         f"exec setpriv --reuid={user.pw_uid} --regid={user.pw_gid} "
         f"--clear-groups {sys.executable} user_mount.py"], check=True)
    assert sorted(os.listdir("src")) == ["d", "e"]


main()
