/*
 * gpu.cu - the memory of a step: planned in a first run, made ready, used in a second; and copies with few bytes. In
 * tests each column may be an allocation of its own between paddings, which are checked when it is released and at the
 * end of each step.
 *
 * Before a copy, the pool's threads inspect the column, and stop at the first value that does not fit. O(n).
 */
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

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

static void *allocate_apart(struct gpu *gpu, struct gpu_memory *memory, size_t bytes) {
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
        taken = allocate_apart(gpu, memory, bytes);
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

/* ---- Copies ---- */

void gpu_copy_up(struct gpu *gpu, void *to, const void *from, uint64_t bytes) {
    if (gpu_idle(gpu) || bytes == 0)
        return;
    gpu->counts.bytes_up += bytes;
    device_copy_up(gpu, to, from, bytes, NULL);
}

void gpu_copy_down(struct gpu *gpu, void *to, const void *from, uint64_t bytes) {
    if (gpu_idle(gpu) || bytes == 0)
        return;
    gpu->counts.bytes_down += bytes;
    device_copy_down(gpu, to, from, bytes);
}

#define PART_BYTES ((size_t)1 << 16) /* of host memory that one thread reads or fills at a time */

/* A column in host memory, in parts that the pool's threads inspect. */
struct host_column {
    const void *data;
    size_t n, n_parts;
    uint32_t found; /* a part has other values than expected: no other part is read */
};

static void find_other_byte(void *arg, size_t part) {
    struct host_column *column = static_cast<struct host_column *>(arg);
    const uint8_t *bytes = static_cast<const uint8_t *>(column->data);
    size_t begin = part_offset(column->n, column->n_parts, part);
    size_t end = part_offset(column->n, column->n_parts, part + 1);
    if (begin < end && !current(&column->found) &&
        (bytes[begin] != bytes[0] || memcmp(bytes + begin, bytes + begin + 1, end - begin - 1) != 0))
        set_bits(&column->found, 1);
}

/* 32 bits for an id: the first numbers are for ids that are no integers, the others for integers from -NARROW_IDS on.
 *
 *     id          KEY_ABSENT  ...  KEY_ABSENT + NARROW_IDS - 1      -NARROW_IDS  ...  2^32 - 1 - 2 * NARROW_IDS
 *     32 bits     0           ...  NARROW_IDS - 1                   NARROW_IDS   ...  2^32 - 1
 */
#define NARROW_IDS 0x10000

SHARED uint32_t narrow_id(value_key id) {
    return (uint32_t)(id < KEY_INTEGERS ? (uint64_t)id - (uint64_t)KEY_ABSENT : (uint64_t)id + 2 * NARROW_IDS);
}

SHARED value_key widen_id(uint32_t narrow) {
    return narrow < NARROW_IDS ? KEY_ABSENT + narrow : (value_key)narrow - 2 * NARROW_IDS;
}

static void find_large_id(void *arg, size_t part) {
    struct host_column *column = static_cast<struct host_column *>(arg);
    const value_key *ids = static_cast<const value_key *>(column->data);
    size_t end = part_offset(column->n, column->n_parts, part + 1);
    uint64_t differing = 0;
    if (current(&column->found))
        return;
    for (size_t i = part_offset(column->n, column->n_parts, part); i < end; i++)
        differing |= (uint64_t)(ids[i] ^ widen_id(narrow_id(ids[i])));
    if (differing)
        set_bits(&column->found, 1);
}

static bool any_part(struct gpu *gpu, void (*find)(void *column, size_t part), const void *data, size_t n,
                     size_t bytes) {
    struct host_column column = {data, n, bytes / PART_BYTES + 1, 0};
    pool_run(gpu->pool, column.n_parts, find, &column);
    return column.found;
}

void gpu_copy_up_bytes(struct gpu *gpu, uint8_t *to, const uint8_t *from, row_t n) {
    if (gpu_idle(gpu) || n == 0)
        return;
    if (any_part(gpu, find_other_byte, from, n, n))
        gpu_copy_up(gpu, to, from, n);
    else
        gpu_fill(gpu, to, from[0], n);
}

struct number_column gpu_up_numbers(struct gpu *gpu, struct number_column from, row_t n) {
    struct number_column column = gpu_take_numbers(gpu, n);
    gpu_copy_up(gpu, column.bits, from.bits, n * sizeof *from.bits);
    gpu_copy_up_bytes(gpu, column.kind, from.kind, n);
    return column;
}

static void narrow_threads(void *to, const void *from, size_t bytes) {
    uint16_t *narrow = static_cast<uint16_t *>(to);
    const uint32_t *threads = static_cast<const uint32_t *>(from);
    for (size_t i = 0; i < bytes / sizeof *narrow; i++)
        narrow[i] = (uint16_t)(threads[i] < THREAD_LIMIT ? threads[i] : THREAD_LIMIT);
}

static void narrow_ids(void *to, const void *from, size_t bytes) {
    uint32_t *narrow = static_cast<uint32_t *>(to);
    const value_key *ids = static_cast<const value_key *>(from);
    for (size_t i = 0; i < bytes / sizeof *narrow; i++)
        narrow[i] = narrow_id(ids[i]);
}

SHARED void widen(const struct narrow_column &c, row_t row) {
    if (c.has_ids)
        static_cast<value_key *>(c.wide)[row] = widen_id(static_cast<const uint32_t *>(c.narrow)[row]);
    else
        static_cast<uint32_t *>(c.wide)[row] = static_cast<const uint16_t *>(c.narrow)[row];
}

/* Copies a column to narrow scratch memory. Allocates also if the column does not fit, as planned. */
static void copy_up_narrow(struct gpu *gpu, const struct narrow_column *column, const void *from, uint64_t bytes,
                           bool fits) {
    enum gpu_memory_kind taking = gpu->taking;
    gpu->taking = GPU_SCRATCH;
    void *narrow = gpu_take_bytes(gpu, bytes);
    if (!gpu_idle(gpu) && fits && bytes) {
        gpu->counts.bytes_up += bytes;
        device_copy_up(gpu, narrow, from, bytes, column->has_ids ? narrow_ids : narrow_threads);
        if (gpu->n_narrow == NARROW_MAX)
            gpu_ready(gpu);
        gpu->narrow[gpu->n_narrow] = *column;
        gpu->narrow[gpu->n_narrow++].narrow = narrow;
    }
    gpu->taking = taking;
    if (!fits)
        gpu_copy_up(gpu, column->wide, from, 2 * bytes);
}

void gpu_copy_up_threads(struct gpu *gpu, uint32_t *to, const uint32_t *from, row_t n, uint64_t n_threads) {
    struct narrow_column column = {to, NULL, n, false};
    if (n_threads < THREAD_LIMIT)
        copy_up_narrow(gpu, &column, from, n * sizeof(uint16_t), true);
    else
        gpu_copy_up(gpu, to, from, n * sizeof *to);
}

void gpu_copy_up_ids(struct gpu *gpu, value_key *to, const value_key *from, row_t n) {
    struct narrow_column column = {to, NULL, n, true};
    bool fits = gpu_idle(gpu) || !any_part(gpu, find_large_id, from, n, n * sizeof *from);
    copy_up_narrow(gpu, &column, from, n * sizeof(uint32_t), fits);
}

void gpu_ready(struct gpu *gpu) {
    device_ready(gpu);
    for (unsigned i = 0; i < gpu->n_narrow; i++)
        gpu_each<widen>(gpu, gpu->narrow[i].n, gpu->narrow[i]);
    gpu->n_narrow = 0;
}

struct host_fill {
    uint8_t *to;
    int byte;
    size_t bytes, n_parts;
};

static void fill_part(void *arg, size_t part) {
    const struct host_fill *fill = static_cast<const struct host_fill *>(arg);
    size_t begin = part_offset(fill->bytes, fill->n_parts, part);
    memset(fill->to + begin, fill->byte, part_offset(fill->bytes, fill->n_parts, part + 1) - begin);
}

void gpu_fill_host(struct gpu *gpu, void *to, int byte, uint64_t bytes) {
    struct host_fill fill = {static_cast<uint8_t *>(to), byte, bytes, bytes / PART_BYTES + 1};
    if (!gpu_idle(gpu))
        pool_run(gpu->pool, fill.n_parts, fill_part, &fill);
}

/* ---- Steps ---- */

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
