// A graph on a canvas: pan, zoom, search, colours, a slider over an attack's flips, details of a node.
//
// Small graphs are drawn as lines and discs. From MANY items on, a picture larger than the view is made a slice of a frame at a time: edges are added
// up as densities, discs are stamped into the same pixels. Until it is there, panning and zooming move the last one. So 20,000 nodes stay
// fluid even where nothing helps the processor.

const MANY = 9000;
// The picture is so much larger than the view on each side, and a slice of its making takes so many milliseconds.
const MARGIN = .3, SLICE = 6;

class GraphView {
  constructor(place, data) {
    this.data = data;
    this.n = data.x.length;
    this.view = { x: 0, y: 0, scale: 1 };
    this.selected = -1;
    this.hovered = -1;
    this.only = null;
    // Flipped edges as [end, end, 1 where it was added], and nodes whose prediction changed by them.
    this.flips = [];
    this.turned = new Map();
    this.degree = new Uint32Array(this.n);
    for (const u of data.edges) this.degree[u]++;
    this.starts = new Uint32Array(this.n + 1);
    this.degree.forEach((d, u) => { this.starts[u + 1] = this.starts[u] + d; });
    this.near = new Uint32Array(data.edges.length);
    const next = this.starts.slice();
    for (let k = 0; k < data.edges.length; k += 2) {
      const u = data.edges[k], v = data.edges[k + 1];
      this.near[next[u]++] = v;
      this.near[next[v]++] = u;
    }
    this.build(place);
    this.recolour();
    whenSized(this.stage, () => { const first = !this.size; this.resize(); if (first) this.fit(); this.recolour(); });
  }

  name(u) { return this.data.names ? this.data.names[u] : `${this.data.noun ?? 'node'} ${u}`; }
  neighbours(u) { return this.near.subarray(this.starts[u], this.starts[u + 1]); }
  get channel() { return this.data.channels[this.picker.value]; }

  build(place) {
    const { data } = this, help = newId();
    this.canvas = el('canvas', { tabindex: 0, role: 'img', 'aria-describedby': help, 'aria-label': `${data.title}: ${number(this.n, 6)} nodes and ${number(data.edges.length / 2, 6)} edges` });
    this.tip = el('div', { class: 'hover', hidden: true });
    this.stage = el('div', { class: 'stage' }, this.canvas, this.tip);
    this.story = el('div', { class: 'story', role: 'region', 'aria-live': 'polite', 'aria-label': 'the selected node' });
    this.legend = el('ul', { class: 'legend', 'aria-label': 'colours' });
    this.picker = el('select', { onchange: () => { this.only = null; this.recolour(); } }, ...data.channels.map((c, i) => el('option', { value: i }, c.title)));
    const search = el('input', { type: 'search', placeholder: data.names ? 'a name' : `0 to ${this.n - 1}`, autocomplete: 'off', size: 10 });
    this.found = el('span', { class: 'dim', role: 'status' });
    const find = event => { event.preventDefault(); this.find(search.value.trim()); };
    const button = (text, label, onclick) => el('button', { type: 'button', 'aria-label': label, onclick }, text);
    const controls = el('div', { class: 'controls' },
      el('label', {}, 'colour by', this.picker),
      el('form', { role: 'search', onsubmit: find }, el('label', {}, 'find a node', el('span', { style: 'display:flex;gap:.3rem' }, search, el('button', {}, 'Find')))),
      el('div', { class: 'group' }, 'view', el('div', {}, button('+', 'zoom in', () => this.zoom(1.5)), button('−', 'zoom out', () => this.zoom(1 / 1.5)), button('Whole', 'show the whole graph', () => this.fit()))),
      this.found);
    place.append(controls, this.attackControls(), el('div', { class: 'graph' }, this.stage, el('div', { class: 'side' }, this.legend, this.story)),
      el('p', { class: 'dim', id: help }, 'Drag to pan, pinch or press Ctrl and turn the wheel to zoom; with the keyboard: arrows pan, + and − zoom, 0 shows all, N and P go from node to node, Enter to the first neighbour.'
        + (data.sample ? ` Shown are ${number(data.sample.shown, 6)} of ${number(data.sample.of, 6)} nodes, sampled at random from the seed, and the edges among them.` : '')),
      this.nodeTable());
    this.tell();
    this.listen();
  }

