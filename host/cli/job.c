/*
 * job.c - implements job.h.
 */
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/shared.h"
#include "cli/job.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "read/source.h"
#include "sutra/sutra.h"
#include "text/quantities.h"
#include "text/strings.h"
#include "write/json.h"

#define SAMPLE_SECONDS 0.005
#define RATE_SECONDS   0.1 /* shorter runs have no meaningful rate */
#define MESSAGE_MAX    4096

const char *const device_names[] = {"auto", "cpu", "cuda", NULL}; /* in the order of enum sutra_device */

/* ---- Messages, each written with one call, so that lines of several programs do not mix ---- */

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

/* ---- Checks ---- */

int job_use_windows(struct job *job, const struct chosen_window *windows, size_t n) {
    trace_list_free(&job->traces);
    for (size_t i = 0; i < n; i++)
        TRY_CODE(trace_list_add(&job->traces, &(struct operands){(unsigned)windows[i].n, (char **)windows[i].paths},
                                NAMES_JSON));
    job->inputs = (const char *const *)job->traces.paths;
    job->n_inputs = job->traces.n;
    job->window = windows;
    job->n_windows = n;
    return SUTRA_OK;
}

int job_list_inputs(struct job *job, enum trace_names names) {
    const bool is_run = operands_are_run(&job->operands);
    if (is_run && names == NAMES_JSON) {
        TRY_CODE(run_inputs_open(job, &job->operands, &job->selection, &job->run));
        if (!run_inputs_are_plain(&job->run))
            return job_use_windows(job, job->run.windows, 1);
        if (job->run.n == 0 && job->selection.reads_logs)
            TRY_CODE(run_add_skipped(&job->run.run, RUN_INSPECTOR, &job->traces, names));
    }
    int exit_code = SUTRA_OK;
    if (is_run && names == NAMES_SNAPSHOT)
        exit_code = run_list_snapshots(job, &job->traces);
    else if (job->traces.n == 0)
        exit_code = trace_list_add(&job->traces, &job->operands, names);
    job->inputs = (const char *const *)job->traces.paths;
    job->n_inputs = job->traces.n;
    return exit_code;
}

int job_check_stats(const char *stats, const char *output, const char *const *inputs, size_t n_inputs) {
    for (size_t i = 0; stats && i < n_inputs; i++)
        if (inputs[i] && paths_same(stats, inputs[i]))
            return message_fail(SUTRA_USAGE, "%s: the statistics would overwrite an input", stats);
    if (stats && (text_ends_in(stats, ".gz") || text_ends_in(stats, ".zst") || path_other_format(stats, ".json")))
        return message_fail(SUTRA_USAGE, "%s: the statistics are JSON without compression: end the name in .json",
                            stats);
    if (stats && output && (paths_same(stats, output) || (path_is_stream(stats) && path_is_stream(output))))
        return message_fail(SUTRA_USAGE, "%s: the output and the statistics are the same file", stats);
    return SUTRA_OK;
}

int job_spool_operand(struct job *job) {
    static char name[] = "-";
    struct sutra_error error;
    struct stat found;
    int file;
    char **path = job->operands.words;
    if (!job->operands.n || (path_is_stream(*path) ? fstat(STDIN_FILENO, &found) : stat(*path, &found)) ||
        S_ISREG(found.st_mode) || S_ISDIR(found.st_mode))
        return SUTRA_OK;
    if (source_spool(*path, job->options.most_input_bytes, &file, &error))
        return message_error(&error);
    bool replaced = dup2(file, STDIN_FILENO) >= 0;
    if (file != STDIN_FILENO)
        close(file);
    *path = name;
    return replaced ? SUTRA_OK : message_fail(SUTRA_SYSTEM, "cannot read the input: %s", strerror(errno));
}

int job_check_terminal(struct job *job) {
    if (!job->output && isatty(STDOUT_FILENO))
        return message_fail(SUTRA_USAGE,
                            "standard output is a terminal: write to a file with -o OUT (-o - writes to the "
                            "terminal)");
    if (!job->output)
        job->output = "-";
    return SUTRA_OK;
}

