/*
 * lines.h - templates of all lines of a pair of traces.
 *
 * Each operator has one line per file and tensor shape, built from its row in `operator_rows`.
 */
#ifndef GENERATE_LINES_H
#define GENERATE_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "generate/generate.h"
#include "generate/operators.h"

/*
 * A template is a line of JSON with fields for numbers: literal pieces, each followed by one number. Its text has ' for
 * " and @name@ for a field.
 *
 *     {'ph': 'X', 'tid': @tid@, 'ts': @ts@}   ->   {"ph": "X", "tid": |tid|, "ts": |ts|}|
 */

/* X(enumerator, name in the text) */
#define TEMPLATE_FIELDS(X)                                                                                             \
    X(NODE, "node")                 /* id in the host trace */                                                         \
    X(PARENT, "parent")             /* id of the parent there */                                                       \
    X(HOST_RF, "host_rf")           /* record-function id in the host trace */                                         \
    X(RF, "rf")                     /* record-function id in the device trace */                                       \
    X(HOST_TID, "host_tid")         /* thread number in the host trace */                                              \
    X(TID, "tid")                   /* thread or stream in the device trace */                                         \
    X(SEQUENCE, "sequence")         /* sequence number of autograd */                                                  \
    X(EXTERNAL, "external")         /* external id */                                                                  \
    X(INDEX, "index")               /* index of the event */                                                           \
    X(TS, "ts")                     /* start, a time */                                                                \
    X(DUR, "dur")                   /* duration, a time */                                                             \
    X(CORRELATION, "correlation")   /* correlation, also id of an arrow */                                             \
    X(EVENT_STREAM, "event_stream") /* stream of the recorded event */                                                 \
    X(RECORD, "record")             /* correlation of the call that recorded the event */                              \
    X(PID, "pid")                                                                                                      \
    X(INPUT, "input") /* id of a tensor, and of its storage */                                                         \
    X(STORAGE, "storage")                                                                                              \
    X(OUTPUT, "output") /* likewise of an output */                                                                    \
    X(MADE, "made")                                                                                                    \
    X(SMALL, "small")       /* 1 to 9 */                                                                               \
    X(FRACTION, "fraction") /* six digits that do not start with 0 */                                                  \
    X(WIDTH, "width")       /* a power of two */                                                                       \
    X(IN, "in")             /* input and output elements of a collective on a rank */                                  \
    X(OUT, "out")                                                                                                      \
    X(TURN, "turn") /* number of a collective in its group */

#define FIELD_NUMBER(field, name) LINE_##field,
enum field { TEMPLATE_FIELDS(FIELD_NUMBER) LINE_COUNT };

/* One number per field; times in nanoseconds, or in microseconds if `integer_times`. */
struct template_values {
    int64_t of[LINE_COUNT];
    bool integer_times;
};

struct template {
    char *text;         /* all literal pieces */
    struct slot *slots; /* the last has no field */
    size_t n_slots;
    size_t size_max; /* maximum size of a line */
};

/* Builds a template in the arena; without memory the arena fails. All field names must be known. */
struct template template_make(struct arena *arena, const char *text, size_t length);

void template_write(const struct template *template, const struct template_values *values, struct output *output);

#define N_TENSOR_SHAPES 6

/* User annotations; the name of a step ends in its number. */
enum annotation { ANNOTATION_STEP, ANNOTATION_FORWARD, ANNOTATION_BACKWARD, ANNOTATION_OPTIMIZER, N_ANNOTATIONS };

/* Other events, which have no variants. */
enum plain_line {
    LINE_PROCESS_NAME,
    LINE_THREAD_NAME,
    LINE_STREAM_NAME,
    LINE_PYTHON_FUNCTION,
    LINE_FORWARD_ARROW,  /* from a forward operator */
    LINE_BACKWARD_ARROW, /* to its backward operator */
    LINE_LAUNCH_ARROW,   /* from a launch */
    LINE_GPU_ARROW,      /* to its GPU operator */
    LINE_CALL_ARROW,     /* to a call that launches nothing */
    LINE_OCCUPANCY,      /* a runtime call that launches nothing */
    LINE_SYNC_CALL,      /* synchronizing calls: stream, device, event */
    LINE_DEVICE_SYNC_CALL,
    LINE_EVENT_SYNC_CALL,
    LINE_RECORD_CALL, /* cudaEventRecord and cudaStreamWaitEvent */
    LINE_WAIT_CALL,
    LINE_SYNC, /* their events on the GPU */
    LINE_DEVICE_SYNC,
    LINE_EVENT_SYNC,
    LINE_STREAM_WAIT,
    LINE_PROCESS_NODE, /* the last two are in the host trace */
    LINE_THREAD_NODE,
    N_PLAIN_LINES,
};

struct lines {
    struct template *device_ops, *host_ops; /* [operator * N_TENSOR_SHAPES + tensor shape] */
    struct template *launches, *gpu_ops;    /* [row of gpu_rows] */
    struct template device_annotations[N_ANNOTATIONS], host_annotations[N_ANNOTATIONS], gpu_annotations[N_ANNOTATIONS];
    struct template plain[N_PLAIN_LINES];
};

/* Whether host traces of this schema can be generated. */
bool lines_know_schema(const char *schema);

/* Builds all lines in the arena. False: out of memory. */
bool lines_make(struct lines *lines, const char *schema, struct arena *arena);

#endif
