/*
 * devices.c - implements devices.h: the kind of device by categories, calls and metadata; launches and their activities
 * by correlation; intervals of captures.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "facts/devices.h"
#include "facts/launches.h"
#include "facts/times.h"
#include "text/quantities.h"

#define KIND_NAME(id, name, activity)     name,
#define ACTIVITY_NAME(id, name, activity) activity,
const char *const device_kind_names[N_DEVICE_KINDS] = {DEVICE_KINDS(KIND_NAME)};
/* The API that records the activities of the device. */
static const char *const device_activity_names[N_DEVICE_KINDS] = {DEVICE_KINDS(ACTIVITY_NAME)};
const char *const no_activity_names[N_NO_ACTIVITY] = {"", "file_truncated", "range_profiler", "kernels_not_delivered",
                                                      "host_only"};

/* ---- The kind ---- */

/* Whether the trace describes a device: "deviceProperties" is a list that is not empty. */
static bool has_device_properties(const struct document *document) {
    const struct document_member *devices = document_find(document, "deviceProperties");
    const char *text = document->source.bytes;
    return devices && text[devices->value] == '[' && text[space_end(text, devices->value + 1)] != ']';
}

/* Whether the name of a call begins with a word. Events are only searched if a string does. */
static bool has_call(const struct sutra_device_trace *trace, const struct string_roles *roles, const char *word) {
    const struct device_events *events = &trace->events;
    const struct strings *strings = &trace->strings;
    bool any = false;
    for (uint32_t string = 0; string < strings->n && !any; string++)
        any = text_compare(strings, string, TEXT_BEGINS, word);
    for (row_t event = 0; event < events->n && any; event++)
        if (category_roles(events, roles, event) & CATEGORY_CALL &&
            text_compare(strings, events->name[event], TEXT_BEGINS, word))
            return true;
    return false;
}

enum device_kind device_kind_find(const struct sutra_device_trace *trace, const struct string_roles *roles,
                                  struct arena *scratch) {
    const struct device_events *events = &trace->events;
    const struct strings *strings = &trace->strings;
    bool mtia = false, xpu = false, npu = false, work = false;
    struct arena_mark mark = arena_mark(scratch);
    uint8_t *used = arena_zeros(scratch, (size_t)strings->n + 1, 1); /* by category */
    if (!used)
        return DEVICE_KIND_NONE;
    for (row_t event = 0; event < events->n; event++)
        used[MIN(events->category[event], strings->n)] = 1;
    for (uint32_t string = 0; string < strings->n; string++) {
        if (!used[string])
            continue;
        mtia |= text_compare(strings, string, TEXT_BEGINS, "mtia");
        xpu |= text_compare(strings, string, TEXT_BEGINS, "xpu");
        npu |= (roles[string].category & CATEGORY_NPU) != 0;
        work |= (roles[string].category & CATEGORY_WORK) != 0;
    }
    arena_release(scratch, mark);
    if (npu || mtia || xpu)
        return npu ? DEVICE_KIND_NPU : mtia ? DEVICE_KIND_MTIA : DEVICE_KIND_XPU;
    if (document_find(&trace->document, "hip_runtime_version") ||
        document_find(&trace->document, "roctracer_version") || has_call(trace, roles, "hip"))
        return DEVICE_KIND_ROCM;
    bool cuda = work || has_device_properties(&trace->document) || has_call(trace, roles, "cu");
    return cuda ? DEVICE_KIND_CUDA : DEVICE_KIND_NONE;
}

/* ---- Captures of graphs ---- */

/* Intervals from the end of a call that begins a capture to the start of the next call that ends one, on any thread. */
struct captures {
    row_t n_begins, n_ends;
    int64_t *begin, *end;
};

/* Pairs the calls in the order of time, and merges overlapping captures. */
static void pair_captures(struct captures *captures) {
    row_t n = MIN(captures->n_begins, captures->n_ends), n_merged = 0;
    if (n == 0)
        return;
    qsort(captures->begin, captures->n_begins, sizeof *captures->begin, compare_int64s);
    qsort(captures->end, captures->n_ends, sizeof *captures->end, compare_int64s);
    for (row_t i = 0; i < n; i++) {
        if (n_merged && captures->begin[i] <= captures->end[n_merged - 1]) {
            captures->end[n_merged - 1] = MAX(captures->end[n_merged - 1], captures->end[i]);
            continue;
        }
        captures->begin[n_merged] = captures->begin[i];
        captures->end[n_merged++] = captures->end[i];
    }
    captures->n_begins = captures->n_ends = n_merged;
}

static bool is_captured(const struct captures *captures, int64_t start, int64_t end) {
    row_t n = captures->n_ends ? count_up_to(captures->begin, captures->n_begins, start) : 0;
    return n && end <= captures->end[n - 1];
}

/* ---- Launches ---- */

/* Own roles of names. */
#define NAME_BEGINS_CAPTURE NAME_OWN
#define NAME_ENDS_CAPTURE   (NAME_OWN << 1)
#define NAME_HOST_FUNCTION  (NAME_OWN << 2)

struct launch_counting {
    const struct sutra_device_trace *trace;
    const struct string_roles *roles;
    struct exact_times times;
    struct pair_table activities; /* correlations */
    struct captures captures;
    row_t *launch, n;
};

