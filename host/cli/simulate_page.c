/*
 * simulate_page.c - prints the times of a simulation in 80 columns, and as JSON.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/job.h"
#include "cli/simulate_page.h"
#include "cli/terminal.h"
#include "text/quantities.h"
#include "write/json.h"

#define N_NAMES    10 /* minimum number of names on the page */
#define N_SHOWN    32 /* maximum */
#define NAME_WIDTH 38
#define RANKS_MAX  16 /* ranks on the page */
#define NODES_MAX  8
#define WAIT_WIDTH 24
#define WAITS_MAX  5
#define STRAGGLES  1.05 /* times as slow as the median */

static const char *const works[] = {"processor", "computation", "communication"}; /* JSON */
static const char *const work_words[] = {"CPU", "computation", "communication", "waits"};

static double us_of(uint64_t ns) {
    return (double)ns / 1000;
}

static struct sutra_simulated_rank rank_at(const struct sutra_simulation *simulation, uint32_t i) {
    struct sutra_simulated_rank rank = {.size = sizeof rank};
    sutra_simulation_rank(simulation, i, &rank);
    return rank;
}

static struct sutra_simulated_name name_at(const struct sutra_simulation *simulation, uint64_t i) {
    struct sutra_simulated_name name = {.size = sizeof name};
    sutra_simulation_name(simulation, i, &name);
    return name;
}

static struct sutra_simulated_wait wait_at(const struct sutra_simulation *simulation, uint64_t i) {
    struct sutra_simulated_wait wait = {.size = sizeof wait};
    sutra_simulation_wait(simulation, i, &wait);
    return wait;
}

static struct sutra_network_link link_at(const struct sutra_simulation *simulation, uint64_t i) {
    struct sutra_network_link link = {.size = sizeof link};
    sutra_simulation_link(simulation, i, &link);
    return link;
}

static struct sutra_simulated_step path_step_at(const struct sutra_simulation *simulation, uint64_t i) {
    struct sutra_simulated_step step = {.size = sizeof step};
    sutra_simulation_step(simulation, i, &step);
    return step;
}

/* "-12.3 %" */
static struct figure change_text(uint64_t after, uint64_t before) {
    struct figure figure = {"-"};
    if (before)
        snprintf(figure.text, sizeof figure.text, "%+.1f %%", 100 * ((double)after / (double)before - 1));
    return figure;
}

/* ---- The page ---- */

static void print_head(const struct simulate_result *result) {
    uint32_t n = sutra_simulation_ranks(result->simulation);
    uint64_t n_nodes = 0, n_ran = 0, end = sutra_simulation_time_ns(result->simulation);
    for (uint32_t i = 0; i < n; i++) {
        struct sutra_simulated_rank rank = rank_at(result->simulation, i);
        n_nodes += rank.n_nodes;
        n_ran += rank.n_ran;
    }
    printf("%s simulated: %s of ", time_text(us_of(end)).text, counted_text(n_nodes, "node", "nodes").text);
    printf("%s", counted_text(n, "rank", "ranks").text);
    if (n_ran < n_nodes)
        printf(", only %s ran", count_text(n_ran).text);
    putchar('\n');
    if (result->before) {
        uint64_t before = sutra_simulation_time_ns(result->before);
        printf("%s without the changes, %s with them\n", time_text(us_of(before)).text, change_text(end, before).text);
    }
}

static void print_ranks(const struct sutra_simulation *simulation) {
    uint32_t n = sutra_simulation_ranks(simulation);
    printf("\n  %4s %14s %14s %14s %14s %13s\n", "rank", "time", "CPU", "computation", "communication", "waits");
    for (uint32_t i = 0; i < n && i < RANKS_MAX; i++) {
        struct sutra_simulated_rank rank = rank_at(simulation, i);
        printf("  %4" PRIu64 " %14s", rank.rank, time_text(us_of(rank.time_ns)).text);
        printf(" %14s", time_text(us_of(rank.cpu_ns)).text);
        printf(" %14s", time_text(us_of(rank.compute_ns)).text);
        printf(" %14s", time_text(us_of(rank.comm_ns)).text);
        printf(" %13s\n", time_text(us_of(rank.wait_ns)).text);
    }
    if (n > RANKS_MAX)
        printf("  and %s\n", counted_text(n - RANKS_MAX, "more rank", "more ranks").text);
}

