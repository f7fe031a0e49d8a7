/*
 * style.h - the style sheets of pages and drawings.
 *
 * Colours follow the reader's choice of light or dark. The eight of drawings keep a contrast of 3:1 to the paper and
 * were chosen so that any two differ by 8 or more in OKLab (of 100), also for people who lack one kind of cones; still,
 * whatever a colour says is also said by a text.
 */
#ifndef REPORT_STYLE_H
#define REPORT_STYLE_H

extern const char style_colours[]; /* of both */
extern const char style_charts[];
extern const char style_page[];

#endif
