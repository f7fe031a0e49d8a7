/*
 * _core.c - libsutra for Python: things that count who needs them, and work that is done beside the interpreter.
 *
 *     run("device_trace", context, things, texts, numbers, progress) --> a thread of its own --> Thing, capsule or number
 *
 *     Thing     holds a box: {pointer, how to free it, the boxes that it needs}. close() lets go of it; what it is made of
 *               goes when nobody needs it any more, in whatever order things are closed.
 *     job       what comes in and goes out of one piece of work. Its thread runs without the interpreter; the caller looks in
 *               every 20 ms for signals, warnings and progress. An exception from there abandons the job, which then frees
 *               its results by itself.
 *
 * A context does one job at a time; others wait for it. Everything else is Python (_api.py).
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sutra/sutra.h>

/* ---- Boxes ---- */

#define NEEDS_MAX 4

struct box {
    atomic_uint holders;
    const char *kind;
    void *thing;
    void (*free)(void *thing);
    struct box *needs[NEEDS_MAX];
};

static struct box *box_hold(struct box *box) {
    atomic_fetch_add(&box->holders, 1);
    return box;
}

static void box_leave(struct box *box) {
    if (!box || atomic_fetch_sub(&box->holders, 1) > 1)
        return;
    box->free(box->thing);
    for (int i = 0; i < NEEDS_MAX; i++)
        box_leave(box->needs[i]);
    free(box);
}

/* Takes the thing over; NULL: out of memory, and it is freed. */
static struct box *box_new(const char *kind, void *thing, void (*release)(void *)) {
    struct box *box = calloc(1, sizeof *box);
    if (!box) {
        release(thing);
        return NULL;
    }
    *box = (struct box){.kind = kind, .thing = thing, .free = release};
    atomic_store(&box->holders, 1);
    return box;
}

/* ---- Things, as Python sees them ---- */

struct thing_object {
    PyObject_HEAD struct box *box; /* NULL: closed */
};

static PyTypeObject *thing_type;

static PyObject *thing_close(PyObject *self, PyObject *unused) {
    struct thing_object *thing = (struct thing_object *)self;
    struct box *box = thing->box;
    (void)unused;
    thing->box = NULL;
    PyThreadState *state = PyEval_SaveThread();
    box_leave(box);
    PyEval_RestoreThread(state);
    Py_RETURN_NONE;
}

static void thing_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    box_leave(((struct thing_object *)self)->box);
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
    return PyUnicode_FromString(box ? box->kind : "closed");
}

static PyMethodDef thing_methods[] = {
    {"close", thing_close, METH_NOARGS, "Lets go of what this stands for; its memory goes with the last who needs it."},
    {0},
};
static PyGetSetDef thing_members[] = {
    {"closed", thing_is_closed, NULL, "Whether it was closed.", NULL},
    {"kind", thing_kind, NULL, "What it is.", NULL},
    {0},
};
static PyType_Slot thing_slots[] = {
    {Py_tp_dealloc, (void *)thing_dealloc},
    {Py_tp_methods, thing_methods},
    {Py_tp_getset, thing_members},
    {Py_tp_doc, "Something of libsutra's."},
    {0, NULL},
};
static PyType_Spec thing_spec = {
    .name = "pysutra._core.Thing",
    .basicsize = sizeof(struct thing_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = thing_slots,
};

/* Takes the box over. */
static PyObject *thing_new(struct box *box) {
    if (!box)
        return PyErr_NoMemory();
    allocfunc take = (allocfunc)PyType_GetSlot(thing_type, Py_tp_alloc);
    struct thing_object *thing = (struct thing_object *)take(thing_type, 0);
    if (!thing) {
        box_leave(box);
        return NULL;
    }
    thing->box = box;
    return (PyObject *)thing;
}

/* ---- Contexts ---- */

#define WARNINGS_MAX 1000 /* what nobody collects is not kept without end */

struct warning {
    struct warning *next;
    char text[];
};

struct core_context {
    struct sutra_context *context;
    pthread_mutex_t work;  /* held by the job that runs */
    pthread_mutex_t guard; /* of what follows */
    struct warning *warnings, **last;
    unsigned n_warnings;
    const char *stage;
    uint64_t done, total;
};

static void on_warning(void *arg, const char *message) {
    struct core_context *core = arg;
    size_t length = strlen(message) + 1;
    struct warning *warning = malloc(sizeof *warning + length);
    if (!warning)
        return;
    warning->next = NULL;
    memcpy(warning->text, message, length);
    pthread_mutex_lock(&core->guard);
    bool kept = core->n_warnings < WARNINGS_MAX;
    if (kept) {
        *core->last = warning;
        core->last = &warning->next;
        core->n_warnings++;
    }
    pthread_mutex_unlock(&core->guard);
    if (!kept)
        free(warning);
}

static struct warning *take_warnings(struct core_context *core) {
    pthread_mutex_lock(&core->guard);
    struct warning *list = core->warnings;
    core->warnings = NULL;
    core->last = &core->warnings;
    core->n_warnings = 0;
    pthread_mutex_unlock(&core->guard);
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
    pthread_mutex_lock(&core->guard);
    core->stage = stage;
    core->done = done;
    core->total = total;
    pthread_mutex_unlock(&core->guard);
}

static void core_free(void *arg) {
    struct core_context *core = arg;
    sutra_context_free(core->context);
    free_warnings(core->warnings);
    pthread_mutex_destroy(&core->work);
    pthread_mutex_destroy(&core->guard);
    free(core);
}

static PyObject *sutra_exception; /* pysutra.SutraError */

static PyObject *text_of(const char *bytes) {
    return PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)strlen(bytes), "replace");
}

