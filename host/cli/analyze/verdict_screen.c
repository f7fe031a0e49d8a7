/*
 * verdict_screen.c - prints the verdict of `sutra analyze`: one screen of at most 60 lines of 80 columns.
 *
 *     name   facts
 *     WHY IT IS SLOW    ...
 *     WHAT IT COULD BE  ...
 *       one step   |####......%%%|            legend
 *     1. TITLE                                saving
 *        Seen, Where, Code, Do, Check
 *     Not the cause, Not explained, Next
 *
 * Text alone has all information; on a terminal, without NO_COLOR, titles are bold and parts have colors. The screen is
 * made in memory: names of the trace are escaped there, and control bytes of its own mark the styles. If it is longer
 * than 60 lines, the last findings have no Where, Code and Check.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/shared.h"
#include "cli/analyze/analysis.h"
#include "cli/terminal.h"
#include "report/markup.h"
#include "report/verdict_words.h"
#include "text/strings.h"

#define COLUMNS        80
#define LINES_MOST     60
#define HEAD_INDENT    18 /* of the sentences of the headline */
#define BAR_INDENT     13
#define LEGEND_WIDTH   29
#define FINDING_INDENT 11
#define COMMAND_INDENT 4

/* Styles as bytes in the buffer, which names cannot contain, and their escape sequences. */
enum style {
    STYLE_NONE,
    STYLE_PLAIN,
    STYLE_BOLD,
    STYLE_COMPUTE,
    STYLE_HOST,
    STYLE_COMMUNICATION,
    STYLE_DATA,
    N_STYLES
};
static const char *const style_codes[N_STYLES] = {"",         "\033[0m",  "\033[1m", "\033[32m",
                                                  "\033[33m", "\033[35m", "\033[34m"};

struct screen {
    struct buffer out;
    unsigned column, n_lines;
};

static void write_style(struct screen *screen, enum style style) {
    char byte = (char)style;
    buffer_append(&screen->out, &byte, style != STYLE_NONE);
}

static void end_line(struct screen *screen) {
    buffer_append_text(&screen->out, "\n");
    screen->column = 0;
    screen->n_lines++;
}

static void write_spaces(struct screen *screen, unsigned column) {
    for (; screen->column < column; screen->column++)
        buffer_append_text(&screen->out, " ");
}

/* Appends at most `n` bytes of a text; control characters are escaped. */
static void write_text(struct screen *screen, const char *text, size_t n) {
    struct visible_character character;
    for (const char *at = text, *end = text + n; at < end && *at;) {
        at = visible_read(at, &character);
        buffer_append(&screen->out, character.bytes, character.n_bytes);
        screen->column += character.n_columns;
    }
}

static unsigned columns_of(const char *text, size_t n) {
    struct visible_character character;
    unsigned columns = 0;
    for (const char *at = text, *end = text + n; at < end && *at; columns += character.n_columns)
        at = visible_read(at, &character);
    return columns;
}

static void write_words(struct screen *screen, const char *text) {
    write_text(screen, text, strlen(text));
}

/* Appends words between `indent` and the last column, and ends the line. */
static void write_wrapped(struct screen *screen, unsigned indent, const char *text) {
    write_spaces(screen, indent);
    bool is_first = true;
    while (*text) {
        size_t length = strcspn(text, " ");
        unsigned columns = columns_of(text, length);
        if (!is_first && screen->column + 1 + columns > COLUMNS) {
            end_line(screen);
            write_spaces(screen, indent);
        } else if (!is_first) {
            write_spaces(screen, screen->column + 1);
        }
        write_text(screen, text, length);
        is_first = false;
        text += length + (text[length] == ' ');
    }
    end_line(screen);
}

/* ---- Parts of the screen ---- */

static void write_headline(struct screen *screen, const char *title, const char *text) {
    if (!*text)
        return;
    write_style(screen, STYLE_BOLD);
    write_words(screen, title);
    write_style(screen, STYLE_PLAIN);
    write_wrapped(screen, HEAD_INDENT, text);
}

static enum style style_of_part(const struct bar_part *part) {
    switch (part->colour) {
    case COLOUR_COMPUTE:
        return STYLE_COMPUTE;
    case COLOUR_WAIT_HOST:
        return STYLE_HOST;
    case COLOUR_COMMUNICATION:
        return STYLE_COMMUNICATION;
    case COLOUR_WAIT_DATA:
        return STYLE_DATA;
    default:
        return STYLE_NONE;
    }
}

