/*
 * logs.c - logs of NCCL Inspector as collectives of ranks: which process is which rank of the job, groups, calls.
 *
 *     logs, in parallel --> members: (communicator, process, rank in it) --> ranks of the job --> groups, calls
 *
 * A process has one rank in each of its communicators, or several if it uses several GPUs: its k-th rank in each
 * communicator is then one rank of the job. The ranks of the job are the ranks in a communicator of all of them, or
 * else follow the order of host names and process ids.
 *
 * A log has no start times. All calls end at time 0, so a call starts earlier by its duration, and the rank with the
 * shortest duration arrives last:
 *
 *     rank 0  |-- waits ----|==== transfer ====| 0
 *     rank 1       |- waits |==== transfer ====| 0
 *     rank 2                |==== transfer ====| 0
 *
 * Cost: O(bytes + n log n) for n records.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/collectives/collectives.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "columns/hash_tables.h"
#include "read/file_kind.h"
#include "read/nccl_inspector.h"
#include "text/quantities.h"

/* Groups of more ranks list only the ranks with records. */
#define MEMBERS_MAX 1000000

struct log_file {
    const char *path;
    struct inspector_log log;
    enum sutra_status status;
    struct sutra_error error;
    uint32_t *strings; /* by string of the log: of the calls; heap */
    uint32_t *members; /* by member of the log: its number in known_members */
};

struct log_process {
    uint32_t host, file; /* `host`: string of the calls; the first file with its records */
    int64_t pid;
    int64_t host_number; /* by name */
};

struct log_communicator {
    uint32_t id, name; /* `name`: STRING_NONE */
    uint32_t group;
    int64_t n_ranks, n_nodes; /* the largest that its members record */
};

/* A rank of a communicator in a process. */
struct log_member {
    uint32_t communicator, process;
    int64_t rank;
    uint32_t number; /* in known_members */
    uint32_t owner;  /* its rank of the job: index in `owners` */
    int64_t job_rank;
};

/* A rank of the job. */
struct log_owner {
    int64_t host_number, pid;
    uint32_t index; /* among the ranks of the process */
    uint32_t number;
    int64_t rank;
};

/* A message, to number the messages of a sender to a receiver. */
struct log_message {
    uint32_t group;
    bool is_send;
    int64_t from, to, number; /* CALL_UNKNOWN; `number` as recorded */
    uint64_t row, call;       /* in the order of reading; UINT64_MAX: it is untimed */
};

ORDER_BY(compare_by_process, struct log_member, ASCENDING(communicator) ASCENDING(process) ASCENDING(rank))
ORDER_BY(compare_by_rank, struct log_member, ASCENDING(communicator) ASCENDING(rank) ASCENDING(process))
ORDER_BY(compare_by_job_rank, struct log_member, ASCENDING(communicator) ASCENDING(job_rank))
ORDER_BY(compare_owners, struct log_owner, ASCENDING(host_number) ASCENDING(pid) ASCENDING(index))
ORDER_BY(compare_listed, struct sutra_collectives_rank, ASCENDING(rank))
ORDER_BY(compare_messages, struct log_message,
         ASCENDING(group) ASCENDING(from) ASCENDING(to) ASCENDING(is_send) ASCENDING(number) ASCENDING(row))

struct log_join {
    struct sutra_collectives *of;
    struct log_file *files;
    size_t n_files;
    struct arena scratch;
    struct tuples known_processes, known_communicators, known_members, known_owners;
    struct log_process *processes;
    struct log_communicator *communicators;
    struct log_member *members;
    struct log_owner *owners;
    uint32_t *owner_of;      /* by number of a member */
    struct pair_table peers; /* rank and communicator: the index of its owner */
    uint32_t world;          /* the communicator that defines the ranks of the job, or TUPLE_NONE */
};

/* ---- Inputs ---- */

