/*
 * rules_communication.c - findings about collectives: exposed communication, underused links, and signs of a straggler
 * in the trace of one rank.
 *
 * Each section is a rule: the condition under which it fires, and its saving.
 */
#include <string.h>

#include "analyze/collective_calls.h"
#include "analyze/launches/arguments.h"
#include "analyze/overview/findings.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "columns/rows.h"
#include "facts/collectives.h"
#include "facts/gpu_peaks.h"
#include "facts/names.h"
#include "match/steps.h"
#include "text/names.h"
#include "text/strings.h"

/* ---- exposed_comm: >= EXPOSED_PERCENT. Saving: this time; of several ranks without waiting for other ranks
 * (job_verdict.c). ---- */

#define OVERLAP_PERCENT      10  /* less is reported as almost none */
#define COLLECTIVES_PER_STEP 100 /* and half of them short: about one per parameter */
#define RANKS_OF_MACHINE     8
#define SMALL_MESSAGE_BYTES  8388608 /* custom all-reduces of engines are faster below */
#define HEALTHY_LINK_PERCENT 60      /* of the peak of a link: the network is fine */
#define MAX_ANCESTOR_DEPTH   16      /* ancestors of a call that are inspected */

/* The kind of a collective, by its kernel. */
static uint32_t collective_fact(uint8_t kind, const char *name, size_t length) {
    switch (kernel_collective_find(kind, "", name, length)) {
    case COLL_SENDRECV:
    case COLL_ALLTOALL:
        return FACT_ALL_TO_ALL;
    case COLL_ALLREDUCE:
        return FACT_ALL_REDUCE;
    case COLL_ALLGATHER:
    case COLL_REDUCESCATTER:
        return FACT_SHARDED;
    default:
        return 0;
    }
}

/* The library with most exposed time; the first one of equal times. */
static enum kernel_library main_library(const struct diagnosis *d, const int64_t *ticks) {
    const struct device_rows *devices = &d->model->devices;
    int64_t sums[N_KERNEL_LIBRARIES] = {0};
    int most = 0;
    for (row_t i = 0; i < devices->n; i++)
        ticks_add(&sums[kernel_kinds[devices->kind[i]].library], ticks[i]);
    for (int library = 1; library < N_KERNEL_LIBRARIES; library++)
        most = sums[library] > sums[most] ? library : most;
    return (enum kernel_library)most;
}

/* The kind with most exposed time; the same order of kinds at equal times. */
static uint32_t main_collective_fact(const int64_t *ticks, const struct diagnosis *d) {
    static const uint32_t facts[] = {0, FACT_ALL_TO_ALL, FACT_ALL_REDUCE, FACT_SHARDED};
    const struct device_rows *devices = &d->model->devices;
    int64_t sums[4] = {0};
    size_t most = 0;
    for (row_t i = 0; i < devices->n; i++) {
        const uint32_t name = d->model->events->name[devices->event[i]];
        if (ticks[i] == 0)
            continue;
        uint32_t fact = collective_fact(devices->kind[i], strings_text(d->model->strings, name),
                                        strings_length(d->model->strings, name));
        for (size_t k = 0; k < 4; k++)
            if (facts[k] == fact)
                ticks_add(&sums[k], ticks[i]);
    }
    for (size_t k = 1; k < 4; k++)
        most = sums[k] > sums[most] ? k : most;
    return facts[most];
}

/* Whether most of the exposed communication is launched outside of the backward pass, in groups of one host. */
static bool is_in_forward(const struct diagnosis *d, const int64_t *ticks) {
    const struct device_rows *devices = &d->model->devices;
    const struct host_rows *hosts = &d->model->hosts;
    int64_t forward = 0, all = 0;
    for (uint32_t group = 0; group < d->calls->n_groups; group++)
        if (d->calls->groups[group].size > RANKS_OF_MACHINE)
            return false;
    for (row_t i = 0; i < devices->n; i++) {
        if (ticks[i] == 0)
            continue;
        bool backward = false;
        row_t row = devices->call[i];
        for (int depth = 0; depth < MAX_ANCESTOR_DEPTH && row != ROW_NONE && !backward; depth++) {
            uint32_t name = host_name(d->model, row);
            backward = text_compare(d->model->strings, name, TEXT_HAS, "Backward") ||
                       text_compare(d->model->strings, name, TEXT_HAS, "autograd::engine");
            row = hosts->parent[row];
        }
        ticks_add(&all, ticks[i]);
        ticks_add(&forward, backward || devices->call[i] == ROW_NONE ? 0 : ticks[i]);
    }
    return d->calls->n_groups && (double)forward * 2 > (double)all;
}

/* The operator that called the longest collective of the name with most exposed time: of c10d if there is one, else the
 * launcher; STRING_NONE: no operator launched it. `sums`, by string, are zeros. */
static uint32_t main_caller(const struct diagnosis *d, const int64_t *ticks, int64_t *sums) {
    const struct device_rows *devices = &d->model->devices;
    const struct host_rows *hosts = &d->model->hosts;
    const uint32_t *name_of_event = d->model->events->name;
    uint32_t main_name = STRING_NONE;
    row_t most = ROW_NONE;
    for (row_t i = 0; i < devices->n; i++)
        ticks_add(&sums[name_of_event[devices->event[i]]], ticks[i]);
    for (uint32_t name = 0; name < d->model->strings->n; name++)
        if (sums[name] > 0 && (main_name == STRING_NONE || sums[name] > sums[main_name]))
            main_name = name;
    for (row_t i = 0; i < devices->n; i++)
        if (ticks[i] > 0 && devices->launcher[i] != ROW_NONE && name_of_event[devices->event[i]] == main_name &&
            (most == ROW_NONE || ticks[i] > ticks[most]))
            most = i;
    row_t row = most == ROW_NONE ? ROW_NONE : devices->launcher[most];
    const uint32_t launcher = row == ROW_NONE || hosts->kind[row] == HOST_CALL ? STRING_NONE : host_name(d->model, row);
    for (int depth = 0; depth < MAX_ANCESTOR_DEPTH && row != ROW_NONE; depth++, row = hosts->parent[row])
        if (text_compare(d->model->strings, host_name(d->model, row), TEXT_HAS, "c10d"))
            return host_name(d->model, row);
    return launcher;
}

