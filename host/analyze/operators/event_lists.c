/*
 * event_lists.c - which events of a trace are of the host, of the device, and arrows: told in two walks over their
 * categories, one for each side, which may go beside each other. What a category is is found once. O(events).
 */
#include "analyze/operators/reading.h"

/* Of which lists the events of a category are; all but arrows need a duration. */
enum { OF_HOST = 1, OF_CALLS = 2, OF_DEVICE = 4, OF_ARROWS = 8 };

static uint8_t kind_of_roles(uint32_t roles, unsigned rules) {
    if (roles & CATEGORY_CPU_OP)
        return HOST_OPERATOR;
    if (roles & CATEGORY_CALL)
        return HOST_CALL;
    if (roles & CATEGORY_PYTHON && !(rules & READING_NO_FRAMES))
        return HOST_FRAME;
    return roles & CATEGORY_ANNOTATION && !(rules & READING_REFERENCE) ? HOST_ANNOTATION : HOST_NONE;
}

static uint8_t lists_of_roles(uint32_t roles, unsigned rules) {
    uint32_t wanted = rules & READING_REFERENCE ? CATEGORY_WORK | CATEGORY_SYNC : CATEGORY_WORK;
    uint8_t kind = kind_of_roles(roles, rules);
    return (uint8_t)((kind != HOST_NONE ? OF_HOST : 0) | (kind == HOST_CALL ? OF_CALLS : 0) |
                     (roles & wanted ? OF_DEVICE : 0) | (roles & CATEGORY_LAUNCH_FLOW ? OF_ARROWS : 0));
}

/* What the lists are told by, of one event: without branches, as neighbours are seldom of one list. */
static unsigned lists_of_event(const struct device_events *events, const uint8_t *lists_of, row_t event,
                               row_t *n_endless, unsigned ours) {
    uint32_t category = events->category[event];
    unsigned of = category == STRING_NONE ? 0 : lists_of[category] & ours;
    bool ends = events->flags[event] & EVENT_HAS_DUR;
    *n_endless += !ends && of & (OF_HOST | OF_DEVICE);
    return of & (ends ? ~0U : OF_ARROWS);
}

void event_lists_host(const struct op_reading *reading, struct event_lists *lists) {
    row_t n = 0, n_endless = 0;
    for (row_t event = 0; event < reading->events->n; event++) {
        lists->host[n] = event;
        n += lists_of_event(reading->events, lists->lists_of, event, &n_endless, OF_HOST) != 0;
    }
    lists->n_host = n;
    lists->n_host_endless = n_endless;
}

void event_lists_device(const struct op_reading *reading, struct event_lists *lists) {
    row_t n_calls = 0, n_device = 0, n_arrows = 0, n_endless = 0;
    for (row_t event = 0; event < reading->events->n; event++) {
        lists->call[n_calls] = lists->device[n_device] = lists->arrow[n_arrows] = event;
        unsigned of = lists_of_event(reading->events, lists->lists_of, event, &n_endless, ~(unsigned)OF_HOST);
        n_calls += (of & OF_CALLS) != 0;
        n_device += (of & OF_DEVICE) != 0;
        n_arrows += (of & OF_ARROWS) != 0;
    }
    lists->n_calls = n_calls;
    lists->n_device = n_device;
    lists->n_arrows = n_arrows;
    lists->n_device_endless = n_endless;
}

enum sutra_status event_lists_take(const struct op_reading *reading, struct arena *arena, struct event_lists *lists,
                                   struct sutra_error *error) {
    uint32_t n_strings = reading->strings->n;
    row_t n = reading->events->n;
    *lists = (struct event_lists){.host = arena_take(arena, n, sizeof(row_t)),
                                  .call = arena_take(arena, n, sizeof(row_t)),
                                  .device = arena_take(arena, n, sizeof(row_t)),
                                  .arrow = arena_take(arena, n, sizeof(row_t)),
                                  .kind_of = arena_take(arena, n_strings, sizeof(uint8_t)),
                                  .lists_of = arena_take(arena, n_strings, sizeof(uint8_t))};
    enum sutra_status status = arena_status(arena, error);
    for (uint32_t string = 0; string < n_strings && !status; string++) {
        uint32_t roles = reading->roles[string].category;
        lists->kind_of[string] = kind_of_roles(roles, reading->rules);
        lists->lists_of[string] = lists_of_roles(roles, reading->rules);
    }
    return status;
}
