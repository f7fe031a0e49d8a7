/*
 * steps.c - a made-up training run: steps of forward, backward and optimizer.
 *
 *     thread 0   | forward ...            |  waits      | optimizer |
 *     thread 1   |                        | backward .. |           |
 *     others     |   bursts of their own, now and then              |
 */
#include "generate/generator.h"

#define N_FORWARD   48
#define N_OPTIMIZER 32

/* A span of the user's that is under way; without an event of its own where none was left. */
struct span {
    struct operation operation;
    enum annotation annotation;
    bool is_written, is_on_gpu;
};

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
    generator->values.of[FIELD_SEQUENCE] = number;
    write_event(generator, PASS_OPERATORS, &generator->lines.device_annotations[span->annotation]);
    write_node(generator, &generator->lines.host_annotations[span->annotation]);
    generator->values.of[FIELD_TID] = stream_tid(0);
    if (span->is_on_gpu)
        write_event(generator, PASS_GPU, &generator->lines.gpu_annotations[span->annotation]);
}

/* The Python function that calls the burst's operator: as long as that and a little longer. */
static void write_python_function(struct generator *generator) {
    const struct burst *burst = &generator->burst;
    struct operation function = burst->operations[0];
    function.start -= 400;
    function.end += 400;
    function.index = generator->next_index++;
    set_operation(generator, &function, burst->thread);
    write_event(generator, PASS_OPERATORS, &generator->lines.plain[LINE_PYTHON_FUNCTION]);
}

/* One end of the arrow between a forward operator and its backward one. */
static void write_arrow(struct generator *generator, enum plain_line line) {
    const struct burst *burst = &generator->burst;
    set_operation(generator, &burst->operations[0], burst->thread);
    generator->values.of[FIELD_SEQUENCE] = burst->sequence;
    write_event(generator, PASS_OPERATORS, &generator->lines.plain[line]);
}

static void play_burst(struct generator *generator, enum phase phase, uint32_t thread, int64_t parent,
                       int64_t sequence) {
    const struct forest *forest = &forests[phase];
    if (events_left(generator) == 0)
        return;
    burst_plan(generator, &forest->trees[random_below(&generator->random, forest->n)], thread, parent, sequence);
    if (generator->options->python_functions && claim(generator, 1))
        write_python_function(generator);
    burst_write(generator);
    if (phase == PHASE_FORWARD && claim(generator, 1))
        write_arrow(generator, LINE_FORWARD_ARROW);
    else if (phase == PHASE_BACKWARD && claim(generator, 1))
        write_arrow(generator, LINE_BACKWARD_ARROW);
}

/* Now and then a thread that takes no part in the training does something, not before the main thread's time. */
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

/* In reverse order of the forward operators, on the second thread where there is one. */
static void play_backward(struct generator *generator, int64_t step_node, int64_t first_sequence) {
    struct span span = span_begin(generator, ANNOTATION_BACKWARD, step_node);
    uint32_t thread = generator->options->n_threads > 1 ? 1 : 0;
    int64_t parent = thread ? thread_node(thread) : span.operation.node;
    int64_t *clocks = generator->thread_clock;
    if (clocks[thread] < clocks[0])
        clocks[thread] = clocks[0];
    for (int i = N_FORWARD - 1; i >= 0; i--) {
        play_burst(generator, PHASE_BACKWARD, thread, parent, first_sequence + i);
        if (generator->options->collectives && i % 8 == 0)
            play_burst(generator, PHASE_COLLECTIVE, thread, parent, -1);
        play_others(generator);
    }
    if (clocks[0] < clocks[thread])
        clocks[0] = clocks[thread];
    span_end(generator, &span, 0);
}

static void play_optimizer(struct generator *generator, int64_t step_node) {
    struct span span = span_begin(generator, ANNOTATION_OPTIMIZER, step_node);
    for (int i = 0; i < N_OPTIMIZER; i++)
        play_burst(generator, PHASE_OPTIMIZER, 0, span.operation.node, -1);
    span_end(generator, &span, 0);
}

void play_steps(struct generator *generator) {
    for (int64_t step = 0; events_left(generator) > 0; step++) {
        struct span span = span_begin(generator, ANNOTATION_STEP, thread_node(0));
        play_forward(generator, span.operation.node, 1 + step * N_FORWARD);
        play_backward(generator, span.operation.node, 1 + step * N_FORWARD);
        play_optimizer(generator, span.operation.node);
        span_end(generator, &span, step);
        generator->thread_clock[0] += random_between(&generator->random, 200000, 3000000);
    }
}
