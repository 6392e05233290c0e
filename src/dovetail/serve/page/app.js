// The page: which view is shown, and what all of them share.

import { Problem, get, onMissingToken } from "./api.js";
import { AskView } from "./ask_view.js";
import { count, replace, say, setKnown } from "./dom.js";
import { DomainsView } from "./domains_view.js";
import { read } from "./link.js";
import { NotesView } from "./notes_view.js";
import { PileView } from "./pile_view.js";
import { problemNotice } from "./problem_notice.js";
import { TableView } from "./table_view.js";
import { TablesView } from "./tables_view.js";
import { setUpTheme } from "./theme.js";
import { askForToken } from "./token_dialog.js";

const VIEWS = { ask: AskView, domains: DomainsView, notes: NotesView, pile: PileView, table: TableView, tables: TablesView };
const main = document.getElementById("main");
const made = new Map();
let about = null;
let shown = null;
let generation = 0;
const FOLLOWED = 30000;

async function start() {
  try {
    const [known, stats] = await Promise.all([get("about"), get("stats")]);
    about = known;
    setKnown(about);
    tell(stats);
    route();
  } catch (error) {
    if (!(error instanceof Problem)) throw error;
    replace(main, problemNotice(error, start));
  }
}

function tell(stats) {
  generation = stats.generation;
  document.getElementById("counts").textContent = `${count(stats.tables, "table")} · ${count(stats.columns, "column")} · ${count(stats.sources, "source")}`;
}

// The header follows updates; what was shown before one stays until somebody asks anew.
async function follow() {
  if (about === null || document.hidden) return;
  const stats = await get("stats").catch(() => null);
  if (stats === null || stats.generation === generation) return;
  tell(stats);
  for (const [name, view] of made) if (view !== shown) made.delete(name);
  say("The catalog was updated: ask again to see it");
}

function route() {
  if (about === null) return;
  const link = read();
  const name = link.view in VIEWS ? link.view : "ask";
  if (!made.has(name)) made.set(name, new VIEWS[name](about));
  const view = made.get(name);
  if (view !== shown) {
    shown?.hide?.();
    main.classList.toggle("wide", Boolean(view.wide));
    replace(main, view.element);
    scrollTo(0, 0);
  }
  shown = view;
  for (const entry of document.querySelectorAll("#nav a")) {
    const own = entry.getAttribute("href").slice(2);
    if (own === name || (own === "tables" && ["table", "pile"].includes(name))) entry.setAttribute("aria-current", "page");
    else entry.removeAttribute("aria-current");
  }
  view.show(link);
}

onMissingToken(askForToken);
setUpTheme(document.getElementById("theme"), () => shown?.themed?.());
document.getElementById("skip").addEventListener("click", () => main.focus());
addEventListener("hashchange", route);
document.addEventListener("visibilitychange", follow);
setInterval(follow, FOLLOWED);
start();
