/*
 * fault_memory.c - fails every allocation in turn while a pair of traces is read, linked and written.
 *
 * Each run must return SUTRA_SYSTEM and leave no file, or write the expected file. The sanitizers detect leaks.
 */
#include <sys/stat.h>

#include "columns/strings.h"
#include "link_case.h"
#include "refuse.h"
#include "write/sink.h"

/* A pair that needs most tables: ids that are no 64-bit integers, escapes, repeated keys, deep nesting, unknown ids. */
#define FIVE(x)     x x x x x
#define DEEP(inner) FIVE(FIVE("[[[")) inner FIVE(FIVE("]]]"))
static const char host_source[] =
    "{'schema':'1.1.1-chakra.0.0.4','pid':1,'a':1,'a':{'x':1,'x':" DEEP("7") "},'nodes':[" ROOT "," NODE(
        "2", "a\\n", "7") ","
                          "{'id':3.5,'id':4.5,'ctrl_deps':99,'attrs':[" RF_ATTRIBUTE("' 8 '") "],'deep':" DEEP(
                              "{'p':1,'q':2,'p':3}") "}," NODE_TEXT("5", "'x'", "c",
                                                                    "") "," NODE("123456789012345678901", "d",
                                                                                 "9") "]}";
#define ARROW(phase, tid, ts) "{'ph':'" phase "','cat':'ac2g','name':'ac2g','id':9,'tid':" tid ",'ts':" ts "}"
static const char device_source[] =
    "{'traceEvents':[{'ph':'E','tid':9,'ts':90},{'ph':'B','tid':9,'ts':80},{'ph':'B','tid':9,'ts':95},"               //
    CPU("a\\u00e9", "'t'", "10", "100", "1", "7") "," CPU("c", "'t'", "20", "30.5", "2", "8") ","                     //
    CPU("d", "2", "15.5", "30", "'3'", "9") "," LAUNCH("'t'", "30", "5") "," LAUNCH("2", "31", "6.5") ","             //
    KERNEL("ncclDevKernel\\\\", "60", "5", "1") "," KERNEL("k", "61", "6.5", "3") ","                                 //
    EVENT("cuda_runtime", "cudaGraphLaunch", "2", "32", "1", "'correlation':77") "," KERNEL("g", "70", "77", "3") "," //
    ARROW("s", "2", "32") "," ARROW("f", "'stream 7'", "80") "," KERNEL("u", "80", "78", "3") "]}";

/* The two traces as bytes, and where the output goes: a folder of its own, empty between runs. */
struct pair {
    char *host, *device;
    size_t host_size, device_size;
    char folder[64], path[96];
    char *expected; /* the output of a run in which nothing failed */
};

static enum sutra_status link_with(struct sutra_context *context, const struct pair *pair, struct sutra_error *error) {
    struct sutra_host_trace *host = NULL;
    struct sutra_device_trace *device = NULL;
    struct sutra_linked *linked = NULL;
    enum sutra_status status = sutra_host_trace_parse(context, "host", pair->host, pair->host_size, &host, error);
    if (!status)
        status = sutra_device_trace_parse(context, "device", pair->device, pair->device_size, &device, error);
    struct sutra_device_summary summary = {.size = sizeof summary};
    if (!status)
        status = sutra_device_trace_summary(context, device, &summary, error);
    const struct sutra_link_options options = {.size = sizeof options, .any_launch = true};
    if (!status)
        status = sutra_link(context, host, device, NULL, &linked, error);
    const struct sutra_link_options names = {.size = sizeof names, .match = SUTRA_MATCH_NAMES};
    if (!status) {
        sutra_linked_free(linked);
        linked = NULL;
        status = sutra_link(context, host, device, &names, &linked, error);
        status = status == SUTRA_DATA ? SUTRA_OK : status; /* few operators of the traces have equal names */
    }
    if (!status) {
        sutra_linked_free(linked);
        linked = NULL;
        status = sutra_link(context, host, device, &options, &linked, error);
    }
    if (!status)
        status = sutra_linked_write(context, linked, pair->path, NULL, error);
    sutra_linked_free(linked);
    sutra_device_trace_free(device);
    sutra_host_trace_free(host);
    return status;
}

static enum sutra_status link_once(unsigned n_threads, const struct pair *pair, struct sutra_error *error) {
    struct sutra_context_options options = {.size = sizeof options, .n_threads = n_threads};
    struct sutra_context *context = NULL;
    enum sutra_status status = sutra_context_create(&options, &context, error);
    if (!status)
        status = link_with(context, pair, error);
    sutra_context_free(context);
    return status;
}

/* After a run: the right file, or none. */
static void check_left(const struct pair *pair, long n, enum sutra_status status) {
    if (status == SUTRA_OK) {
        char *text = file_text(pair->path);
        assert_string_equal(text, pair->expected);
        free(text);
        unlink(pair->path);
    }
    /* Only an empty folder can be removed. */
    if (rmdir(pair->folder) || mkdir(pair->folder, 0700))
        fail_msg("allocation %ld left a file", n);
}

