// What all views share: questions to the server, elements, and tables whose cells are chosen by pointer or arrow keys.

export const at = (id) => document.getElementById(id);

// An element with attributes and children; text is text, never HTML.
export const element = (tag, attributes = {}, ...children) => {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
};

// Text whose `words` in backticks are names of parameters.
export const marked = (text) => text.split("`").map((part, place) => (place % 2 ? element("code", {}, part) : part));
export const option = (value, text) => element("option", { value }, text ?? value);
export const percent = (share) => `${(100 * share).toFixed(share > 0.0995 ? 0 : 1)}\u00a0%`;
export const words = (about) => new URLSearchParams(
  Object.entries(about).filter(([, value]) => value !== null && value !== undefined && value !== ""),
).toString();
export const addressOf = (path, about) => `api/${path}?${words(about)}`;

// --- questions: if the server is away (a closed laptop, a restart), they wait until it is back -------------------------

export class Refused extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}

const trouble = at("trouble");
export const complain = (text) => {
  trouble.textContent = text ?? "";
  trouble.hidden = !text;
};

const awake = (milliseconds) => new Promise((done) => {
  const events = [[window, "online"], [window, "focus"], [document, "visibilitychange"]];
  const wake = () => {
    clearTimeout(timer);
    for (const [where, kind] of events) where.removeEventListener(kind, wake);
    done();
  };
  const timer = setTimeout(wake, milliseconds);
  for (const [where, kind] of events) where.addEventListener(kind, wake);
});

export const ask = async (path, options = {}) => {
  for (let wait = 500; ; wait = Math.min(2 * wait, 8000)) {
    try {
      const answer = await fetch(path, options);
      const content = await answer.json();
      if (!answer.ok) throw new Refused(content.error, answer.status);
      if (wait > 500) complain(null);
      return content;
    } catch (error) {
      if (error instanceof Refused || error.name === "AbortError") throw error;
      complain("The explorer does not answer. If it has ended, start it again and open its new address; otherwise it will be back in a moment.");
      await awake(wait);
    }
  }
};

// Runs one job at a time. Of those that come meanwhile only the last is run, so that a dial is never behind.
export const latest = (job) => {
  let busy = false;
  let next = null;
  return async function run(...about) {
    if (busy) {
      next = about;
      return;
    }
    busy = true;
    try {
      await job(...about);
    } catch (error) {
      complain(error.message);
    } finally {
      busy = false;
    }
    if (next) {
      const again = next;
      next = null;
      run(...again);
    }
  };
};

// --- the state of a view is in the address, so that a reload and a second tab begin where this one is -----------------

export const remembered = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
export const remember = (about) => history.replaceState(null, "", `#${words({ ...remembered(), ...about })}`);
export const forget = (...names) => {
  const kept = Object.entries(remembered()).filter(([name]) => !names.includes(name));
  history.replaceState(null, "", `#${words(Object.fromEntries(kept))}`);
};

// --- tables of cells ----------------------------------------------------------------------------------------------------

const tip = at("tip");
const label = (cell) => {
  tip.textContent = cell.dataset.tip;
  tip.hidden = false;
  const box = cell.getBoundingClientRect();
  const left = box.left + box.width / 2 - tip.offsetWidth / 2;
  const above = box.top - tip.offsetHeight - 6;
  tip.style.left = `${Math.max(8, Math.min(left, document.documentElement.clientWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${above < 8 ? box.bottom + 6 : above}px`;
};
addEventListener("scroll", () => { tip.hidden = true; }, { passive: true, capture: true });

const STEPS = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };

// Cells with data-tip show it; a click, Enter or Space chooses one.
export const choosable = (table, choose) => {
  const cellAt = (event) => event.target.closest("td[data-tip]");
  const cells = [...table.querySelectorAll("td[data-tip]")];
  const rows = [...new Set(cells.map((cell) => cell.parentNode))];
  cells.forEach((cell, place) => { cell.tabIndex = place ? -1 : 0; });
  const focus = (cell) => {
    for (const other of cells) other.tabIndex = -1;
    cell.tabIndex = 0;
    cell.focus();
  };
  for (const kind of ["mouseover", "focusin"]) {
    table.addEventListener(kind, (event) => { if (cellAt(event)) label(cellAt(event)); });
  }
  for (const kind of ["mouseout", "focusout"]) table.addEventListener(kind, () => { tip.hidden = true; });
  table.addEventListener("click", (event) => {
    if (!cellAt(event)) return;
    focus(cellAt(event));
    choose(cellAt(event));
  });
  table.addEventListener("keydown", (event) => {
    const cell = cellAt(event);
    if (event.key === "Escape") tip.hidden = true;
    if (cell && (event.key === "Enter" || event.key === " ")) {
      event.preventDefault();
      choose(cell);
    }
    if (!cell || !(event.key in STEPS)) return;
    const [down, right] = STEPS[event.key];
    const row = rows[rows.indexOf(cell.parentNode) + down];
    const next = row && [...row.querySelectorAll("td")][[...cell.parentNode.querySelectorAll("td")].indexOf(cell) + right];
    event.preventDefault();
    if (next && "tip" in next.dataset) focus(next);
  });
};

export const mark = (table, cell) => {
  for (const other of table.querySelectorAll("[aria-current]")) other.removeAttribute("aria-current");
  cell?.setAttribute("aria-current", "true");
};

export const colourScale = (scale) => element("div", { class: "scale", "aria-hidden": "true" },
  element("span", {}, scale.low),
  element("div", { class: "strip" }, ...scale.steps.map((step) => element("span", { class: step }))),
  element("span", {}, scale.high));
