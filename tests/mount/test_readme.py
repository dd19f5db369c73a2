#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The commands in docs/demo.md, behind $, print the lines below them.

The Python programs that they run are in scripts/demo; the page shows parts of
them.
"""
import os
import pathlib
import re
import shlex
import subprocess

from mounting import BUILD, SOURCE, main

# The pages with commands; test_recipes.py runs those of recipes.md.
PAGES = [page.read_text(encoding="utf-8")
         for page in (SOURCE / "README.md", *sorted((SOURCE / "docs").glob("*.md")))
         if page.name != "recipes.md"]
DEMO = (SOURCE / "scripts/demo").read_text(encoding="utf-8")
# Tests of packages run only the first example.
LIMIT = 1 if os.environ.get("B2F_README") == "first" else None
VENV = pathlib.Path(os.environ.get("B2F_PYTHON", SOURCE / ".venv/bin/python"))


def blocks(language):
    # Every second piece is inside fences.
    pieces = [piece for page in PAGES
              for piece in re.split(r"^```", page, flags=re.M)[1::2]]
    return [piece.split("\n", 1)[1] for piece in pieces
            if piece.split("\n", 1)[0] == language]


def programs():
    return dict(re.findall(r"^cat >(\w+\.py) <<'EOF'\n(.*?)^EOF$", DEMO,
                           re.M | re.S))


def steps():
    """Yields each command of docs/demo.md with its output there."""
    for block in [b for b in blocks("") if re.search(r"^\$ ", b, re.M)][:LIMIT]:
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, text = part.partition("\n")
            lines = [line for line in text.splitlines()
                     if line and not line.startswith("# ")]
            yield command, lines


def usual(lines):
    """Removes values that depend on the day, or on the load of the machine."""
    out = []
    for line in lines:
        line = re.sub(r"^total \d+$", "total N", line)
        line = re.sub(r"^\d+M\tscratch$", "NM\tscratch", line)
        line = re.sub(r"(\w+ \w+)( +\d+) [A-Z][a-z]{2} +\d+ [\d:]+ ",
                      r"OWNER\2 DATE ", line)
        # The last digit depends on the version of NumPy.
        line = re.sub(r"\d\.\d{14,}", lambda m: f"{float(m[0]):.12g}", line)
        out.append(re.sub(r" +", " ", line))
    return out


def run(command, environment):
    done = subprocess.run(command, shell=True, text=True, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lines = done.stdout.splitlines()
    if command.startswith("cmp ") and done.returncode == 0 and \
            "--bytes" not in command:
        lines.append("(the same, byte for byte)")
    assert done.returncode == 0, (command, lines)
    return lines


def prepare(command):
    """The steps of scripts/demo besides the commands that it shows."""
    words = shlex.split(command)
    if words[0] == "bloscfs":
        for name in words[1:]:
            if "." not in name:
                os.makedirs(name, exist_ok=True)
    if words[-1] == "grid.py":
        os.makedirs("arrays", exist_ok=True)


def test_every_line_prints_what_it_should():
    environment = dict(os.environ, LC_ALL="C.UTF-8", TZ="UTC",
                       PATH=f"{BUILD}:{VENV.parent}:{os.environ['PATH']}")
    for name, text in programs().items():
        pathlib.Path(name).write_text(text, encoding="utf-8")
    count = 0
    try:
        for command, lines in steps():
            prepare(command)
            got = run(command, environment)
            assert usual(got) == usual(lines), (command, got, lines)
            count += 1
    finally:
        if os.path.ismount("mnt"):
            subprocess.run(["fusermount3", "-u", "mnt"], check=True)
    assert count > (15 if LIMIT else 30), count


def test_programs_are_those_that_run():
    # The example of the module bloscfs runs in install/wheel.
    shown = [block for block in blocks("python")
             if "import bloscfs" not in block]
    assert len(shown) >= 2
    for block in shown:
        assert any(block in text for text in programs().values()), block


def test_script_and_page_have_the_same_commands():
    said = [command for command, _ in steps()]
    done = [line[len("show "):].split(" && echo")[0]
            for line in DEMO.splitlines() if line.startswith("show ")]
    assert said == done, (set(said) ^ set(done))


def test_recording_is_of_these_lines():
    subprocess.run([SOURCE / "scripts/make-recording", "demo.svg"], check=True)
    drawn = pathlib.Path("demo.svg").read_bytes()
    assert drawn == (SOURCE / "docs/demo.svg").read_bytes(), \
        "run scripts/make-recording"


if __name__ == "__main__":
    main()
