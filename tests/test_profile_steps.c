/*
 * test_profile_steps.c - tests each step of the profiler's post-processing on plain arrays: inputs, sequence numbers of
 * autograd, activities, flows and links, forward/backward pairs, and exact times.
 */
#include "generate/random.h"
#include "sutra/sutra.h"
#include "text/numbers.h"
#include "tree/profile.h"
#include "unit.h"

#define NONE SUTRA_ROW_NONE

/* ---- Inputs ---- */

/* Encodes letters: t a tensor, s one of another layout, u undefined, n nested, 1 a scalar, o other, ( ) a list, . the
 * end of an operator. The k-th tensor has sizes k + 1 and 2. */
static struct sutra_inputs *encode(const char *letters, enum sutra_torch_version hta_version) {
    struct sutra_inputs *inputs = NULL;
    int64_t sizes[] = {0, 2}, strides[] = {2, 1};
    assert_int_equal(sutra_inputs_create(hta_version, &inputs, NULL), SUTRA_OK);
    for (; *letters; letters++) {
        struct sutra_tensor tensor = {.impl = 1, .dtype = "float", .dim = 2, .nested = *letters == 'n'};
        enum sutra_status status = SUTRA_OK;
        sizes[0]++;
        if (*letters == 's')
            tensor.layout = SUTRA_LAYOUT_OTHER;
        if (strchr("tsn", *letters))
            status = sutra_inputs_add_tensor(inputs, &tensor, sizes, strides, NULL);
        else if (*letters == '1')
            status = sutra_inputs_add_scalar(inputs, "1.5", 3, NULL);
        else
            status = sutra_inputs_add(inputs,
                                      *letters == 'u'   ? SUTRA_INPUT_UNDEFINED
                                      : *letters == 'o' ? SUTRA_INPUT_OTHER
                                      : *letters == '(' ? SUTRA_INPUT_LIST
                                                        : SUTRA_INPUT_END,
                                      NULL);
        assert_int_equal(status, SUTRA_OK);
    }
    return inputs;
}

/* Reads `n` operators; prints type, sizes and strides of each value, with | after each operator. */
static void tell(const struct sutra_inputs *inputs, int n, char *text, size_t size) {
    struct sutra_inputs_reader reader = sutra_inputs_read(inputs);
    struct sutra_input input;
    *text = 0;
    for (; n > 0; n--) {
        while (sutra_inputs_next(&reader, &input) != SUTRA_INPUT_END) {
            size_t at = strlen(text);
            at += (size_t)snprintf(text + at, size - at, "%s%s", input.in_list ? "-" : "",
                                   input.scalar ? input.scalar : input.dtype);
            for (uint32_t i = 0; i < input.n_sizes; i++)
                at += (size_t)snprintf(text + at, size - at, "%c%lld", i ? ',' : ':', (long long)input.sizes[i]);
            for (uint32_t i = 0; i < input.n_strides; i++)
                at += (size_t)snprintf(text + at, size - at, "%c%lld", i ? ',' : '/', (long long)input.strides[i]);
            snprintf(text + at, size - at, " ");
        }
        snprintf(text + strlen(text), size - strlen(text), "|");
    }
}

