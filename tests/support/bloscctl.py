# SPDX-License-Identifier: BSD-3-Clause
"""bloscctl - runs of bloscctl, in a directory of their own"""
import contextlib
import json
import os
import pathlib
import subprocess
import tempfile

from build import BLOSCCTL, environment

# Servers that fail on purpose never recover, so do not repeat requests for long.
os.environ.setdefault("BLOSCCTL_RETRY", "2")


@contextlib.contextmanager
def workdir():
    """Changes into a fresh directory."""
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as tmp:
        os.chdir(tmp)
        try:
            yield pathlib.Path(tmp)
        finally:
            os.chdir(before)


def ctl(*args, status=0, stdin=None, **options):
    """Output and messages of a run that ends with @status."""
    options.setdefault("env", environment(*args[:1], status))
    run = subprocess.run([BLOSCCTL, *map(str, args)], capture_output=True,
                         input=stdin if stdin is not None else b"", **options)
    err = run.stderr.decode(errors="replace")
    assert run.returncode == status, (args, run.returncode, err)
    return run.stdout, err


def cat(*paths):
    return ctl("cat", *paths)[0]


def info(*paths_and_options):
    """For one frame an object, for several a list."""
    return json.loads(ctl("info", "--json", *paths_and_options)[0])
