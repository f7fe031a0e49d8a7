/*
 * nvtx.c - texts and payloads of NVTX ranges (nsys.h).
 */
#include "read/nsys.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/shared.h"
#include "text/numbers.h"
#include "text/strings.h"

/* ---- Texts of emit_nvtx() ---- */

static const char sequence_key[] = ", seq = ", record_key[] = ", op_id = ", sizes_key[] = ", sizes = [",
                  inputs_key[] = ", input_op_ids = [";

/* Reads "KEY NUMBER" and moves *at after the digits; false: another text. */
static bool read_number(const char **at, const char *end, const char *key, int64_t *number) {
    if (!text_begins_with(*at, (size_t)(end - *at), key))
        return false;
    const char *digits = *at + strlen(key), *after = digits;
    while (after < end && is_digit(*after))
        after++;
    if (!integer_parse(digits, (size_t)(after - digits), number))
        return false;
    *at = after;
    return true;
}

/* The length of a JSON list of integers and lists, or 0 if the text is not one. */
static size_t list_length(const char *text, size_t n) {
    size_t depth = 0;
    bool wants_value = true, is_open = false; /* a value must follow; a list has just begun */
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        if (c == ' ')
            continue;
        if (c == '[' && wants_value) {
            depth++;
            is_open = true;
            continue;
        }
        if (c == ']' && depth > 0 && (!wants_value || is_open)) {
            wants_value = is_open = false;
            if (--depth == 0)
                return i + 1 == n ? n : 0;
        } else if (c == ',' && !wants_value) {
            wants_value = true;
        } else if (wants_value && depth > 0 && (is_digit(c) || (c == '-' && i + 1 < n && is_digit(text[i + 1])))) {
            size_t begin = i + (c == '-');
            while (i + 1 < n && is_digit(text[i + 1]))
                i++;
            if (i > begin && text[begin] == '0')
                return 0;
            wants_value = is_open = false;
        } else {
            return 0;
        }
    }
    return 0;
}

/* Reads the parts from `at` on, each of which is optional; false: another text follows. A list extends to the first
 * bracket after which the text continues with the inputs, or else to the end. */
static bool read_parts(const char *at, const char *end, struct nvtx_label *label) {
    read_number(&at, end, sequence_key, &label->sequence);
    read_number(&at, end, record_key, &label->record);
    bool ends_in_list = end[-1] == ']';
    if (text_begins_with(at, (size_t)(end - at), sizes_key)) {
        if (!ends_in_list)
            return false;
        label->sizes = at + sizeof sizes_key - 2;
        size_t length = (size_t)(end - label->sizes), key_length = sizeof inputs_key - 1;
        for (const char *from = label->sizes, *found; from < end; from = found + 1) {
            found = memmem(from, (size_t)(end - from), inputs_key, key_length);
            if (!found)
                break;
            if (found[-1] == ']') {
                length = (size_t)(found - label->sizes);
                break;
            }
        }
        label->sizes_length = list_length(label->sizes, length);
        return true;
    }
    return at == end || (text_begins_with(at, (size_t)(end - at), inputs_key) && ends_in_list);
}

bool nvtx_label_read(const char *text, size_t n, struct nvtx_label *label) {
    const char *end = text + n;
    if (n > 0 && end[-1] == '\n')
        end--;
    for (const char *at = text; at < end && (at = memmem(at, (size_t)(end - at), ", ", 2)); at++) {
        struct nvtx_label found = {(size_t)(at - text), NVTX_NONE, NVTX_NONE, NULL, 0, false};
        if (!read_parts(at, end, &found))
            continue;
        if (found.sequence == NVTX_NONE && found.record == NVTX_NONE && !found.sizes)
            return false; /* only input ids */
        static const char backward[] = "autograd::engine::evaluate_function: ";
        for (size_t i = 0; i < found.name_length; i++)
            found.is_annotation |=
                (text[i] >= '\t' && text[i] <= '\r') || (text[i] >= 0x1c && text[i] <= ' ') || text[i] == '#';
        found.is_annotation |= found.name_length >= 5 && memcmp(text, "nccl:", 5) == 0;
        found.is_annotation &=
            found.name_length < sizeof backward - 1 || memcmp(text, backward, sizeof backward - 1) != 0;
        *label = found;
        return true;
    }
    return false;
}

