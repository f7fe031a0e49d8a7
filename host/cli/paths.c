/*
 * paths.c - implements paths.h.
 */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/error.h"
#include "base/shared.h"
#include "cli/job.h"
#include "cli/paths.h"
#include "cli/progress.h"
#include "read/file_kind.h"
#include "read/source.h"
#include "sutra/error.h"
#include "sutra/nsys.h"
#include "text/strings.h"
#include "write/sink.h"

/* The file of a path, or of the report whose rank the path names; false: errno is the reason. */
static bool stat_file(const char *path, struct stat *found) {
    char *report;
    int64_t rank;
    bool is_found = rank_path_split(path, &report, &rank) && stat(report ? report : path, found) == 0;
    free(report); /* keeps errno */
    return is_found;
}

static int no_memory(void) {
    return message_fail(SUTRA_SYSTEM, "out of memory");
}

/* Appends a path, which the list frees; NULL: out of memory. */
static int append_path(struct trace_list *list, char *path) {
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

/* Appends a path; a report with several ranks as the paths of its ranks. Reports that cannot be read are errors. */
static int append_ranks(struct trace_list *list, char *path, enum trace_names names) {
    struct stat found;
    struct sutra_context *context = NULL;
    bool is_report = false;
    int64_t *ranks = NULL;
    size_t n = 0;
    if (!path || names != NAMES_JSON || stat(path, &found) || !S_ISREG(found.st_mode) ||
        sutra_is_nsys(path, &is_report, NULL) || !is_report)
        return append_path(list, path);
    if (!sutra_context_create(NULL, &context, NULL) && sutra_nsys_list_ranks(context, path, &ranks, &n, NULL))
        n = 0;
    sutra_context_free(context);
    int exit_code = n > 1 ? SUTRA_OK : append_path(list, path);
    for (size_t i = 0; n > 1 && i < n && exit_code == SUTRA_OK; i++) {
        char *of_rank = NULL;
        if (asprintf(&of_rank, RANK_PATH, path, ranks[i]) < 0)
            of_rank = NULL;
        exit_code = append_path(list, of_rank);
    }
    if (n > 1)
        free(path);
    free(ranks);
    return exit_code;
}

static bool ends_in_any(const char *name, const char *const *endings) {
    for (; *endings && *name != '.'; endings++)
        if (text_ends_in(name, *endings))
            return true;
    return false;
}

/* Defines a filter of scandir() for names with these endings. */
#define NAME_FILTER(filter, ...)                                                                                       \
    static int filter(const struct dirent *entry) {                                                                    \
        static const char *const endings[] = {__VA_ARGS__, NULL};                                                      \
        return ends_in_any(entry->d_name, endings);                                                                    \
    }

NAME_FILTER(is_json_name, ".json", ".gz", ".zst", ".sqlite", ".rpd")
NAME_FILTER(is_report_name, ".sqlite", ".rpd")
NAME_FILTER(is_snapshot_name, ".json", ".gz", ".zst", ".pickle", ".pkl")
NAME_FILTER(is_pickle_name, ".pickle", ".pkl")
NAME_FILTER(is_archive_name, ".tar", ".tgz", ".zip", ".xz", ".bz2")

static int is_et_name(const struct dirent *entry) {
    return entry->d_name[0] != '.' && path_ends_in(entry->d_name, ".et");
}

static int is_dump_name(const struct dirent *entry) {
    return *entry->d_name != '.' && strstr(entry->d_name, "_trace_rank_");
}

static int is_unexported_name(const struct dirent *entry) {
    return *entry->d_name != '.' && is_unexported_report(entry->d_name);
}

static int is_folder_name(const struct dirent *entry) {
    return entry->d_type == DT_DIR && entry->d_name[0] != '.';
}

const char *folder_advice(const char *folder, enum trace_names names) {
    enum { JSON = 1 << NAMES_JSON, SNAPSHOT = 1 << NAMES_SNAPSHOT };
    static const struct {
        unsigned searched; /* `names` for which such files have been searched */
        int (*filter)(const struct dirent *entry);
        const char *text;
    } kinds[] = {
        {0, is_dump_name, ", but it contains flight recorder dumps: use 'sutra analyze hang DIR'"},
        {0, is_pickle_name, ", but it contains pickles: of memory snapshots, use 'sutra analyze memory DIR'"},
        {0, is_et_name, ", but it contains .et files: use 'sutra check DIR' or 'sutra simulate DIR'"},
        {JSON, is_report_name, ", but it contains SQLite databases: of profilers, use 'sutra analyze DIR'"},
        {JSON, is_json_name, ", but it contains JSON or compressed files: of traces, use 'sutra analyze DIR'"},
        {0, is_unexported_name, ", but it contains reports of Nsight Systems: export them with " NSYS_EXPORT},
        {0, is_archive_name, ", but it contains archives: unpack them"},
        {JSON | SNAPSHOT, is_folder_name, ", and its directories are not searched: name one of them"},
    };
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        struct dirent **entries = NULL;
        if (kinds[i].searched & 1U << names)
            continue;
        int n = scandir(folder, &entries, kinds[i].filter, alphasort);
        for (int k = 0; k < n; k++)
            free(entries[k]);
        free(entries);
        if (n > 0)
            return kinds[i].text;
    }
    return "";
}

