/*
 * fuzz_simulate.c - fuzzes the simulation: the input is a Chakra file, simulated alone and as two ranks, on few and on
 * many resources, with scaled durations; read again with only the needed fields; and used as a scale and as the network
 * of another job. The critical path covers the time from 0 to the end without gaps; nodes that never ran are explained.
 */
#include <unistd.h>

#include "../et_text.h"
#include "fuzz.h"
#include "fuzz_trace.h"
#include "sutra/pipeline.h"
#include "sutra/simulate.h"

#define N_WORTH 3

static void check_path(const struct sutra_simulation *simulation) {
    uint64_t n = sutra_simulation_n_steps(simulation), at = 0;
    for (uint64_t i = 0; i < n; i++) {
        struct sutra_simulated_step step = {.size = sizeof step};
        sutra_simulation_step(simulation, i, &step);
        check(step.name && step.start_ns == at && step.end_ns > at, "a step begins where the one before ended");
        at = step.end_ns;
    }
    check(at == sutra_simulation_time_ns(simulation), "the path ends at the end");
}

static void check_ranks(const struct sutra_simulation *simulation) {
    uint64_t n_stuck = 0, end = 0;
    for (uint32_t r = 0; r < sutra_simulation_ranks(simulation); r++) {
        struct sutra_simulated_rank rank = {.size = sizeof rank};
        sutra_simulation_rank(simulation, r, &rank);
        check(rank.n_ran <= rank.n_nodes, "nodes run once");
        n_stuck += rank.n_nodes - rank.n_ran;
        end = rank.time_ns > end ? rank.time_ns : end;
    }
    check(end == sutra_simulation_time_ns(simulation), "the job ends with its last rank");
    check(n_stuck == sutra_simulation_n_deadlocked(simulation), "a node runs, or it is stuck");
}

static void check_stuck(const struct sutra_simulation *simulation) {
    struct sutra_deadlocked_node node = {.size = sizeof node};
    uint64_t n_stuck = sutra_simulation_n_deadlocked(simulation);
    check(sutra_simulation_deadlocked(simulation, 0, &node) == (n_stuck > 0), "what is stuck is explained");
    for (uint32_t i = 1; i < 8 && sutra_simulation_deadlocked(simulation, i, &node); i++)
        check(i < n_stuck && node.name && node.awaited_name, "by nodes that are stuck");
}

static void check_names(struct sutra_context *context, struct sutra_simulation *simulation) {
    struct sutra_error error;
    uint64_t n = sutra_simulation_n_names(simulation), longest = UINT64_MAX;
    check(sutra_simulation_what_if(context, simulation, N_WORTH, &error) == SUTRA_OK, "names are worth something");
    for (uint64_t i = 0; i < n; i++) {
        struct sutra_simulated_name name = {.size = sizeof name};
        sutra_simulation_name(simulation, i, &name);
        check(name.run_ns <= longest, "the longest name comes first");
        check((name.free_ns != UINT64_MAX) == (i < N_WORTH), "as many are worth something as were asked for");
        longest = name.run_ns;
    }
}

static void simulate(struct sutra_context *context, const struct sutra_et *et, uint32_t n_ranks,
                     const struct sutra_simulate_options *options, const char *path) {
    const struct sutra_et *ets[] = {et, et};
    struct sutra_simulation *simulation = NULL;
    struct sutra_error error = {0};
    enum sutra_status status = sutra_simulate(context, ets, NULL, n_ranks, options, &simulation, &error);
    check_outcome(status, &error, simulation);
    check(status == SUTRA_OK || status == SUTRA_DATA || (status == SUTRA_USAGE && options->n_scales > 0),
          "only durations can be wrong, or a change selects no node");
    if (!simulation)
        return;
    check_ranks(simulation);
    check_stuck(simulation);
    check_path(simulation);
    check_names(context, simulation);
    check(sutra_simulation_write_trace(context, simulation, path, NULL, &error) == SUTRA_OK, "times can be written");
    sutra_simulation_free(simulation);
}

static void simulate_all(struct sutra_context *context, const struct sutra_et *et, const char *path) {
    static const char *const changes[] = {"name=~[a-m]:0.5", "op=aten::mm:3", "rank=1:gpu:0.1",
                                          "comm:1e9",        "stream=7:0",    "cpu:2.5"};
    struct sutra_simulate_options options = {.size = sizeof options};
    for (unsigned how = 0; how < 8; how++) {
        options.gpu_streams = how & 1;
        options.cpu_threads = options.no_launch_latency = how >> 1 & 1;
        options.alone = how >> 2 & 1;
        options.scales = changes;
        options.n_scales = how & 1 ? sizeof changes / sizeof *changes : 0;
        simulate(context, et, 1 + (how >> 1 & 1), &options, path);
    }
}