/* Appends the recorded priorities of the streams of most communication and of most computation, if communication has no
 * higher one: CUDA's lower numbers are higher priorities. */
static enum sutra_status add_priorities(struct diagnosis *d, const int64_t *ticks, struct overview_finding *finding,
                                        struct sutra_error *error) {
    static const struct requested_field field = {"priority", ASK_NUMBER, false};
    const struct device_rows *devices = &d->model->devices;
    row_t events[2] = {ROW_NONE, ROW_NONE}; /* communication, computation */
    int64_t longest[2] = {0, 0};
    struct requested_column column;
    for (row_t i = 0; i < devices->n; i++) {
        bool computes = d->overview->classes[i] == OVERVIEW_COMPUTE;
        int64_t length = computes ? devices->stop[i] - devices->start[i] : ticks[i];
        if (length <= longest[computes])
            continue;
        longest[computes] = length;
        events[computes] = devices->event[i];
    }
    if (events[0] == ROW_NONE || events[1] == ROW_NONE)
        return SUTRA_OK;
    TRY(event_columns_request(d->context, d->model->trace, &field, 1, events, 2, &column, error));
    double communication = number_as_double(number_at(column.number, events[0])),
           compute = number_as_double(number_at(column.number, events[1]));
    if (communication >= compute)
        append_finding_text(finding,
                            " Its stream has priority %.0f, no higher than that of computation (%.0f): a stream of "
                            "higher priority starts collectives earlier.",
                            communication, compute);
    return SUTRA_OK;
}

/* The bytes of a collective, as its bandwidth is defined; 0: unknown. */
static double message_bytes(const struct collective_calls *calls, const struct collective_call *call) {
    const int64_t n = collective_elements(collective_kind_of(strings_text(&calls->strings, call->what)), call->n_in,
                                          call->n_out, calls->groups[call->group].size);
    return n <= 0 ? 0 : (double)n * collective_type_bytes(strings_text(&calls->strings, call->type));
}

/* Whether any exposed collective is large or of unknown size. `ticks`: its exposed time, by row of devices. */
static bool has_large_messages(const struct diagnosis *d, const int64_t *ticks) {
    const struct device_rows *devices = &d->model->devices;
    row_t n_small = 0;
    for (uint64_t i = 0; i < d->calls->n; i++) {
        const struct collective_call *call = &d->calls->list[i];
        const row_t device = rows_find(devices->event, devices->n, call->event);
        const double bytes = message_bytes(d->calls, call);
        if (device == ROW_NONE || ticks[device] == 0)
            continue;
        if (!(bytes > 0) || bytes >= SMALL_MESSAGE_BYTES)
            return true;
        n_small++;
    }
    return n_small == 0;
}

/* "9.7 of 450 GB/s", "0.023 of 450 GB/s". */
static struct figure rate_text(double bandwidth, double link) {
    struct figure figure;
    snprintf(figure.text, sizeof figure.text, bandwidth < 1e9 ? "%.2g of %.0f GB/s" : "%.1f of %.0f GB/s",
             bandwidth / 1e9, link / 1e9);
    return figure;
}

/* Appends the bus bandwidth of the fastest of the largest collectives, if the peak of the links is known. */
static void add_bandwidth(const struct diagnosis *d, struct overview_finding *finding) {
    const struct collective_calls *calls = d->calls;
    const double link = device_link_of(&d->model->trace->document);
    double largest = 0, bandwidth = 0;
    for (uint64_t i = 0; i < calls->n && link > 0; i++) {
        const double of_call = large_collective_bandwidth(calls, &calls->list[i]),
                     bytes = of_call > 0 ? message_bytes(calls, &calls->list[i]) : 0;
        if (bytes > largest) {
            largest = bytes;
            bandwidth = 0;
        }
        bandwidth = bytes == largest ? fmax(bandwidth, of_call) : bandwidth;
    }
    if (!(bandwidth > 0))
        return;
    append_finding_text(finding, " The largest collectives (%s) reach %s (%.0f%%)%s.",
                        bytes_text((uint64_t)largest).text, rate_text(bandwidth, link).text, bandwidth / link * 100,
                        bandwidth * 100 >= link * HEALTHY_LINK_PERCENT ? ": the network is fine" : "");
    add_finding_number(finding, "bus_gb_per_s", bandwidth / 1e9);
    add_finding_number(finding, "link_gb_per_s", link / 1e9);
}

static enum sutra_status find_exposed_comm(struct diagnosis *d, struct sutra_error *error) {
    struct measures *measures = &d->measures;
    const struct device_rows *devices = &d->model->devices;
    double exposed = (double)d->overview->ticks[OVERVIEW_COMMUNICATION];
    struct spans spans;
    if (percent_of_window(d, exposed) < EXPOSED_PERCENT)
        return SUTRA_OK;
    TRY(kind_clock_make(d->overview, KIND(OVERVIEW_COMMUNICATION), d->arena, &measures->exposed, error));
    TRY(spans_of_kinds(d->overview, KIND(OVERVIEW_COMMUNICATION), d->kept, &spans, error));

