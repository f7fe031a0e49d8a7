/*
 * script.c - text of the page's script.
 */
#include "report/script.h"

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
    "addEventListener(\"beforeprint\", () => document.querySelectorAll(\".how\").forEach(d => { d.open = true; }));\n";

const char script_digest[] = "sha256-PmR3WNgYkJVA/lmVxGhcfG5NYfdoAG/VJnZ2qRpkHMw=";
