// The pile as arrays to draw from, and which table stands where.

import { nameOf, parts } from "./dom.js";

const CELL = 2;

export class Scene {
  constructor(data) {
    this.data = data;
    this.x = Float32Array.from(data.x);
    this.y = Float32Array.from(data.y);
    this.names = data.ids.map(nameOf);
    this.at = new Map(data.ids.map((id, at) => [id, at]));
    data.also.forEach((ids, at) => ids.forEach((id) => this.at.set(id, at)));
    this.degree = new Uint32Array(data.ids.length);
    this.near = data.ids.map(() => []);
    const inside = [], across = [], groups = new Map();
    for (const [a, b] of data.edges) {
      this.degree[a] += 1; this.degree[b] += 1;
      this.near[a].push(b); this.near[b].push(a);
      if (data.group[a] === data.group[b]) { inside.push(a, b); continue; }
      across.push(a, b);
      const key = [data.group[a], data.group[b]].sort((one, other) => one - other).join(" ");
      groups.set(key, (groups.get(key) ?? 0) + 1);
    }
    this.inside = Uint32Array.from(inside);
    this.across = Uint32Array.from(across);
    this.between = [...groups].map(([key, many]) => [...key.split(" ").map(Number), many]);
    this.colour = sourceColours(data.ids);
    this.cells = new Map();
    for (let at = 0; at < this.x.length; at += 1) {
      const key = cell(this.x[at], this.y[at]);
      if (!this.cells.has(key)) this.cells.set(key, []);
      this.cells.get(key).push(at);
    }
  }

  // The table nearest to a place, within a distance; -1 for none.
  nearest(x, y, within) {
    let best = -1, least = within * within;
    const reach = Math.max(1, Math.ceil(within / CELL));
    for (let i = -reach; i <= reach; i += 1) {
      for (let j = -reach; j <= reach; j += 1) {
        for (const at of this.cells.get(cell(x + i * CELL, y + j * CELL)) ?? []) {
          const square = (this.x[at] - x) ** 2 + (this.y[at] - y) ** 2;
          if (square < least) { least = square; best = at; }
        }
      }
    }
    return best;
  }

  bounds(places) {
    const xs = places.map((at) => this.x[at]), ys = places.map((at) => this.y[at]);
    return { left: Math.min(...xs), right: Math.max(...xs), top: Math.min(...ys), bottom: Math.max(...ys) };
  }

  whole() {
    const edges = this.data.groups.map((group) => [group.x - group.radius, group.x + group.radius, group.y - group.radius, group.y + group.radius]);
    const least = (column) => edges.reduce((found, edge) => Math.min(found, edge[column]), Infinity);
    const most = (column) => edges.reduce((found, edge) => Math.max(found, edge[column]), -Infinity);
    return { left: least(0), right: most(1), top: least(2), bottom: most(3) };
  }
}

const cell = (x, y) => `${Math.floor(x / CELL)} ${Math.floor(y / CELL)}`;

// A colour for each of the sources with most tables; the others share the last.
export const PALETTE = ["hue-0", "hue-1", "hue-2", "hue-3", "hue-4", "hue-5", "hue-rest"];

function sourceColours(ids) {
  const many = new Map();
  for (const id of ids) many.set(parts(id)[0], (many.get(parts(id)[0]) ?? 0) + 1);
  const ranked = [...many].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(([source]) => source);
  const number = new Map(ranked.map((source, at) => [source, Math.min(at, PALETTE.length - 1)]));
  return { of: Uint8Array.from(ids, (id) => number.get(parts(id)[0])), ranked };
}
