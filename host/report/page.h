/*
 * page.h - a report page: one HTML file without external resources, and its drawings as separate files.
 *
 *     page_open()  page_write(): head | warnings | cards | sections, each with page_chart(), page_table() ...
 *
 * Warnings are at the top; sections have charts, followed by collapsible tables. The page is well-formed XML, complete
 * without its script, and follows the reader's light or dark mode. It is accessible without the charts, since tables
 * have all their numbers. The first failure is kept; later calls do nothing. Memory is bounded: a fixed number of
 * tables with at most PAGE_ROWS_MAX rows.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include <stdbool.h>

#include "context/context.h"
#include "report/charts.h"
#include "sutra/error.h"
#include "write/text.h"

/* ---- Headings of columns: words and unit ---- */

struct heading {
    char words[96];
    const char *unit; /* "": a count or a name */
};

/* The heading of a column: "idle_time(us)" is "idle time" in "µs". O(length). */
struct heading heading_of(const char *table, const char *column);

/* Whether the column contains names of kernels, which can be long. */
bool heading_of_kernels(const char *table, const char *column);

/* ---- Links between the pages of a directory ---- */

/* Names of pages; the first one is the main page of the directory. */
#define PAGE_FIRST       "report"
#define PAGE_HTA         "hta"
#define PAGE_OPERATORS   "operators"
#define PAGE_KERNELS     "kernels"
#define PAGE_COLLECTIVES "collectives"
#define PAGE_DLRM        "dlrm"
#define PAGE_MEMORY      "memory"
#define PAGE_HANG        "hang"
#define PAGE_PIPELINE    "pipeline"
#define PAGE_TREND       "trend"

/*
 * Links the pages of a directory to each other, regardless of the order in which they are written.
 *
 *     results/report.html   <ul class="pages">  hta.html, dlrm.html      the existing pages
 *     results/hta.html      <ul class="pages">  report.html, dlrm.html
 *
 * Replaces a page only if its list changes, and warns if it cannot. Cost: reading the pages, each below 2 MB.
 * SUTRA_SYSTEM: out of memory. SUTRA_CANCELLED.
 */
enum sutra_status page_links_set(struct sutra_context *context, const char *folder, struct sutra_error *error);

/* ---- The page ---- */

#define PAGE_ROWS_MAX 200
#define PAGE_ROWS_FEW 60 /* of a page of many tables */

struct page {
    struct sutra_context *context;
    const char *folder, *name; /* the file is NAME.html; charts of pages other than PAGE_FIRST begin with the name */
    struct markup markup;
    const char *companion; /* a page that is written together with this one, whose caller sets the links; or NULL */
    bool is_alone;         /* without links to and from the other pages of the directory */
    enum sutra_status status;
    struct sutra_error *error;
    uint64_t n_bytes;   /* written to all files */
    bool charted;       /* the current section has a chart, */
    bool filled;        /* or any content except missing data */
    uint64_t n_rows;    /* maximum number of rows of a table; 0: PAGE_ROWS_MAX */
    double chart_width; /* of the following charts in wide windows, pixels; 0: svg_width() */
};

/* Writes a part of a page from `source`. */
typedef void page_show(struct page *page, const void *source);

/* A section: the first sentence of `words` describes its content; the other sentences, how to read it, are collapsed.
 * A section with missing data only has no words. `show` may be NULL. A list of sections ends with one without an id. */
struct page_section {
    const char *id, *title, *words;
    page_show *show;
};

/* The parts of a page, in their order. */
struct page_frame {
    const char *title;
    const char *path, *more; /* below the title: the path of the input, and text after it */
    const char *lead;        /* the answer, above all other content; NULL: none */
    page_show *warnings;     /* NULL: none */
    int n_above;             /* sections above the cards */
    page_show *cards;
    const char *note; /* a paragraph below the cards; NULL: none */
    bool has_no_key;  /* no legend of colors above the other sections */
    const struct page_section *sections;
};

/* The title of a page about n ranks, and the text after the path of the first: "TITLE of rank 3" and "", or "TITLE of 8
 * ranks" and " and 7 more". */
struct rank_title {
    char title[96], more[96];
};
struct rank_title title_of_ranks(const char *title, int64_t first, size_t n);

