/*
 * test_path_hubs.c - tests critical paths with context-wide synchronization: hub nodes give the same path as the edges
 * that they replace, their number is correct, and memory is linear.
 *
 * Synthetic traces: threads launch kernels on many streams and sometimes wait for all of them, in time order or in
 * random order.
 */
#include "generate/random.h"
#include "path_table.h"
#include "unit.h"

/* A trace that grows. */
struct made {
    char *text;
    size_t n;
    int correlation;
};

__attribute__((format(printf, 2, 3))) static void add(struct made *made, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    made->n += (size_t)vsprintf(made->text + made->n, format, arguments);
    va_end(arguments);
}

static struct made made_begin(size_t n_events) {
    struct made made = {malloc((n_events + 4) * 160), 0, 1};
    assert_non_null(made.text);
    add(&made, SOME_OP "; user_annotation ProfilerStep#1 ts=0+9000000;");
    return made;
}

static void add_launch(struct made *made, int tid, int at, int device, int stream, int begin, int dur) {
    add(made, "cudaLaunchKernel tid=%d ts=%d+1 correlation=%d;", tid, at, made->correlation);
    add(made, "kernel k pid=%d stream=%d ts=%d+%d correlation=%d;", device, stream, begin, dur, made->correlation++);
}

static void add_call(struct made *made, int tid, int at, int dur) {
    add(made, "cudaDeviceSynchronize tid=%d ts=%d+%d correlation=%d;", tid, at, dur, made->correlation++);
}

static void add_sync(struct made *made, const char *name, int device, int stream, int end, int correlation) {
    add(made, "cuda_sync '%s' pid=%d tid=0 stream=%d ts=%d+1 correlation=%d;", name, device, stream, end - 1,
        correlation);
}

static void search_made(struct made *made, bool extended, struct path_search *search, struct sutra_context **context,
                        struct sutra_device_trace **trace) {
    const struct path_rules rules = {.annotation = "ProfilerStep", .extended = extended};
    *context = make_context();
    *trace = parse_trace(*context, made->text);
    assert_int_equal(path_search_run(search, *context, *trace, &rules, NULL), SUTRA_OK);
    free(made->text);
}

/* ---- Room ---- */

static void many_streams_and_waits_take_linear_room(void **state) {
    enum { STREAMS = 300, ROUNDS = 600 };
    struct made made = made_begin(4 * ROUNDS);
    struct path_search search;
    struct sutra_context *context;
    struct sutra_device_trace *trace;
    for (int i = 0; i < ROUNDS; i++) {
        add_launch(&made, 1, 12 * i + 10, 0, 1 + i % STREAMS, 12 * i + 12, 3);
        add_call(&made, 1, 12 * i + 14, 6);
        add_sync(&made, "Context Sync", 0, -1, 12 * i + 19, made.correlation - 1);
    }
    search_made(&made, false, &search, &context, &trace);
    struct arena arena = {0};
    uint64_t n_edges;
    assert_int_equal(search.verdict.outcome, OUTCOME_PATH);
    assert_true(graph_count_edges(&search.graph, &arena, &n_edges));
    assert_true(search.graph.n_edges < 2 * graph_nodes(&search.graph));
    assert_int_equal(n_edges,
                     search.graph.n_edges - ROUNDS + STREAMS * (STREAMS + 1) / 2 + (ROUNDS - STREAMS) * STREAMS);
    arena_free(&arena);
    path_search_free(&search);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
}

/* ---- The plain way: all edges spelt out ---- */

struct plain {
    const struct graph *graph;
    size_t n;
    node_t *from, *to;
    double *weight;
};

static bool plain_has(const struct plain *plain, node_t from, node_t to) {
    for (size_t i = 0; i < plain->n; i++)
        if (plain->from[i] == from && plain->to[i] == to)
            return true;
    return false;
}

static void plain_add(struct plain *plain, node_t from, uint32_t edge) {
    if (plain_has(plain, from, plain->graph->to[edge]))
        return;
    plain->from[plain->n] = from;
    plain->to[plain->n] = plain->graph->to[edge];
    plain->weight[plain->n++] = plain->graph->weight[edge];
}

/* A hub's edges, stream by stream. */
static void plain_add_hub(struct plain *plain, uint32_t edge) {
    const struct hubs *hubs = &plain->graph->hubs;
    for (uint32_t stream = 0; stream < 16; stream++)
        for (uint32_t i = 0; i < hubs->n_sources; i++)
            if (hubs->sources[i].stream == stream && hub_has(hubs, edge_hub(plain->graph, edge), i))
                plain_add(plain, (plain->graph->n_cpu_pairs + i) * 2 + 1, edge);
}

static struct plain plain_make(const struct graph *graph) {
    size_t most = (size_t)graph->n_edges * 17;
    struct plain plain = {graph, 0, malloc(most * sizeof(node_t)), malloc(most * sizeof(node_t)),
                          malloc(most * sizeof(double))};
    for (uint32_t edge = 0; edge < graph->n_edges; edge++)
        if (edge_is_hub(graph, edge))
            plain_add_hub(&plain, edge);
        else
            plain_add(&plain, graph->from[edge], edge);
    return plain;
}

