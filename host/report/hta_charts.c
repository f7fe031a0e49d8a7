/*
 * hta_charts.c - writes the charts of the page on ranks, with their tables.
 *
 *     table of the analysis, or table derived from it in the order and with the columns of a chart --> bars, table
 *     the longest queues                                                                            --> lines
 *
 * O(rows), plus a sort for ordered tables.
 */
#include <math.h>
#include <stdio.h>

#include "analyze/compat/hta/hta_ranks.h"
#include "base/arena.h"
#include "columns/strings.h"
#include "report/sections.h"

/* Bars of one chart. */
#define BARS_SHOWN 16

/* Iterates over the ranks that are not skipped; NULL at the end. */
static const struct sutra_hta_rank *next_rank(const struct sutra_hta_ranks *ranks, size_t *i) {
    const struct sutra_hta_rank *rank = sutra_hta_ranks_get(ranks, (*i)++);
    return rank && !rank->reason ? rank : NULL;
}

/* ---- Time ---- */

void hta_time_show(struct page *page, const void *of) {
    static const struct column_spec specs[] = {
        INTEGER("rank"),           REAL("compute_us"), REAL("exposed_communication_us"),
        REAL("exposed_memory_us"), REAL("other_us"),   REAL("idle_us"),
        REAL("kernel_time_us")};
    static const struct bars_words words = {
        "time_by_rank",
        "Time of each rank",
        "One bar per rank: compute, exposed communication, exposed memcpy, other activity and idle time.",
        "Activity that overlaps with compute counts as compute. Exposed communication overlaps with neither compute nor "
        "memcpy.",
        "Time breakdown of each rank",
        "rank_summary"};
    const struct hta_source *source = of;
    const struct sutra_hta_rank *rank;
    const char *reason = NULL;
    struct sutra_table table;
    table_init(&table, "time", specs, sizeof specs / sizeof *specs);
    for (size_t i = 0; (rank = next_rank(source->ranks, &i));) {
        const struct sutra_hta_summary *summary = rank->summary;
        if (summary->n_kernels == 0)
            continue;
        table_integer(&table, rank->rank);
        table_real(&table, summary->compute_us);
        table_real(&table, summary->exposed_us);
        table_real(&table, summary->memory_us);
        table_real(&table, fmax(0, summary->busy_us - summary->compute_us - summary->exposed_us - summary->memory_us));
        table_real(&table, summary->idle_us);
        table_real(&table, summary->span_us);
    }
    const struct bars bars = {
        .table = &table,
        .labels = {table_column(&table, "rank")},
        .n_labels = 1,
        .values = {{table_column(&table, "compute_us"), "compute", COLOUR_COMPUTE},
                   {table_column(&table, "exposed_communication_us"), "exposed communication", COLOUR_COMMUNICATION},
                   {table_column(&table, "exposed_memory_us"), "exposed memcpy", COLOUR_COPIES},
                   {table_column(&table, "other_us"), "other activity", COLOUR_OTHER_WORK},
                   {table_column(&table, "idle_us"), "idle", COLOUR_IDLE}},
        .n_values = 5,
        .unit = UNIT_US};
    if (!page_bars(page, bars, RANKS_AS_BARS, &words)) {
        sutra_result_table(SUTRA_RESULT(source->ranks), SUTRA_HTA_TEMPORAL, &reason);
        page_missing(page, "Time", reason);
    }
    table_free(&table);
}

/* ---- Steps ---- */

void hta_steps_show(struct page *page, const void *of) {
    const struct hta_source *source = of;
    static const struct bars_words words = {
        "steps",
        "GPU activity of each step",
        "One bar per step of a rank: compute and exposed communication of the kernels that the step launched.",
        NULL,
        "Profiler steps",
        "profiler_steps"};
    const struct sutra_table *table =
        page_find_table(page, SUTRA_RESULT(source->ranks), SUTRA_HTA_STEPS, "Steps", NULL);
    if (!table)
        return;
    const struct bars bars = {
        .table = table,
        .labels = {table_column(table, "rank"), table_column(table, "step")},
        .n_labels = 2,
        .values = {{table_column(table, "compute_us"), "compute", COLOUR_COMPUTE},
                   {table_column(table, "exposed_communication_us"), "exposed communication", COLOUR_COMMUNICATION}},
        .n_values = 2,
        .unit = UNIT_US};
    page_bars(page, bars, RANKS_AS_BARS, &words);
}

/* ---- Stragglers ---- */

