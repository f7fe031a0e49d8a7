/*
 * places.h - values of any type by where they stand in a document, as a column of the type that holds them all.
 */
#ifndef ARROW_PLACES_H
#define ARROW_PLACES_H

#include "arrow/batch.h"
#include "read/document.h"

/* A column of args, see batch_name_arg(). places[i]: of row i; at 0: null, as a null in the text is. See
 * sutra/columns.h for the types. O(bytes of the values). */
void batch_places(struct batch *batch, const char *name, const struct document *document,
                  const struct json_place *places);

#endif
