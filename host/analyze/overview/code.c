/*
 * code.c - the lines of Python code of a finding: which function of the user runs, or launched the kernels, during its
 * time.
 *
 *     gap         |<--------- host ---------->|             the thread that launches the activity after the gap
 *     frames      | train.py(30): train_step ...      |
 *                 |  model.py(5): forward ....      |        code of the instants: forward, route, forward
 *                 |    router.py(12): route |                lines: of forward's child by "CallFrom", else 5
 *     kernel      launched by aten::mm, below AddmmBackward0, 17  --> code of aten::linear, 17
 *     graph       launched by a graph launch  --> code of the operator in the capture trace
 *
 * Input: rows of the overview and GPU activities within the intervals of a finding. The code of a row of hosts is its
 * innermost enclosing function of the user, else of a library (facts/code_names.h). GPU idle time weighs instants,
 * other time weighs GPU activities.
 *
 *     row of hosts, row of devices  -->  function, line, way: a number  -->  sums of a finding by number  -->  functions
 *
 * Cost: O(n log n) for n rows of hosts, once for a trace with findings and Python functions; then O(n) per finding, and
 * a sort of its functions.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/launches/graphs.h"
#include "analyze/overview/findings.h"
#include "analyze/overview/verdict.h"
#include "base/error.h"
#include "base/shared.h"
#include "facts/code_names.h"
#include "read/event_columns.h"
#include "text/numbers.h"

/* The functions and lines of a trace and of its capture traces. A code is 1 + N_CODE_VIAS * number + enum code_via,
 * with the number of the function and line; 0: none. */
struct code_table {
    struct strings names;
    struct tuples lines;           /* string of `names`, line */
    uint32_t *of_host, *of_device; /* code by row */
};

/* ---- Code by row of hosts and of devices ---- */

/* A function of the user or a library, or a function that it calls directly. */
struct code_site {
    uint32_t name, line; /* of the function of the user or library: a string of the trace, and where it begins */
    uint32_t number;     /* in lines of struct code_table */
};

/* The line of a string "FILE:LINE" of the file; 0: absent, or another form. */
static uint32_t line_of_call(const char *bytes, struct json_span place) {
    const char *colon = memrchr(bytes + place.at, ':', place.end - place.at);
    int64_t line;
    if (bytes[place.at] != '"' || !colon || !integer_parse(colon + 1, (size_t)(bytes + place.end - colon - 1), &line) ||
        line <= 0 || line > INT32_MAX)
        return 0;
    return (uint32_t)line;
}

