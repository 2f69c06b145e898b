// Charts as SVG, drawn for the width there is: lines with bands, dots, reliability, confusion, a scatter of points.

// The frame of a chart: axes with round ticks and units; gives scales and the drawing.
function frame(width, height, x, y, room = { left: 52, right: 14, top: 10, bottom: 42 }) {
  const inner = { left: room.left, right: width - room.right, top: room.top, bottom: height - room.bottom };
  const sx = v => inner.left + (v - x.low) / (x.high - x.low || 1) * (inner.right - inner.left);
  const sy = v => inner.bottom - (v - y.low) / (y.high - y.low || 1) * (inner.bottom - inner.top);
  const svg = el('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img' });
  const xt = ticks(x.low, x.high, Math.max(2, Math.min(8, width / 90))), yt = ticks(y.low, y.high, Math.max(2, Math.min(6, height / 50)));
  for (const v of yt.values) {
    svg.append(el('line', { class: 'grid', x1: inner.left, x2: inner.right, y1: sy(v), y2: sy(v) }),
      el('text', { x: inner.left - 6, y: sy(v) + 4, 'text-anchor': 'end' }, yt.text(v)));
  }
  for (const v of xt.values) {
    svg.append(el('line', { class: 'grid', x1: sx(v), x2: sx(v), y1: inner.top, y2: inner.bottom }),
      el('text', { x: sx(v), y: inner.bottom + 16, 'text-anchor': 'middle' }, xt.text(v)));
  }
  svg.append(el('line', { class: 'axis', x1: inner.left, x2: inner.right, y1: inner.bottom, y2: inner.bottom }),
    el('line', { class: 'axis', x1: inner.left, x2: inner.left, y1: inner.top, y2: inner.bottom }),
    el('text', { x: (inner.left + inner.right) / 2, y: height - 6, 'text-anchor': 'middle' }, x.label),
    el('text', { x: 12, y: (inner.top + inner.bottom) / 2, 'text-anchor': 'middle', transform: `rotate(-90 12 ${(inner.top + inner.bottom) / 2})` }, y.label));
  return { svg, sx, sy, inner };
}

// From the least to the largest, widened to the ticks around them.
function span(values, given = {}) {
  const finite = values.filter(Number.isFinite);
  let low = Math.min(...finite), high = Math.max(...finite);
  if (!finite.length) { low = 0; high = 1; }
  if (low === high) { low -= 1; high += 1; }
  const { values: at } = ticks(low, high), step = at[1] - at[0] || high - low;
  low = given.low ?? Math.floor(low / step + 1e-9) * step;
  high = given.high ?? Math.ceil(high / step - 1e-9) * step;
  return { low, high };
}

const dash = i => i < COLOURS.length ? undefined : '5 4';

function legendOf(series, toggles) {
  return el('ul', { class: 'legend' }, ...series.map((one, i) => {
    const swatch = el('span', { class: `swatch line${dash(i) ? ' dashed' : ''}`, style: `border-color:${COLOURS[i % COLOURS.length]}` });
    if (!toggles) return el('li', {}, el('span', { class: 'key' }, swatch, one.name));
    const button = el('button', { type: 'button', 'aria-pressed': 'true', onclick: () => { toggles(i, button); } }, swatch, one.name);
    return el('li', {}, button);
  }));
}

