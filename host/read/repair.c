/*
 * repair.c - implements repair.h: finds the traces of a file, their members and the elements of their arrays.
 *
 * Sections: elements of the array; members of a trace; the choice between several traces of a file; the report.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/shared.h"
#include "read/repair.h"
#include "read/repair_element.h"
#include "text/strings.h"

/* Bytes parsed again, as a multiple of the text's size. */
#define BUDGET_FACTOR 8

/* ---- The array ---- */

/* The token at which parsing continues after an element. */
enum after_element { AT_ELEMENT, AT_ARRAY_END, AT_TRACE, AT_TEXT_END };

/* Skips all bytes from kept_end to the next element, array end or trace found after byte `from`. */
static enum after_element skip_malformed(struct trace_repair *repair, size_t from) {
    enum after_element next = AT_TEXT_END;
    size_t array_end = SIZE_MAX, at = from;
    bool is_complete = repair->failed_at < repair->size; /* not truncated */
    for (; at < repair->size && next == AT_TEXT_END; at++) {
        char c = repair->text[at];
        if (c == '{' && repair_begins_trace(repair, at))
            next = AT_TRACE;
        else if (c == '{' && repair_may_begin_element(repair, at))
            next = AT_ELEMENT;
        else if (c == ']' && array_end == SIZE_MAX && repair_may_end_array(repair, at, is_complete))
            array_end = at;
    }
    at -= next != AT_TEXT_END;
    if (next != AT_ELEMENT && array_end < SIZE_MAX) { /* a bracket with elements after it is no array end */
        next = AT_ARRAY_END;
        at = array_end;
    }
    repair_roll_back(repair, &repair->kept);
    repair_flush(repair);
    if (!repair_deduct(repair, from, at)) {
        next = AT_TEXT_END;
        at = repair->size;
    }
    if (next == AT_ELEMENT || next == AT_ARRAY_END) {
        repair_edit(repair, repair->kept_end, at - repair->kept_end,
                    next == AT_ELEMENT && repair->n_in_array ? ",\n" : "", SUTRA_REPAIR_ELEMENT);
        repair->report.n_skipped_bytes += at - repair->kept_end;
    }
    repair->is_inside = next == AT_ELEMENT;
    repair->at = at;
    return next;
}

/* Whether an element begins after the bracket at `at`, so that the bracket does not end the array. */
static bool element_follows(const struct trace_repair *repair, size_t at) {
    at = repair_skip_spaces(repair, at + 1);
    return repair_begins_element(repair, at) && !repair_begins_trace(repair, at);
}

/* At a closing bracket: the array's end, or `instead` replaces it. */
static enum after_element pass_bracket(struct trace_repair *repair, size_t at, const char *instead) {
    size_t next = repair_skip_spaces(repair, at + 1);
    repair->at = at;
    if (element_follows(repair, at)) {
        repair_edit(repair, at, 1, instead, SUTRA_REPAIR_COMMA);
        repair->at = next;
        return AT_ELEMENT;
    }
    return repair_ends_array(repair, at) ? AT_ARRAY_END : skip_malformed(repair, at + 1);
}

/* After an element that is kept. */
static enum after_element pass_comma(struct trace_repair *repair) {
    const char *text = repair->text;
    size_t end = repair->at, at = repair_skip_spaces(repair, end), comma = at;
    bool has_comma = text[at] == ',';
    if (has_comma)
        at = repair_skip_spaces(repair, at + 1);
    repair->at = at;
    if (at >= repair->size)
        return AT_TEXT_END;
    if (text[at] == ']') {
        if (has_comma && !element_follows(repair, at))
            repair_edit(repair, comma, 1, "", SUTRA_REPAIR_COMMA);
        return pass_bracket(repair, at, has_comma ? "" : ",");
    }
    if (text[at] == '{' && !has_comma && repair_begins_trace(repair, at))
        return AT_TRACE;
    if (text[at] == '}' && !has_comma) {
        size_t next = repair_skip_spaces(repair, at + 1);
        if (next >= repair->size || repair_begins_trace(repair, next)) { /* the end of the trace, not of its array */
            repair_edit(repair, at, 0, "]", SUTRA_REPAIR_BRACKET);
            return AT_ARRAY_END;
        }
    }
    /* After an element that was found inside a malformed one, this one's text may continue. */
    if (repair->is_inside ? !repair_may_begin_element(repair, at) : !has_comma && text[at] != '{')
        return skip_malformed(repair, end);
    repair->is_inside = false;
    if (!has_comma)
        repair_edit(repair, at, 0, ",", SUTRA_REPAIR_COMMA);
    return AT_ELEMENT;
}

