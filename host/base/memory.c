/*
 * memory.c - implements memory.h. Samples are read from /proc/self/statm.
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/shared.h"

/* Grows by at least half, so that appending costs O(1) per byte. */
char *buffer_grow(struct buffer *buffer, size_t extra) {
    size_t wanted, capacity = buffer->capacity + buffer->capacity / 2 + 256;
    if (buffer->failed || __builtin_add_overflow(buffer->length, extra, &wanted))
        goto fail;
    if (capacity < wanted)
        capacity = wanted;
    char *bytes = realloc(buffer->bytes, capacity);
    if (!bytes)
        goto fail;
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return bytes + buffer->length;
fail:
    buffer->failed = true;
    return NULL;
}

/* Most formatted texts are shorter and are formatted once. */
#define FORMATTED_BYTES 128

void buffer_vformat(struct buffer *buffer, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    char *to = buffer_reserve(buffer, FORMATTED_BYTES);
    int length = vsnprintf(to, to ? FORMATTED_BYTES : 0, format, arguments);
    if (to && length >= FORMATTED_BYTES) {
        to = buffer_reserve(buffer, (size_t)length + 1);
        if (to)
            vsnprintf(to, (size_t)length + 1, format, again);
    }
    va_end(again);
    if (to && length > 0)
        buffer->length += (size_t)length;
}

void buffer_format(struct buffer *buffer, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    buffer_vformat(buffer, format, arguments);
    va_end(arguments);
}

/* Below this, touching pages of 4 kB is faster than zeroing large pages. */
#define LARGE_BLOCK ((size_t)4 << 20)

/* Includes small pages that the block shares: so a mapping is not split, and realloc() can move it without a copy. */
void memory_on_large_pages(void *block, size_t bytes) {
    if (!block || bytes < LARGE_BLOCK)
        return;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (uintptr_t)block % page;
    madvise((char *)block - before, (before + bytes + page - 1) / page * page, MADV_HUGEPAGE);
}

void memory_return_pages(void *block, size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), before = (page - (uintptr_t)block % page) % page;
    if (bytes >= before + page)
        madvise((char *)block + before, (bytes - before) / page * page, MADV_DONTNEED);
}

/* Resident and shared bytes; zeros if the system does not report them. */
static void read_pages(uint64_t *resident, uint64_t *shared) {
    *resident = *shared = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file)
        return;
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t n_resident, n_shared;
    if (fscanf(file, "%*u %" SCNu64 " %" SCNu64, &n_resident, &n_shared) == 2) {
        *resident = n_resident * page;
        *shared = n_shared * page;
    }
    fclose(file);
}

uint64_t memory_usable(void) {
    struct rlimit space;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t limit = UINT64_MAX;
    if (pages > 0 && page > 0)
        limit = (uint64_t)pages * (uint64_t)page;
    unsigned long long group_bytes = 0;
    FILE *file = fopen("/sys/fs/cgroup/memory.max", "re");
    if (file && fscanf(file, "%llu", &group_bytes) == 1) /* not "max" */
        limit = MIN(limit, group_bytes);
    if (file)
        fclose(file);
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
        limit = MIN(limit, space.rlim_cur / 2);
    return limit;
}

struct memory_watch memory_start(void) {
    struct memory_watch watch = {0};
    uint64_t resident;
    read_pages(&resident, &watch.shared_at_start);
    return watch;
}

void memory_sample(struct memory_watch *watch) {
    uint64_t resident, shared;
    read_pages(&resident, &shared);
    if (resident > shared && resident - shared > watch->peak_anonymous)
        watch->peak_anonymous = resident - shared;
}

uint64_t memory_peak_rss(void) {
    FILE *file = fopen("/proc/self/status", "re");
    if (!file)
        return 0;
    char line[256];
    uint64_t kibibytes = 0;
    while (fgets(line, sizeof line, file) && sscanf(line, "VmHWM: %" SCNu64, &kibibytes) != 1)
        continue;
    fclose(file);
    return kibibytes * 1024;
}

uint64_t memory_peak(const struct memory_watch *watch, uint64_t n_mapped_bytes) {
    uint64_t peak_rss = memory_peak_rss(), apart = watch->shared_at_start + n_mapped_bytes;
    uint64_t bound = peak_rss > apart ? peak_rss - apart : 0;
    return MAX(bound, watch->peak_anonymous);
}
