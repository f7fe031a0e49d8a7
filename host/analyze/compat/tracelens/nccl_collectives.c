/*
 * nccl_collectives.c - TraceLens' tables of collectives: reads the rows of all traces, finds collectives among them,
 * and makes the long tables; nodes of ranks and columns of integers in all tables.
 *
 *     kernels of each trace --> rows --> ids: the i-th row of a group on each rank --> long tables
 *                                                                                  --> nccl_sync.c
 *                                                                                  --> nccl_exchange.c
 */
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/compat/tracelens/nccl_collectives.h"
#include "analyze/statistics.h"
#include "analyze/table.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "facts/names.h"

/* Those without columns have some that depend on the ranks. */
static const struct table_spec specs[SUTRA_TRACELENS_NCCL_N_TABLES] = {
    [SUTRA_TRACELENS_NCCL_LONG] = {"nccl_long", OF_JOB,
                                   .columns = {TEXT("collective_id"), INTEGER("index_in_group"), INTEGER("rank"),
                                               TEXT("Process Group Name"), TEXT("Process Group Ranks"),
                                               TEXT("Collective name"), REAL("Group size"), TEXT("dtype"),
                                               REAL("In msg nelems"), REAL("In msg size (MB)"), REAL("Out msg nelems"),
                                               REAL("Out msg size (MB)"), TEXT("In split size"), TEXT("Out split size"),
                                               REAL("stream"), REAL("ts"), REAL("dur")}},
    [SUTRA_TRACELENS_NCCL_SUMMARY_LONG] =
        {"nccl_summary_long", OF_JOB,
         .columns = {INTEGER("rank"), TEXT("Process Group Name"), TEXT("Process Group Ranks"), TEXT("Collective name"),
                     REAL("Group size"), TEXT("dtype"), REAL("In msg nelems"), REAL("Out msg nelems"),
                     TEXT("In split size"), TEXT("Out split size"), REAL("stream"), REAL("In msg size (MB)_first"),
                     REAL("Out msg size (MB)_first"), REAL("dur_sum"), REAL("dur_mean"), REAL("dur_std"),
                     REAL("dur_min"), REAL("dur_max"), INTEGER("operation_count")}},
    [SUTRA_TRACELENS_NCCL_IMPLICIT_SYNC] = {"nccl_implicit_sync", OF_JOB, .columns = {{0}}},
    [SUTRA_TRACELENS_NCCL_SUMMARY_IMPLICIT_SYNC] = {"nccl_summary_implicit_sync", OF_JOB, .columns = {{0}}},
    [SUTRA_TRACELENS_NCCL_ALL2ALLV] = {"nccl_all2allv", OF_JOB, .columns = {{0}}},
    [SUTRA_TRACELENS_NCCL_SUMMARY_ALL2ALLV] = {"nccl_summary_all2allv", OF_JOB,
                                               .columns = {TEXT("Process Group Name"),
                                                           TEXT("dtype"),
                                                           REAL("total data communicated (MB)_mean"),
                                                           REAL("total data communicated (MB)_median"),
                                                           REAL("total data communicated (MB)_min"),
                                                           REAL("total data communicated (MB)_max"),
                                                           REAL("wall_time (us)_mean"),
                                                           REAL("wall_time (us)_median"),
                                                           REAL("wall_time (us)_min"),
                                                           REAL("wall_time (us)_max"),
                                                           REAL("Total wall_time (us)"),
                                                           REAL("throughput (GB/s)_mean"),
                                                           REAL("throughput (GB/s)_median"),
                                                           REAL("throughput (GB/s)_min"),
                                                           REAL("throughput (GB/s)_max"),
                                                           REAL("size_imbalance_mean"),
                                                           REAL("size_imbalance_max"),
                                                           REAL("max_rank_dur (us)_mean"),
                                                           REAL("max_rank_dur (us)_max"),
                                                           REAL("skew in start time_mean"),
                                                           REAL("skew in start time_max"),
                                                           REAL("skew in end time_mean"),
                                                           REAL("skew in end time_max"),
                                                           INTEGER("count"),
                                                           TEXT("Process Group Ranks"),
                                                           TEXT("Collective name"),
                                                           REAL("Group size"),
                                                           REAL("Total wall_time (ms)")}},
    [SUTRA_TRACELENS_NCCL_HEATMAP] = {"nccl_all2allv_heatmap", OF_JOB,
                                      .columns = {INTEGER("src_rank"), INTEGER("dst_rank"), REAL("total_sent_MB"),
                                                  REAL("avg_sent_MB"), INTEGER("count")}},
    [SUTRA_TRACELENS_STRAGGLER_SUMMARY] = {"straggler_summary", OF_JOB,
                                           .columns = {INTEGER("rank"), REAL("total_wait_time_us"),
                                                       REAL("mean_wait_time_us"), INTEGER("times_arrived_last"),
                                                       INTEGER("times_arrived_first"), REAL("pct_arrived_last"),
                                                       INTEGER("num_collectives"), REAL("total_nccl_dur_us")}},
};

