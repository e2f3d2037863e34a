import { expect, test } from "vitest";

import { accountWith } from "../../support/named.ts";
import { request } from "../../support/request.ts";
import { newMember } from "../../support/world.ts";

async function workspaces(...names: string[]) {
  const scene = await accountWith("workspaces", ...names);
  const rename = (id: string | undefined, body: unknown, token = scene.token) =>
    request("PATCH", `${scene.path}/${id}`, { token, body });
  return { ...scene, rename };
}

test("renames a workspace, keeps its id and its position in the list, and frees the old name", async () => {
  const { ids, rename, add, path, token } = await workspaces("Old", "Other");
  const renamed = await rename(ids[0], { name: "New" });
  expect(renamed.body).toMatchObject({ id: ids[0], name: "New" });
  expect(renamed.body.updated_at >= renamed.body.created_at).toBe(true);
  expect((await add("Old")).status).toBe(201);
  const { body } = await request("GET", path, { token });
  expect(body.items.map(({ name }: { name: string }) => name)).toEqual(["New", "Other", "Old"]);
});

test("refuses a name another workspace has, and leaves both as they were", async () => {
  const { ids, rename, path, token } = await workspaces("One", "Two");
  const answer = await rename(ids[0], { name: "TWO" });
  expect(answer.body).toMatchObject({ status: 409, code: "workspace_name_taken", conflicts_with: ids[1] });
  expect((await request("GET", `${path}/${ids[0]}`, { token })).body.name).toBe("One");
});

test("can change the case of its own name", async () => {
  const { ids, rename } = await workspaces("sales");
  expect((await rename(ids[0], { name: "Sales" })).body.name).toBe("Sales");
});

test("concurrent renames end in one of the names, with every other name free", async () => {
  const { ids, rename, add, path, token } = await workspaces("Start");
  const names = Array.from({ length: 8 }, (_, index) => `Name ${index}`);
  const answers = await Promise.all(names.map((name) => rename(ids[0], { name })));
  expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200));
  const last = (await request("GET", `${path}/${ids[0]}`, { token })).body.name;
  const free = await Promise.all(names.filter((name) => name !== last).map((name) => add(name)));
  expect(free.map(({ status }) => status)).toEqual(Array(7).fill(201));
  expect((await add(last)).status).toBe(409);
});

test("tells a caller who may see but not manage a workspace which capability is missing", async () => {
  const { account, ids, rename } = await workspaces("Mine", "Theirs");
  const member = await newMember(
    account,
    { role: "viewer" },
    { capability: "workspace.manage", scope: { type: "workspace", id: ids[0] ?? "" } },
  );
  expect((await rename(ids[0], { name: "Ours" }, member.token)).status).toBe(200);
  expect((await rename(ids[1], { name: "Ours too" }, member.token)).body).toMatchObject({
    code: "forbidden",
    required_capability: "workspace.manage",
  });
});

test.each([
  [{}, "name"],
  [{ name: "A", id: "x" }, "id"],
])("refuses %j", async (body, name) => {
  const { ids, rename } = await workspaces("Keep");
  const answer = await rename(ids[0], body);
  expect(answer.status).toBe(422);
  expect(answer.body.detail).toMatchObject([{ loc: ["body", name] }]);
});