static int add_folder(struct trace_list *list, const char *folder, enum trace_names names) {
    struct dirent **entries = NULL;
    size_t n_before = list->n;
    int length = (int)strlen(folder);
    while (length > 1 && folder[length - 1] == '/')
        length--;
    static int (*const filters[])(const struct dirent *entry) = {[NAMES_JSON] = is_json_name,
                                                                 [NAMES_SNAPSHOT] = is_snapshot_name,
                                                                 [NAMES_ET] = is_et_name,
                                                                 [NAMES_REPORT] = is_report_name};
    int n = scandir(folder, &entries, filters[names], versionsort);
    int exit_code = SUTRA_OK;
    if (n < 0)
        return message_fail(SUTRA_NO_INPUT, "%s: %s", folder, strerror(errno));
    for (int i = 0; i < n; i++) {
        char *path = NULL;
        if (asprintf(&path, "%.*s/%s", length, folder, entries[i]->d_name) < 0)
            path = NULL;
        free(entries[i]);
        struct stat found; /* a dangling link is kept: opening it reports the error */
        if (exit_code != SUTRA_OK || (path && stat(path, &found) == 0 && !S_ISREG(found.st_mode)))
            free(path);
        else
            exit_code = append_ranks(list, path, names);
    }
    free(entries);
    if (exit_code != SUTRA_OK || list->n > n_before)
        return exit_code;
    if (names == NAMES_ET)
        return message_fail(SUTRA_NO_INPUT,
                            "%s: no file in this directory ends in .et: 'sutra link HOSTS DEVICES -o DIR --format et' "
                            "writes one for each rank of a job",
                            folder);
    if (names == NAMES_REPORT)
        return message_fail(SUTRA_NO_INPUT, "%s: no file in this directory ends in .sqlite or .rpd%s", folder,
                            folder_advice(folder, names));
    return message_fail(SUTRA_NO_INPUT, "%s: no file in this directory ends in .json, %s.gz or .zst%s", folder,
                        names == NAMES_SNAPSHOT ? ".pickle, .pkl, " : "", folder_advice(folder, names));
}

int trace_list_add(struct trace_list *list, const struct operands *operands, enum trace_names names) {
    int exit_code = SUTRA_OK;
    for (unsigned i = 0; i < operands->n && exit_code == SUTRA_OK; i++) {
        const char *word = operands->words[i];
        exit_code = path_is_folder(word) ? add_folder(list, word, names) : append_ranks(list, strdup(word), names);
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
        largest = MAX(n_bytes, largest);
    }
    return largest * MIN(n, list->n);
}

static bool read_variable(const char *name, uint64_t *value) {
    const char *text = getenv(name);
    char *end = NULL;
    errno = 0;
    *value = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
    return end && !*end && !errno;
}

