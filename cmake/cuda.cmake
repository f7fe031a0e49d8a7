# The CUDA engine: cuda/*.cu, compiled where the toolkit is found. SUTRA_CUDA=ON makes a missing toolkit an error.
set(SUTRA_CUDA AUTO CACHE STRING "Build the CUDA engine: AUTO (where nvcc is found), ON or OFF")
set_property(CACHE SUTRA_CUDA PROPERTY STRINGS AUTO ON OFF)
set(SUTRA_CUDA_LIBS "") # what a static libsutra needs of it

file(GLOB CUDA_SOURCES CONFIGURE_DEPENDS cuda/*.cu)
if(NOT CUDA_SOURCES OR SUTRA_CUDA STREQUAL "OFF")
  return()
endif()
find_package(CUDAToolkit QUIET)
if(NOT CUDAToolkit_NVCC_EXECUTABLE)
  if(SUTRA_CUDA STREQUAL "ON")
    message(FATAL_ERROR "SUTRA_CUDA is ON, but there is no nvcc")
  endif()
  message(STATUS "No nvcc: the CUDA engine is left out")
  return()
endif()

set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80-real 90) # and newer ones through the PTX of the last
endif()
enable_language(CUDA)
set_source_files_properties(${CUDA_SOURCES} PROPERTIES COMPILE_OPTIONS
  "--fmad=false;-Xcompiler=-Wall,-Wextra,-ffp-contract=off,-fvisibility=hidden,-fno-gnu-unique")
target_sources(sutra_objects PRIVATE ${CUDA_SOURCES})
target_include_directories(sutra_objects PRIVATE ${PROJECT_SOURCE_DIR})
set_target_properties(sutra_objects PROPERTIES CUDA_ARCHITECTURES "${CMAKE_CUDA_ARCHITECTURES}")
target_compile_definitions(sutra_objects PUBLIC SUTRA_HAVE_CUDA=1)
target_link_libraries(sutra_objects PUBLIC CUDA::cudart_static)
set(SUTRA_CUDA_LIBS ${CUDA_cudart_static_LIBRARY} dl rt stdc++)
