/*
 * inventory.c - implements run.h: walks directories, reads heads, skips files with reasons. windows.c makes the roles.
 *
 *     arguments --walk--> candidates --heads--> device traces --names--> duplicates removed --> roles
 *                                        ^                                                      |
 *                                        \------ GPU activity, ends of traces <-----scan--------/
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/hash_tables.h"
#include "read/file_kind.h"
#include "read/source.h"
#include "run/entry.h"
#include "sutra/nsys.h"
#include "text/numbers.h"
#include "text/quantities.h"
#include "text/strings.h"

const struct run_kind_text run_kinds[] = {
    [RUN_TRACE] = {.name = "trace"},
    [RUN_HOST] = {"host", "host trace", "host traces", NULL},
    [RUN_CHAKRA] = {"chakra", "Chakra file", "Chakra files", NULL},
    [RUN_SNAPSHOT] = {"snapshot", "memory snapshot", "memory snapshots", NULL},
    [RUN_INSPECTOR] = {"inspector", "NCCL Inspector log", "NCCL Inspector logs", NULL},
    [RUN_DUMP] = {"dump", "flight recorder dump", "flight recorder dumps", NULL},
    [RUN_REPORT] = {"report", "unreadable report", "unreadable reports", "not a readable report of a profiler"},
    [RUN_MALFORMED] = {"malformed", "malformed file", "malformed files", "malformed"},
    [RUN_MERGED] = {"merged", "merged trace", "merged traces", "written by 'sutra merge'"},
    [RUN_CAPTURE] = {"capture", "capture of graphs", "captures of graphs", "recorded the capture of graphs"},
    [RUN_SEVERAL] = {"several_processes", "trace of several processes", "traces of several processes",
                     "several processes in one trace"},
    [RUN_NO_GPU] = {"no_gpu", "without GPU activity", "without GPU activity", "no GPU activity"},
    [RUN_NOT_RECORDED] = {"gpu_not_recorded", "without recorded GPU activity", "without recorded GPU activity",
                          "GPU activity not recorded"},
    [RUN_DUPLICATE] = {"duplicate", "duplicate", "duplicates", NULL},
    [RUN_OTHER] = {.name = "other"}};

const char *const run_source_names[] = {[RUN_BY_INFO] = "distributedInfo", [RUN_BY_NAME] = "name",
                                        [RUN_BY_DIRECTORY] = "directory",  [RUN_BY_COORDINATES] = "coordinates",
                                        [RUN_BY_NUMBER] = "number",        [RUN_BY_ORDER] = "order",
                                        [RUN_BY_LOCAL] = "local"};

const char *const run_window_source_names[] = {[RUN_WINDOWS_SINGLE] = "single",
                                               [RUN_WINDOWS_LABEL] = "label",
                                               [RUN_WINDOWS_TIME] = "time",
                                               [RUN_WINDOWS_COUNT] = "count",
                                               [RUN_WINDOWS_ORDER] = "order"};

#define DEPTH_MAX_FOLDERS 16
#define LAUNCHES_MIN      10 /* fewer launches are no sign that GPU activity was not recorded */

struct inventory {
    struct arena arena, roles; /* of the files; of the roles, which are made again after a scan */
    struct strings strings;
    struct run_entry *entries; /* by natural order of their paths */
    uint64_t n, capacity;
};

/* Appends a candidate. */
static enum sutra_status add_entry(struct inventory *inventory, const struct run_entry *entry,
                                   struct sutra_error *error) {
    if (inventory->n == inventory->capacity) {
        const uint64_t capacity = inventory->capacity + inventory->capacity / 2 + 64;
        struct run_entry *entries = reallocarray(inventory->entries, capacity, sizeof *entries);
        TRY_ALLOC(entries, error);
        inventory->entries = entries;
        inventory->capacity = capacity;
    }
    inventory->entries[inventory->n++] = *entry;
    return SUTRA_OK;
}

/* ---- The walk ---- */

struct link {
    const char *path;
    unsigned depth; /* of its directory */
};

struct run_walk {
    struct run *run;
    struct inventory *inventory;
    struct sutra_context *context;
    struct pair_table visited; /* (inode, number of the device) */
    dev_t devices[64];
    unsigned n_devices;
    struct stat output; /* the directory that is not searched */
    bool has_output;
    bool lists_all;     /* files of all names */
    size_t n_argument;  /* bytes of the paths before the part that is relative to the argument, */
    size_t n_relative;  /* and to the run */
    struct link *links; /* met, and not followed yet */
    uint64_t n_links, links_capacity;
};

static int compare_names(const struct dirent **a, const struct dirent **b) {
    return compare_natural((*a)->d_name, (*b)->d_name);
}

static int compare_links(const void *left, const void *right) {
    return compare_natural(((const struct link *)left)->path, ((const struct link *)right)->path);
}

static bool ends_in_slash(const char *path) {
    return *path && path[strlen(path) - 1] == '/';
}

/* Whether a file or directory is met for the first time. *failed: out of memory. */
static bool is_first_visit(struct run_walk *walk, const struct stat *found, bool *failed) {
    unsigned device = 0;
    while (device < walk->n_devices && walk->devices[device] != found->st_dev)
        device++;
    if (device == walk->n_devices && device < sizeof walk->devices / sizeof *walk->devices)
        walk->devices[walk->n_devices++] = found->st_dev;
    struct pair_entry *entry = pair_table_insert(&walk->visited, found->st_ino, device);
    *failed |= !entry;
    if (!entry || entry->number != PAIR_NONE)
        return false;
    entry->number = 0;
    return true;
}

