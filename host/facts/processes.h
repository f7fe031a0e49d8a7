/*
 * processes.h - the processes of a device trace, and the ranks among them: tools merge the traces of a job into one
 * file.
 *
 *     pid "[TP00] 4000"   CPU operators, launches 1, 2     rank 0        its GPU activities: pid "[TP00] 0"
 *     pid "[TP01] 4001"   CPU operators, launches 1, 2     rank 1                            pid "[TP01] 0"
 *     pid "[TP01] 4002"   CPU operators                    no rank: its events belong to rank 1
 *     pid 4003            CPU operators                    no rank: its events are dropped and counted
 *
 * A rank is a process with launches: calls whose correlation a GPU activity has. The prefix of a pid is its text up to
 * the last blank, if host processes and GPUs have this text; other pids have the empty prefix. A launch and its GPU
 * activities have one prefix. If several processes of one prefix launch with the same correlation, their GPU activities
 * are ambiguous, and the trace is refused.
 *
 * All other events belong to the rank of their pid, else to the only rank of their prefix, else to the only rank that
 * launched activities of their pid. Metadata, and pids without work of CPU or GPU, belong to all ranks.
 *
 * The number of a rank is the last number in its prefix, if all ranks have one and all differ. Otherwise ranks are
 * counted from 0, by ascending pid, or if pids are texts by their first event.
 *
 * Cost: O(events), only for traces whose calls have several pids, and for paths FILE/rankN. Other traces have one rank.
 */
#ifndef FACTS_PROCESSES_H
#define FACTS_PROCESSES_H

#include <stdint.h>

#include "context/context.h"
#include "facts/validity.h"
#include "read/device_trace.h"

/* A process with CPU operators or calls. */
struct trace_process {
    int64_t rank; /* -1: none */
    uint64_t n_operators, n_launches, n_activities;
    char pid[64], name[64]; /* as text; name: of the metadata, or "" */
};

struct trace_processes {
    uint32_t n, n_ranks;
    uint64_t n_shared;           /* correlations of activities that several processes of one prefix launch with */
    struct trace_process list[]; /* ascending by rank, then processes that are no ranks */
};

/* Lists the processes of a complete trace; one block of memory, which the caller frees. SUTRA_SYSTEM: out of memory. */
enum sutra_status processes_find(struct sutra_context *context, const struct sutra_device_trace *trace,
                                 struct trace_processes **processes, struct sutra_error *error);

/* SUTRA_OK for a trace with one rank or none. SUTRA_DATA: several ranks, and how to select one, or that they cannot be
 * separated. `processes` may be NULL. */
enum sutra_status processes_refuse(const struct trace_processes *processes, const struct source *source,
                                   struct sutra_error *error);

/* Replaces a trace that was read from a path FILE/rankN by the trace of this rank, with `name` as its file name: a
 * document with the events of the rank, and N as "rank" in "distributedInfo". *trace is NULL on failure. `dropped` counts
 * the events that belong to no rank. SUTRA_USAGE: no such rank; SUTRA_DATA: as processes_refuse(). */
enum sutra_status processes_select_rank(struct sutra_context *context, const char *name,
                                        struct sutra_device_trace **trace, struct trace_defect *dropped,
                                        struct sutra_error *error);

#endif
