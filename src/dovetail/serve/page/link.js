// What is shown stands in the address, so that a link reproduces it: #/view/thing?setting=value

export function read() {
  const [path, values] = location.hash.replace(/^#\/?/, "").split("?");
  const [view, ...rest] = path.split("/");
  return {
    view: view || "ask",
    thing: decode(rest.join("/")),
    values: new URLSearchParams(values ?? ""),
  };
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a stray % in a link that somebody typed
  }
}

export function to(view, values = {}, thing = "") {
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const settings = given.length ? `?${new URLSearchParams(given)}` : "";
  return `#/${view}${thing ? `/${encodeURIComponent(thing)}` : ""}${settings}`;
}

export const toTable = (id) => to("table", {}, id);

// Change the address without showing anything anew.
export function rewrite(hash) {
  history.replaceState(null, "", hash);
}
