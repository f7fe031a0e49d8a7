/*
 * hostile.c - traces of single operators whose times or parents are hard on a linker: each is given by its number.
 */
#include "generate/generator.h"

#define MICROSECOND INT64_C(1000)

/* Where an operator begins, how long it takes, and when it would launch. */
struct timing {
    int64_t start, dur, launch;
};

static struct timing timing_of(struct generator *generator, int64_t i) {
    const struct generate_options *options = generator->options;
    int64_t start, last = (int64_t)options->events;
    switch (options->shape) {
    case GENERATE_NESTED:
        start = 2 * i * MICROSECOND;
        return (struct timing){start, 4 * (last - i) * MICROSECOND, start + MICROSECOND};
    case GENERATE_OVERLAPPING:
        start = 10 * i * MICROSECOND + random_between(&generator->random, 0, 3000);
        return (struct timing){start, random_between(&generator->random, 8000, 55000), start + MICROSECOND};
    case GENERATE_GAPS:
        start = i * (1500 * MICROSECOND / options->n_threads + 1);
        return (struct timing){start, random_between(&generator->random, 5000, 20000), start + MICROSECOND};
    case GENERATE_TIES:
        start = i / 64 * 100 * MICROSECOND;
        return (struct timing){start, random_between(&generator->random, 0, 4) * 10 * MICROSECOND,
                               start + i % 2 * 50 * MICROSECOND};
    case GENERATE_DEEP:
    default:
        start = 10 * i * MICROSECOND;
        return (struct timing){start, random_between(&generator->random, 2000, 8000), start + MICROSECOND};
    }
}

static bool is_chained(const struct generate_options *options, int64_t i) {
    if (options->shape == GENERATE_NESTED)
        return true;
    return options->shape == GENERATE_DEEP && (options->depth == 0 || i % options->depth != 0);
}

void play_operators(struct generator *generator) {
    const struct generate_options *options = generator->options;
    bool has_threads = options->shape == GENERATE_GAPS || options->shape == GENERATE_TIES;
    int64_t previous = thread_node(0);
    for (int64_t i = 0; claim(generator, 1); i++) {
        uint32_t thread = has_threads ? (uint32_t)(i % options->n_threads) : 0;
        struct timing timing = timing_of(generator, i);
        struct operation operation =
            operation_start(generator, is_chained(options, i) ? previous : thread_node(thread));
        operation.row =
            (uint8_t)(1 + random_below(&generator->random, (uint32_t)n_single_operators - 2)); /* neither span */
        operation.start = RUN_START + timing.start;
        operation.end = operation.start + timing.dur;
        burst_plan_one(generator, thread, operation);
        burst_launch(generator, 0, LAUNCH_ELEMENTWISE, RUN_START + timing.launch);
        burst_write(generator);
        previous = operation.node;
    }
}