enum sutra_status collective_inputs_are_logs(const char *const *paths, size_t n_paths, bool *are_logs,
                                             struct sutra_error *error) {
    const char *log = NULL;
    for (size_t i = 0; i < n_paths && !log; i++)
        if (is_inspector_log_file(paths[i]))
            log = paths[i];
    *are_logs = log;
    for (size_t i = 0; i < n_paths && log; i++) {
        struct trace_head head;
        if (trace_head_read(paths[i], false, &head, NULL) == SUTRA_OK && head.side == SIDE_DEVICE)
            return error_set(error, SUTRA_USAGE,
                             "%.300s is an NCCL Inspector log, but %.300s is a device trace: analyze logs and traces "
                             "separately",
                             log, paths[i]);
    }
    return SUTRA_OK;
}

struct log_reading {
    struct log_file *files;
    uint64_t most_bytes;
};

static void read_log(void *arg, size_t i) {
    const struct log_reading *reading = arg;
    struct log_file *file = &reading->files[i];
    file->status = inspector_log_read(&file->log, file->path, reading->most_bytes, &file->error);
}

/* ---- Processes, communicators and members of all logs ---- */

static enum sutra_status find_members(struct log_join *join, struct sutra_error *error) {
    struct arena *scratch = &join->scratch;
    uint64_t n = 0;
    for (size_t i = 0; i < join->n_files; i++)
        n += join->files[i].log.n_members;
    if (n >= TUPLE_NONE)
        return error_set(error, SUTRA_DATA, "too many members of communicators");
    join->processes = arena_zeros(scratch, n, sizeof *join->processes);
    join->communicators = arena_zeros(scratch, n, sizeof *join->communicators);
    join->members = arena_zeros(scratch, n, sizeof *join->members);
    join->owners = arena_zeros(scratch, n, sizeof *join->owners);
    join->owner_of = arena_zeros(scratch, n, sizeof *join->owner_of);
    for (size_t i = 0; i < join->n_files; i++)
        join->files[i].members = arena_alloc(scratch, join->files[i].log.n_members, sizeof(uint32_t));
    TRY(arena_status(scratch, error));
    for (uint32_t number = 0; number < join->n_files; number++) {
        struct log_file *file = &join->files[number];
        const struct inspector_log *log = &file->log;
        if (file->status)
            continue;
        file->strings = strings_join(&join->of->calls.strings, &log->strings);
        TRY_ALLOC(file->strings, error);
        for (uint64_t i = 0; i < log->n_members; i++) {
            const struct inspector_member *member = &log->members[i];
            const uint32_t id = file->strings[member->id], host = file->strings[member->host];
            const uint32_t n_processes = join->known_processes.n, n_members = join->known_members.n;
            const uint32_t communicator = tuples_number(&join->known_communicators, (struct tuple){{id}});
            const uint32_t process = tuples_number(&join->known_processes, (struct tuple){{host, member->pid}});
            TRY_ALLOC(communicator != TUPLE_NONE && process != TUPLE_NONE, error);
            if (process == n_processes)
                join->processes[process] = (struct log_process){.host = host, .file = number, .pid = member->pid};
            struct log_communicator *of = &join->communicators[communicator];
            if (of->n_ranks == 0)
                *of = (struct log_communicator){.id = id, .name = STRING_NONE};
            if (of->name == STRING_NONE && member->name != STRING_NONE)
                of->name = file->strings[member->name];
            of->n_ranks = MAX(member->n_ranks, of->n_ranks);
            of->n_nodes = MAX(member->n_nodes, of->n_nodes);
            file->members[i] =
                tuples_number(&join->known_members, (struct tuple){{communicator, process, member->rank}});
            TRY_ALLOC(file->members[i] != TUPLE_NONE, error);
            if (file->members[i] == n_members)
                join->members[n_members] = (struct log_member){
                    .communicator = communicator, .process = process, .rank = member->rank, .number = n_members};
        }
    }
    return SUTRA_OK;
}

