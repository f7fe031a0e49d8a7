/*
 * lines.c - builds the templates of all lines, about one megabyte, and writes lines through the buffer of the output.
 * Writing copies the pieces and formats one number per field.
 *
 *     row of `operators`, tensor shape --> text with ' for " and @field@ --> template in the arena
 *
 *     {'ph': 'X', 'cat': 'cpu_op', 'name': 'aten::t', 'pid': @pid@, ...    once for each of the six tensor shapes
 */
#include <errno.h>
#include <unistd.h>

#include "generate/lines.h"
#include "generate/operators.h"
#include "text/numbers.h"

/* ---- Output (generate.h) ---- */

void output_flush(struct output *output) {
    size_t done = 0;
    while (done < output->length && !output->failure) {
        ssize_t n = write(output->temp.file, output->bytes + done, output->length - done);
        if (n > 0)
            done += (size_t)n;
        else if (n < 0 && errno != EINTR)
            output->failure = errno;
    }
    output->length = 0;
}

void output_number(struct output *output, int64_t number) {
    output->length += integer_format(number, output_reserve(output, NUMBER_TEXT_MAX));
}

/* ---- Templates ---- */

struct slot {
    uint32_t length; /* of the literal piece before the field */
    uint8_t field;   /* LINE_COUNT: none */
};

/* Maximum size of the decimals of a number. */
#define FRACTION sizeof ".000"

#define FIELD_NAME(field, name) name,
static const char *const field_names[LINE_COUNT] = {TEMPLATE_FIELDS(FIELD_NAME)};

struct template template_make(struct arena *arena, const char *text, size_t length) {
    size_t n_fields = 0, literal = 0, piece = 0;
    for (size_t i = 0; i < length; i++)
        n_fields += text[i] == '@';
    n_fields /= 2;
    struct template template = {.text = arena_alloc(arena, length, 1),
                                .slots = arena_alloc(arena, n_fields + 1, sizeof(struct slot)),
                                .size_max = length + n_fields * (NUMBER_TEXT_MAX + FRACTION)};
    for (size_t i = 0; i < length && !arena->failed; i++) {
        const char *end = text[i] == '@' ? memchr(text + i + 1, '@', length - i - 1) : NULL;
        if (!end) {
            template.text[literal++] = text[i] == '\'' ? '"' : text[i];
            continue;
        }
        const char *name = text + i + 1;
        size_t name_length = (size_t)(end - name);
        uint8_t field = 0;
        while (field < LINE_COUNT &&
               (strlen(field_names[field]) != name_length || memcmp(field_names[field], name, name_length) != 0))
            field++;
        template.slots[template.n_slots++] = (struct slot){(uint32_t)(literal - piece), field};
        piece = literal;
        i = (size_t)(end - text);
    }
    if (!arena->failed)
        template.slots[template.n_slots++] = (struct slot){(uint32_t)(literal - piece), LINE_COUNT};
    return template;
}

void template_write(const struct template *template, const struct template_values *values, struct output *output) {
    char *start = output_reserve(output, template->size_max), *to = start;
    const char *text = template->text;
    for (size_t i = 0; i < template->n_slots; i++) {
        struct slot slot = template->slots[i];
        memcpy(to, text, slot.length);
        to += slot.length;
        text += slot.length;
        if (slot.field == LINE_COUNT)
            break;
        bool is_decimal = (slot.field == LINE_TS || slot.field == LINE_DUR) && !values->integer_times;
        int64_t value = values->of[slot.field];
        to += integer_format(is_decimal ? value / 1000 : value, to);
        if (is_decimal) { /* the digits of the integer, so that nothing is rounded */
            *to++ = '.';
            *to++ = (char)('0' + value % 1000 / 100);
            *to++ = (char)('0' + value % 1000 / 10 % 10);
            *to++ = (char)('0' + value % 10);
        }
    }
    output->length += (size_t)(to - start);
}

