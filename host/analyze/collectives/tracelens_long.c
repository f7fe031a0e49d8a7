/*
 * tracelens_long.c - ids of TraceLens' rows, the table of all rows, that of each rank's kinds; and what all its tables
 * share.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/collectives/tracelens.h"
#include "analyze/table.h"
#include "base/error.h"
#include "columns/column.h"

static int compare_numbers(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

static int compare_reals(double a, double b) {
    return (a > b) - (a < b);
}

/* ---- What all share ---- */

static bool is_text(const struct nccl_work *work, uint32_t text, const char *words) {
    return text && strcmp(strings_text(&work->all.strings, text - 1), words) == 0;
}

enum nccl_kind nccl_kind_of(const struct nccl_work *work, const struct nccl_row *row) {
    static const struct {
        const char *name;
        enum nccl_kind kind;
    } kinds[] = {{"allreduce", NCCL_ALL_REDUCE},
                 {"allreduce_coalesced", NCCL_ALL_REDUCE},
                 {"reducescatter", NCCL_REDUCE_SCATTER},
                 {"_reduce_scatter_base", NCCL_REDUCE_SCATTER},
                 {"reduce_scatter_tensor_coalesced", NCCL_REDUCE_SCATTER},
                 {"allgather", NCCL_ALL_GATHER},
                 {"all_gather", NCCL_ALL_GATHER},
                 {"_allgather_base", NCCL_ALL_GATHER},
                 {"all_gather_into_tensor_coalesced", NCCL_ALL_GATHER},
                 {"allgather_into_tensor_coalesced", NCCL_ALL_GATHER},
                 {"all_to_all", NCCL_ALL_TO_ALL},
                 {"all_to_allv", NCCL_ALL_TO_ALL_V}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (is_text(work, row->text[NCCL_WHAT], kinds[i].name))
            return kinds[i].kind;
    return NCCL_NONE;
}

double nccl_megabytes(const struct nccl_work *work, const struct nccl_row *row, double n_elements) {
    static const struct {
        const char *name;
        double bytes;
    } types[] = {{"Float", 4}, {"Int", 4},    {"Long", 8}, {"BFloat16", 2}, {"Bool", 1},
                 {"Byte", 1},  {"Double", 8}, {"Half", 2}, {"Short", 2}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is_text(work, row->text[NCCL_TYPE], types[i].name))
            return isnan(row->n_in) ? (double)NAN : n_elements * types[i].bytes / (1024.0 * 1024.0);
    return (double)NAN;
}

struct sutra_table *nccl_table_begin(struct nccl_work *work, enum sutra_collectives_table id, const char *name,
                                     const struct column_spec *columns, uint32_t n) {
    struct sutra_table *table = &work->of->tables[id];
    table_init(table, name, columns, n);
    table->verbatim = true;
    work->of->made[id] = true;
    return table;
}

void nccl_put_text(const struct nccl_work *work, struct sutra_table *table, const struct nccl_row *row,
                   enum nccl_text text) {
    uint32_t string = row->text[text];
    if (text == NCCL_GROUP && !string)
        table_words(table, work->simplified ? "all" : "Unknown_Group");
    else
        table_text(table, string ? strings_text(&work->all.strings, string - 1) : "",
                   string ? strings_length(&work->all.strings, string - 1) : 0);
}

void nccl_put_id(const struct nccl_work *work, struct sutra_table *table, const struct nccl_row *row) {
    uint32_t string = row->text[NCCL_GROUP];
    const char *group = work->simplified ? "" : string ? strings_text(&work->all.strings, string - 1) : "Unknown_Group";
    size_t size = strlen(group) + 16;
    char *text = malloc(size);
    table->failed |= !text;
    if (!text)
        return;
    int n = snprintf(text, size, "%s%s%" PRIu32, group, work->simplified ? "" : "_", row->index);
    table_text(table, text, (size_t)n);
    free(text);
}

int nccl_compare_texts(const struct nccl_work *work, const struct nccl_row *a, const struct nccl_row *b,
                       enum nccl_text text, const char *missing) {
    const char *of_a = a->text[text] ? strings_text(&work->all.strings, a->text[text] - 1) : missing;
    const char *of_b = b->text[text] ? strings_text(&work->all.strings, b->text[text] - 1) : missing;
    return strcmp(of_a, of_b);
}

const char *nccl_column_name(struct nccl_work *work, uint32_t rank, const char *what) {
    size_t size = strlen(what) + 24;
    char *name = arena_take(work->arena, size, 1);
    if (name)
        snprintf(name, size, "rank_%" PRIu32 "_%s", rank, what);
    return name;
}

/* Rows by a value; `arg` is 1 or, for falling values, -1. */
struct nccl_sorted {
    double value;
    uint64_t row;
    int sign;
};

static int compare_sorted(const void *left, const void *right) {
    const struct nccl_sorted *a = left, *b = right;
    int order = a->sign * compare_reals(a->value, b->value);
    return order ? order : compare_numbers(a->row, b->row);
}

void nccl_sort(struct nccl_work *work, struct sutra_table *table, uint32_t column, bool rising) {
    struct nccl_sorted *rows = arena_take(work->arena, table->n_rows, sizeof *rows);
    uint64_t *order = arena_take(work->arena, table->n_rows, sizeof *order);
    table->failed |= work->arena->failed;
    if (table->failed)
        return;
    for (uint64_t i = 0; i < table->n_rows; i++)
        rows[i] = (struct nccl_sorted){table_get_real(table, column, i), i, rising ? 1 : -1};
    qsort(rows, table->n_rows, sizeof *rows, compare_sorted);
    for (uint64_t i = 0; i < table->n_rows; i++)
        order[i] = rows[i].row;
    table_reorder(table, order);
}

/* ---- Ids ---- */

static bool translate_row(struct nccl_rows *to, const struct nccl_rows *from, struct nccl_row row, uint32_t rank) {
    for (int i = 0; i < N_NCCL_TEXTS; i++) {
        if (row.text[i] == 0)
            continue;
        uint32_t string = row.text[i] - 1;
        uint32_t kept =
            strings_intern(&to->strings, strings_text(&from->strings, string), strings_length(&from->strings, string));
        if (kept == STRING_NONE)
            return false;
        row.text[i] = kept + 1;
    }
    row.rank = rank;
    if (!column_grow(&to->list, to->n, &to->capacity, sizeof *to->list))
        return false;
    to->list[to->n++] = row;
    return true;
}

/* All rows, those of the first trace of the list first. */
static bool join_rows(struct nccl_work *work) {
    bool done = strings_init(&work->all.strings);
    for (size_t i = 0; i < work->of->tasks.n && done; i++) {
        struct collective_part *part = collective_part_of(work->of, i);
        for (uint64_t k = 0; part->nccl && k < part->nccl->n && done; k++)
            done = translate_row(&work->all, part->nccl, part->nccl->list[k], (uint32_t)i);
        nccl_rows_free(part->nccl);
        part->nccl = NULL;
    }
    return done;
}

/* No row tells its group, and each rank has one stream. */
static bool is_simplified(const struct nccl_work *work) {
    double stream = (double)NAN;
    for (uint64_t i = 0; i < work->all.n; i++) {
        const struct nccl_row *row = &work->all.list[i];
        if (row->text[NCCL_GROUP] && !is_text(work, row->text[NCCL_GROUP], "Unknown_Group"))
            return false;
        if (i > 0 && row->rank != work->all.list[i - 1].rank)
            stream = (double)NAN;
        if (!isnan(row->stream) && !isnan(stream) && row->stream != stream)
            return false;
        stream = isnan(row->stream) ? stream : row->stream;
    }
    return true;
}

/* What rows are put in order by. */
struct nccl_key {
    uint32_t group, rank, index;
    uint64_t row, id_first;
    double ts;
};

static int compare_in_group(const void *left, const void *right) {
    const struct nccl_key *a = left, *b = right;
    int order = compare_numbers(a->group, b->group);
    order = order ? order : compare_numbers(a->rank, b->rank);
    order = order ? order : compare_reals(a->ts, b->ts);
    return order ? order : compare_numbers(a->row, b->row);
}

static int compare_ids(const void *left, const void *right) {
    const struct nccl_key *a = left, *b = right;
    int order = compare_numbers(a->group, b->group);
    order = order ? order : compare_numbers(a->index, b->index);
    return order ? order : compare_numbers(a->row, b->row);
}

static int compare_firsts(const void *left, const void *right) {
    const struct nccl_key *a = left, *b = right;
    int order = compare_numbers(a->id_first, b->id_first);
    return order ? order : compare_numbers(a->row, b->row);
}

/* The group's name as TraceLens fills it in: one that is not told is like one that is called so. */
static uint32_t group_key(const struct nccl_work *work, const struct nccl_row *row) {
    bool unknown = work->simplified || is_text(work, row->text[NCCL_GROUP], "Unknown_Group");
    return unknown ? 0 : row->text[NCCL_GROUP];
}

static bool find_ids(struct nccl_work *work) {
    uint64_t n = work->all.n;
    struct nccl_key *keys = arena_take(work->arena, n, sizeof *keys);
    work->order = arena_take(work->arena, n, sizeof *work->order);
    work->first = arena_take(work->arena, n + 1, sizeof *work->first);
    if (work->arena->failed)
        return false;
    for (uint64_t i = 0; i < n; i++) {
        const struct nccl_row *row = &work->all.list[i];
        keys[i] = (struct nccl_key){.group = group_key(work, row), .rank = row->rank, .row = i, .ts = row->ts};
    }
    if (n > 0)
        qsort(keys, n, sizeof *keys, compare_in_group);
    for (uint64_t i = 0; i < n; i++) {
        bool goes_on = i > 0 && keys[i].group == keys[i - 1].group && keys[i].rank == keys[i - 1].rank;
        keys[i].index = work->all.list[keys[i].row].index = goes_on ? keys[i - 1].index + 1 : 0;
    }
    if (n > 0)
        qsort(keys, n, sizeof *keys, compare_ids);
    for (uint64_t i = 0; i < n; i++) {
        bool same = i > 0 && keys[i].group == keys[i - 1].group && keys[i].index == keys[i - 1].index;
        keys[i].id_first = same ? keys[i - 1].id_first : keys[i].row;
    }
    if (n > 0)
        qsort(keys, n, sizeof *keys, compare_firsts);
    for (uint64_t i = 0; i < n; i++) {
        if (i == 0 || keys[i].id_first != keys[i - 1].id_first)
            work->first[work->n_ids++] = i;
        work->order[i] = keys[i].row;
    }
    work->first[work->n_ids] = n;
    return true;
}

/* ---- Long tables ---- */

#define REAL SUTRA_COLUMN_REAL
#define TEXT SUTRA_COLUMN_TEXT

static void put_all(struct nccl_work *work) {
    static const struct column_spec columns[] = {{"collective_id", TEXT},
                                                 {"index_in_group", SUTRA_COLUMN_INTEGER},
                                                 {"rank", SUTRA_COLUMN_INTEGER},
                                                 {"Process Group Name", TEXT},
                                                 {"Process Group Ranks", TEXT},
                                                 {"Collective name", TEXT},
                                                 {"Group size", REAL},
                                                 {"dtype", TEXT},
                                                 {"In msg nelems", REAL},
                                                 {"In msg size (MB)", REAL},
                                                 {"Out msg nelems", REAL},
                                                 {"Out msg size (MB)", REAL},
                                                 {"In split size", TEXT},
                                                 {"Out split size", TEXT},
                                                 {"stream", REAL},
                                                 {"ts", REAL},
                                                 {"dur", REAL}};
    struct sutra_table *table =
        nccl_table_begin(work, SUTRA_COLLECTIVES_NCCL_LONG, "nccl_long", columns, sizeof columns / sizeof *columns);
    for (uint64_t i = 0; i < work->all.n; i++) {
        const struct nccl_row *row = &work->all.list[i];
        nccl_put_id(work, table, row);
        table_integer(table, row->index);
        table_integer(table, row->rank);
        nccl_put_text(work, table, row, NCCL_GROUP);
        nccl_put_text(work, table, row, NCCL_MEMBERS);
        nccl_put_text(work, table, row, NCCL_WHAT);
        table_real(table, row->size);
        nccl_put_text(work, table, row, NCCL_TYPE);
        table_real(table, row->n_in);
        table_real(table, nccl_megabytes(work, row, row->n_in));
        table_real(table, row->n_out);
        table_real(table, nccl_megabytes(work, row, row->n_out));
        nccl_put_text(work, table, row, NCCL_IN_SPLIT);
        nccl_put_text(work, table, row, NCCL_OUT_SPLIT);
        table_real(table, row->stream);
        table_real(table, row->ts);
        table_real(table, row->dur);
    }
}

/* Rows that lack one of these are in no group. */
static bool has_key(const struct nccl_row *row) {
    for (int i = 0; i < N_NCCL_TEXTS; i++)
        if (row->text[i] == 0 && i != NCCL_GROUP)
            return false;
    return !isnan(row->size) && !isnan(row->n_in) && !isnan(row->n_out) && !isnan(row->stream);
}

static int compare_keys(const struct nccl_work *work, const struct nccl_row *a, const struct nccl_row *b) {
    static const enum nccl_text texts[] = {NCCL_GROUP, NCCL_MEMBERS, NCCL_WHAT};
    const char *unknown = work->simplified ? "all" : "Unknown_Group";
    int order = compare_numbers(a->rank, b->rank);
    for (size_t i = 0; i < sizeof texts / sizeof *texts && !order; i++)
        order = nccl_compare_texts(work, a, b, texts[i], unknown);
    order = order ? order : compare_reals(a->size, b->size);
    order = order ? order : nccl_compare_texts(work, a, b, NCCL_TYPE, "");
    order = order ? order : compare_reals(a->n_in, b->n_in);
    order = order ? order : compare_reals(a->n_out, b->n_out);
    order = order ? order : nccl_compare_texts(work, a, b, NCCL_IN_SPLIT, "");
    order = order ? order : nccl_compare_texts(work, a, b, NCCL_OUT_SPLIT, "");
    return order ? order : compare_reals(a->stream, b->stream);
}

static int compare_rows(const void *left, const void *right, void *arg) {
    const struct nccl_row *const *a = left, *const *b = right;
    int order = compare_keys(arg, *a, *b);
    return order ? order : compare_numbers((uintptr_t)*a, (uintptr_t)*b);
}

static void put_summary(struct nccl_work *work, const struct nccl_row *const *rows, uint64_t n, enum group_order order,
                        double *values, struct sutra_table *table) {
    const struct nccl_row *row = rows[0];
    for (uint64_t i = 0; i < n; i++)
        values[i] = rows[i]->dur;
    struct value_stats stats = pandas_stats(values, n, order, values + n);
    table_integer(table, row->rank);
    nccl_put_text(work, table, row, NCCL_GROUP);
    nccl_put_text(work, table, row, NCCL_MEMBERS);
    nccl_put_text(work, table, row, NCCL_WHAT);
    table_real(table, row->size);
    nccl_put_text(work, table, row, NCCL_TYPE);
    table_real(table, row->n_in);
    table_real(table, row->n_out);
    nccl_put_text(work, table, row, NCCL_IN_SPLIT);
    nccl_put_text(work, table, row, NCCL_OUT_SPLIT);
    table_real(table, row->stream);
    table_real(table, nccl_megabytes(work, row, row->n_in));
    table_real(table, nccl_megabytes(work, row, row->n_out));
    table_real(table, stats.sum);
    table_real(table, stats.mean);
    table_real(table, stats.std);
    table_real(table, stats.min);
    table_real(table, stats.max);
    table_integer(table, (int64_t)n);
}

static void put_summaries(struct nccl_work *work) {
    static const struct column_spec columns[] = {{"rank", SUTRA_COLUMN_INTEGER},
                                                 {"Process Group Name", TEXT},
                                                 {"Process Group Ranks", TEXT},
                                                 {"Collective name", TEXT},
                                                 {"Group size", REAL},
                                                 {"dtype", TEXT},
                                                 {"In msg nelems", REAL},
                                                 {"Out msg nelems", REAL},
                                                 {"In split size", TEXT},
                                                 {"Out split size", TEXT},
                                                 {"stream", REAL},
                                                 {"In msg size (MB)_first", REAL},
                                                 {"Out msg size (MB)_first", REAL},
                                                 {"dur_sum", REAL},
                                                 {"dur_mean", REAL},
                                                 {"dur_std", REAL},
                                                 {"dur_min", REAL},
                                                 {"dur_max", REAL},
                                                 {"operation_count", SUTRA_COLUMN_INTEGER}};
    const struct nccl_row **rows = arena_take(work->arena, work->all.n, sizeof(void *));
    double *values = arena_take(work->arena, 2 * work->all.n, sizeof *values);
    enum group_order order = GROUPS_SORTED;
    uint64_t n = 0;
    for (uint64_t i = 0; i < work->all.n && rows; i++) {
        bool has = has_key(&work->all.list[i]);
        order = !has && n ? GROUPS_MIXED : order; /* a dropped row follows a row of a group */
        if (has)
            rows[n++] = &work->all.list[i];
    }
    if (!values)
        return;
    struct sutra_table *table = nccl_table_begin(work, SUTRA_COLLECTIVES_NCCL_SUMMARY_LONG, "nccl_summary_long",
                                                 columns, sizeof columns / sizeof *columns);
    for (uint64_t i = 1; i < n; i++)
        order = compare_keys(work, rows[i - 1], rows[i]) > 0 ? GROUPS_MIXED : order;
    if (n)
        qsort_r(rows, n, sizeof(void *), compare_rows, work);
    for (uint64_t begin = 0, end; begin < n; begin = end) {
        for (end = begin; end < n && compare_keys(work, rows[begin], rows[end]) == 0;)
            end++;
        put_summary(work, rows + begin, end - begin, order, values, table);
    }
    nccl_sort(work, table, 13, false);
}

void nccl_long_make(struct nccl_work *work) {
    put_all(work);
    put_summaries(work);
}

enum sutra_status nccl_tables_make(struct sutra_collectives *of, struct sutra_error *error) {
    struct nccl_work work = {.of = of, .arena = &of->arena};
    bool done = join_rows(&work);
    work.simplified = done && is_simplified(&work);
    done = done && find_ids(&work);
    if (done && work.all.n > 0) {
        nccl_long_make(&work);
        nccl_sync_make(&work);
        nccl_exchange_make(&work);
        nccl_finish(&work);
    }
    strings_free(&work.all.strings);
    free(work.all.list);
    return done && !of->arena.failed ? SUTRA_OK : error_memory(error);
}
