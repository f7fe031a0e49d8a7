/*
 * pieces.cu - steps on tables that do not fit the GPU as a whole, done piece by piece.
 *
 * Sorts and the order between threads take neighbouring rows as they stand: sorted pieces are merged on the CPU, and
 * each piece of the order carries on where the last one ended. Durations and parents concern threads one by one:
 * threads are taken together as far as they fit, their rows gathered, and the results put where they belong. Pieces are
 * halved until they fit, so all costs O(log n) tries more, and the gathering and merging O(n log n).
 */
#include "cuda/engine.h"

extern "C" {
#include "base/error.h"
#include "match/steps.h"
}

#include <cstring>

#define LEAST_ROWS 256 /* pieces are not cut below this */

/* ---- Sorts ---- */

/* What merging compares and moves. */
struct piece_merge {
    struct number_column numbers; /* of the rows to be merged, or */
    uint64_t *keys, *other_keys;  /* keys that move with their rows */
    row_t *rows, *other_rows;
};

static bool comes_first(const struct piece_merge *merge, row_t left, row_t right) {
    if (merge->keys)
        return merge->keys[left] <= merge->keys[right];
    return number_compare(number_at(merge->numbers, merge->rows[left]),
                          number_at(merge->numbers, merge->rows[right])) <= 0;
}

static void take(struct piece_merge *merge, row_t to, row_t from) {
    merge->other_rows[to] = merge->rows[from];
    if (merge->keys)
        merge->other_keys[to] = merge->keys[from];
}

static void merge_neighbours(struct piece_merge *merge, row_t begin, row_t middle, row_t end) {
    row_t left = begin, right = middle;
    for (row_t to = begin; to < end; to++)
        take(merge, to, right == end || (left < middle && comes_first(merge, left, right)) ? left++ : right++);
}

/* Merges sorted pieces of `piece` rows until one is left. The result is in rows, and in keys. */
static void merge_pieces(struct piece_merge *merge, row_t n, uint64_t piece) {
    for (uint64_t width = piece; width < n; width *= 2) {
        for (uint64_t begin = 0; begin < n; begin += 2 * width) {
            uint64_t middle = begin + width < n ? begin + width : n;
            uint64_t end = middle + width < n ? middle + width : n;
            merge_neighbours(merge, (row_t)begin, (row_t)middle, (row_t)end);
        }
        row_t *rows = merge->rows;
        uint64_t *keys = merge->keys;
        merge->rows = merge->other_rows;
        merge->other_rows = rows;
        merge->keys = merge->other_keys;
        merge->other_keys = keys;
    }
}

/* Sorts piece after piece, each of them by sort_piece(), and says how large they are. */
static enum gpu_outcome sort_pieces(struct gpu *gpu, void *step, row_t n,
                                    enum gpu_outcome (*sort_piece)(struct gpu *gpu, void *step, row_t begin, row_t n),
                                    row_t *piece) {
    enum gpu_outcome outcome = GPU_TOO_SMALL;
    *piece = n;
    row_t begin = 0;
    while (begin < n) {
        outcome = sort_piece(gpu, step, begin, n - begin < *piece ? n - begin : *piece);
        if (outcome == GPU_DONE)
            begin = n - begin < *piece ? n : begin + *piece;
        else if (outcome == GPU_TOO_SMALL && begin == 0 && *piece / 2 >= LEAST_ROWS)
            *piece /= 2;
        else
            break;
    }
    return outcome;
}

static enum gpu_outcome sort_numbers_piece(struct gpu *gpu, void *arg, row_t begin, row_t n) {
    const struct sort_numbers_step *whole = static_cast<const struct sort_numbers_step *>(arg);
    struct sort_numbers_step step = {
        {whole->numbers.bits + begin, whole->numbers.kind + begin}, n, whole->order + begin};
    enum gpu_outcome outcome = gpu_run(gpu, gpu_sort_numbers, &step);
    for (row_t i = 0; i < n && outcome == GPU_DONE; i++)
        step.order[i] += begin;
    return outcome;
}