    /* The exposed time of each collective, and the caller of the main one. */
    struct arena_mark mark = arena_mark(d->arena);
    int64_t *ticks = arena_alloc(d->arena, devices->n, sizeof *ticks);
    int64_t *sums = arena_zeros(d->arena, d->model->strings->n, sizeof *sums);
    struct finding_where where = {.n_units = 0};
    TRY(arena_status(d->arena, error));
    for (row_t i = 0; i < devices->n; i++)
        ticks[i] = d->overview->classes[i] == OVERVIEW_COMMUNICATION
                       ? kind_clock_between(&measures->exposed, devices->start[i], devices->stop[i])
                       : 0;
    TRY(find_device_places(d, ticks, true, &where, error));
    const enum kernel_library library = main_library(d, ticks);
    const uint32_t caller = main_caller(d, ticks, sums);
    const uint32_t fact = main_collective_fact(ticks, d);
    const bool in_forward = fact == FACT_ALL_REDUCE && is_in_forward(d, ticks), is_large = has_large_messages(d, ticks);
    double total = (double)d->overview->communication, per_step = measures->n_collectives / measures->n_steps;
    double overlap_percent = total > 0 ? (total - exposed) / total * 100 : 0;
    bool is_many = d->overview->window.n_steps && per_step >= COLLECTIVES_PER_STEP &&
                   2 * (uint64_t)measures->n_short_collectives >= measures->n_collectives;
    struct overview_finding *finding = add_finding(d, &rule_exposed_comm, &spans, "Communication (%s) takes %s, ",
                                                   kernel_library_names[library], finding_per_step(d, total).text);
    if (overlap_percent < OVERLAP_PERCENT)
        append_finding_text(finding, "and almost none overlaps with compute.");
    else
        append_finding_text(finding, "and %.0f%% of it overlaps with compute.", overlap_percent);
    if (is_many)
        append_finding_text(finding, " Half of the %.0f collectives of a step take < 50 us: one for each parameter.",
                            per_step);
    TRY(add_priorities(d, ticks, finding, error));
    arena_release(d->arena, mark);
    finding->where = where;
    finding->facts |= library == LIBRARY_DEEPEP                                ? FACT_DEEPEP
                      : library == LIBRARY_CUSTOM || library == LIBRARY_TRTLLM ? FACT_INNER_REDUCE
                                                                               : 0;
    copy_finding_name(d, caller, finding->where.frame, sizeof finding->where.frame);
    finding->facts |= fact | (is_many ? (uint32_t)FACT_MANY_SHORT : 0) | (in_forward ? (uint32_t)FACT_FORWARD : 0) |
                      (is_large ? FACT_LARGE_MESSAGES : 0);
    if (is_many)
        set_finding_now(finding, "%s", mean_count_text(per_step).text);
    else
        set_finding_now(finding, "%s", brief_time_text(exposed / measures->n_steps).text);
    add_finding_number(finding, "exposed_us", exposed / 1000 / measures->n_steps);
    add_finding_number(finding, "communication_us", total / 1000 / measures->n_steps);
    add_finding_number(finding, "overlap_percent", overlap_percent);
    add_finding_number(finding, "collectives", per_step);
    if (!is_many) /* messages are small */
        add_bandwidth(d, finding);
    return SUTRA_OK;
}

static struct suspect_percents measure_communication(const struct diagnosis *d) {
    return (struct suspect_percents){percent_of_window(d, (double)d->overview->communication),
                                     percent_of_window(d, (double)d->overview->ticks[OVERVIEW_COMMUNICATION])};
}

#define SHARD_PAGE    TORCH_DOCS "distributed.fsdp.fully_shard.html"
#define TORCHREC_PAGE "docs.pytorch.org/torchrec"
#define TITAN_PAGE    "github.com/pytorch/torchtitan"
#define DEEPEP_PAGE   "github.com/deepseek-ai/DeepEP"
#define MEGATRON_PAGE "docs.nvidia.com/nemo/megatron-bridge/latest/training/communication-overlap.html"
#define VLLM_PAGE     "docs.vllm.ai/en/stable/configuration/engine_args/"
#define SGLANG_PAGE   "docs.sglang.ai/advanced_features/server_arguments.html"

/* The tensor parallelism of an inference engine, and its option. */
#define ENGINE_REMEDY(name, fact, engine, option, page)                                                                \
    {                                                                                                                  \
        .situation = name, .needs = FACT_ALL_REDUCE | fact, .excludes = FACT_BACKWARD | FACT_OPTIMIZER,                \
        .lines = {{"If the GPUs are connected directly, check that " engine                                            \
                   "'s custom all-reduce runs: no --disable-custom-all-reduce.",                                       \
                   "--disable-custom-all-reduce", page, FACT_LARGE_MESSAGES},                                          \
                  {"Use a smaller tensor-parallel group (" option ").", option, page, 0}},                             \
        .note = "tensor-parallel all-reduce"                                                                           \
    }

