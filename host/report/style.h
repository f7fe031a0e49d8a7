/*
 * style.h - style sheets of pages and drawings.
 *
 * Colors follow the reader's light or dark mode. The eight colors of drawings have a contrast of at least 3:1 to the
 * background. Any two differ by at least 8 (of 100) in OKLab, also with dichromatic vision. Text repeats all
 * information given by color.
 */
#ifndef REPORT_STYLE_H
#define REPORT_STYLE_H

extern const char style_colours[]; /* of both */
extern const char style_charts[];
extern const char style_page[];

#endif
