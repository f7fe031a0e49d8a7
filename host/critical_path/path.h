/*
 * path.h - inside of struct sutra_critical_path, and the writers of its formats.
 */
#ifndef CRITICAL_PATH_PATH_H
#define CRITICAL_PATH_PATH_H

#include "base/buffer.h"
#include "critical_path/path_search.h"
#include "critical_path/sync_map.h"
#include "sutra/critical_path.h"
#include "write/sink.h"

struct sutra_critical_path {
    struct path_search search;
    struct sync_map map;
    enum outcome reference;                               /* how the reference's rules ended */
    char reason[sizeof((struct path_search *)0)->reason]; /* and why */
    struct sutra_critical_path_report report;
    struct sutra_path_share *shares;
};

/* Fills the report and the shares. */
enum sutra_status breakdown_make(struct sutra_critical_path *path, struct sutra_error *error);

/* What an edge's time went to. The event that owns it: the operator or kernel, else ROW_NONE. */
enum sutra_path_kind edge_kind(const struct path_search *search, uint32_t edge, row_t *owner);

/* Text that is handed to a sink piece by piece, so that memory does not grow with it. */
struct path_text {
    struct sink *sink;
    struct buffer out;
    size_t n_pieces;
};

void path_text_flush(struct path_text *text);
void path_text_add(struct path_text *text, const char *string);
void path_text_integer(struct path_text *text, int64_t value);
void path_text_number(struct path_text *text, double value); /* as Python writes it */
void path_text_bytes(struct path_text *text, const char *bytes,
                     size_t n); /* a decoded string, as JSON with its quotes */
__attribute__((format(printf, 2, 3))) void path_text_format(struct path_text *text, const char *format, ...);

/* Hands what there is to the sink once it is enough for a piece. */
static inline void path_text_step(struct path_text *text) {
    if (text->out.length > (1 << 20))
        path_text_flush(text);
}

/* The writers append to the text; false: out of memory. */
bool write_path_text(const struct sutra_critical_path *path, struct path_text *text);
bool write_path_json(const struct sutra_critical_path *path, struct path_text *text);
bool write_path_chrome(const struct sutra_critical_path *path, struct path_text *text);

#endif
