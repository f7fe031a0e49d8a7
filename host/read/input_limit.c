/*
 * input_limit.c - asking the system how much memory there is.
 */
#include "read/input_limit.h"

#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static size_t least(size_t a, uint64_t b) {
    return b < a ? (size_t)b : a;
}

/* Of the control group, version 2; "max" is no number. */
static uint64_t memory_of_group(void) {
    FILE *file = fopen("/sys/fs/cgroup/memory.max", "re");
    unsigned long long bytes = 0;
    int n = file ? fscanf(file, "%llu", &bytes) : 0;
    if (file)
        fclose(file);
    return n == 1 ? bytes : UINT64_MAX;
}

size_t input_limit(uint64_t most) {
    struct rlimit space;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t limit = SIZE_MAX / 2;
    if (most)
        return least(limit, most);
    if (pages > 0 && page > 0)
        limit = least(limit, (uint64_t)pages * (uint64_t)page / 2);
    limit = least(limit, memory_of_group() / 2);
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
        limit = least(limit, space.rlim_cur / 4);
    return limit;
}

size_t input_limit_expanded(size_t size, uint64_t most) {
    if (most)
        return input_limit(most);
    size_t expanded = size < SIZE_MAX / EXPANSION_MAX ? size * EXPANSION_MAX : SIZE_MAX;
    return least(input_limit(0), expanded < EXPANSION_SMALL ? EXPANSION_SMALL : expanded);
}
