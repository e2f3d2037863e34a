import { expect, onTestFinished, test } from "vitest";

import { bigAccount, seedDemo } from "../../../../infra/local/seed/demo.ts";
import { seedBig, type Size } from "../../../../infra/local/seed/seed-big.ts";
import { getAccount } from "../../../../shared/accounts/visible.ts";
import { clock, dayMs, dayOf, setClockAhead } from "../../../../shared/core/time.ts";
import { newTable } from "../../../support/changes.ts";
import { uniqueName } from "../../../support/domains.ts";
import { newFolder } from "../../../support/folder.ts";
import { request } from "../../../support/request.ts";
import { issuer, newAccount, testTable, type Account } from "../../../support/world.ts";

const size: Size = { domains: 2, mailboxesEach: 30, workspaces: 2 };

/** Runs the seed, and stops it at `stopAt` mailboxes. */
async function seed(
  { id, owner }: Account,
  label: string,
  stopAt = Infinity,
): Promise<[done: boolean, seen: number[]]> {
  const stopping = new AbortController();
  const seen: number[] = [];
  const onProgress = (count: number): void => {
    seen.push(count);
    if (count >= stopAt) stopping.abort();
  };
  const place = { table: testTable(), accountId: id, ownerId: owner.id };
  return [await seedBig({ ...place, size, label, onProgress, signal: stopping.signal }), seen];
}

const labelOf = (): string => uniqueName("big").replace(".com", "");

test("seeded resources work like resources that the API created, with their passwords and audit entries", async () => {
  const account = await newAccount();
  const label = labelOf();
  // One transaction adds 23 mailboxes at most, so each domain with 30 mailboxes takes two. The end is reported again.
  expect(await seed(account, label)).toEqual([true, [23, 30, 53, 60, 60]]);
  const ask = async (method: string, path: string) =>
    request(method, `/v1/public/accounts/${account.id}/${path}`, { token: account.owner.token });
  const domains = (await ask("GET", "domains")).body;
  expect(domains).toMatchObject({ total: 2, items: [{ status: "active" }, { status: "active" }] });
  expect((await ask("GET", `domains/${label}-002.com`)).body.dns_records.length).toBeGreaterThan(3);
  expect((await ask("GET", `mailboxes?domain=${label}-001.com&page=2&page_size=20`)).body).toMatchObject({ total: 30 });
  const mailbox = `mailboxes/ada.allen.1@${label}-001.com`;
  expect((await ask("GET", mailbox)).body).toMatchObject({ status: "active", first_name: "Ada" });
  expect((await ask("POST", `${mailbox}/reveal-credentials`)).body.password).toHaveLength(20);
  expect((await ask("POST", `${mailbox}/reveal-credentials`)).body.code).toBe("secret_already_shown");
  expect((await ask("GET", "audit-log")).body.total).toBeGreaterThan(60);
});

test("the next run completes an interrupted seed, and does not change a complete seed", async () => {
  const account = await newAccount();
  const label = labelOf();
  expect((await seed(account, label, 40))[0]).toBe(false);
  const [done, seen] = await seed(account, label);
  expect([done, seen]).toEqual([true, [60, 60]]);
  expect(await seed(account, label)).toEqual([true, [60]]);
});

test("the account of the big seed dates from the product's clock, so billing finds no earlier months", async () => {
  setClockAhead(336 * dayMs);
  onTestFinished(() => setClockAhead(0));
  const table = await newTable();
  await seedDemo({ table, issuer, dataDir: newFolder(), baseUrl: "http://127.0.0.1:1", withBig: true });
  expect((await getAccount(table, bigAccount.id)).created_at).toContain(dayOf(clock()));
});