/* Raises SutraError(status, message, file, offset, line). */
static PyObject *raise_error(const struct sutra_error *error) {
    bool placed = error->offset != SUTRA_NO_OFFSET;
    PyObject *arguments = Py_BuildValue("(iNNKK)", (int)error->status, text_of(error->message), text_of(error->file),
                                        placed ? (unsigned long long)error->offset : 0ULL,
                                        placed ? (unsigned long long)error->line : 0ULL);
    if (arguments)
        PyErr_SetObject(sutra_exception, arguments);
    Py_XDECREF(arguments);
    return NULL;
}

static PyObject *core_context(PyObject *self, PyObject *arguments) {
    unsigned n_threads;
    int device, strict, lenient;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "Iipp", &n_threads, &device, &strict, &lenient))
        return NULL;
    struct core_context *core = calloc(1, sizeof *core);
    if (!core)
        return PyErr_NoMemory();
    pthread_mutex_init(&core->work, NULL);
    pthread_mutex_init(&core->guard, NULL);
    core->last = &core->warnings;
    const struct sutra_context_options options = {
        .size = sizeof options,
        .n_threads = n_threads,
        .device = (enum sutra_device)device,
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
        return thing_new(box_new("context", core, core_free));
    core_free(core);
    return raise_error(&error);
}

/* ---- Jobs ---- */

#define THINGS_MAX  2
#define NUMBERS_MAX 16

enum job_gives { GIVES_NOTHING, GIVES_THING, GIVES_STREAM, GIVES_NUMBER };

struct job;

struct operation {
    const char *name;
    const char *things[THINGS_MAX]; /* their kinds; NULL: none; "?kind": or none */
    size_t n_texts, n_numbers;      /* at least */
    enum job_gives gives;
    enum sutra_status (*run)(struct job *job, struct sutra_context *context);
    void (*free)(void *thing); /* of what it gives */
};

struct job {
    atomic_uint holders; /* the caller and the thread */
    pthread_mutex_t mutex;
    pthread_cond_t finished;
    bool is_done, is_abandoned;
    const struct operation *operation;
    struct box *context, *things[THINGS_MAX];
    char **texts; /* NULL stands for None */
    size_t n_texts;
    double numbers[NUMBERS_MAX];
    size_t n_numbers;
    struct sutra_error error;
    enum sutra_status status;
    void *thing;
    struct ArrowArrayStream stream;
    uint64_t number;
};

static void job_leave(struct job *job) {
    if (atomic_fetch_sub(&job->holders, 1) > 1)
        return;
    if (job->thing)
        job->operation->free(job->thing);
    if (job->stream.release)
        job->stream.release(&job->stream);
    for (int i = 0; i < THINGS_MAX; i++)
        box_leave(job->things[i]);
    box_leave(job->context);
    for (size_t i = 0; i < job->n_texts; i++)
        free(job->texts[i]);
    free(job->texts);
    pthread_cond_destroy(&job->finished);
    pthread_mutex_destroy(&job->mutex);
    free(job);
}

static bool job_is_abandoned(struct job *job) {
    pthread_mutex_lock(&job->mutex);
    bool abandoned = job->is_abandoned;
    pthread_mutex_unlock(&job->mutex);
    return abandoned;
}

/* The job's thread. One that was abandoned while it waited for its context does nothing. */
static void *job_thread(void *arg) {
    struct job *job = arg;
    struct core_context *core = job->context->thing;
    pthread_mutex_lock(&core->work);
    if (!job_is_abandoned(job))
        job->status = job->operation->run(job, core->context);
    pthread_mutex_unlock(&core->work);
    pthread_mutex_lock(&job->mutex);
    job->is_done = true;
    pthread_cond_signal(&job->finished);
    pthread_mutex_unlock(&job->mutex);
    job_leave(job);
    return NULL;
}

/* Waits up to 20 ms. */
static bool job_wait(struct job *job) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 20000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&job->mutex);
    if (!job->is_done)
        pthread_cond_timedwait(&job->finished, &job->mutex, &until);
    bool is_done = job->is_done;
    pthread_mutex_unlock(&job->mutex);
    return is_done;
}

static PyObject *sutra_warning; /* pysutra.SutraWarning */

/* False: an exception is set. */
static bool tell_warnings(struct core_context *core) {
    struct warning *list = take_warnings(core);
    bool ok = true;
    for (struct warning *warning = list; warning && ok; warning = warning->next)
        ok = PyErr_WarnEx(sutra_warning, warning->text, 4) == 0;
    free_warnings(list);
    return ok;
}

static bool tell_progress(struct core_context *core, PyObject *progress) {
    if (progress == Py_None)
        return true;
    pthread_mutex_lock(&core->guard);
    const char *stage = core->stage;
    uint64_t done = core->done, total = core->total;
    pthread_mutex_unlock(&core->guard);
    if (!stage)
        return true;
    PyObject *result =
        PyObject_CallFunction(progress, "sKK", stage, (unsigned long long)done, (unsigned long long)total);
    Py_XDECREF(result);
    return result != NULL;
}

