# The program, its second name, and what it says about itself: manual page and completions.
add_library(sutra_cli OBJECT ${CLI_SOURCES})
target_link_libraries(sutra_cli PUBLIC sutra_host)
add_executable(sutra $<TARGET_OBJECTS:sutra_cli>)
target_link_libraries(sutra PRIVATE sutra_objects)
install(TARGETS sutra COMPONENT program)
foreach(name chakra_trace_link trace_link chakra_converter chakra_jsonizer)
  add_custom_command(TARGET sutra POST_BUILD COMMAND ${CMAKE_COMMAND} -E create_symlink sutra ${name})
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/${name} DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT names)
endforeach()

# made_by_program(FILE FOLDER ARGUMENT...): FILE is what the program prints when run with the arguments.
set(MADE_FILES "")
function(made_by_program file folder)
  set(path ${CMAKE_CURRENT_BINARY_DIR}/made/${file})
  add_custom_command(OUTPUT ${path}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_CURRENT_BINARY_DIR}/made
    COMMAND sutra ${ARGN} > ${path}
    DEPENDS sutra
    VERBATIM)
  install(FILES ${path} DESTINATION ${folder} COMPONENT program)
  set(MADE_FILES ${MADE_FILES} ${path} PARENT_SCOPE)
endfunction()

made_by_program(sutra.1.gz ${CMAKE_INSTALL_MANDIR}/man1 man | gzip -9n)
made_by_program(sutra ${CMAKE_INSTALL_DATADIR}/bash-completion/completions completion bash)
made_by_program(_sutra ${CMAKE_INSTALL_DATADIR}/zsh/site-functions completion zsh)
made_by_program(sutra.fish ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d completion fish)
add_custom_target(sutra_made ALL DEPENDS ${MADE_FILES})
