/*
 * windows.c - roles, engines, ranks and windows of the traces of a run.
 *
 *     traces --role--> part --stream: rank, coordinates, number, process--> conflicts? --> engines or local ranks
 *                       |
 *                       \--> streams --label, time, count, order--> windows --> ranks
 *
 * A stream is the series of traces of one rank. Traces conflict if they are of one stream and different processes, but
 * of the same time. Then the names contain local ranks, or several engines have the same ranks.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/shared.h"
#include "run/entry.h"

/* ---- Orders ---- */

struct list_order {
    entry_order *order;
    const struct strings *strings;
};

static int compare_entries(const void *left, const void *right, void *arg) {
    const struct list_order *by = arg;
    const struct run_entry *a = *(struct run_entry *const *)left, *b = *(struct run_entry *const *)right;
    const int order = by->order(a, b, by->strings);
    return order ? order : (a > b) - (a < b);
}

void entries_sort(struct run_entry **to, struct run_entry *const *from, size_t n, entry_order *order,
                  const struct strings *strings) {
    struct list_order by = {order, strings};
    if (n > 0)
        memmove(to, from, n * sizeof(struct run_entry *));
    qsort_r(to, n, sizeof(struct run_entry *), compare_entries, &by);
}

size_t entries_end(struct run_entry *const *list, size_t n, size_t begin, entry_order *order,
                   const struct strings *strings) {
    size_t end = begin;
    while (end < n && order(list[begin], list[end], strings) == 0)
        end++;
    return end;
}

ENTRY_ORDER(by_role, NATURAL(role))
ENTRY_ORDER(by_folder, NATURAL(folder))
ENTRY_ORDER(by_host, NATURAL(host))
ENTRY_ORDER(by_pid, ASCENDING(trace.pid))
ENTRY_ORDER(by_dp, DESCENDING(has_dp) ASCENDING(coordinates[COORDINATE_DP]))
ENTRY_ORDER(by_world_size, DESCENDING(world_size))
ENTRY_ORDER(by_begin, ASCENDING(trace.begin_ns))
ENTRY_ORDER(by_process, ASCENDING(host) ASCENDING(trace.pid) ASCENDING(trace.begin_ns))
ENTRY_ORDER(by_number_and_process, ASCENDING(number) ASCENDING(host) ASCENDING(trace.pid) ASCENDING(trace.begin_ns))
ENTRY_ORDER(by_node, NATURAL(node) ASCENDING(trace.rank))
ENTRY_ORDER(by_window, ASCENDING(window))
ENTRY_ORDER(by_window_and_rank, ASCENDING(window) ASCENDING(trace.rank))
ENTRY_ORDER(by_stream, ASCENDING(stream))
ENTRY_ORDER(by_stream_and_begin, ASCENDING(stream) ASCENDING(trace.begin_ns))

static int by_label(const struct run_entry *a, const struct run_entry *b, const struct strings *strings) {
    ASCENDING(label_number)
    return a->label_number == LABEL_IS_DATE
               ? compare_natural(strings_text(strings, a->label), strings_text(strings, b->label))
               : 0;
}

static int by_label_and_stream(const struct run_entry *a, const struct run_entry *b, const struct strings *strings) {
    const int order = by_label(a, b, strings);
    return order ? order : by_stream(a, b, strings);
}

/* Orders of streams by the source of their ranks. */
ENTRY_ORDER(by_rank, ASCENDING(trace.rank))
ENTRY_ORDER(by_coordinates, ASCENDING_COORDINATES)
ENTRY_ORDER(by_number, ASCENDING(number))
ENTRY_ORDER(by_place, NATURAL(folder) NATURAL(host) ASCENDING(trace.pid))

