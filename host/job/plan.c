/*
 * plan.c - pairing host traces and device traces of a job.
 *
 *     hosts by (process, number)   8123 0   8164 1   8205 2  ...     a device looks for its process here
 *     hosts by number              0 8123   1 8164   2 8205  ...     and for its rank here, where no process is told
 */
#include "job/plan.h"
#include "base/shared.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

const char *const pair_by_names[] = {[PAIR_BY_PROCESS] = "process",
                                     [PAIR_BY_PROCESS_AND_NAME] = "process and name",
                                     [PAIR_BY_NAME] = "name",
                                     [PAIR_BY_TABLE] = "table"};

/* Clocks of host traces may be of any time zone. */
#define DAY_SECONDS 86400.0

struct pairing_work {
    struct job_plan *plan;
    struct trace_file *hosts, *devices;
    size_t n_hosts, n_devices;
    size_t *by_process, *by_number; /* hosts */
};

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static void vleave_out(struct job_plan *plan, const char *path, const char *format, va_list words) {
    char text[600];
    vsnprintf(text, sizeof text, format, words);
    size_t size = strlen(text) + 1, length = strlen(path) + 1;
    char *why = arena_take(&plan->arena, size, 1), *copy = arena_take(&plan->arena, length, 1);
    if (why && copy)
        plan->left[plan->n_left++] = (struct left_file){memcpy(copy, path, length), memcpy(why, text, size)};
}

__attribute__((format(printf, 3, 4))) static void leave_out(struct job_plan *plan, const char *path, const char *format,
                                                            ...) {
    va_list words;
    va_start(words, format);
    vleave_out(plan, path, format, words);
    va_end(words);
}

/* A device trace, and the host trace that seems to be its own. */
struct device_claim {
    const struct trace_file *device;
    struct trace_file *host;
    enum pair_by by;
};

/* ---- Files ---- */

static enum sutra_status look_at_file(struct job_plan *plan, const char *path, struct trace_file *file,
                                      struct sutra_error *error) {
    size_t size = strlen(path) + 1;
    char *copy = arena_take(&plan->arena, size, 1);
    if (!copy)
        return error_memory(error);
    *file = (struct trace_file){.path = memcpy(copy, path, size), .number = trace_name_number(path)};
    return trace_head_read(path, plan->lenient, &file->head, error);
}

/* Why a file is not of this side. */
static void leave_out_other(struct job_plan *plan, const char *path, const struct trace_head *head,
                            enum trace_side side) {
    static const char *const kinds[] = {[SIDE_HOST] = "host", [SIDE_DEVICE] = "device"};
    if (head->bytes == 0)
        leave_out(plan, path, "is empty");
    else if (head->side == SIDE_UNKNOWN)
        leave_out(plan, path, "no %s trace by its beginning", kinds[side]);
    else
        leave_out(plan, path, "a %s trace, where %s traces are expected", kinds[head->side], kinds[side]);
}

/* Looks at files that should be of one side, and keeps those that are. */
static enum sutra_status look_at_side(struct job_plan *plan, const struct trace_files *given, enum trace_side side,
                                      struct trace_file **files, size_t *n_files, struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    *files = arena_take(&plan->arena, given->n, sizeof **files);
    *n_files = 0;
    for (size_t i = 0; i < given->n && *files && !status; i++) {
        struct trace_file *file = &(*files)[*n_files];
        struct sutra_error why;
        status = look_at_file(plan, given->paths[i], file, &why);
        if (!status && file->head.side == side) {
            ++*n_files;
        } else if (!status && !(given->mixed && file->head.side != SIDE_UNKNOWN)) {
            leave_out_other(plan, given->paths[i], &file->head, side);
        } else if (status == SUTRA_NO_INPUT) {
            leave_out(plan, given->paths[i], "%s", why.message);
            status = SUTRA_OK;
        } else {
            error_hand_on(error, status, &why);
        }
    }
    return status ? status : arena_status(&plan->arena, error);
}

/* ---- Orders ---- */

static int compare_integers(int64_t a, int64_t b) {
    return (a > b) - (a < b);
}

static int compare_processes(const void *left, const void *right, void *arg) {
    const struct trace_file *files = arg, *a = &files[*(const size_t *)left], *b = &files[*(const size_t *)right];
    int order = compare_integers(a->head.pid, b->head.pid);
    return order ? order : compare_integers(a->number, b->number);
}

static int compare_numbers(const void *left, const void *right, void *arg) {
    const struct trace_file *files = arg;
    return compare_integers(files[*(const size_t *)left].number, files[*(const size_t *)right].number);
}

/* By rank; those of one rank, or process, come to stand side by side. */
ORDER_BY(compare_ranks, struct trace_file, ASCENDING(head.rank) ASCENDING_TEXT(path))

