/*
 * test_simulation.c - tests simulations of small jobs, one line for each node: selectors of scales, the critical path,
 * what-if results by name, and reports of deadlocked jobs.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "et_text.h"
#include "link_case.h"
#include "sutra/simulate.h"

#define RANKS_MAX 3
#define US        UINT64_C(1000)

#define METADATA "{}\n"

/* Nodes as lines; ids, times and lists of ids are given as texts. */
#define NODE_LINE(id, name, type, us, deps, attributes)                                                                \
    "{'id':'" id "','name':'" name "','type':'" type "','durationMicros':'" us "'," deps ",'attr':[" attributes "]}\n"
#define IS_CPU(value)               "{'name':'is_cpu_op','boolVal':" value "}"
#define NUMBER_OF(n, v)             "{'name':'" n "','int64Val':'" v "'}"
#define AFTER(ids)                  "'dataDeps':[" ids "]"
#define ON_CPU(id, name, us, after) NODE_LINE(id, name, "COMP_NODE", us, AFTER(after), IS_CPU("true"))
#define ON_GPU(id, name, us, after, stream)                                                                            \
    NODE_LINE(id, name, "COMP_NODE", us, AFTER(after), IS_CPU("false") "," NUMBER_OF("stream", stream))
#define MEETS(id, name, us, after, group)                                                                              \
    NODE_LINE(id, name, "COMM_COLL_NODE", us, AFTER(after),                                                            \
              IS_CPU("false") ",{'name':'pg_name','stringVal':'" group "'}")

#define SENDS(id, us, after, to, tag, bytes)                                                                           \
    NODE_LINE(id, "send", "COMM_SEND_NODE", us, AFTER(after),                                                          \
              IS_CPU("false") "," NUMBER_OF("comm_dst", to) "," NUMBER_OF("comm_tag", tag) "," NUMBER_OF("comm_size",  \
                                                                                                         bytes))
#define RECEIVES(id, us, after, from, tag)                                                                             \
    NODE_LINE(id, "receive", "COMM_RECV_NODE", us, AFTER(after),                                                       \
              IS_CPU("false") "," NUMBER_OF("comm_src", from) "," NUMBER_OF("comm_tag", tag))
#define COLLECTIVE(id, after, type, bytes)                                                                             \
    NODE_LINE(id, "collective", "COMM_COLL_NODE", "0", AFTER(after),                                                   \
              IS_CPU("false") "," NUMBER_OF("comm_type", type) "," NUMBER_OF("comm_size", bytes))

struct simulated_job {
    struct sutra_context *context;
    struct sutra_et *ets[RANKS_MAX];
    uint32_t n;
    struct sutra_simulation *simulation;
    struct sutra_error error;
};

/* Reads the ranks' lines, up to a NULL. */
static struct simulated_job job_read(const char *const *ranks) {
    struct simulated_job job = {0};
    job.context = NEW_CONTEXT();
    for (; ranks[job.n]; job.n++) {
        char text[4000];
        assert_true(snprintf(text, sizeof text, METADATA "%s", ranks[job.n]) < (int)sizeof text);
        if (et_parse_text(job.context, text, &job.ets[job.n], &job.error))
            fail_msg("%s", job.error.message);
    }
    return job;
}

static enum sutra_status job_run(struct simulated_job *job, const struct sutra_simulate_options *options) {
    sutra_simulation_free(job->simulation);
    job->simulation = NULL;
    return sutra_simulate(job->context, (const struct sutra_et *const *)job->ets, NULL, job->n, options,
                          &job->simulation, &job->error);
}

static uint64_t job_time(struct simulated_job *job, const struct sutra_simulate_options *options) {
    if (job_run(job, options))
        fail_msg("%s", job->error.message);
    return sutra_simulation_time_ns(job->simulation);
}

/* The time with one change. */
static uint64_t time_with(struct simulated_job *job, const char *change) {
    const struct sutra_simulate_options options = {.size = sizeof options, .scales = &change, .n_scales = 1};
    return job_time(job, &options);
}

static void job_free(struct simulated_job *job) {
    sutra_simulation_free(job->simulation);
    for (uint32_t r = 0; r < job->n; r++)
        sutra_et_free(job->ets[r]);
    sutra_context_free(job->context);
}

/* ---- Changes ---- */

/* An operator of 10 us that launches a gemm and a copy, which take 100 and 1,000 us, the gemm 20 of these before it
 * begins; an all-reduce takes 10,000. One thing comes after the other, so times add up. */
static const char *const digits[] = {
    ON_CPU("1", "op a", "10", "")
        NODE_LINE("2", "gemm", "COMP_NODE", "100", "'ctrlDeps':[1]",
                  IS_CPU("false") "," NUMBER_OF("stream", "7") "," NUMBER_OF("kernel_exec_ns", "80000"))
            ON_GPU("3", "copy", "1000", "2", "20") MEETS("4", "all-reduce", "10000", "3", "0"),
    NULL,
};

static void changes_scale_the_selected_nodes(void **state) {
    static const struct {
        const char *change;
        uint64_t us;
    } cases[] = {
        {"cpu:0", 11100},        {"gpu:2", 22190},      {"compute:2", 12190},      {"comm:0.5", 6110},
        {"name=gemm:0", 11030},  {"gpu:2x", 22190},     {"name=~^g.*m$:0", 11030}, {"name=~^op|copy:2", 12120},
        {"op=op a:0.5", 11070},  {"op=~a$:0.5", 11070}, {"stream=7:3", 11270},     {"stream=20:0", 10110},
        {"rank=0:cpu:2", 11120},
    };
    struct simulated_job job = job_read(digits);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t expected = cases[i].us * US, time = time_with(&job, cases[i].change);
        if (time < expected || time > expected + 1) /* a node without duration takes a nanosecond */
            fail_msg("%s: %" PRIu64 " ns, expected %" PRIu64, cases[i].change, time, expected);
    }
    job_free(&job);
}

