/*
 * gpu.cu - the memory of a step: planned in a first run, made ready, used in a second. In tests each column may be an
 * allocation of its own between paddings, which are checked when it is released and at the end of each step.
 */
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "cuda/gpu.h"
#include "cuda/table.h"

#define ALIGNMENT 256 /* of vectorized loads, and of CUB's scratch memory */

/* In tests on the CPU AddressSanitizer tracks the allocations. */
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
static void forbid(const struct gpu_memory *memory, size_t from, size_t bytes) {
    if (memory->base)
        __asan_poison_memory_region(memory->base + from, bytes);
}
static void allow(const struct gpu_memory *memory, size_t from, size_t bytes) {
    if (memory->base)
        __asan_unpoison_memory_region(memory->base + from, bytes);
}
#else
static void forbid(const struct gpu_memory *, size_t, size_t) {}
static void allow(const struct gpu_memory *, size_t, size_t) {}
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

/* ---- Columns apart ---- */

#define PADDING    256  /* bytes before and after a column */
#define FRESH_BYTE 0xA5 /* of padding, and of columns that no kernel has written */

struct apart_column {
    uint8_t *base; /* of the padding before the column */
    size_t bytes, offset;
};

static void *take_apart(struct gpu *gpu, struct gpu_memory *memory, size_t bytes) {
    struct apart_column column = {NULL, bytes, memory->used};
    size_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *grown = realloc(memory->apart, (memory->n_apart + 1) * sizeof column);
    if (!grown) {
        gpu_end(gpu, GPU_NO_MEMORY);
        return NULL;
    }
    memory->apart = static_cast<struct apart_column *>(grown);
    if (!device_allocate(gpu, &column.base, rounded + 2 * PADDING)) {
        gpu_fail(gpu, "no memory for a column of %zu bytes apart from the others", bytes);
        return NULL;
    }
    memory->apart[memory->n_apart++] = column;
    gpu_fill(gpu, column.base, FRESH_BYTE, PADDING);
    gpu_fill(gpu, column.base + PADDING + bytes, FRESH_BYTE, PADDING);
    if (gpu->columns == COLUMNS_APART)
        gpu_fill(gpu, column.base + PADDING, FRESH_BYTE, bytes);
    device_wait(gpu); /* copies to the column are on another stream */
    return column.base + PADDING;
}

static void check_padding(struct gpu *gpu, const struct apart_column *column) {
    uint8_t padding[2 * PADDING];
    if (gpu->failed)
        return;
    device_copy_down(gpu, padding, column->base, PADDING);
    device_copy_down(gpu, padding + PADDING, column->base + PADDING + column->bytes, PADDING);
    for (size_t i = 0; i < sizeof padding && !gpu->failed; i++)
        if (padding[i] != FRESH_BYTE)
            gpu_fail(gpu, "a kernel wrote outside of a column of %zu bytes", column->bytes);
}

/* Checks and frees columns from an offset on. */
static void free_apart(struct gpu *gpu, struct gpu_memory *memory, size_t offset) {
    bool waited = false;
    while (memory->n_apart && memory->apart[memory->n_apart - 1].offset >= offset) {
        const struct apart_column *column = &memory->apart[--memory->n_apart];
        if (!waited)
            device_wait(gpu);
        waited = true;
        check_padding(gpu, column);
        device_free(gpu, column->base);
    }
    if (memory->n_apart == 0) {
        free(memory->apart);
        memory->apart = NULL;
    }
}

/* ---- Memory ---- */

void *gpu_take_bytes(struct gpu *gpu, uint64_t bytes) {
    struct gpu_memory *memory = &gpu->memory[gpu->taking];
    uint64_t rounded = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    void *taken = gpu->planning ? NULL : memory->base + memory->used;
    if (memory->used + rounded > memory->size && !gpu_idle(gpu))
        gpu_fail(gpu, "a step takes more memory than it planned");
    if (!gpu_idle(gpu))
        allow(memory, memory->used, bytes);
    if (!gpu_idle(gpu) && gpu->columns != COLUMNS_TOGETHER)
        taken = take_apart(gpu, memory, bytes);
    memory->used += rounded;
    if (memory->used > memory->most)
        memory->most = memory->used;
    return taken;
}

struct number_column gpu_take_numbers(struct gpu *gpu, row_t n) {
    struct number_column column = {gpu_take<uint64_t>(gpu, n), gpu_take<uint8_t>(gpu, n)};
    return column;
}

size_t gpu_mark(const struct gpu *gpu) {
    return gpu->memory[gpu->taking].used;
}

void gpu_release(struct gpu *gpu, size_t mark) {
    struct gpu_memory *memory = &gpu->memory[gpu->taking];
    if (!gpu_idle(gpu))
        forbid(memory, mark, memory->used - mark);
    free_apart(gpu, memory, mark);
    memory->used = mark;
}

struct pairs pairs_take(struct gpu *gpu, row_t n) {
    struct pairs pairs = {gpu_take<uint64_t>(gpu, n), gpu_take<uint64_t>(gpu, n), gpu_take<row_t>(gpu, n),
                          gpu_take<row_t>(gpu, n)};
    return pairs;
}

static void free_block(struct gpu *gpu, struct gpu_memory *memory) {
    allow(memory, 0, memory->size);
    free_apart(gpu, memory, 0);
    device_free(gpu, memory->base);
    memory->base = NULL;
    memory->size = 0;
}

static bool grow(struct gpu *gpu, struct gpu_memory *memory, const struct gpu_memory *other) {
    free_block(gpu, memory);
    if (gpu->failed || memory->most > gpu->limit || other->size > gpu->limit - memory->most)
        return false;
    if (gpu->columns == COLUMNS_TOGETHER && !device_allocate(gpu, &memory->base, memory->most))
        return false;
    memory->size = memory->most;
    forbid(memory, 0, memory->size);
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
    if (!gpu->table.ready) {
        free_apart(gpu, &gpu->memory[GPU_TABLE], 0);
        gpu->memory[GPU_TABLE].used = 0;
    }
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
    struct gpu_memory *scratch = &gpu->memory[GPU_SCRATCH], *table = &gpu->memory[GPU_TABLE];
    forbid(scratch, 0, scratch->size);
    free_apart(gpu, scratch, 0);
    for (size_t i = 0; i < table->n_apart; i++)
        check_padding(gpu, &table->apart[i]);
    scratch->used = 0;
    gpu->n_narrow = 0;
    return gpu->failed ? GPU_FAILED : gpu->verdict;
}

void gpu_forget(struct gpu *gpu) {
    for (int i = 0; i < 2; i++)
        free_block(gpu, &gpu->memory[i]);
}
