/*
 * nsys_rocpd.c - reads the rocpd databases of ROCm's profilers: of rocprofv3 (--output-format rocpd), and the older
 * ones of rocmProfileData (.rpd).
 *
 *     rocpd_kernel_dispatch --kernel_id--> rocpd_info_kernel_symbol      rocpd_region --name_id--> rocpd_string
 *            |--agent_id, pid, tid--> rocpd_info_agent, _process, _thread       |--event_id--> rocpd_event: correlation
 *
 * Each name is a view of the tables NAME_<uuid>, of several processes in a merged report; the reader reads the tables.
 * Schema 3 has start and end in each row; schema 4 refers to rocpd_timestamp and rocpd_track. Regions of HIP are calls,
 * regions of markers (roctx) are ranges.
 *
 *     rocmProfileData:   rocpd_op <--op_id-- rocpd_api_ops --api_id--> rocpd_api
 *
 * Each of the large tables is read by a thread with its own connection. O(n log n).
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "read/database.h"
#include "read/nsys.h"
#include "text/strings.h"

#define VALUES_MAX 4

/* A row of a table with ids: up to four numbers. */
struct id_row {
    int64_t id;
    uint64_t row; /* of repeated ids the last counts */
    int64_t value[VALUES_MAX];
};

ORDER_BY(compare_id_rows, struct id_row, ASCENDING(id) DESCENDING(row))

/* A table of ids, ascending by id. */
struct id_table {
    struct id_row *list;
    uint64_t n, capacity;
};

/* X(name, table, columns, number of names, number of values); from APIS on of rocmProfileData, as the first. */
#define ID_TABLES(X)                                                                                                   \
    X(STRINGS, "rocpd_string", "id string", 1, 1)                                                                      \
    X(SYMBOLS, "rocpd_info_kernel_symbol", "id display_name kernel_name", 2, 2)                                        \
    X(PROCESSES, "rocpd_info_process", "id pid", 0, 1)                                                                 \
    X(THREADS, "rocpd_info_thread", "id tid", 0, 1)                                                                    \
    X(AGENTS, "rocpd_info_agent", "id type_index logical_index", 0, 2)                                                 \
    X(EVENTS, "rocpd_event", "id stack_id category_id", 0, 2)                                                          \
    X(TIMES, "rocpd_timestamp", "id value", 0, 1)                                                                      \
    X(TRACKS, "rocpd_track", "id pid tid agent_id stream_id", 0, 4)                                                    \
    X(APIS, "rocpd_api", "id pid apiName_id args_id", 0, 3)                                                            \
    X(LINKS, "rocpd_api_ops", "op_id api_id", 0, 1)                                                                    \
    X(COPIES, "rocpd_copyapi", "api_ptr_id size", 0, 1)                                                                \
    X(TEXTS, "rocpd_ustring", "id string", 1, 1)

#define ID_TABLE_NUMBER(name, ...) name,
#define ID_TABLE_FORM(name, ...)   {__VA_ARGS__},
enum id_tables { ID_TABLES(ID_TABLE_NUMBER) N_ID_TABLES };

/* Columns of struct id_table.value; names are numbers of report->names. */
static const struct {
    const char *table, *columns;
    int n_names, n_values; /* the first values are texts */
} id_forms[N_ID_TABLES] = {ID_TABLES(ID_TABLE_FORM)};

struct rocpd {
    struct database_file *file;
    struct sutra_context *context;
    const struct database_table *tables;
    size_t n_tables;
    struct strings *names;
    struct id_table ids[N_ID_TABLES];
    struct nsys_part parts[3];
    bool is_rpd;
    int64_t *wanted; /* of rocmProfileData: ascending ids of the only texts that are read */
    uint64_t n_wanted;
};

/* The table NAME or NAME_<uuid> after `previous`, or the first one; NULL: there are no more. A view, which cannot be
 * read, if there are only views. */
