/*
 * traces.c - operations: read and link traces; call trees, correlations and critical paths.
 */
#include "core.h"

#include <stdlib.h>

/* NAME_release() and NAME_columns() for the free and columns members of a kind. */
#define DEFINE_FREE_AND_COLUMNS(name)                                                                                  \
    DEFINE_FREE(name)                                                                                                  \
    static enum sutra_status name##_columns(struct job *job, struct sutra_context *context, const void *thing,         \
                                            const struct sutra_columns_options *options) {                             \
        return sutra_##name##_arrow(context, (const struct sutra_##name *)thing, options, &job->stream, &job->error);  \
    }
DEFINE_FREE_AND_COLUMNS(device_trace)
DEFINE_FREE_AND_COLUMNS(host_trace)
DEFINE_FREE_AND_COLUMNS(linked)
DEFINE_FREE_AND_COLUMNS(critical_path)

/* {"defects": [defect_tuple(), ...]} of a trace; `defect`: its function. */
#define DEFINE_DEFECTS(name, trace, defect)                                                                            \
    static PyObject *name(const void *thing) {                                                                         \
        struct sutra_trace_defect found = {.size = sizeof found};                                                      \
        PyObject *list = PyList_New(0);                                                                                \
        for (size_t i = 0; list && defect((const struct trace *)thing, i, &found); i++)                                \
            list = list_add(list, defect_tuple(&found));                                                               \
        return dict_add(PyDict_New(), "defects", list);                                                                \
    }

DEFINE_DEFECTS(device_trace_report, sutra_device_trace, sutra_device_trace_defect)
DEFINE_DEFECTS(host_trace_report, sutra_host_trace, sutra_host_trace_defect)

static const struct kind device_trace_kind = {.name = "device_trace",
                                              .free = device_trace_release,
                                              .columns = device_trace_columns,
                                              .report = device_trace_report};
static const struct kind host_trace_kind = {
    .name = "host_trace", .free = host_trace_release, .columns = host_trace_columns, .report = host_trace_report};

/* Texts: restriction, path. Numbers: restriction. */
static enum sutra_status run_device_trace(struct job *job, struct sutra_context *context) {
    const struct sutra_restriction *restriction = job_restriction(job, 0);
    struct sutra_device_trace *made = NULL;
    if (!restriction)
        return SUTRA_SYSTEM;
    enum sutra_status status = sutra_device_trace_read(context, job->texts[RESTRICTION_TEXTS], &made, &job->error);
    if (!status)
        status = sutra_device_trace_restrict(context, made, restriction, &job->error);
    job->thing = made;
    return status;
}

static enum sutra_status run_host_trace(struct job *job, struct sutra_context *context) {
    RETURN_THING(job, sutra_host_trace_read(context, job->texts[0], &made, &job->error), sutra_host_trace);
}

static enum sutra_status run_trace_kind(struct job *job, struct sutra_context *context) {
    enum sutra_trace_kind kind = SUTRA_TRACE_HOST;
    enum sutra_status status = sutra_trace_kind_of(context, job->texts[0], &kind, &job->error);
    job->number = (uint64_t)kind;
    return status;
}

/* ---- ET+ ---- */

static const struct member link_members[] = {
    COUNT(sutra_link_report, n_host_nodes),
    COUNT(sutra_link_report, n_host_ops),
    COUNT(sutra_link_report, n_host_linked),
    COUNT(sutra_link_report, n_host_without_rf),
    COUNT(sutra_link_report, n_host_rf_unmatched),
    COUNT(sutra_link_report, n_events),
    COUNT(sutra_link_report, n_cpu_ops),
    COUNT(sutra_link_report, n_gpu_ops),
    COUNT(sutra_link_report, n_gpu_with_parent),
    COUNT(sutra_link_report, n_gpu_without_launch),
    COUNT(sutra_link_report, n_gpu_without_parent),
    COUNT(sutra_link_report, n_gpu_host_unmatched),
    COUNT(sutra_link_report, n_gpu_nodes),
    COUNT(sutra_link_report, n_nodes),
    COUNT(sutra_link_report, n_inter_thread),
    COUNT(sutra_link_report, n_sync),
    COUNT(sutra_link_report, n_exclusive_rounded),
    COUNT(sutra_link_report, n_exclusive_replaced),
    COUNT(sutra_link_report, n_fields_dropped),
    COUNT(sutra_link_report, n_host_rf_zero),
    COUNT(sutra_link_report, n_gpu_memory_sets),
    COUNT(sutra_link_report, n_host_steps),
    COUNT(sutra_link_report, n_gpu_unknown_launch),
    {0},
};

