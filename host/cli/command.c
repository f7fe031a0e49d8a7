/*
 * command.c - parses a command line by the command's table of options, and runs the command.
 *
 * Accepted forms: --name VALUE, --name=VALUE, --name if the value is optional, a unique prefix of a long name, -x
 * VALUE, -xVALUE, -xyz for flags, options and operands in any order, -- before operands that begin with a dash.
 *
 * Not getopt_long: it suggests no similar option names, and keeps its position in global variables.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/job.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "text/names.h"

/* Shorter values get the list of values, but no suggestion: "gpu" is near to "cpu". */
#define SUGGESTED_MIN 4

/* Reads an integer with an optional factor k, M or G. */
static int read_number(const struct option_row *option, const char *text, uint64_t *value) {
    static const struct {
        const char *letters;
        uint64_t factor;
    } units[] = {{"", 1}, {"k", 1000}, {"M", 1000000}, {"G", 1000000000}};
    char *end;
    uint64_t number = 0, factor = 0;
    errno = 0;
    unsigned long long digits = strtoull(text, &end, 10);
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcasecmp(units[i].letters, end) == 0)
            factor = units[i].factor;
    bool valid = *text >= '0' && *text <= '9' && errno == 0 && factor != 0 &&
                 !__builtin_mul_overflow((uint64_t)digits, factor, &number);
    if (valid && number >= option->minimum && number <= option->maximum) {
        *value = number;
        return SUTRA_OK;
    }
    if (option->maximum == UINT64_MAX)
        return message_fail(SUTRA_USAGE, "--%s: '%s' is not a number of at least %" PRIu64, option->name, text,
                            option->minimum);
    return message_fail(SUTRA_USAGE, "--%s: '%s' is not a number from %" PRIu64 " to %" PRIu64, option->name, text,
                        option->minimum, option->maximum);
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

/* A choice; the last choice may be followed by a colon and a number. */
static int read_device(const struct option_row *option, const char *text, struct device_choice *value) {
    size_t length = strcspn(text, ":");
    uint64_t number = 0;
    int choice = 0;
    TRY_CODE(read_choice(option, text, length, &choice));
    if (text[length]) {
        if (option->choices[choice + 1]) {
            const char *const *last = option->choices;
            while (last[1])
                last++;
            return message_fail(SUTRA_USAGE, "--%s: '%s': only %s accepts a number", option->name, text, *last);
        }
        TRY_CODE(read_number(option, text + length + 1, &number));
    }
    *value = (struct device_choice){choice, (uint32_t)number};
    return SUTRA_OK;
}

/* Stores an option's argument (NULL for flags) in its member of the command's struct. */
static int store_value(const struct option_row *option, const char *text, struct job *job) {
    void *member = (char *)job + option->offset;
    struct option_list *list = member;
    uint64_t number;
    switch (option->kind) {
    case OPTION_FLAG:
        *(bool *)member = true;
        return SUTRA_OK;
    case OPTION_FILE:
        if (!*text)
            return message_fail(SUTRA_USAGE, "--%s: the file name is empty", option->name);
        *(const char **)member = text;
        return SUTRA_OK;
    case OPTION_NUMBER:
    case OPTION_REAL:
        TRY_CODE(read_number(option, text, &number));
        if (option->kind == OPTION_REAL)
            *(double *)member = (double)number;
        else if (option->size == sizeof(uint32_t))
            *(uint32_t *)member = (uint32_t)number;
        else
            *(uint64_t *)member = number;
        return SUTRA_OK;
    case OPTION_TEXT:
        *(const char **)member = text;
        return SUTRA_OK;
    case OPTION_LIST:
        if (list->n == LIST_MAX)
            return message_fail(SUTRA_USAGE, "--%s: more than %d values", option->name, LIST_MAX);
        list->texts[list->n++] = text;
        return SUTRA_OK;
    case OPTION_CHOICE:
        return read_choice(option, text, strlen(text), member);
    case OPTION_DEVICE:
        return read_device(option, text, member);
    case OPTION_OPTIONAL:
        ((struct option_optional *)member)->is_given = true;
        ((struct option_optional *)member)->value = text;
        ((struct option_optional *)member)->at_operand = OPERANDS_ANY;
        return SUTRA_OK;
    }
    return SUTRA_INTERNAL;
}

