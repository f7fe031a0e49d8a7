/*
 * operators_page.c - prints the first rows of each table: time, share, count and name.
 *
 * For several ranks, prints the first rank only; the tables have all ranks.
 */
#include "cli/analyze/operators_page.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "cli/tool/figures.h"
#include "text/short_name.h"

#define N_TOP      5
#define NAME_WIDTH 34

/* The columns of a table that a block shows. */
struct page_block {
    const char *title;
    enum sutra_operators_table table;
    const char *name, *time, *count, *counted;
};

struct page_columns {
    struct sutra_column rank, name, time, count;
};

static bool find_column(const struct sutra_table *table, const char *name, struct sutra_column *column) {
    for (uint32_t i = 0; sutra_table_column(table, i, column); i++)
        if (strcmp(column->name, name) == 0)
            return true;
    return false;
}

static bool find_columns(const struct sutra_table *table, const struct page_block *block,
                         struct page_columns *columns) {
    return find_column(table, "rank", &columns->rank) && find_column(table, block->name, &columns->name) &&
           find_column(table, block->time, &columns->time) && find_column(table, block->count, &columns->count);
}

/* All work of a rank, and the time of a line of the timeline. */
static double timeline_us(const struct sutra_operators_ranks *ranks, int64_t rank, const char *type) {
    const struct sutra_table *table = sutra_operators_ranks_table(ranks, SUTRA_OPERATORS_TIMELINE);
    struct sutra_column ranks_of, types, times;
    if (!table || !find_column(table, "rank", &ranks_of) || !find_column(table, "type", &types) ||
        !find_column(table, "time_us", &times))
        return 0;
    for (uint64_t row = 0; row < sutra_table_rows(table); row++)
        if (ranks_of.integers[row] == rank && strcmp(sutra_column_text(&types, row), type) == 0)
            return times.reals[row];
    return 0;
}

static void print_line(const struct page_columns *columns, uint64_t row, double all_us, const char *title,
                       const char *counted) {
    struct shortened name = short_name(sutra_column_text(&columns->name, row), NAME_WIDTH);
    printf("  %-11s %11s %7s  %-*s", title, time_text(columns->time.reals[row]).text,
           share_text(columns->time.reals[row], all_us).text, (int)(NAME_WIDTH + strlen(name.text) - name.n_columns),
           name.text);
    int64_t count = columns->count.integers[row];
    printf(" %s %s%s\n", count_text((uint64_t)count).text, counted, count == 1 ? "" : "s");
}

static void print_block(const struct sutra_operators_ranks *ranks, const struct page_block *block, int64_t rank,
                        double all_us) {
    const struct sutra_table *table = sutra_operators_ranks_table(ranks, block->table);
    struct page_columns columns;
    uint64_t n = 0;
    if (!table || !find_columns(table, block, &columns))
        return;
    for (uint64_t row = 0; row < sutra_table_rows(table) && n < N_TOP; row++)
        if (columns.rank.integers[row] == rank && columns.time.reals[row] > 0)
            print_line(&columns, row, all_us, n++ ? "" : block->title, block->counted);
}

static void print_part(const struct sutra_operators_ranks *ranks, int64_t rank, const char *title, const char *type,
                       double whole_us, const char *words) {
    double us = timeline_us(ranks, rank, type);
    printf("  %-11s %11s %7s  %s\n", title, time_text(us).text, share_text(us, whole_us).text, words);
}

static void print_timeline(const struct sutra_operators_ranks *ranks, int64_t rank) {
    double total_us = timeline_us(ranks, rank, "total"), all_us = timeline_us(ranks, rank, "all GPU activity");
    print_part(ranks, rank, "GPU time", "total", total_us, "from the first to the last activity");
    print_part(ranks, rank, "", "compute", total_us, "compute");
    print_part(ranks, rank, "", "exposed communication", total_us, "exposed communication");
    print_part(ranks, rank, "", "exposed memcpy", total_us, "exposed memcpy");
    print_part(ranks, rank, "", "idle", total_us, "idle");
    print_part(ranks, rank, "attributed", "attributed to operators", all_us, "to operators, of all GPU activity");
    print_part(ranks, rank, "", "attributed to calls", all_us, "to calls outside operators (CUDA graphs)");
    print_part(ranks, rank, "", "unattributed", all_us, "unattributed: launch call not in the trace");
}

static void print_head(const struct sutra_operators_ranks *ranks) {
    const struct sutra_operators_rank *rank;
    uint64_t n = 0, n_skipped = 0;
    for (size_t i = 0; (rank = sutra_operators_ranks_get(ranks, i)); i++) {
        n += !rank->reason;
        n_skipped += rank->reason != NULL;
    }
    rank = sutra_operators_ranks_get(ranks, 0);
    printf("rank %" PRId64 ": %s\n", rank->rank, short_path(rank->path, 70).text);
    if (n > 1)
        printf("the first of %s ranks; the tables contain all ranks\n", count_text(n).text);
    if (n_skipped)
        printf("%s skipped; see the warnings\n", counted_text(n_skipped, "trace", "traces").text);
    putchar('\n');
}

static void print_page(const struct sutra_operators_ranks *ranks, const struct page_block *blocks, size_t n,
                       const char *folder, const char *command) {
    int64_t rank = sutra_operators_ranks_get(ranks, 0)->rank;
    double all_us = timeline_us(ranks, rank, "all GPU activity");
    print_head(ranks);
    if (all_us > 0)
        print_timeline(ranks, rank);
    else
        printf("No GPU activity with a duration: profile with ProfilerActivity.CUDA.\n");
    for (size_t i = 0; i < n; i++)
        print_block(ranks, &blocks[i], rank, all_us);
    printf("\nnext:\n");
    if (folder)
        printf("  tables: %s\n", short_path(folder, 58).text);
    else
        printf("  %s TRACE -o results   all tables\n", command);
}

void operators_page_print(const struct sutra_operators_ranks *ranks, const char *folder) {
    static const struct page_block blocks[] = {
        {"operators", SUTRA_OPERATORS_BY_NAME, "name", "device_us", "calls", "call"},
        {"categories", SUTRA_OPERATORS_BY_CATEGORY, "category", "device_us", "calls", "call"},
        {"modules", SUTRA_OPERATORS_BY_MODULE, "module", "device_us", "calls", "call"},
    };
    print_page(ranks, blocks, sizeof blocks / sizeof *blocks, folder, "sutra analyze operators");
    printf("  sutra analyze kernels TRACE   kernels and how they are launched\n");
}

void kernels_page_print(const struct sutra_operators_ranks *ranks, const char *folder) {
    static const struct page_block blocks[] = {
        {"kernels", SUTRA_KERNELS_BY_NAME, "name", "device_us", "kernels", "time"},
    };
    print_page(ranks, blocks, sizeof blocks / sizeof *blocks, folder, "sutra analyze kernels");
    printf("  sutra analyze operators TRACE   operators that launch the kernels\n");
}
