/*
 * test_verdict.c - tests the verdict: sums over atoms, bounds of the achievable step, places, ranges, suspects, remedies
 * by situation, and the join of several ranks.
 */
#include <math.h>

#include "made_verdict.h"

#define BIT(x) finding_rule_bit(&rule_##x)

static double step_us(const struct rank_verdict *verdict, uint32_t rules, enum achievable_bound *bound) {
    return achievable_window(&(struct job_rank){.verdict = verdict}, rules, bound) / verdict->n_steps / 1000;
}

/* ---- Sums ---- */

/* The queue is empty all the time, in the optimizer, too. */
static struct rank_verdict launch_bound(void) {
    struct made_trace made = {0};
    for (int step = 0; step < 3; step++) {
        step_begin(&made);
        for (int i = 0; i < 100; i++)
            launch_by(&made, "aten::add", "", 50, "add", 20);
        long since = made.now;
        for (int i = 0; i < 250; i++)
            launch_by(&made, "aten::add_", "", 20, "add", 5);
        around(&made, "user_annotation", "Optimizer.step#torch.optim.SGD.step", since, "");
        step_end(&made);
    }
    return verdict_on_made(&made);
}

static void overlapping_savings_count_once(void **state) {
    struct rank_verdict verdict = launch_bound();
    enum achievable_bound bound;
    int64_t parts[SUTRA_N_PARTS], sum = 0;
    const struct overview_finding *host = finding_of(&verdict, &rule_host_bound),
                                  *optimizer = finding_of(&verdict, &rule_small_kernels_optimizer);
    assert_true(host && optimizer);
    assert_int_equal(optimizer->part_of, BIT(host_bound));
    double whole = (double)verdict.window / 3000,
           both = step_us(&verdict, BIT(host_bound) | BIT(small_kernels_optimizer), &bound);
    assert_true(both >= step_us(&verdict, BIT(host_bound), &bound) - whole * 0.01);
    assert_true(both > whole * (1 - (host->saving_percent + optimizer->saving_percent) / 100) + whole * 0.2);
    assert_true(fabs(step_us(&verdict, BIT(host_bound), &bound) - whole * (1 - host->saving_percent / 100)) < 0.001);
    assert_int_equal(bound, BOUND_NONE);
    verdict_parts(&verdict, parts);
    for (int part = 0; part < SUTRA_N_PARTS; part++)
        sum += parts[part];
    assert_int_equal(sum, verdict.window);
    verdict_unexplained(&verdict, BIT(host_bound), parts);
    assert_int_equal(parts[SUTRA_PART_HOST] + parts[SUTRA_PART_COMPUTE], 0);
    rank_verdict_free(&verdict);
}

/* The CPU works for 3.9 of 4 ms, while communication is exposed for 3 ms: with overlap, the CPU is the limit. */
static void cpu_limits_the_step_without_exposed_communication(void **state) {
    struct made_trace made = {0};
    enum achievable_bound bound;
    for (int step = 0; step < 3; step++) {
        step_begin(&made);
        launch(&made, "gemm", 1000);
        launch(&made, "ncclDevKernel_AllReduce_Sum_f32", 3000);
        host(&made, "aten::index", 3900);
        wait_for_device(&made, "cudaStreamSynchronize");
        step_end(&made);
    }
    struct rank_verdict verdict = verdict_on_made(&made);
    assert_non_null(finding_of(&verdict, &rule_exposed_comm));
    double step = step_us(&verdict, BIT(exposed_comm), &bound);
    assert_int_equal(bound, BOUND_HOST);
    assert_true(fabs(step - 3910) < 1);
    rank_verdict_free(&verdict);
}

/* Half of the communication overlaps with compute: it still takes its time when all of it overlaps. */
static void overlapped_communication_limits_the_step(void **state) {
    struct made_trace made = {0};
    enum achievable_bound bound;
    for (int step = 0; step < 3; step++) {
        step_begin(&made);
        launch(&made, "gemm", 1000);
        call(&made, "cudaLaunchKernel", CALL_US);
        work(&made, "kernel", "ncclDevKernel_AllReduce_Sum_f32", 20, made.free_at - 500, 3000);
        made.free_at += 2500;
        wait_for_device(&made, "cudaStreamSynchronize");
        step_end(&made);
    }
    struct rank_verdict verdict = verdict_on_made(&made);
    assert_non_null(finding_of(&verdict, &rule_exposed_comm));
    double step = step_us(&verdict, BIT(exposed_comm), &bound);
    assert_int_equal(bound, BOUND_COMMUNICATION);
    assert_true(fabs(step - 3000) < 1);
    step_us(&verdict, BIT(exposed_comm) | BIT(slow_collective), &bound);
    assert_int_equal(bound, BOUND_NONE);
    rank_verdict_free(&verdict);
}

