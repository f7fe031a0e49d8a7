/*
 * page.h - a report page: one HTML file without external resources, and its drawings as separate files.
 *
 *     page_open()  page_head()  page_cards_begin() ...  page_sections(): page_chart(), page_table() ...  page_close()
 *
 * Warnings are at the top; sections have charts, followed by collapsible tables. The page is well-formed XML, complete
 * without its script (script.h), and follows the reader's light or dark mode. It is accessible without the charts,
 * since tables have all their numbers. The first failure is kept; later calls do nothing. Memory is bounded: a fixed
 * number of tables with at most PAGE_ROWS_MAX rows.
 */
#ifndef REPORT_PAGE_H
#define REPORT_PAGE_H

#include <stdbool.h>

#include "context/context.h"
#include "report/charts.h"
#include "sutra/error.h"
#include "write/text.h"

/*
 * Column headings on pages: words and unit.
 */

struct heading {
    char words[96];
    const char *unit; /* "": it counts, or names */
};

/* The heading of a column: "idle_time(us)" is "idle time" in "µs". O(length). */
struct heading heading_of(const char *table, const char *column);

/* Whether the column holds names of kernels, which can be long. */
bool heading_of_kernels(const char *table, const char *column);

/*
 * Keep the pages of a directory linked to each other, regardless of the order in which they are written.
 *
 *     results/report.html   <ul class="pages">  hta.html, dlrm.html      the existing pages
 *     results/hta.html      <ul class="pages">  report.html, dlrm.html
 *
 * Each analysis has its own page name. A new page lists the pages written with it. page_links_set() updates the lists
 * of all pages in the directory, and replaces a file only if its list changes. Cost: reading these pages, each below 2
 * MB.
 */

/* Names of pages; the first is that of the folder. */
#define PAGE_FIRST       "report"
#define PAGE_HTA         "hta"
#define PAGE_OPERATORS   "operators"
#define PAGE_KERNELS     "kernels"
#define PAGE_COLLECTIVES "collectives"
#define PAGE_DLRM        "dlrm"
#define PAGE_MEMORY      "memory"

/* Where a page's list begins and ends; nothing before it on the page reads the same. */
#define PAGE_LINKS_BEGIN "<ul class=\"pages\">"
#define PAGE_LINKS_END   "</ul>"

/* Warns of a page that cannot be replaced. SUTRA_SYSTEM: out of memory. SUTRA_CANCELLED. */
enum sutra_status page_links_set(struct sutra_context *context, const char *folder, struct sutra_error *error);

#define PAGE_ROWS_MAX 200
#define PAGE_ROWS_FEW 60 /* of a page of many tables */

/* Rows and columns that stand openly where there is no chart above; larger tables can be unfolded. */
#define PAGE_ROWS_OPEN    12
#define PAGE_COLUMNS_OPEN 10

struct page {
    struct sutra_context *context;
    const char *folder, *name; /* the file is NAME.html; charts of others than PAGE_FIRST have the name in front */
    struct markup markup;
    const char *beside; /* the page that is made with it, or NULL; who makes both sets links */
    bool is_alone;      /* the folder's pages do not lead to it */
    enum sutra_status status;
    struct sutra_error *error;
    uint64_t n_bytes; /* written to all files */
    bool charted;     /* a chart stands in this section, */
    bool filled;      /* or anything else but what is missing */
    uint64_t n_rows;  /* that tables show at most; 0: PAGE_ROWS_MAX */
};

/* A section: the first sentence of `words` says what `show` writes, the others, how to read it, can be unfolded; where
 * it writes only what is missing, they are left out. `show` may be NULL. A table of sections ends with one without an
 * id. */
struct page_section {
    const char *id, *title, *words;
    void (*show)(struct page *page, const void *source);
};

/* Begins the page for a folder, which is made with its folder "charts" where it is not there. `name` is one of those of
 * page_links.h; NULL: PAGE_FIRST, and no page leads to others or to it. */
void page_open(struct page *page, struct sutra_context *context, const char *folder, const char *name,
               struct sutra_error *error);
/* `source` is a path, behind which `more` stands. */
void page_head(struct page *page, const char *title, const char *source, const char *more,
               const struct page_section *sections);

/* Ends it and writes it, unless something failed, and has the folder's pages lead to each other. The page needs this in
 * any case. */
enum sutra_status page_close(struct page *page);

/* Keeps the failure of a table that was made for the page. */
void page_check(struct page *page, const struct sutra_table *table);

/* A list of sentences, each with what its rule is called and what can be won, in percent; NaN: nothing that it
 * claims. */
void page_findings_begin(struct page *page);
void page_finding(struct page *page, const char *rule, double saving_percent, const char *words);
void page_findings_end(struct page *page);

/* A section, which is made from `source`; all of them, below what their colours mean. */
void page_section(struct page *page, const struct page_section *section, const void *source);
void page_sections(struct page *page, const struct page_section *sections, const void *source);

/* A heading in a section. */
void page_subtitle(struct page *page, const char *words);

/* A paragraph. */
void page_words(struct page *page, const char *words);

/* What stands on top, before sections: a sentence; the same behind a count, of one or of several, unless that is 0. */
void page_warning(struct page *page, const char *words);
void page_warning_count(struct page *page, uint64_t n, const char *one, const char *several);

/* Why a trace is left out, of which `n` were told before, for the first of them; behind the last, how many more. */
void page_left_out(struct page *page, size_t n, const char *path, const char *why);
void page_left_out_more(struct page *page, size_t n);

/* Says what is missing, and why. */
void page_missing(struct page *page, const char *what, const char *why);

/* Figures at the top; one of words takes the room of two. `note` may be "". */
void page_cards_begin(struct page *page);
void page_card(struct page *page, const char *name, double value, enum unit unit, const char *note);
void page_card_words(struct page *page, const char *name, const char *words, const char *note);
void page_cards_end(struct page *page);

/* A chart, on the page in two widths and as charts/NAME.svg; `name` is of letters, digits, dots, "-" and "_". */
void page_chart(struct page *page, const char *name, const char *title, const char *description, chart_draw *draw,
                const void *chart);

/* What stands around a chart of bars and its table; `note` (may be NULL) comes between them. */
struct bars_words {
    const char *name, *title, *description, *note, *caption, *file;
};

/* A chart of the first `n_most` rows of a table, and the table, which is checked; false: it has no rows, so nothing is
 * shown. Of ranks, for which `n_most` is RANKS_AS_BARS, more become squares. */
#define RANKS_AS_BARS 32
bool page_bars(struct page *page, struct bars bars, uint64_t n_most, const struct bars_words *words);

/* A table of at most PAGE_ROWS_MAX rows; `file` (may be NULL) is the table in which all of them are. */
void page_table(struct page *page, const struct sutra_table *table, const char *caption, const char *file);

/* A table of a result; without rows, why it is missing: `why`, or NULL for the reason of the result. */
void page_result_table(struct page *page, const struct sutra_result *result, uint32_t id, const char *caption,
                       const char *why);

#endif
