/*
 * markup.c - implements markup.h: style sheets, script, colors, and escaped text; then Markdown. O(length): one pass
 * over a name, two over a shortened one.
 */
#include <ctype.h>
#include <string.h>

#include "base/shared.h"
#include "facts/kernel_class.h"
#include "facts/names.h"
#include "report/markup.h"
#include "text/strings.h"

/* ---- Style sheets and script ---- */

const char style_colours[] =
    ":root{color-scheme:light dark;--paper:#fff;--back:#f4f5f7;--ink:#1b1f24;--soft:#57606a;--line:#d5d9df;"
    "--focus:#0550ae;--c0:#4953da;--c1:#ce8300;--c2:#68248a;--c3:#4c9390;--c4:#b31258;--c5:#a66300;--c6:#009bf2;"
    "--c7:#642a03;--grey:#b4bac2}\n"
    "@media (prefers-color-scheme:dark){:root{--paper:#16191d;--back:#0d0f12;--ink:#e7eaee;--soft:#a3abb5;"
    "--line:#343a42;--focus:#79b8ff;--c0:#7cabdc;--c1:#dca214;--c2:#9978ff;--c3:#00d8ab;--c4:#e55e95;--c5:#ffc235;"
    "--c6:#bfc6fe;--c7:#bc6b3d;--grey:#59616b}}\n"
    "@media print{:root{color-scheme:light;--paper:#fff;--back:#fff;--ink:#000;--soft:#444;--line:#ccc;--c0:#4953da;"
    "--c1:#ce8300;--c2:#68248a;--c3:#4c9390;--c4:#b31258;--c5:#a66300;--c6:#009bf2;--c7:#642a03;--grey:#b4bac2}}\n";

const char style_charts[] =
    ".chart{font:12px system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",Arial,sans-serif;"
    "forced-color-adjust:none;print-color-adjust:exact;-webkit-print-color-adjust:exact}\n"
    ".chart text{fill:var(--ink);font-variant-numeric:tabular-nums}\n"
    ".chart .small{font-size:11px;fill:var(--soft)}\n"
    ".chart .on{font-size:11px}.chart .light{fill:var(--paper)}.chart .dark{fill:#14171b}\n"
    ".chart .strong{font-weight:600}.chart .title{font-size:15px;font-weight:600}\n"
    ".chart .paper{fill:var(--paper)}\n"
    ".chart .grid{stroke:var(--line);stroke-width:1}\n"
    ".chart .base{stroke:var(--soft);stroke-width:1}\n"
    ".chart .c0{fill:var(--c0)}.chart .c1{fill:var(--c1)}.chart .c2{fill:var(--c2)}.chart .c3{fill:var(--c3)}"
    ".chart .c4{fill:var(--c4)}.chart .c5{fill:var(--c5)}.chart .c6{fill:var(--c6)}.chart .c7{fill:var(--c7)}"
    ".chart .grey{fill:var(--grey)}.chart .pale{fill:var(--c1);fill-opacity:.45}"
    ".chart .ink{fill:var(--ink)}.chart .count{fill:var(--soft)}.chart .s0{fill:var(--c0)}.chart .s1{fill:var(--c0);fill-opacity:.72}"
    ".chart .s2{fill:var(--c0);fill-opacity:.5}.chart .s3{fill:var(--c0);fill-opacity:.32}\n"
    ".chart .part{stroke:var(--paper);stroke-width:1}\n"
    ".chart .mark{fill:var(--c4);fill-opacity:.16}.chart .arrow{stroke:var(--ink);stroke-width:1.5}\n"
    ".chart .halo{paint-order:stroke;stroke:var(--paper);stroke-width:4px;stroke-linejoin:round}\n"
    ".chart .mean{fill:none;stroke:var(--ink);stroke-width:1.5}\n";

