/*
 * record.h - records of a job: inputs, options and results of each rank, so that an interrupted job can continue.
 *
 *     DIR/rank.3.json          the file of the rank
 *     DIR/.job/rank.3          its record: inputs, options and file; then counts, warnings and collectives
 *     DIR/.job/plan            pairs of traces, and skipped files
 *     DIR/job.json             all of this, for other programs
 *
 * A record is lines of words, separated by tabs:
 *
 *     version 0.1.0 / options .. / host PATH BYTES TIME / device .. / rank 3 process / file rank.3.json BYTES
 *     seconds 0.12 / count n_nodes 12 / match names .. / defect .. / warning .. / group 0 8 [0, 1, ...] / call .. /
 *     start .. / end
 *
 * A record is written atomically after its file, and removed before the file is written again. A file with a record is
 * therefore complete, and the first lines of the record contain its inputs and options. A later run, or
 * another process on the same folder, compares these lines.
 *
 * The file of a rank of a simulated job is written in two passes: DIR/.job/rank.3.et, which the record describes, is
 * the rank alone; second_pass_run() writes DIR/rank.3.et when the records of all ranks exist.
 */
#ifndef JOB_RECORD_H
#define JOB_RECORD_H

#include "job/rank_link.h"
#include "write/text.h"

/* The folder of records inside the folder of the job. */
#define RECORD_FOLDER ".job"

/* The inputs of a rank: the first lines of its record. */
struct record_of {
    const struct rank_pair *pair;
    const char *options; /* as words */
    const char *file;    /* name in the folder */
};

/* The outcome of linking it. */
struct record_outcome {
    enum sutra_status status;
    const struct sutra_error *error;
    uint64_t file_bytes;
    double seconds;
    const struct buffer *warnings; /* each ends with a NUL */
    const struct rank_result *result;
    bool is_faithful;
};

/* Writes the record of a rank. */
enum sutra_status record_write(struct sutra_context *context, const char *folder, const struct record_of *of,
                               const struct record_outcome *outcome, struct sutra_error *error);

/* Whether the folder contains the file of the rank, made from the same inputs with the same options, and an intact
 * record. */
bool record_holds(const char *folder, const struct record_of *of);

/* Removes the record, if there is one. */
void record_remove(const char *folder, int64_t rank);

/* Writes the plan. Another process may write the same plan concurrently. */
enum sutra_status plan_write(struct sutra_context *context, const char *folder, const struct job_plan *plan,
                             const char *options, const char *ending, struct sutra_error *error);

/* ---- Reading ---- */

/* Maximum number of words of a line. */
#define RECORD_WORDS 15

/* Lines of a record, in their order. */
enum record_line {
    RECORD_VERSION,
    RECORD_OPTIONS,
    RECORD_HOST,
    RECORD_DEVICE,
    RECORD_RANK,
    RECORD_FILE,
    RECORD_SECONDS,
    RECORD_ERROR,
    RECORD_COUNT,
    RECORD_MATCH,
    RECORD_TIMES,
    RECORD_GPU,
    RECORD_DEFECT,
    RECORD_WARNING,
    RECORD_DEVICES,
    RECORD_UNTOLD,
    RECORD_GROUP,
    RECORD_CALL,
    RECORD_START,
    RECORD_END,
};

/* Lines of the plan, in their order. */
enum plan_line { PLAN_OPTIONS, PLAN_ENDING, PLAN_WORLD, PLAN_PAIR, PLAN_LEFT, PLAN_END };

/* Reads the lines of a record or a plan. Set `text` and `is_plan`, zero the rest. */
struct record_lines {
    char *text; /* starts at the next line; the reader modifies the text */
    bool is_plan;
    int line;                     /* enum record_line or enum plan_line */
    char *words[RECORD_WORDS];    /* of the line, each ends with a NUL; "" after the last one */
    int64_t number[RECORD_WORDS]; /* value of each word that is an integer; 0 for a word that is missing */
    double real[RECORD_WORDS];    /* value of each word that is a real number; 0 for a word that is missing */
    size_t n;                     /* words */
    uint64_t n_lines, n_groups;   /* so far */
    const char *start;            /* of the text */
    const char *begin;            /* of the line */
    char damage[200];             /* why the line is malformed; "" where it is not */
};

/* Parses and checks the next line: its word, the order of lines, the number of words, the range of each number. False:
 * at the end of the text, or the line is malformed. O(length of the line). */
bool record_next(struct record_lines *lines);

/* Reports a line whose words contradict other data; record_finish() then returns the error. */
__attribute__((format(printf, 2, 3))) void record_reject(struct record_lines *lines, const char *format, ...);

/* The defect of a line RECORD_DEFECT: its kind, as an index of `defects`, and its values. */
enum trace_defect_kind record_defect(const struct record_lines *lines, struct trace_defect *defect);

/* The count of a line RECORD_COUNT in a report; NULL: a record has no count of this name. */
uint64_t *record_count(struct sutra_link_report *report, const char *name);

/* The values of a line RECORD_MATCH; ids_fault is a word of the line. */
void record_match(const struct record_lines *lines, struct sutra_link_match *match);

/* Call after the last record_next(). SUTRA_DATA: a line is malformed, or the text has no line "end". */
enum sutra_status record_finish(const struct record_lines *lines, const char *folder, const char *name,
                                struct sutra_error *error);

/* Reads a file of the records' folder as a text, which the caller frees. SUTRA_NO_INPUT: the file cannot be opened;
 * errno is ENOENT where it does not exist. SUTRA_DATA: the file is empty, contains a NUL, or is not a regular file.
 * SUTRA_IO: a read failed. SUTRA_SYSTEM: out of memory. */
enum sutra_status record_read(const char *folder, const char *name, char **text, struct sutra_error *error);

/* The name of a rank's record. */
#define RECORD_NAME_MAX 40
void record_name(int64_t rank, char name[RECORD_NAME_MAX]);

#endif
