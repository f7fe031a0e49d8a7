/*
 * test_et_check.c - tests each rule of `check`: the rule finds its violation, and reports nothing for files that ASTRA-
 * sim accepts.
 */
#include "et_bytes.h"
#include "one_context.h"
#include "simulate/et_file.h"
#include "unit.h"

/* ---- Small files ---- */

/* A node; members that are 0 or NULL are omitted. The last members exist only for communication. */
struct drawn {
    uint64_t id;
    int type;
    const char *ctrl, *data; /* packed ids below 128 */
    uint64_t duration_us;
    bool cpu;
    const char *group, *inputs;
    int64_t comm_type, comm_size; /* collectives; below -1: omitted */
    int64_t src, dst;             /* sends and receives; less 1 */
    void (*more)(struct buffer *node);
};

static void put_drawn(struct buffer *file, const struct drawn *drawn) {
    struct buffer node = {0}, io = {0};
    bool moves = drawn->type >= ET_COMM_SEND && drawn->type <= ET_COMM_COLL;
    put_number(&node, 1, drawn->id);
    put_number(&node, 3, (uint64_t)drawn->type);
    if (drawn->ctrl)
        put_text(&node, 4, drawn->ctrl);
    if (drawn->data)
        put_text(&node, 5, drawn->data);
    put_number(&node, 7, drawn->duration_us);
    if (drawn->inputs) {
        put_text(&io, 1, drawn->inputs);
        put_message(&node, 8, &io);
    }
    put_attribute(&node, 10, "is_cpu_op", ET_BOOL, drawn->cpu);
    if (drawn->group)
        put_text_attribute(&node, 10, "pg_name", drawn->group);
    if (drawn->type == ET_COMM_COLL && drawn->comm_type > -2)
        put_attribute(&node, 10, "comm_type", ET_INT64, (uint64_t)drawn->comm_type);
    if (moves && drawn->comm_size > -2)
        put_attribute(&node, 10, "comm_size", ET_INT64, (uint64_t)drawn->comm_size);
    if (drawn->src)
        put_attribute(&node, 10, "comm_src", ET_INT32, (uint64_t)drawn->src - 1);
    if (drawn->dst)
        put_attribute(&node, 10, "comm_dst", ET_INT32, (uint64_t)drawn->dst - 1);
    if (drawn->src || drawn->dst)
        put_attribute(&node, 10, "comm_tag", ET_INT32, 5);
    if (drawn->more)
        drawn->more(&node);
    put_into_file(file, &node);
    buffer_free(&node);
    buffer_free(&io);
}

static struct buffer make_file(const struct drawn *nodes, size_t n) {
    struct buffer file = {0}, metadata = {0};
    put_text(&metadata, 1, "0.0.4");
    put_into_file(&file, &metadata);
    for (size_t i = 0; i < n; i++)
        put_drawn(&file, &nodes[i]);
    buffer_free(&metadata);
    return file;
}

/* ---- Checking ---- */

static struct sutra_et_check *begin_check(const struct sutra_et_check_options *options) {
    struct sutra_et_check *check = NULL;
    assert_int_equal(sutra_et_check_create(context, options, &check, NULL), SUTRA_OK);
    return check;
}

static void add_bytes(struct sutra_et_check *check, const char *name, const struct buffer *file) {
    struct sutra_et_read_options damaged = {.size = sizeof damaged, .damaged = true};
    struct sutra_et *et = NULL;
    struct sutra_error error;
    assert_int_equal(sutra_et_parse(context, name, file->bytes, file->length, &damaged, &et, &error), SUTRA_OK);
    assert_int_equal(sutra_et_check_add(check, et, &error), SUTRA_OK);
    sutra_et_free(et);
}

static void add_nodes(struct sutra_et_check *check, const char *name, const struct drawn *nodes, size_t n) {
    struct buffer file = make_file(nodes, n);
    add_bytes(check, name, &file);
    buffer_free(&file);
}

