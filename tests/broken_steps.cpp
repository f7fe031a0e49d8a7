/*
 * broken_steps.cpp - steps with errors that columns apart from each other detect; see host_gpu.h.
 */
#include "host_gpu.h"

struct broken_columns {
    uint32_t *column;
    row_t n;
    uint32_t *result;
};

SHARED void set_seven(const struct broken_columns &c, row_t row) {
    c.column[row] = 7;
}

static void write_rows(struct gpu *gpu, struct broken_columns *c, row_t n) {
    c->column = gpu_take<uint32_t>(gpu, c->n);
    gpu_each<set_seven>(gpu, n, *c);
    gpu_down(gpu, c->result, c->column, c->n);
}

static void write_all(struct gpu *gpu, struct broken_columns *c) {
    write_rows(gpu, c, c->n);
}

static void write_beyond(struct gpu *gpu, struct broken_columns *c) {
    write_rows(gpu, c, c->n + 1);
}

static void read_unwritten(struct gpu *gpu, struct broken_columns *c) {
    write_rows(gpu, c, 0);
}

const char *broken_step_run(struct cuda_engine *made, enum broken_step step, row_t n, uint32_t *result) {
    struct broken_columns c = {NULL, n, result};
    enum gpu_outcome outcome = step == STEP_WRITES_ALL      ? gpu_run<write_all>(&made->gpu, &c)
                               : step == STEP_WRITES_BEYOND ? gpu_run<write_beyond>(&made->gpu, &c)
                                                            : gpu_run<read_unwritten>(&made->gpu, &c);
    return outcome == GPU_DONE ? NULL : made->gpu.failure;
}
