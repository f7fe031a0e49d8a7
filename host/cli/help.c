/*
 * help.c - generates help texts and manual pages from the tables of commands and options: `sutra help`, `sutra man`.
 *
 *     sutra link - link a host trace ...             name, summary
 *
 *     Usage:                                         synopses, then paragraphs of the description
 *     Options:                                       each group of options with its heading
 *       -o, --output-file OUT         write ET+ to   rows of options, wrapped at 80 columns
 *     Common options: --device, ...                  names of options that are described elsewhere
 *     Examples:                                      command lines with descriptions
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/job.h"
#include "cli/terminal.h"
#include "sutra/context.h"

#define PROGRAM_SUMMARY "link, explain and simulate PyTorch traces"
#define HELP_COLUMN     32  /* where the description of an option begins */
#define NAMES_MAX       800 /* bytes of the names of a command's options */

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

static bool is_in_group(const struct option_row *option, const char *group) {
    return option->group == group || (option->group && group && strcmp(option->group, group) == 0);
}

static void print_options_help(const struct option_row *table, const char *group) {
    for (const struct option_row *option = table; option->name; option++) {
        if (!is_in_group(option, group))
            continue;
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

/* A help text only lists the names of the options in these groups. */
static const char *const named_groups[] = {group_more, group_selection, group_common};

/* Calls `print` for the options without a heading, then for each other group in the order of the table. */
static void each_group(const struct option_row *table,
                       void (*print)(const struct option_row *table, const char *group)) {
    for (const struct option_row *option = table; option->name; option++)
        if (!option->group) {
            print(table, NULL);
            break;
        }
    for (const struct option_row *option = table; option->name; option++) {
        const struct option_row *first = table;
        while (!is_in_group(first, option->group))
            first++;
        bool is_named = !option->group;
        for (size_t i = 0; i < COUNT_OF(named_groups); i++)
            is_named |= option->group == named_groups[i];
        if (first == option && !is_named)
            print(table, option->group);
    }
}

static void print_group_help(const struct option_row *table, const char *group) {
    printf("\n%s:\n", group ? group : "Options");
    print_options_help(table, group);
}

/* Prints the names of the options of a group, and where they are described. */
static void print_option_names(const struct command *command, const char *group) {
    const struct option_row *const tables[2] = {command->options, common_options};
    char names[NAMES_MAX];
    int n = 0;
    for (size_t i = 0; i < 2; i++)
        for (const struct option_row *option = tables[i]; option->name; option++)
            if (is_in_group(option, group))
                n += snprintf(names + n, sizeof names - (size_t)n, "%s--%s", n ? ", " : "", option->name);
    if (n == 0)
        return;
    snprintf(names + n, sizeof names - (size_t)n, "; see %s",
             group == group_more ? "the manual page" : "'sutra help options'");
    wrapped_print(names, printf("%s:", group), 2);
}

/* The operands of `sutra help` and `sutra man` for a command: "analyze hta". */
static const char *name_in_help(const struct command *command) {
    static const char program[] = "sutra ";
    const size_t length = sizeof program - 1;
    return strncmp(command->called, program, length) == 0 ? command->called + length : command->called;
}

void help_command_print(const struct command *command) {
    wrapped_print(command->summary, printf("%s -", command->called), 2);
    printf("\nUsage:\n");
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
        printf("\nCommands:\n");
    for (size_t i = 0; command->commands && command->commands[i]; i++)
        printf("  %-14s %s\n", command->commands[i]->name, command->commands[i]->summary);
    each_group(command->options, print_group_help);
    putchar('\n');
    for (size_t i = 0; i < COUNT_OF(named_groups); i++)
        print_option_names(command, named_groups[i]);
    printf("\nExamples:\n");
    for (const struct example *example = command->examples; example->line; example++)
        printf("  %s\n      %s\n", example->line, example->what);
    printf("\nManual page: 'sutra man %s | man -l -'\nExit codes: 'sutra help exit-codes'\n", name_in_help(command));
}

/* The heading above a command in the list of commands, or NULL. */
static const char *heading_of(const struct command *command) {
    const struct command_heading *heading = command_headings;
    while (heading->first && heading->first != command)
        heading++;
    return heading->text;
}

void help_program_print(void) {
    printf("sutra %s - " PROGRAM_SUMMARY "\n\nUsage: sutra COMMAND [ARGUMENTS]\n", sutra_version());
    for (size_t i = 0; commands[i]; i++) {
        if (heading_of(commands[i]))
            printf("\n%s:\n", heading_of(commands[i]));
        printf("  %-14s %s\n", commands[i]->name, commands[i]->summary);
    }
    putchar('\n');
    wrapped_print("'sutra help COMMAND' describes a command, 'sutra help options' the options that commands have in "
                  "common, and 'sutra help exit-codes' the exit codes. 'sutra --version' prints the version.",
                  0, 0);
}

/* Prints the options that commands have in common; the table of `sutra analyze` has all of them. */
static void print_common_options(void) {
    printf("The help of a command lists the names of the common options that it accepts.\n\n%s:\n", group_common);
    print_options_help(analyze_command.options, group_common);
    print_options_help(common_options, group_common);
    printf("\n%s, in addition to --rank and --step:\n", group_selection);
    print_options_help(analyze_command.options, group_selection);
}

static void print_exit_codes(void) {
    for (const struct exit_code *row = exit_codes; row->meaning; row++)
        printf("  %3d  %s\n", row->code, row->meaning);
}

/* Finds the command that operands name: another name of the program, a command, or a subcommand, with its parent.
 * SUTRA_OK, or another exit code after reporting the error. */
static int find_described(const struct job *job, const struct command **parent, const struct command **command) {
    const struct operands *operands = &job->operands;
    *parent = NULL;
    if (!(*command = command_find(other_names, operands->words[0])))
        *command = command_find(commands, operands->words[0]);
    if (!*command)
        return command_unknown(commands, "sutra", "command", operands->words[0]);
    for (unsigned i = 1; i < operands->n; i++) {
        *parent = *command;
        if (!(*parent)->commands)
            return message_fail(SUTRA_USAGE, "unexpected argument '%s'; see '%s --help'", operands->words[i],
                                job->command->called);
        if (!(*command = command_find((*parent)->commands, operands->words[i])))
            return command_unknown((*parent)->commands, (*parent)->called, "command", operands->words[i]);
    }
    return SUTRA_OK;
}

static const char *const topics[] = {"options", "exit-codes", NULL};
static void (*const topic_prints[])(void) = {print_common_options, print_exit_codes};

static int print_help(struct job *job) {
    const struct command *parent, *command;
    if (job->operands.n == 0) {
        help_program_print();
        return SUTRA_OK;
    }
    for (size_t i = 0; topics[i]; i++)
        if (job->operands.n == 1 && strcmp(topics[i], job->operands.words[0]) == 0) {
            topic_prints[i]();
            return SUTRA_OK;
        }
    TRY_CODE(find_described(job, &parent, &command));
    help_command_print(command);
    return SUTRA_OK;
}

static const char *const help_synopses[] = {"[COMMAND]", "options | exit-codes", NULL};
static const char *const help_description[] = {
    "Without COMMAND, lists the commands. 'sutra help options' describes the options that commands have in common.",
    NULL};
static const struct option_row help_options[] = {{0}};
static const struct example help_examples[] = {
    {"sutra help link", "print the help of 'sutra link'"},
    {"sutra help analyze hta", "print the help of a subcommand"},
    {"sutra help options", "print the options that commands have in common"},
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
    .operand_words = topics,
    .work = print_help,
};

/*
 * `sutra man`: generates manual pages in roff from the tables of commands and options.
 *
 *     sutra(1)         NAME, SYNOPSIS, COMMANDS: the name of each page and its summary, OPTIONS, MPI JOBS, EXIT STATUS
 *     sutra-link(1)    NAME, SYNOPSIS, DESCRIPTION, OPTIONS: each group, EXAMPLES, EXIT STATUS, SEE ALSO
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

static void print_options_manual(const struct option_row *table, const char *group) {
    for (const struct option_row *option = table; option->name; option++) {
        if (!is_in_group(option, group))
            continue;
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

static void print_group_manual(const struct option_row *table, const char *group) {
    if (group)
        printf(".SS %s\n", group);
    print_options_manual(table, group);
}

/* The name of a command's manual page: "sutra-analyze-hta". */
struct page_name {
    char text[64];
};

static struct page_name page_name(const struct command *command) {
    struct page_name name;
    snprintf(name.text, sizeof name.text, "%s", command->called);
    for (char *at = name.text; (at = strchr(at, ' '));)
        *at = '-';
    return name;
}

static void print_page_head(const char *name, const char *summary) {
    printf(".TH ");
    for (const char *at = name; *at; at++)
        putchar(toupper((unsigned char)*at));
    printf(" 1 \"\" \"sutra %s\" \"User Commands\"\n.SH NAME\n", sutra_version());
    print_text(name);
    printf(" \\- ");
    print_text(summary);
    printf("\n.SH SYNOPSIS\n");
}

static void print_command_page(const struct command *parent, const struct command *command) {
    print_page_head(page_name(command).text, command->summary);
    for (size_t i = 0; command->synopses[i]; i++) {
        printf(".br\n\\fB");
        print_text(command->called);
        printf("\\fR ");
        print_text(command->synopses[i]);
        putchar('\n');
    }
    printf(".SH DESCRIPTION\n");
    for (size_t i = 0; command->description[i]; i++) {
        printf(".PP\n");
        print_text(command->description[i]);
        putchar('\n');
    }
    printf(".SH OPTIONS\n");
    each_group(command->options, print_group_manual);
    for (size_t i = 0; i < COUNT_OF(named_groups); i++) {
        bool is_empty = named_groups[i] != group_common;
        for (const struct option_row *option = command->options; option->name; option++)
            is_empty &= !is_in_group(option, named_groups[i]);
        if (is_empty)
            continue;
        print_group_manual(command->options, named_groups[i]);
        print_options_manual(common_options, named_groups[i]);
    }
    printf(".SH EXAMPLES\n");
    for (const struct example *example = command->examples; example->line; example++) {
        printf(".TP\n\\fB");
        print_text(example->line);
        printf("\\fR\n");
        print_text(example->what);
        printf(".\n");
    }
    printf(".SH EXIT STATUS\nSee\n.BR sutra (1).\n.SH SEE ALSO\n.BR sutra (1)");
    if (parent)
        printf(",\n.BR %s (1)", page_name(parent).text);
    for (size_t i = 0; command->commands && command->commands[i]; i++)
        printf(",\n.BR %s (1)", page_name(command->commands[i]).text);
    putchar('\n');
}

static void print_page_summary(const struct command *parent, const struct command *command) {
    if (!parent && heading_of(command))
        printf(".SS %s\n", heading_of(command));
    printf(".TP\n.BR ");
    print_text(page_name(command).text);
    printf(" (1)\n");
    print_text(command->summary);
    printf(".\n");
}

static void print_program_page(void) {
    print_page_head("sutra", PROGRAM_SUMMARY);
    printf("\\fBsutra\\fR \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n.SH COMMANDS\n");
    commands_each(print_page_summary);
    printf(".SS Names of other programs\nUnder these names, sutra has the command line of the program.\n");
    for (size_t i = 0; other_names[i]; i++)
        print_page_summary(NULL, other_names[i]);
    printf(".SH OPTIONS\n");
    print_options_manual(program_options, NULL);
    printf(
        ".SH MPI JOBS\n.B mpirun \\-\\-enable\\-recovery \\-n N sutra\\-mpi [\\-\\-patience SECONDS] link | analyze \\fR...\n.PP\n"
        "Runs sutra link or sutra analyze for all ranks of a job with N processes. A process that does not answer "
        "within SECONDS seconds [30] counts as failed: its ranks are skipped and reported, and a second run links them.\n");
    printf(".SH EXIT STATUS\n");
    for (const struct exit_code *row = exit_codes; row->meaning; row++) {
        printf(".TP\n.B %d\n", row->code);
        print_text(row->meaning);
        printf(".\n");
    }
}

struct manual_job {
    struct job job;
    bool list;
};

static void print_page_arguments(const struct command *parent, const struct command *command) {
    (void)parent;
    printf("%s %s\n", page_name(command).text, name_in_help(command));
}

static int print_manual(struct job *job) {
    const struct command *parent, *command;
    if (((struct manual_job *)job)->list) {
        puts("sutra");
        commands_each(print_page_arguments);
        for (size_t i = 0; other_names[i]; i++)
            print_page_arguments(NULL, other_names[i]);
        return SUTRA_OK;
    }
    if (job->operands.n == 0) {
        print_program_page();
        return SUTRA_OK;
    }
    TRY_CODE(find_described(job, &parent, &command));
    print_command_page(parent, command);
    return SUTRA_OK;
}

static const char *const synopses[] = {"[COMMAND]", "--list", NULL};
static const char *const description[] = {
    "Prints the manual page of COMMAND in roff to standard output, or the manual page sutra(1), which lists the "
    "commands.",
    NULL};
static const struct option_row options[] = {
    {"list", 'l', OPTION_FLAG, AT(manual_job, list),
     .help = "print the name of each manual page, and the arguments of 'sutra man' that print the page"},
    {0}};
static const struct example examples[] = {
    {"sutra man link | man -l -", "read the manual page of 'sutra link'"},
    {"sutra man > /usr/local/share/man/man1/sutra.1", "install a manual page"},
    {0},
};

const struct command manual_command = {
    .name = "man",
    .called = "sutra man",
    .summary = "print the manual page of sutra or of a command",
    COMMAND_TEXTS,
    .n_operands_max = 2,
    .operand_kind = OPERAND_COMMAND,
    .size = sizeof(struct manual_job),
    .work = print_manual,
};
