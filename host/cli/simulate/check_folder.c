/*
 * check_folder.c - prints the findings of a linked job, from the records in its directory.
 */
#include "cli/simulate/check_folder.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/tool/figures.h"
#include "cli/tool/json_text.h"
#include "cli/tool/message.h"
#include "cli/tool/paths.h"
#include "cli/tool/screen.h"
#include "job/whole.h"

static void print_text(const struct job_whole *whole) {
    for (uint64_t i = 0; i < whole->n_findings; i++) {
        const struct job_finding *finding = &whole->findings[i];
        printf("%-8s %s%s%s\n         ", check_severity_names[finding->severity], finding->rule,
               *finding->ranks ? ": rank " : "", finding->ranks);
        wrapped_print(finding->text, 9, 9);
    }
    printf("%s of %s linked, %s: %s\n", count_text(whole->n_done).text,
           counted_text((uint64_t)whole->world_size, "rank", "ranks").text,
           counted_text(whole->calls.n, "collective", "collectives").text,
           counted_text(whole->n_errors, "error", "errors").text);
}

static void print_finding_json(const struct job_finding *finding) {
    const char *const texts[][2] = {{"{\"severity\": ", check_severity_names[finding->severity]},
                                    {", \"rule\": ", finding->rule},
                                    {", \"ranks\": ", finding->ranks},
                                    {", \"text\": ", finding->text}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        fputs(texts[i][0], stdout);
        json_string_print(stdout, texts[i][1]);
    }
    putchar('}');
}

static void print_json(const struct job_whole *whole) {
    printf("{\n  \"world_size\": %" PRId64 ",\n  \"linked\": %zu,\n  \"collectives\": %" PRIu64
           ",\n  \"errors\": %" PRIu64 ",\n  \"findings\": [",
           whole->world_size, whole->n_done, whole->calls.n, whole->n_errors);
    for (uint64_t i = 0; i < whole->n_findings; i++) {
        printf("%s\n    ", i ? "," : "");
        print_finding_json(&whole->findings[i]);
    }
    printf("%s],\n  \"clocks\": [", whole->n_findings ? "\n  " : "");
    for (row_t i = 0; i < whole->n_hosts; i++) {
        const struct host_clock *host = &whole->hosts[i];
        printf("%s\n    {\"host\": %" PRId64 ", \"first_rank\": %" PRId64 ", \"last_rank\": %" PRId64
               ", \"offset_us\": %.3f, \"spread_us\": %.3f}",
               i ? "," : "", host->host, host->first_rank, host->last_rank, (double)host->offset_ns / 1e3,
               (double)host->spread_ns / 1e3);
    }
    printf("%s]\n}\n", whole->n_hosts ? "\n  " : "");
}

bool is_linked_job(const char *folder) {
    char *plan = NULL;
    bool is_job = path_is_folder(folder) && record_read(folder, "plan", &plan, NULL) != SUTRA_NO_INPUT;
    free(plan);
    return is_job;
}

int check_folder(const char *folder, bool json, bool quiet) {
    struct job_whole whole;
    struct sutra_error error;
    enum sutra_status status = job_whole_read(&whole, folder, &error);
    if (!status && !quiet)
        (json ? print_json : print_text)(&whole);
    bool good = whole.n_errors == 0;
    job_whole_free(&whole);
    if (status)
        return message_error(&error);
    return good ? SUTRA_OK : SUTRA_DATA;
}
