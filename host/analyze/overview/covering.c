/*
 * covering.c - the shortest event of a thread that covers most of a stretch of time.
 *
 * What covers more than half of a stretch covers its middle. So it is found among the last event that begins before the
 * middle and those above that, of which the lowest that covers enough is the shortest. To find it in O(log n) steps,
 * each row knows one far above itself: of two jumps of equal length in a row the sum, else its parent.
 */
#include "analyze/overview/overview.h"
#include "base/bisect.h"
#include "base/error.h"

enum sutra_status host_ways_make(const struct host_rows *hosts, struct arena *arena, struct host_ways *ways,
                                 struct sutra_error *error) {
    row_t *depth = arena_take(arena, hosts->n, sizeof *depth);
    *ways = (struct host_ways){.hosts = hosts,
                               .first = arena_zeros(arena, (size_t)hosts->n_threads + 1, sizeof *ways->first),
                               .jump = arena_take(arena, hosts->n, sizeof *ways->jump)};
    enum sutra_status status = arena_status(arena, error);
    if (status)
        return status;
    uint32_t thread = 0;
    for (row_t row = 0; row < hosts->n; row++) {
        row_t above = hosts->parent[row];
        while (thread < hosts->thread[row])
            ways->first[++thread] = row;
        depth[row] = above == ROW_NONE ? 0 : depth[above] + 1;
        if (above == ROW_NONE) {
            ways->jump[row] = row;
            continue;
        }
        row_t far = ways->jump[above], farther = ways->jump[far];
        ways->jump[row] = depth[above] - depth[far] == depth[far] - depth[farther] ? farther : above;
    }
    while (thread < hosts->n_threads)
        ways->first[++thread] = hosts->n;
    return SUTRA_OK;
}

static bool covers(const struct host_rows *hosts, row_t row, int64_t begin, int64_t end) {
    int64_t from = hosts->start[row] > begin ? hosts->start[row] : begin;
    int64_t to = hosts->stop[row] < end ? hosts->stop[row] : end;
    return (double)(to - from) * 100 >= (double)(end - begin) * COVERED_PERCENT;
}

struct moment {
    const int64_t *start;
    int64_t at;
};

static bool begins_by(const void *of, row_t row) {
    const struct moment *moment = of;
    return moment->start[row] <= moment->at;
}

row_t host_covering(const struct host_ways *ways, uint32_t thread, int64_t begin, int64_t end, row_t *near) {
    const struct host_rows *hosts = ways->hosts;
    row_t first = ways->first[thread];
    const struct moment middle = {hosts->start, begin + (end - begin) / 2};
    row_t behind = bisect_near(first, ways->first[thread + 1], *near, begins_by, &middle);
    row_t row = behind == first ? ROW_NONE : behind - 1;
    *near = behind;
    while (row != ROW_NONE && !covers(hosts, row, begin, end)) {
        row_t far = ways->jump[row];
        row = far == row ? ROW_NONE : covers(hosts, far, begin, end) ? hosts->parent[row] : far;
    }
    return row;
}
