# SPDX-License-Identifier: BSD-3-Clause
# bash completion of bloscctl; commands and options come from --help

_bloscctl_commands() {
	"${1:-bloscctl}" --help 2>/dev/null |
		sed -nE 's/^  ([a-z]+)  +.*/\1/p'
}

_bloscctl_options() {
	"${1:-bloscctl}" "$2" --help 2>/dev/null |
		grep -oE -- '(^ +|, )--?[a-zA-Z0-9][a-z0-9-]*=?' |
		sed -E 's/^[ ,]+//'
}

# The values of an option that takes one of a list, from the message for an
# empty value.
_bloscctl_values() {
	"${1:-bloscctl}" "$2" "$3=" 2>&1 </dev/null |
		sed -nE "s/.*'' is not (.*)/\1/p" | sed -E 's/a (number|size|list of)//g; s/ with .*//; s/[,;]? (or|and) |[,;] / /g'
}

_bloscctl() {
	local cur=${COMP_WORDS[COMP_CWORD]} option=

	# "--codec=zs" is three words for bash.
	if [ "$cur" = '=' ]; then
		option=${COMP_WORDS[COMP_CWORD - 1]} cur=
	elif [ "$COMP_CWORD" -ge 2 ] && [ "${COMP_WORDS[COMP_CWORD - 1]}" = '=' ]; then
		option=${COMP_WORDS[COMP_CWORD - 2]}
	fi
	case $option in
	--codec | --format | --filter | --typesize | --checksum)
		mapfile -t COMPREPLY < <(compgen -W \
			"$(_bloscctl_values "$1" "${COMP_WORDS[1]}" "$option")" -- "$cur")
		return ;;
	esac
	if [ "$COMP_CWORD" -eq 1 ]; then
		mapfile -t COMPREPLY < <(compgen -W \
			"$(_bloscctl_commands "$1") --help --version" -- "$cur")
	elif [[ $cur == -* ]]; then
		mapfile -t COMPREPLY < <(compgen -W \
			"$(_bloscctl_options "$1" "${COMP_WORDS[1]}")" -- "$cur")
		[[ ${COMPREPLY[0]-} != *= ]] || compopt -o nospace
	else
		compopt -o filenames
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
	fi
}
complete -F _bloscctl bloscctl
