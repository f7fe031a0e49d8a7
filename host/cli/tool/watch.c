/*
 * watch.c - implements watch.h.
 */
#include "cli/tool/watch.h"

#include "cli/tool/interrupt.h"
#include "cli/tool/message.h"

#define SAMPLE_SECONDS 0.005

struct watch watch_start(bool progress, bool warnings, bool notes, const struct stage_share *stages, size_t n_inputs) {
    return (struct watch){
        .warnings = warnings,
        .notes = notes,
        .progress = progress_start(progress, stages, n_inputs),
        .memory = memory_start(),
    };
}

static void on_progress(void *arg, const char *stage, uint64_t done, uint64_t total) {
    struct watch *watch = arg;
    double now = clock_seconds();
    if (done == 0 || done >= total || now - watch->last_sample > SAMPLE_SECONDS) {
        memory_sample(&watch->memory);
        watch->last_sample = now;
    }
    progress_update(&watch->progress, stage, done, total);
}

static void on_warning(void *arg, const char *text) {
    struct watch *watch = arg;
    progress_clear(&watch->progress);
    if (watch->warnings)
        message_warn("%s", text);
}

static void on_note(void *arg, const char *text) {
    struct watch *watch = arg;
    progress_clear(&watch->progress);
    if (watch->notes)
        message_note(text);
}

static void on_temporary(void *arg, const char *path) {
    (void)arg;
    interrupt_guard_set(path);
}

void watch_attach(struct watch *watch, struct sutra_context_options *options) {
    options->progress = on_progress;
    options->warning = on_warning;
    options->note = on_note;
    options->temporary = on_temporary;
    options->arg = watch;
}
