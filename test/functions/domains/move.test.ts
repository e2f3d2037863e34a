import { expect, test } from "vitest";

import { deleteWorkspace, loseRole, newWorkspace } from "../../support/auth.ts";
import { quicklyActive, setStored, storedAs, withRecords } from "../../support/domain-work.ts";
import { connected, domainsRequest } from "../../support/domains.ts";
import { masked, storedOf } from "../../support/entry-points.ts";
import { request } from "../../support/request.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newAccount, newMember, type Account, type User } from "../../support/world.ts";

const move = ({ id, owner }: Account, name: string, workspace_id: unknown, { token }: Pick<User, "token"> = owner) =>
  request("POST", `/v1/public/accounts/${id}/domains/${name}/move`, { token, body: { workspace_id } });

const namesIn = async (account: Account, workspaceId: string): Promise<string[]> => {
  const { body } = await domainsRequest(account, "GET", `?page_size=100&workspace_id=${workspaceId}`);
  expect(body.total).toBe(body.items.length);
  return body.items.map(({ name }: { name: string }) => name);
};

const twoWorkspaces = async (account: Account): Promise<[string, string]> => [
  await newWorkspace(account, "From"),
  await newWorkspace(account, "To"),
];

test("moves a domain with its records: the former workspace can be deleted, and the new workspace cannot", async () => {
  const account = await newAccount();
  const [from, to] = await twoWorkspaces(account);
  const { id, name } = await quicklyActive(account, { workspaceId: from });
  await withRecords(account, name, 3);
  const moved = await move(account, name, to);
  expect(moved).toMatchObject({ status: 200, body: { id, name, workspace_id: to, status: "active" } });
  expect((await domainsRequest(account, "GET", `/${name}`)).body).toMatchObject({
    workspace_id: to,
    dns_record_count: 10,
    updated_at: moved.body.updated_at,
  });
  expect([await namesIn(account, from), await namesIn(account, to)]).toEqual([[], [name]]);
  expect((await deleteWorkspace(account, to)).body).toMatchObject({ code: "workspace_not_empty", domain_count: 1 });
  expect((await deleteWorkspace(account, from)).status).toBe(200);
});

test("changes nothing if the domain is already in the workspace", async () => {
  const account = await newAccount();
  const { name, workspace_id } = await connected(account);
  const before = await storedOf(account);
  const { status, body } = await move(account, name, workspace_id);
  expect([status, body.workspace_id]).toEqual([200, workspace_id]);
  expect(await storedOf(account)).toEqual(before);
});

test("many concurrent moves of many domains leave each in one workspace, and all counts exact", async () => {
  const account = await newRoomyAccount();
  const workspaces = await twoWorkspaces(account);
  const names: string[] = [];
  for (let count = 0; count < 3; count++) {
    names.push((await connected(account, { workspaceId: workspaces[count % 2] ?? "" })).name);
  }
  const moves = names.flatMap((name) => [...workspaces, ...workspaces].map((to) => move(account, name, to)));
  expect((await Promise.all(moves)).map(({ status }) => status)).toEqual(Array(12).fill(200));
  const places = [await namesIn(account, workspaces[0]), await namesIn(account, workspaces[1])];
  expect(places.flat().toSorted()).toEqual(names.toSorted());
  for (const name of names) {
    const at = workspaces.indexOf((await storedAs(account, name)).workspace_id);
    expect(places[at]).toContain(name);
  }
  for (const name of names) await move(account, name, workspaces[0]);
  expect(await namesIn(account, workspaces[1])).toEqual([]);
  expect((await deleteWorkspace(account, workspaces[1])).status).toBe(200);
  expect((await deleteWorkspace(account, workspaces[0])).body.domain_count).toBe(3);
});

