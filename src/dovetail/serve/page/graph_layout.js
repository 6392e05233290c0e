// Where the tables of a small join graph stand: springs along joins, boxes pushed apart, no chance.

const CHAR = 7.4, SMALL = 5.8, GAP = 22, LINK = 125, STEPS = 400, WIDE = 640, EDGE = 14;

// The box of a table; tables that share a name say their sources in a second line.
export function boxFor(label, second) {
  const width = Math.max(label.length * CHAR, second.length * SMALL) + 26;
  return { width: Math.max(70, width), height: second ? 44 : 34 };
}

// `nodes` get x and y in place; `links` are pairs of places. Returns the size of the drawing.
export function layOut(nodes, links) {
  const ends = links.map(([i, j]) => [nodes[i], nodes[j]]);
  const blocks = components(nodes, ends).map((members) => block(members, ends));
  return packed(blocks);
}

// The connected components, each in the order of the nodes; those that join nothing come last.
function components(nodes, ends) {
  const of = new Map(nodes.map((node) => [node, [node]]));
  for (const [a, b] of ends) {
    const one = of.get(a), other = of.get(b);
    if (one === other) continue;
    one.push(...other);
    for (const node of other) of.set(node, one);
  }
  const found = [...new Set(nodes.map((node) => of.get(node)))];
  return [...found.filter((members) => members.length > 1), ...found.filter((members) => members.length === 1)];
}

function block(members, ends) {
  const inside = ends.filter(([a]) => members.includes(a));
  members.forEach((node, at) => {
    const angle = at * 2.399963, radius = 70 * Math.sqrt(at);
    node.x = radius * Math.cos(angle);
    node.y = 0.8 * radius * Math.sin(angle);
  });
  if (members.length > 1) {
    for (let step = 0; step < STEPS; step += 1) relax(members, inside, 1 - step / STEPS);
    for (let step = 0; step < 80; step += 1) pushApart(members);
  }
  const left = Math.min(...members.map((node) => node.x - node.width / 2));
  const right = Math.max(...members.map((node) => node.x + node.width / 2));
  const top = Math.min(...members.map((node) => node.y - node.height / 2));
  const bottom = Math.max(...members.map((node) => node.y + node.height / 2));
  return { members, left, top, width: right - left, height: bottom - top };
}

// Blocks in rows, as text is set.
function packed(blocks) {
  const wide = Math.max(WIDE, ...blocks.map((each) => each.width + 2 * EDGE));
  let x = EDGE, y = EDGE, high = 0, reach = 0;
  for (const each of blocks) {
    if (x > EDGE && x + each.width > wide - EDGE) {
      x = EDGE;
      y += high + GAP;
      high = 0;
    }
    for (const node of each.members) {
      node.x += x - each.left;
      node.y += y - each.top;
    }
    x += each.width + GAP;
    reach = Math.max(reach, x - GAP + EDGE);
    high = Math.max(high, each.height);
  }
  return { width: reach || WIDE, height: y + high + EDGE };
}

function relax(placed, ends, heat) {
  for (const node of placed) { node.dx = -0.012 * node.x; node.dy = -0.02 * node.y; }
  for (let i = 0; i < placed.length; i += 1) {
    for (let j = i + 1; j < placed.length; j += 1) repel(placed[i], placed[j], 22000, i - j);
  }
  for (const [a, b] of ends) {
    const x = b.x - a.x, y = b.y - a.y, length = Math.hypot(x, y) || 1;
    const pull = 0.07 * (length - LINK - (a.width + b.width) / 5);
    a.dx += (pull * x) / length; a.dy += (pull * y) / length;
    b.dx -= (pull * x) / length; b.dy -= (pull * y) / length;
    // A table does not stand on a line that is none of its own.
    for (const node of placed) if (node !== a && node !== b) keepOff(node, a, b);
  }
  const most = 3 + 30 * heat;
  for (const node of placed) {
    const length = Math.hypot(node.dx, node.dy) || 1, step = Math.min(length, most) / length;
    node.x += node.dx * step; node.y += node.dy * step;
  }
  if (heat < 0.5) pushApart(placed);
}

function repel(a, b, strength, nudge) {
  const x = a.x - b.x || 0.01 * nudge, y = a.y - b.y || 0.01;
  const square = x * x + y * y, force = strength / (square + 900), length = Math.sqrt(square);
  a.dx += (force * x) / length; a.dy += (force * y) / length;
  b.dx -= (force * x) / length; b.dy -= (force * y) / length;
}

function keepOff(node, a, b) {
  const x = b.x - a.x, y = b.y - a.y, square = x * x + y * y || 1;
  const along = ((node.x - a.x) * x + (node.y - a.y) * y) / square;
  if (along < 0.05 || along > 0.95) return;
  const offX = node.x - (a.x + along * x), offY = node.y - (a.y + along * y);
  const distance = Math.hypot(offX, offY) || 0.01;
  const wanted = 34 + Math.abs((y / Math.sqrt(square)) * node.width) / 2;
  if (distance >= wanted) return;
  const force = 0.35 * (wanted - distance);
  node.dx += (force * offX) / distance; node.dy += (force * offY) / distance;
}

// Where the label of a line stands: the first place along it that covers least.
export function labelPlace(from, to, width, taken) {
  let best = null;
  for (const along of [0.5, 0.42, 0.58, 0.34, 0.66, 0.27, 0.73]) {
    const box = { x: from.x + along * (to.x - from.x), y: from.y + along * (to.y - from.y), width, height: 20 };
    const cost = taken.reduce((sum, other) => sum + overlap(box, other), 0);
    if (!best || cost < best.cost - 1) best = { box, cost };
    if (cost === 0) break;
  }
  return best.box;
}

function overlap(a, b) {
  const wide = (a.width + b.width) / 2 - Math.abs(a.x - b.x), high = (a.height + b.height) / 2 - Math.abs(a.y - b.y);
  return wide > 0 && high > 0 ? wide * high : 0;
}

function pushApart(placed) {
  for (let i = 0; i < placed.length; i += 1) {
    for (let j = i + 1; j < placed.length; j += 1) {
      const a = placed[i], b = placed[j];
      const wide = (a.width + b.width) / 2 + GAP - Math.abs(a.x - b.x);
      const high = (a.height + b.height) / 2 + 2 * GAP - Math.abs(a.y - b.y);
      if (wide <= 0 || high <= 0) continue;
      if (high < wide) {
        const by = (a.y <= b.y ? -1 : 1) * (high / 2);
        a.y += by; b.y -= by;
      } else {
        const by = (a.x <= b.x ? -1 : 1) * (wide / 2);
        a.x += by; b.x -= by;
      }
    }
  }
}
