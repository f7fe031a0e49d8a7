/*
 * classify.c - the linker's sorts of events: annotations are operators, steps are not, and what sets memory is counted
 * and left out.
 */
#include "link/classify.h"

enum event_class event_classify(const struct device_events *events, const struct string_roles *roles, row_t event) {
    uint32_t category = category_roles(events, roles, event), name = name_roles(events, roles, event);
    if (category & (CATEGORY_CPU_OP | CATEGORY_ANNOTATION))
        return name & NAME_STEP ? EVENT_OTHER : EVENT_CPU_OP;
    if (category & CATEGORY_CALL)
        return name & NAME_LAUNCH ? EVENT_LAUNCH : EVENT_OTHER;
    if (category & CATEGORY_LINKED_WORK)
        return EVENT_GPU_OP;
    if (category & CATEGORY_SET)
        return EVENT_MEMORY_SET;
    return category & CATEGORY_LAUNCH_FLOW ? EVENT_LAUNCH_FLOW : EVENT_OTHER;
}
