// The view to play with: a dial, four pictures, and what models see meanwhile.
import { addressOf, ask, at, complain, element, forget, latest, marked, option, remember, remembered } from "./shared.js";
import { drawAnswers, drawFailures } from "./models.js";

const SIZES = [32, 64, 96, 128, 224, 384, 512, 1024];
const REST = 350; // milliseconds without a turn, after which failures are looked for
const SMALL = 128; // pictures up to that size are enlarged without smoothing

export const openCorruptions = (start) => {
  const state = { picture: start.picture, suite: start.suites[0].name, entry: null, severity: null, seed: 0, size: null, draws: "shared" };
  let dropped = null; // the user's own picture, in case the server lets go of it
  let timer = null;

  const suite = () => start.suites.find(({ name }) => name === state.suite);
  const entry = () => suite().entries.find(({ name }) => name === state.entry);
  const isWhole = (dial) => Number.isInteger(dial.step);

  // --- what is chosen ---------------------------------------------------------------------------------------------------

  const choose = (wanted) => {
    const before = state.entry === null ? null : entry();
    if (start.suites.some(({ name }) => name === wanted.suite)) state.suite = wanted.suite;
    const entries = suite().entries;
    const named = [wanted.entry, state.entry].find((name) => entries.some((each) => each.name === name));
    state.entry = named ?? entries[0].name;
    const { dial, size } = entry();
    if (wanted.size !== undefined) state.size = Number(wanted.size) || null;
    else if (wanted.suite !== undefined && wanted.entry === undefined) state.size = null;
    state.size ??= start.data && state.picture.startsWith("data-") ? null : size;
    if (wanted.severity === "drawn") state.severity = null;
    else if (wanted.severity !== undefined) state.severity = Number(wanted.severity);
    else if (entry() !== before && !(dial?.levels && before?.dial?.levels === dial.levels)) state.severity = dial?.start;
    // Another corruption keeps the place of the dial where both have levels.
    if (!dial) state.severity = null;
    else if (state.severity !== null) state.severity = Math.min(dial.high, Math.max(dial.low, state.severity));
    if (state.severity === null && dial && !dial.may_draw) state.severity = dial.start;
    if (wanted.seed !== undefined) state.seed = Math.max(0, Math.trunc(Number(wanted.seed)) || 0);
    if (wanted.picture) state.picture = wanted.picture;
    if (wanted.draws !== undefined) state.draws = wanted.draws;
    showChoice();
    look();
  };
  const showChoice = () => {
    const { dial, text, title, reference, size } = entry();
    at("suite").value = state.suite;
    const groups = Map.groupBy ? Map.groupBy(suite().entries, ({ group }) => group) : grouped(suite().entries);
    at("entry").replaceChildren(...[...groups].map(([group, entries]) => element("optgroup", { label: group },
      ...entries.map((each) => option(each.name, each.title)))));
    at("entry").value = state.entry;
    const sizes = [...new Set([...SIZES, size, ...(state.size ? [state.size] : [])])].sort((a, b) => a - b);
    at("size").replaceChildren(option("", "as it is"), ...sizes.map((each) => option(each, `${each} px`)));
    at("size").value = state.size ?? "";
    at("seed").value = state.seed;
    if (state.picture.startsWith("data-")) at("place").value = state.picture.slice(5);
    at("back").hidden = !state.picture.startsWith("own-");
    at("dial").hidden = !dial;
    if (dial) {
      at("dial-name").textContent = dial.name;
      Object.assign(at("severity"), { min: dial.low, max: dial.high, step: dial.step });
      at("severity").value = state.severity ?? dial.start;
      at("severity").disabled = state.severity === null;
      at("draw-field").hidden = !dial.may_draw;
      at("draw").checked = state.severity === null;
      at("shared-field").hidden = !dial.levels;
      at("shared").checked = state.draws === "shared";
      const ticks = dial.levels ? [...Array(dial.levels + 1).keys()] : [dial.low, dial.high];
      at("ticks").replaceChildren(...ticks.map((tick) => element("span", {}, String(tick))));
    }
    at("about-title").textContent = title;
    at("about").replaceChildren(...text.map((paragraph) => element("p", {}, ...marked(paragraph))));
    at("reference").textContent = reference ? `Reference: ${reference}` : "";
    at("reference").hidden = !reference;
    showValue();
  };
  const grouped = (entries) => {
    const groups = new Map();
    for (const each of entries) groups.set(each.group, [...(groups.get(each.group) ?? []), each]);
    return groups;
  };
  const showValue = () => {
    const { dial } = entry();
    const digits = dial && isWhole(dial) ? 0 : Math.max(0, Math.min(4, Math.ceil(-Math.log10(dial?.step ?? 1))));
    at("value").textContent = state.severity === null ? "drawn" : state.severity.toFixed(digits);
  };

  // --- what is seen -----------------------------------------------------------------------------------------------------

  const question = () => ({ ...state, draws: entry().dial?.levels ? state.draws : null });
  const look = () => {
    remember({ ...state, severity: state.severity ?? "drawn", size: state.size ?? "0" });
    clearTimeout(timer);
    see();
    if (start.models.length) timer = setTimeout(search, REST);
  };
  const see = latest(async () => {
    const asked = question();
    let answer;
    try {
      answer = await ask(addressOf("corrupt", asked));
    } catch (error) {
      if (error.status !== 410) throw error;
      if (!dropped) {
        state.picture = start.picture;
        throw error;
      }
      await send(dropped);
      return;
    }
    complain(null);
    const { picture, size } = asked;
    const clean = addressOf("picture", { picture, size });
    if (at("clean").getAttribute("src") !== clean) at("clean").src = clean;
    for (const [name, address] of Object.entries(answer.pictures)) at(name).src = address;
    at("stage").classList.toggle("pixels", answer.side <= SMALL);
    at("title").textContent = answer.title;
    at("name").textContent = entry().title;
    at("at").textContent = answer.change ? `changed by ${answer.change.toFixed(1)} of 255` : "unchanged";
    at("gain").textContent = answer.gain > 1 ? `× ${answer.gain}` : "";
    at("sentences").textContent = answer.sentences.join(" ");
    at("parameters").replaceChildren(...answer.parameters.flatMap(([name, value]) => [
      element("dt", {}, name), element("dd", {}, value)]));
    at("line").textContent = answer.line;
    at("save-clean").href = clean;
    at("save").href = addressOf("picture", asked);
    if (answer.frames) at("severity").max = answer.frames - 1;
    drawAnswers(answer.models);
    document.documentElement.dataset.seen = JSON.stringify(asked);
  });
  const search = latest(async () => {
    const asked = question();
    const { models } = await ask(addressOf("failures", asked));
    if (JSON.stringify(asked) === JSON.stringify(question())) drawFailures(models, entry().title, state.severity);
  });

  // --- pictures of one's own --------------------------------------------------------------------------------------------

  const send = async (content) => {
    const { picture } = await ask("api/pictures", { method: "POST", body: content });
    dropped = content;
    choose({ picture, size: state.size ?? entry().size });
  };
  const take = async (files) => {
    const file = [...files].find(({ type }) => type.startsWith("image/")) ?? files[0];
    if (!file) return;
    try {
      if (file.size > start.most_bytes) throw new Error(`at most ${start.most_bytes >> 20} MB are taken`);
      await send(await file.arrayBuffer());
    } catch (error) {
      complain(`${file.name}: ${error.message}`);
    }
  };
  at("choose").addEventListener("click", () => at("file").click());
  at("file").addEventListener("change", () => {
    take(at("file").files);
    at("file").value = "";
  });
  at("back").addEventListener("click", () => choose({ picture: start.picture }));
  addEventListener("dragover", (event) => {
    event.preventDefault();
    at("over").hidden = false;
  });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) at("over").hidden = true; });
  addEventListener("drop", (event) => {
    event.preventDefault();
    at("over").hidden = true;
    take(event.dataTransfer.files);
  });
  addEventListener("paste", (event) => { if (event.clipboardData?.files.length) take(event.clipboardData.files); });

  // --- controls -----------------------------------------------------------------------------------------------------------

  const place = (step) => {
    const now = state.picture.startsWith("data-") ? Number(state.picture.slice(5)) : -1;
    choose({ picture: `data-${(now + step + start.data.count) % start.data.count}` });
  };
  at("suite").replaceChildren(...start.suites.map(({ name }) => option(name)));
  at("controls").addEventListener("submit", (event) => event.preventDefault());
  at("suite").addEventListener("change", () => choose({ suite: at("suite").value }));
  at("entry").addEventListener("change", () => choose({ entry: at("entry").value }));
  at("size").addEventListener("change", () => choose({ size: at("size").value }));
  at("seed").addEventListener("change", () => choose({ seed: at("seed").value }));
  at("reseed").addEventListener("click", () => choose({ seed: state.seed + 1 }));
  at("severity").addEventListener("input", () => {
    state.severity = Number(at("severity").value);
    showValue();
    look();
  });
  at("draw").addEventListener("change", () => choose({ severity: at("draw").checked ? "drawn" : at("severity").value }));
  at("shared").addEventListener("change", () => choose({ draws: at("shared").checked ? "shared" : "level" }));
  if (start.data) {
    at("place-field").hidden = at("key-next").hidden = false;
    at("place").max = start.data.count - 1;
    at("place").addEventListener("change", () => {
      const number = Math.min(start.data.count - 1, Math.max(0, Math.trunc(Number(at("place").value)) || 0));
      choose({ picture: `data-${number}` });
    });
    at("next").addEventListener("click", () => place(1));
  }
  at("copy").addEventListener("click", async () => {
    await navigator.clipboard.writeText(at("line").textContent);
    at("copy").textContent = "Copied";
    setTimeout(() => { at("copy").textContent = "Copy"; }, 1500);
  });

  // The clean picture for as long as the corrupted one, or C, is held.
  let kept = null;
  const peek = (on) => {
    if (on && kept === null) {
      kept = at("corrupted").src;
      at("corrupted").src = at("clean").src;
    } else if (!on && kept !== null) {
      at("corrupted").src = kept;
      kept = null;
    }
    at("compare").classList.toggle("clean", on);
  };
  at("compare").addEventListener("pointerdown", () => peek(true));
  for (const kind of ["pointerup", "pointercancel", "blur"]) addEventListener(kind, () => peek(false));
  at("compare").addEventListener("contextmenu", (event) => { if (kept !== null) event.preventDefault(); });
  addEventListener("keydown", (event) => {
    const isTyping = event.target.closest?.("input:not([type=range]):not([type=checkbox]), select, textarea");
    if (isTyping || event.ctrlKey || event.metaKey || event.altKey || at("corruptions").hidden) return;
    const key = event.key.toLowerCase();
    if (key === "c") peek(true);
    else if (key === "s") choose({ seed: state.seed + 1 });
    else if (key === "n" && start.data) place(1);
    else if (["arrowleft", "arrowright"].includes(key) && event.target === document.body && !at("severity").disabled) {
      at("severity").focus();
      at("severity")[key === "arrowleft" ? "stepDown" : "stepUp"]();
      at("severity").dispatchEvent(new Event("input"));
      event.preventDefault();
    }
  });
  addEventListener("keyup", (event) => { if (event.key.toLowerCase() === "c") peek(false); });

  const wanted = remembered();
  if (wanted.size === undefined) forget("size");
  choose(wanted);
  return { turn: choose };
};
