// A graph whose model predicts while one changes it: flips of edges and features, and switched axes, are sent to the server that the page came from.

class Live {
  constructor(place, view) {
    this.view = view;
    this.edges = new Map();
    this.features = new Map();
    this.before = view.data.predicted.slice();
    this.status = el('output', { role: 'status' });
    this.undo = el('button', { type: 'button', disabled: true, onclick: () => { this.edges.clear(); this.features.clear(); for (const s of this.axes) s.selectedIndex = 0; this.ask(); } }, 'Undo all');
    this.axes = view.data.live.axes.map(({ axis, current, others }) =>
      el('select', { 'data-axis': axis, onchange: () => this.ask() }, ...[current, ...others].map(choice => el('option', { value: choice }, choice))));
    const labels = this.axes.map(select => el('label', {}, select.dataset.axis, select));
    place.querySelector('.graph').before(el('div', { class: 'controls' }, ...labels, this.undo, el('div', {}, view.flipKey(), this.status)));
    view.extra = u => this.form(u);
    this.tell(view.data.live.accuracy);
    view.tell();
  }

  // The changes of the selected node.
  form(u) {
    const { view } = this, { columns } = view.data.live, parts = [];
    const one = (label, most, flip) => {
      const input = el('input', { type: 'text', inputmode: 'numeric', size: 6, required: true });
      const complain = el('span', { class: 'dim', role: 'status' });
      const submit = event => {
        event.preventDefault();
        const at = view.data.names && most === view.n ? view.data.names.indexOf(input.value.trim()) : Number(input.value.trim() || NaN);
        if (!Number.isInteger(at) || at < 0 || at >= most || (most === view.n && at === u)) { complain.textContent = `not one of 0 to ${most - 1}`; return; }
        flip(at);
        this.ask();
      };
      return el('form', { onsubmit: submit, class: 'controls' }, el('label', {}, label, el('span', { style: 'display:flex;gap:.3rem' }, input, el('button', {}, 'Flip'))), complain);
    };
    const toggle = (map, key, value) => { if (!map.delete(key)) map.set(key, value); };
    parts.push(one('edge to node', view.n, v => toggle(this.edges, Math.min(u, v) * view.n + Math.max(u, v), [Math.min(u, v), Math.max(u, v)])));
    if (columns) parts.push(one(`feature in column (0 to ${columns - 1})`, columns, c => toggle(this.features, u * columns + c, [u, c])));
    return el('div', {}, el('h3', {}, 'Change this node'), ...parts);
  }

  switched() { return this.axes.filter(select => select.selectedIndex > 0); }

  async ask() {
    const { view } = this, { data } = view, real = u => data.ids ? data.ids[u] : u;
    const body = JSON.stringify({ edges: [...this.edges.values()].map(([u, v]) => [real(u), real(v)]), features: [...this.features.values()].map(([u, c]) => [real(u), c]), axes: Object.fromEntries(this.switched().map(s => [s.dataset.axis, s.value])) });
    this.status.textContent = this.switched().length ? 'predicting; a changed model is fitted first …' : 'predicting …';
    const asked = this.asked = (this.asked || 0) + 1;
    let changed;
    try {
      const reply = await fetch(data.live.at, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
      if (!reply.ok) throw new Error(await reply.text());
      changed = await reply.json();
      if (asked !== this.asked) return; // A later request is on its way.
    } catch (error) {
      this.status.textContent = `no prediction: ${error.message}`;
      return;
    }
    view.flips = [...this.edges.values()].map(([u, v]) => [u, v, view.neighbours(u).includes(v) ? 0 : 1]);
    view.turned = new Map();
    changed.predicted.forEach((c, u) => { if (c !== this.before[u]) view.turned.set(u, c); });
    data.confidence = changed.confidence;
    const margin = data.channels.find(c => c.key === 'margin');
    if (margin) margin.values = changed.margin;
    this.undo.disabled = !this.edges.size && !this.features.size && !this.switched().length;
    this.tell(changed.accuracy);
    view.recolour();
    view.tell();
  }

  tell(accuracy) {
    const { live } = this.view.data, changes = this.edges.size + this.features.size + this.switched().length;
    const shown = accuracy === null || accuracy === undefined ? '' : `, accuracy ${accuracy.toFixed(1)} %${changes ? ` (${live.accuracy.toFixed(1)} % before)` : ''}`;
    this.status.textContent = `${changes} change${changes === 1 ? '' : 's'}, ${this.view.turned.size} predictions changed${shown}`;
  }
}
