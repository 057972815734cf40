// The view of an overlap study: the matrix, and a strip of pictures of both corruptions of a pair.
import { addressOf, at, choosable, colourScale, element, mark, remember, remembered } from "./shared.js";

const DRAWS = 5;
const SIZE = 128; // pixels on the page
const LARGEST = 224; // of a picture
const SMALL = 96; // up to that size, pixels are to be seen one by one

export const openOverlap = (study, start) => {
  const heads = study.groups.flatMap((group, number) => group.names.map((name, place) => ({ name, number, isFirst: place === 0 })));
  const pair = element("div", { id: "pair" });
  let row = -1;
  const table = element("table", { class: `heat matrix${study.numbered ? " numbered" : ""}`, style: `--columns: ${study.width}; --groups: ${study.groups.length}` },
    element("caption", {}, study.caption, ". Choose a cell to see both corruptions."),
    element("thead", {},
      element("tr", {}, element("td", { colspan: 2 }), ...study.groups.map((group) => element("th", { class: "group", scope: "colgroup", colspan: group.names.length }, group.name))),
      element("tr", {}, element("td", { colspan: 2, class: "corner" }, "category"),
        ...heads.map((head) => element("th", { scope: "col", class: head.isFirst ? "first" : null }, element("span", {}, head.name))))),
    ...study.groups.map((group) => element("tbody", {}, ...group.names.map((name, place) => {
      row += 1;
      const across = row;
      return element("tr", {},
        place === 0 ? element("th", { class: "group", scope: "rowgroup", rowspan: group.names.length }, group.name) : "",
        element("th", { scope: "row" }, name),
        ...study.rows[row].map((cell, column) => element("td", {
          class: `${cell.shade}${heads[column].isFirst ? " first" : ""}`, "data-tip": cell.tip, "data-pair": `${across}:${column}`,
        }, cell.text)));
    }))));

  const strip = (corruption) => {
    const known = start.suites.find(({ name }) => name === corruption.suite)?.entries.find(({ name }) => name === corruption.entry);
    // At the size that the suite is made for, since corruptions look another way at others; images of a source as they are.
    const size = start.data ? null : Math.min(known?.size ?? SIZE, LARGEST);
    const about = { picture: start.picture, size, suite: corruption.suite, entry: corruption.entry };
    const turns = corruption.levels
      ? [...Array(corruption.levels).keys()].map((level) => ({ severity: level + 1, draws: "shared" }))
      : [...Array(DRAWS).keys()].map((seed) => ({ seed }));
    const words = corruption.levels ? "severities 1 to " + corruption.levels : `${DRAWS} draws`;
    return element("figure", {},
      element("figcaption", {}, element("strong", {}, corruption.title), ` ${words} `,
        known ? element("a", { href: `#view=corruptions&suite=${corruption.suite}&entry=${corruption.entry}` }, "Play with it") : ""),
      element("div", { class: "strip" }, ...(known ? turns.map((turn) => element("img", {
        src: addressOf("picture", { ...about, ...turn }), width: SIZE, height: SIZE, loading: "lazy",
        onload: (event) => event.target.classList.toggle("small", event.target.naturalWidth <= SMALL),
        alt: `${corruption.title}, ${corruption.levels ? `severity ${turn.severity}` : `draw ${turn.seed + 1}`}`,
      })) : [element("p", { class: "note" }, "Its suite is not here, so that there are no pictures of it.")])));
  };
  const choose = (cell) => {
    mark(table, cell);
    const [a, b] = cell.dataset.pair.split(":").map(Number);
    remember({ pair: cell.dataset.pair });
    const lines = cell.dataset.tip.split("\n");
    pair.replaceChildren(element("h2", {}, lines[0]), element("ul", { class: "facts" }, ...lines.slice(1).map((line) => element("li", {}, line))),
      strip(study.corruptions[a]), ...(a === b ? [] : [strip(study.corruptions[b])]));
  };
  choosable(table, (cell) => {
    choose(cell);
    pair.scrollIntoView({ block: "nearest" });
  });
  at("overlap").replaceChildren(colourScale(study.scale), element("div", { class: "scroll" }, table), pair);

  // The pair that overlaps most is shown first.
  const cells = [...table.querySelectorAll("td[data-pair]")].filter((cell) => !Number.isNaN(Number(cell.textContent)));
  const apart = cells.filter((cell) => new Set(cell.dataset.pair.split(":")).size === 2);
  const wanted = cells.find((cell) => cell.dataset.pair === remembered().pair);
  const most = apart.reduce((best, cell) => (best && Number(best.textContent) >= Number(cell.textContent) ? best : cell), null);
  if (wanted ?? most) choose(wanted ?? most);
};
