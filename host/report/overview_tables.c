/*
 * overview_tables.c - implements overview_tables.h. O(rows).
 */
#include "report/overview_tables.h"

#include <math.h>
#include <string.h>

enum { FROM_RANK, FROM_WHAT, FROM_TIME };

/* The part that a line of the analysis's timeline belongs to; N_SPLIT_PARTS: it is a sum of others. */
static int part_of(const char *what) {
    static const struct {
        const char *what;
        int part;
    } lines[] = {{"compute", 0},
                 {"exposed communication", 1},
                 {"exposed memcpy", 2},
                 {"idle: host", 3},
                 {"idle: launching", 3},
                 {"idle: setup", 3},
                 {"idle: data loading", 4},
                 {"idle: synchronizing", 5},
                 {"idle: after synchronizing", 5},
                 {"idle: launched before", 6},
                 {"idle: unknown launch", 7},
                 {"idle: after the last activity", 7}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (strcmp(lines[i].what, what) == 0)
            return lines[i].part;
    return N_SPLIT_PARTS;
}

void split_table(struct sutra_table *table, const struct sutra_table *timeline) {
    static const struct column_spec specs[] = {{"rank", SUTRA_COLUMN_INTEGER},
                                               {"compute_us", SUTRA_COLUMN_REAL},
                                               {"exposed_communication_us", SUTRA_COLUMN_REAL},
                                               {"exposed_copies_us", SUTRA_COLUMN_REAL},
                                               {"idle_host_us", SUTRA_COLUMN_REAL},
                                               {"idle_dataloader_us", SUTRA_COLUMN_REAL},
                                               {"idle_sync_us", SUTRA_COLUMN_REAL},
                                               {"idle_device_us", SUTRA_COLUMN_REAL},
                                               {"idle_rest_us", SUTRA_COLUMN_REAL},
                                               {"window_us", SUTRA_COLUMN_REAL}};
    table_init(table, "time_of_ranks", specs, sizeof specs / sizeof *specs);
    for (uint64_t row = 0; row < timeline->n_rows;) {
        int64_t rank = table_get_integer(timeline, FROM_RANK, row);
        double us[N_SPLIT_PARTS + 1] = {0}, window = 0;
        for (; row < timeline->n_rows && table_get_integer(timeline, FROM_RANK, row) == rank; row++) {
            size_t length;
            us[part_of(table_get_text(timeline, FROM_WHAT, row, &length))] += table_get_real(timeline, FROM_TIME, row);
        }
        table_integer(table, rank);
        for (int part = 0; part < N_SPLIT_PARTS; part++) {
            table_real(table, us[part]);
            window += us[part];
        }
        table_real(table, window);
    }
}

void overlap_table(struct sutra_table *table, const struct sutra_table *ranks, const struct sutra_table *split) {
    enum { RANK = 0, COMMUNICATION = 5, EXPOSED = SPLIT_PARTS + 1 };
    static const struct column_spec specs[] = {{"rank", SUTRA_COLUMN_INTEGER},
                                               {"hidden_us", SUTRA_COLUMN_REAL},
                                               {"exposed_us", SUTRA_COLUMN_REAL},
                                               {"communication_us", SUTRA_COLUMN_REAL},
                                               {"overlap_percent", SUTRA_COLUMN_REAL}};
    table_init(table, "overview_overlap", specs, sizeof specs / sizeof *specs);
    for (uint64_t row = 0; row < ranks->n_rows && row < split->n_rows; row++) {
        double all = table_get_real(ranks, COMMUNICATION, row);
        double exposed = fmin(table_get_real(split, EXPOSED, row), all);
        if (!(all > 0))
            continue;
        table_integer(table, table_get_integer(ranks, RANK, row));
        table_real(table, all - exposed);
        table_real(table, exposed);
        table_real(table, all);
        table_real(table, (all - exposed) / all * 100);
    }
}

struct bars split_bars(const struct sutra_table *table, uint32_t first_part) {
    static const struct bar_value parts[N_SPLIT_PARTS] = {{0, "compute", COLOUR_COMPUTE},
                                                          {1, "exposed communication", COLOUR_COMMUNICATION},
                                                          {2, "exposed memcpy", COLOUR_COPIES},
                                                          {3, "idle: host", COLOUR_WAIT_HOST},
                                                          {4, "idle: data loading", COLOUR_WAIT_DATA},
                                                          {5, "idle: synchronizing", COLOUR_WAIT_SYNC},
                                                          {6, "idle: launched before", COLOUR_WAIT_DEVICE},
                                                          {7, "idle: unknown cause", COLOUR_IDLE}};
    struct bars bars = {.table = table, .n_labels = 1, .n_values = N_SPLIT_PARTS, .unit = UNIT_US};
    for (int i = 0; i < N_SPLIT_PARTS; i++) {
        bars.values[i] = parts[i];
        bars.values[i].column += first_part;
    }
    return bars;
}
