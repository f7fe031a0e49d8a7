/*
 * device_class.c - by category, and for kernels and sets by name:
 *
 *     COPY            MEMORY_COPY_HOST_TO_DEVICE and its like, __amd_rocclr_copyBuffer, with Rect and Aligned, and .kd
 *     COMPUTE         __amd_rocclr_fillBuffer, with Aligned, and .kd, whatever else it contains
 *     COMMUNICATION   contains nccl, rccl or cross_device_reduce, in any case
 *     COMPUTE         all the rest
 */
#include "facts/device_class.h"

#include <stdbool.h>
#include <string.h>

#include "facts/names.h"
#include "text/any_case.h"

struct name_rest {
    const char *text;
    size_t length;
};

/* Takes a word off the beginning, if it stands there. */
static bool skip(struct name_rest *rest, const char *word) {
    size_t n = strlen(word);
    if (rest->length < n || memcmp(rest->text, word, n) != 0)
        return false;
    rest->text += n;
    rest->length -= n;
    return true;
}

static bool is_over(struct name_rest rest) {
    skip(&rest, ".kd");
    return rest.length == 0;
}

static bool is_copy(struct name_rest name) {
    if (skip(&name, "MEMORY_COPY_"))
        return (skip(&name, "HOST_TO_DEVICE") || skip(&name, "DEVICE_TO_HOST") || skip(&name, "DEVICE_TO_DEVICE")) &&
               is_over(name);
    if (!skip(&name, "__amd_rocclr_copyBuffer"))
        return false;
    skip(&name, "Rect");
    skip(&name, "Aligned");
    return is_over(name);
}

static bool is_fill(struct name_rest name) {
    if (!skip(&name, "__amd_rocclr_fillBuffer"))
        return false;
    skip(&name, "Aligned");
    return is_over(name);
}

enum device_class device_class_of(uint32_t category, const char *text, size_t length) {
    struct name_rest name = {text, length};
    if (!(category & CATEGORY_WORK))
        return DEVICE_NO_WORK;
    if (category & CATEGORY_COPY || (category & CATEGORY_KERNEL && is_copy(name)))
        return DEVICE_COPY;
    if (is_fill(name))
        return DEVICE_COMPUTE;
    bool talks = text_has_in_any_case(text, length, "nccl") || text_has_in_any_case(text, length, "rccl") ||
                 text_has_in_any_case(text, length, "cross_device_reduce");
    return talks ? DEVICE_COMMUNICATION : DEVICE_COMPUTE;
}

bool device_is_collective(const char *text, size_t length) {
    static const char *const words[] = {"all_reduce", "allreduce", "alltoall",       "all_to_all",
                                        "all_gather", "allgather", "reduce_scatter", "reducescatter"};
    struct name_rest name = {text, length};
    if (skip(&name, "triton_"))
        return false;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (text_has_in_any_case(name.text, name.length, words[i]))
            return true;
    return false;
}
