/*
 * fault_folder.h - repeats an operation that fills a directory while allocations fail in turn. Each run must return
 * SUTRA_SYSTEM, or write all files. Written files are complete; the directory contains no other files.
 */
#ifndef TESTS_FAULT_FOLDER_H
#define TESTS_FAULT_FOLDER_H

#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "refuse.h"

struct fault_folder {
    const void *of; /* argument of the operation */
    enum sutra_status (*work)(const void *of, const char *folder, struct sutra_error *error);
    int n_files;
    char path[64], whole[64]; /* where it works; the same after a run in which nothing failed */
};

static inline bool same_files(const char *one, const char *two) {
    FILE *a = fopen(one, "r"), *b = fopen(two, "r");
    assert_true(a && b);
    int from_a, from_b;
    do {
        from_a = getc(a);
        from_b = getc(b);
    } while (from_a == from_b && from_a != EOF);
    fclose(a);
    fclose(b);
    return from_a == from_b;
}

/* Removes the files of a directory, which must equal the files of `whole`. Returns their number. */
static inline int sweep_files(const char *folder, const char *whole) {
    int n = 0;
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        char path[600], of_whole[600];
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        snprintf(of_whole, sizeof of_whole, "%s/%s", whole, entry->d_name);
        if (entry->d_type == DT_DIR)
            continue;
        if (!same_files(path, of_whole))
            fail_msg("%s is not %s", path, of_whole);
        assert_int_equal(unlink(path), 0);
        n++;
    }
    if (entries)
        closedir(entries);
    return n;
}

/* Empties a folder and its folder of charts, if it has one. */
static inline int sweep(const char *folder, const char *whole) {
    char charts[600], charts_of_whole[600];
    snprintf(charts, sizeof charts, "%s/charts", folder);
    snprintf(charts_of_whole, sizeof charts_of_whole, "%s/charts", whole);
    int n = sweep_files(charts, charts_of_whole);
    rmdir(charts);
    return n + sweep_files(folder, whole);
}

static inline enum sutra_status folder_work(void *arg, struct sutra_error *error) {
    const struct fault_folder *folder = arg;
    return folder->work(folder->of, folder->path, error);
}

static inline void folder_check(void *arg, long n, enum sutra_status status) {
    const struct fault_folder *folder = arg;
    int n_files = sweep(folder->path, folder->whole);
    if (status == SUTRA_OK && n_files != folder->n_files)
        fail_msg("allocation %ld: %d files", n, n_files);
}

/* Refuses each allocation, and then all from each on, of which there are at least so many; returns how many files the
 * work leaves where none is refused. */
static inline int folder_refuse_each(struct fault_folder *folder, long n_least) {
    struct sutra_error error;
    const struct refusable refusable = {folder, folder_work, folder_check};
    strcpy(folder->path, P_tmpdir "/sutra_fault_XXXXXX");
    strcpy(folder->whole, P_tmpdir "/sutra_whole_XXXXXX");
    assert_true(mkdtemp(folder->path) && mkdtemp(folder->whole));
    assert_int_equal(folder->work(folder->of, folder->whole, &error), SUTRA_OK);
    assert_int_equal(folder->work(folder->of, folder->path, &error), SUTRA_OK);
    folder->n_files = sweep(folder->path, folder->whole);
    assert_true(refuse_each(&refusable, false) > n_least);
    assert_true(refuse_each(&refusable, true) > n_least);
    sweep(folder->whole, folder->whole);
    assert_int_equal(rmdir(folder->path), 0); /* no other file is left */
    assert_int_equal(rmdir(folder->whole), 0);
    return folder->n_files;
}

#endif
