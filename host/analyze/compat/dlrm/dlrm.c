/*
 * dlrm.c - implements sutra/dlrm.h: runs the stages of the analysis and warns about skipped events.
 *
 *     trace --> trimmed --> window --> tree --> device time --> breakdown --> dominating --> chart
 *                                          \--> overheads by name, by shape
 *                                           \-> times of streams
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compat/dlrm/dlrm.h"
#include "base/error.h"
#include "base/options.h"
#include "text/numbers.h"
#include "text/quantities.h"

/* ---- Names that only the notebook knows, and short names of its tables and charts; cached per string ---- */

static const struct {
    enum comparison comparison;
    enum dlrm_name_role role;
    const char *text;
} known[] = {
    {TEXT_HAS, DLRM_COLON, ":"},
    {TEXT_HAS, DLRM_LOADER, "DataLoader"},
    {TEXT_HAS, DLRM_FORWARD, "## Forward ##"},
    {TEXT_IS, DLRM_ENTER, "profiler::_record_function_enter"},
    {TEXT_BEGINS, DLRM_LABEL, "##"},
    {TEXT_BEGINS, DLRM_LABEL, "__"},
    {TEXT_BEGINS, DLRM_LABEL, "module::"},
    {TEXT_BEGINS, DLRM_LABEL, "DLRM "},
    {TEXT_BEGINS, DLRM_LABEL, "DistributedDataParallel"},
    {TEXT_IS, DLRM_NO_START, "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags"},
    {TEXT_IS, DLRM_NO_START, "cudaPeakAtLastError"},
    {TEXT_IS, DLRM_NO_START, "cudaStreamGetCaptureInfo"},
    {TEXT_IS, DLRM_NO_START, "cudaEventQuery"},
    {TEXT_IS, DLRM_NO_START, "cudaEventRecord"},
    {TEXT_IS, DLRM_TO, "aten::to"},
};

static uint32_t intern(struct dlrm_work *work, const char *text, size_t length) {
    return strings_intern(work->texts, text, length);
}

uint32_t dlrm_name(struct dlrm_work *work, uint32_t string) {
    const struct strings *strings = &work->trace->strings;
    uint32_t *text = &work->name_text[string];
    if (*text == STRING_NONE)
        *text = intern(work, strings_text(strings, string), strings_length(strings, string));
    return *text;
}

uint32_t dlrm_short_name(struct dlrm_work *work, uint32_t string) {
    uint32_t *text = &work->short_text[string];
    if (*text != STRING_NONE)
        return *text;
    const char *name = strings_text(&work->trace->strings, string);
    size_t length = strings_length(&work->trace->strings, string);
    const char *arguments = memchr(name, '<', length);
    size_t end = arguments ? (size_t)(arguments - name) : length, begin = end;
    while (begin > 0 && !(begin >= 2 && name[begin - 1] == ':' && name[begin - 2] == ':'))
        begin--;
    *text = intern(work, name + begin, end - begin);
    return *text;
}

uint32_t dlrm_legend(struct dlrm_work *work, uint32_t name) {
    static const char *const legends[][2] = {
        {"gemm", "gemm"},
        {"gemv", "gemv"},
        {"Memset", "Memset"},
        {"Memcpy", "Memcpy"},
        {"vectorized_elementwise", "elwt"},
        {"unrolled_elementwise", "permute"},
        {"embedding_forward", "ELF"},
        {"embedding_backward", "ELB"},
        {"splitK", "splitK"},
        {"reduce_kernel", "reduce"},
        {"CatArray", "CatCopy"},
        {"indexing", "IdxBwd"},
    };
    for (size_t i = 0; i < sizeof legends / sizeof *legends; i++)
        if (text_compare(work->texts, name, TEXT_HAS, legends[i][0]))
            return intern(work, legends[i][1], strlen(legends[i][1]));
    char begin[4 * 8];
    const char *text = strings_text(work->texts, name);
    size_t n = 0, n_characters = 0; /* bytes of the first eight characters */
    while (n < strings_length(work->texts, name) && (n_characters += ((unsigned char)text[n] & 0xc0) != 0x80) <= 8 &&
           n < sizeof begin) {
        begin[n] = text[n];
        n++;
    }
    return intern(work, begin, n);
}

uint32_t dlrm_group_name(struct dlrm_work *work, uint32_t name) {
    const char *text = strings_text(work->texts, name), *mark = memchr(text, '#', strings_length(work->texts, name));
    char small[256], *copy = small; /* interning may move the table */
    size_t length = mark ? (size_t)(mark - text) : 0;
    if (!mark)
        return name;
    if (length > sizeof small && !(copy = malloc(length)))
        return STRING_NONE;
    memcpy(copy, text, length);
    uint32_t group = intern(work, copy, length);
    if (copy != small)
        free(copy);
    return group;
}

