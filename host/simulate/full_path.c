/*
 * full_path.c - sutra_full_path_find(): the critical path of a device trace by the full rules; implements full_path.h.
 *
 *     node on the path    operator | kernel (latency, execution)     | operator ...
 *     its steps           operator | launch latency | kernel         | operator ...
 *                                                     ^ awaited: the next operator starts because the kernel ended
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "columns/rows.h"
#include "columns/strings.h"
#include "context/context.h"
#include "facts/names.h"
#include "facts/profiler_steps.h"
#include "simulate/et_plus_nodes.h"
#include "simulate/full_path.h"
#include "simulate/replay.h"
#include "simulate/timeline.h"
#include "text/names.h"
#include "text/quantities.h"
#include "write/json.h"
#include "write/text.h"

/* ---- Slack: of events, and of names by sorting ---- */

/* Slack below this is 0: durations are total microseconds, and nodes without one take a nanosecond. */
#define MIN_SLACK_US 0.1

static void lower(struct sutra_full_slack *slack, uint64_t slack_ns) {
    slack->slack_us = fmin(slack->slack_us, (double)slack_ns / 1000);
}

ORDER_BY(compare_events, struct sutra_full_slack, ASCENDING(event))

struct named_slack {
    enum sutra_full_kind kind;
    uint32_t name;
    const struct sutra_full_slack *slack;
};

ORDER_BY(compare_named, struct named_slack, ASCENDING(kind) ASCENDING(name) ASCENDING(slack))

/* The longest first, ties by event. */
ORDER_BY(compare_names, struct sutra_full_slack_name, DESCENDING(us) ASCENDING(first_event))

static enum sutra_status sum_names(struct sutra_full_path *path, struct sutra_error *error) {
    const uint64_t n = path->n_slacks;
    struct arena scratch = {0};
    struct named_slack *sorted = arena_alloc(&scratch, n, sizeof *sorted);
    path->slack_names = arena_alloc(&path->arena, n, sizeof *path->slack_names);
    if (!sorted || !path->slack_names) {
        arena_free(&scratch);
        return error_memory(error);
    }
    uint64_t n_sorted = 0;
    for (uint64_t i = 0; i < n; i++)
        if (path->slacks[i].slack_us >= MIN_SLACK_US)
            sorted[n_sorted++] = (struct named_slack){
                path->slacks[i].kind, path->trace->events.name[path->slacks[i].event], &path->slacks[i]};
    qsort(sorted, n_sorted, sizeof *sorted, compare_named);
    for (uint64_t i = 0; i < n_sorted; i++) {
        const struct sutra_full_slack *slack = sorted[i].slack;
        if (i == 0 || sorted[i].kind != sorted[i - 1].kind || sorted[i].name != sorted[i - 1].name)
            path->slack_names[path->n_slack_names++] = (struct sutra_full_slack_name){
                .kind = slack->kind, .name = slack->name, .least_us = INFINITY, .first_event = slack->event};
        struct sutra_full_slack_name *name = &path->slack_names[path->n_slack_names - 1];
        name->n++;
        name->us += slack->us;
        name->least_us = fmin(name->least_us, slack->slack_us);
        name->most_us = fmax(name->most_us, slack->slack_us);
    }
    qsort(path->slack_names, path->n_slack_names, sizeof *path->slack_names, compare_names);
    arena_free(&scratch);
    return SUTRA_OK;
}

/* Sets path->slacks, by event, and path->slack_names from the slack of each node. SUTRA_SYSTEM: out of memory. O(n
 * log n). */
