/*
 * test_run.c - tests the inventory of a run: which trace is of which role, window and rank, and what is skipped. Each
 * case is a list of files, of which a line describes one: "PATH [FIELD=VALUE...]".
 */
#include <ftw.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "run/run.h"
#include "text/strings.h"
#include "unit.h"

/* ---- Files ---- */

struct made_trace {
    int64_t pid, rank, world_size;
    double begin_s, length_s; /* since 1970; begin_s 0: no absolute time */
    const char *id, *host;
    bool has_gpu;
    unsigned n_calls, n_launches; /* calls with a name each, before the launches */
};

/* Fields: pid, rank, of (world size), at (seconds), for (seconds), id, host, gpu, calls, launches. */
static void read_field(const char *name, const char *value, struct made_trace *trace) {
    if (strcmp(name, "pid") == 0)
        trace->pid = atoll(value);
    else if (strcmp(name, "rank") == 0)
        trace->rank = atoll(value);
    else if (strcmp(name, "of") == 0)
        trace->world_size = atoll(value);
    else if (strcmp(name, "at") == 0)
        trace->begin_s = 1700000000 + atof(value);
    else if (strcmp(name, "for") == 0)
        trace->length_s = atof(value);
    else if (strcmp(name, "id") == 0)
        trace->id = value;
    else if (strcmp(name, "host") == 0)
        trace->host = value;
    else if (strcmp(name, "gpu") == 0)
        trace->has_gpu = atoi(value) != 0;
    else if (strcmp(name, "calls") == 0)
        trace->n_calls = (unsigned)atoi(value);
    else if (strcmp(name, "launches") == 0)
        trace->n_launches = (unsigned)atoi(value);
    else
        fail_msg("unknown field %s", name);
}

static void write_trace(FILE *file, const struct made_trace *trace) {
    const double ts = trace->begin_s * 1e6;
    fprintf(file, "{\"schemaVersion\": 1");
    if (trace->id)
        fprintf(file, ", \"trace_id\": \"%s\"", trace->id);
    if (trace->host)
        fprintf(file, ", \"host_name\": \"%s\"", trace->host);
    if (trace->rank >= 0)
        fprintf(file, ", \"distributedInfo\": {\"rank\": %" PRId64 ", \"world_size\": %" PRId64 "}", trace->rank,
                trace->world_size);
    fprintf(file,
            ", \"traceEvents\": [\n{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"aten::mm\", \"pid\": %" PRId64
            ", \"tid\": 1, \"ts\": %.3f, \"dur\": 10}",
            trace->pid, ts);
    for (unsigned i = 0; i < trace->n_calls + trace->n_launches; i++) {
        char call[40] = "cudaLaunchKernel";
        if (i < trace->n_calls)
            snprintf(call, sizeof call, "call%u", i);
        fprintf(file,
                ",\n{\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"%s\", \"pid\": 1, \"tid\": 1, "
                "\"ts\": %.3f, \"dur\": 1, \"args\": {\"correlation\": %u}}",
                call, ts + i, i + 1);
    }
    if (trace->has_gpu)
        fprintf(file,
                ",\n{\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"gemm\", \"pid\": 0, \"tid\": 7, \"ts\": %.3f, "
                "\"dur\": 5}",
                ts + trace->length_s * 1e6 - 5);
    fprintf(file, "\n]}\n");
}

struct tree {
    char name[64];
};

static struct tree make_tree(void) {
    struct tree tree = {P_tmpdir "/sutra_run_XXXXXX"};
    assert_non_null(mkdtemp(tree.name));
    return tree;
}

static int remove_entry(const char *path, const struct stat *found, int type, struct FTW *place) {
    return remove(path);
}

static void remove_tree(const struct tree *tree) {
    assert_int_equal(nftw(tree->name, remove_entry, 16, FTW_DEPTH | FTW_PHYS), 0);
}

/* Creates the directories of a path. */
static void make_folders(const char *path) {
    char folder[512];
    for (const char *slash = path; (slash = strchr(slash + 1, '/'));) {
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        mkdir(folder, 0700);
    }
}

