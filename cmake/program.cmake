# The program, its other names, and the files that it generates: manual pages and completions.
add_library(sutra_cli OBJECT ${CLI_SOURCES})
target_link_libraries(sutra_cli PUBLIC sutra_headers)
add_executable(sutra $<TARGET_OBJECTS:sutra_cli>)
target_link_libraries(sutra PRIVATE sutra_objects)
install(TARGETS sutra COMPONENT program)
# Component `unpackaged`: files that Debian packages contain in another form (cmake/packages.cmake).
set(SUTRA_NAMES chakra_trace_link trace_link chakra_converter chakra_jsonizer)
foreach(name ${SUTRA_NAMES})
  add_custom_command(TARGET sutra POST_BUILD COMMAND ${CMAKE_COMMAND} -E create_symlink sutra ${name})
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name} DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT unpackaged)
endforeach()

# made_by_program(FILE FOLDER COMPONENT ARGUMENT...): FILE is what the program prints when run with the arguments.
set(MADE_FILES "")
function(made_by_program file folder component)
  set(path ${CMAKE_CURRENT_BINARY_DIR}/made/${file})
  add_custom_command(OUTPUT ${path}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/made
    COMMAND sutra ${ARGN} > ${path}
    DEPENDS sutra
    VERBATIM)
  install(FILES ${path} DESTINATION ${folder} COMPONENT ${component})
  set(MADE_FILES ${MADE_FILES} ${path} PARENT_SCOPE)
endfunction()

made_by_program(sutra ${CMAKE_INSTALL_DATADIR}/bash-completion/completions program completion bash)
made_by_program(_sutra ${CMAKE_INSTALL_DATADIR}/zsh/site-functions unpackaged completion zsh)
made_by_program(sutra.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d program completion fish)

# A manual page for each command and for each other name of the program: sutra.1, sutra-link.1, ...
set(MANUAL_PAGES ${CMAKE_CURRENT_BINARY_DIR}/made/man1)
add_custom_command(OUTPUT ${MANUAL_PAGES}/sutra.1.gz
  COMMAND ${CMAKE_COMMAND} -E rm -rf ${MANUAL_PAGES}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${MANUAL_PAGES}
  COMMAND sh -c "\"$0\" man --list | while read -r page command; do \
    \"$0\" man $command | gzip -9n >\"$1/$page.1.gz\" || exit; done" $<TARGET_FILE:sutra> ${MANUAL_PAGES}
  DEPENDS sutra
  VERBATIM)
install(DIRECTORY ${MANUAL_PAGES}/ DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT program
  FILES_MATCHING PATTERN "sutra*.1.gz")
foreach(name ${SUTRA_NAMES})
  install(FILES ${MANUAL_PAGES}/${name}.1.gz DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT unpackaged)
endforeach()
add_custom_target(sutra_made ALL DEPENDS ${MADE_FILES} ${MANUAL_PAGES}/sutra.1.gz)
