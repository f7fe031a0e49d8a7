/*
 * job.c - reads the plan and the records of a job, matches the collectives of its ranks, and finds what is wrong.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/collective_matches.h"
#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "columns/column.h"
#include "job/job.h"
#include "text/quantities.h"

/* ---- The plan ---- */

static bool read_plan_line(struct job_whole *whole, struct record_lines *lines) {
    struct arena *arena = &whole->arena;
    char **words = lines->words;
    switch ((enum plan_line)lines->line) {
    case PLAN_OPTIONS:
        whole->options = words[1];
        break;
    case PLAN_ENDING:
        whole->ending = words[1];
        break;
    case PLAN_WORLD:
        whole->world_size = lines->number[1];
        break;
    case PLAN_PAIR:
        if (whole->n_ranks && lines->number[1] <= whole->ranks[whole->n_ranks - 1].rank)
            record_reject(lines, "rank %s after rank %" PRId64, words[1], whole->ranks[whole->n_ranks - 1].rank);
        else if (lines->number[1] >= whole->world_size)
            record_reject(lines, "rank %s of %" PRId64 " ranks", words[1], whole->world_size);
        if (!arena_grow(arena, &whole->ranks, whole->n_ranks, &whole->ranks_capacity, sizeof *whole->ranks))
            return false;
        whole->ranks[whole->n_ranks++] = (struct whole_rank){.rank = lines->number[1]};
        break;
    case PLAN_LEFT:
        if (!arena_grow(arena, &whole->left, whole->n_left, &whole->left_capacity, sizeof *whole->left))
            return false;
        whole->left[whole->n_left++] = (struct left_file){words[1], words[2]};
        break;
    case PLAN_END:
        break;
    }
    return true;
}

/* A symbolic link instead of the folder of records would redirect the files that are written. */
static bool is_symbolic_link(const char *folder) {
    char *path;
    struct stat found;
    if (asprintf(&path, "%s/" RECORD_FOLDER, folder) < 0)
        return false;
    bool is_link = lstat(path, &found) == 0 && S_ISLNK(found.st_mode);
    free(path);
    return is_link;
}

static enum sutra_status read_plan(struct job_whole *whole, const char *folder, struct sutra_error *error) {
    if (is_symbolic_link(folder))
        return error_file(error, SUTRA_DATA, folder,
                          "its " RECORD_FOLDER " is a symbolic link: remove the link, and link the job again");
    enum sutra_status status = record_read(folder, "plan", &whole->plan, error);
    if (status == SUTRA_NO_INPUT && (errno == ENOENT || errno == ENOTDIR))
        return error_file(error, SUTRA_NO_INPUT, folder,
                          "this is not the folder of a job: there is no " RECORD_FOLDER
                          "/plan, as 'sutra link HOSTS DEVICES -o DIR' makes it");
    struct record_lines lines = {.text = whole->plan, .is_plan = true};
    bool ok = true;
    while (!status && ok && record_next(&lines))
        ok = read_plan_line(whole, &lines);
    if (!status)
        status = ok ? record_finish(&lines, folder, "plan", error) : error_memory(error);
    if (status == SUTRA_DATA)
        strncat(error->message, "; link the job again", sizeof error->message - strlen(error->message) - 1);
    return status;
}

/* ---- A rank ---- */

/* A rank's record while it is read. */
struct rank_reading {
    struct whole_rank *rank;
    struct collective_calls calls; /* of this rank alone, until the record is known to be intact */
    uint32_t *groups;              /* numbers in `calls` of the record's groups, */
    uint64_t n_groups, capacity;   /* in the order of their lines */
};

static bool read_group(struct rank_reading *reading, const struct record_lines *lines) {
    const char *name = lines->words[2], *members = lines->words[3];
    uint32_t group = collective_group_add(&reading->calls, name, strlen(name), members, strlen(members),
                                          lines->number[1], COLLECTIVES_OF_NCCL);
    if (group == UINT32_MAX ||
        !column_grow(&reading->groups, reading->n_groups, &reading->capacity, sizeof *reading->groups))
        return false;
    reading->groups[reading->n_groups++] = group;
    return true;
}

