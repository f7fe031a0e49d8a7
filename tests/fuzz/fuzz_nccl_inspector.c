/*
 * fuzz_nccl_inspector.c - fuzzes logs of NCCL Inspector: the input is read as a log, and analyzed as a file and as two
 * files of the same records.
 */
#include <unistd.h>

#include "analyze/table.h"
#include "fuzz.h"
#include "fuzz_trace.h"
#include "read/nccl_inspector.h"
#include "sutra/collectives.h"

static void check_log(const uint8_t *data, size_t size, bool *is_read) {
    struct inspector_log log;
    struct source source;
    struct sutra_error error = {0};
    *is_read = false;
    if (source_copy_any(&source, "a.log", data, size, &error)) {
        check(error.status == SUTRA_DATA, "compressed data may be corrupt");
        return;
    }
    const enum sutra_status status = inspector_log_parse(&log, &source, &error);
    check(status == SUTRA_OK || (status == SUTRA_DATA && error.message[0]), "errors have a message");
    check(status != SUTRA_OK || log.n_records > 0, "a log has records");
    for (uint64_t i = 0; i < log.n_records; i++) {
        const struct inspector_record *record = &log.records[i];
        check(record->member < log.n_members && record->type < log.strings.n, "records refer to members and types");
        check(record->number >= 0 && record->bytes >= 0 && record->duration_ns >= 0, "numbers are not negative");
        check(record->peer < log.members[record->member].n_ranks, "peers are ranks of the communicator");
    }
    *is_read = status == SUTRA_OK;
    inspector_log_free(&log);
    source_close(&source);
}

static void check_job(struct sutra_context *context, const char *path, size_t n) {
    const char *paths[] = {path, path};
    const struct sutra_collectives_options options = {.size = sizeof options, .arrivals = true};
    struct sutra_collectives *collectives = NULL;
    struct sutra_collectives_summary summary = {.size = sizeof summary};
    struct sutra_error error = {0};
    const enum sutra_status status = sutra_collectives_run(context, paths, n, &options, &collectives, &error);
    check_outcome(status, &error, collectives);
    if (!collectives)
        return;
    sutra_collectives_summary(collectives, &summary);
    const struct sutra_table *all = sutra_result_table(SUTRA_RESULT(collectives), SUTRA_COLLECTIVES_ALL, NULL);
    check(sutra_table_rows(all) == summary.n_collectives + summary.n_messages, "each collective has a row");
    for (uint64_t row = 0; row < sutra_table_rows(all) && summary.from_logs; row++)
        check(real_named(all, "transfer_us", row) >= 0 && real_named(all, "skew_us", row) >= 0, "times are positive");
    sutra_collectives_free(collectives);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sutra_context *context = new_context(1);
    char path[] = P_tmpdir "/sutra_fuzz_XXXXXX";
    const int file = mkstemp(path);
    bool is_read;
    check(file >= 0 && write(file, data, size) == (ssize_t)size, "a file can be made");
    close(file);
    check_log(data, size, &is_read);
    if (is_read) {
        check_job(context, path, 1);
        check_job(context, path, 2);
    }
    sutra_context_free(context);
    unlink(path);
    return 0;
}
