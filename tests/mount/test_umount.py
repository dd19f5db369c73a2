#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""bloscctl umount: when it returns, all written data are stored."""
import contextlib
import ctypes
import errno
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import time

import blosc2

from mounting import BUILD, error_of, main, mountpoints, tmpfs, wait_until
from remote import s3
from scratch import Scratch, bloscctl, stock_bytes
from syscalls import libc, map_all

MNT, SRC = pathlib.Path("mnt"), pathlib.Path("src")
MIB = 1 << 20


@contextlib.contextmanager
def in_background(*options, source=SRC, mountpoint=MNT):
    """Mounts in the background; the block has to unmount."""
    SRC.mkdir(exist_ok=True)
    if not mountpoint.exists():
        mountpoint.mkdir()
    subprocess.run([BUILD / "bloscfs", "-o",
                    ",".join(("logfile=log", *options)), source, mountpoint],
                   check=True)
    yield
    assert str(mountpoint.absolute()) not in mountpoints(pathlib.Path.cwd())


def write_mapped(want, between=lambda: None):
    """Changes a file through a map that is written back at the last close, after
    @between."""
    with open(MNT / "x", "r+b") as f:
        f.truncate(len(want))
        at, unmap = map_all(f.fileno(), len(want))
    ctypes.memmove(at, want, len(want))
    between()
    unmap()


def helper(name):
    """Calls the helper by the name by which umount(8) finds it."""
    path = pathlib.Path(name).absolute()
    path.symlink_to(BUILD / "bloscctl")
    return path


def has_ended(pid):
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return True
    return "State:\tZ" in status


def run(*args, status=0):
    done = subprocess.run([*map(str, args)], capture_output=True, text=True)
    assert done.returncode == status, (args, done)
    return done.stderr


def test_what_was_mapped_is_stored_when_it_returns():
    umount = helper("umount.fuse.bloscfs")
    for i in range(6):
        want = os.urandom(2 * MIB) + bytes([i]) * 2 * MIB
        with in_background("commit=600", "clevel=9"):
            (MNT / "x").touch()
            write_mapped(want)
            if i % 2:
                bloscctl("umount", MNT)
            else:
                run(umount, MNT.absolute(), "-n", "-t", "fuse.bloscfs")
            assert stock_bytes(SRC / "x.b2frame") == want, i


def test_what_is_written_back_after_the_flush_is_committed_at_once():
    """Written data are stored although a reader keeps the file open."""
    with Scratch("commit=600"):
        (MNT / "x").write_bytes(bytes(MIB))
        with open(MNT / "x", "rb") as reader:
            write_mapped(b"after" * 200000)
            wait_until(lambda: stock_bytes(SRC / "x.b2frame")[:5] == b"after",
                       "the commit", 10)
            assert reader.read(5) == b"after"


def test_what_cannot_be_unmounted():
    MNT.mkdir()
    assert "no bloscfs is mounted" in run(BUILD / "bloscctl", "umount", MNT,
                                          status=1)
    assert "No such file" in run(BUILD / "bloscctl", "umount", "none",
                                 status=1)
    run(BUILD / "bloscctl", "umount", status=2)
    with Scratch():
        (MNT / "x").write_bytes(b"x")
        assert "no bloscfs is mounted" in run(BUILD / "bloscctl", "umount",
                                              MNT / "x", status=1)
        with open(MNT / "x", "rb"):
            assert "busy" in run(BUILD / "bloscctl", "umount", MNT, status=1)
        # umount -l detaches a busy mount, without waiting for its end.
        with open(MNT / "x", "rb") as f:
            run(BUILD / "bloscctl", "umount", "-l", MNT)
            assert not mountpoints(pathlib.Path.cwd())
            assert f.read() == b"x"
        # It detaches nothing else.
        subprocess.run(["mount", "-t", "tmpfs", "none", MNT], check=True)
        for option in "-l", "-f":
            assert "no bloscfs is mounted" in run(
                BUILD / "bloscctl", "umount", option, MNT, status=1)
        assert mountpoints(pathlib.Path.cwd())