enum sutra_status pieces_sort_numbers(struct gpu *gpu, void *arg, enum gpu_outcome *outcome,
                                      struct sutra_error *error) {
    struct sort_numbers_step *step = static_cast<struct sort_numbers_step *>(arg);
    row_t *other = host_new<row_t>(step->n), piece;
    if (!other)
        return error_memory(error);
    *outcome = sort_pieces(gpu, step, step->n, sort_numbers_piece, &piece);
    if (*outcome == GPU_DONE) {
        struct piece_merge merge = {step->numbers, NULL, NULL, step->order, other};
        merge_pieces(&merge, step->n, piece);
        if (merge.rows != step->order)
            memcpy(step->order, merge.rows, step->n * sizeof *step->order);
    }
    free(other);
    return SUTRA_OK;
}

static enum gpu_outcome sort_keys_piece(struct gpu *gpu, void *arg, row_t begin, row_t n) {
    const struct piece_merge *merge = static_cast<const struct piece_merge *>(arg);
    struct sort_keys_step step = {merge->keys + begin, merge->rows + begin, n, false};
    return gpu_run(gpu, gpu_sort_keys, &step);
}

/* Works on copies, so that a failure leaves keys and rows as they were. */
enum sutra_status pieces_sort_keys(struct gpu *gpu, void *arg, enum gpu_outcome *outcome, struct sutra_error *error) {
    const struct sort_keys_step *step = static_cast<const struct sort_keys_step *>(arg);
    row_t n = step->n, piece;
    struct piece_merge merge = {
        {NULL, NULL}, host_new<uint64_t>(n), host_new<uint64_t>(n), host_new<row_t>(n), host_new<row_t>(n)};
    enum sutra_status status = SUTRA_OK;
    if (merge.keys && merge.other_keys && merge.rows && merge.other_rows) {
        memcpy(merge.keys, step->keys, n * sizeof *merge.keys);
        memcpy(merge.rows, step->rows, n * sizeof *merge.rows);
        *outcome = sort_pieces(gpu, &merge, n, sort_keys_piece, &piece);
    } else
        status = error_memory(error);
    if (!status && *outcome == GPU_DONE) {
        merge_pieces(&merge, n, piece);
        memcpy(step->keys, merge.keys, n * sizeof *merge.keys);
        memcpy(step->rows, merge.rows, n * sizeof *merge.rows);
    }
    free(merge.keys);
    free(merge.other_keys);
    free(merge.rows);
    free(merge.other_rows);
    return status;
}

/* ---- The order between threads ---- */

static bool carry_alloc(struct order_carry *carry, uint32_t n_threads) {
    memset(carry, 0, sizeof *carry);
    carry->begun.latest = carry->begun.under = start_choice_none();
    carry->ts = {host_new<uint64_t>(n_threads), host_new<uint8_t>(n_threads)};
    carry->dur = {host_new<uint64_t>(n_threads), host_new<uint8_t>(n_threads)};
    carry->before = host_new<row_t>(n_threads);
    carry->seen = host_new<uint8_t>(n_threads);
    return carry->ts.bits && carry->ts.kind && carry->dur.bits && carry->dur.kind && carry->before && carry->seen;
}

static void carry_free(struct order_carry *carry) {
    free(carry->ts.bits);
    free(carry->ts.kind);
    free(carry->dur.bits);
    free(carry->dur.kind);
    free(carry->before);
    free(carry->seen);
}

/* What the next part must know of rows [begin, end), whose answers are there. */
static void carry_on(struct order_carry *carry, const struct cpu_ops *ops, const row_t *before, row_t begin,
                     row_t end) {
    for (row_t row = begin; row < end; row++) {
        uint32_t thread = ops->thread[row];
        carry->ts.bits[thread] = ops->ts.bits[row];
        carry->ts.kind[thread] = ops->ts.kind[row];
        carry->dur.bits[thread] = ops->dur.bits[row];
        carry->dur.kind[thread] = ops->dur.kind[row];
        carry->before[thread] = before[row];
        carry->seen[thread] = 1;
    }
    carry->n_rows = end;
}