/* The violated rules with their counts: "R6 1, R14 2". */
static const char *rules_of(struct sutra_et_check *check) {
    static char text[512];
    struct sutra_et_finding finding;
    struct sutra_et_check_report report = {.size = sizeof report};
    uint64_t n_errors = 0, n = 0;
    assert_int_equal(sutra_et_check_finish(check, NULL), SUTRA_OK);
    *text = '\0';
    for (; sutra_et_check_finding(check, n, &finding); n++) {
        size_t used = strlen(text);
        snprintf(text + used, sizeof text - used, "%s%s %u", n ? ", " : "", finding.rule, (unsigned)finding.count);
        n_errors += finding.is_error;
        assert_true(*finding.what && *finding.why && *finding.remedy);
    }
    sutra_et_check_report(check, &report);
    assert_int_equal(report.n_errors, n_errors);
    assert_int_equal(report.n_errors + report.n_warnings, n);
    sutra_et_check_free(check);
    return text;
}

/* ---- Rules of one file ---- */

static void add_roofline(struct buffer *node) {
    put_attribute(node, 10, "num_ops", ET_INT64, 7);
    put_attribute(node, 10, "tensor_size", ET_UINT64, 0);
}

static void add_no_value(struct buffer *node) {
    put_bytes(node, 10, "\x0a\x07num_ops", 9);
}

/* An attribute that ASTRA-sim does not read, and so may have no value. */
static void add_unread(struct buffer *node) {
    put_bytes(node, 10, "\x0a\x07outputs", 9);
}

static void add_wrong_kind(struct buffer *node) {
    put_text_attribute(node, 10, "num_ops", "7");
}

static void add_unsigned(struct buffer *node) {
    put_attribute(node, 10, "comm_type", ET_UINT64, ET_ALL_GATHER);
}

#define COMP(...)                                                                                                      \
    { .type = ET_COMP, .cpu = true, .duration_us = 3, __VA_ARGS__ }
#define KERNEL(...)                                                                                                    \
    { .type = ET_COMP, .duration_us = 3, __VA_ARGS__ }
#define COLL(size, ...)                                                                                                \
    { .type = ET_COMM_COLL, .duration_us = 3, .comm_size = size, __VA_ARGS__ }