uint32_t dlrm_id_text(struct dlrm_work *work, value_key id) {
    char room[NUMBER_TEXT_MAX];
    size_t length;
    const char *text = values_text(&work->context->values, id, room, &length);
    return intern(work, text, length);
}

#define BATCH_DEFAULT 2048

/* A smaller attributed share of the device time is reported. */
#define MIN_ATTRIBUTED 0.99

/* ---- Input of the stages ---- */

/* Allocates the caches of the stages first in the scratch memory, where they outlive each stage. */
static enum sutra_status init_work(struct dlrm_work *work, struct sutra_dlrm *dlrm, struct sutra_error *error) {
    uint32_t n = dlrm->trace->strings.n;
    *work = (struct dlrm_work){.context = dlrm->context,
                               .engine = &dlrm->context->engine,
                               .trace = dlrm->trace,
                               .events = dlrm->events,
                               .options = &dlrm->options,
                               .as_notebook = dlrm->options.compat || dlrm->options.module_marker,
                               .texts = &dlrm->texts,
                               .arena = &dlrm->arena};
    struct string_roles *roles =
        names_find(&dlrm->trace->strings, dlrm->options.compat ? READER_DLRM : READER_DLRM_EXTENDED, &work->scratch);
    for (size_t i = 0; roles && i < sizeof known / sizeof *known; i++)
        names_mark(&dlrm->trace->strings, roles, known[i].comparison, known[i].text, known[i].role);
    work->roles = roles;
    work->name_text = arena_alloc(&work->scratch, n, sizeof *work->name_text);
    work->short_text = arena_alloc(&work->scratch, n, sizeof *work->short_text);
    if (work->scratch.failed || !strings_init(work->texts))
        return error_memory(error);
    memset(work->name_text, 0xff, n * sizeof *work->name_text);
    memset(work->short_text, 0xff, n * sizeof *work->short_text);
    /* The external ids: "External id", or "external id" for events without it. */
    work->external = work->events->external;
    if (!work->trace->n_lower_external)
        return SUTRA_OK;
    value_key *external = arena_alloc(&work->scratch, work->events->n, sizeof *external);
    work->external = external;
    TRY_ALLOC(external, error);
    static const struct requested_field fields[] = {{"external id", ASK_INT, false}, {"External id", ASK_PLACE, false}};
    const struct device_events *events = work->events;
    struct arena_mark mark = arena_mark(&work->scratch);
    row_t *without = arena_alloc(&work->scratch, events->n, sizeof *without), n_without = 0;
    struct requested_column columns[2];
    TRY_ALLOC(without, error);
    for (row_t event = 0; event < events->n; event++) {
        external[event] = events->external[event];
        if (external[event] == -1)
            without[n_without++] = event;
    }
    TRY(event_columns_request(work->context, work->trace, fields, 2, without, n_without, columns, error));
    for (row_t i = 0; i < n_without; i++) {
        value_key lower = columns[0].key[without[i]];
        if (lower != KEY_ABSENT && lower != KEY_UNHASHABLE && !columns[1].place[without[i]].at)
            external[without[i]] = lower;
    }
    arena_release(&work->scratch, mark);
    return SUTRA_OK;
}

/* ---- The stages ---- */

static enum sutra_status measure_device(struct dlrm_work *work, struct sutra_dlrm *dlrm, struct sutra_error *error) {
    struct sutra_dlrm_report *report = &dlrm->report;
    struct dlrm_breakdown breakdown = {0};
    struct dlrm_dominating dominating = {0};
    struct dlrm_chart chart = {0};
    TRY(dlrm_device_time_sum(work, &dlrm->tree, &dlrm->device_time, &dlrm->device_time_by_id, error));
    TRY(dlrm_breakdown_make(work, &dlrm->tree, &dlrm->device_time, report->host_us, &breakdown, error));
    TRY(dlrm_dominating_find(work, &breakdown, &dominating, error));
    enum sutra_status status = dlrm_chart_make(work, &dominating, &breakdown, &chart, error);
    report->n_without_stream = dlrm->device_time.n_without_stream;
    report->attributed_us = breakdown.attributed_us;
    report->streams = breakdown.streams;
    report->n_streams = breakdown.n_streams;
    report->rows = breakdown.rows;
    report->n_rows = breakdown.n_rows;
    report->by_time = breakdown.by_time;
    report->dominating = dominating.list;
    report->parts = dominating.parts;
    report->groups = chart.groups;
    report->variants = chart.variants;
    report->shares = chart.shares;
    return status;
}