/* How much of the time of all ranks each kind of work ran in. */
static void print_use(const struct sutra_simulation *simulation) {
    double sums[4] = {0}, whole = 0;
    for (uint32_t i = 0; i < sutra_simulation_ranks(simulation); i++) {
        struct sutra_simulated_rank rank = rank_at(simulation, i);
        const uint64_t ns[] = {rank.cpu_ns, rank.compute_ns, rank.comm_ns, rank.wait_ns};
        for (int kind = 0; kind < 4; kind++)
            sums[kind] += (double)ns[kind];
        whole += (double)rank.time_ns;
    }
    printf("  shares:");
    for (int kind = 0; kind < 4; kind++)
        printf("%s %s %s", kind ? "," : "", work_words[kind], share_text(sums[kind], whole).text);
    putchar('\n');
}

/* Where ranks wait for each other most. */
static void print_waits(const struct sutra_simulation *simulation) {
    uint64_t longest = 0, sum = 0;
    struct sutra_simulated_name name = {.size = sizeof name};
    for (uint64_t i = 0; i < sutra_simulation_n_names(simulation); i++) {
        uint64_t wait = name_at(simulation, i).wait_ns;
        sum += wait;
        if (wait > longest) {
            longest = wait;
            name = name_at(simulation, i);
        }
    }
    if (longest == 0)
        return;
    struct shortened shown;
    short_names(&name.name, 1, WAIT_WIDTH, &shown);
    printf("  ranks wait most at ");
    shortened_print(&shown, 0);
    printf(": %s of %s\n", time_text(us_of(longest)).text, time_text(us_of(sum)).text);
}

/* The longest waits of one rank for another. */
static void print_rank_waits(const struct sutra_simulation *simulation) {
    uint64_t n = sutra_simulation_n_waits(simulation);
    for (uint64_t i = 0; i < n && i < WAITS_MAX; i++) {
        struct sutra_simulated_wait wait = wait_at(simulation, i);
        printf("  rank %" PRIu64 " waits for rank %" PRIu64 ": %s, %s\n", wait.rank, wait.awaited,
               time_text(us_of(wait.ns)).text, counted_text(wait.n, "time", "times").text);
    }
    if (n > WAITS_MAX)
        printf("  and %s\n", counted_text(n - WAITS_MAX, "more pair of ranks", "more pairs of ranks").text);
}

/* Ranks that compute clearly more slowly than the median rank. */
static void print_stragglers(const struct sutra_simulation *simulation) {
    for (uint32_t i = 0; i < sutra_simulation_ranks(simulation); i++) {
        struct sutra_simulated_rank rank = rank_at(simulation, i);
        if (rank.gpu_slowness > STRAGGLES)
            printf("  straggler: the GPU of rank %" PRIu64 " takes %.2f times as long as the median GPU\n", rank.rank,
                   rank.gpu_slowness);
        if (rank.cpu_slowness > STRAGGLES)
            printf("  straggler: the CPU of rank %" PRIu64 " takes %.2f times as long as the median CPU\n", rank.rank,
                   rank.cpu_slowness);
    }
}

static void print_network(const struct sutra_simulation *simulation) {
    uint64_t n = sutra_simulation_n_links(simulation);
    if (n == 0)
        return;
    printf("\n  %-16s %6s %10s %10s %14s %10s\n", "network", "ranks", "transfers", "alpha", "bandwidth", "residual");
    for (uint64_t i = 0; i < n; i++) {
        struct sutra_network_link link = link_at(simulation, i);
        printf("  %-16s %6" PRIu64 " %10" PRIu64, link.kind, link.n_ranks, link.n_transfers);
        printf(" %7.1f us", link.alpha_us);
        if (isfinite(link.bytes_per_s))
            printf(" %9.2f GB/s", link.bytes_per_s / 1e9);
        else
            printf(" %14s", "-");
        printf(" %7.1f us%s\n", link.residual_us, link.is_fitted ? "" : "  one size");
    }
}