/* Numbers the code of the rows of hosts of a trace, or of a capture trace. */
static enum sutra_status number_hosts(const struct diagnosis *d, const struct launch_model *model, bool is_capture,
                                      struct code_table *table, uint32_t **codes, struct sutra_error *error) {
    static const struct requested_field field = {"CallFrom", ASK_PLACE, false};
    const struct host_rows *hosts = &model->hosts;
    const struct strings *strings = model->strings;
    *codes = arena_alloc(d->arena, hosts->n, sizeof **codes);
    struct arena_mark mark = arena_mark(d->arena);
    enum { UNKNOWN = UINT8_MAX };
    uint8_t *owners = arena_alloc(d->arena, strings->n, 1);
    uint32_t *site_of = arena_alloc(d->arena, hosts->n, sizeof *site_of); /* by row: the innermost site; 0: none */
    struct code_site *sites = arena_alloc(d->arena, (size_t)hosts->n + 1, sizeof *sites);
    row_t *calls = arena_alloc(d->arena, (size_t)hosts->n + 1, sizeof *calls); /* the event of the called function */
    row_t *forward;
    uint32_t n = 1;
    struct requested_column column;
    TRY(find_forward_operators(d->context, model, d->arena, &forward, error));
    TRY(arena_status(d->arena, error));
    memset(owners, UNKNOWN, strings->n);
    calls[0] = ROW_NONE;
    for (row_t row = 0; row < hosts->n; row++) {
        const uint32_t name = host_name(model, row);
        const uint32_t outer = hosts->parent[row] == ROW_NONE ? 0 : site_of[hosts->parent[row]];
        struct code_name parts = {0};
        site_of[row] = outer;
        if (hosts->kind[row] != HOST_FRAME)
            continue;
        if (owners[name] == UNKNOWN)
            owners[name] = (uint8_t)code_owner_of(strings_text(strings, name));
        if (owners[name] == CODE_USER ||
            (owners[name] == CODE_LIBRARY && (!outer || owners[sites[outer].name] != CODE_USER))) {
            code_name_parse(strings_text(strings, name), &parts);
            sites[n] = (struct code_site){.name = name, .line = parts.line};
            calls[n] = ROW_NONE;
        } else if (outer && calls[outer] == ROW_NONE) {
            sites[n] = sites[outer];
            calls[n] = hosts->event[row];
        } else {
            continue;
        }
        site_of[row] = n++;
    }
    TRY(event_columns_request(d->context, model->trace, &field, 1, calls, n, &column, error));
    for (uint32_t i = 1; i < n; i++) {
        struct code_site *site = &sites[i];
        const uint32_t line =
            calls[i] == ROW_NONE ? 0 : line_of_call(model->trace->document.source.bytes, column.place[calls[i]]);
        const uint32_t name =
            strings_intern(&table->names, strings_text(strings, site->name), strings_length(strings, site->name));
        TRY_ALLOC(name != STRING_NONE, error);
        site->number = tuples_number(&table->lines, (struct tuple){{name, line ? line : site->line}});
        TRY_ALLOC(site->number != TUPLE_NONE, error);
    }
    for (row_t row = 0; row < hosts->n; row++) {
        const uint32_t own = site_of[row], other = forward[row] == ROW_NONE ? 0 : site_of[forward[row]];
        const uint32_t site = other ? other : own;
        const enum code_via via = is_capture ? CODE_VIA_CAPTURE : other ? CODE_VIA_FORWARD : CODE_VIA_DIRECT;
        (*codes)[row] = site ? 1 + N_CODE_VIAS * sites[site].number + via : 0;
    }
    arena_release(d->arena, mark);
    return SUTRA_OK;
}

/* Numbers the code of a trace: of GPU activities by their launch, or by their operator in a capture trace. */
static enum sutra_status number_code(const struct diagnosis *d, struct code_table *table, struct sutra_error *error) {
    const struct device_rows *devices = &d->model->devices;
    const struct graph_kernels *graphs = d->model->graphs;
    const struct graph_captures *captures = graphs ? graphs->captures : NULL;
    uint32_t **of_capture = arena_zeros(d->arena, captures ? captures->n : 0, sizeof *of_capture); /* by row of hosts */
    table->of_device = arena_alloc(d->arena, devices->n, sizeof *table->of_device);
    TRY(arena_status(d->arena, error));
    TRY(number_hosts(d, d->model, false, table, &table->of_host, error));
    for (row_t i = 0; i < devices->n; i++) {
        table->of_device[i] = devices->call[i] == ROW_NONE ? 0 : table->of_host[devices->call[i]];
        if (!captures || graphs->call[i] == ROW_NONE)
            continue;
        const struct graph_capture *capture = &captures->list[graphs->capture[i]];
        uint32_t **codes = &of_capture[graphs->capture[i]];
        if (!*codes)
            TRY(number_hosts(d, &capture->model, true, table, codes, error));
        const row_t op = capture->op[graphs->call[i]];
        if (op != ROW_NONE && (*codes)[op])
            table->of_device[i] = (*codes)[op];
    }
    return SUTRA_OK;
}

/* ---- Sums of a finding: ticks by code ---- */

/* Adds GPU idle time by the innermost event of the launching thread at each instant. */
static void add_instants(const struct code_table *table, const struct host_rows *hosts, uint32_t thread, int64_t begin,
                         int64_t end, int64_t *ticks) {
    row_t next; /* the first row of the thread that starts later */
    BISECT(next, hosts->n,
           hosts->thread[next] < thread || (hosts->thread[next] == thread && hosts->start[next] <= begin));
    row_t live = next && hosts->thread[next - 1] == thread ? next - 1 : ROW_NONE;
    while (begin < end) {
        while (live != ROW_NONE && hosts->stop[live] <= begin)
            live = hosts->parent[live];
        const bool starts = next < hosts->n && hosts->thread[next] == thread && hosts->start[next] < end;
        int64_t until = starts ? hosts->start[next] : end;
        until = live == ROW_NONE ? until : MIN(until, hosts->stop[live]);
        ticks_add(&ticks[live == ROW_NONE ? 0 : table->of_host[live]], until - begin);
        if (starts && until == hosts->start[next])
            live = next++;
        begin = until;
    }
}