// { title, x: {label, values}, y: {label, low, high}, series: [{name, values, low, high}] }
COMPONENTS.lines = (place, data) => {
  const xs = data.x.values ?? Array.from({ length: Math.max(0, ...data.series.map(s => s.values.length)) }, (_, i) => i + 1);
  const hidden = new Set(), chart = el('div');
  const toggle = (i, button) => { hidden.has(i) ? hidden.delete(i) : hidden.add(i); button.setAttribute('aria-pressed', String(!hidden.has(i))); draw(chart.clientWidth); };
  const readout = el('p', { class: 'dim', style: 'min-height:1.5em;margin:.2rem 0' });
  const draw = width => {
    const shown = data.series.filter((_, i) => !hidden.has(i));
    const all = shown.flatMap(s => [...s.values, ...(s.low ?? []), ...(s.high ?? [])]).filter(v => v !== null);
    const x = { ...data.x, low: Math.min(...xs), high: Math.max(...xs) };
    if (x.low === x.high) { x.low -= 1; x.high += 1; }
    const { svg, sx, sy, inner } = frame(width, Math.min(340, Math.max(240, width * 0.55)), x, { ...data.y, ...span(all, data.y) });
    svg.setAttribute('aria-label', `${data.title}: ${data.series.map(s => s.name).join(', ')} by ${data.x.label}`);
    data.series.forEach((s, i) => {
      if (hidden.has(i)) return;
      const colour = COLOURS[i % COLOURS.length], at = values => values.map((v, k) => [xs[k], v]).filter(([, v]) => Number.isFinite(v));
      if (s.low && s.high) {
        const round = [...at(s.high), ...at(s.low).reverse()].map(([a, b]) => `${sx(a).toFixed(1)},${sy(b).toFixed(1)}`);
        svg.append(el('polygon', { points: round.join(' '), fill: colour, opacity: .18 }));
      }
      const points = at(s.values);
      svg.append(el('polyline', { points: points.map(([a, b]) => `${sx(a).toFixed(1)},${sy(b).toFixed(1)}`).join(' '), fill: 'none', stroke: colour, 'stroke-width': 2, 'stroke-dasharray': dash(i) }));
      if (points.length <= 30) points.forEach(([a, b]) => svg.append(el('circle', { cx: sx(a), cy: sy(b), r: 3, fill: colour })));
    });
    const cross = el('line', { class: 'axis', y1: inner.top, y2: inner.bottom, x1: -9, x2: -9 });
    svg.append(cross);
    svg.addEventListener('pointermove', event => {
      const at = event.clientX - svg.getBoundingClientRect().left;
      const k = xs.reduce((best, v, i) => Math.abs(sx(v) - at) < Math.abs(sx(xs[best]) - at) ? i : best, 0);
      cross.setAttribute('x1', sx(xs[k])); cross.setAttribute('x2', sx(xs[k]));
      readout.textContent = `${data.x.label} ${number(xs[k])}: ` + data.series.filter((_, i) => !hidden.has(i)).map(s => `${s.name} ${number(s.values[k])}`).join(', ');
    });
    chart.replaceChildren(svg);
  };
  const rows = () => xs.map((x, k) => [number(x, 4), ...data.series.map(s => number(s.values[k], 4) + (s.low ? ` (${number(s.low[k])} to ${number(s.high[k])})` : ''))]);
  place.append(el('h3', {}, data.title), chart, legendOf(data.series, data.series.length > 1 ? toggle : null), readout,
    asTable([data.x.label, ...data.series.map(s => s.name)], rows, data.title));
  whenSized(chart, draw);
};

// { title, x: {label, low, high}, rows: [{name, values}] }: a row of dots each, a bar at their mean.
COMPONENTS.dots = (place, data) => {
  const chart = el('div');
  const mean = values => values.reduce((a, b) => a + b, 0) / values.length;
  whenSized(chart, width => {
    const narrow = width < 520, step = narrow ? 44 : 30, left = narrow ? 8 : 210, top = 8, height = top + step * data.rows.length + 42;
    const x = { ...data.x, ...span(data.rows.flatMap(r => r.values), data.x) };
    const sx = v => left + (v - x.low) / (x.high - x.low) * (width - left - 60);
    const svg = el('svg', { width, height, viewBox: `0 0 ${width} ${height}`, role: 'img', 'aria-label': `${data.title}: a dot for each run` });
    const t = ticks(x.low, x.high, Math.max(2, Math.min(6, (width - left) / 90)));
    for (const v of t.values) svg.append(el('line', { class: 'grid', x1: sx(v), x2: sx(v), y1: top, y2: height - 42 }), el('text', { x: sx(v), y: height - 26, 'text-anchor': 'middle' }, t.text(v)));
    svg.append(el('text', { x: (left + width - 60) / 2, y: height - 6, 'text-anchor': 'middle' }, data.x.label));
    data.rows.forEach((row, i) => {
      const y = top + step * (i + .5) + (narrow ? 8 : 0), colour = COLOURS[(row.colour ?? i) % COLOURS.length];
      svg.append(el('text', { x: narrow ? left : left - 8, y: narrow ? y - 14 : y + 4, 'text-anchor': narrow ? 'start' : 'end' }, row.name));
      row.values.forEach((v, k) => svg.append(el('circle', { cx: sx(v), cy: y + (k % 3 - 1) * 4, r: 3.5, fill: colour, 'fill-opacity': .75, stroke: 'currentColor', 'stroke-width': .5 })));
      const m = mean(row.values);
      svg.append(el('line', { x1: sx(m), x2: sx(m), y1: y - 10, y2: y + 10, stroke: 'currentColor', 'stroke-width': 2 }), el('text', { x: width - 52, y: y + 4 }, m.toFixed(1)));
    });
    chart.replaceChildren(svg);
  });
  place.append(el('h3', {}, data.title), chart, asTable(['', 'mean', 'each run'], () => data.rows.map(r => [r.name, mean(r.values).toFixed(2), r.values.map(v => v.toFixed(2)).join(', ')]), data.title));
};

