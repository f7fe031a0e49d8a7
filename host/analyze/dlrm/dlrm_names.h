/*
 * dlrm_names.h - names as texts, and what the charts make of them. Each returns STRING_NONE when memory runs out.
 */
#ifndef ANALYZE_DLRM_NAMES_H
#define ANALYZE_DLRM_NAMES_H

#include "analyze/dlrm/dlrm.h"

/* Sets the roles of all strings of the trace. */
enum sutra_status dlrm_roles_find(struct sutra_dlrm *dlrm, struct sutra_error *error);

/* The text of a string of the trace. */
uint32_t dlrm_name(struct sutra_dlrm *dlrm, uint32_t string);

/* The text of a kernel's short name: what stands before its template arguments, without namespaces. */
uint32_t dlrm_short_name(struct sutra_dlrm *dlrm, uint32_t string);

/* The text of the word that stands for a kernel in a chart's legend. */
uint32_t dlrm_legend(struct sutra_dlrm *dlrm, uint32_t name);

/* The text of an operator's name up to its first '#'. */
uint32_t dlrm_group_name(struct sutra_dlrm *dlrm, uint32_t name);

/* The text of an id, such as a stream's, as Python's str() gives it. */
uint32_t dlrm_id_text(struct sutra_dlrm *dlrm, value_key id);

static inline bool text_has(const struct strings *strings, uint32_t string, const char *part) {
    return memmem(strings_text(strings, string), strings_length(strings, string), part, strlen(part)) != NULL;
}

static inline bool text_is(const struct strings *strings, uint32_t string, const char *whole) {
    size_t length = strlen(whole);
    return strings_length(strings, string) == length && memcmp(strings_text(strings, string), whole, length) == 0;
}

static inline bool text_begins(const struct strings *strings, uint32_t string, const char *begin) {
    size_t length = strlen(begin);
    return strings_length(strings, string) >= length && memcmp(strings_text(strings, string), begin, length) == 0;
}

#endif
