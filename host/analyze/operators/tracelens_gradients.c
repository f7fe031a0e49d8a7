/*
 * tracelens_gradients.c - which operator of autograd evaluates an operator's gradient, as the reference has it.
 *
 *     thread 1   aten::linear 7 ... aten::addmm 7                                  the last one on another thread
 *     thread 2                                      evaluate_function: AddmmBackward0 7     the first one
 *
 * Of operators with a sequence number. O(operators).
 */
#include "analyze/operators/works.h"
#include "base/error.h"

#define EVALUATES "autograd::engine::evaluate_function:"

/* What has a sequence number. */
struct autograd_sequence {
    row_t evaluates, forward; /* rows of hosts, or ROW_NONE */
};

struct gradient_search {
    const struct op_reading *reading;
    uint32_t *of_host; /* by row of hosts: which one, or TUPLE_NONE */
    struct tuples numbers;
    struct autograd_sequence *list;
};

static enum sutra_status read_numbers(struct sutra_context *context, struct gradient_search *sequences,
                                      struct arena *arena, struct sutra_error *error) {
    static const struct asked_field field = {"Sequence number", ASK_KEY, false};
    const struct host_rows *hosts = &sequences->reading->hosts;
    struct asked_column column;
    sequences->of_host = arena_take(arena, hosts->n, sizeof *sequences->of_host);
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status =
            event_columns_ask(context, sequences->reading->trace, &field, 1, hosts->event, hosts->n, &column, error);
    for (row_t row = 0; row < hosts->n && !status; row++) {
        value_key key = column.key[hosts->event[row]];
        sequences->of_host[row] = TUPLE_NONE;
        if (key == KEY_ABSENT || key == KEY_NULL)
            continue;
        sequences->of_host[row] = tuples_number(&sequences->numbers, (struct tuple){{key, 0, 0, 0}});
        if (sequences->of_host[row] == TUPLE_NONE)
            status = error_memory(error);
    }
    return status;
}

static bool comes_first(const struct host_rows *hosts, row_t row, row_t than) {
    return than == ROW_NONE || hosts->event[row] < hosts->event[than];
}

/* Those that evaluate; only of them the others are looked for. */
static void find_evaluations(struct gradient_search *sequences) {
    const struct op_reading *reading = sequences->reading;
    for (row_t row = 0; row < reading->hosts.n; row++) {
        if (sequences->of_host[row] == TUPLE_NONE ||
            !text_compare(reading->strings, host_name(reading, row), TEXT_BEGINS, EVALUATES))
            continue;
        struct autograd_sequence *sequence = &sequences->list[sequences->of_host[row]];
        if (comes_first(&reading->hosts, row, sequence->evaluates))
            sequence->evaluates = row;
    }
}

static void find_forward(struct gradient_search *sequences) {
    const struct host_rows *hosts = &sequences->reading->hosts;
    for (row_t row = 0; row < hosts->n; row++) {
        if (sequences->of_host[row] == TUPLE_NONE)
            continue;
        struct autograd_sequence *sequence = &sequences->list[sequences->of_host[row]];
        row_t best = sequence->forward;
        if (sequence->evaluates == ROW_NONE || hosts->thread[row] == hosts->thread[sequence->evaluates])
            continue;
        bool later = best == ROW_NONE || hosts->start[row] > hosts->start[best];
        if (later || (hosts->start[row] == hosts->start[best] && comes_first(hosts, row, best)))
            sequence->forward = row;
    }
}

enum sutra_status tracelens_gradients(struct sutra_context *context, const struct op_reading *reading,
                                      const row_t *hosts, row_t n, struct arena *arena, row_t *gradient,
                                      struct sutra_error *error) {
    struct gradient_search sequences = {.reading = reading};
    enum sutra_status status = read_numbers(context, &sequences, arena, error);
    if (!status)
        sequences.list = arena_take(arena, sequences.numbers.n, sizeof *sequences.list);
    if (!status)
        status = arena_status(arena, error);
    for (uint32_t i = 0; i < sequences.numbers.n && !status; i++)
        sequences.list[i] = (struct autograd_sequence){ROW_NONE, ROW_NONE};
    if (!status) {
        find_evaluations(&sequences);
        find_forward(&sequences);
    }
    for (row_t i = 0; i < n && !status; i++) {
        uint32_t number = sequences.of_host[hosts[i]];
        bool stands = number != TUPLE_NONE && sequences.list[number].forward == hosts[i];
        gradient[i] = stands ? sequences.list[number].evaluates : ROW_NONE;
    }
    tuples_free(&sequences.numbers);
    return status;
}
