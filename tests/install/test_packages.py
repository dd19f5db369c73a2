# SPDX-License-Identifier: BSD-3-Clause
"""test_packages - what debian/ makes can be installed by dpkg, and is complete"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from installed import BUILD, SOURCE, run

HELPERS = {"mount.bloscfs": "bloscfs", "mount.fuse.bloscfs": "bloscfs",
           "umount.bloscfs": "bloscctl", "umount.fuse.bloscfs": "bloscctl"}
PYTHON = "python3-bloscfs"
ANYWHERE = {
    "bloscfs": ("man/man1/bloscfs.1.gz", "man/man1/bloscctl.1.gz",
                "man/man5/bloscfs.5.gz",
                "bash-completion/completions/bloscfs",
                "bash-completion/completions/bloscctl",
                "zsh/vendor-completions/_bloscfs",
                "fish/vendor_completions.d/bloscctl.fish",
                "systemd/system/bloscfs@.service",
                "doc/bloscfs/copyright", "doc/bloscfs/changelog.gz",
                "doc/bloscfs/changelog.Debian.gz",
                "man/man8/mount.bloscfs.8.gz"),
    "libb2frame1": ("libb2frame.so.1", "doc/libb2frame1/copyright"),
    "libb2frame-dev": ("include/b2frame/b2frame.h", "libb2frame.so",
                       "libb2frame.a", "pkgconfig/b2frame.pc",
                       "cmake/b2frame/b2frame-config.cmake",
                       "examples/read_frame.c", "man/man3/libb2frame.3.gz"),
    PYTHON: ("dist-packages/bloscfs/__init__.py",)}


def field(package, name):
    return run("dpkg-deb", "-f", package, name, encoding="utf-8").strip()


# Installs the existing build instead of compiling everything again.
BUILT = f"""
override_dh_auto_configure override_dh_auto_build override_dh_auto_test:
	:
override_dh_auto_install:
	DESTDIR=$(CURDIR)/debian/tmp cmake --install {BUILD} --prefix /usr