/* Makes the file of a line: a trace; "PATH -> TARGET", a symbolic link; or "PATH = TEXT". */
static void make_file(const char *folder, const char *line) {
    char words[512], path[600];
    struct made_trace trace = {.pid = 100, .rank = -1, .world_size = 2, .length_s = 1, .has_gpu = true};
    snprintf(words, sizeof words, "%s", line);
    char *text = strstr(words, " = "), *target = strstr(words, " -> ");
    if (text)
        *text = 0;
    if (target)
        *target = 0;
    char *rest = words, *word = strsep(&rest, " ");
    snprintf(path, sizeof path, "%s/%s", folder, word);
    make_folders(path);
    if (target) {
        assert_int_equal(symlink(target + 4, path), 0);
        return;
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    while (!text && (word = strsep(&rest, " "))) {
        char *value = strchr(word, '=');
        assert_non_null(value);
        *value = 0;
        read_field(word, value + 1, &trace);
    }
    if (text)
        fputs(text + 3, file);
    else
        write_trace(file, &trace);
    fclose(file);
}

/* ---- Results ---- */

/* The inventory as lines: "ROLE WINDOW[LABEL] rank RANK (SOURCE): PATH", "missing", "skipped REASON: PATH". */
static char *describe(const struct run *run) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    for (size_t r = 0; r < run->n_roles; r++) {
        const struct run_role *role = &run->roles[r];
        fprintf(out, "%s: %s, default %zu\n", role->name, run_window_source_names[role->window_source],
                role->default_window);
        for (size_t w = 0; w < role->n_windows; w++) {
            const struct run_window *window = &role->windows[w];
            fprintf(out, " %zu %s%s%s\n", w, window->label ? window->label : "-", *window->missing ? " lacks " : "",
                    window->missing);
            for (size_t t = 0; t < window->n_traces; t++)
                fprintf(out, "  %" PRId64 " %s %s\n", window->traces[t]->rank,
                        run_source_names[window->traces[t]->source], window->traces[t]->path);
        }
    }
    for (size_t i = 0; i < run->n_skipped; i++)
        fprintf(out, "%s %s%s%s\n", run_kinds[run->skipped[i].kind].name, run->skipped[i].path,
                run->skipped[i].of ? " of " : "", run->skipped[i].of ? run->skipped[i].of : "");
    fclose(out);
    return text;
}

struct run_case {
    const char *name;
    const char *files[16];
    const char *expected;
};

static void check_case(const struct run_case *test) {
    struct tree folder = make_tree();
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 2);
    struct run run = {0};
    struct sutra_error error;
    for (size_t i = 0; test->files[i]; i++)
        make_file(folder.name, test->files[i]);
    const char *arguments[] = {folder.name};
    assert_int_equal(run_open(&run, context, arguments, 1, &error), SUTRA_OK);
    assert_int_equal(run_scan(&run, context, &error), SUTRA_OK);
    char *text = describe(&run);
    if (strcmp(text, test->expected) != 0)
        fail_msg("%s:\n%s\nexpected:\n%s", test->name, text, test->expected);
    free(text);
    run_free(&run);
    sutra_context_free(context);
    remove_tree(&folder);
}

static void check_cases(const struct run_case *cases, size_t n) {
    for (size_t i = 0; i < n; i++)
        check_case(&cases[i]);
}

/* ---- Discovery ---- */

