/*
 * lines.h - all lines that a pair of traces is made of, as templates.
 *
 * Each operator has a line per file and tensor shape, made once from its row in `operators`.
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
 * Lines of JSON with gaps for numbers.
 *
 * A template is made once from a text in which ' stands for " and @name@ for a field, and then written any number of
 * times with other values: a row of literal pieces, each followed by one number.
 *
 *     {'ph': 'X', 'tid': @tid@, 'ts': @ts@}   ->   {"ph": "X", "tid": |tid|, "ts": |ts|}|
 */

enum field {
    LINE_NODE,        /* id in the host trace */
    LINE_PARENT,      /* id of the parent there */
    LINE_HOST_RF,     /* record-function id in the host trace */
    LINE_RF,          /* and in the device trace */
    LINE_HOST_TID,    /* thread number in the host trace */
    LINE_TID,         /* thread or stream in the device trace */
    LINE_SEQUENCE,    /* sequence number of autograd */
    LINE_EXTERNAL,    /* external id */
    LINE_INDEX,       /* index of the event */
    LINE_TS,          /* start, a time */
    LINE_DUR,         /* duration, a time */
    LINE_CORRELATION, /* correlation, also id of an arrow */
    LINE_AWAITED,     /* stream that is waited for */
    LINE_RECORD,      /* correlation of the call that recorded the event which is waited for */
    LINE_PID,
    LINE_INPUT,    /* id of a tensor, and of its storage */
    LINE_STORAGE,  /* */
    LINE_OUTPUT,   /* the same of the tensor that is made */
    LINE_MADE,     /* */
    LINE_SMALL,    /* 1 to 9 */
    LINE_FRACTION, /* six digits that do not start with 0 */
    LINE_WIDTH,    /* a power of two */
    LINE_IN,       /* elements that a collective takes on a rank, and gives */
    LINE_OUT,      /* */
    LINE_TURN,     /* number of a collective in its group */
    LINE_COUNT,
};

/* A number for each field; times in nanoseconds, or in microseconds where `integer_times`. */
struct template_values {
    int64_t of[LINE_COUNT];
    bool integer_times;
};

struct template {
    char *text;         /* all literal pieces, one after the other */
    struct slot *slots; /* the last has no field */
    size_t n_slots;
    size_t size_max; /* most bytes that it can become */
};

/* A template in an arena; without memory the arena fails. Names of fields must be known ones. */
struct template template_make(struct arena *arena, const char *text, size_t length);

void template_write(const struct template *template, const struct template_values *values, struct output *output);

#define N_TENSOR_SHAPES 6

/* Spans of the user's code; the step's name ends in its number. */
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
    LINE_SYNC_CALL,      /* runtime calls that wait for a stream, the device, an event */
    LINE_DEVICE_SYNC_CALL,
    LINE_EVENT_SYNC_CALL,
    LINE_RECORD_CALL, /* that records an event, and that makes a stream wait for one */
    LINE_WAIT_CALL,
    LINE_SYNC, /* the waits on the GPU's side */
    LINE_DEVICE_SYNC,
    LINE_EVENT_SYNC,
    LINE_STREAM_WAIT,
    LINE_PROCESS_NODE, /* the last two are of the host trace */
    LINE_THREAD_NODE,
    N_PLAIN_LINES,
};

struct lines {
    struct template *device_ops, *host_ops; /* [operator * N_TENSOR_SHAPES + tensor shape] */
    struct template *launches, *gpu_ops;    /* [row of gpu_rows] */
    struct template device_annotations[N_ANNOTATIONS], host_annotations[N_ANNOTATIONS], gpu_annotations[N_ANNOTATIONS];
    struct template plain[N_PLAIN_LINES];
};

/* Whether there is a host trace of this schema. */
bool lines_know_schema(const char *schema);

/* False where memory runs out; the lines live in the arena. */
bool lines_make(struct lines *lines, const char *schema, struct arena *arena);

#endif
