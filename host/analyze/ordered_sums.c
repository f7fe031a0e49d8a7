/*
 * ordered_sums.c - sums of leaves in the order of their trees.
 */
#include "analyze/ordered_sums.h"

#include "columns/column.h"

static bool push(struct ordered_sums *sums, struct ordered_sum *sum, uint32_t depth) {
    if (sums->n == UINT32_MAX - 1 || !column_grow(&sums->list, sums->n, &sums->capacity, sizeof *sums->list))
        return false;
    sums->list[sums->n] = (struct waiting_sum){sum->last, depth, sum->top};
    sum->top = ++sums->n;
    return true;
}

bool ordered_sum_add(struct ordered_sums *sums, struct ordered_sum *sum, uint32_t depth, double us) {
    if (sum->begun) {
        while (sum->top && sums->list[sum->top - 1].depth > depth) {
            const struct waiting_sum *top = &sums->list[sum->top - 1];
            sum->last = top->us + sum->last;
            sum->top = top->below;
        }
        if (sum->top && sums->list[sum->top - 1].depth == depth)
            sums->list[sum->top - 1].us += sum->last;
        else if (!push(sums, sum, depth))
            return false;
    }
    sum->begun = true;
    sum->last = us;
    return true;
}

double ordered_sum_total(const struct ordered_sums *sums, const struct ordered_sum *sum) {
    double total = sum->last;
    for (uint32_t top = sum->top; top; top = sums->list[top - 1].below)
        total = sums->list[top - 1].us + total;
    return total;
}
