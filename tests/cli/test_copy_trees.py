# SPDX-License-Identifier: BSD-3-Clause
"""bloscctl copy -r: directories, and names of all kinds"""
import json
import os
import pathlib
import resource
import stat
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
import s3_server  # noqa: E402
from acl import ACCESS, acl  # noqa: E402
from bloscctl import cat, ctl, workdir  # noqa: E402
from build import BLOSCCTL  # noqa: E402

S3 = "s3://bucket"
DATA = os.urandom(3000) + b"end" * 9999
# Each has a special meaning in a URL, in XML, in a shell, or for a server.
NAMES = ("a b", " first", "last ", "100%", "%41", "%2F", "a+b", "q?x=1", "h#x",
         "a&b;c=d", "quote'\"", "back\\slash", "*", "<x>", "~t", "$(d)", "@", "-",
         "x:y", "[1]", "\u00fc", "u\u0308", "\u6f22\u5b57", "\U0001f600", ".x", "...")
# We put no object under such names, but another program may.
CONTROL = "new\nline", "tab\t"
AS_USER = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"] \
    if os.geteuid() == 0 else []


def files(top):
    top = pathlib.Path(top)
    return {str(p.relative_to(top)): p.read_bytes()
            for p in top.rglob("*") if p.is_file()}


def facts(top):
    """The attributes of each directory."""
    top = pathlib.Path(top)
    return {str(p.relative_to(top)): (stat.S_IMODE(p.stat().st_mode),
                                      p.stat().st_mtime_ns, p.stat().st_uid,
                                      os.listxattr(p))
            for p in (top, *top.rglob("*"))
            if p.is_dir() and p.suffix != ".b2frame"}


def check_directories():
    """Each directory gets the mode, the times and the attributes of its source."""
    modes = {"tree": 0o750, "tree/open": 0o1777, "tree/closed": 0o555,
             "tree/closed/in": 0o500, "tree/own": 0o700, "tree/empty": 0o711,
             "tree/.hidden": 0o775}
    for name in modes:
        os.mkdir(name)
        if name != "tree/empty":
            pathlib.Path(name, ".file").write_bytes(DATA)
    ctl("compress", "-q", "x", "-o", "tree/own/x.b2frame")
    os.setxattr("tree/own", "user.blosc2.codec", b"lz4")
    for n, name in enumerate(reversed(modes)):
        os.chmod(name, modes[name])
        os.utime(name, ns=(10**18 + n, 10**18 + n))
    if os.geteuid() == 0:
        os.chown("tree/own", 12345, 54321)
    for mask in 0o077, 0:
        os.umask(mask)
        ctl("copy", "-q", "-r", "tree", f"deep-{mask}/er")
        assert facts(f"deep-{mask}/er") == facts("tree"), mask
        assert files(f"deep-{mask}/er") == files("tree")
        assert stat.S_IMODE(os.stat(f"deep-{mask}").st_mode) == 0o777 & ~mask
    # A copy into an existing directory, which keeps its attributes.
    os.umask(0o022)
    os.makedirs("there/own")
    os.chmod("there/own", 0o705)
    os.chdir("tree")
    ctl("copy", "-q", "-r", ".", "../there")
    os.chdir("..")
    now, want = facts("there"), facts("tree")
    assert now["own"][0] == 0o705 and now["."][0] == 0o755
    for name in now.keys() - {"own", "."}:
        assert now[name] == want[name], name
    assert now.keys() == want.keys() and files("there") == files("tree")
    # A file stands in the place of a directory.
    pathlib.Path("way").mkdir()
    pathlib.Path("way/empty").touch()
    err = ctl("copy", "-q", "-r", "tree", "way", status=1)[1]
    assert "way/empty: File exists" in err and err.count("\n") == 1, err


def check_read_only():
    """An ordinary user copies files that their owner may not write to."""
    os.makedirs("ro/acl")
    pathlib.Path("ro/acl/file").write_bytes(DATA)
    ctl("compress", "-q", "x", "-o", "ro/x.b2frame")
    for name in "ro", "ro/acl", "ro/acl/file", "ro/x.b2frame/chunks.b2frame":
        os.setxattr(name, "user.of", name.encode())
    os.setxattr("ro/acl", ACCESS, acl("u:5 u1:5 g:5 m:5 o:5"))
    for name in "ro/acl/file", "ro/x.b2frame/chunks.b2frame":
        os.chmod(name, 0o400)
    os.chmod("ro", 0o500)
    subprocess.run([*AS_USER, BLOSCCTL, "copy", "-q", "-r", "ro", "ro-2"],
                   check=True)
    assert facts("ro-2") == facts("ro") and files("ro-2") == files("ro")
    for name in "", "acl", "acl/file", "x.b2frame/chunks.b2frame":
        path = pathlib.Path("ro-2", name)
        of = f"ro/{name}".rstrip("/")
        assert os.getxattr(path, "user.of") == of.encode()
        assert path.stat().st_mode == os.stat(of).st_mode, name


