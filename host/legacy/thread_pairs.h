/*
 * thread_pairs.h - which thread of the device trace is which of the host trace, so that their subtrees come in one
 * order.
 */
#ifndef LEGACY_THREAD_PAIRS_H
#define LEGACY_THREAD_PAIRS_H

#include "legacy/call_tree.h"

/* order[] = the device's n_threads threads in the order in which their partners stand in the host's tree: each host
 * thread (a child of the root with the token `thread_token`) takes the one that has most operators in common with it;
 * threads without a partner come last. thread[i] is the number of list entry i (ROW_NONE: none). Without memory the
 * arena fails. O(threads^2 * tokens), and threads stay as they are where that would be much. */
void thread_pairs(const struct call_tree *host, uint32_t thread_token, const uint32_t *token, const row_t *thread,
                  row_t n_entries, row_t n_threads, uint32_t n_tokens, struct arena *arena, row_t *order);

#endif
