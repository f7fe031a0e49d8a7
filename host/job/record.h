/*
 * record.h - what a job keeps of each rank in its folder, and of the whole: lines of words with tabs between.
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
#ifndef JOB_RECORD_H
#define JOB_RECORD_H

#include "job/plan.h"
#include "job/rank_link.h"
#include "write/text_out.h"

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

/* Whether the folder has the rank's file, made of the same inputs in the same way. */
bool record_holds(const char *folder, const struct record_of *of);

/* Removes the record, if there is one. */
void record_remove(const char *folder, int64_t rank);

/* Writes the plan; another process may write the same. */
enum sutra_status plan_write(struct sutra_context *context, const char *folder, const struct job_plan *plan,
                             const char *options, const char *ending, struct sutra_error *error);

/* ---- Reading ---- */

#define RECORD_WORDS 16

/* Lines of a text with their words, which end with a NUL; zero-initialise but for the text. */
struct record_lines {
    char *text; /* is changed */
    char *words[RECORD_WORDS];
    size_t n;
};

/* The next line; false at the end. Words that are not there are "". */
bool record_next(struct record_lines *lines);

/* A file of the records' folder as a text, from the heap; NULL: there is none, or no memory. */
char *record_read(const char *folder, const char *name);

/* The name of a rank's record. */
#define RECORD_NAME_MAX 40
void record_name(int64_t rank, char name[RECORD_NAME_MAX]);

/* Whether a text is a record to its end. */
bool record_is_whole(const char *text);

#endif
