// The REST interface as functions. A token, if the server wants one, is kept for this tab alone.

const KEY = "dovetail-token";
const ROOT = "api/v1/";

export class Problem extends Error {
  constructor(status, detail, retryAfter) {
    super(detail);
    this.status = status;
    this.retryAfter = retryAfter;
  }
}

let askForToken = null;

// `ask` shows a dialog and resolves to a token, or to null where nobody gives one.
export function onMissingToken(ask) {
  askForToken = ask;
}

function headers(more) {
  const token = sessionStorage.getItem(KEY);
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

async function send(path, options = {}, tried = false) {
  let reply;
  try {
    reply = await fetch(path, { ...options, headers: headers(options.headers ?? {}), cache: "no-store" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "The server does not answer. Is dovetail serve still running?");
  }
  if (reply.ok) return reply;
  if (reply.status === 401 && askForToken) {
    const token = await askForToken(tried || sessionStorage.getItem(KEY) !== null);
    if (token === null) throw new Problem(401, "This server needs a token.");
    sessionStorage.setItem(KEY, token);
    return send(path, options, true);
  }
  const body = await reply.json().catch(() => ({}));
  throw new Problem(reply.status, body.detail ?? reply.statusText, Number(reply.headers.get("retry-after")) || 0);
}

function query(values) {
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  return given.length ? `?${new URLSearchParams(given)}` : "";
}

export async function get(path, values = {}, signal) {
  return (await send(`${ROOT}${path}${query(values)}`, { signal })).json();
}

export async function post(path, body, signal) {
  const reply = await send(`${ROOT}${path}`, {
    method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" }, signal,
  });
  return reply.json();
}

// A reply as a file to keep.
export async function file(path, body, name) {
  const reply = await send(`${ROOT}${path}`, { method: "POST", body: JSON.stringify(body), headers: { "content-type": "application/json" } });
  const url = URL.createObjectURL(await reply.blob());
  const link = document.createElement("a");
  Object.assign(link, { href: url, download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

export async function remove(path, values) {
  return (await send(`${ROOT}${path}${query(values)}`, { method: "DELETE" })).json();
}

export const table = (id, signal) => get(`tables/${encodeURIComponent(id)}`, {}, signal);

// Server-sent events by way of fetch: an EventSource cannot carry a token.
export async function* events(path, values, signal) {
  const reply = await send(`${ROOT}${path}${query(values)}`, { signal });
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    let read;
    try {
      read = await reader.read();
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Problem(0, "The server broke off. Is dovetail serve still running?");
    }
    if (read.done) return;
    rest += read.value;
    const complete = rest.split("\n\n");
    rest = complete.pop();
    for (const event of complete) {
      const name = /^event: (.*)$/m.exec(event)?.[1];
      const data = JSON.parse(/^data: (.*)$/m.exec(event)?.[1] ?? "null");
      if (name === "problem") throw new Problem(data.status, data.detail);
      yield [name, data];
    }
  }
}