/* Largest errors of what-ifs on jobs with a known answer, in percent of the time of the job; NaN: unknown. */
static const double what_if_errors[2][N_WHAT_IFS] = {
    {[WHAT_IF_NO_STRAGGLER] = 9, [WHAT_IF_NETWORK] = 4, [WHAT_IF_NO_COMMUNICATION] = (double)NAN},
    {[WHAT_IF_NO_STRAGGLER] = 3, [WHAT_IF_NETWORK] = 0.5, [WHAT_IF_NO_COMMUNICATION] = (double)NAN}};

static void print_what_ifs(const struct simulate_result *result) {
    static const char *const words[N_WHAT_IFS] = {[WHAT_IF_NO_STRAGGLER] = "no rank slower than the median",
                                                  [WHAT_IF_NETWORK] = "twice the bandwidth",
                                                  [WHAT_IF_NO_COMMUNICATION] = "communication takes no time"};
    uint64_t end = sutra_simulation_time_ns(result->simulation);
    if (!result->what_if_ns)
        return;
    printf("\n  %-32s %14s %9s %12s\n", "what-if", "time", "change", "max. error");
    for (int worth = 0; worth < N_WHAT_IFS; worth++) {
        double bound = what_if_errors[result->per_stream][worth];
        printf("  %-32s %14s %9s ", words[worth], time_text(us_of(result->what_if_ns[worth])).text,
               change_text(result->what_if_ns[worth], end).text);
        if (isnan(bound))
            printf("%12s\n", "unknown");
        else
            printf("%10.1f %%\n", bound);
    }
}

/* Shares of the kinds of work on the critical path. */
static void print_path(const struct sutra_simulation *simulation) {
    uint64_t sums[3] = {0}, n = sutra_simulation_n_steps(simulation), end = sutra_simulation_time_ns(simulation);
    for (uint64_t i = 0; i < n; i++) {
        struct sutra_simulated_step step = path_step_at(simulation, i);
        sums[step.work] += step.end_ns - step.start_ns;
    }
    printf("\ncritical path, %s:", counted_text(n, "step", "steps").text);
    for (int work = 0; work < 3; work++)
        printf(" %s %s%s", work_words[work], share_text((double)sums[work], (double)end).text, work < 2 ? "," : "\n");
}

static void print_names(const struct simulate_result *result) {
    uint64_t n = sutra_simulation_n_names(result->simulation), end = sutra_simulation_time_ns(result->simulation);
    uint64_t n_shown = result->n_sensitivity > N_NAMES ? result->n_sensitivity : N_NAMES;
    unsigned width = NAME_WIDTH + screen_columns_more();
    const char *names[N_SHOWN];
    struct shortened shorts[N_SHOWN];
    n_shown = n_shown < N_SHOWN ? n_shown : N_SHOWN;
    n_shown = n_shown < n ? n_shown : n;
    for (uint64_t i = 0; i < n_shown; i++)
        names[i] = name_at(result->simulation, i).name;
    short_names(names, n_shown, width, shorts);
    printf("\n  %-*s %6s %12s %8s", (int)width, "longest by name", "nodes", "execution", "of path");
    puts(result->n_sensitivity ? "  removed" : "");
    for (uint64_t i = 0; i < n_shown; i++) {
        struct sutra_simulated_name name = name_at(result->simulation, i);
        printf("  ");
        shortened_print(&shorts[i], width);
        printf(" %6" PRIu64 " %12s", name.n_nodes, time_text(us_of(name.run_ns)).text);
        printf(" %8s", share_text((double)name.path_ns, (double)end).text);
        if (i < result->n_sensitivity)
            printf("  %7s", change_text(name.free_ns, end).text);
        putchar('\n');
    }
}

void simulate_page_print(const struct simulate_result *result) {
    print_head(result);
    print_ranks(result->simulation);
    print_use(result->simulation);
    print_waits(result->simulation);
    print_rank_waits(result->simulation);
    if (sutra_simulation_n_waits(result->simulation))
        print_stragglers(result->simulation);
    if (result->network)
        print_network(result->simulation);
    print_what_ifs(result);
    print_path(result->simulation);
    print_names(result);
}

/* ---- JSON ---- */

static void add_us(struct json_out *json, const char *name, uint64_t ns) {
    json_add_format(json, name, "%.3f", us_of(ns));
}