/* ---- Lines ---- */

/* The optional features of a schema of host traces. */
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

/* The call of a runtime function with this number. */
#define CALL(name, cbid)                                                                                               \
    SPAN("cuda_runtime", name)                                                                                         \
    CPU ", 'dur': @dur@, 'args': {'External id': @external@, 'cbid': " cbid ", 'correlation': @correlation@}}"

/* The event of a synchronizing call on the GPU. */
#define SYNC_EVENT(kind, fields)                                                                                       \
    SPAN("cuda_sync", kind)                                                                                            \
    GPU ", 'dur': @dur@, 'args': {'External id': @external@, 'cuda_sync_kind': '" kind "', " fields                    \
        ", 'correlation': @correlation@, 'device': 0, 'context': 1}}"
#define AWAITED                                                                                                        \
    "'wait_on_stream': @event_stream@, 'wait_on_cuda_event_record_corr_id': @record@, 'wait_on_cuda_event_id': @small@, "

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
    [LINE_OCCUPANCY] = CALL("cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags", "251"),
    [LINE_SYNC_CALL] = CALL("cudaStreamSynchronize", "131"),
    [LINE_DEVICE_SYNC_CALL] = CALL("cudaDeviceSynchronize", "165"),
    [LINE_EVENT_SYNC_CALL] = CALL("cudaEventSynchronize", "137"),
    [LINE_RECORD_CALL] = CALL("cudaEventRecord", "135"),
    [LINE_WAIT_CALL] = CALL("cudaStreamWaitEvent", "147"),
    [LINE_SYNC] = SYNC_EVENT("Stream Sync", "'stream': @tid@"),
    [LINE_DEVICE_SYNC] = SYNC_EVENT("Context Sync", "'stream': -1"),
    [LINE_EVENT_SYNC] = SYNC_EVENT("Event Sync", AWAITED "'stream': -1"),
    [LINE_STREAM_WAIT] = SYNC_EVENT("Stream Wait Event", AWAITED "'stream': @tid@"),
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

/* What templates are made with: a text at a time, and where they live. */
struct line_maker {
    const struct schema *schema;
    struct arena *arena;
    struct buffer text;
};

/* A template of the text, which is empty then. */
static struct template finish(struct line_maker *maker) {
    struct template template = template_make(maker->arena, maker->text.bytes, maker->text.length);
    maker->text.length = 0;
    return template;
}

static void device_op_add(struct buffer *text, const struct operator_row *row, size_t k) {
    buffer_format(text,
                  "{'ph': 'X', 'cat': '%s', 'name': '%s', " CPU ", 'dur': @dur@, 'args': {'External id': @external@, ",
                  row->is_annotation ? "user_annotation" : "cpu_op", row->name);
    if (row->has_sequence)
        buffer_format(text, "'Sequence number': @sequence@, 'Fwd thread id': 0, ");
    buffer_format(text, "'Record function id': @rf@, ");
    if (row->inputs[0]) {
        buffer_format(text, "'Concrete Inputs': ");
        arguments_add(text, FACET_CONCRETE_INPUTS, row->inputs, false, k);
        buffer_format(text, ", 'Input type': ");
        arguments_add(text, FACET_INPUT_TYPES, row->inputs, false, k);
        buffer_format(text, ", 'Input Strides': ");
        arguments_add(text, FACET_INPUT_STRIDES, row->inputs, false, k);
        buffer_format(text, ", 'Input Dims': ");
        arguments_add(text, FACET_INPUT_DIMS, row->inputs, false, k);
        buffer_format(text, ", ");
    }
    buffer_format(text, "'Ev Idx': @index@}}");
}

static void flat_lists_add(struct buffer *text, const char *side, const char *letters, bool are_made, size_t k) {
    buffer_format(text, ", '%ss': ", side);
    arguments_add(text, FACET_VALUES, letters, are_made, k);
    buffer_format(text, ", '%s_shapes': ", side);
    arguments_add(text, FACET_SHAPES, letters, are_made, k);
    buffer_format(text, ", '%s_types': ", side);
    arguments_add(text, FACET_TYPES, letters, are_made, k);
}

