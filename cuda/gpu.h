/*
 * gpu.h - interface of one GPU for the steps of the CUDA engine: planned memory, copies, row-wise kernels, sorts and
 * scans.
 *
 * A step is a function of (gpu, a struct of inputs and outputs). gpu_run() calls it twice. The first call plans:
 * gpu_take() counts bytes and all other functions do nothing. Then the memory is allocated, and the second call
 * computes. Allocations must therefore not depend on computed values; flags that control a step read as 0 during
 * planning.
 *
 *     memory   GPU_TABLE    | thread | ts | dur | ... |         remains until the table is dropped
 *              GPU_SCRATCH  | keys | rows | tree | ... |        of a step; released in reverse order, then reused
 *
 * Copies use pinned memory and their own stream, kernels another stream. gpu_ready() makes later kernels wait for
 * earlier copies. After a failure all functions do nothing, and gpu_run() reports the first failure.
 *
 * The CUDA runtime and CUB implement this header (runtime.cu, cub.cu). In tests, compiled without nvcc, the same steps
 * use other implementations of the functions marked "device"; kernels are then loops over the rows.
 */
#ifndef CUDA_GPU_H
#define CUDA_GPU_H

#include <stddef.h>
#include <stdint.h>

#include "cuda/engine_cuda.h"

extern "C" {
#include "base/arena.h"
#include "base/shared.h"
#include "base/threads.h"
#include "columns/numbers.h"
#include "match/rules.h"
#include "match/steps.h"
#include "sutra/error.h"
}

enum gpu_memory_kind { GPU_TABLE, GPU_SCRATCH };

struct gpu_memory {
    uint8_t *base; /* NULL: columns are apart */
    size_t size;
    size_t used, most;          /* now, and the maximum since planning began */
    struct apart_column *apart; /* private to gpu.cu */
    size_t n_apart;
};

/* Rows grouped by a small number, such as their thread; see groups_fill() in table.h. */
struct groups {
    row_t *rows;      /* by position: ascending within a group */
    row_t *start;     /* by number: where its group begins; one more ends the last group */
    uint32_t *number; /* by position: the number of its group */
    row_t *position;  /* by row; NULL: not requested */
};

/* Operators whose columns are in GPU_TABLE; see table.h. */
struct gpu_table {
    const struct cpu_ops *ops; /* owner of the columns; NULL: none */
    bool ready, has_names;     /* which columns are on the GPU: all but the last two, the last two */
    row_t n;
    uint32_t n_threads;
    const uint32_t *thread;
    struct number_column ts, dur;
    struct groups by_thread;
    value_key *external;
    uint8_t *coalesced;
};

enum gpu_outcome {
    GPU_DONE,
    GPU_TOO_SMALL, /* not enough memory; nothing was done */
    GPU_LEFT,      /* not possible on the GPU; the CPU must do it */
    GPU_NO_MEMORY, /* out of host memory */
    GPU_FAILED,    /* see gpu->failure */
};

/* Further results of a step. The caller clears them before the step. */
struct gpu_remarks {
    char note[200];   /* for the user; "": none */
    uint32_t n_left;  /* threads whose exclusive durations the CPU computed */
    bool overwriting; /* results overwrite inputs, which are lost if the GPU fails now */
};

/* A column that arrives with half the bytes of each element, and is widened on the GPU. */
struct narrow_column {
    void *wide;
    const void *narrow;
    row_t n;
    bool has_ids; /* else thread numbers */
};

#define NARROW_MAX 4 /* columns between two calls of gpu_ready() */

struct gpu_device; /* private to runtime.cu */

struct gpu {
    struct gpu_device *device;
    struct pool *pool; /* threads that copy to pinned memory */
    struct gpu_memory memory[2];
    enum gpu_memory_kind taking;
    enum cuda_columns columns;
    size_t limit; /* maximum bytes on the device */
    struct gpu_table table;
    const struct cpu_ops *loaded;            /* operators whose columns are unchanged between steps; NULL: none */
    struct narrow_column narrow[NARROW_MAX]; /* to be widened by gpu_ready() */
    unsigned n_narrow;
    bool planning;
    bool failed;
    char failure[240];        /* message of the first failure, including CUDA's error */
    enum gpu_outcome verdict; /* outcome set by the step: GPU_DONE, GPU_LEFT or GPU_NO_MEMORY */
    struct gpu_remarks remarks;
    bool timing;                 /* phases are timed */
    double seconds[CUDA_PHASES]; /* of kernels and copies, since gpu_open() */
    enum gpu_phase phase;        /* the current phase */
    struct cuda_engine_counts counts;
};

