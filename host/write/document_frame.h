/*
 * document_frame.h - the text of an output before and behind the elements of a document's array.
 *
 *     head   {"schema": "1.0.1", "nodes": [
 *     tail   ], "finish_ts": 1}
 */
#ifndef WRITE_DOCUMENT_FRAME_H
#define WRITE_DOCUMENT_FRAME_H

#include <stdbool.h>

#include "base/buffer.h"
#include "read/document.h"

/* Appends the document's text around its array, which is `empty` or not, to head and tail; false: out of memory. */
bool document_frame(const struct document *document, bool empty, struct buffer *head, struct buffer *tail);

#endif