/* Whether the trace at `at` has an array, as far as it is well-formed. */
static bool has_array(struct trace_repair *repair, size_t at) {
    size_t end;
    repair_keys(repair, at, &end);
    return end == NO_END || text_has(repair->text + at, end - at, "\"nodes\"") ||
           text_has(repair->text + at, end - at, "\"traceEvents\"");
}

/* Parses the elements of the array whose opening bracket is at repair->at. */
static enum after_element repair_elements(struct trace_repair *repair) {
    enum after_element next = AT_ELEMENT;
    repair->n_in_array = 0;
    repair_keep_until(repair, repair->at + 1);
    repair->at = repair_skip_spaces(repair, repair->at);
    if (repair->text[repair->at] == ']' && repair->at < repair->size)
        return AT_ARRAY_END;
    while (next == AT_ELEMENT) {
        size_t at = repair->at, end = NO_END;
        repair->element = repair_element_at(repair, at);
        if (repair_begins_trace(repair, at) && !repair_is_well_formed(repair)) {
            next = has_array(repair, at) ? AT_TRACE : skip_malformed(repair, at + 1);
            continue;
        }
        if (at < repair->size)
            end = repair_value(repair, at, true);
        if (end == NO_END) {
            next = skip_malformed(repair, at < repair->size ? at + 1 : repair->size);
            continue;
        }
        size_t after = repair_skip_spaces(repair, end);
        if (repair->text[at] != '{' && after < repair->size && repair->text[after] != ',' &&
            repair->text[after] != ']') {
            next = skip_malformed(repair, end); /* a key, of an element that ended too early */
            continue;
        }
        repair->n_in_array++;
        repair_keep_element(repair);
        repair_keep_until(repair, end);
        next = pass_comma(repair);
    }
    repair->n_elements += repair->n_in_array;
    return next;
}

/* ---- A trace ---- */

/* Ends the trace at kept_end, in its array or after it, and skips the bytes from there to `next`. A truncated trace
 * gets a mark, and an earlier mark stays. */
static void cut_off(struct trace_repair *repair, size_t next, bool in_array) {
    static const char key[] = "\"" REPAIR_MARK "\"";
    const char *text = repair->text;
    size_t from = repair->kept_end, n_lost = next - from, failed_at = MIN(repair->failed_at, next), at, end;
    repair_roll_back(repair, &repair->kept);
    repair_edit(repair, from, n_lost, in_array ? "\n]" : "", SUTRA_REPAIR_CUT_OFF);
    repair->report.n_skipped_bytes += n_lost;
    repair->at = next;
    if (in_array || !memchr(text + failed_at, '}', next - failed_at)) {
        at = repair_skip_spaces(repair, from);
        if (at < next && text[at] == ',')
            at = repair_skip_spaces(repair, at + 1);
        buffer_format(&repair->out, ",\n%s: {\"truncated_at_byte\": %zu, \"lost\": {\"elements\": %d, \"bytes\": %zu}}",
                      key, next, in_array && at < next, n_lost);
    } else { /* a malformed member, and perhaps the mark after it */
        const char *mark = memmem(text + from, n_lost, key, strlen(key));
        at = mark ? (size_t)(mark - text) : repair->size;
        if (repair_key_length(repair, at) != SIZE_MAX) {
            size_t colon = repair_skip_spaces(repair, at + strlen(key));
            repair_keys(repair, repair_skip_spaces(repair, colon + 1), &end);
            if (end != NO_END) {
                buffer_append_text(&repair->out, ",\n");
                buffer_append(&repair->out, mark, end - at);
            }
        }
    }
    buffer_append_text(&repair->out, "}");
}

/* Repairs the trace's array. False: the trace ends with it, truncated. */
static bool repair_array(struct trace_repair *repair) {
    enum after_element next = repair_elements(repair);
    repair->has_array = true;
    if (next != AT_ARRAY_END)
        cut_off(repair, repair->at, true);
    else if (repair->text[repair->at] == ']')
        repair->at++;
    return next == AT_ARRAY_END;
}

/* The next trace at or after `at`, or the text's end. */
static size_t next_trace(const struct trace_repair *repair, size_t at) {
    while (at < repair->size && !(repair->text[at] == '{' && repair_begins_trace(repair, at)))
        at++;
    return at;
}

/* Parses the member whose key begins at repair->at. False: the trace ended; *ok: it can be used. */
static bool repair_member(struct trace_repair *repair, bool *ok) {
    const char *text = repair->text;
    size_t key = repair->at, end = text[key] == '"' ? repair_strict_string_end(repair, key) : NO_END;
    size_t colon = end == NO_END ? repair->size : repair_skip_spaces(repair, end);
    *ok = true;
    if (text[colon] == ':') {
        size_t n = end - key, value = repair->at = repair_skip_spaces(repair, colon + 1);
        if (text[value] == '[' && ((n == 13 && memcmp(text + key, "\"traceEvents\"", n) == 0) ||
                                   (n == 7 && memcmp(text + key, "\"nodes\"", n) == 0)))
            return repair_array(repair);
        end = value < repair->size ? repair_value(repair, value, false) : NO_END;
        if (end != NO_END) {
            repair->at = end;
            return true;
        }
    } else {
        repair->failed_at = end == NO_END ? repair->failed_at : colon;
    }
    *ok = repair->has_array;
    if (*ok)
        cut_off(repair, next_trace(repair, key), false);
    return false;
}