const char style_page[] =
    "*{box-sizing:border-box}\n"
    "body{margin:0;background:var(--back);color:var(--ink);font:16px/1.5 system-ui,-apple-system,\"Segoe UI\",Roboto,"
    "\"Helvetica Neue\",Arial,sans-serif}\n"
    "header,main,footer,nav{max-width:940px;margin:0 auto;padding:0 16px}\n"
    "h1{font-size:1.5rem;margin:24px 0 4px;overflow-wrap:anywhere}h2{font-size:1.15rem;margin:0 0 "
    "4px}h3{font-size:1rem;margin:16px 0 4px}\n"
    "p{margin:4px 0 12px;max-width:75ch}.soft,footer{color:var(--soft);overflow-wrap:anywhere}\n"
    "a{color:var(--focus)}:focus-visible{outline:3px solid var(--focus);outline-offset:2px}\n"
    ".skip{position:absolute;left:-999px;padding:8px 12px;background:var(--paper)}.skip:focus{left:8px;top:8px}\n"
    "nav ul{display:flex;flex-wrap:wrap;gap:4px 16px;list-style:none;padding:0;margin:8px 0 16px}"
    "nav .pages{margin-top:-8px}.pages:empty{display:none}.pages li::before{content:\"\\2192\\a0\";color:var(--soft)}\n"
    ".cards{display:grid;grid-template-columns:repeat(auto-fill,minmax(140px,1fr));gap:12px;margin:0 0 16px}\n"
    ".cards div,section{background:var(--paper);border:1px solid var(--line);border-radius:8px}\n"
    ".cards div{padding:12px 14px;display:grid;grid-row:span 2;grid-template-rows:subgrid;row-gap:0;align-content:start}.cards dt{color:var(--soft);font-size:.875rem}\n"
    ".cards dd{margin:0;font-size:1.35rem;font-weight:600;font-variant-numeric:tabular-nums}\n"
    ".cards .broad{grid-column:span 2}.cards "
    ".note{display:block;font-size:.8125rem;font-weight:400;color:var(--soft);line-height:1.35}\n"
    "section{padding:16px 18px;margin:0 0 16px;scroll-margin-top:8px}\n"
    "figure{margin:8px 0 12px}.chart{display:block;max-width:100%;height:auto}.narrow{display:none}\n"
    ".scroll{overflow-x:auto;margin:0 0 12px}\n"
    "table{border-collapse:collapse;font-size:.875rem;font-variant-numeric:tabular-nums}\n"
    "caption{text-align:left;color:var(--soft);padding:2px 0 4px;position:sticky;left:0;max-width:calc(100vw - 70px)}\n"
    "th,td{padding:3px 10px;border-bottom:1px solid var(--line);text-align:right;white-space:nowrap}thead "
    "th{white-space:normal}\n"
    "th{font-weight:600}thead th{vertical-align:bottom}th:first-child,td:first-child{padding-left:0}\n"
    ".text{text-align:left}tbody th{font-weight:400}\n"
    ".tree,.tree ul{list-style:none;margin:0;padding-left:18px}.tree{padding:0 0 12px;font-size:.875rem;overflow-x:auto}"
    ".tree summary{margin:0;color:inherit;white-space:nowrap}.tree li{white-space:nowrap}\n"
    "summary{cursor:pointer;color:var(--focus);margin:0 0 8px}details.how{margin:-8px 0 8px;font-size:.9rem}\n"
    "thead button{font:inherit;color:inherit;background:none;border:0;padding:0;text-align:inherit;cursor:pointer}\n"
    "[aria-sort=descending] button::after{content:\" \\25be\"}[aria-sort=ascending] button::after{content:\" "
    "\\25b4\"}\n"
    ".unit{font-weight:400;color:var(--soft);white-space:nowrap}\n"
    ".warning{max-width:none;border:1px solid var(--ink);border-left-width:5px;border-radius:6px;background:var(--paper);"
    "padding:6px 12px;margin:0 0 10px;overflow-wrap:anywhere}\n"
    ".findings{list-style:none;margin:8px 0 0;padding:0;}.findings li{display:grid;"
    "grid-template-columns:5.2em 1fr;gap:12px;padding:10px 0;border-top:1px solid var(--line)}"
    ".findings h3{margin:0 0 2px}.findings li div{min-width:0}.findings div p{margin:0 0 5px}"
    ".headline p{max-width:80ch;margin:0 0 6px;font-size:1.05rem}.next{margin:0 0 12px;padding-left:20px}"
    "code{overflow-wrap:anywhere}pre{overflow-x:auto;background:var(--back);border:1px solid var(--line);"
    "border-radius:6px;padding:8px 10px;font-size:.8125rem;margin:0}.copied{float:right;font-size:.875rem}\n"
    ".findings strong{font-size:1.35rem;line-height:1.3;font-variant-numeric:tabular-nums;text-align:right;white-space:"
    "nowrap}.findings p{margin:0;max-width:80ch;min-width:0;overflow-wrap:anywhere}.findings code{color:var(--soft);overflow-wrap:anywhere}\n"
    ".key ul{display:flex;flex-wrap:wrap;gap:2px 18px;list-style:none;padding:0;margin:0 0 "
    "12px;font-size:.875rem}.key i{display:inline-block;width:11px;height:11px;margin-right:6px}\n"
    ".key .c0,.key .s0{background:var(--c0)}.key .c1{background:var(--c1)}.key .c2{background:var(--c2)}"
    ".key .c3{background:var(--c3)}.key .c4{background:var(--c4)}.key .c5{background:var(--c5)}"
    ".key .c6{background:var(--c6)}.key .c7{background:var(--c7)}.key .grey{background:var(--grey)}"
    ".key .count{background:var(--soft)}.key .pale{background:var(--c1);opacity:.45}.key .s1{background:var(--c0);opacity:.72}"
    ".key .s2{background:var(--c0);opacity:.5}.key .s3{background:var(--c0);opacity:.32}\n"
    ".missing{overflow-wrap:anywhere;border-left:4px solid var(--line);color:var(--soft);padding:0 12px}code{font-size:.875em}\n"
    "footer{font-size:.875rem;padding-bottom:32px}\n"
    "@media "
    "(max-width:760px){.wide{display:none}.narrow{display:block;width:100%;max-width:480px}.text{white-space:normal;overflow-wrap:anywhere;min-"
    "width:20ch}.brief{min-width:0;overflow-wrap:normal}td.brief{white-space:nowrap}section{padding:12px}"
    "header,main,footer,nav{padding:0 10px}.cards{gap:8px}"
    ".cards dd{font-size:1.15rem}}\n"
    "@media(max-width:940px){.cards{grid-template-columns:repeat(3,1fr)}}"
    "@media(max-width:760px){.cards{grid-template-columns:1fr 1fr}}\n"
    "@media(max-width:520px){.findings li{grid-template-columns:1fr;gap:2px}.findings strong{text-align:left}th,td{padding:3px 6px}}\n"
    "@media print{:root{font-size:9.5pt}body{font-size:1rem}nav,.skip,.key,.screen,#missing{display:none}"
    "figure,.cards div,.findings li,tr{break-inside:avoid}h2,h3,summary{break-after:avoid}"
    "section{border:0;padding:0;margin:0 0 10pt}.wide{display:block}.narrow{display:none}"
    "details.how::details-content{display:block;content-visibility:visible}details.how summary,details:not([open]):not(.how){display:none}"
    ".scroll{overflow:visible}table{font-size:7pt}th,td{padding:2px 5px}"
    ".text{white-space:normal;overflow-wrap:anywhere}header,main,footer{padding:0;max-width:none}}\n";

