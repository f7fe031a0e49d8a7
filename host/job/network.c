/*
 * network.c - fits ASTRA-sim's network model to the transfers of a job, and divides each collective into a part that
 * bandwidth scales and a fixed part (job.h).
 *
 *     transfers of one kind, number of ranks and dimension     time = alpha + factor(kind, n) * bytes / beta
 *
 *     ranks   [0 1] [2 3]     dimension 0: groups inside a block of neighboring ranks
 *                             dimension 1: all other groups
 *
 *     duration  |--fixed: [alpha], replayed--|--moving: comm_size = moving * bandwidth / factor--|
 *
 * ASTRA-sim has one bandwidth per dimension: the beta of the kind with the most transfer time there. Other kinds get a
 * size that takes their time at this bandwidth. Sizes correct what ASTRA-sim's rings move: its all-gather multiplies
 * the bytes of one rank, its all-to-all moves n / 2 times as much as NCCL, and a collective of all ranks in two
 * dimensions moves less than a ring of all ranks. In a smaller group, a rank sends in the first dimension in which the
 * next rank of the ring differs, and the slowest of these hops determines the time.
 *
 * The moving part is at most the shortest duration of the members and the same on all members, because ASTRA-sim only
 * ends collectives whose members have one size. Cost: O(collectives).
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "job/job.h"

/* Sizes differ if the sum of their squares around the mean exceeds this. */
#define SIZES_DIFFER 1e6

/* The smallest comm_size: ASTRA-sim divides a smaller all-gather by 0. */
#define SIZE_MIN 4

/* The transfers of one kind, number of ranks and dimension. */
struct transfer_fit {
    enum comm_kind kind;
    uint32_t dimension;
    double n, bytes, us;        /* sums; bytes are times the factor */
    double bytes_squared, both; /* around the means */
    double alpha_us, us_per_byte;
    bool is_fitted;
};

/* A matched collective. */
struct network_match {
    uint32_t fit;                     /* its index; PAIR_NONE: not modeled */
    uint32_t group, n_ranks, n_files; /* n_files: members of the group, the ranks that recorded it */
    enum comm_kind kind;
    uint64_t bytes, op_bytes, shortest_us; /* of all members */
};

struct network_fitting {
    const struct job_matches *matched_collectives;
    size_t n_ranks;
    int64_t world_size;
    struct astra_job *astra;
    struct network_match *matches;
    int64_t *low, *high;      /* per group number: first and last rank */
    uint32_t n_numbers;       /* group numbers are less */
    double *ring_us_per_byte; /* per group number above 0: of the slowest hop of ASTRA-sim's ring */
    struct transfer_fit *fits;
    uint32_t n_fits;
    double us_per_byte[2]; /* of the dimensions */
};

/* Bytes on the link of a rank per byte of a collective; NaN: ASTRA-sim's network has no model of the kind. */
static double modeled_factor(enum comm_kind kind, uint32_t n) {
    switch (kind) {
    case COMM_ALL_REDUCE:
    case COMM_ALL_GATHER:
    case COMM_REDUCE_SCATTER:
    case COMM_ALL_TO_ALL:
    case COMM_ALL_TO_ALL_V:
    case COMM_MESSAGE:
        return n > 1 ? collective_bus_share(kind, n) : (double)NAN;
    default:
        return (double)NAN;
    }
}

static uint32_t dimension_of(const struct network_fitting *fitting, uint32_t group) {
    const int64_t block = fitting->astra->n_of_dimension[0];
    return fitting->astra->n_dimensions == 2 && fitting->low[group] / block != fitting->high[group] / block;
}

