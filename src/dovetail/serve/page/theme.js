// Light or dark: as the system has it, until somebody chooses; the choice stays in this browser.

const KEY = "dovetail-theme";
const system = matchMedia("(prefers-color-scheme: dark)");

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : system.matches;
}

export function setUpTheme(button, changed) {
  const chosen = localStorage.getItem(KEY);
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  const tell = () => {
    button.textContent = isDark() ? "Light" : "Dark";
    button.setAttribute("aria-label", isDark() ? "Switch to the light theme" : "Switch to the dark theme");
    changed();
  };
  button.addEventListener("click", () => {
    const next = isDark() ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    localStorage.setItem(KEY, next);
    tell();
  });
  system.addEventListener("change", tell);
  tell();
}

// A colour of the theme as a canvas takes it.
export function colours(names) {
  const sample = document.createElement("span");
  document.body.append(sample);
  const found = Object.fromEntries(names.map((name) => {
    sample.style.color = `var(--${name})`;
    return [name, getComputedStyle(sample).color];
  }));
  sample.remove();
  return found;
}
