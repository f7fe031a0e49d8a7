/*
 * operators.h - inside of struct sutra_operators: what the makers of tables take, and what they make.
 */
#ifndef ANALYZE_OPERATORS_OPERATORS_H
#define ANALYZE_OPERATORS_OPERATORS_H

#include "analyze/operators/tables.h"
#include "analyze/operators/ways.h"
#include "analyze/restriction.h"
#include "sutra/operators.h"

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
