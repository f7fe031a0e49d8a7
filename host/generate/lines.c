/*
 * lines.c - making the templates of all lines. About a megabyte, whatever the size of the traces.
 */
#include "generate/lines.h"

#include "generate/arguments.h"

/* What host traces of a schema have beyond the least. */
struct schema {
    const char *name;
    bool is_flat;     /* fields of the node instead of lists of attributes */
    bool has_strides; /* strides of tensors, and the attribute tensor_range */
};

static const struct schema schemas[] = {
    {"1.0.1", true, false},
    {"1.0.2-chakra.0.0.4", false, false},
    {"1.0.3-chakra.0.0.4", false, false},
    {"1.1.0-chakra.0.0.4", false, false},
    {"1.1.1-chakra.0.0.4", false, true},
};

static const char *const annotation_names[N_ANNOTATIONS] = {
    [ANNOTATION_STEP] = "ProfilerStep#@sequence@",
    [ANNOTATION_FORWARD] = "## forward ##",
    [ANNOTATION_BACKWARD] = "## backward ##",
    [ANNOTATION_OPTIMIZER] = "Optimizer.step#AdamW.step",
};

#define SPAN(category, name) "{'ph': 'X', 'cat': '" category "', 'name': '" name "', "
#define CPU                  "'pid': @pid@, 'tid': @tid@, 'ts': @ts@"
#define GPU                  "'pid': 0, 'tid': @tid@, 'ts': @ts@"
#define METADATA(name)       "{'name': '" name "', 'ph': 'M', 'ts': @ts@, "

static const char *const plain_texts[LINE_PROCESS_NODE] = {
    [LINE_PROCESS_NAME] = METADATA("process_name") "'pid': @pid@, 'tid': 0, 'args': {'name': 'python'}}",
    [LINE_THREAD_NAME] =
        METADATA("thread_name") "'pid': @pid@, 'tid': @tid@, 'args': {'name': 'thread @tid@ (python)'}}",
    [LINE_STREAM_NAME] = METADATA("thread_name") "'pid': 0, 'tid': @tid@, 'args': {'name': 'stream @tid@ '}}",
    [LINE_PYTHON_FUNCTION] = SPAN("python_function", "torch/nn/modules/module.py(17@small@): _wrapped_call_impl") CPU
    ", 'dur': @dur@, 'args': {'Python parent id': @node@, 'Python id': @index@, 'Ev Idx': @index@}}",
    [LINE_FORWARD_ARROW] = "{'ph': 's', 'id': @sequence@, " CPU ", 'cat': 'fwdbwd', 'name': 'fwdbwd'}",
    [LINE_BACKWARD_ARROW] = "{'ph': 'f', 'id': @sequence@, " CPU ", 'cat': 'fwdbwd', 'name': 'fwdbwd', 'bp': 'e'}",
    [LINE_LAUNCH_ARROW] = "{'ph': 's', 'id': @correlation@, " CPU ", 'cat': 'ac2g', 'name': 'ac2g'}",
    [LINE_GPU_ARROW] = "{'ph': 'f', 'id': @correlation@, " GPU ", 'cat': 'ac2g', 'name': 'ac2g', 'bp': 'e'}",
    [LINE_CALL_ARROW] = "{'ph': 'f', 'id': @correlation@, " CPU ", 'cat': 'ac2g', 'name': 'ac2g', 'bp': 'e'}",
    [LINE_OCCUPANCY] = SPAN("cuda_runtime", "cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags") CPU
    ", 'dur': @dur@, 'args': {'External id': @external@, 'cbid': 251, 'correlation': @correlation@}}",
    [LINE_SYNC_CALL] = SPAN("cuda_runtime", "cudaStreamSynchronize") CPU
    ", 'dur': @dur@, 'args': {'External id': @external@, 'cbid': 131, 'correlation': @correlation@}}",
    [LINE_SYNC] = SPAN("cuda_sync", "Stream Sync") GPU
    ", 'dur': @dur@, 'args': {'External id': @external@, 'cuda_sync_kind': 'Stream Sync', 'stream': @tid@, "
    "'correlation': @correlation@, 'device': 0, 'context': 1}}",
};

