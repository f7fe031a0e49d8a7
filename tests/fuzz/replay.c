/*
 * replay.c - runs a fuzz target once on each named file and on each file of each named directory.
 *
 * Used in place of libFuzzer in builds without it, so that the seeds are a test in every build.
 */
#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* The bytes of a file, to be freed; NULL where it cannot be read. */
static uint8_t *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    if (!file)
        return NULL;
    uint8_t *bytes = NULL;
    long length;
    if (fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0) {
        *size = (size_t)length;
        bytes = malloc(*size + 1);
        if (bytes && fread(bytes, 1, *size, file) != *size) {
            free(bytes);
            bytes = NULL;
        }
    }
    fclose(file);
    return bytes;
}

static bool replay_file(const char *path) {
    size_t size;
    uint8_t *bytes = read_file(path, &size);
    if (!bytes) {
        perror(path);
        return false;
    }
    printf("%s: %zu bytes\n", path, size);
    fflush(stdout);
    LLVMFuzzerTestOneInput(bytes, size);
    free(bytes);
    return true;
}

/* Replays the files of a folder; the number of them, or 0 if one could not be read. */
static size_t replay_folder(const char *folder, DIR *entries) {
    size_t n = 0;
    for (struct dirent *entry; (entry = readdir(entries));) {
        char path[4096];
        if (entry->d_name[0] == '.')
            continue;
        int length = snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (length >= (int)sizeof path || !replay_file(path))
            return 0;
        n++;
    }
    return n;
}

int main(int n_arguments, char **arguments) {
    size_t n = 0;
    for (int i = 1; i < n_arguments; i++) {
        DIR *entries = opendir(arguments[i]);
        size_t n_more = entries ? replay_folder(arguments[i], entries) : replay_file(arguments[i]);
        if (entries)
            closedir(entries);
        if (n_more == 0) {
            fprintf(stderr, "%s: nothing replayed\n", arguments[i]);
            return 1;
        }
        n += n_more;
    }
    printf("%zu inputs\n", n);
    return n == 0;
}