static bool has_ending_of_trace(const char *path) {
    static const char *const endings[] = {".json", ".gz", ".zst", ".sqlite", ".rpd", ".pickle", ".pkl", ".et"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++)
        if (text_ends_in(path, endings[i]))
            return true;
    return false;
}

/* Whether a file may be a flight recorder dump by its name, which ends in the rank: nccl_trace_rank_3, but not log.3 */
static bool ends_in_rank(const char *path) {
    const char *name = path_file_name(path), *digits = name + strlen(name);
    while (digits > name && is_digit(digits[-1]))
        digits--;
    return *digits && digits > name && digits[-1] != '.';
}

static enum sutra_status add_file(struct run_walk *walk, const char *path, const struct stat *found,
                                  struct sutra_error *error) {
    const bool is_candidate = walk->lists_all || has_ending_of_trace(path) || has_log_name(path) || ends_in_rank(path);
    walk->run->n_files++;
    walk->run->n_bytes += (uint64_t)found->st_size;
    walk->run->n_other += !is_candidate;
    if (!is_candidate)
        return SUTRA_OK;
    const struct run_trace trace = {.file = path, .path = path + walk->n_relative, .bytes = (uint64_t)found->st_size};
    const bool is_nested = strchr(path + MIN(walk->n_argument, strlen(path)), '/') != NULL;
    return add_entry(walk->inventory, &(struct run_entry){.trace = trace, .is_nested = is_nested}, error);
}

static enum sutra_status walk_folder(struct run_walk *walk, const char *path, unsigned depth,
                                     struct sutra_error *error);

/* Walks a file, or a directory below one at `depth`; other things, and dangling links, are skipped. */
static enum sutra_status visit(struct run_walk *walk, const char *path, unsigned depth, struct sutra_error *error) {
    struct stat found;
    bool failed = false;
    if (stat(path, &found))
        return SUTRA_OK;
    if (S_ISDIR(found.st_mode)) {
        if (strcmp(path_file_name(path), "__pycache__") == 0 ||
            (walk->has_output && found.st_ino == walk->output.st_ino && found.st_dev == walk->output.st_dev))
            return SUTRA_OK;
        if (depth == DEPTH_MAX_FOLDERS) {
            walk->run->n_deep++;
            return SUTRA_OK;
        }
        if (is_first_visit(walk, &found, &failed))
            return walk_folder(walk, path, depth + 1, error);
    } else if (S_ISREG(found.st_mode) && is_first_visit(walk, &found, &failed)) {
        return add_file(walk, path, &found, error);
    }
    return failed ? error_memory(error) : SUTRA_OK;
}

/* Visits an entry of a directory; a symbolic link is kept for later. */
static enum sutra_status visit_entry(struct run_walk *walk, const char *folder, unsigned depth,
                                     const struct dirent *entry, struct sutra_error *error) {
    struct stat found;
    const char *path =
        arena_format(&walk->inventory->arena, "%s%s%s", folder, ends_in_slash(folder) ? "" : "/", entry->d_name);
    TRY(arena_status(&walk->inventory->arena, error));
    if (entry->d_type != DT_LNK && !(entry->d_type == DT_UNKNOWN && lstat(path, &found) == 0 && S_ISLNK(found.st_mode)))
        return visit(walk, path, depth, error);
    TRY_ALLOC(
        arena_grow(&walk->inventory->roles, &walk->links, walk->n_links, &walk->links_capacity, sizeof *walk->links),
        error);
    walk->links[walk->n_links++] = (struct link){path, depth};
    return SUTRA_OK;
}

/* Walks a directory, in natural order, unless it contains results of sutra; an argument has depth 0. */
static enum sutra_status walk_folder(struct run_walk *walk, const char *path, unsigned depth,
                                     struct sutra_error *error) {
    static const char *const marks_of_results[] = {".job", ".parts", ".records", "incomplete.sutra"};
    struct dirent **entries;
    const int n = scandir(path, &entries, NULL, compare_names);
    bool has_results = false;
    if (n < 0 && errno == ENOMEM)
        return error_memory(error);
    if (n < 0 && depth == 0)
        return error_os(error, SUTRA_NO_INPUT, path, errno, "");
    if (n < 0 && walk->context->options.strict)
        return error_os(error, SUTRA_STRICT, path, errno, "cannot be read");
    if (n < 0) {
        context_warn(walk->context, "%s: cannot be read: %s", path, strerror(errno));
        return SUTRA_OK;
    }
    walk->run->n_folders++;
    for (int i = 0; i < n && depth > 0; i++)
        for (size_t k = 0; k < sizeof marks_of_results / sizeof *marks_of_results; k++)
            has_results |= strcmp(entries[i]->d_name, marks_of_results[k]) == 0;
    enum sutra_status status = SUTRA_OK;
    for (int i = 0; i < n; i++) {
        if (!status && !has_results && *entries[i]->d_name != '.')
            status = visit_entry(walk, path, depth, entries[i], error);
        free(entries[i]);
    }
    free(entries);
    return status;
}

/* Walks an argument, then the links found below it; links below links come later. */
static enum sutra_status walk_argument(struct run_walk *walk, const char *argument, struct sutra_error *error) {
    struct stat found;
    bool failed = false;
    if (stat(argument, &found))
        return error_os(error, SUTRA_NO_INPUT, argument, errno, "");
    if (!is_first_visit(walk, &found, &failed))
        return failed ? error_memory(error) : SUTRA_OK;
    const char *path = arena_text(&walk->inventory->arena, argument, strlen(argument));
    TRY_ALLOC(path, error);
    if (!S_ISDIR(found.st_mode))
        return add_file(walk, path, &found, error);
    TRY(walk_folder(walk, path, 0, error));
    for (uint64_t next = 0, end; next < walk->n_links;) {
        end = walk->n_links;
        qsort(walk->links + next, end - next, sizeof *walk->links, compare_links);
        for (; next < end; next++)
            TRY(visit(walk, walk->links[next].path, walk->links[next].depth, error));
    }
    walk->n_links = 0;
    return SUTRA_OK;
}

