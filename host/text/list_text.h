/*
 * list_text.h - walking over the text of a list as JSON, Python or C++ write it, whatever stands in it: elements of any
 * depth, in brackets of any kind, strings in either quotes; it may also be cut off anywhere.
 *
 *     [[2048, 13], "a, b", (1, 2), ]      elements: [2048, 13]   "a, b"   (1, 2)
 *
 * Cost: O(length), without recursion.
 */
#ifndef TEXT_LIST_TEXT_H
#define TEXT_LIST_TEXT_H

#include <stdbool.h>
#include <stddef.h>

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

/* Behind the string at the cursor. */
static inline void list_skip_string(struct list_cursor *cursor) {
    char quote = *cursor->at++;
    while (cursor->at < cursor->end && *cursor->at != quote)
        cursor->at += *cursor->at == '\\' && cursor->end - cursor->at > 1 ? 2 : 1;
    cursor->at += cursor->at < cursor->end;
}

/* Behind the value at the cursor: at a comma, at what closes the list around it, or at the end. */
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

/* Goes into the list at the cursor; false: there is none. */
static inline bool list_enter(struct list_cursor *cursor) {
    list_skip_space(cursor);
    if (cursor->at == cursor->end || !list_opens(*cursor->at))
        return false;
    cursor->at++;
    return true;
}

/* Whether the list that was just entered has an element; else leaves it. */
static inline bool list_first(struct list_cursor *cursor) {
    list_skip_space(cursor);
    if (cursor->at < cursor->end && !list_closes(*cursor->at))
        return true;
    cursor->at += cursor->at < cursor->end;
    return false;
}

/* Whether another element begins at the cursor, behind what was read of the one before; else leaves the list. */
static inline bool list_more(struct list_cursor *cursor) {
    list_skip_value(cursor);
    list_skip_space(cursor);
    if (cursor->at < cursor->end && *cursor->at == ',')
        cursor->at++;
    return list_first(cursor);
}

#endif
