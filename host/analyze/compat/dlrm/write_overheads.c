/*
 * write_overheads.c - writes T1..T5 as JSON: statistics by name, in the format of the notebook's file, by shape, and
 * all samples.
 */
#include "analyze/compat/dlrm/overheads.h"
#include "analyze/compat/dlrm/write.h"
#include "read/json.h"

static const char *const kinds[SUTRA_N_OVERHEADS] = {"t1", "t2", "t3", "t4", "t5"};

static void write_values(struct json_out *json, const struct sutra_dlrm_overhead *row, bool with_count) {
    json_open(json, '[');
    json_double(json, row->mean_us);
    json_double(json, row->std_us);
    if (with_count)
        json_integer(json, (int64_t)row->n);
    json_close(json, ']');
}

/* "t1": [mean, std], "t2": {name: [mean, std], ...}, ... as members of the open object. */
static void write_statistics(const struct sutra_dlrm *dlrm, struct json_out *json) {
    for (int kind = 0; kind < SUTRA_N_OVERHEADS; kind++) {
        json_key(json, kinds[kind], 2);
        if (kind != SUTRA_T1)
            json_open(json, '{');
        for (uint64_t i = 0; i < dlrm->report.n_overheads; i++) {
            const struct sutra_dlrm_overhead *row = &dlrm->report.overheads[i];
            if ((int)row->kind != kind)
                continue;
            if (kind != SUTRA_T1)
                json_text_key(json, dlrm, row->name);
            write_values(json, row, false);
        }
        if (kind != SUTRA_T1)
            json_close(json, '}');
    }
}

static void write_launches(const struct sutra_dlrm *dlrm, struct json_out *json, const struct dlrm_launches *launches) {
    json_open(json, '{');
    for (uint64_t i = 0; i < launches->n_lists; i++) {
        const struct dlrm_launch_list *list = &launches->lists[i];
        json_text_key(json, dlrm, list->name);
        json_open(json, '[');
        for (uint64_t j = 0; j < list->n; j++)
            json_text(json, dlrm, launches->names[list->first + j]);
        json_close(json, ']');
    }
    json_close(json, '}');
}

void dlrm_write_overheads(const struct sutra_dlrm *dlrm, struct text_out *out) {
    struct json_out json = {.text = out, .indent = 1};
    json_open(&json, '{');
    write_statistics(dlrm, &json);
    json_close(&json, '}');
}

void dlrm_write_overheads_file(const struct sutra_dlrm *dlrm, struct text_out *out) {
    struct json_out json = {.text = out, .indent = JSON_ONE_LINE};
    json_open(&json, '{');
    write_statistics(dlrm, &json);
    json_name(&json, "launches");
    write_launches(dlrm, &json, &dlrm->by_name.launches);
    json_close(&json, '}');
}

void dlrm_write_launches(const struct sutra_dlrm *dlrm, struct text_out *out) {
    struct json_out json = {.text = out, .indent = 1};
    write_launches(dlrm, &json, &dlrm->by_name.launches);
}

/* ---- By shape ---- */

/* Rows of one kind by name, names and rows in the order of first occurrence. */
struct by_name {
    struct tuples names;
    row_t *next, *last, *first; /* per row, + 1, and per name */
};

static bool by_name_make(struct by_name *by_name, const struct sutra_dlrm *dlrm, int kind, struct arena *arena) {
    uint64_t n = dlrm->report.n_overheads_by_shape;
    by_name->next = arena_zeros(arena, n, sizeof *by_name->next);
    by_name->last = arena_alloc(arena, n, sizeof *by_name->last);
    by_name->first = arena_alloc(arena, n, sizeof *by_name->first);
    if (arena->failed)
        return false;
    for (row_t i = 0; i < n; i++) {
        if ((int)dlrm->report.overheads_by_shape[i].kind != kind)
            continue;
        uint32_t n_names = by_name->names.n;
        uint32_t name = tuples_number(&by_name->names, (struct tuple){{dlrm->report.overheads_by_shape[i].name}});
        if (name == TUPLE_NONE)
            return false;
        if (name == n_names)
            by_name->first[name] = i;
        else
            by_name->next[by_name->last[name]] = i + 1;
        by_name->last[name] = i;
    }
    return true;
}

static void write_kind_by_shape(const struct sutra_dlrm *dlrm, struct json_out *json, int kind) {
    struct arena arena = {0};
    struct by_name by_name = {0};
    bool ok = by_name_make(&by_name, dlrm, kind, &arena);
    json->text->out.failed |= !ok;
    json_key(json, kinds[kind], 2);
    if (kind != SUTRA_T1)
        json_open(json, '{');
    for (uint32_t name = 0; name < by_name.names.n && ok; name++) {
        if (kind != SUTRA_T1)
            json_text_key(json, dlrm, (uint32_t)by_name.names.list[name].part[0]);
        if (kind != SUTRA_T1 && kind != SUTRA_T4)
            json_open(json, '{');
        struct buffer key = {0};
        for (row_t i = by_name.first[name] + 1; i; i = by_name.next[i - 1]) {
            const struct sutra_dlrm_overhead *row = &dlrm->report.overheads_by_shape[i - 1];
            if (row->shapes != SUTRA_DLRM_NONE) {
                key.length = 0;
                shape_append_tuple(&key, strings_text(&dlrm->texts, row->shapes));
                json->text->out.failed |= key.failed;
                json_key(json, key.bytes ? key.bytes : "", key.length);
            }
            write_values(json, row, true);
        }
        buffer_free(&key);
        if (kind != SUTRA_T1 && kind != SUTRA_T4)
            json_close(json, '}');
    }
    if (kind != SUTRA_T1)
        json_close(json, '}');
    tuples_free(&by_name.names);
    arena_free(&arena);
}

