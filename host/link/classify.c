/*
 * classify.c - traits of names and categories, worked out once for each different string.
 */
#include "link/classify.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_one_of(const char *text, const char *const *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(text, list[i]) == 0)
            return true;
    return false;
}

static bool is_launch(const char *name) {
    static const char *const launches[] = {
        "cuLaunchKernel",      "cuLaunchKernelEx",   "cudaLaunchKernel",           "cudaLaunchKernelExC",
        "cudaMemcpy",          "cudaMemcpyAsync",    "cudaMemcpyFromSymbol",       "cudaMemcpyToSymbol",
        "hipLaunchKernel",     "hipExtLaunchKernel", "hipExtModuleLaunchKernel",   "hipModuleLaunchKernel",
        "hipMemcpyWithStream", "hipMemcpyAsync",     "cudaLaunchCooperativeKernel"};
    return is_one_of(name, launches, sizeof launches / sizeof *launches);
}

/* A string may hold NUL characters; equality and containment must see all of it. */
static bool contains(const char *text, size_t length, const char *part) {
    return memmem(text, length, part, strlen(part)) != NULL;
}

static bool contains_nccl(const char *text, size_t length) {
    for (size_t i = 0; i + 4 <= length; i++)
        if (strncasecmp(text + i, "nccl", 4) == 0)
            return true;
    return false;
}

static uint16_t whole_traits(const char *text) {
    static const char *const cpu[] = {"cpu_op", "user_annotation"}, *const gpu[] = {"kernel", "gpu_memcpy"},
                             *const runtime[] = {"cuda_runtime", "cuda_driver"};
    return (uint16_t)((is_one_of(text, cpu, 2) ? TRAIT_CPU_CATEGORY : 0) |
                      (is_one_of(text, runtime, 2) ? TRAIT_RUNTIME_CATEGORY : 0) |
                      (is_one_of(text, gpu, 2) ? TRAIT_GPU_CATEGORY : 0) |
                      (strcmp(text, "ac2g") == 0 ? TRAIT_ARROW_CATEGORY : 0) |
                      (is_launch(text) ? TRAIT_LAUNCH_NAME : 0) |
                      (strcmp(text, "nccl:coalesced") == 0 ? TRAIT_COALESCED_NAME : 0));
}

static uint16_t traits_of(const char *text, size_t length) {
    uint16_t traits = strlen(text) == length ? whole_traits(text) : 0;
    return (uint16_t)(traits | (contains(text, length, "ProfilerStep") ? TRAIT_STEP_NAME : 0) |
                      (contains_nccl(text, length) ? TRAIT_NCCL_NAME : 0) |
                      (contains(text, length, "ncclDevKernel") ? TRAIT_NCCL_KERNEL_NAME : 0));
}

uint16_t *string_traits(const struct strings *strings) {
    uint16_t *traits = malloc(((size_t)strings->n + 1) * sizeof *traits);
    for (uint32_t i = 0; traits && i < strings->n; i++)
        traits[i] = traits_of(strings_text(strings, i), strings_length(strings, i));
    return traits;
}

enum event_class event_classify(const struct device_events *events, const uint16_t *traits, row_t event) {
    if (events->category[event] == STRING_NONE)
        return EVENT_OTHER;
    uint16_t category = traits[events->category[event]], name = traits[events->name[event]];
    if (category & TRAIT_CPU_CATEGORY)
        return name & TRAIT_STEP_NAME ? EVENT_OTHER : EVENT_CPU_OP;
    if (category & TRAIT_RUNTIME_CATEGORY)
        return name & TRAIT_LAUNCH_NAME ? EVENT_LAUNCH : EVENT_OTHER;
    if (category & TRAIT_GPU_CATEGORY)
        return EVENT_GPU_OP;
    return category & TRAIT_ARROW_CATEGORY ? EVENT_ARROW : EVENT_OTHER;
}
