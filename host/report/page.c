/*
 * page.c - implements page.h, except tables: headings of columns, links between pages, the frame of a page, charts.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/shared.h"
#include "report/markup.h"
#include "report/page.h"
#include "sutra/sutra.h"
#include "text/quantities.h"
#include "write/text.h"

/* ---- Headings of columns, by the ending of their name or from a list ---- */

/* Endings of names, longer ones first. */
static const struct {
    const char *end, *unit;
} ends[] = {{" (us)", "µs"},
            {"(us)", "µs"},
            {"_us", "µs"},
            {"_pctg", "%"},
            {"_percent", "%"},
            {"percent", "%"},
            {"_gb_per_s", "GB/s"},
            {"_ppm", "ppm"},
            {"_bytes", "bytes"},
            {"_tflops_per_s", "TFLOP/s"},
            {"tflops_per_s", "TFLOP/s"},
            {"tbytes_per_s", "TB/s"},
            {"flops_per_byte", "FLOP/byte"},
            {"gflops", "GFLOP"},
            {"tflops", "TFLOP"},
            {"mbytes", "MB"}};

/* Columns whose names are no words or have no unit; table NULL: in any table. */
static const struct {
    const char *table, *column, *words, *unit;
} others[] = {{NULL, "tflops_per_s", "rate", "TFLOP/s"},
              {NULL, "peak_tflops_per_s", "peak", "TFLOP/s"},
              {NULL, "tbytes_per_s", "bandwidth", "TB/s"},
              {NULL, "flops_per_byte", "intensity", "FLOP/byte"},
              {NULL, "gflops", "work", "GFLOP"},
              {NULL, "tflops", "work", "TFLOP"},
              {NULL, "mbytes", "moved", "MB"},
              {NULL, "percent", "share", "%"},
              {NULL, "percentage", "share", "%"},
              {NULL, "shared_memory", "shared memory", "bytes"},
              {NULL, "memory_bw_gbps", "bandwidth", "GB/s"},
              {NULL, "cpu_op_kernel_ratio", "CPU time to kernel time", "ratio"},
              {"gpu_kernel_breakdown_mem.types", "sum", "time", "µs"}};

/* Times without a unit in their names. */
static const char *const times[] = {"ts",
                                    "dur",
                                    "duration",
                                    "stddev",
                                    "cpu_duration",
                                    "gpu_duration",
                                    "delay_mean",
                                    "delay_50%",
                                    "delay_max",
                                    "avg_aten_op_launch_delay",
                                    "avg_runtime_delay",
                                    "duration_at_max_queue_length"};

/* Units of the columns of a distribution, by table. */
static const struct {
    const char *table, *unit;
} tables[] = {{"memory_bw_summary", "GB/s"}, {"queue_length_summary", "kernels"}};

static const char *const statistics[] = {"mean", "std", "min", "25%", "50%", "75%", "max"};

static bool same(const char *a, const char *b) {
    return strcmp(a, b) == 0;
}

static void set_words(struct heading *heading, const char *name, size_t length) {
    size_t room = sizeof heading->words - 1;
    length = MIN(length, room);
    for (size_t i = 0; i < length; i++)
        heading->words[i] = name[i] == '_' ? ' ' : name[i];
    heading->words[length] = '\0';
}

struct heading heading_of(const char *table, const char *column) {
    struct heading heading = {.unit = ""};
    size_t length = strlen(column);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (same(others[i].column, column) && (!others[i].table || same(others[i].table, table))) {
            set_words(&heading, others[i].words, strlen(others[i].words));
            heading.unit = others[i].unit;
            return heading;
        }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(ends[i].end);
        if (length < n || !same(column + length - n, ends[i].end))
            continue;
        set_words(&heading, column, length - n);
        heading.unit = ends[i].unit;
        return heading;
    }
    set_words(&heading, column, length);
    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (same(times[i], column))
            heading.unit = "µs";
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++)
        for (size_t k = 0; same(tables[i].table, table) && k < sizeof statistics / sizeof *statistics; k++)
            if (same(statistics[k], column))
                heading.unit = tables[i].unit;
    return heading;
}

bool heading_of_kernels(const char *table, const char *column) {
    static const char *const tables_of_kernels[] = {"kernels", "top_kernels", "kernel_configurations", "diff_kernels",
                                                    "gpu_kernel_breakdown_mem.kernels"};
    if (strstr(column, "kernel") && !same(column, "kernels"))
        return true;
    for (size_t i = 0; i < sizeof tables_of_kernels / sizeof *tables_of_kernels; i++)
        if (same(table, tables_of_kernels[i]) && same(column, "name"))
            return true;
    return false;
}