enum gpu_outcome gpu_run_step(struct gpu *gpu, void (*step)(struct gpu *gpu, void *columns), void *columns);

/* Plans and runs a step, and waits for its end. */
template <auto step, class Columns> enum gpu_outcome gpu_run(struct gpu *gpu, Columns *columns) {
    return gpu_run_step(
        gpu, [](struct gpu *on, void *given) { step(on, static_cast<Columns *>(given)); }, columns);
}

/* Called by a step: ends it; all later calls do nothing. */
void gpu_end(struct gpu *gpu, enum gpu_outcome verdict);

/* Ends a step with GPU_LEFT and a note (may be NULL). */
void gpu_leave(struct gpu *gpu, const char *note);

/* Waits for all work queued by the step; returns whether it succeeded. Not during planning. */
bool gpu_arrived(struct gpu *gpu);

/* Frees the device memory. */
void gpu_forget(struct gpu *gpu);

/* ---- Memory ---- */

void *gpu_take_bytes(struct gpu *gpu, uint64_t bytes);

/* Allocates n elements, uninitialized, aligned to 256 bytes. */
template <class T> T *gpu_take(struct gpu *gpu, uint64_t n) {
    return static_cast<T *>(gpu_take_bytes(gpu, n * sizeof(T)));
}

struct number_column gpu_take_numbers(struct gpu *gpu, row_t n);

/* gpu_release() frees all allocations after gpu_mark(). */
size_t gpu_mark(const struct gpu *gpu);
void gpu_release(struct gpu *gpu, size_t mark);

/* ---- Copies to the GPU (up) and from the GPU (down) ---- */

/* All copies count their bytes. */
void gpu_copy_up(struct gpu *gpu, void *to, const void *from, uint64_t bytes);
void gpu_copy_down(struct gpu *gpu, void *to, const void *from, uint64_t bytes); /* waits for the end */
void gpu_ready(struct gpu *gpu);
void gpu_fill(struct gpu *gpu, void *to, int byte, uint64_t bytes); /* device */
void gpu_enter(struct gpu *gpu, enum gpu_phase phase);              /* device */

/*
 * Columns of a trace that need few bytes:
 *
 *     kinds, flags     one value if all are equal, as in nearly all traces
 *     thread numbers   16 bits each if all numbers in use are below THREAD_LIMIT; larger ones arrive as THREAD_LIMIT
 *     ids              32 bits each if all fit, see narrow_id()
 *
 * The last two take scratch memory, which can be released after gpu_ready().
 */

#define THREAD_LIMIT 0xFFFFu

void gpu_copy_up_bytes(struct gpu *gpu, uint8_t *to, const uint8_t *from, row_t n);
void gpu_copy_up_threads(struct gpu *gpu, uint32_t *to, const uint32_t *from, row_t n, uint64_t n_threads);
void gpu_copy_up_ids(struct gpu *gpu, value_key *to, const value_key *from, row_t n);

/* Fills memory of the host in parallel. */
void gpu_fill_host(struct gpu *gpu, void *to, int byte, uint64_t bytes);

template <class T> T *gpu_up(struct gpu *gpu, const T *from, uint64_t n) {
    T *to = gpu_take<T>(gpu, n);
    gpu_copy_up(gpu, to, from, n * sizeof(T));
    return to;
}

struct number_column gpu_up_numbers(struct gpu *gpu, struct number_column from, row_t n);

template <class T> T *gpu_take_zeros(struct gpu *gpu, uint64_t n) {
    T *to = gpu_take<T>(gpu, n);
    gpu_fill(gpu, to, 0, n * sizeof(T));
    return to;
}

template <class T> void gpu_down(struct gpu *gpu, T *to, const T *from, uint64_t n) {
    gpu_copy_down(gpu, to, from, n * sizeof(T));
}

