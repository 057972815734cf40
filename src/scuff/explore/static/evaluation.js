// The view of an evaluation: heat map, the pictures behind a cell, and one picture through all cells.
import { addressOf, ask, at, choosable, colourScale, complain, element, latest, mark, option, percent, remember, remembered } from "./shared.js";

export const openEvaluation = (start) => {
  const wanted = remembered();
  const known = (names, name) => (names.includes(name) ? name : null);
  const state = {
    model: known(start.models, wanted.model) ?? start.models[0],
    other: known(start.models, wanted.other) ?? start.models[1] ?? "",
    cell: wanted.cell ?? null, // entry:severity
    kind: known(Object.keys(start.kinds), wanted.kind) ?? (start.kinds.broken ? "broken" : "wrong"),
    label: wanted.label ?? "",
  };
  const select = (key, title, options) => element("label", { class: "field" }, title, element("select", {
    id: `of-${key}`,
    onchange: (event) => {
      state[key] = event.target.value;
      if (key === "model") drawMap();
      look();
    },
  }, ...options));

  const heat = element("div", { id: "heat" });
  const head = element("h2", { id: "cell-title" });
  const cards = element("ul", { class: "cards", id: "cards" });
  const found = element("p", { class: "note", id: "found", role: "status" });
  const more = element("button", { type: "button", id: "more", onclick: () => add() }, "More");
  const play = element("a", { id: "play", href: "#" }, "Play with it");
  const through = element("dialog", { id: "through", "aria-labelledby": "through-title" });
  through.addEventListener("click", (event) => { if (event.target === through) through.close(); });
  const names = start.models.map((name) => option(name));
  const several = start.models.length > 1;
  at("evaluation").replaceChildren(
    element("h2", {}, start.title),
    start.note ? element("p", { class: "note" }, start.note) : "",
    element("div", { class: "split" },
      element("div", {},
        element("div", { class: "filters" }, several ? select("model", "Model", names) : "",
          several ? select("other", "Compared with", start.models.map((name) => option(name))) : ""),
        colourScale(start.scale), heat),
      element("div", { id: "behind" }, head,
        element("div", { class: "filters" },
          select("kind", "Pictures", Object.entries(start.kinds).map(([key, words]) => option(key, words))),
          select("label", "Class", [option("", "all classes"), ...start.classes.map((name, number) => option(number, name))])),
        found, cards, element("p", {}, more))),
    through);

  const drawMap = () => {
    const clean = start.clean[state.model];
    const table = element("table", { class: `heat${start.levels.length === 1 ? " narrow" : ""}`, style: `--columns: ${start.levels.length}` },
      element("caption", {}, `Error in per cent${clean === null ? "" : `; clean ${(100 * clean).toFixed(1)}`}. Choose a cell to see its pictures.`),
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "Corruption"),
        ...start.levels.map((level) => element("th", { scope: "col" }, level ? String(level) : "error")))),
      ...start.maps[state.model].map((group) => element("tbody", {},
        group.family ? element("tr", { class: "family" }, element("th", { scope: "rowgroup", colspan: start.levels.length + 1 }, group.family)) : "",
        ...group.rows.map((row) => element("tr", {}, element("th", { scope: "row" }, row.name),
          ...row.cells.map((cell, place) => (cell
            ? element("td", { class: cell.shade, "data-tip": cell.tip, "data-cell": `${row.entry}:${start.levels[place]}`, "data-name": row.name }, cell.text)
            : element("td", { class: "absent" }, "–"))))))));
    choosable(table, (cell) => {
      state.cell = cell.dataset.cell;
      look();
      if (matchMedia("(max-width: 60rem)").matches) head.scrollIntoView({ block: "start" });
    });
    heat.replaceChildren(table);
  };

  const cellOf = () => [...heat.querySelectorAll("td[data-cell]")].find((cell) => cell.dataset.cell === state.cell);
  const about = () => {
    const [entry, severity] = state.cell.split(":");
    return { model: state.model, entry, severity, kind: state.kind, label: state.label, other: state.other === state.model ? "" : state.other };
  };
  const look = latest(async () => {
    const cell = cellOf() ?? worst();
    if (!cell) return;
    state.cell = cell.dataset.cell;
    mark(heat, cell);
    for (const key of ["model", "other", "kind", "label"]) if (at(`of-${key}`)) at(`of-${key}`).value = state[key];
    remember(state);
    const asked = about();
    const answer = await ask(addressOf("evaluation/cell", asked));
    complain(null);
    const name = `${cell.dataset.name}${asked.severity === "0" ? "" : `, severity ${asked.severity}`}`;
    play.href = `#view=corruptions&suite=${start.suite}&entry=${asked.entry}${asked.severity === "0" ? "" : `&severity=${asked.severity}`}`;
    head.replaceChildren(name, " ", play);
    found.textContent = `${asked.model} is wrong about ${answer.wrong} of ${answer.count}. Shown: ${answer.found}, surest mistakes first.`;
    cards.replaceChildren(...answer.cards.map(card));
    more.hidden = answer.found <= answer.cards.length;
    document.documentElement.dataset.cell = JSON.stringify(asked);
  });
  const add = latest(async () => {
    const answer = await ask(addressOf("evaluation/cell", { ...about(), first: cards.children.length }));
    cards.append(...answer.cards.map(card));
    more.hidden = answer.found <= cards.children.length;
  });
  const worst = () => [...heat.querySelectorAll("td[data-cell]")].reduce(
    (most, cell) => (most && Number(most.textContent) >= Number(cell.textContent) ? most : cell), null);

  const picture = (image, entry, severity, alt) => element("img", {
    src: addressOf("evaluation/seen", { image, entry, severity }), alt, loading: "lazy", onload: (event) => {
      event.target.classList.toggle("small", event.target.naturalWidth <= 96);
    },
  });
  const says = (answer, who) => element("span", { class: answer.right ? "right" : "wrong" },
    `${who ? `${who}: ` : ""}${answer.right ? "✓" : "✗"} ${answer.class}${answer.sure === null ? "" : `, ${percent(answer.sure)}`}`);
  const card = (each) => {
    const { entry, severity, other } = about();
    const alt = `${each.label}, corrupted`;
    const pictures = start.note ? [] : [
      ...(start.has_clean ? [picture(each.image, "clean", 0, `${each.label}, clean`)] : []), picture(each.image, entry, severity, alt)];
    return element("li", {}, element("button", { type: "button", class: "card", title: "Through all cells", onclick: () => open(each) },
      element("span", { class: "pair" }, ...pictures),
      element("span", { class: "label" }, each.label),
      says(each), each.other ? says(each.other, other) : "",
      each.clean ? element("span", { class: "note" }, `clean: ${each.clean.right ? "✓" : "✗"} ${each.clean.class}`) : "",
      element("span", { class: "note name" }, each.name)));
  };

  // --- one picture through all cells ------------------------------------------------------------------------------------

  const open = async (each) => {
    try {
      const answer = await ask(addressOf("evaluation/through", { model: state.model, image: each.image }));
      const cell = (row, level) => {
        const its = row.cells[level];
        if (!its) return element("td", {});
        const text = `${row.name}${level ? `, severity ${level}` : ""}\n${its.right ? "right" : "wrong"}: ${its.class}${its.sure === null ? "" : `, ${percent(its.sure)} sure`}`;
        return element("td", { class: its.right ? "right" : "wrong", "data-tip": text, "data-cell": `${row.entry}:${level}` },
          start.note ? "" : picture(each.image, row.entry, level, text), element("span", {}, `${its.right ? "✓" : "✗"} ${its.class}`));
      };
      const table = element("table", { class: "filmstrip" },
        element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "Corruption"), ...start.levels.map((level) => element("th", { scope: "col" }, level ? String(level) : "")))),
        element("tbody", {}, ...answer.rows.map((row) => element("tr", {}, element("th", { scope: "row" }, row.name), ...start.levels.map((level) => cell(row, level))))));
      choosable(table, (chosen) => {
        through.close();
        state.cell = chosen.dataset.cell;
        look();
      });
      const all = answer.rows.flatMap((row) => Object.values(row.cells));
      const sure = answer.clean?.sure === null ? "" : ` (${percent(answer.clean?.sure)} sure)`;
      const clean = answer.clean ? `says ${answer.clean.class}${sure} about the clean picture, and ` : "";
      const words = `${state.model} ${clean}is right in ${all.filter(({ right }) => right).length} of ${all.length} cells. `;
      through.replaceChildren(
        element("div", { class: "top" }, element("h2", { id: "through-title" }, `${answer.label} through all cells`),
          element("button", { type: "button", onclick: () => through.close(), autofocus: true }, "Close")),
        element("p", {}, each.name ? `${each.name}: ` : "", words,
          answer.position === null ? "" : element("a", { href: `#view=corruptions&picture=data-${answer.position}`, onclick: () => through.close() }, "Play with this picture")),
        element("div", { class: "scroll" }, table));
      through.showModal();
    } catch (error) {
      complain(error.message);
    }
  };

  drawMap();
  look();
};
