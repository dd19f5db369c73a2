#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every kind renamed over every kind, open or not, as in a local directory."""
import errno
import itertools
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import threading
import time

from mounting import (BUILD, SANITIZED, Mount, error_of, main, make,
                      signal_at, unmount, while_stopped)
from scratch import stock_bytes
from syscalls import EXCHANGE, NOREPLACE, renameat2

CONTENT = {}

FRAMES = ["frame", "bare", "b2nd", "contiguous"]
OTHERS = ["text", "link", "fifo", "empty", "full"]


def rename(old, new, flags):
    return error_of(renameat2, old, new, flags)


def templates():
    """A frame of each sort, and its contents."""
    os.mkdir("templates")
    for seed, kind in enumerate(FRAMES):
        sort = "contiguous" if kind == "contiguous" else "sparse"
        CONTENT[kind] = make(f"templates/{kind}", None, kind=sort,
                             nbytes=3000 + seed, seed=seed)


def put(kind, folder, name, local):
    """Makes @kind, shown as @name, in @folder, and its counterpart in @local."""
    src = pathlib.Path(folder)
    local = pathlib.Path(local)
    if kind == "linked":
        home = (src / name).with_name(".bloscfs-linked-0123456789abcdef.b2frame")
        shutil.copytree("templates/frame", home)
        for i, other in enumerate((name, f"{name}-too")):
            (src / f"{other}.b2frame").symlink_to(home.name)
            (home / f".link.{i}").symlink_to(f"{pathlib.Path(other).name}.b2frame")
        (local / name).write_bytes(CONTENT["frame"])
        os.link(local / name, local / f"{name}-too")
        return
    if kind in FRAMES:
        suffix = {"frame": ".b2frame", "bare": "", "b2nd": ".b2nd",
                  "contiguous": ".b2"}[kind]
        copy = shutil.copy if kind == "contiguous" else shutil.copytree
        copy(f"templates/{kind}", src / (name + suffix))
        (local / name).write_bytes(CONTENT[kind])
        return
    for top in src, local:
        path = top / name
        if kind == "text":
            path.write_text(f"text {name}")
        elif kind == "link":
            path.symlink_to(f"nowhere {name}")
        elif kind == "fifo":
            os.mkfifo(path)
        else:
            path.mkdir()
            if kind == "full":
                (path / "inside").write_text("inside")


def look(top):
    """The shown names, kinds and contents."""
    result = {}
    for path, folders, files in os.walk(top):
        for name in folders + files:
            p = os.path.join(path, name)
            mode = os.lstat(p).st_mode
            if stat.S_ISREG(mode):
                what = pathlib.Path(p).read_bytes()
            elif stat.S_ISLNK(mode):
                what = os.readlink(p)
            else:
                what = None
            result[os.path.relpath(p, top)] = stat.S_IFMT(mode), what
    return result


def open_both(path, handles):
    if path.is_file() and not path.is_symlink():
        handles.append((open(path, "rb"), path.read_bytes()))


def play(case, old_kind, new_kind, flags, other_folder, is_open):
    src, mnt, local = (pathlib.Path(top) / case
                       for top in ("src", "mnt", "local"))
    for top in src, local:
        (top / "d").mkdir(parents=True)
    new = "d/new" if other_folder else "new"
    put(old_kind, src, "old", local)
    if new_kind:
        put(new_kind, src, new, local)
    handles = []
    if is_open:
        open_both(mnt / "old", handles)
        open_both(mnt / new, handles)
    before = look(mnt)
    assert before == look(local)
    got = rename(mnt / "old", mnt / new, flags)
    want = rename(local / "old", local / new, flags)
    assert got == want, f"{got}, locally {want}"
    assert look(mnt) == look(local), (look(mnt).keys(), look(local).keys())
    for f, content in handles:
        f.seek(0)
        assert f.read() == content
        f.close()
    # No leftovers, and the frames have their suffixes.
    if got == 0 and flags == EXCHANGE:
        assert len(os.listdir(src)) == (2 if other_folder else 3)
    if got == 0 and flags != EXCHANGE and old_kind in FRAMES:
        suffix = {"b2nd": ".b2nd", "contiguous": ".b2"}.get(old_kind,
                                                            ".b2frame")
        assert (src / (new + suffix)).exists(), os.listdir(src)
        assert len(os.listdir(src)) == (1 if other_folder else 2)


