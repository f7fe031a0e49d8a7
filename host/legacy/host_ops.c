/*
 * host_ops.c - the host side of legacy.h: log lines, the table of names, and the selection of an iteration.
 *
 * Nodes whose names contain the annotation cut the ids into iterations:
 *
 *     ids     1 ........ 7 ........ 29 ........ 50 ........ 71 ....
 *     marks   |          |          |           |           |
 *     iteration    0           1          2           3        (nodes after the last mark are in no iteration)
 *
 * With more than one iteration, iteration 2 is selected, or the last of two, with all children of the root. An operator
 * whose parent is not in the iteration gets the node of its thread as its parent. O(n log n).
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "align/op_fields.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/shared.h"
#include "legacy/legacy.h"
#include "read/document.h"
#include "text/numbers.h"

/* ---- Log lines ---- */

void log_text(struct legacy_log *log, const char *format, ...) {
    va_list list;
    va_start(list, format);
    if (log->line)
        buffer_vformat(&log->text, format, list);
    va_end(list);
}

void log_info(struct legacy_log *log, const char *format, ...) {
    va_list list;
    va_start(list, format);
    if (log->line)
        buffer_vformat(&log->text, format, list);
    va_end(list);
    log_end(log, SUTRA_LEGACY_INFO);
}

void log_bytes(struct legacy_log *log, const char *bytes, size_t n) {
    if (log->line)
        buffer_append(&log->text, bytes, n);
}

void log_number(struct legacy_log *log, struct number number) {
    char text[NUMBER_TEXT_MAX];
    if (number.kind == NUMBER_BOOLEAN)
        log_text(log, "%s", number.bits ? "True" : "False");
    else
        log_bytes(log, text,
                  number.kind == NUMBER_DOUBLE ? double_format(number_as_double(number), text)
                                               : integer_format((int64_t)number.bits, text));
}

void log_end(struct legacy_log *log, enum sutra_legacy_line kind) {
    if (log->line && !log->text.failed)
        log->line(log->arg, kind, log->text.bytes, log->text.length);
    log->text.length = 0;
    log->text.failed = false;
}

/* ---- Names: O(bytes of different names) ---- */

bool names_begin(struct legacy_names *names, const struct strings *device) {
    *names = (struct legacy_names){0};
    if (!strings_init(&names->table))
        return false;
    for (uint32_t i = 0; i < device->n; i++)
        if (strings_intern(&names->table, strings_text(device, i), strings_length(device, i)) != i)
            return false;
    names->process = strings_intern(&names->table, PROCESS_NAME, strlen(PROCESS_NAME));
    names->thread = strings_intern(&names->table, THREAD_NAME, strlen(THREAD_NAME));
    names->old_thread = strings_intern(&names->table, OLD_THREAD_NAME, strlen(OLD_THREAD_NAME));
    return names->process != STRING_NONE && names->thread != STRING_NONE && names->old_thread != STRING_NONE;
}

static const char *find(const char *text, size_t length, const char *part) {
    return memmem(text, length, part, strlen(part));
}

bool names_finish(struct legacy_names *names, const char *annotation, struct arena *arena) {
    uint32_t n = names->table.n;
    names->renamed = arena_alloc(arena, (size_t)n * 2, sizeof *names->renamed);
    names->annotated = arena_alloc(arena, (size_t)n * 2, 1);
    names->iteration = arena_alloc(arena, (size_t)n * 2, 1);
    if (arena->failed)
        return false;
    struct buffer text = {0};
    bool ok = true;
    for (uint32_t i = 0; i < n && ok; i++) {
        static const char before[] = "execution_graph", after[] = "execution_trace";
        _Static_assert(sizeof before == sizeof after, "names are replaced in place");
        size_t length = strings_length(&names->table, i);
        names->renamed[i] = i;
        if (!find(strings_text(&names->table, i), length, before))
            continue;
        text.length = 0;
        buffer_append(&text, strings_text(&names->table, i), length);
        char *at = text.bytes, *end = at + length;
        for (; !text.failed && (at = memmem(at, (size_t)(end - at), before, sizeof before - 1));)
            memcpy(at, after, sizeof after - 1);
        ok = !text.failed && (names->renamed[i] = strings_intern(&names->table, text.bytes, length)) != STRING_NONE;
    }
    buffer_free(&text);
    for (uint32_t i = 0; i < names->table.n && ok; i++) {
        const char *name = strings_text(&names->table, i);
        size_t length = strings_length(&names->table, i);
        names->annotated[i] = annotation && find(name, length, annotation);
        names->iteration[i] = find(name, length, "iteration#") != NULL;
        if (i >= n) /* a new name is its own replacement */
            names->renamed[i] = i;
    }
    return ok;
}

