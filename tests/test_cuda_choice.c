/*
 * test_cuda_choice.c - tests the choice of the engine of a context, and the notes and errors that report it.
 */
#include "context/context.h"
#include "sutra/sutra.h"
#include "unit.h"

struct heard {
    char notes[2000];
};

/* The time to open the device varies. */
static void on_note(void *arg, const char *message) {
    struct heard *heard = arg;
    if (strncmp(message, "opened ", strlen("opened ")) == 0)
        message = "opened";
    strncat(heard->notes, message, sizeof heard->notes - strlen(heard->notes) - 2);
    strncat(heard->notes, "\n", 2);
}

static struct sutra_context *make(enum sutra_device device, uint64_t faster_from, struct heard *heard) {
    *heard = (struct heard){""};
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 1, .device = device, .note = on_note, .arg = heard);
    context->choice.faster_from = faster_from;
    return context;
}

static void gpu_is_used_only_above_the_measured_size(void **state) {
    assert_false(gpu_is_faster(0, 1));
    assert_false(gpu_is_faster(999, 1000));
    assert_true(gpu_is_faster(1000, 1000));
    assert_true(gpu_is_faster(0, 0));
    assert_false(gpu_is_faster(UINT64_MAX, NEVER_FASTER));
}

static void auto_uses_the_cpu_because_no_command_is_faster_on_a_gpu(void **state) {
    struct heard heard;
    struct sutra_context *context = make(SUTRA_DEVICE_AUTO, GPU_FASTER_EVENTS, &heard);
    context_expect(context, UINT32_MAX);
    assert_string_equal(sutra_context_engine(context), "cpu");
    assert_non_null(strstr(heard.notes, "computing on the CPU: no command was reliably faster on a GPU"));
    sutra_context_free(context);
}

static void auto_selects_the_faster_engine_per_operation(void **state) {
    struct heard heard;
    const struct sutra_stage *stages;
    struct sutra_context *context = make(SUTRA_DEVICE_AUTO, 1000, &heard);
    assert_string_equal(sutra_context_engine(context), "cpu");
    context_expect(context, 999);
    assert_string_equal(sutra_context_engine(context), "cpu");
    assert_int_equal(sutra_context_device_stages(context, &stages), 0);
    context_expect(context, 1000);
    assert_string_equal(sutra_context_engine(context), "cuda");
    assert_int_equal(sutra_context_device_stages(context, &stages), CUDA_PHASES);
    assert_string_equal(stages[0].name, "up");
    context_expect(context, 999);
    assert_string_equal(sutra_context_engine(context), "cpu");
    context_expect(context, 5000);
    assert_string_equal(sutra_context_engine(context), "cuda");
    assert_string_equal(
        heard.notes,
        "computing on the CPU: a GPU is expected to be faster from 1000 events on; --device cuda selects a GPU\n"
        "opened\n"
        "computing on CUDA device 0: expected to be faster with 1000 events\n"
        "computing on the CPU: a GPU is expected to be faster from 1000 events on; --device cuda selects a GPU\n"
        "computing on CUDA device 0: expected to be faster with 5000 events\n");
    sutra_context_free(context);
}

static void auto_without_device_uses_the_cpu_and_reports_why(void **state) {
    struct heard heard;
    setenv("HOST_GPU_DEVICES", "0", 1);
    struct sutra_context *context = make(SUTRA_DEVICE_AUTO, 1000, &heard);
    context_expect(context, 1000);
    setenv("HOST_GPU_DEVICES", "1", 1); /* a failed device is not tried again */
    context_expect(context, 1000);
    assert_string_equal(sutra_context_engine(context), "cpu");
    assert_string_equal(heard.notes, "computing on the CPU: no CUDA device: a test has taken it away\n");
    sutra_context_free(context);
}

static void requested_cuda_is_used_for_any_size(void **state) {
    struct heard heard;
    struct sutra_context *context = make(SUTRA_DEVICE_CUDA, NEVER_FASTER, &heard);
    assert_string_equal(sutra_context_engine(context), "cuda");
    context_expect(context, 1);
    assert_string_equal(sutra_context_engine(context), "cuda");
    assert_string_equal(heard.notes, "computing on CUDA device 0, as requested\n");
    sutra_context_free(context);
}

static void requested_cpu_is_used_for_any_size(void **state) {
    struct heard heard;
    struct sutra_context *context = make(SUTRA_DEVICE_CPU, 0, &heard);
    context_expect(context, UINT32_MAX);
    assert_string_equal(sutra_context_engine(context), "cpu");
    sutra_context_free(context);
}

static void missing_device_is_an_error_with_a_remedy(void **state) {
    struct sutra_context *context = NULL;
    struct sutra_error error;
    struct sutra_context_options options = {.size = sizeof options, .device = SUTRA_DEVICE_CUDA, .device_number = 1};
    assert_int_equal(sutra_context_create(&options, &context, &error), SUTRA_UNAVAILABLE);
    assert_null(context);
    assert_string_equal(error.message,
                        "no CUDA device of this number; without --device cuda, sutra computes on the CPU");
}

static void options_without_the_device_number_are_accepted(void **state) {
    struct sutra_context *context = NULL;
    struct sutra_context_options options;
    memset(&options, 0xff, sizeof options);
    memset(&options, 0, offsetof(struct sutra_context_options, device_number));
    options.size = offsetof(struct sutra_context_options, device_number);
    options.device = SUTRA_DEVICE_CUDA;
    assert_int_equal(sutra_context_create(&options, &context, NULL), SUTRA_OK);
    assert_string_equal(sutra_context_engine(context), "cuda");
    sutra_context_free(context);
}

static void devices_are_described_as_far_as_the_caller_knows_the_fields(void **state) {
    struct sutra_error error;
    struct sutra_device_info info = {.size = sizeof info};
    assert_int_equal(sutra_device_count(NULL), 1);
    assert_int_equal(sutra_device_describe(0, &info, &error), SUTRA_OK);
    assert_string_equal(info.name, "stand-in 0");
    assert_string_equal(info.refused, "");
    assert_int_equal(info.free_memory, 1500000000);
    info = (struct sutra_device_info){.size = offsetof(struct sutra_device_info, memory), .memory = 5};
    assert_int_equal(sutra_device_describe(0, &info, &error), SUTRA_OK);
    assert_int_equal(info.major, 1);
    assert_int_equal(info.memory, 5);
    assert_int_equal(sutra_device_describe(1, &info, &error), SUTRA_USAGE);
    assert_string_equal(error.message, "no CUDA device 1: the last one is 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpu_is_used_only_above_the_measured_size),
        cmocka_unit_test(auto_uses_the_cpu_because_no_command_is_faster_on_a_gpu),
        cmocka_unit_test(auto_selects_the_faster_engine_per_operation),
        cmocka_unit_test(auto_without_device_uses_the_cpu_and_reports_why),
        cmocka_unit_test(requested_cuda_is_used_for_any_size),
        cmocka_unit_test(requested_cpu_is_used_for_any_size),
        cmocka_unit_test(missing_device_is_an_error_with_a_remedy),
        cmocka_unit_test(options_without_the_device_number_are_accepted),
        cmocka_unit_test(devices_are_described_as_far_as_the_caller_knows_the_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
