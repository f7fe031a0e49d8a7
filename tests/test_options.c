/*
 * test_options.c - tests structs of the API that may grow, with the sizes of an older and of a newer program.
 * (test_cuda_choice.c, which has a device, tests sutra_device_info.)
 */
#include "et_text.h"
#include "simulate/et_file.h"
#include "sutra/simulate.h"
#include "sutra/sutra.h"
#include "unit.h"

#define LATER 16 /* bytes of a later version */

static const char host_text[] =
    "{\"schema\":\"1.0.2-chakra.0.0.4\",\"nodes\":[{\"id\":1,\"name\":\"root\",\"ctrl_deps\":0,"
    "\"inputs\":{\"values\":[],\"shapes\":[],\"types\":[]},\"outputs\":{\"values\":[],\"shapes\":[],\"types\":[]},"
    "\"attrs\":[{\"name\":\"rf_id\",\"type\":\"uint64\",\"value\":0}]}]}";
static const char device_text[] =
    "{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":9},"
    "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,\"ts\":2,\"dur\":2,"
    "\"args\":{\"correlation\":1}},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":5,\"dur\":2,"
    "\"args\":{\"correlation\":1,\"stream\":7}}]}";

/* One of each thing that options go into or reports come out of. */
static struct {
    struct sutra_context *context;
    struct sutra_host_trace *host;
    struct sutra_device_trace *device;
    struct sutra_linked *linked;
    struct sutra_critical_path *path;
    struct sutra_full_path *full_path;
    struct sutra_profile *profile;
    struct sutra_tree *tree;
    struct sutra_correlation *correlation;
    struct sutra_hta *hta;
    struct sutra_hta_ranks *ranks;
    struct sutra_dlrm *dlrm;
    struct sutra_diff *diff;
    struct sutra_merged *merged;
    struct sutra_cut *cut;
    struct sutra_collectives *collectives;
    struct buffer et_file;
    struct sutra_et *et;
    struct sutra_et_check *check;
    struct sutra_simulation *simulation;
    struct sutra_et *job_et;
    struct sutra_simulation *job;
    char files[2][32];
    const char *list[2];
} all;

/* A collective on two ranks, of which one computes before it. */
static bool make_job(void) {
    static const char lines[] =
        "{}\n{\"id\":\"1\",\"name\":\"a\",\"type\":\"COMP_NODE\",\"durationMicros\":\"9\",\"attr\":[]}\n"
        "{\"id\":\"2\",\"name\":\"b\",\"type\":\"COMM_COLL_NODE\",\"dataDeps\":[\"1\"],\"durationMicros\":\"9\",\"attr\":["
        "{\"name\":\"meeting\",\"int64Val\":\"0\"},{\"name\":\"meeting_kind\",\"stringVal\":\"all-reduce\"}]}\n";
    static const char *const changes[] = {"rank=1:compute:2"};
    const struct sutra_simulate_options how = {.size = sizeof how, .scales = changes, .n_scales = 1};
    const struct sutra_et *ets[2];
    if (et_parse_text(all.context, lines, &all.job_et, NULL))
        return false;
    ets[0] = ets[1] = all.job_et;
    return sutra_simulate(all.context, ets, NULL, 2, &how, &all.job, NULL) == SUTRA_OK;
}

/* Three nodes: one that runs, and two that wait for each other. */
static bool make_et(void) {
    struct buffer node = {0};
    add_varint(&all.et_file, 0); /* no metadata */
    for (char id = 1; id <= 3; id++) {
        const char waits_for[] = {(char)(5 - id)};
        put_number(&node, 1, (uint64_t)id);
        put_number(&node, 3, ET_COMP);
        put_bytes(&node, 4, waits_for, id > 1);
        put_number(&node, 7, 5);
        put_into_file(&all.et_file, &node);
    }
    buffer_free(&node);
    const struct buffer *file = &all.et_file;
    return !sutra_et_parse(all.context, "a.0.et", file->bytes, file->length, NULL, &all.et, NULL) &&
           !sutra_et_check_create(all.context, NULL, &all.check, NULL) &&
           !sutra_simulate(all.context, (const struct sutra_et *const *)&all.et, NULL, 1, NULL, &all.simulation,
                           NULL) &&
           make_job();
}

