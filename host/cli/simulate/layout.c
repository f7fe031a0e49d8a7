/*
 * layout.c - running `dot`.
 */
#include "cli/simulate/layout.h"

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/tool/interrupt.h"
#include "cli/tool/message.h"
#include "cli/tool/paths.h"

/* Runs a program with its output, and its complaints too if `quiet`, where they go; its exit status, or 127. */
static int run_program(char *const *words, bool quiet) {
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status = 0;
    if (posix_spawn_file_actions_init(&actions))
        return 127;
    if (quiet)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 0, 0);
    int failed = posix_spawnp(&child, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failed)
        return 127;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return 127;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

int layout_check(void) {
    char *const words[] = {(char[]){"dot"}, (char[]){"-V"}, NULL};
    if (run_program(words, true) == 0)
        return SUTRA_OK;
    return message_fail(SUTRA_UNAVAILABLE, "an SVG needs the program 'dot' (apt install graphviz); a name that ends in "
                                           ".dot or .graphml needs none");
}

static int draw(char *graph, char *path) {
    char *const words[] = {(char[]){"dot"}, (char[]){"-Tsvg"}, (char[]){"-o"}, path, graph, NULL};
    char *const to_stream[] = {words[0], words[1], graph, NULL};
    int status = run_program(path ? words : to_stream, false);
    return status ? message_fail(SUTRA_INTERNAL, "'dot' failed with exit code %d", status) : SUTRA_OK;
}

int layout_svg(const char *graph, const char *path) {
    char *from = strdup(graph), *temporary = NULL;
    bool stream = path_is_stream(path);
    if (!from || (!stream && asprintf(&temporary, "%s.%ld.tmp", path, (long)getpid()) < 0)) {
        free(from);
        return message_fail(SUTRA_SYSTEM, "out of memory");
    }
    interrupt_guard_set(temporary);
    int exit_code = draw(from, temporary);
    interrupt_guard_set(NULL);
    if (temporary && !exit_code && rename(temporary, path))
        exit_code = message_fail(SUTRA_NO_OUTPUT, "%s: cannot be written: %s", path, strerror(errno));
    if (temporary && exit_code)
        unlink(temporary);
    free(temporary);
    free(from);
    return exit_code;
}
