/*
 * context.c - implements context.h: contexts, stages, warnings and notes, the choice of the engine, and the
 * CUDA device that contexts share.
 */
#include <inttypes.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/options.h"
#include "base/shared.h"
#include "context/context.h"
#include "cuda/engine_cuda.h"
#include "sutra/device.h"
#include "text/quantities.h"

/* ---- CUDA devices ---- */

uint32_t sutra_device_count(struct sutra_error *error) {
    char why[160];
    uint32_t n = cuda_device_count(why, sizeof why);
    if (n == 0)
        error_set(error, SUTRA_UNAVAILABLE, "no CUDA device: %s", why);
    return n;
}

enum sutra_status sutra_device_describe(uint32_t number, struct sutra_device_info *device, struct sutra_error *error) {
    struct cuda_device found;
    struct sutra_device_info info = {0};
    uint32_t n = sutra_device_count(error);
    if (n == 0)
        return SUTRA_UNAVAILABLE;
    if (number >= n)
        return error_set(error, SUTRA_USAGE, "no CUDA device %u: the last one is %u", number, n - 1);
    cuda_device_describe(number, &found);
    _Static_assert(sizeof info.name == sizeof found.name && sizeof info.refused == sizeof found.refused, "all of it");
    memcpy(info.name, found.name, sizeof info.name);
    memcpy(info.refused, found.refused, sizeof info.refused);
    info.major = (uint32_t)found.major;
    info.minor = (uint32_t)found.minor;
    info.n_processors = found.n_processors;
    info.driver = found.driver;
    info.memory = found.memory;
    info.free_memory = found.free_memory;
    report_give(device, &info, sizeof info);
    return SUTRA_OK;
}

/* ---- Notes ---- */

/* Sends a line to a callback, after a file name, or NULL. */
static void send_line(void (*callback)(void *, const char *), void *arg, const char *file, const char *format,
                      va_list arguments) {
    char text[1024];
    if (!callback)
        return;
    int n = file ? snprintf(text, sizeof text, "%s: ", file) : 0;
    size_t begin = n > 0 && (size_t)n < sizeof text ? (size_t)n : 0;
    vsnprintf(text + begin, sizeof text - begin, format, arguments);
    callback(arg, text);
}

void context_warn(struct sutra_context *context, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    send_line(context->options.warning, context->options.arg, context->warns_of, format, arguments);
    va_end(arguments);
}

void context_note(struct sutra_context *context, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    send_line(context->options.note, context->options.arg, NULL, format, arguments);
    va_end(arguments);
}

/* ---- The CUDA device ---- */

#define WITHOUT_CUDA "; without --device cuda, sutra computes on the CPU"

/* The mutex is recursive. It is locked for each step, and from load() of a table to load(NULL), so that the columns of
 * one table remain on the device for all its steps. A step uses the threads and callbacks of the step's context. */
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

