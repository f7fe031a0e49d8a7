/*
 * verdict_page.c - writes the top of the page of `sutra analyze`: the verdict in the order of the terminal, with a bar
 * of the mean step, a bar per step, and a picture of the timeline with each finding.
 *
 *     facts | why, what it could be | bar, steps | findings with pictures | suspects, unexplained, next | Markdown
 *
 * The Markdown document is on the page; the button that copies it is shown by the script.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "report/page.h"
#include "report/verdict_words.h"
#include "sutra/overview.h"

#define PICTURE_WIDTH  720.0
#define LABEL_WIDTH    96.0
#define TIME_WIDTH     64.0
#define MEAN_HEIGHT    26.0
#define STEPS_BARS_MIN 2
#define STEPS_BARS_MAX 50
#define STEPS_TALL_MAX 12 /* with a label each */

/* ---- The bar: the parts of the mean step, and of each step ---- */

struct verdict_bar {
    const struct verdict_words *words;
    const struct bars *steps; /* a row per step of the verdict's rank */
};

/* The style of text on a color: dark on the lighter ones. */
static const char *part_style(int colour) {
    return colour == COLOUR_COMMUNICATION || colour == COLOUR_WAIT_DATA ? "on dark" : "on light";
}

static double step_time(const struct bars *steps, uint64_t row) {
    double sum = 0;
    for (int i = 0; i < steps->n_values; i++)
        sum += fmax(0, table_get_real(steps->table, steps->values[i].column, row));
    return sum;
}