void hta_stragglers_show(struct page *page, const void *of) {
    const struct hta_source *source = of;
    static const struct bars_words words = {
        "stragglers",
        "Lateness of ranks at collectives",
        "One bar per rank: its time in collectives, subtracted from the time of the rank that waits longest.",
        NULL,
        "Ranks by lateness",
        "potential_stragglers"};
    const struct sutra_table *table =
        page_find_table(page, SUTRA_RESULT(source->ranks), SUTRA_HTA_STRAGGLERS, "Stragglers", NULL);
    if (!table)
        return;
    page_bars(page, bars_of_value(table, "rank", "late_us", "late", COLOUR_COUNT, UNIT_US), RANKS_AS_BARS, &words);
}

/* ---- Kernels ---- */

/* Bars of the first rows of a table, by the time of each kernel type; `colours` has room for BARS_SHOWN. */
static struct bars bars_by_type(const struct sutra_table *table, const char *label, const char *time,
                                int colours[BARS_SHOWN]) {
    static const struct {
        const char *name;
        int colour;
    } types[] = {{"COMPUTATION", COLOUR_COMPUTE},
                 {"COMMUNICATION", COLOUR_COMMUNICATION},
                 {"MEMORY", COLOUR_COPIES},
                 {"OTHER", COLOUR_OTHER_WORK}};
    uint32_t type_column = table_column(table, "kernel_type");
    for (uint64_t row = 0; row < table->n_rows && row < BARS_SHOWN; row++) {
        size_t length;
        const char *type = table_get_text(table, type_column, row, &length);
        /* Of several types: with compute, communication overlaps; with memcpy, it stays exposed. */
        colours[row] = !strstr(type, "COMMUNICATION") ? COLOUR_COMPUTE
                       : strstr(type, "COMPUTATION")  ? COLOUR_HIDDEN
                                                      : COLOUR_COMMUNICATION;
        for (size_t i = 0; i < sizeof types / sizeof *types; i++)
            if (strcmp(type, types[i].name) == 0)
                colours[row] = types[i].colour;
    }
    struct bars bars = bars_of_value(table, label, time, "time", COLOUR_COMPUTE, UNIT_US);
    bars.row_colours = colours;
    return bars;
}

/* Kernels of all ranks, summed by type and name. */
struct kernel_sums {
    struct strings keys; /* type, NUL, name */
    struct {
        double us;
        uint64_t row; /* the first one with this key */
        int64_t n_ranks;
    } * sums; /* by key */
    struct buffer key;
    struct arena arena;
};

static bool sum_kernels(struct kernel_sums *sums, const struct sutra_table *kernels) {
    uint32_t name_column = table_column(kernels, "name"), type_column = table_column(kernels, "kernel_type");
    uint32_t time_column = table_column(kernels, "sum (us)");
    sums->sums = arena_zeros(&sums->arena, kernels->n_rows, sizeof *sums->sums);
    if (!sums->sums || !strings_init(&sums->keys))
        return false;
    for (uint64_t row = 0; row < kernels->n_rows; row++) {
        size_t name_length, type_length;
        const char *name = table_get_text(kernels, name_column, row, &name_length);
        const char *type = table_get_text(kernels, type_column, row, &type_length);
        sums->key.length = 0;
        buffer_append(&sums->key, type, type_length + 1);
        buffer_append(&sums->key, name, name_length);
        uint32_t n = sums->keys.n;
        uint32_t i = sums->key.failed ? STRING_NONE : strings_intern(&sums->keys, sums->key.bytes, sums->key.length);
        if (i == STRING_NONE)
            return false;
        if (i == n)
            sums->sums[i].row = row;
        sums->sums[i].us += table_get_real(kernels, time_column, row);
        sums->sums[i].n_ranks++;
    }
    return true;
}

/* A table of kernels of all ranks in descending order of time. "others" of a rank's table stays a row. */
static void make_kernels(struct sutra_table *table, const struct sutra_table *kernels) {
    static const struct column_spec specs[] = {TEXT("name"), TEXT("kernel_type"), REAL("sum (us)"), REAL("share_pctg"),
                                               INTEGER("ranks")};
    uint32_t name_column = table_column(kernels, "name"), type_column = table_column(kernels, "kernel_type");
    struct kernel_sums sums = {0};
    double total = 0;
    table_init(table, "kernels", specs, sizeof specs / sizeof *specs);
    bool ok = sum_kernels(&sums, kernels);
    for (uint32_t i = 0; i < sums.keys.n && ok; i++)
        total += sums.sums[i].us;
    for (uint32_t i = 0; i < sums.keys.n && ok; i++) {
        uint64_t row = sums.sums[i].row;
        size_t name_length, type_length;
        const char *name = table_get_text(kernels, name_column, row, &name_length);
        const char *type = table_get_text(kernels, type_column, row, &type_length);
        table_text(table, name, name_length);
        table_text(table, type, type_length);
        table_real(table, sums.sums[i].us);
        table_real(table, total > 0 ? 100 * sums.sums[i].us / total : 0);
        table_integer(table, sums.sums[i].n_ranks);
    }
    table->failed |= !ok;
    uint32_t time = table_column(table, "sum (us)");
    table_sort_descending(table, time, time);
    strings_free(&sums.keys);
    buffer_free(&sums.key);
    arena_free(&sums.arena);
}