static int make_all(void **state) {
    struct sutra_context *context;
    bool ok = !sutra_context_create(
        &(struct sutra_context_options){.size = sizeof(struct sutra_context_options), .n_threads = 1, .lenient = true},
        &all.context, NULL);
    context = all.context;
    ok = ok && !sutra_host_trace_parse(context, "host", host_text, strlen(host_text), &all.host, NULL) &&
         !sutra_device_trace_parse(context, "device", device_text, strlen(device_text), &all.device, NULL) &&
         !sutra_link(context, all.host, all.device, NULL, &all.linked, NULL) &&
         !sutra_critical_path_find(context, all.device, NULL, &all.path, NULL) &&
         !sutra_full_path_find(context, all.device, NULL, &all.full_path, NULL) &&
         !sutra_profile_from_trace(context, all.device, NULL, NULL, &all.profile, NULL) &&
         !sutra_tree_build(context, all.profile, SUTRA_TORCH_VERSION_2, &all.tree, NULL) &&
         !sutra_correlation_find(context, all.profile, NULL, &all.correlation, NULL) &&
         !sutra_hta_run(context, all.device, NULL, &all.hta, NULL) &&
         !sutra_dlrm_analyze(context, all.device, NULL, &all.dlrm, NULL) && make_et();
    for (int i = 0; i < 2; i++) {
        strcpy(all.files[i], P_tmpdir "/sutra_XXXXXX");
        make_temp_file(all.files[i], device_text);
        all.list[i] = all.files[i];
    }
    ok = ok && !sutra_collectives_run(context, all.list, 1, NULL, &all.collectives, NULL);
    ok = ok && !sutra_diff_run(context, all.list, 1, all.list + 1, 1, NULL, &all.diff, NULL);
    ok = ok && !sutra_merge(context, all.list, 2, NULL, "/dev/null", &all.merged, NULL);
    ok = ok && !sutra_cut_run(context, all.device, NULL, NULL, &all.cut, NULL);
    return ok && !sutra_hta_ranks_run(context, all.list, 2, NULL, &all.ranks, NULL) ? 0 : -1;
}

static int free_all(void **state) {
    sutra_simulation_free(all.simulation);
    sutra_simulation_free(all.job);
    sutra_et_free(all.job_et);
    sutra_et_check_free(all.check);
    sutra_et_free(all.et);
    buffer_free(&all.et_file);
    sutra_dlrm_free(all.dlrm);
    sutra_diff_free(all.diff);
    sutra_merged_free(all.merged);
    sutra_cut_free(all.cut);
    sutra_collectives_free(all.collectives);
    sutra_hta_ranks_free(all.ranks);
    sutra_hta_free(all.hta);
    sutra_correlation_free(all.correlation);
    sutra_tree_free(all.tree);
    sutra_profile_free(all.profile);
    sutra_critical_path_free(all.path);
    sutra_full_path_free(all.full_path);
    sutra_linked_free(all.linked);
    sutra_device_trace_free(all.device);
    sutra_host_trace_free(all.host);
    sutra_context_free(all.context);
    return remove(all.files[0]) || remove(all.files[1]) ? -1 : 0;
}

/* ---- Options ---- */

static enum sutra_status use_context(const void *options, struct sutra_error *error) {
    struct sutra_context *context = NULL;
    enum sutra_status status = sutra_context_create(options, &context, error);
    sutra_context_free(context);
    return status;
}

static enum sutra_status use_link(const void *options, struct sutra_error *error) {
    struct sutra_linked *linked = NULL;
    enum sutra_status status = sutra_link(all.context, all.host, all.device, options, &linked, error);
    sutra_linked_free(linked);
    return status;
}

static enum sutra_status use_legacy(const void *options, struct sutra_error *error) {
    struct sutra_legacy *legacy = NULL;
    enum sutra_status status = sutra_legacy_link(all.context, all.host, all.device, options, NULL, &legacy, error);
    sutra_legacy_free(legacy);
    return status;
}

