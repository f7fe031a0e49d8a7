/*
 * nsys_parts.c - the rows of a report: adding them in parts, by several threads, and joining the parts.
 *
 *     report   | part 0 ....  | part 1 ...... | part 2 |       in place, if the numbers of rows are known before
 *
 * Joining numbers names for all parts, resolves domains and processes, and closes gaps. O(rows).
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/shared.h"
#include "columns/column.h"
#include "read/nsys.h"
#include "text/strings.h"

static const struct column_form event_forms[] = {
#define X(type, name) {offsetof(struct nsys_events, name), sizeof(type)},
    NSYS_EVENT_COLUMNS(X)
#undef X
};
#define N_FORMS (sizeof event_forms / sizeof *event_forms)

void nsys_report_free(struct nsys_report *report) {
    columns_free(&report->events, event_forms, N_FORMS);
    strings_free(&report->names);
    free(report->gpus);
    free(report->ranges);
    free(report->payloads);
    arena_free(&report->arena);
    *report = (struct nsys_report){0};
}

/* ---- Parts ---- */

void nsys_part_free(struct nsys_part *part) {
    if (!part->is_shared) {
        columns_free(&part->events, event_forms, N_FORMS);
        free(part->gpus);
        free(part->ranges);
    }
    free(part->domains);
    free(part->payloads);
    strings_free(&part->names);
    buffer_free(&part->scratch);
    *part = (struct nsys_part){0};
}

uint32_t nsys_intern(struct strings *names, struct buffer *scratch, const char *text, size_t n, bool *failed) {
    if (utf8_check(text, n) < n) {
        scratch->length = 0;
        visible_append_utf8(scratch, text, n);
        *failed |= scratch->failed;
        text = scratch->bytes;
        n = scratch->length;
    }
    uint32_t name = *failed ? STRING_NONE : strings_intern(names, text, n);
    *failed |= name >= NSYS_LOCAL;
    return name;
}

bool nsys_add_event(struct nsys_part *part, uint8_t category, int64_t start, int64_t end, int64_t process, int64_t tid,
                    int64_t correlation, uint32_t name) {
    struct nsys_events *events = &part->events;
    int64_t dur;
    if (start == NSYS_NONE || end == NSYS_NONE || end < start || __builtin_sub_overflow(end, start, &dur)) {
        part->skipped[SKIP_NO_TIME]++;
        return false;
    }
    if (events->n == events->capacity) {
        uint64_t capacity = events->n + events->n / 2 + 1024;
        part->failed |= part->is_shared || !columns_resize(events, event_forms, N_FORMS, capacity);
        if (part->failed)
            return false;
        events->capacity = capacity;
    }
    uint64_t i = events->n++;
    events->start[i] = start;
    events->dur[i] = dur;
    events->process[i] = process;
    events->tid[i] = tid;
    events->correlation[i] = correlation;
    events->name[i] = name;
    events->detail[i] = 0;
    events->category[i] = category;
    return true;
}

void nsys_add_gpu(struct nsys_part *part, uint8_t category, int64_t start, int64_t end, int64_t process, int64_t stream,
                  uint32_t name, int64_t correlation, const struct nsys_gpu *gpu) {
    if (part->n_gpus == part->gpus_capacity)
        part->failed |= part->is_shared || !column_grow(&part->gpus, part->n_gpus, &part->gpus_capacity, sizeof *gpu);
    if (part->failed || !nsys_add_event(part, category, start, end, process, stream, correlation, name))
        return;
    part->events.detail[part->events.n - 1] = (row_t)part->n_gpus;
    part->gpus[part->n_gpus++] = *gpu;
}

void nsys_add_range(struct nsys_part *part, uint8_t category, uint32_t name, const struct nsys_range *range) {
    const int64_t end = range->end == NSYS_NONE ? range->start : range->end, thread = range->thread & 0xffffff;
    if (part->n_ranges == part->ranges_capacity)
        part->failed |=
            part->is_shared || !column_grow(&part->ranges, part->n_ranges, &part->ranges_capacity, sizeof *range);
    if (part->failed)
        return;
    /* A range without an end ends with the last range, which is known when the parts are joined. */
    if (nsys_add_event(part, category, range->start, end, range->thread - thread, thread, NSYS_NONE, name))
        part->events.detail[part->events.n - 1] = (row_t)part->n_ranges;
    part->ranges[part->n_ranges++] = *range;
}