const char script_page[] =
    "\n"
    "for (const table of document.querySelectorAll(\"table[data-table]\")) {\n"
    "  const body = table.tBodies[0], heads = [...table.tHead.rows[0].cells];\n"
    "  const key = (row, i) => {\n"
    "    const cell = row.cells[i], value = cell.dataset.value;\n"
    "    if (value === undefined) return cell.title || cell.textContent;\n"
    "    return value === \"NaN\" ? -Infinity : Number(value);\n"
    "  };\n"
    "  const order = (a, b) => a === b ? 0 : typeof a === \"number\" ? a - b : a.localeCompare(b);\n"
    "  heads.forEach((head, i) => {\n"
    "    const button = document.createElement(\"button\");\n"
    "    button.type = \"button\";\n"
    "    button.title = \"sort\";\n"
    "    button.append(...head.childNodes);\n"
    "    head.append(button);\n"
    "    button.onclick = () => {\n"
    "      const before = head.getAttribute(\"aria-sort\");\n"
    "      const falls = before === null ? !head.classList.contains(\"text\") : before === \"ascending\";\n"
    "      body.append(...[...body.rows].sort((a, b) => (falls ? -1 : 1) * order(key(a, i), key(b, i))));\n"
    "      heads.forEach(other => other.removeAttribute(\"aria-sort\"));\n"
    "      head.setAttribute(\"aria-sort\", falls ? \"descending\" : \"ascending\");\n"
    "    };\n"
    "  });\n"
    "}\n"
    "for (const details of document.querySelectorAll(\"details.copy\")) {\n"
    "  const button = document.createElement(\"button\"), text = details.querySelector(\"pre\");\n"
    "  button.type = \"button\";\n"
    "  button.className = \"screen copied\";\n"
    "  button.textContent = \"Copy as Markdown\";\n"
    "  button.onclick = async () => {\n"
    "    try {\n"
    "      await navigator.clipboard.writeText(text.textContent);\n"
    "    } catch (error) {\n"
    "      details.open = true;\n"
    "      getSelection().selectAllChildren(text);\n"
    "      document.execCommand(\"copy\");\n"
    "    }\n"
    "    button.textContent = \"Copied\";\n"
    "  };\n"
    "  details.closest(\"section\").prepend(button);\n"
    "}\n"
    "addEventListener(\"beforeprint\", () => document.querySelectorAll(\".how\").forEach(d => { d.open = true; }));\n";

