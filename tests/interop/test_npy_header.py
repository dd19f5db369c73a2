#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Headers of .npy files, and the texts of types, are what numpy and
python-blosc2 make of them.

  - the header of an array is the one that np.save writes;
  - a header of np.save is read, and its type written as python-blosc2 does;
  - any other header that we accept, np.load reads with the same meaning.
"""
import ast
import errno
import io
import math
import os
import random
import subprocess
import sys
import unicodedata
import warnings

import blosc2
import numpy as np

from interop import BUILD

try:
    from numpy.lib import _format_impl as npy_format
except ImportError:
    from numpy.lib import format as npy_format

TOOL = str(BUILD / "npy_header")
SEED = int(os.environ.get("B2F_SEED", "20240"))
MUTATIONS = int(os.environ.get("B2F_MUTATIONS", "40000"))
SMALL = 1 << 16  # bytes of an array that is really made
ERRORS = {-errno.EINVAL, -errno.EAGAIN, -errno.ENOTSUP, -errno.EBADMSG}

SCALARS = ["?", "i1", "u1", "S1", "S7", "S300", "V1", "V3", "V200"] + [
    order + kind
    for order in "<>"
    for kind in ("i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "c8",
                 "c16", "U1", "U10", "M8", "M8[us]", "M8[25us]", "M8[D]",
                 "m8", "m8[ns]", "m8[7W]", "m8[as]", "M8[Y]", "M8[2147483647s]",
                 "M8[generic]")]
if np.dtype("g").itemsize == 16:
    SCALARS += ["<f16", ">f16", "<c32", ">c32"]
NAMES = ["a", "b", "x", "y", "z", "name", "long_name_" * 9, "with space",
         "it's", '"q"', "'\"", "back\\slash", "new\nline", "tab\t", "\r",
         "\x00", "\x01", "\x7f", "\x80", "\xa0", "\xad", "é", "ÿ", "ā", "日本",
         "\u200b", "\u2028", "\ufeff", "\U0001f600", "\U000e0001", "{", "(", ",",
         "f0", "None", "0", "names", "\ue000", "\ufffd",
         "\U0010ffff"]
SHAPES = [(), (0,), (1,), (3,), (2, 3), (0, 5), (5, 0), (7, 1, 2),
          (1,) * 16, (2, 1) * 8, tuple(range(1, 8)), (123456789,),
          (10 ** 12,), (2 ** 40, 3), (99999,) * 2, (2 ** 31,)]


def ask(requests):
    """The answers of the tool to @requests, as lists of words."""
    lines = "".join(" ".join(request) + "\n" for request in requests)
    run = subprocess.run([TOOL], input=lines.encode(), capture_output=True,
                         timeout=280)
    assert run.returncode == 0 and not run.stderr, run.stderr.decode()[-3000:]
    answers = [line.split() for line in run.stdout.decode().splitlines()]
    assert len(answers) == len(requests)
    return answers


def to_hex(data):
    data = data.encode() if isinstance(data, str) else data
    return data.hex() or "-"


def from_hex(text):
    return b"" if text == "-" else bytes.fromhex(text)


def shape_word(shape):
    return ",".join(map(str, shape)) or "-"


def stored_text(dtype):
    """The text that python-blosc2 stores for @dtype."""
    array = blosc2.empty((1,), dtype=dtype)  # lives as long as its schunk
    return array.schunk.meta["b2nd"][-1]


def stock_dtype(text):
    """The type that python-blosc2 reads from a stored text."""
    try:
        return np.dtype(text)
    except (ValueError, TypeError):
        return np.dtype(ast.literal_eval(text))


def is_storable(dtype):
    """Can python-blosc2 store @dtype?  Not without bytes, or as text that it cannot
    read."""
    try:
        stored_text(dtype)
        return True
    except (ValueError, ZeroDivisionError):
        return False


def same(one, other):
    return one == other and str(one) == str(other) and \
        one.itemsize == other.itemsize


def random_name(rng, taken):
    while True:
        name = rng.choice(NAMES)
        if rng.random() < 0.3:
            name += rng.choice(NAMES)
        if name not in taken:
            taken.add(name)
            return name


def with_shape(rng, dtype):
    if rng.random() < 0.25 and dtype.subdtype is None:
        shape = tuple(rng.choice([0, 1, 1, 2, 3, 5])
                      for _ in range(rng.randint(1, 4)))
        return np.dtype((dtype, shape))
    return dtype


def random_dtype(rng, depth=3):
    """A random type that numpy can make, also with holes and overlaps."""
    if depth == 0 or rng.random() < 0.4:
        return np.dtype(rng.choice(SCALARS))
    taken, n = set(), rng.choice([0, 1, 1, 2, 2, 3, 4, 7])
    names = [random_name(rng, taken) for _ in range(n)]
    titles = [random_name(rng, taken) if rng.random() < 0.2 else None
              for _ in range(n)]
    formats = [with_shape(rng, random_dtype(rng, depth - 1)) for _ in range(n)]
    spec = {"names": names, "formats": formats, "titles": titles}
    align = rng.random() < 0.3
    if rng.random() < 0.3:
        offsets, end = [], 0
        for dtype in formats:
            end += rng.choice([0, 0, 1, 5, 16])
            end += -end % dtype.alignment if align else 0
            offsets.append(end)
            end += dtype.itemsize
        if rng.random() < 0.2:
            rng.shuffle(offsets)
        spec["offsets"] = offsets
    try:
        dtype = np.dtype(spec, align=align)
        if rng.random() < 0.2:
            dtype = np.dtype({**spec, "itemsize": dtype.itemsize + 16},
                             align=align)
    except ValueError:
        return random_dtype(rng, depth)
    return dtype


def is_expressible(dtype):
    try:
        npy_format.dtype_to_descr(dtype)
        return True
    except ValueError:
        return False


def numpy_header(dtype, shape, fortran=False):
    if dtype.subdtype:
        base, dims = dtype.subdtype
        return numpy_header(base, shape + dims, fortran)
    out = io.BytesIO()
    npy_format._write_array_header(
        out, {"shape": shape, "fortran_order": fortran,
              "descr": npy_format.dtype_to_descr(dtype)})
    return out.getvalue()


def saved_header(dtype, shape):
    """The header by np.save() itself; None if the array would be large."""
    if math.prod(shape) * dtype.itemsize > SMALL:
        return None
    array, out = np.zeros(shape, dtype), io.BytesIO()
    if array.dtype != (dtype.subdtype[0] if dtype.subdtype else dtype):
        return None  # numpy makes no arrays of '>M8', but reads such files
    np.save(out, array)
    return out.getvalue()[:len(out.getvalue()) - array.nbytes]


def numpy_reads(header):
    """Parses a header, and fails, as np.load() does."""
    stream = io.BytesIO(header)
    version = npy_format.read_magic(stream)
    shape, fortran, dtype = npy_format._read_array_header(stream, version)
    assert not dtype.hasobject, "needs pickle"
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes <= SMALL:
        array = np.load(io.BytesIO(header + bytes(nbytes)))
        assert array.shape == shape and same(array.dtype, dtype), header
    return stream.tell(), shape, fortran, dtype


def all_dtypes(rng):
    dtypes = [np.dtype(text) for text in SCALARS]
    dtypes += [with_shape(rng, np.dtype(rng.choice(SCALARS)))
               for _ in range(40)]
    dtypes += [random_dtype(rng, rng.randint(1, 4)) for _ in range(700)]
    dtypes += [np.dtype([(name, "<i4")]) for name in NAMES]
    dtypes += [np.dtype([((name, "a"), "<i4")]) for name in NAMES
               if name != "a"]
    dtypes.append(np.dtype([(f"field{i}", "<f8") for i in range(3000)]))
    dtypes.append(np.dtype([(f"日{i}", "<f8") for i in range(30)]))
    dtypes.append(np.dtype(("V4", (2,))))
    dtypes.append(np.dtype([("s", "S0"), ("u", "<U0"), ("v", "V0"),
                            ("i", "i1")]))
    return [dtype for dtype in dtypes if is_storable(dtype)]


def check_write(rng, dtypes):
    requests, expected = [], []
    for dtype in dtypes:
        text = stored_text(dtype)
        # Not always @dtype: the text does not tell the alignment of inner types.
        back = stock_dtype(text)
        expressible = is_expressible(
            back.subdtype[0] if back.subdtype else back)
        for shape in rng.sample(SHAPES, 4):
            word = shape_word(shape)
            requests.append(["write", to_hex(text), str(back.itemsize), word])
            if not expressible:
                expected.append(None)
                continue
            expected.append(numpy_header(back, shape))
            saved = saved_header(back, shape)
            assert saved is None or saved == expected[-1], (back, shape)
        requests.append(["write", to_hex(text), str(back.itemsize + 1), "3"])
        expected.append(None)
    for request, want, answer in zip(requests, expected, ask(requests)):
        if want is None:
            assert int(answer[0]) in ERRORS, (request, answer)
        else:
            assert answer[0] == "0" and from_hex(answer[1]) == want, \
                (from_hex(request[1]).decode(), request[3], answer, want)
    return sum(want is not None for want in expected)


def check_no_dtype():
    """Without a dtype python-blosc2 shows strings of the item size."""
    for size in (1, 2, 8, 1000):
        answer, = ask([["write", "-", str(size), "5"]])
        assert from_hex(answer[1]) == numpy_header(np.dtype(f"S{size}"), (5,))


def check_meaning(answer, read):
    """Checks that the @answer for an accepted header is what numpy @read."""
    size, shape, fortran, dtype = read
    assert int(answer[1]) == size
    assert int(answer[2]) == fortran
    assert int(answer[3]) == dtype.itemsize
    text = from_hex(answer[4]).decode()
    # Characters without a meaning are printed in another way.
    assert text == stored_text(dtype) or \
        any(unicodedata.category(c) == "Cn" for c in text), (text, dtype)
    assert same(stock_dtype(text), dtype), (text, dtype)
    got = () if answer[5] == "-" else tuple(map(int, answer[5].split(",")))
    assert got == shape, (got, shape)


def check_parse(rng, dtypes):
    headers = [numpy_header(dtype, shape, rng.random() < 0.2)
               for dtype in dtypes
               if dtype.subdtype is None and is_expressible(dtype)
               for shape in rng.sample(SHAPES, 3)]
    junk = [rng.randbytes(rng.choice([0, 0, 1, 100])) for _ in headers]
    answers = ask([["parse", to_hex(header + tail)]
                   for header, tail in zip(headers, junk)])
    nread = 0
    for header, answer in zip(headers, answers):
        try:
            read = numpy_reads(header)
        except ValueError as error:  # too long, or too large an array
            assert "large" in str(error), (header, error)
            assert answer == [str(-errno.ENOTSUP)], (header[:200], answer)
            continue
        if math.prod(read[1]) * read[3].itemsize > 2 ** 63 - 1:
            assert answer == [str(-errno.ENOTSUP)], (header[:200], answer)
            continue
        assert answer[0] == "0", (header[:200], answer)
        check_meaning(answer, read)
        nread += 1
    for header in headers[:50]:
        cuts = ask([["parse", to_hex(header[:n])] for n in range(len(header))])
        assert all(cut == [str(-errno.EAGAIN)] for cut in cuts), header
    return headers, nread


REFUSED = [  # headers that are none of a b2nd array
    "{'descr': [('a', '|S0', (2,)), ('b', 'i1')], 'fortran_order': False, "
    "'shape': (3,), }",
    "{'descr': '|O', 'fortran_order': False, 'shape': (3,), }",
    "{'descr': [('a', '|O')], 'fortran_order': False, 'shape': (3,), }",
    "{'descr': '|S0', 'fortran_order': False, 'shape': (3,), }",
    "{'descr': [], 'fortran_order': False, 'shape': (3,), }",
    "{'descr': ('<f8', (2,)), 'fortran_order': False, 'shape': (3,), }",
    "{'descr': '|V2147483647', 'fortran_order': False, 'shape': (), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (%s), }" % ("1," * 17),
    "{'descr': '<f8', 'fortran_order': False, 'shape': (%d,), }" % 2 ** 60,
    "{'descr': '<f8', 'fortran_order': False, 'shape': (0, %d), }" % 2 ** 60,
]
NO_HEADER = [
    "", "{}", "[]", "3", "{'descr': '<f8'}",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (3), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (-3,), }",
    "{'descr': '<f8', 'fortran_order': 0, 'shape': (3,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': [3], }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (3L,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), } x",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), 'x': 1}",
    "{'descr': '<f8', 'descr': '<f8', 'shape': (3,), }",
    "\n{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }",
    "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }\n ",
]
TAKEN = [  # odd, but numpy's
    "{'descr':'<f8','fortran_order':False,'shape':(3,)}",
    " \t{'shape': (3,), \n'fortran_order': True, \"descr\": '<f8'} \t\n\n",
    "{'descr': [('a', '<f8', (1,)), ('', '|V4'), ('\\x62', 'i1'), "
    "('', 'u2', (3,))], 'fortran_order': False, 'shape': ()}",
    "{'descr': '=M8[1us]', 'fortran_order': False, 'shape': (12345,)}",
    "{'descr': [('a', [], (2,)), ('b', ('|S3', (2, 2)))], "
    "'fortran_order': False, 'shape': (0, 7)}",
]


def wrap(text, version=1):
    text = text.encode("utf8" if version == 3 else "latin1")
    size = len(text).to_bytes(2 if version == 1 else 4, "little")
    return b"\x93NUMPY" + bytes([version, 0]) + size + text


def check_listed():
    for texts, status in ((REFUSED, -errno.ENOTSUP), (NO_HEADER, -errno.EINVAL),
                          (TAKEN, 0)):
        for version in (1, 2, 3):
            headers = [wrap(text, version) for text in texts]
            for header, answer in zip(headers, ask(
                    [["parse", to_hex(h)] for h in headers])):
                assert int(answer[0]) == status, (header, answer)
                if status == 0:
                    check_meaning(answer, numpy_reads(header))


ALPHABET = ["'", '"', "(", ")", "[", "]", "{", "}", ",", ":", " ", "\n", "\t",
            "0", "1", "9", "-", "+", "_", ".", "L", "u", "b", "r", "#", "\\",
            "\\x41", "\\u0041", "\\ud800", "\\8", "<", ">", "|", "=", "True",
            "None", "False", "i4", "f8", "V", "S", "O", "M8", "[us]", "[0us]",
            "[s/10]", "\x00", "\r", "\x0c", "é", "''", "(2,)", "('a','i4')",
            "'descr'", "i", "f4,f4", "T", "e", "1e3", "0x1", ", 'shape': (1,)"]


def mutate(rng, header):
    """@header with a few changes, most of them in the text."""
    version, text = header[6], header[10 if header[6] == 1 else 12:]
    text = text.decode("utf8" if version == 3 else "latin1")
    text = text.rstrip() + rng.choice(["", "\n", "  \n"])
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        at, kind = rng.randrange(len(text) + 1), rng.random()
        if kind < 0.35:
            text = text[:at] + rng.choice(ALPHABET) + text[at:]
        elif kind < 0.6:
            text = text[:at] + text[at + rng.choice([1, 1, 2, 5]):]
        elif kind < 0.85:
            text = text[:at] + rng.choice(ALPHABET) + text[at + 1:]
        else:
            end = rng.randrange(at, min(len(text), at + 20) + 1)
            to = rng.randrange(len(text) + 1)
            text = text[:to] + text[at:end] + text[to:]
    try:
        made = wrap(text, version)
    except UnicodeEncodeError:
        made = wrap(text, 3)
    if rng.random() < 0.03:
        at = rng.randrange(len(made))
        made = made[:at] + rng.randbytes(1) + made[at + 1:]
    return made


def check_mutations(rng, headers):
    headers = [header for header in headers if len(header) < 1000] + \
        [wrap(text) for text in TAKEN]
    mutants = [mutate(rng, rng.choice(headers)) for _ in range(MUTATIONS)]
    answers = ask([["parse", to_hex(mutant)] for mutant in mutants])
    ntaken = 0
    for mutant, answer in zip(mutants, answers):
        if answer[0] != "0":
            assert int(answer[0]) in ERRORS, (mutant, answer)
            continue
        try:
            check_meaning(answer, numpy_reads(mutant))
        except Exception as error:
            raise AssertionError(f"{mutant!r} is taken: {answer}") from error
        ntaken += 1
    return ntaken


def check_texts(dtypes):
    """A descr is translated to the text that python-blosc2 stores, and back."""
    usable = [dtype for dtype in dtypes
              if dtype.subdtype is None and is_expressible(dtype)]
    descrs = [repr(npy_format.dtype_to_descr(dtype)) for dtype in usable]
    short = [(dtype, descr) for dtype, descr in zip(usable, descrs)
             if len(descr) < 60000]
    texts = ask([["b2nd", to_hex(descr)] for _, descr in short])
    backs = ask([["descr", answer[2]] for answer in texts])
    for (dtype, descr), text, back in zip(short, texts, backs):
        plain = npy_format.descr_to_dtype(ast.literal_eval(descr))
        assert text[0] == "0" and back[0] == "0", (descr, text, back)
        assert int(text[1]) == int(back[1]) == dtype.itemsize
        assert from_hex(text[2]).decode() == stored_text(plain), descr
        assert from_hex(back[2]).decode() == descr


def check_characters():
    """Every assigned character is printed as Python prints it."""
    known = [chr(c) for c in range(0x110000)
             if unicodedata.category(chr(c)) not in ("Cn", "Cs")]
    names = ["".join(known[i:i + 500]) for i in range(0, len(known), 500)]
    texts = [repr([(name, "i1")]) for name in names]
    for text, answer in zip(texts, ask([["b2nd", to_hex(t)] for t in texts])):
        assert from_hex(answer[2]).decode() == text


def main():
    warnings.simplefilter("ignore")
    rng = random.Random(SEED)
    dtypes = all_dtypes(rng)
    nwritten = check_write(rng, dtypes)
    check_no_dtype()
    check_texts(dtypes)
    headers, nread = check_parse(rng, dtypes)
    check_listed()
    check_characters()
    ntaken = check_mutations(rng, headers)
    print(f"{len(dtypes)} types: {nwritten} headers written, {nread} read; "
          f"{ntaken} of {MUTATIONS} changed ones taken")
    return 0


sys.exit(main())
