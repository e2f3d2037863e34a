import { existsSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { eventTypes } from "../../shared/webhooks/event-types.ts";
import { digestOf, editionNames, readEdition } from "./edition.ts";

/** A frozen edition never changes: its file is what customers have stored. */
const digests: Record<string, string> = {
  "first-edition": "bf1227d820d82628260a012030633eb3a36803d9097eba5836fe2d14013c2473",
  "second-edition": "4406629411d18692f0020e58d1b47d99d595b7cd0506f5346a484d5b57ed6690",
};

test("the frozen editions are those that were frozen, to the byte", () => {
  expect(Object.fromEntries(editionNames().map((name) => [name, digestOf(name)]))).toEqual(digests);
});

test("every kind of resource that can change is in a frozen edition", () => {
  const rows = editionNames().flatMap((name) => readEdition(name).items);
  const frozen = new Set(rows.map((row) => row["resource_type"]));
  const kinds = new Set(eventTypes().map(({ type }) => type.slice(0, type.lastIndexOf("."))));
  expect([...kinds].filter((kind) => !frozen.has(kind))).toEqual([]);
});

test("every frozen edition has its tests", () => {
  const hasTests = (name: string): boolean => existsSync(join(import.meta.dirname, `${name}.test.ts`));
  expect(editionNames().filter((name) => !hasTests(name))).toEqual([]);
});