static struct shared_device *device_create(struct sutra_context *owner) {
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

static void device_free(struct shared_device *device) {
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

static void device_open_begin(struct shared_device *device) {
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

enum sutra_status context_device_acquire(struct sutra_context *context, struct engine **cuda,
                                         struct sutra_error *error) {
    struct shared_device *device = context->device;
    pthread_mutex_lock(&device->mutex);
    if (!device->is_opened)
        wait_until_open(device, context);
    const enum sutra_status status = device->status;
    if (status) {
        error_set(error, status, "%s%s", device->error.message,
                  context->options.device == SUTRA_DEVICE_CUDA ? WITHOUT_CUDA : "");
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

static struct engine device_engine(struct sutra_context *context) {
#define STEP_ENTRY(name, what, pieces) .name = name,
    return (struct engine){.name = "cuda", .state = context, .load = load, STEPS(STEP_ENTRY)};
}

void context_share_device(struct sutra_context *context, const struct sutra_context *owner) {
    device_free(context->device);
    context->device = owner->device;
    context->owns_device = false;
    context->options.device = owner->options.device;
    context->options.device_number = owner->options.device_number;
    if (context->options.device == SUTRA_DEVICE_CUDA)
        context->engine = device_engine(context);
}

static bool device_is_open(struct shared_device *device) {
    pthread_mutex_lock(&device->mutex);
    bool is_open = device->is_opened && !device->status;
    pthread_mutex_unlock(&device->mutex);
    return is_open;
}

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
    if (!device_is_open(device))
        return false;
    pthread_mutex_lock(&device->mutex);
    cuda_engine_counts(&device->cuda, counts);
    pthread_mutex_unlock(&device->mutex);
    return true;
}

size_t sutra_context_device_stages(struct sutra_context *context, const struct sutra_stage **stages) {
    struct shared_device *device = context->device;
    struct sutra_stage *to = context->choice.stages;
    double seconds[CUDA_PHASES];
    *stages = to;
    if (!device_is_open(device))
        return 0;
    pthread_mutex_lock(&device->mutex);
    cuda_engine_seconds(&device->cuda, seconds);
    pthread_mutex_unlock(&device->mutex);
    for (size_t i = 0; i < CUDA_PHASES; i++)
        to[i] = (struct sutra_stage){cuda_phase_names[i], seconds[i]};
    return CUDA_PHASES;
}

/* ---- Contexts and stages ---- */

#define THREADS_MAX 256
#define PART_BYTES  ((size_t)1 << 18)

const char *sutra_version(void) {
    return SUTRA_VERSION;
}

static void report_progress(struct sutra_context *context, uint64_t done) {
    if (context->options.progress && context->stage)
        context->options.progress(context->options.arg, context->stage, done, context->stage_total);
}

/* The pool has started task i of n: the progress in the stage is about i/n. */
static void on_tick(void *arg, size_t i, size_t n) {
    struct sutra_context *context = arg;
    report_progress(context, (uint64_t)((double)context->stage_total * ((double)i / (double)n)));
}

/* A requested device that does not exist is an error now; opening it takes longer. */
static enum sutra_status add_device(struct sutra_context *context, struct sutra_error *error) {
    const struct sutra_context_options *options = &context->options;
    struct sutra_error why;
    enum sutra_status status =
        options->device == SUTRA_DEVICE_CUDA ? cuda_device_check(options->device_number, &why) : SUTRA_OK;
    if (status)
        return error_set(error, status, "%s%s", why.message, WITHOUT_CUDA);
    context->device = device_create(context);
    TRY_ALLOC(context->device, error);
    context->owns_device = true;
    if (options->device == SUTRA_DEVICE_CUDA) {
        context->engine = device_engine(context);
        device_open_begin(context->device);
    }
    return SUTRA_OK;
}

enum sutra_status sutra_context_create(const struct sutra_context_options *options, struct sutra_context **context,
                                       struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_context_options, arg);
    struct sutra_context_options taken;
    enum sutra_status status = options_copy(&form, options, &taken, error);
    if (status)
        return status;
    struct sutra_context *made = calloc(1, sizeof *made);
    TRY_ALLOC(made, error);
    made->options = taken;
    made->part_bytes = PART_BYTES;
    unsigned n_threads = taken.n_threads;
    if (n_threads == 0) { /* one per CPU that this process may use */
        cpu_set_t set;
        int n = sched_getaffinity(0, sizeof set, &set) ? 1 : CPU_COUNT(&set);
        n_threads = (unsigned)CLAMP(n, 1, THREADS_MAX);
    }
    if (n_threads > THREADS_MAX)
        status =
            error_set(error, SUTRA_USAGE, "%u threads requested, at most %d are supported", n_threads, THREADS_MAX);
    else if (!(made->pool = pool_create(n_threads)))
        status = error_set(error, SUTRA_SYSTEM, "cannot start %u threads", n_threads);
    else if (!values_init(&made->values))
        status = error_memory(error);
    if (status) {
        pool_free(made->pool);
        free(made);
        return status;
    }
    made->choice.cpu = made->engine = engine_cpu(made->pool);
    status = add_device(made, error);
    if (status) {
        sutra_context_free(made);
        return status;
    }
    pool_on_tick(made->pool, on_tick, made);
    *context = made;
    return SUTRA_OK;
}

void sutra_context_free(struct sutra_context *context) {
    if (!context)
        return;
    if (context->owns_device)
        device_free(context->device);
    pool_free(context->pool);
    values_free(&context->values);
    free(context);
}

const struct chosen_window *chosen_window_of(const struct chosen_window *window, const char *path, int64_t *rank) {
    for (; window; window = window->other) {
        size_t i;
        BISECT(i, window->n, strcmp(window->paths[window->sorted[i]], path) < 0);
        if (i < window->n && strcmp(window->paths[window->sorted[i]], path) == 0) {
            *rank = window->first_rank + window->ranks[window->sorted[i]];
            return window;
        }
    }
    return NULL;
}

void stage_begin(struct sutra_context *context, const char *name, uint64_t total) {
    if (context->stage_held)
        return;
    stage_end(context);
    context->stage = name;
    context->stage_total = total;
    context->stage_began = clock_seconds();
    report_progress(context, 0);
}

void stage_end(struct sutra_context *context) {
    if (!context->stage || context->stage_held)
        return;
    report_progress(context, context->stage_total);
    double seconds = clock_seconds() - context->stage_began;
    size_t i = 0;
    while (i < context->n_stages && strcmp(context->stages[i].name, context->stage) != 0)
        i++;
    if (i < STAGES_MAX) {
        context->stages[i].name = context->stage;
        context->stages[i].seconds += seconds;
        if (i == context->n_stages)
            context->n_stages++;
    }
    context->stage = NULL;
}

void sutra_context_cancel(struct sutra_context *context, bool cancel) {
    pool_cancel(context->pool, cancel);
}

bool context_is_cancelled(const struct sutra_context *context) {
    return pool_is_cancelled(context->pool);
}

enum sutra_status context_check_cancelled(const struct sutra_context *context, struct sutra_error *error) {
    return context_is_cancelled(context) ? error_set(error, SUTRA_CANCELLED, "cancelled") : SUTRA_OK;
}

enum sutra_status context_early_end_error(const struct sutra_context *context, struct sutra_error *error) {
    TRY(context_check_cancelled(context, error));
    return error_memory(error);
}

size_t sutra_context_stages(const struct sutra_context *context, const struct sutra_stage **stages) {
    *stages = context->stages;
    return context->n_stages;
}

/* ---- The choice between the CPU and a CUDA device ---- */

bool gpu_calibration_differs(const struct gpu_calibration *calibration, const char *device, uint32_t driver, char *why,
                             size_t size) {
    if (strcmp(calibration->device, device) != 0)
        snprintf(why, size, "the GPU is %s, calibrated was %s: run sutra devices --calibrate", device,
                 calibration->device);
    else if (calibration->driver != driver)
        snprintf(why, size, "the driver has CUDA %u.%u, calibrated was CUDA %u.%u: run sutra devices --calibrate",
                 driver / 1000, driver % 1000 / 10, calibration->driver / 1000, calibration->driver % 1000 / 10);
    else
        return false;
    return true;
}

/* Reports the engine, unless the last note was the same. */
__attribute__((format(printf, 2, 3))) static void note_engine(struct sutra_context *context, const char *format, ...) {
    char text[sizeof context->choice.last_note];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (strcmp(text, context->choice.last_note) != 0)
        context_note(context, "%s", text);
    memcpy(context->choice.last_note, text, sizeof text);
}

void context_choose_engine(struct sutra_context *context, uint64_t n_ops) {
    struct engine_choice *choice = &context->choice;
    const struct gpu_calibration *calibration = &choice->calibration;
    const uint32_t number = context->options.device_number;
    if (context->options.device == SUTRA_DEVICE_CPU) {
        note_engine(context, "computing on the CPU, as requested");
        return;
    }
    if (context->options.device != SUTRA_DEVICE_AUTO) {
        note_engine(context, "computing on CUDA device %" PRIu32 ", as requested", number);
        return;
    }

    /* Reasons for the CPU that are known without the driver. */
    context->engine = choice->cpu;
    const uint64_t min_ops = device_is_open(context->device) ? calibration->min_open_ops : calibration->min_ops;
    if (n_ops == NO_MATCHING) {
        note_engine(context, "computing on the CPU: --device auto uses a GPU for link and link-legacy only; --device "
                             "cuda selects a GPU");
        return;
    }
    if (n_ops < CALIBRATED_OPS_MIN) {
        note_engine(context,
                    "computing on the CPU: the trace has fewer than 10,000 CPU operators; --device cuda selects a GPU");
        return;
    }
    if (*calibration->why_cpu) {
        note_engine(context, "computing on the CPU: %s; --device cuda selects a GPU", calibration->why_cpu);
        return;
    }
    if (min_ops == NEVER_FASTER) {
        note_engine(context,
                    "computing on the CPU: to open CUDA device %" PRIu32
                    " takes longer than it is calibrated to save; --device cuda selects a GPU",
                    number);
        return;
    }
    if (n_ops < min_ops) {
        note_engine(context,
                    "computing on the CPU: %s CPU operators; a GPU is calibrated as faster from %s on; --device cuda "
                    "selects a GPU",
                    count_text(n_ops).text, count_text(min_ops).text);
        return;
    }

    /* Compare and open the device only once. */
    if (!choice->tried) {
        struct cuda_device found;
        struct sutra_error error;
        struct engine *cuda;
        char why[160];
        choice->tried = true;
        if (number < cuda_device_count(why, sizeof why)) {
            cuda_device_describe(number, &found);
            gpu_calibration_differs(calibration, found.name, found.driver, choice->refused, sizeof choice->refused);
        }
        if (!*choice->refused && context_device_acquire(context, &cuda, &error))
            snprintf(choice->refused, sizeof choice->refused, "%s", error.message);
        else if (!*choice->refused)
            context_device_release(context);
    }
    if (*choice->refused) {
        note_engine(context, "computing on the CPU: %s", choice->refused);
        return;
    }
    context->engine = device_engine(context);
    note_engine(context, "computing on CUDA device %" PRIu32 ": %s CPU operators; calibrated as faster from %s on",
                number, count_text(n_ops).text, count_text(min_ops).text);
}
