/*
 * processes.c - implements processes.h.
 *
 *     events --> pids --prefixes--> (prefix, correlation) --calls--> launching process --> rank of each pid and activity
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "facts/launches.h"
#include "facts/names.h"
#include "facts/processes.h"
#include "text/names.h"
#include "text/numbers.h"
#include "text/quantities.h"
#include "text/strings.h"

/* Owners of events and pids that are no single rank. */
#define OWNER_NONE     PAIR_NONE        /* unknown, or no rank */
#define OWNER_SEVERAL  (UINT32_MAX - 1) /* of several ranks */
#define OWNER_ALL      (UINT32_MAX - 2) /* each rank */
#define IS_RANK(owner) ((owner) < OWNER_ALL)

#define SHARED_TIMES 4.0 /* limit of the copies of events of all ranks: times of the bytes of the file, */
#define SHARED_FREE  6e7 /* and bytes that any file may have */

#define PIDS_SHOWN  4
#define PID_COLUMNS 40

/* All events with one pid. */
struct pid {
    value_key key;
    uint32_t label;  /* string of its text up to the last blank, or STRING_NONE */
    uint32_t prefix; /* label + 1, if host processes and GPUs have it; else 0 */
    uint32_t owner;  /* the rank, as an index of the list of pids; OWNER_... */
    bool is_host;    /* has CPU operators or calls */
    bool works;      /* has events of the CPU or a GPU that are no metadata */
    int64_t rank;    /* of a process with launches */
    uint64_t n_operators, n_launches, n_activities;
    char name[sizeof((struct trace_process *)0)->name];
};

struct process_search {
    struct sutra_context *context;
    const struct sutra_device_trace *trace;
    const struct device_events *events;
    struct arena arena;
    const struct string_roles *roles;
    struct pair_table numbers;  /* from a pid to its index */
    struct pair_table launches; /* from a correlation of an activity and a prefix to the process that launches it */
    struct strings labels;
    struct pid *pids;
    uint64_t n_pids, pids_capacity;
    uint32_t *pid_of; /* by event: index of its pid */
    uint64_t n_shared;
    uint32_t *ranks; /* pids that are ranks, ascending by rank */
    uint32_t n_ranks;
};

static bool is_launched(const struct process_search *s, row_t event) {
    return category_roles(s->events, s->roles, event) & CATEGORY_WORK && is_correlation(s->events->correlation[event]);
}

/* Copies the beginning of a text, in whole characters. */
static void copy_text(char *to, size_t size, const char *text, size_t length) {
    snprintf(to, size, "%.*s", (int)MIN(length, size - 1), text);
    to[utf8_check(to, strlen(to))] = 0;
}

/* Copies the name of a process from its metadata. */
static void read_name(const struct process_search *s, row_t event, struct pid *pid) {
    const struct document *document = &s->trace->document;
    struct json_span args = document_member_of(document, s->events->text[event], "args");
    struct json_span name = args.at ? document_member_of(document, args.at, "name") : args;
    struct field_reader reader = {.source = &document->source, .values = &s->context->values};
    size_t length = 0;
    if (!name.at || document->source.bytes[name.at] != '"')
        return;
    const char *text = field_string(&reader, name, &length);
    copy_text(pid->name, sizeof pid->name, text ? text : "", length);
    buffer_free(&reader.scratch);
}

