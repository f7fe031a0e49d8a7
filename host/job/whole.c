/*
 * whole.c - reading the records of a job.
 */
#include "job/whole.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/file_stamp.h"

/* ---- The plan ---- */

static size_t count_lines(const char *text, const char *word) {
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, word)); at++)
        n += at == text || at[-1] == '\n';
    return n;
}

static enum sutra_status read_plan(struct job_whole *whole, const char *folder, struct sutra_error *error) {
    whole->plan = record_read(folder, "plan");
    if (!whole->plan)
        return error_file(error, SUTRA_NO_INPUT, folder,
                          "this is not the folder of a job: there is no " RECORD_FOLDER
                          "/plan, as 'sutra link HOSTS DEVICES -o DIR' makes it");
    if (!record_is_whole(whole->plan))
        return error_file(error, SUTRA_DATA, folder, "its " RECORD_FOLDER "/plan is damaged: link the job again");
    whole->ranks = arena_zeros(&whole->arena, count_lines(whole->plan, "pair\t"), sizeof *whole->ranks);
    whole->left = arena_take(&whole->arena, count_lines(whole->plan, "left\t"), sizeof *whole->left);
    whole->options = whole->ending = "";
    if (whole->arena.failed)
        return error_memory(error);
    for (struct record_lines lines = {.text = whole->plan}; record_next(&lines);) {
        char **words = lines.words;
        if (strcmp(words[0], "options") == 0)
            whole->options = words[1];
        else if (strcmp(words[0], "ending") == 0)
            whole->ending = words[1];
        else if (strcmp(words[0], "world") == 0)
            whole->world_size = strtoll(words[1], NULL, 10);
        else if (strcmp(words[0], "pair") == 0)
            whole->ranks[whole->n_ranks++] = (struct whole_rank){.rank = strtoll(words[1], NULL, 10)};
        else if (strcmp(words[0], "left") == 0)
            whole->left[whole->n_left++] = (struct left_file){words[1], words[2]};
    }
    return SUTRA_OK;
}

/* ---- A rank ---- */

/* A rank's record while it is read: its groups' numbers among those of all. */
struct record_groups {
    uint32_t *list;
    size_t n;
};

static bool read_group(struct job_whole *whole, char *const *words, struct record_groups *groups) {
    uint32_t group = collective_group_take(&whole->calls, words[2], strlen(words[2]), words[3], strlen(words[3]),
                                           strtoll(words[1], NULL, 10));
    groups->list[groups->n++] = group;
    return group != UINT32_MAX;
}

static bool read_call(struct job_whole *whole, char *const *words, int64_t rank, const struct record_groups *groups) {
    size_t group = strtoull(words[1], NULL, 10);
    struct collective_call call = {.rank = rank,
                                   .what = strings_intern(&whole->calls.strings, words[2], strlen(words[2])),
                                   .type = strings_intern(&whole->calls.strings, words[3], strlen(words[3])),
                                   .n_in = strtoll(words[4], NULL, 10),
                                   .n_out = strtoll(words[5], NULL, 10),
                                   .seq = strtoll(words[6], NULL, 10),
                                   .peer = strtoll(words[7], NULL, 10),
                                   .start_ns = strtoll(words[8], NULL, 10),
                                   .end_ns = strtoll(words[9], NULL, 10),
                                   .node = strtoull(words[10], NULL, 10),
                                   .ready_us = *words[11] ? strtoll(words[11], NULL, 10) : CALL_UNKNOWN,
                                   .done_us = *words[12] ? strtoll(words[12], NULL, 10) : CALL_UNKNOWN,
                                   .is_message = collective_is_message(words[2])};
    if (group >= groups->n)
        return true; /* damaged; the next run makes it anew */
    call.group = groups->list[group];
    call.is_send = call.is_message && *words[2] == 's';
    return call.what != STRING_NONE && call.type != STRING_NONE && collective_call_add(&whole->calls, &call);
}

