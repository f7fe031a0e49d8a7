/*
 * context.h - inside of struct sutra_context: the pool, the engine, the table of odd ids, the clock of the stages.
 */
#ifndef CONTEXT_CONTEXT_H
#define CONTEXT_CONTEXT_H

#include "base/pool.h"
#include "columns/device_events.h"
#include "columns/values.h"
#include "context/engine_choice.h"
#include "match/engine.h"
#include "sutra/context.h"

#define STAGES_MAX 32

struct rank_team;

struct sutra_context {
    struct sutra_context_options options;
    struct pool *pool;
    struct engine engine; /* the chosen one */
    struct engine_choice choice;
    struct values values; /* ids that are no 64-bit integers, of all traces of this context */
    struct sutra_stage stages[STAGES_MAX];
    size_t n_stages;
    double stage_began;
    const char *stage; /* the running one, or NULL */
    uint64_t stage_total;
    size_t part_bytes;            /* threads share a file in parts of so many bytes at least */
    const struct rank_team *team; /* processes that share ranks (analyze/rank_tasks.h), or NULL */
    bool notes_places;            /* readers of device traces note where values stand that a copy may change */
    unsigned ahead;               /* and what they read for who will ask for it (read/event_columns.h) */
    bool stage_held;              /* threads work in this stage: what they call begins and ends none */
    bool own_names;       /* outputs have names that the program chose: links there are replaced (write/beside.h) */
    const char *warns_of; /* a file that warnings are of, with whose name they begin; or NULL */
};

/* Begin a stage (ending the one before) and end it. Names are constants; `total` is what progress counts to. What the
 * pool runs in between moves the progress. */
void stage_begin(struct sutra_context *context, const char *name, uint64_t total);
void stage_end(struct sutra_context *context);

/* Whether the work that runs was cancelled. Who sees that ends as if there were no memory, but with the error of
 * context_gave_up(), which is that of memory where it was not cancelled. */
bool context_is_cancelled(const struct sutra_context *context);
enum sutra_status context_gave_up(const struct sutra_context *context, struct sutra_error *error);

/* SUTRA_OK, or the error of work that was cancelled. */
enum sutra_status context_go_on(const struct sutra_context *context, struct sutra_error *error);

/* Hand a line to the caller's callbacks. */
__attribute__((format(printf, 2, 3))) void context_warn(struct sutra_context *context, const char *format, ...);
__attribute__((format(printf, 2, 3))) void context_note(struct sutra_context *context, const char *format, ...);

#endif
