import { existsSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

import { eventTypes } from "../../shared/webhooks/event-types.ts";
import { digestOf, editionNames, readEdition } from "./edition.ts";

/**
 * The SHA-256 of each frozen edition. It never changes, because an edition stands for rows that customers have stored.
 */
const digests: Record<string, string> = {
  "first-edition": "bf1227d820d82628260a012030633eb3a36803d9097eba5836fe2d14013c2473",
  "second-edition": "69ce43f61b043112ba5aa1baaec1ac2d0e4f2eaae4a5a075e7d3d21317447912",
  "third-edition": "506d9ef3eda3e7e3b7cd09ace13f53b8e54938f161cf9f53815e5a9525f46b5d",
  "fourth-edition": "16631a04e5c261f99100396b1710c8d2cd64aa30f5cc453b640152d8da54c846",
};

test("no byte of a frozen edition has changed", () => {
  expect(Object.fromEntries(editionNames().map((name) => [name, digestOf(name)]))).toEqual(digests);
});

test("every kind of resource with an event type has a change in a frozen edition", () => {
  const rows = editionNames().flatMap((name) => readEdition(name).items);
  const frozen = new Set(rows.map((row) => row["resource_type"]));
  const kinds = new Set(eventTypes().map(({ type }) => type.slice(0, type.lastIndexOf("."))));
  expect([...kinds].filter((kind) => !frozen.has(kind))).toEqual([]);
});

test("every frozen edition has a test file", () => {
  const hasTests = (name: string): boolean => existsSync(join(import.meta.dirname, `${name}.test.ts`));
  expect(editionNames().filter((name) => !hasTests(name))).toEqual([]);
});
