/*
 * generator.c - plays a synthetic training run: steps of forward, backward and optimizer; and the ids and values of
 * lines.
 *
 *     thread 0   | forward ...            |  waits      | optimizer |
 *     thread 1   |                        | backward .. |           |
 *     others     |   bursts of their own, sometimes                 |
 *                                              synchronization of a job's ranks
 */
#include "generate/generator.h"
#include "base/shared.h"

#define N_FORWARD   48
#define N_OPTIMIZER 32

static struct span span_begin(struct generator *generator, enum annotation annotation, int64_t parent) {
    struct span span = {.annotation = annotation};
    span.is_written = !generator->options->no_annotations && claim(generator, 1);
    span.is_on_gpu = span.is_written && !generator->options->no_gpu && claim(generator, 1);
    if (span.is_written)
        span.operation = operation_start(generator, parent);
    else
        span.operation.node = parent;
    span.operation.start = generator->thread_clock[0];
    generator->thread_clock[0] += 2000;
    return span;
}

static void span_end(struct generator *generator, struct span *span, int64_t number) {
    generator->thread_clock[0] += 2000;
    span->operation.end = generator->thread_clock[0];
    if (!span->is_written)
        return;
    set_operation(generator, &span->operation, 0);
    generator->values.of[LINE_SEQUENCE] = number;
    write_event(generator, PASS_OPERATORS, &generator->lines.device_annotations[span->annotation]);
    write_node(generator, &generator->lines.host_annotations[span->annotation]);
    generator->values.of[LINE_TID] = stream_tid(0);
    if (span->is_on_gpu)
        write_event(generator, PASS_GPU, &generator->lines.gpu_annotations[span->annotation]);
}

/* Writes the Python function that calls the burst's operator, slightly longer than the operator. */
static void write_python_function(struct generator *generator) {
    const struct burst *burst = &generator->burst;
    struct operation function = burst->operations[0];
    function.start -= 400;
    function.end += 400;
    function.index = generator->next_index++;
    set_operation(generator, &function, burst->thread);
    write_event(generator, PASS_OPERATORS, &generator->lines.plain[LINE_PYTHON_FUNCTION]);
}

/* Writes one end of the flow between a forward operator and its backward operator. */
static void write_arrow(struct generator *generator, enum plain_line line) {
    const struct burst *burst = &generator->burst;
    set_operation(generator, &burst->operations[0], burst->thread);
    generator->values.of[LINE_SEQUENCE] = burst->sequence;
    write_event(generator, PASS_OPERATORS, &generator->lines.plain[line]);
}

static void play_burst(struct generator *generator, enum phase phase, uint32_t thread, int64_t parent,
                       int64_t sequence) {
    const struct forest *forest = &forests[phase];
    if (events_left(generator) == 0)
        return;
    const struct tree *tree = &forest->trees[random_below(&generator->random, forest->n)];
    if (generator->member && phase == PHASE_COLLECTIVE) {
        collective_draw(generator->member, &generator->random);
        tree = &collective_trees[generator->member->next.kind];
    }
    burst_plan(generator, tree, thread, parent, sequence);
    if (generator->options->python_functions && claim(generator, 1))
        write_python_function(generator);
    burst_write(generator);
    if (phase == PHASE_FORWARD && claim(generator, 1))
        write_arrow(generator, LINE_FORWARD_ARROW);
    else if (phase == PHASE_BACKWARD && claim(generator, 1))
        write_arrow(generator, LINE_BACKWARD_ARROW);
}

/* Sometimes plays a thread that is not part of the training, not before the main thread's time. */
static void play_others(struct generator *generator) {
    uint32_t n_threads = generator->options->n_threads;
    if (n_threads <= 2 || random_below(&generator->random, 4) > 0)
        return;
    uint32_t thread = 2 + random_below(&generator->random, n_threads - 2);
    int64_t *clock = &generator->thread_clock[thread];
    if (*clock < generator->thread_clock[0])
        *clock = generator->thread_clock[0];
    play_burst(generator, PHASE_OPTIMIZER, thread, thread_node(thread), -1);
}

static void play_forward(struct generator *generator, int64_t step_node, int64_t first_sequence) {
    struct span span = span_begin(generator, ANNOTATION_FORWARD, step_node);
    for (int i = 0; i < N_FORWARD; i++) {
        play_burst(generator, PHASE_FORWARD, 0, span.operation.node, first_sequence + i);
        play_others(generator);
    }
    span_end(generator, &span, 0);
}

/* In reverse order of the forward operators, on the second thread if there is one. */
static void play_backward(struct generator *generator, int64_t step_node, int64_t first_sequence) {
    struct span span = span_begin(generator, ANNOTATION_BACKWARD, step_node);
    uint32_t thread = generator->options->n_threads > 1 ? 1 : 0;
    int64_t parent = thread ? thread_node(thread) : span.operation.node;
    int64_t *clocks = generator->thread_clock;
    if (clocks[thread] < clocks[0])
        clocks[thread] = clocks[0];
    for (int i = N_FORWARD - 1; i >= 0; i--) {
        play_burst(generator, PHASE_BACKWARD, thread, parent, first_sequence + i);
        if (generator->options->collectives && i % (generator->member ? 4 : 8) == 0)
            play_burst(generator, PHASE_COLLECTIVE, thread, parent, -1);
        play_others(generator);
    }
    if (clocks[0] < clocks[thread])
        clocks[0] = clocks[thread];
    span_end(generator, &span, 0);
}

