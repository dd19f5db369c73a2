#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every form in which python-blosc2 keeps data on disk, and how it is shown

A table: the objects that python-blosc2 makes, contiguous and sparse; the files that the
mount shows; whether they can be written to, or the words of the refusal.
"""
import dataclasses
import datetime
import errno
import json
import os
import pathlib
import traceback

import blosc2
import numpy as np

from mounting import error_of, main
from scratch import Scratch

VALUES = np.arange(6000, dtype="<f8").reshape(60, 100)
RECORDS = np.zeros(100, [("a", "<i4"), ("b", "<f8")])
RECORDS["b"] = np.arange(100)


MEMBER = "it is a part of another file"
COLUMN = "it is a column of strings, bytes or objects"


@dataclasses.dataclass
class Form:
    # The frame, and its name in the mount.
    path: str
    shown: str
    # The bytes that a read gives; None: an error.
    content: bytes = dataclasses.field(default=None, repr=False)
    # The array of NAME.npy; None: there is no such file.
    array: np.ndarray = dataclasses.field(default=None, repr=False)
    # The words in the log when it is opened, or opened for writing; None: both succeed.
    words: str = None


def plain(path, content, words=None):
    return Form(path, shown_as(path), content, None, words)


def array(path, values, words=None):
    return Form(path, shown_as(path), values.tobytes(), values, words)


def refused(path, words):
    return Form(path, shown_as(path), words=words)


def member(path, values):
    """An array in a store of one file, which cannot be written to."""
    return Form(path, path, values.tobytes(), values, MEMBER)


def shown_as(path):
    for suffix in ".b2frame", ".b2nd", ".b2f":
        path = path.removesuffix(suffix)
    return path


# ---- one object in a frame: by name and storage ----


def schunk(name, **storage):
    blosc2.SChunk(chunksize=8000, data=VALUES, urlpath=f"{name}.b2frame",
                  **storage)
    return plain(f"{name}.b2frame", VALUES.tobytes())


def empty_schunk(name, **storage):
    blosc2.SChunk(chunksize=8000, urlpath=f"{name}.b2frame", **storage)
    return plain(f"{name}.b2frame", b"")


def chunks_of_different_sizes(name, **storage):
    made = blosc2.SChunk(chunksize=8000, urlpath=f"{name}.b2frame", **storage)
    for piece in VALUES[:10], VALUES[10:13], VALUES[13:30]:
        made.append_data(piece)
    return plain(f"{name}.b2frame", VALUES[:30].tobytes())


def special_chunks(name, **storage):
    made = blosc2.SChunk(chunksize=8000, urlpath=f"{name}.b2frame",
                         cparams={"typesize": 8}, **storage)
    made.fill_special(5500, blosc2.SpecialValue.NAN)
    return plain(f"{name}.b2frame", np.full(5500, np.nan).tobytes())


def with_dictionaries(name, **storage):
    blosc2.asarray(VALUES, urlpath=f"{name}.b2nd", cparams={
        "codec": blosc2.Codec.ZSTD, "use_dict": True}, **storage)
    return array(f"{name}.b2nd", VALUES)


def ndarray(name, **storage):
    blosc2.asarray(VALUES, urlpath=f"{name}.b2nd", chunks=(20, 30),
                   blocks=(10, 11), **storage)
    return array(f"{name}.b2nd", VALUES)


def saved(name, **storage):
    blosc2.save(blosc2.asarray(VALUES), urlpath=f"{name}.b2nd", **storage)
    return array(f"{name}.b2nd", VALUES)


def records(name, **storage):
    blosc2.asarray(RECORDS, urlpath=f"{name}.b2nd", **storage)
    return array(f"{name}.b2nd", RECORDS)


def texts(name, **storage):
    values = np.array(["a", "bcd", ""])
    blosc2.asarray(values, urlpath=f"{name}.b2nd", **storage)
    return array(f"{name}.b2nd", values)


def one_number(name, **storage):
    blosc2.asarray(np.array(5.0), urlpath=f"{name}.b2nd", **storage)
    return array(f"{name}.b2nd", np.array(5.0))


def no_numbers(name, **storage):
    blosc2.zeros((0, 5), urlpath=f"{name}.b2nd", **storage)
    return array(f"{name}.b2nd", np.zeros((0, 5)))


def zeros(name, **storage):
    blosc2.zeros((99, 77), urlpath=f"{name}.b2nd", **storage)
    return array(f"{name}.b2nd", np.zeros((99, 77)))


def repeated(name, **storage):
    blosc2.full((99, 77), 7, urlpath=f"{name}.b2nd", **storage)
    return array(f"{name}.b2nd", np.full((99, 77), 7))


def lazy_expression(name, **storage):
    operand = blosc2.asarray(VALUES, urlpath=f"{name}-of.b2nd", mode="w")
    (operand + operand * 2).save(urlpath=f"{name}.b2nd", **storage)
    return refused(f"{name}.b2nd", "it stands for a lazy expression")


def lazy_function(name, **storage):
    @blosc2.dsl_kernel
    def double(x):
        return x * 2

    operand = blosc2.asarray(VALUES, urlpath=f"{name}-of.b2nd", mode="w")
    blosc2.lazyudf(double, (operand,), operand.dtype).save(
        urlpath=f"{name}.b2nd", **storage)
    return refused(f"{name}.b2nd", "it stands for a lazy")


def proxy(name, **storage):
    source = blosc2.asarray(VALUES, urlpath=f"{name}-of.b2nd", mode="w")
    blosc2.Proxy(source, urlpath=f"{name}.b2nd", mode="w", **storage)
    return refused(f"{name}.b2nd", "it stands for a proxy")


def fetched_proxy(name, **storage):
    source = blosc2.asarray(VALUES, urlpath=f"{name}-of.b2nd", mode="w")
    blosc2.Proxy(source, urlpath=f"{name}.b2nd", mode="w", **storage).fetch()
    return array(f"{name}.b2nd", VALUES)


def remote_array(name, **storage):
    """A C2Array made without asking its server."""
    carrier = blosc2.b2objects.make_b2object_carrier(
        "c2array", (100,), np.dtype("f8"), urlpath=f"{name}.b2nd", mode="w",
        **storage)
    blosc2.b2objects.write_b2object_payload(carrier, {
        "kind": "c2array", "version": 1, "path": "@public/a.b2nd",
        "urlbase": "https://example.org/"})
    return refused(f"{name}.b2nd", "it stands for a")


def object_array(name, **storage):
    blosc2.ObjectArray(urlpath=f"{name}.b2frame", mode="w",
                       **storage).extend([{"a": 1}, "x", 3])
    return refused(f"{name}.b2frame", "it is an ObjectArray")


def batch_array(name, **storage):
    blosc2.BatchArray(urlpath=f"{name}.b2b", mode="w",
                      **storage).append([1, 2, "x"])
    return refused(f"{name}.b2b", "it is a BatchArray")


def list_array(name, **storage):
    made = blosc2.ListArray(item_spec=blosc2.int64(), urlpath=f"{name}.b2b",
                            mode="w", **storage)
    made.append([1, 2, 3])
    return refused(f"{name}.b2b", "it is a ListArray")


def objects(name, **storage):
    """Pointers of a process that has ended are plain bytes, without a .npy file."""
    blosc2.asarray(np.array([1, "x", None], object), urlpath=f"{name}.b2nd",
                   **storage)
    return plain(f"{name}.b2nd", value(f"{name}.b2nd"))


def attributes(name, **storage):
    made = blosc2.asarray(VALUES, urlpath=f"{name}.b2nd", meta={"x": [1, 2]},
                          **storage)
    made.vlmeta["y"] = b"y" * 5000
    return array(f"{name}.b2nd", VALUES)


def uninitialized(name, **storage):
    made = blosc2.uninit((50, 40), urlpath=f"{name}.b2nd", chunks=(20, 20),
                         **storage)
    made[:30] = 1
    made[30:] = 2
    return array(f"{name}.b2nd", np.repeat([1.0, 2.0], (1200, 800)).reshape(
        50, 40))


def resized(name, **storage):
    made = blosc2.zeros((10, 10), urlpath=f"{name}.b2nd", chunks=(4, 4),
                        blocks=(2, 2), **storage)
    made.resize((13, 7))
    made[:] = np.arange(91.0).reshape(13, 7)
    return array(f"{name}.b2nd", np.arange(91.0).reshape(13, 7))


def copied(name, **storage):
    blosc2.asarray(VALUES).copy(urlpath=f"{name}.b2nd", **storage)
    return array(f"{name}.b2nd", VALUES)


def computed(name, **storage):
    operand = blosc2.asarray(VALUES)
    (operand + operand).compute(urlpath=f"{name}.b2nd", **storage)
    return array(f"{name}.b2nd", VALUES * 2)


def iterated(name, **storage):
    blosc2.fromiter(iter(range(500)), (20, 25), "<i4",
                    urlpath=f"{name}.b2nd", **storage)
    return array(f"{name}.b2nd", np.arange(500, dtype="<i4").reshape(20, 25))


# All kinds of dtypes, and of shapes.
TYPES = {
    "booleans": np.arange(100) % 3 == 0,
    "bytes": np.array([b"a", b"\xff\0z", b""]),
    "dates": np.array(["2020-01-01", "1890-05-06"], "<M8[D]"),
    "durations": np.array([1, -2], "<m8[ns]"),
    "complexes": np.arange(5) * 1j,
    "halves": np.arange(5, dtype="<f2"),
    "long_doubles": np.arange(5, dtype=np.longdouble),
    "big_endian": np.arange(5, dtype=">i4"),
    "nested": np.zeros(5, [("p", [("x", "<f4"), ("y", "<f4")]), ("n", "S5"),
                           ("m", "<i2", (2, 3))]),
    "titles": np.zeros(3, [(("a title", "a"), "<i4")]),
    "raw": np.zeros(5, "V7").view([("f0", "V7")]),
    "aligned": np.zeros(5, [("a", "i1"), ("f1", "V7"), ("b", "<f8")]),
    "long_texts": np.array(["x" * 100, "y"]),
    "no_text": np.array([""]),
    "nothing": np.zeros((0,)),
    "nothing_within": np.zeros((3, 0, 2), "<i2"),
    "nine_dimensions": np.arange(512).reshape((2,) * 9),
}

# Filters and codecs; python-blosc2 tells what lossy ones leave.
MADE_BY = {
    "blosclz": {"codec": blosc2.Codec.BLOSCLZ},
    "lz4": {"codec": blosc2.Codec.LZ4, "clevel": 9},
    "lz4hc": {"codec": blosc2.Codec.LZ4HC},
    "zlib": {"codec": blosc2.Codec.ZLIB},
    "stored": {"clevel": 0},
    "bitshuffle": {"filters": [blosc2.Filter.BITSHUFFLE],
                   "filters_meta": [0]},
    "delta": {"filters": [blosc2.Filter.DELTA, blosc2.Filter.SHUFFLE],
              "filters_meta": [0, 0]},
    "bytedelta": {"filters": [blosc2.Filter.SHUFFLE, blosc2.Filter.BYTEDELTA],
                  "filters_meta": [0, 8]},
    "trunc_prec": {"filters": [blosc2.Filter.TRUNC_PREC,
                               blosc2.Filter.SHUFFLE],
                   "filters_meta": [20, 0]},
    "always_split": {"splitmode": blosc2.SplitMode.ALWAYS_SPLIT},
}


def typed(kind, values):
    def make_typed(_, **storage):
        blosc2.asarray(values, urlpath=f"{kind}.b2nd", **storage)
        return array(f"{kind}.b2nd", values)
    return make_typed


def encoded(kind, cparams):
    def make_encoded(_, **storage):
        path = f"{kind}.b2nd"
        blosc2.asarray(VALUES, urlpath=path, cparams=cparams, **storage)
        return array(path, np.frombuffer(value(path)).reshape(VALUES.shape))
    return make_encoded


ONE_FRAME = [schunk, empty_schunk, chunks_of_different_sizes, special_chunks,
             with_dictionaries, ndarray, saved, records, texts, one_number,
             no_numbers, zeros, repeated, lazy_expression, lazy_function,
             proxy, fetched_proxy, remote_array, object_array, batch_array,
             list_array, objects, attributes, uninitialized, resized, copied,
             computed, iterated,
             *(typed(*x) for x in TYPES.items()),
             *(encoded(*x) for x in MADE_BY.items())]


# ---- what there is in one form only ----


def put(path, content):
    pathlib.Path(path).write_bytes(content)
    return path


def packed():
    blosc2.save_array(VALUES, "save_array.b2frame")
    blosc2.save_tensor(VALUES, "save_tensor.b2frame")
    put("pack_array2.b2frame", blosc2.pack_array2(VALUES))
    put("pack_tensor.b2frame", blosc2.pack_tensor(VALUES))
    for name in "save_array", "save_tensor", "pack_array2", "pack_tensor":
        yield array(f"{name}.b2frame", VALUES)
    for name, values in (
            ("number", np.array(5.0)), ("empty", np.zeros((0, 3))),
            ("texts", np.array(["ab", "c"])), ("records", RECORDS),
            ("dates", np.array(["2020-01-01"], "<M8[D]"))):
        blosc2.save_array(values, f"save_{name}.b2frame")
        yield array(f"save_{name}.b2frame", values)
    # No frame: a pickle in a Blosc1 chunk.
    raw = blosc2.pack_array(VALUES)
    yield Form("pack_array.bin", "pack_array.bin", raw)
    put("pack_array.bin", raw)


def serialized():
    put("array.b2nd", blosc2.asarray(VALUES).to_cframe())
    yield array("array.b2nd", VALUES)
    put("schunk.b2f", blosc2.SChunk(data=VALUES).to_cframe())
    yield plain("schunk.b2f", VALUES.tobytes())
    made = blosc2.ObjectArray()
    made.append("x")
    put("objects.b2f", made.to_cframe())
    yield refused("objects.b2f", "it is an ObjectArray")
    made = blosc2.BatchArray()
    made.append([1, "x"])
    put("batches.b2f", made.to_cframe())
    yield refused("batches.b2f", "it is a BatchArray")
    row = dataclasses.make_dataclass("Row", [
        ("number", int, blosc2.field(blosc2.int64()))])
    made = blosc2.CTable(row)
    made.extend([(1,), (2,)])
    put("table.b2f", made.to_cframe())
    yield refused("table.b2f", "it is an EmbedStore")


def indexed():
    """The index is in frames beside the array."""
    values = np.arange(5000.0)
    made = blosc2.asarray(values, urlpath="indexed.b2nd")
    made.create_index()
    yield array("indexed.b2nd", values)


def tree_store():
    store = blosc2.TreeStore("tree.b2d", mode="w")
    store["/group/a"] = VALUES
    store["/b"] = VALUES[:3]
    store["/objects"] = blosc2.ObjectArray()
    store.vlmeta["attribute"] = 1
    store.close()
    yield array("tree.b2d/group/a.b2nd", VALUES)
    yield array("tree.b2d/b.b2nd", VALUES[:3])
    yield refused("tree.b2d/objects.b2f", "it is an ObjectArray")


def dict_store():
    with blosc2.DictStore("dict.b2d", mode="w", threshold=1000) as store:
        store["/large"] = VALUES
        store["/small"] = VALUES[0, :3]
    yield array("dict.b2d/large.b2nd", VALUES)
    yield member("dict.b2d/embed.b2e/small", VALUES[0, :3])


def embed_store():
    store = blosc2.EmbedStore("embed.b2e", mode="w")
    store["/group/a"] = VALUES
    store["/b"] = blosc2.asarray(VALUES[:3])
    yield member("embed.b2e/group/a", VALUES)
    yield member("embed.b2e/b", VALUES[:3])


def stores_of_other_objects():
    """A SChunk, a number, and nothing, as members."""
    with blosc2.DictStore("others.b2d", mode="w", threshold=None) as store:
        store["/bytes"] = blosc2.SChunk(data=VALUES)
        store["/number"] = np.array(5.0)
    store = blosc2.EmbedStore("others.b2e", mode="w")
    store["/bytes"] = blosc2.SChunk(data=VALUES)
    store["/number"] = np.array(5.0)
    store["/empty"] = np.zeros((0, 3))
    yield Form("others.b2e/bytes", "others.b2e/bytes", VALUES.tobytes(),
               words=MEMBER)
    yield member("others.b2e/number", np.array(5.0))
    yield member("others.b2e/empty", np.zeros((0, 3)))


def zipped_stores():
    with blosc2.DictStore("dict.b2z", mode="w", threshold=1000) as store:
        store["/large"] = VALUES
        store["/small"] = VALUES[0, :3]
    yield member("dict.b2z/large", VALUES)
    yield member("dict.b2z/embed.b2e/small", VALUES[0, :3])
    with blosc2.TreeStore("tree.b2z", mode="w") as store:
        store["/group/a"] = VALUES
    yield member("tree.b2z/group/a", VALUES)


def table():
    @dataclasses.dataclass
    class Row:
        number: int = blosc2.field(blosc2.int64())
        ratio: float = blosc2.field(blosc2.float64())

    made = blosc2.CTable(Row, urlpath="table.b2d", mode="w")
    made.extend([(i, i / 2) for i in range(100)])
    made.close()
    numbers = np.arange(100)
    yield array("table.b2d/_cols/number.b2nd", numbers)
    yield array("table.b2d/_cols/ratio.b2nd", numbers / 2)
    yield array("table.b2d/_valid_rows.b2nd", np.ones(100, bool))


# Columns: the names in a table, their cells, and the shown bytes.
COLUMNS = [
    ("string", str, lambda: blosc2.string(max_length=4), ["a", "bb"],
     {"c.b2nd": np.array(["a", "bb"], "<U4")}),
    ("utf8", str, blosc2.utf8, ["a", "bb"],
     {"c.b2nd": np.array([0, 1, 3]), "c.utf8.b2nd": np.array([97, 98, 98],
                                                             "u1")}),
    ("vlstring", str, blosc2.vlstring, ["a", "bb"], {"c.b2b": COLUMN}),
    ("vlbytes", bytes, blosc2.vlbytes, [b"a", b"bb"], {"c.b2b": COLUMN}),
    ("object", object, blosc2.object, [1, {"a": 2}], {"c.b2b": COLUMN}),
    ("list", list[int], lambda: blosc2.list(blosc2.int64()), [[1], [2, 3]],
     {"c.b2b": "it is a ListArray"}),
    ("dictionary", str, blosc2.dictionary, ["a", "bb"],
     {"c.b2nd": np.array([0, 1], "<i4"), "c_dict.b2b": COLUMN}),
    ("bytes", bytes, lambda: blosc2.bytes(max_length=3), [b"x", b"yy"],
     {"c.b2nd": np.array([b"x", b"yy"], "S3")}),
    ("complex", complex, blosc2.complex128, [1j, 2],
     {"c.b2nd": np.array([1j, 2])}),
    ("timestamp", datetime.datetime, blosc2.timestamp,
     [np.datetime64("1970-01-01"), np.datetime64("1970-01-02")],
     {"c.b2nd": np.array([0, 86400000000])}),
    ("nullable", int, lambda: blosc2.int64(nullable=True), [7, None],
     {"c.b2nd": np.array([7, 0]), "c.notnull.b2nd": np.array([True, False])}),
    ("struct", dict, lambda: blosc2.struct({"a": blosc2.int64()}),
     [{"a": 1}, {"a": 2}], {"c.b2b": COLUMN}),
    ("ndarray", np.ndarray, lambda: blosc2.ndarray((2,), blosc2.float64()),
     [np.zeros(2), np.ones(2)], {"c.b2nd": np.array([[0.0, 0], [1, 1]])}),
]


def columns_of_tables():
    for kind, python, spec, cells, shown in COLUMNS:
        row = dataclasses.make_dataclass("Row", [
            ("c", python, blosc2.field(spec()))])
        made = blosc2.CTable(row, urlpath=f"{kind}.b2d", mode="w")
        made.extend([(x,) for x in cells])
        made.close()
        for name, values in shown.items():
            path = f"{kind}.b2d/_cols/{name}"
            yield (refused(path, values) if isinstance(values, str)
                   else array(path, values))


def results_of_functions():
    """Arrays that blosc2's functions make on disk, by a path."""
    one, path = blosc2.asarray(VALUES), "{}.b2nd".format
    blosc2.eye(10, urlpath=path("eye"))
    yield array(path("eye"), np.eye(10))
    blosc2.linspace(0, 1, 50, urlpath=path("linspace"))
    yield array(path("linspace"), blosc2.linspace(0, 1, 50)[:])
    blosc2.concat([one, one], axis=1, urlpath=path("concat"))
    yield array(path("concat"), np.concatenate([VALUES, VALUES], axis=1))
    blosc2.stack([one, one], axis=0, urlpath=path("stack"))
    yield array(path("stack"), np.stack([VALUES, VALUES]))
    (one + 1).compute(urlpath=path("computed"))
    yield array(path("computed"), VALUES + 1)
    one.copy(urlpath=path("copied"))
    yield array(path("copied"), VALUES)
    one.save(path("saved_by_itself"))
    yield array(path("saved_by_itself"), VALUES)
    blosc2.asarray(VALUES, urlpath=path("mapped"), mmap_mode="w+")
    yield array(path("mapped"), VALUES)


