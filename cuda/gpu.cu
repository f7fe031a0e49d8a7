/*
 * gpu.cu - the memory of a step: planned in a first run, made ready, used in a second.
 */
#include <cstdarg>
#include <cstdio>

#include "cuda/gpu.h"
#include "cuda/table.h"

#define ALIGNMENT 256 /* of vectorized loads, and of CUB's scratch memory */

/* In tests on the CPU AddressSanitizer tracks the allocations. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
static void forbid(const uint8_t *from, size_t bytes) {
    __asan_poison_memory_region(from, bytes);
}
static void allow(const uint8_t *from, size_t bytes) {
    __asan_unpoison_memory_region(from, bytes);
}
#else
static void forbid(const uint8_t *, size_t) {}
static void allow(const uint8_t *, size_t) {}
#endif

void gpu_fail(struct gpu *gpu, const char *format, ...) {
    va_list arguments;
    if (gpu->failed)
        return;
    va_start(arguments, format);
    vsnprintf(gpu->failure, sizeof gpu->failure, format, arguments);
    va_end(arguments);
    gpu->failed = true;
}

void *gpu_take_bytes(struct gpu *gpu, uint64_t bytes) {
    struct gpu_memory *memory = &gpu->memory[gpu->taking];
    uint64_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *taken = gpu->planning ? NULL : memory->base + memory->used;
    if (memory->used + rounded > memory->size && !gpu_idle(gpu))
        gpu_fail(gpu, "a step takes more memory than it planned");
    if (!gpu_idle(gpu))
        allow(memory->base + memory->used, bytes);
    memory->used += rounded;
    if (memory->used > memory->most)
        memory->most = memory->used;
    return taken;
}

struct number_column gpu_take_numbers(struct gpu *gpu, row_t n) {
    struct number_column column = {gpu_take<uint64_t>(gpu, n), gpu_take<uint8_t>(gpu, n)};
    return column;
}

struct number_column gpu_up_numbers(struct gpu *gpu, struct number_column from, row_t n) {
    struct number_column column = {gpu_up(gpu, from.bits, n), gpu_up(gpu, from.kind, n)};
    return column;
}

size_t gpu_mark(const struct gpu *gpu) {
    return gpu->memory[gpu->taking].used;
}

void gpu_release(struct gpu *gpu, size_t mark) {
    struct gpu_memory *memory = &gpu->memory[gpu->taking];
    if (!gpu_idle(gpu))
        forbid(memory->base + mark, memory->used - mark);
    memory->used = mark;
}

void gpu_copy_up(struct gpu *gpu, void *to, const void *from, uint64_t bytes) {
    if (gpu_idle(gpu) || bytes == 0)
        return;
    gpu->counts.bytes_up += bytes;
    device_copy_up(gpu, to, from, bytes);
}

void gpu_copy_down(struct gpu *gpu, void *to, const void *from, uint64_t bytes) {
    if (gpu_idle(gpu) || bytes == 0)
        return;
    gpu->counts.bytes_down += bytes;
    device_copy_down(gpu, to, from, bytes);
}

struct pairs pairs_take(struct gpu *gpu, row_t n) {
    struct pairs pairs = {gpu_take<uint64_t>(gpu, n), gpu_take<uint64_t>(gpu, n), gpu_take<row_t>(gpu, n),
                          gpu_take<row_t>(gpu, n)};
    return pairs;
}

static void free_block(struct gpu *gpu, struct gpu_memory *memory) {
    allow(memory->base, memory->size);
    device_free(gpu, memory->base);
    memory->base = NULL;
    memory->size = 0;
}

static bool grow(struct gpu *gpu, struct gpu_memory *memory, const struct gpu_memory *other) {
    free_block(gpu, memory);
    if (memory->most > gpu->limit || other->size > gpu->limit - memory->most ||
        !device_allocate(gpu, &memory->base, memory->most))
        return false;
    memory->size = memory->most;
    forbid(memory->base, memory->size);
    return true;
}

static bool reserve(struct gpu *gpu, enum gpu_memory_kind kind) {
    struct gpu_memory *memory = &gpu->memory[kind], *other = &gpu->memory[1 - kind];
    return memory->most <= memory->size || grow(gpu, memory, other);
}

/* Makes both memories large enough; a memory that grows loses its contents. If nothing is kept, unused space of one is
 * freed for the other. */
static bool make_room(struct gpu *gpu, bool keeps_table) {
    if (reserve(gpu, GPU_TABLE) && reserve(gpu, GPU_SCRATCH))
        return true;
    if (gpu->failed || keeps_table)
        return false;
    gpu_forget(gpu);
    return reserve(gpu, GPU_TABLE) && reserve(gpu, GPU_SCRATCH);
}

void gpu_end(struct gpu *gpu, enum gpu_outcome verdict) {
    gpu->verdict = verdict;
}

void gpu_leave(struct gpu *gpu, const char *note) {
    if (note)
        snprintf(gpu->remarks.note, sizeof gpu->remarks.note, "%s", note);
    gpu_end(gpu, GPU_LEFT);
}

bool gpu_arrived(struct gpu *gpu) {
    if (!gpu_idle(gpu))
        device_wait(gpu);
    return !gpu_idle(gpu);
}

/* A table that is there takes nothing, so its memory grows only while it holds none. */
static void plan(struct gpu *gpu, void (*step)(struct gpu *gpu, void *columns), void *columns) {
    gpu->planning = true;
    for (int i = 0; i < 2; i++)
        gpu->memory[i].most = gpu->memory[i].used;
    step(gpu, columns);
    gpu->planning = false;
    gpu->memory[GPU_SCRATCH].used = 0;
    if (!gpu->table.ready)
        gpu->memory[GPU_TABLE].used = 0;
}

enum gpu_outcome gpu_run_step(struct gpu *gpu, void (*step)(struct gpu *gpu, void *columns), void *columns) {
    gpu->failed = false;
    gpu->verdict = GPU_DONE;
    gpu->taking = GPU_SCRATCH;
    device_begin(gpu);
    if (gpu->table.ops != gpu->loaded)
        table_drop(gpu);
    plan(gpu, step, columns);
    if (gpu->verdict != GPU_DONE)
        return gpu->verdict;
    if (!make_room(gpu, gpu->table.ready))
        return gpu->failed ? GPU_FAILED : GPU_TOO_SMALL;
    step(gpu, columns);
    device_wait(gpu);
    struct gpu_memory *scratch = &gpu->memory[GPU_SCRATCH];
    forbid(scratch->base, scratch->size);
    scratch->used = 0;
    return gpu->failed ? GPU_FAILED : gpu->verdict;
}

void gpu_forget(struct gpu *gpu) {
    for (int i = 0; i < 2; i++)
        free_block(gpu, &gpu->memory[i]);
}
