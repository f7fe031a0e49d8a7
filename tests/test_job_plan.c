/*
 * test_job_plan.c - tests pairing of traces by rank, from the heads of the files and from file names. An ambiguous rank
 * is an error.
 */
#include "job/rank_link.h"
#include "unit.h"

/* ---- Beginnings ---- */

static void file_heads_identify_the_trace_side(void **state) {
    static const struct {
        const char *text;
        enum trace_side side;
        int64_t pid, rank, world_size;
        double begin;
    } cases[] = {
        {"{\"schema\": \"1.1.1\", \"pid\": 12, \"time\": \"1970-01-01 00:01:00\", \"nodes\": [", SIDE_HOST, 12, -1, -1,
         60},
        {"{\"x\": {\"nodes\": [1]}, \"s\": \"\\\"nodes\\\": [\", \"pid\": 3, \"nodes\":[]}", SIDE_HOST, 3, -1, -1, 0},
        {"{\"distributedInfo\": {\"a\": [{\"rank\": 9}], \"rank\": 4, \"world_size\": 8}, \"traceEvents\": [",
         SIDE_DEVICE, -1, 4, 8, 0},
        {"{\"traceEvents\": [{\"cat\": \"cpu_op\", \"pid\": 5, \"ts\": 2000000},", SIDE_DEVICE, 5, -1, -1, 0},
        {"{\"baseTimeNanoseconds\": 1500000005000000000, \"traceEvents\": [{\"ph\": \"M\", \"pid\": 1, \"name\": \"n\"}, {\"cat\": "
         "\"kernel\", \"pid\": 0, \"ts\": 1}, {\"pid\": 77, \"ts\": 2000000.5, \"cat\": \"cpu_op\", \"args\": {}}, ",
         SIDE_DEVICE, 77, -1, -1, 1500000007.0000005},
        {"{\"traceEvents\": [{\"cat\": \"cpu_op\", \"pid\": \"x\"}, {\"cat\": \"cpu_op\", \"pid\": 5.5},", SIDE_DEVICE,
         -1, -1, -1, 0},
        {"{\"pid\": 12", SIDE_UNKNOWN, -1, -1, -1, 0}, /* there may be more digits */
        {"{\"pid\": 12, \"nodes\": {", SIDE_UNKNOWN, 12, -1, -1, 0},
        {"[1, 2]", SIDE_UNKNOWN, -1, -1, -1, 0},
        {"[{\"cat\": \"cpu_op\", \"pid\": 5, \"ts\": 2000000},", SIDE_DEVICE, 5, -1, -1, 0},
        {" [{\"cat\": \"cpu_op\", \"pid\": 5, \"ts\": \"1500000007000000.5\"},", SIDE_DEVICE, 5, -1, -1,
         1500000007.0000005},
        {"", SIDE_UNKNOWN, -1, -1, -1, 0},
        {"{\"a\": \"\\", SIDE_UNKNOWN, -1, -1, -1, 0},
        {"{\"distributedInfo\": {\"rank\": 4", SIDE_UNKNOWN, -1, -1, -1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t size = strlen(cases[i].text);
        char *text = malloc(size + 1); /* so that a sanitizer sees reads after the end */
        assert_non_null(text);
        memcpy(text, cases[i].text, size);
        struct trace_head head;
        trace_head_inspect(text, size, &head);
        free(text);
        assert_int_equal(head.side, cases[i].side);
        assert_int_equal(head.pid, cases[i].pid);
        assert_int_equal(head.rank, cases[i].rank);
        assert_int_equal(head.world_size, cases[i].world_size);
        assert_true(head.begin - cases[i].begin < 1e-6 && cases[i].begin - head.begin < 1e-6);
    }
}

static void truncated_heads_are_recognized(void **state) {
    static const char text[] = "{\"a\": [1, {\"b\": \"\\\\\"}], \"distributedInfo\": {\"rank\": 4, \"world_size\": 8}, "
                               "\"traceEvents\": [{\"pid\": 77, \"ts\": 1, \"cat\": \"cpu_op\"}]}";
    for (size_t size = 0; size < sizeof text; size++) {
        char *part = malloc(size + 1);
        struct trace_head head;
        assert_non_null(part);
        memcpy(part, text, size);
        trace_head_inspect(part, size, &head);
        assert_true(head.rank == NOT_RECORDED || head.rank == 4);
        assert_true(head.pid == NOT_RECORDED || head.pid == 77);
        free(part);
    }
}

static void names_have_one_number_or_none(void **state) {
    static const struct {
        const char *name;
        int64_t number;
    } cases[] = {{"host.7.json", 7},
                 {"a.3/trace_12_.json.gz", 12},
                 {"rank7", 7},
                 {"Rank-03.2.json", 3},
                 {"worker3_host.json", 3},
                 {"rank1_worker2.json", 1},
                 {"trace_3_4.json", -1},
                 {"host7.json", -1},
                 {"host.json", -1},
                 {"t.1700000000000.json", -1},
                 {"7", 7},
                 {"rank.json", -1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(trace_name_number(cases[i].name), cases[i].number);
}

/* ---- Pairs ---- */

static char folder[64];

static int make_folder(void **state) {
    snprintf(folder, sizeof folder, "/tmp/test_job_plan_XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    return rmdir(folder); /* fails if a test left a file */
}

#define FILES_MAX 4

/* A trace of a case: a pid or rank of -1 is not recorded. */
struct made_file {
    const char *name;
    int64_t pid, rank;
};

struct pairing_case {
    struct made_file hosts[FILES_MAX], devices[FILES_MAX];
    const char *pairs; /* rank, host, device and how, by rank: "0 h0 d0 process; " */
    const char *left;  /* what is left out: "h1 d1 " */
};

static const struct pairing_case pairing_cases[] = {
    /* by process, whatever the names are */
    {{{"h.5.json", 10, -1}, {"h.6.json", 11, -1}},
     {{"d.1.json", 11, 0}, {"d.2.json", 10, 1}},
     "0 h.6.json d.1.json process; 1 h.5.json d.2.json process; ",
     ""},
    /* one process id in all containers: by names in addition */
    {{{"h.0.json", 1, -1}, {"h.1.json", 1, -1}},
     {{"d.a.json", 1, 1}, {"d.b.json", 1, 0}},
     "0 h.0.json d.b.json process and name; 1 h.1.json d.a.json process and name; ",
     ""},
    {{{"ha.json", 1, -1}, {"hb.json", 1, -1}},
     {{"d.0.json", 1, 0}, {"d.1.json", 1, 1}},
     "",
     "d.0.json d.1.json ha.json hb.json "},
    /* one host trace for two devices of its process: by its name, or not at all */
    {{{"h.1.json", 1, -1}},
     {{"d.0.json", 1, 0}, {"d.1.json", 1, 1}},
     "1 h.1.json d.1.json process and name; ",
     "d.0.json "},
    {{{"h.json", 1, -1}}, {{"d.0.json", 1, 0}, {"d.1.json", 1, 1}}, "", "d.0.json d.1.json "},
    /* by names if no process is recorded, and ranks by names too */
    {{{"host_0_.json", -1, -1}, {"host_1_.json", -1, -1}},
     {{"rank1.json", -1, -1}, {"rank0.json", 4, -1}},
     "0 host_0_.json rank0.json name; 1 host_1_.json rank1.json name; ",
     ""},
    /* names agree, and processes do not */
    {{{"h.0.json", 10, -1}}, {{"d.0.json", 12, 0}}, "", "d.0.json h.0.json "},
    /* two files of a rank */
    {{{"h.0.json", 10, -1}, {"h.1.json", 11, -1}},
     {{"d.0.json", 10, 0}, {"d.1.json", 11, 0}},
     "",
     "d.0.json d.1.json h.0.json h.1.json "},
    /* no rank at all */
    {{{"h.0.json", 10, -1}}, {{"d.json", 10, -1}}, "", "d.json h.0.json "},
};

static char *write_file(const struct made_file *file, bool device) {
    char *path;
    assert_true(asprintf(&path, "%s/%s", folder, file->name) > 0);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs("{", out);
    if (file->rank >= 0)
        fprintf(out, "\"distributedInfo\": {\"rank\": %d, \"world_size\": 2},", (int)file->rank);
    if (device) {
        fputs("\"traceEvents\": [{\"cat\": \"cpu_op\", \"ts\": 1", out);
        if (file->pid >= 0)
            fprintf(out, ", \"pid\": %d", (int)file->pid);
        fputs("}]}", out);
    } else {
        if (file->pid >= 0)
            fprintf(out, "\"pid\": %d, ", (int)file->pid);
        fputs("\"nodes\": []}", out);
    }
    assert_int_equal(fclose(out), 0);
    return path;
}

static const char *name_of(const char *path) {
    return strrchr(path, '/') + 1;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void tell_plan(const struct job_plan *plan, char *pairs, char *left) {
    const char *names[2 * FILES_MAX];
    *pairs = *left = 0;
    for (size_t i = 0; i < plan->n_pairs; i++)
        pairs += sprintf(pairs, "%d %s %s %s; ", (int)plan->pairs[i].rank, name_of(plan->pairs[i].host.path),
                         name_of(plan->pairs[i].device.path), pair_by_names[plan->pairs[i].by]);
    for (size_t i = 0; i < plan->n_left; i++)
        names[i] = name_of(plan->left[i].path);
    qsort(names, plan->n_left, sizeof *names, compare_names);
    for (size_t i = 0; i < plan->n_left; i++)
        left += sprintf(left, "%s ", names[i]);
}

static void run_case(const struct pairing_case *one, bool mixed) {
    char *hosts[2 * FILES_MAX], *devices[FILES_MAX], pairs[500], left[500];
    size_t n_hosts = 0, n_devices = 0;
    for (size_t i = 0; i < FILES_MAX && one->hosts[i].name; i++)
        hosts[n_hosts++] = write_file(&one->hosts[i], false);
    for (size_t i = 0; i < FILES_MAX && one->devices[i].name; i++)
        devices[n_devices++] = write_file(&one->devices[i], true);
    memcpy(hosts + n_hosts, devices, n_devices * sizeof *devices);
    struct job_plan plan = {0};
    struct sutra_error error;
    size_t n_all = n_hosts + n_devices;
    const struct trace_files all = {.paths = hosts, .n = n_all, .mixed = true},
                             of_host = {.paths = hosts, .n = n_hosts}, of_device = {.paths = devices, .n = n_devices};
    assert_int_equal(job_plan_pair(&plan, mixed ? &all : &of_host, mixed ? &all : &of_device, &error), SUTRA_OK);
    tell_plan(&plan, pairs, left);
    assert_string_equal(pairs, one->pairs);
    assert_string_equal(left, one->left);
    job_plan_free(&plan);
    for (size_t i = 0; i < n_all; i++) {
        unlink(hosts[i]);
        free(hosts[i]);
    }
}

static void traces_of_a_rank_are_paired(void **state) {
    for (size_t i = 0; i < sizeof pairing_cases / sizeof *pairing_cases; i++) {
        run_case(&pairing_cases[i], false);
        run_case(&pairing_cases[i], true);
    }
}

static void tables_are_confirmed(void **state) {
    const struct made_file host = {"h.json", 10, -1}, other = {"o.json", 11, -1}, device = {"d.json", 10, 3};
    char *paths[] = {write_file(&host, false), write_file(&other, false), write_file(&device, true)}, *table;
    static const struct {
        const char *rows; /* H, O and D stand for the files */
        enum sutra_status status;
        size_t n_pairs, n_left;
    } cases[] = {{"# comment\n\n3\tH\tD\n", SUTRA_OK, 1, 0},
                 {"3\tH\tD\tprocess", SUTRA_OK, 1, 0},
                 {"\xef\xbb\xbf"
                  "3\tH\tD\r\n",
                  SUTRA_OK, 1, 0}, /* as spreadsheets write it */
                 {"2\tH\tD\n", SUTRA_OK, 0, 1},
                 {"3\tO\tD\n", SUTRA_OK, 0, 1},
                 {"3\tD\tH\n", SUTRA_OK, 0, 1},
                 {"3\tH\tD\n3\tH\tD\n", SUTRA_OK, 0, 2},
                 {"3 H D\n", SUTRA_DATA, 0, 0},
                 {"x\tH\tD\n", SUTRA_DATA, 0, 0},
                 {"3\tH\t/none\n", SUTRA_NO_INPUT, 0, 0},
                 {"", SUTRA_DATA, 0, 0}};
    assert_true(asprintf(&table, "%s/table", folder) > 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FILE *out = fopen(table, "w");
        assert_non_null(out);
        for (const char *at = cases[i].rows; *at; at++)
            if (*at == 'H' || *at == 'O' || *at == 'D')
                fputs(paths[*at == 'H' ? 0 : *at == 'O' ? 1 : 2], out);
            else
                fputc(*at, out);
        assert_int_equal(fclose(out), 0);
        struct job_plan plan = {0};
        struct sutra_error error;
        assert_int_equal(job_plan_read(&plan, table, &error), cases[i].status);
        if (cases[i].status == SUTRA_OK) {
            assert_int_equal(plan.n_pairs, cases[i].n_pairs);
            assert_int_equal(plan.n_left, cases[i].n_left);
        }
        job_plan_free(&plan);
    }
    unlink(table);
    free(table);
    for (size_t i = 0; i < 3; i++) {
        unlink(paths[i]);
        free(paths[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(file_heads_identify_the_trace_side),
        cmocka_unit_test(truncated_heads_are_recognized),
        cmocka_unit_test(names_have_one_number_or_none),
        cmocka_unit_test(traces_of_a_rank_are_paired),
        cmocka_unit_test(tables_are_confirmed),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
