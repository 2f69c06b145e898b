// Tries pages in a real browser: node check.mjs FOLDER PAGE.html…
//
// FOLDER has playwright-core and axe-core in node_modules. Each page is looked at on a narrow and a wide screen, in light and in dark colours: nothing is said on the
// console, nothing is asked of a network, nothing sticks out to the side, axe-core finds nothing serious, and Tab reaches every control. What the
// controls do is tried with the keyboard alone. A graph of 20,000 nodes is put into the first page, and the frames that panning it gets are printed;
// MIN_FPS makes too few of them a failure. SHOTS=FOLDER keeps pictures. LIVE is the address of a `gnarl explore` on karate, which is tried besides.

import { createRequire } from 'node:module';
import { readFileSync, writeFileSync, mkdirSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, ...pages] = process.argv.slice(2);
const require = createRequire(join(resolve(folder), 'package.json'));
const { chromium } = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const shots = process.env.SHOTS;
if (shots) mkdirSync(shots, { recursive: true });

const faults = [];
const expect = (holds, what) => { if (!holds) { faults.push(what); console.error(`FAULT ${what}`); } };

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-dev-shm-usage'] });

// A page that tells of everything it should not do.
async function open(file, width, height, colorScheme) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, reducedMotion: 'reduce' });
  const page = await context.newPage(), name = `${basename(file)} at ${width}, ${colorScheme}`, url = pathToFileURL(resolve(file)).href;
  page.on('console', message => { if (['error', 'warning'].includes(message.type())) expect(false, `${name}: the console says ${message.text()}`); });
  page.on('pageerror', error => expect(false, `${name}: ${error.message}`));
  page.on('request', request => expect(request.url() === url, `${name}: asks for ${request.url()}`));
  await page.goto(url);
  await page.waitForTimeout(400);
  return { page, name, context };
}

const CONTROLS = 'a[href], button, select, input, summary, canvas[tabindex], [tabindex="0"]';

async function look(file, width, height, scheme) {
  const { page, name, context } = await open(file, width, height, scheme);
  const out = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  expect(out <= 0, `${name}: ${out} pixels stick out to the side`);
  await page.evaluate(axe);
  const found = await page.evaluate(async () => (await globalThis.axe.run(document, { resultTypes: ['violations'] })).violations.map(v => [v.impact, v.id, v.nodes.length, v.nodes[0].html.slice(0, 160)]));
  const serious = found.filter(([impact]) => ['serious', 'critical'].includes(impact));
  serious.forEach(([, id, count, example]) => expect(false, `${name}: axe ${id}, ${count} times, as in ${example}`));
  if (shots) await page.screenshot({ path: join(shots, `${basename(file, '.html')}-${width}-${scheme}.png`), fullPage: true });
  console.log(`${name}: axe ${found.length ? found.map(([impact, id, count]) => `${id} (${impact}, ${count})`).join(', ') : 'finds nothing'}`);
  await context.close();
}

// Whether Tab comes by every control that can be seen.
async function tabs(file) {
  const { page, name, context } = await open(file, 1400, 900, 'light');
  const all = await page.evaluate(controls => {
    const seen = [...document.querySelectorAll(controls)].filter(e => e.checkVisibility() && !e.closest('details:not([open]) > :not(summary)'));
    seen.forEach((e, i) => { e.dataset.control = i; });
    return seen.length;
  }, CONTROLS);
  const reached = new Set();
  for (let i = 0; i < all + 5; i++) {
    await page.keyboard.press('Tab');
    reached.add(await page.evaluate(() => document.activeElement?.dataset.control));
  }
  const missed = await page.evaluate(had => [...document.querySelectorAll('[data-control]')].filter(e => !had.includes(e.dataset.control)).map(e => e.outerHTML.slice(0, 100)), [...reached]);
  missed.forEach(html => expect(false, `${name}: Tab does not reach ${html}`));
  console.log(`${name}: Tab reaches ${all - missed.length} of ${all} controls`);
  await context.close();
}

