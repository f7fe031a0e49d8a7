/*
 * dlrm_shared.c - the overheads of several traces together: samples of one kind and operator, whatever their shapes,
 * are one list, in the order of the traces; of the launches of an operator the longest list counts, the first of equal
 * ones. Steps of optimizers have no list: the original's model handles them apart. O(samples).
 */
#include "analyze/dlrm/dlrm_shared.h"

#include "analyze/dlrm/dlrm_overheads.h"
#include "base/error.h"
#include "write/json_out.h"

/* What stands for the shapes in a file whose form knows shapes. */
#define NO_SHAPES "(((-1,),), ((-1,),))"

struct sharing {
    struct dlrm_shared *shared;
    const struct dlrm_raw_part *parts;
    size_t n_parts;
    struct tuples rows; /* (kind, name) */
    struct arena scratch;
    uint32_t *row;  /* of each group of each part, one part's behind the other's */
    double *us;     /* by row */
    uint64_t *next; /* per row: where its next sample goes */
};

static uint32_t share_text(struct dlrm_shared *shared, const struct dlrm_raw *raw, uint32_t text) {
    return strings_intern(&shared->texts, strings_text(&raw->texts, text), strings_length(&raw->texts, text));
}

static bool number_rows(struct sharing *sharing) {
    uint64_t n_groups = 0, at = 0;
    for (size_t i = 0; i < sharing->n_parts; i++)
        n_groups += sharing->parts[i].raw->n_groups;
    sharing->row = arena_take(&sharing->scratch, n_groups, sizeof *sharing->row);
    bool ok = sharing->row != NULL;
    for (size_t i = 0; i < sharing->n_parts && ok; i++) {
        const struct dlrm_raw *raw = sharing->parts[i].raw;
        for (uint64_t group = 0; group < raw->n_groups && ok; group++) {
            uint32_t name = share_text(sharing->shared, raw, raw->groups[group].name);
            uint32_t row = tuples_number(&sharing->rows, (struct tuple){{raw->groups[group].kind, name}});
            ok = name != STRING_NONE && row != TUPLE_NONE;
            sharing->row[at++] = row;
        }
    }
    return ok;
}

/* Counts the samples of each row, and puts them together. */
static bool gather(struct sharing *sharing) {
    struct dlrm_shared *shared = sharing->shared;
    uint64_t n = 0, at = 0;
    shared->list = arena_zeros(&shared->arena, sharing->rows.n, sizeof *shared->list);
    sharing->next = arena_take(&sharing->scratch, sharing->rows.n, sizeof *sharing->next);
    if (!shared->list || !sharing->next)
        return false;
    for (size_t i = 0; i < sharing->n_parts; i++)
        for (uint64_t group = 0; group < sharing->parts[i].raw->n_groups; group++)
            shared->list[sharing->row[at++]].n += sharing->parts[i].raw->groups[group].n;
    for (uint32_t row = 0; row < sharing->rows.n; n += shared->list[row++].n)
        sharing->next[row] = n;
    sharing->us = arena_take(&sharing->scratch, n, sizeof *sharing->us);
    at = 0;
    for (size_t i = 0; i < sharing->n_parts && sharing->us; i++) {
        const struct dlrm_raw *raw = sharing->parts[i].raw;
        const double *us = raw->us;
        for (uint64_t group = 0; group < raw->n_groups; us += raw->groups[group++].n) {
            uint64_t *next = &sharing->next[sharing->row[at++]];
            memcpy(sharing->us + *next, us, raw->groups[group].n * sizeof *us);
            *next += raw->groups[group].n;
        }
    }
    return sharing->us != NULL;
}

static void measure(struct sharing *sharing) {
    struct dlrm_shared *shared = sharing->shared;
    double *us = sharing->us;
    for (; shared->n < sharing->rows.n; shared->n++) {
        const value_key *key = sharing->rows.list[shared->n].part;
        struct sutra_dlrm_overhead *row = &shared->list[shared->n];
        row->kind = (enum sutra_dlrm_overhead_kind)key[0];
        row->name = row->kind == SUTRA_T1 ? SUTRA_DLRM_NONE : (uint32_t)key[1];
        row->shapes = SUTRA_DLRM_NONE;
        dlrm_mean_of(us, row->n, &row->mean_us, &row->std_us);
        us += row->n;
    }
}

/* ---- Launches ---- */

/* The longest list so far, of the trace with this number. */
struct longest_launches {
    size_t part;
    const struct dlrm_launch_list *list;
};

static bool copy_launches(struct dlrm_shared *shared, const struct dlrm_raw *raw, const struct dlrm_launch_list *from,
                          uint32_t name) {
    struct dlrm_launches *launches = &shared->launches;
    struct dlrm_launch_list list = {.name = name, .first = launches->n_names, .n = from->n};
    bool ok = arena_grow(&shared->arena, &launches->lists, launches->n_lists, &launches->lists_capacity,
                         sizeof *launches->lists);
    for (uint64_t i = 0; i < from->n && ok; i++) {
        uint32_t launch = share_text(shared, raw, raw->launches.names[from->first + i]);
        ok = launch != STRING_NONE && arena_grow(&shared->arena, &launches->names, launches->n_names,
                                                 &launches->names_capacity, sizeof *launches->names);
        if (ok)
            launches->names[launches->n_names++] = launch;
    }
    if (ok)
        launches->lists[launches->n_lists++] = list;
    return ok;
}

