/*
 * test_diff.c - tests the comparison of two traces. A trace with known edits: the difference contains exactly these
 * edits. Random traces: rows add up to the totals, B against A is A against B with opposite sign, and equal traces do
 * not differ.
 */
#include "base/memory.h"
#include "generate/random.h"
#include "hta_table.h"
#include "trace_folder.h"

/* ---- Traces from words ---- */

/*
 * "linear(addmm:gemm=10,reduce=2) add:ew=3" is an operator with another one in it that launches two kernels of 10 and
 * 2 us, and one after it. A name that begins with @ is an annotation, with % a module, with ! a kernel that no call is
 * known for.
 */
struct trace_text {
    struct buffer text;
    const char *at;
    int host_us, device_us, correlation;
};

__attribute__((format(printf, 2, 3))) static void add(struct trace_text *trace, const char *format, ...) {
    char line[512];
    va_list list;
    va_start(list, format);
    int n = vsnprintf(line, sizeof line, format, list);
    va_end(list);
    buffer_append(&trace->text, line, (size_t)n);
}

static void add_event(struct trace_text *trace, const char *cat, const char *name, int begin, int dur,
                      const char *more) {
    const char *comma = trace->text.bytes[trace->text.length - 1] == '[' ? "" : ",";
    int tid = strcmp(cat, "kernel") == 0 ? 7 : 1;
    add(trace,
        "%s\n{\"ph\":\"X\",\"cat\":\"%s\",\"name\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%d,\"dur\":%d,\"args\":{%s}}",
        comma, cat, name, tid == 1, tid, begin, dur, more);
}

static void take_name(struct trace_text *trace, char name[64]) {
    size_t n = strcspn(trace->at, ":,=() ");
    snprintf(name, 64, "%.*s", (int)n, trace->at);
    trace->at += n;
}

/* "gemm=10", launched from here or without a launch. */
static void add_kernel(struct trace_text *trace, bool launched) {
    char name[64], call[64], numbers[96];
    take_name(trace, name);
    assert_int_equal(*trace->at, '=');
    int dur = (int)strtol(trace->at + 1, (char **)&trace->at, 10);
    snprintf(call, sizeof call, "\"correlation\":%d", ++trace->correlation);
    snprintf(numbers, sizeof numbers, "%s,\"stream\":7", call);
    if (launched)
        add_event(trace, "cuda_runtime", "cudaLaunchKernel", trace->host_us++, 1, call);
    if (trace->device_us < trace->host_us)
        trace->device_us = trace->host_us;
    add_event(trace, "kernel", name, trace->device_us, dur, numbers);
    trace->device_us += dur;
}

static const char *category_of(char mark) {
    return mark == '@' ? "user_annotation" : mark == '%' ? "python_function" : "cpu_op";
}

/* Operators up to the closing bracket. An event is written after its children. */
static void add_operators(struct trace_text *trace) {
    while (*trace->at && *trace->at != ')') {
        char name[64], full[96];
        const char mark = *trace->at;
        int begin = trace->host_us++;
        trace->at += mark == '@' || mark == '%' || mark == '!';
        if (mark == '!') {
            add_kernel(trace, false);
        } else {
            take_name(trace, name);
            while (*trace->at == ':' || *trace->at == ',') {
                trace->at++;
                add_kernel(trace, true);
            }
            if (*trace->at == '(') {
                trace->at++;
                add_operators(trace);
                assert_int_equal(*trace->at++, ')');
            }
            snprintf(full, sizeof full, "%s%s", mark == '%' ? "nn.Module: " : "", name);
            add_event(trace, category_of(mark), full, begin, trace->host_us++ - begin, "");
        }
        trace->at += *trace->at == ' ';
    }
}

/* A trace of as many steps; 0: without any, of one time. */
static char *make_trace(const char *words, int n_steps) {
    struct trace_text trace = {.host_us = 1000};
    char name[32];
    add(&trace, "{\"traceEvents\":[");
    for (int step = 0; step < n_steps || step == 0; step++) {
        int begin = trace.host_us++;
        trace.at = words;
        add_operators(&trace);
        assert_int_equal(*trace.at, 0);
        snprintf(name, sizeof name, "ProfilerStep#%d", step);
        if (n_steps)
            add_event(&trace, "user_annotation", name, begin, trace.host_us++ - begin, "");
        trace.host_us += 5;
    }
    add(&trace, "]}");
    buffer_append(&trace.text, "", 1);
    assert_false(trace.text.failed);
    return trace.text.bytes;
}

