/*
 * hta_operators.c - the kernels that operators launch: how often an operator launches the same kernels, and the delays.
 *
 *     hta_operators()   ATen operators with the kernels of their own launches, in launch order
 *     hta_sequences()   outermost operators with some text in their names, with all kernels below, in start order
 *
 * Both count patterns: {operator, kernel, kernel, ...} as name ids. Cost: O(n log n), O(1) for each name of a pattern,
 * and for each different pattern O(length of its text) and a sort.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/compat/hta/end_tree.h"
#include "analyze/compat/hta/hta.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"

/* ---- Patterns ---- */

struct pattern {
    uint64_t n;
    int64_t ns[2];       /* totals, of the caller */
    size_t text, length; /* names, in `texts`: of the operator, then of the kernels */
    uint32_t name;       /* of the operator */
};

struct patterns {
    struct strings keys; /* the name ids, as bytes */
    struct pattern *list;
    uint64_t capacity;
    struct buffer texts;
    uint32_t *order; /* after patterns_sort() */
};

static void patterns_free(struct patterns *patterns) {
    strings_free(&patterns->keys);
    buffer_free(&patterns->texts);
}

/* Counts the pattern of these names once more. It is valid until the next call. NULL: out of memory. */
static struct pattern *patterns_add(struct patterns *patterns, const uint32_t *names, size_t n, struct arena *arena) {
    uint32_t n_before = patterns->keys.n;
    uint32_t number = strings_intern(&patterns->keys, (const char *)names, n * sizeof *names);
    if (number == STRING_NONE ||
        !arena_grow(arena, &patterns->list, number, &patterns->capacity, sizeof *patterns->list))
        return NULL;
    struct pattern *pattern = &patterns->list[number];
    if (number == n_before)
        *pattern = (struct pattern){.name = names[0]};
    pattern->n++;
    return pattern;
}

