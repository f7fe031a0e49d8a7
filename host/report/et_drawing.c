/*
 * et_drawing.c - writes a part of an .et file as a graph in Graphviz or GraphML format.
 *
 *     n7 [label="aten::mm\n13 us", ...];        a node: its row
 *     n7 -> n9 [style=dashed];                  n9 depends on n7; dashed: a data dependency
 *
 * Names are shortened in the middle, as in charts. Both formats accept XML escapes; Graphviz also interprets
 * backslashes, so they are doubled.
 */
#include <inttypes.h>

#include "base/error.h"
#include "base/options.h"
#include "report/markup.h"
#include "simulate/et_file.h"
#include "simulate/et_graph.h"
#include "write/text.h"

/* Width of a name in a node, relative to its font size. */
#define NAME_WIDTH 24

enum drawn_kind { DRAWN_CPU, DRAWN_GPU, DRAWN_COMMUNICATION, DRAWN_MEMORY, DRAWN_OTHER };

static const struct {
    const char *word, *colour;
} kinds[] = {
    [DRAWN_CPU] = {"cpu", "#dde3fb"},
    [DRAWN_GPU] = {"gpu", "#d2ecea"},
    [DRAWN_COMMUNICATION] = {"communication", "#ffdcb5"},
    [DRAWN_MEMORY] = {"memory", "#ead9f2"},
    [DRAWN_OTHER] = {"other", "#e7e9ec"},
};

struct et_drawing {
    const struct et_nodes *nodes;
    struct et_graph graph;
    const bool *picked;
    row_t centre;   /* or ROW_NONE */
    bool only_ctrl; /* without data dependencies */
};

static enum drawn_kind kind_of(const struct et_nodes *nodes, row_t row) {
    int32_t type = nodes->type[row];
    if (et_is_communication(type))
        return DRAWN_COMMUNICATION;
    if (type == ET_MEM_LOAD || type == ET_MEM_STORE)
        return DRAWN_MEMORY;
    if (type != ET_COMP)
        return DRAWN_OTHER;
    return et_is_gpu(nodes, row) ? DRAWN_GPU : DRAWN_CPU;
}

/* ---- Texts ---- */

/* The name of a node, cut if `width` is above 0, escaped for XML. */
static void write_name(struct text_out *text, const struct et_nodes *nodes, row_t row, double width) {
    struct et_text name = et_text_at(nodes->text[ET_NODE_NAME], row);
    struct markup markup = {.out = *text};
    struct name shown = {name.bytes, name.length, kind_of(nodes, row) == DRAWN_CPU};
    if (width > 0)
        markup_cut(&markup, shown, width);
    else
        markup_name(&markup, shown);
    *text = markup.out;
}

/* The same inside the quotes of Graphviz. */
static void write_dot_name(struct text_out *text, const struct et_nodes *nodes, row_t row, double width) {
    struct text_out plain = {0};
    write_name(&plain, nodes, row, width);
    text->out.failed |= plain.out.failed;
    for (size_t i = 0; i < plain.out.length; i++) {
        if (plain.out.bytes[i] == '\\')
            out_add(text, "\\");
        buffer_append(&text->out, plain.out.bytes + i, 1);
    }
    buffer_free(&plain.out);
}

/* Writes the type and size of communication. */
static void write_traffic(struct text_out *text, const struct et_nodes *nodes, row_t row, const char *line) {
    int64_t type = -1, size;
    if (!et_is_communication(nodes->type[row]))
        return;
    et_integer(nodes, row, ET_NAME_COMM_TYPE, &type);
    const char *name = nodes->type[row] == ET_COMM_COLL ? et_collective_name(type) : et_type_name(nodes->type[row]);
    out_format(text, "%s%s", line, name ? name : "UNKNOWN");
    if (et_integer(nodes, row, ET_NAME_COMM_SIZE, &size))
        out_format(text, ", %" PRId64 " bytes", size);
}

/* ---- Edges ---- */

static bool is_drawn(const struct et_drawing *drawing, uint64_t edge) {
    row_t above = drawing->graph.up.rows[edge];
    return above != ROW_NONE && drawing->picked[above] && !(drawing->only_ctrl && drawing->graph.kind[edge] == ET_DATA);
}

/* Writes each edge between drawn nodes. */
static void write_edges(const struct et_drawing *drawing, struct text_out *text,
                        void (*write_edge)(struct text_out *text, row_t from, row_t to, enum et_edges kind)) {
    const struct et_lists *up = &drawing->graph.up;
    for (row_t row = 0; row < drawing->nodes->n; row++)
        for (uint64_t i = up->first[row]; drawing->picked[row] && i < up->first[row + 1]; i++)
            if (is_drawn(drawing, i)) {
                write_edge(text, up->rows[i], row, (enum et_edges)drawing->graph.kind[i]);
                out_step(text);
            }
}

