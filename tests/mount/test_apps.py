#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Common programs in a compressed scratch directory.

Their files are read again after a remount; at the end C-Blosc2 has to read the same
from every frame.
"""
import hashlib
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys

import h5py
import numpy as np

from mounting import main
from scratch import Scratch, check_tree

os.environ.update(GIT_AUTHOR_NAME="a", GIT_AUTHOR_EMAIL="a@b", LC_ALL="C",
                  GIT_COMMITTER_NAME="a", GIT_COMMITTER_EMAIL="a@b",
                  GIT_CONFIG_GLOBAL="/dev/null", GIT_CONFIG_SYSTEM="/dev/null")


def sh(command, cwd="mnt"):
    run = subprocess.run(["bash", "-euc", command], cwd=cwd, text=True,
                         capture_output=True, stdin=subprocess.DEVNULL)
    assert run.returncode == 0, (command, run.returncode, run.stdout[-1000:],
                                 run.stderr[-3000:])
    return run.stdout


def contents(top):
    """Relative path of each regular file -> its bytes."""
    return {str(path.relative_to(top)): path.read_bytes()
            for path in sorted(pathlib.Path(top).rglob("*"))
            if path.is_file() and not path.is_symlink()}


def run(app, *options):
    """Runs @app in mnt; it returns a function to call after a remount."""
    with Scratch(*options) as scratch:
        again = app()
        before = contents("mnt")
        scratch.remount()
        assert contents("mnt") == before, "not the same after a remount"
        if again:
            again()
        after = contents("mnt")
    check_tree("src", after)


def numbered_files(top, count):
    """Small files of several sizes in some directories, with modes and times."""
    rng = np.random.default_rng(4)
    for i in range(count):
        path = pathlib.Path(top) / f"d{i % 13}" / f"e{i % 3}" / f"file {i}"
        path.parent.mkdir(parents=True, exist_ok=True)
        size = int(rng.choice([0, 1, 100, 4096, 20000]))
        path.write_bytes((f"{i} " * size).encode()[:size])
        path.chmod((0o644, 0o600, 0o755, 0o444)[i % 4])
        os.utime(path, ns=(10**18 + i * 10**9, 10**18 + i * 1001001001))
    for i in range(0, count, 50):
        os.symlink(f"file {i}", f"{top}/d{i % 13}/e{i % 3}/link {i}")


def listing(top):
    """All that cp -a and tar keep of a tree."""
    found = {}
    for path in sorted(pathlib.Path(top).rglob("*")):
        s = path.lstat()
        if path.is_symlink():
            what = os.readlink(path)
        elif path.is_dir():
            what = "folder"
        else:
            what = (hashlib.sha256(path.read_bytes()).hexdigest(),
                    s.st_mtime_ns, s.st_size)
        found[str(path.relative_to(top))] = (s.st_mode, s.st_uid, what)
    return found


def check_listing(top, want):
    found = listing(top)
    bad = [(name, want.get(name), found.get(name))
           for name in sorted(want.keys() | found.keys())
           if want.get(name) != found.get(name)]
    assert not bad, (top, len(bad), bad[:3])


def git():
    sh("""git init -q repo; cd repo
    seq 20000 > numbers; mkdir sub; echo one > sub/file; cp /bin/ls sub/binary
    git add .; git commit -qm one
    seq 20001 > numbers; git mv sub/file sub/moved; git commit -qam two
    for i in $(seq 20); do echo $i > file$i; git add file$i
        git commit -qm "file $i"; done
    git repack -adq; git gc -q; git fsck --strict
    cd ..; git clone -q repo clone; git clone -q --no-local repo remote
    cmp repo/numbers clone/numbers; git -C clone fsck --strict""")

    def again():
        sh("""cd clone; git fsck --strict; test -z "$(git status --porcelain)"
        echo more >> numbers; git commit -qam three; git push -q origin HEAD:x
        cd ../repo; git fsck --strict; git checkout -q x; git worktree prune
        tail -n 1 numbers | grep -q more""")
    return again


def test_git():
    run(git)


def make():
    sh("""mkdir project; cd project
    printf 'int twice(int n);\\n' > twice.h
    printf '#include "twice.h"\\n' > twice.c
    printf 'int twice(int n) { return 2 * n; }\\n' >> twice.c
    printf '#include <stdio.h>\\n#include "twice.h"\\n' > main.c
    printf 'int main(void) { printf("%%d\\\\n", twice(21)); }\\n' >> main.c
    printf 'CFLAGS = -g -O2\\nall: prog\\nprog: main.o libtwice.a\\n' > Makefile
    printf '\\t$(CC) -o $@ $^\\nlibtwice.a: twice.o\\n' >> Makefile
    printf '\\t$(AR) rcs $@ $^\\nmain.o twice.o: twice.h\\n' >> Makefile
    make -s; test "$(./prog)" = 42; make -q
    sleep 0.01; touch twice.h; ! make -q; make -s; make -q""")

    def again():
        sh("""cd project; test "$(./prog)" = 42; make -q
        sed -i s/2/3/ twice.c; make -s; test "$(./prog)" = 63
        make -s CFLAGS=-O0 -B; ./prog; rm *.o""")
    return again


def test_make():
    run(make)


OTHER = """
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], timeout=30)
for i in range(50):
    with db:
        db.execute("insert into t values (?, ?)", (-1 - i, "x" * i))
