/*
 * job_files.c - reads the files of a job into the graphs of its ranks and ASTRA-sim's configuration, and writes the
 * files that ASTRA-sim needs in addition.
 *
 * With fewer files than threads, all threads read each file, one file after the other; else each thread reads one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/shared.h"
#include "read/document.h"
#include "simulate/convert.h"
#include "simulate/rank_graph.h"
#include "simulate/simulation.h"
#include "write/json.h"
#include "write/text.h"

/* ---- ASTRA-sim: members of process groups, and a system, a network and a memory to start with ---- */

/* The input of the writers: of a converted file, or of a job with matches. */
struct astra_files {
    const struct comm_groups *groups; /* NULL: of a job */
    const struct astra_job *job;
    uint32_t n_ranks;
};

/* {"3": [0, 1]}; ASTRA-sim knows group 0, all ranks, by itself. */
static bool write_groups(const void *of, struct text_out *text) {
    const struct astra_files *files = of;
    struct json_out json = {.text = text, .indent = JSON_ONE_LINE};
    json_open(&json, '{');
    for (uint32_t i = 0; i < files->groups->n_used; i++) {
        const struct comm_group *group = &files->groups->list[i];
        if (group->number.length == 1 && *group->number.bytes == '0')
            continue;
        json_key(&json, group->number.bytes, group->number.length);
        json_open(&json, '[');
        for (uint32_t k = 0; k < (group->n_ranks ? group->n_ranks : files->n_ranks); k++)
            json_integer(&json, group->n_ranks ? group->ranks[k] : k);
        json_close(&json, ']');
    }
    json_close(&json, '}');
    out_add(text, "\n");
    return !text->out.failed;
}

static bool write_matched_groups(const void *of, struct text_out *text) {
    const struct astra_job *job = ((const struct astra_files *)of)->job;
    struct json_out json = {.text = text, .indent = JSON_ONE_LINE};
    json_open(&json, '{');
    for (uint32_t i = 0; i < job->n_groups; i++) {
        const struct astra_group *group = &job->groups[i];
        char number[16];
        if (group->n_ranks == 0)
            continue;
        snprintf(number, sizeof number, "%u", group->number);
        json_add_open(&json, number, '[');
        for (uint32_t k = 0; k < group->n_ranks; k++)
            json_integer(&json, group->ranks[k]);
        json_close(&json, ']');
    }
    json_close(&json, '}');
    out_add(text, "\n");
    return !text->out.failed;
}

/* One implementation per dimension. */
static bool write_system(const void *of, struct text_out *text) {
    static const char *const collectives[] = {"all-reduce", "all-gather", "reduce-scatter", "all-to-all"};
    const struct astra_job *job = ((const struct astra_files *)of)->job;
    out_format(text, "{\n  \"scheduling-policy\": \"LIFO\",\n  \"endpoint-delay\": %d,\n", job ? 0 : 10);
    out_format(text, "  \"active-chunks-per-dimension\": 1,\n  \"preferred-dataset-splits\": %d,\n",
               job ? 1 : 4); /* a job's collectives: each split would cost time of its own */
    for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++)
        out_format(text, "  \"%s-implementation\": [\"ring\"%s],\n", collectives[i],
                   job && job->n_dimensions == 2 ? ", \"ring\"" : "");
    if (job && job->replays)
        out_add(text, "  \"replay-only\": 1,\n");
    /* ASTRA-sim waits 3 * size / local-mem-bw for each packet that it reduces. The fitted times contain this work. */
    out_format(text,
               "  \"collective-optimization\": \"localBWAware\",\n"
               "  \"local-mem-bw\": %d,\n",
               job ? 1000000 : 1600);
    out_add(text, "  \"boost-mode\": 0,\n"
                  "  \"roofline-enabled\": 0,\n"
                  "  \"trace-enabled\": 1,\n"
                  "  \"peak-perf\": 900\n"
                  "}\n");
    return !text->out.failed;
}

