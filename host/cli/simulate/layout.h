/*
 * layout.h - from a graph for Graphviz to a drawing, by the program `dot`.
 */
#ifndef CLI_SIMULATE_LAYOUT_H
#define CLI_SIMULATE_LAYOUT_H

/* Whether `dot` is there; else one line says so. */
int layout_check(void);

/* Draws the file `graph` as SVG to `path`, which appears whole or not at all; "-" is standard output. Returns an exit
 * code, after one line if it is not SUTRA_OK. */
int layout_svg(const char *graph, const char *path);

#endif
