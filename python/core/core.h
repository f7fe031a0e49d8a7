/*
 * core.h - internal declarations of the extension module pysutra._core.
 *
 *     run("device_trace", context, things, texts, numbers, progress) --> job on a thread --> Thing, capsule or int
 *
 *     box.c        reference-counted owners of libsutra objects, and the Python type Thing that wraps an owner
 *     contexts.c   contexts; queues their warnings and progress for the calling thread
 *     errors.c     exceptions and warnings of the package
 *     inputs.c     converts the arguments of an operation: things, strings, numbers
 *     jobs.c       runs an operation on a thread without the interpreter lock
 *     operations.c finds operations by name; columns and tables of all results
 *     traces.c, analyses.c, findings.c, rewrites.c, simulations.c   lists of operations
 *     reports.c    summaries of results as dicts; their ranks and tables
 *     capsules.c   Arrow capsules; columns as Python lists for callers without an Arrow library
 *     device_columns.c   columns in the memory of a CUDA device
 *     module.c     the module
 *
 * The rest of the package is Python.
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

/* One trace of a result of several traces. */
struct rank_entry {
    const char *path;
    long long rank;
    const char *reason; /* why the trace was skipped; NULL: it was analyzed */
};

/* A type of libsutra object. free is required; the other functions are NULL where the type does not support them. */
struct kind {
    const char *name;
    void (*free)(void *thing);
    enum sutra_status (*columns)(struct job *job, struct sutra_context *context, const void *thing,
                                 const struct sutra_columns_options *options);
    const struct sutra_result *(*result)(const void *thing, size_t i); /* the i-th result with tables; NULL: none */
    PyObject *(*report)(const void *thing);
    bool (*rank)(const void *thing, size_t i, struct rank_entry *rank);
};

/* For kinds whose object is its only result. */
const struct sutra_result *own_result(const void *thing, size_t i);

/* NAME_release(): the `free` member of the kind of struct sutra_NAME. */
#define DEFINE_FREE(name)                                                                                              \
    static void name##_release(void *thing) {                                                                          \
        sutra_##name##_free((struct sutra_##name *)thing);                                                             \
    }

/* ---- Boxes ---- */

#define DEPENDENCIES_MAX 4

struct box {
    atomic_uint n_refs;
    const struct kind *kind;
    void *thing;
    struct box *dependencies[DEPENDENCIES_MAX]; /* its inputs; freed after it, regardless of the order of close() */
};

/* Owns `thing` from here on. NULL: out of memory; `thing` is freed. */
struct box *box_new(const struct kind *kind, void *thing);
struct box *box_ref(struct box *box);
void box_unref(struct box *box);

/* ---- Things ---- */

struct thing_object {
    PyObject_HEAD struct box *box; /* NULL: closed */
};

extern PyTypeObject *thing_type;
bool thing_init(void);

/* Moves the caller's reference to the new object; also frees it on failure. NULL for `box`: out of memory. */
PyObject *thing_new(struct box *box);

/* ---- Errors ---- */

/* Imports the exceptions from pysutra._errors; false: an exception is set. */
bool errors_init(void);
PyObject *str_from_utf8(const char *bytes);

/* Raises SutraError and returns NULL. */
PyObject *raise_error(const struct sutra_error *error);

/* Issues a SutraWarning; false: a warnings filter turned it into an exception. */
bool issue_warning(const char *text);

/* ---- Contexts ---- */

struct core_context {
    struct sutra_context *context;
    pthread_mutex_t run_mutex; /* locked by the running job: one job per context at a time */
    pthread_mutex_t mutex;     /* protects the members below */
    struct warning *warnings, **last;
    unsigned n_warnings;
    const char *stage;
    uint64_t done, total;
    const struct job *running; /* or NULL */
};

extern const struct kind context_kind;
PyObject *core_context(PyObject *self, PyObject *arguments);

/* Pass warnings and progress since the last call to Python; false: an exception is set. */
bool issue_warnings(struct core_context *core);
bool report_progress(struct core_context *core, PyObject *progress);

/* ---- Jobs ---- */

#define THINGS_MAX 2

enum return_type { RETURNS_NOTHING, RETURNS_THING, RETURNS_STREAM, RETURNS_NUMBER };

struct operation {
    const char *name;
    const char *things[THINGS_MAX]; /* names of their kinds; "?kind": optional; "*": any; NULL: none */
    size_t n_texts, n_numbers;      /* minimum counts; texts after n_texts are items of lists, which are not None */
    enum return_type returns;
    enum sutra_status (*run)(struct job *job, struct sutra_context *context);
    const struct kind *result_kind;
};

