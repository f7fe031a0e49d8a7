/*
 * test_program.c - tests programs of ranks: periodic runs against a direct implementation, schedules, references of
 * copied and removed nodes, units of steps, and refused edits.
 */
#include <inttypes.h>
#include <math.h>

#include "et_text.h"
#include "generate/random.h"
#include "link_case.h"
#include "simulate/program.h"
#include "simulate/simulation.h"
#include "sutra/simulate.h"

/* ---- Periodic runs ---- */

/* By definition: each period, each run of matches. */
static struct periodic_run run_by_definition(const uint32_t *symbols, uint32_t n) {
    struct periodic_run best = {0};
    for (uint32_t q = 3; q <= n / 2; q++)
        for (uint32_t i = 0, length = 0; i + q < n; i++) {
            length = symbols[i] == symbols[i + q] ? length + 1 : 0;
            const uint32_t repeats = length / q + 1, start = i + 1 - length;
            bool differ = false;
            for (uint32_t k = start; k < start + q && !differ && length; k++)
                differ = symbols[k] != symbols[start];
            if (repeats >= 2 && differ && repeats * q > best.repeats * best.period)
                best = (struct periodic_run){start, q, repeats};
        }
    return best;
}

static void periodic_runs_match_their_definition(void **state) {
    struct random random = {20};
    for (int round = 0; round < 4000; round++) {
        uint32_t symbols[120], n = random_below(&random, 120);
        const uint32_t alphabet = 1 + random_below(&random, 4), period = 1 + random_below(&random, 9);
        for (uint32_t i = 0; i < n; i++) /* random, with long repeats */
            symbols[i] =
                i >= period && random_below(&random, 12) ? symbols[i - period] : random_below(&random, alphabet);
        struct arena arena = {0};
        struct periodic_run run;
        assert_true(periodic_run_find(symbols, n, &arena, &run));
        const struct periodic_run expected = run_by_definition(symbols, n);
        if (run.start != expected.start || run.period != expected.period || run.repeats != expected.repeats)
            fail_msg("round %d, %u symbols: start %u period %u repeats %u, expected %u %u %u", round, n, run.start,
                     run.period, run.repeats, expected.start, expected.period, expected.repeats);
        arena_free(&arena);
    }
}

/* ---- Schedules: a letter per unit ---- */