static enum sutra_status full_path_find_slacks(struct sutra_full_path *path, const struct timeline_input *input,
                                               const struct timeline_nodes *nodes, const struct op_spans *spans,
                                               const uint64_t *slack_ns, struct sutra_error *error) {
    path->n_slacks = (uint64_t)input->ops.n + input->kernels.n;
    path->slacks = arena_alloc(&path->arena, path->n_slacks, sizeof *path->slacks);
    TRY(arena_status(&path->arena, error));

    /* Operators first, then kernels. */
    const struct timeline_ops *ops = &input->ops;
    const struct timeline_kernels *kernels = &input->kernels;
    const struct device_events *events = &path->trace->events;
    for (row_t op = 0; op < ops->n; op++)
        path->slacks[op] = (struct sutra_full_slack){
            .event = (row_t)ops->id[op], .kind = SUTRA_FULL_OPERATOR, .us = ops->end[op] - ops->start[op]};
    for (row_t k = 0; k < kernels->n; k++)
        path->slacks[ops->n + k] = (struct sutra_full_slack){.event = (row_t)kernels->id[k],
                                                             .kind = full_path_kernel_kind(kernels->traits[k]),
                                                             .us = kernels->end[k] - kernels->start[k]};
    for (uint64_t i = 0; i < path->n_slacks; i++) {
        path->slacks[i].slack_us = INFINITY;
        path->slacks[i].name = strings_text(&path->trace->strings, events->name[path->slacks[i].event]);
    }
    for (row_t node = 0; node < nodes->n; node++) {
        if (nodes->role[node] == NODE_KERNEL) {
            lower(&path->slacks[input->ops.n + nodes->of[node]], slack_ns[node]);
        } else {
            /* A CPU node: its own operator, and the operators that ran in its time. */
            const double start = nodes->start[node], end = start + (double)nodes->duration_us[node];
            if (nodes->of[node] != ROW_NONE)
                lower(&path->slacks[nodes->of[node]], slack_ns[node]);
            row_t span = times_up_to(spans->start, spans->n, start);
            for (span -= span > 0; span < spans->n && spans->start[span] < end; span++)
                if (spans->op[span] != ROW_NONE)
                    lower(&path->slacks[spans->op[span]], slack_ns[node]);
        }
    }
    qsort(path->slacks, path->n_slacks, sizeof *path->slacks, compare_events);
    enum sutra_status status = sum_names(path, error);
    path->report.slacks = path->slacks;
    path->report.n_slacks = path->n_slacks;
    path->report.slack_names = path->slack_names;
    path->report.n_slack_names = path->n_slack_names;
    return status;
}

/* ---- Output: a page of 80 columns, and JSON with each step ---- */

#define N_SHARES   25 /* on the page */
#define NAME_WIDTH 24
#define HEAD_WIDTH 60

/* Texts of the page; in JSON spaces become "_". */
static const char *const kind_texts[SUTRA_FULL_N_KINDS] = {
    [SUTRA_FULL_OPERATOR] = "operator",
    [SUTRA_FULL_GAP] = "gap",
    [SUTRA_FULL_LAUNCH] = "launch latency",
    [SUTRA_FULL_STREAM_GAP] = "stream gap",
    [SUTRA_FULL_KERNEL] = "kernel",
    [SUTRA_FULL_COPY] = "copy",
    [SUTRA_FULL_COMMUNICATION] = "communication",
};

static const char *const kind_notes[SUTRA_FULL_N_KINDS] = {
    [SUTRA_FULL_OPERATOR] = "CPU time in an operator", [SUTRA_FULL_GAP] = "CPU time outside operators",
    [SUTRA_FULL_LAUNCH] = "launch to kernel start",    [SUTRA_FULL_STREAM_GAP] = "kernel end to dependent kernel",
    [SUTRA_FULL_KERNEL] = "GPU computation",           [SUTRA_FULL_COPY] = "GPU memcpy",
    [SUTRA_FULL_COMMUNICATION] = "GPU communication",
};

static const char *window_name(const struct sutra_full_path *path) {
    if (*path->window)
        return path->window;
    return path->annotation == ROW_NONE
               ? "the whole trace"
               : strings_text(&path->trace->strings, path->trace->events.name[path->annotation]);
}

static double share_of(double us, double total) {
    return total > 0 ? us / total * 100 : 0;
}

static void write_shares(const struct sutra_full_report *report, struct text_out *text) {
    const char *names[N_SHARES];
    struct shortened shorts[N_SHARES];
    uint64_t n = MIN(report->n_shares, N_SHARES);
    for (uint64_t i = 0; i < n; i++)
        names[i] = report->shares[i].name ? report->shares[i].name : "";
    short_names(names, n, NAME_WIDTH, shorts);
    out_add(text, "\n            us    share    steps  waits  kind           name\n");
    for (uint64_t i = 0; i < n; i++) {
        out_format(text, "%14.3f  %5.1f %%  %7llu  ", report->shares[i].us, share_of(report->shares[i].us, report->us),
                   (unsigned long long)report->shares[i].n_steps);
        if (report->shares[i].n_waits)
            out_format(text, "%5llu  ", (unsigned long long)report->shares[i].n_waits);
        else
            out_add(text, "    -  ");
        if (report->shares[i].name) {
            out_format(text, "%-14s ", kind_texts[report->shares[i].kind]);
            out_add(text, shorts[i].text);
        } else {
            out_add(text, kind_texts[report->shares[i].kind]);
        }
        out_add(text, "\n");
    }
    if (report->n_shares > N_SHARES)
        out_format(text, "and %llu more\n", (unsigned long long)(report->n_shares - N_SHARES));
    out_add(text, "\nwaits: number of times the CPU waited for this kernel to end\n");
}