static void write_dot_edge(struct text_out *text, row_t from, row_t to, enum et_edges kind) {
    out_format(text, "  n%u -> n%u%s;\n", from, to, kind == ET_DATA ? " [style=dashed, color=\"#b31258\"]" : "");
}

static void write_xml_edge(struct text_out *text, row_t from, row_t to, enum et_edges kind) {
    out_format(text, "    <edge source=\"n%u\" target=\"n%u\"><data key=\"dependency\">%s</data></edge>\n", from, to,
               kind == ET_DATA ? "data" : "control");
}

/* ---- Graphviz ---- */

static bool write_dot(const void *of, struct text_out *text) {
    const struct et_drawing *drawing = of;
    const struct et_nodes *nodes = drawing->nodes;
    out_add(text, "digraph et {\n"
                  "  node [shape=box, style=\"rounded,filled\", fontname=\"sans-serif\", fontsize=10];\n"
                  "  edge [color=\"#57606a\"];\n");
    for (row_t row = 0; row < nodes->n; row++) {
        if (!drawing->picked[row])
            continue;
        out_format(text, "  n%u [label=\"", row);
        write_dot_name(text, nodes, row, NAME_WIDTH);
        out_format(text, "\\n%" PRIu64 " us", nodes->duration_us[row]);
        write_traffic(text, nodes, row, "\\n");
        out_format(text, "\", tooltip=\"node %" PRIu64 ": ", nodes->id[row]);
        write_dot_name(text, nodes, row, 0);
        out_format(text, "\", fillcolor=\"%s\"%s];\n", kinds[kind_of(nodes, row)].colour,
                   row == drawing->centre ? ", penwidth=3" : "");
        out_step(text);
    }
    write_edges(drawing, text, write_dot_edge);
    out_add(text, "}\n");
    return true;
}

/* ---- GraphML ---- */

static void write_xml_number(struct text_out *text, const char *key, uint64_t number) {
    out_format(text, "<data key=\"%s\">%" PRIu64 "</data>", key, number);
}

static void write_xml_key(struct text_out *text, const char *of, const char *name, const char *type) {
    out_format(text, "  <key id=\"%s\" for=\"%s\" attr.name=\"%s\" attr.type=\"%s\"/>\n", name, of, name, type);
}

static bool write_graphml(const void *of, struct text_out *text) {
    const struct et_drawing *drawing = of;
    const struct et_nodes *nodes = drawing->nodes;
    out_add(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
                  "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n");
    write_xml_key(text, "node", "id", "string"); /* ids of 64 bits without a sign fit no number type of GraphML */
    write_xml_key(text, "node", "name", "string");
    write_xml_key(text, "node", "kind", "string");
    write_xml_key(text, "node", "duration_us", "string");
    write_xml_key(text, "node", "communication", "string");
    write_xml_key(text, "edge", "dependency", "string");
    out_add(text, "  <graph edgedefault=\"directed\">\n");
    for (row_t row = 0; row < nodes->n; row++) {
        if (!drawing->picked[row])
            continue;
        out_format(text, "    <node id=\"n%u\">", row);
        write_xml_number(text, "id", nodes->id[row]);
        out_add(text, "<data key=\"name\">");
        write_name(text, nodes, row, 0);
        out_format(text, "</data><data key=\"kind\">%s</data>", kinds[kind_of(nodes, row)].word);
        write_xml_number(text, "duration_us", nodes->duration_us[row]);
        write_traffic(text, nodes, row, "<data key=\"communication\">");
        out_add(text, et_is_communication(nodes->type[row]) ? "</data></node>\n" : "</node>\n");
        out_step(text);
    }
    write_edges(drawing, text, write_xml_edge);
    out_add(text, "  </graph>\n</graphml>\n");
    return true;
}

/* ---- Subsets of the nodes: walks with a list of the marked nodes, O(nodes + dependencies) ---- */

/* Marked rows, in the order of the visit; rows before `next` are done. */
struct pick_walk {
    bool *picked;
    row_t *rows;
    row_t n, next;
};

static void mark(struct pick_walk *walk, row_t row) {
    if (row == ROW_NONE || walk->picked[row])
        return;
    walk->picked[row] = true;
    walk->rows[walk->n++] = row;
}