static int compare_paths(const void *left, const void *right) {
    return compare_natural(((const struct run_entry *)left)->trace.path, ((const struct run_entry *)right)->trace.path);
}

static void sort_inventory(struct inventory *inventory) {
    if (inventory->n > 0)
        qsort(inventory->entries, inventory->n, sizeof *inventory->entries, compare_paths);
}

static enum sutra_status walk_arguments(struct run *run, struct sutra_context *context, const char *const *arguments,
                                        size_t n, bool lists_all, struct sutra_error *error) {
    struct run_walk walk = {.run = run, .inventory = run->inventory, .context = context, .lists_all = lists_all};
    walk.has_output = run->skipped_folder && stat(run->skipped_folder, &walk.output) == 0;
    TRY_ALLOC(pair_table_init(&walk.visited), error);
    enum sutra_status status = SUTRA_OK;
    for (size_t i = 0; i < n && !status; i++) {
        walk.n_argument = strlen(arguments[i]) + !ends_in_slash(arguments[i]);
        walk.n_relative = n > 1 ? 0 : walk.n_argument;
        status = walk_argument(&walk, arguments[i], error);
    }
    pair_table_free(&walk.visited);
    sort_inventory(run->inventory);
    if (!status && run->n_deep)
        context_warn(context, "%s: %s below level %d %s skipped", run->path,
                     counted_text(run->n_deep, "directory", "directories").text, DEPTH_MAX_FOLDERS,
                     run->n_deep == 1 ? "is" : "are");
    return status;
}

/* ---- Heads ---- */

/* What several threads find, before strings are interned. */
struct heads {
    struct inventory *inventory;
    const struct sutra_context *context;
    struct trace_head *list;
    size_t first;
};

#define HEADS_AT_ONCE ((size_t)4096)

static void read_entry_head(void *arg, size_t i) {
    struct heads *heads = arg;
    struct run_entry *entry = &heads->inventory->entries[heads->first + i];
    if (trace_head_read(entry->trace.file, heads->context->options.lenient, &heads->list[i], NULL))
        heads->list[i] = (struct trace_head){.format = FILE_UNREADABLE};
}

/* Whether a directory of the path, or the file name, is of captures. */
static bool is_capture(const char *path) {
    static const char *const folders[] = {"capture_traces/", "graph_capture_profile/"};
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        for (const char *at = path; (at = strstr(at, folders[i])); at++)
            if (at == path || at[-1] == '/')
                return true;
    return text_begins_with(path_file_name(path), strlen(path_file_name(path)), "cuda_graph_capture");
}

static enum run_kind kind_of_head(const struct run_entry *entry, const struct trace_head *head) {
    const char *path = entry->trace.path;
    if (head->format == FILE_INSPECTOR_LOG || has_log_name(path))
        return head->format == FILE_INSPECTOR_LOG ? RUN_INSPECTOR : RUN_OTHER;
    if (!has_ending_of_trace(path) && head->format != FILE_DUMP)
        return RUN_OTHER;
    switch (head->format) {
    case FILE_HOST_TRACE:
    case FILE_LINKED_TRACE:
        return RUN_HOST;
    case FILE_ET:
        return RUN_CHAKRA;
    case FILE_SNAPSHOT:
        return RUN_SNAPSHOT;
    case FILE_DUMP:
        return RUN_DUMP;
    case FILE_REPORT:
        return RUN_REPORT;
    case FILE_DEVICE_TRACE:
        return head->is_merged ? RUN_MERGED : is_capture(path) ? RUN_CAPTURE : RUN_TRACE;
    case FILE_JSON:
    case FILE_ET_JSON:
    case FILE_UNREADABLE:
        return RUN_OTHER;
    default:
        return text_ends_in(path, ".json") || text_ends_in(path, ".json.gz") || text_ends_in(path, ".json.zst")
                   ? RUN_MALFORMED
                   : RUN_OTHER;
    }
}

/* Interns a text; false: out of memory. */
static bool intern(struct inventory *inventory, const char *text, uint32_t *id) {
    *id = strings_intern(&inventory->strings, text, strlen(text));
    return *id != STRING_NONE;
}

/* Sets the facts in the path of a trace and in its head. */
static enum sutra_status identify(struct run *run, struct run_entry *entry, const struct trace_head *head,
                                  struct sutra_error *error) {
    struct inventory *inventory = run->inventory;
    struct trace_name name;
    trace_name_read(entry->trace.path, head->pid, &name);
    entry->trace.pid = head->pid;
    entry->trace.begin_ns = head->begin > 0 && head->begin < 9e9 ? (int64_t)llround(head->begin * 1e9) : RUN_NO_TIME;
    entry->name_time_ns = name.time_ns;
    entry->end_ns = entry->trace.begin_ns;
    entry->world_size = MAX(head->world_size, 0);
    entry->is_several = head->has_merged_pids;
    entry->number = name.number;
    entry->has_coordinates = name.has_coordinates;
    entry->has_dp = name.has_dp;
    for (int i = 0; i < N_COORDINATES; i++)
        entry->coordinates[i] = (int32_t)name.coordinates[i];
    const int64_t named = name.rank != NAME_NONE ? name.rank : name.directory_rank;
    entry->recorded_rank = head->rank >= 0 ? head->rank : named;
    entry->recorded_source = head->rank >= 0 ? RUN_BY_INFO : name.rank != NAME_NONE ? RUN_BY_NAME : RUN_BY_DIRECTORY;
    run->n_contradictions += head->rank >= 0 && named != NAME_NONE && named != head->rank;
    entry->label = entry->trace_id = STRING_NONE;
    entry->label_number = name.label;
    const char *host = *head->host_name ? head->host_name : *name.host ? name.host : name.folder;
    TRY_ALLOC(intern(inventory, host, &entry->host) && intern(inventory, name.folder, &entry->folder) &&
                  intern(inventory, name.node, &entry->node) && intern(inventory, name.role, &entry->role) &&
                  (name.label == NAME_NONE || intern(inventory, name.label_text, &entry->label)) &&
                  (!*head->trace_id || intern(inventory, head->trace_id, &entry->trace_id)),
              error);
    return SUTRA_OK;
}