uint32_t nsys_split_label(struct nsys_part *part, struct nsys_range *range, const char *text, size_t n,
                          uint8_t *category) {
    struct nvtx_label label;
    *category = NSYS_ANNOTATION;
    range->is_emitted = range->domain_id == 0 && nvtx_label_read(text, n, &label);
    if (!range->is_emitted)
        return STRING_NONE;
    range->sequence = label.sequence;
    range->record = label.record;
    *category = label.is_annotation ? NSYS_ANNOTATION : NSYS_CPU_OP;
    if (label.sizes_length)
        range->sizes =
            nsys_intern(&part->names, &part->scratch, label.sizes, label.sizes_length, &part->failed) | NSYS_LOCAL;
    return nsys_intern(&part->names, &part->scratch, text, label.name_length, &part->failed) | NSYS_LOCAL;
}

bool nsys_share_columns(struct nsys_report *report, struct nsys_part *parts, const struct nsys_rows *rows, size_t n) {
    uint64_t n_events = 0, n_gpus = 0, n_ranges = 0;
    for (size_t i = 0; i < n; i++) {
        n_events += rows[i].n;
        n_gpus += rows[i].are_gpus ? rows[i].n : 0;
        n_ranges += rows[i].are_ranges ? rows[i].n : 0;
    }
    report->gpus = column_new(n_gpus, sizeof *report->gpus);
    report->ranges = column_new(n_ranges, sizeof *report->ranges);
    if (!report->gpus || !report->ranges || !columns_resize(&report->events, event_forms, N_FORMS, n_events + 1))
        return false;
    n_events = n_gpus = n_ranges = 0;
    for (size_t i = 0; i < n; i++) {
        struct nsys_part *part = &parts[i];
        part->is_shared = true;
        columns_view(&part->events, &report->events, event_forms, N_FORMS, n_events);
        part->gpus = report->gpus + n_gpus;
        part->ranges = report->ranges + n_ranges;
        part->events.capacity = rows[i].n;
        part->gpus_capacity = rows[i].are_gpus ? rows[i].n : 0;
        part->ranges_capacity = rows[i].are_ranges ? rows[i].n : 0;
        n_events += rows[i].n;
        n_gpus += part->gpus_capacity;
        n_ranges += part->ranges_capacity;
    }
    return true;
}

/* ---- Joining the parts ---- */

ORDER_BY(compare_domains, struct nsys_domain, ASCENDING(process) ASCENDING(domain) ASCENDING(row))

/* What the rows of a part depend on. */
struct joined {
    struct nsys_domain *domains; /* ascending */
    uint64_t n_domains;
    uint32_t empty;      /* the name "" */
    int64_t last_end;    /* of the ranges */
    int64_t gpu_process; /* of GPU activity whose process is not recorded */
};

static uint32_t joined_name(uint32_t name, const uint32_t *local) {
    return name != STRING_NONE && name & NSYS_LOCAL ? local[name & ~NSYS_LOCAL] : name;
}

static void join_domains(struct joined *joined, const struct nsys_part *part, const uint32_t *local) {
    for (uint64_t i = 0; i < part->n_domains; i++) {
        struct nsys_domain domain = part->domains[i];
        domain.row = joined->n_domains;
        domain.name = joined_name(domain.name, local);
        joined->domains[joined->n_domains++] = domain;
    }
}

static void join_ranges(struct nsys_report *report, const struct nsys_part *part, const struct joined *joined,
                        const uint32_t *local) {
    for (uint64_t i = 0; i < part->n_ranges; i++) {
        struct nsys_range range = part->ranges[i];
        struct nsys_domain wanted = {range.thread & ~(int64_t)0xffffff, range.domain_id, 0, 0};
        uint64_t at = joined->n_domains;
        if (range.domain_id)
            BISECT(at, joined->n_domains, compare_domains(&joined->domains[at], &wanted) < 0);
        const struct nsys_domain *found = at < joined->n_domains ? &joined->domains[at] : NULL;
        bool is_found = found && found->process == wanted.process && found->domain == wanted.domain;
        range.domain = is_found ? found->name : joined->empty;
        range.label = joined_name(range.label, local);
        range.sizes = joined_name(range.sizes, local);
        range.end = range.end == NSYS_NONE ? MAX(joined->last_end, range.start) : range.end;
        range.payload += range.payload ? (uint32_t)report->n_payloads : 0;
        report->ranges[report->n_ranges++] = range;
    }
    if (part->n_payloads)
        memcpy(report->payloads + report->n_payloads, part->payloads, part->n_payloads * sizeof *part->payloads);
    report->n_payloads += part->n_payloads;
}

