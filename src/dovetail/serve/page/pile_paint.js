// Paints a scene into a bitmap in small steps, so that no frame waits for twenty thousand lines.
//
// What is drawn depends on how near one looks: from afar groups and the joins between them, then
// every table and join, at last their names.

const LINES = 60, LONG_LINES = 12, DISCS = 4, DOTS = 80, NAMES = 4;
// Pixels between two tables: from which on groups have no names any more, some tables have theirs, and
// joins between groups are lines of their own.
const NAMED = 46, SOME_NAMES = 15, SINGLE = 28, MOST_NAMES = 600;

// A generator: each step takes about a millisecond. `view` has x and y of the middle, scale, width, height.
export function* paint(context, scene, view, colours, ratio) {
  const { scale } = view;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.fillStyle = colours.surface;
  context.fillRect(0, 0, view.width, view.height);
  context.setTransform(ratio * scale, 0, 0, ratio * scale, ratio * (view.width / 2 - view.x * scale), ratio * (view.height / 2 - view.y * scale));
  const half = { wide: view.width / 2 / scale, high: view.height / 2 / scale };
  const seen = (x, y, more = 1) => Math.abs(x - view.x) < half.wide + more && Math.abs(y - view.y) < half.high + more;
  yield* discs(context, scene, colours, seen);
  if (scale < SINGLE) yield* bundles(context, scene, colours, scale);
  else yield* lines(context, scene, scene.across, LONG_LINES, { colour: colours.edge, width: 0.7 / scale, alpha: 0.45 }, seen, half);
  yield* lines(context, scene, scene.inside, LINES, { colour: colours.edge, width: Math.min(1, 0.4 + scale / 40) / scale, alpha: 1 }, seen, half);
  yield* dots(context, scene, colours, scale, seen);
  yield* labels(context, scene, view, colours, ratio, seen);
}

function* discs(context, scene, colours, seen) {
  yield;
  let drawn = 0;
  for (const group of scene.data.groups) {
    if (!seen(group.x, group.y, group.radius)) continue;
    context.fillStyle = colours.raised;
    context.beginPath();
    context.arc(group.x, group.y, group.radius, 0, 7);
    context.fill();
    drawn += 1;
    if (drawn % DISCS === 0) yield;
  }
}

function* bundles(context, scene, colours, scale) {
  const { groups } = scene.data;
  for (let from = 0; from < scene.between.length; from += LONG_LINES) {
    context.strokeStyle = colours.edge;
    context.globalAlpha = 0.5;
    for (const [a, b, many] of scene.between.slice(from, from + LONG_LINES)) {
      context.lineWidth = Math.min(6, 0.5 + Math.log2(many)) / scale;
      context.beginPath();
      context.moveTo(groups[a].x, groups[a].y);
      context.lineTo(groups[b].x, groups[b].y);
      context.stroke();
    }
    context.globalAlpha = 1;
    yield;
  }
}

// Thin lines, some at a time: those up to a pixel wide take a browser a fraction of wider ones.
function* lines(context, scene, ends, many, { colour, width, alpha }, seen, half) {
  const { x, y } = scene;
  const far = 4 * Math.max(half.wide, half.high);
  let drawn = 0;
  const stroke = () => {
    context.stroke();
    context.globalAlpha = 1;
  };
  const begin = () => {
    context.strokeStyle = colour;
    context.lineWidth = width;
    context.globalAlpha = alpha;
    context.beginPath();
  };
  begin();
  for (let at = 0; at < ends.length; at += 2) {
    const a = ends[at], b = ends[at + 1];
    const long = Math.abs(x[a] - x[b]) + Math.abs(y[a] - y[b]);
    if (!seen((x[a] + x[b]) / 2, (y[a] + y[b]) / 2, Math.min(long, far))) continue;
    context.moveTo(x[a], y[a]);
    context.lineTo(x[b], y[b]);
    drawn += 1;
    if (drawn % many) continue;
    stroke();
    yield;
    begin();
  }
  stroke();
  yield;
}

export const radiusOf = (scene, at, scale) => Math.max(1.3 / scale, Math.min(0.2 + 0.03 * Math.sqrt(scene.degree[at]), 0.42, 11 / scale));

