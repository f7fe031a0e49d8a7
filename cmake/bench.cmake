# What only the benchmark needs: simdjson, parsing the same files.
pkg_check_modules(SIMDJSON IMPORTED_TARGET simdjson)
if(SIMDJSON_FOUND AND CMAKE_CXX_COMPILER)
  add_executable(parse_simdjson bench/parse_simdjson.cpp)
  target_link_libraries(parse_simdjson PRIVATE PkgConfig::SIMDJSON)
  target_compile_options(parse_simdjson PRIVATE -march=native) # its On-Demand parser chooses instructions when compiled
endif()

# How well call trees are aligned.
add_executable(align_trees bench/align_trees.c)
target_link_libraries(align_trees PRIVATE sutra_objects)

# Collectives of many ranks, against reading their traces.
add_executable(bench_collectives bench/collectives.c)
target_link_libraries(bench_collectives PRIVATE sutra_objects)

# The call tree and tensor ids.
add_executable(call_tree bench/call_tree.c)
target_link_libraries(call_tree PRIVATE sutra_objects)

# Matching by each engine.
add_executable(match_engines bench/match_engines.c)
target_link_libraries(match_engines PRIVATE sutra_objects)
if(NOT NO_CUDA)
  target_sources(match_engines PRIVATE bench/gpu_floors.cu)
  target_compile_options(match_engines PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>)
  target_compile_definitions(match_engines PRIVATE HAVE_GPU_FLOORS)
endif()

# Reading a profiler's database, against SELECT.
if(SQLITE_FOUND)
  add_executable(bench_nsys bench/nsys.c)
  target_link_libraries(bench_nsys PRIVATE sutra_objects)
endif()

# Reading alone.
add_executable(bench_read bench/read.c)
target_link_libraries(bench_read PRIVATE sutra_objects)

# The text of numbers, against the C library.
add_executable(bench_numbers bench/numbers.c)
target_link_libraries(bench_numbers PRIVATE sutra_objects)
