# SPDX-License-Identifier: BSD-3-Clause
# fish completion of bloscfs; the options are those that --help lists

# The words that an option of a list takes: what bloscfs says if it gets none of them.
function __bloscfs_values
    set -l before (commandline -ct | string match -r '^(?:.*,)?(?:codec|filter|typesize|npy|xattr|loglevel)=')
    test -n "$before"; or return
    bloscfs -o (string replace -r '.*,' '' -- $before) 2>&1 </dev/null |
        string replace -rf ".*wrong value '': (.*)" '$1' |
        sed -E 's/a (number|size|list of)//g; s/ with .*//; s/[,;]? (or|and) |[,;] / /g' |
        string match -ra '\S+' | string replace -r '^' -- $before
end

function __bloscfs_options
    set -l before (commandline -ct | string match -r '^.*,')
    bloscfs --help 2>/dev/null | awk '
    /-o OPT/ { on = 1 }
    on && /^  [a-z]/ {
        more = 1
        for (i = 1; i <= NF && (more || $i ~ /=/); i++) {
        more = sub(/,$/, "", $i)
        sub(/=.*/, "=", $i)
        print $i
        }
    }' | string replace -r '^' "$before"
end

complete -c bloscfs -s f -d 'stay in the foreground'
complete -c bloscfs -s d -d 'log every request'
complete -c bloscfs -s s -d 'one thread'
complete -c bloscfs -s v -d 'more messages'
complete -c bloscfs -s q -d 'errors only'
complete -c bloscfs -s h -d 'help'
complete -c bloscfs -l help -d 'help with all options'
complete -c bloscfs -s V -d 'versions'
complete -c bloscfs -s o -x -d 'mount options' -a '(__bloscfs_options; __bloscfs_values)'
