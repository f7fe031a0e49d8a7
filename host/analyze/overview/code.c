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

/* ---- Code by row of hosts ---- */

/* Of a trace, or of a capture trace. */
struct code_index {
    const struct launch_model *model;
    struct backward_links backward;
    row_t *frame;   /* by row of hosts: the function that is its code, or ROW_NONE */
    uint32_t *line; /* the line of this function at which the row is */
};

/* The line of "FILE:LINE", the text of a JSON string; 0: another form. */
static uint32_t line_of_call(const char *bytes, struct json_span place) {
    uint32_t line = 0, unit = 1;
    const char *begin = bytes + place.at, *at = bytes + place.end;
    while (at > begin && (*at == '"' || at == bytes + place.end))
        at--;
    for (; at > begin && *at >= '0' && *at <= '9' && unit <= 100000000; at--, unit *= 10)
        line += (uint32_t)(*at - '0') * unit;
    return at > begin && *at == ':' ? line : 0;
}

/* Fills an index, in the arena. */
static enum sutra_status index_code(struct sutra_context *context, const struct launch_model *model,
                                    struct arena *arena, struct code_index *index, struct sutra_error *error) {
    static const struct requested_field field = {"CallFrom", ASK_PLACE, false};
    const struct host_rows *hosts = &model->hosts;
    const struct strings *strings = model->strings;
    *index = (struct code_index){.model = model,
                                 .frame = arena_alloc(arena, hosts->n, sizeof *index->frame),
                                 .line = arena_zeros(arena, hosts->n, sizeof *index->line)};
    TRY(backward_links_find(context, model, arena, &index->backward, error));
    struct arena_mark mark = arena_mark(arena);
    enum { UNKNOWN = UINT8_MAX };
    uint8_t *owners = arena_alloc(arena, strings->n, 1);
    bool *is_own = arena_zeros(arena, hosts->n, sizeof *is_own); /* the innermost function is the code */
    row_t *calls = arena_alloc(arena, hosts->n, sizeof *calls), *events = arena_alloc(arena, hosts->n, sizeof *events);
    row_t n = 0; /* functions that a code calls directly */
    struct requested_column column;
    TRY(arena_status(arena, error));
    memset(owners, UNKNOWN, strings->n);
    for (row_t row = 0; row < hosts->n; row++) {
        const row_t parent = hosts->parent[row], outer = parent == ROW_NONE ? ROW_NONE : index->frame[parent];
        const uint32_t name = host_name(model, row);
        index->frame[row] = outer;
        is_own[row] = parent != ROW_NONE && is_own[parent];
        if (hosts->kind[row] != HOST_FRAME)
            continue;
        if (owners[name] == UNKNOWN)
            owners[name] = (uint8_t)code_owner_of(strings_text(strings, name));
        if (owners[name] == CODE_USER ||
            (owners[name] == CODE_LIBRARY && (outer == ROW_NONE || owners[host_name(model, outer)] != CODE_USER))) {
            index->frame[row] = row;
            is_own[row] = true;
            continue;
        }
        if (is_own[row]) {
            calls[n] = row;
            events[n++] = hosts->event[row];
        }
        is_own[row] = false;
    }
    TRY(event_columns_request(context, model->trace, &field, 1, events, n, &column, error));
    row_t next = 0;
    for (row_t row = 0; row < hosts->n; row++) {
        const row_t parent = hosts->parent[row];
        struct code_name parts;
        if (index->frame[row] == row && code_name_parse(strings_text(strings, host_name(model, row)), &parts))
            index->line[row] = parts.line;
        else if (parent != ROW_NONE)
            index->line[row] = index->line[parent];
        if (next < n && calls[next] == row) {
            const struct json_span place = column.place[events[next++]];
            const uint32_t line = place.at ? line_of_call(model->trace->document.source.bytes, place) : 0;
            index->line[row] = line ? line : index->line[row];
        }
    }
    arena_release(arena, mark);
    return SUTRA_OK;
}

/* ---- Sums by function, line and way ---- */

/* Of a line; later of a function, with its line of most time. */
struct code_sum {
    uint32_t name, line; /* a string of `names` */
    enum code_via via;
    int64_t ticks, ticks_of_range;
    const char *text; /* of the name */
};

