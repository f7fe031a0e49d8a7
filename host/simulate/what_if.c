/*
 * what_if.c - implements what_if.h.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "simulate/what_if.h"
#include "text/names.h"

/* ---- Least squares over the bytes of transfers ---- */

/* Sizes differ if the sum of their squares around the mean exceeds this. */
#define SIZES_DIFFER 1e6

/* Sums for the fit of a line. */
struct line_sums {
    double n, bytes, ns;              /* first pass */
    double bytes_squared, both, rest; /* around the means */
};

static double transfer_ns(const struct rank_graph *graph, row_t t) {
    return (double)graph->run_ns[graph->transfers[t].node];
}

double network_link_share(const struct network_link *link) {
    double share = collective_bus_share(link->kind, link->n_ranks);
    return isnan(share) ? 1 : share;
}

/* Assigns each transfer its link. False: out of memory. */
static bool number_links(struct network *network, const struct rank_graph *graphs, uint32_t n, struct arena *arena) {
    struct pair_table known;
    uint64_t capacity = 0;
    bool done = pair_table_init(&known);
    for (uint32_t r = 0; r < n && done; r++)
        for (row_t t = 0; t < graphs[r].n_transfers && done; t++) {
            struct transfer *transfer = &graphs[r].transfers[t];
            struct pair_entry *entry = pair_table_insert(&known, transfer->n_ranks, (uint32_t)transfer->kind);
            done = entry && arena_grow(arena, &network->links, network->n, &capacity, sizeof *network->links);
            if (done && entry->number == PAIR_NONE) {
                network->links[network->n] =
                    (struct network_link){.kind = transfer->kind, .n_ranks = transfer->n_ranks};
                entry->number = network->n++;
            }
            if (done)
                transfer->link = entry->number;
        }
    pair_table_free(&known);
    return done;
}

/* Calls `add` for each transfer with the sums of its link. */
static void for_each(const struct rank_graph *graphs, uint32_t n, struct line_sums *sums,
                     void (*add)(struct line_sums *sums, double bytes, double ns)) {
    for (uint32_t r = 0; r < n; r++)
        for (row_t t = 0; t < graphs[r].n_transfers; t++)
            add(&sums[graphs[r].transfers[t].link], (double)graphs[r].transfers[t].bytes, transfer_ns(&graphs[r], t));
}

static void add_means(struct line_sums *sums, double bytes, double ns) {
    sums->n++;
    sums->bytes += bytes;
    sums->ns += ns;
}

static void add_squares(struct line_sums *sums, double bytes, double ns) {
    double x = bytes - sums->bytes / sums->n, y = ns - sums->ns / sums->n;
    sums->bytes_squared += x * x;
    sums->both += x * y;
    sums->rest += y * y;
}