static void inputs_are_read_as_they_were_encoded(void **state) {
    static const struct {
        const char *letters;
        enum sutra_torch_version hta_version;
        const char *expected;
    } cases[] = {
        {"t.", SUTRA_TORCH_VERSION_2, "float:1,2/2,1 |||"},
        {"s.", SUTRA_TORCH_VERSION_2, "float:1,2 |||"},
        {"1uo.", SUTRA_TORCH_VERSION_2, "1.5   |||"},
        {"n.t.", SUTRA_TORCH_VERSION_2, " |float:3,2/2,1 ||"},
        {"(tt)o.t.", SUTRA_TORCH_VERSION_2, "TensorList -float:2,2/2,1 -float:3,2/2,1  |float:7,2/2,1 ||"},
        {"(tu)1.t.", SUTRA_TORCH_VERSION_1_13, "TensorList 1.5 |float:7,2/2,1 ||"},
        {"()t.", SUTRA_TORCH_VERSION_2, "TensorList float:3,2/2,1 |||"},
        {"..t.", SUTRA_TORCH_VERSION_2, "||float:3,2/2,1 |"},
        {"t", SUTRA_TORCH_VERSION_2, "float:1,2/2,1 |||"},                              /* the operator was not ended */
        {"t.(t", SUTRA_TORCH_VERSION_2, "float:1,2/2,1 |TensorList -float:4,2/2,1 ||"}, /* nor the list */
        {"", SUTRA_TORCH_VERSION_2, "|||"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[400];
        struct sutra_inputs *inputs = encode(cases[i].letters, cases[i].hta_version);
        tell(inputs, 3, text, sizeof text);
        assert_string_equal(text, cases[i].expected);
        sutra_inputs_free(inputs);
    }
}

static void arrays_that_are_too_short_end_the_operator(void **state) {
    char text[400];
    struct sutra_inputs *inputs = encode("1t.t.", SUTRA_TORCH_VERSION_2);
    inputs->n_sizes--; /* the last tensor lacks a stride */
    tell(inputs, 3, text, sizeof text);
    assert_string_equal(text, "1.5 float:2,2/2,1 |||");
    inputs->n_tensors = 0;
    tell(inputs, 3, text, sizeof text);
    assert_string_equal(text, "1.5 |||");
    inputs->n_scalars = 0;
    tell(inputs, 3, text, sizeof text);
    assert_string_equal(text, "|||");
    sutra_inputs_free(inputs);
}

static void a_list_inside_of_a_list_is_refused(void **state) {
    struct sutra_error error;
    struct sutra_inputs *inputs = encode("(", SUTRA_TORCH_VERSION_2);
    assert_int_equal(sutra_inputs_add(inputs, SUTRA_INPUT_LIST, &error), SUTRA_USAGE);
    sutra_inputs_free(inputs);
}

/* ---- Autograd's numbers ---- */

static void numbers_move_up_to_what_evaluates(void **state) {
    /* thread:     0 evaluates, backward; 1 evaluates, (thread 0), backward; 0 evaluates, function; backward alone */
    const uint32_t thread[] = {0, 0, 1, 0, 1, 0, 0, 0};
    const uint8_t evaluates[] = {1, 0, 1, 0, 0, 1, 0, 0};
    const uint8_t scope[] = {0, 1, 0, 0, 1, 0, 0, 1};
    int64_t sequence[] = {-1, 5, -1, -1, 6, -1, 7, 8}, forward[] = {0, 1, 0, 0, 2, 0, 0, 1};
    const int64_t sequences[] = {5, 5, 6, -1, 6, -1, 7, 8}, forwards[] = {1, 1, 2, 0, 2, 0, 0, 1};
    assert_int_equal(sutra_autograd_plumb(8, 2, thread, scope, evaluates, sequence, forward, NULL), SUTRA_OK);
    assert_memory_equal(sequence, sequences, sizeof sequence);
    assert_memory_equal(forward, forwards, sizeof forward);
}

static void evaluation_is_recognized_by_name(void **state) {
    const char *name = "autograd::engine::evaluate_function: MmBackward0";
    assert_true(sutra_autograd_evaluates(name, strlen(name)));
    assert_false(sutra_autograd_evaluates(name + 1, strlen(name) - 1));
    assert_false(sutra_autograd_evaluates(name, 20));
}

/* ---- Activities, flows and links ---- */

static void each_event_takes_one_activity(void **state) {
    const int64_t index[] = {1, -1, -1, 0, 1, 7, -1};
    const uint8_t of_profiler[] = {1, 0, 1, 1, 1, 1, 0};
    const uint32_t expected[] = {1, 2, NONE, 0, NONE, NONE, 3};
    uint32_t event[7];
    struct sutra_reassociation report = {.size = sizeof report};
    assert_int_equal(sutra_reassociate(2, 7, index, of_profiler, event, &report, NULL), SUTRA_OK);
    assert_memory_equal(event, expected, sizeof event);
    assert_int_equal(report.n_found, 2);
    assert_int_equal(report.n_kineto, 2);
    assert_int_equal(report.n_lost, 1);
    assert_int_equal(report.n_repeated, 1);
    assert_int_equal(report.n_beyond, 1);
}

enum { S = SUTRA_FLOW_START, E = SUTRA_FLOW_END };

struct kineto_case {
    const char *name;
    uint64_t n;
    bool rocm;
    enum sutra_status status;
    uint8_t is_kineto[6], role[6];
    int64_t flow[6];
    uint32_t linked[6];
    uint32_t parent[6];
    int64_t tid[6]; /* before, row i has tid i */
    uint64_t n_ends_alone, n_repeated, n_in_cycles;
};

/* clang-format off */
static const struct kineto_case kineto_cases[] = {
    {.name = "flow_has_priority_over_link", .n = 3, .is_kineto = {0, 1, 1}, .role = {0, S, E}, .flow = {0, 9, 9},
     .linked = {NONE, 0, 0}, .parent = {NONE, 0, 1}, .tid = {0, 0, 0}},
    {.name = "unmatched_flow_end_uses_its_link", .n = 2, .is_kineto = {0, 1}, .role = {0, E}, .flow = {0, 9},
     .linked = {NONE, 0}, .parent = {NONE, 0}, .tid = {0, 0}, .n_ends_alone = 1},
    {.name = "event_without_flow_and_link_has_no_parent", .n = 2, .is_kineto = {0, 1}, .linked = {NONE, NONE},
     .parent = {NONE, NONE}, .tid = {0, 1}},
    {.name = "tids_are_inherited_in_any_order", .n = 4, .is_kineto = {1, 1, 1, 0}, .role = {E, S, 0, 0},
     .flow = {9, 9, 0, 0}, .linked = {NONE, 2, 3, NONE}, .parent = {1, 2, 3, NONE}, .tid = {3, 3, 3, 3}},
    {.name = "second_start_of_a_flow_is_an_error", .n = 2, .status = SUTRA_DATA, .is_kineto = {1, 1}, .role = {S, S},
     .flow = {9, 9}, .linked = {NONE, NONE}},
    {.name = "rocm_ignores_the_second_start_of_a_flow", .n = 3, .rocm = true, .is_kineto = {1, 1, 1}, .role = {S, S, E},
     .flow = {9, 9, 9}, .linked = {NONE, NONE, NONE}, .parent = {NONE, NONE, 0}, .tid = {0, 1, 0}, .n_repeated = 1},
    {.name = "cycle_of_links_is_broken", .n = 4, .is_kineto = {1, 1, 1, 1}, .linked = {1, 2, 0, 0},
     .parent = {1, 2, NONE, 0}, .tid = {2, 2, 2, 2}, .n_in_cycles = 1},
    {.name = "link_to_itself_is_removed", .n = 1, .is_kineto = {1}, .linked = {0}, .parent = {NONE}, .tid = {0},
     .n_in_cycles = 1},
    {.name = "links_of_profiler_events_are_ignored", .n = 2, .is_kineto = {0, 0}, .role = {S, E}, .flow = {9, 9},
     .linked = {1, 0}, .parent = {NONE, NONE}, .tid = {0, 1}},
};
/* clang-format on */

static void finds_parents_by_flow_and_link(void **state) {
    const struct kineto_case *of = *state;
    uint32_t parent[6];
    int64_t tid[6] = {0, 1, 2, 3, 4, 5};
    struct sutra_kineto_report report = {.size = sizeof report};
    const struct sutra_kineto_columns events = {.n = of->n,
                                                .is_kineto = of->is_kineto,
                                                .flow_role = of->role,
                                                .flow_id = of->flow,
                                                .linked = of->linked,
                                                .rocm = of->rocm};
    struct sutra_error error;
    assert_int_equal(sutra_kineto_parents(&events, parent, tid, &report, &error), of->status);
    if (of->status)
        return;
    assert_memory_equal(parent, of->parent, of->n * sizeof *parent);
    assert_memory_equal(tid, of->tid, of->n * sizeof *tid);
    assert_int_equal(report.n_ends_alone, of->n_ends_alone);
    assert_int_equal(report.n_repeated, of->n_repeated);
    assert_int_equal(report.n_in_cycles, of->n_in_cycles);
}

/* ---- Forward and backward ---- */

#define WIDE ((int64_t)1 << 48)

struct pair_case {
    const char *name;
    struct {
        int64_t tid, forward_tid, sequence, start, end;
    } operators[6];          /* ends where tid is below 0 */
    const char *expected[2]; /* by hta_version: "flow id:forward>backward", or "error" */
};

#define END                                                                                                            \
    { -1, 0, 0, 0, 0 }

static const struct pair_case pair_cases[] = {
    {"backward_operator_is_paired_with_its_forward_operator",
     {{1, 0, 7, 0, 5}, {2, 1, 7, 9, 10}, END},
     {"1:0>1 ", "1:0>1 "}},
    {"last_started_forward_operator_is_paired",
     {{1, 0, 7, 0, 5}, {1, 0, 7, 3, 4}, {2, 1, 7, 9, 10}, END},
     {"1:1>2 ", "1:1>2 "}},
    {"torch_versions_differ_for_two_backward_operators",
     {{1, 0, 7, 0, 1}, {1, 1, 7, 5, 9}, {1, 1, 7, 6, 8}, END},
     {"1:0>2 ", "2:0>2 "}},
    {"flow_ids_follow_the_order_of_pairs",
     {{1, 0, 1, 0, 1}, {1, 0, 2, 2, 3}, {2, 1, 2, 5, 6}, {2, 1, 1, 7, 8}, END},
     {"1:1>2 2:0>3 ", "1:1>2 2:0>3 "}},
    {"sequence_numbers_are_per_thread", {{1, 0, 7, 0, 1}, {2, 0, 7, 0, 1}, {1, 2, 7, 5, 6}, END}, {"1:1>2 ", "1:1>2 "}},
    {"operators_without_a_sequence_number_are_unpaired", {{1, 0, -1, 0, 1}, {1, 1, -1, 5, 6}, END}, {"", ""}},
    {"thread_0_is_no_forward_thread", {{0, 0, 7, 0, 1}, {1, 0, 7, 5, 6}, END}, {"", ""}},
    {"backward_operator_before_its_forward_operator_is_unpaired", {{2, 1, 7, 0, 1}, {1, 0, 7, 5, 6}, END}, {"", ""}},
    {"48_bits_of_a_sequence_number_count", {{1, 0, 7, 0, 1}, {2, 1, WIDE + 7, 5, 6}, END}, {"1:0>1 ", "1:0>1 "}},
    {"a_thread_number_of_17_bits_is_an_error", {{65536, 0, 7, 0, 1}, END}, {"error", "error"}},
    {"forward_thread_number_of_17_bits_is_an_error", {{1, 65536, 7, 0, 1}, END}, {"error", "error"}},
    {"thread_number_without_a_sequence_number_is_ignored", {{65536, 0, -1, 0, 1}, END}, {"", ""}},
};

static void pairs_forward_and_backward(void **state) {
    const struct pair_case *of = *state;
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 1);
    for (int hta_version = SUTRA_TORCH_VERSION_2; hta_version <= SUTRA_TORCH_VERSION_1_13; hta_version++) {
        int64_t tid[6], forward_tid[6], sequence[6], start[6], end[6];
        struct sutra_sequence_columns operators = {0, tid, forward_tid, sequence, start, end};
        struct sutra_flow_pair pairs[6];
        struct sutra_pair_report report = {.size = sizeof report};
        struct sutra_error error;
        char text[100] = "error";
        uint64_t n = 0;
        for (; of->operators[operators.n].tid >= 0; operators.n++) {
            tid[operators.n] = of->operators[operators.n].tid;
            forward_tid[operators.n] = of->operators[operators.n].forward_tid;
            sequence[operators.n] = of->operators[operators.n].sequence;
            start[operators.n] = of->operators[operators.n].start;
            end[operators.n] = of->operators[operators.n].end;
        }
        if (!sutra_forward_backward(context, &operators, (enum sutra_torch_version)hta_version, pairs, &n, &report,
                                    &error))
            *text = 0;
        for (uint64_t i = 0; i < n; i++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "%llu:%u>%u ",
                     (unsigned long long)pairs[i].flow_id, pairs[i].forward, pairs[i].backward);
        assert_string_equal(text, of->expected[hta_version]);
    }
    sutra_context_free(context);
}

