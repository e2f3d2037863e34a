import { type Attempt, type Outcome, entryPoints, through } from "./entry-points.ts";
import type { Account } from "./world.ts";

/** A service account with its token, as the product returns it. */
export type Program = { id: string; name: string; token: string; token_public_id: string };

/** Makes a service account for the account's owner. */
export async function newProgram(attempt: Attempt, account: Account, more: object = {}): Promise<Program> {
  const args = { account_id: account.id, name: "Backup", ...more };
  return (await attempt("auth.service_accounts.create", args, account.owner)).body;
}

/** Uses a token through each entry point. Returns 200 or the error code for each entry point. */
export const useOf = (token: string): Promise<(number | string)[]> =>
  Promise.all(entryPoints.map(async (entryPoint) => resultOf(await through(entryPoint)("me.get", {}, { token }))));

const resultOf = ({ status, body }: Outcome): number | string => (status === 200 ? 200 : body.code);
