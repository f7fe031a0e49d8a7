/*
 * hta_short_name.c - names of kernels without what stands in brackets, and without what stands before the last space:
 *
 *     void at::native::(anonymous namespace)::CatArrayBatchedCopy<float, 4>(...)    at::native::::CatArrayBatchedCopy
 */
#include <string.h>

#include "analyze/hta/hta.h"

static bool begins_with(const char *name, size_t length, const char *text) {
    return length >= strlen(text) && memcmp(name, text, strlen(text)) == 0;
}

static bool stays(const char *name, size_t length) {
    return begins_with(name, length, "Memcpy") || begins_with(name, length, "Memset") ||
           begins_with(name, length, "dma") || (!memchr(name, '<', length) && !memchr(name, '(', length));
}

/* Takes away all from the last bracket of a kind on; without one, all. */
static void close_bracket(struct buffer *text, char open) {
    while (text->length && text->bytes[text->length - 1] != open)
        text->length--;
    text->length -= text->length > 0;
}

void hta_short_name(const char *name, size_t length, struct buffer *shortened) {
    shortened->length = 0;
    if (stays(name, length)) {
        buffer_append(shortened, name, length);
        return;
    }
    for (size_t i = 0; i < length && !shortened->failed; i++) {
        if (begins_with(name + i, length - i, "->"))
            i++;
        else if (name[i] == '>')
            close_bracket(shortened, '<');
        else if (name[i] == ')')
            close_bracket(shortened, '(');
        else
            buffer_append(shortened, name + i, 1);
    }
    size_t behind = shortened->length;
    while (behind && shortened->bytes[behind - 1] != ' ')
        behind--;
    shortened->length -= behind;
    if (behind)
        memmove(shortened->bytes, shortened->bytes + behind, shortened->length);
}
