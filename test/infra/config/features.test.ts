import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { expect, test } from "vitest";

import { readConfig } from "../../../infra/config/config.ts";
import { featuresOff, featureTable, featureWarnings } from "../../../infra/config/features.ts";
import { settings as dev } from "../../../infra/stages/dev.ts";
import { settings as example } from "../../../infra/stages/example.ts";
import { problemCodes } from "../../../shared/core/errors.ts";

const configOf = (settings: Record<string, unknown>) => readConfig(() => undefined, {}, settings);

test("the example stage has every feature except the invitation page", () => {
  const off = featureTable.filter(({ isOn }) => !isOn(configOf(example))).map(({ name }) => name);
  // The example has no sign-in for the page of an invitation.
  expect(off).toEqual(["invitation page"]);
  expect(featuresOff(configOf(example))).toEqual([]);
});

test("the default stage lacks the features that need a secret or an address, and prints a line for each", () => {
  expect(featuresOff(configOf(dev))).toEqual(["payments", "mail"]);
  const lines = featureWarnings(configOf(dev));
  expect(lines).toContain(
    "Off: payments. It needs paymentsSecretName, its secret, and publicUrl or domainName. Callers see: 409 payments_unavailable for top-ups and for saving a card.",
  );
  expect(lines.some((line) => line.startsWith("Off: registrar"))).toBe(false);
});

test("a stage can have no registrar and no DNS provider", () => {
  const off = featuresOff(configOf({ ...example, registrar: "none", dns: "none" }));
  expect(off).toEqual(["registrar", "dns"]);
});

test("alarms are on if both severities have a target, their own or `alarmEmail`", () => {
  const { alarmEmail, pageTarget, ticketTarget } = example;
  const areOn = (targets: Record<string, unknown>): boolean =>
    featureTable.some(({ name, isOn }) => name === "alarms" && isOn(configOf(targets)));
  for (const targets of [{ alarmEmail }, { pageTarget, ticketTarget }, { pageTarget, alarmEmail }]) {
    expect(areOn(targets), JSON.stringify(targets)).toBe(true);
  }
  for (const targets of [{}, { pageTarget }, { ticketTarget }]) {
    expect(areOn(targets), JSON.stringify(targets)).toBe(false);
  }
});

test("each code that the table of features names is a code of the API", () => {
  const codes = featureTable.flatMap(({ without }) =>
    [...without.matchAll(/`(\w+_unavailable)`/g)].map(([, code]) => code),
  );
  expect(codes).not.toEqual([]);
  expect(problemCodes).toEqual(expect.arrayContaining(codes));
});

test("docs/deploy.md has the table of features", () => {
  const rows = readFileSync(resolve(import.meta.dirname, "../../../docs/deploy.md"), "utf8").split("\n");
  const cells = rows.map((row) =>
    row
      .split("|")
      .map((cell) => cell.trim())
      .slice(1, 4),
  );
  for (const { name, needs, without } of featureTable) expect(cells).toContainEqual([name, needs, without]);
});
