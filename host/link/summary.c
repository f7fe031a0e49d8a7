/*
 * summary.c - what a trace holds and what of it can be linked, without linking it: a pass over the events that counts
 * them by what they are to the linker, and lists ids whose different values are counted. O(n) or O(n log n).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "context/context.h"
#include "link/link.h"
#include "match/key_index.h"
#include "read/device_trace.h"
#include "read/document.h"
#include "read/host_trace.h"
#include "read/trace_head.h"
#include "sutra/trace.h"

/*
 * A table of the members that tell something, and their values as text.
 */

/* A member of the file, or of an object (of a list of objects the first) that is one. */
static const struct member_row {
    const char *outer, *name; /* `name` is NULL for a member of the file */
    const char *fact, *words;
} members[] = {
    {"distributedInfo", "rank", "rank", "rank"},
    {"distributedInfo", "world_size", "world_size", "ranks in the job"},
    {"distributedInfo", "backend", "backend", "backend"},
    {"distributedInfo", "nccl_version", "nccl_version", "NCCL version"},
    {"deviceProperties", "name", "gpu", "GPU"},
    {"pytorch_version", NULL, "pytorch_version", "PyTorch version"},
    {"cuda_runtime_version", NULL, "cuda_runtime_version", "CUDA runtime version"},
};

/* Options of the profiler, which are 1 where they were on. */
static const struct {
    const char *name, *words;
} recorded[] = {
    {"record_shapes", "shapes"},  {"with_stack", "stacks"},    {"profile_memory", "memory"},
    {"with_flops", "operations"}, {"with_modules", "modules"},
};

static size_t skip_space(const char *text, size_t at) {
    return at + strspn(text + at, " \t\r\n");
}

/* Where the object at a member begins, or the first of a list of them. */
static size_t object_at(const struct document *document, size_t at) {
    const char *text = document->source.bytes;
    return text[at] == '[' ? skip_space(text, at + 1) : at;
}

/* A string without its quotes, or a number, as it stands in the file; empty for all else. */
static void value_text(const struct document *document, size_t at, char *to, size_t size) {
    const char *text = document->source.bytes + at;
    size_t length = *text == '"' ? strcspn(text + 1, "\"") : strspn(text, "+-.0123456789eE");
    snprintf(to, size, "%.*s", (int)(length < size ? length : size - 1), text + (*text == '"'));
}

static size_t member_at(const struct document *document, const struct member_row *row) {
    const struct document_member *outer = document_find(document, row->outer);
    if (!outer || !row->name)
        return outer ? outer->value : 0;
    size_t at = object_at(document, outer->value);
    return document->source.bytes[at] == '{' ? document_member_of(document, at, row->name).at : 0;
}

static void list_recorded(const struct document *document, char *to, size_t size) {
    *to = 0;
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
        const struct document_member *member = document_find(document, recorded[i].name);
        size_t length = strlen(to);
        if (member && document->source.bytes[member->value] == '1')
            snprintf(to + length, size - length, "%s%s", length ? ", " : "", recorded[i].words);
    }
}

/* Fills in the facts of a summary, and how many there are. O(length of those members). */
static void trace_facts_take(const struct document *document, struct sutra_device_summary *summary) {
    struct sutra_trace_fact *facts = summary->facts;
    uint64_t n = 0;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        size_t at = member_at(document, &members[i]);
        facts[n] = (struct sutra_trace_fact){.name = members[i].fact, .words = members[i].words};
        if (at)
            value_text(document, at, facts[n].text, sizeof facts[n].text);
        n += *facts[n].text != 0;
    }
    facts[n] = (struct sutra_trace_fact){.name = "recorded", .words = "recorded"};
    list_recorded(document, facts[n].text, sizeof facts[n].text);
    summary->n_facts = n + (*facts[n].text != 0);
}