static void lists_add(struct buffer *text, const struct schema *schema, const char *side, const char *letters,
                      bool are_made, size_t k) {
    buffer_format(text, ", '%s': {'values': ", side);
    arguments_add(text, FACET_VALUES, letters, are_made, k);
    buffer_format(text, ", 'shapes': ");
    arguments_add(text, FACET_SHAPES, letters, are_made, k);
    buffer_format(text, ", 'types': ");
    arguments_add(text, FACET_TYPES, letters, are_made, k);
    if (schema->has_strides) {
        buffer_format(text, ", 'strides': ");
        arguments_add(text, FACET_STRIDES, letters, are_made, k);
    }
    buffer_format(text, "}");
}

static void attribute_add(struct buffer *text, const char *name, const char *type, const char *value) {
    buffer_format(text, "%s{'name': '%s', 'type': '%s', 'value': %s}", strcmp(name, "rf_id") == 0 ? "" : ", ", name,
                  type, value);
}

static void attributes_add(struct buffer *text, const struct schema *schema, const struct operator_row *row) {
    buffer_format(text, ", 'attrs': [");
    attribute_add(text, "rf_id", "uint64", "@host_rf@");
    attribute_add(text, "fw_parent", "uint64", "0");
    attribute_add(text, "seq_id", "int64", row->has_sequence ? "@sequence@" : "-1");
    attribute_add(text, "scope", "uint64", row->is_annotation ? "7" : "0");
    attribute_add(text, "tid", "uint64", "@host_tid@");
    attribute_add(text, "fw_tid", "uint64", "0");
    buffer_format(text, ", {'name': 'op_schema', 'type': 'string', 'value': '%s'}", row->schema);
    attribute_add(text, "kernel_backend", "string", "''");
    attribute_add(text, "kernel_file", "string", "''");
    if (schema->has_strides)
        attribute_add(text, "tensor_range", "string", "''");
    buffer_format(text, "]}");
}

static void host_op_add(struct buffer *text, const struct schema *schema, const struct operator_row *row, size_t k) {
    if (schema->is_flat) {
        buffer_format(
            text,
            "{'name': '%s', 'id': @node@, 'rf_id': @host_rf@, 'parent': @parent@, 'fw_parent': 0, 'seq_id': %s, "
            "'scope': %d, 'tid': @host_tid@, 'fw_tid': 0, 'op_schema': '%s'",
            row->name, row->has_sequence ? "@sequence@" : "-1", row->is_annotation ? 7 : 0, row->schema);
        flat_lists_add(text, "input", row->inputs, false, k);
        flat_lists_add(text, "output", row->outputs, true, k);
        buffer_format(text, "}");
        return;
    }
    buffer_format(text, "{'id': @node@, 'name': '%s', 'ctrl_deps': @parent@", row->name);
    lists_add(text, schema, "inputs", row->inputs, false, k);
    lists_add(text, schema, "outputs", row->outputs, true, k);
    attributes_add(text, schema, row);
}

/* A node of the host trace that is not an operator. */
static struct template make_node(struct line_maker *maker, const char *name) {
    struct operator_row row = {.name = name, .inputs = "", .outputs = "", .schema = "", .is_annotation = true};
    host_op_add(&maker->text, maker->schema, &row, 0);
    return finish(maker);
}