/* Task ids of a job array are MIN, MIN + STEP, ...; Slurm sets all four variables in each task. */
static int read_slurm_task(size_t *index, size_t *n_shards) {
    uint64_t id, n, first, step;
    if (!read_variable("SLURM_ARRAY_TASK_ID", &id) || !read_variable("SLURM_ARRAY_TASK_COUNT", &n))
        return message_fail(SUTRA_USAGE,
                            "--shard slurm: SLURM_ARRAY_TASK_ID and SLURM_ARRAY_TASK_COUNT are not set: run "
                            "it as a task of 'sbatch --array', or use --shard K/N");
    if (!read_variable("SLURM_ARRAY_TASK_MIN", &first))
        first = 1;
    if (!read_variable("SLURM_ARRAY_TASK_STEP", &step) || step == 0)
        step = 1;
    uint64_t k = id >= first ? (id - first) / step : n;
    if (k >= n || id != first + k * step)
        return message_fail(
            SUTRA_USAGE,
            "--shard slurm: task %s is not one of the %s evenly spaced tasks of the array: use --shard K/N",
            getenv("SLURM_ARRAY_TASK_ID"), getenv("SLURM_ARRAY_TASK_COUNT"));
    *index = k;
    *n_shards = n;
    return SUTRA_OK;
}

int shard_parse(const char *text, size_t *index, size_t *n_shards) {
    if (strcmp(text, "slurm") == 0)
        return read_slurm_task(index, n_shards);
    char *slash, *end = "";
    unsigned long long k = strtoull(text, &slash, 10), n = 0;
    if (slash != text && *slash == '/')
        n = strtoull(slash + 1, &end, 10);
    if (slash == text || *slash != '/' || *text == '-' || end == slash + 1 || *end || slash[1] == '-' || k == 0 ||
        k > n)
        return message_fail(SUTRA_USAGE, "--shard: '%s' is neither K/N, such as 3/64, nor 'slurm'", text);
    *index = k - 1;
    *n_shards = n;
    return SUTRA_OK;
}

bool path_is_stream(const char *path) {
    return strcmp(path, "-") == 0;
}

static bool ends_in(const char *name, size_t length, const char *ending) {
    size_t n = strlen(ending);
    return length > n && memcmp(name + length - n, ending, n) == 0;
}

bool path_ends_in(const char *path, const char *ending) {
    size_t length = strlen(path);
    if (ends_in(path, length, ".gz"))
        length -= strlen(".gz");
    else if (ends_in(path, length, ".zst"))
        length -= strlen(".zst");
    return ends_in(path, length, ending);
}

/* The directory of a path; false: it does not exist. */
static bool stat_folder(const char *path, struct stat *folder) {
    char name[4096];
    size_t length = (size_t)(path_file_name(path) - path);
    if (length >= sizeof name)
        return false;
    memcpy(name, path, length);
    name[length] = '\0';
    return stat(length ? name : ".", folder) == 0;
}

