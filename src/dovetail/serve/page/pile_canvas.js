// The pile on a canvas. A bitmap larger than what is seen is painted in steps behind the scenes;
// a frame only moves the last one that was finished, whatever it took to paint.

import { paint, radiusOf } from "./pile_paint.js";
import { PALETTE } from "./pile_scene.js";
import { colours } from "./theme.js";

const MARGIN = 0.35, BUDGET = 3, LEAST = 0.4, MOST = 160, SIDE = 50;

export class PileCanvas {
  constructor(canvas, scene, { picked, hovered }) {
    Object.assign(this, { canvas, scene, picked, hovered });
    this.context = canvas.getContext("2d", { alpha: false });
    this.camera = { x: 0, y: 0, scale: 10 };
    this.marked = { selected: -1, over: -1, found: [], path: [] };
    this.front = null;
    this.painting = null;
    this.asked = false;
    this.themed(false);
    this.listen();
    this.observer = new ResizeObserver(() => this.resized());
    this.observer.observe(canvas);
  }

  themed(draw = true) {
    this.colours = { ...colours(["surface", "raised", "edge", "ink", "muted", "accent", "link", "connector", ...PALETTE]), font: getComputedStyle(document.body).fontFamily };
    this.front = null;
    if (draw) this.repaint();
  }

  resized() {
    const first = !this.width;
    this.ratio = Math.min(2, devicePixelRatio || 1);
    this.width = this.canvas.clientWidth;
    this.height = this.canvas.clientHeight;
    if (!this.width || !this.height) return;
    this.canvas.width = this.width * this.ratio;
    this.canvas.height = this.height * this.ratio;
    if (first) this.fit(this.wanted ?? this.scene.whole());
    this.repaint();
  }

  // Show a part of the pile whole.
  fit(box, most = 60) {
    this.wanted = box;
    if (!this.width) return;
    const wide = Math.max(box.right - box.left, 2) + 2, high = Math.max(box.bottom - box.top, 2) + 2;
    // Names stand above and below, and are wider than what they name.
    this.camera.scale = clamp(Math.min((this.width - 2 * SIDE) / wide, (this.height - 60) / high), LEAST, most);
    this.camera.x = (box.left + box.right) / 2;
    this.camera.y = (box.top + box.bottom) / 2;
    this.repaint();
  }

  mark(more) {
    Object.assign(this.marked, more);
    this.draw();
  }

  pan(x, y) {
    this.camera.x -= x / this.camera.scale;
    this.camera.y -= y / this.camera.scale;
    this.moved();
  }

  zoom(factor, x = this.width / 2, y = this.height / 2) {
    const before = this.toWorld(x, y);
    this.camera.scale = clamp(this.camera.scale * factor, LEAST, MOST);
    const after = this.toWorld(x, y);
    this.camera.x += before.x - after.x;
    this.camera.y += before.y - after.y;
    this.moved();
  }

  toWorld(x, y) {
    return { x: this.camera.x + (x - this.width / 2) / this.camera.scale, y: this.camera.y + (y - this.height / 2) / this.camera.scale };
  }

  toScreen(at) {
    return [(this.scene.x[at] - this.camera.x) * this.camera.scale + this.width / 2, (this.scene.y[at] - this.camera.y) * this.camera.scale + this.height / 2];
  }

  // Paint anew only where the bitmap no longer reaches, or is of another size.
  moved() {
    const { front, camera } = this;
    const spare = front && front.view.scale === camera.scale
      ? { x: this.width * MARGIN - Math.abs(front.view.x - camera.x) * camera.scale, y: this.height * MARGIN - Math.abs(front.view.y - camera.y) * camera.scale } : null;
    if (!spare || spare.x < this.width * MARGIN * 0.5 || spare.y < this.height * MARGIN * 0.5) this.repaint();
    else this.draw();
  }

  repaint() {
    if (!this.width) return;
    this.stale = true;
    this.draw();
  }

