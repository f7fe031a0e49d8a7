/*
 * align_gap.c - aligning two short sequences of operators by dynamic programming.
 *
 * Cell (i, j) holds the best score of the first i operators of one side and the first j of the other; each row keeps
 * the cells near the diagonal only where the gap is long:
 *
 *     row i     columns from centre(i) - half to centre(i) + half, centre(i) = i * n_b / n_a
 *
 * Steps are kept at two bits a cell. O(n_a * width) time, a quarter of that in bytes.
 */
#include "legacy/tree_align.h"

/* What a pair is worth, and what more if its surroundings agree too. */
#define WORTH_PAIR    16
#define WORTH_PARENT  3
#define WORTH_SUBTREE 3
#define WORTH_RUN     2

/* Most cells of one gap. */
#define CELLS_MAX ((uint64_t)1 << 28)

enum step { STEP_NONE, STEP_A, STEP_B, STEP_PAIR };

struct gap_table {
    const struct call_tree *a, *b;
    struct align_gap gap;
    uint64_t half, width;     /* columns that a row keeps */
    int32_t *row, *above;     /* scores, at the column less the row's first */
    uint8_t *run, *run_above; /* whether the best way to a cell ends with a pair */
    uint8_t *steps;
};

static uint64_t first_column(const struct gap_table *table, uint64_t i) {
    uint64_t centre = i * table->gap.n_b / table->gap.n_a;
    return centre > table->half ? centre - table->half : 0;
}

static uint64_t last_column(const struct gap_table *table, uint64_t i) {
    uint64_t last = i * table->gap.n_b / table->gap.n_a + table->half;
    return last < table->gap.n_b ? last : table->gap.n_b;
}

static bool has_column(const struct gap_table *table, uint64_t i, uint64_t j) {
    return j >= first_column(table, i) && j <= last_column(table, i);
}

static void put_step(struct gap_table *table, uint64_t i, uint64_t j, enum step step) {
    uint64_t cell = i * table->width + (j - first_column(table, i));
    table->steps[cell / 4] |= (uint8_t)((unsigned)step << cell % 4 * 2);
}

static enum step get_step(const struct gap_table *table, uint64_t i, uint64_t j) {
    uint64_t cell = i * table->width + (j - first_column(table, i));
    return (enum step)(table->steps[cell / 4] >> cell % 4 * 2 & 3);
}

static uint32_t parent_token(const struct call_tree *tree, row_t position) {
    row_t above = tree->parent[position];
    return above == ROW_NONE ? UINT32_MAX : tree->token[above];
}

static int32_t pair_worth(const struct gap_table *table, row_t a, row_t b) {
    return WORTH_PAIR + (parent_token(table->a, a) == parent_token(table->b, b) ? WORTH_PARENT : 0) +
           (table->a->hash[a] == table->b->hash[b] ? WORTH_SUBTREE : 0);
}

/* Fills row i from the row above it. */
static void fill_row(struct gap_table *table, uint64_t i) {
    uint64_t first = first_column(table, i), last = last_column(table, i);
    uint64_t first_above = first_column(table, i - 1), last_above = last_column(table, i - 1);
    row_t a = table->gap.a + (row_t)i - 1;
    uint32_t token = table->a->token[a];
    for (uint64_t j = first; j <= last; j++) {
        int32_t best = INT32_MIN;
        enum step step = STEP_NONE;
        if (j <= last_above) {
            best = table->above[j - first_above];
            step = STEP_A;
        }
        if (j > first && table->row[j - first - 1] > best) {
            best = table->row[j - first - 1];
            step = STEP_B;
        }
        row_t b = table->gap.b + (row_t)j - 1;
        if (j > first_above && j - 1 <= last_above && token == table->b->token[b]) {
            int32_t score = table->above[j - 1 - first_above] + pair_worth(table, a, b) +
                            table->run_above[j - 1 - first_above] * WORTH_RUN;
            if (score >= best) {
                best = score;
                step = STEP_PAIR;
            }
        }
        table->row[j - first] = best;
        table->run[j - first] = step == STEP_PAIR;
        put_step(table, i, j, step);
    }
}

static void fill_table(struct gap_table *table) {
    for (uint64_t j = 0; j <= last_column(table, 0); j++) {
        table->row[j] = 0;
        table->run[j] = 0;
    }
    for (uint64_t i = 1; i <= table->gap.n_a; i++) {
        int32_t *row = table->row;
        uint8_t *run = table->run;
        table->row = table->above;
        table->above = row;
        table->run = table->run_above;
        table->run_above = run;
        fill_row(table, i);
    }
}

static void walk_back(const struct gap_table *table, row_t *match) {
    uint64_t i = table->gap.n_a, j = table->gap.n_b;
    while (i > 0 && j > 0 && has_column(table, i, j)) {
        switch (get_step(table, i, j)) {
        case STEP_PAIR:
            match[table->gap.a + i - 1] = table->gap.b + (row_t)j - 1;
            i--;
            j--;
            break;
        case STEP_B:
            j--;
            break;
        case STEP_A:
        case STEP_NONE:
            i--;
            break;
        }
    }
}

/* Equal ends of a long gap are matched as they are. */
static struct align_gap trim(const struct call_tree *a, const struct call_tree *b, struct align_gap gap, row_t *match) {
    while (gap.n_a && gap.n_b && a->token[gap.a] == b->token[gap.b]) {
        match[gap.a++] = gap.b++;
        gap.n_a--;
        gap.n_b--;
    }
    while (gap.n_a && gap.n_b && a->token[gap.a + gap.n_a - 1] == b->token[gap.b + gap.n_b - 1]) {
        gap.n_a--;
        gap.n_b--;
        match[gap.a + gap.n_a] = gap.b + gap.n_b;
    }
    return gap;
}

/* Sets how much of each row is kept. */
static struct gap_table table_shape(struct align_gap gap, bool is_long) {
    struct gap_table table = {.gap = gap, .half = gap.n_b};
    uint64_t room = CELLS_MAX / 2 / ((uint64_t)gap.n_a + 1), slope = gap.n_b / gap.n_a + 1;
    if (is_long)
        table.half = room < SPAN + slope ? room + slope : SPAN + slope;
    table.width = 2 * table.half + 1 < (uint64_t)gap.n_b + 1 ? 2 * table.half + 1 : (uint64_t)gap.n_b + 1;
    return table;
}

void align_gap_fill(const struct call_tree *a, const struct call_tree *b, struct align_gap gap, struct arena *arena,
                    row_t *match) {
    bool is_long = gap.n_a > SPAN || gap.n_b > SPAN;
    if (is_long)
        gap = trim(a, b, gap, match);
    if (!gap.n_a || !gap.n_b)
        return;
    struct arena_mark mark = arena_mark(arena);
    struct gap_table table = table_shape(gap, is_long);
    table.a = a;
    table.b = b;
    table.row = arena_zeros(arena, table.width, sizeof *table.row);
    table.above = arena_zeros(arena, table.width, sizeof *table.above);
    table.run = arena_zeros(arena, table.width, 1);
    table.run_above = arena_zeros(arena, table.width, 1);
    table.steps = arena_zeros(arena, ((uint64_t)gap.n_a + 1) * table.width / 4 + 1, 1);
    if (!arena->failed) {
        fill_table(&table);
        walk_back(&table, match);
    }
    arena_release(arena, mark);
}