/* Lists the matches, and the extents of their groups. */
static bool list_matches(struct network_fitting *fitting, struct arena *arena) {
    const struct job_matches *matched_collectives = fitting->matched_collectives;
    uint32_t most = 0;
    for (uint32_t g = 0; g < matched_collectives->n_groups; g++)
        most = MAX(matched_collectives->groups[g].number, most);
    fitting->matches = arena_zeros(arena, matched_collectives->n_matched_collectives, sizeof *fitting->matches);
    fitting->n_numbers = most + 1;
    fitting->low = arena_zeros(arena, fitting->n_numbers, sizeof *fitting->low);
    fitting->high = arena_zeros(arena, fitting->n_numbers, sizeof *fitting->high);
    fitting->ring_us_per_byte = arena_zeros(arena, fitting->n_numbers, sizeof *fitting->ring_us_per_byte);
    if (arena->failed)
        return false;
    fitting->high[0] = fitting->world_size - 1;
    for (uint32_t g = 0; g < matched_collectives->n_groups; g++) {
        const struct astra_group *group = &matched_collectives->groups[g];
        if (group->n_ranks) {
            fitting->low[group->number] = group->ranks[0];
            fitting->high[group->number] = group->ranks[group->n_ranks - 1];
        }
    }
    for (size_t r = 0; r < fitting->n_ranks; r++)
        for (row_t i = 0; i < matched_collectives->ranks[r].n; i++) {
            const struct matched_collective *node = &matched_collectives->ranks[r].nodes[i];
            if (node->matched_collective == NOT_MATCHED)
                continue;
            struct network_match *match = &fitting->matches[node->matched_collective];
            const bool is_first = match->n_ranks == 0;
            match->group = node->group;
            match->n_ranks = node->n_ranks;
            match->n_files = node->n_files;
            match->kind = node->kind;
            match->bytes = MAX(node->bytes, match->bytes);
            match->op_bytes = MAX(node->op_bytes, match->op_bytes);
            match->shortest_us = is_first ? node->duration_us : MIN(node->duration_us, match->shortest_us);
        }
    return true;
}

void astra_dimensions_split(struct astra_job *astra) {
    bool has_smaller = false;
    for (uint32_t g = 0; g < astra->n_groups; g++)
        has_smaller |= astra->groups[g].n_ranks < astra->n_ranks;
    astra->n_dimensions = 1;
    astra->n_of_dimension[0] = astra->n_ranks;
    astra->n_of_dimension[1] = 1;
    for (uint32_t n = 2; has_smaller && (uint64_t)n * n <= astra->n_ranks && astra->n_dimensions == 1; n++)
        if (astra->n_ranks % n == 0) {
            astra->n_dimensions = 2;
            astra->n_of_dimension[0] = n;
            astra->n_of_dimension[1] = astra->n_ranks / n;
        }
}

/* Two dimensions if collectives run in groups of neighboring ranks that divide the job: the largest such group. */
static void find_dimensions(struct network_fitting *fitting) {
    int64_t inner = 0;
    for (uint64_t m = 0; m < fitting->matched_collectives->n_matched_collectives; m++) {
        const struct network_match *match = &fitting->matches[m];
        const int64_t n = fitting->high[match->group] - fitting->low[match->group] + 1;
        if (match->group != 0 && match->n_files == match->n_ranks && n == match->n_ranks &&
            fitting->world_size % n == 0)
            inner = MAX(n, inner);
    }
    astra_dimensions_split(fitting->astra);
    if (inner == 0)
        return;
    fitting->astra->n_dimensions = 2;
    fitting->astra->n_of_dimension[0] = (uint32_t)inner;
    fitting->astra->n_of_dimension[1] = (uint32_t)(fitting->world_size / inner);
}

/* Numbers the fits of the modeled matches. False: out of memory. */
static bool number_fits(struct network_fitting *fitting, struct arena *arena) {
    struct pair_table known;
    uint64_t capacity = 0;
    bool done = pair_table_init(&known);
    for (uint64_t m = 0; m < fitting->matched_collectives->n_matched_collectives && done; m++) {
        struct network_match *match = &fitting->matches[m];
        match->fit = PAIR_NONE;
        match->bytes = match->bytes ? match->bytes : match->op_bytes;
        if (isnan(modeled_factor(match->kind, match->n_ranks)) || match->bytes == 0)
            continue;
        const uint32_t dimension = dimension_of(fitting, match->group);
        struct pair_entry *entry =
            pair_table_insert(&known, (uint64_t)match->n_ranks << 1 | dimension, (uint32_t)match->kind);
        done = entry && arena_grow(arena, &fitting->fits, fitting->n_fits, &capacity, sizeof *fitting->fits);
        if (done && entry->number == PAIR_NONE) {
            fitting->fits[fitting->n_fits] = (struct transfer_fit){.kind = match->kind, .dimension = dimension};
            entry->number = fitting->n_fits++;
        }
        match->fit = done ? entry->number : PAIR_NONE;
    }
    pair_table_free(&known);
    return done;
}