/* The first host of the order whose key is not below. */
static size_t first_process(const struct pairing_work *work, int64_t pid, int64_t number) {
    size_t low = 0, high = work->n_hosts;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct trace_file *host = &work->hosts[work->by_process[middle]];
        if (host->head.pid < pid || (host->head.pid == pid && host->number < number))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static size_t first_number(const struct pairing_work *work, int64_t number) {
    size_t low = 0, high = work->n_hosts;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (work->hosts[work->by_number[middle]].number < number)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- A device's host ---- */

static bool days_meet(const struct trace_file *host, const struct trace_file *device) {
    double apart = device->head.begin - host->head.begin;
    return host->head.begin == 0 || device->head.begin == 0 || (apart > -DAY_SECONDS && apart < DAY_SECONDS);
}

/* The only one of some hosts that was recorded on the device trace's day; NULL: none, or several. */
static struct trace_file *only_one(const struct pairing_work *work, const size_t *order, size_t begin, size_t end,
                                   const struct trace_file *device) {
    struct trace_file *found = NULL;
    for (size_t i = begin; i < end; i++) {
        struct trace_file *host = &work->hosts[order[i]];
        if (!days_meet(host, device))
            continue;
        if (found)
            return NULL;
        found = host;
    }
    return found;
}

/* The host of the device's process. */
static struct trace_file *host_of_process(const struct pairing_work *work, const struct trace_file *device, int64_t pid,
                                          enum pair_by *by) {
    int64_t rank = device->head.rank;
    struct trace_file *host = only_one(work, work->by_process, first_process(work, pid, INT64_MIN),
                                       first_process(work, pid, INT64_MAX), device);
    *by = pid == NOT_TOLD ? PAIR_BY_NAME : PAIR_BY_PROCESS;
    if (host && pid != NOT_TOLD)
        return host;
    *by = pid == NOT_TOLD ? PAIR_BY_NAME : PAIR_BY_PROCESS_AND_NAME;
    return only_one(work, work->by_process, first_process(work, pid, rank), first_process(work, pid, rank + 1), device);
}

static struct trace_file *host_of_number(const struct pairing_work *work, const struct trace_file *device) {
    int64_t rank = device->head.rank;
    return only_one(work, work->by_number, first_number(work, rank), first_number(work, rank + 1), device);
}

static struct trace_file *host_of(const struct pairing_work *work, const struct trace_file *device, enum pair_by *by) {
    struct trace_file *host = NULL;
    if (device->head.pid != NOT_TOLD) {
        host = host_of_process(work, device, device->head.pid, by);
        return host ? host : host_of_process(work, device, NOT_TOLD, by);
    }
    *by = PAIR_BY_NAME;
    return host_of_number(work, device);
}

/* Why a device trace has no host trace. */
static void tell_lonely(const struct pairing_work *work, const struct trace_file *device) {
    const struct trace_file *named = host_of_number(work, device);
    if (named && !named->is_paired && named->head.pid != NOT_TOLD && device->head.pid != NOT_TOLD &&
        named->head.pid != device->head.pid)
        leave_out(work->plan, device->path,
                  "rank %" PRId64 " of process %" PRId64 ", and no host trace is: %.200s is of process %" PRId64,
                  device->head.rank, device->head.pid, base_name(named->path), named->head.pid);
    else
        leave_out(work->plan, device->path,
                  "rank %" PRId64 ": no host trace, or more than one, is of its process or name", device->head.rank);
}

/* ---- All of them ---- */

static void keep_pair(struct pairing_work *work, const struct trace_file *host, const struct trace_file *device,
                      enum pair_by by) {
    struct job_plan *plan = work->plan;
    plan->pairs[plan->n_pairs++] =
        (struct rank_pair){.rank = device->head.rank, .host = *host, .device = *device, .by = by};
}

/* Whether a device trace tells a rank that no other tells; else it is left out. Devices are in the order of ranks. */
static bool has_own_rank(const struct pairing_work *work, size_t i) {
    const struct trace_file *device = &work->devices[i];
    bool twice = (i > 0 && device[-1].head.rank == device->head.rank) ||
                 (i + 1 < work->n_devices && device[1].head.rank == device->head.rank);
    bool in_range = device->head.rank >= 0 && device->head.rank < RANK_LIMIT;
    if (device->head.rank == NOT_TOLD)
        leave_out(work->plan, device->path, "neither the trace nor its name contains a rank");
    else if (!in_range)
        leave_out(work->plan, device->path, "rank %" PRId64 " is out of range (0 to %d)", device->head.rank,
                  RANK_LIMIT - 1);
    else if (twice)
        leave_out(work->plan, device->path, "rank %" PRId64 " is recorded in several device traces", device->head.rank);
    return in_range && !twice;
}

/* A host that several devices claim is that of the one with the rank in its name, or of none. */
static void settle_claim(struct pairing_work *work, const struct device_claim *claim) {
    const struct trace_file *device = claim->device;
    struct trace_file *host = claim->host;
    if (!host) {
        tell_lonely(work, device);
        return;
    }
    host->is_paired = true;
    if (host->n_claims == 1 || host->number == device->head.rank)
        keep_pair(work, host, device, host->n_claims == 1 ? claim->by : PAIR_BY_PROCESS_AND_NAME);
    else
        leave_out(work->plan, device->path, "rank %" PRId64 ": its host trace, %.200s, may belong to another rank",
                  device->head.rank, base_name(host->path));
}

static void pair_devices(struct pairing_work *work) {
    struct device_claim *claims = arena_take(&work->plan->arena, work->n_devices, sizeof *claims);
    size_t n = 0;
    for (size_t i = 0; i < work->n_devices && claims; i++) {
        if (!has_own_rank(work, i))
            continue;
        claims[n] = (struct device_claim){.device = &work->devices[i]};
        claims[n].host = host_of(work, claims[n].device, &claims[n].by);
        if (claims[n].host)
            claims[n].host->n_claims++;
        n++;
    }
    for (size_t i = 0; i < n; i++)
        settle_claim(work, &claims[i]);
}

static void tell_lonely_hosts(struct pairing_work *work) {
    for (size_t i = 0; i < work->n_hosts; i++)
        if (!work->hosts[i].is_paired)
            leave_out(work->plan, work->hosts[i].path, "no device trace is of its process or name");
}

/* Lets the job have so many ranks at least; a number out of range is as one that is not told. */
static void raise_world(struct job_plan *plan, int64_t n_ranks) {
    if (n_ranks <= RANK_LIMIT && n_ranks > plan->world_size)
        plan->world_size = n_ranks;
}

static void find_world(struct job_plan *plan, const struct pairing_work *work) {
    for (size_t i = 0; i < work->n_devices; i++) {
        const struct trace_head *head = &work->devices[i].head;
        raise_world(plan, head->world_size);
        if (head->rank < RANK_LIMIT)
            raise_world(plan, head->rank + 1);
    }
}

enum sutra_status job_plan_pair(struct job_plan *plan, const struct trace_files *hosts,
                                const struct trace_files *devices, struct sutra_error *error) {
    struct pairing_work work = {.plan = plan};
    struct arena *arena = &plan->arena;
    plan->left = arena_take(arena, hosts->n + devices->n, sizeof *plan->left);
    plan->pairs = arena_take(arena, devices->n, sizeof *plan->pairs);
    work.by_process = arena_take(arena, hosts->n, sizeof *work.by_process);
    work.by_number = arena_take(arena, hosts->n, sizeof *work.by_number);
    enum sutra_status status = arena_status(arena, error);
    if (!status)
        status = look_at_side(plan, hosts, SIDE_HOST, &work.hosts, &work.n_hosts, error);
    if (!status)
        status = look_at_side(plan, devices, SIDE_DEVICE, &work.devices, &work.n_devices, error);
    if (status)
        return status;
    for (size_t i = 0; i < work.n_hosts; i++)
        work.by_process[i] = work.by_number[i] = i;
    for (size_t i = 0; i < work.n_devices; i++)
        if (work.devices[i].head.rank == NOT_TOLD)
            work.devices[i].head.rank = work.devices[i].number;
    qsort_r(work.by_process, work.n_hosts, sizeof *work.by_process, compare_processes, work.hosts);
    qsort_r(work.by_number, work.n_hosts, sizeof *work.by_number, compare_numbers, work.hosts);
    qsort(work.devices, work.n_devices, sizeof *work.devices, compare_ranks);
    pair_devices(&work);
    tell_lonely_hosts(&work);
    find_world(plan, &work);
    return arena_status(arena, error);
}

/* ---- A table ---- */

/* Whether the files of a row may be of this rank; what speaks against it is told of the device trace. */
static bool row_holds(struct job_plan *plan, const struct rank_pair *pair) {
    const struct trace_head *host = &pair->host.head, *device = &pair->device.head;
    if (host->side != SIDE_HOST || device->side != SIDE_DEVICE)
        leave_out(plan, pair->device.path, "rank %" PRId64 ": %s is no %s trace by its beginning", pair->rank,
                  host->side != SIDE_HOST ? pair->host.path : pair->device.path,
                  host->side != SIDE_HOST ? "host" : "device");
    else if (device->rank != NOT_TOLD && device->rank != pair->rank)
        leave_out(plan, pair->device.path, "rank %" PRId64 " in the table, but it says that it is of rank %" PRId64,
                  pair->rank, device->rank);
    else if (host->pid != NOT_TOLD && device->pid != NOT_TOLD && host->pid != device->pid)
        leave_out(plan, pair->device.path,
                  "rank %" PRId64 ": of process %" PRId64 ", but %.200s is of process %" PRId64, pair->rank,
                  device->pid, base_name(pair->host.path), host->pid);
    else
        return true;
    return false;
}

static enum sutra_status read_row(struct job_plan *plan, char *line, const char *table, uint64_t number,
                                  struct sutra_error *error) {
    char *end, *host = strchr(line, '\t'), *device = host ? strchr(host + 1, '\t') : NULL;
    struct rank_pair pair = {.by = PAIR_BY_TABLE, .rank = strtoll(line, &end, 10)};
    if (!device || end != host || end == line || pair.rank < 0)
        return error_file(error, SUTRA_DATA, table,
                          "line %" PRIu64 ": expected a rank, a host trace and a device trace with tabs between",
                          number);
    if (pair.rank >= RANK_LIMIT)
        return error_file(error, SUTRA_DATA, table, "line %" PRIu64 ": rank %.*s is out of range (0 to %d)", number,
                          (int)(host - line < 40 ? host - line : 40), line, RANK_LIMIT - 1);
    *host++ = *device++ = 0;
    device[strcspn(device, "\t")] = 0;
    enum sutra_status status = look_at_file(plan, host, &pair.host, error);
    if (!status)
        status = look_at_file(plan, device, &pair.device, error);
    if (!status && row_holds(plan, &pair))
        plan->pairs[plan->n_pairs++] = pair;
    if (!status)
        raise_world(plan, pair.device.head.world_size);
    return status;
}

ORDER_BY(compare_pairs, struct rank_pair, ASCENDING(rank) ASCENDING_TEXT(device.path))

/* Ranks that stand there twice go out. */
static void drop_twice(struct job_plan *plan) {
    size_t n = 0;
    for (size_t begin = 0, end; begin < plan->n_pairs; begin = end) {
        for (end = begin + 1; end < plan->n_pairs && plan->pairs[end].rank == plan->pairs[begin].rank; end++)
            continue;
        for (size_t i = begin; i < end && end - begin > 1; i++)
            leave_out(plan, plan->pairs[i].device.path, "rank %" PRId64 " is in the table more than once",
                      plan->pairs[i].rank);
        if (end - begin == 1)
            plan->pairs[n++] = plan->pairs[begin];
    }
    plan->n_pairs = n;
}

static enum sutra_status read_rows(struct job_plan *plan, char *text, const char *table, struct sutra_error *error) {
    enum sutra_status status = SUTRA_OK;
    size_t n_lines = 1, number = 0;
    for (const char *at = text; *at; at++)
        n_lines += *at == '\n';
    plan->pairs = arena_take(&plan->arena, n_lines, sizeof *plan->pairs);
    plan->left = arena_take(&plan->arena, n_lines, sizeof *plan->left);
    status = arena_status(&plan->arena, error);
    text += strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* as spreadsheets begin a text */
    for (char *line = text, *next; line && !status; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        line[strcspn(line, "\r")] = 0;
        number++;
        if (*line && *line != '#')
            status = read_row(plan, line, table, number, error);
    }
    if (status)
        return status;
    if (plan->n_pairs > 0)
        qsort(plan->pairs, plan->n_pairs, sizeof *plan->pairs, compare_pairs);
    drop_twice(plan);
    if (plan->n_pairs > 0)
        raise_world(plan, plan->pairs[plan->n_pairs - 1].rank + 1);
    return arena_status(&plan->arena, error);
}

enum sutra_status job_text_read(FILE *file, const char *path, char **text, struct sutra_error *error) {
    size_t capacity = 0;
    enum sutra_status status = SUTRA_OK;
    *text = NULL;
    errno = 0;
    ssize_t length = getdelim(text, &capacity, 0, file);
    if (length < 0 && errno == ENOMEM)
        status = error_memory(error);
    else if (length < 0 && ferror(file))
        status = error_file(error, SUTRA_IO, path, "cannot be read: %s", strerror(errno));
    else if (length < 0)
        status = error_file(error, SUTRA_DATA, path, "is empty");
    else if ((*text)[length - 1] == 0)
        status = error_file(error, SUTRA_DATA, path, "byte %zd: a NUL, where text is expected", length - 1);
    if (!status)
        return SUTRA_OK;
    free(*text);
    *text = NULL;
    return status;
}

enum sutra_status job_plan_read(struct job_plan *plan, const char *table, struct sutra_error *error) {
    FILE *file = fopen(table, "re");
    char *text;
    if (!file)
        return error_file(error, SUTRA_NO_INPUT, table, "%s", strerror(errno));
    enum sutra_status status = job_text_read(file, table, &text, error);
    fclose(file);
    if (!status)
        status = read_rows(plan, text, table, error);
    free(text);
    return status;
}

void job_plan_free(struct job_plan *plan) {
    arena_free(&plan->arena);
    *plan = (struct job_plan){0};
}
