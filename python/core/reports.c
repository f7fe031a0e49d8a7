/*
 * reports.c - summaries of results as dicts; lists of their ranks and of their tables.
 */
#include "core.h"

#include <string.h>

PyObject *dict_from_members(const void *report, const struct member *members) {
    PyObject *result = PyDict_New();
    for (; result && members->name; members++) {
        const char *at = (const char *)report + members->offset;
        uint64_t count;
        double real;
        memcpy(&count, at, sizeof count);
        memcpy(&real, at, sizeof real);
        PyObject *value = members->real ? PyFloat_FromDouble(real) : PyLong_FromUnsignedLongLong(count);
        if (!value || PyDict_SetItemString(result, members->name, value))
            Py_CLEAR(result);
        Py_XDECREF(value);
    }
    return result;
}

PyObject *list_add(PyObject *list, PyObject *item) {
    if (!item || PyList_Append(list, item))
        Py_CLEAR(list);
    Py_XDECREF(item);
    return list;
}

PyObject *dict_add(PyObject *dict, const char *name, PyObject *value) {
    if (dict && (!value || PyDict_SetItemString(dict, name, value)))
        Py_CLEAR(dict);
    Py_XDECREF(value);
    return dict;
}

/* A new reference to the thing's box; NULL: an exception is set. */
static struct box *box_of(PyObject *object) {
    struct box *box = NULL;
    return box_from_object(object, "*", &box) ? box : NULL;
}

/* report(thing): a dict of the summary of a result */
PyObject *core_report(PyObject *self, PyObject *object) {
    struct box *box = box_of(object);
    PyObject *result = NULL;
    (void)self;
    if (box && box->kind->report)
        result = box->kind->report(box->thing);
    else if (box)
        PyErr_SetString(PyExc_TypeError, "the result has no report");
    box_unref(box);
    return result;
}

/* ranks(thing): a list of (path, rank, reason for skipping it or None) */
PyObject *core_ranks(PyObject *self, PyObject *object) {
    struct box *box = box_of(object);
    struct rank_entry rank;
    PyObject *list = NULL;
    (void)self;
    if (box && box->kind->rank)
        list = PyList_New(0);
    else if (box)
        PyErr_SetString(PyExc_TypeError, "the result has no ranks");
    for (size_t i = 0; list && box->kind->rank(box->thing, i, &rank); i++)
        list = list_add(list, Py_BuildValue("(NLz)", str_from_utf8(rank.path), rank.rank, rank.reason));
    box_unref(box);
    return list;
}

PyObject *defect_tuple(const struct sutra_trace_defect *defect) {
    return Py_BuildValue("(sKKdNzsN)", defect->name, (unsigned long long)defect->count, (unsigned long long)defect->of,
                         defect->largest_us, str_from_utf8(defect->example), *defect->cause ? defect->cause : NULL,
                         defect->effect, str_from_utf8(defect->message));
}

/* defects(thing): a list of tuples of the defects of the traces of a result; of the first result, as all have the same */
PyObject *core_defects(PyObject *self, PyObject *object) {
    struct box *box = box_of(object);
    struct sutra_trace_defect defect = {.size = sizeof defect};
    PyObject *list = box ? PyList_New(0) : NULL;
    (void)self;
    const struct sutra_result *result = list && box->kind->result ? box->kind->result(box->thing, 0) : NULL;
    for (uint32_t i = 0; list && result && sutra_result_defect(result, i, &defect); i++)
        list = list_add(list, defect_tuple(&defect));
    box_unref(box);
    return list;
}

/* tables(thing): a list of (number, name) of the available tables */
PyObject *core_tables(PyObject *self, PyObject *object) {
    struct box *box = box_of(object);
    PyObject *list = box ? PyList_New(0) : NULL;
    (void)self;
    const struct sutra_result *result;
    unsigned number = 0;
    for (size_t i = 0; list && box->kind->result && (result = box->kind->result(box->thing, i)); i++)
        for (uint32_t id = 0; list && id < sutra_result_n_tables(result); id++, number++) {
            const struct sutra_table *table = sutra_result_table(result, id, NULL);
            if (table)
                list = list_add(list, Py_BuildValue("(Is)", number, sutra_table_name(table)));
        }
    box_unref(box);
    return list;
}
