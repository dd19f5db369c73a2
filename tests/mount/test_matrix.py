#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every operation on every form is done, or is refused and changes nothing"""
import errno
import os
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from committing import Traced, small_disk
from forms import FORMS, MNT, OPTIONS, SRC, Shown
from mounting import Mount, error_of, main
from ops import OPS, elsewhere
from scratch import check_same


def play(f, kind, operation):
    """Runs one cell of the matrix."""
    refused = f.form.refused.get(operation.__name__, f.form.refused.get(kind))
    before = bytes(f.model)
    try:
        operation(f)
    except OSError as error:
        if not refused:
            raise
        assert error.errno == refused, error
        f.model[:] = before
    else:
        assert not refused, "it was not refused"
    f.check()


def play_form(form):
    files = []
    with form.mounted() as shown:
        for n, (name, (kind, operation)) in enumerate(OPS.items()):
            files.append(shown.new(f"f{n}", seed=n))
            try:
                play(files[-1], kind, operation)
            except BaseException:
                print(f"{form.name()}: {name}", file=sys.stderr)
                raise
    if form.on_disk:
        for f in files:
            f.check_left()
        # Nothing of what was deleted or replaced is left.
        left = [x for x in os.listdir(SRC) if x.startswith(".bloscfs")]
        assert not left, left


def lack_room(form):
    """Data that do not fit are reported, not lost, and stored later."""
    with small_disk("8m"), form.mounted("dirtysize=64m") as shown:
        f = shown.new("a")
        before = bytes(f.model)
        give_back = form.fill(64 << 10)
        with f.opened() as fd:
            f.write(fd, os.urandom(len(before) - 1000), 1000)
            assert error_of(os.fsync, fd) == errno.ENOSPC
            assert error_of(os.close, os.dup(fd)) == errno.ENOSPC
            check_same(form.stock(f.frame()), before, "what was committed")
            check_same(f.read(), bytes(f.model), "what was written")
            give_back()
            # The error was reported; the first fsync(2) tries everything again.
            os.fsync(fd)
        f.check()


def fill_until_refused(form):
    """With little memory a write or a flush of a map fails; all acknowledged data are
    there."""
    with small_disk("8m"), form.mounted("dirtysize=256k") as shown:
        f = shown.new("a")
        give_back = form.fill(300 << 10)
        path = MNT / f"new{form.shown}"
        fd = os.open(path, os.O_RDWR | os.O_CREAT)
        model = form.model(b"")
        os.write(fd, model)
        for _ in range(80):
            piece = os.urandom(100000)
            try:
                model += piece[:os.write(fd, piece)]
            except OSError as error:
                assert error.errno == errno.ENOSPC, error
                break
        assert os.fstat(fd).st_size == len(model) < 7000000
        check_same(os.pread(fd, 1 << 23, 0), model, "what was told")
        with f.opened() as mapped:
            elsewhere("""
m = mmap.mmap(fd, 0)
m[:] = os.urandom(len(m))
try:
    m.flush()
except OSError:
    os._exit(0)
os._exit(1)
""", mapped)
            # A program that closes and deletes does not wait for room.
            error_of(os.close, fd)
            os.unlink(path)
            give_back()
            os.fsync(mapped)


# The number of syncs of a change, and of a new file: each file, directory and name.
SYNCS = {"Sparse": (4, 16), "Contiguous": (2, 16), "Small": (2, 3),
         "ContiguousArray": (2, 16), "Npy": (4, 16)}


def count_waits():
    return pathlib.Path("trace").read_text().count("WAIT_AFTER")


def sync_what_is_durable(form):
    """A change is durable when fsync(2) has returned, and from then on at each close.
    The close of a file that never was durable waits for the data to be written, not for
    syncs."""
    of_change, of_new = SYNCS[form.name()]
    SRC.mkdir()
    with Traced(*OPTIONS, *(form.options or ["small=0"])) as t:
        f = Shown(form, t.mount).new("a")
        # Other tests may sync the disk between the first write and the close.
        for i in range(9):
            path = MNT / f"new{i}{form.shown}"
            waits = count_waits()
            if not t.during(lambda p=path: p.write_bytes(f.model), "fsync",
                            "syncfs"):
                break
        else:
            assert False, pathlib.Path("trace").read_text()
        # Each of eleven chunks, and the index.
        assert count_waits() - waits >= (12 if of_new > 3 else 0)
        with f.opened() as fd:
            f.write(fd, b"first", 1000)
            assert t.during(lambda: os.fsync(fd), "fsync") >= of_change
            assert t.during(lambda: os.fsync(fd), "fsync") == 0
            f.write(fd, b"next", 1000)
            assert t.during(lambda: os.close(os.dup(fd)), "fsync") >= of_change
        with open(MNT / f"newer{form.shown}", "wb", buffering=0) as new:
            new.write(f.model)
            syncs = t.during(lambda: os.fsync(new.fileno()), "fsync")
            assert syncs >= of_new, syncs


def flushes_of(mount, path, flags):
    """Requests of the close of two descriptors."""
    def count():
        # The log is written later, and the last request of a file comes late.
        log = None
        while log != (log := mount.log()):
            time.sleep(.2)
        return log.count("opcode: FLUSH ")

    before = count()
    fd = os.open(path, flags)
    os.close(os.dup(fd))
    assert os.pread(fd, 1, 0)
    os.close(fd)
    return count() - before


def ask_nothing_at_close(form):
    """Only the close of a descriptor that may write waits for the daemon."""
    with form.mounted("debug") as shown:
        f = shown.new("a")
        assert flushes_of(shown.mount, f.path, os.O_RDONLY) == 0
        if "write" not in form.refused:
            assert flushes_of(shown.mount, f.path, os.O_RDWR) == 2


def test_plain_file_asks_nothing_at_close_of_a_reader():
    SRC.mkdir()
    (SRC / "plain").write_bytes(b"plain")
    for option in "passthrough", "nopassthrough":
        with Mount(SRC, MNT, "-o", f"rw,debug,{option}") as mount:
            assert flushes_of(mount, MNT / "plain", os.O_RDONLY) == 0
            assert flushes_of(mount, MNT / "plain", os.O_RDWR) == 2


def add_test(name, form, function):
    globals()[f"test_{form.name()}_{name}"] = lambda: function(form)


for _form in FORMS:
    add_test("is_like_any_file", _form, play_form)
    if "write" not in _form.refused:
        add_test("on_a_full_disk", _form, lack_room)
    # The kernel does not leave it out where it writes back later.
    if _form.name() != "WritebackCache":
        add_test("asks_nothing_at_close_of_a_reader", _form,
                 ask_nothing_at_close)
    if _form.name() in SYNCS:
        add_test("is_durable_when", _form, sync_what_is_durable)
    if _form.name() in ("Sparse", "Small", "Npy"):
        add_test("until_the_disk_is_full", _form, fill_until_refused)

main()
