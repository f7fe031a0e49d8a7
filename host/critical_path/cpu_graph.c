/*
 * cpu_graph.c - the CPU operators of each thread as a chain of nodes: starts and ends in the order of a call stack.
 *
 *     thread   [ a       [ b ]    [ c ]  ]   [ d ]
 *     edges    a. -> b. -> .b -> c. -> .c -> .a -> d. -> .d
 *
 * Input: the rows in the window. Output: the nodes and edges of CPU operators. The rows of a thread are sorted by
 * start, longer rows first, and nested as frames of a call stack. The chain follows the starts and ends of the frames.
 *
 * Nesting: as in HTA, an end closes the innermost open frame. So only the number of ends before each start matters, and
 * ends are tokens without an owner until the engine has matched them:
 *
 *     rows     [ a        [ b ]     ]          c starts and ends at the same time: its end precedes its start
 *                             [ c ]
 *     tokens   (  (  )  )  ...
 *
 * At each time, the tokens are the ends up to that time, one end per row of length 0, and the starts. After the last
 * start, all open frames end. The engine matches twice: all frames, then only operators.
 *
 * Cost: sorts of the rows and of their ends, then O(1) per row. No recursion on nesting depth.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "critical_path/path.h"

/* ---- The lock of the CUDA runtime: cudaHostAlloc, cudaLaunchKernel and cudaMemcpyAsync in HTA 0.6 ---- */

static bool takes_lock(const struct path_rows *rows, row_t event) {
    return name_has(rows, event, NAME_LOCKS_RUNTIME);
}

/* Adds the dependencies between calls blocked by the lock. An end consumes all starts since the last end:
 *
 *     thread 0      [A ............ B]           the call that ends first had the lock first
 *     thread 1         [C ..... D]               edges from starts to the next end, from ends to the next end:
 *                                                A>D, C>D, D>B
 *
 * Cost: O(n), and a sort of the nodes. */
static enum sutra_status add_lock_edges(struct path_work *work, const struct path_rows *rows, struct graph *graph) {
    struct arena_mark mark = arena_mark(&work->scratch);
    node_t n = graph_nodes(graph), *nodes = arena_alloc(&work->scratch, n, sizeof *nodes);
    node_t *open = arena_alloc(&work->scratch, n, sizeof *open), n_open = 0, last_end = NODE_NONE;
    TRY(work_check_memory(work));
    TRY(nodes_by_time(work, rows, graph, nodes));
    for (node_t i = 0; i < n; i++) {
        node_t node = nodes[i];
        if (!takes_lock(rows, node_event(graph, node)))
            continue;
        if (!node_is_end(node)) {
            open[n_open++] = node;
            last_end = NODE_NONE;
            continue;
        }
        while (n_open > 0) {
            bool own = open[--n_open] / 2 == node / 2;
            TRY(work_add_edge(work, rows, graph, open[n_open], node, own ? EDGE_OPERATOR : EDGE_DEPENDENCY, false));
        }
        if (last_end != NODE_NONE)
            TRY(work_add_edge(work, rows, graph, last_end, node, EDGE_DEPENDENCY, false));
        last_end = node;
    }
    arena_release(&work->scratch, mark);
    return SUTRA_OK;
}

/* ---- Threads, ordered by pid and tid, numbers before strings ---- */

/* Rows of the window with a pid and a tid. */
struct threads {
    struct tuples ids; /* (pid, tid) in order of first use */
    uint8_t *skipped;  /* per id: 1 if the thread is a GPU stream */
    row_t *row;        /* starts, in order */
    uint32_t *thread;  /* per row: number of its id, later the rank of its thread */
    row_t n;
};

/* Ids that are no integers follow all integers, ordered by type and text. */
static int compare_ids(const struct values *odd, value_key a, value_key b) {
    bool a_whole = key_is_integer(a), b_whole = key_is_integer(b);
    if (a == b)
        return 0;
    if (a_whole && b_whole)
        return a < b ? -1 : 1;
    if (a_whole || b_whole)
        return a_whole ? -1 : 1;
    struct value left = values_at(odd, a), right = values_at(odd, b);
    if (left.type != right.type)
        return left.type < right.type ? -1 : 1;
    int order = memcmp(left.text, right.text, MIN(left.length, right.length));
    return order ? order : (left.length > right.length) - (left.length < right.length);
}

