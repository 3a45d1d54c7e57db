// The page: what is done with pointer, keys and controls becomes steps, and what the server answers is shown.
import { votes } from "./contours.js";
import { Frame, colours, draw, shapeOf } from "./drawing.js";
import { Link } from "./requests.js";

const $ = (id) => document.getElementById(id);
const plane = $("plane");

const NEAR = { mouse: 10, pen: 12, touch: 22 }; // pixels from a row that still mean it
const DRAG = { mouse: 3, pen: 5, touch: 8 }; // pixels after which a press is no click
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] };
const STEP = 5, LONG_STEP = 25; // pixels of an arrow key
const SLIDE_ENDS = ["change", "pointerup", "pointercancel", "blur", "keyup"]; // no change where it is back at its value
const REST = 140; // milliseconds without an event, after which a coarse picture becomes a fine one
const SLOW = 16; // milliseconds of the server for a fine picture, from which on it is coarse while something moves
const MOST_FRAMES = 2000;
const READ = 8000; // milliseconds after which a remark goes away; what went wrong stays until something goes well

// What the sliders set: `log` ones show powers of ten. The polynomial kernel is positive semidefinite from coef0 = 0
// on; less than that can be typed.
const SLIDERS = [
  { name: "C", text: "C", from: 0.01, to: 10000, log: true, of: (s) => [0, 3, 4, 5].includes(s.svm_type) },
  { name: "nu", text: "nu", from: 0.01, to: 1, of: (s) => [1, 2, 4].includes(s.svm_type) },
  { name: "p", text: "epsilon", from: 0, to: 1, of: (s) => s.svm_type === 3 },
  { name: "tau", text: "tau", from: 0.01, to: 0.99, of: (s) => s.svm_type === 5 },
  { name: "gamma", text: "gamma", from: 0.01, to: 1000, log: true, of: (s, uses) => uses.includes("gamma") },
  { name: "degree", text: "degree", from: 1, to: 10, whole: true, of: (s, uses) => uses.includes("degree") },
  { name: "coef0", text: "coef0", from: -5, to: 5, of: (s, uses) => uses.includes("coef0"),
    least: (s) => (s.kernel_type === 1 ? 0 : -5) },
];

let head = null, values = null, asked = null; // the last answer, and the grid that it is of
let frame = new Frame([-1, 1, -1, 1], 100, 100);
let colour = colours();
let rows = []; // { key, x, y, label, mark }
let onItsWay = null; // where a row is asked to be: { row, to }, while answers are to come
let selected = null, current = 1; // key of a row; class of new rows
let movedLast = null; // key of the row that the last step has moved
let press = null; // { row, px, py, moved, kind } between pointer down and up
let selectAdded = false;
let failing = false; // the answer to come is that after a failure, which stays to be read
let reading = 0;
let resting = 0, coarse = false, fineTime = 0;

// For tests and measurements: of each answer that an event led to, times of event, sending, receiving, drawing and the
// end of the frame in which it is seen (milliseconds); and what is drawn.
const frames = [];
globalThis.svmxToy = {
  frames,
  drawn: () => ({ head, values: Array.from(values ?? []), view: asked?.view }),
  pixel: (x, y) => [frame.px(x), frame.py(y)],
};

const link = new Link(
  () => frame.grid(head?.shape[0] ?? 1, coarse),
  (answer) => show(answer),
  (cause, followed) => {
    failing = followed;
    say(cause);
  },
);
link.rested = () => {
  onItsWay = null;
  plane.removeAttribute("aria-busy");
  tell();
};

function send(step) {
  plane.setAttribute("aria-busy", "true");
  const moving = Boolean(step?.time);
  coarse = moving && fineTime > SLOW;
  clearTimeout(resting);
  if (moving && coarse) resting = setTimeout(() => send(), REST);
  if (step) movedLast = null;
  link.send(step);
}

// ---- what the server answers ------------------------------------------------------------------

