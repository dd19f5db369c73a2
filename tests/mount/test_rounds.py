#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The mount and C-Blosc2 change a frame in turn; scripts/soak does more."""
from mounting import SANITIZED, main
from rounds import play

ROUNDS = 5 if SANITIZED else 10


def test_items_of_1_byte():
    play(ROUNDS, seed=0)


def test_items_of_4_bytes():
    play(ROUNDS, seed=1)


def test_items_of_8_bytes():
    play(ROUNDS, seed=2)


def test_with_the_usual_timeouts():
    play(5, seed=3, slow_every=1)


main()
