/*
 * main.c - `sutra-mpi`, started by mpirun: `sutra-mpi link HOSTS DEVICES -o DIR` links a job, and `sutra-mpi analyze
 * ...` analyzes many ranks, in several processes.
 *
 *     mpirun --enable-recovery -n 64 sutra-mpi [--patience SECONDS] link hosts devices -o linked
 *     mpirun --enable-recovery -n 64 sutra-mpi analyze hta devices -o tables
 *
 * Only process 0 prints. All processes compute the same plan, so the others would repeat its messages; later warnings
 * are in the records.
 */
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/job.h"
#include "cli/link.h"
#include "cli/progress.h"
#include "cli/terminal.h"

/*
 * MPI processes that share the ranks of a job.
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

/*
 * Exchanges messages between MPI processes: a tag and a number each.
 */

/* The main thread looks for messages so often. */
#define LOOK_NS 2000000

#define TELL_SECONDS 1.0

enum crew_tag {
    TAG_THERE, /* a sign of life */
    TAG_PLAN,  /* to process 0: how many pairs the plan has */
    TAG_GO,    /* from it: whether all have as many */
    TAG_WANT,  /* to it: a rank is wanted */
    TAG_GIVE,  /* from it: the number of a pair, or -1 */
    TAG_DONE,  /* to it: nothing more is wanted */
    TAG_LEAVE, /* from it: all is done; 1: all are there, so that MPI may be ended as it should be */
};

static void send(int process, enum crew_tag tag, int64_t value) {
    MPI_Send(&value, 1, MPI_INT64_T, process, (int)tag, MPI_COMM_WORLD);
}

/* ---- The thread that works ---- */

static int64_t ask(struct crew *crew, enum crew_question question, int64_t value) {
    pthread_mutex_lock(&crew->mutex);
    crew->question = question;
    crew->value = value;
    crew->is_sent = false;
    pthread_cond_signal(&crew->asked);
    while (crew->question != ASK_NOTHING)
        pthread_cond_wait(&crew->answered, &crew->mutex);
    int64_t answer = crew->answer;
    pthread_mutex_unlock(&crew->mutex);
    return answer;
}

static bool team_begin(void *arg, size_t n_pairs) {
    return ask(arg, ASK_PLAN, n_pairs == SIZE_MAX ? CREW_NO_PLAN : (int64_t)n_pairs);
}

static bool team_next(void *arg, size_t *pair) {
    int64_t number = ask(arg, ASK_NEXT, 0);
    *pair = (size_t)number;
    return number >= 0;
}

static void team_end(void *arg) {
    ask(arg, ASK_END, 0);
}

/* The thread that works has returned. */
static void crew_return(struct crew *crew) {
    pthread_mutex_lock(&crew->mutex);
    crew->has_returned = true;
    pthread_cond_signal(&crew->asked);
    pthread_mutex_unlock(&crew->mutex);
}

/* ---- The main thread; the mutex is held but for waiting ---- */

static void answer(struct crew *crew, int64_t value) {
    crew->answer = value;
    crew->question = ASK_NOTHING;
    pthread_cond_signal(&crew->answered);
}

static int64_t deal(struct crew *crew) {
    return crew->next < crew->n_pairs ? crew->next++ : -1;
}

/* Whether all that are there have told their plans, or are done. */
static bool all_have(const struct crew *crew, bool done) {
    for (int i = 0; i < crew->n_processes; i++) {
        const struct crew_mate *mate = &crew->mates[i];
        if (!mate->is_gone && (done ? i > 0 && !mate->is_done : mate->n_pairs == CREW_UNPLANNED))
            return false;
    }
    return true;
}

/* All plans are there: are they the same? */
static void agree(struct crew *crew) {
    int other = -1;
    for (int i = 0; i < crew->n_processes; i++)
        if (!crew->mates[i].is_gone && crew->mates[i].n_pairs != crew->mates[0].n_pairs)
            other = i;
    bool same = other < 0 && crew->mates[0].n_pairs >= 0;
    crew->is_agreed = true;
    crew->n_pairs = crew->mates[0].n_pairs;
    for (int i = 1; i < crew->n_processes; i++) {
        if (!crew->mates[i].is_gone)
            send(i, TAG_GO, same);
        crew->mates[i].is_done = !same;
    }
    if (other > 0 && crew->mates[0].n_pairs >= 0)
        message_fail(SUTRA_NO_INPUT,
                     "process %d of the job finds other traces than process 0: all machines need the same directories",
                     other);
    answer(crew, same);
}

