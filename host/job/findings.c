/*
 * findings.c - findings of a job: missing ranks, unassigned files, mismatched collectives, clock offsets.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/collective_checks.h"
#include "analyze/rank_list.h"
#include "job/whole.h"

/* Minimum clock offset of a finding: CLOCK_NS, and CLOCK_TIMES times its spread. */
#define CLOCK_NS    10000
#define CLOCK_TIMES 5

/* ---- Findings ---- */

static const char *keep_text(struct arena *arena, const char *text) {
    size_t size = strlen(text) + 1;
    char *kept = arena_take(arena, size, 1);
    return kept ? memcpy(kept, text, size) : NULL;
}

__attribute__((format(printf, 5, 6))) static void find(struct job_whole *whole, enum check_severity severity,
                                                       const char *rule, const char *ranks, const char *format, ...) {
    char text[800];
    va_list words;
    va_start(words, format);
    vsnprintf(text, sizeof text, format, words);
    va_end(words);
    struct job_finding finding = {.severity = severity,
                                  .rule = rule,
                                  .ranks = keep_text(&whole->arena, ranks),
                                  .text = keep_text(&whole->arena, text)};
    if (!arena_grow(&whole->arena, &whole->findings, whole->n_findings, &whole->findings_capacity,
                    sizeof *whole->findings) ||
        !finding.ranks || !finding.text)
        return;
    whole->findings[whole->n_findings++] = finding;
    whole->n_errors += severity == CHECK_ERROR;
}

/* ---- Ranks and files ---- */

static void find_missing(struct job_whole *whole) {
    struct rank_list none = {0}, undone = {0};
    int64_t n_none = whole->world_size - (int64_t)whole->n_ranks, next = 0;
    size_t n_undone = whole->n_missing - whole->n_damaged;
    for (size_t i = 0; i <= whole->n_ranks; i++) {
        const struct whole_rank *rank = i < whole->n_ranks ? &whole->ranks[i] : NULL;
        int64_t end = rank ? rank->rank : whole->world_size;
        if (next < end)
            rank_list_add_run(&none, next, end - 1);
        if (rank && rank->state == RANK_MISSING && !rank->damage)
            rank_list_add(&undone, rank->rank);
        next = end + 1;
    }
    if (n_none)
        find(whole, CHECK_ERROR, "missing rank", rank_list_text(&none),
             "no pair of traces for %" PRId64 " of %" PRId64 " ranks", n_none, whole->world_size);
    if (n_undone)
        find(whole, CHECK_ERROR, "not linked", rank_list_text(&undone),
             "%zu %s not linked: the run was interrupted, or a shard has not run; run it again", n_undone,
             n_undone == 1 ? "rank is" : "ranks are");
}

/* Ranks with malformed records; no other data of these ranks is known. */
static void find_damaged(struct job_whole *whole) {
    for (size_t i = 0; i < whole->n_ranks; i++) {
        struct rank_list ranks = {0};
        if (!whole->ranks[i].damage)
            continue;
        rank_list_add(&ranks, whole->ranks[i].rank);
        find(whole, CHECK_ERROR, "damaged record", rank_list_text(&ranks), "%s", whole->ranks[i].damage);
    }
}

/* Ranks whose files do not match the current traces or options. */
static void find_stale(struct job_whole *whole) {
    struct rank_list changed = {0}, otherwise = {0};
    for (size_t i = 0; i < whole->n_ranks; i++) {
        if (whole->ranks[i].has_changed)
            rank_list_add(&changed, whole->ranks[i].rank);
        if (whole->ranks[i].is_otherwise)
            rank_list_add(&otherwise, whole->ranks[i].rank);
    }
    if (changed.any)
        find(whole, CHECK_WARNING, "changed traces", rank_list_text(&changed),
             "the traces have changed since these ranks were linked: link the job, or its shards, again");
    if (otherwise.any)
        find(whole, CHECK_WARNING, "other options", rank_list_text(&otherwise),
             "linked with options that differ from the plan of the job: link the job, or its shards, again");
}

static void find_broken(struct job_whole *whole) {
    for (size_t i = 0; i < whole->n_ranks; i++) {
        struct rank_list ranks = {0};
        if (whole->ranks[i].state != RANK_BROKEN)
            continue;
        rank_list_add(&ranks, whole->ranks[i].rank);
        find(whole, CHECK_ERROR, "malformed rank", rank_list_text(&ranks), "%.700s", whole->ranks[i].error);
    }
    for (size_t i = 0; i < whole->n_left; i++)
        find(whole, CHECK_WARNING, "skipped file", "", "%.400s: %.380s", whole->left[i].path, whole->left[i].why);
}

