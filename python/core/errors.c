/*
 * errors.c - the exceptions and warnings of pysutra._errors.
 */
#include "core.h"

#include <string.h>

static PyObject *make_exception; /* pysutra._errors.error_of() */
static PyObject *sutra_warning;  /* pysutra.SutraWarning */

bool errors_init(void) {
    PyObject *errors = PyImport_ImportModule("pysutra._errors");
    if (!errors)
        return false;
    make_exception = PyObject_GetAttrString(errors, "error_of");
    sutra_warning = PyObject_GetAttrString(errors, "SutraWarning");
    Py_DECREF(errors);
    return make_exception && sutra_warning;
}

PyObject *str_from_utf8(const char *bytes) {
    return PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)strlen(bytes), "replace");
}

/* error_of(status, message, file, offset, line, os_error) */
PyObject *raise_error(const struct sutra_error *error) {
    bool has_position = error->offset != SUTRA_NO_OFFSET;
    PyObject *exception =
        PyObject_CallFunction(make_exception, "iNNKKi", (int)error->status, str_from_utf8(error->message),
                              str_from_utf8(error->file), has_position ? (unsigned long long)error->offset : 0ULL,
                              has_position ? (unsigned long long)error->line : 0ULL, error->os_error);
    if (exception)
        PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    Py_XDECREF(exception);
    return NULL;
}

/* stacklevel 4: the line outside of the package that called it. */
bool issue_warning(const char *text) {
    return PyErr_WarnEx(sutra_warning, text, 4) == 0;
}