/* {"n_before": ..., "names": [(name, count), ...]} */
static PyObject *unmatched_dict(const struct sutra_unmatched *unmatched) {
    static const struct member members[] = {COUNT(sutra_unmatched, n_before),
                                            COUNT(sutra_unmatched, n_after),
                                            COUNT(sutra_unmatched, n_of_threads),
                                            COUNT(sutra_unmatched, n_between),
                                            {0}};
    const size_t n = sizeof unmatched->names / sizeof *unmatched->names;
    PyObject *names = PyList_New(0);
    for (size_t i = 0; i < n && names && unmatched->names[i].count; i++)
        names = list_add(names, Py_BuildValue("(NK)", str_from_utf8(unmatched->names[i].name),
                                              (unsigned long long)unmatched->names[i].count));
    PyObject *dict = dict_add(dict_from_members(unmatched, members), "names", names);
    return dict_add(dict, "threads", str_from_utf8(unmatched->threads));
}

static PyObject *match_dict(const struct sutra_linked *linked) {
    static const struct member members[] = {REAL(sutra_link_match, confidence),
                                            COUNT(sutra_link_match, n_host_ops),
                                            COUNT(sutra_link_match, n_device_ops),
                                            COUNT(sutra_link_match, n_matched),
                                            COUNT(sutra_link_match, n_common_ids),
                                            COUNT(sutra_link_match, n_positions),
                                            REAL(sutra_link_match, covered_us),
                                            REAL(sutra_link_match, steps_us),
                                            {0}};
    struct sutra_link_match match = {.size = sizeof match};
    sutra_linked_match(linked, &match);
    PyObject *dict = dict_from_members(&match, members);
    dict = dict_add(dict, "by", PyUnicode_FromString(match.by_names ? "names" : "ids"));
    dict = dict_add(dict, "ids_fault", Py_BuildValue("z", match.ids_fault));
    dict = dict_add(dict, "step", str_from_utf8(match.step));
    dict =
        dict_add(dict, "number_shift", match.has_numbers ? PyLong_FromLongLong(match.number_shift) : Py_BuildValue(""));
    dict = dict_add(dict, "host", unmatched_dict(&match.host));
    return dict_add(dict, "device", unmatched_dict(&match.device));
}

static PyObject *link_report(const void *thing) {
    struct sutra_link_report report = {.size = sizeof report};
    sutra_linked_report(thing, &report);
    PyObject *calls = PyDict_New();
    struct sutra_count call;
    for (uint64_t i = 0; calls && sutra_linked_unknown_call(thing, i, &call); i++)
        calls = dict_add(calls, call.name, PyLong_FromUnsignedLongLong(call.count));
    PyObject *dict = dict_add(dict_from_members(&report, link_members), "unknown_calls", calls);
    return dict_add(dict, "match", match_dict(thing));
}

static const struct kind link_kind = {
    .name = "link", .free = linked_release, .columns = linked_columns, .report = link_report};

/* Texts: step. Numbers: 1 to omit synchronization dependencies, 1 for launches of any name, enum sutra_match. */
static enum sutra_status run_link(struct job *job, struct sutra_context *context) {
    const struct sutra_link_options options = {.size = sizeof options,
                                               .no_sync = job->numbers[0] != 0,
                                               .any_launch = job->numbers[1] != 0,
                                               .match = (enum sutra_match)job->numbers[2],
                                               .match_step = job->texts[0]};
    RETURN_THING(job, sutra_link(context, job->things[0]->thing, job->things[1]->thing, &options, &made, &job->error),
                 sutra_linked);
}

static enum sutra_status run_linked_write(struct job *job, struct sutra_context *context) {
    return sutra_linked_write(context, job->things[0]->thing, job->texts[0], &job->number, &job->error);
}

