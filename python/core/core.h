/*
 * core.h - inside of the extension pysutra._core: what its files have in common.
 *
 *     run("device_trace", context, things, texts, numbers, progress) --> a thread of its own --> Thing, capsule or number
 *
 *     box.c        boxes: {what it is, how to free it, what it needs}, counted; Things, as Python sees them
 *     contexts.c   contexts, and what they tell: warnings and progress
 *     errors.c     exceptions and warnings of the package
 *     inputs.c     what comes in of a piece of work: things, texts, numbers
 *     jobs.c       a piece of work, done beside the interpreter
 *     operations.c the kinds of work by name; columns and tables of what they made
 *     traces.c, analyses.c, findings.c, rewrites.c, simulations.c   the work itself: a list of operations each
 *     reports.c    counts and figures of results as dicts
 *     capsules.c   Arrow's capsules; values of columns for who has no library that reads them
 *     module.c     the module
 *
 * All else is Python.
 */
#ifndef PYSUTRA_CORE_H
#define PYSUTRA_CORE_H

#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x03090000
#include <Python.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include <sutra/sutra.h>

struct job;

/* ---- Kinds of things ---- */

/* A trace of many, of which a result tells. */
struct told_rank {
    const char *path;
    long long rank;
    const char *reason; /* why it was left out; NULL: it was not */
};

/* What a thing is, and what can be asked of it; NULL: nothing. */
struct kind {
    const char *name;
    void (*free)(void *thing);
    enum sutra_status (*columns)(struct job *job, struct sutra_context *context, const void *thing,
                                 const struct sutra_columns_options *options);
    const struct sutra_result *(*result)(const void *thing, size_t i); /* its i-th result with tables; NULL: no more */
    PyObject *(*report)(const void *thing);
    bool (*rank)(const void *thing, size_t i, struct told_rank *rank);
};

/* A thing that is one result. */
const struct sutra_result *own_result(const void *thing, size_t i);

/* ---- Boxes ---- */

#define NEEDS_MAX 4

struct box {
    atomic_uint holders;
    const struct kind *kind;
    void *thing;
    struct box *needs[NEEDS_MAX]; /* what it is made of goes when nobody needs it any more, whatever is closed first */
};

/* Takes the thing over; NULL: out of memory, and it is freed. */
struct box *box_new(const struct kind *kind, void *thing);
struct box *box_hold(struct box *box);
void box_leave(struct box *box);

/* ---- Things ---- */

struct thing_object {
    PyObject_HEAD struct box *box; /* NULL: closed */
};

extern PyTypeObject *thing_type;
bool thing_init(void);

/* Takes the box over. */
PyObject *thing_new(struct box *box);

/* ---- Errors ---- */

/* From pysutra._errors; false: they are not there. */
bool errors_init(void);
PyObject *text_of(const char *bytes);

/* Raises SutraError. */
PyObject *raise_error(const struct sutra_error *error);

/* Warns with SutraWarning; false: it became an exception. */
bool warn_of(const char *text);

/* ---- Contexts ---- */

struct core_context {
    struct sutra_context *context;
    pthread_mutex_t work;  /* held by the job that runs */
    pthread_mutex_t guard; /* of what follows */
    struct warning *warnings, **last;
    unsigned n_warnings;
    const char *stage;
    uint64_t done, total;
    const struct job *running; /* or NULL */
};

extern const struct kind context_kind;
PyObject *core_context(PyObject *self, PyObject *arguments);

/* Hand on what was told since the last call; false: an exception is set. */
bool tell_warnings(struct core_context *core);
bool tell_progress(struct core_context *core, PyObject *progress);

/* ---- Jobs ---- */

#define THINGS_MAX 2

enum job_gives { GIVES_NOTHING, GIVES_THING, GIVES_STREAM, GIVES_NUMBER };

struct operation {
    const char *name;
    const char *things[THINGS_MAX]; /* their kinds; NULL: none; "?kind": or none */
    size_t n_texts, n_numbers;      /* at least */
    enum job_gives gives;
    enum sutra_status (*run)(struct job *job, struct sutra_context *context);
    const struct kind *makes;
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
    double *numbers;
    size_t n_numbers;
    struct sutra_restriction restriction; /* see job_part() */
    struct sutra_rank_range *ranks;
    size_t n_ranks;
    struct sutra_error error;
    enum sutra_status status;
    void *thing;
    struct ArrowArrayStream stream;
    uint64_t number;
};

/* Does it with all arguments of core_run(); NULL: an exception is set. */
PyObject *job_do(const struct operation *operation, PyObject *arguments);

/* What an operation gives is typed there, and a plain pointer here. */
#define GIVE(job, call, type)                                                                                          \
    struct type *made = NULL;                                                                                          \
    enum sutra_status status = call;                                                                                   \
    (job)->thing = made;                                                                                               \
    return status

/* Fails with a message of the extension's own. */
enum sutra_status job_fail(struct job *job, enum sutra_status status, const char *message);

/* The part of the traces that the job is of: its first texts are step, name, stream and category, and behind its first
 * n_numbers stand from, to and the ranks. It lives as long as the job. NULL: out of memory. */
#define PART_TEXTS   4
#define PART_NUMBERS 2 /* at least */
const struct sutra_restriction *job_part(struct job *job, size_t n_numbers);

/* The ranks alone, pairs of the first and the last of each run from this number on; false: out of memory. */
bool job_ranks(struct job *job, size_t first);

/* What comes in; false: an exception is set. "*" is any kind. */
bool take_box(PyObject *object, const char *kind, struct box **box);
bool take_things(struct job *job, PyObject *things);
bool take_texts(struct job *job, PyObject *texts);
bool take_numbers(struct job *job, PyObject *numbers);

/* ---- Operations: lists that end with a name NULL ---- */

extern const struct operation trace_operations[], analysis_operations[], finding_operations[], rewrite_operations[],
    simulation_operations[];

PyObject *core_run(PyObject *self, PyObject *arguments);

/* ---- Reports ---- */

/* A count or a figure of a report. */
struct member {
    const char *name;
    size_t offset;
    bool real;
};

#define COUNT(type, member)                                                                                            \
    { #member, offsetof(struct type, member), false }
#define REAL(type, member)                                                                                             \
    { #member, offsetof(struct type, member), true }

/* The members of a report, up to one without a name, as a dict. */
PyObject *members_of(const void *report, const struct member *members);

/* Takes the item over; returns the list, or NULL where an exception is set, and the list is gone. */
PyObject *list_add(PyObject *list, PyObject *item);

/* The same of a dict, of which this becomes a member. */
PyObject *dict_put(PyObject *dict, const char *name, PyObject *value);
PyObject *core_report(PyObject *self, PyObject *object);
PyObject *core_ranks(PyObject *self, PyObject *object);
PyObject *core_tables(PyObject *self, PyObject *object);

/* ---- Capsules ---- */

/* Takes the stream over. */
PyObject *stream_capsule(struct ArrowArrayStream *from);
PyObject *core_values(PyObject *self, PyObject *arguments);
PyObject *core_schema(PyObject *self, PyObject *capsule);

#endif
