/*
 * kernel_class.c - implements kernel_class.h: the table of communication kernels, and the order of its rules.
 *
 *     1. memcpy by category, or a copy kernel of AMD: copy. memset: compute.
 *     2. categories of other devices: collective_comm (XPU); MTIA and Ascend by the prefix of the name
 *     3. compiled by Inductor (triton_poi_ and so on): compute; the rest of the name lists source operators
 *     4. the first row of the table whose pieces occur in the name, in this order
 *     5. nccl or rccl in any case
 *     6. the argument "Collective name" (KIND_COMPUTE; kernel_kind_of_event())
 *     7. words such as all_reduce, except reductions in a block or a warp, and ATen's and CUB's kernels
 *     8. compute
 *
 * Sources of names: NCCL 2.27 (ncclSymkDevKernel), HTA 0.6's nccl_parser_config, DeepEP's csrc/kernels, ROCm/mori,
 * PyTorch's symmetric memory and NVSHMEM operators, TensorRT-LLM's communicationKernels and custom all-reduce,
 * Transformer Engine's userbuffers, microsoft/mscclpp, Kineto's Ascend and MTIA plugins.
 */
#include <string.h>

#include "facts/kernel_class.h"
#include "text/strings.h"

#define KERNEL_NAME(id, name) name,
const char *const kernel_library_names[N_KERNEL_LIBRARIES] = {KERNEL_LIBRARIES(KERNEL_NAME)};
const char *const kernel_collective_names[N_KERNEL_COLLECTIVES] = {KERNEL_COLLECTIVES(KERNEL_NAME)};
const char *const kernel_phase_names[N_KERNEL_PHASES] = {"", "notify", "dispatch", "combine"};

#define COMMUNICATES(library, collective, ...) DEVICE_COMMUNICATION, LIBRARY_##library, COLL_##collective, __VA_ARGS__

