/*
 * capsules.c - Arrow PyCapsules, and columns as Python lists for callers without an Arrow library.
 */
#include "core.h"

#include <stdlib.h>

static void stream_capsule_free(PyObject *capsule) {
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream && stream->release)
        stream->release(stream);
    free(stream);
}

PyObject *stream_capsule(struct ArrowArrayStream *from) {
    struct ArrowArrayStream *stream = malloc(sizeof *stream);
    if (!stream)
        return PyErr_NoMemory();
    *stream = *from;
    from->release = NULL;
    PyObject *capsule = PyCapsule_New(stream, "arrow_array_stream", stream_capsule_free);
    if (!capsule) {
        stream->release(stream);
        free(stream);
    }
    return capsule;
}

static PyObject *value_at(const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t row);

static PyObject *text_at(const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t row) {
    const int32_t *small = array->buffers[1];
    const int64_t *large = array->buffers[1];
    bool is_large = *schema->format == 'U';
    int64_t begin = is_large ? large[row] : small[row], end = is_large ? large[row + 1] : small[row + 1];
    return PyUnicode_DecodeUTF8((const char *)array->buffers[2] + begin, (Py_ssize_t)(end - begin), "replace");
}

static PyObject *list_at(const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t row) {
    const int32_t *starts = array->buffers[1];
    PyObject *list = PyList_New(0);
    for (int64_t i = starts[row]; i < starts[row + 1] && list; i++) {
        PyObject *value = value_at(schema->children[0], array->children[0], i);
        if (!value || PyList_Append(list, value))
            Py_CLEAR(list);
        Py_XDECREF(value);
    }
    return list;
}

static PyObject *value_at(const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t row) {
    const uint8_t *valid = array->n_buffers ? array->buffers[0] : NULL;
    if (!array->n_buffers || (valid && !(valid[row >> 3] >> (row & 7) & 1)))
        Py_RETURN_NONE;
    const void *values = array->buffers[1];
    bool small = *schema->format == 'c';
    if (schema->dictionary)
        return value_at(schema->dictionary, array->dictionary,
                        small ? ((const int8_t *)values)[row] : ((const int32_t *)values)[row]);
    switch (*schema->format) {
    case 'l':
        return PyLong_FromLongLong(((const int64_t *)values)[row]);
    case 'I':
        return PyLong_FromUnsignedLong(((const uint32_t *)values)[row]);
    case 'g':
        return PyFloat_FromDouble(((const double *)values)[row]);
    case 'b':
        return PyBool_FromLong(((const uint8_t *)values)[row >> 3] >> (row & 7) & 1);
    case '+':
        return list_at(schema, array, row);
    default:
        return text_at(schema, array, row);
    }
}

PyObject *column_values(const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t begin, int64_t end) {
    PyObject *list = PyList_New(0);
    for (int64_t row = begin; row < end && list; row++) {
        PyObject *value = value_at(schema, array, row);
        if (!value || PyList_Append(list, value))
            Py_CLEAR(list);
        Py_XDECREF(value);
    }
    return list;
}

/* values(capsule, begin, end): (number of rows, {column name: list of the values of rows [begin, end)}).
 * Consumes the stream. */
PyObject *core_values(PyObject *self, PyObject *arguments) {
    PyObject *capsule;
    long long begin, end;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "OLL", &capsule, &begin, &end))
        return NULL;
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    struct ArrowSchema schema;
    struct ArrowArray batch = {0};
    if (!stream)
        return NULL;
    if (!stream->release || stream->get_schema(stream, &schema))
        return PyErr_NoMemory();
    if (stream->get_next(stream, &batch) || !batch.release) {
        schema.release(&schema);
        return PyErr_NoMemory();
    }
    begin = begin < 0 ? 0 : begin < batch.length ? begin : batch.length;
    end = end < begin ? begin : end < batch.length ? end : batch.length;
    PyObject *columns = PyDict_New();
    for (int64_t i = 0; i < batch.n_children && columns; i++) {
        PyObject *list = column_values(schema.children[i], batch.children[i], begin, end);
        if (!list || PyDict_SetItemString(columns, schema.children[i]->name, list))
            Py_CLEAR(columns);
        Py_XDECREF(list);
    }
    PyObject *result = columns ? Py_BuildValue("(LN)", (long long)batch.length, columns) : NULL;
    batch.release(&batch);
    schema.release(&schema);
    return result;
}

static void schema_capsule_free(PyObject *capsule) {
    struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema && schema->release)
        schema->release(schema);
    free(schema);
}

PyObject *schema_capsule(struct ArrowSchema *from) {
    struct ArrowSchema *schema = malloc(sizeof *schema);
    if (!schema) {
        from->release(from);
        return PyErr_NoMemory();
    }
    *schema = *from;
    PyObject *made = PyCapsule_New(schema, "arrow_schema", schema_capsule_free);
    if (!made) {
        schema->release(schema);
        free(schema);
    }
    return made;
}

/* schema(capsule): a capsule "arrow_schema" of the stream; does not consume the stream */
PyObject *core_schema(PyObject *self, PyObject *capsule) {
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    struct ArrowSchema schema;
    (void)self;
    if (!stream)
        return NULL;
    if (!stream->release || stream->get_schema(stream, &schema))
        return PyErr_NoMemory();
    return schema_capsule(&schema);
}
