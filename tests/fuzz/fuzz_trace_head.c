/*
 * fuzz_trace_head.c - fuzzes the detection of trace kind and rank from the head of a file and from its name: fields
 * after the head are not used, and a longer head gives the same fields or more.
 */
#include "fuzz.h"
#include "read/file_kind.h"

/* A copy of the exact size, so that AddressSanitizer detects reads beyond the end. */
static struct trace_head look(const uint8_t *data, size_t size) {
    struct trace_head head;
    char *bytes = new_bytes(size);
    if (size)
        memcpy(bytes, data, size);
    trace_head_inspect(bytes, size, &head);
    free(bytes);
    return head;
}

static void check_name(const uint8_t *data, size_t size) {
    char *name = padded_copy(data, size);
    int64_t number = trace_name_number(name);
    check(number >= NOT_RECORDED && number < 1000000000, "numbers of names have nine digits at most");
    free(name);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct trace_head whole = look(data, size), part = look(data, size / 2);
    check(whole.pid >= NOT_RECORDED && whole.rank >= NOT_RECORDED && whole.world_size >= NOT_RECORDED,
          "numbers are not negative");
    check(part.side == SIDE_UNKNOWN || part.side == whole.side, "a longer beginning is of the same side");
    check(part.side != SIDE_DEVICE || part.rank == whole.rank, "a longer beginning tells the same rank");
    check_name(data, size);
    return 0;
}