/* The group's number is below n_groups, which record_next() has checked. */
static bool read_call(struct rank_reading *reading, const struct record_lines *lines) {
    char *const *words = lines->words;
    const int64_t *number = lines->number;
    struct strings *strings = &reading->calls.strings;
    const bool is_placed = *words[11];
    struct collective_call call = {.rank = reading->rank->rank,
                                   .group = reading->groups[number[1]],
                                   .what = strings_intern(strings, words[2], strlen(words[2])),
                                   .type = strings_intern(strings, words[3], strlen(words[3])),
                                   .n_in = number[4],
                                   .n_out = number[5],
                                   .seq = number[6],
                                   .peer = number[7],
                                   .start_ns = number[8],
                                   .end_ns = number[9],
                                   .node = (uint64_t)number[10],
                                   .ready_us = is_placed ? number[11] : CALL_UNKNOWN,
                                   .done_us = is_placed ? number[12] : CALL_UNKNOWN,
                                   .op_bytes = number[13],
                                   .is_message = collective_is_message(words[2])};
    call.is_send = call.is_message && *words[2] == 's';
    return call.what != STRING_NONE && call.type != STRING_NONE && collective_call_add(&reading->calls, &call);
}

/* Whether a file exists and differs from the file that was linked: host PATH BYTES TIME. */
static bool has_changed(const struct record_lines *lines) {
    const struct file_stamp now = file_stamp_at(lines->words[1]), then = {(uint64_t)lines->number[2], lines->number[3]};
    return now.bytes > 0 && file_stamps_differ(now, then);
}

/* False: out of memory. */
static bool read_line(struct job_whole *whole, struct rank_reading *reading, struct record_lines *lines) {
    struct whole_rank *rank = reading->rank;
    const int64_t *number = lines->number;
    switch ((enum record_line)lines->line) {
    case RECORD_OPTIONS:
        rank->is_otherwise = strcmp(lines->words[1], whole->options) != 0;
        break;
    case RECORD_HOST:
    case RECORD_DEVICE:
        rank->input_bytes += (uint64_t)number[2];
        rank->has_changed |= has_changed(lines);
        break;
    case RECORD_RANK:
        if (number[1] != rank->rank)
            record_reject(lines, "expected rank %" PRId64 ", found rank %" PRId64, rank->rank, number[1]);
        break;
    case RECORD_FILE:
        rank->file_bytes = (uint64_t)number[2];
        break;
    case RECORD_SECONDS:
        rank->seconds = lines->real[1];
        break;
    case RECORD_ERROR:
        rank->state = RANK_BROKEN;
        rank->status = (enum sutra_status)number[1];
        rank->error = arena_text(&whole->arena, lines->words[2], strlen(lines->words[2]));
        return rank->error;
    case RECORD_GPU: /* before the defects */
        rank->validity = arena_zeros(&whole->arena, 1, sizeof *rank->validity);
        if (!rank->validity)
            return false;
        rank->validity->n_activities = (uint64_t)number[1];
        rank->validity->n_complete_steps = (uint64_t)number[2];
        rank->validity->complete_us = lines->real[3];
        rank->validity->span_us = lines->real[4];
        break;
    case RECORD_DEFECT:
        if (!rank->validity) {
            record_reject(lines, "the line 'gpu' is missing");
            break;
        }
        struct trace_defect defect;
        enum trace_defect_kind kind = record_defect(lines, &defect);
        rank->validity->defects[kind] = defect;
        break;
    case RECORD_WARNING:
        if (rank->n_warnings++ > 0)
            break;
        rank->warning = arena_text(&whole->arena, lines->words[1], strlen(lines->words[1]));
        return rank->warning;
    case RECORD_DEVICES:
        rank->n_devices = number[1];
        break;
    case RECORD_UNTOLD:
        reading->calls.n_untold = (uint64_t)number[1];
        break;
    case RECORD_GROUP:
        return read_group(reading, lines);
    case RECORD_CALL:
        return read_call(reading, lines);
    case RECORD_START:
        rank->start = (struct rank_start){.is_known = true,
                                          .origin_ns = number[1],
                                          .end_ns = number[2],
                                          .has_ops = number[3] != 0,
                                          .first_node = (uint64_t)number[4]};
        break;
    case RECORD_COUNT:
        *record_count(&rank->report, lines->words[1]) = (uint64_t)number[2];
        break;
    case RECORD_MATCH:
        record_match(lines, &rank->match);
        rank->match.ids_fault = arena_text(&whole->arena, lines->words[12], strlen(lines->words[12]));
        return rank->match.ids_fault;
    case RECORD_VERSION:
    case RECORD_TIMES:
    case RECORD_END:
        break;
    }
    return true;
}

