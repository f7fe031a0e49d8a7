/*
 * sequences.c - which kernels calls of an operator launch, in the order in which they run, and how often the same.
 *
 *     thread    [ aten::linear                ]  [ aten::linear                ]
 *                  [ aten::addmm   launch ]         [ aten::addmm   launch ]
 *     kernels                [gemm][add]                      [gemm][add]        aten::linear|gemm|add: twice
 *
 * Rows of a thread nest by their times. An operator's calls are the outermost rows whose name has the text that is
 * looked for; all kernels of launches within are theirs. Those with too few kernels are left out. O(n log n).
 *
 * In the reference's way the calls are only those of the least depth of all threads, where the backward thread hangs
 * below the forward thread's annotation of backward, or its step, and there are none where a row has such a name that
 * is in no thread. It stops at durations below 0, which all traces with nanoseconds have; here they are 0.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/hta/call_tree.h"
#include "analyze/hta/sequences.h"
#include "base/error.h"

/*
 * Patterns by their numbers of names, and their texts in order.
 */

bool patterns_init(struct patterns *patterns) {
    *patterns = (struct patterns){0};
    return strings_init(&patterns->keys);
}

void patterns_free(struct patterns *patterns) {
    strings_free(&patterns->keys);
    buffer_free(&patterns->texts);
}

struct pattern *patterns_take(struct patterns *patterns, const uint32_t *names, size_t n, struct arena *arena) {
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

static void write_text(struct patterns *patterns, uint32_t number, const struct strings *strings, const char *behind,
                       size_t n_behind, const char *between) {
    struct buffer *texts = &patterns->texts;
    struct pattern *pattern = &patterns->list[number];
    const char *key = strings_text(&patterns->keys, number);
    size_t n = strings_length(&patterns->keys, number) / sizeof(uint32_t);
    pattern->text = texts->length;
    for (size_t i = 0; i < n; i++) {
        uint32_t name;
        memcpy(&name, key + i * sizeof name, sizeof name);
        if (i == 1)
            buffer_append(texts, behind, n_behind);
        else if (i > 1)
            buffer_append(texts, between, strlen(between));
        buffer_append(texts, strings_text(strings, name), strings_length(strings, name));
    }
    pattern->length = texts->length - pattern->text;
}

static int compare_patterns(const void *left, const void *right, void *arg) {
    const struct patterns *patterns = arg;
    const struct pattern *a = &patterns->list[*(const uint32_t *)left];
    const struct pattern *b = &patterns->list[*(const uint32_t *)right];
    if (a->n != b->n)
        return a->n > b->n ? -1 : 1;
    size_t length = a->length < b->length ? a->length : b->length;
    int order = memcmp(patterns->texts.bytes + a->text, patterns->texts.bytes + b->text, length);
    return order ? order : (a->length > b->length) - (a->length < b->length);
}

bool patterns_sort(struct patterns *patterns, const struct strings *strings, const char *behind, size_t n_behind,
                   const char *between, struct arena *arena) {
    uint32_t n = patterns->keys.n;
    patterns->order = arena_take(arena, n, sizeof *patterns->order);
    for (uint32_t i = 0; i < n && patterns->order; i++) {
        patterns->order[i] = i;
        write_text(patterns, i, strings, behind, n_behind, between);
    }
    if (!patterns->order || patterns->texts.failed)
        return false;
    qsort_r(patterns->order, n, sizeof *patterns->order, compare_patterns, patterns);
    return true;
}

/* Sums of a pattern. */
enum { KERNELS, CALLS };

#define DEPTH_NONE (-1)

struct sequences {
    const struct hta_input *input;
    uint8_t *wanted; /* of each string: it has the text */

