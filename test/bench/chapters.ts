import type { BudgetData } from "./budgets.ts";
import { barChart, lineChart, type Bar } from "./chart.ts";
import type { ColdData } from "./cold.ts";
import type { PagesData } from "./pages.ts";
import type { Work } from "./peers.ts";
import { assumptions, dollarsPerMillion, prices } from "./prices.ts";
import type { SoakData } from "./soak.ts";
import { floor, titles, type WarmData } from "./warm.ts";

/** A part of docs/benchmarks.md: Markdown, and the charts it shows by the names of their files. */
export type Chapter = { text: string; charts: Record<string, string> };

const shown = (value: number, digits = 1): string =>
  value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });

function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map((_, index) => (index === 0 ? "---" : "--:"))), ...rows.map(line)].join("\n");
}

const picture = (file: string, alt: string): string => `![${alt}](benchmarks/${file})`;

export function coldChapter(data: unknown): Chapter {
  const { rounds, starts, ratios } = data as ColdData;
  const bars = starts.map(({ label, loadMs, firstMs, totalMs }, index): Bar => {
    const [load, first] = index === 0 ? (["ours", "ours-soft"] as const) : (["other", "other-soft"] as const);
    const parts = [
      { value: loadMs, kind: load },
      { value: firstMs, kind: first },
    ];
    return { label, parts, text: `${shown(totalMs, 0)} ms`, isOurs: index === 0 };
  });
  const heading = {
    title: "Cold start of one read",
    subtitle: "Milliseconds to load the module, then to answer the first request; less is better",
    legend: [
      { kind: "other", text: "load" },
      { kind: "other-soft", text: "first request" },
    ] as const,
  };
  const rows = starts.map(({ label, how, kilobytes, loadMs, firstMs, totalMs, cpuMs }) => [
    label,
    how,
    `${kilobytes}`,
    shown(loadMs),
    shown(firstMs),
    shown(totalMs),
    shown(cpuMs),
    ratios[label] === undefined ? "" : `${shown(ratios[label], 2)}×`,
  ]);
  const head = ["", "Bundled", "kB", "Load ms", "First ms", "Both ms", "CPU ms", "Ours / this"];
  const text = `## Cold start

${picture("cold.svg", "Cold start of one read beside other frameworks")}

\`GET\` of one workspace in a fresh process: loading the module, then the first request, over TLS to the engine. Medians of
${rounds} rounds in which all take turns; the last column is the median of each round's ratio. Everybody uses the same SDK
with the same client options and reads the same item. The others make one call of the table and nothing else; ours also
verifies the token, authorizes, charges the rate limit and writes its log line, which takes three calls more and two
connections more. The bare SDK is a handler with a client and one GetItem. Lambda adds some 125 ms of its own to each.

A profile of ours (\`--cpu-prof\`, November 2026) has some 30 % in compiling and loading modules, 20 % in the SDK, 14 % in zod and 4 %
in collecting garbage. zod without its JIT changes nothing. V8 with a larger young heap (\`--min-semi-space-size=16\`) takes off a
tenth, but Lambda's \`NODE_OPTIONS\` does not take that flag.

${tableOf(head, rows)}
`;
  return { text, charts: { "cold.svg": barChart({ ...heading, legend: [...heading.legend] }, bars) } };
}

const workNames: Record<Work, string> = {
  verified: "the same calls, and the token verified",
  same: "the same calls of the table",
  bare: "only the calls that answer",
};

