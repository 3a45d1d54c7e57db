// Steps on their way to the server, one request at a time: what came in meanwhile goes along with the next one, and of
// a row that is dragged only its newest place.

const ALIVE = 30_000; // milliseconds between signs of life: the server ends when nobody is there

export class Link {
  /**
   * @param {() => object} view                  the grid to ask for: { view, … }
   * @param {(answer: object) => void} answered  gets { head, values, asked, step, sent, received }
   * @param {(cause: string, followed: boolean) => void} failed     followed: an answer with what there is comes next
   */
  constructor(view, answered, failed) {
    Object.assign(this, { view, answered, failed, queue: [], busy: false });
    setInterval(() => fetch("alive", { method: "POST", body: "" }).catch(() => {}), ALIVE);
  }

  /** A step: { changes, continued, turn, time }, all of which may be left out. `time`: of the event behind it. */
  send(step = {}) {
    const next = { changes: [], continued: false, ...step }, last = this.queue.at(-1);
    if (last && !last.turn && !next.turn && (next.continued || !next.changes.length)) {
      if (!last.changes.length) last.continued = next.continued; // that only asks for a picture
      last.changes = merged(last.changes, next.changes);
      last.time = next.time ?? last.time;
    } else {
      this.queue.push(next);
    }
    this.run();
  }

  async run() {
    if (this.busy) return;
    this.busy = true;
    while (this.queue.length) {
      const step = this.queue.shift();
      try {
        await this.ask(step);
      } catch (error) {
        const refused = !(error instanceof TypeError); // else nobody has answered
        const followed = refused && step.changes.length > 0;
        if (followed) this.queue.push({ changes: [] }); // what is there now?
        this.failed(refused ? error.message : "the server has ended: start svmx-toy again", followed);
      }
    }
    this.busy = false;
    this.rested?.();
  }

  async ask(step) {
    const { changes, continued, turn } = step, asked = this.view(), sent = performance.now();
    const body = JSON.stringify({ changes, continued, turn, view: asked.view });
    const reply = await fetch("change", { method: "POST", body, headers: { "Content-Type": "application/json" } });
    if (!reply.ok) throw new Error(await causeOf(reply));
    const content = await reply.arrayBuffer(), length = new DataView(content).getUint32(0, true);
    const head = JSON.parse(new TextDecoder().decode(new Uint8Array(content, 4, length)));
    const values = new Float32Array(content, 4 + length), received = performance.now();
    this.answered({ head, values, asked, step, sent, received });
  }

  /** Open a file, of data or of a model, as its first words say. */
  async open(file) {
    const kind = /^\s*svm_type\b/.test(await file.slice(0, 200).text()) ? "model" : "data";
    const query = new URLSearchParams({ kind, name: file.name });
    try {
      const reply = await fetch(`open?${query}`, { method: "POST", body: file });
      if (!reply.ok) throw new Error(await causeOf(reply));
      this.send();
    } catch (error) {
      this.failed(error instanceof TypeError ? `${file.name} cannot be sent to the server` : error.message, false);
    }
  }

  /** Save what the server has at this address. */
  async save(name) {
    try {
      const reply = await fetch(name);
      if (!reply.ok) throw new Error(await causeOf(reply));
      const link = document.createElement("a");
      link.href = URL.createObjectURL(await reply.blob());
      link.download = name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 1000);
    } catch (error) {
      this.failed(error instanceof TypeError ? "the server has ended: start svmx-toy again" : error.message, false);
    }
  }
}

async function causeOf(reply) {
  try {
    return (await reply.json()).error;
  } catch {
    return `the server answers with ${reply.status}`;
  }
}

/** Changes one after the other, without those that a later one makes void. */
export function merged(before, after) {
  const kept = before.filter((old) => !after.some((fresh) => replaces(fresh, old)));
  return [...kept, ...after];
}

function replaces(fresh, old) {
  if (fresh.do !== old.do) return false;
  if (fresh.do === "move") return fresh.row === old.row;
  return fresh.do === "set" && Object.keys(old).every((name) => name in fresh);
}
