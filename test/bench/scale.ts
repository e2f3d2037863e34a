import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { Cost } from "../support/costs.ts";
import type { Options, Result, Row } from "./harness.ts";
import { writeScalePage } from "./page.ts";

/*
 * A model of load and cost by the number of mailboxes, made of arithmetic only. docs/scale.md shows its assumptions and
 * results. test/bench/scale.test.ts compares the page with them.
 */

const budgets = JSON.parse(readFileSync(join(import.meta.dirname, "budgets.json"), "utf8")) as Record<string, Cost>;
const budgetOf = (route: string): Cost => {
  const cost = budgets[route];
  if (!cost) throw new Error(`budgets.json has no ${route}`);
  return cost;
};

/** List prices in dollars, us-east-1, of November 2026, without free tiers and discounts. */
const prices = {
  readUnit: 0.125e-6,
  writeUnit: 0.625e-6,
  /** Prices of an HTTP API: the first 300 million requests of a month, and the requests after them. */
  request: 1e-6,
  furtherRequest: 0.9e-6,
  lambdaCall: 0.2e-6,
  /** A millisecond of an Arm function with half a gigabyte. */
  lambdaMs: (0.5 * 13.3334e-6) / 1_000,
  logByte: 0.5e-9,
  event: 1e-6,
  /** A month of a GB in the table and in its point-in-time recovery. */
  storedGb: 0.25 + 0.2,
  kmsCall: 3e-6,
  /** The price of each of the first 25 hosted zones, and of the zones after them. */
  zone: 0.5,
  furtherZone: 0.1,
  dnsQuery: 0.4e-6,
  /** The fixed price of alarms, the dashboard, the key, secrets and the workers: docs/deploy.md. */
  fixed: 20,
};

/** The cost of doing some work once. `calls` are the calls of the table. They decide how long the work takes. */
type Unit = Pick<Cost, "reads" | "writes" | "calls" | "events">;

/** One kind of work. A mailbox causes it `aDay` times a day. Each time, it takes `requests` requests of the API. */
type Work = Unit & { name: string; aDay: number; requests: number };

const mailRoute = (reads: number, writes: number, calls: number): Unit => ({ reads, writes, calls, events: 0 });
/** The cost of an entry in a batch of 500, as measured with batches of 100. */
const entry = (reads: number, writes: number) => ({ ...mailRoute(reads, writes, 0.1), requests: 1 / 500 });

const works: readonly Work[] = [
  { name: "login by IMAP or POP3", aDay: 24, requests: 1, ...mailRoute(8, 0.01, 3) },
  { name: "login by SMTP", aDay: 4, requests: 1, ...mailRoute(11, 0.01, 6) },
  { name: "look-up of a recipient", aDay: 30, requests: 1, ...mailRoute(8, 0, 4) },
  { name: "check of a sender", aDay: 5, requests: 1, ...mailRoute(7, 0, 3) },
  { name: "reported size", aDay: 4, ...entry(1.05, 2.08) },
  { name: "reported mail that was sent", aDay: 5, ...entry(1.11, 2.3) },
  { name: "reported login", aDay: 2, ...entry(1.03, 2.04) },
  { name: "reported delivery", aDay: 5, ...entry(0.04, 0.04) },
  { name: "read by REST (`mailboxes.get`)", aDay: 0.3, requests: 1, ...budgetOf("mailboxes.get") },
  { name: "change by REST (`mailboxes.update`)", aDay: 0.02, requests: 1, ...budgetOf("mailboxes.update") },
  {
    name: "a new mailbox (`mailboxes.add`)",
    aDay: 1 / 730,
    requests: 1,
    ...budgetOf("mailboxes.add"),
  },
];

const days = 30;
const mailboxesOfDomain = 50;
const mailboxesOfAccount = 250;
/** The busiest second has this many times the requests of the average second. */
const peak = 3;
/** The bytes of a mailbox's rows, with its share of lists, usage and the audit log of a year. */
const bytesOfMailbox = 12_000;
const bytesOfLogLine = 400;
const queriesOfDomain = 30_000;
/** The table units that an account's daily runs and its invoice use in a month. */
const billing = { reads: 15 * days, writes: 8 * days + 78 };

const sum = (of: (work: Work) => number): number => works.reduce((total, work) => total + work.aDay * of(work), 0);
/** The milliseconds of a work. A warm request takes 4 ms, and 4 ms more for each call of the table. */
const msOf = ({ requests, calls }: Work): number => 4 * requests + 4 * calls;

/**
 * The share of logins for which a process asks KMS for the account's key. A process keeps the keys of 1,000 accounts
 * (shared/mail/mailboxes/password.ts). The model is that all accounts are equally busy.
 */
const missShare = (mailboxes: number): number => Math.max(0, 1 - 1_000 / (mailboxes / mailboxesOfAccount));
const loginsOfDay = works.filter(({ name }) => name.startsWith("login")).reduce((total, { aDay }) => total + aDay, 0);