/* Replaces a report by its ranks. */
static enum sutra_status list_report(struct run *run, struct sutra_context *context, size_t i,
                                     struct sutra_error *error) {
    struct inventory *inventory = run->inventory;
    const struct run_entry report = inventory->entries[i];
    struct trace_head head = {.pid = NOT_RECORDED, .rank = NOT_RECORDED, .world_size = NOT_RECORDED};
    int64_t *ranks = NULL;
    size_t n = 0;
    if (sutra_nsys_list_ranks(context, report.trace.file, &ranks, &n, NULL) || n == 0) {
        free(ranks);
        return SUTRA_OK;
    }
    enum sutra_status status = SUTRA_OK;
    for (size_t k = 0; k < n && !status; k++) {
        struct run_entry entry = report;
        entry.kind = RUN_TRACE;
        entry.is_report = true;
        if (n > 1) {
            entry.trace.file = arena_format(&inventory->arena, RANK_PATH, report.trace.file, ranks[k]);
            entry.trace.path = entry.trace.file ? entry.trace.file + (report.trace.path - report.trace.file) : NULL;
            head.rank = ranks[k];
        }
        status = entry.trace.file ? identify(run, &entry, &head, error) : error_memory(error);
        if (!status && k > 0)
            status = add_entry(inventory, &entry, error);
        else if (!status)
            inventory->entries[i] = entry;
    }
    free(ranks);
    return status;
}

/* Reads the heads of all candidates in parallel, some thousands at a time. */
static enum sutra_status read_heads(struct run *run, struct sutra_context *context, struct sutra_error *error) {
    struct inventory *inventory = run->inventory;
    const size_t n = inventory->n;
    struct heads heads = {.inventory = inventory, .context = context};
    enum sutra_status status = SUTRA_OK;
    const char *unreadable = NULL; /* the first file that cannot be read */
    size_t n_unreadable = 0;
    heads.list = calloc(MIN(n, HEADS_AT_ONCE) + 1, sizeof *heads.list);
    TRY_ALLOC(heads.list, error);
    for (; heads.first < n && !status; heads.first += HEADS_AT_ONCE) {
        const size_t n_heads = MIN(n - heads.first, HEADS_AT_ONCE);
        pool_run(context->pool, n_heads, read_entry_head, &heads);
        for (size_t i = 0; i < n_heads && !status; i++) {
            struct run_entry *entry = &inventory->entries[heads.first + i];
            entry->kind = kind_of_head(entry, &heads.list[i]);
            entry->is_compressed = heads.list[i].text_bytes != heads.list[i].bytes;
            run->n_other += entry->kind == RUN_OTHER;
            if (heads.list[i].format == FILE_UNREADABLE && !has_log_name(entry->trace.path) && n_unreadable++ == 0)
                unreadable = entry->trace.path;
            if (entry->kind == RUN_TRACE)
                status = identify(run, entry, &heads.list[i], error);
        }
        status = status ? status : context_check_cancelled(context, error);
    }
    free(heads.list);
    if (!status && unreadable && context->options.strict)
        return error_file(error, SUTRA_STRICT, unreadable, "cannot be read");
    if (!status && unreadable)
        context_warn(context, "%s: %s cannot be read, such as %s", run->path,
                     counted_text(n_unreadable, "file", "files").text, unreadable);
    for (size_t i = 0; i < n && !status; i++)
        if (inventory->entries[i].kind == RUN_REPORT)
            status = list_report(run, context, i, error);
    if (inventory->n > n)
        sort_inventory(inventory);
    return status;
}

/* ---- Ends of traces: only where times may overlap ---- */

/* Process id, rank, coordinates and number; a recorded rank needs no number. */
#define IDENTITY                                                                                                       \
    ASCENDING(trace.pid)                                                                                               \
    ASCENDING(recorded_rank)                                                                                           \
    ASCENDING(recorded_source)                                                                                         \
    ASCENDING(has_coordinates) ASCENDING_COORDINATES if (a->recorded_source != RUN_BY_INFO) {                          \
        ASCENDING(number)                                                                                              \
    }

ENTRY_ORDER(by_identity, IDENTITY)
ENTRY_ORDER(by_identity_and_begin, IDENTITY ASCENDING(trace.begin_ns))
ENTRY_ORDER(by_role_and_rank,
            ASCENDING(role) ASCENDING(recorded_rank) if (a->recorded_rank == NAME_NONE){ASCENDING_COORDINATES})
ENTRY_ORDER(by_trace_id, ASCENDING(trace_id))

/* Whether a scanned trace has no GPU activity, several processes, or is malformed. */
static bool any_is_no_rank(struct run_entry *const *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (list[i]->trace.gpu == RUN_GPU_NONE || list[i]->is_several || list[i]->kind != RUN_TRACE)
            return true;
    return false;
}

/* Finds the ends that duplicates, ranks by order and conflicts need: of traces of one identity that lack ids, of traces
 * without a rank, of traces of one rank and several processes. */
