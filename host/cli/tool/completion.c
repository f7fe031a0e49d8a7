/*
 * completion.c - `sutra completion`: generates completion scripts for bash, zsh and fish from the tables of commands
 * and options.
 *
 *     tables --> bash   a function: options and choices by command, else file names
 *            --> zsh    _arguments for each command, with descriptions of the options
 *            --> fish   a `complete` line for each option and choice
 */
#include <stdio.h>
#include <string.h>

#include "cli/tool/arguments.h"
#include "cli/tool/message.h"

static void print_words(const char *const *words) {
    for (size_t i = 0; words && words[i]; i++)
        printf("%s%s", i ? " " : "", words[i]);
}

static void print_command_names(const struct command *const *table) {
    for (size_t i = 0; table[i]; i++)
        printf("%s%s", i ? " " : "", table[i]->name);
}

static void print_operands(const struct command *command) {
    if (command->commands)
        print_command_names(command->commands);
    else if (command->operand_kind == OPERAND_COMMAND)
        print_command_names(commands);
    else
        print_words(command->operand_words);
}

/* Text inside single quotes of a shell; zsh gives square brackets and colons a meaning of its own there. */
static void print_quoted(const char *text, const char *escaped) {
    for (; *text; text++) {
        if (*text == '\'')
            printf("'\\''");
        else
            printf("%s%c", strchr(escaped, *text) ? "\\" : "", *text);
    }
}

/* bash: words before the cursor decide; an empty answer means file names (-o default). In bash and zsh a command below
 * another is known as "analyze hta". */

static void bash_option_words(const struct option_row *table) {
    for (const struct option_row *option = table; option->name; option++) {
        printf(" --%s", option->name);
        if (option->letter)
            printf(" -%c", option->letter);
    }
}

static void bash_choices(const struct option_row *table) {
    for (const struct option_row *option = table; option->name; option++) {
        if (option->kind == OPTION_FLAG)
            continue;
        printf("        --%s", option->name);
        if (option->letter)
            printf(" | -%c", option->letter);
        printf(") words=\"");
        print_words(option->choices);
        printf("\" ;;\n");
    }
}

static void bash_command(const struct command *above, const struct command *command) {
    if (above)
        printf("    \"%s %s\")\n", above->name, command->name);
    else
        printf("    %s)\n", command->name);
    printf("        case \"$previous\" in\n");
    bash_choices(command->options);
    printf("        *)\n            words=\"");
    print_operands(command);
    printf("\"\n            [[ $current == -* ]] && words=\"");
    bash_option_words(command->options);
    bash_option_words(common_options);
    printf("\"\n            ;;\n        esac\n        ;;\n");
}

/* In a shell's script: the word behind one of these commands belongs to the command's name. */
static void print_names_of_two_words(const char *pattern) {
    for (size_t i = 0; commands[i]; i++)
        if (commands[i]->commands)
            printf(pattern, commands[i]->name);
}

/* In a shell's script: something for each other name of the program. */
static void print_other_names(const char *pattern) {
    for (size_t i = 0; other_names[i]; i++)
        printf(pattern, other_names[i]->name);
}

static void print_bash(void) {
    printf("# bash completion for sutra; made by 'sutra completion bash'\n"
           "_sutra() {\n"
           "    local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD - 1]}\"\n"
           "    local command=\"${COMP_WORDS[1]}\" words=\"\"\n"
           "    [[ $COMP_CWORD == 1 ]] && command=\"\"\n");
    for (size_t i = 0; other_names[i]; i++)
        printf("    [[ ${COMP_WORDS[0]##*/} == %s ]] && command=%s\n", other_names[i]->name, other_names[i]->name);
    print_names_of_two_words("    [[ $command == %s && $COMP_CWORD != 2 ]] && command+=\" ${COMP_WORDS[2]}\"\n");
    printf("    case \"$command\" in\n"
           "    \"\")\n        words=\"");
    print_command_names(commands);
    bash_option_words(program_options);
    printf("\"\n        ;;\n");
    commands_each(bash_command);
    for (size_t i = 0; other_names[i]; i++)
        bash_command(NULL, other_names[i]);
    printf("    esac\n"
           "    COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
           "}\n"
           "complete -o default -F _sutra sutra");
    print_other_names(" %s");
    printf("\n");
}

/* zsh: _arguments does the work. */

static void zsh_option(const char *dashes, const char *name, const struct option_row *option) {
    printf(" \\\n            '%s%s[", dashes, name);
    print_quoted(option->help, "[]:\\");
    printf("]");
    if (option->kind != OPTION_FLAG) {
        printf(":%s:", option->argument);
        if (option->choices) {
            printf("(");
            print_words(option->choices);
            printf(")");
        } else if (option->kind == OPTION_FILE) {
            printf("_files");
        }
    }
    printf("'");
}

static void zsh_options(const struct option_row *table) {
    for (const struct option_row *option = table; option->name; option++) {
        char letter[2] = {option->letter, '\0'};
        zsh_option("--", option->name, option);
        if (option->letter)
            zsh_option("-", letter, option);
    }
}

