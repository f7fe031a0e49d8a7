/*
 * graph_owners.c - finds the operator and the module of each kernel of a graph launch (graphs.h).
 *
 *     launches by time --> kernels of each --> capture traces of the launch's size --> graph node ids, or a segment
 *                                         \--> without capture traces: graph_landmarks.c
 *
 * Equal launches, which have the same sequence of kernels, get one number. Each pair of this number and a segment is
 * aligned once: replays of a graph cost a look-up.
 *
 *     launch i of n launches, m segments:   segment i mod m first, if m divides n; then segments 0, 1, 2, ...
 *
 * Cost: O(n) in expectation for n activities, and for each distinct launch an alignment with each of at most
 * GRAPH_SEGMENTS_MAX segments.
 */
#include <string.h>

#include "analyze/launches/graphs.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/rows.h"
#include "match/steps.h"
#include "read/event_columns.h"

const char *const graph_method_names[GRAPH_N_METHODS] = {"",     "node",    "verified", "streams",
                                                         "name", "counted", "between",  "unmatched"};
const char *const graph_confidence_names[GRAPH_N_METHODS] = {"",     "exact",  "exact",  "high",
                                                             "high", "medium", "medium", "none"};

const char *graph_remark(const char *confidence) {
    static const char *const remarks[][2] = {
        {"high", "by kernel name"},
        {"medium", "by position: kernel names were not recorded"},
        {"none", "no operator: record the capture and pass --capture FILE"},
    };
    for (size_t i = 0; i < sizeof remarks / sizeof *remarks; i++)
        if (strcmp(confidence, remarks[i][0]) == 0)
            return remarks[i][1];
    return "";
}

/* ---- Launches ---- */

/* Lists the launches that have kernels; launch_of[device] becomes the index of its launch, or ROW_NONE. */
static enum sutra_status list_launches(const struct launch_model *model, struct arena *scratch,
                                       struct graph_launches *launches, row_t **launch_of, struct sutra_error *error) {
    const struct host_rows *hosts = &model->hosts;
    const struct device_rows *devices = &model->devices;
    *launches = (struct graph_launches){.n = 0};
    uint8_t *is_graph = arena_zeros(scratch, model->strings->n, sizeof *is_graph); /* by name: 1 no, 2 yes */
    row_t n_kernels = 0;
    TRY_ALLOC(is_graph, error);
    for (row_t i = 0; i < devices->n; i++) {
        row_t call = devices->call[i];
        if (call == ROW_NONE || devices->class[i] == DEVICE_NO_WORK)
            continue;
        uint8_t *known = &is_graph[hosts->name[call]];
        if (!*known)
            *known = text_compare(model->strings, hosts->name[call], TEXT_HAS_IN_ANY_CASE, "graphlaunch") ? 2 : 1;
        n_kernels += *known == 2;
    }
    if (n_kernels == 0)
        return SUTRA_OK;

    /* Calls, ascending by start, then by position in the file. */
    row_t *of_host = rows_none(scratch, hosts->n);
    *launch_of = rows_none(scratch, devices->n);
    launches->call = arena_alloc(scratch, n_kernels, sizeof *launches->call);
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < devices->n; i++) {
        row_t call = devices->call[i];
        if (call == ROW_NONE || devices->class[i] == DEVICE_NO_WORK || is_graph[hosts->name[call]] != 2 ||
            of_host[call] != ROW_NONE)
            continue;
        of_host[call] = 0;
        launches->call[launches->n++] = call;
    }
    uint64_t *keys = arena_alloc(scratch, launches->n, sizeof *keys);
    launches->first = arena_zeros(scratch, (size_t)launches->n + 2, sizeof *launches->first);
    launches->device = arena_alloc(scratch, n_kernels, sizeof *launches->device);
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < launches->n; i++)
        keys[i] = hosts->event[launches->call[i]];
    TRY(cpu_sort_keys(NULL, &(struct sort_keys_step){keys, launches->call, launches->n}, error));
    for (row_t i = 0; i < launches->n; i++)
        keys[i] = integer_sort_key(hosts->start[launches->call[i]]);
    TRY(cpu_sort_keys(NULL, &(struct sort_keys_step){keys, launches->call, launches->n}, error));
    for (row_t i = 0; i < launches->n; i++)
        of_host[launches->call[i]] = i;

    /* Their kernels, by start. */
    for (row_t i = 0; i < devices->n; i++) {
        row_t call = devices->call[i];
        if (call == ROW_NONE || devices->class[i] == DEVICE_NO_WORK || of_host[call] == ROW_NONE)
            continue;
        (*launch_of)[i] = of_host[call];
        launches->first[of_host[call] + 2]++;
    }
    for (row_t i = 0; i < launches->n; i++)
        launches->first[i + 2] += launches->first[i + 1];
    for (row_t k = 0; k < devices->n; k++) {
        row_t device = devices->by_start[k];
        if ((*launch_of)[device] != ROW_NONE)
            launches->device[launches->first[(*launch_of)[device] + 1]++] = device;
    }
    return SUTRA_OK;
}