// What the controls do, by the keyboard alone.
async function works(file) {
  const { page, name, context } = await open(file, 1400, 900, 'light');
  const value = expression => page.evaluate(expression);
  const press = async (selector, ...keys) => { await page.locator(selector).first().focus(); for (const key of keys) await page.keyboard.press(key); await page.waitForTimeout(80); };
  const does = async (what, expression, act) => { const before = await value(expression); await act(); const after = await value(expression); expect(before !== after, `${name}: ${what} does nothing (${before})`); };
  await does('the button for colours', 'document.documentElement.dataset.theme', () => press('#theme', 'Enter'));
  await does('the button for colours, again', 'document.documentElement.dataset.theme', () => press('#theme', 'Enter'));
  if (await page.locator('table.sortable').count()) {
    await does('a header', `document.querySelector('table.sortable tbody').textContent`, async () => { await press('table.sortable thead th:nth-child(3) button', 'Enter'); });
    expect(await value(`!!document.querySelector('th[aria-sort]')`), `${name}: a sorted column does not say so`);
  }
  if (await page.locator('[data-component=graph]').count()) {
    const view = `document.querySelector('[data-component=graph]').view`;
    const at = `JSON.stringify(${view}.view)`;
    for (const key of ['+', '-', 'ArrowLeft', 'ArrowDown']) await does(`the key ${key} on the graph`, at, () => press('canvas', key));
    await does('the key N on the graph', `${view}.story.textContent`, () => press('canvas', 'n'));
    if (await value(`${view}.degree[${view}.selected] > 0`)) await does('Enter on the graph', `${view}.selected`, () => press('canvas', 'Enter'));
    await does('the choice of colours', `${view}.legend.textContent`, () => press('.controls select', 'ArrowDown'));
    await does('a colour of the legend', `${view}.faint.join('')`, () => press('.graph .legend button', 'Enter'));
    await does('the search', `${view}.story.querySelector('h3').textContent`, async () => { await page.locator('input[type=search]').first().fill('21'); await press('input[type=search]', 'Enter'); });
    await does('a neighbour', `${view}.selected`, () => press('.near button', 'Enter'));
    if (await page.locator('input[type=range]').count()) await does('the slider', `document.querySelector('output').textContent`, () => press('input[type=range]', 'ArrowRight', 'ArrowRight'));
    await does('the whole graph', at, () => press('button[aria-label="show the whole graph"]', 'Enter'));
    // The pointer, too.
    const box = await page.locator('canvas').first().boundingBox();
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    await does('dragging', at, async () => { await page.mouse.down(); await page.mouse.move(box.x + box.width / 2 + 80, box.y + box.height / 2 + 30, { steps: 4 }); await page.mouse.up(); });
  }
  const closed = 'details:not([open]) > summary';
  if (await page.locator(closed).count()) await does('a table behind a drawing', `document.querySelectorAll('details[open]').length`, () => press(closed, 'Enter'));
  await page.emulateMedia({ media: 'print' });
  expect(await value(`getComputedStyle(document.querySelector('.bar')).display`) === 'none', `${name}: prints its buttons`);
  await context.close();
}

// A page with 20,000 nodes and 50,000 edges in ten lumps in place of its graph.
function large(file, to) {
  let state = 7;
  const random = () => { state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff; return state / 0x7fffffff; };
  const n = 20000, lumps = 10, x = [], y = [], truth = [], edges = [];
  for (let u = 0; u < n; u++) {
    const c = u % lumps, turn = c / lumps * 2 * Math.PI, r = 1500 * Math.sqrt(random()), a = 2 * Math.PI * random();
    truth.push(c); x.push(Math.round(5000 + 3300 * Math.cos(turn) + r * Math.cos(a))); y.push(Math.round(5000 + 3300 * Math.sin(turn) + r * Math.sin(a)));
  }
  while (edges.length < 100000) {
    const u = Math.floor(random() * n), v = random() < .95 ? (u + lumps * Math.floor(random() * n / lumps)) % n : Math.floor(random() * n);
    if (u !== v) edges.push(u, v);
  }
  const names = Array.from({ length: lumps }, (_, c) => `lump ${c}`);
  const data = { title: 'a large graph', noun: 'node', x, y, edges, classes: names, truth, channels: [{ key: 'class', title: 'class', kind: 'class', names, values: truth }, { key: 'place', title: 'place', kind: 'number', values: x }] };
  const text = readFileSync(file, 'utf8'), id = /data-component="graph" data-from="([^"]+)"/.exec(text)[1];
  const from = text.indexOf(`id="${id}">`) + `id="${id}">`.length, end = text.indexOf('</script>', from);
  writeFileSync(to, text.slice(0, from) + JSON.stringify(data) + text.slice(end));
}

