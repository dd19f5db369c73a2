# SPDX-License-Identifier: BSD-3-Clause
"""acl - ACLs as attributes of files"""
import struct

ACCESS, DEFAULT = "system.posix_acl_access", "system.posix_acl_default"
TAGS = {"u": (1, 2), "g": (4, 8), "m": (16,), "o": (32,)}


def acl(text):
    """The value of an ACL such as "u:6 u1234:4 g:0 m:6 o:0"."""
    value = struct.pack("<I", 2)
    for who, bits in (entry.split(":") for entry in text.split()):
        value += struct.pack("<HHi", TAGS[who[0]][len(who) > 1], int(bits),
                             int(who[1:] or -1))
    return value
