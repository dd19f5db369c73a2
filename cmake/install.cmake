# SPDX-License-Identifier: BSD-3-Clause
# What `cmake --install` puts where; each component is a package (package.cmake).
include(CMakePackageConfigHelpers)

install(TARGETS b2frame_shared EXPORT b2frame
	LIBRARY NAMELINK_SKIP COMPONENT library)
install(TARGETS b2frame_shared
	LIBRARY NAMELINK_ONLY COMPONENT dev)
install(TARGETS b2frame COMPONENT dev)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/b2frame
	DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples
	DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libb2frame-dev COMPONENT dev)

# For pkg-config, and for find_package(b2frame CONFIG) with the target
# b2frame::b2frame.
file(RELATIVE_PATH B2F_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_SOURCE_DIR}/cmake/b2frame.pc.in b2frame.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/b2frame.pc
	DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT dev)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/b2frame)
write_basic_package_version_file(
	${CMAKE_BINARY_DIR}/b2frame-config-version.cmake
	COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/b2frame-config-version.cmake
	DESTINATION ${package_dir} COMPONENT dev)
install(EXPORT b2frame FILE b2frame-config.cmake NAMESPACE b2frame::
	DESTINATION ${package_dir} COMPONENT dev)

# install_compressed(FILE DIRECTORY NAME COMPONENT): as NAME.gz, without a time.
function(install_compressed file directory name component)
	install(FILES ${file} DESTINATION ${directory} RENAME ${name}
		COMPONENT ${component})
	install(CODE "execute_process(COMMAND gzip -9nf
		\"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${directory}/${name}\"
		COMMAND_ERROR_IS_FATAL ANY)" COMPONENT ${component})
endfunction()
foreach(page bloscfs.1 bloscctl.1 bloscfs.5 libb2frame.3)
	string(REGEX MATCH ".$" section ${page})
	set(component bloscfs)
	if(section EQUAL 3)
		set(component dev)
	endif()
	install_compressed(${CMAKE_SOURCE_DIR}/docs/${page}
		${CMAKE_INSTALL_MANDIR}/man${section} ${page} ${component})
endforeach()
install(FILES ${CMAKE_SOURCE_DIR}/README.md
	DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT bloscfs)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs
	DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT bloscfs
	FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png")
# Each Debian package has the licence under its own name.
foreach(package bloscfs/bloscfs library/libb2frame1 dev/libb2frame-dev)
	cmake_path(GET package PARENT_PATH component)
	cmake_path(GET package FILENAME name)
	install(FILES ${CMAKE_SOURCE_DIR}/LICENSE
		DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${name}
		RENAME copyright COMPONENT ${component})
	install_compressed(${CMAKE_SOURCE_DIR}/packaging/changelog
		${CMAKE_INSTALL_DATADIR}/doc/${name} changelog ${component})
endforeach()

# install_renamed(FILE DIRECTORY NAME)
function(install_renamed file directory name)
	install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${directory}
		RENAME ${name} COMPONENT bloscfs)
endfunction()
set(completions ${CMAKE_SOURCE_DIR}/packaging/completions)
foreach(program bloscfs bloscctl)
	install_renamed(${completions}/${program}.bash
		bash-completion/completions ${program})
	install_renamed(${completions}/${program}.zsh
		zsh/vendor-completions _${program})
	install_renamed(${completions}/${program}.fish
		fish/vendor_completions.d ${program}.fish)
endforeach()

# systemd looks into lib/, whatever the directory of libraries is.
set(units ${CMAKE_SOURCE_DIR}/packaging/systemd)
install(FILES ${units}/bloscfs@.service
	DESTINATION lib/systemd/system COMPONENT bloscfs)
install(FILES ${units}/srv-run7.mount ${units}/srv-run7.automount
	DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/bloscfs/examples
	COMPONENT bloscfs)

# mount(8) and umount(8) run these for the types "bloscfs" and "fuse.bloscfs".
function(install_helpers verb program)
	foreach(type bloscfs fuse.bloscfs)
		install(CODE "
		set(dir \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/sbin\")
		file(MAKE_DIRECTORY \"\${dir}\")
		file(CREATE_LINK ../${CMAKE_INSTALL_BINDIR}/${program}
			\"\${dir}/${verb}.${type}\" SYMBOLIC)
		set(dir \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_MANDIR}/man8\")
		file(MAKE_DIRECTORY \"\${dir}\")
		file(CREATE_LINK ../man1/${program}.1.gz
			\"\${dir}/${verb}.${type}.8.gz\" SYMBOLIC)"
			COMPONENT bloscfs)
	endforeach()
endfunction()
install_helpers(mount bloscfs)
install_helpers(umount bloscctl)
