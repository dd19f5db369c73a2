# SPDX-License-Identifier: BSD-3-Clause
"""suites - test suites of other programs, on a mount and on a plain directory

Their packages are installed in build/suites.  A test that fails on the mount alone is a
failure, unless KNOWN explains it.
"""
import importlib.metadata
import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as xml

from mounting import SOURCE
from scratch import Scratch

TOOLS = SOURCE / "build" / "suites"
PACKAGES = ["zarr==3.1.6", "numpy==2.4.6", "h5py==3.16.0",
            "blosc2==" + importlib.metadata.version("blosc2"), "pytest==9.2.0",
            "pytest-asyncio==1.5.0", "hypothesis==6.170.15",
            # Without these packages blosc2 skips tests.
            "pytest-xdist==3.8.0", "fsspec==2026.9.0", "pyarrow==26.0.1",
            "tables==3.11.1", "hdf5plugin==7.1.0", "psutil==7.2.2"]
SYSTEM_PYTHON = "/usr/bin/python3"
CPYTHON = ["test_os", "test_posix", "test_shutil", "test_pathlib",
           "test_tempfile", "test_mmap", "test_fcntl", "test_file",
           "test_fileio", "test_fileinput", "test_filecmp", "test_glob",
           "test_gzip", "test_zipfile", "test_tarfile", "test_mailbox",
           "test_shelve", "test_dbm", "test_dbm_dumb", "test_largefile"]

# (pattern of the whole name, why it fails)
KNOWN = [
    (r"test_pathlib\.(Posix)?PathTest\.test_hardlink_to$",
     "a hard link to a frame has to be in its directory"),
    (r"test_locking\.test_cross_process_open_race_under_update$",
     "C-Blosc2 opens without the lock and tries 50 times; four writers leave "
     "the frame half rewritten for longer than on a faster filesystem"),
]


def run(*args, **options):
    subprocess.run(list(map(str, args)), check=True, **options)


def install_sources(pip, package):
    """Downloads the tests of a package that does not install them."""
    name = package.split("==")[0]
    run(*pip, "download", "--no-deps", f"--no-binary={name}", "-d", TOOLS,
        package)
    directory = package.replace("==", "-")
    shutil.unpack_archive(TOOLS / f"{directory}.tar.gz", TOOLS)
    (TOOLS / directory).rename(TOOLS / name)


def install_python_packages():
    run(sys.executable, "-m", "venv", "--clear", TOOLS / "venv")
    pip = [TOOLS / "venv/bin/pip", "-q", "--disable-pip-version-check"]
    run(*pip, "install", *PACKAGES)
    for package in PACKAGES:
        if package.startswith(("zarr==", "blosc2==")):
            install_sources(pip, package)


def install_cpython_tests():
    """Debian's python3 has the test runner without the tests."""
    version = "{}.{}".format(*sys.version_info)
    package = f"libpython{version}-testsuite"
    run("apt-get", "download", "-qq", package, cwd=TOOLS,
        stderr=subprocess.DEVNULL)
    run("dpkg", "-x", *TOOLS.glob(f"{package}_*.deb"), TOOLS / "debian")
    library = f"usr/lib/python{version}/test"
    for source in pathlib.Path("/") / library, TOOLS / "debian" / library:
        shutil.copytree(source, TOOLS / "cpython/test", dirs_exist_ok=True)


def install():
    """Installs everything once; a file is written last, so a broken attempt is
    repeated."""
    done = TOOLS / "installed"
    wanted = "\n".join(PACKAGES)
    if done.exists() and done.read_text() == wanted:
        return
    shutil.rmtree(TOOLS, ignore_errors=True)
    TOOLS.mkdir(parents=True)
    install_python_packages()
    install_cpython_tests()
    done.write_text(wanted)


def cpython(directory, report):
    return [SYSTEM_PYTHON, "-m", "test", "--tempdir", directory, "--junit-xml",
            report, "-u", "largefile", *CPYTHON]


def pytest(*args):
    """The command line for the tests that @args name."""
    return lambda directory, report: [
        TOOLS / "venv/bin/python", "-m", "pytest", "-q", "-p",
        "no:cacheprovider", f"--basetemp={directory}/pytest",
        f"--junit-xml={report}", *args]


SUITES = {
    "cpython": cpython,
    # Their default options ask for plugins that are not needed here.
    "zarr": pytest("-c", TOOLS / "zarr/pyproject.toml", "-o", "addopts=",
                   *(TOOLS / "zarr/tests" / name for name in (
                       "test_store/test_local.py", "test_store/test_core.py",
                       "test_group.py", "test_array.py")),
                   "-k", "local or Local"),
    "numpy": pytest("--pyargs", "numpy.lib.tests.test_io",
                    "numpy.lib.tests.test_format",
                    "numpy._core.tests.test_memmap",
                    "numpy._core.tests.test_multiarray", "-k",
                    "not test_multiarray or IO or Pickling"),
    "h5py": pytest("--pyargs", "h5py"),
    # Each worker has a directory of its own below that of pytest.
    "blosc2": pytest("-c", TOOLS / "blosc2/pytest.ini", TOOLS / "blosc2/tests",
                     "-o", "addopts=", "-m", "not network and not heavy "
                     "and not tui", "-p", "no:unraisableexception", "-n", "2",
                     "--dist", "loadfile"),
}


def results(report):
    """{name of each test that ran: did it fail?}"""
    tests = {}
    for case in xml.parse(report).iter("testcase"):
        name = ".".join(filter(None, (case.get("classname"),
                                      case.get("name"))))
        failed = any(x.tag in ("failure", "error") for x in case)
        tests[name] = tests.get(name, False) or failed
    return tests


def play(suite, directory):
    """Runs a suite in @directory; its output goes to a file of its name."""
    directory = pathlib.Path(directory).absolute()
    report = pathlib.Path(f"{suite}-{directory.name}.xml").absolute()
    env = dict(os.environ, TMPDIR=str(directory), PYTHONDONTWRITEBYTECODE="1",
               PYTHONPATH=str(TOOLS / "cpython") if suite == "cpython" else "")
    with open(f"{suite}-{directory.name}.log", "wb") as log:
        subprocess.run(list(map(str, SUITES[suite](directory, report))),
                       cwd=directory, env=env, stdout=log, stderr=log,
                       stdin=subprocess.DEVNULL, check=False)
    return results(report)


def reason(name):
    return next((why for pattern, why in KNOWN if re.search(pattern, name)),
                None)


def compare(suite):
    """Fails if tests fail on a mount that pass on a plain directory."""
    install()
    os.mkdir("plain")
    plain = play(suite, "plain")
    with Scratch() as scratch:
        shown = play(suite, scratch.path)
    worse = [name for name, failed in shown.items()
             if failed and not plain.get(name)]
    missing = [name for name in plain if name not in shown]
    for name in worse:
        print(f"  {name}: {reason(name) or 'fails on the mount only'}")
    for name in missing:
        print(f"  {name}: does not run on the mount")
    print(f"{suite}: {len(plain)} tests, {sum(plain.values())} fail on both, "
          f"{len(worse)} on the mount only")
    bad = [name for name in worse if not reason(name)] + missing
    if bad:
        print(pathlib.Path(f"{suite}-mnt.log").read_text(
            errors="replace")[-20000:])
    assert not bad, bad
