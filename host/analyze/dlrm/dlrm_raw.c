/*
 * dlrm_raw.c - from the rows of the overheads by shape, and the samples that count, to groups in the order of the
 * original's table, with texts of their own.
 *
 * Rows of operators stand in the order of their first calls, and below that of their shapes; T2, T3 and T5 of one shape
 * follow each other. So sorting the rows stably by the number of the operator's name is all there is to do.
 * O(samples + rows log rows).
 */
#include "analyze/dlrm/dlrm_raw.h"

#include "analyze/dlrm/dlrm_overheads.h"
#include "analyze/shape_text.h"
#include "base/error.h"
#include "write/csv_text.h"

#define NO_SHAPE "((-1,),)" /* of what belongs to no operator */

struct raw_taking {
    const struct sutra_dlrm *dlrm;
    struct dlrm_raw *raw;
    struct tuples names;
    uint64_t *keys, *first; /* per row: its place in the order, where its samples begin */
    row_t *order;
    struct arena scratch;
    struct buffer shapes;
};

static uint32_t own_text(struct raw_taking *taking, uint32_t text) {
    const struct strings *texts = &taking->dlrm->texts;
    return text == SUTRA_DLRM_NONE
               ? strings_intern(&taking->raw->texts, "", 0)
               : strings_intern(&taking->raw->texts, strings_text(texts, text), strings_length(texts, text));
}

static uint32_t own_shapes(struct raw_taking *taking, uint32_t text) {
    struct buffer *shapes = &taking->shapes;
    if (text == SUTRA_DLRM_NONE)
        return strings_intern(&taking->raw->texts, NO_SHAPE, sizeof NO_SHAPE - 1);
    shapes->length = 0;
    shape_append_tuple(shapes, strings_text(&taking->dlrm->texts, text));
    return shapes->failed ? STRING_NONE : strings_intern(&taking->raw->texts, shapes->bytes, shapes->length);
}

/* T1 before T4 before the operators. */
static uint64_t key_of(const struct raw_taking *taking, const struct sutra_dlrm_overhead *row) {
    if (row->kind == SUTRA_T1 || row->kind == SUTRA_T4)
        return row->kind == SUTRA_T4;
    return 1 + (uint64_t)tuples_find(&taking->names, (struct tuple){{row->name}});
}

static enum sutra_status sort_rows(struct raw_taking *taking, struct sutra_error *error) {
    const struct sutra_dlrm *dlrm = taking->dlrm;
    const struct engine *engine = &dlrm->context->engine;
    row_t n = (row_t)dlrm->by_shape.n; /* no more than three for each sample's operator */
    uint64_t first = 0;
    taking->keys = arena_take(&taking->scratch, n, sizeof *taking->keys);
    taking->first = arena_take(&taking->scratch, n, sizeof *taking->first);
    taking->order = arena_take(&taking->scratch, n, sizeof *taking->order);
    if (taking->scratch.failed || !dlrm_number_operators(&dlrm->tree.ops, &taking->names))
        return error_memory(error);
    for (row_t i = 0; i < n; i++) {
        taking->order[i] = i;
        taking->keys[i] = key_of(taking, &dlrm->by_shape.list[i]);
        taking->first[i] = first;
        first += dlrm->by_shape.list[i].n;
    }
    taking->raw->n = first;
    return engine->sort_keys(engine->state, &(struct sort_keys_step){taking->keys, taking->order, n}, error);
}

static bool take_groups(struct raw_taking *taking) {
    const struct sutra_dlrm *dlrm = taking->dlrm;
    struct dlrm_raw *raw = taking->raw;
    uint64_t n = dlrm->by_shape.n, n_taken = 0;
    raw->groups = arena_take(&raw->arena, n, sizeof *raw->groups);
    raw->us = arena_take(&raw->arena, raw->n, sizeof *raw->us);
    bool ok = raw->groups && raw->us;
    for (uint64_t i = 0; i < n && ok; i++) {
        const struct sutra_dlrm_overhead *row = &dlrm->by_shape.list[taking->order[i]];
        uint32_t name = own_text(taking, row->name), shapes = own_shapes(taking, row->shapes);
        ok = name != STRING_NONE && shapes != STRING_NONE;
        raw->groups[raw->n_groups++] = (struct dlrm_raw_group){row->kind, name, shapes, row->n};
        memcpy(raw->us + n_taken, dlrm->by_shape.kept + taking->first[taking->order[i]], row->n * sizeof *raw->us);
        n_taken += row->n;
    }
    return ok;
}