static void zsh_command(const struct command *above, const struct command *command) {
    if (above)
        printf("    \"%s %s\")\n        _arguments", above->name, command->name);
    else
        printf("    %s)\n        _arguments", command->name);
    zsh_options(command->options);
    zsh_options(common_options);
    if (command->n_operands_max == 0 && !command->commands) {
        printf("\n        ;;\n");
        return;
    }
    if (command->operand_kind == OPERAND_FILE && !command->commands) {
        printf(" \\\n            '*:file:_files'");
    } else {
        printf(" \\\n            '1:argument:(");
        print_operands(command);
        printf(")'");
    }
    printf("\n        ;;\n");
}

static void print_zsh(void) {
    printf("#compdef sutra");
    print_other_names(" %s");
    printf("\n# zsh completion for sutra; made by 'sutra completion zsh'\n"
           "_sutra() {\n"
           "    local command=${words[1]:t}\n"
           "    if [[ $command == sutra ]]; then\n"
           "        if ((CURRENT == 2)); then\n"
           "            _values command");
    for (size_t i = 0; commands[i]; i++) {
        printf(" \\\n                '%s[", commands[i]->name);
        print_quoted(commands[i]->summary, "[]:\\");
        printf("]'");
    }
    printf("\n            return\n        fi\n"
           "        command=${words[2]}\n"
           "        words=(\"${(@)words[2,-1]}\")\n"
           "        ((CURRENT--))\n"
           "    fi\n");
    print_names_of_two_words("    if [[ $command == %s ]] && ((CURRENT > 2)); then\n"
                             "        command+=\" ${words[2]}\"\n"
                             "        words=(\"${(@)words[2,-1]}\")\n"
                             "        ((CURRENT--))\n"
                             "    fi\n");
    printf("    case $command in\n");
    commands_each(zsh_command);
    for (size_t i = 0; other_names[i]; i++)
        zsh_command(NULL, other_names[i]);
    printf("    esac\n}\nif [[ $funcstack[1] == _sutra ]]; then\n    _sutra \"$@\"\nelse\n    compdef _sutra sutra");
    print_other_names(" %s");
    printf("\nfi\n");
}

/* fish: one line an option. */

static void fish_options(const struct option_row *table, const char *condition) {
    for (const struct option_row *option = table; option->name; option++) {
        printf("complete %s -l %s", condition, option->name);
        if (option->letter)
            printf(" -s %c", option->letter);
        if (option->kind == OPTION_FILE)
            printf(" -r -F");
        else if (option->kind != OPTION_FLAG)
            printf(" -x");
        if (option->choices) {
            printf(" -a '");
            print_words(option->choices);
            printf("'");
        }
        printf(" -d '");
        print_quoted(option->help, "");
        printf("'\n");
    }
}

static void fish_command(const struct command *above, const struct command *command) {
    char condition[128];
    if (above)
        printf("complete -c sutra -n '__fish_seen_subcommand_from %s' -f -a %s -d '", above->name, command->name);
    else
        printf("complete -c sutra -n __fish_use_subcommand -f -a %s -d '", command->name);
    print_quoted(command->summary, "");
    printf("'\n");
    snprintf(condition, sizeof condition, "-c sutra -n '__fish_seen_subcommand_from %s'", command->name);
    fish_options(command->options, condition);
    fish_options(common_options, condition);
    if (command->operand_kind != OPERAND_FILE && !command->commands) {
        printf("complete %s -f -a '", condition);
        print_operands(command);
        printf("'\n");
    }
}

static void print_fish(void) {
    printf("# fish completion for sutra; made by 'sutra completion fish'\n");
    fish_options(program_options, "-c sutra -n __fish_use_subcommand");
    commands_each(fish_command);
    for (size_t i = 0; other_names[i]; i++) {
        char condition[128];
        snprintf(condition, sizeof condition, "-c %s", other_names[i]->name);
        fish_options(other_names[i]->options, condition);
        fish_options(common_options, condition);
    }
}

static const struct {
    const char *name;
    void (*print)(void);
} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};

static int completion_run(const struct command *command, int argc, char **argv) {
    struct operands operands;
    int exit_code;
    if (!arguments_parse(command, argc, argv, NULL, &operands, &exit_code))
        return exit_code;
    if (operands.n == 0)
        return message_fail(SUTRA_USAGE, "which shell: bash, zsh or fish?");
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++)
        if (strcmp(shells[i].name, operands.words[0]) == 0) {
            shells[i].print();
            return SUTRA_OK;
        }
    return message_fail(SUTRA_USAGE, "unknown shell '%s'; use one of bash, zsh, fish", operands.words[0]);
}

static const char *const synopses[] = {"bash|zsh|fish", NULL};
static const char *const description[] = {
    "Prints a script for the shell that completes commands, options and their words.", NULL};
static const struct option_row options[] = {{0}};
static const struct example examples[] = {
    {"source <(sutra completion bash)", "complete in this bash from now on"},
    {"sutra completion fish > ~/.config/fish/completions/sutra.fish", "complete in every new fish"},
    {0},
};
static const char *const operand_words[] = {"bash", "zsh", "fish", NULL};

const struct command completion_command = {
    .name = "completion",
    .called = "sutra completion",
    .summary = "print a script that completes command lines",
    .synopses = synopses,
    .description = description,
    .options = options,
    .examples = examples,
    .n_operands_max = 1,
    .operand_kind = OPERAND_WORD,
    .operand_words = operand_words,
    .run = completion_run,
};