static enum sutra_status use_path(const void *options, struct sutra_error *error) {
    struct sutra_critical_path *path = NULL;
    enum sutra_status status = sutra_critical_path_find(all.context, all.device, options, &path, error);
    sutra_critical_path_free(path);
    return status;
}

static enum sutra_status use_full_path(const void *options, struct sutra_error *error) {
    struct sutra_full_path *path = NULL;
    enum sutra_status status = sutra_full_path_find(all.context, all.device, options, &path, error);
    sutra_full_path_free(path);
    return status;
}

static enum sutra_status use_profile(const void *options, struct sutra_error *error) {
    struct sutra_profile *profile = NULL;
    enum sutra_status status = sutra_profile_from_trace(all.context, all.device, NULL, options, &profile, error);
    sutra_profile_free(profile);
    return status;
}

static enum sutra_status use_tree(const void *options, struct sutra_error *error) {
    return sutra_tree_write(all.context, all.tree, SUTRA_TREE_TEXT, options, "/dev/null", NULL, error);
}

static enum sutra_status use_correlation(const void *options, struct sutra_error *error) {
    struct sutra_correlation *correlation = NULL;
    enum sutra_status status = sutra_correlation_find(all.context, all.profile, options, &correlation, error);
    sutra_correlation_free(correlation);
    return status;
}

static enum sutra_status use_hta(const void *options, struct sutra_error *error) {
    struct sutra_hta *hta = NULL;
    enum sutra_status status = sutra_hta_run(all.context, all.device, options, &hta, error);
    sutra_hta_free(hta);
    return status;
}

static enum sutra_status use_hta_ranks(const void *options, struct sutra_error *error) {
    struct sutra_hta_ranks *ranks = NULL;
    enum sutra_status status = sutra_hta_ranks_run(all.context, all.list, 1, options, &ranks, error);
    sutra_hta_ranks_free(ranks);
    return status;
}

static enum sutra_status use_columns(const void *options, struct sutra_error *error) {
    struct ArrowArrayStream stream;
    enum sutra_status status = sutra_device_trace_arrow(all.context, all.device, options, &stream, error);
    if (!status)
        stream.release(&stream);
    return status;
}

static enum sutra_status use_overview(const void *options, struct sutra_error *error) {
    struct sutra_overview *overview = NULL;
    enum sutra_status status = sutra_overview_run(all.context, all.list, 1, options, &overview, error);
    sutra_overview_free(overview);
    return status;
}

static enum sutra_status use_operators(const void *options, struct sutra_error *error) {
    struct sutra_operators *operators = NULL;
    enum sutra_status status = sutra_operators_run(all.context, all.device, options, &operators, error);
    sutra_operators_free(operators);
    return status;
}

static enum sutra_status use_collectives(const void *options, struct sutra_error *error) {
    struct sutra_collectives *collectives = NULL;
    enum sutra_status status = sutra_collectives_run(all.context, all.list, 1, options, &collectives, error);
    sutra_collectives_free(collectives);
    return status;
}

static enum sutra_status use_operators_ranks(const void *options, struct sutra_error *error) {
    struct sutra_operators_ranks *ranks = NULL;
    enum sutra_status status = sutra_operators_ranks_run(all.context, all.list, 1, options, &ranks, error);
    sutra_operators_ranks_free(ranks);
    return status;
}

static enum sutra_status use_operators_of_ranks(const void *options, struct sutra_error *error) {
    return use_operators_ranks(
        &(struct sutra_operators_ranks_options){.size = sizeof(struct sutra_operators_ranks_options),
                                                .operators = options},
        error);
}

static enum sutra_status use_diff(const void *options, struct sutra_error *error) {
    struct sutra_diff *diff = NULL;
    enum sutra_status status = sutra_diff_run(all.context, all.list, 1, all.list + 1, 1, options, &diff, error);
    sutra_diff_free(diff);
    return status;
}

static enum sutra_status use_merge(const void *options, struct sutra_error *error) {
    struct sutra_merged *merged = NULL;
    enum sutra_status status = sutra_merge(all.context, all.list, 2, options, "/dev/null", &merged, error);
    sutra_merged_free(merged);
    return status;
}

