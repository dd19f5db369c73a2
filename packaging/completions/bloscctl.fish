# SPDX-License-Identifier: BSD-3-Clause
# fish completion of bloscctl; commands and options are those that --help lists

function __bloscctl_commands
    bloscctl --help 2>/dev/null | string replace -rf '^  ([a-z]+)  +(.*)' '$1\t$2'
end

function __bloscctl_options
    set -l words (commandline -opc)
    bloscctl $words[2] --help 2>/dev/null |
        string match -ra -- '(?:^ +|, )--?[a-zA-Z0-9][a-z0-9-]*=?' |
        string replace -r '^[ ,]+' ''
end

# The words that an option of a list takes: what it says if it gets none of them.
function __bloscctl_values
    set -l words (commandline -opc)
    set -l option (commandline -ct | string match -r -- '^--(?:codec|format|filter|typesize|checksum)=')
    test -n "$option"; or return
    bloscctl $words[2] $option 2>&1 </dev/null |
        string replace -rf ".*'' is not (.*)" '$1' |
        sed -E 's/a (number|size|list of)//g; s/ with .*//; s/[,;]? (or|and) |[,;] / /g' |
        string match -ra '\S+' | string replace -r '^' -- $option
end

complete -c bloscctl -n __fish_use_subcommand -f -a '(__bloscctl_commands)'
complete -c bloscctl -n 'not __fish_use_subcommand; and string match -q -- "-*" (commandline -ct)' -a '(__bloscctl_options)'
complete -c bloscctl -n 'not __fish_use_subcommand' -a '(__bloscctl_values)'