static enum sutra_status run_linked_convert(struct job *job, struct sutra_context *context) {
    const struct sutra_linked *linked = job->things[0]->thing;
    struct sutra_converted *converted = NULL;
    enum sutra_status status = sutra_linked_convert(context, linked, NULL, &converted, &job->error);
    if (!status)
        status = sutra_converted_run_faithful(context, converted, linked, NULL, NULL, &job->error);
    if (!status)
        status = sutra_converted_write(context, converted, job->texts[0], &job->number, &job->error);
    sutra_converted_free(converted);
    return status;
}

/* ---- Trees and pairs ---- */

/* A tree or a correlation, with the profile that it refers to. */
struct profiled {
    struct sutra_profile *profile;
    struct sutra_tree *tree;
    struct sutra_correlation *correlation;
};

static void profiled_release(void *thing) {
    struct profiled *profiled = thing;
    sutra_correlation_free(profiled->correlation);
    sutra_tree_free(profiled->tree);
    sutra_profile_free(profiled->profile);
    free(profiled);
}

static const struct member tree_members[] = {
    COUNT(sutra_tree_report, n_events),   COUNT(sutra_tree_report, n_roots),    COUNT(sutra_tree_report, n_adopted),
    COUNT(sutra_tree_report, max_depth),  COUNT(sutra_tree_report, n_borrowed), COUNT(sutra_tree_report, n_endless),
    COUNT(sutra_tree_report, n_reversed), COUNT(sutra_tree_report, n_tensors),  {0},
};

static PyObject *tree_report(const void *thing) {
    struct sutra_tree_report report = {.size = sizeof report};
    sutra_tree_report(((const struct profiled *)thing)->tree, &report);
    return dict_from_members(&report, tree_members);
}

static enum sutra_status tree_columns(struct job *job, struct sutra_context *context, const void *thing,
                                      const struct sutra_columns_options *options) {
    return sutra_tree_arrow(context, ((const struct profiled *)thing)->tree, options, &job->stream, &job->error);
}

static enum sutra_status correlation_columns(struct job *job, struct sutra_context *context, const void *thing,
                                             const struct sutra_columns_options *options) {
    const struct profiled *profiled = thing;
    return sutra_correlation_arrow(context, profiled->correlation, options, &job->stream, &job->error);
}

static const struct kind tree_kind = {
    .name = "tree", .free = profiled_release, .columns = tree_columns, .report = tree_report};
static const struct kind correlation_kind = {
    .name = "correlation", .free = profiled_release, .columns = correlation_columns};

static enum sutra_status create_profile(struct job *job, struct sutra_context *context, struct profiled **made) {
    const struct sutra_profile_options options = {.size = sizeof options, .inputs = true};
    job->thing = *made = calloc(1, sizeof **made);
    if (!*made)
        return job_fail(job, SUTRA_SYSTEM, "out of memory");
    const struct sutra_host_trace *host = job->things[1] ? job->things[1]->thing : NULL;
    return sutra_profile_from_trace(context, job->things[0]->thing, host, &options, &(*made)->profile, &job->error);
}

static enum sutra_status run_tree(struct job *job, struct sutra_context *context) {
    struct profiled *made;
    enum sutra_status status = create_profile(job, context, &made);
    if (!status)
        status = sutra_tree_build(context, made->profile, SUTRA_TORCH_VERSION_2, &made->tree, &job->error);
    return status;
}

static enum sutra_status run_correlation(struct job *job, struct sutra_context *context) {
    const struct sutra_correlation_options options = {.size = sizeof options,
                                                      .kind = (enum sutra_correlation_kind)job->numbers[0]};
    struct profiled *made;
    enum sutra_status status = create_profile(job, context, &made);
    if (!status)
        status = sutra_correlation_find(context, made->profile, &options, &made->correlation, &job->error);
    return status;
}

static enum sutra_status run_tree_write(struct job *job, struct sutra_context *context) {
    const struct profiled *profiled = job->things[0]->thing;
    return sutra_tree_write(context, profiled->tree, (enum sutra_tree_format)job->numbers[0], NULL, job->texts[0],
                            &job->number, &job->error);
}