/* The end of a part of about n rows: operators that begin together stay together. */
static row_t part_end(const struct cpu_ops *ops, row_t begin, row_t n) {
    row_t end = ops->n - begin > n ? begin + n : ops->n;
    while (end < ops->n && !number_below(number_at(ops->ts, end - 1), number_at(ops->ts, end)))
        end++;
    return end;
}

static enum gpu_outcome order_part(struct gpu *gpu, const struct cpu_ops *ops, const struct thread_order_step *whole,
                                   struct order_carry *carry, row_t begin, row_t end) {
    struct cpu_ops part = *ops;
    part.n = end - begin;
    part.ts = {ops->ts.bits + begin, ops->ts.kind + begin};
    part.dur = {ops->dur.bits + begin, ops->dur.kind + begin};
    part.thread = ops->thread + begin;
    struct gpu_table table;
    table_reset(gpu, &table, &part);
    struct thread_order_step step = {&table, whole->gap, whole->before + begin, carry};
    enum gpu_outcome outcome = gpu_run(gpu, gpu_thread_order, &step);
    table_reset(gpu, &table, NULL);
    return outcome;
}

enum sutra_status pieces_thread_order(struct gpu *gpu, void *arg, enum gpu_outcome *outcome,
                                      struct sutra_error *error) {
    const struct thread_order_step *step = static_cast<const struct thread_order_step *>(arg);
    const struct cpu_ops *ops = step->table->ops;
    struct order_carry carry;
    enum sutra_status status = carry_alloc(&carry, ops->n_threads) ? SUTRA_OK : error_memory(error);
    row_t piece = ops->n / 2;
    table_reset(gpu, step->table, ops);
    *outcome = GPU_TOO_SMALL;
    for (row_t begin = 0; begin < ops->n && !status && piece >= LEAST_ROWS;) {
        row_t end = part_end(ops, begin, piece);
        *outcome = order_part(gpu, ops, step, &carry, begin, end);
        if (*outcome == GPU_FAILED)
            break;
        if (*outcome == GPU_TOO_SMALL) {
            piece /= 2;
            continue;
        }
        carry_on(&carry, ops, step->before, begin, end);
        begin = end;
    }
    carry_free(&carry);
    return status;
}

/* ---- Threads ---- */

/* Some of the threads: the operators of those for which number[thread] is not THREAD_OUT, as a table of their own. */
#define THREAD_OUT UINT32_MAX

struct piece {
    uint32_t *number;     /* by thread of the whole: its number here, or THREAD_OUT */
    bool unknown_threads; /* questions of threads that have no operators belong here, too: markers may stand there */
    struct cpu_ops ops;
    row_t *rows; /* by row here: the row of the whole */
    struct number_column ts, dur;
    uint32_t *thread;
    value_key *external;
    uint8_t *coalesced;
};

static void piece_free(struct piece *piece) {
    free(piece->rows);
    free(piece->ts.bits);
    free(piece->ts.kind);
    free(piece->dur.bits);
    free(piece->dur.kind);
    free(piece->thread);
    free(piece->external);
    free(piece->coalesced);
}

static bool piece_alloc(struct piece *piece, row_t n) {
    piece->rows = host_new<row_t>(n);
    piece->ts = {host_new<uint64_t>(n), host_new<uint8_t>(n)};
    piece->dur = {host_new<uint64_t>(n), host_new<uint8_t>(n)};
    piece->thread = host_new<uint32_t>(n);
    piece->external = host_new<value_key>(n);
    piece->coalesced = host_new<uint8_t>(n);
    return piece->rows && piece->ts.bits && piece->ts.kind && piece->dur.bits && piece->dur.kind && piece->thread &&
           piece->external && piece->coalesced;
}

