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
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "feeder_walk.h"
#include "one_context.h"
#include "sutra/sutra.h"

/* ---- Files by hand ---- */

static struct sutra_et *read_text(const char *text) {
    struct sutra_et *et = NULL;
    struct sutra_error error = {0};
    if (sutra_et_parse_lines(context, "lines", text, strlen(text), &et, &error))
        fail_msg("byte %u: %s", (unsigned)error.offset, error.message);
    return et;
}

#define META "{\"attr\": []}"
#define COLL(id, deps, group)                                                                                          \
    "{\"id\": " id ", \"type\": 7, \"dataDeps\": [" deps                                                               \
    "], \"attr\": [{\"name\": \"pg_name\", \"stringVal\": \"" group                                                    \
    "\"}, {\"name\": \"comm_type\", \"int64Val\": 0}, {\"name\": \"comm_size\", \"int64Val\": 8}]}"

/* What the walk reaches, and whether the check finds an error, are two answers to one question. */
static void the_walk_and_the_check_agree(void **state) {
    (void)state;
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
        assert_true((report.n_errors > 0) == (files[i].n_reached < sutra_et_nodes(et)));
        sutra_et_check_free(check);
        sutra_et_free(et);
    }
}

static void collectives_of_two_ranks_match_or_wait(void **state) {
    (void)state;
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
    int file = mkstemp(path);
    assert_true(file >= 0);
    close(file);
    snprintf(command, sizeof command, "'%s' convert '%s' -o '%s' -q 2>/dev/null", program ? program : "sutra", plus,
             path);
    int status = system(command);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        assert_int_equal(sutra_et_read(context, path, NULL, &et, NULL), SUTRA_OK);
    unlink(path);
    return et;
}

static void every_converted_node_is_reached(void **state) {
    (void)state;
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
        if (feeder_walk(both, 1, &n_absent) != sutra_et_nodes(et) || n_absent)
            fail_msg("%s: not all of it runs", plus.gl_pathv[i]);
        if (feeder_walk(both, 2, &n_absent) != 2 * sutra_et_nodes(et))
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
        cmocka_unit_test(the_walk_and_the_check_agree),
        cmocka_unit_test(collectives_of_two_ranks_match_or_wait),
        cmocka_unit_test(every_converted_node_is_reached),
    };
    return cmocka_run_group_tests(tests, make_context, free_context);
}