static enum sutra_status use_merged_selection(const void *options, struct sutra_error *error) {
    return use_merge(&(struct sutra_merge_options){.size = sizeof(struct sutra_merge_options), .selection = options},
                     error);
}

static enum sutra_status use_selection(const void *options, struct sutra_error *error) {
    struct sutra_cut *cut = NULL;
    enum sutra_status status = sutra_cut_run(all.context, all.device, NULL, options, &cut, error);
    sutra_cut_free(cut);
    return status;
}

static enum sutra_status use_restriction(const void *options, struct sutra_error *error) {
    return sutra_device_trace_restrict(all.context, all.device, options, error);
}

static enum sutra_status use_hta_of_ranks(const void *options, struct sutra_error *error) {
    return use_hta_ranks(
        &(struct sutra_hta_ranks_options){.size = sizeof(struct sutra_hta_ranks_options), .hta = options}, error);
}

static enum sutra_status use_dlrm(const void *options, struct sutra_error *error) {
    struct sutra_dlrm *dlrm = NULL;
    enum sutra_status status = sutra_dlrm_analyze(all.context, all.device, options, &dlrm, error);
    sutra_dlrm_free(dlrm);
    return status;
}

static enum sutra_status use_dlrm_ranks(const void *options, struct sutra_error *error) {
    struct sutra_dlrm_ranks *ranks = NULL;
    enum sutra_status status = sutra_dlrm_ranks_run(all.context, all.list, 1, options, &ranks, error);
    sutra_dlrm_ranks_free(ranks);
    return status;
}

static enum sutra_status use_dlrm_of_ranks(const void *options, struct sutra_error *error) {
    return use_dlrm_ranks(
        &(struct sutra_dlrm_ranks_options){.size = sizeof(struct sutra_dlrm_ranks_options), .dlrm = options}, error);
}

static enum sutra_status use_et(const void *options, struct sutra_error *error) {
    struct sutra_et *et = NULL;
    enum sutra_status status =
        sutra_et_parse(all.context, "a.0.et", all.et_file.bytes, all.et_file.length, options, &et, error);
    sutra_et_free(et);
    return status;
}

static enum sutra_status use_check(const void *options, struct sutra_error *error) {
    struct sutra_et_check *check = NULL;
    enum sutra_status status = sutra_et_check_create(all.context, options, &check, error);
    sutra_et_check_free(check);
    return status;
}

static enum sutra_status use_simulate(const void *options, struct sutra_error *error) {
    struct sutra_simulation *simulation = NULL;
    enum sutra_status status =
        sutra_simulate(all.context, (const struct sutra_et *const *)&all.et, NULL, 1, options, &simulation, error);
    sutra_simulation_free(simulation);
    return status;
}

static enum sutra_status make_faithful(const void *options, struct sutra_faithful_report *report,
                                       struct sutra_error *error) {
    struct sutra_converted *converted = NULL;
    enum sutra_status status = sutra_linked_convert(all.context, all.linked, NULL, &converted, error);
    if (!status)
        status = sutra_converted_run_faithful(all.context, converted, all.linked, options, report, error);
    sutra_converted_free(converted);
    return status;
}

static enum sutra_status use_convert(const void *options, struct sutra_error *error) {
    struct sutra_converted *converted = NULL;
    enum sutra_status status = sutra_linked_convert(all.context, all.linked, options, &converted, error);
    sutra_converted_free(converted);
    return status;
}

static enum sutra_status use_faithful(const void *options, struct sutra_error *error) {
    return make_faithful(options, NULL, error);
}

#define FIRST(type, last) #type, sizeof(struct type), offsetof(struct type, last) + sizeof(((struct type *)0)->last)

