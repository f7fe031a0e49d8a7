/*
 * dlrm_chart.c - the bars of the chart "dominating op breakdown" of each stream.
 *
 * In comes the list of dominating operators; out go groups of one name (up to a '#') by falling time, without modules
 * and DLRM's labels, and for each a bar per set of kernels: a later entry with the same kernels is left out, where the
 * shapes do not matter and all sgemm kernels of an architecture are one. O(parts log parts).
 */
#include "analyze/dlrm/dlrm_names.h"

#include <stdlib.h>

#include "base/buffer.h"
#include "base/error.h"

struct charting {
    struct sutra_dlrm *dlrm;
    uint32_t *next, *last;  /* per entry and per group: its entries as a list, + 1 */
    uint32_t *first;        /* per group */
    struct tuples names;    /* of groups of one stream */
    struct tuples variants; /* (group, signature) of one stream */
    struct strings signatures;
    struct buffer signature;
    const char **words; /* of a signature */
    struct sutra_dlrm_group *groups;
    uint64_t n_groups, n_variants, n_shares;
};

static int compare_words(const void *left, const void *right) {
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* The name that a part has in a signature. */
static const char *signature_word(const struct sutra_dlrm *dlrm, const struct sutra_dlrm_part *part) {
    if (text_has(&dlrm->texts, part->name, "volta_sgemm"))
        return "volta_sgemm";
    if (text_has(&dlrm->texts, part->name, "maxwell_sgemm"))
        return "maxwell_sgemm";
    return strings_text(&dlrm->texts, part->name);
}

/* The number of the set of kernels of an entry. STRING_NONE: out of memory. */
static uint32_t signature_of(struct charting *charting, const struct sutra_dlrm_dominating *entry) {
    const struct sutra_dlrm *dlrm = charting->dlrm;
    for (uint64_t i = 0; i < entry->n_parts; i++)
        charting->words[i] = signature_word(dlrm, &dlrm->parts[entry->first_part + i]);
    qsort(charting->words, entry->n_parts, sizeof *charting->words, compare_words);
    charting->signature.length = 0;
    for (uint64_t i = 0; i < entry->n_parts; i++)
        buffer_append(&charting->signature, charting->words[i], strlen(charting->words[i]) + 1);
    if (charting->signature.failed)
        return STRING_NONE;
    return strings_intern(&charting->signatures, charting->signature.bytes, charting->signature.length);
}

static bool is_label(const struct sutra_dlrm *dlrm, const struct sutra_dlrm_dominating *entry) {
    return entry->name == SUTRA_DLRM_NONE || text_has(&dlrm->texts, entry->name, "DLRM ") ||
           text_has(&dlrm->texts, entry->name, "module");
}

/* Shares by falling size, equal ones in the order of the parts. */
static int compare_shares(const void *left, const void *right) {
    const struct sutra_dlrm_share *a = left, *b = right;
    if (a->share != b->share)
        return a->share > b->share ? -1 : 1;
    return (a->legend > b->legend) - (a->legend < b->legend);
}

/* The bar of an entry. */
static bool add_variant(struct charting *charting, const struct sutra_dlrm_dominating *entry) {
    struct sutra_dlrm *dlrm = charting->dlrm;
    struct sutra_dlrm_share *shares = dlrm->shares + charting->n_shares;
    double total = 0;
    for (uint64_t i = 0; i < entry->n_parts; i++)
        total += dlrm->parts[entry->first_part + i].us;
    for (uint64_t i = 0; i < entry->n_parts; i++) {
        const struct sutra_dlrm_part *part = &dlrm->parts[entry->first_part + i];
        shares[i] = (struct sutra_dlrm_share){part->name, part->shape, (uint32_t)i, total != 0 ? part->us / total : 0};
    }
    qsort(shares, entry->n_parts, sizeof *shares, compare_shares);
    for (uint64_t i = 0; i < entry->n_parts; i++)
        if ((shares[i].legend = dlrm_legend(dlrm, shares[i].name)) == STRING_NONE)
            return false;
    dlrm->variants[charting->n_variants++] = (struct sutra_dlrm_variant){charting->n_shares, entry->n_parts};
    charting->n_shares += entry->n_parts;
    return true;
}

/* Gathers the groups of a stream; returns how many, TUPLE_NONE: out of memory. */
static uint32_t gather_groups(struct charting *charting, const struct sutra_dlrm_stream *stream) {
    struct sutra_dlrm *dlrm = charting->dlrm;
    tuples_free(&charting->names);
    for (uint64_t i = 0; i < stream->n_dominating; i++) {
        uint32_t entry = (uint32_t)(stream->first_dominating + i), n = charting->names.n;
        if (is_label(dlrm, &dlrm->dominating[entry]))
            continue;
        uint32_t name = dlrm_group_name(dlrm, dlrm->dominating[entry].name);
        uint32_t group = name == STRING_NONE ? TUPLE_NONE : tuples_number(&charting->names, (struct tuple){{name}});
        if (group == TUPLE_NONE)
            return TUPLE_NONE;
        if (group == n) {
            charting->groups[group] = (struct sutra_dlrm_group){.name = name};
            charting->first[group] = entry;
        } else {
            charting->next[charting->last[group]] = entry + 1;
        }
        charting->last[group] = entry;
        charting->groups[group].us += dlrm->dominating[entry].us;
        charting->groups[group].n_all_variants++;
        charting->groups[group].first_variant = group; /* until it has its place */
    }
    return charting->names.n;
}

static int compare_groups(const void *left, const void *right) {
    const struct sutra_dlrm_group *a = left, *b = right;
    if (a->us != b->us)
        return a->us > b->us ? -1 : 1;
    return (a->first_variant > b->first_variant) - (a->first_variant < b->first_variant);
}

/* The bars of a group, which still knows its number. */
static bool add_group(struct charting *charting, struct sutra_dlrm_group group) {
    struct sutra_dlrm *dlrm = charting->dlrm;
    uint64_t number = group.first_variant;
    group.first_variant = charting->n_variants;
    for (uint32_t entry = charting->first[number] + 1; entry; entry = charting->next[entry - 1]) {
        uint32_t signature = signature_of(charting, &dlrm->dominating[entry - 1]), n = charting->variants.n;
        uint32_t variant = signature == STRING_NONE
                               ? TUPLE_NONE
                               : tuples_number(&charting->variants, (struct tuple){{(value_key)number, signature}});
        if (variant == TUPLE_NONE || (variant == n && !add_variant(charting, &dlrm->dominating[entry - 1])))
            return false;
    }
    group.n_variants = charting->n_variants - group.first_variant;
    dlrm->groups[charting->n_groups++] = group;
    return true;
}

static bool chart_stream(struct charting *charting, struct sutra_dlrm_stream *stream) {
    uint32_t n = gather_groups(charting, stream);
    if (n == TUPLE_NONE)
        return false;
    qsort(charting->groups, n, sizeof *charting->groups, compare_groups);
    tuples_free(&charting->variants);
    stream->first_group = charting->n_groups;
    stream->n_groups = n;
    for (uint32_t i = 0; i < n; i++)
        if (!add_group(charting, charting->groups[i]))
            return false;
    return true;
}

static bool charting_new(struct charting *charting, uint64_t n_entries, uint64_t n_parts) {
    struct sutra_dlrm *dlrm = charting->dlrm;
    charting->next = column_new(n_entries, sizeof *charting->next);
    charting->last = column_new(n_entries, sizeof *charting->last);
    charting->first = column_new(n_entries, sizeof *charting->first);
    charting->groups = column_new(n_entries, sizeof *charting->groups);
    charting->words = column_new(n_parts, sizeof *charting->words);
    dlrm->groups = column_new(n_entries, sizeof *dlrm->groups);
    dlrm->variants = column_new(n_entries, sizeof *dlrm->variants);
    dlrm->shares = column_new(n_parts, sizeof *dlrm->shares);
    return charting->next && charting->last && charting->first && charting->groups && charting->words && dlrm->groups &&
           dlrm->variants && dlrm->shares && strings_init(&charting->signatures);
}

static void charting_free(struct charting *charting) {
    free(charting->next);
    free(charting->last);
    free(charting->first);
    free(charting->groups);
    free(charting->words);
    tuples_free(&charting->names);
    tuples_free(&charting->variants);
    strings_free(&charting->signatures);
    buffer_free(&charting->signature);
}

enum sutra_status dlrm_chart_make(struct sutra_dlrm *dlrm, struct sutra_error *error) {
    struct charting charting = {.dlrm = dlrm};
    uint64_t n_entries = 0, n_parts = 0;
    for (uint64_t i = 0; i < dlrm->report.n_streams; i++)
        n_entries += dlrm->streams[i].n_dominating;
    for (uint64_t i = 0; i < n_entries; i++)
        n_parts += dlrm->dominating[i].n_parts;
    bool ok = charting_new(&charting, n_entries, n_parts);
    for (uint64_t i = 0; i < dlrm->report.n_streams && ok; i++)
        ok = chart_stream(&charting, &dlrm->streams[i]);
    charting_free(&charting);
    return ok ? SUTRA_OK : error_memory(error);
}
