# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` puts where.
include(CMakePackageConfigHelpers)

install(TARGETS b2frame_shared EXPORT b2frame
	LIBRARY NAMELINK_SKIP)
install(TARGETS b2frame_shared
	LIBRARY NAMELINK_ONLY)
install(TARGETS b2frame)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/b2frame
	DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})

# For pkg-config, and for find_package(b2frame CONFIG) with the target
# b2frame::b2frame.
file(RELATIVE_PATH B2F_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_SOURCE_DIR}/cmake/b2frame.pc.in b2frame.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/b2frame.pc
	DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/b2frame)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/b2frame-config-version.cmake
	COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/b2frame-config-version.cmake
	DESTINATION ${package_dir})
install(EXPORT b2frame FILE b2frame-config.cmake NAMESPACE b2frame::
	DESTINATION ${package_dir})

file(GLOB man_pages ${CMAKE_SOURCE_DIR}/docs/*.1)
install(FILES ${man_pages} DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${CMAKE_SOURCE_DIR}/LICENSE ${CMAKE_SOURCE_DIR}/README.md
	DESTINATION ${CMAKE_INSTALL_DOCDIR})

# mount(8) and umount(8) run these for the types "bloscfs" and "fuse.bloscfs".
function(install_helpers verb program)
	foreach(type bloscfs fuse.bloscfs)
		install(CODE "
		set(dir \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/sbin\")
		file(MAKE_DIRECTORY \"\${dir}\")
		file(CREATE_LINK ../${CMAKE_INSTALL_BINDIR}/${program}
			\"\${dir}/${verb}.${type}\" SYMBOLIC)")
	endforeach()
endfunction()
install_helpers(mount bloscfs)
install_helpers(umount bloscctl)