static void gpu_op_add(struct buffer *text, const struct gpu_row *row) {
    buffer_format(text,
                  "{'ph': 'X', 'cat': '%s', 'name': '%s', " GPU ", 'dur': @dur@, 'args': {'External id': @external@, ",
                  row->is_copy ? "gpu_memcpy" : "kernel", row->name);
    if (row->is_copy) {
        buffer_format(text, "'device': 0, 'context': 1, 'stream': @tid@, 'correlation': @correlation@, "
                            "'bytes': @fraction@, 'memory bandwidth (GB/s)': @small@.@fraction@@fraction@}}");
        return;
    }
    buffer_format(text, "'queued': 0, 'device': 0, 'context': 1, 'stream': @tid@, 'correlation': @correlation@, "
                        "'registers per thread': @width@, 'shared memory': 49152, 'blocks per SM': @small@.@fraction@, "
                        "'warps per SM': @small@.@fraction@, 'grid': [@width@, @small@, 1], 'block': [@width@, 1, 1], "
                        "'est. achieved occupancy %%': @small@0");
    if (row->group)
        buffer_format(
            text,
            ", 'Collective name': 'allreduce', 'In msg nelems': 8768, 'Out msg nelems': 8768, 'Group size': 2, "
            "'dtype': 'Float', 'In split size': '[]', 'Out split size': '[]', 'Process Group Name': '%s', "
            "'Process Group Description': 'default_pg', 'Process Group Ranks': '[0, 1]'",
            row->group);
    buffer_format(text, "}}");
}

bool lines_make(struct lines *lines, const char *schema, struct arena *arena) {
    struct line_maker maker = {.schema = schema_named(schema), .arena = arena};
    size_t n_ops = n_operators * N_TENSOR_SHAPES;
    *lines = (struct lines){.device_ops = arena_alloc(arena, n_ops, sizeof(struct template)),
                            .host_ops = arena_alloc(arena, n_ops, sizeof(struct template)),
                            .launches = arena_alloc(arena, n_gpu_rows, sizeof(struct template)),
                            .gpu_ops = arena_alloc(arena, n_gpu_rows, sizeof(struct template))};
    if (arena->failed)
        return false;
    for (size_t i = 0; i < n_ops; i++) {
        const struct operator_row *row = &operator_rows[i / N_TENSOR_SHAPES];
        device_op_add(&maker.text, row, i % N_TENSOR_SHAPES);
        lines->device_ops[i] = finish(&maker);
        host_op_add(&maker.text, maker.schema, row, i % N_TENSOR_SHAPES);
        lines->host_ops[i] = finish(&maker);
    }
    for (size_t i = 0; i < n_gpu_rows; i++) {
        const struct gpu_row *row = &gpu_rows[i];
        buffer_format(&maker.text,
                      "{'ph': 'X', 'cat': '%s', 'name': '%s', " CPU
                      ", 'dur': @dur@, 'args': {'External id': @external@, "
                      "'cbid': %u, 'correlation': @correlation@}}",
                      row->launch_category, row->launch, row->cbid);
        lines->launches[i] = finish(&maker);
        gpu_op_add(&maker.text, row);
        lines->gpu_ops[i] = finish(&maker);
    }
    for (size_t i = 0; i < N_ANNOTATIONS; i++) {
        struct operator_row row = {.name = annotation_names[i], .inputs = "", .is_annotation = true};
        device_op_add(&maker.text, &row, 0);
        lines->device_annotations[i] = finish(&maker);
        buffer_format(&maker.text,
                      SPAN("gpu_user_annotation", "%s") GPU ", 'dur': @dur@, 'args': {'External id': @external@}}",
                      row.name);
        lines->gpu_annotations[i] = finish(&maker);
        lines->host_annotations[i] = make_node(&maker, row.name);
    }
    for (size_t i = 0; i < LINE_PROCESS_NODE; i++)
        lines->plain[i] = template_make(arena, plain_texts[i], strlen(plain_texts[i]));
    lines->plain[LINE_PROCESS_NODE] = make_node(&maker, "[pytorch|profiler|execution_trace|process]");
    lines->plain[LINE_THREAD_NODE] = make_node(&maker, "[pytorch|profiler|execution_trace|thread]");
    bool ok = !maker.text.failed && !arena->failed;
    buffer_free(&maker.text);
    return ok;
}
