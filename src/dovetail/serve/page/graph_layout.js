// Where the tables of a small join graph stand: in layers by how many joins they are away from the
// one with most. A join then leads to the next layer or stays in its own, so that its line runs in
// the gutter between two layers, and never through a box.

const HEAD = 32, ROW = 21, GAP = 26, GUTTER = 110, EDGE = 16, LOOP = 16;

export const rowOf = (node, column) => node.y + HEAD + ROW * (Math.max(0, node.columns.indexOf(column)) + 0.5);

// `nodes` ({ text, columns }) get x, y, width, height and layer in place; `links` are pairs of places.
// `narrow` puts all in one layer. Returns the size of the drawing.
export function layOut(nodes, links, narrow) {
  for (const node of nodes) {
    const widest = Math.max(node.text.length * 8.2, ...node.columns.map((name) => name.length * 7.8));
    Object.assign(node, { width: Math.min(270, Math.max(96, widest + 24)), height: HEAD + ROW * node.columns.length + (node.columns.length ? 6 : 0), near: [] });
  }
  for (const [a, b] of links) { nodes[a].near.push(nodes[b]); nodes[b].near.push(nodes[a]); }
  const layers = narrow ? [nodes] : inLayers(nodes);
  let x = EDGE;
  const high = Math.max(...layers.map(heightOf));
  layers.forEach((layer, number) => {
    const wide = Math.max(...layer.map((node) => node.width));
    let y = EDGE + (high - heightOf(layer)) / 2;
    for (const node of layer) {
      Object.assign(node, { x: x + (wide - node.width) / 2, y, layer: number });
      y += node.height + GAP;
    }
    x += wide + GUTTER;
  });
  const loops = links.some(([a, b]) => nodes[a].layer === nodes[b].layer && nodes[a].layer === layers.length - 1);
  return { width: x - GUTTER + (loops ? LOOP * 5 : 0) + EDGE, height: high + 2 * EDGE };
}

const heightOf = (layer) => layer.reduce((sum, node) => sum + node.height + GAP, -GAP);

// The table with most joins in the middle; what hangs together without it stands on one side.
function inLayers(nodes) {
  const layers = new Map(), placed = new Set();
  const put = (node, number) => { placed.add(node); layers.set(number, [...(layers.get(number) ?? []), node]); };
  for (const start of [...nodes].sort((a, b) => b.near.length - a.near.length)) {
    if (placed.has(start)) continue;
    put(start, 0);
    let sides = { 1: 0, [-1]: 0 };
    for (const first of start.near) {
      if (placed.has(first)) continue;
      const part = reach(first, start), side = sides[1] <= sides[-1] ? 1 : -1;
      for (const [node, distance] of part) put(node, side * distance);
      sides = { ...sides, [side]: sides[side] + part.length };
    }
  }
  return [...layers.entries()].sort((a, b) => a[0] - b[0]).map(([, layer]) => layer);
}

// All tables that hang together with one but for `without`, by their distance from that.
function reach(first, without) {
  const together = new Set([first]);
  for (const node of together) for (const other of node.near) if (other !== without) together.add(other);
  let found = [...together].filter((node) => node.near.includes(without)).map((node) => [node, 1]);
  const seen = new Set(found.map(([node]) => node));
  for (const [node, distance] of found) {
    for (const other of node.near) {
      if (other === without || seen.has(other)) continue;
      seen.add(other);
      found.push([other, distance + 1]);
    }
  }
  return found;
}

// The line from a column to a column, and where its label stands.
export function route(from, column, to, other, lane) {
  const y1 = rowOf(from, column), y2 = rowOf(to, other);
  const apart = from.x + from.width + 8 < to.x ? 1 : to.x + to.width + 8 < from.x ? -1 : 0;
  if (apart) {
    const x1 = apart > 0 ? from.x + from.width : from.x, x2 = apart > 0 ? to.x : to.x + to.width, middle = (x1 + x2) / 2;
    return { path: `M${x1} ${y1} C${middle} ${y1} ${middle} ${y2} ${x2} ${y2}`, x: middle, y: (y1 + y2) / 2 };
  }
  const x1 = from.x + from.width, x2 = to.x + to.width, out = Math.max(x1, x2) + LOOP * (1.5 + lane % 3);
  return { path: `M${x1} ${y1} C${out} ${y1} ${out} ${y2} ${x2} ${y2}`, x: out - LOOP / 2, y: (y1 + y2) / 2 };
}
