/*
 * help.c - generates help texts from the tables of commands and options; and the command `sutra help`.
 *
 *     sutra link - link a host trace ...             name, summary
 *
 *     Usage:                                         synopses, then paragraphs of the description
 *     Options:
 *       -o, --output-file OUT         write ET+ to   rows of options, wrapped at 80 columns
 *     Examples:                                      command lines with descriptions
 */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/job.h"
#include "cli/terminal.h"
#include "sutra/context.h"

#define HELP_COLUMN 32 /* where the description of an option begins */

/* "FILE", "auto|cpu|cuda": an option's argument in help texts; "" for flags. */
static void option_argument_text(const struct option_row *option, char *text, size_t size) {
    *text = '\0';
    if (option->kind == OPTION_FLAG)
        return;
    if (option->kind == OPTION_OPTIONAL) {
        snprintf(text, size, "[%s]", option->argument);
        return;
    }
    if (!option->choices) {
        snprintf(text, size, "%s", option->argument);
        return;
    }
    for (size_t i = 0; option->choices[i]; i++) {
        size_t used = strlen(text);
        snprintf(text + used, size - used, "%s%s", i ? "|" : "", option->choices[i]);
    }
    if (option->kind == OPTION_DEVICE)
        strncat(text, "[:N]", size - strlen(text) - 1);
}

static void print_commands(const struct command *const *table) {
    printf("\nCommands:\n");
    for (size_t i = 0; table[i]; i++)
        printf("  %-14s %s\n", table[i]->name, table[i]->summary);
}

static void print_options_help(const struct option_row *table) {
    for (const struct option_row *option = table; option->name; option++) {
        char argument[64];
        option_argument_text(option, argument, sizeof argument);
        /* A list of choices that is too wide for the column is replaced by its name. */
        if (strlen(argument) + strlen(option->name) > HELP_COLUMN - 9)
            snprintf(argument, sizeof argument, "%s", option->argument);
        char letter[8] = "    ";
        if (option->letter)
            snprintf(letter, sizeof letter, "-%c, ", option->letter);
        int column = printf("  %s--%s%s%s", letter, option->name, *argument ? " " : "", argument);
        if (column >= HELP_COLUMN - 1) {
            putchar('\n');
            column = 0;
        }
        column += printf("%*s", HELP_COLUMN - column, "");
        wrapped_print(option->help, column, HELP_COLUMN);
    }
}

void help_command_print(const struct command *command) {
    printf("%s - %s\n\nUsage:\n", command->called, command->summary);
    for (size_t i = 0; command->synopses[i]; i++) {
        int column = printf("  %s", command->called);
        if (*command->synopses[i])
            wrapped_print(command->synopses[i], column, 6);
        else
            putchar('\n');
    }
    for (size_t i = 0; command->description[i]; i++) {
        putchar('\n');
        wrapped_print(command->description[i], 0, 0);
    }
    if (command->commands)
        print_commands(command->commands);
    printf("\nOptions:\n");
    print_options_help(command->options);
    print_options_help(common_options);
    printf("\nExamples:\n");
    for (const struct example *example = command->examples; example->line; example++)
        printf("  %s\n      %s\n", example->line, example->what);
    printf("\nExit codes: see 'sutra --help'.\n");
}

void help_program_print(void) {
    printf("sutra %s - link PyTorch execution traces with Kineto device traces\n\n", sutra_version());
    printf("Usage:\n  sutra COMMAND [ARGUMENTS]\n");
    print_commands(commands);
    printf("\nOptions:\n");
    print_options_help(program_options);
    printf("\nExamples:\n");
    for (size_t i = 0; commands[i]; i++)
        printf("  %s\n", commands[i]->examples[0].line);
    printf("\nExit codes:\n");
    for (const struct exit_code *row = exit_codes; row->meaning; row++)
        printf("  %3d  %s\n", row->code, row->meaning);
    putchar('\n');
    wrapped_print(
        "'sutra help COMMAND' describes a command. Under the names chakra_trace_link, trace_link, chakra_converter and "
        "chakra_jsonizer, sutra has the command line of the tool of the same name.",
        0, 0);
}

static int print_help(struct job *job) {
    const struct operands *operands = &job->operands;
    if (operands->n == 0) {
        help_program_print();
        return SUTRA_OK;
    }
    const char *name = operands->words[0];
    const struct command *command = command_find(other_names, name);
    if (!command)
        command = command_find(commands, name);
    if (!command)
        return command_unknown(commands, "sutra", name);
    for (unsigned i = 1; i < operands->n; i++) {
        const struct command *parent = command;
        if (!parent->commands)
            return message_fail(SUTRA_USAGE, "unexpected argument '%s'; see 'sutra help --help'", operands->words[i]);
        if (!(command = command_find(parent->commands, operands->words[i])))
            return command_unknown(parent->commands, parent->called, operands->words[i]);
    }
    help_command_print(command);
    return SUTRA_OK;
}