/* ---- Callbacks of the context ---- */

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

/* ---- Work ---- */

/* The number of CPUs that this process may use, from 1 to 256, the maximum of the library. */
static unsigned count_usable_cpus(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1;
    int n = CPU_COUNT(&set);
    return (unsigned)CLAMP(n, 1, 256);
}

void job_start(struct job *job) {
    if (job->options.n_threads == 0)
        job->options.n_threads = job->plan ? job->plan->n_threads : count_usable_cpus();
    job->options.device = (enum sutra_device)job->device.choice;
    job->options.device_number = job->device.number;
    job->watch = (struct watch){
        .warnings = job->log_level <= LOG_WARNING,
        .notes = job->log_level <= LOG_DEBUG,
        .progress = progress_start(job->log_level <= LOG_INFO, job->stages, job->n_inputs),
        .memory = memory_start(),
    };
    job->begin = clock_seconds();
}

enum sutra_status job_create_context(struct job *job, struct sutra_context **context, struct sutra_error *error) {
    struct sutra_context_options options = job->options;
    options.size = sizeof options;
    options.progress = on_progress;
    options.warning = on_warning;
    options.note = on_note;
    options.temporary = interrupt_guard_callback;
    options.arg = &job->watch;
    return sutra_context_create(&options, context, error);
}

enum sutra_status job_open(struct job *job, const char *output, struct sutra_error *error) {
    if (output && !job->options.force)
        TRY(sutra_output_check(output, error));
    if (job->stats && !job->options.force)
        TRY(sutra_output_check(job->stats, error));
    TRY(job_create_context(job, &job->context, error));
    job->context->window = job->window;
    return SUTRA_OK;
}

int job_fail(struct job *job, const struct sutra_error *error) {
    progress_clear(&job->watch.progress);
    return message_error(error);
}

bool job_is_trace(const struct job *job, const char *path, enum sutra_trace_kind wanted) {
    enum sutra_trace_kind kind;
    return job->context && !path_is_stream(path) && sutra_trace_kind_of(job->context, path, &kind, NULL) == SUTRA_OK &&
           kind == wanted;
}

void job_measure(struct job *job, uint64_t n_input_bytes, uint64_t n_mapped_bytes) {
    struct run_figures *figures = &job->figures;
    progress_clear(&job->watch.progress);
    figures->n_stages = sutra_context_stages(job->context, &figures->stages);
    figures->seconds = clock_seconds() - job->begin;
    memory_sample(&job->watch.memory);
    figures->peak_memory = memory_peak(&job->watch.memory, n_mapped_bytes);
    figures->peak_rss = memory_peak_rss();
    figures->engine = sutra_context_engine(job->context);
    figures->n_device_stages = sutra_context_device_stages(job->context, &figures->device_stages);
    context_device_counts(job->context, &figures->device);
    figures->input_bytes = n_input_bytes;
}

void job_measure_inputs(struct job *job) {
    uint64_t n_bytes = 0;
    bool pipes = false;
    for (size_t i = 0; i < job->n_inputs; i++) {
        uint64_t n = job->inputs[i] ? path_size(job->inputs[i]) : 0;
        n_bytes += n;
        job->figures.compressed |= n && path_is_compressed(job->inputs[i]);
        pipes |= job->inputs[i] && n == 0;
    }
    job_measure(job, pipes ? 0 : n_bytes, n_bytes);
}

/* ---- Summary and statistics ---- */