static bool find_longest(struct sharing *sharing, struct tuples *names, struct longest_launches **longest) {
    uint64_t capacity = 0;
    for (size_t i = 0; i < sharing->n_parts; i++) {
        const struct dlrm_launches *launches = &sharing->parts[i].raw->launches;
        for (uint64_t j = 0; j < launches->n_lists; j++) {
            uint32_t name = share_text(sharing->shared, sharing->parts[i].raw, launches->lists[j].name);
            if (name == STRING_NONE)
                return false;
            if (strstr(strings_text(&sharing->shared->texts, name), "Optimizer"))
                continue;
            uint32_t n = names->n, number = tuples_number(names, (struct tuple){{name}});
            if (number == TUPLE_NONE || !arena_grow(&sharing->scratch, longest, number, &capacity, sizeof **longest))
                return false;
            if (number == n || launches->lists[j].n > (*longest)[number].list->n)
                (*longest)[number] = (struct longest_launches){i, &launches->lists[j]};
        }
    }
    return true;
}

static bool share_launches(struct sharing *sharing) {
    struct tuples names = {0};
    struct longest_launches *longest = NULL;
    bool ok = find_longest(sharing, &names, &longest);
    for (uint32_t i = 0; i < names.n && ok; i++)
        ok = copy_launches(sharing->shared, sharing->parts[longest[i].part].raw, longest[i].list,
                           (uint32_t)names.list[i].part[0]);
    tuples_free(&names);
    return ok;
}

enum sutra_status dlrm_shared_make(struct dlrm_shared *shared, const struct dlrm_raw_part *parts, size_t n,
                                   struct sutra_error *error) {
    struct sharing sharing = {.shared = shared, .parts = parts, .n_parts = n};
    *shared = (struct dlrm_shared){0};
    bool ok = strings_init(&shared->texts) && number_rows(&sharing) && gather(&sharing);
    if (ok)
        measure(&sharing);
    ok = ok && share_launches(&sharing);
    tuples_free(&sharing.rows);
    arena_free(&sharing.scratch);
    return ok ? SUTRA_OK : error_memory(error);
}

void dlrm_shared_free(struct dlrm_shared *shared) {
    strings_free(&shared->texts);
    arena_free(&shared->arena);
}

/* ---- The file ---- */

static void add_text(struct json_out *json, const struct strings *texts, uint32_t text, bool key) {
    (key ? json_key : json_string)(json, strings_text(texts, text), strings_length(texts, text));
}

static void add_row(const struct dlrm_shared *shared, struct json_out *json, const struct sutra_dlrm_overhead *row) {
    bool of_operator = row->kind != SUTRA_T1 && row->kind != SUTRA_T4;
    if (row->kind != SUTRA_T1)
        add_text(json, &shared->texts, row->name, true);
    if (of_operator) {
        json_open(json, '{');
        json_name(json, NO_SHAPES);
    }
    json_open(json, '[');
    json_double(json, row->mean_us);
    json_double(json, row->std_us);
    json_integer(json, (int64_t)row->n);
    json_close(json, ']');
    if (of_operator)
        json_close(json, '}');
}

static void add_kind(const struct dlrm_shared *shared, struct json_out *json, int kind) {
    const char name[] = {'t', (char)('1' + kind)};
    json_key(json, name, sizeof name);
    if (kind != SUTRA_T1)
        json_open(json, '{');
    for (uint64_t i = 0; i < shared->n; i++)
        if ((int)shared->list[i].kind == kind)
            add_row(shared, json, &shared->list[i]);
    if (kind != SUTRA_T1)
        json_close(json, '}');
}

static void add_launches(const struct dlrm_shared *shared, struct json_out *json) {
    json_name(json, "launches");
    json_open(json, '{');
    for (uint64_t i = 0; i < shared->launches.n_lists; i++) {
        const struct dlrm_launch_list *list = &shared->launches.lists[i];
        add_text(json, &shared->texts, list->name, true);
        json_open(json, '[');
        for (uint64_t j = 0; j < list->n; j++)
            add_text(json, &shared->texts, shared->launches.names[list->first + j], false);
        json_close(json, ']');
    }
    json_close(json, '}');
}

bool dlrm_shared_write(const void *of, struct text_out *out) {
    struct json_out json = {.text = out, .indent = 1};
    json_open(&json, '{');
    for (int kind = 0; kind < SUTRA_N_OVERHEADS; kind++)
        add_kind(of, &json, kind);
    add_launches(of, &json);
    json_close(&json, '}');
    return true;
}
