/*
 * test_dlrm.c - tests the DLRM analysis, one small trace for each rule.
 */
#include "dlrm_table.h"

#include <math.h>

struct dlrm_case {
    const char *name;
    const char *trace;
    const char *expected;
    struct sutra_dlrm_options options;
};

#define WHOLE .trim = SUTRA_TRIM_NONE, .module_marker = "## "
#define COMPAT                                                                                                         \
    { WHOLE, .compat = true }

/* By our rules, threads included. */
#define OWN                                                                                                            \
    { .trim = SUTRA_TRIM_NONE, .iters = 1 }

typedef void teller(const struct analysis *analysis, struct text *text);

static void check_cases(const struct dlrm_case *cases, size_t n, teller *tell_case) {
    for (size_t i = 0; i < n; i++) {
        struct analysis analysis;
        struct text text = {""};
        struct sutra_dlrm_options options = cases[i].options;
        if (!options.module_marker && options.trim == SUTRA_TRIM_AUTO && !options.iters)
            options = (struct sutra_dlrm_options){WHOLE};
        analyze(&analysis, cases[i].trace, &options);
        if (analysis.status)
            tell(&text, "%d: %s", analysis.status, analysis.error.message);
        else
            tell_case(&analysis, &text);
        analysis_free(&analysis);
        if (strcmp(text.bytes, cases[i].expected) != 0)
            fail_msg("%s:\n  made     %s\n  expected %s", cases[i].name, text.bytes, cases[i].expected);
    }
}

#define CHECK(cases, teller) check_cases(cases, sizeof(cases) / sizeof *(cases), teller)

/* ---- The forest ---- */

static void tell_forest(const struct analysis *analysis, struct text *text) {
    const struct dlrm_forest *forest = &analysis->dlrm->tree.forest;
    for (row_t node = 0; node < forest->n; node++) {
        tell(text, "%s%s", node_name(analysis->dlrm, node), forest->end[node] > node + 1 ? "(" : " ");
        for (row_t open = node; open != ROW_NONE; open = forest->parent[open])
            if (forest->end[open] == node + 1 && open != node)
                tell(text, ") ");
    }
    if (analysis->report.n_crossing)
        tell(text, "crossing %d ", (int)analysis->report.n_crossing);
    if (analysis->report.n_hidden)
        tell(text, "hidden %d ", (int)analysis->report.n_hidden);
}

static const struct dlrm_case forests[] = {
    {"an operator that lies in another is below it",
     "cpu_op '## f' ts=0+100; cpu_op b ts=10+10 'External id'=1; cpu_op c ts=12+3 'External id'=2; "
     "cpu_op d ts=30+10 'External id'=3; " END,
     "## f(b(c ) d ) ",
     {0}},
    {"of equal starts the longer is outside, and of equal spans the first in the file",
     "cpu_op c ts=0+50 'External id'=1; cpu_op d ts=0+50 'External id'=1; cpu_op '## f' ts=0+100; " END,
     "## f(c(d ) ) ",
     {0}},
    {"an event of no length on a boundary belongs to the first of the two",
     "cpu_op '## f' ts=0+100; cpu_op b ts=10+10 'External id'=1; cpu_op c ts=20+10 'External id'=2; "
     "cpu_op x ts=20+0 'External id'=3; " END,
     "## f(b(x ) c ) ",
     {0}},
    {"but at the end of a root it is a root",
     "cpu_op '## f' ts=0+10; cpu_op x ts=10+0 'External id'=3; " END,
     "## f x ",
     {0}},
    {"roots that cross stand side by side",
     "cpu_op '## f' ts=0+10; cpu_op b ts=5+10 'External id'=1; " END,
     "## f b crossing 1 ",
     {0}},
    {"so do operators that cross below one",
     "cpu_op '## f' ts=0+100; cpu_op b ts=10+10 'External id'=1; cpu_op c ts=15+10 'External id'=1; "
     "cpu_op x ts=18+2 'External id'=1; " END,
     "## f(b(x ) c ) ",
     {0}},
    {"an event of another thread in one of the main thread is below the outermost",
     "cpu_op '## f' ts=0+100; cpu_op b ts=5+50 'External id'=1; cpu_op x tid=2 ts=10+20 'External id'=1; "
     "cpu_op y tid=2 ts=12+2 'External id'=1; " END,
     "## f(b x(y ) ) ",
     {0}},
    {"in one of a third thread it is nowhere",
     "cpu_op r tid=2 ts=0+100 'External id'=1; cpu_op x tid=3 ts=10+20 'External id'=1; cpu_op '## f' ts=200+9; " END,
     "r ## f hidden 1 ",
     {0}},
    {"tids are equal as numbers",
     "cpu_op r tid=2 ts=0+100 'External id'=1; cpu_op x tid=2.0 ts=10+20 'External id'=1; cpu_op '## f' ts=200+9; " END,
     "r(x ) ## f ",
     {0}},
    {"calls with threads that cannot be are left out, and kernels and annotations are no nodes",
     "cpu_op '## f' ts=0+100; cudaFree tid=3 ts=5+1 correlation=1 'External id'=1; "
     "cudaLaunchKernel ts=7+1 correlation=2 'External id'=2; "
     "kernel k stream=7 ts=9+3 correlation=2 'External id'=2; user_annotation '## g' ts=20+3; " END,
     "## f(cudaLaunchKernel ) ",
     {0}},
    {"the last event is left out", "cpu_op '## f' ts=0+100; cpu_op last ts=10+5 'External id'=1", "## f ", {0}},
    {"one event is nothing", "cpu_op '## f' ts=0+100", "", {0}},
    {"the window begins after the last entry of a record function before the first label without a colon",
     "cpu_op a ts=0+1 'External id'=1; cpu_op profiler::_record_function_enter ts=2+1 'External id'=1; "
     "cpu_op b ts=4+1 'External id'=1; cpu_op '## f: g' ts=6+1; cpu_op '## f' ts=8+1; "
     "cpu_op profiler::_record_function_enter ts=10+1 'External id'=1; " END,
     "b ## f: g ## f profiler::_record_function_enter ",
     {0}},
    {"events while data is loaded are left out, but for the forward pass that follows",
     "cpu_op a ts=0+1 'External id'=1; cpu_op DataLoader ts=10+101 'External id'=2; "
     "cpu_op in ts=20+5 'External id'=3; cpu_op between ts=150+5 'External id'=3; "
     "cpu_op '## Forward ##' ts=200+10; cpu_op DataLoader ts=300+100 'External id'=4; " END,
     "a ## Forward ## DataLoader ",
     {0}},
    {"no marker is an error that says what to give",
     "cpu_op a ts=0+1 'External id'=1; " END,
     "65: no event with a duration has a name that begins with the module marker '## '; select another marker "
     "(--module-marker ProfilerStep, or '' for the first event's thread)",
     {0}},
    {"without a marker of the caller's a step will do",
     "cpu_op r ts=0+9 'External id'=1; user_annotation ProfilerStep#1 ts=0+9; "
     "cpu_op x tid=2 ts=1+1 'External id'=1; " END,
     "r x ", OWN},
    {"an event of a third thread is in the forest, unless threads count as in the notebook",
     "cpu_op r tid=2 ts=0+100 'External id'=1; cpu_op x tid=3 ts=10+20 'External id'=1; cpu_op '## f' ts=200+9; " END,
     "r x ## f ", OWN},
    {"below a label of the main thread, but not below its operators",
     "cpu_op '## f' ts=0+100; cpu_op x tid=2 ts=10+20 'External id'=1; cpu_op b ts=200+50 'External id'=1; "
     "cpu_op y tid=2 ts=205+20 'External id'=1; " END,
     "## f(x ) b y ", OWN},
    {"no event with a duration is an error",
     "{'name':'a','ts':1}",
     "65: none of the 1 events has a start time and a duration: nothing to analyze",
     {0}},
};