static bool write_network(const void *of, struct text_out *text) {
    const struct astra_files *files = of;
    const struct astra_job *job = files->job;
    if (!job) {
        out_add(text, "# A ring of all ranks; ASTRA-sim needs at least two ranks.\n"
                      "topology: [ Ring ]\n");
        out_format(text, "npus_count: [ %u ]\n", files->n_ranks);
        out_add(text, "bandwidth: [ 50.0 ]   # GB/s of each link\n"
                      "latency: [ 500.0 ]    # ns of each link\n");
        return !text->out.failed;
    }
    const bool two = job->n_dimensions == 2;
    if (job->gib_per_s[0] > 0)
        out_format(text,
                   "# Fitted to the transfers of the job, in GiB/s%s.\n"
                   "# Latency is in the nodes [alpha], which ASTRA-sim replays.\n",
                   two ? ": between neighboring ranks, and between groups of them" : "");
    else
        out_add(text, "# Synchronization takes no time: the node of a collective has its duration.\n");
    out_format(text, "topology: [ Ring%s ]\nnpus_count: [ %u", two ? ", Ring" : "", job->n_of_dimension[0]);
    if (two)
        out_format(text, ", %u", job->n_of_dimension[1]);
    out_add(text, " ]\nbandwidth: [ ");
    for (uint32_t d = 0; d < job->n_dimensions; d++)
        if (job->gib_per_s[d] > 0)
            out_format(text, "%s%.9f", d ? ", " : "", job->gib_per_s[d]);
        else
            out_format(text, "%s1000000.0", d ? ", " : "");
    out_format(text, " ]\nlatency: [ 0.0%s ]\n", two ? ", 0.0" : "");
    return !text->out.failed;
}

static bool write_memory(const void *of, struct text_out *text) {
    (void)of;
    out_add(text, "{ \"memory-type\": \"NO_MEMORY_EXPANSION\" }\n");
    return !text->out.failed;
}

static enum sutra_status write_files(struct sutra_context *context, const struct astra_files *files, const char *folder,
                                     struct sutra_error *error) {
    const struct {
        const char *name;
        bool (*write)(const void *of, struct text_out *text);
    } texts[] = {{"system.json", write_system},
                 {"network.yml", write_network},
                 {"memory.json", write_memory},
                 {"comm_group.json", files->job ? write_matched_groups : write_groups}};
    uint64_t n_bytes = 0;
    const size_t n = sizeof texts / sizeof *texts - (files->job && files->job->replays); /* no groups in a replay */
    for (size_t i = 0; i < n; i++)
        TRY(text_file_write_in(context, folder, texts[i].name, texts[i].write, files, &n_bytes, error));
    return SUTRA_OK;
}

enum sutra_status astra_files_write(struct sutra_context *context, const char *folder, const struct astra_job *job,
                                    struct sutra_error *error) {
    const struct astra_files files = {.job = job, .n_ranks = job->n_ranks};
    return write_files(context, &files, folder, error);
}

enum sutra_status group_file_write(struct sutra_context *context, const char *folder, const char *name,
                                   const struct astra_group *groups, uint32_t n_groups, struct sutra_error *error) {
    const struct astra_job job = {.groups = groups, .n_groups = n_groups};
    const struct astra_files files = {.job = &job};
    uint64_t n_bytes = 0;
    return text_file_write_in(context, folder, name, write_matched_groups, &files, &n_bytes, error);
}

enum sutra_status sutra_converted_write_astra(struct sutra_context *context, const struct sutra_converted *converted,
                                              const char *folder, uint32_t n_ranks, struct sutra_error *error) {
    uint32_t n_known = MAX(converted->groups.n_world, 2);
    const struct astra_files files = {.groups = &converted->groups, .n_ranks = n_ranks > 1 ? n_ranks : n_known};
    return write_files(context, &files, folder, error);
}

/* ---- ASTRA-sim's configuration in the directory of a job ---- */

