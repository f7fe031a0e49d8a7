/*
 * write_chrome.c - the trace once more, with a flow from each event to those below it on other threads and streams.
 *
 * On one thread, Perfetto shows who is below whom. The file's bytes are copied as they are; the flows stand behind the
 * last event. Viewers bind a flow to the innermost slice that is open at its time, which is the slice's start.
 */
#include "tree/trace_flows.h"
#include "tree/tree.h"
#include "write/trace_copy.h"

bool write_tree_chrome(const void *written, struct text_out *text) {
    const struct sutra_tree *tree = ((const struct tree_written *)written)->tree;
    const struct sutra_profile *profile = tree->profile;
    struct trace_flows flows = trace_flows_begin(profile->trace, text, NULL);
    uint64_t id = 0;
    for (row_t i = 0; i < profile->n; i++) {
        row_t parent = tree->parent[i], row = tree->sorted.order[i];
        if (parent == ROW_NONE)
            continue;
        row_t above = tree->sorted.order[parent];
        if (tree->sorted.events.thread[parent] != tree->sorted.events.thread[i] ||
            profile->gpu[row] != profile->gpu[above])
            trace_flows_add(&flows, profile->event[above], profile->event[row], ++id, "tree");
    }
    trace_flows_end(&flows);
    return true;
}