enum sutra_status network_fit(struct network *network, const struct network *recorded, const struct rank_graph *graphs,
                              uint32_t n, struct arena *arena, struct sutra_error *error) {
    *network = (struct network){0};
    TRY_ALLOC(number_links(network, graphs, n, arena), error);
    struct line_sums *sums = arena_zeros(arena, network->n, sizeof *sums);
    TRY(arena_status(arena, error));
    for_each(graphs, n, sums, add_means);
    for_each(graphs, n, sums, add_squares);
    double alpha_ns = 0, n_fitted = 0;
    for (uint32_t i = 0; i < network->n; i++) {
        /* Fit an ascending line, if sizes differ. */
        struct network_link *link = &network->links[i];
        link->has_one_size = sums[i].bytes_squared <= SIZES_DIFFER;
        double slope = link->has_one_size ? 0 : sums[i].both / sums[i].bytes_squared;
        link->n = (uint64_t)sums[i].n;
        link->mean_bytes = sums[i].bytes / sums[i].n;
        if (!(slope > 0))
            continue;
        link->is_fitted = true;
        link->ns_per_byte = slope;
        link->alpha_ns = (sums[i].ns - slope * sums[i].bytes) / sums[i].n;
        link->residual_ns = sqrt(fmax(0, sums[i].rest - slope * sums[i].both) / sums[i].n);
        alpha_ns += link->alpha_ns;
        n_fitted++;
    }

    /* Other links get the recorded or the mean alpha, but not more than their own time. */
    const double mean_alpha_ns = n_fitted > 0 ? fmax(0, alpha_ns / n_fitted) : 0;
    for (uint32_t i = 0; i < network->n; i++) {
        struct network_link *link = &network->links[i];
        if (link->is_fitted)
            continue;
        double bytes = link->mean_bytes, ns = sums[i].ns / sums[i].n, known_ns = mean_alpha_ns;
        for (uint32_t k = 0; recorded && k < recorded->n; k++)
            if (recorded->links[k].kind == link->kind && recorded->links[k].n_ranks == link->n_ranks)
                known_ns = fmax(0, recorded->links[k].alpha_ns);
        link->alpha_ns = bytes > 0 ? fmin(known_ns, ns) : ns;
        link->ns_per_byte = bytes > 0 ? (ns - link->alpha_ns) / bytes : 0;
        link->residual_ns = sqrt(sums[i].rest / sums[i].n);
    }
    return SUTRA_OK;
}

/* ---- A given network ---- */

/* Reads "12us", or "50GB/s" with `is_rate`, up to a comma or the end. False: not such a number. */
static bool read_amount(const char *text, size_t length, bool is_rate, double *value) {
    static const struct {
        const char *name;
        bool is_rate;
        double times; /* to ns, or to bytes per ns */
    } units[] = {{"ns", false, 1},     {"us", false, 1e3},  {"ms", false, 1e6},
                 {"s", false, 1e9},    {"B/s", true, 1e-9}, {"kB/s", true, 1e-6},
                 {"MB/s", true, 1e-3}, {"GB/s", true, 1},   {"TB/s", true, 1e3}};
    char *end;
    double number = strtod(text, &end);
    size_t read = (size_t)(end - text);
    if (read == 0 || read > length || !(number >= 0 && number < 1e12))
        return false;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (units[i].is_rate == is_rate && strlen(units[i].name) == length - read &&
            memcmp(end, units[i].name, length - read) == 0) {
            *value = number * units[i].times;
            return true;
        }
    return false;
}

enum sutra_status network_read(struct network_model *model, const char *text, struct sutra_error *error) {
    *model = (struct network_model){NAN, NAN};
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        bool alpha = length > 6 && memcmp(at, "alpha=", 6) == 0, beta = length > 5 && memcmp(at, "beta=", 5) == 0;
        bool read = (alpha && read_amount(at + 6, length - 6, false, &model->alpha_ns)) ||
                    (beta && read_amount(at + 5, length - 5, true, &model->bytes_per_ns) && model->bytes_per_ns > 0);
        if (!read)
            return error_set(error, SUTRA_USAGE, "'%.100s': expected a network such as alpha=12us,beta=50GB/s", text);
        at += length;
        if (!*at)
            return SUTRA_OK;
    }
}

void network_apply(const struct network *network, const struct network_model *model, double times,
                   const struct rank_graph *graphs, uint32_t n, double *const *run_ns) {
    for (uint32_t r = 0; r < n; r++)
        for (row_t t = 0; t < graphs[r].n_transfers; t++) {
            const struct transfer *transfer = &graphs[r].transfers[t];
            double measured = transfer_ns(&graphs[r], t), *run = &run_ns[r][transfer->node];
            double scale = measured > 0 ? *run / measured : 1;
            const struct network_link *link = &network->links[transfer->link];
            double alpha_ns = fmin(fmax(link->alpha_ns, 0), measured), moving_ns = measured - alpha_ns;
            if (model && !isnan(model->bytes_per_ns))
                moving_ns = network_link_share(link) * (double)transfer->bytes / model->bytes_per_ns;
            if (model && !isnan(model->alpha_ns))
                alpha_ns = model->alpha_ns;
            *run = scale * (alpha_ns + moving_ns / times);
        }
}

