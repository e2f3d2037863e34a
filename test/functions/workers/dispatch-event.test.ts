import { expect, test } from "vitest";

import { handler } from "../../../functions/workers/dispatch-event.ts";
import { asOwner } from "../../support/auth.ts";
import { request } from "../../support/request.ts";
import { call, eventIn, keepingReceiver, verified } from "../../support/webhooks.ts";
import { newAccount, newMember } from "../../support/world.ts";

test("an event from the bus reaches the account's webhooks as it was published", async () => {
  const account = await newAccount();
  const { url, received } = await keepingReceiver();
  const { secret } = (await call(account, "POST", "", { url, event_types: ["workspace.*"] })).body;
  const event = eventIn(account.id, "workspace.updated", new Date(), { previous_data: { name: "Old" } });
  await handler({ detail: event });
  expect(received.map((one) => verified(secret, one))).toEqual([event]);
});

test("an event that was shortened for the bus arrives without the members that were left out", async () => {
  const account = await newAccount();
  const { url, received } = await keepingReceiver();
  const { secret } = (await call(account, "POST", "", { url, event_types: ["*"] })).body;
  const { data: _, ...event } = eventIn(account.id, "workspace.created", new Date(), { truncated: true });
  await handler({ detail: event });
  expect(received.map((one) => verified(secret, one))).toEqual([event]);
});

test("an invalid event is refused", async () => {
  await expect(handler({ detail: { type: "workspace.created" } })).rejects.toThrow(/account_id/);
});

test("a webhook still gets events after the access of its creator has ended, because it belongs to the account", async () => {
  const account = await newAccount();
  const maker = await newMember(account, { owner: true });
  const { url, received } = await keepingReceiver();
  const path = `/v1/public/accounts/${account.id}/webhooks`;
  const made = await request("POST", path, { token: maker.token, body: { url, event_types: ["workspace.*"] } });
  expect(made.status).toBe(201);
  const grants: { id: string; subject_id: string }[] = await asOwner(account, "GET", "authorizations");
  const own = grants.find(({ subject_id }) => subject_id === maker.id);
  await asOwner(account, "DELETE", `authorizations/${own?.id}`);
  expect((await request("GET", path, { token: maker.token })).status).toBe(404);
  const event = eventIn(account.id, "workspace.updated", new Date());
  await handler({ detail: event });
  expect(received.map((one) => verified(made.body.secret, one))).toEqual([event]);
  expect((await call(account, "GET", "")).body.items).toMatchObject([{ id: made.body.id, status: "active" }]);
});
