/*
 * trace_name.h - what the path of a trace says: rank, coordinates, number, window label, host, role.
 *
 *     profiling/traces/iteration_30/node1/dp0_pp0_tp3_rank11.1795839870007000000.pt.trace.json.gz
 *                      label        |     coordinates |      time
 *                                   directory         rank
 *
 * All are numbers after words, in one table of patterns (trace_name.c). Letters match in any case.
 */
#ifndef RUN_TRACE_NAME_H
#define RUN_TRACE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NAME_NONE (-1) /* no such number */

/* Coordinates of a rank, from the slowest to the fastest. */
enum { COORDINATE_DP, COORDINATE_PP, COORDINATE_CP, COORDINATE_EP, COORDINATE_TP, N_COORDINATES };

#define NAME_TEXT_MAX 4096 /* PATH_MAX */

struct trace_name {
    int64_t rank;           /* after the last "rank" of the file name, */
    int64_t directory_rank; /* or of the innermost directory that has one */
    bool has_coordinates;
    int64_t coordinates[N_COORDINATES]; /* of the file name, else of the directories; 0: not in the name */
    bool has_dp;
    int64_t number; /* after "worker" or another word, else the only small number in the name */
    bool has_label;
    int64_t label;   /* number; NAME_NONE: a date, which `label_text` contains */
    int64_t time_ns; /* when the file was written: a number of nanoseconds in the name; NAME_NONE */
    char label_text[256];
    char host[256];             /* of HOST_PID in the file name, if PID is the process; "" */
    char folder[NAME_TEXT_MAX]; /* the directories without window labels, */
    char node[NAME_TEXT_MAX];   /* and of them the ones without a rank */
    char role[NAME_TEXT_MAX];   /* directories and file name that have the name of an engine; "" */
};

/* Reads the path of a trace of process `pid` (-1: not recorded). O(length of the path). */
void trace_name_read(const char *path, int64_t pid, struct trace_name *name);

/* Compares texts as versionsort does: numbers by value, before other characters; equal texts by their bytes. */
int compare_natural(const char *a, const char *b);

#endif
