/*
 * test_feeder.c - tests files that `sutra convert` makes of the ET+ in tests/data with a model of ASTRA-sim's feeder
 * v3: each node is issued, alone and together with a second rank. `sutra check` must give the same verdict for files
 * with unreachable nodes.
 *
 * The model uses none of the library's graphs. A node is issued when all its control and data dependencies are done.
 * The n-th collective of a group is done when each member has issued its n-th one. A node that is done releases its
 * dependents.
 */
#include <glob.h>
#include <stdbool.h>
#include <sys/wait.h>

#include "et_text.h"
#include "one_context.h"
#include "simulate/et_file.h"
#include "simulate/et_format.h"
#include "sutra/sutra.h"
#include "unit.h"

/* ---- The model of the feeder ---- */

#define RANKS_MAX 4

struct walked_rank {
    const struct et_nodes *nodes;
    bool *issued, *done;
    unsigned n_absent; /* dependencies without a node: the feeder would throw */
};

struct walked_id {
    uint64_t id;
    row_t row;
};

static int compare_ids(const void *left, const void *right) {
    const struct walked_id *a = left, *b = right;
    return (a->id > b->id) - (a->id < b->id);
}

/* Whether all nodes of a list are done. */
static bool all_done(struct walked_rank *rank, const struct walked_id *ids, const struct et_ids *list, row_t row) {
    for (uint64_t i = list->first[row]; i < list->first[row + 1]; i++) {
        struct walked_id key = {list->ids[i], 0};
        const struct walked_id *found = bsearch(&key, ids, rank->nodes->n, sizeof key, compare_ids);
        rank->n_absent += !found;
        if (!found || !rank->done[found->row])
            return false;
    }
    return true;
}

static bool same_group(const struct et_nodes *a, row_t i, const struct et_nodes *b, row_t k) {
    struct et_text left = et_group_name(a, i), right = et_group_name(b, k);
    return left.length == right.length && memcmp(left.bytes, right.bytes, left.length) == 0;
}

/* The number of earlier collectives of the same group that wait on the same rank. */
static unsigned waiting_on(const struct walked_rank *rank, const struct et_nodes *nodes, row_t row) {
    unsigned n = 0;
    for (row_t i = 0; i < rank->nodes->n; i++)
        n += rank->nodes->type[i] == ET_COMM_COLL && rank->issued[i] && !rank->done[i] &&
             same_group(rank->nodes, i, nodes, row);
    return n;
}

/* Ends the first waiting collective of a group on each rank, once each has one; all ranks are members. */
static bool meet(struct walked_rank *ranks, unsigned n_ranks, unsigned r, row_t row) {
    for (unsigned i = 0; i < n_ranks; i++)
        if (waiting_on(&ranks[i], ranks[r].nodes, row) == 0)
            return false;
    for (unsigned i = 0; i < n_ranks; i++)
        for (row_t k = 0; k < ranks[i].nodes->n; k++)
            if (ranks[i].nodes->type[k] == ET_COMM_COLL && ranks[i].issued[k] && !ranks[i].done[k] &&
                same_group(ranks[i].nodes, k, ranks[r].nodes, row)) {
                ranks[i].done[k] = true;
                break;
            }
    return true;
}

/* Issues and completes the nodes of a rank that can be; returns whether any could. */
static bool walk_step(struct walked_rank *ranks, unsigned n_ranks, unsigned r, const struct walked_id *ids) {
    struct walked_rank *rank = &ranks[r];
    const struct et_nodes *nodes = rank->nodes;
    bool moved = false;
    for (row_t row = 0; row < nodes->n; row++) {
        if (!rank->issued[row]) {
            if (!all_done(rank, ids, &nodes->ctrl, row) || !all_done(rank, ids, &nodes->data, row))
                continue;
            rank->issued[row] = moved = true;
            rank->done[row] = nodes->type[row] != ET_COMM_COLL;
        }
        if (!rank->done[row])
            moved |= meet(ranks, n_ranks, r, row);
    }
    return moved;
}

/* Issues nodes until no more can be; returns the number of nodes of all ranks that are done. */
static uint64_t feeder_walk(struct sutra_et *const *files, unsigned n_ranks, unsigned *n_absent) {
    struct walked_rank ranks[RANKS_MAX] = {0};
    struct walked_id *ids[RANKS_MAX];
    uint64_t n_done = 0;
    for (unsigned r = 0; r < n_ranks; r++) {
        const struct et_nodes *nodes = &files[r]->file.nodes;
        ranks[r] = (struct walked_rank){nodes, calloc(nodes->n + 1, 1), calloc(nodes->n + 1, 1), 0};
        ids[r] = calloc((size_t)nodes->n + 1, sizeof *ids[r]);
        assert_true(ranks[r].issued && ranks[r].done && ids[r]);
        for (row_t row = 0; row < nodes->n; row++)
            ids[r][row] = (struct walked_id){nodes->id[row], row};
        qsort(ids[r], nodes->n, sizeof *ids[r], compare_ids);
    }
    for (bool moved = true; moved;) {
        moved = false;
        for (unsigned r = 0; r < n_ranks; r++)
            moved |= walk_step(ranks, n_ranks, r, ids[r]);
    }
    *n_absent = 0;
    for (unsigned r = 0; r < n_ranks; r++) {
        for (row_t row = 0; row < ranks[r].nodes->n; row++)
            n_done += ranks[r].done[row];
        *n_absent += ranks[r].n_absent;
        free(ranks[r].issued);
        free(ranks[r].done);
        free(ids[r]);
    }
    return n_done;
}