# As before Linux 6.15 the command does not learn how the daemon has ended.
KERNELS = [], ["env", "ASAN_OPTIONS=detect_leaks=0", "strace", "-f", "-qq", "-o",
               "/dev/null", "-e", "inject=ioctl:error=ENOTTY", "-e",
               "inject=poll:delay_exit=500000"]


def test_a_loss_is_told_of():
    with tmpfs(SRC, "size=1m"):
        for kernel in KERNELS:
            with in_background("commit=600"):
                with contextlib.suppress(OSError), open(MNT / "x", "wb") as f:
                    f.write(os.urandom(4 * MIB))
                said = run(*kernel, BUILD / "bloscctl", "umount", MNT, status=1)
                assert "store" in said, said


def test_refused_changes_are_told_of():
    """They were written after the close, so only the daemon's end can tell."""
    def change():
        with open(MNT / "x", "rb") as f:
            # The kernel writes its pages back; that is no commit.
            assert libc.sync_file_range(f.fileno(), 0, 0, 7) == 0
        frame = blosc2.open(str(SRC / "x.b2frame"), mode="a")
        frame.update_data(0, bytes(MIB), copy=True)

    for kernel in KERNELS:
        with in_background("commit=600"):
            (MNT / "x").write_bytes(b"first" * MIB)
            write_mapped(b"after" * MIB, change)
            run(*kernel, BUILD / "bloscctl", "umount", MNT, status=1)
        with in_background():
            (MNT / "x").write_bytes(b"first" * MIB)
            run(*kernel, BUILD / "bloscctl", "umount", MNT)


def test_a_daemon_that_has_died():
    with in_background("commit=600"):
        pid = int(os.getxattr(MNT, "user.bloscfs.pid"))
        os.kill(pid, signal.SIGKILL)
        wait_until(lambda: has_ended(pid), "its end")
        assert "has died" in run(BUILD / "bloscctl", "umount", MNT, status=1)
    # It dies while it is asked.
    with in_background():
        pid = int(os.getxattr(MNT, "user.bloscfs.pid"))
        os.kill(pid, signal.SIGSTOP)
        with subprocess.Popen([BUILD / "bloscctl", "umount", MNT], text=True,
                              stderr=subprocess.PIPE) as asked:
            time.sleep(1)
            os.kill(pid, signal.SIGKILL)
            assert "has died" in asked.stderr.read()


@contextlib.contextmanager
def stopped(mountpoint=MNT):
    """The daemon stops for the block."""
    pid = int(os.getxattr(mountpoint, "user.bloscfs.pid"))
    os.kill(pid, signal.SIGSTOP)
    try:
        yield pid
    finally:
        os.kill(pid, signal.SIGCONT)


def test_a_daemon_that_does_not_end():
    """The wait for a hanging mount ends in time."""
    with in_background("xattr=off"):
        assert "not waiting for" in run(BUILD / "bloscctl", "umount", MNT,
                                        status=1)
    with in_background():
        with stopped():
            assert "does not answer" in run(BUILD / "bloscctl", "umount",
                                            "--timeout=1", MNT, status=1)
        bloscctl("umount", MNT)


def test_the_next_mount_is_not_taken_for_the_same():
    """The kernel gives it the number of the mount that is gone."""
    with in_background(), subprocess.Popen(
            ["env", "ASAN_OPTIONS=detect_leaks=0", "strace", "-qq", "-o",
             "/dev/null", "-e", "inject=umount2:delay_enter=2000000",
             BUILD / "bloscctl", "umount", MNT]) as asked:
        time.sleep(1)
        with stopped() as pid:
            wait_until(lambda: not mountpoints(pathlib.Path.cwd()), "unmount")
            for name in "src2", "mnt2":
                os.mkdir(name)
            run(BUILD / "bloscfs", "-o", "logfile=log2", "src2", "mnt2")
            time.sleep(2)
            assert asked.poll() is None
        assert asked.wait() == 0 and has_ended(pid)
        bloscctl("umount", "mnt2")