void summary_print(const struct summary_row *rows, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (rows[i].always || rows[i].count)
            fprintf(stderr, "%16s  %s\n", count_text(rows[i].count).text, rows[i].words);
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

const char *output_name(const char *path) {
    return path_is_stream(path) ? "standard output" : path;
}

int json_finish(struct json_out *json) {
    return json_end(json) ? SUTRA_OK : message_fail(SUTRA_SYSTEM, "out of memory");
}

static void add_unmatched(struct json_out *json, const char *name, const struct sutra_unmatched *unmatched) {
    size_t n = 0;
    json_add_open(json, name, '{');
    json_add_count(json, "before", unmatched->n_before);
    json_add_count(json, "after", unmatched->n_after);
    json_add_count(json, "of_threads", unmatched->n_of_threads);
    json_add_text(json, "threads", unmatched->threads);
    json_add_count(json, "between", unmatched->n_between);
    while (n < COUNT_OF(unmatched->names) && unmatched->names[n].count)
        n++;
    json_add_counts(json, "names", unmatched->names, n);
    json_close(json, '}');
}

/* How operators were matched; for a match by names also what it left unmatched. */
static void add_match(struct json_out *json, const struct sutra_link_match *match) {
    json_add_text(json, "match", match->by_names ? "names" : "ids");
    json_add_format(json, "confidence", "%.4f", match->by_names ? match->confidence : 1);
    json_add_format(json, "covered_us", "%.3f", match->covered_us);
    json_add_format(json, "steps_us", "%.3f", match->steps_us);
    if (!match->by_names)
        return;
    json_add_text(json, "ids_fault", match->ids_fault);
    json_add_text(json, "step", match->step);
    json_add_count(json, "n_positions", match->n_positions);
    json_add_count(json, "n_matched", match->n_matched);
    json_add_count(json, "n_host_ops", match->n_host_ops);
    json_add_count(json, "n_device_ops", match->n_device_ops);
    add_unmatched(json, "unmatched_host", &match->host);
    add_unmatched(json, "unmatched_device", &match->device);
}

int job_write_stats(const struct job *job, const char *match, const struct named_count *counts, size_t n,
                    const struct named_count *more, size_t n_more) {
    const struct run_figures *figures = &job->figures;
    const char *path = job->stats;
    if (!path)
        return SUTRA_OK;
    FILE *file = path_is_stream(path) ? stdout : fopen(path, "we");
    if (!file)
        return message_fail(SUTRA_NO_OUTPUT, "%s: %s", path, strerror(errno));

    struct text_out text = {.file = file};
    struct json_out json = {.text = &text, .indent = 2};
    json_open(&json, '{');
    json_add_text(&json, "version", sutra_version());
    if (match)
        json_add_text(&json, "match", match);
    if (job->match)
        add_match(&json, job->match);
    json_add_open(&json, "counts", '{');
    for (size_t i = 0; i < n + n_more; i++) {
        const struct named_count *count = i < n ? &counts[i] : &more[i - n];
        json_add_count(&json, count->name, count->count);
    }
    json_close(&json, '}');
    json_add_open(&json, "seconds", '{');
    for (size_t i = 0; i < figures->n_stages; i++)
        json_add_format(&json, figures->stages[i].name, "%.6f", figures->stages[i].seconds);
    json_add_format(&json, "total", "%.6f", figures->seconds);
    json_close(&json, '}');
    if (job->validity)
        json_add_defects(&json, job->validity);
    if (job->calls)
        json_add_counts(&json, "unknown_calls", job->calls, job->n_calls);
    json_add_count(&json, "input_bytes", figures->input_bytes);
    json_add_count(&json, "output_bytes", figures->output_bytes);
    json_add_count(&json, "peak_memory_bytes", figures->peak_memory);
    json_add_count(&json, "peak_rss_bytes", figures->peak_rss);
    json_add_count(&json, "threads", job->options.n_threads);
    json_add_text(&json, "engine", figures->engine);
    if (figures->n_device_stages)
        json_add_open(&json, "device_seconds", '{');
    for (size_t i = 0; i < figures->n_device_stages; i++)
        json_add_format(&json, figures->device_stages[i].name, "%.6f", figures->device_stages[i].seconds);
    if (figures->n_device_stages) {
        json_close(&json, '}');
        json_add_count(&json, "device_steps", figures->device.n_steps);
        json_add_count(&json, "device_bytes_up", figures->device.bytes_up);
        json_add_count(&json, "device_bytes_down", figures->device.bytes_down);
    }
    json_close(&json, '}');
    int exit_code = json_finish(&json);

    if (file == stdout)
        return exit_code;
    int failed = ferror(file);
    if (fclose(file) != 0 || failed)
        return message_fail(SUTRA_IO, "%s: %s", path, strerror(errno));
    return exit_code;
}
