/*
 * fields.c - values from their place in the text.
 */
#include "read/fields.h"

#include <math.h>
#include <string.h>

#include "text/string_text.h"

/* Length of the number at `text`, which was checked when it was walked over. */
static size_t number_length(const char *text, enum number_form *form) {
    size_t length = 0;
    *form = number_scan(text, &length);
    return length;
}

static bool read_boolean(const char *text, struct number *number) {
    bool yes = memcmp(text, "true", 4) == 0;
    if (!yes && memcmp(text, "false", 5) != 0)
        return false;
    *number = (struct number){yes, NUMBER_BOOLEAN};
    return true;
}

static bool is_number(const char *text) {
    return (*text >= '0' && *text <= '9') || *text == '-' || *text == 'N' || *text == 'I';
}

bool field_number(const char *value, struct number *number) {
    int64_t integer;
    double real;
    size_t length;
    enum number_form form = number_parse_short(value, &integer, &real, &length);
    if (form != NUMBER_FORM_BAD) {
        *number = form == NUMBER_FORM_INTEGER ? number_integer(integer) : number_double(real);
        return true;
    }
    if (!is_number(value))
        return read_boolean(value, number);
    length = number_length(value, &form);
    if (form == NUMBER_FORM_INTEGER) {
        if (!integer_parse(value, length, &integer) || integer >= NUMBER_INTEGER_LIMIT ||
            integer <= -NUMBER_INTEGER_LIMIT)
            return false;
        *number = number_integer(integer);
        return true;
    }
    real = double_parse(value, length);
    if (isnan(real))
        return false;
    *number = number_double(real);
    return true;
}

bool field_integer(const char *value, int64_t *integer) {
    double real;
    size_t length;
    enum number_form form = number_parse_short(value, integer, &real, &length);
    if (form != NUMBER_FORM_BAD)
        return form == NUMBER_FORM_INTEGER;
    if (*value != '-' && (*value < '0' || *value > '9'))
        return false;
    length = number_length(value, &form);
    return form == NUMBER_FORM_INTEGER && integer_parse(value, length, integer);
}

static value_key checked(struct field_reader *reader, value_key key) {
    reader->failed |= key == KEY_ABSENT;
    return key;
}

static value_key number_key(struct field_reader *reader, const char *text) {
    int64_t integer;
    double real;
    size_t length;
    enum number_form form = number_parse_short(text, &integer, &real, &length);
    if (form == NUMBER_FORM_INTEGER)
        return integer;
    length = number_length(text, &form);
    if (form == NUMBER_FORM_REAL)
        return checked(reader, values_double(reader->values, double_parse(text, length)));
    if (integer_parse(text, length, &integer) && key_is_integer(integer))
        return integer;
    return checked(reader, values_integer(reader->values, text, length));
}

value_key field_key(struct field_reader *reader, struct json_place place) {
    const char *text = reader->source->bytes + place.at;
    if (is_number(text))
        return number_key(reader, text);
    if (*text == '"') {
        size_t length;
        const char *string = field_string(reader, place, &length);
        return checked(reader, values_string(reader->values, string, length));
    }
    if (*text == '[' || *text == '{')
        return KEY_UNHASHABLE;
    return *text == 'n' ? KEY_NULL : *text == 't';
}

/* int() of a double cuts off the fraction; there is none for infinities and NaN. */
static bool int_of_double(struct field_reader *reader, double value, value_key *key) {
    if (!isfinite(value))
        return false;
    *key = checked(reader, values_double(reader->values, trunc(value)));
    return true;
}

static bool int_of_string(struct field_reader *reader, struct json_place place, value_key *key) {
    size_t length;
    struct buffer canonical = {0};
    const char *string = field_string(reader, place, &length);
    char *out = buffer_reserve(&canonical, length + 1);
    size_t digits = out ? python_int(string, length, out) : 0;
    if (digits)
        *key = checked(reader, values_integer(reader->values, out, digits));
    reader->failed |= canonical.failed;
    buffer_free(&canonical);
    return digits > 0;
}

bool field_int(struct field_reader *reader, struct json_place place, value_key *key) {
    const char *text = reader->source->bytes + place.at;
    if (is_number(text)) {
        enum number_form form;
        size_t length = number_length(text, &form);
        if (form == NUMBER_FORM_REAL)
            return int_of_double(reader, double_parse(text, length), key);
        *key = number_key(reader, text);
        return true;
    }
    if (*text == '"')
        return int_of_string(reader, place, key);
    if (*text != 't' && *text != 'f')
        return false;
    *key = *text == 't';
    return true;
}

const char *field_string(struct field_reader *reader, struct json_place place, size_t *length) {
    const char *raw = reader->source->bytes + place.at + 1;
    *length = place.end - place.at - 1;
    size_t n_plain = plain_end(raw, 0); /* all of most strings */
    if (n_plain >= *length || !memchr(raw + n_plain, '\\', *length - n_plain))
        return raw;
    reader->scratch.length = 0;
    char *out = buffer_reserve(&reader->scratch, *length);
    if (!out) {
        reader->failed = true;
        *length = 0;
        return raw;
    }
    *length = string_decode(raw, *length, out);
    return out;
}

uint32_t field_intern(struct field_reader *reader, struct json_place place, struct strings *strings) {
    size_t length;
    const char *string = field_string(reader, place, &length);
    uint32_t number = strings_intern(strings, string, length);
    reader->failed |= number == STRING_NONE;
    return number;
}
