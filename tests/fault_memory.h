/*
 * fault_memory.h - repeats operations while each allocation of sutra in turn, or all from it on, fail.
 *
 * The linker redirects the allocations of sutra's objects (not of other libraries) to the functions __wrap_... below.
 * Included once per program, which has a row of `struct operation` for each test of ctest.
 *
 * Each run must return SUTRA_OK or SUTRA_SYSTEM. Files that a run leaves must be complete. After SUTRA_OK, all files,
 * the result and the digest must be those of a run in which no allocation fails. The sanitizers detect leaks.
 */
#ifndef TESTS_FAULT_MEMORY_H
#define TESTS_FAULT_MEMORY_H

#include <dirent.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "base/error.h"
#include "link_case.h"
#include "sutra/table.h"
#include "trace_text.h"

/* ---- Allocations that fail ---- */

/* Allocations until one fails; 0: none does. */
static atomic_long countdown;
static atomic_bool has_failed;
static atomic_bool later_fail; /* all later ones fail too */

static bool allocation_fails(void) {
    if (atomic_load(&countdown) == 0 || atomic_fetch_sub(&countdown, 1) > 1)
        return false;
    atomic_store(&countdown, atomic_load(&later_fail) ? 1 : 0);
    atomic_store(&has_failed, true);
    return true;
}

#define FAILING(type, name, parameters, arguments)                                                                     \
    type __real_##name parameters;                                                                                     \
    type __wrap_##name parameters;                                                                                     \
    type __wrap_##name parameters {                                                                                    \
        return allocation_fails() ? NULL : __real_##name arguments;                                                    \
    }
FAILING(void *, malloc, (size_t size), (size))
FAILING(void *, calloc, (size_t n, size_t size), (n, size))
FAILING(void *, realloc, (void *old, size_t size), (old, size))
FAILING(void *, reallocarray, (void *old, size_t n, size_t size), (old, n, size))
FAILING(char *, strdup, (const char *text), (text))

static void fail_allocation(long n, bool all_later) {
    atomic_store(&has_failed, false);
    atomic_store(&later_fail, all_later);
    atomic_store(&countdown, n);
}

/* ---- Operations ---- */

enum { MAX_INPUTS = 4 };

/* A run of an operation: its inputs, and where its outputs go. */
struct run {
    struct sutra_context *context;
    int variant;
    size_t n_inputs;
    char *text[MAX_INPUTS];
    size_t size[MAX_INPUTS];
    const char *path[MAX_INPUTS]; /* the same as files */
    char input_folder[64], folder[64];
    long result;     /* a count that is equal in all runs that succeed */
    uint64_t digest; /* of numbers and tables that are equal in all runs that succeed */
};

struct operation {
    const char *name;
    enum sutra_status (*work)(struct run *run, struct sutra_error *error);
    /* Names and texts: a trace (trace_text.h; the name of a host trace begins with "host"), JSON with ' for ", or a
     * file of tests/. */
    struct {
        const char *name, *text;
    } inputs[MAX_INPUTS];
    void (*set_up)(struct run *run); /* changes the inputs of a variant */
    int n_variants, max_threads;     /* 0: one */
    bool is_lenient;
    bool keeps_context; /* all runs have one context, which works again after a failure */
    long min_allocations, min_result;
    int min_files;
    const char *may_differ; /* files that are written twice, or record how long the operation took */
    bool is_partial;        /* after a failure, the files of other ranks are written */
    struct {
        const char *file, *text;
    } expected[5];      /* texts that files of variant 0 contain */
    void (*test)(void); /* instead of all of these */
};

/* Adds bytes of a result to the digest (FNV-1a). */
static inline void digest_bytes(struct run *run, const void *bytes, size_t n) {
    for (size_t i = 0; i < n; i++)
        run->digest = (run->digest ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3;
}

/* Adds the members `first` to `last` of a report, which are numbers without padding. */
#define DIGEST_MEMBERS(run, report, first, last)                                                                       \
    digest_bytes(run, &(report).first, (size_t)((const char *)(&(report).last + 1) - (const char *)&(report).first))

/* Adds the tables of a result, and returns their number. */
static inline long digest_tables(struct run *run, const struct sutra_result *result) {
    long n_tables = 0;
    for (uint32_t id = 0; id < sutra_result_n_tables(result); id++) {
        const struct sutra_table *table = sutra_result_table(result, id, NULL);
        struct sutra_column column;
        const uint64_t n = table ? sutra_table_rows(table) : 0;
        digest_bytes(run, &n, sizeof n);
        for (uint32_t i = 0; n && sutra_table_column(table, i, &column); i++)
            digest_bytes(run,
                         column.integers ? (const void *)column.integers
                         : column.reals  ? (const void *)column.reals
                                         : (const void *)column.bytes,
                         column.starts ? column.starts[n] : n * sizeof(int64_t));
        n_tables += table != NULL;
    }
    return n_tables;
}

/* Objects that are freed when their block ends: OWN(linked, pair) is `struct sutra_linked *pair = NULL`. */
#define FREED(function) __attribute__((cleanup(function)))
#define OWN(type, name) FREED(type##_clean_up) struct sutra_##type *name = NULL
#define OWNED_TYPE(type)                                                                                               \
    static inline void type##_clean_up(struct sutra_##type **object) {                                                 \
        sutra_##type##_free(*object);                                                                                  \
    }