/* Opens a regular file of the directory. False: there is none. */
static bool open_config(const struct sutra_context *context, const char *folder, const char *name,
                        struct source *source) {
    char *path = NULL;
    struct stat file;
    struct sutra_error error;
    if (asprintf(&path, "%s/%s", folder, name) < 0)
        return false;
    const bool opened = stat(path, &file) == 0 && S_ISREG(file.st_mode) &&
                        !source_open(source, path, context->options.most_input_bytes, &error);
    free(path);
    return opened;
}

/* Whether the value at the walker is true, or a number other than 0. */
static bool value_is_set(const struct json_walker *walker) {
    struct number number = {0};
    return walk_char(walker) == 't' ||
           (field_number(walker->text + walker->at, &number) && number_as_double(number) != 0);
}

static bool key_ends_in(const struct source *source, struct json_span key, const char *end) {
    const size_t length = strlen(end);
    return key.end - key.at > length && memcmp(source->bytes + key.end - length, end, length) == 0;
}

/* Reads the members of system.json or memory.json. False: it is not an object of JSON. */
static bool read_config(const struct source *source, struct astra_config *config) {
    struct json_walker walker = walk_from(source, 0);
    for (bool more = walk_object(&walker); more; more = walk_member_end(&walker)) {
        const struct json_span key = walk_key(&walker);
        if (walker.expected)
            break;
        const bool is_set = value_is_set(&walker), is_text = walk_char(&walker) == '"';
        const struct json_span value = walk_value(&walker);
        if (walker.expected)
            break;
        config->replays |= is_set && place_is(source, key, "replay-only");
        config->has_roofline |= is_set && place_is(source, key, "roofline-enabled");
        config->tracks_memory |= is_set && place_is(source, key, "track-local-mem");
        config->has_custom_collectives |= key_ends_in(source, key, "-implementation-custom");
        config->has_memory_model |=
            is_text && place_is(source, key, "memory-type") && !place_is(source, value, "NO_MEMORY_EXPANSION");
    }
    return !walker.expected;
}

struct astra_config astra_config_read(const struct sutra_context *context, const char *folder) {
    static const char *const names[] = {"system.json", "memory.json"};
    struct astra_config config = {0};
    struct source source;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!open_config(context, folder, names[i], &source))
            continue;
        struct astra_config read = config;
        if (read_config(&source, &read))
            config = read;
        else
            config.malformed = names[i];
        source_close(&source);
    }
    if (!open_config(context, folder, "network.yml", &source))
        return config;
    for (const char *line = source.bytes; line && !config.has_topology; line = strchr(line, '\n')) {
        line += strspn(line, " \n");
        config.has_topology = strncmp(line, "topology:", strlen("topology:")) == 0;
    }
    source_close(&source);
    return config;
}

/* The source of graphs: files, or .et traces in memory. */
struct rank_sources {
    struct sutra_context *context;
    struct sutra_et_ranks *made;
    const char *const *paths;
    const struct sutra_et *const *ets;
    nodes_change *change; /* of files; NULL: none */
    void *arg;
    struct rank_names *names; /* per rank */
    bool *per_stream, *records_gpu;
    uint32_t *ranks_per_host; /* per rank; 0: not recorded */
    struct sutra_error *errors;
};

static enum sutra_status make_graph(struct rank_sources *sources, uint32_t r, const struct et_nodes *nodes,
                                    struct pool *pool, struct sutra_error *error) {
    sources->per_stream[r] = et_nodes_per_stream(nodes);
    sources->records_gpu[r] = et_nodes_record_gpu(nodes);
    sources->ranks_per_host[r] = et_nodes_ranks_per_host(nodes);
    return rank_graph_make(&sources->made->graphs[r], nodes, &sources->names[r], pool, &sources->made->arenas[r],
                           error);
}

