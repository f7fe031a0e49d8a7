/*
 * generator.h - the state of a synthetic run, and the functions that all shapes use.
 *
 * The run is played twice with the same random numbers: the first pass writes the operators to both files, the second
 * pass appends the GPU activity to the device trace, as Kineto orders it. So no events are stored.
 *
 * A burst is one top-level operator with its descendants. It is planned completely before it is written, since a line
 * of the device trace contains the duration before the lines of the descendants.
 *
 * A rank of a job is played once more before both passes, in parallel with the other ranks and without output, from one
 * synchronization of all ranks to the next: only then the ends of collectives are known.
 */
#ifndef GENERATE_GENERATOR_H
#define GENERATE_GENERATOR_H

#include <stdint.h>

#include "generate/generate.h"
#include "generate/lines.h"
#include "generate/operators.h"
#include "generate/random.h"

/*
 * ---- The collectives of a synthetic job (job_collectives.c) ----
 *
 * Each collective of a group has a number, from 0. Its kind and size are computed from group and number, so that all
 * members agree. Each rank launches it at the time of its own program. A collective starts on a rank when the rank's
 * stream is free, and ends on all ranks after the last rank has started and the data has moved:
 *
 *     rank 0   launch [ waits .......... | moves ]
 *     rank 1            launch  [ waits  | moves ]
 *     rank 2                      launch [ moves ]     the same end, within some hundred nanoseconds
 *
 * Within a step, nothing depends on this end before all ranks synchronize (generator.c). So the ends of a step are
 * computed after each rank has played the step, and kept; then the files of a rank can be written alone.
 */

/* The groups of a rank: all ranks; the rank and its neighbour; messages between both, which are counted separately. */
enum collective_set { SET_WORLD, SET_PAIR, SET_MESSAGES, N_COLLECTIVE_SETS };

struct collective {
    enum collective_set set;
    enum collective_kind kind; /* on this rank */
    int64_t turn;              /* number in the group */
    int64_t n_in, n_out;       /* elements */
    int64_t duration;          /* nanoseconds after the start of the last rank */
};

/* Ends of collectives, shared by all ranks. */
struct collective_ends {
    struct arena arena;
    int64_t *list; /* per collective: an end per group of its set */
    uint64_t n, capacity;
};

/* A rank of a job. */
struct job_member {
    const struct generate_job_options *job;
    uint32_t rank;
    struct random noise;
    struct collective_ends *ends;
    struct template kernels[N_COLLECTIVE_KINDS];
    int64_t turns[N_COLLECTIVE_SETS]; /* number of the next collective */
    struct collective next;           /* the launched collective */
    uint64_t at;                      /* index of its ends */
    bool is_settled;                  /* all ends are known */
    struct arena arena;               /* of the templates and the following columns: collectives of this step */
    struct collective *launched;
    int64_t *ready; /* earliest start */
    uint64_t n_launched, launched_capacity, ready_capacity;
};

/* False: out of memory. */
bool job_member_make(struct job_member *member, const struct generate_job_options *job, uint32_t rank,
                     struct collective_ends *ends);

/* Number of ranks on the host of this rank. */
uint32_t job_member_neighbours(const struct job_member *member);
/* Writes "distributedInfo" of a device trace. */
void job_member_write_info(const struct job_member *member, struct output *output);

/* Resets the state before a pass. */
void job_member_rewind(struct job_member *member, bool is_settled);

/* Selects the next collective. */
void collective_draw(struct job_member *member, struct random *program);

/* Whether the trace lacks the kernel of the launched collective. */
bool collective_is_lost(const struct job_member *member);

/* The end of the launched collective on this rank, if it can start at `ready` and starts at `start`: `start` while ends
 * are unknown. */
int64_t collective_end(struct job_member *member, int64_t ready, int64_t start);

/* Computes the ends of all launched collectives. clocks[rank]: when the rank's stream is free, before and after;
 * ends[rank]: end of the rank's last collective. False: out of memory. */
bool collectives_settle(struct job_member *members, int64_t *clocks, int64_t *ends);

/* Nanoseconds from the end of a collective until its stream is free. */
#define COLLECTIVE_GAP_NS 700

/* ---- The state of the run ---- */

enum pass { PASS_OPERATORS, PASS_GPU, PASS_COLLECTIVES };

/* An operator or a user annotation. Times are in nanoseconds. */
struct operation {
    uint32_t depth;
    uint8_t row; /* of `operators` */
    int64_t start, end;
    int64_t node, parent, rf, host_rf, external, index;
};

struct launch {
    uint32_t operation; /* in the burst */
    uint32_t row;       /* of gpu_rows */
    uint32_t stream;    /* number of the stream */
    int64_t ts, end;
    int64_t gpu_start, gpu_end;
    int64_t correlation;
    int64_t gpu_correlation, gpu_external; /* in the event of the GPU operator */
    bool has_occupancy, has_wait,
        has_sync;              /* an occupancy call before it, a stream wait before it, a synchronizing call after it */
    int64_t wait_ts;           /* start of the stream wait */
    int64_t sync_ts, sync_end; /* of the synchronizing call */
};