static enum sutra_status parse_record(struct job_whole *whole, const char *folder, const char *name, char *text,
                                      struct whole_rank *rank, struct sutra_error *error) {
    struct rank_reading reading = {.rank = rank};
    struct record_lines lines = {.text = text};
    /* job.json repeats the record without its collectives */
    const char *end = strstr(text, "\ndevices\t");
    rank->record = arena_text(&whole->arena, text, end ? (size_t)(end - text) + 1 : strlen(text));
    bool ok = collective_calls_init(&reading.calls) && rank->record;
    rank->state = RANK_DONE;
    while (ok && record_next(&lines))
        ok = read_line(whole, &reading, &lines);
    enum sutra_status status = ok ? record_finish(&lines, folder, name, error) : error_memory(error);
    if (!status && !collective_calls_append(&whole->calls, &reading.calls))
        status = error_memory(error);
    collective_calls_free(&reading.calls);
    free(reading.groups);
    return status;
}

/* A rank with a malformed record counts as missing, and the damage is reported. */
static enum sutra_status read_rank(struct job_whole *whole, const char *folder, struct whole_rank *rank,
                                   struct sutra_error *error) {
    const struct whole_rank missing = {.rank = rank->rank, .state = RANK_MISSING, .n_devices = NOT_RECORDED};
    static const char again[] = "; link the rank again";
    char name[RECORD_NAME_MAX], *text = NULL, damage[sizeof error->file + sizeof error->message + 64 + sizeof again];
    struct sutra_error reason;
    *rank = missing;
    record_name(rank->rank, name);
    enum sutra_status status = record_read(folder, name, &text, &reason);
    if (status == SUTRA_NO_INPUT && errno == ENOENT)
        return SUTRA_OK;
    if (!status)
        status = parse_record(whole, folder, name, text, rank, &reason);
    free(text);
    if (!status || status == SUTRA_SYSTEM)
        return error_copy(error, status, &reason);
    sutra_error_text(&reason, damage, sizeof damage - sizeof again);
    memcpy(damage + strlen(damage), again, sizeof again);
    *rank = missing;
    rank->damage = arena_text(&whole->arena, damage, strlen(damage));
    return rank->damage ? SUTRA_OK : error_memory(error);
}

/* ---- Clocks of hosts ---- */

ORDER_BY(compare_offsets, struct rank_clock, ASCENDING(offset_ns))