/* Makes the graph of a file, or of its changed nodes, `made`. */
static enum sutra_status read_nodes(struct rank_sources *sources, uint32_t r, struct pool *pool, struct et_file *file,
                                    struct et_nodes *made, struct sutra_error *error) {
    TRY(et_open(file, sources->paths[r], sources->context->options.most_input_bytes, error));
    TRY(et_read(file, ET_SLIM, pool, error));
    if (!sources->change)
        return make_graph(sources, r, &file->nodes, pool, error);
    TRY(et_nodes_begin(made, error));
    TRY(sources->change(sources->arg, r, &file->nodes, made, error));
    return make_graph(sources, r, made, pool, error);
}

static enum sutra_status read_graph(struct rank_sources *sources, uint32_t r, struct pool *pool,
                                    struct sutra_error *error) {
    struct et_file file = {0};
    struct et_nodes made = {0};
    enum sutra_status status = read_nodes(sources, r, pool, &file, &made, error);
    et_nodes_free(&made);
    et_file_free(&file);
    return status;
}

static enum sutra_status make_rank(struct rank_sources *sources, uint32_t r, struct pool *pool) {
    struct rank_names *names = &sources->names[r];
    struct sutra_error *error = &sources->errors[r];
    TRY_ALLOC(pool && strings_init(&names->names) && strings_init(&names->groups), error);
    return sources->ets ? make_graph(sources, r, &sources->ets[r]->file.nodes, pool, error)
                        : read_graph(sources, r, pool, error);
}

/* ---- All ranks ---- */

static void rank_task(void *arg, size_t r) {
    const struct rank_sources *sources = arg;
    struct pool *alone = pool_create(1);
    if (alone)
        pool_follow(alone, sources->context->pool);
    if (!context_is_cancelled(sources->context))
        make_rank(arg, (uint32_t)r, alone);
    pool_free(alone);
}

static enum sutra_status make_all(struct rank_sources *sources, struct sutra_error *error) {
    struct pool *pool = sources->context->pool;
    const uint32_t n = sources->made->n;
    const bool in_parallel = n >= pool_threads(pool);
    if (in_parallel)
        pool_run(pool, n, rank_task, sources);
    enum sutra_status status = context_check_cancelled(sources->context, error);
    for (uint32_t r = 0; r < n && !status; r++) {
        status = in_parallel ? sources->errors[r].status : make_rank(sources, r, pool);
        error_copy(error, status, &sources->errors[r]);
    }
    return status;
}

/* Names get the ids of the job. */
static bool join_names(struct sutra_et_ranks *made, const struct rank_names *names) {
    bool done = true;
    for (uint32_t r = 0; r < made->n && done; r++) {
        const struct rank_graph *graph = &made->graphs[r];
        uint32_t *numbers = strings_join(&made->names, &names[r].names);
        done = numbers;
        for (row_t i = 0; i < graph->n && done; i++)
            graph->name[i] = numbers[graph->name[i]];
        free(numbers);
    }
    return done;
}

static enum sutra_status join_ranks(struct rank_sources *sources, struct sutra_error *error) {
    struct sutra_et_ranks *made = sources->made;
    made->gpu_streams = made->records_gpu = made->n > 0;
    for (uint32_t r = 0; r < made->n; r++) {
        made->gpu_streams = made->gpu_streams && sources->per_stream[r];
        made->records_gpu = made->records_gpu && sources->records_gpu[r];
        made->ranks_per_host = MAX(made->ranks_per_host, sources->ranks_per_host[r]);
    }
    TRY_ALLOC(join_names(made, sources->names), error);
    if (made->n > 1)
        TRY(rank_graphs_match(made->graphs, made->ranks, sources->names, made->n, &made->arena,
                              &made->n_matched_collectives, error));
    /* The job's network and stragglers. */
    const uint32_t n = made->n;
    made->lacks_matches = true;
    for (uint32_t r = 0; r < n; r++)
        made->lacks_matches = made->lacks_matches && !made->graphs[r].tells;
    made->slowness = arena_alloc(&made->arena, n, sizeof *made->slowness);
    for (uint32_t r = 0; r < n && made->slowness; r++)
        made->slowness[r] = (struct rank_slowness){1, 1};
    TRY(network_fit(&made->network, NULL, made->graphs, n, &made->arena, error));
    return n > 1 ? slowness_find(made->graphs, n, made->slowness, error) : SUTRA_OK;
}

