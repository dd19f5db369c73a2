# SPDX-License-Identifier: BSD-3-Clause
# Finds the libraries by pkg-config; the message for a missing library names its
# Debian package.
find_package(PkgConfig)
if(NOT PKG_CONFIG_FOUND)
	message(FATAL_ERROR "pkg-config is missing: apt-get install pkg-config")
endif()
set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

# b2f_require(NAME "module>=version" debian-package)
function(b2f_require name module package)
	pkg_check_modules(${name} IMPORTED_TARGET GLOBAL QUIET ${module})
	if(NOT ${name}_FOUND)
		message(FATAL_ERROR
			"${module} is missing: apt-get install ${package}")
	endif()
	set(${name}_VERSION "${${name}_VERSION}" PARENT_SCOPE)
endfunction()

b2f_require(FUSE3 "fuse3>=3.14" libfuse3-dev)
b2f_require(LZ4 "liblz4>=1.9" liblz4-dev)
b2f_require(ZSTD "libzstd>=1.4.8" libzstd-dev)
b2f_require(ZLIB "zlib>=1.2.11" zlib1g-dev)
b2f_require(XXHASH "libxxhash>=0.8" libxxhash-dev)
b2f_require(JANSSON "jansson>=2.12" libjansson-dev)
b2f_require(NETTLE "nettle>=3.4" nettle-dev)
if(B2F_REMOTE)
	# Its headers: src/remote/curl.c loads the library.
	b2f_require(CURL "libcurl>=7.85" libcurl4-openssl-dev)
	b2f_require(EXPAT "expat>=2.4" libexpat1-dev)
	set(B2F_EXPAT_MODULE " expat")
endif()
# uthash is a single header, without a .pc file.
find_path(UTHASH_INCLUDE_DIR uthash.h)
if(NOT UTHASH_INCLUDE_DIR)
	message(FATAL_ERROR "uthash.h is missing: apt-get install uthash-dev")
endif()
if(B2F_TESTS)
	b2f_require(CRITERION "criterion>=2.4" libcriterion-dev)
endif()
