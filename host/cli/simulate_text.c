/*
 * simulate_text.c - the text of `sutra simulate`: the time, why a what-if has no effect, ranks, waits, the critical
 * path.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shared.h"
#include "cli/simulate.h"
#include "cli/terminal.h"
#include "simulate/simulation.h"
#include "sutra/simulate.h"
#include "text/quantities.h"
#include "text/strings.h"
#include "write/text.h"

#define N_NAMES    10 /* minimum number of names */
#define N_SHOWN    32 /* maximum */
#define NAME_WIDTH 38
#define RANKS_MAX  16
#define WAIT_WIDTH 24
#define WAITS_MAX  5
#define STRAGGLES  1.05 /* times as slow as the median */

static const char *const work_words[] = {"CPU", "computation", "communication", "waits"};

static double change_percent(uint64_t after, uint64_t before) {
    return before ? 100 * ((double)after / (double)before - 1) : (double)NAN;
}

/* Prints shares of the kinds of work on the critical path. */
static void print_path_shares(const struct sutra_simulation *simulation) {
    uint64_t sums[3] = {0}, n = sutra_simulation_n_steps(simulation), end = sutra_simulation_time_ns(simulation);
    for (uint64_t i = 0; i < n; i++) {
        struct sutra_simulated_step step = path_step_at(simulation, i);
        sums[step.work] += step.end_ns - step.start_ns;
    }
    for (int work = 0; work < 3; work++)
        printf("%s %s %s", work ? "," : "", work_words[work], share_text((double)sums[work], (double)end).text);
}

/* A what-if whose nodes are on less than this share of the critical path needs an explanation. */
#define EXPLAINED_PERCENT 0.5

/* Prints why the options changed no duration, one line per option. */
static void print_unused_options(const struct simulate_job *simulate, const struct sutra_simulated_change *change) {
    uint64_t comm_ns = 0;
    for (uint32_t i = 0; i < sutra_simulation_ranks(simulate->before); i++)
        comm_ns += rank_at(simulate->before, i).comm_ns;
    const char *small = "all durations change by less than a microsecond";
    const char *no_comm = "the job has no communication";
    for (size_t i = 0; i < simulate->scales.n; i++) {
        const char *text = simulate->scales.texts[i];
        printf("no change: --scale %s: %s\n", text,
               strtod(strrchr(text, ':') + 1, NULL) == 1 ? "a factor of 1 changes no duration"
               : change->n_rounded                       ? small
                                                         : "no selected node takes time");
    }
    for (size_t i = 0; i < simulate->removals.n; i++)
        printf("no change: --remove %s: no selected node takes time\n", simulate->removals.texts[i]);
    if (simulate->options.no_launch_latency)
        printf("no change: --no-launch-latency: %s\n", change->n_rounded ? small : "no node has launch latency");
    if (simulate->overlap)
        printf("no change: --overlap comm: %s\n", no_comm);
    if (simulate->bandwidth)
        printf("no change: --bandwidth %s: %s\n", simulate->bandwidth,
               comm_ns == 0                       ? no_comm
               : simulate->options.bandwidth == 1 ? "a factor of 1 changes no duration"
                                                  : small);
    if (simulate->options.network)
        printf("no change: --network %s: %s\n", simulate->options.network,
               comm_ns == 0 ? no_comm
               : sutra_simulation_n_links(simulate->simulation) == 0
                   ? "the files record no bytes of matched collectives"
                   : small);
    if (simulate->options.no_straggler)
        puts("no change: --straggler none: no rank computes over 5 % longer than the median rank");
}

static uint64_t count_nodes(const struct sutra_simulation *simulation) {
    uint64_t n = 0;
    for (uint32_t i = 0; i < sutra_simulation_ranks(simulation); i++)
        n += rank_at(simulation, i).n_nodes;
    return n;
}

/* Prints why a what-if has no effect, or almost none: it changes no duration, or nodes that are not on the critical
 * path. */