static void write_slacks(const struct sutra_full_report *report, struct text_out *text) {
    const char *names[N_SHARES];
    struct shortened shorts[N_SHARES];
    uint64_t n = MIN(report->n_slack_names, N_SHARES);
    for (uint64_t i = 0; i < n; i++)
        names[i] = report->slack_names[i].name;
    if (n == 0)
        return;
    short_names(names, n, NAME_WIDTH, shorts);
    out_add(text, "\n   us off path   count  min slack us  kind           name\n");
    for (uint64_t i = 0; i < n; i++) {
        const struct sutra_full_slack_name *slack = &report->slack_names[i];
        out_format(text, "%14.3f  %6llu  %12.3f  %-14s ", slack->us, (unsigned long long)slack->n, slack->least_us,
                   kind_texts[slack->kind]);
        out_add(text, shorts[i].text);
        out_add(text, "\n");
    }
    if (report->n_slack_names > N_SHARES)
        out_format(text, "and %llu more\n", (unsigned long long)(report->n_slack_names - N_SHARES));
    out_add(text, "\nslack: microseconds by which one event can take longer without a longer path\n");
}

static bool write_page(const void *of, struct text_out *text) {
    const struct sutra_full_path *path = of;
    const struct sutra_full_report *report = &path->report;
    out_add(text, "critical path of ");
    out_add(text, short_path(path->trace->document.source.name, HEAD_WIDTH).text);
    out_add(text, "\n  window: ");
    out_add(text, short_text(window_name(path), HEAD_WIDTH).text);
    out_format(text, "\n  rules: full\n  path: %.3f us of %.3f us measured, %s\n", report->us, report->measured_us,
               counted_text(report->n_steps, "step", "steps").text);
    out_format(text, "  graph: %s; ", counted_text(report->n_nodes, "node", "nodes").text);
    out_format(text, "the CPU waits %s for the GPU on the path\n\n",
               counted_text(report->n_waits, "time", "times").text);
    out_add(text, "            us    share    steps  kind\n");
    for (int kind = 0; kind < SUTRA_FULL_N_KINDS; kind++)
        out_format(text, "%14.3f  %5.1f %%  %7llu  %-14s %s\n", path->report.kind_us[kind],
                   share_of(path->report.kind_us[kind], path->report.us),
                   (unsigned long long)path->report.kind_steps[kind], kind_texts[kind], kind_notes[kind]);
    write_shares(&path->report, text);
    write_slacks(&path->report, text);
    return true;
}

static void json_kind(struct json_out *json, enum sutra_full_kind kind) {
    char word[32];
    size_t length = strlen(kind_texts[kind]);
    for (size_t i = 0; i < length; i++)
        word[i] = (char)(kind_texts[kind][i] == ' ' ? '_' : kind_texts[kind][i]);
    json_name(json, "kind");
    json_string(json, word, length);
}

static void json_sum(struct json_out *json, enum sutra_full_kind kind, const char *name, double us, uint64_t n_steps) {
    json_open(json, '{');
    json_kind(json, kind);
    if (name)
        json_add_string(json, "name", name);
    json_add_double(json, "us", us);
    json_add_integer(json, "steps", (int64_t)n_steps);
}