bool nvtx_step_read(const char *text, size_t n, int64_t *step) {
    static const char *const words[] = {"profilerstep", "iteration",  "iter",       "step",
                                        "batch",        "train_step", "global_step"};
    if (n > 0 && text[n - 1] == '\n')
        n--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t at = strlen(words[i]);
        if (n <= at || strncasecmp(text, words[i], at) != 0)
            continue;
        while (at < n && text[at] && strchr(" _:#-", text[at]))
            at++;
        size_t first = at;
        while (at < n && is_digit(text[at]))
            at++;
        if (at == n && at > first && integer_parse(text + first, at - first, step))
            return true;
    }
    return false;
}

bool nsys_kernel_communicates(const char *name, size_t n) {
    static const char *const words[] = {"nccl", "rccl", "cross_device_reduce", "deep_ep", "dpsk::ep"};
    bool found = false;
    for (size_t i = 0; i < sizeof words / sizeof *words && !found; i++)
        found = text_has_in_any_case(name, n, words[i]);
    return found;
}

/* ---- Payloads ---- */

unsigned nccl_field_named(const char *name) {
    static const char *const names[NCCL_N_FIELDS] = {
        [NCCL_COMMUNICATOR] = "NCCL communicator ID",
        [NCCL_N_RANKS] = "No. of ranks",
        [NCCL_RANK] = "Rank",
        [NCCL_BYTES] = "Message size [bytes]",
    };
    unsigned field = 0;
    while (field < NCCL_N_FIELDS && strcmp(name, names[field]) != 0)
        field++;
    return field;
}

ORDER_BY(compare_entries, struct nvtx_schema_entry,
         ASCENDING(domain) ASCENDING(schema) ASCENDING(index) DESCENDING(row))

void nvtx_schemas_sort(struct nvtx_schemas *schemas) {
    struct nvtx_schema_entry *list = schemas->list;
    size_t n = 0;
    if (!schemas->n)
        return;
    qsort(list, schemas->n, sizeof *list, compare_entries);
    for (size_t i = 0; i < schemas->n; i++)
        if (n == 0 || list[i].domain != list[n - 1].domain || list[i].schema != list[n - 1].schema ||
            list[i].index != list[n - 1].index)
            list[n++] = list[i];
    schemas->n = n;
}

/* Types of NVTX by number: their size in bytes, negative if they are signed; 0: no integer. */
static const signed char type_sizes[] = {0, -1, 1, -2, 2, -4, 4, -8, 8, -8, 8, -1,
                                         1, -2, 2, -4, 4, -8, 8, 0,  0, 0,  8, 8};

static int64_t read_integer(const char *bytes, int size) {
    uint64_t value = 0;
    int n = abs(size);
    for (int i = 0; i < n; i++)
        value |= (uint64_t)(unsigned char)bytes[i] << 8 * i;
    if (size < 0 && n < 8 && value >> (8 * n - 1))
        value |= UINT64_MAX << 8 * n;
    return (int64_t)value;
}

struct nccl_payload nvtx_payload_read(const struct nvtx_schemas *schemas, const void *bytes, size_t n) {
    enum { HEAD = 4 * sizeof(int64_t) };
    struct nccl_payload payload = {.has = 0};
    int64_t head[4]; /* domain, schema, size, offset */
    if (!schemas->n || n < HEAD)
        return payload;
    for (int i = 0; i < 4; i++)
        head[i] = read_integer((const char *)bytes + 8 * i, 8);
    uint64_t begin = MIN((uint64_t)head[3], n), size = MIN((uint64_t)head[2], n - begin), position = 0;
    const char *body = (const char *)bytes + begin;
    const struct nvtx_schema_entry *list = schemas->list;
    size_t at = 0;
    BISECT(at, schemas->n, list[at].domain < head[0] || (list[at].domain == head[0] && list[at].schema < head[1]));
    for (; at < schemas->n && list[at].domain == head[0] && list[at].schema == head[1]; at++) {
        uint64_t offset = list[at].offset == NVTX_NONE ? position : (uint64_t)list[at].offset;
        int type_size =
            list[at].type >= 0 && list[at].type < (int64_t)sizeof type_sizes ? type_sizes[list[at].type] : 0;
        if (!type_size || offset > size || size - offset < (uint64_t)abs(type_size))
            continue;
        position = offset + (uint64_t)abs(type_size);
        if (list[at].field == NCCL_N_FIELDS)
            continue;
        payload.field[list[at].field] = read_integer(body + offset, type_size);
        payload.has |= 1u << list[at].field;
    }
    return payload;
}