"""


def make_packages(work):
    top = work / "sources"
    shutil.copytree(SOURCE / "debian", top / "debian")
    for name in "docs", "packaging":
        (top / name).symlink_to(SOURCE / name)
    built = run("dpkg-architecture", "-qDEB_HOST_GNU_TYPE", encoding="utf-8")
    (top / f"obj-{built.strip()}").symlink_to(BUILD)
    with open(top / "debian/rules", "a", encoding="utf-8") as rules:
        rules.write(BUILT)
    done = subprocess.run(
        ["dpkg-buildpackage", "-b", "-us", "-uc", "-d", "-nc"], cwd=top,
        env=dict(os.environ, DEB_BUILD_OPTIONS="nocheck noautodbgsym"),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
    assert done.returncode == 0, done.stdout
    found = {field(path, "Package"): path for path in work.glob("*.deb")}
    assert set(found) == set(ANYWHERE), found
    return found


def dependencies_are_told(packages):
    programs = field(packages["bloscfs"], "Depends")
    for need in ("fuse3", "libfuse3-3", "libzstd1", "libc6"):
        assert need in programs, programs
    assert "libzstd1" in field(packages["libb2frame1"], "Depends")
    assert "libb2frame1 (= " in field(packages["libb2frame-dev"], "Depends")


def owned_by_root(package):
    listing = run("dpkg-deb", "-c", package, encoding="utf-8")
    for line in listing.splitlines():
        mode, owner = line.split()[:2]
        assert owner == "root/root" and mode[5] + mode[8] in ("--", "ww"), line
        assert mode[0] == "l" or mode[8] == "-", line


def lint_clean(packages):
    if not shutil.which("lintian"):
        print("not linted: lintian is not installed")
        return
    done = subprocess.run(["lintian", "--allow-root", "-I", *packages.values()],
                          capture_output=True, text=True)
    tags = [line for line in done.stdout.splitlines()
            if re.match(r"[EWI]: ", line)]
    assert not tags, "\n".join(tags)


def install(root, packages):
    """With dpkg, into a root that has a list of packages and nothing else."""
    (root / "var/lib/dpkg/updates").mkdir(parents=True)
    (root / "var/lib/dpkg/info").mkdir()
    (root / "var/lib/dpkg/status").touch()
    run("dpkg", f"--root={root}", "--force-depends", "--force-not-root",
        "--force-script-chrootless", f"--log={root}/log", "-i",
        *(path for name, path in packages.items() if name != PYTHON),
        stderr=subprocess.DEVNULL)
    # Its script would compile for the Python of that root, which has none.
    run("dpkg-deb", "-x", packages[PYTHON], root)
    paths = [str(path) for path in root.rglob("*")]
    for name, endings in ANYWHERE.items():
        for ending in endings:
            assert any(path.endswith("/" + ending) for path in paths), ending


def programs_run(root):
    for helper, program in HELPERS.items():
        link = root / "usr/sbin" / helper
        assert link.resolve() == root / "usr/bin" / program, link
        text = run(link, "-h", encoding="utf-8")
        assert "mount" in text.lower()


def library_links(root):
    pc = next(root.rglob("b2frame.pc")).parent
    environment = dict(os.environ, PKG_CONFIG_PATH=str(pc))
    flags = run("pkg-config", "--cflags", "--libs", "b2frame",
                env=environment, encoding="utf-8").split()
    program = root / "frame_info"
    run("cc", SOURCE / "examples/frame_info.c", *flags, "-o", program)
    library = next(root.rglob("libb2frame.so.1")).parent
    run(program, env=dict(os.environ, LD_LIBRARY_PATH=str(library)))


def demo_holds(root):
    """The first example, with the installed programs."""
    run(sys.executable, SOURCE / "tests/mount/test_readme.py",
        "test_every_line_prints_what_it_should",
        env=dict(os.environ, B2F_BUILD=str(root / "usr/bin"),
                 B2F_README="first"))


def readme_names_all_that_building_needs():
    text = (SOURCE / "README.md").read_text(encoding="utf-8")
    named = re.search(r"^apt-get install (build-essential.*?[^\\])$", text,
                      re.M | re.S).group(1).split()
    cmake = (SOURCE / "cmake/dependencies.cmake").read_text(encoding="utf-8")
    needed = re.findall(r'^\t?b2f_require\(\w+ "\S+" (\S+)\)', cmake, re.M)
    needed += re.findall(r"apt-get install ([\w-]+)\"", cmake)
    needed += re.findall(r"\((lib[\w-]+-dev)\)", cmake)
    assert len(needed) > 7, needed
    assert {*needed} - {*named} == {"libcriterion-dev"}, (needed, named)


def module_mounts(root, work):
    """The programs are those on PATH."""
    (work / "mounted").mkdir()
    run(sys.executable, "-c", """
import bloscfs
with bloscfs.mount("mounted", "mnt"):
    open("mnt/x", "w").write(bloscfs.__version__)
""", cwd=work, env=dict(os.environ, PATH=f"{root}/usr/bin:{os.environ['PATH']}",
                        PYTHONPATH=str(root / "usr/lib/python3/dist-packages")))
    assert (work / "mounted/x.b2frame").exists()


def units_are_sound(root):
    """Also to systemd, with the place where the program is here."""
    text = next(root.rglob("bloscfs@.service")).read_text()
    assert "Type=notify" in text and "\nExecStart=bloscfs -f " in text
    if not shutil.which("systemd-analyze"):
        print("units not verified: systemd-analyze is not installed")
        return
    units = root / "units"
    units.mkdir()
    for unit in (SOURCE / "packaging/systemd").iterdir():
        name = unit.name.replace("@.", "@srv-run7.")
        (units / name).write_text(unit.read_text().replace(
            "ExecStart=bloscfs", f"ExecStart={root}/usr/bin/bloscfs"))
    done = subprocess.run(["systemd-analyze", "verify", "--man=no",
                           *units.iterdir()], capture_output=True, text=True)
    wrong = [line for line in done.stderr.splitlines()
             if any(unit.name in line for unit in units.iterdir())]
    assert done.returncode == 0 and not wrong, done.stderr


def main():
    readme_names_all_that_building_needs()
    with tempfile.TemporaryDirectory() as scratch:
        work = pathlib.Path(scratch).resolve()
        packages = make_packages(work / "packages")
        dependencies_are_told(packages)
        for package in packages.values():
            owned_by_root(package)
        lint_clean(packages)
        root = work / "root"
        install(root, packages)
        programs_run(root)
        library_links(root)
        units_are_sound(root)
        demo_holds(root)
        module_mounts(root, work)


if __name__ == "__main__":
    main()
