/*
 * nsys.c - measures reading a report of Nsight Systems, compared with SELECT of the same columns into nothing; prints a
 * Markdown table.
 *
 *     build/bench_nsys ROUNDS THREADS ROWS FILE     writes FILE: ROWS calls, kernels and NVTX ranges each
 *
 * Each round runs all ways once, so that other load slows all. SELECT steps through the rows and reads each value;
 * several threads read disjoint ranges of rowids with connections of their own, as the reader does. "columns" reads all
 * tables into the columns of a report, and connects launches, ranges and operators; "trace" also writes the text of the
 * rank and reads it as a device trace. Reported: wall time of the fastest round, its CPU time, rows per second of CPU
 * time, and the share of SELECT's.
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "base/threads.h"
#include "bench.h"
#include "read/nsys.h"
#include "sutra/sutra.h"

static const char schema[] =
    "PRAGMA journal_mode = off; PRAGMA synchronous = off;"
    "CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, eventClass INTEGER, globalTid INTEGER, "
    "correlationId INTEGER, nameId INTEGER, returnValue INTEGER, callchainId INTEGER);"
    "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER, "
    "greenContextId INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER, "
    "shortName INTEGER, mangledName INTEGER, launchType INTEGER, cacheConfig INTEGER, registersPerThread INTEGER, gridX "
    "INTEGER, gridY INTEGER, gridZ INTEGER, blockX INTEGER, blockY INTEGER, blockZ INTEGER, staticSharedMemory INTEGER, "
    "dynamicSharedMemory INTEGER, localMemoryPerThread INTEGER, localMemoryTotal INTEGER, gridOffsetX INTEGER, "
    "gridOffsetY INTEGER, gridOffsetZ INTEGER, graphNodeId INTEGER, graphId INTEGER);"
    "CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, rangeId INTEGER, category INTEGER, color "
    "INTEGER, text TEXT, globalTid INTEGER, endGlobalTid INTEGER, textId INTEGER, domainId INTEGER, uint64Value INTEGER, "
    "int64Value INTEGER, doubleValue REAL, uint32Value INTEGER, int32Value INTEGER, floatValue REAL, jsonTextId INTEGER, "
    "jsonText TEXT, binaryData TEXT); BEGIN;"
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300) INSERT INTO StringIds SELECT i + 1, "
    "'void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >(int, T2, T3) ' || i FROM n;"
    "INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000');"
    "CREATE TEMP TABLE n AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < %llu) SELECT i "
    "FROM n;"
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT i * 10000 + 123, i * 10000 + 5123, 0, (1 << 48) | (100 << 24) | 100, i, "
    "1, 0, NULL FROM n;"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL SELECT i * 10000 + 8001, i * 10000 + 15777, 0, 1, NULL, 7, i, (1 << 48) | (100 "
    "<< 24), 2 + i %% 300, 2, 2, 1, NULL, 32, 128, 1, 1, 256, 1, 1, 0, 1024, 0, 0, NULL, NULL, NULL, NULL, NULL FROM n;"
    "INSERT INTO NVTX_EVENTS (start, end, eventType, text, globalTid, domainId) SELECT i * 10000, i * 10000 + 6000, 59, "
    "'aten::add, seq = ' || i || ', op_id = ' || i || ', sizes = [[128, 1024], [128, 1024]]', (1 << 48) | (100 << 24) | "
    "100, 0 FROM n; COMMIT;";

/* The columns that the reader reads. */
static const char *const queries[] = {
    "SELECT start, end, globalTid, nameId, correlationId, eventClass FROM CUPTI_ACTIVITY_KIND_RUNTIME",
    "SELECT start, end, globalPid, deviceId, streamId, correlationId, contextId, graphNodeId, graphId, demangledName, "
    "shortName, registersPerThread, staticSharedMemory, dynamicSharedMemory, gridX, gridY, gridZ, blockX, blockY, blockZ "
    "FROM CUPTI_ACTIVITY_KIND_KERNEL",
    "SELECT start, end, globalTid, eventType, domainId, endGlobalTid, textId, text, binaryData FROM NVTX_EVENTS",
};
enum { N_QUERIES = 3 };

struct selection {
    const char *path;
    uint64_t n_rows;
    size_t n_parts;
};

static void make_report(const char *path, uint64_t n_rows) {
    static char text[sizeof schema + 32];
    sqlite3 *database;
    unlink(path);
    snprintf(text, sizeof text, schema, (unsigned long long)n_rows);
    if (sqlite3_open(path, &database) || sqlite3_exec(database, text, NULL, NULL, NULL))
        fail(sqlite3_errmsg(database));
    sqlite3_close(database);
}

