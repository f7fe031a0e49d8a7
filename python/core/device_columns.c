/*
 * device_columns.c - columns in the memory of a CUDA device, as Arrow device arrays and DLPack tensors.
 */
#include "core.h"

#include <stdlib.h>
#include <string.h>

/* ---- DLPack's C interface, version 0.8 (dmlc.github.io/dlpack) ---- */

#define DLPACK_CUDA 2

struct dlpack_tensor {
    void *data;
    struct {
        int32_t type, number;
    } device;
    int32_t n_dimensions;
    struct {
        uint8_t code, bits; /* code: 0 int, 1 uint, 2 float */
        uint16_t lanes;
    } type;
    int64_t *shape, *strides; /* strides: NULL for a contiguous tensor */
    uint64_t byte_offset;
};

struct dlpack_managed {
    struct dlpack_tensor tensor;
    void *manager;
    void (*deleter)(struct dlpack_managed *managed);
};

/* ---- Creation ---- */

static void device_columns_release(void *thing) {
    sutra_device_columns_free(thing);
}

static const struct kind device_columns_kind = {.name = "device_columns", .free = device_columns_release};

/* A stream whose batch has been read, for its dictionaries, and is exported once more. */
struct inspected_stream {
    struct ArrowArrayStream inner;
    struct ArrowArray batch;
};

static int inspected_schema(struct ArrowArrayStream *stream, struct ArrowSchema *schema) {
    struct inspected_stream *inspected = stream->private_data;
    return inspected->inner.get_schema(&inspected->inner, schema);
}

static int inspected_next(struct ArrowArrayStream *stream, struct ArrowArray *batch) {
    struct inspected_stream *inspected = stream->private_data;
    *batch = inspected->batch;
    inspected->batch.release = NULL;
    return 0;
}

static const char *inspected_error(struct ArrowArrayStream *stream) {
    struct inspected_stream *inspected = stream->private_data;
    return inspected->inner.get_last_error(&inspected->inner);
}

static void inspected_release(struct ArrowArrayStream *stream) {
    struct inspected_stream *inspected = stream->private_data;
    if (inspected->batch.release)
        inspected->batch.release(&inspected->batch);
    inspected->inner.release(&inspected->inner);
    free(inspected);
    stream->release = NULL;
}

/* A list: for each column None, or the list of its dictionary's texts. */
static PyObject *dictionaries_of(const struct ArrowSchema *schema, const struct ArrowArray *batch) {
    PyObject *list = PyList_New(0);
    for (int64_t i = 0; i < batch->n_children; i++) {
        const struct ArrowArray *dictionary = batch->children[i]->dictionary;
        PyObject *texts = Py_None;
        if (dictionary)
            texts = column_values(schema->children[i]->dictionary, dictionary, 0, dictionary->length);
        else
            Py_INCREF(texts);
        list = list_add(list, texts);
    }
    return list;
}

/* device_columns(context, capsule): (Thing, dictionaries). Consumes the stream. */
PyObject *core_device_columns(PyObject *self, PyObject *arguments) {
    PyObject *context, *capsule, *dictionaries = NULL;
    struct box *box = NULL;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "OO", &context, &capsule))
        return NULL;
    struct ArrowArrayStream *from = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (!from || !box_from_object(context, "context", &box))
        return NULL;
    struct inspected_stream *inspected = calloc(1, sizeof *inspected);
    struct ArrowSchema schema = {0};
    if (!inspected || !from->release) {
        free(inspected);
        box_unref(box);
        return PyErr_NoMemory();
    }
    inspected->inner = *from;
    from->release = NULL;
    struct ArrowArrayStream stream = {inspected_schema, inspected_next, inspected_error, inspected_release, inspected};
    if (inspected->inner.get_next(&inspected->inner, &inspected->batch) || inspected_schema(&stream, &schema))
        PyErr_NoMemory();
    else
        dictionaries = dictionaries_of(&schema, &inspected->batch);
    if (schema.release)
        schema.release(&schema);
    if (!dictionaries) {
        stream.release(&stream);
        box_unref(box);
        return NULL;
    }
    struct core_context *core = box->thing;
    struct sutra_device_columns *made = NULL;
    struct sutra_error error;
    PyThreadState *state = PyEval_SaveThread();
    pthread_mutex_lock(&core->run_mutex);
    enum sutra_status status = sutra_device_columns_create(core->context, &stream, &made, &error);
    pthread_mutex_unlock(&core->run_mutex);
    box_unref(box);
    PyEval_RestoreThread(state);
    PyObject *thing = status ? raise_error(&error) : thing_new(box_new(&device_columns_kind, made));
    if (!thing) {
        Py_DECREF(dictionaries);
        return NULL;
    }
    return Py_BuildValue("(NN)", thing, dictionaries);
}

/* ---- Exports ---- */

/* The columns of a Thing as arrays and a schema; false: an exception is set. */
static bool export_columns(PyObject *object, struct ArrowDeviceArray *array, struct ArrowSchema *schema) {
    struct box *box = NULL;
    struct sutra_error error;
    if (!box_from_object(object, device_columns_kind.name, &box))
        return false;
    enum sutra_status status = sutra_device_columns_arrow(box->thing, array, schema, &error);
    box_unref(box);
    if (status)
        raise_error(&error);
    return !status;
}