struct burst {
    uint32_t thread;
    uint32_t tensor_shape;
    int64_t sequence;
    struct operation *operations; /* by start */
    uint32_t *ended;              /* their indexes, by end */
    uint32_t *open;               /* stack of open operations */
    struct launch *launches;
    uint32_t n_operations, n_ended, n_open, n_launches;
};

/* An open user annotation; without an event if no event was left. */
struct span {
    struct operation operation;
    enum annotation annotation;
    bool is_written, is_on_gpu;
};

struct generator {
    const struct generate_options *options;  /* complete */
    struct job_member *member;               /* rank of a job, or NULL */
    int64_t pid, start_offset, clock_offset; /* start of the run, and error of its clock */
    struct lines lines;
    struct output host, device;
    struct template_values values;
    struct burst burst;
    struct random random;
    enum pass pass;
    bool host_has_nodes, device_has_events;
    uint64_t n_claimed;       /* device events so far */
    uint64_t n_before, n_all; /* for progress: events before this generator's files, and in total */
    uint64_t n_gpu_ops;
    int64_t next_node, next_rf, next_external, next_index, next_correlation;
    int64_t *thread_clock, *stream_clock; /* when each is free */
    int64_t *stream_end;                  /* end of the last GPU operator of each stream */
    uint32_t first_gpu_row[N_LAUNCH_KINDS + 1];
    struct span step; /* the open step, if `in_step` */
    int64_t step_number;
    bool in_step;
};

/* The start of the run, in nanoseconds. */
#define RUN_START INT64_C(4391163258909557)

/* Number of events to generate; 0 after a failed write. */
static inline uint64_t events_left(const struct generator *generator) {
    if (generator->host.failure || generator->device.failure)
        return 0;
    return generator->options->events - generator->n_claimed;
}

/* Reserves n events; false if fewer are left. */
static inline bool claim(struct generator *generator, uint64_t n) {
    if (events_left(generator) < n)
        return false;
    generator->n_claimed += n;
    return true;
}

/* Ids in the files. */
static inline int64_t thread_node(uint32_t thread) {
    return 2 + (int64_t)thread;
}
int64_t thread_tid(const struct generator *generator, uint32_t thread);
int64_t stream_tid(uint32_t stream);

/* A duration in [low, high] nanoseconds times `factor`, with noise on a rank of a job, and longer on the slow rank. */
int64_t random_time(struct generator *generator, uint32_t low, uint32_t high, int64_t factor);

/* The stream of collectives. In a job, no other GPU activity is on it. */
static inline uint32_t collective_stream(const struct generator *generator) {
    return generator->options->n_streams - 1;
}

/* Whether a launch starts a collective of a job. */
static inline bool is_collective(const struct generator *generator, const struct launch *launch) {
    return generator->member && gpu_rows[launch->row].kind == LAUNCH_NCCL;
}

/* Sets start and duration of the next line. */
void set_times(struct generator *generator, int64_t start, int64_t end);

/* Sets the fields that only have to vary. */
void set_numbers(struct generator *generator, int64_t id);

/* Write a line with the current values, to the device trace only in the given pass. */
void write_event(struct generator *generator, enum pass pass, const struct template *line);
void write_node(struct generator *generator, const struct template *line);

/* Starts an operation with new ids; the caller has claimed its event and sets times, row and depth. */
struct operation operation_start(struct generator *generator, int64_t parent);

/* Sets the values of an operation's lines. */
void set_operation(struct generator *generator, const struct operation *operation, uint32_t thread);

/* Plans a tree of operators on a thread at the thread's clock, until no events are left. */
void burst_plan(struct generator *generator, const struct tree *tree, uint32_t thread, int64_t parent,
                int64_t sequence);

/* Plans a burst of one operator. */
void burst_plan_one(struct generator *generator, uint32_t thread, struct operation operation);

/* Adds a launch by an operation of the burst at `ts`, if GPU operators are too few and events are left. Returns the end
 * of the launch, or `ts`. */
int64_t burst_launch(struct generator *generator, uint32_t operation, enum launch_config kind, int64_t ts);

/* Writes the burst: its operators in the first pass, its launches in the second. */
void burst_write(struct generator *generator);

/* Number of correlations of a launch and its calls. */
#define CORRELATIONS_OF_LAUNCH 6

/* Writes the calls of thread 0 that make stream 0 wait for the collectives. */
void write_collectives_wait(struct generator *generator, int64_t ts, int64_t correlation);
/* Writes a device synchronization of thread 0. */
void write_device_wait(struct generator *generator, int64_t start, int64_t end, int64_t correlation);

/* Plays a training run to the next synchronization of all ranks, before the optimizer; false at the end of the run.
 * Then play_sync() plays the synchronization. */
bool play_until_sync(struct generator *generator);
void play_sync(struct generator *generator);

/* Plays steps until no events are left. */
void play_steps(struct generator *generator);

#endif