static int compare_patterns(const void *left, const void *right, void *arg) {
    const struct patterns *patterns = arg;
    const struct pattern *a = &patterns->list[*(const uint32_t *)left];
    const struct pattern *b = &patterns->list[*(const uint32_t *)right];
    if (a->n != b->n)
        return a->n > b->n ? -1 : 1;
    size_t length = MIN(a->length, b->length);
    int order = memcmp(patterns->texts.bytes + a->text, patterns->texts.bytes + b->text, length);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

/* Writes the texts, with the character `after` after the operator and `between` between kernels, and makes the order:
 * by descending count, then by text. False: out of memory. */
static bool patterns_sort(struct patterns *patterns, const struct strings *strings, char after, const char *between,
                          struct arena *arena) {
    struct buffer *texts = &patterns->texts;
    uint32_t n = patterns->keys.n;
    patterns->order = arena_alloc(arena, n, sizeof *patterns->order);
    for (uint32_t number = 0; number < n && patterns->order; number++) {
        struct pattern *pattern = &patterns->list[number];
        const char *key = strings_text(&patterns->keys, number);
        size_t n_names = strings_length(&patterns->keys, number) / sizeof(uint32_t);
        patterns->order[number] = number;
        pattern->text = texts->length;
        for (size_t i = 0; i < n_names; i++) {
            uint32_t name;
            memcpy(&name, key + i * sizeof name, sizeof name);
            if (i == 1)
                buffer_append(texts, &after, 1);
            else if (i > 1)
                buffer_append_text(texts, between);
            buffer_append(texts, strings_text(strings, name), strings_length(strings, name));
        }
        pattern->length = texts->length - pattern->text;
    }
    if (!patterns->order || texts->failed)
        return false;
    qsort_r(patterns->order, n, sizeof *patterns->order, compare_patterns, patterns);
    return true;
}

/*
 * ---- ATen operators ----
 *
 *     aten::addmm   [.....launch....launch.....]      launch delay: from the operator's start to its first launch;
 *     kernels                   [ gemm ] [ add ]      runtime delay: from that launch to its kernel's start
 *
 * A launch belongs to the innermost enclosing operator of its thread. Operators with the same name and the same
 * kernels, in the order of their launches, are one row. Kernels without a launch are skipped. HTA uses the operator of
 * any thread that started last, and fails at a launch that has no kernel or several.
 */

enum { LAUNCH_DELAY, RUNTIME_DELAY };          /* totals of a pattern */
enum { NAME_OPERATOR = 1, NAME_LAUNCHES = 2 }; /* roles of names, for this metric */

/* Operators by thread and start, inner ones after outer ones. In HTA they are of one thread, and of operators with
 * equal starts the first of the table is last. */
struct operators {
    const struct hta_input *input;
    uint8_t *roles; /* by string */
    row_t n;
    row_t *event;
    struct tuples threads;
    row_t *first; /* of each thread, and the end */
    struct end_tree ends;
};

/* Launches with their operators and kernels, in the order of the table. */
struct operator_launches {
    row_t n;
    row_t *launch, *caller, *kernel; /* events; the caller is the operator */
    uint32_t *call;                  /* number of the operator's call */
    uint32_t n_calls;
};

static bool begins(const char *name, const char *word) {
    return strncmp(name, word, strlen(word)) == 0;
}

/* `cuda.*LaunchKernel`, where a dot is no line end, cuLaunchKernel and runFunction; HIP's launches except in HTA. */
static bool is_launch_name(const char *name, bool compat) {
    const char *rest = begins(name, "cuda") ? name + 4 : !compat && begins(name, "hip") ? name + 3 : NULL;
    const char *found = rest ? strstr(rest, "LaunchKernel") : NULL;
    bool any = rest && !compat && begins(name, "hip") && strstr(rest, "Launch");
    return any || (found && !memchr(rest, '\n', (size_t)(found - rest))) || begins(name, "cuLaunchKernel") ||
           begins(name, "runFunction");
}

static bool has_role(const struct operators *operators, row_t event, uint8_t role) {
    return operators->roles[operators->input->rows.events->name[event]] & role;
}

static struct tuple thread_of(const struct operators *operators, row_t event) {
    const struct device_events *events = operators->input->rows.events;
    if (operators->input->options.compat)
        return (struct tuple){{0}};
    return (struct tuple){{events->pid[event], events->tid[event]}};
}

static int64_t end_of(const struct operators *operators, row_t event) {
    return operators->input->rows.start[event] + operators->input->rows.dur[event];
}

static enum sutra_status sort_by(const struct operators *operators, uint64_t *keys, struct sutra_error *error) {
    const struct engine *engine = operators->input->engine;
    return engine->sort_keys(engine->state, &(struct sort_keys_step){keys, operators->event, operators->n}, error);
}

/* Finds the operators and sorts them: stable sorts by descending duration, start and thread. */
static enum sutra_status gather_operators(struct operators *operators, struct arena *arena, struct sutra_error *error) {
    const struct hta_rows *rows = &operators->input->rows;
    bool compat = operators->input->options.compat;
    uint64_t *keys = arena_alloc(arena, rows->n, sizeof *keys);
    int64_t *ends = arena_alloc(arena, rows->n, sizeof *ends);
    row_t *event = arena_alloc(arena, rows->n, sizeof *event), n = 0;
    operators->roles = arena_alloc(arena, rows->strings->n, sizeof *operators->roles);
    TRY(arena_status(arena, error));
    for (uint32_t string = 0; string < rows->strings->n; string++) {
        const char *name = strings_text(rows->strings, string);
        operators->roles[string] = (uint8_t)((begins(name, "aten::") ? NAME_OPERATOR : 0) |
                                             (is_launch_name(name, compat) ? NAME_LAUNCHES : 0));
    }
    for (row_t i = 0; i < rows->n; i++)
        if (has_role(operators, rows->list[i], NAME_OPERATOR))
            event[n++] = rows->list[i];
    operators->event = event;
    operators->n = n;
    for (row_t i = 0; i < n / 2 && compat; i++) { /* in HTA equal starts are in reverse order */
        row_t other = event[n - 1 - i];
        event[n - 1 - i] = event[i];
        event[i] = other;
    }
    for (row_t i = 0; i < n; i++)
        keys[i] = integer_sort_key(-rows->dur[event[i]]);
    if (!compat)
        TRY(sort_by(operators, keys, error));
    for (row_t i = 0; i < n; i++)
        keys[i] = integer_sort_key(rows->start[event[i]]);
    TRY(sort_by(operators, keys, error));
    for (row_t i = 0; i < n; i++) {
        keys[i] = tuples_number(&operators->threads, thread_of(operators, event[i]));
        TRY_ALLOC(keys[i] != TUPLE_NONE, error);
    }
    operators->first = arena_zeros(arena, (size_t)operators->threads.n + 1, sizeof *operators->first);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < n; i++)
        operators->first[keys[i] + 1]++;
    for (uint32_t t = 0; t < operators->threads.n; t++)
        operators->first[t + 1] += operators->first[t];
    TRY(sort_by(operators, keys, error));
    for (row_t i = 0; i < n; i++)
        ends[i] = end_of(operators, event[i]);
    return end_tree_make(&operators->ends, arena, ends, n) ? SUTRA_OK : error_memory(error);
}