def play_all(combinations, *options):
    templates()
    os.mkdir("src")
    os.mkdir("local")
    names = []
    with Mount("src", "mnt", "-o", ",".join(
            ("attr_timeout=0", "entry_timeout=0", *options))):
        for n, c in enumerate(combinations):
            try:
                play(f"c{n}", *c)
            except BaseException:
                print("case", n, c)
                raise
            names.append(f"c{n}")
    with Mount("src", "mnt"):
        for name in names:
            assert look(f"mnt/{name}") == look(f"local/{name}"), name
    assert not os.path.exists("src/.bloscfs-deleted")


def combine(flags):
    """Every kind over every kind, within a directory and into another one; open in one
    of these two cases."""
    kinds = FRAMES + OTHERS
    pairs = itertools.product(kinds, [*kinds, None], flags)
    all_of_them = [(*pair, other, other ^ bool((i + i // 10) % 2))
                   for i, pair in enumerate(pairs) for other in (False, True)]
    return all_of_them[::5 if SANITIZED else 1]


def test_over_each_other():
    play_all(combine([0]))


def test_not_over_each_other():
    play_all(combine([NOREPLACE]))


def test_lookups_do_not_wait_for_its_sync():
    """A file that grows wants to rename all by itself meanwhile."""
    os.mkdir("src")
    with Mount("src", "mnt", "-o", "small=4k,entry_timeout=0", wrap=(
            "strace", "-f", "-o", "/dev/null", "-e",
            "inject=fsync,fdatasync,syncfs:delay_enter=700000")):
        for name in "old", "new":
            with open(f"mnt/{name}", "wb") as f:
                f.write(b"x" * 10000)
                if name == "old":
                    os.fsync(f.fileno())
        with open("mnt/grown", "wb", buffering=0) as f:
            threads = [
                threading.Thread(target=os.replace,
                                 args=("mnt/new", "mnt/old")),
                threading.Thread(target=f.write, args=(os.urandom(10000),))]
            for thread in threads:
                thread.start()
                time.sleep(.3)
            os.stat("mnt/old")
            assert threads[0].is_alive()
            for thread in threads:
                thread.join()


def test_exchange():
    play_all(combine([EXCHANGE]))


def test_exchange_that_would_change_a_name():
    """Exchanges after which a frame would show another name are refused."""
    os.mkdir("src")
    with Mount("src", "mnt"):
        pathlib.Path("mnt/a.b2").write_text("a")
        pathlib.Path("mnt/b").write_text("b")
        os.mkdir("mnt/d")
        os.mkdir("mnt/d.b2")
        before = look("mnt")
        for old, new in ("a.b2", "d"), ("b", "d.b2"):
            assert rename(f"mnt/{old}", f"mnt/{new}", EXCHANGE) == \
                errno.EINVAL
            assert rename(f"mnt/{new}", f"mnt/{old}", EXCHANGE) == \
                errno.EINVAL
            assert look("mnt") == before


def test_flags_that_do_not_exist():
    os.mkdir("src")
    with Mount("src", "mnt"):
        pathlib.Path("mnt/a").touch()
        for flags in 4, 8, NOREPLACE | EXCHANGE:
            assert rename("mnt/a", "mnt/b", flags) == errno.EINVAL
        assert rename("mnt/a", "mnt/a", 0) == 0
        assert os.listdir("mnt") == ["a"]


def test_names_with_suffixes():
    """Renames to and from a name that is the stem of another name."""
    os.mkdir("src")
    with Mount("src", "mnt"):
        for name in "a", "b":
            pathlib.Path(f"mnt/{name}").write_text(name)
        # A file and the name with a suffix are renamed in turn.
        os.rename("mnt/a", "mnt/a.b2frame")
        assert os.listdir("src").count("a.b2frame.b2frame") == 1
        os.rename("mnt/b", "mnt/a")
        assert sorted(os.listdir("mnt")) == ["a", "a.b2frame"]
        assert pathlib.Path("mnt/a").read_text() == "b"
        assert pathlib.Path("mnt/a.b2frame").read_text() == "a"
        os.rename("mnt/a.b2frame", "mnt/a")
        assert os.listdir("mnt") == ["a"]
        assert pathlib.Path("mnt/a").read_text() == "a"
        os.rename("mnt/a", "mnt/a.b2frame")
        os.rename("mnt/a.b2frame", "mnt/a")
        assert pathlib.Path("mnt/a").read_text() == "a"


def test_folders_that_are_in_use():
    os.mkdir("src")
    with Mount("src", "mnt"):
        os.makedirs("mnt/a/b")
        with open("mnt/a/b/f", "w+") as f:
            f.write("before")
            os.rename("mnt/a", "mnt/c")
            f.write(" after")
            f.flush()
            assert pathlib.Path("mnt/c/b/f").read_text() == "before after"
            os.rename("mnt/c/b", "mnt/b")
            f.write(" that")
        assert pathlib.Path("mnt/b/f").read_text() == "before after that"
        here = os.getcwd()
        os.chdir("mnt/b")
        os.rename("../b", "../c/b")
        assert os.listdir(".") == ["f"]
        pathlib.Path("g").touch()
        os.chdir(here)
        assert sorted(os.listdir("mnt/c/b")) == ["f", "g"]
        assert rename("mnt/c", "mnt/c/b/d", 0) == errno.EINVAL


def text_of(path):
    """Repeats a call that fails with ESTALE: the kernel looks a replaced name up once
    more, and then gives up."""
    while True:
        try:
            return pathlib.Path(path).read_text()
        except OSError as e:
            if e.errno != errno.ESTALE:
                raise


def test_there_is_always_one():
    """A reader that opens NEW all the time finds the old or the new one."""
    os.mkdir("src")
    rounds = 30 if SANITIZED else 150
    with Mount("src", "mnt", "-o", "attr_timeout=0,entry_timeout=0"):
        pathlib.Path("mnt/new").write_text("0")
        done, seen, failures = threading.Event(), [], []

        def read():
            try:
                while not seen or seen[-1] < rounds:
                    last = done.is_set()
                    seen.append(int(text_of("mnt/new")))
                    assert not last or seen[-1] == rounds
            except BaseException as e:
                failures.append(e)

        thread = threading.Thread(target=read)
        thread.start()
        for i in range(1, rounds + 1):
            pathlib.Path("mnt/tmp").write_text(str(i))
            os.rename("mnt/tmp", "mnt/new")
        done.set()
        thread.join()
        assert not failures, failures
        assert seen == sorted(seen)


def test_names_that_change_while_they_are_looked_at():
    """Exchanged files keep their inodes, whichever of them a lookup finds."""
    templates()
    os.mkdir("src")
    for name, kind in ("a", "contiguous"), ("b", "frame"), ("c", "contiguous"):
        copy = shutil.copy if kind == "contiguous" else shutil.copytree
        copy(f"templates/{kind}", f"src/{name}.b2frame")
    done, rounds = threading.Event(), 300 if SANITIZED else 3000

    def exchange():
        while not done.is_set():
            for other in "bc":
                assert rename("src/a.b2frame", f"src/{other}.b2frame",
                              EXCHANGE) == 0

    with Mount("src", "mnt", "-o", "attr_timeout=0,entry_timeout=0"):
        thread = threading.Thread(target=exchange)
        thread.start()
        try:
            for _ in range(rounds):
                assert sorted(os.listdir("mnt")) == ["a", "b", "c"]
                # The kernel asks once more for a file that was replaced.
                assert error_of(os.stat, "mnt/a") in (0, errno.ESTALE)
        finally:
            done.set()
            thread.join()


def without(*injections):
    """A filesystem whose calls fail in this way; strace writes to "trace"."""
    inject = [["-e", f"inject={injection}"] for injection in injections]
    return ["strace", "-f", "-qq", "-e", "trace=renameat2,symlinkat", "-o", "trace",
            *itertools.chain.from_iterable(inject)]


def test_without_symbolic_links():
    """As exfat-fuse."""
    os.mkdir("src")
    with Mount("src", "mnt", "-s",
               wrap=without("renameat2:error=EINVAL", "symlinkat:error=ENOSYS")):
        for size in SIZES.values():
            pathlib.Path("mnt/new").write_bytes(b"b" * SIZES["large"])
            pathlib.Path("mnt/old").write_bytes(b"o" * size)
            os.rename("mnt/old", "mnt/new")
            assert text_of("mnt/new") == "o" * size
    subprocess.run(["grep", "-q", "symlinkat.*INJECTED", "trace"], check=True)


def test_without_exchange():
    """On a filesystem that cannot exchange two names."""
    templates()
    os.mkdir("src")
    os.mkdir("local")
    with Mount("src", "mnt", "-s", wrap=without("renameat2:error=EINVAL")):
        for n, (old, new) in enumerate(itertools.product(
                ["frame", "bare", "text"], ["frame", "bare", "text", None])):
            play(f"c{n}", old, new, 0, n % 2 == 0, True)
        assert rename("mnt/c0/d/new", "mnt/c1/new", EXCHANGE) == errno.EINVAL
    subprocess.run(["grep", "-q", "INJECTED", "trace"], check=True)


def content_of(path):
    """The data that a program without bloscfs reads; None: nothing."""
    if not path.exists():
        return None
    if path.is_dir() or path.read_bytes()[2:9] == b"b2frame":
        return stock_bytes(path)
    return path.read_bytes()


def states_in_source(top, name):
    """Data of all names in SOURCE that can be shown as @name."""
    names = (top / (name + suffix)
             for suffix in ("", ".b2frame", ".b2nd", ".b2", ".b2f"))
    return [c for c in map(content_of, names) if c is not None]


def rename_and_die(old, new, number):
    """Kills the daemon before the @number-th change of a directory.  Returns whether it
    came that far."""
    armed = pathlib.Path("armed")
    mount = Mount("src", "mnt", "-s", "-o", "small=16k", wrap=signal_at(
        signal.SIGKILL, number, "any")).__enter__()
    for path in old, new:
        os.stat(f"mnt/{path}")
    armed.touch()
    error = rename(f"mnt/{old}", f"mnt/{new}", 0)
    assert error in (0, errno.ENOTCONN, errno.ECONNABORTED), error
    unmount(mount.path, True)
    killed = mount.process.wait() != 0
    mount.log_file.close()
    armed.unlink()
    assert killed or not error
    return killed


def die_at_each_step(old_kind, new_kind, other_folder):
    shutil.rmtree("src", ignore_errors=True)
    shutil.rmtree("local", ignore_errors=True)
    src, local = pathlib.Path("src"), pathlib.Path("local")
    new = "d/new" if other_folder else "new"
    number, killed = 0, True
    while killed:
        number += 1
        for top in src, local:
            shutil.rmtree(top, ignore_errors=True)
            (top / "d").mkdir(parents=True)
        put(old_kind, src, "old", local)
        put(new_kind, src, new, local)
        before = look("local")
        os.rename("local/old", f"local/{new}")
        after = look("local")
        killed = rename_and_die("old", new, number)
        found = states_in_source(src, "old"), states_in_source(src, new)
        assert found in [
            ([before["old"][1]], [before[new][1]]), ([], [after[new][1]])], (
                number, [[x[:10] for x in y] for y in found])
        # bloscctl lists neither hidden files nor dangling links.
        told = subprocess.run([BUILD / "bloscctl", "ls", "-r", "src"],
                              capture_output=True, text=True).stdout
        assert ".bloscfs" not in told, told
        for _ in range(2):
            with Mount("src", "mnt"):
                assert os.stat(f"mnt/{new}").st_size in (
                    len(before[new][1]), len(after[new][1]))
                shown = look("mnt")
                assert shown in (before, after), (number, shown.keys())
        assert killed or shown == after
        left = [x for _, folders, files in os.walk(src)
                for x in folders + files
                if x.startswith((".bloscfs-deleted", ".bloscfs-replaced"))]
        assert not left, (number, left)
    return number - 1


def test_a_kill_at_each_step():
    """After a kill both names have their old contents, or NEW has OLD's, also without
    the daemon."""
    templates()
    kinds = ["frame", "b2nd", "contiguous", "text", "linked"]
    # Names of one frame stay in one directory.
    cases = [(old, new, old != "linked" and bool(i % 2))
             for i, (old, new) in enumerate(itertools.product(kinds, kinds))
             if (old, new) != ("linked", "linked")]
    n = 0
    for case in cases[::5 if SANITIZED else 1]:
        try:
            n += die_at_each_step(*case)
        except BaseException:
            print("case", *case)
            raise
    print(f"{n} kills")


def aside_of(name):
    """A name for @name while it lies aside; the second number is a hash of it."""
    number = 0xcbf29ce484222325
    for byte in name.encode():
        number = (number ^ byte) * 0x100000001b3 % 2 ** 64
    return f".bloscfs-replaced-{1:016x}-{number:016x}.b2frame"


def test_a_kill_of_another_users_mount():
    """Its link does not count, but no other file has taken the place of NEW."""
    os.mkdir("src")
    for name in "new", "old":
        make(f"src/{name}.b2frame", None)
    aside = aside_of("new.b2frame")
    for where, _, files in os.walk("src/new.b2frame"):
        for path in where, *(f"{where}/{x}" for x in files):
            os.chown(path, 1001, 1001)
    before = sorted(os.listdir("src/new.b2frame"))
    os.rename("src/new.b2frame", f"src/{aside}")
    os.symlink(f"old.b2frame/../{aside}", "src/new.b2frame")
    os.lchown("src/new.b2frame", 1002, 1002)
    with Mount("src", "mnt"):
        for _ in range(2):
            os.listdir("mnt")
    assert sorted(os.listdir(f"src/{aside}")) == before


def test_many_files_aside():
    """They are shown, as no mount has left them; a listing takes no longer for each."""
    os.mkdir("src")
    names = [f".bloscfs-replaced-{i:016x}-{i:016x}" for i in range(2000)]
    for name in names:
        pathlib.Path("src", name).touch()
    with Mount("src", "mnt", wrap=("strace", "-f", "-qq", "-o", "trace", "-e",
                                   "trace=getdents64,readlinkat,newfstatat")):
        assert sorted(os.listdir("mnt")) == names
        calls = len(pathlib.Path("trace").read_text().splitlines())
        assert calls < 5 * len(names), calls
        # A directory that has just changed is read again for each.
        time.sleep(0.1)
        for name in names:
            os.stat(f"mnt/{name}")
        calls = len(pathlib.Path("trace").read_text().splitlines())
        assert calls < 10 * len(names), calls


SIZES = {"small": 1000, "large": 300000}


def two_mounts(call, at=1):
    """Two mounts; the first one stops at its @at-th @call once the file "armed"
    exists."""
    os.mkdir("src")
    fresh = "attr_timeout=0,entry_timeout=0"
    return (Mount("src", "mnt", "-o", fresh,
                  wrap=signal_at(signal.SIGSTOP, at, call)),
            Mount("src", "other", "-o", fresh))


def test_another_mount_was_faster_to_replace():
    """The file to be replaced or deleted changes its form meanwhile; the kernel asks
    once more."""
    for old, (before, now) in itertools.product(
            SIZES, itertools.permutations(SIZES)):
        one, two = two_mounts("renameat2")
        with one, two:
            pathlib.Path("mnt/old").write_bytes(b"o" * SIZES[old])
            pathlib.Path("mnt/new").write_bytes(b"b" * SIZES[before])
            pathlib.Path("other/now").write_bytes(b"n" * SIZES[now])
            with while_stopped(one, lambda: os.rename("mnt/old", "mnt/new")) \
                    as errors:
                os.rename("other/now", "other/new")
            assert errors == [0], (old, before, now, errors)
            for mnt in "mnt", "other":
                assert os.listdir(mnt) == ["new"], (old, before, now)
                assert pathlib.Path(mnt, "new").read_bytes() == \
                    b"o" * SIZES[old]
        assert os.listdir("src") == ["new.b2frame"]
        shutil.rmtree("src")


def test_another_mount_leaves_alone_what_is_being_replaced():
    """A listing tidies up only after mounts that were killed."""
    one, two = two_mounts("renameat2", at=2)
    for name in "old", "new":
        make(f"src/{name}.b2frame", None)
    with one, two:
        with while_stopped(one, lambda: os.rename("mnt/old", "mnt/new")) \
                as errors:
            before = sorted(os.listdir("src"))
            assert any("replaced" in x for x in before)
            os.listdir("other")
            assert sorted(os.listdir("src")) == before
        assert errors == [0]


def test_another_mount_was_faster_to_remove():
    """The file to be replaced is gone meanwhile."""
    for old, before in itertools.product(SIZES, SIZES):
        one, two = two_mounts("renameat2")
        with one, two:
            pathlib.Path("mnt/old").write_bytes(b"o" * SIZES[old])
            pathlib.Path("mnt/new").write_bytes(b"b" * SIZES[before])
            with while_stopped(one, lambda: os.rename("mnt/old", "mnt/new")) \
                    as errors:
                os.unlink("other/new")
            assert errors == [0], (old, before, errors)
            assert text_of("other/new") == "o" * SIZES[old]
        assert os.listdir("src") == ["new.b2frame"]
        shutil.rmtree("src")


def test_another_mount_was_faster_before_a_removal():
    for before, now in itertools.permutations(SIZES):
        one, two = two_mounts("renameat" if before == "large" else "unlinkat")
        with one, two:
            pathlib.Path("mnt/new").write_bytes(b"b" * SIZES[before])
            pathlib.Path("other/now").write_bytes(b"n" * SIZES[now])
            with while_stopped(one, lambda: os.unlink("mnt/new")) as errors:
                os.rename("other/now", "other/new")
            assert errors == [0], (before, now, errors)
            assert os.listdir("other") == []
        assert os.listdir("src") == [], (before, now)
        os.rmdir("src")


def test_what_another_program_puts_in_place_is_kept():
    """OLD has gone when it is about to take the place of NEW."""
    one, two = two_mounts("renameat2", 2)
    with one, two:
        for name in "old", "new":
            pathlib.Path("mnt", name).write_bytes(b"x" * SIZES["large"])
        pathlib.Path("other.txt").write_text("other")
        with while_stopped(one, lambda: os.rename("mnt/old", "mnt/new")):
            shutil.rmtree("src/old.b2frame")
            os.rename("other.txt", "src/new.b2frame")
        os.listdir("mnt")
        assert os.listdir("other") == ["new.b2frame"]
        assert text_of("src/new.b2frame") == "other"


def test_a_frame_that_another_program_puts_in_place_is_replaced():
    """It takes the name of the link that NEW has left."""
    one, two = two_mounts("renameat2", 2)
    with Mount("src", "mnt"):
        for name in "old", "new", "x":
            pathlib.Path("mnt", name).write_bytes(name.encode() * 300000)
    with one, two:
        with while_stopped(one, lambda: os.rename("mnt/old", "mnt/new")) \
                as errors:
            os.unlink("src/new.b2frame")
            os.rename("src/x.b2frame", "src/new.b2frame")
        assert errors == [0]
        for mnt in "mnt", "other":
            assert os.listdir(mnt) == ["new"]
            assert text_of(f"{mnt}/new") == "old" * 300000


def test_another_mount_was_faster_to_remove_the_link_of_old():
    """The rename is done then."""
    nremoved = 0
    for at in 1, 2:
        one, two = two_mounts("readlinkat", at)
        with one, two:
            for name in "old", "new":
                pathlib.Path("mnt", name).write_bytes(name.encode() * 300000)
            with while_stopped(one, lambda: os.rename("mnt/old", "mnt/new")) \
                    as errors:
                if os.path.islink("src/old.b2frame"):
                    os.unlink("src/old.b2frame")
                    nremoved += 1
            assert errors == [0], (at, errors)
            for mnt in "mnt", "other":
                assert os.listdir(mnt) == ["new"], at
                assert text_of(f"{mnt}/new") == "old" * 300000
        shutil.rmtree("src")
    assert nremoved > 0


def test_readers_of_another_mount():
    """An open file gives its old data or ESTALE; a new open gives the new data."""
    for before, now in itertools.product(SIZES, SIZES):
        one, two = two_mounts("any")
        with one, two:
            pathlib.Path("mnt/new").write_bytes(b"b" * SIZES[before])
            with open("other/new", "rb", buffering=0) as f:
                assert f.read(100) == b"b" * 100
                pathlib.Path("mnt/old").write_bytes(b"n" * SIZES[now])
                os.rename("mnt/old", "mnt/new")
                assert text_of("other/new") == "n" * SIZES[now]
                try:
                    assert os.pread(f.fileno(), 300000, 100) == \
                        b"b" * (SIZES[before] - 100)
                except OSError as e:
                    assert e.errno == errno.ESTALE
            assert text_of("other/new") == "n" * SIZES[now]
        shutil.rmtree("src")


main()