/* ---- Times from sizes ---- */

enum sutra_status network_price(const struct network_model *model, double times, const struct rank_graph *graphs,
                                uint32_t n, uint32_t n_matches, double *const *run_ns, struct arena *scratch,
                                struct sutra_error *error) {
    uint32_t *n_members = arena_zeros(scratch, n_matches, sizeof *n_members);
    TRY(arena_status(scratch, error));
    for (uint32_t r = 0; r < n; r++)
        for (row_t c = 0; c < graphs[r].n_contacts; c++)
            if (graphs[r].matched_collective[graphs[r].contacts[c].node] != NO_MATCH)
                n_members[graphs[r].matched_collective[graphs[r].contacts[c].node]]++;
    for (uint32_t r = 0; r < n; r++)
        for (row_t c = 0; c < graphs[r].n_contacts; c++) {
            const struct contact *contact = &graphs[r].contacts[c];
            const uint32_t match = graphs[r].matched_collective[contact->node];
            const struct network_link link = {
                .kind = contact->kind, .n_ranks = contact->is_message || match == NO_MATCH ? 2 : n_members[match]};
            const double bytes = (double)contact->bytes * (link.kind == COMM_ALL_GATHER ? link.n_ranks : 1);
            const bool takes_time = link.n_ranks > 1 && (contact->sends || !contact->is_message);
            run_ns[r][contact->node] =
                takes_time ? model->alpha_ns + network_link_share(&link) * bytes / (model->bytes_per_ns * times) : 0;
        }
    return SUTRA_OK;
}

void kernels_price(const struct device_peaks *peaks, const struct rank_graph *graphs, uint32_t n,
                   double *const *run_ns) {
    /* The files record no precision: use the largest peak of matrix units, or of vector units without one. */
    double flops_per_s = 0;
    for (int unit = UNIT_MATRIX; unit >= UNIT_VECTOR && flops_per_s <= 0; unit--)
        for (int precision = 0; precision < N_PRECISIONS; precision++)
            flops_per_s = fmax(flops_per_s, peaks->flops_per_s[unit][precision]);
    for (uint32_t r = 0; r < n; r++)
        for (row_t k = 0; k < graphs[r].n_kernel_sizes; k++) {
            const struct kernel_size *size = &graphs[r].kernel_sizes[k];
            const double compute_s = flops_per_s > 0 ? (double)size->n_ops / flops_per_s : 0;
            run_ns[r][size->node] = 1e9 * fmax(compute_s, (double)size->bytes / peaks->bytes_per_s);
        }
}

/* ---- Slowness: mean times by name and rank, sorted by name and time ---- */

/* The mean duration of the nodes of a name on a rank. */
struct name_mean {
    uint32_t name, rank;
    uint64_t n;
    double mean_ns;
};

/* Means of the preceding ranks, as a list, and sums of the current rank by name. */
struct slowness_work {
    struct name_mean *means;
    uint64_t n, capacity;
    double *sum_ns; /* by name */
    uint64_t *count;
    uint32_t *names; /* names of the current rank */
    uint32_t n_names;
    struct arena arena;
};

/* Adds the means of a rank. False: out of memory. */
static bool add_rank(struct slowness_work *work, const struct rank_graph *graph, uint32_t rank) {
    uint32_t n_rank_names = 0;
    for (row_t i = 0; i < graph->n; i++) {
        if (!(graph->work[i] == WORK_COMPUTATION && graph->run_ns[i] > 0))
            continue;
        if (work->count[graph->name[i]]++ == 0)
            work->names[n_rank_names++] = graph->name[i];
        work->sum_ns[graph->name[i]] += (double)graph->run_ns[i];
    }
    bool done = true;
    for (uint32_t k = 0; k < n_rank_names; k++) {
        uint32_t name = work->names[k];
        done = done && arena_grow(&work->arena, &work->means, work->n, &work->capacity, sizeof *work->means);
        if (done)
            work->means[work->n++] =
                (struct name_mean){name, rank, work->count[name], work->sum_ns[name] / (double)work->count[name]};
        work->count[name] = 0;
        work->sum_ns[name] = 0;
    }
    return done;
}

