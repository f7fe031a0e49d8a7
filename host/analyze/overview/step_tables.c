/*
 * step_tables.c - steps as tables: each step of each rank, each rank, and each place of steps over ranks.
 *
 * Why the slowest is slow: the part by which it exceeds the median of that part most, of the steps of its rank, or of
 * the ranks' steps at its place. O(n log n).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/operators/operators.h"
#include "analyze/overview/steps.h"
#include "base/arena.h"
#include "base/shared.h"

const char *const step_part_names[N_STEP_PARTS] = {
    [STEP_COMPUTE] = "compute",
    [STEP_COMMUNICATION] = "exposed communication",
    [STEP_COPIES] = "exposed memcpy",
    [STEP_WAIT_HOST] = "idle: host",
    [STEP_WAIT_DATA] = "idle: data loading",
    [STEP_WAIT_SYNC] = "idle: synchronizing",
    [STEP_WAIT_DEVICE] = "idle: launched before",
    [STEP_IDLE_REST] = "idle: unknown cause",
};

#define PART_COLUMNS                                                                                                   \
    {"compute_us", SUTRA_COLUMN_REAL}, {"exposed_communication_us", SUTRA_COLUMN_REAL},                                \
        {"exposed_copies_us", SUTRA_COLUMN_REAL}, {"idle_host_us", SUTRA_COLUMN_REAL},                                 \
        {"idle_dataloader_us", SUTRA_COLUMN_REAL}, {"idle_sync_us", SUTRA_COLUMN_REAL},                                \
        {"idle_device_us", SUTRA_COLUMN_REAL}, {                                                                       \
        "idle_rest_us", SUTRA_COLUMN_REAL                                                                              \
    }

/* ---- Each step ---- */

void steps_table_init(struct sutra_table *table) {
    static const struct column_spec specs[] = {{"rank", SUTRA_COLUMN_INTEGER},
                                               {"step", SUTRA_COLUMN_TEXT},
                                               {"start_us", SUTRA_COLUMN_REAL},
                                               {"time_us", SUTRA_COLUMN_REAL},
                                               PART_COLUMNS,
                                               {"idle_us", SUTRA_COLUMN_REAL},
                                               {"host_us", SUTRA_COLUMN_REAL},
                                               {"kernels", SUTRA_COLUMN_INTEGER}};
    table_init(table, "steps", specs, sizeof specs / sizeof *specs);
}

static void put_name(struct sutra_table *table, const struct op_reading *reading, const struct overview_steps *steps,
                     row_t i) {
    char words[64];
    const struct overview_step *step = &steps->list[i];
    const char *name = step->name == STRING_NONE ? "" : strings_text(reading->strings, step->name);
    char last = *name ? name[strlen(name) - 1] : ' ';
    if (last >= '0' && last <= '9') {
        table_string(table, reading->strings, step->name);
        return;
    }
    snprintf(words, sizeof words, "%.40s %u", *name ? name : "repetition", (unsigned)i + 1);
    table_text(table, words, strlen(words));
}

void steps_table_add(struct sutra_table *table, int64_t rank, const struct overview *overview,
                     const struct overview_steps *steps) {
    const struct op_reading *reading = overview->reading;
    for (row_t i = 0; i < steps->n; i++) {
        const struct overview_step *step = &steps->list[i];
        int64_t idle = 0;
        table_integer(table, rank);
        put_name(table, reading, steps, i);
        table_real(table, op_us(reading, step->begin - overview->window.from));
        table_real(table, op_us(reading, step->end - step->begin));
        for (int part = 0; part < N_STEP_PARTS; part++) {
            table_real(table, op_us(reading, step->ticks[part]));
            idle += part >= STEP_WAIT_HOST ? step->ticks[part] : 0;
        }
        table_real(table, op_us(reading, idle));
        table_real(table, op_us(reading, step->host));
        table_integer(table, step->n_pieces);
    }
}

/* ---- What some of them come to ---- */

/* Rows of the table of steps. */
struct step_group {
    const struct sutra_table *steps;
    const uint64_t *rows;
    uint64_t n;
    double *values; /* room for n */
};

