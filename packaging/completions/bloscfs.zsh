#compdef bloscfs
# SPDX-License-Identifier: BSD-3-Clause
# zsh completion of bloscfs; the options are those that --help lists

setopt local_options extended_glob
local -a found

# The words that an option of a list takes: what bloscfs says if it gets none of them.
if [[ $words[CURRENT-1] == -o && $words[CURRENT] == (|*,)(codec|filter|typesize|npy|xattr|loglevel)=[^,]# ]]; then
	found=($(bloscfs -o "${${words[CURRENT]##*,}%%=*}=" 2>&1 </dev/null |
		sed -nE "s/.*wrong value '': (.*)/\1/p" | sed -E 's/a (number|size|list of)//g; s/ with .*//; s/[,;]? (or|and) |[,;] / /g'))
	compset -P '*='
	compadd -S '' -- $found
elif [[ $words[CURRENT-1] == -o ]]; then
	found=(${(f)"$(bloscfs --help 2>/dev/null | awk '
		/-o OPT/ { on = 1 }
		on && /^  [a-z]/ {
			more = 1
			for (i = 1; i <= NF && (more || $i ~ /=/); i++) {
				more = sub(/,$/, "", $i)
				sub(/=.*/, "=", $i)
				print $i
			}
		}')"})
	compset -P '*,'
	compadd -S '' -- $found
elif [[ $words[CURRENT] == -* ]]; then
	compadd -- -f -d -s -v -q -h --help -V -o
else
	_files
fi
