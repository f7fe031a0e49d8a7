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
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/analyze/shared_analyses.h"
#include "cli/mpi/crew.h"
#include "cli/tool/interrupt.h"
#include "cli/tool/message.h"
#include "cli/tool/streams.h"

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
    if (strcmp(of->argv[0], "link") == 0)
        of->exit_code = link_run_team(of->argc, of->argv, &of->crew->team);
    else
        of->exit_code = analyze_run_team(of->argc, of->argv, &of->crew->team);
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
