/*
 * makers.c - which columns are wanted, by their names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arrow/batch.h"
#include "base/error.h"
#include "base/options.h"

enum sutra_status columns_options_take(const struct sutra_columns_options *options, bool args,
                                       struct sutra_columns_options *taken, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_columns_options, n_args);
    enum sutra_status status = options_take(&form, options, taken, error);
    if (!status && taken->n_args && !args)
        return error_set(error, SUTRA_USAGE, "these columns have no args: remove the args option");
    return status;
}

static enum sutra_status no_such_column(const struct column_maker *makers, size_t n, const char *name,
                                        struct sutra_error *error) {
    char list[300] = "";
    size_t length = 0;
    for (size_t i = 0; i < n && length < sizeof list; i++)
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", i ? ", " : "", makers[i].name);
    return error_set(error, SUTRA_USAGE, "unknown column \"%.60s\"; columns: %s", name, list);
}

/* A column that is wanted, alone in a batch. */
struct column_making {
    const struct column_maker *maker;
    struct batch batch;
};

struct column_makings {
    const void *source;
    struct column_making *list;
    size_t n;
};

static enum sutra_status make_one(void *of, size_t number, struct sutra_error *error) {
    const struct column_makings *makings = of;
    struct column_making *one = &makings->list[number];
    return one->maker->make(makings->source, one->maker, &one->batch, error);
}

static const struct column_maker *maker_named(const struct column_maker *makers, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(makers[i].name, name) == 0)
            return &makers[i];
    return NULL;
}

static enum sutra_status choose(struct column_makings *makings, const struct column_maker *makers, size_t n,
                                const struct sutra_columns_options *options, struct sutra_error *error) {
    for (size_t i = 0; i < n && !options->names; i++)
        if (!makers[i].on_request)
            makings->list[makings->n++].maker = &makers[i];
    for (size_t i = 0; options->names && i < options->n_names; i++) {
        const struct column_maker *maker = maker_named(makers, n, options->names[i]);
        if (!maker)
            return no_such_column(makers, n, options->names[i], error);
        makings->list[makings->n++].maker = maker;
    }
    return SUTRA_OK;
}

enum sutra_status makers_run(struct pool *pool, const struct column_maker *makers, size_t n, const void *source,
                             const struct sutra_columns_options *options, struct batch *batch,
                             struct sutra_error *error) {
    size_t most = options->names ? options->n_names : n;
    struct column_makings makings = {.source = source, .list = calloc(most + 1, sizeof *makings.list)};
    if (!makings.list)
        return error_memory(error);
    enum sutra_status status = choose(&makings, makers, n, options, error);
    for (size_t i = 0; i < makings.n; i++)
        makings.list[i].batch.n_rows = batch->n_rows;
    if (!status)
        status = pool_try(pool, makings.n, make_one, &makings, error);
    for (size_t i = 0; i < makings.n; i++) /* in their order, whatever failed */
        batch_join(batch, &makings.list[i].batch);
    free(makings.list);
    return status;
}