/* Adds the transfers of all members to their fits: sums, then squares around the means. */
static void add_transfers(struct network_fitting *fitting, bool squares) {
    for (size_t r = 0; r < fitting->n_ranks; r++)
        for (row_t i = 0; i < fitting->matched_collectives->ranks[r].n; i++) {
            const struct matched_collective *node = &fitting->matched_collectives->ranks[r].nodes[i];
            if (node->matched_collective == NOT_MATCHED || fitting->matches[node->matched_collective].fit == PAIR_NONE)
                continue;
            const struct network_match *match = &fitting->matches[node->matched_collective];
            struct transfer_fit *fit = &fitting->fits[match->fit];
            double x = modeled_factor(match->kind, match->n_ranks) * (double)match->bytes;
            double y = (double)node->run_ns / 1e3;
            if (squares) {
                x -= fit->bytes / fit->n;
                y -= fit->us / fit->n;
                fit->bytes_squared += x * x;
                fit->both += x * y;
            } else {
                fit->n++;
                fit->bytes += x;
                fit->us += y;
            }
        }
}

/* Fits the lines. Kinds of one size get the mean alpha of the other kinds, at most their own time. */
static void fit_lines(struct network_fitting *fitting) {
    double alpha_us = 0, n_fitted = 0;
    for (uint32_t i = 0; i < fitting->n_fits; i++) {
        struct transfer_fit *fit = &fitting->fits[i];
        if (!(fit->bytes_squared > SIZES_DIFFER && fit->both > 0))
            continue;
        fit->is_fitted = true;
        fit->us_per_byte = fit->both / fit->bytes_squared;
        fit->alpha_us = fmax(0, (fit->us - fit->us_per_byte * fit->bytes) / fit->n);
        alpha_us += fit->alpha_us;
        n_fitted++;
    }
    const double mean_us = n_fitted > 0 ? alpha_us / n_fitted : 0;
    double longest[2] = {0, 0};
    for (uint32_t i = 0; i < fitting->n_fits; i++) {
        struct transfer_fit *fit = &fitting->fits[i];
        if (!fit->is_fitted) {
            fit->alpha_us = fmin(mean_us, fit->us / fit->n);
            fit->us_per_byte = (fit->us - fit->n * fit->alpha_us) / fit->bytes;
        }
        if (fit->us_per_byte > 0 && fit->us > longest[fit->dimension]) {
            longest[fit->dimension] = fit->us;
            fitting->us_per_byte[fit->dimension] = fit->us_per_byte;
        }
    }
    for (int d = 0; d < 2; d++)
        if (!(fitting->us_per_byte[d] > 0))
            fitting->us_per_byte[d] = fitting->us_per_byte[1 - d];
    for (int d = 0; d < 2; d++)
        fitting->astra->gib_per_s[d] =
            fitting->us_per_byte[d] > 0 ? 1e6 / fitting->us_per_byte[d] / 0x1p30 : 1e6; /* no transfer is modeled */
}

/* The slowest hop of the ring of each group: from each rank to the next one, and from the last to the first. */
static void find_rings(struct network_fitting *fitting) {
    const struct astra_job *astra = fitting->astra;
    const int64_t block = astra->n_of_dimension[0];
    for (uint32_t g = 0; g < fitting->matched_collectives->n_groups; g++) {
        const struct astra_group *group = &fitting->matched_collectives->groups[g];
        double *slowest = &fitting->ring_us_per_byte[group->number];
        *slowest = group->n_ranks ? 0 : fitting->us_per_byte[0]; /* of unknown ranks */
        for (uint32_t i = 0; i < group->n_ranks; i++) {
            const int64_t rank = group->ranks[i], next = group->ranks[(i + 1) % group->n_ranks];
            const bool is_outer = astra->n_dimensions == 2 && rank % block == next % block;
            *slowest = fmax(*slowest, fitting->us_per_byte[is_outer]);
        }
    }
}

