/*
 * options.c - implements options.h.
 */
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"

static size_t size_of(const void *sized) {
    size_t size;
    memcpy(&size, sized, sizeof size);
    return size;
}

enum sutra_status options_copy(const struct options_form *form, const void *given, void *taken,
                               struct sutra_error *error) {
    size_t size = given ? size_of(given) : form->size;
    const char *bytes = given;
    if (size < form->first)
        return error_set(error, SUTRA_USAGE, "struct %s: its size is %zu, at least %zu is required", form->name, size,
                         form->first);
    for (size_t i = form->size; i < size; i++)
        if (bytes[i])
            return error_set(error, SUTRA_USAGE,
                             "struct %s: byte %zu is set, which needs a later version of this library", form->name, i);
    memset(taken, 0, form->size);
    if (given)
        memcpy(taken, given, MIN(size, form->size));
    memcpy(taken, &form->size, sizeof form->size);
    return SUTRA_OK;
}

void report_give(void *report, const void *ours, size_t size) {
    size_t wanted = report ? size_of(report) : 0, head = sizeof wanted;
    if (wanted <= head)
        return;
    size_t known = MIN(wanted, size);
    memcpy((char *)report + head, (const char *)ours + head, known - head);
    memset((char *)report + known, 0, wanted - known);
}