struct ranked_thread {
    struct tuple id;
    uint32_t number;
    const struct values *odd;
};

static int compare_ranked(const void *left, const void *right) {
    const struct ranked_thread *a = left, *b = right;
    int order = compare_ids(a->odd, a->id.part[0], b->id.part[0]);
    return order ? order : compare_ids(a->odd, a->id.part[1], b->id.part[1]);
}

/* Finds the only thread of operators and annotations whose name contains the text; KEY_ABSENT if none or several. */
static enum sutra_status find_only_thread(struct path_work *work, const struct path_rows *rows,
                                          const struct path_window *window, const char *text, value_key *tid) {
    const struct strings *strings = &work->trace->strings;
    uint8_t *matches = arena_alloc(&work->scratch, strings->n, 1);
    TRY(arena_status(&work->scratch, work->error));
    for (uint32_t string = 0; string < strings->n; string++)
        matches[string] = text_compare(strings, string, TEXT_HAS, text);
    *tid = KEY_ABSENT;
    for (row_t i = 0; i < window->n; i++) {
        row_t event = window->rows[i];
        if (!matches[work->events->name[event]] || !category_has(rows, event, CATEGORY_CPU_OP | CATEGORY_ANNOTATION))
            continue;
        if (*tid != KEY_ABSENT && *tid != work->events->tid[event]) {
            *tid = KEY_ABSENT;
            return SUTRA_OK;
        }
        *tid = work->events->tid[event];
    }
    return SUTRA_OK;
}

/* Lists the rows with a thread by the rank of the thread. By HTA's rules, a thread with a row on a stream is none. */
static enum sutra_status number_threads(struct path_work *work, const struct path_rows *rows,
                                        const struct path_window *window, struct threads *threads) {
    const struct device_events *events = work->events;
    bool extended = work->rules.extended;

    /* HTA 0.6 moves the backward thread to the forward thread if there is exactly one of each. */
    value_key forward = KEY_ABSENT, backward = KEY_ABSENT;
    if (work->rules.newer) {
        TRY(find_only_thread(work, rows, window, "forward", &forward));
        TRY(find_only_thread(work, rows, window, "autograd", &backward));
        if (forward == KEY_ABSENT || forward == 0 || backward == 0)
            backward = KEY_ABSENT;
    }

    for (row_t i = 0; i < window->n; i++) {
        row_t event = window->rows[i];
        value_key pid = events->pid[event], tid = events->tid[event];
        bool has_thread = pid != KEY_ABSENT && pid != KEY_NULL && pid != KEY_UNHASHABLE && tid != KEY_NULL &&
                          events->flags[event] & EVENT_HAS_TID;
        if (!has_thread || (extended && on_stream(rows, event)))
            continue;
        uint32_t number = tuples_number(&threads->ids, (struct tuple){{pid, tid == backward ? forward : tid}});
        if (number == TUPLE_NONE)
            return error_memory(work->error);
        threads->row[threads->n] = event;
        threads->thread[threads->n++] = number;
    }
    threads->skipped = arena_zeros(&work->scratch, threads->ids.n, 1);
    TRY(arena_status(&work->scratch, work->error));
    for (row_t i = 0; i < threads->n; i++)
        if (!extended && rows->stream[threads->row[i]] >= 0)
            threads->skipped[threads->thread[i]] = 1;

    /* Replace the numbers by the ranks of the threads, and drop the rows of GPU streams. */
    uint32_t n_threads = threads->ids.n;
    uint32_t *rank = arena_alloc(&work->scratch, n_threads, sizeof *rank);
    struct ranked_thread *list = arena_alloc(&work->scratch, n_threads, sizeof *list);
    TRY(arena_status(&work->scratch, work->error));
    for (uint32_t i = 0; i < n_threads; i++)
        list[i] = (struct ranked_thread){threads->ids.list[i], i, &work->context->values};
    qsort(list, n_threads, sizeof *list, compare_ranked);
    for (uint32_t i = 0; i < n_threads; i++)
        rank[list[i].number] = i;

    row_t n = 0;
    for (row_t i = 0; i < threads->n; i++) {
        if (threads->skipped[threads->thread[i]])
            continue;
        threads->row[n] = threads->row[i];
        threads->thread[n++] = rank[threads->thread[i]];
    }
    threads->n = n;
    return SUTRA_OK;
}