static int by_source(const struct run_entry *a, const struct run_entry *b, const struct strings *strings) {
    static entry_order *const orders[] = {[RUN_BY_INFO] = by_rank, /* and all other known ranks */
                                          [RUN_BY_COORDINATES] = by_coordinates,
                                          [RUN_BY_NUMBER] = by_number,
                                          [RUN_BY_ORDER] = by_place};
    const enum run_source source_a = a->has_rank ? RUN_BY_INFO : a->trace.source;
    const enum run_source source_b = b->has_rank ? RUN_BY_INFO : b->trace.source;
    return source_a != source_b ? (int)source_a - (int)source_b : orders[source_a](a, b, strings);
}

/* ---- Streams ---- */

/* A part of the traces: of a role, or of an engine of it. */
struct run_part {
    const struct strings *strings;
    struct arena *arena;
    const char *name;
    struct run_entry **list; /* by natural order of the paths */
    size_t n;
    struct run_entry **scratch; /* of the same length */
    uint32_t n_streams;
};

/* Sorts the traces of the part into its scratch list, and returns that. */
static struct run_entry **sorted(const struct run_part *part, entry_order *order) {
    entries_sort(part->scratch, part->list, part->n, order, part->strings);
    return part->scratch;
}

/* Whether traces of one process, or of any if `of_any`, overlap; the list is in the order of processes and times. */
static bool any_overlap(struct run_entry *const *list, size_t n, bool of_any) {
    int64_t latest = RUN_NO_TIME;
    for (size_t i = 0; i < n; i++) {
        const bool continues = i > 0 && (of_any || is_one_process(list[i - 1], list[i]));
        if (continues && has_time(list[i]) && list[i]->trace.begin_ns < latest)
            return true;
        latest = continues ? MAX(latest, list[i]->end_ns) : list[i]->end_ns;
    }
    return false;
}

/* Where the ranks of traces without a rank come from: RUN_BY_NUMBER, or RUN_BY_ORDER. *is_apart: no two of them
 * overlap, so they are windows of one rank. */
static enum run_source source_of_unknown(const struct run_part *part, bool *is_apart) {
    struct run_entry **list = part->scratch;
    bool has_numbers = true, is_constant = true, is_unique = true, has_times = true;
    size_t n = 0;
    for (size_t i = 0; i < part->n; i++) {
        struct run_entry *entry = part->list[i];
        if (entry->has_rank)
            continue;
        has_numbers &= entry->number != NAME_NONE;
        has_times &= has_time(entry);
        list[n++] = entry;
    }
    entries_sort(list, list, n, by_begin, part->strings);
    *is_apart = n > 1 && has_times && !any_overlap(list, n, true);
    if (*is_apart || !has_numbers)
        return RUN_BY_ORDER;
    entries_sort(list, list, n, by_process, part->strings);
    const bool is_concurrent = any_overlap(list, n, false);
    for (size_t i = 1; i < n; i++)
        is_constant &= !is_one_process(list[i - 1], list[i]) || list[i - 1]->number == list[i]->number;
    entries_sort(list, list, n, by_number_and_process, part->strings);
    for (size_t i = 1; i < n; i++) {
        const bool is_equal = list[i - 1]->number == list[i]->number;
        is_unique &= !is_equal;
        is_constant &= !is_equal || is_one_process(list[i - 1], list[i]);
    }
    return is_constant || (is_unique && is_concurrent) ? RUN_BY_NUMBER : RUN_BY_ORDER;
}

/* Sets the source and the stream of each trace. */
static void find_streams(struct run_part *part) {
    bool is_apart;
    const enum run_source source = source_of_unknown(part, &is_apart);
    for (size_t i = 0; i < part->n; i++)
        if (!part->list[i]->has_rank)
            part->list[i]->trace.source = part->list[i]->has_coordinates ? RUN_BY_COORDINATES : source;
    struct run_entry **list = sorted(part, by_source);
    part->n_streams = 0;
    for (size_t i = 0; i < part->n; i++) {
        const bool is_same = i > 0 && (by_source(list[i - 1], list[i], part->strings) == 0 ||
                                       (is_apart && list[i - 1]->trace.source == RUN_BY_ORDER));
        part->n_streams += !is_same;
        list[i]->stream = part->n_streams - 1;
    }
}