/* Until the job is done; false: an exception is set, and the job is left to itself. */
static bool job_attend(struct job *job, PyObject *progress) {
    struct core_context *core = job->context->thing;
    bool is_done = false;
    while (!is_done) {
        PyThreadState *state = PyEval_SaveThread();
        is_done = job_wait(job);
        PyEval_RestoreThread(state);
        if (PyErr_CheckSignals() || !tell_progress(core, progress) || !tell_warnings(core)) {
            pthread_mutex_lock(&job->mutex);
            job->is_abandoned = true;
            pthread_mutex_unlock(&job->mutex);
            return false;
        }
    }
    return true;
}

static void stream_capsule_free(PyObject *capsule) {
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    if (stream && stream->release)
        stream->release(stream);
    free(stream);
}

static PyObject *stream_capsule(struct ArrowArrayStream *from) {
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

/* What the job gives, as a Thing that needs all that it was made of. */
static PyObject *job_thing(struct job *job) {
    struct box *box = box_new(job->operation->name, job->thing, job->operation->free);
    job->thing = NULL;
    if (!box)
        return PyErr_NoMemory();
    box->needs[0] = box_hold(job->context);
    for (int i = 0; i < THINGS_MAX; i++)
        if (job->things[i])
            box->needs[1 + i] = box_hold(job->things[i]);
    return thing_new(box);
}

static PyObject *job_result(struct job *job) {
    if (job->status)
        return raise_error(&job->error);
    switch (job->operation->gives) {
    case GIVES_THING:
        return job_thing(job);
    case GIVES_STREAM:
        return stream_capsule(&job->stream);
    case GIVES_NUMBER:
        return PyLong_FromUnsignedLongLong(job->number);
    default:
        Py_RETURN_NONE;
    }
}

static bool job_start(struct job *job) {
    pthread_attr_t attributes;
    pthread_t thread;
    if (pthread_attr_init(&attributes))
        return false;
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    atomic_store(&job->holders, 2);
    bool ok = pthread_create(&thread, &attributes, job_thread, job) == 0;
    if (!ok)
        atomic_store(&job->holders, 1);
    pthread_attr_destroy(&attributes);
    return ok;
}

/* ---- What comes in ---- */

static bool take_box(PyObject *object, const char *kind, struct box **box) {
    bool optional = *kind == '?', any = *kind == '*';
    const char *name = any ? "result" : kind + optional;
    if (optional && object == Py_None)
        return true;
    if (!PyObject_TypeCheck(object, thing_type)) {
        PyErr_Format(PyExc_TypeError, "a %s is needed", name);
        return false;
    }
    struct box *given = ((struct thing_object *)object)->box;
    if (!given) {
        PyErr_Format(PyExc_ValueError, "this %s was closed", name);
        return false;
    }
    if (!any && strcmp(given->kind, name)) {
        PyErr_Format(PyExc_TypeError, "a %s is needed, and this is a %s", name, given->kind);
        return false;
    }
    *box = box_hold(given);
    return true;
}

static bool take_things(struct job *job, PyObject *things) {
    for (int i = 0; i < THINGS_MAX && job->operation->things[i]; i++) {
        PyObject *object = PyTuple_GetItem(things, i);
        if (!object || !take_box(object, job->operation->things[i], &job->things[i]))
            return false;
    }
    return true;
}

static bool take_text(PyObject *object, char **text) {
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
        PyErr_SetString(PyExc_ValueError, "a text has a NUL character in it");
    else if (!(*text = strdup(given)))
        PyErr_NoMemory();
    Py_DECREF(bytes);
    return ok && *text;
}

static bool take_texts(struct job *job, PyObject *texts) {
    Py_ssize_t n = PyTuple_Size(texts);
    if (n < 0 || (size_t)n < job->operation->n_texts) {
        PyErr_SetString(PyExc_TypeError, "too few texts");
        return false;
    }
    job->texts = calloc((size_t)n + 1, sizeof *job->texts);
    if (!job->texts) {
        PyErr_NoMemory();
        return false;
    }
    job->n_texts = (size_t)n;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!take_text(PyTuple_GetItem(texts, i), &job->texts[i]))
            return false;
    return true;
}

static bool take_numbers(struct job *job, PyObject *numbers) {
    Py_ssize_t n = PyTuple_Size(numbers);
    if (n < 0 || n > NUMBERS_MAX || (size_t)n < job->operation->n_numbers) {
        PyErr_SetString(PyExc_TypeError, "another number of numbers is needed");
        return false;
    }
    job->n_numbers = (size_t)n;
    for (Py_ssize_t i = 0; i < n; i++)
        job->numbers[i] = PyFloat_AsDouble(PyTuple_GetItem(numbers, i));
    return !PyErr_Occurred();
}

/* ---- Operations ---- */

#define RELEASE(name, type)                                                                                            \
    static void name##_release(void *thing) {                                                                          \
        sutra_##name##_free((struct type *)thing);                                                                     \
    }
RELEASE(device_trace, sutra_device_trace)
RELEASE(host_trace, sutra_host_trace)
RELEASE(linked, sutra_linked)
RELEASE(critical_path, sutra_critical_path)
RELEASE(hta, sutra_hta)
RELEASE(operators, sutra_operators)
RELEASE(operators_ranks, sutra_operators_ranks)
RELEASE(dlrm, sutra_dlrm)

/* What an operation gives is typed there, and a plain pointer here. */
#define GIVE(job, call, type)                                                                                          \
    struct type *made = NULL;                                                                                          \
    enum sutra_status status = call;                                                                                   \
    (job)->thing = made;                                                                                               \
    return status

