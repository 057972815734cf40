// What models say about the corrupted picture, and where they fail on the way through the severities.
import { at, element, percent } from "./shared.js";

const NS = "http://www.w3.org/2000/svg";
const svg = (tag, attributes, ...children) => {
  const made = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
};
const cards = new Map(); // by name of the model, so that dragging moves bars instead of making them anew

// The card of a model, whichever is known first: what it says, or where it fails.
const cardOf = (name) => {
  if (!cards.has(name)) {
    const card = { verdict: element("p", { class: "verdict" }), bars: element("ol", { class: "bars" }), way: element("div", { class: "way" }) };
    cards.set(name, card);
    at("models").append(element("article", { class: "model" }, element("h3", {}, name), card.verdict, card.bars, card.way));
  }
  return cards.get(name);
};

export const drawAnswers = (models) => {
  at("models").hidden = !models.length;
  for (const model of models) {
    const card = cardOf(model.name);
    card.verdict.classList.toggle("wrong", Boolean(model.error) || !model.right);
    if (model.error) {
      card.verdict.textContent = model.error;
      card.bars.replaceChildren();
      continue;
    }
    const [first] = model.top;
    const still = model.known ? (model.right ? "right" : "wrong") : model.right ? "as when clean" : `not ${model.clean.class} any more`;
    card.verdict.textContent = `${first.class}, ${percent(first.share)} sure: ${still}`;
    card.bars.replaceChildren(...model.top.map((each) => element("li", { class: each.wanted ? "wanted" : null },
      element("span", { class: "class" }, each.class),
      element("span", { class: "bar", style: `--share: ${each.share}` }),
      element("span", { class: "share" }, percent(each.share)))));
  }
};

// The share of the right class over severity, with a mark where the model fails first.
export const drawFailures = (models, title, severity) => {
  for (const model of models) {
    if (model.error) continue;
    cardOf(model.name).way.replaceChildren(curve(model, title, severity), element("p", { class: "note" }, model.sentence));
  }
  if (!models.length) for (const card of cards.values()) card.way.replaceChildren();
};

const WIDTH = 280;
const HEIGHT = 84;
const LEFT = 4;
const BOTTOM = 16;
const curve = ({ points, highest, failure, sentence }, title, severity) => {
  const x = (value) => LEFT + ((WIDTH - 2 * LEFT) * value) / highest;
  const y = (share) => 4 + (HEIGHT - BOTTOM - 4) * (1 - share);
  const line = points.map(([at_, share], k) => `${k ? "L" : "M"}${x(at_).toFixed(1)} ${y(share).toFixed(1)}`).join("");
  const marks = [];
  if (failure !== null) {
    marks.push(svg("rect", { class: "failed", x: x(failure), y: 4, width: Math.max(0, x(highest) - x(failure)), height: HEIGHT - BOTTOM - 4 }));
    marks.push(svg("line", { class: "failure", x1: x(failure), x2: x(failure), y1: 4, y2: HEIGHT - BOTTOM }));
  }
  if (severity !== null) marks.push(svg("line", { class: "now", x1: x(severity), x2: x(severity), y1: 4, y2: HEIGHT - BOTTOM }));
  const ticks = [...Array(highest + 1).keys()].map((tick) => svg("text", { x: x(tick), y: HEIGHT - 3, "text-anchor": tick === 0 ? "start" : tick === highest ? "end" : "middle" }, String(tick)));
  return svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, role: "img", "aria-label": `Certainty of the right class by severity of ${title}. ${sentence}` },
    svg("line", { class: "ground", x1: LEFT, x2: WIDTH - LEFT, y1: HEIGHT - BOTTOM, y2: HEIGHT - BOTTOM }),
    ...marks, svg("path", { class: "share", d: line }), ...points.map(([at_, share]) => svg("circle", { cx: x(at_), cy: y(share), r: 2.2 })), ...ticks);
};