static const struct schema *schema_named(const char *name) {
    for (size_t i = 0; i < sizeof schemas / sizeof schemas[0]; i++)
        if (strcmp(schemas[i].name, name) == 0)
            return &schemas[i];
    return NULL;
}

bool lines_know_schema(const char *schema) {
    return schema_named(schema) != NULL;
}

/* Makes a template of the text and empties the text. */
static bool finish(struct buffer *text, struct template *template) {
    bool is_made = !text->failed && template_make(template, text->bytes, text->length);
    text->length = 0;
    return is_made;
}

static void device_op_add(struct buffer *text, const struct operator_row *row, size_t k) {
    text_add(text, "{'ph': 'X', 'cat': '%s', 'name': '%s', " CPU ", 'dur': @dur@, 'args': {'External id': @external@, ",
             row->is_annotation ? "user_annotation" : "cpu_op", row->name);
    if (row->has_sequence)
        text_add(text, "'Sequence number': @sequence@, 'Fwd thread id': 0, ");
    text_add(text, "'Record function id': @rf@, ");
    if (row->inputs[0]) {
        text_add(text, "'Concrete Inputs': ");
        arguments_add(text, FACET_CONCRETE_INPUTS, row->inputs, false, k);
        text_add(text, ", 'Input type': ");
        arguments_add(text, FACET_INPUT_TYPES, row->inputs, false, k);
        text_add(text, ", 'Input Strides': ");
        arguments_add(text, FACET_INPUT_STRIDES, row->inputs, false, k);
        text_add(text, ", 'Input Dims': ");
        arguments_add(text, FACET_INPUT_DIMS, row->inputs, false, k);
        text_add(text, ", ");
    }
    text_add(text, "'Ev Idx': @index@}}");
}

static void flat_lists_add(struct buffer *text, const char *side, const char *letters, bool are_made, size_t k) {
    text_add(text, ", '%ss': ", side);
    arguments_add(text, FACET_VALUES, letters, are_made, k);
    text_add(text, ", '%s_shapes': ", side);
    arguments_add(text, FACET_SHAPES, letters, are_made, k);
    text_add(text, ", '%s_types': ", side);
    arguments_add(text, FACET_TYPES, letters, are_made, k);
}

static void flat_node_add(struct buffer *text, const struct operator_row *row, size_t k) {
    text_add(text,
             "{'name': '%s', 'id': @node@, 'rf_id': @host_rf@, 'parent': @parent@, 'fw_parent': 0, 'seq_id': %s, "
             "'scope': %d, 'tid': @host_tid@, 'fw_tid': 0, 'op_schema': '%s'",
             row->name, row->has_sequence ? "@sequence@" : "-1", row->is_annotation ? 7 : 0, row->schema);
    flat_lists_add(text, "input", row->inputs, false, k);
    flat_lists_add(text, "output", row->outputs, true, k);
    text_add(text, "}");
}

static void lists_add(struct buffer *text, const struct schema *schema, const char *side, const char *letters,
                      bool are_made, size_t k) {
    text_add(text, ", '%s': {'values': ", side);
    arguments_add(text, FACET_VALUES, letters, are_made, k);
    text_add(text, ", 'shapes': ");
    arguments_add(text, FACET_SHAPES, letters, are_made, k);
    text_add(text, ", 'types': ");
    arguments_add(text, FACET_TYPES, letters, are_made, k);
    if (schema->has_strides) {
        text_add(text, ", 'strides': ");
        arguments_add(text, FACET_STRIDES, letters, are_made, k);
    }
    text_add(text, "}");
}

static void attribute_add(struct buffer *text, const char *name, const char *type, const char *value) {
    text_add(text, "%s{'name': '%s', 'type': '%s', 'value': %s}", strcmp(name, "rf_id") == 0 ? "" : ", ", name, type,
             value);
}