ORDER_BY(compare_means, struct name_mean, ASCENDING(name) ASCENDING(mean_ns) ASCENDING(rank))

static enum sutra_status compare_gpus(struct slowness_work *work, const struct rank_graph *graphs, uint32_t n,
                                      struct rank_slowness *slowness, struct sutra_error *error) {
    double *own_ns = arena_zeros(&work->arena, n, sizeof *own_ns);
    double *median_ns = arena_zeros(&work->arena, n, sizeof *median_ns);
    bool done = !work->arena.failed;
    for (uint32_t r = 0; r < n && done; r++)
        done = add_rank(work, &graphs[r], r);
    TRY_ALLOC(done, error);
    if (work->n)
        qsort(work->means, work->n, sizeof *work->means, compare_means);
    /* Sum the times of each rank, its own times and the times of the median rank. */
    for (uint64_t begin = 0, end; begin < work->n; begin = end) {
        for (end = begin + 1; end < work->n && work->means[end].name == work->means[begin].name;)
            end++;
        double median = work->means[begin + lower_median_at(end - begin)].mean_ns;
        for (uint64_t i = begin; i < end && end - begin > 1; i++) {
            own_ns[work->means[i].rank] += (double)work->means[i].n * work->means[i].mean_ns;
            median_ns[work->means[i].rank] += (double)work->means[i].n * median;
        }
    }
    for (uint32_t r = 0; r < n; r++)
        slowness[r].gpu = median_ns[r] > 0 ? own_ns[r] / median_ns[r] : 1;
    return SUTRA_OK;
}

static enum sutra_status compare_cpus(struct slowness_work *work, const struct rank_graph *graphs, uint32_t n,
                                      struct rank_slowness *slowness, struct sutra_error *error) {
    double *sorted = arena_alloc(&work->arena, n, sizeof *sorted);
    TRY(arena_status(&work->arena, error));
    for (uint32_t r = 0; r < n; r++) {
        /* CPU time per kernel. */
        double sum_ns = 0, n_kernels = 0;
        for (row_t i = 0; i < graphs[r].n; i++) {
            sum_ns += graphs[r].work[i] == WORK_CPU && i != graphs[r].start ? (double)graphs[r].run_ns[i] : 0;
            n_kernels += graphs[r].work[i] == WORK_COMPUTATION;
        }
        sorted[r] = slowness[r].cpu = sum_ns / (n_kernels > 0 ? n_kernels : 1);
    }
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    double median = n ? sorted[lower_median_at(n)] : 0;
    for (uint32_t r = 0; r < n; r++)
        slowness[r].cpu = median > 0 ? slowness[r].cpu / median : 1;
    return SUTRA_OK;
}

enum sutra_status slowness_find(const struct rank_graph *graphs, uint32_t n, struct rank_slowness *slowness,
                                struct sutra_error *error) {
    uint32_t most = 0;
    for (uint32_t r = 0; r < n; r++)
        for (row_t i = 0; i < graphs[r].n; i++)
            most = graphs[r].name[i] >= most ? graphs[r].name[i] + 1 : most;
    struct slowness_work work = {.n_names = most};
    work.sum_ns = arena_zeros(&work.arena, work.n_names, sizeof *work.sum_ns);
    work.count = arena_zeros(&work.arena, work.n_names, sizeof *work.count);
    work.names = arena_alloc(&work.arena, work.n_names, sizeof *work.names);
    enum sutra_status status = arena_status(&work.arena, error);
    if (!status)
        status = compare_gpus(&work, graphs, n, slowness, error);
    if (!status)
        status = compare_cpus(&work, graphs, n, slowness, error);
    arena_free(&work.arena);
    return status;
}

