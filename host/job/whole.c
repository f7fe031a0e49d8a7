/*
 * whole.c - reading the records of a job.
 */
#include "job/whole.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/file_stamp.h"
#include "columns/column.h"

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

/* A link in place of the folder of records would have files written elsewhere. */
static bool is_linked_elsewhere(const char *folder) {
    char *path;
    struct stat found;
    if (asprintf(&path, "%s/" RECORD_FOLDER, folder) < 0)
        return false;
    bool is_link = lstat(path, &found) == 0 && S_ISLNK(found.st_mode);
    free(path);
    return is_link;
}

static enum sutra_status read_plan(struct job_whole *whole, const char *folder, struct sutra_error *error) {
    if (is_linked_elsewhere(folder))
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
    uint32_t group =
        collective_group_take(&reading->calls, name, strlen(name), members, strlen(members), lines->number[1]);
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
                                   .is_message = collective_is_message(words[2])};
    call.is_send = call.is_message && *words[2] == 's';
    return call.what != STRING_NONE && call.type != STRING_NONE && collective_call_add(&reading->calls, &call);
}

/* Whether the file is there and another one than when it was linked: host PATH BYTES TIME. */
static bool has_changed(const struct record_lines *lines) {
    const struct file_stamp now = file_stamp_at(lines->words[1]), then = {(uint64_t)lines->number[2], lines->number[3]};
    return now.bytes > 0 && file_stamps_differ(now, then);
}

static const char *keep_text(struct arena *arena, const char *text, size_t length) {
    char *kept = arena_take(arena, length + 1, 1);
    if (!kept)
        return NULL;
    memcpy(kept, text, length);
    kept[length] = 0;
    return kept;
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
        rank->error = keep_text(&whole->arena, lines->words[2], strlen(lines->words[2]));
        return rank->error;
    case RECORD_WARNING:
        rank->n_warnings++;
        break;
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
        rank->start = (struct rank_start){.is_told = true,
                                          .origin_ns = number[1],
                                          .end_ns = number[2],
                                          .has_ops = number[3] != 0,
                                          .first_node = (uint64_t)number[4]};
        break;
    case RECORD_VERSION:
    case RECORD_COUNT:
    case RECORD_TIMES:
    case RECORD_END:
        break;
    }
    return true;
}

/* Keeps the record's text as it is for job.json, without the collectives. */
static const char *keep_record(struct arena *arena, const char *text) {
    const char *end = strstr(text, "\ndevices\t");
    return keep_text(arena, text, end ? (size_t)(end - text) + 1 : strlen(text));
}