static void write_bar(struct screen *screen, const struct verdict_words *words) {
    write_spaces(screen, 2);
    write_words(screen, words->bar_label);
    write_spaces(screen, BAR_INDENT);
    write_words(screen, "|");
    for (unsigned i = 0; i < words->n_bar; i++) {
        enum style style = style_of_part(&words->bar[i]);
        write_style(screen, style);
        for (unsigned cell = 0; cell < words->bar[i].cells; cell++)
            write_text(screen, &words->bar[i].symbol, 1);
        write_style(screen, style ? STYLE_PLAIN : STYLE_NONE);
    }
    write_words(screen, "|");
    end_line(screen);
    unsigned n = 0;
    for (unsigned i = 0; i < words->n_bar; i++) {
        const struct bar_part *part = &words->bar[i];
        char text[96];
        if (part->percent < 1)
            continue;
        int length =
            snprintf(text, sizeof text, "%s %s %.0f%%", *part->name ? part->name : "rest", part->time, part->percent);
        unsigned at = BAR_INDENT + n % 2 * LEGEND_WIDTH;
        if (n > 0 && part->symbol == '?' && screen->column + 5 + (unsigned)length <= COLUMNS) {
            at = screen->column + 3; /* the short entry of the rest needs no line of its own */
        } else if (n > 0 && (n % 2 == 0 || screen->column + 3 > at)) {
            end_line(screen);
            at = n % 2 == 0 ? at : BAR_INDENT;
            n += n % 2;
        }
        write_spaces(screen, at);
        enum style style = style_of_part(part);
        write_style(screen, style);
        write_text(screen, &part->symbol, 1);
        write_style(screen, style ? STYLE_PLAIN : STYLE_NONE);
        write_words(screen, " ");
        write_words(screen, text);
        n++;
    }
    end_line(screen);
}

static void write_labelled(struct screen *screen, const char *label, const char *text) {
    if (!*text)
        return;
    write_spaces(screen, 3);
    write_words(screen, label);
    write_wrapped(screen, FINDING_INDENT, text);
}

/* Capitals, except in parentheses. */
static void write_title(struct screen *screen, const char *title) {
    bool is_inside = false;
    for (; *title; title++) {
        char letter = *title;
        is_inside |= letter == '(';
        if (!is_inside && letter >= 'a' && letter <= 'z')
            letter = (char)(letter - 'a' + 'A');
        write_text(screen, &letter, 1);
        is_inside &= letter != ')';
    }
}

static void write_finding(struct screen *screen, const struct finding_words *finding, unsigned number, bool is_full) {
    char label[16];
    snprintf(label, sizeof label, "%u. ", number);
    write_style(screen, STYLE_BOLD);
    write_words(screen, label);
    write_title(screen, finding->title);
    write_style(screen, STYLE_PLAIN);
    unsigned columns = columns_of(finding->saving, strlen(finding->saving));
    if (columns && screen->column + 2 + columns > COLUMNS)
        end_line(screen);
    if (columns)
        write_spaces(screen, COLUMNS - MIN(columns, COLUMNS));
    write_words(screen, finding->saving);
    end_line(screen);
    write_labelled(screen, "Seen", finding->seen);
    if (is_full) {
        write_labelled(screen, "Where", finding->where);
        write_labelled(screen, "Code", finding->code);
    }
    write_labelled(screen, "Do", finding->fix);
    if (is_full)
        write_labelled(screen, "Check", finding->check);
    end_line(screen);
}

/* The end of the words of a command that fit on a line of `columns`: a line ends before an option, outside of quotes.
 * The first line ends before the first option if even the words before it are too long. The line of a command
 * without options ends before its last word, if this word fits on a line. */
static const char *command_line_end(const char *command, unsigned columns) {
    const char *best = NULL, *last = NULL;
    bool is_quoted = false;
    for (const char *at = command; *at; at++) {
        if (*at == '\\' && at[1] && !is_quoted)
            at++;
        else
            is_quoted ^= *at == '\'';
        last = *at == ' ' && !is_quoted ? at : last;
        if (*at != ' ' || at[1] != '-' || is_quoted || (best && columns_of(command, (size_t)(at - command)) > columns))
            continue;
        best = at;
        if (strncmp(at, " --from-us ", 11) == 0) /* the limits of a range are on one line */
            break;
    }
    if (!best && last && columns_of(last + 1, strlen(last + 1)) + COMMAND_INDENT <= COLUMNS)
        best = last;
    return best ? best : command + strlen(command);
}