static double factor_of(double slowness) {
    return slowness > STRAGGLER_SLOWNESS ? 1 / slowness : 1;
}

void slowness_even(const struct rank_graph *graphs, uint32_t n, const struct rank_slowness *slowness,
                   double *const *run_ns) {
    for (uint32_t r = 0; r < n; r++) {
        const double factors[WORK_KINDS] = {[WORK_CPU] = factor_of(slowness[r].cpu),
                                            [WORK_COMPUTATION] = factor_of(slowness[r].gpu),
                                            [WORK_COMMUNICATION] = 1};
        for (row_t i = 0; i < graphs[r].n; i++)
            run_ns[r][i] *= factors[graphs[r].work[i]];
    }
}

enum subject { SUBJECT_WORK, SUBJECT_NAME, SUBJECT_OPERATOR, SUBJECT_STREAM };

struct change {
    const char *word; /* as given */
    double factor;
    bool one_rank;
    uint64_t rank;
    enum subject subject;
    uint32_t work;  /* bits of enum work_kind */
    bool by_itself; /* not collectives of several ranks */
    int64_t stream;
    bool *fits; /* per name of the job */
};

/* ---- Parsing of changes: the factor after the last colon, the rank before the first ---- */

static enum sutra_status change_error(const char *word, const char *what, struct sutra_error *error) {
    return error_set(error, SUTRA_USAGE, "'%s': %s", word, what);
}

/* Parse "rank=N:" at the beginning. */
static enum sutra_status read_rank(const char *word, char *text, struct change *change, char **rest,
                                   struct sutra_error *error) {
    *rest = text;
    if (strncmp(text, "rank=", 5) != 0)
        return SUTRA_OK;
    char *end;
    errno = 0;
    change->rank = strtoull(text + 5, &end, 10);
    if (end == text + 5 || *end != ':' || errno)
        return change_error(word, "expected rank=N:WHAT:FACTOR, where N is a number", error);
    change->one_rank = true;
    *rest = end + 1;
    return SUTRA_OK;
}

static enum sutra_status fit_regex(const char *word, const char *pattern, const struct strings *names, bool *fits,
                                   struct sutra_error *error) {
    regex_t regex;
    int failure = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB);
    if (failure) {
        char why[200];
        regerror(failure, &regex, why, sizeof why);
        return change_error(word, why, error);
    }
    for (uint32_t i = 0; i < names->n; i++)
        fits[i] = regexec(&regex, strings_text(names, i), 0, NULL, 0) == 0;
    regfree(&regex);
    for (uint32_t i = 0; i < names->n; i++)
        if (fits[i])
            return SUTRA_OK;
    return error_set(error, SUTRA_USAGE, "'%s': no node name matches '%s'", word, pattern);
}

/* Suggests the nearest name of a node. */
static enum sutra_status unknown_name(const char *kind, const char *name, const struct strings *names,
                                      struct sutra_error *error) {
    struct nearest nearest = nearest_to(name);
    for (uint32_t i = 0; i < names->n; i++)
        nearest_try(&nearest, strings_text(names, i));
    if (nearest.word)
        return error_set(error, SUTRA_USAGE, "no %s is named '%s'; did you mean '%s'?", kind, name, nearest.word);
    return error_set(error, SUTRA_USAGE, "no %s is named '%s'; select names by a regular expression with =~REGEX", kind,
                     name);
}

/* Finds the names that a selector "=TEXT" or "=~REGEX" matches. */
static enum sutra_status fit_names(const char *word, const char *selector, const struct strings *names,
                                   struct arena *arena, struct change *change, struct sutra_error *error) {
    change->fits = arena_zeros(arena, names->n, sizeof *change->fits);
    TRY(arena_status(arena, error));
    if (selector[1] == '~')
        return fit_regex(word, selector + 2, names, change->fits, error);
    uint32_t name = strings_find(names, selector + 1, strlen(selector + 1));
    if (name == STRING_NONE)
        return unknown_name(change->subject == SUBJECT_OPERATOR ? "operator" : "node", selector + 1, names, error);
    change->fits[name] = true;
    return SUTRA_OK;
}