/* Whether the file is there and another one than when it was linked: host PATH BYTES TIME. */
static bool has_changed(char *const *words) {
    const struct file_stamp now = file_stamp_at(words[1]),
                            then = {strtoull(words[2], NULL, 10), strtoll(words[3], NULL, 10)};
    return now.bytes > 0 && file_stamps_differ(now, then);
}

static bool read_line(struct job_whole *whole, char *const *words, struct whole_rank *rank,
                      struct record_groups *groups) {
    const char *word = words[0];
    if (strcmp(word, "call") == 0)
        return read_call(whole, words, rank->rank, groups);
    if (strcmp(word, "group") == 0)
        return read_group(whole, words, groups);
    if (strcmp(word, "error") == 0) {
        rank->state = RANK_BROKEN;
        rank->error = words[2];
    } else if (strcmp(word, "warning") == 0) {
        rank->n_warnings++;
    } else if (strcmp(word, "seconds") == 0) {
        rank->seconds = strtod(words[1], NULL);
    } else if (strcmp(word, "file") == 0) {
        rank->file_bytes = strtoull(words[2], NULL, 10);
    } else if (strcmp(word, "host") == 0 || strcmp(word, "device") == 0) {
        rank->input_bytes += strtoull(words[2], NULL, 10);
        rank->has_changed |= has_changed(words);
    } else if (strcmp(word, "options") == 0) {
        rank->is_otherwise = strcmp(words[1], whole->options) != 0;
    } else if (strcmp(word, "devices") == 0) {
        rank->n_devices = strtoll(words[1], NULL, 10);
    } else if (strcmp(word, "start") == 0) {
        rank->start = (struct rank_start){.is_told = true,
                                          .origin_ns = strtoll(words[1], NULL, 10),
                                          .end_ns = strtoll(words[2], NULL, 10),
                                          .has_ops = *words[3] == '1',
                                          .first_node = strtoull(words[4], NULL, 10)};
    } else if (strcmp(word, "untold") == 0) {
        whole->calls.n_untold += strtoull(words[1], NULL, 10);
    }
    return true;
}

/* Keeps the record's text as it is for job.json, without the collectives. */
static char *keep_record(struct arena *arena, const char *text) {
    const char *end = strstr(text, "\ndevices\t");
    size_t length = end ? (size_t)(end - text) + 1 : strlen(text);
    char *kept = arena_take(arena, length + 1, 1);
    if (kept) {
        memcpy(kept, text, length);
        kept[length] = 0;
    }
    return kept;
}

static enum sutra_status read_rank(struct job_whole *whole, const char *folder, struct whole_rank *rank,
                                   struct sutra_error *error) {
    char name[RECORD_NAME_MAX];
    record_name(rank->rank, name);
    rank->n_devices = NOT_TOLD;
    char *text = record_read(folder, name);
    if (!text || !record_is_whole(text)) {
        rank->state = RANK_MISSING;
        free(text);
        return SUTRA_OK;
    }
    rank->record = keep_record(&whole->arena, text);
    struct record_groups groups = {.list =
                                       arena_take(&whole->arena, count_lines(text, "group\t"), sizeof *groups.list)};
    bool ok = rank->record && groups.list;
    for (struct record_lines lines = {.text = text}; ok && record_next(&lines);)
        ok = read_line(whole, lines.words, rank, &groups);
    if (ok && rank->error) {
        size_t size = strlen(rank->error) + 1;
        char *kept = arena_take(&whole->arena, size, 1);
        rank->error = kept ? memcpy(kept, rank->error, size) : NULL;
        ok = kept;
    }
    free(text);
    return ok ? SUTRA_OK : error_memory(error);
}

static void count_states(struct job_whole *whole) {
    for (size_t i = 0; i < whole->n_ranks; i++) {
        whole->n_done += whole->ranks[i].state == RANK_DONE;
        whole->n_broken += whole->ranks[i].state == RANK_BROKEN;
        whole->n_missing += whole->ranks[i].state == RANK_MISSING;
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
        int64_t apart = llabs(clocks[i].offset_ns - made.offset_ns);
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
        whole->hosts[i - 1].offset_ns -= whole->hosts[0].offset_ns;
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