static void add_gaps(const struct diagnosis *d, const struct code_table *table, const struct spans *spans,
                     int64_t *ticks) {
    row_t next = 0;
    for (row_t i = 0; i < d->overview->n_gaps; i++) {
        const struct overview_gap *gap = &d->overview->gaps[i];
        while (next < spans->n && spans->end[next] <= gap->begin)
            next++;
        for (row_t k = next; k < spans->n && spans->begin[k] < gap->end; k++) {
            const int64_t begin = MAX(spans->begin[k], gap->begin), end = MIN(spans->end[k], gap->end);
            if (gap->thread == THREAD_UNKNOWN)
                ticks_add(&ticks[0], end - begin);
            else
                add_instants(table, &d->model->hosts, gap->thread, begin, end, ticks);
        }
    }
}

/* Adds the activities of a class, or the marked ones, each with its time in the intervals. */
static enum sutra_status add_activities(const struct diagnosis *d, const struct code_table *table,
                                        const struct spans *spans, const uint8_t *marked, uint8_t class, int64_t *ticks,
                                        struct sutra_error *error) {
    const struct device_rows *devices = &d->model->devices;
    int64_t *before = arena_zeros(d->arena, (size_t)spans->n + 1, sizeof *before);
    const struct kind_clock clock = {.n = spans->n, .begin = spans->begin, .end = spans->end, .before = before};
    TRY_ALLOC(before, error);
    for (row_t i = 0; i < spans->n; i++)
        before[i + 1] = before[i] + spans->end[i] - spans->begin[i];
    for (row_t i = 0; i < devices->n; i++)
        if (marked ? marked[i] : d->overview->classes[i] == class)
            ticks_add(&ticks[table->of_device[i]], kind_clock_between(&clock, devices->start[i], devices->stop[i]));
    return SUTRA_OK;
}

/* Sums the time of a finding, and its time in the range that represents the finding, by the kind of this time: GPU idle
 * time, marked activities, or a class of activities. */
static enum sutra_status sum_finding(const struct diagnosis *d, const struct code_table *table,
                                     const struct overview_finding *finding, int64_t *ticks, int64_t *ticks_of_range,
                                     struct sutra_error *error) {
    const bool is_gemm = finding->rule == &rule_gemm_bound; /* has no intervals */
    const uint8_t class = is_gemm                                       ? OVERVIEW_COMPUTE
                          : finding->rule->scope == SCOPE_COMMUNICATION ? OVERVIEW_COMMUNICATION
                                                                        : OVERVIEW_COPY;
    int64_t from = d->overview->first_event + finding->range.from_us * 1000;
    int64_t to = d->overview->first_event + finding->range.to_us * 1000;
    const struct spans range = {.n = from < to, .begin = &from, .end = &to};
    struct spans all = finding->spans, common;
    if (is_gemm)
        TRY(spans_of_kinds(d->overview, KIND(OVERVIEW_COMPUTE), d->arena, &all, error));
    TRY(spans_common(&all, &range, d->arena, &common, error));
    if (is_gemm || finding->rule->marked) {
        TRY(add_activities(d, table, &all, finding->kernels, class, ticks, error));
        return add_activities(d, table, &common, finding->kernels, class, ticks_of_range, error);
    }
    add_gaps(d, table, &all, ticks);
    add_gaps(d, table, &common, ticks_of_range);
    return SUTRA_OK;
}

/* ---- Functions ---- */

#define CODE_PERCENT 10 /* of functions that are listed */

struct code_function {
    const char *name;
    int64_t ticks, ticks_of_range;
    int64_t ticks_of_line; /* of the line and way with most time: */
    uint32_t line, via;
};

