/*
 * merge_arrows.c - what the ranks of a collective do is joined by arrows, from the rank that comes first to the next
 * one, up to the last, for which all have waited; a message goes from its sender to its receiver.
 *
 *     rank 0   [s===========]           rank 1   [s==]
 *     rank 1        [t======]           rank 2     [f=====]
 *     rank 2            [f==]
 *
 * Viewers bind a flow's end to the slice that is open on its thread at its time, so it is that slice's start, or, for
 * who receives a message earlier than it was sent, the start of the sending.
 */
#include <stdio.h>
#include <stdlib.h>

#include "rewrite/merge.h"
#include "rewrite/merge_event.h"
#include "text/string_text.h"
#include "write/text_out.h"

/* Behind the ids of all ranks. */
static unsigned long long first_id(const struct sutra_merged *merged) {
    return (unsigned long long)merged->report.n_ranks << merge_id_bits(merged->report.n_ranks);
}

/* A kernel that an arrow goes through. */
struct arrow_stop {
    const struct merge_point *point;
    const struct collective_call *call;
};

/* Whether it comes behind others whenever it began. */
static bool receives(const struct collective_call *call) {
    return call->is_message && !call->is_send;
}

static int compare_stops(const void *left, const void *right) {
    const struct arrow_stop *a = left, *b = right;
    if (receives(a->call) != receives(b->call))
        return receives(a->call) ? 1 : -1;
    if (a->point->ns != b->point->ns)
        return a->point->ns < b->point->ns ? -1 : 1;
    return (a->point->pid > b->point->pid) - (a->point->pid < b->point->pid);
}

static row_t list_stops(const struct sutra_merged *merged, const struct collective_match *match,
                        struct arrow_stop *stops) {
    row_t n = 0;
    for (row_t i = 0; i < match->n; i++) {
        row_t call = merged->matches.order[match->first + i];
        const struct merge_point *point = &merged->points[call];
        if (point->tid != STRING_NONE)
            stops[n++] = (struct arrow_stop){point, &merged->calls.list[call]};
    }
    qsort(stops, n, sizeof *stops, compare_stops);
    return n;
}

static void write_stop(const struct sutra_merged *merged, struct text_out *text, const struct arrow_stop *stop,
                       int64_t ns, uint32_t what, const char *phase, unsigned long long id) {
    const struct strings *strings = &merged->calls.strings;
    out_format(text, ",\n{\"ph\": %s, \"id\": %llu, \"pid\": %lld, \"tid\": ", phase, id, (long long)stop->point->pid);
    buffer_append(&text->out, strings_text(strings, stop->point->tid), strings_length(strings, stop->point->tid));
    const char *sign = ns < 0 ? "-" : "";
    unsigned long long size = ns < 0 ? 0 - (unsigned long long)ns : (unsigned long long)ns;
    out_format(text, ", \"ts\": %s%llu.%03llu, \"cat\": \"collective\", \"name\": ", sign, size / 1000, size % 1000);
    out_string(text, strings_text(strings, what), strings_length(strings, what));
    out_add(text, "}");
}

static void write_arrow(const struct sutra_merged *merged, struct text_out *text, const struct arrow_stop *stops,
                        row_t n, unsigned long long id) {
    int64_t ns = INT64_MIN;
    for (row_t i = 0; i < n; i++) {
        const char *phase = i == 0 ? "\"s\"" : i + 1 < n ? "\"t\"" : "\"f\", \"bp\": \"e\"";
        ns = stops[i].point->ns > ns ? stops[i].point->ns : ns;
        write_stop(merged, text, &stops[i], ns, stops[0].call->what, phase, id);
    }
    out_step(text);
}

bool merge_arrows_write(struct sutra_merged *merged) {
    struct text_out text = {.sink = merged->sink, .n_pieces = merged->n_pieces};
    struct arrow_stop *stops = malloc((merged->calls.n + 1) * sizeof *stops);
    row_t n_matches = merged->options.no_arrows ? 0 : merged->matches.n;
    for (row_t i = 0; i < n_matches && stops && !sink_failed(merged->sink); i++) {
        const struct collective_match *match = &merged->matches.list[i];
        row_t n = list_stops(merged, match, stops);
        if (n >= 2)
            write_arrow(merged, &text, stops, n, first_id(merged) + merged->report.n_collectives++);
    }
    out_add(&text, "\n]}\n");
    out_flush(&text);
    merged->n_pieces = text.n_pieces;
    bool ok = stops && !text.out.failed;
    buffer_free(&text.out);
    free(stops);
    return ok;
}