/* ---- Ranks of the job ---- */

static int compare_host_names(const void *left, const void *right, void *arg) {
    const struct strings *strings = arg;
    const struct log_process *const *a = left, *const *b = right;
    return strcmp(strings_text(strings, (*a)->host), strings_text(strings, (*b)->host));
}

/* Finds the ranks of the job, and lists them and the skipped logs. */
static enum sutra_status find_ranks(struct log_join *join, struct sutra_error *error) {
    struct sutra_collectives *of = join->of;
    struct collective_logs *logs = &of->logs;
    struct log_member *members = join->members;
    struct strings *strings = &of->calls.strings;
    const uint32_t n = join->known_members.n;

    /* number the hosts by name */
    const uint32_t n_processes = join->known_processes.n;
    struct log_process **order = arena_alloc(&join->scratch, n_processes, sizeof(void *));
    TRY(arena_status(&join->scratch, error));
    for (uint32_t i = 0; i < n_processes; i++)
        order[i] = &join->processes[i];
    qsort_r(order, n_processes, sizeof(void *), compare_host_names, strings);
    for (uint32_t i = 1; i < n_processes; i++)
        order[i]->host_number = order[i - 1]->host_number + (order[i]->host != order[i - 1]->host);

    /* the owner of each member */
    qsort(members, n, sizeof *members, compare_by_process);
    for (uint32_t i = 0, index = 0; i < n; i++) {
        struct log_member *member = &members[i];
        index = i > 0 && member[-1].communicator == member->communicator && member[-1].process == member->process
                    ? index + 1
                    : 0;
        const struct log_process *process = &join->processes[member->process];
        const uint32_t n_known = join->known_owners.n;
        member->owner = tuples_number(&join->known_owners, (struct tuple){{member->process, index}});
        TRY_ALLOC(member->owner != TUPLE_NONE, error);
        if (member->owner == n_known)
            join->owners[n_known] = (struct log_owner){process->host_number, process->pid, index, n_known, 0};
    }

    /* the world: the communicator with the smallest id that contains all owners */
    qsort(members, n, sizeof *members, compare_by_rank);
    join->world = TUPLE_NONE;
    for (uint32_t begin = 0, end; begin < n; begin = end) {
        const uint32_t communicator = members[begin].communicator;
        bool is_distinct = true; /* no two processes have one rank */
        for (end = begin + 1; end < n && members[end].communicator == communicator; end++)
            is_distinct &= members[end].rank != members[end - 1].rank;
        if (end - begin == join->known_owners.n && is_distinct &&
            (join->world == TUPLE_NONE || strcmp(strings_text(strings, join->communicators[communicator].id),
                                                 strings_text(strings, join->communicators[join->world].id)) < 0))
            join->world = communicator;
    }