/* ---- The tree of plain arrays ---- */

static void rows_may_come_in_any_order(void **state) {
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 1);
    const int64_t start[] = {5, 1, 2, 20}, end[] = {6, 30, 10, 25}, tid[] = {-3, -3, -3, 8};
    const int64_t forward[] = {0, 0, 0, -3};
    const uint32_t expected[] = {2, NONE, 1, 1};
    uint32_t parent[4];
    int64_t closing[4];
    const struct sutra_event_columns events = {4, start, end, tid, forward, NULL};
    assert_int_equal(sutra_event_parents(context, &events, parent, closing, NULL), SUTRA_OK);
    assert_memory_equal(parent, expected, sizeof parent);
    sutra_context_free(context);
}

static void times_beyond_2_to_62_are_refused(void **state) {
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 1);
    const int64_t start[] = {(int64_t)1 << 62}, end[] = {SUTRA_NO_END}, tid[] = {1};
    uint32_t parent[1];
    int64_t closing[1];
    struct sutra_error error;
    const struct sutra_event_columns events = {1, start, end, tid, NULL, NULL};
    assert_int_equal(sutra_event_parents(context, &events, parent, closing, &error), SUTRA_DATA);
    sutra_context_free(context);
}

static void storages_have_numbers_and_tensors_ids(void **state) {
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 1);
    const uint64_t tensor[] = {1, 2, 1}, storage[] = {7, 8, 8};
    const uint8_t use[] = {SUTRA_STORAGE_INPUT, SUTRA_STORAGE_INPUT, SUTRA_STORAGE_INPUT};
    const uint32_t numbers[] = {0, 1, 1}, groups[] = {0, 0, 0};
    uint32_t number[3], group[3];
    const struct sutra_storage_columns uses = {3, tensor, storage, NULL, use};
    assert_int_equal(sutra_tensor_groups(context, &uses, number, group, NULL), SUTRA_OK);
    assert_memory_equal(number, numbers, sizeof number);
    assert_memory_equal(group, groups, sizeof group);
    sutra_context_free(context);
}

