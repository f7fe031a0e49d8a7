/*
 * job.c - creates a context from a command's options, and ends the command.
 */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "cli/job.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "sutra/sutra.h"
#include "text/quantities.h"
#include "write/json.h"

/*
 * Converts options on device and threads to options of a context.
 */

const char *const where_devices[] = {"auto", "cpu", "cuda", NULL}; /* in the order of enum sutra_device */

/* From 1 to 256, the most threads that the library takes. */
static unsigned processors_usable(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int n = CPU_COUNT(&set);
    return n < 1 ? 1 : n > 256 ? 256 : (unsigned)n;
}

unsigned where_threads(const struct where *where) {
    return where->n_threads ? (unsigned)where->n_threads : processors_usable();
}

void where_set(const struct where *where, struct sutra_context_options *options) {
    options->device = (enum sutra_device)where->device.choice;
    options->device_number = where->device.number;
    options->device_memory = where->memory;
    options->n_threads = where_threads(where);
}

#define SAMPLE_SECONDS 0.005

/* `stages`, `n_inputs`: see progress.h. */
static struct watch watch_start(bool progress, bool warnings, bool notes, const struct stage_share *stages,
                                size_t n_inputs) {
    return (struct watch){
        .warnings = warnings,
        .notes = notes,
        .progress = progress_start(progress, stages, n_inputs),
        .memory = memory_start(),
    };
}

static void on_progress(void *arg, const char *stage, uint64_t done, uint64_t total) {
    struct watch *watch = arg;
    double now = clock_seconds();
    if (done == 0 || done >= total || now - watch->last_sample > SAMPLE_SECONDS) {
        memory_sample(&watch->memory);
        watch->last_sample = now;
    }
    progress_update(&watch->progress, stage, done, total);
}

static void on_warning(void *arg, const char *text) {
    struct watch *watch = arg;
    progress_clear(&watch->progress);
    if (watch->warnings)
        message_warn("%s", text);
}

static void on_note(void *arg, const char *text) {
    struct watch *watch = arg;
    progress_clear(&watch->progress);
    if (watch->notes)
        message_note(text);
}

static void on_temporary(void *arg, const char *path) {
    (void)arg;
    interrupt_guard_set(path);
}

/* Sets the callbacks; the watch must outlive the context that is made with the options. */
static void watch_attach(struct watch *watch, struct sutra_context_options *options) {
    options->progress = on_progress;
    options->warning = on_warning;
    options->note = on_note;
    options->temporary = on_temporary;
    options->arg = watch;
}

/*
 * Writes lines to standard error, each with one call, so that lines of several programs do not mix.
 */

#define MESSAGE_MAX 4096

static void print_line(const char *kind, const char *format, va_list arguments) {
    char text[MESSAGE_MAX];
    interrupt_wait_if_ending();
    vsnprintf(text, sizeof text, format, arguments);
    fprintf(stderr, "sutra: %s%s\n", kind, text);
}

int message_fail(enum sutra_status status, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_line("", format, arguments);
    va_end(arguments);
    return (int)status;
}

int message_error(const struct sutra_error *error) {
    char text[sizeof error->file + sizeof error->message + 64];
    sutra_error_text(error, text, sizeof text);
    return message_fail(error->status, "%s", text);
}

void message_warn(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    print_line("warning: ", format, arguments);
    va_end(arguments);
}

void message_note(const char *text) {
    fprintf(stderr, "sutra: %s\n", text);
}

/*
 * Measures time, bytes and memory of a command.
 */

/* Below this a rate says more about starting than about working. */
#define RATE_SECONDS 0.1

/* Takes the figures, but for input_bytes and output_bytes, at the end of a command that began at `begin` and mapped
 * files of so many bytes at a time. */
