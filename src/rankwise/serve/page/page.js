// The page of a served model. Text from data enters the page by textContent only.
"use strict";

const SHOWN = 50; // items of the order that are shown at first
const FIELDS = 20; // features that can be changed at first
const at = (id) => document.getElementById(id);
const state = {
  card: null, // what GET /model says
  rows: [], // all items of the table, as objects
  original: [], // the same before any change
  query: null, // the label of the query that is shown
  members: [], // numbers of its rows
  ranking: [], // what POST /rank says about them
  before: new Map(), // rank of each row before any change
  chosen: [], // numbers of one or two rows: A and B
  shown: SHOWN,
  asked: 0, // number of the latest question, so that late answers are dropped
};

// ---- small helpers ---------------------------------------------------------------------------

function element(tag, options = {}, ...children) {
  const made = document.createElement(tag);
  const { text, className, ...attributes } = options;
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

function digits(value, precision = 5) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (typeof value !== "number") return String(value);
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-4 || size >= 1e7)) return value.toExponential(precision - 2);
  return String(Number(value.toPrecision(precision)));
}

function signed(value) {
  return (value > 0 ? "+" : "") + digits(value);
}

async function ask(path, body) {
  const options = body === undefined ? {} : {
    method: "POST", body: JSON.stringify(body), headers: { "Content-Type": "application/json" },
  };
  let answer;
  try {
    answer = await fetch(path, options);
  } catch {
    throw new Error("The server does not answer. Is it still running?");
  }
  const content = await answer.json();
  if (!answer.ok) throw new Error(content.error);
  return content;
}

function complain(message) {
  at("error").textContent = message;
  at("error").hidden = !message;
}

// ---- the model -------------------------------------------------------------------------------

async function showModel() {
  const card = state.card = await ask("model");
  document.title = `${card.file} · rankwise`;
  at("title").textContent = card.file;
  at("subtitle").textContent =
    `${card.learner}, ${card.features.length} feature${card.features.length === 1 ? "" : "s"}`;
  const facts = [];
  if (card.trained_on) facts.push(["Trained on", `${card.trained_on.source}: ${card.trained_on.summary}`]);
  if (card.created) facts.push(["Trained", new Date(card.created).toLocaleString()]);
  if (card.recipe.kernel) facts.push(["Kernel", card.recipe.kernel]);
  if (card.recipe.loss) facts.push(["Loss", card.recipe.loss]);
  if (card.estimate && card.estimate.parameter) {
    facts.push([`Chosen ${card.estimate.parameter}`, digits(card.estimate.chosen)]);
  }
  if (card.recipe.scale) facts.push(["Scaling", { none: "none", standard: "over all items", query: "within each query" }[card.recipe.scale] || card.recipe.scale]);
  facts.push(["Missing values", card.takes_missing ? "taken" : "refused"]);
  facts.push(["Made by", `rankwise ${card.versions.rankwise || ""}`]);
  at("facts").replaceChildren(...facts.flatMap(([name, value]) => [
    element("dt", { text: name }), element("dd", { text: value }),
  ]));
  at("features-title").textContent = `Features (${card.features.length})`;
  at("features").textContent = card.features.join(", ");
  showEstimate(card.estimate);
  at("card").hidden = false;
  at("table").placeholder = [["id", ...card.columns.slice(0, 4)].join(","), "first item,…"].join("\n");
  const health = await ask("health");
  at("problem").textContent = health.problem || "";
  at("problem").hidden = !health.problem;
}