static enum sutra_status run(struct dlrm_work *work, struct sutra_dlrm *dlrm, struct sutra_error *error) {
    struct sutra_dlrm_report *report = &dlrm->report;
    struct dlrm_tree *tree = &dlrm->tree;
    struct dlrm_window window = {0};
    TRY(dlrm_trim(work, &dlrm->trimmed, error));
    report->trimmed = dlrm->trimmed.rows != NULL;
    report->n_events = dlrm->trimmed.n;
    report->iters = dlrm->trimmed.iters;

    TRY(dlrm_window_find(work, &dlrm->trimmed, &window, error));
    report->n_without_ts = window.n_without_ts;
    report->n_negative = window.n_negative;
    report->n_odd_tid = window.n_odd_tid;
    report->n_loaders = window.n_loaders;
    report->n_forwards = window.n_forwards;
    report->marker = window.marker;
    report->device_us = window.device_us;
    report->selected_us = window.selected_us;

    /* The tree. */
    TRY(dlrm_forest_build(work, &window, &tree->forest, error));
    TRY(dlrm_links_find(work, &window, &tree->forest, &tree->links, error));
    TRY(dlrm_shapes_read(work, &tree->forest, &tree->shapes, error));
    TRY(dlrm_operators_find(work, &tree->links, &tree->forest, &tree->ops, error));
    report->n_nodes = tree->forest.n;
    report->n_roots = tree->forest.n_roots;
    report->n_crossing = tree->forest.n_crossing;
    report->n_hidden = tree->forest.n_hidden;
    report->n_ops = tree->ops.n;
    report->n_launches = tree->links.n;
    report->n_launches_executed = tree->links.n_executed;
    report->executed_us = tree->links.executed_us;
    report->tolerant = tree->links.tolerant;
    report->n_orphans = tree->links.n_orphans;
    report->n_unlaunched = tree->links.n_unlaunched;
    report->launched_us = tree->links.launched_us;
    report->n_colliding = tree->links.n_colliding;

    /* CPU time. */
    dlrm->begin = window.begin;
    dlrm->skipped = window.skipped;
    dlrm->end = tree->forest.last;
    dlrm->host = number_subtract(number_subtract(dlrm->end, dlrm->begin), dlrm->skipped);
    report->begin_us = number_as_double(dlrm->begin);
    report->end_us = number_as_double(dlrm->end);
    report->skipped_us = number_as_double(dlrm->skipped);
    report->host_us = number_as_double(dlrm->host);
    report->batch = dlrm->options.batch ? dlrm->options.batch : BATCH_DEFAULT;
    report->qps =
        report->host_us > 0 ? 1e6 / report->host_us * (double)report->iters * (double)report->batch : (double)NAN;

    TRY(measure_device(work, dlrm, error));
    /* CPU overheads. */
    TRY(dlrm_overheads_measure(work, &dlrm->tree, false, &dlrm->by_name, error));
    TRY(dlrm_overheads_measure(work, &dlrm->tree, true, &dlrm->by_shape, error));
    report->overheads = dlrm->by_name.list;
    report->n_overheads = dlrm->by_name.n;
    report->overheads_by_shape = dlrm->by_shape.list;
    report->n_overheads_by_shape = dlrm->by_shape.n;
    TRY(dlrm_streams_measure(work, &window, &tree->links, &dlrm->stream_times, error));
    report->has_streams = dlrm->stream_times.n > 0;
    report->span_us = number_as_double(dlrm->stream_times.span);
    report->union_us = number_as_double(dlrm->stream_times.active);
    report->idle_us = number_as_double(dlrm->stream_times.idle);
    report->overlap_us = number_as_double(dlrm->stream_times.overlap);
    return SUTRA_OK;
}

/* ---- Warnings ---- */

static void warn_if(const struct sutra_dlrm *dlrm, uint64_t count, const char *one, const char *several,
                    const char *then) {
    if (count)
        context_warn(dlrm->context, "%s%s", counted_text(count, one, several).text, then);
}