OWNED_TYPE(host_trace)
OWNED_TYPE(device_trace)

/* The path of an output, for the next calls. */
static const char *output(const struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));
static const char *output(const struct run *run, const char *format, ...) {
    static char paths[16][160];
    static unsigned next;
    char *path = paths[next++ % 16];
    va_list arguments;
    va_start(arguments, format);
    int n = snprintf(path, sizeof paths[0], "%s/", run->folder);
    vsnprintf(path + n, sizeof paths[0] - (size_t)n, format, arguments);
    va_end(arguments);
    return path;
}

static enum sutra_status parse_device(const struct run *run, int input, struct sutra_device_trace **trace,
                                      struct sutra_error *error) {
    return sutra_device_trace_parse(run->context, "device", run->text[input], run->size[input], trace, error);
}

static enum sutra_status run_once(const struct operation *operation, struct run *run, unsigned n_threads,
                                  struct sutra_error *error) {
    const struct sutra_context_options options = {
        .size = sizeof options, .n_threads = n_threads, .device = SUTRA_DEVICE_CPU, .lenient = operation->is_lenient};
    run->result = 0;
    run->digest = 0;
    if (!run->context)
        TRY(sutra_context_create(&options, &run->context, error));
    enum sutra_status status = operation->work(run, error);
    if (!operation->keeps_context) {
        sutra_context_free(run->context);
        run->context = NULL;
    }
    return status;
}

/* ---- Files ---- */

static bool is_same_file(const char *one, const char *two) {
    FILE *a = fopen(one, "r"), *b = fopen(two, "r");
    int from_a, from_b;
    if (!a || !b)
        fail_msg("%s is left", one);
    do {
        from_a = getc(a);
        from_b = getc(b);
    } while (from_a == from_b && from_a != EOF);
    fclose(a);
    fclose(b);
    return from_a == from_b;
}

/* Empties a directory and counts its files, which must be files of `expected` and equal them but for `may_differ`. */
static int sweep(const char *folder, const char *expected, const char *may_differ, bool all_differ) {
    int n = 0;
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries));) {
        char path[600], expected_path[600];
        const char *name = entry->d_name;
        if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, name);
        snprintf(expected_path, sizeof expected_path, "%s/%s", expected, name);
        if (entry->d_type == DT_DIR) {
            n += sweep(path, expected_path, may_differ, all_differ);
            assert_int_equal(rmdir(path), 0);
            continue;
        }
        if (!is_same_file(path, expected_path) && !all_differ && !(may_differ && strstr(may_differ, name)))
            fail_msg("%s is not %s", path, expected_path);
        assert_int_equal(unlink(path), 0);
        n++;
    }
    closedir(entries);
    return n;
}

static void read_input(struct run *run, size_t i, const char *name, const char *text) {
    char *path;
    FILE *file;
    if (strncmp(text, "tests/", strlen("tests/")) == 0) {
        run->path[i] = strdup(text);
        run->text[i] = malloc(1 << 16);
        assert_non_null(file = fopen(text, "rb"));
        run->size[i] = fread(run->text[i], 1, 1 << 16, file);
        fclose(file);
        return;
    }
    const bool is_host = strncmp(name, "host", strlen("host")) == 0;
    run->text[i] = *text == '{' ? double_quotes(text) : is_host ? host_json(text) : trace_json(text);
    run->size[i] = strlen(run->text[i]);
    assert_true(asprintf(&path, "%s/%s", run->input_folder, name) > 0);
    assert_non_null(file = fopen(path, "w"));
    assert_int_equal(fwrite(run->text[i], 1, run->size[i], file), run->size[i]);
    assert_int_equal(fclose(file), 0);
    run->path[i] = path;
}

/* ---- Tests ---- */

/* The output directory after a run, and after a run that succeeds. */
struct outputs {
    char folder[64];
    int n_files;
    long result;
    uint64_t digest;
};

