/*
 * collective_records.c - collectives that only the host trace records: kernels of older traces have no arguments.
 *
 *     kernel --link--> nccl:all_reduce --parents--> record_param_comms   [tensors], 337, 93825114103440, 0, "allreduce",
 *                                                                        [], [], 8
 *
 * record_param_comms has the sequence number, the tensors, the rank in the process group, the number of ranks, and the
 * address of the group. Addresses differ between processes. So a rank numbers the addresses of groups of one size in
 * the order of first use, and its groups are named after this number and the size:
 *
 *     "address 0 of 8 ranks"
 *
 * The members follow from the records of all ranks. A group as large as the job contains all ranks. Smaller groups of
 * one number and size are a partition of the job with a stride, as tensor, data and pipeline parallelism make them:
 *
 *     rank of the job            0  1  2  3  4  5  6  7
 *     rank in its group of two   0  1  0  1  0  1  0  1     stride 1: [0, 1], [2, 3], [4, 5], [6, 7]
 *                                0  0  1  1  0  0  1  1     stride 2: [0, 2], [1, 3], [4, 6], [5, 7]
 *
 * If not exactly one stride explains the ranks in the groups of all ranks, the collectives remain unrecorded. Members
 * with a trace that do not use the group refute a stride.
 *
 * Cost: O(nodes + collectives log collectives) for a rank; O(collectives + users log users + users * divisors of the
 * ranks) for a job, where a user is a rank and a group. Nothing, if all kernels have arguments.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/collective_calls.h"
#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "facts/collectives.h"
#include "facts/names.h"
#include "link/link.h"
#include "simulate/communication.h"

/* The beginning of the names of groups whose members are not recorded. */
#define ADDRESS_GROUP "address "

/* The largest job whose groups are searched. */
#define RANKS_MAX (INT64_C(1) << 20)

/* ---- A rank ---- */

/* A record_param_comms of the host trace. */
struct comms_record {
    struct comms_inputs inputs; /* texts of the trace */
    size_t node;                /* its offset */
    uint32_t number;            /* of its address among groups of this size */
};

struct record_reader {
    struct collective_calls *calls;
    const struct sutra_linked *linked;
    struct comms_record *records;
    row_t n;
    uint32_t *record_of; /* by unit, or ROW_NONE */
    struct field_reader fields;
    int64_t rank, base_ns;
};

/* The list of values or types of the inputs or outputs of a node, by its schema; offset 0: none. */
static struct json_span find_list(const struct document *document, size_t node, bool outputs, bool types) {
    static const char *const flat[2][2] = {{"inputs", "input_types"}, {"outputs", "output_types"}};
    struct json_span list = document_member_of(document, node, flat[outputs][0]);
    if (list.at && document->source.bytes[list.at] == '{')
        list = document_member_of(document, list.at, types ? "types" : "values");
    else if (list.at && types)
        list = document_member_of(document, node, flat[outputs][1]);
    return list.at && document->source.bytes[list.at] == '[' ? list : (struct json_span){0};
}

/* Lists the records of groups with addresses, ascending by id, which is the order of their starts. False: out of
 * memory. */
