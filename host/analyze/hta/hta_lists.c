/*
 * hta_lists.c - what the reference gives as lists: the profiler's steps, and the ranks that may be stragglers; and by
 * which rules all tables were made.
 */
#include <inttypes.h>
#include <string.h>

#include "analyze/hta/hta_ranks.h"
#include "base/error.h"
#include "write/text_file.h"

static void out_list(struct text_out *text, const int64_t *numbers, uint64_t n) {
    out_add(text, "[");
    for (uint64_t i = 0; i < n; i++) {
        out_add(text, i ? ", " : "");
        out_integer(text, numbers[i]);
    }
    out_add(text, "]");
}

static bool write_steps(const void *ranks, struct text_out *text) {
    const struct hta_stragglers *stragglers = hta_ranks_stragglers(ranks);
    out_list(text, stragglers->steps, stragglers->n_steps);
    out_add(text, "\n");
    return true;
}

/* A list for each number of candidates; null where the reference fails. */
static bool write_stragglers(const void *ranks, struct text_out *text) {
    enum { CANDIDATES_MOST = 3 };
    const struct hta_stragglers *stragglers = hta_ranks_stragglers(ranks);
    struct arena arena = {0};
    int64_t list[CANDIDATES_MOST];
    for (uint64_t n = 1; n <= CANDIDATES_MOST; n++) {
        uint64_t n_listed = stragglers_list(stragglers, n, list, &arena);
        out_format(text, "%s \"num_candidates=%d\": ", n > 1 ? ",\n" : "{\n", (int)n);
        if (n_listed)
            out_list(text, list, n_listed);
        else
            out_add(text, "null");
    }
    out_add(text, "\n}\n");
    bool ok = !arena.failed;
    arena_free(&arena);
    return ok;
}

/* The list for one number of candidates, of requested steps only. */
struct straggler_request {
    const struct sutra_hta_ranks *ranks;
    const int64_t *steps;
    size_t n_steps;
    uint64_t n_candidates;
};

static bool write_requested(const void *of, struct text_out *text) {
    const struct straggler_request *request = of;
    struct hta_stragglers stragglers = {0};
    struct arena arena = {0};
    bool ok = hta_ranks_find_stragglers(request->ranks, request->steps, request->n_steps, &stragglers, &arena);
    int64_t *list = ok ? arena_take(&arena, stragglers.n_metric, sizeof *list) : NULL;
    uint64_t n = list ? stragglers_list(&stragglers, request->n_candidates, list, &arena) : 0;
    if (n)
        out_list(text, list, n);
    else
        out_add(text, "null");
    out_add(text, "\n");
    ok = !arena.failed;
    strings_free(&stragglers.strings);
    arena_free(&arena);
    return ok;
}

enum sutra_status sutra_hta_ranks_write_stragglers(struct sutra_context *context, const struct sutra_hta_ranks *ranks,
                                                   const int64_t *steps, size_t n_steps, uint64_t n_candidates,
                                                   const char *path, uint64_t *n_bytes, struct sutra_error *error) {
    const struct straggler_request request = {ranks, steps, n_steps, n_candidates};
    return text_file_write(context, path, write_requested, &request, n_bytes, error);
}

static bool write_rules(const void *ranks, struct text_out *text) {
    const struct sutra_hta_options *rules = sutra_hta_ranks_rules(ranks);
    out_format(text, "{\n \"hta_version\": \"%s\",\n", sutra_hta_version_name(rules->hta_version));
    out_format(text, " \"compat\": %s,\n", rules->compat ? "true" : "false");
    out_format(text, " \"last_step\": %s,\n", rules->last_step ? "true" : "false");
    out_format(text, " \"all_launches\": %s,\n", rules->all_launches ? "true" : "false");
    out_format(text, " \"nanoseconds\": %s,\n", rules->nanoseconds ? "true" : "false");
    out_format(text, " \"kernels\": %" PRIu64 ",\n", rules->n_kernels);
    out_format(text, " \"kernel_delay_us\": %" PRIu64 ",\n", rules->kernel_delay_us);
    out_format(text, " \"full_queue\": %" PRIu64 ",\n \"sequences_of\": ", rules->full_queue);
    out_string(text, rules->sequences_of, strlen(rules->sequences_of));
    out_format(text, ",\n \"sequence_kernels\": %" PRIu64 "\n}\n", rules->sequence_kernels);
    return true;
}

enum sutra_status sutra_hta_ranks_write_list(struct sutra_context *context, const struct sutra_hta_ranks *ranks,
                                             enum sutra_hta_list list, const char *path, uint64_t *n_bytes,
                                             struct sutra_error *error) {
    static bool (*const writers[])(const void *, struct text_out *) = {[SUTRA_HTA_LIST_STEPS] = write_steps,
                                                                       [SUTRA_HTA_LIST_STRAGGLERS] = write_stragglers,
                                                                       [SUTRA_HTA_LIST_RULES] = write_rules};
    return text_file_write(context, path, writers[list], ranks, n_bytes, error);
}
