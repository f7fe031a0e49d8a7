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

/* A context with a calibration of the stand-in's device: faster from these numbers of operators. */
static struct sutra_context *make(enum sutra_device device, uint64_t min_ops, uint64_t min_open_ops,
                                  struct heard *heard) {
    *heard = (struct heard){""};
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 1, .device = device, .note = on_note, .arg = heard);
    context->choice.calibration = (struct gpu_calibration){
        .is_known = true,
        .min_ops = min_ops,
        .min_open_ops = min_open_ops,
        .device = "stand-in 0",
        .driver = 13000,
    };
    return context;
}

static void auto_uses_the_cpu_if_nothing_is_matched(void **state) {
    struct heard heard;
    struct sutra_context *context = make(SUTRA_DEVICE_AUTO, 0, 0, &heard);
    context_choose_engine(context, NO_MATCHING);
    assert_string_equal(sutra_context_engine(context), "cpu");
    assert_string_equal(heard.notes, "computing on the CPU: --device auto uses a GPU for link and link-legacy only; "
                                     "--device cuda selects a GPU\n");
    sutra_context_free(context);
}

static void auto_uses_the_cpu_below_the_least_calibrated_size(void **state) {
    struct heard heard;
    struct sutra_context *context = make(SUTRA_DEVICE_AUTO, 0, 0, &heard);
    context_choose_engine(context, CALIBRATED_OPS_MIN - 1);
    assert_string_equal(sutra_context_engine(context), "cpu");
    context_choose_engine(context, CALIBRATED_OPS_MIN);
    assert_string_equal(sutra_context_engine(context), "cuda");
    sutra_context_free(context);
}

static void auto_uses_the_cpu_without_a_calibration(void **state) {
    struct heard heard;
    struct sutra_context *context = make(SUTRA_DEVICE_AUTO, NEVER_FASTER, NEVER_FASTER, &heard);
    strcpy(context->choice.calibration.why_cpu, "there is no calibration");
    context_choose_engine(context, UINT32_MAX);
    assert_string_equal(sutra_context_engine(context), "cpu");
    assert_string_equal(heard.notes, "computing on the CPU: there is no calibration; --device cuda selects a GPU\n");
    sutra_context_free(context);
}

static void auto_selects_the_faster_engine_per_operation(void **state) {
    struct heard heard;
    const struct sutra_stage *stages;
    struct sutra_context *context = make(SUTRA_DEVICE_AUTO, 50000, 20000, &heard);
    assert_string_equal(sutra_context_engine(context), "cpu");
    context_choose_engine(context, 49999);
    assert_string_equal(sutra_context_engine(context), "cpu");
    assert_int_equal(sutra_context_device_stages(context, &stages), 0);
    context_choose_engine(context, 50000);
    assert_string_equal(sutra_context_engine(context), "cuda");
    assert_int_equal(sutra_context_device_stages(context, &stages), CUDA_PHASES);
    assert_string_equal(stages[0].name, "up");
    context_choose_engine(context, 19999);
    assert_string_equal(sutra_context_engine(context), "cpu");
    context_choose_engine(context, 20000); /* the device is open */
    assert_string_equal(sutra_context_engine(context), "cuda");
    assert_string_equal(
        heard.notes,
        "computing on the CPU: 49,999 CPU operators; a GPU is calibrated as faster from 50,000 on; --device cuda "
        "selects a GPU\n"
        "opened\n"
        "computing on CUDA device 0: 50,000 CPU operators; calibrated as faster from 50,000 on\n"
        "computing on the CPU: 19,999 CPU operators; a GPU is calibrated as faster from 20,000 on; --device cuda "
        "selects a GPU\n"
        "computing on CUDA device 0: 20,000 CPU operators; calibrated as faster from 20,000 on\n");
    sutra_context_free(context);
}