/* From the keys of all of it. */
static enum sutra_status kind_by_all(struct sutra_context *context, const char *path, enum sutra_trace_kind *kind,
                                     struct sutra_error *error) {
    struct document document = {0};
    const struct document_reader reader = {.read_stage = "inspect trace", .looks_only = true};
    stage_begin(context, "open trace", 0);
    enum sutra_status status = document_open(&document, context, path, error);
    if (!status)
        status = document_read(&document, context, &reader, error);
    if (!status) {
        bool host = document_find(&document, "nodes"), device = document_find(&document, "traceEvents");
        if (host == device)
            status =
                error_file(error, SUTRA_DATA, path,
                           host ? "this is not a trace: it has both \"nodes\" and \"traceEvents\""
                                : "this is not a trace: it has neither \"nodes\" (host) nor \"traceEvents\" (device)");
        else
            *kind = host ? SUTRA_TRACE_HOST : SUTRA_TRACE_DEVICE;
    }
    stage_end(context);
    document_free(&document);
    return status;
}

enum sutra_status sutra_trace_kind_of(struct sutra_context *context, const char *path, enum sutra_trace_kind *kind,
                                      struct sutra_error *error) {
    struct trace_head head;
    if (trace_head_read(path, false, &head, NULL) || head.side == SIDE_UNKNOWN)
        return kind_by_all(context, path, kind, error);
    *kind = head.side == SIDE_HOST ? SUTRA_TRACE_HOST : SUTRA_TRACE_DEVICE;
    return SUTRA_OK;
}

/* What linking has added. */
static void count_linked(const struct sutra_host_trace *trace, struct sutra_host_summary *sums) {
    for (row_t i = 0; i < trace->nodes.n; i++) {
        size_t at = trace->nodes.text[i];
        sums->n_timed += document_member_of(&trace->document, at, "exclusive_dur").at ||
                         document_member_of(&trace->document, at, "dur").at;
        sums->n_gpu_nodes += document_member_of(&trace->document, at, "cat").at > 0;
    }
}

void sutra_host_trace_summary(const struct sutra_host_trace *trace, struct sutra_host_summary *summary) {
    struct sutra_host_summary sums = {
        .n_bytes = trace->document.source.size, .n_nodes = trace->nodes.n, .schema = trace->schema};
    for (row_t i = 0; i < trace->nodes.n; i++) {
        sums.n_rf_ids += key_is_value(trace->nodes.rf[i]) && trace->nodes.rf[i] != 0;
        sums.n_roots += trace->nodes.id[i] == 1;
    }
    sums.linked = document_is_linked(&trace->document);
    if (sums.linked)
        count_linked(trace, &sums);
    report_give(summary, &sums, sizeof sums);
}

ORDER_BY(compare_counts, struct sutra_count, DESCENDING(count) ASCENDING_TEXT(name))

/* Counts events per category, most frequent first. */
static enum sutra_status count_categories(struct sutra_device_trace *trace, struct sutra_device_summary *summary,
                                          struct sutra_error *error) {
    uint64_t *counts = calloc((size_t)trace->strings.n + 1, sizeof *counts);
    free(trace->categories);
    trace->categories = calloc((size_t)trace->strings.n + 1, sizeof *trace->categories);
    if (!counts || !trace->categories) {
        free(counts);
        return error_memory(error);
    }
    for (row_t i = 0; i < trace->events.n; i++)
        if (trace->events.category[i] != STRING_NONE)
            counts[trace->events.category[i]]++;
    for (uint32_t i = 0; i < trace->strings.n; i++)
        if (counts[i])
            trace->categories[summary->n_categories++] =
                (struct sutra_count){strings_text(&trace->strings, i), counts[i]};
    qsort(trace->categories, summary->n_categories, sizeof *trace->categories, compare_counts);
    summary->categories = trace->categories;
    free(counts);
    return SUTRA_OK;
}

/* Keys of some events, and how many different ones there are. */
struct key_list {
    value_key *keys;
    row_t n;
};

static enum sutra_status count_different(struct sutra_context *context, const struct key_list *list, uint64_t *n,
                                         struct sutra_error *error) {
    struct key_index index;
    enum sutra_status status = key_index_build(&index, &context->engine, list->keys, list->n, KEY_FIRST, NULL, error);
    if (status)
        return status;
    for (row_t i = 0; i < list->n; i++)
        *n += key_index_find(&index, list->keys[i]) == i;
    key_index_free(&index);
    return SUTRA_OK;
}

