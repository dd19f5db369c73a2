#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Files are changed and renamed while other threads look; scripts/soak does more."""
from mounting import SANITIZED, main
from names import AT_ONCE, SMALL, play

COUNT = 80 if SANITIZED else 200
OPTIONS = "chunksize=16k", "commit=1"


def test_with_the_usual_timeouts():
    play(COUNT, 1, (SMALL[0], *OPTIONS), pause=0.002)


def test_at_once():
    play(COUNT, 2, (SMALL[0], *OPTIONS, *AT_ONCE), pause=0.002)


def test_small_files():
    play(COUNT, 3, (SMALL[1], *OPTIONS), pause=0.002)


def test_small_files_at_once():
    play(COUNT, 4, (SMALL[1], *OPTIONS, *AT_ONCE), pause=0.002)


main()
