/*
 * flight_recorder.c - implements flight_recorder.h: from the values of a pickle or a JSON text to entries.
 *
 * Values of one object string are found once: `kept`, `name_of` and `is_library` are indexed by its id.
 */
#include "read/flight_recorder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "read/file_kind.h"
#include "read/objects.h"
#include "text/numbers.h"
#include "text/strings.h"

#define MEMBERS_MAX ((size_t)1000000)

struct dump_reader {
    struct flight_dump *dump;
    const struct source *source;
    const struct objects *objects;
    struct arena scratch;
    uint32_t *kept;      /* string id in the dump, plus 1 */
    uint32_t *name_of;   /* of a profiling name: its index, plus 1 */
    uint8_t *is_library; /* of a file name: 1: no, 2: below torch/ or no file */
    struct tuples shapes, frames;
    struct pair_table groups;
    uint32_t *frame_texts; /* string ids */
    uint64_t frames_capacity, names_capacity, shapes_capacity, groups_capacity;
};

/* ---- Values; of the wrong type they are absent ---- */

static int64_t integer_or(const struct objects *objects, object_t value, int64_t absent) {
    int64_t number;
    return object_integer(objects, value, &number) ? number : absent;
}

static bool is_integer(object_t value) {
    return object_type(value) == OBJECT_INTEGER || object_type(value) == OBJECT_WIDE;
}

static bool is_list(object_t value) {
    return object_type(value) == OBJECT_LIST || object_type(value) == OBJECT_TUPLE;
}

static bool is_text(object_t value) {
    return object_type(value) == OBJECT_STRING;
}

/* The string id of a value's text in the dump; of another type than text or integer: of `absent`. Out of memory:
 * STRING_NONE, and the arena has failed. */
static uint32_t keep_text(struct dump_reader *r, object_t value, const char *absent) {
    uint32_t id;
    if (is_text(value)) {
        const uint32_t string = (uint32_t)object_payload(value);
        if (r->kept[string])
            return r->kept[string] - 1;
        const struct strings *strings = &r->objects->strings;
        id = strings_intern(&r->dump->strings, strings_text(strings, string), strings_length(strings, string));
        r->kept[string] = id + 1;
    } else {
        char digits[NUMBER_TEXT_MAX];
        const char *text = absent;
        if (is_integer(value)) {
            snprintf(digits, sizeof digits, "%" PRId64, integer_or(r->objects, value, 0));
            text = digits;
        }
        id = strings_intern(&r->dump->strings, text, strlen(text));
    }
    r->scratch.failed |= id == STRING_NONE;
    return id;
}

/* The elements of all tensors of a list of sizes. Products and sums saturate. */
static int64_t count_elements(const struct objects *objects, object_t sizes) {
    int64_t total = 0;
    for (uint32_t i = 0; is_list(sizes) && i < container_of(objects, sizes)->n; i++) {
        const object_t dimensions = items_of(objects, sizes)[i];
        int64_t n = is_list(dimensions);
        bool is_empty = false; /* 0 * infinity is 0 */
        for (uint32_t k = 0; is_list(dimensions) && k < container_of(objects, dimensions)->n; k++) {
            const int64_t size = MAX(integer_or(objects, items_of(objects, dimensions)[k], 0), 0);
            is_empty |= size == 0;
            if (__builtin_mul_overflow(n, size, &n))
                n = INT64_MAX;
        }
        if (!is_empty && __builtin_add_overflow(total, n, &total))
            total = INT64_MAX;
    }
    return total;
}

