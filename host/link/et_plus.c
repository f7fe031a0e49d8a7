/*
 * et_plus.c - writing ET+: what stands before the nodes, the nodes in pieces that threads make in parallel, and the
 * rest.
 *
 * Pieces are runs of entries (see linked.h) of about PIECE_BYTES of output, so that memory stays the same however long
 * the output is; a unit with very many GPU operators is cut too.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "context/context.h"
#include "link/linked.h"
#include "link/node_text.h"
#include "write/document_frame.h"
#include "write/sink.h"

/* Output that a piece aims at: what a core's own cache holds while the kernel copies it. And how much longer a node is
 * there than in the input, roughly. */
#define PIECE_BYTES (1 << 18)
#define GROWTH      3

/* A run of entries: from entry `first` of `unit` on (counted in the unit), up to where the next piece begins. */
struct text_piece {
    row_t unit, first;
};

/* What a thread needs while it makes a piece; kept for the next one. */
struct workspace {
    struct workspace *next;
    struct node_template template;
    struct buffer out;
};

struct writing {
    const struct sutra_linked *linked;
    struct sutra_context *context;
    struct sink *sink;
    struct text_piece *pieces; /* one more than there are */
    size_t n_pieces, capacity;
    struct buffer head, tail; /* the file's text before and behind the nodes */
    atomic_bool failed;       /* out of memory */
    pthread_mutex_t mutex;    /* guards the list of idle workspaces */
    struct workspace *idle;
};

static row_t unit_entries(const struct sutra_linked *linked, row_t unit) {
    return linked->unit_entry[unit + 1] - linked->unit_entry[unit];
}

static bool add_piece(struct writing *writing, row_t unit, row_t first) {
    if (writing->n_pieces == writing->capacity) {
        size_t capacity = writing->capacity * 2 + 64;
        void *pieces = reallocarray(writing->pieces, capacity, sizeof *writing->pieces);
        if (!pieces)
            return false;
        writing->pieces = pieces;
        writing->capacity = capacity;
    }
    writing->pieces[writing->n_pieces++] = (struct text_piece){unit, first};
    return true;
}

/* Cuts the entries into pieces; the last one only marks the end. */
static bool cut_pieces(struct writing *writing) {
    const struct sutra_linked *linked = writing->linked;
    const struct host_nodes *nodes = &linked->host->nodes;
    uint64_t bytes = PIECE_BYTES;
    for (row_t unit = 0; unit < linked->units.n_units; unit++) {
        row_t node = linked->units.node[linked->units.unit_start[unit]], n = unit_entries(linked, unit);
        uint64_t each = (nodes->end[node] - nodes->text[node]) * GROWTH + 256;
        for (row_t entry = 0; entry < n;) {
            if (bytes >= PIECE_BYTES) {
                if (!add_piece(writing, unit, entry))
                    return false;
                bytes = 0;
            }
            uint64_t room = (PIECE_BYTES - bytes) / each + 1;
            row_t take = room < n - entry ? (row_t)room : n - entry;
            entry += take;
            bytes += take * each;
        }
    }
    if (!add_piece(writing, linked->units.n_units, 0))
        return false;
    writing->n_pieces--;
    return true;
}

/* Entry `entry` of a unit: one of its nodes, or a GPU node. The template is kept while it is the same node's. */
static void write_entry(const struct sutra_linked *linked, struct node_template *template, row_t *in_template,
                        row_t unit, row_t entry, struct buffer *out) {
    const struct host_ops *units = &linked->units;
    row_t n_nodes = units->unit_start[unit + 1] - units->unit_start[unit];
    row_t sorted = units->unit_start[unit] + (entry < n_nodes ? entry : 0);
    if (*in_template != sorted) {
        node_template_read(template, linked->host, units->node[sorted]);
        *in_template = sorted;
    }
    if (entry < n_nodes) {
        node_write_cpu(template, linked, unit, sorted, out);
        return;
    }
    row_t n_gpu;
    const row_t *gpu = linked_gpu_ops(linked, unit, &n_gpu);
    node_write_gpu(template, linked, unit, entry - n_nodes, gpu[entry - n_nodes], out);
}

static struct workspace *take_workspace(struct writing *writing) {
    pthread_mutex_lock(&writing->mutex);
    struct workspace *workspace = writing->idle;
    if (workspace)
        writing->idle = workspace->next;
    pthread_mutex_unlock(&writing->mutex);
    return workspace ? workspace : calloc(1, sizeof *workspace);
}