/* What is asked here, in process 0. */
static void answer_first(struct crew *crew) {
    if (crew->question == ASK_PLAN) {
        crew->mates[0].n_pairs = crew->value;
        if (!crew->is_agreed && all_have(crew, false))
            agree(crew);
    } else if (crew->question == ASK_NEXT) {
        answer(crew, deal(crew));
    } else if (crew->question == ASK_END && all_have(crew, true)) {
        answer(crew, 0);
    }
}

static void send_question(struct crew *crew) {
    static const enum crew_tag tags[] = {[ASK_PLAN] = TAG_PLAN, [ASK_NEXT] = TAG_WANT, [ASK_END] = TAG_DONE};
    if (crew->question == ASK_NOTHING || crew->is_sent)
        return;
    crew->is_sent = true;
    send(0, tags[crew->question], crew->value);
    if (crew->question == ASK_END)
        answer(crew, 0);
}

static void take_as_first(struct crew *crew, int from, enum crew_tag tag, int64_t value) {
    struct crew_mate *mate = &crew->mates[from];
    mate->heard = clock_seconds();
    if (tag == TAG_PLAN)
        mate->n_pairs = value;
    else if (tag == TAG_WANT)
        send(from, TAG_GIVE, mate->is_gone ? -1 : deal(crew)); /* whoever was taken as gone has nothing to do */
    else if (tag == TAG_DONE)
        mate->is_done = true;
}

static void take_from_first(struct crew *crew, enum crew_tag tag, int64_t value) {
    crew->mates[0].heard = clock_seconds();
    if (tag == TAG_GO || tag == TAG_GIVE) {
        answer(crew, value);
    } else if (tag == TAG_LEAVE) {
        crew->is_over = true;
        crew->answer = value;
    }
}

