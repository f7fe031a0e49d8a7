/*
 * nsys_tables.c - reads the tables of an export of Nsight Systems into a report.
 *
 * Each table is cut into ranges of rowids, which the threads scan with connections of their own, each once:
 *
 *     CUPTI_ACTIVITY_KIND_RUNTIME  | part 0 | part 1 | part 2 |     CUPTI_ACTIVITY_KIND_KERNEL  | part 3 | part 4 | ...
 *
 * Parts are joined in this order, so results do not depend on the number of threads. Absent tables have no rows, absent
 * columns are not recorded. Definitions: NVIDIA Nsight Systems User Guide, "SQLite Schema Reference"; types of copies
 * and memory are the enumerations of CUPTI. O(rows).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "read/database.h"
#include "read/nsys.h"
#include "text/numbers.h"

#define LOW24 ((int64_t)0xffffff) /* the thread in globalTid; the other bits are the process */

/* A row of a table takes at least this much of the file. */
#define ROW_BYTES_MIN 8

/* Fewest rows of a part: opening a connection costs as much as a few hundred rows. */
#define PART_ROWS ((uint64_t)1 << 16)

/* A recorded event, for waits: which call recorded it on which stream. */
struct event_record {
    int64_t process, event, sync;
    int64_t stream, correlation;
    uint64_t row;
};

/* What all parts read. */
struct scan {
    struct database_file *file;
    struct sutra_context *context;
    int64_t *ids;    /* of StringIds, ascending */
    uint32_t *text;  /* names by index of `ids`, */
    uint32_t *calls; /* and the same without the version of a CUDA call: cudaLaunchKernel_v7000 */
    uint64_t n_ids;
    uint32_t empty; /* the name "" */
    const struct strings *names;
    bool keeps_labels;
    struct event_record *records;
    uint64_t n_records;
    struct nvtx_schemas schemas;
    struct scan_task *tasks;
    struct nsys_part *parts;
};

typedef void read_row(const struct scan *scan, struct nsys_part *part, sqlite3_stmt *row);

/* A kind of table: the function that reads a row, and the struct that each row fills. */
struct table_kind {
    const char *name, *columns;
    read_row *read;
    bool are_gpus, are_ranges;
};

struct scan_task {
    struct database_table table;
    const struct table_kind *kind;
};

/* ---- Values ---- */

/* Only a zero may be NULL. */
static int64_t number_of(sqlite3_stmt *row, int column) {
    int64_t value = sqlite3_column_int64(row, column);
    return value == 0 && sqlite3_column_type(row, column) == SQLITE_NULL ? NSYS_NONE : value;
}

/* The index of a string's id, or n_ids. */
static uint64_t find_id(const struct scan *scan, int64_t id) {
    uint64_t at = scan->n_ids ? (uint64_t)id - (uint64_t)scan->ids[0] : 0;
    if (at < scan->n_ids && scan->ids[at] == id) /* ids without gaps */
        return at;
    BISECT(at, scan->n_ids, scan->ids[at] < id);
    return at < scan->n_ids && scan->ids[at] == id ? at : scan->n_ids;
}

/* The string of an id in a column, or `otherwise`. */
static uint32_t name_of(const struct scan *scan, const uint32_t *names, sqlite3_stmt *row, int column,
                        uint32_t otherwise) {
    int64_t id = number_of(row, column);
    uint64_t at = id == NSYS_NONE ? scan->n_ids : find_id(scan, id);
    return at < scan->n_ids ? names[at] : otherwise;
}

static uint32_t intern_local(struct nsys_part *part, const char *text, size_t n) {
    return nsys_intern(&part->names, &part->scratch, text, n, &part->failed) | NSYS_LOCAL;
}

/* Notes the start of a valid event; and whether the process is read. */
static bool is_read(struct nsys_part *part, int64_t start, int64_t end, int64_t process) {
    if (start != NSYS_NONE && end != NSYS_NONE && end >= start)
        part->first_start = MIN(part->first_start, start);
    return part->process == NSYS_NONE || process == NSYS_NONE || process == part->process;
}

