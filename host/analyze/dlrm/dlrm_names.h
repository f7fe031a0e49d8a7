/*
 * dlrm_names.h - names as texts, and what the charts make of them. Each returns STRING_NONE when memory runs out.
 */
#ifndef ANALYZE_DLRM_NAMES_H
#define ANALYZE_DLRM_NAMES_H

#include "analyze/dlrm/dlrm.h"

/* The roles of all strings of a trace to the original or by our rules, in the arena; NULL: out of memory. */
struct string_roles *dlrm_roles_find(const struct strings *strings, bool compat, struct arena *arena);

/* The text of a string of the trace. */
uint32_t dlrm_name(struct dlrm_work *work, uint32_t string);

/* The text of a kernel's short name: what stands before its template arguments, without namespaces. */
uint32_t dlrm_short_name(struct dlrm_work *work, uint32_t string);

/* The text of the word that stands for a kernel in a chart's legend. */
uint32_t dlrm_legend(struct dlrm_work *work, uint32_t name);

/* The text of an operator's name up to its first '#'. */
uint32_t dlrm_group_name(struct dlrm_work *work, uint32_t name);

/* The text of an id, such as a stream's, as Python's str() gives it. */
uint32_t dlrm_id_text(struct dlrm_work *work, value_key id);

#endif
