import { randomBytes } from "node:crypto";
import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

import * as z from "zod";

import { createAccount, createClient } from "../../../shared/access/operate-accounts.ts";
import { planServiceAccount } from "../../../shared/access/service-account.ts";
import { accountKey } from "../../../shared/accounts/account.ts";
import { accessKey } from "../../../shared/accounts/standing.ts";
import type { Profile } from "../../../shared/auth/principal.ts";
import { mintServiceToken, tokenWrite, type MintedToken } from "../../../shared/auth/service-token.ts";
import { platform } from "../../../shared/core/platform.ts";
import { clock } from "../../../shared/core/time.ts";
import { addStock, optionKey } from "../../../shared/dedicated-ips/stock.ts";
import { planAssignments, type Grantable } from "../../../shared/grants/assignments.ts";
import { planSuperAdmin, readHeld, type Subject } from "../../../shared/grants/holders.ts";
import type { Table } from "../../../shared/table/table.ts";
import type { TokenIssuer } from "../start/issuer.ts";

type DemoPrincipal = { id: string; token: string };

/** The content of `$DATA_DIR/demo.json`. Tests and external tools read this file. */
export type Demo = {
  base_url: string;
  super_admin: { token: string };
  accounts: { id: string; name: string; owner: DemoPrincipal; viewer: DemoPrincipal; service_account: DemoPrincipal }[];
};

const tokenLifeSeconds = 30 * 86_400;
const emailOf = (givenName: string): string => `${givenName.toLowerCase()}@example.com`;
/** The number of random bytes from which a service account's token is made. */
const tokenSeedBytes = 112;
const superAdmin = { id: "00000000-0000-4000-8000-000000000001", given_name: "Sol", family_name: "Super" };
const demoAccounts = [
  { id: "11111111-1111-4111-8111-111111111111", name: "Acme Mail", people: ["Olive", "Vera"] },
  { id: "22222222-2222-4222-8222-222222222222", name: "Globex Post", people: ["Otto", "Viktor"] },
] as const;

/** The account of `--seed big`, with its owner and its viewer. */
export const bigAccount = {
  id: "33333333-3333-4333-8333-333333333333",
  name: "Initech Mail",
  people: ["Bill", "Milton"],
} as const;
type DemoAccount = (typeof demoAccounts)[number] | typeof bigAccount;

/**
 * The dedicated-IP options in the demo's stock. Each option has four addresses. `first` is the last octet of the lowest
 * address.
 */
const stock = [
  { option_id: "eu-frankfurt", country_code: "DE", asn: 64_500, first: 10 },
  { option_id: "us-ashburn", country_code: "US", asn: 64_501, first: 20 },
];

/** The id of a demo principal: the account's id with `digit` as its last digit. */
export const memberId = (accountId: string, digit: "a" | "b" | "c"): string => `${accountId.slice(0, -1)}${digit}`;

/**
 * Creates the missing parts of the demo: the accounts with their people, the stock of dedicated IPs and the super
 * admin. Writes `demo.json` (mode 0600) with new user tokens. Service accounts keep their tokens as long as the file
 * `demo.seed` exists. The demo includes the big account if it exists or if `withBig` is set.
 */