/* Lists the pids, in the order of their first events. False: out of memory. */
static bool list_pids(struct process_search *s) {
    const uint32_t host = CATEGORY_CPU_OP | CATEGORY_CALL;
    const uint32_t work =
        host | CATEGORY_ANNOTATION | CATEGORY_PYTHON | CATEGORY_WORK | CATEGORY_GPU_ANNOTATION | CATEGORY_SYNC;
    const struct device_events *events = s->events;
    uint32_t process_name = strings_find(&s->trace->strings, "process_name", strlen("process_name"));
    s->pid_of = arena_alloc(&s->arena, events->n, sizeof *s->pid_of);
    for (row_t event = 0; event < events->n && s->pid_of; event++) {
        uint32_t number = event ? s->pid_of[event - 1] : 0;
        if (event == 0 || events->pid[event] != events->pid[event - 1]) {
            struct pair_entry *entry = pair_table_insert(&s->numbers, (uint64_t)events->pid[event], 0);
            if (!entry || !arena_grow(&s->arena, &s->pids, s->n_pids, &s->pids_capacity, sizeof *s->pids))
                return false;
            if (entry->number == PAIR_NONE) {
                entry->number = (uint32_t)s->n_pids;
                s->pids[s->n_pids++] =
                    (struct pid){.key = events->pid[event], .label = STRING_NONE, .owner = OWNER_NONE, .rank = -1};
            }
            number = entry->number;
        }
        struct pid *pid = &s->pids[number];
        uint32_t category = category_roles(events, s->roles, event);
        s->pid_of[event] = number;
        pid->n_operators += (category & CATEGORY_CPU_OP) != 0;
        pid->is_host |= (category & host) != 0;
        pid->works |= (category & work) != 0;
        if (events->phase[event] == 'M' && events->name[event] == process_name)
            read_name(s, event, pid);
    }
    return s->pid_of;
}

/* Finds the prefixes that host processes and GPUs share. False: out of memory. */
static bool find_prefixes(struct process_search *s) {
    enum { HOST = 1, GPU = 2 };
    for (uint64_t i = 0; i < s->n_pids; i++) {
        struct pid *pid = &s->pids[i];
        if (pid->key < KEY_VALUES || key_is_integer(pid->key))
            continue;
        struct value value = values_at(&s->context->values, pid->key);
        const char *blank = value.type == VALUES_STRING ? memrchr(value.text, ' ', value.length) : NULL;
        if (!blank)
            continue;
        pid->label = strings_intern(&s->labels, value.text, (size_t)(blank - value.text));
        if (pid->label == STRING_NONE)
            return false;
    }
    uint8_t *sides = arena_zeros(&s->arena, s->labels.n, 1);
    for (row_t event = 0; event < s->events->n && sides; event++) {
        const struct pid *pid = &s->pids[s->pid_of[event]];
        if (pid->label != STRING_NONE)
            sides[pid->label] |= (uint8_t)((pid->is_host ? HOST : 0) | (is_launched(s, event) ? GPU : 0));
    }
    for (uint64_t i = 0; i < s->n_pids && sides; i++)
        if (s->pids[i].label != STRING_NONE && sides[s->pids[i].label] == (HOST | GPU))
            s->pids[i].prefix = s->pids[i].label + 1;
    return sides;
}

/* Finds the process that launches each activity, and counts launches. False: out of memory. */
static bool find_launches(struct process_search *s) {
    const struct device_events *events = s->events;
    for (row_t event = 0; event < events->n; event++)
        if (is_launched(s, event) &&
            !pair_table_insert(&s->launches, (uint64_t)events->correlation[event], s->pids[s->pid_of[event]].prefix))
            return false;
    for (row_t event = 0; event < events->n; event++) {
        uint32_t process = s->pid_of[event];
        if (!(category_roles(events, s->roles, event) & CATEGORY_CALL) || !is_correlation(events->correlation[event]))
            continue;
        struct pair_entry *launch =
            pair_table_seek(&s->launches, (uint64_t)events->correlation[event], s->pids[process].prefix);
        if (!launch)
            continue;
        s->pids[process].n_launches++;
        s->n_shared += launch->number != OWNER_NONE && launch->number != OWNER_SEVERAL && launch->number != process;
        launch->number = launch->number == OWNER_NONE || launch->number == process ? process : OWNER_SEVERAL;
    }
    return true;
}

/* The rank of an event, as an index of the list of pids; OWNER_... */
static uint32_t owner_of(const struct process_search *s, row_t event) {
    if (s->events->phase[event] == PHASE_END && s->events->begin && s->events->begin[event] != ROW_NONE)
        event = s->events->begin[event];
    const struct pid *pid = &s->pids[s->pid_of[event]];
    if (is_launched(s, event)) {
        uint32_t launch = pair_table_find(&s->launches, (uint64_t)s->events->correlation[event], pid->prefix);
        if (launch != OWNER_NONE)
            return launch;
    }
    return !IS_RANK(pid->owner) && s->events->phase[event] == 'M' ? OWNER_ALL : pid->owner;
}

