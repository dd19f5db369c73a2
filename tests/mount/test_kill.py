#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A daemon that is killed loses nothing; scripts/soak does more."""
import itertools

from kill_names import kill_all
from kill_writer import all_operations
from kills import (apply, each_byte_is_known, kill, kill_creator, kill_small,
                   matching)
from mounting import SANITIZED, main

ROUNDS = 4 if SANITIZED else 10


def test_the_check_notices_what_it_should():
    before = bytes(3 << 20)
    operations = list(itertools.islice(all_operations(5, len(before)), 12))
    state = bytearray(before)
    for operation in operations[:8]:
        apply(state, operation)
    assert matching(before, operations, 6, state) in (7, 8)
    assert matching(before, operations, 9, state) is None
    assert each_byte_is_known(before, [], 0, before)
    # One operation is missing.
    state = bytearray(before)
    for operation in operations[:3] + operations[4:8]:
        apply(state, operation)
    assert matching(before, operations, 2, state) is None
    # Half of one is.
    off, data = next(x for x in operations if x[0] is not None)
    state = bytearray(before)
    apply(state, (off, data[:len(data) // 2]))
    assert matching(before, [(off, data)], 0, state) == 0
    apply(state, (off, bytes(4) + data[4:]))
    assert matching(before, [(off, data)], 0, state) is None
    inside = list(itertools.islice(all_operations(6, len(before), True), 12))
    state = bytearray(before)
    state[1000] ^= 1
    assert not each_byte_is_known(before, inside, 0, state)


def test_one_file():
    kill(ROUNDS, seed=1)


def test_new_files():
    kill_creator(ROUNDS // 2, seed=2)


def test_small_files():
    kill_small([None] * (ROUNDS // 4), seed=3)
    kill_small(range(3, 3 + 2 * ROUNDS, 4), seed=4)


def test_small_files_that_change_their_names():
    kill_all(5, first=3, step=31)


main()
