import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { afterEach, expect, test } from "vitest";

import { ruleOf } from "../../../infra/restore/account-rules.ts";
import { restoreAccount, type AccountRestore } from "../../../infra/restore/account.ts";
import { setAccountStatus } from "../../../shared/access/operate-accounts.ts";
import { operatorCommit } from "../../../shared/changes/recorder.ts";
import { holderKey } from "../../../shared/domains/domain.ts";
import { syncZone } from "../../../shared/domains/records/sync.ts";
import { getZone } from "../../../shared/domains/zone.ts";
import type { Assignment } from "../../../shared/grants/assignment.ts";
import { listAssignments, planAssignments, planRevocation } from "../../../shared/grants/assignments.ts";
import { rules } from "../../../shared/mail/forwarding/rule.ts";
import { scopedKey } from "../../../shared/mail/scoped/family.ts";
import { rowKey } from "../../../shared/table/ranked-list.ts";
import type { Table } from "../../../shared/table/table.ts";
import { createRandom } from "../../simulation/random.ts";
import { editionNames, readEdition } from "../../stored/edition.ts";
import { isSuperAdmin } from "../../support/auth.ts";
import { quicklyActive, workAt } from "../../support/domain-work.ts";
import { purchase } from "../../support/domains.ts";
import { ruleTo, stranger } from "../../support/forwarding.ts";
import { home } from "../../support/mailboxes.ts";
import { registered } from "../../support/purchases.ts";
import { request } from "../../support/request.ts";
import { isExhaustive, seed } from "../../support/sample.ts";
import { newAccount, newUser, testTable, type User } from "../../support/world.ts";
import { operator } from "../operator/command-line.ts";
import {
  domainDeleted,
  furnished,
  itemsOf,
  lived,
  moneyOf,
  recovered,
  resourcesOf,
  type Scene,
} from "./restored-account.ts";

const tidyUps: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const tidy of tidyUps.splice(0)) await tidy();
});

/** An account, and a table with its state before `deeds`. The account is suspended afterwards. */
async function restorable(scene: Pick<Scene, "account">, deeds: () => Promise<unknown>) {
  const { id } = scene.account;
  const { name, past, tidy } = await recovered(id);
  tidyUps.push(tidy);
  const before = await resourcesOf(id);
  await deeds();
  await setAccountStatus(testTable(), id, "suspended", new Date());
  const restore: AccountRestore = {
    live: testTable(),
    past,
    pastName: name,
    accountId: id,
    dryRun: false,
    now: new Date(),
  };
  return { before, restore, name, id };
}

/** A table that allows this many writes and then fails at every write, as if the process died. */
function dyingAfter(table: Table, writes: number): Table {
  let left = writes;
  const count =
    <A extends unknown[], T>(call: (...given: A) => Promise<T>) =>
    async (...given: A): Promise<T> => {
      if (left-- <= 0) throw new Error("dead");
      return call(...given);
    };
  return { ...table, commit: count(table.commit), attempt: count(table.attempt) };
}