static const struct database_table *next_table(const struct rocpd *rocpd, const char *name,
                                               const struct database_table *previous) {
    size_t length = strlen(name);
    if (rocpd->is_rpd) /* rocpd_api_ops is no part of rocpd_api */
        return previous ? NULL : database_find(rocpd->tables, rocpd->n_tables, name);
    for (size_t i = previous ? (size_t)(previous - rocpd->tables) + 1 : 0; i < rocpd->n_tables; i++) {
        const struct database_table *table = &rocpd->tables[i];
        if (!table->is_view && strncmp(table->name, name, length) == 0 &&
            (table->name[length] == 0 || table->name[length] == '_'))
            return table;
    }
    return previous ? NULL : database_find(rocpd->tables, rocpd->n_tables, name);
}

static int64_t number_of(sqlite3_stmt *row, int column) {
    return sqlite3_column_type(row, column) == SQLITE_NULL ? NSYS_NONE : sqlite3_column_int64(row, column);
}

/* The row of an id, or NULL. */
static const struct id_row *find_row(const struct id_table *table, int64_t id) {
    uint64_t at = table->n && id != NSYS_NONE ? (uint64_t)id - (uint64_t)table->list[0].id : table->n;
    if (at < table->n && table->list[at].id == id) /* ids without gaps */
        return &table->list[at];
    BISECT(at, table->n, table->list[at].id < id);
    return at < table->n && table->list[at].id == id && id != NSYS_NONE ? &table->list[at] : NULL;
}

/* A value of the row of an id, or `otherwise`. */
static int64_t value_of(const struct id_table *table, int64_t id, int value, int64_t otherwise) {
    const struct id_row *row = find_row(table, id);
    return row ? row->value[value] : otherwise;
}

static bool is_wanted(const struct rocpd *rocpd, int64_t id) {
    uint64_t at = 0;
    BISECT(at, rocpd->n_wanted, rocpd->wanted[at] < id);
    return at < rocpd->n_wanted && rocpd->wanted[at] == id;
}

static enum sutra_status load_ids(struct rocpd *rocpd, struct database *database, enum id_tables which,
                                  struct sutra_error *error) {
    struct id_table *ids = &rocpd->ids[which];
    struct buffer scratch = {0};
    bool failed = false, is_sorted = true;
    uint64_t n_kept = 0;
    enum sutra_status status = SUTRA_OK;
    for (const struct database_table *table = NULL;
         !status && (table = next_table(rocpd, id_forms[which].table, table)) != NULL;) {
        sqlite3_stmt *row = NULL;
        bool more = true;
        status = database_prepare(database, table, id_forms[which].columns, &row, error);
        while (!status && !failed && !(status = database_step(database, row, &more, error)) && more) {
            struct id_row added = {.id = number_of(row, 0), .row = ids->n};
            if (which == TEXTS && !is_wanted(rocpd, added.id))
                continue;
            for (int i = 0; i < id_forms[which].n_values; i++)
                added.value[i] = number_of(row, i + 1);
            for (int i = 0; i < id_forms[which].n_names; i++) {
                const char *text = (const char *)sqlite3_column_text(row, i + 1);
                size_t n = text ? (size_t)sqlite3_column_bytes(row, i + 1) : 0;
                added.value[i] = nsys_intern(rocpd->names, &scratch, text ? text : "", n, &failed);
            }
            is_sorted &= ids->n == 0 || ids->list[ids->n - 1].id < added.id;
            failed |= !column_grow(&ids->list, ids->n, &ids->capacity, sizeof added);
            if (!failed)
                ids->list[ids->n++] = added;
        }
        sqlite3_finalize(row);
    }
    buffer_free(&scratch);
    if (!is_sorted)
        qsort(ids->list, ids->n, sizeof *ids->list, compare_id_rows);
    for (uint64_t i = 0; i < ids->n && !is_sorted; i++)
        if (n_kept == 0 || ids->list[n_kept - 1].id != ids->list[i].id)
            ids->list[n_kept++] = ids->list[i];
    ids->n = is_sorted ? ids->n : n_kept;
    return status ? status : failed ? error_memory(error) : SUTRA_OK;
}

/* ---- Rows ---- */

