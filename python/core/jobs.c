/*
 * jobs.c - runs operations on threads of their own, without the interpreter lock.
 *
 *     caller   parse arguments -> start -> every 20 ms: signals, progress, warnings -> done: convert the result
 *     thread                      wait for the context -> operation->run() -> signal
 *
 * An exception in the caller (a signal, a callback, a warning turned into an error) cancels and abandons the job; the
 * job then frees its results itself. A context runs one job at a time; other jobs wait for it.
 */
#include "core.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static void job_unref(struct job *job) {
    if (atomic_fetch_sub(&job->n_refs, 1) > 1)
        return;
    if (job->thing)
        job->operation->result_kind->free(job->thing);
    if (job->stream.release)
        job->stream.release(&job->stream);
    for (int i = 0; i < THINGS_MAX; i++)
        box_unref(job->things[i]);
    box_unref(job->context);
    for (size_t i = 0; i < job->n_texts; i++)
        free(job->texts[i]);
    free(job->texts);
    free(job->numbers);
    free(job->ranks);
    pthread_cond_destroy(&job->finished);
    pthread_mutex_destroy(&job->mutex);
    free(job);
}

/* The job's thread. A job that was abandoned while it waited for its context does not run. */
static void *job_thread(void *arg) {
    struct job *job = arg;
    struct core_context *core = job->context->thing;
    pthread_mutex_lock(&core->run_mutex);
    /* From here on job_abandon() may cancel the context. */
    pthread_mutex_lock(&core->mutex);
    pthread_mutex_lock(&job->mutex);
    bool runs = !job->is_abandoned;
    pthread_mutex_unlock(&job->mutex);
    core->running = runs ? job : NULL;
    pthread_mutex_unlock(&core->mutex);
    if (runs) {
        job->status = job->operation->run(job, core->context);
        pthread_mutex_lock(&core->mutex);
        core->running = NULL;
        sutra_context_cancel(core->context, false);
        pthread_mutex_unlock(&core->mutex);
    }
    pthread_mutex_unlock(&core->run_mutex);
    pthread_mutex_lock(&job->mutex);
    job->is_done = true;
    pthread_cond_signal(&job->finished);
    pthread_mutex_unlock(&job->mutex);
    job_unref(job);
    return NULL;
}

#define ABANDON_POLLS 4

/* Waits up to 20 ms; returns whether the job is done. */
static bool job_poll(struct job *job) {
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

/* Cancels the job if it runs; the job then ends soon and frees its result. Other jobs of the context are not cancelled.
 * Usually the job has ended when this function returns. */
static void job_abandon(struct job *job) {
    struct core_context *core = job->context->thing;
    pthread_mutex_lock(&core->mutex);
    pthread_mutex_lock(&job->mutex);
    job->is_abandoned = true;
    pthread_mutex_unlock(&job->mutex);
    if (core->running == job)
        sutra_context_cancel(core->context, true);
    pthread_mutex_unlock(&core->mutex);
    PyThreadState *state = PyEval_SaveThread();
    for (int i = 0; i < ABANDON_POLLS && !job_poll(job); i++)
        ;
    PyEval_RestoreThread(state);
}

/* Waits until the job is done; false: an exception is set and the job is abandoned. */
static bool job_await(struct job *job, PyObject *progress) {
    struct core_context *core = job->context->thing;
    bool is_done = false;
    while (!is_done) {
        PyThreadState *state = PyEval_SaveThread();
        is_done = job_poll(job);
        PyEval_RestoreThread(state);
        if (PyErr_CheckSignals() || !report_progress(core, progress) || !issue_warnings(core)) {
            job_abandon(job);
            return false;
        }
    }
    return true;
}

static PyObject *job_result(struct job *job) {
    struct box *box;
    if (job->status)
        return raise_error(&job->error);
    switch (job->operation->returns) {
    case RETURNS_THING:
        box = box_new(job->operation->result_kind, job->thing);
        job->thing = NULL;
        if (!box)
            return PyErr_NoMemory();
        /* The result keeps its context and its inputs alive. */
        box->dependencies[0] = box_ref(job->context);
        for (int i = 0; i < THINGS_MAX; i++)
            if (job->things[i])
                box->dependencies[1 + i] = box_ref(job->things[i]);
        return thing_new(box);
    case RETURNS_STREAM:
        return stream_capsule(&job->stream);
    case RETURNS_NUMBER:
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
    atomic_store(&job->n_refs, 2);
    bool ok = pthread_create(&thread, &attributes, job_thread, job) == 0;
    if (!ok)
        atomic_store(&job->n_refs, 1);
    pthread_attr_destroy(&attributes);
    return ok;
}

enum sutra_status job_fail(struct job *job, enum sutra_status status, const char *message) {
    job->error = (struct sutra_error){.status = status, .offset = SUTRA_NO_OFFSET};
    strncpy(job->error.message, message, sizeof job->error.message - 1);
    return status;
}

PyObject *job_run(const struct operation *operation, PyObject *arguments) {
    PyObject *context, *things, *texts, *numbers, *progress, *result = NULL;
    const char *name;
    if (!PyArg_ParseTuple(arguments, "sOOOOO", &name, &context, &things, &texts, &numbers, &progress))
        return NULL;
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return PyErr_NoMemory();
    job->operation = operation;
    atomic_store(&job->n_refs, 1);
    pthread_mutex_init(&job->mutex, NULL);
    pthread_cond_init(&job->finished, NULL);
    if (box_from_object(context, "context", &job->context) && parse_things(job, things) && parse_texts(job, texts) &&
        parse_numbers(job, numbers)) {
        if (!job_start(job))
            PyErr_SetString(PyExc_RuntimeError, "cannot start a thread");
        else if (job_await(job, progress))
            result = job_result(job);
    }
    PyThreadState *state = PyEval_SaveThread();
    job_unref(job);
    PyEval_RestoreThread(state);
    return result;
}