/* Plays the optimizer. A step of a job ends when the GPU is idle. */
static void finish_step(struct generator *generator) {
    struct span span = span_begin(generator, ANNOTATION_OPTIMIZER, generator->step.operation.node);
    for (int i = 0; i < N_OPTIMIZER; i++)
        play_burst(generator, PHASE_OPTIMIZER, 0, span.operation.node, -1);
    span_end(generator, &span, 0);
    if (generator->member && claim(generator, 2)) {
        int64_t start = generator->thread_clock[0] + 1000, end = start + 400;
        for (uint32_t i = 0; i < generator->options->n_streams; i++)
            if (generator->stream_end[i] + 300 > end)
                end = generator->stream_end[i] + 300;
        write_device_wait(generator, start, end, generator->next_correlation);
        generator->next_correlation += CORRELATIONS_OF_LAUNCH;
        generator->thread_clock[0] = end + 500;
    }
    span_end(generator, &generator->step, generator->step_number++);
    generator->thread_clock[0] += random_time(generator, 200000, 3000000, 1);
    generator->in_step = false;
}

bool play_until_sync(struct generator *generator) {
    if (generator->in_step)
        finish_step(generator);
    if (events_left(generator) == 0)
        return false;
    int64_t first_sequence = 1 + generator->step_number * N_FORWARD;
    generator->step = span_begin(generator, ANNOTATION_STEP, thread_node(0));
    play_forward(generator, generator->step.operation.node, first_sequence);
    play_backward(generator, generator->step.operation.node, first_sequence);
    generator->in_step = true;
    return true;
}

/* Stream 0 waits for the gradients. */
void play_sync(struct generator *generator) {
    if (!generator->member || !claim(generator, 3))
        return;
    int64_t *clock = &generator->thread_clock[0], *stream = &generator->stream_clock[0];
    write_collectives_wait(generator, *clock + 500, generator->next_correlation);
    generator->next_correlation += CORRELATIONS_OF_LAUNCH;
    *clock += 2500;
    int64_t end = generator->stream_end[collective_stream(generator)];
    *stream = MAX(*stream, end);
}

void play_steps(struct generator *generator) {
    while (play_until_sync(generator))
        play_sync(generator);
}

/* ---- Ids, values and lines ---- */

int64_t thread_tid(const struct generator *generator, uint32_t thread) {
    return generator->pid + INT64_C(533) * thread;
}

int64_t stream_tid(uint32_t stream) {
    return 7 + INT64_C(6) * stream;
}

int64_t random_time(struct generator *generator, uint32_t low, uint32_t high, int64_t factor) {
    int64_t time = random_between(&generator->random, low, high) * factor;
    struct job_member *member = generator->member;
    if (!member)
        return time;
    int64_t percent = random_between(&member->noise, 95, 105);
    return time * percent * (member->rank == member->job->slow_rank ? 3 : 2) / 200;
}

void set_times(struct generator *generator, int64_t start, int64_t end) {
    int64_t unit = generator->values.integer_times ? 1000 : 1;
    start += generator->clock_offset;
    end += generator->clock_offset;
    generator->values.of[LINE_TS] = start / unit;
    generator->values.of[LINE_DUR] = end / unit - start / unit;
}

void set_numbers(struct generator *generator, int64_t id) {
    struct random random = {(uint64_t)id};
    int64_t *of = generator->values.of;
    uint64_t bits = random_next(&random);
    of[LINE_PID] = generator->pid;
    of[LINE_SMALL] = 1 + (int64_t)(bits % 9);
    of[LINE_FRACTION] = 100000 + (int64_t)(bits >> 8) % 900000;
    of[LINE_WIDTH] = 16 << bits % 5;
}

void write_event(struct generator *generator, enum pass pass, const struct template *line) {
    if (generator->pass != pass)
        return;
    output_text(&generator->device, generator->device_has_events ? ",\n  " : "\n  ");
    generator->device_has_events = true;
    template_write(line, &generator->values, &generator->device);
}

void write_node(struct generator *generator, const struct template *line) {
    if (generator->pass != PASS_OPERATORS)
        return;
    output_text(&generator->host, generator->host_has_nodes ? ",\n    " : "\n    ");
    generator->host_has_nodes = true;
    template_write(line, &generator->values, &generator->host);
}

/* Nodes share their numbers with tensors, so that two of three are skipped. One operation in 256 has another
 * record-function id in the host trace and finds no partner there. */
struct operation operation_start(struct generator *generator, int64_t parent) {
    struct operation operation = {
        .node = generator->next_node,
        .parent = parent,
        .rf = generator->next_rf,
        .host_rf = generator->next_rf,
        .external = generator->next_external++,
        .index = generator->next_index++,
    };
    generator->next_node += 3;
    generator->next_rf++;
    if (random_below(&generator->random, 256) == 0)
        operation.host_rf = generator->next_rf++;
    return operation;
}

void set_operation(struct generator *generator, const struct operation *operation, uint32_t thread) {
    int64_t *of = generator->values.of;
    set_times(generator, operation->start, operation->end);
    set_numbers(generator, operation->node);
    of[LINE_NODE] = operation->node;
    of[LINE_PARENT] = operation->parent;
    of[LINE_RF] = operation->rf;
    of[LINE_HOST_RF] = operation->host_rf;
    of[LINE_EXTERNAL] = operation->external;
    of[LINE_INDEX] = operation->index;
    of[LINE_TID] = thread_tid(generator, thread);
    of[LINE_HOST_TID] = (int64_t)thread + 1;
    of[LINE_INPUT] = operation->node / 2;
    of[LINE_STORAGE] = operation->node / 2 + 1;
    of[LINE_OUTPUT] = operation->node + 1;
    of[LINE_MADE] = operation->node + 2;
}