static void only_traces_of_ranks_are_listed(void **state) {
    static const struct run_case cases[] = {
        {"other files",
         {"rank0.json at=1", "rank1.json at=1", "train.log = step 1", "config.json = {\"layers\": 2}",
          "host.json = {\"schema\": \"1.1\", \"pid\": 1, \"nodes\": []}",
          "empty.json = ", "memory.json = {\"segments\": [], \"device_traces\": []}", "text.json = no brackets",
          "cut.json = {\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\""},
         "main: single, default 0\n 0 -\n  0 name rank0.json\n  1 name rank1.json\nmalformed cut.json\nmalformed "
         "empty.json\nhost host.json\nsnapshot memory.json\nmalformed text.json\n"},
        {"directories that are not searched",
         {"rank0.json at=1", ".cache/rank1.json at=1", "__pycache__/rank1.json at=1", "linked/.job/plan = 1",
          "linked/rank1.json at=1", "out/incomplete.sutra/x = 1", "out/rank2.json at=1", ".hidden.json at=1"},
         "main: single, default 0\n 0 -\n  0 name rank0.json\n"},
        {"links are followed last, each file is listed once",
         {"a/latest.json -> ../b/rank0.json", "b/rank0.json at=1", "b/loop -> ..", "c/gone.json -> nowhere"},
         "main: single, default 0\n 0 -\n  0 name b/rank0.json\n"},
        {"merged traces and captures",
         {"rank0.json at=1", "all.json = {\"mergedRanks\": [], \"traceEvents\": []}",
          "capture_traces/bs_8_rank0.json at=1", "cuda_graph_capture-x.json at=1",
          "merged.json = {\"traceEvents\": [{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": \"[TP00] "
          "1\", \"ts\": 1}]}"},
         "main: single, default 0\n 0 -\n  0 name rank0.json\nmerged all.json\ncapture "
         "capture_traces/bs_8_rank0.json\ncapture cuda_graph_capture-x.json\nseveral_processes merged.json\n"},
        {"processes without GPU activity",
         {"rank0.json at=1", "rank1.json at=1 gpu=0 launches=10 pid=2", "frontend.json at=1 gpu=0 launches=9 pid=3"},
         "main: single, default 0\n 0 -\n  0 name rank0.json\nno_gpu frontend.json\ngpu_not_recorded rank1.json\n"},
        {"launches after many names of calls, and after more than traces have",
         {"rank0.json at=1", "rank1.json at=1 gpu=0 calls=900 launches=10 pid=2",
          "rank2.json at=1 gpu=0 calls=100000 launches=10 pid=3"},
         "main: single, default 0\n 0 -\n  0 name rank0.json\ngpu_not_recorded rank1.json\nno_gpu rank2.json\n"},
        {"no process has GPU activity",
         {"rank0.json at=1 gpu=0", "rank1.json at=1 gpu=0 pid=2"},
         "main: single, default 0\n 0 -\n  0 name rank0.json\n  1 name rank1.json\n"},
        {"copies: by id, by start, by time",
         {"a/rank0.json at=1 id=A", "rank0.json at=1 id=A", "rank1.json at=5 pid=2 for=9 launches=3",
          "cut_rank1.json at=7 pid=2", "rank1.copy.json at=5 pid=2 for=9 gpu=0"},
         "main: single, default 0\n 0 -\n  0 name rank0.json\n  1 name rank1.json\nduplicate a/rank0.json of "
         "rank0.json\nduplicate cut_rank1.json of rank1.json\nno_gpu rank1.copy.json\n"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

/* ---- Ranks ---- */

static void ranks_have_sources_in_an_order(void **state) {
    static const struct run_case cases[] = {
        {"recorded ranks count more than names",
         {"rank7.json at=1 rank=0", "rank8.json at=1 rank=1 pid=2"},
         "main: single, default 0\n 0 -\n  0 distributedInfo rank7.json\n  1 distributedInfo rank8.json\n"},
        {"names, directories",
         {"x-rank[3].json at=1", "Rank_12.json at=1 pid=2", "rank_5/worker.json at=1 pid=3"},
         "main: single, default 0\n 0 -\n  3 name x-rank[3].json\n  5 directory rank_5/worker.json\n  12 name "
         "Rank_12.json\n"},
        {"one coordinate varies",
         {"m-TP-0.json at=1", "m-TP-2.json at=1 pid=2"},
         "main: single, default 0\n 0 -\n  0 coordinates m-TP-0.json\n  2 coordinates m-TP-2.json\n"},
        {"several coordinates vary",
         {"dp1_tp0.json at=1 pid=3", "dp0_tp1.json at=1 pid=2", "dp0_tp0.json at=1", "dp1_tp1.json at=1 pid=4"},
         "main: single, default 0\n 0 -\n  0 coordinates dp0_tp0.json\n  1 coordinates dp0_tp1.json\n  2 coordinates "
         "dp1_tp0.json\n  3 coordinates dp1_tp1.json\n"},
        {"numbers",
         {"worker3.json at=1 pid=1", "worker9.json at=1 pid=2"},
         "main: single, default 0\n 0 -\n  3 number worker3.json\n  9 number worker9.json\n"},
        {"hosts and processes",
         {"b_2000.1700000009000000000.pt.trace.json at=1 pid=2000",
          "a_3000.1700000009000000000.pt.trace.json at=1 pid=3000",
          "a_400.1700000009000000000.pt.trace.json at=1 pid=400"},
         "main: single, default 0\n 0 -\n  0 order a_400.1700000009000000000.pt.trace.json\n  1 order "
         "a_3000.1700000009000000000.pt.trace.json\n  2 order b_2000.1700000009000000000.pt.trace.json\n"},
        {"recordings of one GPU, night by night",
         {"trace_2026-11-01.json at=1 pid=1", "trace_2026-11-02.json at=100 pid=2",
          "trace_2026-11-03.json at=200 pid=3"},
         "main: time, default 2\n 0 -\n  0 order trace_2026-11-01.json\n 1 -\n  0 order trace_2026-11-02.json\n 2 -\n "
         " 0 order trace_2026-11-03.json\n"},
        {"local ranks of nodes",
         {"node1/rank_0.json at=1 pid=3", "node0/rank_0.json at=1 pid=1", "node0/rank_1.json at=1 pid=2"},
         "main: single, default 0\n 0 -\n  0 local node0/rank_0.json\n  1 local node0/rank_1.json\n  2 local "
         "node1/rank_0.json\n"},
        {"engines with the same ranks",
         {"decode/e1/a.json at=1 rank=0 pid=3", "decode/e1/b.json at=1 rank=1 pid=4", "decode/e0/a.json at=1 rank=0",
          "decode/e0/b.json at=1 rank=1 pid=2", "prefill/a.json at=1 rank=0 of=1 pid=5"},
         "decode[0]: single, default 0\n 0 -\n  0 distributedInfo decode/e0/a.json\n  1 distributedInfo "
         "decode/e0/b.json\ndecode[1]: single, default 0\n 0 -\n  0 distributedInfo decode/e1/a.json\n  1 "
         "distributedInfo decode/e1/b.json\nprefill: single, default 0\n 0 -\n  0 distributedInfo prefill/a.json\n"},
        {"a process that restarted",
         {"a.json at=1 rank=0 pid=1", "b.json at=50 rank=0 pid=2"},
         "main: time, default 1\n 0 - lacks 1\n  0 distributedInfo a.json\n 1 - lacks 1\n  0 distributedInfo b.json\n"},
        {"ranks that the job lacks",
         {"a.json at=1 rank=2 of=6", "b.json at=1 rank=4 of=6 pid=2"},
         "main: single, default 0\n 0 - lacks 0-1,3,5\n  2 distributedInfo a.json\n  4 distributedInfo b.json\n"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

/* ---- Windows ---- */

static void windows_have_sources_in_an_order(void **state) {
    static const struct run_case cases[] = {
        {"labels in the order of their numbers",
         {"iteration_100/rank0.json at=1", "iteration_20/rank0.json at=9", "iteration_20/rank1.json at=9 pid=2"},
         "main: label, default 0\n 0 iteration_20\n  0 name iteration_20/rank0.json\n  1 name iteration_20/rank1.json\n "
         "1 iteration_100 lacks 1\n  0 name iteration_100/rank0.json\n"},
        {"dates",
         {"2026_11_28_04_24_30/rank0.json at=9", "2026_11_27_04_24_30/rank0.json at=1"},
         "main: label, default 1\n 0 2026_11_27_04_24_30\n  0 name 2026_11_27_04_24_30/rank0.json\n 1 "
         "2026_11_28_04_24_30\n  0 name 2026_11_28_04_24_30/rank0.json\n"},
        {"one window, although clocks differ",
         {"rank0.json at=1", "rank1.json at=9000 pid=2"},
         "main: single, default 0\n 0 -\n  0 name rank0.json\n  1 name rank1.json\n"},
        {"times, with a rank that lacks a trace",
         {"rank0.1.json at=10", "rank0.2.json at=20", "rank0.3.json at=30", "rank1.1.json at=10.5 pid=2",
          "rank1.3.json at=30.5 pid=2"},
         "main: time, default 2\n 0 -\n  0 name rank0.1.json\n  1 name rank1.1.json\n 1 - lacks 1\n  0 name "
         "rank0.2.json\n 2 -\n  0 name rank0.3.json\n  1 name rank1.3.json\n"},
        {"clocks that differ by more than the period",
         {"rank0.1.json at=10", "rank0.2.json at=20", "rank1.1.json at=514 pid=2", "rank1.2.json at=524 pid=2"},
         "main: count, default 1\n 0 -\n  0 name rank0.1.json\n  1 name rank1.1.json\n 1 -\n  0 name rank0.2.json\n  1 "
         "name rank1.2.json\n"},
        {"no times",
         {"rank0.1.json id=A", "rank0.2.json id=B", "rank0.10.json id=C", "rank1.1.json pid=2"},
         "main: order, default 0\n 0 -\n  0 name rank0.1.json\n  1 name rank1.1.json\n 1 - lacks 1\n  0 name "
         "rank0.2.json\n 2 - lacks 1\n  0 name rank0.10.json\n"},
    };
    check_cases(cases, sizeof cases / sizeof *cases);
}

static void names_of_traces_are_read(void **state) {
    static const struct {
        const char *path;
        int64_t pid, rank, directory_rank, number, label;
        const char *host, *role, *folder;
    } cases[] = {
        {"a_b_4000.1700000009000000000.pt.trace.json.gz", 4000, -1, -1, -1, -1, "a_b", "", ""},
        {"a_4000.worker1.1700000009000000000.pt.trace.json", 4000, -1, -1, 1, -1, "", "", ""},
        {"a_12.json", 12, -1, -1, -1, -1, "", "", ""},
        {"a_1200.json", 1200, -1, -1, -1, -1, "a", "", ""},
        {"rank-3/step_20/x-rank=4-rank[5].json", 1, 5, 3, -1, 20, "", "", "rank-3"},
        {"megatron_policy_worker/7/trace.json", 1, -1, -1, -1, -1, "", "megatron_policy_worker",
         "megatron_policy_worker/7"},
        {"run/1795839870.5-TP-3-EXTEND.trace.json.gz", 1, -1, -1, 5, -1, "", "prefill", "run"},
        {"train/train_actor_rank_1.json", 1, 1, -1, -1, -1, "", "train/train_actor", "train"},
        {"super12.json", 1, -1, -1, 12, -1, "", "", ""},
        {"rank1234567890.json", 1, -1, -1, -1, -1, "", "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static struct trace_name name;
        trace_name_read(cases[i].path, cases[i].pid, &name);
        if (name.rank != cases[i].rank || name.directory_rank != cases[i].directory_rank ||
            name.number != cases[i].number || name.label != cases[i].label || strcmp(name.host, cases[i].host) != 0 ||
            strcmp(name.role, cases[i].role) != 0 || strcmp(name.folder, cases[i].folder) != 0)
            fail_msg("%s: rank %" PRId64 ", %" PRId64 ", number %" PRId64 ", label %" PRId64 ", '%s' '%s' '%s'",
                     cases[i].path, name.rank, name.directory_rank, name.number, name.label, name.host, name.role,
                     name.folder);
    }
}

static void numbers_compare_by_value(void **state) {
    static const char *const ascending[] = {"", "1", "2", "02x", "10", "a", "a2", "a10", "a10b", "ab", "b"};
    for (size_t i = 0; i < sizeof ascending / sizeof *ascending; i++)
        for (size_t k = 0; k < sizeof ascending / sizeof *ascending; k++) {
            const int order = compare_natural(ascending[i], ascending[k]);
            if ((order > 0) != (i > k) || (order == 0) != (i == k))
                fail_msg("'%s' and '%s': %d", ascending[i], ascending[k], order);
        }
}

/* ---- Choices ---- */

static void windows_and_roles_are_selected(void **state) {
    static const struct {
        const char *role, *window;
        bool needs_one_role;
        enum sutra_status status;
        size_t n_picks, first, n;
        const char *message;
    } cases[] = {
        {NULL, NULL, false, SUTRA_OK, 2, 1, 1, NULL},
        {"trainer", "0", true, SUTRA_OK, 1, 0, 1, NULL},
        {"trainer", "iteration_2", true, SUTRA_OK, 1, 1, 1, NULL},
        {"trainer", "last", true, SUTRA_OK, 1, 2, 1, NULL},
        {"trainer", "all", true, SUTRA_OK, 1, 0, 3, NULL},
        {NULL, NULL, true, SUTRA_DATA, 0, 0, 0, "2 roles (rollout, trainer): select one with --role"},
        {"rollou", NULL, false, SUTRA_DATA, 0, 0, 0, "no role 'rollou': the run has 2 roles (rollout, trainer)"},
        {"trainer", "3", false, SUTRA_DATA, 0, 0, 0, "no window 3: the role trainer has windows 0 to 2"},
        {"rollout", "1", false, SUTRA_DATA, 0, 0, 0, "no window 1: the role rollout has one window, 0"},
    };
    static const char *const files[] = {"trainer/iteration_1/rank0.json at=1",
                                        "trainer/iteration_1/rank1.json at=1 pid=2",
                                        "trainer/iteration_2/rank0.json at=2",
                                        "trainer/iteration_2/rank1.json at=2 pid=2",
                                        "trainer/iteration_3/rank0.json at=3",
                                        "rollout/rank0.json at=1 pid=9",
                                        "rollout/host.json = {\"schema\": 1, \"nodes\": []}"};
    struct tree folder = make_tree();
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 1);
    const char *arguments[] = {folder.name};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        make_file(folder.name, files[i]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct run run = {0};
        struct sutra_error error;
        const struct run_selection selection = {
            .role = cases[i].role, .window = cases[i].window, .needs_one_role = cases[i].needs_one_role};
        assert_int_equal(run_open(&run, context, arguments, 1, &error), SUTRA_OK);
        assert_int_equal(run_choose(&run, context, &selection, &error), cases[i].status);
        if (cases[i].status) {
            assert_string_equal(error.message, cases[i].message);
        } else {
            const struct run_pick *last = &run.picks[run.n_picks - 1];
            assert_int_equal(run.n_picks, cases[i].n_picks);
            assert_int_equal(last->first, cases[i].first);
            assert_int_equal(last->n, cases[i].n);
        }
        run_free(&run);
    }
    sutra_context_free(context);
    remove_tree(&folder);
}

/* A trace counts as the trace of a rank until it is scanned. */
static void a_choice_is_repeated_without_traces_that_have_no_gpu_activity(void **state) {
    struct tree folder = make_tree();
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 1);
    struct run run = {0};
    struct sutra_error error;
    const char *arguments[] = {folder.name};
    make_file(folder.name, "iteration_1/rank0.json at=1 id=A");
    make_file(folder.name, "iteration_2/rank0.json at=2 id=B");
    make_file(folder.name, "iteration_3/rank0.json at=3 id=C gpu=0");
    assert_int_equal(run_open(&run, context, arguments, 1, &error), SUTRA_OK);
    assert_int_equal(run.roles[0].default_window, 2);
    assert_int_equal(run_choose(&run, context, &(struct run_selection){.window = NULL}, &error), SUTRA_OK);
    assert_int_equal(run.picks[0].first, 1);
    assert_int_equal(run.roles[0].windows[0].traces[0]->gpu, RUN_GPU_UNKNOWN);
    assert_int_equal(run.n_skipped, 1);
    assert_int_equal(run.skipped[0].kind, RUN_NO_GPU);
    run_free(&run);
    sutra_context_free(context);
    remove_tree(&folder);
}

static void directories_below_level_16_are_counted(void **state) {
    struct tree folder = make_tree();
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 1);
    struct run run = {0};
    struct sutra_error error;
    const char *arguments[] = {folder.name};
    make_file(folder.name, "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/rank0.json at=1");
    make_file(folder.name, "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/rank1.json at=1");
    assert_int_equal(run_open(&run, context, arguments, 1, &error), SUTRA_OK);
    assert_int_equal(run.n_deep, 1);
    assert_int_equal(run.roles[0].n_ranks, 1);
    run_free(&run);
    sutra_context_free(context);
    remove_tree(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_traces_of_ranks_are_listed),
        cmocka_unit_test(ranks_have_sources_in_an_order),
        cmocka_unit_test(windows_have_sources_in_an_order),
        cmocka_unit_test(names_of_traces_are_read),
        cmocka_unit_test(numbers_compare_by_value),
        cmocka_unit_test(windows_and_roles_are_selected),
        cmocka_unit_test(a_choice_is_repeated_without_traces_that_have_no_gpu_activity),
        cmocka_unit_test(directories_below_level_16_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
