/*
 * context.c - making a context, and the stages, warnings and notes that go through it.
 */
#include "context/context.h"

#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/options.h"

#define THREADS_MAX 256
#define PART_BYTES  ((size_t)1 << 18)

const char *sutra_version(void) {
    return SUTRA_VERSION;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Processors that this process may use. */
static unsigned processors(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set))
        return 1;
    int n = CPU_COUNT(&set);
    return n < 1 ? 1 : n > THREADS_MAX ? THREADS_MAX : (unsigned)n;
}

const char *sutra_context_engine(const struct sutra_context *context) {
    return context->engine.name;
}

static void report_progress(struct sutra_context *context, uint64_t done) {
    if (context->options.progress && context->stage)
        context->options.progress(context->options.arg, context->stage, done, context->stage_total);
}

/* The pool has begun task i of n, and so is about that far in the stage. */
static void on_tick(void *arg, size_t i, size_t n) {
    struct sutra_context *context = arg;
    report_progress(context, (uint64_t)((double)context->stage_total * ((double)i / (double)n)));
}

enum sutra_status sutra_context_create(const struct sutra_context_options *options, struct sutra_context **context,
                                       struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_context_options, arg);
    struct sutra_context_options taken;
    enum sutra_status status = options_take(&form, options, &taken, error);
    if (status)
        return status;
    struct sutra_context *made = calloc(1, sizeof *made);
    if (!made)
        return error_memory(error);
    made->options = taken;
    made->part_bytes = PART_BYTES;
    unsigned n_threads = taken.n_threads ? taken.n_threads : processors();
    if (n_threads > THREADS_MAX)
        status =
            error_set(error, SUTRA_USAGE, "%u threads requested, at most %d are supported", n_threads, THREADS_MAX);
    else if (!(made->pool = pool_create(n_threads)))
        status = error_set(error, SUTRA_SYSTEM, "cannot start %u threads", n_threads);
    else if (!values_init(&made->values))
        status = error_memory(error);
    if (status) {
        pool_free(made->pool);
        free(made);
        return status;
    }
    status = engine_choice_begin(made, error);
    if (status) {
        sutra_context_free(made);
        return status;
    }
    pool_on_tick(made->pool, on_tick, made);
    *context = made;
    return SUTRA_OK;
}

void sutra_context_free(struct sutra_context *context) {
    if (!context)
        return;
    engine_choice_end(context);
    pool_free(context->pool);
    values_free(&context->values);
    free(context);
}

void stage_begin(struct sutra_context *context, const char *name, uint64_t total) {
    if (context->stage_held)
        return;
    stage_end(context);
    context->stage = name;
    context->stage_total = total;
    context->stage_began = now();
    report_progress(context, 0);
}

void stage_end(struct sutra_context *context) {
    if (!context->stage || context->stage_held)
        return;
    report_progress(context, context->stage_total);
    double seconds = now() - context->stage_began;
    size_t i = 0;
    while (i < context->n_stages && strcmp(context->stages[i].name, context->stage) != 0)
        i++;
    if (i < STAGES_MAX) {
        context->stages[i].name = context->stage;
        context->stages[i].seconds += seconds;
        if (i == context->n_stages)
            context->n_stages++;
    }
    context->stage = NULL;
}

void sutra_context_cancel(struct sutra_context *context, bool cancel) {
    pool_cancel(context->pool, cancel);
}

bool context_is_cancelled(const struct sutra_context *context) {
    return pool_is_cancelled(context->pool);
}

enum sutra_status context_go_on(const struct sutra_context *context, struct sutra_error *error) {
    return context_is_cancelled(context) ? error_set(error, SUTRA_CANCELLED, "cancelled") : SUTRA_OK;
}

enum sutra_status context_gave_up(const struct sutra_context *context, struct sutra_error *error) {
    enum sutra_status status = context_go_on(context, error);
    return status ? status : error_memory(error);
}

size_t sutra_context_stages(const struct sutra_context *context, const struct sutra_stage **stages) {
    *stages = context->stages;
    return context->n_stages;
}

/* With the name of a file before it, or NULL. */
static void say(void (*callback)(void *, const char *), void *arg, const char *of, const char *format,
                va_list arguments) {
    char text[1024];
    if (!callback)
        return;
    int n = of ? snprintf(text, sizeof text, "%s: ", of) : 0;
    size_t begin = n > 0 && (size_t)n < sizeof text ? (size_t)n : 0;
    vsnprintf(text + begin, sizeof text - begin, format, arguments);
    callback(arg, text);
}

void context_warn(struct sutra_context *context, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(context->options.warning, context->options.arg, context->warns_of, format, arguments);
    va_end(arguments);
}

void context_note(struct sutra_context *context, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    say(context->options.note, context->options.arg, NULL, format, arguments);
    va_end(arguments);
}
