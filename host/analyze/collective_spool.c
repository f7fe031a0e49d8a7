/*
 * collective_spool.c - collectives of a rank as bytes, for another process that joins those of all ranks. O(n).
 */
#include "analyze/collective_calls.h"

#include <stdlib.h>
#include <string.h>

#include "columns/column.h"

void collective_calls_put(const struct collective_calls *calls, struct buffer *out) {
    spool_put_strings(out, &calls->strings);
    spool_put_rows(out, calls->groups, calls->n_groups, sizeof *calls->groups);
    spool_put_rows(out, calls->list, calls->n, sizeof *calls->list);
    spool_put(out, calls->n_untold);
    spool_put(out, calls->keep_untold);
}

/* Groups get the numbers that they had. */
static bool restore_groups(struct collective_calls *calls, struct spool_reader *reader) {
    const struct strings *strings = &calls->strings;
    uint64_t n;
    struct collective_group *groups = spool_take_rows(reader, &n, sizeof *groups);
    bool done = groups || reader->failed;
    for (uint64_t i = 0; i < n && done && !reader->failed; i++) {
        const struct collective_group *group = &groups[i];
        reader->failed |= group->name >= strings->n || group->members >= strings->n;
        if (reader->failed)
            break;
        uint32_t number = collective_group_take(
            calls, strings_text(strings, group->name), strings_length(strings, group->name),
            strings_text(strings, group->members), strings_length(strings, group->members), group->size);
        done = number != UINT32_MAX;
        reader->failed |= done && number != i;
    }
    free(groups);
    return done;
}

/* Whether a byte that is to be a bool is one. */
static bool is_bool(const void *at) {
    return *(const unsigned char *)at <= 1;
}

static bool is_sound(const struct collective_calls *calls, const struct collective_call *call, int64_t rank) {
    uint32_t n = calls->strings.n;
    return call->rank == rank && moments_are_sound(call->start_ns, call->end_ns) && is_bool(&call->is_message) &&
           is_bool(&call->is_send) && call->group < calls->n_groups && call->what < n && call->type < n &&
           call->in_split <= n && call->out_split <= n;
}

bool collective_calls_restore(struct collective_calls *calls, int64_t rank, struct spool_reader *reader) {
    bool done = spool_take_strings(reader, &calls->strings) && restore_groups(calls, reader);
    if (!done || reader->failed)
        return done;
    calls->list = spool_take_rows(reader, &calls->n, sizeof *calls->list);
    calls->capacity = calls->n;
    for (uint64_t i = 0; i < calls->n && !reader->failed; i++)
        reader->failed |= calls->n >= ROW_LIMIT || !is_sound(calls, &calls->list[i], rank);
    if (reader->failed)
        calls->n = 0;
    spool_take(reader, calls->n_untold);
    calls->keep_untold = spool_take_bool(reader);
    return calls->list || reader->failed;
}