/* The id of the distinct types of a list in byte order, "BFloat16,Float". */
static uint32_t keep_types(struct dump_reader *r, object_t types) {
    const struct strings *strings = &r->objects->strings;
    const uint32_t n = is_list(types) ? container_of(r->objects, types)->n : 0;
    const object_t *items = n ? items_of(r->objects, types) : NULL;
    uint32_t n_texts = 0, distinct = 0;
    for (uint32_t i = 0; i < n; i++) {
        n_texts += is_text(items[i]);
        distinct += is_text(items[i]) && items[i] != items[0];
    }
    if (n_texts == 0)
        return keep_text(r, OBJECT_NONE, "");
    if (distinct == 0 && is_text(items[0]))
        return keep_text(r, items[0], "");
    struct arena_mark mark = arena_mark(&r->scratch);
    const char **texts = arena_alloc(&r->scratch, n_texts, sizeof *texts);
    struct buffer joined = {0};
    uint32_t k = 0, id = STRING_NONE;
    for (uint32_t i = 0; texts && i < n; i++)
        if (is_text(items[i]))
            texts[k++] = strings_text(strings, (uint32_t)object_payload(items[i]));
    if (texts)
        qsort(texts, n_texts, sizeof *texts, compare_strings);
    for (k = 0; texts && k < n_texts; k++)
        if (k == 0 || strcmp(texts[k], texts[k - 1]) != 0)
            buffer_format(&joined, "%s%s", k ? "," : "", texts[k]);
    if (texts && !joined.failed)
        id = strings_intern(&r->dump->strings, joined.bytes, joined.length);
    r->scratch.failed |= id == STRING_NONE;
    buffer_free(&joined);
    arena_release(&r->scratch, mark);
    return id;
}

/* ---- Profiling names ---- */

static const struct {
    const char *recorded, *type;
} aliases[] = {
    {"_all_gather_base", "all_gather"},
    {"all_gather_single", "all_gather"},
    {"all_gather_into_tensor", "all_gather"},
    {"all_gather_v", "all_gather"},
    {"_reduce_scatter_base", "reduce_scatter"},
    {"reduce_scatter_single", "reduce_scatter"},
    {"reduce_scatter_v", "reduce_scatter"},
    {"_broadcast_oop", "broadcast"},
    {"_reduce_oop", "reduce"},
    {"all_to_all_single", "all_to_all"},
    {"all_to_all_v_single", "all_to_all"},
    {"alltoall_base", "all_to_all"},
};

static const char *const synchronizing[] = {
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "all_to_all",
    "barrier",
    "all_reduce_barrier",
    "allreduce_coalesced",
    "allgather_coalesced",
    "all_gather_into_tensor_coalesced",
    "reduce_scatter_tensor_coalesced",
    "reduce_scatter_coalesced",
};

/* Parts of the names of backends that keep the events of their work until the watchdog retires them. */
static const char *const nccl_like[] = {"nccl", "rccl", "xccl", "hccl", "mccl"};

/* A position of "0->3", or FLIGHT_ANY of '?'. NULL: neither. */
static const char *read_position(const char *at, const char *end, int64_t *position) {
    if (at < end && *at == '?') {
        *position = FLIGHT_ANY;
        return at + 1;
    }
    const char *from = at;
    while (at < end && *at >= '0' && *at <= '9')
        at++;
    if (at > from && !integer_parse(from, (size_t)(at - from), position))
        *position = INT64_MAX;
    return at > from ? at : NULL;
}

