/*
 * layout.c - runs `dot`.
 */
#include "cli/simulate/layout.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/tool/interrupt.h"
#include "cli/tool/message.h"
#include "cli/tool/paths.h"

/* What a program is started with instead of our standard streams; -1: ours. */
struct child_streams {
    int input, output;
    bool quiet; /* its complaints go nowhere */
};

static bool start_program(char *const *words, struct child_streams streams, pid_t *child) {
    posix_spawn_file_actions_t actions;
    if (posix_spawn_file_actions_init(&actions))
        return false;
    if (streams.input >= 0)
        posix_spawn_file_actions_adddup2(&actions, streams.input, STDIN_FILENO);
    if (streams.output >= 0)
        posix_spawn_file_actions_adddup2(&actions, streams.output, STDOUT_FILENO);
    if (streams.quiet)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 0, 0);
    int failed = posix_spawnp(child, words[0], &actions, NULL, words, environ);
    posix_spawn_file_actions_destroy(&actions);
    return !failed;
}

/* A program's exit status. */
static int wait_for(pid_t child) {
    int status = 0;
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return 127;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}

int layout_check(void) {
    char *const words[] = {(char[]){"dot"}, (char[]){"-V"}, NULL};
    pid_t child;
    if (start_program(words, (struct child_streams){-1, -1, true}, &child) && wait_for(child) == 0)
        return SUTRA_OK;
    return message_fail(SUTRA_UNAVAILABLE,
                        "SVG output needs the program 'dot' (apt install graphviz); or write .dot or "
                        ".graphml");
}

static void on_temporary(void *arg, const char *path) {
    (void)arg;
    interrupt_guard_set(path);
}

/* Should dot end early, writing to it fails instead of ending us. */
static bool start_dot(struct svg_layout *layout) {
    char *const words[] = {(char[]){"dot"}, (char[]){"-Tsvg"}, NULL};
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        return false;
    signal(SIGPIPE, SIG_IGN);
    bool started = start_program(words, (struct child_streams){ends[0], layout->beside.file, false}, &layout->dot);
    close(ends[0]);
    if (!started)
        close(ends[1]);
    layout->pipe = ends[1];
    snprintf(layout->graph, sizeof layout->graph, "/dev/fd/%d", ends[1]);
    return started;
}

int layout_begin(struct svg_layout *layout, const char *path, bool force) {
    struct sutra_error error;
    *layout = (struct svg_layout){.path = path, .beside.file = -1};
    if (!path_is_stream(path) &&
        beside_open(&layout->beside, path, &(struct beside_options){.force = force, .temporary = on_temporary}, &error))
        return message_error(&error);
    if (start_dot(layout))
        return SUTRA_OK;
    if (!path_is_stream(path))
        beside_close(&layout->beside, false);
    return message_fail(SUTRA_INTERNAL, "cannot start 'dot'");
}

int layout_end(struct svg_layout *layout, bool whole) {
    close(layout->pipe);
    int status = wait_for(layout->dot);
    bool keep = whole && status == 0;
    int failure = path_is_stream(layout->path) ? 0 : beside_close(&layout->beside, keep);
    if (status)
        return message_fail(SUTRA_INTERNAL, "'dot' failed with exit code %d", status);
    if (failure)
        return message_fail(SUTRA_IO, "%s: cannot write: %s", layout->path, strerror(failure));
    return SUTRA_OK;
}
