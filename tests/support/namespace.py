# SPDX-License-Identifier: BSD-3-Clause
"""namespace - a test whose mounts end with it, and are copied by no other"""
import os
import sys

# A daemon of another test would live as long as the copy of its mount.
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
