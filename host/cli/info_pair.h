/*
 * info_pair.h - `sutra info HOST DEVICE`: which command links two traces, and why.
 */
#ifndef CLI_INFO_PAIR_H
#define CLI_INFO_PAIR_H

#include <stdbool.h>
#include <stdint.h>

struct info_pair_options {
    uint64_t n_threads;
    bool json, lenient, quiet;
};

/* Prints it; returns the exit code. */
int info_pair_show(const char *host, const char *device, const struct info_pair_options *options);

#endif
