/*
 * burst.c - plans and writes a burst: a top-level operator with its descendants (generator.h). Cost: O(1) per operator
 * and launch.
 *
 *     tree of operators --plan--> operations by start, by end; launches --write--> lines of both traces
 *
 *     thread   [linear  [t [transpose]] [addmm  launch .. ]]     in the first pass
 *     stream                                      [kernel]       in the second pass
 */
#include "base/shared.h"
#include "generate/generator.h"
#include "generate/operators.h"

/* Added to ids of GPU operators that match nothing. */
#define NOWHERE (INT64_C(1) << 40)

/* Offsets of the correlations of a launch's other calls. */
enum { OF_OCCUPANCY = 1, OF_SYNC, OF_SYNC_RECORD, OF_WAIT, OF_WAIT_RECORD };

/* Nanoseconds of a stream wait before the launch. */
#define WAIT_NS 2000

static void end_operation(struct generator *generator, int64_t *clock) {
    struct burst *burst = &generator->burst;
    uint32_t i = burst->open[--burst->n_open];
    enum launch_config kind = (enum launch_config)operator_rows[burst->operations[i].row].launch;
    if (kind != LAUNCH_NONE)
        *clock = burst_launch(generator, i, kind, *clock);
    *clock += random_time(generator, 500, 6000, 1);
    burst->operations[i].end = *clock;
    burst->ended[burst->n_ended++] = i;
}

static bool start_operation(struct generator *generator, uint8_t row, uint32_t depth, int64_t parent, int64_t *clock) {
    struct burst *burst = &generator->burst;
    while (burst->n_open > depth)
        end_operation(generator, clock);
    if (!claim(generator, 1))
        return false;
    if (burst->n_open > 0)
        parent = burst->operations[burst->open[burst->n_open - 1]].node;
    struct operation operation = operation_start(generator, parent);
    operation.row = row;
    operation.start = *clock;
    *clock += random_time(generator, 1000, 5000, 1);
    burst->open[burst->n_open++] = burst->n_operations;
    burst->operations[burst->n_operations++] = operation;
    return true;
}

static void burst_clear(struct generator *generator, uint32_t thread, int64_t sequence) {
    struct burst *burst = &generator->burst;
    burst->thread = thread;
    burst->sequence = sequence;
    burst->tensor_shape = random_below(&generator->random, N_TENSOR_SHAPES);
    burst->n_operations = burst->n_ended = burst->n_open = burst->n_launches = 0;
}

void burst_plan(struct generator *generator, const struct tree *tree, uint32_t thread, int64_t parent,
                int64_t sequence) {
    uint32_t depth = generator->options->depth, n_scopes = depth > tree->height ? depth - tree->height : 0;
    int64_t *clock = &generator->thread_clock[thread];
    burst_clear(generator, thread, sequence);
    for (uint32_t i = 0; i < n_scopes; i++)
        if (!start_operation(generator, operator_scope, i, parent, clock))
            break;
    for (const uint8_t *op = tree->ops, *end = op + 2 * tree->n; op < end; op += 2)
        if (!start_operation(generator, op[1], n_scopes + op[0], parent, clock))
            break;
    while (generator->burst.n_open > 0)
        end_operation(generator, clock);
    *clock += random_time(generator, 500, 9000, 1);
}

void burst_plan_one(struct generator *generator, uint32_t thread, struct operation operation) {
    burst_clear(generator, thread, operation.node);
    generator->burst.operations[0] = operation;
    generator->burst.ended[0] = 0;
    generator->burst.n_operations = generator->burst.n_ended = 1;
}

static uint32_t pick_stream(struct generator *generator, enum launch_config kind) {
    uint32_t n_streams = generator->options->n_streams;
    if (kind == LAUNCH_NCCL)
        return collective_stream(generator);
    n_streams -= generator->member ? 1 : 0;
    return random_below(&generator->random, 8) > 0 ? 0 : random_below(&generator->random, n_streams);
}

