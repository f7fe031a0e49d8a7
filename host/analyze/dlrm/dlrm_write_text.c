/*
 * dlrm_write_text.c - the breakdown of each stream for people, ten rows a level, with the original's columns.
 */
#include <stdio.h>

#include "analyze/dlrm/dlrm_write.h"
#include "analyze/shape_text.h"

#define ROWS_MAX   10
#define SMALL_REST 1e-4

struct text_level {
    row_t first, n, next; /* rows by time */
    double us;
};

static size_t count_characters(const char *text, size_t length) {
    size_t n = 0;
    for (size_t i = 0; i < length; i++)
        n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

static void add_spaces(struct text_out *out, size_t n) {
    while (n-- > 0)
        buffer_append(&out->out, " ", 1);
}

static void add_right(struct text_out *out, const char *text, size_t length, size_t width) {
    size_t n = count_characters(text, length);
    add_spaces(out, n < width ? width - n : 0);
    buffer_append(&out->out, text, length);
}

/* "name:" in its column, at its depth. */
static void add_name(struct text_out *out, unsigned depth, const char *name, size_t length) {
    size_t n = count_characters(name, length) + 1;
    add_spaces(out, (depth + 1) * 2 + 4);
    buffer_append(&out->out, name, length);
    out_add(out, ":");
    add_spaces(out, (n < 52 ? 52 - n : 0) + 1);
}

static void add_head(const struct sutra_dlrm *dlrm, struct text_out *out, const struct sutra_dlrm_stream *stream) {
    double host = dlrm->report.host_us;
    out_add(out, "Stream: ");
    out_add(out, strings_text(&dlrm->texts, stream->name));
    out_add(out, "\n    Total device time: ");
    if (number_is_double(dlrm->host))
        out_number(out, host);
    else
        out_integer(out, (int64_t)dlrm->host.bits);
    out_add(out, " (in us, same below)\n    Device idle time: ");
    out_number(out, stream->idle_us);
    out_format(out, " (%.2f%%)\n    Device active time: ", stream->idle_us / host * 100);
    out_number(out, stream->active_us);
    out_format(out, " (%.2f%%)\n", stream->active_us / host * 100);
}

static void add_shape(const struct sutra_dlrm *dlrm, struct text_out *out, uint32_t shape, struct buffer *scratch) {
    scratch->length = 0;
    shape_append_tuple(scratch, strings_text(&dlrm->texts, shape));
    out->out.failed |= scratch->failed;
    if (!scratch->failed) {
        out_add(out, " ");
        add_right(out, scratch->bytes, scratch->length, 60);
    }
}

static void add_row(const struct sutra_dlrm *dlrm, struct text_out *out, unsigned depth,
                    const struct sutra_dlrm_row *row, double whole, struct buffer *scratch) {
    char text[NUMBER_TEXT_MAX + 1] = "(";
    size_t length = 1 + double_format(row->us, text + 1);
    add_name(out, depth, strings_text(&dlrm->texts, row->name), strings_length(&dlrm->texts, row->name));
    add_right(out, text, length, (depth + 2) * 3);
    out_format(out, ", %.2f%%, %llu)", row->us / whole * 100, (unsigned long long)row->count);
    add_shape(dlrm, out, row->shape, scratch);
    out_add(out, "\n");
    out_step(out);
}

/* What the rows behind the first ten took, if it is not next to nothing. */
static void add_rest(const struct sutra_dlrm *dlrm, struct text_out *out, unsigned depth,
                     const struct text_level *level) {
    double rest = 0;
    char text[400];
    for (row_t i = ROWS_MAX; i < level->n; i++)
        rest += dlrm->report.rows[dlrm->report.by_time[level->first + i]].us;
    if (!(rest / level->us > SMALL_REST))
        return;
    int length = snprintf(text, sizeof text, "(%.1f", rest);
    add_name(out, depth, "Others", 6);
    add_right(out, text, (size_t)length, (depth + 2) * 5);
    out_format(out, ", %.2f%%)\n", rest / level->us * 100);
}

static void write_stream(const struct sutra_dlrm *dlrm, struct text_out *out, const struct sutra_dlrm_stream *stream,
                         struct buffer *scratch) {
    struct text_level levels[LEVELS_MAX + 4] = {{stream->first_row, stream->n_rows, 0, stream->active_us}};
    unsigned depth = 1;
    add_head(dlrm, out, stream);
    if (stream->active_us == 0)
        return;
    while (depth > 0) {
        struct text_level *level = &levels[depth - 1];
        if (level->next == level->n || level->next == ROWS_MAX) {
            add_rest(dlrm, out, depth - 1, level);
            depth--;
            continue;
        }
        const struct sutra_dlrm_row *row = &dlrm->report.rows[dlrm->report.by_time[level->first + level->next++]];
        add_row(dlrm, out, depth - 1, row, level->us, scratch);
        if (row->n_occurrences && row->first_us != 0)
            levels[depth++] = (struct text_level){row->first_child, row->n_children, 0, row->first_us};
    }
}

void dlrm_write_text(const struct sutra_dlrm *dlrm, struct text_out *out) {
    struct buffer scratch = {0};
    for (uint64_t i = 0; i < dlrm->report.n_streams; i++)
        write_stream(dlrm, out, &dlrm->report.streams[i], &scratch);
    buffer_free(&scratch);
}
