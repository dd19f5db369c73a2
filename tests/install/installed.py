# SPDX-License-Identifier: BSD-3-Clause
"""installed - what `cmake --install` puts into a fresh directory, and commands"""
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))
from build import BUILD, SOURCE  # noqa: F401,E402


def run(*command, **more):
    """The output of a command that has to succeed."""
    done = subprocess.run([str(word) for word in command],
                          stdout=subprocess.PIPE, **more)
    if done.returncode:
        sys.exit(f"status {done.returncode}: {command}")
    return done.stdout


class Installed:
    def __enter__(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.work = pathlib.Path(self.scratch.name)
        self.prefix = self.work / "prefix"
        run("cmake", "--install", BUILD, "--prefix", self.prefix)
        self.lib = next(self.prefix.glob("lib/**/libb2frame.so")).parent
        self.environment = dict(
            os.environ, LD_LIBRARY_PATH=str(self.lib),
            PKG_CONFIG_PATH=str(self.lib / "pkgconfig"))
        return self

    def __exit__(self, *_):
        self.scratch.cleanup()

    def run(self, *command, **more):
        return run(*command, cwd=self.work, env=self.environment, **more)

    def pkg_config(self, *options):
        return self.run("pkg-config", *options, "b2frame",
                        encoding="utf-8").split()