static enum sutra_status find_ends(struct inventory *inventory, struct sutra_context *context,
                                   struct run_entry **traces, size_t n, bool *changed, struct sutra_error *error) {
    struct run_entry **list = alloc_entries(&inventory->roles, n);
    struct run_entry **needed = alloc_entries(&inventory->roles, n);
    TRY(arena_status(&inventory->roles, error));
    entries_sort(list, traces, n, by_identity_and_begin, NULL);
    for (size_t i = 1; i < n; i++)
        if (by_identity(list[i - 1], list[i], NULL) == 0 && is_one_process(list[i - 1], list[i]) &&
            (list[i - 1]->trace_id == STRING_NONE || list[i]->trace_id == STRING_NONE))
            list[i - 1]->needs_end = list[i]->needs_end = true;
    entries_sort(list, traces, n, by_role_and_rank, NULL);
    for (size_t begin = 0, end; begin < n; begin = end) {
        bool are_several = false;
        const bool is_known = list[begin]->recorded_rank != NAME_NONE || list[begin]->has_coordinates;
        end = entries_end(list, n, begin, by_role_and_rank, NULL);
        for (size_t i = begin + 1; i < end; i++)
            are_several |= !is_known || !is_one_process(list[begin], list[i]);
        for (size_t i = begin; i < end && are_several; i++)
            list[i]->needs_end = true;
    }
    size_t n_needed = 0;
    for (size_t i = 0; i < n; i++) {
        struct run_entry *entry = traces[i];
        if (!entry->needs_end || !has_time(entry) || entry->has_end)
            continue;
        entry->has_end = true;
        if (entry->name_time_ns > entry->trace.begin_ns)
            entry->end_ns = entry->name_time_ns;
        else
            needed[n_needed++] = entry;
    }
    TRY(run_scan_entries(context, needed, n_needed, true, error));
    *changed = any_is_no_rank(needed, n_needed);
    return SUTRA_OK;
}

/* ---- Duplicates ---- */

/* The size of the text, which gzip records at the end of a file. */
static uint64_t text_size(const struct run_entry *entry) {
    unsigned char size[4];
    if (!entry->is_compressed)
        return entry->trace.bytes;
    int file = open(entry->trace.file, O_RDONLY | O_CLOEXEC);
    const bool is_read = file >= 0 && text_ends_in(entry->trace.file, ".gz") && entry->trace.bytes > sizeof size &&
                         pread(file, size, sizeof size, (off_t)(entry->trace.bytes - sizeof size)) == sizeof size;
    if (file >= 0)
        close(file);
    const uint64_t bytes =
        is_read ? size[0] | (uint64_t)size[1] << 8 | (uint64_t)size[2] << 16 | (uint64_t)size[3] << 24 : 0;
    return MAX(bytes, entry->trace.bytes);
}

static size_t n_folders(const char *path) {
    size_t n = 0;
    for (; *path; path++)
        n += *path == '/';
    return n;
}

/* Whether the first of two equal traces stays. */
static bool is_preferred(const struct run_entry *a, const struct run_entry *b) {
    const uint64_t size_a = text_size(a), size_b = text_size(b);
    const size_t depth_a = n_folders(a->trace.path), depth_b = n_folders(b->trace.path);
    if (size_a != size_b)
        return size_a > size_b;
    if (depth_a != depth_b)
        return depth_a < depth_b;
    return a < b;
}

static void drop(struct run_entry *entry, const struct run_entry *of) {
    entry->settled = RUN_DUPLICATE;
    entry->of = of->trace.path;
}

/* Whether two traces of one identity are one recording. One of them lacks an id. */
static bool is_same_recording(const struct run_entry *a, const struct run_entry *b) {
    if (a->trace_id != STRING_NONE && b->trace_id != STRING_NONE)
        return false;
    return (has_time(a) && a->trace.begin_ns == b->trace.begin_ns) || (is_one_process(a, b) && overlaps(a, b));
}

/* Skips duplicates; `list` is scratch. */
static void drop_duplicates(struct run_entry **list, struct run_entry *const *traces, size_t n) {
    entries_sort(list, traces, n, by_trace_id, NULL);
    for (size_t begin = 0, end; begin < n && list[begin]->trace_id != STRING_NONE;
         begin = end) { /* which is the last */
        struct run_entry *best = list[begin];
        end = entries_end(list, n, begin, by_trace_id, NULL);
        for (size_t i = begin + 1; i < end; i++)
            best = is_preferred(list[i], best) ? list[i] : best;
        for (size_t i = begin; i < end; i++)
            if (list[i] != best)
                drop(list[i], best);
    }
    entries_sort(list, traces, n, by_identity_and_begin, NULL);
    for (size_t i = 0; i < n; i++) {
        const int64_t begin_ns = list[i]->trace.begin_ns, end_ns = list[i]->end_ns;
        for (size_t k = i + 1; k < MIN(n, i + 1 + COMPARED_MAX) && list[i]->settled == RUN_TRACE &&
                               by_identity(list[i], list[k], NULL) == 0 &&
                               (list[k]->trace.begin_ns == begin_ns || list[k]->trace.begin_ns < end_ns);
             k++) {
            if (list[k]->settled != RUN_TRACE || !is_same_recording(list[i], list[k]))
                continue;
            if (is_preferred(list[i], list[k]))
                drop(list[k], list[i]);
            else
                drop(list[i], list[k]);
        }
    }
}

/* ---- The choice ---- */

/* Sets is_flat: the run is one directory with one trace per rank, and nothing but files that commands skip anyway;
 * ranks are from names that commands have always read. Sets is_nested. */