static void add_ranks(struct json_out *json, const struct sutra_simulation *simulation) {
    json_add_open(json, "ranks", '[');
    for (uint32_t i = 0; i < sutra_simulation_ranks(simulation); i++) {
        struct sutra_simulated_rank rank = rank_at(simulation, i);
        json_open_line(json);
        json_add_count(json, "rank", rank.rank);
        add_us(json, "time_us", rank.time_ns);
        json_add_count(json, "nodes", rank.n_nodes);
        json_add_count(json, "ran", rank.n_ran);
        add_us(json, "processor_us", rank.cpu_ns);
        add_us(json, "computation_us", rank.compute_ns);
        add_us(json, "communication_us", rank.comm_ns);
        add_us(json, "wait_us", rank.wait_ns);
        json_add_count(json, "collectives", rank.n_meetings);
        json_add_count(json, "absent_dependencies", rank.n_absent);
        json_add_format(json, "gpu_slowness", "%.4f", rank.gpu_slowness);
        json_add_format(json, "processor_slowness", "%.4f", rank.cpu_slowness);
        json_close_line(json);
    }
    json_close_lines(json, ']');
    json_add_open(json, "waits", '[');
    for (uint64_t i = 0; i < sutra_simulation_n_waits(simulation); i++) {
        struct sutra_simulated_wait wait = wait_at(simulation, i);
        json_open_line(json);
        json_add_count(json, "rank", wait.rank);
        json_add_count(json, "for", wait.awaited);
        json_add_count(json, "times", wait.n);
        add_us(json, "us", wait.ns);
        json_close_line(json);
    }
    json_close_lines(json, ']');
}

static void add_collectives(struct json_out *json, const struct sutra_simulation *simulation) {
    json_add_open(json, "collectives", '[');
    for (uint64_t i = 0; i < sutra_simulation_n_collectives(simulation); i++) {
        struct sutra_simulated_collective collective = {.size = sizeof collective};
        sutra_simulation_collective(simulation, i, &collective);
        json_open_line(json);
        json_add_text(json, "name", collective.name);
        json_add_text(json, "kind", collective.kind);
        json_add_count(json, "ranks", collective.n_ranks);
        json_add_count(json, "bytes", collective.bytes);
        json_add_count(json, "last_rank", collective.last);
        add_us(json, "start_us", collective.start_ns);
        add_us(json, "transfer_us", collective.run_ns);
        add_us(json, "end_us", collective.end_ns);
        add_us(json, "wait_us", collective.wait_ns);
        json_close_line(json);
    }
    json_close_lines(json, ']');
    json_add_open(json, "network", '[');
    for (uint64_t i = 0; i < sutra_simulation_n_links(simulation); i++) {
        struct sutra_network_link link = link_at(simulation, i);
        json_open_line(json);
        json_add_text(json, "kind", link.kind);
        json_add_count(json, "ranks", link.n_ranks);
        json_add_count(json, "transfers", link.n_transfers);
        json_add_format(json, "alpha_us", "%.3f", link.alpha_us);
        if (isfinite(link.bytes_per_s))
            json_add_format(json, "gb_per_s", "%.3f", link.bytes_per_s / 1e9);
        json_add_format(json, "residual_us", "%.3f", link.residual_us);
        json_add_format(json, "fitted", "%s", link.is_fitted ? "true" : "false");
        json_close_line(json);
    }
    json_close_lines(json, ']');
}

static void add_what_ifs(struct json_out *json, const struct simulate_result *result) {
    static const char *const keys[N_WHAT_IFS] = {"no_straggler", "network_x2", "no_communication"};
    double end = us_of(sutra_simulation_time_ns(result->simulation));
    json_add_open(json, "what_if", '{');
    for (int what_if = 0; what_if < N_WHAT_IFS; what_if++) {
        double us = us_of(result->what_if_ns[what_if]), error = what_if_errors[result->per_stream][what_if];
        json_key(json, keys[what_if], strlen(keys[what_if]));
        json_open_line(json);
        json_add_format(json, "time_us", "%.3f", us);
        json_add_format(json, "change_percent", "%.3f", end > 0 ? 100 * (us / end - 1) : 0);
        if (isnan(error))
            json_add_text(json, "error_percent", NULL);
        else
            json_add_format(json, "error_percent", "%.1f", error);
        json_close_line(json);
    }
    json_close_lines(json, '}');
}

