/*
 * test_verdict_words.c - tests the texts of a verdict: the bar, the chain of achievable steps, places, the unexplained
 * part; and the Markdown document: escaped names, reduced paths, its size.
 */
#include <math.h>

#include "base/arena.h"
#include "report/verdict_words.h"
#include "unit.h"
#include "write/text.h"

/* A verdict with these shares of a step of 100 ms. */
static struct sutra_verdict verdict_of(const double shares[SUTRA_N_PARTS]) {
    struct sutra_verdict verdict = {.kind = SUTRA_VERDICT_STEPS,
                                    .reliable = true,
                                    .kind_name = "steps",
                                    .why = "The GPU waits for kernel launches 41% of each step.",
                                    .step_us = 100000,
                                    .n_steps = 5,
                                    .basis = "profiler",
                                    .n_ranks = 1,
                                    .rank = 1,
                                    .device = "Tesla V100",
                                    .trace = "dir/trace.json.gz",
                                    .excluded_by = "",
                                    .run = "",
                                    .role = "",
                                    .window_label = "",
                                    .window_text = "",
                                    .unexplained_percent = 2.35};
    memcpy(verdict.shares, shares, sizeof verdict.shares);
    return verdict;
}

static struct sutra_finding finding_of(const char *rule) {
    return (struct sutra_finding){.rule = rule,
                                  .saving_percent = 20,
                                  .saving_us = 20000,
                                  .text = "",
                                  .title = "Launch-bound",
                                  .situation = "",
                                  .limited_by = "",
                                  .seen = "One launch comes every 78 us",
                                  .frame = "",
                                  .check_metric = "launches per step",
                                  .check_now = "4,458",
                                  .check_after = "must fall",
                                  .evidence = {.file = "", .step = "", .command = ""}};
}

static const double mixed[SUTRA_N_PARTS] = {
    [SUTRA_PART_COMPUTE] = 35.7, [SUTRA_PART_EXPOSED_COMM] = 20.56, [SUTRA_PART_EXPOSED_COPY] = 1.31,
    [SUTRA_PART_HOST] = 41.32,   [SUTRA_PART_QUEUED] = 1.09,        [SUTRA_PART_AFTER] = 0.02};