/* ---- Small files ---- */

static struct sutra_et *read_text(const char *text) {
    struct sutra_et *et = NULL;
    struct sutra_error error = {0};
    if (et_parse_text(context, text, &et, &error))
        fail_msg("byte %u: %s", (unsigned)error.offset, error.message);
    return et;
}

#define META "{\"attr\": []}"
#define COLL(id, deps, group)                                                                                          \
    "{\"id\": " id ", \"type\": 7, \"dataDeps\": [" deps                                                               \
    "], \"attr\": [{\"name\": \"pg_name\", \"stringVal\": \"" group                                                    \
    "\"}, {\"name\": \"comm_type\", \"int64Val\": 0}, {\"name\": \"comm_size\", \"int64Val\": 8}]}"

/* `check` reports an error exactly if the model does not complete all nodes. */
static void check_agrees_with_the_feeder_model(void **state) {
    static const struct {
        const char *text;
        unsigned n_reached;
    } files[] = {
        {META
         "{\"id\": 1, \"type\": 4}{\"id\": 2, \"type\": 4, \"ctrlDeps\": [1], \"dataDeps\": [3]}{\"id\": 3, \"type\": 4}",
         3},
        {META
         "{\"id\": 1, \"type\": 4, \"ctrlDeps\": [2]}{\"id\": 2, \"type\": 4, \"dataDeps\": [1]}{\"id\": 3, \"type\": 4}",
         1},
        {META "{\"id\": 1, \"type\": 4, \"ctrlDeps\": [9]}{\"id\": 2, \"type\": 4}", 1},
    };
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        struct sutra_et *et = read_text(files[i].text);
        struct sutra_et_check *check = NULL;
        struct sutra_et_check_report report = {.size = sizeof report};
        unsigned n_absent;
        assert_int_equal(feeder_walk(&et, 1, &n_absent), files[i].n_reached);
        assert_int_equal(sutra_et_check_create(context, NULL, &check, NULL), SUTRA_OK);
        assert_int_equal(sutra_et_check_add(check, et, NULL), SUTRA_OK);
        sutra_et_check_report(check, &report);
        assert_true((report.n_errors > 0) == (files[i].n_reached < et->file.nodes.n));
        sutra_et_check_free(check);
        sutra_et_free(et);
    }
}

static void collectives_of_two_ranks_match_or_wait(void **state) {
    struct sutra_et *ranks[] = {read_text(META COLL("1", "", "0") COLL("2", "1", "1")),
                                read_text(META COLL("5", "", "0") COLL("6", "5", "1")),
                                read_text(META COLL("5", "", "1") COLL("6", "5", "0"))};
    struct sutra_et *crossed[] = {ranks[0], ranks[2]};
    unsigned n_absent;
    assert_int_equal(feeder_walk(ranks, 2, &n_absent), 4);
    assert_int_equal(feeder_walk(crossed, 2, &n_absent), 0);
    for (int i = 0; i < 3; i++)
        sutra_et_free(ranks[i]);
}

/* ---- Files that the program makes ---- */

/* Converts; NULL: this build has no such command, or the file cannot be converted. */
static struct sutra_et *convert(const char *plus) {
    char command[1024], path[] = P_tmpdir "/sutra_feeder_XXXXXX";
    const char *program = getenv("SUTRA");
    struct sutra_et *et = NULL;
    make_temp_file(path, "");
    snprintf(command, sizeof command, "'%s' convert '%s' -o '%s' -q 2>/dev/null", program ? program : "sutra", plus,
             path);
    int status = system(command);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        assert_int_equal(sutra_et_read(context, path, NULL, &et, NULL), SUTRA_OK);
    unlink(path);
    return et;
}

static void every_converted_node_is_reached(void **state) {
    glob_t plus;
    unsigned n_files = 0;
    if (glob("tests/data/link/*/out*.json.gz", 0, NULL, &plus))
        skip();
    for (size_t i = 0; i < plus.gl_pathc; i++) {
        struct sutra_et *et = convert(plus.gl_pathv[i]), *both[] = {et, et};
        unsigned n_absent;
        if (!et)
            continue;
        n_files++;
        if (feeder_walk(both, 1, &n_absent) != et->file.nodes.n || n_absent)
            fail_msg("%s: not all of it runs", plus.gl_pathv[i]);
        if (feeder_walk(both, 2, &n_absent) != 2 * et->file.nodes.n)
            fail_msg("%s: two ranks do not meet", plus.gl_pathv[i]);
        sutra_et_free(et);
    }
    globfree(&plus);
    print_message("%u files walked\n", n_files);
    if (n_files == 0)
        skip();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(check_agrees_with_the_feeder_model),
        cmocka_unit_test(collectives_of_two_ranks_match_or_wait),
        cmocka_unit_test(every_converted_node_is_reached),
    };
    return cmocka_run_group_tests(tests, make_context, free_context);
}