/* ---- Collectives ---- */

/* Checks the linked ranks. find_missing() has reported missing ranks. */
static void find_in_collectives(struct job_whole *whole) {
    int64_t *ranks = arena_take(&whole->arena, whole->n_ranks, sizeof *ranks);
    struct collective_checks checks = {0};
    size_t n = 0;
    for (size_t i = 0; i < whole->n_ranks && ranks; i++)
        if (whole->ranks[i].state == RANK_DONE)
            ranks[n++] = whole->ranks[i].rank;
    if (!ranks ||
        collective_checks_find(&whole->calls, &whole->matches, ranks, n, &whole->arena, &checks, NULL) != SUTRA_OK)
        return;
    for (uint64_t i = 0; i < checks.n; i++)
        if (strcmp(checks.list[i].rule, "missing rank") != 0)
            find(whole, checks.list[i].severity, checks.list[i].rule, checks.list[i].ranks, "%s", checks.list[i].text);
}

/* ---- Clocks ---- */

static void find_clocks(struct job_whole *whole) {
    struct rank_list alone = {0};
    for (row_t i = 1; i < whole->n_hosts; i++) {
        const struct host_clock *host = &whole->hosts[i];
        struct rank_list ranks = {0};
        const int64_t off_ns = moment_size(host->offset_ns);
        if (off_ns <= CLOCK_NS || (off_ns - 1) / CLOCK_TIMES < host->spread_ns)
            continue;
        rank_list_add_run(&ranks, host->first_rank, host->last_rank);
        find(whole, CHECK_NOTE, "clock", rank_list_text(&ranks),
             "the clock of host %" PRId64 " is %.1f us %s the clock of the first host, to within %.1f us", host->host,
             (double)off_ns / 1e3, host->offset_ns > 0 ? "ahead of" : "behind", (double)host->spread_ns / 1e3);
    }
    for (row_t i = 1; i < whole->n_clocks; i++)
        if (whole->clocks[i].reference != whole->clocks[0].rank)
            rank_list_add(&alone, whole->clocks[i].rank);
    if (alone.any)
        find(whole, CHECK_NOTE, "clock", rank_list_text(&alone),
             "no collective connects these ranks with rank %" PRId64 ": their clock offsets are unknown",
             whole->clocks[0].rank);
}

/* ---- Simulation ---- */

/* Causes of wrong simulated times. */
static void find_unmet(struct job_whole *whole) {
    const struct job_meetings *meetings = whole->meetings;
    if (!meetings)
        return;
    if (meetings->n_lacking + meetings->n_alone)
        find(whole, CHECK_WARNING, "simulation", "",
             "%" PRIu64
             " collectives lack ranks, and a simulation does not wait for these ranks: the time of the job is within "
             "0.3 %%, but what-ifs may be up to 53 %% off if the slowest rank is missing",
             meetings->n_lacking + meetings->n_alone);
    if (meetings->n_different)
        find(whole, CHECK_WARNING, "simulation", "",
             "%" PRIu64
             " collectives differ in kind between ranks: the simulated ranks do not wait for each other there",
             meetings->n_different);
    if (meetings->n_apart)
        find(whole, CHECK_WARNING, "simulation", "",
             "no collective connects %" PRIu32 " %s with the first rank: their start times come from their own clocks",
             meetings->n_apart, meetings->n_apart == 1 ? "rank" : "ranks");
    if (meetings->n_beside)
        find(
            whole, CHECK_WARNING, "simulation", "",
            "%" PRIu64
            " collectives overlap with another collective of their rank, but these files are for one resource per GPU: "
            "the time of the job is right, but what-ifs may be up to 9 %% off; '--gpu streams' avoids this error",
            meetings->n_beside);
}

/* Sorts by descending severity; stable. */
static void sort_findings(struct job_whole *whole) {
    struct job_finding *sorted = arena_take(&whole->arena, whole->n_findings, sizeof *sorted);
    uint64_t n = 0;
    for (int severity = CHECK_ERROR; severity >= CHECK_NOTE && sorted; severity--)
        for (uint64_t i = 0; i < whole->n_findings; i++)
            if ((int)whole->findings[i].severity == severity)
                sorted[n++] = whole->findings[i];
    whole->findings = sorted;
}

void job_findings_find(struct job_whole *whole) {
    find_missing(whole);
    find_damaged(whole);
    find_broken(whole);
    find_stale(whole);
    find_in_collectives(whole);
    find_clocks(whole);
    find_unmet(whole);
    sort_findings(whole);
}