static void find_shape(struct run *run) {
    const struct inventory *inventory = run->inventory;
    run->is_flat = run->n_roles == 1 && run->roles[0].n_windows == 1 && strcmp(run->roles[0].name, "main") == 0;
    run->is_nested = run->n_arguments == 1;
    for (uint64_t i = 0; i < inventory->n; i++) {
        const struct run_entry *entry = &inventory->entries[i];
        const struct run_trace *trace = &entry->trace;
        if (entry->settled == RUN_OTHER)
            continue;
        run->is_nested &= entry->is_nested;
        run->is_flat = run->is_flat && !entry->is_nested && entry->settled <= RUN_MALFORMED &&
                       (entry->settled != RUN_TRACE || entry->is_report || trace->source == RUN_BY_INFO ||
                        (trace->source == RUN_BY_NAME && trace_name_rank(trace->path) == trace->rank));
    }
}

static enum sutra_status list_skipped(struct run *run, struct sutra_error *error) {
    struct inventory *inventory = run->inventory;
    struct arena *arena = &inventory->roles;
    size_t n = 0;
    struct run_skipped *skipped = arena_alloc(arena, inventory->n, sizeof *skipped);
    TRY(arena_status(arena, error));
    for (uint64_t i = 0; i < inventory->n; i++) {
        const struct run_entry *entry = &inventory->entries[i];
        if (entry->settled != RUN_TRACE && entry->settled != RUN_OTHER)
            skipped[n++] = (struct run_skipped){entry->trace.path, entry->trace.file, entry->of, entry->settled,
                                                entry->n_launches};
    }
    run->skipped = skipped;
    run->n_skipped = n;
    return SUTRA_OK;
}

/* Lists the traces that count as traces of ranks in `traces`, and returns their number. */
static size_t list_traces(struct run *run, struct run_entry **traces) {
    struct inventory *inventory = run->inventory;
    bool any_gpu = false, any_rank = false;
    size_t n = 0;
    run->is_scanned = true;
    for (uint64_t i = 0; i < inventory->n; i++) {
        const struct run_entry *entry = &inventory->entries[i];
        const bool is_rank = entry->kind == RUN_TRACE && !entry->is_several;
        any_gpu |= is_rank && entry->trace.gpu == RUN_GPU_ACTIVE;
        run->is_scanned &= !is_rank || entry->trace.gpu != RUN_GPU_UNKNOWN;
        any_rank |= is_rank && (entry->trace.gpu != RUN_GPU_NONE);
    }
    for (uint64_t i = 0; i < inventory->n; i++) {
        struct run_entry *entry = &inventory->entries[i];
        entry->settled = entry->kind;
        entry->of = NULL;
        entry->trace.rank = entry->recorded_rank;
        entry->trace.source = entry->recorded_source;
        entry->has_rank = entry->recorded_rank != NAME_NONE;
        if (entry->kind != RUN_TRACE)
            continue;
        if (entry->is_several && any_rank)
            entry->settled = RUN_SEVERAL;
        else if (entry->trace.gpu == RUN_GPU_NONE && (any_gpu || !run->is_scanned))
            entry->settled = entry->n_launches >= LAUNCHES_MIN ? RUN_NOT_RECORDED : RUN_NO_GPU;
        else
            traces[n++] = entry;
    }
    return n;
}

/* Chooses traces, roles, ranks and windows by all facts so far. */
static enum sutra_status settle(struct run *run, struct sutra_context *context, struct sutra_error *error) {
    struct inventory *inventory = run->inventory;
    size_t n = 0, kept = 0;
    arena_free(&inventory->roles);
    struct run_entry **traces = alloc_entries(&inventory->roles, inventory->n);
    struct run_entry **list = alloc_entries(&inventory->roles, inventory->n);
    TRY(arena_status(&inventory->roles, error));
    for (bool changed = true; changed;) { /* a scan for an end also finds traces without GPU activity */
        n = list_traces(run, traces);
        TRY(find_ends(inventory, context, traces, n, &changed, error));
    }
    drop_duplicates(list, traces, n);
    for (size_t i = 0; i < n; i++)
        if (traces[i]->settled == RUN_TRACE)
            traces[kept++] = traces[i];
    TRY(run_make_roles(run, &inventory->roles, &inventory->strings, traces, kept, error));
    TRY(list_skipped(run, error));
    find_shape(run);
    return SUTRA_OK;
}

enum sutra_status run_open(struct run *run, struct sutra_context *context, const char *const *arguments, size_t n,
                           struct sutra_error *error) {
    const char *skipped_folder = run->skipped_folder;
    *run = (struct run){.skipped_folder = skipped_folder, .path = arguments[0], .n_arguments = n};
    run->inventory = calloc(1, sizeof *run->inventory);
    TRY_ALLOC(run->inventory && strings_init(&run->inventory->strings), error);
    run->arena = &run->inventory->roles;
    TRY(walk_arguments(run, context, arguments, n, false, error));
    arena_free(&run->inventory->roles); /* the list of links */
    TRY(read_heads(run, context, error));
    if (run->n_contradictions)
        context_warn(context, "%s: %zu %s another rank in the name than in \"distributedInfo\", which counts",
                     run->path, run->n_contradictions, run->n_contradictions == 1 ? "trace has" : "traces have");
    return settle(run, context, error);
}

/* ---- The windows of a command ---- */

