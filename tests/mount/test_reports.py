#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A mount writes statistics and unmounts by itself: statsfile=, timeout=."""
import json
import os
import pathlib
import subprocess
import time

from mounting import BUILD, Mount, main, make, mountpoints, wait_until


def stats():
    return json.loads(pathlib.Path("stats").read_text())


def test_a_statsfile_is_whole_and_has_the_last_word():
    os.mkdir("src")
    make("src/a.b2frame", None, nbytes=1000)
    with Mount("src", "mnt", "-o", "statsfile=stats"):
        wait_until(lambda: os.path.exists("stats"), "the first one")
        before = stats()
        assert before["reads"] == 0
        pathlib.Path("mnt/a").read_bytes()
        pathlib.Path("mnt/new").write_bytes(bytes(5000))
    after = stats()
    assert after["reads"] > 0 and after["written_bytes"] == 5000
    assert set(after) == set(before)
    assert sorted(os.listdir()) == ["log", "mnt", "src", "stats"]


def test_a_statsfile_is_not_written_to_what_others_put_there():
    os.mkdir("src")
    os.mkfifo("stats.new")
    with Mount("src", "mnt", "-o", "statsfile=stats"):
        wait_until(lambda: os.path.exists("stats"), "the statistics")
        os.mkfifo("stats.new")
    assert not os.path.exists("stats.new")


def test_a_statsfile_is_renewed():
    os.mkdir("src")
    make("src/a.b2frame", None, nbytes=1000)
    with Mount("src", "mnt", "-o", "statsfile=stats"):
        pathlib.Path("mnt/a").read_bytes()
        wait_until(lambda: os.path.exists("stats") and stats()["reads"] > 0,
                   "the reads in the statistics")


def test_a_statsfile_that_cannot_be_written_is_logged():
    os.mkdir("src")
    os.mkdir("stats")
    with Mount("src", "mnt", "-o", "statsfile=stats") as m:
        m.wait_for_log("stats: Is a directory")
    assert m.log().count("Is a directory") == 1


def test_an_unused_mount_ends():
    os.mkdir("src")
    with Mount("src", "mnt", "-o", "timeout=1,commit=600") as m:
        with open("mnt/a", "wb") as f:
            # Open files keep the mount.
            time.sleep(3)
            assert os.path.ismount("mnt")
            f.write(b"1" * 5000)
        assert m.process.wait(150) == 0, m.log()
        assert not mountpoints(pathlib.Path.cwd())
        m.ended = True
    with Mount("src", "mnt"):
        assert pathlib.Path("mnt/a").read_bytes() == b"1" * 5000


def test_a_working_directory_keeps_it():
    os.mkdir("src")
    with Mount("src", "mnt", "-o", "timeout=1") as m:
        stays = subprocess.Popen(["sleep", "600"], cwd="mnt")
        time.sleep(3)
        assert m.process.poll() is None
        stays.kill()
        stays.wait()
        assert m.process.wait(150) == 0, m.log()
        m.ended = True


main()
