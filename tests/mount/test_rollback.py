#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Whole files of another generation; scripts/soak damage does more."""
from mounting import main
from rollback import damage_many


def test_older_and_other_files():
    damage_many(rounds=60, seed=1)


main()