/* Begins the page, and creates the directory and its subdirectory "charts" if necessary. `name` is one of the names
 * above; NULL: PAGE_FIRST, without links to and from other pages. */
void page_open(struct page *page, struct sutra_context *context, const char *folder, const char *name,
               struct sutra_error *error);

/* Writes all parts of the page from `source`, ends the page, writes its file unless a part failed, and sets the links
 * of the directory. Returns the page's status; on success adds its bytes to *n_bytes (may be NULL). Required after each
 * page_open(). */
enum sutra_status page_write(struct page *page, const struct page_frame *frame, const void *source, uint64_t *n_bytes);

/* Keeps the failure of a table that was made for the page. */
void page_check(struct page *page, const struct sutra_table *table);

/* ---- Warnings ---- */

void page_warning(struct page *page, const char *words);

/* The same after a count, of one or of several; nothing if the count is 0. */
void page_warning_count(struct page *page, uint64_t n, const char *one, const char *several);

/* Reports the defects of the traces of a result. */
void page_warn_defects(struct page *page, const struct sutra_result *result);

/* Why a trace is skipped, for the first traces only; `n` counts the skipped traces before. After the last one,
 * page_warn_more_skipped() reports the number of the others. */
void page_warn_skipped(struct page *page, size_t n, const char *path, const char *why);
void page_warn_more_skipped(struct page *page, size_t n);

/* ---- Cards: key numbers at the top; words need the width of two. `note` may be "". ---- */

void page_card(struct page *page, const char *name, double value, enum unit unit, const char *note);
void page_card_words(struct page *page, const char *name, const char *words, const char *note);

/* ---- Contents of sections ---- */

void page_subtitle(struct page *page, const char *words);
void page_words(struct page *page, const char *words);

/* A sentence that is also printed on terminals: the unit " us" after a digit becomes " µs". */
void page_sentence(struct page *page, const char *words);

/* The verdict of an overview: the top of its page (verdict_page.c). `steps` (may be NULL): bars of the steps of the
 * verdict's rank. */
struct sutra_overview;
void verdict_show(struct page *page, const struct sutra_overview *overview, const struct bars *steps);

/* A line about missing data, with the reason. */
void page_missing(struct page *page, const char *what, const char *why);

/* A list of findings: name of the rule, estimated saving in percent (NaN: unknown), and text. */
void page_findings_begin(struct page *page);
void page_finding(struct page *page, const char *rule, double saving_percent, const char *words);
void page_findings_end(struct page *page);

/* A chart, on the page in two widths and as charts/NAME.svg; `name` is of letters, digits, dots, "-" and "_". */
void page_chart(struct page *page, const char *name, const char *title, const char *description, chart_draw *draw,
                const void *chart);

/* Texts of a chart of bars and its table; `note` (may be NULL) is between them. */
struct bars_words {
    const char *name, *title, *description, *note, *caption, *file;
};

/* Below a chart that shows the first n of n_all rows: how many, and whether they are the largest. Nothing if n is
 * n_all. `what` is the plural noun. */
void page_limit(struct page *page, uint64_t n, uint64_t n_all, bool descending, const char *what);

/* A chart of the first `n_most` rows of a table, and the table, which is checked. Returns false if it has no rows. If
 * `n_most` is RANKS_AS_BARS, more rows become the squares of a heat map. A sentence reports rows without a bar. */
#define RANKS_AS_BARS 32
bool page_bars(struct page *page, struct bars bars, uint64_t n_most, const struct bars_words *words);

/* A table of at most PAGE_ROWS_MAX rows; `file` (may be NULL) is the table with all rows. */
void page_table(struct page *page, const struct sutra_table *table, const char *caption, const char *file);

/* A table of a result. Returns NULL if it has no rows, and reports why it is missing: `why`, or NULL for the reason of
 * the result. */
const struct sutra_table *page_find_table(struct page *page, const struct sutra_result *result, uint32_t id,
                                          const char *what, const char *why);

/* The same, and writes the table. */
void page_result_table(struct page *page, const struct sutra_result *result, uint32_t id, const char *caption,
                       const char *why);

/* Sorts the rows in descending order of the sum of the columns first..last, stable. Out of memory sets `failed`. O(n
 * log n). */
void table_sort_descending(struct sutra_table *table, uint32_t first, uint32_t last);

#endif
