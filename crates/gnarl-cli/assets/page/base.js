// What every component of a page needs: elements, numbers, colours, the theme, tables that sort. No library, nothing from outside.
'use strict';

// An element; attributes by name, "on…" as listeners, children as text or elements.
function el(tag, attributes = {}, ...children) {
  const svg = ['svg', 'g', 'line', 'path', 'circle', 'rect', 'text', 'polyline', 'title', 'polygon'].includes(tag);
  const made = svg ? document.createElementNS('http://www.w3.org/2000/svg', tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith('on')) made.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== null && value !== false) made.setAttribute(name, value === true ? '' : value);
  }
  made.append(...children.filter(child => child !== null && child !== undefined));
  return made;
}

let madeIds = 0;
const newId = () => `made-${++madeIds}`;

// Okabe and Ito's colours, which readers with any kind of colour vision can tell apart. Beyond eight, squares.
const COLOURS = ['#0072b2', '#e69f00', '#009e73', '#cc79a7', '#56b4e9', '#d55e00', '#f0e442', '#8c8c8c'];
const ADDED = '#0072b2', REMOVED = '#d55e00';
// From dark to light, even in lightness and the same for all kinds of colour vision (after cividis).
const RAMP = [[0, 34, 78], [48, 63, 109], [87, 92, 109], [124, 123, 120], [165, 156, 116], [210, 193, 88], [254, 232, 56]];

function ramp(share) {
  const at = Math.min(Math.max(share, 0), 1) * (RAMP.length - 1), low = Math.min(Math.floor(at), RAMP.length - 2);
  return RAMP[low].map((from, i) => Math.round(from + (RAMP[low + 1][i] - from) * (at - low)));
}
const css = ([r, g, b]) => `rgb(${r} ${g} ${b})`;
const hex = colour => [1, 3, 5].map(at => parseInt(colour.slice(at, at + 2), 16));
const variable = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Numbers with at most so many digits that count, thousands apart.
function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return '–';
  return value.toLocaleString('en', { maximumSignificantDigits: Math.max(digits, Math.ceil(Math.log10(Math.abs(value) + 1))) });
}

// Round ticks that span low to high: steps of 1, 2 or 5 times a power of ten.
function ticks(low, high, about = 5) {
  if (!(high > low)) { low -= 1; high += 1; }
  const rough = (high - low) / about, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map(s => s * power).find(s => s >= rough * 0.999);
  const out = [], digits = Math.max(0, -Math.floor(Math.log10(step)));
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + step * 1e-9; k++) out.push(Number((k * step).toFixed(digits)));
  return { values: out, text: value => value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits }) };
}

// Redraws whenever the width or the theme changes.
const drawn = new Set();
function redraw() { drawn.forEach(draw => draw()); }
function whenSized(element, draw) {
  let width = 0;
  const again = () => { if (element.clientWidth > 0) draw(width = element.clientWidth); };
  drawn.add(again);
  new ResizeObserver(() => { if (element.clientWidth !== width) again(); }).observe(element);
}

// Light or dark: as the system has it until somebody chooses.
const theme = {
  system: matchMedia('(prefers-color-scheme: dark)'),
  chosen: null,
  get dark() { return this.chosen ? this.chosen === 'dark' : this.system.matches; },
  show(dark = this.dark) {
    document.documentElement.dataset.theme = dark ? 'dark' : 'light';
    const button = document.getElementById('theme');
    if (button) { button.textContent = dark ? 'Light' : 'Dark'; button.setAttribute('aria-label', dark ? 'Switch to light colours' : 'Switch to dark colours'); }
    redraw();
  },
  start() {
    try { this.chosen = localStorage.getItem('gnarl-theme'); } catch { /* a page from a file may have no storage */ }
    this.show();
    this.system.addEventListener('change', () => this.show());
    document.getElementById('theme')?.addEventListener('click', () => {
      this.chosen = this.dark ? 'light' : 'dark';
      try { localStorage.setItem('gnarl-theme', this.chosen); } catch { /* as above */ }
      this.show();
    });
    addEventListener('beforeprint', () => this.show(false));
    addEventListener('afterprint', () => this.show());
  },
};

// Tables whose headers are buttons that sort. A cell's data-sort comes before its text.
function sortable(table) {
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, at) => {
    const button = el('button', { type: 'button' }, header.textContent || 'row');
    header.replaceChildren(button);
    button.addEventListener('click', () => {
      const up = header.getAttribute('aria-sort') === 'descending' ? 1 : -1;
      headers.forEach(h => h.removeAttribute('aria-sort'));
      header.setAttribute('aria-sort', up > 0 ? 'ascending' : 'descending');
      const key = row => {
        const cell = row.cells[at], text = cell ? cell.dataset.sort ?? cell.textContent.replace(/,/g, '').replace('−', '-') : '';
        const value = parseFloat(text);
        return Number.isNaN(value) ? text : value;
      };
      const rows = [...table.tBodies[0].rows].map(row => [key(row), row]);
      const is = v => typeof v === 'number';
      rows.sort(([a], [b]) => is(a) !== is(b) ? (is(a) ? -1 : 1) : up * (is(a) ? a - b : String(a).localeCompare(String(b))));
      table.tBodies[0].append(...rows.map(([, row]) => row));
    });
  });
}

// A table of text; the first column names the row.
function makeTable(heads, rows, caption) {
  const table = el('table', {}, caption ? el('caption', {}, caption) : null,
    el('thead', {}, el('tr', {}, ...heads.map(head => el('th', { scope: 'col' }, head)))),
    el('tbody', {}, ...rows.map(row => el('tr', {}, ...row.map((cell, i) => i ? el('td', {}, cell) : el('th', { scope: 'row' }, cell))))));
  sortable(table);
  return el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption || 'table' }, table);
}

// The same figures as a table, made when somebody opens it.
function asTable(heads, rows, caption) {
  const details = el('details', {}, el('summary', {}, 'The figures as a table'));
  details.addEventListener('toggle', () => { if (details.open && details.children.length === 1) details.append(makeTable(heads, rows(), caption)); });
  return details;
}

// Components by their name: each gets its place on the page and its data.
const COMPONENTS = {};
function start() {
  theme.start();
  document.querySelectorAll('table.sortable').forEach(sortable);
  for (const place of document.querySelectorAll('[data-component]')) {
    const data = JSON.parse(document.getElementById(place.dataset.from).textContent);
    COMPONENTS[place.dataset.component](place, data);
  }
  const show = () => { const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1))); if (target?.tagName === 'DETAILS') target.open = true; };
  addEventListener('hashchange', show);
  show();
}