/* Gathers the operators of the piece's threads; false: out of memory. */
static bool piece_gather(struct piece *piece, const struct cpu_ops *ops, uint32_t n_threads) {
    row_t n = 0;
    for (row_t row = 0; row < ops->n; row++)
        n += piece->number[ops->thread[row]] != THREAD_OUT;
    if (!piece_alloc(piece, n))
        return false;
    n = 0;
    for (row_t row = 0; row < ops->n; row++) {
        if (piece->number[ops->thread[row]] == THREAD_OUT)
            continue;
        piece->rows[n] = row;
        piece->ts.bits[n] = ops->ts.bits[row];
        piece->ts.kind[n] = ops->ts.kind[row];
        piece->dur.bits[n] = ops->dur.bits[row];
        piece->dur.kind[n] = ops->dur.kind[row];
        piece->thread[n] = piece->number[ops->thread[row]];
        piece->external[n] = ops->external[row];
        piece->coalesced[n++] = ops->coalesced[row];
    }
    piece->ops = {n, n_threads, piece->ts, piece->dur, piece->thread, piece->external, piece->coalesced};
    return true;
}

/* Results of a piece go to their rows. */
static void scatter_exclusive(const struct piece *piece, struct number_column from, struct number_column to) {
    for (row_t i = 0; i < piece->ops.n; i++) {
        to.bits[piece->rows[i]] = from.bits[i];
        to.kind[piece->rows[i]] = from.kind[i];
    }
}

static void add_anomalies(struct gpu_anomalies *sum, const struct piece *piece, uint64_t n_rounded, uint64_t n_replaced,
                          uint64_t first_replaced) {
    uint64_t first = first_replaced < piece->ops.n ? piece->rows[first_replaced] : UINT64_MAX;
    sum->n_rounded += n_rounded;
    sum->n_replaced += n_replaced;
    sum->first_replaced = first < sum->first_replaced ? first : sum->first_replaced;
}

enum sutra_status pieces_left(struct pool *pool, const struct cpu_ops *ops, struct exclusive_step *step,
                              struct sutra_error *error) {
    struct piece piece = {};
    uint32_t n_threads = 0;
    piece.number = host_new<uint32_t>(ops->n_threads);
    for (uint32_t t = 0; piece.number && t < ops->n_threads; t++)
        piece.number[t] = step->left[t] ? n_threads++ : THREAD_OUT;
    enum sutra_status status = piece.number && piece_gather(&piece, ops, n_threads) ? SUTRA_OK : error_memory(error);
    struct number_column exclusive = {host_new<uint64_t>(piece.ops.n), host_new<uint8_t>(piece.ops.n)};
    struct exclusive_anomalies found = {0, 0, ROW_NONE};
    if (!status && !(exclusive.bits && exclusive.kind))
        status = error_memory(error);
    if (!status)
        status = cpu_exclusive_durations(pool, &piece.ops, EXCLUSIVE_BUDGET, exclusive, &found, error);
    if (!status) {
        scatter_exclusive(&piece, exclusive, step->exclusive);
        add_anomalies(&step->anomalies, &piece, found.n_rounded, found.n_replaced, found.first_replaced);
    }
    free(exclusive.bits);
    free(exclusive.kind);
    piece_free(&piece);
    free(piece.number);
    return status;
}

/* One piece of a step that is done by threads; `step` and `ops` are of the whole. */
typedef enum sutra_status run_piece(struct gpu *gpu, const struct cpu_ops *ops, struct piece *piece, void *step,
                                    enum gpu_outcome *outcome, struct sutra_error *error);

static enum sutra_status run_threads(struct gpu *gpu, const struct cpu_ops *ops, struct piece *piece, uint32_t begin,
                                     uint32_t end, run_piece *run, void *step, enum gpu_outcome *outcome,
                                     struct sutra_error *error) {
    for (uint32_t t = 0; t < ops->n_threads; t++)
        piece->number[t] = t >= begin && t < end ? t - begin : THREAD_OUT;
    enum sutra_status status = SUTRA_OK;
    if (!piece_gather(piece, ops, end - begin))
        status = error_memory(error);
    if (!status)
        status = run(gpu, ops, piece, step, outcome, error);
    piece_free(piece);
    *piece = {piece->number, piece->unknown_threads, {}, NULL, {}, {}, NULL, NULL, NULL};
    return status;
}