struct equal_start {
    double dur;
    row_t event;
};

ORDER_BY(compare_equal_starts, struct equal_start, DESCENDING(dur) ASCENDING(event))

/* Sorts the rows by thread, start, duration (longest first) and event. */
static enum sutra_status sort_rows(struct path_work *work, const struct path_rows *rows, struct threads *threads) {
    uint64_t *keys = arena_alloc(&work->scratch, threads->n, sizeof *keys);
    row_t *order = arena_alloc(&work->scratch, threads->n, sizeof *order);
    row_t *unsorted = arena_alloc(&work->scratch, threads->n, sizeof *unsorted);
    struct equal_start *equal = arena_alloc(&work->scratch, threads->n, sizeof *equal);
    TRY(work_check_memory(work));
    for (row_t i = 0; i < threads->n; i++) {
        keys[i] = (uint64_t)rows->ts[unsorted[i] = threads->row[i]];
        order[i] = i;
    }
    TRY(work_sort(work, keys, order, threads->n));
    for (row_t i = 0; i < threads->n; i++)
        keys[i] = threads->thread[order[i]];
    TRY(work_sort(work, keys, order, threads->n));
    for (row_t i = 0; i < threads->n; i++) {
        threads->row[i] = unsorted[order[i]];
        threads->thread[i] = (uint32_t)keys[i];
    }

    /* Rows of one thread that start together */
    for (row_t i = 0, begin = 0; i < threads->n; begin = i) {
        for (i = begin; i < threads->n && threads->thread[i] == threads->thread[begin] &&
                        rows->ts[threads->row[i]] == rows->ts[threads->row[begin]];
             i++)
            equal[i - begin] = (struct equal_start){rows->dur[threads->row[i]], threads->row[i]};
        if (i - begin < 2)
            continue;
        qsort(equal, i - begin, sizeof *equal, compare_equal_starts);
        for (row_t k = begin; k < i; k++)
            threads->row[k] = equal[k - begin].event;
    }
    return SUTRA_OK;
}

/* ---- Frames ---- */

/* Starts and ends of frames. Tokens thread_start[t] .. thread_start[t + 1] - 1 belong to thread t. */
struct frames {
    row_t n;
    uint32_t n_threads;
    row_t *thread_start;
    uint8_t *begins; /* 1: the operator starts; 0: it ends */
    row_t *event;    /* the operator; ROW_NONE for an end that is not matched yet */
    row_t *above;    /* the parent operator, or ROW_NONE; while frames are matched, the partner */
};

static void append_token(struct frames *tokens, row_t event, bool begins) {
    tokens->begins[tokens->n] = begins;
    tokens->event[tokens->n++] = event;
}

/* Microseconds that a frame is open. HTA truncates fractions. */
static int64_t frame_length(const struct path_rows *rows, row_t event) {
    return (int64_t)fmin(fmax(rows->dur[event], 0), (double)NUMBER_INTEGER_LIMIT);
}

