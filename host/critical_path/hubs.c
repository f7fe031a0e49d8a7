/*
 * hubs.c - hubs and kernels as they come, then in their order.
 */
#include "critical_path/hubs.h"

#include <math.h>
#include <string.h>

#include "base/bisect.h"

#define STILL_LAST UINT32_MAX /* the end of a range: no kernel has followed on the stream */

void hubs_take(struct hubs *hubs, struct arena *arena, row_t n_hubs, row_t n_sources) {
    hubs->to = arena_take(arena, n_hubs, sizeof *hubs->to);
    hubs->edge = arena_take(arena, n_hubs, sizeof *hubs->edge);
    hubs->n_from = arena_zeros(arena, n_hubs, sizeof *hubs->n_from);
    hubs->device = arena_take(arena, n_hubs, sizeof *hubs->device);
    hubs->limit = arena_take(arena, n_hubs, sizeof *hubs->limit);
    hubs->sources = arena_take(arena, n_sources, sizeof *hubs->sources);
    hubs->n_of_device = arena_zeros(arena, (size_t)n_hubs + n_sources, sizeof *hubs->n_of_device);
}

void hubs_free(struct hubs *hubs) {
    tuples_free(&hubs->devices);
}

bool hubs_add_source(struct hubs *hubs, value_key device, uint32_t stream, uint32_t before) {
    uint32_t number = tuples_number(&hubs->devices, (struct tuple){{device}});
    if (number == TUPLE_NONE)
        return false;
    uint32_t begin = hubs->n_of_device[number];
    if (before != HUB_NONE)
        hubs->sources[before].end = begin;
    hubs->sources[hubs->n_sources++] = (struct hub_source){begin, STILL_LAST, stream, number};
    return true;
}

uint32_t hubs_add(struct hubs *hubs, value_key device, node_t to, uint32_t edge, double limit) {
    uint32_t number = tuples_number(&hubs->devices, (struct tuple){{device}});
    if (number == TUPLE_NONE)
        return HUB_NONE;
    hubs->to[hubs->n] = to;
    hubs->edge[hubs->n] = edge;
    hubs->limit[hubs->n] = limit;
    hubs->device[hubs->n] = number;
    hubs->n_of_device[number]++;
    return hubs->n++;
}

/* place[i] = where hub i goes. Makes first[d] the first hub of device d. */
static void find_places(const struct hubs *hubs, uint32_t *first, uint32_t *next, uint32_t *place) {
    uint32_t n = 0;
    for (uint32_t device = 0; device < hubs->devices.n; device++) {
        first[device] = next[device] = n;
        n += hubs->n_of_device[device];
    }
    for (uint32_t hub = 0; hub < hubs->n; hub++)
        place[hub] = next[hubs->device[hub]]++;
}

static bool move_column(void *column, size_t size, const uint32_t *place, uint32_t n, struct arena *scratch) {
    struct arena_mark mark = arena_mark(scratch);
    char *to = column, *from = arena_take(scratch, n, size);
    if (from) {
        memcpy(from, to, n * size);
        for (uint32_t i = 0; i < n; i++)
            memcpy(to + place[i] * size, from + i * size, size);
    }
    arena_release(scratch, mark);
    return from != NULL;
}

static bool move_hubs(struct hubs *hubs, const uint32_t *place, struct arena *scratch) {
    return move_column(hubs->to, sizeof *hubs->to, place, hubs->n, scratch) &&
           move_column(hubs->edge, sizeof *hubs->edge, place, hubs->n, scratch) &&
           move_column(hubs->limit, sizeof *hubs->limit, place, hubs->n, scratch) &&
           move_column(hubs->device, sizeof *hubs->device, place, hubs->n, scratch);
}

/* Each limit becomes the least of its own and those behind it of its device. */
static void lower_limits(struct hubs *hubs) {
    for (uint32_t hub = hubs->n; hub-- > 1;)
        if (hubs->device[hub - 1] == hubs->device[hub])
            hubs->limit[hub - 1] = fmin(hubs->limit[hub - 1], hubs->limit[hub]);
}

static void settle_source(const struct hubs *hubs, struct hub_source *source, uint32_t first, const double *end) {
    source->end = first + (source->end == STILL_LAST ? hubs->n_of_device[source->device] : source->end);
    source->begin += first;
    struct bisection at = {source->begin, source->end};
    while (end && at.low < at.high)
        bisect(&at, hubs->limit[bisect_middle(at)] < *end);
    source->begin = at.low;
}

/* Counts by where ranges begin and end. */
static void count_sources(struct hubs *hubs) {
    for (uint32_t i = 0; i < hubs->n_sources; i++) {
        struct hub_source source = hubs->sources[i];
        if (source.begin < hubs->n)
            hubs->n_from[source.begin]++;
        if (source.end < hubs->n)
            hubs->n_from[source.end]--;
    }
    for (uint32_t hub = 1; hub < hubs->n; hub++)
        hubs->n_from[hub] += hubs->n_from[hub - 1];
}

bool hubs_settle(struct hubs *hubs, const double *ends, struct arena *scratch) {
    struct arena_mark mark = arena_mark(scratch);
    uint32_t *first = arena_take(scratch, hubs->devices.n, sizeof *first);
    uint32_t *next = arena_take(scratch, hubs->devices.n, sizeof *next);
    uint32_t *place = arena_take(scratch, hubs->n, sizeof *place);
    bool ok = !scratch->failed;
    if (ok) {
        find_places(hubs, first, next, place);
        ok = move_hubs(hubs, place, scratch);
    }
    if (ok) {
        lower_limits(hubs);
        for (uint32_t i = 0; i < hubs->n_sources; i++)
            settle_source(hubs, &hubs->sources[i], first[hubs->sources[i].device], ends ? &ends[i] : NULL);
        count_sources(hubs);
    }
    arena_release(scratch, mark);
    return ok;
}