static void forest_equals_the_notebook(void **state) {
    CHECK(forests, tell_forest);
}

/* ---- Headline ---- */

static void tell_headline(const struct analysis *analysis, struct text *text) {
    const struct sutra_dlrm_report *report = &analysis->report;
    tell(text, "%g to %g less %g: %g us, %llu x %llu, %g/s", report->begin_us, report->end_us, report->skipped_us,
         report->host_us, (unsigned long long)report->iters, (unsigned long long)report->batch, report->qps);
    tell(text, "%s", report->trimmed ? ", trimmed" : "");
}

#define FOUR_STEPS                                                                                                     \
    "cpu_op '## Forward ##' ts=0+5; cpu_op '## Forward ##' ts=10+5; cpu_op '## Forward ##' ts=20+5; "                  \
    "cpu_op '## Forward ##' ts=30+5; "

static const struct dlrm_case headlines[] = {
    {"the host's time ends with its last event, or where the last of all begins",
     "cpu_op '## f' ts=0+100; cpu_op a ts=50+150 'External id'=1; "
     "kernel k stream=7 ts=500+1000 correlation=9 'External id'=9",
     "0 to 500 less 0: 500 us, 1 x 2048, 4.096e+06/s",
     {0}},
    {"time of loading data does not count",
     "cpu_op '## x' ts=0+1; cpu_op DataLoader ts=10+101 'External id'=2; cpu_op '## Forward ##' ts=110+290; "
     "cpu_op a ts=400+0 'External id'=1",
     "0 to 400 less 100: 300 us, 1 x 2048, 6.82667e+06/s",
     {0}},
    {"unless loaders and forward passes are not as many",
     "cpu_op '## x' ts=0+1; cpu_op DataLoader ts=10+101 'External id'=2; cpu_op a ts=400+0 'External id'=1",
     "0 to 400 less 0: 400 us, 1 x 2048, 5.12e+06/s",
     {0}},
    {"iterations of the whole trace are counted",
     FOUR_STEPS "cpu_op a ts=40+0 'External id'=1",
     "0 to 40 less 0: 40 us, 4 x 2048, 2.048e+08/s",
     {0}},
    {"some iterations after others can be cut out",
     FOUR_STEPS "cpu_op a ts=40+0 'External id'=1",
     "10 to 20 less 0: 10 us, 2 x 10, 2e+06/s, trimmed",
     {.iters = 2, .skip_iters = 1, .batch = 10, .module_marker = "## "}},
    {"if there is one more to end them",
     FOUR_STEPS "cpu_op a ts=40+0 'External id'=1",
     "0 to 40 less 0: 40 us, 3 x 2048, 1.536e+08/s",
     {.iters = 3, .skip_iters = 1, .module_marker = "## "}},
    {"a percentage of the time leaves both ends out",
     FOUR_STEPS "cpu_op a ts=40+0 'External id'=1",
     "20 to 20 less 0: 0 us, 1 x 2048, nan/s, trimmed",
     {.trim = SUTRA_TRIM_PERCENTAGE, .from = 25, .to = 75, .module_marker = "## "}},
    {"a span of time takes both",
     FOUR_STEPS "cpu_op a ts=40+0 'External id'=1",
     "10 to 30 less 0: 20 us, 3 x 2048, 3.072e+08/s, trimmed",
     {.trim = SUTRA_TRIM_TIME, .from = 10, .to = 30, .module_marker = "## "}},
    {"and must lie in the trace",
     FOUR_STEPS "cpu_op a ts=40+0 'External id'=1",
     "64: the time range is not inside the trace: its events start from 0 to 40 us",
     {.trim = SUTRA_TRIM_TIME, .from = 10, .to = 50, .module_marker = "## "}},
};

