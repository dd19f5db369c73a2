#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""A power cut loses nothing that was acknowledged; scripts/soak does more."""
from mounting import SANITIZED, main
from namespace import in_namespace
from power import CARELESS, cut_power

CUTS, ROUNDS = (10, 1) if SANITIZED else (30, 2)


def test_cuts():
    assert cut_power("ext4", CUTS, 1, ROUNDS) == 0


def test_cuts_of_contiguous_frames():
    """New ones, and those of C-Blosc2 that are changed."""
    assert cut_power("ext4", CUTS // 2, 3, ROUNDS, ["small=1g"],
                     contiguous=True) == 0


def test_the_check_notices_a_daemon_that_does_not_sync():
    assert cut_power("ext4", 6, 2, 1, wrap=CARELESS) > 0


in_namespace()
main()