/* What all rows have in common. The columns with which the three tables begin: */
#define COMMON_COLUMNS "start end pid tid stream_id event_id start_id end_id track_id agent_id"
enum { COMMON_N_COLUMNS = 10 };

struct common {
    int64_t start, end, process, thread, stream, agent;
    int64_t correlation; /* NSYS_NONE: none */
    const char *category;
};

static struct common read_common(const struct rocpd *rocpd, sqlite3_stmt *row) {
    const struct id_table *ids = rocpd->ids;
    int64_t pid = number_of(row, 2), tid = number_of(row, 3);
    struct common common = {.start = number_of(row, 0),
                            .end = number_of(row, 1),
                            .stream = number_of(row, 4),
                            .agent = number_of(row, 9),
                            .correlation = NSYS_NONE,
                            .category = ""};
    const struct id_row *track = NULL, *event = find_row(&ids[EVENTS], number_of(row, 5));
    if (common.start == NSYS_NONE) {
        common.start = value_of(&ids[TIMES], number_of(row, 6), 0, NSYS_NONE);
        common.end = value_of(&ids[TIMES], number_of(row, 7), 0, NSYS_NONE);
        track = find_row(&ids[TRACKS], number_of(row, 8));
    }
    if (track) {
        pid = pid == NSYS_NONE ? track->value[0] : pid;
        tid = tid == NSYS_NONE ? track->value[1] : tid;
        common.agent = common.agent == NSYS_NONE ? track->value[2] : common.agent;
        common.stream = common.stream == NSYS_NONE ? track->value[3] : common.stream;
    }
    if (event) {
        int64_t category = value_of(&ids[STRINGS], event->value[1], 0, STRING_NONE);
        common.correlation = event->value[0];
        common.category = category == STRING_NONE ? "" : strings_text(rocpd->names, (uint32_t)category);
    }
    pid = value_of(&ids[PROCESSES], pid, 0, pid);
    tid = value_of(&ids[THREADS], tid, 0, tid);
    common.process = (int64_t)((uint64_t)(pid == NSYS_NONE ? 0 : pid) << 24);
    common.thread = tid == NSYS_NONE ? 0 : tid;
    if (common.stream == NSYS_NONE)
        common.stream = 0;
    return common;
}

/* Notes the start of a valid event; and whether the process is read. */
static bool is_read(struct nsys_part *part, const struct common *common) {
    if (common->start != NSYS_NONE && common->end >= common->start)
        part->first_start = MIN(part->first_start, common->start);
    return part->process == NSYS_NONE || common->process == part->process;
}

static struct nsys_gpu gpu_of(const struct rocpd *rocpd, int64_t agent) {
    int64_t type_index = value_of(&rocpd->ids[AGENTS], agent, 0, NSYS_NONE);
    int64_t device = type_index == NSYS_NONE ? value_of(&rocpd->ids[AGENTS], agent, 1, 0) : type_index;
    return (struct nsys_gpu){.context = NSYS_NONE,
                             .graph = NSYS_NONE,
                             .graph_node = NSYS_NONE,
                             .bytes = NSYS_NONE,
                             .device = device == NSYS_NONE ? 0 : nsys_int32(device),
                             .registers = -1};
}

static uint32_t name_or_empty(const struct rocpd *rocpd, int64_t name) {
    return name == STRING_NONE ? strings_find(rocpd->names, "", 0) : (uint32_t)name;
}