  // The slider over flips; without an attack nothing.
  attackControls() {
    const { attack } = this.data;
    if (!attack || attack.steps.length < 2) return '';
    const status = el('output', { role: 'status' });
    const slider = el('input', { type: 'range', min: 0, max: attack.steps.length - 1, step: 1, value: 0 });
    const show = () => {
      const now = attack.steps[Number(slider.value)];
      this.flips = Array.from({ length: now.flips }, (_, k) => attack.flips.slice(3 * k, 3 * k + 3));
      this.turned = new Map();
      for (let k = 0; k < now.changed.length; k += 2) this.turned.set(now.changed[k], now.changed[k + 1]);
      const added = this.flips.filter(([, , is]) => is).length;
      const text = `${now.flips} flips (${added} edges added, ${now.flips - added} removed): test accuracy ${now.accuracy.toFixed(1)} %, ${this.turned.size} predictions changed`;
      status.textContent = text;
      slider.setAttribute('aria-valuetext', text);
      this.recolour();
      this.tell();
    };
    slider.addEventListener('input', show);
    status.textContent = 'move the slider to see the flipped edges and the changed predictions';
    return el('div', { class: 'controls' }, el('label', {}, attack.title, slider), el('div', {}, this.flipKey(), status));
  }

  // What lines and rings of flips mean.
  flipKey() {
    const key = (colour, text, extra = '') => el('span', { class: 'key' }, el('span', { class: `swatch ${extra}`, style: extra ? `border-color:${colour}` : `background:none;border:2px solid ${colour}` }), text);
    return el('div', { class: 'legend' }, key(ADDED, 'added', 'line'), key(REMOVED, 'removed', 'line dashed'), key('var(--fg)', 'prediction changed'));
  }

  // A table instead of the picture: the nodes with most neighbours, made when opened.
  nodeTable() {
    const { data } = this, classes = data.classes;
    const order = () => Array.from({ length: this.n }, (_, u) => u).sort((a, b) => this.degree[b] - this.degree[a] || a - b).slice(0, 200);
    const heads = ['node', 'neighbours', ...(data.truth ? ['class'] : []), ...(data.predicted ? ['prediction', 'confidence, %'] : []), ...data.channels.filter(c => c.kind === 'number').map(c => c.title)];
    const row = u => [this.name(u), String(this.degree[u]), ...(data.truth ? [classes[data.truth[u]] ?? '–'] : []), ...(data.predicted ? [classes[data.predicted[u]], String(data.confidence[u])] : []),
      ...data.channels.filter(c => c.kind === 'number').map(c => number(c.values[u]))];
    const details = asTable(heads, () => order().map(row), `the ${Math.min(200, this.n)} nodes with most neighbours`);
    details.firstChild.textContent = 'The graph as a table';
    return details;
  }