def has_asked(program, path):
    """Has @program found the mount at @path, and does a child of it ask the daemon?"""
    links = []
    for fd in pathlib.Path(f"/proc/{program.pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            links += [os.readlink(fd)] if int(fd.name) > 2 else []
    return str(path) in links and any(x.startswith("pipe:") for x in links)


def test_nothing_else_is_unmounted():
    """Another user may put a link in place of a directory meanwhile."""
    mnt, other = pathlib.Path("dir/mnt"), pathlib.Path("other/mnt").absolute()
    mnt.mkdir(parents=True)
    with tmpfs(other), in_background(mountpoint=mnt):
        with stopped(mnt):
            asked = subprocess.Popen([BUILD / "bloscctl", "umount", mnt])
            wait_until(lambda: has_asked(asked, mnt.absolute()), "the program")
            os.rename("dir", "moved")
            os.symlink("other", "dir")
        assert asked.wait() == 0
        assert mountpoints(pathlib.Path.cwd()) == [str(other)]


def test_others_do_not_wait_for_a_daemon_that_has_stopped():
    with in_background():
        with stopped():
            for name in "src2", "mnt2":
                os.mkdir(name)
            run(BUILD / "bloscfs", "-o", "logfile=log2", "src2", "mnt2")
            said = subprocess.run([BUILD / "bloscctl", "mounts"], text=True,
                                  capture_output=True, timeout=30).stdout
            bloscctl("umount", "mnt2")
        here = [line.split("  ", 1)[1] for line in said.splitlines()
                if line.startswith(str(pathlib.Path.cwd()))]
        assert len(here) == 2 and here[0].endswith("no answer"), said
        assert here[1].split()[-1].isdigit(), said
        bloscctl("umount", MNT)


def check_goes_on(other, unmount_other):
    """One of the two places is left; data written there is stored."""
    want = os.urandom(2 * MIB)
    pid = int(os.getxattr(MNT, "user.bloscfs.pid"))
    with open(other / "x", "wb") as f:
        f.write(want)
        said = run(BUILD / "bloscctl", "umount", MNT)
        assert "it is mounted in another place, too" in said, said
        assert "has stored what was written" in said, said
        assert stock_bytes(SRC / "x.b2frame") == want
    assert not has_ended(pid)
    unmount_other()
    wait_until(lambda: has_ended(pid), "its end")


def test_a_mount_that_is_somewhere_else_too():
    # A bind mount of the same filesystem.
    with in_background("commit=600"):
        other = pathlib.Path("other").absolute()
        other.mkdir()
        subprocess.run(["mount", "--bind", MNT, other], check=True)
        check_goes_on(other,
                      lambda: run(BUILD / "bloscctl", "umount", other))
    # The other mount may be in another namespace, as in a container.
    with in_background("commit=600"):
        holder = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", "-c",
             "echo; read x"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        holder.stdout.readline()

        def end():
            holder.communicate(b"\n")

        check_goes_on(pathlib.Path(f"/proc/{holder.pid}/root{MNT.absolute()}"),
                      end)


def check_stored(*options, source=SRC):
    other = pathlib.Path("other").absolute()
    with in_background("commit=600", *options, source=source):
        (other.mkdir if MNT.is_dir() else other.touch)()
        subprocess.run(["mount", "--bind", MNT, other], check=True)
        assert "has stored" in run(BUILD / "bloscctl", "umount", MNT)
        run(BUILD / "bloscctl", "umount", other)
    (other.rmdir if MNT.is_dir() else other.unlink)()


def test_mounts_of_all_kinds_that_are_somewhere_else_too():
    check_stored("ro")
    with s3():
        check_stored(source="s3://bucket")
    MNT.rmdir()
    MNT.touch()
    blosc2.SChunk(data=bytes(MIB), urlpath="y.b2frame", contiguous=True)
    check_stored(source="y.b2frame")


def as_helpers(*commands):
    """Runs @commands in a namespace in which umount(8) finds our helpers."""
    script = """set -e
findmnt -rno TARGET -t fuse.bloscfs | while read -r at; do
	umount -i -l "$at"
done
mount -t tmpfs none /run/lock
mkdir -p /run/lock/sbin
cp -a /usr/sbin/. /run/lock/sbin/
ln -sf "$1" /run/lock/sbin/umount.fuse.bloscfs
ln -sf "$1" /run/lock/sbin/umount.bloscfs
mount --bind /run/lock/sbin /usr/sbin
"""
    return subprocess.run(
        ["unshare", "--mount", "--propagation", "slave", "sh", "-c",
         script + "\n".join(commands), "sh", BUILD / "bloscctl"],
        capture_output=True, text=True)


def test_umount_8_finds_the_helper():
    """By name, or all of a type."""
    commands = [f"umount {MNT.absolute()}", "umount -a -t fuse.bloscfs"]
    for command in commands:
        SRC.mkdir(exist_ok=True)
        MNT.mkdir(exist_ok=True)
        done = as_helpers(
            f"{BUILD}/bloscfs -o logfile=log {SRC.absolute()} {MNT.absolute()}",
            f"echo 1 >{MNT.absolute()}/x", command)
        assert done.returncode == 0 and not done.stderr, (command, done)


def test_root_unmounts_what_a_user_has_mounted():
    """Root unmounts a mount that it may not look into."""
    with tempfile.TemporaryDirectory() as top:
        os.chmod(top, 0o755)
        user = pwd.getpwnam("nobody")
        for name in "src", "mnt":
            os.mkdir(f"{top}/{name}")
            os.chown(f"{top}/{name}", user.pw_uid, user.pw_gid)
        # A copy that other users can reach, where they may open /dev/fuse.
        bloscfs = shutil.copy(BUILD / "bloscfs", top)
        as_user = f"setpriv --reuid={user.pw_uid} --regid={user.pw_gid} " \
                  "--clear-groups"
        done = subprocess.run(
            ["unshare", "-m", "sh", "-ec",
             f"cd {top}; mknod -m 666 fuse c 10 229\n"
             "mount --bind fuse /dev/fuse\n"
             # This name of the source says nothing about the owner.
             f"{as_user} {bloscfs} -o logfile=src/log,fsname=user_id=0 "
             "src mnt\n"
             f"{as_user} touch mnt/x\n"
             "if ls mnt 2>/dev/null; then exit 3; fi\n"
             f"{BUILD}/bloscctl mounts | "
             "grep -q '  permission denied: another user.s mount$'\n"
             f"{BUILD}/bloscctl mounts --json | grep -q '\"error\": "
             "\"permission denied: another user.s mount\"'\n"
             f"{BUILD}/bloscctl umount -v mnt\n"
             "if findmnt -M mnt; then exit 4; fi\n"
             # And by umount(8), which runs the helper.
             "mkdir sbin; cp -a /usr/sbin/. sbin/\n"
             f"ln -sf {BUILD}/bloscctl sbin/umount.fuse.bloscfs\n"
             "mount --bind sbin /usr/sbin\n"
             f"{as_user} {bloscfs} -o logfile=src/log src mnt\n"
             f"{as_user} touch mnt/y\n"
             "umount mnt\n"
             "if findmnt -M mnt; then exit 5; fi\n"
             "umount /usr/sbin; rm -r sbin"],
            capture_output=True, text=True)
        assert done.returncode == 0, done
        assert done.stderr == "bloscctl: mnt: unmounted\n", done
        assert {"x.b2frame", "y.b2frame"} <= set(os.listdir(f"{top}/src"))


def test_a_source_whose_server_has_died():
    """This mount is not dead, and says so."""
    with in_background():
        (MNT / "x").write_bytes(b"x" * 100000)
        upper = pathlib.Path("upper").absolute()
        upper.mkdir()
        subprocess.run([BUILD / "bloscfs", "-o", "logfile=log2", MNT, upper],
                       check=True)
        with open(upper / "x", "rb") as f:
            pid = int(os.getxattr(MNT, "user.bloscfs.pid"))
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda: has_ended(pid), "its end")
            got = [error_of(call) for call in (
                lambda: (upper / "y").touch(), lambda: os.listdir(upper),
                lambda: os.stat(upper / "z"), f.read)]
            assert errno.ENOTCONN not in got and errno.EIO in got, got
        assert not run(BUILD / "bloscctl", "umount", upper)
        assert str(upper) not in mountpoints(pathlib.Path.cwd())
        assert "has died" in run(BUILD / "bloscctl", "umount", MNT, status=1)


main()
