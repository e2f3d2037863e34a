import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { handler } from "../../../functions/workers/send-notices.ts";
import { workers } from "../../../infra/entry-points.ts";
import { callTargets } from "../../../infra/local/events/event-target.ts";
import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { stranger } from "../../support/forwarding.ts";
import { accountWithAddress, eventsOf, knowEmail, noticesTo, pastDue } from "../../support/notices.ts";
import { testTable } from "../../support/world.ts";

test("sends the mail about an event to the owners once, however often the event comes", async () => {
  const { account, address } = await accountWithAddress();
  await setAccountStatus(testTable(), account.id, "suspended", new Date());
  const [event] = await eventsOf(account, "account.updated");
  await handler({ detail: event });
  await handler({ detail: event });
  const mails = await noticesTo(address);
  expect(mails.map(({ subject }) => subject)).toEqual(["Your account is suspended"]);
});

test("throws if a mail cannot be sent now, so that the event comes again", async () => {
  const { account } = await accountWithAddress("Initech", stranger("silent-ada"));
  await expect(handler({ detail: pastDue(account) })).rejects.toMatchObject({ code: "upstream_unavailable" });
});

test("does not throw if an address is refused for good, and throws for an event of another form", async () => {
  const { account } = await accountWithAddress();
  const refused = stranger("refused-ada");
  await knowEmail(account, account.owner, refused);
  await handler({ detail: pastDue(account) });
  expect(await noticesTo(refused)).toEqual([]);
  await expect(handler({ detail: { account_id: account.id } })).rejects.toThrow();
});

test("without a mail provider nothing is sent, and nothing fails", async () => {
  const { account, address } = await accountWithAddress();
  const provider = process.env["MAIL_PROVIDER"];
  delete process.env["MAIL_PROVIDER"];
  try {
    await handler({ detail: pastDue(account) });
  } finally {
    process.env["MAIL_PROVIDER"] = provider;
  }
  expect(await noticesTo(address)).toEqual([]);
});

test("is called for account.updated and not for account.created, also by the local event bus", async () => {
  const { source } = workers.find(({ name }) => name === "workers.send_notices") ?? {};
  expect(source).toEqual({ events: expect.arrayContaining(["account.updated", "domain.expiring"]) });
  const { account, address } = await accountWithAddress();
  const call = (type: string): Promise<void> => {
    const event = { ...pastDue(account), type };
    return callTargets({
      version: "0",
      id: randomUUID(),
      source: "hosted-mail",
      account: "000000000000",
      region: "local",
      time: event.timestamp,
      resources: [],
      "detail-type": type,
      detail: { ...event, resource: { type: "account", id: account.id } },
    });
  };
  await call("account.created");
  expect(await noticesTo(address)).toEqual([]);
  await call("account.updated");
  expect(await noticesTo(address)).toHaveLength(1);
});