static enum sutra_status run_device_trace(struct job *job, struct sutra_context *context) {
    GIVE(job, sutra_device_trace_read(context, job->texts[0], &made, &job->error), sutra_device_trace);
}

static enum sutra_status run_host_trace(struct job *job, struct sutra_context *context) {
    GIVE(job, sutra_host_trace_read(context, job->texts[0], &made, &job->error), sutra_host_trace);
}

static enum sutra_status run_trace_kind(struct job *job, struct sutra_context *context) {
    enum sutra_trace_kind kind = SUTRA_TRACE_HOST;
    enum sutra_status status = sutra_trace_kind_of(context, job->texts[0], &kind, &job->error);
    job->number = (uint64_t)kind;
    return status;
}

static enum sutra_status run_link(struct job *job, struct sutra_context *context) {
    const struct sutra_link_options options = {.size = sizeof options, .no_sync = job->numbers[0] != 0};
    GIVE(job, sutra_link(context, job->things[0]->thing, job->things[1]->thing, &options, &made, &job->error),
         sutra_linked);
}

static enum sutra_status run_linked_write(struct job *job, struct sutra_context *context) {
    return sutra_linked_write(context, job->things[0]->thing, job->texts[0], &job->number, &job->error);
}

static enum sutra_status run_linked_convert(struct job *job, struct sutra_context *context) {
    const struct sutra_linked *linked = job->things[0]->thing;
    struct sutra_converted *converted = NULL;
    enum sutra_status status = sutra_linked_convert(context, linked, NULL, &converted, &job->error);
    if (!status)
        status = sutra_converted_make_faithful(context, converted, linked, NULL, NULL, &job->error);
    if (!status)
        status = sutra_converted_write(context, converted, job->texts[0], &job->number, &job->error);
    sutra_converted_free(converted);
    return status;
}

/* A result that is made of a profile, with it. */
struct profiled {
    struct sutra_profile *profile;
    struct sutra_tree *tree;
    struct sutra_correlation *correlation;
};

static void profiled_release(void *thing) {
    struct profiled *profiled = thing;
    sutra_correlation_free(profiled->correlation);
    sutra_tree_free(profiled->tree);
    sutra_profile_free(profiled->profile);
    free(profiled);
}

static enum sutra_status take_profile(struct job *job, struct sutra_context *context, struct profiled **made) {
    const struct sutra_profile_options options = {.size = sizeof options, .inputs = true};
    job->thing = *made = calloc(1, sizeof **made);
    if (!*made) {
        job->error =
            (struct sutra_error){.status = SUTRA_SYSTEM, .offset = SUTRA_NO_OFFSET, .message = "out of memory"};
        return SUTRA_SYSTEM;
    }
    const struct sutra_host_trace *host = job->things[1] ? job->things[1]->thing : NULL;
    return sutra_profile_take(context, job->things[0]->thing, host, &options, &(*made)->profile, &job->error);
}

static enum sutra_status run_tree(struct job *job, struct sutra_context *context) {
    struct profiled *made;
    enum sutra_status status = take_profile(job, context, &made);
    if (!status)
        status = sutra_tree_build(context, made->profile, SUTRA_EDITION_2, &made->tree, &job->error);
    return status;
}

static enum sutra_status run_correlation(struct job *job, struct sutra_context *context) {
    const struct sutra_correlation_options options = {.size = sizeof options,
                                                      .kind = (enum sutra_correlation_kind)job->numbers[0]};
    struct profiled *made;
    enum sutra_status status = take_profile(job, context, &made);
    if (!status)
        status = sutra_correlation_find(context, made->profile, &options, &made->correlation, &job->error);
    return status;
}

static enum sutra_status run_tree_write(struct job *job, struct sutra_context *context) {
    const struct profiled *profiled = job->things[0]->thing;
    return sutra_tree_write(context, profiled->tree, (enum sutra_tree_format)job->numbers[0], NULL, job->texts[0],
                            &job->number, &job->error);
}

static enum sutra_status run_correlation_write(struct job *job, struct sutra_context *context) {
    const struct profiled *profiled = job->things[0]->thing;
    return sutra_correlation_write(context, profiled->correlation, (enum sutra_correlation_format)job->numbers[0],
                                   job->texts[0], &job->number, &job->error);
}

static enum sutra_status run_critical_path(struct job *job, struct sutra_context *context) {
    const struct sutra_critical_path_options options = {
        .size = sizeof options,
        .annotation = job->texts[0],
        .instance = (uint64_t)job->numbers[0],
        .edition = (enum sutra_hta_edition)job->numbers[1],
    };
    GIVE(job, sutra_critical_path_find(context, job->things[0]->thing, &options, &made, &job->error),
         sutra_critical_path);
}

static enum sutra_status run_critical_path_write(struct job *job, struct sutra_context *context) {
    return sutra_critical_path_write(context, job->things[0]->thing, (enum sutra_path_format)job->numbers[0],
                                     job->texts[0], &job->error);
}

/* ---- Analyses ---- */

/* The options of a rank, from numbers in this order, and the first text. */
static struct sutra_hta_options hta_options(const struct job *job) {
    const double *numbers = job->numbers;
    return (struct sutra_hta_options){
        .size = sizeof(struct sutra_hta_options),
        .rank = (int64_t)numbers[0],
        .n_kernels = (uint64_t)numbers[1],
        .kernel_delay_us = (uint64_t)numbers[2],
        .last_step = numbers[3] != 0,
        .all_launches = numbers[4] != 0,
        .nanoseconds = numbers[5] != 0,
        .compat = numbers[6] != 0,
        .edition = (enum sutra_hta_edition)numbers[7],
        .full_queue = (uint64_t)numbers[8],
        .sequence_kernels = (uint64_t)numbers[9],
        .sequences_of = job->texts[0],
    };
}

