/*
 * generate.c - a host trace and a device trace of a made-up run: options, the frame of both files, and the two passes.
 *
 *     options --with defaults, checked--> generator --pass 1--> host:   frame, root, operators, threads' roots
 *                                                               device: frame, operators
 *                                                   --pass 2--> device: names, launches, GPU operators
 *
 * Of a pair of which one file fails neither stays.
 */
#include "generate/generate.h"

#include <string.h>

#include "base/error.h"
#include "generate/generator.h"

#define PID           8123
#define N_THREADS_MAX ((uint32_t)1 << 16)
#define N_STREAMS_MAX ((uint32_t)1 << 10)
#define DENSITY_MAX   150
#define DEPTH_MAX     1000000
#define GPU_SCALE_MIN 0.001
#define GPU_SCALE_MAX 1000.0

const char *const generate_shape_names[] = {[GENERATE_REALISTIC] = "realistic", [GENERATE_UNMATCHED] = "unmatched",
                                            [GENERATE_NESTED] = "nested",       [GENERATE_OVERLAPPING] = "overlapping",
                                            [GENERATE_GAPS] = "gaps",           [GENERATE_TIES] = "ties",
                                            [GENERATE_DEEP] = "deep",           NULL};
#define N_SHAPES (sizeof generate_shape_names / sizeof generate_shape_names[0] - 1)

static struct generate_options with_defaults(const struct generate_options *options) {
    struct generate_options full = *options;
    full.n_threads = full.n_threads ? full.n_threads : 2;
    full.n_streams = full.n_streams ? full.n_streams : 4;
    full.gpu_density = full.gpu_density ? full.gpu_density : 120;
    full.gpu_scale = full.gpu_scale > 0 ? full.gpu_scale : 1;
    full.schema = full.schema ? full.schema : "1.1.1-chakra.0.0.4";
    if (full.shape == GENERATE_GAPS && full.n_threads < 1000)
        full.n_threads = 1000;
    if (full.shape == GENERATE_NESTED || full.shape == GENERATE_OVERLAPPING)
        full.n_threads = 1;
    return full;
}

/* Events are limited to what fits a reader's 32-bit rows, the rest to what keeps memory small. */
static enum sutra_status check(const struct generate_options *options, struct sutra_error *error) {
    if (options->events > UINT32_MAX)
        return error_set(error, SUTRA_USAGE, "at most %u events", UINT32_MAX);
    if (options->n_threads > N_THREADS_MAX)
        return error_set(error, SUTRA_USAGE, "at most %u threads", N_THREADS_MAX);
    if (options->n_streams > N_STREAMS_MAX)
        return error_set(error, SUTRA_USAGE, "at most %u streams", N_STREAMS_MAX);
    if (options->gpu_density > DENSITY_MAX)
        return error_set(error, SUTRA_USAGE, "at most %d GPU operators per 1000 events", DENSITY_MAX);
    if (options->depth > DEPTH_MAX)
        return error_set(error, SUTRA_USAGE, "at most %d levels of operators", DEPTH_MAX);
    if (!lines_know_schema(options->schema))
        return error_set(error, SUTRA_USAGE, "unknown schema \"%s\" of host traces", options->schema);
    if (!(options->gpu_scale >= GPU_SCALE_MIN && options->gpu_scale <= GPU_SCALE_MAX))
        return error_set(error, SUTRA_USAGE, "the factor of GPU durations must be from %g to %g", GPU_SCALE_MIN,
                         GPU_SCALE_MAX);
    if ((size_t)options->shape >= N_SHAPES)
        return error_set(error, SUTRA_USAGE, "unknown shape %d", (int)options->shape);
    return SUTRA_OK;
}

/* Largest number of operators of a tree, whatever the depth. */
#define TREE_OPS_MAX 64

