/*
 * shared.h - what marks a function that the CPU and the CUDA engine both compile.
 */
#ifndef BASE_SHARED_H
#define BASE_SHARED_H

#ifdef __CUDACC__
#define SHARED static inline __host__ __device__
#else
#define SHARED static inline
#endif

#endif