/* ---- Differences ---- */

static struct sutra_diff *compare_texts(char *texts[2], const struct sutra_diff_options *options, unsigned n_threads) {
    struct sutra_context *context = make_context(n_threads);
    struct sutra_device_trace *traces[2] = {NULL, NULL};
    struct sutra_diff *diff = NULL;
    struct sutra_error error = {0};
    for (int side = 0; side < 2; side++)
        traces[side] = parse_trace(context, texts[side]);
    enum sutra_status status = sutra_diff_run_of(context, traces[0], traces[1], options, &diff, &error);
    if (status)
        print_error("%s\n", error.message);
    assert_int_equal(status, SUTRA_OK);
    for (int side = 0; side < 2; side++)
        sutra_device_trace_free(traces[side]);
    sutra_context_free(context);
    return diff;
}

static struct sutra_diff *compare(const char *a, int steps_a, const char *b, int steps_b) {
    char *texts[2] = {make_trace(a, steps_a), make_trace(b, steps_b)};
    struct sutra_diff *diff = compare_texts(texts, NULL, 1);
    free(texts[0]);
    free(texts[1]);
    return diff;
}

static struct sutra_column column_of(const struct sutra_table *table, const char *name) {
    struct sutra_column column;
    for (uint32_t i = 0; sutra_table_column(table, i, &column); i++)
        if (strcmp(column.name, name) == 0)
            return column;
    fail_msg("no column %s", name);
    return column;
}

/* Rows with a change or a difference: some of their columns, separated by commas. */
static void tell_changes(const struct sutra_table *table, const char *const *columns, char *text) {
    struct sutra_column change = column_of(table, "change"), difference = column_of(table, "device_diff_us");
    *text = 0;
    for (uint64_t row = 0; row < sutra_table_rows(table); row++) {
        if (strcmp(sutra_column_text(&change, row), "same") == 0 && difference.reals[row] == 0)
            continue;
        strcat(text, *text ? " | " : "");
        for (size_t i = 0; columns[i]; i++) {
            struct sutra_column column = column_of(table, columns[i]);
            strcat(text, i ? "; " : "");
            tell_cell(&column, row, text + strlen(text));
        }
    }
}

struct edit {
    const char *name, *a;
    int steps_a;
    const char *b;
    int steps_b;
    const char *expected;
};

static void check_edits(const struct edit *edits, size_t n, enum sutra_diff_table table, const char *const *columns) {
    char text[4096];
    for (size_t i = 0; i < n; i++) {
        struct sutra_diff *diff = compare(edits[i].a, edits[i].steps_a, edits[i].b, edits[i].steps_b);
        tell_changes(sutra_result_table(SUTRA_RESULT(diff), table, NULL), columns, text);
        if (strcmp(text, edits[i].expected) != 0)
            print_error("%s\n", edits[i].name);
        assert_string_equal(text, edits[i].expected);
        sutra_diff_free(diff);
    }
}

#define N(list) (sizeof(list) / sizeof *(list))