export function warmChapter(data: unknown): Chapter {
  const { rounds, perRound, races } = data as WarmData;
  const charts = races.map(({ operation, speeds }): [string, string] => {
    const bars = speeds
      .filter(({ work }) => work === "ours" || work === "verified" || work === "same")
      .map(({ label, work, perSecond, p50Ms }): Bar => {
        const isOurs = work === "ours";
        const kind = isOurs ? "ours" : work === "verified" ? "other" : "other-soft";
        return {
          label,
          parts: [{ value: perSecond, kind }],
          text: `${shown(perSecond, 0)} · ${shown(p50Ms, 2)} ms`,
          isOurs,
        };
      });
    const heading = {
      title: `Warm ${titles[operation]}: requests a second, one at a time`,
      subtitle: "With the median latency; more is better. All make the same calls of the table",
      legend: [
        { kind: "other" as const, text: "token verified too" },
        { kind: "other-soft" as const, text: "nobody authenticated" },
      ],
    };
    return [`warm-${operation}.svg`, barChart(heading, bars, 24)];
  });
  const tables = races.map(({ operation, speeds, ratios }) => {
    const rows = speeds.map(({ label, work, perSecond, p50Ms, p99Ms }) => [
      label,
      work === "ours" ? "authenticates, authorizes, limits, records, logs" : workNames[work],
      shown(perSecond, 0),
      shown(p50Ms, 2),
      shown(p99Ms, 2),
    ]);
    const besides = (Object.keys(workNames) as Work[])
      .map((work) => `${shown(ratios[work].ratio, 2)}× ${ratios[work].fastest} (${workNames[work]})`)
      .join("; ");
    return `### ${titles[operation]}

${picture(`warm-${operation}.svg`, `Warm ${titles[operation]} beside other frameworks`)}

Ours beside the fastest peer: ${besides}.

${tableOf(["", "Does", "Requests a second", "p50 ms", "p99 ms"], rows)}
`;
  });
  const text = `## Warm requests

Through the Lambda handler, one request after another, each contestant in a process of its own on the same table: ${rounds}
rounds of ${perRound} requests, in turns; requests a second and ratios are medians of the rounds. The reads are of the same
items; each adds to an account of its own that began like all others. Peers skip our authorization, rate limits, audit
and validation. They are shown three ways: with only the calls that answer, with as many calls as ours makes, and with
those and the token verified by the library that we use. "${floor}" is a handler without any, the floor.

${tables.join("\n")}`;
  return { text, charts: Object.fromEntries(charts) };
}

export function budgetChapter(data: unknown): Chapter {
  const { costs } = data as BudgetData;
  const all = Object.entries(costs).map(([name, cost]) => ({ name, cost, dollars: dollarsPerMillion(cost) }));
  const { baseMs, msPerTableCall, memoryGigabytes, logBytes } = assumptions;
  const rows = all.map(({ name, cost: { reads, writes, calls, events }, dollars }) => [
    `\`${name}\``,
    `${reads}`,
    `${writes}`,
    `${calls}`,
    `${events}`,
    `$${shown(dollars.table, 2)}`,
    `$${shown(dollars.all, 2)}`,
  ]);
  const byCost = all.toSorted((one, other) => other.dollars.table - one.dollars.table);
  const bars = byCost.map(({ name, cost: { reads, writes } }): Bar => {
    const parts = [
      { value: reads, kind: "read" as const },
      { value: writes, kind: "write" as const },
    ];
    return { label: name, parts, text: `${reads} + ${writes}` };
  });
  const heading = {
    title: "DynamoDB units of one request, every route",
    subtitle: "Of the example call in the tests, with the rate limit's read and write; less is better",
    legend: [
      { kind: "read" as const, text: "read units" },
      { kind: "write" as const, text: "write units" },
    ],
  };
  const text = `## Table units and dollars of every route

What the engine says each route's example call consumes (\`test/support/examples.ts\`), by an owner who has not called
before: that adds the read of the account's own limits and the write that charges the caller's, which somebody who calls
often pays for every tenth request only. \`test/bench/budgets.json\` holds these figures and \`npm test\` fails when one
changes; \`npm run bench -- budgets --write\` takes over a change that is meant.

Dollars are of a million requests in ${prices.region} on demand (\`test/bench/prices.ts\`, prices as of ${prices.readOn}). "All" adds the HTTP API's call
($${shown(prices.gatewayRequest * 1e6, 2)}), Lambda's ($${shown(prices.lambdaRequest * 1e6, 2)}), its time on Arm with ${memoryGigabytes * 1024} MB, a log line of ${logBytes} bytes, and $${shown(prices.event * 1e6, 2)} for each change that
is published as an event. The time is assumed, not measured: ${baseMs} ms and ${msPerTableCall} ms for each call of the table, warm. Not in it:
what workers do afterwards, storage, backups, transfer, and what others ask (the registrar, Stripe, SES, KMS).

${tableOf(["Route", "Read units", "Write units", "Calls", "Events", "Table, $/M", "All, $/M"], rows)}

${picture("units.svg", "DynamoDB units of one request of every route")}
`;
  return { text, charts: { "units.svg": barChart(heading, bars, 19) } };
}