def tables_in_stores():
    row = dataclasses.make_dataclass("Row", [
        ("c", int, blosc2.field(blosc2.int64()))])
    table = blosc2.CTable(row)
    table.extend([(i,) for i in range(5)])
    for suffix in "b2d", "b2z":
        with blosc2.TreeStore(f"tables.{suffix}", mode="w") as store:
            store["/g/table"] = table
            store["/g/dots.and ä"] = VALUES
    yield array("tables.b2d/g/table/_cols/c.b2nd", np.arange(5))
    yield array("tables.b2d/g/dots.and ä.b2nd", VALUES)
    yield member("tables.b2z/g/table/_cols/c", np.arange(5))
    yield member("tables.b2z/g/dots.and ä", VALUES)


SINGLE = [packed, serialized, indexed, tree_store, dict_store, embed_store,
          stores_of_other_objects, zipped_stores, table, columns_of_tables,
          results_of_functions, tables_in_stores]


# ---- checks ----


def check_read(form, top):
    path = top / form.shown
    if form.content is None:
        for flags in os.O_RDONLY, os.O_RDWR:
            assert error_of(os.open, path, flags) == errno.EOPNOTSUPP, form
    else:
        assert path.read_bytes() == form.content, "other bytes"
        assert path.stat().st_size == len(form.content), form
    npy = pathlib.Path(f"{path}.npy")
    assert npy.exists() == (form.array is not None), form
    if form.array is not None:
        found = np.load(npy)
        assert found.dtype == form.array.dtype, form
        assert np.array_equal(found, form.array), form


