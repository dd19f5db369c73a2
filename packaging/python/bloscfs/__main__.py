# SPDX-License-Identifier: BSD-3-Clause
"""python -m bloscfs ...: the program bloscfs; python -m bloscfs ctl ...: bloscctl"""
import os
import sys

from bloscfs import program

words = sys.argv[1:]
name = "bloscfs"
if words[:1] == ["ctl"]:
    name = "bloscctl"
    del words[0]
try:
    os.execvp(program(name), [name, *words])
except FileNotFoundError:
    sys.exit(f"{name} is not installed")