void dlrm_write_overheads_by_shape(const struct sutra_dlrm *dlrm, struct text_out *out) {
    struct json_out json = {.text = out, .indent = 1};
    json_open(&json, '{');
    for (int kind = 0; kind < SUTRA_N_OVERHEADS; kind++)
        write_kind_by_shape(dlrm, &json, kind);
    json_name(&json, "launches");
    write_launches(dlrm, &json, &dlrm->by_shape.launches);
    json_close(&json, '}');
}

/* ---- Samples ---- */

/* Samples by (name, kind); T1 and T4 have a name of their own, which is first. */
struct sorted_samples {
    uint64_t *keys;
    row_t *order;
    struct tuples names;
};

static bool sort_samples(struct sorted_samples *sorted, const struct sutra_dlrm *dlrm, struct arena *arena) {
    const struct engine *engine = &dlrm->context->engine;
    uint64_t n = dlrm->by_name.samples.n;
    sorted->keys = arena_alloc(arena, n, sizeof *sorted->keys);
    sorted->order = arena_alloc(arena, n, sizeof *sorted->order);
    if (arena->failed || !dlrm_number_operators(&dlrm->tree.ops, &sorted->names))
        return false;
    for (row_t i = 0; i < n; i++) {
        const struct dlrm_sample *sample = &dlrm->by_name.samples.list[i];
        bool apart = sample->kind == SUTRA_T1 || sample->kind == SUTRA_T4;
        uint32_t name = apart ? 0 : tuples_find(&sorted->names, (struct tuple){{sample->name}});
        sorted->keys[i] = (uint64_t)name << 3 | sample->kind;
        sorted->order[i] = i;
    }
    return engine->sort_keys(engine->state, &(struct sort_keys_step){sorted->keys, sorted->order, (row_t)n}, NULL) ==
           SUTRA_OK;
}

/* Writes the samples of one name and kind as a list; returns the index of the next sample. */
static row_t write_samples(const struct sutra_dlrm *dlrm, struct json_out *json, const struct sorted_samples *sorted,
                           row_t i, uint64_t key) {
    json_open(json, '[');
    for (; i < dlrm->by_name.samples.n && sorted->keys[i] == key; i++)
        json_number(json, dlrm->by_name.samples.list[sorted->order[i]].us);
    json_close(json, ']');
    return i;
}

void dlrm_write_overheads_raw(const struct sutra_dlrm *dlrm, struct text_out *out) {
    static const enum sutra_dlrm_overhead_kind of_operators[] = {SUTRA_T2, SUTRA_T3, SUTRA_T5};
    struct json_out json = {.text = out, .indent = 1};
    struct arena arena = {0};
    struct sorted_samples sorted = {0};
    bool ok = sort_samples(&sorted, dlrm, &arena);
    row_t i = 0;
    out->out.failed |= !ok;
    json_open(&json, '{');
    json_add_open(&json, "independent", '{');
    json_key(&json, kinds[SUTRA_T1], 2);
    if (ok)
        i = write_samples(dlrm, &json, &sorted, 0, SUTRA_T1);
    /* T4 by launch, with at most two names. */
    json_key(&json, kinds[SUTRA_T4], 2);
    json_open(&json, '{');
    for (uint64_t row = 0; row < dlrm->report.n_overheads; row++) {
        const struct sutra_dlrm_overhead *overhead = &dlrm->report.overheads[row];
        if (overhead->kind != SUTRA_T4)
            continue;
        json_text_key(&json, dlrm, overhead->name);
        json_open(&json, '[');
        for (uint64_t j = 0; j < dlrm->by_name.samples.n; j++)
            if (dlrm->by_name.samples.list[j].kind == SUTRA_T4 && dlrm->by_name.samples.list[j].name == overhead->name)
                json_number(&json, dlrm->by_name.samples.list[j].us);
        json_close(&json, ']');
    }
    json_close(&json, '}');
    json_close(&json, '}');
    while (ok && i < dlrm->by_name.samples.n && sorted.keys[i] >> 3 == 0)
        i++;
    for (uint64_t name = 1; name < sorted.names.n && ok; name++) {
        json_text_key(&json, dlrm, (uint32_t)sorted.names.list[name].part[0]);
        json_open(&json, '{');
        for (size_t k = 0; k < sizeof of_operators / sizeof *of_operators; k++) {
            json_key(&json, kinds[of_operators[k]], 2);
            i = write_samples(dlrm, &json, &sorted, i, name << 3 | of_operators[k]);
        }
        json_close(&json, '}');
    }
    json_close(&json, '}');
    tuples_free(&sorted.names);
    arena_free(&arena);
}
