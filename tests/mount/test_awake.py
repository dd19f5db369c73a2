#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A thread of the daemon looks for requests while they follow each other."""
import concurrent.futures
import os
import pathlib
import re
import time

from mounting import Mount, main, wait_until

# The daemon looks behind one of so many requests, until that is worth it.
RARELY = 32


def looks(mount):
    """How often the daemon has looked for a request since the last call."""
    with open("calls", "r+") as f:
        text = f.read()
        f.truncate(0)
    device = f"poll([{{fd={fuse_fd(mount)}, "
    return text.count(device)


def fuse_fd(mount):
    return next(fd for fd in os.listdir(f"/proc/{mount.pid}/fd")
                if os.readlink(f"/proc/{mount.pid}/fd/{fd}") == "/dev/fuse")


def traced(*wrap, calls="poll", options="ro"):
    os.makedirs("src", exist_ok=True)
    return Mount("src", "mnt", "-o", f"attr_timeout=0,entry_timeout=0,{options}",
                 wrap=("strace", "-f", "-qq", "-A", "-o", "calls", "-e",
                       f"trace={calls}", *wrap))


def ask(n, pause=0.0):
    """None: without any pause; even a pause of 0 lets other programs run."""
    for _ in range(n):
        os.stat("mnt")
        if pause is not None:
            time.sleep(pause)


def test_close_requests():
    with traced() as mount:
        looks(mount)
        ask(40 * RARELY)
        assert looks(mount) >= 20 or len(os.sched_getaffinity(0)) == 1


def test_rare_requests():
    """Each look ends in vain, and takes no more than a few calls of poll(2)."""
    n = 20
    with traced() as mount:
        ask(RARELY, pause=0.005)
        looks(mount)
        ask(n * RARELY, pause=0.005)
        assert looks(mount) < n * RARELY / 2


def test_requests_in_turn():
    """Several threads, as of several programs, keep the daemon awake."""
    asked = [concurrent.futures.ThreadPoolExecutor(1) for _ in range(2)]
    with traced() as mount:
        ask(1)
        looks(mount)
        for i in range(10 * RARELY):
            asked[i % 2].submit(ask, 1).result()
        assert looks(mount) == 0
    for thread in asked:
        thread.shutdown()


def wakes(mount):
    """How often the daemon's threads have slept."""
    told = (task / "status" for task in
            pathlib.Path(f"/proc/{mount.pid}/task").iterdir())
    return sum(int(re.search(r"^voluntary_ctxt_switches:\s*(\d+)",
                             path.read_text(), re.M).group(1)) for path in told)


def test_other_threads_stand_aside():
    """The kernel would wake one of them for each request.  They come back for a
    moment when another program takes the processor."""
    n = 2000

    def few_wakes():
        before = wakes(mount)
        ask(n, pause=None)
        return wakes(mount) - before < n / 10

    os.mkdir("src")
    with Mount("src", "mnt", "-o", "attr_timeout=0,entry_timeout=0") as mount:
        if len(os.sched_getaffinity(0)) > 1:
            wait_until(few_wakes, "the other threads stand aside")


def test_a_slow_request_keeps_no_other_waiting():
    syncs = "fsync,fdatasync,syncfs"

    def ask_and_sync(f):
        ask(5000, pause=None)
        os.truncate("calls", 0)
        os.fsync(f.fileno())

    with traced("--seccomp-bpf", "-e", f"inject={syncs}:delay_enter=1s",
                calls=syncs, options="rw"), \
            concurrent.futures.ThreadPoolExecutor(1) as other:
        pathlib.Path("mnt/x").write_bytes(b"1")
        with open("mnt/x", "r+b") as f:
            f.write(b"2")
            f.flush()
            slow = other.submit(ask_and_sync, f)
            wait_until(lambda: "sync" in pathlib.Path("calls").read_text(), "a sync")
            ask(10)
            assert not slow.done()
            slow.result()


def test_one_processor():
    """There a look would only keep others from running."""
    cpu = str(min(os.sched_getaffinity(0)))
    with traced("taskset", "-c", cpu) as mount:
        looks(mount)
        ask(10 * RARELY)
        assert looks(mount) == 0


main()