static void changed_paths_name_the_edited_operators(void **state) {
    static const char *const columns[] = {"path_a", "path_b",         "kernels_a", "kernels_b",
                                          "change", "device_diff_us", NULL};
    static const struct edit edits[] = {
        {"nothing", "linear(addmm:gemm=10,reduce=2) add:ew=3", 2, "linear(addmm:gemm=10,reduce=2) add:ew=3", 2, ""},
        {"other numbers of steps", "mm:gemm=10 add:ew=3", 2, "mm:gemm=10 add:ew=3", 5, ""},
        {"no steps at all", "mm:gemm=10 add:ew=3", 0, "mm:gemm=10 add:ew=3", 3, ""},
        {"a kernel takes longer", "mm:gemm=10 add:ew=3", 2, "mm:gemm=12 add:ew=3", 2, "mm; mm; gemm; gemm; same; 2.0"},
        {"an operator is removed", "mm:gemm=10 drop:rand=4 add:ew=3", 2, "mm:gemm=10 add:ew=3", 2,
         "drop; ; rand; ; gone; -4.0"},
        {"one with others in it is removed", "mm:gemm=10 drop(rand:r=4 mul:ew=1) add:ew=3", 2, "mm:gemm=10 add:ew=3", 2,
         "drop; ; r, ew; ; gone; -5.0"},
        {"one is new", "mm:gemm=10 add:ew=3", 2, "mm:gemm=10 add:ew=3 print:copy=7", 2, "; print; ; copy; new; 7.0"},
        {"one is doubled", "mm:gemm=10 add:ew=3 mm:gemm=10", 2, "mm:gemm=10 add:ew=3 add:ew=3 mm:gemm=10", 2,
         "add; add; ew; ew; more; 3.0"},
        {"one of many equal ones is removed", "add:ew=3 add:ew=3 add:ew=3", 2, "add:ew=3 add:ew=3", 2,
         "add; add; ew; ew; fewer; -3.0"},
        {"an operator is renamed", "mm:gemm=10 old:ew=3,tail=1 mm:gemm=10", 2, "mm:gemm=10 new:ew=3,tail=1 mm:gemm=10",
         2, "old; new; ew; ew; renamed; 0.0 | old; new; tail; tail; renamed; 0.0"},
        {"a kernel is replaced", "mm:gemm=10 add:ew=3", 2, "mm:gemm2=7 add:ew=3", 2,
         "mm; mm; gemm; gemm2; replaced; -3.0"},
        {"two kernels become one", "mm:split=6,reduce=2,tail=1", 2, "mm:gemm2=7,tail=1", 2,
         "mm; mm; split, reduce; gemm2; replaced; -1.0"},
        {"a wrapper around one operator", "mm:gemm=10 add:ew=3", 2, "wrap(mm:gemm=10) add:ew=3", 2,
         "mm; wrap / mm; gemm; gemm; renamed; 0.0"},
        {"several wrappers", "mm:gemm=10 add:ew=3", 2, "one(two(three(mm:gemm=10))) add:ew=3", 2,
         "mm; one / two / three / mm; gemm; gemm; renamed; 0.0"},
        {"a wrapper of another name", "linear(addmm:gemm=10) add:ew=3", 2, "Linear(addmm:gemm=10) add:ew=3", 2,
         "linear / addmm; Linear / addmm; gemm; gemm; renamed; 0.0"},
        {"what is left of several", "forward(mm:gemm=10 add:ew=3 mul:ew=4)", 2, "forward(mm:gemm=10)", 2,
         "forward / mul; ; ew; ; gone; -4.0 | forward / add; ; ew; ; gone; -3.0"},
        {"a wrapper around several", "mm:gemm=10 relu:ew=1 add:ew=3", 2, "@part(mm:gemm=11 relu:ew=1) add:ew=3", 2,
         "mm; part / mm; gemm; gemm; renamed; 1.0 | relu; part / relu; ew; ew; renamed; 0.0"},
        {"many operators become one", "step(mul:ew=1 addcmul:ew=2 sqrt:ew=1) mm:gemm=5", 2,
         "step(fused:adam=3) mm:gemm=5", 2, "step / mul, addcmul, sqrt; step / fused; ew x3; adam; replaced; -1.0"},
        {"modules on one side only", "%Net_0(%Linear_0(mm:gemm=1) %Linear_1(mm:gemm=2)) add:ew=3", 2,
         "mm:gemm=1 mm:gemm=2 add:ew=3", 2, "nn.Module: Net / nn.Module: Linear / mm; mm; gemm; gemm; renamed; 0.0"},
        {"modules of one kind are together", "%Net_0(%Linear_0(mm:gemm=1) %Linear_1(mm:gemm=2))", 2,
         "%Net_0(%Linear_0(mm:gemm=3) %Linear_1(mm:gemm=5))", 2,
         "nn.Module: Net / nn.Module: Linear / mm; nn.Module: Net / nn.Module: Linear / mm; gemm; gemm; same; 5.0"},
        {"work of no call", "!lost=4 mm:gemm=1", 2, "!lost=5 mm:gemm=1", 2,
         "(no operator); (no operator); lost; lost; same; 1.0"},
        {"what moved", "a:k=1 b:k=2 c:k=3 d:k=4", 2, "d:k=4 a:k=1 b:k=2 c:k=3", 2, ""},
    };
    check_edits(edits, N(edits), SUTRA_DIFF_PATHS, columns);
}