/* ---- Exact times ---- */

static void times_are_exact(void **state) {
    static const struct {
        const char *text;
        bool fits;
        int64_t ns;
    } cases[] = {
        {"0", true, 0},
        {"-0.0", true, 0},
        {"1", true, 1000},
        {"1694128201435418.123", true, 1694128201435418123},
        {"4392810965944.664", true, 4392810965944664},
        {"-1.5", true, -1500},
        {"1e3", true, 1000000},
        {"1.5E+2", true, 150000},
        {"12345e-4", true, 1234},
        {"0.0005", true, 0},
        {"0.0015", true, 2},
        {"0.0025", true, 2},
        {"0.00250000000000000000000000000001", true, 3},
        {"0.0024999999999999999999999999999999", true, 2},
        {"0.00000000000000000000000001", true, 0},
        {"1e-400", true, 0},
        {"0e400", true, 0},
        {"4611686018427387.903", true, ((int64_t)1 << 62) - 1},
        {"4611686018427387.904", false, 0},
        {"1e400", false, 0},
        {"123456789012345678901", false, 0},
        {"NaN", false, 0},
        {"Infinity", false, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int64_t ns = 0;
        assert_int_equal(decimal_ns(cases[i].text, strlen(cases[i].text), &ns), cases[i].fits);
        assert_true(ns == cases[i].ns);
    }
}

static void times_with_three_decimals_are_read_exactly(void **state) {
    struct random random = {3};
    for (int i = 0; i < 100000; i++) {
        char text[64];
        int64_t ns = (int64_t)(random_next(&random) >> (2 + random_below(&random, 62))), back = -1;
        int length = snprintf(text, sizeof text, "%lld.%03d", (long long)(ns / 1000), (int)(ns % 1000));
        assert_true(decimal_ns(text, (size_t)length, &back));
        assert_true(back == ns);
    }
}

#define COUNT(table) (sizeof(table) / sizeof *(table))

#define RUN_TABLE(run, table, function)                                                                                \
    static int run(void) {                                                                                             \
        struct CMUnitTest tests[COUNT(table)];                                                                         \
        for (size_t i = 0; i < COUNT(table); i++)                                                                      \
            tests[i] = (struct CMUnitTest){(table)[i].name, function, NULL, NULL, (void *)&(table)[i]};                \
        return _cmocka_run_group_tests(#table, tests, COUNT(table), NULL, NULL);                                       \
    }
RUN_TABLE(run_kineto, kineto_cases, finds_parents_by_flow_and_link)
RUN_TABLE(run_pairs, pair_cases, pairs_forward_and_backward)

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_are_read_as_they_were_encoded),
        cmocka_unit_test(arrays_that_are_too_short_end_the_operator),
        cmocka_unit_test(a_list_inside_of_a_list_is_refused),
        cmocka_unit_test(numbers_move_up_to_what_evaluates),
        cmocka_unit_test(evaluation_is_recognized_by_name),
        cmocka_unit_test(each_event_takes_one_activity),
        cmocka_unit_test(rows_may_come_in_any_order),
        cmocka_unit_test(times_beyond_2_to_62_are_refused),
        cmocka_unit_test(storages_have_numbers_and_tensors_ids),
        cmocka_unit_test(times_are_exact),
        cmocka_unit_test(times_with_three_decimals_are_read_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL) + run_kineto() + run_pairs();
}
