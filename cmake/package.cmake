# SPDX-License-Identifier: BSD-3-Clause
# `cpack` makes Debian packages: bloscfs, libb2frame1 and libb2frame-dev.
#
# Configure with -DCMAKE_INSTALL_PREFIX=/usr, so that libraries and units are
# where Debian looks for them.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_PACKAGE_CONTACT "the bloscfs authors <bloscfs@localhost>")
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL bloscfs library dev)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
# Of files that are made while the caller's umask is whatever it is.
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
	OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
	WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_BLOSCFS_PACKAGE_NAME bloscfs)
set(CPACK_DEBIAN_BLOSCFS_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_BLOSCFS_PACKAGE_DEPENDS fuse3)
set(CPACK_COMPONENT_BLOSCFS_DESCRIPTION
	"Blosc2 frames as plain files\nMounts frames and directories of frames with FUSE; bloscctl makes, shows and checks them.")

set(CPACK_DEBIAN_LIBRARY_PACKAGE_NAME libb2frame1)
set(CPACK_DEBIAN_LIBRARY_PACKAGE_SECTION libs)
set(CPACK_COMPONENT_LIBRARY_DESCRIPTION
	"library that reads and writes Blosc2 frames\nThe shared library.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libb2frame-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_SHLIBDEPS OFF)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS "libb2frame1 (= ${PROJECT_VERSION}), \
liblz4-dev, libzstd-dev, zlib1g-dev, libxxhash-dev, libjansson-dev, \
libssl-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION
	"library that reads and writes Blosc2 frames (development)\nHeaders, static library and examples.")
include(CPack)
