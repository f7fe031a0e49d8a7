/*
 * copies.cu - copies columns between host and GPU with few bytes: equal kinds and flags as one value, thread numbers as
 * 16 bits and ids as 32 bits where all fit (see cuda/gpu.h).
 *
 * The pool's threads inspect a column first, and stop at the first value that does not fit. O(n).
 */
#include <cstring>

#include "cuda/gpu.h"

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

/* Copies a column to narrow scratch memory. Memory is taken also if the column does not fit, for the plan. */
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
