/*
 * labels.c - names of processes and threads, from the trace's metadata: events of phase "M" tell them of a thread of a
 * process, those of a process on thread 0. "Unknown" where nothing is told. O(n).
 */
#include "analyze/operators/tables.h"
#include "base/error.h"
#include "columns/column.h"
#include "columns/pair_table.h"
#include "facts/threads.h"

enum label_kind { LABEL_PROCESS, LABEL_LABEL, LABEL_THREAD, N_LABELS };

static const char *const label_events[N_LABELS] = {"process_name", "process_labels", "thread_name"};

struct label_reader {
    const struct op_reading *reading;
    struct thread_labels *labels;
    struct thread_numbers processes;
    struct pair_table of[N_LABELS]; /* by tid and process: a text */
};

static uint32_t process_of(struct label_reader *reader, row_t event) {
    return thread_number(&reader->processes, (uint64_t)reader->reading->events->pid[event], 0);
}

static bool note_label(struct label_reader *reader, enum label_kind kind, row_t event, const struct strings *asked,
                       uint32_t string) {
    uint32_t process = process_of(reader, event);
    if (string == STRING_NONE)
        return true;
    struct pair_entry *entry =
        process == PAIR_NONE
            ? NULL
            : pair_table_take(&reader->of[kind], (uint64_t)reader->reading->events->tid[event], process);
    uint32_t text = strings_intern(&reader->labels->texts, strings_text(asked, string), strings_length(asked, string));
    if (entry)
        entry->number = text;
    return entry && text != STRING_NONE;
}

static enum sutra_status note_labels(struct label_reader *reader, struct sutra_context *context, const row_t *rows,
                                     row_t n, struct sutra_error *error) {
    static const struct asked_field fields[] = {{"name", ASK_STRING, false}, {"labels", ASK_STRING, false}};
    const struct op_reading *reading = reader->reading;
    struct asked_column columns[2];
    enum sutra_status status = event_columns_ask(context, reading->trace, fields, 2, rows, n, columns, error);
    for (row_t i = 0; i < n && !status; i++)
        for (int kind = 0; kind < N_LABELS && !status; kind++)
            if (text_compare(reading->strings, reading->events->name[rows[i]], TEXT_IS, label_events[kind]) &&
                !note_label(reader, (enum label_kind)kind, rows[i], event_columns_strings(reading->trace),
                            columns[kind == LABEL_LABEL].string[rows[i]]))
                status = error_memory(error);
    return status;
}

/* Labels of each thread of hosts, from any event of it. */
static bool give_labels(struct label_reader *reader) {
    const struct host_rows *hosts = &reader->reading->hosts;
    uint32_t *const of[N_LABELS] = {reader->labels->process, reader->labels->label, reader->labels->thread};
    uint32_t unknown = strings_intern(&reader->labels->texts, "Unknown", 7);
    for (row_t row = 0; row < hosts->n && unknown != STRING_NONE; row++) {
        row_t event = hosts->event[row];
        if (row && hosts->thread[row] == hosts->thread[row - 1])
            continue;
        uint32_t process = process_of(reader, event);
        if (process == PAIR_NONE)
            return false;
        for (int kind = 0; kind < N_LABELS; kind++) {
            uint64_t tid = kind == LABEL_THREAD ? (uint64_t)reader->reading->events->tid[event] : 0;
            uint32_t text = pair_table_find(&reader->of[kind], tid, process);
            of[kind][hosts->thread[row]] = text == PAIR_NONE ? unknown : text;
        }
    }
    return unknown != STRING_NONE;
}

static enum sutra_status read_all(struct label_reader *reader, struct sutra_context *context, struct arena *arena,
                                  struct sutra_error *error) {
    const struct device_events *events = reader->reading->events;
    struct arena_mark mark = arena_mark(arena);
    row_t *rows = arena_take(arena, events->n, sizeof *rows), n = 0;
    enum sutra_status status = arena_status(arena, error);
    for (row_t event = 0; event < events->n && !status; event++)
        if (events->phase[event] == 'M')
            rows[n++] = event;
    if (!status)
        status = note_labels(reader, context, rows, n, error);
    arena_release(arena, mark);
    return status || give_labels(reader) ? status : error_memory(error);
}

enum sutra_status thread_labels_read(struct sutra_context *context, const struct op_reading *reading,
                                     struct arena *arena, struct thread_labels *labels, struct sutra_error *error) {
    struct label_reader reader = {.reading = reading, .labels = labels};
    size_t n_threads = reading->hosts.n_threads;
    labels->process = arena_take(arena, n_threads, sizeof *labels->process);
    labels->label = arena_take(arena, n_threads, sizeof *labels->label);
    labels->thread = arena_take(arena, n_threads, sizeof *labels->thread);
    bool ok = !arena->failed && strings_init(&labels->texts) && thread_numbers_init(&reader.processes);
    for (int kind = 0; kind < N_LABELS; kind++)
        ok = ok && pair_table_init(&reader.of[kind]);
    enum sutra_status status = ok ? read_all(&reader, context, arena, error) : error_memory(error);
    for (int kind = 0; kind < N_LABELS; kind++)
        pair_table_free(&reader.of[kind]);
    thread_numbers_free(&reader.processes);
    return status;
}

void thread_labels_free(struct thread_labels *labels) {
    strings_free(&labels->texts);
}
