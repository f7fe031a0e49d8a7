/*
 * fuzz_run.c - fuzzes the inventory of a run: the first line of the input is the path of a trace, the rest its text. A
 * file with this text is a trace of a rank, or skipped for a reason; a second, sound trace keeps its window.
 */
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"
#include "run/run.h"
#include "text/strings.h"

static const char sound[] =
    "{\"baseTimeNanoseconds\": 1700000000000000000, \"distributedInfo\": {\"rank\": 1, \"world_size\": 2}, \"traceEvents\": "
    "[{\"ph\": \"X\", \"cat\": \"cpu_op\", \"name\": \"a\", \"pid\": 9, \"tid\": 1, \"ts\": 1, \"dur\": 2}, {\"ph\": \"X\", "
    "\"cat\": \"kernel\", \"name\": \"k\", \"pid\": 0, \"tid\": 7, \"ts\": 3, \"dur\": 2}]}";

static char folder[] = P_tmpdir "/fuzz_run_XXXXXX";

static int remove_entry(const char *path, const struct stat *found, int type, struct FTW *place) {
    (void)found, (void)type, (void)place;
    return remove(path);
}

static void remove_tree(void) {
    nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void write_file(const char *name, const void *bytes, size_t size) {
    char path[100];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    check(file && fwrite(bytes, 1, size, file) == size && fclose(file) == 0, "a file is written");
}

static void check_path(const char *path, size_t length) {
    static struct trace_name name;
    char *copy = new_bytes(length + 1);
    memcpy(copy, path, length);
    copy[length] = 0;
    trace_name_read(copy, 4000, &name);
    check(name.rank >= NAME_NONE && name.rank < 1000000000, "ranks of names have nine digits at most");
    check(name.number >= NAME_NONE && name.directory_rank >= NAME_NONE, "numbers are not negative");
    check(strlen(name.role) < sizeof name.role && strlen(name.folder) <= length, "texts are parts of the path");
    check(compare_natural(copy, copy) == 0, "a path is equal to itself");
    check(compare_natural(copy, "rank10.json") == -compare_natural("rank10.json", copy), "the order is antisymmetric");
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    const char *text = (const char *)data, *line_end = size ? memchr(text, '\n', size) : NULL;
    const size_t length = line_end ? (size_t)(line_end - text) : size;
    check_path(text, length < NAME_TEXT_MAX ? length : NAME_TEXT_MAX - 1);
    if (!line_end)
        return 0;
    if (strstr(folder, "XXXXXX")) {
        check(mkdtemp(folder), "a directory");
        atexit(remove_tree);
        write_file("rank1.json", sound, strlen(sound));
    }
    write_file("rank0.json", line_end + 1, size - length - 1);
    struct sutra_context *context = NULL;
    const struct sutra_context_options options = {.size = sizeof options, .n_threads = 1, .most_input_bytes = 1 << 24};
    check(sutra_context_create(&options, &context, NULL) == SUTRA_OK, "a context");
    struct run run = {0};
    const char *arguments[] = {folder};
    check(run_open(&run, context, arguments, 1, NULL) == SUTRA_OK && run_scan(&run, context, NULL) == SUTRA_OK,
          "a directory is listed");
    size_t n = run.n_skipped + run.n_other;
    for (size_t i = 0; i < run.n_roles; i++)
        for (size_t k = 0; k < run.roles[i].n_windows; k++)
            n += run.roles[i].windows[k].n_traces;
    check(run.n_files == 2 && n == 2, "each file is a trace, skipped, or counted");
    check(run.n_roles > 0 && run.is_scanned, "the sound trace remains");
    run_free(&run);
    sutra_context_free(context);
    return 0;
}