static void print_lack_of_effect(const struct simulate_job *simulate) {
    const struct sutra_simulation *before = simulate->before;
    const uint64_t end = sutra_simulation_time_ns(simulate->simulation), before_ns = sutra_simulation_time_ns(before);
    const double percent = change_percent(end, before_ns);
    struct sutra_simulated_change change = {.size = sizeof change};
    if (!(fabs(percent) < EXPLAINED_PERCENT))
        return;
    if (!sutra_simulation_change(simulate->simulation, before, &change)) {
        if (end == before_ns)
            printf("no change: %s\n", count_nodes(simulate->simulation) == count_nodes(before)
                                          ? "the recorded job has this number of layers, micro-batches or replicas"
                                          : "the added or removed nodes are not on the critical path");
        return;
    }
    if (change.n_nodes == 0) {
        print_unused_options(simulate, &change);
        return;
    }
    printf("%s change: %s, ", end == before_ns ? "no" : "little",
           counted_text(change.n_nodes, "changed node", "changed nodes").text);
    if (end == before_ns && change.path_ns)
        printf("but a path without them is as long as the critical path:");
    else if (change.path_ns)
        printf("%s of the critical path:", share_text((double)change.path_ns, (double)before_ns).text);
    else
        printf("none on the critical path:");
    print_path_shares(before);
    struct sutra_simulated_name longest = {.size = sizeof longest};
    for (uint64_t i = 0; i < sutra_simulation_n_names(before); i++) {
        struct sutra_simulated_name name = name_at(before, i);
        if (name.path_ns > longest.path_ns)
            longest = name;
    }
    struct shortened shown;
    if (longest.name) {
        short_names(&longest.name, 1, WAIT_WIDTH, &shown);
        printf(", most in ");
        shortened_print(&shown, 0);
        printf(" (%s)", time_text(us_of(longest.path_ns)).text);
    }
    putchar('\n');
}

#define KERNELS_SHOWN 4 /* names of a block */

/* Prints the recorded number of layers, and the repeated block, which may be several layers of the model. */
static void print_layers(const struct simulate_job *simulate) {
    struct sutra_scaled_layers layers = {.size = sizeof layers};
    struct sutra_block_kernel kernel = {.size = sizeof kernel};
    if (!simulate->scaled || !sutra_et_ranks_layers(simulate->scaled, &layers))
        return;
    printf("layers: %s for %u recorded; kernels and collectives per block: forward %u and %u, backward %u and %u\n",
           counted_text(layers.n, "repeated block", "repeated blocks").text, layers.n_recorded,
           layers.n_forward_kernels, layers.n_forward_collectives, layers.n_backward_kernels,
           layers.n_backward_collectives);
    printf("forward block:");
    for (uint32_t i = 0; sutra_et_ranks_block_kernel(simulate->scaled, false, i, &kernel); i++) {
        struct shortened shown;
        if (i == KERNELS_SHOWN) {
            printf(", ...");
            break;
        }
        short_names(&kernel.name, 1, WAIT_WIDTH, &shown);
        printf(i ? ", " : " ");
        shortened_print(&shown, 0);
        if (kernel.n > 1)
            printf(" x%u", kernel.n);
    }
    putchar('\n');
}

