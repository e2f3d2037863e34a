import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { locate } from "../../../shared/access/scopes.ts";
import { ResourceType } from "../../../shared/auth/permissions.ts";
import { itemKey } from "../../../shared/table/writes.ts";
import { ruleTo, stranger } from "../../support/forwarding.ts";
import { added, home } from "../../support/mailboxes.ts";
import { newAccount, testTable } from "../../support/world.ts";

const table = testTable();

test("`locate` finds a resource with its scopes, and returns a check that fails once the resource is deleted", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const domain = await home(account);
  const mailbox = await added(account, domain.name);
  const rule = await ruleTo(account, stranger(), { domain: domain.name });
  const workspaceScope = { type: "workspace" as const, id: domain.workspace_id };
  const domainScope = { type: "domain" as const, id: domain.id };
  for (const scopes of [
    [{ type: "forwarding" as const, id: rule.id }, domainScope, workspaceScope],
    [{ type: "mailbox" as const, id: mailbox.id }, domainScope, workspaceScope],
    [domainScope, workspaceScope],
    [workspaceScope],
  ]) {
    const [scope = workspaceScope] = scopes;
    const located = await locate(table, account.id, scope);
    expect(located?.scopes).toEqual(scopes);
    const present = located?.present;
    if (!present) throw new Error("nothing fails the transaction");
    const commit = () =>
      table.commit(async () => ({ value: "done", writes: [{ ...present, orElse: () => new Error("gone") }] }));
    expect(await commit()).toBe("done");
    await table.attempt({ delete: itemKey(present) });
    await expect(commit()).rejects.toThrow("gone");
    expect(await locate(table, other.id, scope)).toBeUndefined();
  }
});

test("`locate` finds no missing resource of any type, and finds an account without scopes", async () => {
  const { id } = await newAccount();
  for (const type of ResourceType.options) expect(await locate(table, id, { type, id: randomUUID() })).toBeUndefined();
  expect(await locate(table, id, { type: "account", id })).toEqual({ scopes: [] });
});
