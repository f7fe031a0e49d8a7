/*
 * test_generate.c - tests generated pairs of traces: the same bytes for the same options, valid JSON, the requested
 * number of events, and no files after a failed write.
 */
#include <ctype.h>
#include <stdbool.h>

#include "generate/generate.h"
#include "unit.h"

#define PATH_SIZE 256

static char folder[PATH_SIZE / 2];

static const char *in_folder(const char *name) {
    static char paths[4][PATH_SIZE];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, PATH_SIZE, "%s/%s", folder, name);
    return path;
}

static int make_folder(void **state) {
    snprintf(folder, sizeof folder, "/tmp/test_generate_XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state) {
    unlink(in_folder("host.json"));
    unlink(in_folder("device.json"));
    return rmdir(folder); /* fails if a test left a file */
}

struct pair {
    char *host, *device;
};

static struct pair generate(struct generate_options options) {
    struct sutra_error error = {0};
    options.host_path = in_folder("host.json");
    options.device_path = in_folder("device.json");
    if (generate_pair(&options, &error) != SUTRA_OK)
        fail_msg("%s", error.message);
    return (struct pair){file_text(options.host_path, NULL), file_text(options.device_path, NULL)};
}

static void pair_free(struct pair pair) {
    free(pair.host);
    free(pair.device);
}

/* strstr() without the sanitizers' check of the rest of the text in each call. */
static const char *find(const char *text, const char *what) {
    for (text = strchr(text, *what); text; text = strchr(text + 1, *what))
        if (strncmp(text, what, strlen(what)) == 0)
            return text;
    return NULL;
}

/* State of the parser: the open brackets, and the position between them. */
struct json {
    char due[64];
    size_t depth;
    uint64_t n_elements; /* objects in the requested list */
};

static const char *skip_string(const char *at) {
    for (at++; *at != '"'; at++) {
        assert_true((unsigned char)*at >= 0x20);
        at += *at == '\\';
    }
    return at + 1;
}

static const char *skip_scalar(const char *at) {
    static const char *const words[] = {"true", "false", "null"};
    for (size_t i = 0; i < 3; i++)
        if (strncmp(at, words[i], strlen(words[i])) == 0)
            return at + strlen(words[i]);
    assert_true(*at == '-' || isdigit((unsigned char)*at));
    return at + strspn(at, "-+.0123456789eE");
}

static const char *skip_space(const char *at) {
    return at + strspn(at, " \n");
}

/* Reads up to and with one value that is no list or object, or up to the first value in one. */
static const char *read_value(struct json *json, const char *at) {
    at = skip_space(at);
    if (*at == '"')
        return skip_string(at);
    if (*at != '{' && *at != '[')
        return skip_scalar(at);
    json->n_elements += json->depth == 2 && *at == '{' && json->due[1] == ']';
    assert_true(json->depth < sizeof json->due);
    json->due[json->depth++] = *at == '{' ? '}' : ']';
    return at + 1;
}

static const char *read_key(const struct json *json, const char *at) {
    if (json->due[json->depth - 1] == ']')
        return at;
    at = skip_space(skip_string(skip_space(at)));
    assert_int_equal(*at, ':');
    return at + 1;
}

/* Fails unless the text is one JSON value. Returns how many objects are in the list under `key` and in lists next to it
 * that come later. */
static uint64_t count_elements(const char *text, const char *key) {
    struct json json = {.depth = 0};
    const char *list = find(text, key), *at = read_value(&json, text);
    assert_non_null(list);
    while (json.depth > 0) {
        bool is_first = at[-1] == '{' || at[-1] == '[';
        at = skip_space(at);
        if (*at == json.due[json.depth - 1]) {
            json.depth--;
            at++;
            continue;
        }
        if (!is_first)
            assert_int_equal(*at++, ',');
        at = read_value(&json, read_key(&json, at));
        if (at < list)
            json.n_elements = 0;
    }
    assert_int_equal(*skip_space(at), 0);
    return json.n_elements;
}

static uint64_t count_text(const char *text, const char *what) {
    uint64_t n = 0;
    for (text = find(text, what); text; text = find(text + 1, what))
        n++;
    return n;
}

static void the_same_options_give_the_same_bytes(void **state) {
    struct generate_options options = {.events = 3000, .seed = 7, .collectives = true, .n_threads = 5};
    struct pair first = generate(options), second = generate(options);
    assert_string_equal(first.host, second.host);
    assert_string_equal(first.device, second.device);
    pair_free(first);
    pair_free(second);
}

static void another_seed_gives_another_trace(void **state) {
    struct pair first = generate((struct generate_options){.events = 1000, .seed = 1});
    struct pair second = generate((struct generate_options){.events = 1000, .seed = 2});
    assert_string_not_equal(first.host, second.host);
    assert_string_not_equal(first.device, second.device);
    pair_free(first);
    pair_free(second);
}

static const struct generate_options variants[] = {
    {.n_threads = 0},
    {.integer_times = true, .n_threads = 1, .n_streams = 1},
    {.schema = "1.0.1", .collectives = true, .n_threads = 9},
    {.python_functions = true, .depth = 20, .gpu_density = 150},
    {.no_annotations = true, .no_gpu = true, .schema = "1.0.2-chakra.0.0.4"},
};

static void every_shape_is_json_with_the_requested_event_count(void **state) {
    static const uint64_t sizes[] = {0, 1, 7, 1000};
    for (int shape = GENERATE_REALISTIC; shape <= GENERATE_DEEP; shape++)
        for (size_t i = 0; i < sizeof variants / sizeof variants[0]; i++)
            for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
                struct generate_options options = variants[i];
                options.shape = (enum generate_shape)shape;
                options.events = sizes[k];
                struct pair pair = generate(options);
                assert_int_equal(count_elements(pair.device, "\"traceEvents\""), sizes[k]);
                assert_true(count_elements(pair.host, "\"nodes\"") >= 2);
                pair_free(pair);
            }
}

