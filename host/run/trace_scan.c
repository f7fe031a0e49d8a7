/*
 * trace_scan.c - scans the text of a trace for GPU activity, launches, processes and its end.
 *
 * The text is walked up to the first GPU activity, or completely if its end is needed. Names and categories are
 * interned, and get their roles from the table of all readers (facts/names.h). O(bytes).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "facts/names.h"
#include "read/document.h"
#include "read/file_kind.h"
#include "read/json.h"
#include "run/entry.h"

struct trace_scan {
    bool is_malformed, has_gpu, failed;
    uint64_t n_launches;
    uint32_t n_processes; /* with CPU operators */
    double begin_us, end_us, base_ns;
    int64_t rank, world_size; /* after the events; NOT_RECORDED */
};

/* More names of calls and categories than traces have: further ones have no role. */
#define NAMES_MAX 1024

/* The names of calls and the categories of a trace, as they appear. */
struct scan_names {
    struct strings strings, pids;
    struct arena arena;
    struct string_roles *roles;
    uint32_t n; /* strings with roles */
};

/* The roles of a string of the trace. Roles of all strings are found again for a new one. */
static struct string_roles roles_of(struct scan_names *names, const char *text, size_t length, bool *failed) {
    const uint32_t id = strings_intern(&names->strings, text, length);
    if (id != STRING_NONE && id == names->n && id < NAMES_MAX) {
        arena_free(&names->arena);
        names->roles = names_find(&names->strings, READER_TREE | READER_LINKER, &names->arena);
        names->n = names->strings.n;
        *failed |= !names->roles;
    }
    *failed |= id == STRING_NONE;
    return id < names->n && names->roles ? names->roles[id] : (struct string_roles){0};
}

/* Scans an event. */
static void scan_event(struct json_walker *walker, struct scan_names *names, struct trace_scan *scan) {
    const char *text = walker->text;
    struct json_span name = {0}, category = {0}, pid = {0}, ts = {0}, duration = {0};
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        const struct json_span key = walk_key(walker);
        if (!key.at)
            break;
        struct json_span value = walk_value(walker);
        if (text[value.at] != '"' && value.end == 0)
            value.end = walker->at;
        struct json_span *field = place_is(walker->source, key, "name")  ? &name
                                  : place_is(walker->source, key, "cat") ? &category
                                  : place_is(walker->source, key, "pid") ? &pid
                                  : place_is(walker->source, key, "ts")  ? &ts
                                  : place_is(walker->source, key, "dur") ? &duration
                                                                         : NULL;
        if (field)
            *field = value;
    }
    if (!category.at || text[category.at] != '"')
        return;
    const uint32_t roles =
        roles_of(names, text + category.at + 1, category.end - category.at - 1, &scan->failed).category;
    scan->has_gpu |= (roles & CATEGORY_WORK) != 0;
    if (roles & CATEGORY_CALL && name.at && text[name.at] == '"') {
        const uint32_t call = roles_of(names, text + name.at + 1, name.end - name.at - 1, &scan->failed).name;
        scan->n_launches += (call & (NAME_LAUNCH_KERNEL | NAME_LAUNCH_GRAPH)) != 0;
    }
    if (roles & CATEGORY_CPU_OP && pid.at)
        scan->failed |= strings_intern(&names->pids, text + pid.at, pid.end - pid.at) == STRING_NONE;
    struct number number;
    if (!ts.at || !duration.at || !field_time(text + ts.at, &number))
        return;
    const double begin_us = number_as_double(number);
    scan->begin_us = fmin(scan->begin_us, begin_us);
    if (field_time(text + duration.at, &number))
        scan->end_us = fmax(scan->end_us, begin_us + number_as_double(number));
}

/* Reads "distributedInfo". */
static void scan_info(struct json_walker *walker, struct trace_scan *scan) {
    for (bool more = walk_object(walker); more; more = walk_member_end(walker)) {
        const struct json_span key = walk_key(walker);
        if (!key.at)
            return;
        int64_t *number = place_is(walker->source, key, "rank")         ? &scan->rank
                          : place_is(walker->source, key, "world_size") ? &scan->world_size
                                                                        : NULL;
        int64_t value;
        if (number && field_integer(walker->text + walker->at, &value) && value >= 0)
            *number = value;
        walk_value(walker);
    }
}

