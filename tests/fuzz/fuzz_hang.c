/*
 * fuzz_hang.c - fuzzes the analysis of flight recorder dumps: the input is one dump, or several dumps between lines of
 * four equals signs, which are read as those of ranks 0, 1, ...; all tables and JSON are written.
 */
#include "fuzz.h"
#include "fuzz_trace.h"

#define DUMPS_MAX 8
#define SEPARATOR "\n====\n"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char *const names[DUMPS_MAX] = {"rank_0", "rank_1.json", "rank_2", "rank_3",
                                                 "rank_4", "rank_5",      "rank_6", "rank_7"};
    struct sutra_hang_dump dumps[DUMPS_MAX];
    size_t n = 0;
    for (const char *at = (const char *)data, *end = at + size; n < DUMPS_MAX; n++) {
        const char *next = memmem(at, (size_t)(end - at), SEPARATOR, strlen(SEPARATOR));
        dumps[n] = (struct sutra_hang_dump){names[n], at, (size_t)((next && n + 1 < DUMPS_MAX ? next : end) - at)};
        at = next ? next + strlen(SEPARATOR) : end;
        if (!next) {
            n++;
            break;
        }
    }
    struct sutra_context *context = new_context(1);
    const struct sutra_hang_options options = {.size = sizeof options, .operations = 1};
    struct sutra_hang *hang = NULL;
    struct sutra_error error = {0};
    enum sutra_status status = sutra_hang_parse(context, dumps, n, &options, &hang, &error);
    check_outcome(status, &error, hang);
    if (hang) {
        struct sutra_hang_summary summary = {.size = sizeof summary};
        struct sutra_hang_finding finding;
        sutra_hang_summary(hang, &summary);
        check(summary.why[0] && summary.n_ranks >= 1 && summary.world_size >= summary.n_ranks,
              "the summary is complete");
        size_t n_findings = 0;
        for (; sutra_hang_finding(hang, n_findings, &finding); n_findings++)
            check(finding.title[0] && finding.seen[0] && finding.remedy[0], "a finding has texts");
        check((n_findings > 0) == (summary.stuck != 0), "a stuck job has a cause");
        for (uint32_t id = 0; id < SUTRA_HANG_N_TABLES; id++)
            check(sutra_result_table(SUTRA_RESULT(hang), id, NULL), "all tables are available");
        check(sutra_hang_write_json(context, hang, "/dev/null", NULL, &error) == SUTRA_OK, "results are JSON");
    }
    sutra_hang_free(hang);
    sutra_context_free(context);
    return 0;
}