/* The innermost operator that encloses a launch, or ROW_NONE. */
static row_t enclosing_operator(const struct operators *operators, row_t launch) {
    const struct hta_rows *rows = &operators->input->rows;
    uint32_t thread = tuples_find(&operators->threads, thread_of(operators, launch));
    if (thread == TUPLE_NONE)
        return ROW_NONE;
    row_t first = operators->first[thread];
    struct bisection at = {first, operators->first[thread + 1]};
    while (at.low < at.high)
        bisect(&at, rows->start[operators->event[bisect_middle(at)]] <= rows->start[launch]);
    row_t found = end_tree_last(&operators->ends, at.low, end_of(operators, launch));
    return found == ROW_NONE || found < first ? ROW_NONE : operators->event[found];
}

/* Finds the launches of operators and numbers the operators' calls. *failed: HTA fails at some launch. */
static enum sutra_status gather_launches(const struct operators *operators, struct operator_launches *found,
                                         struct arena *arena, bool *failed, struct sutra_error *error) {
    const struct hta_rows *rows = &operators->input->rows;
    bool compat = operators->input->options.compat, ok = true;
    row_t *n_kernels = arena_zeros(arena, rows->events->n, sizeof *n_kernels); /* linked to each event, */
    row_t *kernel = arena_alloc(arena, rows->events->n, sizeof *kernel);       /* and the last of them */
    found->launch = arena_alloc(arena, rows->n, sizeof *found->launch);
    found->caller = arena_alloc(arena, rows->n, sizeof *found->caller);
    found->kernel = arena_alloc(arena, rows->n, sizeof *found->kernel);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i], link = rows->link[event];
        if (!(rows->state[event] & HTA_STREAM) || link == ROW_NONE)
            continue;
        n_kernels[link]++;
        kernel[link] = event;
    }
    for (row_t i = 0; i < rows->n; i++) {
        row_t launch = rows->list[i];
        if (!has_role(operators, launch, NAME_LAUNCHES) || (n_kernels[launch] == 0 && !compat))
            continue;
        row_t caller = enclosing_operator(operators, launch);
        if (caller == ROW_NONE)
            continue;
        *failed |= n_kernels[launch] != 1 && compat;
        found->launch[found->n] = launch;
        found->caller[found->n] = caller;
        found->kernel[found->n++] = kernel[launch];
    }
    if (found->n == 0 || *failed)
        return SUTRA_OK;

    /* HTA identifies calls by thread, name and start */
    struct tuples calls = {0};
    found->call = arena_alloc(arena, found->n, sizeof *found->call);
    for (row_t i = 0; i < found->n && found->call && ok; i++) {
        row_t event = found->caller[i];
        struct tuple tuple = {{event}};
        if (compat)
            tuple = (struct tuple){{rows->events->tid[event], rows->events->name[event], rows->start[event]}};
        found->call[i] = tuples_number(&calls, tuple);
        ok = found->call[i] != TUPLE_NONE;
    }
    found->n_calls = calls.n;
    tuples_free(&calls);
    return found->call && ok ? SUTRA_OK : error_memory(error);
}