/* ---- Places and ranges ---- */

static void host_time_has_phases_and_units(void **state) {
    struct rank_verdict verdict = launch_bound();
    const struct overview_finding *finding = finding_of(&verdict, &rule_host_bound);
    const struct finding_where *where = &finding->where;
    double sum = 0;
    for (int phase = 0; phase < SUTRA_N_PHASES; phase++)
        sum += where->phases[phase];
    assert_true(fabs(sum - 100) < 0.001);
    assert_true(where->phases[SUTRA_PHASE_OPTIMIZER] > 40 && where->phases[SUTRA_PHASE_FORWARD] > 30);
    assert_int_equal(where->n_units, 2);
    assert_string_equal(where->units[0].name, "Optimizer.step#SGD");
    assert_string_equal(where->units[1].name, "aten::add");
    assert_string_equal(finding_of(&verdict, &rule_small_kernels_optimizer)->subject, "SGD");
    rank_verdict_free(&verdict);
}

/* An annotation that fills the step is a phase, but no unit. */
static void annotation_of_a_whole_step_is_no_unit(void **state) {
    struct made_trace made = {0};
    for (int step = 0; step < 2; step++) {
        step_begin(&made);
        long since = made.now;
        for (int i = 0; i < 50; i++) {
            made.now += 20;
            launch_by(&made, "aten::add", "", 50, "add", 10);
        }
        around(&made, "user_annotation", "train_iteration", since, "");
        step_end(&made);
    }
    struct rank_verdict verdict = verdict_on_made(&made);
    const struct overview_finding *finding = finding_of(&verdict, &rule_host_bound);
    assert_non_null(finding);
    assert_true(finding->where.phases[SUTRA_PHASE_FORWARD] > 99);
    assert_string_equal(finding->where.units[0].name, "aten::add");
    rank_verdict_free(&verdict);
}

static void range_is_in_the_median_step(void **state) {
    struct made_trace made = {0};
    static const long gaps_us[] = {9000, 3000, 6000};
    long begins[3];
    for (int step = 0; step < 3; step++) {
        step_begin(&made);
        begins[step] = made.now;
        launch(&made, "gemm", 1000);
        host(&made, "resize", gaps_us[step]);
        for (int i = 0; i < 10; i++)
            launch(&made, "gemm", 100);
        wait_for_device(&made, "cudaStreamSynchronize");
        step_end(&made);
    }
    struct rank_verdict verdict = verdict_on_made(&made);
    const struct overview_finding *finding = &verdict.findings[0];
    assert_string_equal(finding->range.step, "ProfilerStep#3");
    assert_true(finding->range.from_us >= begins[2] && finding->range.to_us <= made.now);
    assert_true(finding->range.to_us - finding->range.from_us < 7000);
    assert_int_equal(finding->range.n_threads, 1);
    assert_string_equal(finding->range.threads[0], "1");
    assert_string_equal(finding->range.streams[0], "7");
    rank_verdict_free(&verdict);
}

/* Events that begin before a step and end in it do not hide the function that runs in the step. */
static void frame_is_found_after_events_that_end_sooner(void **state) {
    static const char text[] =
        "user_annotation ProfilerStep#1 ts=100+60000; python_function 'profiler.py(1): step' ts=50+80;"
        "python_function 'image.py(2): preprocess' ts=200+50000; python_function 'image.py(3): resize' ts=300+900;"
        "cudaLaunchKernel ts=50300+5 correlation=1; kernel gemm stream=7 ts=50310+9000 correlation=1";
    struct rank_verdict verdict = verdict_on(text);
    const struct overview_finding *finding = finding_of(&verdict, &rule_cpu_preprocessing);
    assert_non_null(finding);
    assert_string_equal(finding->where.frame, "image.py(2): preprocess");
    rank_verdict_free(&verdict);
}

/* ---- Suspects ---- */

