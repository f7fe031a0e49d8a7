/*
 * arrow_choice.h - which arrows of a selection stay: those of which all ends do.
 *
 *     thread 1   |  launch  |          an end stays if the event is kept that begins on its thread at its time
 *                 s--.
 *     stream 7        '-->f
 *                         | kernel |
 */
#ifndef FACTS_ARROW_CHOICE_H
#define FACTS_ARROW_CHOICE_H

#include "facts/selection.h"

/* Sets `kept` of the events of kind SELECTED_ARROW, when that of all others is there; asks lone(arg, event) about ends
 * at whose moment no event begins. The arena is given back by the caller. O(n) in expectation. */
enum sutra_status arrows_choose(struct sutra_context *context, const struct sutra_device_trace *trace,
                                struct selection *selection, bool (*lone)(const void *arg, row_t event),
                                const void *arg, struct arena *arena, struct sutra_error *error);

#endif