  listen() {
    const { canvas } = this, held = new Map();
    let apart = 0, moved = 0;
    const place = event => { const box = canvas.getBoundingClientRect(); return [event.clientX - box.left, event.clientY - box.top]; };
    canvas.addEventListener('pointerdown', event => { canvas.setPointerCapture(event.pointerId); held.set(event.pointerId, place(event)); moved = 0; apart = 0; });
    canvas.addEventListener('pointermove', event => {
      const at = place(event), before = held.get(event.pointerId);
      if (!before) { this.hover(at); return; }
      if (held.size === 1) { this.pan(at[0] - before[0], at[1] - before[1]); moved += Math.hypot(at[0] - before[0], at[1] - before[1]); }
      held.set(event.pointerId, at);
      if (held.size === 2) {
        const [a, b] = [...held.values()], now = Math.hypot(a[0] - b[0], a[1] - b[1]);
        if (apart) this.zoom(now / apart, [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2]);
        apart = now; moved = 99;
      }
    });
    const release = event => { if (held.delete(event.pointerId) && moved < 5) this.select(this.at(place(event))); };
    canvas.addEventListener('pointerup', release);
    canvas.addEventListener('pointercancel', event => held.delete(event.pointerId));
    canvas.addEventListener('pointerleave', () => this.hover(null));
    canvas.addEventListener('wheel', event => {
      if (!event.ctrlKey && !event.metaKey && document.activeElement !== canvas) return;
      event.preventDefault();
      this.zoom(Math.exp(-Math.max(-60, Math.min(60, event.deltaY)) / 150), place(event));
    }, { passive: false });
    const keys = {
      ArrowLeft: () => this.pan(60, 0), ArrowRight: () => this.pan(-60, 0), ArrowUp: () => this.pan(0, 60), ArrowDown: () => this.pan(0, -60),
      '+': () => this.zoom(1.3), '=': () => this.zoom(1.3), '-': () => this.zoom(1 / 1.3), 0: () => this.fit(),
      n: () => this.select((this.selected + 1) % this.n, true), p: () => this.select((this.selected + this.n - 1) % this.n, true),
      Enter: () => { if (this.selected >= 0 && this.degree[this.selected]) this.select(this.neighbours(this.selected)[0], true); },
      Escape: () => this.select(-1),
    };
    canvas.addEventListener('keydown', event => {
      const act = !event.ctrlKey && !event.metaKey && !event.altKey && keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
      if (act) { event.preventDefault(); act(); }
    });
  }

  find(text) {
    const { names } = this.data, lower = text.toLowerCase();
    let u = names ? names.findIndex(name => name.toLowerCase() === lower) : Number(text.replace(/\D+/g, '') || NaN);
    if (names && u < 0) u = names.findIndex(name => name.toLowerCase().includes(lower));
    const there = text !== '' && Number.isInteger(u) && u >= 0 && u < this.n;
    this.found.textContent = there ? `found ${this.name(u)}` : `no node “${text}”`;
    if (there) { this.view.scale = Math.max(this.view.scale, 4 * this.whole); this.select(u, true); }
  }

  // Where a node is on the canvas, in CSS pixels.
  px(u) { return (this.data.x[u] - this.view.x) * this.view.scale + this.size[0] / 2; }
  py(u) { return (this.data.y[u] - this.view.y) * this.view.scale + this.size[1] / 2; }
  radius(u) { return Math.min(14, (1.6 + Math.sqrt(this.degree[u]) * .55) * Math.min(3.2, Math.max(.75, Math.sqrt(this.view.scale / this.whole) * this.crowd))); }

  resize() {
    const scale = this.n > MANY ? 1 : Math.min(2, devicePixelRatio || 1);
    this.size = [this.canvas.clientWidth, this.canvas.clientHeight];
    this.ratio = scale;
    this.canvas.width = Math.round(this.size[0] * scale);
    this.canvas.height = Math.round(this.size[1] * scale);
    this.crowd = Math.min(1.6, Math.sqrt(this.size[0] * this.size[1] / (this.n * 90)) + (this.n > MANY ? .2 : .45));
  }

  fit() {
    const range = values => values.reduce(([l, h], v) => [Math.min(l, v), Math.max(h, v)], [Infinity, -Infinity]);
    const [xl, xh] = range(this.data.x), [yl, yh] = range(this.data.y);
    this.view = { x: (xl + xh) / 2, y: (yl + yh) / 2, scale: Math.min((this.size[0] - 30) / (xh - xl || 1), (this.size[1] - 30) / (yh - yl || 1)) };
    this.whole = this.view.scale;
    this.draw();
  }

  pan(dx, dy) { this.view.x -= dx / this.view.scale; this.view.y -= dy / this.view.scale; this.tip.hidden = true; this.draw(); }

  zoom(by, at = [this.size[0] / 2, this.size[1] / 2]) {
    const { view } = this, scale = Math.min(Math.max(view.scale * by, this.whole / 3), this.whole * 60);
    const dx = (at[0] - this.size[0] / 2), dy = (at[1] - this.size[1] / 2);
    view.x += dx / view.scale - dx / scale;
    view.y += dy / view.scale - dy / scale;
    view.scale = scale;
    this.draw();
  }

