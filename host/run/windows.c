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
#include "base/shared.h"
#include "run/entry.h"

/* Traces of one stream that are compared with each other at one time: more than there are engines. */
#define CONFLICTS_MAX 256

/* ---- Orders: of pointers to entries, with the strings as argument ---- */

static int compare_strings(uint32_t a, uint32_t b, const struct strings *strings) {
    return a == b ? 0 : compare_natural(strings_text(strings, a), strings_text(strings, b));
}

static int compare_begins(const void *left, const void *right, void *arg) {
    const struct run_entry *a = entry_at(left), *b = entry_at(right);
    (void)arg;
    const int order = sign(a->trace.begin_ns, b->trace.begin_ns);
    return order ? order : compare_natural(a->trace.path, b->trace.path);
}

static int compare_roles(const void *left, const void *right, void *arg) {
    const struct run_entry *a = entry_at(left), *b = entry_at(right);
    const int order = compare_strings(a->role, b->role, arg);
    return order ? order : compare_natural(a->trace.path, b->trace.path);
}

static int compare_processes(const void *left, const void *right, void *arg) {
    const struct run_entry *a = entry_at(left), *b = entry_at(right);
    (void)arg;
    int order = sign(a->host, b->host);
    order = order ? order : sign(a->trace.pid, b->trace.pid);
    return order ? order : compare_begins(left, right, arg);
}

static int compare_numbers(const void *left, const void *right, void *arg) {
    const struct run_entry *a = entry_at(left), *b = entry_at(right);
    const int order = sign(a->number, b->number);
    return order ? order : compare_processes(left, right, arg);
}

static int compare_labels_of(const void *left, const void *right, void *arg) {
    const struct run_entry *a = entry_at(left), *b = entry_at(right);
    const int order = compare_labels(a, b, arg);
    return order ? order : sign(a->stream, b->stream);
}

static int compare_windows(const void *left, const void *right, void *arg) {
    const struct run_entry *a = entry_at(left), *b = entry_at(right);
    (void)arg;
    int order = sign(a->window, b->window);
    order = order ? order : sign(a->trace.rank, b->trace.rank);
    return order ? order : compare_natural(a->trace.path, b->trace.path);
}

/* By stream, then by time, if all traces of the part have one. */
static int compare_streams_by_time(const void *left, const void *right, void *arg) {
    const struct run_entry *a = entry_at(left), *b = entry_at(right);
    const int order = sign(a->stream, b->stream);
    return order ? order : compare_begins(left, right, arg);
}

static int compare_streams_by_path(const void *left, const void *right, void *arg) {
    const struct run_entry *a = entry_at(left), *b = entry_at(right);
    (void)arg;
    const int order = sign(a->stream, b->stream);
    return order ? order : compare_natural(a->trace.path, b->trace.path);
}

/* ---- Streams ---- */

/* The traces of a role, in an array of the arena. */
struct role_traces {
    struct run_entry **list; /* by natural order of the paths */
    size_t n;
    const char *name;
};

/* A part of the traces: of a role, or of an engine of it; with a scratch list of the same length. */
struct run_part {
    const struct strings *strings;
    struct arena *arena;
    struct role_traces traces;
    struct run_entry **scratch;
    uint32_t n_streams;
};

static size_t list_unknown(const struct run_part *part) {
    size_t n = 0;
    for (size_t i = 0; i < part->traces.n; i++)
        if (!part->traces.list[i]->has_rank)
            part->scratch[n++] = part->traces.list[i];
    return n;
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
    const size_t n = list_unknown(part);
    struct run_entry **list = part->scratch;
    bool has_numbers = n > 0, is_constant = true, is_unique = true, has_times = true;
    *is_apart = false;
    for (size_t i = 0; i < n; i++) {
        has_numbers &= list[i]->number != NAME_NONE;
        has_times &= has_time(list[i]);
    }
    if (n > 1 && has_times) {
        sort_entries(list, n, compare_begins, NULL);
        *is_apart = !any_overlap(list, n, true);
    }
    if (*is_apart || !has_numbers)
        return RUN_BY_ORDER;
    sort_entries(list, n, compare_processes, NULL);
    const bool is_concurrent = any_overlap(list, n, false);
    for (size_t i = 1; i < n; i++)
        is_constant &= !is_one_process(list[i - 1], list[i]) || list[i - 1]->number == list[i]->number;
    sort_entries(list, n, compare_numbers, NULL);
    for (size_t i = 1; i < n; i++) {
        const bool is_equal = list[i - 1]->number == list[i]->number;
        is_unique &= !is_equal;
        is_constant &= !is_equal || is_one_process(list[i - 1], list[i]);
    }
    return is_constant || (is_unique && is_concurrent) ? RUN_BY_NUMBER : RUN_BY_ORDER;
}

