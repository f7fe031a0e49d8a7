/*
 * fuzz_job_record.c - fuzzes the record of rank 0 and, with another rank number, of rank 1: words of lines lie in the
 * text, a malformed record is reported, and the job can be finished.
 */
#include "fuzz_job.h"

static void check_lines(const char *data, size_t size) {
    char *text = new_bytes(size + 1), *end = text + size;
    memcpy(text, data, size);
    *end = 0;
    struct record_lines lines = {.text = text};
    while (record_next(&lines)) {
        check(lines.n >= 1 && lines.n < RECORD_WORDS, "a line has a word at least");
        for (size_t i = 0; i < RECORD_WORDS; i++)
            check(lines.words[i] >= text && lines.words[i] + strlen(lines.words[i]) <= end, "words lie in the text");
    }
    struct sutra_error error;
    enum sutra_status status = record_finish(&lines, "", "", &error);
    check(status == SUTRA_OK || (error.line == lines.n_lines + 1 && error.offset <= size), "damage has a position");
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char line[] = "\nrank\t0\t";
    char *text = new_bytes(size + 1);
    if (size)
        memcpy(text, data, size);
    text[size] = 0;
    check_lines(text, strlen(text));
    fuzz_plan();
    fuzz_file(".job/rank.0", text, size);
    char *rank = strstr(text, line);
    if (rank)
        rank[sizeof line - 3] = '1';
    fuzz_file(".job/rank.1", text, size);
    check(fuzz_job_finish() == SUTRA_OK, "a job can be read whatever its records are");
    free(text);
    return 0;
}
