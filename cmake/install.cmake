# SPDX-License-Identifier: BSD-3-Clause
# Destinations of `cmake --install`; debian/*.install says which package gets
# which file.
include(CMakePackageConfigHelpers)

install(TARGETS b2frame_shared EXPORT b2frame
	LIBRARY NAMELINK_SKIP)
install(TARGETS b2frame_shared
	LIBRARY NAMELINK_ONLY)
install(TARGETS b2frame)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/b2frame
	DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples
	DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/libb2frame-dev)

# For pkg-config, and for find_package(b2frame CONFIG) with the target
# b2frame::b2frame.
file(RELATIVE_PATH B2F_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_SOURCE_DIR}/cmake/b2frame.pc.in b2frame.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/b2frame.pc
	DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/b2frame)
write_basic_package_version_file(
	${CMAKE_BINARY_DIR}/b2frame-config-version.cmake
	COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/b2frame-config-version.cmake
	DESTINATION ${package_dir})
install(EXPORT b2frame FILE b2frame-config.cmake NAMESPACE b2frame::
	DESTINATION ${package_dir})

foreach(page bloscfs.1 bloscctl.1 bloscfs.5 libb2frame.3)
	string(REGEX MATCH ".$" section ${page})
	install(FILES ${CMAKE_SOURCE_DIR}/docs/${page}
		DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section})
endforeach()
install(FILES ${CMAKE_SOURCE_DIR}/README.md
	DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs
	DESTINATION ${CMAKE_INSTALL_DOCDIR}
	FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png")

# install_renamed(FILE DIRECTORY NAME)
function(install_renamed file directory name)
	install(FILES ${file} DESTINATION ${CMAKE_INSTALL_DATADIR}/${directory}
		RENAME ${name})
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

# systemd looks into lib/, even where libraries have another directory.
set(units ${CMAKE_SOURCE_DIR}/packaging/systemd)
install(FILES ${units}/bloscfs@.service
	DESTINATION lib/systemd/system)
install(FILES ${units}/srv-run7.mount ${units}/srv-run7.automount
	DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/bloscfs/examples)

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
		file(CREATE_LINK ../man1/${program}.1
			\"\${dir}/${verb}.${type}.8\" SYMBOLIC)")
	endforeach()
endfunction()
install_helpers(mount bloscfs)
install_helpers(umount bloscctl)

# Metadata by which pip and importlib.metadata know the module
# (packaging/python).
configure_file(${CMAKE_SOURCE_DIR}/packaging/python/METADATA.in
	python/bloscfs-${PROJECT_VERSION}.dist-info/METADATA @ONLY)