static void read_region(const struct rocpd *rocpd, struct nsys_part *part, sqlite3_stmt *row) {
    struct common common = read_common(rocpd, row);
    uint32_t name =
        name_or_empty(rocpd, value_of(&rocpd->ids[STRINGS], number_of(row, COMMON_N_COLUMNS), 0, STRING_NONE));
    bool is_marker = strstr(common.category, "MARKER");
    if (!is_read(part, &common))
        return;
    uint8_t category = is_marker                        ? NSYS_ANNOTATION
                       : strstr(common.category, "HIP") ? NSYS_HIP_RUNTIME
                                                        : NSYS_HIP_DRIVER;
    if (!is_marker) {
        nsys_add_event(part, category, common.start, common.end, common.process, common.thread, common.correlation,
                       name);
        return;
    }
    const struct nsys_range range = {.start = common.start,
                                     .end = common.end,
                                     .thread = common.process | common.thread,
                                     .sequence = NSYS_NONE,
                                     .record = NSYS_NONE,
                                     .label = name,
                                     .sizes = STRING_NONE,
                                     .is_nested = true};
    uint64_t n = part->events.n;
    if (common.start == NSYS_NONE || common.end == NSYS_NONE) {
        part->skipped[SKIP_NO_TIME]++;
        return;
    }
    nsys_add_range(part, category, name, &range);
    if (part->events.n > n)
        part->events.correlation[n] = common.correlation;
}

static void read_dispatch(const struct rocpd *rocpd, struct nsys_part *part, sqlite3_stmt *row) {
    struct common common = read_common(rocpd, row);
    if (!is_read(part, &common))
        return;
    const struct id_row *symbol = find_row(&rocpd->ids[SYMBOLS], number_of(row, COMMON_N_COLUMNS));
    int64_t name = symbol ? symbol->value[0] : STRING_NONE;
    if (symbol && strings_length(rocpd->names, (uint32_t)name) == 0)
        name = symbol->value[1];
    struct nsys_gpu gpu = gpu_of(rocpd, common.agent);
    gpu.form = NSYS_LAUNCH;
    for (int i = 0; i < 3; i++) {
        gpu.block[i] = nsys_int32(sqlite3_column_int64(row, COMMON_N_COLUMNS + 1 + i));
        gpu.grid[i] = nsys_int32(sqlite3_column_int64(row, COMMON_N_COLUMNS + 4 + i) / MAX(gpu.block[i], 1));
    }
    nsys_add_gpu(part, NSYS_KERNEL, common.start, common.end, common.process, common.stream, name_or_empty(rocpd, name),
                 common.correlation, &gpu);
}

static void read_copy(const struct rocpd *rocpd, struct nsys_part *part, sqlite3_stmt *row) {
    struct common common = read_common(rocpd, row);
    if (!is_read(part, &common))
        return;
    int64_t name = value_of(&rocpd->ids[STRINGS], number_of(row, COMMON_N_COLUMNS), 0, STRING_NONE);
    struct nsys_gpu gpu = gpu_of(rocpd, number_of(row, COMMON_N_COLUMNS + 1));
    gpu.bytes = number_of(row, COMMON_N_COLUMNS + 2);
    nsys_add_gpu(part, NSYS_MEMCPY, common.start, common.end, common.process, common.stream, name_or_empty(rocpd, name),
                 common.correlation, &gpu);
}

/* ---- Tables ---- */

static const struct {
    const char *table, *columns;
    void (*read)(const struct rocpd *rocpd, struct nsys_part *part, sqlite3_stmt *row);
} event_forms[3] = {
    {"rocpd_region", COMMON_COLUMNS " name_id", read_region},
    {"rocpd_kernel_dispatch",
     COMMON_COLUMNS " kernel_id workgroup_size_x workgroup_size_y workgroup_size_z grid_size_x grid_size_y grid_size_z",
     read_dispatch},
    {"rocpd_memory_copy", COMMON_COLUMNS " name_id dst_agent_id size", read_copy},
};

static enum sutra_status read_events(void *arg, size_t number, struct sutra_error *error) {
    struct rocpd *rocpd = arg;
    struct nsys_part *part = &rocpd->parts[number];
    struct database database;
    enum sutra_status status = database_open(&database, rocpd->file, rocpd->context, error);
    for (const struct database_table *table = NULL;
         !status && (table = next_table(rocpd, event_forms[number].table, table)) != NULL;) {
        sqlite3_stmt *row = NULL;
        bool more = true;
        status = database_prepare(&database, table, event_forms[number].columns, &row, error);
        while (!status && !part->failed && !(status = database_step(&database, row, &more, error)) && more)
            event_forms[number].read(rocpd, part, row);
        sqlite3_finalize(row);
    }
    database_close(&database);
    return status || !part->failed ? status : error_memory(error);
}