static void changes_are_multiplied(void **state) {
    static const char *const changes[] = {"name=copy:0.5", "stream=20:0.5", "compute:2"};
    struct sutra_simulate_options options = {.size = sizeof options, .scales = changes, .n_scales = 3};
    struct simulated_job job = job_read(digits);
    assert_int_equal(job_time(&job, &options), (10 + 20 + 160 + 500 + 10000) * US);
    options.no_launch_latency = true;
    assert_int_equal(job_time(&job, &options), (10 + 160 + 500 + 10000) * US);
    job_free(&job);
}

static void malformed_changes_are_errors_with_a_reason(void **state) {
    static const struct {
        const char *change, *reason;
    } cases[] = {
        {"gpu", "WHAT:FACTOR"},        {"gpu:", "WHAT:FACTOR"},
        {"gpu:-1", "0 to 1e9"},        {"gpu:nan", "0 to 1e9"},
        {"gpu:1e10", "0 to 1e9"},      {"gpu:2xx", "0 to 1e9"},
        {"rank=:gpu:2", "rank=N:"},    {"rank=x:gpu:2", "rank=N:"},
        {"rank=1:2", "rank=N:"},       {"rank=99999999999999999999:gpu:2", "rank=N:"},
        {":2", "WHAT must be"},        {"GPU:2", "WHAT must be"},
        {"stream=:2", "WHAT must be"}, {"stream=7a:2", "WHAT must be"},
        {"name=~(:2", "'name=~(:2'"},
    };
    struct simulated_job job = job_read(digits);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *change = cases[i].change;
        const struct sutra_simulate_options options = {.size = sizeof options, .scales = &change, .n_scales = 1};
        assert_int_equal(job_run(&job, &options), SUTRA_USAGE);
        assert_null(job.simulation);
        if (!strstr(job.error.message, cases[i].reason) || !strstr(job.error.message, change))
            fail_msg("%s: %s", change, job.error.message);
    }
    job_free(&job);
}

static void unknown_ranks_streams_and_names_are_errors(void **state) {
    static const struct {
        const char *change, *message;
    } cases[] = {
        {"rank=1:cpu:2", "no file of rank 1; the nearest rank is 0"},
        {"stream=-1:0", "no stream -1; the nearest stream is 0"},
        {"stream=19:0", "no stream 19; the nearest stream is 20"},
        {"name=gem:0", "no node is named 'gem'; did you mean 'gemm'?"},
        {"op=op c:0", "no operator is named 'op c'; did you mean 'op a'?"},
        {"name=a:b:0", "no node is named 'a:b'; select names by a regular expression with =~REGEX"},
        {"name=~^z:0", "'name=~^z:0': no node name matches '^z'"},
    };
    struct simulated_job job = job_read(digits);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *change = cases[i].change;
        const struct sutra_simulate_options options = {.size = sizeof options, .scales = &change, .n_scales = 1};
        assert_int_equal(job_run(&job, &options), SUTRA_USAGE);
        assert_string_equal(job.error.message, cases[i].message);
    }
    job_free(&job);
}

/* ---- Paths ---- */

/* Rank 0 is in the all-reduce at 40 and waits until rank 1 comes at 100; both leave it at 130, then rank 0 ends. */
static const char *const late_rank[] = {
    ON_CPU("1", "forward", "40", "") MEETS("2", "all-reduce", "30", "1", "0") ON_CPU("3", "step", "25", "2"),
    ON_CPU("1", "forward", "60", "") ON_GPU("2", "gemm", "40", "1", "7") MEETS("3", "all-reduce", "30", "2", "0"),
    NULL,
};

static void expect_path_step(const struct simulated_job *job, uint64_t i, uint64_t rank, const char *name, int work,
                             uint64_t start_us, uint64_t end_us) {
    struct sutra_simulated_step step = {.size = sizeof step};
    sutra_simulation_step(job->simulation, i, &step);
    assert_int_equal(step.rank, rank);
    assert_string_equal(step.name, name);
    assert_int_equal(step.work, work);
    assert_int_equal(step.start_ns, start_us * US);
    assert_int_equal(step.end_ns, end_us * US);
}

static void path_goes_through_the_last_arriving_rank(void **state) {
    struct simulated_job job = job_read(late_rank);
    struct sutra_simulated_rank rank = {.size = sizeof rank};
    assert_int_equal(job_time(&job, NULL), 155 * US);
    assert_int_equal(sutra_simulation_n_steps(job.simulation), 4);
    expect_path_step(&job, 0, 1, "forward", 0, 0, 60);
    expect_path_step(&job, 1, 1, "gemm", 1, 60, 100);
    expect_path_step(&job, 2, 0, "all-reduce", 2, 100, 130);
    expect_path_step(&job, 3, 0, "step", 0, 130, 155);
    sutra_simulation_rank(job.simulation, 0, &rank);
    assert_int_equal(rank.wait_ns, 60 * US);
    assert_int_equal(rank.comm_ns, 30 * US);
    assert_int_equal(rank.n_matched_collectives, 1);
    job_free(&job);
}

static void ranks_that_are_alone_do_not_wait(void **state) {
    const struct sutra_simulate_options alone = {.size = sizeof alone, .alone = true};
    struct simulated_job job = job_read(late_rank);
    assert_int_equal(job_time(&job, &alone), 130 * US);
    expect_path_step(&job, 0, 1, "forward", 0, 0, 60);
    job_free(&job);
}