  at([x, y]) {
    let best = -1, least = 100;
    for (let u = 0; u < this.n; u++) {
      const d = Math.hypot(this.px(u) - x, this.py(u) - y) - this.radius(u);
      if (d < 6 && d < least) { least = d; best = u; }
    }
    return best;
  }

  hover(at) {
    const u = at ? this.at(at) : -1;
    if (u !== this.hovered) { this.hovered = u; this.draw(); }
    this.tip.hidden = u < 0;
    if (u < 0) return;
    this.tip.replaceChildren(el('b', {}, this.name(u)), el('br'), this.short(u));
    const left = at[0] > this.size[0] / 2;
    this.tip.style.cssText = `${left ? 'right' : 'left'}:${left ? this.size[0] - at[0] + 14 : at[0] + 14}px;top:${Math.min(at[1] + 10, this.size[1] - 60)}px`;
  }

  short(u) {
    const { classes, truth, predicted } = this.data, parts = [];
    if (truth) parts.push(`class ${classes[truth[u]] ?? 'unknown'}`);
    if (predicted) parts.push(`predicted ${classes[this.turned.get(u) ?? predicted[u]]}`);
    const channel = this.channel;
    if (channel.kind === 'number') parts.push(`${channel.title} ${number(channel.values[u])}${channel.unit ? ` ${channel.unit}` : ''}`);
    return parts.join(', ');
  }

  select(u, centre = false) {
    this.selected = u;
    if (centre && u >= 0) { this.view.x = this.data.x[u]; this.view.y = this.data.y[u]; }
    this.tell();
    this.draw();
    this.onselect?.(u);
  }

  // The details of the selected node.
  tell() {
    const u = this.selected, { data } = this, classes = data.classes;
    if (u < 0) { this.story.replaceChildren(el('p', { class: 'dim' }, 'Choose a node to see its class, its prediction, the predictions of every exit, and its neighbours.')); return; }
    const rows = [], put = (name, ...value) => rows.push(el('dt', {}, name), el('dd', {}, ...value));
    const predicted = data.predicted && (this.turned.get(u) ?? data.predicted[u]);
    if (data.part) put('part', ['not used', 'training', 'validation', 'test'][data.part[u]]);
    if (data.truth) put('class', classes[data.truth[u]] ?? 'unknown');
    if (data.predicted) {
      const verdict = !data.truth || data.truth[u] < 0 ? '' : predicted === data.truth[u] ? ', correct' : ', wrong';
      put('prediction', `${classes[predicted]}${verdict}${this.turned.has(u) ? ` (changed; before: ${classes[data.predicted[u]]})` : `, confidence ${data.confidence[u]} %`}`);
    }
    if (data.exits) {
      const e = data.exits.names.length, list = data.exits.names.map((name, k) => `${name}: ${classes[data.exits.predicted[u * e + k]]} (${data.exits.confidence[u * e + k]} %)${data.exits.taken[u] === k ? ' – taken' : ''}`);
      put('each exit', ...list.flatMap((line, i) => i ? [el('br'), line] : [line]));
    }
    for (const c of data.channels) if (c.kind === 'number') put(c.title, `${number(c.values[u])}${c.unit && c.values[u] !== null ? ` ${c.unit}` : ''}`);
    if (data.words) put(data.words.label, data.words.rows[u].join(', ') || 'none');
    const near = this.neighbours(u), shown = [...near].slice(0, 24);
    const buttons = shown.map(v => {
      const colour = data.truth ? COLOURS[data.truth[v] % COLOURS.length] : 'var(--dim)';
      return el('button', { type: 'button', onclick: () => this.select(v, true) }, el('span', { class: 'swatch', style: `background:${colour};margin-right:.3rem` }), data.names ? data.names[v] : String(v));
    });
    const same = data.truth ? near.filter(v => data.truth[v] === data.truth[u]).length : 0;
    put('neighbours', `${near.length}${data.truth ? `, ${same} of the same class` : ''}`);
    this.story.replaceChildren(el('h3', {}, this.name(u)), el('dl', {}, ...rows), el('div', { class: 'near' }, ...buttons, near.length > shown.length ? ` and ${near.length - shown.length} more` : ''), this.extra?.(u) ?? '');
  }