/* Fails each allocation in turn until the operation needs no more. */
static void fail_each(const struct operation *operation, struct run *run, const struct outputs *expected,
                      unsigned n_threads, bool all_later) {
    long n = 0;
    for (bool failed = true; failed;) {
        struct sutra_error error = {0};
        fail_allocation(++n, all_later);
        enum sutra_status status = run_once(operation, run, n_threads, &error);
        failed = atomic_load(&has_failed);
        fail_allocation(0, false);
        if (status && (status != SUTRA_SYSTEM || error.status != SUTRA_SYSTEM))
            fail_msg("allocation %ld: status %d, %s", n, status, error.message);
        for (int again = 0; again <= operation->keeps_context; again++) {
            if (again)
                status = run_once(operation, run, n_threads, &error);
            int n_files = sweep(run->folder, expected->folder, operation->may_differ, status && operation->is_partial);
            if (!status && (n_files != expected->n_files || run->result != expected->result))
                fail_msg("allocation %ld: %d files, result %ld", n, n_files, run->result);
            if (!status && run->digest != expected->digest)
                fail_msg("allocation %ld: success with other numbers", n);
            assert_true(!again || !status);
        }
    }
    print_message("variant %d, %u threads: %ld allocations, %s\n", run->variant, n_threads, n - 1,
                  all_later ? "all from each on" : "one by one");
    assert_true(n > operation->min_allocations);
}

static void try_variant(const struct operation *operation, int variant) {
    struct run run = {
        .variant = variant, .input_folder = P_tmpdir "/sutra_in_XXXXXX", .folder = P_tmpdir "/sutra_out_XXXXXX"};
    struct outputs expected = {.folder = P_tmpdir "/sutra_expected_XXXXXX"};
    struct sutra_error error;
    assert_true(mkdtemp(run.input_folder) && mkdtemp(run.folder) && mkdtemp(expected.folder));
    for (; run.n_inputs < MAX_INPUTS && operation->inputs[run.n_inputs].name; run.n_inputs++)
        read_input(&run, run.n_inputs, operation->inputs[run.n_inputs].name, operation->inputs[run.n_inputs].text);
    if (operation->set_up)
        operation->set_up(&run);
    if (run_once(operation, &run, 1, &error))
        fail_msg("%s", error.message);
    /* Renamed and not written there, as files contain their paths. */
    assert_int_equal(rename(run.folder, expected.folder), 0);
    assert_int_equal(mkdir(run.folder, 0700), 0);
    for (size_t i = 0; i < sizeof operation->expected / sizeof *operation->expected; i++)
        if (variant == 0 && operation->expected[i].file) {
            char path[600];
            snprintf(path, sizeof path, "%s/%s", expected.folder, operation->expected[i].file);
            char *text = file_text(path, NULL);
            assert_non_null(strstr(text, operation->expected[i].text));
            free(text);
        }
    expected.result = run.result;
    expected.digest = run.digest;
    assert_true(expected.result >= operation->min_result);
    assert_int_equal(run_once(operation, &run, 1, &error), SUTRA_OK);
    assert_true(run.digest == expected.digest);
    expected.n_files = sweep(run.folder, expected.folder, operation->may_differ, false);
    assert_true(expected.n_files >= operation->min_files);
    for (unsigned n_threads = 1; n_threads <= 1u || n_threads <= (unsigned)operation->max_threads; n_threads++) {
        fail_each(operation, &run, &expected, n_threads, false);
        fail_each(operation, &run, &expected, n_threads, true);
    }
    sutra_context_free(run.context);
    sweep(expected.folder, expected.folder, NULL, false);
    sweep(run.input_folder, run.input_folder, NULL, false);
    assert_true(!rmdir(run.folder) && !rmdir(expected.folder) && !rmdir(run.input_folder));
    for (size_t i = 0; i < run.n_inputs; i++) {
        free(run.text[i]);
        free((char *)run.path[i]);
    }
}

static void test_operation(void **state) {
    const struct operation *operation = *state;
    if (operation->test)
        operation->test();
    else if (!operation->work)
        skip();
    else
        for (int variant = 0; variant == 0 || variant < operation->n_variants; variant++)
            try_variant(operation, variant);
}

/* Tests the operations that the arguments name, or all. */
static int test_operations(const struct operation *operations, size_t n, int argc, char **argv) {
    struct CMUnitTest tests[64];
    size_t n_tests = 0;
    assert_true(n <= sizeof tests / sizeof *tests);
    for (size_t i = 0; i < n; i++) {
        bool is_wanted = argc < 2;
        for (int k = 1; k < argc; k++)
            is_wanted |= strcmp(argv[k], operations[i].name) == 0;
        if (is_wanted)
            tests[n_tests++] = (struct CMUnitTest){
                .name = operations[i].name, .test_func = test_operation, .initial_state = (void *)&operations[i]};
    }
    return n_tests ? _cmocka_run_group_tests("fault_memory", tests, n_tests, NULL, NULL) : 64;
}

#endif