static void draw_verdict_bar(const struct svg *svg, const void *chart) {
    const struct verdict_bar *bar = chart;
    const struct verdict_words *words = bar->words;
    const struct bars *steps = bar->steps;
    const bool is_narrow = svg->form == SVG_NARROW;
    const bool has_steps = steps && steps->table->n_rows >= STEPS_BARS_MIN && steps->table->n_rows <= STEPS_BARS_MAX;
    const uint64_t n_steps = has_steps ? steps->table->n_rows : 0;
    const double left = is_narrow ? 0 : LABEL_WIDTH, width = svg->width - left - (is_narrow ? 0 : TIME_WIDTH);
    const double row_height = n_steps <= STEPS_TALL_MAX ? 15 : 6, distance = row_height + 2;
    const char *mean_label = words->verdict->n_steps ? words->bar_label : "the trace";
    struct text_out *out = svg_out(svg);

    /* The legend has the numbers of all parts of the mean step; parts of steps that the bar does not have are "rest". */
    struct legend_entry entries[BAR_PARTS_MOST + 1];
    char names[BAR_PARTS_MOST][96];
    int n_entries = 0;
    bool is_named[N_COLOURS] = {false}, has_unnamed = false;
    for (unsigned i = 0; i < words->n_bar; i++) {
        const struct bar_part *part = &words->bar[i];
        const bool is_small = part->percent < 0.95;
        snprintf(names[n_entries], sizeof names[0], "%s %s %.*f%%", *part->name ? part->name : "rest",
                 is_small ? shown_figure(part->us, UNIT_US).text : part->time, is_small, part->percent);
        entries[n_entries] = (struct legend_entry){.name = names[n_entries], .colour = part->colour};
        is_named[part->colour] = true;
        n_entries++;
    }
    for (uint64_t row = 0; row < n_steps; row++)
        for (int i = 0; i < steps->n_values; i++)
            has_unnamed |=
                !is_named[steps->values[i].colour] && table_get_real(steps->table, steps->values[i].column, row) > 0;
    if (has_unnamed && !is_named[COLOUR_IDLE])
        entries[n_entries++] = (struct legend_entry){.name = "rest", .colour = COLOUR_IDLE};
    const double top = svg_legend(svg, entries, n_entries, false) + (is_narrow ? 16 : 0);
    const double first_step = top + MEAN_HEIGHT + 10;
    double longest = words->verdict->step_us;
    for (uint64_t row = 0; row < n_steps; row++)
        longest = fmax(longest, step_time(steps, row));
    svg_begin(svg, n_steps ? first_step + (double)n_steps * distance + 4 : top + MEAN_HEIGHT + 6);
    svg_legend(svg, entries, n_entries, true);

    if (is_narrow)
        svg_text(svg, NULL, ANCHOR_START, 0, top - 4, name_of(mean_label), svg->width);
    else
        svg_text(svg, NULL, ANCHOR_START, 0, top + 17, name_of(mean_label), left - 8);
    double x = left;
    for (unsigned i = 0; i < words->n_bar; i++) {
        const struct bar_part *part = &words->bar[i];
        const double size = part->us / longest * width;
        char share[16];
        svg_part(svg, part->colour, x, top, size, MEAN_HEIGHT);
        out_format(out, "><title>%s: %s, %.1f%%</title></rect>\n", *part->name ? part->name : "rest", part->time,
                   part->percent);
        snprintf(share, sizeof share, "%.0f%%", part->percent);
        if (size > 36 && part->colour != COLOUR_IDLE)
            svg_text(svg, part_style(part->colour), ANCHOR_START, x + 5, top + 17, name_of(share), 0);
        x += size;
    }
    if (!is_narrow)
        svg_text(svg, NULL, ANCHOR_END, svg->width, top + 17, name_of(words->step_time), TIME_WIDTH);

    for (uint64_t row = 0; row < n_steps; row++) {
        const double y = first_step + (double)row * distance;
        size_t length;
        const char *name = table_get_text(steps->table, steps->labels[0], row, &length);
        const char *number = strrchr(name, '#');
        if (!is_narrow && row_height > 10) {
            svg_text(svg, "small", ANCHOR_START, 0, y + 11, name_of(number ? number : name), left - 8);
            svg_text(svg, "small", ANCHOR_END, svg->width, y + 11,
                     name_of(shown_figure(step_time(steps, row), UNIT_US).text), TIME_WIDTH);
        } else if (!is_narrow && row == 0) {
            char label[48];
            snprintf(label, sizeof label, "%" PRIu64 " steps", n_steps);
            svg_text(svg, "small", ANCHOR_START, 0, y + 9, name_of(label), left - 8);
        }
        x = left;
        for (int entry = 0; entry < n_entries; entry++) { /* in the order of the legend */
            double us = 0;
            for (int i = 0; i < steps->n_values; i++) {
                const int colour = steps->values[i].colour;
                if ((is_named[colour] ? colour : COLOUR_IDLE) == entries[entry].colour)
                    us += fmax(0, table_get_real(steps->table, steps->values[i].column, row));
            }
            const double size = us / longest * width;
            const char *part = (unsigned)entry < words->n_bar ? words->bar[entry].name : "";
            if (!(size > 0))
                continue;
            svg_part(svg, entries[entry].colour, x, y, size, row_height);
            out_add(out, "><title>");
            markup_cut(svg->markup, name_of(name), 40);
            out_format(out, ", %s: %s</title></rect>\n", *part ? part : "rest", shown_figure(us, UNIT_US).text);
            x += size;
        }
    }
    svg_end(svg);
}

/* ---- Findings ---- */

static void write_point(struct page *page, const char *label, const char *text) {
    if (!*text)
        return;
    out_format(&page->markup.out, "<p><b>%s</b> ", label);
    page_sentence(page, text);
    out_add(&page->markup.out, "</p>\n");
}

/* The picture of a finding, if its range has events. */
static void write_picture(struct page *page, const struct sutra_table *events, const struct finding_words *finding) {
    const uint32_t rule = table_column(events, "rule"), rank = table_column(events, "rank");
    struct timeline timeline = {.table = events, .marked = finding->marked};
    size_t length;
    for (uint64_t row = 0; row < events->n_rows; row++)
        if (table_get_integer(events, rank, row) == finding->evidence.rank &&
            strcmp(table_get_text(events, rule, row, &length), finding->rule) == 0) {
            timeline.first = timeline.n ? timeline.first : row;
            timeline.n++;
        }
    if (timeline.n) {
        char name[64], title[128];
        snprintf(name, sizeof name, "evidence_%.40s", finding->rule);
        snprintf(title, sizeof title, "%.80s: timeline", finding->title);
        page_chart(page, name, title,
                   "Threads with operators and runtime calls, and GPU streams; the time of the finding is shaded.",
                   timeline_draw, &timeline);
    }
    if (*finding->evidence.command)
        markup_between(&page->markup, "<p class=\"soft\">Extract this range for Perfetto: <code>",
                       finding->evidence.command, "</code></p>\n");
}

