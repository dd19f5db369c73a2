#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Bytes that a remote mount has read are kept in a local directory (cachedir=)."""
import os
import pathlib
import random
import shutil
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
from http_server import HttpServer
from lying_proxy import LyingProxy
from mounting import BUILD, main, tmpfs
from remote import RemoteMount, read, save, web

SIZE = 6 << 20
# Uncompressed chunks, so that each takes several cells.
CHUNK = {"chunksize": 1 << 20}
NAMES = {"x.b2frame": "x", "y.b2f": "y"}


def settle(seconds_ago):
    """Sets the times of all files: chunks of a young foreign index are not cached."""
    then = time.time() - seconds_ago
    for path in pathlib.Path("files").rglob("*"):
        os.utime(path, (then, then))


def make_files():
    os.mkdir("files")
    os.mkdir("mnt")
    noise = random.Random(1).randbytes(SIZE)
    save(noise, "files/x.b2frame", **CHUNK)
    save(noise[::-1], "files/y.b2f", contiguous=True, **CHUNK)
    settle(7200)
    return {"x": noise, "y": noise[::-1]}


def mount(way, name, *more, at="mnt"):
    return RemoteMount(f"{way.url}/{name}", "-o",
                       ",".join(("cachedir=cache", *more)), at=at)


def gets(way):
    return [r.path for r in way.take()
            if r.method == "GET" and r.status != 404]


def cells():
    return [p for p in pathlib.Path("cache").glob("*/??/*") if p.is_file()]


def check_first_and_second(way, name, content):
    shown = NAMES[name]
    with mount(way, name):
        assert read(f"mnt/{shown}") == content
    assert len(gets(way)) > 3
    with mount(way, name):
        assert read(f"mnt/{shown}") == content
        taken = gets(way)
        assert len(taken) == 1, taken
        assert taken[0].endswith((".b2f", "chunks.b2frame")), taken


