/*
 * kept_text.c - cutting what is kept into pieces, and copying them.
 */
#include "rewrite/kept_text.h"

#include "base/arena.h"
#include "base/error.h"
#include "text/scan.h"
#include "write/pieces.h"

/* Piece 0 is the text before the first element, the last one that behind the last; piece i between them is what is kept
 * of the elements from first[i - 1] to first[i]. */
struct kept_pieces {
    const struct kept_text *kept;
    row_t *first;
    uint64_t n, capacity;
    row_t first_kept;
};

static size_t end_of(const struct kept_text *kept, row_t element) {
    return element + 1 == kept->n ? kept->end : element_end(kept->source->bytes, kept->text[element + 1]);
}

static bool cut_pieces(struct kept_pieces *pieces, struct arena *arena) {
    const struct kept_text *kept = pieces->kept;
    size_t bytes = PIECE_BYTES;
    pieces->first_kept = ROW_NONE;
    for (row_t element = 0; element < kept->n; element++) {
        if (!kept->kept[element])
            continue;
        if (pieces->first_kept == ROW_NONE)
            pieces->first_kept = element;
        if (bytes >= PIECE_BYTES) {
            if (!arena_grow(arena, &pieces->first, pieces->n, &pieces->capacity, sizeof *pieces->first))
                return false;
            pieces->first[pieces->n++] = element;
            bytes = 0;
        }
        bytes += (element + 1 < kept->n ? kept->text[element + 1] : kept->end) - kept->text[element];
    }
    return true;
}

/* Copies the elements first .. end - 1, of which all are kept, with what stands before the first. */
static void copy_run(const struct kept_pieces *pieces, row_t first, row_t end, struct buffer *out) {
    const struct kept_text *kept = pieces->kept;
    size_t from = first == pieces->first_kept ? kept->text[first] : end_of(kept, first - 1);
    buffer_append(out, kept->source->bytes + from, end_of(kept, end - 1) - from);
}

static void copy_piece(const struct kept_pieces *pieces, row_t first, row_t end, struct buffer *out) {
    const uint8_t *kept = pieces->kept->kept;
    for (row_t element = first; element < end; element++) {
        if (!kept[element])
            continue;
        row_t run = element;
        while (element < end && kept[element])
            element++;
        copy_run(pieces, run, element, out);
    }
    source_give_back(pieces->kept->source, pieces->kept->text[first], end_of(pieces->kept, end - 1));
}

static void fill_piece(const void *arg, size_t number, struct buffer *out) {
    const struct kept_pieces *pieces = arg;
    const struct kept_text *kept = pieces->kept;
    const struct source *source = kept->source;
    if (kept->n == 0)
        buffer_append(out, source->bytes, number == 0 ? source->size : 0);
    else if (number == 0)
        buffer_append(out, source->bytes, kept->text[0]);
    else if (number > pieces->n)
        buffer_append(out, source->bytes + kept->end, source->size - kept->end);
    else
        copy_piece(pieces, pieces->first[number - 1], number < pieces->n ? pieces->first[number] : kept->n, out);
}

enum sutra_status kept_text_write(struct sutra_context *context, const struct kept_text *kept, const char *path,
                                  uint64_t *n_bytes, struct sutra_error *error) {
    struct arena arena = {0};
    struct kept_pieces pieces = {.kept = kept};
    enum sutra_status status = SUTRA_OK;
    stage_begin(context, "write", kept->n);
    if (!cut_pieces(&pieces, &arena))
        status = error_memory(error);
    if (!status)
        status = pieces_write(context, path, pieces.n + 2, fill_piece, &pieces, n_bytes, error);
    stage_end(context);
    arena_free(&arena);
    return status;
}
