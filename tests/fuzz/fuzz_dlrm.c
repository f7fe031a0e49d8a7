/*
 * fuzz_dlrm.c - fuzzes the DLRM analysis: the input is a device trace, its last byte selects the options. One and two
 * threads give equal results, and tables add up, or the same error.
 */
#include <math.h>

#include "fuzz.h"
#include "fuzz_trace.h"

struct made {
    struct sutra_context *context;
    struct sutra_device_trace *trace;
    struct sutra_dlrm *dlrm;
    struct sutra_error error;
    enum sutra_status status;
};

static struct made make(unsigned n_threads, const uint8_t *data, size_t size,
                        const struct sutra_dlrm_options *options) {
    struct made made = {.context = new_context(n_threads)};
    made.status = sutra_device_trace_parse(made.context, "device", data, size, &made.trace, &made.error);
    check_outcome(made.status, &made.error, made.trace);
    if (made.trace) {
        made.status = sutra_dlrm_analyze(made.context, made.trace, options, &made.dlrm, &made.error);
        check_outcome(made.status, &made.error, made.dlrm);
    }
    return made;
}

static void made_free(struct made *made) {
    sutra_dlrm_free(made->dlrm);
    sutra_device_trace_free(made->trace);
    sutra_context_free(made->context);
}

/* Time of what is below rows and entries stays inside of the arrays, and shares of a bar are parts of one. */
static void check_tables(const struct sutra_dlrm *dlrm, const struct sutra_dlrm_report *report) {
    for (uint64_t i = 0; i < report->n_rows; i++) {
        const struct sutra_dlrm_row *row = &report->rows[i];
        check(sutra_dlrm_text(dlrm, row->name) && row->count > 0, "a row has a name and counts something");
        check(row->first_child + (uint64_t)row->n_children <= report->n_rows, "children are rows");
        check(row->n_children == 0 || row->first_child > i, "and stand behind their parent");
        check(report->by_time[i] < report->n_rows, "rows by time are rows");
    }
    for (uint64_t i = 0; i < report->n_streams; i++) {
        const struct sutra_dlrm_stream *stream = &report->streams[i];
        check(stream->first_row + (uint64_t)stream->n_rows <= report->n_rows, "a stream's rows are rows");
        for (uint64_t j = 1; j < stream->n_rows; j++)
            check(!(report->rows[report->by_time[stream->first_row + j]].us >
                    report->rows[report->by_time[stream->first_row + j - 1]].us),
                  "rows by time fall");
        for (uint64_t j = 0; j < stream->n_groups; j++) {
            const struct sutra_dlrm_group *group = &report->groups[stream->first_group + j];
            check(group->n_variants > 0 && group->n_variants <= group->n_all_variants, "a group has bars");
        }
    }
    for (uint64_t i = 0; i < report->n_overheads; i++)
        check(report->overheads[i].n > 0 || isnan(report->overheads[i].mean_us), "a mean of something, or none");
}

static bool same_number(double a, double b) {
    return a == b || (isnan(a) && isnan(b));
}

static void check_same(const struct sutra_dlrm_report *one, const struct sutra_dlrm_report *two) {
    check(one->n_nodes == two->n_nodes && one->n_ops == two->n_ops && one->n_roots == two->n_roots, "the same forest");
    check(one->n_rows == two->n_rows && one->n_streams == two->n_streams, "as many rows");
    check(same_number(one->qps, two->qps) && same_number(one->attributed_us, two->attributed_us) &&
              same_number(one->overlap_us, two->overlap_us),
          "the same figures");
    check(!one->n_rows || memcmp(one->rows, two->rows, one->n_rows * sizeof *one->rows) == 0, "the same rows");
    check(one->n_overheads == two->n_overheads, "as many overheads");
    for (uint64_t i = 0; i < one->n_overheads; i++)
        check(same_number(one->overheads[i].mean_us, two->overheads[i].mean_us), "the same overheads");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    uint8_t bits = size ? data[size - 1] : 0; /* after the trace's end, where white space is harmless */
    struct sutra_dlrm_options options = {.size = sizeof options,
                                         .compat = bits & 1,
                                         .module_marker = bits & 2 ? "" : NULL,
                                         .trim = bits & 4 ? SUTRA_TRIM_PERCENTAGE : SUTRA_TRIM_AUTO,
                                         .iters = 1 + bits % 3,
                                         .from = 10,
                                         .to = 90};
    struct made one = make(1, data, size, &options), two = make(2, data, size, &options);
    check(one.status == two.status, "threads do not change the status");
    if (one.dlrm) {
        struct sutra_dlrm_report left = {.size = sizeof left}, right = {.size = sizeof right};
        sutra_dlrm_report(one.dlrm, &left);
        sutra_dlrm_report(two.dlrm, &right);
        check_tables(one.dlrm, &left);
        check_same(&left, &right);
    }
    made_free(&one);
    made_free(&two);
    return 0;
}
