/*
 * colours.h - meaning of colors, equal in all drawings: each color has one meaning.
 *
 * There are eight colors that most people can distinguish (style.h), grey, and paler variants of the first two.
 * Adjacent kinds of computation have shades of one color, or shapes.
 */
#ifndef REPORT_COLOURS_H
#define REPORT_COLOURS_H

#include <stddef.h>

enum colour {
    COLOUR_COMPUTE,
    COLOUR_COMMUNICATION,
    COLOUR_COPIES,
    COLOUR_OTHER_WORK,  /* synchronisation on streams, and what a name does not tell */
    COLOUR_WAIT_HOST,   /* nothing was launched yet */
    COLOUR_WAIT_DATA,   /* the host waits for the next batch */
    COLOUR_WAIT_DEVICE, /* it was launched, but has not begun */
    COLOUR_WAIT_SYNC,   /* the host waited for the device */
    COLOUR_IDLE,        /* the device does nothing, whatever the reason */
    COLOUR_HIDDEN,      /* communication beside computation, which hides it */
    COLOUR_LINE,        /* lines of means and limits */
    COLOUR_COUNT,       /* how many there are, and what is of several kinds or none */
    COLOUR_SHADE,       /* the first of COLOUR_SHADES shades of computation: kinds of it, that stand side by side */
    COLOUR_SHADES = 4,
    N_COLOURS = COLOUR_SHADE + COLOUR_SHADES,
};

/* What a colour means, in words; NULL for shades. */
const char *colour_meaning(enum colour colour);

/* The colour of work of this name, which is that of a kernel, copy or set: computation, communication or copies. */
enum colour colour_of_work(const char *name, size_t length);

/* The same of operators, by name or category. */
enum colour colour_of_operator(const char *name, size_t length);

#endif