/* Partitions the launches by call, in their order, and adds the pattern of each call. False: out of memory. */
static bool add_operator_patterns(struct patterns *patterns, const struct hta_rows *rows,
                                  const struct operator_launches *found, struct arena *arena) {
    row_t *ends = arena_zeros(arena, (size_t)found->n_calls + 1, sizeof *ends);
    row_t *order = arena_alloc(arena, found->n, sizeof *order);
    uint32_t *names = arena_alloc(arena, (size_t)found->n + 1, sizeof *names);
    if (arena->failed)
        return false;
    for (row_t i = 0; i < found->n; i++)
        ends[found->call[i] + 1]++;
    for (uint32_t call = 0; call < found->n_calls; call++)
        ends[call + 1] += ends[call];
    for (row_t i = 0; i < found->n; i++)
        order[ends[found->call[i]]++] = i;
    for (uint32_t call = 0; call < found->n_calls; call++) {
        row_t first = call ? ends[call - 1] : 0;
        row_t launch = found->launch[order[first]], caller = found->caller[order[first]];
        names[0] = rows->events->name[caller];
        for (row_t i = first; i < ends[call]; i++)
            names[1 + i - first] = rows->events->name[found->kernel[order[i]]];
        struct pattern *pattern = patterns_add(patterns, names, 1 + (size_t)ends[call] - first, arena);
        if (!pattern)
            return false;
        pattern->ns[LAUNCH_DELAY] += rows->start[launch] - rows->start[caller];
        pattern->ns[RUNTIME_DELAY] += rows->start[found->kernel[order[first]]] - rows->start[launch];
    }
    return true;
}

static enum sutra_status make_operator_table(struct operators *operators, struct patterns *patterns,
                                             struct arena *arena, struct sutra_hta *hta, struct sutra_error *error) {
    const struct hta_rows *rows = &operators->input->rows;
    struct operator_launches found = {0};
    bool failed = false;
    TRY(gather_operators(operators, arena, error));
    TRY(gather_launches(operators, &found, arena, &failed, error));
    if (failed || found.n == 0) {
        hta->result.reasons[SUTRA_HTA_OPERATORS] =
            found.n ? "a launch in an operator has no kernel or several kernels: HTA fails here"
                    : "no ATen operator launches a kernel";
        return SUTRA_OK;
    }
    TRY_ALLOC(add_operator_patterns(patterns, rows, &found, arena) &&
                  patterns_sort(patterns, rows->strings, '\0', " -> ", arena),
              error);
    struct sutra_table *table = result_table_begin(&hta->result, SUTRA_HTA_OPERATORS);
    for (uint32_t i = 0; i < patterns->keys.n; i++) {
        const struct pattern *pattern = &patterns->list[patterns->order[i]];
        size_t n_name = strings_length(rows->strings, pattern->name) + 1;
        table_string(table, rows->strings, pattern->name);
        table_text(table, patterns->texts.bytes + pattern->text + n_name, pattern->length - n_name);
        table_integer(table, (int64_t)pattern->n);
        table_real(table, rounded_to(us_of(pattern->ns[LAUNCH_DELAY]) / (double)pattern->n, 3));
        table_real(table, rounded_to(us_of(pattern->ns[RUNTIME_DELAY]) / (double)pattern->n, 3));
    }
    return SUTRA_OK;
}

enum sutra_status hta_operators(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                                struct sutra_error *error) {
    struct operators operators = {.input = input};
    struct patterns patterns = {0};
    enum sutra_status status = strings_init(&patterns.keys)
                                   ? make_operator_table(&operators, &patterns, arena, hta, error)
                                   : error_memory(error);
    tuples_free(&operators.threads);
    patterns_free(&patterns);
    return status;
}

