/*
 * pairs.c - forward and backward operators; in come columns of operators in recorded order, out go pairs.
 *
 * One walk with a table from (thread, sequence number) to the forward operator: in order of ends, the first backward
 * operator takes the forward operator out of the table; up to PyTorch 1.13 in recorded order, and it stays, so that
 * later ones may take it over.
 */
#include "base/arena.h"
#include "base/options.h"
#include "columns/number.h"
#include "columns/pair_table.h"
#include "context/context.h"
#include "sutra/tree.h"

#define SEQUENCE_BITS 48
#define TID_MAX       65535

struct sequence_pairing {
    const struct sutra_sequence_columns *operators;
    enum sutra_torch_version torch_version;
    struct pair_table forwards;
    struct arena arena; /* of what follows */
    row_t *order;       /* in which operators are looked at */
    uint64_t n_order;
    struct sutra_flow_pair *pairs;
    uint64_t n_pairs;
    struct sutra_pair_report report;
};

static enum sutra_status check_tid(uint64_t row, int64_t tid, const char *what, struct sutra_error *error) {
    if (tid >= 0 && tid <= TID_MAX)
        return SUTRA_OK;
    return error_set(
        error, SUTRA_DATA,
        "operator %llu: %s %lld: thread numbers of autograd range from 0 to %d (is this a thread id of the system?)",
        (unsigned long long)row, what, (long long)tid, TID_MAX);
}

static enum sutra_status choose_order(struct sequence_pairing *pairing, struct sutra_context *context,
                                      struct sutra_error *error) {
    const struct sutra_sequence_columns *operators = pairing->operators;
    pairing->order = arena_take(&pairing->arena, operators->n, sizeof *pairing->order);
    struct arena_mark mark = arena_mark(&pairing->arena);
    uint64_t *keys = arena_take(&pairing->arena, operators->n, sizeof *keys);
    enum sutra_status status = arena_status(&pairing->arena, error);
    for (uint64_t row = 0; row < operators->n && !status; row++) {
        if (operators->sequence[row] < 0)
            continue;
        status = check_tid(row, operators->tid[row], "tid", error);
        if (!status)
            status = check_tid(row, operators->forward_tid[row], "forward tid", error);
        keys[pairing->n_order] = integer_sort_key(operators->end_ns[row]);
        pairing->order[pairing->n_order++] = (row_t)row;
    }
    struct sort_keys_step by_end = {keys, pairing->order, (row_t)pairing->n_order};
    if (!status && pairing->torch_version != SUTRA_TORCH_VERSION_1_13)
        status = context->engine.sort_keys(context->engine.state, &by_end, error);
    arena_release(&pairing->arena, mark);
    return status;
}

static uint64_t key_of(struct sequence_pairing *pairing, int64_t tid, int64_t sequence) {
    const uint64_t low = ((uint64_t)1 << SEQUENCE_BITS) - 1;
    pairing->report.n_wrapped += (uint64_t)sequence > low;
    return (uint64_t)tid << SEQUENCE_BITS | ((uint64_t)sequence & low);
}

static void take_backward(struct sequence_pairing *pairing, row_t row, struct pair_entry *forward) {
    if (forward->number == PAIR_NONE) {
        pairing->report.n_unmatched++;
        return;
    }
    struct sutra_flow_pair pair = {forward->number, row, pairing->n_pairs + 1};
    pairing->pairs[pairing->n_pairs++] = pair;
    if (pairing->torch_version != SUTRA_TORCH_VERSION_1_13)
        forward->number = PAIR_NONE;
}

static bool take_operator(struct sequence_pairing *pairing, row_t row) {
    const struct sutra_sequence_columns *operators = pairing->operators;
    bool backward = operators->forward_tid[row] > 0;
    if (!backward && operators->tid[row] == 0)
        return true;
    int64_t tid = backward ? operators->forward_tid[row] : operators->tid[row];
    uint64_t key = key_of(pairing, tid, operators->sequence[row]);
    struct pair_entry *entry = pair_table_take(&pairing->forwards, key, 0);
    if (!entry)
        return false;
    if (backward)
        take_backward(pairing, row, entry);
    else if (entry->number == PAIR_NONE || operators->start_ns[row] >= operators->start_ns[entry->number])
        entry->number = row;
    return true;
}

/* Leaves out the pairs whose forward operator a later pair has. */
static bool drop_overwritten(struct sequence_pairing *pairing) {
    uint64_t *last = arena_take(&pairing->arena, pairing->operators->n, sizeof *last);
    if (!last)
        return false;
    for (uint64_t i = 0; i < pairing->n_pairs; i++)
        last[pairing->pairs[i].forward] = i;
    uint64_t n = 0;
    for (uint64_t i = 0; i < pairing->n_pairs; i++)
        if (last[pairing->pairs[i].forward] == i)
            pairing->pairs[n++] = pairing->pairs[i];
    pairing->report.n_overwritten = pairing->n_pairs - n;
    pairing->n_pairs = n;
    return true;
}

enum sutra_status sutra_forward_backward(struct sutra_context *context, const struct sutra_sequence_columns *operators,
                                         enum sutra_torch_version torch_version, struct sutra_flow_pair *pairs,
                                         uint64_t *n_pairs, struct sutra_pair_report *report,
                                         struct sutra_error *error) {
    struct sequence_pairing pairing = {.operators = operators, .torch_version = torch_version, .pairs = pairs};
    if (operators->n > ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "more than %u operators", ROW_LIMIT);
    enum sutra_status status =
        pair_table_init(&pairing.forwards) ? choose_order(&pairing, context, error) : error_memory(error);
    bool ok = true;
    for (uint64_t i = 0; i < pairing.n_order && !status && ok; i++)
        ok = take_operator(&pairing, pairing.order[i]);
    if (!status && ok && torch_version == SUTRA_TORCH_VERSION_1_13)
        ok = drop_overwritten(&pairing);
    if (!status && !ok)
        status = error_memory(error);
    pair_table_free(&pairing.forwards);
    arena_free(&pairing.arena);
    if (status)
        return status;
    *n_pairs = pairing.n_pairs;
    report_give(report, &pairing.report, sizeof pairing.report);
    return SUTRA_OK;
}