/* ---- Matching with capture traces ---- */

/* A segment of the capture traces. */
struct segment_at {
    uint32_t capture;
    const struct graph_segment *segment;
};

/* The segments that a launch is compared with: of all capture traces, or of those with one batch size. */
struct segment_set {
    int64_t size;   /* -1: all */
    row_t n, first; /* in the list of segments */
    row_t n_launches, n_matched;
};

/* The result of comparing a sequence of kernels with a segment. */
struct aligned {
    uint8_t method; /* enum graph_method */
    row_t *match;   /* by kernel: index of the dispatch */
};

struct capture_search {
    struct sutra_context *context;
    const struct launch_model *model;
    const struct graph_captures *captures;
    int64_t rank; /* -1: capture traces of all ranks */
    struct graph_kernels *graphs;
    struct graph_launches launches;
    struct arena *scratch;
    uint8_t *name_flags;  /* by string: NAME_KNOWN and so on */
    uint32_t **symbol_of; /* by capture and string: symbol + 1; 0: not looked up yet */
    struct segment_at *segments;
    struct segment_set *sets; /* the first one has all segments */
    row_t n_sets;
    row_t *set_of;           /* by launch */
    uint32_t *sequence;      /* by launch: number of its sequence of kernels */
    struct tuples steps;     /* sequences: (the sequence before + 1, or 0; name and kind; stream) */
    struct tuples tried;     /* (sequence, segment) */
    struct aligned *results; /* of them */
    uint64_t capacity;
    struct graph_kernel *kernels; /* of one launch */
};

enum { NAME_KNOWN = 1, NAME_COPIES = 2, NAME_SETS = 4 };

/* Whether a name is of a memcpy or a memset. */
static uint8_t flags_of_name(const struct capture_search *search, uint32_t name) {
    static const char *const copies[] = {"memcpy", "copybuffer"}, *const sets[] = {"memset", "fillbuffer"};
    uint8_t *flags = &search->name_flags[name];
    if (!*flags) {
        *flags = NAME_KNOWN;
        for (int i = 0; i < 2; i++) {
            if (text_compare(search->model->strings, name, TEXT_HAS_IN_ANY_CASE, copies[i]))
                *flags |= NAME_COPIES;
            if (text_compare(search->model->strings, name, TEXT_HAS_IN_ANY_CASE, sets[i]))
                *flags |= NAME_SETS;
        }
    }
    return *flags;
}

static bool uses_capture(const struct capture_search *search, size_t capture) {
    return search->rank < 0 || search->captures->list[capture].rank == search->rank;
}

/* A capture trace of a known batch size. */
struct sized_capture {
    int64_t size;
    uint32_t capture;
};

ORDER_BY(compare_sizes, struct sized_capture, ASCENDING(size) ASCENDING(capture))

static void add_segments(struct capture_search *search, uint32_t capture, struct segment_set *set) {
    const struct graph_capture *of = &search->captures->list[capture];
    for (row_t i = 0; i < of->n_segments; i++)
        search->segments[set->first + set->n++] = (struct segment_at){capture, &of->segments[i]};
}