static void device_array_capsule_free(PyObject *capsule) {
    struct ArrowDeviceArray *array = PyCapsule_GetPointer(capsule, "arrow_device_array");
    if (array && array->array.release)
        array->array.release(&array->array);
    free(array);
}

/* device_array(thing): capsules "arrow_schema" and "arrow_device_array" */
PyObject *core_device_array(PyObject *self, PyObject *object) {
    struct ArrowDeviceArray *array = malloc(sizeof *array);
    struct ArrowSchema schema;
    (void)self;
    if (!array)
        return PyErr_NoMemory();
    if (!export_columns(object, array, &schema)) {
        free(array);
        return NULL;
    }
    PyObject *made = PyCapsule_New(array, "arrow_device_array", device_array_capsule_free);
    if (!made) {
        array->array.release(&array->array);
        free(array);
    }
    PyObject *of_schema = schema_capsule(&schema);
    if (!made || !of_schema) {
        Py_XDECREF(made);
        Py_XDECREF(of_schema);
        return NULL;
    }
    return Py_BuildValue("(NN)", of_schema, made);
}

/* device_fields(thing): (number of the device, rows, [(name, format, number of nulls)]) */
PyObject *core_device_fields(PyObject *self, PyObject *object) {
    struct ArrowDeviceArray array;
    struct ArrowSchema schema;
    (void)self;
    if (!export_columns(object, &array, &schema))
        return NULL;
    PyObject *fields = PyList_New(0);
    for (int64_t i = 0; i < schema.n_children; i++)
        fields = list_add(fields, Py_BuildValue("(ssL)", schema.children[i]->name, schema.children[i]->format,
                                                (long long)array.array.children[i]->null_count));
    long long number = array.device_id, n_rows = array.array.length;
    array.array.release(&array.array);
    schema.release(&schema);
    return fields ? Py_BuildValue("(LLN)", number, n_rows, fields) : NULL;
}

/* A tensor and the array that keeps its memory. */
struct column_tensor {
    struct dlpack_managed managed;
    struct ArrowArray column;
    int64_t shape[1];
};

static void column_tensor_free(struct dlpack_managed *managed) {
    struct column_tensor *tensor = managed->manager;
    tensor->column.release(&tensor->column);
    free(tensor);
}

static void tensor_capsule_free(PyObject *capsule) {
    if (!PyCapsule_IsValid(capsule, "dltensor")) /* the consumer has renamed it and owns the tensor */
        return;
    struct dlpack_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
    managed->deleter(managed);
}

/* Sets the type and the number of values of a buffer; false: no tensor type. */
static bool tensor_type(struct dlpack_tensor *tensor, const char *format, bool valid_rows, int64_t *n) {
    if (valid_rows)
        *n = (*n + 7) / 8;
    tensor->type.code = valid_rows || strchr("CI", *format) ? 1 : *format == 'g' ? 2 : 0;
    tensor->type.bits = valid_rows || strchr("cC", *format) ? 8 : strchr("iI", *format) ? 32 : 64;
    tensor->type.lanes = 1;
    return valid_rows || strchr("cCiIlg", *format);
}

/* dlpack(thing, column, valid_rows): a capsule "dltensor" of the values, or of the bits of the valid rows; None if the
 * type is none of DLPack, or if all rows are valid */
PyObject *core_dlpack(PyObject *self, PyObject *arguments) {
    PyObject *object;
    long long number;
    int valid_rows;
    struct ArrowDeviceArray array;
    struct ArrowSchema schema;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "OLp", &object, &number, &valid_rows) || !export_columns(object, &array, &schema))
        return NULL;
    struct column_tensor *tensor = calloc(1, sizeof *tensor);
    if (!tensor || number < 0 || number >= array.array.n_children) {
        free(tensor);
        array.array.release(&array.array);
        schema.release(&schema);
        return tensor ? PyErr_Format(PyExc_IndexError, "no column %lld", number) : PyErr_NoMemory();
    }
    struct ArrowArray *column = array.array.children[number];
    tensor->column = *column;
    column->release = NULL;
    tensor->shape[0] = tensor->column.length;
    tensor->managed.manager = tensor;
    tensor->managed.deleter = column_tensor_free;
    tensor->managed.tensor.device.type = DLPACK_CUDA;
    tensor->managed.tensor.device.number = (int32_t)array.device_id;
    tensor->managed.tensor.n_dimensions = 1;
    tensor->managed.tensor.shape = tensor->shape;
    const void *data = tensor->column.n_buffers > !valid_rows ? tensor->column.buffers[!valid_rows] : NULL;
    bool ok = tensor_type(&tensor->managed.tensor, schema.children[number]->format, valid_rows, tensor->shape) && data;
    memcpy(&tensor->managed.tensor.data, &data, sizeof data);
    array.array.release(&array.array);
    schema.release(&schema);
    PyObject *capsule = ok ? PyCapsule_New(&tensor->managed, "dltensor", tensor_capsule_free) : NULL;
    if (!capsule)
        column_tensor_free(&tensor->managed);
    if (capsule || PyErr_Occurred())
        return capsule;
    Py_RETURN_NONE;
}