/* Appends the events of a part that are of `process`, or all. */
static void join_events(struct nsys_report *report, const struct nsys_part *part, const struct joined *joined,
                        const uint32_t *local) {
    const struct nsys_events *from = &part->events;
    struct nsys_events *to = &report->events;
    const row_t gpu_base = (row_t)report->n_gpus, range_base = (row_t)(report->n_ranges - part->n_ranges);
    for (uint64_t i = 0; i < from->n; i++) {
        uint8_t category = from->category[i];
        int64_t process = from->process[i];
        bool has_range = category == NSYS_CPU_OP || category == NSYS_ANNOTATION;
        if (process == NSYS_NONE && nsys_is_gpu(category))
            process = joined->gpu_process;
        if (part->process != NSYS_NONE && process != part->process)
            continue;
        uint64_t row = to->n++;
        to->start[row] = from->start[i];
        to->dur[row] = from->dur[i];
        to->process[row] = process;
        to->tid[row] = from->tid[i];
        to->correlation[row] = from->correlation[i];
        to->name[row] = joined_name(from->name[i], local);
        to->detail[row] = from->detail[i] + (has_range ? range_base : gpu_base);
        to->category[row] = category;
        if (has_range)
            to->dur[row] = report->ranges[to->detail[row]].end - from->start[i];
    }
    if (part->n_gpus)
        memmove(report->gpus + report->n_gpus, part->gpus, part->n_gpus * sizeof *part->gpus);
    report->n_gpus += part->n_gpus;
}

enum sutra_status nsys_join_parts(struct nsys_report *report, struct nsys_part *parts, size_t n,
                                  struct sutra_error *error) {
    struct joined joined = {.empty = strings_intern(&report->names, "", 0), .gpu_process = NSYS_NONE};
    uint64_t n_events = 0, n_gpus = 0, n_ranges = 0, n_domains = 0, n_payloads = 0;
    bool has_call_processes = false;
    int64_t first_start = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        const struct nsys_part *part = &parts[i];
        n_events += part->events.n;
        n_gpus += part->n_gpus;
        n_ranges += part->n_ranges;
        n_domains += part->n_domains;
        n_payloads += part->n_payloads;
        first_start = MIN(first_start, part->first_start);
        joined.last_end = MAX(joined.last_end, part->last_end);
        for (int skip = 0; skip < NSYS_N_SKIPS; skip++)
            report->skipped[skip] += part->skipped[skip];
        if (part->call_process == NSYS_NONE)
            continue;
        has_call_processes |=
            part->has_call_processes || (joined.gpu_process != NSYS_NONE && joined.gpu_process != part->call_process);
        joined.gpu_process = part->call_process;
    }
    if (has_call_processes || joined.gpu_process == NSYS_NONE)
        joined.gpu_process = 0;
    report->first_start = first_start == INT64_MAX ? NSYS_NONE : first_start;
    if (n_events > ROW_LIMIT || n_ranges > ROW_LIMIT)
        return error_set(error, SUTRA_DATA, "more than %u events in the report: record a shorter time", ROW_LIMIT);

    uint32_t **local = calloc(n + 1, sizeof *local);
    joined.domains = column_new(n_domains, sizeof *joined.domains);
    report->payloads = column_new(n_payloads, sizeof *report->payloads);
    bool ok = local && joined.domains && report->payloads && joined.empty != STRING_NONE;
    if (ok && !report->gpus) { /* the parts have columns of their own */
        report->gpus = column_new(n_gpus, sizeof *report->gpus);
        report->ranges = column_new(n_ranges, sizeof *report->ranges);
        ok = report->gpus && report->ranges && columns_resize(&report->events, event_forms, N_FORMS, n_events + 1);
    }
    for (size_t i = 0; i < n && ok; i++) {
        local[i] = strings_join(&report->names, &parts[i].names);
        ok = local[i] && report->names.n < NSYS_LOCAL;
    }
    for (size_t i = 0; i < n && ok; i++)
        join_domains(&joined, &parts[i], local[i]);
    if (ok)
        qsort(joined.domains, joined.n_domains, sizeof *joined.domains, compare_domains);
    for (size_t i = 0; i < n && ok; i++) {
        join_ranges(report, &parts[i], &joined, local[i]);
        join_events(report, &parts[i], &joined, local[i]);
    }
    for (size_t i = 0; i < n && local; i++)
        free(local[i]);
    free(local);
    free(joined.domains);
    return ok ? SUTRA_OK : error_memory(error);
}