/* How many GPU operators have a correlation that a launch has. */
static enum sutra_status count_launched(struct sutra_context *context, const struct key_list *launches,
                                        const struct key_list *gpu, uint64_t *n, struct sutra_error *error) {
    struct key_index index;
    enum sutra_status status =
        key_index_build(&index, &context->engine, launches->keys, launches->n, KEY_FIRST, NULL, error);
    if (status)
        return status;
    for (row_t i = 0; i < gpu->n; i++)
        *n += key_index_find(&index, gpu->keys[i]) != ROW_NONE;
    key_index_free(&index);
    return SUTRA_OK;
}

static void widen_span(struct sutra_device_summary *summary, const struct device_events *events, row_t event,
                       bool first) {
    double begin = number_as_double(number_at(events->ts, event));
    double end = begin + number_as_double(number_at(events->dur, event));
    if (first || begin < summary->ts_begin)
        summary->ts_begin = begin;
    if (first || end > summary->ts_end)
        summary->ts_end = end;
}

enum { LIST_TIDS, LIST_STREAMS, LIST_LAUNCHES, LIST_GPU, N_LISTS };

/* Sorts events into the counts and the lists of keys. */
static void take_event(const struct device_events *events, struct string_roles *roles, row_t event,
                       struct sutra_device_summary *summary, struct key_list *lists) {
    uint64_t *const counts[] = {&summary->n_others,  &summary->n_cpu_ops, &summary->n_launches,
                                &summary->n_gpu_ops, &summary->n_arrows,  &summary->n_memory_sets};
    enum event_class class = event_classify(events, roles, event);
    ++*counts[class];
    if (category_roles(events, roles, event) & (CATEGORY_CPU_OP | CATEGORY_ANNOTATION))
        roles[events->name[event]].name |= NAME_USED;
    bool has_rf = class == EVENT_CPU_OP && key_is_value(events->rf[event]);
    summary->n_rf_ids += has_rf && events->rf[event] != 0;
    summary->n_rf_zero += has_rf && events->rf[event] == 0;
    if (class == EVENT_LAUNCH)
        lists[LIST_LAUNCHES].keys[lists[LIST_LAUNCHES].n++] = events->correlation[event];
    if (class == EVENT_GPU_OP)
        lists[LIST_GPU].keys[lists[LIST_GPU].n++] = events->correlation[event];
    if (class == EVENT_GPU_OP && events->stream[event] != KEY_ABSENT)
        lists[LIST_STREAMS].keys[lists[LIST_STREAMS].n++] = events->stream[event];
    if (events->tid[event] == KEY_NULL || events->phase[event] == 'M')
        return;
    widen_span(summary, events, event, lists[LIST_TIDS].n == 0);
    lists[LIST_TIDS].keys[lists[LIST_TIDS].n++] = events->tid[event];
}

enum sutra_status sutra_device_trace_summary(struct sutra_context *context, struct sutra_device_trace *trace,
                                             struct sutra_device_summary *summary, struct sutra_error *error) {
    const struct device_events *events = &trace->events;
    struct key_list lists[N_LISTS] = {0};
    struct arena arena = {0};
    struct string_roles *roles = names_find(&trace->strings, READER_LINKER | READER_SUMMARY, &arena);
    struct sutra_device_summary sums = {.n_bytes = trace->document.source.size, .n_events = events->n};
    for (int i = 0; i < N_LISTS; i++)
        lists[i].keys = arena_take(&arena, events->n, sizeof *lists[i].keys);
    enum sutra_status status = arena_status(&arena, error);
    for (row_t i = 0; i < events->n && !status; i++)
        take_event(events, roles, i, &sums, lists);
    sums.n_gpu_ops += sums.n_memory_sets;
    sums.n_steps = status ? 0 : names_count_steps(&trace->strings, roles);
    trace_facts_take(&trace->document, &sums);
    if (!status)
        status = count_categories(trace, &sums, error);
    if (!status)
        status = count_different(context, &lists[LIST_TIDS], &sums.n_threads, error);
    if (!status)
        status = count_different(context, &lists[LIST_STREAMS], &sums.n_streams, error);
    if (!status)
        status = count_launched(context, &lists[LIST_LAUNCHES], &lists[LIST_GPU], &sums.n_correlations, error);
    arena_free(&arena);
    if (!status)
        report_give(summary, &sums, sizeof sums);
    return status;
}