static void auto_uses_an_open_device_if_opening_it_takes_too_long(void **state) {
    struct heard heard;
    struct engine *cuda;
    struct sutra_context *context = make(SUTRA_DEVICE_AUTO, NEVER_FASTER, 20000, &heard);
    context_choose_engine(context, 1000000);
    assert_string_equal(sutra_context_engine(context), "cpu");
    assert_string_equal(heard.notes,
                        "computing on the CPU: to open CUDA device 0 takes longer than it is calibrated to "
                        "save; --device cuda selects a GPU\n");
    assert_int_equal(context_device_acquire(context, &cuda, NULL), SUTRA_OK);
    context_device_release(context);
    context_choose_engine(context, 1000000);
    assert_string_equal(sutra_context_engine(context), "cuda");
    sutra_context_free(context);
}

static void auto_ignores_the_calibration_of_another_device(void **state) {
    struct heard heard;
    for (int other_name = 0; other_name < 2; other_name++) {
        struct sutra_context *context = make(SUTRA_DEVICE_AUTO, 10000, 10000, &heard);
        if (other_name)
            strcpy(context->choice.calibration.device, "stand-in 7");
        else
            context->choice.calibration.driver = 12040;
        context_choose_engine(context, 50000);
        assert_string_equal(sutra_context_engine(context), "cpu");
        assert_string_equal(heard.notes,
                            other_name
                                ? "computing on the CPU: the GPU is stand-in 0, calibrated was stand-in 7: run sutra "
                                  "devices --calibrate\n"
                                : "computing on the CPU: the driver has CUDA 13.0, calibrated was CUDA 12.4: run "
                                  "sutra devices --calibrate\n");
        sutra_context_free(context);
    }
}

static void auto_without_device_uses_the_cpu_and_reports_why(void **state) {
    struct heard heard;
    setenv("HOST_GPU_DEVICES", "0", 1);
    struct sutra_context *context = make(SUTRA_DEVICE_AUTO, 10000, 10000, &heard);
    context_choose_engine(context, 50000);
    setenv("HOST_GPU_DEVICES", "1", 1); /* a failed device is not tried again */
    context_choose_engine(context, 50000);
    assert_string_equal(sutra_context_engine(context), "cpu");
    assert_string_equal(heard.notes, "computing on the CPU: no CUDA device: a test has taken it away\n");
    sutra_context_free(context);
}

static void requested_cuda_is_used_for_any_size(void **state) {
    struct heard heard;
    struct sutra_context *context = make(SUTRA_DEVICE_CUDA, NEVER_FASTER, NEVER_FASTER, &heard);
    assert_string_equal(sutra_context_engine(context), "cuda");
    context_choose_engine(context, 1);
    assert_string_equal(sutra_context_engine(context), "cuda");
    assert_string_equal(heard.notes, "computing on CUDA device 0, as requested\n");
    sutra_context_free(context);
}

static void requested_cpu_is_used_for_any_size(void **state) {
    struct heard heard;
    struct sutra_context *context = make(SUTRA_DEVICE_CPU, 0, 0, &heard);
    context_choose_engine(context, UINT32_MAX);
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
    assert_int_equal(info.driver, 13000);
    info = (struct sutra_device_info){.size = offsetof(struct sutra_device_info, memory), .memory = 5};
    assert_int_equal(sutra_device_describe(0, &info, &error), SUTRA_OK);
    assert_int_equal(info.major, 1);
    assert_int_equal(info.memory, 5);
    assert_int_equal(sutra_device_describe(1, &info, &error), SUTRA_USAGE);
    assert_string_equal(error.message, "no CUDA device 1: the last one is 0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(auto_uses_the_cpu_if_nothing_is_matched),
        cmocka_unit_test(auto_uses_the_cpu_below_the_least_calibrated_size),
        cmocka_unit_test(auto_uses_the_cpu_without_a_calibration),
        cmocka_unit_test(auto_selects_the_faster_engine_per_operation),
        cmocka_unit_test(auto_uses_an_open_device_if_opening_it_takes_too_long),
        cmocka_unit_test(auto_ignores_the_calibration_of_another_device),
        cmocka_unit_test(auto_without_device_uses_the_cpu_and_reports_why),
        cmocka_unit_test(requested_cuda_is_used_for_any_size),
        cmocka_unit_test(requested_cpu_is_used_for_any_size),
        cmocka_unit_test(missing_device_is_an_error_with_a_remedy),
        cmocka_unit_test(options_without_the_device_number_are_accepted),
        cmocka_unit_test(devices_are_described_as_far_as_the_caller_knows_the_fields),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