static bool same_inode(const struct stat *a, const struct stat *b) {
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

const char *path_other_format(const char *path, const char *formats) {
    static const char *const extensions[] = {
        ".json",    ".et",       ".arrow", ".csv", ".pftrace", ".html", ".svg",    ".dot", ".graphml", ".parquet",
        ".feather", ".xlsx",     ".tsv",   ".pdf", ".png",     ".md",   ".pickle", ".pkl", ".db",      ".zip",
        ".sqlite",  ".nsys-rep", ".xz",    ".bz2", ".lz4",     ".7z",   ".tar",    ".tgz", ".br",      NULL};
    for (const char *const *extension = extensions; *extension; extension++)
        if (path_ends_in(path, *extension) && !strstr(formats, *extension))
            return *extension;
    return NULL;
}

int path_check_format(const char *path, const char *formats) {
    struct stat found;
    const char *extension = path_other_format(path, formats);
    if (!extension || (!*formats && stat(path, &found) == 0))
        return SUTRA_OK;
    return *formats ? message_fail(SUTRA_USAGE,
                                   "%s: this command does not write %s files: end the name in %s, with .gz or .zst to "
                                   "compress",
                                   path, extension, formats)
                    : message_fail(SUTRA_USAGE, "%s: the output is a directory of several files: name it without %s",
                                   path, extension);
}

int paths_check_inputs(const char *const *paths, size_t n) {
    struct stat found;
    for (size_t i = 0; i < n; i++)
        if (paths[i] && !path_is_stream(paths[i]) && !stat_file(paths[i], &found))
            return message_fail(SUTRA_NO_INPUT, "%s: cannot be opened: %s%s", paths[i], strerror(errno),
                                strstr(paths[i], "://") ? ": sutra reads local files: download it first" : "");
    return SUTRA_OK;
}

bool paths_same(const char *a, const char *b) {
    struct stat stat_a, stat_b;
    if (path_is_stream(a) || path_is_stream(b))
        return false;
    bool has_a = stat_file(a, &stat_a), has_b = stat_file(b, &stat_b);
    if (has_a != has_b)
        return false;
    if (has_a)
        return S_ISREG(stat_a.st_mode) && same_inode(&stat_a, &stat_b);
    return strcmp(path_file_name(a), path_file_name(b)) == 0 && stat_folder(a, &stat_a) && stat_folder(b, &stat_b) &&
           same_inode(&stat_a, &stat_b);
}

/* A path, by its index, and its file. */
struct named_file {
    dev_t device;
    ino_t inode;
    size_t number;
};

ORDER_BY(compare_files, struct named_file, ASCENDING(device) ASCENDING(inode) ASCENDING(number))

size_t paths_find_duplicate(const char *const *paths, size_t n, size_t *earlier) {
    struct named_file *files = reallocarray(NULL, n + 1, sizeof *files);
    size_t n_files = 0, found = n;
    if (!files)
        return SIZE_MAX;
    for (size_t i = 0; i < n; i++) {
        struct stat info;
        if (!path_is_stream(paths[i]) && stat(paths[i], &info) == 0 && S_ISREG(info.st_mode))
            files[n_files++] = (struct named_file){info.st_dev, info.st_ino, i};
    }
    qsort(files, n_files, sizeof *files, compare_files);
    for (size_t i = 1; i < n_files; i++)
        if (files[i].device == files[i - 1].device && files[i].inode == files[i - 1].inode && files[i].number < found) {
            found = files[i].number;
            *earlier = files[i - 1].number;
        }
    free(files);
    return found;
}

bool path_is_in(const char *path, const char *folder) {
    struct stat of_path, of_folder;
    return !path_is_stream(path) && stat_folder(path, &of_path) && stat(folder, &of_folder) == 0 &&
           same_inode(&of_path, &of_folder);
}

bool path_is_folder(const char *path) {
    struct stat found;
    return !path_is_stream(path) && stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

bool paths_same_folder(const char *a, const char *b) {
    struct stat one, other;
    return stat(a, &one) == 0 && stat(b, &other) == 0 && same_inode(&one, &other);
}

uint64_t path_size(const char *path) {
    struct stat found;
    return stat_file(path, &found) && S_ISREG(found.st_mode) ? (uint64_t)found.st_size : 0;
}

bool path_is_compressed(const char *path) {
    unsigned char magic[4] = {0};
    FILE *file = fopen(path, "re");
    size_t n = file ? fread(magic, 1, sizeof magic, file) : 0;
    if (file)
        fclose(file);
    return n == sizeof magic &&
           ((magic[0] == 0x1f && magic[1] == 0x8b) || memcmp(magic, "\x28\xb5\x2f\xfd", sizeof magic) == 0);
}

bool path_make_folder(const char *path) {
    struct stat found;
    if (mkdir(path, 0777) == 0)
        return true;
    int reason = errno;
    if (reason == EEXIST && stat(path, &found) == 0 && S_ISDIR(found.st_mode))
        return true;
    errno = reason == EEXIST ? ENOTDIR : reason;
    return false;
}

/* The same; a folder that is new is removed again if the run ends without a result in it. */
static bool make_output_folder(const char *path) {
    interrupt_hold();
    bool is_new = mkdir(path, 0777) == 0, is_made = is_new || path_make_folder(path);
    int reason = errno;
    if (is_new)
        interrupt_guard_add_created(path);
    interrupt_release();
    errno = reason;
    return is_made;
}

bool path_make_own_folder(const char *path) {
    struct stat found;
    if (lstat(path, &found) == 0 && S_ISLNK(found.st_mode)) {
        errno = ENOTDIR;
        return false;
    }
    return make_output_folder(path);
}

enum sutra_status folder_create(const char *path, struct sutra_error *error) {
    if (make_output_folder(path))
        return SUTRA_OK;
    struct stat found;
    int reason = errno;
    TRY(reason == ENOENT ? output_error_missing(path, error) : SUTRA_OK);
    if (reason == ENOTDIR && stat(path, &found) == 0)
        return error_file(error, SUTRA_NO_OUTPUT, path,
                          "expected a directory, found a file: name another directory, or remove the file");
    return error_os(error, SUTRA_NO_OUTPUT, path, reason, "cannot create the directory");
}

int folder_make(const char *path) {
    struct sutra_error error;
    return folder_create(path, &error) ? message_error(&error) : SUTRA_OK;
}
