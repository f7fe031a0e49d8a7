/*
 * command.c - parses a command line by the command's table of options.
 *
 * Not getopt_long: it suggests no similar option names, and keeps its position in global variables.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cli/command.h"
#include "cli/help.h"
#include "cli/job.h"
#include "text/names.h"

/* Shorter values get the list of values, but no suggestion: "gpu" is near to "cpu". */
#define SUGGESTED_MIN 4

struct reader {
    const struct command *command;
    char **next; /* the words that are left; NULL ends them */
    void *values;
    struct operands *operands;
    bool help;
};

static int number_fail(const struct option_row *option, const char *text) {
    if (option->maximum == UINT64_MAX)
        return message_fail(SUTRA_USAGE, "--%s: '%s' is not a number of at least %" PRIu64, option->name, text,
                            option->minimum);
    return message_fail(SUTRA_USAGE, "--%s: '%s' is not a number from %" PRIu64 " to %" PRIu64, option->name, text,
                        option->minimum, option->maximum);
}

/* The factor that a number's last letter stands for; 0 for none that we know. */
static uint64_t unit(const char *letters) {
    static const struct {
        const char *letters;
        uint64_t factor;
    } units[] = {{"", 1}, {"k", 1000}, {"M", 1000000}, {"G", 1000000000}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcasecmp(units[i].letters, letters) == 0)
            return units[i].factor;
    return 0;
}

static int read_number(const struct option_row *option, const char *text, uint64_t *value) {
    char *end;
    uint64_t number;
    errno = 0;
    unsigned long long digits = strtoull(text, &end, 10);
    bool valid = *text >= '0' && *text <= '9' && errno == 0 && unit(end) != 0 &&
                 !__builtin_mul_overflow((uint64_t)digits, unit(end), &number);
    if (!valid || number < option->minimum || number > option->maximum)
        return number_fail(option, text);
    *value = number;
    return SUTRA_OK;
}

static int read_choice(const struct option_row *option, const char *text, size_t length, int *value) {
    char all[200] = "", typed[64] = "";
    strncat(typed, text, length < sizeof typed ? length : sizeof typed - 1);
    struct nearest nearest = nearest_to(typed);
    for (int i = 0; option->choices[i]; i++) {
        if (strlen(option->choices[i]) == length && strncasecmp(option->choices[i], text, length) == 0) {
            *value = i;
            return SUTRA_OK;
        }
        strncat(all, i ? ", " : "", sizeof all - strlen(all) - 1);
        strncat(all, option->choices[i], sizeof all - strlen(all) - 1);
        nearest_try(&nearest, option->choices[i]);
    }
    if (nearest.word && length >= SUGGESTED_MIN)
        return message_fail(SUTRA_USAGE, "--%s: unknown value '%.*s'; did you mean '%s'? (one of %s)", option->name,
                            (int)length, text, nearest.word, all);
    return message_fail(SUTRA_USAGE, "--%s: unknown value '%.*s'; use one of %s", option->name, (int)length, text, all);
}

/* A word; behind the last of them may stand a colon and a number. */
static int read_device(const struct option_row *option, const char *text, struct device_word *value) {
    size_t length = strcspn(text, ":"), last = 0;
    uint64_t number = 0;
    int choice = 0, status = read_choice(option, text, length, &choice);
    for (size_t i = 1; option->choices[i]; i++)
        last = i;
    if (status == SUTRA_OK && text[length] && (size_t)choice != last)
        status = message_fail(SUTRA_USAGE, "--%s: '%s': only %s accepts a number", option->name, text,
                              option->choices[last]);
    if (status == SUTRA_OK && text[length])
        status = read_number(option, text + length + 1, &number);
    if (status == SUTRA_OK)
        *value = (struct device_word){choice, (uint32_t)number};
    return status;
}

static int read_word(const struct option_row *option, const char *text, struct word_list *list) {
    if (list->n == WORDS_MAX)
        return message_fail(SUTRA_USAGE, "--%s: more than %d values", option->name, WORDS_MAX);
    list->words[list->n++] = text;
    return SUTRA_OK;
}

static int store(const struct option_row *option, const char *text, void *values) {
    void *place = (char *)values + option->offset;
    switch (option->kind) {
    case OPTION_FLAG:
        *(bool *)place = true;
        return SUTRA_OK;
    case OPTION_FILE:
        if (!*text)
            return message_fail(SUTRA_USAGE, "--%s: the file name is empty", option->name);
        *(const char **)place = text;
        return SUTRA_OK;
    case OPTION_NUMBER:
        return read_number(option, text, place);
    case OPTION_TEXT:
        *(const char **)place = text;
        return SUTRA_OK;
    case OPTION_WORDS:
        return read_word(option, text, place);
    case OPTION_CHOICE:
        return read_choice(option, text, strlen(text), place);
    case OPTION_DEVICE:
        return read_device(option, text, place);
    }
    return SUTRA_INTERNAL;
}