/* ---- Rows of one trace ---- */

/* The texts first, as in enum nccl_text. */
enum nccl_field { NCCL_SIZE = N_NCCL_TEXTS, NCCL_IN, NCCL_OUT, NCCL_STREAM, N_NCCL_FIELDS };

static const struct requested_field nccl_fields[N_NCCL_FIELDS] = {
    [NCCL_GROUP] = {.name = "Process Group Name", .form = ASK_PLACE},
    [NCCL_MEMBERS] = {.name = "Process Group Ranks", .form = ASK_PLACE},
    [NCCL_WHAT] = {.name = "Collective name", .form = ASK_PLACE},
    [NCCL_TYPE] = {.name = "dtype", .form = ASK_PLACE},
    [NCCL_IN_SPLIT] = {.name = "In split size", .form = ASK_PLACE},
    [NCCL_OUT_SPLIT] = {.name = "Out split size", .form = ASK_PLACE},
    [NCCL_SIZE] = {.name = "Group size", .form = ASK_NUMBER},
    [NCCL_IN] = {.name = "In msg nelems", .form = ASK_NUMBER},
    [NCCL_OUT] = {.name = "Out msg nelems", .form = ASK_NUMBER},
    [NCCL_STREAM] = {.name = "stream", .form = ASK_NUMBER},
};

/* Interns the text that Python prints of a value: a string's text, "(0, 1)" of an array; 0 for null or no value. */
static bool read_text(struct nccl_rows *rows, const struct sutra_device_trace *trace, struct json_span place,
                      uint32_t *text) {
    const char *bytes = trace->document.source.bytes + place.at;
    size_t length = place.at ? place.end - place.at : 0;
    *text = 0;
    if (length == 0 || (length == 4 && memcmp(bytes, "null", 4) == 0))
        return true;
    char *copy = malloc(2 * length + 4);
    size_t n = 0;
    if (!copy)
        return false;
    bool is_text = *bytes == '"', is_array = *bytes == '['; /* a text ends before its quote */
    for (size_t i = is_text; i < length; i++) {
        if (!is_array || !strchr("[] \t\r\n", bytes[i]))
            copy[n++] = bytes[i];
        else if (bytes[i] == '[')
            copy[n++] = '(';
        else if (bytes[i] == ']') {
            if (!memchr(bytes, ',', length) && n > 1)
                copy[n++] = ',';
            copy[n++] = ')';
        }
        if (is_array && bytes[i] == ',')
            copy[n++] = ' ';
    }
    uint32_t kept = strings_intern(&rows->strings, copy, n);
    free(copy);
    *text = kept + 1;
    return kept != STRING_NONE;
}

/* Kernels that TraceLens reads, as rows of events, in the arena. NULL: out of memory. */
static row_t *find_nccl_kernels(const struct sutra_device_trace *trace, struct arena *arena, row_t *n) {
    const struct device_events *events = &trace->events;
    struct string_roles *roles = names_find(&trace->strings, READER_OPERATORS, arena);
    row_t *kernels = arena_alloc(arena, events->n, sizeof *kernels);
    *n = 0;
    if (!roles || !kernels)
        return NULL;
    names_mark(&trace->strings, roles, TEXT_HAS_IN_ANY_CASE, "nccl", NAME_OWN);
    names_mark(&trace->strings, roles, TEXT_HAS_IN_ANY_CASE, "rccl", NAME_OWN);
    names_mark(&trace->strings, roles, TEXT_HAS_IN_ANY_CASE, "cross_device_reduce", NAME_OWN);
    for (row_t event = 0; event < events->n; event++)
        if (category_roles(events, roles, event) & CATEGORY_KERNEL && name_roles(events, roles, event) & NAME_OWN)
            kernels[(*n)++] = event;
    return kernels;
}

