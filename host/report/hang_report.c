/*
 * hang_report.c - writes the page on a hung job: the causes, a picture of ranks and stuck operations, the wait-for
 * chain, and tables.
 *
 *              7 #6   9 #4   3 #2          columns: stuck operations, the roots first
 *     rank 4    ==     ..                  rows: ranks, or ranges of ranks with equal cells
 *     rank 5    MM                         cells: passed, waits, missing, deviates, no dump; empty: no member
 *
 * The picture has at most ROWS_MAX rows and COLUMNS_MAX columns, regardless of the number of ranks. In a large job, a
 * row of a range shows the most severe state of its ranks; ranks of the causes have rows of their own. Cost: O(ranks x
 * COLUMNS_MAX + members of the shown groups).
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/hang/hang.h"
#include "base/shared.h"
#include "report/page.h"
#include "sutra/report.h"

#define ROWS_MAX       64
#define COLUMNS_MAX    16
#define COLUMNS_NARROW 8  /* of a narrow drawing */
#define OWN_ROWS_MAX   24 /* ranks of the causes with a row of their own, in a large job */
#define CHAIN_MAX      24
#define CHAIN_INDENTS  8

/* ---- The picture: ranks and stuck operations ---- */

/* The state of a rank at an operation, in ascending order of severity. */
enum rank_progress { CELL_NO_MEMBER, CELL_PASSED, CELL_WAITS, CELL_NO_DUMP, CELL_DEVIATES, CELL_MISSING, N_CELLS };

/* Here colors distinguish the states; the legend has their names. */
static const struct cell_form {
    const char *name, *letter; /* in the legend, and in the cell */
    int colour;
} cell_forms[N_CELLS] = {[CELL_PASSED] = {"passed", "", COLOUR_SHADE + COLOUR_SHADES - 1},
                         [CELL_WAITS] = {"waits", "", COLOUR_COMMUNICATION},
                         [CELL_NO_DUMP] = {"? no dump", "?", COLOUR_IDLE},
                         [CELL_DEVIATES] = {"D deviates", "D", COLOUR_WAIT_DEVICE},
                         [CELL_MISSING] = {"M missing", "M", COLOUR_WAIT_HOST}};

struct picture_row {
    size_t first, end; /* positions in `world` */
    bool is_cause;
    uint8_t cells[COLUMNS_MAX];
};

struct picture {
    const struct sutra_hang *hang;
    const struct hang_wait *waits;
    uint32_t n_columns;
    struct picture_row rows[ROWS_MAX];
    size_t n_rows;
    bool is_mixed; /* a row has ranks with different states */
};

/* Raises the cells of a column to `cell` for these ranks. Both lists are ascending. */
static void set_cells(const struct hang_ranks *world, uint8_t (*cells)[COLUMNS_MAX], uint32_t column,
                      struct hang_ranks ranks, enum rank_progress cell) {
    for (size_t i = 0, at = 0; i < ranks.n; i++) {
        while (at < world->n && world->list[at] < ranks.list[i])
            at++;
        if (at < world->n && world->list[at] == ranks.list[i] && cells[at][column] < cell)
            cells[at][column] = (uint8_t)cell;
    }
}

/* Makes the rows: one for each rank; else one for each range of ranks with equal cells; else the ranks between the
 * first ranks of the causes in ranges of about equal length. */