  draw() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.frame();
    });
  }

  frame() {
    if (!this.canvas.isConnected || !this.width) return;
    if (this.stale && !this.painting) this.begin();
    if (this.painting) this.step(this.front ? BUDGET : 200);
    this.show();
    if (this.painting || this.stale) this.draw();
  }

  begin() {
    this.stale = false;
    const view = { ...this.camera, width: Math.ceil(this.width * (1 + 2 * MARGIN)), height: Math.ceil(this.height * (1 + 2 * MARGIN)) };
    const bitmap = this.spareBitmap ?? document.createElement("canvas");
    this.spareBitmap = null;
    const [wide, high] = [view.width * this.ratio, view.height * this.ratio];
    if (bitmap.width !== wide || bitmap.height !== high) { bitmap.width = wide; bitmap.height = high; }
    const context = bitmap.getContext("2d", { alpha: false, willReadFrequently: true });
    this.painting = { view, bitmap, context, steps: paint(context, this.scene, view, this.colours, this.ratio) };
  }

  step(budget) {
    const until = performance.now() + budget;
    do {
      const { done } = this.painting.steps.next();
      // A browser only records what is drawn until somebody looks: looking now keeps each step its own.
      this.painting.context.getImageData(0, 0, 1, 1);
      if (!done) continue;
      this.spareBitmap = this.front?.bitmap ?? null;
      this.front = this.painting;
      this.painting = null;
      return;
    } while (performance.now() < until);
  }

  show() {
    const { context, ratio, camera, front } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const factor = front ? camera.scale / front.view.scale : 1;
    const reaches = front && factor >= 1;
    if (!reaches) { context.fillStyle = this.colours.surface; context.fillRect(0, 0, this.width, this.height); }
    if (front) {
      const { view, bitmap } = front;
      const left = this.width / 2 + (view.x - camera.x) * camera.scale - (view.width * factor) / 2;
      const top = this.height / 2 + (view.y - camera.y) * camera.scale - (view.height * factor) / 2;
      // Whole pixels are copied as they are; between them every one would be mixed.
      const round = (value) => (factor === 1 ? Math.round(value * ratio) / ratio : value);
      context.drawImage(bitmap, round(left), round(top), view.width * factor, view.height * factor);
    }
    this.showMarks();
    this.canvas.dataset.painted = this.painting || this.stale ? "no" : "yes";
  }

  showMarks() {
    const { context, marked, scene, colours: known } = this;
    for (const at of marked.found) this.ring(at, known.link, 2);
    context.strokeStyle = known.accent;
    context.lineWidth = 4;
    context.beginPath();
    marked.path.forEach((at, step) => {
      const [x, y] = this.toScreen(at);
      if (step) context.lineTo(x, y); else context.moveTo(x, y);
    });
    context.stroke();
    for (const at of marked.path) { this.ring(at, known.accent, 4); this.name(at); }
    for (const at of [marked.selected, marked.over]) {
      if (at < 0) continue;
      context.strokeStyle = known.link;
      context.lineWidth = 1.6;
      context.beginPath();
      const [x, y] = this.toScreen(at);
      for (const other of scene.near[at].slice(0, 300)) { context.moveTo(x, y); context.lineTo(...this.toScreen(other)); }
      context.stroke();
      this.ring(at, known.accent, 3);
      this.name(at);
    }
  }

  ring(at, colour, width) {
    const [x, y] = this.toScreen(at);
    this.context.strokeStyle = colour;
    this.context.lineWidth = width;
    this.context.beginPath();
    this.context.arc(x, y, radiusOf(this.scene, at, this.camera.scale) * this.camera.scale + 3, 0, 7);
    this.context.stroke();
  }

  name(at) {
    const { context, colours: known } = this;
    const [x, y] = this.toScreen(at);
    const text = this.scene.names[at].slice(0, 40);
    context.font = `600 12.5px ${known.font}`;
    context.textAlign = "center";
    const wide = context.measureText(text).width + 14;
    const up = y - radiusOf(this.scene, at, this.camera.scale) * this.camera.scale - 30;
    context.fillStyle = known.ink;
    context.beginPath();
    context.roundRect(x - wide / 2, up, wide, 22, 6);
    context.fill();
    context.fillStyle = known.surface;
    context.fillText(text, x, up + 15);
  }

  under(event) {
    const box = this.canvas.getBoundingClientRect();
    const { x, y } = this.toWorld(event.clientX - box.left, event.clientY - box.top);
    return this.scene.nearest(x, y, Math.max(0.5, 9 / this.camera.scale));
  }

  listen() {
    const { canvas } = this;
    const held = new Map();
    let travelled = 0;
    canvas.addEventListener("pointerdown", (event) => {
      canvas.setPointerCapture(event.pointerId);
      held.set(event.pointerId, [event.clientX, event.clientY]);
      travelled = 0;
    });
    canvas.addEventListener("pointermove", (event) => {
      const last = held.get(event.pointerId);
      if (!last) return this.hover(event);
      const [x, y] = [event.clientX - last[0], event.clientY - last[1]];
      travelled += Math.abs(x) + Math.abs(y);
      if (held.size === 2) { // two fingers: their distance is the zoom
        const [one, other] = [...held.entries()].map(([id, at]) => (id === event.pointerId ? [[event.clientX, event.clientY], at] : [at, at]));
        const after = Math.hypot(one[0][0] - other[0][0], one[0][1] - other[0][1]), before = Math.hypot(one[1][0] - other[1][0], one[1][1] - other[1][1]);
        const box = canvas.getBoundingClientRect();
        if (before > 0) this.zoom(after / before, (one[0][0] + other[0][0]) / 2 - box.left, (one[0][1] + other[0][1]) / 2 - box.top);
      } else this.pan(x, y);
      held.set(event.pointerId, [event.clientX, event.clientY]);
      return null;
    });
    const released = (event) => {
      if (held.delete(event.pointerId) && travelled < 5 && event.type === "pointerup") this.picked(this.under(event));
    };
    canvas.addEventListener("pointerup", released);
    canvas.addEventListener("pointercancel", released);
    canvas.addEventListener("pointerleave", () => this.mark({ over: -1 }));
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY * (event.ctrlKey ? 0.01 : 0.0016)), event.clientX - box.left, event.clientY - box.top);
    }, { passive: false });
    canvas.addEventListener("keydown", (event) => this.key(event));
  }

  hover(event) {
    const over = this.under(event);
    if (over === this.marked.over) return;
    this.canvas.style.cursor = over < 0 ? "grab" : "pointer";
    this.mark({ over });
    this.hovered(over);
  }

  key(event) {
    const step = 70;
    const keys = {
      ArrowLeft: () => this.pan(step, 0), ArrowRight: () => this.pan(-step, 0), ArrowUp: () => this.pan(0, step), ArrowDown: () => this.pan(0, -step),
      "+": () => this.zoom(1.25), "=": () => this.zoom(1.25), "-": () => this.zoom(0.8), 0: () => this.fit(this.scene.whole()),
      Enter: () => { const { x, y } = this.camera; this.picked(this.scene.nearest(x, y, 8)); },
    };
    if (event.ctrlKey || event.metaKey || !(event.key in keys)) return;
    event.preventDefault();
    keys[event.key]();
  }
}

const clamp = (value, least, most) => Math.max(least, Math.min(most, value));