/*
 * ---- Kernel sequences ----
 *
 *     thread    [ aten::linear                ]  [ aten::linear                ]
 *                  [ aten::addmm   launch ]         [ aten::addmm   launch ]
 *     kernels                [gemm][add]                      [gemm][add]        aten::linear|gemm|add: twice
 *
 * Rows of a thread nest by their times. An operator's calls are the outermost rows whose name has the requested text;
 * the kernels of all launches below belong to the call. Calls with too few kernels are skipped.
 *
 * In HTA the calls are only the rows of the least depth in all threads, where the backward thread is below the forward
 * thread's annotation of backward, or its step; and there are no calls if a row with such a name is in no thread. HTA
 * fails at durations below 0, which all traces with nanoseconds have; here they are 0.
 */

enum { KERNELS, CALLS }; /* totals of a pattern */

#define DEPTH_NONE (-1)

struct sequences {
    const struct hta_input *input;
    bool compat;
    uint8_t *matches; /* by string: it has the text */
    struct hta_call_tree tree;
    int32_t *depth;    /* by event in a thread, for HTA only */
    int32_t min_depth; /* of matching rows */
    row_t *root;       /* by event: the enclosing call, or ROW_NONE */
};

static bool matches(const struct sequences *sequences, row_t event) {
    return sequences->matches[sequences->input->rows.events->name[event]];
}

static void visit_depth(void *arg, row_t event, row_t parent) {
    struct sequences *sequences = arg;
    int32_t depth = parent == ROW_NONE ? 0 : sequences->depth[parent] + 1;
    sequences->depth[event] = depth;
    if (matches(sequences, event) && depth < sequences->min_depth)
        sequences->min_depth = depth;
}

/* Calls are matching rows that no call encloses, in HTA of the least depth. */
static void visit_root(void *arg, row_t event, row_t parent) {
    struct sequences *sequences = arg;
    row_t root = parent == ROW_NONE ? ROW_NONE : sequences->root[parent];
    bool is_call = matches(sequences, event) && root == ROW_NONE &&
                   (!sequences->compat || sequences->depth[event] == sequences->min_depth);
    sequences->root[event] = is_call ? event : root;
}

static enum sutra_status find_roots(struct sequences *sequences, struct arena *arena, struct sutra_error *error) {
    const struct hta_rows *rows = &sequences->input->rows;
    size_t n = rows->events->n;
    sequences->root = arena_alloc(arena, n, sizeof *sequences->root);
    sequences->depth = arena_alloc(arena, sequences->compat ? n : 0, sizeof *sequences->depth);
    TRY(arena_status(arena, error));
    memset(sequences->root, 0xff, n * sizeof *sequences->root);
    sequences->min_depth = INT32_MAX;
    if (sequences->compat) {
        memset(sequences->depth, 0xff, n * sizeof *sequences->depth);
        call_tree_visit(&sequences->tree, visit_depth, sequences);
    }
    /* the depth of a kernel is the depth of its launch plus one; other rows outside of threads have no depth */
    for (row_t i = 0; i < rows->n && sequences->compat; i++) {
        row_t event = rows->list[i], link = rows->link[event];
        if (call_tree_has(sequences->input, event) || !matches(sequences, event))
            continue;
        bool launched = rows->stream[event] > 0 && link != ROW_NONE && link != 0;
        int32_t depth = launched && sequences->depth[link] != DEPTH_NONE ? sequences->depth[link] + 1 : DEPTH_NONE;
        sequences->min_depth = MIN(depth, sequences->min_depth);
    }
    if (sequences->min_depth >= 0)
        call_tree_visit(&sequences->tree, visit_root, sequences);
    return SUTRA_OK;
}

static row_t root_of_kernel(const struct sequences *sequences, row_t event) {
    const struct hta_rows *rows = &sequences->input->rows;
    row_t link = rows->link[event];
    bool on_stream = rows->stream[event] >= (sequences->compat ? 1 : 0);
    return on_stream && link != ROW_NONE && link != 0 ? sequences->root[link] : ROW_NONE;
}