/* The median of a host's ranks, and how far its ranks and their collectives are from it. */
static struct host_clock clock_of_host(int64_t host, const struct rank_clock *clocks, row_t n,
                                       struct rank_clock *sorted) {
    struct host_clock made = {.host = host, .first_rank = clocks[0].rank, .last_rank = clocks[n - 1].rank, .n = n};
    memcpy(sorted, clocks, n * sizeof *clocks);
    qsort(sorted, n, sizeof *sorted, compare_offsets);
    made.offset_ns = sorted[upper_median_at(n)].offset_ns;
    for (row_t i = 0; i < n; i++) {
        int64_t apart = moment_size(moment_minus(clocks[i].offset_ns, made.offset_ns));
        apart = MAX(apart, clocks[i].spread_ns);
        made.spread_ns = MAX(apart, made.spread_ns);
    }
    return made;
}

/* Ranks per host: the largest number of GPUs that a rank reports; 0 or less: none does. */
static int64_t ranks_per_host(const struct job_whole *whole) {
    int64_t per_host = whole->n_ranks ? whole->ranks[0].n_devices : NOT_RECORDED;
    for (size_t i = 0; i < whole->n_ranks; i++)
        if (whole->ranks[i].state == RANK_DONE && whole->ranks[i].n_devices > per_host)
            per_host = whole->ranks[i].n_devices;
    return per_host;
}

static void find_hosts(struct job_whole *whole) {
    /* Without a report, each rank has a host of its own. */
    int64_t per_host = ranks_per_host(whole);
    per_host = per_host > 0 ? per_host : 1;
    struct rank_clock *clocks = arena_alloc(&whole->arena, whole->n_clocks, sizeof *clocks);
    row_t n = 0;
    for (row_t i = 0; clocks && i < whole->n_clocks; i++) /* only clocks that collectives connect with the first */
        if (whole->clocks[i].reference == whole->clocks[0].rank)
            clocks[n++] = whole->clocks[i];
    whole->hosts = arena_alloc(&whole->arena, whole->n_clocks, sizeof *whole->hosts);
    struct rank_clock *sorted = arena_alloc(&whole->arena, whole->n_clocks, sizeof *sorted);
    for (row_t begin = 0, end; begin < n && whole->hosts && sorted; begin = end) {
        int64_t host = clocks[begin].rank / per_host;
        for (end = begin; end < n && clocks[end].rank / per_host == host;)
            end++;
        whole->hosts[whole->n_hosts++] = clock_of_host(host, clocks + begin, end - begin, sorted);
    }
    for (row_t i = whole->n_hosts; whole->hosts && i > 0; i--)
        whole->hosts[i - 1].offset_ns = moment_minus(whole->hosts[i - 1].offset_ns, whole->hosts[0].offset_ns);
}

/* Matches the collectives of a job that is to be simulated, for files of this form. */
static enum sutra_status find_matched_collectives(struct job_whole *whole, bool per_stream, bool astra,
                                                  struct job_matches **found, struct sutra_error *error) {
    struct arena *arena = &whole->arena;
    struct match_rank *ranks = arena_alloc(arena, whole->n_ranks, sizeof *ranks);
    struct job_matches *matched_collectives = arena_alloc(arena, 1, sizeof *matched_collectives);
    TRY(arena_status(arena, error));
    for (size_t i = 0; i < whole->n_ranks; i++)
        ranks[i] = (struct match_rank){whole->ranks[i].rank, whole->ranks[i].start};
    /* One visible GPU is often one of several: each process sees its own. */
    const int64_t per_host = ranks_per_host(whole);
    const struct match_job job = {.ranks = ranks,
                                  .n = whole->n_ranks,
                                  .calls = &whole->calls,
                                  .matches = &whole->matches,
                                  .clocks = whole->clocks,
                                  .n_clocks = whole->n_clocks,
                                  .world_size = whole->world_size,
                                  .ranks_per_host = per_host > 1 && per_host < UINT32_MAX ? (uint32_t)per_host : 0,
                                  .per_stream = per_stream,
                                  .astra = astra};
    *found = matched_collectives;
    return job_matches_find(&job, arena, matched_collectives, error);
}