/* The order of streams: by rank, by coordinates, by number, by process. */
static int compare_keys(const void *left, const void *right, void *arg) {
    const struct run_entry *a = entry_at(left), *b = entry_at(right);
    const struct strings *strings = arg;
    int order = sign(a->has_rank ? 0 : a->trace.source, b->has_rank ? 0 : b->trace.source);
    if (order)
        return order;
    switch (a->trace.source) {
    case RUN_BY_COORDINATES:
        for (int i = 0; i < N_COORDINATES && !order; i++)
            order = sign(a->coordinates[i], b->coordinates[i]);
        return order;
    case RUN_BY_NUMBER:
        return sign(a->number, b->number);
    case RUN_BY_ORDER:
        order = compare_strings(a->folder, b->folder, strings);
        order = order ? order : compare_strings(a->host, b->host, strings);
        return order ? order : sign(a->trace.pid, b->trace.pid);
    default:
        return sign(a->trace.rank, b->trace.rank);
    }
}

/* Sets the source and the stream of each trace. */
static void find_streams(struct run_part *part) {
    const struct role_traces *traces = &part->traces;
    bool is_apart;
    const enum run_source source = source_of_unknown(part, &is_apart);
    for (size_t i = 0; i < traces->n; i++) {
        struct run_entry *entry = traces->list[i];
        if (!entry->has_rank)
            entry->trace.source = entry->has_coordinates ? RUN_BY_COORDINATES : source;
        part->scratch[i] = entry;
    }
    sort_entries(part->scratch, traces->n, compare_keys, part->strings);
    uint32_t stream = 0;
    for (size_t i = 0; i < traces->n; i++) {
        struct run_entry *entry = part->scratch[i];
        const bool is_same =
            i > 0 &&
            (compare_keys(&part->scratch[i - 1], &part->scratch[i], (void *)part->strings) == 0 ||
             (is_apart && entry->trace.source == RUN_BY_ORDER && part->scratch[i - 1]->trace.source == RUN_BY_ORDER));
        stream += i > 0 && !is_same;
        entry->stream = stream;
    }
    part->n_streams = stream + 1;
}

/* ---- Conflicts ---- */

/* Differences of engines, the first one that applies. */
enum engine_key { KEY_WORLD_SIZE, KEY_FOLDER, KEY_DP, KEY_HOST, KEY_PROCESS, N_ENGINE_KEYS };

static int64_t engine_key(const struct run_entry *entry, enum engine_key key) {
    switch (key) {
    case KEY_WORLD_SIZE:
        return -entry->world_size; /* the largest first */
    case KEY_FOLDER:
        return entry->folder;
    case KEY_DP:
        return entry->has_dp ? entry->coordinates[COORDINATE_DP] : INT64_MAX;
    case KEY_HOST:
        return entry->host;
    default:
        return entry->trace.pid;
    }
}

struct conflicts {
    bool any, are_named;
    bool is_separated[N_ENGINE_KEYS];
};

static void note_conflict(const struct run_entry *a, const struct run_entry *b, struct conflicts *conflicts) {
    const struct run_entry *first = compare_natural(a->trace.path, b->trace.path) < 0 ? a : b;
    conflicts->any = true;
    conflicts->are_named &= first->trace.source == RUN_BY_NAME || first->trace.source == RUN_BY_DIRECTORY;
    for (int key = 0; key < N_ENGINE_KEYS; key++)
        conflicts->is_separated[key] &= engine_key(a, (enum engine_key)key) != engine_key(b, (enum engine_key)key);
}

static bool labels_are_equal(const struct run_entry *a, const struct run_entry *b, const struct strings *strings) {
    return a->label != STRING_NONE && b->label != STRING_NONE && compare_labels(a, b, strings) == 0;
}