/* Lists launches, captures, and the correlations of activities. False: out of memory. */
static bool list_launches(struct launch_counting *of, struct device_summary *summary) {
    const struct device_events *events = &of->trace->events;
    for (row_t event = 0; event < events->n; event++) {
        uint32_t category = category_roles(events, of->roles, event), name = of->roles[events->name[event]].name;
        if (!(category & (CATEGORY_WORK | CATEGORY_CALL)) || !(events->flags[event] & EVENT_HAS_DUR))
            continue;
        if (category & CATEGORY_WORK) {
            summary->n_activities++;
            if (is_correlation(events->correlation[event]) &&
                !pair_table_note(&of->activities, (uint64_t)events->correlation[event], 0, 1))
                return false;
            continue;
        }
        if (!time_is_usable(events, event))
            continue;
        int64_t start = exact_start_ns(of->trace, &of->times, event);
        if (name & NAME_BEGINS_CAPTURE)
            of->captures.begin[of->captures.n_begins++] = start + ns_of_us(number_at(events->dur, event));
        else if (name & NAME_ENDS_CAPTURE)
            of->captures.end[of->captures.n_ends++] = start;
        else if (name & NAME_LAUNCH_KERNEL && !(name & NAME_HOST_FUNCTION))
            of->launch[of->n++] = event;
    }
    return true;
}

static void count_launches(struct launch_counting *of, struct device_summary *summary) {
    const struct device_events *events = &of->trace->events;
    for (row_t i = 0; i < of->n; i++) {
        row_t launch = of->launch[i];
        int64_t start = exact_start_ns(of->trace, &of->times, launch);
        if (is_captured(&of->captures, start, start + ns_of_us(number_at(events->dur, launch))))
            continue;
        summary->n_launches++;
        if (!is_correlation(events->correlation[launch]) || summary->n_activities == 0)
            continue;
        if (pair_table_find(&of->activities, (uint64_t)events->correlation[launch], 0) != PAIR_NONE) {
            summary->first_kept = MIN(start, summary->first_kept);
            continue;
        }
        summary->lost_from = summary->n_lost ? MIN(start, summary->lost_from) : start;
        summary->lost_to = summary->n_lost ? MAX(start, summary->lost_to) : start;
        summary->n_lost++;
    }
}

enum sutra_status device_summary_find(struct sutra_context *context, const struct sutra_device_trace *trace,
                                      struct arena *scratch, struct device_summary *summary,
                                      struct sutra_error *error) {
    const struct strings *strings = &trace->strings;
    struct arena_mark mark = arena_mark(scratch);
    struct string_roles *roles = names_find(strings, READER_TREE | READER_OVERVIEW, scratch);
    row_t n = trace->events.n;
    struct launch_counting of = {.trace = trace,
                                 .roles = roles,
                                 .captures = {.begin = arena_alloc(scratch, n, sizeof(int64_t)),
                                              .end = arena_alloc(scratch, n, sizeof(int64_t))},
                                 .launch = arena_alloc(scratch, n, sizeof(row_t))};
    *summary = (struct device_summary){.first_kept = INT64_MAX};
    TRY(arena_status(scratch, error));
    summary->kind = device_kind_find(trace, roles, scratch);
    names_mark(strings, roles, TEXT_HAS, "StreamBeginCapture", NAME_BEGINS_CAPTURE);
    names_mark(strings, roles, TEXT_HAS, "StreamEndCapture", NAME_ENDS_CAPTURE);
    names_mark(strings, roles, TEXT_HAS, "LaunchHostFunc", NAME_HOST_FUNCTION);
    enum sutra_status status = exact_times_find(context, trace, roles, scratch, &of.times, error);
    if (!status && (!pair_table_init(&of.activities) || !list_launches(&of, summary)))
        status = error_memory(error);
    if (!status) {
        pair_captures(&of.captures);
        count_launches(&of, summary);
        uint32_t ranges = strings_find(strings, "cuda_profiler_range", strlen("cuda_profiler_range"));
        bool has_ranges = false;
        for (row_t event = 0; event < n && ranges != STRING_NONE && !has_ranges; event++)
            has_ranges = trace->events.category[event] == ranges;
        summary->cause = summary->n_activities       ? HAS_ACTIVITY
                         : trace->document.truncated ? FILE_TRUNCATED
                         : has_ranges                ? RANGE_PROFILER
                         : summary->n_launches       ? KERNELS_NOT_DELIVERED
                                                     : HOST_ONLY;
    }
    pair_table_free(&of.activities);
    arena_release(scratch, mark);
    return status;
}

struct no_activity_text no_activity_message(const struct device_summary *summary) {
    struct no_activity_text message = {""};
    char *text = message.text;
    const size_t size = sizeof message.text;
    switch (summary->cause) {
    case FILE_TRUNCATED:
        snprintf(text, size, "the file is truncated: it ends before its first GPU activity");
        break;
    case RANGE_PROFILER:
        snprintf(text, size,
                 "recorded with CUPTI's range profiler: it measures counters and delivers no kernels; record again "
                 "without it");
        break;
    case KERNELS_NOT_DELIVERED:
        if (device_has_cuda_apis(summary->kind))
            snprintf(text, size,
                     "%s, no kernel: CUPTI (or roctracer) delivered no activities. Usual causes: another profiler "
                     "(nsys, ncu, DCGM) holds CUPTI, missing permission (NVreg_RestrictProfilingToAdminUsers), a CUPTI "
                     "older than the driver, or the process ended before the flush",
                     counted_text(summary->n_launches, "launch call", "launch calls").text);
        else
            snprintf(text, size,
                     "%s, no kernel: the profiler of the device delivered no activities. Usual causes: another "
                     "profiler holds the device, missing permission, or the process ended before the flush",
                     counted_text(summary->n_launches, "launch call", "launch calls").text);
        break;
    case HOST_ONLY:
        if (summary->kind == DEVICE_KIND_NONE)
            snprintf(text, size, "only the host was recorded");
        else
            snprintf(text, size, "only the host was recorded; record it with %s", device_activity_names[summary->kind]);
        break;
    default:
        break;
    }
    return message;
}
