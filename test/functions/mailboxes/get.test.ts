import { expect, test } from "vitest";

import { newWorkspace } from "../../support/auth.ts";
import { domainsRequest, uniqueName } from "../../support/domains.ts";
import { masked } from "../../support/entry-points.ts";
import { at, home, send, stocked } from "../../support/mailboxes.ts";
import { newAccount, newMember, newSuperAdmin, newUser } from "../../support/world.ts";

async function scene() {
  const account = await newAccount();
  const label = uniqueName("g", "example-x.com");
  const domain = await home(account, { name: `bücher-${label}` });
  const [ada = "", bob = ""] = await stocked(account, domain.name, ["ada", "bob"]);
  return { account, domain, name: domain.name, unicode: `bücher-${label}`, ada, bob };
}

test("reads a mailbox by its id or its address, in any spelling", async () => {
  const { account, name, unicode, ada } = await scene();
  const first = await send(account, "GET", at(ada));
  expect(first.body).toMatchObject({ id: ada, primary_email: `ada@${name}`, aliases: [] });
  const spellings = [
    ada.toUpperCase(),
    `ada@${name}`,
    `ADA@${name.toUpperCase()}`,
    `ada@${name}.`,
    `ada@${unicode}`,
    ` Ada@${unicode.toUpperCase()} `,
  ];
  for (const ref of spellings) {
    const { status, body, headers } = await send(account, "GET", at(ref));
    expect([status, body, headers["etag"]], ref).toEqual([200, first.body, first.headers["etag"]]);
  }
});

test("reads a mailbox by its aliases too, with the same entity tag", async () => {
  const { account, name, unicode, ada } = await scene();
  for (const alias of ["sales", "*"]) await send(account, "POST", at(ada, "/aliases"), { alias });
  const first = await send(account, "GET", at(ada));
  for (const ref of [`sales@${name}`, `SALES@${unicode}`, `*@${name}`]) {
    const { status, body, headers } = await send(account, "GET", at(ref));
    expect([status, body, headers["etag"]], ref).toEqual([200, first.body, first.headers["etag"]]);
  }
  expect((await send(account, "GET", at(`nobody@${name}`))).body).toMatchObject({ status: 404, code: "not_found" });
});

test("an alias works only for reading: a change or a deletion by an alias finds no mailbox", async () => {
  const { account, name, ada } = await scene();
  await send(account, "POST", at(ada, "/aliases"), { alias: "sales" });
  const alias = at(`sales@${name}`);
  const answers = [
    await send(account, "PATCH", alias, { first_name: "Augusta" }),
    await send(account, "DELETE", alias),
    await send(account, "POST", `${alias}/rotate-password`),
  ];
  expect(answers.map(({ status }) => status)).toEqual([404, 404, 404]);
  const bulk = await send(account, "POST", "mailboxes/bulk-delete", { mailboxes: [`sales@${name}`] });
  expect(bulk.body).toMatchObject({ deleted: [], failed: [{ code: "not_found" }] });
  expect((await send(account, "GET", at(ada))).status).toBe(200);
});

test("another account's mailbox gets the same 404 as a missing one", async () => {
  const [own, theirs] = [await scene(), await scene()];
  const refs = [theirs.ada, `ada@${theirs.name}`, own.account.id, theirs.domain.id, `ada@${uniqueName()}`];
  const answers = await Promise.all(refs.map((ref) => send(own.account, "GET", at(ref))));
  for (const answer of answers) {
    expect([answer.status, masked(answer.body)]).toEqual([404, masked(answers[0]?.body)]);
  }
});

test("422 at its place for a text that is neither an id nor an address", async () => {
  const { account } = await scene();
  for (const ref of [
    "ada",
    "1",
    "ada@",
    "@example.com",
    "ada@localhost",
    "a@b@example.com",
    `${"a".repeat(65)}@b.com`,
  ]) {
    const { status, body } = await send(account, "GET", at(ref));
    expect([status, body.detail], ref).toEqual([
      422,
      [{ loc: ["path", "mailbox"], msg: "Write a mailbox's id or its address", type: "value_error" }],
    ]);
  }
});

test("callers with mailbox.view on the mailbox, its domain or its workspace can read it, and others get 404", async () => {
  const { account, domain, ada, bob } = await scene();
  const other = await newWorkspace(account, "Other");
  const scopes = [
    { type: "mailbox" as const, id: ada },
    { type: "domain" as const, id: domain.id },
    { type: "workspace" as const, id: domain.workspace_id },
  ];
  for (const scope of scopes) {
    const member = await newMember(account, { capability: "mailbox.view", scope });
    expect((await send(account, "GET", at(ada), undefined, { as: member })).status).toBe(200);
    const isWider = scope.type !== "mailbox";
    expect((await send(account, "GET", at(bob), undefined, { as: member })).status).toBe(isWider ? 200 : 404);
  }
  const elsewhere = await newMember(account, {
    capability: "mailbox.view",
    scope: { type: "workspace", id: other },
  });
  expect((await send(account, "GET", at(ada), undefined, { as: elsewhere })).status).toBe(404);
  expect((await send(account, "GET", at(ada), undefined, { as: newUser() })).status).toBe(404);
  expect((await send(account, "GET", at(ada), undefined, { as: await newSuperAdmin() })).status).toBe(200);
});

test("shows the new workspace after its domain has moved, and keeps its entity tag", async () => {
  const { account, name, ada } = await scene();
  const before = await send(account, "GET", at(ada));
  const workspace_id = await newWorkspace(account, "Other");
  await domainsRequest(account, "POST", `/${name}/move`, { workspace_id });
  const after = await send(account, "GET", at(ada));
  expect(after.body).toEqual({ ...before.body, workspace_id, workspace_name: "Other" });
  expect(after.headers["etag"]).toBe(before.headers["etag"]);
});
