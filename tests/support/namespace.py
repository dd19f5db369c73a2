# SPDX-License-Identifier: BSD-3-Clause
"""namespace - runs a test in a mount namespace: its mounts end with it, and no other
test copies them"""
import os
import sys

# Copies of other tests' mounts would keep their daemons alive.
GIVE_UP_COPIES = ("umount --lazy --all --types fuse.bloscfs 2>/dev/null\n"
                  'exec "$@"')


def in_namespace():
    """Runs this script again in a mount namespace of its own."""
    if os.environ.get("B2F_IN_NAMESPACE"):
        return
    root = [] if os.getuid() == 0 else ["--map-root-user"]
    os.environ["B2F_IN_NAMESPACE"] = "1"
    os.execvp("unshare", ["unshare", "--mount", "--propagation", "private",
                          *root, "sh", "-c", GIVE_UP_COPIES, "sh",
                          sys.executable, *sys.argv])