/* ---- Sorts and scans ---- */

/* Pairs of keys and rows to be sorted, with equally large buffers. */
struct pairs {
    uint64_t *keys, *other_keys;
    row_t *rows, *other_rows;
};

struct pairs pairs_take(struct gpu *gpu, row_t n);

/* Sorts pairs stably by the lowest `bits` bits of the keys. The result is in keys and rows. */
void gpu_sort(struct gpu *gpu, struct pairs *pairs, row_t n, unsigned bits); /* device */

/* Sorts rows stably by the lowest `bits` bits of their numbers: sorted_rows[] and the number of each. */
void gpu_sort_rows(struct gpu *gpu, const uint32_t *numbers, uint32_t *sorted_numbers, const row_t *rows,
                   row_t *sorted_rows, row_t n, unsigned bits); /* device */

/* values[i] = the maximum, or the sum, of values[0..i]. */
void gpu_scan_max(struct gpu *gpu, row_t *values, row_t n); /* device */
void gpu_scan_sum(struct gpu *gpu, row_t *values, row_t n); /* device */

/* largest[i] = the maximum of the keys 0..i in the group of i. Rows of a group are neighbours. */
void gpu_scan_max_in_groups(struct gpu *gpu, const uint32_t *group, const uint64_t *keys, uint64_t *largest,
                            row_t n); /* device */

/* values[i] = values[0..i] merged by frame_depth_merge() and segment_end_merge(). */
void gpu_scan_depths(struct gpu *gpu, struct frame_depth *values, row_t n); /* device */
void gpu_scan_ends(struct gpu *gpu, struct segment_end *values, row_t n);   /* device */

/* ---- Functions of the device layer for gpu.cu ---- */

void device_begin(struct gpu *gpu);                                  /* device: starts a step on this thread */
bool device_allocate(struct gpu *gpu, uint8_t **base, size_t bytes); /* device; false: out of memory */
void device_free(struct gpu *gpu, uint8_t *base);                    /* device; gpu NULL: reports no failure */
void device_wait(struct gpu *gpu);                                   /* device: waits for all work; records failures */

/* Writes `bytes` from twice as many. */
typedef void narrow_bytes(void *to, const void *from, size_t bytes);

/* Device: at least one byte, and the GPU is not idle. `narrow` makes the bytes that travel; NULL: they are copied.
 * device_copy_down() waits for the end. */
void device_copy_up(struct gpu *gpu, void *to, const void *from, uint64_t bytes, narrow_bytes *narrow);
void device_copy_down(struct gpu *gpu, void *to, const void *from, uint64_t bytes);
void device_ready(struct gpu *gpu);

/* Records a failure, unless one is recorded already. */
__attribute__((format(printf, 2, 3))) void gpu_fail(struct gpu *gpu, const char *format, ...);

static inline bool gpu_idle(const struct gpu *gpu) {
    return gpu->planning || gpu->failed || gpu->verdict != GPU_DONE;
}

/* ---- Kernels ---- */

/* gpu_each<body>(gpu, n, columns) calls body(columns, i) for each row i < n, in any order. */
#ifdef __CUDACC__

void device_check_launch(struct gpu *gpu);
void *device_stream(const struct gpu *gpu); /* cudaStream_t */

#define BLOCK_ROWS  256
#define MOST_BLOCKS 65536u

/* Minimum blocks per multiprocessor: enough to hide memory latency, few enough not to spill registers. Compute
 * capability 7.5 allows at most 4, and for 10.0 and later the compiler needs more registers. */
#if defined __CUDA_ARCH__ && (__CUDA_ARCH__ < 800 || __CUDA_ARCH__ >= 1000)
#define LEAST_BLOCKS 4
#else
#define LEAST_BLOCKS 6
#endif

template <auto body, class Columns>
__global__ void __launch_bounds__(BLOCK_ROWS, LEAST_BLOCKS) each_row(const __grid_constant__ Columns columns, row_t n) {
    uint64_t stride = (uint64_t)gridDim.x * BLOCK_ROWS;
    for (uint64_t i = (uint64_t)blockIdx.x * BLOCK_ROWS + threadIdx.x; i < n; i += stride)
        body(columns, (row_t)i);
}