/* Reads an optional value: `attached`, or the next word if it is one of the choices. */
static int read_optional(struct job *job, char ***next, const struct option_row *option, const char *attached) {
    struct option_optional *optional = (void *)((char *)job + option->offset);
    const char *word = **next;
    if (attached && !*attached)
        return message_fail(SUTRA_USAGE, "--%s: the value is empty", option->name);
    for (size_t i = 0; !attached && word && option->choices[i]; i++)
        if (strcasecmp(option->choices[i], word) == 0)
            attached = *(*next)++;
    store_value(option, attached, job);
    if (!attached && word && *word != '-')
        optional->at_operand = job->operands.n;
    return SUTRA_OK;
}

/* Reads the value of an option: `attached` to the option, or else the next word, which **next advances over. */
static int read_value(struct job *job, char ***next, const struct option_row *option, const char *attached) {
    if (option->kind == OPTION_FLAG && attached)
        return message_fail(SUTRA_USAGE, "--%s accepts no argument", option->name);
    if (option->kind == OPTION_OPTIONAL)
        return read_optional(job, next, option, attached);
    if (option->kind != OPTION_FLAG && !attached && !(attached = *(*next)++))
        return message_fail(SUTRA_USAGE, "--%s needs an argument: %s", option->name, option->argument);
    return store_value(option, attached, job);
}

/* Counts the options of a table whose name begins with `name`; an equal name is the only match. */
static void find_long(const struct option_row *table, const char *name, size_t length, const struct option_row **found,
                      unsigned *n_found) {
    for (const struct option_row *option = table; option->name; option++) {
        if (*n_found == 1 && strlen((*found)->name) == length)
            return;
        if (strncmp(option->name, name, length) != 0)
            continue;
        *n_found = strlen(option->name) == length ? 1 : *n_found + 1;
        *found = option;
    }
}

int option_unknown(const struct option_row *table, const char *called, const char *name, size_t length) {
    char typed[64] = "";
    strncat(typed, name, length < sizeof typed ? length : sizeof typed - 1);
    struct nearest nearest = nearest_to(typed);
    const char *containing = NULL; /* "format" is a part of "table-format" */
    for (const struct option_row *option = table; option->name; option++) {
        nearest_try(&nearest, option->name);
        if (length >= SUGGESTED_MIN && strstr(option->name, typed))
            containing = option->name;
    }
    nearest_try(&nearest, common_options[0].name);
    if (containing || nearest.word)
        return message_fail(SUTRA_USAGE, "unknown option '--%s'; did you mean '--%s'?", typed,
                            containing ? containing : nearest.word);
    return message_fail(SUTRA_USAGE, "unknown option '--%s'; see '%s --help'", typed, called);
}

/* Appends the options of a table whose name begins with `name` to the text `all`. */
static void list_candidates(const struct option_row *table, const char *name, size_t length, char *all, size_t size) {
    for (const struct option_row *option = table; option->name; option++) {
        size_t n = strlen(all);
        if (strncmp(option->name, name, length) == 0)
            snprintf(all + n, size - n, "%s--%s", n ? ", " : "", option->name);
    }
}

/* Reads --name, --name=VALUE or --name VALUE; *help: it is --help. */
static int read_long(struct job *job, char ***next, const char *word, bool *help) {
    const struct command *command = job->command;
    const char *equals = strchr(word, '=');
    size_t length = equals ? (size_t)(equals - word) : strlen(word);
    const struct option_row *found = NULL;
    unsigned n_found = 0;
    find_long(command->options, word, length, &found, &n_found);
    find_long(common_options, word, length, &found, &n_found);
    if (n_found == 0 || length == 0)
        return option_unknown(command->options, command->called, word, length);
    if (n_found > 1) {
        char all[600] = "";
        list_candidates(command->options, word, length, all, sizeof all);
        list_candidates(common_options, word, length, all, sizeof all);
        return message_fail(SUTRA_USAGE, "option '--%.*s' is ambiguous: use one of %s", (int)length, word, all);
    }
    *help = found == &common_options[0];
    return *help ? SUTRA_OK : read_value(job, next, found, equals ? equals + 1 : NULL);
}

/* Reads the letters after a single dash: flags, and at most one option whose argument is the rest or the next word. */
static int read_letters(struct job *job, char ***next, const char *letters, bool *help) {
    for (; *letters; letters++) {
        if (*letters == 'h') {
            *help = true;
            return SUTRA_OK;
        }
        const struct option_row *option = job->command->options;
        while (option->name && option->letter != *letters)
            option++;
        if (!option->name)
            return message_fail(SUTRA_USAGE, "unknown option '-%c'; see '%s --help'", *letters, job->command->called);
        if (option->kind != OPTION_FLAG) /* also an optional value */
            return read_value(job, next, option, letters[1] ? letters + 1 : NULL);
        store_value(option, NULL, job);
    }
    return SUTRA_OK;
}