static void find_conflicts(const struct run_part *part, struct conflicts *conflicts) {
    struct run_entry **list = part->scratch;
    const size_t n = part->traces.n;
    *conflicts = (struct conflicts){.are_named = true};
    memset(conflicts->is_separated, true, sizeof conflicts->is_separated);
    for (size_t i = 0; i < n; i++)
        list[i] = part->traces.list[i];
    /* Overlapping times, and missing times, which are before all others. */
    sort_entries(list, n, compare_streams_by_time, NULL);
    for (size_t i = 0; i < n; i++)
        for (size_t k = i + 1; k < n && k <= i + CONFLICTS_MAX && list[k]->stream == list[i]->stream; k++) {
            if (has_time(list[i]) && list[k]->trace.begin_ns >= list[i]->end_ns)
                break;
            if (!is_one_process(list[i], list[k]) && (!has_time(list[i]) || overlaps(list[i], list[k])))
                note_conflict(list[i], list[k], conflicts);
        }
    /* Equal labels. */
    size_t n_labels = 0;
    for (size_t i = 0; i < n; i++)
        if (list[i]->label != STRING_NONE)
            list[n_labels++] = list[i];
    sort_entries(list, n_labels, compare_labels_of, part->strings);
    for (size_t i = 0; i < n_labels; i++)
        for (size_t k = i + 1; k < n_labels && k <= i + CONFLICTS_MAX && list[k]->stream == list[i]->stream &&
                               labels_are_equal(list[i], list[k], part->strings);
             k++)
            if (!is_one_process(list[i], list[k]))
                note_conflict(list[i], list[k], conflicts);
}

/* Replaces ranks in names, which are local ranks, by their index in the order of (directory, local rank). */
static int compare_local_ranks(const void *left, const void *right, void *arg) {
    const struct run_entry *a = entry_at(left), *b = entry_at(right);
    const int order = compare_strings(a->node, b->node, arg);
    return order ? order : sign(a->trace.rank, b->trace.rank);
}

static void number_local_ranks(struct run_part *part) {
    struct run_entry **list = part->scratch;
    const size_t n = part->traces.n;
    copy_entries(list, part->traces.list, n);
    sort_entries(list, n, compare_local_ranks, part->strings);
    int64_t rank = 0, before = 0; /* the rank in the name */
    for (size_t i = 0; i < n; i++) {
        const int64_t local = list[i]->trace.rank;
        rank += i > 0 && (list[i - 1]->node != list[i]->node || before != local);
        before = local;
        list[i]->trace.rank = rank;
        list[i]->trace.source = RUN_BY_LOCAL;
        list[i]->has_rank = true;
    }
}

/* ---- Windows ---- */

/* Whether each trace has a label, and no stream has one twice: then sets the windows. */
static bool use_labels(const struct run_part *part) {
    struct run_entry **list = part->scratch;
    const size_t n = part->traces.n;
    uint32_t window = 0;
    copy_entries(list, part->traces.list, n);
    for (size_t i = 0; i < n; i++)
        if (list[i]->label == STRING_NONE)
            return false;
    sort_entries(list, n, compare_labels_of, part->strings);
    for (size_t i = 1; i < n; i++)
        if (list[i - 1]->stream == list[i]->stream && compare_labels(list[i - 1], list[i], part->strings) == 0)
            return false;
    for (size_t i = 0; i < n; i++) {
        window += i > 0 && compare_labels(list[i - 1], list[i], part->strings) != 0;
        list[i]->window = window;
    }
    return true;
}

/* Traces of one stream after another, each stream by time (or by path). */
struct series {
    struct run_entry **list;
    size_t *first;                 /* of each stream; n_streams + 1 */
    uint32_t n_streams, reference; /* the stream of the first trace */
    size_t longest;
    int64_t period; /* the shortest distance of two starts */
};

static enum sutra_status find_series(const struct run_part *part, bool is_timed, struct series *series,
                                     struct sutra_error *error) {
    const size_t n = part->traces.n;
    *series =
        (struct series){.n_streams = part->n_streams, .reference = part->traces.list[0]->stream, .period = INT64_MAX};
    series->list = alloc_entries(part->arena, n);
    series->first = arena_zeros(part->arena, part->n_streams + (size_t)1, sizeof *series->first);
    TRY(arena_status(part->arena, error));
    copy_entries(series->list, part->traces.list, n);
    sort_entries(series->list, n, is_timed ? compare_streams_by_time : compare_streams_by_path, NULL);
    for (size_t i = 0; i < n; i++) {
        const uint32_t stream = series->list[i]->stream;
        series->first[stream + 1] = i + 1;
        if (i > series->first[stream] && is_timed)
            series->period = MIN(series->period, series->list[i]->trace.begin_ns - series->list[i - 1]->trace.begin_ns);
    }
    for (uint32_t stream = 0; stream < part->n_streams; stream++)
        series->longest = MAX(series->longest, series->first[stream + 1] - series->first[stream]);
    return SUTRA_OK;
}