template <auto body, class Columns> void gpu_each(struct gpu *gpu, row_t n, const Columns &columns) {
    if (gpu_idle(gpu) || n == 0)
        return;
    uint32_t blocks = n / BLOCK_ROWS + 1 < MOST_BLOCKS ? n / BLOCK_ROWS + 1 : MOST_BLOCKS;
    each_row<body><<<blocks, BLOCK_ROWS, 0, (cudaStream_t)device_stream(gpu)>>>(columns, n);
    device_check_launch(gpu);
}

#else

void device_each(struct gpu *gpu, row_t n, void (*rows)(const void *columns, row_t begin, row_t end),
                 const void *columns, size_t bytes);

template <auto body, class Columns> void each_row(const void *columns, row_t begin, row_t end) {
    for (row_t i = begin; i < end; i++)
        body(*static_cast<const Columns *>(columns), i);
}

template <auto body, class Columns> void gpu_each(struct gpu *gpu, row_t n, const Columns &columns) {
    if (!gpu_idle(gpu) && n)
        device_each(gpu, n, each_row<body, Columns>, &columns, sizeof columns);
}

#endif

/* Kernels that reduce a table to a few values have at most this many rows. Each reduces every SHARES-th row of the
 * table, and then updates the values once. */
#define SHARES 131072u

template <auto body, class Columns> void gpu_each_share(struct gpu *gpu, row_t n, const Columns &columns) {
    gpu_each<body>(gpu, n < SHARES ? n : SHARES, columns);
}

/*
 * Atomic updates from rows of a kernel: sums, minima, maxima and flags of integers, with results independent
 * of the order. On the CPU, where tests run kernel functions on threads, compiler builtins implement them.
 */

SHARED void add_to(uint64_t *position, uint64_t value) {
#ifdef __CUDA_ARCH__
    atomicAdd((unsigned long long *)position, (unsigned long long)value);
#else
    __atomic_fetch_add(position, value, __ATOMIC_RELAXED);
#endif
}

SHARED void add_to(uint32_t *position, uint32_t value) {
#ifdef __CUDA_ARCH__
    atomicAdd(position, value);
#else
    __atomic_fetch_add(position, value, __ATOMIC_RELAXED);
#endif
}

/* Returns the current value, which other rows may change concurrently. */
SHARED uint32_t current(const uint32_t *position) {
#ifdef __CUDA_ARCH__
    return *(const volatile uint32_t *)position;
#else
    return __atomic_load_n(position, __ATOMIC_RELAXED);
#endif
}

/* Sets bits. Skips the atomic operation if they are already set, to avoid contention. */
SHARED void set_bits(uint32_t *position, uint32_t bits) {
#ifdef __CUDA_ARCH__
    if ((*(volatile uint32_t *)position & bits) != bits)
        atomicOr(position, bits);
#else
    __atomic_fetch_or(position, bits, __ATOMIC_RELAXED);
#endif
}

SHARED void set_bits(uint64_t *position, uint64_t bits) {
#ifdef __CUDA_ARCH__
    if ((*(volatile uint64_t *)position & bits) != bits)
        atomicOr((unsigned long long *)position, (unsigned long long)bits);
#else
    __atomic_fetch_or(position, bits, __ATOMIC_RELAXED);
#endif
}

SHARED void set_flag(uint8_t *position) {
#ifdef __CUDA_ARCH__
    *(volatile uint8_t *)position = 1;
#else
    __atomic_store_n(position, 1, __ATOMIC_RELAXED);
#endif
}