    /* the ranks of owners and members */
    const uint32_t n_owners = join->known_owners.n;
    struct log_owner *sorted = arena_alloc(&join->scratch, n_owners, sizeof *sorted);
    logs->ranks = arena_alloc(&of->arena, n_owners + join->n_files, sizeof *logs->ranks);
    logs->hosts = arena_alloc(&of->arena, n_owners, sizeof *logs->hosts);
    TRY_ALLOC(!join->scratch.failed && !of->arena.failed, error);
    memcpy(sorted, join->owners, n_owners * sizeof *sorted);
    qsort(sorted, n_owners, sizeof *sorted, compare_owners);
    for (uint32_t i = 0; i < n_owners; i++)
        join->owners[sorted[i].number].rank = i;
    for (uint32_t i = 0; i < n; i++)
        if (members[i].communicator == join->world)
            join->owners[members[i].owner].rank = members[i].rank;
    for (uint32_t i = 0; i < n; i++) {
        struct log_member *member = &members[i];
        member->job_rank = join->owners[member->owner].rank;
        join->owner_of[member->number] = member->owner;
        TRY_ALLOC(pair_table_note(&join->peers, (uint64_t)member->rank, member->communicator, member->owner), error);
    }
    for (uint32_t i = 0; i < n_owners; i++) {
        const uint32_t process = (uint32_t)join->known_owners.list[i].part[0];
        if (restriction_has_rank(&of->tasks.restriction, join->owners[i].rank))
            logs->ranks[logs->n_ranks++] = (struct sutra_collectives_rank){
                .path = join->files[join->processes[process].file].path,
                .rank = join->owners[i].rank,
                .source = join->world == TUPLE_NONE ? SUTRA_RANK_POSITION : SUTRA_RANK_INFO};
    }
    if (logs->n_ranks == 0)
        return error_set(error, SUTRA_DATA, "no log of a selected rank");
    qsort(logs->ranks, logs->n_ranks, sizeof *logs->ranks, compare_listed);
    for (uint32_t i = 0; i < n_owners; i++) {
        size_t at;
        BISECT(at, logs->n_ranks, logs->ranks[at].rank < join->owners[i].rank);
        if (at < logs->n_ranks && logs->ranks[at].rank == join->owners[i].rank)
            logs->hosts[at] = join->owners[i].host_number;
    }
    for (size_t i = 0; i < join->n_files; i++)
        if (join->files[i].status)
            logs->ranks[logs->n_ranks + logs->n_skipped++] =
                (struct sutra_collectives_rank){.path = join->files[i].path,
                                                .rank = -1,
                                                .source = SUTRA_RANK_POSITION,
                                                .reason = arena_format(&of->arena, "%s", join->files[i].error.message)};
    return arena_status(&of->arena, error);
}

/* ---- Groups and calls ---- */

/* Adds a group for each communicator, with the ranks that have records; all ranks of the world. */
static enum sutra_status add_groups(struct log_join *join, struct sutra_error *error) {
    struct sutra_collectives *of = join->of;
    const uint32_t n = join->known_members.n;
    struct log_member *members = join->members;
    of->logs.places = arena_zeros(&of->arena, join->known_communicators.n, sizeof *of->logs.places);
    TRY(arena_status(&of->arena, error));
    qsort(members, n, sizeof *members, compare_by_job_rank);
    struct buffer list = {0}, name = {0};
    bool ok = true;
    for (uint32_t begin = 0, end; begin < n && ok; begin = end) {
        const uint32_t number = members[begin].communicator;
        struct log_communicator *communicator = &join->communicators[number];
        const bool is_complete = number == join->world && communicator->n_ranks <= MEMBERS_MAX;
        list.length = name.length = 0;
        for (end = begin; end < n && members[end].communicator == number; end++)
            if (!is_complete)
                buffer_format(&list, "%s%" PRId64, end > begin ? ", " : "[", members[end].job_rank);
        for (int64_t rank = 0; rank < communicator->n_ranks && is_complete; rank++)
            buffer_format(&list, "%s%" PRId64, rank ? ", " : "[", rank);
        buffer_append_text(&list, "]");
        buffer_append_text(&name, strings_text(&of->calls.strings, communicator->id));
        if (communicator->name != STRING_NONE)
            buffer_format(&name, " (%s)", strings_text(&of->calls.strings, communicator->name));
        communicator->group =
            list.failed || name.failed
                ? UINT32_MAX
                : collective_group_add(&of->calls, name.bytes, name.length, list.bytes, list.length,
                                       communicator->n_ranks, (struct collective_source){LIBRARY_NONE, PHASE_NONE});
        ok = communicator->group != UINT32_MAX;
        if (ok && communicator->n_nodes > 0)
            of->logs.places[communicator->group] = communicator->n_nodes == 1 ? PLACE_INSIDE : PLACE_BETWEEN;
    }
    buffer_free(&list);
    buffer_free(&name);
    return ok ? SUTRA_OK : error_memory(error);
}

