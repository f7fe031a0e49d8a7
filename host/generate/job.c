/*
 * job.c - the traces of a made-up job.
 *
 *     all ranks side by side, a step at a time: play to the meeting, settle the ends of collectives, meet ...
 *     then each rank alone, with the ends known: both of its files
 *
 * Cost: playing is twice that of the pairs' operators; memory a generator of some kilobytes a rank, and an end for each
 * collective and group.
 */
#include "generate/job.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "generate/generator.h"

#define N_RANKS_MAX 65536
#define MICROSECOND INT64_C(1000)

/* Process ids of ranks are so far apart. */
#define PID_STEP 41

#define FILE_NAME_MAX 4200

struct job_maker {
    const struct generate_job_options *options;
    struct generate_options run; /* of each rank */
    struct generator *generators;
    struct job_member *members;
    struct collective_ends ends;
    struct arena arena;
    int64_t *clocks, *last; /* per rank, for settling */
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

/* A number in [-most, most] for this seed, purpose and place. */
static int64_t spread(const struct generate_job_options *options, uint64_t purpose, uint64_t place, uint64_t most) {
    struct random random = {options->run.seed * 1009 + purpose * 7919 + place};
    return (int64_t)(random_next(&random) % (2 * most + 1)) - (int64_t)most;
}

static enum sutra_status make_rank(struct job_maker *job, uint32_t rank, struct sutra_error *error) {
    const struct generate_job_options *options = job->options;
    struct generator *generator = &job->generators[rank];
    uint32_t host = rank / options->ranks_per_host;
    enum sutra_status status =
        generator_make(generator, &job->run, rank ? &job->generators->lines : NULL, &job->arena, error);
    if (status)
        return status;
    if (!job_member_make(&job->members[rank], options, rank, &job->ends))
        return error_memory(error);
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
    enum sutra_status status = arena_status(&job->arena, error);
    for (uint32_t rank = 0; rank < n && !status; rank++)
        status = make_rank(job, rank, error);
    return status;
}

/* Settles what has been launched up to the meeting, and gives it to each rank's stream of collectives. */
static bool settle(struct job_maker *job) {
    uint32_t n = job->options->n_ranks, stream = collective_stream(job->generators);
    for (uint32_t rank = 0; rank < n; rank++) {
        job->clocks[rank] = job->generators[rank].stream_clock[stream];
        job->last[rank] = job->generators[rank].stream_end[stream];
    }
    if (!collectives_settle(job->members, job->clocks, job->last))
        return false;
    for (uint32_t rank = 0; rank < n; rank++) {
        job->generators[rank].stream_clock[stream] = job->clocks[rank];
        job->generators[rank].stream_end[stream] = job->last[rank];
    }
    return true;
}

/* Ranks run the same program, so that all or none of them meet again. */
static bool play_together(struct job_maker *job) {
    uint32_t n = job->options->n_ranks;
    for (uint32_t rank = 0; rank < n; rank++)
        generator_begin(&job->generators[rank], PASS_MEETINGS);
    for (bool more = true; more;) {
        for (uint32_t rank = 0; rank < n; rank++)
            more = play_until_meeting(&job->generators[rank]);
        if (!settle(job))
            return false;
        if (job->run.progress)
            job->run.progress(job->run.arg, n * job->generators->n_claimed, job->generators->n_all);
        for (uint32_t rank = 0; rank < n && more; rank++)
            play_meeting(&job->generators[rank]);
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
        return error_file(error, SUTRA_IO, device, "cannot truncate: %s", strerror(errno));
    return SUTRA_OK;
}

enum sutra_status generate_job(const struct generate_job_options *options, struct sutra_error *error) {
    struct generate_job_options taken = *options;
    struct job_maker job = {.options = &taken};
    taken.ranks_per_host = options->ranks_per_host ? options->ranks_per_host : 8;
    taken.run.collectives = true;
    enum sutra_status status = check_job(&taken, error);
    if (!status)
        status = generate_options_take(&taken.run, &job.run, error);
    if (!status)
        status = make_ranks(&job, error);
    if (!status && !play_together(&job))
        status = error_memory(error);
    for (uint32_t rank = 0; rank < taken.n_ranks && !status; rank++)
        if (rank != taken.missing_rank)
            status = write_rank(&job, rank, error);
    for (uint32_t rank = 0; job.members && rank < taken.n_ranks; rank++)
        arena_free(&job.members[rank].arena);
    arena_free(&job.ends.arena);
    arena_free(&job.arena);
    return status;
}
