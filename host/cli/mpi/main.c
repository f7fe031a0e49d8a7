/*
 * main.c - `sutra-mpi`, started by mpirun: `sutra-mpi link HOSTS DEVICES -o DIR` links a job, and `sutra-mpi analyze
 * ...` analyzes many ranks, in several processes.
 *
 *     mpirun --enable-recovery -n 64 sutra-mpi [--patience SECONDS] link hosts devices -o linked
 *     mpirun --enable-recovery -n 64 sutra-mpi analyze hta devices -o tables
 *
 *     process 0         assigns pairs or traces: one thread for messages, other threads for work
 *     other processes   request the next one whenever a thread is free
 *
 * Processes exchange numbers only; traces and results are files. Each process sends a message every second. A process
 * without messages for too long counts as failed, including its ranks, and process 0 continues with the remaining
 * processes. If process 0 fails, all others end; their finished results remain.
 *
 * Only the main thread calls MPI; a second thread runs the command. Only process 0 prints: all processes compute the
 * same plan, so the others would repeat its messages; later warnings are in the records.
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

#include "base/shared.h"
#include "cli/command.h"
#include "cli/job.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "job/rank_job.h"

#define POLL_NS          2000000 /* interval in which the main thread checks for messages */
#define ALIVE_SECONDS    1.0
#define PATIENCE_SECONDS 30.0

enum tag {
    TAG_ALIVE,
    TAG_PLAN,    /* to process 0: number of pairs of the plan */
    TAG_AGREED,  /* from process 0: whether all processes have the same number */
    TAG_REQUEST, /* to process 0: the next pair is requested */
    TAG_ASSIGN,  /* from process 0: the index of a pair, or -1 */
    TAG_DONE,    /* to process 0: no more requests */
    TAG_LEAVE,   /* from process 0: all work is done; 1: all processes are alive, so MPI can be finalized */
};

/* A question of the command's thread to the main thread. */
enum question { ASK_NOTHING, ASK_PLAN, ASK_NEXT, ASK_END };

#define PLAN_UNKNOWN (-2)
#define PLAN_FAILED  (-1)

/* The state of a process, as known to process 0; the other processes use only element 0. */
struct peer {
    double heard;    /* time of the last message */
    int64_t n_pairs; /* of its plan, or PLAN_UNKNOWN, PLAN_FAILED */
    bool is_done, is_failed;
};

struct crew {
    int process, n_processes;
    double patience; /* maximum seconds between messages */
    struct process_plan plan;
    int argc; /* of the command */
    char **argv;
    int exit_code;

    pthread_mutex_t mutex;
    pthread_cond_t asked, answered;
    enum question question; /* not answered yet */
    bool is_sent;
    int64_t value, answer;
    bool has_returned; /* the command has returned */

    struct peer *peers;
    int64_t n_pairs, next; /* process 0: pairs to assign */
    double alive_sent;     /* time of the last sign of life */
    bool is_agreed, is_over;
};

static void send(int process, enum tag tag, int64_t value) {
    MPI_Send(&value, 1, MPI_INT64_T, process, (int)tag, MPI_COMM_WORLD);
}

/* ---- The thread of the command ---- */

