/*
 * network.c - least squares over the bytes of transfers; see network.h.
 */
#include "simulate/network.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "columns/pair_table.h"

/* Sizes differ where their squares around the mean sum up to more than this. */
#define SIZES_DIFFER 1e6

/* Sums that a line is drawn from. */
struct line_sums {
    double n, bytes, ns;              /* first pass */
    double bytes_squared, both, rest; /* around the means */
    uint64_t most;                    /* largest size, where all are equal */
};

static double transfer_ns(const struct rank_graph *graph, row_t t) {
    return (double)graph->run_ns[graph->transfers[t].node];
}

/* ---- Links ---- */

double network_link_share(const struct network_link *link) {
    double share = collective_bus_share(link->kind, link->n_ranks);
    return isnan(share) ? 1 : share;
}

/* Gives each transfer its link, and counts. False: out of memory. */
static bool number_links(struct network *network, const struct rank_graph *graphs, uint32_t n, struct arena *arena) {
    struct pair_table known;
    uint64_t capacity = 0;
    bool done = pair_table_init(&known);
    for (uint32_t r = 0; r < n && done; r++)
        for (row_t t = 0; t < graphs[r].n_transfers && done; t++) {
            struct transfer *transfer = &graphs[r].transfers[t];
            struct pair_entry *entry = pair_table_take(&known, transfer->n_ranks, (uint32_t)transfer->kind);
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

/* A line that rises, if sizes differ. */
static void draw_line(struct network_link *link, const struct line_sums *sums) {
    double slope = sums->bytes_squared > SIZES_DIFFER ? sums->both / sums->bytes_squared : 0;
    link->n = (uint64_t)sums->n;
    if (!(slope > 0))
        return;
    link->is_fitted = true;
    link->ns_per_byte = slope;
    link->alpha_ns = (sums->ns - slope * sums->bytes) / sums->n;
    link->residual_ns = sqrt(fmax(0, sums->rest - slope * sums->both) / sums->n);
}

/* What is left takes the others' alpha, but not more than it takes itself. */
static void draw_flat(struct network_link *link, const struct line_sums *sums, double alpha_ns) {
    double bytes = sums->bytes / sums->n, ns = sums->ns / sums->n;
    link->alpha_ns = bytes > 0 ? fmin(alpha_ns, ns) : ns;
    link->ns_per_byte = bytes > 0 ? (ns - link->alpha_ns) / bytes : 0;
    link->residual_ns = sqrt(sums->rest / sums->n);
}

enum sutra_status network_fit(struct network *network, const struct rank_graph *graphs, uint32_t n, struct arena *arena,
                              struct sutra_error *error) {
    *network = (struct network){0};
    if (!number_links(network, graphs, n, arena))
        return error_memory(error);
    struct line_sums *sums = arena_zeros(arena, network->n, sizeof *sums);
    if (!sums)
        return error_memory(error);
    for_each(graphs, n, sums, add_means);
    for_each(graphs, n, sums, add_squares);
    double alpha_ns = 0, n_fitted = 0;
    for (uint32_t i = 0; i < network->n; i++) {
        draw_line(&network->links[i], &sums[i]);
        alpha_ns += network->links[i].is_fitted ? network->links[i].alpha_ns : 0;
        n_fitted += network->links[i].is_fitted;
    }
    for (uint32_t i = 0; i < network->n; i++)
        if (!network->links[i].is_fitted)
            draw_flat(&network->links[i], &sums[i], n_fitted > 0 ? fmax(0, alpha_ns / n_fitted) : 0);
    return SUTRA_OK;
}

/* ---- A network that is told ---- */

struct network_unit {
    const char *name;
    double times;
};

static const struct network_unit times_units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
static const struct network_unit rate_units[] = {
    {"B/s", 1e-9}, {"kB/s", 1e-6}, {"MB/s", 1e-3}, {"GB/s", 1}, {"TB/s", 1e3}};

/* Reads "12us" up to a comma or the end. False: it is no such number. */
static bool read_amount(const char *text, size_t length, const struct network_unit *units, size_t n, double *value) {
    char *end;
    double number = strtod(text, &end);
    size_t read = (size_t)(end - text);
    if (read == 0 || read > length || !(number >= 0 && number < 1e12))
        return false;
    for (size_t i = 0; i < n; i++)
        if (strlen(units[i].name) == length - read && memcmp(end, units[i].name, length - read) == 0) {
            *value = number * units[i].times;
            return true;
        }
    return false;
}

enum sutra_status network_read(struct told_network *told, const char *text, struct sutra_error *error) {
    *told = (struct told_network){NAN, NAN};
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        bool alpha = length > 6 && memcmp(at, "alpha=", 6) == 0, beta = length > 5 && memcmp(at, "beta=", 5) == 0;
        bool read = alpha  ? read_amount(at + 6, length - 6, times_units, sizeof times_units / sizeof *times_units,
                                         &told->alpha_ns)
                    : beta ? read_amount(at + 5, length - 5, rate_units, sizeof rate_units / sizeof *rate_units,
                                         &told->bytes_per_ns) &&
                                 told->bytes_per_ns > 0
                           : false;
        if (!read)
            return error_set(error, SUTRA_USAGE, "'%.100s': expected a network such as alpha=12us,beta=50GB/s", text);
        at += length;
        if (!*at)
            return SUTRA_OK;
    }
}

/* ---- Applying ---- */

/* What a transfer of so many bytes takes; it was measured with run_ns. */
static double changed_ns(const struct network_link *link, const struct told_network *told, double times, uint64_t bytes,
                         double run_ns) {
    double alpha_ns = fmin(fmax(link->alpha_ns, 0), run_ns), moving_ns = run_ns - alpha_ns;
    if (told && !isnan(told->bytes_per_ns))
        moving_ns = network_link_share(link) * (double)bytes / told->bytes_per_ns;
    if (told && !isnan(told->alpha_ns))
        alpha_ns = told->alpha_ns;
    return alpha_ns + moving_ns / times;
}

void network_apply(const struct network *network, const struct told_network *told, double times,
                   const struct rank_graph *graphs, uint32_t n, double *const *run_ns) {
    for (uint32_t r = 0; r < n; r++)
        for (row_t t = 0; t < graphs[r].n_transfers; t++) {
            const struct transfer *transfer = &graphs[r].transfers[t];
            double measured = transfer_ns(&graphs[r], t), *run = &run_ns[r][transfer->node];
            double scale = measured > 0 ? *run / measured : 1;
            *run = scale * changed_ns(&network->links[transfer->link], told, times, transfer->bytes, measured);
        }
}
