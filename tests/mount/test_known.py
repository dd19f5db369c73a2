#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Names that other programs make, rename and delete beside the mount.

The daemon keeps the names of a busy directory.  So each test first makes its directory
busy, and then looks a name up at once.
"""
import contextlib
import errno
import mmap
import os
import pathlib
import shutil
import subprocess
import time

import blosc2

from mounting import Mount, error_of, main, make
from acl import ACCESS, acl
from syscalls import exchange

NO_TIMEOUTS = ("-o", "entry_timeout=0,attr_timeout=0")
SUFFIXES = ".b2frame", ".b2f", ".b2", ".b2nd", ".b2eframe"


def use(path, n=40):
    """Looks @n missing names up."""
    for i in range(n):
        assert error_of(os.stat, f"{path}/none-{i}") == errno.ENOENT


def frame(path):
    make(str(path), None, nbytes=8000)


def failing_opens(trace):
    lines = pathlib.Path(trace).read_text().splitlines()
    return sum("ENOENT" in line and "openat(" in line for line in lines)


class Traced(Mount):
    def __init__(self, *args, inject=(), calls="openat,inotify_init1"):
        super().__init__(*args)
        faults = [arg for fault in inject for arg in ("-e", f"inject={fault}")]
        self.args[:0] = ["strace", *faults, "-f", "-qq", "-o", "trace", "-e",
                         f"trace={calls}"]


def test_absent_names_are_not_looked_for():
    os.mkdir("src")
    pathlib.Path("src/file").touch()
    with Traced("src", "mnt"):
        use("mnt")
        before = failing_opens("trace")
        use("mnt")
        assert failing_opens("trace") == before


def test_a_listing_brings_attributes():
    """A walk over all files sends no request per file."""
    os.mkdir("src")
    for i in range(300):
        pathlib.Path(f"src/file-{i}").touch()
        frame(f"src/frame-{i}.b2frame")
    # However long the walk takes.
    with Mount("src", "mnt", "-o",
               "attr_timeout=1000,entry_timeout=1000") as mount:
        before = requests(mount.pid)
        with os.scandir("mnt") as entries:
            sizes = {e.name: e.stat().st_size for e in entries}
        assert len(sizes) == 600 and sizes["frame-7"] == 8000
        assert sizes["file-7"] == 0
        assert requests(mount.pid) - before < 100
        # The nodes that it brought are given back.
        pathlib.Path("/proc/sys/vm/drop_caches").write_text("2")


def requests(pid):
    """The number of the daemon's answers, by its calls of write(2)."""
    said = pathlib.Path(f"/proc/{pid}/io").read_text()
    return int(said.split("syscw: ")[1].split()[0])


def test_without_inotify_they_are():
    os.mkdir("src")
    frame("src/a.b2frame")
    with Traced("src", "mnt", inject=["inotify_init1:error=EMFILE"]):
        use("mnt")
        before = failing_opens("trace")
        use("mnt")
        assert failing_opens("trace") > before
        assert os.listdir("mnt") == ["a"]
        frame("src/b.b2nd")
        assert sorted(os.listdir("mnt")) == ["a", "b"]


def test_names_that_the_disk_does_not_give_are_not_missing():
    os.mkdir("src")
    for i in range(1500):
        pathlib.Path(f"src/name-{i:030}").touch()
    for when in range(1, 9):
        # At some time the first part of the names is read, but not the second.
        with Traced("src", "mnt", "-s", *NO_TIMEOUTS, calls="getdents64",
                    inject=[f"getdents64:error=EIO:when={when}"]):
            use("mnt")
            for i in range(0, 1500, 50):
                assert os.path.exists(f"mnt/name-{i:030}"), (when, i)


