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
    struct dlrm_work *work;
    const struct dlrm_dominating *dominating;
    struct dlrm_chart *made;
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
static const char *signature_word(const struct strings *texts, const struct sutra_dlrm_part *part) {
    if (text_compare(texts, part->name, TEXT_HAS, "volta_sgemm"))
        return "volta_sgemm";
    if (text_compare(texts, part->name, TEXT_HAS, "maxwell_sgemm"))
        return "maxwell_sgemm";
    return strings_text(texts, part->name);
}

/* The number of the set of kernels of an entry. STRING_NONE: out of memory. */
static uint32_t signature_of(struct charting *charting, const struct sutra_dlrm_dominating *entry) {
    const struct sutra_dlrm_part *parts = charting->dominating->parts + entry->first_part;
    for (uint64_t i = 0; i < entry->n_parts; i++)
        charting->words[i] = signature_word(charting->work->texts, &parts[i]);
    qsort(charting->words, entry->n_parts, sizeof *charting->words, compare_words);
    charting->signature.length = 0;
    for (uint64_t i = 0; i < entry->n_parts; i++)
        buffer_append(&charting->signature, charting->words[i], strlen(charting->words[i]) + 1);
    if (charting->signature.failed)
        return STRING_NONE;
    return strings_intern(&charting->signatures, charting->signature.bytes, charting->signature.length);
}

static bool is_label(const struct strings *texts, const struct sutra_dlrm_dominating *entry) {
    return entry->name == SUTRA_DLRM_NONE || text_compare(texts, entry->name, TEXT_HAS, "DLRM ") ||
           text_compare(texts, entry->name, TEXT_HAS, "module");
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
    const struct sutra_dlrm_part *parts = charting->dominating->parts + entry->first_part;
    struct sutra_dlrm_share *shares = charting->made->shares + charting->n_shares;
    double total = 0;
    for (uint64_t i = 0; i < entry->n_parts; i++)
        total += parts[i].us;
    for (uint64_t i = 0; i < entry->n_parts; i++) {
        const struct sutra_dlrm_part *part = &parts[i];
        shares[i] = (struct sutra_dlrm_share){part->name, part->shape, (uint32_t)i, total != 0 ? part->us / total : 0};
    }
    qsort(shares, entry->n_parts, sizeof *shares, compare_shares);
    for (uint64_t i = 0; i < entry->n_parts; i++)
        if ((shares[i].legend = dlrm_legend(charting->work, shares[i].name)) == STRING_NONE)
            return false;
    charting->made->variants[charting->n_variants++] = (struct sutra_dlrm_variant){charting->n_shares, entry->n_parts};
    charting->n_shares += entry->n_parts;
    return true;
}

/* Gathers the groups of a stream; returns how many, TUPLE_NONE: out of memory. */
static uint32_t gather_groups(struct charting *charting, const struct sutra_dlrm_stream *stream) {
    struct dlrm_work *work = charting->work;
    tuples_free(&charting->names);
    for (uint64_t i = 0; i < stream->n_dominating; i++) {
        uint32_t entry = (uint32_t)(stream->first_dominating + i), n = charting->names.n;
        const struct sutra_dlrm_dominating *dominating = &charting->dominating->list[entry];
        if (is_label(work->texts, dominating))
            continue;
        uint32_t name = dlrm_group_name(work, dominating->name);
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
        charting->groups[group].us += dominating->us;
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
    const struct sutra_dlrm_dominating *list = charting->dominating->list;
    uint64_t number = group.first_variant;
    group.first_variant = charting->n_variants;
    for (uint32_t entry = charting->first[number] + 1; entry; entry = charting->next[entry - 1]) {
        uint32_t signature = signature_of(charting, &list[entry - 1]), n = charting->variants.n;
        uint32_t variant = signature == STRING_NONE
                               ? TUPLE_NONE
                               : tuples_number(&charting->variants, (struct tuple){{(value_key)number, signature}});
        if (variant == TUPLE_NONE || (variant == n && !add_variant(charting, &list[entry - 1])))
            return false;
    }
    group.n_variants = charting->n_variants - group.first_variant;
    charting->made->groups[charting->n_groups++] = group;
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

enum sutra_status dlrm_chart_make(struct dlrm_work *work, const struct dlrm_dominating *dominating,
                                  struct dlrm_breakdown *breakdown, struct dlrm_chart *chart,
                                  struct sutra_error *error) {
    struct arena *arena = work->arena, *scratch = &work->scratch;
    struct arena_mark mark = arena_mark(scratch);
    uint64_t n_entries = 0, n_parts = 0;
    for (uint64_t i = 0; i < breakdown->n_streams; i++)
        n_entries += breakdown->streams[i].n_dominating;
    for (uint64_t i = 0; i < n_entries; i++)
        n_parts += dominating->list[i].n_parts;
    *chart = (struct dlrm_chart){.groups = arena_take(arena, n_entries, sizeof *chart->groups),
                                 .variants = arena_take(arena, n_entries, sizeof *chart->variants),
                                 .shares = arena_take(arena, n_parts, sizeof *chart->shares)};
    struct charting charting = {.work = work,
                                .dominating = dominating,
                                .made = chart,
                                .next = arena_zeros(scratch, n_entries, sizeof *charting.next),
                                .last = arena_take(scratch, n_entries, sizeof *charting.last),
                                .first = arena_take(scratch, n_entries, sizeof *charting.first),
                                .groups = arena_take(scratch, n_entries, sizeof *charting.groups),
                                .words = arena_take(scratch, n_parts, sizeof *charting.words)};
    bool ok = !arena->failed && !scratch->failed && strings_init(&charting.signatures);
    for (uint64_t i = 0; i < breakdown->n_streams && ok; i++)
        ok = chart_stream(&charting, &breakdown->streams[i]);
    tuples_free(&charting.names);
    tuples_free(&charting.variants);
    strings_free(&charting.signatures);
    buffer_free(&charting.signature);
    arena_release(scratch, mark);
    return ok ? SUTRA_OK : error_memory(error);
}