static void write_finding(struct page *page, const struct sutra_table *events, const struct finding_words *finding) {
    struct text_out *out = &page->markup.out;
    markup_between(&page->markup, "<li data-rule=\"", finding->rule, "\" data-value=\"");
    out_number(out, finding->percent);
    out_format(out, "\"><strong>%s</strong><div>\n<h3>",
               isnan(finding->percent) ? "note" : shown_figure(finding->percent, UNIT_PERCENT).text);
    markup_text(&page->markup, finding->title);
    out_add(out, "</h3>\n");
    if (*finding->saving) {
        out_add(out, "<p class=\"soft\">");
        page_sentence(page, finding->saving);
        out_add(out, "</p>\n");
    }
    write_point(page, "Seen", finding->seen);
    write_point(page, "Where", finding->where);
    write_point(page, "Code", finding->code);
    write_point(page, "Do", finding->fix);
    write_point(page, "Check", finding->check);
    write_picture(page, events, finding);
    out_add(out, "</div></li>\n");
}

/* ---- The top of the page ---- */

void verdict_show(struct page *page, const struct sutra_overview *overview, const struct bars *steps) {
    struct text_out *out = &page->markup.out;
    struct arena arena = {0};
    struct verdict_words words;
    enum sutra_status status = verdict_words_of(overview, &arena, &words, page->error);
    if (status) {
        page->status = page->status ? page->status : status;
        arena_free(&arena);
        return;
    }
    page->filled = true;
    page->chart_width = PICTURE_WIDTH;
    out_add(out, "<p class=\"soft\">");
    page_sentence(page, words.facts);
    out_add(out, "</p>\n<div class=\"headline\">\n");
    write_point(page, "Trace is damaged", words.damage);
    write_point(page, "Why it is slow", words.why);
    write_point(page, "What it could be", words.could);
    write_point(page, "Do", words.fix);
    for (unsigned i = 0; i < words.n_operators; i++)
        write_point(page, i ? "" : "Time", words.operators[i]);
    out_add(out, "</div>\n");
    if (words.n_bar)
        page_chart(page, "verdict", words.verdict->n_steps ? "Parts of a step" : "Parts of the trace",
                   words.verdict->n_steps ? "One bar: the parts of the mean step; below it, one bar per step."
                                          : "One bar: the parts of the whole trace, in which sutra found no steps.",
                   draw_verdict_bar, &(struct verdict_bar){&words, steps});
    const struct sutra_table *events = sutra_result_table(SUTRA_RESULT(overview), SUTRA_OVERVIEW_EVIDENCE, NULL);
    out_add(out, "<ol class=\"findings\">\n");
    for (unsigned i = 0; i < words.n_findings; i++)
        write_finding(page, events, &words.findings[i]);
    out_add(out, "</ol>\n");
    write_point(page, "Not judged:", words.not_judged);
    write_point(page, "Not the cause:", words.suspects);
    write_point(page, "Not explained:", words.unexplained);
    bool has_next = false;
    for (size_t i = 0; i < words.verdict->n_next; i++) {
        const struct sutra_next_command *next = &words.verdict->next[i];
        if (next->is_page) /* the reader has it */
            continue;
        out_add(out, has_next ? "" : "<p><b>Next</b></p>\n<ul class=\"next\">\n");
        has_next = true;
        markup_between(&page->markup, "<li><code>", next->command, "</code> ");
        markup_text(&page->markup, next->text);
        out_add(out, "</li>\n");
    }
    if (has_next)
        out_add(out, "</ul>\n");

    struct text_out document = {0};
    verdict_markdown(&words, false, &document);
    out_add(out, "<details class=\"copy\"><summary>Markdown for an issue</summary>\n<pre>");
    for (const char *at = document.out.bytes, *end = at + document.out.length; at < end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        const size_t line = (size_t)((stop ? stop : end) - at);
        markup_name(&page->markup, (struct name){at, line, false});
        out_add(out, stop ? "\n" : "");
        at += line + (stop != NULL);
    }
    out_add(out, "</pre></details>\n");
    out->out.failed |= document.out.failed;
    buffer_free(&document.out);
    page->chart_width = 0;
    arena_free(&arena);
}
