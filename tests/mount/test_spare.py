#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The file for the next new name is made ahead, and is as one made then."""
import os
import shutil
import stat

from mounting import Mount, main, wait_until
from acl import ACCESS, DEFAULT, acl

# Requests in a row after which the daemon makes files ahead, with some to spare.
CLOSE = 200
TRIES = 5
USER, GROUP = 4321, 4322


def mounted():
    os.makedirs("src/d", exist_ok=True)
    os.umask(0)
    for path in ".", "src", "src/d":
        os.chmod(path, 0o777)
    return Mount("src", "mnt", "-o", "rw,allow_other")


def make(path, mode=0o644):
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode))
    return os.stat(path)


def burst(top="mnt/d", n=CLOSE):
    """Makes files closely behind each other."""
    start = len(os.listdir(top))
    return [make(f"{top}/{i}") for i in range(start, start + n)]


def spares(mount):
    """Files without a name that the daemon holds."""
    fds = f"/proc/{mount.pid}/fd"
    found = []
    for fd in os.listdir(fds):
        try:
            path = os.readlink(f"{fds}/{fd}")
        except FileNotFoundError:
            continue
        if "/#" in path and path.endswith(" (deleted)"):
            found.append(path)
    return found


def test_one_is_made_ahead_and_given_up():
    with mounted() as mount:
        assert not spares(mount)
        # Where the daemon has no processor to look for requests it makes none.
        if len(os.sched_getaffinity(0)) > 1:
            wait_until(lambda: burst() and len(spares(mount)) == 1,
                       "a file made ahead")
        wait_until(lambda: not spares(mount), "no file made ahead")
        # A second time.
        burst()
        assert len(spares(mount)) <= 1
        shutil.rmtree("mnt/d")
        assert not os.path.exists("src/d")
        wait_until(lambda: not spares(mount), "no file made ahead")


def test_it_is_as_the_directory_wants_it_now():
    with mounted():
        for i in range(TRIES):
            burst()
            os.chown("src/d", -1, GROUP + i)
            os.chmod("src/d", 0o2777)
            assert make(f"mnt/d/group{i}").st_gid == GROUP + i
            os.chmod("src/d", 0o777)
            assert make(f"mnt/d/none{i}").st_gid == os.getgid()


def inherited(path):
    return (os.stat(path).st_mode & 0o777,
            ACCESS in os.listxattr(path))


def test_it_inherits_an_acl():
    default = acl(f"u:7 u{USER}:6 g:5 m:7 o:0")
    with mounted():
        for i in range(TRIES):
            burst()
            os.setxattr("src/d", DEFAULT, default)
            make(f"mnt/d/acl{i}")
            assert inherited(f"src/d/acl{i}.b2frame") == (0o640, True)
            os.removexattr("src/d", DEFAULT)
            make(f"mnt/d/plain{i}")
            assert inherited(f"src/d/plain{i}.b2frame") == (0o644, False)


def test_it_is_as_the_caller_wants_it():
    with mounted():
        for i in range(TRIES):
            burst()
            assert make(f"mnt/d/mode{i}", 0o600).st_mode & 0o777 == 0o600
            burst(n=3)
            os.setegid(USER)
            os.seteuid(USER)
            try:
                made = make(f"mnt/d/user{i}")
            finally:
                os.seteuid(0)
                os.setegid(0)
            assert (made.st_uid, made.st_gid) == (USER, USER)


def test_it_is_in_its_own_directory():
    os.makedirs("src/e")
    os.chown("src/e", -1, GROUP)
    os.chmod("src/e", 0o2777)
    with mounted():
        for i in range(TRIES):
            burst()
            assert make(f"mnt/e/{i}").st_gid == GROUP
            assert os.path.isfile(f"src/e/{i}.b2frame")
        assert len(os.listdir("src/e")) == TRIES


def test_it_is_not_older_than_the_file_before():
    with mounted():
        times = [st.st_mtime_ns for st in burst()]
        assert times == sorted(times)
        assert all(stat.S_ISREG(os.stat(f"src/d/{i}.b2frame").st_mode)
                   for i in range(CLOSE))


main()