static void schedules_are_recognized(void **state) {
    static const struct {
        const char *units;
        enum schedule_kind kind;
        uint32_t n_micro_batches, n_warmup;
    } cases[] = {
        {"FB", SCHEDULE_1F1B, 1, 0},         {"FBFBFB", SCHEDULE_1F1B, 3, 0},        {"FFBFBB", SCHEDULE_1F1B, 3, 1},
        {"FFFBFBFBBB", SCHEDULE_1F1B, 5, 2}, {"FFFBBB", SCHEDULE_ALL_FORWARD, 3, 2}, {"FFBFB", SCHEDULE_UNKNOWN, 0, 0},
        {"BF", SCHEDULE_UNKNOWN, 0, 0},      {"FFBBFFBB", SCHEDULE_UNKNOWN, 0, 0},   {"F", SCHEDULE_UNKNOWN, 0, 0},
        {"", SCHEDULE_UNKNOWN, 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct program_unit list[16] = {0};
        const struct program_units units = {.list = list};
        const struct program_step step = {.n_units = (uint32_t)strlen(cases[i].units)};
        for (uint32_t u = 0; u < step.n_units; u++)
            list[u].is_backward = cases[i].units[u] == 'B';
        const struct schedule schedule = schedule_find(&units, &step);
        if (schedule.kind != cases[i].kind ||
            (schedule.kind != SCHEDULE_UNKNOWN &&
             (schedule.n_micro_batches != cases[i].n_micro_batches || schedule.n_warmup != cases[i].n_warmup)))
            fail_msg("%s: kind %d, %u micro-batches, %u of warm-up", cases[i].units, (int)schedule.kind,
                     schedule.n_micro_batches, schedule.n_warmup);
    }
}

/* ---- Jobs from texts: a word per rank and a letter per node ----
 *
 *     S   the start of a profiler step         f, b   an operator of the main or the backward thread, and its kernel
 *     x   an operator without a kernel         r, s   an operator and kernel that receive or send a message
 *     a   an all-reduce of all ranks           t      the same in the forward pass of the main thread
 */

#define TEXT_MAX 40000

struct job_text {
    char lines[TEXT_MAX];
    size_t length;
    unsigned id, cpu, gpu, n_messages, n_reduces;
};

/* Appends a node; the dependencies are the ids that are not 0. */
static unsigned add_node(struct job_text *text, const char *name, const char *type, unsigned us, unsigned cpu,
                         unsigned gpu, const char *attributes) {
    char deps[40] = "";
    if (cpu)
        snprintf(deps, sizeof deps, gpu ? "'%u','%u'" : "'%u'", cpu, gpu);
    text->length +=
        (size_t)snprintf(text->lines + text->length, TEXT_MAX - text->length,
                         "{'id':'%u','name':'%s','type':'%s','durationMicros':'%u','dataDeps':[%s],'attr':[%s]}\n",
                         ++text->id, name, type, us, deps, attributes);
    assert_true(text->length < TEXT_MAX);
    return text->id;
}

static void add_cpu(struct job_text *text, const char *name, unsigned us, unsigned thread) {
    char attributes[120];
    snprintf(attributes, sizeof attributes, "{'name':'is_cpu_op','boolVal':true},{'name':'tid','int64Val':'%u'}",
             thread);
    const unsigned made = add_node(text, name, "COMP_NODE", us, text->cpu, 0, attributes);
    if (us)
        text->cpu = made;
}

static void add_collective(struct job_text *text, const char *kind, bool sends, unsigned match, unsigned n_ranks) {
    char attributes[400];
    const bool is_message = strcmp(kind, "message") == 0;
    snprintf(
        attributes, sizeof attributes,
        "{'name':'is_cpu_op','boolVal':false},{'name':'stream','int64Val':'20'},{'name':'pg_name','stringVal':'1'},"
        "{'name':'meeting','int64Val':'%u'},{'name':'meeting_kind','stringVal':'%s'},{'name':'meeting_ranks',"
        "'int64Val':'%u'},{'name':'meeting_bytes','int64Val':'1000'},{'name':'kernel_exec_ns','int64Val':'9000'}",
        match, kind, n_ranks);
    text->gpu =
        add_node(text, "ncclDevKernel", is_message ? sends ? "COMM_SEND_NODE" : "COMM_RECV_NODE" : "COMM_COLL_NODE", 10,
                 text->cpu, text->gpu, attributes);
}

static void write_rank(struct job_text *text, const char *letters, unsigned n_ranks) {
    text->length = (size_t)snprintf(text->lines, TEXT_MAX,
                                    "{'attr':[{'name':'schema','stringVal':'1.1.1-chakra.0.0.4'},"
                                    "{'name':'gpu','stringVal':'streams'}]}\n");
    for (; *letters; letters++) {
        const char name[] = {'k', *letters, 0};
        switch (*letters) {
        case 'S':
            add_cpu(text, "ProfilerStep#0", 0, 1);
            break;
        case 'x':
            add_cpu(text, "aten::view", 3, 1);
            break;
        case 'r':
        case 's':
            add_cpu(text, *letters == 'r' ? "c10d::recv_" : "c10d::send", 3, 1);
            add_collective(text, "message", *letters == 's', 1000 + text->n_messages++, 2);
            break;
        case 'a':
        case 't':
            add_cpu(text, "c10d::allreduce_", 3, *letters == 't' ? 1 : 2);
            add_collective(text, "all-reduce", false, text->n_reduces++, n_ranks);
            break;
        default:
            add_cpu(text, "aten::mm", 3, *letters >= 'a' && *letters < 'f' ? 2 : 1);
            text->gpu = add_node(text, name, "COMP_NODE", 20, text->cpu, text->gpu,
                                 "{'name':'is_cpu_op','boolVal':false},{'name':'stream','int64Val':'7'},"
                                 "{'name':'kernel_exec_ns','int64Val':'18000'}");
        }
    }
}

struct made_job {
    struct sutra_context *context;
    struct sutra_et *ets[4];
    struct sutra_et_ranks *ranks;
    uint32_t n;
    struct programs programs;
    struct arena arena;
    struct sutra_error error;
};

/* Reads a job of ranks separated by spaces, and makes its programs. */
static void job_make(struct made_job *job, const char *words) {
    static struct job_text text;
    char copy[1000], *rest = copy;
    *job = (struct made_job){0};
    snprintf(copy, sizeof copy, "%s", words);
    job->context = NEW_CONTEXT();
    unsigned n_ranks = 1;
    for (const char *c = words; *c; c++)
        n_ranks += *c == ' ';
    for (char *word; (word = strtok_r(rest, " ", &rest));) {
        text = (struct job_text){0};
        write_rank(&text, word, n_ranks);
        if (et_parse_text(job->context, text.lines, &job->ets[job->n++], &job->error))
            fail_msg("%s", job->error.message);
    }
    if (et_ranks_of(job->context, (const struct sutra_et *const *)job->ets, NULL, job->n, &job->ranks, &job->error))
        fail_msg("%s", job->error.message);
    const struct change_target target = {job->ranks->graphs, job->ranks->ranks, job->n, &job->ranks->names};
    if (programs_make(&job->programs, &target, job->ranks->n_matched_collectives, &job->arena, &job->error))
        fail_msg("%s", job->error.message);
}

static void job_free(struct made_job *job) {
    arena_free(&job->arena);
    sutra_et_ranks_free(job->ranks);
    for (uint32_t r = 0; r < job->n; r++)
        sutra_et_free(job->ets[r]);
    sutra_context_free(job->context);
}

/* The units of rank 0 as text: F or B, then the letters of their kernels; | between steps. */
static const char *units_text(const struct made_job *job) {
    static char text[1000];
    struct arena arena = {0};
    struct program_units units;
    const struct program *program = &job->programs.list[0];
    const struct rank_graph *graph = program_graph_of(&job->programs, program);
    size_t n = 0;
    assert_true(program_units_find(&job->programs, program, &arena, &units));
    for (uint32_t s = 0; s < units.n_steps; s++) {
        text[n++] = '|';
        for (uint32_t u = units.steps[s].first_unit; u < units.steps[s].first_unit + units.steps[s].n_units; u++) {
            text[n++] = units.list[u].is_backward ? 'B' : 'F';
            for (row_t i = units.list[u].first; i < units.list[u].after && n < 900; i++)
                if (item_computes(&program->items.list[i]))
                    text[n++] = strings_text(job->programs.job.names, graph->name[program->items.list[i].node])[1];
        }
    }
    text[n] = 0;
    arena_free(&arena);
    return text;
}

static void units_end_at_threads_sends_and_receives(void **state) {
    static const struct {
        const char *ranks, *units;
    } cases[] = {
        {"Sfgbc", "|FfgBbc"},             /* a change of the thread */
        {"Sfgbcfgbc", "|FfgBbcFfgBbc"},   /* two micro-batches */
        {"Sfsgsbc", "|FfFgBbc"},          /* a send ends a unit */
        {"Sfrgrhbc", "|FgFhBbc"},         /* before the first receive of a forward pass is the prologue */
        {"Sxxfxbxfx", "|FfBb"},           /* operators without kernels join units; the rest is no unit */
        {"SfgbcSfgbc", "|FfgBbc|FfgBbc"}, /* steps */
        {"Sfg", "|"},                     /* no backward pass */
        {"fgbcSfb", "|FfBb"},             /* nothing before the first step */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made_job job;
        job_make(&job, cases[i].ranks);
        if (strcmp(units_text(&job), cases[i].units) != 0)
            fail_msg("%s: %s, expected %s", cases[i].ranks, units_text(&job), cases[i].units);
        job_free(&job);
    }
}

/* ---- Edits ---- */

static void micro_batches_are_copied_in_a_cycle(void **state) {
    static const struct {
        uint32_t n;
        const char *units;
    } cases[] = {
        {3, "|FfBbFgBcFhBd"},
        {6, "|FfBbFgBcFhBbFgBcFhBbFgBd"}, /* the first F and the last B stay */
        {2, "|FfBbFgBd"},
        {1, "|FfBd"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made_job job;
        job_make(&job, "xSfbgchdx");
        const row_t n_before = job.programs.list[0].items.n;
        uint32_t n_recorded;
        assert_int_equal(programs_set_micro_batches(&job.programs, cases[i].n, &n_recorded, &job.error), SUTRA_OK);
        assert_int_equal(n_recorded, 3);
        if (strcmp(units_text(&job), cases[i].units) != 0)
            fail_msg("%u micro-batches: %s, expected %s", cases[i].n, units_text(&job), cases[i].units);
        /* Each micro-batch has four nodes; what is before and after the units stays. */
        assert_int_equal(job.programs.list[0].items.n, n_before + 4 * cases[i].n - 12);
        job_free(&job);
    }
}

/* The blocks of the first unit of rank 0 as digits, for blocks of three kernels. */
static void blocks_text(const struct made_job *job, char *text) {
    struct arena arena = {0};
    struct program_units units;
    const struct program *program = &job->programs.list[0];
    const struct rank_graph *graph = program_graph_of(&job->programs, program);
    assert_true(program_units_find(&job->programs, program, &arena, &units));
    uint32_t n = 0;
    for (row_t i = units.list->first; i < units.list->after; i++)
        if (item_computes(&program->items.list[i])) {
            row_t n_before = 0; /* recorded kernels before this one */
            for (row_t k = 0; k < program->items.list[i].node; k++)
                n_before += graph->work[k] == WORK_COMPUTATION;
            if (n % 3 == 0)
                *text++ = (char)('0' + n_before / 3);
            n++;
        }
    *text = 0;
    arena_free(&arena);
}

static void layers_are_copied_between_the_first_and_the_last(void **state) {
    static const struct {
        const char *rank;
        uint32_t n;
        const char *blocks;
    } cases[] = {
        {"Sfghfghfghfghbcdbcdbcdbcd", 4, "0123"},
        {"Sfghfghfghfghbcdbcdbcdbcd", 7, "0121213"},
        {"Sfghfghfghfghbcdbcdbcdbcd", 2, "03"},
        {"Sfghfghfghfghbcdbcdbcdbcd", 1, "3"},
        {"Sfghfghbcdbcd", 4, "0001"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made_job job;
        char blocks[20];
        job_make(&job, cases[i].rank);
        struct job_layers recorded;
        assert_int_equal(programs_set_layers(&job.programs, cases[i].n, &recorded, &job.error), SUTRA_OK);
        blocks_text(&job, blocks);
        if (strcmp(blocks, cases[i].blocks) != 0)
            fail_msg("%s, %u layers: %s, expected %s", cases[i].rank, cases[i].n, blocks, cases[i].blocks);
        job_free(&job);
    }
}

static void references_beyond_the_start_are_dropped(void **state) {
    struct made_job job;
    job_make(&job, "Sfgsbc"); /* the send depends on the kernel of g, which is no node of its stream */
    struct program *program = &job.programs.list[0];
    struct program_items kept = {0};
    struct program edited = *program;
    row_t send = 0;
    while (program->items.list[send].transfer == ROW_NONE)
        send++;
    assert_int_equal(program->items.list[send].n_refs, 2); /* the last CPU node, and the kernel of g */
    for (int with_g = 0; with_g < 2; with_g++) {
        struct match_counts counts;
        struct rank_graph graph;
        struct arena arena = {0};
        assert_true(match_counts_init(&counts));
        kept = (struct program_items){0};
        /* With the kernel of g, or with only the nodes after it. */
        assert_true(program_append(&kept, program, with_g ? send - 2 : send - 1, program->items.n, false, &job.arena));
        edited.items = kept;
        assert_int_equal(program_graph(&job.programs, &edited, &counts, &graph, &arena, &job.error), SUTRA_OK);
        const row_t moved = with_g ? 2 : 1;
        assert_int_equal(graph.work[moved], WORK_COMMUNICATION);
        assert_int_equal(graph.n_waits[moved], with_g ? 2 : 1);
        assert_int_equal(graph.n_transfers, 1);
        match_counts_free(&counts);
        arena_free(&arena);
    }
    job_free(&job);
}

/* The time of the job with these numbers; UINT64_MAX: refused, with the message in job->error. */
static uint64_t time_with(struct made_job *job, struct sutra_scale_options options) {
    const struct sutra_simulate_options how = {.size = sizeof how, .gpu_streams = true};
    struct sutra_et_ranks *scaled = NULL;
    struct sutra_simulation *simulation = NULL;
    uint64_t time = UINT64_MAX;
    options.size = sizeof options;
    const bool changes = options.layers || options.micro_batches || options.data_parallel;
    if (changes && sutra_et_ranks_scale(job->context, job->ranks, &options, &scaled, &job->error)) {
        assert_int_equal(job->error.status, SUTRA_DATA);
        return time;
    }
    assert_int_equal(sutra_simulate_ranks(job->context, changes ? scaled : job->ranks, &how, &simulation, &job->error),
                     SUTRA_OK);
    assert_int_equal(sutra_simulation_n_deadlocked(simulation), 0);
    time = sutra_simulation_time_ns(simulation);
    sutra_simulation_free(simulation);
    sutra_et_ranks_free(scaled);
    return time;
}

static void recorded_numbers_take_the_recorded_time(void **state) {
    struct made_job job;
    job_make(&job, "SfghtfghtbcdbcdaSfghtfghtbcdbcda SfghtfghtbcdbcdaSfghtfghtbcdbcda");
    assert_int_equal(time_with(&job, (struct sutra_scale_options){.layers = 2}),
                     time_with(&job, (struct sutra_scale_options){0}));
    job_free(&job);
    job_make(&job, "xSfbgchda xSfbgchda");
    const uint64_t recorded = time_with(&job, (struct sutra_scale_options){0});
    assert_int_equal(time_with(&job, (struct sutra_scale_options){.micro_batches = 3}), recorded);
    assert_int_equal(time_with(&job, (struct sutra_scale_options){.data_parallel = 2}), recorded);
    assert_true(time_with(&job, (struct sutra_scale_options){.micro_batches = 4}) > recorded);
    assert_true(time_with(&job, (struct sutra_scale_options){.data_parallel = 4}) >= recorded);
    job_free(&job);
}

static void unknown_jobs_are_refused(void **state) {
    static const struct {
        const char *ranks;
        struct sutra_scale_options options;
        const char *why;
    } cases[] = {
        {"fbgc", {.micro_batches = 2}, "no profiler steps"},
        {"Sfg", {.micro_batches = 2}, "no backward pass"},
        {"Sfb", {.micro_batches = 2}, "only one micro-batch"},
        {"SfsgbcSfsgbc", {.micro_batches = 2}, "neither 1F1B nor"},
        /* the last stage has a warm-up pass, so the warm-up of the first one is unknown */
        {"Sfsfsfsrbrbrb Srfrfbsrfbsbs", {.micro_batches = 5}, "the warm-up of more micro-batches is unknown"},
        {"Sfgbc", {.layers = 2}, "no repeated layer"},
        {"Sfsrgbc Sfrsgbc", {.micro_batches = 1}, "form a cycle of ranks"},
        {"Sfsrghfghbcdbcd Sfrsghfghbcdbcd", {.layers = 2}, "form a cycle of ranks"},
        {"SfbgchdSfbgc", {.micro_batches = 2}, "has 2 micro-batches, but other ranks or steps have 3"},
        {"Sfghfghbcdbcdbcdbcd", {.layers = 2}, "passes repeat 2 and 4 blocks"},
        {"Sfghfghbcdbcd Sfghfghfghbcdbcdbcd", {.layers = 2}, "have the same number of layers"},
        {"Sfghtfghtbcdbcd Sfghfghttbcdbcd", {.layers = 4}, "different numbers of a collective"},
        {"Stfg Stfg", {.data_parallel = 4}, "has no backward pass"},
        {"Sfghfghsbcdbcd Srfghfghbcdbcd", {.layers = 3}, "not a multiple of the 2 pipeline stages"},
        {"Sfbgc Sfbgc", {.data_parallel = 4}, "no data-parallel replicas"},
        {"Stfbgc Stfbgc", {.data_parallel = 4}, "no data-parallel replicas"}, /* tensor parallel */
        {"Sfba", {.data_parallel = 4}, "no data-parallel replicas"},
        {"Sfba Sfba", {.data_parallel = 4, .ranks_per_host = 2}, "no recorded collective crosses hosts"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct made_job job;
        job_make(&job, cases[i].ranks);
        const uint64_t time = time_with(&job, cases[i].options);
        if (time != UINT64_MAX || !strstr(job.error.message, cases[i].why))
            fail_msg("%s: %" PRIu64 " %s, expected '%s'", cases[i].ranks, time, job.error.message, cases[i].why);
        job_free(&job);
    }
    struct made_job job;
    job_make(&job, "Sfba Sfba");
    const struct sutra_scale_options options = {
        .data_parallel = 4, .ranks_per_host = 2, .network = "alpha=1us,beta=1GB/s"};
    assert_true(time_with(&job, options) < UINT64_MAX);
    job_free(&job);
}

static void intervals_contain_the_estimate(void **state) {
    const struct sutra_simulate_options how = {.size = sizeof how, .gpu_streams = true};
    const struct sutra_scale_options options = {.size = sizeof options, .data_parallel = 8};
    struct sutra_simulated_interval interval = {.size = sizeof interval};
    struct sutra_et_ranks *scaled;
    struct made_job job;
    job_make(&job, "Sfba Sfba");
    const uint64_t time = time_with(&job, options);
    assert_int_equal(sutra_et_ranks_scale(job.context, job.ranks, &options, &scaled, &job.error), SUTRA_OK);
    assert_int_equal(sutra_simulate_interval(job.context, scaled, &how, &interval, &job.error), SUTRA_OK);
    assert_true(interval.has_one_size && interval.low_ns < time && time < interval.high_ns);
    assert_int_equal(sutra_simulate_interval(job.context, job.ranks, &how, &interval, &job.error), SUTRA_USAGE);
    sutra_et_ranks_free(scaled);
    job_free(&job);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(periodic_runs_match_their_definition),
        cmocka_unit_test(schedules_are_recognized),
        cmocka_unit_test(units_end_at_threads_sends_and_receives),
        cmocka_unit_test(micro_batches_are_copied_in_a_cycle),
        cmocka_unit_test(layers_are_copied_between_the_first_and_the_last),
        cmocka_unit_test(references_beyond_the_start_are_dropped),
        cmocka_unit_test(recorded_numbers_take_the_recorded_time),
        cmocka_unit_test(unknown_jobs_are_refused),
        cmocka_unit_test(intervals_contain_the_estimate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