static void return_workspace(struct writing *writing, struct workspace *workspace) {
    pthread_mutex_lock(&writing->mutex);
    workspace->next = writing->idle;
    writing->idle = workspace;
    pthread_mutex_unlock(&writing->mutex);
}

static void free_workspaces(struct writing *writing) {
    for (struct workspace *workspace = writing->idle, *next; workspace; workspace = next) {
        next = workspace->next;
        node_template_free(&workspace->template);
        buffer_free(&workspace->out);
        free(workspace);
    }
}

/* Writes the entries from `begin` on, up to `end`, into the workspace. */
static void fill_piece(const struct writing *writing, struct workspace *workspace, struct text_piece begin,
                       struct text_piece end) {
    const struct sutra_linked *linked = writing->linked;
    row_t in_template = ROW_NONE;
    workspace->out.length = 0;
    for (row_t unit = begin.unit, entry = begin.first; unit < end.unit || (unit == end.unit && entry < end.first);) {
        if (entry == unit_entries(linked, unit)) {
            unit++;
            entry = 0;
            continue;
        }
        if (unit > 0 || entry > 0)
            buffer_append(&workspace->out, ",", 1);
        emit_newline(&workspace->out, 2);
        write_entry(linked, &workspace->template, &in_template, unit, entry, &workspace->out);
        entry++;
    }
}

/* Nodes that an estimate looks at. */
#define SAMPLES 500

uint64_t linked_size(const struct sutra_linked *linked) {
    struct writing writing = {.linked = linked};
    struct workspace workspace = {0};
    uint64_t n_nodes = linked->report.n_nodes, step = n_nodes / SAMPLES + 1, bytes = 0, n = 0;
    row_t unit = 0;
    for (uint64_t entry = 0; entry < n_nodes; entry += step, n++) {
        while (linked->unit_entry[unit + 1] <= entry)
            unit++;
        row_t first = (row_t)entry - linked->unit_entry[unit];
        fill_piece(&writing, &workspace, (struct text_piece){unit, first}, (struct text_piece){unit, first + 1});
        bytes += workspace.out.length;
    }
    bool failed = workspace.template.failed || workspace.out.failed;
    node_template_free(&workspace.template);
    buffer_free(&workspace.out);
    return failed ? 0 : (uint64_t)((double)bytes / (double)(n ? n : 1) * (double)n_nodes) + 1;
}

static void write_piece(void *arg, size_t number) {
    struct writing *writing = arg;
    struct workspace *workspace = take_workspace(writing);
    if (!workspace) {
        atomic_store(&writing->failed, true);
        sink_write(writing->sink, number + 1, NULL, 0);
        return;
    }
    if (!sink_failed(writing->sink))
        fill_piece(writing, workspace, writing->pieces[number], writing->pieces[number + 1]);
    if (workspace->template.failed || workspace->out.failed)
        atomic_store(&writing->failed, true);
    sink_write(writing->sink, number + 1, workspace->out.bytes, workspace->out.length);
    return_workspace(writing, workspace);
}

static enum sutra_status write_all(struct writing *writing, const char *path, uint64_t *n_bytes,
                                   struct sutra_error *error) {
    if (!cut_pieces(writing) || !document_frame(&writing->linked->host->document, writing->linked->units.n_units == 0,
                                                &writing->head, &writing->tail))
        return error_memory(error);
    enum sutra_status status = sink_open(&writing->sink, writing->context, path, error);
    if (status)
        return status;
    sink_write(writing->sink, 0, writing->head.bytes, writing->head.length);
    pool_run(writing->context->pool, writing->n_pieces, write_piece, writing);
    sink_write(writing->sink, writing->n_pieces + 1, writing->tail.bytes, writing->tail.length);
    bool whole = !atomic_load(&writing->failed);
    status = sink_close(writing->sink, whole, n_bytes, error);
    return status || whole ? status : error_memory(error);
}

enum sutra_status sutra_linked_write(struct sutra_context *context, const struct sutra_linked *linked, const char *path,
                                     uint64_t *n_bytes, struct sutra_error *error) {
    struct writing writing = {.linked = linked, .context = context, .mutex = PTHREAD_MUTEX_INITIALIZER};
    stage_begin(context, "write", linked->report.n_nodes);
    enum sutra_status status = write_all(&writing, path, n_bytes, error);
    stage_end(context);
    buffer_free(&writing.head);
    buffer_free(&writing.tail);
    free(writing.pieces);
    free_workspaces(&writing);
    pthread_mutex_destroy(&writing.mutex);
    return status;
}
