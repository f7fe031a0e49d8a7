/*
 * finding_texts.c - implements the part of findings.h that adds findings and words them: evidence, title, remedies.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "analyze/overview/findings.h"
#include "base/shared.h"

/* ---- Evidence ---- */

/* Of names in sentences; of Python functions the end is shown. */
#define NAME_COLUMNS 48

struct figure finding_per_step(const struct diagnosis *d, double ticks) {
    struct figure figure, part = brief_time_text(ticks / d->measures.n_steps),
                          whole = brief_time_text(d->measures.window / d->measures.n_steps);
    const char *each = d->measures.n_steps > 1 ? "each " : d->overview->window.n_steps ? "the " : "";
    const char *step = d->overview->window.n_steps ? " step" : "";
    snprintf(figure.text, sizeof figure.text, "%.40s of %s%.40s%s", part.text, each, whole.text, step);
    return figure;
}

struct figure finding_percent(double part, double whole) {
    struct figure figure;
    snprintf(figure.text, sizeof figure.text, "%.1f%%", whole > 0 ? part / whole * 100 : 0);
    return figure;
}

struct figure finding_count(const struct diagnosis *d, double count) {
    struct figure figure;
    snprintf(figure.text, sizeof figure.text, "%.0f %s", count / d->measures.n_steps,
             d->overview->window.n_steps ? "per step" : "in total");
    return figure;
}

struct shortened finding_name(const struct diagnosis *d, uint32_t string) {
    return short_location(strings_text(d->model->strings, string), NAME_COLUMNS);
}

void copy_finding_name(const struct diagnosis *d, uint32_t string, char *name, size_t size) {
    const char *text = string == STRING_NONE ? "" : strings_text(d->model->strings, string);
    snprintf(name, size, "%s", short_location(text, (unsigned)MIN(size - 1, 96)).text);
}

void append_finding_text(struct overview_finding *finding, const char *format, ...) {
    size_t length = strlen(finding->seen);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->seen + length, sizeof finding->seen - length, format, arguments);
    va_end(arguments);
}

struct overview_finding *add_finding(struct diagnosis *d, const struct finding_rule *rule, const struct spans *spans,
                                     const char *format, ...) {
    struct overview_finding *finding = &d->findings->list[d->findings->n_all++];
    va_list arguments;
    *finding = (struct overview_finding){.rule = rule, .saving_percent = (double)NAN, .uncapped = (double)NAN};
    if (spans) {
        finding->spans = *spans;
        finding->weight = 1;
        finding->saving_percent = finding->uncapped = percent_of_window(d, (double)spans_length(spans));
    }
    va_start(arguments, format);
    vsnprintf(finding->seen, sizeof finding->seen, format, arguments);
    va_end(arguments);
    return finding;
}

void set_finding_saving(const struct diagnosis *d, struct overview_finding *finding, double ticks) {
    double length = (double)spans_length(&finding->spans);
    finding->weight = length > 0 ? CLAMP(ticks / length, 0.0, 1.0) : 0;
    finding->saving_percent = finding->uncapped = percent_of_window(d, ticks);
}

void claim_no_saving(struct overview_finding *finding) {
    finding->weight = 0;
    finding->saving_percent = finding->uncapped = (double)NAN;
}

void set_finding_now(struct overview_finding *finding, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(finding->now, sizeof finding->now, format, arguments);
    va_end(arguments);
}

void add_finding_number(struct overview_finding *finding, const char *name, double value) {
    if (finding->n_numbers < FINDING_NUMBERS)
        finding->numbers[finding->n_numbers++] = (struct sutra_finding_number){name, value};
}

const struct overview_finding *finding_of_rule(const struct overview_finding *list, unsigned n,
                                               const struct finding_rule *rule) {
    for (unsigned i = 0; i < n; i++)
        if (list[i].rule == rule)
            return &list[i];
    return NULL;
}

/* ---- Title and remedies ---- */

const char *finding_title(const struct overview_finding *finding) {
    const struct finding_rule *rule = finding->rule;
    return finding->facts & rule->title_if.fact ? rule->title_if.title : rule->title;
}

const struct remedy *finding_remedy(const struct overview_finding *finding) {
    static const struct remedy none = {0};
    for (int i = 0; i < REMEDIES_MOST; i++) {
        const struct remedy *remedy = &finding->rule->remedies[i];
        if ((finding->facts & remedy->needs) == remedy->needs && !(finding->facts & remedy->excludes))
            return remedy;
    }
    return &none;
}

void remedy_line_text(const struct remedy_line *line, const struct overview_finding *finding, char *text, size_t size) {
    const char *name = strstr(line->text, "%s");
    if (name)
        snprintf(text, size, "%.*s%s%s", (int)(name - line->text), line->text,
                 *finding->subject ? finding->subject : "it", name + 2);
    else
        snprintf(text, size, "%s", line->text);
}

void finding_text(const struct overview_finding *finding, char *text, size_t size) {
    const struct remedy *remedy = finding_remedy(finding);
    snprintf(text, size, "%s: %s", finding_title(finding), finding->seen);
    for (int i = 0; i < REMEDY_LINES; i++) {
        size_t length = strlen(text);
        if (!remedy_line_applies(&remedy->lines[i], finding) || length + 2 > size)
            continue;
        text[length] = ' ';
        remedy_line_text(&remedy->lines[i], finding, text + length + 1, size - length - 1);
    }
}
