/*
 * fault_files.h - repeats an operation that writes files while allocations fail in turn. Each run must return
 * SUTRA_SYSTEM and leave only complete files, or write all files.
 */
#ifndef TESTS_FAULT_FILES_H
#define TESTS_FAULT_FILES_H

#include <sys/stat.h>

#include "link_case.h"
#include "refuse.h"

#define FAULT_FILES_MAX 8

struct fault_files {
    int n;
    char folder[64], path[FAULT_FILES_MAX][96];
    char *expected[FAULT_FILES_MAX];
    const void *of; /* argument of the operation */
    enum sutra_status (*work)(const struct fault_files *files, struct sutra_error *error);
};

/* Runs the operation once without failures to get the expected files. */
static inline void files_expect(struct fault_files *files) {
    struct sutra_error error;
    strcpy(files->folder, P_tmpdir "/sutra_fault_XXXXXX");
    assert_non_null(mkdtemp(files->folder));
    for (int i = 0; i < files->n; i++)
        snprintf(files->path[i], sizeof files->path[i], "%s/%d", files->folder, i);
    if (files->work(files, &error))
        fail_msg("%s", error.message);
    for (int i = 0; i < files->n; i++)
        files->expected[i] = file_text(files->path[i]);
}

/* Files that are there are whole, and nothing else is. Empties the folder. */
static inline void files_check(const struct fault_files *files, bool all) {
    for (int i = 0; i < files->n; i++) {
        bool there = access(files->path[i], F_OK) == 0;
        assert_true(there || !all);
        char *text = there ? file_text(files->path[i]) : NULL;
        if (there)
            assert_string_equal(text, files->expected[i]);
        free(text);
        unlink(files->path[i]);
    }
    assert_int_equal(rmdir(files->folder), 0);
    assert_int_equal(mkdir(files->folder, 0700), 0);
}

static inline enum sutra_status files_work(void *arg, struct sutra_error *error) {
    const struct fault_files *files = arg;
    return files->work(files, error);
}

static inline void files_check_run(void *arg, long n, enum sutra_status status) {
    (void)n;
    files_check(arg, status == SUTRA_OK);
}

/* Fails each allocation, and then all allocations from each on; more than n_least must occur. Frees the files. */
static inline void files_refuse_each(struct fault_files *files, long n_least) {
    const struct refusable refusable = {files, files_work, files_check_run};
    files_check(files, true);
    assert_true(refuse_each(&refusable, false) > n_least);
    assert_true(refuse_each(&refusable, true) > n_least);
    rmdir(files->folder);
    for (int i = 0; i < files->n; i++)
        free(files->expected[i]);
}

#endif
