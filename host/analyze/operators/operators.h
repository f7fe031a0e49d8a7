/*
 * operators.h - inside of struct sutra_operators: what the makers of tables take, and what they make.
 */
#ifndef ANALYZE_OPERATORS_OPERATORS_H
#define ANALYZE_OPERATORS_OPERATORS_H

#include "analyze/launches/launches.h"
#include "analyze/restriction.h"
#include "analyze/table.h"
#include "columns/hash_tables.h"
#include "facts/op_categories.h"
#include "match/intervals.h"
#include "sutra/operators.h"

/*
 * The ways from the operators that work is charged to outwards: these and the operators around them, which are
 * a small part of the host's rows, numbered so that what is found out about them stands in short arrays.
 *
 *     hosts      0 linear   1 addmm   2 launch   3 relu   4 loss   5 backward   6 mm   7 launch
 *     around     -          0         1          -        -        -            5      6
 *     charges              ^ 0                                                  ^ 1
 *     ways       0          1                                      2            3           above  -  0  -  2
 *                                                                                           of_charge  1  3
 */

struct op_ways {
    row_t n;
    row_t *host;      /* by way: its row of hosts, rising */
    row_t *above;     /* by way: that of the operator around it, which is lower, or ROW_NONE */
    row_t *of_charge; /* by charge */
};

/*
 * The tables of operators, kernels and modules, and what those who make them share.
 */

/* ---- Arguments of operators ---- */

enum op_argument { ARGUMENT_DIMS, ARGUMENT_TYPES, ARGUMENT_STRIDES, ARGUMENT_VALUES, N_ARGUMENTS };

/* Of a list of rows of hosts: texts of their arguments as Python has them; text 0 is "", for what is absent. */
struct op_arguments {
    struct strings texts;
    struct tuples kinds; /* of each kind of arguments the texts, by enum op_argument */
    uint32_t *of;        /* by place in the list: its kind */
};

/* The text of an argument at a place of the list. */
static inline uint32_t op_argument_text(const struct op_arguments *arguments, enum op_argument argument, row_t place) {
    return (uint32_t)arguments->kinds.list[arguments->of[place]].part[argument];
}

/* Asks for those of two lists in one walk over the trace, in the order of the file, so that op_arguments_read() finds
 * them. */
struct op_host_list {
    const row_t *host;
    row_t n;
};
enum sutra_status op_arguments_ask(struct sutra_context *context, const struct op_reading *reading,
                                   const struct op_host_list lists[2], struct arena *scratch,
                                   struct sutra_error *error);

/* `arguments` needs op_arguments_free() in any case. */
enum sutra_status op_arguments_read(struct sutra_context *context, const struct op_reading *reading, const row_t *hosts,
                                    row_t n, struct arena *arena, struct op_arguments *arguments,
                                    struct sutra_error *error);
void op_arguments_free(struct op_arguments *arguments);

/* ---- Names of threads and processes ---- */

/* Of each thread of hosts: names as the trace's metadata has them, among `texts`. */
struct thread_labels {
    struct strings texts;
    uint32_t *process, *label, *thread;
};

enum sutra_status thread_labels_read(struct sutra_context *context, const struct op_reading *reading,
                                     struct arena *arena, struct thread_labels *labels, struct sutra_error *error);
void thread_labels_free(struct thread_labels *labels);

/* ---- Groups ---- */

/* Members of groups, those of a group in the order of the list: member[first[g]] .. member[first[g + 1] - 1]. */
struct op_groups {
    uint32_t n;
    uint32_t *of; /* by member */
    row_t *first, *member;
};

/* Groups n members by their keys, numbered in the order of first sight. */
enum sutra_status op_groups_make(const struct tuple *keys, row_t n, struct arena *arena, struct op_groups *groups,
                                 struct sutra_error *error);

/* The same of keys that are numbers below n_values. */
enum sutra_status op_groups_number(const uint32_t *values, row_t n, uint32_t n_values, struct arena *arena,
                                   struct op_groups *groups, struct sutra_error *error);