  // A colour for every node by the chosen channel, and the legend.
  recolour() {
    const channel = this.channel, dark = document.documentElement.dataset.theme === 'dark';
    this.colours ??= new Uint8Array(this.n * 3);
    this.faint = new Uint8Array(this.n);
    const unknown = dark ? [90, 90, 98] : [200, 200, 206];
    if (channel.kind === 'class') {
      const values = channel.key === 'predicted' && this.turned.size ? channel.values.map((c, u) => this.turned.get(u) ?? c) : channel.values;
      const counts = channel.names.map(() => 0);
      for (let u = 0; u < this.n; u++) {
        const c = values[u];
        this.colours.set(c < 0 || c === null ? unknown : hex(COLOURS[c % COLOURS.length]), 3 * u);
        if (c >= 0 && c !== null) counts[c]++;
        if (this.only !== null && c !== this.only) this.faint[u] = 1;
      }
      this.legend.replaceChildren(...channel.names.map((name, c) => {
        const square = Math.floor(c / COLOURS.length) % 2 ? ';border-radius:0' : '';
        const pick = () => { this.only = this.only === c ? null : c; this.recolour(); this.legend.children[c]?.firstChild.focus(); };
        return el('li', {}, el('button', { type: 'button', 'aria-pressed': String(this.only === c), onclick: pick }, el('span', { class: 'swatch', style: `background:${COLOURS[c % COLOURS.length]}${square}` }), `${name} (${number(counts[c], 6)})`));
      }));
      this.shape = values;
    } else {
      // Colours go from the second to the ninety-eighth of a hundred values: one far out would take them all.
      const sorted = channel.values.filter(v => v !== null && Number.isFinite(v)).sort((a, b) => a - b);
      const place = share => sorted[Math.round(share * (sorted.length - 1))] ?? 0;
      let [low, high] = [place(.02), place(.98)];
      if (!(high > low)) [low, high] = [place(0), place(1)];
      if (!(high > low)) high = low + 1;
      const beyond = [sorted[0] < low ? '≤ ' : '', sorted[sorted.length - 1] > high ? '≥ ' : ''];
      const log = channel.scale === 'log' && low > 0, f = log ? Math.log : v => v;
      for (let u = 0; u < this.n; u++) {
        const v = channel.values[u];
        if (v === null) { this.colours.set(unknown, 3 * u); this.faint[u] = 1; } else this.colours.set(ramp((f(v) - f(low)) / (f(high) - f(low))), 3 * u);
      }
      const stops = RAMP.map((c, i) => `${css(c)} ${Math.round(100 * i / (RAMP.length - 1))}%`).join(',');
      const unit = channel.unit ? ` ${channel.unit}` : '', none = channel.values.some(v => v === null);
      this.legend.replaceChildren(el('li', {}, el('span', { class: 'key' }, `${beyond[0]}${number(low)}${unit}`, el('span', { class: 'ramp', style: `background:linear-gradient(to right,${stops})` }), `${beyond[1]}${number(high)}${unit}${log ? ' (logarithmic)' : ''}`)),
        none ? el('li', {}, el('span', { class: 'key' }, el('span', { class: 'swatch', style: `background:${css(unknown)}` }), channel.missing ?? 'no value')) : '');
      this.shape = null;
    }
    if (channel.about) this.legend.append(el('li', { class: 'dim' }, channel.about));
    this.stamp = (this.stamp ?? 0) + 1;
    this.draw();
  }

  draw() {
    if (this.waiting || !this.size) return;
    this.waiting = true;
    requestAnimationFrame(() => { this.waiting = false; this.paint(); });
  }

  paint() {
    const g = this.canvas.getContext('2d');
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.clearRect(0, 0, this.canvas.width, this.canvas.height);
    if (this.n + this.data.edges.length / 2 > MANY) this.show(g); else this.trace(g);
    g.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    this.overlay(g);
    this.frames = (this.frames ?? 0) + 1;
  }