static const struct {
    const char *rules;
    struct drawn nodes[4];
    struct sutra_et_check_options options;
} cases[] = {
    {"",
     {COMP(.id = 1), COLL(64, .id = 2, .ctrl = "\1", .data = "\1", .group = "0"), KERNEL(.id = 3, .data = "\2")},
     {0}},
    {"R5a 1", {COMP(.id = 1), COMP(.id = 1)}, {0}},
    {"R6 1", {COMP(.id = 1, .ctrl = "\2")}, {0}},
    {"R6 1", {COMP(.id = 1, .data = "\2")}, {.feeder = SUTRA_FEEDER_V1}},
    {"", {COMP(.id = 1, .ctrl = "\2")}, {.feeder = SUTRA_FEEDER_V1}},
    {"R7 3",
     {COMP(.id = 1, .data = "\2"), COMP(.id = 2, .ctrl = "\1"), COMP(.id = 3, .data = "\2"), COMP(.id = 4)},
     {0}},
    {"R7 1", {COMP(.id = 1, .data = "\1")}, {0}},
    {"R8 1, R9 1", {COMP(.id = 1, .data = "\2\2"), COMP(.id = 2)}, {.feeder = SUTRA_FEEDER_V1}},
    {"", {COMP(.id = 1, .data = "\2\2"), COMP(.id = 2)}, {0}},
    {"R10 2", {COMP(.id = 1), KERNEL(.id = 2, .data = "\1"), KERNEL(.id = 3, .data = "\1")}, {0}},
    {"R11 1", {COMP(.id = 1), {.id = 2, .type = 9, .cpu = true}}, {0}},
    {"R11a 1", {COMP(.id = 1), {.id = 2, .type = ET_INVALID, .cpu = true}}, {0}},
    {"R12 1, R12a 1",
     {{.id = 1, .type = ET_METADATA, .cpu = true, .inputs = "['[{\"pg_name\": \"x\", \"ranks\": []}]']"}},
     {0}},
    {"R12 1, R12a 1", {{.id = 1, .type = ET_METADATA, .cpu = true, .inputs = "a"}}, {0}},
    {"", {{.id = 1, .type = ET_METADATA, .cpu = true, .inputs = "a"}}, {.feeder = SUTRA_FEEDER_V1}},
    {"R13 1", {COLL(64, .id = 1, .cpu = true)}, {0}},
    {"R14 1", {{.id = 1, .type = ET_COMP, .cpu = true}}, {0}},
    {"R14a 1", {{.id = 1, .type = ET_COMP, .cpu = true, .duration_us = UINT64_MAX / 999}}, {0}},
    {"R15 1", {KERNEL(.id = 1)}, {.roofline = true}},
    {"R15a 1", {KERNEL(.id = 1, .more = add_roofline)}, {.roofline = true}},
    {"", {KERNEL(.id = 1)}, {0}},
    {"R16 1",
     {{.id = 1, .type = ET_MEM_LOAD, .cpu = true}, {.id = 2, .type = ET_MEM_STORE, .cpu = true, .more = add_roofline}},
     {0}},
    {"R20 2", {COLL(64, .id = 1, .comm_type = -2), COLL(-2, .id = 2, .data = "\1")}, {0}},
    {"R20a 1", {COLL(64, .id = 1, .comm_type = -2, .more = add_unsigned)}, {.feeder = SUTRA_FEEDER_V1}},
    {"R21 1",
     {COLL(64, .id = 1, .comm_type = ET_GATHER), COLL(64, .id = 2, .comm_type = ET_BROADCAST, .data = "\1")},
     {0}},
    {"R22 2, R22a 1",
     {COLL(-1, .id = 1), COLL(3, .id = 2, .comm_type = ET_ALL_GATHER, .data = "\1"), COLL(0, .id = 3)},
     {0}},
    {"R23 2",
     {{.id = 1, .type = ET_COMM_SEND, .duration_us = 1, .comm_size = 8, .src = 1},
      {.id = 2, .data = "\1", .type = ET_COMM_RECV, .duration_us = 1, .comm_size = 8, .dst = 1}},
     {0}},
    {"R23a 2",
     {{.id = 1, .type = ET_COMM_SEND, .duration_us = 1, .comm_size = 8, .src = 2, .dst = 3},
      {.id = 2, .data = "\1", .type = ET_COMM_RECV, .duration_us = 1, .comm_size = 8, .src = 2, .dst = 3}},
     {0}},
    {"R24 1", {COLL(64, .id = 1, .group = "default_pg")}, {0}},
    {"R24a 1", {COLL(64, .id = 1, .group = "3x")}, {0}},
    {"R12 1, R25 1",
     {{.id = 9,
       .type = ET_METADATA,
       .cpu = true,
       .inputs =
           "['[{\"pg_name\": \"3\", \"pg_desc\": [1], \"ranks\": [2, 1]}, {\"ranks\": [], \"pg_name\": \"4\"}]']"},
      COLL(64, .id = 1, .group = "3"),
      COLL(64, .id = 2, .data = "\1", .group = "4")},
     {0}},
    {"R27 2",
     {COMP(.id = 1, .more = add_no_value), COMP(.id = 2, .more = add_wrong_kind), COMP(.id = 3, .more = add_unread)},
     {0}},
};

static void each_rule_reports_its_violation(void **state) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct sutra_et_check_options options = cases[i].options;
        size_t n = 0;
        while (n < 4 && cases[i].nodes[n].id)
            n++;
        options.size = sizeof options;
        struct sutra_et_check *check = begin_check(&options);
        add_nodes(check, "job.0.et", cases[i].nodes, n);
        const char *rules = rules_of(check);
        if (strcmp(rules, cases[i].rules) != 0)
            fail_msg("case %zu: '%s' instead of '%s'", i, rules, cases[i].rules);
    }
}

static void cycle_is_reported(void **state) {
    const struct drawn nodes[] = {COMP(.id = 5, .data = "\7"), COMP(.id = 6), COMP(.id = 7, .data = "\10"),
                                  COMP(.id = 8, .data = "\7\6")};
    struct sutra_et_check *check = begin_check(NULL);
    struct sutra_et_finding finding;
    add_nodes(check, "job.0.et", nodes, 4);
    assert_true(sutra_et_check_finding(check, 0, &finding));
    assert_int_equal(finding.count, 3);
    assert_int_equal(finding.n_ids, 2);
    assert_int_equal(finding.ids[0] + finding.ids[1], 15);
    assert_string_equal(finding.detail, "the cycle has 2 nodes");
    sutra_et_check_free(check);
}