const struct kernel_kind kernel_kinds[] = {
    [KIND_COMPUTE] = {{0}, DEVICE_COMPUTE, 0, 0, 0, false},
    [KIND_ONLY_COMPUTE] = {{0}, DEVICE_COMPUTE, 0, 0, 0, false},
    [KIND_COPY] = {{0}, DEVICE_COPY, 0, 0, 0, false},
    [KIND_SYNC] = {{0}, DEVICE_NO_WORK, 0, 0, 0, false},
    [KIND_BY_ARGUMENT] = {{0}, COMMUNICATES(OTHER, RECORDED, PHASE_NONE, false)},
    [KIND_BY_WORDS] = {{0}, COMMUNICATES(OTHER, RECORDED, PHASE_NONE, false)},
    [KIND_NCCL] = {{0}, COMMUNICATES(NCCL, RECORDED, PHASE_NONE, false)},
    [KIND_ONECCL] = {{0}, COMMUNICATES(ONECCL, RECORDED, PHASE_NONE, false)},
    [KIND_HCCL] = {{0}, COMMUNICATES(HCCL, RECORDED, PHASE_NONE, false)},

    {{"get_dispatch_layout"}, DEVICE_COMPUTE, 0, 0, 0, false}, /* counts tokens, without other ranks */
    {{"quantize_then_dispatch_local"}, DEVICE_COMPUTE, 0, 0, 0, false},
    {{"ncclSymkDevKernel_"}, COMMUNICATES(NCCL, RECORDED, PHASE_NONE, false)},
    {{"ncclDevKernel_"}, COMMUNICATES(NCCL, RECORDED, PHASE_NONE, false)},
    {{"ncclKernel_"}, COMMUNICATES(NCCL, RECORDED, PHASE_NONE, false)},
    {{"ep::", "::notify_dispatch"}, COMMUNICATES(DEEPEP, ALLTOALL, PHASE_NOTIFY, false)},
    {{"ep::", "::cached_notify"}, COMMUNICATES(DEEPEP, ALLTOALL, PHASE_NOTIFY, false)},
    {{"ep::", "::notify_combine"}, COMMUNICATES(DEEPEP, ALLTOALL, PHASE_NOTIFY, false)},
    {{"ep::", "::dispatch"}, COMMUNICATES(DEEPEP, ALLTOALL, PHASE_DISPATCH, false)},
    {{"ep::", "::combine"}, COMMUNICATES(DEEPEP, ALLTOALL, PHASE_COMBINE, false)},
    {{"ep::", "::clean_low_latency_buffer"}, COMMUNICATES(DEEPEP, BARRIER, PHASE_NONE, false)},
    {{"ep::", "::barrier"}, COMMUNICATES(DEEPEP, BARRIER, PHASE_NONE, false)},
    {{"EpDispatch"}, COMMUNICATES(MORI, ALLTOALL, PHASE_DISPATCH, false)},
    {{"EpCombine"}, COMMUNICATES(MORI, ALLTOALL, PHASE_COMBINE, false)},
    {{"pplx::", "ispatch"}, COMMUNICATES(PPLX, ALLTOALL, PHASE_DISPATCH, false)},
    {{"pplx::", "ombine"}, COMMUNICATES(PPLX, ALLTOALL, PHASE_COMBINE, false)},
    {{"cross_device_reduce"}, COMMUNICATES(CUSTOM, ALLREDUCE, PHASE_NONE, false)},
    {{"quickreduce::"}, COMMUNICATES(QUICKREDUCE, ALLREDUCE, PHASE_NONE, false)},
    {{"reduce_scatter_cross_device_store"}, COMMUNICATES(AITER, ALLREDUCE, PHASE_NONE, true)},
    {{"moereduce_allreduce_fusion_kernel"}, COMMUNICATES(TRTLLM, ALLREDUCE, PHASE_NONE, true)},
    {{"moefinalize_allreduce_fusion_kernel"}, COMMUNICATES(TRTLLM, ALLREDUCE, PHASE_NONE, true)},
    {{"allreduce_fusion_kernel"}, COMMUNICATES(TRTLLM, ALLREDUCE, PHASE_NONE, true)},
    {{"AllReduceNormKernel"}, COMMUNICATES(TRTLLM, ALLREDUCE, PHASE_NONE, true)},
    {{"rmsNormLamport"}, COMMUNICATES(TRTLLM, ALLREDUCE, PHASE_NONE, true)},
    {{"ShotAllReduce"}, COMMUNICATES(TRTLLM, ALLREDUCE, PHASE_NONE, false)},
    {{"shotAllreduceKernel"}, COMMUNICATES(TRTLLM, ALLREDUCE, PHASE_NONE, false)},
    {{"moeAllToAll"}, COMMUNICATES(TRTLLM, ALLTOALL, PHASE_NONE, false)},
    {{"hybridCubeMeshAllReduceKernel"}, COMMUNICATES(SYMM_MEM, ALLREDUCE, PHASE_NONE, false)},
    {{"kuserbuffers_push"}, COMMUNICATES(USERBUFFERS, SENDRECV, PHASE_NONE, false)},
    {{"kuserbuffers_"}, COMMUNICATES(USERBUFFERS, BARRIER, PHASE_NONE, false)},
    {{"userbuffers_", "_rs"}, COMMUNICATES(USERBUFFERS, REDUCESCATTER, PHASE_NONE, false)},
    {{"userbuffers_", "_ag"}, COMMUNICATES(USERBUFFERS, ALLGATHER, PHASE_NONE, false)},
    {{"userbuffers_", "sum_inplace"}, COMMUNICATES(USERBUFFERS, ALLREDUCE, PHASE_NONE, false)},
    {{"multimem_all_gather"}, COMMUNICATES(SYMM_MEM, ALLGATHER, PHASE_NONE, false)},
    {{"multimem_", "reduce"}, COMMUNICATES(SYMM_MEM, ALLREDUCE, PHASE_NONE, false)},
    {{"one_shot_all_reduce"}, COMMUNICATES(SYMM_MEM, ALLREDUCE, PHASE_NONE, false)},
    {{"two_shot_all_reduce"}, COMMUNICATES(SYMM_MEM, ALLREDUCE, PHASE_NONE, false)},
    {{"symmetric_memory::", "barrier"}, COMMUNICATES(SYMM_MEM, BARRIER, PHASE_NONE, false)},
    {{"symmetric_memory::", "signal"}, COMMUNICATES(SYMM_MEM, BARRIER, PHASE_NONE, false)},
    {{"exchangeSplitAndOffset"}, COMMUNICATES(NVSHMEM, ALLTOALL, PHASE_NOTIFY, false)},
    {{"allToAllV"}, COMMUNICATES(NVSHMEM, ALLTOALL, PHASE_NONE, false)},
    {{"nvshmem"}, COMMUNICATES(NVSHMEM, RECORDED, PHASE_NONE, false)},
    {{"mscclpp::"}, COMMUNICATES(MSCCLPP, RECORDED, PHASE_NONE, false)},
    {{"mscclKernel"}, COMMUNICATES(MSCCL, RECORDED, PHASE_NONE, false)},
    {{"oneccl"}, COMMUNICATES(ONECCL, RECORDED, PHASE_NONE, false)},
    {{"flagcx"}, COMMUNICATES(FLAGCX, RECORDED, PHASE_NONE, false)},
    {{"hcom_"}, COMMUNICATES(HCCL, RECORDED, PHASE_NONE, false)},
    {{"hccl"}, COMMUNICATES(HCCL, RECORDED, PHASE_NONE, false)},
    {{"AicpuKernel"}, COMMUNICATES(HCCL, RECORDED, PHASE_NONE, false)},
};

