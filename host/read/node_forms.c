/*
 * node_forms.c - implements node_forms.h.
 */
#include "read/node_forms.h"

void node_learn(struct event_forms *forms, const char *text, size_t at, size_t end, const struct node_leaves *leaves,
                unsigned n_fields) {
    struct form *parent = &forms->begin;
    for (unsigned i = 0; i <= leaves->n && parent; i++) {
        bool ends = i == leaves->n;
        size_t to = ends ? end : leaves->list[i].at, attributes = leaves->attributes;
        struct form form = {.length = to - at, .field = (uint8_t)(ends ? n_fields : leaves->list[i].field)};
        form.ends = ends;
        form.args = attributes >= at && attributes < to ? attributes - at : 0;
        struct form *known = form_find(parent, text + at);
        if (!known) {
            event_forms_learn(forms, parent, text + at, &form, form.field == n_fields ? 0 : (uint64_t)1 << form.field);
            known = form_find(parent, text + at);
        }
        parent = known && known->length == form.length && known->ends == ends ? known : NULL;
        at = ends ? end : leaves->list[i].end;
    }
}
