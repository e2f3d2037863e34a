import { expect, test } from "vitest";

import { domainsIn } from "../../../shared/domains/domain.ts";
import { write } from "../../support/domain-work.ts";
import { uniqueName } from "../../support/domains.ts";
import { askExport, exportedEmails } from "../../support/mailbox-exports.ts";
import { home, listed, person, stocked } from "../../support/mailboxes.ts";
import { newAccount, newMember } from "../../support/world.ts";

test("exports the same mailboxes as the list with the same filters", async () => {
  const account = await newAccount();
  const label = uniqueName("x", "example-x.com");
  const [first, second] = [await home(account, { name: `bücher-${label}` }), await home(account)];
  await stocked(account, first.name, [person("ada", { last_name: "O’Neill" }), "bob", "dada"]);
  await stocked(account, second.name, ["ada"]);
  const filters: Record<string, string>[] = [
    {},
    { domain: first.name },
    { domain: `bücher-${label}` },
    { domain: second.id },
    { workspace_id: first.workspace_id },
    { domain: first.id, workspace_id: first.workspace_id },
    { domain: first.id, workspace_id: second.workspace_id },
    { search: "AD" },
    { search: `ada@${first.name}` },
    { search: `ADA@bücher-${label}` },
    { search: "@bücher" },
    { search: "o’neill" },
    { search: "ada", workspace_id: second.workspace_id },
    { search: "nobody" },
  ];
  for (const filter of filters) {
    const { items } = await listed(account, filter);
    expect(await exportedEmails(account, filter), JSON.stringify(filter)).toEqual(
      items.map(({ primary_email }) => primary_email),
    );
  }
});

test("a caller with narrow grants exports the mailboxes in their scopes, each once", async () => {
  const account = await newAccount();
  const [single, domain, workspace, hidden] = [
    await home(account),
    await home(account),
    await home(account),
    await home(account),
  ];
  const ids = await stocked(account, single.name, ["a", "b", "c"]);
  for (const { name } of [domain, workspace, hidden]) await stocked(account, name, ["d"]);
  const may = (type: "workspace" | "domain" | "mailbox", id = "") => ({
    capability: "mailbox.export" as const,
    scope: { type, id },
  });
  const member = await newMember(
    account,
    may("mailbox", ids[2]),
    may("mailbox", ids[0]),
    may("domain", domain.id),
    may("workspace", workspace.workspace_id),
    may("domain", workspace.id),
    { capability: "mailbox.view" },
  );
  const own = [`d@${workspace.name}`, `d@${domain.name}`, `a@${single.name}`, `c@${single.name}`];
  expect(await exportedEmails(account, {}, member)).toEqual(own);
  expect(await exportedEmails(account, { search: "a@" }, member)).toEqual([own[2]]);
  expect(await exportedEmails(account, { domain: single.name }, member)).toEqual(own.slice(2));
  expect(await exportedEmails(account, { workspace_id: single.workspace_id }, member)).toEqual(own.slice(2));
  expect(await exportedEmails(account, { workspace_id: domain.workspace_id }, member)).toEqual([own[1]]);
  const places = [{ domain: hidden.name }, { workspace_id: hidden.workspace_id }];
  for (const place of places) {
    const { status, body } = await askExport(account, place, { as: member });
    expect([status, body.detail]).toEqual([
      422,
      [expect.objectContaining({ loc: ["body", Object.keys(place)[0]], type: "not_found" })],
    ]);
  }
  const viewer = await newMember(account, { capability: "mailbox.view" });
  expect((await askExport(account, {}, { as: viewer })).body).toMatchObject({
    status: 403,
    required_capability: "mailbox.export",
  });
});

test("refuses an invalid filter, and a missing domain or workspace, at its place", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const theirs = await home(other);
  const cases: [filter: object, member: string, type: string][] = [
    [{ domain: "x" }, "domain", "value_error"],
    [{ domain: theirs.name }, "domain", "not_found"],
    [{ domain: uniqueName() }, "domain", "not_found"],
    [{ workspace_id: theirs.workspace_id }, "workspace_id", "not_found"],
    [{ search: "" }, "search", "string_too_short"],
    [{ search: "a\u0000" }, "search", "value_error"],
    [{ format: "xlsx" }, "format", "extra_forbidden"],
  ];
  for (const [filter, member, type] of cases) {
    const { status, body } = await askExport(account, filter);
    expect([status, body.detail], JSON.stringify(filter)).toEqual([
      422,
      [expect.objectContaining({ loc: ["body", member], type })],
    ]);
  }
});

test("an export over more than 100,000 domains is a 422, and not an empty file", async () => {
  const account = await newAccount();
  const { workspace_id } = await home(account);
  const { partition: PK, name } = domainsIn(account.id, workspace_id);
  await write({ update: { PK, SK: `LIST#${name}#HEAD` }, set: { live: 100_001 } });
  const { status, body } = await askExport(account, { workspace_id });
  expect([status, body.detail[0].type]).toEqual([422, "too_broad"]);
});