static void add_owner(uint32_t *owner, uint32_t rank) {
    *owner = *owner == OWNER_NONE || *owner == rank ? rank : OWNER_SEVERAL;
}

/* Finds the rank to which each pid belongs, and counts the activities of the ranks. False: out of memory. */
static bool find_owners(struct process_search *s) {
    uint32_t *of_prefix = arena_alloc(&s->arena, (size_t)s->labels.n + 1, sizeof *of_prefix);
    if (!of_prefix)
        return false;
    memset(of_prefix, 0xff, ((size_t)s->labels.n + 1) * sizeof *of_prefix); /* OWNER_NONE */
    for (uint64_t i = 0; i < s->n_pids; i++)
        if (s->pids[i].n_launches)
            add_owner(&of_prefix[s->pids[i].prefix], (uint32_t)i);
    of_prefix[0] = OWNER_NONE;
    for (row_t event = 0; event < s->events->n; event++) {
        if (!is_launched(s, event))
            continue;
        struct pid *pid = &s->pids[s->pid_of[event]];
        uint32_t launch = pair_table_find(&s->launches, (uint64_t)s->events->correlation[event], pid->prefix);
        if (IS_RANK(launch))
            add_owner(&pid->owner, launch);
    }
    for (uint64_t i = 0; i < s->n_pids; i++) {
        struct pid *pid = &s->pids[i];
        if (pid->n_launches)
            pid->owner = (uint32_t)i;
        else if (IS_RANK(of_prefix[pid->prefix]))
            pid->owner = of_prefix[pid->prefix];
        else if (!pid->works)
            pid->owner = OWNER_ALL;
    }
    for (row_t event = 0; event < s->events->n; event++) {
        uint32_t owner = category_roles(s->events, s->roles, event) & CATEGORY_WORK ? owner_of(s, event) : OWNER_NONE;
        if (IS_RANK(owner))
            s->pids[owner].n_activities++;
    }
    return true;
}

static int compare_ranks(const void *left, const void *right, void *arg) {
    const struct pid *pids = arg;
    uint32_t i = *(const uint32_t *)left, j = *(const uint32_t *)right;
    if (pids[i].rank != pids[j].rank)
        return pids[i].rank < pids[j].rank ? -1 : 1;
    return (i > j) - (i < j);
}

/* Numbers the ranks and sorts them. False: out of memory. */
static bool number_ranks(struct process_search *s) {
    bool are_numbered = true, are_integers = true;
    s->ranks = arena_alloc(&s->arena, s->n_pids, sizeof *s->ranks);
    for (uint32_t i = 0; i < s->n_pids && s->ranks; i++) {
        struct pid *pid = &s->pids[i];
        if (!pid->n_launches)
            continue;
        s->ranks[s->n_ranks++] = i;
        are_numbered &=
            pid->label != STRING_NONE &&
            integer_find_last(strings_text(&s->labels, pid->label), strings_length(&s->labels, pid->label), &pid->rank);
        are_integers &= key_is_integer(pid->key);
    }
    if (!s->ranks)
        return false;
    qsort_r(s->ranks, s->n_ranks, sizeof *s->ranks, compare_ranks, s->pids);
    for (uint32_t i = 1; i < s->n_ranks; i++)
        are_numbered &= s->pids[s->ranks[i - 1]].rank != s->pids[s->ranks[i]].rank;
    if (are_numbered)
        return true;
    for (uint32_t i = 0; i < s->n_ranks; i++) /* by pid, or by first event */
        s->pids[s->ranks[i]].rank = are_integers ? s->pids[s->ranks[i]].key : 0;
    qsort_r(s->ranks, s->n_ranks, sizeof *s->ranks, compare_ranks, s->pids);
    for (uint32_t i = 0; i < s->n_ranks; i++)
        s->pids[s->ranks[i]].rank = i;
    return true;
}

static enum sutra_status search_processes(struct process_search *s, struct sutra_context *context,
                                          const struct sutra_device_trace *trace, struct sutra_error *error) {
    *s = (struct process_search){.context = context, .trace = trace, .events = &trace->events};
    s->roles = names_find(&trace->strings, READER_TREE, &s->arena);
    bool ok = s->roles && pair_table_init(&s->numbers) && pair_table_init(&s->launches) && strings_init(&s->labels) &&
              list_pids(s) && find_prefixes(s) && find_launches(s) && find_owners(s) && number_ranks(s);
    return ok ? SUTRA_OK : error_memory(error);
}