static void select_part(void *arg, size_t number) {
    static volatile int64_t kept;
    const struct selection *selection = arg;
    const uint64_t part = number / N_QUERIES, first = selection->n_rows * part / selection->n_parts;
    const uint64_t end = selection->n_rows * (part + 1) / selection->n_parts;
    char uri[4200], query[600];
    sqlite3 *database;
    sqlite3_stmt *rows;
    int64_t sum = 0;
    snprintf(uri, sizeof uri, "file:%s?mode=ro&immutable=1", selection->path);
    snprintf(query, sizeof query, "%s WHERE rowid BETWEEN %" PRIu64 " AND %" PRIu64, queries[number % N_QUERIES],
             first + 1, end);
    if (sqlite3_open_v2(uri, &database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX, NULL))
        fail("the report cannot be opened");
    sqlite3_exec(database, "PRAGMA mmap_size = 100000000000", NULL, NULL, NULL);
    if (sqlite3_prepare_v2(database, query, -1, &rows, NULL))
        fail(sqlite3_errmsg(database));
    const int n_columns = sqlite3_column_count(rows);
    while (sqlite3_step(rows) == SQLITE_ROW)
        for (int i = 0; i < n_columns; i++)
            if (sqlite3_column_type(rows, i) == SQLITE_TEXT)
                sum += *(const char *)sqlite3_column_text(rows, i);
            else
                sum += sqlite3_column_int64(rows, i);
    kept = sum;
    (void)kept;
    sqlite3_finalize(rows);
    sqlite3_close(database);
}

static void read_columns(struct sutra_context *context, const char *path) {
    const struct nsys_options options = {.rank = NSYS_ALL_RANKS};
    struct nsys_report report;
    struct source source;
    struct sutra_error error;
    if (source_open(&source, path, 0, &error) || nsys_report_read(&report, context, &source, &options, &error))
        fail(error.message);
    nsys_report_free(&report);
    source_close(&source);
}

static void read_trace(struct sutra_context *context, const char *path) {
    struct sutra_device_trace *trace;
    struct sutra_error error;
    if (sutra_device_trace_read(context, path, &trace, &error))
        fail(error.message);
    sutra_device_trace_free(trace);
}

enum way { SELECT, COLUMNS, TRACE, N_WAYS };

int main(int argc, char **argv) {
    static const char *const names[N_WAYS] = {"SELECT", "columns", "trace"};
    if (argc != 5)
        fail("usage: bench_nsys ROUNDS THREADS ROWS FILE");
    const int n_rounds = atoi(argv[1]);
    const unsigned threads[2] = {1, (unsigned)atoi(argv[2])};
    struct selection selection = {.path = argv[4], .n_rows = strtoull(argv[3], NULL, 10)};
    double wall[2][N_WAYS] = {{0}}, cpu[2][N_WAYS] = {{0}};
    make_report(argv[4], selection.n_rows);
    for (int round = 0; round < n_rounds; round++)
        for (int t = 0; t < 2; t++) {
            const struct sutra_context_options options = {.size = sizeof options, .n_threads = threads[t]};
            struct sutra_context *context;
            if (sutra_context_create(&options, &context, NULL))
                fail("no context");
            selection.n_parts = threads[t];
            for (int way = 0; way < N_WAYS; way++) {
                double began = seconds(CLOCK_MONOTONIC), cpu_began = seconds(CLOCK_PROCESS_CPUTIME_ID);
                if (way == SELECT)
                    pool_run(context->pool, N_QUERIES * selection.n_parts, select_part, &selection);
                else
                    (way == COLUMNS ? read_columns : read_trace)(context, argv[4]);
                double took = seconds(CLOCK_MONOTONIC) - began;
                double used = seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_began;
                wall[t][way] = round && wall[t][way] < took ? wall[t][way] : took;
                cpu[t][way] = round && cpu[t][way] < used ? cpu[t][way] : used;
            }
            sutra_context_free(context);
        }
    printf(
        "| rows | threads | | wall, s | CPU, s | rows per s of CPU | of SELECT |\n|---:|---:|---|---:|---:|---:|---:|\n");
    for (int t = 0; t < 2; t++)
        for (int way = 0; way < N_WAYS; way++)
            printf("| %" PRIu64 " | %u | %s | %.2f | %.2f | %.2f million | %.0f %% |\n", N_QUERIES * selection.n_rows,
                   threads[t], names[way], wall[t][way], cpu[t][way],
                   (double)(N_QUERIES * selection.n_rows) / cpu[t][way] / 1e6, 100 * cpu[t][SELECT] / cpu[t][way]);
    return 0;
}
