#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Several mounts write to one prefix of an object store."""
import contextlib
import errno
import os
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "support"))
import remote_churn
import s3_server
from build import BLOSCCTL
from mounting import data, error_of, main, wait_until
from proxy import stall, status
from remote import NOW, SIZE, RemoteMount, download, put_frame, read, s3


def test_two_mounts_write_one_frame():
    with s3() as (_, client):
        put_frame(client)
        with RemoteMount("s3://bucket/d", "-o", NOW, at="mnt"), \
                RemoteMount("s3://bucket/d", "-o", NOW, at="mnt2"):
            a = os.open("mnt/x", os.O_RDWR)
            b = os.open("mnt2/x", os.O_RDWR)
            os.pwrite(a, b"A" * 10, 0)
            os.pwrite(b, b"B" * 10, SIZE - 10)
            os.fsync(a)
            os.fsync(b)
            expected = b"A" * 10 + data(SIZE)[10:-10] + b"B" * 10
            assert download(client, "x.b2frame") == expected
            wait_until(lambda: read("mnt/x") == expected, "the other's bytes")
            wait_until(lambda: read("mnt2/x") == expected, "the other's bytes")
            # Both change the same chunk: the second one gets an error.
            os.pwrite(a, b"1", 100)
            os.pwrite(b, b"2", 200)
            os.fsync(a)
            assert error_of(os.fsync, b) == errno.ESTALE
            assert error_of(os.close, b) == errno.ESTALE
            os.close(a)
            expected = expected[:100] + b"1" + expected[101:]
            assert download(client, "x.b2frame") == expected
            wait_until(lambda: read("mnt2/x") == expected, "what was committed")


def versions(fd, npages=SIZE >> 12, first=0):
    """The versions of the pages that one read() returns."""
    found = os.pread(fd, npages << 12, first << 12)
    return {found[i:i + 8] for i in range(0, len(found), 8)}


def test_what_is_refused_is_not_mixed_with_what_stands():
    """The kernel has pages of what a writer wrote in vain."""
    size = 600 << 10
    with s3():
        with RemoteMount("s3://bucket/d", "-o", f"chunksize=64k,{NOW}"), \
                RemoteMount("s3://bucket/d", "-o", f"chunksize=64k,{NOW}",
                            at="other"):
            for i in range(30):
                pathlib.Path("other/x").write_bytes(data(size, 3 * i))
                with open("mnt/x", "r+b", buffering=0) as f:
                    f.truncate(0)
                    for at in range(0, size, 100000):
                        f.write(data(size, 3 * i + 1)[at:at + 100000])
                    stands = data(size, 3 * i + 2)
                    pathlib.Path("other/x").write_bytes(stands)
                    assert error_of(os.fsync, f.fileno()) == errno.ESTALE
                    assert error_of(os.close, os.dup(f.fileno())) \
                        == errno.ESTALE
                    assert read("mnt/x") == stands, i
                    with contextlib.suppress(OSError):
                        f.close()
                assert read("mnt/x") == stands, i


def test_who_reads_what_is_refused_reads_it_to_the_end():
    """It is like a removed file: a new open finds the version that stands."""
    def content(version):
        return version.to_bytes(8, "little") * (512 * 400)

    with s3():
        with RemoteMount("s3://bucket/d", "-o", NOW), \
                RemoteMount("s3://bucket/d", "-o", NOW, at="other"):
            pathlib.Path("mnt/x").write_bytes(content(1))
            for version in range(2, 12, 2):
                reader = os.open("mnt/x", os.O_RDONLY)
                writer = os.open("mnt/x", os.O_RDWR)
                os.pwrite(writer, content(version), 0)
                for page in range(0, 300, 3):
                    versions(reader, 1, page)
                pathlib.Path("other/x").write_bytes(content(version + 1))
                assert error_of(os.fsync, writer) == errno.ESTALE
                assert error_of(os.close, writer) == errno.ESTALE
                # Refused, and it takes back nothing of what was told.
                assert error_of(os.open, f"/proc/self/fd/{reader}",
                                os.O_RDWR) == errno.ESTALE
                end = time.monotonic() + 1.5
                while time.monotonic() < end:
                    assert versions(reader, 400) == {content(version)[:8]}
                    assert read("mnt/x") == content(version + 1)
                assert error_of(os.open, f"/proc/self/fd/{reader}",
                                os.O_RDWR) == errno.ESTALE
                os.close(reader)
                pathlib.Path("mnt/x").write_bytes(content(version + 1))


