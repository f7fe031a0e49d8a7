/*
 * event_lists.c - which events of a trace are of the host, of the device, and arrows: told in one walk over their
 * categories. What a category is is found once. O(events).
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

/* Without branches: neighbours are seldom of one list. */
static void list_events(const struct device_events *events, const uint8_t *lists_of, struct event_lists *lists) {
    for (row_t event = 0; event < events->n; event++) {
        uint32_t category = events->category[event];
        unsigned of = category == STRING_NONE ? 0 : lists_of[category];
        bool ends = events->flags[event] & EVENT_HAS_DUR;
        lists->n_endless += !ends && of & (OF_HOST | OF_DEVICE);
        of &= ends ? ~0U : OF_ARROWS;
        lists->host[lists->n_host] = lists->call[lists->n_calls] = event;
        lists->device[lists->n_device] = lists->arrow[lists->n_arrows] = event;
        lists->n_host += (of & OF_HOST) != 0;
        lists->n_calls += (of & OF_CALLS) != 0;
        lists->n_device += (of & OF_DEVICE) != 0;
        lists->n_arrows += (of & OF_ARROWS) != 0;
    }
}

enum sutra_status event_lists_make(const struct op_reading *reading, struct arena *arena, struct event_lists *lists,
                                   struct sutra_error *error) {
    uint32_t n_strings = reading->strings->n;
    row_t n = reading->events->n;
    uint8_t *lists_of = arena_take(arena, n_strings, sizeof *lists_of);
    *lists = (struct event_lists){.host = arena_take(arena, n, sizeof(row_t)),
                                  .call = arena_take(arena, n, sizeof(row_t)),
                                  .device = arena_take(arena, n, sizeof(row_t)),
                                  .arrow = arena_take(arena, n, sizeof(row_t)),
                                  .kind_of = arena_take(arena, n_strings, sizeof(uint8_t))};
    enum sutra_status status = arena_status(arena, error);
    for (uint32_t string = 0; string < n_strings && !status; string++) {
        uint32_t roles = reading->roles[string].category;
        lists->kind_of[string] = kind_of_roles(roles, reading->rules);
        lists_of[string] = lists_of_roles(roles, reading->rules);
    }
    if (!status)
        list_events(reading->events, lists_of, lists);
    return status;
}