struct code_sums {
    struct arena *arena;
    struct code_index own;
    struct code_index *captures; /* by capture trace; model NULL: not indexed yet */
    struct strings names;
    struct pair_table numbers; /* by name, line and via */
    struct code_sum *list;
    uint64_t n, capacity;
    int64_t whole;    /* of the finding, with or without code */
    int64_t from, to; /* the range that represents the finding */
};

/* Adds time of a finding to the code of a row of hosts; `of_range` is the part of `ticks` in the range. False: out of
 * memory. */
static bool add_code(struct code_sums *sums, const struct code_index *index, row_t row, bool is_captured, int64_t ticks,
                     int64_t of_range) {
    enum code_via via = is_captured ? CODE_VIA_CAPTURE : CODE_VIA_DIRECT;
    const row_t engine = row == ROW_NONE ? ROW_NONE : index->backward.engine[row];
    const row_t forward = engine == ROW_NONE ? ROW_NONE : index->backward.forward[engine];
    if (forward != ROW_NONE && index->frame[forward] != ROW_NONE) {
        via = is_captured ? via : CODE_VIA_FORWARD;
        row = forward;
    }
    const row_t frame = row == ROW_NONE ? ROW_NONE : index->frame[row];
    if (frame == ROW_NONE)
        return true;
    const struct strings *strings = index->model->strings;
    const uint32_t string = host_name(index->model, frame), line = index->line[row];
    const uint32_t name = strings_intern(&sums->names, strings_text(strings, string), strings_length(strings, string));
    struct pair_entry *entry =
        name == STRING_NONE ? NULL : pair_table_insert(&sums->numbers, (uint64_t)name << 32 | line, via);
    if (!entry)
        return false;
    if (entry->number == PAIR_NONE) {
        if (!arena_grow(sums->arena, &sums->list, sums->n, &sums->capacity, sizeof *sums->list))
            return false;
        entry->number = (uint32_t)sums->n;
        sums->list[sums->n++] = (struct code_sum){.name = name, .line = line, .via = via};
    }
    ticks_add(&sums->list[entry->number].ticks, ticks);
    ticks_add(&sums->list[entry->number].ticks_of_range, of_range);
    return true;
}

/* ---- GPU idle time: instants ----
 *
 * Intervals of a thread ascend. The thread's innermost event is kept, with its ancestors as a stack.
 */

struct thread_cursor {
    row_t next, end; /* the next row of the thread that begins */
    row_t live;      /* the innermost event that has begun and not ended, or ROW_NONE */
};

static bool add_instants(struct code_sums *sums, struct thread_cursor *cursor, int64_t begin, int64_t end) {
    const struct host_rows *hosts = &sums->own.model->hosts;
    while (begin < end) {
        int64_t until = end;
        while (cursor->live != ROW_NONE && hosts->stop[cursor->live] <= begin)
            cursor->live = hosts->parent[cursor->live];
        if (cursor->next < cursor->end && hosts->start[cursor->next] <= begin) {
            cursor->live = cursor->next++;
            continue;
        }
        if (cursor->next < cursor->end)
            until = MIN(until, hosts->start[cursor->next]);
        if (cursor->live != ROW_NONE)
            until = MIN(until, hosts->stop[cursor->live]);
        if (!add_code(sums, &sums->own, cursor->live, false, until - begin,
                      ticks_within(begin, until, sums->from, sums->to)))
            return false;
        begin = until;
    }
    return true;
}

static enum sutra_status sum_instants(const struct diagnosis *d, const struct spans *spans, struct code_sums *sums,
                                      struct sutra_error *error) {
    const struct overview *overview = d->overview;
    const struct host_rows *hosts = &d->model->hosts;
    struct thread_cursor *cursors = arena_alloc(d->arena, hosts->n_threads, sizeof *cursors);
    row_t next = 0;
    TRY_ALLOC(cursors, error);
    for (row_t row = 0; row < hosts->n; row++) { /* threads are consecutive */
        struct thread_cursor *cursor = &cursors[hosts->thread[row]];
        if (row == 0 || hosts->thread[row] != hosts->thread[row - 1])
            *cursor = (struct thread_cursor){row, row, ROW_NONE};
        cursor->end = row + 1;
    }
    for (row_t i = 0; i < overview->n_rows; i++) {
        const struct overview_row *row = &overview->rows[i];
        if (row->gap == ROW_NONE)
            continue;
        while (next < spans->n && spans->end[next] <= row->begin)
            next++;
        for (row_t k = next; k < spans->n && spans->begin[k] < row->end; k++) {
            const int64_t begin = MAX(spans->begin[k], row->begin), end = MIN(spans->end[k], row->end);
            const uint32_t thread = overview->gaps[row->gap].thread;
            ticks_add(&sums->whole, end - begin);
            if (thread != THREAD_UNKNOWN)
                TRY_ALLOC(add_instants(sums, &cursors[thread], begin, end), error);
        }
    }
    return SUTRA_OK;
}

