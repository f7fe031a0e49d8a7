/*
 * manual.c - `sutra man`: generates the manual page sutra(1) in roff from the tables of commands and options.
 *
 *     NAME, SYNOPSIS | COMMANDS: summary, synopses, paragraphs, options of each | COMMON OPTIONS | EXAMPLES |
 *     EXIT STATUS
 */
#include <stdio.h>
#include <string.h>

#include "cli/tool/arguments.h"
#include "cli/tool/help.h"
#include "sutra/context.h"

/* Text with what roff would take as its own made harmless: backslashes, and dots and quotes that begin a line. Dashes
 * are the ones that a person can copy. */
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

static void print_paragraph(const char *text) {
    printf(".PP\n");
    print_text(text);
    putchar('\n');
}

static void print_options(const struct option_row *table) {
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

static void print_synopses(const struct command *above, const struct command *command) {
    (void)above;
    for (size_t i = 0; command->synopses[i]; i++) {
        printf(".br\n\\fB");
        print_text(command->called);
        printf("\\fR ");
        print_text(command->synopses[i]);
        putchar('\n');
    }
}

static void print_command(const struct command *above, const struct command *command) {
    (void)above;
    printf(".SS \"");
    print_text(command->called);
    printf(" \\- ");
    print_text(command->summary);
    printf("\"\n");
    for (size_t i = 0; command->description[i]; i++)
        print_paragraph(command->description[i]);
    print_options(command->options);
}

static void print_examples(const struct command *above, const struct command *command) {
    (void)above;
    for (const struct example *example = command->examples; example->line; example++) {
        printf(".TP\n\\fB");
        print_text(example->line);
        printf("\\fR\n");
        print_text(example->what);
        printf(".\n");
    }
}

/* Calls `print` for each command, and for the other names of the program last. */
static void each_name(void (*print)(const struct command *above, const struct command *command)) {
    commands_each(print);
    for (size_t i = 0; other_names[i]; i++)
        print(NULL, other_names[i]);
}

static void print_page(void) {
    printf(".TH SUTRA 1 \"\" \"sutra %s\" \"User Commands\"\n", sutra_version());
    printf(".SH NAME\nsutra \\- link PyTorch execution traces with Kineto device traces\n.SH SYNOPSIS\n");
    printf("\\fBsutra\\fR \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]\n");
    each_name(print_synopses);
    printf(".SH COMMANDS\n");
    each_name(print_command);
    printf(
        ".SH COMMON OPTIONS\nEvery command accepts the first option. The other options are used without a command.\n");
    print_options(program_options);
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
}

static int manual_run(const struct command *command, int argc, char **argv) {
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, NULL, &operands, &exit_code))
        return exit_code;
    print_page();
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
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .run = manual_run,
};