const struct finding_rule rule_exposed_comm = {
    .name = "exposed_comm",
    .title = "Exposed communication",
    .find = find_exposed_comm,
    .scope = SCOPE_COMMUNICATION,
    .includes_waits = true,
    .cpu = CPU_STAYS_BUSY,
    .marked = "exposed communication",
    .fix = "communication overlapped",
    .metric = "of exposed communication per step",
    .after = "must fall",
    .remedies =
        {
            {.situation = "deepep",
             .needs = FACT_DEEPEP,
             .lines = {{"Overlap two micro-batches: one computes while the other exchanges tokens.", NULL, DEEPEP_PAGE,
                        0},
                       {"Or use DeepEP's low-latency kernels.", "low_latency_dispatch", DEEPEP_PAGE, 0}},
             .metric = "exposed per step"},
            {.situation = "fused_reduce",
             .needs = FACT_INNER_REDUCE,
             .lines = {{"Fuse the all-reduce with the norm that follows.", NULL, NULL, 0},
                       {"Or use a smaller tensor-parallel group.", "tensor_parallel_size", NULL, 0}},
             .metric = "exposed per step"},
            ENGINE_REMEDY("vllm", FACT_VLLM, "vLLM", "--tensor-parallel-size", VLLM_PAGE),
            ENGINE_REMEDY("sglang", FACT_SGLANG, "SGLang", "--tp", SGLANG_PAGE),
            {.situation = "megatron",
             .needs = FACT_ALL_REDUCE | FACT_MEGATRON | FACT_FORWARD,
             .excludes = FACT_DDP | FACT_MANY_SHORT,
             .lines = {{"Use sequence parallelism (--sequence-parallel), and overlap its collectives with matrix "
                        "products (--tp-comm-overlap, with Transformer Engine).",
                        "--tp-comm-overlap", MEGATRON_PAGE, 0},
                       {"Or use a smaller tensor-parallel group (--tensor-model-parallel-size).",
                        "--tensor-model-parallel-size", MEGATRON_PAGE, 0}},
             .note = "tensor-parallel all-reduce"},
            {.situation = "inference",
             .needs = FACT_ALL_REDUCE,
             .excludes = FACT_BACKWARD | FACT_OPTIMIZER,
             .lines = {{"Use the engine's custom all-reduce if the GPUs are connected directly.", NULL, NULL,
                        FACT_LARGE_MESSAGES},
                       {"Use a smaller tensor-parallel group, or overlap the all-reduce.", NULL, NULL, 0}},
             .note = "all-reduce"},
            {.situation = "tp",
             .needs = FACT_ALL_REDUCE | FACT_FORWARD,
             .excludes = FACT_DDP | FACT_MANY_SHORT,
             .lines = {{"Use sequence parallelism, and overlap its collectives: async tensor parallelism with "
                        "torch.compile.",
                        "enable_async_tensor_parallel", TITAN_PAGE, 0},
                       {"Or use a smaller tensor-parallel group.", NULL, TITAN_PAGE, 0}},
             .note = "tensor-parallel all-reduce"},
            {.situation = "ddp",
             .needs = FACT_ALL_REDUCE | FACT_MANY_SHORT,
             .lines = {{"Bucket the all-reduces: let DistributedDataParallel do it (bucket_cap_mb=25 or more).",
                        "torch.nn.parallel.DistributedDataParallel", DDP_PAGE, 0},
                       {"With torch.compile, wrap the model in DistributedDataParallel: DDPOptimizer keeps the "
                        "buckets.",
                        "torch.compile", TORCH_DOCS "torch.compiler_faq.html", 0}},
             .metric = "collectives per step",
             .after = "must fall below 20",
             .note = "gradient all-reduce",
             .fix = "gradients overlapped with the backward pass"},
            {.situation = "ddp",
             .needs = FACT_ALL_REDUCE,
             .lines = {{"Overlap gradients with the backward pass: tune bucket_cap_mb, set "
                        "gradient_as_bucket_view=True.",
                        "torch.nn.parallel.DistributedDataParallel", DDP_PAGE, 0},
                       {"With gradient accumulation, use no_sync() for all but the last pass.",
                        "torch.nn.parallel.DistributedDataParallel.no_sync", DDP_PAGE, 0}},
             .note = "gradient all-reduce",
             .fix = "gradients overlapped with the backward pass"},
            {.situation = "fsdp",
             .needs = FACT_SHARDED | FACT_FSDP,
             .lines = {{"Prefetch all-gathers: set_modules_to_forward_prefetch, set_modules_to_backward_prefetch "
                        "(FSDP2, PyTorch 2.6 or later); forward_prefetch=True (FSDP1).",
                        "torch.distributed.fsdp.FSDPModule.set_modules_to_forward_prefetch", SHARD_PAGE, 0},
                       {"If memory allows, reshard_after_forward=False.", "torch.distributed.fsdp.fully_shard",
                        SHARD_PAGE, 0},
                       {"Apply fully_shard to each block: implicit prefetch works only if the CPU runs ahead.",
                        "torch.distributed.fsdp.fully_shard", SHARD_PAGE, 0}},
             .metric = "of exposed all-gather per step",
             .note = "sharded parameters",
             .fix = "the all-gathers overlapped"},
            {.situation = "shard",
             .needs = FACT_SHARDED,
             .lines = {{"Start all-gathers before they are needed, and send less: shard fewer parameters, or in fewer "
                        "ranks.",
                        NULL, NULL, 0}}},
            {.situation = "moe",
             .needs = FACT_ALL_TO_ALL | FACT_MOE,
             .lines = {{"Overlap the expert exchange: overlap_moe_expert_parallel_comm with delay_wgrad_compute "
                        "(Megatron Core, PyTorch 2.6 or later).",
                        "overlap_moe_expert_parallel_comm", MEGATRON_PAGE, 0},
                       {"Use the flex dispatcher (DeepEP), and balance the experts.", "moe_token_dispatcher_type",
                        MEGATRON_PAGE, 0}},
             .metric = "of exposed all-to-all per step",
             .note = "expert all-to-all",
             .fix = "the exchange overlapped"},
            {.situation = "embedding",
             .needs = FACT_ALL_TO_ALL | FACT_EMBEDDING,
             .lines = {{"Pipeline the input exchange: TrainPipelineSparseDist, or PrefetchTrainPipelineSparseDist "
                        "(torchrec).",
                        "torchrec.distributed.train_pipeline.TrainPipelineSparseDist", TORCHREC_PAGE, 0},
                       {"Else send less (quantized communication), or plan the tables again "
                        "(EmbeddingShardingPlanner).",
                        "torchrec.distributed.planner.EmbeddingShardingPlanner",
                        TORCHREC_PAGE "/planner-api-reference.html", 0}},
             .metric = "of exposed all-to-all per step",
             .note = "embedding all-to-all",
             .fix = "the exchange overlapped"},
            {.situation = "all_to_all",
             .needs = FACT_ALL_TO_ALL,
             .lines = {{"Start the exchange earlier and overlap it with compute, or send less.", NULL, NULL, 0}},
             .metric = "of exposed all-to-all per step",
             .note = "all-to-all",
             .fix = "the exchange overlapped"},
            {.situation = "other", .lines = {{"Overlap it with compute, or send less or less often.", NULL, NULL, 0}}},
        },
    .suspect = {.name = "communication",
                .text = "communication (%.0f%% of the time, %.1f%% exposed)",
                .min_apparent = 10,
                .measure = measure_communication,
                .position = 3},
};

