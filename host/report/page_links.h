/*
 * page_links.h - keep the pages of a directory linked to each other, regardless of the order in which they are written.
 *
 *     results/report.html   <ul class="pages">  hta.html, dlrm.html      the existing pages
 *     results/hta.html      <ul class="pages">  report.html, dlrm.html
 *
 * Each analysis has its own page name. A new page lists the pages written with it. page_links_set() updates the lists
 * of all pages in the directory, and replaces a file only if its list changes. Cost: reading these pages, each below 2
 * MB.
 */
#ifndef REPORT_PAGE_LINKS_H
#define REPORT_PAGE_LINKS_H

#include "context/context.h"
#include "sutra/error.h"
#include "write/text_out.h"

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

/* What leads to the page `kind`, one of those names, in a list. */
void page_link_write(struct text_out *out, const char *kind);

/* Warns of a page that cannot be replaced. SUTRA_SYSTEM: out of memory. SUTRA_CANCELLED. */
enum sutra_status page_links_set(struct sutra_context *context, const char *folder, struct sutra_error *error);

#endif