static bool reserve(struct generator *generator, const struct lines *lines, struct arena *arena) {
    const struct generate_options *options = generator->options;
    size_t n = (size_t)options->depth + TREE_OPS_MAX;
    struct burst *burst = &generator->burst;
    burst->operations = arena_take(arena, n, sizeof *burst->operations);
    burst->ended = arena_take(arena, n, sizeof *burst->ended);
    burst->open = arena_take(arena, n, sizeof *burst->open);
    burst->launches = arena_take(arena, 4 * (size_t)TREE_OPS_MAX, sizeof *burst->launches);
    generator->thread_clock = arena_take(arena, options->n_threads, sizeof *generator->thread_clock);
    generator->stream_clock = arena_take(arena, options->n_streams, sizeof *generator->stream_clock);
    generator->stream_end = arena_take(arena, options->n_streams, sizeof *generator->stream_end);
    if (lines)
        generator->lines = *lines;
    return !arena->failed && (lines || lines_make(&generator->lines, options->schema, arena));
}

/* Names of the process, its threads and streams, unless they would be more than a tenth of a small trace. */
static void write_metadata(struct generator *generator) {
    const struct generate_options *options = generator->options;
    uint64_t n = 1 + (uint64_t)options->n_threads + options->n_streams;
    const struct template *plain = generator->lines.plain;
    if (n > options->events / 10 || !claim(generator, n))
        return;
    set_times(generator, RUN_START, RUN_START);
    set_numbers(generator, 0);
    write_event(generator, PASS_GPU, &plain[LINE_PROCESS_NAME]);
    for (uint32_t i = 0; i < options->n_threads; i++) {
        generator->values.of[FIELD_TID] = thread_tid(generator, i);
        write_event(generator, PASS_GPU, &plain[LINE_THREAD_NAME]);
    }
    for (uint32_t i = 0; i < options->n_streams; i++) {
        generator->values.of[FIELD_TID] = stream_tid(i);
        write_event(generator, PASS_GPU, &plain[LINE_STREAM_NAME]);
    }
}

/* The state in which each pass starts. */
void generator_begin(struct generator *generator, enum pass pass) {
    const struct generate_options *options = generator->options;
    generator->pass = pass;
    generator->random.state = options->seed;
    generator->n_claimed = generator->n_gpu_ops = 0;
    generator->next_node = thread_node(options->n_threads);
    generator->next_rf = 881;
    generator->next_external = 1025;
    generator->next_index = 0;
    generator->next_correlation = 1001;
    generator->step_number = 0;
    generator->in_step = false;
    for (uint32_t i = 0; i < options->n_threads; i++)
        generator->thread_clock[i] = RUN_START + generator->start_offset;
    for (uint32_t i = 0; i < options->n_streams; i++)
        generator->stream_clock[i] = generator->stream_end[i] = RUN_START + generator->start_offset;
    if (generator->member)
        job_member_rewind(generator->member, pass != PASS_MEETINGS);
    write_metadata(generator);
}

static void find_gpu_rows(struct generator *generator) {
    for (uint32_t i = 0, kind = 0; kind <= N_LAUNCH_KINDS; kind++) {
        while (i < n_gpu_rows && gpu_rows[i].kind < kind)
            i++;
        generator->first_gpu_row[kind] = i;
    }
}

/* The host trace's nodes for a thread and, as number -1, the process; both hang on the latter. */
static void write_root(struct generator *generator, int64_t thread) {
    struct operation root = {.node = thread < 0 ? 1 : thread_node((uint32_t)thread), .parent = 1};
    set_operation(generator, &root, 0);
    generator->values.of[FIELD_HOST_TID] = thread + 1;
    write_node(generator, &generator->lines.plain[thread < 0 ? LINE_PROCESS_NODE : LINE_THREAD_NODE]);
}

static void play(struct generator *generator, enum pass pass) {
    generator_begin(generator, pass);
    if (generator->options->shape == GENERATE_REALISTIC || generator->options->shape == GENERATE_UNMATCHED)
        play_steps(generator);
    else
        play_operators(generator);
}

static void write_host_frame(struct generator *generator) {
    output_text(&generator->host, "{\n  \"schema\": \"");
    output_text(&generator->host, generator->options->schema);
    output_text(&generator->host, "\",\n  \"pid\": ");
    output_number(&generator->host, generator->pid);
    output_text(&generator->host, ",\n  \"time\": \"2026-11-21 08:03:09\",\n  \"start_ts\": 930796,\n  \"nodes\": [");
}

