/*
 * client.c - a program as others would write it: prints the library's version after using a context.
 */
#include <stdio.h>

#include <sutra/sutra.h>

int main(void) {
    struct sutra_context_options options = {.size = sizeof options, .n_threads = 2, .device = SUTRA_DEVICE_CPU};
    struct sutra_context *context;
    struct sutra_host_trace *trace;
    struct sutra_error error;
    if (sutra_context_create(&options, &context, &error)) {
        fprintf(stderr, "%s\n", error.message);
        return 1;
    }
    enum sutra_status status = sutra_host_trace_parse(context, "client", "{", 1, &trace, &error);
    sutra_context_free(context);
    if (status != SUTRA_DATA) {
        fprintf(stderr, "half an object gave status %d\n", status);
        return 1;
    }
    puts(sutra_version());
    return 0;
}