const char script_digest[] = "sha256-6O29u2i7QvJFaz/f5nUdi0xUNaxYXG/AEDzOhry3V1k=";

/* ---- Colors ---- */

const char *colour_meaning(enum colour colour) {
    static const char *const meanings[N_COLOURS] = {[COLOUR_COMPUTE] = "compute",
                                                    [COLOUR_COMMUNICATION] = "communication",
                                                    [COLOUR_COPIES] = "memcpy and memset",
                                                    [COLOUR_OTHER_WORK] = "other activity",
                                                    [COLOUR_WAIT_HOST] = "idle: host",
                                                    [COLOUR_WAIT_DATA] = "idle: data loading",
                                                    [COLOUR_WAIT_DEVICE] = "idle: launched before",
                                                    [COLOUR_WAIT_SYNC] = "idle: synchronizing",
                                                    [COLOUR_IDLE] = "idle",
                                                    [COLOUR_HIDDEN] = "communication overlapping with compute",
                                                    [COLOUR_COUNT] = "counts and mixed kinds"};
    return meanings[colour];
}

enum colour colour_of_work(const char *name, size_t length) {
    if (kernel_communicates(name, length))
        return COLOUR_COMMUNICATION;
    return kernel_type_of(name, length) == KERNEL_MEMORY ? COLOUR_COPIES : COLOUR_COMPUTE;
}

enum colour colour_of_operator(const char *name, size_t length) {
    static const char *const begins[] = {"c10d::", COMMS_NAME, "CustomCollective", "MoE_comm"};
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (text_begins_with(name, length, begins[i]))
            return COLOUR_COMMUNICATION;
    return colour_of_work(name, length);
}

/* ---- Text ---- */

#define REPLACEMENT      0xfffd
#define CONTROL_PICTURES 0x2400

/* Width of a title if no room for titles is left. */
#define SHORT_TITLE 120

const char *markup_read_any(const char *bytes, const char *end, uint32_t *code_point) {
    unsigned char first = (unsigned char)*bytes;
    size_t n = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    bool fits = n <= (size_t)(end - bytes);
    bool surrogate = fits && first == 0xed && (bytes[1] & 0xe0) == 0xa0 && (bytes[2] & 0xc0) == 0x80;
    if (!fits || (!surrogate && utf8_check(bytes, n) != n)) {
        *code_point = REPLACEMENT;
        return bytes + 1;
    }
    utf8_read(bytes, code_point);
    uint32_t c = *code_point;
    bool is_character = (c & 0xfffe) != 0xfffe && (c < 0xfdd0 || c > 0xfdef) && (c < 0xd800 || c >= 0xe000);
    if (c < 0x20)
        *code_point = CONTROL_PICTURES + c;
    else if (c == 0x7f)
        *code_point = CONTROL_PICTURES + 0x21;
    else if (!is_character || is_wide_control(c))
        *code_point = REPLACEMENT;
    return bytes + n;
}