print(db.execute("select count(*) from t").fetchone()[0])
"""


def sqlite(mode):
    def again():
        db = sqlite3.connect("mnt/db", timeout=30)
        assert db.execute("pragma integrity_check").fetchone() == ("ok",)
        assert db.execute("select count(*) from t").fetchone() == (3050,)
        with db:
            db.execute("delete from t where n % 3 = 0")
        db.execute("vacuum")
        assert db.execute("pragma integrity_check").fetchone() == ("ok",)
        db.close()

    def app():
        db = sqlite3.connect("mnt/db", timeout=30)
        assert db.execute(f"pragma journal_mode={mode}").fetchone() == (mode,)
        db.execute("create table t (n integer primary key, text)")
        other = subprocess.Popen([sys.executable, "-c", OTHER, "mnt/db"])
        for part in range(30):
            with db:
                db.executemany("insert into t values (?, ?)",
                               ((part * 100 + i, f"row {i} " * (i % 40))
                                for i in range(100)))
        assert other.wait(60) == 0
        try:
            with db:
                db.execute("delete from t")
                raise KeyError
        except KeyError:
            pass
        db.close()
        return again
    return app


def test_sqlite_with_a_journal():
    run(sqlite("delete"))


def test_sqlite_with_a_write_ahead_log():
    run(sqlite("wal"))


def hdf5():
    table = np.arange(300000.).reshape(3000, 100)
    with h5py.File("mnt/x.h5", "w") as f:
        f.create_dataset("packed", data=table, chunks=(100, 100),
                         compression="gzip", shuffle=True,
                         maxshape=(None, 100))
        f.create_dataset("plain", data=table)
        f["plain"].attrs["unit"] = "m"
    with h5py.File("mnt/x.h5", "a") as f:
        f["packed"].resize(3500, axis=0)
        f["packed"][3000:] = table[:500] + 1
        f["plain"][17:29] = -5
        f.create_group("g").create_dataset("small", data=[1, 2, 3])

    def again():
        with h5py.File("mnt/x.h5", "r+") as f:
            assert (f["packed"][:3000] == table).all()
            assert (f["packed"][3000:] == table[:500] + 1).all()
            assert (f["plain"][17:29] == -5).all()
            assert (f["plain"][29:] == table[29:]).all()
            assert f["plain"].attrs["unit"] == "m"
            del f["plain"]
            f["new"] = table[::2]
        with h5py.File("mnt/x.h5") as f:
            assert (f["new"][:] == table[::2]).all()
    return again


def test_hdf5():
    run(hdf5)


def arrays():
    table = np.arange(150000, dtype="<f8").reshape(300, 500)
    np.save("mnt/x.npy", table)
    np.savez("mnt/x.npz", a=table, b=table[0])
    assert (np.load("mnt/x.npy", mmap_mode="r") == table).all()
    part = np.load("mnt/x.npy", mmap_mode="r+")
    part[5:7, 100:110] = -1
    part.flush()
    del part
    made = np.lib.format.open_memmap("mnt/made.npy", "w+", "<i4", (1000, 77))
    made[:] = np.arange(77)
    del made
    raw = np.memmap("mnt/raw", "<f4", "w+", shape=(500, 333))
    raw[3:400] = 0.5
    del raw
    raw = np.memmap("mnt/raw", "<f4", "r+", shape=(500, 333))
    raw[0, 0] = 7
    raw.flush()
    del raw
    table[0].tofile("mnt/row")
    np.savetxt("mnt/text", table[:20])

    def again():
        want = table.copy()
        want[5:7, 100:110] = -1
        assert (np.load("mnt/x.npy") == want).all()
        assert (np.load("mnt/x.npz")["b"] == table[0]).all()
        assert (np.load("mnt/made.npy") == np.arange(77)).all()
        raw = np.memmap("mnt/raw", "<f4", "r+", shape=(500, 333))
        assert raw[0, 0] == 7 and raw[3:400].min() == 0.5
        assert not raw[400:].any()
        raw[499, 332] = 1
        del raw
        np.save("mnt/x.npy", table[:10])
        assert (np.load("mnt/x.npy", mmap_mode="c") == table[:10]).all()
        with open("mnt/made.npy", "ab") as f:
            f.write(b"and now it is something else")
    return again


def test_numpy():
    run(arrays)


def tar():
    numbered_files("files", 1000)
    want = listing("files")
    sh("tar --format=posix -cf files.tar files", ".")
    sh("tar xpf ../files.tar")
    check_listing("mnt/files", want)
    sh("tar --format=posix -cf again.tar files\n"
       "tar --format=posix -cSf sparse.tar files; mkdir out out2")
    sh("tar xpf again.tar -C out; tar xpf sparse.tar -C out2")
    check_listing("mnt/out/files", want)
    check_listing("mnt/out2/files", want)
    sh("rm -r out2")

    def again():
        check_listing("mnt/files", want)
        sh("rm -r files out; tar tf again.tar > /dev/null")
    return again


def test_tar():
    run(tar)


def copies():
    numbered_files("files", 300)
    want = listing("files")
    sh("cp -a ../files .; cp -a files copy; mv copy moved; cp -r files plain")
    check_listing("mnt/files", want)
    check_listing("mnt/moved", want)
    if shutil.which("rsync"):
        sh("rsync -a files/ synced; rsync -ac --delete ../files/ synced")
        check_listing("mnt/synced", want)
    sh("diff -r files plain; cp -a moved ../back", "mnt")
    check_listing("back", want)
    sh("find moved -type f -name '*7' -delete; dd if=/dev/zero of=z bs=1M "
       "count=3 2>/dev/null; cp --sparse=always z z2; cmp z z2")

    def again():
        check_listing("mnt/files", want)
        sh("rm -r files plain; cmp z z2")
    return again


def test_copies():
    run(copies)


def test_with_writeback_cache():
    for app in git, sqlite("wal"), hdf5, arrays:
        run(app, "writeback_cache")
        shutil.rmtree("src")
        shutil.rmtree("mnt", ignore_errors=True)


main()
