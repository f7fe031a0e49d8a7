/*
 * warp_lanes.cpp - the lanes of a warp as threads, for tests of sum_lanes() (cuda/gpu.h); see host_gpu.h. Each exchange of
 * values is a barrier.
 */
#include <pthread.h>

#include "host_gpu.h"

/* What the lanes exchange. */
struct board {
    pthread_barrier_t barrier;
    uint32_t active;
    uint64_t value[LANES];
};

struct thread_lane {
    struct board *board;
    uint32_t number;

    uint32_t lane() const {
        return number;
    }
    /* The lanes whose value passes the test. */
    template <class Test> uint32_t exchange(uint64_t value, Test test) const {
        uint32_t found = 0;
        board->value[number] = value;
        pthread_barrier_wait(&board->barrier);
        for (uint32_t i = 0; i < LANES; i++)
            if (board->active >> i & 1 && test(board->value[i]))
                found |= 1u << i;
        pthread_barrier_wait(&board->barrier);
        return found;
    }
    uint32_t match(uint32_t label) const {
        return exchange(label, [=](uint64_t other) { return other == label; });
    }
    uint32_t ballot(bool value) const {
        return exchange(value, [](uint64_t other) { return other != 0; });
    }
    bool any(bool value) const {
        return ballot(value) != 0;
    }
    uint64_t value_of(uint32_t lane, uint64_t value) const {
        board->value[number] = value;
        pthread_barrier_wait(&board->barrier);
        value = board->value[lane];
        pthread_barrier_wait(&board->barrier);
        return value;
    }
    static uint32_t count_bits(uint32_t bits) {
        return (uint32_t)__builtin_popcount(bits);
    }
    static uint32_t lowest_bit(uint32_t bits) {
        return (uint32_t)__builtin_ctz(bits);
    }
};

struct lane_run {
    struct thread_lane lane;
    uint32_t label;
    uint64_t sums[2];
    bool is_first;
};

static void *run_lane(void *arg) {
    struct lane_run *run = static_cast<struct lane_run *>(arg);
    run->is_first = sum_lanes(run->lane, run->label, run->sums);
    return NULL;
}

bool warp_sum(uint32_t active, const uint32_t label[LANES], uint64_t sums[LANES][2], bool is_first[LANES]) {
    struct board board = {{}, active, {}};
    struct lane_run runs[LANES];
    pthread_t threads[LANES];
    pthread_barrier_init(&board.barrier, NULL, (unsigned)__builtin_popcount(active));
    for (uint32_t i = 0; i < LANES; i++) {
        runs[i] = {{&board, i}, label[i], {sums[i][0], sums[i][1]}, false};
        if (active >> i & 1 && pthread_create(&threads[i], NULL, run_lane, &runs[i]))
            return false; /* the others wait for this one until the test ends */
    }
    for (uint32_t i = 0; i < LANES; i++) {
        if (active >> i & 1)
            pthread_join(threads[i], NULL);
        sums[i][0] = runs[i].sums[0];
        sums[i][1] = runs[i].sums[1];
        is_first[i] = runs[i].is_first;
    }
    pthread_barrier_destroy(&board.barrier);
    return true;
}
