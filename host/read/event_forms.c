/*
 * event_forms.c - adding to what was learned.
 */
#include "read/event_forms.h"

#include <stdlib.h>
#include <string.h>

void event_forms_free(struct event_forms *forms) {
    free(forms->list);
    *forms = (struct event_forms){0};
}

/* Where another child of `parent` belongs; NULL: it has enough. */
static struct form **last_child(struct form *parent) {
    struct form **end = &parent->child;
    for (unsigned n = 0; *end; end = &(*end)->sibling)
        if (++n == FORM_SIBLINGS)
            return NULL;
    return end;
}

/* A new node; NULL: there are enough, or memory ran out. They never move, as they point to each other. */
static struct form *new_form(struct event_forms *forms) {
    if (!forms->list)
        forms->list = malloc(FORMS_MAX * sizeof *forms->list);
    return forms->list && forms->n < FORMS_MAX ? &forms->list[forms->n++] : NULL;
}

void event_forms_learn(struct event_forms *forms, struct form *parent, const char *text, const struct form *form) {
    struct form **end = last_child(parent);
    if (!end || form->length == 0 || form->length > FORM_BYTES)
        return;
    struct form *made = new_form(forms);
    if (!made)
        return;
    *made = *form;
    made->child = made->sibling = NULL;
    made->last_word = (form->length - 1) / 8;
    made->last_mask = UINT64_MAX >> 8 * (7 - (form->length - 1) % 8);
    char bytes[FORM_BYTES] = {0};
    memcpy(bytes, text, form->length);
    for (size_t i = 0; i <= made->last_word; i++)
        made->words[i] = word_load(bytes + 8 * i);
    *end = made;
}
