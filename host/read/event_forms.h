/*
 * event_forms.h - what stands between the values of events, learned while reading: a short cut for walk_event().
 *
 * Profilers write the same keys in the same order millions of times. What was walked once is kept as a tree, whose
 * nodes are the bytes from the end of one value to the start of the next:
 *
 *     {"ph": "X", "cat": "cpu_op", "name": "aten::add", "ts": 5, "args": {"External id": 7}}
 *
 *     '{"ph": ' --- ', "cat": ' --- ', "name": ' -+- ', "ts": ' --- ', "args": {"External id": ' --- '}}'
 *               |                                 +- ', "pid": ' ...
 *               +-- ', "id": ' ...
 *
 * Where the same bytes stand behind the same values again, the same tokens do, for where a value has ended the grammar
 * of JSON does not depend on what the value was. So one comparison of bytes replaces finding, naming and checking each
 * token between two values. What is not in the tree is walked token by token, and learned. (One form may begin another
 * only by white space: "args" whose value is no object is not learned, for it begins those whose value is one.)
 *
 * One tree for each thread. Cost: O(bytes compared), at most FORM_SIBLINGS comparisons for a value; up to FORMS_MAX
 * nodes.
 */
#ifndef READ_EVENT_FORMS_H
#define READ_EVENT_FORMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "text/digits.h"

/* Longer texts than this are not learned, nor more siblings or more nodes. */
#define FORM_BYTES    64
#define FORM_SIBLINGS 16
#define FORMS_MAX     1024

/* A node: bytes behind a value (or those that an event begins with), and what their tokens mean. */
struct form {
    struct form *child, *sibling; /* what stands behind the value that follows; what else stood here; or NULL */
    uint64_t words[FORM_BYTES / 8];
    uint64_t last_mask; /* of the last word, those bytes that count */
    size_t last_word;
    size_t length; /* in bytes */
    uint64_t seen; /* fields of the values from the event's first to the one that follows, as a set */
    size_t args;   /* offset of the value of "args", an object, if that begins among the bytes; else 0 */
    uint8_t field; /* enum event_field of the value that follows */
    bool inside;   /* that is a member of "args" */
    bool ends;     /* no value follows: these are the last bytes of the event */
    bool repeats;  /* a known field stands twice on the way here */
};

struct event_forms {
    struct form begin; /* stands before all events */
    struct form *list; /* NULL until something is learned */
    size_t n;
};

void event_forms_free(struct event_forms *forms);

/* Where `form` stands behind `parent`, which fields were seen; `fields` are those of the value that follows and of what
 * begins among its bytes, but for unknown ones. */
static inline void form_see(struct form *form, const struct form *parent, uint64_t fields) {
    form->seen = parent->seen | fields;
    form->repeats = parent->repeats || (parent->seen & fields);
}

/* Adds a copy of `form`, whose bytes stand at `text` and whose meaning is set, behind `parent`, one of `forms`. Does
 * nothing where it would be too much, or memory runs out, which only costs speed. */
void event_forms_learn(struct event_forms *forms, struct form *parent, const char *text, const struct form *form);

static inline bool form_stands(const struct form *form, const char *text) {
    for (size_t i = 0; i < form->last_word; i++)
        if (form->words[i] != word_load(text + 8 * i))
            return false;
    return ((form->words[form->last_word] ^ word_load(text + 8 * form->last_word)) & form->last_mask) == 0;
}

/* The node behind `parent` whose bytes stand at `text`, or NULL. Reads up to FORM_BYTES bytes there. */
static inline struct form *form_find(const struct form *parent, const char *text) {
    struct form *form = parent->child;
    while (form && !form_stands(form, text))
        form = form->sibling;
    return form;
}

#endif