/* Reads the rows of a trace, in file order. *rows is the caller's. */
static enum sutra_status read_rows(struct nccl_rows **rows, struct sutra_context *context,
                                   const struct sutra_device_trace *trace, struct sutra_error *error) {
    struct arena scratch = {0};
    struct requested_column columns[N_NCCL_FIELDS];
    row_t n, *kernels = find_nccl_kernels(trace, &scratch, &n);
    struct nccl_rows *made = calloc(1, sizeof *made);
    bool done = kernels && made && strings_init(&made->strings);
    enum sutra_status status = done ? SUTRA_OK : error_memory(error);
    if (!status)
        status = event_columns_request(context, trace, nccl_fields, N_NCCL_FIELDS, kernels, n, columns, error);
    for (row_t i = 0; i < n && !status; i++) {
        const struct device_events *events = &trace->events;
        value_key correlation = events->correlation[kernels[i]], external = events->external[kernels[i]];
        if ((!key_is_value(correlation) || (int64_t)correlation == -1) &&
            (!key_is_value(external) || (int64_t)external == -1))
            continue; /* TraceLens skips events without an id */
        double numbers[N_NCCL_FIELDS];
        for (int field = NCCL_SIZE; field < N_NCCL_FIELDS; field++)
            numbers[field] = number_as_double(number_at(columns[field].number, kernels[i]));
        struct nccl_row row = {.size = numbers[NCCL_SIZE],
                               .n_in = numbers[NCCL_IN],
                               .n_out = numbers[NCCL_OUT],
                               .stream = numbers[NCCL_STREAM],
                               .ts = number_as_double(number_at(events->ts, kernels[i])),
                               .dur = number_as_double(number_at(events->dur, kernels[i]))};
        bool ok = true;
        for (int text = 0; text < N_NCCL_TEXTS && ok; text++)
            ok = read_text(made, trace, columns[text].place[kernels[i]], &row.text[text]);
        /* kernels of collectives of vLLM have no arguments but a known name */
        if (ok && !row.text[NCCL_WHAT] &&
            text_compare(&trace->strings, events->name[kernels[i]], TEXT_HAS_IN_ANY_CASE, "cross_device_reduce")) {
            uint32_t kept = strings_intern(&made->strings, "allreduce", strlen("allreduce"));
            ok = kept != STRING_NONE;
            row.text[NCCL_WHAT] = kept + 1;
        }
        if (ok && column_grow(&made->list, made->n, &made->capacity, sizeof *made->list))
            made->list[made->n++] = row;
        else
            status = error_memory(error);
    }
    arena_free(&scratch);
    if (status)
        nccl_rows_free(made);
    else
        *rows = made;
    return status;
}

void nccl_rows_free(struct nccl_rows *rows) {
    if (!rows)
        return;
    strings_free(&rows->strings);
    free(rows->list);
    free(rows);
}

/* ---- Partial results ---- */

void nccl_rows_codec(struct codec *codec, struct nccl_rows **rows) {
    if (codec_decodes(codec)) {
        *rows = calloc(1, sizeof **rows);
        if (!*rows || !strings_init(&(*rows)->strings)) {
            codec_fail(codec, CODEC_NO_MEMORY);
            nccl_rows_free(*rows);
            *rows = NULL;
            return;
        }
    }
    codec_strings(codec, &(*rows)->strings);
    codec_array(codec, &(*rows)->list, &(*rows)->n, NULL);
    for (uint64_t i = 0; i < (*rows)->n && codec_decodes(codec); i++)
        for (int text = 0; text < N_NCCL_TEXTS; text++)
            codec_check(codec, (*rows)->list[i].text[text] <= (*rows)->strings.n);
    if (codec_decodes(codec) && codec->failure) {
        nccl_rows_free(*rows);
        *rows = NULL;
    }
}

/* ---- Functions that all tables share ---- */

static int compare_reals(double a, double b) {
    return (a > b) - (a < b);
}

static bool is_text(const struct nccl_job *job, uint32_t text, const char *words) {
    return text && strcmp(strings_text(&job->all.strings, text - 1), words) == 0;
}