/* Half of the threads at first, then as many as have fitted. */
static enum sutra_status by_threads(struct gpu *gpu, const struct cpu_ops *ops, run_piece *run, void *step,
                                    enum gpu_outcome *outcome, struct sutra_error *error) {
    struct piece piece = {};
    enum sutra_status status = SUTRA_OK;
    piece.number = host_new<uint32_t>(ops->n_threads);
    if (!piece.number)
        return error_memory(error);
    *outcome = GPU_TOO_SMALL;
    uint32_t width = ops->n_threads / 2;
    for (uint32_t begin = 0; begin < ops->n_threads && width && !status;) {
        uint32_t end = ops->n_threads - begin > width ? begin + width : ops->n_threads;
        status = run_threads(gpu, ops, &piece, begin, end, run, step, outcome, error);
        if (*outcome == GPU_FAILED)
            break;
        if (*outcome == GPU_TOO_SMALL)
            width = (end - begin) / 2;
        else
            begin = end;
    }
    free(piece.number);
    return status;
}

static enum sutra_status exclusive_piece(struct gpu *gpu, const struct cpu_ops *ops, struct piece *piece, void *arg,
                                         enum gpu_outcome *outcome, struct sutra_error *error) {
    struct exclusive_step *whole = static_cast<struct exclusive_step *>(arg);
    struct gpu_table table;
    struct exclusive_step step = {&table,
                                  {host_new<uint64_t>(piece->ops.n), host_new<uint8_t>(piece->ops.n)},
                                  host_new<uint8_t>(piece->ops.n_threads),
                                  {0, 0, UINT64_MAX}};
    bool ok = step.exclusive.bits && step.exclusive.kind && step.left;
    if (ok) {
        table_reset(gpu, &table, &piece->ops);
        *outcome = gpu_run(gpu, gpu_exclusive, &step);
        table_reset(gpu, &table, NULL);
    }
    if (ok && *outcome == GPU_DONE) {
        scatter_exclusive(piece, step.exclusive, whole->exclusive);
        add_anomalies(&whole->anomalies, piece, step.anomalies.n_rounded, step.anomalies.n_replaced,
                      step.anomalies.first_replaced);
        for (uint32_t t = 0; t < ops->n_threads; t++)
            if (piece->number[t] != THREAD_OUT)
                whole->left[t] = step.left[piece->number[t]];
    }
    free(step.exclusive.bits);
    free(step.exclusive.kind);
    free(step.left);
    return ok ? SUTRA_OK : error_memory(error);
}

enum sutra_status pieces_exclusive(struct gpu *gpu, void *arg, enum gpu_outcome *outcome, struct sutra_error *error) {
    struct gpu_table *table = static_cast<struct exclusive_step *>(arg)->table;
    table_reset(gpu, table, table->ops);
    return by_threads(gpu, table->ops, exclusive_piece, arg, outcome, error);
}

/* ---- Parents ---- */

/* The questions of a piece, and its markers if their thread is among the piece's. */
struct asked {
    struct op_markers markers;
    row_t *before;
    struct parent_queries queries;
    row_t *query; /* by question here: of the whole */
    struct number_column launch_ts;
    uint32_t *thread;
    value_key *external;
    uint8_t *nccl;
    row_t *parent;
};

static void asked_free(struct asked *asked) {
    free(asked->before);
    free(asked->query);
    free(asked->launch_ts.bits);
    free(asked->launch_ts.kind);
    free(asked->thread);
    free(asked->external);
    free(asked->nccl);
    free(asked->parent);
}