static void attributes_add(struct buffer *text, const struct schema *schema, const struct operator_row *row) {
    text_add(text, ", 'attrs': [");
    attribute_add(text, "rf_id", "uint64", "@host_rf@");
    attribute_add(text, "fw_parent", "uint64", "0");
    attribute_add(text, "seq_id", "int64", row->has_sequence ? "@sequence@" : "-1");
    attribute_add(text, "scope", "uint64", row->is_annotation ? "7" : "0");
    attribute_add(text, "tid", "uint64", "@host_tid@");
    attribute_add(text, "fw_tid", "uint64", "0");
    text_add(text, ", {'name': 'op_schema', 'type': 'string', 'value': '%s'}", row->schema);
    attribute_add(text, "kernel_backend", "string", "''");
    attribute_add(text, "kernel_file", "string", "''");
    if (schema->has_strides)
        attribute_add(text, "tensor_range", "string", "''");
    text_add(text, "]}");
}

static void host_op_add(struct buffer *text, const struct schema *schema, const struct operator_row *row, size_t k) {
    if (schema->is_flat) {
        flat_node_add(text, row, k);
        return;
    }
    text_add(text, "{'id': @node@, 'name': '%s', 'ctrl_deps': @parent@", row->name);
    lists_add(text, schema, "inputs", row->inputs, false, k);
    lists_add(text, schema, "outputs", row->outputs, true, k);
    attributes_add(text, schema, row);
}

/* A node of the host trace that is no operator. */
static bool make_node(struct buffer *text, const struct schema *schema, const char *name, struct template *template) {
    struct operator_row row = {.name = name, .inputs = "", .outputs = "", .schema = "", .is_annotation = true};
    host_op_add(text, schema, &row, 0);
    return finish(text, template);
}

static void launch_add(struct buffer *text, const struct gpu_row *row) {
    text_add(text,
             "{'ph': 'X', 'cat': '%s', 'name': '%s', " CPU ", 'dur': @dur@, 'args': {'External id': @external@, "
             "'cbid': %u, 'correlation': @correlation@}}",
             row->launch_category, row->launch, row->cbid);
}

static void gpu_op_add(struct buffer *text, const struct gpu_row *row) {
    text_add(text, "{'ph': 'X', 'cat': '%s', 'name': '%s', " GPU ", 'dur': @dur@, 'args': {'External id': @external@, ",
             row->is_copy ? "gpu_memcpy" : "kernel", row->name);
    if (row->is_copy) {
        text_add(text, "'device': 0, 'context': 1, 'stream': @tid@, 'correlation': @correlation@, "
                       "'bytes': @fraction@, 'memory bandwidth (GB/s)': @small@.@fraction@@fraction@}}");
        return;
    }
    text_add(text, "'queued': 0, 'device': 0, 'context': 1, 'stream': @tid@, 'correlation': @correlation@, "
                   "'registers per thread': @width@, 'shared memory': 49152, 'blocks per SM': @small@.@fraction@, "
                   "'warps per SM': @small@.@fraction@, 'grid': [@width@, @small@, 1], 'block': [@width@, 1, 1], "
                   "'est. achieved occupancy %%': @small@0");
    if (row->group)
        text_add(text,
                 ", 'Collective name': 'allreduce', 'In msg nelems': 8768, 'Out msg nelems': 8768, 'Group size': 2, "
                 "'dtype': 'Float', 'In split size': '[]', 'Out split size': '[]', 'Process Group Name': '%s', "
                 "'Process Group Description': 'default_pg', 'Process Group Ranks': '[0, 1]'",
                 row->group);
    text_add(text, "}}");
}

