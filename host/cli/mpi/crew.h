/*
 * crew.h - MPI processes that share the ranks of a job.
 *
 *     process 0         assigns ranks: one thread for messages, other threads for work
 *     other processes   request a rank whenever a thread is free
 *
 * Processes exchange numbers only; traces and results are files. Each process sends a message every second. A process
 * that is silent for too long counts as failed, including its ranks, and process 0 continues with the remaining
 * processes. If process 0 fails, all others end; their finished results remain.
 *
 * Only the main thread calls MPI; a second thread does the work.
 */
#ifndef CLI_MPI_CREW_H
#define CLI_MPI_CREW_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/link/link_job.h"

/* What the thread that works asks the main thread for. */
enum crew_question { ASK_NOTHING, ASK_PLAN, ASK_NEXT, ASK_END };

/* What process 0 knows of another. */
struct crew_mate {
    double heard;    /* when */
    int64_t n_pairs; /* of its plan, or CREW_UNPLANNED */
    bool is_done, is_gone;
};

#define CREW_UNPLANNED (-2)
#define CREW_NO_PLAN   (-1)

struct crew {
    int process, n_processes;
    double patience; /* seconds */
    struct job_team team;

    pthread_mutex_t mutex;
    pthread_cond_t asked, answered;
    enum crew_question question; /* not answered yet */
    bool is_sent;
    int64_t value, answer;
    bool has_returned; /* the work is done */

    struct crew_mate *mates;
    int64_t n_pairs, next;
    double told; /* when this process told that it is there */
    bool is_agreed, is_over;
};

/* Fills the crew's team; `patience` is how long a process may be silent. */
void crew_start(struct crew *crew, int process, int n_processes, unsigned n_threads, double patience,
                struct crew_mate *mates);

/* Carries messages until the work is done, here, and in process 0 everywhere. */
void crew_serve(struct crew *crew);

/* The thread that works has returned. */
void crew_return(struct crew *crew);

/* Lets the others go; whether all processes are still there. For process 0. */
bool crew_dismiss(struct crew *crew);

#endif
