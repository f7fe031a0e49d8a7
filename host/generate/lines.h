/*
 * lines.h - all lines that a pair of traces is made of, as templates.
 *
 * Each operator has a line per file and tensor shape, made once from its row in `operators`.
 */
#ifndef GENERATE_LINES_H
#define GENERATE_LINES_H

#include "generate/operators.h"
#include "generate/template.h"

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