static enum sutra_status run_hta(struct job *job, struct sutra_context *context) {
    const struct sutra_hta_options options = hta_options(job);
    GIVE(job, sutra_hta_make(context, job->things[0]->thing, &options, &made, &job->error), sutra_hta);
}

/* All ranks, and what their page needs. */
struct hta_job {
    struct sutra_report *report;
    struct sutra_hta_ranks *ranks;
};

static void hta_ranks_release(void *thing) {
    struct hta_job *made = thing;
    sutra_hta_ranks_free(made->ranks);
    sutra_report_free(made->report);
    free(made);
}

static enum sutra_status run_hta_ranks(struct job *job, struct sutra_context *context) {
    const struct sutra_hta_options hta = hta_options(job);
    struct hta_job *made = calloc(1, sizeof *made);
    enum sutra_status status = made ? sutra_report_create(&made->report, &job->error) : SUTRA_SYSTEM;
    job->thing = made;
    struct sutra_hta_ranks_options options = {.size = sizeof options, .hta = &hta, .visit = sutra_report_visit};
    if (made)
        options.arg = made->report;
    if (!status)
        status = sutra_hta_ranks_make(context, (const char *const *)job->texts + 1, job->n_texts - 1, &options,
                                      &made->ranks, &job->error);
    return status;
}

static enum sutra_status run_hta_page(struct job *job, struct sutra_context *context) {
    const struct hta_job *made = job->things[0]->thing;
    return sutra_report_write_hta(context, made->report, made->ranks, job->texts[0], &job->number, &job->error);
}

static enum sutra_status run_hta_list(struct job *job, struct sutra_context *context) {
    const struct hta_job *made = job->things[0]->thing;
    return sutra_hta_ranks_write_list(context, made->ranks, (enum sutra_hta_list)job->numbers[0], job->texts[0],
                                      &job->number, &job->error);
}

static enum sutra_status run_hta_counters(struct job *job, struct sutra_context *context) {
    return sutra_hta_write_counters(context, job->things[0]->thing, job->things[1]->thing, job->texts[0], &job->number,
                                    &job->error);
}

static struct sutra_operators_options operators_options(const struct job *job) {
    return (struct sutra_operators_options){
        .size = sizeof(struct sutra_operators_options),
        .compat = job->numbers[0] != 0,
        .kernels = job->numbers[1] != 0,
        .peaks = job->texts[0],
        .step = job->texts[1],
        .name = job->texts[2],
        .stream = job->texts[3],
        .category = job->texts[4],
    };
}

static enum sutra_status run_operators(struct job *job, struct sutra_context *context) {
    const struct sutra_operators_options options = operators_options(job);
    GIVE(job, sutra_operators_make(context, job->things[0]->thing, &options, &made, &job->error), sutra_operators);
}

static enum sutra_status run_operators_ranks(struct job *job, struct sutra_context *context) {
    const struct sutra_operators_options each = operators_options(job);
    const struct sutra_operators_ranks_options options = {.size = sizeof options, .operators = &each};
    GIVE(job,
         sutra_operators_ranks_make(context, (const char *const *)job->texts + 5, job->n_texts - 5, &options, &made,
                                    &job->error),
         sutra_operators_ranks);
}

static enum sutra_status run_operators_page(struct job *job, struct sutra_context *context) {
    return sutra_report_write_operators(context, job->things[0]->thing, job->texts[0], &job->number, &job->error);
}

static enum sutra_status run_dlrm(struct job *job, struct sutra_context *context) {
    const struct sutra_dlrm_options options = {
        .size = sizeof options,
        .compat = job->numbers[0] != 0,
        .iters = (uint64_t)job->numbers[1],
        .skip_iters = (uint64_t)job->numbers[2],
        .batch = (uint64_t)job->numbers[3],
        .module_marker = job->texts[0],
    };
    GIVE(job, sutra_dlrm_analyze(context, job->things[0]->thing, &options, &made, &job->error), sutra_dlrm);
}

static enum sutra_status run_dlrm_page(struct job *job, struct sutra_context *context) {
    return sutra_report_write_dlrm(context, job->things[0]->thing, job->texts[0], job->texts[1], &job->number,
                                   &job->error);
}

/* ---- Columns ---- */

/* A table of a result, by number; NULL: there is none. */
static const struct sutra_table *table_of(const struct box *box, int number, const char **reason) {
    *reason = "there is no such table";
    if (strcmp(box->kind, "hta") == 0)
        return sutra_hta_table(box->thing, (enum sutra_hta_table)number, reason);
    if (strcmp(box->kind, "hta_ranks") == 0)
        return sutra_hta_ranks_table(((const struct hta_job *)box->thing)->ranks, (enum sutra_hta_table)number, reason);
    if (strcmp(box->kind, "operators") == 0)
        return sutra_operators_table(box->thing, (enum sutra_operators_table)number);
    if (strcmp(box->kind, "operators_ranks") == 0)
        return sutra_operators_ranks_table(box->thing, (enum sutra_operators_table)number);
    return NULL;
}