static void headline_figures_follow_from_window_and_iterations(void **state) {
    CHECK(headlines, tell_headline);
}

/* ---- Device time ---- */

static void tell_device_time(const struct analysis *analysis, struct text *text) {
    const struct sutra_dlrm *dlrm = analysis->dlrm;
    const struct dlrm_device_time *time = &dlrm->device_time;
    const struct dlrm_operators *ops = &dlrm->tree.ops;
    for (row_t op = 0; op < ops->n; op++) {
        row_t group = ops->group[op];
        for (row_t block = time->group_block[group]; block < time->group_block[group + 1]; block++)
            for (row_t i = time->blocks[block].kernel; i < time->blocks[block + 1].kernel; i++)
                tell(text, "%s: %s %s %s %llu %g; ", node_name(dlrm, ops->node[op]),
                     name_of(analysis, time->blocks[block].stream), name_of(analysis, time->kernels[i].name),
                     name_of(analysis, time->kernels[i].shape), (unsigned long long)time->kernels[i].count,
                     time->kernels[i].us);
    }
}

#define UNUSUAL_KERNELS                                                                                                \
    "cpu_op '## f' ts=0+100; cpu_op aten::a ts=10+20 'External id'=1; "                                                \
    "cudaLaunchKernel ts=12+1 correlation=70 'External id'=70; "                                                       \
    "kernel early stream=7 ts=11+4 correlation=70 'External id'=70; "                                                  \
    "kernel alone stream=7 ts=25+5 correlation=71 'External id'=71; "                                                  \
    "cudaLaunchKernel ts=40+1 correlation=72 'External id'=72; "                                                       \
    "kernel root stream=7 ts=45+5 correlation=72 'External id'=72; " END
#define TWO_KERNELS                                                                                                    \
    "cpu_op '## f' ts=0+100; cpu_op aten::a ts=10+20 'External id'=1; "                                                \
    "cudaLaunchKernel ts=12+1 correlation=70 'External id'=70; "                                                       \
    "kernel k stream=7 ts=15+4 correlation=70 'External id'=70; "                                                      \
    "kernel l stream=7 ts=16+5 correlation=70 'External id'=70; " END