static void operators_are_compared_by_name(void **state) {
    static const char *const columns[] = {"name",        "kind",        "change",         "calls_a", "calls_b",
                                          "device_a_us", "device_b_us", "device_diff_us", "clear",   NULL};
    static const struct edit edits[] = {
        {"nothing", "linear(addmm:gemm=10) add:ew=3", 2, "linear(addmm:gemm=10) add:ew=3", 4, ""},
        {"doubled, removed, new", "mm:gemm=10 add:ew=3 drop:rand=1", 2, "mm:gemm=10 mm:gemm=10 add:ew=3 view", 2,
         "mm; operator; more; 1.0; 2.0; 10.0; 20.0; 10.0; yes | drop; operator; gone; 1.0; 0.0; 1.0; 0.0; -1.0; yes | "
         "view; operator; new; 0.0; 1.0; 0.0; 0.0; 0.0; no"},
        {"one step tells nothing of how steps vary", "mm:gemm=10", 1, "mm:gemm=12", 3,
         "mm; operator; same; 1.0; 1.0; 10.0; 12.0; 2.0; unknown"},
        {"work of no call", "!lost=4 mm", 2, "!lost=5 mm", 2,
         "(no operator); unattributed; same; 1.0; 1.0; 4.0; 5.0; 1.0; yes"},
    };
    check_edits(edits, N(edits), SUTRA_DIFF_OPERATORS, columns);
}

static void collectives_are_compared_by_kind_and_size(void **state) {
    static const char *const columns[] = {"collective", "type",      "elements",   "ranks",      "device_diff_us",
                                          "mean_b_us",  "wait_a_us", "bus_a_gbps", "bus_b_gbps", NULL};
#define REDUCE(n, dur)                                                                                                 \
    "kernel ncclDevKernel_AllReduce stream=7 ts=10+" #dur                                                              \
    " correlation=1 'Collective name'=allreduce dtype=Float 'In msg nelems'=" #n " 'Out msg nelems'=" #n               \
    " 'Group size'=8"
    char a[] = REDUCE(1024, 10), b[] = REDUCE(1024, 14), *texts[2] = {a, b}, text[256];
    struct sutra_diff *diff = compare_texts(texts, NULL, 1);
    tell_changes(sutra_result_table(SUTRA_RESULT(diff), SUTRA_DIFF_COLLECTIVES, NULL), columns, text);
    /* 4,096 bytes in 10 us, 14 of 8 of them on each link */
    assert_string_equal(text, "allreduce; Float; 1024.0; 8.0; 4.0; 14.0; -; 0.7168; 0.512");
    sutra_diff_free(diff);
}

static void step_parts_name_the_longer_part(void **state) {
    struct sutra_diff *diff = compare("mm:gemm=10 view", 3, "mm:gemm=30 view", 2);
    const struct sutra_table *steps = sutra_result_table(SUTRA_RESULT(diff), SUTRA_DIFF_STEPS, NULL);
    struct sutra_column part = column_of(steps, "part"), b = column_of(steps, "b_us"),
                        more = column_of(steps, "diff_us");
    assert_string_equal(sutra_column_text(&part, 0), "step");
    assert_string_equal(sutra_column_text(&part, 1), "compute");
    assert_true(b.reals[1] == 30);
    assert_true(more.reals[1] == 20);
    assert_string_equal(sutra_column_text(&part, 9), "GPU activity");
    assert_true(more.reals[9] == 20);
    sutra_diff_free(diff);
}

