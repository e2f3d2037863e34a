import { request } from "./request.ts";
import { newAccount } from "./world.ts";

/**
 * A new account with tags or workspaces of these names. Returns their ids in order, and functions that read and change
 * the collection.
 */
export async function accountWith(family: "tags" | "workspaces", ...names: string[]) {
  const account = await newAccount();
  const path = `/v1/public/accounts/${account.id}/${family}`;
  const { token } = account.owner;
  const add = (name: string) => request("POST", path, { token, body: { name } });
  const ids: string[] = [];
  for (const name of names) ids.push((await add(name)).body.id);
  const list = async (query = "", as = token) => (await request("GET", `${path}${query}`, { token: as })).body;
  const remove = (id: string | undefined, as = token) => request("DELETE", `${path}/${id}`, { token: as });
  const total = async (): Promise<number> => (await list()).total;
  return { account, path, token, ids, add, list, remove, total };
}
