# SPDX-License-Identifier: BSD-3-Clause
"""users - calls as users other than root"""
import os
import sys

ALICE, BOB, TEAM = 1001, 1002, 2000


def as_user(uid, gid, call, groups=()):
    """Runs @call in a process of another user; returns its errno, or 0."""
    pid = os.fork()
    if pid == 0:
        code = 255
        try:
            os.setgroups(groups)
            os.setresgid(gid, gid, gid)
            os.setresuid(uid, uid, uid)
            call()
            code = 0
        except OSError as e:
            code = e.errno
        except BaseException as e:
            print("in the child:", e, file=sys.stderr)
        os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