static void long_synchronize_is_not_the_cause(void **state) {
    struct made_trace made = {0};
    for (int step = 0; step < 3; step++) {
        step_begin(&made);
        for (int i = 0; i < 20; i++)
            launch(&made, "gemm", 400);
        wait_for_device(&made, "cudaDeviceSynchronize");
        step_end(&made);
    }
    struct rank_verdict verdict = verdict_on_made(&made);
    assert_int_equal(verdict.n_suspects, 1);
    assert_ptr_equal(verdict.suspects[0].rule, &rule_sync);
    assert_true(verdict.suspects[0].apparent > 90 && verdict.suspects[0].percent < 5);
    rank_verdict_free(&verdict);
}

/* ---- Remedies ---- */

/* Each rule has a row without conditions after all others, and each row a remedy on any kind of GPU. */
static void every_rule_has_a_remedy_in_any_situation(void **state) {
    for (uint32_t i = 0; i < n_finding_rules; i++) {
        const struct finding_rule *rule = finding_rules[i];
        bool always = false;
        for (int r = 0; r < REMEDIES_MOST && rule->remedies[r].lines[0].text; r++) {
            const struct remedy *remedy = &rule->remedies[r];
            assert_false(always); /* the row would never be selected */
            always = !remedy->needs && !remedy->excludes;
            for (int hip = 0; hip < 2; hip++) {
                struct overview_finding finding = {.rule = rule,
                                                   .facts = remedy->needs | (hip ? (uint32_t)FACT_HIP : FACT_CUDA)};
                bool any = false;
                for (int k = 0; k < REMEDY_LINES; k++) {
                    char text[400];
                    if (!remedy_line_applies(&remedy->lines[k], &finding))
                        continue;
                    any = true;
                    remedy_line_text(&remedy->lines[k], &finding, text, sizeof text);
                    assert_null(strchr(text, '%'));
                    assert_true(text[strlen(text) - 1] == '.');
                    assert_false(hip && strstr(text, "CUDA graphs"));
                }
                assert_true(any || (remedy->needs & FACT_HIP && !hip));
            }
        }
        assert_true(always || rule == &rule_no_kernels); /* its evidence names the remedies of other causes */
    }
}