/* ---- slow_collective: the fastest collective of >= SLOW_BYTES has a bus bandwidth < SLOW_LINK_PERCENT of the link's,
 * and at least MIN_SIMILAR of its size take equally long (within UNEVEN_SPREAD). Saving: their time less the time at
 * half of the link's rate. With several ranks, the rule does not fire if links are used once all ranks have arrived
 * (straggler.c). ---- */

#define SLOW_BYTES    1e6
#define MIN_SIMILAR   3
#define UNEVEN_SPREAD 1.5 /* factor to the fastest of equal size from which durations differ */

/* Equal for collectives of the same kind, type, size and group. */
static struct tuple collective_signature(const struct collective_call *call) {
    return (struct tuple){{(value_key)((uint64_t)call->what << 32 | call->type), call->n_in, call->n_out, call->group}};
}

double large_collective_bandwidth(const struct collective_calls *calls, const struct collective_call *call) {
    enum comm_kind kind = collective_kind_of(strings_text(&calls->strings, call->what));
    int64_t n = calls->groups[call->group].size;
    double seconds = (double)(call->end_ns - call->start_ns) / 1e9;
    bool is_ring = kind == COMM_ALL_REDUCE || kind == COMM_ALL_GATHER || kind == COMM_REDUCE_SCATTER;
    if (!is_ring || n < 2 || n > RANKS_OF_MACHINE || call->is_message || !(seconds > 0))
        return 0;
    double bytes = (double)collective_elements(kind, call->n_in, call->n_out, n) *
                   collective_type_bytes(strings_text(&calls->strings, call->type));
    return bytes < SLOW_BYTES ? 0 : bytes * collective_bus_share(kind, n) / seconds;
}

static enum sutra_status find_slow_collective(struct diagnosis *d, struct sutra_error *error) {
    const struct collective_calls *calls = d->calls;
    double link = device_link_of(&d->model->trace->document), bandwidth = 0, spread = 1;
    const struct collective_call *best = NULL;
    row_t n_large = 0, n_similar = 0;
    if (!has_fired(d, &rule_exposed_comm) || link <= 0)
        return SUTRA_OK;
    for (uint64_t i = 0; i < calls->n; i++) {
        double of_call = large_collective_bandwidth(calls, &calls->list[i]);
        n_large += of_call > 0;
        if (of_call <= bandwidth)
            continue;
        bandwidth = of_call;
        best = &calls->list[i];
    }
    if (!best || bandwidth >= link * SLOW_LINK_PERCENT / 100)
        return SUTRA_OK;
    double best_ns = (double)(best->end_ns - best->start_ns);
    struct tuple of_best = collective_signature(best);
    for (uint64_t i = 0; i < calls->n; i++) {
        const struct collective_call *call = &calls->list[i];
        struct tuple of_call = collective_signature(call);
        if (memcmp(&of_call, &of_best, sizeof of_call) != 0)
            continue;
        spread = fmax(spread, (double)(call->end_ns - call->start_ns) / best_ns);
        n_similar++;
    }
    if (n_similar < MIN_SIMILAR || spread >= UNEVEN_SPREAD)
        return SUTRA_OK;
    struct spans spans;
    TRY(spans_of_kinds(d->overview, KIND(OVERVIEW_COMMUNICATION), d->kept, &spans, error));
    double saving = (double)d->overview->ticks[OVERVIEW_COMMUNICATION] * (1 - bandwidth / (link / 2));
    struct overview_finding *finding = add_finding(
        d, &rule_slow_collective, &spans,
        "The fastest large collective, %s of %lld elements, takes %s: %s. A straggler is unlikely: each takes as "
        "long.",
        short_text(strings_text(&calls->strings, best->what), 24).text, (long long)best->n_in,
        brief_time_text(best_ns).text, rate_text(bandwidth, link).text);
    set_finding_saving(d, finding, saving);
    set_finding_now(finding, "%s", rate_text(bandwidth, link).text);
    add_finding_number(finding, "bus_gb_per_s", bandwidth / 1e9);
    add_finding_number(finding, "link_gb_per_s", link / 1e9);
    add_finding_number(finding, "large_collectives", n_large);
    return SUTRA_OK;
}

