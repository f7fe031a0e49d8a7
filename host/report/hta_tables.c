/*
 * hta_tables.c - computes the tables for the page on ranks. O(rows), plus a sort for ordered tables.
 */
#include "report/hta_tables.h"

#include <math.h>

#include "base/arena.h"
#include "columns/strings.h"
#include "report/table_order.h"

/* The rank at place `*i`, which moves on; NULL behind the last one that was not left out. */
static const struct sutra_hta_rank *next_rank(const struct sutra_hta_ranks *ranks, size_t *i) {
    const struct sutra_hta_rank *rank = sutra_hta_ranks_get(ranks, (*i)++);
    return rank && !rank->reason ? rank : NULL;
}

void hta_time_table(struct sutra_table *table, const struct sutra_hta_ranks *ranks) {
    static const struct column_spec specs[] = {{"rank", SUTRA_COLUMN_INTEGER},
                                               {"compute_us", SUTRA_COLUMN_REAL},
                                               {"exposed_communication_us", SUTRA_COLUMN_REAL},
                                               {"exposed_memory_us", SUTRA_COLUMN_REAL},
                                               {"other_us", SUTRA_COLUMN_REAL},
                                               {"idle_us", SUTRA_COLUMN_REAL},
                                               {"kernel_time_us", SUTRA_COLUMN_REAL}};
    const struct sutra_hta_rank *rank;
    table_init(table, "time", specs, sizeof specs / sizeof *specs);
    for (size_t i = 0; (rank = next_rank(ranks, &i));) {
        const struct sutra_hta_summary *summary = rank->summary;
        if (summary->n_kernels == 0)
            continue;
        table_integer(table, rank->rank);
        table_real(table, summary->compute_us);
        table_real(table, summary->exposed_us);
        table_real(table, summary->memory_us);
        table_real(table, fmax(0, summary->busy_us - summary->compute_us - summary->exposed_us - summary->memory_us));
        table_real(table, summary->idle_us);
        table_real(table, summary->span_us);
    }
}

/* The share of a rank in the analysis's table, whose ranks rise as those that are asked for do. */
static double share_of(const struct sutra_table *shares, int64_t rank, uint64_t *at) {
    while (shares && *at < shares->n_rows && table_get_integer(shares, 0, *at) < rank)
        ++*at;
    bool found = shares && *at < shares->n_rows && table_get_integer(shares, 0, *at) == rank;
    return found ? table_get_real(shares, 1, *at) : NAN;
}

void hta_overlap_table(struct sutra_table *table, const struct sutra_hta_ranks *ranks,
                       const struct sutra_table *shares) {
    static const struct column_spec specs[] = {{"rank", SUTRA_COLUMN_INTEGER},
                                               {"hidden_us", SUTRA_COLUMN_REAL},
                                               {"exposed_us", SUTRA_COLUMN_REAL},
                                               {"communication_us", SUTRA_COLUMN_REAL},
                                               {"comp_comm_overlap_pctg", SUTRA_COLUMN_REAL}};
    const struct sutra_hta_rank *rank;
    uint64_t at = 0;
    table_init(table, "overlap", specs, sizeof specs / sizeof *specs);
    for (size_t i = 0; (rank = next_rank(ranks, &i));) {
        const struct sutra_hta_summary *summary = rank->summary;
        if (!(summary->communication_us > 0))
            continue;
        table_integer(table, rank->rank);
        table_real(table, summary->overlap_us);
        table_real(table, summary->communication_us - summary->overlap_us);
        table_real(table, summary->communication_us);
        table_real(table, share_of(shares, rank->rank, &at));
    }
}

/* ---- Kernels of all ranks ---- */

struct kernel_total {
    double sum;
    uint64_t row; /* where it stands first */
    int64_t n_ranks;
};

struct kernel_sums {
    struct strings keys; /* type, NUL, name */
    struct kernel_total *sums;
    struct buffer key;
    struct arena arena;
};

/* Columns of the analysis's table. */
enum { FROM_NAME, FROM_SUM, FROM_TYPE = 6 };

static bool add_kernel(struct kernel_sums *sums, const struct sutra_table *kernels, uint64_t row) {
    size_t name_length, type_length;
    const char *name = table_get_text(kernels, FROM_NAME, row, &name_length);
    const char *type = table_get_text(kernels, FROM_TYPE, row, &type_length);
    sums->key.length = 0;
    buffer_append(&sums->key, type, type_length + 1);
    buffer_append(&sums->key, name, name_length);
    uint32_t n = sums->keys.n;
    uint32_t number = sums->key.failed ? STRING_NONE : strings_intern(&sums->keys, sums->key.bytes, sums->key.length);
    if (number == STRING_NONE)
        return false;
    if (number == n)
        sums->sums[number] = (struct kernel_total){.row = row};
    sums->sums[number].sum += table_get_real(kernels, FROM_SUM, row);
    sums->sums[number].n_ranks++;
    return true;
}

