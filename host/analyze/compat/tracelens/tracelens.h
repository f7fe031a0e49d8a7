/*
 * tracelens.h - TraceLens' tables of operators, modules and kernels: the input of the makers of tables, and the
 * functions that they share.
 *
 *     device trace --model.c--> launch model, with and without Python functions --+--> makers --> tables
 *                                                    rates.c: models of operators -+
 *
 *     aten::addmm 48   --arguments, kernels-->   parameters {'M': 141, ...}, GFLOP, bytes, kernel time
 *
 * Operators with equal names, arguments and transposes share a variant. One list of models serves the tables of rates,
 * of each kind of operator (GEMM.csv, ...) and unified_perf_summary. Cost: O(n log n).
 */
#ifndef ANALYZE_COMPAT_TRACELENS_TRACELENS_H
#define ANALYZE_COMPAT_TRACELENS_TRACELENS_H

#include "analyze/compat/tracelens/params.h"
#include "analyze/launches/arguments.h"
#include "analyze/launches/launches.h"
#include "analyze/operators/operators.h"
#include "analyze/statistics.h"
#include "sutra/tracelens.h"

/* ---- The launch model (model.c) ---- */

/* Fills a launch model by TraceLens' rules, whose hosts.around is NULL; the last *n_skipped rows of hosts are in no
 * tree. Releases `scratch`. SUTRA_SYSTEM: out of memory. */
enum sutra_status tracelens_model_build(struct sutra_context *context, const struct sutra_device_trace *trace,
                                        bool has_frames, struct arena *arena, struct arena *scratch,
                                        struct launch_model *model, row_t *n_skipped, struct sutra_error *error);

/* enclosing[row] = the innermost marked ancestor of each row of hosts, or ROW_NONE. O(n). */
void find_enclosing(const struct launch_model *model, const uint8_t *marked, row_t *enclosing);

/* The category of a name; or of the first kernel that a row of hosts launches, unless the row is ROW_NONE. */
enum op_category tracelens_category(const struct launch_model *model, const struct strings *strings, uint32_t name,
                                    row_t host);

/* The category of each launcher, in the arena, by name and first kernel; NULL: out of memory. */
uint8_t *tracelens_categories(const struct launch_model *model, struct arena *arena);

/* The recorded duration of an activity, without the rounding of its end. */
static inline double kernel_us(const struct launch_model *model, row_t device) {
    return number_as_double(number_at(model->events->dur, model->devices.event[device]));
}

/* By thread of hosts: names in the trace's metadata, as ids of `texts`. */
struct thread_labels {
    struct strings texts;
    uint32_t *process, *label, *thread;
};

enum sutra_status thread_labels_read(struct sutra_context *context, const struct launch_model *model,
                                     struct arena *arena, struct thread_labels *labels, struct sutra_error *error);
void thread_labels_free(struct thread_labels *labels);

/* ---- The input of makers ---- */

struct tracelens_input {
    struct sutra_context *context;
    const struct launch_model *model;
    row_t n_skipped;                        /* the last rows of hosts: in no tree */
    const struct launch_model *with_frames; /* the same with Python functions; NULL: the trace has none */
    const uint8_t *categories;              /* by launcher of `model`: enum op_category */
    bool integer_times;                     /* starts and durations of GPU activity are integers */
    const struct tracelens_models *models;
};

/* Makers of tables. Temporary memory is from the arena and is released. */
typedef enum sutra_status tracelens_maker(const struct tracelens_input *input, struct arena *arena,
                                          struct sutra_operators *operators, struct sutra_error *error);
tracelens_maker tracelens_timeline, tracelens_operators, tracelens_arguments, tracelens_module_operators,
    tracelens_modules, tracelens_kernels, tracelens_unified, tracelens_sheets, tracelens_rates;

/* ---- Operators with a performance model in TraceLens (rates.c) ---- */

/* A name with arguments and the transposes in the kernels' names. */
struct model_variant {
    uint32_t group; /* of `costs` */
    struct gemm_transposes transposes;
    uint32_t params;  /* their dictionary, a string of `texts` */
    const char *spec; /* "matrix_bf16" */
};

struct tracelens_models {
    const struct launch_model *model;
    struct op_costs costs;           /* operators in the order of the file, whether their FLOPs are known or not */
    row_t *host;                     /* by model (index in that list): a row of hosts, */
    uint32_t *variant_of;            /* the variant, */
    int64_t *busy;                   /* how long anything runs below, in ticks, */
    row_t *gradient;                 /* the event that evaluates the gradient, a row of hosts, or ROW_NONE, */
    int64_t *gradient_busy;          /* and how long anything runs below that */
    struct op_flops *gradient_flops; /* by group of costs; of attention */
    row_t *model_of;                 /* by row of hosts: the model, or ROW_NONE */
    uint32_t n_variants;
    struct model_variant *variants;
    struct strings texts;
    row_t *start_rank; /* by row of devices: the rank by start time */
    row_t *link_event; /* by link: the event of the call */
    struct thread_labels labels;
};

/* `models` needs tracelens_models_free() in any case. */
enum sutra_status tracelens_models_make(const struct tracelens_input *input, struct arena *arena,
                                        struct tracelens_models *models, struct sutra_error *error);
void tracelens_models_free(struct tracelens_models *models);

/* The table line of a model. */
const struct op_kind *tracelens_model_kind(const struct tracelens_models *models, row_t perf_model);

/* TraceLens' figures of one operator; NaN: unknown. */
struct model_figures {
    double giga_flops, mega_bytes, flops_per_byte, tera_bytes_per_s, tera_flops_per_s;
};
struct model_figures tracelens_figures(const struct op_flops *flops, double busy_us);

enum kernel_order { KERNELS_BY_START, KERNELS_BY_CALL };

/* Lists the kernels, memcpy and memset below a row of hosts in `list`, which has room for all links below it, and
 * returns their number. By call: in the order of the calls in the file. */
row_t tracelens_kernels_below(const struct tracelens_models *models, row_t host, enum kernel_order order, row_t *list);

/*
 * ---- The columns "kernel_details_summary" and "trunc_kernel_details", and columns of integers (details.c) ----
 *
 *     event 3   gemm 5.1   add 1.0        [{'name': 'add', 'count': 2, 'total_duration_us': np.float64(2.1), ...},
 *     event 9   gemm 5.3   add 1.1   -->   {'name': 'gemm', 'count': 2, 'total_duration_us': np.float64(10.4), ...}]
 *
 * Kernels of a group of events are joined by their position in the events' lists. The first list that is not empty is
 * the template; lists of another length are skipped. Entries are sorted by total duration, then name, ascending.
 */

/* Kernels, memcpy and memset of events: of event i the rows device[first[i]] .. device[first[i + 1] - 1] of devices. */
struct kernel_lists {
    const row_t *first, *device;
};

/* Writes both columns for a group of n events. O(k log k) for k kernels. Out of memory sets table->failed. */
void tracelens_details_write(const struct tracelens_input *input, const struct kernel_lists *lists,
                             const row_t *members, row_t n, struct arena *arena, struct sutra_table *table);

/* Whether the start and the duration of every kernel, memcpy and memset are integers, as pandas then keeps times. */
bool tracelens_has_integer_times(const struct launch_model *model);

/* Has columns of real numbers, by name up to NULL, hold integers. */
void tracelens_retype_integers(struct sutra_table *table, const char *const *names);

#endif