/* ---- Conflicts ---- */

/* Differences of engines; the first one that separates all conflicts applies. */
static entry_order *const engine_orders[] = {by_world_size, by_folder, by_dp, by_host, by_pid};
#define N_ENGINE_ORDERS (sizeof engine_orders / sizeof *engine_orders)

struct conflicts {
    bool any, are_named; /* ranks from names */
    bool is_separated[N_ENGINE_ORDERS];
};

/* Finds traces of one stream with equal labels, or with overlapping or missing times, which are before all others. */
static void find_conflicts(const struct run_part *part, bool by_labels, struct conflicts *conflicts) {
    struct run_entry **list = sorted(part, by_labels ? by_label_and_stream : by_stream_and_begin);
    entry_order *group = by_labels ? by_label_and_stream : by_stream;
    for (size_t i = 0; i < part->n; i++)
        for (size_t k = i + 1; k < MIN(part->n, i + 1 + COMPARED_MAX) && group(list[i], list[k], part->strings) == 0;
             k++) {
            const struct run_entry *a = list[i], *b = list[k];
            if (by_labels ? a->label == STRING_NONE : has_time(a) && b->trace.begin_ns >= a->end_ns)
                break;
            if (is_one_process(a, b) || !(by_labels || !has_time(a) || overlaps(a, b)))
                continue;
            const enum run_source source = MIN(a, b)->trace.source;
            conflicts->any = true;
            conflicts->are_named &= source == RUN_BY_NAME || source == RUN_BY_DIRECTORY;
            for (size_t key = 0; key < N_ENGINE_ORDERS; key++)
                conflicts->is_separated[key] &= engine_orders[key](a, b, part->strings) != 0;
        }
}

/* Replaces ranks in names, which are local ranks, by their index in the order of (directory, local rank). */
static void number_local_ranks(struct run_part *part) {
    struct run_entry **list = sorted(part, by_node);
    int64_t rank = 0;
    for (size_t begin = 0, end; begin < part->n; begin = end, rank++) {
        end = entries_end(list, part->n, begin, by_node, part->strings);
        for (size_t i = begin; i < end; i++) {
            list[i]->trace.source = RUN_BY_LOCAL;
            list[i]->has_rank = true;
            list[i]->stream = (uint32_t)rank;
        }
    }
    part->n_streams = (uint32_t)rank;
    for (size_t i = 0; i < part->n; i++)
        list[i]->trace.rank = list[i]->stream;
}

/* ---- Windows ---- */

/* Whether each trace has a label, and no stream has one twice: then sets the windows. */
static bool use_labels(const struct run_part *part) {
    struct run_entry **list = sorted(part, by_label_and_stream);
    uint32_t window = 0;
    for (size_t i = 0; i < part->n; i++) {
        const bool is_new = i > 0 && by_label(list[i - 1], list[i], part->strings) != 0;
        if (list[i]->label == STRING_NONE || (i > 0 && !is_new && list[i - 1]->stream == list[i]->stream))
            return false;
        window += is_new;
        list[i]->window = window;
    }
    return true;
}

/* The traces of one stream after another: window k has the k-th traces. */
struct series {
    struct run_entry **list;
    uint32_t longest;
    int64_t period; /* the shortest distance of two starts */
};

static void use_positions(const struct run_part *part, bool is_timed, struct series *series) {
    struct run_entry **list = series->list;
    entries_sort(list, part->list, part->n, is_timed ? by_stream_and_begin : by_stream, part->strings);
    series->longest = 0;
    series->period = INT64_MAX;
    for (size_t i = 0; i < part->n; i++) {
        const bool continues = i > 0 && list[i - 1]->stream == list[i]->stream;
        list[i]->window = continues ? list[i - 1]->window + 1 : 0;
        series->longest = MAX(series->longest, list[i]->window + 1);
        if (continues && is_timed)
            series->period = MIN(series->period, list[i]->trace.begin_ns - list[i - 1]->trace.begin_ns);
    }
}