enum sutra_status job_streams_match(struct job_whole *whole, struct job_matches **matched_collectives,
                                    struct sutra_error *error) {
    return find_matched_collectives(whole, true, false, matched_collectives, error);
}

/* A network model needs matched collectives. SUTRA_DATA: the job has none. */
static enum sutra_status check_matches(const struct job_whole *whole, struct sutra_error *error) {
    static const char remedy[] = "use --astra without 'network', which replays the durations";
    const struct job_matches *matched_collectives = whole->matched_collectives;
    if (matched_collectives->n_matched_collectives)
        return SUTRA_OK;
    if (whole->calls.n_untold)
        return error_set(error, SUTRA_DATA,
                         "--astra network: neither the device traces nor the host traces record the arguments of "
                         "%" PRIu64 " collectives, so that ranks cannot be matched; %s",
                         whole->calls.n_untold, remedy);
    if (whole->calls.n)
        return error_set(error, SUTRA_DATA,
                         "--astra network: none of %" PRIu64 " collectives matches a collective of another rank; %s",
                         whole->calls.n, remedy);
    return error_set(error, SUTRA_DATA, "--astra network: the traces contain no collectives; %s", remedy);
}

static enum sutra_status match_collectives(struct job_whole *whole, struct sutra_error *error) {
    struct arena *arena = &whole->arena;
    whole->astra = strstr(whole->options, " --astra") != NULL;
    whole->per_stream = strstr(whole->options, " --gpu streams") != NULL;
    TRY(find_matched_collectives(whole, whole->per_stream, whole->astra, &whole->matched_collectives, error));
    if (!strstr(whole->options, " --astra network"))
        return SUTRA_OK;
    TRY(check_matches(whole, error));
    whole->network = arena_alloc(arena, 1, sizeof *whole->network);
    TRY_ALLOC(whole->network, error);
    return job_network_find(whole->matched_collectives, whole->n_ranks, whole->world_size, arena, whole->network,
                            error);
}

/* ---- Findings ---- */

/* Minimum clock offset of a finding: CLOCK_NS, and CLOCK_TIMES times its spread. */
#define CLOCK_NS    10000
#define CLOCK_TIMES 5

/* Out of memory: the arena fails. */
__attribute__((format(printf, 5, 6))) static void add_finding(struct job_whole *whole, enum check_severity severity,
                                                              const char *rule, const char *ranks, const char *format,
                                                              ...) {
    va_list words;
    va_start(words, format);
    struct job_finding finding = {.severity = severity,
                                  .rule = rule,
                                  .ranks = arena_format(&whole->arena, "%s", ranks),
                                  .text = arena_vformat(&whole->arena, format, words)};
    va_end(words);
    if (!arena_grow(&whole->arena, &whole->findings, whole->n_findings, &whole->findings_capacity,
                    sizeof *whole->findings))
        return;
    whole->findings[whole->n_findings++] = finding;
    whole->n_errors += severity == CHECK_ERROR;
}

static void find_missing_ranks(struct job_whole *whole) {
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
        add_finding(whole, CHECK_ERROR, "missing rank", rank_list_text(&none),
                    "no pair of traces for %" PRId64 " of %" PRId64 " ranks", n_none, whole->world_size);
    if (n_undone)
        add_finding(whole, CHECK_ERROR, "not linked", rank_list_text(&undone),
                    "%zu %s not linked: the run was interrupted, or a shard has not run; run it again", n_undone,
                    n_undone == 1 ? "rank is" : "ranks are");
}

/* Whether --strict is the reason why a rank is not linked, and its traces have a defect. */
static bool is_broken_by_defect(const struct whole_rank *rank) {
    return rank->state == RANK_BROKEN && rank->status == SUTRA_STRICT && rank->validity;
}