/* Lists the segments by set: all segments, then the segments of the capture traces of each batch size, ascending. */
static enum sutra_status list_segments(struct capture_search *search, struct sutra_error *error) {
    const struct graph_captures *captures = search->captures;
    struct sized_capture *sized = arena_alloc(search->scratch, captures->n, sizeof *sized);
    search->sets = arena_alloc(search->scratch, captures->n + 1, sizeof *search->sets);
    uint64_t n_segments = 0;
    size_t n_sized = 0, n_used = 0;
    TRY_ALLOC(sized && search->sets, error);
    for (uint32_t c = 0; c < captures->n; c++) {
        if (!uses_capture(search, c))
            continue;
        n_segments += captures->list[c].n_segments;
        n_used++;
        if (captures->list[c].size >= 0)
            sized[n_sized++] = (struct sized_capture){captures->list[c].size, c};
    }
    if (n_used < 2) /* a single capture trace is not selected by size */
        n_sized = 0;
    if (n_sized)
        qsort(sized, n_sized, sizeof *sized, compare_sizes);
    if (n_segments > ROW_LIMIT / 2)
        return error_set(error, SUTRA_DATA, "the capture traces have more than %u captures", ROW_LIMIT / 2);
    search->segments = arena_alloc(search->scratch, 2 * n_segments, sizeof *search->segments);
    TRY(arena_status(search->scratch, error));
    search->sets[0] = (struct segment_set){.size = -1};
    search->n_sets = 1;
    for (uint32_t c = 0; c < captures->n; c++)
        if (uses_capture(search, c))
            add_segments(search, c, search->sets);
    for (size_t i = 0; i < n_sized; i++) {
        struct segment_set *last = &search->sets[search->n_sets - 1];
        if (last->size != sized[i].size)
            search->sets[search->n_sets++] =
                (struct segment_set){.size = sized[i].size, .first = last->first + last->n};
        add_segments(search, sized[i].capture, &search->sets[search->n_sets - 1]);
    }
    return SUTRA_OK;
}

/* Chooses the set of segments of each launch: the smallest batch size that is at least the launch's. */
static enum sutra_status choose_sets(struct capture_search *search, struct sutra_error *error) {
    const struct launch_model *model = search->model;
    const struct host_rows *hosts = &model->hosts;
    const struct graph_launches *launches = &search->launches;
    search->set_of = arena_zeros(search->scratch, launches->n, sizeof *search->set_of);
    TRY(arena_status(search->scratch, error));
    if (search->n_sets > 1) {
        uint8_t *marked = arena_alloc(search->scratch, hosts->n, sizeof *marked);
        row_t *around = arena_alloc(search->scratch, hosts->n, sizeof *around);
        TRY(arena_status(search->scratch, error));
        for (row_t row = 0; row < hosts->n; row++)
            marked[row] = hosts->kind[row] == HOST_ANNOTATION &&
                          graph_iteration_size(strings_text(model->strings, hosts->name[row])) >= 0;
        TRY(find_marked_ancestors(model, marked, search->scratch, around, error));
        for (row_t i = 0; i < launches->n; i++) {
            row_t row = around[launches->call[i]];
            if (row == ROW_NONE)
                continue;
            int64_t size = graph_iteration_size(strings_text(model->strings, hosts->name[row]));
            struct bisection at = {1, search->n_sets};
            while (at.low < at.high)
                bisect(&at, search->sets[bisect_middle(at)].size < size);
            search->set_of[i] = at.low < search->n_sets ? at.low : 0;
        }
    }
    for (row_t i = 0; i < launches->n; i++)
        search->sets[search->set_of[i]].n_launches++;
    return SUTRA_OK;
}

/* Numbers the sequences of kernels, so that equal launches have equal numbers. */
static enum sutra_status number_sequences(struct capture_search *search, struct sutra_error *error) {
    const struct launch_model *model = search->model;
    const struct graph_launches *launches = &search->launches;
    search->name_flags = arena_zeros(search->scratch, model->strings->n, sizeof *search->name_flags);
    search->sequence = arena_alloc(search->scratch, launches->n, sizeof *search->sequence);
    TRY(arena_status(search->scratch, error));
    for (row_t i = 0; i < launches->n; i++) {
        value_key before = 0;
        for (row_t k = launches->first[i]; k < launches->first[i + 1]; k++) {
            row_t event = model->devices.event[launches->device[k]];
            uint32_t roles = category_roles(model->events, model->roles, event) & CATEGORY_WORK;
            const struct tuple step = {{before, model->events->name[event], model->events->stream[event], roles}};
            uint32_t number = tuples_number(&search->steps, step);
            TRY_ALLOC(number != TUPLE_NONE, error);
            search->sequence[i] = number;
            before = (value_key)number + 1;
        }
    }
    return SUTRA_OK;
}

/* The symbol of a kernel's name in a capture trace. */
static uint32_t symbol_of_name(const struct capture_search *search, uint32_t capture, uint32_t name) {
    const struct strings *strings = search->model->strings;
    uint32_t *known = &search->symbol_of[capture][name];
    if (!*known) {
        uint32_t number = strings_find(&search->captures->list[capture].names, strings_text(strings, name),
                                       strings_length(strings, name));
        *known = number == STRING_NONE ? GRAPH_NO_SYMBOL : number + GRAPH_N_SYMBOLS + 1;
    }
    return *known == GRAPH_NO_SYMBOL ? GRAPH_NO_SYMBOL : *known - 1;
}

