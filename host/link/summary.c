/*
 * summary.c - summarizes a trace without linking it: counts events by their class to the linker, and the different
 * thread ids, streams and correlations among them. O(n) or O(n log n).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "context/context.h"
#include "facts/devices.h"
#include "facts/validity.h"
#include "link/link.h"
#include "match/key_index.h"
#include "read/device_trace.h"
#include "read/document.h"
#include "read/file_kind.h"
#include "read/host_trace.h"
#include "sutra/trace.h"

/* Facts about the run: members of the document, or of an object in it (of the first one in a list of objects). */
static const struct {
    const char *outer, *name; /* `name` is NULL for a member of the document */
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

/* Options of the profiler; 1 if enabled. */
static const struct {
    const char *name, *words;
} recorded[] = {
    {"record_shapes", "shapes"},  {"with_stack", "stacks"},    {"profile_memory", "memory"},
    {"with_flops", "operations"}, {"with_modules", "modules"},
};

/* Fills the facts of a summary. O(length of those members). */
static void read_facts(const struct document *document, struct sutra_device_summary *summary) {
    struct sutra_trace_fact *fact = summary->facts;
    const char *source = document->source.bytes;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        const struct document_member *outer = document_find(document, members[i].outer);
        size_t at = outer ? outer->value : 0;
        if (outer && members[i].name) {
            if (source[at] == '[') /* the first element */
                at += 1 + strspn(source + at + 1, " \t\r\n");
            at = source[at] == '{' ? document_member_of(document, at, members[i].name).at : 0;
        }
        *fact = (struct sutra_trace_fact){.name = members[i].fact, .words = members[i].words};
        if (at) {
            /* A string without its quotes, or a number; empty for other values. */
            const char *text = source + at;
            size_t length = *text == '"' ? strcspn(text + 1, "\"") : strspn(text, "+-.0123456789eE");
            snprintf(fact->text, sizeof fact->text, "%.*s",
                     (int)(length < sizeof fact->text ? length : sizeof fact->text - 1), text + (*text == '"'));
        }
        fact += *fact->text != 0;
    }

    /* The list of enabled options. */
    *fact = (struct sutra_trace_fact){.name = "recorded", .words = "recorded"};
    for (size_t i = 0; i < sizeof recorded / sizeof *recorded; i++) {
        const struct document_member *member = document_find(document, recorded[i].name);
        size_t length = strlen(fact->text);
        if (member && source[member->value] == '1')
            snprintf(fact->text + length, sizeof fact->text - length, "%s%s", length ? ", " : "", recorded[i].words);
    }
    summary->n_facts = (uint64_t)(fact - summary->facts) + (*fact->text != 0);
}

