/*
 * fault_memory_analyze.c - allocations fail while traces, snapshots and reports are analyzed, and while tables, partial
 * results and pages are written.
 */
#include "analyze/collective_matches.h"
#include "analyze/overview/verdict.h"
#include "analyze/ranks.h"
#include "columns/traces.h"
#include "context/context.h"
#include "fault_memory.h"
#include "made_steps.h"
#include "read/device_trace.h"
#include "read/nsys.h"
#include "report/sections.h"
#include "sutra/collectives.h"
#include "sutra/diff.h"
#include "sutra/dlrm.h"
#include "sutra/hang.h"
#include "sutra/operators.h"
#include "sutra/overview.h"

OWNED_TYPE(collectives)
OWNED_TYPE(diff)
OWNED_TYPE(dlrm)
OWNED_TYPE(dlrm_ranks)
OWNED_TYPE(hang)
OWNED_TYPE(hta)
OWNED_TYPE(hta_compare)
OWNED_TYPE(hta_ranks)
OWNED_TYPE(memory)
OWNED_TYPE(operators)
OWNED_TYPE(operators_ranks)
OWNED_TYPE(overview)

/* ---- analyze hta ---- */

#define HTA_EVENTS(step)                                                                                               \
    "user_annotation ProfilerStep#1 ts=0+100; user_annotation ProfilerStep#" step " ts=200+100;"                       \
    "cudaLaunchKernel ts=5+2 correlation=1; cudaLaunchKernel ts=8+2 correlation=2;"                                    \
    "cudaMemcpyAsync ts=9+1 correlation=3; kernel k stream=7 ts=10+20 correlation=1;"                                  \
    "kernel l stream=8 ts=12+30 correlation=2; kernel ncclKernel stream=9 ts=20+30 correlation=2;"                     \
    "gpu_memcpy 'Memcpy HtoD' stream=7 ts=40+5 correlation=3 'memory bandwidth (GB/s)'=2.5;"                           \
    "kernel m tid=7 stream=x ts=50+1 correlation=y; cpu_op aten::mm ts=4+20; gpu_user_annotation a pid=0 tid=7 ts=10+30"

static enum sutra_status write_rank_tables(void *arg, struct sutra_context *context, const struct sutra_hta *hta,
                                           struct sutra_error *error) {
    static const enum sutra_hta_table of_rank[] = {
        SUTRA_HTA_LAUNCHES,         SUTRA_HTA_QUEUE,      SUTRA_HTA_ANNOTATED, SUTRA_HTA_OPERATORS, SUTRA_HTA_SEQUENCES,
        SUTRA_HTA_BANDWIDTH_SERIES, SUTRA_HTA_BUSY_SERIES};
    const struct run *run = arg;
    for (size_t i = 0; i < sizeof of_rank / sizeof *of_rank && !run->variant; i++) {
        const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(hta), of_rank[i], NULL);
        if (table)
            TRY(sutra_table_write(context, table, SUTRA_TABLE_JSON, output(run, "rank"), NULL, error));
    }
    return SUTRA_OK;
}

/* Variant 1 has HTA's rules, whose tables are written by the same code. */
static enum sutra_status analyze_hta(struct run *run, struct sutra_error *error) {
    const struct sutra_hta_options hta = {
        .size = sizeof hta, .compat = run->variant, .hta_version = SUTRA_HTA_VERSION_0_6};
    const struct sutra_hta_ranks_options options = {
        .size = sizeof options, .hta = &hta, .visit = write_rank_tables, .arg = run};
    struct sutra_hta_slowest slowest = {.size = sizeof slowest};
    OWN(hta_ranks, ranks);
    TRY(sutra_hta_ranks_run(run->context, run->path, run->n_inputs, &options, &ranks, error));
    sutra_hta_ranks_slowest(ranks, &slowest);
    for (uint32_t id = 0; id < SUTRA_HTA_N_TABLES && !run->variant; id++) {
        const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(ranks), id, NULL);
        if (table)
            TRY(sutra_table_write(run->context, table, SUTRA_TABLE_CSV, output(run, "table"), NULL, error));
    }
    run->result = digest_tables(run, SUTRA_RESULT(ranks));
    TRY(sutra_hta_ranks_write_list(run->context, ranks, SUTRA_HTA_LIST_STRAGGLERS, output(run, "list"), NULL, error));
    return sutra_hta_ranks_write_stragglers(run->context, ranks, NULL, 0, 2, output(run, "stragglers"), NULL, error);
}

/* Tables of one trace, computed in parallel. */
static enum sutra_status analyze_hta_trace(struct run *run, struct sutra_error *error) {
    OWN(device_trace, trace);
    OWN(hta, hta);
    TRY(parse_device(run, 0, &trace, error));
    TRY(sutra_hta_run(run->context, trace, NULL, &hta, error));
    run->result = digest_tables(run, SUTRA_RESULT(hta));
    return SUTRA_OK;
}

/* ---- analyze dlrm ---- */

#define DLRM_EVENTS                                                                                                    \
    "cpu_op '## Forward ##' ts=0+90 'External id'=9000;"                                                               \
    "cpu_op aten::a ts=10+30 'External id'=1 'Input dims'=[[2,3],[]];"                                                 \
    "cudaLaunchKernel ts=11+1 correlation=70 'External id'=70;"                                                        \
    "cudaLaunchKernel ts=13+1 correlation=71 'External id'=71;"                                                        \
    "kernel 'void at::reduce_kernel<1>' stream=7 ts=12+4 correlation=70 'External id'=70;"                             \
    "kernel l stream=8 ts=14+5 correlation=71 'External id'=71;"                                                       \
    "cpu_op aten::b#c ts=50+9 'External id'=2; cudaLaunchKernel ts=51+1 correlation=72 'External id'=72;"              \
    "kernel k stream=7 ts=53+6 correlation=72 'External id'=72; cpu_op x tid=2 ts=20+5 'External id'=3;"