/* Ranks with malformed records, ranks that could not be linked, and files of no rank. */
static void find_malformed(struct job_whole *whole) {
    for (size_t i = 0; i < whole->n_ranks; i++) {
        const struct whole_rank *rank = &whole->ranks[i];
        struct rank_list ranks = {0};
        if (!rank->damage)
            continue;
        rank_list_add(&ranks, rank->rank);
        add_finding(whole, CHECK_ERROR, "damaged record", rank_list_text(&ranks), "%s", rank->damage);
    }
    for (size_t i = 0; i < whole->n_ranks; i++) {
        const struct whole_rank *rank = &whole->ranks[i];
        struct rank_list ranks = {0};
        if (rank->state != RANK_BROKEN || is_broken_by_defect(rank))
            continue;
        rank_list_add(&ranks, rank->rank);
        add_finding(whole, CHECK_ERROR, "malformed rank", rank_list_text(&ranks), "%.700s", rank->error);
    }
    for (size_t i = 0; i < whole->n_left; i++)
        add_finding(whole, CHECK_WARNING, "skipped file", "", "%.400s: %.380s", whole->left[i].path,
                    whole->left[i].why);
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
        add_finding(whole, CHECK_WARNING, "changed traces", rank_list_text(&changed),
                    "the traces have changed since these ranks were linked: link the job, or its shards, again");
    if (otherwise.any)
        add_finding(whole, CHECK_WARNING, "other options", rank_list_text(&otherwise),
                    "linked with options that differ from the plan of the job: link the job, or its shards, again");
}

/* Defects of traces: one finding each, with its ranks. */
static void find_trace_defects(struct job_whole *whole) {
    struct trace_validity sum = {0};
    for (size_t i = 0; i < whole->n_ranks; i++)
        if (whole->ranks[i].validity)
            validity_add(&sum, whole->ranks[i].validity);
    for (int kind = 0; kind < N_DEFECTS; kind++) {
        struct rank_list ranks = {0};
        bool breaks = false;
        if (!sum.defects[kind].count)
            continue;
        for (size_t i = 0; i < whole->n_ranks; i++) {
            const struct whole_rank *rank = &whole->ranks[i];
            if (!rank->validity || !rank->validity->defects[kind].count)
                continue;
            rank_list_add(&ranks, rank->rank);
            breaks |= is_broken_by_defect(rank);
        }
        add_finding(whole, breaks ? CHECK_ERROR : CHECK_WARNING, "trace defect", rank_list_text(&ranks), "%s%s",
                    defect_message(&sum, (enum trace_defect_kind)kind, "").text,
                    breaks ? "; not linked (--strict)" : "");
    }
}

/* Ranks whose operators are matched by names, and ranks whose files contain only a part of the measured steps. */
static void find_matches(struct job_whole *whole) {
    struct rank_list by_names = {0}, partly = {0};
    const struct whole_rank *least = NULL, *shortest = NULL;
    uint64_t n_ops = 0, n_matched = 0, n_positions = 0;
    for (size_t i = 0; i < whole->n_ranks; i++) {
        const struct whole_rank *rank = &whole->ranks[i];
        const struct sutra_link_match *match = &rank->match;
        if (rank->state != RANK_DONE)
            continue;
        if (match->by_names) {
            rank_list_add(&by_names, rank->rank);
            n_ops += match->n_host_ops;
            n_matched += match->n_matched;
            n_positions = MAX(n_positions, match->n_positions);
            least = least && least->match.confidence <= match->confidence ? least : rank;
        }
        if (link_match_is_part(match)) {
            const double share = match->covered_us / match->steps_us;
            rank_list_add(&partly, rank->rank);
            shortest = shortest && shortest->match.covered_us / shortest->match.steps_us <= share ? shortest : rank;
        }
    }
    if (least) {
        const struct sutra_link_match *match = &least->match;
        const char *because = !*match->ids_fault
                                  ? ""
                                  : arena_format(&whole->arena, ": %s; chakra_trace_link would link %s (--match ids)",
                                                 match->ids_fault, match->n_common_ids ? "few of them" : "nothing");
        add_finding(whole, CHECK_WARNING, "matched by name", rank_list_text(&by_names),
                    "%s of %s host operators are matched by name (least confidence %.1f %%, rank %" PRId64 ")%s%s",
                    count_text(n_matched).text, count_text(n_ops).text, 100 * match->confidence, least->rank, because,
                    n_positions > 1
                        ? "; several positions fit equally well: the first is used (--match-step selects one)"
                        : "");
    }
    if (shortest)
        add_finding(whole, CHECK_WARNING, "part of a trace", rank_list_text(&partly),
                    "the host traces cover a part of the device traces, and the files contain only this part: %s of "
                    "%s on rank %" PRId64,
                    time_text(shortest->match.covered_us).text, time_text(shortest->match.steps_us).text,
                    shortest->rank);
}

