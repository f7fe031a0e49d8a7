/*
 * made_verdict.h - the verdict on a synthetic trace (made_steps.h).
 */
#ifndef TESTS_MADE_VERDICT_H
#define TESTS_MADE_VERDICT_H

#include <math.h>

#include "analyze/overview/verdict.h"
#include "made_steps.h"
#include "overview_trace.h"

/* The verdict on a trace; needs rank_verdict_free(). */
static inline struct rank_verdict verdict_on(const char *text) {
    struct overviewed made;
    struct overview_steps steps;
    struct rank_verdict verdict;
    struct sutra_error error;
    struct rank_collectives collectives = {0};
    overview_of(text, 1, &made);
    assert_int_equal(overview_steps_make(&made.overview, NULL, &made.arena, &made.scratch, &steps, &error), SUTRA_OK);
    assert_int_equal(rank_collectives_read(made.context, &made.overview, 0, &collectives, &error), SUTRA_OK);
    assert_int_equal(find_findings(made.context, &made.model, &made.overview, &steps, &collectives.calls, true,
                                   &made.arena, &made.scratch, &verdict, &error),
                     SUTRA_OK);
    collective_calls_free(&collectives.calls);
    overview_forget(&made);
    return verdict;
}

static inline struct rank_verdict verdict_on_made(struct made_trace *made) {
    char *text = made_text(made);
    struct rank_verdict verdict = verdict_on(text);
    free(text);
    return verdict;
}

static inline const struct overview_finding *finding_of(const struct rank_verdict *verdict,
                                                        const struct finding_rule *rule) {
    return finding_of_rule(verdict->findings, verdict->n_findings, rule);
}

/* A number of a finding; NaN: it has none of this name. */
static inline double number_of(const struct overview_finding *finding, const char *name) {
    for (unsigned i = 0; i < finding->n_numbers; i++)
        if (strcmp(finding->numbers[i].name, name) == 0)
            return finding->numbers[i].value;
    return (double)NAN;
}

#endif