#define DLRM_LABEL "cpu_op '## Forward ##' ts=200+9 'External id'=900200"
#define DLRM_FREE  "cudaFree ts=60+1 'external id'=a;"
#define DLRM_END   "cpu_op end ts=100000+1"

static const struct sutra_dlrm_options dlrm_options[] = {
    {.size = sizeof dlrm_options[0], .trim = SUTRA_TRIM_NONE},
    {.size = sizeof dlrm_options[0], .iters = 1, .compat = true, .module_marker = "## "},
    {.size = sizeof dlrm_options[0], .trim = SUTRA_TRIM_TIME, .from = 0, .to = 100000, .compat = true},
};

static enum sutra_status analyze_dlrm(struct run *run, struct sutra_error *error) {
    OWN(device_trace, trace);
    OWN(dlrm, dlrm);
    struct sutra_dlrm_report report = {.size = sizeof report};
    TRY(parse_device(run, run->variant, &trace, error));
    TRY(sutra_dlrm_analyze(run->context, trace, &dlrm_options[run->variant], &dlrm, error));
    sutra_dlrm_report(dlrm, &report);
    DIGEST_MEMBERS(run, report, iters, qps);
    DIGEST_MEMBERS(run, report, n_without_ts, n_forwards);
    return sutra_dlrm_write(run->context, dlrm, run->folder, "m", NULL, error);
}

static enum sutra_status write_first_rank(void *arg, struct sutra_context *context, const struct sutra_dlrm *dlrm,
                                          const struct sutra_dlrm_rank *rank, struct sutra_error *error) {
    return rank->rank == 0 ? sutra_dlrm_write(context, dlrm, arg, "m", NULL, error) : SUTRA_OK;
}

/* Files of the first rank and of all ranks are in one directory. */
static enum sutra_status analyze_dlrm_ranks(struct run *run, struct sutra_error *error) {
    const struct sutra_dlrm_ranks_options options = {
        .size = sizeof options, .dlrm = &dlrm_options[0], .visit = write_first_rank, .arg = run->folder};
    OWN(dlrm_ranks, ranks);
    TRY(sutra_dlrm_ranks_run(run->context, run->path, run->n_inputs, &options, &ranks, error));
    return sutra_dlrm_ranks_write(run->context, ranks, run->folder, NULL, NULL, error);
}

/* ---- analyze operators, analyze kernels ---- */

#define NUMBERED " 'Sequence number'=7 'Input Dims'=[[2,3],[]] 'Input type'=['float','']"
static const char operators_trace[] =
    "user_annotation ProfilerStep#1 ts=0+100; python_function 'nn.Module: Linear_0' ts=1+90;"
    "{'ph':'M','name':'process_name','pid':1,'tid':0,'args':{'name':'python'}};"
    "cpu_op aten::addmm ts=5+50" NUMBERED "; cudaLaunchKernel ts=10+5 correlation=1;"
    "cudaGraphLaunch ts=70+5 correlation=2;"
    "cpu_op 'autograd::engine::evaluate_function: AddmmBackward0' tid=2 ts=200+50" NUMBERED ";"
    "cudaLaunchKernel tid=2 ts=210+5 correlation=3;"
    "kernel gemm<a> stream=7 ts=20+10 correlation=1; kernel ncclDevKernel stream=8 ts=80+10 correlation=2;"
    "kernel gemm<b> stream=7 ts=220+10 correlation=3;"
    "gpu_memcpy 'Memcpy HtoD' stream=7 ts=240+5 correlation=9 'memory bandwidth (GB/s)'=2.5;"
    "ac2g ac2g ph=s id=4 ts=10; ac2g ac2g ph=f id=4 pid=0 tid=7 ts=20";

/* The capture of the graph: its kernel has the name of the communication kernel above, in an operator with inputs. */
static const char capture_trace[] =
    "user_annotation capture_8_decode ts=1+98; cudaStreamBeginCapture ts=2+2 correlation=1;"
    "python_function 'nn.Module: Captured_0' ts=5+80; cpu_op captured::op ts=10+50" NUMBERED ";"
    "cuda_runtime hipLaunchKernel ts=20+5 kernel=ncclDevKernel 'graph node id'=3;"
    "cudaStreamEndCapture ts=90+2 correlation=2";

enum { OPERATORS_ALL, OPERATORS_KERNELS, OPERATORS_TRACELENS, OPERATORS_RESTRICTED, OPERATORS_CAPTURES, N_OPERATORS };