static const struct dlrm_case device_times[] = {
    {"a kernel counts for the outermost operator that is no label, with the shape of its launch's parent",
     "cpu_op '## f' ts=0+100; cpu_op aten::a ts=10+20 'External id'=1; "
     "cpu_op aten::b ts=11+9 'External id'=2 'Input dims'=[[2,3],[],[4]]; "
     "cudaLaunchKernel ts=12+1 correlation=70 'External id'=70; "
     "kernel k stream=7 ts=15+4 correlation=70 'External id'=70; " END,
     "aten::a: 7 k [[2, 3], [4]] 1 4; ",
     {0}},
    {"kernels of one stream, short name and shape are one row",
     "cpu_op '## f' ts=0+100; cpu_op aten::a ts=10+20 'External id'=1; "
     "cudaLaunchKernel ts=12+1 correlation=70 'External id'=70; "
     "cudaLaunchKernel ts=14+1 correlation=71 'External id'=71; "
     "cudaLaunchKernel ts=16+1 correlation=72 'External id'=72; "
     "kernel 'void at::native::reduce_kernel<512, 1>(x)' stream=7 ts=15+4 correlation=70 'External id'=70; "
     "kernel at::reduce_kernel stream=7 ts=25+5 correlation=71 'External id'=71; "
     "kernel x stream=8 ts=30+6 correlation=72 'External id'=72; " END,
     "aten::a: 7 reduce_kernel [[-1]] 2 9; aten::a: 8 x [[-1]] 1 6; ",
     {0}},
    {"a kernel that begins before its launch, has none, or whose launch is below no operator is none to the original",
     UNUSUAL_KERNELS, "", COMPAT},
    {"by our rules the first of these counts", UNUSUAL_KERNELS, "aten::a: 7 early [[-1]] 1 4; ", OWN},
    {"of several kernels of a launch, such as a graph, all count", TWO_KERNELS,
     "aten::a: 7 k [[-1]] 1 4; aten::a: 7 l [[-1]] 1 5; ", OWN},
    {"to the original the last one does", TWO_KERNELS, "aten::a: 7 l [[-1]] 1 5; ", COMPAT},
    {"calls of the driver launch, alone and inside of calls of the runtime, with its id or their own",
     "cpu_op '## f' ts=0+100; cpu_op aten::a ts=10+30 'External id'=1 'Input dims'=[[2]]; "
     "cuda_driver cuLaunchKernelEx ts=12+1 correlation=70; "
     "kernel triton stream=7 ts=15+4 correlation=70 'External id'=70; "
     "cudaLaunchKernel ts=20+9 correlation=71 'External id'=71; "
     "cuda_driver cuLaunchKernelEx ts=21+5 correlation=71; "
     "kernel nvjet stream=7 ts=30+5 correlation=71 'External id'=71; "
     "cudaLaunchKernel ts=31+6 correlation=72 'External id'=72; "
     "cuda_driver cuLaunchKernelEx ts=32+3 correlation=73; "
     "kernel own stream=7 ts=40+6 correlation=73 'External id'=73; " END,
     "aten::a: 7 triton [[2]] 1 4; aten::a: 7 nvjet [[2]] 1 5; aten::a: 7 own [[2]] 1 6; ", OWN},
    {"an operator of a thread with a large id gets its kernels attributed, regardless of the main thread",
     "cpu_op '## f' ts=0+5; cpu_op aten::a ts=10+90 'External id'=1; "
     "cpu_op backward tid=3 ts=20+20 'External id'=2; "
     "cudaLaunchKernel tid=3 ts=22+1 correlation=70 'External id'=70; "
     "kernel k stream=7 ts=25+4 correlation=70 'External id'=70; " END,
     "backward: 7 k [[-1]] 1 4; ", OWN},
    {"kernels that begin while data is loaded, or last of all, count",
     "cpu_op '## f' ts=0+1; cpu_op aten::a ts=2+5 'External id'=1; "
     "cudaLaunchKernel ts=3+1 correlation=70 'External id'=70; "
     "cudaLaunchKernel ts=5+1 correlation=71 'External id'=71; cpu_op DataLoader ts=10+101 'External id'=2; "
     "kernel k stream=7 ts=20+4 correlation=70 'External id'=70; cpu_op '## Forward ##' ts=200+10; "
     "kernel l stream=7 ts=300+4 correlation=71 'External id'=71",
     "aten::a: 7 k [[-1]] 1 4; aten::a: 7 l [[-1]] 1 4; ", OWN},
    {"by default an operator's id is not a launch's",
     "cpu_op '## f' ts=0+100; cpu_op aten::a ts=10+5 'External id'=70; cpu_op aten::b ts=20+20 'External id'=2; "
     "cudaLaunchKernel ts=22+1 correlation=70 'External id'=70; "
     "kernel k stream=7 ts=25+4 correlation=70 'External id'=70; " END,
     "aten::b: 7 k [[-1]] 1 4; ",
     {0}},
    {"to the original it is",
     "cpu_op '## f' ts=0+100; cpu_op aten::a ts=10+5 'External id'=70; cpu_op aten::b ts=20+20 'External id'=2; "
     "cudaLaunchKernel ts=22+1 correlation=70 'External id'=70; "
     "kernel k stream=7 ts=25+4 correlation=70 'External id'=70; " END,
     "aten::a: 7 k [[-1]] 1 4; aten::b: 7 k [[-1]] 1 4; ", COMPAT},
    {"operators of one id are distinguished by default",
     "cpu_op '## f' ts=0+100; cpu_op aten::a ts=10+5 'External id'=1; "
     "cudaLaunchKernel ts=11+1 correlation=70 'External id'=70; "
     "kernel k stream=7 ts=12+4 correlation=70 'External id'=70; cpu_op aten::b ts=20+5 'External id'=1; "
     "cudaLaunchKernel ts=22+1 correlation=71 'External id'=71; "
     "kernel k stream=7 ts=25+5 correlation=71 'External id'=71; " END,
     "aten::a: 7 k [[-1]] 1 4; aten::b: 7 k [[-1]] 1 5; ",
     {0}},
    {"and one to the original",
     "cpu_op '## f' ts=0+100; cpu_op aten::a ts=10+5 'External id'=1; "
     "cudaLaunchKernel ts=11+1 correlation=70 'External id'=70; "
     "kernel k stream=7 ts=12+4 correlation=70 'External id'=70; cpu_op aten::b ts=20+5 'External id'=1; "
     "cudaLaunchKernel ts=22+1 correlation=71 'External id'=71; "
     "kernel k stream=7 ts=25+5 correlation=71 'External id'=71; " END,
     "aten::a: 7 k [[-1]] 2 9; aten::b: 7 k [[-1]] 2 9; ", COMPAT},
    {"an id in lower case is one",
     "cpu_op '## f' ts=0+100; cpu_op aten::a ts=10+20 'External id'=1; cudaLaunchKernel ts=12+1 'external id'=70; "
     "kernel k stream=7 ts=15+4 'external id'=70; " END,
     "aten::a: 7 k [[-1]] 1 4; ", COMPAT},
};

static void device_time_counts_for_operators(void **state) {
    CHECK(device_times, tell_device_time);
}

/* ---- Breakdown, dominating operators, chart ---- */

static void tell_rows(const struct analysis *analysis, struct text *text, uint32_t first, uint32_t n) {
    for (uint32_t i = first; i < first + n; i++) {
        const struct sutra_dlrm_row *row = &analysis->report.rows[analysis->report.by_time[i]];
        tell(text, "%s %g/%llu", name_of(analysis, row->name), row->us, (unsigned long long)row->count);
        if (row->n_occurrences) {
            tell(text, " (%g: ", row->first_us);
            tell_rows(analysis, text, row->first_child, row->n_children);
            tell(text, ")");
        }
        tell(text, i + 1 < first + n ? ", " : "");
    }
}

