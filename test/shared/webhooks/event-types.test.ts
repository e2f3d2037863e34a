import { globSync, readFileSync } from "node:fs";
import { resolve } from "node:path";

import { expect, test } from "vitest";

import { eventTypes } from "../../../shared/webhooks/event-types.ts";
import { EventPattern } from "../../../shared/webhooks/webhook.ts";

test("the catalogue has every declared kind, and each event type once, in a form that a subscription accepts", () => {
  const root = resolve(import.meta.dirname, "../../../shared");
  const sources = globSync("**/*.ts", { cwd: root }).map((file) => readFileSync(resolve(root, file), "utf8"));
  const declared = sources.flatMap((source) =>
    [...source.matchAll(/defineKind\(\{\s*name: "([\w.]+)"/g)].map(([, name]) => name),
  );
  const types = eventTypes().map(({ type }) => type);
  const known = new Set(types.map((type) => type.slice(0, type.lastIndexOf("."))));
  expect(declared.length).toBeGreaterThan(5);
  expect(known).toEqual(new Set(declared));
  expect(new Set(types).size).toBe(types.length);
  for (const type of types) expect(EventPattern.safeParse(type).success).toBe(true);
});
