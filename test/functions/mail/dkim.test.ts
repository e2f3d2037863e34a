import { createPrivateKey, createPublicKey } from "node:crypto";

import { expect, test } from "vitest";

import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { advanceDkim } from "../../../shared/domains/dkim/advance.ts";
import { holderKey } from "../../../shared/domains/domain.ts";
import { dig, dkimOf, setStored, storedAs, workAt, write } from "../../support/domain-work.ts";
import { active, connected, domainsRequest, uniqueName } from "../../support/domains.ts";
import { withFault } from "../../support/faults.ts";
import { logged } from "../../support/logged.ts";
import { askMailRoute } from "../../support/mail-routes.ts";
import { newAccount, testTable } from "../../support/world.ts";

const statusFor = async (name: string): Promise<number | undefined> =>
  (await askMailRoute("dkim", `domain=${name}`)).status;

/** The public half of a private key, as a DKIM record has it. */
const publicOf = (pem: unknown): string =>
  createPublicKey(createPrivateKey(String(pem)))
    .export({ type: "spki", format: "der" })
    .toString("base64");

test("returns the private key of the record in the DNS, for any spelling of the name, cacheable for five minutes", async () => {
  const name = uniqueName("bücher-");
  const account = await newAccount();
  const domain = await active(account, { name });
  const { status, headers, body } = await askMailRoute("dkim", `domain=${encodeURIComponent(name.toUpperCase())}.`);
  expect([status, headers["cache-control"]]).toEqual([200, "private, max-age=300"]);
  expect(body).toEqual({
    domain: domain.name,
    selector: "hm1",
    private_key: expect.stringMatching(/^-----BEGIN PRIVATE KEY-----\n/),
    public_key_record: { name: `hm1._domainkey.${domain.name}`, value: expect.stringMatching(/^v=DKIM1; k=rsa; p=/) },
  });
  const { name: place, value } = body["public_key_record"] as { name: string; value: string };
  expect(await dig(place, "TXT")).toEqual([value]);
  expect(value).toBe(`v=DKIM1; k=rsa; p=${publicOf(body["private_key"])}`);
});

test("during a rotation, returns the old key until the worker sees the new record, and then the new key", async () => {
  const account = await newAccount();
  const { name, id } = await active(account);
  const first = await dkimOf(account, id);
  await domainsRequest(account, "POST", `/${name}/dkim/rotate`);
  const before = (await askMailRoute("dkim", `domain=${name}`)).body;
  expect([before["selector"], publicOf(before["private_key"])]).toEqual(["hm1", first.public_key]);
  const at = (await storedAs(account, name)).dkim?.due_at ?? "";
  await advanceDkim(account.id, id, at, workAt(new Date(at)));
  const after = (await askMailRoute("dkim", `domain=${name}`)).body;
  expect([after["selector"], publicOf(after["private_key"])]).toEqual(["hm2", (await dkimOf(account, id)).public_key]);
});

test("returns no key for a name that is only connected, not held firmly, releasing, expired, or unknown", async () => {
  const account = await newAccount();
  const { name } = await active(account);
  const { name: claimed } = await connected(account);
  const cases = [claimed, uniqueName(), `www.${name}`, "", "..", "a b", "%FF", "localhost", "192.0.2.1"];
  for (const one of cases) expect([one, await statusFor(one)]).toEqual([one, 404]);
  const seen: unknown[] = [];
  for (const state of [
    { status: "degraded" },
    { status: "active", dns_mode: "external", sending_ready: false },
    { dns_mode: "hosted", status: "expired" },
    { status: "suspended" },
    { status: "releasing", is_open: false },
    { status: "active", is_open: true, verified_at: null },
  ]) {
    await setStored(account, name, state);
    seen.push(await statusFor(name));
  }
  expect(seen).toEqual([200, 404, 404, 404, 404, 404]);
  await setStored(account, name, { verified_at: new Date().toISOString() });
  expect(await statusFor(name)).toBe(200);
  await write({ update: holderKey(name), set: { firm: false } });
  const { status, headers, body } = await askMailRoute("dkim", `domain=${name}`);
  expect([status, headers["cache-control"], body["code"]]).toEqual([404, "no-store", "not_found"]);
});

test("returns no key for a domain of a suspended or closed account", async () => {
  const account = await newAccount();
  const { name } = await active(account);
  const seen = [];
  for (const status of ["past_due", "suspended", "active", "closed"] as const) {
    await setAccountStatus(testTable(), account.id, status, new Date());
    seen.push(await statusFor(name));
  }
  expect(seen).toEqual([200, 404, 200, 404]);
});

test("after a name has moved to another account, another key is returned", async () => {
  const [account, newcomer] = [await newAccount(), await newAccount()];
  const { name } = await active(account);
  const first = (await askMailRoute("dkim", `domain=${name}`)).body;
  await domainsRequest(account, "DELETE", `/${name}`);
  expect(await statusFor(name)).toBe(404);
  await active(newcomer, { name });
  const second = (await askMailRoute("dkim", `domain=${name}`)).body;
  expect(second["private_key"]).not.toBe(first["private_key"]);
});

test("needs the key of mail servers and the name of a domain", async () => {
  const { name } = await active(await newAccount());
  for (const headers of [{}, { "x-mail-key": "" }, { "x-mail-key": "wrong" }] as Record<string, string>[]) {
    const { value, calls } = await withFault(undefined, -1, () => askMailRoute("dkim", `domain=${name}`, headers));
    expect(value).toMatchObject({ status: 401, body: { code: "unauthenticated" } });
    expect(value.body).not.toHaveProperty("private_key");
    expect(calls).toEqual([]);
  }
  const { status, body } = await askMailRoute("dkim", "");
  expect([status, body]).toEqual([
    422,
    { detail: [{ loc: ["query", "domain"], msg: "This is required", type: "missing" }] },
  ]);
});

test("the private key is in no line of the log", async () => {
  const lines = logged();
  const { name } = await active(await newAccount());
  const { body } = await askMailRoute("dkim", `domain=${name}`);
  const told = lines.filter((line) => line.includes(`"route":"mail.dkim"`));
  expect(told.length).toBe(1);
  const [, part = ""] = String(body["private_key"]).split("\n");
  expect(part.length).toBeGreaterThan(60);
  expect(lines.filter((line) => line.includes(part) || line.includes("PRIVATE KEY"))).toEqual([]);
});