/* Lists the starts and ends of all rows in order, as tokens. The ends have no event yet. */
static enum sutra_status list_tokens(struct path_work *work, const struct path_rows *rows,
                                     const struct threads *threads, struct frames *tokens) {
    const row_t *row = threads->row, n = threads->n;
    const uint32_t *thread = threads->thread;
    if (n > ROW_LIMIT / 3)
        return error_set(work->error, SUTRA_DATA, "more than %u events on threads: cut the trace", ROW_LIMIT / 3);
    for (row_t i = 0; i < n; i++)
        tokens->n_threads += i == 0 || thread[i] != thread[i - 1];
    tokens->thread_start = arena_zeros(&work->scratch, (size_t)tokens->n_threads + 1, sizeof *tokens->thread_start);
    tokens->begins = arena_alloc(&work->scratch, 3 * (size_t)n, 1);
    tokens->event = arena_alloc(&work->scratch, 3 * (size_t)n, sizeof *tokens->event);
    tokens->above = arena_alloc(&work->scratch, 3 * (size_t)n, sizeof *tokens->above);

    /* The ends of frames of length > 0, by thread and time; ending[k] is the index of the row that ends. */
    uint64_t *keys = arena_alloc(&work->scratch, n, sizeof *keys);
    uint64_t *end_time = arena_alloc(&work->scratch, n, sizeof *end_time);
    row_t *ending = arena_alloc(&work->scratch, n, sizeof *ending), n_ends = 0;
    TRY(work_check_memory(work));
    for (row_t i = 0; i < n; i++) {
        if (frame_length(rows, row[i]) > 0) {
            keys[n_ends] = (uint64_t)(rows->ts[row[i]] + frame_length(rows, row[i]));
            ending[n_ends++] = i;
        }
    }
    TRY(work_sort(work, keys, ending, n_ends));
    for (row_t i = 0; i < n_ends; i++)
        keys[i] = thread[ending[i]];
    TRY(work_sort(work, keys, ending, n_ends));
    for (row_t i = 0; i < n_ends; i++)
        end_time[i] = (uint64_t)(rows->ts[row[ending[i]]] + frame_length(rows, row[ending[i]]));

    row_t next = 0, next_end = 0;
    for (uint32_t t = 0; t < tokens->n_threads; t++) {
        uint32_t rank = thread[next];
        row_t n_empty = 0;
        while (next < n && thread[next] == rank) {
            int64_t now = rows->ts[row[next]];
            row_t first = next;
            for (; next_end < n_ends && thread[ending[next_end]] == rank && end_time[next_end] <= (uint64_t)now;
                 next_end++)
                append_token(tokens, ROW_NONE, false);
            for (; next < n && thread[next] == rank && rows->ts[row[next]] == now; next++)
                if (frame_length(rows, row[next]) == 0) {
                    append_token(tokens, ROW_NONE, false);
                    n_empty++;
                }
            for (row_t i = first; i < next; i++)
                append_token(tokens, row[i], true);
        }

        /* An end that closed nothing leaves a frame open. There are at most as many such ends as rows of length 0. */
        for (; next_end < n_ends && thread[ending[next_end]] == rank; next_end++)
            append_token(tokens, ROW_NONE, false);
        while (n_empty-- > 0)
            append_token(tokens, ROW_NONE, false);
        tokens->thread_start[t + 1] = tokens->n;
    }
    return SUTRA_OK;
}

/* Nests the sorted rows of all threads. The result, in the scratch arena, contains only the operators. */
static enum sutra_status find_frames(struct path_work *work, const struct path_rows *rows,
                                     const struct threads *threads, struct frames *frames) {
    const struct engine *engine = work->engine;
    TRY(list_tokens(work, rows, threads, frames));
    struct frame_tokens table = {frames->n, frames->n_threads, frames->thread_start, frames->begins};
    struct match_frames_step step = {&table, frames->above};
    TRY(engine->match_frames(engine->state, &step, work->error));

    /* Name the event of each end, then drop all frames that are not operators. */
    for (row_t i = 0; i < frames->n; i++)
        if (!frames->begins[i])
            frames->event[i] = frames->above[i] == ROW_NONE ? ROW_NONE : frames->event[frames->above[i]];
    row_t n = 0, i = 0;
    for (uint32_t t = 0; t < frames->n_threads; t++) {
        for (; i < frames->thread_start[t + 1]; i++) {
            if (frames->event[i] == ROW_NONE || !is_operator(work, rows, frames->event[i]))
                continue;
            frames->begins[n] = frames->begins[i];
            frames->event[n++] = frames->event[i];
        }
        frames->thread_start[t + 1] = n;
    }
    frames->n = table.n = n;
    TRY(engine->match_frames(engine->state, &step, work->error));

    /* Replace partners by parents: the partner of a start is its parent's start, the partner of an end is its own
     * start, which precedes the end. */
    for (i = 0; i < frames->n; i++) {
        row_t partner = frames->above[i];
        if (!frames->begins[i])
            frames->above[i] = frames->above[partner];
        else if (partner != ROW_NONE)
            frames->above[i] = frames->event[partner];
    }
    return SUTRA_OK;
}

