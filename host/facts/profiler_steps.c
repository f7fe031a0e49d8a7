/*
 * profiler_steps.c - implements profiler_steps.h.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shared.h"
#include "facts/profiler_steps.h"
#include "text/numbers.h"

#define NUMBER_DIGITS 18 /* at most, for STEPS_MEMORY */

const char *profiler_step_number(const char *name, size_t length, enum step_rules rules) {
    static const char space[] = " \t\n\r\f\v";
    const char *step = rules == STEPS_SELECTION ? strstr(name, STEP_NAME "#") : name;
    if (!step || length < strlen(STEP_NAME) || memcmp(step, STEP_NAME, strlen(STEP_NAME)) != 0)
        return NULL;
    step += strlen(STEP_NAME);
    if (rules == STEPS_RATES)
        return step;
    step += rules == STEPS_HTA ? strspn(step, space) : 0;
    if (*step++ != '#')
        return NULL;
    step += rules == STEPS_HTA ? strspn(step, space) : 0;
    if (rules == STEPS_MEMORY) {
        size_t n = strspn(step, "0123456789");
        return n && n <= NUMBER_DIGITS && !step[n] ? step : NULL;
    }
    return rules == STEPS_SELECTION || (*step >= '0' && *step <= '9') ? step : NULL;
}

bool profiler_step_is_selected(const char *number, const char *steps) {
    int64_t n, first, last;
    const char *dash = strchr(steps, '-');
    if (!dash || !integer_parse(steps, (size_t)(dash - steps), &first) ||
        !integer_parse(dash + 1, strlen(dash + 1), &last))
        return strcmp(number, steps) == 0;
    return integer_parse(number, strlen(number), &n) && first <= n && n <= last;
}

void profiler_steps_mark(const struct strings *strings, struct string_roles *roles, const char *steps, uint32_t role) {
    for (uint32_t string = 0; string < strings->n; string++) {
        const char *number =
            profiler_step_number(strings_text(strings, string), strings_length(strings, string), STEPS_SELECTION);
        if (number && profiler_step_is_selected(number, steps))
            roles[string].name |= role;
    }
}

void profiler_steps_explain(const struct strings *strings, const char *steps, char *text, size_t size) {
    int64_t n, first = INT64_MAX, last = INT64_MIN;
    for (uint32_t string = 0; string < strings->n; string++) {
        const char *number =
            profiler_step_number(strings_text(strings, string), strings_length(strings, string), STEPS_SELECTION);
        if (!number || !integer_parse(number, strlen(number), &n))
            continue;
        first = MIN(n, first);
        last = MAX(n, last);
    }
    if (first > last)
        snprintf(text, size, "no annotation " STEP_NAME "#%.100s: the trace has no steps", steps);
    else
        snprintf(text, size, "no annotation " STEP_NAME "#%.100s: the trace has steps %" PRId64 " to %" PRId64, steps,
                 first, last);
}

struct found_step {
    int64_t start;
    row_t row;
};

ORDER_BY(compare_found, struct found_step, ASCENDING(start) ASCENDING(row))

bool profiler_steps_find(const struct step_rows *rows, enum step_rules rules, struct arena *arena,
                         struct profiler_steps *steps) {
    const struct strings *strings = rows->strings;
    row_t n = 0, n_found = 0;
    *steps = (struct profiler_steps){0};
    uint8_t *is_step = arena_alloc(arena, strings->n, 1); /* by string */
    if (!is_step)
        return false;
    for (uint32_t string = 0; string < strings->n; string++)
        is_step[string] =
            profiler_step_number(strings_text(strings, string), strings_length(strings, string), rules) != NULL;
    for (row_t row = 0; row < rows->n; row++)
        n += rows->kinds >> rows->kind[row] & 1 && is_step[rows->events->name[rows->event[row]]];
    steps->row = arena_alloc(arena, n, sizeof *steps->row);
    steps->number = arena_alloc(arena, n, sizeof *steps->number);
    struct found_step *found = arena_alloc(arena, n, sizeof *found);
    if (arena->failed)
        return false;
    for (row_t row = 0; row < rows->n; row++)
        if (rows->kinds >> rows->kind[row] & 1 && is_step[rows->events->name[rows->event[row]]])
            found[n_found++] = (struct found_step){rows->start[row], row};
    qsort(found, n, sizeof *found, compare_found);
    for (row_t i = 0; i < n; i++) {
        row_t row = found[i].row, last = steps->n ? steps->row[steps->n - 1] : ROW_NONE;
        uint32_t name = rows->events->name[rows->event[row]];
        if (rules == STEPS_OVERVIEW && last != ROW_NONE && rows->start[row] < rows->end[last] &&
            name == rows->events->name[rows->event[last]])
            continue; /* recorded as an annotation and as an operator */
        steps->row[steps->n] = row;
        steps->number[steps->n++] =
            strtoll(profiler_step_number(strings_text(strings, name), strings_length(strings, name), rules), NULL, 10);
    }
    return true;
}