/* ---- Rows of CPU threads ---- */

static const char call_columns[] = "start end globalTid nameId correlationId eventClass";

static void read_call(const struct scan *scan, struct nsys_part *part, sqlite3_stmt *row) {
    int64_t start = number_of(row, 0), end = number_of(row, 1), thread = sqlite3_column_int64(row, 2);
    int64_t process = thread & ~LOW24;
    if (start != NSYS_NONE && end >= start) {
        part->has_call_processes |= part->call_process != NSYS_NONE && part->call_process != process;
        part->call_process = process;
    }
    if (is_read(part, start, end, process))
        nsys_add_event(part, sqlite3_column_int64(row, 5) == 1 ? NSYS_DRIVER : NSYS_RUNTIME, start, end, process,
                       thread & LOW24, number_of(row, 4), name_of(scan, scan->calls, row, 3, scan->empty));
}

static const char os_call_columns[] = "start end globalTid nameId";

static void read_os_call(const struct scan *scan, struct nsys_part *part, sqlite3_stmt *row) {
    int64_t start = number_of(row, 0), end = number_of(row, 1), thread = sqlite3_column_int64(row, 2);
    if (is_read(part, start, end, thread & ~LOW24))
        nsys_add_event(part, NSYS_OS_RUNTIME, start, end, thread & ~LOW24, thread & LOW24, NSYS_NONE,
                       name_of(scan, scan->text, row, 3, scan->empty));
}

static const char overhead_columns[] = "start end globalTid nameId overheadType";

static void read_overhead(const struct scan *scan, struct nsys_part *part, sqlite3_stmt *row) {
    int64_t start = number_of(row, 0), end = number_of(row, 1), thread = sqlite3_column_int64(row, 2);
    if (!is_read(part, start, end, thread & ~LOW24))
        return;
    uint32_t name = name_of(scan, scan->text, row, 3, STRING_NONE);
    if (name == STRING_NONE) {
        char text[40];
        int n = snprintf(text, sizeof text, "overhead %" PRId64, (int64_t)sqlite3_column_int64(row, 4));
        name = intern_local(part, text, (size_t)n);
    }
    nsys_add_event(part, NSYS_OVERHEAD, start, end, thread & ~LOW24, thread & LOW24, NSYS_NONE, name);
}

/* ---- Rows of GPUs ---- */

/* The columns with which all tables of GPU activity begin, and the number of the next one. */
#define GPU_COLUMNS "start end globalPid deviceId streamId correlationId contextId graphNodeId graphId"
enum { GPU_N_COLUMNS = 9 };

static struct nsys_gpu read_gpu(sqlite3_stmt *row) {
    return (struct nsys_gpu){.context = number_of(row, 6),
                             .graph_node = number_of(row, 7),
                             .graph = number_of(row, 8),
                             .bytes = NSYS_NONE,
                             .device = nsys_int32(sqlite3_column_int64(row, 3)),
                             .registers = -1};
}

static void add_gpu(struct nsys_part *part, uint8_t category, sqlite3_stmt *row, uint32_t name,
                    const struct nsys_gpu *gpu) {
    nsys_add_gpu(part, category, number_of(row, 0), number_of(row, 1), number_of(row, 2), sqlite3_column_int64(row, 4),
                 name, number_of(row, 5), gpu);
}

static bool gpu_is_read(struct nsys_part *part, sqlite3_stmt *row) {
    return is_read(part, number_of(row, 0), number_of(row, 1), number_of(row, 2));
}

static const char kernel_columns[] =
    GPU_COLUMNS " demangledName shortName registersPerThread staticSharedMemory dynamicSharedMemory"
                " gridX gridY gridZ blockX blockY blockZ";