struct job {
    atomic_uint n_refs; /* the caller and the thread */
    pthread_mutex_t mutex;
    pthread_cond_t finished;
    bool is_done, is_abandoned;
    const struct operation *operation;
    struct box *context, *things[THINGS_MAX];
    char **texts; /* NULL: None */
    size_t n_texts;
    double *numbers;
    size_t n_numbers;
    struct sutra_restriction restriction; /* set by job_restriction() */
    struct sutra_rank_range *ranks;
    size_t n_ranks;
    struct sutra_error error;
    enum sutra_status status;
    void *thing;
    struct ArrowArrayStream stream;
    uint64_t number;
};

/* Runs the operation with the arguments of core_run(); NULL: an exception is set. */
PyObject *job_run(const struct operation *operation, PyObject *arguments);

/* Evaluates `call`, which stores its result in `made` (struct type *), and returns its status from a `run` function. */
#define RETURN_THING(job, call, type)                                                                                  \
    struct type *made = NULL;                                                                                          \
    enum sutra_status status = call;                                                                                   \
    (job)->thing = made;                                                                                               \
    return status

/* Sets job->error to this message; returns `status`. */
enum sutra_status job_fail(struct job *job, enum sutra_status status, const char *message);

/* The selection of ranks and events. texts[0..3]: step, name, stream, category; numbers from n_numbers on: start and end
 * of the time range, then the ranks (see job_ranks()). Valid as long as the job. NULL: out of memory. */
#define RESTRICTION_TEXTS   4
#define RESTRICTION_NUMBERS 2 /* without ranks */
const struct sutra_restriction *job_restriction(struct job *job, size_t n_numbers);

/* Sets job->ranks from numbers[first..]: pairs of first and last rank of each range. false: out of memory. */
bool job_ranks(struct job *job, size_t first);

/* Convert arguments from Python; false: an exception. `box` is a new reference; `kind` as in struct operation. */
bool box_from_object(PyObject *object, const char *kind, struct box **box);
bool parse_things(struct job *job, PyObject *things);
bool parse_texts(struct job *job, PyObject *texts);
bool parse_numbers(struct job *job, PyObject *numbers);

/* ---- Operations: each list ends with an entry without a name ---- */

extern const struct operation trace_operations[], analysis_operations[], finding_operations[], rewrite_operations[],
    simulation_operations[];

PyObject *core_run(PyObject *self, PyObject *arguments);

/* ---- Reports ---- */

/* A member of a report of libsutra: uint64_t, or double if real. */
struct member {
    const char *name;
    size_t offset;
    bool real;
};

#define COUNT(type, member)                                                                                            \
    { #member, offsetof(struct type, member), false }
#define REAL(type, member)                                                                                             \
    { #member, offsetof(struct type, member), true }

/* A dict of the members of a report; the list ends with an entry without a name. NULL: an exception is set. */
PyObject *dict_from_members(const void *report, const struct member *members);

/* Append an item or set a key; both steal the reference to the new value. Return the container, or NULL with an
 * exception set and the container freed. NULL for the container is returned unchanged. */
PyObject *list_add(PyObject *list, PyObject *item);
PyObject *dict_add(PyObject *dict, const char *name, PyObject *value);
PyObject *core_report(PyObject *self, PyObject *object);
PyObject *core_ranks(PyObject *self, PyObject *object);
PyObject *core_tables(PyObject *self, PyObject *object);
PyObject *core_defects(PyObject *self, PyObject *object);

/* (name, count, of, largest_us, example, cause, effect, message) */
PyObject *defect_tuple(const struct sutra_trace_defect *defect);

/* ---- Capsules ---- */

/* A capsule "arrow_array_stream" that owns the stream from here on. */
PyObject *stream_capsule(struct ArrowArrayStream *from);
PyObject *core_values(PyObject *self, PyObject *arguments);

/* A capsule "arrow_schema" that owns the schema from here on; NULL: an exception, and the schema is released. */
PyObject *schema_capsule(struct ArrowSchema *from);

/* The values of rows [begin, end) as a list. */
PyObject *column_values(const struct ArrowSchema *schema, const struct ArrowArray *array, int64_t begin, int64_t end);
PyObject *core_schema(PyObject *self, PyObject *capsule);

/* ---- Columns on a device ---- */

PyObject *core_device_columns(PyObject *self, PyObject *arguments);
PyObject *core_device_array(PyObject *self, PyObject *object);
PyObject *core_device_fields(PyObject *self, PyObject *object);
PyObject *core_dlpack(PyObject *self, PyObject *arguments);

#endif
