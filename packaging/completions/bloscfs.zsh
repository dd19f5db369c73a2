#compdef bloscfs
# SPDX-License-Identifier: BSD-3-Clause
# zsh completion of bloscfs; the options are those that --help lists

local -a found

if [[ $words[CURRENT-1] == -o ]]; then
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
