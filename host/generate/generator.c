/*
 * generator.c - ids, values and lines of what is being made up.
 */
#include "generate/generator.h"

int64_t thread_tid(const struct generator *generator, uint32_t thread) {
    return generator->pid + INT64_C(533) * thread;
}

int64_t stream_tid(uint32_t stream) {
    return 7 + INT64_C(6) * stream;
}

int64_t random_time(struct generator *generator, uint32_t low, uint32_t high, int64_t factor) {
    int64_t time = random_between(&generator->random, low, high) * factor;
    struct job_member *member = generator->member;
    if (!member)
        return time;
    int64_t percent = random_between(&member->noise, 95, 105);
    return time * percent * (member->rank == member->job->slow_rank ? 3 : 2) / 200;
}

void set_times(struct generator *generator, int64_t start, int64_t end) {
    int64_t unit = generator->values.integer_times ? 1000 : 1;
    start += generator->clock_offset;
    end += generator->clock_offset;
    generator->values.of[FIELD_TS] = start / unit;
    generator->values.of[FIELD_DUR] = end / unit - start / unit;
}

void set_numbers(struct generator *generator, int64_t id) {
    struct random random = {(uint64_t)id};
    int64_t *of = generator->values.of;
    uint64_t bits = random_next(&random);
    of[FIELD_PID] = generator->pid;
    of[FIELD_SMALL] = 1 + (int64_t)(bits % 9);
    of[FIELD_FRACTION] = 100000 + (int64_t)(bits >> 8) % 900000;
    of[FIELD_WIDTH] = 16 << bits % 5;
}

void write_event(struct generator *generator, enum pass pass, const struct template *line) {
    if (generator->pass != pass)
        return;
    output_text(&generator->device, generator->device_has_events ? ",\n  " : "\n  ");
    generator->device_has_events = true;
    template_write(line, &generator->values, &generator->device);
}

void write_node(struct generator *generator, const struct template *line) {
    if (generator->pass != PASS_OPERATORS)
        return;
    output_text(&generator->host, generator->host_has_nodes ? ",\n    " : "\n    ");
    generator->host_has_nodes = true;
    template_write(line, &generator->values, &generator->host);
}

/* Nodes share their numbers with tensors, so that two of three are skipped. One operation in 256 has another
 * record-function id in the host trace and finds no partner there. */
struct operation operation_start(struct generator *generator, int64_t parent) {
    struct operation operation = {
        .node = generator->next_node,
        .parent = parent,
        .rf = generator->next_rf,
        .host_rf = generator->next_rf,
        .external = generator->next_external++,
        .index = generator->next_index++,
    };
    generator->next_node += 3;
    generator->next_rf++;
    if (random_below(&generator->random, 256) == 0)
        operation.host_rf = generator->next_rf++;
    return operation;
}

void set_operation(struct generator *generator, const struct operation *operation, uint32_t thread) {
    int64_t *of = generator->values.of;
    set_times(generator, operation->start, operation->end);
    set_numbers(generator, operation->node);
    of[FIELD_NODE] = operation->node;
    of[FIELD_PARENT] = operation->parent;
    of[FIELD_RF] = operation->rf;
    of[FIELD_HOST_RF] = operation->host_rf;
    of[FIELD_EXTERNAL] = operation->external;
    of[FIELD_INDEX] = operation->index;
    of[FIELD_TID] = thread_tid(generator, thread);
    of[FIELD_HOST_TID] = (int64_t)thread + 1;
    of[FIELD_INPUT] = operation->node / 2;
    of[FIELD_STORAGE] = operation->node / 2 + 1;
    of[FIELD_OUTPUT] = operation->node + 1;
    of[FIELD_MADE] = operation->node + 2;
}