/* order[] = groups by falling value, equal ones by rising number. */
enum sutra_status op_groups_order(const double *values, uint32_t n, struct arena *arena, uint32_t *order,
                                  struct sutra_error *error);

/* ---- Names ---- */

static inline uint32_t host_name(const struct op_reading *reading, row_t host) {
    return reading->hosts.name[host];
}

/* What names of modules begin with. */
#define MODULE_PREFIX "nn.Module: "

/* Whether a row of hosts is a module: a function of Python that is called "nn.Module: "; marks all that are. */
bool op_is_module(const struct op_reading *reading, row_t host);
void op_modules_mark(const struct op_reading *reading, uint8_t *marked);

/* The category of each charge, in the arena: by the name of its launcher, and what categories.c says. */
enum sutra_status op_charges_categorize(const struct op_reading *reading, struct arena *arena, struct arena *scratch,
                                        uint8_t **categories, struct sutra_error *error);

struct rates_work;
struct tracelens_models;

/* What the makers look at. */
struct op_input {
    struct sutra_context *context;
    struct sutra_operators_options options;
    const struct op_reading *reading;
    const struct op_reading *framed; /* the same with Python's functions; by our rules it is `reading` */
    const uint8_t *categories;       /* of each charge of `reading`: enum op_category */
    bool integer_times;              /* starts and durations of GPU activity are integers, by the reference's rules */
    wide_t device_ticks;             /* the durations of all work */
    struct op_ways ways;             /* where tables of operators are made by our rules */
    const struct tracelens_models *models; /* by the reference's rules */
    const struct rates_work *rates;        /* what operators_rates() begins with */
};

struct sutra_operators {
    struct sutra_operators_options options;
    struct sutra_table tables[SUTRA_OPERATORS_N_TABLES];
    bool made[SUTRA_OPERATORS_N_TABLES];
    struct arena names; /* of columns of tables that another process made */
    uint64_t n_untimed; /* events that were left out */
};

/* The options as they count. */
enum sutra_status op_options_take(const struct sutra_operators_options *given, struct sutra_operators_options *taken,
                                  struct sutra_error *error);

/* The tables of operators and of kernels together, for who has a reading by our rules already; `scratch` is given
 * back. */
enum sutra_status operators_make_of(struct sutra_context *context, const struct op_reading *reading, int64_t rank,
                                    const char *peaks, struct arena *scratch, struct sutra_operators **operators,
                                    struct sutra_error *error);

/* Sets a table up, under its name and with its columns: any, and one of a result. */
void op_table_init(struct sutra_table *table, enum sutra_operators_table id);
struct sutra_table *op_table_begin(struct sutra_operators *operators, enum sutra_operators_table id);

/* Whether a table has the same columns for all traces; and setting up one without. `columns` is copied, names are not.
 */
bool op_table_has_fixed_columns(enum sutra_operators_table id);
struct sutra_table *op_table_begin_with(struct sutra_operators *operators, enum sutra_operators_table id,
                                        const struct column_spec *columns, uint32_t n);

/* The stream of a piece of work, as a text. */
void op_table_stream(const struct op_input *input, row_t device, struct sutra_table *table);

/* Takes the work away that is outside of the restriction, and charges the rest anew. Of the host's events none is taken
 * away; reading->from and to say which are inside. Errors as of sutra_device_trace_restrict(). */
enum sutra_status op_restrict(struct sutra_context *context, const struct sutra_restriction *restriction,
                              struct op_reading *reading, struct arena *arena, struct arena *scratch,
                              struct sutra_error *error);

/* Makers of tables; what they need on the way comes from the arena and is given back. */
typedef enum sutra_status op_maker(const struct op_input *input, struct arena *arena, struct sutra_operators *operators,
                                   struct sutra_error *error);
op_maker tracelens_timeline, tracelens_operators, tracelens_arguments, tracelens_module_operators, tracelens_modules,
    tracelens_kernels, tracelens_unified, tracelens_sheets, tracelens_rates, operators_timeline, operators_by_name,
    operators_by_arguments, operators_by_category, operators_by_module, operators_by_annotation, operators_by_path,
    operators_rates, operators_kernels;

#endif
