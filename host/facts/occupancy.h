/*
 * occupancy.h - how well a kernel's grid fills a GPU, from what the trace says of both.
 *
 *     deviceProperties of the trace --> struct device_limits      grid, block, registers, shared memory --> occupancy
 *
 * A multiprocessor holds so many blocks at once as its threads, registers, shared memory and places for blocks allow.
 * The sizes in which these are given out are those of NVIDIA's published occupancy calculator, by compute capability.
 */
#ifndef FACTS_OCCUPANCY_H
#define FACTS_OCCUPANCY_H

#include "read/device_trace.h"

/* Of one device; 0: not known. */
struct device_limits {
    int64_t id;
    int64_t major, minor; /* compute capability */
    int64_t n_multiprocessors, warp_size;
    int64_t threads, registers, shared_memory; /* of a multiprocessor */
};

#define DEVICES_MOST 64

/* Reads the devices of a trace; returns how many there are, at most DEVICES_MOST. O(length of their text). */
size_t device_limits_read(const struct sutra_device_trace *trace, struct device_limits *limits);

struct kernel_shape {
    double blocks, threads;          /* of the grid, and of a block */
    double registers, shared_memory; /* of a thread, and bytes of a block */
};

/* NaN where it cannot be told. */
struct kernel_occupancy {
    double limit;    /* share of a multiprocessor's threads that can be there at once */
    double occupied; /* the same, but no more than the grid has; what Kineto estimates */
    double waves;    /* times that all multiprocessors are filled */
};

struct kernel_occupancy occupancy_of(const struct device_limits *limits, const struct kernel_shape *shape);

#endif