const struct finding_rule rule_slow_collective = {
    .name = "slow_collective",
    .title = "Underused links",
    .find = find_slow_collective,
    .scope = SCOPE_COMMUNICATION,
    .includes_waits = true,
    .marked = "slow collectives",
    .fix = "the links ran at full rate",
    .metric = "of bus bandwidth",
    .after = "must rise",
    .remedies = {{.lines = {{"Check the transport with NCCL_DEBUG=INFO: NCCL_P2P_DISABLE, IOMMU, no peer access, too "
                             "few channels.",
                             "NCCL_DEBUG", "docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html", 0}}}},
};

/* ---- straggler, in the trace of one rank: exposed_comm fired, and collectives that take more than WAITING_TIMES as
 * long as the shortest of their size wait >= LATE_PERCENT. Saving: their exposed time beyond the shortest. Only traces
 * of all ranks name the straggler (straggler.c). ---- */

#define WAITING_TIMES 2

/* Collectives of unknown size that one operator launches with an equal kernel and grid are probably equal if there are
 * ALIKE_MIN of them, and ALIKE_PERCENT take at most ALIKE_SPREAD times as long as the shortest: transfers of equal size
 * take equally long. Their waits are reported by exposed_comm, and change no saving. */
#define ALIKE_MIN     8
#define ALIKE_PERCENT 25
#define ALIKE_SPREAD  1.25
#define LATE_PERCENT  5

static bool has_size(const struct collective_call *call) {
    return call->n_in >= 0;
}

/* Whether a collective ends on all ranks simultaneously, so that all wait for the last. The kind of a kernel that does
 * not record it, such as send and receive, is the kind of an ancestor of its call. `kind_cache`, by string: kind + 1, 0
 * = not classified yet. */
static bool is_synchronizing(const struct diagnosis *d, const struct collective_call *call, row_t device,
                             uint8_t *kind_cache) {
    const struct launch_model *model = d->model;
    enum comm_kind kind = collective_kind_of(strings_text(&d->calls->strings, call->what));
    if (has_size(call) || (kind != COMM_MESSAGE && kind != COMM_OTHER))
        return collective_ends_at_once(kind);
    row_t row = model->devices.call[device];
    kind = COMM_OTHER;
    for (int i = 0; i < MAX_ANCESTOR_DEPTH && row != ROW_NONE && (kind == COMM_OTHER || kind == COMM_MESSAGE); i++) {
        uint32_t name = host_name(model, row);
        if (!kind_cache[name])
            kind_cache[name] = (uint8_t)(1 + collective_kind_of(strings_text(model->strings, name)));
        kind = (enum comm_kind)(kind_cache[name] - 1);
        row = model->hosts.parent[row];
    }
    return collective_ends_at_once(kind);
}

/* Synchronizing collectives, grouped by size. */
struct sized_calls {
    row_t n;
    row_t *device;
    uint32_t *group; /* of equal size */
    int64_t *min_ns; /* by group: the shortest duration */
    bool *is_guess;  /* by group: sizes are unknown, and only probably equal */
};

/* The operator that records the arguments of a collective: record_param_comms, or else the launcher. ROW_NONE: none. */
static row_t recording_operator(const struct diagnosis *d, row_t device, uint32_t comms_name) {
    const struct launch_model *model = d->model;
    row_t row = model->devices.call[device];
    for (int depth = 0; depth < MAX_ANCESTOR_DEPTH && row != ROW_NONE; depth++, row = model->hosts.parent[row])
        if (comms_name != STRING_NONE && host_name(model, row) == comms_name)
            return row;
    row = model->devices.launcher[device];
    return row != ROW_NONE && model->hosts.kind[row] == HOST_OPERATOR ? row : ROW_NONE;
}

/* Removes the guessed groups whose sizes differ. */
static enum sutra_status remove_unlike_calls(const struct diagnosis *d, struct sized_calls *sized, uint32_t n_groups,
                                             struct sutra_error *error) {
    const struct device_rows *devices = &d->model->devices;
    row_t *n_calls = arena_zeros(d->arena, n_groups, sizeof *n_calls), n = 0;
    row_t *n_near_shortest = arena_zeros(d->arena, n_groups, sizeof *n_near_shortest);
    TRY(arena_status(d->arena, error));
    for (row_t i = 0; i < sized->n; i++) {
        const uint32_t group = sized->group[i];
        const int64_t duration = devices->stop[sized->device[i]] - devices->start[sized->device[i]];
        n_calls[group]++;
        n_near_shortest[group] += (double)duration <= ALIKE_SPREAD * (double)sized->min_ns[group];
    }
    for (row_t i = 0; i < sized->n; i++) {
        const uint32_t group = sized->group[i];
        if (sized->is_guess[group] && (n_calls[group] < ALIKE_MIN || (uint64_t)n_near_shortest[group] * 100 <
                                                                         (uint64_t)n_calls[group] * ALIKE_PERCENT))
            continue;
        sized->device[n] = sized->device[i];
        sized->group[n++] = group;
    }
    sized->n = n;
    return SUTRA_OK;
}

/* Groups the collectives of a communicator by their recorded size; or else by the input shapes and types of the
 * operator that records them; or else, as a guess, by kernel, grid and launching operator. */