export function pagesChapter(data: unknown): Chapter {
  const { pageSize, sizes } = data as PagesData;
  const heading = {
    title: "Read units of the last page",
    subtitle: "Against the rows of the list, both axes logarithmic; less is better",
  };
  const lines = [
    {
      label: "by brute force",
      kind: "other" as const,
      points: sizes.map(({ rows, brute }) => ({ x: rows, y: brute.units })),
    },
    { label: "this API", kind: "ours" as const, points: sizes.map(({ rows, last }) => ({ x: rows, y: last.units })) },
  ];
  const text = (tick: number): string => tick.toLocaleString("en-US");
  const chart = lineChart(
    heading,
    lines,
    { ticks: [1_000, 10_000, 100_000], text, isLog: true },
    { ticks: [1, 10, 100, 1_000, 10_000], text, isLog: true },
  );
  const rows = sizes.flatMap(({ rows, live, first, middle, last, brute }) =>
    Object.entries({
      "page 1": first,
      "the middle page": middle,
      "the last page": last,
      "… by brute force": brute,
    }).map(([which, { units, calls, ms }]) => [text(rows), text(live), which, text(units), `${calls}`, shown(ms)]),
  );
  return {
    charts: { "pages.svg": chart },
    text: `## Pages

${picture("pages.svg", "Read units of the last page against the rows of the list")}

Pages of ${pageSize} of a list with its exact total, a tenth of its rows deleted at random. Brute force is a strongly consistent query
of all rows, counted, of which the page is kept: what an exact total and a page number cost in DynamoDB otherwise.
Milliseconds are of the embedded engine.

${tableOf(["Rows made", "Live", "", "Read units", "Calls in a row", "ms"], rows)}
`,
  };
}

export function soakChapter(data: unknown): Chapter {
  const { seconds, warmUp, workers, samples, mix } = data as SoakData;
  const top = Math.ceil(Math.max(...samples.map(({ product }) => product)) / 100) * 100;
  const minutes = (warmUp + seconds) / 60;
  const inMinutes = (of: number): string => shown(of / 60, minutes < 5 ? 1 : 0);
  const ticks = Array.from({ length: 6 }, (_, index) => (minutes * index) / 5);
  const line = (member: "product" | "engine", kind: "ours" | "read") => ({
    label: member === "product" ? "product" : "DynamoDB engine",
    kind,
    points: samples.map((sample) => ({ x: sample.seconds / 60, y: sample[member] })),
  });
  const chart = lineChart(
    { title: "Resident memory under load", subtitle: "MiB against minutes, local runtime" },
    [line("product", "ours"), line("engine", "read")],
    { ticks, text: (tick) => shown(tick, minutes < 5 ? 1 : 0) },
    { ticks: Array.from({ length: 5 }, (_, index) => (top * index) / 4), text: (tick) => shown(tick, 0) },
  );
  const kinds = Object.entries(mix).map(([name, count]) => `${name} ${count.toLocaleString("en-US")}`);
  return {
    charts: { "soak.svg": chart },
    text: `## Local gateway under load

${picture("soak.svg", "Resident memory of the product and of its engine under load")}

\`npm start\` with an empty table for ${inMinutes(seconds)} minutes after ${inMinutes(warmUp)} of warming up, ${workers} requests at a time over HTTP:
reads, writes that are undone again, programs of code mode and mistakes. The load comes from the same machine. Growth is
from the first fifth of those ${inMinutes(seconds)} minutes to the last, by their medians. Live objects are what is left of the product's heap
after a full collection, half-way through the warm-up and at the end. The engine grows while it warms up: it remembers the token of every transaction for ten minutes,
as DynamoDB does, some 0.5 kB each.

Sent: ${kinds.join(", ")}.
`,
  };
}

/** Why contributors wait; `checks` has no data but its figures. */
export const checksChapter = (): Chapter => ({
  charts: {},
  text: `## What contributors wait for

Profiles of November 2026 on this machine. \`npm run synth\`: esbuild links 117 bundles, of some 700 modules each, on both
processors for 4 to 5 s, while the CDK loads; then the CDK validates the template for 2 s. \`npm run vitest\` has both
processors at work but for 5 % of its time, for 370 s of processor time: half of it the tests of routes, each in a new
account on an engine that takes 0.14 ms for an item of a transaction, a sixth the browser, and a third what starts the
product, bundles it or stands around the routes.
`,
});