/* Sorts the kernels by call and start, and adds the pattern of each call. */
static enum sutra_status add_sequence_patterns(const struct sequences *sequences, struct patterns *patterns,
                                               struct arena *arena, struct sutra_error *error) {
    const struct hta_rows *rows = &sequences->input->rows;
    const struct hta_kernels *all = &sequences->input->kernels;
    const struct engine *engine = sequences->input->engine;
    uint64_t *keys = arena_alloc(arena, all->n, sizeof *keys);
    row_t *kernel = arena_alloc(arena, all->n, sizeof *kernel), n = 0;
    uint32_t *names = arena_alloc(arena, (size_t)all->n + 1, sizeof *names);
    TRY(arena_status(arena, error));
    for (row_t i = 0; i < all->n; i++) { /* by start, then by file position */
        row_t root = root_of_kernel(sequences, all->event[i]);
        if (root == ROW_NONE)
            continue;
        keys[n] = root;
        kernel[n++] = all->event[i];
    }
    TRY(engine->sort_keys(engine->state, &(struct sort_keys_step){keys, kernel, n}, error));
    for (row_t first = 0, end; first < n; first = end) {
        row_t root = root_of_kernel(sequences, kernel[first]);
        int64_t ns = 0;
        names[0] = rows->events->name[root];
        for (end = first; end < n && root_of_kernel(sequences, kernel[end]) == root; end++) {
            names[1 + end - first] = rows->events->name[kernel[end]];
            ns += hta_end(rows, kernel[end]) - rows->start[kernel[end]];
        }
        if (end - first < sequences->input->options.sequence_kernels)
            continue;
        struct pattern *pattern = patterns_add(patterns, names, 1 + (size_t)(end - first), arena);
        TRY_ALLOC(pattern, error);
        pattern->ns[KERNELS] += ns;
        pattern->ns[CALLS] += hta_end(rows, root) - rows->start[root];
    }
    return SUTRA_OK;
}

static enum sutra_status make_sequence_table(struct sequences *sequences, struct patterns *patterns,
                                             struct arena *arena, struct sutra_hta *hta, struct sutra_error *error) {
    const struct hta_input *input = sequences->input;
    const struct strings *strings = input->rows.strings;
    sequences->matches = arena_alloc(arena, strings->n, sizeof *sequences->matches);
    TRY(arena_status(arena, error));
    for (uint32_t string = 0; string < strings->n; string++)
        sequences->matches[string] = text_compare(strings, string, TEXT_HAS, input->options.sequences_of);
    TRY(call_tree_make(&sequences->tree, input, arena, error));
    TRY(find_roots(sequences, arena, error));
    TRY(add_sequence_patterns(sequences, patterns, arena, error));
    TRY_ALLOC(patterns_sort(patterns, strings, '|', "|", arena), error);
    if (patterns->keys.n == 0) {
        hta->result.reasons[SUTRA_HTA_SEQUENCES] = "no operator with this name launches that many kernels";
        return SUTRA_OK;
    }
    struct sutra_table *table = result_table_begin(&hta->result, SUTRA_HTA_SEQUENCES);
    for (uint32_t i = 0; i < patterns->keys.n; i++) {
        const struct pattern *pattern = &patterns->list[patterns->order[i]];
        table_text(table, patterns->texts.bytes + pattern->text, pattern->length);
        table_integer(table, (int64_t)pattern->n);
        table_number(table, us_of(pattern->ns[KERNELS]));
        table_number(table, us_of(pattern->ns[CALLS]));
    }
    return SUTRA_OK;
}

enum sutra_status hta_sequences(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                                struct sutra_error *error) {
    struct sequences sequences = {.input = input, .compat = input->options.compat};
    struct patterns patterns = {0};
    enum sutra_status status = strings_init(&patterns.keys)
                                   ? make_sequence_table(&sequences, &patterns, arena, hta, error)
                                   : error_memory(error);
    call_tree_free(&sequences.tree);
    patterns_free(&patterns);
    return status;
}