/* Aligns a launch with a segment, unless an equal launch was. NULL: out of memory. */
static const struct aligned *try_segment(struct capture_search *search, row_t launch, row_t at) {
    const struct launch_model *model = search->model;
    const struct graph_launches *launches = &search->launches;
    const struct segment_at *segment = &search->segments[at];
    row_t first = launches->first[launch], n = launches->first[launch + 1] - first;
    uint32_t n_tried = search->tried.n;
    uint32_t number = tuples_number(&search->tried, (struct tuple){{search->sequence[launch], at, 0, 0}});
    if (number == TUPLE_NONE ||
        !arena_grow(search->scratch, &search->results, number, &search->capacity, sizeof *search->results))
        return NULL;
    struct aligned *result = &search->results[number];
    if (number < n_tried)
        return result;
    for (row_t k = 0; k < n; k++) {
        row_t event = model->devices.event[launches->device[first + k]];
        uint32_t name = model->events->name[event], roles = category_roles(model->events, model->roles, event);
        uint8_t flags = flags_of_name(search, name);
        search->kernels[k] = (struct graph_kernel){.symbol = symbol_of_name(search, segment->capture, name),
                                                   .copies = roles & CATEGORY_COPY || flags & NAME_COPIES,
                                                   .sets = roles & CATEGORY_SET || flags & NAME_SETS,
                                                   .stream = model->events->stream[event]};
    }
    struct arena_mark mark = arena_mark(search->scratch);
    result->match = arena_alloc(search->scratch, n, sizeof *result->match);
    if (!result->match)
        return NULL;
    result->method = (uint8_t)graph_align(segment->segment, search->kernels, n, search->scratch, result->match);
    if (result->method == GRAPH_UNMATCHED)
        arena_release(search->scratch, mark);
    return result->method == GRAPH_NONE ? NULL : result;
}

/* Attributes a launch to the dispatches of the first segment that aligns. */
static enum sutra_status match_segments(struct capture_search *search, row_t launch, struct sutra_error *error) {
    const struct graph_launches *launches = &search->launches;
    struct segment_set *set = &search->sets[search->set_of[launch]];
    row_t index = set->n_matched++, preferred = ROW_NONE, n_tries = MIN(set->n, GRAPH_SEGMENTS_MAX);
    if (set->n == 0)
        return SUTRA_OK;
    if (set->n_launches % set->n == 0)
        preferred = index % set->n;
    if (preferred != ROW_NONE && preferred >= GRAPH_SEGMENTS_MAX)
        n_tries--; /* the preferred one is one of them */
    for (row_t k = preferred == ROW_NONE; k <= n_tries; k++) {
        row_t at = k == 0 ? preferred : k - 1;
        if (k > 0 && at == preferred)
            continue;
        const struct segment_at *segment = &search->segments[set->first + at];
        const struct aligned *result = try_segment(search, launch, set->first + at);
        TRY_ALLOC(result, error);
        if (result->method == GRAPH_UNMATCHED)
            continue;
        for (row_t i = launches->first[launch]; i < launches->first[launch + 1]; i++) {
            row_t device = launches->device[i];
            search->graphs->method[device] = result->method;
            search->graphs->capture[device] = segment->capture;
            search->graphs->call[device] = segment->segment->call[result->match[i - launches->first[launch]]];
        }
        return SUTRA_OK;
    }
    return SUTRA_OK;
}

/* Attributes a launch by the graph node ids of its kernels, if a capture trace has all of them. */
static bool match_nodes(struct capture_search *search, row_t launch, const value_key *nodes) {
    const struct graph_launches *launches = &search->launches;
    const row_t *event = search->model->devices.event;
    row_t first = launches->first[launch], end = launches->first[launch + 1];
    for (uint32_t c = 0; c < search->captures->n && nodes; c++) {
        const struct pair_table *table = &search->captures->list[c].nodes;
        row_t k = first;
        if (!uses_capture(search, c))
            continue;
        while (k < end && key_is_integer(nodes[event[launches->device[k]]]) &&
               pair_table_find(table, (uint64_t)nodes[event[launches->device[k]]], 0) != PAIR_NONE)
            k++;
        if (k < end)
            continue;
        for (k = first; k < end; k++) {
            row_t device = launches->device[k];
            search->graphs->method[device] = GRAPH_NODE;
            search->graphs->capture[device] = c;
            search->graphs->call[device] = pair_table_find(table, (uint64_t)nodes[event[device]], 0);
        }
        return true;
    }
    return false;
}

