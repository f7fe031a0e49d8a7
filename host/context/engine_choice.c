/*
 * engine_choice.c - choosing between the CPU and a CUDA device, and telling why.
 */
#include "context/engine_choice.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "context/context.h"

static void on_warning(void *arg, const char *message) {
    context_warn(arg, "%s", message);
}

static void on_note(void *arg, const char *message) {
    context_note(arg, "%s", message);
}

static enum sutra_status open_cuda(struct sutra_context *context, bool may_fall_back, struct sutra_error *error) {
    struct cuda_engine_options options = {
        .device = context->options.device_number,
        .memory = context->options.device_memory,
        .may_fall_back = may_fall_back,
        .warn = on_warning,
        .note = on_note,
        .arg = context,
    };
    enum sutra_status status = cuda_engine_open(context->pool, &options, &context->choice.cuda, error);
    if (!status)
        cuda_engine_time(&context->choice.cuda);
    return status;
}

enum sutra_status engine_choice_begin(struct sutra_context *context, struct sutra_error *error) {
    struct engine_choice *choice = &context->choice;
    choice->cpu = engine_cpu(context->pool);
    choice->faster_from = GPU_FASTER_EVENTS;
    context->engine = choice->cpu;
    if (context->options.device != SUTRA_DEVICE_CUDA)
        return SUTRA_OK;
    struct sutra_error why;
    enum sutra_status status = open_cuda(context, false, &why);
    if (status)
        return error_set(error, status, "%s; without --device cuda, sutra computes on the CPU", why.message);
    context->engine = choice->cuda;
    return SUTRA_OK;
}

void engine_choice_end(struct sutra_context *context) {
    if (context->choice.cuda.name)
        cuda_engine_close(&context->choice.cuda);
}

/* A device that could not be opened once is not tried again. */
static bool can_open(struct sutra_context *context) {
    struct engine_choice *choice = &context->choice;
    struct sutra_error error;
    if (!choice->tried && open_cuda(context, true, &error))
        snprintf(choice->refused, sizeof choice->refused, "%s", error.message);
    choice->tried = true;
    return choice->cuda.name != NULL;
}

void gpu_faster_text(uint64_t faster_from, char *text, size_t size) {
    if (faster_from == NEVER_FASTER)
        snprintf(text, size, "the number of events from which a GPU is faster is not calibrated yet");
    else
        snprintf(text, size, "a GPU is expected to be faster from %" PRIu64 " events on", faster_from);
}

/* Notes what computes; not once more after the same. */
__attribute__((format(printf, 2, 3))) static void tell(struct sutra_context *context, const char *format, ...) {
    char text[sizeof context->choice.told];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (strcmp(text, context->choice.told) != 0)
        context_note(context, "%s", text);
    memcpy(context->choice.told, text, sizeof text);
}

static void choose(struct sutra_context *context, uint64_t n_events) {
    struct engine_choice *choice = &context->choice;
    char why[160];
    context->engine = choice->cpu;
    if (!gpu_is_faster(n_events, choice->faster_from)) {
        gpu_faster_text(choice->faster_from, why, sizeof why);
        tell(context, "computing on the CPU: %s; --device cuda selects a GPU", why);
    } else if (!can_open(context)) {
        tell(context, "computing on the CPU: %s", choice->refused);
    } else {
        context->engine = choice->cuda;
        tell(context, "computing on CUDA device %" PRIu32 ": expected to be faster with %" PRIu64 " events",
             context->options.device_number, n_events);
    }
}

void context_expect(struct sutra_context *context, uint64_t n_events) {
    if (context->options.device == SUTRA_DEVICE_AUTO)
        choose(context, n_events);
    else if (context->options.device == SUTRA_DEVICE_CPU)
        tell(context, "computing on the CPU, as requested");
    else
        tell(context, "computing on CUDA device %" PRIu32 ", as requested", context->options.device_number);
}

size_t sutra_context_device_stages(struct sutra_context *context, const struct sutra_stage **stages) {
    struct engine_choice *choice = &context->choice;
    double seconds[CUDA_PHASES];
    *stages = choice->stages;
    if (!choice->cuda.name)
        return 0;
    cuda_engine_seconds(&choice->cuda, seconds);
    for (size_t i = 0; i < CUDA_PHASES; i++)
        choice->stages[i] = (struct sutra_stage){cuda_phase_names[i], seconds[i]};
    return CUDA_PHASES;
}
