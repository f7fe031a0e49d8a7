/*
 * fuzz_job_record.c - the input as the text of a record: every line gives words that lie in the text, and no line is
 * lost.
 */
#include "fuzz.h"
#include "job/record.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    char *text = new_bytes(size + 1), *end = text + size;
    size_t n_lines = 0, n_ends = 0;
    if (size)
        memcpy(text, data, size);
    *end = 0;
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++)
        n_ends += text[i] == '\n' || i + 1 == length;
    bool whole = record_is_whole(text);
    for (struct record_lines lines = {.text = text}; record_next(&lines); n_lines++) {
        check(lines.n >= 1 && lines.n <= RECORD_WORDS, "a line has a word at least");
        for (size_t i = 0; i < RECORD_WORDS; i++)
            check(lines.words[i] >= text && lines.words[i] + strlen(lines.words[i]) <= end, "words lie in the text");
    }
    check(n_lines <= n_ends && (n_ends == 0) == (n_lines == 0), "lines end at line ends");
    check(!whole || n_lines > 0, "a whole record has lines");
    free(text);
    return 0;
}
