import { type Domain, domainQueue, holderKey } from "../../shared/domains/domain.ts";
import { readDue } from "../../shared/table/due.ts";
import { domainsRequest } from "./domains.ts";
import { storedOf } from "./entry-points.ts";
import type { Answer } from "./request.ts";
import { testTable, type Account } from "./world.ts";

/** Asks to delete a domain, and to give its name up. */
export const remove = (account: Account, name: string, headers: Record<string, string> = {}): Promise<Answer> =>
  domainsRequest(account, "DELETE", `/${name}?release=true`, undefined, headers);

/** Asks to delete a domain for good at once, and to give its name up. */
export const removeForGood = (account: Account, name: string): Promise<Answer> =>
  domainsRequest(account, "DELETE", `/${name}?release=true&purge=true`);

/** Returns the status of the owner's request to read a domain. */
export const statusOf = async (account: Account, name: string): Promise<number> =>
  (await domainsRequest(account, "GET", `/${name}`)).status;

/**
 * Matches the keys of items that stay after a deletion: history, money and workspaces. These tests name the workspaces
 * after domains.
 */
const history = /^(?:JOURNAL|REVOKED|LEDGER|LIST#transactions|LIST#workspaces)#/;

/**
 * The stored items of an account that name a domain, without those of `history`. Returns sort keys, for readable
 * messages.
 */
export async function leftOf(account: Account, { id, name }: Pick<Domain, "id" | "name">): Promise<string[]> {
  const [own, due, [holder]] = await Promise.all([
    storedOf(account),
    readDue(testTable(), domainQueue, new Date(Date.now() + 7 * 86_400_000)),
    testTable().getMany([holderKey(name)]),
  ]);
  const isOf = (item: object): boolean => JSON.stringify(item).includes(id) || JSON.stringify(item).includes(name);
  return [
    ...own.filter((item) => !history.test(item.SK) && isOf(item)).map(({ SK }) => SK),
    ...due.flat().flatMap(({ at, subject }) => (subject.includes(id) ? [`due ${at}`] : [])),
    ...(holder?.["domain_id"] === id ? ["holder"] : []),
  ];
}