static void scaled_nodes_are_counted_with_their_time_on_the_path(void **state) {
    static const struct {
        const char *change;
        uint64_t n_nodes, n_rounded, path_us;
    } cases[] = {{"gpu:2", 3, 0, 11100}, {"name=gemm:0.5", 1, 0, 100},       {"cpu:1", 0, 0, 0},
                 {"cpu:1.001", 0, 1, 0}, {"rank=0:stream=20:0", 1, 0, 1000}, {"compute:2", 2, 0, 1100}};
    struct simulated_job before = job_read(digits), job = job_read(digits);
    job_time(&before, NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sutra_simulated_change change = {.size = sizeof change};
        time_with(&job, cases[i].change);
        assert_true(sutra_simulation_change(job.simulation, before.simulation, &change));
        if (change.n_nodes != cases[i].n_nodes || change.n_rounded != cases[i].n_rounded ||
            change.path_ns != cases[i].path_us * US)
            fail_msg("%s: %" PRIu64 " nodes, %" PRIu64 " rounded, %" PRIu64 " ns", cases[i].change, change.n_nodes,
                     change.n_rounded, change.path_ns);
    }
    struct simulated_job other = job_read(late_rank);
    struct sutra_simulated_change change = {.size = sizeof change};
    job_time(&other, NULL);
    assert_false(sutra_simulation_change(other.simulation, before.simulation, &change));
    job_free(&other);
    job_free(&job);
    job_free(&before);
}

static void selections_without_a_node_are_errors(void **state) {
    static const struct {
        const char *change, *message;
    } cases[] = {{"op=copy:0", "'op=copy:0': no selected operator launches a node; select the node itself by name="},
                 {"rank=0:name=gemm:0", "'rank=0:name=gemm:0': no node has the selected name on rank 0; omit rank=0:"}};
    struct simulated_job job = job_read(digits), ranks = job_read(late_rank);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct sutra_simulate_options options = {
            .size = sizeof options, .scales = &cases[i].change, .n_scales = 1};
        struct simulated_job *of = i == 0 ? &job : &ranks;
        assert_int_equal(job_run(of, &options), SUTRA_USAGE);
        assert_string_equal(of->error.message, cases[i].message);
    }
    job_free(&job);
    job_free(&ranks);
}

/* ---- What-ifs by name ---- */

static struct sutra_simulated_name name_of(const struct simulated_job *job, const char *text) {
    struct sutra_simulated_name name = {.size = sizeof name};
    for (uint64_t i = 0; i < sutra_simulation_n_names(job->simulation); i++) {
        sutra_simulation_name(job->simulation, i, &name);
        if (strcmp(name.name, text) == 0)
            return name;
    }
    fail_msg("there is no name %s", text);
    return name;
}

static void what_if_of_a_name_is_the_time_without_its_nodes(void **state) {
    struct simulated_job job = job_read(late_rank);
    job_time(&job, NULL);
    assert_int_equal(name_of(&job, "gemm").free_ns, UINT64_MAX);
    assert_int_equal(sutra_simulation_what_if(job.context, job.simulation, 100, &job.error), SUTRA_OK);
    struct sutra_simulated_name forward = name_of(&job, "forward");
    assert_int_equal(forward.n_nodes, 2);
    assert_int_equal(forward.run_ns, 100 * US);
    assert_int_equal(forward.path_ns, 60 * US);
    /* Of the 60 us on the path all are gained, and a node without duration takes a nanosecond. */
    assert_int_equal(forward.free_ns, 95 * US + 1);
    assert_int_equal(name_of(&job, "gemm").free_ns, 115 * US + 1);
    assert_int_equal(name_of(&job, "all-reduce").free_ns, 125 * US + 1);
    assert_int_equal(name_of(&job, "step").free_ns, 130 * US + 1);
    job_free(&job);
}

static void only_the_requested_number_of_names_is_evaluated(void **state) {
    struct sutra_simulated_name first = {.size = sizeof first}, second = {.size = sizeof second};
    struct simulated_job job = job_read(late_rank);
    job_time(&job, NULL);
    assert_int_equal(sutra_simulation_what_if(job.context, job.simulation, 1, &job.error), SUTRA_OK);
    sutra_simulation_name(job.simulation, 0, &first);
    sutra_simulation_name(job.simulation, 1, &second);
    assert_string_equal(first.name, "forward");
    assert_int_not_equal(first.free_ns, UINT64_MAX);
    assert_string_equal(second.name, "all-reduce");
    assert_int_equal(second.free_ns, UINT64_MAX);
    job_free(&job);
}

/* ---- Deadlocks ---- */

/* The i-th node that explains why: "meets 0:2 -> 1:3", ranks and ids. "": no more. */
static const char *stuck_text(const struct simulated_job *job, uint32_t i) {
    static char text[100];
    static const char *const whys[] = {"", "meets ", "behind ", "held ", "unsent "};
    struct sutra_deadlocked_node node = {.size = sizeof node};
    if (!sutra_simulation_deadlocked(job->simulation, i, &node))
        return "";
    snprintf(text, sizeof text, "%s%" PRIu64 ":%" PRIu64 " -> %" PRIu64 ":%" PRIu64, whys[node.why], node.rank, node.id,
             node.awaited_rank, node.awaited_id);
    return text;
}

/* All of them. */
static void check_stuck(const struct simulated_job *job, const char *expected) {
    char text[400] = "";
    for (uint32_t i = 0; *stuck_text(job, i); i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? ", " : "", stuck_text(job, i));
    assert_string_equal(text, expected);
}

