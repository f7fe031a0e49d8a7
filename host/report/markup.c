/*
 * markup.c - escapes arbitrary bytes as text of a page or drawing. O(length): one pass over a name, two over a
 * shortened one.
 */
#include "report/markup.h"

#include "text/string_text.h"
#include "text/utf8.h"
#include "text/visible.h"

#define REPLACEMENT      0xfffd
#define CONTROL_PICTURES 0x2400

/* Width of a title that there is no room for. */
#define SHORT_TITLE 120

/* Length of the character that begins there, or of a lone surrogate; 0: its bytes are neither. */
static size_t character_length(const char *bytes, const char *end) {
    unsigned char first = (unsigned char)*bytes;
    size_t n = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (n > (size_t)(end - bytes))
        return 0;
    bool surrogate = first == 0xed && (bytes[1] & 0xe0) == 0xa0 && (bytes[2] & 0xc0) == 0x80;
    return surrogate || utf8_check(bytes, n) == n ? n : 0;
}

/* What stands for a character. */
static uint32_t shown(uint32_t code_point) {
    if (code_point < 0x20)
        return CONTROL_PICTURES + code_point;
    if (code_point == 0x7f)
        return CONTROL_PICTURES + 0x21;
    bool none = (code_point & 0xfffe) == 0xfffe || (code_point >= 0xfdd0 && code_point <= 0xfdef);
    bool surrogate = code_point >= 0xd800 && code_point < 0xe000;
    if (surrogate || none || is_wide_control(code_point))
        return REPLACEMENT;
    return code_point;
}

const char *markup_read_any(const char *bytes, const char *end, uint32_t *code_point) {
    size_t n = character_length(bytes, end);
    if (n == 0) {
        *code_point = REPLACEMENT;
        return bytes + 1;
    }
    utf8_read(bytes, code_point);
    *code_point = shown(*code_point);
    return bytes + n;
}

/* Measured on DejaVu Sans, one of the widest. */
static double character_width(uint32_t code_point) {
    static const char kinds[] = /* of ASCII: n narrow, w wide, c a capital */
        "n..............................."
        "nn.w.wwnnn.wn.nn..........nnwww."
        "wccccccccncccwcccccccccwcccn.n.."
        "......n..nn.nw......n..w....n...";
    if (code_point >= 0x1100)
        return code_point == 0x2026 ? 1 : 1.05;
    if (code_point >= 0x80)
        return 0.7;
    return kinds[code_point] == 'n' ? 0.4 : kinds[code_point] == 'w' ? 0.92 : kinds[code_point] == 'c' ? 0.72 : 0.62;
}

double markup_width(struct name name) {
    double width = 0;
    uint32_t code_point;
    for (const char *at = name.bytes, *end = at + name.length; at < end;) {
        at = markup_read(at, end, &code_point);
        width += character_width(code_point);
    }
    return width;
}

static void write_character(struct markup *markup, uint32_t code_point) {
    char bytes[4];
    switch (code_point) {
    case '<':
        out_add(&markup->out, "&lt;");
        break;
    case '>':
        out_add(&markup->out, "&gt;");
        break;
    case '&':
        out_add(&markup->out, "&amp;");
        break;
    case '"':
        out_add(&markup->out, "&quot;");
        break;
    case '\'':
        out_add(&markup->out, "&#39;");
        break;
    default:
        buffer_append(&markup->out.out, bytes, (size_t)(utf8_write(code_point, bytes) - bytes));
    }
}

/* Where the first byte is that is not written as it stands. */
static const char *plain_end(const char *at, const char *end) {
    while (at < end && markup_is_plain(*at) && *at != '<' && *at != '>' && *at != '&' && *at != '"' && *at != '\'')
        at++;
    return at;
}

void markup_name(struct markup *markup, struct name name) {
    uint32_t code_point;
    for (const char *at = name.bytes, *end = at + name.length; at < end;) {
        const char *plain = plain_end(at, end);
        buffer_append(&markup->out.out, at, (size_t)(plain - at));
        if (plain == end)
            return;
        at = markup_read(plain, end, &code_point);
        write_character(markup, code_point);
    }
}

bool markup_cut(struct markup *markup, struct name name, double width) {
    double whole = markup_width(name), front = (width - 1) * (name.by_end ? 0.2 : 0.6), back = width - 1 - front,
           seen = 0;
    const char *gap = NULL, *at = name.bytes, *end = at + name.length;
    uint32_t code_point;
    if (whole <= width) {
        markup_name(markup, name);
        return false;
    }
    for (const char *next; at < end; at = next) {
        next = markup_read(at, end, &code_point);
        double before = seen;
        seen += character_width(code_point);
        bool is_left_out = seen > front && whole - before > back;
        if (gap && !is_left_out)
            break;
        if (!gap && is_left_out)
            gap = at;
    }
    markup_name(markup, (struct name){name.bytes, (size_t)((gap ? gap : end) - name.bytes), false});
    if (gap)
        write_character(markup, 0x2026);
    markup_name(markup, (struct name){at, (size_t)(end - at), false});
    return true;
}

void markup_title(struct markup *markup, struct name name) {
    size_t before = markup->out.out.length;
    if (name.length > markup->title_room) {
        markup_cut(markup, name, SHORT_TITLE);
        return;
    }
    markup_name(markup, name);
    size_t written = markup->out.out.length - before;
    markup->title_room -= written < markup->title_room ? written : markup->title_room;
}