/* ---- GPU activities: launches ---- */

/* Adds an activity by the code of its launch, or of its operator in a capture trace. */
static enum sutra_status add_activity(const struct diagnosis *d, struct code_sums *sums, row_t device, int64_t ticks,
                                      int64_t of_range, struct sutra_error *error) {
    const struct graph_kernels *graphs = d->model->graphs;
    ticks_add(&sums->whole, ticks);
    if (graphs && graphs->captures && graphs->call[device] != ROW_NONE) {
        const uint32_t number = graphs->capture[device];
        const struct graph_capture *capture = &graphs->captures->list[number];
        struct code_index *index = &sums->captures[number];
        if (!index->model)
            TRY(index_code(d->context, &capture->model, d->arena, index, error));
        const row_t op = capture->op[graphs->call[device]];
        if (op != ROW_NONE && index->frame[op] != ROW_NONE) {
            TRY_ALLOC(add_code(sums, index, op, true, ticks, of_range), error);
            return SUTRA_OK;
        }
    }
    TRY_ALLOC(add_code(sums, &sums->own, d->model->devices.call[device], false, ticks, of_range), error);
    return SUTRA_OK;
}

/* Adds the activities of a class, or the marked ones, each with its time in the intervals of the finding. */
static enum sutra_status sum_activities(const struct diagnosis *d, const struct spans *spans, const uint8_t *marked,
                                        uint8_t class, struct code_sums *sums, struct sutra_error *error) {
    const struct device_rows *devices = &d->model->devices;
    int64_t *before = arena_alloc(d->arena, spans->n, sizeof *before), length = 0;
    const struct kind_clock clock = {.n = spans->n, .begin = spans->begin, .end = spans->end, .before = before};
    TRY_ALLOC(before, error);
    for (row_t i = 0; i < spans->n; i++) {
        before[i] = length;
        length += spans->end[i] - spans->begin[i];
    }
    for (row_t i = 0; i < devices->n; i++) {
        const int64_t start = devices->start[i], stop = devices->stop[i];
        if (marked ? !marked[i] : d->overview->classes[i] != class)
            continue;
        const int64_t ticks = kind_clock_between(&clock, start, stop);
        if (ticks > 0)
            TRY(add_activity(d, sums, i, ticks, kind_clock_between(&clock, MAX(start, sums->from), MIN(stop, sums->to)),
                             error));
    }
    return SUTRA_OK;
}

/* ---- Functions ---- */

#define CODE_PERCENT 10 /* of functions that are listed */

ORDER_BY(compare_lines, struct code_sum, ASCENDING(name) DESCENDING(ticks) ASCENDING(line) ASCENDING(via))
ORDER_BY(compare_functions, struct code_sum, DESCENDING(ticks) ASCENDING_TEXT(text))

/* Copies a name; of a longer one, the path loses its beginning. */
static void copy_code_name(const char *text, char name[FINDING_FRAME]) {
    size_t length = strlen(text);
    const char *from = text;
    if (length >= FINDING_FRAME) {
        const char *slash = strchr(text + length - FINDING_FRAME + 1, '/');
        from = slash ? slash + 1 : text;
    }
    snprintf(name, FINDING_FRAME, "%s", from);
}