static void read_kernel(const struct scan *scan, struct nsys_part *part, sqlite3_stmt *row) {
    if (!gpu_is_read(part, row))
        return;
    uint32_t name = name_of(scan, scan->text, row, GPU_N_COLUMNS, scan->empty);
    if (name == scan->empty)
        name = name_of(scan, scan->text, row, GPU_N_COLUMNS + 1, scan->empty);
    struct nsys_gpu gpu = read_gpu(row);
    gpu.form = NSYS_LAUNCH;
    if (sqlite3_column_type(row, GPU_N_COLUMNS + 2) != SQLITE_NULL)
        gpu.registers = nsys_int32(sqlite3_column_int64(row, GPU_N_COLUMNS + 2));
    gpu.bytes = (int64_t)((uint64_t)sqlite3_column_int64(row, GPU_N_COLUMNS + 3) +
                          (uint64_t)sqlite3_column_int64(row, GPU_N_COLUMNS + 4));
    for (int i = 0; i < 3; i++) {
        gpu.grid[i] = nsys_int32(sqlite3_column_int64(row, GPU_N_COLUMNS + 5 + i));
        gpu.block[i] = nsys_int32(sqlite3_column_int64(row, GPU_N_COLUMNS + 8 + i));
    }
    add_gpu(part, NSYS_KERNEL, row, name, &gpu);
}

/* CUpti_ActivityMemoryKind. */
static const char *memory_name(sqlite3_stmt *row, int column) {
    static const char *const names[] = {"Pageable", "Pinned",        "Device",         "Array",
                                        "Managed",  "Device Static", "Managed Static", "Unknown"};
    int64_t kind = number_of(row, column);
    return kind >= 0 && kind < (int64_t)(sizeof names / sizeof *names) ? names[kind] : "Unknown";
}

static const char memcpy_columns[] = GPU_COLUMNS " bytes copyKind srcKind dstKind";

static void read_memcpy(const struct scan *scan, struct nsys_part *part, sqlite3_stmt *row) {
    /* CUpti_ActivityMemcpyKind; the last three are copies of managed memory. */
    static const char *const kinds[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD",
                                        "DtoA",    "DtoD", "HtoH", "PtoP", "HtoD", "DtoH", "DtoD"};
    (void)scan;
    if (!gpu_is_read(part, row))
        return;
    char text[80];
    int64_t kind = sqlite3_column_int64(row, GPU_N_COLUMNS + 1);
    const char *words = kind >= 0 && kind < (int64_t)(sizeof kinds / sizeof *kinds) ? kinds[kind] : kinds[0];
    int n = snprintf(text, sizeof text, "Memcpy %s (%s -> %s)", words, memory_name(row, GPU_N_COLUMNS + 2),
                     memory_name(row, GPU_N_COLUMNS + 3));
    struct nsys_gpu gpu = read_gpu(row);
    gpu.bytes = number_of(row, GPU_N_COLUMNS);
    add_gpu(part, NSYS_MEMCPY, row, intern_local(part, text, (size_t)n), &gpu);
}

static const char memset_columns[] = GPU_COLUMNS " bytes memKind";

static void read_memset(const struct scan *scan, struct nsys_part *part, sqlite3_stmt *row) {
    (void)scan;
    if (!gpu_is_read(part, row))
        return;
    char text[40];
    int n = snprintf(text, sizeof text, "Memset (%s)", memory_name(row, GPU_N_COLUMNS + 1));
    struct nsys_gpu gpu = read_gpu(row);
    gpu.bytes = number_of(row, GPU_N_COLUMNS);
    add_gpu(part, NSYS_MEMSET, row, intern_local(part, text, (size_t)n), &gpu);
}

static const char graph_columns[] = GPU_COLUMNS;

/* With --cuda-graph-trace=graph, one record stands for all nodes of a launched graph. */
static void read_graph(const struct scan *scan, struct nsys_part *part, sqlite3_stmt *row) {
    (void)scan;
    if (!gpu_is_read(part, row))
        return;
    char text[40] = "CUDA graph None";
    struct nsys_gpu gpu = read_gpu(row);
    if (gpu.graph != NSYS_NONE)
        snprintf(text, sizeof text, "CUDA graph %" PRId64, gpu.graph);
    gpu.form = NSYS_GRAPH;
    add_gpu(part, NSYS_KERNEL, row, intern_local(part, text, strlen(text)), &gpu);
}

