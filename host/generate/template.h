/*
 * template.h - lines of JSON with gaps for numbers.
 *
 * A template is made once from a text in which ' stands for " and @name@ for a field, and then written any number of
 * times with other values: a row of literal pieces, each followed by one number.
 *
 *     {'ph': 'X', 'tid': @tid@, 'ts': @ts@}   ->   {"ph": "X", "tid": |tid|, "ts": |ts|}|
 */
#ifndef GENERATE_TEMPLATE_H
#define GENERATE_TEMPLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "generate/output.h"

enum field {
    FIELD_NODE,        /* id in the host trace */
    FIELD_PARENT,      /* id of the parent there */
    FIELD_HOST_RF,     /* record-function id in the host trace */
    FIELD_RF,          /* and in the device trace */
    FIELD_HOST_TID,    /* thread number in the host trace */
    FIELD_TID,         /* thread or stream in the device trace */
    FIELD_SEQUENCE,    /* sequence number of autograd */
    FIELD_EXTERNAL,    /* external id */
    FIELD_INDEX,       /* index of the event */
    FIELD_TS,          /* start, a time */
    FIELD_DUR,         /* duration, a time */
    FIELD_CORRELATION, /* correlation, also id of an arrow */
    FIELD_AWAITED,     /* stream that is waited for */
    FIELD_RECORD,      /* correlation of the call that recorded the event which is waited for */
    FIELD_PID,
    FIELD_INPUT,    /* id of a tensor, and of its storage */
    FIELD_STORAGE,  /* */
    FIELD_OUTPUT,   /* the same of the tensor that is made */
    FIELD_MADE,     /* */
    FIELD_SMALL,    /* 1 to 9 */
    FIELD_FRACTION, /* six digits that do not start with 0 */
    FIELD_WIDTH,    /* a power of two */
    FIELD_IN,       /* elements that a collective takes on a rank, and gives */
    FIELD_OUT,      /* */
    FIELD_TURN,     /* number of a collective in its group */
    FIELD_COUNT,
};

/* A number for each field; times in nanoseconds, or in microseconds where `integer_times`. */
struct template_values {
    int64_t of[FIELD_COUNT];
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

#endif