/* Nodes in topological order; returns how many. */
static node_t plain_order(const struct plain *plain, node_t *order) {
    node_t n_nodes = graph_nodes(plain->graph), n = 0;
    uint32_t *missing = calloc((size_t)n_nodes + 1, sizeof *missing);
    assert_non_null(missing);
    for (size_t i = 0; i < plain->n; i++)
        missing[plain->to[i]]++;
    for (node_t node = 0; node < n_nodes; node++)
        if (missing[node] == 0)
            order[n++] = node;
    for (node_t at = 0; at < n; at++)
        for (size_t i = 0; i < plain->n; i++)
            if (plain->from[i] == order[at] && --missing[plain->to[i]] == 0)
                order[n++] = plain->to[i];
    free(missing);
    return n;
}

/* The path from its end to its beginning is checked against the search's. */
static void check_path(const struct path_search *search, const struct plain *plain) {
    enum { NODES = 400 };
    node_t order[NODES], end = NODE_NONE, before[NODES];
    double distance[NODES];
    assert_true(graph_nodes(&search->graph) <= NODES);
    node_t n = plain_order(plain, order);
    assert_int_equal(n == graph_nodes(&search->graph), search->verdict.outcome == OUTCOME_PATH);
    if (search->verdict.outcome != OUTCOME_PATH)
        return;
    for (node_t at = 0; at < n; at++) {
        distance[order[at]] = -1;
        before[order[at]] = NODE_NONE;
        for (size_t i = 0; i < plain->n; i++)
            if (plain->to[i] == order[at] && distance[plain->from[i]] + plain->weight[i] > distance[order[at]]) {
                distance[order[at]] = distance[plain->from[i]] + plain->weight[i];
                before[order[at]] = plain->from[i];
            }
        if (distance[order[at]] < 0)
            distance[order[at]] = 0;
        if (end == NODE_NONE || distance[order[at]] > distance[end])
            end = order[at];
    }
    for (node_t i = search->path.n; i-- > 0; end = before[end])
        assert_int_equal(search->path.node[i], end);
    assert_int_equal(end, NODE_NONE);
}

/* The graph's own lists of edges out of nodes are those of the plain edges. */
static void check_count(const struct path_search *search, const struct plain *plain) {
    struct arena arena = {0};
    uint64_t n_edges;
    assert_true(graph_count_edges(&search->graph, &arena, &n_edges));
    arena_free(&arena);
    assert_int_equal(n_edges, plain->n);
    for (node_t node = 0; node < graph_nodes(&search->graph); node++) {
        struct edge_lists lists = edges_from(&search->graph, node);
        for (uint32_t edge = edges_next(&lists); edge != EDGE_NONE; edge = edges_next(&lists))
            assert_true(plain_has(plain, node, search->graph.to[edge]));
    }
}

static void add_random(struct made *made, struct random *random, int *now) {
    int tid = (int)random_below(random, 2) + 1, at = now[tid] + (int)random_below(random, 3);
    if (random_below(random, 2)) {
        int stream = (int)random_below(random, 4) + 1, begin = now[2 + stream];
        begin = begin > at ? begin : at + (int)random_below(random, 6);
        now[2 + stream] = begin + (int)random_below(random, 6);
        add_launch(made, tid, at, 0, stream, begin, now[2 + stream] - begin);
        now[tid] = at + 1;
        return;
    }
    now[tid] = at + 2 + (int)random_below(random, 5);
    add_call(made, tid, at, now[tid] - at);
    for (uint32_t n = random_below(random, 3) + 1; n-- > 0;)
        add_sync(made, random_below(random, 4) ? "Context Sync" : "Stream Sync", 0, (int)random_below(random, 4) + 1,
                 at + 1 + (int)random_below(random, 6), made->correlation - 1);
}

static void hubs_give_the_path_of_the_edges_that_they_replace(void **state) {
    for (uint64_t seed = 1; seed <= 400; seed++) {
        struct random random = {seed};
        struct made made = made_begin(160);
        struct path_search search;
        struct sutra_context *context;
        struct sutra_device_trace *trace;
        int now[8] = {0, 5, 5, 5, 5, 5, 5, 5};
        for (uint32_t n = random_below(&random, 30) + 3; n-- > 0;)
            add_random(&made, &random, now);
        search_made(&made, seed % 2, &search, &context, &trace);
        if (search.graph.into_start) {
            struct plain plain = plain_make(&search.graph);
            check_count(&search, &plain);
            if (search.verdict.outcome == OUTCOME_PATH)
                check_path(&search, &plain);
            free(plain.from);
            free(plain.to);
            free(plain.weight);
        }
        path_search_free(&search);
        sutra_device_trace_free(trace);
        sutra_context_free(context);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_streams_and_waits_take_linear_room),
        cmocka_unit_test(hubs_give_the_path_of_the_edges_that_they_replace),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