static void bar_cells_follow_the_largest_remainder(void **state) {
    static const struct {
        double shares[SUTRA_N_PARTS];
        const char *bar;
    } cases[] = {
        {{35.7, 20.56, 1.31, 41.32, 0, 0, 0, 1.09, 0.02, 0, 0},
         "#####################.........................%%%%%%%%%%%%+?"},
        {{100, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, "############################################################"},
        /* Each part from 1 % on has a cell; parts below 1 % belong to the rest. */
        {{96, 0, 0, 0.9, 1, 1, 1, 0, 0, 0, 0.1}, "########################################################dsu?"},
        /* The time outside of the step precedes the rest, however long it is. */
        {{10, 20, 0, 0, 0, 0, 0, 10, 0, 0, 60}, "######%%%%%%%%%%%%oooooooooooooooooooooooooooooooooooo??????"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct sutra_verdict verdict = verdict_of(cases[i].shares);
        struct arena arena = {0};
        struct verdict_words words;
        char bar[BAR_CELLS + 1] = "";
        assert_int_equal(verdict_words_make(&verdict, NULL, 0, &arena, &words, NULL), SUTRA_OK);
        for (unsigned k = 0, n = 0; k < words.n_bar; k++)
            for (unsigned cell = 0; cell < words.bar[k].cells && n < BAR_CELLS; cell++)
                bar[n++] = words.bar[k].symbol;
        assert_string_equal(bar, cases[i].bar);
        arena_free(&arena);
    }
}

static void achievable_steps_are_a_chain(void **state) {
    static const char *const rules[] = {"host_bound", "exposed_comm", "small_kernels_optimizer", "data_loading"};
    static const struct {
        struct sutra_verdict_fix fixes[4];
        size_t n;
        const char *could;
    } cases[] = {
        {{{rules, 1, 60000, "none"}, {rules, 2, 40000, "host"}},
         2,
         "100 ms -> 60.0 ms if the CPU kept up -> 40.0 ms if gradients overlapped with the backward pass too (each at "
         "best; then the CPU is the limit)."},
        {{{rules, 1, 60000, "gpu"}, {rules, 2, 59500, "gpu"}}, /* saves less than 1 % more */
         2,
         "100 ms -> 60.0 ms if the CPU kept up (at best; then the GPU is the limit)."},
        {{{rules, 1, 99500, "none"}}, 1, "No gap to remove; only faster or fewer kernels help."},
        {{{0}}, 0, "Unknown: no finding has a known saving."},   /* although findings explain most of the step */
        {{{rules, 1, 99500, "none"}, {rules, 2, 70000, "none"}}, /* the first alone saves less than 1 % */
         2,
         "100 ms -> 70.0 ms if the CPU kept up and gradients overlapped with the backward pass (at best)."},
        {{{rules, 1, 90000, "none"}, {rules, 2, 80000, "none"}, {rules, 3, 70000, "none"}, {rules, 4, 60000, "none"}},
         4,
         "100 ms -> 90.0 ms if the CPU kept up -> 80.0 ms if gradients overlapped with the backward pass too -> 70.0 "
         "ms if the optimizer were fused too (each at best)."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sutra_verdict verdict = verdict_of(mixed);
        struct sutra_finding findings[2] = {finding_of("host_bound"), finding_of("exposed_comm")};
        struct arena arena = {0};
        struct verdict_words words;
        findings[1].situation = "ddp";
        verdict.achievable = cases[i].fixes;
        verdict.n_achievable = cases[i].n;
        assert_int_equal(verdict_words_make(&verdict, findings, 2, &arena, &words, NULL), SUTRA_OK);
        assert_string_equal(words.could, cases[i].could);
        arena_free(&arena);
    }
}

static void findings_name_units_and_overlaps(void **state) {
    static const struct sutra_finding_unit units[] = {{"backward", "CompiledFunctionBackward", 56},
                                                      {"forward", "CompiledFunction", 16.4}};
    static const char *const part_of[] = {"host_bound"};
    const struct sutra_verdict verdict = verdict_of(mixed);
    struct sutra_finding findings[2] = {finding_of("host_bound"), finding_of("small_kernels_optimizer")};
    struct arena arena = {0};
    struct verdict_words words;
    findings[0].phases[SUTRA_PHASE_BACKWARD] = 68;
    findings[0].phases[SUTRA_PHASE_FORWARD] = 16.6;
    findings[0].phases[SUTRA_PHASE_DATA] = 9.9; /* below 10 % */
    findings[0].units = units;
    findings[0].n_units = 2;
    findings[1].part_of = part_of;
    findings[1].n_part_of = 1;
    findings[1].estimate = true;
    findings[1].frame = "torch/optim/sgd.py(76): step";
    assert_int_equal(verdict_words_make(&verdict, findings, 2, &arena, &words, NULL), SUTRA_OK);
    assert_string_equal(words.findings[0].where,
                        "backward 68% (CompiledFunctionBackward 56%), forward 17% (CompiledFunction).");
    assert_string_equal(words.findings[0].saving, "up to 20 ms of a step (20%)");
    assert_string_equal(words.findings[0].check, "4,458 launches per step must fall.");
    assert_string_equal(words.findings[1].seen, "One launch comes every 78 us. Part of finding 1: do not add.");
    assert_string_equal(words.findings[1].where, "torch/optim/sgd.py(76): step.");
    assert_string_equal(words.findings[1].saving, "about 20 ms of a step (20%)");
    arena_free(&arena);
}

/* In a job, the title names the rank of the texts, or all stragglers. */
static void titles_of_a_job_name_ranks(void **state) {
    static const int64_t late[] = {0, 6, 7, 8};
    static const struct {
        const char *rule, *situation;
        size_t n_ranks, n_late;
        const char *title;
    } cases[] = {{"host_bound", "eager", 1, 0, "Launch-bound"},
                 {"host_bound", "eager", 8, 0, "Launch-bound: rank 5"},
                 {"exposed_comm", "ddp", 8, 0, "Launch-bound (gradient all-reduce): rank 5"},
                 {"straggler", "in_step", 8, 1, "Launch-bound: rank 0"},
                 {"straggler", "in_step", 8, 2, "Launch-bound: ranks 0 and 6"},
                 {"straggler", "in_step", 8, 3, "Launch-bound: ranks 0, 6 and 7"},
                 {"straggler", "in_step", 9, 4, "Launch-bound: ranks 0, 6-8"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sutra_verdict verdict = verdict_of(mixed);
        struct sutra_finding finding = finding_of(cases[i].rule);
        struct arena arena = {0};
        struct verdict_words words;
        verdict.n_ranks = cases[i].n_ranks;
        finding.situation = cases[i].situation;
        finding.most_rank = 5;
        finding.late_ranks = late;
        finding.n_late_ranks = cases[i].n_late;
        assert_int_equal(verdict_words_make(&verdict, &finding, 1, &arena, &words, NULL), SUTRA_OK);
        assert_string_equal(words.findings[0].title, cases[i].title);
        arena_free(&arena);
    }
}

static void code_lists_functions_or_their_number(void **state) {
    static const struct sutra_finding_code code[] = {
        {"mymodel/router.py", 12, "route", 86.4, "user", "direct"},
        {"vllm/a_directory/of_a_long_path/with_many/components/layers.py", 8, "forward", 12, "library", "capture"}};
    static const struct {
        size_t n_code, n_functions;
        const char *text;
    } cases[] = {
        {0, 0, ""},
        {0, 12, "spread over 12 functions"},
        {1, 7, "mymodel/router.py:12 route 86%"},
        {2, 2,
         "mymodel/router.py:12 route 86%, ../of_a_long_path/with_many/components/layers.py:8 forward 12% (library)"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct sutra_verdict verdict = verdict_of(mixed);
        struct sutra_finding finding = finding_of("host_bound");
        struct arena arena = {0};
        struct verdict_words words;
        finding.code = code;
        finding.n_code = cases[i].n_code;
        finding.n_functions = cases[i].n_functions;
        assert_int_equal(verdict_words_make(&verdict, &finding, 1, &arena, &words, NULL), SUTRA_OK);
        assert_string_equal(words.findings[0].code, cases[i].text);
        arena_free(&arena);
    }
}

static void unexplained_pieces_are_named(void **state) {
    struct sutra_verdict verdict = verdict_of(mixed);
    struct arena arena = {0};
    struct verdict_words words;
    verdict.unexplained_percent = 17.5;
    verdict.unexplained[SUTRA_PART_AFTER] = 9.4;
    verdict.unexplained[SUTRA_PART_SETUP] = 5;
    verdict.unexplained[SUTRA_PART_SYNC] = 1.9; /* below 2 % */
    assert_int_equal(verdict_words_make(&verdict, NULL, 0, &arena, &words, NULL), SUTRA_OK);
    assert_string_equal(words.unexplained, "17.5% (9.4% after the last GPU activity, 5.0% setup).");
    assert_string_equal(words.facts, "rank 1, Tesla V100, 5 steps of 100 ms");
    assert_string_equal(words.name, "trace.json.gz");
    arena_free(&arena);
}

static void header_without_steps_names_the_whole(void **state) {
    static const struct {
        uint64_t n_ranks;
        double excluded_us;
        const char *excluded_by, *facts;
    } cases[] = {
        {1, 0, "", "rank 1, Tesla V100, no steps found: shares are of the whole trace, 100 ms"},
        {1, 8370, "trace_edge",
         "rank 1, Tesla V100, no steps found: shares are of the whole trace, 100 ms; first 8.37 ms excluded (work "
         "launched before the trace)"},
        {1, 8370, "startup",
         "rank 1, Tesla V100, no steps found: shares are of the whole trace, 100 ms; first 8.37 ms excluded (warm-up)"},
        {2, 0, "", "no steps found: shares are of the longest trace, 100 ms"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sutra_verdict verdict = verdict_of(mixed);
        struct arena arena = {0};
        struct verdict_words words;
        verdict.n_steps = 0;
        verdict.n_ranks = cases[i].n_ranks;
        verdict.excluded_us = cases[i].excluded_us;
        verdict.excluded_by = cases[i].excluded_by;
        assert_int_equal(verdict_words_make(&verdict, NULL, 0, &arena, &words, NULL), SUTRA_OK);
        assert_string_equal(words.facts, cases[i].facts);
        arena_free(&arena);
    }
}

static void check_of_a_metric_of_zero_asks_for_a_rise(void **state) {
    static const struct {
        const char *metric, *now, *after, *check;
    } cases[] = {
        {"kernels listed by sutra info", "0", "must exceed 0",
         "Kernels listed by sutra info must exceed 0 (none today)."},
        {"graph launches", "0", "must rise", "Graph launches must exceed 0 (none today)."},
        {"graph launches", "12", "must rise", "12 graph launches must rise."},
        {"waits per step", "0.18", "must fall", "0.18 waits per step must fall."},
        {"launches per step", "0", "must fall", ""}, /* cannot fall */
        {"of the window has no kernels", "50.0%", "", "50.0% of the window has no kernels."},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct sutra_verdict verdict = verdict_of(mixed);
        struct sutra_finding finding = finding_of("host_bound");
        struct arena arena = {0};
        struct verdict_words words;
        finding.check_metric = cases[i].metric;
        finding.check_now = cases[i].now;
        finding.check_after = cases[i].after;
        assert_int_equal(verdict_words_make(&verdict, &finding, 1, &arena, &words, NULL), SUTRA_OK);
        assert_string_equal(words.findings[0].check, cases[i].check);
        arena_free(&arena);
    }
}

/* ---- Markdown ---- */

static char *markdown_of(const struct sutra_verdict *verdict, const struct sutra_finding *findings, size_t n,
                         bool keep_paths, struct text_out *out) {
    struct arena arena = {0};
    struct verdict_words words;
    assert_int_equal(verdict_words_make(verdict, findings, n, &arena, &words, NULL), SUTRA_OK);
    verdict_markdown(&words, keep_paths, out);
    buffer_append(&out->out, "", 1);
    assert_false(out->out.failed);
    arena_free(&arena);
    return out->out.bytes;
}

static void markdown_escapes_names_and_reduces_paths(void **state) {
    const struct sutra_verdict verdict = verdict_of(mixed);
    struct sutra_finding finding = finding_of("host_bound");
    finding.seen =
        "aten::add_ and a|b`c<int> take < 5 us in SGD(lr, foreach=True), /home/me/train.py(12): step, *all* of it.";
    finding.evidence.command = "sutra cut '/home/me/my traces/a.json' --overlap --from-us 0 --to-us 9 -o 1.json.gz";
    for (int keep = 0; keep < 2; keep++) {
        struct text_out out = {0};
        const char *text = markdown_of(&verdict, &finding, 1, keep, &out);
        assert_non_null(strstr(text, "# Why `trace.json.gz` is slow\n"));
        assert_non_null(
            strstr(text, "\n- **Seen** `aten::add_` and `` a|b`c<int> `` take \\< 5 us in `SGD(lr, foreach=True)`, "));
        assert_non_null(strstr(text, keep ? "`/home/me/train.py(12): step`, `*all*` of it.\n"
                                          : "`train.py(12): step`, `*all*` of it.\n"));
        assert_non_null(strstr(text, keep ? "`sutra cut '/home/me/my traces/a.json' --overlap --from-us 0"
                                          : "`sutra cut 'a.json' --overlap --from-us 0"));
        if (!keep)
            assert_null(strstr(text, "/home"));
        buffer_free(&out.out);
    }
}

static void markdown_has_at_most_8_kb(void **state) {
    const struct sutra_verdict verdict = verdict_of(mixed);
    struct sutra_finding findings[WORDS_FINDINGS];
    struct text_out out = {0};
    static char seen[480];
    memset(seen, 'x', sizeof seen - 1);
    for (size_t i = 0; i < WORDS_FINDINGS; i++) {
        findings[i] = finding_of("host_bound");
        findings[i].seen = findings[i].frame = seen;
    }
    const char *text = markdown_of(&verdict, findings, WORDS_FINDINGS, false, &out);
    assert_true(strlen(text) <= 8192);
    assert_non_null(strstr(text, "## 5. Launch-bound (up to 20%)\n"));
    buffer_free(&out.out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bar_cells_follow_the_largest_remainder),
        cmocka_unit_test(achievable_steps_are_a_chain),
        cmocka_unit_test(findings_name_units_and_overlaps),
        cmocka_unit_test(code_lists_functions_or_their_number),
        cmocka_unit_test(unexplained_pieces_are_named),
        cmocka_unit_test(header_without_steps_names_the_whole),
        cmocka_unit_test(check_of_a_metric_of_zero_asks_for_a_rise),
        cmocka_unit_test(titles_of_a_job_name_ranks),
        cmocka_unit_test(markdown_escapes_names_and_reduces_paths),
        cmocka_unit_test(markdown_has_at_most_8_kb),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