/* ---- Links between pages ---- */

/* The begin and end of a page's list of links; the text before the list does not contain them. */
#define PAGE_LINKS_BEGIN "<ul class=\"pages\">"
#define PAGE_LINKS_END   "</ul>"

/* No page of sutra is larger. */
#define PAGE_BYTES_MAX (4 << 20)

static const struct {
    const char *name, *title;
} kinds[] = {{PAGE_FIRST, "Findings"},          {PAGE_HTA, "HTA tables"},
             {PAGE_OPERATORS, "Operators"},     {PAGE_KERNELS, "Kernels"},
             {PAGE_COLLECTIVES, "Collectives"}, {PAGE_DLRM, "CPU overheads"},
             {PAGE_MEMORY, "GPU memory"},       {PAGE_HANG, "Hang"},
             {PAGE_PIPELINE, "Pipeline"},       {PAGE_TREND, "Trend"}};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* The existing pages, and the positions of their lists. */
struct pages {
    struct buffer text[N_KINDS];
    size_t begin[N_KINDS], end[N_KINDS]; /* both 0: no page of sutra */
    struct buffer list;                  /* the new list of the page `kind` */
    int kind;
};

static void write_link(struct text_out *out, int kind) {
    out_format(out, "<li><a href=\"%s.html\">%s</a></li>", kinds[kind].name, kinds[kind].title);
}

/* Reads a page if it exists; false: out of memory. A file that cannot be read, or without a list, is not a page of
 * sutra. */
static bool read_page(struct pages *pages, const char *folder, int kind) {
    struct buffer *text = &pages->text[kind];
    char *path = NULL, *to = NULL;
    struct stat found;
    if (asprintf(&path, "%s/%s.html", folder, kinds[kind].name) < 0)
        return false;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    free(path);
    if (file < 0)
        return true;
    bool is_page = !fstat(file, &found) && S_ISREG(found.st_mode) && found.st_size <= PAGE_BYTES_MAX;
    if (is_page && (to = buffer_reserve(text, (size_t)found.st_size + 1))) {
        ssize_t got = 1;
        for (size_t n = (size_t)found.st_size; text->length < n && got > 0; text->length += (size_t)MAX(got, 0))
            got = read(file, to + text->length, n - text->length);
        to[text->length] = '\0';
    }
    close(file);
    const char *begin = to ? strstr(to, PAGE_LINKS_BEGIN) : NULL;
    const char *end = begin ? strstr(begin, PAGE_LINKS_END) : NULL;
    if (end) {
        pages->begin[kind] = (size_t)(begin - to) + strlen(PAGE_LINKS_BEGIN);
        pages->end[kind] = (size_t)(end - to);
    }
    return to || !is_page;
}

/* Writes the page `kind` with its new list. */
static bool write_with_list(const void *of, struct text_out *out) {
    const struct pages *pages = of;
    const struct buffer *text = &pages->text[pages->kind];
    size_t end = pages->end[pages->kind];
    buffer_append(&out->out, text->bytes, pages->begin[pages->kind]);
    buffer_append(&out->out, pages->list.bytes, pages->list.length);
    buffer_append(&out->out, text->bytes + end, text->length - end);
    return !out->out.failed;
}

/* Replaces the list of a page if it changes. A page that cannot be replaced, for example a read-only one, only causes
 * a warning. */
static enum sutra_status set_list(struct pages *pages, struct sutra_context *context, const char *folder, int kind,
                                  struct sutra_error *error) {
    char name[64], text[sizeof(struct sutra_error)];
    uint64_t n_bytes = 0;
    struct sutra_error why;
    struct text_out list = {.out = pages->list};
    list.out.length = 0;
    for (int other = 0; other < N_KINDS; other++)
        if (other != kind && pages->end[other])
            write_link(&list, other);
    pages->kind = kind;
    pages->list = list.out;
    if (list.out.failed)
        return error_memory(error);
    if (pages->end[kind] - pages->begin[kind] == list.out.length &&
        (list.out.length == 0 ||
         memcmp(pages->text[kind].bytes + pages->begin[kind], list.out.bytes, list.out.length) == 0))
        return SUTRA_OK;
    snprintf(name, sizeof name, "%s.html", kinds[kind].name);
    enum sutra_status status = text_file_write_in(context, folder, name, write_with_list, pages, &n_bytes, &why);
    if (status == SUTRA_OK || status == SUTRA_SYSTEM || status == SUTRA_CANCELLED)
        return error_copy(error, status, &why);
    sutra_error_text(&why, text, sizeof text);
    context_warn(context, "%s; this page has no links to the other pages of its directory", text);
    return SUTRA_OK;
}