/* Requests the graph node ids of the kernels of launches, if any capture trace has such ids. */
static enum sutra_status read_nodes(const struct capture_search *search, const value_key **nodes,
                                    struct sutra_error *error) {
    static const struct requested_field field = {"graph node id", ASK_KEY, false};
    const struct graph_launches *launches = &search->launches;
    row_t n = launches->first[launches->n];
    struct requested_column column;
    bool any = false;
    *nodes = NULL;
    for (size_t c = 0; c < search->captures->n; c++)
        any |= search->captures->list[c].nodes.n > 0;
    row_t *events = any ? arena_alloc(search->scratch, n, sizeof *events) : NULL;
    if (!any)
        return SUTRA_OK;
    TRY_ALLOC(events, error);
    for (row_t k = 0; k < n; k++)
        events[k] = search->model->devices.event[launches->device[k]];
    TRY(event_columns_request(search->context, search->model->trace, &field, 1, events, n, &column, error));
    *nodes = column.key;
    return SUTRA_OK;
}

static enum sutra_status match_captures(struct capture_search *search, struct sutra_error *error) {
    const struct graph_captures *captures = search->captures;
    const struct graph_launches *launches = &search->launches;
    const value_key *nodes;
    row_t most = 0;
    bool has_rank = false;
    for (size_t c = 0; c < captures->n; c++)
        has_rank |= captures->list[c].rank == search->rank;
    if (!has_rank)
        search->rank = -1;
    for (row_t i = 0; i < launches->n; i++)
        most = MAX(most, launches->first[i + 1] - launches->first[i]);
    search->kernels = arena_alloc(search->scratch, most, sizeof *search->kernels);
    search->symbol_of = arena_alloc(search->scratch, captures->n, sizeof *search->symbol_of);
    for (size_t c = 0; c < captures->n && !search->scratch->failed; c++)
        search->symbol_of[c] = arena_zeros(search->scratch, search->model->strings->n, sizeof **search->symbol_of);
    TRY(arena_status(search->scratch, error));
    enum sutra_status status = list_segments(search, error);
    if (!status)
        status = choose_sets(search, error);
    if (!status)
        status = number_sequences(search, error);
    if (!status)
        status = read_nodes(search, &nodes, error);
    for (row_t i = 0; i < launches->n && !status; i++)
        if (!match_nodes(search, i, nodes))
            status = match_segments(search, i, error);
    tuples_free(&search->steps);
    tuples_free(&search->tried);
    return status;
}

/* ---- Names ---- */

/* Interns names in the strings of the model, which are copied when the first new name comes. */
struct graph_names {
    struct launch_model *model;
    struct graph_kernels *graphs;
};

/* STRING_NONE: out of memory. */
static uint32_t name_number(struct graph_names *names, const char *text, size_t length) {
    struct strings *own = &names->graphs->strings;
    uint32_t number = strings_find(names->model->strings, text, length);
    if (number != STRING_NONE)
        return number;
    if (!names->graphs->has_strings) {
        names->graphs->has_strings = true;
        if (!strings_init(own))
            return STRING_NONE;
        uint32_t *joined = strings_join(own, names->model->strings); /* the same numbers */
        free(joined);
        if (!joined)
            return STRING_NONE;
        names->model->strings = own;
    }
    return strings_intern(own, text, length);
}

/* The class of a module: its name without the prefix and the number of the instance. */
static uint32_t module_number(struct graph_names *names, const char *text, size_t length) {
    text += strlen(MODULE_PREFIX);
    length -= strlen(MODULE_PREFIX);
    size_t cut = length;
    while (cut && text[cut - 1] >= '0' && text[cut - 1] <= '9')
        cut--;
    return name_number(names, text, cut && cut < length && text[cut - 1] == '_' ? cut - 1 : length);
}

/* The number of a name of a capture's row; number_of[], by string of the capture, caches it. STRING_NONE: out of
 * memory. */
static uint32_t row_name(struct graph_names *names, const struct graph_capture *capture, row_t row, bool module,
                         uint32_t *number_of) {
    uint32_t string = capture->model.hosts.name[row], *number = &number_of[string];
    if (*number == ROW_NONE)
        *number = (module ? module_number : name_number)(names, strings_text(capture->model.strings, string),
                                                         strings_length(capture->model.strings, string));
    return *number;
}

