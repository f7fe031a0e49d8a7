/*
 * plan.c - implements the first section of rank_link.h: pairs the host traces and device traces of a job.
 *
 *     hosts by (process, number)   8123 0   8164 1   8205 2  ...     a device trace searches its process id here,
 *     hosts by number              0 8123   1 8164   2 8205  ...     and without a process id its rank here
 */
#include "job/rank_link.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "context/context.h"
#include "facts/processes.h"
#include "read/device_trace.h"
#include "read/source.h"
#include "text/numbers.h"
#include "text/strings.h"

const char *const pair_by_names[] = {[PAIR_BY_PROCESS] = "process",
                                     [PAIR_BY_PROCESS_AND_NAME] = "process and name",
                                     [PAIR_BY_NAME] = "name",
                                     [PAIR_BY_TABLE] = "table"};

/* Tolerance of start times: host traces record the local time of an unknown time zone. */
#define DAY_SECONDS 86400.0

struct plan_pairing {
    struct job_plan *plan;
    struct trace_file *hosts, *devices;
    size_t n_hosts, n_devices;
    size_t *by_process, *by_number; /* hosts */
};

/* Records why a file is skipped. */
__attribute__((format(printf, 3, 4))) static void skip(struct job_plan *plan, const char *path, const char *format,
                                                       ...) {
    va_list words;
    va_start(words, format);
    plan->left[plan->n_left++] = (struct left_file){.path = arena_format(&plan->arena, "%s", path),
                                                    .why = arena_vformat(&plan->arena, format, words)};
    va_end(words);
}

/* A device trace, and the host trace that appears to belong to it. */
struct device_claim {
    const struct trace_file *device;
    struct trace_file *host;
    enum pair_by by;
};

/* ---- Files ---- */

static enum sutra_status read_head(struct job_plan *plan, const char *path, struct trace_file *file,
                                   struct sutra_error *error) {
    *file =
        (struct trace_file){.path = arena_text(&plan->arena, path, strlen(path)), .number = trace_name_number(path)};
    TRY_ALLOC(file->path, error);
    return trace_head_read(path, plan->lenient, &file->head, error);
}

/* Reads the heads of files that should be traces of one side, keeps the ones that are, and records the others. */
static enum sutra_status read_heads(struct job_plan *plan, const struct trace_files *given, enum trace_side side,
                                    struct trace_file **files, size_t *n_files, struct sutra_error *error) {
    static const char *const kinds[] = {[SIDE_HOST] = "host", [SIDE_DEVICE] = "device"};
    *files = arena_alloc(&plan->arena, given->n, sizeof **files);
    *n_files = 0;
    for (size_t i = 0; i < given->n && *files; i++) {
        const char *path = given->paths[i];
        struct trace_file *file = &(*files)[*n_files];
        struct sutra_error why;
        enum sutra_status status = read_head(plan, path, file, &why);
        const bool is_known = given->mixed && side == SIDE_DEVICE; /* listed when the host traces were read */
        if (status && status != SUTRA_NO_INPUT)
            return error_copy(error, status, &why);
        if (!status && file->head.side == side) {
            if (given->ranks)
                file->number = file->head.rank = given->ranks[i];
            ++*n_files;
        } else if (is_known || (!status && given->mixed && file->head.side != SIDE_UNKNOWN))
            continue;
        else if (status)
            skip(plan, path, "%s", why.message);
        else if (file->head.bytes == 0)
            skip(plan, path, "is empty");
        else if (file->head.side == SIDE_UNKNOWN)
            skip(plan, path, "no %s%strace by its beginning", given->mixed ? "" : kinds[side], given->mixed ? "" : " ");
        else
            skip(plan, path, "a %s trace, where %s traces are expected", kinds[file->head.side], kinds[side]);
    }
    return arena_status(&plan->arena, error);
}

/* The only device trace may have several ranks (facts/processes.h): replaces it by FILE/rank0 and so on. A trace that
 * cannot be read remains, since linking reports why. */