/* ---- Synchronizing calls ---- */

#define EACH_RECORD_KEY ASCENDING(process) ASCENDING(event) ASCENDING(sync)

ORDER_BY(compare_records, struct event_record, EACH_RECORD_KEY DESCENDING(row))

static const char sync_columns[] = "start end globalPid deviceId streamId correlationId syncType eventId eventSyncId";

static void read_sync(const struct scan *scan, struct nsys_part *part, sqlite3_stmt *row) {
    enum { EVENT_SYNC = 1, STREAM_WAIT_EVENT = 2, CONTEXT_SYNC = 4, NO_STREAM = 0xffffffff };
    static const char *const names[] = {"Unknown Sync", "Event Sync", "Stream Wait Event", "Stream Sync",
                                        "Context Sync"};
    if (!gpu_is_read(part, row))
        return;
    int64_t type = number_of(row, 6), stream = number_of(row, 4);
    struct nsys_gpu gpu = {.context = NSYS_NONE,
                           .graph = NSYS_NONE,
                           .graph_node = NSYS_NONE,
                           .bytes = NSYS_NONE,
                           .wait_stream = NSYS_NONE,
                           .wait_correlation = NSYS_NONE,
                           .device = nsys_int32(sqlite3_column_int64(row, 3)),
                           .registers = -1,
                           .form = NSYS_WAIT};
    stream = stream == NSYS_NONE || stream == NO_STREAM || type == CONTEXT_SYNC ? -1 : stream;
    if (type == EVENT_SYNC || type == STREAM_WAIT_EVENT) {
        struct event_record wanted = {number_of(row, 2), number_of(row, 7), number_of(row, 8), 0, 0, UINT64_MAX};
        uint64_t at = 0;
        BISECT(at, scan->n_records, compare_records(&scan->records[at], &wanted) < 0);
        const struct event_record *found = at < scan->n_records ? &scan->records[at] : NULL;
        if (found && found->process == wanted.process && found->event == wanted.event && found->sync == wanted.sync) {
            gpu.wait_stream = found->stream;
            gpu.wait_correlation = found->correlation;
        }
    }
    const char *name = names[type >= 0 && type < (int64_t)(sizeof names / sizeof *names) ? type : 0];
    nsys_add_gpu(part, NSYS_SYNC, number_of(row, 0), number_of(row, 1), number_of(row, 2), stream,
                 intern_local(part, name, strlen(name)), number_of(row, 5), &gpu);
}

/* ---- NVTX ---- */

static const char nvtx_columns[] = "start end globalTid eventType domainId endGlobalTid textId text binaryData";

/* The text of a row: a registered string, whose name is returned, or its own one (STRING_NONE). */
static uint32_t read_text(const struct scan *scan, sqlite3_stmt *row, const char **text, size_t *n) {
    uint32_t name = name_of(scan, scan->text, row, 6, STRING_NONE);
    const char *own = name == STRING_NONE ? (const char *)sqlite3_column_text(row, 7) : NULL;
    *text = name != STRING_NONE ? strings_text(scan->names, name) : own ? own : "";
    *n = name != STRING_NONE ? strings_length(scan->names, name) : own ? (size_t)sqlite3_column_bytes(row, 7) : 0;
    return name;
}