enum nccl_kind nccl_kind_of(const struct nccl_job *job, const struct nccl_row *row) {
    static const struct {
        const char *name;
        enum nccl_kind kind;
    } kinds[] = {{"allreduce", NCCL_ALL_REDUCE},
                 {"allreduce_coalesced", NCCL_ALL_REDUCE},
                 {"reducescatter", NCCL_REDUCE_SCATTER},
                 {"_reduce_scatter_base", NCCL_REDUCE_SCATTER},
                 {"reduce_scatter_tensor_coalesced", NCCL_REDUCE_SCATTER},
                 {"allgather", NCCL_ALL_GATHER},
                 {"all_gather", NCCL_ALL_GATHER},
                 {"_allgather_base", NCCL_ALL_GATHER},
                 {"all_gather_into_tensor_coalesced", NCCL_ALL_GATHER},
                 {"allgather_into_tensor_coalesced", NCCL_ALL_GATHER},
                 {"all_to_all", NCCL_ALL_TO_ALL},
                 {"all_to_allv", NCCL_ALL_TO_ALL_V}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (is_text(job, row->text[NCCL_WHAT], kinds[i].name))
            return kinds[i].kind;
    return NCCL_NONE;
}

double nccl_megabytes(const struct nccl_job *job, const struct nccl_row *row, double n_elements) {
    static const struct {
        const char *name;
        double bytes;
    } types[] = {{"Float", 4}, {"Int", 4},    {"Long", 8}, {"BFloat16", 2}, {"Bool", 1},
                 {"Byte", 1},  {"Double", 8}, {"Half", 2}, {"Short", 2}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (is_text(job, row->text[NCCL_TYPE], types[i].name))
            return isnan(row->n_in) ? (double)NAN : n_elements * types[i].bytes / (1024.0 * 1024.0);
    return (double)NAN;
}

void nccl_add_text(const struct nccl_job *job, struct sutra_table *table, const struct nccl_row *row,
                   enum nccl_text text) {
    uint32_t string = row->text[text];
    if (text == NCCL_GROUP && !string)
        table_words(table, job->simplified ? "all" : "Unknown_Group");
    else
        table_text(table, string ? strings_text(&job->all.strings, string - 1) : "",
                   string ? strings_length(&job->all.strings, string - 1) : 0);
}

void nccl_add_collective(const struct nccl_job *job, struct sutra_table *table, const struct nccl_row *row) {
    nccl_add_text(job, table, row, NCCL_GROUP);
    nccl_add_text(job, table, row, NCCL_MEMBERS);
    nccl_add_text(job, table, row, NCCL_WHAT);
    table_real(table, row->size);
    nccl_add_text(job, table, row, NCCL_TYPE);
}

void nccl_add_id(const struct nccl_job *job, struct sutra_table *table, const struct nccl_row *row) {
    uint32_t string = row->text[NCCL_GROUP];
    const char *group = job->simplified ? "" : string ? strings_text(&job->all.strings, string - 1) : "Unknown_Group";
    size_t size = strlen(group) + 16;
    char *text = malloc(size);
    table->failed |= !text;
    if (!text)
        return;
    int n = snprintf(text, size, "%s%s%" PRIu32, group, job->simplified ? "" : "_", row->index);
    table_text(table, text, (size_t)n);
    free(text);
}

int nccl_compare_texts(const struct nccl_job *job, const struct nccl_row *a, const struct nccl_row *b,
                       enum nccl_text text, const char *missing) {
    const char *of_a = a->text[text] ? strings_text(&job->all.strings, a->text[text] - 1) : missing;
    const char *of_b = b->text[text] ? strings_text(&job->all.strings, b->text[text] - 1) : missing;
    return strcmp(of_a, of_b);
}

struct nccl_sorted {
    double value; /* negated for a descending order */
    uint64_t row;
};

ORDER_BY(compare_sorted, struct nccl_sorted, ASCENDING(value) ASCENDING(row))

void nccl_sort(struct nccl_job *job, struct sutra_table *table, uint32_t column, bool ascending) {
    struct nccl_sorted *rows = arena_alloc(job->arena, table->n_rows, sizeof *rows);
    uint64_t *order = arena_alloc(job->arena, table->n_rows, sizeof *order);
    table->failed |= job->arena->failed;
    if (table->failed)
        return;
    for (uint64_t i = 0; i < table->n_rows; i++) {
        double value = table_get_real(table, column, i);
        rows[i] = (struct nccl_sorted){ascending ? value : -value, i};
    }
    qsort(rows, table->n_rows, sizeof *rows, compare_sorted);
    for (uint64_t i = 0; i < table->n_rows; i++)
        order[i] = rows[i].row;
    table_reorder(table, order);
}

bool nccl_columns_init(struct nccl_job *job, struct nccl_columns *columns, uint32_t n_per_rank, uint32_t n_of_event) {
    size_t n_ranks = job->n_ranks;
    *columns = (struct nccl_columns){.n_per_rank = n_per_rank,
                                     .n_of_event = n_of_event,
                                     .ranks = arena_alloc(job->arena, n_ranks, sizeof *columns->ranks),
                                     .index = arena_alloc(job->arena, n_ranks, sizeof *columns->index),
                                     .cells = arena_alloc(job->arena, n_ranks * n_per_rank, sizeof *columns->cells)};
    if (job->arena->failed)
        return false;
    memset(columns->index, 0xff, n_ranks * sizeof *columns->index);
    return true;
}

void nccl_columns_add(const struct nccl_job *job, struct nccl_columns *columns, uint64_t id) {
    uint32_t first = columns->n;
    for (uint64_t i = 0; i < nccl_rows_of(job, id); i++) {
        uint32_t rank = nccl_row_at(job, id, i)->rank;
        if (columns->index[rank] != UINT32_MAX)
            continue;
        for (uint32_t cell = 0; cell < columns->n_of_event; cell++)
            columns->cells[columns->n_cells++] = columns->n_per_rank * columns->n + cell;
        columns->index[rank] = columns->n;
        columns->ranks[columns->n++] = rank;
    }
    for (; first < columns->n; first++)
        for (uint32_t cell = columns->n_of_event; cell < columns->n_per_rank; cell++)
            columns->cells[columns->n_cells++] = columns->n_per_rank * first + cell;
}

void nccl_rows_by_rank(const struct nccl_job *job, const struct nccl_columns *columns, uint64_t id,
                       const struct nccl_row **row_of) {
    memset(row_of, 0, columns->n * sizeof(void *));
    for (uint64_t i = 0; i < nccl_rows_of(job, id); i++) {
        const struct nccl_row *row = nccl_row_at(job, id, i);
        row_of[columns->index[row->rank]] = row;
    }
}

struct sutra_table *nccl_columns_table(struct nccl_job *job, const struct nccl_columns *columns,
                                       enum sutra_tracelens_collectives_table id, const struct column_spec *general,
                                       uint32_t n_general, const char *const *of_ranks) {
    uint32_t n = n_general + columns->n_cells;
    struct column_spec *all = arena_alloc(job->arena, n, sizeof *all);
    if (!all)
        return NULL;
    memcpy(all, general, n_general * sizeof *all);
    for (uint32_t i = 0; i < columns->n_cells; i++) {
        const char *what = of_ranks[columns->cells[i] % columns->n_per_rank];
        const char *column = arena_format(job->arena, "rank_%" PRIu32 "_%s",
                                          columns->ranks[columns->cells[i] / columns->n_per_rank], what);
        all[n_general + i] =
            (struct column_spec){column, strstr(what, "split") ? SUTRA_COLUMN_TEXT : SUTRA_COLUMN_REAL};
    }
    return job->arena->failed ? NULL : result_table_begin_with(job->result, id, all, n);
}

/* ---- Collectives among the rows ---- */

/* Adds a row with its texts. False: out of memory. */
static bool translate_row(struct nccl_rows *to, const struct nccl_rows *from, struct nccl_row row, uint32_t rank) {
    for (int i = 0; i < N_NCCL_TEXTS; i++) {
        if (row.text[i] == 0)
            continue;
        uint32_t string = row.text[i] - 1;
        uint32_t kept =
            strings_intern(&to->strings, strings_text(&from->strings, string), strings_length(&from->strings, string));
        if (kept == STRING_NONE)
            return false;
        row.text[i] = kept + 1;
    }
    row.rank = rank;
    if (!column_grow(&to->list, to->n, &to->capacity, sizeof *to->list))
        return false;
    to->list[to->n++] = row;
    return true;
}

/* The keys by which rows are ordered. */
struct nccl_key {
    uint32_t group, rank, index;
    uint64_t row, id_first;
    double ts;
};

ORDER_BY(compare_in_group, struct nccl_key, ASCENDING(group) ASCENDING(rank) ASCENDING(ts) ASCENDING(row))
ORDER_BY(compare_ids, struct nccl_key, ASCENDING(group) ASCENDING(index) ASCENDING(row))
ORDER_BY(compare_firsts, struct nccl_key, ASCENDING(id_first) ASCENDING(row))

static bool find_ids(struct nccl_job *job) {
    uint64_t n = job->all.n;
    struct nccl_key *keys = arena_alloc(job->arena, n, sizeof *keys);
    job->order = arena_alloc(job->arena, n, sizeof *job->order);
    job->first = arena_alloc(job->arena, n + 1, sizeof *job->first);
    if (job->arena->failed)
        return false;
    for (uint64_t i = 0; i < n; i++) {
        const struct nccl_row *row = &job->all.list[i];
        /* as in TraceLens a missing group is equal to a group with this name */
        bool unknown = job->simplified || is_text(job, row->text[NCCL_GROUP], "Unknown_Group");
        keys[i] =
            (struct nccl_key){.group = unknown ? 0 : row->text[NCCL_GROUP], .rank = row->rank, .row = i, .ts = row->ts};
    }
    if (n > 0)
        qsort(keys, n, sizeof *keys, compare_in_group);
    for (uint64_t i = 0; i < n; i++) {
        bool same = i > 0 && keys[i].group == keys[i - 1].group && keys[i].rank == keys[i - 1].rank;
        keys[i].index = job->all.list[keys[i].row].index = same ? keys[i - 1].index + 1 : 0;
    }
    if (n > 0)
        qsort(keys, n, sizeof *keys, compare_ids);
    for (uint64_t i = 0; i < n; i++) {
        bool same = i > 0 && keys[i].group == keys[i - 1].group && keys[i].index == keys[i - 1].index;
        keys[i].id_first = same ? keys[i - 1].id_first : keys[i].row;
    }
    if (n > 0)
        qsort(keys, n, sizeof *keys, compare_firsts);
    for (uint64_t i = 0; i < n; i++) {
        if (i == 0 || keys[i].id_first != keys[i - 1].id_first)
            job->first[job->n_ids++] = i;
        job->order[i] = keys[i].row;
    }
    job->first[job->n_ids] = n;
    return true;
}

/* ---- Long tables ---- */

static void add_all_rows(struct nccl_job *job) {
    struct sutra_table *table = result_table_begin(job->result, SUTRA_TRACELENS_NCCL_LONG);
    for (uint64_t i = 0; i < job->all.n; i++) {
        const struct nccl_row *row = &job->all.list[i];
        nccl_add_id(job, table, row);
        table_integer(table, row->index);
        table_integer(table, row->rank);
        nccl_add_collective(job, table, row);
        table_real(table, row->n_in);
        table_real(table, nccl_megabytes(job, row, row->n_in));
        table_real(table, row->n_out);
        table_real(table, nccl_megabytes(job, row, row->n_out));
        nccl_add_text(job, table, row, NCCL_IN_SPLIT);
        nccl_add_text(job, table, row, NCCL_OUT_SPLIT);
        table_real(table, row->stream);
        table_real(table, row->ts);
        table_real(table, row->dur);
    }
}

static int compare_keys(const struct nccl_job *job, const struct nccl_row *a, const struct nccl_row *b) {
    static const enum nccl_text texts[] = {NCCL_GROUP, NCCL_MEMBERS, NCCL_WHAT};
    const char *unknown = job->simplified ? "all" : "Unknown_Group";
    int order = (a->rank > b->rank) - (a->rank < b->rank);
    for (size_t i = 0; i < sizeof texts / sizeof *texts && !order; i++)
        order = nccl_compare_texts(job, a, b, texts[i], unknown);
    order = order ? order : compare_reals(a->size, b->size);
    order = order ? order : nccl_compare_texts(job, a, b, NCCL_TYPE, "");
    order = order ? order : compare_reals(a->n_in, b->n_in);
    order = order ? order : compare_reals(a->n_out, b->n_out);
    order = order ? order : nccl_compare_texts(job, a, b, NCCL_IN_SPLIT, "");
    order = order ? order : nccl_compare_texts(job, a, b, NCCL_OUT_SPLIT, "");
    return order ? order : compare_reals(a->stream, b->stream);
}

static int compare_rows(const void *left, const void *right, void *arg) {
    const struct nccl_row *const *a = left, *const *b = right;
    int order = compare_keys(arg, *a, *b);
    return order ? order : (*a > *b) - (*a < *b);
}

static void add_summaries(struct nccl_job *job) {
    const struct nccl_row **rows = arena_alloc(job->arena, job->all.n, sizeof(void *));
    double *values = arena_alloc(job->arena, 2 * job->all.n, sizeof *values);
    enum group_order order = GROUPS_SORTED;
    uint64_t n = 0;
    for (uint64_t i = 0; i < job->all.n && rows; i++) {
        const struct nccl_row *row = &job->all.list[i];
        bool has_key = !isnan(row->size) && !isnan(row->n_in) && !isnan(row->n_out) && !isnan(row->stream);
        for (int text = 0; text < N_NCCL_TEXTS; text++)
            has_key &= row->text[text] != 0 || text == NCCL_GROUP;
        order = !has_key && n ? GROUPS_MIXED : order; /* a dropped row follows a row of a group */
        if (has_key)
            rows[n++] = row;
    }
    if (!values)
        return;
    struct sutra_table *table = result_table_begin(job->result, SUTRA_TRACELENS_NCCL_SUMMARY_LONG);
    for (uint64_t i = 1; i < n; i++)
        order = compare_keys(job, rows[i - 1], rows[i]) > 0 ? GROUPS_MIXED : order;
    if (n)
        qsort_r(rows, n, sizeof(void *), compare_rows, job);
    for (uint64_t begin = 0, end; begin < n; begin = end) {
        for (end = begin; end < n && compare_keys(job, rows[begin], rows[end]) == 0;)
            end++;
        const struct nccl_row *row = rows[begin];
        for (uint64_t i = begin; i < end; i++)
            values[i - begin] = rows[i]->dur;
        struct value_stats stats = pandas_stats(values, end - begin, order, values + (end - begin));
        table_integer(table, row->rank);
        nccl_add_collective(job, table, row);
        table_real(table, row->n_in);
        table_real(table, row->n_out);
        nccl_add_text(job, table, row, NCCL_IN_SPLIT);
        nccl_add_text(job, table, row, NCCL_OUT_SPLIT);
        table_real(table, row->stream);
        table_real(table, nccl_megabytes(job, row, row->n_in));
        table_real(table, nccl_megabytes(job, row, row->n_out));
        table_real(table, stats.sum);
        table_real(table, stats.mean);
        table_real(table, stats.std);
        table_real(table, stats.min);
        table_real(table, stats.max);
        table_integer(table, (int64_t)(end - begin));
    }
    nccl_sort(job, table, 13, false);
}

/* ---- All tables ---- */

/* Endings of columns that PyTorch fills with integers. */
static const char *const integer_endings[] = {"Group size", "In msg nelems", "Out msg nelems", "stream",
                                              "total nelems communicated"};

/* Whether the ranks of a list such as "[0, 1]" are on one node. */
static const char *span_of(const char *ranks, int64_t per_node) {
    int64_t node = -1;
    for (const char *at = ranks; *at;) {
        if (!isdigit((unsigned char)*at)) {
            at++;
            continue;
        }
        char *end;
        int64_t of = strtoll(at, &end, 10) / per_node;
        if (node >= 0 && node != of)
            return "inter_node";
        node = of;
        at = end;
    }
    return node < 0 ? "unknown" : "intra_node";
}

/* Turns columns into integers and adds the nodes of ranks, with per_node ranks each; 0: unknown. */
static void finish_tables(struct nccl_job *job, int64_t per_node) {
    for (int id = 0; id < SUTRA_TRACELENS_NCCL_N_TABLES; id++) {
        struct sutra_table *table = &job->result->tables[id];
        if (!job->result->made[id] || table->failed)
            continue;
        for (uint32_t column = 0; column < table->n_columns; column++) {
            const char *name = table->columns[column].spec.name;
            size_t n = strlen(name);
            for (size_t i = 0; i < sizeof integer_endings / sizeof *integer_endings; i++) {
                size_t n_ending = strlen(integer_endings[i]);
                if (n >= n_ending && strcmp(name + n - n_ending, integer_endings[i]) == 0)
                    table_make_integers(table, column);
            }
        }
        uint32_t rank = table_column(table, "rank"), members = table_column(table, "Process Group Ranks");
        bool has_rank = rank < table->n_columns, has_members = members < table->n_columns;
        if (per_node <= 0 || table->n_rows == 0)
            continue;
        int64_t *nodes = arena_alloc(job->arena, table->n_rows, sizeof *nodes);
        const char **spans = arena_alloc(job->arena, table->n_rows, sizeof *spans);
        table->failed |= job->arena->failed;
        for (uint64_t row = 0; row < table->n_rows && !table->failed; row++) {
            size_t length;
            nodes[row] = has_rank ? table_get_integer(table, rank, row) / per_node : 0;
            spans[row] = has_members ? span_of(table_get_text(table, members, row, &length), per_node) : NULL;
        }
        if (has_rank && !table->failed)
            table_add_integers(table, "node_id", nodes);
        if (has_members && !table->failed)
            table_add_texts(table, "node_span", spans);
    }
}

/* ---- The run ---- */

/* The part of a trace. */
struct nccl_part {
    struct sutra_collectives_rank rank;
    struct nccl_rows *rows;
    int64_t n_devices; /* of its host; CALL_UNKNOWN */
};

struct sutra_tracelens_collectives {
    struct sutra_result result;
    struct rank_tasks tasks; /* whose results are struct nccl_part */
    struct arena arena;
    uint64_t ranks_per_host; /* 0: as many as the first trace lists GPUs */
};

/* Makes all tables of the parts. */
static enum sutra_status make_tables(struct sutra_tracelens_collectives *of, struct sutra_error *error) {
    struct nccl_job job = {.result = &of->result, .n_ranks = of->tasks.n, .arena = &of->arena};
    int64_t per_node = (int64_t)of->ranks_per_host;
    bool done = strings_init(&job.all.strings);
    for (size_t i = 0; i < of->tasks.n && done; i++) {
        struct nccl_part *part = task_result(&of->tasks, i);
        for (uint64_t k = 0; part->rows && k < part->rows->n && done; k++)
            done = translate_row(&job.all, part->rows, part->rows->list[k], (uint32_t)i);
        nccl_rows_free(part->rows);
        part->rows = NULL;
        if (i == 0 && per_node == 0)
            per_node = part->n_devices;
    }
    /* simplified: no row records its group, and each rank has one stream */
    double stream = (double)NAN;
    job.simplified = done;
    for (uint64_t i = 0; i < job.all.n && job.simplified; i++) {
        const struct nccl_row *row = &job.all.list[i];
        if (i > 0 && row->rank != row[-1].rank)
            stream = (double)NAN;
        bool has_group = row->text[NCCL_GROUP] && !is_text(&job, row->text[NCCL_GROUP], "Unknown_Group");
        bool is_other = !isnan(row->stream) && !isnan(stream) && row->stream != stream;
        job.simplified = !has_group && !is_other;
        stream = isnan(row->stream) ? stream : row->stream;
    }
    done = done && find_ids(&job);
    if (done && job.all.n > 0) {
        add_all_rows(&job);
        add_summaries(&job);
        nccl_sync_make(&job);
        nccl_exchange_make(&job);
        finish_tables(&job, per_node);
    }
    strings_free(&job.all.strings);
    free(job.all.list);
    return done && !of->arena.failed ? result_status(&of->result, error) : error_memory(error);
}

static enum sutra_status analyze(void *arg, struct rank_run *run, size_t number, struct sutra_context *context,
                                 struct sutra_device_trace *trace, struct sutra_error *error) {
    const struct sutra_tracelens_collectives *of = arg;
    struct nccl_part *part = task_result(&of->tasks, number);
    (void)run;
    part->n_devices = trace_device_count(&trace->document);
    enum sutra_status status = read_rows(&part->rows, context, trace, error);
    sutra_device_trace_free(trace);
    return status;
}

/* Parts depend on no option; those by other rules are refused. */
static void encode_rules(const void *of, struct buffer *out) {
    (void)of;
    encode_text(out, "TraceLens");
}

static void part_codec(void *arg, size_t number, struct codec *codec) {
    const struct sutra_tracelens_collectives *of = arg;
    struct nccl_part *part = task_result(&of->tasks, number);
    codec_options(codec, encode_rules, NULL);
    codec_value(codec, &part->n_devices);
    nccl_rows_codec(codec, &part->rows);
}

static void part_free(void *result) {
    nccl_rows_free(((struct nccl_part *)result)->rows);
}

static enum sutra_status merge(void *arg, struct sutra_context *context, struct sutra_error *error) {
    struct sutra_tracelens_collectives *of = arg;
    (void)context;
    for (size_t i = 0; i < of->tasks.n; i++)
        ((struct nccl_part *)task_result(&of->tasks, i))->rank = collectives_rank_of(&of->tasks.list[i]);
    TRY_ALLOC(result_init(&of->result, specs, SUTRA_TRACELENS_NCCL_N_TABLES), error);
    of->result.of_job = true;
    of->result.defects = of->tasks.defects;
    of->result.n_defects = of->tasks.n_defects;
    of->result.verbatim = true;
    return make_tables(of, error);
}

static const struct rank_analysis analysis = {.kind = {"collectives", 0},
                                              .result_size = sizeof(struct nccl_part),
                                              .analyze = analyze,
                                              .codec = part_codec,
                                              .free = part_free,
                                              .merge = merge};

enum sutra_status sutra_tracelens_collectives_run(struct sutra_context *context, const char *const *paths,
                                                  size_t n_paths, const struct sutra_collectives_options *options,
                                                  struct sutra_tracelens_collectives **collectives,
                                                  struct sutra_error *error) {
    struct sutra_collectives_options taken;
    struct sutra_tracelens_collectives *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    enum sutra_status status = collectives_options_init(options, &taken, error);
    if (!status)
        status = restriction_copy(taken.restriction, &made->tasks.restriction, error);
    if (!status) {
        made->ranks_per_host = taken.ranks_per_host;
        made->tasks.keeps_truncated = true;
        status = rank_tasks_run(&made->tasks, &analysis, context, paths, n_paths, made, error);
    }
    if (status || made->tasks.is_combined_by_other_process) {
        sutra_tracelens_collectives_free(made);
        made = NULL;
    }
    if (!status)
        *collectives = made;
    return status;
}

void sutra_tracelens_collectives_free(struct sutra_tracelens_collectives *collectives) {
    if (!collectives)
        return;
    result_free(&collectives->result);
    arena_free(&collectives->arena);
    rank_tasks_free(&collectives->tasks);
    free(collectives);
}

const struct sutra_collectives_rank *
sutra_tracelens_collectives_get(const struct sutra_tracelens_collectives *collectives, size_t i) {
    if (i >= collectives->tasks.n_selected)
        return NULL;
    return &((const struct nccl_part *)task_result_of_rank(&collectives->tasks, i))->rank;
}