static const struct {
    const char *name;
    size_t size, first; /* of the struct, and of its first version */
    enum sutra_status (*use)(const void *options, struct sutra_error *error);
} options_list[] = {
    {FIRST(sutra_context_options, arg), use_context},
    {FIRST(sutra_link_options, most_bytes), use_link},
    {FIRST(sutra_legacy_options, arg), use_legacy},
    {FIRST(sutra_critical_path_options, instance), use_path},
    {FIRST(sutra_critical_path_options, instance), use_full_path},
    {FIRST(sutra_profile_options, inputs), use_profile},
    {FIRST(sutra_tree_write_options, min_us), use_tree},
    {FIRST(sutra_correlation_options, kind), use_correlation},
    {FIRST(sutra_hta_options, nanoseconds), use_hta},
    {FIRST(sutra_hta_options, nanoseconds), use_hta_of_ranks},
    {FIRST(sutra_hta_ranks_options, arg), use_hta_ranks},
    {FIRST(sutra_columns_options, n_args), use_columns},
    {FIRST(sutra_overview_options, peaks), use_overview},
    {FIRST(sutra_operators_options, kernels), use_operators},
    {FIRST(sutra_operators_options, kernels), use_operators_of_ranks},
    {FIRST(sutra_operators_ranks_options, arg), use_operators_ranks},
    {FIRST(sutra_collectives_options, link_gb_per_s), use_collectives},
    {FIRST(sutra_diff_options, category), use_diff},
    {FIRST(sutra_merge_options, no_arrows), use_merge},
    {FIRST(sutra_selection, overlap), use_merged_selection},
    {FIRST(sutra_selection, overlap), use_selection},
    {FIRST(sutra_restriction, category), use_restriction},
    {FIRST(sutra_dlrm_options, iteration_us), use_dlrm},
    {FIRST(sutra_dlrm_options, iteration_us), use_dlrm_of_ranks},
    {FIRST(sutra_dlrm_ranks_options, arg), use_dlrm_ranks},
    {FIRST(sutra_et_read_options, damaged), use_et},
    {FIRST(sutra_et_check_options, groups), use_check},
    {FIRST(sutra_simulate_options, no_launch_latency), use_simulate},
    {FIRST(sutra_convert_options, compat), use_convert},
    {FIRST(sutra_faithful_options, gpu_streams), use_faithful},
};

/* Uses options of so many bytes, zeros, with one after those that this version knows set to `later`; after those `size`
 * bytes there is none. */
static enum sutra_status use_sized(size_t i, size_t size, char later, struct sutra_error *error) {
    size_t room = size < sizeof size ? sizeof size : size;
    char *options = calloc(1, room);
    assert_non_null(options);
    memcpy(options, &size, sizeof size);
    if (size > options_list[i].size)
        options[size - 1] = later;
    enum sutra_status status = options_list[i].use(options, error);
    free(options);
    return status;
}

static void expect_refused(size_t i, size_t size, char later) {
    struct sutra_error error = {0};
    assert_int_equal(use_sized(i, size, later, &error), SUTRA_USAGE);
    assert_non_null(strstr(error.message, options_list[i].name));
    assert_null(strchr(error.message, '\n'));
}

static void options_that_are_shorter_than_the_first_version_are_refused(void **state) {
    for (size_t i = 0; i < sizeof options_list / sizeof *options_list; i++) {
        expect_refused(i, 0, 0);
        expect_refused(i, options_list[i].first - 1, 0);
    }
}

static void option_structs_of_any_version_are_read_up_to_known_fields(void **state) {
    for (size_t i = 0; i < sizeof options_list / sizeof *options_list; i++) {
        struct sutra_error error;
        enum sutra_status usual = options_list[i].use(NULL, &error);
        assert_int_not_equal(usual, SUTRA_USAGE);
        assert_int_equal(use_sized(i, options_list[i].first, 0, &error), usual);
        assert_int_equal(use_sized(i, options_list[i].size, 0, &error), usual);
        assert_int_equal(use_sized(i, options_list[i].size + LATER, 0, &error), usual);
    }
}

static void options_that_only_a_later_version_knows_are_refused(void **state) {
    for (size_t i = 0; i < sizeof options_list / sizeof *options_list; i++)
        expect_refused(i, options_list[i].size + LATER, 1);
}

/* ---- Reports ---- */

#define ASK(name, call)                                                                                                \
    static void name(void *report) {                                                                                   \
        call;                                                                                                          \
    }

