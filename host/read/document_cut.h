/*
 * document_cut.h - into which parts a document's array is cut, for threads to walk.
 */
#ifndef READ_DOCUMENT_CUT_H
#define READ_DOCUMENT_CUT_H

#include "read/document.h"

/* Finds where parts begin, of which there are parts->n then, one if one is wanted, and what rows each may expect; both
 * are the caller's, also on failure. False: out of memory. Cost: some of the text is looked at. */
bool document_cut(struct document_parts *parts, bool one);

#endif