def test_each_change_beside_the_mount_is_seen_at_once():
    os.makedirs("src/d")
    frame("kept.b2frame")
    with Mount("src", "mnt", *NO_TIMEOUTS):
        pathlib.Path("src/d/file").touch()
        use("mnt/d")
        for i, suffix in enumerate(SUFFIXES * 20):
            shutil.copytree("kept.b2frame", f"src/d/x{i}{suffix}")
            assert os.path.isfile(f"mnt/d/x{i}")
            os.rename(f"src/d/x{i}{suffix}", f"src/d/y{i}{suffix}")
            assert os.path.isfile(f"mnt/d/y{i}")
            assert not os.path.exists(f"mnt/d/x{i}")
            # Now the frame has to show its full name.
            pathlib.Path(f"src/d/y{i}").write_text("plain")
            assert pathlib.Path(f"mnt/d/y{i}").read_text() == "plain"
            assert os.path.isfile(f"mnt/d/y{i}{suffix}")
            os.unlink(f"src/d/y{i}")
            assert os.path.getsize(f"mnt/d/y{i}") == 8000
            shutil.rmtree(f"src/d/y{i}{suffix}")
            assert not os.path.exists(f"mnt/d/y{i}")
            os.symlink("file", f"src/d/s{i}")
            assert os.readlink(f"mnt/d/s{i}") == "file"
            os.link("src/d/file", f"src/d/l{i}")
            assert os.path.isfile(f"mnt/d/l{i}")
            os.mkfifo(f"src/d/f{i}")
            assert os.path.exists(f"mnt/d/f{i}")


def test_moves_between_directories_are_seen():
    os.makedirs("src/a")
    os.makedirs("src/b")
    pathlib.Path("src/a/file").touch()
    pathlib.Path("src/b/file").touch()
    with Mount("src", "mnt", *NO_TIMEOUTS):
        use("mnt/a")
        use("mnt/b")
        for i in range(50):
            frame(f"src/a/x{i}.b2frame")
            os.rename(f"src/a/x{i}.b2frame", f"src/b/x{i}.b2frame")
            assert not os.path.exists(f"mnt/a/x{i}")
            assert os.path.exists(f"mnt/b/x{i}")
        assert sorted(os.listdir("mnt/a")) == ["file"]
        assert len(os.listdir("mnt/b")) == 51


def test_exchanges_are_seen():
    os.makedirs("src/d")
    os.makedirs("src/e")
    frame("src/d/a.b2frame")
    frame("src/e/b.b2nd")
    pathlib.Path("src/d/c").write_text("c")
    with Mount("src", "mnt", *NO_TIMEOUTS):
        use("mnt/d")
        use("mnt/e")
        for i in range(20):
            exchange("src/d/a.b2frame", "src/e/b.b2nd")
            assert sorted(os.listdir("mnt/d")) == ["a", "c"]
            assert os.path.exists("mnt/d/a") and os.path.exists("mnt/e/b")
            exchange("src/d/a.b2frame", "src/d/c")
            assert os.path.exists("mnt/d/c")
            assert pathlib.Path("mnt/d/a.b2frame").read_text() == "c"
            exchange("src/d/a.b2frame", "src/d/c")
            assert os.path.getsize("mnt/d/a") == 8000


def test_exchanged_names_exist_at_every_moment():
    os.makedirs("src/d")
    os.makedirs("src/e")
    for path in "src/d/a", "src/d/b", "src/e/c":
        pathlib.Path(path).touch()
    with Mount("src", "mnt", *NO_TIMEOUTS):
        use("mnt/d")
        use("mnt/e")
        pid = os.fork()
        if pid == 0:
            while True:
                exchange("src/d/a", "src/d/b")
                exchange("src/d/a", "src/e/c")
        try:
            for _ in range(5000):
                for path in "mnt/d/a", "mnt/d/b", "mnt/e/c":
                    # ESTALE: the kernel gave up after several exchanges.
                    assert error_of(os.stat, path) in (0, errno.ESTALE)
        finally:
            os.kill(pid, 9)
            os.waitpid(pid, 0)


def test_a_directory_that_takes_the_place_of_another_is_another():
    for name in "ab":
        os.makedirs(f"src/{name}")
        pathlib.Path(f"src/{name}/in-{name}").touch()
    with Mount("src", "mnt", *NO_TIMEOUTS):
        use("mnt/a")
        use("mnt/b")
        for i in range(20):
            exchange("src/a", "src/b")
            here, other = "ba" if i % 2 == 0 else "ab"
            assert os.listdir("mnt/a") == [f"in-{here}"]
            assert os.path.exists(f"mnt/a/in-{here}")
            assert not os.path.exists(f"mnt/a/in-{other}")
        for i in range(20):
            # The new directory often gets the same inode number.
            shutil.rmtree("src/a")
            os.mkdir("src/a")
            pathlib.Path(f"src/a/new-{i}").touch()
            assert os.path.exists(f"mnt/a/new-{i}")
            use("mnt/a", 10)