static void read_range(const struct scan *scan, struct nsys_part *part, sqlite3_stmt *row) {
    int64_t start = number_of(row, 0), end = number_of(row, 1), thread = sqlite3_column_int64(row, 2);
    int64_t type = sqlite3_column_int64(row, 3), ends_on = number_of(row, 5);
    const char *text;
    size_t n;
    struct nsys_range range = {.start = start,
                               .end = end,
                               .thread = thread,
                               .sequence = NSYS_NONE,
                               .record = NSYS_NONE,
                               .domain_id = sqlite3_column_int64(row, 4),
                               .label = read_text(scan, row, &text, &n),
                               .sizes = STRING_NONE,
                               .is_start_end = type == 60 || type == 71,
                               .is_nested = ends_on == NSYS_NONE};
    uint8_t category;
    uint32_t name = nsys_split_label(part, &range, text, n, &category);
    if (name != STRING_NONE && !scan->keeps_labels)
        range.label = name; /* the texts, most of which are unique, are only in tables */
    if (range.label == STRING_NONE)
        range.label = intern_local(part, text, n);
    if (name == STRING_NONE)
        name = range.label;
    if (sqlite3_column_type(row, 8) == SQLITE_BLOB) {
        struct nccl_payload payload =
            nvtx_payload_read(&scan->schemas, sqlite3_column_blob(row, 8), (size_t)sqlite3_column_bytes(row, 8));
        part->failed |= !column_grow(&part->payloads, part->n_payloads, &part->payloads_capacity, sizeof payload);
        if (payload.has && !part->failed) {
            part->payloads[part->n_payloads++] = payload;
            range.payload = (uint32_t)part->n_payloads;
        }
    }
    part->skipped[SKIP_NO_END] += end == NSYS_NONE;
    part->skipped[SKIP_OTHER_THREAD] += ends_on != NSYS_NONE && ends_on != thread;
    nsys_add_range(part, category, name, &range);
}

/* nvtxEventType: marks, ranges of push and pop, and of start and end (each of version 1 and 2), names of domains. */
enum {
    NVTX_MARK = 34,
    NVTX_PUSH_POP = 59,
    NVTX_START_END = 60,
    NVTX_PUSH_POP_2 = 70,
    NVTX_START_END_2 = 71,
    NVTX_DOMAIN = 75
};

static void read_nvtx(const struct scan *scan, struct nsys_part *part, sqlite3_stmt *row) {
    int64_t start = number_of(row, 0), end = number_of(row, 1), type = sqlite3_column_int64(row, 3);
    int64_t process = sqlite3_column_int64(row, 2) & ~LOW24;
    bool is_range =
        type == NVTX_PUSH_POP || type == NVTX_START_END || type == NVTX_PUSH_POP_2 || type == NVTX_START_END_2;
    part->last_end = MAX(part->last_end, end);
    if (is_range)
        part->last_end = MAX(part->last_end, start);
    part->skipped[SKIP_MARK] += type == NVTX_MARK;
    if (is_range && start == NSYS_NONE)
        part->skipped[SKIP_NO_TIME]++;
    else if (is_range && is_read(part, start, end == NSYS_NONE ? start : end, process))
        read_range(scan, part, row);
    if (type != NVTX_DOMAIN)
        return;
    const char *text;
    size_t n;
    struct nsys_domain domain = {process, number_of(row, 4), 0, read_text(scan, row, &text, &n)};
    if (domain.name == STRING_NONE)
        domain.name = intern_local(part, text, n);
    if (!column_grow(&part->domains, part->n_domains, &part->domains_capacity, sizeof domain))
        part->failed = true;
    else
        part->domains[part->n_domains++] = domain;
}

/* ---- Small tables, which are read before the others ---- */

typedef void read_small(void *arg, sqlite3_stmt *row);

/* Calls `read` for each row of a table; nothing, if there is no such table. */
static enum sutra_status scan_small(struct database *database, const struct database_table *tables, size_t n_tables,
                                    const char *name, const char *columns, read_small *read, void *arg,
                                    struct sutra_error *error) {
    const struct database_table *table = database_find(tables, n_tables, name);
    sqlite3_stmt *row = NULL;
    bool more = true;
    if (!table)
        return SUTRA_OK;
    enum sutra_status status = database_prepare(database, table, columns, &row, error);
    while (!status && !(status = database_step(database, row, &more, error)) && more)
        read(arg, row);
    sqlite3_finalize(row);
    return status;
}

/* A row of StringIds. */
struct string_id {
    int64_t id;
    uint64_t row;
    uint32_t name;
};

ORDER_BY(compare_string_ids, struct string_id, ASCENDING(id) DESCENDING(row))

struct string_ids {
    struct strings *names;
    struct string_id *list;
    uint64_t n, capacity;
    struct buffer scratch;
    bool is_sorted, failed;
};

