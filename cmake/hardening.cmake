# SPDX-License-Identifier: BSD-3-Clause
# Protections of compiler and linker against exploits, in every build but those for
# debugging: stack protector, FORTIFY, CET, programs at any address, a table of
# functions that nothing can write to.  tests/install/test_library.py looks for it.
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
# The last two: one start file without the marks of CET, as Debian 12 has them,
# takes them from the whole program.  The loader asks all libraries besides.
foreach(word relro now noexecstack ibt shstk)
	check_linker_flag(C LINKER:-z,${word} B2F_HAVE_LD_${word})
	if(B2F_HAVE_LD_${word})
		target_link_options(b2f_hardening INTERFACE LINKER:-z,${word})
	endif()
endforeach()
# It takes optimization, and a distribution that sets it knows the level it wants.
if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug" AND
		NOT CMAKE_C_FLAGS MATCHES "_FORTIFY_SOURCE")
	target_compile_options(b2f_hardening INTERFACE
		-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
endif()
