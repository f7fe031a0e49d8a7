/*
 * path.h - inside of struct sutra_critical_path, and the writers of its formats.
 */
#ifndef CRITICAL_PATH_PATH_H
#define CRITICAL_PATH_PATH_H

#include "critical_path/path_search.h"
#include "critical_path/sync_map.h"
#include "sutra/critical_path.h"
#include "write/text_out.h"

/* Whose rules are the reference's: the version that Chakra's linker asks for. */
#define PATH_REFERENCE "Holistic Trace Analysis (d731cc2)"

struct sutra_critical_path {
    struct sutra_context *context;
    struct path_search search;
    struct sync_map map;
    bool newer;         /* HTA 0.6 is wanted */
    bool only_critical; /* in the marked trace, and which arrows */
    enum sutra_path_arrows arrows;
    struct path_verdict verdict; /* how the reference's rules ended */
    struct sutra_critical_path_report report;
    struct sutra_path_share *shares;
};

/* Fills the report and the shares. */
enum sutra_status breakdown_make(struct sutra_critical_path *path, struct sutra_error *error);

/* Fills in what of the window the path covers. */
void coverage_make(const struct path_search *search, struct sutra_critical_path_report *report);

/* What an edge's time went to. The event that owns it: the operator or kernel, else ROW_NONE. */
enum sutra_path_kind edge_kind(const struct path_search *search, uint32_t edge, row_t *owner);

static inline const char *event_name(const struct path_search *search, row_t event) {
    return strings_text(&search->trace->strings, search->rows.events->name[event]);
}

/* The writers append to the text; false: out of memory. */
bool write_path_text(const struct sutra_critical_path *path, struct text_out *text);
bool write_path_json(const struct sutra_critical_path *path, struct text_out *text);
bool write_path_chrome(const struct sutra_critical_path *path, struct text_out *text);

#endif