static bool read_work(const char *text, struct change *change) {
    static const struct {
        const char *word;
        uint32_t work;
    } selectors[] = {{"cpu", 1 << WORK_CPU},
                     {"gpu", 1 << WORK_COMPUTATION | 1 << WORK_COMMUNICATION},
                     {"compute", 1 << WORK_COMPUTATION},
                     {"comm", 1 << WORK_COMMUNICATION}};
    for (size_t i = 0; i < sizeof selectors / sizeof *selectors; i++)
        if (strcmp(text, selectors[i].word) == 0)
            change->work = selectors[i].work;
    change->by_itself = strcmp(text, "gpu") == 0;
    return change->work != 0;
}

static enum sutra_status change_read(const char *word, const struct strings *names, struct arena *arena,
                                     struct change *change, struct sutra_error *error) {
    char *text = arena_text(arena, word, strlen(word)), *rest;
    TRY_ALLOC(text, error);

    /* Parse the factor after the last colon. */
    char *colon = strrchr(text, ':'), *end;
    if (!colon || !colon[1])
        return change_error(word, "expected WHAT:FACTOR, such as gpu:0.5", error);
    change->factor = strtod(colon + 1, &end);
    if (*end == 'x' && end > colon + 1) /* 2x is 2 */
        end++;
    if (*end || !(change->factor >= 0 && change->factor <= 1e9))
        return change_error(word, "the factor after the last colon must be a number from 0 to 1e9, such as 0.5 or 2x",
                            error);
    *colon = 0;
    TRY(read_rank(word, text, change, &rest, error));
    if (read_work(rest, change))
        return SUTRA_OK;
    if (strncmp(rest, "name=", 5) == 0 || strncmp(rest, "op=", 3) == 0) {
        change->subject = *rest == 'n' ? SUBJECT_NAME : SUBJECT_OPERATOR;
        return fit_names(word, strchr(rest, '='), names, arena, change, error);
    }
    if (strncmp(rest, "stream=", 7) == 0) {
        char *stream_end;
        change->subject = SUBJECT_STREAM;
        change->stream = strtoll(rest + 7, &stream_end, 10);
        if (stream_end > rest + 7 && !*stream_end)
            return SUTRA_OK;
    }
    return change_error(word, "WHAT must be cpu, gpu, compute, comm, name=, name=~, op=, op=~ or stream=N", error);
}

/* ---- Application ---- */

static bool change_selects(const struct change *change, const struct rank_graph *graph, row_t i) {
    switch (change->subject) {
    case SUBJECT_WORK:
        return change->work >> graph->work[i] & 1 && !(change->by_itself && graph->is_shared[i]);
    case SUBJECT_NAME:
        return change->fits[graph->name[i]];
    case SUBJECT_OPERATOR:
        return graph->parent[i] != ROW_NONE && change->fits[graph->name[graph->parent[i]]];
    case SUBJECT_STREAM:
        return graph->work[i] != WORK_CPU && graph->lane[i] == change->stream;
    }
    return false;
}

static uint64_t difference(int64_t a, int64_t b) {
    return a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a;
}

static enum sutra_status check_rank(const struct change *change, const struct change_target *target,
                                    struct sutra_error *error) {
    uint64_t nearest = target->n ? target->ranks[0] : 0;
    for (uint32_t r = 0; r < target->n; r++)
        if (difference((int64_t)target->ranks[r], (int64_t)change->rank) <
            difference((int64_t)nearest, (int64_t)change->rank))
            nearest = target->ranks[r];
    if (!change->one_rank || target->n == 0 || nearest == change->rank)
        return SUTRA_OK;
    return error_set(error, SUTRA_USAGE, "no file of rank %" PRIu64 "; the nearest rank is %" PRIu64, change->rank,
                     nearest);
}

