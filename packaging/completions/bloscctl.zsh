#compdef bloscctl
# SPDX-License-Identifier: BSD-3-Clause
# zsh completion of bloscctl; commands and options are those that --help lists

local -a found

if (( CURRENT == 2 )); then
	found=(${(f)"$(bloscctl --help 2>/dev/null |
		sed -nE 's/^  ([a-z]+)  +(.*)/\1:\2/p')"})
	_describe command found
elif [[ $words[CURRENT] == --(codec|format|filter|typesize|checksum)=* ]]; then
	# bloscctl lists the possible words when it gets an empty one.
	found=($(bloscctl $words[2] "${words[CURRENT]%%=*}=" 2>&1 </dev/null |
		sed -nE "s/.*'' is not (.*)/\1/p" | sed -E 's/a (number|size|list of)//g; s/ with .*//; s/[,;]? (or|and) |[,;] / /g'))
	compset -P '*='
	compadd -- $found
elif [[ $words[CURRENT] == -* ]]; then
	found=(${(f)"$(bloscctl $words[2] --help 2>/dev/null |
		grep -oE -- '(^ +|, )--?[a-zA-Z0-9][a-z0-9-]*=?' |
		sed -E 's/^[ ,]+//')"})
	compadd -S '' -- $found
else
	_files
fi