ASK(ask_host, sutra_host_trace_summary(all.host, report))
ASK(ask_device, assert_int_equal(sutra_device_trace_summary(all.context, all.device, report, NULL), SUTRA_OK))
ASK(ask_link, sutra_linked_report(all.linked, report))
ASK(ask_match, sutra_linked_match(all.linked, report))
ASK(ask_advice, assert_int_equal(sutra_advise(all.context, all.host, all.device, report, NULL), SUTRA_OK))
ASK(ask_path, sutra_critical_path_report(all.path, report))
ASK(ask_path_step, sutra_critical_path_step(all.path, 0, report))
ASK(ask_full_path, sutra_full_path_report(all.full_path, report))
ASK(ask_profile, sutra_profile_report(all.profile, report))
ASK(ask_profile_columns, sutra_profile_columns(all.profile, report))
ASK(ask_tree, sutra_tree_report(all.tree, report))
ASK(ask_tree_columns, sutra_tree_columns(all.tree, report))
ASK(ask_correlation, sutra_correlation_report(all.correlation, report))
ASK(ask_hta, sutra_hta_summary(all.hta, report))
ASK(ask_sums, sutra_hta_ranks_sum(all.ranks, report))
ASK(ask_diff, sutra_diff_summary(all.diff, report))
ASK(ask_merged, sutra_merged_report(all.merged, report))
ASK(ask_cut, sutra_cut_report(all.cut, report))
ASK(ask_collectives, sutra_collectives_summary(all.collectives, report))
ASK(ask_straggler, sutra_collectives_straggler(all.collectives, report))
ASK(ask_dlrm, sutra_dlrm_report(all.dlrm, report))
ASK(ask_et, assert_int_equal(sutra_et_info(all.context, all.et, report, NULL), SUTRA_OK))
ASK(ask_check, sutra_et_check_report(all.check, report))
ASK(ask_rank, sutra_simulation_rank(all.simulation, 0, report))
ASK(ask_stuck, assert_true(sutra_simulation_deadlocked(all.simulation, 0, report)))
ASK(ask_step, sutra_simulation_step(all.simulation, 0, report))
ASK(ask_change, sutra_simulation_change(all.simulation, all.simulation, report))
ASK(ask_name, sutra_simulation_name(all.simulation, 0, report))
ASK(ask_wait, sutra_simulation_wait(all.job, 0, report))
ASK(ask_matched_collective, sutra_simulation_collective(all.job, 0, report))
ASK(ask_network, sutra_simulation_link(all.job, 0, report))
ASK(ask_faithful, assert_int_equal(make_faithful(NULL, report, NULL), SUTRA_OK))

static void ask_legacy(void *report) {
    struct sutra_legacy *legacy = NULL;
    struct sutra_error error;
    sutra_legacy_link(all.context, all.host, all.device, NULL, report, &legacy, &error);
    sutra_legacy_free(legacy);
}

static void ask_defect(void *report) {
    static const char text[] = "{\"schema\": \"1.0.1\", \"nodes\": [{\"id\": 2, \"name\": \"a\", \"parent\": 1}]}";
    struct sutra_host_trace *trace = NULL;
    assert_int_equal(sutra_host_trace_parse(all.context, "host", text, strlen(text), &trace, NULL), SUTRA_OK);
    assert_true(sutra_host_trace_defect(trace, 0, report));
    sutra_host_trace_free(trace);
}

static void ask_slowest(void *report) {
    assert_true(sutra_hta_ranks_slowest(all.ranks, report));
}

static void ask_reassociation(void *report) {
    const int64_t index = 0;
    const uint8_t of_profiler = 1;
    uint32_t event;
    assert_int_equal(sutra_reassociate(1, 1, &index, &of_profiler, &event, report, NULL), SUTRA_OK);
}

static void ask_kineto(void *report) {
    const struct sutra_kineto_columns none = {0};
    assert_int_equal(sutra_kineto_parents(&none, NULL, NULL, report, NULL), SUTRA_OK);
}

static void ask_pairs(void *report) {
    const struct sutra_sequence_columns none = {0};
    struct sutra_flow_pair pair;
    uint64_t n;
    assert_int_equal(sutra_forward_backward(all.context, &none, SUTRA_TORCH_VERSION_2, &pair, &n, report, NULL),
                     SUTRA_OK);
}

#define SIZED(type) #type, sizeof(struct type)