static bool make_picture(struct picture *picture, struct arena *arena) {
    const struct sutra_hang *hang = picture->hang;
    const struct hang_ranks *world = &hang->world;
    uint8_t(*cells)[COLUMNS_MAX] = arena_zeros(arena, world->n + 1, sizeof *cells);
    bool *is_cause = arena_zeros(arena, world->n + 1, sizeof *is_cause);
    if (arena->failed || world->n == 0)
        return false;
    for (uint32_t column = 0; column < picture->n_columns; column++) {
        const struct hang_node *node = &hang->nodes[picture->waits[column].node];
        const bool is_up = node->from < node->to;
        const int64_t pair[2] = {is_up ? node->from : node->to, is_up ? node->to : node->from};
        const struct hang_ranks of_pair = {pair, 2};
        const struct hang_ranks members = node->is_p2p ? of_pair : hang->groups[node->group].members;
        set_cells(world, cells, column, members, CELL_PASSED);
        set_cells(world, cells, column, node->arrived, CELL_WAITS);
        set_cells(world, cells, column, node->no_dump, CELL_NO_DUMP);
        set_cells(world, cells, column, node->missing, CELL_MISSING);
        if (node->mismatch.kind != HANG_NONE && !node->mismatch.is_tie)
            set_cells(world, cells, column, node->mismatch.ranks, CELL_DEVIATES);
    }
    const struct hang_ranks causes = hang->culprits;
    for (size_t i = 0, at = 0; i < causes.n && i < OWN_ROWS_MAX; i++) {
        while (at < world->n && world->list[at] < causes.list[i])
            at++;
        if (at < world->n && world->list[at] == causes.list[i])
            is_cause[at] = true;
    }
    size_t n_runs = world->n > 0;
    for (size_t i = 1; i < world->n; i++)
        n_runs += is_cause[i] || is_cause[i - 1] || memcmp(cells[i], cells[i - 1], sizeof *cells) != 0;
    const size_t n_single = world->n <= ROWS_MAX ? world->n : 0;
    const size_t room = ROWS_MAX - 2 * MIN(causes.n, OWN_ROWS_MAX) - 1, chunk = (world->n + room - 1) / room;
    for (size_t first = 0, end; first < world->n; first = end) {
        end = first + 1;
        if (!n_single)
            while (end < world->n && !is_cause[first] && !is_cause[end] &&
                   (n_runs <= ROWS_MAX ? memcmp(cells[end], cells[first], sizeof *cells) == 0 : end % chunk != 0))
                end++;
        struct picture_row *row = &picture->rows[picture->n_rows++];
        *row = (struct picture_row){.first = first, .end = end, .is_cause = is_cause[first]};
        for (size_t i = first; i < end; i++)
            for (uint32_t column = 0; column < picture->n_columns; column++) {
                picture->is_mixed |= cells[i][column] != cells[first][column];
                if (cells[i][column] > row->cells[column])
                    row->cells[column] = cells[i][column];
            }
    }
    return true;
}

static void draw_cell(const struct svg *svg, const struct picture *picture, const struct picture_row *row,
                      const char *label, uint32_t column, double x, double y, double width) {
    const struct hang_wait *wait = &picture->waits[column];
    const struct cell_form *form = &cell_forms[row->cells[column]];
    if (!form->name)
        return;
    svg_part(svg, form->colour, x, y, width - 2, 13);
    out_add(svg_out(svg), "><title>");
    markup_text(svg->markup, label);
    out_add(svg_out(svg), ", group ");
    markup_title(svg->markup, name_of(wait->group));
    markup_between(svg->markup, " ", wait->number, ": ");
    markup_text(svg->markup, form->name);
    out_add(svg_out(svg), "</title></rect>\n");
    if (*form->letter)
        svg_text(svg, row->cells[column] == CELL_NO_DUMP ? "on" : "on light", ANCHOR_MIDDLE, x + width / 2 - 1,
                 y + 10.5, name_of(form->letter), 0);
}

static void picture_draw(const struct svg *svg, const void *chart) {
    const struct picture *picture = chart;
    const double label_width = 130, row_height = 15;
    const uint32_t n_columns = svg->form == SVG_NARROW ? MIN(picture->n_columns, COLUMNS_NARROW) : picture->n_columns;
    const double width = MIN((svg->width - label_width) / n_columns, 96);
    struct legend_entry entries[N_CELLS];
    int n_entries = 0;
    bool is_used[N_CELLS] = {false};
    for (size_t i = 0; i < picture->n_rows; i++)
        for (uint32_t column = 0; column < n_columns; column++)
            is_used[picture->rows[i].cells[column]] = true;
    for (int cell = CELL_PASSED; cell < N_CELLS; cell++)
        if (is_used[cell])
            entries[n_entries++] =
                (struct legend_entry){.name = cell_forms[cell].name, .colour = cell_forms[cell].colour};
    const double top = svg_legend(svg, entries, n_entries, false), body = top + 2 * LINE_HEIGHT;
    svg_begin(svg, body + (double)picture->n_rows * row_height + 4);
    svg_legend(svg, entries, n_entries, true);
    for (uint32_t column = 0; column < n_columns; column++) {
        const double x = label_width + column * width;
        svg_text(svg, "small strong", ANCHOR_START, x, top + 13, name_of(picture->waits[column].group), width - 3);
        svg_text(svg, "small", ANCHOR_START, x, top + 27, name_of(picture->waits[column].number), width - 3);
    }
    for (size_t i = 0; i < picture->n_rows; i++) {
        const struct picture_row *row = &picture->rows[i];
        const int64_t first = picture->hang->world.list[row->first], last = picture->hang->world.list[row->end - 1];
        const double y = body + (double)i * row_height;
        char label[64];
        if (row->end == row->first + 1)
            snprintf(label, sizeof label, "rank %" PRId64, first);
        else
            snprintf(label, sizeof label, "ranks %" PRId64 "-%" PRId64, first, last);
        svg_text(svg, row->is_cause ? "strong" : NULL, ANCHOR_START, 0, y + 11, name_of(label), label_width - 6);
        for (uint32_t column = 0; column < n_columns; column++)
            draw_cell(svg, picture, row, label, column, label_width + column * width, y, width);
    }
    svg_end(svg);
}

