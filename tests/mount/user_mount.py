#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""user_mount - mounts src on mnt as the user it is run by, and uses it

For test_owners; bloscfs is in the current folder.
"""
import errno
import os
import stat
import subprocess
import time


def error_of(call, *args):
    try:
        call(*args)
    except OSError as e:
        return e.errno
    return 0


def check_file(mode):
    """Whoever makes a file may write to it, with whatever mode it has."""
    name = f"mnt/{mode:o}"
    fd = os.open(name, os.O_CREAT | os.O_RDWR, mode)
    os.write(fd, b"written")
    os.fsync(fd)
    os.write(fd, b" twice")
    os.close(fd)
    st = os.stat(name)
    assert (st.st_uid, stat.S_IMODE(st.st_mode)) == (os.getuid(), mode)
    os.rename(name, "mnt/moved")
    os.chmod("mnt/moved", 0o600)
    with open("mnt/moved", "r+b") as f:
        assert f.read() == b"written twice"
        os.chmod("mnt/moved", mode)
        f.write(b" thrice")
        os.unlink("mnt/moved")


def check_folders():
    os.makedirs("mnt/d/e")
    open("mnt/d/e/f", "x").close()
    os.chmod("mnt/d", 0o500)
    assert error_of(os.mkdir, "mnt/d/g") == errno.EACCES
    assert error_of(os.rename, "mnt/d/e", "mnt/e") == errno.EACCES
    assert error_of(os.chown, "mnt/d", 0, -1) == errno.EPERM
    os.chmod("mnt/d", 0o700)
    os.rename("mnt/d/e", "mnt/e")
    assert os.listdir("mnt/e") == ["f"]


daemon = subprocess.Popen(["./bloscfs", "-f", "src", "mnt"])
try:
    while not os.path.ismount("mnt"):
        assert daemon.poll() is None
        time.sleep(.05)
    for file_mode in 0o644, 0o444, 0o400, 0o200, 0:
        check_file(file_mode)
    check_folders()
finally:
    if subprocess.run(["./bloscctl", "umount", "mnt"], check=False).returncode:
        subprocess.run(["fusermount3", "-u", "mnt"], check=True)
        raise AssertionError("bloscctl umount")
    assert daemon.wait(10) == 0