ORDER_BY(compare_functions, struct code_function, DESCENDING(ticks) ASCENDING_TEXT(name))

/* Lists the functions of a finding in the verdict, and names the one with most time in the range. */
static enum sutra_status list_functions(const struct diagnosis *d, const struct code_table *table, const int64_t *ticks,
                                        const int64_t *ticks_of_range, struct overview_finding *finding,
                                        struct rank_verdict *verdict, struct sutra_error *error) {
    const uint32_t n = table->names.n;
    struct code_function *functions = arena_zeros(d->arena, n, sizeof *functions), *of_range = NULL;
    struct finding_code *codes = realloc(verdict->codes, (verdict->n_codes + FINDING_CODES) * sizeof *codes);
    struct code_name parts;
    int64_t whole = ticks[0]; /* with or without code */
    verdict->codes = codes ? codes : verdict->codes;
    TRY_ALLOC(functions && codes, error);
    for (uint32_t code = 1; code <= table->lines.n * N_CODE_VIAS; code++) {
        const struct tuple *line = &table->lines.list[(code - 1) / N_CODE_VIAS];
        struct code_function *function = &functions[line->part[0]];
        function->name = strings_text(&table->names, (uint32_t)line->part[0]);
        ticks_add(&whole, ticks[code]);
        ticks_add(&function->ticks, ticks[code]);
        ticks_add(&function->ticks_of_range, ticks_of_range[code]);
        if (ticks[code] > function->ticks_of_line ||
            (ticks[code] == function->ticks_of_line && line->part[1] < function->line)) {
            function->ticks_of_line = ticks[code];
            function->line = (uint32_t)line->part[1];
            function->via = (code - 1) % N_CODE_VIAS;
        }
    }
    qsort(functions, n, sizeof *functions, compare_functions);
    for (uint32_t i = 0; i < n && functions[i].ticks > 0; i++) {
        struct code_function *function = &functions[i];
        const double percent = (double)function->ticks / (double)whole * 100;
        finding->where.n_code++;
        if (function->ticks_of_range > (of_range ? of_range->ticks_of_range : 0))
            of_range = function;
        if (i >= FINDING_CODES || percent < CODE_PERCENT)
            continue;
        struct finding_code *code = &codes[verdict->n_codes++];
        memset(code, 0, sizeof *code);
        code->percent = percent;
        code->rule = finding_rule_number(finding->rule);
        code->line = function->line;
        code->via = function->via;
        /* Of a longer name, the path loses its beginning. */
        const size_t length = strlen(function->name), cut = length - MIN(length, FINDING_FRAME - 1);
        const char *slash = cut ? strchr(function->name + cut, '/') : NULL;
        snprintf(code->name, sizeof code->name, "%s", slash ? slash + 1 : function->name);
    }
    if (of_range && code_name_parse(of_range->name, &parts))
        finding->range_code =
            arena_format(d->kept, "%.*s:%u %s", (int)parts.file_length, parts.file, of_range->line, parts.function);
    return arena_status(d->kept, error);
}

enum sutra_status find_code(const struct diagnosis *d, struct rank_verdict *verdict, struct sutra_error *error) {
    struct code_table table = {0};
    struct arena_mark mark = arena_mark(d->arena);
    if (!(d->facts & FACT_FRAMES) || d->findings->n == 0)
        return SUTRA_OK;
    TRY_ALLOC(strings_init(&table.names), error);
    enum sutra_status status = number_code(d, &table, error);
    const size_t n = 1 + N_CODE_VIAS * (size_t)table.lines.n;
    for (unsigned i = 0; i < d->findings->n && !status; i++) {
        struct overview_finding *finding = &d->findings->list[i];
        int64_t *ticks = arena_zeros(d->arena, 2 * n, sizeof *ticks);
        status = ticks ? sum_finding(d, &table, finding, ticks, ticks + n, error) : error_memory(error);
        if (!status)
            status = list_functions(d, &table, ticks, ticks + n, finding, verdict, error);
    }
    tuples_free(&table.lines);
    strings_free(&table.names);
    arena_release(d->arena, mark);
    return status;
}