/* The end, and the time at which the stream is free, are known after collectives_settle(). */
static void plan_collective(struct generator *generator, struct launch *launch) {
    int64_t *clock = &generator->stream_clock[launch->stream];
    int64_t ready = launch->end + random_time(generator, 1000, 4000, 1);
    launch->gpu_start = MAX(ready, *clock);
    launch->gpu_end = collective_end(generator->member, ready, launch->gpu_start);
    if (generator->pass == PASS_COLLECTIVES)
        return;
    generator->stream_end[launch->stream] = launch->gpu_end;
    *clock = launch->gpu_end + COLLECTIVE_GAP_NS;
}

/* A GPU operator runs when its stream is free, and after the work of stream 0 for which the stream waits. */
static void plan_gpu_op(struct generator *generator, struct launch *launch) {
    int64_t *clock = &generator->stream_clock[launch->stream];
    int64_t begin = launch->end + random_time(generator, 1000, 4000, 1);
    int64_t duration = random_time(generator, 700, 1400, gpu_rows[launch->row].median_us);
    begin = MAX(begin, launch->has_wait ? generator->stream_end[0] : 0);
    launch->gpu_start = MAX(begin, *clock);
    launch->gpu_end = launch->gpu_start + (int64_t)((double)duration * generator->options->gpu_scale);
    generator->stream_end[launch->stream] = launch->gpu_end;
    *clock = launch->gpu_end + random_between(&generator->random, 200, 900);
}

/* When the operation continues: after the launch, a blocking memcpy and the synchronizing call. */
static int64_t plan_sync(const struct generator *generator, struct launch *launch) {
    int64_t clock = launch->end;
    if (gpu_rows[launch->row].is_blocking)
        clock = MAX(clock, launch->gpu_end + 700);
    if (!launch->has_sync)
        return clock;
    launch->sync_ts = clock + (generator->options->sync == GENERATE_SYNC_EVENT ? 900 : 0);

    /* The end of the GPU activity for which the call waits. In a job, only the call at the end of a step waits for
     * collectives. */
    int64_t end = launch->gpu_end;
    if (generator->options->sync == GENERATE_SYNC_DEVICE)
        for (uint32_t i = 0; i < generator->options->n_streams - (generator->member ? 1 : 0); i++)
            end = MAX(end, generator->stream_end[i]);
    launch->sync_end = MAX(launch->sync_ts + 400, end + 300);
    return launch->sync_end;
}

static int64_t launch_one(struct generator *generator, uint32_t operation, enum launch_config kind, int64_t ts) {
    struct burst *burst = &generator->burst;
    struct launch *launch = &burst->launches[burst->n_launches++];
    uint32_t first = generator->first_gpu_row[kind], n = generator->first_gpu_row[kind + 1] - first;
    *launch = (struct launch){
        .operation = operation,
        .row = first + random_below(&generator->random, n),
        .stream = pick_stream(generator, kind),
        .ts = ts,
        .end = ts + random_time(generator, 3000, 8000, 1),
        .correlation = generator->next_correlation,
        .gpu_correlation = generator->next_correlation,
        .gpu_external = burst->operations[operation].external,
        .has_occupancy = random_below(&generator->random, 4) == 0 && claim(generator, 2),
    };
    bool may_wait = random_below(&generator->random, 8) == 0 && !is_collective(generator, launch);
    /* A synchronizing call: the call, its flow, the GPU's event, and the call that records the event. */
    launch->has_sync = may_wait && claim(generator, generator->options->sync == GENERATE_SYNC_EVENT ? 4 : 3);
    if (generator->options->sync && launch->stream && random_below(&generator->random, 4) == 0)
        launch->has_wait = claim(generator, 3);
    if (launch->has_wait) {
        launch->wait_ts = launch->ts;
        launch->ts += WAIT_NS;
        launch->end += WAIT_NS;
    }
    generator->next_correlation += CORRELATIONS_OF_LAUNCH;
    generator->n_gpu_ops++;
    if (is_collective(generator, launch))
        plan_collective(generator, launch);
    else
        plan_gpu_op(generator, launch);

    /* Break the external id or correlation of some GPU operators. */
    bool is_unmatched = generator->options->shape == GENERATE_UNMATCHED;
    if (is_unmatched)
        launch->gpu_external += NOWHERE;
    if (random_below(&generator->random, is_unmatched ? 4 : 256) == 0)
        launch->gpu_correlation += NOWHERE;
    return plan_sync(generator, launch) + 500;
}

