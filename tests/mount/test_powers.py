#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A daemon of root does not use root's privileges for other users."""
import contextlib
import errno
import os
import re
import shutil
import signal
import stat

import power_disk
from mounting import Mount, data, main, of_threads, tmpfs
from users import ALICE, BOB, as_user

MB = 1 << 20


def fill(path):
    """Writes incompressible data until the disk is full."""
    fd = os.open(path, os.O_CREAT | os.O_WRONLY, 0o644)
    code = 0
    try:
        for i in range(10000):
            os.write(fd, data(MB, seed=i))
            if i % 16 == 0:
                os.fsync(fd)
        os.fsync(fd)
    except OSError as e:
        code = e.errno
    finally:
        # close() repeats the error of data that cannot be stored.
        with contextlib.suppress(OSError):
            os.close(fd)
    if code:
        raise OSError(code, os.strerror(code))


def free_share():
    st = os.statvfs("disk")
    return st.f_bfree / st.f_blocks


def test_reserved_blocks_are_not_for_users():
    """A fifth of the disk is reserved for root; users' frames and other files cannot
    use it."""
    for name, options in (("x", "small=0"), ("x", "small=1g"), ("y.b2z", "rw")):
        with power_disk.ext4(96 * MB, "-m", "20"):
            os.mkdir("disk/src")
            os.chmod("disk", 0o755)
            os.chmod("disk/src", 0o777)
            os.chmod(".", 0o755)
            with Mount("disk/src", "mnt", "-o",
                       f"allow_other,codec=lz4,{options}"):
                code = as_user(ALICE, ALICE, lambda: fill("mnt/" + name))
                assert code == errno.ENOSPC, code
                assert free_share() > 0.15, (name, options, free_share())
                os.unlink("mnt/" + name)
        os.rmdir("disk")
        os.rmdir("mnt")


def effective(pid):
    """The capabilities of each thread."""
    return [int(re.search(r"^CapEff:\s*(\w+)", text, re.M)[1], 16)
            for text in of_threads(pid, "status")]


NEEDED = {0, 1, 2, 3, 4, 6, 7, 21, 27}


def test_daemon_keeps_the_powers_that_its_requests_need():
    os.mkdir("src")
    with Mount("src", "mnt") as m:
        for has in effective(m.pid):
            assert not has & ~sum(1 << n for n in NEEDED), hex(has)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def test_set_id_bits_are_hidden_where_options_say_who_owns_a_file():
    os.mkdir("src")
    for name in "plain.b2z", "one.b2frame":
        with open(f"src/{name}", "wb"):
            pass
    with Mount("src", "mnt", "-o", "small=64k") as m:
        with open("mnt/frame", "wb") as f:
            f.write(b"x")
    for name in os.listdir("src"):
        os.chmod(f"src/{name}", 0o6755)
    for options, want in (("uid=1001", 0o2755), ("gid=1001", 0o4755),
                          ("uid=1001,gid=1001", 0o755), ("rw", 0o6755)):
        with Mount("src", "mnt", "-o", f"suid,allow_other,{options}"):
            assert mode("mnt/frame") == want, (options, oct(mode("mnt/frame")))


def test_no_powers_that_a_filesystem_denies():
    """suid and dev allow no more than the filesystems of SOURCE do."""
    def fill(top):
        for small in "64k", "0":
            with Mount(top, "mnt", "-o", f"small={small}"):
                with open(f"mnt/frame{small}", "wb") as f:
                    f.write(b"x")
                os.chmod(f"mnt/frame{small}", 0o6755)
        os.close(os.open(f"{top}/plain", os.O_CREAT))
        os.chmod(f"{top}/plain", 0o6755)
        os.mknod(f"{top}/zero", stat.S_IFCHR | 0o666, os.makedev(1, 5))

    files = "frame64k", "frame0", "plain"
    for denied, bits, rdev in (("nosuid", 0o755, os.makedev(1, 5)),
                               ("nodev", 0o6755, 0)):
        with tmpfs("src/denied", denied), tmpfs("src/allowed", "rw"):
            fill("src/denied")
            fill("src/allowed")
            with Mount("src", "mnt", "-o", "suid,dev"):
                # By a listing that looks at the names, and by one that remembers.
                for _ in range(2):
                    for entry in os.scandir("mnt/denied"):
                        entry.stat()
                    for name in files:
                        assert mode(f"mnt/denied/{name}") == bits, name
                        assert mode(f"mnt/allowed/{name}") == 0o6755, name
                    assert os.stat("mnt/denied/zero").st_rdev == rdev
                    assert os.stat("mnt/allowed/zero").st_rdev == \
                        os.makedev(1, 5)
        with tmpfs("src", denied):
            fill("src")
            with Mount("src", "mnt", "-o", "suid,dev"):
                flag = os.ST_NOSUID if denied == "nosuid" else os.ST_NODEV
                assert os.statvfs("mnt").f_flag & flag
                # A copy keeps the bits.
                assert mode("mnt/plain") == 0o6755


def test_log_is_for_its_owner_alone():
    os.mkdir("src")
    with Mount("src", "mnt", "-o", "logfile=log.txt"):
        assert mode("log.txt") & 0o027 == 0, oct(mode("log.txt"))


def open_many(n):
    """Opens up to @n files; returns with all of them open."""
    fds, code = [], 0
    try:
        for i in range(n):
            fds.append(os.open(f"mnt/d/{i}", os.O_CREAT | os.O_RDWR, 0o644))
    except OSError as e:
        code = e.errno
    return fds, code


def hold(n, pipe_out, pipe_in):
    fds, code = open_many(n)
    os.write(pipe_out, f"{len(fds)} {code}\n".encode())
    os.read(pipe_in, 1)


def test_no_user_takes_all_descriptors():
    os.chmod(".", 0o755)
    os.makedirs("src/d")
    os.chmod("src/d", 0o1777)
    for small in "0", "64k":
        with Mount("src", "mnt", "-o", f"allow_other,small={small}",
                   wrap=("prlimit", "--nofile=1024:1024")):
            told, tell = os.pipe()
            wait, go = os.pipe()
            pid = os.fork()
            if pid == 0:
                os.setresgid(ALICE, ALICE, ALICE)
                os.setresuid(ALICE, ALICE, ALICE)
                hold(2000, tell, wait)
                os._exit(0)
            n, code = map(int, os.read(told, 100).split())
            if code != errno.ENFILE:
                os.kill(pid, signal.SIGKILL)
            assert code == errno.ENFILE and n > 100, (n, code)

            def use():
                for i in range(8):
                    with open(f"mnt/d/bob{i}", "w+b") as f:
                        f.write(b"x" * 1000)
                        f.seek(0)
                        assert f.read() == b"x" * 1000
                assert len(os.listdir("mnt/d")) >= n

            assert as_user(BOB, BOB, use) == 0
            os.write(go, b"x")
            os.waitpid(pid, 0)
            for fd in told, tell, wait, go:
                os.close(fd)
            # All descriptors are free again.
            assert as_user(ALICE, ALICE, lambda: open("mnt/d/0").close()) == 0
        for name in os.listdir("src/d"):
            path = f"src/d/{name}"
            shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)


main()
