/*
 * command.h - definition of a command: its table of options, help text and functions; and the runner of all commands.
 *
 * Each command has its own file with one `struct command`. The parser (command.c), the help texts and the manual page
 * (help.c), and the shell completions (completion.c) read the same tables, so each option is defined once.
 */
#ifndef CLI_COMMAND_H
#define CLI_COMMAND_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPERANDS_ANY UINT_MAX

enum option_kind {
    OPTION_FLAG,     /* bool: set to true; takes no argument */
    OPTION_FILE,     /* const char *: a file name */
    OPTION_NUMBER,   /* uint64_t or uint32_t: `minimum` to `maximum`; the suffixes k, M and G multiply by 1000, ... */
    OPTION_REAL,     /* double, given as an integer like OPTION_NUMBER */
    OPTION_TEXT,     /* const char * */
    OPTION_LIST,     /* struct option_list: one more text per occurrence */
    OPTION_CHOICE,   /* int or an enum: index into `choices`, case-insensitive */
    OPTION_DEVICE,   /* struct device_choice: a choice; the last choice may be followed by :N, up to `maximum` */
    OPTION_OPTIONAL, /* struct option_optional: =VALUE, or the next word if it is one of `choices`, or no value */
};

/* Value of --device: index into `choices`, and the number after the colon. */
struct device_choice {
    int choice;
    uint32_t number;
};

/* Value of an option with an optional argument. Whether the next word is the argument or an operand may depend on the
 * number of operands: then the command decides. */
struct option_optional {
    bool is_given;
    const char *value;   /* NULL: none */
    unsigned at_operand; /* the operand after the option; OPERANDS_ANY: an option follows, or the end */
};

/* Values of an option that may be repeated. */
#define LIST_MAX 32
struct option_list {
    const char *texts[LIST_MAX];
    size_t n;
};

/* One option. A table of options ends with a row without a name. */
struct option_row {
    const char *name; /* without dashes */
    char letter;      /* or 0 */
    enum option_kind kind;
    const char *argument; /* name of the argument in help; NULL for flags */
    size_t offset, size;  /* AT(): the member of the command's own struct that receives the value */
    uint64_t minimum, maximum;
    const char *const *choices; /* ends with NULL */
    const char *help;           /* a clause without capital letter and full stop */
    const char *group;          /* the heading above the option; NULL: "Options" */
};

/* The help of a command only lists the names of the options in these groups. The manual page describes the options of
 * all groups, and `sutra help options` the options of the first two groups. */
extern const char group_common[], group_selection[], group_more[];

/* The member `field` of struct `type` receives the option's value. */
#define AT(type, field) .offset = offsetof(struct type, field), .size = sizeof(((struct type *)0)->field)

enum operand_kind {
    OPERAND_FILE,
    OPERAND_WORD,    /* one of `operand_words` */
    OPERAND_COMMAND, /* name of a command */
};

struct operands {
    unsigned n;
    char **words; /* at the start of argv, which is rearranged */
};

struct example {
    const char *line; /* command line */
    const char *what; /* its effect */
};

struct job;
struct process_plan;

/*
 * A command: its texts and options, and the functions that command_run() calls.
 *
 *     options, operands --> struct job --> check --> work --> exit code
 */
struct command {
    const char *name;               /* after "sutra" */
    const char *called;             /* full name: "sutra link" */
    const char *summary;            /* one line */
    const char *const *synopses;    /* text after `called`, one line per form; ends with NULL */
    const char *const *description; /* paragraphs; ends with NULL */
    const struct option_row *options;
    const struct example *examples; /* ends with a row without a line */

    unsigned n_operands_min, n_operands_max; /* maximum OPERANDS_ANY: no limit */
    const char *writes;                      /* formats of `job.output`, see path_check_format(); NULL: not checked */
    const char *missing;                     /* error if there are fewer operands: "the trace is missing" */
    enum operand_kind operand_kind;
    const char *const *operand_words; /* ends with NULL */
    /* Subcommands, such as hta in "sutra analyze hta"; ends with NULL. NULL: none. */
    const struct command *const *commands;

    size_t size;          /* of the command's own struct, which begins with a struct job; 0: a plain struct job */
    const void *defaults; /* its initial value; NULL: zeros */
    bool is_shared;       /* MPI processes can share the work */
    /* Checks what depends on several options, and sets job->inputs. SUTRA_OK, or an exit code after reporting the
     * error. May be NULL. */
    int (*check)(struct job *job);
    /* Reads, computes, writes and prints. Returns the exit code after reporting errors. */
    int (*work)(struct job *job);
    /* Frees the members of the command's own struct, also after a failed check. May be NULL. */
    void (*release)(struct job *job);
};

/* Fields of a command whose texts and options have these names in its file. */
#define COMMAND_TEXTS .synopses = synopses, .description = description, .options = options, .examples = examples

/* Runs a command: parses its arguments, reports missing operands and conflicting flags, calls `check`, reports an
 * output that would overwrite an input, starts the job, and calls `work`. argv[0] is the command's name. `plan`: the
 * MPI processes that share the work, or NULL. Returns the exit code. */
int command_run(const struct command *command, int argc, char **argv, const struct process_plan *plan);

extern const struct command link_command, link_legacy_command, info_command, critical_path_command, tree_command,
    correlate_command, analyze_command, analyze_collectives_command, analyze_dlrm_command, analyze_hang_command,
    analyze_hta_command, analyze_kernels_command, analyze_memory_command, analyze_nsys_command,
    analyze_operators_command, gen_command, devices_command, help_command, completion_command, manual_command,
    jsonize_command, check_command, draw_command, simulate_command, diff_command, columns_command, cut_command,
    merge_command, repair_command, convert_command;
/* Commands under the names chakra_trace_link, trace_link, chakra_converter and chakra_jsonizer. */
extern const struct command trace_link_command, older_trace_link_command, converter_command, jsonizer_command;

/* All commands of the program in the order of the help; ends with NULL. */
extern const struct command *const commands[];

/* Headings in the list of commands, each above its first command; ends with a row without a command. */
struct command_heading {
    const struct command *first;
    const char *text;
};
extern const struct command_heading command_headings[];

/* Commands that replace other programs, by the name of the executable; ends with NULL. */
extern const struct command *const other_names[];

/* Options of every command, and options of the program before a command. */
extern const struct option_row common_options[], program_options[];

/* The meaning of an exit code. The table ends with a row without a meaning. */
struct exit_code {
    int code;
    const char *meaning;
};
extern const struct exit_code exit_codes[];

/* Calls `call` for each command and, after it, for each of its subcommands; `parent` is NULL for commands. */
void commands_each(void (*call)(const struct command *parent, const struct command *command));

/* Print help texts to standard output (help.c). */
void help_program_print(void);
void help_command_print(const struct command *command);

/* The command of this name in a table, or NULL. */
const struct command *command_find(const struct command *const *table, const char *name);

/* Reports that a table has no command of this name, and suggests the nearest one; returns the exit code. `called` is
 * the command line before the name: "sutra"; `kind` names the expected words: "command". */
int command_unknown(const struct command *const *table, const char *called, const char *kind, const char *name);

/* Reports that a table has no option with this long name, and suggests the nearest one; returns the exit code. */
int option_unknown(const struct option_row *table, const char *called, const char *name, size_t length);

#endif