static double median_of(const struct step_group *group, uint32_t column) {
    for (uint64_t i = 0; i < group->n; i++)
        group->values[i] = table_get_real(group->steps, column, group->rows[i]);
    qsort(group->values, group->n, sizeof *group->values, compare_doubles);
    return (group->values[(group->n - 1) / 2] + group->values[group->n / 2]) / 2;
}

static double mean_of(const struct step_group *group, uint32_t column) {
    double sum = 0;
    for (uint64_t i = 0; i < group->n; i++)
        sum += table_get_real(group->steps, column, group->rows[i]);
    return sum / (double)group->n;
}

/* Of a sample; nan of one. */
static double spread_of(const struct step_group *group, uint32_t column, double mean) {
    double sum = 0;
    for (uint64_t i = 0; i < group->n; i++) {
        double away = table_get_real(group->steps, column, group->rows[i]) - mean;
        sum += away * away;
    }
    return group->n > 1 ? sqrt(sum / (double)(group->n - 1)) : NAN;
}

/* The slowest and the fastest; of equal ones the first. */
static uint64_t extreme_of(const struct step_group *group, double sign) {
    uint64_t found = group->rows[0];
    for (uint64_t i = 1; i < group->n; i++)
        if (sign * table_get_real(group->steps, STEPS_TIME, group->rows[i]) >
            sign * table_get_real(group->steps, STEPS_TIME, found))
            found = group->rows[i];
    return found;
}

static void put_cause(struct sutra_table *table, const struct step_group *group, uint64_t slowest) {
    double most = 0;
    int cause = N_STEP_PARTS;
    for (int part = 0; part < N_STEP_PARTS; part++) {
        uint32_t column = STEPS_PARTS + (uint32_t)part;
        double more = table_get_real(group->steps, column, slowest) - median_of(group, column);
        if (more > most) {
            most = more;
            cause = part;
        }
    }
    const char *name = cause < N_STEP_PARTS ? step_part_names[cause] : "";
    table_text(table, name, strlen(name));
    table_real(table, most);
}

/* mean, spread, fastest, median, slowest */
static void put_times(struct sutra_table *table, const struct step_group *group) {
    double mean = mean_of(group, STEPS_TIME);
    table_integer(table, (int64_t)group->n);
    table_real(table, mean);
    table_real(table, spread_of(group, STEPS_TIME, mean));
    table_real(table, table_get_real(group->steps, STEPS_TIME, extreme_of(group, -1)));
    table_real(table, median_of(group, STEPS_TIME));
    table_real(table, table_get_real(group->steps, STEPS_TIME, extreme_of(group, 1)));
}

static void put_rank(struct sutra_table *table, const struct step_group *group) {
    uint64_t slowest = extreme_of(group, 1);
    size_t length;
    const char *name = table_get_text(group->steps, STEPS_NAME, slowest, &length);
    table_integer(table, table_get_integer(group->steps, STEPS_RANK, slowest));
    put_times(table, group);
    for (uint32_t part = 0; part < N_STEP_PARTS; part++)
        table_real(table, mean_of(group, STEPS_PARTS + part));
    table_real(table, mean_of(group, STEPS_HOST));
    table_text(table, name, length);
    put_cause(table, group, slowest);
}

static void put_place(struct sutra_table *table, const struct step_group *group) {
    uint64_t slowest = extreme_of(group, 1);
    size_t length;
    const char *name = table_get_text(group->steps, STEPS_NAME, group->rows[0], &length);
    table_text(table, name, length);
    put_times(table, group);
    table_integer(table, table_get_integer(group->steps, STEPS_RANK, slowest));
    put_cause(table, group, slowest);
}

/* ---- Groups ---- */

struct step_indices {
    uint64_t *rows, *place; /* rows in order of places; the place of each row among the steps of its rank */
    double *values;
    uint64_t n_places;
    bool several; /* ranks */
};