static void take_messages(struct crew *crew) {
    int there = 1;
    while (!crew->is_over) {
        MPI_Status status;
        int64_t value;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
        if (!there)
            return;
        MPI_Recv(&value, 1, MPI_INT64_T, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
        if (crew->process == 0)
            take_as_first(crew, status.MPI_SOURCE, (enum crew_tag)status.MPI_TAG, value);
        else
            take_from_first(crew, (enum crew_tag)status.MPI_TAG, value);
    }
}

static void tell_life(struct crew *crew) {
    double now = clock_seconds();
    if (now - crew->told < TELL_SECONDS)
        return;
    crew->told = now;
    for (int i = 1; crew->process == 0 && i < crew->n_processes; i++)
        if (!crew->mates[i].is_gone)
            send(i, TAG_THERE, 0);
    if (crew->process > 0)
        send(0, TAG_THERE, 0);
}

static void look_for_gone(struct crew *crew) {
    double now = clock_seconds();
    for (int i = 1; i < crew->n_processes; i++) {
        struct crew_mate *mate = &crew->mates[i];
        if (mate->is_gone || mate->is_done || now - mate->heard < crew->patience)
            continue;
        mate->is_gone = true;
        message_warn("process %d has not responded for %.0f s: continuing without it", i, crew->patience);
    }
}

/* Process 0 is gone: nothing more is given out. */
static void look_for_first(struct crew *crew) {
    if (clock_seconds() - crew->mates[0].heard < crew->patience)
        return;
    if (crew->question != ASK_NOTHING)
        answer(crew, crew->question == ASK_NEXT ? -1 : 0);
    crew->is_over = crew->has_returned;
    crew->answer = 0;
}

/* Whether this process need carry no more messages. */
static bool is_served(const struct crew *crew) {
    return crew->process == 0 ? crew->has_returned : crew->is_over && crew->has_returned;
}

/* Carries messages until the work is done, here, and in process 0 everywhere. */
static void crew_serve(struct crew *crew) {
    pthread_mutex_lock(&crew->mutex);
    while (!is_served(crew)) {
        struct timespec until;
        take_messages(crew);
        tell_life(crew);
        if (crew->process == 0) {
            look_for_gone(crew);
            answer_first(crew);
        } else {
            look_for_first(crew);
            send_question(crew);
        }
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (!is_served(crew))
            pthread_cond_timedwait(&crew->asked, &crew->mutex, &until);
    }
    pthread_mutex_unlock(&crew->mutex);
}

/* Lets the others go; whether all processes are still there. For process 0. */
static bool crew_dismiss(struct crew *crew) {
    bool all = true;
    for (int i = 1; i < crew->n_processes; i++)
        all &= !crew->mates[i].is_gone;
    for (int i = 1; i < crew->n_processes; i++)
        if (!crew->mates[i].is_gone)
            send(i, TAG_LEAVE, all);
    return all;
}

/* Fills the crew's team; `patience` is how long a process may be silent. */
static void crew_start(struct crew *crew, int process, int n_processes, unsigned n_threads, double patience,
                       struct crew_mate *mates) {
    *crew = (struct crew){.process = process,
                          .n_processes = n_processes,
                          .patience = patience,
                          .mates = mates,
                          .team = {.is_first = process == 0,
                                   .n_threads = n_threads,
                                   .begin = team_begin,
                                   .next = team_next,
                                   .end = team_end,
                                   .arg = crew}};
    pthread_mutex_init(&crew->mutex, NULL);
    pthread_cond_init(&crew->asked, NULL);
    pthread_cond_init(&crew->answered, NULL);
    for (int i = 0; i < n_processes; i++)
        mates[i] = (struct crew_mate){.heard = clock_seconds(), .n_pairs = CREW_UNPLANNED};
}

#define PATIENCE_SECONDS 30.0

/* What the thread that works is given. */
struct crew_work {
    struct crew *crew;
    int argc;
    char **argv;
    int exit_code;
};

static void *work(void *arg) {
    struct crew_work *of = arg;
    bool is_link = strcmp(of->argv[0], "link") == 0;
    of->exit_code = command_run(is_link ? &link_command : &analyze_command, of->argc, of->argv, &of->crew->team);
    crew_return(of->crew);
    return NULL;
}

/* Processors for each of the processes on this machine: those that it is bound to, or its part of all. */
static unsigned threads_of_process(void) {
    MPI_Comm here;
    int n_here = 1;
    cpu_set_t set;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
    MPI_Comm_size(here, &n_here);
    MPI_Comm_free(&here);
    long n_online = sysconf(_SC_NPROCESSORS_ONLN);
    long n_bound = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : n_online;
    long n = n_bound < n_online ? n_bound : n_online / n_here;
    return n < 1 ? 1 : n > RANK_WORKERS_MAX ? RANK_WORKERS_MAX : (unsigned)n;
}

static bool read_patience(int argc, char **argv, double *patience, int *first) {
    char *end = "";
    *first = 1;
    *patience = PATIENCE_SECONDS;
    if (argc > 2 && strcmp(argv[1], "--patience") == 0) {
        *patience = strtod(argv[2], &end);
        *first = 3;
    }
    return !*end && *patience > 0;
}

static int usage(void) {
    return message_fail(SUTRA_USAGE,
                        "usage: mpirun --enable-recovery -n N sutra-mpi [--patience SECONDS] link HOSTS DEVICES "
                        "-o DIR [OPTIONS], or analyze [ANALYSIS] TRACE... -o DIR [OPTIONS]; see 'sutra link "
                        "--help' and 'sutra analyze --help'");
}

static void be_quiet(void) {
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (null < 0)
        return;
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    close(null);
}

/* How a process ends where MPI does not. */
struct crew_end {
    double patience;
    int exit_code;
};

static void *end_later(void *arg) {
    const struct crew_end *end = arg;
    sleep((unsigned)end->patience + 1);
    _exit(end->exit_code);
}

/* MPI ends as it should where all are there; else it would wait for those that are gone, and for one that goes now. */
static void leave(bool all_are_there, double patience, int exit_code) {
    struct crew_end end = {patience, exit_code};
    pthread_t thread;
    fflush(NULL);
    if (!all_are_there || pthread_create(&thread, NULL, end_later, &end) != 0)
        _exit(exit_code);
    MPI_Finalize();
    pthread_cancel(thread);
    pthread_join(thread, NULL);
}

static int run_crew(struct crew *crew, int argc, char **argv) {
    struct crew_work of = {crew, argc, argv, SUTRA_INTERNAL};
    pthread_t worker;
    if (pthread_create(&worker, NULL, work, &of) != 0)
        MPI_Abort(MPI_COMM_WORLD, message_fail(SUTRA_SYSTEM, "cannot start a thread"));
    crew_serve(crew);
    pthread_join(worker, NULL);
    leave(crew->process == 0 ? crew_dismiss(crew) : crew->answer, crew->patience, of.exit_code);
    return of.exit_code;
}

int main(int argc, char **argv) {
    int provided, process, n_processes, first;
    double patience;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &process);
    MPI_Comm_size(MPI_COMM_WORLD, &n_processes);
    unsigned n_threads = threads_of_process();
    if (process > 0)
        be_quiet();
    interrupt_guard_start();
    streams_start();
    struct crew_mate *mates = calloc((size_t)n_processes, sizeof *mates);
    struct crew crew;
    bool told = read_patience(argc, argv, &patience, &first) && argc > first &&
                (strcmp(argv[first], "link") == 0 || strcmp(argv[first], "analyze") == 0);
    int exit_code = told && mates ? SUTRA_OK : usage();
    if (exit_code == SUTRA_OK) {
        crew_start(&crew, process, n_processes, n_threads, patience, mates);
        exit_code = run_crew(&crew, argc - first, argv + first);
    } else {
        MPI_Finalize();
    }
    free(mates);
    return exit_code;
}