/* ---- Nodes ---- */

#define ROOT_ID 1

/* Nodes per task. */
#define BLOCK 512

/* Positions of the names in the file, and sequence numbers, read in parallel. */
struct name_reading {
    struct host_side *side;
    struct json_span *place;
};

static void read_block(void *arg, size_t block) {
    const struct name_reading *reading = arg;
    const struct host_side *side = reading->side;
    size_t begin = block * BLOCK, end = MIN(begin + BLOCK, side->trace->nodes.n);
    struct node_places places;
    for (row_t node = (row_t)begin; node < end; node++) {
        node_places_read(side->trace, node, NULL, &places);
        reading->place[node] = places.field[PLACED_NAME];
        side->has_category[node] = places.field[PLACED_CATEGORY].at != 0;
        side->sequence[node] = placed_sequence(&side->trace->document.source, &places);
    }
}

enum sutra_status host_side_read(struct host_side *side, struct sutra_context *context,
                                 const struct sutra_host_trace *trace, struct legacy_names *names, struct arena *arena,
                                 struct sutra_error *error) {
    size_t n = trace->nodes.n;
    bool has_root = false;
    for (row_t node = 0; node < n; node++) {
        if (!key_is_integer(trace->nodes.id[node]))
            return source_error(&trace->document.source, error, trace->nodes.text[node],
                                "node %u: field 'id': a 64-bit integer was expected, which new ids are numbered after",
                                node);
        has_root |= trace->nodes.id[node] == ROOT_ID;
    }
    if (!has_root)
        return error_file(error, SUTRA_DATA, trace->document.source.name,
                          "there is no root (a node with id 1) above the operators");
    *side = (struct host_side){.trace = trace,
                               .name = arena_alloc(arena, n, sizeof *side->name),
                               .has_category = arena_alloc(arena, n, 1),
                               .sequence = arena_alloc(arena, n, sizeof *side->sequence)};
    struct arena_mark mark = arena_mark(arena);
    struct name_reading reading = {side, arena_alloc(arena, n, sizeof *reading.place)};
    TRY(arena_status(arena, error));
    pool_run(context->pool, (n + BLOCK - 1) / BLOCK, read_block, &reading);

    /* Intern the names. */
    enum sutra_status status = SUTRA_OK;
    const struct source *source = &trace->document.source;
    const struct json_span *place = reading.place;
    struct field_reader reader = {.source = source, .values = &context->values};
    for (row_t node = 0; node < n && !status; node++) {
        if (!place[node].at || source->bytes[place[node].at] != '"')
            status = source_error(source, error, trace->nodes.text[node],
                                  "node %u: field 'name': a string was expected, which matching needs", node);
        else if ((side->name[node] = field_intern(&reader, place[node], &names->table)) == STRING_NONE)
            status = error_memory(error);
    }
    if (!status && reader.failed) /* an escaped name */
        status = error_memory(error);
    buffer_free(&reader.scratch);
    arena_release(arena, mark);
    TRY(status);
    return host_ops_build(&side->units, context, trace, arena, error);
}

/* ---- Iterations ---- */

/* Input and scratch of host_side_choose(); columns are per unit. */
struct choice {
    struct host_side *side;
    struct sutra_context *context;
    const struct legacy_names *names;
    struct legacy_log *log;
    struct arena *scratch;
    struct sutra_error *error;
    row_t *parent;  /* the parent unit, or ROW_NONE */
    uint8_t *state; /* enum reach */
    row_t *path;
    row_t *op; /* index of the operator */
    bool trimmed, old_names;
    uint8_t *kept; /* is in the iteration */
};

static const struct host_nodes *nodes_of(const struct choice *choice) {
    return &choice->side->trace->nodes;
}

static value_key unit_id(const struct choice *choice, row_t unit) {
    return nodes_of(choice)->id[unit_node(&choice->side->units, unit)];
}

static value_key unit_parent_id(const struct choice *choice, row_t unit) {
    return nodes_of(choice)->parent[unit_node(&choice->side->units, unit)];
}

static uint32_t unit_name(const struct choice *choice, row_t unit) {
    return choice->side->name[unit_node(&choice->side->units, unit)];
}

