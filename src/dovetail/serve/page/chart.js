// A quick chart of rows: bars by a label, or a line where the label is a time.

import { h, middleCut, s } from "./dom.js";
import { isNumber } from "./rows_table.js";

const MOST = 24, LABEL = 150, WIDTH = 640, BAR = 22, HIGH = 220;
const TIMES = /^(date|timestamp)$/;
const YEARS = /^(18|19|20)\d\d(-\d\d)?/;

// The columns that a chart is of, and which kind suits; null where rows are no chart.
export function chartOf({ columns, types, rows }) {
  const filled = rows.filter((row) => row.some((value) => value !== null));
  if (filled.length < 2) return null;
  const numbers = columns.map((_, at) => at).filter((at) => isNumber(types[at]));
  const value = numbers.findLast((at) => !/(_|^)(id|no|nr|key)$/i.test(columns[at]));
  if (value === undefined) return null;
  const label = columns.findIndex((_, at) => at !== value && (!isNumber(types[at]) || rows.every((row) => YEARS.test(row[at] ?? ""))));
  if (label < 0) return null;
  const time = TIMES.test(types[label]) || filled.every((row) => YEARS.test(row[label] ?? ""));
  return { label, value, kind: time ? "line" : "bars" };
}

export function chart(result, { label, value, kind }) {
  const points = result.rows.filter((row) => row[value] !== null).map((row) => [String(row[label] ?? "null"), Number(row[value])]);
  const said = `${result.columns[value]} by ${result.columns[label]}`;
  const drawn = kind === "line" ? line([...points].sort((a, b) => a[0].localeCompare(b[0]))) : bars(points.slice(0, MOST));
  const more = kind === "bars" && points.length > MOST ? `, the first ${MOST} of ${points.length}` : "";
  drawn.setAttribute("aria-label", `Chart of ${said}`);
  return h("figure", { class: "chart" }, drawn, h("figcaption", { class: "small muted" }, said, more));
}

function bars(points) {
  const low = Math.min(0, ...points.map(([, value]) => value)), high = Math.max(0, ...points.map(([, value]) => value));
  const scale = (value) => LABEL + ((value - low) / (high - low || 1)) * (WIDTH - LABEL - 80);
  return s("svg", { viewBox: `0 0 ${WIDTH} ${points.length * BAR}`, role: "img" }, points.map(([name, value], at) => s("g", { class: "bar-of" },
    s("title", {}, `${name}: ${value}`),
    s("text", { x: LABEL - 8, y: at * BAR + 15, "text-anchor": "end" }, middleCut(name, 22)),
    s("rect", { x: Math.min(scale(0), scale(value)), y: at * BAR + 3, width: Math.max(1, Math.abs(scale(value) - scale(0))), height: BAR - 6, rx: 3 }),
    s("text", { x: Math.max(scale(0), scale(value)) + 6, y: at * BAR + 15 }, value.toLocaleString("en")))));
}

function line(points) {
  const values = points.map(([, value]) => value), low = Math.min(0, ...values), high = Math.max(...values);
  const x = (at) => 60 + (at / Math.max(1, points.length - 1)) * (WIDTH - 90);
  const y = (value) => HIGH - 30 - ((value - low) / (high - low || 1)) * (HIGH - 50);
  const marks = [...new Set([0, Math.floor((points.length - 1) / 2), points.length - 1])];
  return s("svg", { viewBox: `0 0 ${WIDTH} ${HIGH}`, role: "img" },
    [low, high].map((value) => s("g", {}, s("line", { class: "grid", x1: 60, x2: WIDTH - 30, y1: y(value), y2: y(value) }),
      s("text", { x: 54, y: y(value) + 4, "text-anchor": "end" }, value.toLocaleString("en", { notation: "compact" })))),
    s("polyline", { class: "trend", points: points.map(([, value], at) => `${x(at)},${y(value)}`).join(" ") }),
    points.length <= 60 ? points.map(([name, value], at) => s("circle", { cx: x(at), cy: y(value), r: 3.5 }, s("title", {}, `${name}: ${value}`))) : null,
    marks.map((at) => s("text", { x: x(at), y: HIGH - 8, "text-anchor": "middle" }, points[at][0].slice(0, 10))));
}