static enum sutra_status run_table(struct job *job, struct sutra_context *context) {
    const char *reason;
    const struct sutra_table *table = table_of(job->things[0], (int)job->numbers[0], &reason);
    (void)context;
    if (table)
        return sutra_table_arrow(table, &job->stream, &job->error);
    job->error = (struct sutra_error){.status = SUTRA_DATA, .offset = SUTRA_NO_OFFSET};
    strncpy(job->error.message, reason ? reason : "there is no such table", sizeof job->error.message - 1);
    return SUTRA_DATA;
}

/* Texts are names of columns, then of args; the first number tells how many are the former, below 0: the usual ones. */
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
    struct ArrowArrayStream *stream = &job->stream;
    if (strcmp(box->kind, "device_trace") == 0)
        return sutra_device_trace_arrow(context, box->thing, &options, stream, &job->error);
    if (strcmp(box->kind, "host_trace") == 0)
        return sutra_host_trace_arrow(context, box->thing, &options, stream, &job->error);
    if (strcmp(box->kind, "link") == 0)
        return sutra_linked_arrow(context, box->thing, &options, stream, &job->error);
    if (strcmp(box->kind, "tree") == 0)
        return sutra_tree_arrow(context, ((const struct profiled *)box->thing)->tree, &options, stream, &job->error);
    if (strcmp(box->kind, "correlation") == 0)
        return sutra_correlation_arrow(context, ((const struct profiled *)box->thing)->correlation, &options, stream,
                                       &job->error);
    if (strcmp(box->kind, "critical_path") == 0)
        return sutra_critical_path_arrow(context, box->thing, &options, stream, &job->error);
    if (strcmp(box->kind, "dlrm") == 0)
        return sutra_dlrm_arrow(box->thing, (enum sutra_dlrm_columns)job->numbers[1], stream, &job->error);
    job->error = (struct sutra_error){.status = SUTRA_USAGE, .offset = SUTRA_NO_OFFSET, .message = "it has no columns"};
    return SUTRA_USAGE;
}

static const struct operation operations[] = {
    {"device_trace", {NULL}, 1, 0, GIVES_THING, run_device_trace, device_trace_release},
    {"host_trace", {NULL}, 1, 0, GIVES_THING, run_host_trace, host_trace_release},
    {"trace_kind", {NULL}, 1, 0, GIVES_NUMBER, run_trace_kind, NULL},
    {"link", {"host_trace", "device_trace"}, 0, 1, GIVES_THING, run_link, linked_release},
    {"link_write", {"link"}, 1, 0, GIVES_NUMBER, run_linked_write, NULL},
    {"link_convert", {"link"}, 1, 0, GIVES_NUMBER, run_linked_convert, NULL},
    {"tree", {"device_trace", "?host_trace"}, 0, 0, GIVES_THING, run_tree, profiled_release},
    {"tree_write", {"tree"}, 1, 1, GIVES_NUMBER, run_tree_write, NULL},
    {"correlation", {"device_trace", "?host_trace"}, 0, 1, GIVES_THING, run_correlation, profiled_release},
    {"correlation_write", {"correlation"}, 1, 1, GIVES_NUMBER, run_correlation_write, NULL},
    {"critical_path", {"device_trace"}, 1, 2, GIVES_THING, run_critical_path, critical_path_release},
    {"critical_path_write", {"critical_path"}, 1, 1, GIVES_NOTHING, run_critical_path_write, NULL},
    {"hta", {"device_trace"}, 1, 10, GIVES_THING, run_hta, hta_release},
    {"hta_ranks", {NULL}, 2, 10, GIVES_THING, run_hta_ranks, hta_ranks_release},
    {"hta_page", {"hta_ranks"}, 1, 0, GIVES_NUMBER, run_hta_page, NULL},
    {"hta_list", {"hta_ranks"}, 1, 1, GIVES_NUMBER, run_hta_list, NULL},
    {"hta_counters", {"device_trace", "hta"}, 1, 0, GIVES_NUMBER, run_hta_counters, NULL},
    {"operators", {"device_trace"}, 5, 2, GIVES_THING, run_operators, operators_release},
    {"operators_ranks", {NULL}, 6, 2, GIVES_THING, run_operators_ranks, operators_ranks_release},
    {"operators_page", {"operators_ranks"}, 1, 0, GIVES_NUMBER, run_operators_page, NULL},
    {"dlrm", {"device_trace"}, 1, 4, GIVES_THING, run_dlrm, dlrm_release},
    {"dlrm_page", {"dlrm"}, 2, 0, GIVES_NUMBER, run_dlrm_page, NULL},
    {"table", {"*"}, 0, 1, GIVES_STREAM, run_table, NULL},
    {"columns", {"*"}, 0, 1, GIVES_STREAM, run_columns, NULL},
};

static const struct operation *operation_named(const char *name) {
    for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
        if (strcmp(operations[i].name, name) == 0)
            return &operations[i];
    PyErr_Format(PyExc_ValueError, "there is no operation %s", name);
    return NULL;
}