function showEstimate(estimate) {
  at("no-estimate").hidden = Boolean(estimate);
  at("estimate").hidden = !estimate;
  if (!estimate) return;
  const has = estimate.low !== null && estimate.low !== undefined;
  const interval = has ? `, 95% interval ${estimate.low.toFixed(3)} to ${estimate.high.toFixed(3)}` : "";
  at("estimate-words").textContent =
    `Expect ${estimate.score.toFixed(3)}: ${estimate.of} (${estimate.by}${interval}).`;
  const isShare = estimate.of.startsWith("share");
  const place = (value) => `${100 * Math.min(1, Math.max(0, 2 * value - 1))}%`;
  for (const part of document.querySelectorAll("#estimate .scale, #estimate .ends")) part.hidden = !isShare;
  at("estimate-dot").style.left = place(estimate.score);
  at("estimate-band").style.left = place(has ? estimate.low : estimate.score);
  at("estimate-band").style.right = `calc(100% - ${place(has ? estimate.high : estimate.score)})`;
}

// ---- tables ----------------------------------------------------------------------------------

function parsed(text) {
  const clean = text.replace(/^\uFEFF/, "").trim();
  if (!clean) throw new Error("There is no table yet: paste one, or upload a file.");
  if ("[{".includes(clean[0])) return fromJson(clean);
  const first = clean.split(/\r?\n/, 1)[0];
  const mark = ["\t", ";", ","].find((each) => first.includes(each)) || ",";
  const [names, ...lines] = split(clean, mark);
  if (!lines.length) throw new Error("The table has a line of names and no items below it.");
  const twice = names.find((name, j) => names.indexOf(name) !== j);
  if (twice !== undefined) throw new Error(`Two columns are called “${twice}”.`);
  return lines.map((cells, i) => {
    if (cells.length !== names.length) {
      throw new Error(`Line ${i + 2} has ${cells.length} cells, but there are ${names.length} names.`);
    }
    return Object.fromEntries(names.map((name, j) => [name, value(name, cells[j], mark)]));
  });
}

function fromJson(text) {
  let content;
  try {
    content = JSON.parse(text);
  } catch (error) {
    try {
      content = text.split(/\r?\n/).filter((line) => line.trim()).map((line) => JSON.parse(line));
    } catch {
      throw new Error(`This is not JSON: ${error.message}`);
    }
  }
  const rows = Array.isArray(content) ? content : content.items || [content];
  if (!rows.length || rows.some((row) => typeof row !== "object" || row === null || Array.isArray(row))) {
    throw new Error("JSON must be a list of objects, one for each item.");
  }
  return rows.map((row) => ({ ...row }));
}

function split(text, mark) {
  const lines = [];
  let cells = [], cell = "", quoted = false;
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    if (quoted) {
      if (c === '"' && text[i + 1] === '"') { cell += '"'; i++; }
      else if (c === '"') quoted = false;
      else cell += c;
    } else if (c === '"' && cell.trim() === "") { quoted = true; cell = ""; }
    else if (c === mark) { cells.push(cell.trim()); cell = ""; }
    else if (c === "\n" || c === "\r") {
      if (c === "\r" && text[i + 1] === "\n") i++;
      lines.push([...cells, cell.trim()]); cells = []; cell = "";
    } else cell += c;
  }
  lines.push([...cells, cell.trim()]);
  return lines.filter((line) => line.length > 1 || line[0] !== "");
}

function value(name, text, mark) {
  if (!state.card.columns.includes(name) || name in state.card.levels) return text;
  if (text === "" || /^(na|nan|null)$/i.test(text)) return null;
  const plain = mark !== "," && /^[-+]?\d+,\d+$/.test(text) ? text.replace(",", ".") : text;
  return Number.isFinite(Number(plain)) ? Number(plain) : text;
}

function nameOf(row) {
  const item = state.rows[row];
  const column = state.card.id_columns.find((each) => item[each] !== undefined && item[each] !== null && item[each] !== "");
  return column === undefined ? `row ${row + 1}` : String(item[column]);
}

async function takeTable(text) {
  complain("");
  let rows;
  try {
    rows = parsed(text);
  } catch (error) {
    complain(error.message);
    return;
  }
  state.rows = rows;
  state.original = rows.map((row) => ({ ...row }));
  showQueries();
  if (await startQuery(state.query)) at("paste").open = false;
}