/* Parses "BACKEND:OPERATION" or "BACKEND:send 0->3", "BACKEND:recv 0<-3". */
static void parse_name(struct dump_reader *r, const char *text, size_t length, struct flight_name *name) {
    const char *colon = memrchr(text, ':', length), *end = text + length;
    const char *word = colon ? colon + 1 : text, *word_end = memchr(word, ' ', (size_t)(end - word));
    const size_t n = (size_t)((word_end ? word_end : end) - word);
    char type[128];
    *name = (struct flight_name){.from = FLIGHT_ANY, .to = FLIGHT_ANY};
    for (size_t i = 0; i < sizeof nccl_like / sizeof *nccl_like && colon; i++)
        name->reports_timeout |= memmem(text, (size_t)(colon - text), nccl_like[i], strlen(nccl_like[i])) != NULL;

    name->recorded = strings_intern(&r->dump->strings, word, n);
    size_t n_type = MIN(n, sizeof type - 1);
    memcpy(type, word, n_type);
    type[n_type] = '\0';
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(type, aliases[i].recorded) == 0)
            n_type = (size_t)snprintf(type, sizeof type, "%s", aliases[i].type);
    for (size_t i = 0; i < n_type; i++)
        type[i] = (char)(type[i] >= 'A' && type[i] <= 'Z' ? type[i] + 32 : type[i]);
    name->type = strings_intern(&r->dump->strings, type, n_type);
    r->scratch.failed |= name->recorded == STRING_NONE || name->type == STRING_NONE;

    static const char ending[] = "_coalesced";
    const size_t n_ending = sizeof ending - 1;
    name->is_end = (n == n_ending - 1 && memcmp(word, ending + 1, n) == 0) ||
                   (n > n_ending && *word >= 'A' && *word <= 'Z' && memcmp(word + n - n_ending, ending, n_ending) == 0);
    const bool is_uneven = memmem(word, n, "_v", 2) != NULL || strcmp(type, "all_to_all") == 0;
    const bool is_scatter = strcmp(type, "scatter") == 0, is_gather = strcmp(type, "gather") == 0;
    name->compared = (is_uneven || is_scatter ? 0 : COMPARE_N_IN) | (is_uneven || is_gather ? 0 : COMPARE_N_OUT) |
                     (is_scatter || strcmp(type, "broadcast") == 0 ? 0 : COMPARE_IN_TYPES) |
                     (is_gather ? 0 : COMPARE_OUT_TYPES);
    for (size_t i = 0; i < sizeof synchronizing / sizeof *synchronizing; i++)
        name->synchronizes |= strcmp(type, synchronizing[i]) == 0;
    name->is_send = strcmp(type, "send") == 0;
    name->is_receive = strcmp(type, "recv") == 0;
    if (!word_end || !(name->is_send || name->is_receive))
        return;
    const char *pair = word_end + 1, *pair_end = memchr(pair, ' ', (size_t)(end - pair)), *at;
    int64_t own, peer;
    pair_end = pair_end ? pair_end : end;
    if (!(at = read_position(pair, pair_end, &own)) || own == FLIGHT_ANY || pair_end - at < 3)
        return;
    const bool is_forward = memcmp(at, "->", 2) == 0;
    if ((!is_forward && memcmp(at, "<-", 2) != 0) || read_position(at + 2, pair_end, &peer) != pair_end)
        return;
    name->from = is_forward ? own : peer;
    name->to = is_forward ? peer : own;
}

/* The index of a profiling name; UINT32_MAX: out of memory. */
static uint32_t find_name(struct dump_reader *r, uint32_t string) {
    struct flight_dump *dump = r->dump;
    if (r->name_of[string])
        return r->name_of[string] - 1;
    if (!column_grow(&dump->names, dump->n_names, &r->names_capacity, sizeof *dump->names))
        return UINT32_MAX;
    const struct strings *strings = &r->objects->strings;
    parse_name(r, strings_text(strings, string), strings_length(strings, string), &dump->names[dump->n_names]);
    return r->name_of[string] = ++dump->n_names, dump->n_names - 1;
}

/* ---- Frames ---- */

/* The string id of the innermost frame of the user's code, "train_step (train.py:45)", else of the innermost frame;
 * STRING_NONE: no frames. */