  // The last picture, moved to where the view is now; a new one is begun where it no longer fits.
  show(g) {
    const { view, picture } = this;
    const is = picture && picture.colours === this.stamp && picture.width === this.canvas.width && picture.height === this.canvas.height;
    const away = picture ? Math.max(Math.abs(view.x - picture.view.x) / this.size[0], Math.abs(view.y - picture.view.y) / this.size[1]) * view.scale : 1;
    const stale = !is || picture.view.scale !== view.scale || away > MARGIN / 2;
    if (stale && !this.making) { this.making = this.make(); this.draw(); }
    if (this.making) {
      const begun = performance.now();
      let done = false;
      // The first picture is waited for: there is nothing else to show.
      while (!done && (!this.picture || performance.now() - begun < SLICE)) done = this.making.next().done;
      if (done) this.making = null;
      this.draw();
    }
    if (!this.picture) return;
    const { canvas, view: then } = this.picture, k = view.scale / then.scale;
    const x = this.canvas.width / 2 + (then.x - view.x) * view.scale * this.ratio, y = this.canvas.height / 2 + (then.y - view.y) * view.scale * this.ratio;
    g.drawImage(canvas, x - canvas.width * k / 2, y - canvas.height * k / 2, canvas.width * k, canvas.height * k);
  }

  // Lines and discs.
  trace(g) {
    const { edges } = this.data, [w, h] = this.size;
    g.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    const X = new Float32Array(this.n), Y = new Float32Array(this.n);
    for (let u = 0; u < this.n; u++) { X[u] = this.px(u); Y[u] = this.py(u); }
    g.lineWidth = Math.min(1.6, .5 + .25 * this.view.scale / this.whole);
    g.strokeStyle = `rgb(${variable('--edge')} / ${edges.length > 4000 ? .28 : .45})`;
    g.beginPath();
    for (let k = 0; k < edges.length; k += 2) {
      const u = edges[k], v = edges[k + 1];
      if (Math.max(X[u], X[v]) < 0 || Math.min(X[u], X[v]) > w || Math.max(Y[u], Y[v]) < 0 || Math.min(Y[u], Y[v]) > h) continue;
      g.moveTo(X[u], Y[u]);
      g.lineTo(X[v], Y[v]);
    }
    g.stroke();
    g.strokeStyle = document.documentElement.dataset.theme === 'dark' ? '#5a5a64' : variable('--bg');
    g.lineWidth = .7;
    for (let u = 0; u < this.n; u++) {
      const r = this.radius(u);
      if (X[u] < -r || X[u] > w + r || Y[u] < -r || Y[u] > h + r) continue;
      g.globalAlpha = this.faint[u] ? .22 : 1;
      g.fillStyle = `rgb(${this.colours[3 * u]} ${this.colours[3 * u + 1]} ${this.colours[3 * u + 2]})`;
      g.beginPath();
      if (this.shape && Math.floor(this.shape[u] / COLOURS.length) % 2) g.rect(X[u] - r * .9, Y[u] - r * .9, r * 1.8, r * 1.8); else g.arc(X[u], Y[u], r, 0, 7);
      g.fill();
      g.stroke();
    }
    g.globalAlpha = 1;
  }

