/*
 * makers.c - which columns are wanted, by their names.
 */
#include <stdio.h>
#include <string.h>

#include "arrow/batch.h"
#include "base/error.h"
#include "base/options.h"

enum sutra_status columns_options_take(const struct sutra_columns_options *options, bool args,
                                       struct sutra_columns_options *taken, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_columns_options, n_args);
    enum sutra_status status = options_take(&form, options, taken, error);
    if (!status && taken->n_args && !args)
        return error_set(error, SUTRA_USAGE, "these columns have no args: give none");
    return status;
}

static enum sutra_status no_such_column(const struct column_maker *makers, size_t n, const char *name,
                                        struct sutra_error *error) {
    char list[300] = "";
    size_t length = 0;
    for (size_t i = 0; i < n && length < sizeof list; i++)
        length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", i ? ", " : "", makers[i].name);
    return error_set(error, SUTRA_USAGE, "there is no column \"%.60s\"; there are %s", name, list);
}

static enum sutra_status make_named(const struct column_maker *makers, size_t n, const void *source, const char *name,
                                    struct batch *batch, struct sutra_error *error) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(makers[i].name, name) == 0)
            return makers[i].make(source, &makers[i], batch, error);
    return no_such_column(makers, n, name, error);
}

enum sutra_status makers_run(const struct column_maker *makers, size_t n, const void *source,
                             const struct sutra_columns_options *options, struct batch *batch,
                             struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    for (size_t i = 0; i < n && !options->names && !status; i++)
        if (!makers[i].on_request)
            status = makers[i].make(source, &makers[i], batch, error);
    for (size_t i = 0; options->names && i < options->n_names && !status; i++)
        status = make_named(makers, n, source, options->names[i], batch, error);
    return status;
}
