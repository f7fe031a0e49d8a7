/*
 * rank_link.h - from the traces of one rank to its file, ET+ or one for simulators.
 */
#ifndef JOB_RANK_LINK_H
#define JOB_RANK_LINK_H

#include "analyze/collective_calls.h"
#include "job/plan.h"
#include "link/link.h"
#include "simulate/faithful.h"
#include "sutra/convert.h"
#include "sutra/link.h"
#include "write/text.h"

/* What is made of linked traces. */
struct link_output {
    bool et;       /* a file for simulators, */
    bool faithful; /* whose nodes take the measured times */
    struct sutra_convert_options what;
    struct sutra_faithful_options how;
    bool of_job; /* the rank is to meet others of a job when it is simulated */
    bool astra;  /* as ASTRA-sim meets */
};

/* When a rank of a simulated job starts, by its own clock, and the first node of its processor. */
struct rank_start {
    bool is_told, has_ops;
    int64_t origin_ns, end_ns;
    uint64_t first_node;
};

/* Writes it; a file for simulators spends the traces. `faithful`, whose size is set, is filled if it is asked for, and
 * `job` where the output is of one, else NULL; *n_bytes may be NULL. Errors as of sutra_linked_write() and
 * sutra_linked_convert(). */
enum sutra_status link_output_write(struct sutra_context *context, const struct linked_traces *spent,
                                    const struct link_output *output, struct rank_of_job *job, const char *path,
                                    uint64_t *n_bytes, struct sutra_faithful_report *faithful,
                                    struct sutra_error *error);

/* What linking a rank gives beside its file. */
struct rank_result {
    struct sutra_link_report report;
    struct sutra_faithful_report faithful;
    struct collective_calls calls;
    struct rank_start start;
    int64_t n_devices; /* GPUs of its host, as the trace says; NOT_TOLD */
};

/* Links the pair into a file, if the traces do not speak against each other: SUTRA_DATA is also that they are of two
 * processes, times or ranks, or have nothing in common. The result needs rank_result_free() in any case. */
enum sutra_status rank_link(struct sutra_context *context, const struct rank_pair *pair,
                            const struct sutra_link_options *options, const struct link_output *output,
                            const char *path, struct rank_result *result, struct sutra_error *error);
void rank_result_free(struct rank_result *result);

/*
 * What a job keeps of each rank in its folder, and of the whole: lines of words with tabs between.
 *
 *     DIR/rank.3.json          the rank's file
 *     DIR/.job/rank.3          what was done: the inputs, the options, the file; then counts, warnings and collectives
 *     DIR/.job/plan            pairs, and what was left out
 *     DIR/job.json             all of it, for others to read
 *
 * A record appears whole, after its file, and goes before the file is made anew. So a file with a record is whole, and
 * of what the record's first lines say; whoever comes later, after an interruption or with other options, compares
 * these. Processes that share the work need nothing but the folder.
 *
 *     version 0.1.0 / options .. / host PATH BYTES TIME / device .. / rank 3 process / file rank.3.json BYTES
 *     seconds 0.12 / count n_nodes 12 / warning .. / group 0 8 [0, 1, ...] / call .. / start .. / end
 *
 * Of a job whose ranks are to meet when they are simulated the rank's file is made in two passes: DIR/.job/rank.3.et is
 * the rank alone, of which the record tells, and DIR/rank.3.et is made of that when the records of all ranks are there.
 */

/* The folder of records in that of the job. */
#define RECORD_FOLDER ".job"

/* What a rank was to be made of: the first lines of its record. */
struct record_of {
    const struct rank_pair *pair;
    const char *options; /* as words */
    const char *file;    /* name in the folder */
};

/* What became of it. */
struct record_outcome {
    enum sutra_status status;
    const struct sutra_error *error;
    uint64_t file_bytes;
    double seconds;
    const struct buffer *warnings; /* each with a NUL behind */
    const struct rank_result *result;
    bool is_faithful;
};

/* Writes the record of a rank. */
enum sutra_status record_write(struct sutra_context *context, const char *folder, const struct record_of *of,
                               const struct record_outcome *outcome, struct sutra_error *error);

/* Whether the folder has the rank's file, made of the same inputs in the same way, and an intact record. */
bool record_holds(const char *folder, const struct record_of *of);

/* Removes the record, if there is one. */
void record_remove(const char *folder, int64_t rank);

/* Writes the plan; another process may write the same. */
enum sutra_status plan_write(struct sutra_context *context, const char *folder, const struct job_plan *plan,
                             const char *options, const char *ending, struct sutra_error *error);

/* ---- Reading ---- */

/* Most words of a line. */
#define RECORD_WORDS 14

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
    RECORD_TIMES,
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
    char *text; /* from the next line on; the reader changes the text */
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
