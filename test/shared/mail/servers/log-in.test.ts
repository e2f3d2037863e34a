import { expect, test } from "vitest";

import { createLog } from "../../../../shared/core/log.ts";
import { credentials, masterKey, StoredCredential } from "../../../../shared/mail/credentials/credential.ts";
import { loginWork } from "../../../../shared/mail/mailboxes/services.ts";
import { type WideScope, scopedKey } from "../../../../shared/mail/scoped/family.ts";
import { logIn } from "../../../../shared/mail/servers/log-in.ts";
import { write } from "../../../support/domain-work.ts";
import { withFault } from "../../../support/faults.ts";
import { cheapHash, home, send, setPassword, stocked, tagOf } from "../../../support/mailboxes.ts";
import { newAccount, testTable, type Account } from "../../../support/world.ts";

const masterPassword = "a master password";

/** A mailbox, and a master password with a hash that is cheap to check. */
async function scene(scopeOf: (place: { account: Account; domainId: string; workspaceId: string }) => WideScope) {
  const account = await newAccount();
  const { id: domainId, name, workspace_id: workspaceId } = await home(account);
  const [ada = ""] = await stocked(account, name, ["ada"]);
  const scope = scopeOf({ account, domainId, workspaceId });
  const body = { name: "Relay", generate: true };
  const { id } = (await send(account, "POST", "credentials", body)).body;
  await write({ delete: masterKey(account.id, { type: "account", id: account.id }, id) });
  const login = { hash: cheapHash(masterPassword), tag: await tagOf(account, masterPassword) };
  await write({ put: { ...masterKey(account.id, scope, id), credential_id: id, ...login } });
  const stored = () => testTable().get(scopedKey(credentials, account.id, id), StoredCredential);
  const lastUsed = async () => (await stored())?.last_used_at ?? undefined;
  const logInAt = (now: Date, password = masterPassword) =>
    logIn(
      { user: `ada@${name}`, password, protocol: "smtp" },
      { ...loginWork(), now: () => now, log: createLog("silent", {}, "json") },
    );
  return { account, ada, id, stored, lastUsed, logInAt };
}

const ofAccount = ({ account }: { account: Account }): WideScope => ({ type: "account", id: account.id });
const start = Date.parse("2026-03-04T05:06:07.000Z");
const after = (seconds: number): Date => new Date(start + seconds * 1_000);

test("a login stores the last use of a master password, exact to five minutes, and changes nothing else of it", async () => {
  const { lastUsed, stored, logInAt } = await scene(ofAccount);
  const before = await stored();
  expect(before?.last_used_at).toBeNull();
  const noted: (string | undefined)[] = [];
  for (const seconds of [0, 1, 299, 301, 400, 602]) {
    expect(await logInAt(after(seconds))).toBeDefined();
    noted.push(await lastUsed());
  }
  const [first, second, third] = [0, 301, 602].map((seconds) => after(seconds).toISOString());
  expect(noted).toEqual([first, first, first, second, second, third]);
  expect(await stored()).toEqual({ ...before, last_used_at: third });
});

test("a login whose use is already stored costs one write less", async () => {
  const { logInAt } = await scene(ofAccount);
  const writesOf = async (seconds: number): Promise<number> => {
    const { calls } = await withFault(undefined, -1, () => logInAt(after(seconds)));
    return calls.filter((call) => call === "UpdateItem").length;
  };
  expect(await writesOf(0)).toBe(2);
  expect(await writesOf(60)).toBe(1);
});

test("a login succeeds even if its use cannot be stored", async () => {
  const { logInAt, lastUsed } = await scene(ofAccount);
  const { calls } = await withFault(undefined, -1, () => logInAt(after(0)));
  const place = calls.indexOf("UpdateItem");
  const { value } = await withFault("throttled", place, () => logInAt(after(400)));
  expect(value).toMatchObject({ domain: { status: "active" } });
  expect(await lastUsed()).toBe(after(0).toISOString());
});

test("a login does not restore the row of a deleted master password", async () => {
  const { account, id, logInAt, stored } = await scene(ofAccount);
  await write({ delete: scopedKey(credentials, account.id, id) });
  expect(await logInAt(after(0))).toBeDefined();
  expect(await stored()).toBeUndefined();
});

test("a login with the mailbox's own password, or with a wrong password, is no use of a master password", async () => {
  const { account, ada, logInAt, lastUsed } = await scene(ofAccount);
  await setPassword(account, ada, "its own");
  expect(await logInAt(after(0), "its own")).toBeDefined();
  expect(await logInAt(after(0), "wrong")).toBeUndefined();
  expect(await lastUsed()).toBeUndefined();
});

test.each<[string, Parameters<typeof scene>[0], boolean]>([
  ["the account", ofAccount, true],
  ["its workspace", ({ workspaceId }) => ({ type: "workspace", id: workspaceId }), true],
  ["its domain", ({ domainId }) => ({ type: "domain", id: domainId }), true],
  ["another workspace", ({ domainId }) => ({ type: "workspace", id: domainId }), false],
  ["another domain", ({ workspaceId }) => ({ type: "domain", id: workspaceId }), false],
])("a master password of %s works only for the mailboxes in its scope", async (_, scopeOf, isIn) => {
  const { logInAt } = await scene(scopeOf);
  expect((await logInAt(after(0))) !== undefined).toBe(isIn);
});