static void tell_breakdown(const struct analysis *analysis, struct text *text) {
    const struct sutra_dlrm_report *report = &analysis->report;
    for (uint64_t i = 0; i < report->n_streams; i++) {
        const struct sutra_dlrm_stream *stream = &report->streams[i];
        tell(text, "%s: %g idle %g | ", name_of(analysis, stream->name), stream->active_us, stream->idle_us);
        tell_rows(analysis, text, stream->first_row, stream->n_rows);
        for (uint64_t j = 0; j < stream->n_dominating; j++) {
            const struct sutra_dlrm_dominating *entry = &report->dominating[stream->first_dominating + j];
            tell(text, " | %s %g", name_of(analysis, entry->name), entry->us);
            for (uint64_t k = 0; k < entry->n_parts; k++)
                tell(text, " %s %g", name_of(analysis, report->parts[entry->first_part + k].name),
                     report->parts[entry->first_part + k].us);
        }
        tell(text, "; ");
    }
}

/* Two labels: one with an operator twice and another once, one with the first operator. */
#define TWO_LABELS                                                                                                     \
    "cpu_op '## f' ts=0+50; cpu_op aten::a ts=1+9 'External id'=1; "                                                   \
    "cudaLaunchKernel ts=2+1 correlation=70 'External id'=70; "                                                        \
    "kernel k stream=7 ts=5+4 correlation=70 'External id'=70; cpu_op aten::b ts=11+9 'External id'=2; "               \
    "cudaLaunchKernel ts=12+1 correlation=71 'External id'=71; "                                                       \
    "kernel l stream=7 ts=15+10 correlation=71 'External id'=71; cpu_op aten::a ts=21+9 'External id'=3; "             \
    "cudaLaunchKernel ts=22+1 correlation=72 'External id'=72; "                                                       \
    "kernel k stream=7 ts=25+8 correlation=72 'External id'=72; cpu_op '## g' ts=60+20; "                              \
    "cpu_op aten::a ts=61+9 'External id'=4; cudaLaunchKernel ts=62+1 correlation=73 'External id'=73; "               \
    "kernel m stream=7 ts=65+3 correlation=73 'External id'=73; "

static const struct dlrm_case breakdowns[] = {
    {"rows of a level are all occurrences by falling time, what is below is that of the first",
     TWO_LABELS "cpu_op end ts=100+0 'External id'=1",
     "7: 25 idle 75 | ## f 22/1 (22: aten::a 12/2 (4: k 4/1), aten::b 10/1 (10: l 10/1)), ## g 3/1 (3: aten::a 3/1 (3: "
     "m 3/1))"
     " | - 25 ## f 22 ## g 3 | ## f 22 aten::a 12 aten::b 10 | aten::a 7 k 4 m 3 | aten::b 10 l 10 | ## g 3 aten::a "
     "3; ",
     {0}},
    {"each stream has its own rows, labels without work on it have none",
     "cpu_op '## f' ts=0+50; cpu_op aten::a ts=1+9 'External id'=1; "
     "cudaLaunchKernel ts=2+1 correlation=70 'External id'=70; "
     "kernel k stream=7 ts=5+4 correlation=70 'External id'=70; cpu_op '## g' ts=60+20; "
     "cpu_op aten::a ts=61+9 'External id'=4; cudaLaunchKernel ts=62+1 correlation=73 'External id'=73; "
     "kernel m stream=8 ts=65+3 correlation=73 'External id'=73; cpu_op end ts=100+0 'External id'=1",
     "7: 4 idle 96 | ## f 4/1 (4: aten::a 4/1 (4: k 4/1)) | - 4 ## f 4 | ## f 4 aten::a 4 | aten::a 4 k 4; "
     "8: 3 idle 97 | ## g 3/1 (3: aten::a 3/1 (3: m 3/1)) | - 3 ## g 3 | ## g 3 aten::a 3 | aten::a 3 m 3; ",
     {0}},
    {"a first occurrence without time is not looked into",
     "cpu_op '## f' ts=0+50; cpu_op aten::a ts=1+9 'External id'=1; "
     "cudaLaunchKernel ts=2+1 correlation=70 'External id'=70; "
     "kernel k stream=7 ts=5+0 correlation=70 'External id'=70; cpu_op aten::b ts=11+9 'External id'=2; "
     "cudaLaunchKernel ts=12+1 correlation=71 'External id'=71; "
     "kernel l stream=7 ts=15+10 correlation=71 'External id'=71; cpu_op end ts=100+0 'External id'=1",
     "7: 10 idle 90 | ## f 10/1 (10: aten::b 10/1 (10: l 10/1), aten::a 0/1 (0: k 0/1)) | - 10 ## f 10 | "
     "## f 10 aten::b 10 aten::a 0 | aten::b 10 l 10; ",
     {0}},
    {"without device work there is nothing",
     "cpu_op '## f' ts=0+50; cpu_op aten::a ts=1+9 'External id'=1; " END,
     "",
     {0}},
};

static void breakdown_follows_first_occurrences(void **state) {
    CHECK(breakdowns, tell_breakdown);
}

static void tell_chart(const struct analysis *analysis, struct text *text) {
    const struct sutra_dlrm_report *report = &analysis->report;
    const struct sutra_dlrm_stream *stream = report->streams;
    for (uint64_t i = 0; i < stream->n_groups; i++) {
        const struct sutra_dlrm_group *group = &report->groups[stream->first_group + i];
        tell(text, "'%s' %g %llu of %llu:", name_of(analysis, group->name), group->us,
             (unsigned long long)group->n_variants, (unsigned long long)group->n_all_variants);
        for (uint64_t j = 0; j < group->n_variants; j++) {
            const struct sutra_dlrm_variant *variant = &report->variants[group->first_variant + j];
            for (uint64_t k = 0; k < variant->n_shares; k++)
                tell(text, " %s %g", name_of(analysis, report->shares[variant->first_share + k].legend),
                     report->shares[variant->first_share + k].share);
            tell(text, ";");
        }
        tell(text, " ");
    }
}