def check_unreadable():
    """An ordinary user copies to where he may write, but not read."""
    os.mkdir("box", 0o300)
    subprocess.run([*AS_USER, BLOSCCTL, "copy", "-q", "-r", "ro", "box/new/ro"],
                   check=True)
    os.chmod("box", 0o700)
    assert files("box/new/ro") == files("ro")


def check_broken_off():
    """Directories of an interrupted copy are closed to other users, who could change
    the copy."""
    for name, mode in ("off", 0o777), ("off/in", 0o1777):
        os.mkdir(name)
        os.chmod(name, mode)
        if os.geteuid() == 0:
            os.chown(name, 12345, 54321)
    pathlib.Path("off/in/large").write_bytes(bytes(1 << 20))

    def limit():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))

    os.umask(0)
    run = subprocess.run([BLOSCCTL, "copy", "-q", "-r", "off", "off-2"],
                         preexec_fn=limit, check=False)
    os.umask(0o022)
    assert run.returncode < 0, run
    for name in "off-2", "off-2/in":
        now = os.stat(name)
        assert now.st_uid == os.geteuid() and not now.st_mode & 0o022, name


def listed(*args):
    return [entry["name"] for entry in
            json.loads(ctl("ls", "-a", "--json", *args)[0])]


def check_names(client):
    """There and back, by -r and one by one."""
    os.makedirs("odd/dir")
    for n, name in enumerate(NAMES):
        pathlib.Path("odd", name).write_bytes(b"%d" % n)
        pathlib.Path("odd/dir", f"{name}{name}").write_bytes(b"%d" % -n)
    ctl("compress", "-q", "x", "-o", "odd/dir/% + \u00fc?#.b2frame")
    ctl("copy", "-q", "-r", "odd", f"{S3}/odd")
    stored = {key.removeprefix("odd/"): client.get(f"bucket/{key}")
              for key in client.keys("bucket", "odd/")}
    assert stored == files("odd"), stored.keys() ^ files("odd").keys()
    frame = f"{S3}/odd/dir/% + \u00fc?#.b2frame"
    assert cat(frame) == DATA
    for args, want in (("-r",), {frame}), ((), set()):
        want |= {f"{S3}/odd/{name}" for name in NAMES}
        if args:
            want |= {f"{S3}/odd/dir/{name}{name}" for name in NAMES}
        else:
            want |= {f"{S3}/odd/dir"}
        assert set(listed(*args, f"{S3}/odd")) == want
    for n, name in enumerate(CONTROL):
        client.put(f"bucket/odd/dir/{name}", b"%d" % n)
    assert {f"{S3}/odd/dir/{name}" for name in CONTROL} < \
        set(listed(f"{S3}/odd/dir"))
    ctl("copy", "-q", "-r", f"{S3}/odd", "back")
    for n, name in enumerate(CONTROL):
        pathlib.Path("odd/dir", name).write_bytes(b"%d" % n)
    assert files("back") == files("odd")
    os.mkdir("one")
    for name in NAMES + CONTROL:
        key = f"dir/{name}" if name in CONTROL else name
        ctl("copy", "-q", f"{S3}/odd/{key}", "one")
        assert pathlib.Path("one", name).read_bytes() == \
            pathlib.Path("odd", key).read_bytes()


def check_pages(server):
    """More names than fit one answer of a server."""
    for top, n in ("files", 2100), ("dirs", 1050):
        want = {f"{n:04} +%\u00fc" for n in range(n)}
        (server.data / "bucket" / top).mkdir()
        for name in want:
            path = server.data / "bucket" / top / name
            if top == "dirs":
                path.mkdir()
                path /= "f"
            path.write_bytes(b"")
        found = listed(f"{S3}/{top}")
        assert {pathlib.Path(name).name for name in found} == want
        assert len(found) == n


def main():
    with workdir(), s3_server.S3Server() as server:
        os.environ.update(s3_server.ENV, AWS_ENDPOINT_URL=server.url)
        pathlib.Path("x").write_bytes(DATA)
        check_directories()
        check_read_only()
        check_unreadable()
        check_broken_off()
        check_names(s3_server.Client(server.url))
        check_pages(server)


if __name__ == "__main__":
    s3_server.require()
    main()