static bool write_json(const void *of, struct text_out *text) {
    const struct sutra_full_path *path = of;
    struct json_out json = {.text = text, .indent = 1};
    json_open(&json, '{');
    const struct sutra_full_report *report = &path->report;
    json_add_string(&json, "rules", "full");
    json_add_string(&json, "window", window_name(path));
    json_add_double(&json, "us", report->us);
    json_add_double(&json, "measured_us", report->measured_us);
    json_add_integer(&json, "nodes", (int64_t)report->n_nodes);
    json_add_integer(&json, "waits", (int64_t)report->n_waits);
    json_add_defects(&json, path->trace->validity);
    json_add_open(&json, "kinds", '[');
    for (int kind = 0; kind < SUTRA_FULL_N_KINDS; kind++) {
        json_sum(&json, (enum sutra_full_kind)kind, NULL, report->kind_us[kind], report->kind_steps[kind]);
        json_close(&json, '}');
    }
    json_close(&json, ']');
    json_add_open(&json, "shares", '[');
    for (uint64_t i = 0; i < report->n_shares; i++) {
        const struct sutra_full_share *share = &report->shares[i];
        json_sum(&json, share->kind, share->name, share->us, share->n_steps);
        json_add_integer(&json, "waits", (int64_t)share->n_waits);
        json_close(&json, '}');
        out_step(json.text);
    }
    json_close(&json, ']');
    json_add_open(&json, "path", '[');
    for (uint64_t i = 0; i < path->n_steps; i++) {
        json_open(&json, '{');
        json_kind(&json, path->steps[i].kind);
        if (path->steps[i].event != ROW_NONE) {
            json_add_string(&json, "name", strings_text(&path->trace->strings, path->steps[i].name));
            json_add_integer(&json, "event", path->steps[i].event);
        }
        json_add_double(&json, "start_us", (double)path->steps[i].start_ns / 1000);
        json_add_double(&json, "end_us", (double)path->steps[i].end_ns / 1000);
        if (path->steps[i].awaited) {
            json_name(&json, "awaited");
            json_literal(&json, "true", 4);
        }
        json_close(&json, '}');
        out_step(json.text);
    }
    json_close(&json, ']');
    json_add_open(&json, "slack", '[');
    for (uint64_t i = 0; i < path->n_slacks; i++) {
        json_open(&json, '{');
        json_kind(&json, path->slacks[i].kind);
        json_add_string(&json, "name", path->slacks[i].name);
        json_add_integer(&json, "event", path->slacks[i].event);
        json_add_double(&json, "us", path->slacks[i].us);
        json_add_double(&json, "slack_us", path->slacks[i].slack_us);
        json_close(&json, '}');
        out_step(json.text);
    }
    json_close(&json, ']');
    json_close(&json, '}');
    out_add(text, "\n");
    return true;
}

enum sutra_status sutra_full_path_write(struct sutra_context *context, const struct sutra_full_path *path,
                                        enum sutra_path_format format, const char *file, struct sutra_error *error) {
    if (format == SUTRA_PATH_CHROME)
        return error_set(error, SUTRA_USAGE, "the full rules write text or JSON, not a marked trace");
    return text_file_write(context, file, format == SUTRA_PATH_JSON ? write_json : write_page, path, NULL, error);
}

struct path_making {
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    struct sutra_full_path *path;
    struct arena arena; /* scratch memory */
    struct timeline_input input;
    struct timeline_nodes nodes;
    struct replay_graph run;
    struct replay_times times;
    struct op_spans spans; /* operators of the CPU over time */
};

/* ---- The window ---- */

static bool is_annotation(const struct device_events *events, const struct string_roles *roles, row_t event) {
    uint32_t category = category_roles(events, roles, event);
    return roles[events->name[event]].name & NAME_OWN && events->phase[event] == 'X' &&
           !(category & (CATEGORY_WORK | CATEGORY_GPU_ANNOTATION));
}

static row_t find_annotation(const struct device_events *events, const struct string_roles *roles, uint64_t instance) {
    for (row_t event = 0; event < events->n; event++)
        if (is_annotation(events, roles, event) && instance-- == 0)
            return event;
    return ROW_NONE;
}