void hta_kernels_show(struct page *page, const void *of) {
    static const struct bars_words kernel_words = {
        "top_kernels",
        "Top kernels by time",
        "One bar per kernel, descending by time.",
        "Sums over all calls and ranks. 'others' sums the kernels of each type that are not among the top N of a rank; a "
        "kernel can be listed on one rank and be part of 'others' on another rank.",
        "Kernels by time",
        "gpu_kernel_breakdown_mem.kernels"};
    const struct hta_source *source = of;
    const char *reason;
    const struct sutra_table *types = sutra_result_table(SUTRA_RESULT(source->ranks), SUTRA_HTA_TYPES_MEMORY, &reason);
    const struct sutra_table *kernels = sutra_result_table(SUTRA_RESULT(source->ranks), SUTRA_HTA_KERNELS_MEMORY, NULL);
    int colours[BARS_SHOWN];
    if (types && types->n_rows > 0) {
        const struct bars_words words = {"kernel_types",
                                         "Time by kernel type",
                                         "One bar per kernel type, or per combination of overlapping types.",
                                         NULL,
                                         "Kernel types, all ranks",
                                         sutra_table_name(types)};
        page_bars(page, bars_by_type(types, "kernel_type", "sum", colours), BARS_SHOWN, &words);
    } else {
        page_missing(page, "Kernel types", types ? "no kernels" : reason);
    }
    if (kernels && kernels->n_rows > 0) {
        struct sutra_table table;
        make_kernels(&table, kernels);
        struct bars bars = bars_by_type(&table, "name", "sum (us)", colours);
        bars.kernels = true;
        page_bars(page, bars, BARS_SHOWN, &kernel_words);
        table_free(&table);
    }
}

/* ---- Idle time ---- */

void hta_idle_show(struct page *page, const void *of) {
    enum { HOST, KERNEL, OTHER, N_CAUSES };
    static const struct column_spec specs[] = {INTEGER("rank"), INTEGER("stream"), REAL("host_wait_us"),
                                               REAL("kernel_wait_us"), REAL("other_us")};
    const struct hta_source *source = of;
    static const struct bars_words words = {
        "idle",
        "Idle time of streams by cause",
        "One bar per stream: host wait, kernel wait and other; descending by idle time.",
        NULL,
        "Idle time of each stream, descending",
        "idle_time_breakdown.rows"};
    const struct sutra_table *idle =
        page_find_table(page, SUTRA_RESULT(source->ranks), SUTRA_HTA_IDLE, "Idle time", NULL);
    struct sutra_table table;
    if (!idle)
        return;
    /* One row per stream, with its gaps by cause, in descending order of their sum. */
    uint32_t rank_column = table_column(idle, "rank"), stream_column = table_column(idle, "stream");
    uint32_t cause_column = table_column(idle, "idle_category"), time_column = table_column(idle, "idle_time");
    table_init(&table, "idle", specs, sizeof specs / sizeof *specs);
    for (uint64_t row = 0; row < idle->n_rows;) {
        int64_t rank = table_get_integer(idle, rank_column, row), stream = table_get_integer(idle, stream_column, row);
        double us[N_CAUSES] = {0};
        for (; row < idle->n_rows && table_get_integer(idle, rank_column, row) == rank &&
               table_get_integer(idle, stream_column, row) == stream;
             row++) {
            size_t length;
            const char *cause = table_get_text(idle, cause_column, row, &length);
            us[strcmp(cause, "host_wait") == 0     ? HOST
               : strcmp(cause, "kernel_wait") == 0 ? KERNEL
                                                   : OTHER] += table_get_real(idle, time_column, row);
        }
        table_integer(&table, rank);
        table_integer(&table, stream);
        for (int i = 0; i < N_CAUSES; i++)
            table_real(&table, us[i]);
    }
    table_sort_descending(&table, table_column(&table, "host_wait_us"), table_column(&table, "other_us"));
    const struct bars bars = {.table = &table,
                              .labels = {table_column(&table, "rank"), table_column(&table, "stream")},
                              .n_labels = 2,
                              .values = {{table_column(&table, "host_wait_us"), "host wait", COLOUR_WAIT_HOST},
                                         {table_column(&table, "kernel_wait_us"), "kernel wait", COLOUR_WAIT_DEVICE},
                                         {table_column(&table, "other_us"), "other", COLOUR_IDLE}},
                              .n_values = 3,
                              .unit = UNIT_US};
    page_check(page, &table);
    if (table.n_rows < 2 || !page_bars(page, bars, BARS_SHOWN, &words)) /* a single bar shows less than its numbers */
        page_table(page, &table, words.caption, words.file);
    table_free(&table);
}

