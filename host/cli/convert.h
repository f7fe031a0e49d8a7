/*
 * convert.h - lay out a Graphviz graph as a drawing, with the program `dot`.
 *
 *     graph --pipe--> dot --> a temporary file in the same directory --> the drawing, by rename
 *
 * Creates no other file; the drawing is written atomically.
 */
#ifndef CLI_CONVERT_H
#define CLI_CONVERT_H

#include <stdbool.h>
#include <sys/types.h>

#include "write/sink.h"

struct svg_layout {
    const char *path; /* of the drawing; "-" is standard output */
    struct beside beside;
    pid_t dot;
    int pipe;       /* to it */
    char graph[32]; /* where the graph is to be written */
};

/* Whether `dot` is there; else one line says so. */
int layout_check(void);

/* Starts drawing SVG to `path`; then layout_end() must follow. Both return an exit code, after one line if it is not
 * SUTRA_OK. */
int layout_begin(struct svg_layout *layout, const char *path, bool force);

/* Waits for the drawing and puts it in its place, if `whole` is true and nothing failed. */
int layout_end(struct svg_layout *layout, bool whole);

#endif