async function frames(file) {
  const { page, name, context } = await open(file, 1400, 900, 'light');
  await page.waitForTimeout(1500);
  const found = await page.evaluate(async () => {
    const { view } = document.querySelector('[data-component=graph]'), steps = [];
    const before = view.frames, begun = performance.now();
    for (let k = 0, last = begun; performance.now() - begun < 4000; k++) {
      view.pan(14 * Math.sin(k / 25), 9 * Math.cos(k / 17));
      await new Promise(requestAnimationFrame);
      steps.push(performance.now() - last);
      last = performance.now();
    }
    const seconds = (performance.now() - begun) / 1000;
    steps.sort((a, b) => a - b);
    return { nodes: view.n, fps: (view.frames - before) / seconds, slowest: steps[Math.floor(steps.length * .99)] };
  });
  console.log(`${name}: panning ${found.nodes} nodes, ${found.fps.toFixed(0)} frames a second, 99 of 100 frames within ${found.slowest.toFixed(0)} ms`);
  if (process.env.MIN_FPS) expect(found.fps >= Number(process.env.MIN_FPS), `${name}: ${found.fps.toFixed(1)} frames a second`);
  await context.close();
}

// The page of `gnarl explore`, whose model is behind it: an axis and an edge by the keyboard, and all undone.
async function live(url) {
  const context = await browser.newContext({ viewport: { width: 1400, height: 900 } }), page = await context.newPage();
  page.on('console', message => { if (['error', 'warning'].includes(message.type())) expect(false, `explore: the console says ${message.text()}`); });
  page.on('pageerror', error => expect(false, `explore: ${error.message}`));
  page.on('request', request => expect(request.url().startsWith(url), `explore: asks for ${request.url()}`));
  await page.goto(url);
  const said = page.locator('.controls output[role=status]').first();
  const until = async (what, holds) => {
    for (let i = 0; i < 300; i++) { const text = await said.textContent(); if (holds(text)) return text; await page.waitForTimeout(100); }
    expect(false, `explore: ${what} does nothing (${await said.textContent()})`);
  };
  const weights = page.locator('select[data-axis=weights]');
  await weights.focus();
  await page.keyboard.press('ArrowDown');
  console.log(`explore, other weights: ${await until('the choice of weights', text => text.startsWith('1 change'))}`);
  await page.locator('canvas').first().focus();
  await page.keyboard.press('n');
  const edge = page.locator('form.controls input').first();
  await edge.fill('33');
  await edge.press('Enter');
  console.log(`explore, and an edge: ${await until('a flip', text => text.startsWith('2 changes'))}`);
  await page.getByRole('button', { name: 'Undo all' }).press('Enter');
  await until('undoing', text => text.startsWith('0 changes, 0 predictions changed'));
  expect(await weights.evaluate(select => select.selectedIndex) === 0, 'explore: undoing leaves the weights');
  await page.evaluate(axe);
  const serious = await page.evaluate(async () => (await globalThis.axe.run(document)).violations.filter(v => ['serious', 'critical'].includes(v.impact)).map(v => v.id));
  serious.forEach(id => expect(false, `explore: axe ${id}`));
  await context.close();
}

for (const file of pages) {
  for (const [width, height] of [[375, 740], [1400, 900]]) for (const scheme of ['light', 'dark']) await look(file, width, height, scheme);
  await tabs(file);
  await works(file);
}
const with_graph = pages.find(file => readFileSync(file, 'utf8').includes('data-component="graph" data-from'));
if (with_graph) {
  const to = join(folder, 'large.html');
  large(with_graph, to);
  await look(to, 1400, 900, 'light');
  await frames(to);
}
if (process.env.LIVE) await live(process.env.LIVE);
await browser.close();
console.log(faults.length ? `${faults.length} faults` : 'no faults');
process.exit(faults.length ? 1 : 0);