static void malformed_frames_are_reported(void **state) {
    const struct drawn node = COMP(.id = 1);
    struct buffer file = make_file(&node, 1), empty = {0};
    size_t whole = file.length;
    static const char *const rules[] = {"R1 1, R4 1", "R2 1, R4 1", "R2 1", "R2 1"};
    struct sutra_et_check *checks[4];
    for (int i = 0; i < 4; i++)
        checks[i] = begin_check(NULL);
    add_bytes(checks[0], "job.0.et", &empty);
    file.length = whole - 2;
    add_bytes(checks[1], "job.0.et", &file);
    file.length = whole;
    add_varint(&file, 0);
    add_bytes(checks[2], "job.0.et", &file);
    file.length = whole;
    add_varint(&file, 300);
    file.length--;
    add_bytes(checks[3], "job.0.et", &file);
    for (int i = 0; i < 4; i++)
        assert_string_equal(rules_of(checks[i]), rules[i]);
    buffer_free(&file);
}

/* ---- Rules of a job ---- */

#define CALLS(name, ...) static const struct drawn name[] = {__VA_ARGS__}
CALLS(two_calls, COLL(64, .id = 1), COLL(64, .id = 2, .data = "\1", .comm_type = ET_ALL_GATHER));
CALLS(two_other_calls, COLL(64, .id = 4, .comm_type = ET_ALL_GATHER, .data = "\7"), COLL(64, .id = 7));
CALLS(one_call, COLL(64, .id = 1));
CALLS(larger_call, COLL(65, .id = 1));
CALLS(no_call, COMP(.id = 1));
CALLS(sends, {.id = 1, .type = ET_COMM_SEND, .duration_us = 1, .comm_size = 8, .dst = 2});
CALLS(receives, {.id = 1, .type = ET_COMM_RECV, .duration_us = 1, .comm_size = 8, .src = 1});
CALLS(receives_more, {.id = 1, .type = ET_COMM_RECV, .duration_us = 1, .comm_size = 9, .src = 1});
CALLS(named_call, COLL(64, .id = 1, .group = "tp"));
CALLS(in_group, COLL(64, .id = 1, .group = "2"));
CALLS(in_group_then_all, COLL(64, .id = 1, .group = "2"), COLL(64, .id = 2, .data = "\1"));
CALLS(in_group_then_named, COLL(64, .id = 1, .group = "2"), COLL(64, .id = 2, .data = "\1", .group = "3"));
CALLS(replayed_then_all, COLL(64, .id = 1, .group = "2", .comm_type = ET_BROADCAST), COLL(64, .id = 2, .data = "\1"));
CALLS(named_all, COLL(64, .id = 1, .group = "3"));

#define OF(name) name, sizeof name / sizeof *name

static void the_files_of_a_job_must_agree(void **state) {
    static const struct {
        const char *rules, *names[2];
        const struct drawn *one;
        size_t n_one;
        const struct drawn *two;
        size_t n_two;
    } jobs[] = {
        {"", {"a.0.et", "a.1.et"}, OF(two_calls), OF(two_other_calls)},
        {"R26 1", {"a.0.et", "a.1.et"}, OF(two_calls), OF(one_call)},
        {"R26 1", {"a.0.et", "a.1.et"}, OF(one_call), OF(larger_call)},
        {"R26 1", {"a.0.et", "a.1.et"}, OF(no_call), OF(one_call)},
        {"", {"a.1.et", "a.0.et"}, OF(receives), OF(sends)},
        {"R26a 2", {"a.1.et", "a.0.et"}, OF(receives_more), OF(sends)},
        {"R26a 1", {"a.1.et", "a.0.et"}, OF(receives), OF(no_call)},
        {"R24 1, R24 1", {"a.1.et", "a.0.et"}, OF(named_call), OF(named_call)},
        {"R24 1", {"a.1.et", "a.0.et"}, OF(no_call), OF(named_call)},
        {"R24a 1", {"a.1.et", "a.0.et"}, OF(no_call), OF(in_group)},
        {"R5b 1", {"a.0.et", "a.2.et"}, OF(no_call), OF(no_call)},
        {"R5b 1", {"a.0.et", "b.1.et"}, OF(no_call), OF(no_call)},
        {"R5b 1", {"a.0.et", "a.00.et"}, OF(no_call), OF(no_call)},
        {"R5 1, R5b 1", {"a.0.et", "a.et"}, OF(no_call), OF(no_call)},
    };
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        struct sutra_et_check *check = begin_check(NULL);
        add_nodes(check, jobs[i].names[0], jobs[i].one, jobs[i].n_one);
        add_nodes(check, jobs[i].names[1], jobs[i].two, jobs[i].n_two);
        const char *rules = rules_of(check);
        if (strcmp(rules, jobs[i].rules) != 0)
            fail_msg("job %zu: '%s' instead of '%s'", i, rules, jobs[i].rules);
    }
}

