/*
 * command.h - definition of a command: its table of options, help text and run function.
 *
 * Each command has its own file with one `struct command`. The parser (arguments.c), the help texts (help.c), the
 * manual page (manual.c) and the shell completions (completion.c) read the same tables, so each option is defined once.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum option_kind {
    OPTION_FLAG,   /* bool: set to true; takes no argument */
    OPTION_FILE,   /* const char *: a file name */
    OPTION_NUMBER, /* uint64_t: `minimum` to `maximum`; k, M and G at the end stand for thousands, millions, ... */
    OPTION_TEXT,   /* const char * */
    OPTION_WORDS,  /* struct word_list: one more word each time the option stands there */
    OPTION_CHOICE, /* int: the place of the word in `choices`, in any case of letters */
    OPTION_DEVICE, /* struct device_word: such a word; behind the last of them may stand :N, up to `maximum` */
};

/* Where to compute: the place of the word in `choices`, and the number behind it. */
struct device_word {
    int choice;
    uint32_t number;
};

/* What an option that may be repeated has collected. */
#define WORDS_MAX 32
struct word_list {
    const char *words[WORDS_MAX];
    size_t n;
};

/* One option. A table of them ends with a row without a name. */
struct option_row {
    const char *name; /* without the dashes */
    char letter;      /* or 0 */
    enum option_kind kind;
    const char *argument; /* what help calls the argument; NULL for flags */
    size_t offset;        /* of the value in the command's own struct of values */
    uint64_t minimum, maximum;
    const char *const *choices; /* ends with NULL */
    const char *help;           /* a sentence without a capital and full stop */
};

#define OPERANDS_ANY UINT_MAX

/* What the words that are no options stand for. */
enum operand_kind {
    OPERAND_FILE,
    OPERAND_WORD,    /* one of `operand_words` */
    OPERAND_COMMAND, /* a command's name */
};

struct example {
    const char *line; /* what to type */
    const char *what; /* what it does */
};

struct command {
    const char *name;               /* after "sutra" */
    const char *called;             /* how a person calls it: "sutra link" */
    const char *summary;            /* one line */
    const char *const *synopses;    /* what follows `called`, one way of calling each; ends with NULL */
    const char *const *description; /* paragraphs; ends with NULL */
    const struct option_row *options;
    const struct example *examples; /* ends with a row without a line */
    unsigned n_operands_max;        /* OPERANDS_ANY: no limit */
    enum operand_kind operand_kind;
    const char *const *operand_words; /* ends with NULL */
    /* The commands that are called by a word behind this one's, "sutra analyze hta"; ends with NULL. NULL: none. */
    const struct command *const *commands;
    int (*run)(const struct command *command, int argc,
               char **argv); /* argv[0] is the command; returns the exit code */
};

extern const struct command link_command, link_legacy_command, info_command, critical_path_command, tree_command,
    correlate_command, analyze_command, analyze_collectives_command, analyze_dlrm_command, analyze_hta_command,
    analyze_kernels_command, analyze_memory_command, analyze_operators_command, gen_command, devices_command,
    help_command, completion_command, manual_command, jsonize_command, check_command, draw_command, simulate_command,
    diff_command, cut_command, merge_command, repair_command;
extern const struct command trace_link_command;       /* the program under its other name, chakra_trace_link */
extern const struct command older_trace_link_command; /* and under the name trace_link */
extern const struct command jsonizer_command;         /* and under the name chakra_jsonizer */

/* convert, and the program under the name chakra_converter. */
extern const struct command convert_command, converter_command;

/* All commands of the program in the order of the help; ends with NULL. */
extern const struct command *const commands[];

/* What the program is under other names; ends with NULL. */
extern const struct command *const other_names[];

/* The options that every command has. */
extern const struct option_row common_options[];

/* The options of the program itself, before a command. */
extern const struct option_row program_options[];

/* What an exit code means. The table ends with a row without a meaning. */
struct exit_code {
    int code;
    const char *meaning;
};
extern const struct exit_code exit_codes[];

/* Calls for each command of the program; for those below another behind it, and `above` is that one, else NULL. */
void commands_each(void (*call)(const struct command *above, const struct command *command));

/* The command of this name in a table, or NULL. */
const struct command *command_find(const struct command *const *table, const char *name);

/* Says that a table has no command of this name, and which was probably meant; returns the exit code. `called` is what
 * stands before the name: "sutra". */
int command_unknown(const struct command *const *table, const char *called, const char *name);

/*
 * Parse a command line by the command's table of options.
 *
 * Accepted forms: --name VALUE, --name=VALUE, a unique prefix of a long name, -x VALUE, -xVALUE, -xyz for flags,
 * options and operands in any order, -- before operands that begin with a dash.
 */

struct operands {
    unsigned n;
    char **words; /* at the beginning of argv, which is rearranged */
};

/* Fills the command's struct of `values` (set to the defaults by the caller) and the operands. False: there is nothing
 * more to do, because help was asked for and printed, or a line on standard error says what is wrong; *exit_code is
 * then the program's. */
bool arguments_parse(const struct command *command, int argc, char **argv, void *values, struct operands *operands,
                     int *exit_code);

/* Reports that a table has no option with this long name, and suggests the nearest one; returns the exit code. `called`
 * is the command as a person calls it: "sutra link". */
int option_unknown(const struct option_row *table, const char *called, const char *name, size_t length);

#endif
