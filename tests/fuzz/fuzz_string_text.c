/*
 * fuzz_string_text.c - fuzzes strings: the input as bytes for the UTF-8 check, as a decoded string for int(), and,
 * repaired to a valid raw string, for the three conversions.
 *
 *     raw --string_rewrite--> written     all routes between two forms give the same result
 *      \--string_decode--> decoded --string_encode--> written
 */
#include "fuzz.h"
#include "text/strings.h"

/* Length of the well-formed UTF-8 sequence at `bytes`, by the table of the Unicode standard; 0: there is none. */
static size_t plain_sequence(const uint8_t *bytes, size_t n) {
    uint8_t first = bytes[0], low = 0x80, high = 0xBF;
    if (first < 0x80)
        return 1;
    size_t length = first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
    if (length == 0 || length > n)
        return 0;
    low = first == 0xE0 ? 0xA0 : first == 0xF0 ? 0x90 : low;
    high = first == 0xED ? 0x9F : first == 0xF4 ? 0x8F : high;
    if (bytes[1] < low || bytes[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if (bytes[i] < 0x80 || bytes[i] > 0xBF)
            return 0;
    return length;
}

static size_t plain_utf8_check(const uint8_t *bytes, size_t n) {
    for (size_t i = 0; i < n;) {
        size_t length = plain_sequence(bytes + i, n - i);
        if (length == 0)
            return i;
        i += length;
    }
    return n;
}

static bool is_hex(uint8_t c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Length of the legal escape at `bytes`, or 0. */
static size_t escape_length(const uint8_t *bytes, size_t n) {
    if (n < 2 || bytes[0] != '\\' || bytes[1] == 0)
        return 0;
    if (strchr("\"\\/bfnrt", bytes[1]))
        return 2;
    if (n < 6 || bytes[1] != 'u')
        return 0;
    return is_hex(bytes[2]) && is_hex(bytes[3]) && is_hex(bytes[4]) && is_hex(bytes[5]) ? 6 : 0;
}

/* A valid raw string made of well-formed UTF-8: control characters and stray backslashes and quotes become escapes. */
static char *repair_text(const uint8_t *bytes, size_t n, size_t *length) {
    char *raw = new_bytes(6 * n + FUZZ_PADDING), *to = raw;
    for (size_t i = 0; i < n;) {
        size_t n_escape = escape_length(bytes + i, n - i);
        if (n_escape) {
            memcpy(to, bytes + i, n_escape);
            to += n_escape;
        } else if (bytes[i] < 0x20) {
            to += sprintf(to, "\\u%04x", (unsigned)bytes[i]);
        } else {
            if (bytes[i] == '"' || bytes[i] == '\\')
                *to++ = '\\';
            *to++ = (char)bytes[i];
        }
        i += n_escape ? n_escape : 1;
    }
    memset(to, 0, FUZZ_PADDING);
    *length = (size_t)(to - raw);
    return raw;
}

static void check_written(const char *written, size_t n) {
    for (size_t i = 0; i < n; i++)
        check(written[i] >= ' ' && written[i] <= '~', "written text is printable ASCII");
    char *source = padded_copy(written, n), *again = new_bytes(6 * n + FUZZ_PADDING);
    size_t n_again = string_rewrite(source, n, again);
    check(same_bytes(written, n, again, n_again), "rewriting twice changes nothing");
    free(source);
    free(again);
}

static void check_decoded(const char *raw, size_t length, const char *written, size_t n_written) {
    char *decoded = new_bytes(length);
    size_t n_decoded = string_decode(raw, length, decoded);
    check(n_decoded <= length, "decoding makes no string longer");
    char *source = padded_copy(decoded, n_decoded), *encoded = new_bytes(6 * n_decoded);
    size_t n_encoded = string_encode(source, n_decoded, encoded);
    check(same_bytes(written, n_written, encoded, n_encoded), "decoding and encoding is rewriting");

    char *written_source = padded_copy(written, n_written), *back = new_bytes(n_written);
    size_t n_back = string_decode(written_source, n_written, back);
    check(same_bytes(decoded, n_decoded, back, n_back), "written text decodes to the same string");
    free(decoded);
    free(source);
    free(encoded);
    free(written_source);
    free(back);
}

static void check_strings(const uint8_t *data, size_t n_valid) {
    size_t length;
    char *raw = repair_text(data, n_valid, &length);
    char *written = new_bytes(6 * length + FUZZ_PADDING);
    size_t n_written = string_rewrite(raw, length, written);
    check(n_written <= 6 * length, "rewriting keeps within its bound");
    check_written(written, n_written);
    check_decoded(raw, length, written, n_written);
    free(raw);
    free(written);
}

static void check_python_int(const char *decoded, size_t size) {
    char *out = new_bytes(size + 1);
    size_t n = python_int(decoded, size, out);
    check(n <= size + 1, "an integer keeps within its bound");
    size_t sign = n && out[0] == '-';
    for (size_t i = sign; i < n; i++)
        check(out[i] >= '0' && out[i] <= '9', "an integer is digits");
    check(n == 0 || n > sign, "a sign has digits");
    check(n - sign < 2 || out[sign] != '0', "no leading zeros");
    if (n) {
        char *source = padded_copy(out, n), *again = new_bytes(n + 1);
        check(same_bytes(out, n, again, python_int(source, n, again)), "the canonical text stands for itself");
        free(source);
        free(again);
    }
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = padded_copy(data, size);
    size_t n_valid = utf8_check(text, size);
    check(n_valid == plain_utf8_check(data, size), "utf8_check() is the plain check");
    check_strings(data, n_valid);
    memset(text + n_valid, 0, size - n_valid);
    check_python_int(text, n_valid);
    free(text);
    return 0;
}