static enum sutra_status run_correlation_write(struct job *job, struct sutra_context *context) {
    const struct profiled *profiled = job->things[0]->thing;
    return sutra_correlation_write(context, profiled->correlation, (enum sutra_correlation_format)job->numbers[0],
                                   job->texts[0], &job->number, &job->error);
}

/* ---- Critical paths ---- */

static const struct member path_members[] = {
    COUNT(sutra_critical_path_report, n_nodes),
    COUNT(sutra_critical_path_report, n_edges),
    COUNT(sutra_critical_path_report, n_path_nodes),
    REAL(sutra_critical_path_report, us),
    REAL(sutra_critical_path_report, window_us),
    REAL(sutra_critical_path_report, begin_us),
    REAL(sutra_critical_path_report, end_us),
    REAL(sutra_critical_path_report, compute_us),
    REAL(sutra_critical_path_report, communication_us),
    REAL(sutra_critical_path_report, memory_us),
    {"operator_us", offsetof(struct sutra_critical_path_report, kind_us[SUTRA_PATH_OPERATOR]), true},
    {"kernel_us", offsetof(struct sutra_critical_path_report, kind_us[SUTRA_PATH_KERNEL]), true},
    {"launch_delay_us", offsetof(struct sutra_critical_path_report, kind_us[SUTRA_PATH_LAUNCH_DELAY]), true},
    {"kernel_delay_us", offsetof(struct sutra_critical_path_report, kind_us[SUTRA_PATH_KERNEL_DELAY]), true},
    {0},
};

static PyObject *critical_path_report(const void *thing) {
    struct sutra_critical_path_report report = {.size = sizeof report};
    sutra_critical_path_report(thing, &report);
    return dict_from_members(&report, path_members);
}

static const struct kind critical_path_kind = {.name = "critical_path",
                                               .free = critical_path_release,
                                               .columns = critical_path_columns,
                                               .report = critical_path_report};

static enum sutra_status run_critical_path(struct job *job, struct sutra_context *context) {
    const struct sutra_critical_path_options options = {
        .size = sizeof options,
        .annotation = job->texts[0],
        .instance = (uint64_t)job->numbers[0],
        .hta_version = (enum sutra_hta_version)job->numbers[1],
        .step = job->texts[1],
    };
    RETURN_THING(job, sutra_critical_path_find(context, job->things[0]->thing, &options, &made, &job->error),
                 sutra_critical_path);
}

static enum sutra_status run_critical_path_write(struct job *job, struct sutra_context *context) {
    return sutra_critical_path_write(context, job->things[0]->thing, (enum sutra_path_format)job->numbers[0],
                                     job->texts[0], &job->error);
}

const struct operation trace_operations[] = {
    {"device_trace",
     {NULL},
     RESTRICTION_TEXTS + 1,
     RESTRICTION_NUMBERS,
     RETURNS_THING,
     run_device_trace,
     &device_trace_kind},
    {"host_trace", {NULL}, 1, 0, RETURNS_THING, run_host_trace, &host_trace_kind},
    {"trace_kind", {NULL}, 1, 0, RETURNS_NUMBER, run_trace_kind, NULL},
    {"link", {"host_trace", "device_trace"}, 1, 3, RETURNS_THING, run_link, &link_kind},
    {"link_write", {"link"}, 1, 0, RETURNS_NUMBER, run_linked_write, NULL},
    {"link_convert", {"link"}, 1, 0, RETURNS_NUMBER, run_linked_convert, NULL},
    {"tree", {"device_trace", "?host_trace"}, 0, 0, RETURNS_THING, run_tree, &tree_kind},
    {"tree_write", {"tree"}, 1, 1, RETURNS_NUMBER, run_tree_write, NULL},
    {"correlation", {"device_trace", "?host_trace"}, 0, 1, RETURNS_THING, run_correlation, &correlation_kind},
    {"correlation_write", {"correlation"}, 1, 1, RETURNS_NUMBER, run_correlation_write, NULL},
    {"critical_path", {"device_trace"}, 2, 2, RETURNS_THING, run_critical_path, &critical_path_kind},
    {"critical_path_write", {"critical_path"}, 1, 1, RETURNS_NOTHING, run_critical_path_write, NULL},
    {0},
};
