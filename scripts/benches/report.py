# SPDX-License-Identifier: BSD-3-Clause
"""report - what all runs say of their samples, and of the machine"""
import os
import pathlib
import platform
import statistics
import subprocess
import time

from data import CORES

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def reason(e):
    """Of what failed, in a line."""
    said = getattr(e, "stderr", None) or ""
    return ": ".join([f"{e}", *said.strip().splitlines()[-1:]])


def median(samples, what="seconds"):
    return statistics.median(s[what] for s in samples)


def machine():
    commit = subprocess.run(
        ["git", "-C", ROOT, "describe", "--always", "--dirty"], check=True,
        stdout=subprocess.PIPE, text=True).stdout.strip()
    return {"cores": CORES, "kernel": platform.release(),
            "load": os.getloadavg()[0], "date": time.strftime("%F %T"),
            "commit": commit}
