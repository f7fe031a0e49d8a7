/*
 * generate.c - generates traces: options, files, the two passes of a pair, and jobs of several ranks.
 *
 *     options --with defaults, checked--> generator --pass 1--> host:   frame, root, operators, threads' roots
 *                                                               device: frame, operators
 *                                                   --pass 2--> device: names, launches, GPU operators
 *
 * If one file of a pair fails, both are removed.
 *
 * Jobs: all ranks play in parallel, one step at a time: play to the synchronization, compute the ends of collectives,
 * synchronize, and so on. Then each rank writes its files alone, with known ends. Cost: twice the time of a pair per
 * rank; memory for a generator of some kilobytes per rank, and an end per collective and group.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "generate/generate.h"
#include "generate/generator.h"
#include "text/numbers.h"

/* ---- Buffered files ---- */

/* Creates the file. On success the output must be closed. */
static enum sutra_status output_open(struct output *output, const char *path, const struct temp_file_options *options,
                                     struct sutra_error *error) {
    struct output made = {.path = path, .bytes = malloc(OUTPUT_CAPACITY)};
    TRY_ALLOC(made.bytes, error);
    enum sutra_status status = temp_file_open(&made.temp, path, options, error);
    if (status)
        free(made.bytes);
    else
        *output = made;
    return status;
}

static enum sutra_status write_error(struct output *output, struct sutra_error *error) {
    return error_os(error, SUTRA_IO, output->path, output->failure, "cannot write");
}

/* Closes the file, which appears if `keep` is true. */
static enum sutra_status output_close(struct output *output, bool keep, struct sutra_error *error) {
    output->failure = temp_file_close(&output->temp, keep);
    free(output->bytes);
    output->bytes = NULL;
    return keep && output->failure ? write_error(output, error) : SUTRA_OK;
}

/* ---- Traces of single operators, with times or parents that are adversarial for a linker ---- */

#define MICROSECOND INT64_C(1000)

static void play_operators(struct generator *generator) {
    const struct generate_options *options = generator->options;
    bool has_threads = options->shape == GENERATE_GAPS || options->shape == GENERATE_TIES;
    int64_t previous = thread_node(0);
    for (int64_t i = 0; claim(generator, 1); i++) {
        uint32_t thread = has_threads ? (uint32_t)(i % options->n_threads) : 0;
        bool is_chained = options->shape == GENERATE_NESTED ||
                          (options->shape == GENERATE_DEEP && (options->depth == 0 || i % options->depth != 0));

        /* Start, duration and launch time. */
        int64_t start = 10 * i * MICROSECOND, dur, launch;
        switch (options->shape) {
        case GENERATE_NESTED:
            start = 2 * i * MICROSECOND;
            dur = 4 * ((int64_t)options->events - i) * MICROSECOND;
            break;
        case GENERATE_OVERLAPPING:
            start += random_between(&generator->random, 0, 3000);
            dur = random_between(&generator->random, 8000, 55000);
            break;
        case GENERATE_GAPS:
            start = i * (1500 * MICROSECOND / options->n_threads + 1);
            dur = random_between(&generator->random, 5000, 20000);
            break;
        case GENERATE_TIES:
            start = i / 64 * 100 * MICROSECOND;
            dur = random_between(&generator->random, 0, 4) * 10 * MICROSECOND;
            break;
        case GENERATE_DEEP:
        default:
            dur = random_between(&generator->random, 2000, 8000);
        }
        launch = start + (options->shape == GENERATE_TIES ? i % 2 * 50 : 1) * MICROSECOND;
        struct operation operation = operation_start(generator, is_chained ? previous : thread_node(thread));
        operation.row =
            (uint8_t)(1 + random_below(&generator->random, (uint32_t)n_single_operators - 2)); /* not an annotation */
        operation.start = RUN_START + start;
        operation.end = operation.start + dur;
        burst_plan_one(generator, thread, operation);
        burst_launch(generator, 0, LAUNCH_ELEMENTWISE, RUN_START + launch);
        burst_write(generator);
        previous = operation.node;
    }
}

/* ---- Options and passes ---- */

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

