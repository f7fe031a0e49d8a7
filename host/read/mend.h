/*
 * mend.h - a trace's text that is no JSON any more, made JSON again: what writers of traces, full disks and killed
 * programs do to them.
 *
 *     {"traceEvents": [ {"name": "{"device": "cpu"}"}, {"name": "C:\path"}, {"na
 *                                  \       \  \    \             \         ]}        what is put in, and what is cut off
 *
 * Each element of the trace's array is read strictly first, and stays as it is if it is well-formed. One that is not is
 * read once more by rules that ask what would follow (mend_string.c); if that fails, too, it is left out, and reading
 * goes on where the next one seems to begin. So a text that is well-formed comes out as it is, byte for byte, and a
 * mistake in one element does not touch the others.
 *
 * Cost: linear. Elements that are looked at again count against a budget of a few times the text's size; a text that
 * needs more is refused. Memory: the mended text, if anything is mended.
 */
#ifndef READ_MEND_H
#define READ_MEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "sutra/trace.h"

/* What was mended: how often, and the places of the first ones. */
#define MEND_PLACES 1000
struct mend_report {
    uint64_t n[SUTRA_N_REPAIR_KINDS];
    struct sutra_repair_site *places; /* MEND_PLACES of them, from malloc() */
    size_t n_places;                  /* that are known, in the order in which they were found */
    uint64_t n_elements;              /* of the trace's array, that are kept */
    uint64_t n_skipped_bytes;
};

enum mend_result {
    MEND_NOTHING, /* the text is well-formed: nothing was done */
    MEND_DONE,    /* the text that takes its place is in `out` */
    MEND_FAILED,  /* it cannot be mended; *failed_at is where that was seen */
    MEND_MEMORY,  /* out of memory */
};

/* Mends `size` bytes, which SOURCE_PADDING zeros follow. The report is all zeros at first, and the caller's to free.
 * What comes out is to be read with care: it is JSON but for what this does not look at, such as too deep nesting. */
enum mend_result mend_text(const char *text, size_t size, struct mend_report *report, struct buffer *out,
                           size_t *failed_at);

void mend_report_free(struct mend_report *report);

/* What a mend is called. */
const char *mend_words(enum sutra_repair_kind kind, bool many);

/* What mends are called, each with its number: "3 quotes without a backslash (the first at byte 12); ..." into a text
 * of `size` bytes. */
void mend_describe(const struct mend_report *report, char *text, size_t size);

#endif