static void add_names_and_path(struct json_out *json, const struct simulate_result *result) {
    const struct sutra_simulation *simulation = result->simulation;
    json_add_open(json, "names", '[');
    for (uint64_t i = 0; i < sutra_simulation_n_names(simulation); i++) {
        struct sutra_simulated_name name = name_at(simulation, i);
        json_open_line(json);
        json_add_text(json, "name", name.name);
        json_add_text(json, "work", works[name.work]);
        json_add_count(json, "nodes", name.n_nodes);
        add_us(json, "execution_us", name.run_ns);
        add_us(json, "path_us", name.path_ns);
        add_us(json, "wait_us", name.wait_ns);
        if (i < result->n_sensitivity)
            add_us(json, "time_if_free_us", name.free_ns);
        json_close_line(json);
    }
    json_close_lines(json, ']');
    json_add_open(json, "critical_path", '[');
    for (uint64_t i = 0; i < sutra_simulation_n_steps(simulation); i++) {
        struct sutra_simulated_step step = path_step_at(simulation, i);
        json_open_line(json);
        json_add_count(json, "rank", step.rank);
        json_add_count(json, "node", step.id);
        json_add_text(json, "name", step.name);
        json_add_text(json, "work", works[step.work]);
        add_us(json, "start_us", step.start_ns);
        add_us(json, "end_us", step.end_ns);
        json_close_line(json);
    }
    json_close_lines(json, ']');
}

int simulate_json_print(const struct simulate_result *result) {
    struct text_out text = {.file = stdout};
    struct json_out json = {.text = &text, .indent = 2};
    json_open(&json, '{');
    add_us(&json, "time_us", sutra_simulation_time_ns(result->simulation));
    if (result->before)
        add_us(&json, "time_before_us", sutra_simulation_time_ns(result->before));
    json_add_count(&json, "never_ran", sutra_simulation_n_deadlocked(result->simulation));
    add_ranks(&json, result->simulation);
    add_collectives(&json, result->simulation);
    if (result->what_if_ns)
        add_what_ifs(&json, result);
    add_names_and_path(&json, result);
    json_close(&json, '}');
    return json_finish(&json);
}

/* ---- Missing ranks ---- */

void simulate_warn_missing_ranks(const struct sutra_simulation *simulation) {
    uint64_t n = sutra_simulation_n_collectives(simulation), n_lacking = 0;
    for (uint64_t i = 0; i < n; i++) {
        struct sutra_simulated_collective collective = {.size = sizeof collective};
        sutra_simulation_collective(simulation, i, &collective);
        n_lacking += collective.n_told > collective.n_ranks;
    }
    if (n_lacking)
        message_warn(
            "%s of %s lack ranks, and sutra does not simulate waits for these ranks: what-ifs may be far off if the "
            "slowest rank is missing",
            count_text(n_lacking).text, counted_text(n, "collective", "collectives").text);
}

void simulate_warn_deadlock(const struct sutra_simulation *simulation) {
    static const char *const whys[] = {
        [SUTRA_STUCK_DEPENDS] = "depends on",
        [SUTRA_STUCK_MEETS] = "waits to synchronize with",
        [SUTRA_STUCK_BEHIND] = "depends directly or indirectly on",
        [SUTRA_STUCK_HELD] = "waits for the resource used by",
    };
    struct sutra_deadlocked_node node = {.size = sizeof node};
    uint32_t n = 0;
    message_warn("deadlock: %s can never run:",
                 counted_text(sutra_simulation_n_deadlocked(simulation), "node", "nodes").text);
    for (; sutra_simulation_deadlocked(simulation, n, &node); n++) {
        if (n >= NODES_MAX)
            continue;
        if (node.rank == node.awaited_rank && node.id == node.awaited_id)
            message_warn("rank %" PRIu64 ": node %" PRIu64 " (%s) depends on itself", node.rank, node.id, node.name);
        else
            message_warn("rank %" PRIu64 ": node %" PRIu64 " (%s) %s node %" PRIu64 " (%s) of rank %" PRIu64, node.rank,
                         node.id, node.name, whys[node.why], node.awaited_id, node.awaited_name, node.awaited_rank);
    }
    if (n > NODES_MAX)
        message_warn("and %s more nodes", count_text(n - NODES_MAX).text);
}