static void search_free(struct process_search *s) {
    pair_table_free(&s->numbers);
    pair_table_free(&s->launches);
    strings_free(&s->labels);
    arena_free(&s->arena);
}

/* The list of processes: ranks first. NULL: out of memory. */
static struct trace_processes *list_processes(const struct process_search *s) {
    uint32_t n = s->n_ranks;
    for (uint64_t i = 0; i < s->n_pids; i++)
        n += s->pids[i].is_host && s->pids[i].rank < 0;
    struct trace_processes *made = calloc(1, sizeof *made + n * sizeof *made->list);
    if (!made)
        return NULL;
    made->n_ranks = s->n_ranks;
    made->n_shared = s->n_shared;
    for (uint64_t i = 0; i < s->n_ranks + s->n_pids; i++) {
        const struct pid *pid = i < s->n_ranks ? &s->pids[s->ranks[i]] : &s->pids[i - s->n_ranks];
        if (i >= s->n_ranks && (!pid->is_host || pid->rank >= 0))
            continue;
        struct trace_process *process = &made->list[made->n++];
        *process = (struct trace_process){.rank = pid->rank,
                                          .n_operators = pid->n_operators,
                                          .n_launches = pid->n_launches,
                                          .n_activities = pid->n_activities};
        char number[NUMBER_TEXT_MAX];
        size_t length = 0;
        const char *text = key_is_value(pid->key) ? values_text(&s->context->values, pid->key, number, &length) : "";
        copy_text(process->pid, sizeof process->pid, text, length);
        memcpy(process->name, pid->name, sizeof process->name);
    }
    return made;
}

enum sutra_status processes_find(struct sutra_context *context, const struct sutra_device_trace *trace,
                                 struct trace_processes **processes, struct sutra_error *error) {
    struct process_search search;
    enum sutra_status status = search_processes(&search, context, trace, error);
    struct trace_processes *made = status ? NULL : list_processes(&search);
    search_free(&search);
    TRY_ALLOC(made, error);
    *processes = made;
    return SUTRA_OK;
}

enum sutra_status processes_refuse(const struct trace_processes *processes, const struct source *source,
                                   struct sutra_error *error) {
    if (!processes_are_ranks(processes))
        return SUTRA_OK;
    uint32_t n = processes->n_ranks;
    if (processes->n_shared) {
        char pids[PIDS_SHOWN * (PID_COLUMNS * 4 + 2) + 8] = "";
        size_t length = 0;
        for (uint32_t i = 0; i < n && i < PIDS_SHOWN; i++)
            length += (size_t)snprintf(pids + length, sizeof pids - length, "%s%s", i ? ", " : "",
                                       short_text(processes->list[i].pid, PID_COLUMNS).text);
        return error_file(error, SUTRA_DATA, source->name,
                          "%u processes with launches in one trace (pids %s%s) share %s: pass the traces of the ranks, "
                          "one file each",
                          n, pids, n > PIDS_SHOWN ? ", ..." : "",
                          counted_text(processes->n_shared, "correlation", "correlations").text);
    }
    const char *file = source->path ? path_file_name(source->path) : "FILE";
    return error_file(error, SUTRA_DATA, source->name, "%u ranks in one trace: %spass %s/rank%lld %s %s/rank%lld", n,
                      source->path ? "" : "write it to a file, and ", file, (long long)processes->list[0].rank,
                      n == 2 ? "or" : "to", file, (long long)processes->list[n - 1].rank);
}

/* ---- The traces of the ranks ---- */

/* The byte after the value at byte `at`. */
static size_t value_end(const struct document *document, size_t at) {
    struct json_walker walker = walk_from(&document->source, at);
    walk_value(&walker);
    return trim_end(document->source.bytes, walker.at);
}

