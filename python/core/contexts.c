/*
 * contexts.c - contexts of libsutra. Jobs queue warnings and progress; the calling thread passes them to Python.
 */
#include "core.h"

#include <stdlib.h>
#include <string.h>

#define WARNINGS_MAX 1000 /* queued at most; later warnings are dropped until the queue is read */

struct warning {
    struct warning *next;
    char text[];
};

static void on_warning(void *arg, const char *message) {
    struct core_context *core = arg;
    size_t length = strlen(message) + 1;
    struct warning *warning = malloc(sizeof *warning + length);
    if (!warning)
        return;
    warning->next = NULL;
    memcpy(warning->text, message, length);
    pthread_mutex_lock(&core->mutex);
    bool kept = core->n_warnings < WARNINGS_MAX;
    if (kept) {
        *core->last = warning;
        core->last = &warning->next;
        core->n_warnings++;
    }
    pthread_mutex_unlock(&core->mutex);
    if (!kept)
        free(warning);
}

static struct warning *detach_warnings(struct core_context *core) {
    pthread_mutex_lock(&core->mutex);
    struct warning *list = core->warnings;
    core->warnings = NULL;
    core->last = &core->warnings;
    core->n_warnings = 0;
    pthread_mutex_unlock(&core->mutex);
    return list;
}

static void free_warnings(struct warning *list) {
    for (struct warning *next; list; list = next) {
        next = list->next;
        free(list);
    }
}

static void on_progress(void *arg, const char *stage, uint64_t done, uint64_t total) {
    struct core_context *core = arg;
    pthread_mutex_lock(&core->mutex);
    core->stage = stage;
    core->done = done;
    core->total = total;
    pthread_mutex_unlock(&core->mutex);
}

static void core_free(void *arg) {
    struct core_context *core = arg;
    sutra_context_free(core->context);
    free_warnings(core->warnings);
    pthread_mutex_destroy(&core->run_mutex);
    pthread_mutex_destroy(&core->mutex);
    free(core);
}

const struct kind context_kind = {.name = "context", .free = core_free};

PyObject *core_context(PyObject *self, PyObject *arguments) {
    unsigned n_threads, number;
    int device, strict, lenient;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "IiIpp", &n_threads, &device, &number, &strict, &lenient))
        return NULL;
    struct core_context *core = calloc(1, sizeof *core);
    if (!core)
        return PyErr_NoMemory();
    pthread_mutex_init(&core->run_mutex, NULL);
    pthread_mutex_init(&core->mutex, NULL);
    core->last = &core->warnings;
    const struct sutra_context_options options = {
        .size = sizeof options,
        .n_threads = n_threads,
        .device = (enum sutra_device)device,
        .device_number = number,
        .strict = strict,
        .lenient = lenient,
        .progress = on_progress,
        .warning = on_warning,
        .arg = core,
    };
    struct sutra_error error;
    PyThreadState *state = PyEval_SaveThread();
    enum sutra_status status = sutra_context_create(&options, &core->context, &error);
    PyEval_RestoreThread(state);
    if (!status)
        return thing_new(box_new(&context_kind, core));
    core_free(core);
    return raise_error(&error);
}

bool issue_warnings(struct core_context *core) {
    struct warning *list = detach_warnings(core);
    bool ok = true;
    for (struct warning *warning = list; warning && ok; warning = warning->next)
        ok = issue_warning(warning->text);
    free_warnings(list);
    return ok;
}

bool report_progress(struct core_context *core, PyObject *progress) {
    if (progress == Py_None)
        return true;
    pthread_mutex_lock(&core->mutex);
    const char *stage = core->stage;
    uint64_t done = core->done, total = core->total;
    pthread_mutex_unlock(&core->mutex);
    if (!stage)
        return true;
    PyObject *result =
        PyObject_CallFunction(progress, "sKK", stage, (unsigned long long)done, (unsigned long long)total);
    Py_XDECREF(result);
    return result != NULL;
}
