import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";

import { bundleLambdas } from "../../infra/build/bundle.ts";
import { newUser, type User } from "../support/world.ts";
import { ask, newEvents, startLambda, type Operation } from "./contestant.ts";
import { inFolder, inTurns, median, quantile, ratioOf, type Figure, type Options, type Result } from "./harness.ts";
import { blocks, shown, table } from "./page.ts";
import { servers, works, type Work } from "./peers.ts";

const operations = [
  { name: "read", title: "GET", route: "get" },
  { name: "list", title: "a page", route: "list" },
  { name: "add", title: "POST", route: "add" },
] as const;
/** What costs a framework nothing. It is shown, and is no peer. */
const floor = "no framework";
const descriptions: Record<Work | "ours", string> = {
  ours: "authenticates, authorizes, limits, records, logs",
  verified: "the same table calls and a token check",
  same: "the same table calls",
  bare: "only the calls for the answer",
};

type Contestant = {
  label: string;
  work: Work | "ours";
  fileOf: (of: Operation) => string;
  events: Record<Operation, object>;
};

/** Requests of one GET, one page and one POST through the handler, beside peers, each in a process of its own. */
export const run = ({ quick }: Options): Promise<Result> =>
  inFolder(async (folder) => {
    const owner = newUser();
    const contestants = await prepare(folder, owner);
    const [rounds, perRound] = quick ? [5, 50] : [21, 150];
    const races: Result[] = [];
    for (const operation of operations) races.push(await race(operation, contestants, { rounds, perRound, owner }));
    const text = `## Warm requests

This suite sends one request after another through the Lambda handler.

- Each program runs in a process of its own, on the same table: ${rounds} rounds of ${perRound} requests, in turns. Requests a second and ratios
  are medians of the rounds.
- All programs read the same items. Each adds to an account of its own; all these accounts start equal.
- The peers have none of our authorization, rate limits, audit and validation.
- Each peer runs in three ways: with only the calls for the answer; with as many calls as ours; and with these calls and the token verified by the
  library that we use.
- "${floor}" is a handler without a framework, the fastest that is possible.

`;
    return {
      figures: races.flatMap(({ figures }) => figures),
      chapter: text + races.map(({ chapter }) => chapter).join("\n"),
    };
  });

/** All read the same account. Each adds to an account of its own. */
async function prepare(folder: string, owner: User): Promise<Contestant[]> {
  await bundleLambdas(
    operations.map(({ name, route }) => ({ name, file: `functions/workspaces/${route}.ts` })),
    folder,
  );
  const { read, list } = await newEvents(owner, 100);
  const newContestant = async (contestant: Omit<Contestant, "events">): Promise<Contestant> => {
    const { add } = await newEvents(owner, 10);
    return { ...contestant, events: { read, list, add } };
  };
  const fileOf = (operation: Operation): string => join(folder, operation, "index.js");
  const all = [await newContestant({ label: "this API", work: "ours", fileOf })];
  for (const work of works) {
    for (const { label, file } of await servers(work)) {
      all.push(await newContestant({ label, work, fileOf: () => file }));
    }
  }
  return all;
}

async function race(
  { name, title }: (typeof operations)[number],
  contestants: readonly Contestant[],
  { rounds, perRound, owner }: { rounds: number; perRound: number; owner: User },
): Promise<Result> {
  const runners = contestants.map(({ label, work, fileOf, events }) => {
    const child = startLambda(fileOf(name), [`${label} ${work}`], { BENCH_USER: owner.id });
    return { child, ask: (times: number) => ask(child, events[name], times) };
  });
  try {
    const warmUp = await inTurns(
      1,
      runners.map((runner) => () => runner.ask(Math.max(300, perRound))),
    );
    const bodies: unknown[] = warmUp.map(([answer]) => JSON.parse(answer?.body ?? ""));
    const odd = bodies.findIndex((body) => name !== "add" && !isDeepStrictEqual(body, bodies[0]));
    if (odd >= 0) throw new Error(`${contestants[odd]?.label} answers otherwise: ${JSON.stringify(bodies[odd])}`);
    const answers = await inTurns(
      rounds,
      runners.map((runner) => () => runner.ask(perRound)),
    );
    const all = contestants.map(({ label, work }, index) => {
      const times = (answers[index] ?? []).map(({ ms }) => ms);
      const rates = times.map((ms) => (1000 * ms.length) / ms.reduce((sum, one) => sum + one, 0));
      return {
        label,
        work,
        rates,
        perSecond: median(rates),
        p50: quantile(times.flat(), 0.5),
        p99: quantile(times.flat(), 0.99),
      };
    });
    return resultOf(title, all);
  } finally {
    for (const { child } of runners) child.kill();
  }
}

type Speed = { label: string; work: Work | "ours"; rates: number[]; perSecond: number; p50: number; p99: number };

function resultOf(title: string, speeds: readonly Speed[]): Result {
  const [own] = speeds;
  const beside = works.map((work) => {
    const [fastest] = speeds
      .filter((one) => one.work === work && one.label !== floor)
      .toSorted((a, b) => b.perSecond - a.perSecond);
    return { work, fastest: fastest?.label ?? "", ratio: ratioOf(own?.rates ?? [], fastest?.rates ?? []) };
  });
  const figures: Figure[] = [
    { name: `warm ${title}: requests`, value: own?.perSecond ?? Number.NaN, unit: "a second" },
    { name: `warm ${title}: p50`, value: own?.p50 ?? Number.NaN, unit: "ms" },
    { name: `warm ${title}: p99`, value: own?.p99 ?? Number.NaN, unit: "ms" },
    ...beside.map(({ work, fastest, ratio }) => ({
      name: `warm ${title}: ours / fastest peer, ${descriptions[work]} (${fastest})`,
      value: ratio,
      unit: "× requests a second",
      ...(work === "same" ? { atLeast: 1 } : {}),
    })),
  ];
  const most = Math.max(...speeds.map(({ perSecond }) => perSecond));
  const rows = speeds.map(({ label, work, perSecond, p50, p99 }) => [
    label,
    descriptions[work],
    shown(perSecond, 0),
    blocks(perSecond, most),
    shown(p50, 2),
    shown(p99, 2),
  ]);
  const ratios = beside.map(({ work, fastest, ratio }) => `${shown(ratio, 2)}× ${fastest} (${descriptions[work]})`);
  const chapter = `### ${title}

Our requests a second, as a multiple of the fastest peer: ${ratios.join("; ")}.

${table(["", "Does", "Requests a second", "", "p50 ms", "p99 ms"], rows)}
`;
  return { figures, chapter };
}