/* The GPUs of a host: those of its ranks. */
static void write_devices(struct generator *generator) {
    uint32_t n = generator->member ? job_member_neighbours(generator->member) : 1;
    for (uint32_t i = 0; i < n; i++) {
        output_text(&generator->device, i ? ", {\"id\": " : "{\"id\": ");
        output_number(&generator->device, i);
        output_text(&generator->device,
                    ", \"name\": \"NVIDIA H200\", \"totalGlobalMem\": 150109880320, \"computeMajor\": 9, "
                    "\"computeMinor\": 0, \"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048, "
                    "\"regsPerBlock\": 65536, \"warpSize\": 32, \"sharedMemPerBlock\": 49152, \"numSms\": 132}");
    }
}

static void write_device_frame(struct generator *generator) {
    output_text(&generator->device, "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [");
    write_devices(generator);
    output_text(&generator->device, "],\n  \"record_shapes\": 1,\n");
    if (generator->member)
        job_member_write_info(generator->member, &generator->device);
    output_text(&generator->device, "  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": 1790857026000000000,\n"
                                    "  \"traceName\": \"generated.json\",\n  \"traceEvents\": [");
}

static void write_files(struct generator *generator) {
    write_host_frame(generator);
    write_device_frame(generator);
    generator->pass = PASS_OPERATORS;
    write_root(generator, 0);
    play(generator, PASS_OPERATORS);
    write_root(generator, -1);
    for (uint32_t i = 1; i < generator->options->n_threads; i++)
        write_root(generator, i);
    play(generator, PASS_GPU);
    output_text(&generator->host, "\n  ],\n  \"finish_ts\": 936065\n}\n");
    output_text(&generator->device, "\n  ]\n}\n");
}

/* Both files appear once both are whole. */
static enum sutra_status close_both(struct generator *generator, struct sutra_error *error) {
    enum sutra_status status = output_finish(&generator->host, error);
    if (!status)
        status = output_finish(&generator->device, error);
    enum sutra_status of_host = output_close(&generator->host, !status, status ? NULL : error);
    status = status ? status : of_host;
    enum sutra_status of_device = output_close(&generator->device, !status, status ? NULL : error);
    return status ? status : of_device;
}

static enum sutra_status open_both(struct generator *generator, const char *host_path, const char *device_path,
                                   struct sutra_error *error) {
    const struct generate_options *options = generator->options;
    enum sutra_status status = output_open(&generator->host, host_path, &options->host_file, error);
    if (status)
        return status;
    status = output_open(&generator->device, device_path, &options->device_file, error);
    if (status)
        output_close(&generator->host, false, NULL);
    return status;
}

enum sutra_status generate_options_take(const struct generate_options *options, struct generate_options *full,
                                        struct sutra_error *error) {
    *full = with_defaults(options);
    return check(full, error);
}

enum sutra_status generator_make(struct generator *generator, const struct generate_options *options,
                                 const struct lines *lines, struct arena *arena, struct sutra_error *error) {
    *generator = (struct generator){.options = options, .pid = PID, .values.integer_times = options->integer_times};
    if (!reserve(generator, lines, arena))
        return error_memory(error);
    find_gpu_rows(generator);
    return SUTRA_OK;
}

enum sutra_status generator_write(struct generator *generator, const char *host_path, const char *device_path,
                                  struct sutra_error *error) {
    generator->host_has_nodes = generator->device_has_events = false;
    enum sutra_status status = open_both(generator, host_path, device_path, error);
    if (status)
        return status;
    write_files(generator);
    return close_both(generator, error);
}

enum sutra_status generate_pair(const struct generate_options *options, struct sutra_error *error) {
    struct generate_options full;
    struct arena arena = {0};
    struct generator generator;
    if (!options->host_path || !options->device_path || strcmp(options->host_path, options->device_path) == 0)
        return error_set(error, SUTRA_USAGE, "host and device trace need different files");
    enum sutra_status status = generate_options_take(options, &full, error);
    if (status)
        return status;
    status = generator_make(&generator, &full, NULL, &arena, error);
    generator.n_all = 2 * full.events;
    if (!status)
        status = generator_write(&generator, full.host_path, full.device_path, error);
    arena_free(&arena);
    return status;
}
