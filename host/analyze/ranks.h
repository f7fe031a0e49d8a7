/*
 * ranks.h - the traces of many ranks, several at a time.
 *
 * Each trace is a task: it is read, its rank found, and worked on. A task has a context of its own, whose warnings are
 * kept and handed on in the order of the list, so that nothing depends on which thread was faster. Ranks are claimed in
 * that order as well: tasks begin in rising order, so those that a task waits for are under way.
 *
 * Traces of ranks that are not asked for are not read where their beginning tells the rank; of those that are, only the
 * part that is asked for is worked on.
 *
 * A trace that cannot be read or worked on, or whose rank an earlier one has, is left out with a warning; in a strict
 * context that is an error, as it is if no trace is left.
 */
#ifndef ANALYZE_RANKS_H
#define ANALYZE_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/codec.h"
#include "analyze/restriction.h"
#include "base/arena.h"
#include "base/memory.h"
#include "base/options.h"
#include "context/context.h"
#include "read/device_trace.h"
#include "sutra/trace.h"

/*
 * A list of ranks as people write it: "0-2, 7"; cut off with "..." where it is long.
 *
 *     struct rank_list list = {0};
 *     rank_list_add(&list, 0), rank_list_add(&list, 1) ... in rising order
 *     printf("%s", rank_list_text(&list));
 */

#define RANK_LIST_TEXT 80

struct rank_list {
    char text[RANK_LIST_TEXT];
    size_t length;
    int64_t first, last; /* of the run at hand */
    bool any, cut;
};

/* Ranks come in rising order. */
void rank_list_add(struct rank_list *list, int64_t rank);

/* Adds all ranks from `first` to `last`. O(1). */
void rank_list_add_run(struct rank_list *list, int64_t first, int64_t last);

/* Ends the list; the text is in it. */
const char *rank_list_text(struct rank_list *list);

/*
 * Which rank a trace is of.
 */

/* "rank" of the trace's "distributedInfo", else the number behind the last "rank" of the name of the file, else
 * `position`. */
int64_t rank_number(const struct sutra_device_trace *trace, const char *path, size_t position,
                    enum sutra_rank_source *source);

/* One trace of the list. */
struct rank_task {
    char *path;
    struct file_stamp stamp; /* of when it was read */
    int64_t rank;
    enum sutra_rank_source source;
    enum sutra_status status; /* SUTRA_OK, or why it is left out */
    struct sutra_error error;
    bool ends_all;          /* the error is that of a visitor: the others are in vain */
    bool is_unwanted;       /* the rank was not asked for, which is what the status says */
    struct buffer warnings; /* lines, each with a NUL */
};

struct rank_tasks {
    struct arena arena; /* of all that follows, and of what else lives as long */
    size_t n;
    struct rank_task *list;
    size_t *order;                  /* tasks by rank, then those that were left out, last those that nobody asked for */
    size_t n_wanted;                /* without these */
    void *results;                  /* what an analysis keeps of each task, in the order of the list; zeros at first */
    const struct rank_codec *codec; /* set before: NULL: the work cannot be shared */
    bool is_elsewhere;              /* the results are another process's; there are none here */
    struct sutra_restriction restriction; /* set before: the ranks, and what of each trace is worked on; zeros: all */
    const char *stage;                    /* set before: what the work is called; NULL: "analyze ranks" */
    bool again;        /* set before: the traces were read before, and what there is to warn of was said then */
    bool names_it;     /* set before: warnings name the trace even where it is the only one */
    bool notes_places; /* this and the next are set before: what readers do besides, as of the context's fields */
    unsigned ahead;
    struct sutra_device_trace **held; /* set before: by trace: it is still there, and is taken; or NULL: it is read */
};

struct rank_run;

/* ---- Ranks that several processes share ---- */

/* How a process has its part in them. What it finds about a trace it leaves as a file of the folder, called by the
 * trace's number; who `takes` them in the end has all results, as if all the work had been its own. */
struct rank_team {
    const char *folder;
    size_t part, n_parts;                    /* works on traces part, part + n_parts, ...; n_parts 0: on none */
    bool (*next)(void *arg, size_t *number); /* or on those that this gives, by one thread at a time */
    void (*end)(void *arg);                  /* its work is done; returns when there is all to take. May be NULL */
    bool takes;
    void *arg;
};

/* How an analysis hands on what it found about a trace. */
struct rank_codec {
    struct codec_kind kind;
    /* Encodes the result, and frees it. */
    void (*encode)(void *arg, size_t number, struct codec *codec);
    /* Decodes it, and does all that a rank_work does after reading. */
    enum sutra_status (*decode)(void *arg, struct rank_run *run, size_t number, struct codec *codec,
                                struct sutra_error *error);
};

/* Whether a rank_work's result goes to others: then it does nothing but analyze. */
bool rank_run_is_shared(const struct rank_run *run);

/* Works on one trace, which becomes its own, with `context`; called from several threads at a time. */
typedef enum sutra_status rank_work(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                                    struct sutra_device_trace *trace, struct sutra_error *error);

/* Has the traces at the paths, which are copied, worked on, with room for a result of `result_size` bytes each, and
 * puts them in order. A list of one is worked on in `context` itself. SUTRA_USAGE: no traces, or too many.
 * rank_tasks_free() is due in any case, once the results are given back. */
enum sutra_status rank_tasks_run(struct rank_tasks *tasks, struct sutra_context *context, const char *const *paths,
                                 size_t n_paths, size_t result_size, rank_work *work, void *arg,
                                 struct sutra_error *error);
void rank_tasks_free(struct rank_tasks *tasks);

/* Called by a rank_work: calls `visit` while no other thread is in a visitor, unless one failed before. `context` is
 * that of all tasks. */
typedef enum sutra_status rank_visit(void *arg, size_t number, struct sutra_context *context,
                                     struct sutra_error *error);
enum sutra_status rank_run_visit(struct rank_run *run, size_t number, rank_visit *visit, void *arg,
                                 struct sutra_error *error);

/* Called by a rank_work: waits until all tasks before this one are done, so that the work goes on in the order of the
 * list; and whether it would not have to wait. */
void rank_run_wait(struct rank_run *run, size_t number);
bool rank_run_is_next(struct rank_run *run, size_t number);

#endif