static uint32_t find_frame(struct dump_reader *r, object_t frames) {
    const struct objects *objects = r->objects;
    object_t found = OBJECT_ABSENT;
    for (uint32_t i = 0; is_list(frames) && i < container_of(objects, frames)->n; i++) {
        const object_t frame = items_of(objects, frames)[i];
        if (object_type(frame) != OBJECT_DICT)
            continue;
        found = found ? found : frame;
        const object_t file = dict_get(objects, frame, WORD_FILENAME);
        const uint32_t string = is_text(file) ? (uint32_t)object_payload(file) : 0;
        if (is_text(file) && !r->is_library[string]) { /* of PyTorch, or no file: "<frozen importlib>" */
            const char *path = strings_text(&objects->strings, string);
            r->is_library[string] = *path == '<' || strncmp(path, "torch/", 6) == 0 || strstr(path, "/torch/") ? 2 : 1;
        }
        if (!is_text(file) || r->is_library[string] == 1) {
            found = frame;
            break;
        }
    }
    if (!found)
        return STRING_NONE;
    const object_t name = dict_get(objects, found, WORD_NAME), file = dict_get(objects, found, WORD_FILENAME);
    const int64_t line = integer_or(objects, dict_get(objects, found, WORD_LINE), 0);
    const uint32_t n_before = r->frames.n;
    const uint32_t number = tuples_number(
        &r->frames, (struct tuple){{is_text(name) ? (int64_t)name : 0, is_text(file) ? (int64_t)file : 0, line, 0}});
    if (number == TUPLE_NONE ||
        !arena_grow(&r->scratch, &r->frame_texts, number, &r->frames_capacity, sizeof *r->frame_texts)) {
        r->scratch.failed = true;
        return STRING_NONE;
    }
    if (number == n_before) {
        struct buffer text = {0};
        buffer_format(
            &text, "%s (%s:%" PRId64 ")",
            is_text(name) ? strings_text(&objects->strings, (uint32_t)object_payload(name)) : "",
            is_text(file) ? path_file_name(strings_text(&objects->strings, (uint32_t)object_payload(file))) : "", line);
        r->frame_texts[number] = text.failed ? STRING_NONE : strings_intern(&r->dump->strings, text.bytes, text.length);
        r->scratch.failed |= r->frame_texts[number] == STRING_NONE;
        buffer_free(&text);
    }
    return r->frame_texts[number];
}

/* ---- Entries ---- */

/* The index of the process group that an entry names; UINT32_MAX: out of memory. */
static uint32_t find_group(struct dump_reader *r, object_t entry) {
    struct flight_dump *dump = r->dump;
    const struct objects *objects = r->objects;
    const object_t group = dict_get(objects, entry, WORD_PROCESS_GROUP);
    object_t name = is_text(group) ? group : OBJECT_ABSENT, description = OBJECT_NONE;
    if (is_list(group) && container_of(objects, group)->n > 0) {
        name = items_of(objects, group)[0];
        description = container_of(objects, group)->n > 1 ? items_of(objects, group)[1] : OBJECT_NONE;
    }
    if (!is_text(name) && !is_integer(name))
        name = dict_get(objects, entry, WORD_PG_NAME);
    if (!is_text(name) && !is_integer(name))
        name = dict_get(objects, entry, WORD_PG_ID);
    const struct flight_group made = {keep_text(r, name, ""), keep_text(r, description, "")};
    struct pair_entry *known = pair_table_insert(&r->groups, made.name, made.description);
    if (!known || !column_grow(&dump->groups, dump->n_groups, &r->groups_capacity, sizeof made))
        return UINT32_MAX;
    if (known->number == PAIR_NONE) {
        known->number = dump->n_groups;
        dump->groups[dump->n_groups++] = made;
    }
    return known->number;
}

/* The index of the shape of an entry; UINT32_MAX: out of memory. */
static uint32_t find_shape(struct dump_reader *r, object_t entry, const struct flight_name *name) {
    struct flight_dump *dump = r->dump;
    const struct objects *objects = r->objects;
    struct flight_shape made = {
        .n_in = count_elements(objects, dict_get(objects, entry, WORD_INPUT_SIZES)),
        .n_out = count_elements(objects, dict_get(objects, entry, WORD_OUTPUT_SIZES)),
        .in_types = keep_types(r, dict_get(objects, entry, WORD_INPUT_DTYPES)),
        .out_types = keep_types(r, dict_get(objects, entry, WORD_OUTPUT_DTYPES)),
        .type = name->type,
        .compared = name->compared,
    };
    if (made.in_types == STRING_NONE || made.out_types == STRING_NONE)
        return UINT32_MAX;
    if (strings_length(&dump->strings, made.in_types) == 0)
        made.compared &= ~(uint32_t)COMPARE_IN_TYPES;
    if (strings_length(&dump->strings, made.out_types) == 0)
        made.compared &= ~(uint32_t)COMPARE_OUT_TYPES;
    const uint32_t number = tuples_number(
        &r->shapes, (struct tuple){{made.n_in, made.n_out, (int64_t)((uint64_t)made.in_types << 32 | made.out_types),
                                    (int64_t)made.type << 4 | made.compared}});
    if (number == TUPLE_NONE || !column_grow(&dump->shapes, number, &r->shapes_capacity, sizeof made))
        return UINT32_MAX;
    dump->shapes[number] = made;
    dump->n_shapes = r->shapes.n;
    return number;
}