static enum sutra_status parse_record(struct job_whole *whole, const char *folder, const char *name, char *text,
                                      struct whole_rank *rank, struct sutra_error *error) {
    struct rank_reading reading = {.rank = rank};
    struct record_lines lines = {.text = text};
    bool ok = collective_calls_init(&reading.calls) && (rank->record = keep_record(&whole->arena, text));
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

/* A record that is damaged is as none, but is reported. */
static enum sutra_status read_rank(struct job_whole *whole, const char *folder, struct whole_rank *rank,
                                   struct sutra_error *error) {
    const struct whole_rank missing = {.rank = rank->rank, .state = RANK_MISSING, .n_devices = NOT_TOLD};
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
        return error_hand_on(error, status, &reason);
    sutra_error_text(&reason, damage, sizeof damage - sizeof again);
    memcpy(damage + strlen(damage), again, sizeof again);
    *rank = missing;
    rank->damage = keep_text(&whole->arena, damage, strlen(damage));
    return rank->damage ? SUTRA_OK : error_memory(error);
}

static void count_states(struct job_whole *whole) {
    for (size_t i = 0; i < whole->n_ranks; i++) {
        whole->n_done += whole->ranks[i].state == RANK_DONE;
        whole->n_broken += whole->ranks[i].state == RANK_BROKEN;
        whole->n_missing += whole->ranks[i].state == RANK_MISSING;
        whole->n_damaged += whole->ranks[i].damage != NULL;
    }
}

/* ---- Clocks of hosts ---- */

/* How many ranks a host has, if all say the same or, the last host, less; else each rank has a host of its own. */
static int64_t ranks_per_host(const struct job_whole *whole) {
    int64_t n = whole->n_ranks ? whole->ranks[0].n_devices : NOT_TOLD;
    for (size_t i = 0; i < whole->n_ranks; i++)
        if (whole->ranks[i].state == RANK_DONE && whole->ranks[i].n_devices > n)
            n = whole->ranks[i].n_devices;
    return n > 0 ? n : 1;
}

static int compare_offsets(const void *left, const void *right) {
    const struct rank_clock *a = left, *b = right;
    return (a->offset_ns > b->offset_ns) - (a->offset_ns < b->offset_ns);
}

/* The median of a host's ranks, and how far its ranks and their collectives are from it. */
static struct host_clock clock_of_host(int64_t host, const struct rank_clock *clocks, row_t n,
                                       struct rank_clock *sorted) {
    struct host_clock made = {.host = host, .first_rank = clocks[0].rank, .last_rank = clocks[n - 1].rank, .n = n};
    memcpy(sorted, clocks, n * sizeof *clocks);
    qsort(sorted, n, sizeof *sorted, compare_offsets);
    made.offset_ns = sorted[n / 2].offset_ns;
    for (row_t i = 0; i < n; i++) {
        int64_t apart = moment_size(moment_minus(clocks[i].offset_ns, made.offset_ns));
        apart = apart > clocks[i].spread_ns ? apart : clocks[i].spread_ns;
        made.spread_ns = apart > made.spread_ns ? apart : made.spread_ns;
    }
    return made;
}

static void find_hosts(struct job_whole *whole) {
    int64_t per_host = ranks_per_host(whole);
    struct rank_clock *clocks = arena_take(&whole->arena, whole->n_clocks, sizeof *clocks);
    row_t n = 0;
    for (row_t i = 0; clocks && i < whole->n_clocks; i++) /* those that are not compared tell nothing */
        if (whole->clocks[i].reference == whole->clocks[0].rank)
            clocks[n++] = whole->clocks[i];
    whole->hosts = arena_take(&whole->arena, whole->n_clocks, sizeof *whole->hosts);
    struct rank_clock *sorted = arena_take(&whole->arena, whole->n_clocks, sizeof *sorted);
    for (row_t begin = 0, end; begin < n && whole->hosts && sorted; begin = end) {
        int64_t host = clocks[begin].rank / per_host;
        for (end = begin; end < n && clocks[end].rank / per_host == host;)
            end++;
        whole->hosts[whole->n_hosts++] = clock_of_host(host, clocks + begin, end - begin, sorted);
    }
    for (row_t i = whole->n_hosts; whole->hosts && i > 0; i--)
        whole->hosts[i - 1].offset_ns = moment_minus(whole->hosts[i - 1].offset_ns, whole->hosts[0].offset_ns);
}

/* ---- Meetings ---- */

static bool is_simulated(const struct job_whole *whole) {
    for (size_t i = 0; i < whole->n_ranks; i++)
        if (whole->ranks[i].start.is_told)
            return true;
    return false;
}

static enum sutra_status find_meetings(struct job_whole *whole, struct sutra_error *error) {
    struct arena *arena = &whole->arena;
    struct meeting_rank *ranks = arena_take(arena, whole->n_ranks, sizeof *ranks);
    struct job_meetings *meetings = arena_take(arena, 1, sizeof *meetings);
    if (arena->failed)
        return error_memory(error);
    for (size_t i = 0; i < whole->n_ranks; i++)
        ranks[i] = (struct meeting_rank){whole->ranks[i].rank, whole->ranks[i].start};
    whole->astra = strstr(whole->options, " --astra") != NULL;
    const struct meeting_job job = {.ranks = ranks,
                                    .n = whole->n_ranks,
                                    .calls = &whole->calls,
                                    .matches = &whole->matches,
                                    .clocks = whole->clocks,
                                    .n_clocks = whole->n_clocks,
                                    .world_size = whole->world_size,
                                    .per_stream = strstr(whole->options, " --gpu streams") != NULL,
                                    .astra = whole->astra};
    whole->meetings = meetings;
    return job_meetings_find(&job, arena, meetings, error);
}

/* ---- All of it ---- */

enum sutra_status job_whole_read(struct job_whole *whole, const char *folder, struct sutra_error *error) {
    *whole = (struct job_whole){0};
    enum sutra_status status = collective_calls_init(&whole->calls) ? SUTRA_OK : error_memory(error);
    if (!status)
        status = read_plan(whole, folder, error);
    for (size_t i = 0; i < whole->n_ranks && !status; i++)
        status = read_rank(whole, folder, &whole->ranks[i], error);
    if (!status)
        status = collective_matches_find(&whole->calls, &whole->arena, &whole->matches, error);
    if (!status)
        status =
            rank_clocks_find(&whole->calls, &whole->matches, &whole->arena, &whole->clocks, &whole->n_clocks, error);
    if (!status && is_simulated(whole))
        status = find_meetings(whole, error);
    if (status)
        return status;
    count_states(whole);
    find_hosts(whole);
    job_findings_find(whole);
    return arena_status(&whole->arena, error);
}

void job_whole_free(struct job_whole *whole) {
    collective_calls_free(&whole->calls);
    free(whole->plan);
    arena_free(&whole->arena);
    *whole = (struct job_whole){0};
}
