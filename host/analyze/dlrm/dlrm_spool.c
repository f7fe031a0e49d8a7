/*
 * dlrm_spool.c - the samples of a rank's overheads as bytes, for another process that joins those of all ranks. O(n).
 */
#include "analyze/dlrm/dlrm_raw.h"

void dlrm_raw_put(const struct dlrm_raw *raw, struct buffer *out) {
    spool_put(out, raw->has_fractions);
    spool_put_strings(out, &raw->texts);
    spool_put_rows(out, raw->groups, raw->n_groups, sizeof *raw->groups);
    spool_put_rows(out, raw->us, raw->n, sizeof *raw->us);
    spool_put_rows(out, raw->launches.lists, raw->launches.n_lists, sizeof *raw->launches.lists);
    spool_put_rows(out, raw->launches.names, raw->launches.n_names, sizeof *raw->launches.names);
}

/* Rows as they were put, in the arena. */
static void *take_rows(struct spool_reader *reader, struct arena *arena, uint64_t *n, size_t size) {
    char *taken = spool_take_rows(reader, n, size), *rows = arena_take(arena, *n, size);
    if (taken && rows && *n)
        memcpy(rows, taken, *n * size);
    arena->failed |= !taken && !reader->failed;
    free(taken);
    return rows;
}

static bool groups_are_sound(const struct dlrm_raw *raw) {
    uint64_t left = raw->n;
    for (uint64_t i = 0; i < raw->n_groups; i++) {
        const struct dlrm_raw_group *group = &raw->groups[i];
        if ((unsigned)group->kind >= SUTRA_N_OVERHEADS || group->name >= raw->texts.n ||
            group->shapes >= raw->texts.n || group->n > left)
            return false;
        left -= group->n;
    }
    return true;
}

static bool launches_are_sound(const struct dlrm_raw *raw) {
    const struct dlrm_launches *launches = &raw->launches;
    for (uint64_t i = 0; i < launches->n_lists; i++) {
        const struct dlrm_launch_list *list = &launches->lists[i];
        if (list->name >= raw->texts.n || list->first > launches->n_names || list->n > launches->n_names - list->first)
            return false;
    }
    for (uint64_t i = 0; i < launches->n_names; i++)
        if (launches->names[i] >= raw->texts.n)
            return false;
    return true;
}

bool dlrm_raw_restore(struct dlrm_raw *raw, struct spool_reader *reader) {
    struct arena *arena = &raw->arena;
    raw->has_fractions = spool_take_bool(reader);
    if (!strings_init(&raw->texts) || !spool_take_strings(reader, &raw->texts))
        return false;
    raw->groups = take_rows(reader, arena, &raw->n_groups, sizeof *raw->groups);
    raw->us = take_rows(reader, arena, &raw->n, sizeof *raw->us);
    raw->launches.lists = take_rows(reader, arena, &raw->launches.n_lists, sizeof *raw->launches.lists);
    raw->launches.names = take_rows(reader, arena, &raw->launches.n_names, sizeof *raw->launches.names);
    if (arena->failed)
        return false;
    reader->failed |= !groups_are_sound(raw) || !launches_are_sound(raw);
    return true;
}
