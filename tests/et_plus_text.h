/*
 * et_plus_text.h - builds ET+ from a few lines for tests and converts it.
 */
#ifndef TESTS_ET_PLUS_TEXT_H
#define TESTS_ET_PLUS_TEXT_H

#include "simulate/convert.h"
#include "sutra/sutra.h"
#include "unit.h"

/* A node of ET+: id, name, parent, further members, members of its inputs. */
struct line {
    uint64_t id;
    const char *name;
    uint64_t parent;
    const char *more;
};

#define PROCESS "[pytorch|profiler|execution_trace|process]"
#define THREAD  "[pytorch|profiler|execution_trace|thread]"

#define EMPTY_IO "{\"values\": [], \"shapes\": [], \"types\": []}"

static const char attributes[] =
    "[{\"name\": \"rf_id\", \"value\": 7}, {\"name\": \"fw_parent\", \"value\": 0}, {\"name\": \"seq_id\", \"value\": -1},"
    " {\"name\": \"scope\", \"value\": 0}, {\"name\": \"tid\", \"value\": 1}, {\"name\": \"fw_tid\", \"value\": 0},"
    " {\"name\": \"op_schema\", \"value\": \"\"}]";

static inline char *text_of(const struct line *lines, size_t n) {
    char *text = NULL;
    size_t size;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    fprintf(file, "{\"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": 5, \"time\": \"now\", \"start_ts\": 1, "
                  "\"finish_ts\": 2, \"nodes\": [");
    for (size_t i = 0; i < n; i++) {
        const char *more = lines[i].more ? lines[i].more : "";
        fprintf(file, "%s{\"id\": %llu, \"name\": \"%s\", \"ctrl_deps\": %llu, ", i ? "," : "",
                (unsigned long long)lines[i].id, lines[i].name, (unsigned long long)lines[i].parent);
        if (!strstr(more, "\"inputs\""))
            fputs("\"inputs\": " EMPTY_IO ", ", file);
        fprintf(file, "\"outputs\": " EMPTY_IO "%s, \"attrs\": %s}", more, attributes);
    }
    fputs("]}", file);
    assert_int_equal(fclose(file), 0);
    return text;
}

struct outcome {
    struct sutra_context *context;
    struct sutra_converted *converted;
    struct et_plus_texts texts; /* of the nodes */
    struct sutra_convert_report report;
    struct sutra_error error;
    enum sutra_status status;
    char warnings[1000]; /* all of them */
};

static inline void note_warning(void *arg, const char *message) {
    char *warnings = arg;
    strncat(warnings, message, 999 - strlen(warnings));
}

/* Converts ET+; to be ended by end(). */
static inline void convert_text(const char *text, const struct sutra_convert_options *options,
                                struct outcome *outcome) {
    *outcome = (struct outcome){.report.size = sizeof outcome->report};
    outcome->context = NEW_CONTEXT(.n_threads = 2, .warning = note_warning, .arg = outcome->warnings);
    outcome->status = sutra_convert_parse(outcome->context, "plus", text, strlen(text), options, &outcome->converted,
                                          &outcome->error);
    if (outcome->status == SUTRA_OK) {
        sutra_converted_report(outcome->converted, &outcome->report);
        const struct et_maker *maker = &outcome->converted->maker;
        assert_true(et_plus_texts_begin(&outcome->texts, &outcome->converted->et_plus.document->source));
        assert_int_equal(et_maker_fill(maker, 0, maker->n, &outcome->texts, &outcome->converted->nodes, NULL),
                         SUTRA_OK);
    }
}

/* The same of ET+ with these nodes. */
static inline void convert_with(const struct line *lines, size_t n, const struct sutra_convert_options *options,
                                struct outcome *outcome) {
    char *text = text_of(lines, n);
    convert_text(text, options, outcome);
    free(text);
}

static inline void end(struct outcome *outcome) {
    et_plus_texts_end(&outcome->texts);
    sutra_converted_free(outcome->converted);
    sutra_context_free(outcome->context);
}

static inline row_t find(const struct et_nodes *nodes, uint64_t id) {
    for (row_t node = 0; node < nodes->n; node++)
        if (nodes->id[node] == id)
            return node;
    return ROW_NONE;
}

static inline bool is_there(const struct outcome *outcome, uint64_t id) {
    return find(&outcome->converted->nodes, id) != ROW_NONE;
}

/* An attribute's number; it must be there. */
static inline int64_t number_of(const struct outcome *outcome, uint64_t id, enum et_name name) {
    const struct et_nodes *nodes = &outcome->converted->nodes;
    uint64_t i = et_attribute_find(nodes, find(nodes, id), name);
    assert_true(i != UINT64_MAX);
    return (int64_t)nodes->attributes.value[i].bits;
}

#define TENSOR(n, size) "[5, 6, 0, " #n ", " #size ", \"cuda:0\"]"
#define KERNEL(inputs)  ", \"cat\": \"kernel\", \"stream\": 7, \"exclusive_dur\": 12.5, \"inputs\": " inputs
#define TENSOR_IO       "{\"values\": [" TENSOR(10, 4) "], \"shapes\": [[10]], \"types\": [\"Tensor(float)\"]}"

#endif