/* Scans the traces of picked windows, or of all roles if `all`. *changed: one has no GPU activity. */
static enum sutra_status scan_traces(struct run *run, struct sutra_context *context, bool all, bool *changed,
                                     struct sutra_error *error) {
    struct inventory *inventory = run->inventory;
    struct run_entry **list = alloc_entries(&inventory->roles, inventory->n);
    size_t n = 0, kept = 0;
    TRY(arena_status(&inventory->roles, error));
    for (uint64_t i = 0; i < inventory->n && all; i++)
        list[n++] = &inventory->entries[i];
    for (size_t i = 0; i < run->n_picks && !all; i++)
        for (size_t k = run->picks[i].first; k < run->picks[i].first + run->picks[i].n; k++)
            for (size_t t = 0; t < run->picks[i].role->windows[k].n_traces;
                 t++) /* `trace` is the first member of its entry */
                list[n++] = &inventory->entries[(const struct run_entry *)run->picks[i].role->windows[k].traces[t] -
                                                inventory->entries];
    for (size_t i = 0; i < n; i++)
        if (list[i]->kind == RUN_TRACE && list[i]->trace.gpu == RUN_GPU_UNKNOWN)
            list[kept++] = list[i];
    TRY(run_scan_entries(context, list, kept, false, error));
    *changed = any_is_no_rank(list, kept);
    return SUTRA_OK;
}

enum sutra_status run_scan(struct run *run, struct sutra_context *context, struct sutra_error *error) {
    bool changed;
    TRY(scan_traces(run, context, true, &changed, error));
    return settle(run, context, error);
}

static bool is_selected(const struct run_role *role, const char *selected) {
    const size_t n = selected ? strlen(selected) : 0;
    return !selected || strcmp(role->name, selected) == 0 ||
           (strncmp(role->name, selected, n) == 0 && role->name[n] == '[');
}

/* "3 roles (decode[0], decode[1], prefill)", "one role, main" */
static void describe_roles(const struct run *run, char *text, size_t size) {
    size_t length = (size_t)snprintf(text, size, run->n_roles == 1 ? "one role, " : "%zu roles (", run->n_roles);
    for (size_t i = 0; i < run->n_roles && length < size; i++)
        length += (size_t)snprintf(text + length, size - length, "%s%s", i ? ", " : "", run->roles[i].name);
    if (run->n_roles > 1 && length < size)
        snprintf(text + length, size - length, ")");
}

enum sutra_status run_find_window(const struct run *run, const struct run_role *role, const char *window,
                                  struct run_pick *pick, struct sutra_error *error) {
    int64_t number;
    *pick = (struct run_pick){role, role->default_window, 1};
    if (!window)
        return SUTRA_OK;
    if (window_is_all(window)) {
        *pick = (struct run_pick){role, 0, role->n_windows};
        return SUTRA_OK;
    }
    pick->first = strcmp(window, "first") == 0 ? 0 : strcmp(window, "last") == 0 ? role->n_windows - 1 : SIZE_MAX;
    if (integer_parse(window, strlen(window), &number) && number >= 0)
        pick->first = (uint64_t)number < role->n_windows ? (size_t)number : SIZE_MAX;
    for (size_t i = 0; i < role->n_windows && pick->first == SIZE_MAX; i++)
        if (role->windows[i].label && strcmp(role->windows[i].label, window) == 0)
            pick->first = i;
    if (pick->first < role->n_windows)
        return SUTRA_OK;
    const bool has_roles = run->n_roles > 1;
    char windows[64];
    snprintf(windows, sizeof windows, role->n_windows == 1 ? "one window, 0" : "windows 0 to %zu", role->n_windows - 1);
    return error_file(error, SUTRA_DATA, run->path, "no window %.80s: the %s%.80s has %s", window,
                      has_roles ? "role " : "run", has_roles ? role->name : "", windows);
}

static enum sutra_status pick_windows(struct run *run, const struct run_selection *selection,
                                      struct sutra_error *error) {
    struct run_pick *picks = arena_alloc(&run->inventory->roles, run->n_roles, sizeof *picks);
    char roles[300];
    size_t n = 0;
    TRY(arena_status(&run->inventory->roles, error));
    for (size_t i = 0; i < run->n_roles; i++)
        if (is_selected(&run->roles[i], selection->role))
            TRY(run_find_window(run, &run->roles[i], selection->window, &picks[n++], error));
    describe_roles(run, roles, sizeof roles);
    if (n == 0)
        return error_file(error, SUTRA_DATA, run->path, "no role '%.80s': the run has %s", selection->role, roles);
    if (n > 1 && selection->needs_one_role)
        return error_file(error, SUTRA_DATA, run->path, "%s: select one with --role", roles);
    run->picks = picks;
    run->n_picks = n;
    return SUTRA_OK;
}

size_t run_count_skipped(const struct run *run, enum run_kind kind) {
    size_t n = 0;
    for (size_t i = 0; i < run->n_skipped; i++)
        n += run->skipped[i].kind == kind;
    return n;
}

char *run_skipped_text(const struct run *run, bool without_hosts) {
    uint64_t counts[RUN_N_KINDS] = {0};
    const char *first[RUN_N_KINDS] = {NULL};
    struct buffer text = {0};
    for (size_t i = 0; i < run->n_skipped; i++)
        if (counts[run->skipped[i].kind]++ == 0)
            first[run->skipped[i].kind] = run->skipped[i].path;
    for (int kind = without_hosts ? RUN_HOST + 1 : RUN_HOST; kind < RUN_OTHER; kind++) {
        if (counts[kind])
            buffer_format(&text, "%s%s", text.length ? ", " : "",
                          counted_text(counts[kind], run_kinds[kind].one, run_kinds[kind].many).text);
        if (counts[kind] && kind == RUN_NO_GPU) /* the name often shows why */
            buffer_format(&text, " (%s%s)", counts[kind] > 1 ? "such as " : "", first[kind]);
    }
    buffer_append(&text, "", 1);
    if (!text.failed)
        return text.bytes;
    buffer_free(&text);
    return NULL;
}