/* Numbers the messages of each sender to each receiver by their recorded numbers, which count on one rank only: the
 * k-th send matches the k-th receive. Repeated numbers remain equal. */
static void number_messages(struct log_message *messages, uint64_t n, struct collective_call *calls) {
    if (n > 0)
        qsort(messages, n, sizeof *messages, compare_messages);
    int64_t number = 0;
    for (uint64_t i = 0; i < n; i++) {
        const struct log_message *message = &messages[i], *last = i > 0 ? message - 1 : NULL;
        const bool follows = last && last->group == message->group && last->from == message->from &&
                             last->to == message->to && last->is_send == message->is_send;
        number = !follows ? 0 : number + (last->number != message->number || message->from < 0 || message->to < 0);
        if (message->call != UINT64_MAX)
            calls[message->call].seq = number;
    }
}

/* Adds the calls of all logs, whose records are freed. */
static enum sutra_status add_calls(struct log_join *join, struct sutra_error *error) {
    struct sutra_collectives *of = join->of;
    struct collective_calls *calls = &of->calls;
    const uint32_t no_type = strings_intern(&calls->strings, "", 0);
    struct log_message *messages = NULL;
    uint64_t n_messages = 0, capacity = 0;
    uint64_t n_records = 0;
    for (size_t i = 0; i < join->n_files; i++)
        n_records += join->files[i].log.n_records;
    TRY_ALLOC(no_type != STRING_NONE && column_resize(&calls->list, n_records, sizeof *calls->list), error);
    calls->capacity = n_records;
    for (size_t i = 0; i < join->n_files; i++) {
        struct log_file *file = &join->files[i];
        const struct inspector_log *log = &file->log;
        const uint32_t n_strings = file->status ? 0 : log->strings.n;
        uint8_t *kinds = arena_alloc(&join->scratch, n_strings, sizeof *kinds); /* by string */
        TRY(arena_status(&join->scratch, error));
        for (uint32_t k = 0; k < n_strings; k++)
            kinds[k] = (uint8_t)collective_kind_of(strings_text(&log->strings, k));
        for (uint64_t k = 0; k < log->n_records; k++) {
            const struct inspector_record *record = &log->records[k];
            const uint32_t member = file->members[record->member];
            const uint32_t communicator = (uint32_t)join->known_members.list[member].part[0];
            const bool is_message = record->peer != INSPECTOR_NO_PEER;
            struct collective_call call = {.rank = join->owners[join->owner_of[member]].rank,
                                           .group = join->communicators[communicator].group,
                                           .what = file->strings[record->type],
                                           .type = no_type,
                                           .seq = record->number,
                                           .peer = CALL_UNKNOWN,
                                           .start_ns = -record->duration_ns,
                                           .is_message = is_message,
                                           .is_send = is_message &&
                                                      strcmp(strings_text(&log->strings, record->type), "Send") == 0,
                                           .ready_us = CALL_UNKNOWN,
                                           .done_us = CALL_UNKNOWN};
            /* A record has the bytes of a rank, a call the bytes of the group. */
            const bool is_shared = kinds[record->type] == COMM_ALL_GATHER || kinds[record->type] == COMM_REDUCE_SCATTER;
            const int64_t factor = is_shared ? join->communicators[communicator].n_ranks : 1;
            if (__builtin_mul_overflow(record->bytes, factor, &call.n_in))
                call.n_in = CALL_UNKNOWN;
            call.n_out = call.n_in;
            if (!restriction_has_rank(&of->tasks.restriction, call.rank))
                continue;
            if (is_message) {
                const uint32_t peer = pair_table_find(&join->peers, (uint64_t)record->peer, communicator);
                call.peer = peer == PAIR_NONE ? CALL_UNKNOWN : join->owners[peer].rank;
                TRY_ALLOC(arena_grow(&join->scratch, &messages, n_messages, &capacity, sizeof *messages), error);
                messages[n_messages] = (struct log_message){.group = call.group,
                                                            .is_send = call.is_send,
                                                            .from = call.is_send ? call.rank : call.peer,
                                                            .to = call.is_send ? call.peer : call.rank,
                                                            .number = record->number,
                                                            .row = n_messages,
                                                            .call = record->is_timed ? calls->n : UINT64_MAX};
                n_messages++;
            }
            if (record->is_timed) {
                TRY_ALLOC(collective_call_add(calls, &call), error);
                continue;
            }
            TRY_ALLOC(column_grow(&calls->untimed, calls->n_untimed, &calls->untimed_capacity, sizeof *calls->untimed),
                      error);
            calls->untimed[calls->n_untimed++] = (struct untimed_call){call.rank, call.group, call.what, call.seq};
        }
        inspector_log_free(&file->log);
    }
    number_messages(messages, n_messages, calls->list);
    collective_untimed_sort(calls);
    return SUTRA_OK;
}