static bool find_records(struct record_reader *r, struct arena *arena) {
    static const char quoted[] = "\"" COMMS_NAME "\"";
    const struct document *document = &r->linked->host->document;
    const struct host_ops *units = &r->linked->units;
    uint64_t capacity = 0;
    struct strings addresses = {0};
    struct pair_table numbers = {0}, n_of_size = {0};
    r->record_of = rows_none(arena, units->n_units);
    bool ok = strings_init(&addresses) && pair_table_init(&numbers) && pair_table_init(&n_of_size) && r->record_of;
    for (row_t unit = 0; unit < units->n_units && ok; unit++) {
        const row_t row = unit_node(units, unit);
        const size_t node = r->linked->host->nodes.text[row];
        /* Parse only nodes that contain the name. */
        if (!memmem(document->source.bytes + node, r->linked->host->nodes.end[row] - node, quoted, sizeof quoted - 1))
            continue;
        const struct json_span name = document_member_of(document, node, "name");
        if (!name.end || !place_is(&document->source, name, COMMS_NAME))
            continue;
        const struct json_span values = find_list(document, node, false, false);
        struct comms_record record = {.node = node};
        const struct input_text list = {document->source.bytes + values.at,
                                        values.at ? brackets_end(&document->source, values.at).at - values.at : 0};
        if (!comms_inputs_read(list, &record.inputs) || !record.inputs.has_address || record.inputs.size < 1)
            continue;
        if (record.inputs.group.length == 1 && *record.inputs.group.at == '0') /* a wait */
            continue;

        /* Number the address. */
        const uint32_t address = strings_intern(&addresses, record.inputs.group.at, record.inputs.group.length);
        struct pair_entry *n = pair_table_insert(&n_of_size, (uint64_t)record.inputs.size, 0);
        struct pair_entry *number = pair_table_insert(&numbers, (uint64_t)record.inputs.size, address);
        ok = address != STRING_NONE && n && number &&
             arena_grow(arena, &r->records, r->n, &capacity, sizeof *r->records);
        if (!ok)
            break;
        if (number->number == PAIR_NONE) {
            n->number = n->number == PAIR_NONE ? 0 : n->number + 1;
            number->number = n->number;
        }
        record.number = number->number;
        r->record_of[unit] = r->n;
        r->records[r->n++] = record;
    }
    strings_free(&addresses);
    pair_table_free(&numbers);
    pair_table_free(&n_of_size);
    return ok;
}

/* The record of the unit that launched a kernel, or of one of its ancestors; NULL: none. */
static const struct comms_record *find_record(const struct record_reader *r, row_t unit) {
    const struct host_ops *units = &r->linked->units;
    for (int level = 0; level < COMM_ENDS_LEVELS && unit != ROW_NONE; level++) {
        if (r->record_of[unit] != ROW_NONE)
            return &r->records[r->record_of[unit]];
        unit = key_index_find(&units->ids, r->linked->host->nodes.parent[unit_node(units, unit)]);
    }
    return NULL;
}

/* The elements of all tensors of the inputs or outputs of a record; *type: of the first. CALL_UNKNOWN: malformed, or of
 * a type of unknown size. */
static int64_t count_elements(struct record_reader *r, size_t node, bool outputs, const char **type) {
    const struct document *document = &r->linked->host->document;
    const struct json_span values = find_list(document, node, outputs, false),
                           types = find_list(document, node, outputs, true);
    int64_t bytes;
    bool nested;
    size_t length;
    *type = NULL;
    if (!comm_bytes_read(&r->fields, values.at, types.at, &bytes, &nested))
        return CALL_UNKNOWN;
    struct json_walker walker = walk_from(&document->source, types.at);
    if (!walk_array(&walker) || document->source.bytes[walker.at] != '"')
        return 0;
    const char *first = field_string(&r->fields, walk_value(&walker), &length);
    *type = collective_type_of_tensor(first, length);
    const unsigned element_bytes = *type ? collective_type_bytes(*type) : 0;
    return element_bytes ? bytes / element_bytes : CALL_UNKNOWN;
}

/* Adds the row of a kernel, if its times are known. False: out of memory. */
static bool add_record(struct record_reader *r, const struct comms_record *record, row_t event, uint8_t kind) {
    struct collective_calls *calls = r->calls;
    const struct comms_inputs *inputs = &record->inputs;
    const char *in_type, *out_type;
    char name[64];
    struct collective_call call = {.rank = r->rank,
                                   .event = event,
                                   .n_in = count_elements(r, record->node, false, &in_type),
                                   .n_out = count_elements(r, record->node, true, &out_type),
                                   .seq = inputs->seq,
                                   .ready_us = CALL_UNKNOWN,
                                   .done_us = CALL_UNKNOWN};
    if (!event_moments(&r->linked->device->events, event, r->base_ns, &call.start_ns, &call.end_ns))
        return true;
    const char *type = in_type ? in_type : out_type ? out_type : "";
    const int length =
        snprintf(name, sizeof name, ADDRESS_GROUP "%" PRIu32 " of %" PRId64 " ranks", record->number, inputs->size);
    call.group = collective_group_add(calls, name, (size_t)length, "", 0, inputs->size,
                                      (struct collective_source){kernel_kinds[kind].library, kernel_kinds[kind].phase});
    call.what = strings_intern(&calls->strings, inputs->name.at, inputs->name.length);
    call.type = strings_intern(&calls->strings, type, strlen(type));
    if (call.group == UINT32_MAX || call.what == STRING_NONE || call.type == STRING_NONE)
        return false;
    const char *what = strings_text(&calls->strings, call.what);
    call.is_message = collective_is_message(what);
    call.is_send = call.is_message && *what == 's';
    call.peer = call.is_message || comms_inputs_name_own_rank(inputs) ? inputs->rank : CALL_UNKNOWN;
    calls->n_untold--;
    return collective_call_add(calls, &call);
}