/* The byte after the object of an event: before the comma and the next event, or else found by reading the object. */
static size_t event_end(const struct process_search *s, row_t event) {
    const struct document *document = &s->trace->document;
    const char *bytes = document->source.bytes;
    size_t end = event + 1 < s->events->n ? trim_end(bytes, s->events->text[event + 1]) : 0;
    if (end > 0 && bytes[end - 1] == ',') {
        end = trim_end(bytes, end - 1);
        if (bytes[end - 1] == '}')
            return end;
    }
    return value_end(document, s->events->text[event]);
}

/* Writes the beginning of a rank's document: the members of the trace, with another rank. */
static void write_members(const struct process_search *s, struct rank_text *text) {
    const struct document *document = &s->trace->document;
    const char *bytes = document->source.bytes;
    const struct json_span number = document_rank(document);
    const struct document_member *info = number.at ? document_find(document, "distributedInfo") : NULL;
    struct buffer *json = &text->json;
    buffer_append_text(json, "{");
    if (!info)
        buffer_format(json, "\"distributedInfo\": {\"rank\": %lld, \"world_size\": %u},\n", (long long)text->rank,
                      s->n_ranks);
    for (size_t i = 0; i < document->n_members; i++) {
        const struct document_member *member = &document->members[i];
        if (place_is(&document->source, member->key, "traceEvents") ||
            (member != info && place_is(&document->source, member->key, "distributedInfo")))
            continue;
        size_t from = member->key.at;
        if (member == info) {
            buffer_append(json, bytes + from, number.at - from);
            buffer_format(json, "%lld", (long long)text->rank);
            from = value_end(document, number.at);
        }
        buffer_append(json, bytes + from, value_end(document, member->value) - from);
        buffer_append_text(json, ",\n");
    }
    buffer_append_text(json, "\"traceEvents\": [\n");
}

/* Writes the documents of the ranks in `texts`; `text_of` has the index of each rank's text by pid, or OWNER_NONE. */
static void write_ranks(const struct process_search *s, const uint32_t *text_of, struct rank_texts *texts) {
    const struct document *document = &s->trace->document;
    const char *bytes = document->source.bytes;
    for (uint32_t i = 0; i < texts->n; i++)
        write_members(s, &texts->list[i]);
    for (row_t event = 0; event < s->events->n; event++) {
        size_t at = s->events->text[event];
        if (bytes[at] != '{') /* an element of an array, which the reader has reported */
            continue;
        uint32_t owner = owner_of(s, event);
        if (!IS_RANK(owner) && owner != OWNER_ALL) {
            defect_note(&texts->dropped, s->trace, event, NAN, 0);
            continue;
        }
        const uint32_t first = owner == OWNER_ALL ? 0 : text_of[owner];
        const uint32_t end = owner == OWNER_ALL ? texts->n : first == OWNER_NONE ? 0 : first + 1;
        const size_t end_of_event = first < end ? event_end(s, event) : 0;
        for (uint32_t i = first; i < end; i++) {
            buffer_append(&texts->list[i].json, bytes + at, end_of_event - at);
            buffer_append_text(&texts->list[i].json, ",\n");
        }
    }
    for (uint32_t i = 0; i < texts->n; i++) {
        struct buffer *json = &texts->list[i].json;
        if (!json->failed && json->bytes[json->length - 2] == ',') /* after the last event */
            json->length -= 2;
        buffer_append_text(json, "\n]}\n");
    }
}

/* The selected ranks: all, or the one at index *first. *n is 0 if the trace is the trace of this rank. */
static enum sutra_status find_selected(const struct process_search *s, int64_t rank, uint32_t *first, uint32_t *n,
                                       struct sutra_error *error) {
    const struct source *source = &s->trace->document.source;
    const struct json_span number = document_rank(&s->trace->document);
    int64_t recorded;
    *first = *n = 0;
    if (s->n_ranks < 2) {
        bool is_rank = number.at && field_integer(source->bytes + number.at, &recorded) && recorded == rank;
        return is_rank ? SUTRA_OK
                       : error_file(error, SUTRA_USAGE, source->name,
                                    "no rank %lld in this trace, which has one rank: name the file without /rank%lld",
                                    (long long)rank, (long long)rank);
    }
    if (s->n_shared) {
        struct trace_processes *processes = list_processes(s);
        enum sutra_status status = processes ? processes_refuse(processes, source, error) : error_memory(error);
        free(processes);
        return status;
    }
    *n = rank == SOURCE_ALL_RANKS ? s->n_ranks : 1;
    while (rank != SOURCE_ALL_RANKS && *first < s->n_ranks && s->pids[s->ranks[*first]].rank != rank)
        ++*first;
    if (*first == s->n_ranks)
        return error_file(error, SUTRA_USAGE, source->name,
                          "no rank %lld in this trace: it has %u ranks, from %lld to %lld", (long long)rank, s->n_ranks,
                          (long long)s->pids[s->ranks[0]].rank, (long long)s->pids[s->ranks[s->n_ranks - 1]].rank);
    return SUTRA_OK;
}