/* Appends an entry; entries that are no dict and entries without a name are skipped. */
static void add_entry(struct dump_reader *r, object_t entry) {
    const struct objects *objects = r->objects;
    struct flight_dump *dump = r->dump;
    const object_t text =
        object_type(entry) == OBJECT_DICT ? dict_get(objects, entry, WORD_PROFILING_NAME) : OBJECT_ABSENT;
    if (!is_text(text) || strings_length(&objects->strings, (uint32_t)object_payload(text)) == 0)
        return;
    const uint32_t name_index = find_name(r, (uint32_t)object_payload(text));
    if (name_index == UINT32_MAX) {
        r->scratch.failed = true;
        return;
    }
    const struct flight_name *name = &dump->names[name_index];
    struct flight_entry *e = &dump->entries[dump->n_entries];
    *e = (struct flight_entry){.name = name_index, .whole = dump->n_entries, .link = dump->n_entries};
    dump->n_entries++;

    const object_t is_p2p = dict_get(objects, entry, WORD_IS_P2P);
    e->is_p2p = object_type(is_p2p) == OBJECT_BOOL ? object_payload(is_p2p) != 0 : name->is_send || name->is_receive;
    object_t seq = dict_get(objects, entry, e->is_p2p ? WORD_P2P_SEQ_ID : WORD_COLLECTIVE_SEQ_ID);
    if (seq == OBJECT_ABSENT)
        seq = dict_get(objects, entry, WORD_SEQ_ID);
    e->seq = integer_or(objects, seq, 0);
    e->id = integer_or(objects, dict_get(objects, entry, WORD_RECORD_ID), 0);
    e->created_ns = integer_or(objects, dict_get(objects, entry, WORD_TIME_CREATED_NS), 0);
    e->timeout_ms = integer_or(objects, dict_get(objects, entry, WORD_TIMEOUT_MS), 0);

    const object_t state = dict_get(objects, entry, WORD_STATE);
    const bool is_completed = state == object_word(WORD_COMPLETED);
    const bool is_retired = dict_get(objects, entry, WORD_RETIRED) == object_make(OBJECT_BOOL, 1);
    e->state = is_completed ? FLIGHT_COMPLETED : state == object_word(WORD_STARTED) ? FLIGHT_STARTED : FLIGHT_SCHEDULED;
    e->started =
        state == object_word(WORD_STARTED) ||
        (!is_completed && integer_or(objects, dict_get(objects, entry, WORD_TIME_DISCOVERED_STARTED_NS), 0) != 0);
    e->passed = is_completed || (is_retired && !name->reports_timeout);
    e->timed_out = is_retired && !e->passed;

    e->group = find_group(r, entry);
    e->shape = find_shape(r, entry, name);
    e->frame = find_frame(r, dict_get(objects, entry, WORD_FRAMES));
    r->scratch.failed |= e->group == UINT32_MAX || e->shape == UINT32_MAX;
}

ORDER_BY(compare_entries, struct flight_entry, ASCENDING(id) ASCENDING(link))