enum { N_KINDS_OF_KERNELS = sizeof kernel_kinds / sizeof *kernel_kinds };
_Static_assert(N_KINDS_OF_KERNELS < UINT8_MAX, "a kind is a byte");

/* ---- Names ---- */

static bool begins_with_any(const char *name, size_t length, const char *const *texts, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (text_begins_with(name, length, texts[i]))
            return true;
    return false;
}

#define BEGINS_WITH_ANY(name, length, texts) begins_with_any(name, length, texts, sizeof(texts) / sizeof *(texts))

static bool has_pieces(const char *name, size_t length, const char *const pieces[2]) {
    const char *at = name, *end = name + length;
    for (int i = 0; i < 2 && pieces[i]; i++) {
        size_t n = strlen(pieces[i]);
        const char *found = memmem(at, (size_t)(end - at), pieces[i], n);
        if (!found)
            return false;
        at = found + n;
    }
    return true;
}

/* The collective whose words a text contains, in any case; COLL_UNKNOWN. O(length). */
static enum kernel_collective kernel_collective_of(const char *text, size_t length) {
    static const struct {
        const char *word;
        enum kernel_collective collective;
    } words[] = {
        {"allreduce", COLL_ALLREDUCE},
        {"all_reduce", COLL_ALLREDUCE},
        {"reducescatter", COLL_REDUCESCATTER},
        {"reduce_scatter", COLL_REDUCESCATTER},
        {"allgather", COLL_ALLGATHER},
        {"all_gather", COLL_ALLGATHER},
        {"alltoall", COLL_ALLTOALL},
        {"all_to_all", COLL_ALLTOALL},
        {"broadcast", COLL_BROADCAST},
        {"bcast", COLL_BROADCAST},
        {"sendrecv", COLL_SENDRECV},
        {"_send", COLL_SENDRECV},
        {"_recv", COLL_SENDRECV},
        {"receive", COLL_SENDRECV},
        {"barrier", COLL_BARRIER},
        {"reduce", COLL_REDUCE},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text_has_in_any_case(text, length, words[i].word))
            return words[i].collective;
    return COLL_UNKNOWN;
}

/* Whether block, warp or intra_cta, and possibly "_", precede a position of a name, in any case. */
static bool is_within_block(const char *name, size_t at) {
    static const char *const units[] = {"block", "warp", "intra_cta", "intracta"};
    at -= at > 0 && name[at - 1] == '_';
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        size_t n = strlen(units[i]);
        if (at >= n && text_has_in_any_case(name + at - n, n, units[i]))
            return true;
    }
    return false;
}

/* Rule 7. */
static bool has_words_of_collective(const char *name, size_t length) {
    static const char *const words[] = {"all_reduce", "allreduce",  "all_gather",     "allgather",
                                        "alltoall",   "all_to_all", "reduce_scatter", "reducescatter"};
    enum { N_LOCAL = 4 }; /* words that also name reductions within a block */
    bool found = false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t n = strlen(words[i]);
        if (!text_has_in_any_case(name, length, words[i]))
            continue;
        found = true;
        for (size_t at = 0; i < N_LOCAL && at + n <= length; at++)
            if (text_has_in_any_case(name + at, n, words[i]) && is_within_block(name, at))
                return false;
    }
    return found && !text_has_in_any_case(name, length, "at::native") && !text_has_in_any_case(name, length, "cub::");
}