/* The time of a byte of comm_size in ASTRA-sim's collective of n[0] ranks times n[1] groups of such ranks. */
static double us_per_size(enum comm_kind kind, const double n[2], const double us_per_byte[2]) {
    const double *us = us_per_byte;
    const double scattered_us = (n[0] - 1) / n[0] * us[0] + (n[1] - 1) / n[1] / n[0] * us[1];
    switch (kind) {
    case COMM_ALL_GATHER: /* in the outer dimension first */
        return (n[1] - 1) * us[1] + (n[0] - 1) * n[1] * us[0];
    case COMM_REDUCE_SCATTER:
        return scattered_us;
    case COMM_ALL_TO_ALL:
    case COMM_ALL_TO_ALL_V:
        return (n[0] - 1) / 2 * us[0] + (n[1] - 1) / 2 * us[1];
    default: /* all-reduce, also of the two ranks of a message */
        return 2 * scattered_us;
    }
}

/* The comm_size for which ASTRA-sim's collective of the ranks that recorded it takes this time. */
static double size_of(const struct network_fitting *fitting, const struct network_match *match, double moving_us) {
    const struct astra_job *astra = fitting->astra;
    const double all[] = {astra->n_of_dimension[0], astra->n_of_dimension[1]}, ring[] = {match->n_files, 1};
    const double of_ring[] = {fitting->ring_us_per_byte[match->group], 0};
    const bool is_all = match->group == 0;
    return moving_us / us_per_size(match->kind, is_all ? all : ring, is_all ? fitting->us_per_byte : of_ring);
}

/* Divides the duration of each modeled collective. */
static void divide_durations(struct network_fitting *fitting, struct job_astra *made) {
    for (size_t r = 0; r < fitting->n_ranks; r++)
        for (row_t i = 0; i < fitting->matched_collectives->ranks[r].n; i++) {
            struct matched_collective *node = &fitting->matched_collectives->ranks[r].nodes[i];
            const struct network_match *match =
                node->matched_collective == NOT_MATCHED ? NULL : &fitting->matches[node->matched_collective];
            if (!match || match->fit == PAIR_NONE) {
                const bool has_kind = !isnan(modeled_factor(node->kind, node->n_ranks));
                made->n_unsized += has_kind && match;
                made->n_other_kinds += !has_kind && match;
                continue;
            }
            const struct transfer_fit *fit = &fitting->fits[match->fit];
            const double factor = modeled_factor(match->kind, match->n_ranks);
            const double moving_us =
                fmin(fmax(fit->us_per_byte, 0) * factor * (double)match->bytes, (double)match->shortest_us);
            const double size = fitting->us_per_byte[fit->dimension] > 0 ? size_of(fitting, match, moving_us) : 0;
            const uint64_t fixed_us = (uint64_t)fmax(0, round((double)node->duration_us - moving_us));
            node->is_modeled = true;
            node->moving_us = node->duration_us - MIN(fixed_us, node->duration_us);
            node->moving_ns = MIN((uint64_t)llround(moving_us * 1e3), node->moving_us * 1000);
            node->size = (uint64_t)fmin(fmax(round(size), SIZE_MIN), 0x1p62);
            made->n_modeled++;
            made->n_one_size += !fit->is_fitted;
        }
}

enum sutra_status job_network_find(const struct job_matches *matched_collectives, size_t n_ranks, int64_t world_size,
                                   struct arena *arena, struct job_astra *network, struct sutra_error *error) {
    *network = (struct job_astra){.astra = {.groups = matched_collectives->groups,
                                            .n_groups = matched_collectives->n_groups,
                                            .n_ranks = (uint32_t)world_size}};
    struct network_fitting fitting = {.matched_collectives = matched_collectives,
                                      .n_ranks = n_ranks,
                                      .world_size = world_size,
                                      .astra = &network->astra};
    TRY_ALLOC(list_matches(&fitting, arena), error);
    find_dimensions(&fitting);
    TRY_ALLOC(number_fits(&fitting, arena), error);
    add_transfers(&fitting, false);
    add_transfers(&fitting, true);
    fit_lines(&fitting);
    find_rings(&fitting);
    divide_durations(&fitting, network);
    return SUTRA_OK;
}