/* Marks the numbers after `key` that are below `limit`. */
static bool *mark_numbers(const char *text, const char *key, size_t limit) {
    bool *marks = calloc(limit, sizeof *marks);
    assert_non_null(marks);
    for (text = find(text, key); text; text = find(text + 1, key)) {
        size_t number = strtoul(text + strlen(key), NULL, 10);
        if (number < limit)
            marks[number] = true;
    }
    return marks;
}

static void nearly_all_operators_are_in_both_traces(void **state) {
    const size_t limit = 20000;
    struct pair pair = generate((struct generate_options){.events = 20000, .seed = 3});
    bool *host = mark_numbers(pair.host, "{\"name\": \"rf_id\", \"type\": \"uint64\", \"value\": ", limit);
    bool *device = mark_numbers(pair.device, "\"Record function id\": ", limit);
    uint64_t n_host = 0, n_both = 0;
    for (size_t i = 1; i < limit; i++) {
        n_host += host[i];
        n_both += host[i] && device[i];
    }
    assert_true(n_host > 5000);
    assert_true(n_both * 100 > n_host * 98);
    assert_true(n_both < n_host);
    free(host);
    free(device);
    pair_free(pair);
}

static uint64_t count_gpu_ops(const char *device) {
    return count_text(device, "\"cat\": \"kernel\"") + count_text(device, "\"cat\": \"gpu_memcpy\"");
}

static void gpu_operators_have_the_requested_density(void **state) {
    static const uint32_t densities[] = {10, 120, 150};
    for (size_t i = 0; i < 3; i++) {
        struct pair pair = generate((struct generate_options){.events = 10000, .gpu_density = densities[i]});
        assert_in_range(count_gpu_ops(pair.device), densities[i] * 9, densities[i] * 11);
        pair_free(pair);
    }
    struct pair pair = generate((struct generate_options){.events = 10000, .no_gpu = true});
    assert_int_equal(count_gpu_ops(pair.device), 0);
    pair_free(pair);
}

static void times_have_three_decimals_or_none(void **state) {
    for (int is_integer = 0; is_integer < 2; is_integer++) {
        struct pair pair = generate((struct generate_options){.events = 2000, .integer_times = is_integer == 1});
        uint64_t n = 0;
        for (const char *at = find(pair.device, "\"ts\": "); at; at = find(at + 1, "\"ts\": "), n++) {
            size_t whole = strspn(at + 6, "0123456789");
            size_t decimals = at[6 + whole] == '.' ? strspn(at + 7 + whole, "0123456789") : 0;
            assert_int_equal(whole, 13);
            assert_int_equal(decimals, is_integer ? 0 : 3);
        }
        assert_int_equal(n, 2000);
        pair_free(pair);
    }
}