static enum sutra_status group_calls_by_size(struct diagnosis *d, struct sized_calls *sized,
                                             struct sutra_error *error) {
    static const struct requested_field grid_field = {"grid", ASK_KEY, false};
    const struct launch_model *model = d->model;
    const struct device_rows *devices = &model->devices;
    const uint32_t comms_name = strings_find(model->strings, COMMS_NAME, strlen(COMMS_NAME));
    uint64_t n = d->calls->n;
    row_t *device_of_call = arena_alloc(d->arena, n, sizeof *device_of_call);
    row_t *operators = arena_alloc(d->arena, n, sizeof *operators), n_operators = 0, next_operator = 0;
    row_t *events = arena_alloc(d->arena, n, sizeof *events), n_events = 0; /* without a recorded size */
    row_t *operator_of_call = arena_alloc(d->arena, n, sizeof *operator_of_call);
    uint8_t *kind_cache = arena_zeros(d->arena, model->strings->n, sizeof *kind_cache);
    sized->device = arena_alloc(d->arena, n, sizeof *sized->device);
    sized->group = arena_alloc(d->arena, n, sizeof *sized->group);
    sized->min_ns = arena_alloc(d->arena, n, sizeof *sized->min_ns);
    sized->is_guess = arena_zeros(d->arena, n, sizeof *sized->is_guess);
    TRY(arena_status(d->arena, error));
    for (uint64_t i = 0; i < n; i++) {
        const struct collective_call *call = &d->calls->list[i];
        row_t device = rows_find(devices->event, devices->n, call->event);
        bool counts = device != ROW_NONE && d->overview->classes[device] == OVERVIEW_COMMUNICATION &&
                      is_synchronizing(d, call, device, kind_cache);
        device_of_call[i] = counts ? device : ROW_NONE;
        operator_of_call[i] = counts && !has_size(call) ? recording_operator(d, device, comms_name) : ROW_NONE;
        if (operator_of_call[i] != ROW_NONE)
            operators[n_operators++] = operator_of_call[i];
        if (counts && !has_size(call))
            events[n_events++] = call->event;
    }
    struct op_arguments arguments = {0};
    struct tuples sizes = {0};
    struct requested_column grid = {.key = NULL};
    enum sutra_status status =
        op_arguments_read(d->context, model, operators, n_operators, d->arena, &arguments, error);
    if (!status && n_events)
        status = event_columns_request(d->context, model->trace, &grid_field, 1, events, n_events, &grid, error);
    for (uint64_t i = 0; i < n && !status; i++) {
        const struct collective_call *call = &d->calls->list[i];
        row_t device = device_of_call[i];
        if (device == ROW_NONE)
            continue;
        struct tuple size = collective_signature(call);
        bool is_guess = false;
        if (!has_size(call)) {
            const value_key kernel = -1 - (value_key)model->events->name[devices->event[device]];
            const row_t k = operator_of_call[i] == ROW_NONE ? ROW_NONE : next_operator++;
            const uint32_t dims = k == ROW_NONE ? STRING_NONE : op_argument_text(&arguments, ARGUMENT_DIMS, k);
            const char *text = k == ROW_NONE ? "" : strings_text(&arguments.texts, dims);
            /* A shape of a tensor, in Python's format; a list of tensors has no size. */
            if (strncmp(text, "((", 2) == 0 && text[2] >= '0' && text[2] <= '9')
                size = (struct tuple){{kernel, dims, op_argument_text(&arguments, ARGUMENT_TYPES, k), call->group}};
            else if (grid.key[call->event] != KEY_ABSENT && devices->launcher[device] != ROW_NONE)
                size = (struct tuple){{kernel, grid.key[call->event], host_name(model, devices->launcher[device]),
                                       -1 - (value_key)call->group}};
            else
                continue;
            is_guess = size.part[3] < 0;
        }
        uint32_t n_groups = sizes.n, group = tuples_number(&sizes, size);
        int64_t duration = devices->stop[device] - devices->start[device];
        if (group == TUPLE_NONE) {
            status = error_memory(error);
            break;
        }
        if (group == n_groups || duration < sized->min_ns[group])
            sized->min_ns[group] = duration;
        sized->is_guess[group] = is_guess;
        sized->device[sized->n] = device;
        sized->group[sized->n++] = group;
    }
    const uint32_t n_groups = sizes.n;
    op_arguments_free(&arguments);
    tuples_free(&sizes);
    return status ? status : remove_unlike_calls(d, sized, n_groups, error);
}

/* Appends to `waits` the first `wait` ticks of exposed communication in [start, stop). */
static void append_wait(const struct kind_clock *exposed, int64_t start, int64_t stop, int64_t wait,
                        struct spans *waits) {
    row_t i = count_up_to(exposed->begin, exposed->n, start);
    for (i = i ? i - 1 : 0; i < exposed->n && exposed->begin[i] < stop && wait > 0; i++) {
        int64_t begin = MAX(exposed->begin[i], start), end = MIN(exposed->end[i], stop);
        if (waits->n)
            begin = MAX(begin, waits->end[waits->n - 1]);
        end = MIN(end, begin + wait);
        if (begin >= end)
            continue;
        spans_append(waits, begin, end);
        wait -= end - begin;
    }
}

