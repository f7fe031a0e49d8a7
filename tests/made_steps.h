/*
 * made_steps.h - synthetic device traces with realistic launches and queues, written line by line:
 *
 *     step_begin(&made);
 *     host(&made, "aten::relu", 50);            the host computes for 50 us
 *     launch(&made, "gemm", 200);               a call of 5 us; the kernel starts 3 us after it, or when the queue is empty
 *     wait_for_device(&made, "cudaStreamSynchronize");
 *     step_end(&made);
 *
 * Times are whole microseconds.
 */
#ifndef TESTS_MADE_STEPS_H
#define TESTS_MADE_STEPS_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define CALL_US  5
#define DELAY_US 3

/* A head whose device's peaks and links are known. */
#define H100 "\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA H100 80GB HBM3\",\"computeMajor\":9}],"

struct made_trace {
    struct buffer events;
    long now, free_at; /* of the host, and of the device's queue */
    long step_began;
    int n_steps, n_calls;
    const char *head; /* members before "traceEvents" */
};

__attribute__((format(printf, 2, 3))) static inline void event(struct made_trace *made, const char *format, ...) {
    char *to = buffer_reserve(&made->events, 1024);
    va_list arguments;
    va_start(arguments, format);
    made->events.length += (size_t)sprintf(to, ",\n{\"ph\":\"X\",");
    made->events.length += (size_t)vsprintf(made->events.bytes + made->events.length, format, arguments);
    made->events.length += (size_t)sprintf(made->events.bytes + made->events.length, "}");
    va_end(arguments);
}

/* An event of the host from a moment to now. */
static inline void around(struct made_trace *made, const char *category, const char *name, long since,
                          const char *args) {
    event(made, "\"cat\":\"%s\",\"name\":\"%s\",\"pid\":1,\"tid\":1,\"ts\":%ld,\"dur\":%ld,\"args\":{%s}", category,
          name, since, made->now - since, args);
}

static inline void step_begin(struct made_trace *made) {
    made->step_began = made->now;
}

static inline void step_end(struct made_trace *made) {
    char name[32];
    sprintf(name, "ProfilerStep#%d", ++made->n_steps);
    around(made, "user_annotation", name, made->step_began, "");
}

static inline void host(struct made_trace *made, const char *name, long us) {
    made->now += us;
    around(made, "cpu_op", name, made->now - us, "");
}

static inline void call(struct made_trace *made, const char *name, long us) {
    made->now += us;
    event(made,
          "\"cat\":\"cuda_runtime\",\"name\":\"%s\",\"pid\":1,\"tid\":1,\"ts\":%ld,\"dur\":%ld,\"args\":{"
          "\"correlation\":%d}",
          name, made->now - us, us, ++made->n_calls);
}

/* Work of the last call, at the end of the queue of the stream. */
static inline void work(struct made_trace *made, const char *category, const char *name, int stream, long begin,
                        long us) {
    event(made,
          "\"cat\":\"%s\",\"name\":\"%s\",\"pid\":0,\"tid\":%d,\"ts\":%ld,\"dur\":%ld,\"args\":{\"stream\":%d,"
          "\"correlation\":%d}",
          category, name, stream, begin, us, stream, made->n_calls);
}

/* Queues work, of the last call. */
static inline void queue(struct made_trace *made, const char *category, const char *name, long us) {
    long begin = made->now + DELAY_US > made->free_at ? made->now + DELAY_US : made->free_at;
    work(made, category, name, 7, begin, us);
    made->free_at = begin + us;
}

static inline void launch(struct made_trace *made, const char *name, long us) {
    call(made, "cudaLaunchKernel", CALL_US);
    queue(made, "kernel", name, us);
}

/* An operator of this duration on the host that launches a kernel. */
static inline void launch_by(struct made_trace *made, const char *op, const char *args, long host_us,
                             const char *kernel, long us) {
    long since = made->now;
    made->now += host_us > CALL_US ? host_us - CALL_US : 0;
    launch(made, kernel, us);
    around(made, "cpu_op", op, since, args);
}

static inline void wait_for_device(struct made_trace *made, const char *name) {
    long since = made->now, until = made->free_at + 2 > made->now + 2 ? made->free_at + 2 : made->now + 2;
    call(made, name, until - since);
}

/* Returns the text, which the caller frees, and frees everything else. */
static inline char *made_text(struct made_trace *made) {
    const char *head = made->head ? made->head : "";
    char *text = malloc(made->events.length + strlen(head) + 64);
    sprintf(text, "{%s\"traceEvents\":[{}%.*s]}", head, (int)made->events.length,
            made->events.bytes ? made->events.bytes : "");
    buffer_free(&made->events);
    return text;
}

#endif
