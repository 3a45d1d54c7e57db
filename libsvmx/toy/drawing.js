// What is seen on the plane: regions, boundary and margins, and the rows over them.
import { Region, between, pairPlace, trace, votes } from "./contours.js";

const C_SVC = 0, NU_SVC = 1, ONE_CLASS = 2;
const MARGIN = 1; // mark of a support vector inside its box; the other is at its bound
const RADIUS = 4.6; // of a row
const RING = 8.2;
const TICKS = 6; // as many as an axis has, about
const WIDE = 4; // boxes longer than this, compared to their other side, fill the plane
const MOST_NODES = 20000; // of a grid with up to two functions

const isClassification = (type) => type === C_SVC || type === NU_SVC;

/** Where a box of the plane is on a canvas of w times h pixels. */
export class Frame {
  constructor([x0, x1, y0, y1], w, h) {
    const wide = x1 - x0, high = y1 - y0, equal = Math.max(wide / high, high / wide) <= WIDE;
    this.sx = w / wide;
    this.sy = h / high;
    if (equal) this.sx = this.sy = Math.min(this.sx, this.sy);
    [this.w, this.h, this.cx, this.cy] = [w, h, (x0 + x1) / 2, (y0 + y1) / 2];
  }
  px(x) { return this.w / 2 + (x - this.cx) * this.sx; }
  py(y) { return this.h / 2 - (y - this.cy) * this.sy; }
  /** Coordinates of a pixel, with as many digits as it tells. */
  at(px, py) {
    const x = this.cx + (px - this.w / 2) / this.sx, y = this.cy - (py - this.h / 2) / this.sy;
    return { x: rounded(x, this.sx), y: rounded(y, this.sy) };
  }
  /** The grid to ask for, with pixels between its nodes: a whole number, so that regions have sharp edges. */
  grid(functions, coarse) {
    const most = MOST_NODES / Math.max(1, functions / 2);
    const step = Math.max(4, Math.ceil(Math.sqrt((this.w * this.h) / most))) * (coarse ? 2 : 1);
    const nx = Math.ceil(this.w / step) + 1, ny = Math.ceil(this.h / step) + 1;
    const x0 = this.cx - this.w / 2 / this.sx, y0 = this.cy - this.h / 2 / this.sy;
    const x1 = x0 + ((nx - 1) * step) / this.sx, y1 = y0 + ((ny - 1) * step) / this.sy;
    return { step, view: { x0, x1, y0, y1, nx, ny } };
  }
}

function rounded(value, scale) {
  return Number(value.toFixed(Math.min(12, Math.max(0, Math.ceil(Math.log10(scale))))));
}

/** The colours of the page as it is now, light or dark. */
export function colours() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  return { ink: of("ink"), soft: of("soft"), line: of("line"), paper: of("paper"), accent: of("accent"),
    classes: [1, 2, 3, 4, 5, 6].map((k) => of(`class-${k}`)) };
}

/** A canvas as sharp as the screen, of one colour: its context, in CSS pixels. */
function cleared(canvas, w, h, paper) {
  const ratio = Math.ceil(window.devicePixelRatio || 1); // a whole number: cells of a grid end where pixels do
  const wide = Math.round(w * ratio), high = Math.round(h * ratio);
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  const ink = canvas.getContext("2d", { alpha: false }); // nothing shows through, which browsers draw faster
  ink.setTransform(ratio, 0, 0, ratio, 0, 0);
  ink.fillStyle = paper;
  ink.fillRect(0, 0, w, h);
  return ink;
}

/**
 * @param {object} head, {Float32Array} values, {object} asked     what the server has sent, and of which grid
 * @param {object[]} rows           { key, x, y, label, mark }
 * @param {number} selected         key of a row, or null
 */
export function draw(canvas, frame, { head, values, asked, rows, selected, colour }) {
  const ink = cleared(canvas, frame.w, frame.h, colour.paper);
  drawModel(ink, frame, head, values, asked, colour);
  drawAxes(ink, frame, colour);
  drawRows(ink, frame, rows, head, selected, colour);
}

