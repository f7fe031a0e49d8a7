/*
 * fuzz_convert.c - fuzzes conversion: the input is ET+, its length selects the rules. One and two threads give the same
 * bytes, which sutra's reader accepts, or the same error. Without compat the file contains all dependencies.
 */
#include "fuzz.h"
#include "fuzz_trace.h"
#include "simulate/convert.h"

struct conversion {
    struct sutra_context *context;
    struct sutra_converted *converted;
    struct et_plus_texts texts; /* of the nodes */
    struct sutra_error error;
    enum sutra_status status;
    struct buffer bytes;
};

static struct conversion convert(unsigned n_threads, const uint8_t *data, size_t size, bool compat) {
    struct conversion made = {.context = new_context(n_threads)};
    const struct sutra_convert_options options = {.size = sizeof options, .compat = compat};
    made.status = sutra_convert_parse(made.context, "plus", data, size, &options, &made.converted, &made.error);
    check_outcome(made.status, &made.error, made.converted);
    if (!made.converted)
        return made;
    const struct et_maker *maker = &made.converted->maker;
    check(et_plus_texts_begin(&made.texts, &made.converted->et_plus.document->source), "memory");
    check(et_maker_fill(maker, 0, maker->n, &made.texts, &made.converted->nodes, NULL) == SUTRA_OK, "memory");
    et_write_metadata(&made.converted->nodes, &made.bytes);
    for (row_t node = 0; node < made.converted->nodes.n; node++)
        et_write_node(&made.converted->nodes, node, &made.bytes);
    check(!made.bytes.failed, "memory");
    return made;
}

static void conversion_free(struct conversion *made) {
    buffer_free(&made->bytes);
    et_plus_texts_end(&made->texts);
    sutra_converted_free(made->converted);
    sutra_context_free(made->context);
}

static bool has_id(const struct et_nodes *nodes, uint64_t id) {
    row_t low = 0, high = nodes->n;
    while (low < high) {
        row_t middle = low + (high - low) / 2;
        if (nodes->id[middle] < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < nodes->n && nodes->id[low] == id;
}

static void check_nodes(const struct et_nodes *nodes) {
    for (row_t node = 1; node < nodes->n; node++)
        check(nodes->id[node - 1] < nodes->id[node], "ids rise");
    for (uint64_t i = 0; i < nodes->data.first[nodes->n]; i++)
        check(has_id(nodes, nodes->data.ids[i]), "a data dependency is there");
    for (uint64_t i = 0; i < nodes->ctrl.first[nodes->n]; i++)
        check(has_id(nodes, nodes->ctrl.ids[i]), "a control dependency is there");
}

/* Names of attributes are ours, so nothing that our reader refuses can be in the file. */
static void check_read_back(const struct conversion *made) {
    struct sutra_et *et = NULL;
    struct sutra_error error;
    check(sutra_et_parse(made->context, "et", made->bytes.bytes, made->bytes.length, NULL, &et, &error) == SUTRA_OK,
          "our reader takes the file");
    check(et->file.nodes.n == made->converted->nodes.n, "as many nodes are read as were written");
    sutra_et_free(et);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    bool compat = size % 2;
    struct conversion one = convert(1, data, size, compat), two = convert(2, data, size, compat);
    check(one.status == two.status, "threads do not change the status");
    if (one.status == SUTRA_OK) {
        check(same_bytes(one.bytes.bytes, one.bytes.length, two.bytes.bytes, two.bytes.length),
              "threads do not change the file");
        if (!compat)
            check_nodes(&one.converted->nodes);
        check_read_back(&one);
    } else {
        check(strcmp(one.error.message, two.error.message) == 0, "threads do not change the message");
    }
    conversion_free(&one);
    conversion_free(&two);
    return 0;
}
