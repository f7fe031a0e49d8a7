# Debian packages, by `cpack` in a build folder (packages/build makes them as they should be):
#
#     sutra          program, manual pages, completions; its other names as alternatives (packages/deb/postinst)
#     sutra-mpi      the program for MPI jobs, if the build has it
#     libsutra0      the shared library
#     libsutra-dev   headers, static library, pkg-config file, CMake package
#
# Times in them are SOURCE_DATE_EPOCH's, where that is set, so that two builds give the same bytes.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "sutra developers <sutra@localhost.invalid>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_COMPONENTS_ALL program runtime development)
set(COMPONENT_OF_PACKAGES sutra:program libsutra${PROJECT_VERSION_MAJOR}:runtime libsutra-dev:development)
if(TARGET sutra-mpi)
  list(APPEND CPACK_COMPONENTS_ALL mpi)
  list(APPEND COMPONENT_OF_PACKAGES sutra-mpi:mpi)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(DEB ${PROJECT_SOURCE_DIR}/packages/deb)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME sutra)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_CONTROL_EXTRA ${DEB}/postinst ${DEB}/prerm)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "links and analyzes PyTorch traces of GPUs
Links the execution trace and the Kineto trace that PyTorch records for a rank
into one, finds critical paths, and says where the time of many ranks went.")
# Debian's zsh does not search site-functions below /usr.
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/made/_sutra DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions
  COMPONENT program EXCLUDE_FROM_ALL)
# Manual pages of the alternatives, under names that no other package has.
foreach(name ${SUTRA_NAMES})
  install(FILES ${MANUAL_PAGES}/${name}.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 RENAME sutra.${name}.1.gz
    COMPONENT program EXCLUDE_FROM_ALL)
endforeach()
set(CPACK_DEBIAN_MPI_PACKAGE_NAME sutra-mpi)
set(CPACK_DEBIAN_MPI_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_MPI_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_MPI_PACKAGE_DEPENDS "sutra (= ${PROJECT_VERSION})") # manual page
set(CPACK_DEBIAN_MPI_PACKAGE_RECOMMENDS mpi-default-bin) # mpirun
set(CPACK_COMPONENT_MPI_DESCRIPTION "links and analyzes PyTorch traces of GPUs: for MPI jobs
Links and analyzes the traces of all ranks with the processes of an MPI job,
on one machine or many.")
set(CPACK_DEBIAN_RUNTIME_PACKAGE_NAME libsutra${PROJECT_VERSION_MAJOR})
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_RUNTIME_PACKAGE_CONTROL_EXTRA ${DEB}/triggers ${CMAKE_CURRENT_BINARY_DIR}/deb/shlibs)
set(CPACK_COMPONENT_RUNTIME_DESCRIPTION "PyTorch traces of GPUs: shared library
All that the program sutra does with traces, for other programs.")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libsutra-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "libsutra${PROJECT_VERSION_MAJOR} (= ${PROJECT_VERSION}), libdeflate-dev, libzstd-dev")
if(SQLITE_FOUND)
  string(APPEND CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS ", libsqlite3-dev")
endif()
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "PyTorch traces of GPUs: headers and static library
For building programs that use libsutra.")

# What each package says about itself.
string(TIMESTAMP CHANGELOG_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(READ ${PROJECT_SOURCE_DIR}/LICENSE LICENSE_TEXT)
string(REGEX REPLACE "^[^\n]*\n\n[^\n]*\n\n" "" LICENSE_TEXT "${LICENSE_TEXT}")
string(STRIP "${LICENSE_TEXT}" LICENSE_TEXT)
string(REGEX REPLACE "\n\n" "\n.\n" LICENSE_TEXT "${LICENSE_TEXT}")
string(REGEX REPLACE "\n" "\n " LICENSE_TEXT " ${LICENSE_TEXT}")
configure_file(packages/deb/copyright.in deb/copyright @ONLY)
configure_file(packages/deb/changelog.in deb/changelog @ONLY)
configure_file(packages/deb/shlibs.in deb/shlibs @ONLY)
find_program(GZIP gzip)
if(GZIP)
  execute_process(COMMAND ${GZIP} -9nkf ${CMAKE_CURRENT_BINARY_DIR}/deb/changelog)
endif()
foreach(pair ${COMPONENT_OF_PACKAGES})
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 package)
  list(GET pair 1 component)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/deb/copyright ${CMAKE_CURRENT_BINARY_DIR}/deb/changelog.gz
    DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component} EXCLUDE_FROM_ALL OPTIONAL)
endforeach()

include(CPack)
