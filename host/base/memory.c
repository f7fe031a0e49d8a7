/*
 * memory.c - large pages by advice; how much memory the program took at most, from /proc/self: a sample is one small
 * read.
 */
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* Below it, touching pages of 4 kB is quicker than zeroing whole large ones. */
#define LARGE_BLOCK ((size_t)4 << 20)
#define LARGE_PAGE  ((size_t)2 << 20)

void memory_on_large_pages(void *block, size_t bytes) {
    size_t before = (LARGE_PAGE - (uintptr_t)block % LARGE_PAGE) % LARGE_PAGE;
    if (block && bytes >= LARGE_BLOCK)
        madvise((char *)block + before, (bytes - before) / LARGE_PAGE * LARGE_PAGE, MADV_HUGEPAGE);
}

/* Resident and shared bytes; zeros where the system does not tell. */
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
    return bound > watch->peak_anonymous ? bound : watch->peak_anonymous;
}