static void nodes_of_a_cycle_are_named(void **state) {
    static const char *const ring[] = {
        ON_CPU("1", "a", "5", "") ON_CPU("2", "behind", "5", "4") ON_CPU("3", "b", "5", "5") ON_CPU("4", "c", "5", "3")
            ON_CPU("5", "d", "5", "1,4"),
        NULL,
    };
    struct simulated_job job = job_read(ring);
    assert_int_equal(job_time(&job, NULL), 5 * US);
    assert_int_equal(sutra_simulation_n_deadlocked(job.simulation), 4);
    const char *const expected[] = {"0:4 -> 0:3", "0:3 -> 0:5", "0:5 -> 0:4", ""};
    for (uint32_t i = 0; i < 4; i++)
        for (uint32_t k = 0; k < 3; k++) /* from any of them on */
            if (strncmp(stuck_text(&job, 0), expected[k], 3) == 0)
                assert_string_equal(stuck_text(&job, i), i < 3 ? expected[(k + i) % 3] : "");
    assert_int_not_equal(strncmp(stuck_text(&job, 0), "0:2", 3), 0);
    job_free(&job);
}

static void ranks_with_different_orders_wait_for_each_other(void **state) {
    static const char *const crossed[] = {
        MEETS("1", "x", "5", "", "1") MEETS("2", "y", "5", "1", "2"),
        MEETS("1", "y", "5", "", "2") MEETS("2", "x", "5", "1", "1"),
        NULL,
    };
    struct simulated_job job = job_read(crossed);
    assert_int_equal(job_time(&job, NULL), 0);
    assert_int_equal(sutra_simulation_n_deadlocked(job.simulation), 4);
    assert_int_equal(sutra_simulation_n_steps(job.simulation), 0);
    check_stuck(&job, "meets 0:1 -> 1:2, behind 1:2 -> 1:1, meets 1:1 -> 0:2, behind 0:2 -> 0:1");
    job_free(&job);
}

/* Neither depends on the other's node, but each occupies the resource of the other. */
static void nodes_wait_for_occupied_resources(void **state) {
    static const char *const held[] = {
        MEETS("1", "x", "5", "", "1") MEETS("2", "y", "5", "", "2"),
        MEETS("1", "y", "5", "", "2") MEETS("2", "x", "5", "", "1"),
        NULL,
    };
    struct simulated_job job = job_read(held);
    job_time(&job, NULL);
    check_stuck(&job, "meets 0:1 -> 1:2, held 1:2 -> 1:1, meets 1:1 -> 0:2, held 0:2 -> 0:1");
    job_free(&job);
}

/* Rank 0 waits for rank 1, of which a ring keeps the node; the node in between depends on it, too. */
static void other_ranks_wait_for_a_rank_blocked_by_a_cycle(void **state) {
    static const char *const held_up[] = {
        MEETS("7", "x", "5", "", "0"),
        ON_CPU("1", "a", "5", "2") ON_CPU("2", "b", "5", "1") ON_CPU("4", "c", "5", "2") MEETS("5", "x", "5", "4", "0"),
        NULL,
    };
    struct simulated_job job = job_read(held_up);
    job_time(&job, NULL);
    assert_int_equal(sutra_simulation_n_deadlocked(job.simulation), 5);
    check_stuck(&job, "meets 0:7 -> 1:5, behind 1:5 -> 1:2, 1:1 -> 1:2, 1:2 -> 1:1");
    job_free(&job);
}

/* A cycle is found although its nodes wait for other nodes first, and reported although nodes wait in collectives. */
static void cycles_and_collectives_are_both_reported(void **state) {
    static const char *const both[] = {
        MEETS("1", "x", "5", "", "1") MEETS("2", "y", "5", "1", "2") ON_CPU("3", "a", "5", "1,4")
            ON_CPU("4", "b", "5", "3"),
        MEETS("1", "y", "5", "", "2") MEETS("2", "x", "5", "1", "1"),
        NULL,
    };
    struct simulated_job job = job_read(both);
    job_time(&job, NULL);
    check_stuck(&job,
                "meets 0:1 -> 1:2, behind 1:2 -> 1:1, meets 1:1 -> 0:2, behind 0:2 -> 0:1, 0:3 -> 0:4, 0:4 -> 0:3");
    job_free(&job);
}

static void a_node_that_depends_on_itself_never_runs(void **state) {
    static const char *const own[] = {
        ON_CPU("1", "a", "5", "") ON_CPU("2", "b", "5", "1,2") ON_CPU("3", "c", "5", "2"),
        NULL,
    };
    struct simulated_job job = job_read(own);
    assert_int_equal(job_time(&job, NULL), 5 * US);
    assert_int_equal(sutra_simulation_n_deadlocked(job.simulation), 2);
    check_stuck(&job, "0:2 -> 0:2");
    job_free(&job);
}

/* The third rank has one all-reduce less; who is not there cannot be waited for, so the two others meet without it. */
static void a_rank_that_lacks_a_node_is_not_waited_for(void **state) {
    static const char *const lacking[] = {
        MEETS("1", "x", "5", "", "0") MEETS("2", "x", "5", "1", "0"),
        MEETS("1", "x", "5", "", "0") MEETS("2", "x", "5", "1", "0"),
        MEETS("1", "x", "5", "", "0"),
        NULL,
    };
    struct simulated_job job = job_read(lacking);
    assert_int_equal(job_time(&job, NULL), 10 * US);
    assert_int_equal(sutra_simulation_n_deadlocked(job.simulation), 0);
    assert_string_equal(stuck_text(&job, 0), "");
    job_free(&job);
}

/* ---- Files without matches ---- */

/* Both ranks receive first, on one resource of communication, and each sends after a kernel. */
static const char *const exchange[] = {
    RECEIVES("1", "4", "", "1", "0") ON_GPU("2", "gemm", "20", "", "7") SENDS("3", "5", "2", "1", "0", "2000")
        ON_GPU("4", "gemm", "20", "1", "7"),
    RECEIVES("1", "4", "", "0", "0") ON_GPU("2", "gemm", "40", "", "7") SENDS("3", "5", "2", "0", "0", "4000")
        ON_GPU("4", "gemm", "20", "1", "7"),
    NULL,
};

