/*
 * json_text.c - implements json_text.h.
 */
#include "cli/tool/json_text.h"

#include <stdint.h>
#include <string.h>

/* Length of the UTF-8 sequence at `text` and its code point; 0 where there is none. Lone surrogates count as one. */
static unsigned decode(const unsigned char *text, uint32_t *code) {
    static const struct {
        unsigned char mask, lead;
        uint32_t smallest;
    } forms[] = {{0x80, 0x00, 0}, {0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};
    for (unsigned n = 1; n <= 4; n++) {
        if ((*text & forms[n - 1].mask) != forms[n - 1].lead)
            continue;
        *code = *text & (unsigned char)~forms[n - 1].mask;
        for (unsigned i = 1; i < n; i++) {
            if ((text[i] & 0xc0) != 0x80)
                return 0;
            *code = *code << 6 | (text[i] & 0x3f);
        }
        return *code >= forms[n - 1].smallest && *code <= 0x10ffff ? n : 0;
    }
    return 0;
}

static void print_code(FILE *file, uint32_t code) {
    if (code == '"' || code == '\\')
        fprintf(file, "\\%c", (char)code);
    else if (code >= ' ' && code < 0x7f)
        putc((int)code, file);
    else if (code < 0x10000)
        fprintf(file, "\\u%04x", code);
    else
        fprintf(file, "\\u%04x\\u%04x", 0xd7c0 + (code >> 10), 0xdc00 + (code & 0x3ff));
}

void json_string_print(FILE *file, const char *text) {
    putc('"', file);
    for (const unsigned char *at = (const unsigned char *)text; *at;) {
        uint32_t code;
        unsigned length = decode(at, &code);
        print_code(file, length ? code : 0xdc00u + *at);
        at += length ? length : 1;
    }
    putc('"', file);
}