/* Repairs the trace at repair->at, an opening brace. False: it cannot be repaired. */
static bool repair_object(struct trace_repair *repair) {
    bool ok = true;
    repair_keep_until(repair, repair->at + 1);
    repair->at = repair_skip_spaces(repair, repair->at);
    if (repair->text[repair->at] == '}') {
        repair->at++;
        return true;
    }
    while (repair_member(repair, &ok)) {
        repair_keep_until(repair, repair->at);
        size_t comma = repair->at = repair_skip_spaces(repair, repair->at);
        char c = repair->text[comma];
        if (c == ',') {
            repair->at = repair_skip_spaces(repair, comma + 1);
            c = repair->text[repair->at];
            if (c == '}')
                repair_edit(repair, comma, 1, "", SUTRA_REPAIR_COMMA);
        }
        if (c == '}') {
            repair->at++;
            return true;
        }
        if (repair->text[comma] != ',' || repair->at >= repair->size) {
            repair->failed_at = repair->at;
            if (repair->has_array)
                cut_off(repair, next_trace(repair, repair->at), false);
            return repair->has_array;
        }
    }
    return ok;
}

/* An array without a trace, at repair->at, becomes a trace. */
static void wrap_array(struct trace_repair *repair) {
    size_t first = repair_skip_spaces(repair, repair->at + 1), n = MIN(repair->size - first, 4096);
    bool nodes =
        text_has(repair->text + first, n, "\"ctrl_deps\"") || text_has(repair->text + first, n, "\"op_schema\"");
    repair_edit(repair, repair->at, 0, nodes ? "{\"nodes\": " : "{\"traceEvents\": ", SUTRA_REPAIR_ARRAY);
    if (repair_array(repair))
        repair_replace(repair, repair->at, 0, "}");
}

/* ---- A file ---- */

static struct trace_repair repair_trace(const char *text, size_t size, size_t at, uint64_t budget) {
    struct trace_repair repair = {
        .text = text, .size = size, .begin = at, .at = at, .copied = at, .budget = budget, .quote_from = 1, .ok = true};
    if (text[at] == '[')
        wrap_array(&repair);
    else
        repair.ok = repair_object(&repair);
    repair.ok &= repair.n_elements > 0 || !repair.report.n[SUTRA_REPAIR_CUT_OFF];
    if (!repair.ok)
        repair.at = next_trace(&repair, at + 1);
    return repair;
}

static void trace_repair_free(struct trace_repair *repair) {
    buffer_free(&repair->out);
    text_repairs_free(&repair->report);
}

/* Prefers more elements, then a trace that is not truncated, then the first. */
static bool is_better(const struct trace_repair *trace, const struct trace_repair *best) {
    if (!trace->ok || !best->ok)
        return trace->ok;
    if (trace->n_elements != best->n_elements)
        return trace->n_elements > best->n_elements;
    return !trace->report.n[SUTRA_REPAIR_CUT_OFF] && best->report.n[SUTRA_REPAIR_CUT_OFF];
}

/* Repairs all traces from byte `first` on and returns the best. `others` reports the skipped traces and other text. */
static struct trace_repair find_best_trace(const char *text, size_t size, size_t first, uint64_t budget,
                                           struct text_repairs *others, size_t *failed_at) {
    struct trace_repair best = {0};
    *failed_at = 0;
    for (size_t at = first; at < size;) {
        struct trace_repair next = repair_trace(text, size, at, budget);
        if (!next.ok && *failed_at == 0)
            *failed_at = next.failed_at;
        uint64_t n_parsed = next.at - at + 1;
        budget = next.budget > n_parsed ? next.budget - n_parsed : 0;
        at = repair_skip_spaces(&next, next.at);
        bool better = !best.text || is_better(&next, &best);
        struct trace_repair *skipped = better ? &best : &next;
        if (best.text) {
            repair_report(others, skipped->begin, SUTRA_REPAIR_OBJECT);
            others->n_skipped_bytes += skipped->at - skipped->begin;
            trace_repair_free(skipped);
        }
        if (better)
            best = next;
        if (at < size && (budget == 0 || (text[at] != '{' && text[at] != '['))) {
            size_t from = at;
            at = budget ? next_trace(&next, at) : size;
            repair_report(others, from, SUTRA_REPAIR_REST);
            others->n_skipped_bytes += at - from;
        }
    }
    return best;
}

