/*
 * fuzz_tree.c - fuzzes call trees: the input is a device trace and, after a record separator (1E, which JSON cannot
 * contain), its host trace. Tree and pairs are written in all formats, for both PyTorch versions, or an error is
 * returned.
 */
#include "fuzz.h"
#include "fuzz_trace.h"

#define SEPARATOR 0x1E

static void write_trees(struct sutra_context *context, const struct sutra_profile *profile,
                        enum sutra_torch_version torch_version) {
    const struct sutra_tree_write_options cut = {.size = sizeof cut, .max_depth = 3, .min_us = 2};
    struct sutra_tree *tree = NULL;
    struct sutra_error error = {0};
    enum sutra_status status = sutra_tree_build(context, profile, torch_version, &tree, &error);
    check_outcome(status, &error, tree);
    for (int format = SUTRA_TREE_JSON; tree && format <= SUTRA_TREE_EVENTS; format++) {
        status = sutra_tree_write(context, tree, (enum sutra_tree_format)format, &cut, "/dev/null", NULL, &error);
        check(status == SUTRA_OK, "a tree can be written");
    }
    sutra_tree_free(tree);
}

static void write_pairs(struct sutra_context *context, const struct sutra_profile *profile,
                        enum sutra_torch_version torch_version) {
    const struct sutra_correlation_options options = {
        .size = sizeof options, .torch_version = torch_version, .kind = SUTRA_CORRELATION_ALL};
    struct sutra_correlation *correlation = NULL;
    struct sutra_error error = {0};
    enum sutra_status status = sutra_correlation_find(context, profile, &options, &correlation, &error);
    check_outcome(status, &error, correlation);
    for (int format = SUTRA_CORRELATION_JSON; correlation && format <= SUTRA_CORRELATION_CHROME; format++) {
        status = sutra_correlation_write(context, correlation, (enum sutra_correlation_format)format, "/dev/null", NULL,
                                         &error);
        check(status == SUTRA_OK, "pairs can be written");
    }
    sutra_correlation_free(correlation);
}

static void run(struct sutra_context *context, const struct sutra_device_trace *device,
                const struct sutra_host_trace *host, enum sutra_torch_version torch_version) {
    const struct sutra_profile_options options = {
        .size = sizeof options, .rocm = torch_version == SUTRA_TORCH_VERSION_2, .inputs = true};
    struct sutra_profile *profile = NULL;
    struct sutra_error error = {0};
    enum sutra_status status = sutra_profile_from_trace(context, device, host, &options, &profile, &error);
    check_outcome(status, &error, profile);
    if (!profile)
        return;
    write_trees(context, profile, torch_version);
    write_pairs(context, profile, torch_version);
    sutra_profile_free(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const uint8_t *separator = size ? memchr(data, SEPARATOR, size) : NULL;
    size_t device_size = separator ? (size_t)(separator - data) : size;
    struct sutra_context *context = new_context(2);
    struct sutra_device_trace *device = NULL;
    struct sutra_host_trace *host = NULL;
    struct sutra_error error = {0};
    enum sutra_status status = sutra_device_trace_parse(context, "device", data, device_size, &device, &error);
    check_outcome(status, &error, device);
    if (separator) {
        status = sutra_host_trace_parse(context, "host", separator + 1, size - device_size - 1, &host, &error);
        check_outcome(status, &error, host);
    }
    if (device) {
        run(context, device, host, SUTRA_TORCH_VERSION_2);
        run(context, device, host, SUTRA_TORCH_VERSION_1_13);
    }
    sutra_host_trace_free(host);
    sutra_device_trace_free(device);
    sutra_context_free(context);
    return 0;
}