enum sutra_status sutra_trace_kind_of(struct sutra_context *context, const char *path, enum sutra_trace_kind *kind,
                                      struct sutra_error *error) {
    struct trace_head head;
    if (!trace_head_read(path, false, &head, NULL) && head.side != SIDE_UNKNOWN) {
        *kind = head.side == SIDE_HOST ? SUTRA_TRACE_HOST : SUTRA_TRACE_DEVICE;
        return SUTRA_OK;
    }
    /* The beginning does not show the kind: read the keys of the whole document. */
    struct document document = {0};
    const struct document_reader reader = {.read_stage = "inspect trace", .bare_array = true, .inspects_only = true};
    enum sutra_status status = source_read(&document.source, context, "open trace",
                                           &(struct source_input){.name = path, .selects_rank = true}, error);
    if (!status)
        status = document_read(&document, context, &reader, error);
    if (!status) {
        bool host = document_find(&document, "nodes"),
             device = document.is_array || document_find(&document, "traceEvents");
        const struct file_kind found = file_kind(path, document.source.bytes, document.source.size);
        if (!host && !device && *found.remedy)
            status = error_file(error, SUTRA_DATA, path, "expected a trace, found %s%s", found.name, found.remedy);
        else if (host == device)
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

void sutra_host_trace_summary(const struct sutra_host_trace *trace, struct sutra_host_summary *summary) {
    struct sutra_host_summary sums = {
        .n_bytes = trace->document.source.size, .n_nodes = trace->nodes.n, .schema = trace->schema};
    for (row_t i = 0; i < trace->nodes.n; i++) {
        sums.n_rf_ids += key_is_value(trace->nodes.rf[i]) && trace->nodes.rf[i] != 0;
        sums.n_roots += trace->nodes.id[i] == 1;
    }
    sums.linked = document_is_linked(&trace->document);
    for (row_t i = 0; i < trace->nodes.n && sums.linked; i++) {
        size_t at = trace->nodes.text[i];
        sums.n_timed += document_member_of(&trace->document, at, "exclusive_dur").at ||
                        document_member_of(&trace->document, at, "dur").at;
        sums.n_gpu_nodes += document_member_of(&trace->document, at, "cat").at > 0;
    }
    report_give(summary, &sums, sizeof sums);
}

/* Counts events per category, most frequent first. The trace owns the counts, and after them has room for as many. */
static enum sutra_status count_categories(struct sutra_device_trace *trace, struct sutra_device_summary *summary,
                                          struct sutra_error *error) {
    free(trace->categories);
    trace->categories = calloc((size_t)trace->strings.n * 2 + 1, sizeof *trace->categories);
    TRY_ALLOC(trace->categories, error);
    for (row_t i = 0; i < trace->events.n; i++)
        if (trace->events.category[i] != STRING_NONE)
            trace->categories[trace->events.category[i]].count++;
    summary->n_categories = sort_counts(trace->categories, &trace->strings);
    summary->categories = trace->categories;
    return SUTRA_OK;
}

/* Counts the different keys in *n. */
static enum sutra_status count_keys(struct sutra_context *context, const value_key *keys, row_t n_keys, uint64_t *n,
                                    struct sutra_error *error) {
    struct key_index index;
    TRY(key_index_build(&index, &context->engine, keys, n_keys, KEY_FIRST, NULL, error));
    for (row_t i = 0; i < n_keys; i++)
        *n += key_index_find(&index, keys[i]) == i;
    key_index_free(&index);
    return SUTRA_OK;
}

/* Counts the GPU operators whose correlation a launch has, and the ones whose correlation only another call has. */
static enum sutra_status count_launched(struct sutra_context *context, const struct sutra_device_trace *trace,
                                        const value_key *launches, row_t n_launches, row_t *gpu, row_t n_gpu,
                                        struct sutra_device_summary *summary, struct sutra_error *error) {
    struct arena arena = {0};
    struct key_index index;
    struct sutra_count *counts = NULL;
    row_t n = 0, n_counts = 0;
    TRY(key_index_build(&index, &context->engine, launches, n_launches, KEY_FIRST, NULL, error));
    for (row_t i = 0; i < n_gpu; i++)
        if (key_index_find(&index, trace->events.correlation[gpu[i]]) == ROW_NONE)
            gpu[n++] = gpu[i];
    key_index_free(&index);
    summary->n_correlations = n_gpu - n;
    if (n == 0 || summary->n_correlations >= trace->validity->n_launched) /* no other call launched any */
        return SUTRA_OK;
    row_t *call = arena_alloc(&arena, n, sizeof *call);
    enum sutra_status status = arena_status(&arena, error);
    if (!status)
        status = find_unknown_calls(context, trace, gpu, n, &arena, call, error);
    if (!status)
        status = count_call_names(trace, call, n, &counts, &n_counts, error);
    for (row_t i = 0; i < n_counts; i++)
        summary->n_unknown_launches += counts[i].count;
    if (n_counts)
        memcpy(trace->categories + summary->n_categories, counts, n_counts * sizeof *counts);
    summary->unknown_calls = trace->categories + summary->n_categories;
    summary->n_unknown_calls = n_counts;
    free(counts);
    arena_free(&arena);
    return status;
}

/* Whether Kineto moved a synchronization of a stream to a row of its own: thread = stream + 1,000,000. */
static bool is_sync_row(const struct device_events *events, row_t event) {
    value_key tid = events->tid[event], stream = events->stream[event];
    return key_is_integer(tid) && key_is_integer(stream) && stream >= 0 && tid - 1000000 == stream;
}

enum { LIST_TIDS, LIST_STREAMS, LIST_LAUNCHES, N_LISTS };

enum sutra_status sutra_device_trace_summary(struct sutra_context *context, struct sutra_device_trace *trace,
                                             struct sutra_device_summary *summary, struct sutra_error *error) {
    const struct device_events *events = &trace->events;
    value_key *keys[N_LISTS]; /* of some events */
    row_t n[N_LISTS] = {0}, n_gpu = 0;
    double first = INFINITY, last = -INFINITY;
    struct arena arena = {0};
    struct string_roles *roles = names_find(&trace->strings, READER_LINKER | READER_SUMMARY, &arena);
    struct sutra_device_summary sums = {.n_bytes = trace->document.source.size, .n_events = events->n};
    for (int i = 0; i < N_LISTS; i++)
        keys[i] = arena_alloc(&arena, events->n, sizeof *keys[i]);
    row_t *gpu = arena_alloc(&arena, events->n, sizeof *gpu);
    enum sutra_status status = arena_status(&arena, error);
    uint64_t *const counts[] = {&sums.n_others,  &sums.n_cpu_ops, &sums.n_launches,
                                &sums.n_gpu_ops, &sums.n_arrows,  &sums.n_memory_sets}; /* by enum event_class */
    for (row_t event = 0; event < events->n && !status; event++) {
        enum event_class class = event_classify(events, roles, event);
        ++*counts[class];
        if (category_roles(events, roles, event) & (CATEGORY_CPU_OP | CATEGORY_ANNOTATION))
            roles[events->name[event]].name |= NAME_USED;
        bool has_rf = class == EVENT_CPU_OP && key_is_value(events->rf[event]);
        sums.n_rf_ids += has_rf && events->rf[event] != 0;
        sums.n_rf_zero += has_rf && events->rf[event] == 0;
        if (class == EVENT_LAUNCH)
            keys[LIST_LAUNCHES][n[LIST_LAUNCHES]++] = events->correlation[event];
        if (class == EVENT_GPU_OP)
            gpu[n_gpu++] = event;
        if (class == EVENT_GPU_OP && events->stream[event] != KEY_ABSENT)
            keys[LIST_STREAMS][n[LIST_STREAMS]++] = events->stream[event];
        if (events->tid[event] == KEY_NULL || events->phase[event] == 'M' || events->phase[event] == PHASE_END)
            continue;
        double begin = number_as_double(number_at(events->ts, event));
        double end = begin + number_as_double(number_at(events->dur, event));
        if (category_roles(events, roles, event) & CATEGORY_SYNC && is_sync_row(events, event))
            continue; /* a row of the viewer, no thread */
        keys[LIST_TIDS][n[LIST_TIDS]++] = events->tid[event];
        if (events->flags[event] & EVENT_UNUSABLE)
            continue;
        first = begin < first ? begin : first;
        last = end > last ? end : last;
    }
    sums.n_gpu_ops += sums.n_memory_sets;
    sums.ts_begin = first <= last ? first : 0;
    sums.ts_end = first <= last ? last : 0;
    sums.device_kind = device_kind_names[status ? DEVICE_KIND_NONE : device_kind_find(trace, roles, &arena)];
    if (!status)
        status = arena_status(&arena, error);
    sums.n_steps = status ? 0 : names_count_steps(&trace->strings, roles);
    read_facts(&trace->document, &sums);
    if (!status)
        status = count_categories(trace, &sums, error);
    if (!status)
        status = count_keys(context, keys[LIST_TIDS], n[LIST_TIDS], &sums.n_threads, error);
    if (!status)
        status = count_keys(context, keys[LIST_STREAMS], n[LIST_STREAMS], &sums.n_streams, error);
    if (!status)
        status = count_launched(context, trace, keys[LIST_LAUNCHES], n[LIST_LAUNCHES], gpu, n_gpu, &sums, error);
    arena_free(&arena);
    if (!status)
        report_give(summary, &sums, sizeof sums);
    return status;
}