static void read_entries(struct dump_reader *r, object_t list) {
    struct flight_dump *dump = r->dump;
    const uint32_t n = is_list(list) ? container_of(r->objects, list)->n : 0;
    dump->entries = malloc(((size_t)n + 1) * sizeof *dump->entries);
    r->scratch.failed |= !dump->entries;
    bool is_sorted = true;
    for (uint32_t i = 0; i < n && !r->scratch.failed; i++) {
        const uint32_t n_before = dump->n_entries;
        add_entry(r, items_of(r->objects, list)[i]);
        if (n_before > 0 && dump->n_entries > n_before)
            is_sorted &= dump->entries[n_before - 1].id <= dump->entries[n_before].id;
    }
    if (is_sorted || r->scratch.failed)
        return;
    qsort(dump->entries, dump->n_entries, sizeof *dump->entries, compare_entries);
    for (uint32_t i = 0; i < dump->n_entries; i++)
        dump->entries[i].whole = i;
}

/* ---- Process groups ---- */

/* Appends the numbers in a text or a list. False: out of memory. */
static bool read_members(struct dump_reader *r, object_t ranks, int64_t **members, size_t *n) {
    uint64_t capacity = 0;
    *n = 0;
    if (is_list(ranks)) {
        for (uint32_t i = 0; i < container_of(r->objects, ranks)->n; i++) {
            const int64_t rank = integer_or(r->objects, items_of(r->objects, ranks)[i], -1);
            if (rank < 0)
                continue;
            if (!arena_grow(&r->scratch, members, *n, &capacity, sizeof **members))
                return false;
            (*members)[(*n)++] = rank;
        }
        return true;
    }
    if (!is_text(ranks))
        return true;
    for (const char *at = strings_text(&r->objects->strings, (uint32_t)object_payload(ranks)); *at;) {
        if (!is_digit(*at)) {
            at++;
            continue;
        }
        int64_t rank = 0;
        for (; is_digit(*at); at++)
            if (__builtin_mul_overflow(rank, 10, &rank) || __builtin_add_overflow(rank, *at - '0', &rank))
                rank = INT64_MAX;
        if (!arena_grow(&r->scratch, members, *n, &capacity, sizeof **members))
            return false;
        (*members)[(*n)++] = rank;
    }
    return true;
}

/* Reads the groups that list the rank. */
static enum sutra_status read_configs(struct dump_reader *r, object_t dict, int64_t rank, struct sutra_error *error) {
    struct flight_dump *dump = r->dump;
    if (object_type(dict) != OBJECT_DICT)
        return SUTRA_OK;
    const struct container *container = container_of(r->objects, dict);
    const object_t *keys = r->objects->shape_keys + r->objects->shapes[container->shape].first;
    dump->configs = malloc(((size_t)container->n + 1) * sizeof *dump->configs);
    TRY_ALLOC(dump->configs, error);
    for (uint32_t i = 0; i < container->n; i++) {
        const object_t value = items_of(r->objects, dict)[i];
        struct flight_config *config = &dump->configs[dump->n_configs];
        if (object_type(value) != OBJECT_DICT)
            continue;
        const struct arena_mark mark = arena_mark(&r->scratch);
        int64_t *members = NULL;
        size_t n = 0, n_distinct = 0;
        bool has_rank = false;
        TRY_ALLOC(read_members(r, dict_get(r->objects, value, WORD_RANKS), &members, &n), error);
        bool is_sorted = true; /* as almost always */
        for (size_t k = 1; k < n; k++)
            is_sorted &= members[k - 1] < members[k];
        if (!is_sorted)
            qsort(members, n, sizeof *members, compare_int64s);
        for (size_t k = 0; k < n; k++) {
            has_rank |= members[k] == rank;
            if (n_distinct == 0 || members[n_distinct - 1] != members[k])
                members[n_distinct++] = members[k];
        }
        if (n_distinct > MEMBERS_MAX)
            return source_error(r->source, error, 0, "a process group in pg_config has %zu ranks (maximum: %zu)",
                                n_distinct, MEMBERS_MAX);
        config->name = keep_text(r, keys[i], "");
        config->description = keep_text(r, dict_get(r->objects, value, WORD_DESC), "");
        if (has_rank && !r->scratch.failed && strings_length(&dump->strings, config->name) > 0) {
            config->members = arena_alloc(&dump->member_arena, n_distinct, sizeof *members);
            TRY(arena_status(&dump->member_arena, error));
            memcpy(config->members, members, n_distinct * sizeof *members);
            config->n_members = n_distinct;
            dump->n_configs++;
        }
        arena_release(&r->scratch, mark);
    }
    return SUTRA_OK;
}