static void run_figures_take(struct run_figures *figures, struct watch *watch, double begin,
                             struct sutra_context *context, uint64_t n_mapped_bytes) {
    figures->n_stages = sutra_context_stages(context, &figures->stages);
    figures->seconds = clock_seconds() - begin;
    memory_sample(&watch->memory);
    figures->peak_memory = memory_peak(&watch->memory, n_mapped_bytes);
    figures->peak_rss = memory_peak_rss();
    figures->engine = sutra_context_engine(context);
    figures->n_device_stages = sutra_context_device_stages(context, &figures->device_stages);
}

void run_figures_print(const struct run_figures *figures) {
    if (figures->input_bytes > 0)
        fprintf(stderr, "%16s  read%s\n", bytes_text(figures->input_bytes).text,
                figures->compressed ? ", compressed" : "");
    fprintf(stderr, "%16s  written\n", bytes_text(figures->output_bytes).text);
    fprintf(stderr, "%14.3f s  ", figures->seconds);
    if (figures->input_bytes > 0 && figures->seconds >= RATE_SECONDS)
        fprintf(stderr, "at %.1f MB/s of input, ", (double)figures->input_bytes / figures->seconds / 1e6);
    fprintf(stderr, "%s peak memory\n", bytes_text(figures->peak_memory).text);
}

void summary_print(const struct summary_row *rows, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (rows[i].always || rows[i].count)
            fprintf(stderr, "%16s  %s\n", count_text(rows[i].count).text, rows[i].words);
}

void run_counts_print_json(FILE *file, const struct named_count *counts, size_t n, const struct named_count *more,
                           size_t n_more) {
    fprintf(file, "{\n  \"version\": \"%s\",\n", sutra_version());
    run_counts_print_list(file, counts, n, more, n_more);
}

void run_counts_print_list(FILE *file, const struct named_count *counts, size_t n, const struct named_count *more,
                           size_t n_more) {
    fputs("  \"counts\": {", file);
    for (size_t i = 0; i < n + n_more; i++) {
        const struct named_count *count = i < n ? &counts[i] : &more[i - n];
        fprintf(file, "%s\n    \"%s\": %" PRIu64, i ? "," : "", count->name, count->count);
    }
    fputs("\n  },\n", file);
}

void run_figures_print_json(FILE *file, const struct run_figures *figures) {
    fputs("  \"seconds\": {\n", file);
    for (size_t i = 0; i < figures->n_stages; i++) {
        fputs("    ", file);
        json_string_print(file, figures->stages[i].name);
        fprintf(file, ": %.6f,\n", figures->stages[i].seconds);
    }
    fprintf(file, "    \"total\": %.6f\n  },\n", figures->seconds);
    fprintf(file, "  \"input_bytes\": %" PRIu64 ",\n", figures->input_bytes);
    fprintf(file, "  \"output_bytes\": %" PRIu64 ",\n", figures->output_bytes);
    fprintf(file, "  \"peak_memory_bytes\": %" PRIu64 ",\n", figures->peak_memory);
    fprintf(file, "  \"peak_rss_bytes\": %" PRIu64 ",\n", figures->peak_rss);
    fprintf(file, "  \"threads\": %u,\n", figures->n_threads);
    fprintf(file, "  \"engine\": \"%s\"", figures->engine);
    for (size_t i = 0; i < figures->n_device_stages; i++)
        fprintf(file, "%s    \"%s\": %.6f", i ? ",\n" : ",\n  \"device_seconds\": {\n", figures->device_stages[i].name,
                figures->device_stages[i].seconds);
    fputs(figures->n_device_stages ? "\n  }\n}\n" : "\n}\n", file);
}

enum sutra_status stats_write(const char *path, void (*print)(FILE *file, const void *result), const void *result) {
    if (path_is_stream(path)) {
        print(stdout, result);
        return SUTRA_OK;
    }
    FILE *file = fopen(path, "we");
    if (!file)
        return (enum sutra_status)message_fail(SUTRA_NO_OUTPUT, "%s: %s", path, strerror(errno));
    print(file, result);
    int failed = ferror(file);
    if (fclose(file) != 0 || failed)
        return (enum sutra_status)message_fail(SUTRA_IO, "%s: %s", path, strerror(errno));
    return SUTRA_OK;
}