/* Parses options and operands in any order; "--" precedes operands that begin with a dash. *help: help is requested. */
static int parse_arguments(struct job *job, char **next, bool *help) {
    const struct command *command = job->command;
    bool only_operands = false;
    while (*next && !*help) {
        char *word = *next++;
        if (only_operands || word[0] != '-' || !word[1]) {
            if (job->operands.n == command->n_operands_max)
                return message_fail(SUTRA_USAGE, "unexpected argument '%s'; see '%s --help'", word, command->called);
            if (!*word)
                return message_fail(SUTRA_USAGE, "an argument is empty");
            job->operands.words[job->operands.n++] = word;
        } else if (strcmp(word, "--") == 0) {
            only_operands = true;
        } else if (word[1] == '-') {
            TRY_CODE(read_long(job, &next, word + 2, help));
        } else {
            TRY_CODE(read_letters(job, &next, word + 1, help));
        }
    }
    return SUTRA_OK;
}

/* Checks the arguments, and that no output overwrites an input. */
static int check_arguments(struct job *job) {
    const struct command *command = job->command;
    if (job->operands.n < command->n_operands_min)
        return message_fail(SUTRA_USAGE, "%s; see '%s --help'", command->missing, command->called);
    if (job->quiet && job->verbose)
        return message_fail(SUTRA_USAGE, "--quiet and --verbose exclude each other");
    if (job->options.strict && job->options.lenient)
        return message_fail(SUTRA_USAGE, "--strict and --lenient exclude each other");
    job->inputs = (const char *const *)job->operands.words;
    job->n_inputs = job->operands.n;
    if (job->quiet && job->log_level < LOG_WARNING)
        job->log_level = LOG_WARNING;
    if (job->verbose)
        job->log_level = LOG_DEBUG;
    if (command->check)
        TRY_CODE(command->check(job));
    for (size_t i = 0; job->output && i < job->n_inputs; i++)
        if (job->inputs[i] && paths_same(job->output, job->inputs[i]))
            return message_fail(SUTRA_USAGE, "%s: output and input are the same file", job->output);
    TRY_CODE(job_check_stats(job->stats, job->output, job->inputs, job->n_inputs));
    if (job->output && command->writes)
        TRY_CODE(path_check_format(job->output, command->writes));
    if (command->operand_kind != OPERAND_FILE)
        return SUTRA_OK;
    return job->traces.n ? paths_check_inputs((const char *const *)job->operands.words, job->operands.n)
                         : paths_check_inputs(job->inputs, job->n_inputs);
}

int command_run(const struct command *command, int argc, char **argv, const struct process_plan *plan) {
    /* A word that is neither a file nor a file name must be the name of a subcommand. */
    const char *word = command->commands && argc > 1 && argv[1][0] != '-' ? argv[1] : NULL;
    const struct command *subcommand = word ? command_find(command->commands, word) : NULL;
    if (subcommand)
        return command_run(subcommand, argc - 1, argv + 1, plan);
    if (word && !strpbrk(word, "./") && access(word, F_OK))
        return command_unknown(command->commands, command->called, "command or file", word);
    if (plan && !command->is_shared)
        return message_fail(SUTRA_USAGE, "%s runs in one process: call sutra without mpirun", command->called);

    size_t size = command->size ? command->size : sizeof(struct job);
    struct job *job = calloc(1, size);
    if (!job)
        return message_fail(SUTRA_SYSTEM, "out of memory");
    if (command->defaults)
        memcpy(job, command->defaults, size);
    job->command = command;
    job->plan = plan;
    job->operands.words = argv;
    job->log_level = LOG_INFO;
    bool help = false;
    int exit_code = parse_arguments(job, argc > 0 ? argv + 1 : argv, &help);
    if (exit_code == SUTRA_OK && help)
        help_command_print(command);
    else if (exit_code == SUTRA_OK && (exit_code = check_arguments(job)) == SUTRA_OK) {
        job_start(job);
        exit_code = command->work(job);
        progress_clear(&job->watch.progress);
    }
    if (exit_code != SUTRA_OK)
        interrupt_guard_remove_empty();
    if (command->release)
        command->release(job);
    sutra_context_free(job->context);
    trace_list_free(&job->traces);
    run_free(&job->run.run);
    free(job);
    return exit_code;
}