/* ---- Nodes and edges ---- */

/* Adds the nodes of all operators and connects the nodes of each thread in order. By HTA 0.5, a top-level operator
 * depends on the end of the previous one. By HTA 0.6, the chain continues between top-level operators, and two calls
 * that share the runtime's lock have only the edges of the lock. */
static enum sutra_status add_chains(struct path_work *work, const struct path_rows *rows, const struct frames *frames,
                                    struct graph *graph) {
    bool newer = work->rules.newer;
    for (row_t i = 0; i < frames->thread_start[frames->n_threads]; i++)
        if (frames->begins[i] && graph_add_pair(graph, frames->event[i], frames->above[i]) == NODE_NONE)
            return error_memory(work->error);
    if (newer)
        TRY(add_lock_edges(work, rows, graph));
    for (uint32_t t = 0; t < frames->n_threads; t++) {
        node_t last = NODE_NONE, last_top_end = NODE_NONE;
        for (row_t i = frames->thread_start[t]; i < frames->thread_start[t + 1]; i++) {
            row_t event = frames->event[i];
            bool begins = frames->begins[i], top = frames->above[i] == ROW_NONE;
            node_t node = begins ? event_start_node(graph, event) : event_end_node(graph, event), from = last;
            enum edge_type type = EDGE_OPERATOR;
            if (newer && last != NODE_NONE) {
                bool share_lock = takes_lock(rows, node_event(graph, last)) && takes_lock(rows, event) &&
                                  (!node_is_end(last) || node_is_end(node));
                from = share_lock ? NODE_NONE : last;
                type = begins && top ? EDGE_DEPENDENCY : EDGE_OPERATOR;
            } else if (!newer && begins && top && last_top_end != NODE_NONE) {
                from = last_top_end;
                type = EDGE_DEPENDENCY;
            }
            bool blocks = !begins && name_has(rows, event, NAME_BLOCKING);
            if (from != NODE_NONE)
                TRY(work_add_edge(work, rows, graph, from, node, type, blocks));
            last = !newer && !begins && top ? NODE_NONE : node;
            last_top_end = !begins && top ? node : last_top_end;
        }
    }
    return SUTRA_OK;
}

enum sutra_status cpu_graph_build(struct path_work *work, const struct path_rows *rows,
                                  const struct path_window *window, struct graph *graph) {
    struct arena_mark mark = arena_mark(&work->scratch);
    struct threads threads = {.row = arena_alloc(&work->scratch, window->n, sizeof *threads.row),
                              .thread = arena_alloc(&work->scratch, window->n, sizeof *threads.thread)};
    struct frames frames = {0};
    TRY(work_check_memory(work));
    const enum sutra_status status = number_threads(work, rows, window, &threads);
    tuples_free(&threads.ids);
    TRY(status);

    /* HTA looks these categories up when it first needs them, and fails if no row uses them. */
    bool needs_categories = !work->rules.extended && !work->rules.newer;
    for (row_t i = 0; i < threads.n && needs_categories; i++) {
        if (threads.row[i] == 0 && !work->rules.first_counts)
            continue;
        if (!(rows->used.category & CATEGORY_CPU_OP))
            return stop_crash(work, "no event has the category cpu_op");
        if (!category_has(rows, threads.row[i], CATEGORY_CPU_OP) && !(rows->used.category & CATEGORY_RUNTIME))
            return stop_crash(work, "no event has the category cuda_runtime: the GPU was not recorded");
    }
    TRY(sort_rows(work, rows, &threads));
    TRY(find_frames(work, rows, &threads, &frames));
    if (!graph_reserve(graph, window->n))
        return error_memory(work->error);
    TRY(add_chains(work, rows, &frames, graph));
    arena_release(&work->scratch, mark);
    return SUTRA_OK;
}
