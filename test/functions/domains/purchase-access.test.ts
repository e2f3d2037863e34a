import { randomUUID } from "node:crypto";

import { describe, expect, test } from "vitest";

import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { newWorkspace } from "../../support/auth.ts";
import { contact, domainsRequest, listedDomains, purchase, readDomain, uniqueName } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { buyer, continued, pay, registered, wallet } from "../../support/purchases.ts";
import { newMember, testTable } from "../../support/world.ts";

describe("access", () => {
  test("a caller with access to one workspace can purchase only there, and another workspace is like a missing one", async () => {
    const account = await buyer();
    const [mine, other] = [await newWorkspace(account, "Mine"), await newWorkspace(account, "Other")];
    const member = await newMember(account, { capability: "domain.purchase", scope: { type: "workspace", id: mine } });
    const domainManager = await newMember(account, { role: "domain_manager" });
    const as = (workspace_id: string, owner = member) =>
      purchase({ ...account, owner }, [uniqueName()], { workspace_id });
    expect((await as(mine)).body.successful_count).toBe(1);
    const [hidden, missing] = [await as(other), await as(randomUUID())];
    expect([hidden.status, hidden.body]).toEqual([422, missing.body]);
    expect((await as(mine, domainManager)).body).toMatchObject({ status: 403, required_capability: "domain.purchase" });
    expect((await wallet(account)).available).toBe(98_600);
  });

  test("a suspended account cannot purchase", async () => {
    const account = await buyer();
    const workspace_id = await newWorkspace(account, "Here");
    await setAccountStatus(testTable(), account.id, "suspended", new Date());
    const { body } = await purchase(account, [uniqueName()], { workspace_id });
    expect(body).toMatchObject({ status: 403, code: "account_suspended" });
    expect((await wallet(account)).available).toBe(100_000);
  });
});

test("the contact of a purchase is stored only in the purchase, and is not shown elsewhere", async () => {
  const account = await buyer(1_500);
  const secret = (member: string): string => `confidential ${member}`;
  const hidden = {
    ...contact,
    ...Object.fromEntries(
      ["first_name", "last_name", "organization", "address_1", "city", "state"].map((one) => [one, secret(one)]),
    ),
    email: "confidential@example.com",
    zip: "confidential",
  };
  const names = [uniqueName(), `refused-${uniqueName()}`];
  const headers = { "idempotency-key": randomUUID() };
  const body = { workspace_id: await newWorkspace(account, "Here"), contact_info: hidden };
  const answers = [
    await domainsRequest(account, "POST", "/purchase", { ...body, domains: [names[0]] }, headers),
    await purchase(account, [names[1] ?? ""], body),
  ];
  await pay(account, answers[1]?.body.payment_url);
  await continued(account);
  await registered(account, names[0] ?? "");
  expect(await registered(account, names[1] ?? "")).toMatchObject({ status: "failed" });
  const kept = await storedOf(account);
  const withContact = kept.filter((item) => /confidential/i.test(JSON.stringify(item)));
  expect(withContact.map(({ SK }) => SK.split("#")[0])).toEqual(["PURCHASE", "PURCHASE"]);
  const principal = await testTable().between(`PRINCIPAL#${account.owner.id}`, "!", "~");
  const shown = [
    principal,
    answers.map(({ text }) => text),
    await listedDomains(account),
    await readDomain(account, names[0] ?? ""),
  ];
  expect(JSON.stringify(shown)).not.toMatch(/confidential/i);
  expect(JSON.stringify(shown)).not.toContain(contact.phone);
});