/* ---- rocmProfileData ----
 *
 * Schema 1 and 2 have the texts of arguments in rocpd_string; schema 3 has them in rocpd_ustring, and a domain for each
 * call: hip, cuda, or the library that marks its functions as ranges. The text of a range of roctx is the argument of a
 * call "UserMarker". Rows without a domain are calls. Grids are not read: they count blocks or threads, depending on the
 * library that recorded them.
 */

/* A string's text, "" if there is none. */
static const char *rpd_text(const struct rocpd *rocpd, int64_t id) {
    int64_t name = value_of(&rocpd->ids[STRINGS], id, 0, STRING_NONE);
    return name == STRING_NONE ? "" : strings_text(rocpd->names, (uint32_t)name);
}

/* The process, whose low 24 bits are the thread's. */
static int64_t rpd_process(int64_t pid) {
    return pid == NSYS_NONE ? NSYS_NONE : (pid & 0xffffff) << 24;
}

static bool is_rpd_marker(const struct rocpd *rocpd, int64_t name_id) {
    return strcmp(rpd_text(rocpd, name_id), "UserMarker") == 0;
}

static void read_rpd_api(const struct rocpd *rocpd, struct nsys_part *part, sqlite3_stmt *row) {
    enum { ID, PID, TID, START, END, NAME, ARGUMENTS, DOMAIN };
    const int64_t process = rpd_process(number_of(row, PID)), tid = number_of(row, TID), name_id = number_of(row, NAME);
    const struct common common = {.start = number_of(row, START),
                                  .end = number_of(row, END),
                                  .process = process == NSYS_NONE ? 0 : process,
                                  .thread = tid == NSYS_NONE ? 0 : tid,
                                  .correlation = number_of(row, ID)};
    if (!is_read(part, &common))
        return;
    const char *domain = rpd_text(rocpd, number_of(row, DOMAIN));
    const bool is_marker = is_rpd_marker(rocpd, name_id);
    uint32_t name = name_or_empty(rocpd, value_of(&rocpd->ids[STRINGS], name_id, 0, STRING_NONE));
    const char *text = strings_text(rocpd->names, name);
    if (!is_marker && (!*domain || !strcmp(domain, "hip") || !strcmp(domain, "cuda") || !strcmp(domain, "hsa"))) {
        const bool is_cuda = !strcmp(domain, "cuda") || strncmp(text, "cuda", 4) == 0;
        const bool is_hsa = !strcmp(domain, "hsa") || strncmp(text, "hsa_", 4) == 0;
        nsys_add_event(part,
                       is_cuda  ? NSYS_RUNTIME
                       : is_hsa ? NSYS_HIP_DRIVER
                                : NSYS_HIP_RUNTIME,
                       common.start, common.end, common.process, common.thread, common.correlation, name);
        return;
    }
    if (is_marker) {
        const int64_t id = number_of(row, ARGUMENTS);
        const int64_t own = value_of(&rocpd->ids[TEXTS], id, 0, STRING_NONE);
        name = name_or_empty(rocpd, own != STRING_NONE ? own : value_of(&rocpd->ids[STRINGS], id, 0, STRING_NONE));
    }
    struct nsys_range range = {.start = common.start,
                               .end = common.end,
                               .thread = common.process | (common.thread & 0xffffff),
                               .sequence = NSYS_NONE,
                               .record = NSYS_NONE,
                               .label = name,
                               .sizes = STRING_NONE,
                               .is_nested = true};
    if (common.start == NSYS_NONE || common.end == NSYS_NONE || common.end < common.start) {
        part->skipped[SKIP_NO_TIME]++;
        return;
    }
    if (common.start == common.end) {
        part->skipped[SKIP_MARK]++;
        return;
    }
    uint8_t category;
    uint32_t short_name =
        nsys_split_label(part, &range, strings_text(rocpd->names, name), strings_length(rocpd->names, name), &category);
    nsys_add_range(part, category, short_name == STRING_NONE ? name : short_name, &range);
}