static void kernels_are_compared_by_short_name(void **state) {
    static const char *const columns[] = {"name", "class", "change", "device_diff_us", "share_percent", NULL};
    static const struct edit edits[] = {
        {"replaced", "mm:gemm=10 add:ew=3", 2, "mm:gemm2=7 add:ew=3", 2,
         "gemm; compute; gone; -10.0; 333.33333333333337 | gemm2; compute; new; 7.0; -233.33333333333334"},
        {"communication", "mm:ncclKernel_AllReduce=10", 2, "mm:ncclKernel_AllReduce=14", 2,
         "ncclKernel_AllReduce; communication; same; 4.0; 100.0"},
    };
    check_edits(edits, N(edits), SUTRA_DIFF_KERNELS, columns);
}

static void renamed_operators_may_be_mapped(void **state) {
    static const struct sutra_rename renames[] = {{"old", "new"}, {"gemm", "gemm2"}};
    const struct sutra_diff_options options = {.size = sizeof options, .renames = renames, .n_renames = 2};
    static const char *const columns[] = {"name", "change", NULL};
    char *texts[2] = {make_trace("old:gemm=1 add:ew=3", 2), make_trace("new:gemm2=2 add:ew=3", 2)}, text[256];
    struct sutra_diff *diff = compare_texts(texts, &options, 1);
    tell_changes(sutra_result_table(SUTRA_RESULT(diff), SUTRA_DIFF_OPERATORS, NULL), columns, text);
    assert_string_equal(text, "new; same");
    tell_changes(sutra_result_table(SUTRA_RESULT(diff), SUTRA_DIFF_KERNELS, NULL), columns, text);
    assert_string_equal(text, "gemm2; same");
    sutra_diff_free(diff);
    free(texts[0]);
    free(texts[1]);
}

/* ---- Properties of random traces ---- */

static const enum sutra_diff_table levels[] = {SUTRA_DIFF_OPERATORS, SUTRA_DIFF_SHAPES, SUTRA_DIFF_KERNELS,
                                               SUTRA_DIFF_PATHS};

static double sum_of(const struct sutra_table *table, const char *name) {
    struct sutra_column column = column_of(table, name);
    double sum = 0;
    for (uint64_t row = 0; row < sutra_table_rows(table); row++)
        sum += column.reals[row];
    return sum;
}

/* Operators with others in them, four deep; some launch. */
static void random_words(struct buffer *words, struct random *random, int depth) {
    char name[32];
    for (uint64_t n = 1 + random_below(random, 4); n > 0; n--) {
        uint64_t n_kernels = random_below(random, 3);
        snprintf(name, sizeof name, "op%d", (int)random_below(random, 6));
        buffer_append(words, name, strlen(name));
        for (uint64_t k = 0; k < n_kernels; k++) {
            snprintf(name, sizeof name, "%ck%d=%d", k ? ',' : ':', (int)random_below(random, 5),
                     (int)random_below(random, 50));
            buffer_append(words, name, strlen(name));
        }
        if (depth < 4 && random_below(random, 2)) {
            buffer_append(words, "(", 1);
            random_words(words, random, depth + 1);
            buffer_append(words, ")", 1);
        }
        buffer_append(words, " ", n > 1);
    }
}

static char *random_trace(struct random *random) {
    struct buffer words = {0};
    random_words(&words, random, 0);
    buffer_append(&words, "", 1);
    char *text = make_trace(words.bytes, 1 + (int)random_below(random, 3));
    buffer_free(&words);
    return text;
}

static void rows_add_up_to_the_whole(const struct sutra_diff *diff) {
    struct sutra_diff_summary summary = {.size = sizeof summary};
    sutra_diff_summary(diff, &summary);
    const struct sutra_table *steps = sutra_result_table(SUTRA_RESULT(diff), SUTRA_DIFF_STEPS, NULL);
    struct sutra_column parts = column_of(steps, "diff_us");
    double sum = 0;
    for (uint64_t row = 1; row + 1 < sutra_table_rows(steps); row++)
        sum += parts.reals[row];
    assert_true(fabs(sum - (summary.step_us[1] - summary.step_us[0])) < 1e-6);
    assert_true(parts.reals[0] == summary.step_us[1] - summary.step_us[0] || fabs(parts.reals[0] - sum) < 1e-6);
    for (size_t i = 0; i < N(levels); i++) {
        const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(diff), levels[i], NULL);
        assert_true(fabs(sum_of(table, "device_a_us") - (summary.device_us[0])) < 1e-6);
        assert_true(fabs(sum_of(table, "device_b_us") - (summary.device_us[1])) < 1e-6);
        assert_true(fabs(sum_of(table, "device_diff_us") - (summary.device_us[1] - summary.device_us[0])) < 1e-6);
    }
}