/* Checks the linked ranks. find_missing_ranks() has reported missing ranks. */
static void find_collective_problems(struct job_whole *whole) {
    int64_t *ranks = arena_alloc(&whole->arena, whole->n_ranks, sizeof *ranks);
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
            add_finding(whole, checks.list[i].severity, checks.list[i].rule, checks.list[i].ranks, "%s",
                        checks.list[i].text);
}

static void find_clock_offsets(struct job_whole *whole) {
    struct rank_list alone = {0};
    for (row_t i = 1; i < whole->n_hosts; i++) {
        const struct host_clock *host = &whole->hosts[i];
        struct rank_list ranks = {0};
        const int64_t off_ns = moment_size(host->offset_ns);
        if (off_ns <= CLOCK_NS || (off_ns - 1) / CLOCK_TIMES < host->spread_ns)
            continue;
        rank_list_add_run(&ranks, host->first_rank, host->last_rank);
        add_finding(whole, CHECK_NOTE, "clock", rank_list_text(&ranks),
                    "the clock of host %" PRId64 " is %.1f us %s the clock of the first host, to within %.1f us",
                    host->host, (double)off_ns / 1e3, host->offset_ns > 0 ? "ahead of" : "behind",
                    (double)host->spread_ns / 1e3);
    }
    for (row_t i = 1; i < whole->n_clocks; i++)
        if (whole->clocks[i].reference != whole->clocks[0].rank)
            rank_list_add(&alone, whole->clocks[i].rank);
    if (alone.any)
        add_finding(whole, CHECK_NOTE, "clock", rank_list_text(&alone),
                    "no collective connects these ranks with rank %" PRId64 ": their clock offsets are unknown",
                    whole->clocks[0].rank);
}

/* Groups whose members no trace records. */
static void find_inferred_groups(struct job_whole *whole) {
    if (whole->n_inferred)
        add_finding(whole, CHECK_NOTE, "inferred groups", "",
                    "the members of %" PRIu64
                    " process groups follow from the ranks in these groups: the traces record only addresses of groups",
                    whole->n_inferred);
}