static void expect_rank_times(const struct simulated_job *job, uint64_t first_us, uint64_t second_us) {
    const uint64_t us[] = {first_us, second_us};
    for (uint32_t r = 0; r < 2; r++) {
        struct sutra_simulated_rank rank = {.size = sizeof rank};
        sutra_simulation_rank(job->simulation, r, &rank);
        assert_int_equal(rank.time_ns, us[r] * US);
    }
    assert_int_equal(sutra_simulation_n_deadlocked(job->simulation), 0);
}

static void replayed_receives_run_without_a_resource(void **state) {
    struct simulated_job job = job_read(exchange);
    job_time(&job, NULL);
    expect_rank_times(&job, 40, 60);
    assert_int_equal(sutra_simulation_n_collectives(job.simulation), 0);
    job_free(&job);
}

static void receives_end_when_their_messages_arrive(void **state) {
    const struct sutra_simulate_options options = {.size = sizeof options, .network = "alpha=3us,beta=1GB/s"};
    struct simulated_job job = job_read(exchange);
    job_time(&job, &options);
    expect_rank_times(&job, 67, 60); /* kernel, 3 us and 4 us of 4000 bytes, kernel; rank 1 has its message at 25 us */
    struct sutra_simulated_wait wait = {.size = sizeof wait};
    assert_int_equal(sutra_simulation_n_waits(job.simulation), 2);
    sutra_simulation_wait(job.simulation, 0, &wait);
    assert_int_equal(wait.ns, 47 * US);
    assert_int_equal(sutra_simulation_n_steps(job.simulation), 4); /* of both ranks */
    job_free(&job);
}

static void messages_that_no_rank_sends_are_reported(void **state) {
    static const char *const lacks_send[] = {
        RECEIVES("1", "4", "", "1", "0") RECEIVES("2", "4", "", "1", "0") RECEIVES("3", "4", "", "8", "0"),
        SENDS("3", "5", "", "0", "0", "1000"),
        NULL,
    };
    const struct sutra_simulate_options options = {.size = sizeof options, .network = "alpha=1us,beta=1GB/s"};
    struct simulated_job job = job_read(lacks_send);
    assert_int_equal(job_time(&job, &options), 2 * US);
    assert_int_equal(sutra_simulation_n_deadlocked(job.simulation), 1); /* rank 8 has no file */
    check_stuck(&job, "unsent 0:2 -> 0:2");
    assert_int_equal(job_time(&job, NULL), 5 * US);
    assert_int_equal(sutra_simulation_n_deadlocked(job.simulation), 0);
    job_free(&job);
}

static void messages_of_a_rank_to_itself_match(void **state) {
    static const char *const own[] = {RECEIVES("1", "4", "", "0", "0") SENDS("2", "5", "", "0", "0", "1000"),
                                      ON_CPU("1", "a", "1", ""), NULL};
    const struct sutra_simulate_options options = {.size = sizeof options, .network = "alpha=1us,beta=1GB/s"};
    struct simulated_job job = job_read(own);
    assert_int_equal(job_time(&job, &options), 2 * US);
    assert_int_equal(sutra_simulation_n_deadlocked(job.simulation), 0);
    job_free(&job);
}

