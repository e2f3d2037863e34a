import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { handler } from "../../../functions/workers/send-verification.ts";
import { workers } from "../../../infra/entry-points.ts";
import { callTargets } from "../../../infra/local/events/event-target.ts";
import { mailsTo, press, ruleNow, ruleTo, stranger } from "../../support/forwarding.ts";
import { newAccount, type Account } from "../../support/world.ts";

const eventOf = ({ id: account_id }: Pick<Account, "id">, id: string) => ({
  detail: { account_id, resource: { type: "forwarding", id }, data: {} },
});

test("sends the requested mail with a link to the API's confirmation page, once, however often the event comes", async () => {
  const account = await newAccount({ name: "Initech" });
  const rule = await ruleTo(account, stranger());
  await handler(eventOf(account, rule.id));
  await handler(eventOf(account, rule.id));
  const [asked, ...more] = await mailsTo(rule.target_email);
  if (!asked) throw new Error("no mail");
  expect(more).toEqual([]);
  expect(asked.mail.subject).toBe("Confirm that copies of mail may come to this address");
  expect(asked.mail.text).toContain("“Initech”");
  expect(asked.mail.text).toContain(`http://127.0.0.1:8080/verify#${asked.token}`);
  expect((await press(asked.token)).status).toBe(200);
});

// The outbox answers 503 for a recipient that begins with `silent-`, and refuses `refused-` for good.
test("throws if the mail cannot be sent now, so that the event comes again", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger("silent-ada"));
  await expect(handler(eventOf(account, rule.id))).rejects.toMatchObject({ code: "upstream_unavailable" });
  expect(await ruleNow(account, rule.id)).toMatchObject({ verification_state: "pending" });
});

test("a verification expires if the address is refused for good", async () => {
  const account = await newAccount();
  const rule = await ruleTo(account, stranger("refused-ada"));
  await handler(eventOf(account, rule.id));
  await handler(eventOf(account, rule.id));
  expect(await mailsTo(rule.target_email)).toEqual([]);
  expect(await ruleNow(account, rule.id)).toMatchObject({ verification_state: "expired" });
});

test("does nothing for a rule that does not exist, and throws for an event of another form", async () => {
  const account = await newAccount();
  await handler(eventOf(account, randomUUID()));
  for (const detail of [{}, { account_id: account.id }, { resource: { id: "x" } }]) {
    await expect(handler({ detail })).rejects.toThrow();
  }
});

test("is called only for the event `forwarding.verification_requested`, also by the local event bus", async () => {
  const { source } = workers.find(({ name }) => name === "workers.send_verification") ?? {};
  expect(source).toEqual({ events: ["forwarding.verification_requested"] });
  const account = await newAccount();
  const rule = await ruleTo(account, stranger());
  const call = (type: string): Promise<void> =>
    callTargets({
      version: "0",
      id: randomUUID(),
      source: "hosted-mail",
      account: "000000000000",
      region: "local",
      time: new Date().toISOString(),
      resources: [],
      "detail-type": type,
      detail: {
        id: randomUUID(),
        type,
        timestamp: new Date().toISOString(),
        account_id: account.id,
        actor: { type: "system", id: "test" },
        resource: { type: "forwarding", id: rule.id },
      },
    });
  await call("forwarding.created");
  expect(await mailsTo(rule.target_email)).toEqual([]);
  await call("forwarding.verification_requested");
  expect(await mailsTo(rule.target_email)).toHaveLength(1);
});