static bool take_launches(struct raw_taking *taking) {
    const struct dlrm_launches *from = &taking->dlrm->by_shape.launches;
    struct dlrm_launches *to = &taking->raw->launches;
    to->lists = arena_take(&taking->raw->arena, from->n_lists, sizeof *to->lists);
    to->names = arena_take(&taking->raw->arena, from->n_names, sizeof *to->names);
    bool ok = to->lists && to->names;
    for (; ok && to->n_lists < from->n_lists; to->n_lists++) {
        to->lists[to->n_lists] = from->lists[to->n_lists];
        to->lists[to->n_lists].name = own_text(taking, from->lists[to->n_lists].name);
        ok = to->lists[to->n_lists].name != STRING_NONE;
    }
    for (; ok && to->n_names < from->n_names; to->n_names++) {
        to->names[to->n_names] = own_text(taking, from->names[to->n_names]);
        ok = to->names[to->n_names] != STRING_NONE;
    }
    return ok;
}

enum sutra_status dlrm_raw_take(const struct sutra_dlrm *dlrm, struct dlrm_raw *raw, struct sutra_error *error) {
    struct raw_taking taking = {.dlrm = dlrm, .raw = raw};
    *raw = (struct dlrm_raw){.has_fractions = dlrm->by_shape.has_fractions};
    enum sutra_status status = strings_init(&raw->texts) ? sort_rows(&taking, error) : error_memory(error);
    if (!status && !(take_groups(&taking) && take_launches(&taking)))
        status = error_memory(error);
    arena_free(&taking.scratch);
    tuples_free(&taking.names);
    buffer_free(&taking.shapes);
    return status;
}

void dlrm_raw_free(struct dlrm_raw *raw) {
    strings_free(&raw->texts);
    arena_free(&raw->arena);
}

/* ---- The table ---- */

/* What the rows of a group have in common: all but the time. */
static void add_group(const struct dlrm_raw_part *part, const struct dlrm_raw_group *group, struct text_out *out) {
    static const char *const kinds[SUTRA_N_OVERHEADS] = {",t1,", ",t2,", ",t3,", ",t4,", ",t5,"};
    const struct strings *texts = &part->raw->texts;
    csv_text(out, part->model, part->model_length);
    out_add(out, ",");
    out_integer(out, (int64_t)part->batch);
    out_add(out, ",");
    csv_text(out, strings_text(texts, group->name), strings_length(texts, group->name));
    out_add(out, ",");
    csv_text(out, strings_text(texts, group->shapes), strings_length(texts, group->shapes));
    out_add(out, kinds[group->kind]);
}

static void add_part(const struct dlrm_raw_part *part, bool real, struct text_out *out) {
    const double *us = part->raw->us;
    struct text_out same = {0};
    for (uint64_t i = 0; i < part->raw->n_groups; us += part->raw->groups[i++].n) {
        same.out.length = 0;
        add_group(part, &part->raw->groups[i], &same);
        out->out.failed |= same.out.failed;
        for (uint64_t j = 0; j < part->raw->groups[i].n; j++) {
            buffer_append(&out->out, same.out.bytes, same.out.length);
            if (real)
                out_number(out, us[j]);
            else
                out_integer(out, (int64_t)us[j]);
            out_add(out, "\n");
            out_step(out);
        }
    }
    buffer_free(&same.out);
}

bool dlrm_raw_write(const void *of, struct text_out *out) {
    const struct dlrm_raw_table *table = of;
    bool real = false;
    for (size_t i = 0; i < table->n; i++)
        real |= table->parts[i].raw->has_fractions;
    out_add(out, "model_name,batch_size,op_name,shapes,type,time\n");
    for (size_t i = 0; i < table->n; i++)
        add_part(&table->parts[i], real, out);
    return true;
}