/* Causes of wrong simulated times. */
static void find_simulation_limits(struct job_whole *whole) {
    const struct job_matches *matched_collectives = whole->matched_collectives;
    if (!matched_collectives)
        return;
    if (matched_collectives->n_lacking + matched_collectives->n_alone)
        add_finding(
            whole, CHECK_WARNING, "simulation", "",
            "%" PRIu64
            " collectives lack ranks, and a simulation does not wait for these ranks: the time of the job is within "
            "0.3 %%, but what-ifs may be up to 53 %% off if the slowest rank is missing",
            matched_collectives->n_lacking + matched_collectives->n_alone);
    if (whole->calls.n_untold)
        add_finding(
            whole, CHECK_WARNING, "simulation", "",
            "the device traces record no arguments of %" PRIu64
            " collectives, as in older PyTorch versions: the time of the job is right, but what-ifs do not change "
            "the waits in the durations of these collectives",
            whole->calls.n_untold);
    if (matched_collectives->n_different)
        add_finding(whole, CHECK_WARNING, "simulation", "",
                    "%" PRIu64
                    " collectives differ in kind between ranks: the simulated ranks do not wait for each other there",
                    matched_collectives->n_different);
    if (matched_collectives->n_apart)
        add_finding(whole, CHECK_WARNING, "simulation", "",
                    "no collective connects %" PRIu32
                    " %s with the first rank: their start times come from their own clocks",
                    matched_collectives->n_apart, matched_collectives->n_apart == 1 ? "rank" : "ranks");
    if (whole->network && whole->network->n_modeled == 0)
        add_finding(
            whole, CHECK_WARNING, "simulation", "",
            "no collective has a known size and a kind with a model: ASTRA-sim replays all of them, and another "
            "bandwidth in network.yml changes nothing");
    if (matched_collectives->n_beside && whole->network)
        add_finding(whole, CHECK_WARNING, "simulation", "",
                    "%" PRIu64
                    " collectives overlap with another collective of their rank: the simulated time of this job is "
                    "right, but network what-ifs of this job are not; use 'sutra simulate' with files of --gpu streams",
                    matched_collectives->n_beside);
    else if (matched_collectives->n_beside)
        add_finding(
            whole, CHECK_WARNING, "simulation", "",
            "%" PRIu64
            " collectives overlap with another collective of their rank, but these files are for one resource "
            "per GPU: the time of the job is right, but what-ifs are inexact; 'sutra simulate' prints the error, and "
            "'--gpu streams' avoids it",
            matched_collectives->n_beside);
}

/* Finds everything that is wrong with a job, in order of severity. Out of memory: the arena fails. */
static void find_problems(struct job_whole *whole) {
    find_missing_ranks(whole);
    find_malformed(whole);
    find_stale(whole);
    find_trace_defects(whole);
    find_matches(whole);
    find_collective_problems(whole);
    find_inferred_groups(whole);
    find_clock_offsets(whole);
    find_simulation_limits(whole);
    struct job_finding *sorted = arena_alloc(&whole->arena, whole->n_findings, sizeof *sorted);
    uint64_t n = 0;
    for (int severity = CHECK_ERROR; severity >= CHECK_NOTE && sorted; severity--)
        for (uint64_t i = 0; i < whole->n_findings; i++)
            if ((int)whole->findings[i].severity == severity)
                sorted[n++] = whole->findings[i];
    whole->findings = sorted;
}

enum sutra_status job_whole_read(struct job_whole *whole, const char *folder, struct sutra_error *error) {
    *whole = (struct job_whole){0};
    TRY_ALLOC(collective_calls_init(&whole->calls), error);
    bool is_simulated = false;
    TRY(read_plan(whole, folder, error));
    for (size_t i = 0; i < whole->n_ranks; i++) {
        struct whole_rank *rank = &whole->ranks[i];
        TRY(read_rank(whole, folder, rank, error));
        is_simulated |= rank->start.is_known;
        whole->n_done += rank->state == RANK_DONE;
        whole->n_broken += rank->state == RANK_BROKEN;
        whole->n_missing += rank->state == RANK_MISSING;
        whole->n_damaged += rank->damage != NULL;
    }
    TRY(collective_groups_find_members(&whole->calls, whole->world_size, &whole->n_inferred, error));
    TRY(collective_matches_find(&whole->calls, &whole->arena, &whole->matches, error));
    TRY(rank_clocks_find(&whole->calls, &whole->matches, &whole->arena, &whole->clocks, &whole->n_clocks, error));
    if (is_simulated)
        TRY(match_collectives(whole, error));
    find_hosts(whole);
    find_problems(whole);
    return arena_status(&whole->arena, error);
}

void job_whole_free(struct job_whole *whole) {
    collective_calls_free(&whole->calls);
    free(whole->plan);
    arena_free(&whole->arena);
    *whole = (struct job_whole){0};
}