static bool has_repairs(const struct text_repairs *report) {
    for (int kind = 0; kind < SUTRA_N_REPAIR_KINDS; kind++)
        if (report->n[kind])
            return true;
    return false;
}

enum repair_result repair_text(const char *text, size_t size, struct text_repairs *report, struct buffer *out,
                               size_t *failed_at) {
    struct text_repairs others = {0};
    size_t begin = size >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0, end = size;
    while (end > begin && text[end - 1] == 0)
        end--;
    size_t first = repair_skip_spaces(&(struct trace_repair){.text = text, .size = end}, begin);
    *failed_at = first;
    if (first >= end || (text[first] != '{' && text[first] != '['))
        return REPAIR_FAILED;
    if (begin)
        repair_report(&others, 0, SUTRA_REPAIR_BEGINNING);
    struct trace_repair best =
        find_best_trace(text, end, first, BUDGET_FACTOR * (uint64_t)size + (1 << 16), &others, failed_at);
    if (end < size) {
        repair_report(&others, end, SUTRA_REPAIR_REST);
        others.n_skipped_bytes += size - end;
    }
    if (best.ok) {
        /* Join the reports of the trace and of the skipped text. */
        *report = best.report;
        best.report.places = NULL;
        report->n_elements = best.n_elements;
        report->n_skipped_bytes += others.n_skipped_bytes;
        for (size_t i = 0; i < others.n_places; i++)
            repair_report(report, others.places[i].offset, others.places[i].kind);
        for (int kind = 0; kind < SUTRA_N_REPAIR_KINDS; kind++)
            report->n[kind] = others.n[kind] + best.report.n[kind];
    }
    bool repaired = has_repairs(report), alone = !others.n[SUTRA_REPAIR_OBJECT] && !others.n[SUTRA_REPAIR_REST];
    if (repaired) {
        /* The text before the trace, the repaired text, and the text after the last repair. */
        if (best.begin == first)
            buffer_append(out, text + begin, first - begin);
        buffer_append(out, best.out.bytes, best.out.length);
        size_t text_end = alone ? end : best.at;
        if (best.copied < text_end)
            buffer_append(out, text + best.copied, text_end - best.copied);
        if (!alone)
            buffer_append_text(out, "\n");
    }
    bool no_memory = out->failed || best.out.failed || (repaired && !report->places);
    bool ok = best.ok;
    trace_repair_free(&best);
    text_repairs_free(&others);
    if (no_memory)
        return REPAIR_NO_MEMORY;
    return !ok ? REPAIR_FAILED : repaired ? REPAIR_DONE : REPAIR_NONE;
}

/* ---- The report ---- */

void text_repairs_free(struct text_repairs *report) {
    free(report->places);
    report->places = NULL;
}

const char *repair_kind_words(enum sutra_repair_kind kind, bool many) {
    static const char *const words[SUTRA_N_REPAIR_KINDS][2] = {
        {"unescaped quote", "unescaped quotes"},
        {"unescaped control character", "unescaped control characters"},
        {"invalid escape", "invalid escapes"},
        {"invalid UTF-8 byte", "invalid UTF-8 bytes"},
        {"string without a closing quote", "strings without closing quotes"},
        {"NaN or infinity, replaced by null", "NaNs or infinities, replaced by null"},
        {"extra or missing comma", "extra or missing commas"},
        {"missing closing bracket, inserted", "missing closing brackets, inserted"},
        {"array without a trace, wrapped in a trace", "arrays without a trace, wrapped in a trace"},
        {"byte order mark, skipped", "byte order marks, skipped"},
        {"missing end", "missing ends"},
        {"range of malformed elements, skipped", "ranges of malformed elements, skipped"},
        {"other trace in the file, skipped", "other traces in the file, skipped"},
        {"piece of text after the trace, skipped", "pieces of text after the trace, skipped"},
    };
    return words[kind][many];
}

void repair_describe(const struct text_repairs *report, char *text, size_t size) {
    size_t length = 0;
    *text = 0;
    for (int kind = 0; kind < SUTRA_N_REPAIR_KINDS && length < size; kind++) {
        uint64_t n = report->n[kind], first = SUTRA_NO_OFFSET;
        if (!n)
            continue;
        for (size_t i = 0; i < report->n_places; i++)
            if ((int)report->places[i].kind == kind && report->places[i].offset < first)
                first = report->places[i].offset;
        length += (size_t)snprintf(text + length, size - length, "%s%" PRIu64 " %s", length ? "; " : "", n,
                                   repair_kind_words((enum sutra_repair_kind)kind, n > 1));
        if (first != SUTRA_NO_OFFSET && length < size)
            length += (size_t)snprintf(text + length, size - length,
                                       n > 1 ? " (the first at byte %" PRIu64 ")" : " (byte %" PRIu64 ")", first);
    }
}
