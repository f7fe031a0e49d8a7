/*
 * write_text.c - the call tree for people: an indented line for each event, thread by thread.
 *
 *     thread 59811
 *            total us         self us       device us   event
 *            1234.000         100.000         880.000   aten::linear
 *            ...                                          cudaLaunchKernel
 *
 * What is deeper than the options say, or takes less time on host and device, is left out with all below it, and
 * counted.
 */
#include "text/counted.h"
#include "text/short_name.h"
#include "tree/tree.h"

struct tree_page {
    const struct sutra_tree *tree;
    const struct sutra_tree_write_options *options;
    struct text_out *text;
    uint64_t n_deep, n_short, n_cut, n_lines;
};

#define TIMES_COLUMNS 44 /* before the indented name */
#define NAME_LEAST    20 /* columns of a name, however deep it stands */

static bool is_too_short(const struct tree_page *page, row_t i) {
    const struct sutra_tree *tree = page->tree;
    double us = (double)(tree->host[i] > tree->device[i] ? tree->host[i] : tree->device[i]) / 1e3;
    return us < page->options->min_us;
}

static void write_us(struct text_out *text, int64_t ns) {
    if (ns)
        out_format(text, "%14.3f", (double)ns / 1e3);
    else
        out_add(text, "             -");
}

/* Whether there is room for a line, which it then takes. */
static bool take_line(struct tree_page *page) {
    return !page->options->max_lines || page->n_lines++ < page->options->max_lines;
}

/* Indents a name, and shortens it where it has to fit a terminal. */
static void write_name(const struct tree_page *page, uint32_t depth, uint32_t name) {
    const struct strings *strings = page->tree->profile->strings;
    uint32_t n_columns = page->options->n_columns, most = 200;
    if (n_columns)
        most = n_columns > TIMES_COLUMNS + NAME_LEAST ? (n_columns - TIMES_COLUMNS - NAME_LEAST) / 2 : 0;
    depth = depth < most ? depth : most;
    for (uint32_t level = 0; level < depth; level++)
        out_add(page->text, "  ");
    if (n_columns)
        out_add(page->text, short_name(strings_text(strings, name), n_columns - TIMES_COLUMNS - 2 * depth).text);
    else
        out_name(page->text, strings_text(strings, name), strings_length(strings, name));
}

static void write_line(const struct tree_page *page, row_t i) {
    const struct sutra_tree *tree = page->tree;
    write_us(page->text, tree->host[i]);
    write_us(page->text, tree->host_self[i]);
    write_us(page->text, tree->device[i]);
    out_add(page->text, "  ");
    write_name(page, tree->depth[i], tree->profile->name[tree->sorted.order[i]]);
    out_add(page->text, "\n");
    out_step(page->text);
}

/* The last position of a subtree in pre-order, plus one: where the next one at most as deep stands. */
static row_t skip(const struct sutra_tree *tree, row_t k) {
    uint32_t depth = tree->depth[tree->preorder[k++]];
    while (k < tree->profile->n && tree->depth[tree->preorder[k]] > depth)
        k++;
    return k;
}

/* Writes a root with all below it that is shown. */
static void write_root(struct tree_page *page, row_t k) {
    const struct sutra_tree *tree = page->tree;
    row_t end = skip(tree, k);
    while (k < end) {
        row_t i = tree->preorder[k];
        bool deep = page->options->max_depth && tree->depth[i] >= page->options->max_depth;
        if (!deep && !is_too_short(page, i)) {
            if (take_line(page))
                write_line(page, i);
            else
                page->n_cut++;
            k++;
            continue;
        }
        row_t next = skip(tree, k);
        *(deep ? &page->n_deep : &page->n_short) += next - k;
        k = next;
    }
}

static void write_thread(struct tree_page *page, row_t root) {
    const struct sutra_tree *tree = page->tree;
    for (int line = 0; line < 2; line++)
        if (!take_line(page))
            return;
    out_format(page->text, "thread ");
    write_thread_name(tree->profile, tree->sorted.order[root], page->text);
    out_add(page->text, "\n      total us       self us     device us  event\n");
}

/* Where roots stand in pre-order, thread by thread: n_roots of them, in an arena. NULL: out of memory. */
static row_t *list_roots(const struct sutra_tree *tree, struct arena *arena) {
    uint32_t n_threads = tree->profile->n_threads;
    const uint32_t *thread = tree->sorted.events.thread;
    row_t *roots = arena_take(arena, tree->report.n_roots, sizeof *roots);
    row_t *begin = arena_zeros(arena, (size_t)n_threads + 1, sizeof *begin);
    if (arena->failed)
        return NULL;
    for (row_t k = 0; k < tree->profile->n; k++)
        if (tree->depth[tree->preorder[k]] == 0)
            begin[thread[tree->preorder[k]] + 1]++;
    for (uint32_t i = 0; i < n_threads; i++)
        begin[i + 1] += begin[i];
    for (row_t k = 0; k < tree->profile->n; k++)
        if (tree->depth[tree->preorder[k]] == 0)
            roots[begin[thread[tree->preorder[k]]]++] = k;
    return roots;
}

static void write_roots(struct tree_page *page, const row_t *roots) {
    const struct sutra_tree *tree = page->tree;
    const uint32_t *thread = tree->sorted.events.thread;
    for (row_t r = 0; r < tree->report.n_roots; r++) {
        row_t root = tree->preorder[roots[r]];
        if (r == 0 || thread[root] != thread[tree->preorder[roots[r - 1]]])
            write_thread(page, root);
        write_root(page, roots[r]);
    }
}

bool write_tree_text(const void *written, struct text_out *text) {
    const struct tree_written *of = written;
    const struct sutra_tree *tree = of->tree;
    struct tree_page page = {.tree = tree, .options = of->options, .text = text};
    struct arena scratch = {0};
    const row_t *roots = list_roots(tree, &scratch);
    if (roots)
        write_roots(&page, roots);
    arena_free(&scratch);
    if (!roots)
        return false;
    if (page.n_cut)
        out_format(text, "%s omitted after the first %llu lines\n",
                   counted_text(page.n_cut, "event is", "events are").text, (unsigned long long)of->options->max_lines);
    if (page.n_deep)
        out_format(text, "%s deeper than level %llu\n", counted_text(page.n_deep, "event is", "events are").text,
                   (unsigned long long)of->options->max_depth);
    if (page.n_short)
        out_format(text, "%s less than %g us, or %s nested in an event that does\n",
                   counted_text(page.n_short, "event takes", "events take").text, of->options->min_us,
                   page.n_short == 1 ? "is" : "are");
    return true;
}