def value(path):
    """All data that python-blosc2 reads from @path, as bytes."""
    # Not the data for which a proxy stands.
    opened = blosc2.blosc2_ext.open(str(path), "r", 0)
    if isinstance(opened, blosc2.NDArray):
        return np.ascontiguousarray(opened[...]).tobytes()
    # A slice divides by the chunk size, which need not be one.
    return b"".join(map(opened.decompress_chunk, range(opened.nchunks)))


def check_write(form, top, source):
    """Reads the first bytes: all of these have at least one item."""
    path = top / form.shown
    if form.words:
        if form.content is not None:
            assert error_of(os.open, path, os.O_RDWR) == errno.EROFS, form
        return
    with open(path, "r+b", buffering=0) as f:
        f.write(form.content[-8:][:4])
    want = form.content[-8:][:4] + form.content[4:]
    assert path.read_bytes() == want, "not written"
    if form.path != form.shown:
        assert value(source / form.path) == want, \
            "python-blosc2 reads other bytes"


def check_info(form, top):
    if form.shown.endswith(".bin"):
        return
    told = json.loads(os.getxattr(top / form.shown, "user.blosc2.info"))
    assert told["writable"] == (not form.words), told
    if form.words:
        assert form.words.removeprefix("it is ").removeprefix(
            "it stands for ") in json.dumps(told), told


