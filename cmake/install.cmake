# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` puts where.
install(TARGETS b2frame)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/b2frame
	DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
configure_file(${CMAKE_SOURCE_DIR}/cmake/b2frame.pc.in b2frame.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/b2frame.pc
	DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

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