function* dots(context, scene, colours, scale, seen) {
  const { x, y, colour, data } = scene;
  const square = scale < 8;
  for (let from = 0; from < x.length; from += DOTS) {
    const last = Math.min(x.length, from + DOTS);
    for (let at = from; at < last; at += 1) {
      if (!seen(x[at], y[at])) continue;
      const radius = radiusOf(scene, at, scale);
      context.fillStyle = colours[`hue-${colour.of[at] === 6 ? "rest" : colour.of[at]}`];
      if (square) { context.fillRect(x[at] - radius, y[at] - radius, 2 * radius, 2 * radius); continue; }
      context.beginPath();
      context.arc(x[at], y[at], radius, 0, 7);
      context.fill();
      if (!data.also[at].length) continue;
      context.lineWidth = 1.5 / scale; // a family: a second ring around the table that stands for it
      context.strokeStyle = context.fillStyle;
      context.beginPath();
      context.arc(x[at], y[at], radius + 3.5 / scale, 0, 7);
      context.stroke();
    }
    yield;
  }
}

function* labels(context, scene, view, colours, ratio, seen) {
  const { scale } = view;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const place = (x, y) => [(x - view.x) * scale + view.width / 2, (y - view.y) * scale + view.height / 2];
  context.textAlign = "center";
  context.lineJoin = "round";
  context.strokeStyle = colours.surface;
  context.lineWidth = 4;
  const write = (text, x, y, colour, font) => {
    context.font = font;
    context.strokeText(text, x, y);
    context.fillStyle = colour;
    context.fillText(text, x, y);
  };
  const taken = [];
  const free = (box) => {
    if (taken.some((other) => Math.abs(other.x - box.x) < other.half + box.half && Math.abs(other.y - box.y) < 16)) return false;
    taken.push(box);
    return true;
  };
  if (scale < NAMED) yield* groupNames(scene, place, scale, colours, seen, free, write);
  if (scale >= SOME_NAMES) yield* tableNames(scene, place, scale, colours, seen, free, write);
}

function* groupNames(scene, place, scale, colours, seen, free, write) {
  for (const group of scene.data.groups) {
    const high = group.radius * scale;
    if (high < 16 || !seen(group.x, group.y, group.radius)) continue;
    const [x, y] = place(group.x, group.y);
    const text = group.tables > 1 ? `${short(group.name, 26)} · ${group.tables}` : short(group.name, 26);
    if (!free({ x, y: y - high - 4, half: text.length * 3.6 + 6 })) continue;
    write(text, x, y - high - 4, colours.muted, `600 12px ${colours.font}`);
    yield;
  }
}

// The names of the tables with most joins first; one that would cover another is left out.
function* tableNames(scene, place, scale, colours, seen, free, write) {
  const here = [];
  for (let at = 0; at < scene.x.length; at += 1) if (seen(scene.x[at], scene.y[at])) here.push(at);
  here.sort((a, b) => scene.degree[b] - scene.degree[a] || a - b);
  yield;
  for (let at = 0; at < Math.min(here.length, MOST_NAMES); at += 1) {
    const table = here[at], family = scene.data.also[table].length;
    const [x, middle] = place(scene.x[table], scene.y[table]);
    const far = radiusOf(scene, table, scale) * scale;
    const text = `${short(scene.names[table], 24)}${family ? ` +${family}` : ""}`;
    const half = text.length * 3.2 + 3;
    // Below the table; above it where a neighbour would be covered.
    const covered = scene.near[table].some((other) => {
      const [sideways, down] = [(scene.x[other] - scene.x[table]) * scale, (scene.y[other] - scene.y[table]) * scale];
      return Math.abs(sideways) < half + far && down > 0 && down < 2 * far + 18;
    });
    const y = covered ? middle - far - 6 : middle + far + 15;
    if (free({ x, y, half })) write(text, x, y, colours.ink, `500 11.5px ${colours.font}`);
    if (at % NAMES === 0) yield;
  }
}

const short = (text, width) => (text.length > width ? `${text.slice(0, width - 1)}…` : text);