enum sutra_status page_links_set(struct sutra_context *context, const char *folder, struct sutra_error *error) {
    struct pages pages = {0};
    enum sutra_status status = SUTRA_OK;
    for (int kind = 0; kind < N_KINDS && !status; kind++)
        if (!read_page(&pages, folder, kind))
            status = error_memory(error);
    for (int kind = 0; kind < N_KINDS && !status; kind++)
        if (pages.end[kind])
            status = set_list(&pages, context, folder, kind, error);
    for (int kind = 0; kind < N_KINDS; kind++)
        buffer_free(&pages.text[kind]);
    buffer_free(&pages.list);
    return status;
}

/* Total bytes of titles with the full text of shortened names, per page: keeps a page below 2 MB. */
#define TITLE_ROOM (500 * 1000)

/* Width of the name in a line about missing data. */
#define MISSING_WIDTH 300

/* Skipped traces that are listed. */
#define SKIPPED_SHOWN 50

static struct text_out *out_of(struct page *page) {
    return &page->markup.out;
}

/* ---- Files ---- */

static void fail(struct page *page, enum sutra_status status) {
    if (!page->status)
        page->status = status;
}

void page_check(struct page *page, const struct sutra_table *table) {
    if (table->failed)
        fail(page, error_memory(page->error));
}

static void make_folder(struct page *page, const char *path) {
    struct stat found;
    if (mkdir(path, 0777) && (errno != EEXIST || stat(path, &found) || !S_ISDIR(found.st_mode)))
        fail(page, error_os(page->error, SUTRA_NO_OUTPUT, path, errno, ""));
}

/* The path of a file in the folder, which the caller frees. NULL: out of memory. */
__attribute__((format(printf, 2, 3))) static char *path_in(struct page *page, const char *format, ...) {
    char *name = NULL, *path = NULL;
    va_list arguments;
    va_start(arguments, format);
    int length = vasprintf(&name, format, arguments);
    va_end(arguments);
    if (length < 0 || asprintf(&path, "%s/%s", page->folder, name) < 0)
        path = NULL;
    free(length < 0 ? NULL : name);
    if (!path)
        fail(page, error_memory(page->error));
    return path;
}

/* Writes the text to a file, and empties it. */
static void write_file(struct page *page, const char *path, struct markup *markup) {
    uint64_t n_bytes = 0;
    if (markup->out.out.failed)
        fail(page, error_memory(page->error));
    if (!page->status)
        fail(page, sink_open(&markup->out.sink, page->context, path, page->error));
    if (!page->status) {
        out_flush(&markup->out);
        fail(page, sink_close(markup->out.sink, true, &n_bytes, page->error));
    }
    page->n_bytes += n_bytes;
    buffer_free(&markup->out.out);
}

struct rank_title title_of_ranks(const char *title, int64_t first, size_t n) {
    struct rank_title made = {.more = ""};
    if (n <= 1) {
        snprintf(made.title, sizeof made.title, "%s of rank %" PRId64, title, first);
        return made;
    }
    snprintf(made.title, sizeof made.title, "%s of %s ranks", title, shown_decimal((double)n, 0).text);
    snprintf(made.more, sizeof made.more, " and %s more", shown_decimal((double)n - 1, 0).text);
    return made;
}

void page_open(struct page *page, struct sutra_context *context, const char *folder, const char *name,
               struct sutra_error *error) {
    *page = (struct page){
        .context = context, .folder = folder, .name = name ? name : PAGE_FIRST, .is_alone = !name, .error = error};
    page->markup.title_room = TITLE_ROOM;
    make_folder(page, folder);
    char *charts = page->status ? NULL : path_in(page, "charts");
    if (charts)
        make_folder(page, charts);
    free(charts);
}

/* ---- The frame ---- */

