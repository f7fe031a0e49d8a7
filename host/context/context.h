/*
 * context.h - inside of struct sutra_context: the pool, the engine, the table of odd ids, the clock of the stages.
 */
#ifndef CONTEXT_CONTEXT_H
#define CONTEXT_CONTEXT_H

#include "base/threads.h"
#include "columns/strings.h"
#include "columns/traces.h"
#include "cuda/engine_cuda.h"
#include "match/steps.h"
#include "sutra/context.h"
#include "sutra/link.h"

/*
 * Which engine does a context's work: the CPU's, or one on a CUDA device, which is opened when it is
 * first wanted and kept.
 */

/* Events from which --device auto takes a CUDA device if there is one.
 *
 * That is the least number at which linking is faster with the device, copies included, than on all cores without it.
 * It has not been measured on any GPU yet, so it is never reached. `bench/engine` measures it: the size at which its
 * column "total" passes below the CPU's on all cores, with the time to open the device (column "open") added. */
#define NEVER_FASTER      UINT64_MAX
#define GPU_FASTER_EVENTS NEVER_FASTER

/* Whether a device is worth asking for. */
static inline bool gpu_is_faster(uint64_t n_events, uint64_t faster_from) {
    return faster_from != NEVER_FASTER && n_events >= faster_from;
}

/* That for people. */
void gpu_faster_text(uint64_t faster_from, char *text, size_t size);

struct engine_choice {
    struct engine cpu, cuda; /* cuda.name is NULL while it is not open */
    bool tried;              /* to open it */
    char refused[400];       /* why that failed */
    char told[600];          /* the last note */
    uint64_t faster_from;    /* GPU_FASTER_EVENTS, less in tests */
    struct sutra_stage stages[CUDA_PHASES];
};

/* Chooses the engine for work on so many events, before its first step, and notes the reason. */
void context_expect(struct sutra_context *context, uint64_t n_events);

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
    const struct rank_team *team; /* processes that share ranks (analyze/ranks.h), or NULL */
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

#endif