#define WORK(op, ts, id, shape, kernel, us)                                                                            \
    "cpu_op '" op "' ts=" #ts "+9 'External id'=" #id " 'Input dims'=" shape "; "                                      \
    "cudaLaunchKernel ts=" #ts "+9 correlation=7" #id " 'External id'=7" #id "; "                                      \
    "kernel '" kernel "' stream=7 ts=" #ts "+" #us " correlation=7" #id " 'External id'=7" #id "; "

static const struct dlrm_case charts[] = {
    {"names count up to a #, labels of the model not at all, and bars of the same kernels once",
     WORK("aten::a", 10, 1, "[[1]]", "volta_sgemm_32", 4) WORK("aten::a", 20, 2, "[[2]]", "volta_sgemm_64", 5)
         WORK("aten::a", 30, 3, "[[3]]", "maxwell_sgemm_64", 6)
             WORK("step#SGD", 40, 4, "[[1]]", "vectorized_elementwise_kernel", 7)
                 WORK("a module", 50, 5, "[[1]]", "k", 8) "cpu_op '## f' ts=60+9; " END,
     "'aten::a' 15 2 of 3: gemm 1; gemm 1; 'step' 7 1 of 1: elwt 1; ",
     {0}},
    {"shares of a bar fall, and legends are short",
     "cpu_op '## f' ts=0+5; cpu_op aten::a ts=10+30 'External id'=1; "
     "cudaLaunchKernel ts=11+1 correlation=70 'External id'=70; "
     "cudaLaunchKernel ts=13+1 correlation=71 'External id'=71; "
     "cudaLaunchKernel ts=15+1 correlation=72 'External id'=72; "
     "kernel embedding_backward stream=7 ts=12+2 correlation=70 'External id'=70; "
     "kernel ncclDevKernel stream=7 ts=14+5 correlation=71 'External id'=71; "
     "kernel 'Memcpy HtoD' stream=7 ts=16+3 correlation=72 'External id'=72; " END,
     "'aten::a' 10 1 of 1: ncclDevK 0.5 Memcpy 0.3 ELB 0.2; ",
     {0}},
};

static void charts_have_a_bar_per_set_of_kernels(void **state) {
    CHECK(charts, tell_chart);
}

/* ---- Overheads ---- */

static void tell_rows_of_overheads(const struct analysis *analysis, struct text *text,
                                   const struct sutra_dlrm_overhead *rows, uint64_t n) {
    for (uint64_t i = 0; i < n; i++) {
        if (rows[i].kind == SUTRA_T1 && !rows[i].n)
            continue;
        tell(text, "T%d %s %g+-%g %llu; ", rows[i].kind + 1, name_of(analysis, rows[i].name), rows[i].mean_us,
             rows[i].std_us, (unsigned long long)rows[i].n);
    }
}

static void tell_overheads(const struct analysis *analysis, struct text *text) {
    tell_rows_of_overheads(analysis, text, analysis->report.overheads, analysis->report.n_overheads);
}

static void tell_overheads_by_shape(const struct analysis *analysis, struct text *text) {
    tell_rows_of_overheads(analysis, text, analysis->report.overheads_by_shape, analysis->report.n_overheads_by_shape);
}

/* An operator from 100 to 200: an event, a launch from 120 to 130, two events, a launch from 150 to 160, an event. */
#define OP_WITH_LAUNCHES                                                                                               \
    "cpu_op aten::a ts=100+100 'External id'=1; cpu_op x ts=105+5 'External id'=2; "                                   \
    "cudaLaunchKernel ts=120+10 correlation=70 'External id'=70; cpu_op x ts=132+2 'External id'=3; "                  \
    "cpu_op x ts=135+2 'External id'=4; cudaLaunchKernel ts=150+10 correlation=71 'External id'=71; "                  \
    "cpu_op x ts=170+5 'External id'=5; "