def test_two_mounts_see_each_other():
    os.makedirs("src/d")
    pathlib.Path("src/d/file").touch()
    with Mount("src", "one", *NO_TIMEOUTS), Mount("src", "two", *NO_TIMEOUTS):
        use("one/d")
        use("two/d")
        for i in range(40):
            here, there = ("one", "two") if i % 2 else ("two", "one")
            pathlib.Path(f"{here}/d/x{i}").write_bytes(b"x" * i)
            assert os.path.getsize(f"{there}/d/x{i}") == i
            assert error_of(os.open, f"{there}/d/x{i}",
                            os.O_CREAT | os.O_EXCL) == errno.EEXIST
            os.rename(f"{there}/d/x{i}", f"{there}/d/y{i}")
            assert not os.path.exists(f"{here}/d/x{i}")
            os.unlink(f"{here}/d/y{i}")
            assert not os.path.exists(f"{there}/d/y{i}")


def test_no_name_is_lost_among_many_events():
    """Makes more changes than inotify keeps, while the daemon gets no requests."""
    queue = int(pathlib.Path(
        "/proc/sys/fs/inotify/max_queued_events").read_text())
    os.mkdir("src")
    pathlib.Path("src/file").touch()
    with Mount("src", "mnt", *NO_TIMEOUTS):
        use("mnt")
        for i in range(min(queue, 20000) // 2 + 100):
            fd = os.open(f"src/t{i % 2}", os.O_CREAT)
            os.close(fd)
            os.unlink(f"src/t{i % 2}")
        pathlib.Path("src/last").touch()
        assert os.path.exists("mnt/last")
        use("mnt")
        pathlib.Path("src/later").touch()
        assert os.path.exists("mnt/later")


def test_many_directories_take_little_memory():
    os.mkdir("src")
    for i in range(530):
        os.mkdir(f"src/d{i}")
        pathlib.Path(f"src/d{i}/file").touch()
    with Mount("src", "mnt", *NO_TIMEOUTS) as mount:
        for i in range(530):
            use(f"mnt/d{i}", 9)
        watches = 0
        for fd in mount.open_fds():
            # The inotify descriptor stays open; others may be closed by now.
            with contextlib.suppress(FileNotFoundError):
                watches += pathlib.Path(
                    f"/proc/{mount.pid}/fdinfo/{fd}").read_text().count(
                        "\ninotify ")
        assert 100 < watches <= 512, watches
        for i in range(0, 530, 7):
            pathlib.Path(f"src/d{i}/new").touch()
            assert os.path.exists(f"mnt/d{i}/new")


def index_reads(trace):
    """The number of opens to read indexes; lookups open with O_PATH."""
    lines = pathlib.Path(trace).read_text().splitlines()
    return sum("O_NOCTTY|O_NONBLOCK" in line and "b2frame" in line
               for line in lines)


def test_indexes_that_have_not_changed_are_not_read_again():
    os.mkdir("src")
    for i in range(40):
        make(f"src/{i}.b2frame", None, nbytes=8000,
             kind="contiguous" if i % 2 else "sparse")
    # A file younger than a tick of the clock may change without a trace.
    time.sleep(0.1)
    with Traced("src", "mnt", *NO_TIMEOUTS):
        for i in range(3):
            for entry in os.scandir("mnt"):
                assert entry.stat().st_size == 8000
            if i == 0:
                before = index_reads("trace")
                assert before >= 40
        assert index_reads("trace") == before


def opens_of_frames(trace):
    lines = pathlib.Path(trace).read_text().splitlines()
    return sum("openat(" in line and '.b2frame"' in line for line in lines)


def test_a_second_listing_opens_no_frame_in_one_file():
    os.mkdir("src")
    for i in range(300):
        make(f"src/{i}.b2frame", None, nbytes=8000, kind="contiguous")
    time.sleep(0.1)
    with Traced("src", "mnt"):
        assert len(os.listdir("mnt")) == 300
        before = opens_of_frames("trace")
        assert before >= 300
        assert len(os.listdir("mnt")) == 300
        assert opens_of_frames("trace") == before


def set_acl(path):
    """The owner may read and write, all others but user 1 may read."""
    os.setxattr(path, ACCESS, acl("u:6 u1:0 g:4 m:4 o:4"))


def test_a_listing_tells_what_has_changed_since_the_last_one():
    os.mkdir("src")
    for name in "acl", "gone", "grown", "mode", "plain", "replaced", "same":
        make(f"src/{name}.b2frame", None, nbytes=8000, chunk=8000,
             kind="contiguous")
    make("new.b2frame", None, nbytes=16000, kind="contiguous")
    time.sleep(0.1)
    # Only a listing tells the kernel.
    with Mount("src", "mnt", "-o",
               "allow_other,attr_timeout=1000,entry_timeout=1000"):
        for _ in range(3):
            assert set(sizes("mnt").values()) == {8000}
        set_acl("src/acl.b2frame")
        os.unlink("src/gone.b2frame")
        blosc2.open("src/grown.b2frame", mode="a").append_data(bytes(8000))
        os.chmod("src/mode.b2frame", 0o600)
        pathlib.Path("src/plain.b2frame").write_text("text")
        os.rename("new.b2frame", "src/replaced.b2frame")
        assert sizes("mnt") == {
            "acl": 8000, "grown": 16000, "mode": 8000, "plain.b2frame": 4,
            "replaced": 16000, "same": 8000}
        modes = {name: os.stat(f"mnt/{name}").st_mode & 0o777
                 for name in ("acl", "mode", "same")}
        assert modes == {"acl": 0o600, "mode": 0o600, "same": 0o644}, modes


def test_names_in_a_long_listing_follow_other_programs():
    """A listing makes one system call for most files, by name."""
    os.mkdir("src")
    make("frame", None, nbytes=8000, kind="contiguous")
    for i in range(1500):
        shutil.copy("frame", f"src/{i}.b2frame")
    os.link("src/8.b2frame", "other-name")
    all_of_them = {str(i) for i in range(1500)}
    # The first names of a listing, whatever they are, are looked up.
    with Mount("src", "mnt", *NO_TIMEOUTS), contextlib.ExitStack() as stack:
        def listed():
            names = os.listdir("mnt")
            assert len(names) == len(set(names))
            return set(names)

        for k in range(0, 1500, 100):
            for _ in range(2):
                assert listed() == all_of_them
            n = [f"{k + i}" for i in range(9)]
            full = [f"{name}.b2frame" for name in n]
            # Keep it open during the listing.
            fd = os.open(f"src/{full[0]}", os.O_WRONLY)
            stack.callback(os.close, fd)
            os.pwrite(fd, b"text", 0)
            with open(f"src/{full[1]}", "r+b") as f, \
                    mmap.mmap(f.fileno(), 100) as m:
                m[:20] = bytes(20)[:-4] + b"text"
            pathlib.Path(f"src/{n[2]}").touch()
            shutil.copy("frame", f"src/{n[3]}.b2nd")
            pathlib.Path("new").write_text("text")
            os.rename("new", f"src/{full[4]}")
            os.unlink(f"src/{full[5]}")
            os.rename(f"src/{full[6]}", f"src/moved-{n[6]}.b2f")
            os.truncate(f"src/{full[7]}", 3)
            if k == 0:
                pathlib.Path("other-name").write_text("text")
            want = (all_of_them - set(n)) | {
                full[0], full[1], n[2], full[2], full[3], f"{n[3]}.b2nd",
                full[4], f"moved-{n[6]}", full[7], n[8] if k else full[8]}
            for _ in range(2):
                assert listed() == want, (listed() ^ want)
            os.unlink(f"src/{n[2]}")
            os.unlink(f"src/{full[3]}")
            shutil.copy("frame", f"src/{full[7]}")
            os.rename(f"src/moved-{n[6]}.b2f", f"src/{full[6]}")
            all_of_them = (want - {n[2], full[2], full[3], f"{n[3]}.b2nd",
                                   f"moved-{n[6]}", full[7]}) | {
                n[2], n[3], n[6], n[7]}


def calls_for_names(trace):
    lines = pathlib.Path(trace).read_text().splitlines()
    return sum('.b2frame"' in line for line in lines)


def test_a_long_listing_looks_once_at_each_file_and_then_at_few():
    os.mkdir("src")
    make("frame", None, nbytes=0, kind="contiguous")
    for i in range(3000):
        shutil.copy("frame", f"src/{i}.b2frame")
    odd = {"text.b2frame", "pipe.b2frame", "two", "names", "link.b2frame"}
    pathlib.Path("src/text.b2frame").write_text("text")
    os.mkfifo("src/pipe.b2frame")
    shutil.copy("frame", "src/two.b2frame")
    os.link("src/two.b2frame", "src/names.b2nd")
    os.symlink("0.b2frame", "src/link.b2frame")
    # Files younger than a tick of the clock are looked at once more.
    time.sleep(0.1)
    want = {str(i) for i in range(3000)} | odd
    with Traced("src", "mnt", calls="openat,openat2,newfstatat,statx"):
        assert set(os.listdir("mnt")) == want
        # But for the first names of a listing, which are looked up.
        assert 3000 <= calls_for_names("trace") < 6000
        assert set(os.listdir("mnt")) == want
        # One of the first names, which are looked up.
        for name in map("new{}".format, range(1000)):
            pathlib.Path("mnt", name).touch()
            if os.listdir("src").index(f"{name}.b2frame") < 100:
                break
            os.unlink(f"mnt/{name}")
        os.unlink("mnt/77")
        before = calls_for_names("trace")
        assert len(os.listdir("mnt")) == len(want)
        assert calls_for_names("trace") - before < 400


def sizes(path):
    return {entry.name: entry.stat().st_size for entry in os.scandir(path)}


def test_sizes_in_listings_follow_other_programs():
    """Also of young files, which may have the stamp of the version before."""
    os.mkdir("src")
    kinds = {"a": False, "b": True}
    frames = {name: blosc2.SChunk(chunksize=4096, contiguous=contiguous,
                                  urlpath=f"src/{name}.b2frame", mode="w")
              for name, contiguous in kinds.items()}
    with Mount("src", "mnt", *NO_TIMEOUTS):
        for i in range(1, 41):
            for s in frames.values():
                s.append_data(os.urandom(4096))
            assert sizes("mnt") == {"a": i * 4096, "b": i * 4096}
            if i % 4 == 0:
                # Old enough to be kept, and kept.
                time.sleep(0.05)
                assert sizes("mnt") == {"a": i * 4096, "b": i * 4096}


def test_a_frame_with_the_times_and_length_of_another_is_told_from_it():
    for i in 1, 2:
        blosc2.SChunk(chunksize=4096, urlpath=f"{i}.b2frame", mode="w",
                      contiguous=True).append_data(bytes(i * 2048))
        with open(f"{i}.b2frame", "ab") as f:
            f.truncate(4096)
        os.utime(f"{i}.b2frame", ns=(1, 1))
    os.mkdir("src")
    with Mount("src", "mnt", *NO_TIMEOUTS):
        for i in 1, 2, 1, 2:
            shutil.copy2(f"{i}.b2frame", "new")
            os.rename("new", "src/f.b2frame")
            assert sizes("mnt") == {"f": i * 2048}
            time.sleep(0.05)
            assert sizes("mnt") == {"f": i * 2048}
            with open("src/f.b2frame", "r+b") as f:
                f.write(pathlib.Path(f"{3 - i}.b2frame").read_bytes())
            os.utime("src/f.b2frame", ns=(1, 1))
            assert sizes("mnt") == {"f": (3 - i) * 2048}


def test_a_directory_may_be_learned_while_it_changes():
    os.mkdir("src")
    for i in range(1000):
        pathlib.Path(f"src/f{i}").touch()
    with Mount("src", "mnt", *NO_TIMEOUTS):
        writer = subprocess.Popen(
            ["sh", "-c", "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); "
                         ": >src/w$i; done"])
        seen = 0
        while writer.poll() is None:
            use("mnt", 3)
            os.listdir("mnt")
            seen += 1
        assert writer.returncode == 0 and seen > 2
        for i in range(1, 3001):
            assert os.path.exists(f"mnt/w{i}"), i
        assert len(os.listdir("mnt")) == 4000


main()
