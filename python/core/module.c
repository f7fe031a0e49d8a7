/*
 * module.c - the module: its functions and its type.
 */
#include "core.h"

static PyObject *core_version(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    return PyUnicode_FromString(sutra_version());
}

static PyMethodDef methods[] = {
    {"context", core_context, METH_VARARGS, "context(threads, device, number, strict, lenient)"},
    {"run", core_run, METH_VARARGS, "run(operation, context, things, texts, numbers, progress)"},
    {"report", core_report, METH_O, "report(thing)"},
    {"ranks", core_ranks, METH_O, "ranks(thing)"},
    {"tables", core_tables, METH_O, "tables(thing)"},
    {"defects", core_defects, METH_O, "defects(thing)"},
    {"values", core_values, METH_VARARGS, "values(capsule, begin, end)"},
    {"schema", core_schema, METH_O, "schema(capsule)"},
    {"device_columns", core_device_columns, METH_VARARGS, "device_columns(context, capsule)"},
    {"device_array", core_device_array, METH_O, "device_array(thing)"},
    {"device_fields", core_device_fields, METH_O, "device_fields(thing)"},
    {"dlpack", core_dlpack, METH_VARARGS, "dlpack(thing, column, valid_rows)"},
    {"version", core_version, METH_NOARGS, "version()"},
    {0},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_core", "libsutra.", -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__core(void) {
    PyObject *made = errors_init() && thing_init() ? PyModule_Create(&module) : NULL;
    if (made && PyModule_AddObject(made, "Thing", (PyObject *)thing_type)) {
        Py_DECREF(made);
        return NULL;
    }
    return made;
}