/* Extremes are read before the atomic operation, which is rarely needed: an address allows one at a time. */
SHARED void keep_min(uint64_t *position, uint64_t value) {
#ifdef __CUDA_ARCH__
    if (value < *(volatile uint64_t *)position)
        atomicMin((unsigned long long *)position, (unsigned long long)value);
#else
    uint64_t now = __atomic_load_n(position, __ATOMIC_RELAXED);
    while (value < now && !__atomic_compare_exchange_n(position, &now, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
#endif
}

/* Returns whether `value` is the new minimum. */
SHARED bool keep_min(uint32_t *position, uint32_t value) {
#ifdef __CUDA_ARCH__
    return value < *(volatile uint32_t *)position && value < atomicMin(position, value);
#else
    uint32_t now = __atomic_load_n(position, __ATOMIC_RELAXED);
    while (value < now && !__atomic_compare_exchange_n(position, &now, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
    return value < now;
#endif
}

SHARED void keep_max(uint64_t *position, uint64_t value) {
#ifdef __CUDA_ARCH__
    if (value > *(volatile uint64_t *)position)
        atomicMax((unsigned long long *)position, (unsigned long long)value);
#else
    uint64_t now = __atomic_load_n(position, __ATOMIC_RELAXED);
    while (value > now && !__atomic_compare_exchange_n(position, &now, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        ;
#endif
}

/*
 * Sums the values of the active lanes of a warp that have one label. Returns whether this lane is the first one of its
 * label; its sums[] then contain the sums.
 *
 *     lane    0 1 2 3 4 5 6 7          Each round, lanes with an even rank among the remaining lanes of their label add
 *     label   a a a b a a b a          the value of the next one, which then has nothing left: at most five rounds.
 *     rank    0 1 2 0 3 4 1 5
 */
template <class Warp, int N> SHARED bool sum_lanes(const Warp &warp, uint32_t label, uint64_t (&sums)[N]) {
    uint32_t lane = warp.lane(), before = (1u << lane) - 1, peers = warp.match(label);
    uint32_t rank = warp.count_bits(peers & before);
    bool is_first = rank == 0;
    peers &= ~before & ~(1u << lane); /* the lanes after this one that still have values */
    while (warp.any(peers != 0)) {
        uint32_t next = peers ? warp.lowest_bit(peers) : lane;
        for (int i = 0; i < N; i++) {
            uint64_t value = warp.value_of(next, sums[i]);
            sums[i] += peers ? value : 0;
        }
        peers &= warp.ballot(rank % 2 == 0);
        rank /= 2;
    }
    return is_first;
}

#ifdef __CUDACC__
/* The lanes that are active now, and their exchange of values. Tests have another one. */
struct active_lanes {
    uint32_t mask;
    __device__ uint32_t lane() const {
        return threadIdx.x % 32;
    }
    __device__ uint32_t match(uint32_t label) const { /* the lanes with the same label */
        return __match_any_sync(mask, label);
    }
    __device__ bool any(bool value) const {
        return __any_sync(mask, value);
    }
    __device__ uint32_t ballot(bool value) const { /* the lanes with a true value */
        return __ballot_sync(mask, value);
    }
    __device__ uint64_t value_of(uint32_t lane, uint64_t value) const {
        return __shfl_sync(mask, (unsigned long long)value, (int)lane);
    }
    __device__ static uint32_t count_bits(uint32_t bits) {
        return (uint32_t)__popc(bits);
    }
    __device__ static uint32_t lowest_bit(uint32_t bits) {
        return (uint32_t)__ffs((int)bits) - 1;
    }
};
#endif

/* Sums values before rows of a kernel add them to one address, which allows one atomic operation at a time. Returns
 * whether this row adds. On the CPU each row adds its own values. */
template <int N> SHARED bool sum_in_warp(uint32_t label, uint64_t (&sums)[N]) {
#ifdef __CUDA_ARCH__
    return sum_lanes(active_lanes{__activemask()}, label, sums);
#else
    (void)label, (void)sums;
    return true;
#endif
}

/*
 * Bit width of numbers, to limit radix sorts to significant bits.
 */

/* Returns the bit width; 0 for 0. */
static inline unsigned bits_of(uint64_t value) {
    return value ? 64 - (unsigned)__builtin_clzll(value) : 0;
}

/*
 * Allocate zeroed columns in a host arena; the arena records out of memory.
 */

template <class T> T *room_for(struct arena *arena, uint64_t n) {
    return static_cast<T *>(arena_zeros(arena, n, sizeof(T)));
}

static inline struct number_column room_for_numbers(struct arena *arena, uint64_t n) {
    struct number_column column = {room_for<uint64_t>(arena, n), room_for<uint8_t>(arena, n)};
    return column;
}

#endif
