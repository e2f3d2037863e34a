/** What a mark stands for; each has a colour of its own on light and on dark. */
type Kind = "ours" | "ours-soft" | "other" | "other-soft" | "read" | "write";

export type Bar = { label: string; parts: { value: number; kind: Kind }[]; text: string; isOurs?: boolean };
type Legend = { kind: Kind; text: string }[];
export type Line = { label: string; kind: Kind; points: { x: number; y: number }[] };

const width = 820;

/** Its own background, so that it reads the same whatever page it is on. */
const style = `
svg { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; }
.page { fill: #ffffff; } .ink { fill: #1f2328; } .dim { fill: #59636e; } .grid { stroke: #d1d9e0; stroke-width: 1; }
.title { font-size: 16px; font-weight: 600; } .strong { font-weight: 600; } .small { font-size: 12px; }
.ours { fill: #1d5fd1; } .ours-soft { fill: #86b3f5; } .other { fill: #7d8793; } .other-soft { fill: #c3cad2; }
.read { fill: #1f8a70; } .write { fill: #d9730d; }
.line { fill: none; stroke-width: 2.5; }
.line.ours { stroke: #1d5fd1; } .line.other { stroke: #7d8793; } .line.read { stroke: #1f8a70; }
@media (prefers-color-scheme: dark) {
  .page { fill: #151b23; } .ink { fill: #f0f6fc; } .dim { fill: #9aa4af; } .grid { stroke: #3d444d; }
  .ours { fill: #4c8dff; } .ours-soft { fill: #2b4f8f; } .other { fill: #8b949e; } .other-soft { fill: #484f58; }
  .read { fill: #3fb68b; } .write { fill: #f0944d; }
  .line { fill: none; }
  .line.ours { stroke: #4c8dff; } .line.other { stroke: #8b949e; } .line.read { stroke: #3fb68b; }
}`;

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");

type Place = { x: number; y: number };

const textAt = ({ x, y }: Place, text: string, classes: string, anchor = "start"): string =>
  `<text x="${x}" y="${y}" class="${classes}" text-anchor="${anchor}">${escaped(text)}</text>`;

function legendAt(place: Place, legend: Legend): string[] {
  let { x } = place;
  return legend.flatMap(({ kind, text }) => {
    const at = x;
    x += 26 + text.length * 7;
    return [
      `<rect x="${at}" y="${place.y - 10}" width="12" height="12" rx="2" class="${kind}"/>`,
      textAt({ x: at + 18, y: place.y }, text, "dim small"),
    ];
  });
}

const drawing = (height: number, title: string, marks: readonly string[]): string =>
  [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">`,
    `<style>${style}</style>`,
    `<rect width="${width}" height="${height}" rx="8" class="page"/>`,
    ...marks,
    "</svg>\n",
  ].join("\n");

type Heading = { title: string; subtitle: string; legend?: Legend };

function headingOf({ title, subtitle, legend = [] }: Heading): string[] {
  return [
    textAt({ x: 20, y: 32 }, title, "ink title"),
    textAt({ x: 20, y: 53 }, subtitle, "dim small"),
    ...legendAt({ x: 20, y: 76 }, legend),
  ];
}

/** Horizontal bars, each of one part or of several one after another, with the figure at its end. */
export function barChart(heading: Heading, bars: readonly Bar[], rowHeight = 28): string {
  const left = 30 + Math.max(...bars.map(({ label }) => label.length)) * 6.9;
  const top = heading.legend ? 92 : 70;
  const totalOf = ({ parts }: Bar): number => parts.reduce((sum, { value }) => sum + value, 0);
  const room = width - left - 30 - Math.max(...bars.map(({ text }) => text.length)) * 7;
  const scale = room / Math.max(...bars.map(totalOf));
  const marks = bars.flatMap((bar, row) => {
    const y = top + row * rowHeight;
    const middle = y + rowHeight / 2 + 4;
    let x = left;
    const parts = bar.parts.map(({ value, kind }) => {
      const at = x;
      x += value * scale;
      return `<rect x="${at.toFixed(1)}" y="${y + 3}" width="${Math.max(value * scale, 0).toFixed(1)}" height="${rowHeight - 6}" class="${kind}"/>`;
    });
    const classes = bar.isOurs ? "ink strong" : "ink";
    return [
      textAt({ x: left - 10, y: middle }, bar.label, classes, "end"),
      ...parts,
      textAt({ x: Math.round(x) + 8, y: middle }, bar.text, bar.isOurs ? "ink strong" : "dim"),
    ];
  });
  return drawing(top + bars.length * rowHeight + 18, heading.title, [...headingOf(heading), ...marks]);
}

type Axis = { ticks: readonly number[]; text: (tick: number) => string; isLog?: boolean };

/** Lines over two axes, each labelled at its last point. */
export function lineChart(heading: Heading, lines: readonly Line[], x: Axis, y: Axis): string {
  const [left, right, top, bottom] = [76, width - 190, heading.legend ? 104 : 84, 380];
  const along = ({ ticks, isLog }: Axis, value: number): number => {
    const of = (one: number): number => (isLog ? Math.log10(one) : one);
    const [from, to] = [of(ticks[0] ?? 0), of(ticks.at(-1) ?? 1)];
    return (of(value) - from) / (to - from);
  };
  const xOf = (value: number): number => left + along(x, value) * (right - left);
  const yOf = (value: number): number => bottom - along(y, value) * (bottom - top);
  const grid = [
    ...y.ticks.flatMap((tick) => [
      `<line x1="${left}" x2="${right}" y1="${yOf(tick).toFixed(1)}" y2="${yOf(tick).toFixed(1)}" class="grid"/>`,
      textAt({ x: left - 10, y: Math.round(yOf(tick)) + 4 }, y.text(tick), "dim small", "end"),
    ]),
    ...x.ticks.map((tick) => textAt({ x: Math.round(xOf(tick)), y: bottom + 22 }, x.text(tick), "dim small", "middle")),
  ];
  const marks = lines.flatMap(({ label, kind, points }) => {
    const at = points.map((point) => `${xOf(point.x).toFixed(1)},${yOf(point.y).toFixed(1)}`);
    const last = points.at(-1);
    const dots = points.length > 12 ? [] : at.map((one) => dot(one, kind));
    const place = { x: Math.round(xOf(last?.x ?? 0)) + 12, y: Math.round(yOf(last?.y ?? 0)) + 4 };
    return [
      `<polyline points="${at.join(" ")}" class="line ${kind}"/>`,
      ...dots,
      textAt(place, label, "ink strong small"),
    ];
  });
  return drawing(bottom + 40, heading.title, [...headingOf(heading), ...grid, ...marks]);
}

function dot(at: string, kind: Kind): string {
  const [x, y] = at.split(",");
  return `<circle cx="${x}" cy="${y}" r="4" class="${kind}"/>`;
}