/* Whether all streams have as many traces, at constant distances from the traces of the reference. */
static bool has_constant_distances(const struct series *series) {
    struct run_entry *const *reference = series->list + series->first[series->reference];
    for (uint32_t stream = 0; stream < series->n_streams; stream++) {
        struct run_entry *const *list = series->list + series->first[stream];
        if (series->first[stream + 1] - series->first[stream] != series->longest ||
            series->first[series->reference + 1] - series->first[series->reference] != series->longest)
            return false;
        const int64_t offset = list[0]->trace.begin_ns - reference[0]->trace.begin_ns;
        for (size_t i = 1; i < series->longest; i++) {
            const int64_t change = list[i]->trace.begin_ns - reference[i]->trace.begin_ns - offset;
            if (2 * llabs(change) >= series->period)
                return false;
        }
    }
    return true;
}

/* Windows by start times; returns their number. `latest` has the last window of each stream, plus 1. */
static uint32_t use_times(const struct run_part *part, int64_t period, uint32_t *latest) {
    struct run_entry **list = part->scratch;
    const size_t n = part->traces.n;
    uint32_t n_windows = 0;
    int64_t first = 0;
    copy_entries(list, part->traces.list, n);
    sort_entries(list, n, compare_begins, NULL);
    for (size_t i = 0; i < n; i++) {
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
    struct series series;
    bool is_timed = true;
    *source = RUN_WINDOWS_LABEL;
    if (use_labels(part))
        return SUTRA_OK;
    for (size_t i = 0; i < part->traces.n; i++)
        is_timed &= has_time(part->traces.list[i]);
    TRY(find_series(part, is_timed, &series, error));
    *source = series.longest == 1 ? RUN_WINDOWS_SINGLE : is_timed ? RUN_WINDOWS_COUNT : RUN_WINDOWS_ORDER;
    if (*source == RUN_WINDOWS_COUNT) {
        uint32_t *latest = arena_zeros(part->arena, part->n_streams, sizeof *latest);
        TRY(arena_status(part->arena, error));
        if (use_times(part, series.period, latest) == series.longest || !has_constant_distances(&series)) {
            *source = RUN_WINDOWS_TIME;
            return SUTRA_OK;
        }
    }
    for (uint32_t stream = 0; stream < series.n_streams; stream++)
        for (size_t i = series.first[stream]; i < series.first[stream + 1]; i++)
            series.list[i]->window = (uint32_t)(i - series.first[stream]);
    return SUTRA_OK;
}

/* ---- Ranks ---- */

/* Numbers the traces without a rank. */
static void number_ranks(const struct run_part *part) {
    struct run_entry **list = part->scratch;
    const size_t n = part->traces.n;
    const struct run_entry *first = NULL;
    bool varies[N_COORDINATES] = {false};
    int n_varying = 0, varying = 0;
    copy_entries(list, part->traces.list, n);
    sort_entries(list, n, compare_keys, part->strings); /* ranks, coordinates, numbers, processes */
    for (size_t i = 0; i < n; i++) {
        if (list[i]->trace.source != RUN_BY_COORDINATES)
            continue;
        first = first ? first : list[i];
        for (int k = 0; k < N_COORDINATES; k++)
            varies[k] |= first->coordinates[k] != list[i]->coordinates[k];
    }
    for (int k = 0; k < N_COORDINATES; k++)
        if (varies[k]) {
            n_varying++;
            varying = k;
        }
    varying = n_varying == 0 ? COORDINATE_TP : varying;

    int64_t index = -1, free_rank = -1;
    size_t known = 0, n_known = 0; /* the known ranks are the first of the list, ascending */
    while (n_known < n && list[n_known]->has_rank)
        n_known++;
    for (size_t i = 0; i < n; i++) {
        struct run_entry *entry = list[i];
        const bool is_new = i == 0 || list[i - 1]->stream != entry->stream;
        switch (entry->trace.source) {
        case RUN_BY_COORDINATES:
            index += is_new;
            entry->trace.rank = n_varying <= 1 ? entry->coordinates[varying] : index;
            break;
        case RUN_BY_NUMBER:
            entry->trace.rank = entry->number;
            break;
        case RUN_BY_ORDER:
            if (is_new || free_rank < 0) {
                free_rank++;
                for (; known < n_known && list[known]->trace.rank <= free_rank; known++)
                    free_rank += list[known]->trace.rank == free_rank;
            }
            entry->trace.rank = free_rank;
            break;
        default:
            break;
        }
    }
}

/* ---- Roles ---- */

/* A text of ranks as --rank accepts it. */
struct rank_ranges {
    char *text;
    size_t length, capacity;
    struct arena *arena;
};

static void add_range(struct rank_ranges *ranges, int64_t first, int64_t last) {
    if (first > last)
        return;
    if (ranges->capacity - ranges->length < 48) {
        const size_t capacity = ranges->capacity * 2 + 64;
        char *text = arena_alloc(ranges->arena, capacity, 1);
        if (!text)
            return;
        memcpy(text, ranges->text, ranges->length);
        ranges->text = text;
        ranges->capacity = capacity;
    }
    const size_t left = ranges->capacity - ranges->length;
    const char *comma = ranges->length ? "," : "";
    ranges->length += (size_t)(first == last ? snprintf(ranges->text + ranges->length, left, "%s%" PRId64, comma, first)
                                             : snprintf(ranges->text + ranges->length, left, "%s%" PRId64 "-%" PRId64,
                                                        comma, first, last));
}

/* The ranks of `expected` (ascending), or of 0 .. world_size - 1, that the window lacks. */
static const char *missing_ranks(struct arena *arena, const struct run_window *window, const int64_t *expected,
                                 size_t n_expected, int64_t world_size) {
    struct rank_ranges ranges = {.text = "", .arena = arena};
    size_t k = 0;
    if (world_size > 0) {
        int64_t next = 0;
        for (size_t i = 0; i < window->n_traces; i++) {
            add_range(&ranges, next, window->traces[i]->rank - 1);
            next = MAX(next, window->traces[i]->rank + 1);
        }
        add_range(&ranges, next, world_size - 1);
        return ranges.text;
    }
    for (size_t i = 0; i < n_expected;) {
        size_t end = i;
        for (; end < n_expected && (end == i || expected[end] == expected[end - 1] + 1); end++) {
            while (k < window->n_traces && window->traces[k]->rank < expected[end])
                k++;
            if (k < window->n_traces && window->traces[k]->rank == expected[end])
                break;
        }
        if (end > i)
            add_range(&ranges, expected[i], expected[end - 1]);
        i = end > i ? end : end + 1;
    }
    return ranges.text;
}

/* Fills a role from the traces of a part, whose windows and ranks are known. */
static enum sutra_status make_role(const struct run_part *part, enum run_window_source source, struct run_role *role,
                                   struct sutra_error *error) {
    struct arena *arena = part->arena;
    const size_t n = part->traces.n;
    struct run_entry **list = part->scratch;
    copy_entries(list, part->traces.list, n);
    sort_entries(list, n, compare_windows, NULL);
    size_t n_windows = 1, n_ranks = 0;
    for (size_t i = 1; i < n; i++)
        n_windows += list[i - 1]->window != list[i]->window;
    struct run_window *windows = arena_zeros(arena, n_windows, sizeof *windows);
    const struct run_trace **traces = arena_alloc(arena, n, sizeof(struct run_trace *));
    int64_t *ranks = arena_alloc(arena, n, sizeof *ranks), world_size = 0;
    TRY(arena_status(arena, error));
    size_t most = 0;
    *role = (struct run_role){
        .name = part->traces.name, .window_source = source, .windows = windows, .n_windows = n_windows};
    size_t window = SIZE_MAX;
    uint32_t label = STRING_NONE;
    for (size_t i = 0; i < n; i++) {
        struct run_entry *entry = list[i];
        if (i == 0 || list[i - 1]->window != entry->window) {
            windows[++window] = (struct run_window){.traces = traces + i, .begin_ns = entry->trace.begin_ns};
            label = source == RUN_WINDOWS_LABEL ? entry->label : STRING_NONE;
        }
        struct run_window *made = &windows[window];
        traces[i] = &entry->trace;
        ranks[i] = entry->trace.rank;
        made->n_traces++;
        made->bytes += entry->trace.bytes;
        made->begin_ns = MIN(made->begin_ns, entry->trace.begin_ns);
        label = label == entry->label ? label : STRING_NONE;
        made->label = label == STRING_NONE ? NULL : strings_text(part->strings, label);
        world_size = MAX(world_size, entry->world_size);
        entry->trace.host = strings_text(part->strings, entry->host);
    }
    qsort(ranks, n, sizeof *ranks, compare_int64s);
    for (size_t i = 0; i < n; i++)
        if (i == 0 || ranks[i] != ranks[i - 1])
            ranks[n_ranks++] = ranks[i];
    role->world_size = world_size;
    role->n_ranks = n_ranks;
    const int64_t expected = ranks[n_ranks - 1] < world_size ? world_size : 0;
    for (size_t i = 0; i < n_windows; i++) {
        windows[i].missing = missing_ranks(arena, &windows[i], ranks, n_ranks, expected);
        if (windows[i].n_traces >= most) {
            most = windows[i].n_traces;
            role->default_window = i;
        }
    }
    return arena_status(arena, error);
}

/* The roles so far. */
struct role_list {
    struct run_role *list;
    uint64_t n, capacity;
};

/* Adds the role of a part. */
static enum sutra_status add_role(struct run_part *part, struct role_list *roles, struct sutra_error *error) {
    enum run_window_source source;
    find_streams(part);
    TRY(find_windows(part, &source, error));
    number_ranks(part);
    TRY_ALLOC(arena_grow(part->arena, &roles->list, roles->n, &roles->capacity, sizeof *roles->list), error);
    return make_role(part, source, &roles->list[roles->n++], error);
}

/* By a key of engines. */
struct key_order {
    const struct strings *strings;
    enum engine_key key;
};

static int compare_engines(const void *left, const void *right, void *arg) {
    const struct key_order *order = arg;
    const struct run_entry *a = entry_at(left), *b = entry_at(right);
    const int64_t of_a = engine_key(a, order->key), of_b = engine_key(b, order->key);
    int difference = order->key == KEY_FOLDER || order->key == KEY_HOST
                         ? compare_strings((uint32_t)of_a, (uint32_t)of_b, order->strings)
                         : sign(of_a, of_b);
    return difference ? difference : compare_natural(a->trace.path, b->trace.path);
}

/* Adds the roles of a part: one, or one per engine. */
static enum sutra_status add_roles(struct run_part *part, struct role_list *roles, struct sutra_error *error) {
    struct conflicts conflicts;
    struct key_order order = {part->strings, KEY_WORLD_SIZE};
    const struct role_traces whole = part->traces;
    find_streams(part);
    find_conflicts(part, &conflicts);
    if (conflicts.any && conflicts.are_named)
        number_local_ranks(part);
    while (order.key < N_ENGINE_KEYS && !conflicts.is_separated[order.key])
        order.key++;
    if (!conflicts.any || conflicts.are_named || order.key == N_ENGINE_KEYS)
        return add_role(part, roles, error);
    struct run_entry **list = alloc_entries(part->arena, whole.n);
    TRY_ALLOC(list, error);
    copy_entries(list, whole.list, whole.n);
    sort_entries(list, whole.n, compare_engines, &order);
    unsigned engine = 0;
    for (size_t begin = 0, end; begin < whole.n; begin = end) {
        for (end = begin; end < whole.n && engine_key(list[end], order.key) == engine_key(list[begin], order.key);)
            end++;
        part->traces =
            (struct role_traces){list + begin, end - begin, arena_format(part->arena, "%s[%u]", whole.name, engine++)};
        TRY_ALLOC(part->traces.name, error);
        TRY(add_role(part, roles, error));
    }
    return SUTRA_OK;
}

static int compare_role_names(const void *left, const void *right) {
    return compare_natural(((const struct run_role *)left)->name, ((const struct run_role *)right)->name);
}

enum sutra_status run_make_roles(struct run *run, struct arena *arena, const struct strings *strings,
                                 struct run_entry **traces, size_t n, struct sutra_error *error) {
    struct role_list roles = {0};
    struct run_entry **list = alloc_entries(arena, n);
    struct run_part part = {.strings = strings, .arena = arena, .scratch = alloc_entries(arena, n)};
    TRY(arena_status(arena, error));
    run->n_roles = 0;
    if (n == 0)
        return SUTRA_OK;
    copy_entries(list, traces, n);
    sort_entries(list, n, compare_roles, strings);
    for (size_t begin = 0, end; begin < n; begin = end) {
        for (end = begin; end < n && list[end]->role == list[begin]->role;)
            end++;
        const char *name = strings_text(strings, list[begin]->role);
        part.traces = (struct role_traces){list + begin, end - begin, end - begin == n || !*name ? "main" : name};
        TRY(add_roles(&part, &roles, error));
    }
    qsort(roles.list, roles.n, sizeof *roles.list, compare_role_names);
    run->roles = roles.list;
    run->n_roles = roles.n;
    return SUTRA_OK;
}
