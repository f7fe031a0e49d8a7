/*
 * fuzz_job_note.c - fuzzes the note on the inputs of a rank's file: a malformed note, or a note for a file of another
 * size, is removed.
 */
#include <inttypes.h>

#include "fuzz_job.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const char mine[] = "mine";
    char note[64] = "";
    uint64_t hash, content;
    unsigned size_in_note;
    int end = 0;
    fuzz_plan();
    fuzz_record(0);
    fuzz_record(1);
    fuzz_file("rank.0.et", mine, sizeof mine);
    fuzz_file(".job/rank.0.met", data, size);
    check(fuzz_job_finish() == SUTRA_OK, "a job can be read whatever its notes are");
    FILE *file = fopen(fuzz_path(".job/rank.0.met"), "rb");
    if (!file)
        return 0;
    size_t n = fread(note, 1, sizeof note - 1, file);
    fclose(file);
    check(n == size && sscanf(note, "%16" SCNx64 " %u %16" SCNx64 "%n", &hash, &size_in_note, &content, &end) == 3 &&
              n == (size_t)end + 1 && note[end] == '\n' && size_in_note == sizeof mine,
          "a note that stays is one of this file");
    return 0;
}
