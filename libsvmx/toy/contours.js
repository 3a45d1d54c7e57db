// Regions of a grid and the lines between them, as marching squares finds them.
//
// A grid has nx times ny nodes, row by row from the bottom; node (i, j) is drawn at (i step, height - j step) pixels.

/** A part of the plane: runs of whole cells, which are filled much faster as rectangles, and the rest as a path. */
export class Region {
  rects = [];
  path = new Path2D();
}

/**
 * Adds what belongs to each label to its path, and the lines between labels to another.
 *
 * @param {Uint8Array} labels     of each node
 * @param {number} nx, ny         nodes each way
 * @param {number} step           pixels between nodes
 * @param {number} height         where j = 0 is
 * @param {(a: number, b: number) => number} crossing     where on the way from node a to node b, of other labels, the
 *     line passes: from 0 to 1
 * @param {Map<number, Region>} fills     of each label that is to be filled
 * @param {Path2D} lines
 */
export function trace(labels, nx, ny, step, height, crossing, fills, lines) {
  for (let j = 0; j + 1 < ny; j++) {
    const below = j * nx, above = below + nx;
    let begin = 0; // of a run of cells with one label
    for (let i = 0; i < nx; i++) {
      const label = labels[below + i];
      const whole = i + 1 < nx && label === labels[below + i + 1] && label === labels[above + i] &&
        label === labels[above + i + 1];
      if (whole && label === labels[below + begin]) continue;
      if (i > begin) {
        const top = height - (j + 1) * step;
        fills.get(labels[below + begin])?.rects.push([begin * step, top, (i - begin) * step, step]);
      }
      begin = i;
      if (!whole && i + 1 < nx) {
        cell(labels, [below + i, below + i + 1, above + i + 1, above + i], i, j);
        begin = i + 1;
      }
    }
  }

  // One cell of several labels: its border is cut where they change, and the cuts are joined.
  function cell(labels, nodes, i, j) {
    const corners = [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1]].map(([x, y]) => [x * step, height - y * step]);
    const cuts = [null, null, null, null]; // on the edge from corner k to the next one
    let first = -1, count = 0;
    const centre = [0, 0];
    for (let k = 0; k < 4; k++) {
      const next = (k + 1) % 4;
      if (labels[nodes[k]] === labels[nodes[next]]) continue;
      const t = crossing(nodes[k], nodes[next]);
      cuts[k] = corners[k].map((from, axis) => from + t * (corners[next][axis] - from));
      centre[0] += cuts[k][0];
      centre[1] += cuts[k][1];
      count++;
      if (first < 0) first = k;
    }
    centre[0] /= count;
    centre[1] /= count;
    let points = [cuts[first]];
    for (let k = 1; k <= 4; k++) {
      const at = (first + k) % 4;
      points.push(corners[at]);
      if (!cuts[at]) continue;
      points.push(cuts[at]);
      if (count > 2) points.push(centre);
      polygon(fills.get(labels[nodes[at]]), points);
      if (count > 2 || at === first) segment(cuts[at], count > 2 ? centre : points[0]);
      points = [cuts[at]];
    }
  }

  function polygon(region, points) {
    if (!region) return;
    region.path.moveTo(...points[0]);
    for (let k = 1; k < points.length; k++) region.path.lineTo(...points[k]);
    region.path.closePath();
  }

  function segment(from, to) {
    lines.moveTo(...from);
    lines.lineTo(...to);
  }
}

/** Where a line at `level` passes between two values, the one below it and the other not. */
export function between(from, to, level) {
  return from === to ? 0.5 : Math.min(1, Math.max(0, (level - from) / (to - from)));
}

/** Functions of pairs of k classes, (0,1), (0,2), …: the place of the pair (a, b), a < b. */
export function pairPlace(a, b, k) {
  return a * k - (a * (a + 1)) / 2 + b - a - 1;
}

/**
 * What decision values say of each node.
 *
 * @param {Float32Array} values     functions times nodes
 * @param {number} nodes
 * @param {number} k                classes
 * @returns {{labels: Uint8Array, wins: Float32Array[]}}     the class with most votes, as LIBSVM predicts; and of each
 *     class by how much it wins the pair that it wins least, or loses
 */
export function votes(values, nodes, k) {
  const labels = new Uint8Array(nodes);
  if (k === 1) return { labels, wins: [] };
  const wins = Array.from({ length: k }, () => new Float32Array(nodes).fill(Infinity));
  const counts = Array.from({ length: k }, () => new Uint8Array(nodes));
  for (let a = 0, place = 0; a < k; a++) {
    for (let b = a + 1; b < k; b++, place++) {
      const f = values.subarray(place * nodes, (place + 1) * nodes);
      for (let n = 0; n < nodes; n++) {
        counts[f[n] > 0 ? a : b][n]++;
        if (f[n] < wins[a][n]) wins[a][n] = f[n];
        if (-f[n] < wins[b][n]) wins[b][n] = -f[n];
      }
    }
  }
  for (let c = 1; c < k; c++) {
    for (let n = 0; n < nodes; n++) if (counts[c][n] > counts[labels[n]][n]) labels[n] = c;
  }
  return { labels, wins };
}