static const struct {
    const char *name;
    size_t size;
    void (*ask)(void *report);
} reports[] = {
    {SIZED(sutra_host_summary), ask_host},
    {SIZED(sutra_device_summary), ask_device},
    {SIZED(sutra_trace_defect), ask_defect},
    {SIZED(sutra_link_report), ask_link},
    {SIZED(sutra_link_match), ask_match},
    {SIZED(sutra_legacy_report), ask_legacy},
    {SIZED(sutra_advice), ask_advice},
    {SIZED(sutra_critical_path_report), ask_path},
    {SIZED(sutra_path_step), ask_path_step},
    {SIZED(sutra_full_report), ask_full_path},
    {SIZED(sutra_reassociation), ask_reassociation},
    {SIZED(sutra_kineto_report), ask_kineto},
    {SIZED(sutra_pair_report), ask_pairs},
    {SIZED(sutra_profile_report), ask_profile},
    {SIZED(sutra_profile_columns), ask_profile_columns},
    {SIZED(sutra_tree_report), ask_tree},
    {SIZED(sutra_tree_columns), ask_tree_columns},
    {SIZED(sutra_correlation_report), ask_correlation},
    {SIZED(sutra_hta_summary), ask_hta},
    {SIZED(sutra_hta_sums), ask_sums},
    {SIZED(sutra_hta_slowest), ask_slowest},
    {SIZED(sutra_diff_summary), ask_diff},
    {SIZED(sutra_merge_report), ask_merged},
    {SIZED(sutra_cut_report), ask_cut},
    {SIZED(sutra_collectives_summary), ask_collectives},
    {SIZED(sutra_collectives_straggler), ask_straggler},
    {SIZED(sutra_dlrm_report), ask_dlrm},
    {SIZED(sutra_et_info), ask_et},
    {SIZED(sutra_et_check_report), ask_check},
    {SIZED(sutra_simulated_rank), ask_rank},
    {SIZED(sutra_deadlocked_node), ask_stuck},
    {SIZED(sutra_simulated_step), ask_step},
    {SIZED(sutra_simulated_name), ask_name},
    {SIZED(sutra_simulated_change), ask_change},
    {SIZED(sutra_simulated_wait), ask_wait},
    {SIZED(sutra_simulated_collective), ask_matched_collective},
    {SIZED(sutra_network_link), ask_network},
    {SIZED(sutra_faithful_report), ask_faithful},
};

/* Asks for a report of `size` bytes; bytes [known, size) must become 0, and only what comes before may be anything. */
static void expect_filled(size_t i, size_t size, size_t known) {
    size_t room = size < sizeof size ? sizeof size : size, reported;
    unsigned char *report = malloc(room);
    assert_non_null(report);
    memset(report, 0xa5, room);
    memcpy(report, &size, sizeof size);
    reports[i].ask(report);
    memcpy(&reported, report, sizeof reported);
    assert_int_equal(reported, size);
    for (size_t at = known; at < size; at++)
        if (report[at])
            fail_msg("struct %s: byte %zu of %zu is not known and not 0", reports[i].name, at, size);
    bool filled = false;
    for (size_t at = sizeof reported; at < sizeof reported + 8 && at < known; at++)
        filled |= report[at] != 0xa5;
    assert_int_equal(filled, known > sizeof reported);
    free(report);
}

static void reports_are_as_long_as_their_caller_knows_them(void **state) {
    for (size_t i = 0; i < sizeof reports / sizeof *reports; i++) {
        expect_filled(i, 0, 0);
        expect_filled(i, 2 * sizeof(size_t), 2 * sizeof(size_t));
        expect_filled(i, reports[i].size, reports[i].size);
        expect_filled(i, reports[i].size + LATER, reports[i].size);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(options_that_are_shorter_than_the_first_version_are_refused),
        cmocka_unit_test(option_structs_of_any_version_are_read_up_to_known_fields),
        cmocka_unit_test(options_that_only_a_later_version_knows_are_refused),
        cmocka_unit_test(reports_are_as_long_as_their_caller_knows_them),
    };
    return cmocka_run_group_tests(tests, make_all, free_all);
}
