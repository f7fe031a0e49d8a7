/*
 * fuzz_job.h - what the targets for the folder of a job share: the folder, its files, and reading the job.
 */
#ifndef FUZZ_JOB_H
#define FUZZ_JOB_H

#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "fuzz_trace.h"
#include "job/job.h"

static char fuzz_folder[64];

static inline void fuzz_folder_remove(void) {
    /* clang-format off */
    static const char *const names[] = {
        ".job/plan", ".job/rank.0", ".job/rank.1", ".job/rank.0.met", ".job/rank.1.met", "job.json",
        "comm_groups.json", "rank.0.et", "rank.1.et", "comm_group.json", "system.json", "network.yml", "memory.json",
        "table", "host.json", "device.json", ".job", ""
    };
    /* clang-format on */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s", fuzz_folder, names[i]);
        remove(path);
    }
}

/* The path of a file in the folder, which is made at the first call. */
static inline const char *fuzz_path(const char *name) {
    static char path[128];
    if (!*fuzz_folder) {
        snprintf(fuzz_folder, sizeof fuzz_folder, "/tmp/fuzz_job.%ld", (long)getpid());
        snprintf(path, sizeof path, "%s/.job", fuzz_folder);
        check(mkdir(fuzz_folder, 0700) == 0 && mkdir(path, 0700) == 0, "a folder can be made");
        atexit(fuzz_folder_remove);
    }
    snprintf(path, sizeof path, "%s/%s", fuzz_folder, name);
    return path;
}

static inline void fuzz_file(const char *name, const void *bytes, size_t size) {
    FILE *file = fopen(fuzz_path(name), "wb");
    check(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0, "a file can be written");
}

/* A record of rank 0 or 1 whose collectives meet those of the other rank. */
static inline void fuzz_record(int rank) {
    char name[32], text[2000];
    snprintf(name, sizeof name, ".job/rank.%d", rank);
    int length =
        snprintf(text, sizeof text,
                 "version\t0.1.0\noptions\t--format et\nhost\th\t12\t13\ndevice\td\t14\t15\n"
                 "rank\t%d\tprocess\nfile\t.job/rank.%d.et\t100\nseconds\t0.5\ncount\tn_nodes\t7\n"
                 "times\t20.500\nwarning\tw\ndevices\t1\nuntold\t0\ngroup\t2\t0\t[0, 1]\n"
                 "call\t0\tallreduce\tFloat\t8\t8\t0\t-1\t1000%d\t20000\t4\t3\t9\t32\n"
                 "call\t0\tsend\tFloat\t8\t8\t1\t%d\t30000\t40000\t5\t13\t19\t0\nstart\t500%d\t60000\t1\t4\nend\n",
                 rank, rank, rank, 1 - rank, rank);
    fuzz_file(name, text, (size_t)length);
}

static inline void fuzz_plan(void) {
    static const char plan[] = "options\t--format et --astra\nending\t.et\nworld\t2\npair\t0\npair\t1\nend\n";
    fuzz_file(".job/plan", plan, sizeof plan - 1);
}

/* Reads the job and makes of it what `sutra link --combine` does. */
static inline enum sutra_status fuzz_job_finish(void) {
    struct sutra_context *context = new_context(1);
    struct job_whole whole;
    struct sutra_error error;
    enum sutra_status status = job_whole_read(&whole, fuzz_folder, &error);
    check(status != SUTRA_INTERNAL && (!status || (error.status == status && *error.message)), "an error has a reason");
    const struct second_pass_options options = {.folder = fuzz_folder, .context = {.size = sizeof options.context}};
    for (size_t i = 0; i < whole.n_ranks && !status; i++) {
        const struct whole_rank *rank = &whole.ranks[i];
        check(rank->rank >= 0 && rank->rank < whole.world_size, "ranks are of the job");
        check(i == 0 || rank[-1].rank < rank->rank, "ranks ascend");
        check((rank->state == RANK_BROKEN) == (rank->error != NULL), "a broken rank has a reason");
        check(rank->state != RANK_MISSING || !rank->record, "a missing rank has no record");
    }
    if (!status) {
        check(whole.n_done + whole.n_broken + whole.n_missing == whole.n_ranks, "each rank has a state");
        check(job_whole_write(&whole, context, fuzz_folder, &error) == SUTRA_OK, "job.json can be written");
    }
    if (!status && whole.matched_collectives && whole.n_ranks < 10)
        check(second_pass_run(&whole, &options, &error) != SUTRA_INTERNAL, "the second pass ends");
    job_whole_free(&whole);
    sutra_context_free(context);
    return status;
}

#endif
