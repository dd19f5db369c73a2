# SPDX-License-Identifier: BSD-3-Clause
"""test_library - programs of others compile and run with the installed library"""
import json
import platform
import re
import shutil
import struct
import sys

from installed import SOURCE, Installed

EXAMPLES = SOURCE / "examples"
STRICT = ("-Wall", "-Wextra", "-Wpedantic", "-Werror")
CXX = shutil.which("c++") or "clang++-14"


def declared(include):
    """The functions of the public headers."""
    names = set()
    for header in (include / "b2frame").glob("*.h"):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        # Definitions of macros and structs declare none.
        text = re.sub(r"^#(.*\\\n)*.*\n", "", text, flags=re.M)
        text = re.sub(r"^typedef [^;{]*;", "", text, flags=re.M)
        names.update(re.findall(r"\b(b2f_\w+)\(", text))
    return names


def exports_what_headers_declare(at):
    library = (at.lib / "libb2frame.so.1").resolve()
    table = at.run("nm", "-D", "--defined-only", library, encoding="utf-8")
    exported = {line.split()[-1] for line in table.splitlines()}
    want = declared(at.prefix / "include")
    assert len(want) > 50
    assert exported == want, exported ^ want
    dynamic = at.run("readelf", "-d", library, encoding="utf-8")
    assert "soname: [libb2frame.so.1]" in dynamic, dynamic


def symbols_are_told(at):
    """A new function is listed in debian/, too; a removed one changes the soname."""
    table = (SOURCE / "debian/libb2frame1.symbols").read_text(encoding="utf-8")
    told = set(re.findall(r"^ (\w+)@", table, re.M))
    want = declared(at.prefix / "include")
    assert told == want, ("debian/libb2frame1.symbols", told ^ want)


def is_hardened(at):
    """The programs have all protections of cmake/hardening.cmake."""
    library = (at.lib / "libb2frame.so.1").resolve()
    for path in (library, at.prefix / "bin/bloscfs", at.prefix / "bin/bloscctl"):
        told = at.run("readelf", "-WhldnsV", path, encoding="utf-8")
        for want in (r"Flags:.* NOW\b", r"\bGNU_RELRO\b", r"Type: +DYN ",
                     r"GNU_STACK.* RW +0x", r"x86 feature: IBT, SHSTK",
                     r"__stack_chk_fail@", r"_chk@"):
            if "x86" in want and platform.machine() != "x86_64":
                continue
            assert re.search(want, told), (path, want)


def headers_compile(at):
    """Each alone, and all in C++."""
    flags = at.pkg_config("--cflags")
    for header in sorted((at.prefix / "include/b2frame").glob("*.h")):
        unit = f"#include <b2frame/{header.name}>\nextern int not_empty;\n"
        for language, compiler in (
                (("-x", "c", "-std=c99", "-D_POSIX_C_SOURCE=200809L"), "cc"),
                (("-x", "c++", "-std=c++11"), CXX)):
            at.run(compiler, *language, *STRICT, "-fsyntax-only", *flags, "-",
                   input=unit.encode())


def flags_of(at, is_static):
    """The flags of pkg-config; with the archive for the shared library."""
    if not is_static:
        return at.pkg_config("--cflags", "--libs")
    return [f"{at.lib}/libb2frame.a" if word == "-lb2frame" else word
            for word in at.pkg_config("--cflags", "--libs", "--static")]


def examples_work(at, name, is_static):
    """Through pkg-config alone."""
    programs = {}
    for source in sorted(EXAMPLES.glob("*.c")):
        program = at.work / f"{name}-{source.stem}"
        at.run("cc", "-std=c99", "-D_POSIX_C_SOURCE=200809L", *STRICT, source,
               *flags_of(at, is_static), "-o", program)
        needs = at.run("readelf", "-d", program, encoding="utf-8")
        assert ("libb2frame" in needs) != is_static, needs
        programs[source.stem] = program
    frame = f"{name}.b2frame"
    at.run(programs["write_frame"], frame, 100000)
    info = json.loads(at.run(programs["frame_info"], frame))
    assert info["nbytes"] == 800000 and info["typesize"] == 8, info
    part = (frame, 8 * 50000, 16)
    want = struct.pack("2d", 50000.0**2, 50001.0**2)
    assert at.run(programs["read_frame"], *part) == want
    assert at.run(programs["read_frame"], frame, 0, 8) == struct.pack("d", -1)
    assert at.run(sys.executable, EXAMPLES / "read_frame.py", *part) == want


def line_of_page_works(at):
    text = (SOURCE / "docs/building.md").read_text(encoding="utf-8")
    line = re.search(r"^cc examples/.*$", text, re.M).group()
    shutil.copytree(EXAMPLES, at.work / "examples")
    at.run("bash", "-euc", line)
    assert at.run("./read_frame", "shared.b2frame", 0, 8) == \
        struct.pack("d", -1)


def cpp_links(at):
    """The names of C, and both versions agree."""
    source = at.work / "version.cc"
    source.write_text("""
#include <b2frame/b2frame.h>
#include <cstring>
int main() { return std::strcmp(b2f_version(), B2F_VERSION) != 0; }
""")
    at.run(CXX, *STRICT, source, *at.pkg_config("--cflags", "--libs"), "-o",
           "version")
    at.run("./version")


def cmake_finds_it(at):
    project = at.work / "project"
    project.mkdir()
    shutil.copy(EXAMPLES / "frame_info.c", project)
    (project / "CMakeLists.txt").write_text("""
cmake_minimum_required(VERSION 3.25)
project(other LANGUAGES C)
find_package(b2frame 0.1 CONFIG REQUIRED)
add_executable(frame_info frame_info.c)
target_link_libraries(frame_info b2frame::b2frame)
""")
    at.run("cmake", "-S", project, "-B", project / "build",
           f"-DCMAKE_PREFIX_PATH={at.prefix}")
    at.run("cmake", "--build", project / "build")
    at.run(project / "build/frame_info")


def main():
    with Installed() as at:
        exports_what_headers_declare(at)
        symbols_are_told(at)
        is_hardened(at)
        headers_compile(at)
        examples_work(at, "shared", False)
        examples_work(at, "static", True)
        line_of_page_works(at)
        cpp_links(at)
        cmake_finds_it(at)


if __name__ == "__main__":
    main()