static enum sutra_status find_window(struct path_making *making, const struct sutra_critical_path_options *options,
                                     double window[2], struct sutra_error *error) {
    const struct device_events *events = &making->trace->events;
    const char *name = options->annotation ? options->annotation : STEP_NAME;
    struct string_roles *roles = names_find(&making->trace->strings, READER_SIMULATE, &making->arena);
    TRY_ALLOC(roles, error);
    if (options->step)
        profiler_steps_mark(&making->trace->strings, roles, options->step, NAME_OWN);
    else
        names_mark(&making->trace->strings, roles, TEXT_HAS, name, NAME_OWN);
    window[0] = -INFINITY;
    window[1] = INFINITY;
    if (options->step) {
        struct sutra_full_path *path = making->path;
        snprintf(path->window, sizeof path->window, STEP_NAME "#%.60s", options->step);
        for (row_t event = 0; event < events->n; event++) {
            if (!is_annotation(events, roles, event))
                continue;
            const double start = number_as_double(number_at(events->ts, event));
            const double end = start + number_as_double(number_at(events->dur, event));
            bool is_first = path->annotation == ROW_NONE;
            window[0] = is_first ? start : fmin(window[0], start);
            window[1] = is_first ? end : fmax(window[1], end);
            path->annotation = is_first ? event : path->annotation;
        }
        if (path->annotation != ROW_NONE)
            return SUTRA_OK;
        char text[200];
        profiler_steps_explain(&making->trace->strings, options->step, text, sizeof text);
        return error_file(error, SUTRA_DATA, making->trace->document.source.name, "%s", text);
    }
    row_t row = making->path->annotation = *name ? find_annotation(events, roles, options->instance) : ROW_NONE;
    if (row == ROW_NONE && *name && (options->annotation || options->instance))
        return error_set(error, SUTRA_DATA, "no instance %llu of an event whose name contains \"%.100s\"",
                         (unsigned long long)options->instance, name);
    if (row == ROW_NONE)
        return SUTRA_OK;
    window[0] = number_as_double(number_at(events->ts, row));
    window[1] = window[0] + number_as_double(number_at(events->dur, row));
    return SUTRA_OK;
}

/* The node that ended last, of several the first; ROW_NONE if there is none. */
static row_t last_node(const struct path_making *making) {
    for (row_t i = 0; i < making->nodes.n; i++)
        if (making->times.end_ns[i] == making->times.finish_ns)
            return i;
    return ROW_NONE;
}

/* Adds a step; a step of the same kind and event extends the preceding one. */
static void add_step(struct sutra_full_path *path, enum sutra_full_kind kind, row_t event, uint64_t start_ns,
                     uint64_t end_ns) {
    struct full_path_step *last = path->n_steps ? &path->steps[path->n_steps - 1] : NULL;
    if (start_ns == end_ns)
        return;
    if (last && last->kind == kind && last->event == event && !last->awaited) {
        last->end_ns = end_ns;
        return;
    }
    if (!arena_grow(&path->arena, &path->steps, path->n_steps, &path->steps_capacity, sizeof *path->steps) ||
        !path->steps)
        return;
    uint32_t name = event == ROW_NONE ? STRING_NONE : path->trace->events.name[event];
    path->steps[path->n_steps++] = (struct full_path_step){kind, false, name, event, start_ns, end_ns};
}

/* The end of an operator span on the path, where the node runs from `start` on as it did when it was measured. */
static uint64_t span_end(const struct op_spans *spans, row_t span, double measured, uint64_t start, uint64_t end) {
    double next_us = span + 1 < spans->n ? spans->start[span + 1] - measured : INFINITY;
    return next_us * 1000 < (double)(end - start) ? start + (uint64_t)fmax(0, next_us * 1000 + 0.5) : end;
}

/* The first span from `span` on that ends after `at`: a nanosecond may contain many. */
static row_t span_at(const struct op_spans *spans, row_t span, double measured, uint64_t start, uint64_t end,
                     uint64_t at) {
    struct bisection found = {span, spans->n};
    if (span_end(spans, span, measured, start, end) > at)
        return span;
    while (found.low < found.high)
        bisect(&found, span_end(spans, bisect_middle(found), measured, start, end) <= at);
    return found.low;
}