static enum sutra_status analyze_operators(struct run *run, struct sutra_error *error) {
    const struct sutra_restriction restriction = {.size = sizeof restriction, .step = "1", .category = "GEMM"};
    const char *const captures[] = {run->path[1], run->path[1]};
    const struct sutra_operators_options options = {.size = sizeof options,
                                                    .kernels = run->variant == OPERATORS_KERNELS,
                                                    .captures = captures,
                                                    .n_captures = run->variant == OPERATORS_CAPTURES ? 2 : 0};
    OWN(device_trace, trace);
    OWN(operators, operators);
    TRY(parse_device(run, 0, &trace, error));
    TRY(sutra_device_trace_restrict(run->context, trace, run->variant == OPERATORS_RESTRICTED ? &restriction : NULL,
                                    error));
    const bool is_tracelens = run->variant == OPERATORS_TRACELENS;
    TRY(is_tracelens ? sutra_tracelens_run(run->context, trace, 0, &operators, error)
                     : sutra_operators_run(run->context, trace, &options, &operators, error));
    run->result = digest_tables(run, SUTRA_RESULT(operators));
    return SUTRA_OK;
}

/* ---- analyze ---- */

#define SHAPES "\"Input Dims\":[[4,1024,64],[4,64,1024]],\"Input type\":[\"c10::BFloat16\",\"c10::BFloat16\"]"

/* A data loader, attention_has_flops_and_bytes in several kernels, exposed communication, all-reduces of equal size on
 * two streams, whose waits for a straggler overlap in the second step, and a synchronizing memcpy. */
