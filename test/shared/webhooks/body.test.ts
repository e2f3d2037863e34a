import { expect, test } from "vitest";

import { bodyOf } from "../../../shared/webhooks/signing.ts";
import { eventIn } from "../../support/webhooks.ts";

const event = (data: string, previous: string) =>
  eventIn("a", "workspace.updated", new Date(), { data: { text: data }, previous_data: { text: previous } });

test("the body of a short event is the whole event", () => {
  const short = event("é", "b");
  expect(JSON.parse(bodyOf(short))).toEqual(short);
});

test("a long event is sent without its previous data, and a longer event without all data, with `truncated: true`", () => {
  const { previous_data: _, ...current } = event("a", "b");
  const body = bodyOf({ ...current, previous_data: { text: "é".repeat(10_000) } });
  expect(JSON.parse(body)).toEqual({ ...current, truncated: true });
  const { data: __, previous_data: ___, ...bare } = event("a", "b");
  expect(JSON.parse(bodyOf({ ...bare, data: { text: "é".repeat(10_000) } }))).toEqual({ ...bare, truncated: true });
});
