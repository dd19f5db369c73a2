# SPDX-License-Identifier: BSD-3-Clause
# `cpack` makes Debian packages: bloscfs, libb2frame1 and libb2frame-dev.
#
# Configure with -DCMAKE_INSTALL_PREFIX=/usr, so that libraries and units are
# where Debian looks for them.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(B2F_MAINTAINER "bloscfs authors <bloscfs@example.org>" CACHE STRING
	"Who answers for the Debian packages: name and mail address")
set(CPACK_PACKAGE_CONTACT "${B2F_MAINTAINER}")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL bloscfs library dev)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Of files that are made while the caller's umask is whatever it is.
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
	OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
	WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_BLOSCFS_PACKAGE_NAME bloscfs)
set(CPACK_DEBIAN_BLOSCFS_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_BLOSCFS_PACKAGE_DEPENDS fuse3)
# Otherwise the summary of all would stand before that of each.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")
# The first line is the summary; the others have to fit a terminal.
set(CPACK_DEBIAN_BLOSCFS_DESCRIPTION "Blosc2 frames as plain files
Mounts Blosc2 frames, and directories of them, with FUSE: any program
reads and writes what they hold. With it comes bloscctl, which makes,
shows, checks and changes frames.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libb2frame1)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIBRARY_DESCRIPTION "library that reads and writes Blosc2 frames
The shared library for programs that use frames without a mount.")
# The linker's cache is renewed by a trigger, and by the calls that cpack adds.
file(WRITE ${CMAKE_BINARY_DIR}/shlibs
	"libb2frame 1 libb2frame1 (>= ${PROJECT_VERSION})
")
file(WRITE ${CMAKE_BINARY_DIR}/triggers "activate-noawait ldconfig
")
file(CHMOD ${CMAKE_BINARY_DIR}/shlibs ${CMAKE_BINARY_DIR}/triggers
	PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_CONTROL_EXTRA
	"${CMAKE_BINARY_DIR}/shlibs;${CMAKE_BINARY_DIR}/triggers")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libb2frame-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libb2frame1 (= ${PROJECT_VERSION}), \
liblz4-dev, libzstd-dev, zlib1g-dev, libxxhash-dev, libjansson-dev, libcurl4-openssl-dev, libexpat1-dev, \
libssl-dev")
set(CPACK_DEBIAN_DEV_DESCRIPTION "library that reads and writes Blosc2 frames (development)
Headers, static library, manual page and examples.")
include(CPack)
