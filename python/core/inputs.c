/*
 * inputs.c - arguments of operations: references to things, and copies of strings and numbers, so that a job runs
 * without the interpreter lock.
 */
#include "core.h"

#include <stdlib.h>
#include <string.h>

bool box_from_object(PyObject *object, const char *kind, struct box **box) {
    bool optional = *kind == '?', any = *kind == '*';
    const char *name = any ? "result" : kind + optional;
    if (optional && object == Py_None)
        return true;
    if (!PyObject_TypeCheck(object, thing_type)) {
        PyErr_Format(PyExc_TypeError, "expected a %s, not %R", name, object);
        return false;
    }
    struct box *given = ((struct thing_object *)object)->box;
    if (!given) {
        PyErr_Format(PyExc_ValueError, "this %s is closed", name);
        return false;
    }
    if (!any && strcmp(given->kind->name, name)) {
        PyErr_Format(PyExc_TypeError, "expected a %s, got a %s", name, given->kind->name);
        return false;
    }
    *box = box_ref(given);
    return true;
}

bool parse_things(struct job *job, PyObject *things) {
    for (int i = 0; i < THINGS_MAX && job->operation->things[i]; i++) {
        PyObject *object = PyTuple_GetItem(things, i);
        if (!object || !box_from_object(object, job->operation->things[i], &job->things[i]))
            return false;
    }
    return true;
}

static bool copy_text(PyObject *object, char **text) {
    Py_ssize_t length;
    if (object == Py_None)
        return true;
    PyObject *bytes =
        PyBytes_Check(object) ? PySequence_GetSlice(object, 0, PY_SSIZE_T_MAX) : PyUnicode_AsUTF8String(object);
    char *given;
    if (!bytes || PyBytes_AsStringAndSize(bytes, &given, &length))
        return false;
    bool ok = strlen(given) == (size_t)length;
    if (!ok)
        PyErr_SetString(PyExc_ValueError, "a string contains a NUL character");
    else if (!(*text = strdup(given)))
        PyErr_NoMemory();
    Py_DECREF(bytes);
    return ok && *text;
}

bool parse_texts(struct job *job, PyObject *texts) {
    Py_ssize_t n = PyTuple_Size(texts);
    if (n < 0 || (size_t)n < job->operation->n_texts) {
        PyErr_SetString(PyExc_TypeError, "internal error: too few texts");
        return false;
    }
    job->texts = calloc((size_t)n + 1, sizeof *job->texts);
    if (!job->texts) {
        PyErr_NoMemory();
        return false;
    }
    job->n_texts = (size_t)n;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *text = PyTuple_GetItem(texts, i);
        if (text == Py_None && (size_t)i >= job->operation->n_texts) {
            PyErr_SetString(PyExc_TypeError, "a list of texts contains None");
            return false;
        }
        if (!copy_text(text, &job->texts[i]))
            return false;
    }
    return true;
}

bool parse_numbers(struct job *job, PyObject *numbers) {
    Py_ssize_t n = PyTuple_Size(numbers);
    if (n < 0 || (size_t)n < job->operation->n_numbers) {
        PyErr_SetString(PyExc_TypeError, "internal error: too few numbers");
        return false;
    }
    job->numbers = calloc((size_t)n + 1, sizeof *job->numbers);
    if (!job->numbers) {
        PyErr_NoMemory();
        return false;
    }
    job->n_numbers = (size_t)n;
    for (Py_ssize_t i = 0; i < n; i++)
        job->numbers[i] = PyFloat_AsDouble(PyTuple_GetItem(numbers, i));
    return !PyErr_Occurred();
}

bool job_ranks(struct job *job, size_t first) {
    size_t n = (job->n_numbers - first) / 2;
    job->ranks = calloc(n + 1, sizeof *job->ranks);
    if (!job->ranks) {
        job_fail(job, SUTRA_SYSTEM, "out of memory");
        return false;
    }
    for (size_t i = 0; i < n; i++)
        job->ranks[i] =
            (struct sutra_rank_range){(int64_t)job->numbers[first + 2 * i], (int64_t)job->numbers[first + 2 * i + 1]};
    job->n_ranks = n;
    return true;
}

const struct sutra_restriction *job_restriction(struct job *job, size_t n_numbers) {
    if (!job_ranks(job, n_numbers + RESTRICTION_NUMBERS))
        return NULL;
    job->restriction = (struct sutra_restriction){.size = sizeof job->restriction,
                                                  .ranks = job->ranks,
                                                  .n_ranks = job->n_ranks,
                                                  .step = job->texts[0],
                                                  .from_us = job->numbers[n_numbers],
                                                  .to_us = job->numbers[n_numbers + 1],
                                                  .name = job->texts[1],
                                                  .stream = job->texts[2],
                                                  .category = job->texts[3]};
    return &job->restriction;
}