/* run(operation, context, things, texts, numbers, progress) */
static PyObject *core_run(PyObject *self, PyObject *arguments) {
    const char *name;
    PyObject *context, *things, *texts, *numbers, *progress, *result = NULL;
    (void)self;
    if (!PyArg_ParseTuple(arguments, "sOOOOO", &name, &context, &things, &texts, &numbers, &progress))
        return NULL;
    const struct operation *operation = operation_named(name);
    struct job *job = operation ? calloc(1, sizeof *job) : NULL;
    if (!job)
        return operation ? PyErr_NoMemory() : NULL;
    job->operation = operation;
    atomic_store(&job->holders, 1);
    pthread_mutex_init(&job->mutex, NULL);
    pthread_cond_init(&job->finished, NULL);
    if (take_box(context, "context", &job->context) && take_things(job, things) && take_texts(job, texts) &&
        take_numbers(job, numbers)) {
        if (!job_start(job))
            PyErr_SetString(PyExc_RuntimeError, "cannot start a thread");
        else if (job_attend(job, progress))
            result = job_result(job);
    }
    PyThreadState *state = PyEval_SaveThread();
    job_leave(job);
    PyEval_RestoreThread(state);
    return result;
}

/* ---- Reports ---- */

struct member {
    const char *name;
    size_t offset;
    bool real;
};

