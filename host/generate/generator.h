/*
 * generator.h - the state of a run that is being made up, and what all shapes are made with.
 *
 * The run is played twice with the same random numbers: in the first pass the operators are written to both files, in
 * the second what the GPU did is appended to the device trace, as Kineto orders it. So nothing need be remembered.
 *
 * A burst is one top-level operator with all that is inside it. It is planned as a whole, as a line in the device trace
 * tells the duration before anything that is inside, and then written.
 *
 * A rank of a job is played once more before that, beside all others and without writing, from one meeting of all ranks
 * to the next: only then it is known when what they do together ends.
 */
#ifndef GENERATE_GENERATOR_H
#define GENERATE_GENERATOR_H

#include "generate/burst.h"
#include "generate/generate.h"
#include "generate/lines.h"

enum pass { PASS_OPERATORS, PASS_GPU, PASS_MEETINGS };

/* An operator, or a span of the user's. Times are in nanoseconds. */
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
    int64_t gpu_correlation, gpu_external;  /* what the GPU operator says */
    bool has_occupancy, has_wait, has_sync; /* with a call before, an order to its stream before, a wait after it */
    int64_t wait_ts;                        /* when the order begins */
    int64_t sync_ts, sync_end;              /* when the call waits */
};

struct burst {
    uint32_t thread;
    uint32_t tensor_shape;
    int64_t sequence;
    struct operation *operations; /* in the order in which they begin */
    uint32_t *ended;              /* their numbers in the order in which they end */
    uint32_t *open;               /* stack of those that have not ended */
    struct launch *launches;
    uint32_t n_operations, n_ended, n_open, n_launches;
};

/* A span of the user's that is under way; without an event of its own where none was left. */
struct span {
    struct operation operation;
    enum annotation annotation;
    bool is_written, is_on_gpu;
};

struct generator {
    const struct generate_options *options;  /* with defaults filled in */
    struct job_member *member;               /* of a job, or NULL */
    int64_t pid, start_offset, clock_offset; /* when it begins, and what its clock adds to that */
    struct lines lines;
    struct output host, device;
    struct template_values values;
    struct burst burst;
    struct random random;
    enum pass pass;
    bool host_has_nodes, device_has_events;
    uint64_t n_claimed;       /* device events so far */
    uint64_t n_before, n_all; /* for progress: events that were played before the files of this one, and all to play */
    uint64_t n_gpu_ops;
    int64_t next_node, next_rf, next_external, next_index, next_correlation;
    int64_t *thread_clock, *stream_clock; /* when each is free again */
    int64_t *stream_end;                  /* when the last GPU operator of each ends */
    uint32_t first_gpu_row[N_LAUNCH_KINDS + 1];
    struct span step; /* that is under way, if `in_step` */
    int64_t step_number;
    bool in_step;
};

/* The start of the run, in nanoseconds. */
#define RUN_START INT64_C(4391163258909557)

/* None once a file cannot be written: the rest need not be made up. */
static inline uint64_t events_left(const struct generator *generator) {
    if (generator->host.failure || generator->device.failure)
        return 0;
    return generator->options->events - generator->n_claimed;
}

/* Takes n events out of what is left; false where that is less. */
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

/* How long something takes: in [low, high] nanoseconds times `factor`, by the program; on a rank of a job a little more
 * or less, and more on a slow one. */
int64_t random_time(struct generator *generator, uint32_t low, uint32_t high, int64_t factor);

/* The stream of collectives, which nothing else runs on in a job. */
static inline uint32_t collective_stream(const struct generator *generator) {
    return generator->options->n_streams - 1;
}

/* Whether a launch starts a collective of a job. */
static inline bool is_collective(const struct generator *generator, const struct launch *launch) {
    return generator->member && gpu_rows[launch->row].kind == LAUNCH_NCCL;
}

/* Sets start and duration of what is written next. */
void set_times(struct generator *generator, int64_t start, int64_t end);

/* Sets the fields that need no more than look different from line to line. */
void set_numbers(struct generator *generator, int64_t id);

/* Writes a line with the values that are set; to the device trace only in its pass. */
void write_event(struct generator *generator, enum pass pass, const struct template *line);
void write_node(struct generator *generator, const struct template *line);

/* Starts an operation with fresh ids; the caller has claimed its event and sets times, row and depth. */
struct operation operation_start(struct generator *generator, int64_t parent);

/* Sets the values that an operation's lines need. */
void set_operation(struct generator *generator, const struct operation *operation, uint32_t thread);

/* Plans a tree of operators on a thread, from the thread's clock on, as far as events are left. */
void burst_plan(struct generator *generator, const struct tree *tree, uint32_t thread, int64_t parent,
                int64_t sequence);

/* Plans a burst of one operator. */
void burst_plan_one(struct generator *generator, uint32_t thread, struct operation operation);

/* Adds a launch by an operation of the burst at `ts`, if GPU operators are behind and there are events left. Returns
 * when the launch ends: `ts` where there was none. */
int64_t burst_launch(struct generator *generator, uint32_t operation, enum launch_kind kind, int64_t ts);

/* Writes the burst: its operators in the first pass, its launches in the second. */
void burst_write(struct generator *generator);

/* A launch, and what belongs to it, have so many correlations. */
#define CORRELATIONS_OF_LAUNCH 6

/* Writes the order that makes stream 0 wait for the collectives, as of thread 0. */
void write_collectives_wait(struct generator *generator, int64_t ts, int64_t correlation);
/* Writes a wait of thread 0 for the device. */
void write_device_wait(struct generator *generator, int64_t start, int64_t end, int64_t correlation);

/* A training run: from one meeting of all ranks to the next, which is before the optimizer; false at its end. Then what
 * the meeting itself is. */
bool play_until_meeting(struct generator *generator);
void play_meeting(struct generator *generator);

/* The shapes: claim all events that are left. */
void play_steps(struct generator *generator);

#endif