/* Scans a list of events up to the first GPU activity, or all of it. */
static void scan_events(struct json_walker *walker, bool whole, struct scan_names *names, struct trace_scan *scan) {
    for (bool more = walk_array(walker); more; more = walk_element_end(walker)) {
        if (walk_char(walker) == '{')
            scan_event(walker, names, scan);
        else
            walk_value(walker);
        if (scan->failed || (scan->has_gpu && !whole))
            return;
    }
}

/* Scans the text of a trace: an object, or the list of its events. */
static void scan_text(const struct source *source, bool whole, struct scan_names *names, struct trace_scan *scan) {
    struct json_walker walker = walk_from(source, 0);
    struct number number;
    if (walk_char(&walker) == '[')
        scan_events(&walker, whole, names, scan);
    else
        for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
            const struct json_span key = walk_key(&walker);
            if (!key.at)
                break;
            const char first = walk_char(&walker);
            if (first == '[' && place_is(source, key, "traceEvents")) {
                scan_events(&walker, whole, names, scan);
                if (scan->failed || (scan->has_gpu && !whole))
                    return;
            } else if (first == '{' && place_is(source, key, "distributedInfo")) {
                scan_info(&walker, scan);
            } else {
                if (place_is(source, key, "baseTimeNanoseconds") && first != '"' &&
                    field_number(source->bytes + walker.at, &number))
                    scan->base_ns = number_as_double(number);
                walk_value(&walker);
            }
        }
    scan->is_malformed = walker.expected != NULL;
}

static void scan_file(const char *path, uint64_t most, bool whole, struct trace_scan *scan) {
    struct source source = {0};
    struct scan_names names = {0};
    *scan = (struct trace_scan){
        .begin_us = INFINITY, .end_us = -INFINITY, .rank = NOT_RECORDED, .world_size = NOT_RECORDED};
    if (source_open_rest(&source, path, most, NULL)) {
        scan->is_malformed = true;
    } else if (strings_init(&names.strings) && strings_init(&names.pids)) {
        scan_text(&source, whole, &names, scan);
        scan->n_processes = names.pids.n;
    } else {
        scan->failed = true;
    }
    strings_free(&names.strings);
    strings_free(&names.pids);
    arena_free(&names.arena);
    source_close(&source);
}

/* The entries that are scanned together. */
struct scans {
    struct run_entry **list;
    const struct sutra_context *context;
    bool whole; /* also for the ends of traces */
    bool failed;
};

static void scan_entry(void *arg, size_t i) {
    struct scans *scans = arg;
    struct run_entry *entry = scans->list[i];
    struct trace_scan scan;
    if (entry->is_report) { /* which contains GPU activity */
        entry->trace.gpu = RUN_GPU_ACTIVE;
        return;
    }
    scan_file(entry->trace.file, scans->context->options.most_input_bytes, scans->whole, &scan);
    if (scan.failed) {
        __atomic_store_n(&scans->failed, true, __ATOMIC_RELAXED);
        return;
    }
    entry->trace.gpu = scan.has_gpu ? RUN_GPU_ACTIVE : RUN_GPU_NONE;
    entry->n_launches = scan.n_launches;
    entry->is_several |= scan.n_processes > 1;
    if (scan.is_malformed && !scan.has_gpu) { /* a repair may find GPU activity */
        entry->kind = scans->context->options.lenient ? RUN_TRACE : RUN_MALFORMED;
        entry->trace.gpu = scans->context->options.lenient ? RUN_GPU_ACTIVE : RUN_GPU_NONE;
    }
    if (entry->recorded_source != RUN_BY_INFO && scan.rank >= 0) {
        entry->recorded_rank = scan.rank;
        entry->recorded_source = RUN_BY_INFO;
    }
    entry->world_size = MAX(entry->world_size, scan.world_size);
    const double begin_ns = scan.base_ns + scan.begin_us * 1e3, end_ns = scan.base_ns + scan.end_us * 1e3;
    if (!has_time(entry) && begin_ns >= 1e18 && begin_ns < 9e18)
        entry->trace.begin_ns = (int64_t)begin_ns;
    if (scans->whole && has_time(entry) && end_ns >= 1e18 && end_ns < 9e18)
        entry->end_ns = MAX(entry->trace.begin_ns, (int64_t)end_ns);
}

enum sutra_status run_scan_entries(struct sutra_context *context, struct run_entry **list, size_t n, bool whole,
                                   struct sutra_error *error) {
    struct scans scans = {.list = list, .context = context, .whole = whole};
    pool_run(context->pool, n, scan_entry, &scans);
    TRY(context_check_cancelled(context, error));
    return scans.failed ? error_memory(error) : SUTRA_OK;
}