static enum sutra_status node_tid(const struct choice *choice, row_t unit, value_key *tid) {
    struct node_places places;
    row_t node = unit_node(&choice->side->units, unit);
    const struct source *source = &choice->side->trace->document.source;
    struct field_reader reader = {.source = source, .values = &choice->context->values};
    node_places_read(choice->side->trace, node, NULL, &places);
    *tid = places.field[PLACED_TID].at ? field_key(&reader, places.field[PLACED_TID]) : KEY_ABSENT;
    buffer_free(&reader.scratch);
    if (reader.failed)
        return error_memory(choice->error);
    if (*tid == KEY_ABSENT)
        return source_error(source, choice->error, nodes_of(choice)->text[node],
                            "node %u: field 'tid' is missing: extracting an iteration needs the thread", node);
    return SUTRA_OK;
}

/* The nodes of threads, and their tids. */
struct thread_nodes {
    row_t *unit;
    value_key *tid;
    row_t n;
    struct key_index index;
};

static enum sutra_status list_threads(struct choice *choice, struct thread_nodes *threads) {
    row_t n_units = choice->side->units.n_units;
    threads->unit = arena_alloc(choice->scratch, n_units, sizeof *threads->unit);
    threads->tid = arena_alloc(choice->scratch, n_units, sizeof *threads->tid);
    TRY(arena_status(choice->scratch, choice->error));
    for (row_t unit = 0; unit < n_units; unit++) {
        uint32_t name = unit_name(choice, unit);
        bool is_thread = name == choice->names->thread || (choice->old_names && name == choice->names->old_thread);
        if (unit_parent_id(choice, unit) != ROOT_ID || !is_thread)
            continue;
        TRY(node_tid(choice, unit, &threads->tid[threads->n]));
        threads->unit[threads->n++] = unit;
    }
    if (threads->n == 0)
        return error_file(
            choice->error, SUTRA_DATA, choice->side->trace->document.source.name,
            "there is no thread node (\"%s\") below the root, which extracting an iteration needs: choose an "
            "--annotation that does not occur to link the whole trace",
            THREAD_NAME);
    return key_index_build(&threads->index, &choice->context->engine, threads->tid, threads->n, KEY_LAST, NULL,
                           choice->error);
}

/* Replaces the parent of an operator by the node of its thread. */
static enum sutra_status replace_parent(struct choice *choice, const struct thread_nodes *threads, row_t unit) {
    value_key tid;
    log_info(choice->log, "Fixing parent for node id = %" PRId64 ", parent = %" PRId64, unit_id(choice, unit),
             unit_parent_id(choice, unit));
    TRY(node_tid(choice, unit, &tid));
    row_t thread = key_index_find(&threads->index, tid);
    if (thread == ROW_NONE) {
        row_t node = unit_node(&choice->side->units, unit);
        return source_error(
            &choice->side->trace->document.source, choice->error, nodes_of(choice)->text[node],
            "node %u: its parent is outside the iteration, and its thread has no node (\"%s\") to replace the parent: "
            "choose an --annotation that does not occur to link the whole trace",
            node, THREAD_NAME);
    }
    choice->parent[unit] = threads->unit[thread];
    return SUTRA_OK;
}

/* Keeps the ids from begin to end, the root and its children. */
static enum sutra_status trim(struct choice *choice, value_key begin, value_key end) {
    const struct host_ops *units = &choice->side->units;
    struct thread_nodes threads = {0};
    row_t n_kept = 0;
    for (row_t unit = 0; unit < units->n_units; unit++) {
        value_key id = unit_id(choice, unit);
        choice->kept[unit] = (id >= begin && id < end) || unit_parent_id(choice, unit) == ROOT_ID || id == ROOT_ID;
        n_kept += choice->kept[unit];
    }
    enum sutra_status status = list_threads(choice, &threads);
    for (row_t node = 0; node < units->n_nodes && !status; node++) { /* messages are in file order */
        row_t unit = key_index_find(&units->ids, nodes_of(choice)->id[node]), above = choice->parent[unit];
        bool cut = choice->kept[unit] && above != ROW_NONE && !choice->kept[above] && above != unit;
        if (cut && units->node[units->unit_start[unit]] == node)
            status = replace_parent(choice, &threads, unit);
    }
    if (!status)
        log_info(choice->log, "Nodes trimmed ET = %u", n_kept);
    key_index_free(&threads.index);
    return status;
}

enum reach { REACH_UNKNOWN, REACH_YES, REACH_NO, REACH_WALKING };

/* Follows the parents of a unit to a unit with a known state, and copies the state to the path. A node that is its own
 * parent has no root. */
