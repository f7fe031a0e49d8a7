/*
 * verdict_words.h - the verdict of an overview as texts, which the terminal, the Markdown document and the page show
 * with the same words and in the same order.
 *
 *     struct sutra_verdict, findings --verdict_words_make()--> header, headline, bar, findings, suspects, unexplained
 *
 * Texts are UTF-8 with the names of the trace, which are untrusted: each output escapes them.
 */
#ifndef REPORT_VERDICT_WORDS_H
#define REPORT_VERDICT_WORDS_H

#include "base/arena.h"
#include "sutra/overview.h"

#define BAR_CELLS       60
#define BAR_PARTS_MOST  (SUTRA_N_PARTS + 1)
#define WORDS_FINDINGS  5
#define WORDS_OPERATORS 5

/* A part of the bar, in its order: compute, the other parts in descending order, the time outside of the rank's step,
 * the rest. */
struct bar_part {
    char symbol; /* on the terminal: '#' */
    const char *name;
    int colour; /* enum colour of markup.h */
    double us, percent;
    unsigned cells;   /* of BAR_CELLS */
    const char *time; /* "144 ms" */
};

struct finding_words {
    const char *rule;
    const char *title;  /* "Exposed communication (embedding all-to-all)" */
    const char *saving; /* "up to 144 ms of a step (41%)"; "" */
    double percent;     /* of the step; NaN */
    bool is_estimate;
    const char *seen, *where, *code, *fix, *check;
    const struct sutra_finding_remedy *remedies;
    size_t n_remedies;
    struct sutra_finding_evidence evidence;
    const char *marked; /* its intervals in the picture: "GPU idle" */
};

struct verdict_words {
    const struct sutra_verdict *verdict;
    const char *name;      /* short name of the trace, or "8 ranks in DIR" */
    const char *facts;     /* "rank 1, Tesla V100-SXM2-32GB, 5 steps of 348 ms" */
    const char *damage;    /* a sentence: the verdict is not reliable, and `why` is ""; else "" */
    const char *why;       /* sentences */
    const char *fix;       /* what to do if the GPU's activity is unknown; "" */
    const char *could;     /* "348 ms -> 204 ms if the CPU kept up (at best)."; "": the verdict is of another kind */
    const char *bar_label; /* "one step", "rank 0", or the time of the whole trace */
    const char *step_time; /* "348 ms" */
    const char *best_time; /* of the last arrow; the step's without one */
    struct bar_part bar[BAR_PARTS_MOST];
    unsigned n_bar; /* 0: shares are unknown */
    struct finding_words findings[WORDS_FINDINGS];
    unsigned n_findings;
    const char *operators[WORDS_OPERATORS]; /* without GPU activity: "292 ms, 65%: aten::mkldnn_convolution (...)" */
    unsigned n_operators;
    const char *not_judged;  /* "launch-bound, unfused optimizer." of a damaged trace; "" */
    const char *suspects;    /* "fp32 (...); copies (...)"; "" */
    const char *unexplained; /* "18.0% (9.4% after the last GPU activity)"; "": shares are unknown */
};

/* Makes the texts of a verdict with at most WORDS_FINDINGS findings, in the arena. SUTRA_SYSTEM: out of memory. */
enum sutra_status verdict_words_make(const struct sutra_verdict *verdict, const struct sutra_finding *findings,
                                     size_t n_findings, struct arena *arena, struct verdict_words *words,
                                     struct sutra_error *error);

/* The same of an overview. */
enum sutra_status verdict_words_of(const struct sutra_overview *overview, struct arena *arena,
                                   struct verdict_words *words, struct sutra_error *error);

/*
 * The document of `sutra analyze --format markdown`: at most 8 kB, no HTML except <details>, names in code spans. Paths
 * are reduced to file names unless `keep_paths` is set.
 */
struct text_out;
void verdict_markdown(const struct verdict_words *words, bool keep_paths, struct text_out *out);

#endif