static void read_string_id(void *arg, sqlite3_stmt *row) {
    struct string_ids *ids = arg;
    const char *text = (const char *)sqlite3_column_text(row, 1);
    size_t n = text ? (size_t)sqlite3_column_bytes(row, 1) : 0;
    struct string_id added = {sqlite3_column_int64(row, 0), ids->n,
                              nsys_intern(ids->names, &ids->scratch, text ? text : "", n, &ids->failed)};
    ids->is_sorted &= ids->n == 0 || ids->list[ids->n - 1].id < added.id;
    if (!column_grow(&ids->list, ids->n, &ids->capacity, sizeof added))
        ids->failed = true;
    if (!ids->failed)
        ids->list[ids->n++] = added;
}

/* The name of a call without the version at its end. */
static uint32_t name_without_version(struct strings *names, uint32_t name, bool *failed) {
    size_t n = strings_length(names, name), length = n;
    const char *text = strings_text(names, name);
    while (length > 0 && is_digit(text[length - 1]))
        length--;
    if (length == n || length < 2 || text[length - 1] != 'v' || text[length - 2] != '_')
        return name;
    char *copy = malloc(length); /* interning may move the text, which may contain NULs */
    if (copy)
        memcpy(copy, text, length - 2);
    uint32_t found = copy ? strings_intern(names, copy, length - 2) : STRING_NONE;
    free(copy);
    *failed |= found == STRING_NONE;
    return found;
}

static enum sutra_status load_strings(struct scan *scan, struct strings *names, struct database *database,
                                      const struct database_table *tables, size_t n_tables, struct arena *arena,
                                      struct sutra_error *error) {
    struct string_ids ids = {.names = names, .is_sorted = true};
    scan->empty = strings_intern(names, "", 0);
    enum sutra_status status =
        scan_small(database, tables, n_tables, "StringIds", "id value", read_string_id, &ids, error);
    if (!ids.is_sorted)
        qsort(ids.list, ids.n, sizeof *ids.list, compare_string_ids);
    scan->ids = arena_alloc(arena, ids.n, sizeof *scan->ids);
    scan->text = arena_alloc(arena, ids.n, sizeof *scan->text);
    scan->calls = arena_alloc(arena, ids.n, sizeof *scan->calls);
    ids.failed |= arena->failed || scan->empty == STRING_NONE;
    for (uint64_t i = 0; i < ids.n && !ids.failed; i++) {
        if (scan->n_ids && scan->ids[scan->n_ids - 1] == ids.list[i].id)
            continue;
        scan->ids[scan->n_ids] = ids.list[i].id;
        scan->text[scan->n_ids] = ids.list[i].name;
        scan->calls[scan->n_ids++] = name_without_version(names, ids.list[i].name, &ids.failed);
    }
    buffer_free(&ids.scratch);
    free(ids.list);
    return status ? status : ids.failed ? error_memory(error) : SUTRA_OK;
}

/* Recorded events, or fields of payloads. */
struct small_list {
    struct arena *arena;
    struct event_record *records;
    struct nvtx_schema_entry *entries;
    uint64_t n, capacity;
};

static void read_record(void *arg, sqlite3_stmt *row) {
    struct small_list *list = arg;
    if (arena_grow(list->arena, &list->records, list->n, &list->capacity, sizeof *list->records)) {
        list->records[list->n] = (struct event_record){number_of(row, 0), number_of(row, 1), number_of(row, 2),
                                                       number_of(row, 3), number_of(row, 4), list->n};
        list->n++;
    }
}

static void read_schema_entry(void *arg, sqlite3_stmt *row) {
    struct small_list *list = arg;
    const char *name = (const char *)sqlite3_column_text(row, 5);
    if (arena_grow(list->arena, &list->entries, list->n, &list->capacity, sizeof *list->entries)) {
        list->entries[list->n] = (struct nvtx_schema_entry){
            .domain = sqlite3_column_int64(row, 0),
            .schema = sqlite3_column_int64(row, 1),
            .index = sqlite3_column_int64(row, 2),
            .type = sqlite3_column_int64(row, 3),
            .offset = number_of(row, 4),
            .field = nccl_field_named(name ? name : ""),
            .row = list->n,
        };
        list->n++;
    }
}

