/*
 * fuzz_overview.c - fuzzes the overview: the input is a device trace. Rows cover the window, components of steps add
 * up, findings are complete; with the same trace as a second rank there is one straggler or none.
 */
#include <math.h>

#include "analyze/overview/steps.h"
#include "analyze/overview/verdict.h"
#include "fuzz.h"
#include "fuzz_trace.h"

struct made {
    struct sutra_context *context;
    struct sutra_device_trace *trace;
    struct arena arena, scratch;
    struct launch_model model;
    struct overview overview;
};

static void check_rows(const struct overview *overview) {
    int64_t moment = overview->window.from;
    for (row_t i = 0; i < overview->n_rows; i++) {
        const struct overview_row *row = &overview->rows[i];
        check(row->begin == moment && row->end > moment, "rows are consecutive");
        check((row->gap != ROW_NONE) == (row->kind >= OVERVIEW_FIRST_IDLE), "idle rows have a gap");
        check(row->gap == ROW_NONE || row->gap < overview->n_gaps, "of an existing gap");
        moment = row->end;
    }
    check(moment == overview->window.to, "to the end of the window");
}

/* Steps of the window, before findings crop it. */
static void check_steps(struct made *made, const char *annotation) {
    struct overview_steps steps;
    struct sutra_error error;
    check(overview_steps_make(&made->overview, annotation, &made->arena, &made->scratch, &steps, &error) == SUTRA_OK,
          "steps");
    int64_t until = made->overview.window.from;
    for (row_t i = 0; i < steps.n; i++) {
        const struct overview_step *step = &steps.list[i];
        int64_t sum = 0;
        for (int part = 0; part < N_STEP_PARTS; part++)
            sum += step->ticks[part];
        check(step->begin >= until && step->end > step->begin, "steps are consecutive");
        check(sum == step->end - step->begin && step->host >= 0 && step->host <= sum,
              "steps are the sum of their parts");
        until = step->end;
    }
    check(until <= made->overview.window.to, "within the window");
}

/* Sums are exact: parts fill the window, and repairs never make a step longer. */
static void check_verdict(const struct rank_verdict *verdict) {
    int64_t parts[SUTRA_N_PARTS], sum = 0;
    uint32_t rules = 0;
    check(verdict->n_findings <= FINDINGS_MOST && verdict->n_steps >= 1, "few findings");
    verdict_parts(verdict, parts);
    for (int part = 0; part < SUTRA_N_PARTS; part++)
        sum += parts[part];
    check(verdict->n_atoms == 0 || sum == verdict->window, "parts fill the window");
    for (unsigned i = 0; i < verdict->n_findings; i++) {
        const struct overview_finding *finding = &verdict->findings[i];
        enum achievable_bound bound;
        check(finding->rule && *finding->seen, "a rule's sentence");
        check(isnan(finding->saving_percent) || (finding->saving_percent >= 0 && finding->saving_percent < 100.001),
              "a part of the window");
        check(finding->weight >= 0 && finding->weight <= 1, "a weight");
        check(finding->range.from_us >= 0 && finding->range.to_us >= finding->range.from_us, "a range");
        for (unsigned k = 0; k < finding->n_numbers; k++)
            check(isfinite(finding->numbers[k].value), "with numbers");
        rules |= finding_rule_bit(finding->rule);
        double step = achievable_window(&(struct job_rank){.verdict = verdict}, rules, &bound);
        check(step >= -1 && step <= (double)verdict->window + 1, "a step that is no longer");
    }
}

static void check_ranks(struct made *made) {
    struct rank_collectives ranks[2] = {0}, *list[] = {&ranks[0], &ranks[1]};
    struct overview_steps steps;
    struct rank_verdict verdict;
    struct job_findings found;
    struct sutra_error error;
    for (int i = 0; i < 2; i++)
        check(rank_collectives_read(made->context, &made->overview, i, &ranks[i], &error) == SUTRA_OK, "collectives");
    check(overview_steps_make(&made->overview, NULL, &made->arena, &made->scratch, &steps, &error) == SUTRA_OK,
          "steps");
    check(find_findings(made->context, &made->model, &made->overview, &steps, &ranks[0].calls, true, &made->arena,
                        &made->scratch, &verdict, &error) == SUTRA_OK,
          "findings");
    check_rows(&made->overview); /* may be cut */
    check_verdict(&verdict);
    rank_verdict_free(&verdict);
    for (int i = 0; i < 2; i++)
        rank_collectives_crop(&made->overview, &ranks[i]);
    check(find_job_stragglers(list, 2, &made->scratch, &found, NULL, &error) == SUTRA_OK, "late ranks");
    check(!found.is_late, "who is the same is not late");
    for (int i = 0; i < 2; i++)
        collective_calls_free(&ranks[i].calls);
}

static void check_trace(struct made *made) {
    struct sutra_error error;
    check(launch_model_build(made->context, made->trace, 0, &made->arena, &made->scratch, &made->model, &error) ==
              SUTRA_OK,
          "a reading");
    check(overview_make(made->context, &made->model, &made->arena, &made->scratch, &made->overview, &error) == SUTRA_OK,
          "an overview");
    check_rows(&made->overview);
    check_steps(made, NULL);
    check_steps(made, "## Forward ##");
    check_ranks(made);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct made made = {.context = new_context(1)};
    struct sutra_error error = {0};
    enum sutra_status status = sutra_device_trace_parse(made.context, "device", data, size, &made.trace, &error);
    check_outcome(status, &error, made.trace);
    if (made.trace)
        check_trace(&made);
    arena_free(&made.arena);
    arena_free(&made.scratch);
    sutra_device_trace_free(made.trace);
    sutra_context_free(made.context);
    return 0;
}