static int64_t ask(struct crew *crew, enum question question, int64_t value) {
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

static bool shard_begin(void *arg, size_t n_pairs) {
    return ask(arg, ASK_PLAN, n_pairs == SIZE_MAX ? PLAN_FAILED : (int64_t)n_pairs);
}

static bool shard_next(void *arg, size_t *pair) {
    int64_t number = ask(arg, ASK_NEXT, 0);
    *pair = (size_t)number;
    return number >= 0;
}

static void shard_end(void *arg) {
    ask(arg, ASK_END, 0);
}

static void *run_command(void *arg) {
    struct crew *crew = arg;
    bool is_link = strcmp(crew->argv[0], "link") == 0;
    crew->exit_code = command_run(is_link ? &link_command : &analyze_command, crew->argc, crew->argv, &crew->plan);
    pthread_mutex_lock(&crew->mutex);
    crew->has_returned = true;
    pthread_cond_signal(&crew->asked);
    pthread_mutex_unlock(&crew->mutex);
    return NULL;
}

/* ---- The main thread, which holds the mutex except while it waits ---- */

static void answer(struct crew *crew, int64_t value) {
    crew->answer = value;
    crew->question = ASK_NOTHING;
    pthread_cond_signal(&crew->answered);
}

static int64_t assign_next(struct crew *crew) {
    return crew->next < crew->n_pairs ? crew->next++ : -1;
}

/* Whether all processes that have not failed have sent their plans or, if `done`, have no more requests. */
static bool all_are_ready(const struct crew *crew, bool done) {
    for (int i = 0; i < crew->n_processes; i++) {
        const struct peer *peer = &crew->peers[i];
        if (!peer->is_failed && (done ? i > 0 && !peer->is_done : peer->n_pairs == PLAN_UNKNOWN))
            return false;
    }
    return true;
}

/* Compares the plans of all processes, and sends the result. */
static void compare_plans(struct crew *crew) {
    int other = -1;
    for (int i = 0; i < crew->n_processes; i++)
        if (!crew->peers[i].is_failed && crew->peers[i].n_pairs != crew->peers[0].n_pairs)
            other = i;
    bool same = other < 0 && crew->peers[0].n_pairs >= 0;
    crew->is_agreed = true;
    crew->n_pairs = crew->peers[0].n_pairs;
    for (int i = 1; i < crew->n_processes; i++) {
        if (!crew->peers[i].is_failed)
            send(i, TAG_AGREED, same);
        crew->peers[i].is_done = !same;
    }
    if (other > 0 && crew->peers[0].n_pairs >= 0)
        message_fail(SUTRA_NO_INPUT,
                     "process %d of the job finds other traces than process 0: all machines need the same directories",
                     other);
    answer(crew, same);
}

/* Process 0: answers its own command, and detects failed processes. */
static void serve_first(struct crew *crew) {
    double now = clock_seconds();
    for (int i = 1; i < crew->n_processes; i++) {
        struct peer *peer = &crew->peers[i];
        if (peer->is_failed || peer->is_done || now - peer->heard < crew->patience)
            continue;
        peer->is_failed = true;
        message_warn("process %d has not responded for %.0f s: continuing without it", i, crew->patience);
    }
    if (crew->question == ASK_PLAN) {
        crew->peers[0].n_pairs = crew->value;
        if (!crew->is_agreed && all_are_ready(crew, false))
            compare_plans(crew);
    } else if (crew->question == ASK_NEXT) {
        answer(crew, assign_next(crew));
    } else if (crew->question == ASK_END && all_are_ready(crew, true)) {
        answer(crew, 0);
    }
}

/* Other processes: forwards the question to process 0; ends the work if process 0 has failed. */
static void serve_other(struct crew *crew) {
    static const enum tag tags[] = {[ASK_PLAN] = TAG_PLAN, [ASK_NEXT] = TAG_REQUEST, [ASK_END] = TAG_DONE};
    if (clock_seconds() - crew->peers[0].heard >= crew->patience) {
        if (crew->question != ASK_NOTHING)
            answer(crew, crew->question == ASK_NEXT ? -1 : 0);
        crew->is_over = crew->has_returned;
        crew->answer = 0;
    }
    if (crew->question == ASK_NOTHING || crew->is_sent)
        return;
    crew->is_sent = true;
    send(0, tags[crew->question], crew->value);
    if (crew->question == ASK_END)
        answer(crew, 0);
}

static void receive_messages(struct crew *crew) {
    while (!crew->is_over) {
        MPI_Status status;
        int64_t value;
        int available = 1;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &available, &status);
        if (!available)
            return;
        MPI_Recv(&value, 1, MPI_INT64_T, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
        struct peer *peer = &crew->peers[crew->process == 0 ? status.MPI_SOURCE : 0];
        peer->heard = clock_seconds();
        switch ((enum tag)status.MPI_TAG) {
        case TAG_PLAN:
            peer->n_pairs = value;
            break;
        case TAG_REQUEST: /* a process that counts as failed gets no work */
            send(status.MPI_SOURCE, TAG_ASSIGN, peer->is_failed ? -1 : assign_next(crew));
            break;
        case TAG_DONE:
            peer->is_done = true;
            break;
        case TAG_AGREED:
        case TAG_ASSIGN:
            answer(crew, value);
            break;
        case TAG_LEAVE:
            crew->is_over = true;
            crew->answer = value;
            break;
        case TAG_ALIVE:
            break;
        }
    }
}

static void send_alive(struct crew *crew) {
    double now = clock_seconds();
    if (now - crew->alive_sent < ALIVE_SECONDS)
        return;
    crew->alive_sent = now;
    for (int i = 1; crew->process == 0 && i < crew->n_processes; i++)
        if (!crew->peers[i].is_failed)
            send(i, TAG_ALIVE, 0);
    if (crew->process > 0)
        send(0, TAG_ALIVE, 0);
}

/* Whether this process has no more messages to send or receive. */
static bool is_served(const struct crew *crew) {
    return crew->process == 0 ? crew->has_returned : crew->is_over && crew->has_returned;
}

/* Exchanges messages until the work of this process is done, in process 0 the work of all processes. */
static void serve(struct crew *crew) {
    pthread_mutex_lock(&crew->mutex);
    while (!is_served(crew)) {
        struct timespec until;
        receive_messages(crew);
        send_alive(crew);
        if (crew->process == 0)
            serve_first(crew);
        else
            serve_other(crew);
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += POLL_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        if (!is_served(crew))
            pthread_cond_timedwait(&crew->asked, &crew->mutex, &until);
    }
    pthread_mutex_unlock(&crew->mutex);
}

/* ---- The program ---- */

/* Threads of each process on this machine: the CPUs that it is bound to, or its share of all CPUs. */
static unsigned threads_of_process(void) {
    MPI_Comm local;
    int n_local = 1;
    cpu_set_t set;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
    MPI_Comm_size(local, &n_local);
    MPI_Comm_free(&local);
    long n_online = sysconf(_SC_NPROCESSORS_ONLN);
    long n_bound = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : n_online;
    long n = n_bound < n_online ? n_bound : n_online / n_local;
    return (unsigned)CLAMP(n, 1, RANK_WORKERS_MAX);
}

static void *exit_later(void *arg) {
    const struct crew *crew = arg;
    sleep((unsigned)crew->patience + 1);
    _exit(crew->exit_code);
}

/* Finalizes MPI if all processes are alive; otherwise, or if a process fails now, MPI_Finalize() would not return. */
static void finalize(struct crew *crew, bool all_are_alive) {
    pthread_t thread;
    fflush(NULL);
    if (!all_are_alive || pthread_create(&thread, NULL, exit_later, crew) != 0)
        _exit(crew->exit_code);
    MPI_Finalize();
    pthread_cancel(thread);
    pthread_join(thread, NULL);
}

/* Runs the command in a second thread; releases the other processes at the end. */
static int run_crew(struct crew *crew) {
    pthread_t worker;
    pthread_mutex_init(&crew->mutex, NULL);
    pthread_cond_init(&crew->asked, NULL);
    pthread_cond_init(&crew->answered, NULL);
    for (int i = 0; i < crew->n_processes; i++)
        crew->peers[i] = (struct peer){.heard = clock_seconds(), .n_pairs = PLAN_UNKNOWN};
    if (pthread_create(&worker, NULL, run_command, crew) != 0)
        MPI_Abort(MPI_COMM_WORLD, message_fail(SUTRA_SYSTEM, "cannot start a thread"));
    serve(crew);
    pthread_join(worker, NULL);
    bool all_are_alive = crew->process == 0 ? true : crew->answer;
    for (int i = 1; crew->process == 0 && i < crew->n_processes; i++)
        all_are_alive &= !crew->peers[i].is_failed;
    for (int i = 1; crew->process == 0 && i < crew->n_processes; i++)
        if (!crew->peers[i].is_failed)
            send(i, TAG_LEAVE, all_are_alive);
    finalize(crew, all_are_alive);
    return crew->exit_code;
}

int main(int argc, char **argv) {
    int provided, first = 1;
    struct crew crew = {.patience = PATIENCE_SECONDS, .exit_code = SUTRA_INTERNAL};
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &crew.process);
    MPI_Comm_size(MPI_COMM_WORLD, &crew.n_processes);
    crew.plan = (struct process_plan){.is_first = crew.process == 0,
                                      .n_threads = threads_of_process(),
                                      .begin = shard_begin,
                                      .next = shard_next,
                                      .end = shard_end,
                                      .arg = &crew};
    int null = crew.process > 0 ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;
    if (null >= 0) {
        dup2(null, STDOUT_FILENO);
        dup2(null, STDERR_FILENO);
        close(null);
    }
    interrupt_guard_start();
    streams_start();

    char *end = "";
    if (argc > 2 && strcmp(argv[1], "--patience") == 0) {
        crew.patience = strtod(argv[2], &end);
        first = 3;
    }
    crew.argc = argc - first;
    crew.argv = argv + first;
    crew.peers = calloc((size_t)crew.n_processes, sizeof *crew.peers);
    bool is_valid = !*end && crew.patience > 0 && argc > first &&
                    (strcmp(argv[first], "link") == 0 || strcmp(argv[first], "analyze") == 0);
    int exit_code;
    if (is_valid && crew.peers) {
        exit_code = run_crew(&crew);
    } else {
        exit_code = message_fail(
            SUTRA_USAGE, "usage: mpirun --enable-recovery -n N sutra-mpi [--patience SECONDS] link HOSTS DEVICES "
                         "-o DIR [OPTIONS], or analyze [ANALYSIS] TRACE... -o DIR [OPTIONS]; see 'sutra link "
                         "--help' and 'sutra analyze --help'");
        MPI_Finalize();
    }
    free(crew.peers);
    return exit_code;
}