static void write_head(struct page *page, const struct page_frame *frame) {
    struct text_out *out = out_of(page);
    out_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<title>");
    markup_text(&page->markup, frame->title);
    out_add(out, "</title>\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
                 "<meta name=\"color-scheme\" content=\"light dark\"/>\n"
                 "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                 "'unsafe-inline'; img-src data:; script-src '");
    out_add(out, script_digest);
    out_add(out, "'\"/>\n<link rel=\"icon\" href=\"data:,\"/>\n<style>\n");
    out_add(out, style_colours);
    out_add(out, style_charts);
    out_add(out, style_page);
    out_add(out,
            "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#content\">Skip to the content</a>\n<header>\n<h1>");
    markup_text(&page->markup, frame->title);
    out_add(out, "</h1>\n<p class=\"soft\" title=\"");
    markup_title(&page->markup, name_of(frame->path));
    out_add(out, "\">");
    markup_cut(&page->markup, name_of(frame->path), 120);
    markup_text(&page->markup, frame->more);
    out_add(out, "</p>\n</header>\n<nav aria-label=\"Sections\"><ul>\n");
    for (const struct page_section *section = frame->sections; section->id; section++) {
        out_format(out, "<li><a href=\"#%s\">", section->id);
        markup_text(&page->markup, section->title);
        out_add(out, "</a></li>\n");
    }
    out_add(out, "</ul>");
    if (!page->is_alone)
        out_add(out, PAGE_LINKS_BEGIN);
    for (int kind = 0; kind < N_KINDS; kind++)
        if (page->companion && same(kinds[kind].name, page->companion))
            write_link(out, kind);
    if (!page->is_alone)
        out_add(out, PAGE_LINKS_END);
    out_add(out, "</nav>\n<main id=\"content\" tabindex=\"-1\">\n");
}

static void write_section(struct page *page, const struct page_section *section, const void *source) {
    struct text_out *out = out_of(page);
    out_format(out, "<section id=\"%s\" aria-labelledby=\"%s-heading\">\n<h2 id=\"%s-heading\">", section->id,
               section->id, section->id);
    markup_text(&page->markup, section->title);
    out_add(out, "</h2>\n");
    page->charted = page->filled = false;
    if (!section->show) {
        page_words(page, section->words);
        out_add(out, "</section>\n");
        return;
    }
    /* The first sentence, and the other sentences collapsed unless they are short. */
    size_t begin = out->out.length;
    const char *stop = strstr(section->words, ". ");
    size_t first = stop && strlen(stop) > 60 ? (size_t)(stop + 1 - section->words) : strlen(section->words);
    out_add(out, "<p>");
    markup_name(&page->markup, (struct name){section->words, first, false});
    out_add(out, "</p>\n");
    if (section->words[first])
        markup_between(&page->markup, "<details class=\"how\"><summary>How to read it</summary><p>",
                       section->words + first + 1, "</p></details>\n");
    size_t end = out->out.length;
    section->show(page, source);
    /* Without data, the words are removed again. */
    if (!page->filled && !out->out.failed) {
        memmove(out->out.bytes + begin, out->out.bytes + end, out->out.length - end);
        out->out.length -= end - begin;
    }
    out_add(out, "</section>\n");
}

/* Inserts the legend of the colors that the drawings of the page use. */
static void insert_key(struct page *page, size_t offset) {
    struct text_out *out = out_of(page), key = {0};
    bool has_shades = false, is_used = false;
    out_add(&key, "<details class=\"key\"><summary>Color legend</summary><ul>\n");
    for (int colour = 0; colour < N_COLOURS; colour++) {
        is_used |= page->markup.used[colour];
        has_shades |= page->markup.used[colour] && colour >= COLOUR_SHADE;
        if (page->markup.used[colour] && colour_meaning((enum colour)colour))
            out_format(&key, "<li><i class=\"%s\"></i>%s</li>\n", svg_colour(colour),
                       colour_meaning((enum colour)colour));
    }
    if (has_shades)
        out_add(&key, "<li><i class=\"s0\"></i><i class=\"s1\"></i><i class=\"s2\"></i><i class=\"s3\"></i>kinds of "
                      "compute, next to each other</li>\n");
    out_add(&key, "</ul></details>\n");
    const size_t n = is_used ? key.out.length : 0, end = out->out.length;
    buffer_append(&out->out, key.out.bytes, n);
    if (!out->out.failed && !key.out.failed) {
        memmove(out->out.bytes + offset + n, out->out.bytes + offset, end - offset);
        memcpy(out->out.bytes + offset, key.out.bytes, n);
    }
    out->out.failed |= key.out.failed;
    buffer_free(&key.out);
}

enum sutra_status page_write(struct page *page, const struct page_frame *frame, const void *source, uint64_t *n_bytes) {
    struct text_out *out = out_of(page);
    write_head(page, frame);
    if (frame->lead) {
        out_add(out, "<div class=\"headline\">\n");
        page_words(page, frame->lead);
        out_add(out, "</div>\n");
    }
    if (frame->warnings)
        frame->warnings(page, source);
    for (int i = 0; i < frame->n_above; i++)
        write_section(page, &frame->sections[i], source);
    out_add(out, "<dl class=\"cards\">\n");
    frame->cards(page, source);
    out_add(out, "</dl>\n");
    if (frame->note)
        page_words(page, frame->note);
    const size_t key_offset = out->out.length;
    for (const struct page_section *section = frame->sections + frame->n_above; section->id; section++)
        write_section(page, section, source);
    if (!frame->has_no_key)
        insert_key(page, key_offset);
    out_format(out,
               "</main>\n<footer><p>Made by sutra %s.<span class=\"screen\"> Click a column heading to sort a "
               "table.</span></p></footer>\n"
               "<script>",
               sutra_version());
    out_add(out, script_page);
    out_add(out, "</script>\n</body>\n</html>\n");
    char *path = page->status ? NULL : path_in(page, "%s.html", page->name);
    if (path)
        write_file(page, path, &page->markup);
    free(path);
    buffer_free(&out->out);
    if (!page->status && !page->is_alone && !page->companion)
        page->status = page_links_set(page->context, page->folder, page->error);
    if (!page->status && n_bytes)
        *n_bytes = page->n_bytes;
    return page->status;
}

/* ---- Contents ---- */

void page_subtitle(struct page *page, const char *words) {
    markup_between(&page->markup, "<h3>", words, "</h3>\n");
}

void page_sentence(struct page *page, const char *words) {
    const char *from = words;
    for (const char *at = words; (at = strstr(at, " us")); at++) {
        if (at == words || at[-1] < '0' || at[-1] > '9' || isalnum((unsigned char)at[3]) || at[3] == '_')
            continue;
        markup_name(&page->markup, (struct name){from, (size_t)(at - from), false});
        out_add(out_of(page), " µs");
        from = at + 3;
    }
    markup_text(&page->markup, from);
}

void page_words(struct page *page, const char *words) {
    page->filled = true;
    out_add(out_of(page), "<p>");
    page_sentence(page, words);
    out_add(out_of(page), "</p>\n");
}

void page_limit(struct page *page, uint64_t n, uint64_t n_all, bool descending, const char *what) {
    if (n >= n_all)
        return;
    char words[400];
    snprintf(words, sizeof words, "The chart shows the %s%s%s of %s %s.", descending ? "" : "first ",
             count_text(n).text, descending ? " largest" : "", count_text(n_all).text, what);
    page_words(page, words);
}

/* ---- Warnings ---- */

static void write_warning(struct page *page, const char *what, const char *why) {
    out_add(out_of(page), "<p class=\"warning\" role=\"note\">");
    if (what) {
        markup_cut(&page->markup, name_of(what), MISSING_WIDTH);
        out_add(out_of(page), ": ");
    }
    markup_text(&page->markup, why);
    out_add(out_of(page), "</p>\n");
}

void page_warning(struct page *page, const char *words) {
    write_warning(page, NULL, words);
}

void page_warning_count(struct page *page, uint64_t n, const char *one, const char *several) {
    if (n)
        page_warning(page, counted_text(n, one, several).text);
}

void page_warn_defects(struct page *page, const struct sutra_result *result) {
    struct sutra_trace_defect defect = {.size = sizeof defect};
    for (uint32_t i = 0; sutra_result_defect(result, i, &defect); i++)
        page_warning(page, defect.message);
}

void page_warn_skipped(struct page *page, size_t n, const char *path, const char *why) {
    if (n < SKIPPED_SHOWN)
        write_warning(page, path, why);
}

void page_warn_more_skipped(struct page *page, size_t n) {
    page_warning_count(page, n > SKIPPED_SHOWN ? n - SKIPPED_SHOWN : 0, "more trace is skipped.",
                       "more traces are skipped.");
}

void page_missing(struct page *page, const char *what, const char *why) {
    out_add(out_of(page), "<p class=\"missing\">");
    markup_cut(&page->markup, name_of(what), MISSING_WIDTH);
    markup_between(&page->markup, ": ", why && *why ? why : "no data", ".</p>\n");
}

/* ---- Findings ---- */

void page_findings_begin(struct page *page) {
    page->filled = true;
    out_add(out_of(page), "<ol class=\"findings\">\n");
}

void page_finding(struct page *page, const char *rule, double saving_percent, const char *words) {
    struct text_out *out = out_of(page);
    markup_between(&page->markup, "<li data-rule=\"", rule, "\" data-value=\"");
    out_number(out, saving_percent);
    out_format(out, "\"><strong>%s</strong><p>",
               isnan(saving_percent) ? "note" : shown_figure(saving_percent, UNIT_PERCENT).text);
    page_sentence(page, words);
    markup_between(&page->markup, " <code>", rule, "</code></p></li>\n");
}

void page_findings_end(struct page *page) {
    out_add(out_of(page), "</ol>\n");
}

/* ---- Cards ---- */

static void end_card(struct page *page, const char *note) {
    if (*note)
        markup_between(&page->markup, " <span class=\"note\">", note, "</span>");
    out_add(out_of(page), "</dd></div>\n");
}

static void begin_card(struct page *page, const char *name, const char *tag) {
    out_format(out_of(page), "%s<dt>", tag);
    markup_text(&page->markup, name);
    out_add(out_of(page), "</dt><dd");
}

void page_card(struct page *page, const char *name, double value, enum unit unit, const char *note) {
    begin_card(page, name, "<div>");
    out_add(out_of(page), " data-value=\"");
    out_number(out_of(page), value);
    out_format(out_of(page), "\">%s", shown_figure(value, unit).text);
    end_card(page, note);
}

void page_card_words(struct page *page, const char *name, const char *words, const char *note) {
    begin_card(page, name, "<div class=\"broad\">");
    out_add(out_of(page), ">");
    markup_text(&page->markup, words);
    end_card(page, note);
}

/* ---- Charts ---- */

/* Draws a chart in one form, unless the page failed. */
static void draw_chart(struct page *page, struct svg svg, struct markup *markup, enum svg_form form, chart_draw *draw,
                       const void *chart) {
    svg.markup = markup;
    svg.form = form;
    svg.width = page->chart_width > 0 && form != SVG_NARROW ? page->chart_width : svg_width(form);
    if (!page->status)
        draw(&svg, chart);
}

void page_chart(struct page *page, const char *name, const char *title, const char *description, chart_draw *draw,
                const void *chart) {
    const struct svg svg = {.id = name, .title = title, .description = description};
    struct markup file = {.title_room = TITLE_ROOM};
    bool first = same(page->name, PAGE_FIRST);
    page->charted = page->filled = true;
    char *path =
        page->status ? NULL : path_in(page, "charts/%s%s%s.svg", first ? "" : page->name, first ? "" : "_", name);
    draw_chart(page, svg, &file, SVG_FILE, draw, chart);
    if (path)
        write_file(page, path, &file);
    buffer_free(&file.out.out);
    free(path);
    out_add(out_of(page), "<figure>\n");
    draw_chart(page, svg, &page->markup, SVG_WIDE, draw, chart);
    draw_chart(page, svg, &page->markup, SVG_NARROW, draw, chart);
    out_add(out_of(page), "</figure>\n");
}

bool page_bars(struct page *page, struct bars bars, uint64_t n_most, const struct bars_words *words) {
    page_check(page, bars.table);
    bool squares = n_most == RANKS_AS_BARS && bars.n_labels == 1 && bars.table->n_rows > RANKS_AS_BARS;
    uint64_t most = squares ? HEAT_ROWS_MAX : n_most;
    bars.n_rows = MIN(bars.table->n_rows, most);
    while (bars.row_colours && bars.n_rows > 1 &&
           !(table_get_real(bars.table, bars.values[0].column, bars.n_rows - 1) > 0))
        bars.n_rows--; /* rows descend; a row without time needs no bar */
    if (bars.n_rows == 0)
        return false;
    page_chart(page, words->name, words->title, words->description, squares ? heat_draw : bars_draw, &bars);
    if (bars.n_rows == most) {
        bool descending = true;
        double last = INFINITY;
        for (uint64_t row = 0; row < bars.table->n_rows && descending; row++) {
            const double sum = bars_sum(&bars, row);
            descending = sum <= last;
            last = sum;
        }
        page_limit(page, bars.n_rows, bars.table->n_rows, descending, squares ? "ranks" : "rows");
    }
    if (words->note)
        page_words(page, words->note);
    page_table(page, bars.table, words->caption, words->file);
    return true;
}