ORDER_BY(compare_events, struct collective_call, ASCENDING(event))

enum sutra_status collective_records_read(struct collective_calls *calls, struct sutra_context *context,
                                          const struct sutra_linked *linked, int64_t rank, struct sutra_error *error) {
    struct arena scratch = {0};
    struct record_reader reader = {.calls = calls,
                                   .linked = linked,
                                   .rank = rank,
                                   .base_ns = trace_base_ns(linked->device),
                                   .fields = {.source = &linked->host->document.source, .values = &context->values}};
    if (calls->n_untold == 0)
        return SUTRA_OK;
    uint8_t *kinds;
    row_t n, *kernels = collective_kernels_find(linked->device, &scratch, &kinds, &n);
    row_t *unit_of = rows_none(&scratch, n); /* by kernel: the unit that launched it */
    bool ok = kernels && unit_of && find_records(&reader, &scratch);
    for (row_t unit = 0; unit < linked->units.n_units && ok && reader.n; unit++) {
        row_t n_gpu;
        const row_t *gpu = linked_gpu_ops(linked, unit, &n_gpu);
        for (row_t i = 0; i < n_gpu; i++) {
            row_t k;
            BISECT(k, n, kernels[k] < gpu[i]);
            if (k < n && kernels[k] == gpu[i] && unit_of[k] == ROW_NONE)
                unit_of[k] = unit;
        }
    }
    const uint64_t n_before = calls->n;
    for (row_t k = 0; k < n && ok && reader.n; k++) {
        if (unit_of[k] == ROW_NONE || linked->device->events.flags[kernels[k]] & EVENT_HAS_COLLECTIVE)
            continue;
        const struct comms_record *record = find_record(&reader, unit_of[k]);
        ok = !record || add_record(&reader, record, kernels[k], kinds[k]);
    }
    ok = ok && !reader.fields.failed;
    if (ok && n_before > 0 && calls->n > n_before)
        qsort(calls->list, calls->n, sizeof *calls->list, compare_events);
    buffer_free(&reader.fields.scratch);
    arena_free(&scratch);
    return ok ? SUTRA_OK : error_memory(error);
}

/* ---- A job ---- */

static bool is_address_group(const struct collective_calls *calls, uint32_t group) {
    const char *name = strings_text(&calls->strings, calls->groups[group].name);
    return strncmp(name, ADDRESS_GROUP, sizeof ADDRESS_GROUP - 1) == 0;
}

/* The own rank in the group of a call; CALL_UNKNOWN: not recorded. */
static int64_t own_position(const struct collective_call *call, int64_t size) {
    if (!call->is_message)
        return call->peer;
    return size == 2 && (call->peer == 0 || call->peer == 1) ? 1 - call->peer : CALL_UNKNOWN;
}

/* A group of the job, whose members are unknown if it is of an address. */
struct address_group {
    struct collective_group group;
    bool is_of_address;
    bool is_ambiguous; /* a rank of the job has two ranks in it, or an impossible one */
    int64_t stride;    /* of its members; 0: unknown */
    uint32_t number;   /* new number; of a group without an address */
};

/* A rank of the job that uses a group with an address. */
struct group_user {
    uint32_t group;
    int64_t rank, own; /* own: in the group; CALL_UNKNOWN */
};

ORDER_BY(compare_users, struct group_user, ASCENDING(group) ASCENDING(rank))

/* The first rank of the group of a rank. */
static int64_t first_member(int64_t rank, int64_t size, int64_t stride) {
    const int64_t block = size * stride;
    return rank / block * block + rank % stride;
}

/* Whether groups with this stride explain the ranks of the users in their groups, and have no member that has a trace
 * and is not a user. The users and the n ranks with traces ascend; is_used is by rank, and false. */