/* A launch is four events: the call, the GPU operator and the two ends of a flow. An operation launches a few kernels,
 * or exactly one collective of a job. */
int64_t burst_launch(struct generator *generator, uint32_t operation, enum launch_config kind, int64_t ts) {
    if (generator->member && kind == LAUNCH_NCCL)
        return claim(generator, 4) ? launch_one(generator, operation, kind, ts) : ts;
    for (int n = 0; n < 4; n++) {
        bool has_few = generator->n_gpu_ops * 1000 < generator->n_claimed * generator->options->gpu_density;
        if (generator->options->no_gpu || !has_few || !claim(generator, 4))
            break;
        ts = launch_one(generator, operation, kind, ts);
    }
    return ts;
}

static void write_operations(struct generator *generator) {
    const struct burst *burst = &generator->burst;
    const struct lines *lines = &generator->lines;
    for (uint32_t i = 0; i < burst->n_operations; i++) {
        set_operation(generator, &burst->operations[i], burst->thread);
        size_t line = burst->operations[i].row * (size_t)N_TENSOR_SHAPES + burst->tensor_shape;
        write_event(generator, PASS_OPERATORS, &lines->device_ops[line]);
    }
    for (uint32_t i = 0; i < burst->n_ended; i++) {
        const struct operation *operation = &burst->operations[burst->ended[i]];
        set_operation(generator, operation, burst->thread);
        size_t line = operation->row * (size_t)N_TENSOR_SHAPES + burst->tensor_shape;
        write_node(generator, &lines->host_ops[line]);
    }
}

/* Writes a runtime call, or its event on the GPU. */
static void write_call(struct generator *generator, enum plain_line line, int64_t correlation, int64_t start,
                       int64_t end) {
    generator->values.of[LINE_CORRELATION] = correlation;
    set_times(generator, start, end);
    write_event(generator, PASS_GPU, &generator->lines.plain[line]);
}

/* Writes the calls that record an event on one stream and make another stream wait for it. */
static void write_wait(struct generator *generator, int64_t ts, int64_t correlation, uint32_t recorded,
                       uint32_t waiting) {
    int64_t *of = generator->values.of, tid = of[LINE_TID];
    write_call(generator, LINE_RECORD_CALL, correlation + OF_WAIT_RECORD, ts, ts + 700);
    write_call(generator, LINE_WAIT_CALL, correlation + OF_WAIT, ts + 900, ts + 1500);
    of[LINE_EVENT_STREAM] = stream_tid(recorded);
    of[LINE_RECORD] = correlation + OF_WAIT_RECORD;
    of[LINE_TID] = stream_tid(waiting);
    write_call(generator, LINE_STREAM_WAIT, correlation + OF_WAIT, ts + 900, ts + 1500);
    of[LINE_TID] = tid;
}

/* Sets the values of calls of thread 0 outside operators. */
static void set_main_thread(struct generator *generator) {
    generator->values.of[LINE_TID] = thread_tid(generator, 0);
    generator->values.of[LINE_EXTERNAL] = 0;
}

void write_collectives_wait(struct generator *generator, int64_t ts, int64_t correlation) {
    set_main_thread(generator);
    write_wait(generator, ts, correlation, collective_stream(generator), 0);
}

void write_device_wait(struct generator *generator, int64_t start, int64_t end, int64_t correlation) {
    set_main_thread(generator);
    write_call(generator, LINE_DEVICE_SYNC_CALL, correlation + OF_SYNC, start, end);
    generator->values.of[LINE_TID] = stream_tid(0);
    write_event(generator, PASS_GPU, &generator->lines.plain[LINE_DEVICE_SYNC]);
}

