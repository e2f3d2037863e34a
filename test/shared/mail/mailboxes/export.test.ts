import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { recorder } from "../../../../shared/changes/recorder.ts";
import { idWithOrdinal } from "../../../../shared/core/ids.ts";
import { domainsIn, domainsOf, type StoredDomain } from "../../../../shared/domains/domain.ts";
import type { Context } from "../../../../shared/http/route.ts";
import { eachMailbox } from "../../../../shared/mail/mailboxes/each.ts";
import { exportMailboxes } from "../../../../shared/mail/mailboxes/export.ts";
import { nobodysHash } from "../../../../shared/mail/mailboxes/password.ts";
import { mailboxHeads, planMailboxes } from "../../../../shared/mail/mailboxes/plan.ts";
import { appendRows, readHeads } from "../../../../shared/table/ranked-list.ts";
import type { Table } from "../../../../shared/table/table.ts";
import { addWorkspace } from "../../../../shared/workspaces/workspace.ts";
import { storedAs } from "../../../support/domain-work.ts";
import { home, person } from "../../../support/mailboxes.ts";
import { createMemoryStore, openMemoryTable } from "../../../support/memory-table.ts";
import { newAccount } from "../../../support/world.ts";

const login = { hash: nobodysHash, tag: "" };

/** An account in memory with a workspace of `domains` domains. Every `each`-th domain has a mailbox. */
async function scene(domains: number, each: number) {
  const account = await newAccount();
  const { name } = await home(account);
  const pattern: StoredDomain = await storedAs(account, name);
  let reads = 0;
  let domainReads = 0;
  const whole = openMemoryTable(createMemoryStore());
  const table: Table = {
    ...whole,
    getMany: (keys) => {
      reads += 1;
      return whole.getMany(keys);
    },
    between: (...range) => {
      reads += 1;
      domainReads += /^LIST#domain\/.*\/mailboxes#ROW/.test(range[1]) ? 1 : 0;
      return whole.between(...range);
    },
  };
  const now = () => new Date();
  const accountId = randomUUID();
  const author = { action: "test", actor: { type: "system" as const, id: "test" }, requestId: "r" };
  const commit = recorder({ table, accountId, author, now });
  const permissions = { member: true, everything: true, superAdmin: false, grants: [] };
  const context = { table, commit, now, permissions, principal: { id: "somebody" } } as unknown as Context;
  const { id: workspaceId } = await addWorkspace(accountId, "Sales", context);
  const lists = [domainsOf(accountId), domainsIn(accountId, workspaceId)];
  const ids = Array.from({ length: domains }, (_, index) => idWithOrdinal(index));
  for (const [index, id] of ids.entries()) {
    const domain = { ...pattern, id, account_id: accountId, workspace_id: workspaceId, workspace_ordinal: index };
    const row = { ...domain, name: `d${index}.com`, version: 1 };
    await table.commit(async () => {
      const [all, inWorkspace] = await readHeads(table, lists);
      if (!all || !inWorkspace) throw new Error("no lists");
      const writes = [...appendRows(all, [row]), ...appendRows(inWorkspace, [{ domain_id: id }])];
      return { value: undefined, writes };
    });
    if (index % each !== 0) continue;
    await table.commit(async () => {
      const given = [{ person: person("ada"), login }];
      const { writes } = planMailboxes(await mailboxHeads(table, row, given.length), row, given, {
        now: now(),
        madeBy: undefined,
      });
      return { value: undefined, writes };
    });
  }
  const run = async (filter: object) => {
    reads = 0;
    const { status, row_count } = await exportMailboxes(accountId, filter, context);
    return { status, row_count, reads };
  };
  const chunksFor = async (exporter: Pick<Context, "table" | "permissions">) => {
    const chunks: string[][] = [];
    for await (const some of eachMailbox(accountId, {}, exporter)) chunks.push(some.map(({ id }) => id));
    return chunks;
  };
  /** The numbers of mailboxes in the chunks of a principal who has a grant on each mailbox. */
  const chunksOfGrants = async () => {
    const grants = (await chunksFor(context)).flat().map((id) => ({
      id,
      capability: "mailbox.export" as const,
      scope: { type: "mailbox" as const, id },
    }));
    const chunks = await chunksFor({ table, permissions: { ...permissions, everything: false, grants } });
    return chunks.map(({ length }) => length);
  };
  /** The reads of the mailboxes of domains, when a principal with a grant on each domain exports the workspace. */
  const domainReadsOfGrants = async () => {
    const grants = ids.map((id) => ({
      id,
      capability: "mailbox.export" as const,
      scope: { type: "domain" as const, id },
    }));
    domainReads = 0;
    const holder = { ...context, permissions: { ...permissions, everything: false, grants } };
    expect(await exportMailboxes(accountId, { workspace_id: workspaceId }, holder)).toMatchObject({
      row_count: domains,
    });
    return domainReads;
  };
  return { workspace_id: workspaceId, run, chunksOfGrants, domainReadsOfGrants };
}

test("an export needs few reads for domains without mailboxes", async () => {
  const { run, workspace_id } = await scene(600, 100);
  const { reads, ...answer } = await run({ workspace_id });
  expect(answer).toEqual({ status: "done", row_count: 6 });
  expect(reads).toBeLessThan(60);
});

test("an export of a workspace is left to the worker if more than 100 of its domains have mailboxes, even if no mailbox matches", async () => {
  const { run, workspace_id } = await scene(101, 1);
  expect(await run({ workspace_id, search: "nobody" })).toMatchObject({ status: "queued" });
  expect(await run({ workspace_id })).toMatchObject({ status: "queued" });
  expect(await run({ search: "ada" })).toMatchObject({ status: "done", row_count: 101 });
});

test("the mailboxes of a caller with a grant on each mailbox are read 250 at a time", async () => {
  const { chunksOfGrants } = await scene(260, 1);
  expect(await chunksOfGrants()).toEqual([250, 10]);
});

test("an export reads one domain twice at most, to find out whether its caller may export anything", async () => {
  const { domainReadsOfGrants } = await scene(20, 1);
  expect(await domainReadsOfGrants()).toBe(21);
});