static void make_steps(struct run *run) {
    struct made_trace made = {.head = H100};
    for (int step = 0; step < 2; step++) {
        step_begin(&made);
        host(&made, "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", 300);
        launch_by(&made, "aten::bmm", SHAPES, 10, "bmm", 200);
        launch_by(&made, "aten::_softmax", "", 10, "softmax", 300);
        call(&made, "cudaLaunchKernel", CALL_US);
        queue(&made, "kernel", "ncclDevKernel_AllReduce", 300);
        for (int stream = 8; stream < 10; stream++) {
            call(&made, "cudaLaunchKernel", CALL_US);
            event(&made,
                  "\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce\",\"pid\":0,\"tid\":%d,\"ts\":%ld,\"dur\":%d,"
                  "\"args\":{\"stream\":%d,\"correlation\":%d,\"Collective name\":\"allreduce\",\"In msg nelems\":1000,"
                  "\"Out msg nelems\":1000,\"dtype\":\"Float\",\"Group size\":8}",
                  stream, made.free_at, step ? 900 : 200, stream, made.n_calls);
        }
        made.free_at += step ? 900 : 200;
        call(&made, "cudaMemcpyAsync", CALL_US);
        queue(&made, "gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 200);
        wait_for_device(&made, "cudaStreamSynchronize");
        host(&made, "python", 200);
        around(&made, "cpu_op", "autograd::engine::evaluate_function: A", made.now - 100, "\"Sequence number\":1");
        around(&made, "python_function", "train.py(3): step", made.step_began, "");
        around(&made, "python_function", "math.py(5): f", made.now - 50, "\"CallFrom\":\"train.py:4\"");
        step_end(&made);
    }
    free(run->text[0]);
    run->text[0] = made_text(&made);
    run->size[0] = strlen(run->text[0]);
}

static enum sutra_status analyze_overview(struct run *run, struct sutra_error *error) {
    struct sutra_context *context = run->context;
    struct launch_model model;
    struct overview overview;
    struct overview_steps steps;
    struct job_findings found;
    OWN(device_trace, trace);
    FREED(arena_free) struct arena arena = {0};
    FREED(arena_free) struct arena scratch = {0};
    FREED(rank_verdict_free) struct rank_verdict verdict = {.n_findings = 0};
    struct rank_collectives ranks[2] = {{.rank = 0}, {.rank = 1}}, *list[] = {&ranks[0], &ranks[1]};
    TRY(parse_device(run, 0, &trace, error));
    TRY(launch_model_build(context, trace, 0, &arena, &scratch, &model, error));
    TRY(overview_make(context, &model, &arena, &scratch, &overview, error));
    enum sutra_status status = rank_collectives_read(context, &overview, 0, &ranks[0], error);
    if (!status)
        status = rank_collectives_read(context, &overview, 1, &ranks[1], error);
    if (!status)
        status = overview_steps_make(&overview, NULL, &arena, &scratch, &steps, error);
    if (!status)
        status =
            find_findings(context, &model, &overview, &steps, &ranks[0].calls, true, &arena, &scratch, &verdict, error);
    if (!status)
        status = find_job_stragglers(list, 2, &scratch, &found, NULL, error);
    run->result = verdict.n_findings;
    assert_true(status || finding_of_rule(verdict.findings, verdict.n_findings, &rule_straggler));
    assert_true(status || verdict.n_codes);
    for (int i = 0; i < 2; i++)
        collective_calls_free(&ranks[i].calls);
    return status;
}

/* ---- Matches of collectives ---- */

/* An arena of one block, of which `rest` bytes (a multiple of 16) are free. */
static struct arena arena_with_rest(size_t rest) {
    enum { BLOCK = 1 << 16, PIECE = 16000 };
    struct arena arena = {0};
    for (size_t left = BLOCK - rest, n; left > 0; left -= n) {
        n = left < PIECE ? left : PIECE;
        assert_non_null(arena_alloc(&arena, n - 1, 1)); /* takes n bytes */
    }
    return arena;
}

/* Ranks with different sequences, whose ends do not agree. As small arrays share a block of the arena, it has less and
 * less room, so that each of them needs a new block once. */
static void collectives_are_matched_or_memory_is_missing(void) {
    static const char *const ranks[] = {"PAXAAYAQ", "RXAYAAZS", "PABXCYAQ"};
    struct collective_calls calls;
    assert_true(collective_calls_init(&calls));
    uint32_t group = collective_group_add(&calls, "0", 1, "[0, 1, 2]", 9, 3, COLLECTIVES_OF_NCCL);
    for (int64_t rank = 0; rank < 3; rank++)
        for (int64_t i = 0; ranks[rank][i]; i++)
            assert_true(collective_call_add(
                &calls, &(struct collective_call){.rank = rank,
                                                  .group = group,
                                                  .what = strings_intern(&calls.strings, "allreduce", 9),
                                                  .seq = CALL_UNKNOWN,
                                                  .peer = CALL_UNKNOWN,
                                                  .n_in = ranks[rank][i],
                                                  .start_ns = i * 1000000 + rank * 70000000,
                                                  .end_ns = (i + 1) * 1000000 + rank * i * i * 90000}));
    long n_failed = 0;
    row_t n_matches = 0;
    for (size_t rest = 8192; rest > 0; rest -= 16) {
        bool failed = true;
        for (long n = 1; failed; n++) {
            struct arena arena = arena_with_rest(rest);
            struct collective_matches matches;
            struct sutra_error error;
            fail_allocation(n, false);
            enum sutra_status status = collective_matches_find(&calls, &arena, &matches, &error);
            failed = atomic_load(&has_failed);
            fail_allocation(0, false);
            n_failed += failed;
            n_matches = n_matches ? n_matches : !status ? matches.n : 0;
            assert_int_equal(status, failed ? SUTRA_SYSTEM : SUTRA_OK);
            assert_true(failed || matches.n == n_matches);
            arena_free(&arena);
        }
    }
    print_message("%ld allocations\n", n_failed);
    collective_calls_free(&calls);
}

/* ---- analyze --shard, --combine ---- */

#define REDUCE(ts, seq)                                                                                                \
    "kernel ncclDevKernel_AllReduce stream=8 ts=" ts "+9 correlation=2 'Collective name'=allreduce dtype=Float"        \
    " 'Process Group Name'='0' 'Process Group Ranks'='[0, 1]' 'Group size'=2 'In msg nelems'=8 'Out msg nelems'=8"     \
    " Seq=" seq ";"
#define SHARD_EVENTS(ts)                                                                                               \
    "user_annotation ProfilerStep#1 ts=0+100; user_annotation ProfilerStep#2 ts=200+100; cpu_op aten::mm ts=4+20;"     \
    "cudaLaunchKernel ts=5+2 correlation=1; cudaLaunchKernel ts=8+2 correlation=2;"                                    \
    "kernel k stream=7 ts=10+9 correlation=1;"                                                                         \
    "gpu_memcpy 'Memcpy HtoD' stream=7 ts=40+5 correlation=3 'memory bandwidth (GB/s)'=2.5;" REDUCE(ts, "0")           \
        REDUCE("220", "1")

/* A process of a trace with several ranks, and all of its events. */
#define PROCESS(prefix)                                                                                                \
    "cudaLaunchKernel pid='" prefix " 1' ts=1+5 correlation=1;"                                                        \
    "kernel b pid='" prefix " 0' stream=7 ts=7+2 device=0 correlation=1;"

#define SHARD_INPUTS                                                                                                   \
    {"rank0.json", SHARD_EVENTS("20")}, {"rank1.json", SHARD_EVENTS("30")}, {                                          \
        "ranks.json", PROCESS("[TP1]") PROCESS("[TP2]")                                                                \
    }

/* Each function analyzes the inputs and counts the ranks and the tables. */
typedef enum sutra_status analyze_ranks(struct run *run, struct sutra_error *error);

/* Counts the ranks that were not skipped. */
#define COUNT_RANKS(run, get, ranks)                                                                                   \
    for (size_t i = 0; get(ranks, i); i++)                                                                             \
    (run)->result += !get(ranks, i)->reason

static enum sutra_status hta_ranks(struct run *run, struct sutra_error *error) {
    OWN(hta_ranks, ranks);
    TRY(sutra_hta_ranks_run(run->context, run->path, 2, NULL, &ranks, error));
    COUNT_RANKS(run, sutra_hta_ranks_get, ranks);
    run->result += digest_tables(run, SUTRA_RESULT(ranks));
    return SUTRA_OK;
}

static enum sutra_status dlrm_ranks(struct run *run, struct sutra_error *error) {
    uint64_t n_overheads = 0;
    OWN(dlrm_ranks, ranks);
    TRY(sutra_dlrm_ranks_run(run->context, run->path, 2, NULL, &ranks, error));
    COUNT_RANKS(run, sutra_dlrm_ranks_get, ranks);
    sutra_dlrm_ranks_overheads(ranks, &n_overheads);
    run->result += (long)n_overheads;
    return SUTRA_OK;
}

enum { SHARD_COLLECTIVES, SHARD_PROCESSES };

/* The second trace has one rank, or several processes with a rank each. */
static enum sutra_status operators_ranks(struct run *run, struct sutra_error *error) {
    const char *const paths[] = {run->path[0], run->path[run->variant == SHARD_PROCESSES ? 2 : 1]};
    OWN(operators_ranks, ranks);
    TRY(sutra_operators_ranks_run(run->context, paths, 2, NULL, &ranks, error));
    COUNT_RANKS(run, sutra_operators_ranks_get, ranks);
    run->result += digest_tables(run, SUTRA_RESULT(ranks));
    return SUTRA_OK;
}

static enum sutra_status collectives_ranks(struct run *run, struct sutra_error *error) {
    OWN(collectives, collectives);
    TRY(sutra_collectives_run(run->context, run->path, 2, NULL, &collectives, error));
    COUNT_RANKS(run, sutra_collectives_at, collectives);
    run->result += digest_tables(run, SUTRA_RESULT(collectives));
    return SUTRA_OK;
}

static enum sutra_status overview_ranks(struct run *run, struct sutra_error *error) {
    const struct sutra_overview_options options = {
        .size = sizeof options, .tables = true, .companion = sutra_hta_companion()};
    OWN(overview, overview);
    TRY(sutra_overview_run(run->context, run->path, 2, &options, &overview, error));
    digest_tables(run, SUTRA_RESULT(overview));
    for (uint32_t id = 0; id < SUTRA_OVERVIEW_N_TABLES; id++)
        run->result += (long)sutra_table_rows(sutra_result_table(SUTRA_RESULT(overview), id, NULL));
    return SUTRA_OK;
}

static analyze_ranks *const analyses[] = {[SHARD_COLLECTIVES] = collectives_ranks,
                                          [SHARD_PROCESSES] = operators_ranks,
                                          hta_ranks,
                                          dlrm_ranks,
                                          operators_ranks,
                                          overview_ranks};

/* Analyzes the inputs in shards, writes partial results, and combines them. */
static enum sutra_status shard(struct run *run, struct sutra_error *error) {
    static struct shard_plan plan;
    plan = (struct shard_plan){.folder = run->folder, .n_shards = 1, .combines = true};
    run->context->plan = &plan;
    return analyses[run->variant](run, error);
}

/* Writes the partial results of a variant next to its inputs. */
static void make_partial_results(struct run *run) {
    struct shard_plan plan = {.folder = run->input_folder, .n_shards = 1, .combines = true};
    struct run sharded = *run;
    struct sutra_error error;
    sharded.context = NEW_CONTEXT(.n_threads = 1);
    sharded.context->plan = &plan;
    assert_int_equal(analyses[run->variant](&sharded, &error), SUTRA_OK);
    sutra_context_free(sharded.context);
}

/* Combines partial results without reading traces. */
static enum sutra_status combine(struct run *run, struct sutra_error *error) {
    static struct shard_plan plan;
    plan = (struct shard_plan){.folder = run->input_folder, .combines = true};
    run->context->plan = &plan;
    return analyses[run->variant](run, error);
}

/* ---- diff ---- */

/* An operator with arguments, a kernel without a launch, and operators that the other trace wraps and replaces. */
static const char diff_before[] =
    "user_annotation ProfilerStep#1 ts=0+100; cpu_op aten::mm ts=1+50 'Input Dims'=[[2,3]] 'Input type'=['float'];"
    "cudaLaunchKernel ts=10+5 correlation=1; kernel gemm<a> stream=7 ts=20+10 correlation=1;"
    "cpu_op gone ts=60+20; cudaLaunchKernel ts=65+5 correlation=2;"
    "kernel rand stream=7 ts=70+10 correlation=2; kernel lost stream=7 ts=80+5 correlation=9";
static const char diff_after[] =
    "user_annotation ProfilerStep#1 ts=0+100; cpu_op wrap ts=1+55; user_annotation ProfilerStep#2 ts=200+50;"
    "cpu_op aten::mm ts=2+50 'Input Dims'=[[2,4]] 'Input type'=['float'];"
    "cudaLaunchKernel ts=10+5 correlation=1; kernel gemm<b> stream=7 ts=20+10 correlation=1";

static const struct sutra_rename rename_gemm = {"gemm<a>", "gemm"};
static const struct sutra_diff_options diff_options = {
    .size = sizeof diff_options, .renames = &rename_gemm, .n_renames = 1};

/* Variant 1 compares as HTA does. */
static enum sutra_status diff_traces(struct run *run, struct sutra_error *error) {
    OWN(device_trace, before);
    OWN(device_trace, after);
    OWN(diff, diff);
    OWN(hta_compare, hta);
    TRY(parse_device(run, 0, &before, error));
    TRY(parse_device(run, 1, &after, error));
    TRY(run->variant ? sutra_hta_compare_run_of(run->context, before, after, NULL, &hta, error)
                     : sutra_diff_run_of(run->context, before, after, &diff_options, &diff, error));
    const struct sutra_result *result = run->variant ? SUTRA_RESULT(hta) : SUTRA_RESULT(diff);
    run->result = digest_tables(run, result);
    return SUTRA_OK;
}

/* Both sides in parallel, if there are two threads. */
static enum sutra_status diff_files(struct run *run, struct sutra_error *error) {
    const char *const *paths = run->path;
    OWN(diff, diff);
    OWN(hta_compare, hta);
    TRY(run->variant ? sutra_hta_compare_run(run->context, paths, 1, paths + 1, 1, NULL, &hta, error)
                     : sutra_diff_run(run->context, paths, 1, paths + 1, 1, &diff_options, &diff, error));
    const struct sutra_result *result = run->variant ? SUTRA_RESULT(hta) : SUTRA_RESULT(diff);
    run->result = digest_tables(run, result);
    return SUTRA_OK;
}

/* ---- analyze memory ---- */

/* A file name of ?" "? is no trigraph. */
#define FRAMES                                                                                                         \
    "'frames':[{'name':'at::_ops::mm::call(x)','filename':'?"                                                          \
    "?','line':3},"                                                                                                    \
    "{'name':'f','filename':'/h/train.py','line':3}]"
#define MEMORY_EVENT(action, address, size, us)                                                                        \
    "{'action':'" action "','addr':" address ",'size':" size ",'time_us':" us "," FRAMES "}"
#define GROWS(n) MEMORY_EVENT("alloc", n "000", "2000000", n "0")
#define STEP(n, start, end)                                                                                            \
    "{'name':'ProfilerStep#" n "','stage':'START','time_us':" start "},"                                               \
    "{'name':'ProfilerStep#" n "','stage':'END','time_us':" end "}"
/* clang-format off */
static const char memory_snapshot[] =
    "{'segments':[{'address':4096,'total_size':300000000,'segment_type':'large','segment_pool_id':[0,0],'blocks':["
    "{'size':512,'state':'active_allocated','requested_size':500," FRAMES "},{'size':99,'state':'inactive'}]}],"
    "'device_traces':[["
    MEMORY_EVENT("segment_alloc", "1", "4096", "9") ","
    GROWS("1") "," GROWS("2") "," GROWS("3") "," GROWS("4") "," GROWS("5") ","
    MEMORY_EVENT("free_completed", "1000", "2000000", "60") ","
    MEMORY_EVENT("segment_free", "1", "4096", "61") ","
    MEMORY_EVENT("oom", "7", "9999999", "62") "]],"
    "'external_annotations':[" STEP("1", "9", "11") "," STEP("2", "19", "21") "," STEP("3", "29", "31") ","
    STEP("4", "39", "41") "," STEP("5", "49", "51") "],'allocator_settings':{'a':'b','c':1}}";
/* clang-format on */

#define ALLOCATION(ts, bytes, address)                                                                                 \
    "{'ph':'i','name':'[memory]','pid':1,'tid':1,'ts':" ts ",'args':{'Bytes':" bytes ",'Addr':" address                \
    ",'Device Type':1,'Device Id':0,'Total Reserved':128}};"
static const char memory_trace[] = "cpu_op aten::mm ts=1+9; python_function '/h/t.py(3): f' ts=1+9;"
                                   "user_annotation Optimizer.step#SGD.step ts=20+9;" ALLOCATION("2", "64", "7")
                                       ALLOCATION("4", "-64", "7") ALLOCATION("22", "128", "8");

/* {"segments": [], "device_traces": [[{"action": "alloc", "size": 5}, {"action": "alloc", "size": 7}]], "z": "---..."}:
 * events are read without objects. */
static const char memory_pickle[] =
    "\x80\x04}\x94(\x8c\x08segments\x94]\x94\x8c\x0d"
    "device_traces\x94]\x94]\x94(}\x94(\x8c\6action\x94\x8c\5alloc\x94\x8c\4size\x94K\5u}\x94(h\7h\x08h\x09K\7uea\x8c"
    "\1z\x94\x8c\x28----------------------------------------u.";

static enum sutra_status analyze_memory(struct run *run, struct sutra_error *error) {
    const char *const texts[] = {run->text[0], run->text[1], memory_pickle};
    const size_t sizes[] = {run->size[0], run->size[1], sizeof memory_pickle - 1};
    const struct sutra_memory_options options = {.size = sizeof options, .tables = true};
    for (int i = 0; i < 3; i++) {
        OWN(memory, memory);
        TRY(sutra_memory_parse(run->context, "input", texts[i], sizes[i], &options, &memory, error));
        TRY(sutra_memory_write_json(run->context, memory, output(run, "%d.json", i), NULL, error));
        TRY(sutra_table_write(run->context, sutra_result_table(SUTRA_RESULT(memory), SUTRA_MEMORY_PEAK, NULL),
                              SUTRA_TABLE_CSV, output(run, "%d.csv", i), NULL, error));
    }
    return SUTRA_OK;
}

/* ---- analyze hang ---- */

/* Three ranks: the sizes of tp differ, and rank 2 waits for rank 0 in a send; entries are coalesced. */
#define DUMP(...)                                                                                                      \
    "{'version':'2.10','pg_config':{'0':{'name':'0','desc':'tp','ranks':'[0, 1, 2]'}},'entries':[" __VA_ARGS__ "]}"
#define ENTRY(id, seq, name, size, more)                                                                               \
    "{'record_id':" id ",'process_group':['0','tp'],'collective_seq_id':" seq ",'p2p_seq_id':1,'profiling_name':"      \
    "'nccl:" name "','input_sizes':[[" size "]],'output_sizes':[[" size "]],'input_dtypes':['Float'],"                 \
    "'frames':[{'name':'f','filename':'/h/train.py','line':" id "}],'time_created_ns':" id more "}"
#define DONE    ",'state':'completed'"
#define PENDING ",'state':'scheduled'"
static const char hang_0[] =
    DUMP(ENTRY("0", "1", "all_reduce", "8", DONE) "," ENTRY("1", "2", "all_reduce", "8", PENDING));
static const char hang_1[] =
    DUMP(ENTRY("0", "1", "all_reduce", "8", DONE) "," ENTRY("1", "2", "all_reduce", "8", PENDING));
static const char hang_2[] =
    DUMP(ENTRY("0", "1", "all_reduce", "8", DONE) "," ENTRY("1", "2", "all_reduce", "9", PENDING) "," ENTRY(
        "2", "3", "broadcast", "4", PENDING) "," ENTRY("3", "3", "broadcast", "5",
                                                       PENDING) "," ENTRY("4", "1", "send 2->0", "4",
                                                                          PENDING ",'is_p2p':true"));

static enum sutra_status analyze_hang(struct run *run, struct sutra_error *error) {
    static const char *const names[] = {"rank_0.json", "rank_1.json", "rank_2.json"};
    struct sutra_hang_dump dumps[3];
    const struct sutra_hang_options options = {.size = sizeof options, .operations = 1};
    for (int i = 0; i < 3; i++)
        dumps[i] = (struct sutra_hang_dump){names[i], run->text[i], run->size[i]};
    OWN(hang, hang);
    TRY(sutra_hang_parse(run->context, dumps, 3, &options, &hang, error));
    TRY(sutra_hang_write_json(run->context, hang, output(run, "0.json"), NULL, error));
    TRY(sutra_table_write(run->context, sutra_result_table(SUTRA_RESULT(hang), SUTRA_HANG_OPERATIONS, NULL),
                          SUTRA_TABLE_CSV, output(run, "0.csv"), NULL, error));
    return sutra_report_write_hang(run->context, hang, run->folder, NULL, error);
}

/* ---- analyze nsys ---- */

#define CORPUS "tests/fuzz/corpus/nsys/"

#ifdef SUTRA_SQLITE
OWNED_TYPE(nsys)

static enum sutra_status analyze_nsys(struct run *run, struct sutra_error *error) {
    for (size_t i = 0; i < run->n_inputs; i++) {
        OWN(nsys, nsys);
        TRY(sutra_nsys_parse(run->context, "report", run->text[i], run->size[i], NULL, &nsys, error));
        TRY(sutra_table_write(run->context, sutra_result_table(SUTRA_RESULT(nsys), SUTRA_NSYS_NVTX_PROJECTION, NULL),
                              SUTRA_TABLE_CSV, output(run, "%zu.csv", i), NULL, error));
        TRY(sutra_nsys_write_trace(run->context, nsys, 0, output(run, "%zu.json", i), NULL, error));
    }
    return SUTRA_OK;
}

/* Reads both ranks of a report, which is read once. */
static enum sutra_status read_shared_report(struct run *run, struct sutra_error *error) {
    static const char *const paths[2] = {CORPUS "full.sqlite/rank0", CORPUS "full.sqlite/rank1"};
    struct nsys_shared *shared = nsys_shared_new(2);
    enum sutra_status status = shared ? SUTRA_OK : error_memory(error);
    for (int i = 0; i < 2 && !status; i++) {
        OWN(device_trace, trace);
        run->context->report = shared;
        status = sutra_device_trace_read(run->context, paths[i], &trace, error);
        run->result = status ? 0 : (long)trace->events.n;
    }
    nsys_shared_free(shared);
    return status;
}
#else
#define analyze_nsys       NULL
#define read_shared_report NULL
#endif

/* ---- Pages ---- */

static const char report_trace[] =
    "user_annotation '## Forward ##' ts=0+90; python_function 'train.py(3): f' ts=0+250; cpu_op aten::a ts=1+60 'External id'=9;"
    "cudaLaunchKernel ts=5+2 correlation=1; cudaLaunchKernel ts=8+2 correlation=2;"
    "cudaMemcpyAsync ts=9+1 correlation=3; kernel k<b> stream=7 ts=10+20 correlation=1;"
    "kernel l stream=8 ts=12+30 correlation=2; kernel ncclKernel stream=9 ts=20+30 correlation=2;"
    "gpu_memcpy 'Memcpy HtoD' stream=7 ts=40+5 correlation=3 'memory bandwidth (GB/s)'=2.5;"
    "cpu_op aten::b ts=200+1 'External id'=8";

static enum sutra_status report_dlrm(struct run *run, struct sutra_error *error) {
    OWN(device_trace, trace);
    OWN(dlrm, dlrm);
    TRY(parse_device(run, 0, &trace, error));
    TRY(sutra_dlrm_analyze(run->context, trace, NULL, &dlrm, error));
    return sutra_report_write_dlrm(run->context, dlrm, "trace", run->folder, NULL, error);
}

static enum sutra_status report_hta(struct run *run, struct sutra_error *error) {
    OWN(hta_ranks, ranks);
    TRY(sutra_hta_ranks_run(run->context, run->path, run->n_inputs, NULL, &ranks, error));
    return sutra_report_write_hta(run->context, ranks, run->folder, NULL, error);
}

static enum sutra_status report_overview(struct run *run, struct sutra_error *error) {
    const struct sutra_overview_options options = {
        .size = sizeof options, .tables = true, .companion = sutra_hta_companion()};
    OWN(overview, overview);
    TRY(sutra_overview_run(run->context, run->path, 1, &options, &overview, error));
    return sutra_report_write_overview(run->context, overview, run->folder, NULL, error);
}

/* A shift at window 5 of 10, whose cause is the difference of two traces. */
static enum sutra_status make_trend(struct run *run, struct trend *trend, struct sutra_error *error) {
    OWN(diff, diff);
    trend->role = "main";
    trend->n_windows = 10;
    trend->windows = arena_zeros(&trend->arena, trend->n_windows, sizeof *trend->windows);
    TRY_ALLOC(trend->windows, error);
    for (size_t i = 0; i < trend->n_windows; i++)
        trend->windows[i] = (struct trend_window){.label = "step_1",
                                                  .name = "step_1",
                                                  .missing = "",
                                                  .n_steps = 3,
                                                  .step_us = i < 5 ? 100 : 120,
                                                  .shares = {60}};
    trend->windows[5].findings = (struct trend_findings){.list = {{"sync", "Synchronization", 7}}, .n = 1};
    TRY(trend_find_changes(trend, error));
    TRY(sutra_diff_run(run->context, run->path, 1, run->path + 1, 1, NULL, &diff, error));
    for (size_t i = 0; i < trend->n_changes; i++)
        TRY(trend_set_cause(trend, &trend->changes[i], diff, error));
    TRY(trend_write_sentences(trend, error));
    run->result = (long)(trend->n_changes + strlen(trend->sentences[0]));
    struct sutra_table windows;
    trend_table(trend, &windows);
    enum sutra_status status = windows.failed ? error_memory(error) : SUTRA_OK;
    if (!status)
        status = trend_page_write(run->context, trend, &windows, "run", run->folder, NULL, error);
    table_free(&windows);
    return status;
}

static enum sutra_status report_trend(struct run *run, struct sutra_error *error) {
    struct trend trend = {.n_windows = 0};
    const enum sutra_status status = make_trend(run, &trend, error);
    arena_free(&trend.arena);
    return status;
}

/* clang-format off */
static const struct operation operations[] = {
    {"hta", analyze_hta, {{"0.json", HTA_EVENTS("2")}, {"1.json", HTA_EVENTS("1")}, {"2.json", ""}}, .n_variants = 2,
     .min_allocations = 400, .min_result = SUTRA_HTA_N_TABLES - 12, .may_differ = "rank table"},
    {"hta_trace", analyze_hta_trace, {{"trace", HTA_EVENTS("2")}}, .max_threads = 2, .min_allocations = 100,
     .min_result = 15},
    {"dlrm", analyze_dlrm,
     {{"0", DLRM_EVENTS DLRM_END}, {"1", DLRM_EVENTS DLRM_LABEL}, {"2", DLRM_EVENTS DLRM_FREE DLRM_END}},
     .n_variants = 3, .min_allocations = 200, .min_files = 14},
    {"dlrm_ranks", analyze_dlrm_ranks,
     {{"rank0.json", DLRM_EVENTS DLRM_END}, {"rank1.json", DLRM_EVENTS DLRM_LABEL}}, .min_allocations = 400,
     .min_files = 17},
    {"operators", analyze_operators, {{"trace", operators_trace}, {"capture.json", capture_trace}},
     .n_variants = N_OPERATORS, .min_allocations = 50, .min_result = 3},
    {"overview", analyze_overview, {{"trace", ""}}, .set_up = make_steps, .min_allocations = 50, .min_result = 5},
    {"collectives", .test = collectives_are_matched_or_memory_is_missing},
    {"shard", shard, {SHARD_INPUTS}, .n_variants = 2, .min_allocations = 100, .min_result = 3, .min_files = 2,
     .may_differ = "0 1 3 5"},
    {"combine", combine, {SHARD_INPUTS}, .set_up = make_partial_results,
     .n_variants = sizeof analyses / sizeof *analyses, .min_allocations = 20, .min_result = 3},
    {"diff", diff_traces, {{"before", diff_before}, {"after", diff_after}}, .n_variants = 2, .min_allocations = 50,
     .min_result = 5},
    {"diff_files", diff_files, {{"before.json", diff_before}, {"after.json", diff_after}}, .n_variants = 2,
     .max_threads = 2,
     .min_allocations = 50, .min_result = 5},
    {"memory", analyze_memory, {{"snapshot", memory_snapshot}, {"trace", memory_trace}}, .min_allocations = 50,
     .min_files = 6,
     .expected = {{"0.json", "\"growing\": [{\"frame\": \"train.py:3:f\""}, {"0.json", "\"rule\": \"oom\""},
                  {"1.json", "optimizer_state"}, {"2.json", "\"n_events\": 2"}}},
    {"hang", analyze_hang, {{"0", hang_0}, {"1", hang_1}, {"2", hang_2}}, .max_threads = 2, .min_allocations = 50,
     .min_files = 3,
     .expected = {{"0.json", "\"cause\": \"size_mismatch\""}, {"0.json", "f (train.py:1)"}, {"0.csv", "broadcast"},
                  {"hang.html", "size"}}},
    {"nsys", analyze_nsys,
     {{"nsys", CORPUS "full.sqlite"}, {"rocpd", CORPUS "rocpd.sqlite"}, {"rpd", CORPUS "rpd_3.sqlite"}},
     .min_allocations = 50, .min_files = 6,
     .expected = {{"0.csv", "iteration_4"}, {"0.json", "aten::mm"}, {"1.json", "hipLaunchKernel"},
                  {"2.json", "aten::relu"}}},
    {"nsys_shared", read_shared_report, .min_allocations = 50, .min_result = 11},
    {"report_dlrm", report_dlrm, {{"trace", report_trace}}, .min_allocations = 200, .min_files = 4},
    {"report_hta", report_hta, {{"0.json", report_trace}, {"1.json", ""}}, .min_allocations = 200, .min_files = 4},
    {"report_overview", report_overview, {{"0.json", report_trace}}, .min_allocations = 200, .min_files = 4},
    {"report_trend", report_trend, {{"0.json", HTA_EVENTS("2")}, {"1.json", HTA_EVENTS("1")}}, .min_allocations = 100,
     .min_result = 60, .min_files = 3},
};
/* clang-format on */

int main(int argc, char **argv) {
    return test_operations(operations, sizeof operations / sizeof *operations, argc, argv);
}
