/*
 * commands.c - the tables of commands and their headings, of programs under other names, of common options and of exit
 * codes.
 */
#include <string.h>

#include "cli/command.h"
#include "cli/job.h"
#include "text/names.h"

const struct command *const commands[] = {
    &link_command,
    &link_legacy_command,
    &convert_command,
    &jsonize_command,
    &columns_command,
    &info_command,
    &analyze_command,
    &critical_path_command,
    &diff_command,
    &tree_command,
    &correlate_command,
    &cut_command,
    &merge_command,
    &repair_command,
    &simulate_command,
    &check_command,
    &draw_command,
    &gen_command,
    &devices_command,
    &help_command,
    &manual_command,
    &completion_command,
    NULL,
};

const struct command_heading command_headings[] = {
    {&link_command, "Link and convert"},
    {&info_command, "Explain a trace"},
    {&cut_command, "Change a trace"},
    {&simulate_command, "Simulate a job"},
    {&gen_command, "Other"},
    {0},
};

const struct command *const other_names[] = {&trace_link_command, &older_trace_link_command, &converter_command,
                                             &jsonizer_command, NULL};

const char group_common[] = "Common options", group_selection[] = "Selection of GPU activity",
           group_more[] = "More options";

const struct option_row common_options[] = {
    {.name = "help", .letter = 'h', .kind = OPTION_FLAG, .help = "print this help and exit", .group = group_common},
    {0},
};

const struct option_row program_options[] = {
    {.name = "help", .letter = 'h', .kind = OPTION_FLAG, .help = "print this help and exit"},
    {.name = "version", .letter = 'V', .kind = OPTION_FLAG, .help = "print the version and exit"},
    {0},
};

const struct exit_code exit_codes[] = {
    {SUTRA_OK, "success; the summary counts skipped events"},
    {SUTRA_STRICT, "a warning with --strict, or a failed gate (--fail-above, --fail-on-unclear)"},
    {SUTRA_USAGE, "invalid argument"},
    {SUTRA_DATA, "an input is malformed, or not a file of the expected kind"},
    {SUTRA_NO_INPUT, "an input is missing or cannot be read"},
    {SUTRA_UNAVAILABLE, "the requested device is unavailable, or sutra was built without SQLite"},
    {SUTRA_INTERNAL, "internal error"},
    {SUTRA_SYSTEM, "out of memory or threads"},
    {SUTRA_NO_OUTPUT, "the output cannot be created"},
    {SUTRA_IO, "reading or writing failed, for example on a full disk"},
    {130, "interrupted (SIGINT); no partial output remains"},
    {141, "standard output or error was closed (SIGPIPE); no partial output remains"},
    {143, "terminated (SIGTERM); no partial output remains"},
    {0},
};

void commands_each(void (*call)(const struct command *parent, const struct command *command)) {
    for (size_t i = 0; commands[i]; i++) {
        call(NULL, commands[i]);
        for (size_t j = 0; commands[i]->commands && commands[i]->commands[j]; j++)
            call(commands[i], commands[i]->commands[j]);
    }
}

const struct command *command_find(const struct command *const *table, const char *name) {
    for (size_t i = 0; table[i]; i++)
        if (strcmp(table[i]->name, name) == 0)
            return table[i];
    return NULL;
}

int command_unknown(const struct command *const *table, const char *called, const char *kind, const char *name) {
    struct nearest nearest = nearest_to(name);
    for (size_t i = 0; table[i]; i++)
        nearest_try(&nearest, table[i]->name);
    if (nearest.word)
        return message_fail(SUTRA_USAGE, "unknown %s '%s'; did you mean '%s'?", kind, name, nearest.word);
    return message_fail(SUTRA_USAGE, "unknown %s '%s'; see '%s --help'", kind, name, called);
}