/* The nodes of such a trace are in rising order, each the child of the one before. */
static void deep_traces_have_one_chain_of_parents(void **state) {
    struct pair pair = generate((struct generate_options){.events = 1000, .shape = GENERATE_DEEP});
    uint64_t n = 0;
    unsigned long previous = 2;
    for (const char *at = find(pair.host, "{\"id\": "); at; at = find(at + 1, "{\"id\": ")) {
        unsigned long node = strtoul(at + 7, NULL, 10), parent = strtoul(find(at, "\"ctrl_deps\": ") + 13, NULL, 10);
        if (parent == 1)
            continue;
        assert_int_equal(parent, previous);
        previous = node;
        n++;
    }
    assert_true(n > 300);
    pair_free(pair);
}

static void unmatched_gpu_operators_have_ids_of_their_own(void **state) {
    struct pair pair = generate((struct generate_options){.events = 5000, .shape = GENERATE_UNMATCHED});
    uint64_t n = 0;
    for (const char *at = find(pair.device, "\"cat\": \"kernel\""); at; at = find(at + 1, "\"cat\": \"kernel\"")) {
        const char *external = find(at, "\"External id\": ") + 15;
        assert_true(strtoull(external, NULL, 10) > 1000000);
        n++;
    }
    assert_true(n > 300);
    pair_free(pair);
}

static void failed_writes_are_reported_and_leave_nothing(void **state) {
    struct sutra_error error = {0};
    const char *path = in_folder("whole.json");
    struct generate_options options = {.events = 10000, .host_path = "/dev/full", .device_path = path};
    if (access("/dev/full", W_OK) != 0)
        skip();
    assert_int_equal(generate_pair(&options, &error), SUTRA_IO);
    assert_string_equal(error.file, "/dev/full");
    assert_int_equal(access(path, F_OK), -1);
    options = (struct generate_options){.events = 1, .host_path = path, .device_path = "/dev/full"};
    assert_int_equal(generate_pair(&options, &error), SUTRA_IO);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(access("/dev/full", F_OK), 0);
}

static void files_that_cannot_be_created_are_reported(void **state) {
    struct sutra_error error = {0};
    const char *path = in_folder("whole.json");
    struct generate_options options = {.events = 10, .host_path = path, .device_path = in_folder("none/device.json")};
    assert_int_equal(generate_pair(&options, &error), SUTRA_NO_OUTPUT);
    assert_string_equal(error.file, options.device_path);
    assert_int_equal(access(path, F_OK), -1);
}

static void options_out_of_range_are_refused(void **state) {
    const char *host = in_folder("host.json"), *device = in_folder("device.json");
    const struct generate_options wrong[] = {
        {.device_path = device},
        {.host_path = host},
        {.host_path = host, .device_path = host},
        {.host_path = host, .device_path = device, .events = UINT64_C(1) << 33},
        {.host_path = host, .device_path = device, .n_threads = 1000000},
        {.host_path = host, .device_path = device, .n_streams = 1000000},
        {.host_path = host, .device_path = device, .gpu_density = 151},
        {.host_path = host, .device_path = device, .depth = 1000001},
        {.host_path = host, .device_path = device, .schema = "2.0"},
        {.host_path = host, .device_path = device, .shape = (enum generate_shape)99},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        struct sutra_error error = {0};
        assert_int_equal(generate_pair(&wrong[i], &error), SUTRA_USAGE);
        assert_int_not_equal(error.message[0], 0);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_options_give_the_same_bytes),
        cmocka_unit_test(another_seed_gives_another_trace),
        cmocka_unit_test(every_shape_is_json_with_the_requested_event_count),
        cmocka_unit_test(nearly_all_operators_are_in_both_traces),
        cmocka_unit_test(gpu_operators_have_the_requested_density),
        cmocka_unit_test(times_have_three_decimals_or_none),
        cmocka_unit_test(deep_traces_have_one_chain_of_parents),
        cmocka_unit_test(unmatched_gpu_operators_have_ids_of_their_own),
        cmocka_unit_test(failed_writes_are_reported_and_leave_nothing),
        cmocka_unit_test(files_that_cannot_be_created_are_reported),
        cmocka_unit_test(options_out_of_range_are_refused),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
