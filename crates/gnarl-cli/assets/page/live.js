// A graph whose model answers while one changes it: flips of edges and features, and axes that are switched, are sent to the server that the page came from.

class Live {
  constructor(place, view) {
    this.view = view;
    this.edges = new Map();
    this.features = new Map();
    this.before = view.data.predicted.slice();
    this.said = el('output', { role: 'status' });
    this.undo = el('button', { type: 'button', disabled: true, onclick: () => { this.edges.clear(); this.features.clear(); for (const s of this.axes) s.selectedIndex = 0; this.ask(); } }, 'Undo all');
    this.axes = view.data.live.axes.map(({ axis, now, others }) =>
      el('select', { 'data-axis': axis, onchange: () => this.ask() }, ...[now, ...others].map(choice => el('option', { value: choice }, choice))));
    const labels = this.axes.map(select => el('label', {}, select.dataset.axis, select));
    place.querySelector('.graph').before(el('div', { class: 'controls' }, ...labels, this.undo, el('div', {}, view.flipKey(), this.said)));
    view.extra = u => this.form(u);
    this.tell(view.data.live.accuracy);
    view.tell();
  }

  // What can be changed of the chosen node.
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
    parts.push(one('the edge to node', view.n, v => toggle(this.edges, Math.min(u, v) * view.n + Math.max(u, v), [Math.min(u, v), Math.max(u, v)])));
    if (columns) parts.push(one(`the feature in column (0 to ${columns - 1})`, columns, c => toggle(this.features, u * columns + c, [u, c])));
    return el('div', {}, el('h3', {}, 'Change it'), ...parts);
  }

  switched() { return this.axes.filter(select => select.selectedIndex > 0); }

  async ask() {
    const { view } = this, { data } = view, real = u => data.ids ? data.ids[u] : u;
    const body = JSON.stringify({ edges: [...this.edges.values()].map(([u, v]) => [real(u), real(v)]), features: [...this.features.values()].map(([u, c]) => [real(u), c]), axes: Object.fromEntries(this.switched().map(s => [s.dataset.axis, s.value])) });
    this.said.textContent = this.switched().length ? 'asking the model, which may have to be fitted first …' : 'asking the model …';
    const asked = this.asked = (this.asked || 0) + 1;
    let answer;
    try {
      const reply = await fetch(data.live.at, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
      if (!reply.ok) throw new Error(await reply.text());
      answer = await reply.json();
      if (asked !== this.asked) return; // A later question is on its way.
    } catch (error) {
      this.said.textContent = `the model does not answer: ${error.message}`;
      return;
    }
    view.flips = [...this.edges.values()].map(([u, v]) => [u, v, view.neighbours(u).includes(v) ? 0 : 1]);
    view.turned = new Map();
    answer.predicted.forEach((c, u) => { if (c !== this.before[u]) view.turned.set(u, c); });
    data.sure = answer.sure;
    const margin = data.channels.find(c => c.key === 'margin');
    if (margin) margin.values = answer.margin;
    this.undo.disabled = !this.edges.size && !this.features.size && !this.switched().length;
    this.tell(answer.accuracy);
    view.recolour();
    view.tell();
  }

  tell(accuracy) {
    const { live } = this.view.data, changes = this.edges.size + this.features.size + this.switched().length;
    const right = accuracy === null || accuracy === undefined ? '' : `, ${accuracy.toFixed(1)} % right${changes ? ` (${live.accuracy.toFixed(1)} % before)` : ''}`;
    this.said.textContent = `${changes} change${changes === 1 ? '' : 's'}, ${this.view.turned.size} answers turned${right}`;
  }
}
