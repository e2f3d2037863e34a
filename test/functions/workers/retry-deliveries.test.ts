import { expect, test } from "vitest";

import { handler } from "../../../functions/workers/retry-deliveries.ts";
import { createDelivery } from "../../../shared/webhooks/dispatch.ts";
import { getWebhook, webhookKey } from "../../../shared/webhooks/webhook.ts";
import { call, eventIn, keepingReceiver, verified, workOn } from "../../support/webhooks.ts";
import { newAccount, testTable } from "../../support/world.ts";

test("a run delivers the due deliveries, and leaves the others", async () => {
  const account = await newAccount();
  const { url, received } = await keepingReceiver();
  const { id, secret } = (await call(account, "POST", "", { url, event_types: ["*"] })).body;
  const table = testTable();
  const webhook = await getWebhook(table, account.id, id);
  const [early, late] = [workOn(table, new Date(Date.now() - 121_000)), workOn(table)];
  // A delivery from before its webhook was enabled is not sent.
  await table.attempt({ update: webhookKey(account.id, id), set: { enabled_at: early.now().toISOString() } });
  const due = eventIn(account.id, "workspace.created", early.now());
  await createDelivery(due, webhook, early);
  await createDelivery(eventIn(account.id, "workspace.created", late.now()), webhook, late);
  await handler();
  expect(received.map((one) => verified(secret, one))).toEqual([due]);
  const { items } = (await call(account, "GET", `/${id}/deliveries`)).body;
  expect(items.map(({ status }: { status: string }) => status)).toEqual(["pending", "succeeded"]);
});