/* Most exposed communication is waiting: only the traces of the other ranks can explain it. */
static void report_waiting(struct diagnosis *d, double wait, double guessed_wait) {
    const double exposed = (double)d->overview->ticks[OVERVIEW_COMMUNICATION];
    for (unsigned i = 0; i < d->findings->n_all; i++) {
        struct overview_finding *finding = &d->findings->list[i];
        const double guess = finding->facts & FACT_MANY_SHORT ? 0 : guessed_wait; /* one size for each parameter */
        if (finding->rule != &rule_exposed_comm || 2 * (wait + guess) <= exposed)
            continue;
        append_finding_text(finding,
                            " %s of the exposed time is waiting for other ranks%s: run `sutra analyze DIR` with the "
                            "traces of all ranks.",
                            finding_percent(fmin(wait + guess, exposed), exposed).text,
                            guess > wait ? ", if equal kernels send equal sizes" : "");
        add_finding_number(finding, "wait_us", fmin(wait + guess, exposed) / 1000 / d->measures.n_steps);
    }
}

/* Exposed communication that waits for the straggler is saved by the straggler's finding. */
static enum sutra_status subtract_wait(struct diagnosis *d, struct sutra_error *error) {
    for (unsigned i = 0; i < d->findings->n_all; i++) {
        struct overview_finding *finding = &d->findings->list[i];
        struct spans rest;
        if (finding->rule != &rule_exposed_comm)
            continue;
        TRY(spans_without(&finding->spans, &d->straggler, d->kept, &rest, error));
        const double uncapped = finding->saving_percent;
        finding->spans = rest;
        set_finding_saving(d, finding, (double)spans_length(&rest));
        finding->uncapped = uncapped;
        finding->limited_by = LIMIT_STRAGGLER;
    }
    return SUTRA_OK;
}

static enum sutra_status find_straggler(struct diagnosis *d, struct sutra_error *error) {
    const struct device_rows *devices = &d->model->devices;
    const struct kind_clock *exposed = &d->measures.exposed;
    struct sized_calls sized = {0};
    struct spans waits;
    struct arena_mark mark = arena_mark(d->arena);
    if (!d->alone || !has_fired(d, &rule_exposed_comm))
        return SUTRA_OK;
    TRY(spans_reserve(exposed->n + devices->n, d->kept, &waits, error));
    TRY(group_calls_by_size(d, &sized, error));
    row_t *order = arena_alloc(d->arena, sized.n, sizeof *order);
    uint64_t *keys = arena_alloc(d->arena, sized.n, sizeof *keys);
    TRY(arena_status(d->arena, error));
    for (row_t i = 0; i < sized.n; i++) {
        order[i] = i;
        keys[i] = integer_sort_key(devices->start[sized.device[i]]);
    }
    TRY(cpu_sort_keys(NULL, &(struct sort_keys_step){keys, order, sized.n}, error));
    int64_t max_wait = 0, longest = 0, min_of_longest = 0, guessed_wait = 0;
    row_t n = 0;
    for (row_t k = 0; k < sized.n; k++) {
        row_t i = order[k];
        int64_t start = devices->start[sized.device[i]], stop = devices->stop[sized.device[i]];
        int64_t min = sized.min_ns[sized.group[i]], wait = stop - start - min;
        int64_t exposed_ticks = kind_clock_between(exposed, start, stop);
        wait = MIN(wait, exposed_ticks);
        if (stop - start <= WAITING_TIMES * min || wait <= 0)
            continue;
        if (sized.is_guess[sized.group[i]]) {
            ticks_add(&guessed_wait, wait);
            continue;
        }
        append_wait(exposed, start, stop, wait, &waits);
        n++;
        if (wait > max_wait) {
            max_wait = wait;
            longest = stop - start;
            min_of_longest = min;
        }
    }
    arena_release(d->arena, mark);
    double wait = (double)spans_length(&waits);
    report_waiting(d, wait, (double)guessed_wait);
    if (percent_of_window(d, wait) < LATE_PERCENT)
        return SUTRA_OK;
    d->straggler = waits;
    struct overview_finding *finding = add_finding(
        d, &rule_straggler, &waits, "%s %s %s longer than the shortest of equal size, %s%s instead of %s.",
        counted_text(n, "collective", "collectives").text, n == 1 ? "takes" : "take", finding_per_step(d, wait).text,
        n == 1 ? "" : "one ", brief_time_text((double)longest).text, brief_time_text((double)min_of_longest).text);
    finding->facts |= FACT_UNNAMED;
    set_finding_now(finding, "%s", brief_time_text(wait / d->measures.n_steps).text);
    add_finding_number(finding, "wait_us", wait / 1000 / d->measures.n_steps);
    add_finding_number(finding, "collectives", n);
    add_finding_number(finding, "longest_us", (double)longest / 1000);
    add_finding_number(finding, "min_us", (double)min_of_longest / 1000);
    return subtract_wait(d, error);
}

const struct finding_rule rule_straggler = {
    .name = "straggler",
    .title = "Straggler",
    .title_if = {FACT_SEVERAL_RANKS, "Stragglers"},
    .find = find_straggler,
    .scope = SCOPE_COMMUNICATION,
    .marked = "wait for the straggler",
    .fix = "all ranks arrived together",
    .metric = "of waiting in collectives per step",
    .after = "must fall",
    .remedies =
        {
            {.situation = "before_step",
             .needs = FACT_NAMED,
             .lines = {{"Check what only this rank does before the step: logging, evaluation, data loading.", NULL,
                        NULL, 0}}},
            {.situation = "one_rank",
             .needs = FACT_UNNAMED,
             .lines = {{"Analyze the traces of all ranks to find the rank. It may be this rank: the straggler waits "
                        "least.",
                        "sutra analyze", NULL, 0}}},
            {.situation = "in_step",
             .lines = {{"Compare the work of late ranks before these collectives with other ranks: more data, a slower "
                        "GPU, extra work.",
                        "sutra analyze collectives", NULL, 0}}},
        },
};
