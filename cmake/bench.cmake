# What only the benchmark needs: simdjson, parsing the same files. Only that is C++.
include(CheckLanguage)
pkg_check_modules(SIMDJSON IMPORTED_TARGET simdjson)
check_language(CXX)
if(SIMDJSON_FOUND AND CMAKE_CXX_COMPILER)
  enable_language(CXX)
  add_executable(parse_simdjson bench/parse_simdjson.cpp)
  target_compile_features(parse_simdjson PRIVATE cxx_std_17)
  target_link_libraries(parse_simdjson PRIVATE PkgConfig::SIMDJSON)
endif()

# How well call trees are aligned.
add_executable(align_trees bench/align_trees.c)
target_link_libraries(align_trees PRIVATE sutra_objects)
