/*
 * dlrm_shared.h - the overheads of several traces together.
 */
#ifndef ANALYZE_DLRM_SHARED_H
#define ANALYZE_DLRM_SHARED_H

#include "analyze/dlrm/dlrm_raw.h"

struct dlrm_shared {
    struct arena arena; /* of all that follows */
    struct strings texts;
    struct sutra_dlrm_overhead *list; /* T1, then T4 and the operators in the order of first sight; without shapes */
    uint64_t n;
    struct dlrm_launches launches; /* the longest list of each operator */
};

/* dlrm_shared_free() is due in any case. */
enum sutra_status dlrm_shared_make(struct dlrm_shared *shared, const struct dlrm_raw_part *parts, size_t n,
                                   struct sutra_error *error);
void dlrm_shared_free(struct dlrm_shared *shared);

/* Appends a struct dlrm_shared in the form of the overheads by shape of one trace. */
bool dlrm_shared_write(const void *shared, struct text_out *out);

#endif
