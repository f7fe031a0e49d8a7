/*
 * page.c - writes the frame of a page, and its files.
 */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "report/markup.h"
#include "report/page.h"
#include "sutra/sutra.h"
#include "text/quantities.h"
#include "write/text.h"

/*
 * Determines heading and unit of a table column from the ending of its name, or from a list.
 */

/* Ends of names, the longer ones first. */
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

/* Columns whose names are no words, or tell no unit; no table: in any. */
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

/* Times whose names do not say so. */
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

/* Numbers of whole tables. */
static const struct {
    const char *table, *unit;
} tables[] = {{"memory_bw_summary", "GB/s"}, {"queue_length_summary", "kernels"}};

static bool same(const char *a, const char *b) {
    return strcmp(a, b) == 0;
}

static void set_words(struct heading *heading, const char *name, size_t length) {
    size_t room = sizeof heading->words - 1;
    length = length < room ? length : room;
    for (size_t i = 0; i < length; i++)
        heading->words[i] = name[i];
    for (size_t i = 0; i < length; i++)
        if (name[i] == '_')
            heading->words[i] = ' ';
    heading->words[length] = '\0';
}

/* What describes a distribution. */
static bool describes(const char *column) {
    static const char *const names[] = {"mean", "std", "min", "25%", "50%", "75%", "max"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (same(column, names[i]))
            return true;
    return false;
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
        if (same(tables[i].table, table) && describes(column))
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

/*
 * Reads the pages of a directory, and replaces their lists of links.
 */

/* No page of ours is larger. */
#define PAGE_BYTES_MOST (4 << 20)

static const struct {
    const char *name, *title;
} kinds[] = {{PAGE_FIRST, "Findings"},   {PAGE_HTA, "HTA tables"},          {PAGE_OPERATORS, "Operators"},
             {PAGE_KERNELS, "Kernels"},  {PAGE_COLLECTIVES, "Collectives"}, {PAGE_DLRM, "CPU overheads"},
             {PAGE_MEMORY, "GPU memory"}};

enum { N_KINDS = sizeof kinds / sizeof *kinds };

/* The pages that are there, and where their lists are. */
struct pages {
    struct buffer text[N_KINDS];
    size_t begin[N_KINDS], end[N_KINDS]; /* equal to 0 both where there is no page of ours */
    struct buffer list;
    int kind; /* which is written */
};

static bool read_all(int file, struct buffer *text) {
    struct stat found;
    if (fstat(file, &found) || !S_ISREG(found.st_mode) || found.st_size > PAGE_BYTES_MOST)
        return true;
    size_t n = (size_t)found.st_size;
    char *to = buffer_reserve(text, n + 1);
    ssize_t got = 1;
    while (to && text->length < n && got > 0)
        if ((got = read(file, to + text->length, n - text->length)) > 0)
            text->length += (size_t)got;
    if (to)
        to[text->length] = '\0';
    return to != NULL;
}

/* Looks for a page; false: out of memory. One that cannot be read, or that has no list, is not one of ours. */
static bool look_for(struct pages *pages, const char *folder, int kind) {
    char *path = NULL;
    if (asprintf(&path, "%s/%s.html", folder, kinds[kind].name) < 0)
        return false;
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    free(path);
    if (file < 0)
        return true;
    struct buffer *text = &pages->text[kind];
    bool done = read_all(file, text);
    close(file);
    const char *begin = done && text->bytes ? strstr(text->bytes, PAGE_LINKS_BEGIN) : NULL;
    const char *end = begin ? strstr(begin, PAGE_LINKS_END) : NULL;
    if (end) {
        pages->begin[kind] = (size_t)(begin - text->bytes) + strlen(PAGE_LINKS_BEGIN);
        pages->end[kind] = (size_t)(end - text->bytes);
    }
    return done;
}

/* What leads to the page `kind`, one of those names, in a list. */
static void page_link_write(struct text_out *out, const char *kind) {
    for (int i = 0; i < N_KINDS; i++)
        if (strcmp(kinds[i].name, kind) == 0)
            out_format(out, "<li><a href=\"%s.html\">%s</a></li>", kinds[i].name, kinds[i].title);
}

/* What the list of a page should be. */
static void make_list(struct pages *pages, int kind) {
    struct text_out out = {.out = pages->list};
    out.out.length = 0;
    for (int other = 0; other < N_KINDS; other++)
        if (other != kind && pages->end[other])
            page_link_write(&out, kinds[other].name);
    pages->kind = kind;
    pages->list = out.out;
}

static bool is_listed(const struct pages *pages, int kind) {
    return pages->end[kind] - pages->begin[kind] == pages->list.length &&
           (pages->list.length == 0 ||
            memcmp(pages->text[kind].bytes + pages->begin[kind], pages->list.bytes, pages->list.length) == 0);
}

static bool write_page(const void *of, struct text_out *out) {
    const struct pages *pages = of;
    const struct buffer *text = &pages->text[pages->kind];
    size_t end = pages->end[pages->kind];
    buffer_append(&out->out, text->bytes, pages->begin[pages->kind]);
    buffer_append(&out->out, pages->list.bytes, pages->list.length);
    buffer_append(&out->out, text->bytes + end, text->length - end);
    return !out->out.failed;
}

/* A page that cannot be replaced, as one that is read-only, stays as it is, which is told: nothing else depends on
 * it. */
static enum sutra_status set_list(struct pages *pages, struct sutra_context *context, const char *folder, int kind,
                                  struct sutra_error *error) {
    char name[64], text[sizeof(struct sutra_error)];
    uint64_t n_bytes = 0;
    struct sutra_error why;
    make_list(pages, kind);
    if (pages->list.failed)
        return error_memory(error);
    if (is_listed(pages, kind))
        return SUTRA_OK;
    snprintf(name, sizeof name, "%s.html", kinds[kind].name);
    enum sutra_status status = text_file_write_in(context, folder, name, write_page, pages, &n_bytes, &why);
    if (status == SUTRA_OK || status == SUTRA_SYSTEM || status == SUTRA_CANCELLED)
        return error_hand_on(error, status, &why);
    sutra_error_text(&why, text, sizeof text);
    context_warn(context, "%s; this page has no links to the other pages of its directory", text);
    return SUTRA_OK;
}

enum sutra_status page_links_set(struct sutra_context *context, const char *folder, struct sutra_error *error) {
    struct pages pages = {0};
    enum sutra_status status = SUTRA_OK;
    for (int kind = 0; kind < N_KINDS && !status; kind++)
        if (!look_for(&pages, folder, kind))
            status = error_memory(error);
    for (int kind = 0; kind < N_KINDS && !status; kind++)
        if (pages.end[kind])
            status = set_list(&pages, context, folder, kind, error);
    for (int kind = 0; kind < N_KINDS; kind++)
        buffer_free(&pages.text[kind]);
    buffer_free(&pages.list);
    return status;
}

/* Bytes for whole names of what is shown cut, on one page: they keep the page below 2 MB whatever the names. */
#define TITLE_ROOM (500 * 1000)

/* Of the name of what is missing. */
#define MISSING_WIDTH 300

/* Traces that are left out, by name. */
#define LEFT_OUT_SHOWN 50

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
        fail(page, error_file(page->error, SUTRA_NO_OUTPUT, path, "%s", strerror(errno)));
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

/* Writes and empties what is in a buffer. */
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

enum sutra_status page_close(struct page *page) {
    out_format(out_of(page),
               "</main>\n<footer><p>Made by sutra %s.<span class=\"screen\"> Click a column heading to sort a "
               "table.</span></p></footer>\n"
               "<script>",
               sutra_version());
    out_add(out_of(page), script_page);
    out_add(out_of(page), "</script>\n</body>\n</html>\n");
    char *path = page->status ? NULL : path_in(page, "%s.html", page->name);
    if (path)
        write_file(page, path, &page->markup);
    free(path);
    buffer_free(&page->markup.out.out);
    if (!page->status && !page->is_alone && !page->beside)
        page->status = page_links_set(page->context, page->folder, page->error);
    return page->status;
}

/* ---- The frame ---- */

/* What colours mean. */
static void write_key(struct text_out *out) {
    out_add(out, "<details class=\"key\"><summary>Color legend</summary><ul>\n");
    for (int colour = 0; colour < N_COLOURS; colour++)
        if (colour_meaning((enum colour)colour))
            out_format(out, "<li><i class=\"%s\"></i>%s</li>\n", svg_colour(colour),
                       colour_meaning((enum colour)colour));
    out_add(out,
            "<li><i class=\"s0\"></i><i class=\"s1\"></i><i class=\"s2\"></i><i class=\"s3\"></i>kinds of compute, "
            "next to each other</li>\n</ul></details>\n");
}

void page_head(struct page *page, const char *title, const char *source, const char *more,
               const struct page_section *sections) {
    struct text_out *out = out_of(page);
    out_add(out, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n<title>");
    markup_text(&page->markup, title);
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
    markup_text(&page->markup, title);
    out_add(out, "</h1>\n<p class=\"soft\" title=\"");
    markup_title(&page->markup, name_of(source));
    out_add(out, "\">");
    markup_cut(&page->markup, name_of(source), 120);
    markup_text(&page->markup, more);
    out_add(out, "</p>\n</header>\n<nav aria-label=\"Sections\"><ul>\n");
    for (; sections->id; sections++) {
        out_format(out, "<li><a href=\"#%s\">", sections->id);
        markup_text(&page->markup, sections->title);
        out_add(out, "</a></li>\n");
    }
    out_add(out, "</ul>");
    if (!page->is_alone)
        out_add(out, PAGE_LINKS_BEGIN);
    if (page->beside)
        page_link_write(out, page->beside);
    if (!page->is_alone)
        out_add(out, PAGE_LINKS_END);
    out_add(out, "</nav>\n<main id=\"content\" tabindex=\"-1\">\n");
}

/* The end of the first sentence, or of all of them if the rest is short. */
static size_t first_sentence(const char *words) {
    const char *end = strstr(words, ". ");
    return end && strlen(end) > 60 ? (size_t)(end + 1 - words) : strlen(words);
}

static void write_words(struct page *page, const char *words) {
    struct text_out *out = out_of(page);
    size_t first = first_sentence(words);
    out_add(out, "<p>");
    markup_name(&page->markup, (struct name){words, first, false});
    out_add(out, "</p>\n");
    if (words[first] == '\0')
        return;
    out_add(out, "<details class=\"how\"><summary>How to read it</summary><p>");
    markup_text(&page->markup, words + first + 1);
    out_add(out, "</p></details>\n");
}

/* Takes out what was written from `first` to `end`. */
static void take_out(struct buffer *written, size_t first, size_t end) {
    if (written->failed)
        return;
    memmove(written->bytes + first, written->bytes + end, written->length - end);
    written->length -= end - first;
}

void page_section(struct page *page, const struct page_section *section, const void *source) {
    struct text_out *out = out_of(page);
    out_format(out, "<section id=\"%s\" aria-labelledby=\"%s-heading\">\n<h2 id=\"%s-heading\">", section->id,
               section->id, section->id);
    markup_text(&page->markup, section->title);
    out_add(out, "</h2>\n");
    size_t first = out->out.length;
    if (section->show)
        write_words(page, section->words);
    else
        page_words(page, section->words);
    size_t end = out->out.length;
    page->charted = page->filled = false;
    if (section->show) {
        section->show(page, source);
        if (!page->filled)
            take_out(&out->out, first, end);
    }
    out_add(out, "</section>\n");
}

void page_sections(struct page *page, const struct page_section *sections, const void *source) {
    write_key(out_of(page));
    for (; sections->id; sections++)
        page_section(page, sections, source);
}

void page_subtitle(struct page *page, const char *words) {
    out_add(out_of(page), "<h3>");
    markup_text(&page->markup, words);
    out_add(out_of(page), "</h3>\n");
}

/* Where the next unit " us" behind a digit is in a sentence that terminals show, too; NULL: there is none. */
static const char *find_us(const char *words) {
    for (const char *at = words; (at = strstr(at, " us")); at++)
        if (at > words && at[-1] >= '0' && at[-1] <= '9' && !isalnum((unsigned char)at[3]) && at[3] != '_')
            return at;
    return NULL;
}

/* A sentence, in which microseconds are written as everywhere on pages. */
static void write_sentence(struct page *page, const char *words) {
    for (const char *at; (at = find_us(words)); words = at + 3) {
        markup_name(&page->markup, (struct name){words, (size_t)(at - words), false});
        out_add(out_of(page), " µs");
    }
    markup_text(&page->markup, words);
}

void page_words(struct page *page, const char *words) {
    page->filled = true;
    out_add(out_of(page), "<p>");
    write_sentence(page, words);
    out_add(out_of(page), "</p>\n");
}

/* ---- Warnings ---- */

static void warn_of(struct page *page, const char *what, const char *why) {
    out_add(out_of(page), "<p class=\"warning\" role=\"note\">");
    if (what) {
        markup_cut(&page->markup, name_of(what), MISSING_WIDTH);
        out_add(out_of(page), ": ");
    }
    markup_text(&page->markup, why);
    out_add(out_of(page), "</p>\n");
}

void page_warning(struct page *page, const char *words) {
    warn_of(page, NULL, words);
}

void page_warning_count(struct page *page, uint64_t n, const char *one, const char *several) {
    if (n)
        page_warning(page, counted_text(n, one, several).text);
}

void page_left_out(struct page *page, size_t n, const char *path, const char *why) {
    if (n < LEFT_OUT_SHOWN)
        warn_of(page, path, why);
}

void page_left_out_more(struct page *page, size_t n) {
    page_warning_count(page, n > LEFT_OUT_SHOWN ? n - LEFT_OUT_SHOWN : 0, "more trace is skipped.",
                       "more traces are skipped.");
}

void page_missing(struct page *page, const char *what, const char *why) {
    out_add(out_of(page), "<p class=\"missing\">");
    markup_cut(&page->markup, name_of(what), MISSING_WIDTH);
    out_add(out_of(page), ": ");
    markup_text(&page->markup, why && *why ? why : "no data");
    out_add(out_of(page), ".</p>\n");
}

/* ---- Findings ---- */

void page_findings_begin(struct page *page) {
    page->filled = true;
    out_add(out_of(page), "<ol class=\"findings\">\n");
}

void page_finding(struct page *page, const char *rule, double saving_percent, const char *words) {
    struct text_out *out = out_of(page);
    out_add(out, "<li data-rule=\"");
    markup_text(&page->markup, rule);
    out_add(out, "\" data-value=\"");
    out_number(out, saving_percent);
    out_format(out, "\"><strong>%s</strong><p>",
               isnan(saving_percent) ? "note" : shown_figure(saving_percent, UNIT_PERCENT).text);
    write_sentence(page, words);
    out_add(out, " <code>");
    markup_text(&page->markup, rule);
    out_add(out, "</code></p></li>\n");
}

void page_findings_end(struct page *page) {
    out_add(out_of(page), "</ol>\n");
}

/* ---- Figures ---- */

void page_cards_begin(struct page *page) {
    out_add(out_of(page), "<dl class=\"cards\">\n");
}

static void card_note(struct page *page, const char *note) {
    if (*note) {
        out_add(out_of(page), " <span class=\"note\">");
        markup_text(&page->markup, note);
        out_add(out_of(page), "</span>");
    }
    out_add(out_of(page), "</dd></div>\n");
}

static void card_name(struct page *page, const char *name, const char *tag) {
    out_format(out_of(page), "%s<dt>", tag);
    markup_text(&page->markup, name);
    out_add(out_of(page), "</dt><dd");
}

void page_card(struct page *page, const char *name, double value, enum unit unit, const char *note) {
    card_name(page, name, "<div>");
    out_add(out_of(page), " data-value=\"");
    out_number(out_of(page), value);
    out_format(out_of(page), "\">%s", shown_figure(value, unit).text);
    card_note(page, note);
}

void page_card_words(struct page *page, const char *name, const char *words, const char *note) {
    card_name(page, name, "<div class=\"broad\">");
    out_add(out_of(page), ">");
    markup_text(&page->markup, words);
    card_note(page, note);
}

void page_cards_end(struct page *page) {
    out_add(out_of(page), "</dl>\n");
}

/* ---- Charts ---- */

static void draw(const struct svg *svg, chart_draw *draw_chart, const void *chart, struct page *page) {
    if (!page->status)
        draw_chart(svg, chart);
}

static void chart_file(struct page *page, struct svg svg, chart_draw *draw_chart, const void *chart) {
    struct markup markup = {.title_room = TITLE_ROOM};
    bool first = strcmp(page->name, PAGE_FIRST) == 0;
    char *path =
        page->status ? NULL : path_in(page, "charts/%s%s%s.svg", first ? "" : page->name, first ? "" : "_", svg.id);
    svg.markup = &markup;
    svg.form = SVG_FILE;
    svg.width = svg_width(svg.form);
    draw(&svg, draw_chart, chart, page);
    if (path)
        write_file(page, path, &markup);
    buffer_free(&markup.out.out);
    free(path);
}

void page_chart(struct page *page, const char *name, const char *title, const char *description, chart_draw *draw_chart,
                const void *chart) {
    struct svg svg = {.id = name, .title = title, .description = description};
    page->charted = page->filled = true;
    chart_file(page, svg, draw_chart, chart);
    out_add(out_of(page), "<figure>\n");
    svg.markup = &page->markup;
    for (svg.form = SVG_WIDE; svg.form <= SVG_NARROW; svg.form++) {
        svg.width = svg_width(svg.form);
        draw(&svg, draw_chart, chart, page);
    }
    out_add(out_of(page), "</figure>\n");
}

bool page_bars(struct page *page, struct bars bars, uint64_t n_most, const struct bars_words *words) {
    page_check(page, bars.table);
    bool squares = n_most == RANKS_AS_BARS && bars.n_labels == 1 && bars.table->n_rows > RANKS_AS_BARS;
    uint64_t most = squares ? HEAT_ROWS_MAX : n_most;
    bars.n_rows = bars.table->n_rows < most ? bars.table->n_rows : most;
    while (bars.row_colours && bars.n_rows > 1 &&
           !(table_get_real(bars.table, bars.values[0].column, bars.n_rows - 1) > 0))
        bars.n_rows--; /* lists fall, and what takes no time needs no bar */
    if (bars.n_rows == 0)
        return false;
    page_chart(page, words->name, words->title, words->description, squares ? heat_draw : bars_draw, &bars);
    if (squares && bars.n_rows < bars.table->n_rows)
        page_words(page, "The chart shows the first 512 ranks.");
    if (words->note)
        page_words(page, words->note);
    page_table(page, bars.table, words->caption, words->file);
    return true;
}
