import { mapConcurrently } from "../../shared/core/concurrency.ts";
import { newWorkspace } from "./auth.ts";
import { quicklyActive } from "./domain-work.ts";
import { connected, uniqueName } from "./domains.ts";
import type { Account } from "./world.ts";

/** Domains of an account, every fourth of them active with records; their names. */
export async function stockedDomains(account: Account, count: number): Promise<string[]> {
  const workspaceId = await newWorkspace(account, `Many ${uniqueName()}`);
  const indexes = Array.from({ length: count }, (_, index) => index);
  const made = await mapConcurrently(indexes, 1, async (index) => {
    const domain =
      index % 4 === 0 ? await quicklyActive(account, { workspaceId }) : await connected(account, { workspaceId });
    return domain.name;
  });
  return made.map((result) => {
    if (result.status === "rejected") throw result.reason;
    return result.value;
  });
}
