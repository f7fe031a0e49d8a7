/*
 * kernel_type.c - what kind of work a kernel does, from its name, by HTA's expressions. Those of 0.5:
 *
 *     COMMUNICATION   ^nccl.*Kernel               so ncclKernel_..., ncclDevKernel_... and ncclSymKernel_...
 *     MEMORY          ^Memcpy, ^Memset, ^dma
 *     OTHER           Memcpy or Sync anywhere (Memset would have to stand first, and is memory then)
 *     COMPUTATION     all the rest
 *
 * Those of 0.6:
 *
 *     COMMUNICATION   ^nccl, ^hip, ^hccl, ncclKernel anywhere
 *     MEMORY          ^Memcpy, ^Memset, ^dma (and ^hipMemcpy, ^hipMemset, were they no communication)
 *     OTHER           Memcpy, Memset, dma or Sync anywhere, ^Stream Wait Event, ^cuda.*LaunchKernel, ^runFunction, and
 *                     how kernels of MTIA begin
 *     COMPUTATION     all the rest
 *
 * A dot does not match a line end, so what it stands for must be on the first line.
 */
#include "facts/kernel_type.h"

#include <string.h>

const char *const kernel_type_names[KERNEL_N_TYPES] = {"COMPUTATION", "COMMUNICATION", "MEMORY", "OTHER"};

static bool begins_with(const char *name, size_t length, const char *word) {
    size_t n = strlen(word);
    return length >= n && memcmp(name, word, n) == 0;
}

static bool has(const char *name, size_t length, const char *word) {
    return memmem(name, length, word, strlen(word)) != NULL;
}

enum kernel_type kernel_type_of(const char *name, size_t length) {
    const char *line_end = memchr(name, '\n', length);
    size_t line = line_end ? (size_t)(line_end - name) : length;
    if (begins_with(name, line, "nccl") && has(name + 4, line - 4, "Kernel"))
        return KERNEL_COMMUNICATION;
    if (begins_with(name, length, "Memcpy") || begins_with(name, length, "Memset") || begins_with(name, length, "dma"))
        return KERNEL_MEMORY;
    return has(name, line, "Memcpy") || has(name, line, "Sync") ? KERNEL_OTHER : KERNEL_COMPUTATION;
}

static bool begins_with_any(const char *name, size_t length, const char *const *words, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (begins_with(name, length, words[i]))
            return true;
    return false;
}

static bool has_any(const char *name, size_t length, const char *const *words, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (has(name, length, words[i]))
            return true;
    return false;
}

#define N(words) (sizeof(words) / sizeof *(words))

enum kernel_type kernel_type_of_0_6(const char *name, size_t length, bool hip_communicates) {
    static const char *const memory[] = {"Memcpy", "Memset", "dma"};
    static const char *const hip_memory[] = {"hipMemcpy", "hipMemset"};
    static const char *const other[] = {"Memcpy", "Memset", "dma", "Sync"};
    static const char *const other_begins[] = {"Stream Wait Event",
                                               "runFunction",
                                               "job_exe",
                                               "packet",
                                               "pe_exe",
                                               "cpum_exe_subgraph",
                                               "collective_subgraph_execution"};
    const char *line_end = memchr(name, '\n', length);
    size_t line = line_end ? (size_t)(line_end - name) : length;
    bool hip = begins_with(name, length, "hip");
    if (begins_with(name, length, "nccl") || begins_with(name, length, "hccl") || (hip && hip_communicates) ||
        has(name, line, "ncclKernel"))
        return KERNEL_COMMUNICATION;
    if (begins_with_any(name, length, memory, N(memory)) || begins_with_any(name, length, hip_memory, N(hip_memory)))
        return KERNEL_MEMORY;
    bool launch = begins_with(name, line, "cuda") && has(name + 4, line - 4, "LaunchKernel");
    bool is_other =
        launch || has_any(name, line, other, N(other)) || begins_with_any(name, length, other_begins, N(other_begins));
    return is_other ? KERNEL_OTHER : KERNEL_COMPUTATION;
}
