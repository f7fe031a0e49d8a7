/*
 * test_no_error.c - tests that functions of the library return the same status if the caller passes NULL for the error.
 */
#include "trace_folder.h"

#include "sutra/sutra.h"

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* One call with two paths; whatever it makes is freed. */
typedef enum sutra_status call(struct sutra_context *context, const char *const *paths, struct sutra_error *error);

#define MAKES(name, type, ...)                                                                                         \
    static enum sutra_status name(struct sutra_context *context, const char *const *paths,                             \
                                  struct sutra_error *error) {                                                         \
        struct type *made = NULL;                                                                                      \
        enum sutra_status status = __VA_ARGS__;                                                                        \
        type##_free(made);                                                                                             \
        return status;                                                                                                 \
    }

MAKES(host, sutra_host_trace, sutra_host_trace_read(context, paths[0], &made, error))
MAKES(device, sutra_device_trace, sutra_device_trace_read(context, paths[0], &made, error))
MAKES(profile, sutra_profile, sutra_profile_read(context, paths[0], &made, error))
MAKES(repair, sutra_repair, sutra_repair_read(context, paths[0], &made, error))
MAKES(et, sutra_et, sutra_et_read(context, paths[0], NULL, &made, error))
MAKES(et_ranks, sutra_et_ranks, sutra_et_ranks_read(context, paths, (const uint64_t[]){0, 1}, 2, &made, error))
MAKES(hta, sutra_hta_ranks, sutra_hta_ranks_run(context, paths, 2, NULL, &made, error))
MAKES(dlrm, sutra_dlrm_ranks, sutra_dlrm_ranks_run(context, paths, 2, NULL, &made, error))
MAKES(operators, sutra_operators_ranks, sutra_operators_ranks_run(context, paths, 2, NULL, &made, error))
MAKES(overview, sutra_overview, sutra_overview_run(context, paths, 2, NULL, &made, error))
MAKES(collectives, sutra_collectives, sutra_collectives_run(context, paths, 2, NULL, &made, error))
MAKES(diff, sutra_diff, sutra_diff_run(context, paths, 1, paths + 1, 1, NULL, &made, error))
MAKES(merge, sutra_merged, sutra_merge(context, paths, 2, NULL, "/dev/null", &made, error))

static void check_calls(const char *const *paths, unsigned n_threads, bool strict) {
    static call *const calls[] = {host, device,    profile,  repair,      et,   et_ranks, hta,
                                  dlrm, operators, overview, collectives, diff, merge};
    struct sutra_context *context = NEW_CONTEXT(.n_threads = n_threads, .strict = strict);
    for (size_t i = 0; i < COUNT(calls); i++) {
        struct sutra_error error = {0};
        enum sutra_status status = calls[i](context, paths, &error);
        assert_int_equal(calls[i](context, paths, NULL), status);
        assert_int_equal(error.status, status);
    }
    sutra_context_free(context);
}

static void the_status_is_the_same(void **state) {
    struct folder folder = make_folder();
    add_file(&folder, "broken.json", "{\"traceEvents\": [{]");
    add_file(&folder, "other.json", "{\"schema\": \"1.1.1-chakra.0.0.4\", \"nodes\": [{}]}");
    list_files(&folder);
    for (unsigned n_threads = 1; n_threads <= 2; n_threads++)
        for (int strict = 0; strict < 2; strict++) {
            check_calls((const char *const[]){"/nowhere/a.json", "/nowhere/b.json"}, n_threads, strict);
            check_calls(folder.list, n_threads, strict);
        }
    remove_folder(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(the_status_is_the_same)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
