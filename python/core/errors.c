/*
 * errors.c - the exceptions and warnings of pysutra._errors.
 */
#include "core.h"

#include <string.h>

static PyObject *sutra_exception; /* pysutra.SutraError */
static PyObject *sutra_warning;   /* pysutra.SutraWarning */

bool errors_init(void) {
    PyObject *errors = PyImport_ImportModule("pysutra._errors");
    if (!errors)
        return false;
    sutra_exception = PyObject_GetAttrString(errors, "SutraError");
    sutra_warning = PyObject_GetAttrString(errors, "SutraWarning");
    Py_DECREF(errors);
    return sutra_exception && sutra_warning;
}

PyObject *text_of(const char *bytes) {
    return PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)strlen(bytes), "replace");
}

/* SutraError(status, message, file, offset, line) */
PyObject *raise_error(const struct sutra_error *error) {
    bool placed = error->offset != SUTRA_NO_OFFSET;
    PyObject *arguments = Py_BuildValue("(iNNKK)", (int)error->status, text_of(error->message), text_of(error->file),
                                        placed ? (unsigned long long)error->offset : 0ULL,
                                        placed ? (unsigned long long)error->line : 0ULL);
    if (arguments)
        PyErr_SetObject(sutra_exception, arguments);
    Py_XDECREF(arguments);
    return NULL;
}

/* The line that is warned of is the caller's of the package. */
bool warn_of(const char *text) {
    return PyErr_WarnEx(sutra_warning, text, 4) == 0;
}