/* ---- The chain: nodes by their distance to the roots ---- */

struct chain {
    const struct sutra_hang *hang;
    const struct hang_wait *waits;
    uint32_t n;
};

static void chain_draw(const struct svg *svg, const void *of) {
    const struct chain *chain = of;
    const double step = svg->form == SVG_NARROW ? 8 : 22;
    svg_begin(svg, chain->n * LINE_HEIGHT + 6);
    for (uint32_t i = 0; i < chain->n; i++) {
        const struct hang_wait *wait = &chain->waits[i];
        const double x = step * MIN(wait->distance, CHAIN_INDENTS), y = i * LINE_HEIGHT;
        struct buffer text = {0};
        buffer_format(&text, "group %s %s%s%s%s: %s", wait->group, wait->number, *wait->description ? " (" : "",
                      wait->description, *wait->description ? ")" : "", wait->text);
        const bool is_first = wait->distance == 0 || chain->hang->nodes[wait->node].n_edges == 0;
        svg_part(svg, is_first ? COLOUR_WAIT_HOST : COLOUR_COMMUNICATION, x, y + 5, 9, 9);
        out_add(svg_out(svg), "/>\n");
        svg_text(svg, wait->distance == 0 ? "strong" : NULL, ANCHOR_START, x + 15, y + 14,
                 name_of(text.bytes ? text.bytes : ""), svg->width - x - 15);
        svg_out(svg)->out.failed |= text.failed;
        buffer_free(&text);
    }
    svg_end(svg);
}

/* ---- Sections ---- */

static void show_warnings(struct page *page, const void *of) {
    const struct sutra_hang *hang = of;
    page_warning_count(page, hang->n_skipped, "file is skipped: it is no readable dump, or the second one of a rank",
                       "files are skipped: they are no readable dumps, or second ones of a rank");
    page_warning_count(page, hang->missing_dumps.n, "rank has no dump", "ranks have no dump");
}

static void show_cards(struct page *page, const void *of) {
    const struct sutra_hang *hang = of;
    char words[64];
    snprintf(words, sizeof words, "of %s ranks", shown_decimal((double)hang->world.n, 0).text);
    page_card(page, "Dumps", hang->n_ranks, UNIT_COUNT, words);
    page_card(page, "Waiting ranks", hang->n_roots ? (double)hang->roots[0].waiting.n : 0, UNIT_COUNT,
              hang->n_roots ? "of the first cause" : "");
    page_card(page, "Stuck operations", hang->n_nodes, UNIT_COUNT, "");
    page_card(page, "Process groups", hang->n_groups, UNIT_COUNT, "");
    page_card(page, "Entries", (double)hang->n_entries, UNIT_COUNT, "");
}

static void write_point(struct page *page, const char *label, const char *text) {
    if (!*text)
        return;
    out_format(&page->markup.out, "<p><b>%s</b> ", label);
    markup_text(&page->markup, text);
    out_add(&page->markup.out, "</p>\n");
}

static void show_findings(struct page *page, const void *of) {
    const struct sutra_hang *hang = of;
    struct arena arena = {0};
    page->filled = true;
    write_point(page, "Confidence", hang->confidence_text);
    if (!hang->n_roots)
        write_point(page, "Do", hang_none_remedy);
    else
        page_findings_begin(page);
    for (uint32_t i = 0; i < hang->n_roots && i < HANG_FINDINGS_SHOWN; i++) {
        const struct hang_root *root = &hang->roots[i];
        struct text_out *out = &page->markup.out;
        out_format(out, "<li data-rule=\"%s\"><strong>%u</strong><div>\n<h3>%s: rank%s %s</h3>\n",
                   hang_cause_names[root->cause], i + 1, root->title, root->ranks.n == 1 ? "" : "s",
                   hang_ranks_text(&arena, root->ranks, HANG_RANGES_SHOWN));
        if (root->confidence != HANG_HIGH)
            out_format(out, "<p class=\"soft\">%s confidence</p>\n", hang_confidence_names[root->confidence]);
        write_point(page, "Seen", root->seen);
        write_point(page, "Where", root->where);
        write_point(page, "Do", root->remedy);
        write_point(page, "Check", root->check);
        out_add(out, "</div></li>\n");
    }
    if (hang->n_roots)
        page_findings_end(page);
    page_limit(page, MIN(hang->n_roots, HANG_FINDINGS_SHOWN), hang->n_roots, false, "causes");
    write_point(page, "Not the cause:", hang_waiting_groups_text(hang, &arena));
    page->markup.out.out.failed |= arena.failed;
    arena_free(&arena);
}