/* Whether all streams have as many traces, at constant distances from the traces of the part's first trace's stream. */
static bool has_constant_distances(const struct run_part *part, const struct series *series) {
    const size_t longest = series->longest;
    if (part->n != part->n_streams * longest)
        return false;
    struct run_entry *const *reference = series->list + part->list[0]->stream * longest;
    for (size_t i = 0; i < part->n; i++) {
        struct run_entry *const *first = series->list + i - i % longest;
        const int64_t offset = first[0]->trace.begin_ns - reference[0]->trace.begin_ns;
        const int64_t change = series->list[i]->trace.begin_ns - reference[i % longest]->trace.begin_ns - offset;
        if (2 * llabs(change) >= series->period)
            return false;
    }
    return true;
}

/* Windows by start times; returns their number. `latest` has the last window of each stream, plus 1. */
static uint32_t use_times(const struct run_part *part, int64_t period, uint32_t *latest) {
    struct run_entry **list = sorted(part, by_begin);
    uint32_t n_windows = 0;
    int64_t first = 0;
    for (size_t i = 0; i < part->n; i++) {
        struct run_entry *entry = list[i];
        if (n_windows == 0 || 2 * (entry->trace.begin_ns - first) >= period || latest[entry->stream] == n_windows) {
            n_windows++;
            first = entry->trace.begin_ns;
        }
        latest[entry->stream] = n_windows;
        entry->window = n_windows - 1;
    }
    return n_windows;
}

static enum sutra_status find_windows(const struct run_part *part, enum run_window_source *source,
                                      struct sutra_error *error) {
    struct series series = {.list = alloc_entries(part->arena, part->n)};
    uint32_t *latest = arena_zeros(part->arena, part->n_streams, sizeof *latest);
    bool is_timed = true;
    TRY(arena_status(part->arena, error));
    *source = RUN_WINDOWS_LABEL;
    if (use_labels(part))
        return SUTRA_OK;
    for (size_t i = 0; i < part->n; i++)
        is_timed &= has_time(part->list[i]);
    use_positions(part, is_timed, &series);
    *source = series.longest == 1 ? RUN_WINDOWS_SINGLE : is_timed ? RUN_WINDOWS_COUNT : RUN_WINDOWS_ORDER;
    if (*source != RUN_WINDOWS_COUNT)
        return SUTRA_OK;
    if (use_times(part, series.period, latest) == series.longest || !has_constant_distances(part, &series))
        *source = RUN_WINDOWS_TIME;
    else
        use_positions(part, is_timed, &series);
    return SUTRA_OK;
}

/* ---- Ranks ---- */

/* The coordinate that alone varies, tp if none does, or N_COORDINATES if several do. */
static int varying_coordinate(const struct run_part *part) {
    const struct run_entry *first = NULL;
    int varying = N_COORDINATES, n = 0;
    for (int k = 0; k < N_COORDINATES; k++) {
        bool varies = false;
        for (size_t i = 0; i < part->n; i++) {
            if (part->list[i]->trace.source != RUN_BY_COORDINATES)
                continue;
            first = first ? first : part->list[i];
            varies |= first->coordinates[k] != part->list[i]->coordinates[k];
        }
        varying = varies ? k : varying;
        n += varies;
    }
    return n == 0 ? COORDINATE_TP : n == 1 ? varying : N_COORDINATES;
}