/* The name of a copy in Kineto's words, by its type or description; NULL: unknown direction. */
static const char *copy_name(const char *text) {
    static const struct {
        const char *word, *name;
    } names[] = {
        {"HostToDevice", "Memcpy HtoD (Host -> Device)"},     {"HOST_TO_DEVICE", "Memcpy HtoD (Host -> Device)"},
        {"DeviceToHost", "Memcpy DtoH (Device -> Host)"},     {"DEVICE_TO_HOST", "Memcpy DtoH (Device -> Host)"},
        {"DeviceToDevice", "Memcpy DtoD (Device -> Device)"}, {"DEVICE_TO_DEVICE", "Memcpy DtoD (Device -> Device)"}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strstr(text, names[i].word))
            return names[i].name;
    return NULL;
}

static void read_rpd_op(const struct rocpd *rocpd, struct nsys_part *part, sqlite3_stmt *row,
                        struct pair_table *processes) {
    enum { ID, GPU, QUEUE, START, END, DESCRIPTION, TYPE };
    const struct id_table *strings = &rocpd->ids[STRINGS];
    const struct id_row *link = find_row(&rocpd->ids[LINKS], number_of(row, ID));
    const int64_t api = link ? link->value[0] : NSYS_NONE, gpu_id = number_of(row, GPU), queue = number_of(row, QUEUE);
    const struct common common = {.start = number_of(row, START),
                                  .end = number_of(row, END),
                                  .process = rpd_process(value_of(&rocpd->ids[APIS], api, 0, NSYS_NONE))};
    const char *type = rpd_text(rocpd, number_of(row, TYPE));
    const char *description = rpd_text(rocpd, number_of(row, DESCRIPTION)), *name = NULL;
    const size_t length = strlen(type);
    struct nsys_gpu gpu = {.context = NSYS_NONE,
                           .graph = NSYS_NONE,
                           .graph_node = NSYS_NONE,
                           .bytes = NSYS_NONE,
                           .device = gpu_id == NSYS_NONE ? 0 : nsys_int32(gpu_id),
                           .registers = -1};
    if (common.process != NSYS_NONE)
        part->failed |= !pair_table_note(processes, (uint64_t)gpu.device, 0, (uint32_t)(common.process >> 24));
    if (!is_read(part, &common) && common.process != NSYS_NONE)
        return;
    uint8_t category = NSYS_KERNEL;
    if (text_has_in_any_case(type, length, "barrier") || text_has_in_any_case(type, length, "marker")) {
        part->skipped[SKIP_BARRIER]++;
        return;
    }
    if (text_has_in_any_case(type, length, "copy") || text_has_in_any_case(type, length, "memcpy")) {
        category = NSYS_MEMCPY;
        name = copy_name(type);
        name = name ? name : copy_name(description);
        name = name ? name : "Memcpy";
        gpu.bytes = value_of(&rocpd->ids[COPIES], api, 0, NSYS_NONE);
    } else if (text_has_in_any_case(type, length, "fill") || text_has_in_any_case(type, length, "memset")) {
        category = NSYS_MEMSET;
        name = "Memset (Device)";
    }
    uint32_t string = name ? nsys_intern(&part->names, &part->scratch, name, strlen(name), &part->failed) | NSYS_LOCAL
                           : name_or_empty(rocpd, value_of(strings, number_of(row, *description ? DESCRIPTION : TYPE),
                                                           0, STRING_NONE));
    nsys_add_gpu(part, category, common.start, common.end, common.process, queue == NSYS_NONE ? 0 : queue, string, api,
                 &gpu);
}