def damage(way, end):
    """Falsifies a byte of the next answer with a part of a chunk, near its @end."""
    def lie(_, said):
        if said.status == 206 and len(said.body) > 70000 and not way.told:
            way.told = True
            body = bytearray(said.body)
            body[len(body) // 2 if end else 1000] ^= 4
            said.body = bytes(body)
    way.told, way.lies = False, lie


def test_what_came_damaged_is_not_kept():
    """This mount and later ones ask for the falsified part again."""
    contents = make_files()
    for name, shown in NAMES.items():
        # With seals.
        subprocess.run([BUILD / "bloscctl", "recompress", "-q", "--codec=zstd",
                        f"files/{name}"], check=True)
    settle(7200)
    with HttpServer("files") as server, LyingProxy(server.port) as way:
        for name, shown in NAMES.items():
            for end in False, True:
                shutil.rmtree("cache", ignore_errors=True)
                with mount(way, name) as m:
                    damage(way, end)
                    assert read(f"mnt/{shown}") == contents[shown], (name, end)
                    assert way.told
                    assert "cache, and requested again" in m.log(), m.log()
                way.lies = None
                with mount(way, name):
                    assert read(f"mnt/{shown}") == contents[shown]


def test_a_second_reader_asks_for_the_index_only():
    contents = make_files()
    with web("files") as (way, _):
        for name, shown in NAMES.items():
            check_first_and_second(way, name, contents[shown])
        # Read by another program, at another time.
        for name, shown in NAMES.items():
            run = subprocess.run([BUILD / "bloscctl", "cat", "--cachedir=cache",
                                  f"{way.url}/{name}"], check=True,
                                 capture_output=True)
            assert run.stdout == contents[shown] and not run.stderr
            taken = [p for p in gets(way) if p.endswith(".chunk")]
            assert not taken, taken


def test_what_was_read_here_and_there_is_there_again():
    contents = make_files()
    places = [random.Random(2).randrange(SIZE - 4096) for _ in range(30)]
    with web("files") as (way, _):
        for name, shown in NAMES.items():
            for again in False, True:
                with mount(way, name), \
                        open(f"mnt/{shown}", "rb", buffering=0) as f:
                    os.posix_fadvise(f.fileno(), 0, 0, os.POSIX_FADV_RANDOM)
                    way.take()
                    for place in places:
                        assert os.pread(f.fileno(), 4096, place) == \
                            contents[shown][place:place + 4096]
                    taken = gets(way)
                    assert len(taken) <= (0 if again else 66), taken


def test_damage_in_the_cache_is_not_seen():
    contents = make_files()
    with web("files") as (way, _):
        for name, shown in NAMES.items():
            check_first_and_second(way, name, contents[shown])
        for i, path in enumerate(cells()):
            raw = bytearray(path.read_bytes())
            if i % 3:
                raw[len(raw) * (i % 7) // 7] ^= 1 << i % 8
            else:
                raw = raw[:len(raw) * (i % 5) // 5]
            path.write_bytes(raw)
        for name, shown in NAMES.items():
            check_first_and_second(way, name, contents[shown])


def test_the_cache_is_bounded_and_closed_to_others():
    contents = make_files()
    with web("files") as (way, _):
        for name, shown in NAMES.items():
            with mount(way, name, "cachedirsize=2m"):
                assert read(f"mnt/{shown}") == contents[shown]
    found = cells()
    assert 4 < len(found), found
    assert sum(p.stat().st_blocks * 512 for p in found) <= 2 << 20
    for path in (pathlib.Path("cache"), *pathlib.Path("cache").rglob("*")):
        assert path.stat().st_mode & 0o77 == 0, path


def test_a_changed_frame_is_read_anew():
    contents = make_files()
    other = random.Random(3).randbytes(SIZE)
    with web("files") as (way, _):
        for name, shown in NAMES.items():
            check_first_and_second(way, name, contents[shown])
            os.rename(f"files/{name}", f"files/old{name}")
            save(other, f"files/{name}", contiguous=name.endswith("b2f"),
                 **CHUNK)
            # Times in HTTP are whole seconds.
            settle(9000)
            check_first_and_second(way, name, other)


def test_chunks_of_a_new_index_are_asked_for():
    """A foreign program may put chunks after the index."""
    contents = make_files()
    settle(60)
    with web("files") as (way, _):
        for _ in range(2):
            with mount(way, "x.b2frame"):
                assert read("mnt/x") == contents["x"]
            assert sum(p.endswith(".chunk") for p in gets(way)) >= 6


def test_a_directory_that_cannot_be_used_costs_one_line():
    contents = make_files()
    pathlib.Path("cache").write_bytes(b"a file")
    with web("files") as (way, _), mount(way, "x.b2frame") as m:
        assert read("mnt/x") == contents["x"]
        lines = [line for line in m.log().splitlines() if "cache" in line]
        assert len(lines) == 1 and "without this cache" in lines[0], lines


def test_a_full_disk_of_the_cache_is_no_matter_for_readers():
    """A full cache is reported once, and partial files are removed."""
    contents = make_files()
    with tmpfs("cache", "size=2m"):
        with web("files") as (way, _):
            for name, shown in NAMES.items():
                with mount(way, name) as m:
                    assert read(f"mnt/{shown}") == contents[shown]
                    m.wait_for_log("caching nothing more")
        names = {p.name for p in pathlib.Path("cache").rglob("*")
                 if p.is_file()} - {"lock"}
        assert names and all(len(name) == 30 for name in names), names


def test_several_mounts_share_it():
    contents = make_files()
    os.mkdir("mnt2")
    with web("files") as (way, _):
        with mount(way, "x.b2frame"):
            assert read("mnt/x") == contents["x"]
            way.take()
            with mount(way, "x.b2frame", at="mnt2"):
                assert read("mnt2/x") == contents["x"]
            assert len(gets(way)) == 1


main()