/* `before` is the preceding node of the path, or ROW_NONE. */
static void add_node(struct path_making *making, row_t node, row_t before) {
    const struct timeline_nodes *nodes = &making->nodes;
    struct sutra_full_path *path = making->path;
    bool after_kernel = before != ROW_NONE && nodes->role[before] == NODE_KERNEL;
    if (nodes->role[node] == NODE_KERNEL) {
        /* The latency of a kernel, and its execution. */
        row_t kernel = nodes->of[node], event = (row_t)making->input.kernels.id[kernel];
        uint64_t start = making->times.run_ns[node], end = making->times.end_ns[node];
        uint64_t run = (uint64_t)(nodes->run_us[node] * 1000 + 0.5);
        uint64_t begin = run < end - start ? end - run : start;
        add_step(making->path, after_kernel ? SUTRA_FULL_STREAM_GAP : SUTRA_FULL_LAUNCH, event, start, begin);
        add_step(making->path, full_path_kernel_kind(making->input.kernels.traits[kernel]), event, begin, end);
        return;
    }
    if (after_kernel && path->n_steps)
        path->steps[path->n_steps - 1].awaited = true;
    /* The operators of a CPU node. */
    const struct op_spans *spans = &making->spans;
    const double measured = making->nodes.start[node];
    const uint64_t start = making->times.run_ns[node], end = making->times.end_ns[node];
    row_t span = times_up_to(spans->start, spans->n, measured);
    span -= span > 0;
    for (uint64_t at = start; at < end; span++) {
        span = span_at(spans, span, measured, start, end, at);
        uint64_t next = span_end(spans, span, measured, start, end);
        row_t op = spans->op[span];
        add_step(making->path, op == ROW_NONE ? SUTRA_FULL_GAP : SUTRA_FULL_OPERATOR,
                 op == ROW_NONE ? ROW_NONE : (row_t)making->input.ops.id[op], at, next);
        at = next;
    }
}

static enum sutra_status follow_path(struct path_making *making, struct sutra_error *error) {
    struct sutra_full_path *path = making->path;
    row_t last = last_node(making), n = 0;
    for (row_t node = last; node != ROW_NONE; node = making->times.cause[node].row)
        n++;
    row_t *nodes = arena_alloc(&making->arena, n, sizeof *nodes);
    TRY_ALLOC(nodes && op_spans_make(&making->input.ops, &making->arena, &making->spans), error);
    row_t at = n;
    for (row_t node = last; node != ROW_NONE; node = making->times.cause[node].row)
        nodes[--at] = node;
    for (row_t i = 0; i < n; i++)
        add_node(making, nodes[i], i ? nodes[i - 1] : ROW_NONE);
    return arena_status(&path->arena, error);
}

ORDER_BY(compare_steps, struct full_path_step, ASCENDING(kind) ASCENDING(name))

/* The longest first, ties by kind and event. */
ORDER_BY(compare_shares, struct sutra_full_share, DESCENDING(us) ASCENDING(kind) ASCENDING(first_event))

static enum sutra_status sum_shares(struct path_making *making, struct sutra_error *error) {
    struct sutra_full_path *path = making->path;
    const uint64_t n = path->n_steps;
    struct full_path_step *sorted = arena_alloc(&making->arena, n, sizeof *sorted);
    path->shares = arena_zeros(&path->arena, n, sizeof *path->shares);
    TRY_ALLOC(sorted && path->shares, error);
    for (uint64_t i = 0; i < n; i++)
        sorted[i] = path->steps[i];
    qsort(sorted, n, sizeof *sorted, compare_steps);
    uint64_t n_shares = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (i == 0 || compare_steps(&sorted[i - 1], &sorted[i]) != 0)
            path->shares[n_shares++] = (struct sutra_full_share){
                .kind = sorted[i].kind,
                .name = sorted[i].name == STRING_NONE ? NULL : strings_text(&path->trace->strings, sorted[i].name),
                .first_event = sorted[i].event};
        struct sutra_full_share *share = &path->shares[n_shares - 1];
        share->us += (double)(sorted[i].end_ns - sorted[i].start_ns) / 1000;
        share->n_steps++;
        share->n_waits += sorted[i].awaited;
        if (sorted[i].event < share->first_event)
            share->first_event = sorted[i].event;
    }
    qsort(path->shares, n_shares, sizeof *path->shares, compare_shares);
    path->report.shares = path->shares;
    path->report.n_shares = n_shares;
    return SUTRA_OK;
}

