# SPDX-License-Identifier: BSD-3-Clause
"""mounting - mounts for the Python tests

Each test_NAME() of a module that calls main() runs in a directory of its own.
A mount, a process or an open descriptor that is left behind is a failure.
"""
import contextlib
import faulthandler
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from build import BUILD, SANITIZED, SOURCE  # noqa: E402,F401
from make_frame import data, make  # noqa: E402,F401


def error_of(call, *args, **kwargs):
    """The errno of the call, or 0."""
    try:
        call(*args, **kwargs)
    except OSError as e:
        return e.errno
    return 0


def errors_of_making(path, old):
    """The errors of all calls that make the name @path; @old: an existing file."""
    return {error_of(call, *args) for call, *args in (
        (os.mknod, path, stat.S_IFREG | 0o644), (os.mkfifo, path), (os.mkdir, path),
        (os.symlink, "x", path), (os.open, path, os.O_CREAT | os.O_EXCL | os.O_WRONLY),
        (os.link, old, path), (os.rename, old, path))}


# Seconds.  The sync of a busy disk can take a minute.
PATIENCE = 150


def wait_until(condition, what, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain: {what}")
        time.sleep(0.02)


def unmount(path, must):
    """Unmounts @path, which may be busy for a moment: other programs look at all
    mounts."""
    def is_done():
        return subprocess.run(["umount", path]).returncode == 0

    if not is_done() and must:
        wait_until(is_done, f"{path} is unmounted")


def wait_until_stock(condition, what):
    """Waits while commits go on for @condition, which reads with C-Blosc2.

    C-Blosc2 opens the index once for its header and again for its trailer,
    and fails if a commit has put another index there in between.
    """
    def holds():
        try:
            return condition()
        except RuntimeError:
            return False

    wait_until(holds, what)


def in_threads(n, work):
    """Runs @work(i) in @n threads at once, and raises the first error of theirs."""
    errors = []

    def run(number):
        try:
            work(number)
        except BaseException as error:  # raised below
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


@contextlib.contextmanager
def tmpfs(path, options="rw"):
    """A filesystem in memory at @path."""
    os.makedirs(path, exist_ok=True)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", path],
                   check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", path], check=True)


@contextlib.contextmanager
def overlay(low):
    """A filesystem over the directory @low in ./src; beside it, on the same disk, are
    the directories that it needs."""
    os.makedirs("src", exist_ok=True)
    top = pathlib.Path(low).parent
    for name in "up", "work":
        os.mkdir(top / name)
    subprocess.run(["mount", "-t", "overlay", "overlay", "src", "-o",
                    f"lowerdir={low},upperdir={top}/up,workdir={top}/work"],
                   check=True)
    try:
        yield
    finally:
        unmount("src", must=True)


def mountpoints(below):
    with open("/proc/self/mountinfo") as f:
        paths = [line.split()[4] for line in f]
    return [p for p in reversed(paths) if p.startswith(f"{below}/")]


def of_threads(pid, name):
    """The contents of the /proc file @name of each thread of @pid that does not end
    meanwhile."""
    found = []
    for task in os.listdir(f"/proc/{pid}/task"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            path = pathlib.Path(f"/proc/{pid}/task/{task}/{name}")
            found.append(path.read_text())
    return found


def is_traced(pid):
    """Are all threads traced?  The tracer would not kill another one."""
    return not any("TracerPid:\t0\n" in text
                   for text in of_threads(pid, "status"))


class Mount:
    """bloscfs in the foreground; its messages are in the file log."""

    def __init__(self, source, mountpoint, *args, wrap=()):
        self.path = pathlib.Path(mountpoint).absolute()
        self.path.mkdir(exist_ok=True)
        self.log_path = pathlib.Path("log").absolute()
        self.log_file = open(self.log_path, "ab")
        # B2F_SMALL=0 runs other tests with directories only.
        small = os.environ.get("B2F_SMALL")
        if small and not any("small=" in str(x) for x in args):
            args = *args, "-o", f"small={small}"
        self.args = [*wrap, str(BUILD / "bloscfs"), "-f", *args, str(source),
                     str(mountpoint)]
        self.ended = False
        # Its exit status is to be this.
        self.status = 0

    def __enter__(self):
        env = dict(os.environ)
        if self.args[0] == "strace":
            # The leak checker is a tracer itself.
            env["ASAN_OPTIONS"] = env.get("ASAN_OPTIONS", "") + ":detect_leaks=0"
        self.process = subprocess.Popen(self.args, stderr=self.log_file,
                                        env=env)
        wait_until(self.is_ready, f"mount {self.args}: {self.log()}")
        self.pid = self.find_daemon()
        self.nfds = len(self.open_fds())
        return self

    def is_ready(self):
        if self.process.poll() is not None:
            raise AssertionError(f"ended: {self.log()}")
        if str(self.path) not in mountpoints(self.path.parent):
            return False
        # The mount exists a little before the daemon serves it.
        with contextlib.suppress(OSError):
            os.stat(self.path)
        return True

    def find_daemon(self):
        """The process itself, or the child of its wrapper."""
        pid = self.process.pid
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
        is_wrapped = self.args[0] != str(BUILD / "bloscfs")
        return int(children.split()[0]) if is_wrapped and children else pid

    def open_fds(self):
        """Descriptors of the daemon, except for directories, which are kept open on
        purpose."""
        top = f"/proc/{self.pid}/fd"
        return [fd for fd in os.listdir(top) if not os.path.isdir(f"{top}/{fd}")]

    def open_paths(self):
        for fd in self.open_fds():
            with contextlib.suppress(OSError):
                yield os.readlink(f"/proc/{self.pid}/fd/{fd}")

    def log(self):
        return self.log_path.read_text(errors="replace")

    def wait_for_log(self, text):
        """Waits for @text in the log, which is written after the answers."""
        wait_until(lambda: text in self.log(), f"{text} in {self.log()}")

    def rss(self):
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return {k: int(v.split()[0]) << 10 for k, v in (
            line.split(":\t") for line in status.splitlines()
            if line.startswith(("VmRSS", "VmHWM")))}

    def end(self, number, status=0):
        """Ends the daemon by a signal, whatever is still open."""
        self.status = status
        os.kill(self.pid, number)
        assert self.process.wait(PATIENCE) == status, self.log()
        assert str(self.path) not in mountpoints(self.path.parent)
        self.ended = True

    def wait_for_closes(self):
        """Waits for last closes, for which the kernel does not wait."""
        try:
            wait_until(lambda: len(self.open_fds()) <= self.nfds,
                       "descriptors left open")
        except AssertionError as e:
            raise AssertionError(f"{e}: {[*self.open_paths()]}") from None

    def wait_until_closed(self, path):
        """The same for the frame @path, a directory."""
        path, top = os.path.realpath(path), f"/proc/{self.pid}/fd"

        def is_open(fd):
            with contextlib.suppress(OSError):
                return os.readlink(f"{top}/{fd}") == path

        wait_until(lambda: not any(map(is_open, os.listdir(top))),
                   f"{path} is closed")

    def __exit__(self, kind, value, trace):
        try:
            if kind is None and not self.ended:
                self.wait_for_closes()
            if not self.ended:
                unmount(self.path, must=kind is None)
            if kind is None:
                # A process with a mount namespace made meanwhile keeps the mount.
                assert self.process.wait(PATIENCE) == self.status, self.log()
        finally:
            if self.process.poll() is None:
                subprocess.run(["umount", "-l", self.path], check=False,
                               stderr=subprocess.DEVNULL)
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self.process.wait(5)
            if self.process.poll() is None:
                self.process.kill()
                self.process.wait()
            self.log_file.close()
            if kind is not None:
                sys.stderr.write(self.log()[-4000:])


def signal_at(number, at, call):
    """The command that wraps a daemon so that it gets the signal @number before its
    @at-th @call ("any": a call that changes a directory), once the file "armed" exists
    (signal_at.c)."""
    return ["env",
            f"B2F_SIGNAL_AT={number:d} {at} {call} {pathlib.Path('armed').absolute()}",
            f"LD_PRELOAD={BUILD}/signal_at.so",
            "ASAN_OPTIONS=verify_asan_link_order=0"]


# A filter of system calls, as containers have it, which refuses one with EPERM.
REFUSING = """
import ctypes, os, struct, sys
steps = ((0x20, 0, 0, 0), (0x15, 0, 1, int(sys.argv[1])), (6, 0, 0, 0x50001),
         (6, 0, 0, 0x7fff0000))
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *s) for s in steps))
prctl = ctypes.CDLL(None).prctl
assert prctl(38, 1, 0, 0, 0) == 0
assert prctl(22, 2, struct.pack("HP", len(steps), ctypes.addressof(code))) == 0
os.execv(sys.argv[2], sys.argv[2:])
"""


def refusing(call):
    """The command that wraps a daemon so that the system call of the number @call
    fails."""
    return sys.executable, "-c", REFUSING, str(call)


@contextlib.contextmanager
def failing(mount, *faults):
    """The daemon's system calls fail; @faults: "call:error=..."."""
    options = [x for fault in faults for x in ("-e", f"inject={fault}")]
    calls = ",".join(fault.split(":")[0] for fault in faults)
    tracer = subprocess.Popen(
        ["strace", "-f", "-qq", "-o", "/dev/null", "-p", str(mount.pid), "-e",
         f"trace={calls}", *options])
    try:
        wait_until(lambda: is_traced(mount.pid), "strace")
        yield
    finally:
        tracer.terminate()
        tracer.wait()


@contextlib.contextmanager
def while_stopped(mount, request):
    """Runs @request in a thread; the block runs while the daemon,
    wrapped in signal_at(SIGSTOP), is stopped in the request, or after an error."""
    errors = []
    thread = threading.Thread(target=lambda: errors.append(error_of(request)))
    pathlib.Path("armed").touch()
    thread.start()
    stat = pathlib.Path(f"/proc/{mount.pid}/stat")
    try:
        wait_until(lambda: stat.read_text().rsplit(") ", 1)[1][0] == "T" or
                   not thread.is_alive(), "the daemon to stop")
        yield errors
    finally:
        pathlib.Path("armed").unlink()
        os.kill(mount.pid, signal.SIGCONT)
        thread.join()


def run_one(name, test):
    top = tempfile.mkdtemp(prefix="bloscfs-test.")
    os.chdir(top)
    start = time.monotonic()
    ok = True
    try:
        test()
    except Exception:
        traceback.print_exc()
        ok = False
    for path in mountpoints(top):
        print(f"left behind: mount {path}", file=sys.stderr)
        subprocess.run(["umount", "-l", path], check=False)
        ok = False
    os.chdir("/")
    shutil.rmtree(top, ignore_errors=True)
    print(f"{'ok' if ok else 'FAILED'}: {name}, {time.monotonic() - start:.1f} s",
          flush=True)
    return ok


def main(seconds=280):
    faulthandler.dump_traceback_later(seconds, exit=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    tests = vars(sys.modules["__main__"])
    wanted = sys.argv[1:]
    results = [run_one(name, test) for name, test in list(tests.items())
               if name.startswith("test_") and (not wanted or name in wanted)]
    sys.exit(not (results and all(results)))