/* ---- Communication ---- */

void overlap_show(struct page *page, const struct sutra_table *table, const char *file, const char *missing) {
    const struct bars_words words = {
        "overlap",
        "Overlap of communication and compute",
        "One bar per rank: communication that overlaps with compute, and exposed communication.",
        NULL,
        "Communication of each rank",
        file};
    const struct bars bars = {.table = table,
                              .labels = {table_column(table, "rank")},
                              .n_labels = 1,
                              .values = {{table_column(table, "hidden_us"), "overlaps with compute", COLOUR_HIDDEN},
                                         {table_column(table, "exposed_us"), "exposed", COLOUR_COMMUNICATION}},
                              .n_values = 2,
                              .unit = UNIT_US};
    if (!page_bars(page, bars, RANKS_AS_BARS, &words))
        page_missing(page, "Overlap", missing);
}

void hta_overlap_show(struct page *page, const void *of) {
    static const struct column_spec specs[] = {INTEGER("rank"), REAL("hidden_us"), REAL("exposed_us"),
                                               REAL("communication_us"), REAL("comp_comm_overlap_pctg")};
    const struct hta_source *source = of;
    const struct sutra_table *shares = sutra_result_table(SUTRA_RESULT(source->ranks), SUTRA_HTA_OVERLAP, NULL);
    const struct sutra_hta_rank *rank;
    struct sutra_table table;
    uint64_t at = 0, n_shares = shares ? shares->n_rows : 0;
    uint32_t rank_column = shares ? table_column(shares, "rank") : 0;
    uint32_t share_column = shares ? table_column(shares, specs[4].name) : 0;
    table_init(&table, "overlap", specs, sizeof specs / sizeof *specs);
    for (size_t i = 0; (rank = next_rank(source->ranks, &i));) {
        const struct sutra_hta_summary *summary = rank->summary;
        if (!(summary->communication_us > 0))
            continue;
        while (at < n_shares && table_get_integer(shares, rank_column, at) < rank->rank)
            at++; /* ranks ascend in both tables */
        bool has_share = at < n_shares && table_get_integer(shares, rank_column, at) == rank->rank;
        table_integer(&table, rank->rank);
        table_real(&table, summary->overlap_us);
        table_real(&table, summary->communication_us - summary->overlap_us);
        table_real(&table, summary->communication_us);
        table_real(&table, has_share ? table_get_real(shares, share_column, at) : NAN);
    }
    overlap_show(page, &table, "comm_comp_overlap", "the trace has no communication kernels (nccl...Kernel)");
    table_free(&table);
}

/* ---- Queues ---- */

/* Queues with at most one kernel have no panel: they all look the same. */
static void show_queue_chart(struct page *page, const struct hta_source *source) {
    const struct queue_list *queues = hta_ranks_queues(source->ranks);
    struct line_series series[QUEUES_KEPT];
    struct chart_lines lines = {series, 0};
    char words[200];
    if (queues->n_all == 0)
        return;
    page_subtitle(page, "Queue length over time");
    for (const struct queue_series *of = queues->list; lines.n_series < queues->n && of->longest > 1; of++)
        series[lines.n_series++] =
            (struct line_series){of->rank, of->stream, of->begin_us, of->end_us, of->most, of->mean, QUEUE_BINS};
    if (lines.n_series == 0) {
        page_words(page, "Queues never contain more than one kernel.");
        return;
    }
    page_chart(page, "queue_length", "Queue length over time",
               "One panel per stream: maximum and mean number of queued kernels in each time interval.", lines_draw,
               &lines);
    if (lines.n_series == queues->n_all)
        return;
    snprintf(words, sizeof words,
             lines.n_series < QUEUES_KEPT ? "The other %s of %s queues never contain more than one kernel."
                                          : "Omitted: %s of %s queues, which are shorter.",
             shown_decimal((double)(queues->n_all - lines.n_series), 0).text,
             shown_decimal((double)queues->n_all, 0).text);
    page_words(page, words);
}

void hta_queues_show(struct page *page, const void *of) {
    const struct hta_source *source = of;
    show_queue_chart(page, source);
    page_result_table(page, SUTRA_RESULT(source->ranks), SUTRA_HTA_QUEUE_SUMMARY, "Queue length after each change",
                      NULL);
    page_result_table(page, SUTRA_RESULT(source->ranks), SUTRA_HTA_BLOCKED, "Time with a full queue", NULL);
}
