"use strict";
// Sorts tables, switches models, shows labels of cells, and has Plotly draw the figures in the page's own colours.
(() => {
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // --- sorting: a click on a header, or Enter and Space on its button; a second time turns the order around ----------

  const valueOf = (row, column) => {
    const cell = row.cells[column];
    return "value" in cell.dataset ? Number(cell.dataset.value) : cell.textContent.trim();
  };
  const compare = (a, b) => {
    if (typeof a === "string") return a.localeCompare(b);
    if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b);
    return a - b;
  };
  for (const button of all("th button")) {
    button.addEventListener("click", () => {
      const header = button.closest("th");
      const table = header.closest("table");
      const order = header.getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
      for (const other of all("thead th[aria-sort]", table)) other.setAttribute("aria-sort", "none");
      header.setAttribute("aria-sort", order);
      const body = table.tBodies[0];
      const sign = order === "ascending" ? 1 : -1;
      const column = header.cellIndex;
      body.append(...[...body.rows].sort((a, b) => sign * compare(valueOf(a, column), valueOf(b, column))));
    });
  }

  // --- models: all panels are in the page, and one of each kind is shown ----------------------------------------------

  const switches = all(".switch select");
  const show = (model) => {
    for (const panel of all(".panel")) panel.hidden = panel.dataset.model !== model;
    for (const each of switches) each.value = model;
  };
  for (const each of switches) {
    each.addEventListener("change", () => {
      show(each.value);
      redraw();
    });
  }
  if (switches.length) show(switches[0].value);

  // --- labels of cells: by pointer, or with the arrow keys once a table has the focus ---------------------------------

  const tip = document.getElementById("tip");
  let labelled = null;
  const hide = () => { tip.hidden = true; };
  const label = (cell) => {
    labelled = cell;
    tip.textContent = cell.dataset.tip;
    tip.hidden = false;
    const box = cell.getBoundingClientRect();
    const left = box.left + box.width / 2 - tip.offsetWidth / 2;
    const above = box.top - tip.offsetHeight - 6;
    tip.style.left = `${Math.max(8, Math.min(left, document.documentElement.clientWidth - tip.offsetWidth - 8))}px`;
    tip.style.top = `${above < 8 ? box.bottom + 6 : above}px`;
  };
  const steps = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  const cellAt = (event) => event.target.closest("td[data-tip]");
  for (const table of all(".heat")) {
    const cells = all("td[data-tip]", table);
    const rows = [...new Set(cells.map((cell) => cell.parentNode))];
    cells.forEach((cell, place) => { cell.tabIndex = place ? -1 : 0; });
    for (const kind of ["mouseover", "focusin"]) {
      table.addEventListener(kind, (event) => { if (cellAt(event)) label(cellAt(event)); });
    }
    for (const kind of ["mouseout", "focusout"]) table.addEventListener(kind, hide);
    table.addEventListener("click", (event) => cellAt(event)?.focus());
    table.addEventListener("keydown", (event) => {
      const cell = cellAt(event);
      if (event.key === "Escape") hide();
      if (!cell || !(event.key in steps)) return;
      const [down, right] = steps[event.key];
      const row = rows[rows.indexOf(cell.parentNode) + down];
      const next = row && all("td", row)[all("td", cell.parentNode).indexOf(cell) + right];
      event.preventDefault();
      if (!next || !("tip" in next.dataset)) return;
      cell.tabIndex = -1;
      next.tabIndex = 0;
      next.focus();
    });
  }
  addEventListener("scroll", () => { if (!tip.hidden) label(labelled); }, { passive: true, capture: true });

  // --- figures: their colours are names such as "@ink" and "@series2/0.15", found in the colours of the day -----------

  const { figures, colours } = JSON.parse(document.getElementById("data").textContent);
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const resolve = (name, theme) => {
    const [colour, opacity] = name.slice(1).split("/");
    return theme[colour] + (opacity ? Math.round(opacity * 255).toString(16).padStart(2, "0") : "");
  };
  const paint = (value, theme, key = "") => {
    if (Array.isArray(value)) return value.map((each) => paint(each, theme, key));
    if (typeof value === "string") return /color(scale)?$/.test(key) && value[0] === "@" ? resolve(value, theme) : value;
    if (!value || typeof value !== "object") return value;
    return Object.fromEntries(Object.entries(value).map(([inner, each]) => [inner, paint(each, theme, inner)]));
  };
  const places = all(".chart");
  const isShown = (place) => !place.closest(".panel[hidden]");
  // When the page is about to be printed it still has the width of the screen. Half and whole lines of A4, in pixels:
  const onPaper = (place) => (place.closest(".plots") ? 330 : 680);
  // A scene fills its height, so that one that is not wide is looked at from further away.
  const stepBack = (scene, width, height) => {
    const { eye, ...rest } = scene.camera;
    const far = Math.max(1, (1.25 * height) / width);
    const moved = Object.fromEntries(Object.entries(eye).map(([axis, place]) => [axis, far * place]));
    return { ...scene, camera: { ...rest, eye: moved } };
  };
  const draw = (theme, paper) => places.filter((place) => paper || isShown(place)).map((place) => {
    const { data, layout } = figures[place.dataset.figure];
    const height = parseFloat(place.style.height); // one that is hidden has no other
    const size = paper ? { width: onPaper(place), height, autosize: false } : { autosize: true };
    const painted = paint(layout, theme);
    if (painted.scene) {
      const [across, up] = paper ? [size.width, height] : [place.clientWidth, place.clientHeight];
      painted.scene = stepBack(painted.scene, across, up);
    }
    return Plotly.react(place, paint(data, theme), { ...painted, ...size }, {
      displayModeBar: false, responsive: !paper, scrollZoom: false,
    });
  });
  const redraw = () => {
    // Browsers have room for a few figures in three dimensions only, so that those of other models are given up.
    for (const place of places) if (!isShown(place)) Plotly.purge(place);
    return Promise.all(draw(dark.matches ? colours.dark : colours.light, false));
  };
  const drawn = redraw();
  dark.addEventListener("change", redraw);
  addEventListener("beforeprint", () => draw(colours.light, true));
  addEventListener("afterprint", redraw);
  drawn.then(() => { document.documentElement.dataset.drawn = "yes"; });
})();