/* Bubbles and experts of the times, and the job with other numbers, which is refused or simulated. */
static void scale_kept(struct sutra_context *context, const struct sutra_et_ranks *ranks) {
    static const struct sutra_scale_options numbers[] = {{.layers = 3},
                                                         {.micro_batches = 3},
                                                         {.data_parallel = 3, .ranks_per_host = 2},
                                                         {.layers = 2, .micro_batches = 1, .data_parallel = 4}};
    const struct sutra_simulate_options how = {.size = sizeof how, .gpu_streams = true};
    struct sutra_error error = {0};
    for (size_t i = 0; i <= sizeof numbers / sizeof *numbers; i++) {
        struct sutra_scale_options options = i > 0 ? numbers[i - 1] : (struct sutra_scale_options){0};
        struct sutra_et_ranks *scaled = NULL;
        struct sutra_simulation *simulation = NULL;
        struct sutra_pipeline *pipeline = NULL;
        options.size = sizeof options;
        enum sutra_status status = i > 0 ? sutra_et_ranks_scale(context, ranks, &options, &scaled, &error) : SUTRA_OK;
        if (i > 0)
            check_outcome(status, &error, scaled);
        check(status == SUTRA_OK || status == SUTRA_DATA, "a job is changed or refused");
        if (status)
            continue;
        check(!sutra_simulate_ranks(context, scaled ? scaled : ranks, &how, &simulation, &error), "it is simulated");
        check_ranks(simulation);
        status = sutra_pipeline_run(context, simulation, &pipeline, &error);
        check_outcome(status, &error, pipeline);
        check(status == SUTRA_OK || status == SUTRA_DATA, "there are tables, or a cycle");
        sutra_pipeline_free(pipeline);
        sutra_simulation_free(simulation);
        sutra_et_ranks_free(scaled);
    }
}

/* The same bytes as two files of which only what is needed is kept: what is malformed elsewhere does not count, but
 * what can be read as a whole has the same nodes. */
static void simulate_kept(struct sutra_context *context, const uint8_t *data, size_t size, const char *path) {
    const char *const paths[] = {path, path};
    const struct sutra_simulate_options options = {.size = sizeof options, .bandwidth = 2, .no_straggler = true};
    struct sutra_et_ranks *ranks = NULL;
    struct sutra_simulation *simulation = NULL;
    struct sutra_et *whole = NULL;
    struct sutra_error error = {0};
    enum sutra_status status = sutra_et_ranks_read(context, paths, NULL, 2, &ranks, &error);
    check_outcome(status, &error, ranks);
    check(status == SUTRA_OK || status == SUTRA_DATA, "a file is malformed or not");
    if (!ranks)
        return;
    status = sutra_simulate_ranks(context, ranks, &options, &simulation, &error);
    check_outcome(status, &error, simulation);
    check(status == SUTRA_OK, "nothing can be wrong then");
    check_ranks(simulation);
    check_path(simulation);
    if (!sutra_et_parse(context, "a.0.et", data, size, NULL, &whole, &error)) {
        struct sutra_simulated_rank rank = {.size = sizeof rank};
        sutra_simulation_rank(simulation, 0, &rank);
        check(rank.n_nodes <= whole->file.nodes.n, "nodes are those of the file");
        sutra_et_free(whole);
    }
    sutra_simulation_free(simulation);
    scale_kept(context, ranks);
    sutra_et_ranks_free(ranks);
}

/* Arguments of the command line: the input's text as a scale and as a network, of a job with recorded transfers. */
static void simulate_words(struct sutra_context *context, const uint8_t *data, size_t size) {
    static const char lines[] =
        "{}\n{\"id\":\"1\",\"name\":\"r\",\"type\":\"COMM_COLL_NODE\",\"durationMicros\":\"9\",\"attr\":[{\"name\":"
        "\"meeting\",\"int64Val\":\"1\"},{\"name\":\"meeting_kind\",\"stringVal\":\"all-reduce\"},{\"name\":"
        "\"meeting_ranks\",\"int64Val\":\"2\"},{\"name\":\"meeting_bytes\",\"int64Val\":\"4096\"}]}\n";
    char word[200];
    size_t n = size < sizeof word - 1 ? size : sizeof word - 1;
    memcpy(word, data, n);
    word[n] = 0;
    const char *const change = word;
    const struct sutra_simulate_options told[] = {{.size = sizeof *told, .network = word},
                                                  {.size = sizeof *told, .scales = &change, .n_scales = 1}};
    struct sutra_et *et = NULL;
    struct sutra_error error = {0};
    check(et_parse_text(context, lines, &et, &error) == SUTRA_OK, "it is a job");
    const struct sutra_et *const ets[] = {et, et};
    for (int i = 0; i < 2; i++) {
        struct sutra_simulation *simulation = NULL;
        enum sutra_status status = sutra_simulate(context, ets, NULL, 2, &told[i], &simulation, &error);
        check_outcome(status, &error, simulation);
        check(status == SUTRA_OK || status == SUTRA_USAGE, "a word is understood or not");
        check(!simulation || sutra_simulation_time_ns(simulation) < UINT64_MAX / 2, "a time is a time");
        sutra_simulation_free(simulation);
    }
    sutra_et_free(et);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sutra_et_read_options damaged = {.size = sizeof damaged, .damaged = true};
    struct sutra_context *context = new_context(1);
    struct sutra_et *et = NULL;
    struct sutra_error error = {0};
    char path[] = P_tmpdir "/sutra_fuzz_XXXXXX";
    int file = mkstemp(path);
    check(file >= 0, "a file can be made");
    check(write(file, data, size) == (ssize_t)size, "it can be written");
    close(file);
    enum sutra_status status = sutra_et_parse(context, "a.0.et", data, size, &damaged, &et, &error);
    check_outcome(status, &error, et);
    simulate_kept(context, data, size, path);
    simulate_words(context, data, size);
    if (et)
        simulate_all(context, et, path);
    sutra_et_free(et);
    sutra_context_free(context);
    unlink(path);
    return 0;
}