/* Lists the functions of a finding in the verdict, and names the one with most time in the range. */
static enum sutra_status list_functions(const struct diagnosis *d, struct code_sums *sums,
                                        struct overview_finding *finding, struct rank_verdict *verdict,
                                        struct sutra_error *error) {
    struct code_sum *list = sums->list;
    const struct code_sum *of_range = NULL;
    uint64_t n = 0;
    if (sums->n == 0)
        return SUTRA_OK;
    qsort(list, sums->n, sizeof *list, compare_lines);
    for (uint64_t i = 0; i < sums->n; i++) {
        if (n && list[n - 1].name == list[i].name) {
            ticks_add(&list[n - 1].ticks, list[i].ticks);
            ticks_add(&list[n - 1].ticks_of_range, list[i].ticks_of_range);
            continue;
        }
        list[n] = list[i];
        list[n].text = strings_text(&sums->names, list[n].name);
        n++;
    }
    qsort(list, n, sizeof *list, compare_functions);
    finding->where.n_code = (unsigned)n;
    struct finding_code *codes = realloc(verdict->codes, (verdict->n_codes + FINDING_CODES) * sizeof *codes);
    TRY_ALLOC(codes, error);
    verdict->codes = codes;
    for (uint64_t i = 0; i < n; i++) {
        const double percent = (double)list[i].ticks / (double)sums->whole * 100;
        if (list[i].ticks_of_range > (of_range ? of_range->ticks_of_range : 0))
            of_range = &list[i];
        if (i >= FINDING_CODES || percent < CODE_PERCENT)
            continue;
        struct finding_code *code = &codes[verdict->n_codes++];
        memset(code, 0, sizeof *code);
        code->percent = percent;
        code->rule = finding_rule_number(finding->rule);
        code->line = list[i].line;
        code->via = list[i].via;
        copy_code_name(list[i].text, code->name);
    }
    struct code_name parts;
    if (of_range && code_name_parse(of_range->text, &parts)) {
        finding->range_code =
            arena_format(d->kept, "%.*s:%u %s", (int)parts.file_length, parts.file, of_range->line, parts.function);
        TRY_ALLOC(finding->range_code, error);
    }
    return SUTRA_OK;
}

/* Sums the code of a finding by the kind of its time: GPU idle time, marked activities, or a class of activities. */
static enum sutra_status sum_code(const struct diagnosis *d, const struct overview_finding *finding,
                                  struct code_sums *sums, struct sutra_error *error) {
    const struct finding_rule *rule = finding->rule;
    struct spans compute;
    sums->whole = 0;
    sums->from = d->overview->first_event + finding->range.from_us * 1000;
    sums->to = d->overview->first_event + finding->range.to_us * 1000;
    if (rule == &rule_gemm_bound) { /* has no intervals */
        TRY(spans_of_kinds(d->overview, KIND(OVERVIEW_COMPUTE), d->arena, &compute, error));
        return sum_activities(d, &compute, NULL, OVERVIEW_COMPUTE, sums, error);
    }
    if (rule->marked)
        return sum_activities(d, &finding->spans, finding->kernels,
                              rule->scope == SCOPE_COMMUNICATION ? OVERVIEW_COMMUNICATION : OVERVIEW_COPY, sums, error);
    return sum_instants(d, &finding->spans, sums, error);
}

enum sutra_status find_code(const struct diagnosis *d, struct rank_verdict *verdict, struct sutra_error *error) {
    const struct graph_kernels *graphs = d->model->graphs;
    const size_t n_captures = graphs && graphs->captures ? graphs->captures->n : 0;
    struct code_sums sums = {.arena = d->arena};
    struct arena_mark mark = arena_mark(d->arena);
    if (!(d->facts & FACT_FRAMES) || d->findings->n == 0)
        return SUTRA_OK;
    sums.captures = arena_zeros(d->arena, n_captures, sizeof *sums.captures);
    TRY_ALLOC(sums.captures, error);
    TRY(index_code(d->context, d->model, d->arena, &sums.own, error));
    enum sutra_status status = SUTRA_OK;
    for (unsigned i = 0; i < d->findings->n && !status; i++) {
        sums.n = 0;
        if (!strings_init(&sums.names) || !pair_table_init(&sums.numbers))
            status = error_memory(error);
        if (!status)
            status = sum_code(d, &d->findings->list[i], &sums, error);
        if (!status)
            status = list_functions(d, &sums, &d->findings->list[i], verdict, error);
        pair_table_free(&sums.numbers);
        strings_free(&sums.names);
    }
    arena_release(d->arena, mark);
    return status;
}
