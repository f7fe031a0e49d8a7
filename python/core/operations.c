/*
 * operations.c - finds operations by name; operations of all results: columns, and tables by number.
 */
#include "core.h"

#include <string.h>

const struct sutra_result *own_result(const void *thing, size_t i) {
    return i == 0 ? SUTRA_RESULT(thing) : NULL;
}

/* The number counts through the tables of all results of the thing. */
static enum sutra_status run_table(struct job *job, struct sutra_context *context) {
    const struct box *box = job->things[0];
    const struct sutra_result *result;
    const char *reason = "no such table";
    double number = job->numbers[0];
    (void)context;
    for (size_t i = 0; box->kind->result && (result = box->kind->result(box->thing, i)); i++) {
        uint32_t n = sutra_result_n_tables(result);
        if (number >= 0 && number < n) {
            const struct sutra_table *table = sutra_result_table(result, (uint32_t)number, &reason);
            return table ? sutra_table_arrow(table, &job->stream, &job->error) : job_fail(job, SUTRA_DATA, reason);
        }
        number -= n;
    }
    return job_fail(job, SUTRA_DATA, reason);
}

/* Texts: names of columns, then names of args. numbers[0]: number of column names; negative: the default columns. */
static enum sutra_status run_columns(struct job *job, struct sutra_context *context) {
    const struct box *box = job->things[0];
    size_t n_names = job->numbers[0] > 0 ? (size_t)job->numbers[0] : 0;
    const struct sutra_columns_options options = {
        .size = sizeof options,
        .names = job->numbers[0] < 0 ? NULL : (const char *const *)job->texts,
        .n_names = n_names,
        .args = (const char *const *)job->texts + n_names,
        .n_args = job->n_texts - n_names,
    };
    if (!box->kind->columns)
        return job_fail(job, SUTRA_USAGE, "the result has no columns");
    return box->kind->columns(job, context, box->thing, &options);
}

static const struct operation common_operations[] = {
    {"table", {"*"}, 0, 1, RETURNS_STREAM, run_table, NULL},
    {"columns", {"*"}, 0, 1, RETURNS_STREAM, run_columns, NULL},
    {0},
};

static const struct operation *find_operation(const char *name) {
    static const struct operation *const lists[] = {trace_operations,   analysis_operations,   finding_operations,
                                                    rewrite_operations, simulation_operations, common_operations};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const struct operation *operation = lists[i]; operation->name; operation++)
            if (strcmp(operation->name, name) == 0)
                return operation;
    PyErr_Format(PyExc_ValueError, "internal error: unknown operation %s", name);
    return NULL;
}

/* run(operation, context, things, texts, numbers, progress) */
PyObject *core_run(PyObject *self, PyObject *arguments) {
    (void)self;
    PyObject *first = PyTuple_GetItem(arguments, 0), *name = first ? PyUnicode_AsUTF8String(first) : NULL;
    const struct operation *operation = name ? find_operation(PyBytes_AsString(name)) : NULL;
    Py_XDECREF(name);
    return operation ? job_run(operation, arguments) : NULL;
}