static void write_sync(struct generator *generator, const struct launch *launch) {
    static const struct {
        enum plain_line call, event;
    } lines[] = {
        [GENERATE_SYNC_PLAIN] = {LINE_SYNC_CALL, LINE_SYNC},
        [GENERATE_SYNC_STREAM] = {LINE_SYNC_CALL, LINE_SYNC},
        [GENERATE_SYNC_EVENT] = {LINE_EVENT_SYNC_CALL, LINE_EVENT_SYNC},
        [GENERATE_SYNC_DEVICE] = {LINE_DEVICE_SYNC_CALL, LINE_DEVICE_SYNC},
    };
    int64_t *of = generator->values.of, correlation = launch->correlation + OF_SYNC;
    enum generate_sync sync = generator->options->sync;
    if (sync == GENERATE_SYNC_EVENT)
        write_call(generator, LINE_RECORD_CALL, launch->correlation + OF_SYNC_RECORD, launch->sync_ts - 800,
                   launch->sync_ts - 200);
    write_call(generator, lines[sync].call, correlation, launch->sync_ts, launch->sync_end);
    write_event(generator, PASS_GPU, &generator->lines.plain[LINE_CALL_ARROW]);
    of[LINE_EVENT_STREAM] = stream_tid(launch->stream);
    of[LINE_RECORD] = launch->correlation + OF_SYNC_RECORD;
    of[LINE_TID] = stream_tid(launch->stream);
    write_event(generator, PASS_GPU, &generator->lines.plain[lines[sync].event]);
}

static void write_cpu_side(struct generator *generator, const struct launch *launch) {
    const struct template *plain = generator->lines.plain;
    int64_t *of = generator->values.of;
    of[LINE_TID] = thread_tid(generator, generator->burst.thread);
    of[LINE_EXTERNAL] = generator->burst.operations[launch->operation].external;
    set_numbers(generator, launch->correlation);
    if (launch->has_occupancy) {
        write_call(generator, LINE_OCCUPANCY, launch->correlation + OF_OCCUPANCY, launch->ts - 900, launch->ts - 100);
        write_event(generator, PASS_GPU, &plain[LINE_CALL_ARROW]);
    }
    if (launch->has_wait)
        write_wait(generator, launch->wait_ts, launch->correlation, 0, launch->stream);
    of[LINE_CORRELATION] = launch->correlation;
    set_times(generator, launch->ts, launch->end);
    write_event(generator, PASS_GPU, &generator->lines.launches[launch->row]);
    write_event(generator, PASS_GPU, &plain[LINE_LAUNCH_ARROW]);
    if (launch->has_sync)
        write_sync(generator, launch);
}

static void write_gpu_side(struct generator *generator, const struct launch *launch) {
    int64_t *of = generator->values.of;
    of[LINE_TID] = stream_tid(launch->stream);
    of[LINE_CORRELATION] = launch->gpu_correlation;
    of[LINE_EXTERNAL] = launch->gpu_external;
    set_times(generator, launch->gpu_start, launch->gpu_end);
    if (is_collective(generator, launch)) {
        const struct collective *collective = &generator->member->next;
        of[LINE_IN] = collective->n_in;
        of[LINE_OUT] = collective->n_out;
        of[LINE_TURN] = collective->turn;
        if (!collective_is_lost(generator->member))
            write_event(generator, PASS_GPU, &generator->member->kernels[collective->kind]);
    } else {
        write_event(generator, PASS_GPU, &generator->lines.gpu_ops[launch->row]);
    }
    write_event(generator, PASS_GPU, &generator->lines.plain[LINE_GPU_ARROW]);
}

void burst_write(struct generator *generator) {
    const struct generate_options *options = generator->options;
    uint64_t n_before = generator->n_before + (generator->pass == PASS_GPU ? options->events : 0);
    if (options->progress && generator->pass != PASS_COLLECTIVES)
        options->progress(options->arg, n_before + generator->n_claimed, generator->n_all);
    generator->values.of[LINE_SEQUENCE] = generator->burst.sequence;
    if (generator->pass == PASS_OPERATORS) {
        write_operations(generator);
        return;
    }
    for (uint32_t i = 0; i < generator->burst.n_launches; i++) {
        write_cpu_side(generator, &generator->burst.launches[i]);
        write_gpu_side(generator, &generator->burst.launches[i]);
    }
}