static void sizes_set_the_times_of_collectives(void **state) {
    static const struct {
        const char *type;
        uint64_t us;
    } cases[] = {{"0", 1 + 8}, {"2", 1 + 8}, {"7", 1 + 4}, {"6", 1 + 4}, {"5", 1 + 8}, {"99", 1 + 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char lines[2][1000];
        for (int r = 0; r < 2; r++)
            snprintf(lines[r], sizeof lines[r], COLLECTIVE("1", "", "%s", "8000"), cases[i].type);
        struct simulated_job job = job_read((const char *const[]){lines[0], lines[1], NULL});
        struct sutra_simulate_options options = {.size = sizeof options, .network = "alpha=1us,beta=1GB/s"};
        assert_int_equal(job_time(&job, &options), cases[i].us * US);
        options.bandwidth = 2;
        assert_int_equal(job_time(&job, &options), (1 + (cases[i].us - 1) / 2) * US);
        assert_int_equal(job_time(&job, NULL), 1);
        options.network = "alpha=1us";
        assert_int_equal(job_run(&job, &options), SUTRA_DATA);
        job_free(&job);
    }
}

static void memory_nodes_occupy_the_resource_of_communication(void **state) {
    static const char *const loads[] = {NODE_LINE("1", "load", "MEM_LOAD_NODE", "20", AFTER(""), IS_CPU("false"))
                                            MEETS("2", "all-reduce", "5", "", "1") ON_GPU("3", "gemm", "21", "", "7"),
                                        NULL};
    struct simulated_job job = job_read(loads);
    assert_int_equal(job_time(&job, NULL), 25 * US);
    job_free(&job);
}

static void peaks_set_the_times_of_kernels(void **state) {
#define SIZED(id, us, ops, bytes)                                                                                      \
    NODE_LINE(id, "gemm", "COMP_NODE", us, AFTER(""),                                                                  \
              IS_CPU("false") "," NUMBER_OF("num_ops", ops) "," NUMBER_OF("tensor_size", bytes))
    /* 1 us of operations, 2 us of memory, a recorded duration, no sizes. */
    static const char *const kernels[] = {SIZED("1", "0", "2000000", "10") SIZED("2", "0", "10", "2000000")
                                              SIZED("3", "30", "2000000", "10") ON_GPU("4", "copy", "0", "", "7"),
                                          NULL};
    char path[] = "/tmp/sutra-peaks-XXXXXX";
    const int file = mkstemp(path);
    static const char text[] = "{'mem_bw_gbps': 1000, 'max_achievable_tflops': {'matrix_bf16': 2, 'vector_fp32': 9}}";
    for (const char *at = text; *at; at++)
        assert_int_equal(write(file, *at == '\'' ? "\"" : at, 1), 1);
    close(file);
    const struct sutra_simulate_options options = {.size = sizeof options, .peaks = path};
    struct simulated_job job = job_read(kernels);
    assert_int_equal(job_time(&job, &options), 33 * US + 1);
    assert_int_equal(job_time(&job, NULL), 30 * US + 3);
    unlink(path);
    assert_int_equal(job_run(&job, &options), SUTRA_NO_INPUT);
    job_free(&job);
}

static void times_from_sizes_that_overflow_are_refused(void **state) {
    static const char *const sizes[] = {COLLECTIVE("1", "", "0", "9000000000000000000"),
                                        COLLECTIVE("1", "", "0", "9000000000000000000"), NULL};
    struct sutra_simulate_options options = {.size = sizeof options, .network = "alpha=1us,beta=1B/s"};
    struct simulated_job job = job_read(sizes);
    assert_int_equal(job_run(&job, &options), SUTRA_DATA);
    options.network = "alpha=1us,beta=1TB/s";
    assert_int_equal(job_time(&job, &options), UINT64_C(9000000000001) * US);
    job_free(&job);
}

/* ---- Ranks of a job ---- */

#define MET(id, name, us, after, matched_collective, bytes, run_ns)                                                    \
    NODE_LINE(                                                                                                         \
        id, name, "COMM_COLL_NODE", us, AFTER(after),                                                                  \
        IS_CPU("false") ",{'name':'meeting_kind','stringVal':'all-reduce'}," NUMBER_OF("stream", "20") "," NUMBER_OF(  \
            "meeting", matched_collective) "," NUMBER_OF("meeting_ranks",                                              \
                                                         "2") "," NUMBER_OF("meeting_bytes",                           \
                                                                            bytes) "," NUMBER_OF("kernel_exec_ns",     \
                                                                                                 run_ns))

/* Rank 1 computes 1.3 times as long, and starts 3 us later, which the CPU scales. Transfers take 10 us and 20 us a megabyte.
 * Their numbers say who meets, not their order in the files. */
static const char *const transfers_by_number[] = {
    ON_CPU("1", "op a", "10", "") ON_GPU("2", "gemm", "100", "1", "7")
        MET("3", "ar 1", "30", "2", "7", "1000000", "30000") MET("4", "ar 2", "50", "3", "5", "2000000", "50000"),
    ON_CPU("1", "op a", "10", "9") ON_GPU("2", "gemm", "130", "1", "7")
        MET("8", "ar 1", "30", "2", "7", "1000000", "30000") MET("4", "ar 2", "50", "8", "5", "2000000", "50000")
            ON_CPU("9", "[start]", "3", ""),
    NULL,
};

static void expect_time(struct simulated_job *job, struct sutra_simulate_options options, uint64_t us) {
    options.size = sizeof options;
    uint64_t time = job_time(job, &options);
    if (time < us * US || time > us * US + 4)
        fail_msg("%" PRIu64 " ns, expected %" PRIu64 " us", time, us);
}

static void ranks_match_by_the_numbers_in_their_files(void **state) {
    struct simulated_job job = job_read(transfers_by_number);
    struct sutra_simulated_wait wait = {.size = sizeof wait};
    struct sutra_simulated_collective matched_collective = {.size = sizeof matched_collective};
    expect_time(&job, (struct sutra_simulate_options){0}, 223);
    assert_int_equal(sutra_simulation_n_waits(job.simulation), 1);
    sutra_simulation_wait(job.simulation, 0, &wait);
    assert_int_equal(wait.rank, 0);
    assert_int_equal(wait.awaited, 1);
    assert_int_equal(wait.ns, 33 * US);
    assert_int_equal(wait.n, 1);
    assert_int_equal(sutra_simulation_n_collectives(job.simulation), 2);
    sutra_simulation_collective(job.simulation, 0, &matched_collective);
    assert_string_equal(matched_collective.kind, "all-reduce");
    assert_int_equal(matched_collective.n_ranks, 2);
    assert_int_equal(matched_collective.bytes, 1000000);
    assert_int_equal(matched_collective.last, 1);
    assert_int_equal(matched_collective.start_ns, 110 * US);
    assert_int_equal(matched_collective.run_ns, 143 * US);
    assert_int_equal(matched_collective.end_ns, 173 * US);
    assert_int_equal(matched_collective.wait_ns, 33 * US);
    job_free(&job);
}

static void the_network_is_a_line_through_transfers(void **state) {
    struct simulated_job job = job_read(transfers_by_number);
    struct sutra_network_link link = {.size = sizeof link};
    expect_time(&job, (struct sutra_simulate_options){.bandwidth = 2}, 193);
    assert_int_equal(sutra_simulation_n_links(job.simulation), 1);
    sutra_simulation_link(job.simulation, 0, &link);
    assert_string_equal(link.kind, "all-reduce");
    assert_int_equal(link.n_transfers, 4);
    assert_true(fabs(link.alpha_us - 10) < 1e-6 && fabs(link.residual_us) < 1e-3);
    assert_true(fabs(link.bytes_per_s - 50e9) < 1 && link.is_fitted);
    expect_time(&job, (struct sutra_simulate_options){.network = "alpha=0us,beta=100GB/s"}, 173);
    expect_time(&job, (struct sutra_simulate_options){.network = "beta=100GB/s"}, 193);
    expect_time(&job, (struct sutra_simulate_options){.network = "alpha=0.02ms"}, 243);
    job_free(&job);
}

static void networks_that_cannot_be_read_are_refused(void **state) {
    /* clang-format off */
    static const char *const networks[] = {
        "", "alpha", "alpha=", "alpha=12", "beta=1us", "beta=0GB/s", "beta=-1GB/s", "alpha=1us,",
        "alpha=1us;beta=1GB/s", "gamma=1us", "alpha=nanus"
    };
    /* clang-format on */
    struct simulated_job job = job_read(transfers_by_number);
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        const struct sutra_simulate_options options = {.size = sizeof options, .network = networks[i]};
        if (job_run(&job, &options) != SUTRA_USAGE)
            fail_msg("'%s' was taken", networks[i]);
    }
    const struct sutra_simulate_options options = {.size = sizeof options, .bandwidth = -1};
    assert_int_equal(job_run(&job, &options), SUTRA_USAGE);
    job_free(&job);
}