static bool sum_kernels(struct kernel_sums *sums, const struct sutra_table *kernels) {
    sums->sums = arena_take(&sums->arena, kernels->n_rows, sizeof *sums->sums);
    bool ok = sums->sums && strings_init(&sums->keys);
    for (uint64_t row = 0; row < kernels->n_rows && ok; row++)
        ok = add_kernel(sums, kernels, row);
    return ok;
}

static void write_sums(struct sutra_table *table, const struct kernel_sums *sums, const struct sutra_table *kernels) {
    double total = 0;
    for (uint32_t i = 0; i < sums->keys.n; i++)
        total += sums->sums[i].sum;
    for (uint32_t i = 0; i < sums->keys.n; i++) {
        const struct kernel_total *sum = &sums->sums[i];
        size_t name_length, type_length;
        const char *name = table_get_text(kernels, FROM_NAME, sum->row, &name_length);
        const char *type = table_get_text(kernels, FROM_TYPE, sum->row, &type_length);
        table_text(table, name, name_length);
        table_text(table, type, type_length);
        table_real(table, sum->sum);
        table_real(table, total > 0 ? 100 * sum->sum / total : 0);
        table_integer(table, sum->n_ranks);
    }
    table_sort_falling(table, KERNEL_SUM, KERNEL_SUM);
}

void hta_kernels_table(struct sutra_table *table, const struct sutra_table *kernels) {
    static const struct column_spec specs[] = {{"name", SUTRA_COLUMN_TEXT},
                                               {"kernel_type", SUTRA_COLUMN_TEXT},
                                               {"sum (us)", SUTRA_COLUMN_REAL},
                                               {"share_pctg", SUTRA_COLUMN_REAL},
                                               {"ranks", SUTRA_COLUMN_INTEGER}};
    struct kernel_sums sums = {0};
    table_init(table, "kernels", specs, sizeof specs / sizeof *specs);
    if (sum_kernels(&sums, kernels))
        write_sums(table, &sums, kernels);
    else
        table->failed = true;
    strings_free(&sums.keys);
    buffer_free(&sums.key);
    arena_free(&sums.arena);
}

/* ---- Gaps ---- */

/* Columns of the analysis's table. */
enum { FROM_RANK, FROM_STREAM, FROM_CATEGORY, FROM_IDLE };

static uint32_t category_column(const struct sutra_table *idle, uint64_t row) {
    size_t length;
    const char *category = table_get_text(idle, FROM_CATEGORY, row, &length);
    return strcmp(category, "host_wait") == 0     ? IDLE_HOST
           : strcmp(category, "kernel_wait") == 0 ? IDLE_KERNEL
                                                  : IDLE_REST;
}

/* Turns the rows of each stream into one. */
static void gather_gaps(struct sutra_table *table, const struct sutra_table *idle) {
    for (uint64_t row = 0; row < idle->n_rows;) {
        int64_t rank = table_get_integer(idle, FROM_RANK, row), stream = table_get_integer(idle, FROM_STREAM, row);
        double us[IDLE_REST + 1] = {0};
        for (; row < idle->n_rows && table_get_integer(idle, FROM_RANK, row) == rank &&
               table_get_integer(idle, FROM_STREAM, row) == stream;
             row++)
            us[category_column(idle, row)] += table_get_real(idle, FROM_IDLE, row);
        table_integer(table, rank);
        table_integer(table, stream);
        for (int i = IDLE_HOST; i <= IDLE_REST; i++)
            table_real(table, us[i]);
    }
}

void hta_idle_table(struct sutra_table *table, const struct sutra_table *idle) {
    static const struct column_spec specs[] = {{"rank", SUTRA_COLUMN_INTEGER},
                                               {"stream", SUTRA_COLUMN_INTEGER},
                                               {"host_wait_us", SUTRA_COLUMN_REAL},
                                               {"kernel_wait_us", SUTRA_COLUMN_REAL},
                                               {"other_us", SUTRA_COLUMN_REAL}};
    table_init(table, "idle", specs, sizeof specs / sizeof *specs);
    gather_gaps(table, idle);
    table_sort_falling(table, IDLE_HOST, IDLE_REST);
}
