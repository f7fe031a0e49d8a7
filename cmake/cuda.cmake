# The CUDA engine: cuda/*.cu, compiled where the toolkit is found, else cuda/no_cuda.c, which says that there is none.
# SUTRA_CUDA=ON makes a missing toolkit an error.
#
# SUTRA_CUDA_ARCHITECTURES says for which GPUs: `all` of those below that the toolkit knows, `one` (this machine's, or 9.0
# where nobody tells; quicker to build), or a list such as 80;90. The PTX of the last one serves newer GPUs.
set(SUTRA_CUDA AUTO CACHE STRING "Build the CUDA engine: AUTO (where nvcc is found), ON or OFF")
set_property(CACHE SUTRA_CUDA PROPERTY STRINGS AUTO ON OFF)
set(SUTRA_CUDA_ARCHITECTURES all CACHE STRING "GPUs to build for: all, one, or a list of compute capabilities")
set(SUTRA_CUDA_LIBS "") # what a static libsutra needs of it

# gpus_to_build_for(OUT): compute capabilities without their point
function(gpus_to_build_for out)
  set(gpus ${SUTRA_CUDA_ARCHITECTURES})
  if(gpus STREQUAL "all")
    execute_process(COMMAND ${CUDAToolkit_NVCC_EXECUTABLE} --list-gpu-arch OUTPUT_VARIABLE known)
    set(gpus "")
    foreach(gpu 75 80 86 89 90 100 120)
      if(known MATCHES "compute_${gpu}[\r\n]")
        list(APPEND gpus ${gpu})
      endif()
    endforeach()
  elseif(gpus STREQUAL "one")
    execute_process(COMMAND nvidia-smi --query-gpu=compute_cap --format=csv,noheader
      OUTPUT_VARIABLE told ERROR_QUIET RESULT_VARIABLE status)
    set(gpus 90)
    if(told MATCHES "^([0-9]+)\\.([0-9])")
      set(gpus ${CMAKE_MATCH_1}${CMAKE_MATCH_2})
    endif()
  endif()
  set(${out} ${gpus} PARENT_SCOPE)
endfunction()

if(NOT SUTRA_CUDA STREQUAL "OFF")
  find_package(CUDAToolkit QUIET)
  if(NOT CUDAToolkit_NVCC_EXECUTABLE)
    set(advice "install nvcc of the CUDA toolkit (developer.nvidia.com/cuda-downloads) and configure again")
    if(SUTRA_CUDA STREQUAL "ON")
      message(FATAL_ERROR "SUTRA_CUDA is ON, but there is no nvcc: ${advice}")
    endif()
    message(STATUS "No nvcc, so the CUDA engine is left out. To have it: ${advice}")
  endif()
endif()

if(SUTRA_CUDA STREQUAL "OFF" OR NOT CUDAToolkit_NVCC_EXECUTABLE)
  add_library(sutra_cuda OBJECT cuda/no_cuda.c)
  target_link_libraries(sutra_cuda PRIVATE sutra_host)
  return()
endif()

set(CMAKE_CUDA_COMPILER ${CUDAToolkit_NVCC_EXECUTABLE})
if(NOT CMAKE_CUDA_ARCHITECTURES)
  gpus_to_build_for(gpus)
  list(POP_BACK gpus last)
  list(TRANSFORM gpus APPEND "-real")
  set(CMAKE_CUDA_ARCHITECTURES ${gpus} ${last})
endif()
message(STATUS "CUDA engine for: ${CMAKE_CUDA_ARCHITECTURES}")
enable_language(CUDA)
set(CMAKE_CUDA_STANDARD 17)
file(GLOB CUDA_SOURCES CONFIGURE_DEPENDS cuda/*.cu)
add_library(sutra_cuda OBJECT ${CUDA_SOURCES})
target_compile_options(sutra_cuda PRIVATE
  --fmad=false -Xcompiler=-Wall,-Wextra,-ffp-contract=off,-fvisibility=hidden,-fno-gnu-unique)
target_link_libraries(sutra_cuda PRIVATE sutra_host PUBLIC CUDA::cudart_static)
set(SUTRA_CUDA_LIBS ${CUDA_cudart_static_LIBRARY} dl rt stdc++)
