#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# test_ls.sh - bloscctl ls
. "$(dirname "$0")/lib.sh"

mkdir -p tree/sub
(cd tree && frames small.b2frame flat.b2frame huge.b2frame && rm ./*.data)
(cd tree/sub && frames array.b2nd && rm -f ./*.data)
echo hello >tree/text
ln -s small.b2frame tree/link
mkdir tree/broken.b2frame
echo nonsense >tree/broken.b2frame/chunks.b2frame

# names FILE...: exactly these are listed, in this order.
names() {
	printf '%s\n' NAME "$@" >want
	sed -E 's/.* //' .out >got
	same got want
}

runs 0 ls tree
names tree/{broken,flat,huge,small}.b2frame
errors 0
says '^contiguous +641\.0 KiB +[0-9.]+ KiB +[0-9.]+  tree/flat\.b2frame$'
says '^sparse +8\.0 GiB +0 B +-  tree/huge\.b2frame$'
says '^broken +- +- +-  tree/broken\.b2frame$'

cd tree
run ls
cd ..
names {broken,flat,huge,small}.b2frame
runs 0 ls -r tree
names tree/{broken,flat,huge,small}.b2frame tree/sub/array.b2nd
runs 0 ls -a tree
names tree/{broken.b2frame,flat.b2frame,huge.b2frame,link,small.b2frame,sub,text}
says '^- +- +- +-  tree/text$'
says '^STORAGE +SIZE +STORED +RATIO  NAME$'

chmod 600 tree/flat.b2frame
touch -d 2001-02-03T04:05:06Z tree/flat.b2frame
runs 0 ls -l tree
says '^0600  contiguous +656360 +[0-9]+ +[0-9.]+  2001-02-03 04:05  tree/flat\.b2frame$'

runs 0 ls -lq tree
[ "$(wc -l <.out)" = 4 ] || die "-q has a heading"

# Operands may be frames, and links to them.
runs 0 ls tree/small.b2frame tree/flat.b2frame tree/link
names tree/{small,flat}.b2frame tree/link
says '^sparse .* tree/link$'
runs 1 ls tree/text
says_on_stderr '^bloscctl: tree/text: it is no frame$'
runs 1 ls missing tree
names tree/{broken,flat,huge,small}.b2frame
errors 1

runs 0 ls --json -r tree
"$B2F_PYTHON" - <<'END' || die "--json"
import json
x = json.load(open(".out"))
assert [y["name"] for y in x] == [
    "tree/broken.b2frame", "tree/flat.b2frame", "tree/huge.b2frame",
    "tree/small.b2frame", "tree/sub/array.b2nd"], x
assert [y["storage"] for y in x] == [
    "broken", "contiguous", "sparse", "sparse", "contiguous"], x
assert x[1]["nbytes"] == 656360 and x[1]["mtime"] == 981173106, x
assert "nbytes" not in x[0], x
END

# --tree shows types and shapes.
runs 0 ls --tree tree
says '^STORAGE +SIZE +STORED +RATIO  DTYPE +SHAPE +NAME$'
says '^ +tree/$'
says '^contiguous .*  -  +-  +  flat\.b2frame$'
says '^broken .* broken\.b2frame$'
says '^ +sub/$'
says '^[a-z]+ +2\.3 KiB .*  <f4 +\(20, 30\) +array\.b2nd$'
runs 0 ls --tree --json tree
"$B2F_PYTHON" - <<'END' || die "--tree --json"
import json
x = json.load(open(".out"))
assert x[-1]["shape"] == [20, 30] and x[-1]["dtype"] == "<f4", x
assert "shape" not in x[1], x
END

mkdir nothing
runs 0 ls --json nothing
[ "$(cat .out)" = '[]' ] || die "not an empty array"
runs 0 ls nothing
is_silent
cp tree/flat.b2frame $'nothing/\xff\n'
runs 0 ls --json nothing
"$B2F_PYTHON" -c 'import json; json.load(open(".out"))' || die "no JSON"
runs 1 ls --json tree missing
"$B2F_PYTHON" - <<'END' || die "errors are objects"
import json
x = json.load(open(".out"))
assert x[-1]["source"] == "missing" and "No such file" in x[-1]["error"], x
assert len(x) == 5 and all(y["schema"] == 1 for y in x), x
END
on_terminal "$bloscctl ls nothing"
says 'nothing/\\xff\\x0a'