/* The last row with this id, or ROW_NONE. */
static row_t row_of_id(const struct et_nodes *nodes, uint64_t id) {
    for (row_t row = nodes->n; row > 0; row--)
        if (nodes->id[row - 1] == id)
            return row - 1;
    return ROW_NONE;
}

static void mark_all(struct pick_walk *walk, const struct et_lists *lists, row_t row) {
    for (uint64_t i = lists->first[row]; i < lists->first[row + 1]; i++)
        mark(walk, lists->rows[i]);
}

/* Marks the rows at most `depth` dependencies away from `row`, up or down. Returns their number. */
static row_t pick_neighbors(const struct et_graph *graph, row_t row, uint64_t depth, struct arena *arena,
                            bool *picked) {
    struct pick_walk walk = {.picked = picked, .rows = arena_alloc(arena, graph->n, sizeof *walk.rows)};
    if (!walk.rows)
        return 0;
    mark(&walk, row);
    for (uint64_t step = 0; step < depth && walk.next < walk.n; step++)
        for (row_t n = walk.n; walk.next < n; walk.next++) {
            mark_all(&walk, &graph->up, walk.rows[walk.next]);
            mark_all(&walk, &graph->down, walk.rows[walk.next]);
        }
    return walk.n;
}

/* Marks communication and its ancestors by control dependencies. */
static row_t pick_collectives(const struct et_nodes *nodes, const struct et_graph *graph, struct arena *arena,
                              bool *picked) {
    struct pick_walk walk = {.picked = picked, .rows = arena_alloc(arena, graph->n, sizeof *walk.rows)};
    if (!walk.rows)
        return 0;
    for (row_t row = 0; row < graph->n; row++)
        if (et_is_communication(nodes->type[row]))
            mark(&walk, row);
    for (; walk.next < walk.n; walk.next++) {
        row_t row = walk.rows[walk.next];
        for (uint64_t i = graph->up.first[row]; i < graph->up.first[row + 1]; i++)
            if (graph->kind[i] == ET_CTRL)
                mark(&walk, graph->up.rows[i]);
    }
    return walk.n;
}

/* ---- Selection and output ---- */

/* Selects the nodes to draw, and counts them and their edges. */
static enum sutra_status select_nodes(struct et_drawing *drawing, const struct sutra_et_draw_options *options,
                                      const char *file, struct arena *arena, struct sutra_et_drawn *drawn,
                                      struct sutra_error *error) {
    const struct et_nodes *nodes = drawing->nodes;
    const struct et_lists *up = &drawing->graph.up;
    bool *picked = arena_zeros(arena, nodes->n, sizeof *picked);
    drawing->centre = options->collectives ? ROW_NONE : row_of_id(nodes, options->node);
    drawing->only_ctrl = options->collectives;
    drawing->picked = picked;
    TRY_ALLOC(picked, error);
    if (!options->collectives && drawing->centre == ROW_NONE)
        return error_file(error, SUTRA_DATA, file, "no node has the id %" PRIu64, options->node);
    drawn->n_nodes = options->collectives
                         ? pick_collectives(nodes, &drawing->graph, arena, picked)
                         : pick_neighbors(&drawing->graph, drawing->centre, options->depth, arena, picked);
    for (row_t row = 0; row < nodes->n; row++)
        for (uint64_t i = up->first[row]; picked[row] && i < up->first[row + 1]; i++)
            drawn->n_edges += is_drawn(drawing, i);
    return arena->failed ? error_memory(error) : SUTRA_OK;
}

enum sutra_status sutra_et_draw(struct sutra_context *context, const struct sutra_et *et,
                                const struct sutra_et_draw_options *options, enum sutra_et_picture format,
                                const char *path, struct sutra_et_drawn *drawn, struct sutra_error *error) {
    static const struct options_form form = OPTIONS_FORM(sutra_et_draw_options, depth);
    struct sutra_et_draw_options ours;
    struct sutra_et_drawn counts = {0};
    struct et_drawing drawing = {.nodes = &et->file.nodes};
    struct arena arena = {0};
    TRY(options_copy(&form, options, &ours, error));
    enum sutra_status status = et_graph_make(drawing.nodes, ET_ALL, &arena, &drawing.graph, error);
    if (!status)
        status = select_nodes(&drawing, &ours, et->file.source.name, &arena, &counts, error);
    if (!status)
        status = text_file_write(context, path, format == SUTRA_ET_GRAPHML ? write_graphml : write_dot, &drawing, NULL,
                                 error);
    if (!status)
        report_give(drawn, &counts, sizeof counts);
    arena_free(&arena);
    return status;
}