/* Only members of a group must agree; a file lists the members. */
static void groups_are_read_from_a_file(void **state) {
    char path[] = P_tmpdir "/sutra_groups_XXXXXX";
    make_temp_file(path, "{\"2\": [2, 0], \"3\": []}");
    struct sutra_et_check_options options = {.size = sizeof options, .groups = path};
    struct sutra_et_check *check = begin_check(&options);
    add_nodes(check, "a.0.et", OF(in_group));
    add_nodes(check, "a.1.et", OF(no_call));
    add_nodes(check, "a.2.et", OF(in_group));
    assert_string_equal(rules_of(check), "");
    check = begin_check(&options);
    add_nodes(check, "a.0.et", OF(in_group));
    add_nodes(check, "a.1.et", OF(in_group));
    add_nodes(check, "a.2.et", OF(no_call));
    assert_string_equal(rules_of(check), "R25 1, R26 1");
    unlink(path);
}

/* ASTRA-sim numbers collectives without a group by rank; broadcasts, which it replays, have no number. */
static void collectives_without_a_group_need_equal_numbers(void **state) {
    static const struct {
        bool is_found, replay;
        const struct drawn *one;
        size_t n_one;
        const struct drawn *two;
        size_t n_two;
    } jobs[] = {
        {true, false, OF(in_group_then_all), OF(one_call)},
        {true, true, OF(in_group_then_all), OF(one_call)},
        {false, false, OF(in_group_then_all), OF(in_group_then_all)},
        {false, false, OF(in_group_then_named), OF(named_all)},
        {false, false, OF(replayed_then_all), OF(one_call)},
    };
    char path[] = P_tmpdir "/sutra_groups_XXXXXX";
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        const bool both = jobs[i].two == in_group_then_all;
        strcpy(path + sizeof path - 7, "XXXXXX");
        make_temp_file(path, both ? "{\"2\": [0, 1], \"3\": [0, 1]}" : "{\"2\": [0], \"3\": [0, 1]}");
        struct sutra_et_check_options options = {.size = sizeof options, .groups = path, .replay = jobs[i].replay};
        struct sutra_et_check *check = begin_check(&options);
        struct sutra_et_check_report report = {.size = sizeof report};
        add_nodes(check, "a.0.et", jobs[i].one, jobs[i].n_one);
        add_nodes(check, "a.1.et", jobs[i].two, jobs[i].n_two);
        assert_int_equal(sutra_et_check_finish(check, NULL), SUTRA_OK);
        sutra_et_check_report(check, &report);
        assert_int_equal(report.n_errors, jobs[i].is_found && !jobs[i].replay);
        struct sutra_et_finding finding;
        assert_int_equal(sutra_et_check_finding(check, 0, &finding), jobs[i].is_found);
        if (jobs[i].is_found) {
            assert_string_equal(finding.rule, "R26b");
            assert_string_equal(finding.detail,
                                "node 2 is collective 2 of rank 0, but node 1 is collective 1 of rank 1");
        }
        sutra_et_check_free(check);
        unlink(path);
    }
}

static void groups_that_cannot_be_read_are_an_error(void **state) {
    static const char *const texts[] = {"[]", "{\"a\": [1]}", "{\"1\": 1}", "{\"1\": [1.5]}", "{\"1\": [1]} x", "{"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char path[] = P_tmpdir "/sutra_groups_XXXXXX";
        struct sutra_et_check *check = NULL;
        struct sutra_error error;
        make_temp_file(path, texts[i]);
        struct sutra_et_check_options options = {.size = sizeof options, .groups = path};
        assert_int_equal(sutra_et_check_create(context, &options, &check, &error), SUTRA_DATA);
        assert_null(check);
        unlink(path);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_rule_reports_its_violation),
        cmocka_unit_test(cycle_is_reported),
        cmocka_unit_test(malformed_frames_are_reported),
        cmocka_unit_test(the_files_of_a_job_must_agree),
        cmocka_unit_test(groups_are_read_from_a_file),
        cmocka_unit_test(groups_that_cannot_be_read_are_an_error),
        cmocka_unit_test(collectives_without_a_group_need_equal_numbers),
    };
    return cmocka_run_group_tests(tests, make_context, free_context);
}