/* The option's value, from the same word if it is there, else from the next. */
static int take(struct reader *reader, const struct option_row *option, const char *attached) {
    if (option->kind == OPTION_FLAG && attached)
        return message_fail(SUTRA_USAGE, "--%s accepts no argument", option->name);
    if (option->kind != OPTION_FLAG && !attached && !(attached = *reader->next++))
        return message_fail(SUTRA_USAGE, "--%s needs an argument: %s", option->name, option->argument);
    return store(option, attached, reader->values);
}

/* Matches of a long name in one table: all of it decides at once, its beginning counts. */
static void find_long(const struct option_row *table, const char *name, size_t length, const struct option_row **found,
                      unsigned *n_found) {
    for (const struct option_row *option = table; option->name; option++) {
        if (*n_found == 1 && strlen((*found)->name) == length)
            return;
        if (strncmp(option->name, name, length) != 0)
            continue;
        bool whole = strlen(option->name) == length;
        *n_found = whole ? 1 : *n_found + 1;
        *found = option;
    }
}

int option_unknown(const struct option_row *table, const char *called, const char *name, size_t length) {
    char typed[64] = "";
    strncat(typed, name, length < sizeof typed ? length : sizeof typed - 1);
    struct nearest nearest = nearest_to(typed);
    for (const struct option_row *option = table; option->name; option++)
        nearest_try(&nearest, option->name);
    nearest_try(&nearest, common_options[0].name);
    if (nearest.word)
        return message_fail(SUTRA_USAGE, "unknown option '--%s'; did you mean '--%s'?", typed, nearest.word);
    return message_fail(SUTRA_USAGE, "unknown option '--%s'; see '%s --help'", typed, called);
}

static void list_candidates(const struct option_row *table, const char *name, size_t length, char *all, size_t size) {
    for (const struct option_row *option = table; option->name; option++) {
        size_t n = strlen(all);
        if (strncmp(option->name, name, length) == 0)
            snprintf(all + n, size - n, "%s--%s", n ? ", " : "", option->name);
    }
}

static int ambiguous(const struct reader *reader, const char *name, size_t length) {
    char all[600] = "";
    list_candidates(reader->command->options, name, length, all, sizeof all);
    list_candidates(common_options, name, length, all, sizeof all);
    return message_fail(SUTRA_USAGE, "option '--%.*s' is ambiguous: use one of %s", (int)length, name, all);
}

static int read_long(struct reader *reader, const char *word) {
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    const struct option_row *found = NULL;
    unsigned n_found = 0;
    find_long(reader->command->options, word, length, &found, &n_found);
    find_long(common_options, word, length, &found, &n_found);
    if (n_found == 0 || length == 0)
        return option_unknown(reader->command->options, reader->command->called, word, length);
    if (n_found > 1)
        return ambiguous(reader, word, length);
    if (found == &common_options[0]) {
        reader->help = true;
        return SUTRA_OK;
    }
    return take(reader, found, equals ? equals + 1 : NULL);
}

static const struct option_row *find_letter(const struct command *command, char letter) {
    for (const struct option_row *option = command->options; option->name; option++)
        if (option->letter == letter)
            return option;
    return NULL;
}

/* The letters after a single dash: flags, and at most one option whose argument is the rest or the next word. */
static int read_letters(struct reader *reader, const char *letters) {
    for (; *letters; letters++) {
        if (*letters == 'h') {
            reader->help = true;
            return SUTRA_OK;
        }
        const struct option_row *option = find_letter(reader->command, *letters);
        if (!option)
            return message_fail(SUTRA_USAGE, "unknown option '-%c'; see '%s --help'", *letters,
                                reader->command->called);
        if (option->kind != OPTION_FLAG)
            return take(reader, option, letters[1] ? letters + 1 : NULL);
        store(option, "", reader->values);
    }
    return SUTRA_OK;
}

static int read_operand(struct reader *reader, char *word) {
    if (reader->operands->n == reader->command->n_operands_max)
        return message_fail(SUTRA_USAGE, "unexpected argument '%s'; see '%s --help'", word, reader->command->called);
    if (!*word)
        return message_fail(SUTRA_USAGE, "an argument is empty");
    reader->operands->words[reader->operands->n++] = word;
    return SUTRA_OK;
}

static int read_words(struct reader *reader) {
    bool only_operands = false;
    int status = SUTRA_OK;
    while (*reader->next && status == SUTRA_OK && !reader->help) {
        char *word = *reader->next++;
        if (only_operands || word[0] != '-' || !word[1])
            status = read_operand(reader, word);
        else if (strcmp(word, "--") == 0)
            only_operands = true;
        else if (word[1] == '-')
            status = read_long(reader, word + 2);
        else
            status = read_letters(reader, word + 1);
    }
    return status;
}

bool arguments_parse(const struct command *command, int argc, char **argv, void *values, struct operands *operands,
                     int *exit_code) {
    *operands = (struct operands){.words = argv};
    struct reader reader = {command, argc > 0 ? argv + 1 : argv, values, operands, false};
    *exit_code = read_words(&reader);
    if (*exit_code != SUTRA_OK)
        return false;
    if (reader.help)
        help_command_print(command);
    return !reader.help;
}