static const struct dlrm_case overheads[] = {
    {"events of the profiler's are subtracted, two microseconds each",
     "cpu_op '## f' ts=0+5; " OP_WITH_LAUNCHES END,
     /* T2: 20 less one event; T3: 40 less op and x; T5: 20 less two */
     "T2 aten::a 18+-0 1; T3 aten::a 36+-0 1; T5 aten::a 16+-0 1; T4 cudaLaunchKernel 4+-0 2; ",
     {0}},
    {"with one launch T5 is 0, without any it is all of the operator",
     "cpu_op '## f' ts=0+5; cpu_op aten::a ts=100+50 'External id'=1; "
     "cudaLaunchKernel ts=110+10 correlation=70 'External id'=70; cpu_op aten::b ts=600+30 'External id'=2; "
     "cpu_op x ts=605+5 'External id'=3; " END,
     "T2 aten::a 10+-0 1; T3 aten::a 28+-0 1; T5 aten::a 0+-0 1; T5 aten::b 26+-0 1; T4 cudaLaunchKernel 4+-0 1; ",
     {0}},
    {"gaps below 200 us between operators below the same parent are T1, less an event",
     "cpu_op '## f' ts=0+5; cpu_op a ts=10+10 'External id'=1; cpu_op b ts=30+10 'External id'=1; "
     "cpu_op c ts=240+10 'External id'=1; cpu_op d ts=449+10 'External id'=1; cpu_op '## g' ts=500+50; "
     "cpu_op e ts=501+2 'External id'=1; cpu_op g ts=508+2 'External id'=1; " END,
     /* b after a 8, c after b 200: not, d after c 197, e after d: other parent, g after e 3 */
     "T1 - 69.3333+-90.297 3; T5 a 8+-0 1; T5 b 8+-0 1; T5 c 8+-0 1; T5 d 8+-0 1; T5 e 0+-0 1; T5 g 0+-0 1; ",
     {0}},
    {"aten::to that copies nothing counts for nothing, and neither does the gap before it",
     "cpu_op '## f' ts=0+5; cpu_op a ts=10+10 'External id'=1; cpu_op aten::to ts=30+10 'External id'=1; "
     "cpu_op b ts=44+10 'External id'=1; " END,
     "T1 - 2+-0 1; T5 a 8+-0 1; T5 b 8+-0 1; ",
     {0}},
    {"calls that start nothing do not end a count, other calls do and hand it on",
     "cpu_op '## f' ts=0+5; cpu_op aten::a ts=100+100 'External id'=1; "
     "cudaEventQuery ts=105+1 correlation=60 'External id'=60; "
     "cudaMalloc ts=110+1 correlation=61 'External id'=61; cpu_op x ts=115+1 'External id'=2; "
     "cudaLaunchKernel ts=120+10 correlation=70 'External id'=70; " END,
     /* before the launch: query 1 (then malloc ends the count with 1), x 1: T2 20 - 4; after it: 4 events, 2 taken, op
        and malloc, less query: n = 4 - (2 + 1) = 1: T3 70 - 2 */
     "T2 aten::a 16+-0 1; T3 aten::a 68+-0 1; T5 aten::a 0+-0 1; T4 cudaLaunchKernel 4+-0 1; ",
     {0}},
};

static const struct dlrm_case overheads_by_shape[] = {
    {"values below 0 are 0, short gaps do not count",
     "cpu_op '## f' ts=0+5; cpu_op a ts=10+1 'External id'=1; cpu_op b ts=13+10 'External id'=1; "
     "cpu_op c ts=26+10 'External id'=1; " END,
     "T1 - 1+-0 1; T5 a 0+-0 1; T5 b 8+-0 1; T5 c 8+-0 1; ",
     {0}},
    {"values far from the quartiles are left out",
     "cpu_op '## f' ts=0+5; cpu_op a ts=1000+12 'External id'=1; cpu_op a ts=2000+13 'External id'=1; "
     "cpu_op a ts=3000+14 'External id'=1; cpu_op a ts=4000+15 'External id'=1; "
     "cpu_op a ts=5000+100 'External id'=1; " END,
     "T5 a 11.5+-1.11803 4; ",
     {0}},
    {"synchronisation of a stream counts as a launch, but not for T4",
     "cpu_op '## f' ts=0+5; cpu_op a ts=100+100 'External id'=1; "
     "cudaLaunchKernel ts=110+10 correlation=70 'External id'=70; "
     "cudaStreamSynchronize ts=130+20 correlation=71 'External id'=71; " END,
     "T2 a 10+-0 1; T3 a 48+-0 1; T5 a 10+-0 1; T4 cudaLaunchKernel 4+-0 1; ",
     {0}},
};

static void overheads_are_operator_time_without_launches(void **state) {
    CHECK(overheads, tell_overheads);
    CHECK(overheads_by_shape, tell_overheads_by_shape);
}

/* ---- Streams ---- */

static void tell_streams(const struct analysis *analysis, struct text *text) {
    const struct sutra_dlrm_report *report = &analysis->report;
    const struct dlrm_stream_times *times = &analysis->dlrm->stream_times;
    if (!report->has_streams)
        return;
    tell(text, "span %g union %g idle %g overlap %g |", report->span_us, report->union_us, report->idle_us,
         report->overlap_us);
    for (uint32_t i = 0; i < times->n; i++)
        tell(text, " %s %g", name_of(analysis, times->list[i].name), number_as_double(times->list[i].sum));
    tell(text, " | %g", number_as_double(times->original_overlap));
    for (uint32_t i = 0; i < times->n; i++)
        tell(text, " %g", number_as_double(times->list[i].original));
    tell(text, " %g", number_as_double(times->original_total));
}

#define ON_STREAM(stream, ts, dur, id)                                                                                 \
    "cudaLaunchKernel ts=1+1 correlation=" #id " 'External id'=" #id "; "                                              \
    "kernel k stream=" #stream " ts=" #ts "+" #dur " correlation=" #id " 'External id'=" #id "; "

#define FAR_FROM_ZERO                                                                                                  \
    "cpu_op '## f' ts=0+5; cudaLaunchKernel ts=1+1 correlation=1 'External id'=1; "                                    \
    "kernel k stream=7 ts=3000000000000.123+22.441 correlation=1 'External id'=1; cpu_op end ts=4000000000000+1"