/* The place of a row in another table by texts of A and of B, which have changed sides. */
static uint64_t mirror_row(const struct sutra_table *table, uint64_t row, const struct sutra_table *mirrored,
                           const char *const *columns, const char *const *others) {
    for (uint64_t i = 0; i < sutra_table_rows(mirrored); i++) {
        bool same = true;
        for (size_t k = 0; columns[k]; k++) {
            struct sutra_column one = column_of(table, columns[k]), other = column_of(mirrored, others[k]);
            same = same && strcmp(sutra_column_text(&one, row), sutra_column_text(&other, i)) == 0;
        }
        if (same)
            return i;
    }
    return UINT64_MAX;
}

static void check_mirrored(const struct sutra_table *table, const struct sutra_table *mirrored, bool paths) {
    static const char *const names[] = {"name", NULL};
    static const char *const a[] = {"path_a", "path_b", "kernels_a", "kernels_b", NULL};
    static const char *const b[] = {"path_b", "path_a", "kernels_b", "kernels_a", NULL};
    struct sutra_column one = column_of(table, "device_diff_us"), other = column_of(mirrored, "device_diff_us");
    assert_int_equal(sutra_table_rows(table), sutra_table_rows(mirrored));
    for (uint64_t row = 0; row < sutra_table_rows(table); row++) {
        uint64_t i = mirror_row(table, row, mirrored, paths ? a : names, paths ? b : names);
        assert_true(i < sutra_table_rows(mirrored));
        assert_true(one.reals[row] == -other.reals[i]);
    }
}

static void random_pairs_keep_the_rules(void **state) {
    uint64_t seed = 20261122;
    struct random random = {seed};
    print_message("seed %llu\n", (unsigned long long)seed);
    for (int i = 0; i < 40; i++) {
        char *texts[2] = {random_trace(&random), random_trace(&random)}, *swapped[2] = {texts[1], texts[0]};
        char *equal[2] = {texts[0], texts[0]};
        struct sutra_diff *diff = compare_texts(texts, NULL, 1), *mirror = compare_texts(swapped, NULL, 2);
        struct sutra_diff *none = compare_texts(equal, NULL, 1);
        rows_add_up_to_the_whole(diff);
        for (size_t k = 0; k < N(levels); k++) {
            const struct sutra_table *table = sutra_result_table(SUTRA_RESULT(diff), levels[k], NULL);
            check_mirrored(table, sutra_result_table(SUTRA_RESULT(mirror), levels[k], NULL),
                           levels[k] == SUTRA_DIFF_PATHS);
            const struct sutra_table *zero = sutra_result_table(SUTRA_RESULT(none), levels[k], NULL);
            struct sutra_column difference = column_of(zero, "device_diff_us"), change = column_of(zero, "change");
            for (uint64_t row = 0; row < sutra_table_rows(zero); row++) {
                assert_true(difference.reals[row] == 0);
                assert_string_equal(sutra_column_text(&change, row), "same");
            }
        }
        sutra_diff_free(diff);
        sutra_diff_free(mirror);
        sutra_diff_free(none);
        free(texts[0]);
        free(texts[1]);
    }
}

/* ---- Both sides at once ---- */

static void keep_line(void *arg, const char *message) {
    const char *name = strstr(message, "skipped: ");
    strcat(strcat(arg, name ? strrchr(message, '/') : message), "\n");
}

/* Compares the first `n` files with the rest; appends warnings to `lines`. */
static enum sutra_status compare_files(const struct folder *folder, size_t n, unsigned n_threads, char *lines,
                                       char *text, struct sutra_error *error) {
    struct sutra_diff *diff = NULL;
    *lines = *text = 0;
    struct sutra_context *context = NEW_CONTEXT(.n_threads = n_threads, .warning = keep_line, .arg = lines);
    enum sutra_status status =
        sutra_diff_run(context, folder->list, n, folder->list + n, folder->n - n, NULL, &diff, error);
    if (!status)
        tell_table(sutra_result_table(SUTRA_RESULT(diff), SUTRA_DIFF_OPERATORS, NULL), "not made", text);
    sutra_diff_free(diff);
    sutra_context_free(context);
    return status;
}