static void situation_decides_about_the_remedy(void **state) {
    static const struct {
        const struct finding_rule *rule;
        uint64_t facts;
        const char *situation;
    } cases[] = {
        {&rule_host_bound, FACT_ENGINE | FACT_VLLM | FACT_COMPILED | FACT_CUDA, "engine"},
        {&rule_host_bound, FACT_ENGINE | FACT_BACKWARD | FACT_CUDA, "eager"},
        {&rule_host_bound, FACT_COMPILED | FACT_BACKWARD | FACT_CUDA, "compiled"},
        {&rule_host_bound, FACT_COMPILED | FACT_GRAPHS | FACT_CUDA, "graphs"},
        {&rule_host_bound, FACT_FEW_LAUNCHES | FACT_CUDA, "one_shot"},
        {&rule_host_bound, FACT_FEW_LAUNCHES | FACT_OPTIMIZER | FACT_CUDA, "eager"},
        {&rule_exposed_comm, FACT_ALL_REDUCE | FACT_BACKWARD | FACT_DDP, "ddp"},
        {&rule_exposed_comm, FACT_ALL_REDUCE | FACT_BACKWARD | FACT_FORWARD, "tp"},
        {&rule_exposed_comm, FACT_ALL_REDUCE | FACT_FORWARD, "inference"},
        {&rule_exposed_comm, FACT_ALL_REDUCE | FACT_FORWARD | FACT_BACKWARD | FACT_MEGATRON, "megatron"},
        {&rule_exposed_comm, FACT_ALL_REDUCE | FACT_FORWARD | FACT_MEGATRON | FACT_VLLM, "vllm"},
        {&rule_exposed_comm, FACT_ALL_REDUCE | FACT_SGLANG, "sglang"},
        {&rule_exposed_comm, FACT_ALL_REDUCE | FACT_SGLANG | FACT_BACKWARD, "ddp"},
        {&rule_exposed_comm, FACT_SHARDED | FACT_FSDP | FACT_BACKWARD, "fsdp"},
        {&rule_exposed_comm, FACT_ALL_TO_ALL | FACT_MOE | FACT_EMBEDDING, "moe"},
        {&rule_exposed_comm, FACT_ALL_TO_ALL | FACT_EMBEDDING, "embedding"},
        {&rule_sync, FACT_NONZERO, "nonzero"},
        {&rule_copies, FACT_TO_DEVICE | FACT_PAGEABLE, "pageable"},
        {&rule_copies, FACT_TO_DEVICE, "pinned"},
        {&rule_fp32, FACT_HIP, "amd"},
        {&rule_gemm_bound, FACT_HIP | FACT_FEW_ROWS, "amd_memory_bound"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct overview_finding finding = {.rule = cases[i].rule, .facts = cases[i].facts};
        assert_string_equal(finding_remedy(&finding)->situation, cases[i].situation);
    }
}

/* ---- Jobs ---- */

/* A rank of one step: compute, and host time that host_bound covers. */
static struct rank_verdict rank_of(int64_t compute_us, int64_t host_us, struct verdict_atom atoms[2]) {
    struct rank_verdict verdict = {.kind = SUTRA_VERDICT_STEPS,
                                   .window = (compute_us + host_us) * 1000,
                                   .n_steps = 1,
                                   .has_steps = true,
                                   .busy = compute_us * 1000,
                                   .atoms = atoms,
                                   .n_atoms = 2,
                                   .n_findings = 1};
    atoms[0] = (struct verdict_atom){.part = SUTRA_PART_COMPUTE, .ticks = compute_us * 1000};
    atoms[1] = (struct verdict_atom){.rules = BIT(host_bound), .part = SUTRA_PART_HOST, .ticks = host_us * 1000};
    verdict.findings[0] =
        (struct overview_finding){.rule = &rule_host_bound,
                                  .weight = 1,
                                  .saving_percent = 100.0 * (double)host_us / (double)(compute_us + host_us)};
    return verdict;
}

static void shares_of_all_ranks_are_of_the_longest_step(void **state) {
    struct verdict_atom atoms[3][2];
    const struct rank_verdict verdicts[3] = {rank_of(600, 400, atoms[0]), rank_of(500, 300, atoms[1]),
                                             rank_of(400, 100, atoms[2])};
    const struct job_rank ranks[3] = {{.rank = 0, .path = "a b/r0.json", .verdict = &verdicts[0]},
                                      {.rank = 1, .path = "a b/r1.json", .verdict = &verdicts[1]},
                                      {.rank = 2, .path = "a b/r2.json", .verdict = &verdicts[2]}};
    const struct job_findings found = {.is_late = false};
    struct arena arena = {0};
    struct job_verdict job;
    struct sutra_error error;
    assert_int_equal(
        job_verdict_make(ranks, 3, &(struct trace_validity){.n_activities = 0}, &found, NULL, &arena, &job, &error),
        SUTRA_OK);
    const struct sutra_verdict *verdict = &job.verdict;
    assert_true(fabs(verdict->step_us - 1000) < 1e-9);
    assert_int_equal(verdict->rank, 1); /* the median compute */
    assert_true(fabs(verdict->shares[SUTRA_PART_OUTSIDE_STEP] - 20) < 1e-9);
    assert_true(fabs(verdict->ranks[2].shares[SUTRA_PART_HOST] - 10) < 1e-9);
    assert_int_equal(job.n_findings, 1);
    const struct sutra_finding *finding = &job.findings[0];
    assert_true(fabs(finding->saving_percent - 30) < 1e-9 && fabs(finding->least_percent - 10) < 1e-9 &&
                fabs(finding->most_percent - 40) < 1e-9);
    assert_int_equal(finding->most_rank, 0);
    assert_int_equal(finding->n_ranks, 3);
    assert_int_equal(verdict->n_achievable, 1);
    assert_true(fabs(verdict->achievable[0].step_us - 900) < 1e-9); /* rank 2: 500 outside its step, and 400 */
    assert_non_null(strstr(verdict->next[verdict->n_next - 1].command, "'a b'"));
    arena_free(&arena);
}

/* Exposed communication splits into waiting, which goes without stragglers, and transfer. */
static void achievable_step_without_stragglers_has_no_waiting(void **state) {
    struct verdict_atom atoms[] = {{.part = SUTRA_PART_COMPUTE, .ticks = 130},
                                   {.rules = BIT(exposed_comm), .part = SUTRA_PART_EXPOSED_COMM, .ticks = 400},
                                   {.part = SUTRA_PART_HOST, .ticks = 70}};
    const struct rank_verdict verdict = {.kind = SUTRA_VERDICT_STEPS,
                                         .window = 600,
                                         .n_steps = 1,
                                         .busy = 530,
                                         .communication = 440, /* 40 of it overlapped */
                                         .atoms = atoms,
                                         .n_atoms = 3,
                                         .n_findings = 1,
                                         .findings = {{.rule = &rule_exposed_comm, .weight = 1}}};
    static const struct {
        uint32_t rules; /* 1: exposed_comm, 2: straggler */
        double late;
        bool is_late;
        double expected;
        enum achievable_bound bound;
    } cases[] = {
        {1, 0, false, 500, BOUND_NONE}, /* the transfer of 100 goes; communication of 440 is a lower bound */
        {2, 0, false, 300, BOUND_NONE},
        {2, 60, false, 240, BOUND_NONE},
        {2, 90, false, 230, BOUND_GPU}, /* compute and transfer */
        {2, 90, true, 210, BOUND_NONE}, /* a straggler's GPU may be slow */
        {3, 0, false, 200, BOUND_NONE},
        {3, 70, false, 140, BOUND_COMMUNICATION}, /* the transfer, and overlapped communication */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct job_rank rank = {
            .verdict = &verdict, .wait = 0.75, .late = cases[i].late, .is_late = cases[i].is_late};
        const uint32_t rules = (cases[i].rules & 1 ? BIT(exposed_comm) : 0) | (cases[i].rules & 2 ? BIT(straggler) : 0);
        enum achievable_bound bound;
        const double got = achievable_window(&rank, rules, &bound);
        if (fabs(got - cases[i].expected) > 1e-9 || bound != cases[i].bound)
            fail_msg("case %zu: %g, bound %d", i, got, (int)bound);
    }
}

/* The bar, the title and the headline are about the rank and the kind of communication of the first finding. */
static void headline_and_bar_agree_with_the_first_finding(void **state) {
    static const struct {
        uint64_t facts;
        const char *why;
    } cases[] = {{FACT_ALL_REDUCE | FACT_BACKWARD, "for gradient all-reduce"},
                 {FACT_ALL_REDUCE | FACT_BACKWARD | FACT_FORWARD, "for tensor-parallel all-reduce"},
                 {FACT_ALL_TO_ALL | FACT_EMBEDDING, "for embedding all-to-all"},
                 {FACT_SHARDED, "for communication"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct verdict_atom atoms[3][2];
        struct rank_verdict verdicts[3];
        struct job_rank ranks[3];
        for (int r = 0; r < 3; r++) {
            verdicts[r] = rank_of(600 - 100 * r, 300, atoms[r]);
            atoms[r][1] = (struct verdict_atom){
                .rules = BIT(exposed_comm), .part = SUTRA_PART_EXPOSED_COMM, .ticks = (int64_t)300000};
            verdicts[r].findings[0] = (struct overview_finding){.rule = &rule_exposed_comm,
                                                                .weight = 1,
                                                                .saving_percent = 30,
                                                                .facts = cases[i].facts,
                                                                .range = {.from_us = 1, .to_us = 2}};
            ranks[r] = (struct job_rank){.rank = r, .path = "job/r.json", .verdict = &verdicts[r]};
        }
        const struct job_findings found = {.is_late = false};
        struct arena arena = {0};
        struct job_verdict job;
        struct sutra_error error;
        assert_int_equal(
            job_verdict_make(ranks, 3, &(struct trace_validity){.n_activities = 0}, &found, NULL, &arena, &job, &error),
            SUTRA_OK);
        assert_non_null(strstr(job.verdict.why, cases[i].why));
        assert_int_equal(job.findings[0].most_rank, job.verdict.rank);
        assert_int_equal(job.findings[0].evidence.rank, job.verdict.rank);
        assert_int_equal(job.verdict.rank, 0);
        arena_free(&arena);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(overlapping_savings_count_once),
        cmocka_unit_test(cpu_limits_the_step_without_exposed_communication),
        cmocka_unit_test(overlapped_communication_limits_the_step),
        cmocka_unit_test(host_time_has_phases_and_units),
        cmocka_unit_test(annotation_of_a_whole_step_is_no_unit),
        cmocka_unit_test(range_is_in_the_median_step),
        cmocka_unit_test(frame_is_found_after_events_that_end_sooner),
        cmocka_unit_test(long_synchronize_is_not_the_cause),
        cmocka_unit_test(every_rule_has_a_remedy_in_any_situation),
        cmocka_unit_test(situation_decides_about_the_remedy),
        cmocka_unit_test(shares_of_all_ranks_are_of_the_longest_step),
        cmocka_unit_test(achievable_step_without_stragglers_has_no_waiting),
        cmocka_unit_test(headline_and_bar_agree_with_the_first_finding),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
