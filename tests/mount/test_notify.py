# SPDX-License-Identifier: BSD-3-Clause
"""test_notify - a service manager is notified when the mount is ready, and when it
ends"""
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from build import BUILD  # noqa: E402


def message(manager):
    return dict(line.split("=") for line in
                manager.recv(1000).decode().splitlines())


def check(manager, address, work, *options):
    """The message names the serving process, and the mount is ready by then."""
    mountpoint = work / "mnt"
    command = [BUILD / "bloscfs", *options, work / "src", mountpoint]
    daemon = subprocess.Popen(
        command, env=dict(os.environ, NOTIFY_SOCKET=address))
    ready = message(manager)
    assert ready["READY"] == "1", ready
    pid = int(ready["MAINPID"])
    assert mountpoint.is_mount()
    if "-f" in options:
        assert pid == daemon.pid
    else:
        assert daemon.wait(20) == 0
    os.kill(pid, signal.SIGTERM)
    assert message(manager) == {"STOPPING": "1"}
    assert daemon.wait(20) == 0
    # Wait for the end of the process by its pid.
    while os.path.exists(f"/proc/{pid}"):
        os.sched_yield()
    assert not mountpoint.is_mount()


def main():
    with tempfile.TemporaryDirectory(prefix="bloscfs-test.") as scratch:
        work = pathlib.Path(scratch)
        for name in ("src", "mnt"):
            (work / name).mkdir()
        for address in (f"{work}/socket", f"@{work}"):
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
                manager.settimeout(20)
                manager.bind(address.replace("@", "\0"))
                check(manager, address, work, "-f")
                check(manager, address, work)
        # A manager that does not listen is ignored.
        env = dict(os.environ, NOTIFY_SOCKET="/nowhere")
        subprocess.run([BUILD / "bloscfs", work / "src", work / "mnt"],
                       env=env, check=True, timeout=20)
        subprocess.run(["umount", work / "mnt"], check=True)


if __name__ == "__main__":
    main()