def check_form(form, scratch):
    """Returns what differs from the table, or None."""
    try:
        check_read(form, scratch.path)
        check_info(form, scratch.path)
        check_write(form, scratch.path, scratch.source)
        # A member is refused as a part of a store, before it is opened.
        if form.words not in (None, MEMBER):
            scratch.mount.wait_for_log(f"{form.path}: ")
            assert form.words in scratch.mount.log(), "no words"
    except Exception:
        return f"{form}:\n{traceback.format_exc(limit=-1)}"
    return None


def check_forms(forms):
    with Scratch("attr_timeout=0", "entry_timeout=0") as scratch:
        failures = [*filter(None, (check_form(x, scratch) for x in forms))]
    assert not failures, f"{len(failures)}:\n" + "\n".join(failures)


def make(makers):
    os.mkdir("src")
    os.chdir("src")
    forms = [form for maker in makers for form in maker()]
    os.chdir("..")
    return forms


def in_storage(contiguous):
    return [lambda maker=maker: [maker(maker.__name__, contiguous=contiguous)]
            for maker in ONE_FRAME]


def test_contiguous_frames():
    check_forms(make(in_storage(True)))


def test_sparse_frames():
    check_forms(make(in_storage(False)))


def test_what_there_is_in_one_form():
    check_forms(make(SINGLE))


main()