/* Measured on DejaVu Sans, one of the widest fonts. */
static double character_width(uint32_t code_point) {
    static const char kinds[] = /* of ASCII: n narrow, w wide, c a capital */
        "n..............................."
        "nn.w.wwnnn.wn.nn..........nnwww."
        "wccccccccncccwcccccccccwcccn.n.."
        "......n..nn.nw......n..w....n...";
    if (code_point >= 0x1100)
        return code_point == 0x2026 ? 1 : 1.05;
    if (code_point >= 0x80)
        return 0.7;
    return kinds[code_point] == 'n' ? 0.4 : kinds[code_point] == 'w' ? 0.92 : kinds[code_point] == 'c' ? 0.72 : 0.62;
}

double markup_width(struct name name) {
    double width = 0;
    uint32_t code_point;
    for (const char *at = name.bytes, *end = at + name.length; at < end;) {
        at = markup_read(at, end, &code_point);
        width += character_width(code_point);
    }
    return width;
}

static void write_character(struct markup *markup, uint32_t code_point) {
    static const char *const entities[] = {
        ['<'] = "&lt;", ['>'] = "&gt;", ['&'] = "&amp;", ['"'] = "&quot;", ['\''] = "&#39;"};
    const char *entity = code_point < sizeof entities / sizeof *entities ? entities[code_point] : NULL;
    char bytes[4];
    if (entity)
        out_add(&markup->out, entity);
    else
        buffer_append(&markup->out.out, bytes, (size_t)(utf8_write(code_point, bytes) - bytes));
}

void markup_name(struct markup *markup, struct name name) {
    uint32_t code_point;
    for (const char *at = name.bytes, *end = at + name.length; at < end;) {
        const char *plain = at; /* bytes before it are written unchanged */
        while (plain < end && markup_is_plain(*plain) && *plain != '<' && *plain != '>' && *plain != '&' &&
               *plain != '"' && *plain != '\'')
            plain++;
        buffer_append(&markup->out.out, at, (size_t)(plain - at));
        if (plain == end)
            return;
        at = markup_read(plain, end, &code_point);
        write_character(markup, code_point);
    }
}

bool markup_cut(struct markup *markup, struct name name, double width) {
    double whole = markup_width(name), done = 0;
    double front = (width - 1) * (name.by_end ? 0.2 : 0.6), back = width - 1 - front;
    const char *gap = NULL, *at = name.bytes, *end = at + name.length;
    uint32_t code_point;
    if (whole <= width) {
        markup_name(markup, name);
        return false;
    }
    for (const char *next; at < end; at = next) {
        next = markup_read(at, end, &code_point);
        double before = done;
        done += character_width(code_point);
        bool is_omitted = done > front && whole - before > back;
        if (gap && !is_omitted)
            break;
        if (!gap && is_omitted)
            gap = at;
    }
    markup_name(markup, (struct name){name.bytes, (size_t)((gap ? gap : end) - name.bytes), false});
    if (gap)
        write_character(markup, 0x2026);
    markup_name(markup, (struct name){at, (size_t)(end - at), false});
    return true;
}

void markup_title(struct markup *markup, struct name name) {
    size_t before = markup->out.out.length;
    if (name.length > markup->title_room) {
        markup_cut(markup, name, SHORT_TITLE);
        return;
    }
    markup_name(markup, name);
    size_t written = markup->out.out.length - before;
    markup->title_room -= MIN(written, markup->title_room);
}

/* ---- Markdown ---- */

#define WORD_MAX 100 /* of a call with its arguments */

/* The length of the word at `text`. A call with its arguments is one word, "SGD(lr, foreach=True)", and a Python
 * function with its file: "train.py(12): step". */
static size_t word_length(const char *text) {
    size_t length = strcspn(text, " "), begin = strspn(text, "(\"'");
    if (length > 4 && text[length - 1] == ':' && text_has(text, length, ".py("))
        return length + 1 + strcspn(text + length + 1, " ");
    int depth = 0;
    for (size_t i = begin; i < length; i++)
        depth += (text[i] == '(') - (text[i] == ')');
    if (depth <= 0 || !isalpha((unsigned char)text[begin]))
        return length;
    for (size_t i = length; i < WORD_MAX && text[i]; i++) {
        depth += (text[i] == '(') - (text[i] == ')');
        if (depth == 0)
            return i + strcspn(text + i, " ");
    }
    return length;
}