static void show_progress(struct page *page, const void *of) {
    const struct sutra_hang *hang = of;
    struct arena arena = {0};
    struct picture picture = {.hang = hang, .waits = hang_list_waits(hang, &arena, COLUMNS_MAX)};
    picture.n_columns = MIN(hang->n_nodes, COLUMNS_MAX);
    if (hang->n_nodes == 0) {
        page_missing(page, "Stuck operations", "no recorded operation is pending");
    } else if (make_picture(&picture, &arena)) {
        page_chart(page, "progress", "Ranks and stuck operations",
                   "One column per stuck operation, the first waiting ones left; one row per rank.", picture_draw,
                   &picture);
        page_limit(page, picture.n_columns, hang->n_nodes, false, "stuck operations");
        if (picture.is_mixed)
            page_words(page, "A row of several ranks shows the most severe state of these ranks.");
    }
    page->markup.out.out.failed |= arena.failed;
    arena_free(&arena);
    page_result_table(page, SUTRA_RESULT(hang), SUTRA_HANG_GROUPS, "Process groups", "no group is recorded");
}

static void show_waits(struct page *page, const void *of) {
    const struct sutra_hang *hang = of;
    struct arena arena = {0};
    struct chain chain = {.hang = hang, .waits = hang_list_waits(hang, &arena, CHAIN_MAX)};
    chain.n = MIN(hang->n_nodes, CHAIN_MAX);
    if (chain.waits && chain.n) {
        page_chart(page, "waits", "Wait-for chain",
                   "Stuck operations, indented by their distance to the first waiting ones.", chain_draw, &chain);
        page_limit(page, chain.n, hang->n_nodes, false, "stuck operations");
    }
    page->markup.out.out.failed |= arena.failed;
    arena_free(&arena);
    page_result_table(page, SUTRA_RESULT(hang), SUTRA_HANG_WAITS, "Waits", "no group waits for another one");
    page_result_table(page, SUTRA_RESULT(hang), SUTRA_HANG_MISMATCHES, "Mismatches",
                      "all ranks recorded the same operations");
}

static void show_tables(struct page *page, const void *of) {
    page_result_table(page, SUTRA_RESULT(of), SUTRA_HANG_CAUSES, "Causes", "no recorded operation is pending");
    page_result_table(page, SUTRA_RESULT(of), SUTRA_HANG_RANKS, "Ranks", "no rank has a dump");
}

static const struct page_section sections[] = {
    {"findings", "Findings", "Causes of the hang, the most probable one first.", show_findings},
    {"progress", "Progress",
     "State of each rank at the stuck operations. An operation waits until all members of its group arrive. Columns are "
     "process groups with the number of the operation, or source and destination of a send; the first waiting operations "
     "are on the left.",
     show_progress},
    {"waits", "Waits",
     "Operations that wait for other operations. An operation waits for one with less indent; operations without indent "
     "are the causes. A square of the color of missing ranks marks an operation that waits for no other one.",
     show_waits},
    {"ranks", "Ranks", "The last recorded operation of each rank, and all causes.", show_tables},
    {0},
};

enum sutra_status sutra_report_write_hang(struct sutra_context *context, const struct sutra_hang *hang,
                                          const char *folder, uint64_t *n_bytes, struct sutra_error *error) {
    struct page page;
    char title[160];
    snprintf(title, sizeof title, "%s: dumps of %s of %s ranks", hang->n_roots ? "Why the job hangs" : "No hang found",
             shown_decimal(hang->n_ranks, 0).text, shown_decimal((double)hang->world.n, 0).text);
    const struct page_frame frame = {.title = title,
                                     .path = "",
                                     .more = "",
                                     .lead = hang->why,
                                     .warnings = show_warnings,
                                     .n_above = 1,
                                     .cards = show_cards,
                                     .has_no_key = true,
                                     .sections = sections};
    page_open(&page, context, folder, PAGE_HANG, error);
    return page_write(&page, &frame, hang, n_bytes);
}