static bool asked_alloc(struct asked *asked, row_t n_markers, row_t n) {
    asked->before = host_new<row_t>(n_markers);
    asked->query = host_new<row_t>(n);
    asked->launch_ts = {host_new<uint64_t>(n), host_new<uint8_t>(n)};
    asked->thread = host_new<uint32_t>(n);
    asked->external = host_new<value_key>(n);
    asked->nccl = host_new<uint8_t>(n);
    asked->parent = host_new<row_t>(n);
    return asked->before && asked->query && asked->launch_ts.bits && asked->launch_ts.kind && asked->thread &&
           asked->external && asked->nccl && asked->parent;
}

static uint32_t number_in(const struct piece *piece, const struct cpu_ops *ops, uint32_t thread) {
    if (thread < ops->n_threads)
        return piece->number[thread];
    return piece->unknown_threads ? thread : THREAD_OUT;
}

static void gather_markers(struct asked *asked, const struct piece *piece, const struct op_markers *markers) {
    row_t row = 0;
    asked->markers = *markers;
    asked->markers.before = asked->before;
    for (row_t k = 0; k < markers->n; k++) {
        while (row < piece->ops.n && piece->rows[row] < markers->before[k])
            row++;
        asked->before[k] = row;
    }
}

static void gather_queries(struct asked *asked, const struct piece *piece, const struct cpu_ops *ops,
                           const struct parent_queries *queries) {
    row_t n = 0;
    for (row_t i = 0; i < queries->n; i++) {
        uint32_t thread = number_in(piece, ops, queries->thread[i]);
        if (thread == THREAD_OUT)
            continue;
        asked->query[n] = i;
        asked->launch_ts.bits[n] = queries->launch_ts.bits[i];
        asked->launch_ts.kind[n] = queries->launch_ts.kind[i];
        asked->thread[n] = thread;
        asked->external[n] = queries->external[i];
        asked->nccl[n++] = queries->nccl[i];
    }
    asked->queries = {n, asked->launch_ts, asked->thread, asked->external, asked->nccl};
}

static enum sutra_status parents_piece(struct gpu *gpu, const struct cpu_ops *ops, struct piece *piece, void *arg,
                                       enum gpu_outcome *outcome, struct sutra_error *error) {
    const struct parents_step *whole = static_cast<const struct parents_step *>(arg);
    struct asked asked = {};
    struct gpu_table table;
    if (!asked_alloc(&asked, whole->markers->n, whole->queries->n)) {
        asked_free(&asked);
        return error_memory(error);
    }
    gather_markers(&asked, piece, whole->markers);
    gather_queries(&asked, piece, ops, whole->queries);
    asked.markers.thread = number_in(piece, ops, whole->markers->thread);
    table_reset(gpu, &table, &piece->ops);
    struct parents_step step = {&table, &asked.markers, &asked.queries, asked.parent};
    *outcome = gpu_run(gpu, gpu_parents, &step);
    table_reset(gpu, &table, NULL);
    for (row_t i = 0; i < asked.queries.n && *outcome == GPU_DONE; i++) {
        row_t parent = asked.parent[i];
        if (parent != ROW_NONE)
            parent = parent < piece->ops.n ? piece->rows[parent] : ops->n + (parent - piece->ops.n);
        whole->parent[asked.query[i]] = parent;
    }
    asked_free(&asked);
    return SUTRA_OK;
}

enum sutra_status pieces_parents(struct gpu *gpu, void *arg, enum gpu_outcome *outcome, struct sutra_error *error) {
    struct parents_step *step = static_cast<struct parents_step *>(arg);
    const struct cpu_ops *ops = step->table->ops;
    table_reset(gpu, step->table, ops);
    for (row_t i = 0; i < step->queries->n; i++)
        step->parent[i] = ROW_NONE;
    enum sutra_status status = by_threads(gpu, ops, parents_piece, step, outcome, error);
    if (status || *outcome != GPU_DONE)
        return status;
    struct piece others = {};
    others.number = host_new<uint32_t>(ops->n_threads);
    others.unknown_threads = true;
    status =
        others.number ? run_threads(gpu, ops, &others, 0, 0, parents_piece, step, outcome, error) : error_memory(error);
    free(others.number);
    return status;
}