/* ---- The dump ---- */

static enum sutra_status read_values(struct flight_dump *dump, const struct source *source,
                                     const struct objects *objects, object_t root, int64_t rank,
                                     struct sutra_error *error) {
    const object_t entries = dict_get(objects, root, WORD_ENTRIES);
    struct dump_reader reader = {.dump = dump, .source = source, .objects = objects};
    reader.kept = arena_zeros(&reader.scratch, objects->strings.n, sizeof *reader.kept);
    reader.name_of = arena_zeros(&reader.scratch, objects->strings.n, sizeof *reader.name_of);
    reader.is_library = arena_zeros(&reader.scratch, objects->strings.n, sizeof *reader.is_library);
    const bool ok = !reader.scratch.failed && strings_init(&dump->strings) && pair_table_init(&reader.groups);
    enum sutra_status status = ok ? SUTRA_OK : error_memory(error);
    if (!status) {
        dump->version = keep_text(&reader, dict_get(objects, root, WORD_VERSION), "?");
        status = read_configs(&reader, dict_get(objects, root, WORD_PG_CONFIG), rank, error);
    }
    if (!status)
        read_entries(&reader, entries);
    if (!status)
        status = arena_status(&reader.scratch, error);
    tuples_free(&reader.shapes);
    tuples_free(&reader.frames);
    pair_table_free(&reader.groups);
    arena_free(&reader.scratch);
    return status;
}

enum sutra_status flight_dump_read(struct flight_dump *dump, struct objects *objects, const struct source *source,
                                   int64_t rank, struct sutra_error *error) {
    object_t root;
    size_t end;
    *dump = (struct flight_dump){.is_pickle = is_pickle(source->bytes, source->size)};
    if (!dump->is_pickle && !may_be_json(source->bytes, source->size))
        return source_refuse(source, 0, FLIGHT_EXPECTED, "", error);
    TRY_ALLOC(objects_clear(objects), error);
    if (dump->is_pickle)
        TRY(pickle_read(objects, source, NULL, &root, &end, error));
    else
        TRY(objects_read_json(objects, source, &root, error));
    const bool is_dump = object_type(root) == OBJECT_DICT && (dict_get(objects, root, WORD_ENTRIES) != OBJECT_ABSENT ||
                                                              dict_get(objects, root, WORD_PG_CONFIG) != OBJECT_ABSENT);
    if (!is_dump && dump->is_pickle)
        return source_error(source, error, 0,
                            "this pickle is not " FLIGHT_EXPECTED ": it has neither \"entries\" nor \"pg_config\"");
    if (!is_dump)
        return source_refuse(source, 0, FLIGHT_EXPECTED, "", error);
    return read_values(dump, source, objects, root, rank, error);
}

void flight_dump_free(struct flight_dump *dump) {
    free(dump->names);
    free(dump->shapes);
    free(dump->groups);
    free(dump->configs);
    arena_free(&dump->member_arena);
    strings_free(&dump->strings);
    free(dump->entries);
    *dump = (struct flight_dump){.entries = NULL};
}

bool flight_dump_rank(const char *path, int64_t *rank) {
    static const char *const endings[2][3] = {{".gz", ".zst", NULL}, {".json", ".pkl", ".pickle"}};
    const char *name = path_file_name(path);
    size_t n = strlen(name);
    for (size_t level = 0; level < 2; level++)
        for (size_t i = 0; i < 3 && endings[level][i]; i++) {
            const size_t n_ending = strlen(endings[level][i]);
            if (n > n_ending && memcmp(name + n - n_ending, endings[level][i], n_ending) == 0) {
                n -= n_ending;
                break;
            }
        }
    size_t first = n;
    while (first > 0 && name[first - 1] >= '0' && name[first - 1] <= '9')
        first--;
    return first < n && integer_parse(name + first, n - first, rank) && *rank <= INT32_MAX;
}