static bool make_ops(struct lines *lines, const struct schema *schema, struct buffer *text) {
    bool is_made = true;
    for (size_t i = 0; i < n_operators * N_TENSOR_SHAPES && is_made; i++) {
        device_op_add(text, &operators[i / N_TENSOR_SHAPES], i % N_TENSOR_SHAPES);
        is_made = finish(text, &lines->device_ops[i]);
        host_op_add(text, schema, &operators[i / N_TENSOR_SHAPES], i % N_TENSOR_SHAPES);
        is_made = finish(text, &lines->host_ops[i]) && is_made;
    }
    return is_made;
}

static bool make_gpu_ops(struct lines *lines, struct buffer *text) {
    bool is_made = true;
    for (size_t i = 0; i < n_gpu_rows && is_made; i++) {
        launch_add(text, &gpu_rows[i]);
        is_made = finish(text, &lines->launches[i]);
        gpu_op_add(text, &gpu_rows[i]);
        is_made = finish(text, &lines->gpu_ops[i]) && is_made;
    }
    return is_made;
}

static bool make_annotations(struct lines *lines, const struct schema *schema, struct buffer *text) {
    bool is_made = true;
    for (size_t i = 0; i < N_ANNOTATIONS && is_made; i++) {
        struct operator_row row = {.name = annotation_names[i], .inputs = "", .is_annotation = true};
        device_op_add(text, &row, 0);
        is_made = finish(text, &lines->device_annotations[i]);
        text_add(text, SPAN("gpu_user_annotation", "%s") GPU ", 'dur': @dur@, 'args': {'External id': @external@}}",
                 row.name);
        is_made = finish(text, &lines->gpu_annotations[i]) && is_made;
        is_made = make_node(text, schema, row.name, &lines->host_annotations[i]) && is_made;
    }
    return is_made;
}

static bool make_plain(struct lines *lines, const struct schema *schema, struct buffer *text) {
    bool is_made = true;
    for (size_t i = 0; i < LINE_PROCESS_NODE && is_made; i++)
        is_made = template_make(&lines->plain[i], plain_texts[i], strlen(plain_texts[i]));
    return is_made &&
           make_node(text, schema, "[pytorch|profiler|execution_trace|process]", &lines->plain[LINE_PROCESS_NODE]) &&
           make_node(text, schema, "[pytorch|profiler|execution_trace|thread]", &lines->plain[LINE_THREAD_NODE]);
}

bool lines_make(struct lines *lines, const char *schema_name) {
    const struct schema *schema = schema_named(schema_name);
    struct buffer text = {0};
    *lines = (struct lines){
        .device_ops = calloc(n_operators * N_TENSOR_SHAPES, sizeof(struct template)),
        .host_ops = calloc(n_operators * N_TENSOR_SHAPES, sizeof(struct template)),
        .launches = calloc(n_gpu_rows, sizeof(struct template)),
        .gpu_ops = calloc(n_gpu_rows, sizeof(struct template)),
    };
    bool is_made = lines->device_ops && lines->host_ops && lines->launches && lines->gpu_ops &&
                   make_ops(lines, schema, &text) && make_gpu_ops(lines, &text) &&
                   make_annotations(lines, schema, &text) && make_plain(lines, schema, &text);
    buffer_free(&text);
    return is_made;
}

static void free_all(struct template *templates, size_t n) {
    for (size_t i = 0; templates && i < n; i++)
        template_free(&templates[i]);
}

void lines_free(struct lines *lines) {
    free_all(lines->device_ops, n_operators * N_TENSOR_SHAPES);
    free_all(lines->host_ops, n_operators * N_TENSOR_SHAPES);
    free_all(lines->launches, n_gpu_rows);
    free_all(lines->gpu_ops, n_gpu_rows);
    free_all(lines->device_annotations, N_ANNOTATIONS);
    free_all(lines->host_annotations, N_ANNOTATIONS);
    free_all(lines->gpu_annotations, N_ANNOTATIONS);
    free_all(lines->plain, N_PLAIN_LINES);
    free(lines->device_ops);
    free(lines->host_ops);
    free(lines->launches);
    free(lines->gpu_ops);
}