static enum sutra_status load_small_tables(struct scan *scan, struct nsys_report *report, struct database *database,
                                           const struct database_table *tables, size_t n_tables, struct arena *arena,
                                           struct sutra_error *error) {
    struct small_list records = {.arena = arena}, entries = {.arena = arena};
    TRY(load_strings(scan, &report->names, database, tables, n_tables, arena, error));
    TRY(scan_small(database, tables, n_tables, "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
                   "globalPid eventId eventSyncId streamId correlationId", read_record, &records, error));
    TRY(scan_small(database, tables, n_tables, "NVTX_PAYLOAD_SCHEMA_ENTRIES", "domainId schemaId idx type offset name",
                   read_schema_entry, &entries, error));
    if (records.n)
        qsort(records.records, records.n, sizeof *records.records, compare_records);
    scan->records = records.records;
    scan->n_records = records.n;
    scan->schemas = (struct nvtx_schemas){entries.entries, entries.n};
    nvtx_schemas_sort(&scan->schemas);
    return arena_status(arena, error);
}

/* The clock: event times count from the start of the session, or of the machine. */
static void read_clock(void *arg, sqlite3_stmt *row) {
    struct nsys_report *report = arg;
    int64_t utc = number_of(row, 0), machine = number_of(row, 1);
    if (report->utc_offset != NSYS_NONE || utc == NSYS_NONE || report->first_start == NSYS_NONE)
        return;
    bool is_machine_time = machine != NSYS_NONE && report->first_start >= machine;
    report->utc_offset = (int64_t)((uint64_t)utc - (is_machine_time ? (uint64_t)machine : 0));
}

/* ---- All tables ---- */

static enum sutra_status run_task(void *arg, size_t number, struct sutra_error *error) {
    const struct scan *scan = arg;
    const struct scan_task *task = &scan->tasks[number];
    struct nsys_part *part = &scan->parts[number];
    struct database database;
    sqlite3_stmt *row = NULL;
    bool more = true;
    enum sutra_status status = database_open(&database, scan->file, scan->context, error);
    if (!status)
        status = database_prepare(&database, &task->table, task->kind->columns, &row, error);
    while (!status && !part->failed && !(status = database_step(&database, row, &more, error)) && more)
        task->kind->read(scan, part, row);
    sqlite3_finalize(row);
    database_close(&database);
    return status || !part->failed ? status : error_memory(error);
}

/* Appends the tasks of a table, ranges of rowids of about equal size. False: out of memory. */
static bool add_tasks(struct scan *scan, size_t *n, uint64_t *capacity, const struct scan_task *whole,
                      unsigned n_threads, struct arena *arena) {
    const struct database_table *table = &whole->table;
    uint64_t span = table->first_row <= table->last_row ? (uint64_t)table->last_row - (uint64_t)table->first_row : 0;
    uint64_t n_parts = CLAMP(span / PART_ROWS + (span < UINT64_MAX), (uint64_t)1, (uint64_t)4 * n_threads);
    for (uint64_t i = 0; i < n_parts; i++) {
        if (!arena_grow(arena, &scan->tasks, *n, capacity, sizeof *scan->tasks))
            return false;
        struct scan_task *task = &scan->tasks[(*n)++];
        *task = *whole;
        if (n_parts == 1)
            continue;
        task->table.first_row = (int64_t)((uint64_t)table->first_row + span / n_parts * i);
        if (i + 1 < n_parts)
            task->table.last_row = (int64_t)((uint64_t)table->first_row + span / n_parts * (i + 1) - 1);
    }
    return true;
}

