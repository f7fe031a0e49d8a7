/*
 * fuzz_partial_results.c - fuzzes --combine: partial results of each analysis with bytes replaced by the input, under a
 * correct header, give a result or an error.
 *
 * The first byte selects the analysis, the rest are edits: offset (3 bytes), n (1 byte), then n % 8 + 1 bytes to write
 * there; n >= 128 truncates the content at the offset instead. The edited results come from a small generated job, so
 * they follow each change of the format.
 */
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/ranks.h"
#include "fuzz.h"
#include "fuzz_trace.h"
#include "generate/generate.h"

#define N_RANKS   2
#define PATH_MOST 256

static enum sutra_status make_hta(struct sutra_context *context, const char *const *paths, struct sutra_error *error) {
    struct sutra_hta_ranks *made = NULL;
    enum sutra_status status = sutra_hta_ranks_run(context, paths, N_RANKS, NULL, &made, error);
    sutra_hta_ranks_free(made);
    return status;
}

static enum sutra_status make_hta_compat(struct sutra_context *context, const char *const *paths,
                                         struct sutra_error *error) {
    const struct sutra_hta_options hta = {.size = sizeof hta, .compat = true};
    const struct sutra_hta_ranks_options options = {.size = sizeof options, .hta = &hta};
    struct sutra_hta_ranks *made = NULL;
    enum sutra_status status = sutra_hta_ranks_run(context, paths, N_RANKS, &options, &made, error);
    sutra_hta_ranks_free(made);
    return status;
}

static enum sutra_status make_operators(struct sutra_context *context, const char *const *paths,
                                        struct sutra_error *error) {
    struct sutra_operators_ranks *made = NULL;
    enum sutra_status status = sutra_operators_ranks_run(context, paths, N_RANKS, NULL, &made, error);
    sutra_operators_ranks_free(made);
    return status;
}

static enum sutra_status make_kernels(struct sutra_context *context, const char *const *paths,
                                      struct sutra_error *error) {
    const struct sutra_operators_options kernels = {.size = sizeof kernels, .kernels = true};
    const struct sutra_operators_ranks_options options = {.size = sizeof options, .operators = &kernels};
    struct sutra_operators_ranks *made = NULL;
    enum sutra_status status = sutra_operators_ranks_run(context, paths, N_RANKS, &options, &made, error);
    sutra_operators_ranks_free(made);
    return status;
}

static enum sutra_status make_dlrm(struct sutra_context *context, const char *const *paths, struct sutra_error *error) {
    struct sutra_dlrm_ranks *made = NULL;
    enum sutra_status status = sutra_dlrm_ranks_run(context, paths, N_RANKS, NULL, &made, error);
    sutra_dlrm_ranks_free(made);
    return status;
}

static enum sutra_status make_collectives(struct sutra_context *context, const char *const *paths,
                                          struct sutra_error *error) {
    const struct sutra_collectives_options options = {.size = sizeof options, .arrivals = true};
    struct sutra_collectives *made = NULL;
    enum sutra_status status = sutra_collectives_run(context, paths, N_RANKS, &options, &made, error);
    sutra_collectives_free(made);
    return status;
}

static enum sutra_status make_nccl(struct sutra_context *context, const char *const *paths, struct sutra_error *error) {
    struct sutra_tracelens_collectives *made = NULL;
    enum sutra_status status = sutra_tracelens_collectives_run(context, paths, N_RANKS, NULL, &made, error);
    sutra_tracelens_collectives_free(made);
    return status;
}

static enum sutra_status make_overview(struct sutra_context *context, const char *const *paths,
                                       struct sutra_error *error) {
    const struct sutra_overview_options options = {
        .size = sizeof options, .tables = true, .companion = sutra_hta_companion()};
    struct sutra_overview *made = NULL;
    enum sutra_status status = sutra_overview_run(context, paths, N_RANKS, &options, &made, error);
    sutra_overview_free(made);
    return status;
}

/* Each analysis, and the partial result of the first rank. */
static struct analysis {
    enum sutra_status (*make)(struct sutra_context *context, const char *const *paths, struct sutra_error *error);
    struct buffer result;
    char folder[PATH_MOST];
} analyses[] = {
    {.make = make_hta},  {.make = make_hta_compat},  {.make = make_operators}, {.make = make_kernels},
    {.make = make_dlrm}, {.make = make_collectives}, {.make = make_nccl},      {.make = make_overview},
};

#define N_ANALYSES (sizeof analyses / sizeof *analyses)

static char top[] = P_tmpdir "/sutra_fuzz_XXXXXX";
static char traces[N_RANKS][PATH_MOST];