static const struct dlrm_case streams[] = {
    {"kernels after each other leave gaps",
     "cpu_op '## f' ts=0+5; " ON_STREAM(7, 10, 5, 1) ON_STREAM(7, 20, 5, 2) END,
     "span 15 union 10 idle 5 overlap 0 | 7 10 | 5 10 10",
     {0}},
    {"kernels that touch do not overlap, except to the original",
     "cpu_op '## f' ts=0+5; " ON_STREAM(7, 10, 5, 1) ON_STREAM(7, 15, 5, 2) END,
     "span 10 union 10 idle 0 overlap 0 | 7 10 | 10 10 10",
     {0}},
    {"kernels of two streams overlap; the original counts the last of them twice",
     "cpu_op '## f' ts=0+5; " ON_STREAM(7, 10, 10, 1) ON_STREAM(8, 15, 10, 2) END,
     "span 15 union 15 idle 0 overlap 5 | 7 10 8 10 | 20 10 20 25",
     {0}},
    {"a kernel inside of another one adds nothing to the union",
     "cpu_op '## f' ts=0+5; " ON_STREAM(7, 10, 20, 1) ON_STREAM(8, 15, 3, 2) END,
     "span 20 union 20 idle 0 overlap 3 | 7 20 8 3 | 23 20 6 23",
     {0}},
    {"an overlap is a duration",
     FAR_FROM_ZERO,
     "span 22.4409 union 22.441 idle 0 overlap 0 | 7 22.441 | 22.441 22.441 22.4409",
     {0}},
    {"to the original it is an end less a start, which are rounded", FAR_FROM_ZERO,
     "span 22.4409 union 22.441 idle 0 overlap 0 | 7 22.441 | 22.4409 22.441 22.4409", COMPAT},
    {"no kernels, no figures",
     "cpu_op '## f' ts=0+5; cudaLaunchKernel ts=1+1 correlation=1 'External id'=1; " END,
     "",
     {0}},
};

static void streams_idle_and_overlap(void **state) {
    CHECK(streams, tell_streams);
}

/* ---- Skipped events ---- */

static void tell_warnings(const struct analysis *analysis, struct text *text) {
    tell(text, "%s", analysis->warnings.bytes);
}

#define NO_WORK                                                                                                        \
    "no device time, breakdown, charts and streams: no kernel or memcpy has the correlation of an earlier launch\n"

static const struct dlrm_case warnings[] = {
    {"negative durations and missing starts are left out",
     "cpu_op '## f' ts=0+5; cpu_op a ts=10+-5 'External id'=1; {'cat':'cpu_op','name':'x','dur':5}; "
     "cpu_op b ts=20+5 'External id'=1; " END,
     "1 event with a duration but no start time: skipped\n1 event with a negative duration: skipped\n" NO_WORK,
     {0}},
    {"one event gives no figure, and says so for each",
     "cpu_op '## f' ts=0+5",
     "no queries per second: the CPU events have no duration\n" NO_WORK
     "no overheads: the trace has no CPU operators other than labels\n",
     {0}},
    {"device work without a stream is left out",
     "cpu_op '## f' ts=0+50; cpu_op a ts=10+9 'External id'=1; "
     "cudaLaunchKernel ts=11+1 correlation=70 'External id'=70; kernel k tid=7 ts=12+3 correlation=70; " END,
     "1 GPU activity without a stream: skipped\n"
     "no breakdown and charts: no operator launched a kernel or memcpy\n",
     {0}},
    {"device work of the driver's calls is left out by the original",
     "cpu_op '## f' ts=0+50; cpu_op a ts=10+9 'External id'=1; "
     "cudaLaunchKernel ts=11+1 correlation=70 'External id'=70; "
     "kernel k stream=7 ts=12+3 correlation=70 'External id'=70; "
     "cuda_driver cuLaunchKernel ts=14+1 correlation=71; "
     "kernel triton stream=7 ts=16+3 correlation=71 'External id'=71; " END,
     "1 GPU activity skipped: no earlier runtime call has that id (the notebook does not count driver calls as "
     "launches)\n",
     COMPAT},
    {"a share of device time below 99 % is reported, with the reasons for the rest",
     "cpu_op profiler::_record_function_enter ts=4+1 'External id'=9; cpu_op '## f' ts=10+5; "
     "kernel outside stream=5 ts=2+40 correlation=69 'External id'=69; cpu_op a ts=20+9 'External id'=1; "
     "cudaLaunchKernel ts=21+1 correlation=70 'External id'=70; "
     "kernel k stream=7 ts=22+90 correlation=70 'External id'=70; "
     "cudaLaunchKernel ts=40+1 correlation=71 'External id'=71; "
     "kernel root stream=8 ts=42+50 correlation=71 'External id'=71; "
     "kernel alone stream=9 ts=43+20 correlation=72 'External id'=72; " END,
     "1 GPU activity skipped: no call has that correlation\n"
     "only 45.0 % of the device time is attributed to operators: of 200 us, 40 us start outside the window, 20 us have "
     "no launch in the window, and 50 us are launched outside operators\n",
     OWN},
    {"a sound trace has no warnings",
     "cpu_op '## f' ts=0+50; cpu_op a ts=10+9 'External id'=1; "
     "cudaLaunchKernel ts=11+1 correlation=70 'External id'=70; "
     "kernel k stream=7 ts=12+3 correlation=70 'External id'=70; " END,
     "",
     {0}},
};

static void skipped_events_are_reported(void **state) {
    CHECK(warnings, tell_warnings);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forest_equals_the_notebook),
        cmocka_unit_test(headline_figures_follow_from_window_and_iterations),
        cmocka_unit_test(device_time_counts_for_operators),
        cmocka_unit_test(breakdown_follows_first_occurrences),
        cmocka_unit_test(charts_have_a_bar_per_set_of_kernels),
        cmocka_unit_test(overheads_are_operator_time_without_launches),
        cmocka_unit_test(streams_idle_and_overlap),
        cmocka_unit_test(skipped_events_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
