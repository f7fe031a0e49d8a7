/*
 * check.h - what ASTRA-sim needs of .et files: rules, what they find, and what a job keeps of each of its files.
 *
 *     file --> columns, graph --> rules of a file --> findings
 *                 \--> its communication -------> rules of the job --> findings
 *
 * Rules stand in one table (et_rules.c). Numbers are those of docs/checking.md. Cost: O(nodes + dependencies +
 * attributes) a rule; O(n log n) in communication, of which a job keeps 48 bytes each.
 */
#ifndef SIMULATE_CHECK_H
#define SIMULATE_CHECK_H

#include "simulate/et.h"
#include "simulate/et_format.h"
#include "simulate/et_graph.h"

#define RANK_UNKNOWN (-1)

/* How many ids of a finding are told. */
#define FOUND_IDS 5

enum et_severity { ET_SILENT, ET_WARNING, ET_ERROR };

struct et_checking;
struct et_found;

struct et_rule {
    const char *id;
    enum et_severity v3, v1; /* with either feeder */
    bool roofline;           /* only where the simulator takes times from its roofline model */
    bool (*node)(const struct et_checking *checking, row_t row);              /* whether a node breaks it; or */
    void (*file)(const struct et_checking *checking, struct et_found *found); /* what a file has; or */
    void (*job)(struct sutra_et_check *check, struct et_found *found);        /* what the job has */
    const char *what, *why, *mend;
    const char *unit; /* of what is counted; NULL: nodes */
};

/* What a rule found. */
struct et_found {
    const struct et_rule *rule;
    char *file; /* NULL: it is the job's */
    bool is_error;
    uint64_t count;
    uint64_t ids[FOUND_IDS];
    uint32_t n_ids;
    char detail[400];
};

/* A file while its rules are looked at. */
struct et_checking {
    const struct et_file *file;
    const struct et_nodes *nodes;
    struct et_graph graph;
    const struct et_groups *groups;
    struct arena *arena; /* for what a rule needs on its way */
    int64_t rank;        /* or RANK_UNKNOWN */
    row_t n_puzzling;    /* metadata nodes whose groups ASTRA-sim could not read */
    uint64_t puzzling[FOUND_IDS];
};

/* A collective, as it is compared with those of other ranks. */
struct et_collective_call {
    int64_t group;  /* its number, or -2 less the number of its name among those that say none */
    uint64_t place; /* among the rank's collectives, in an order that the dependencies allow */
    uint64_t id, size;
    int64_t type; /* enum et_collective */
};

/* A send or a receive. */
struct et_message {
    int64_t from, to, tag;
    uint64_t size, id;
    bool sent;
};

/* What a job keeps of a file. */
struct et_member {
    char *name;
    int64_t rank;
    struct et_collective_call *calls; /* by group, then by place */
    struct et_message *messages;
    uint64_t n_calls, n_messages;
};

struct sutra_et_check {
    struct sutra_context *context;
    struct sutra_et_check_options options;
    struct arena arena;
    struct et_groups groups;
    struct strings names; /* of groups that have no number */
    struct et_member *members;
    uint64_t n_members, members_capacity;
    struct et_found *found;
    uint64_t n_found, found_capacity;
    uint64_t n_errors, n_warnings; /* rules */
};

extern const struct et_rule et_rules[];
extern const size_t n_et_rules;

/* Counts a node that breaks a rule. */
void et_found_add(struct et_found *found, uint64_t id);

/* Rules of a job (et_rules_job.c). */
void et_rule_ranks(struct sutra_et_check *check, struct et_found *found);
void et_rule_sequences(struct sutra_et_check *check, struct et_found *found);
void et_rule_pairs(struct sutra_et_check *check, struct et_found *found);

/* Takes a file's communication over into `member`. SUTRA_SYSTEM: out of memory. */
enum sutra_status et_member_take(struct sutra_et_check *check, const struct et_checking *checking,
                                 struct et_member *member, struct sutra_error *error);

/* Puts the members of a job in the order of their ranks, which its rules rely on. */
void et_members_sort(struct sutra_et_check *check);

/* PREFIX.RANK.et: the rank, or RANK_UNKNOWN; *prefix is then its length. */
int64_t et_rank_of(const char *path, size_t *prefix);

#endif