/* Part 0: rocpd_api, part 1: rocpd_op. */
static enum sutra_status read_rpd_table(void *arg, size_t number, struct sutra_error *error) {
    struct rocpd *rocpd = arg;
    struct nsys_part *part = &rocpd->parts[number];
    struct nsys_events *events = &part->events;
    struct database database;
    struct pair_table processes; /* of the linked activities of each GPU the first */
    const struct database_table *table = next_table(rocpd, number ? "rocpd_op" : "rocpd_api", NULL);
    sqlite3_stmt *row = NULL;
    bool more = true;
    part->failed |= !pair_table_init(&processes);
    enum sutra_status status = database_open(&database, rocpd->file, rocpd->context, error);
    if (!status && table)
        status = database_prepare(&database, table,
                                  number ? "id gpuId queueId start end description_id opType_id"
                                         : "id pid tid start end apiName_id args_id domain_id",
                                  &row, error);
    while (row && !status && !part->failed && !(status = database_step(&database, row, &more, error)) && more)
        if (number)
            read_rpd_op(rocpd, part, row, &processes);
        else
            read_rpd_api(rocpd, part, row);
    sqlite3_finalize(row);
    database_close(&database);
    for (uint64_t i = 0; i < events->n && number && !part->failed; i++) { /* activities without a link */
        uint32_t pid = events->process[i] != NSYS_NONE
                           ? PAIR_NONE
                           : pair_table_find(&processes, (uint64_t)part->gpus[events->detail[i]].device, 0);
        if (pid != PAIR_NONE)
            events->process[i] = (int64_t)pid << 24;
    }
    pair_table_free(&processes);
    return status || !part->failed ? status : error_memory(error);
}

/* Lists the ids of the texts of ranges, ascending. False: out of memory. */
static bool list_wanted_texts(struct rocpd *rocpd) {
    const struct id_table *apis = &rocpd->ids[APIS];
    rocpd->wanted = malloc((apis->n + 1) * sizeof *rocpd->wanted);
    for (uint64_t i = 0; i < apis->n && rocpd->wanted; i++)
        if (is_rpd_marker(rocpd, apis->list[i].value[1]))
            rocpd->wanted[rocpd->n_wanted++] = apis->list[i].value[2];
    if (rocpd->wanted)
        qsort(rocpd->wanted, rocpd->n_wanted, sizeof *rocpd->wanted, compare_int64s);
    return rocpd->wanted;
}

enum sutra_status rocpd_read_tables(struct nsys_report *report, struct sutra_context *context,
                                    struct database_file *file, const struct database_table *tables, size_t n_tables,
                                    int64_t process, struct sutra_error *error) {
    struct rocpd rocpd = {.file = file,
                          .context = context,
                          .tables = tables,
                          .n_tables = n_tables,
                          .names = &report->names,
                          .is_rpd = report->format == NSYS_RPD};
    const size_t n_parts = rocpd.is_rpd ? 2 : 3;
    struct database database;
    bool ok = strings_intern(&report->names, "", 0) != STRING_NONE;
    enum sutra_status status = database_open(&database, file, context, error);
    for (int i = 0; i < N_ID_TABLES && !status; i++) {
        if (i != STRINGS && (i >= APIS) != rocpd.is_rpd)
            continue;
        if (i == TEXTS && !list_wanted_texts(&rocpd))
            status = error_memory(error);
        if (!status)
            status = load_ids(&rocpd, &database, (enum id_tables)i, error);
    }
    database_close(&database);
    for (size_t i = 0; i < n_parts; i++) {
        rocpd.parts[i].process = process;
        rocpd.parts[i].first_start = INT64_MAX;
        rocpd.parts[i].call_process = NSYS_NONE;
        ok &= strings_init(&rocpd.parts[i].names);
    }
    if (!status && !ok)
        status = error_memory(error);
    if (!status)
        status = pool_try(context->pool, n_parts, rocpd.is_rpd ? read_rpd_table : read_events, &rocpd, error);
    if (!status)
        status = nsys_join_parts(report, rocpd.parts, n_parts, error);
    for (size_t i = 0; i < n_parts; i++)
        nsys_part_free(&rocpd.parts[i]);
    for (int i = 0; i < N_ID_TABLES; i++)
        free(rocpd.ids[i].list);
    free(rocpd.wanted);
    return status;
}
