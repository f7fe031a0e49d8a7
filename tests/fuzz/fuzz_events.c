/*
 * fuzz_events.c - fuzzes files of profiler events: the input gives a consistent tree and consistent tensor ids, or an
 * error.
 */
#include "fuzz.h"
#include "fuzz_trace.h"

static void check_tree(const struct sutra_profile *profile, const struct sutra_tree *tree) {
    struct sutra_profile_columns events = {.size = sizeof events};
    struct sutra_tree_columns columns = {.size = sizeof columns};
    sutra_profile_columns(profile, &events);
    sutra_tree_columns(tree, &columns);
    check(columns.n == events.n, "a position for each event");
    for (uint64_t i = 0; i < columns.n; i++) {
        uint32_t parent = columns.parent[i];
        check(parent == SUTRA_ROW_NONE ? columns.depth[i] == 0 : columns.depth[i] == columns.depth[parent] + 1,
              "an event is one deeper than the one above");
        check(i == 0 || events.start_ns[columns.row[i - 1]] <= events.start_ns[columns.row[i]], "starts rise");
        for (uint32_t k = columns.child_begin[i]; k < columns.child_begin[i + 1]; k++)
            check(columns.parent[columns.children[k]] == i, "children know who is above");
        check(columns.host_self_ns[i] >= 0 && columns.host_self_ns[i] <= columns.host_ns[i], "own time is a part");
        check(columns.device_self_ns[i] <= columns.device_ns[i], "on the device, too");
    }
}

static void check_profile(struct sutra_context *context, const struct sutra_profile *profile,
                          enum sutra_torch_version hta_version) {
    struct sutra_tree *tree = NULL;
    struct sutra_error error = {0};
    enum sutra_status status = sutra_tree_build(context, profile, hta_version, &tree, &error);
    check_outcome(status, &error, tree);
    if (!tree)
        return;
    check_tree(profile, tree);
    status = sutra_tree_write(context, tree, SUTRA_TREE_EVENTS, NULL, "/dev/null", NULL, &error);
    check(status == SUTRA_OK, "a tree can be written as a list");
    status = sutra_tree_write(context, tree, SUTRA_TREE_JSON, NULL, "/dev/null", NULL, &error);
    check(status == SUTRA_OK, "and as JSON");
    sutra_tree_free(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct sutra_context *context = new_context(2);
    struct sutra_profile *profile = NULL;
    struct sutra_error error = {0};
    enum sutra_status status = sutra_profile_parse(context, "events", data, size, &profile, &error);
    check_outcome(status, &error, profile);
    if (profile) {
        check_profile(context, profile, SUTRA_TORCH_VERSION_2);
        check_profile(context, profile, SUTRA_TORCH_VERSION_1_13);
        sutra_profile_free(profile);
    }
    sutra_context_free(context);
    return 0;
}
