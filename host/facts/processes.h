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

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
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

/* Whether a trace has several ranks; `processes` may be NULL. */
static inline bool processes_are_ranks(const struct trace_processes *processes) {
    return processes && processes->n_ranks > 1;
}

/* SUTRA_OK for a trace with one rank or none. SUTRA_DATA: several ranks, and how to select one, or that they cannot be
 * separated. `processes` may be NULL. */
enum sutra_status processes_refuse(const struct trace_processes *processes, const struct source *source,
                                   struct sutra_error *error);

/* The trace of a rank as JSON: a document with the events of the rank, and its number as "rank" in "distributedInfo". */
struct rank_text {
    int64_t rank;
    struct buffer json;
};

struct rank_texts {
    bool is_truncated; /* as the document of the trace */
    uint64_t truncated_at;
    struct trace_defect dropped; /* events that belong to no rank */
    uint32_t n;
    struct rank_text list[]; /* ascending by rank */
};

/* Splits a trace into the traces of all its ranks (SOURCE_ALL_RANKS), or makes the trace of one rank; n is 0 if the
 * trace is the trace of this rank. The texts own copies; free them with rank_texts_free(). SUTRA_USAGE: no such rank;
 * SUTRA_DATA: as processes_refuse(), or copies of the metadata for many ranks would take several times the bytes of the
 * file. O(events + bytes). */
enum sutra_status processes_split(struct sutra_context *context, const struct sutra_device_trace *trace, int64_t rank,
                                  struct rank_texts **texts, struct sutra_error *error);
void rank_texts_free(struct rank_texts *texts);

/* Reads the i-th trace, with `name` as its file name, and without warnings: reading the whole trace gave them. */
enum sutra_status rank_text_read(struct sutra_context *context, const char *name, const struct rank_texts *texts,
                                 size_t i, struct sutra_device_trace **trace, struct sutra_error *error);

#endif
