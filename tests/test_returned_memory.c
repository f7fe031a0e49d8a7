/*
 * test_returned_memory.c - tests that the memory of trace text is returned to the system after parsing.
 */
#include "sutra/sutra.h"
#include "unit.h"

#define N_EVENTS   16384
#define ARGS_BYTES 2048

/* Pages of files in memory, in kilobytes. */
static long file_pages_kb(void) {
    char line[256];
    long kb = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status && fgets(line, sizeof line, status))
        if (strncmp(line, "RssFile:", 8) == 0)
            kb = strtol(line + 8, NULL, 10);
    if (status)
        fclose(status);
    return kb;
}

/* Writes a trace that consists mostly of unused arguments; sets `path`. */
static void write_trace(char *path) {
    char args[ARGS_BYTES + 1];
    int file = mkstemp(path);
    FILE *trace = file < 0 ? NULL : fdopen(file, "w");
    assert_non_null(trace);
    memset(args, 'x', ARGS_BYTES);
    args[ARGS_BYTES] = 0;
    fputs("{\"traceEvents\":[", trace);
    for (int i = 0; i < N_EVENTS; i++)
        fprintf(trace, "%s{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"a\",\"ts\":%d,\"dur\":1,\"args\":{\"x\":\"%s\"}}",
                i ? "," : "", i, args);
    fputs("]}", trace);
    assert_int_equal(fclose(trace), 0);
}

static void parsed_text_is_returned_to_the_system(void **state) {
    char path[] = "/tmp/test_returned_memory.XXXXXX";
    struct sutra_device_trace *trace = NULL;
    const struct sutra_profile_options profile_options = {.size = sizeof profile_options};
    struct sutra_profile *profile = NULL;
    write_trace(path);
    struct sutra_context *context = NEW_CONTEXT(.n_threads = 1);
    long before = file_pages_kb();
    assert_int_equal(sutra_device_trace_read(context, path, &trace, NULL), SUTRA_OK);
    long more = file_pages_kb() - before;
    assert_int_equal(sutra_profile_from_trace(context, trace, NULL, &profile_options, &profile, NULL), SUTRA_OK);
    long again = file_pages_kb() - before;
    sutra_profile_free(profile);
    sutra_device_trace_free(trace);
    sutra_context_free(context);
    unlink(path);
    if (before < 0)
        skip();
    if (more > N_EVENTS * (ARGS_BYTES / 1024) / 2 || again > N_EVENTS * (ARGS_BYTES / 1024) / 2)
        fail_msg("%ld kB of the file are in memory, %ld after it was looked at again", more, again);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parsed_text_is_returned_to_the_system),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