static enum sutra_status list_ranks(struct plan_pairing *pairing, struct sutra_error *error) {
    const struct sutra_context_options options = {
        .size = sizeof options, .device = SUTRA_DEVICE_CPU, .lenient = pairing->plan->lenient};
    struct job_plan *plan = pairing->plan;
    const struct trace_file *file = pairing->devices;
    struct sutra_device_trace *trace = NULL;
    struct sutra_context *context;
    struct sutra_error why;
    enum sutra_status status = SUTRA_OK;
    TRY(sutra_context_create(&options, &context, error));
    context->keeps_processes = true;
    const struct trace_processes *processes =
        sutra_device_trace_read(context, file->path, &trace, &why) ? NULL : trace->processes;
    if (processes_are_ranks(processes) && processes->n_shared) {
        processes_refuse(processes, &trace->document.source, &why);
        skip(plan, file->path, "%s", why.message);
        pairing->n_devices = 0;
    } else if (processes_are_ranks(processes)) {
        const uint32_t n = processes->n_ranks;
        struct trace_file *ranks = arena_alloc(&plan->arena, n, sizeof *ranks);
        struct left_file *left = arena_alloc(&plan->arena, pairing->n_hosts + plan->n_left + n, sizeof *left);
        for (uint32_t i = 0; i < n && ranks && left; i++) {
            const struct trace_process *process = &processes->list[i];
            ranks[i] = *file;
            ranks[i].path = arena_format(&plan->arena, RANK_PATH, file->path, process->rank);
            ranks[i].head.rank = process->rank;
            if (!integer_find_last(process->pid, strlen(process->pid), &ranks[i].head.pid))
                ranks[i].head.pid = NOT_RECORDED;
        }
        if (ranks && left && plan->n_left)
            memcpy(left, plan->left, plan->n_left * sizeof *left);
        plan->left = left;
        pairing->devices = ranks;
        pairing->n_devices = n;
        status = arena_status(&plan->arena, error);
    }
    sutra_device_trace_free(trace);
    sutra_context_free(context);
    return status;
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

/* By rank, so that device traces of the same rank are adjacent. */
ORDER_BY(compare_ranks, struct trace_file, ASCENDING(head.rank) ASCENDING_TEXT(path))

static bool is_process_before(const struct trace_file *host, int64_t pid, int64_t number) {
    return host->head.pid < pid || (host->head.pid == pid && host->number < number);
}

/* The first host in `by_process` whose process id and number are not below these. */
static size_t first_process(const struct plan_pairing *pairing, int64_t pid, int64_t number) {
    size_t i;
    BISECT(i, pairing->n_hosts, is_process_before(&pairing->hosts[pairing->by_process[i]], pid, number));
    return i;
}

static size_t first_number(const struct plan_pairing *pairing, int64_t number) {
    size_t i;
    BISECT(i, pairing->n_hosts, pairing->hosts[pairing->by_number[i]].number < number);
    return i;
}

/* ---- The host trace of a device trace ---- */

/* The only host in order[begin..end) recorded within a day of the device trace; NULL: none, or several. */
static struct trace_file *only_one(const struct plan_pairing *pairing, const size_t *order, size_t begin, size_t end,
                                   const struct trace_file *device) {
    struct trace_file *found = NULL;
    for (size_t i = begin; i < end; i++) {
        struct trace_file *host = &pairing->hosts[order[i]];
        double apart = device->head.begin - host->head.begin;
        bool has_times = host->head.begin != 0 && device->head.begin != 0;
        if (has_times && (apart <= -DAY_SECONDS || apart >= DAY_SECONDS))
            continue;
        if (found)
            return NULL;
        found = host;
    }
    return found;
}

/* The host trace of a process; if the process has several, the one with the rank in its name. */
static struct trace_file *find_host_of_process(const struct plan_pairing *pairing, const struct trace_file *device,
                                               int64_t pid, enum pair_by *by) {
    int64_t rank = device->head.rank;
    struct trace_file *host = only_one(pairing, pairing->by_process, first_process(pairing, pid, INT64_MIN),
                                       first_process(pairing, pid, INT64_MAX), device);
    *by = pid == NOT_RECORDED ? PAIR_BY_NAME : PAIR_BY_PROCESS;
    if (host && pid != NOT_RECORDED)
        return host;
    *by = pid == NOT_RECORDED ? PAIR_BY_NAME : PAIR_BY_PROCESS_AND_NAME;
    return only_one(pairing, pairing->by_process, first_process(pairing, pid, rank),
                    first_process(pairing, pid, rank + 1), device);
}

static struct trace_file *find_host_of_rank(const struct plan_pairing *pairing, const struct trace_file *device) {
    int64_t rank = device->head.rank;
    return only_one(pairing, pairing->by_number, first_number(pairing, rank), first_number(pairing, rank + 1), device);
}

/* Whether no other device trace has the rank of device trace i; otherwise it is skipped. Devices are sorted by rank. */
static bool has_unique_rank(const struct plan_pairing *pairing, size_t i) {
    const struct trace_file *device = &pairing->devices[i];
    bool twice = (i > 0 && device[-1].head.rank == device->head.rank) ||
                 (i + 1 < pairing->n_devices && device[1].head.rank == device->head.rank);
    bool in_range = device->head.rank >= 0 && device->head.rank < RANK_LIMIT;
    if (device->head.rank == NOT_RECORDED)
        skip(pairing->plan, device->path, "neither the trace nor its name contains a rank");
    else if (!in_range)
        skip(pairing->plan, device->path, "rank %" PRId64 " is out of range (0 to %d)", device->head.rank,
             RANK_LIMIT - 1);
    else if (twice)
        skip(pairing->plan, device->path, "rank %" PRId64 " is recorded in several device traces", device->head.rank);
    return in_range && !twice;
}

static void pair_devices(struct plan_pairing *pairing) {
    struct job_plan *plan = pairing->plan;
    struct device_claim *claims = arena_alloc(&plan->arena, pairing->n_devices, sizeof *claims);
    size_t n = 0;
    for (size_t i = 0; i < pairing->n_devices && claims; i++) {
        if (!has_unique_rank(pairing, i))
            continue;
        struct device_claim claim = {.device = &pairing->devices[i], .by = PAIR_BY_NAME};
        int64_t pid = claim.device->head.pid;
        if (pid == NOT_RECORDED)
            claim.host = find_host_of_rank(pairing, claim.device);
        else
            claim.host = find_host_of_process(pairing, claim.device, pid, &claim.by);
        if (!claim.host && pid != NOT_RECORDED)
            claim.host = find_host_of_process(pairing, claim.device, NOT_RECORDED, &claim.by);
        if (claim.host)
            claim.host->n_claims++;
        claims[n++] = claim;
    }
    /* a host trace that several device traces claim belongs to the one with the rank in its name, or to none */
    for (size_t i = 0; i < n; i++) {
        const struct trace_file *device = claims[i].device;
        struct trace_file *host = claims[i].host;
        int64_t rank = device->head.rank;
        if (host) {
            host->is_paired = true;
            if (host->n_claims == 1 || host->number == rank)
                plan->pairs[plan->n_pairs++] =
                    (struct rank_pair){.rank = rank,
                                       .host = *host,
                                       .device = *device,
                                       .by = host->n_claims == 1 ? claims[i].by : PAIR_BY_PROCESS_AND_NAME};
            else
                skip(plan, device->path, "rank %" PRId64 ": its host trace, %.200s, may belong to another rank", rank,
                     path_file_name(host->path));
            continue;
        }
        const struct trace_file *named = find_host_of_rank(pairing, device);
        if (named && !named->is_paired && named->head.pid != NOT_RECORDED && device->head.pid != NOT_RECORDED &&
            named->head.pid != device->head.pid)
            skip(plan, device->path,
                 "rank %" PRId64 " of process %" PRId64 ", and no host trace is: %.200s is of process %" PRId64, rank,
                 device->head.pid, path_file_name(named->path), named->head.pid);
        else
            skip(plan, device->path, "rank %" PRId64 ": no host trace, or more than one, is of its process or name",
                 rank);
    }
    for (size_t i = 0; i < pairing->n_hosts; i++)
        if (!pairing->hosts[i].is_paired)
            skip(plan, pairing->hosts[i].path, "no device trace is of its process or name");
}

/* Raises the number of ranks of the job to n_ranks; a number out of range is ignored. */
static void raise_world(struct job_plan *plan, int64_t n_ranks) {
    if (n_ranks <= RANK_LIMIT && n_ranks > plan->world_size)
        plan->world_size = n_ranks;
}

enum sutra_status job_plan_pair(struct job_plan *plan, const struct trace_files *hosts,
                                const struct trace_files *devices, struct sutra_error *error) {
    struct plan_pairing pairing = {.plan = plan};
    struct arena *arena = &plan->arena;
    plan->left = arena_alloc(arena, hosts->n + devices->n, sizeof *plan->left);
    pairing.by_process = arena_alloc(arena, hosts->n, sizeof *pairing.by_process);
    pairing.by_number = arena_alloc(arena, hosts->n, sizeof *pairing.by_number);
    TRY(arena_status(arena, error));
    TRY(read_heads(plan, hosts, SIDE_HOST, &pairing.hosts, &pairing.n_hosts, error));
    TRY(read_heads(plan, devices, SIDE_DEVICE, &pairing.devices, &pairing.n_devices, error));
    if (pairing.n_devices == 1 && pairing.n_hosts > 1)
        TRY(list_ranks(&pairing, error));
    plan->pairs = arena_alloc(arena, pairing.n_devices, sizeof *plan->pairs);
    for (size_t i = 0; i < pairing.n_hosts; i++)
        pairing.by_process[i] = pairing.by_number[i] = i;
    for (size_t i = 0; i < pairing.n_devices; i++)
        if (pairing.devices[i].head.rank == NOT_RECORDED)
            pairing.devices[i].head.rank = pairing.devices[i].number;
    qsort_r(pairing.by_process, pairing.n_hosts, sizeof *pairing.by_process, compare_processes, pairing.hosts);
    qsort_r(pairing.by_number, pairing.n_hosts, sizeof *pairing.by_number, compare_numbers, pairing.hosts);
    qsort(pairing.devices, pairing.n_devices, sizeof *pairing.devices, compare_ranks);
    pair_devices(&pairing);
    for (size_t i = 0; i < pairing.n_devices; i++) {
        const struct trace_head *head = &pairing.devices[i].head;
        raise_world(plan, head->world_size);
        if (head->rank < RANK_LIMIT)
            raise_world(plan, head->rank + 1);
    }
    return arena_status(arena, error);
}

/* ---- A table ---- */

/* Whether the files of a row may belong to this rank; otherwise the device trace is skipped with the reason. */
static bool check_row(struct job_plan *plan, const struct rank_pair *pair) {
    const struct trace_head *host = &pair->host.head, *device = &pair->device.head;
    if (host->side != SIDE_HOST || device->side != SIDE_DEVICE)
        skip(plan, pair->device.path, "rank %" PRId64 ": %s is no %s trace by its beginning", pair->rank,
             host->side != SIDE_HOST ? pair->host.path : pair->device.path,
             host->side != SIDE_HOST ? "host" : "device");
    else if (device->rank != NOT_RECORDED && device->rank != pair->rank)
        skip(plan, pair->device.path, "rank %" PRId64 " in the table, but it says that it is of rank %" PRId64,
             pair->rank, device->rank);
    else if (host->pid != NOT_RECORDED && device->pid != NOT_RECORDED && host->pid != device->pid)
        skip(plan, pair->device.path, "rank %" PRId64 ": of process %" PRId64 ", but %.200s is of process %" PRId64,
             pair->rank, device->pid, path_file_name(pair->host.path), host->pid);
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
                          (int)MIN(host - line, 40), line, RANK_LIMIT - 1);
    *host++ = *device++ = 0;
    device[strcspn(device, "\t")] = 0;
    TRY(read_head(plan, host, &pair.host, error));
    TRY(read_head(plan, device, &pair.device, error));
    if (check_row(plan, &pair))
        plan->pairs[plan->n_pairs++] = pair;
    raise_world(plan, pair.device.head.world_size);
    return SUTRA_OK;
}