test("the restore has a rule for every row of an account", () => {
  const rows = editionNames().flatMap((name) => readEdition(name).items.filter(({ PK }) => PK.startsWith("ACCOUNT#")));
  expect(rows.length).toBeGreaterThan(1_000);
  for (const { SK } of rows) expect(() => ruleOf(SK)).not.toThrow();
  const map = readFileSync(resolve(import.meta.dirname, "../../../docs/architecture.md"), "utf8");
  const [, ofAccount = ""] = /\| `ACCOUNT#<id>`([^]*?)\n\| `ACCOUNTS`/.exec(map) ?? [];
  const keys = ofAccount
    .split("\n")
    .flatMap((line) => [...(line.split("|").at(-3) ?? "").matchAll(/`([^`]+)`/g)].map(([, key = ""]) => key));
  expect(keys.length).toBeGreaterThan(60);
  for (const key of keys) expect(() => ruleOf(key.replaceAll(/<[^>]+>|…/g, "x")), key).not.toThrow();
});

const runs = isExhaustive ? 12 : 2;

test.each(Array.from({ length: runs }, (_, index) => index))(
  "after any changes, a restore brings the resources back, and leaves the money and other accounts as they are (%i)",
  { timeout: 120_000 },
  async (index) => {
    const random = createRandom(Number(seed()) * 100 + index);
    const scene = await furnished();
    const neighbour = await newAccount({ owner: scene.account.owner });
    const { before, restore, id } = await restorable(scene, () => lived(scene, random));
    const [money, others] = [await moneyOf(id), await itemsOf(neighbour.id)];
    const planned = await restoreAccount({ ...restore, dryRun: true });
    expect(planned.conflicts).toEqual([]);
    // Two runs die at one of their writes. A third run finishes.
    for (const share of [random.below(4), random.below(20)]) {
      const live = dyingAfter(testTable(), share);
      await expect(restoreAccount({ ...restore, live })).rejects.toThrow("dead");
    }
    const done = await restoreAccount(restore);
    expect(done.problems).toEqual([]);
    expect(await resourcesOf(id)).toEqual(before);
    expect(await moneyOf(id)).toEqual(money);
    expect(await itemsOf(neighbour.id)).toEqual(others);
    const settled = await itemsOf(id);
    expect(await restoreAccount(restore)).toMatchObject({ add: 0, change: 0, remove: 0, rows: {} });
    expect(await itemsOf(id)).toEqual(settled);
  },
);

test("a dry run changes nothing; after a restore, the lists, the people and the programs of the account work again", async () => {
  const scene = await furnished();
  const { account, domains, program, member, made } = scene;
  const get = (path: string, { token } = account.owner) =>
    request("GET", `/v1/public/accounts/${account.id}/${path}`, { token });
  const paths = [
    "domains",
    "mailboxes",
    "forwarding",
    "webhooks",
    "tags",
    "auth/groups",
    `dns-records?domain=${domains[0]}`,
  ];
  const bodies = async () => Promise.all(paths.map(async (path) => (await get(path)).body));
  const expected = await bodies();
  const { name, id } = await restorable(scene, async () => {
    const gone = [`tags/${made["tag"]}`, `auth/service-accounts/${made["program"]}`];
    for (const path of gone) await request("DELETE", `/v1/public/accounts/${account.id}/${path}`, account.owner);
    await domainDeleted(scene, 0);
    await operator("owner", "add", "--account", account.id, "--user", member.id);
  });
  expect((await get("tags", program)).status).toBe(401);
  const changed = await itemsOf(id);
  const dry = await operator("restore", "account", "--account", id, "--from-table", name, "--dry-run", "--json");
  expect(JSON.parse(dry.out)).toMatchObject({
    dry_run: true,
    conflicts: [],
    rows: { "add LIST#tags": 1, "change TOKEN": 1 },
  });
  expect(await itemsOf(id)).toEqual(changed);
  expect(await operator("restore", "account", "--account", id, "--from-table", name)).toMatchObject({ code: 0 });
  await operator("account", "reopen", "--account", id);
  // The nameservers get the records of the deleted domain again.
  for (const one of expected[0].items) await syncZone(id, one.id, workAt(new Date()));
  expect(await bodies()).toEqual(expected);
  expect((await get("tags", program)).status).toBe(200);
  const tag = await request("POST", `/v1/public/accounts/${id}/tags`, {
    token: account.owner.token,
    body: { name: "Next" },
  });
  expect(tag.status).toBe(201);
  expect((await get("tags")).body.total).toBe(2);
});

test("an address that was suppressed after the restored time stays suppressed", async () => {
  const account = await newAccount();
  const path = `/v1/public/accounts/${account.id}/suppressions`;
  const suppress = async (email: string) =>
    expect((await request("POST", path, { token: account.owner.token, body: { email } })).status).toBe(201);
  await suppress("earlier@elsewhere.example");
  const { restore } = await restorable({ account }, () => suppress("later@elsewhere.example"));
  const { body: before } = await request("GET", path, account.owner);
  expect((await restoreAccount(restore)).problems).toEqual([]);
  const { body } = await request("GET", path, account.owner);
  expect(body).toEqual(before);
  expect(body.items.map(({ email }: { email: string }) => email)).toContain("later@elsewhere.example");
});

test("the entry in the audit log has the time at which the restore begins to write, not the time at which it starts", async () => {
  const account = await newAccount();
  const path = `/v1/public/accounts/${account.id}/tags`;
  const tag = () => request("POST", path, { token: account.owner.token, body: { name: "New" } });
  const { restore } = await restorable({ account }, tag);
  await restoreAccount({ ...restore, now: new Date(Date.now() - 600_000) });
  const log = await request("GET", `/v1/public/accounts/${account.id}/audit-log`, account.owner);
  const actions = log.body.items.map(({ action }: { action: string }) => action);
  expect(actions.slice(0, 2)).toEqual(["operator: restore account", "operator: account suspended"]);
});

test("rows that an earlier version stored are restored in their present form", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  const { id } = await ruleTo(account, stranger(), { domain: name });
  const key = scopedKey(rules, account.id, id);
  await testTable().attempt({ update: key, remove: ["address", "keep_copy", "others", "slot"] });
  const remove = () => request("DELETE", `/v1/public/accounts/${account.id}/forwarding/${id}`, account.owner);
  const { restore } = await restorable({ account }, remove);
  expect((await restoreAccount(restore)).problems).toEqual([]);
  const [row] = await testTable().getMany([key]);
  expect(row).toMatchObject({ id, address: null, keep_copy: true, others: [], slot: 0 });
});

test("an account that is not suspended, and a table without the account, are refused before anything changes", async () => {
  const scene = await furnished();
  const { id } = scene.account;
  const { name, past, tidy } = await recovered(id);
  tidyUps.push(tidy);
  const items = await itemsOf(id);
  const restore = { live: testTable(), past, pastName: name, accountId: id, dryRun: false, now: new Date() };
  await expect(restoreAccount(restore)).rejects.toThrow("Suspend the account first");
  const { id: accountId } = await newAccount();
  await expect(restoreAccount({ ...restore, accountId })).rejects.toThrow("does not have this account");
  expect(await itemsOf(id)).toEqual(items);
});

test("a restore leaves the grants of super admins as they are: in force for super admins, and revoked for former super admins", async () => {
  const account = await newAccount();
  const [before, since] = [newUser(), newUser()];
  const table = testTable();
  const author = { by: "tester", now: new Date() };
  const commit = operatorCommit(table, account.id, "test", author.now);
  const give = ({ id }: User): Promise<Assignment | undefined> =>
    commit(async () => {
      const planned = await planAssignments(table, account.id, { type: "user", id }, [{ kind: "super_admin" }], author);
      return { ...planned, value: planned.assignments[0] };
    });
  const early = await give(before);
  const { restore } = await restorable({ account }, async () => {
    await give(since);
    await commit(async () => ({
      value: undefined,
      ...(await planRevocation(table, account.id, early ? [early] : [], new Date())),
    }));
  });
  await restoreAccount(restore);
  expect(await Promise.all([before, since].map(({ token }) => isSuperAdmin(token)))).toEqual([false, true]);
  const listed = await listAssignments(table, account.id, true, new Date());
  const superAdmins = listed.filter(({ kind }) => kind === "super_admin");
  const isRevoked = superAdmins.map((one): [string, boolean] => [one.subject_id, one.revoked_at !== undefined]);
  expect(new Map(isRevoked)).toEqual(
    new Map([
      [before.id, true],
      [since.id, false],
    ]),
  );
});

test("a restore changes nothing if another account now holds a name, or if a domain was registered after the restored time", async () => {
  const scene = await furnished();
  const rival = await newAccount();
  const [name = ""] = scene.domains;
  const bought = `bought${Date.now()}.com`;
  const { restore, id } = await restorable(scene, async () => {
    await purchase(scene.account, [bought]);
    await registered(scene.account, bought);
    await testTable().attempt({ update: holderKey(name), set: { account_id: rival.id } });
  });
  const items = await itemsOf(id);
  const { conflicts } = await restoreAccount({ ...restore, dryRun: true });
  expect(conflicts).toEqual([
    `Another account now holds the name ${name}: ${rival.id}.`,
    `The domain ${bought} was registered after the restored time. The restore would lose this registration.`,
  ]);
  await expect(restoreAccount(restore)).rejects.toThrow("Nothing was changed");
  expect(await itemsOf(id)).toEqual(items);
});

test("an interrupted restore can continue only from the same table", async () => {
  const scene = await furnished();
  const { restore } = await restorable(scene, () =>
    request("DELETE", `/v1/public/accounts/${scene.account.id}/tags/${scene.made["tag"]}`, scene.account.owner),
  );
  await expect(restoreAccount({ ...restore, live: dyingAfter(testTable(), 1) })).rejects.toThrow("dead");
  await expect(restoreAccount({ ...restore, pastName: "another-table" })).rejects.toThrow("is not complete");
});

test("the zones of removed domains become unwanted and are listed, even if a run dies or a check finds a problem", async () => {
  const account = await newAccount();
  let domain = { name: "", id: "" };
  const { restore, id, name } = await restorable({ account }, async () => {
    domain = await quicklyActive(account);
  });
  const zone = async () => {
    const row = await getZone(testTable(), id, domain.id);
    return { wanted: row?.wanted, listed: `${domain.name} ${row?.zone_id}` };
  };
  expect(await zone()).toMatchObject({ wanted: true });
  // The process dies after each of its writes, until a run makes its last write.
  for (let writes = 1, isDead = true; isDead; writes++) {
    isDead = await restoreAccount({ ...restore, live: dyingAfter(testTable(), writes) }).then(
      () => false,
      (error: Error) => error.message === "dead",
    );
  }
  const { wanted, listed } = await zone();
  expect(wanted).toBe(false);
  expect((await restoreAccount(restore)).zones_left).toEqual([listed]);
  await testTable().attempt({ put: rowKey({ partition: `ACCOUNT#${id}`, name: "transactions" }, 0) });
  const failed = await operator("restore", "account", "--account", id, "--from-table", name);
  expect(failed).toMatchObject({ code: 1, err: expect.stringContaining(`This zone is left: ${listed}`) });
});