static bool stride_fits(const struct group_user *users, uint64_t n_users, int64_t size, int64_t stride,
                        const int64_t *ranks, uint64_t n, bool *is_used) {
    bool fits = true;
    for (uint64_t i = 0; i < n_users && fits; i++)
        fits = users[i].own == CALL_UNKNOWN || users[i].own == users[i].rank / stride % size;
    for (uint64_t i = 0; i < n_users && fits; i++)
        is_used[first_member(users[i].rank, size, stride)] = true;
    for (uint64_t i = 0, k = 0; i < n && fits; i++) {
        while (k < n_users && users[k].rank < ranks[i])
            k++;
        const bool is_user = k < n_users && users[k].rank == ranks[i];
        fits = is_user || !is_used[first_member(ranks[i], size, stride)];
    }
    for (uint64_t i = 0; i < n_users; i++)
        is_used[first_member(users[i].rank, size, stride)] = false;
    return fits;
}

/* Finds the only stride that fits the users of each group with an address. False: out of memory. */
static bool find_strides(struct address_group *groups, const struct collective_calls *calls, int64_t world_size,
                         struct arena *arena) {
    struct pair_table known = {0}; /* rank, group -> user */
    struct group_user *users = NULL;
    int64_t *ranks = NULL;
    uint64_t n_users = 0, users_capacity = 0, n_ranks = 0, ranks_capacity = 0;
    bool *is_used = arena_zeros(arena, (size_t)world_size, 1), ok = is_used && pair_table_init(&known);
    for (uint64_t i = 0; i < calls->n && ok; i++) {
        const struct collective_call *call = &calls->list[i];
        struct address_group *of = &groups[call->group];
        if (call->rank < 0 || call->rank >= world_size)
            continue;
        if (n_ranks == 0 || ranks[n_ranks - 1] != call->rank) {
            ok = arena_grow(arena, &ranks, n_ranks, &ranks_capacity, sizeof *ranks);
            if (!ok)
                break;
            ranks[n_ranks++] = call->rank;
        }
        if (!of->is_of_address)
            continue;
        const int64_t own = own_position(call, of->group.size);
        struct pair_entry *entry = pair_table_insert(&known, (uint64_t)call->rank, call->group);
        ok = entry && arena_grow(arena, &users, n_users, &users_capacity, sizeof *users);
        if (ok && entry->number == PAIR_NONE) {
            entry->number = (uint32_t)n_users;
            users[n_users++] = (struct group_user){call->group, call->rank, CALL_UNKNOWN};
        }
        if (!ok || own == CALL_UNKNOWN)
            continue;
        struct group_user *user = &users[entry->number];
        of->is_ambiguous |= own < 0 || own >= of->group.size || (user->own != CALL_UNKNOWN && user->own != own);
        user->own = own;
    }
    if (n_users)
        qsort(users, n_users, sizeof *users, compare_users);
    if (n_ranks)
        qsort(ranks, n_ranks, sizeof *ranks, compare_int64s);
    for (uint64_t begin = 0, end; begin < n_users && ok; begin = end) {
        struct address_group *of = &groups[users[begin].group];
        const int64_t size = of->group.size;
        for (end = begin; end < n_users && users[end].group == users[begin].group;)
            end++;
        if (of->is_ambiguous || size < 1 || size > world_size || world_size % size != 0)
            continue;
        bool is_known = true; /* a group of one rank or of all ranks needs no ranks */
        for (uint64_t i = begin; i < end && size > 1 && size < world_size; i++)
            is_known = is_known && users[i].own != CALL_UNKNOWN;
        if (!is_known)
            continue;
        uint64_t n_fits = 0;
        for (int64_t stride = 1; stride * size <= world_size && (size > 1 || stride == 1); stride++)
            if (world_size / size % stride == 0 &&
                stride_fits(users + begin, end - begin, size, stride, ranks, n_ranks, is_used)) {
                of->stride = stride;
                n_fits++;
            }
        of->stride = n_fits == 1 ? of->stride : 0;
    }
    pair_table_free(&known);
    return ok;
}

/* Adds the group of these members: ranks from `base` on. Its name is the first free number from *name on. UINT32_MAX:
 * out of memory. */