/* Refuses a trace with many events that belong to all of its many ranks: their copies would fill the memory. */
static enum sutra_status check_copies(const struct process_search *s, uint32_t n, struct sutra_error *error) {
    const struct source *source = &s->trace->document.source;
    const struct device_events *events = s->events;
    size_t shared = 0;
    for (row_t event = 0; event < events->n && n > 1; event++)
        if (owner_of(s, event) == OWNER_ALL)
            shared += (event + 1 < events->n ? events->text[event + 1] : source->size) - events->text[event];
    if ((double)shared * n <= SHARED_TIMES * (double)source->size + SHARED_FREE)
        return SUTRA_OK;
    return error_file(error, SUTRA_DATA, source->name,
                      "%u ranks in one trace, and %s of metadata that belong to each of them: pass the traces of the "
                      "ranks, one file each",
                      n, bytes_text(shared).text);
}

static enum sutra_status split(struct process_search *s, int64_t rank, struct rank_texts **texts,
                               struct sutra_error *error) {
    uint32_t first, n;
    TRY(find_selected(s, rank, &first, &n, error));
    TRY(check_copies(s, n, error));
    uint32_t *text_of = arena_alloc(&s->arena, s->n_pids, sizeof *text_of);
    struct rank_texts *made = calloc(1, sizeof *made + n * sizeof *made->list);
    if (!text_of || !made) {
        free(made);
        return error_memory(error);
    }
    memset(text_of, 0xff, s->n_pids * sizeof *text_of); /* OWNER_NONE */
    *made = (struct rank_texts){.is_truncated = s->trace->document.truncated,
                                .truncated_at = s->trace->document.truncated_at,
                                .dropped = {.of = s->events->n, .largest_us = NAN},
                                .n = n};
    for (uint32_t i = 0; i < n; i++) {
        made->list[i].rank = s->pids[s->ranks[first + i]].rank;
        text_of[s->ranks[first + i]] = i;
    }
    if (n > 0)
        write_ranks(s, text_of, made);
    bool failed = false;
    for (uint32_t i = 0; i < n; i++)
        failed |= made->list[i].json.failed;
    *texts = made;
    return failed ? error_memory(error) : SUTRA_OK;
}

enum sutra_status processes_split(struct sutra_context *context, const struct sutra_device_trace *trace, int64_t rank,
                                  struct rank_texts **texts, struct sutra_error *error) {
    struct process_search search;
    *texts = NULL;
    enum sutra_status status = search_processes(&search, context, trace, error);
    if (!status)
        status = split(&search, rank, texts, error);
    search_free(&search);
    if (status) {
        rank_texts_free(*texts);
        *texts = NULL;
    }
    return status;
}

void rank_texts_free(struct rank_texts *texts) {
    for (uint32_t i = 0; texts && i < texts->n; i++)
        buffer_free(&texts->list[i].json);
    free(texts);
}

enum sutra_status rank_text_read(struct sutra_context *context, const char *name, const struct rank_texts *texts,
                                 size_t i, struct sutra_device_trace **trace, struct sutra_error *error) {
    void (*const warning)(void *, const char *) = context->options.warning;
    const struct buffer *json = &texts->list[i].json;
    context->options.warning = NULL;
    enum sutra_status status = device_trace_read(
        context, &(struct source_input){.name = name, .in_memory = true, .bytes = json->bytes, .size = json->length},
        trace, error);
    context->options.warning = warning;
    TRY(status);
    if (texts->is_truncated) {
        (*trace)->document.truncated = true;
        (*trace)->document.truncated_at = texts->truncated_at;
    }
    return SUTRA_OK;
}
