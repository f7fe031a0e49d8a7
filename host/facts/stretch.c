/*
 * stretch.c - steps by their numbers, and the borders in time.
 */
#include "facts/stretch.h"

#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "facts/names.h"
#include "text/decimal_ns.h"
#include "text/number_text.h"

/* Whether a number stands between two, "3-5"; one alone is compared as text. */
static bool is_among(const char *number, const char *steps) {
    int64_t n, first, last;
    const char *dash = strchr(steps, '-');
    if (!dash || !integer_parse(steps, (size_t)(dash - steps), &first) ||
        !integer_parse(dash + 1, strlen(dash + 1), &last))
        return strcmp(number, steps) == 0;
    return integer_parse(number, strlen(number), &n) && first <= n && n <= last;
}

bool stretch_is_step(struct time_stretch *stretch, const struct strings *strings, uint32_t name,
                     const struct stretch_wish *wish) {
    const char *found = strstr(strings_text(strings, name), STEP_NAME "#");
    const char *number = found ? found + strlen(STEP_NAME "#") : NULL;
    int64_t n;
    if (!number || is_among(number, wish->steps))
        return number != NULL;
    if (integer_parse(number, strlen(number), &n)) {
        stretch->n_steps++;
        stretch->first_step = n < stretch->first_step ? n : stretch->first_step;
        stretch->last_step = n > stretch->last_step ? n : stretch->last_step;
    }
    return false;
}

void stretch_add_step(struct time_stretch *stretch, int64_t start, int64_t stop) {
    stretch->from = !stretch->found || start < stretch->from ? start : stretch->from;
    stretch->to = !stretch->found || stop > stretch->to ? stop : stretch->to;
    stretch->found = true;
}

static enum sutra_status no_step(const struct time_stretch *stretch, const struct stretch_wish *wish,
                                 struct sutra_error *error) {
    if (stretch->n_steps == 0)
        return error_set(error, SUTRA_DATA, "no annotation " STEP_NAME "#%.100s: the trace has no steps", wish->steps);
    return error_set(error, SUTRA_DATA,
                     "no annotation " STEP_NAME "#%.100s: the trace has steps %" PRId64 " to %" PRId64, wish->steps,
                     stretch->first_step, stretch->last_step);
}

enum sutra_status stretch_settle(struct time_stretch *stretch, const struct stretch_wish *wish, int64_t first,
                                 struct sutra_error *error) {
    if (wish->steps && !stretch->found)
        return no_step(stretch, wish, error);
    int64_t from = first + (int64_t)wish->from_us * NS_PER_US, to = first + (int64_t)wish->to_us * NS_PER_US;
    if (wish->from_us > 0 && from > stretch->from)
        stretch->from = from;
    if (wish->to_us > 0 && to < stretch->to)
        stretch->to = to;
    return SUTRA_OK;
}
