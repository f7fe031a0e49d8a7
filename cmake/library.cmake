# libsutra.so and libsutra.a from the same objects, with the public functions as their only symbols.
#
#   objects --> libsutra.so                      hidden symbols stay inside by themselves, those of C++ by libsutra.map
#      \------> ld -r, objcopy --> libsutra.a    one object whose hidden symbols have been made local
#
# `ld -r` needs machine code in the objects, so they are built without link-time optimisation.
set_target_properties(sutra_host sutra_cuda PROPERTIES INTERPROCEDURAL_OPTIMIZATION OFF)

add_library(sutra_shared SHARED)
target_include_directories(sutra_shared INTERFACE $<INSTALL_INTERFACE:include>)
target_link_libraries(sutra_shared PRIVATE sutra_objects)
set(VERSION_SCRIPT ${CMAKE_CURRENT_SOURCE_DIR}/cmake/libsutra.map)
target_link_options(sutra_shared PRIVATE -Wl,--version-script=${VERSION_SCRIPT})
set_target_properties(sutra_shared PROPERTIES LINK_DEPENDS ${VERSION_SCRIPT} OUTPUT_NAME sutra EXPORT_NAME sutra
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR})

set(WHOLE ${CMAKE_CURRENT_BINARY_DIR}/libsutra.o)
add_custom_command(OUTPUT ${WHOLE}
  COMMAND ${CMAKE_LINKER} -r -o ${WHOLE} $<TARGET_OBJECTS:sutra_host> $<TARGET_OBJECTS:sutra_cuda>
  COMMAND ${CMAKE_OBJCOPY} --localize-hidden --wildcard --localize-symbol=_Z* ${WHOLE}
  DEPENDS $<TARGET_OBJECTS:sutra_host> $<TARGET_OBJECTS:sutra_cuda>
  COMMENT "Making the private symbols of libsutra.a local"
  COMMAND_EXPAND_LISTS VERBATIM)
set_source_files_properties(${WHOLE} PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
add_library(sutra_static STATIC ${WHOLE})
add_dependencies(sutra_static sutra_host sutra_cuda)
target_include_directories(sutra_static INTERFACE $<INSTALL_INTERFACE:include>)
set(STATIC_LIBS deflate zstd)
if(SQLITE_FOUND)
  list(APPEND STATIC_LIBS sqlite3)
endif()
list(APPEND STATIC_LIBS ${SUTRA_CUDA_LIBS} m)
target_link_libraries(sutra_static INTERFACE ${STATIC_LIBS} Threads::Threads)
set_target_properties(sutra_static PROPERTIES OUTPUT_NAME sutra LINKER_LANGUAGE C)

install(TARGETS sutra_shared sutra_static EXPORT sutra
  LIBRARY COMPONENT runtime NAMELINK_COMPONENT development
  ARCHIVE COMPONENT development)
install(DIRECTORY include/sutra DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)

set(CONFIG_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/sutra)
include(CMakePackageConfigHelpers)
configure_package_config_file(cmake/sutraConfig.cmake.in sutraConfig.cmake INSTALL_DESTINATION ${CONFIG_DIR})
write_basic_package_version_file(sutraConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sutraConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/sutraConfigVersion.cmake
  DESTINATION ${CONFIG_DIR} COMPONENT development)
install(EXPORT sutra NAMESPACE sutra:: FILE sutraTargets.cmake DESTINATION ${CONFIG_DIR} COMPONENT development)

# The prefix is told from where the file lies, so that an installation can be moved.
list(TRANSFORM STATIC_LIBS PREPEND "-l" REGEX "^[^/]" OUTPUT_VARIABLE PC_STATIC_LIBS)
list(JOIN PC_STATIC_LIBS " " PC_STATIC_LIBS)
file(RELATIVE_PATH PC_TO_PREFIX ${CMAKE_INSTALL_FULL_LIBDIR}/pkgconfig ${CMAKE_INSTALL_PREFIX})
configure_file(cmake/sutra.pc.in sutra.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sutra.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
