/*
 * simulate_page.c - prints the times of a simulation in 80 columns, and as JSON.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "cli/job.h"
#include "cli/simulate_page.h"
#include "cli/terminal.h"
#include "text/quantities.h"
#include "write/json.h"

#define N_NAMES    10 /* that the page shows, or as many as a worth was asked for */
#define N_SHOWN    32 /* at most */
#define NAME_WIDTH 38
#define RANKS_MAX  16 /* that the page shows; the slowest ones of more */
#define STUCK_MAX  8
#define WAIT_WIDTH 24
#define WAITS_MAX  5
#define STRAGGLES  1.05 /* times as long */

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
static void print_awaited(const struct sutra_simulation *simulation) {
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

static void print_worth(const struct simulate_result *result) {
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
    print_awaited(result->simulation);
    if (sutra_simulation_n_waits(result->simulation))
        print_stragglers(result->simulation);
    if (result->network)
        print_network(result->simulation);
    print_worth(result);
    print_path(result->simulation);
    print_names(result);
}

/* ---- JSON ---- */

static void json_ranks(const struct sutra_simulation *simulation) {
    printf("  \"ranks\": [");
    for (uint32_t i = 0; i < sutra_simulation_ranks(simulation); i++) {
        struct sutra_simulated_rank rank = rank_at(simulation, i);
        printf("%s\n    {\"rank\": %" PRIu64 ", \"time_us\": %.3f, \"nodes\": %" PRIu64 ", \"ran\": %" PRIu64,
               i ? "," : "", rank.rank, us_of(rank.time_ns), rank.n_nodes, rank.n_ran);
        printf(", \"processor_us\": %.3f, \"computation_us\": %.3f, \"communication_us\": %.3f", us_of(rank.cpu_ns),
               us_of(rank.compute_ns), us_of(rank.comm_ns));
        printf(", \"wait_us\": %.3f, \"collectives\": %" PRIu64 ", \"absent_dependencies\": %" PRIu64,
               us_of(rank.wait_ns), rank.n_meetings, rank.n_absent);
        printf(", \"gpu_slowness\": %.4f, \"processor_slowness\": %.4f}", rank.gpu_slowness, rank.cpu_slowness);
    }
    printf("\n  ],\n");
}

static void json_waits(const struct sutra_simulation *simulation) {
    printf("  \"waits\": [");
    for (uint64_t i = 0; i < sutra_simulation_n_waits(simulation); i++) {
        struct sutra_simulated_wait wait = wait_at(simulation, i);
        printf("%s\n    {\"rank\": %" PRIu64 ", \"for\": %" PRIu64 ", \"times\": %" PRIu64 ", \"us\": %.3f}",
               i ? "," : "", wait.rank, wait.awaited, wait.n, us_of(wait.ns));
    }
    printf("\n  ],\n");
}

static void json_meetings(const struct sutra_simulation *simulation) {
    printf("  \"collectives\": [");
    for (uint64_t i = 0; i < sutra_simulation_n_collectives(simulation); i++) {
        struct sutra_simulated_collective meeting = {.size = sizeof meeting};
        sutra_simulation_collective(simulation, i, &meeting);
        printf("%s\n    {\"name\": ", i ? "," : "");
        json_string_print(stdout, meeting.name);
        printf(", \"kind\": \"%s\", \"ranks\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"last_rank\": %" PRIu64,
               meeting.kind, meeting.n_ranks, meeting.bytes, meeting.last);
        printf(", \"start_us\": %.3f, \"transfer_us\": %.3f, \"end_us\": %.3f, \"wait_us\": %.3f}",
               us_of(meeting.start_ns), us_of(meeting.run_ns), us_of(meeting.end_ns), us_of(meeting.wait_ns));
    }
    printf("\n  ],\n");
}

static void json_network(const struct sutra_simulation *simulation) {
    printf("  \"network\": [");
    for (uint64_t i = 0; i < sutra_simulation_n_links(simulation); i++) {
        struct sutra_network_link link = link_at(simulation, i);
        printf("%s\n    {\"kind\": \"%s\", \"ranks\": %" PRIu64 ", \"transfers\": %" PRIu64 ", \"alpha_us\": %.3f",
               i ? "," : "", link.kind, link.n_ranks, link.n_transfers, link.alpha_us);
        if (isfinite(link.bytes_per_s))
            printf(", \"gb_per_s\": %.3f", link.bytes_per_s / 1e9);
        printf(", \"residual_us\": %.3f, \"fitted\": %s}", link.residual_us, link.is_fitted ? "true" : "false");
    }
    printf("\n  ],\n");
}

static void json_worth(const struct simulate_result *result) {
    static const char *const keys[N_WHAT_IFS] = {"no_straggler", "network_x2", "no_communication"};
    double end = us_of(sutra_simulation_time_ns(result->simulation));
    printf("  \"what_if\": {");
    for (int worth = 0; worth < N_WHAT_IFS; worth++) {
        double us = us_of(result->what_if_ns[worth]);
        double bound = what_if_errors[result->per_stream][worth];
        printf("%s\n    \"%s\": {\"time_us\": %.3f, \"change_percent\": %.3f, \"error_percent\": ", worth ? "," : "",
               keys[worth], us, end > 0 ? 100 * (us / end - 1) : 0);
        if (isnan(bound))
            printf("null}");
        else
            printf("%.1f}", bound);
    }
    printf("\n  },\n");
}

static void json_names(const struct simulate_result *result) {
    uint64_t n = sutra_simulation_n_names(result->simulation);
    printf("  \"names\": [");
    for (uint64_t i = 0; i < n; i++) {
        struct sutra_simulated_name name = name_at(result->simulation, i);
        printf("%s\n    {\"name\": ", i ? "," : "");
        json_string_print(stdout, name.name);
        printf(", \"work\": \"%s\", \"nodes\": %" PRIu64
               ", \"execution_us\": %.3f, \"path_us\": %.3f, \"wait_us\": %.3f",
               works[name.work], name.n_nodes, us_of(name.run_ns), us_of(name.path_ns), us_of(name.wait_ns));
        if (i < result->n_sensitivity)
            printf(", \"time_if_free_us\": %.3f", us_of(name.free_ns));
        putchar('}');
    }
    printf("\n  ],\n");
}

static void json_path(const struct sutra_simulation *simulation) {
    printf("  \"critical_path\": [");
    for (uint64_t i = 0; i < sutra_simulation_n_steps(simulation); i++) {
        struct sutra_simulated_step step = path_step_at(simulation, i);
        printf("%s\n    {\"rank\": %" PRIu64 ", \"node\": %" PRIu64 ", \"name\": ", i ? "," : "", step.rank, step.id);
        json_string_print(stdout, step.name);
        printf(", \"work\": \"%s\", \"start_us\": %.3f, \"end_us\": %.3f}", works[step.work], us_of(step.start_ns),
               us_of(step.end_ns));
    }
    printf("\n  ]\n");
}

void simulate_json_print(const struct simulate_result *result) {
    printf("{\n  \"time_us\": %.3f,\n", us_of(sutra_simulation_time_ns(result->simulation)));
    if (result->before)
        printf("  \"time_before_us\": %.3f,\n", us_of(sutra_simulation_time_ns(result->before)));
    printf("  \"never_ran\": %" PRIu64 ",\n", sutra_simulation_n_deadlocked(result->simulation));
    json_ranks(result->simulation);
    json_waits(result->simulation);
    json_meetings(result->simulation);
    json_network(result->simulation);
    if (result->what_if_ns)
        json_worth(result);
    json_names(result);
    json_path(result->simulation);
    printf("}\n");
}

/* ---- Missing ranks ---- */

void simulate_warn_missing_ranks(const struct sutra_simulation *simulation) {
    uint64_t n = sutra_simulation_n_collectives(simulation), n_lacking = 0;
    for (uint64_t i = 0; i < n; i++) {
        struct sutra_simulated_collective meeting = {.size = sizeof meeting};
        sutra_simulation_collective(simulation, i, &meeting);
        n_lacking += meeting.n_told > meeting.n_ranks;
    }
    if (n_lacking)
        message_warn(
            "%s of %s lack ranks, and sutra does not simulate waits for these ranks: what-ifs may be far off if the "
            "slowest rank is missing",
            count_text(n_lacking).text, counted_text(n, "collective", "collectives").text);
}

/* ---- Nodes that never run ---- */

static void warn_of(const struct sutra_deadlocked_node *node) {
    static const char *const whys[] = {
        [SUTRA_STUCK_DEPENDS] = "depends on",
        [SUTRA_STUCK_MEETS] = "waits to synchronize with",
        [SUTRA_STUCK_BEHIND] = "depends directly or indirectly on",
        [SUTRA_STUCK_HELD] = "waits for the resource used by",
    };
    if (node->rank == node->awaited_rank && node->id == node->awaited_id)
        message_warn("rank %" PRIu64 ": node %" PRIu64 " (%s) depends on itself", node->rank, node->id, node->name);
    else
        message_warn("rank %" PRIu64 ": node %" PRIu64 " (%s) %s node %" PRIu64 " (%s) of rank %" PRIu64, node->rank,
                     node->id, node->name, whys[node->why], node->awaited_id, node->awaited_name, node->awaited_rank);
}

void simulate_warn_deadlock(const struct sutra_simulation *simulation) {
    struct sutra_deadlocked_node node = {.size = sizeof node};
    uint32_t n = 0;
    message_warn("deadlock: %s can never run:",
                 counted_text(sutra_simulation_n_deadlocked(simulation), "node", "nodes").text);
    for (; sutra_simulation_deadlocked(simulation, n, &node); n++)
        if (n < STUCK_MAX)
            warn_of(&node);
    if (n > STUCK_MAX)
        message_warn("and %s more nodes", count_text(n - STUCK_MAX).text);
}