/* The operation under test: links a pair, in a new context or in an existing one. */
struct run {
    const struct pair *pair;
    unsigned n_threads;
    struct sutra_context *context;
};

static enum sutra_status run_link(void *arg, struct sutra_error *error) {
    const struct run *run = arg;
    return run->context ? link_with(run->context, run->pair, error) : link_once(run->n_threads, run->pair, error);
}

static void check_run(void *arg, long n, enum sutra_status status) {
    const struct run *run = arg;
    check_left(run->pair, n, status);
}

static void check_run_and_link_again(void *arg, long n, enum sutra_status status) {
    const struct run *run = arg;
    struct sutra_error error;
    check_left(run->pair, n, status);
    assert_int_equal(link_with(run->context, run->pair, &error), SUTRA_OK);
    check_left(run->pair, n, SUTRA_OK);
}

static void refuse_linking(const struct pair *pair, bool all) {
    for (unsigned n_threads = 1; n_threads <= 2; n_threads++) {
        struct run run = {.pair = pair, .n_threads = n_threads};
        assert_true(refuse_each(&(struct refusable){&run, run_link, check_run}, all) > 100);
    }
}

static void set_bytes(char **bytes, size_t *size, const char *source, enum compression compression) {
    char *text = double_quotes(source);
    struct buffer packed = {0};
    if (compression)
        assert_true(compress_piece(compression, text, strlen(text), &packed));
    else
        buffer_append(&packed, text, strlen(text));
    *bytes = packed.bytes;
    *size = packed.length;
    free(text);
}

static struct pair make_pair(enum compression host, enum compression device) {
    struct pair pair = {.folder = P_tmpdir "/sutra_fault_XXXXXX"};
    struct sutra_error error;
    set_bytes(&pair.host, &pair.host_size, host_source, host);
    set_bytes(&pair.device, &pair.device_size, device_source, device);
    assert_non_null(mkdtemp(pair.folder));
    snprintf(pair.path, sizeof pair.path, "%s/out.json", pair.folder);
    assert_int_equal(link_once(1, &pair, &error), SUTRA_OK);
    pair.expected = file_text(pair.path);
    unlink(pair.path);
    return pair;
}

static void free_pair(struct pair *pair) {
    rmdir(pair->folder);
    free(pair->host);
    free(pair->device);
    free(pair->expected);
}

static void any_one_allocation_may_fail(void **state) {
    (void)state;
    struct pair pair = make_pair(COMPRESSION_NONE, COMPRESSION_NONE);
    refuse_linking(&pair, false);
    free_pair(&pair);
}

static void all_allocations_from_one_on_may_fail(void **state) {
    (void)state;
    struct pair pair = make_pair(COMPRESSION_GZIP, COMPRESSION_ZSTD);
    refuse_linking(&pair, true);
    free_pair(&pair);
}

/* A context works again after an allocation failed. */
static void a_context_recovers(void **state) {
    (void)state;
    struct pair pair = make_pair(COMPRESSION_NONE, COMPRESSION_NONE);
    struct run run = {.pair = &pair};
    struct sutra_error error = {0};
    assert_int_equal(sutra_context_create(NULL, &run.context, &error), SUTRA_OK);
    refuse_each(&(struct refusable){&run, run_link, check_run_and_link_again}, false);
    sutra_context_free(run.context);
    free_pair(&pair);
}

/* Strings that found no room are interned on a second attempt, and all keep their numbers. */
static void a_string_table_that_could_not_grow_stays_usable(void **state) {
    (void)state;
    for (long n = 1; n < 20; n++) {
        struct strings strings;
        char text[32];
        uint32_t numbers[1000];
        assert_true(strings_init(&strings));
        refuse_from(n, false);
        for (uint32_t i = 0; i < 1000; i++) {
            size_t length = (size_t)sprintf(text, "string number %u", i);
            numbers[i] = strings_intern(&strings, text, length);
            if (numbers[i] == STRING_NONE && i % 3)
                numbers[i] = strings_intern(&strings, text, length);
        }
        refuse_from(0, false);
        for (uint32_t i = 0; i < 1000; i++) {
            size_t length = (size_t)sprintf(text, "string number %u", i);
            assert_int_equal(strings_find(&strings, text, length), numbers[i]);
            if (numbers[i] != STRING_NONE)
                assert_string_equal(strings_text(&strings, numbers[i]), text);
        }
        strings_free(&strings);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_one_allocation_may_fail),
        cmocka_unit_test(all_allocations_from_one_on_may_fail),
        cmocka_unit_test(a_context_recovers),
        cmocka_unit_test(a_string_table_that_could_not_grow_stays_usable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
