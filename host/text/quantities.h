/*
 * quantities.h - human-readable counts, times, sizes, shares and lists of ranks; iteration over the text of a list.
 */
#ifndef TEXT_QUANTITIES_H
#define TEXT_QUANTITIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A number's text in the expression that prints it: count_text(n).text */
struct figure {
    char text[128];
};

/* "1,234,567" */
struct figure count_text(uint64_t count);

/* The mean of a count per step: "1,234"; below 10 two significant digits: "7.8", "0.18". */
struct figure mean_count_text(double mean);

/* "1 rank", "2,345 ranks": a number and its noun, singular and plural. */
struct figure counted_text(uint64_t count, const char *one, const char *several);

/* A time in a list or summary, exact to the nanosecond below a second: "1.234 s", "56.789 ms", "12.34 us"; "unknown" for
 * NaN. */
struct figure time_text(double us);

/* "2026-11-28 04:24:31": nanoseconds since 1970, in UTC. */
struct figure utc_text(int64_t ns);

/* A time in a sentence of a finding, with three digits: a reader compares its size, and means and savings are not more
 * exact. "1.23 s", "56.8 ms", "12.3 us". */
struct figure brief_time_text(double ns);

/* "12.3 %"; "-" if the whole is not positive. */
struct figure share_text(double part, double whole);

/* Smaller changes in percent are 0.0 %. */
#define UNCHANGED_PERCENT 0.05

/* A change in percent: "+12.3 %", "-12.3 %", "x11.5" from +1000 % on, "0.0 %" without a sign; "-" for NaN. */
struct figure change_text(double percent);

/* "512 B", "1.5 kB", "12.3 MB": powers of 1000. */
struct figure bytes_text(uint64_t n_bytes);

/* "512 B", "1.50 KiB", "-12.3 MiB": powers of 1024, three digits. */
struct figure binary_bytes_text(int64_t n_bytes);

/* "512 B", "32 KiB", "1023 MiB": powers of 1024 up to TiB, rounded to integers. */
struct figure rounded_bytes_text(double n_bytes);

/* ---- Numbers for pages and drawings, independent of the locale ---- */

enum unit { UNIT_US, UNIT_PERCENT, UNIT_COUNT, UNIT_PLAIN, UNIT_BYTES };

struct shown {
    char text[48];
};

/* "1,234.5" with `decimals`, at most 3; "n/a" for NaN. */
struct shown shown_decimal(double value, int decimals);

/* With about three significant digits and its unit: "12.3 ms", "45 %", "1,234". */
struct shown shown_figure(double value, enum unit unit);

/* An axis from 0 to `end` with marks at round numbers, in the unit that suits the end: `n` of them, every `step`. */
struct ticks {
    double step, end; /* in the unit of the values */
    int n;
    double unit;      /* size of the unit of the text */
    const char *name; /* text after the number: " ms" */
    int decimals;
};

/* Between two and `n_most` marks. */
struct ticks ticks_make(double largest, enum unit unit, int n_most);
struct shown ticks_text(const struct ticks *ticks, int i);

/*
 * ---- A list of ranks for messages: "0-2, 7"; a long one ends with "..." ----
 *
 *     struct rank_list list = {0};
 *     rank_list_add(&list, 0), rank_list_add(&list, 1) ... in ascending order
 *     printf("%s", rank_list_text(&list));
 */

#define RANK_LIST_TEXT 80

struct rank_list {
    char text[RANK_LIST_TEXT];
    size_t length;
    int64_t first, last; /* of the current run */
    bool any, cut;
};

/* Ranks are added in ascending order. */
void rank_list_add(struct rank_list *list, int64_t rank);

/* Adds all ranks from `first` to `last`. O(1). */
void rank_list_add_run(struct rank_list *list, int64_t first, int64_t last);

/* Ends the list; the text is in it. */
const char *rank_list_text(struct rank_list *list);

/* n > 0 ranks in a sentence, ascending: "rank 2", "ranks 0 and 6", "ranks 0, 3 and 6"; four or more as a list:
 * "ranks 0-2, 7". */
struct figure ranks_text(const int64_t *ranks, size_t n);

/*
 * ---- Iteration over the text of a list as JSON, Python or C++ write it ----
 *
 * Elements have any depth, brackets of any kind and strings in either quotes; the text may be truncated.
 *
 *     [[2048, 13], "a, b", (1, 2), ]      elements: [2048, 13]   "a, b"   (1, 2)
 *
 * Cost: O(length), without recursion.
 */

struct list_cursor {
    const char *at, *end;
};

static inline bool list_is_space(char c) {
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static inline bool list_opens(char c) {
    return c == '[' || c == '(' || c == '{';
}

static inline bool list_closes(char c) {
    return c == ']' || c == ')' || c == '}';
}

static inline bool list_quotes(char c) {
    return c == '"' || c == '\'';
}

static inline void list_skip_space(struct list_cursor *cursor) {
    while (cursor->at < cursor->end && list_is_space(*cursor->at))
        cursor->at++;
}

static inline void list_skip_string(struct list_cursor *cursor) {
    char quote = *cursor->at++;
    while (cursor->at < cursor->end && *cursor->at != quote)
        cursor->at += *cursor->at == '\\' && cursor->end - cursor->at > 1 ? 2 : 1;
    cursor->at += cursor->at < cursor->end;
}

/* Steps over the value at the cursor, to a comma, the closing bracket of the list, or the end. */
static inline void list_skip_value(struct list_cursor *cursor) {
    size_t depth = 0;
    while (cursor->at < cursor->end) {
        char c = *cursor->at;
        if (depth == 0 && (c == ',' || list_closes(c)))
            return;
        if (list_quotes(c)) {
            list_skip_string(cursor);
            continue;
        }
        depth += list_opens(c) ? 1 : 0;
        depth -= list_closes(c) ? 1 : 0;
        cursor->at++;
    }
}

/* Enters the list at the cursor; false: no list. */
static inline bool list_enter(struct list_cursor *cursor) {
    list_skip_space(cursor);
    if (cursor->at == cursor->end || !list_opens(*cursor->at))
        return false;
    cursor->at++;
    return true;
}

/* Whether the entered list has an element; else leaves the list. */
static inline bool list_first(struct list_cursor *cursor) {
    list_skip_space(cursor);
    if (cursor->at < cursor->end && !list_closes(*cursor->at))
        return true;
    cursor->at += cursor->at < cursor->end;
    return false;
}

/* Steps over the rest of an element. True: another element follows; false: leaves the list. */
static inline bool list_more(struct list_cursor *cursor) {
    list_skip_value(cursor);
    list_skip_space(cursor);
    if (cursor->at < cursor->end && *cursor->at == ',')
        cursor->at++;
    return list_first(cursor);
}

#endif
