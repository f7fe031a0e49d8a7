/*
 * info_et.c - prints the contents of an .et file, as text or JSON.
 */
#include "cli/simulate/info_et.h"

#include <inttypes.h>
#include <stdio.h>

#include "cli/tool/figures.h"
#include "cli/tool/info_rows.h"
#include "cli/tool/json_text.h"
#include "cli/tool/screen.h"

#define GROUP_WIDTH 12 /* of a group's name */

/* ---- Communication ---- */

static void print_traffic(const struct sutra_et_info *info) {
    if (info->n_traffic > 0)
        printf("%16s  %s\n", "communications", "type, process group, bytes");
    for (uint64_t i = 0; i < info->n_traffic; i++) {
        const struct sutra_et_traffic *row = &info->traffic[i];
        printf("%16s  %s, %s%s, %s", count_text(row->count).text, row->type, *row->group ? "group " : "all ranks",
               short_text(row->group, GROUP_WIDTH).text, bytes_text(row->bytes).text);
        if (row->bytes_least != row->bytes_most)
            printf(" (%s to %s each)", bytes_text(row->bytes_least).text, bytes_text(row->bytes_most).text);
        printf("\n");
    }
}

static void print_traffic_json(const struct sutra_et_info *info) {
    printf(",\n  \"communication\": [");
    for (uint64_t i = 0; i < info->n_traffic; i++) {
        const struct sutra_et_traffic *row = &info->traffic[i];
        printf("%s\n    {\"type\": \"%s\", \"group\": ", i ? "," : "", row->type);
        json_string_print(stdout, row->group);
        printf(", \"count\": %" PRIu64 ", \"bytes\": %" PRIu64 ", \"bytes_least\": %" PRIu64
               ", \"bytes_most\": %" PRIu64 "}",
               row->count, row->bytes, row->bytes_least, row->bytes_most);
    }
    printf("%s]", info->n_traffic ? "\n  " : "");
}

/* ---- The file ---- */

static void print_info(const char *path, const struct sutra_et_info *info, bool json) {
    const uint64_t *types = info->n_of_type;
    const struct info_row counts[] = {
        {"bytes", "bytes", info->n_bytes},
        {"nodes", "nodes", info->n_nodes},
        {"cpu", "  on the CPU", info->n_cpu},
        {"gpu", "  on the GPU", info->n_gpu},
        {"computation", "  computation", types[4]},
        {"collectives", "  collectives", types[7]},
        {"sends", "  sends", types[5]},
        {"receives", "  receives", types[6]},
        {"memory", "  loads and stores", types[2] + types[3]},
        {"metadata", "  metadata", types[1]},
        {"others", "  without a known type", types[0] + types[SUTRA_ET_OTHER]},
        {"control_dependencies", "control dependencies", info->n_ctrl},
        {"data_dependencies", "data dependencies", info->n_data},
        {"absent", "  on absent nodes", info->n_absent},
        {"cyclic", "nodes in or after a dependency cycle", info->n_cyclic},
        {"levels", "nodes in the longest dependency chain", info->n_levels},
        {"width", "nodes in the widest level of dependencies", info->width},
    };
    const struct info_row times[] = {
        {"us_least", "us: shortest duration", info->us_least},
        {"us_most", "us: longest duration", info->us_most},
        {"us_total", "us: total duration", info->us_total},
        {"critical_us", "us: longest dependency chain by duration", info->critical_us},
    };
    info_head_print(path, json ? "et" : "Chakra", json);
    info_schema_print(info->schema, json);
    info_rows_print(counts, sizeof counts / sizeof *counts, json);
    info_rows_print(times, sizeof times / sizeof *times, json);
    (json ? print_traffic_json : print_traffic)(info);
    if (json)
        printf("\n}\n");
}

enum sutra_status info_et_show(struct job *job, const char *path, bool json, struct sutra_error *error) {
    struct sutra_et *et = NULL;
    struct sutra_et_info info = {.size = sizeof info};
    enum sutra_status status = sutra_et_read(job->context, path, NULL, &et, error);
    if (!status)
        status = sutra_et_info(job->context, et, &info, error);
    progress_clear(&job->watch.progress);
    if (!status)
        print_info(path, &info, json);
    sutra_et_free(et);
    return status;
}