static void print_summary(const struct simulate_job *simulate) {
    uint32_t n = sutra_simulation_ranks(simulate->simulation);
    const uint64_t n_nodes = count_nodes(simulate->simulation), end = sutra_simulation_time_ns(simulate->simulation);
    const uint64_t n_ran = n_nodes - sutra_simulation_n_deadlocked(simulate->simulation);
    printf("%s simulated", time_text(us_of(end)).text);
    const uint64_t before_ns = simulate->before ? sutra_simulation_time_ns(simulate->before) : 0;
    if (simulate->before)
        printf(" (%s), %s without the what-if", change_text(change_percent(end, before_ns)).text,
               time_text(us_of(before_ns)).text);
    printf(": %s of ", counted_text(n_nodes, "node", "nodes").text);
    printf("%s", counted_text(n, "rank", "ranks").text);
    if (n_ran < n_nodes)
        printf(", only %s ran", count_text(n_ran).text);
    putchar('\n');
    if (simulate->before)
        print_lack_of_effect(simulate);
    print_layers(simulate);
    if (simulate->interval.high_ns)
        printf("interval: %s to %s%s%s\n", time_text(us_of(simulate->interval.low_ns)).text,
               time_text(us_of(simulate->interval.high_ns)).text,
               simulate->interval.assumes_ring ? "; assumes ring collectives across hosts" : "",
               simulate->interval.has_one_size
                   ? "; the collectives of a kind have one size, which does not determine the bandwidth"
                   : "");
    if (simulate->before && simulate->reference)
        printf("%s with a resource per stream: error at most %.1f %% of the job\n",
               time_text(us_of(simulate->reference_ns)).text,
               error_bound(simulate, simulate->options.no_straggler, end, simulate->reference_ns, before_ns));
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

static void print_what_ifs(const struct simulate_job *simulate) {
    static const char *const words[N_WHAT_IFS] = {[WHAT_IF_NO_STRAGGLER] = "no rank slower than the median",
                                                  [WHAT_IF_NETWORK] = "twice the bandwidth",
                                                  [WHAT_IF_NO_COMMUNICATION] = "communication takes no time"};
    uint64_t end = sutra_simulation_time_ns(simulate->simulation);
    if (!simulate->what_ifs)
        return;
    printf("\n  %-32s %14s %9s%s %12s\n", "what-if", "time", "change", simulate->reference ? "        streams" : "",
           "max. error");
    for (int worth = 0; worth < N_WHAT_IFS; worth++) {
        double bound = summary_error(simulate, worth);
        printf("  %-32s %14s %9s ", words[worth], time_text(us_of(simulate->what_if_ns[worth])).text,
               change_text(change_percent(simulate->what_if_ns[worth], end)).text);
        if (simulate->reference)
            printf("%14s ", time_text(us_of(simulate->reference_what_if_ns[worth])).text);
        if (isnan(bound))
            printf("%12s\n", "unknown");
        else
            printf("%10.1f %%\n", bound);
    }
}

static void print_names(const struct simulate_job *simulate) {
    uint64_t n = sutra_simulation_n_names(simulate->simulation), end = sutra_simulation_time_ns(simulate->simulation);
    uint64_t n_shown = MAX(simulate->n_sensitivity, N_NAMES);
    unsigned width = NAME_WIDTH + screen_columns_more();
    const char *names[N_SHOWN];
    struct shortened shorts[N_SHOWN];
    n_shown = MIN(n_shown, N_SHOWN);
    n_shown = MIN(n_shown, n);
    for (uint64_t i = 0; i < n_shown; i++)
        names[i] = name_at(simulate->simulation, i).name;
    short_names(names, n_shown, width, shorts);
    printf("\n  %-*s %6s %12s %8s", (int)width, "longest by name", "nodes", "execution", "of path");
    puts(simulate->n_sensitivity ? "  removed" : "");
    for (uint64_t i = 0; i < n_shown; i++) {
        struct sutra_simulated_name name = name_at(simulate->simulation, i);
        printf("  ");
        shortened_print(&shorts[i], width);
        printf(" %6" PRIu64 " %12s", name.n_nodes, time_text(us_of(name.run_ns)).text);
        printf(" %8s", share_text((double)name.path_ns, (double)end).text);
        if (i < simulate->n_sensitivity)
            printf("  %7s", change_text(change_percent(name.free_ns, end)).text);
        putchar('\n');
    }
}

/* ---- Warnings ---- */

/* "8 of 8 messages", appended after a separator. */
static void add_counts(struct text_out *text, uint64_t n, uint64_t n_all, const char *kinds) {
    if (n)
        out_format(text, "%s%s of %s %s", text->out.length ? ", " : "", count_text(n).text, count_text(n_all).text,
                   kinds);
}

/* Nodes without a duration that no option gives a time. */
static void warn_untimed(const struct simulate_job *simulate) {
    const struct node_counts *counts = &simulate->counts;
    const bool is_job = sutra_simulation_ranks(simulate->simulation) > 1;
    const bool has_comm =
        (counts->n_untimed_collectives || counts->n_untimed_messages) && !(simulate->options.network && is_job);
    const bool has_kernels = 2 * counts->n_untimed_kernels > counts->n_kernels;
    const uint64_t n_kernels = simulate->options.peaks ? counts->n_unsized_kernels : counts->n_untimed_kernels;
    struct text_out text = {0};
    if (has_comm) {
        add_counts(&text, counts->n_untimed_collectives, counts->n_collectives, "collectives");
        add_counts(&text, counts->n_untimed_messages, counts->n_messages, "sends and receives");
    }
    if (has_kernels)
        add_counts(&text, n_kernels, counts->n_kernels, "kernels");
    const bool has_sizes = has_kernels && !simulate->options.peaks && counts->n_unsized_kernels < n_kernels;
    buffer_append(&text.out, "", 1);
    if (!text.out.failed && *text.out.bytes)
        message_warn("%s have no duration, and take 1 ns each%s%s%s%s%s", text.out.bytes,
                     has_comm || has_sizes ? "; set their times by " : "",
                     has_comm ? "--network alpha=12us,beta=50GB/s" : "",
                     has_comm && !is_job ? " (with the files of all ranks)" : "", has_comm && has_sizes ? " and " : "",
                     has_sizes ? "--peaks FILE" : "");
    buffer_free(&text.out);
}

/* Kinds of transfers whose times do not determine alpha, so that a what-if of the network assumes one. Names the kind
 * with most bytes. */
static void warn_assumed_alpha(const struct simulate_job *simulate) {
    const struct network *network = &simulate->ranks->network;
    const char *given = simulate->options.network;
    const struct network_link *most = NULL;
    uint64_t n_kinds = 0;
    bool has_fit = false;
    if (given ? strstr(given, "alpha=") && strstr(given, "beta=") : simulate->options.bandwidth == 1)
        return;
    for (uint32_t i = 0; i < network->n; i++) {
        const struct network_link *link = &network->links[i];
        has_fit |= link->is_fitted;
        if (link->is_fitted || link->mean_bytes <= 0)
            continue;
        n_kinds++;
        if (!most || (double)link->n * link->mean_bytes > (double)most->n * most->mean_bytes)
            most = link;
    }
    if (!most)
        return;
    message_warn("%s %ss of %" PRIu32 " ranks have %s each%s, so their alpha is unknown: assumed %.1f us, %s%s",
                 count_text(most->n).text, collective_kind_names[most->kind], most->n_ranks,
                 bytes_text((uint64_t)most->mean_bytes).text,
                 most->has_one_size ? "" : " on average, but take no longer with more bytes", most->alpha_ns / 1e3,
                 has_fit ? "the mean of other kinds" : "as no kind of transfers determines it",
                 n_kinds > 1 ? "; likewise other kinds of one size (see the network)" : "");
}

/* Parts of ASTRA-sim's configuration that change its times, but not sutra's. */
static void warn_config(const struct simulate_job *simulate, const char *folder) {
    const struct node_counts *counts = &simulate->counts;
    const struct astra_config config = astra_config_read(simulate->job.context, folder);
    const bool is_foreign = simulate->ranks->lacks_matches && sutra_simulation_ranks(simulate->simulation) > 1 &&
                            counts->n_collectives + counts->n_messages > 0;
    const struct {
        bool applies;
        const char *file, *text;
    } texts[] = {
        {config.has_roofline && !simulate->options.peaks, "system.json",
         "roofline-enabled: sutra uses the recorded durations; --peaks FILE computes times of kernels without duration"},
        {config.has_custom_collectives, "system.json",
         "custom collectives: sutra does not simulate their messages; a collective takes its duration, or a time from "
         "--network"},
        {config.tracks_memory, "system.json", "track-local-mem: sutra does not track local memory"},
        {config.has_topology && is_foreign, "network.yml",
         "topology: sutra simulates no topology; communication takes its duration, or a time from --network with one "
         "link per rank"},
        {config.has_memory_model, "memory.json",
         "memory-type: sutra simulates no memory; memory nodes take their duration"},
    };
    if (config.malformed)
        message_warn("%s/%s: not a JSON object, ignored", folder, config.malformed);
    for (size_t i = 0; i < sizeof texts / sizeof *texts && !config.replays; i++)
        if (texts[i].applies)
            message_warn("%s/%s: %s", folder, texts[i].file, texts[i].text);
}

void simulation_warn(const struct simulate_job *simulate) {
    const struct sutra_et_ranks *ranks = simulate->ranks;
    const struct node_counts *counts = &simulate->counts;
    const bool scales_bandwidth = simulate->options.bandwidth != 1 || simulate->what_ifs;
    const bool from_sizes = ranks->lacks_matches && ranks->n > 1 && simulate->options.network;
    if (ranks->lacks_matches)
        warn_untimed(simulate);
    if (scales_bandwidth && counts->n_unmatched && ranks->n > 1 && !from_sizes)
        message_warn("%s of %s have no recorded match: their durations may contain waits for other ranks, which %s "
                     "scales, too, so its effect is overestimated",
                     count_text(counts->n_unmatched).text,
                     counted_text(counts->n_collectives + counts->n_messages, "collective", "collectives").text,
                     simulate->options.bandwidth != 1 ? "--bandwidth" : "the what-if of the bandwidth");
    warn_assumed_alpha(simulate);
    if (counts->n_memory)
        message_warn("%s (MEM_LOAD_NODE, MEM_STORE_NODE): sutra simulates no memory; the nodes take their duration on "
                     "the resource of communication",
                     counted_text(counts->n_memory, "memory node", "memory nodes").text);
    if (counts->n_limited)
        message_warn("%s (involved_dim): sutra simulates one link per rank, and ignores the dimensions",
                     counted_text(counts->n_limited, "collective of some dimensions of the network",
                                  "collectives of some dimensions of the network")
                         .text);
    for (unsigned i = 0; i < simulate->job.operands.n; i++)
        if (path_is_folder(simulate->job.operands.words[i]))
            warn_config(simulate, simulate->job.operands.words[i]);
}

/* ---- All ---- */

void simulation_print(const struct simulate_job *simulate) {
    print_summary(simulate);
    print_ranks(simulate->simulation);
    print_use(simulate->simulation);
    print_waits(simulate->simulation);
    print_rank_waits(simulate->simulation);
    if (sutra_simulation_n_waits(simulate->simulation))
        print_stragglers(simulate->simulation);
    if (simulate->bandwidth || simulate->options.network || simulate->what_ifs)
        print_network(simulate->simulation);
    print_what_ifs(simulate);
    if (simulate->shows_pipeline)
        pipeline_print(simulate->pipeline, RANKS_MAX);
    printf("\ncritical path, %s:", counted_text(sutra_simulation_n_steps(simulate->simulation), "step", "steps").text);
    print_path_shares(simulate->simulation);
    putchar('\n');
    print_names(simulate);
}