static const char *const help_synopses[] = {"[COMMAND]", NULL};
static const char *const help_description[] = {"Without COMMAND, lists the commands and the exit codes.", NULL};
static const struct option_row help_options[] = {{0}};
static const struct example help_examples[] = {
    {"sutra help link", "print the help of 'sutra link'"},
    {"sutra help analyze hta", "print the help of a subcommand"},
    {0},
};

const struct command help_command = {
    .name = "help",
    .called = "sutra help",
    .summary = "print the help of sutra or of a command",
    .synopses = help_synopses,
    .description = help_description,
    .options = help_options,
    .examples = help_examples,
    .n_operands_max = 2,
    .operand_kind = OPERAND_COMMAND,
    .work = print_help,
};

/*
 * `sutra man`: generates the manual page sutra(1) in roff from the tables of commands and options.
 *
 *     NAME, SYNOPSIS | COMMANDS: summary, synopses, paragraphs, options of each | COMMON OPTIONS | EXAMPLES |
 *     EXIT STATUS
 */

/* Prints text with characters escaped that are special in roff: backslashes, dashes, and dots and quotes at the start
 * of a line. */
static void print_text(const char *text) {
    if (*text == '.' || *text == '\'')
        printf("\\&");
    for (; *text; text++) {
        if (*text == '\\')
            printf("\\e");
        else if (*text == '-')
            printf("\\-");
        else
            putchar(*text);
    }
}

static void print_options_manual(const struct option_row *table) {
    for (const struct option_row *option = table; option->name; option++) {
        char argument[64];
        option_argument_text(option, argument, sizeof argument);
        printf(".TP\n");
        if (option->letter)
            printf("\\fB\\-%c\\fR, ", option->letter);
        printf("\\fB\\-\\-");
        print_text(option->name);
        printf("\\fR%s\\fI", *argument ? " " : "");
        print_text(argument);
        printf("\\fR\n");
        print_text(option->help);
        printf(".\n");
    }
}

static void print_synopses(const struct command *parent, const struct command *command) {
    (void)parent;
    for (size_t i = 0; command->synopses[i]; i++) {
        printf(".br\n\\fB");
        print_text(command->called);
        printf("\\fR ");
        print_text(command->synopses[i]);
        putchar('\n');
    }
}

static void print_command(const struct command *parent, const struct command *command) {
    (void)parent;
    printf(".SS \"");
    print_text(command->called);
    printf(" \\- ");
    print_text(command->summary);
    printf("\"\n");
    for (size_t i = 0; command->description[i]; i++) {
        printf(".PP\n");
        print_text(command->description[i]);
        putchar('\n');
    }
    print_options_manual(command->options);
}

static void print_examples(const struct command *parent, const struct command *command) {
    (void)parent;
    for (const struct example *example = command->examples; example->line; example++) {
        printf(".TP\n\\fB");
        print_text(example->line);
        printf("\\fR\n");
        print_text(example->what);
        printf(".\n");
    }
}

/* Calls `print` for each command, then for each other name of the program. */
static void each_name(void (*print)(const struct command *parent, const struct command *command)) {
    commands_each(print);
    for (size_t i = 0; other_names[i]; i++)
        print(NULL, other_names[i]);
}

static int print_manual(struct job *job) {
    (void)job;
    printf(".TH SUTRA 1 \"\" \"sutra %s\" \"User Commands\"\n", sutra_version());
    printf(".SH NAME\nsutra \\- link PyTorch execution traces with Kineto device traces\n.SH SYNOPSIS\n");
    printf("\\fBsutra\\fR \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n");
    each_name(print_synopses);
    printf(".SH COMMANDS\n");
    each_name(print_command);
    printf(
        ".SH COMMON OPTIONS\nEvery command accepts the first option. The other options are used without a command.\n");
    print_options_manual(program_options);
    printf(
        ".SH MPI JOBS\n.B mpirun \\-\\-enable\\-recovery \\-n N sutra\\-mpi [\\-\\-patience SECONDS] link | analyze \\fR...\n.PP\n"
        "Runs sutra link or sutra analyze for all ranks of a job with N processes. A process that does not answer "
        "within SECONDS seconds [30] counts as failed: its ranks are skipped and reported, and a second run links them.\n");
    printf(".SH EXAMPLES\n");
    each_name(print_examples);
    printf(".SH EXIT STATUS\n");
    for (const struct exit_code *row = exit_codes; row->meaning; row++) {
        printf(".TP\n.B %d\n", row->code);
        print_text(row->meaning);
        printf(".\n");
    }
    return SUTRA_OK;
}

static const char *const synopses[] = {"", NULL};
static const char *const description[] = {"Prints the manual page sutra(1) in roff to standard output.", NULL};
static const struct option_row options[] = {{0}};
static const struct example examples[] = {
    {"sutra man | man -l -", "read the manual page"},
    {"sutra man > /usr/local/share/man/man1/sutra.1", "install the manual page"},
    {0},
};

const struct command manual_command = {
    .name = "man",
    .called = "sutra man",
    .summary = "print the manual page",
    COMMAND_TEXTS,
    .work = print_manual,
};