int job_check_flags(const struct job_values *values) {
    if (values->quiet && values->verbose)
        return message_fail(SUTRA_USAGE, "--quiet and --verbose exclude each other");
    if (values->strict && values->lenient)
        return message_fail(SUTRA_USAGE, "--strict and --lenient exclude each other");
    return SUTRA_OK;
}

int job_check_stats(const char *stats, const char *output, const char *const *inputs, size_t n_inputs) {
    for (size_t i = 0; stats && i < n_inputs; i++)
        if (inputs[i] && paths_same(stats, inputs[i]))
            return message_fail(SUTRA_USAGE, "%s: the statistics would overwrite an input", stats);
    if (stats && output && (paths_same(stats, output) || (path_is_stream(stats) && path_is_stream(output))))
        return message_fail(SUTRA_USAGE, "%s: the output and the statistics are the same file", stats);
    return SUTRA_OK;
}

int job_check_terminal(struct job_values *values) {
    if (!values->output && isatty(STDOUT_FILENO))
        return message_fail(SUTRA_USAGE,
                            "standard output is a terminal: write to a file with -o OUT (-o - writes to the "
                            "terminal)");
    if (!values->output)
        values->output = "-";
    return SUTRA_OK;
}

struct job job_start(const struct job_values *values, bool progress, bool warnings, bool notes) {
    return (struct job){.values = values,
                        .watch = watch_start(progress, warnings, notes, values->stages, values->n_inputs),
                        .begin = clock_seconds()};
}

enum sutra_status job_open(struct job *job, const char *output, struct sutra_error *error) {
    const struct job_values *values = job->values;
    struct sutra_context_options options = {.size = sizeof options,
                                            .strict = values->strict,
                                            .lenient = values->lenient,
                                            .force = values->force,
                                            .most_input_bytes = values->most_input_bytes};
    where_set(&values->where, &options);
    watch_attach(&job->watch, &options);
    enum sutra_status status = output && !values->force ? sutra_output_check(output, error) : SUTRA_OK;
    if (!status && values->stats && !values->force)
        status = sutra_output_check(values->stats, error);
    return status ? status : sutra_context_create(&options, &job->context, error);
}

bool job_is_trace(const struct job *job, const char *path, enum sutra_trace_kind wanted) {
    enum sutra_trace_kind kind;
    return job->context && !path_is_stream(path) && sutra_trace_kind_of(job->context, path, &kind, NULL) == SUTRA_OK &&
           kind == wanted;
}

void job_measure(struct job *job, uint64_t n_input_bytes, uint64_t n_mapped_bytes) {
    progress_clear(&job->watch.progress);
    run_figures_take(&job->figures, &job->watch, job->begin, job->context, n_mapped_bytes);
    job->figures.input_bytes = n_input_bytes;
    job->figures.n_threads = where_threads(&job->values->where);
    job->figures.output = job->values->output;
}

void job_measure_inputs(struct job *job, const char *const *inputs, size_t n_inputs) {
    uint64_t n_bytes = 0;
    bool pipes = false;
    for (size_t i = 0; i < n_inputs; i++) {
        uint64_t n = inputs[i] ? path_size(inputs[i]) : 0;
        n_bytes += n;
        job->figures.compressed |= n && path_is_compressed(inputs[i]);
        pipes |= inputs[i] && n == 0;
    }
    job_measure(job, pipes ? 0 : n_bytes, n_bytes);
}

int job_end(struct job *job, enum sutra_status status, const struct sutra_error *error) {
    progress_clear(&job->watch.progress);
    if (status)
        message_error(error);
    sutra_context_free(job->context);
    return (int)status;
}
