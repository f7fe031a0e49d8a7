/*
 * hta_spool.c - the tables of a rank as bytes, for another process that joins those of all ranks.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/hta/hta_stragglers.h"
#include "facts/exact_times.h"

static void put_options(const struct sutra_hta_options *options, struct buffer *out) {
    spool_put(out, options->n_kernels);
    spool_put(out, options->kernel_delay_us);
    spool_put(out, options->last_step);
    spool_put(out, options->all_launches);
    spool_put(out, options->nanoseconds);
    spool_put(out, options->compat);
    spool_put(out, options->hta_version);
    spool_put(out, options->full_queue);
    spool_put(out, options->sequence_kernels);
    spool_put_text(out, options->sequences_of);
    spool_put(out, options->no_memory_launches);
    spool_put(out, options->kept_ratio);
    spool_put(out, options->n_annotations);
    spool_put(out, options->n_kept_annotations);
    for (size_t i = 0; i < options->n_kept_annotations; i++)
        spool_put_text(out, options->kept_annotations[i]);
}

void hta_put(const struct sutra_hta *hta, struct buffer *out) {
    put_options(&hta->options, out);
    spool_put(out, hta->starts_real);
    spool_put(out, hta->durs_real);
    for (size_t i = 0; i < sizeof hta->types / sizeof *hta->types; i++)
        for (int state = 0; state < N_STATES; state++) {
            spool_put(out, hta->types[i].length[state]);
            spool_put(out, hta->types[i].exact[state]);
            spool_put(out, hta->types[i].seen[state]);
        }
    spool_put(out, hta->summary);
    spool_put(out, hta->base);
    spool_put(out, hta->made);
    for (int id = 0; id < SUTRA_HTA_N_TABLES; id++) {
        spool_put_text(out, hta->reasons[id]);
        if (hta->made[id])
            spool_put_table(out, &hta->tables[id]);
    }
    spool_put_table(out, &hta->collectives);
    spool_put_table(out, &hta->spans);
    queue_list_put(&hta->queues, out);
}

/* Reasons live as long as the tables: first they are counted from the end of the block. */
static void keep_reasons(struct sutra_hta *hta, bool *failed) {
    size_t length = 0, at = 0;
    for (int id = 0; id < SUTRA_HTA_N_TABLES; id++)
        length += hta->reasons[id] ? strlen(hta->reasons[id]) + 1 : 0;
    hta->taken = malloc(length + 1);
    *failed |= !hta->taken;
    for (int id = 0; id < SUTRA_HTA_N_TABLES && !*failed; id++) {
        size_t n = hta->reasons[id] ? strlen(hta->reasons[id]) + 1 : 0;
        if (n)
            hta->reasons[id] = memcpy(hta->taken + at, hta->reasons[id], n);
        at += n;
    }
}

static void take_table(struct sutra_hta *hta, enum sutra_hta_table id, struct spool_reader *reader, bool *failed) {
    hta_table_begin(hta, id);
    spool_take_table(reader, &hta->tables[id]);
    *failed |= hta->tables[id].failed;
}

/* Whether times of a table are such as traces have (exact_times.h), or `none`: differences of two fit 64 bits. */
static bool times_are_sound(const struct sutra_table *table, uint32_t column, int64_t none) {
    for (uint64_t row = 0; row < table->n_rows; row++) {
        int64_t ns = table_get_integer(table, column, row);
        if (!us_are_sound(us_of(ns)) && ns != none)
            return false;
    }
    return true;
}

static bool collectives_are_sound(const struct sutra_hta *hta) {
    return us_are_sound(us_of(hta->base)) && times_are_sound(&hta->collectives, COLLECTIVE_START, 0) &&
           times_are_sound(&hta->collectives, COLLECTIVE_DUR, 0) &&
           times_are_sound(&hta->spans, SPAN_FIRST, INT64_MAX) && times_are_sound(&hta->spans, SPAN_LAST, INT64_MIN);
}

static void take_tables(struct sutra_hta *hta, struct spool_reader *reader, bool *failed) {
    bool made[SUTRA_HTA_N_TABLES];
    for (int id = 0; id < SUTRA_HTA_N_TABLES; id++)
        made[id] = spool_take_bool(reader);
    for (int id = 0; id < SUTRA_HTA_N_TABLES && !*failed && !reader->failed; id++) {
        hta->reasons[id] = spool_take_text(reader);
        if (made[id])
            take_table(hta, (enum sutra_hta_table)id, reader, failed);
    }
    hta_collectives_init(hta);
    spool_take_table(reader, &hta->collectives);
    spool_take_table(reader, &hta->spans);
    *failed |= hta->collectives.failed || hta->spans.failed;
    reader->failed |= !*failed && !collectives_are_sound(hta);
    *failed |= !queue_list_take(&hta->queues, reader);
}

static void take_figures(struct sutra_hta *hta, struct spool_reader *reader) {
    hta->starts_real = spool_take_bool(reader);
    hta->durs_real = spool_take_bool(reader);
    for (size_t i = 0; i < sizeof hta->types / sizeof *hta->types; i++)
        for (int state = 0; state < N_STATES; state++) {
            spool_take(reader, hta->types[i].length[state]);
            spool_take(reader, hta->types[i].exact[state]);
            hta->types[i].seen[state] = spool_take_bool(reader);
        }
    spool_take(reader, hta->summary);
    spool_take(reader, hta->base);
}

enum sutra_status hta_take(const struct sutra_hta_options *options, const char *path, struct spool_reader *reader,
                           struct sutra_hta **taken, struct sutra_error *error) {
    struct buffer wanted = {0};
    bool failed = false;
    put_options(options, &wanted);
    enum sutra_status status = spool_take_options(reader, &wanted, path, error);
    if (status)
        return status;
    struct sutra_hta *hta = calloc(1, sizeof *hta);
    if (!hta)
        return error_memory(error);
    hta->options = *options;
    take_figures(hta, reader);
    take_tables(hta, reader, &failed);
    keep_reasons(hta, &failed);
    if (!failed && !reader->failed)
        *taken = hta;
    else
        sutra_hta_free(hta);
    return failed ? error_memory(error) : SUTRA_OK;
}