test("if a domain moves to a workspace that is deleted at the same time, the domain ends in a workspace that exists", async () => {
  const account = await newAccount();
  const [from, to] = await twoWorkspaces(account);
  const { name } = await connected(account, { workspaceId: from });
  const [moved, deleted] = await Promise.all([move(account, name, to), deleteWorkspace(account, to)]);
  const at = (await storedAs(account, name)).workspace_id;
  expect([moved.status, deleted.status, at]).toEqual(deleted.status === 200 ? [422, 200, from] : [200, 409, to]);
});

test("needs domain.move in both workspaces, and hides an unseen target but not a forbidden one", async () => {
  const account = await newAccount();
  const [from, to] = await twoWorkspaces(account);
  const { id, name } = await connected(account, { workspaceId: from });
  const on = (workspaceId: string) => ({ type: "workspace" as const, id: workspaceId });
  const missing = { detail: [expect.objectContaining({ loc: ["body", "workspace_id"], type: "not_found" })] };
  const lacking = { code: "forbidden", required_capability: "domain.move" };

  const nobodyThere = await newMember(account, { role: "manager", scope: on(from) });
  expect(await move(account, name, to, nobodyThere)).toMatchObject({ status: 422, body: missing });
  const viewerThere = await newMember(account, { role: "manager", scope: on(from) }, { role: "viewer", scope: on(to) });
  expect(await move(account, name, to, viewerThere)).toMatchObject({ status: 403, body: lacking });
  const viewerHere = await newMember(account, { role: "viewer", scope: on(from) }, { role: "manager", scope: on(to) });
  expect(await move(account, name, to, viewerHere)).toMatchObject({ status: 403, body: lacking });
  const nobodyHere = await newMember(account, { role: "manager", scope: on(to) });
  expect((await move(account, name, to, nobodyHere)).status).toBe(404);
  expect((await storedAs(account, name)).workspace_id).toBe(from);

  const ofDomain = { capability: "domain.move" as const, scope: { type: "domain" as const, id } };
  const both = await newMember(account, ofDomain, { capability: "domain.move", scope: on(to) });
  expect((await move(account, name, to, both)).status).toBe(200);
});

test("a repeat is refused if the caller may not move domains to the target any more", async () => {
  const account = await newAccount();
  const [from, to] = await twoWorkspaces(account);
  const { id, name } = await connected(account, { workspaceId: from });
  const member = await newMember(
    account,
    { role: "manager", scope: { type: "domain", id } },
    { role: "manager", scope: { type: "workspace", id: to } },
  );
  const headers = { authorization: `Bearer ${member.token}`, "idempotency-key": "k" };
  const repeat = () => domainsRequest(account, "POST", `/${name}/move`, { workspace_id: to }, headers);
  const answers = [await repeat(), await repeat()];
  expect(answers.map(({ status, headers: { "idempotency-replayed": of } }) => [status, of])).toEqual([
    [200, undefined],
    [200, "true"],
  ]);
  await loseRole(account, member, to);
  expect((await repeat()).status).toBe(422);
});

test("refuses a workspace of another account like a missing one, and changes nothing", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const { name } = await connected(account);
  const before = await storedOf(account);
  const foreign = await move(account, name, await newWorkspace(other, "Theirs"));
  const unknown = await move(account, name, other.id);
  expect(foreign).toMatchObject({
    status: 422,
    body: { detail: [{ loc: ["body", "workspace_id"], type: "not_found" }] },
  });
  expect(masked(foreign.body)).toBe(masked(unknown.body));
  expect((await move(account, name, "x")).body.detail).toMatchObject([{ loc: ["body", "workspace_id"] }]);
  expect(await storedOf(account)).toEqual(before);
});

test("does not move a domain that is `releasing` or `failed`, and shows the status of the domain", async () => {
  const account = await newAccount();
  const to = await newWorkspace(account, "To");
  const { name, workspace_id } = await connected(account);
  for (const domain_status of ["releasing", "failed"]) {
    await setStored(account, name, { status: domain_status, is_open: false });
    expect((await move(account, name, to)).body).toMatchObject({
      status: 409,
      code: "domain_not_ready",
      domain_status,
    });
  }
  expect((await storedAs(account, name)).workspace_id).toBe(workspace_id);
});