def test_no_read_is_of_two_versions():
    """The file is open for writing in one mount, and another client replaces it."""
    def content(version, npages):
        return version.to_bytes(8, "little") * (512 * npages)

    def is_new(version):
        with open("mnt/x", "rb", buffering=0) as f:
            return versions(f.fileno()) == {version.to_bytes(8, "little")}

    with s3() as (way, client):
        put_frame(client, "d/z.b2frame")
        options = "attr_timeout=0,entry_timeout=0,refresh=1"
        with RemoteMount("s3://bucket/d", "-o", options), \
                RemoteMount("s3://bucket/d", "-o", options, at="mnt2"):
            pathlib.Path("mnt/x").write_bytes(content(1, 400))
            for version in range(2, 6):
                fd = os.open("mnt/x", os.O_RDWR)
                z = os.open("mnt/z", os.O_RDWR)
                # A look at z takes long; the ticker looks at it after x.
                way.fault = lambda r: \
                    stall(0.7) if "z.b2frame/chunks" in r.path else None
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
                for page in range(0, 300, 3):
                    versions(fd, 1, page)
                # Replace it by a longer or shorter file.
                pathlib.Path("mnt2/t").write_bytes(
                    content(version, 300 + 200 * (version % 2)))
                os.rename("mnt2/t", "mnt2/x")
                for page in range(0, 300, 3):
                    found = versions(fd, 2, page)
                    assert len(found) == 1, found
                    time.sleep(0.03)
                way.fault = None
                wait_until(lambda: is_new(version), "the new version")
                # A write now changes the current version.
                os.pwrite(fd, content(version, 1), 0)
                os.fsync(fd)
                assert versions(fd) == {version.to_bytes(8, "little")}
                os.close(fd)
                os.close(z)
                assert read("mnt/x") == read("mnt2/x")


def replace_a_chunk(at, what):
    """Another client changes a chunk; the old one goes, as after a minute."""
    with open("mnt2/x", "r+b", buffering=0) as f:
        f.seek(at)
        f.write(what)
    subprocess.run([BLOSCCTL, "repair", "-q", "--orphans", "--older=0s",
                    "s3://bucket/d/x.b2frame"], check=True)


def test_a_reader_stays_with_its_version_when_the_writer_has_left():
    with s3() as (_, client):
        put_frame(client)
        with RemoteMount("s3://bucket/d", "-o", NOW), \
                RemoteMount("s3://bucket/d", "-o", NOW, at="mnt2"):
            before = os.open("mnt/x", os.O_RDONLY)
            with open("mnt/x", "r+b", buffering=0) as f:
                f.write(b"first")
            after = os.open("mnt/x", os.O_RDONLY)
            for fd in (before, after):
                os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
                assert os.pread(fd, 5, 0) == b"first"
            replace_a_chunk(SIZE // 2, b"other")
            for fd in (before, after):
                assert error_of(os.pread, fd, 5, SIZE // 2) == errno.ESTALE
                assert os.pread(fd, 5, 0) == b"first"
                os.close(fd)
            assert read("mnt/x")[SIZE // 2:][:5] == b"other"


def test_what_a_read_takes_in_is_told_to_the_kernel():
    """A writer has the file open, and changes nothing."""
    with s3() as (_, client):
        put_frame(client)
        with RemoteMount("s3://bucket/d", "-o", NOW), \
                RemoteMount("s3://bucket/d", "-o", NOW, at="mnt2"):
            fd = os.open("mnt/x", os.O_RDWR)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
            os.pwrite(fd, b"first", 0)
            os.fsync(fd)
            # The kernel has this page.
            last = SIZE - 4096
            assert os.pread(fd, 5, last) == data(SIZE)[last:][:5]
            replace_a_chunk(last, b"other")
            replace_a_chunk(SIZE // 2, b"other")
            assert os.pread(fd, 5, SIZE // 2) == b"other"
            wait_until(lambda: os.pread(fd, 5, last) == b"other",
                       "the page goes")
            os.close(fd)


def test_a_writer_goes_on_when_the_server_is_back():
    """The server answered when it was asked for the version, but no more."""
    with s3() as (way, client):
        put_frame(client)
        with RemoteMount("s3://bucket/d", "-o", NOW), \
                RemoteMount("s3://bucket/d", "-o", NOW, at="mnt2"):
            fd = os.open("mnt/x", os.O_RDWR)
            os.pwrite(fd, b"a", 0)
            os.fsync(fd)
            with open("mnt2/x", "r+b", buffering=0) as f:
                f.seek(SIZE // 2)
                f.write(b"other")
            way.fault = lambda r: status(503) if "list-type" in r.path else None
            # After that it asks for the version again.
            time.sleep(5.5)
            assert error_of(os.pwrite, fd, b"b", 1) == errno.EIO
            way.fault = None
            os.pwrite(fd, b"b", 1)
            os.close(fd)
        expected = bytearray(data(SIZE))
        expected[:2], expected[SIZE // 2:SIZE // 2 + 5] = b"ab", b"other"
        assert download(client, "x.b2frame") == expected


def test_what_three_mounts_replace_is_not_mixed():
    remote_churn.play(300, 1)


s3_server.require()
main()