/* ---- Kinds ---- */

static uint8_t kind_of_name(const char *name, size_t length) {
    static const char *const compiled[] = {"triton_poi_", "triton_red_", "triton_per_",
                                           "triton_tem_", "triton_for_", "triton_spl_"};
    if (BEGINS_WITH_ANY(name, length, compiled))
        return KIND_ONLY_COMPUTE;
    for (int kind = KIND_FIRST_BY_NAME; kind < N_KINDS_OF_KERNELS; kind++)
        if (has_pieces(name, length, kernel_kinds[kind].pieces))
            return (uint8_t)kind;
    if (text_has_in_any_case(name, length, "nccl") || text_has_in_any_case(name, length, "rccl"))
        return KIND_NCCL;
    return has_words_of_collective(name, length) ? KIND_BY_WORDS : KIND_COMPUTE;
}

uint8_t kernel_kind_find(uint32_t category, const char *name, size_t length) {
    static const char *const npu_syncs[] = {"EVENT_", "NOTIFY_", "Notify_", "PLACE_HOLDER", "MODEL_"};
    static const char *const mtia_syncs[] = {"event_", "synchronize"};
    if (!(category & CATEGORY_WORK))
        return KIND_SYNC;
    /* Rule 1: MEMORY_COPY_HOST_TO_DEVICE and the like, __amd_rocclr_copyBuffer[Rect][Aligned][.kd]. */
    if (category & CATEGORY_COPY ||
        (category & CATEGORY_KERNEL && device_class_of(CATEGORY_KERNEL, name, length) == DEVICE_COPY))
        return KIND_COPY;
    if (category & CATEGORY_SET)
        return KIND_ONLY_COMPUTE;
    if (category & CATEGORY_MTIA) {
        if (text_begins_with(name, length, "hccl::"))
            return KIND_HCCL;
        if (BEGINS_WITH_ANY(name, length, mtia_syncs))
            return KIND_SYNC;
        return text_begins_with(name, length, "dma_") ? KIND_COPY : KIND_ONLY_COMPUTE;
    }
    if (category & CATEGORY_NPU) {
        if (BEGINS_WITH_ANY(name, length, npu_syncs))
            return KIND_SYNC;
        if (length >= 6 && text_has_in_any_case(name, 6, "memcpy"))
            return KIND_COPY;
    }
    return category & CATEGORY_COMMUNICATION ? KIND_ONECCL : kind_of_name(name, length);
}

/* Columns of struct kernel_kinds. */
enum { OF_KERNEL, OF_SET, OF_MTIA, OF_NPU, OF_COMMUNICATION, N_COLUMNS };

struct kernel_kinds kernel_kinds_begin(const struct device_events *events, const struct strings *strings,
                                       const struct string_roles *roles, struct arena *arena) {
    size_t n = (size_t)strings->n * N_COLUMNS;
    struct kernel_kinds kinds = {events, strings, roles, arena_alloc(arena, n, 1)};
    if (kinds.kind)
        memset(kinds.kind, UINT8_MAX, n);
    return kinds;
}

uint8_t kernel_kind_of_event(struct kernel_kinds *kinds, row_t event) {
    uint32_t category = category_roles(kinds->events, kinds->roles, event), name = kinds->events->name[event];
    if (category & CATEGORY_COPY)
        return KIND_COPY;
    int column = category & CATEGORY_SET             ? OF_SET
                 : category & CATEGORY_MTIA          ? OF_MTIA
                 : category & CATEGORY_NPU           ? OF_NPU
                 : category & CATEGORY_COMMUNICATION ? OF_COMMUNICATION
                                                     : OF_KERNEL;
    uint8_t *kind = &kinds->kind[(size_t)name * N_COLUMNS + (size_t)column];
    if (*kind == UINT8_MAX)
        *kind = kernel_kind_find(category, strings_text(kinds->strings, name), strings_length(kinds->strings, name));
    return kernel_kind_with(*kind, kinds->events->flags[event]);
}

enum kernel_collective kernel_collective_find(uint8_t kind, const char *recorded, const char *name, size_t length) {
    enum kernel_collective collective = (enum kernel_collective)kernel_kinds[kind].collective;
    if (collective != COLL_RECORDED)
        return collective;
    return *recorded ? kernel_collective_of(recorded, strlen(recorded)) : kernel_collective_of(name, length);
}