static uint32_t add_members(struct collective_calls *calls, const struct address_group *of, int64_t base,
                            const bool *is_name, uint32_t n_names, uint64_t *name) {
    struct buffer members = {0};
    char number[32];
    for (int64_t i = 0; i < of->group.size; i++)
        buffer_append(&members, number, (size_t)sprintf(number, "%s%" PRId64, i ? ", " : "[", base + i * of->stride));
    buffer_append_text(&members, "]");
    uint32_t string;
    int length;
    do {
        length = sprintf(number, "%" PRIu64, (*name)++);
        string = strings_find(&calls->strings, number, (size_t)length);
    } while (string < n_names && is_name[string]);
    const uint32_t group = members.failed ? UINT32_MAX
                                          : collective_group_add(calls, number, (size_t)length, members.bytes,
                                                                 members.length, of->group.size, of->group.source);
    buffer_free(&members);
    return group;
}

enum sutra_status collective_groups_find_members(struct collective_calls *calls, int64_t world_size,
                                                 uint64_t *n_inferred, struct sutra_error *error) {
    const uint32_t n_groups = (uint32_t)calls->n_groups, n_names = calls->strings.n;
    struct arena scratch = {0};
    bool any = false;
    *n_inferred = 0;
    for (uint32_t i = 0; i < n_groups && !any; i++)
        any = is_address_group(calls, i);
    if (!any)
        return SUTRA_OK;
    struct address_group *groups = arena_zeros(&scratch, n_groups, sizeof *groups);
    bool *is_name = arena_zeros(&scratch, n_names, 1);
    struct pair_table known = {0}, made = {0}; /* of `calls`; first member, group -> new group */
    bool ok = pair_table_init(&known) && pair_table_init(&made) && !scratch.failed;
    for (uint32_t i = 0; i < n_groups && ok; i++)
        groups[i] = (struct address_group){.group = calls->groups[i], .is_of_address = is_address_group(calls, i)};
    if (ok && world_size <= RANKS_MAX)
        ok = find_strides(groups, calls, world_size, &scratch);

    /* Make the list of groups again, first those with recorded members. */
    if (ok) {
        pair_table_free(&calls->known_groups);
        calls->known_groups = known;
        known = (struct pair_table){0};
        calls->n_groups = 0;
    }
    for (uint32_t i = 0; i < n_groups && ok; i++) {
        const struct collective_group *group = &groups[i].group;
        is_name[group->name] = true;
        if (groups[i].is_of_address)
            continue;
        const struct strings *strings = &calls->strings;
        groups[i].number = collective_group_add(
            calls, strings_text(strings, group->name), strings_length(strings, group->name),
            strings_text(strings, group->members), strings_length(strings, group->members), group->size, group->source);
        ok = groups[i].number != UINT32_MAX;
    }
    uint64_t n_kept = 0, name = 0;
    for (uint64_t i = 0; i < calls->n && ok; i++) {
        struct collective_call call = calls->list[i];
        const struct address_group *of = &groups[call.group];
        if (of->is_of_address && (of->stride == 0 || call.rank < 0 || call.rank >= world_size)) {
            calls->n_untold++;
            continue;
        }
        if (of->is_of_address) {
            const int64_t base = first_member(call.rank, of->group.size, of->stride);
            struct pair_entry *entry = pair_table_insert(&made, (uint64_t)base, call.group);
            if (entry && entry->number == PAIR_NONE) {
                name = MAX(name, of->group.size < world_size); /* 0 is the name of the group of all ranks */
                entry->number = add_members(calls, of, base, is_name, n_names, &name);
                *n_inferred += of->group.size > 1 && of->group.size < world_size;
            }
            ok = entry && entry->number != UINT32_MAX;
            call.group = ok ? entry->number : 0;
            call.peer = call.is_message && call.peer >= 0 && call.peer < of->group.size ? base + call.peer * of->stride
                                                                                        : CALL_UNKNOWN;
        } else {
            call.group = of->number;
        }
        calls->list[n_kept++] = call;
    }
    calls->n = ok ? n_kept : 0;
    pair_table_free(&known);
    pair_table_free(&made);
    arena_free(&scratch);
    return ok ? SUTRA_OK : error_memory(error);
}
