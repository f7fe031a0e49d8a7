/*
 * trace_facts.h - what a device trace says about where and how it was recorded: members of the file beside its events.
 *
 *     "distributedInfo": {"rank": 3, "backend": "nccl"}, "with_stack": 1   -->   rank 3, backend nccl, recorded: stacks
 */
#ifndef LINK_TRACE_FACTS_H
#define LINK_TRACE_FACTS_H

#include "read/document.h"
#include "sutra/trace.h"

/* Fills in the facts of a summary, and how many there are. O(length of those members). */
void trace_facts_take(const struct document *document, struct sutra_device_summary *summary);

#endif