static enum sutra_status run_tasks(struct scan *scan, struct nsys_report *report, size_t n, int64_t process,
                                   struct arena *arena, struct sutra_error *error) {
    size_t n_begun = 0;
    scan->parts = arena_zeros(arena, n, sizeof *scan->parts);
    bool ok = scan->parts;
    for (; ok && n_begun < n; n_begun++) {
        struct nsys_part *part = &scan->parts[n_begun];
        part->process = process;
        part->first_start = INT64_MAX;
        part->last_end = 0;
        part->call_process = NSYS_NONE;
        ok = strings_init(&part->names);
    }
    /* If all rows are counted, by rowids without wide gaps, parts fill the columns of the report in place. */
    struct nsys_rows *rows = arena_zeros(arena, n + 1, sizeof *rows);
    uint64_t n_rows = 0, n_rows_max = scan->file->size / ROW_BYTES_MIN;
    for (size_t i = 0; i < n && rows && n_rows <= n_rows_max; i++) {
        const struct scan_task *task = &scan->tasks[i];
        uint64_t span = (uint64_t)task->table.last_row - (uint64_t)task->table.first_row;
        bool is_counted = task->table.first_row <= task->table.last_row && span < n_rows_max;
        rows[i] = (struct nsys_rows){span + 1, task->kind->are_gpus, task->kind->are_ranges};
        n_rows = is_counted ? n_rows + span + 1 : UINT64_MAX;
    }
    ok = ok && rows && (n_rows > n_rows_max || nsys_share_columns(report, scan->parts, rows, n));
    enum sutra_status status = ok ? pool_try(scan->context->pool, n, run_task, scan, error) : error_memory(error);
    if (!status)
        status = nsys_join_parts(report, scan->parts, n, error);
    for (size_t i = 0; i < n_begun; i++)
        nsys_part_free(&scan->parts[i]);
    return status;
}

enum sutra_status nsys_read_tables(struct nsys_report *report, struct sutra_context *context,
                                   struct database_file *file, const struct database_table *tables, size_t n_tables,
                                   const struct nsys_options *options, int64_t process, struct sutra_error *error) {
    /* In the order of events with equal keys. */
    static const struct table_kind kinds[] = {
        {"CUPTI_ACTIVITY_KIND_RUNTIME", call_columns, read_call, false, false},
        {"CUPTI_ACTIVITY_KIND_KERNEL", kernel_columns, read_kernel, true, false},
        {"CUPTI_ACTIVITY_KIND_MEMCPY", memcpy_columns, read_memcpy, true, false},
        {"CUPTI_ACTIVITY_KIND_MEMSET", memset_columns, read_memset, true, false},
        {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE", graph_columns, read_graph, true, false},
        {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", sync_columns, read_sync, true, false},
        {"OSRT_API", os_call_columns, read_os_call, false, false},
        {"CUPTI_ACTIVITY_KIND_OVERHEAD", overhead_columns, read_overhead, false, false},
        {"NVTX_EVENTS", nvtx_columns, read_nvtx, false, true},
    };
    struct arena arena = {0};
    struct scan scan = {.file = file, .context = context, .names = &report->names, .keeps_labels = options->labels};
    struct database database;
    size_t n = 0;
    uint64_t capacity = 0;
    enum sutra_status status = database_open(&database, file, context, error);
    if (!status)
        status = load_small_tables(&scan, report, &database, tables, n_tables, &arena, error);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && !status; i++) {
        const struct database_table *found = database_find(tables, n_tables, kinds[i].name);
        if (!found || (options->ranks_only && !kinds[i].are_gpus && !kinds[i].are_ranges))
            continue;
        struct scan_task whole = {*found, &kinds[i]};
        bool is_empty = false;
        status = database_bounds(&database, &whole.table, &is_empty, error);
        if (!status && !is_empty && !add_tasks(&scan, &n, &capacity, &whole, pool_threads(context->pool), &arena))
            status = error_memory(error);
    }
    if (!status)
        status = run_tasks(&scan, report, n, process, &arena, error);
    if (!status)
        status = scan_small(&database, tables, n_tables, "TARGET_INFO_SESSION_START_TIME", "utcEpochNs systemClockNs",
                            read_clock, report, error);
    database_close(&database);
    arena_free(&arena);
    return status;
}