/* ---- The run ---- */

/* Reports malformed lines and skipped logs, and joins the others. */
static enum sutra_status join_logs(struct log_join *join, struct sutra_context *context, struct sutra_error *error) {
    size_t n_read = 0;
    for (size_t i = 0; i < join->n_files; i++) {
        const struct log_file *file = &join->files[i];
        char text[sizeof file->error.message + 512];
        if (file->status == SUTRA_SYSTEM || (file->status && context->options.strict))
            return error_copy(error, file->status, &file->error);
        n_read += !file->status;
        if (!file->status && file->log.n_malformed)
            context_warn(context, "%s: %s skipped, the first is line %" PRIu64, file->path,
                         counted_text(file->log.n_malformed, "malformed line", "malformed lines").text,
                         file->log.first_malformed);
        sutra_error_text(&file->error, text, sizeof text);
        if (file->status && join->n_files > 1)
            context_warn(context, "skipped: %s", text);
    }
    if (n_read == 0)
        return error_copy(error, join->files->status, &join->files->error);
    TRY_ALLOC(pair_table_init(&join->peers), error);
    TRY(find_members(join, error));
    TRY(find_ranks(join, error));
    TRY(add_groups(join, error));
    return add_calls(join, error);
}

enum sutra_status collective_logs_read(struct sutra_collectives *of, struct sutra_context *context,
                                       const char *const *paths, size_t n_paths, struct sutra_error *error) {
    struct log_join join = {.of = of, .n_files = n_paths};
    if (context->plan)
        return error_set(error, SUTRA_USAGE, "NCCL Inspector logs are analyzed by one process");
    if (restriction_is_part(&of->tasks.restriction))
        return error_set(error, SUTRA_USAGE,
                         "NCCL Inspector logs have no timeline: only ranks can be selected, not steps or events");
    of->calls.from_logs = true;
    join.files = arena_zeros(&of->arena, n_paths, sizeof *join.files);
    for (size_t i = 0; i < n_paths && join.files; i++)
        join.files[i].path = arena_text(&of->arena, paths[i], strlen(paths[i]));
    TRY_ALLOC(join.files && !of->arena.failed, error);
    struct log_reading reading = {join.files, context->options.most_input_bytes};
    stage_begin(context, "analyze ranks", n_paths);
    pool_run(context->pool, n_paths, read_log, &reading);
    stage_end(context);
    enum sutra_status status = context_check_cancelled(context, error);
    if (!status)
        status = join_logs(&join, context, error);
    for (size_t i = 0; i < n_paths; i++) {
        inspector_log_free(&join.files[i].log);
        free(join.files[i].strings);
    }
    arena_free(&join.scratch);
    tuples_free(&join.known_processes);
    tuples_free(&join.known_communicators);
    tuples_free(&join.known_members);
    tuples_free(&join.known_owners);
    pair_table_free(&join.peers);
    return status;
}