static bool find_places(const struct sutra_table *steps, struct arena *arena, struct step_indices *places) {
    uint64_t n = steps->n_rows, *first;
    *places = (struct step_indices){.rows = arena_take(arena, n, sizeof(uint64_t)),
                                    .place = arena_take(arena, n, sizeof(uint64_t)),
                                    .values = arena_take(arena, n, sizeof(double))};
    for (uint64_t row = 0; row < n && !arena->failed; row++) {
        bool same =
            row > 0 && table_get_integer(steps, STEPS_RANK, row) == table_get_integer(steps, STEPS_RANK, row - 1);
        places->place[row] = same ? places->place[row - 1] + 1 : 0;
        places->several |= row > 0 && !same;
        places->n_places = places->place[row] + 1 > places->n_places ? places->place[row] + 1 : places->n_places;
    }
    first = arena_take(arena, places->n_places + 1, sizeof *first);
    if (arena->failed)
        return false;
    for (uint64_t i = 0; i <= places->n_places; i++)
        first[i] = 0;
    for (uint64_t row = 0; row < n; row++)
        first[places->place[row] + 1]++;
    for (uint64_t i = 0; i < places->n_places; i++)
        first[i + 1] += first[i];
    for (uint64_t row = 0; row < n; row++)
        places->rows[first[places->place[row]]++] = row;
    return true;
}

void step_ranks_table(struct sutra_table *table, const struct sutra_table *steps) {
    static const struct column_spec specs[] = {{"rank", SUTRA_COLUMN_INTEGER},    {"steps", SUTRA_COLUMN_INTEGER},
                                               {"mean_us", SUTRA_COLUMN_REAL},    {"spread_us", SUTRA_COLUMN_REAL},
                                               {"fastest_us", SUTRA_COLUMN_REAL}, {"median_us", SUTRA_COLUMN_REAL},
                                               {"slowest_us", SUTRA_COLUMN_REAL}, PART_COLUMNS,
                                               {"host_us", SUTRA_COLUMN_REAL},    {"slowest_step", SUTRA_COLUMN_TEXT},
                                               {"cause", SUTRA_COLUMN_TEXT},      {"more_us", SUTRA_COLUMN_REAL}};
    struct arena arena = {0};
    table_init(table, "step_ranks", specs, sizeof specs / sizeof *specs);
    uint64_t n = steps->n_rows, *rows = arena_take(&arena, n, sizeof *rows);
    double *values = arena_take(&arena, n, sizeof *values);
    table->failed |= arena.failed;
    for (uint64_t row = 0; row < n && !arena.failed; row++)
        rows[row] = row;
    for (uint64_t first = 0, last; first < n && !arena.failed; first = last) {
        int64_t rank = table_get_integer(steps, STEPS_RANK, first);
        for (last = first; last < n && table_get_integer(steps, STEPS_RANK, last) == rank;)
            last++;
        put_rank(table, &(struct step_group){steps, rows + first, last - first, values});
    }
    arena_free(&arena);
}

void step_places_table(struct sutra_table *table, const struct sutra_table *steps) {
    static const struct column_spec specs[] = {
        {"step", SUTRA_COLUMN_TEXT},       {"ranks", SUTRA_COLUMN_INTEGER},        {"mean_us", SUTRA_COLUMN_REAL},
        {"spread_us", SUTRA_COLUMN_REAL},  {"fastest_us", SUTRA_COLUMN_REAL},      {"median_us", SUTRA_COLUMN_REAL},
        {"slowest_us", SUTRA_COLUMN_REAL}, {"slowest_rank", SUTRA_COLUMN_INTEGER}, {"cause", SUTRA_COLUMN_TEXT},
        {"more_us", SUTRA_COLUMN_REAL}};
    struct arena arena = {0};
    struct step_indices places;
    table_init(table, "step_indices", specs, sizeof specs / sizeof *specs);
    bool ok = find_places(steps, &arena, &places);
    table->failed |= !ok;
    for (uint64_t first = 0, last; ok && places.several && first < steps->n_rows; first = last) {
        uint64_t place = places.place[places.rows[first]];
        for (last = first; last < steps->n_rows && places.place[places.rows[last]] == place;)
            last++;
        put_place(table, &(struct step_group){steps, places.rows + first, last - first, places.values});
    }
    arena_free(&arena);
}