static enum sutra_status find_reach(struct choice *choice, row_t unit) {
    row_t n = 0, at = unit;
    while (at != ROW_NONE && choice->state[at] == REACH_UNKNOWN) {
        choice->state[at] = REACH_WALKING;
        choice->path[n++] = at;
        at = choice->parent[at];
    }
    bool cycle = at != ROW_NONE && choice->state[at] == REACH_WALKING;
    if (cycle && choice->parent[at] != at) { /* report the ids of the cycle */
        char ids[200];
        size_t length = 0;
        row_t begin = at, node = unit_node(&choice->side->units, begin);
        n = 0;
        do {
            if (n < 8)
                length += (size_t)snprintf(ids + length, sizeof ids - length, "%" PRId64 " -> ", unit_id(choice, at));
            n++;
            at = choice->parent[at];
        } while (at != begin);
        return source_error(&choice->side->trace->document.source, choice->error, nodes_of(choice)->text[node],
                            "node %u: parents form a cycle of %u nodes: %s%s%" PRId64, node, n, ids,
                            n > 8 ? "... -> " : "", unit_id(choice, begin));
    }
    uint8_t answer = at != ROW_NONE && choice->state[at] == REACH_YES ? REACH_YES : REACH_NO;
    while (n > 0)
        choice->state[choice->path[--n]] = answer;
    return SUTRA_OK;
}

/* Lists the kept units below the root. */
static enum sutra_status list_operators(struct choice *choice) {
    struct host_side *side = choice->side;
    row_t n_units = side->units.n_units, root = key_index_find(&side->units.ids, ROOT_ID);
    choice->state[root] = REACH_YES;
    for (row_t unit = 0; unit < n_units; unit++)
        if (choice->trimmed && !choice->kept[unit])
            choice->state[unit] = REACH_NO;
    for (row_t unit = 0; unit < n_units; unit++)
        TRY(find_reach(choice, unit));
    for (row_t unit = 0; unit < n_units; unit++) {
        if (choice->state[unit] != REACH_YES)
            continue;
        choice->op[unit] = side->n;
        side->unit[side->n++] = unit;
    }
    for (row_t op = 0; op < side->n; op++)
        side->parent[op] = side->unit[op] == root ? ROW_NONE : choice->op[choice->parent[side->unit[op]]];
    log_info(choice->log, "Number of original ops in execution trace: %u", side->n);
    return SUTRA_OK;
}

enum sutra_status host_side_choose(struct host_side *side, struct sutra_context *context,
                                   const struct legacy_names *names, bool old_names, struct legacy_log *log,
                                   struct arena *arena, struct sutra_error *error) {
    const struct host_ops *units = &side->units;
    row_t n = units->n_units, n_marks = 0;
    side->unit = arena_alloc(arena, n, sizeof *side->unit);
    side->parent = arena_alloc(arena, n, sizeof *side->parent);
    struct arena_mark mark = arena_mark(arena);
    struct choice choice = {.side = side,
                            .context = context,
                            .names = names,
                            .log = log,
                            .scratch = arena,
                            .error = error,
                            .parent = arena_alloc(arena, n, sizeof *choice.parent),
                            .state = arena_zeros(arena, n, 1),
                            .path = arena_alloc(arena, n, sizeof *choice.path),
                            .op = rows_none(arena, n),
                            .old_names = old_names,
                            .kept = arena_alloc(arena, n, 1)};
    value_key *marks = arena_alloc(arena, (size_t)n + 1, sizeof *marks);
    TRY(arena_status(arena, error));
    for (row_t unit = 0; unit < n; unit++)
        choice.parent[unit] =
            unit_id(&choice, unit) == ROOT_ID ? ROW_NONE : key_index_find(&units->ids, unit_parent_id(&choice, unit));

    /* List the marks; the first mark is the root's id. */
    for (row_t unit = 0; unit < n; unit++)
        if (names->annotated[unit_name(&choice, unit)])
            marks[n_marks++] = unit_id(&choice, unit);
    row_t at = n_marks++;
    for (; at > 0 && marks[at - 1] > ROOT_ID; at--)
        marks[at] = marks[at - 1];
    marks[at] = ROOT_ID;
    log_text(log, "Iteration node ids list = [");
    for (row_t i = 0; i < n_marks; i++)
        log_text(log, "%s%" PRId64, i ? ", " : "", marks[i]);
    log_info(log, "]");
    if (n_marks > 2) {
        row_t n_iterations = n_marks - 1, chosen = n_iterations > 2 ? 2 : n_iterations - 1;
        choice.trimmed = true;
        log_info(log, "Execution trace has %u > 1 iterations.", n_iterations);
        log_info(log, "Copying nodes for iter %u for ids in the range [%" PRId64 ", %" PRId64 ")", chosen,
                 marks[chosen], marks[chosen + 1]);
        TRY(trim(&choice, marks[chosen], marks[chosen + 1]));
    }
    TRY(list_operators(&choice));
    arena_release(arena, mark);
    return SUTRA_OK;
}