/* Numbers the traces without a rank. */
static void number_ranks(const struct run_part *part) {
    struct run_entry **list = sorted(part, by_source); /* known ranks, coordinates, numbers, processes */
    const int varying = varying_coordinate(part);
    int64_t index = -1, free_rank = -1;
    size_t known = 0, n_known = 0;
    while (n_known < part->n && list[n_known]->has_rank)
        n_known++;
    for (size_t i = n_known; i < part->n; i++) {
        struct run_entry *entry = list[i];
        const bool is_new = i == 0 || list[i - 1]->stream != entry->stream;
        if (entry->trace.source == RUN_BY_NUMBER) {
            entry->trace.rank = entry->number;
        } else if (entry->trace.source == RUN_BY_COORDINATES) {
            index += is_new;
            entry->trace.rank = varying < N_COORDINATES ? entry->coordinates[varying] : index;
        } else {
            free_rank += is_new;
            for (; is_new && known < n_known && list[known]->trace.rank <= free_rank; known++)
                free_rank += list[known]->trace.rank == free_rank;
            entry->trace.rank = free_rank;
        }
    }
}

/* ---- Roles ---- */

/* Appends ranks as --rank accepts them. */
static void add_range(struct buffer *ranges, int64_t first, int64_t last) {
    if (first > last)
        return;
    buffer_format(ranges, "%s%" PRId64, ranges->length ? "," : "", first);
    if (first < last)
        buffer_format(ranges, "-%" PRId64, last);
}

/* The ranks that a window lacks of `expected` (ascending), or of 0 .. world_size - 1. */
static const char *missing_ranks(struct arena *arena, const struct run_window *window, const int64_t *expected,
                                 size_t n_expected, int64_t world_size) {
    struct buffer ranges = {0};
    size_t at = 0;
    for (size_t begin = 0, end; begin < n_expected; begin = end) {
        for (end = begin + 1; end < n_expected && (world_size > 0 || expected[end] == expected[end - 1] + 1);)
            end++;
        int64_t next = world_size > 0 ? 0 : expected[begin];
        const int64_t last = world_size > 0 ? world_size - 1 : expected[end - 1];
        for (; at < window->n_traces && window->traces[at]->rank <= last; at++) {
            add_range(&ranges, next, window->traces[at]->rank - 1);
            next = MAX(next, window->traces[at]->rank + 1);
        }
        add_range(&ranges, next, last);
    }
    const char *text = ranges.length ? arena_text(arena, ranges.bytes, ranges.length) : "";
    arena->failed |= ranges.failed;
    buffer_free(&ranges);
    return text;
}

/* Fills a role from the traces of a part, whose windows and ranks are known. */
static enum sutra_status make_role(const struct run_part *part, enum run_window_source source, struct run_role *role,
                                   struct sutra_error *error) {
    struct arena *arena = part->arena;
    const size_t n = part->n;
    struct run_entry **list = sorted(part, by_window_and_rank);
    struct run_window *windows = arena_alloc(arena, list[n - 1]->window + (size_t)1, sizeof *windows);
    const struct run_trace **traces = arena_alloc(arena, n, sizeof(struct run_trace *));
    int64_t *ranks = arena_alloc(arena, n, sizeof *ranks), world_size = 0;
    size_t n_windows = 0, n_ranks = 0, most = 0, default_window = 0;
    TRY(arena_status(arena, error));
    for (size_t begin = 0, end; begin < n; begin = end, n_windows++) {
        end = entries_end(list, n, begin, by_window, part->strings);
        struct run_window *window = &windows[n_windows];
        uint32_t label = source == RUN_WINDOWS_LABEL ? list[begin]->label : STRING_NONE;
        *window = (struct run_window){
            .traces = traces + begin, .n_traces = end - begin, .begin_ns = list[begin]->trace.begin_ns};
        for (size_t i = begin; i < end; i++) {
            struct run_entry *entry = list[i];
            entry->trace.host = strings_text(part->strings, entry->host);
            traces[i] = &entry->trace;
            ranks[i] = entry->trace.rank;
            window->bytes += entry->trace.bytes;
            window->begin_ns = MIN(window->begin_ns, entry->trace.begin_ns);
            world_size = MAX(world_size, entry->world_size);
            label = label == entry->label ? label : STRING_NONE;
        }
        window->label = label == STRING_NONE ? NULL : strings_text(part->strings, label);
        if (window->n_traces >= most) {
            most = window->n_traces;
            default_window = n_windows;
        }
    }
    qsort(ranks, n, sizeof *ranks, compare_int64s);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || ranks[i] != ranks[i - 1])
            ranks[n_ranks++] = ranks[i];
    const int64_t expected = ranks[n_ranks - 1] < world_size ? world_size : 0;
    for (size_t i = 0; i < n_windows; i++)
        windows[i].missing = missing_ranks(arena, &windows[i], ranks, n_ranks, expected);
    *role = (struct run_role){.name = part->name,
                              .world_size = world_size,
                              .window_source = source,
                              .windows = windows,
                              .n_windows = n_windows,
                              .default_window = default_window,
                              .n_ranks = n_ranks};
    return arena_status(arena, error);
}