/* Whether a word is a name or code: it has a character of code, or capitals inside. */
static bool is_code(const char *word, size_t length) {
    bool has_letter = false, has_mark = false;
    size_t n_capitals = 0;
    for (size_t i = 0; i < length; i++) {
        const char c = word[i], next = i + 1 < length ? word[i + 1] : '\0';
        has_letter |= isalnum((unsigned char)c) != 0;
        n_capitals += islower((unsigned char)c) && isupper((unsigned char)next);
        has_mark |=
            strchr("_=<>{}[]`$|\\~^@*", c) || (c == '#' && i > 0) || (c == ':' && next == ':') ||
            (c == '.' && i > 0 && isalpha((unsigned char)word[i - 1]) && isalpha((unsigned char)next)) ||
            (c == '/' && (i == 0 ? isalpha((unsigned char)next) != 0 : memchr(word + i, '.', length - i) != NULL)) ||
            (c == '(' && i > 0 && isalpha((unsigned char)word[0]));
    }
    const bool is_proper_name = length == 7 && memcmp(word, "PyTorch", 7) == 0;
    return has_letter && (has_mark || (n_capitals > 0 && length >= 7 && !is_proper_name));
}

void markdown_reduce_path(const struct markdown *markdown, const char **word, size_t *length) {
    if (markdown->keep_paths || **word != '/')
        return;
    for (size_t i = *length; i-- > 1;)
        if ((*word)[i] == '/' && i + 1 < *length) {
            *word += i + 1;
            *length -= i + 1;
            return;
        }
}

/* Appends characters with a backslash before the ones in `special`. Control characters are escaped; line ends and tabs,
 * which could end a row or begin a block, become spaces. In a table, a bar ends the cell unless a backslash precedes
 * it that no other backslash escapes. */
static void write_escaped(const struct markdown *markdown, const char *text, size_t length, const char *special) {
    struct visible_character character;
    for (const char *at = text, *end = text + length; at < end && *at;) {
        const char first = *at;
        const bool is_bar = markdown->in_table && first == '|';
        if (is_bar && at > text && at[-1] == '\\' && !*special)
            out_add(markdown->out, " ");
        at = visible_read(at, &character);
        if (strchr(special, first) || is_bar)
            out_add(markdown->out, "\\");
        if (strchr("\n\r\t", first))
            out_add(markdown->out, " ");
        else
            buffer_append(&markdown->out->out, character.bytes, character.n_bytes);
    }
}

void markdown_code(const struct markdown *markdown, const char *text, size_t length) {
    /* The fence is longer than each run of grave accents in the text. */
    size_t n = 1, run = 0;
    for (size_t i = 0; i < length; i++) {
        run = text[i] == '`' ? run + 1 : 0;
        n = MAX(n, run + 1);
    }
    const char *space = n > 1 ? " " : "";
    for (size_t i = 0; i < n; i++)
        out_add(markdown->out, "`");
    out_add(markdown->out, space);
    write_escaped(markdown, text, length, "");
    out_add(markdown->out, space);
    for (size_t i = 0; i < n; i++)
        out_add(markdown->out, "`");
}

void markdown_path(const struct markdown *markdown, const char *path) {
    size_t length = strlen(path);
    markdown_reduce_path(markdown, &path, &length);
    markdown_code(markdown, path, length);
}

void markdown_text(const struct markdown *markdown, const char *text) {
    static const char special[] = "\\`*_<&[]#|~";
    while (*text) {
        size_t length = word_length(text), begin = 0, end = length;
        while (begin < end && strchr("(\"'", text[begin]))
            begin++;
        /* Closing brackets belong to a name that opens them. */
        for (; end > begin + 1 && strchr(".,;:!?)\"'", text[end - 1]); end--) {
            int n_open = 0;
            for (size_t i = begin; i < end; i++)
                n_open += (text[i] == '(') - (text[i] == ')');
            if (text[end - 1] == ')' && n_open == 0)
                break;
            if (strchr("\"'", text[end - 1]) && (begin == 0 || !strchr("\"'", text[begin - 1])))
                break;
        }
        if (is_code(text + begin, end - begin)) {
            const char *word = text + begin;
            size_t n = end - begin;
            markdown_reduce_path(markdown, &word, &n);
            write_escaped(markdown, text, begin, special);
            markdown_code(markdown, word, n);
            write_escaped(markdown, text + end, length - end, special);
        } else {
            write_escaped(markdown, text, length, special);
        }
        text += length;
        if (*text == ' ') {
            out_add(markdown->out, " ");
            text++;
        }
    }
}
