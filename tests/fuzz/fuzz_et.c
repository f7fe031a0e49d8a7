/*
 * fuzz_et.c - fuzzes the reader of Chakra files: the input is read completely or up to its first error, checked,
 * summarized, drawn, and written as JSON and as protobuf; reading the output gives the same result.
 */
#include <unistd.h>

#include "fuzz.h"
#include "fuzz_trace.h"
#include "simulate/et_file.h"

/* A file that was written, as long as it is looked at. */
struct written {
    char *bytes;
    size_t size;
};

static struct written read_written(const char *path) {
    struct written written = {0};
    FILE *file = fopen(path, "rb");
    check(file && fseek(file, 0, SEEK_END) == 0, "the file that was written is there");
    written.size = (size_t)ftell(file);
    written.bytes = new_bytes(written.size);
    rewind(file);
    check(fread(written.bytes, 1, written.size, file) == written.size, "and can be read");
    fclose(file);
    return written;
}

static struct written write_et(struct sutra_context *context, const struct sutra_et *et, const char *path) {
    struct sutra_error error;
    check(et_write(&et->file.nodes, NULL, context, path, NULL, &error) == SUTRA_OK, "what was read can be written");
    return read_written(path);
}

static struct written write_lines(struct sutra_context *context, const struct sutra_et *et, const char *path) {
    struct sutra_error error;
    check(sutra_et_write_json(context, et, SUTRA_ET_LINES, path, NULL, &error) == SUTRA_OK, "and as JSON");
    return read_written(path);
}

static void check_again(struct sutra_context *context, const struct sutra_et *et, const char *path) {
    struct written bytes = write_et(context, et, path), lines = write_lines(context, et, path);
    struct sutra_et *again = NULL;
    struct sutra_error error;
    check(sutra_et_parse(context, "a.0.et", bytes.bytes, bytes.size, NULL, &again, &error) == SUTRA_OK, "read again");
    struct written same = write_et(context, again, path), same_lines = write_lines(context, again, path);
    /* A node of which nothing is left is a message of no bytes, at which reading ends. */
    if (again->file.nodes.n == et->file.nodes.n) {
        check(same_bytes(bytes.bytes, bytes.size, same.bytes, same.size), "our own bytes stay");
        check(same_bytes(lines.bytes, lines.size, same_lines.bytes, same_lines.size), "and give the same lines");
    }
    sutra_et_free(again);
    free(bytes.bytes);
    free(lines.bytes);
    free(same.bytes);
    free(same_lines.bytes);
}

static void check_rules(struct sutra_context *context, const struct sutra_et *et, bool odd) {
    struct sutra_et_check_options options = {
        .size = sizeof options, .feeder = odd ? SUTRA_FEEDER_V1 : SUTRA_FEEDER_V3, .roofline = odd};
    struct sutra_et_check_report report = {.size = sizeof report};
    struct sutra_et_finding finding;
    struct sutra_et_check *checked = NULL;
    struct sutra_error error;
    uint64_t n = 0;
    check(sutra_et_check_create(context, &options, &checked, &error) == SUTRA_OK, "a check begins");
    check(sutra_et_check_add(checked, et, &error) == SUTRA_OK, "files are checked");
    check(sutra_et_check_add(checked, et, &error) == SUTRA_OK, "twice");
    check(sutra_et_check_finish(checked, &error) == SUTRA_OK, "and as a job");
    for (; sutra_et_check_finding(checked, n, &finding); n++)
        check(finding.count > 0 && finding.n_ids <= finding.count, "a finding counts something");
    sutra_et_check_report(checked, &report);
    check(report.n_errors + report.n_warnings == n, "all are counted");
    sutra_et_check_free(checked);
}

static void check_info(struct sutra_context *context, struct sutra_et *et, const char *path) {
    struct sutra_et_info info = {.size = sizeof info};
    struct sutra_et_draw_options how = {.size = sizeof how, .collectives = true};
    struct sutra_error error;
    uint64_t n = 0;
    check(sutra_et_info(context, et, &info, &error) == SUTRA_OK, "a file can be described");
    for (int type = 0; type < SUTRA_ET_TYPES; type++)
        n += info.n_of_type[type];
    check(n == info.n_nodes && info.n_cpu + info.n_gpu == n, "each node has one type");
    check(info.n_cyclic == n || info.n_levels > 0, "nodes make levels");
    check(sutra_et_draw(context, et, &how, SUTRA_ET_DOT, path, NULL, &error) == SUTRA_OK, "and drawn");
    check(sutra_et_draw(context, et, &how, SUTRA_ET_GRAPHML, path, NULL, &error) == SUTRA_OK, "twice");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sutra_et_read_options damaged = {.size = sizeof damaged, .damaged = true};
    struct sutra_context *context = new_context(1);
    struct sutra_et *whole = NULL, *part = NULL;
    struct sutra_error error = {0};
    char path[] = P_tmpdir "/sutra_fuzz_XXXXXX";
    int file = mkstemp(path);
    check(file >= 0, "a file can be made");
    close(file);
    enum sutra_status status = sutra_et_parse(context, "a.0.et", data, size, NULL, &whole, &error);
    check_outcome(status, &error, whole);
    if (whole)
        check_again(context, whole, path);
    status = sutra_et_parse(context, "a.0.et", data, size, &damaged, &part, &error);
    check_outcome(status, &error, part);
    if (part) {
        check(!whole || part->file.nodes.n == whole->file.nodes.n, "a whole file is read as one");
        check_rules(context, part, size % 2);
        check_info(context, part, path);
    }
    sutra_et_free(whole);
    sutra_et_free(part);
    sutra_context_free(context);
    unlink(path);
    return 0;
}
