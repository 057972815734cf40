// The page: it asks what there is, shows a tab for every view, and opens the one that the address names.
import { ask, at, complain, element, remember, remembered } from "./shared.js";
import { openCorruptions } from "./corruptions.js";

const TITLES = { corruptions: "Corruptions", evaluation: "Evaluation", overlap: "Overlaps", report: "Report" };

const start = await ask("api/start");
at("version").textContent = start.version;
document.documentElement.dataset.ready = "no";

const opened = new Map();
const openers = {
  corruptions: () => openCorruptions(start),
  evaluation: async () => (await import("./evaluation.js")).openEvaluation(start.views.evaluation),
  overlap: async () => (await import("./overlap.js")).openOverlap(start.views.overlap, start),
  report: () => {
    const link = element("a", { href: "report", target: "_blank", rel: "noopener" }, "Open it alone");
    const note = element("p", { class: "note", role: "status" }, "The report is being made …");
    const made = () => note.replaceChildren(link, " to print or to keep it.");
    at("report").replaceChildren(note, element("iframe", { src: "report", title: "Report", onload: made }));
  },
};
const names = [...Object.keys(start.views), "corruptions"];

const show = async (name) => {
  for (const other of names) at(other).hidden = other !== name;
  for (const link of at("tabs").querySelectorAll("a")) {
    if (link.dataset.view === name) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.body.dataset.view = name;
  remember({ view: names.length > 1 ? name : null });
  try {
    if (!opened.has(name)) opened.set(name, openers[name]());
    await opened.get(name);
  } catch (error) {
    opened.delete(name);
    complain(error.message);
  }
};

at("tabs").append(...names.map((name) => element("li", {}, element("a", {
  href: `#view=${name}`,
  "data-view": name,
  onclick: (event) => {
    event.preventDefault();
    show(name);
  },
}, TITLES[name]))));
at("tabs").hidden = names.length < 2;

// Other views send a picture or a corruption here by the address.
addEventListener("hashchange", async () => {
  const wanted = remembered();
  if (names.includes(wanted.view)) await show(wanted.view);
  if (document.body.dataset.view === "corruptions") (await opened.get("corruptions"))?.turn(wanted);
});

await show(names.includes(remembered().view) ? remembered().view : names[0]);
document.documentElement.dataset.ready = "yes";