static void write_next(struct screen *screen, const struct sutra_verdict *verdict, bool has_output) {
    unsigned width = 0;
    bool is_titled = false;
    for (size_t i = 0; i < verdict->n_next; i++) {
        const struct sutra_next_command *next = &verdict->next[i];
        unsigned columns = columns_of(next->command, strlen(next->command));
        if (columns + strlen(next->text) + 6 <= COLUMNS)
            width = MAX(columns, width);
    }
    for (size_t i = 0; i < verdict->n_next; i++) {
        const struct sutra_next_command *next = &verdict->next[i];
        const char *command = next->command;
        if (has_output && next->is_page)
            continue;
        if (!is_titled) {
            write_style(screen, STYLE_BOLD);
            write_words(screen, "Next:");
            write_style(screen, STYLE_PLAIN);
            end_line(screen);
        }
        is_titled = true;
        write_spaces(screen, 2);
        for (unsigned indent = 2; *command; indent = COMMAND_INDENT) {
            const bool fits = columns_of(command, strlen(command)) + indent <= COLUMNS;
            const char *end = fits ? command + strlen(command) : command_line_end(command, COLUMNS - indent - 2);
            write_text(screen, command, (size_t)(end - command));
            command = end + (*end == ' ');
            if (*command) {
                write_words(screen, " \\");
                end_line(screen);
                write_spaces(screen, COMMAND_INDENT);
            }
        }
        /* The purpose, aligned if it fits; without room for all of it, its end after the comma. */
        const unsigned at = MAX(width + 2, screen->column) + 2;
        const char *text = next->text, *comma = strstr(text, ", ");
        if (comma && screen->column + 2 + columns_of(text, strlen(text)) > COLUMNS)
            text = comma + 2;
        const unsigned columns = columns_of(text, strlen(text));
        if (columns && screen->column + 2 + columns <= COLUMNS) {
            write_spaces(screen, at + columns <= COLUMNS ? at : screen->column + 2);
            write_words(screen, text);
        }
        end_line(screen);
    }
}

static void write_rest(struct screen *screen, const char *title, const char *text) {
    if (!*text)
        return;
    write_style(screen, STYLE_BOLD);
    write_words(screen, title);
    write_style(screen, STYLE_PLAIN);
    write_spaces(screen, screen->column + 1);
    write_wrapped(screen, 2, text);
}

static void make_screen(struct screen *screen, const struct verdict_words *words, unsigned n_full, bool has_output) {
    const struct sutra_verdict *verdict = words->verdict;
    write_style(screen, STYLE_BOLD);
    write_words(screen, words->name);
    write_style(screen, STYLE_PLAIN);
    unsigned columns = columns_of(words->facts, strlen(words->facts));
    if (screen->column + 3 + columns > COLUMNS && screen->column > 20) {
        end_line(screen);
        write_wrapped(screen, 2, words->facts);
    } else {
        write_wrapped(screen, screen->column + 3, words->facts);
    }
    end_line(screen);
    write_headline(screen, "TRACE IS DAMAGED", words->damage);
    write_headline(screen, "WHY IT IS SLOW", words->why);
    write_headline(screen, "WHAT IT COULD BE", words->could);
    end_line(screen);
    if (words->n_bar) {
        write_bar(screen, words);
        end_line(screen);
    }
    if (*words->fix) {
        write_labelled(screen, "Do", words->fix);
        end_line(screen);
    }
    for (unsigned i = 0; i < words->n_operators; i++)
        write_labelled(screen, i ? "" : "Time", words->operators[i]);
    if (words->n_operators)
        end_line(screen);
    const bool has_titles = verdict->kind == SUTRA_VERDICT_STEPS || verdict->kind == SUTRA_VERDICT_STARTUP;
    for (unsigned i = 0; i < words->n_findings; i++) {
        if (has_titles || i > 0) { /* without GPU activity, the headline is the title of the first one */
            write_finding(screen, &words->findings[i], has_titles ? i + 1 : i, i < n_full);
            continue;
        }
        write_labelled(screen, "Do", words->findings[i].fix);
        write_labelled(screen, "Check", words->findings[i].check);
        end_line(screen);
    }
    write_rest(screen, "Not judged:", words->not_judged);
    write_rest(screen, "Not the cause:", words->suspects);
    write_rest(screen, "Not explained:", words->unexplained);
    write_next(screen, verdict, has_output);
}

enum sutra_status verdict_screen_print(const struct sutra_overview *overview, bool has_output,
                                       struct sutra_error *error) {
    struct arena arena = {0};
    struct verdict_words words;
    struct screen screen = {0};
    enum sutra_status status = verdict_words_of(overview, &arena, &words, error);
    for (unsigned n_full = words.n_findings; !status; n_full--) {
        screen.out.length = screen.column = screen.n_lines = 0;
        make_screen(&screen, &words, n_full, has_output);
        if (screen.n_lines <= LINES_MOST || n_full == 0)
            break;
    }
    if (!status && screen.out.failed)
        status = error_memory(error);
    if (!status) {
        const bool has_colours = screen_has_colours();
        for (const char *at = screen.out.bytes, *end = at + screen.out.length; at < end;) {
            const char *stop = at;
            while (stop < end && ((unsigned char)*stop >= N_STYLES))
                stop++;
            fwrite(at, 1, (size_t)(stop - at), stdout);
            if (stop < end && has_colours)
                screen_style(style_codes[(unsigned char)*stop]);
            at = stop + (stop < end);
        }
    }
    buffer_free(&screen.out);
    arena_free(&arena);
    return status;
}
