/*
 * trace_list.c - implements trace_list.h.
 */
#include "cli/tool/trace_list.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/tool/message.h"
#include "cli/tool/paths.h"
#include "sutra/error.h"

static int no_memory(void) {
    return message_fail(SUTRA_SYSTEM, "out of memory");
}

/* Takes over a path from the heap; NULL: out of memory. */
static int add(struct trace_list *list, char *path) {
    if (path && list->n == list->capacity) {
        size_t capacity = list->capacity * 2 + 16;
        char **paths = reallocarray(list->paths, capacity, sizeof *paths);
        if (!paths) {
            free(path);
            return no_memory();
        }
        list->paths = paths;
        list->capacity = capacity;
    }
    if (!path)
        return no_memory();
    uint64_t n_bytes = path_size(path);
    list->streams |= n_bytes == 0;
    list->n_bytes += n_bytes;
    list->paths[list->n++] = path;
    return SUTRA_OK;
}

static int is_json_name(const struct dirent *entry) {
    static const char *const endings[] = {".json", ".gz", ".zst"};
    size_t length = strlen(entry->d_name);
    for (size_t i = 0; i < sizeof endings / sizeof *endings && entry->d_name[0] != '.'; i++) {
        size_t n = strlen(endings[i]);
        if (length > n && strcmp(entry->d_name + length - n, endings[i]) == 0)
            return 1;
    }
    return 0;
}

static int is_et_name(const struct dirent *entry) {
    return entry->d_name[0] != '.' && path_ends_in(entry->d_name, ".et");
}

static int nothing_in(const char *folder, enum trace_names names) {
    if (names == NAMES_ET)
        return message_fail(SUTRA_NO_INPUT,
                            "%s: no file in this directory ends in .et: 'sutra link HOSTS DEVICES -o DIR --format et' "
                            "writes one for each rank of a job",
                            folder);
    return message_fail(SUTRA_NO_INPUT, "%s: no file in this directory ends in .json, .gz or .zst", folder);
}

/* A link that leads nowhere is kept, so that who opens it tells so. */
static bool is_no_file(const char *path) {
    struct stat found;
    return stat(path, &found) == 0 && !S_ISREG(found.st_mode);
}

static int add_folder(struct trace_list *list, const char *folder, enum trace_names names) {
    struct dirent **entries = NULL;
    size_t n_before = list->n;
    int length = (int)strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    int n = scandir(folder, &entries, names == NAMES_ET ? is_et_name : is_json_name, versionsort);
    int exit_code = SUTRA_OK;
    if (n < 0)
        return message_fail(SUTRA_NO_INPUT, "%s: %s", folder, strerror(errno));
    for (int i = 0; i < n; i++) {
        char *path = NULL;
        if (asprintf(&path, "%.*s/%s", length, folder, entries[i]->d_name) < 0)
            path = NULL;
        free(entries[i]);
        if (exit_code != SUTRA_OK || (path && is_no_file(path)))
            free(path);
        else
            exit_code = add(list, path);
    }
    free(entries);
    if (exit_code == SUTRA_OK && list->n == n_before)
        return nothing_in(folder, names);
    return exit_code;
}

int trace_list_make(struct trace_list *list, const struct operands *operands, enum trace_names names) {
    *list = (struct trace_list){0};
    int exit_code = SUTRA_OK;
    for (unsigned i = 0; i < operands->n && exit_code == SUTRA_OK; i++) {
        const char *word = operands->words[i];
        exit_code = path_is_folder(word) ? add_folder(list, word, names) : add(list, strdup(word));
    }
    return exit_code;
}

void trace_list_free(struct trace_list *list) {
    for (size_t i = 0; i < list->n; i++)
        free(list->paths[i]);
    free(list->paths);
    *list = (struct trace_list){0};
}

uint64_t trace_list_largest(const struct trace_list *list, size_t n) {
    uint64_t largest = 0;
    for (size_t i = 0; i < list->n; i++) {
        uint64_t n_bytes = path_size(list->paths[i]);
        largest = n_bytes > largest ? n_bytes : largest;
    }
    return largest * (n < list->n ? n : list->n);
}
