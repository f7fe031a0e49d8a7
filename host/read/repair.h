/*
 * repair.h - makes malformed JSON of a trace well-formed: errors of trace writers, full disks, killed programs.
 *
 *     {"traceEvents": [ {"name": "{"device": "cpu"}"}, {"name": "C:\path"}, {"na
 *                                  \       \  \    \             \         ]}        inserted; the last element is cut
 *
 * Each element of the trace's array is parsed strictly first, and is kept if it is well-formed. A malformed element is
 * parsed again by rules that inspect the text after each quote and comma: closing brackets are missing if the text
 * continues with an object that begins like the neighbors. If that fails too, the element is skipped, and parsing
 * continues at the next byte that seems to begin an element, or at a complete element inside of the malformed one. So
 * well-formed text is copied byte for byte, and an error in one element does not affect the others.
 *
 * Cost: linear. Bytes that are parsed again count against a budget of a few times the text's size; a text that needs
 * more is refused. Memory: the repaired text, if anything is repaired.
 */
#ifndef READ_REPAIR_H
#define READ_REPAIR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "sutra/trace.h"

/* Member of a repaired trace without an end: {"truncated_at_byte": N, "lost": {"elements": 0 or 1, "bytes": N}}. */
#define REPAIR_MARK "sutra_repair"

/* Repairs that keep their offset in a report. */
#define REPAIR_SITES_MAX 1000

struct text_repairs {
    uint64_t n[SUTRA_N_REPAIR_KINDS];
    struct sutra_repair_site *places; /* of the first REPAIR_SITES_MAX repairs, in the order of repair; malloc() */
    size_t n_places;
    uint64_t n_elements; /* of the trace's array, kept */
    uint64_t n_skipped_bytes;
};

enum repair_result {
    REPAIR_NONE,      /* the text is well-formed: `out` is empty */
    REPAIR_DONE,      /* `out` contains the repaired text */
    REPAIR_FAILED,    /* the text cannot be repaired; *failed_at is the first malformed byte */
    REPAIR_NO_MEMORY, /* out of memory */
};

/* Repairs `size` bytes, which SOURCE_PADDING zeros follow. *report is all zeros before the call; free it with
 * text_repairs_free(). The caller must parse the result: repair does not check all, such as the nesting depth. */
enum repair_result repair_text(const char *text, size_t size, struct text_repairs *report, struct buffer *out,
                               size_t *failed_at);

void text_repairs_free(struct text_repairs *report);

/* Name of a kind of repair, singular or plural. */
const char *repair_kind_words(enum sutra_repair_kind kind, bool many);

/* Writes all repairs with their counts, "3 unescaped quotes (the first at byte 12); ...", to a text of `size` bytes. */
void repair_describe(const struct text_repairs *report, char *text, size_t size);

#endif