static enum sutra_status check_stream(const struct change *change, const struct change_target *target,
                                      struct sutra_error *error) {
    int64_t nearest = INT64_MIN;
    if (change->subject != SUBJECT_STREAM)
        return SUTRA_OK;
    for (uint32_t r = 0; r < target->n; r++)
        for (row_t i = 0; i < target->graphs[r].n; i++) {
            const struct rank_graph *graph = &target->graphs[r];
            if (graph->work[i] != WORK_CPU && (nearest == INT64_MIN || difference(graph->lane[i], change->stream) <
                                                                           difference(nearest, change->stream)))
                nearest = graph->lane[i];
        }
    if (nearest == change->stream)
        return SUTRA_OK;
    if (nearest == INT64_MIN)
        return error_set(error, SUTRA_USAGE, "no stream %" PRId64 ": no node runs on a GPU", change->stream);
    return error_set(error, SUTRA_USAGE, "no stream %" PRId64 "; the nearest stream is %" PRId64, change->stream,
                     nearest);
}

/* The name or stream exists, but not on the selected rank, or not as an operator that launches nodes. */
static enum sutra_status selects_no_node(const struct change *change, struct sutra_error *error) {
    const char *what = change->subject == SUBJECT_OPERATOR ? "no selected operator launches a node"
                       : change->subject == SUBJECT_STREAM ? "no node runs on the selected stream"
                                                           : "no node has the selected name";
    if (change->one_rank)
        return error_set(error, SUTRA_USAGE, "'%s': %s on rank %" PRIu64 "; omit rank=%" PRIu64 ":", change->word, what,
                         change->rank, change->rank);
    return error_set(error, SUTRA_USAGE, "'%s': %s; select the node itself by name=", change->word, what);
}

static enum sutra_status apply_change(const struct change_target *target, const char *word, double *const *run_ns,
                                      struct arena *arena, struct sutra_error *error) {
    struct change change = {.word = word, .subject = SUBJECT_WORK};
    uint64_t n_selected = 0;
    TRY(change_read(word, target->names, arena, &change, error));
    TRY(check_rank(&change, target, error));
    TRY(check_stream(&change, target, error));
    for (uint32_t r = 0; r < target->n; r++) {
        if (change.one_rank && target->ranks[r] != change.rank)
            continue;
        for (row_t i = 0; i < target->graphs[r].n; i++)
            if (change_selects(&change, &target->graphs[r], i)) {
                run_ns[r][i] *= change.factor;
                n_selected++;
            }
    }
    return n_selected || change.subject == SUBJECT_WORK ? SUTRA_OK : selects_no_node(&change, error);
}

enum sutra_status changes_apply(const struct change_target *target, const char *const *changes, size_t n,
                                double *const *run_ns, struct arena *arena, struct sutra_error *error) {
    for (size_t k = 0; k < n; k++) {
        struct arena_mark mark = arena_mark(arena);
        TRY(apply_change(target, changes[k], run_ns, arena, error));
        arena_release(arena, mark);
    }
    return SUTRA_OK;
}

enum sutra_status removals_apply(const struct change_target *target, const char *const *removals, size_t n,
                                 double *const *kept, struct arena *arena, struct sutra_error *error) {
    for (size_t k = 0; k < n; k++) {
        struct arena_mark mark = arena_mark(arena);
        const size_t length = strlen(removals[k]);
        char *change = arena_alloc(arena, length + 3, 1);
        TRY(arena_status(arena, error));
        memcpy(change, removals[k], length);
        memcpy(change + length, ":0", 3);
        const char *const changes[] = {change};
        TRY(changes_apply(target, changes, 1, kept, arena, error));
        arena_release(arena, mark);
    }
    return SUTRA_OK;
}
