/*
 * script.h - the one script of a page, and its digest, by which the page allows it and no other.
 *
 * Tables are sorted by a click on a heading, and what is folded is unfolded on paper. The page is whole without it. The
 * text has neither "<" nor "&", so that the page stays well-formed XML.
 */
#ifndef REPORT_SCRIPT_H
#define REPORT_SCRIPT_H

extern const char script_page[];
extern const char script_digest[]; /* "sha256-...", which tests compare with the text */

#endif
