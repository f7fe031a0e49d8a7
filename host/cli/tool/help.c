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
#include "cli/tool/help.h"

#include <string.h>

#include "cli/tool/arguments.h"
#include "cli/tool/message.h"
#include "cli/tool/screen.h"
#include "sutra/context.h"

#define HELP_COLUMN 32 /* where the words about an option begin */

void option_argument_text(const struct option_row *option, char *text, size_t size) {
    *text = '\0';
    if (option->kind == OPTION_FLAG)
        return;
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

static void print_option(const struct option_row *option) {
    char argument[64];
    option_argument_text(option, argument, sizeof argument);
    /* A list of words that would fill the column gets its name there, and is spelled out in the help. */
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

static void print_commands(const struct command *const *table) {
    printf("\nCommands:\n");
    for (size_t i = 0; table[i]; i++)
        printf("  %-14s %s\n", table[i]->name, table[i]->summary);
}

static void print_options(const struct option_row *table) {
    for (const struct option_row *option = table; option->name; option++)
        print_option(option);
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
    print_options(command->options);
    print_options(common_options);
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
    print_options(program_options);
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

static int help_run(const struct command *self, int argc, char **argv) {
    struct operands operands;
    int exit_code;
    if (!arguments_parse(self, argc, argv, NULL, &operands, &exit_code))
        return exit_code;
    if (operands.n == 0) {
        help_program_print();
        return SUTRA_OK;
    }
    const char *name = operands.words[0];
    const struct command *command =
        command_find(other_names, name) ? command_find(other_names, name) : command_find(commands, name);
    if (!command)
        return command_unknown(commands, "sutra", name);
    for (unsigned i = 1; i < operands.n; i++) {
        const struct command *above = command;
        if (!above->commands)
            return message_fail(SUTRA_USAGE, "unexpected argument '%s'; see 'sutra help --help'", operands.words[i]);
        if (!(command = command_find(above->commands, operands.words[i])))
            return command_unknown(above->commands, above->called, operands.words[i]);
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
    .run = help_run,
};