static void read_into(const char *path, struct buffer *bytes) {
    FILE *file = fopen(path, "rb");
    char piece[4096];
    check(file, "the partial result is there");
    for (size_t n; (n = fread(piece, 1, sizeof piece, file)) > 0;)
        buffer_append(bytes, piece, n);
    fclose(file);
}

static void write_from(const char *path, const struct buffer *bytes) {
    FILE *file = fopen(path, "wb");
    check(file && fwrite(bytes->bytes, 1, bytes->length, file) == bytes->length && fclose(file) == 0, "a file");
}

static enum sutra_status run(const struct analysis *analysis, bool combines, struct sutra_error *error) {
    const struct shard_plan plan = {.folder = analysis->folder, .n_shards = combines ? 0 : 1, .combines = combines};
    const char *paths[N_RANKS];
    struct sutra_context *context = new_context(1);
    context->plan = &plan;
    for (size_t i = 0; i < N_RANKS; i++)
        paths[i] = traces[i];
    enum sutra_status status = analysis->make(context, paths, error);
    sutra_context_free(context);
    return status;
}

static void remove_all(void) {
    char command[sizeof top + 16];
    for (size_t i = 0; i < N_ANALYSES; i++)
        buffer_free(&analyses[i].result);
    snprintf(command, sizeof command, "rm -rf '%s'", top);
    check(system(command) == 0, "the folder is removed");
}

/* Makes the traces of a job, and partial results of all analyses. */
static void begin(void) {
    struct sutra_error error;
    char path[PATH_MOST + 8];
    struct generate_job_options job = {.run = {.events = 1000, .seed = 3, .collectives = true},
                                       .n_ranks = N_RANKS,
                                       .skew_us = 20,
                                       .slow_rank = 1,
                                       .missing_rank = GENERATE_RANK_NONE,
                                       .swapped_rank = GENERATE_RANK_NONE,
                                       .cut_rank = GENERATE_RANK_NONE,
                                       .lossy_rank = GENERATE_RANK_NONE,
                                       .resized_rank = GENERATE_RANK_NONE,
                                       .host_folder = top,
                                       .device_folder = top};
    check(mkdtemp(top), "a folder");
    atexit(remove_all);
    check(generate_job(&job, &error) == SUTRA_OK, "a job");
    for (size_t i = 0; i < N_RANKS; i++)
        snprintf(traces[i], sizeof traces[i], "%s/device.%zu.json", top, i);
    for (size_t i = 0; i < N_ANALYSES; i++) {
        struct analysis *analysis = &analyses[i];
        snprintf(analysis->folder, sizeof analysis->folder, "%s/%zu", top, i);
        check(mkdir(analysis->folder, 0777) == 0, "a folder for partial results");
        check(run(analysis, false, &error) == SUTRA_OK, "partial results");
        check(run(analysis, true, &error) == SUTRA_OK, "and what they make together");
        snprintf(path, sizeof path, "%s/0", analysis->folder);
        read_into(path, &analysis->result);
    }
}

static void edit(char *content, size_t *length, const uint8_t *edits, size_t size) {
    while (size > 4 && *length > 0) {
        size_t offset = (edits[0] | (size_t)edits[1] << 8 | (size_t)edits[2] << 16) % *length;
        size_t n = edits[3] % 8 + 1;
        if (edits[3] >= 128) {
            *length = offset;
            n = 0;
        }
        n = n < size - 4 ? n : size - 4;
        memcpy(content + offset, edits + 4, n < *length - offset ? n : *length - offset);
        edits += 4 + n;
        size -= 4 + n;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static bool has_begun;
    struct buffer edited = {0}, none = {0};
    char path[PATH_MOST + 8];
    struct sutra_error error = {0};
    if (!has_begun)
        begin();
    has_begun = true;
    if (size == 0)
        return 0;
    const struct analysis *analysis = &analyses[data[0] % N_ANALYSES];
    partial_result_begin(&none);
    size_t length = analysis->result.length - none.length;
    buffer_append(&edited, analysis->result.bytes, analysis->result.length);
    check(!edited.failed, "memory");
    edit(edited.bytes + none.length, &length, data + 1, size - 1);
    edited.length = none.length + length;
    partial_result_seal(&edited);
    snprintf(path, sizeof path, "%s/0", analysis->folder);
    write_from(path, &edited);
    enum sutra_status status = run(analysis, true, &error);
    check(status == SUTRA_OK || error.message[0], "a result or an error");
    check(status != SUTRA_INTERNAL, "no error of ours");
    buffer_free(&edited);
    buffer_free(&none);
    return 0;
}