static void stragglers_compute_like_the_median_rank(void **state) {
    struct simulated_job job = job_read(transfers_by_number);
    struct sutra_simulated_rank rank = {.size = sizeof rank};
    expect_time(&job, (struct sutra_simulate_options){.no_straggler = true}, 193);
    sutra_simulation_rank(job.simulation, 1, &rank);
    assert_true(fabs(rank.gpu_slowness - 1.3) < 1e-9 && fabs(rank.cpu_slowness - 1) < 1e-9);
    job_free(&job);
}

static void a_gpu_does_not_share_its_collectives(void **state) {
    static const struct {
        const char *change;
        uint64_t us;
    } cases[] = {{"gpu:0.5", 158},   {"rank=1:gpu:0.5", 190}, {"comm:0", 143},
                 {"compute:2", 353}, {"cpu:0", 210},          {"cpu:2", 236}};
    struct simulated_job job = job_read(transfers_by_number);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sutra_simulate_options options = {.scales = &cases[i].change, .n_scales = 1};
        expect_time(&job, options, cases[i].us);
    }
    job_free(&job);
}

/* ---- Files read with only the fields that the simulation needs ---- */

#define PATH_SIZE 64

struct rank_files {
    char folder[32], paths[RANKS_MAX][PATH_SIZE];
    const char *list[RANKS_MAX];
    uint32_t n;
};

static struct rank_files files_write(struct simulated_job *job) {
    char folder[] = P_tmpdir "/sutra_XXXXXX";
    struct rank_files files = {.n = job->n};
    assert_non_null(mkdtemp(folder));
    snprintf(files.folder, sizeof files.folder, "%s", folder);
    for (uint32_t r = 0; r < job->n; r++) {
        snprintf(files.paths[r], PATH_SIZE, "%s/rank.%u.et", folder, r);
        if (et_write(&job->ets[r]->file.nodes, NULL, job->context, files.paths[r], NULL, &job->error))
            fail_msg("%s", job->error.message);
    }
    return files;
}

static enum sutra_status files_read(struct simulated_job *job, struct rank_files *files,
                                    struct sutra_et_ranks **ranks) {
    for (uint32_t r = 0; r < files->n; r++)
        files->list[r] = files->paths[r];
    return sutra_et_ranks_read(job->context, files->list, NULL, files->n, ranks, &job->error);
}

static void files_remove(const struct rank_files *files) {
    for (uint32_t r = 0; r < files->n; r++)
        unlink(files->paths[r]);
    rmdir(files->folder);
}

/* The results of a simulation: names, waits, collectives, path and ranks. */
static void describe(const struct sutra_simulation *simulation, char *text, size_t size) {
    struct sutra_simulated_name name = {.size = sizeof name};
    struct sutra_simulated_step step = {.size = sizeof step};
    struct sutra_simulated_collective matched_collective = {.size = sizeof matched_collective};
    struct sutra_simulated_wait wait = {.size = sizeof wait};
    size_t n = 0;
#define SAY(...) n += (size_t)snprintf(text + n, size - n, __VA_ARGS__), assert_true(n < size)
    for (uint64_t i = 0; i < sutra_simulation_n_names(simulation); i++) {
        sutra_simulation_name(simulation, i, &name);
        SAY("%s %d %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", name.name, name.work, name.n_nodes, name.run_ns,
            name.wait_ns);
    }
    for (uint64_t i = 0; i < sutra_simulation_n_steps(simulation); i++) {
        sutra_simulation_step(simulation, i, &step);
        SAY("%" PRIu64 " %" PRIu64 " %s %" PRIu64 "\n", step.rank, step.id, step.name, step.end_ns);
    }
    for (uint64_t i = 0; i < sutra_simulation_n_collectives(simulation); i++) {
        sutra_simulation_collective(simulation, i, &matched_collective);
        SAY("%s %s %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", matched_collective.name, matched_collective.kind,
            matched_collective.n_ranks, matched_collective.bytes, matched_collective.wait_ns);
    }
    for (uint64_t i = 0; i < sutra_simulation_n_waits(simulation); i++) {
        sutra_simulation_wait(simulation, i, &wait);
        SAY("%" PRIu64 " for %" PRIu64 ": %" PRIu64 "\n", wait.rank, wait.awaited, wait.ns);
    }
#undef SAY
}