static bool begin(struct rank_sources *sources, const uint64_t *numbers, struct arena *scratch) {
    struct sutra_et_ranks *made = sources->made;
    const uint32_t n = made->n;
    made->ranks = arena_alloc(&made->arena, n, sizeof *made->ranks);
    made->graphs = arena_zeros(&made->arena, n, sizeof *made->graphs);
    made->arenas = arena_zeros(&made->arena, n, sizeof *made->arenas);
    sources->names = arena_zeros(scratch, n, sizeof *sources->names);
    sources->per_stream = arena_zeros(scratch, n, sizeof *sources->per_stream);
    sources->records_gpu = arena_zeros(scratch, n, sizeof *sources->records_gpu);
    sources->ranks_per_host = arena_zeros(scratch, n, sizeof *sources->ranks_per_host);
    sources->errors = arena_zeros(scratch, n, sizeof *sources->errors);
    if (made->arena.failed || scratch->failed || !strings_init(&made->names))
        return false;
    for (uint32_t r = 0; r < n; r++)
        made->ranks[r] = numbers ? numbers[r] : r;
    return true;
}

static enum sutra_status make_ranks(struct rank_sources *sources, const uint64_t *numbers, uint32_t n,
                                    struct sutra_et_ranks **ranks, struct sutra_error *error) {
    struct arena scratch = {0};
    struct sutra_et_ranks *made = sources->made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    made->n = n;
    enum sutra_status status = begin(sources, numbers, &scratch) ? make_all(sources, error) : error_memory(error);
    if (!status)
        status = join_ranks(sources, error);
    for (uint32_t r = 0; r < sources->made->n && sources->names; r++) {
        strings_free(&sources->names[r].names);
        strings_free(&sources->names[r].groups);
    }
    arena_free(&scratch);
    if (status)
        sutra_et_ranks_free(made);
    else
        *ranks = made;
    return status;
}

enum sutra_status et_ranks_of(struct sutra_context *context, const struct sutra_et *const *ets, const uint64_t *numbers,
                              uint32_t n, struct sutra_et_ranks **ranks, struct sutra_error *error) {
    return make_ranks(&(struct rank_sources){.context = context, .ets = ets}, numbers, n, ranks, error);
}

enum sutra_status sutra_et_ranks_read(struct sutra_context *context, const char *const *paths, const uint64_t *numbers,
                                      uint32_t n, struct sutra_et_ranks **ranks, struct sutra_error *error) {
    return et_ranks_read_changed(context, paths, numbers, n, NULL, NULL, ranks, error);
}

enum sutra_status et_ranks_read_changed(struct sutra_context *context, const char *const *paths,
                                        const uint64_t *numbers, uint32_t n, nodes_change *change, void *arg,
                                        struct sutra_et_ranks **ranks, struct sutra_error *error) {
    struct rank_sources sources = {.context = context, .paths = paths, .change = change, .arg = arg};
    stage_begin(context, "read .et", n);
    enum sutra_status status = make_ranks(&sources, numbers, n, ranks, error);
    stage_end(context);
    return status;
}

void sutra_et_ranks_free(struct sutra_et_ranks *ranks) {
    if (!ranks)
        return;
    for (uint32_t r = 0; r < ranks->n && ranks->arenas; r++)
        arena_free(&ranks->arenas[r]);
    if (!ranks->shares_names)
        strings_free(&ranks->names);
    arena_free(&ranks->arena);
    free(ranks);
}

bool sutra_et_ranks_gpu_streams(const struct sutra_et_ranks *ranks) {
    return ranks->gpu_streams;
}