static void rows_and_their_order_do_not_depend_on_threads(void **state) {
    static char text[65536], expected[65536];
    struct folder folder = make_folder();
    struct sutra_error error;
    char *texts[2] = {make_trace("view mm:gemm=10 add:ew=3", 2), make_trace("view mm:gemm=12 mul:ew=3", 3)},
         lines[4096];
    for (int side = 0; side < 2; side++) {
        add_file(&folder, side ? "b0.json" : "a0.json", texts[side]);
        add_file(&folder, side ? "b1.json" : "a1.json", "{\"traceEvents\":[");
    }
    list_files(&folder);
    for (unsigned n_threads = 1; n_threads <= 5; n_threads++) {
        assert_int_equal(compare_files(&folder, 2, n_threads, lines, n_threads > 1 ? text : expected, &error),
                         SUTRA_OK);
        assert_non_null(strstr(lines, "/a1.json"));
        assert_non_null(strstr(strstr(lines, "/a1.json"), "/b1.json"));
        assert_true(*expected && (n_threads == 1 || strcmp(text, expected) == 0));
        folder.list[0] = folder.list[1]; /* now both sides fail */
        folder.list[2] = folder.list[3];
        assert_int_equal(compare_files(&folder, 2, n_threads, lines, text, &error), SUTRA_DATA);
        assert_non_null(strstr(error.file, "/a1.json"));
        list_files(&folder);
    }
    free(texts[0]);
    free(texts[1]);
    remove_folder(&folder);
}

/* ---- HTA's tables ---- */

static void hta_compares_the_first_steps(void **state) {
    char *texts[2] = {make_trace("view mm:gemm=10 add:ew=3", 2), make_trace("view mm:gemm=12 mul:ew=3", 3)}, text[1024];
    struct sutra_context *context = make_context(1);
    struct sutra_device_trace *traces[2] = {NULL, NULL};
    struct sutra_hta_compare *compare = NULL;
    for (int side = 0; side < 2; side++)
        assert_int_equal(
            sutra_device_trace_parse(context, "trace", texts[side], strlen(texts[side]), &traces[side], NULL),
            SUTRA_OK);
    assert_int_equal(sutra_hta_compare_run_of(context, traces[0], traces[1], NULL, &compare, NULL), SUTRA_OK);
    tell_table(sutra_result_table(SUTRA_RESULT(compare), SUTRA_HTA_COMPARE_GPU, NULL), "not made", text);
    assert_string_equal(text, "ew,1,3,1,3,0,0,= | gemm,1,10,1,12,0,2,=");
    tell_table(sutra_result_table(SUTRA_RESULT(compare), SUTRA_HTA_COMPARE_CPU, NULL), "not made", text);
    assert_string_equal(text, "ProfilerStep#0,1.0,9.0,1.0,9.0,0.0,0.0,= | add,1.0,2.0,0.0,0.0,-1.0,-2.0,- | "
                              "cudaLaunchKernel,2.0,2.0,2.0,2.0,0.0,0.0,= | mm,1.0,2.0,1.0,2.0,0.0,0.0,= | "
                              "view,1.0,1.0,1.0,1.0,0.0,0.0,= | mul,0.0,0.0,1.0,2.0,1.0,2.0,+");
    sutra_hta_compare_free(compare);
    for (int side = 0; side < 2; side++) {
        sutra_device_trace_free(traces[side]);
        free(texts[side]);
    }
    sutra_context_free(context);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_paths_name_the_edited_operators),
        cmocka_unit_test(operators_are_compared_by_name),
        cmocka_unit_test(collectives_are_compared_by_kind_and_size),
        cmocka_unit_test(step_parts_name_the_longer_part),
        cmocka_unit_test(kernels_are_compared_by_short_name),
        cmocka_unit_test(renamed_operators_may_be_mapped),
        cmocka_unit_test(random_pairs_keep_the_rules),
        cmocka_unit_test(rows_and_their_order_do_not_depend_on_threads),
        cmocka_unit_test(hta_compares_the_first_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
