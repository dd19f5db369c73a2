# SPDX-License-Identifier: BSD-3-Clause
# build.sh - where the programs under test are; source it, with here=tests/KIND
#
# ctest says so in the environment.  A test that is started by hand takes the
# build directory in which bloscfs is newest.
: "${B2F_SOURCE:=$(cd "$here/../.." && pwd)}"
: "${B2F_PYTHON:=$B2F_SOURCE/.venv/bin/python}"
if [ -z "${B2F_BUILD:-}" ]; then
	B2F_BUILD=$(ls -t "$B2F_SOURCE"/build/*/bloscfs 2>/dev/null | head -n 1)
	B2F_BUILD=${B2F_BUILD%/bloscfs}
	: "${B2F_BUILD:?there is no build; scripts/test quick makes one}"
fi
export B2F_SOURCE B2F_PYTHON B2F_BUILD