    struct hta_call_tree tree;
    int32_t *depth; /* of each event in a thread, where the reference is followed; else of none */
    int32_t least;  /* the least depth of a wanted row */
    row_t *root;    /* of each event: the call that it is in, or ROW_NONE */
};

static bool compat(const struct sequences *sequences) {
    return sequences->input->options.compat;
}

static bool is_wanted(const struct sequences *sequences, row_t event) {
    return sequences->wanted[sequences->input->rows.events->name[event]];
}

/* ---- Calls of the operator ---- */

static void visit_depth(void *arg, row_t event, row_t above) {
    struct sequences *sequences = arg;
    int32_t depth = above == ROW_NONE ? 0 : sequences->depth[above] + 1;
    sequences->depth[event] = depth;
    if (is_wanted(sequences, event) && depth < sequences->least)
        sequences->least = depth;
}

/* The calls: rows of the least depth, or those without a call around them. */
static void visit_root(void *arg, row_t event, row_t above) {
    struct sequences *sequences = arg;
    row_t root = above == ROW_NONE ? ROW_NONE : sequences->root[above];
    bool begins = is_wanted(sequences, event) && root == ROW_NONE &&
                  (!compat(sequences) || sequences->depth[event] == sequences->least);
    sequences->root[event] = begins ? event : root;
}

/* The depth of a kernel is that of its launch and one more; what is in no thread has none. */
static void lower_by_others(struct sequences *sequences) {
    const struct hta_rows *rows = &sequences->input->rows;
    for (row_t i = 0; i < rows->n; i++) {
        row_t event = rows->list[i], link = rows->link[event];
        if (call_tree_has(sequences->input, event) || !is_wanted(sequences, event))
            continue;
        bool launched = rows->stream[event] > 0 && link != ROW_NONE && link != 0;
        int32_t depth = launched && sequences->depth[link] != DEPTH_NONE ? sequences->depth[link] + 1 : DEPTH_NONE;
        sequences->least = depth < sequences->least ? depth : sequences->least;
    }
}

static enum sutra_status find_roots(struct sequences *sequences, struct arena *arena, struct sutra_error *error) {
    const struct hta_rows *rows = &sequences->input->rows;
    size_t n = rows->events->n;
    sequences->root = arena_take(arena, n, sizeof *sequences->root);
    sequences->depth = arena_take(arena, compat(sequences) ? n : 0, sizeof *sequences->depth);
    if (arena->failed)
        return error_memory(error);
    memset(sequences->root, 0xff, n * sizeof *sequences->root);
    sequences->least = INT32_MAX;
    if (compat(sequences)) {
        memset(sequences->depth, 0xff, n * sizeof *sequences->depth);
        call_tree_visit(&sequences->tree, visit_depth, sequences);
        lower_by_others(sequences);
    }
    if (sequences->least >= 0)
        call_tree_visit(&sequences->tree, visit_root, sequences);
    return SUTRA_OK;
}

/* ---- Kernels of calls ---- */

/* Kernels with their calls, by call and start. */
struct call_kernels {
    row_t n;
    row_t *kernel;
};

static row_t root_of_kernel(const struct sequences *sequences, row_t event) {
    const struct hta_rows *rows = &sequences->input->rows;
    row_t link = rows->link[event];
    bool on_stream = rows->stream[event] >= (compat(sequences) ? 1 : 0);
    return on_stream && link != ROW_NONE && link != 0 ? sequences->root[link] : ROW_NONE;
}

static enum sutra_status gather_kernels(const struct sequences *sequences, struct call_kernels *kernels,
                                        struct arena *arena, struct sutra_error *error) {
    const struct hta_kernels *all = &sequences->input->kernels;
    const struct engine *engine = sequences->input->engine;
    uint64_t *keys = arena_take(arena, all->n, sizeof *keys);
    kernels->kernel = arena_take(arena, all->n, sizeof *kernels->kernel);
    if (arena->failed)
        return error_memory(error);
    for (row_t i = 0; i < all->n; i++) { /* by start; those of one start as in the file */
        row_t root = root_of_kernel(sequences, all->event[i]);
        if (root == ROW_NONE)
            continue;
        keys[kernels->n] = root;
        kernels->kernel[kernels->n++] = all->event[i];
    }
    return engine->sort_keys(engine->state, &(struct sort_keys_step){keys, kernels->kernel, kernels->n}, error);
}

/* Takes the call of kernels[first..end). */
static bool take_call(const struct sequences *sequences, struct patterns *patterns, const row_t *kernel, row_t n,
                      uint32_t *names, struct arena *arena) {
    const struct hta_rows *rows = &sequences->input->rows;
    row_t root = root_of_kernel(sequences, kernel[0]);
    int64_t ns = 0;
    names[0] = rows->events->name[root];
    for (row_t i = 0; i < n; i++) {
        names[1 + i] = rows->events->name[kernel[i]];
        ns += hta_end(rows, kernel[i]) - rows->start[kernel[i]];
    }
    struct pattern *pattern = patterns_take(patterns, names, 1 + (size_t)n, arena);
    if (!pattern)
        return false;
    pattern->ns[KERNELS] += ns;
    pattern->ns[CALLS] += hta_end(rows, root) - rows->start[root];
    return true;
}

static enum sutra_status take_calls(const struct sequences *sequences, struct patterns *patterns, struct arena *arena,
                                    struct sutra_error *error) {
    struct call_kernels kernels = {0};
    enum sutra_status status = gather_kernels(sequences, &kernels, arena, error);
    uint32_t *names = arena_take(arena, (size_t)kernels.n + 1, sizeof *names);
    bool ok = names != NULL;
    for (row_t first = 0, end; first < kernels.n && ok && !status; first = end) {
        row_t root = root_of_kernel(sequences, kernels.kernel[first]);
        for (end = first + 1; end < kernels.n && root_of_kernel(sequences, kernels.kernel[end]) == root;)
            end++;
        if (end - first >= sequences->input->options.sequence_kernels)
            ok = take_call(sequences, patterns, kernels.kernel + first, end - first, names, arena);
    }
    return status || ok ? status : error_memory(error);
}

static enum sutra_status add_rows(const struct sequences *sequences, struct patterns *patterns, struct arena *arena,
                                  struct sutra_hta *hta, struct sutra_error *error) {
    if (!patterns_sort(patterns, sequences->input->rows.strings, "|", 1, "|", arena))
        return error_memory(error);
    if (patterns->keys.n == 0) {
        hta->reasons[SUTRA_HTA_SEQUENCES] = "no operator with this name launches that many kernels";
        return SUTRA_OK;
    }
    struct sutra_table *table = hta_table_begin(hta, SUTRA_HTA_SEQUENCES);
    for (uint32_t i = 0; i < patterns->keys.n; i++) {
        const struct pattern *pattern = &patterns->list[patterns->order[i]];
        table_text(table, patterns->texts.bytes + pattern->text, pattern->length);
        table_integer(table, (int64_t)pattern->n);
        table_number(table, us_of(pattern->ns[KERNELS]));
        table_number(table, us_of(pattern->ns[CALLS]));
    }
    return SUTRA_OK;
}

/* ---- All of it ---- */

static enum sutra_status find_wanted(struct sequences *sequences, struct arena *arena, struct sutra_error *error) {
    const struct strings *strings = sequences->input->rows.strings;
    sequences->wanted = arena_take(arena, strings->n, sizeof *sequences->wanted);
    if (arena->failed)
        return error_memory(error);
    for (uint32_t string = 0; string < strings->n; string++)
        sequences->wanted[string] = text_compare(strings, string, TEXT_HAS, sequences->input->options.sequences_of);
    return call_tree_make(&sequences->tree, sequences->input, arena, error);
}

static enum sutra_status make_table(struct sequences *sequences, struct patterns *patterns, struct arena *arena,
                                    struct sutra_hta *hta, struct sutra_error *error) {
    enum sutra_status status = find_wanted(sequences, arena, error);
    if (!status)
        status = find_roots(sequences, arena, error);
    if (!status)
        status = take_calls(sequences, patterns, arena, error);
    return status ? status : add_rows(sequences, patterns, arena, hta, error);
}

enum sutra_status hta_sequences(const struct hta_input *input, struct arena *arena, struct sutra_hta *hta,
                                struct sutra_error *error) {
    struct sequences sequences = {.input = input};
    struct patterns patterns;
    enum sutra_status status =
        patterns_init(&patterns) ? make_table(&sequences, &patterns, arena, hta, error) : error_memory(error);
    call_tree_free(&sequences.tree);
    patterns_free(&patterns);
    return status;
}
