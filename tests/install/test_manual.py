# SPDX-License-Identifier: BSD-3-Clause
"""test_manual - the manual pages are sound, and tell of all there is"""
import pathlib
import re
import shutil
import string
import subprocess
import sys

from installed import BUILD, SOURCE, run

DOCS = SOURCE / "docs"
PAGES = ["bloscfs.1", "bloscctl.1", "bloscfs.5", "libb2frame.3"]
SECTIONS = {"bloscfs.1": ["ENVIRONMENT", "EXIT STATUS", "CAVEATS",
                          "EXAMPLES", "SIGNALS", "FILES"],
            "bloscctl.1": ["ENVIRONMENT", "EXIT STATUS", "EXAMPLES", "CAVEATS"],
            "bloscfs.5": ["EXTENDED ATTRIBUTES", "ERROR CODES", "CAVEATS"],
            "libb2frame.3": ["RETURN VALUES", "ENVIRONMENT", "CAVEATS"]}


def text_of(page):
    return (DOCS / page).read_text(encoding="utf-8")


def pages_are_clean():
    if not shutil.which("mandoc"):
        print("not checked for their form: mandoc is not installed")
        return
    done = subprocess.run(["mandoc", "-Tlint", "-Wstyle",
                           *(DOCS / page for page in PAGES)],
                          capture_output=True, text=True)
    # Which other pages are there depends on the machine.
    said = [line for line in done.stdout.splitlines()
            if "referenced manual not found" not in line]
    if said or done.returncode > 1:
        sys.exit("\n".join(said) + done.stderr)


def sections_are_there():
    for page, wanted in SECTIONS.items():
        found = re.findall(r"^\.S[Hh] (.*)$", text_of(page), re.M)
        for name in wanted:
            assert name in found, (page, name, found)


def check_letters(text, refusal, *command):
    """--help lists the letters that @command takes as options, and no others."""
    def said(letter):
        # The letter may take the next word as its value.
        return subprocess.run([*command, f"-{letter}", "--nosuch", "--nosuch"],
                              check=False, stdin=subprocess.DEVNULL,
                              capture_output=True, encoding="utf-8").stderr

    told, letters_and_digits = set(), string.ascii_letters
    for letters in re.findall(r"^ +-(\w)(?:, -(\w))?\b", text, re.M):
        told.update(letters)
    # A command without levels may take -1 as an operand.
    if "-1 ... -9 " in text:
        told.update(string.digits[1:])
        letters_and_digits += string.digits
    taken = {letter for letter in letters_and_digits
             if refusal.format(letter) not in said(letter)}
    # mount(8) and umount(8) hand these to their helpers.
    taken -= {"umount": set("rt"), "bloscfs": set("nt")}.get(
        pathlib.Path(command[-1]).name, set())
    assert taken == told - {""}, (command, taken ^ told)


def commands_are_told():
    """Each command of --help has a section, and its options are named."""
    page = text_of("bloscctl.1")
    listed = run(BUILD / "bloscctl", "--help", encoding="utf-8")
    for name in re.findall(r"^  ([a-z]+)  +\S", listed, re.M):
        assert re.search(rf"^\.Ss {name}$", page, re.M), name
        text = run(BUILD / "bloscctl", name, "--help", encoding="utf-8")
        for option in re.findall(r"--([a-z][a-z-]+)", text):
            assert f"Fl -{option}" in page or f", -{option}" in page or \
                f"| -{option}" in page, (name, option)
        assert re.search(r"^  -q, --quiet  +\S", text, re.M), name
        check_letters(text, "there is no option -{};", BUILD / "bloscctl", name)
        # Only these store objects.
        assert ("--sse=" in text) == (name in ("append", "compress", "copy")), \
            name


# Words of the options codec= and filter=, also those that are refused.
WORDS = {"codec": "blosclz|lz4|lz4hc|snappy|zlib|zstd",
         "filter": "none|bitshuffle|shuffle|bytedelta|delta|trunc_prec|int_trunc"}


def check_words(text, page):
    """--help and the page offer the words that the option takes, and no others."""
    for name, words in WORDS.items():
        taken = {word for word in words.split("|") if "wrong value" not in
                 subprocess.run([BUILD / "bloscfs", "-o", f"{name}={word}",
                                 "missing", "missing"], capture_output=True,
                                text=True).stderr}
        for told in (re.search(rf"^  {name}=.*?^  \w", text, re.M | re.S)[0],
                     re.search(rf"^\.BI {name}= .*?^\.TP", page,
                               re.M | re.S)[0]):
            assert set(re.findall(rf"\b({words})\b", told)) == taken, told


def mount_options_are_told():
    """Each option with an effect is in --help and in the page."""
    table = (SOURCE / "fuse/option_table.c").read_text(encoding="utf-8")
    rows = re.findall(r'^\t(?:ROW|OTHER)\("(\w+)", ([A-Z_]+)', table, re.M)
    rows += [(name, "CHOICES")
             for name in re.findall(r'^\tCHOICE\("(\w+)"', table, re.M)]
    assert len(rows) > 70, rows
    text = run(BUILD / "bloscfs", "--help", encoding="utf-8")
    page = text_of("bloscfs.1")
    for name, kind in rows:
        # mount(8) hands these on, and those that change nothing.
        if kind in ("IGNORED", "IGNORED_VALUE", "KERNEL") or name in (
                "rw", "async", "debug", "remount"):
            continue
        assert re.search(rf"(?:^  |[ ,]){name}\b", text, re.M), name
        assert re.search(rf"\b{name}\b", page), name
    check_words(text, page)
    check_letters(text[:text.index("OPT,...")], "invalid option -- '{}'",
                  BUILD / "bloscfs")
    kinds = {name for name, _ in rows}
    told = text[text.index("-o OPT"):]
    for name in re.findall(r"^  ([a-z_0-9]+)", told, re.M):
        assert name in kinds, name


def library_is_told():
    page = text_of("libb2frame.3")
    headers = " ".join(path.read_text(encoding="utf-8")
                       for path in (SOURCE / "include/b2frame").glob("*.h"))
    for name, arguments in re.findall(r'^\.Fn (\w+) (".*)$', page, re.M):
        declared = re.search(rf"^[a-z].*\b{name}\(([^()]+)\);", headers, re.M)
        assert declared, name
        told = ", ".join(re.findall(r'"(.*?)"', arguments))
        assert told == " ".join(declared.group(1).split()), name
    for path in (SOURCE / "include/b2frame").glob("*.h"):
        if path.name not in ("api.h", "b2frame.h", "durability.h"):
            listed = re.findall(rf"In b2frame/{re.escape(path.name)}\b", page)
            assert len(listed) == 1, (path.name, listed)


def main():
    pages_are_clean()
    sections_are_there()
    commands_are_told()
    mount_options_are_told()
    library_is_told()


if __name__ == "__main__":
    main()