  // Makes a picture of the present view, pixel by pixel, a few items at a time.
  * make() {
    const view = { ...this.view }, colours = this.stamp, { edges } = this.data, [width, height] = [this.canvas.width, this.canvas.height];
    const w = Math.round(width * (1 + 2 * MARGIN)), h = Math.round(height * (1 + 2 * MARGIN));
    const canvas = el('canvas', { width: w, height: h }), g = canvas.getContext('2d'), pixels = g.createImageData(w, h), out = pixels.data;
    const density = new Float32Array(w * h), X = new Float32Array(this.n), Y = new Float32Array(this.n);
    const f = this.ratio * view.scale;
    for (let u = 0; u < this.n; u++) { X[u] = (this.data.x[u] - view.x) * f + w / 2; Y[u] = (this.data.y[u] - view.y) * f + h / 2; }
    for (let k = 0; k < edges.length; k += 2) {
      if (k % 2000 === 0) yield;
      let ax = X[edges[k]], ay = Y[edges[k]], bx = X[edges[k + 1]], by = Y[edges[k + 1]], t;
      if ((ax < 0 && bx < 0) || (ax >= w && bx >= w) || (ay < 0 && by < 0) || (ay >= h && by >= h)) continue;
      const steep = Math.abs(by - ay) > Math.abs(bx - ax);
      if (steep) { t = ax; ax = ay; ay = t; t = bx; bx = by; by = t; }
      if (ax > bx) { t = ax; ax = bx; bx = t; t = ay; ay = by; by = t; }
      const slope = bx > ax ? (by - ay) / (bx - ax) : 0, long = steep ? h : w, wide = steep ? w : h, sl = steep ? w : 1, sw = steep ? 1 : w;
      const from = Math.max(0, Math.ceil(ax)), to = Math.min(long - 1, Math.floor(bx));
      for (let i = from, y = ay + (from - ax) * slope; i <= to; i++, y += slope) {
        const j = Math.floor(y), part = y - j;
        if (j >= 0 && j < wide) density[i * sl + j * sw] += 1 - part;
        if (j + 1 >= 0 && j + 1 < wide) density[i * sl + (j + 1) * sw] += part;
      }
    }
    const bg = hex(variable('--bg')), ink = variable('--edge').split(' ').map(Number), most = edges.length > 60000 ? .1 : .22;
    for (let i = 0, o = 0; i < density.length; i++, o += 4) {
      if (i % 100000 === 0) yield;
      const a = Math.min(.7, density[i] * most);
      out[o] = bg[0] + (ink[0] - bg[0]) * a; out[o + 1] = bg[1] + (ink[1] - bg[1]) * a; out[o + 2] = bg[2] + (ink[2] - bg[2]) * a; out[o + 3] = 255;
    }
    for (let u = 0; u < this.n; u++) {
      if (u % 400 === 0) yield;
      const r = this.radius(u) * this.ratio, x = X[u], y = Y[u];
      if (x < -r || x >= w + r || y < -r || y >= h + r) continue;
      const alpha = this.faint[u] ? .25 : 1, cr = this.colours[3 * u], cg = this.colours[3 * u + 1], cb = this.colours[3 * u + 2];
      const x0 = Math.max(0, Math.floor(x - r)), x1 = Math.min(w - 1, Math.ceil(x + r)), y0 = Math.max(0, Math.floor(y - r)), y1 = Math.min(h - 1, Math.ceil(y + r));
      for (let j = y0; j <= y1; j++) {
        for (let i = x0; i <= x1; i++) {
          const cover = Math.min(1, r + .5 - Math.sqrt((i - x) * (i - x) + (j - y) * (j - y))) * alpha;
          if (cover <= 0) continue;
          const o = 4 * (j * w + i);
          out[o] += (cr - out[o]) * cover; out[o + 1] += (cg - out[o + 1]) * cover; out[o + 2] += (cb - out[o + 2]) * cover;
        }
      }
    }
    yield;
    g.putImageData(pixels, 0, 0);
    this.picture = { canvas, view, colours, width, height };
  }

  // The top layer: flips, changed predictions, the selected node and its edges.
  overlay(g) {
    const line = (u, v, colour, width, dashes = []) => { g.strokeStyle = colour; g.lineWidth = width; g.setLineDash(dashes); g.beginPath(); g.moveTo(this.px(u), this.py(u)); g.lineTo(this.px(v), this.py(v)); g.stroke(); };
    const ring = (u, colour, width, more) => { g.setLineDash([]); g.strokeStyle = colour; g.lineWidth = width; g.beginPath(); g.arc(this.px(u), this.py(u), this.radius(u) + more, 0, 7); g.stroke(); };
    for (const [u, v, added] of this.flips) line(u, v, added ? ADDED : REMOVED, 1.4, added ? [] : [5, 4]);
    for (const u of this.turned.keys()) ring(u, variable('--fg'), 1.6, 2);
    for (const u of [this.hovered, this.selected]) {
      if (u < 0) continue;
      g.globalAlpha = this.degree[u] > 40 ? .45 : .9;
      for (const v of this.neighbours(u)) line(u, v, variable('--accent'), 1.6);
      g.globalAlpha = 1;
      ring(u, variable('--focus'), 3, 2.5);
    }
  }
}

COMPONENTS.graph = (place, data) => {
  place.view = new GraphView(place, data);
  if (data.live) new Live(place, place.view);
};