// { title, bins: [{low, high, count, confidence, accuracy}], error }: accuracy of predictions by confidence.
COMPONENTS.calibration = (place, data) => {
  const chart = el('div');
  whenSized(chart, width => {
    const size = Math.min(width, 440), axis = label => ({ label, low: 0, high: 100 });
    const { svg, sx, sy } = frame(size, size * .85, axis('confidence, %'), axis('accuracy, %'));
    svg.setAttribute('aria-label', `${data.title}: expected calibration error ${data.error.toFixed(1)} points`);
    svg.append(el('line', { class: 'axis', x1: sx(0), y1: sy(0), x2: sx(100), y2: sy(100), 'stroke-dasharray': '4 4' }));
    const most = Math.max(...data.bins.map(b => b.count));
    for (const b of data.bins.filter(b => b.count)) {
      svg.append(el('rect', { x: sx(b.low) + 1, width: Math.max(1, sx(b.high) - sx(b.low) - 2), y: sy(b.accuracy), height: sy(0) - sy(b.accuracy), fill: COLOURS[0], opacity: .25 + .6 * b.count / most },
        el('title', {}, `confidence ${b.low} to ${b.high} %: ${b.count} predictions, accuracy ${b.accuracy.toFixed(1)} %`)),
      el('circle', { cx: sx(b.confidence), cy: sy(b.accuracy), r: 4, fill: COLOURS[5] }));
    }
    chart.replaceChildren(svg);
  });
  place.append(el('h3', {}, data.title), chart, el('p', { class: 'dim' }, `On the dashed line, accuracy equals confidence. Darker bars have more predictions. Expected calibration error: ${data.error.toFixed(1)} points.`),
    asTable(['confidence, %', 'predictions', 'accuracy, %'], () => data.bins.map(b => [`${b.low} to ${b.high}`, String(b.count), b.count ? b.accuracy.toFixed(1) : '–']), data.title));
};

// { title, classes, counts: [[…]] }: true classes in rows, predicted classes in columns; a table with shaded cells.
COMPONENTS.confusion = (place, data) => {
  const sums = data.counts.map(row => row.reduce((a, b) => a + b, 0));
  const columns = data.classes.map((_, c) => data.counts.reduce((a, row) => a + row[c], 0));
  const head = el('tr', {}, el('th', { scope: 'col' }, 'true class'), ...data.classes.map(c => el('th', { scope: 'col' }, c)), el('th', { scope: 'col' }, 'recall, %'));
  const body = data.counts.map((row, t) => el('tr', {}, el('th', { scope: 'row' }, data.classes[t]),
    ...row.map((n, c) => {
      const share = sums[t] ? n / sums[t] : 0, blue = t === c ? '0 114 178' : '213 94 0';
      return el('td', { style: `background:rgb(${blue} / ${(share * .45).toFixed(3)})` }, String(n));
    }), el('td', {}, sums[t] ? (100 * row[t] / sums[t]).toFixed(1) : '–')));
  const precision = el('tr', {}, el('th', { scope: 'row' }, 'precision, %'), ...columns.map((n, c) => el('td', {}, n ? (100 * data.counts[c][c] / n).toFixed(1) : '–')), el('td', {}));
  place.append(el('h3', {}, data.title), el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': data.title },
    el('table', {}, el('caption', {}, 'true classes in rows, predicted classes in columns; shades are shares of a row'), el('thead', {}, head), el('tbody', {}, ...body), el('tfoot', {}, precision))));
};

// { title, x: [], y: [], classes: [names], values: [class], wrong: [0 or 1], label }: points on a canvas.
COMPONENTS.scatter = (place, data) => {
  const canvas = el('canvas', { role: 'img', 'aria-label': data.label, style: 'width:100%;display:block;border:1px solid var(--line);border-radius:.6rem' });
  const holder = el('div', {}, canvas);
  whenSized(holder, width => {
    const scale = devicePixelRatio || 1, height = Math.min(width * .7, 460), pad = 14;
    canvas.style.height = `${height}px`;
    canvas.width = width * scale; canvas.height = height * scale;
    const g = canvas.getContext('2d');
    g.scale(scale, scale);
    const bounds = v => [Math.min(...v), Math.max(...v)], [xl, xh] = bounds(data.x), [yl, yh] = bounds(data.y);
    data.x.forEach((x, i) => {
      const at = [pad + (x - xl) / (xh - xl || 1) * (width - 2 * pad), pad + (y => 1 - y)((data.y[i] - yl) / (yh - yl || 1)) * (height - 2 * pad)];
      g.beginPath();
      g.arc(...at, 2.6, 0, 7);
      g.fillStyle = COLOURS[data.values[i] % COLOURS.length];
      g.globalAlpha = .8;
      g.fill();
      if (data.wrong?.[i]) { g.globalAlpha = 1; g.strokeStyle = variable('--fg'); g.lineWidth = 1.2; g.beginPath(); g.arc(...at, 3.8, 0, 7); g.stroke(); }
    });
  });
  const counts = data.classes.map((_, c) => data.values.filter(v => v === c).length);
  place.append(el('h3', {}, data.title), holder,
    el('ul', { class: 'legend' }, ...data.classes.map((name, c) => el('li', {}, el('span', { class: 'key' }, el('span', { class: 'swatch', style: `background:${COLOURS[c % COLOURS.length]}` }), name))),
      data.wrong ? el('li', {}, el('span', { class: 'key' }, el('span', { class: 'swatch', style: 'background:none;border:2px solid var(--fg)' }), 'misclassified')) : null),
    asTable(['class', 'points', ...(data.wrong ? ['misclassified'] : [])], () => data.classes.map((name, c) => [name, String(counts[c]), ...(data.wrong ? [String(data.wrong.filter((w, i) => w && data.values[i] === c).length)] : [])]), data.title));
};
