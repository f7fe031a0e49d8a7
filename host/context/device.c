/*
 * device.c - the CUDA device of a context, or of several contexts that work concurrently: opening in the background,
 * exclusive use, and its counts and times.
 *
 * A recursive mutex is locked for each step, and from load() of a table to load(NULL), so that the columns of one table
 * remain on the device for all its steps. The device runs each step with the threads and callbacks of the step's
 * context.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/shared.h"
#include "context/context.h"

struct shared_device {
    struct sutra_context *owner;
    struct background_call opening;
    bool is_opening, is_opened; /* began to open; opened, or failed to */
    double open_seconds;
    struct engine cuda;
    enum sutra_status status; /* of the opening */
    struct sutra_error error; /* with `status` */
    bool serves_others;       /* other contexts than the owner used it */
    pthread_mutex_t mutex;    /* for the device, and all members above */
};

static void on_warning(void *arg, const char *message) {
    context_warn(arg, "%s", message);
}

static void on_note(void *arg, const char *message) {
    context_note(arg, "%s", message);
}

static struct cuda_engine_options engine_options(struct sutra_context *context) {
    return (struct cuda_engine_options){
        .device = context->options.device_number,
        .memory = context->options.device_memory,
        .may_fall_back = context->options.device != SUTRA_DEVICE_CUDA,
        .warn = on_warning,
        .note = on_note,
        .arg = context,
    };
}

/* ---- Opening ---- */

struct shared_device *device_create(struct sutra_context *owner) {
    struct shared_device *device = calloc(1, sizeof *device);
    pthread_mutexattr_t recursive;
    if (!device)
        return NULL;
    device->owner = owner;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&device->mutex, &recursive);
    pthread_mutexattr_destroy(&recursive);
    return device;
}

void device_free(struct shared_device *device) {
    if (!device)
        return;
    if (device->is_opening && !device->is_opened)
        background_call_end(&device->opening);
    if (device->cuda.name)
        cuda_engine_close(&device->cuda);
    pthread_mutex_destroy(&device->mutex);
    free(device);
}

static void open_device(void *arg) {
    struct shared_device *device = arg;
    const struct cuda_engine_options options = engine_options(device->owner);
    double begin = clock_seconds();
    device->status = cuda_engine_open(device->owner->pool, &options, &device->cuda, &device->error);
    if (!device->status)
        cuda_engine_time(&device->cuda);
    device->open_seconds = clock_seconds() - begin;
}

void device_open_begin(struct shared_device *device) {
    device->is_opening = true;
    background_call_begin(&device->opening, true, open_device, device);
}

/* Waits until the device is open; with the mutex locked. */
static void wait_until_open(struct shared_device *device, struct sutra_context *context) {
    if (!device->is_opening)
        device_open_begin(device);
    double begin = clock_seconds();
    background_call_end(&device->opening);
    device->is_opened = true;
    double waited = MIN(clock_seconds() - begin, device->open_seconds);
    if (!device->status)
        context_note(context, "opened CUDA device %" PRIu32 " in %.3f s, %.3f s of it in the background",
                     device->owner->options.device_number, device->open_seconds, device->open_seconds - waited);
}

void context_share_device(struct sutra_context *context, const struct sutra_context *owner) {
    device_free(context->device);
    context->device = owner->device;
    context->owns_device = false;
    context->options.device = owner->options.device;
    context->options.device_number = owner->options.device_number;
    context->choice.faster_from = owner->choice.faster_from;
    context->choice.cuda = context_device_engine(context);
    if (context->options.device == SUTRA_DEVICE_CUDA)
        context->engine = context->choice.cuda;
}

/* ---- Use ---- */

enum sutra_status context_device_acquire(struct sutra_context *context, struct engine **cuda,
                                         struct sutra_error *error) {
    struct shared_device *device = context->device;
    pthread_mutex_lock(&device->mutex);
    if (!device->is_opened)
        wait_until_open(device, context);
    if (device->status) {
        enum sutra_status status = error_copy(error, device->status, &device->error);
        pthread_mutex_unlock(&device->mutex);
        return status;
    }
    const struct cuda_engine_options options = engine_options(context);
    cuda_engine_serve(&device->cuda, context->pool, &options);
    device->serves_others |= context != device->owner;
    *cuda = &device->cuda;
    return SUTRA_OK;
}

void context_device_release(struct sutra_context *context) {
    pthread_mutex_unlock(&context->device->mutex);
}

/* A device that cannot be opened is the error of the first step. */
static void load(void *state, const struct cpu_ops *ops) {
    struct sutra_context *context = state;
    struct engine *cuda;
    if (ops && !context->keeps_device)
        context->keeps_device = context_device_acquire(context, &cuda, NULL) == SUTRA_OK;
    if (!context->keeps_device)
        return;
    cuda = &context->device->cuda;
    cuda->load(cuda->state, ops);
    if (!ops) {
        context->keeps_device = false;
        context_device_release(context);
    }
}

#define STEP_ON_DEVICE(name, what, pieces)                                                                             \
    static enum sutra_status name(void *state, struct name##_step *step, struct sutra_error *error) {                  \
        struct engine *cuda;                                                                                           \
        TRY(context_device_acquire(state, &cuda, error));                                                              \
        enum sutra_status status = cuda->name(cuda->state, step, error);                                               \
        context_device_release(state);                                                                                 \
        return status;                                                                                                 \
    }
STEPS(STEP_ON_DEVICE)

struct engine context_device_engine(struct sutra_context *context) {
#define STEP_ENTRY(name, what, pieces) .name = name,
    return (struct engine){.name = "cuda", .state = context, .load = load, STEPS(STEP_ENTRY)};
}

/* ---- Counts and times ---- */

const char *sutra_context_engine(const struct sutra_context *context) {
    bool serves_others = false;
    if (context->owns_device) {
        pthread_mutex_lock(&context->device->mutex);
        serves_others = context->device->serves_others;
        pthread_mutex_unlock(&context->device->mutex);
    }
    return serves_others ? "cuda" : context->engine.name;
}

bool context_device_counts(const struct sutra_context *context, struct cuda_engine_counts *counts) {
    struct shared_device *device = context->device;
    *counts = (struct cuda_engine_counts){0};
    pthread_mutex_lock(&device->mutex);
    bool is_open = device->is_opened && !device->status;
    if (is_open)
        cuda_engine_counts(&device->cuda, counts);
    pthread_mutex_unlock(&device->mutex);
    return is_open;
}

size_t sutra_context_device_stages(struct sutra_context *context, const struct sutra_stage **stages) {
    struct shared_device *device = context->device;
    struct sutra_stage *to = context->choice.stages;
    double seconds[CUDA_PHASES];
    *stages = to;
    pthread_mutex_lock(&device->mutex);
    bool is_open = device->is_opened && !device->status;
    if (is_open)
        cuda_engine_seconds(&device->cuda, seconds);
    pthread_mutex_unlock(&device->mutex);
    for (size_t i = 0; i < CUDA_PHASES && is_open; i++)
        to[i] = (struct sutra_stage){cuda_phase_names[i], seconds[i]};
    return is_open ? CUDA_PHASES : 0;
}