function show(answer) {
  const boxBefore = head?.box.join();
  ({ head, values, asked } = answer);
  const took = answer.head.server;
  if (!coarse) fineTime = 1000 * (took.change + took.picture);
  const { key, x, y, label, mark } = head.rows;
  rows = key.map((k, i) => ({ key: k, x: x[i], y: y[i], label: label[i], mark: mark[i] }));
  if (selectAdded && head.added.length) selected = head.added.at(-1);
  selectAdded &&= !head.added.length;
  if (!rows.some((row) => row.key === selected)) selected = null;
  const ofFile = head.model?.way === "file" ? "this is the model of the file: the next change trains on the rows" : "";
  if (head.error || !failing) say(head.error || head.note || ofFile, !head.error);
  failing = false;
  showControls();
  showFacts();
  if (head.box.join() !== boxBefore) {
    fit();
    if (boxBefore) return send(); // another part of the plane
  }
  redraw();
  if (answer.step.time) keepFrame(answer);
}

function keepFrame({ step, sent, received, head: { server } }) {
  const found = { event: step.time, sent, received, drawn: performance.now(), shown: null,
    change: 1000 * server.change, picture: 1000 * server.picture };
  if (frames.push(found) > MOST_FRAMES) frames.shift();
  requestAnimationFrame(() => setTimeout(() => (found.shown = performance.now())));
}

function redraw() {
  if (head) draw($("picture"), frame, { head, values, asked, rows, selected, colour });
}

function fit() {
  frame = new Frame(head?.box ?? [-1, 1, -1, 1], plane.clientWidth, plane.clientHeight);
}

/** A sentence on the plane: what went wrong, or a mere remark; none if it is empty. */
function say(cause, remark = false) {
  $("message").classList.toggle("remark", remark);
  // names of files and parameters begin as they are written
  const first = /^(?!nu |coef)[a-z]+ /.test(cause) ? cause[0].toUpperCase() : cause.slice(0, 1);
  const text = cause && first + cause.slice(1) + (/[.!?]$/.test(cause) ? "" : ".");
  put($("message"), text);
  $("message").hidden = !text;
  clearTimeout(reading);
  if (text && remark) reading = setTimeout(() => ($("message").hidden = true), READ);
}

