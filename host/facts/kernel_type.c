/*
 * kernel_type.c - what kind of work a kernel does, from its name, by HTA's expressions:
 *
 *     COMMUNICATION   ^nccl.*Kernel               so ncclKernel_..., ncclDevKernel_... and ncclSymKernel_...
 *     MEMORY          ^Memcpy, ^Memset, ^dma
 *     OTHER           Memcpy or Sync anywhere (Memset would have to stand first, and is memory then)
 *     COMPUTATION     all the rest
 *
 * A dot does not match a line end, so what it stands for must be on the first line.
 */
#include "facts/kernel_type.h"

#include <stdbool.h>
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
