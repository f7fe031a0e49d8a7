/*
 * template.c - making and writing templates. Writing costs a copy and one number for each gap.
 */
#include "generate/template.h"

#include "text/number_text.h"

struct slot {
    uint32_t length; /* of the literal piece before the field */
    uint8_t field;   /* FIELD_COUNT: none */
};

/* Most bytes that stand behind a number. */
#define FRACTION sizeof ".000"

static const char *const field_names[FIELD_COUNT] = {
    [FIELD_NODE] = "node",
    [FIELD_PARENT] = "parent",
    [FIELD_HOST_RF] = "host_rf",
    [FIELD_RF] = "rf",
    [FIELD_HOST_TID] = "host_tid",
    [FIELD_TID] = "tid",
    [FIELD_SEQUENCE] = "sequence",
    [FIELD_EXTERNAL] = "external",
    [FIELD_AWAITED] = "awaited",
    [FIELD_RECORD] = "record",
    [FIELD_INDEX] = "index",
    [FIELD_TS] = "ts",
    [FIELD_DUR] = "dur",
    [FIELD_CORRELATION] = "correlation",
    [FIELD_PID] = "pid",
    [FIELD_INPUT] = "input",
    [FIELD_STORAGE] = "storage",
    [FIELD_OUTPUT] = "output",
    [FIELD_MADE] = "made",
    [FIELD_SMALL] = "small",
    [FIELD_FRACTION] = "fraction",
    [FIELD_WIDTH] = "width",
    [FIELD_IN] = "in",
    [FIELD_OUT] = "out",
    [FIELD_TURN] = "turn",
};

static uint8_t field_named(const char *name, size_t length) {
    uint8_t field = 0;
    while (field < FIELD_COUNT &&
           (strlen(field_names[field]) != length || memcmp(field_names[field], name, length) != 0))
        field++;
    return field;
}

static size_t count_fields(const char *text, size_t length) {
    size_t n = 0;
    for (size_t i = 0; i < length; i++)
        n += text[i] == '@';
    return n / 2;
}

struct template template_make(struct arena *arena, const char *text, size_t length) {
    size_t n_fields = count_fields(text, length), literal = 0, piece = 0;
    struct template template = {.text = arena_take(arena, length, 1),
                                .slots = arena_take(arena, n_fields + 1, sizeof(struct slot)),
                                .size_max = length + n_fields * (NUMBER_TEXT_MAX + FRACTION)};
    for (size_t i = 0; i < length && !arena->failed; i++) {
        const char *end = text[i] == '@' ? memchr(text + i + 1, '@', length - i - 1) : NULL;
        if (!end) {
            template.text[literal++] = text[i] == '\'' ? '"' : text[i];
            continue;
        }
        uint8_t field = field_named(text + i + 1, (size_t)(end - text) - i - 1);
        template.slots[template.n_slots++] = (struct slot){(uint32_t)(literal - piece), field};
        piece = literal;
        i = (size_t)(end - text);
    }
    if (!arena->failed)
        template.slots[template.n_slots++] = (struct slot){(uint32_t)(literal - piece), FIELD_COUNT};
    return template;
}

static char *put_number(char *to, int64_t value) {
    return to + integer_format(value, to);
}

/* Nanoseconds as microseconds with three decimals, from the integer's digits so that nothing is rounded. */
static char *put_time(char *to, int64_t ns) {
    int64_t rest = ns % 1000;
    to = put_number(to, ns / 1000);
    *to++ = '.';
    *to++ = (char)('0' + rest / 100);
    *to++ = (char)('0' + rest / 10 % 10);
    *to++ = (char)('0' + rest % 10);
    return to;
}

void template_write(const struct template *template, const struct template_values *values, struct output *output) {
    char *start = output_reserve(output, template->size_max), *to = start;
    const char *text = template->text;
    for (size_t i = 0; i < template->n_slots; i++) {
        struct slot slot = template->slots[i];
        memcpy(to, text, slot.length);
        to += slot.length;
        text += slot.length;
        if (slot.field == FIELD_COUNT)
            break;
        bool is_decimal = (slot.field == FIELD_TS || slot.field == FIELD_DUR) && !values->integer_times;
        to = is_decimal ? put_time(to, values->of[slot.field]) : put_number(to, values->of[slot.field]);
    }
    output->length += (size_t)(to - start);
}