/* Sets defaults and checks the options. Events are limited by the reader's 32-bit rows, other options by memory. */
static enum sutra_status complete_options(const struct generate_options *options, struct generate_options *full,
                                          struct sutra_error *error) {
    *full = *options;
    full->n_threads = full->n_threads ? full->n_threads : 2;
    full->n_streams = full->n_streams ? full->n_streams : 4;
    full->gpu_density = full->gpu_density ? full->gpu_density : 120;
    full->gpu_scale = full->gpu_scale > 0 ? full->gpu_scale : 1;
    full->schema = full->schema ? full->schema : "1.1.1-chakra.0.0.4";
    if (full->shape == GENERATE_GAPS && full->n_threads < 1000)
        full->n_threads = 1000;
    if (full->shape == GENERATE_NESTED || full->shape == GENERATE_OVERLAPPING)
        full->n_threads = 1;
    if (full->events > UINT32_MAX)
        return error_set(error, SUTRA_USAGE, "at most %u events", UINT32_MAX);
    if (full->n_threads > N_THREADS_MAX)
        return error_set(error, SUTRA_USAGE, "at most %u threads", N_THREADS_MAX);
    if (full->n_streams > N_STREAMS_MAX)
        return error_set(error, SUTRA_USAGE, "at most %u streams", N_STREAMS_MAX);
    if (full->gpu_density > DENSITY_MAX)
        return error_set(error, SUTRA_USAGE, "at most %d GPU operators per 1000 events", DENSITY_MAX);
    if (full->depth > DEPTH_MAX)
        return error_set(error, SUTRA_USAGE, "at most %d levels of operators", DEPTH_MAX);
    if (!lines_know_schema(full->schema))
        return error_set(error, SUTRA_USAGE, "unknown schema \"%s\" of host traces", full->schema);
    if (!(full->gpu_scale >= GPU_SCALE_MIN && full->gpu_scale <= GPU_SCALE_MAX))
        return error_set(error, SUTRA_USAGE, "the factor of GPU durations must be from %g to %g", GPU_SCALE_MIN,
                         GPU_SCALE_MAX);
    if ((size_t)full->shape >= N_SHAPES)
        return error_set(error, SUTRA_USAGE, "unknown shape %d", (int)full->shape);
    return SUTRA_OK;
}

/* Maximum number of operators of a tree, without scopes. */
#define TREE_OPS_MAX 64

/* Sets the state in which each pass starts, and writes metadata. */
static void generator_begin(struct generator *generator, enum pass pass) {
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
        job_member_rewind(generator->member, pass != PASS_COLLECTIVES);

    /* Names of the process, its threads and streams, unless they would be more than a tenth of a small trace */
    uint64_t n = 1 + (uint64_t)options->n_threads + options->n_streams;
    const struct template *plain = generator->lines.plain;
    if (n > options->events / 10 || !claim(generator, n))
        return;
    set_times(generator, RUN_START, RUN_START);
    set_numbers(generator, 0);
    write_event(generator, PASS_GPU, &plain[LINE_PROCESS_NAME]);
    for (uint32_t i = 0; i < options->n_threads; i++) {
        generator->values.of[LINE_TID] = thread_tid(generator, i);
        write_event(generator, PASS_GPU, &plain[LINE_THREAD_NAME]);
    }
    for (uint32_t i = 0; i < options->n_streams; i++) {
        generator->values.of[LINE_TID] = stream_tid(i);
        write_event(generator, PASS_GPU, &plain[LINE_STREAM_NAME]);
    }
}

/* Writes the host trace's node of a thread, or with -1 of the process; the parent of both is the process. */
static void write_root(struct generator *generator, int64_t thread) {
    struct operation root = {.node = thread < 0 ? 1 : thread_node((uint32_t)thread), .parent = 1};
    set_operation(generator, &root, 0);
    generator->values.of[LINE_HOST_TID] = thread + 1;
    write_node(generator, &generator->lines.plain[thread < 0 ? LINE_PROCESS_NODE : LINE_THREAD_NODE]);
}