#define COUNT(type, member)                                                                                            \
    { #member, offsetof(struct type, member), false }
#define REAL(type, member)                                                                                             \
    { #member, offsetof(struct type, member), true }

static const struct member link_members[] = {
    COUNT(sutra_link_report, n_host_nodes),
    COUNT(sutra_link_report, n_host_ops),
    COUNT(sutra_link_report, n_host_linked),
    COUNT(sutra_link_report, n_host_without_rf),
    COUNT(sutra_link_report, n_host_rf_unmatched),
    COUNT(sutra_link_report, n_events),
    COUNT(sutra_link_report, n_cpu_ops),
    COUNT(sutra_link_report, n_gpu_ops),
    COUNT(sutra_link_report, n_gpu_with_parent),
    COUNT(sutra_link_report, n_gpu_without_launch),
    COUNT(sutra_link_report, n_gpu_without_parent),
    COUNT(sutra_link_report, n_gpu_host_unmatched),
    COUNT(sutra_link_report, n_gpu_nodes),
    COUNT(sutra_link_report, n_nodes),
    COUNT(sutra_link_report, n_inter_thread),
    COUNT(sutra_link_report, n_sync),
    COUNT(sutra_link_report, n_exclusive_rounded),
    COUNT(sutra_link_report, n_exclusive_replaced),
    COUNT(sutra_link_report, n_fields_dropped),
    COUNT(sutra_link_report, n_host_rf_zero),
    COUNT(sutra_link_report, n_gpu_memory_sets),
    {0},
};
static const struct member path_members[] = {
    COUNT(sutra_critical_path_report, n_nodes),
    COUNT(sutra_critical_path_report, n_edges),
    COUNT(sutra_critical_path_report, n_path_nodes),
    REAL(sutra_critical_path_report, us),
    REAL(sutra_critical_path_report, window_us),
    REAL(sutra_critical_path_report, begin_us),
    REAL(sutra_critical_path_report, end_us),
    REAL(sutra_critical_path_report, compute_us),
    REAL(sutra_critical_path_report, communication_us),
    REAL(sutra_critical_path_report, memory_us),
    {"operator_us", offsetof(struct sutra_critical_path_report, kind_us[SUTRA_PATH_OPERATOR]), true},
    {"kernel_us", offsetof(struct sutra_critical_path_report, kind_us[SUTRA_PATH_KERNEL]), true},
    {"launch_delay_us", offsetof(struct sutra_critical_path_report, kind_us[SUTRA_PATH_LAUNCH_DELAY]), true},
    {"kernel_delay_us", offsetof(struct sutra_critical_path_report, kind_us[SUTRA_PATH_KERNEL_DELAY]), true},
    {0},
};
static const struct member tree_members[] = {
    COUNT(sutra_tree_report, n_events),   COUNT(sutra_tree_report, n_roots),    COUNT(sutra_tree_report, n_adopted),
    COUNT(sutra_tree_report, max_depth),  COUNT(sutra_tree_report, n_borrowed), COUNT(sutra_tree_report, n_endless),
    COUNT(sutra_tree_report, n_reversed), COUNT(sutra_tree_report, n_tensors),  {0},
};
static const struct member dlrm_members[] = {
    COUNT(sutra_dlrm_report, iters),      COUNT(sutra_dlrm_report, batch),      COUNT(sutra_dlrm_report, n_events),
    COUNT(sutra_dlrm_report, n_launches), REAL(sutra_dlrm_report, executed_us), REAL(sutra_dlrm_report, attributed_us),
    REAL(sutra_dlrm_report, host_us),     REAL(sutra_dlrm_report, qps),         REAL(sutra_dlrm_report, span_us),
    REAL(sutra_dlrm_report, idle_us),     REAL(sutra_dlrm_report, overlap_us),  {0},
};

static PyObject *members_of(const void *report, const struct member *members) {
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

/* report(thing): the counts and figures of a result */
static PyObject *core_report(PyObject *self, PyObject *object) {
    struct box *box = NULL;
    PyObject *result = NULL;
    (void)self;
    if (!take_box(object, "*", &box))
        return NULL;
    if (strcmp(box->kind, "link") == 0) {
        struct sutra_link_report report = {.size = sizeof report};
        sutra_linked_report(box->thing, &report);
        result = members_of(&report, link_members);
    } else if (strcmp(box->kind, "critical_path") == 0) {
        struct sutra_critical_path_report report = {.size = sizeof report};
        sutra_critical_path_report(box->thing, &report);
        result = members_of(&report, path_members);
    } else if (strcmp(box->kind, "tree") == 0) {
        struct sutra_tree_report report = {.size = sizeof report};
        sutra_tree_report(((const struct profiled *)box->thing)->tree, &report);
        result = members_of(&report, tree_members);
    } else if (strcmp(box->kind, "dlrm") == 0) {
        struct sutra_dlrm_report report = {.size = sizeof report};
        sutra_dlrm_report(box->thing, &report);
        result = members_of(&report, dlrm_members);
    } else {
        PyErr_SetString(PyExc_TypeError, "it has no report");
    }
    box_leave(box);
    return result;
}

/* ranks(thing): a list of (path, rank, reason why it is left out or None) */
static PyObject *core_ranks(PyObject *self, PyObject *object) {
    struct box *box = NULL;
    (void)self;
    if (!take_box(object, "*", &box))
        return NULL;
    bool hta = strcmp(box->kind, "hta_ranks") == 0;
    PyObject *list = hta || strcmp(box->kind, "operators_ranks") == 0 ? PyList_New(0) : NULL;
    if (!list)
        PyErr_SetString(PyExc_TypeError, "it has no ranks");
    for (size_t i = 0; list; i++) {
        const struct sutra_hta_rank *a =
            hta ? sutra_hta_ranks_at(((const struct hta_job *)box->thing)->ranks, i) : NULL;
        const struct sutra_operators_rank *b = hta ? NULL : sutra_operators_ranks_at(box->thing, i);
        if (!a && !b)
            break;
        PyObject *item = Py_BuildValue("(sLz)", a ? a->path : b->path, (long long)(a ? a->rank : b->rank),
                                       a ? a->reason : b->reason);
        if (!item || PyList_Append(list, item))
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    box_leave(box);
    return list;
}

/* tables(thing): a list of (number, name) of the tables that could be made */
static PyObject *core_tables(PyObject *self, PyObject *object) {
    struct box *box = NULL;
    (void)self;
    if (!take_box(object, "*", &box))
        return NULL;
    int n = strncmp(box->kind, "hta", 3) == 0 ? (int)SUTRA_HTA_N_TABLES : (int)SUTRA_OPERATORS_N_TABLES;
    PyObject *list = PyList_New(0);
    for (int i = 0; i < n && list; i++) {
        const char *reason;
        const struct sutra_table *table = table_of(box, i, &reason);
        PyObject *item = table ? Py_BuildValue("(is)", i, sutra_table_name(table)) : NULL;
        if (table && (!item || PyList_Append(list, item)))
            Py_CLEAR(list);
        Py_XDECREF(item);
    }
    box_leave(box);
    return list;
}

/* ---- Values without any library ---- */

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

static PyObject *column_values(const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t begin,
                               int64_t end) {
    PyObject *list = PyList_New(0);
    for (int64_t row = begin; row < end && list; row++) {
        PyObject *value = value_at(schema, array, row);
        if (!value || PyList_Append(list, value))
            Py_CLEAR(list);
        Py_XDECREF(value);
    }
    return list;
}

/* values(capsule, begin, end): (number of rows, {name of a column: list of values of these rows}); uses the stream up */
static PyObject *core_values(PyObject *self, PyObject *arguments) {
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

/* schema(capsule): a capsule "arrow_schema" of the stream, which stays as it is */
static void schema_capsule_free(PyObject *capsule) {
    struct ArrowSchema *schema = PyCapsule_GetPointer(capsule, "arrow_schema");
    if (schema && schema->release)
        schema->release(schema);
    free(schema);
}

static PyObject *core_schema(PyObject *self, PyObject *capsule) {
    struct ArrowArrayStream *stream = PyCapsule_GetPointer(capsule, "arrow_array_stream");
    (void)self;
    if (!stream)
        return NULL;
    struct ArrowSchema *schema = malloc(sizeof *schema);
    if (!schema || !stream->release || stream->get_schema(stream, schema)) {
        free(schema);
        return PyErr_NoMemory();
    }
    PyObject *made = PyCapsule_New(schema, "arrow_schema", schema_capsule_free);
    if (!made) {
        schema->release(schema);
        free(schema);
    }
    return made;
}

static PyObject *core_version(PyObject *self, PyObject *unused) {
    (void)self;
    (void)unused;
    return PyUnicode_FromString(sutra_version());
}

static PyMethodDef methods[] = {
    {"context", core_context, METH_VARARGS, "context(threads, device, strict, lenient)"},
    {"run", core_run, METH_VARARGS, "run(operation, context, things, texts, numbers, progress)"},
    {"report", core_report, METH_O, "report(thing)"},
    {"ranks", core_ranks, METH_O, "ranks(thing)"},
    {"tables", core_tables, METH_O, "tables(thing)"},
    {"values", core_values, METH_VARARGS, "values(capsule, begin, end)"},
    {"schema", core_schema, METH_O, "schema(capsule)"},
    {"version", core_version, METH_NOARGS, "version()"},
    {0},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_core", "libsutra.", -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit__core(void) {
    PyObject *errors = PyImport_ImportModule("pysutra._errors");
    if (!errors)
        return NULL;
    sutra_exception = PyObject_GetAttrString(errors, "SutraError");
    sutra_warning = PyObject_GetAttrString(errors, "SutraWarning");
    Py_DECREF(errors);
    thing_type = (PyTypeObject *)PyType_FromSpec(&thing_spec);
    PyObject *made = sutra_exception && sutra_warning && thing_type ? PyModule_Create(&module) : NULL;
    if (made && PyModule_AddObject(made, "Thing", (PyObject *)thing_type)) {
        Py_DECREF(made);
        return NULL;
    }
    return made;
}