/* The roles so far. */
struct role_list {
    struct run_role *list;
    uint64_t n, capacity;
};

/* Adds the role of a part, whose streams are known. */
static enum sutra_status add_role(const struct run_part *part, struct role_list *roles, struct sutra_error *error) {
    enum run_window_source source;
    TRY(find_windows(part, &source, error));
    number_ranks(part);
    TRY_ALLOC(arena_grow(part->arena, &roles->list, roles->n, &roles->capacity, sizeof *roles->list), error);
    return make_role(part, source, &roles->list[roles->n++], error);
}

/* Adds the roles of a part: one, or one per engine. */
static enum sutra_status add_roles(struct run_part *part, struct role_list *roles, struct sutra_error *error) {
    struct conflicts conflicts = {.are_named = true};
    size_t key = 0;
    memset(conflicts.is_separated, true, sizeof conflicts.is_separated);
    find_streams(part);
    find_conflicts(part, false, &conflicts);
    find_conflicts(part, true, &conflicts);
    while (key < N_ENGINE_ORDERS && !conflicts.is_separated[key])
        key++;
    if (conflicts.any && conflicts.are_named)
        number_local_ranks(part);
    if (!conflicts.any || conflicts.are_named || key == N_ENGINE_ORDERS)
        return add_role(part, roles, error);
    struct run_entry **list = alloc_entries(part->arena, part->n);
    TRY_ALLOC(list, error);
    entries_sort(list, part->list, part->n, engine_orders[key], part->strings);
    unsigned index = 0;
    for (size_t begin = 0, end; begin < part->n; begin = end) {
        end = entries_end(list, part->n, begin, engine_orders[key], part->strings);
        struct run_part engine = *part;
        engine.name = arena_format(part->arena, "%s[%u]", part->name, index++);
        engine.list = list + begin;
        engine.n = end - begin;
        find_streams(&engine);
        TRY(add_role(&engine, roles, error));
    }
    return SUTRA_OK;
}

static int compare_role_names(const void *left, const void *right) {
    return compare_natural(((const struct run_role *)left)->name, ((const struct run_role *)right)->name);
}

enum sutra_status run_make_roles(struct run *run, struct arena *arena, const struct strings *strings,
                                 struct run_entry **traces, size_t n, struct sutra_error *error) {
    struct role_list roles = {0};
    struct run_entry **list = alloc_entries(arena, n), **scratch = alloc_entries(arena, n);
    TRY(arena_status(arena, error));
    entries_sort(list, traces, n, by_role, strings);
    for (size_t begin = 0, end; begin < n; begin = end) {
        end = entries_end(list, n, begin, by_role, strings);
        const char *name = strings_text(strings, list[begin]->role);
        struct run_part part = {.strings = strings,
                                .arena = arena,
                                .name = end - begin == n || !*name ? "main" : name,
                                .list = list + begin,
                                .n = end - begin,
                                .scratch = scratch};
        TRY(add_roles(&part, &roles, error));
    }
    if (roles.n > 0)
        qsort(roles.list, roles.n, sizeof *roles.list, compare_role_names);
    run->roles = roles.list;
    run->n_roles = roles.n;
    return SUTRA_OK;
}