function showQueries() {
  const column = state.card.query_column;
  const has = column && state.rows.some((row) => column in row) && !state.card.columns.includes(column);
  const labels = has ? [...new Set(state.rows.map((row) => String(row[column])))] : [];
  at("query-choice").hidden = labels.length < 2;
  at("query").replaceChildren(...labels.map((label) => element("option", { text: label, value: label })));
  state.query = labels.length ? labels[0] : null;
}

async function startQuery(label) {
  const column = state.card.query_column;
  state.query = label;
  state.members = state.rows.map((_, i) => i)
    .filter((i) => label === null || String(state.rows[i][column]) === label);
  state.chosen = [];
  state.shown = SHOWN;
  state.before = new Map();
  state.ranking = [];
  at("order").replaceChildren();
  at("change").hidden = true;
  at("parts").hidden = true;
  at("why-words").textContent = "Choose two items.";
  at("result").hidden = true;
  if (!await rankAgain()) return false;
  state.before = new Map(state.ranking.map((each) => [each.row, each.rank]));
  at("result").hidden = false;
  return true;
}

function madeUp() {
  const normal = () => Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
  const names = state.card.columns, levels = state.card.levels;
  const lines = [["id", ...names]];
  for (let i = 1; i <= 8; i++) {
    const values = names.map((name, j) => {
      if (name in levels) return levels[name][Math.floor(Math.random() * levels[name].length)];
      const typical = state.card.typical && !Object.keys(levels).length ? state.card.typical[j] : { mean: 0, deviation: 1 };
      return String(Number((typical.mean + typical.deviation * normal()).toPrecision(5)));
    });
    lines.push([`made-up ${i}`, ...values]);
  }
  const quoted = (cell) => (/[",\n\t;]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);
  return lines.map((cells) => cells.map(quoted).join(",")).join("\n");
}

// ---- the order -------------------------------------------------------------------------------

async function rankAgain() {
  const question = ++state.asked;
  const body = { items: state.members.map((row) => state.rows[row]) };
  if (state.query !== null) body.query = state.query;
  try {
    const answer = await ask("rank", body);
    if (question !== state.asked) return false;
    state.ranking = answer.items.map((each) => ({ ...each, row: state.members[each.index] }));
  } catch (error) {
    if (question === state.asked) complain(error.message);
    return false;
  }
  complain("");
  showOrder();
  return true;
}

function showOrder() {
  const list = at("order");
  const old = new Map([...list.children].map((each) => [Number(each.dataset.row), each]));
  const places = new Map([...old].map(([row, each]) => [row, each.getBoundingClientRect().top]));
  const scores = state.ranking.map((each) => each.score);
  const lowest = Math.min(...scores), range = Math.max(...scores) - lowest;
  const focused = document.activeElement;
  const shown = state.ranking.filter((each, i) => i < state.shown || state.chosen.includes(each.row));
  list.replaceChildren(...shown.map((each) => {
    const line = old.get(each.row) || newLine(each.row);
    fillLine(line, each, range > 0 ? (each.score - lowest) / range : 1);
    return line;
  }));
  if (list.contains(focused)) focused.focus({ preventScroll: true }); // moving a line ends its focus
  for (const line of list.children) {
    const before = places.get(Number(line.dataset.row));
    const shift = before === undefined ? 0 : before - line.getBoundingClientRect().top;
    if (!shift) continue;
    line.classList.remove("moving");
    line.style.transform = `translateY(${shift}px)`;
    requestAnimationFrame(() => { line.classList.add("moving"); line.style.transform = ""; });
  }
  showPlace();
  at("more-line").hidden = state.ranking.length <= state.shown;
  const count = state.members.length;
  const rest = state.ranking.length > state.shown ? `, the first ${state.shown} are shown` : "";
  at("status").textContent = `${count} item${count === 1 ? "" : "s"} ranked${rest}.`;
}

function showPlace() {
  const found = state.ranking.find((each) => each.row === state.chosen[0]);
  const before = found && state.before.get(found.row);
  at("place").textContent = !found ? "" : `Rank ${found.rank} of ${state.ranking.length}` +
    (before && before !== found.rank ? `, before the change ${before}.` : ".");
}

function newLine(row) {
  const button = element("button", { type: "button" },
    element("span", { className: "rank" }), element("span", { className: "name" }),
    element("span", { className: "track", "aria-hidden": "true" }, element("span", { className: "bar" })),
    element("span", { className: "score" }));
  const line = element("li", {}, button);
  line.dataset.row = row;
  button.addEventListener("click", () => choose(row));
  return line;
}

function fillLine(line, { row, rank, score }, share) {
  const [button] = line.children;
  const [place, name, track, amount] = button.children;
  const letter = "AB"[state.chosen.indexOf(row)];
  const moved = (state.before.get(row) || rank) - rank;
  place.textContent = rank;
  name.replaceChildren(...(letter ? [element("span", { className: "tag", text: letter })] : []), nameOf(row));
  name.title = nameOf(row);
  track.firstChild.style.width = `${100 * share}%`;
  amount.replaceChildren(element("span", { text: digits(score, 4) }));
  if (moved) {
    const words = moved > 0 ? `▲${moved}` : `▼${-moved}`;
    amount.append(element("span", { className: moved > 0 ? "moved" : "moved down", text: words }));
  }
  button.setAttribute("aria-pressed", String(Boolean(letter)));
  button.className = letter ? `mark-${letter.toLowerCase()}` : "";
}

async function choose(row) {
  const place = state.chosen.indexOf(row);
  if (place >= 0) state.chosen.splice(place, 1);
  else if (state.chosen.length === 2) state.chosen[1] = row;
  else state.chosen.push(row);
  showOrder();
  showFields();
  await showWhy();
}

function clearChoice() {
  state.chosen = [];
  showOrder();
  showFields();
  showWhy();
}

// ---- why -------------------------------------------------------------------------------------

async function showWhy() {
  const [a, b] = state.chosen;
  at("parts").hidden = true;
  if (b === undefined) {
    at("why-words").textContent = a === undefined ? "Choose two items." : "Choose a second item.";
    return null;
  }
  const body = {
    items: state.members.map((row) => state.rows[row]),
    a: state.members.indexOf(a), b: state.members.indexOf(b),
  };
  if (state.query !== null) body.query = state.query;
  const question = state.asked;
  let found;
  try {
    found = await ask("explain", body);
  } catch (error) {
    at("why-words").textContent = error.message;
    return null;
  }
  if (question !== state.asked || state.chosen[0] !== a || state.chosen[1] !== b) return null;
  const relation = found.difference > 0 ? "above" : found.difference < 0 ? "below" : "level with";
  at("why-words").textContent =
    `${nameOf(a)} (A) is ${relation} ${nameOf(b)} (B): the scores differ by ${signed(found.difference)}, ` +
    "which is the sum of these parts. Blue parts speak for A, red ones for B.";
  at("part-name").textContent = found.kind === "items" ? "Like (kernel value to)" : "Feature";
  const largest = Math.max(...found.parts.map((part) => Math.abs(part.amount)), Math.abs(found.rest), 1e-300);
  const lines = found.parts.map((part) => partLine(part.name, digits(part.a), digits(part.b), part.amount, largest));
  if (found.rest) lines.push(partLine("all others", "", "", found.rest, largest));
  at("parts").tBodies[0].replaceChildren(...lines);
  at("parts").hidden = false;
  return found;
}

function partLine(name, a, b, amount, largest) {
  const bar = element("i", { className: amount > 0 ? "for" : "against" });
  bar.style.width = `${100 * Math.abs(amount) / largest}%`;
  return element("tr", {},
    element("th", { text: name, scope: "row" }),
    element("td", { text: a, className: "number" }), element("td", { text: b, className: "number" }),
    element("td", {}, element("div", { className: "effect", "aria-hidden": "true" }, bar),
      element("span", { className: "amount", text: signed(amount) })));
}

// ---- what if ---------------------------------------------------------------------------------

function showFields() {
  const [a] = state.chosen;
  at("change").hidden = a === undefined;
  if (a === undefined) return;
  at("change-words").textContent = `Change a feature of ${nameOf(a)} (A), and watch the order move.`;
  at("filter-line").hidden = state.card.columns.length <= FIELDS;
  const wanted = at("filter").value.trim().toLowerCase();
  const names = state.card.columns.filter((name) => name.toLowerCase().includes(wanted)).slice(0, FIELDS);
  at("fields").replaceChildren(...names.map((name, j) => field(a, name, `field-${j}`)));
}

function field(row, name, id) {
  const values = state.members.map((each) => state.original[each][name]).filter((v) => typeof v === "number");
  if (!values.length) values.push(-1, 1);
  const isText = state.members.some((each) => typeof state.original[each][name] === "string");
  const label = element("label", { text: name, for: id });
  if (name in state.card.levels) {
    const labels = new Set([...state.card.levels[name], String(state.rows[row][name] ?? "")]);
    const choice = element("select", { id }, ...[...labels].map((each) => element("option", { text: each, value: each })));
    choice.value = state.rows[row][name] ?? "";
    choice.addEventListener("change", () => change(row, name, choice.value === "" ? null : choice.value));
    return element("div", { className: "field" }, label, choice);
  }
  if (isText) {
    const box = element("input", { id, type: "search", value: state.rows[row][name] ?? "" });
    box.addEventListener("change", () => change(row, name, box.value === "" ? null : box.value));
    return element("div", { className: "field" }, label, box);
  }
  const low = Math.min(...values), high = Math.max(...values), room = (high - low || 1) * 0.25;
  const exact = element("input", { id, type: "number", step: "any" });
  const slider = element("input", {
    type: "range", min: low - room, max: high + room, step: "any", "aria-label": `${name}, slider`,
  });
  const current = state.rows[row][name];
  exact.value = current ?? "";
  slider.value = current ?? 0;
  exact.addEventListener("input", () => {
    slider.value = exact.value;
    change(row, name, exact.value === "" ? null : Number(exact.value));
  });
  slider.addEventListener("input", () => {
    exact.value = Number(Number(slider.value).toPrecision(6));
    change(row, name, Number(exact.value));
  });
  return element("div", { className: "field" }, label, exact, slider);
}

let waiting = 0;
function change(row, name, changed) {
  state.rows[row][name] = changed;
  clearTimeout(waiting);
  waiting = setTimeout(async () => {
    if (await rankAgain()) await showWhy();
  }, 60);
}

function reset() {
  state.rows = state.original.map((row) => ({ ...row }));
  showFields();
  rankAgain().then((done) => done && showWhy());
}

// ---- events ----------------------------------------------------------------------------------

function start() {
  at("rank").addEventListener("click", () => takeTable(at("table").value));
  at("made-up").addEventListener("click", () => {
    at("table").value = madeUp();
    takeTable(at("table").value);
  });
  at("file").addEventListener("change", async () => {
    const [file] = at("file").files;
    if (!file) return;
    if (file.size > state.card.limits.body) {
      complain(`${file.name} is larger than this server takes (${state.card.limits.body} bytes).`);
      return;
    }
    at("table").value = await file.text();
    at("file").value = "";
    takeTable(at("table").value);
  });
  at("query").addEventListener("change", () => startQuery(at("query").value));
  at("more").addEventListener("click", () => { state.shown *= 4; showOrder(); });
  at("filter").addEventListener("input", showFields);
  at("reset").addEventListener("click", reset);
  at("order").addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") clearChoice();
    if (!step) return;
    const lines = [...at("order").children];
    const next = lines[lines.indexOf(document.activeElement.closest("li")) + step];
    if (next) next.firstChild.focus();
    event.preventDefault();
  });
  showModel().catch((error) => complain(error.message));
}

start();
