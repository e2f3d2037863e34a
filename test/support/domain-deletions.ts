import { type Domain, domainQueue, holderKey } from "../../shared/domains/domain.ts";
import { readDue } from "../../shared/table/due.ts";
import { domainsRequest } from "./domains.ts";
import { storedOf } from "./entry-points.ts";
import type { Answer } from "./request.ts";
import { testTable, type Account } from "./world.ts";

/** Asks to delete a domain, and agrees that its name is given up. */
export const remove = (account: Account, name: string, headers: Record<string, string> = {}): Promise<Answer> =>
  domainsRequest(account, "DELETE", `/${name}?release=true`, undefined, headers);

/** Asks to delete a domain for good at once, and agrees that its name is given up. */
export const removeForGood = (account: Account, name: string): Promise<Answer> =>
  domainsRequest(account, "DELETE", `/${name}?release=true&purge=true`);

/** Whether a domain is there for its owner. */
export const statusOf = async (account: Account, name: string): Promise<number> =>
  (await domainsRequest(account, "GET", `/${name}`)).status;

/** What an account keeps of what is gone, its money, and its workspaces, which these tests name after domains. */
const history = /^(?:JOURNAL|REVOKED|LEDGER|LIST#transactions|LIST#workspaces)#/;

/** What is stored of an account that has to do with a domain and is no history: keys, for a message one can read. */
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