/** The load of one mailbox on an average day. */
const ofDay = {
  requests: sum(({ requests }) => requests),
  reads: sum(({ reads }) => reads) + billing.reads / days / mailboxesOfAccount,
  writes: sum(({ writes }) => writes) + billing.writes / days / mailboxesOfAccount,
  events: sum(({ events }) => events),
  lambdaMs: sum(msOf),
};

/** The dollars of a month for a number of mailboxes, by the item of the bill. */
function monthOf(mailboxes: number) {
  const month = mailboxes * days;
  const requests = month * ofDay.requests;
  const domains = mailboxes / mailboxesOfDomain;
  const within = Math.min(requests, 300e6);
  return {
    domains,
    requests:
      within * prices.request +
      (requests - within) * prices.furtherRequest +
      requests * (prices.lambdaCall + bytesOfLogLine * prices.logByte) +
      month * ofDay.lambdaMs * prices.lambdaMs,
    table: month * (ofDay.reads * prices.readUnit + ofDay.writes * prices.writeUnit + ofDay.events * prices.event),
    storage: ((mailboxes * bytesOfMailbox) / 1e9) * prices.storedGb,
    zones:
      Math.min(domains, 25) * prices.zone +
      Math.max(0, domains - 25) * prices.furtherZone +
      domains * queriesOfDomain * prices.dnsQuery,
    kms: month * loginsOfDay * missShare(mailboxes) * prices.kmsCall,
    fixed: prices.fixed,
  };
}

const count = (value: number): string => Math.round(value).toLocaleString("en-US");
const dollars = (value: number): string =>
  `$${value.toLocaleString("en-US", { maximumFractionDigits: value < 10 ? 2 : 0 })}`;

function costRow(mailboxes: number): Row {
  const { domains, ...parts } = monthOf(mailboxes);
  const total = Object.values(parts).reduce((one, other) => one + other, 0);
  return {
    Mailboxes: count(mailboxes),
    Domains: count(domains),
    "Requests, Lambda, logs": dollars(parts.requests),
    "Table units, events": dollars(parts.table),
    Storage: dollars(parts.storage),
    KMS: dollars(parts.kms),
    Zones: dollars(parts.zones),
    "All a month": dollars(total),
    "Cents for a mailbox": Number(((100 * total) / mailboxes).toPrecision(3)),
  };
}

function loadRow([name, mailboxes]: readonly [string, number]): Row {
  const aSecond = (value: number): number => (mailboxes * value * peak) / 86_400;
  return {
    Step: name,
    Mailboxes: count(mailboxes),
    "Zones, at most": count(mailboxes / mailboxesOfDomain),
    "Requests a second": count(aSecond(ofDay.requests)),
    "Lambdas at once": count(aSecond(ofDay.lambdaMs) / 1_000),
    "Read units a second": count(aSecond(ofDay.reads)),
    "Write units a second": count(aSecond(ofDay.writes)),
    "KMS calls a second": count(aSecond(loginsOfDay * missShare(mailboxes))),
    "Events a second": Number(aSecond(ofDay.events).toPrecision(2)),
    "GB of logs a day": Number(((mailboxes * ofDay.requests * bytesOfLogLine) / 1e9).toPrecision(2)),
    "GB in the table": count((mailboxes * bytesOfMailbox) / 1e9),
  };
}

/** The row of the assumptions for one kind of work. */
const assumptionRow = ({ name, aDay, requests, reads, writes }: Work): Row => ({
  "For one mailbox": name,
  "A day": String(Number(aDay.toPrecision(2))),
  "Requests each": requests === 1 ? "1" : "1/500",
  "Read units each": reads,
  "Write units each": writes,
});

const steps = [
  ["today", 50_000],
  ["10×", 500_000],
  ["100×", 5_000_000],
  ["1,000×", 50_000_000],
] as const;

export const costTable = "Cost of a month";

/** The whole model: assumptions, load at each step, and cost. */
export const scaleResult = (): Result => ({
  figures: [
    { name: "requests of a mailbox a day", value: ofDay.requests, unit: "requests" },
    { name: "read units of a mailbox a day", value: ofDay.reads, unit: "units" },
    { name: "write units of a mailbox a day", value: ofDay.writes, unit: "units" },
  ],
  tables: {
    Assumptions: works.map(assumptionRow),
    "Load in the busiest second": steps.map(loadRow),
    [costTable]: [1_000, 10_000, 100_000, 1_000_000, 10_000_000, 50_000_000].map(costRow),
  },
});

/** Computes the model. With `--write`, writes docs/scale.md and its picture. */
export async function run({ write }: Options): Promise<Result> {
  const result = scaleResult();
  if (write) await writeScalePage(result);
  return result;
}
