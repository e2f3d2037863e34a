import { existsSync, readFileSync, rmSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";

import { NoAnswer, type Api } from "./api.ts";
import { readUser } from "./maps.ts";
import type { Sessions } from "./sessions.ts";
import { replaceFile } from "./state.ts";
import { tryAll } from "./try-all.ts";

/** A revocation in the answer of the endpoint `revocations`. */
export type Revocation = {
  id: string;
  at: string;
  action: "disconnect" | "purge" | "restore";
  scope: "mailbox" | "domain" | "account";
  account_id: string;
  id_of_scope: string;
};

type Page = { items: Revocation[]; next: string; has_more: boolean };

/** Dovecot's exit code for a user without a connection. */
const nobodyConnected = 68;

/** Ends IMAP and POP3 sessions by Dovecot's HTTP API. `mask` is the name of a user, with `*` for any text. */
async function kick(mask: string, { doveadm, local_key }: { doveadm: string; local_key: string }): Promise<void> {
  const response = await fetch(doveadm, {
    method: "POST",
    headers: {
      authorization: `X-Dovecot-API ${Buffer.from(local_key).toString("base64")}`,
      "content-type": "application/json",
    },
    body: JSON.stringify([["kick", { mask: [mask] }, "kick"]]),
    signal: AbortSignal.timeout(10_000),
  });
  if (!response.ok) throw new Error(`Dovecot answered ${response.status} and ended no sessions.`);
  const [[word, result] = []] = (await response.json()) as [string, { exitCode?: number }][];
  if (word === "error" && result?.exitCode !== nobodyConnected) throw new Error("Dovecot could not end sessions.");
}

/** Ends SMTP sessions, and forgets the API's answers about the account. */
function revoke({ action, scope, account_id, id_of_scope, at }: Revocation, api: Api, sessions: Sessions): void {
  if (action === "restore") return;
  api.forget(account_id);
  sessions.revoke(scope === "mailbox" ? id_of_scope : account_id, Date.parse(at));
}

/**
 * The largest number of ids of revocations that are kept. The API repeats the revocations of the last minute. By the
 * ids, the adapter knows which revocations it has carried out already.
 */
const mostDone = 10_000;

/**
 * Returns a function that carries out the revocations since its last call: ends sessions, and deletes the mail of
 * purged mailboxes.
 * - If a revocation fails, the function carries out the others, and then rejects. The next call tries the failed
 *   revocation again.
 * - The function stores its position at the end. So after a crash, some revocations are carried out twice, which is
 *   harmless.
 * - If the API no longer keeps the revocations since the position, the function ends all sessions, and rejects. The
 *   next call begins at the newest revocation, so the mail of mailboxes that were purged in between stays.
 */
export function openRevocations(
  { store, state, ...settings }: { store: string; state: string; doveadm: string; local_key: string },
  api: Api,
  sessions: Sessions,
) {
  const file = join(state, "revocations");
  const done = new Set<string>();

  /** Ends IMAP and POP3 sessions, and deletes the mail of a purged mailbox. */
  const carryOut = async ({ id, action, scope, account_id, id_of_scope }: Revocation): Promise<void> => {
    // Dovecot knows only the mailbox and the account of a session. So the revocation of a domain ends all sessions of
    // its account. Mail programs connect again by themselves.
    if (action !== "restore") await kick(`${scope === "mailbox" ? id_of_scope : "*"}@${account_id}`, settings);
    if (action === "purge" && scope === "mailbox") {
      await rm(join(store, account_id, id_of_scope), { recursive: true, force: true });
    }
    done.add(id);
    const [oldest] = done;
    if (done.size > mostDone && oldest !== undefined) done.delete(oldest);
  };

  /** Ends all sessions and deletes the position, because revocations may have been lost. */
  const beginAnew = async (): Promise<void> => {
    sessions.revokeAll(Date.now());
    await kick("*", settings);
    rmSync(file);
  };

  return async (): Promise<void> => {
    const revocations: Revocation[] = [];
    let since = existsSync(file) ? readFileSync(file, "utf8") : undefined;
    for (let isMore = true; isMore;) {
      const response = await api.revocations(since === undefined ? {} : { since });
      if (response.status === 422 && since !== undefined) await beginAnew();
      if (response.status !== 200) throw new NoAnswer(`The API answered ${response.status} to revocations.`);
      const { items, next, has_more } = (await response.json()) as Page;
      revocations.push(...items.filter((one) => !done.has(one.id) && readUser(`${one.id_of_scope}@${one.account_id}`)));
      since = next;
      isMore = has_more;
    }
    for (const revocation of revocations) revoke(revocation, api, sessions);
    await tryAll(revocations.map((revocation) => () => carryOut(revocation)));
    if (since !== undefined) replaceFile(file, since);
  };
}
