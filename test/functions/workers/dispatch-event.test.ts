import { expect, test } from "vitest";

import { handler } from "../../../functions/workers/dispatch-event.ts";
import { call, eventIn, keepingReceiver, verified } from "../../support/webhooks.ts";
import { newAccount } from "../../support/world.ts";

test("an event from the bus reaches the account's webhooks as it was published", async () => {
  const account = await newAccount();
  const { url, received } = await keepingReceiver();
  const { secret } = (await call(account, "POST", "", { url, event_types: ["workspace.*"] })).body;
  const event = eventIn(account.id, "workspace.updated", new Date(), { previous_data: { name: "Old" } });
  await handler({ detail: event });
  expect(received.map((one) => verified(secret, one))).toEqual([event]);
});

test("an event that was too long for the bus arrives with what is left of it", async () => {
  const account = await newAccount();
  const { url, received } = await keepingReceiver();
  const { secret } = (await call(account, "POST", "", { url, event_types: ["*"] })).body;
  const { data: _, ...event } = eventIn(account.id, "workspace.created", new Date(), { truncated: true });
  await handler({ detail: event });
  expect(received.map((one) => verified(secret, one))).toEqual([event]);
});

test("what is no event is refused", async () => {
  await expect(handler({ detail: { type: "workspace.created" } })).rejects.toThrow(/account_id/);
});
