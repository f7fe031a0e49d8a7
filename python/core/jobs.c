/*
 * jobs.c - work that is done beside the interpreter.
 *
 *     A job is what comes in and goes out of one piece of work. Its thread runs without the interpreter; the caller looks in
 *     every 20 ms for signals, warnings and progress. An exception from there cancels and abandons the job, which then frees
 *     its results by itself. A context does one job at a time; others wait for it.
 */
#include "core.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static void job_leave(struct job *job) {
    if (atomic_fetch_sub(&job->holders, 1) > 1)
        return;
    if (job->thing)
        job->operation->makes->free(job->thing);
    if (job->stream.release)
        job->stream.release(&job->stream);
    for (int i = 0; i < THINGS_MAX; i++)
        box_leave(job->things[i]);
    box_leave(job->context);
    for (size_t i = 0; i < job->n_texts; i++)
        free(job->texts[i]);
    free(job->texts);
    free(job->numbers);
    free(job->ranks);
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

/* From here on the job may be cancelled; false: it was abandoned before. */
static bool job_begin(struct job *job, struct core_context *core) {
    pthread_mutex_lock(&core->guard);
    bool wanted = !job_is_abandoned(job);
    core->running = wanted ? job : NULL;
    pthread_mutex_unlock(&core->guard);
    return wanted;
}

static void job_end(struct core_context *core) {
    pthread_mutex_lock(&core->guard);
    core->running = NULL;
    sutra_context_cancel(core->context, false);
    pthread_mutex_unlock(&core->guard);
}

/* The job's thread. One that was abandoned while it waited for its context does nothing. */
static void *job_thread(void *arg) {
    struct job *job = arg;
    struct core_context *core = job->context->thing;
    pthread_mutex_lock(&core->work);
    if (job_begin(job, core)) {
        job->status = job->operation->run(job, core->context);
        job_end(core);
    }
    pthread_mutex_unlock(&core->work);
    pthread_mutex_lock(&job->mutex);
    job->is_done = true;
    pthread_cond_signal(&job->finished);
    pthread_mutex_unlock(&job->mutex);
    job_leave(job);
    return NULL;
}

#define ABANDON_WAITS 4

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

/* Nobody waits for the job any more: it ends soon, and frees what it has made. Others of its context are not disturbed.
 * Mostly it is gone when this returns. */
static void job_abandon(struct job *job) {
    struct core_context *core = job->context->thing;
    pthread_mutex_lock(&core->guard);
    pthread_mutex_lock(&job->mutex);
    job->is_abandoned = true;
    pthread_mutex_unlock(&job->mutex);
    if (core->running == job)
        sutra_context_cancel(core->context, true);
    pthread_mutex_unlock(&core->guard);
    PyThreadState *state = PyEval_SaveThread();
    for (int i = 0; i < ABANDON_WAITS && !job_wait(job); i++)
        ;
    PyEval_RestoreThread(state);
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
            job_abandon(job);
            return false;
        }
    }
    return true;
}

/* What the job gives, as a Thing that needs all that it was made of. */
static PyObject *job_thing(struct job *job) {
    struct box *box = box_new(job->operation->makes, job->thing);
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

enum sutra_status job_fail(struct job *job, enum sutra_status status, const char *message) {
    job->error = (struct sutra_error){.status = status, .offset = SUTRA_NO_OFFSET};
    strncpy(job->error.message, message, sizeof job->error.message - 1);
    return status;
}

PyObject *job_do(const struct operation *operation, PyObject *arguments) {
    PyObject *context, *things, *texts, *numbers, *progress, *result = NULL;
    const char *name;
    if (!PyArg_ParseTuple(arguments, "sOOOOO", &name, &context, &things, &texts, &numbers, &progress))
        return NULL;
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return PyErr_NoMemory();
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
