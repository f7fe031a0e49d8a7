/*
 * tables.c - tables of results as columns. Numbers stay where they are, and hold the table's memory.
 */
#include "analyze/table.h"
#include "arrow/keys.h"

#include <math.h>

static void hold_memory(void *memory) {
    holders_add(&((struct table_memory *)memory)->holders);
}

static void leave_memory(void *memory) {
    table_memory_leave(memory);
}

static void make_text(struct batch *batch, const struct sutra_table *table, uint32_t column) {
    struct text_list texts = {0};
    for (uint64_t row = 0; row < table->n_rows; row++) {
        size_t length;
        const char *text = table_get_text(table, column, row, &length);
        text_list_add(&texts, text, length);
    }
    batch_texts(batch, table->columns[column].spec.name, &texts, (struct valid_rows){0});
}

static void make_number(struct batch *batch, const struct sutra_table *table, uint32_t number,
                        const struct column_owner *owner) {
    const struct column *column = &table->columns[number];
    bool real = column->spec.kind == SUTRA_COLUMN_REAL;
    static const uint64_t nothing;
    struct batch_values values = values_held(table->n_rows ? (const void *)column->values.bytes : &nothing, owner);
    if (real)
        values.valid = valid_new(table->n_rows);
    for (uint64_t row = 0; row < table->n_rows && real && !values.valid.failed; row++)
        valid_put(&values.valid, row, !isnan(table_get_real(table, number, row)));
    batch_values(batch, column->spec.name, real ? "g" : "l", NULL, values);
}

enum sutra_status sutra_table_arrow(const struct sutra_table *table, struct ArrowArrayStream *stream,
                                    struct sutra_error *error) {
    struct table_memory *memory = table_memory_of(table);
    struct batch batch = {.n_rows = table->n_rows, .failed = !memory};
    struct column_owner owner = {memory, hold_memory, leave_memory};
    for (uint32_t i = 0; i < table->n_columns && memory; i++) {
        if (table->columns[i].spec.kind == SUTRA_COLUMN_TEXT)
            make_text(&batch, table, i);
        else
            make_number(&batch, table, i, &owner);
    }
    return batch_stream(&batch, stream, error);
}