static void warn(const struct sutra_dlrm *dlrm) {
    const struct sutra_dlrm_report *report = &dlrm->report;
    const char *work[] = {"GPU activity", "GPU activities"};
    warn_if(dlrm, report->n_without_ts, "event", "events", " with a duration but no start time: skipped");
    warn_if(dlrm, report->n_negative, "event", "events", " with a negative duration: skipped");
    warn_if(dlrm, report->n_odd_tid, "call whose tid is more than twice its pid",
            "calls whose tid is more than twice their pid",
            report->compat ? ": skipped" : ": skipped (without --module-marker they count)");
    warn_if(dlrm, report->n_crossing, "CPU operator overlaps another one without being nested in it",
            "CPU operators overlap another one without being nested in it", ": treated as siblings");
    warn_if(dlrm, report->n_hidden, "CPU operator overlaps an operator of another thread",
            "CPU operators overlap an operator of another thread", ": skipped");
    warn_if(dlrm, report->n_unlaunched, work[0], work[1],
            report->compat
                ? " skipped: no earlier runtime call has that id (the notebook does not count driver calls as "
                  "launches)"
                : " skipped: no call has that correlation");
    if (!report->compat && report->attributed_us < MIN_ATTRIBUTED * report->device_us)
        context_warn(
            dlrm->context,
            "only %.1f %% of the device time is attributed to operators: of %.0f us, %.0f us start outside the window, "
            "%.0f us have no launch in the window, and %.0f us are launched outside operators",
            report->attributed_us / report->device_us * 100, report->device_us, report->device_us - report->selected_us,
            report->selected_us - report->launched_us, report->launched_us - report->attributed_us);
    warn_if(dlrm, report->n_without_stream, work[0], work[1], " without a stream: skipped");
    if (report->n_loaders && report->n_loaders != report->n_forwards)
        context_warn(dlrm->context, "%s and %s do not pair up: data loading time counts as CPU time",
                     counted_text(report->n_loaders, "DataLoader event", "DataLoader events").text,
                     counted_text(report->n_forwards, "## Forward ## event", "## Forward ## events").text);
    if (!(report->host_us > 0))
        context_warn(dlrm->context, "no queries per second: the CPU events have no duration");
    if (!report->n_launches_executed)
        context_warn(dlrm->context,
                     "no device time, breakdown, charts and streams: no kernel or memcpy has the %s of an "
                     "earlier launch",
                     report->compat ? "external id" : "correlation");
    else if (!report->n_streams)
        context_warn(dlrm->context, "no breakdown and charts: no operator launched a kernel or memcpy");
    if (!report->n_ops)
        context_warn(dlrm->context, "no overheads: the trace has no CPU operators other than labels");
}

/* ---- The public functions ---- */

enum sutra_status dlrm_options_take(const struct sutra_dlrm_options *given, struct sutra_dlrm_options *taken,
                                    struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_dlrm_options, iteration_us);
    return options_copy(&form, given, taken, error);
}

enum sutra_status sutra_dlrm_analyze(struct sutra_context *context, const struct sutra_device_trace *trace,
                                     const struct sutra_dlrm_options *options, struct sutra_dlrm **dlrm,
                                     struct sutra_error *error) {
    struct sutra_dlrm_options taken;
    struct dlrm_work work = {0};
    TRY(dlrm_options_take(options, &taken, error));
    struct sutra_dlrm *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    *made = (struct sutra_dlrm){.context = context, .trace = trace, .events = &trace->events, .options = taken};
    made->report.size = sizeof made->report;
    made->report.compat = made->options.compat;
    context_choose_engine(context, NO_MATCHING);
    stage_begin(context, "analyze", trace->events.n);
    /* The marker outlives the caller's text. */
    if (taken.module_marker)
        made->options.module_marker = arena_text(&made->arena, taken.module_marker, strlen(taken.module_marker));
    enum sutra_status status = made->arena.failed ? error_memory(error) : init_work(&work, made, error);
    if (!status)
        status = run(&work, made, error);
    arena_free(&work.scratch);
    stage_end(context);
    if (status) {
        sutra_dlrm_free(made);
        return status;
    }
    warn(made);
    *dlrm = made;
    return SUTRA_OK;
}

void sutra_dlrm_report(const struct sutra_dlrm *dlrm, struct sutra_dlrm_report *report) {
    report_give(report, &dlrm->report, sizeof dlrm->report);
}

const char *sutra_dlrm_text(const struct sutra_dlrm *dlrm, uint32_t text) {
    return text < dlrm->texts.n ? strings_text(&dlrm->texts, text) : "";
}

void sutra_dlrm_free(struct sutra_dlrm *dlrm) {
    if (!dlrm)
        return;
    strings_free(&dlrm->texts);
    arena_free(&dlrm->arena);
    free(dlrm);
}