static void play(struct generator *generator, enum pass pass) {
    generator_begin(generator, pass);
    if (generator->options->shape == GENERATE_REALISTIC || generator->options->shape == GENERATE_UNMATCHED)
        play_steps(generator);
    else
        play_operators(generator);
}

static void write_files(struct generator *generator) {
    struct output *host = &generator->host, *device = &generator->device;
    output_text(host, "{\n  \"schema\": \"");
    output_text(host, generator->options->schema);
    output_text(host, "\",\n  \"pid\": ");
    output_number(host, generator->pid);
    output_text(host, ",\n  \"time\": \"2026-11-21 08:03:09\",\n  \"start_ts\": 930796,\n  \"nodes\": [");
    output_text(device, "{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": [");
    uint32_t n_gpus = generator->member ? job_member_neighbours(generator->member) : 1; /* one per rank of the host */
    for (uint32_t i = 0; i < n_gpus; i++) {
        output_text(device, i ? ", {\"id\": " : "{\"id\": ");
        output_number(device, i);
        output_text(device,
                    ", \"name\": \"NVIDIA H200\", \"totalGlobalMem\": 150109880320, \"computeMajor\": 9, "
                    "\"computeMinor\": 0, \"maxThreadsPerBlock\": 1024, \"maxThreadsPerMultiprocessor\": 2048, "
                    "\"regsPerBlock\": 65536, \"warpSize\": 32, \"sharedMemPerBlock\": 49152, \"numSms\": 132}");
    }
    output_text(device, "],\n  \"record_shapes\": 1,\n");
    if (generator->member)
        job_member_write_info(generator->member, device);
    output_text(device, "  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": 1790857026000000000,\n"
                        "  \"traceName\": \"generated.json\",\n  \"traceEvents\": [");
    generator->pass = PASS_OPERATORS;
    write_root(generator, 0);
    play(generator, PASS_OPERATORS);
    write_root(generator, -1);
    for (uint32_t i = 1; i < generator->options->n_threads; i++)
        write_root(generator, i);
    play(generator, PASS_GPU);
    output_text(host, "\n  ],\n  \"finish_ts\": 936065\n}\n");
    output_text(device, "\n  ]\n}\n");
}

/* Initializes a generator, in the arena; `options` are complete, `lines` may be NULL. */
static enum sutra_status generator_make(struct generator *generator, const struct generate_options *options,
                                        const struct lines *lines, struct arena *arena, struct sutra_error *error) {
    *generator = (struct generator){.options = options, .pid = PID, .values.integer_times = options->integer_times};
    size_t n = (size_t)options->depth + TREE_OPS_MAX;
    struct burst *burst = &generator->burst;
    burst->operations = arena_alloc(arena, n, sizeof *burst->operations);
    burst->ended = arena_alloc(arena, n, sizeof *burst->ended);
    burst->open = arena_alloc(arena, n, sizeof *burst->open);
    burst->launches = arena_alloc(arena, 4 * (size_t)TREE_OPS_MAX, sizeof *burst->launches);
    generator->thread_clock = arena_alloc(arena, options->n_threads, sizeof *generator->thread_clock);
    generator->stream_clock = arena_alloc(arena, options->n_streams, sizeof *generator->stream_clock);
    generator->stream_end = arena_alloc(arena, options->n_streams, sizeof *generator->stream_end);
    if (lines)
        generator->lines = *lines;
    if (arena->failed || (!lines && !lines_make(&generator->lines, options->schema, arena)))
        return error_memory(error);
    for (uint32_t i = 0, kind = 0; kind <= N_LAUNCH_KINDS; kind++) {
        while (i < n_gpu_rows && gpu_rows[i].kind < kind)
            i++;
        generator->first_gpu_row[kind] = i;
    }
    return SUTRA_OK;
}

/* Plays the run and writes both files, which appear together once both are complete. */
static enum sutra_status generator_write(struct generator *generator, const char *host_path, const char *device_path,
                                         struct sutra_error *error) {
    const struct generate_options *options = generator->options;
    struct output *host = &generator->host, *device = &generator->device;
    generator->host_has_nodes = generator->device_has_events = false;
    TRY(output_open(host, host_path, &options->host_file, error));
    enum sutra_status status = output_open(device, device_path, &options->device_file, error);
    if (status) {
        output_close(host, false, NULL);
        return status;
    }
    write_files(generator);
    output_flush(host);
    if (host->failure)
        status = write_error(host, error);
    if (!status) {
        output_flush(device);
        status = device->failure ? write_error(device, error) : SUTRA_OK;
    }
    enum sutra_status of_host = output_close(host, !status, status ? NULL : error);
    status = status ? status : of_host;
    enum sutra_status of_device = output_close(device, !status, status ? NULL : error);
    return status ? status : of_device;
}

enum sutra_status generate_pair(const struct generate_options *options, struct sutra_error *error) {
    struct generate_options full;
    struct arena arena = {0};
    struct generator generator;
    if (!options->host_path || !options->device_path || strcmp(options->host_path, options->device_path) == 0)
        return error_set(error, SUTRA_USAGE, "host and device trace need different files");
    TRY(complete_options(options, &full, error));
    enum sutra_status status = generator_make(&generator, &full, NULL, &arena, error);
    generator.n_all = 2 * full.events;
    if (!status)
        status = generator_write(&generator, full.host_path, full.device_path, error);
    arena_free(&arena);
    return status;
}

/* ---- Jobs ---- */

#define N_RANKS_MAX 65536

/* Difference of the process ids of consecutive ranks. */
#define PID_STEP 41

#define FILE_NAME_MAX 4200

struct job_maker {
    const struct generate_job_options *options;
    struct generate_options run; /* of each rank */
    struct generator *generators;
    struct job_member *members;
    struct collective_ends ends;
    struct arena arena;
    int64_t *clocks, *last; /* per rank: when its stream of collectives is free, and the end of its last collective */
};

static enum sutra_status check_job(const struct generate_job_options *options, struct sutra_error *error) {
    const struct generate_options *run = &options->run;
    uint32_t n_ranks = options->n_ranks;
    if (n_ranks < 2 || n_ranks > N_RANKS_MAX)
        return error_set(error, SUTRA_USAGE, "a job has 2 to %d ranks", N_RANKS_MAX);
    if (run->shape != GENERATE_REALISTIC || run->no_gpu)
        return error_set(error, SUTRA_USAGE, "a job needs the shape \"realistic\"");
    if (run->n_streams == 1)
        return error_set(error, SUTRA_USAGE, "a job needs at least two streams, one of them for collectives");
    const uint32_t chosen[] = {options->slow_rank, options->missing_rank, options->swapped_rank,
                               options->cut_rank,  options->lossy_rank,   options->resized_rank};
    for (size_t i = 0; i < sizeof chosen / sizeof *chosen; i++)
        if (chosen[i] != GENERATE_RANK_NONE && chosen[i] >= n_ranks)
            return error_set(error, SUTRA_USAGE, "no rank %u: the ranks are 0 to %u", chosen[i], n_ranks - 1);
    return SUTRA_OK;
}

/* A random number in [-limit, limit] for this seed, purpose and index. */
static int64_t spread(const struct generate_job_options *options, uint64_t purpose, uint64_t index, uint64_t limit) {
    struct random random = {options->run.seed * 1009 + purpose * 7919 + index};
    return (int64_t)(random_next(&random) % (2 * limit + 1)) - (int64_t)limit;
}

static enum sutra_status make_rank(struct job_maker *job, uint32_t rank, struct sutra_error *error) {
    const struct generate_job_options *options = job->options;
    struct generator *generator = &job->generators[rank];
    uint32_t host = rank / options->ranks_per_host;
    TRY(generator_make(generator, &job->run, rank ? &job->generators->lines : NULL, &job->arena, error));
    TRY_ALLOC(job_member_make(&job->members[rank], options, rank, &job->ends), error);
    generator->member = &job->members[rank];
    generator->n_before = (options->n_ranks + 2 * (uint64_t)rank) * job->run.events;
    generator->n_all = 3 * (uint64_t)options->n_ranks * job->run.events;
    generator->pid += (int64_t)rank * PID_STEP;
    generator->start_offset =
        (spread(options, 1, rank, options->skew_us) + (int64_t)options->skew_us) * MICROSECOND / 2;
    generator->clock_offset = host ? spread(options, 2, host, options->clock_offset_us) * MICROSECOND : 0;
    return SUTRA_OK;
}

static enum sutra_status make_ranks(struct job_maker *job, struct sutra_error *error) {
    uint32_t n = job->options->n_ranks;
    job->generators = arena_zeros(&job->arena, n, sizeof *job->generators);
    job->members = arena_zeros(&job->arena, n, sizeof *job->members);
    job->clocks = arena_zeros(&job->arena, n, sizeof *job->clocks);
    job->last = arena_zeros(&job->arena, n, sizeof *job->last);
    TRY(arena_status(&job->arena, error));
    for (uint32_t rank = 0; rank < n; rank++)
        TRY(make_rank(job, rank, error));
    return SUTRA_OK;
}

/* Plays all ranks from one synchronization to the next, and computes the ends of their collectives. Ranks run the same
 * program, so that all of them or none synchronize again. */
static bool play_together(struct job_maker *job) {
    uint32_t n = job->options->n_ranks, stream = collective_stream(job->generators);
    struct generator *generators = job->generators;
    for (uint32_t rank = 0; rank < n; rank++)
        generator_begin(&generators[rank], PASS_COLLECTIVES);
    for (bool more = true; more;) {
        for (uint32_t rank = 0; rank < n; rank++) {
            more = play_until_sync(&generators[rank]);
            job->clocks[rank] = generators[rank].stream_clock[stream];
            job->last[rank] = generators[rank].stream_end[stream];
        }
        if (!collectives_settle(job->members, job->clocks, job->last))
            return false;
        for (uint32_t rank = 0; rank < n; rank++) {
            generators[rank].stream_clock[stream] = job->clocks[rank];
            generators[rank].stream_end[stream] = job->last[rank];
        }
        if (job->run.progress)
            job->run.progress(job->run.arg, n * generators->n_claimed, generators->n_all);
        for (uint32_t rank = 0; rank < n && more; rank++)
            play_sync(&generators[rank]);
    }
    return true;
}

static enum sutra_status write_rank(struct job_maker *job, uint32_t rank, struct sutra_error *error) {
    char host[FILE_NAME_MAX], device[FILE_NAME_MAX];
    struct stat written;
    int length = snprintf(host, sizeof host, "%s/host.%u.json", job->options->host_folder, rank);
    int other = snprintf(device, sizeof device, "%s/device.%u.json", job->options->device_folder, rank);
    if (length >= FILE_NAME_MAX || other >= FILE_NAME_MAX)
        return error_set(error, SUTRA_USAGE, "the path of the directory is too long");
    if (strcmp(host, device) == 0)
        return error_set(error, SUTRA_USAGE, "host and device trace need different files");
    enum sutra_status status = generator_write(&job->generators[rank], host, device, error);
    if (status || rank != job->options->cut_rank)
        return status;
    if (stat(device, &written) || truncate(device, written.st_size / 2))
        return error_os(error, SUTRA_IO, device, errno, "cannot truncate");
    return SUTRA_OK;
}

static enum sutra_status run_job(struct job_maker *job, struct sutra_error *error) {
    TRY(check_job(job->options, error));
    TRY(complete_options(&job->options->run, &job->run, error));
    TRY(make_ranks(job, error));
    TRY_ALLOC(play_together(job), error);
    for (uint32_t rank = 0; rank < job->options->n_ranks; rank++)
        if (rank != job->options->missing_rank)
            TRY(write_rank(job, rank, error));
    return SUTRA_OK;
}

enum sutra_status generate_job(const struct generate_job_options *options, struct sutra_error *error) {
    struct generate_job_options full = *options;
    struct job_maker job = {.options = &full};
    full.ranks_per_host = options->ranks_per_host ? options->ranks_per_host : 8;
    full.run.collectives = true;
    enum sutra_status status = run_job(&job, error);
    for (uint32_t rank = 0; job.members && rank < full.n_ranks; rank++)
        arena_free(&job.members[rank].arena);
    arena_free(&job.ends.arena);
    arena_free(&job.arena);
    return status;
}
