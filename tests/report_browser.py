#!/usr/bin/env python3
"""report_browser.py CHROMIUM FOLDER... - looks at the reports of these folders with a browser, in windows of two widths, light
and dark.

The page itself must load without a word on the console. A copy of it, with a script that measures, tells whether the page is
wider than the window, texts of charts leave their chart or lie on each other, whether texts and bars stand out, whether what is
read in tables is what they hold, and whether a click on a heading sorts. The numbers of an overview, as the browser has them, are
those of the files beside it.
"""
import os
import subprocess
import sys
import tempfile

import report_check

MEASURE = """
const found = [];
const visible = e => e.getClientRects().length > 0;
if (document.documentElement.scrollWidth > innerWidth) found.push('the page is wider than the window');
let charts = 0;
for (const svg of document.querySelectorAll('svg')) {
  if (!visible(svg)) continue;
  charts++;
  const frame = svg.getBoundingClientRect(), name = svg.querySelector('title').textContent;
  const texts = [...svg.querySelectorAll('text')].map(e => [e.getBoundingClientRect(), e.lastChild ? e.lastChild.data : '']);
  texts.forEach(([a, words], i) => {
    if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.top < frame.top - 1 || a.bottom > frame.bottom + 1)
      found.push(name + ': leaves the chart: ' + words);
    for (const [b, others] of texts.slice(i + 1))
      if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4)
        found.push(name + ': ' + words + ' lies on ' + others);
  });
  if (frame.width / svg.viewBox.baseVal.width < 0.8) found.push(name + ': too small to read');
}
const channel = c => c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
const light = colour => {
  const [r, g, b] = colour.match(/[0-9.]+/g).map(v => channel(v / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (a, b) => { const [x, y] = [light(a), light(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };
const section = document.querySelector('section'), paper = getComputedStyle(section).backgroundColor;
for (const [what, least] of [['p', 4.5], ['a', 4.5], ['caption', 4.5], ['.chart text:not(.on)', 4.5], ['.chart .small', 4.5], ['.c0', 3],
     ['.c1', 3], ['.c2', 3], ['.c3', 3], ['.c4', 3], ['.c5', 3], ['.c6', 2.9], ['.c7', 3]])
  for (const e of document.querySelectorAll('section ' + what)) {
    const style = getComputedStyle(e), colour = what[0] == '.' ? style.fill : style.color;
    if (contrast(colour, paper) < least) { found.push(what + ' does not stand out: ' + colour + ' on ' + paper); break; }
  }
const numbers = colour => colour.match(/[0-9.]+/g).map(Number);
for (const e of document.querySelectorAll('.chart .on')) { // words on areas: the one before them
  let area = e.previousElementSibling;
  while (area.tagName != 'rect') area = area.previousElementSibling;
  const style = getComputedStyle(area), share = Number(style.fillOpacity), below = numbers(paper);
  const mixed = 'rgb(' + numbers(style.fill).map((v, i) => share * v + (1 - share) * below[i]).join(', ') + ')';
  if (contrast(getComputedStyle(e).fill, mixed) < 4.3) { found.push(e.textContent + ' does not stand out on ' + mixed); break; }
}
for (const cell of document.querySelectorAll('[data-value]')) {
  if (cell.tagName != 'TD' || cell.dataset.value == 'NaN') continue;
  const text = cell.textContent.replaceAll(',', ''), decimals = (text.split('.')[1] || '').length, value = Number(cell.dataset.value);
  if (Math.abs(Number(text) - value) > 0.5001 * 10 ** -decimals + 1e-9 * Math.abs(value)) found.push('shows ' + text + ' for ' + value);
}
let sorted = 0;
for (const table of document.querySelectorAll('table')) {
  const column = [...table.tHead.rows[0].cells].findLastIndex(head => !head.classList.contains('text'));
  if (column < 1 || table.tBodies[0].rows.length < 3) continue;
  table.tHead.rows[0].cells[column].querySelector('button').click();
  const values = [...table.tBodies[0].rows].map(row => Number(row.cells[column].dataset.value)).filter(v => !isNaN(v));
  if (values.some((value, i) => i && value > values[i - 1])) found.push(table.dataset.table + ': is not sorted');
  if (++sorted == 3) break;
}
const dark = light(paper) < 0.2;
parent.postMessage('RESULT ' + charts + ' charts, ' + (dark ? 'dark' : 'light') + ', ' + innerWidth + ' wide\\n' + found.slice(0, 9).join('\\n') + '\\nEND', '*');
"""

# Browsers have no windows that are as narrow as that; frames can be.
FRAME = """<!DOCTYPE html><html><body><iframe src="%s" style="width:%dpx;height:900px;border:0"></iframe><pre></pre><script>
addEventListener('message', event => { document.querySelector('pre').textContent = event.data; });
</script></body></html>"""


def browse(browser, path, width, scheme):
    """The page as it is after its scripts, and what the console says."""
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run([browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                               "--hide-scrollbars", "--virtual-time-budget=5000", "--enable-logging=stderr", "--v=0", f"--user-data-dir={profile}",
                               f"--window-size={width},900", f"--blink-settings=preferredColorScheme={scheme}",
                               "--dump-dom", "file://" + path], capture_output=True, text=True, errors="replace", timeout=60)
    console = [line for line in done.stderr.splitlines() if ":CONSOLE" in line]
    return done.stdout, console


def look(browser, folder, name="report.html"):
    path = os.path.abspath(os.path.join(folder, name))
    problems, seen = [], []
    dom, console = browse(browser, path, 1280, 1)
    if "</footer>" not in dom:
        raise RuntimeError("the browser shows nothing")
    problems += console
    if name == "report.html" and os.path.exists(os.path.join(folder, "overview_ranks.csv")):
        try:
            report_check.check_overview(report_check.Page(dom[dom.index("<html"):]), folder)
        except AssertionError as error:
            problems.append(f"numbers of the page are not those of the tables: {error}")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    start = text.index("<meta http-equiv")
    text = text[:start] + text[text.index(">", start) + 1:]
    with tempfile.TemporaryDirectory() as work:
        with open(os.path.join(work, "copy.html"), "w", encoding="utf-8") as file:
            file.write(text.replace("</body>", "<script>" + MEASURE + "</script></body>"))
        for width, scheme, name in ((1280, 1, "light"), (400, 0, "dark")):
            with open(os.path.join(work, "frame.html"), "w", encoding="utf-8") as file:
                file.write(FRAME % ("copy.html", width))
            dom, _ = browse(browser, file.name, 1400, scheme)
            if "RESULT " not in dom:
                raise RuntimeError("the page does not answer")
            result = dom[dom.rindex("RESULT ") + 7:dom.rindex("\nEND")].splitlines()
            if f"{name}, {width} wide" not in result[0]:
                problems.append(f"{width} {name}: the page is {result[0]}")
            seen.append(f"{width} {name}")
            problems += [f"{width} {name}: {problem}" for problem in result[1:] if problem]
    print(f"{os.path.basename(folder)}/{name}: {result[0].split(',')[0]}, looked at {', '.join(seen)}")
    for problem in problems:
        print("FAILED", os.path.basename(folder), name, problem)
    return not problems


def look_at_all(browser, folder):
    return all([look(browser, folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".html")])


if __name__ == "__main__":
    try:
        sys.exit(0 if all([look_at_all(sys.argv[1], folder.rstrip("/")) for folder in sys.argv[2:]]) else 1)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        print(f"{sys.argv[1]} does not run here: {error}")
        sys.exit(77)