/** A text where it is not already: what does not change is not laid out again. */
function put(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const number = (value, digits = 4) => String(Number(value.toPrecision(digits))).replace("-", "−");

/** Name and text of each fact that is shown below the plane. */
function facts() {
  const model = head.model, found = [["rows", String(rows.length)]];
  if (!model) return found;
  const bound = model.n_bound ? `, ${model.n_bound} at bound` : "";
  found.push(["support vectors", `${model.n_sv}${bound}`]);
  if (model.score) {
    const percent = model.score.name !== "mean squared error";
    found.push([model.score.name, percent ? `${model.score.value.toFixed(1)} %` : number(model.score.value, 3)]);
  }
  if (model.objective !== null) found.push(["objective", number(model.objective, 5)]);
  const time = `${(1000 * model.seconds).toFixed(1)} ms`;
  if (model.way === "path") {
    found.push(["along the path", `${time}, ${model.breakpoints} breakpoint${model.breakpoints === 1 ? "" : "s"}`]);
  } else if (model.way === "training") {
    found.push(["trained afresh", time]);
  }
  return found;
}

function showFacts() {
  facts().forEach(([name, text], at) => {
    const pair = $("facts").children[at] ?? $("facts").appendChild($("fact").content.firstElementChild.cloneNode(true));
    put(pair.children[0], name);
    put(pair.children[1], text);
  });
  while ($("facts").children.length > facts().length) $("facts").lastElementChild.remove();
  $("hint").hidden = rows.length > 0 || head.model !== null;
  const type = head.settings.svm_type, regression = type > 2;
  put($("of-boundary"), regression ? "function" : "boundary");
  put($("of-margins"), regression ? "tube" : "margins");
  $("has-margins").hidden = type === 2 || (regression && (head.model?.tube ?? null) === null);
  $("has-shade").hidden = type > 1;
  showUnder();
}

let pointer = null; // where it is over the plane, in pixels

/** What the model says of the place under the pointer, from the grid of decision values. */
function showUnder() {
  put($("under"), pointer && head?.model ? saidOf(...pointer) : "");
}

function saidOf(px, py) {
  const { x, y } = frame.at(px, py), [functions, ny, nx] = head.shape, type = head.settings.svm_type;
  if (!functions || !values?.length) return "";
  const i = px / asked.step, j = (frame.h - py) / asked.step;
  if (type > 2) return `f(${number(x, 3)}) = ${number(between(0, 0, i, 0, nx), 3)}`;
  const place = `${number(x, 3)}, ${number(y, 3)}: `;
  if (functions > 1) {
    const { labels } = votes(Float32Array.from({ length: functions }, (_, f) => between(f, ny, i, j, nx)), 1,
      head.model.classes.length);
    return `${place}class ${head.model.classes[labels[0]]}`;
  }
  return `${place}decision value ${number(between(0, ny, i, j, nx), 3)}`;
}

/** Value of a function between four nodes of the grid, or, without rows of nodes, between two. */
function between(f, ny, i, j, nx) {
  const i0 = Math.min(Math.floor(i), nx - 2), j0 = Math.min(Math.floor(j), Math.max(ny, 1) - 2), s = i - i0, t = j - j0;
  const at = (a, b) => values[(f * Math.max(ny, 1) + b) * nx + a];
  const along = (b) => (1 - s) * at(i0, b) + s * at(i0 + 1, b);
  return ny ? (1 - t) * along(j0) + t * along(j0 + 1) : along(0);
}

/** The same for who listens, once nothing moves any more. */
function tell() {
  if (!head) return;
  const row = rows.find((each) => each.key === selected);
  const mark = ["", ", on the margin", ", at its bound"][row?.mark];
  const chosen = row ? `Row at ${number(row.x)}, ${number(row.y)}, class ${row.label}${mark}. ` : "";
  $("told").textContent = chosen + facts().map(([name, text]) => `${name}: ${text}`).join("; ");
}

// ---- controls ---------------------------------------------------------------------------------

function showControls() {
  const s = head.settings;
  $("svm_type").value = s.svm_type;
  $("kernel_type").value = s.kernel_type;
  for (const slider of SLIDERS) slider.show(s, head.uses);
  put($("command"), head.command);
  $("undo").disabled = !head.can.undo;
  $("redo").disabled = !head.can.redo;
  $("clear").disabled = $("save-rows").disabled = $("save-model").disabled = !rows.length;
  $("classes").disabled = s.svm_type > 1;
  $("classes").hidden = s.svm_type > 1;
  showClasses();
}

let shownLabels = "";
function showClasses() {
  if (!head.labels.includes(current)) current = head.labels[0];
  if (shownLabels !== head.labels.join()) {
    shownLabels = head.labels.join();
    document.querySelector(".chips").replaceChildren(...head.labels.map((label, at) => {
      const chip = document.createElement("label");
      chip.innerHTML = `<input type="radio" name="class">
        <svg viewBox="-8 -8 16 16" aria-hidden="true"><path d="${shapeOf(at, 5)}"></path></svg>`;
      chip.querySelector("path").setAttribute("class", `fill-${at + 1}`);
      chip.append(String(label));
      const input = chip.querySelector("input");
      input.value = label;
      input.setAttribute("aria-label", `class ${label}`);
      input.addEventListener("change", () => chooseClass(label));
      return chip;
    }));
  }
  for (const input of document.querySelectorAll(".chips input")) input.checked = Number(input.value) === current;
}

function chooseClass(label) {
  current = label;
  showClasses();
}

for (const slider of SLIDERS) {
  const line = document.createElement("div");
  line.className = "slider";
  line.innerHTML = `<label for="${slider.name}">${slider.text}</label>
    <input type="range" id="${slider.name}-range" aria-label="${slider.text}" step="any" list="${slider.name}-ticks">
    <datalist id="${slider.name}-ticks"></datalist>
    <input type="number" id="${slider.name}" step="any">`;
  $("sliders").append(line);
  const [range, field] = line.querySelectorAll("input");
  const scale = slider.log ? Math.log10 : (v) => v, back = slider.log ? (v) => 10 ** v : (v) => v;
  range.max = scale(slider.to);
  if (slider.log) {
    for (let power = scale(slider.from); power <= range.max; power++) {
      line.querySelector("datalist").append(new Option("", power));
    }
  }
  let sliding = false;
  slider.show = (settings, uses) => {
    line.hidden = !slider.of(settings, uses);
    const value = settings[slider.name];
    if (document.activeElement !== field) field.value = Number(value.toPrecision(6));
    if (sliding) return;
    const from = slider.least?.(settings) ?? slider.from;
    range.min = scale(from);
    range.step = slider.whole ? 1 : (range.max - range.min) / 300;
    range.value = scale(Math.max(value, from));
  };
  range.addEventListener("input", (event) => {
    const exact = back(Number(range.value)), value = slider.whole ? Math.round(exact) : Number(exact.toPrecision(3));
    field.value = value;
    send({ changes: [{ do: "set", [slider.name]: value }], continued: sliding, time: event.timeStamp });
    sliding = true;
  });
  for (const end of SLIDE_ENDS) range.addEventListener(end, () => (sliding = false));
  field.addEventListener("change", () => {
    if (field.value === "" || !field.checkValidity()) return say(`${slider.text} must be a number`);
    send({ changes: [{ do: "set", [slider.name]: Number(field.value) }] });
  });
}

for (const name of ["svm_type", "kernel_type"]) {
  $(name).addEventListener("change", () => send({ changes: [{ do: "set", [name]: Number($(name).value) }] }));
}
$("example").addEventListener("change", () => {
  if ($("example").value) send({ changes: [{ do: "example", name: $("example").value }] });
  $("example").value = "";
});
$("undo").addEventListener("click", () => send({ turn: "undo" }));
$("redo").addEventListener("click", () => send({ turn: "redo" }));
$("clear").addEventListener("click", () => send({ changes: [{ do: "clear" }] }));
$("open").addEventListener("click", () => $("file").click());
$("file").addEventListener("change", async () => {
  const [file] = $("file").files;
  if (file) await link.open(file);
  $("file").value = "";
});
$("save-rows").addEventListener("click", () => link.save("rows.txt"));
$("save-model").addEventListener("click", () => link.save("rows.txt.model"));
$("copy").addEventListener("click", async () => {
  const select = () => getSelection().selectAllChildren($("command")); // where the clipboard is not to be had
  await navigator.clipboard.writeText($("command").textContent).catch(select);
  $("copy").textContent = "Copied";
  setTimeout(() => ($("copy").textContent = "Copy"), 1200);
});
$("panel").addEventListener("submit", (event) => event.preventDefault());

// ---- pointer ----------------------------------------------------------------------------------

function positionOf(event) {
  const edge = plane.getBoundingClientRect();
  return [event.clientX - edge.left - plane.clientLeft, event.clientY - edge.top - plane.clientTop];
}

function nearest(px, py, within) {
  let found = null, least = within;
  for (const row of rows) {
    const distance = Math.hypot(frame.px(row.x) - px, frame.py(row.y) - py);
    if (distance < least) [found, least] = [row.key, distance];
  }
  return found;
}

/** Coordinates of a pixel, or of the nearest one of the plane: a row beyond its edge is not seen, and not reached. */
function inside(px, py) {
  return frame.at(Math.min(Math.max(px, 0), frame.w), Math.min(Math.max(py, 0), frame.h));
}

/** Move a row; `continued`: in one step with the move before, if that was of the same row. */
function move(row, to, continued, time) {
  onItsWay = { row, to };
  send({ changes: [{ do: "move", row, ...to }], continued: continued && movedLast === row, time });
  movedLast = row;
}

plane.addEventListener("pointerdown", (event) => {
  if (!event.isPrimary || event.button !== 0 || !head) return;
  const [px, py] = positionOf(event);
  const kind = event.pointerType, row = nearest(px, py, NEAR[kind] ?? NEAR.mouse);
  press = { row, px, py, moved: false, kind };
  plane.setPointerCapture(event.pointerId);
});

plane.addEventListener("pointermove", (event) => {
  const [px, py] = positionOf(event);
  pointer = event.pointerType === "mouse" && px >= 0 && py >= 0 && px <= frame.w && py <= frame.h ? [px, py] : null;
  showUnder();
  if (!press) return plane.classList.toggle("over", nearest(px, py, NEAR.mouse) !== null);
  if (press.row === null || !event.isPrimary) return;
  const first = !press.moved;
  if (first && Math.hypot(px - press.px, py - press.py) < (DRAG[press.kind] ?? DRAG.mouse)) return;
  press.moved = true;
  plane.classList.add("dragging");
  move(press.row, inside(px, py), !first, event.timeStamp);
});

plane.addEventListener("pointerup", (event) => {
  if (!press || !event.isPrimary) return;
  const { row, moved, px, py } = press;
  endPress();
  if (moved) return;
  const [upX, upY] = positionOf(event), near = Math.hypot(upX - px, upY - py) < NEAR.touch;
  if (row !== null) send({ changes: [{ do: "remove", row }] });
  else if (near) send({ changes: [{ do: "add", ...inside(px, py), label: current }] });
});
plane.addEventListener("pointercancel", () => endPress());
plane.addEventListener("pointerleave", () => {
  pointer = null;
  showUnder();
});

function endPress() {
  press = null;
  plane.classList.remove("dragging");
}

// ---- keys -------------------------------------------------------------------------------------

plane.addEventListener("keydown", (event) => {
  if (!head || event.altKey || event.metaKey || event.ctrlKey) return;
  const row = rows.find((each) => each.key === selected);
  if (event.key in ARROWS) {
    if (row) {
      const far = event.shiftKey ? LONG_STEP : STEP, [right, up] = ARROWS[event.key];
      const from = onItsWay?.row === row.key ? onItsWay.to : row; // the last answer may be older than the last key
      const to = inside(frame.px(from.x) + right * far, frame.py(from.y) - up * far);
      move(row.key, to, event.repeat, event.timeStamp);
    } else step(1);
  } else if (event.key === "n" || event.key === "N") step(1);
  else if (event.key === "p" || event.key === "P") step(-1);
  else if (event.key === "a" || event.key === "A") {
    const to = row ? beside(row) : inside(frame.w / 2, frame.h / 2);
    selectAdded = true;
    send({ changes: [{ do: "add", ...to, label: current }] });
  } else if (event.key === "Delete" || event.key === "Backspace") {
    if (!row) return;
    step(1);
    if (selected === row.key) selected = null;
    send({ changes: [{ do: "remove", row: row.key }] });
  } else if (event.key >= "1" && event.key <= String(head.labels.length)) {
    const label = head.labels[Number(event.key) - 1];
    chooseClass(label);
    if (row && head.settings.svm_type <= 1) send({ changes: [{ do: "label", row: row.key, label }] });
  } else if (event.key === "Escape") {
    selected = null;
    redraw();
    tell();
  } else return;
  event.preventDefault();
});

/** Where a row is added next to another: to the right of it, or to the left where the plane ends. */
function beside(row) {
  const right = frame.px(row.x) + LONG_STEP;
  return inside(right <= frame.w ? right : right - 2 * LONG_STEP, frame.py(row.y));
}

/** Select the next row, or the previous one, from left to right. */
function step(by) {
  const order = [...rows].sort((a, b) => a.x - b.x || a.y - b.y || a.key - b.key);
  if (!order.length) return;
  const at = order.findIndex((row) => row.key === selected);
  selected = order[at < 0 ? (by > 0 ? 0 : order.length - 1) : (at + by + order.length) % order.length].key;
  redraw();
  tell();
}

addEventListener("keydown", (event) => {
  if (!(event.ctrlKey || event.metaKey) || event.target.matches("input[type=number]")) return;
  const key = event.key.toLowerCase();
  if (key !== "z" && key !== "y") return;
  event.preventDefault();
  send({ turn: key === "y" || event.shiftKey ? "redo" : "undo" });
});

// ---- size and colours -------------------------------------------------------------------------

new ResizeObserver(() => {
  fit();
  send();
}).observe(plane);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  colour = colours();
  redraw();
});