/* Names the owners whose dispatches are in one capture trace, and their enclosing rows. */
static enum sutra_status name_owners_of(struct graph_names *names, uint32_t capture_number, struct arena *scratch,
                                        struct sutra_error *error) {
    struct graph_kernels *graphs = names->graphs;
    const struct graph_capture *capture = &graphs->captures->list[capture_number];
    struct arena_mark mark = arena_mark(scratch);
    uint32_t *numbers = rows_none(scratch, capture->model.strings->n);
    uint32_t *modules = rows_none(scratch, capture->model.strings->n);
    TRY(arena_status(scratch, error));
    for (row_t i = 0; i < names->model->devices.n; i++) {
        row_t call = graphs->call[i], depth = 0;
        if (call == ROW_NONE || graphs->capture[i] != capture_number)
            continue;
        if (capture->op[call] == ROW_NONE) { /* the dispatch is outside of operators */
            graphs->method[i] = GRAPH_UNMATCHED;
            graphs->call[i] = ROW_NONE;
            continue;
        }
        bool ok = (graphs->op[i] = row_name(names, capture, capture->op[call], false, numbers)) != STRING_NONE;
        if (ok && capture->module[call] != ROW_NONE)
            ok = (graphs->module[i] = row_name(names, capture, capture->module[call], true, modules)) != STRING_NONE;
        for (row_t row = capture->enclosing[call]; row != ROW_NONE && depth < GRAPH_DEPTH && ok; depth++) {
            ok = row_name(names, capture, row, false, numbers) != STRING_NONE;
            row = capture->enclosing[row];
        }
        TRY_ALLOC(ok, error);
    }
    arena_release(scratch, mark);
    return SUTRA_OK;
}

/* Names the enclosing operator and module of each kernel's dispatch; a kernel without an operator is unmatched. */
static enum sutra_status name_owners(struct launch_model *model, struct graph_kernels *graphs, struct arena *arena,
                                     struct arena *scratch, struct sutra_error *error) {
    struct graph_names names = {model, graphs};
    uint32_t n_strings = model->strings->n;
    for (uint32_t c = 0; graphs->captures && c < graphs->captures->n; c++)
        TRY(name_owners_of(&names, c, scratch, error));
    if (model->strings->n == n_strings)
        return SUTRA_OK;
    struct string_roles *roles = arena_zeros(arena, model->strings->n, sizeof *roles); /* new names have no roles */
    TRY_ALLOC(roles, error);
    memcpy(roles, model->roles, n_strings * sizeof *roles);
    model->roles = roles;
    return SUTRA_OK;
}

enum sutra_status graph_kernels_find(struct sutra_context *context, struct launch_model *model,
                                     const struct graph_captures *captures, int64_t rank, struct arena *arena,
                                     struct arena *scratch, struct graph_kernels *graphs, struct sutra_error *error) {
    struct capture_search search = {
        .context = context, .model = model, .captures = captures, .rank = rank, .graphs = graphs, .scratch = scratch};
    struct arena_mark mark = arena_mark(scratch);
    row_t *launch_of = NULL, n = model->devices.n;
    *graphs = (struct graph_kernels){.captures = captures};
    TRY(list_launches(model, scratch, &search.launches, &launch_of, error));
    if (search.launches.n == 0) {
        arena_release(scratch, mark);
        return SUTRA_OK;
    }
    graphs->n_kernels = search.launches.first[search.launches.n];
    graphs->method = arena_zeros(arena, n, sizeof *graphs->method);
    graphs->op = rows_none(arena, n);
    graphs->module = rows_none(arena, n);
    graphs->call = rows_none(arena, n);
    graphs->capture = arena_zeros(arena, n, sizeof *graphs->capture);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n; i++)
        graphs->method[i] = launch_of[i] == ROW_NONE ? GRAPH_NONE : GRAPH_UNMATCHED;
    TRY(captures ? match_captures(&search, error) : graph_landmarks_find(model, launch_of, scratch, graphs, error));
    TRY(name_owners(model, graphs, arena, scratch, error));
    arena_release(scratch, mark);
    model->graphs = graphs;
    return SUTRA_OK;
}

void graph_kernels_free(struct graph_kernels *graphs) {
    if (graphs->has_strings)
        strings_free(&graphs->strings);
}