static enum sutra_status find_path(struct path_making *making, const struct sutra_critical_path_options *options,
                                   struct sutra_error *error) {
    double window[2];
    struct timeline_report timeline;
    making->input.options = (struct timeline_options){.min_gap_us = INFINITY, .per_stream = true};
    TRY(find_window(making, options, window, error));
    TRY(device_timeline_read(making->context, making->trace, window, &making->arena, &making->input, error));
    if (making->input.ops.n + making->input.kernels.n == 0)
        return error_set(error, SUTRA_DATA, "no events in the window");
    TRY(timeline_build(&making->input, &making->context->engine, &making->arena, &making->nodes, &timeline, error));
    if (timeline.measured_us > TIME_NEVER / 1000 / 4)
        return error_set(error, SUTRA_DATA, "the events span more than 146 years");

    /* Replay the nodes. The CPU is resource 0, and stream s is s + 1. */
    struct arena *arena = &making->arena;
    const struct timeline_nodes *nodes = &making->nodes;
    uint64_t *dur_ns = arena_alloc(arena, nodes->n, sizeof *dur_ns);
    row_t *n_waits = arena_alloc(arena, nodes->n, sizeof *n_waits);
    uint64_t *first_waiter = arena_zeros(arena, (size_t)nodes->n + 1, sizeof *first_waiter);
    row_t *waiters = arena_alloc(arena, nodes->n_deps, sizeof *waiters);
    uint32_t *resource = arena_alloc(arena, nodes->n, sizeof *resource);
    TRY_ALLOC(replay_times_alloc(&making->times, nodes->n, arena), error);
    for (row_t i = 0; i < nodes->n; i++) {
        resource[i] = nodes->role[i] == NODE_KERNEL ? making->input.kernels.stream[nodes->of[i]] + 1 : 0;
        dur_ns[i] = nodes->duration_us[i] * 1000;
        n_waits[i] = (row_t)(nodes->first_dep[i + 1] - nodes->first_dep[i]);
    }
    rows_invert(nodes->n, nodes->first_dep, nodes->deps, first_waiter, waiters);
    making->run = (struct replay_graph){.n = nodes->n,
                                        .dur_ns = dur_ns,
                                        .resource = resource,
                                        .n_resources = making->input.kernels.n_streams + 1,
                                        .n_waits = n_waits,
                                        .first_waiter = first_waiter,
                                        .waiters = waiters};
    const struct replay_job job = {1, &making->run, 0, NULL};
    TRY(replay(&job, &making->times, error));

    /* The path, the slack of all nodes, and sums. */
    TRY(follow_path(making, error));
    uint64_t *slack_ns = arena_alloc(&making->arena, making->nodes.n, sizeof *slack_ns);
    TRY_ALLOC(slack_ns &&
                  replay_slack(&making->run, &making->times, &making->context->engine, &making->arena, slack_ns),
              error);
    TRY(full_path_find_slacks(making->path, &making->input, &making->nodes, &making->spans, slack_ns, error));
    TRY(sum_shares(making, error));
    struct sutra_full_path *path = making->path;
    struct sutra_full_report *report = &path->report;
    report->n_nodes = nodes->n;
    report->n_steps = path->n_steps;
    report->us = (double)making->times.finish_ns / 1000;
    report->measured_us = timeline.measured_us;
    for (uint64_t i = 0; i < path->n_steps; i++) {
        const struct full_path_step *step = &path->steps[i];
        report->kind_us[step->kind] += (double)(step->end_ns - step->start_ns) / 1000;
        report->kind_steps[step->kind]++;
        report->n_waits += step->awaited;
    }
    return SUTRA_OK;
}

enum sutra_status sutra_full_path_find(struct sutra_context *context, const struct sutra_device_trace *trace,
                                       const struct sutra_critical_path_options *options, struct sutra_full_path **path,
                                       struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_critical_path_options, instance);
    struct sutra_critical_path_options used_options;
    TRY(options_copy(&form, options, &used_options, error));
    if (used_options.step && (used_options.annotation || used_options.instance))
        return error_set(error, SUTRA_USAGE, "a step and an annotation exclude each other");
    struct path_making making = {.context = context, .trace = trace, .path = calloc(1, sizeof *making.path)};
    TRY_ALLOC(making.path, error);
    making.path->trace = trace;
    making.path->annotation = ROW_NONE;
    stage_begin(context, "critical path", trace->events.n);
    enum sutra_status status = find_path(&making, &used_options, error);
    stage_end(context);
    arena_free(&making.arena);
    if (status)
        sutra_full_path_free(making.path);
    else
        *path = making.path;
    return status;
}

void sutra_full_path_report(const struct sutra_full_path *path, struct sutra_full_report *report) {
    report_give(report, &path->report, sizeof path->report);
}

void sutra_full_path_free(struct sutra_full_path *path) {
    if (!path)
        return;
    arena_free(&path->arena);
    free(path);
}
