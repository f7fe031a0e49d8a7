/*
 * fuzz_rank_table.c - fuzzes rank tables: the input is a table in which @H and @D name a host and a device trace. It
 * gives pairs by ascending rank, or an error.
 */
#include "fuzz_job.h"

static const char host[] = "{\"schema\": \"1.1.1-chakra.0.0.4\", \"pid\": 7, \"nodes\": []}";
static const char device[] = "{\"distributedInfo\": {\"world_size\": 4}, \"traceEvents\": []}";

/* Writes the table with the names of the traces in it. */
static void write_table(const char *data, size_t size) {
    char names[2][128];
    snprintf(names[0], sizeof names[0], "%s", fuzz_path("host.json"));
    snprintf(names[1], sizeof names[1], "%s", fuzz_path("device.json"));
    FILE *file = fopen(fuzz_path("table"), "wb");
    check(file, "a table can be written");
    for (size_t i = 0; i < size; i++) {
        bool is_name = data[i] == '@' && i + 1 < size && (data[i + 1] == 'H' || data[i + 1] == 'D');
        if (is_name)
            fputs(names[data[++i] == 'D'], file);
        else
            fputc(data[i], file);
    }
    check(fclose(file) == 0, "a table can be written");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct job_plan plan = {0};
    struct sutra_error error;
    char table[128];
    fuzz_file("host.json", host, sizeof host - 1);
    fuzz_file("device.json", device, sizeof device - 1);
    write_table((const char *)data, size);
    snprintf(table, sizeof table, "%s", fuzz_path("table"));
    enum sutra_status status = job_plan_read(&plan, table, &error);
    check(status == SUTRA_OK || (error.status == status && *error.message), "an error has a reason");
    for (size_t i = 0; i < plan.n_pairs && !status; i++) {
        check(plan.pairs[i].rank >= 0 && plan.pairs[i].rank < plan.world_size, "ranks are of the job");
        check(i == 0 || plan.pairs[i - 1].rank < plan.pairs[i].rank, "ranks ascend");
    }
    check(plan.world_size >= 0 && plan.world_size <= RANK_LIMIT, "a job has a size");
    job_plan_free(&plan);
    return 0;
}