function drawModel(ink, frame, head, values, asked, colour) {
  const [functions, ny, nx] = head.shape, model = head.model;
  if (!model || !(functions || model.classes?.length === 1)) return;
  if (head.settings.svm_type > ONE_CLASS) drawCurve(ink, frame, values, asked, model.tube, colour);
  else drawRegions(ink, frame, head, values, functions ? nx : 2, functions ? ny : 2, asked, colour);
  for (const [x, y] of model.vectors ?? []) ring(ink, frame.px(x), frame.py(y), MARGIN, colour);
}

function drawRegions(ink, frame, head, values, nx, ny, { step }, colour) {
  const classes = head.model.classes, nodes = nx * ny;
  const shadeOf = (label) => colour.classes[head.labels.indexOf(label)];
  const shades = classes ? classes.map(shadeOf) : [colour.classes[0], null]; // of one-class inside, outside
  if (shades.length === 1) {
    fill(ink, shades[0], 0.2, { rects: [[0, 0, frame.w, frame.h]] });
    return;
  }
  const { labels, wins } = votes(values, nodes, classes ? classes.length : 2);
  const k = wins.length, boundary = new Path2D(), margins = new Path2D();
  const fills = new Map(shades.map((shade, c) => [c, new Region()]));
  const crossing = (a, b) => crossingOfClasses(values, nodes, k, labels, a, b);
  trace(labels, nx, ny, step, frame.h, crossing, fills, boundary);
  shades.forEach((shade, c) => shade && fill(ink, shade, classes ? 0.11 : 0.16, fills.get(c)));
  if (classes) {
    shades.forEach((shade, c) => {
      const beyond = new Uint8Array(nodes), region = new Region();
      for (let n = 0; n < nodes; n++) beyond[n] = wins[c][n] >= 1 ? 1 : 0;
      const edge = (a, b) => between(wins[c][a], wins[c][b], 1);
      trace(beyond, nx, ny, step, frame.h, edge, new Map([[1, region]]), margins);
      fill(ink, shade, 0.15, region);
    });
    stroke(ink, margins, colour.ink, 1, 0.6);
  }
  stroke(ink, boundary, colour.ink, 2, 0.85);
}

/** Where another class comes to win: where the function of the two changes its sign, or, where others decide, as in a
 *  circle of classes that beat each other, that of one of the two and a third. */
function crossingOfClasses(values, nodes, k, labels, a, b) {
  const two = [labels[a], labels[b]];
  const pairs = [two, ...two.flatMap((one) => Array.from({ length: k }, (_, other) => [one, other]))];
  for (const [one, other] of pairs) {
    if (one === other) continue;
    const at = pairPlace(Math.min(one, other), Math.max(one, other), k) * nodes;
    if (values[at + a] > 0 !== values[at + b] > 0) return between(values[at + a], values[at + b], 0);
  }
  return 0.5;
}

function fill(ink, shade, alpha, { rects = [], path }) {
  ink.globalAlpha = alpha;
  ink.fillStyle = shade;
  for (const rect of rects) ink.fillRect(...rect);
  if (path) ink.fill(path);
  ink.globalAlpha = 1;
}

function stroke(ink, path, shade, width, alpha = 1, dash = []) {
  ink.globalAlpha = alpha;
  ink.strokeStyle = shade;
  ink.lineWidth = width;
  ink.lineCap = ink.lineJoin = "round";
  ink.setLineDash(dash);
  ink.stroke(path);
  ink.setLineDash([]);
  ink.globalAlpha = 1;
}

/** Regression: the function, and the tube around it in which errors do not count. */
function drawCurve(ink, frame, values, { step }, tube, colour) {
  const shifted = (by) => {
    const path = new Path2D();
    values.forEach((value, i) => path.lineTo(i * step, frame.py(value + by)));
    return path;
  };
  if (tube !== null) {
    const band = shifted(tube);
    for (let i = values.length - 1; i >= 0; i--) band.lineTo(i * step, frame.py(values[i] - tube));
    fill(ink, colour.classes[0], 0.13, { path: band });
    for (const by of [tube, -tube]) stroke(ink, shifted(by), colour.ink, 1, 0.6);
  }
  stroke(ink, shifted(0), colour.ink, 2, 0.85);
}

