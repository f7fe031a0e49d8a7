/*
 * trace_folder.h - writes a few traces to a temporary directory.
 */
#ifndef TESTS_TRACE_FOLDER_H
#define TESTS_TRACE_FOLDER_H

#include "trace_text.h"
#include "unit.h"

#define N_PATHS 8

/* Files in a folder of their own. */
struct folder {
    char name[64];
    size_t n;
    char paths[N_PATHS][128];
    const char *list[N_PATHS];
};

static inline struct folder make_folder(void) {
    struct folder folder = {.name = P_tmpdir "/sutra_ranks_XXXXXX"};
    assert_non_null(mkdtemp(folder.name));
    return folder;
}

static inline void add_file(struct folder *folder, const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder->name, name);
    memcpy(folder->paths[folder->n], path, sizeof path);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
    assert_int_equal(fclose(file), 0);
    folder->n++;
}

/* Adds a trace, which may be written as in trace_text.h. */
static inline void add_trace_text(struct folder *folder, const char *name, const char *text) {
    char *json = trace_json(text);
    add_file(folder, name, json);
    free(json);
}

/* Sets `list` to the current paths. */
static inline void list_files(struct folder *folder) {
    for (size_t i = 0; i < folder->n; i++)
        folder->list[i] = folder->paths[i];
}

static inline void remove_folder(struct folder *folder) {
    for (size_t i = 0; i < folder->n; i++)
        unlink(folder->paths[i]);
    assert_int_equal(rmdir(folder->name), 0);
}

#endif
