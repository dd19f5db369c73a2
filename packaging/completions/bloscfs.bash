# SPDX-License-Identifier: BSD-3-Clause
# bash completion of bloscfs; the options are those that --help lists

# The names that --help lists, each with = behind it if it takes a value.
_bloscfs_options() {
	"${1:-bloscfs}" --help 2>/dev/null | awk '
		/-o OPT/ { on = 1 }
		on && /^  [a-z]/ {
			more = 1
			for (i = 1; i <= NF && (more || $i ~ /=/); i++) {
				more = sub(/,$/, "", $i)
				sub(/=.*/, "=", $i)
				print $i
			}
		}'
}

# The words that an option of a list takes: what it says if it gets none of them.
_bloscfs_values() {
	"${1:-bloscfs}" -o "$2=" 2>&1 </dev/null |
		sed -nE "s/.*wrong value '': (.*)/\1/p" | sed -E 's/a (number|size|list of)//g; s/ with .*//; s/[,;]? (or|and) |[,;] / /g'
}

_bloscfs() {
	local cur=${COMP_WORDS[COMP_CWORD]} i=$((COMP_CWORD - 1))

	# "codec=zstd,cle" is three words for bash.
	while [ "$i" -ge 2 ] && [ "${COMP_WORDS[i]}" = '=' ]; do
		i=$((i - 2))
	done
	local before=${COMP_WORDS[COMP_CWORD - 1]} name=
	if [ "$cur" = '=' ]; then
		name=$before cur=
	elif [ "$before" = '=' ] && [[ $cur != *,* ]]; then
		name=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	name=${name##*,}
	case $name in
	codec | filter | typesize | npy | xattr | loglevel)
		compopt -o nospace
		mapfile -t COMPREPLY < <(compgen \
			-W "$(_bloscfs_values "$1" "$name")" -- "$cur")
		return ;;
	esac
	if [ "${COMP_WORDS[i]}" = -o ] &&
		! { [ "$i" -lt $((COMP_CWORD - 1)) ] && [[ $cur != *,* ]]; }
	then
		before=
		[[ $cur != *,* ]] || before=${cur%,*},
		compopt -o nospace
		mapfile -t COMPREPLY < <(compgen -P "$before" \
			-W "$(_bloscfs_options "$1")" -- "${cur##*,}")
	elif [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen \
			-W '-f -d -s -v -q -h --help -V -o' -- "$cur")
	else
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
}
complete -F _bloscfs bloscfs