static void only_simulated_fields_are_kept_in_memory(void **state) {
    static const char *const changes[] = {"compute:2", "rank=1:cpu:3", "comm:0.5"};
    const struct sutra_simulate_options options = {.size = sizeof options,
                                                   .scales = changes,
                                                   .n_scales = sizeof changes / sizeof *changes,
                                                   .bandwidth = 2,
                                                   .network = "alpha=9us,beta=1GB/s",
                                                   .gpu_streams = true,
                                                   .cpu_threads = true};
    static const char *const jobs_of[][RANKS_MAX + 1] = {
        {ON_CPU("1", "a", "10", "") ON_GPU("2", "gemm", "20", "1", "7") MEETS("3", "all-reduce", "5", "2", "4"),
         MEETS("9", "all-reduce", "7", "", "4") ON_CPU("3", "b", "10", "9"), NULL},
        {ON_CPU("5", "late", "30", "") SENDS("6", "5", "5", "1", "3", "1000"), RECEIVES("1", "5", "", "0", "3"), NULL},
    };
    for (size_t k = 0; k < sizeof jobs_of / sizeof *jobs_of + 1; k++) {
        struct simulated_job job = job_read(k ? jobs_of[k - 1] : transfers_by_number);
        struct rank_files files = files_write(&job);
        struct sutra_et_ranks *ranks = NULL;
        struct sutra_simulation *simulation = NULL;
        char all[4000], kept[4000];
        uint64_t ns = job_time(&job, &options);
        assert_true(ns > 0 && sutra_simulation_n_waits(job.simulation) > 0);
        if (files_read(&job, &files, &ranks) ||
            sutra_simulate_ranks(job.context, ranks, &options, &simulation, &job.error))
            fail_msg("%s", job.error.message);
        assert_int_equal(sutra_simulation_time_ns(simulation), ns);
        describe(job.simulation, all, sizeof all);
        describe(simulation, kept, sizeof kept);
        assert_string_equal(kept, all);
        sutra_simulation_free(simulation);
        sutra_et_ranks_free(ranks);
        files_remove(&files);
        job_free(&job);
    }
}

/* Overwrites the bytes after a text in a file; returns whether the text was found. */
static bool spoil_behind(const char *path, const char *text) {
    static char bytes[4000];
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    size_t n = fread(bytes, 1, sizeof bytes, file);
    char *at = memmem(bytes, n, text, strlen(text));
    if (at)
        assert_true(!fseek(file, at - bytes + (long)strlen(text), SEEK_SET) && fputc(0xff, file) == 0xff);
    fclose(file);
    return at;
}

static void fields_that_the_simulation_ignores_may_be_malformed(void **state) {
    static const char *const ranks_of[] = {
        NODE_LINE("1", "a", "COMP_NODE", "10", AFTER(""), IS_CPU("true") "," NUMBER_OF("op_order", "5")),
        MEETS("1", "b", "7", "", "4"), MEETS("1", "c", "9", "", "4"), NULL};
    struct simulated_job job = job_read(ranks_of);
    struct rank_files files = files_write(&job);
    struct sutra_et_ranks *ranks = NULL;
    struct sutra_et *whole = NULL;
    assert_true(spoil_behind(files.paths[0], "op_order"));
    assert_int_equal(sutra_et_read(job.context, files.paths[0], NULL, &whole, &job.error), SUTRA_DATA);
    assert_int_equal(files_read(&job, &files, &ranks), SUTRA_OK);
    sutra_et_ranks_free(ranks);
    ranks = NULL;
    assert_true(spoil_behind(files.paths[2], "pg_name") && spoil_behind(files.paths[1], "pg_name"));
    assert_int_equal(files_read(&job, &files, &ranks), SUTRA_DATA);
    assert_null(ranks);
    if (!strstr(job.error.file, "rank.1.et")) /* the first of them */
        fail_msg("%s: %s", job.error.file, job.error.message);
    unlink(files.paths[0]);
    assert_int_equal(files_read(&job, &files, &ranks), SUTRA_NO_INPUT);
    files_remove(&files);
    job_free(&job);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changes_scale_the_selected_nodes),
        cmocka_unit_test(unknown_ranks_streams_and_names_are_errors),
        cmocka_unit_test(scaled_nodes_are_counted_with_their_time_on_the_path),
        cmocka_unit_test(selections_without_a_node_are_errors),
        cmocka_unit_test(changes_are_multiplied),
        cmocka_unit_test(malformed_changes_are_errors_with_a_reason),
        cmocka_unit_test(path_goes_through_the_last_arriving_rank),
        cmocka_unit_test(ranks_that_are_alone_do_not_wait),
        cmocka_unit_test(what_if_of_a_name_is_the_time_without_its_nodes),
        cmocka_unit_test(only_the_requested_number_of_names_is_evaluated),
        cmocka_unit_test(nodes_of_a_cycle_are_named),
        cmocka_unit_test(ranks_with_different_orders_wait_for_each_other),
        cmocka_unit_test(nodes_wait_for_occupied_resources),
        cmocka_unit_test(other_ranks_wait_for_a_rank_blocked_by_a_cycle),
        cmocka_unit_test(cycles_and_collectives_are_both_reported),
        cmocka_unit_test(a_node_that_depends_on_itself_never_runs),
        cmocka_unit_test(a_rank_that_lacks_a_node_is_not_waited_for),
        cmocka_unit_test(ranks_match_by_the_numbers_in_their_files),
        cmocka_unit_test(the_network_is_a_line_through_transfers),
        cmocka_unit_test(networks_that_cannot_be_read_are_refused),
        cmocka_unit_test(stragglers_compute_like_the_median_rank),
        cmocka_unit_test(a_gpu_does_not_share_its_collectives),
        cmocka_unit_test(replayed_receives_run_without_a_resource),
        cmocka_unit_test(receives_end_when_their_messages_arrive),
        cmocka_unit_test(messages_that_no_rank_sends_are_reported),
        cmocka_unit_test(messages_of_a_rank_to_itself_match),
        cmocka_unit_test(sizes_set_the_times_of_collectives),
        cmocka_unit_test(memory_nodes_occupy_the_resource_of_communication),
        cmocka_unit_test(peaks_set_the_times_of_kernels),
        cmocka_unit_test(times_from_sizes_that_overflow_are_refused),
        cmocka_unit_test(only_simulated_fields_are_kept_in_memory),
        cmocka_unit_test(fields_that_the_simulation_ignores_may_be_malformed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
