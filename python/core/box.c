/*
 * box.c - reference-counted owners (boxes) of libsutra objects, and the Python type Thing: one reference to a box.
 */
#include "core.h"

#include <stdlib.h>

struct box *box_ref(struct box *box) {
    atomic_fetch_add(&box->n_refs, 1);
    return box;
}

void box_unref(struct box *box) {
    if (!box || atomic_fetch_sub(&box->n_refs, 1) > 1)
        return;
    box->kind->free(box->thing);
    for (int i = 0; i < DEPENDENCIES_MAX; i++)
        box_unref(box->dependencies[i]);
    free(box);
}

struct box *box_new(const struct kind *kind, void *thing) {
    struct box *box = calloc(1, sizeof *box);
    if (!box) {
        kind->free(thing);
        return NULL;
    }
    *box = (struct box){.kind = kind, .thing = thing};
    atomic_store(&box->n_refs, 1);
    return box;
}

PyTypeObject *thing_type;

static PyObject *thing_close(PyObject *self, PyObject *unused) {
    struct thing_object *thing = (struct thing_object *)self;
    struct box *box = thing->box;
    (void)unused;
    thing->box = NULL;
    PyThreadState *state = PyEval_SaveThread();
    box_unref(box);
    PyEval_RestoreThread(state);
    Py_RETURN_NONE;
}

static void thing_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    box_unref(((struct thing_object *)self)->box);
    freefunc release = (freefunc)PyType_GetSlot(type, Py_tp_free);
    release(self);
    Py_DECREF(type);
}

static PyObject *thing_is_closed(PyObject *self, void *unused) {
    (void)unused;
    return PyBool_FromLong(!((struct thing_object *)self)->box);
}

static PyObject *thing_kind(PyObject *self, void *unused) {
    const struct box *box = ((struct thing_object *)self)->box;
    (void)unused;
    return PyUnicode_FromString(box ? box->kind->name : "closed");
}

static PyMethodDef thing_methods[] = {
    {"close", thing_close, METH_NOARGS, "Releases the object; its memory is freed with the last result that uses it."},
    {0},
};
static PyGetSetDef thing_members[] = {
    {"closed", thing_is_closed, NULL, "Whether close() was called.", NULL},
    {"kind", thing_kind, NULL, "Kind of the object.", NULL},
    {0},
};
static PyType_Slot thing_slots[] = {
    {Py_tp_dealloc, (void *)thing_dealloc},
    {Py_tp_methods, thing_methods},
    {Py_tp_getset, thing_members},
    {Py_tp_doc, "An object of libsutra."},
    {0, NULL},
};
static PyType_Spec thing_spec = {
    .name = "pysutra._core.Thing",
    .basicsize = sizeof(struct thing_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = thing_slots,
};

PyObject *thing_new(struct box *box) {
    if (!box)
        return PyErr_NoMemory();
    allocfunc allocate = (allocfunc)PyType_GetSlot(thing_type, Py_tp_alloc);
    struct thing_object *thing = (struct thing_object *)allocate(thing_type, 0);
    if (!thing) {
        box_unref(box);
        return NULL;
    }
    thing->box = box;
    return (PyObject *)thing;
}

bool thing_init(void) {
    thing_type = (PyTypeObject *)PyType_FromSpec(&thing_spec);
    return thing_type != NULL;
}
