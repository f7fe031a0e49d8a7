/*
 * fuzz_et_lines.c - fuzzes JSON lines of Chakra files: they give a file that can be read, or an error.
 */
#include <unistd.h>

#include "fuzz.h"
#include "fuzz_trace.h"

/* A file that was read from lines, written and read again has the same number of nodes. */
static void check_bytes(struct sutra_context *context, const struct sutra_et *et) {
    char path[] = P_tmpdir "/sutra_fuzz_XXXXXX";
    struct sutra_et *again = NULL;
    struct sutra_error error = {0};
    int file = mkstemp(path);
    check(file >= 0, "a file can be made");
    close(file);
    check(sutra_et_write(context, et, path, NULL, &error) == SUTRA_OK, "what was read can be written");
    enum sutra_status status = sutra_et_read(context, path, NULL, &again, &error);
    check_outcome(status, &error, again);
    /* A node without anything is a message of no bytes, at which reading ends. */
    check(again && sutra_et_nodes(again) <= sutra_et_nodes(et), "and read");
    sutra_et_free(again);
    unlink(path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sutra_context *context = new_context(1);
    struct sutra_et *et = NULL;
    struct sutra_error error = {0};
    enum sutra_status status = sutra_et_parse_lines(context, "lines", data, size, &et, &error);
    check_outcome(status, &error, et);
    if (et)
        check_bytes(context, et);
    sutra_et_free(et);
    sutra_context_free(context);
    return 0;
}
