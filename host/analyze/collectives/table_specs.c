/*
 * table_specs.c - names and columns of the tables of collectives.
 */
#include "analyze/collectives/collectives.h"

#define INTEGER SUTRA_COLUMN_INTEGER
#define REAL    SUTRA_COLUMN_REAL
#define TEXT    SUTRA_COLUMN_TEXT

struct collective_table_spec {
    const char *name;
    struct column_spec columns[TABLE_COLUMNS_MAX]; /* up to one without a name */
};

/* Of ours; those of TraceLens have columns of ranks. */
static const struct collective_table_spec specs[] = {
    [SUTRA_COLLECTIVES_ALL] = {"collectives",
                               {{"group", TEXT},
                                {"members", TEXT},
                                {"number", INTEGER},
                                {"type", TEXT},
                                {"dtype", TEXT},
                                {"from_rank", REAL},
                                {"to_rank", REAL},
                                {"ranks", INTEGER},
                                {"group_size", INTEGER},
                                {"bytes", REAL},
                                {"place", TEXT},
                                {"arrival_us", REAL},
                                {"first_rank", INTEGER},
                                {"last_rank", INTEGER},
                                {"skew_us", REAL},
                                {"mean_wait_us", REAL},
                                {"transfer_us", REAL},
                                {"end_skew_us", REAL},
                                {"algorithm_gb_per_s", REAL},
                                {"bus_gb_per_s", REAL},
                                {"link_percent", REAL}}},
    [SUTRA_COLLECTIVES_ARRIVALS] = {"collective_arrivals",
                                    {{"group", TEXT},
                                     {"members", TEXT},
                                     {"number", INTEGER},
                                     {"type", TEXT},
                                     {"rank", INTEGER},
                                     {"arrival_us", REAL},
                                     {"wait_us", REAL},
                                     {"duration_us", REAL},
                                     {"end_us", REAL}}},
    [SUTRA_COLLECTIVES_KINDS] = {"collective_types",
                                 {{"type", TEXT},
                                  {"dtype", TEXT},
                                  {"bytes", REAL},
                                  {"group", TEXT},
                                  {"members", TEXT},
                                  {"group_size", INTEGER},
                                  {"place", TEXT},
                                  {"count", INTEGER},
                                  {"transfer_us", REAL},
                                  {"transfer_mean_us", REAL},
                                  {"transfer_min_us", REAL},
                                  {"transfer_median_us", REAL},
                                  {"transfer_max_us", REAL},
                                  {"skew_mean_us", REAL},
                                  {"skew_max_us", REAL},
                                  {"mean_wait_us", REAL},
                                  {"end_skew_mean_us", REAL},
                                  {"algorithm_gb_per_s", REAL},
                                  {"bus_gb_per_s", REAL},
                                  {"bus_max_gb_per_s", REAL},
                                  {"link_percent", REAL}}},
    [SUTRA_COLLECTIVES_GROUPS] = {"collective_groups",
                                  {{"group", TEXT},
                                   {"members", TEXT},
                                   {"group_size", INTEGER},
                                   {"place", TEXT},
                                   {"collectives", INTEGER},
                                   {"messages", INTEGER},
                                   {"bytes", REAL},
                                   {"transfer_us", REAL},
                                   {"mean_wait_us", REAL},
                                   {"skew_max_us", REAL},
                                   {"last_most_rank", INTEGER},
                                   {"last_most", INTEGER}}},
    [SUTRA_COLLECTIVES_SIZES] = {"collective_sizes",
                                 {{"type", TEXT},
                                  {"place", TEXT},
                                  {"from_bytes", REAL},
                                  {"below_bytes", REAL},
                                  {"count", INTEGER},
                                  {"bus_min_gb_per_s", REAL},
                                  {"bus_25_gb_per_s", REAL},
                                  {"bus_median_gb_per_s", REAL},
                                  {"bus_75_gb_per_s", REAL},
                                  {"bus_max_gb_per_s", REAL},
                                  {"link_percent", REAL}}},
    [SUTRA_COLLECTIVES_RANKS] = {"collective_ranks",
                                 {{"rank", INTEGER},
                                  {"host", INTEGER},
                                  {"collectives", INTEGER},
                                  {"in_collectives_us", REAL},
                                  {"wait_us", REAL},
                                  {"wait_caused_us", REAL},
                                  {"waited_for_percent", REAL},
                                  {"n_arrived_last", INTEGER},
                                  {"n_arrived_first", INTEGER},
                                  {"last_percent", REAL},
                                  {"compute_us", REAL},
                                  {"compute_over_median_us", REAL}}},
    [SUTRA_COLLECTIVES_CLOCKS] = {"collective_clocks",
                                  {{"rank", INTEGER},
                                   {"host", INTEGER},
                                   {"reference", INTEGER},
                                   {"ahead_us", REAL},
                                   {"drift_ppm", REAL},
                                   {"residual_us", REAL},
                                   {"collectives", INTEGER},
                                   {"found_from", TEXT},
                                   {"set_right", INTEGER}}},
    [SUTRA_COLLECTIVES_HOSTS] = {"collective_hosts",
                                 {{"host", INTEGER},
                                  {"first_rank", INTEGER},
                                  {"last_rank", INTEGER},
                                  {"ranks", INTEGER},
                                  {"ahead_us", REAL},
                                  {"residual_us", REAL}}},
    [SUTRA_COLLECTIVES_CHECKS] = {"collective_errors",
                                  {{"severity", TEXT},
                                   {"check", TEXT},
                                   {"hangs", INTEGER},
                                   {"group", TEXT},
                                   {"number", INTEGER},
                                   {"ranks", TEXT},
                                   {"first_rank", INTEGER},
                                   {"first_us", REAL},
                                   {"text", TEXT}}},
    [SUTRA_COLLECTIVES_EXCESS] = {"straggler_operators",
                                  {{"runs_on", TEXT},
                                   {"phase", TEXT},
                                   {"operator", TEXT},
                                   {"calls", INTEGER},
                                   {"us", REAL},
                                   {"median_calls", INTEGER},
                                   {"median_us", REAL},
                                   {"excess_us", REAL}}},
};

struct sutra_table *collective_table_begin(struct sutra_collectives *of, enum sutra_collectives_table id) {
    uint32_t n = 0;
    while (n < TABLE_COLUMNS_MAX && specs[id].columns[n].name)
        n++;
    table_init(&of->tables[id], specs[id].name, specs[id].columns, n);
    of->made[id] = true;
    return &of->tables[id];
}

void collective_table_string(const struct sutra_collectives *of, struct sutra_table *table, uint32_t string) {
    const struct strings *strings = &of->calls.strings;
    table_text(table, strings_text(strings, string), strings_length(strings, string));
}