ORDER_BY(compare_pairs, struct rank_pair, ASCENDING(rank) ASCENDING_TEXT(device.path))

/* Skips ranks that the table contains several times. */
static void skip_duplicates(struct job_plan *plan) {
    size_t n = 0;
    for (size_t begin = 0, end; begin < plan->n_pairs; begin = end) {
        for (end = begin + 1; end < plan->n_pairs && plan->pairs[end].rank == plan->pairs[begin].rank; end++)
            continue;
        for (size_t i = begin; i < end && end - begin > 1; i++)
            skip(plan, plan->pairs[i].device.path, "rank %" PRId64 " is in the table more than once",
                 plan->pairs[i].rank);
        if (end - begin == 1)
            plan->pairs[n++] = plan->pairs[begin];
    }
    plan->n_pairs = n;
}

static enum sutra_status read_rows(struct job_plan *plan, char *text, const char *table, struct sutra_error *error) {
    size_t n_lines = 1, number = 0;
    for (const char *at = text; *at; at++)
        n_lines += *at == '\n';
    plan->pairs = arena_alloc(&plan->arena, n_lines, sizeof *plan->pairs);
    plan->left = arena_alloc(&plan->arena, n_lines, sizeof *plan->left);
    TRY(arena_status(&plan->arena, error));
    text += strncmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* byte order mark, as spreadsheets write it */
    for (char *line = text, *next; line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = 0;
        line[strcspn(line, "\r")] = 0;
        number++;
        if (*line && *line != '#')
            TRY(read_row(plan, line, table, number, error));
    }
    qsort(plan->pairs, plan->n_pairs, sizeof *plan->pairs, compare_pairs);
    skip_duplicates(plan);
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
        status = error_os(error, SUTRA_IO, path, errno, "cannot be read");
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
        return error_os(error, SUTRA_NO_INPUT, table, errno, "");
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
