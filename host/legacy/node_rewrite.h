/*
 * node_rewrite.h - the text of one node of the output: an object of either trace with some of its members changed.
 */
#ifndef LEGACY_NODE_REWRITE_H
#define LEGACY_NODE_REWRITE_H

#include "columns/number.h"
#include "read/document.h"
#include "write/json_emit.h"

/* A member's new value: a number, or a value of a document. */
struct member_change {
    const char *key;
    const struct document *document; /* NULL: `number` */
    size_t at;                       /* where the value stands in the document */
    struct number number;
};

#define MEMBER_CHANGES_MAX 16

/* What is kept between nodes. Zero-initialise. */
struct node_rewriter {
    struct buffer text;
    struct json_emitter emitter;
    bool failed; /* out of memory */
};

/* Appends the object at `at` of the document. Changed members stay where they are; those that the object lacks come
 * behind all others, in the order of the changes. */
void node_rewrite(struct node_rewriter *rewriter, const struct document *document, size_t at,
                  const struct member_change *changes, size_t n, struct buffer *out);
void node_rewriter_free(struct node_rewriter *rewriter);

#endif