export async function seedDemo(options: {
  table: Table;
  issuer: TokenIssuer;
  dataDir: string;
  baseUrl: string;
  withBig?: boolean;
}): Promise<Demo> {
  const { table, issuer, dataDir, baseUrl } = options;
  const mint = (sub: string, given_name: string, family_name: string): string =>
    issuer.mint(
      { sub, given_name, family_name, email: emailOf(given_name), locale: "en" },
      { expiresInSeconds: tokenLifeSeconds },
    );
  const bigExists = (await table.get(accountKey(bigAccount.id), z.unknown())) !== undefined;
  const included: readonly DemoAccount[] = options.withBig || bigExists ? [...demoAccounts, bigAccount] : demoAccounts;
  const seed = await readTokenSeed(join(dataDir, "demo.seed"), included.length * tokenSeedBytes);
  const accounts: Demo["accounts"] = [];
  for (const [index, { id, name, people }] of included.entries()) {
    const [owner, viewer, service] = [memberId(id, "a"), memberId(id, "b"), memberId(id, "c")];
    const serviceToken = mintServiceToken(seed.subarray(index * tokenSeedBytes, (index + 1) * tokenSeedBytes));
    await seedAccount(table, { id, name, owner, ownerEmail: emailOf(people[0]) });
    const viewing = { kind: "role", role: "viewer" } as const;
    const profile = { email: emailOf(people[1]), first_name: people[1], last_name: "Viewer" };
    await seedMember(table, id, { type: "user", id: viewer }, viewing, profile);
    await seedServiceAccount(table, { accountId: id, id: service, by: owner }, serviceToken);
    await seedMember(table, id, { type: "service_account", id: service }, { kind: "role", role: "manager" });
    accounts.push({
      id,
      name,
      owner: { id: owner, token: mint(owner, people[0], "Owner") },
      viewer: { id: viewer, token: mint(viewer, people[1], "Viewer") },
      service_account: { id: service, token: serviceToken.token },
    });
  }
  await seedStock(table);
  await table.commit(async () => ({
    value: undefined,
    writes: [await planSuperAdmin(table, superAdmin.id, (grants) => [...new Set([...grants, "demo"])])],
  }));
  const demo = {
    base_url: baseUrl,
    super_admin: { token: mint(superAdmin.id, superAdmin.given_name, superAdmin.family_name) },
    accounts,
  };
  await writePrivately(join(dataDir, "demo.json"), `${JSON.stringify(demo, null, 2)}\n`);
  return demo;
}

/**
 * Adds missing options to the stock, with their addresses. In the local DNS, the name of each address resolves to the
 * address.
 */
async function seedStock(table: Table): Promise<void> {
  for (const { first, ...option } of stock) {
    if (await table.get(optionKey(option.option_id), z.unknown())) continue;
    for (let last = first; last < first + 4; last++) {
      const rdns = `mail${last}.ips.${platform().mailZone}`;
      await addStock(table, { ...option, ip: `198.51.100.${last}`, rdns, relay: `127.0.0.1:${25_000 + last}` });
    }
  }
}

async function seedAccount(
  table: Table,
  { id, name, owner, ownerEmail }: { id: string; name: string; owner: string; ownerEmail: string },
): Promise<void> {
  if (await table.get(accountKey(id), z.unknown())) return;
  const client = await createClient(table, `${name} Ltd`);
  await createAccount(table, { id, client, name, ownerId: owner, ownerEmail }, clock());
}

/**
 * Creates a service account if it is missing. If the service account exists, stores its token again, because
 * `demo.seed` may be new.
 */
async function seedServiceAccount(
  table: Table,
  { accountId, id, by }: { accountId: string; id: string; by: string },
  minted: MintedToken,
): Promise<void> {
  const existing = await table.get(accessKey(accountId, { type: "service_account", id }), z.unknown());
  const { writes } = planServiceAccount({ accountId, id, by, name: "Demo program", now: clock() }, minted);
  await table.commit(async () => ({
    value: undefined,
    writes: existing ? [tokenWrite({ id, accountId, minted })] : writes,
  }));
}

/** Gives a subject a grant in the account. Does nothing if the subject already has a grant there. */
async function seedMember(
  table: Table,
  accountId: string,
  subject: Subject,
  grant: Grantable,
  profile: Profile = {},
): Promise<void> {
  await table.commit(async () => {
    const held = await readHeld(table, accountId, subject);
    if (held && held.grants.length > 0) return { value: undefined, writes: [] };
    const author = { by: "demo", now: clock() };
    const { writes } = await planAssignments(table, accountId, subject, [grant], author, profile);
    return { value: undefined, writes };
  });
}

/**
 * Reads the random bytes from which service account tokens are made. The tokens survive a restart, because the file
 * keeps these bytes. Appends random bytes if the file has fewer than `length`. If the length of the file is not a
 * multiple of `tokenSeedBytes`, the file is damaged, and all its bytes are replaced.
 */
async function readTokenSeed(file: string, length: number): Promise<Buffer> {
  const stored = (await readFile(file).catch(() => undefined)) ?? Buffer.alloc(0);
  const usable = stored.length % tokenSeedBytes === 0 ? stored : Buffer.alloc(0);
  if (usable.length >= length) return usable;
  const extended = Buffer.concat([usable, randomBytes(length - usable.length)]);
  await writePrivately(file, extended);
  return extended;
}

async function writePrivately(file: string, content: string | Buffer): Promise<void> {
  await writeFile(`${file}.new`, content, { mode: 0o600 });
  await rename(`${file}.new`, file);
}
