/*
 * tables.h - the tables of operators, kernels and modules, and what those who make them share.
 */
#ifndef ANALYZE_OPERATORS_TABLES_H
#define ANALYZE_OPERATORS_TABLES_H

#include "analyze/describe.h"
#include "analyze/operators/reading.h"
#include "analyze/table.h"
#include "columns/tuples.h"
#include "facts/op_categories.h"
#include "match/intervals.h"

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

/* Sums of integers by group. */
wide_t op_group_sum(const struct op_groups *groups, uint32_t group, const int64_t *values);

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

#endif
