# SPDX-License-Identifier: BSD-3-Clause
"""play - plays the same calls on mounts of two builds, and compares them
(scripts/compare)"""
import argparse
import collections
import contextlib
import difflib
import errno
import hashlib
import os
import pathlib
import random
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import stores
from fake_s3 import FakeS3
from proxy import Proxy
from syscalls import KEEP, PUNCH, ZERO, fallocate

NAMES = ["a", "b", "c", "x.npy", "d/a", "d/e"]
SIZES = [0, 1, 300, 4096, 65535, 65536, 65537, 200000]
PATIENCE = 60
# No timer acts while a game is played.
STILL = "commit=600,attr_timeout=0,entry_timeout=0,chunksize=64k,codec=lz4,workers=1"


def wait_until(condition, what, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise RuntimeError(f"waited in vain: {what}")
        time.sleep(0.01)


def digest(data):
    return f"{len(data)}:{hashlib.md5(data).hexdigest()[:8]}"


# ---- mounts ----

def make_tree(top):
    (top / "src").mkdir()
    (top / "src/d").mkdir()
    (top / "src/plain.txt").write_bytes(b"plain\n" * 100)
    stores.blosc2.asarray(stores.np.arange(6000.).reshape(60, 100),
                          urlpath=str(top / "src/array.b2nd"), mode="w",
                          chunks=(20, 30), blocks=(10, 10))
    return "src"


def make_pack(top):
    (top / "src").mkdir()
    stores.make_tree(str(top / "src/store.b2z"))
    stores.make_embed(str(top / "src/embed.b2e"))
    return "src"


VOLUMES = {"tree": (make_tree, ""), "pack": (make_pack, "store.b2z/"),
           "bucket": (None, "")}


class Daemon:
    """bloscfs of @build on ./mnt, traced."""

    def __init__(self, build, top, source, env):
        self.top, self.mnt = top, top / "mnt"
        self.mnt.mkdir()
        self.log = open(top / "replies", "wb")
        words = ["strace", "-f", "-y", "-qq", "-o", "trace", "-e",
                 "trace=%file,%desc", "-e", "signal=none",
                 str(build / "bloscfs"), "-d", "-o",
                 STILL + (",refresh=600" if "://" in source else ""), source,
                 "mnt"]
        self.process = subprocess.Popen(words, cwd=top, stderr=self.log,
                                        stdout=self.log, env=env)
        wait_until(lambda: self.process.poll() is not None or
                   os.path.ismount(self.mnt), "mount")
        if self.process.poll() is not None:
            raise RuntimeError((top / "replies").read_text()[-2000:])

    def wait_for_releases(self, n):
        """Waits for releases, for which close(2) does not wait."""
        def are_there():
            asked, done = {}, 0
            for line in (self.top / "replies").read_bytes().splitlines():
                if m := ASKED.search(line):
                    asked[m[1]] = m[2]
                elif m := REPLY.search(line):
                    done += asked.pop(m[1], None) == b"RELEASE"
            return done >= n

        # If two threads wrote into one line, go on with a less exact result.
        with contextlib.suppress(RuntimeError):
            wait_until(are_there, "releases", 1)

    def end(self):
        subprocess.run(["umount", self.mnt], check=True)
        self.process.wait(PATIENCE)
        self.log.close()


# ---- the game ----

def outcome(call, *args):
    try:
        return call(*args)
    except OSError as e:
        return errno.errorcode.get(e.errno, str(e.errno))


class Game:
    """Calls that depend on the seed and on earlier results alone."""

    def __init__(self, seed, daemon, below):
        self.rng = random.Random(seed)
        self.daemon, self.mnt, self.below = daemon, daemon.mnt, below
        self.ncloses = 0
        self.told, self.fds = [], []
        self.inodes = {}

    def path(self):
        name = self.rng.choice(NAMES)
        if self.below:
            name = self.rng.choice(["small", "big", "g/sub", "g", "no", "g/bytes",
                                    "big.npy"])
        return self.mnt / (self.below + name)

    def data(self):
        n = self.rng.choice(SIZES)
        if self.rng.random() < .2:
            return bytes(n)
        return (self.rng.randbytes(16) * (n // 16 + 1))[:n]

    def tell(self, what, value):
        self.told.append(f"{what} -> {value}")

    def look(self, path):
        """The result of lstat(2) without times; inodes are numbered as they come."""
        st = os.lstat(path)
        ino = self.inodes.setdefault(st.st_ino, len(self.inodes))
        return (f"{stat.filemode(st.st_mode)} {st.st_nlink} {st.st_size} "
                f"{st.st_blocks > 0} {st.st_blksize} ino{ino}")

    def do_open(self):
        path = self.path()
        flags = self.rng.choice([os.O_RDONLY, os.O_RDWR, os.O_RDWR])
        for flag in os.O_CREAT, os.O_CREAT, os.O_TRUNC, os.O_EXCL, os.O_APPEND:
            if self.rng.random() < .3:
                flags |= flag
        fd = outcome(os.open, path, flags | os.O_NONBLOCK, 0o644)
        self.tell(f"open {path.name} {flags:o}", isinstance(fd, int) or fd)
        if not isinstance(fd, int):
            return
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            return
        self.fds.append(fd)
        if len(self.fds) > 4:
            self.do_close()

    def close(self, fd):
        result = outcome(os.close, fd)
        self.ncloses += 1
        self.daemon.wait_for_releases(self.ncloses)
        return result

    def with_fd(self):
        return self.rng.choice(self.fds) if self.fds else None

    def do_close(self):
        if self.fds:
            fd = self.fds.pop(self.rng.randrange(len(self.fds)))
            self.tell("close", self.close(fd))

    def do_write(self):
        fd, data, off = self.with_fd(), self.data(), self.rng.choice(SIZES)
        if fd is not None:
            self.tell(f"pwrite {digest(data)} at {off}",
                      outcome(os.pwrite, fd, data, off))

    def do_read(self):
        fd, size, off = self.with_fd(), self.rng.choice(SIZES), \
            self.rng.choice(SIZES)
        if fd is not None:
            got = outcome(os.pread, fd, size, off)
            self.tell(f"pread {size} at {off}",
                      digest(got) if isinstance(got, bytes) else got)

    def do_truncate(self):
        fd, size = self.with_fd(), self.rng.choice(SIZES)
        if fd is not None:
            self.tell(f"ftruncate {size}", outcome(os.ftruncate, fd, size))

    def do_fallocate(self):
        fd, off, size = self.with_fd(), self.rng.choice(SIZES), \
            self.rng.choice(SIZES) + 1
        mode = self.rng.choice([0, KEEP, KEEP | PUNCH, ZERO])
        if fd is not None:
            self.tell(f"fallocate {mode} {off} {size}",
                      outcome(fallocate, fd, mode, off, size))

    def do_fsync(self):
        fd = self.with_fd()
        if fd is not None:
            self.tell("fsync", outcome(os.fsync, fd))

    def do_stat(self):
        path = self.path()
        self.tell(f"lstat {path.name}", outcome(self.look, path))

    def do_list(self):
        path = self.rng.choice([self.mnt, self.mnt / "d", self.mnt / self.below])
        got = outcome(os.listdir, path)
        self.tell("list", sorted(got) if isinstance(got, list) else got)

    def do_unlink(self):
        path = self.path()
        self.tell(f"unlink {path.name}", outcome(os.unlink, path))

    def do_rename(self):
        old, new = self.path(), self.path()
        self.tell(f"rename {old.name} {new.name}", outcome(os.rename, old, new))

    def do_link(self):
        old, new = self.path(), self.path()
        self.tell(f"link {old.name} {new.name}", outcome(os.link, old, new))

    def do_folder(self):
        path = self.mnt / self.rng.choice(["d", "d/e", "f"])
        call = self.rng.choice([os.mkdir, os.rmdir])
        self.tell(f"{call.__name__} {path.name}", outcome(call, path))

    def do_chmod(self):
        path, mode = self.path(), self.rng.choice([0o600, 0o644, 0o444, 0o755])
        self.tell(f"chmod {path.name} {mode:o}", outcome(os.chmod, path, mode))

    def do_xattr(self):
        path = self.path()
        name = self.rng.choice(["user.x", "user.blosc2.nbytes",
                                "user.blosc2.shape"])
        if self.rng.random() < .5:
            self.tell(f"setxattr {path.name} {name}",
                      outcome(os.setxattr, path, name, b"1"))
        self.tell(f"getxattr {path.name} {name}",
                  outcome(os.getxattr, path, name))

    def play(self, steps):
        calls = [self.do_open] * 4 + [self.do_write] * 5 + [self.do_read] * 4 + \
            [self.do_close] * 3 + [self.do_stat] * 2 + \
            [self.do_truncate, self.do_fallocate, self.do_fsync, self.do_list,
             self.do_unlink, self.do_rename, self.do_link, self.do_folder,
             self.do_chmod, self.do_xattr]
        for _ in range(steps):
            self.rng.choice(calls)()
        while self.fds:
            self.do_close()


# ---- comparisons ----

NODE = re.compile(rb"opcode: (\w+)")
REPLY = re.compile(rb"unique: (\d+), (success|error: (-?\d+)).*outsize: (\d+)")
ASKED = re.compile(rb"unique: (\d+), opcode: (\w+)")
# The kernel sends these at any time.
LATE = {"FORGET", "BATCH_FORGET", "INTERRUPT", "RELEASE", "READ", "INIT"}


def replies(path):
    """The count of each answer."""
    opcodes, counts = {}, collections.Counter()
    for line in path.read_bytes().splitlines():
        if m := ASKED.search(line):
            opcodes[m[1]] = m[2].decode()
        elif m := REPLY.search(line):
            opcode = opcodes.pop(m[1], "?")
            if opcode not in LATE:
                counts[f"{opcode} {m[3].decode() if m[3] else 'ok'} "
                       f"{m[4].decode()}"] += 1
    return counts


# Calls that change SOURCE.  Other calls depend on the timing of the kernel and of
# workers.
CHANGES = {"pwrite64", "fsync", "fdatasync", "syncfs", "sync_file_range", "ftruncate",
           "fallocate", "fchmod", "fchmodat", "fchown", "fchownat", "utimensat",
           "fsetxattr", "setxattr", "fremovexattr", "removexattr", "renameat",
           "renameat2", "linkat", "unlinkat", "mkdirat", "mknodat", "symlinkat",
           "copy_file_range"}
CALL = re.compile(r"^\d+ +(\w+)\(")
BEGUN = re.compile(r"^(\d+) +(.*) <unfinished \.\.\.>$")
RESUMED = re.compile(r"^(\d+) +<\.\.\. \w+ resumed>(.*)$")


def whole_lines(path):
    """Lines of strace, with interrupted calls joined to one line."""
    begun = {}
    with open(path, errors="replace") as f:
        for line in f:
            if m := BEGUN.match(line):
                begun[m[1]] = m[2]
            elif m := RESUMED.match(line):
                yield f"{m[1]} {begun.pop(m[1], '')}{m[2]}"
            else:
                yield line.rstrip("\n")


def syscalls(path, source):
    """The count of each change of each file, with its result."""
    counts = collections.Counter()
    for line in whole_lines(path):
        m = CALL.match(line)
        places = re.findall(re.escape(str(source)) + r"([^>\"]*)", line)
        if not m or not places or not (
                m[1] in CHANGES or m[1] == "openat" and
                re.search("O_CREAT|O_TMPFILE", line)):
            continue
        ended = re.search(r"= (-1 E\w+|\S+)[^=]*$", line)
        bad = ended and ended[1].startswith("-1")
        counts[f"{m[1]} {plain(' '.join(places))} "
               f"{ended[1] if bad else 'ok'}"] += 1
    return counts


def plain(name):
    """Without random parts: ids, inode numbers, temporary names."""
    name = re.sub(r" \(deleted\)", "", name)
    name = re.sub(r"(\.bloscfs-deleted/)\d+-[^/ ]+", r"\1N", name)
    name = re.sub(r"[0-9A-F]{8}\.(chunk|new)", r"ID.\1", name)
    return re.sub(r"[0-9a-f]{6,}|#\d+", "N", name)


def requests(way):
    return collections.Counter(
        f"{r.method} {plain(re.sub(r'[?].*', '', r.path))} {r.status}"
        for r in way.take()) if way else collections.Counter()


def remains(build, top):
    """Names, kinds, and what python-blosc2 reads."""
    told = []
    for path in sorted((top / "src").rglob("*")) if (top / "src").exists() else []:
        name = plain(str(path.relative_to(top)))
        if path.is_symlink():
            told.append(f"{name} -> {plain(os.readlink(path))}")
        elif path.is_dir():
            told.append(f"{name}/")
        elif not name.endswith(".chunk"):
            told.append(name)
    told += subprocess.run(
        [build / "bloscctl", "verify", "-r", "src"], cwd=top,
        capture_output=True, text=True, check=False).stdout.splitlines() \
        if (top / "src").exists() else []
    return sorted(told)


def play(build, volume, seed, steps):
    """Plays one game; returns all values to be compared."""
    make, below = VOLUMES[volume]
    with contextlib.ExitStack() as stack:
        top = pathlib.Path(tempfile.mkdtemp(prefix="bloscfs-compare."))
        stack.callback(shutil.rmtree, top, ignore_errors=True)
        env, way = dict(os.environ), None
        if make:
            source = make(top)
        else:
            server = stack.enter_context(FakeS3())
            way = stack.enter_context(Proxy(server.port))
            server.load(__file__, "/bucket/prefix/plain.txt")
            source = "s3://bucket/prefix"
            env.update(AWS_ENDPOINT_URL=way.url, AWS_ACCESS_KEY_ID="a",
                       AWS_SECRET_ACCESS_KEY="b", AWS_REGION="r")
        daemon = Daemon(build, top, source, env)
        game = Game(seed, daemon, below)
        try:
            game.play(steps)
        finally:
            for fd in game.fds:
                os.close(fd)
            daemon.end()
        return {"calls": game.told, "replies": replies(top / "replies"),
                "syscalls": syscalls(top / "trace", top / "src"),
                "requests": requests(way), "remains": remains(build, top)}


def counted(olds, news):
    """(counts of all NEW runs outside OLD's range, how many counts are unsteady)."""
    lines, unsteady = [], 0
    for key in sorted(set().union(*olds, *news)):
        low, high = (f(o[key] for o in olds) for f in (min, max))
        unsteady += low != high
        # Large counts vary a little with the speed of the machine.
        low, high = low - low // 5, high + high // 5
        if all(not low <= n[key] <= high for n in news):
            lines.append(f"{key}: {low} to {high} times, now "
                         f"{[n[key] for n in news]}")
    return lines, unsteady


def listed(olds, news):
    if any(o != olds[0] for o in olds):
        return [], 1
    if any(n == olds[0] for n in news):
        return [], 0
    return [x for x in difflib.ndiff(olds[0], news[0]) if x[0] in "+-"], 0


def compare(old, new, volume, seed, steps):
    """Prints what differs.  Returns whether it is the same."""
    olds = [play(old, volume, seed, steps) for _ in range(3)]
    news = [play(new, volume, seed, steps) for _ in range(2)]
    nlines = nunsteady = 0
    for what in olds[0]:
        of = counted if isinstance(olds[0][what], collections.Counter) else listed
        lines, unsteady = of([o[what] for o in olds], [n[what] for n in news])
        for line in lines:
            print(f"  {what}: {line}")
        nlines += len(lines)
        nunsteady += unsteady
    print(f"{volume} {seed}: {'DIFFERENT' if nlines else 'same'}, "
          f"{len(olds[0]['calls'])} calls, {nunsteady} unsteady", flush=True)
    return nlines == 0


def main():
    parser = argparse.ArgumentParser(prog="scripts/compare")
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--volume", action="append", choices=VOLUMES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--steps", type=int, default=150)
    a = parser.parse_args()
    same = [compare(a.old.resolve(), a.new.resolve(), volume, seed, a.steps)
            for volume in a.volume or VOLUMES
            for seed in range(a.first, a.first + a.seeds)]
    sys.exit(not all(same))


if __name__ == "__main__":
    main()