function drawAxes(ink, frame, colour) {
  ink.fillStyle = colour.soft;
  ink.font = "11px system-ui, sans-serif";
  ink.globalAlpha = 0.9;
  ink.textAlign = "center";
  ink.textBaseline = "bottom";
  for (const [value, text] of ticks(frame.cx, frame.w / frame.sx)) {
    const at = frame.px(value);
    if (at > 44 && at < frame.w - 16) ink.fillText(text, at, frame.h - 5);
  }
  ink.textAlign = "left";
  ink.textBaseline = "middle";
  for (const [value, text] of ticks(frame.cy, frame.h / frame.sy)) {
    const at = frame.py(value);
    if (at > 10 && at < frame.h - 22) ink.fillText(text, 7, at);
  }
  ink.globalAlpha = 1;
}

/** Round numbers in a stretch of this length around `centre`, with their texts. */
export function ticks(centre, length) {
  const rough = length / TICKS, power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  const digits = Math.min(12, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  const found = [];
  const first = Math.ceil((centre - length / 2) / step);
  for (let k = 0; k <= TICKS; k++) { // step >= length / TICKS; counted, for beyond 2^53 first + 1 may be first
    const value = (first + k) * step;
    if (value <= centre + length / 2) found.push([value, value.toFixed(digits).replace("-", "−")]);
  }
  return found;
}

function drawRows(ink, frame, rows, head, selected, colour) {
  const coloured = isClassification(head.settings.svm_type);
  for (const row of [...rows].sort((a, b) => (a.mark > 0) - (b.mark > 0))) { // no row hides a support vector
    const at = coloured ? head.labels.indexOf(row.label) : 0;
    const x = frame.px(row.x), y = frame.py(row.y);
    const path = SHAPES[at];
    ink.save();
    ink.translate(x, y);
    ink.globalAlpha = row.mark || !head.model ? 1 : 0.62;
    ink.fillStyle = colour.classes[at];
    ink.fill(path);
    ink.globalAlpha = 1;
    ink.strokeStyle = colour.paper;
    ink.lineWidth = 1;
    ink.stroke(path);
    ink.restore();
    if (row.mark) ring(ink, x, y, row.mark, colour);
    if (row.key === selected) {
      ink.beginPath();
      ink.arc(x, y, RING + 5, 0, 2 * Math.PI);
      ink.strokeStyle = colour.accent;
      ink.lineWidth = 2.5;
      ink.stroke();
    }
  }
}

function ring(ink, x, y, mark, colour) {
  const path = new Path2D();
  path.arc(x, y, RING, 0, 2 * Math.PI);
  if (mark === MARGIN) stroke(ink, path, colour.ink, 1.6, 0.95);
  else stroke(ink, path, colour.ink, 1, 0.6, [2, 2.3]);
}

/** The shape of a class around (0, 0), as the path of an SVG: colours alone do not reach all eyes. */
export function shapeOf(at, r) {
  const polygon = (...points) => `M${points.map(([x, y]) => `${x * r},${y * r}`).join("L")}Z`;
  return [
    `M${r},0A${r},${r} 0 1 1 ${-r},0A${r},${r} 0 1 1 ${r},0Z`,
    polygon([-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]),
    polygon([0, -1.25], [1.15, 0.85], [-1.15, 0.85]),
    polygon([0, -1.3], [1.2, 0], [0, 1.3], [-1.2, 0]),
    polygon([0, 1.25], [1.15, -0.85], [-1.15, -0.85]),
    polygon([-0.4, -1.1], [0.4, -1.1], [0.4, -0.4], [1.1, -0.4], [1.1, 0.4], [0.4, 0.4], [0.4, 1.1], [-0.4, 1.1],
      [-0.4, 0.4], [-1.1, 0.4], [-1.1, -0.4], [-0.4, -0.4]),
  ][at];
}

const SHAPES = [0, 1, 2, 3, 4, 5].map((at) => new Path2D(shapeOf(at, RADIUS)));
