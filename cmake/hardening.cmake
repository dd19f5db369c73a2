# SPDX-License-Identifier: BSD-3-Clause
# Protections of compiler and linker against exploits, in every build without
# sanitizers: stack protector, FORTIFY, CET, position-independent programs, a
# read-only table of functions.  tests/install/test_library.py checks them.
include(CheckCCompilerFlag)
include(CheckLinkerFlag)
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)

add_library(b2f_hardening INTERFACE)
foreach(flag -fstack-protector-strong -fstack-clash-protection
		-fcf-protection=full)
	string(MAKE_C_IDENTIFIER "B2F_HAVE${flag}" have)
	check_c_compiler_flag(${flag} ${have})
	if(${have})
		target_compile_options(b2f_hardening INTERFACE ${flag})
	endif()
endforeach()
# ibt and shstk: a start file without the marks of CET, as in Debian 12, removes
# them from the whole program unless the linker is told to set them.  The loader
# still asks every library.
foreach(word relro now noexecstack ibt shstk)
	check_linker_flag(C LINKER:-z,${word} B2F_HAVE_LD_${word})
	if(B2F_HAVE_LD_${word})
		target_link_options(b2f_hardening INTERFACE LINKER:-z,${word})
	endif()
endforeach()
# FORTIFY needs optimization; a distribution that sets it chooses the level.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug" AND
		NOT CMAKE_C_FLAGS MATCHES "_FORTIFY_SOURCE")
	target_compile_options(b2f_hardening INTERFACE
		-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