/* Reports skipped files, and ranks that are missing therefore. */
static enum sutra_status report_skipped(const struct run *run, bool reads_hosts, struct sutra_context *context,
                                        struct sutra_error *error) {
    const bool is_strict = context->options.strict;
    size_t n = 0;
    for (size_t i = 0; i < run->n_skipped; i++) {
        const struct run_skipped *skipped = &run->skipped[i];
        n += !(reads_hosts && skipped->kind == RUN_HOST);
        if (is_strict && skipped->kind == RUN_MALFORMED)
            return error_file(error, SUTRA_STRICT, run->path, "%.300s: malformed", skipped->path);
        if (skipped->kind != RUN_NOT_RECORDED)
            continue;
        if (is_strict)
            return error_file(error, SUTRA_STRICT, run->path, "%.300s: GPU activity not recorded (%s)", skipped->path,
                              counted_text(skipped->n_launches, "launch", "launches").text);
        context_warn(context, "%s: %s: GPU activity not recorded (%s): its rank is missing", run->path, skipped->path,
                     counted_text(skipped->n_launches, "launch", "launches").text);
    }
    char *text = n ? run_skipped_text(run, reads_hosts) : NULL;
    if (n && !text)
        return error_memory(error);
    if (n && run->n_arguments == 1)
        context_warn(context, "skipped %s: %s ('sutra info %s' lists them)", counted_text(n, "file", "files").text,
                     text, run->path);
    else if (n)
        context_warn(context, "skipped %s: %s ('sutra info' lists them, with the same directories)",
                     counted_text(n, "file", "files").text, text);
    free(text);
    for (size_t i = 0; i < run->n_picks; i++)
        for (size_t k = run->picks[i].first; k < run->picks[i].first + run->picks[i].n; k++)
            if (run->picks[i].role->windows[k].traces[0]->source == RUN_BY_ORDER &&
                run->picks[i].role->windows[k].n_traces > 1) {
                context_warn(context, "%s: ranks are numbered by host and process id", run->path);
                return SUTRA_OK;
            }
    return SUTRA_OK;
}

enum sutra_status run_no_trace(const struct run *run, struct sutra_error *error) {
    char *text = run_skipped_text(run, false);
    TRY_ALLOC(text, error);
    const enum sutra_status status = error_file(
        error, SUTRA_NO_INPUT, run->path, "no device trace in this directory or below: %s in %s%s%.200s%s%s",
        counted_text(run->n_files, "file", "files").text, counted_text(run->n_folders, "directory", "directories").text,
        *text ? " (" : "", text, *text ? ")" : "",
        run_count_skipped(run, RUN_INSPECTOR) ? ": 'sutra analyze collectives DIR' reads the logs"
        : run_count_skipped(run, RUN_DUMP)    ? ": 'sutra analyze hang DIR' reads the dumps"
                                              : "");
    free(text);
    return status;
}

enum sutra_status run_choose(struct run *run, struct sutra_context *context, const struct run_selection *selection,
                             struct sutra_error *error) {
    bool changed = true;
    for (int attempt = 0; changed; attempt++) {
        if (run->n_roles == 0)
            return run_no_trace(run, error);
        TRY(pick_windows(run, selection, error));
        changed = false;
        if (!run->is_flat)
            TRY(scan_traces(run, context, attempt == 2, &changed, error));
        if (changed)
            TRY(settle(run, context, error));
    }
    return run->is_flat ? SUTRA_OK : report_skipped(run, selection->reads_hosts, context, error);
}

void run_free(struct run *run) {
    if (run->inventory) {
        arena_free(&run->inventory->roles);
        arena_free(&run->inventory->arena);
        free(run->inventory->entries);
        strings_free(&run->inventory->strings);
    }
    free(run->inventory);
    *run = (struct run){0};
}

/* ---- All files ---- */

/* By directory, then by name: a file is before the files of subdirectories. */
static int compare_files(const void *left, const void *right) {
    const char *a = ((const struct run_entry *)left)->trace.file, *b = ((const struct run_entry *)right)->trace.file;
    const size_t n_a = (size_t)(path_file_name(a) - a), n_b = (size_t)(path_file_name(b) - b);
    const int order = memcmp(a, b, MIN(n_a, n_b));
    if (order != 0 || n_a != n_b)
        return order != 0 ? order : n_a < n_b ? -1 : 1;
    return strcmp(a + n_a, b + n_b);
}

enum sutra_status run_list_files(struct run_files *files, struct sutra_context *context, const char *const *arguments,
                                 size_t n, const char *skipped_folder, struct sutra_error *error) {
    struct run run = {.skipped_folder = skipped_folder, .path = arguments[0], .n_arguments = n};
    *files = (struct run_files){.n = 0};
    run.inventory = calloc(1, sizeof *run.inventory);
    enum sutra_status status = run.inventory && strings_init(&run.inventory->strings) ? SUTRA_OK : error_memory(error);
    if (!status)
        status = walk_arguments(&run, context, arguments, n, true, error);
    if (!status) {
        const struct run_entry *entries = run.inventory->entries;
        const char **paths = arena_alloc(&files->arena, run.inventory->n, sizeof *paths);
        uint64_t *bytes = arena_alloc(&files->arena, run.inventory->n, sizeof *bytes);
        if (run.inventory->n > 0)
            qsort(run.inventory->entries, run.inventory->n, sizeof *entries, compare_files);
        for (uint64_t i = 0; i < run.inventory->n && !files->arena.failed; i++) {
            paths[i] = arena_text(&files->arena, entries[i].trace.file, strlen(entries[i].trace.file));
            bytes[i] = entries[i].trace.bytes;
        }
        files->paths = paths;
        files->bytes = bytes;
        files->n = run.inventory->n;
        status = arena_status(&files->arena, error);
    }
    run_free(&run);
    return status;
}
